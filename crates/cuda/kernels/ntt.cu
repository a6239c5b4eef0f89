// Transforms of rows: coefficients in natural order <-> values in bit-reversed order, canonical on both sides.
// blockIdx.x is the tile, blockIdx.y the row; any number of threads. An output may be its input.
// Between the two passes words are lazy: below 4q (forward) or 2q (inverse).

// Columns: a tile is 2^s1 points times 16 columns.
static const u32 LOG_COLUMNS = 4;

template <class Field>
DEVICE void columns(u64* out, const u64* in, const Prime& p, u32 log_n, u32 s1, bool forward, const Field field) {
  const Tile s = {s1, LOG_COLUMNS, s1 + LOG_COLUMNS};
  const u32 stride = log_n - s1, first = blockIdx.x << LOG_COLUMNS, mask = (1u << LOG_COLUMNS) - 1;
  EACH_THREAD(t) {
    for (u32 i = t; i < 1u << s.log_words; i += blockDim.x)
      shared_words[padded(i)] = in[((i >> LOG_COLUMNS) << stride) + first + (i & mask)];
  }
  SYNC
  if (forward) forward_tile(shared_words, s, p.roots, field);
  else inverse_tile(shared_words, s, p.inverse_roots, field);
  EACH_THREAD(t) {
    for (u32 i = t; i < 1u << s.log_words; i += blockDim.x) {
      const u64 x = shared_words[padded(i)];
      out[((i >> LOG_COLUMNS) << stride) + first + (i & mask)] = forward ? x : field.canonical(x);
    }
  }
}

KERNEL lw_ntt_columns(const Rows out, const Rows in, const Small primes, const Prime* table, u32 log_n, u32 s1) {
  const u32 row = blockIdx.y;
  const Prime p = table[primes.at[row]];
  if (is_narrow(p.m)) columns(out.at[row], in.at[row], p, log_n, s1, true, NarrowField{u32(p.m.q)});
  else columns(out.at[row], in.at[row], p, log_n, s1, true, WideField{p.m.q});
}

KERNEL lw_intt_columns(const Rows out, const Rows in, const Small primes, const Prime* table, u32 log_n, u32 s1) {
  const u32 row = blockIdx.y;
  const Prime p = table[primes.at[row]];
  if (is_narrow(p.m)) columns(out.at[row], in.at[row], p, log_n, s1, false, NarrowField{u32(p.m.q)});
  else columns(out.at[row], in.at[row], p, log_n, s1, false, WideField{p.m.q});
}

// Blocks: a tile is 2^log_words words in a row, that is 2^(log_words - s2) stretches of 2^s2. With `from` the result is
// (from - value) c: a division by dropped primes needs no pass of its own.
template <class Field>
DEVICE void blocks(u64* out, const u64* in, const u64* from, u64 c, const Prime& p, u32 log_n, u32 s1, u32 log_words,
                   const Field field) {
  const u32 s2 = log_n - s1, first = blockIdx.x << log_words;
  EACH_THREAD(t) {
    for (u32 i = t; i < 1u << log_words; i += blockDim.x) {
      const u32 at = first + i, e = twist_exponent(at >> s2, at & ((1u << s2) - 1), log_n, s1);
      shared_words[padded(i)] = twisted(in[at], e, log_n, p.low, p.high, field);
    }
  }
  SYNC
  forward_tile(shared_words, {s2, 0, log_words}, p.cyclic, field);
  EACH_THREAD(t) {
    for (u32 i = t; i < 1u << log_words; i += blockDim.x) {
      const u64 x = field.canonical(shared_words[padded(i)]);
      out[first + i] = from ? mul_mod(sub_mod(from[first + i], x, p.m.q), c, p.m) : x;
    }
  }
}

KERNEL lw_ntt_blocks(const Rows out, const Rows in, const Small primes, const Prime* table, u32 log_n, u32 s1,
                     u32 log_words) {
  const u32 row = blockIdx.y;
  const Prime p = table[primes.at[row]];
  if (is_narrow(p.m))
    blocks(out.at[row], in.at[row], nullptr, 0, p, log_n, s1, log_words, NarrowField{u32(p.m.q)});
  else blocks(out.at[row], in.at[row], nullptr, 0, p, log_n, s1, log_words, WideField{p.m.q});
}

KERNEL lw_ntt_blocks_divide(const Rows out, const Rows in, const Rows from, const Words c, const Small primes,
                            const Prime* table, u32 log_n, u32 s1, u32 log_words) {
  const u32 row = blockIdx.y;
  const Prime p = table[primes.at[row]];
  if (is_narrow(p.m))
    blocks(out.at[row], in.at[row], from.at[row], c.at[row], p, log_n, s1, log_words, NarrowField{u32(p.m.q)});
  else blocks(out.at[row], in.at[row], from.at[row], c.at[row], p, log_n, s1, log_words, WideField{p.m.q});
}

template <class Field>
DEVICE void inverse_blocks(u64* out, const u64* in, const Prime& p, u32 log_n, u32 s1, u32 log_words,
                           const Field field) {
  const u32 s2 = log_n - s1, first = blockIdx.x << log_words;
  EACH_THREAD(t) {
    for (u32 i = t; i < 1u << log_words; i += blockDim.x) shared_words[padded(i)] = in[first + i];
  }
  SYNC
  inverse_tile(shared_words, {s2, 0, log_words}, p.inverse_cyclic, field);
  EACH_THREAD(t) {
    for (u32 i = t; i < 1u << log_words; i += blockDim.x) {
      const u32 at = first + i, e = twist_exponent(at >> s2, at & ((1u << s2) - 1), log_n, s1);
      const u64 x = twisted(shared_words[padded(i)], e, log_n, p.inverse_low, p.inverse_high, field);
      out[at] = s1 == 0 ? field.canonical(x) : x;
    }
  }
}

KERNEL lw_intt_blocks(const Rows out, const Rows in, const Small primes, const Prime* table, u32 log_n, u32 s1,
                      u32 log_words) {
  const u32 row = blockIdx.y;
  const Prime p = table[primes.at[row]];
  if (is_narrow(p.m)) inverse_blocks(out.at[row], in.at[row], p, log_n, s1, log_words, NarrowField{u32(p.m.q)});
  else inverse_blocks(out.at[row], in.at[row], p, log_n, s1, log_words, WideField{p.m.q});
}
