// LWE ciphertexts: batch x words, entry by entry, mask first, body last; any modulus of 2 to 2^62, powers of two included.
// Words: one thread each, blockIdx.x along all of them.

#define EACH_WORD(i) EACH_THREAD(t) if (const u64 i = u64(blockIdx.x) * blockDim.x + t; i < count)

KERNEL lw_lwe_copy(u64* out, const u64* a, u64 out_first, u64 a_first, u64 count) {
  EACH_WORD(i) { out[out_first + i] = a[a_first + i]; }
}

// An operand with fewer words than `count` stands for every entry.
KERNEL lw_lwe_add(u64* out, const u64* a, const u64* b, u64 q, u64 count, u64 a_count, u64 b_count) {
  EACH_WORD(i) { out[i] = add_mod(a[i % a_count], b[i % b_count], q); }
}

KERNEL lw_lwe_scale(u64* out, const u64* a, u64 c, const Modulus m, u64 count) {
  EACH_WORD(i) { out[i] = reduce_wide(mul_wide(a[i], c), m); }
}

// A constant for each entry's body, or one for all.
KERNEL lw_lwe_shift(u64* out, const u64* a, const u64* c, u64 q, u64 count, u64 words, u64 constants) {
  EACH_WORD(i) {
    const bool body = i % words == words - 1;
    out[i] = body ? add_mod(a[i], c[i / words % constants], q) : a[i];
  }
}

// floor(x / m) and x mod m for x / m below 2^63.
struct Divided { u64 quotient, rest; };
DEVICE Divided divided(Wide x, const Modulus& m) {
  u64 quotient = quotient_wide(x, m), rest = x.low - quotient * m.q;
  for (int i = 0; i < 2; ++i)
    if (rest >= m.q) rest -= m.q, ++quotient;
  return {quotient, rest};
}

// round(x to / from) with halves upwards, not yet below `to`; m is 2 from.
DEVICE Divided switched(u64 x, u64 to, const Modulus& m) {
  const Wide product = mul_wide(2 * x, to);
  return divided(add_wide(product, {0, m.q / 2}), m);
}

KERNEL lw_lwe_mod_switch(u64* out, const u64* a, const Modulus twice_from, u64 to, u64 count) {
  EACH_WORD(i) {
    const u64 x = switched(a[i], to, twice_from).quotient;
    out[i] = x >= to ? x - to : x;
  }
}

// The same with half the sum of the mask's rounding errors added to the body before it is rounded: one block an entry.
// With from x' = to x + d / 2 for a word x of the mask and its rounded x', the errors d are from - rest of the division.
// Body: floor((4 to b - sum of 2 d + 2 from) / (4 from)). Shared: two words a thread.
KERNEL lw_lwe_mod_switch_centred(u64* out, const u64* a, const Modulus from, const Modulus twice_from, u64 to,
                                 u64 words) {
  const u64* own = a + u64(blockIdx.x) * words;
  u64* result = out + u64(blockIdx.x) * words;
  EACH_THREAD(t) {
    Wide errors = {0, 0};
    for (u64 i = t; i + 1 < words; i += blockDim.x) {
      const Divided d = switched(own[i], to, twice_from);
      result[i] = d.quotient >= to ? d.quotient - to : d.quotient;
      const u64 error = from.q - d.rest;
      errors = add_wide(errors, {i64(error) < 0 ? ~0ull : 0, error});
    }
    shared_words[2 * t] = errors.high, shared_words[2 * t + 1] = errors.low;
  }
  SYNC
  EACH_THREAD(t) {
    if (t == 0) {
      Wide errors = {0, 0};
      for (u32 k = 0; k < blockDim.x; ++k) errors = add_wide(errors, {shared_words[2 * k], shared_words[2 * k + 1]});
      // errors = 4 from high + low with 0 <= low < 4 from: 2^26 turns make it positive for masks of up to 2^27 words.
      const Wide turns = mul_wide(1ull << 28, from.q);
      const Wide positive = add_wide(errors, turns);
      const Divided e = divided(shift_wide(positive, 2), from);
      const Wide low = add_wide(shift_left2({0, e.rest}), {0, positive.low & 3});
      // 4 from more than wanted, so that nothing is negative.
      Wide sum = add_wide(shift_left2(mul_wide(own[words - 1], to)), shift_left2({0, from.q}));
      sum = add_wide(add_wide(sum, {0, 2 * from.q}), neg_wide(low));
      const u64 above = divided(shift_wide(sum, 2), from).quotient;  // the rounded body + 1 + (errors' high part)
      const i64 rounded = i64(above) - 1 - (i64(e.quotient) - (1ll << 26));
      const i64 rest = rounded % i64(to);
      result[words - 1] = u64(rest < 0 ? rest + i64(to) : rest);
    }
  }
}

