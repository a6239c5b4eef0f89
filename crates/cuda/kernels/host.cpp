// The kernels as a library for the host: what tests load in place of a GPU. Built by `c++ -shared`; see crates/cuda/tests.
#define LIMBWISE_HOST
#include "platform.cuh"
#include "modarith.cuh"
#include "fields.cuh"
#include "ntt.cuh"
#include "elementwise.cu"
#include "galois.cu"
#include "basis.cu"
#include "lwe.cu"
#include "ntt.cu"
#include "blind.cu"
#include <cstring>
#include <utility>

// Runs a kernel block after block on arguments as cuLaunchKernel takes them, if their number and sizes (rounded up to eight
// bytes) are those of its parameters.
struct Grid { u32 x, y, z, threads, backwards; };
template <class... A, std::size_t... I>
static int run(void (*kernel)(A...), Grid grid, void** args, const u64* sizes, std::index_sequence<I...>) {
  const bool fit = (((sizeof(A) + 7) / 8 * 8 == sizes[I]) && ...);
  if (!fit) return 2;
  blockDim = {grid.threads, 1, 1};
  backwards = grid.backwards, barrier_missing = claim_broken = false;
  for (u32 z = 0; z < grid.z; ++z)
    for (u32 y = 0; y < grid.y; ++y)
      for (u32 x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        at_barrier = true;
        kernel(*static_cast<A*>(args[I])...);
      }
  return barrier_missing ? 4 : claim_broken ? 5 : 0;
}
template <class... A>
static int call(void (*kernel)(A...), Grid grid, void** args, const u64* sizes, u64 count) {
  return count == sizeof...(A) ? run(kernel, grid, args, sizes, std::index_sequence_for<A...>()) : 1;
}

// 0: done; 1: another number of arguments; 2: an argument of another size; 3: no such kernel; 4: no barrier between two phases;
// 5: a value outside the range that a comment claims.
extern "C" int limbwise_host_launch(const char* name, const u32* grid, void** args, const u64* sizes, u64 count) {
  const Grid g = {grid[0], grid[1], grid[2], grid[3], grid[4]};
#define TRY(kernel) \
  if (std::strcmp(name, #kernel) == 0) return call(kernel, g, args, sizes, count);
  TRY(lw_copy) TRY(lw_words) TRY(lw_zeros) TRY(lw_add) TRY(lw_sub) TRY(lw_neg) TRY(lw_scale) TRY(lw_shift) TRY(lw_divide)
  TRY(lw_inner) TRY(lw_inner_pair) TRY(lw_combination) TRY(lw_matrix_product)
  TRY(lw_automorphism_values) TRY(lw_automorphism_coefficients) TRY(lw_monomial) TRY(lw_decompose)
  TRY(lw_basis_convert) TRY(lw_reduce)
  TRY(lw_lwe_copy) TRY(lw_lwe_add) TRY(lw_lwe_scale) TRY(lw_lwe_shift) TRY(lw_lwe_mod_switch) TRY(lw_lwe_mod_switch_centred)
  TRY(lw_lwe_decompose) TRY(lw_lwe_product) TRY(lw_sample_extract) TRY(lw_lwe_embed)
  TRY(lw_ntt_columns) TRY(lw_intt_columns) TRY(lw_ntt_blocks) TRY(lw_intt_blocks)
  TRY(lw_blind_rotate)
  return 3;
}

// What FloatField makes of two integers x, y of at most 4q and of residues w (as a table has it) and c, canonical: x + w y,
// x - w y; of x and y of at most 2q: x + y, (x - y) w; x c. Nothing of it may leave the range that is claimed: 0, or 1.
extern "C" int limbwise_host_float(u64 q, double reciprocal, const i64* xy, const u64* w, u64 c, u64* out) {
  const FloatField field = {q, double(q), reciprocal};
  const Shoup factor = {w[0], w[1]};
  using Word = FloatField::Word;
  claim_broken = false;
  Word x = field.word(double(xy[0]), 256), y = field.word(double(xy[1]), 256);
  field.forward(x, y, factor);
  out[0] = field.canonical(x), out[1] = field.canonical(y);
  x = field.word(double(xy[0] / 2), 128), y = field.word(double(xy[1] / 2), 128);
  field.inverse(x, y, factor);
  out[2] = field.canonical(x), out[3] = field.canonical(y);
  x = field.word(double(xy[0]), 256);
  out[4] = field.canonical(field.product(field.factor(x), field.open(c)));
  return claim_broken;
}
