// Transforms of rows: coefficients in natural order <-> values in bit-reversed order, canonical on both sides.
// blockIdx.x is the tile of 2^12 words (or the whole of a shorter row), blockIdx.y the row; any number of threads. An output
// may be its input. Between the two passes words are as a field holds them.

static const u32 LOG_TILE = 12;

// Most threads of a block, and how many blocks a multiprocessor has registers for.
#undef LAUNCH_BOUNDS
#define LAUNCH_BOUNDS __launch_bounds__(256, 3)

// The place in a row of a word of the tile of columns that the block has.
struct Columns {
  u32 stride, columns;
  MEMBER u32 at(u32 first, u32 d) const {
    return (first >> columns << stride) + (blockIdx.x << columns) + (first & ((1u << columns) - 1)) + (d >> columns << stride);
  }
};

template <class Field>
DEVICE void forward_columns(u64* out, const u64* in, const Prime& p, u32 log_n, u32 s1, const Field& field) {
  const Columns c = {log_n - s1, LOG_TILE - s1};
  forward_tile<false>(
      {1u << LOG_TILE, s1, c.columns, 0, 0, 0}, s1, p.roots, field, [&](u32 first, u32 d) { return field.open(in[c.at(first, d)]); },
      [&](u32 first, u32 d, typename Field::Word x) { out[c.at(first, d)] = field.hold(x, FORWARD); });
}

template <class Field>
DEVICE void inverse_columns(u64* out, const u64* in, const Prime& p, u32 log_n, u32 s1, const Field& field) {
  const Columns c = {log_n - s1, LOG_TILE - s1};
  inverse_tile<false>(
      {1u << LOG_TILE, s1, c.columns, 0, 0, 0}, s1, p.inverse_roots, field,
      [&](u32 first, u32 d) { return field.held(in[c.at(first, d)], INVERSE); },
      [&](u32 first, u32 d, typename Field::Word x) { out[c.at(first, d)] = field.canonical(x); });
}

KERNEL lw_ntt_columns(const Rows out, const Rows in, const Small primes, const Prime* table, u32 log_n, u32 s1) {
  const u32 row = blockIdx.y;
  const Prime p = table[primes.at[row]];
  of_class(p, [&](const auto& field) { forward_columns(out.at[row], in.at[row], p, log_n, s1, field); });
}

KERNEL lw_intt_columns(const Rows out, const Rows in, const Small primes, const Prime* table, u32 log_n, u32 s1) {
  const u32 row = blockIdx.y;
  const Prime p = table[primes.at[row]];
  of_class(p, [&](const auto& field) { inverse_columns(out.at[row], in.at[row], p, log_n, s1, field); });
}

// Here a block may have more registers: the scaling's tables are read ahead.
#undef LAUNCH_BOUNDS
#define LAUNCH_BOUNDS __launch_bounds__(256, 2)

// The tile of stages after the first s1, and how many of them come before the last four of a longer transform.
DEVICE Tile tile_of(u32 log_n, u32 s1) {
  const u32 points = log_n - s1;
  return s1 == 0 ? Tile{1u << log_n, log_n, 0, 0, 0, 0}
                 : Tile{1u << LOG_TILE, points, 0, s1, blockIdx.x << LOG_TILE >> points, LOG_TILE - points};
}
DEVICE u32 plain_stages(u32 log_n, u32 s1) { return s1 == 0 ? log_n : log_n - s1 - 4; }

// With `from` the result is (from - value) c: a division by dropped primes needs no pass of its own.
template <class Field>
DEVICE void forward_blocks(u64* out, const u64* in, const u64* from, u64 c, const Prime& p, u32 log_n, u32 s1,
                           const Field& field) {
  const Tile s = tile_of(log_n, s1);
  const u32 tile = blockIdx.x << LOG_TILE;
  forward_tile<false>(
      s, plain_stages(log_n, s1), p.roots, field,
      [&](u32 first, u32 d) {
        const u64 x = in[tile + first + d];
        return s1 == 0 ? field.open(x) : field.held(x, FORWARD);
      },
      [&](u32 first, u32 d, typename Field::Word x) { tile_word(first, d) = field.hold(x, FORWARD); });
  if (s1 > 0) forward_twisted(s.words, tile >> 4, p, field);
  EACH_THREAD(t) {
    for (u32 i = t; i < s.words; i += blockDim.x) {
      const typename Field::Word x = field.held(shared_words[padded(i)], FORWARD);
      out[tile + i] = from ? field.divided(from[tile + i], x, c) : field.canonical(x);
    }
  }
}

// Rows of `from` are null where nothing is divided.
KERNEL lw_ntt_blocks(const Rows out, const Rows in, const Rows from, const Words c, const Small primes, const Prime* table,
                     u32 log_n, u32 s1) {
  const u32 row = blockIdx.y;
  const Prime p = table[primes.at[row]];
  of_class(p, [&](const auto& field) {
    forward_blocks(out.at[row], in.at[row], from.at[row], c.at[row], p, log_n, s1, field);
  });
}

template <class Field>
DEVICE void inverse_blocks(u64* out, const u64* in, const Prime& p, u32 log_n, u32 s1, const Field& field) {
  const Tile s = tile_of(log_n, s1);
  const u32 tile = blockIdx.x << LOG_TILE;
  EACH_THREAD(t) {
    for (u32 i = t; i < s.words; i += blockDim.x) shared_words[padded(i)] = in[tile + i];
  }
  SYNC
  if (s1 > 0) inverse_twisted(s.words, tile >> 4, p, field);
  inverse_tile<false>(
      s, plain_stages(log_n, s1), p.inverse_roots, field,
      [&](u32 first, u32 d) {
        const u64 x = tile_word(first, d);
        return s1 == 0 ? field.open(x) : field.held(x, INVERSE);
      },
      [&](u32 first, u32 d, typename Field::Word x) {
        out[tile + first + d] = s1 == 0 ? field.canonical(field.mul(x, p.inverse_roots[0])) : field.hold(x, INVERSE);
      });
}

KERNEL lw_intt_blocks(const Rows out, const Rows in, const Small primes, const Prime* table, u32 log_n, u32 s1) {
  const u32 row = blockIdx.y;
  const Prime p = table[primes.at[row]];
  of_class(p, [&](const auto& field) { inverse_blocks(out.at[row], in.at[row], p, log_n, s1, field); });
}