// Digits of every word of the mask as residues; the body stays. `words` of an entry of the result.
KERNEL lw_lwe_decompose(u64* out, const u64* a, const Digits digits, u64 q, u64 count, u64 words, u32 levels, u32 bits,
                        u32 base_log) {
  EACH_WORD(i) {
    const u64 entry = i / words, at = i % words, own = (words - 1) / levels + 1;
    const u64* from = a + entry * own;
    const u32 weight = bits - (u32(at % levels) + 1) * base_log;
    out[i] = at == words - 1 ? from[own - 1] : digit_of(from[at / levels], weight, digits, q);
  }
}

// Sums of a key switch. Modulo a power of two words wrap round, in 32 bits or 64.
template <class Word>
struct Wrapping {
  u64 mask;
  using Factor = Word;
  using Sum = Word;
  MEMBER Factor factor(u64 x) const { return Word(x); }
  MEMBER Sum open(u64 x) const { return Word(x); }
  MEMBER void add(Sum& sum, Factor f, u64 word) const { sum += f * Word(word); }
  MEMBER u64 close(Sum sum) const { return sum & mask; }
  MEMBER u64 plus(u64 a, u64 b) const { return (a + b) & mask; }
};
// Otherwise factors stand for their centered lifts, of at most 32 bits, and sums are whole, in two's complement of 128 bits.
struct Centered {
  Modulus m;
  using Factor = u64;
  using Sum = Wide;
  MEMBER Factor factor(u64 x) const { return x; }
  MEMBER Sum open(u64 x) const { return {0, x}; }
  MEMBER void add(Sum& sum, Factor f, u64 word) const {
    const bool negative = f > m.q / 2;
    const Wide term = mul_wide(negative ? m.q - f : f, word);
    sum = add_wide(sum, negative ? neg_wide(term) : term);
  }
  MEMBER u64 close(Sum sum) const {
    const bool negative = sum.high >> 63;
    const u64 x = reduce_wide(negative ? neg_wide(sum) : sum, m);
    return negative ? neg_mod(x, m.q) : x;
  }
  MEMBER u64 plus(u64 a, u64 b) const { return add_mod(a, b, m.q); }
};

// Entries that a block takes, so that a row is read once for them, and words of their masks at a time.
static const u32 ENTRIES = 8, CHUNK = 64;

