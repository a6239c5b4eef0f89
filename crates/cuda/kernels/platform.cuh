// What differs between a GPU and the host: everything else of a kernel is the same text for both.
//
// NVRTC compiles the kernels for a device; with LIMBWISE_HOST a C++ compiler turns them into functions that are called
// once a block, for tests. A kernel is a sequence of phases: in EACH_THREAD(t) { ... } every thread of the block runs the
// body, and SYNC stands between phases where threads read what others wrote. On the host a phase is a loop over the
// threads, so a body must not carry a local variable into the next phase.
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#ifdef LIMBWISE_HOST
struct Index { u32 x, y, z; };
static thread_local Index blockIdx, blockDim;
alignas(16) static thread_local u64 shared_words[32768];
#define KERNEL extern "C" void
#define DEVICE static inline
// Threads go forwards or backwards: what a phase does must not depend on their order, for a GPU has none. Between two phases
// of a block there is always a barrier, which is checked.
static thread_local bool backwards, at_barrier, barrier_missing;
static inline u32 enter_phase() {
  barrier_missing |= !at_barrier;
  at_barrier = false;
  return 0;
}
#define EACH_THREAD(t) \
  for (u32 phase_done = enter_phase(), t = backwards ? blockDim.x - 1 : 0; phase_done < blockDim.x; \
       ++phase_done, t += backwards ? ~0u : 1u)
#define SYNC at_barrier = true;
#define MEMBER inline
#define UNROLL
#define ROLLED
// What a comment claims of a value, checked here.
static thread_local bool claim_broken;
#define CLAIM(condition) claim_broken |= !(condition);
DEVICE u64 bits_of(double x) { u64 b; __builtin_memcpy(&b, &x, 8); return b; }
DEVICE double double_of(u64 b) { double x; __builtin_memcpy(&x, &b, 8); return x; }
// One rounding each, to nearest: compiled without contraction.
DEVICE double add_rn(double a, double b) { return a + b; }
DEVICE double mul_rn(double a, double b) { return a * b; }
DEVICE double fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
DEVICE u64 mul_high(u64 a, u64 b) { return u64((unsigned __int128)a * b >> 64); }
DEVICE u32 mul_high32(u32 a, u32 b) { return u32(u64(a) * b >> 32); }
DEVICE u32 bits_in(u64 x) { return 64 - __builtin_clzll(x); }
DEVICE u32 reverse32(u32 x) {
  x = (x & 0x55555555) << 1 | (x >> 1 & 0x55555555);
  x = (x & 0x33333333) << 2 | (x >> 2 & 0x33333333);
  x = (x & 0x0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f);
  return __builtin_bswap32(x);
}
#else
extern __shared__ __align__(16) u64 shared_words[];
#define KERNEL extern "C" __global__ void LAUNCH_BOUNDS
#define LAUNCH_BOUNDS
#define DEVICE static __device__ __forceinline__
#define EACH_THREAD(t) if (const u32 t = threadIdx.x; true)
#define SYNC __syncthreads();
#define MEMBER __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")
#define CLAIM(condition)
DEVICE u64 bits_of(double x) { return u64(__double_as_longlong(x)); }
DEVICE double double_of(u64 b) { return __longlong_as_double(i64(b)); }
DEVICE double add_rn(double a, double b) { return __dadd_rn(a, b); }
DEVICE double mul_rn(double a, double b) { return __dmul_rn(a, b); }
DEVICE double fma_rn(double a, double b, double c) { return __fma_rn(a, b, c); }
DEVICE u64 mul_high(u64 a, u64 b) { return __umul64hi(a, b); }
DEVICE u32 mul_high32(u32 a, u32 b) { return __umulhi(a, b); }
DEVICE u32 bits_in(u64 x) { return 64 - __clzll(i64(x)); }
DEVICE u32 reverse32(u32 x) { return __brev(x); }
#endif
