// Change of basis of coefficients: limbwise_math::rns::BaseConversion and the centred lift of one limb, to the last bit.

// A prime converted from: (A/a)^{-1} mod a, a, and how y becomes a fraction of unit 2^-48: ((y << left >> right) factor) >> 52.
struct Source { Shoup inverse; u64 q, factor, left, right; };
static const u32 SOURCES = 128;
struct SourceRows { u64* at[SOURCES]; };
// Targets that one block makes from its sources: more read their sources less often.
static const u32 TARGETS = 8;

// Coefficient x of entry e: sources at rows e sources + i, targets at rows e targets + j of prime primes_j, which are the
// first + j-th of the conversion's. blockIdx.x along the row (one thread a coefficient), blockIdx.y the entry, blockIdx.z
// a group of TARGETS targets. Shared: sources words a thread, each read by the thread that wrote it.
KERNEL lw_basis_convert(const Rows out, const SourceRows in, const Small primes, const Prime* table,
                        const Source* from, const u64* weights, const u64* corrections, u32 n, u32 sources, u32 targets,
                        u32 first) {
  EACH_THREAD(t) {
    const u32 x = blockIdx.x * blockDim.x + t;
    if (x < n) {
      u64 wraps = 0;
      for (u32 i = 0; i < sources; ++i) {
        const Source s = from[i];
        const u64 y = mul_shoup(in.at[blockIdx.y * sources + i][x], s.inverse, s.q);
        const Wide f = mul_wide(y << s.left >> s.right, s.factor);
        wraps += f.high << 12 | f.low >> 52;
        shared_words[i * blockDim.x + t] = y;
      }
      const u64 e = (wraps + (1ull << 47)) >> 48;
      for (u32 j = blockIdx.z * TARGETS; j < targets && j < (blockIdx.z + 1) * TARGETS; ++j) {
        const Modulus m = table[primes.at[blockIdx.y * targets + j]].m;
        const u64* w = weights + u64(first + j) * sources;
        Wide sum = {0, 0};
        for (u32 i = 0; i < sources; ++i) {
          if (i % 32 == 0) sum = {0, reduce_wide(sum, m)};
          sum = add_wide(sum, mul_wide(shared_words[i * blockDim.x + t], w[i]));
        }
        const u64 correction = corrections[u64(first + j) * (sources + 1) + e];
        out.at[blockIdx.y * targets + j][x] = add_mod(reduce_wide(sum, m), correction, m.q);
      }
    }
  }
}

// The representative in (-p/2, p/2] of each coefficient modulo the row's prime.
KERNEL lw_reduce(const Rows out, const Rows a, const Small primes, const Prime* table, u64 p, u32 n) {
  const Modulus m = table[primes.at[blockIdx.y]].m;
  EACH_THREAD(t) {
    const u32 i = blockIdx.x * blockDim.x + t;
    if (i < n) out.at[blockIdx.y][i] = centred_residue(a.at[blockIdx.y][i], p, m);
  }
}