template <class Sums>
DEVICE void lwe_product(u64* out, const u64* a, const u64* rows, u32 dimension, u32 words, u32 batch, const Sums& sums) {
  using Factor = typename Sums::Factor;
  struct alignas(16) Factors { Factor of[ENTRIES]; };
  Factors* factors = reinterpret_cast<Factors*>(shared_words);
  u64* kept = shared_words + CHUNK * ENTRIES;  // a thread's sums, from chunk to chunk
  const u32 first = blockIdx.x * ENTRIES;
  for (u32 start = 0; start < dimension; start += CHUNK) {
    const u32 count = min_of32(CHUNK, dimension - start);
    EACH_THREAD(t) {
      for (u32 i = t; i < CHUNK * ENTRIES; i += blockDim.x) {
        const u32 at = i % CHUNK, k = first + i / CHUNK < batch ? i / CHUNK : 0;  // past the batch: any entry
        if (at < count) factors[at].of[i / CHUNK] = sums.factor(a[u64(first + k) * (dimension + 1) + start + at]);
      }
    }
    SYNC
    EACH_THREAD(t) {
      const u32 column = blockIdx.y * blockDim.x + t;
      if (column < words) {
        typename Sums::Sum own[ENTRIES];
        UNROLL for (u32 k = 0; k < ENTRIES; ++k) own[k] = sums.open(start == 0 ? 0 : kept[k * blockDim.x + t]);
        for (u32 i = 0; i < count; ++i) {
          const Factors f = factors[i];
          const u64 word = rows[u64(start + i) * words + column];
          UNROLL for (u32 k = 0; k < ENTRIES; ++k) sums.add(own[k], f.of[k], word);
        }
        UNROLL for (u32 k = 0; k < ENTRIES; ++k) kept[k * blockDim.x + t] = sums.close(own[k]);
      }
    }
    SYNC
  }
  EACH_THREAD(t) {
    const u32 column = blockIdx.y * blockDim.x + t;
    if (column < words)
      for (u32 k = 0; k < ENTRIES && first + k < batch; ++k) {
        const u64 body = column + 1 == words ? a[u64(first + k) * (dimension + 1) + dimension] : 0;
        out[u64(first + k) * words + column] = sums.plus(kept[k * blockDim.x + t], body);
      }
  }
}

// (0, b) + sum of a_i row_i: one thread a column (blockIdx.y along them) of the entries from ENTRIES blockIdx.x on. Shared:
// CHUNK ENTRIES words and ENTRIES words a thread.
KERNEL lw_lwe_product(u64* out, const u64* a, const u64* rows, const Modulus m, u32 dimension, u32 words, u32 batch) {
  if (m.q & (m.q - 1)) lwe_product(out, a, rows, dimension, words, batch, Centered{m});
  else if (m.q >> 32 > 1) lwe_product(out, a, rows, dimension, words, batch, Wrapping<u64>{m.q - 1});
  else lwe_product(out, a, rows, dimension, words, batch, Wrapping<u32>{m.q - 1});
}

// Sample at[blockIdx.x % samples] of entry blockIdx.x / samples of [b, a_1 ... a_k], rows entry parts + part; these are the
// entries from `first` on of the result.
KERNEL lw_sample_extract(u64* out, const Rows glwe, const u64* at, u64 q, u32 log_n, u32 parts, u32 samples, u32 first) {
  const u32 n = 1u << log_n, entry = blockIdx.x / samples, words = (parts - 1) * n + 1;
  const u32 place = u32(at[blockIdx.x % samples]);
  EACH_THREAD(t) {
    const u32 i = blockIdx.y * blockDim.x + t;
    if (i < words) {
      const u32 part = i / n, j = i % n;
      u64 x = 0;
      if (i + 1 == words) x = glwe.at[entry * parts][place];
      else if (j <= place) x = glwe.at[entry * parts + 1 + part][place - j];
      else x = neg_mod(glwe.at[entry * parts + 1 + part][n + place - j], q);
      out[(u64(first) * samples + blockIdx.x) * words + i] = x;
    }
  }
}

// Component `part` of the ciphertext of which the words (entry first + blockIdx.y, `words` each) are sample 0.
KERNEL lw_lwe_embed(const Rows out, const u64* a, u64 q, u32 log_n, u32 words, u32 part, u32 first) {
  const u32 n = 1u << log_n;
  const u64* own = a + u64(first + blockIdx.y) * words;
  EACH_THREAD(t) {
    const u32 i = blockIdx.x * blockDim.x + t;
    if (i < n) {
      // A mask that does not fill its last polynomial is followed by zeros there; the body is no part of it.
      const u32 place = (part - 1) * n + (i == 0 ? 0 : n - i);
      u64 x = 0;
      if (part == 0) x = i == 0 ? own[words - 1] : 0;
      else if (place < words - 1) x = i == 0 ? own[place] : neg_mod(own[place], q);
      out.at[blockIdx.y][i] = x;
    }
  }
}
