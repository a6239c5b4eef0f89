// Automorphisms and monomials: gathers, one thread a word, blockIdx.x along the row, blockIdx.y the row.
// Ranges: [0, q) -> [0, q). The output is none of the inputs.

DEVICE u32 reverse(u32 i, u32 bits) { return reverse32(i) >> (32 - bits); }

// Values in bit-reversed order: entry i of a(X^g) is the entry of a at the root's g-th power. No arithmetic on words.
KERNEL lw_automorphism_values(const Rows out, const Rows a, u32 log_n, u32 g) {
  EACH_THREAD(t) {
    const u32 i = blockIdx.x * blockDim.x + t;
    if (i >> log_n == 0) {
      const u32 exponent = (2 * reverse(i, log_n) + 1) * g & ((2u << log_n) - 1);
      out.at[blockIdx.y][i] = a.at[blockIdx.y][reverse(exponent / 2, log_n)];
    }
  }
}

// Coefficients: X^k goes to X^{gk}, so place i takes from k = i / g modulo 2N, with a minus sign where k >= N.
KERNEL lw_automorphism_coefficients(const Rows out, const Rows a, const Small primes, const Prime* table, u32 log_n,
                                    u32 g_inverse) {
  const u64 q = table[primes.at[blockIdx.y]].m.q;
  EACH_THREAD(t) {
    const u32 i = blockIdx.x * blockDim.x + t, n = 1u << log_n;
    if (i < n) {
      const u32 k = i * g_inverse & (2 * n - 1);
      const u64 x = a.at[blockIdx.y][k & (n - 1)];
      out.at[blockIdx.y][i] = k < n ? x : neg_mod(x, q);
    }
  }
}

// a X^e, e the word `word` of the exponents (words an entry) of entry first + row, or of the only one.
KERNEL lw_monomial(const Rows out, const Rows a, const u64* exponents, u64 q, u32 log_n, u32 first, u32 batch,
                   u32 words, u32 word) {
  const u32 entry = batch == 1 ? 0 : first + blockIdx.y;
  const u32 e = u32(exponents[u64(entry) * words + word]);
  EACH_THREAD(t) {
    const u32 i = blockIdx.x * blockDim.x + t;
    if (i >> log_n == 0) out.at[blockIdx.y][i] = rotated(a.at[blockIdx.y], i, e, log_n, q);
  }
}

// Digits of coefficients as residues; the row's digit has weight 2^weights.
KERNEL lw_decompose(const Rows out, const Rows a, const Small weights, const Digits digits, u64 q, u32 n) {
  EACH_THREAD(t) {
    const u32 i = blockIdx.x * blockDim.x + t;
    if (i < n) out.at[blockIdx.y][i] = digit_of(a.at[blockIdx.y][i], weights.at[blockIdx.y], digits, q);
  }
}
