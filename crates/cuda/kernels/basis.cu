// Change of basis of coefficients: limbwise_math::rns::BaseConversion and the centered lift of one limb, to the last bit.

// A prime converted from: (A/a)^{-1} mod a, a, and how y becomes a fraction of unit 2^-48: ((y << left >> right) factor) >> 52.
struct Source { Shoup inverse; u64 q, factor, left, right; };
static const u32 SOURCES = 128;
struct SourceRows { u64* at[SOURCES]; };
// Targets that one block makes from its sources: more read their sources less often.
static const u32 TARGETS = 8;

// A residue below 2^50 in two halves of 25 bits, each in 32. Its products with the halves of a weight of 64 bits are below
// 2^57, so that 128 of them are summed without a carry.
DEVICE u64 halves(u64 y) { return y >> 25 << 32 | (y & ((1u << 25) - 1)); }
struct Halves {
  u64 low, high, low_high, high_high;
  MEMBER void add(u64 y, u64 w) {
    const u32 y0 = u32(y), y1 = u32(y >> 32), w0 = u32(w), w1 = u32(w >> 32);
    low += u64(y0) * w0, high += u64(y1) * w0, low_high += u64(y0) * w1, high_high += u64(y1) * w1;
  }
  MEMBER Wide sum() const {
    const Wide a = add_wide({0, low}, {high >> 39, high << 25});
    return add_wide(add_wide(a, {low_high >> 32, low_high << 32}), {high_high >> 7, high_high << 57});
  }
};

// Coefficient x of entry e: sources at rows e sources + i, targets at rows e targets + j of prime primes_j, which are the
// first + j-th of the conversion's. blockIdx.x along the row (one thread a coefficient), blockIdx.y the entry, blockIdx.z
// a group of TARGETS targets. Shared: sources words a thread, each read by the thread that wrote it.
KERNEL lw_basis_convert(const Rows out, const SourceRows in, const Small primes, const Prime* table,
                        const Source* from, const u64* weights, const u64* corrections, u32 n, u32 sources, u32 targets,
                        u32 first) {
  EACH_THREAD(t) {
    const u32 x = blockIdx.x * blockDim.x + t;
    if (x < n) {
      u64 overflows = 0;
      bool cut = true;
      for (u32 i = 0; i < sources; ++i) cut = cut && from[i].q >> 50 == 0;
      for (u32 i = 0; i < sources; ++i) {
        const Source s = from[i];
        const u64 y = mul_shoup(in.at[blockIdx.y * sources + i][x], s.inverse, s.q);
        const Wide f = mul_wide(y << s.left >> s.right, s.factor);
        overflows += f.high << 12 | f.low >> 52;
        shared_words[i * blockDim.x + t] = cut ? halves(y) : y;
      }
      const u64 e = (overflows + (1ull << 47)) >> 48;
      for (u32 j = blockIdx.z * TARGETS; j < targets && j < (blockIdx.z + 1) * TARGETS; ++j) {
        const Modulus m = table[primes.at[blockIdx.y * targets + j]].m;
        const u64* w = weights + u64(first + j) * sources;
        u64 sum = 0;
        if (cut) {
          Halves all = {};
          for (u32 i = 0; i < sources; ++i) all.add(shared_words[i * blockDim.x + t], w[i]);
          sum = reduce_short(all.sum(), m, short_of(m));
        } else {
          Sum all = {};
          for (u32 i = 0; i < sources; ++i) all.add(shared_words[i * blockDim.x + t], w[i], m);
          sum = reduce_wide(all.s, m);
        }
        const u64 correction = corrections[u64(first + j) * (sources + 1) + e];
        out.at[blockIdx.y * targets + j][x] = add_mod(sum, correction, m.q);
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
