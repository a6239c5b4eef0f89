// What differs between a GPU and the host: everything else of a kernel is the same text for both.
//
// NVRTC compiles the kernels for a device; with LIMBWISE_HOST a C++ compiler turns them into functions that are called
// once a block, for tests. A kernel is a sequence of phases: in EACH_THREAD(t) { ... } every thread of the block runs the
// body, and SYNC stands between phases where threads read what others wrote. On the host a phase is a loop over the
// threads, so a body must not carry a local variable into the next phase, and SYNC is what the end of the loop already is.
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#ifdef LIMBWISE_HOST
struct Index { u32 x, y, z; };
static thread_local Index blockIdx, blockDim;
static thread_local u64 shared_words[32768];
#define KERNEL extern "C" void
#define DEVICE static inline
#define EACH_THREAD(t) for (u32 t = 0; t < blockDim.x; ++t)
#define SYNC
#define MEMBER inline
#define UNROLL
DEVICE u64 mul_high(u64 a, u64 b) { return u64((unsigned __int128)a * b >> 64); }
DEVICE u32 mul_high32(u32 a, u32 b) { return u32(u64(a) * b >> 32); }
DEVICE u32 reverse32(u32 x) {
  x = (x & 0x55555555) << 1 | (x >> 1 & 0x55555555);
  x = (x & 0x33333333) << 2 | (x >> 2 & 0x33333333);
  x = (x & 0x0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f);
  return __builtin_bswap32(x);
}
#else
extern __shared__ u64 shared_words[];
#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define EACH_THREAD(t) if (const u32 t = threadIdx.x; true)
#define SYNC __syncthreads();
#define MEMBER __device__ __forceinline__
#define UNROLL _Pragma("unroll")
DEVICE u64 mul_high(u64 a, u64 b) { return __umul64hi(a, b); }
DEVICE u32 mul_high32(u32 a, u32 b) { return __umulhi(a, b); }
DEVICE u32 reverse32(u32 x) { return __brev(x); }
#endif
