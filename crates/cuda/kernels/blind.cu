// A whole blind rotation in one launch, of ciphertexts with one or two mask polynomials: a block a ciphertext, the key streamed
// through the L2 cache by blocks that go through its steps together.
//
// A step transforms the digits of all parts of (X^e - 1) acc side by side in shared memory, in steps of three or four stages
// up to the last two. Then a thread takes four neighboring values of each row through these two, multiplies them by the
// key's, sums in registers, and takes the sums through the first two stages back. What is left of the parts' inverse transforms is
// added to acc as its last step is done.

#undef LAUNCH_BOUNDS
#define LAUNCH_BOUNDS __launch_bounds__(256, 3)

// What does not depend on the ciphertext. Rows of the key: [(step rows + row) parts + part], values, one address each.
struct Rotation {
  const u64* const* key;
  const u64* exponents;  // words an entry: steps, then the body's
  u64* const* out;       // [entry parts + part]
  const u64* const* tests;
  u32 exponent_batch, test_batch, steps, parts, levels, base_log, bits, log_n;
  Digits digits;
};

// The last two stages of the rows, the products with the key's rows, and the sums' first two stages back.
template <int PARTS, class Field>
DEVICE void middle(const Rotation& r, const u64* const* key, const Prime& p, const Field& field) {
  using Word = typename Field::Word;
  EACH_THREAD(t) {
    const u32 n = 1u << r.log_n;
    ROLLED for (u32 task = t; task < n >> 2; task += blockDim.x) {
      const u32 first = task << 2, root = (n >> 2) + task;
      typename Field::Total sums[PARTS][4] = {};
      ROLLED for (u32 row = 0; row < PARTS * r.levels; ++row) {
        Word x[4];
        UNROLL for (int i = 0; i < 4; ++i) x[i] = field.held(shared_words[padded(row * n + first + i)], FORWARD);
        forward_stages<2, false>(x, p.roots, root, field);
        UNROLL for (int i = 0; i < 4; ++i) x[i] = field.factor(x[i]);
        UNROLL for (int c = 0; c < PARTS; ++c) {
          const Pair* own = reinterpret_cast<const Pair*>(key[PARTS * row + c] + first);
          const Pair a = own[0], b = own[1];
          field.add_product(sums[c][0], x[0], a.x, row), field.add_product(sums[c][1], x[1], a.y, row);
          field.add_product(sums[c][2], x[2], b.x, row), field.add_product(sums[c][3], x[3], b.y, row);
        }
      }
      UNROLL for (int c = 0; c < PARTS; ++c) {
        Word x[4];
        UNROLL for (int i = 0; i < 4; ++i) x[i] = field.total(sums[c][i]);
        inverse_stages<2, false>(x, p.inverse_roots, root, field);
        UNROLL for (int i = 0; i < 4; ++i) shared_words[padded(c * n + first + i)] = field.hold(x[i], INVERSE);
      }
    }
  }
  SYNC
}

template <class Field>
DEVICE void rotate(const Rotation& r, const Prime& p, const Field& field) {
  using Word = typename Field::Word;
  const u32 n = 1u << r.log_n, rows = r.parts * r.levels, entry = blockIdx.x;
  const u64 q = p.m.q;
  u64* acc = shared_words + padded(rows * n);
  const u64* e = r.exponents + u64(r.exponent_batch == 1 ? 0 : entry) * (r.steps + 1);
  const u64* test = r.tests[r.test_batch == 1 ? 0 : entry];
  const Tile digits = {rows * n, r.log_n, 0, 0, 0, 0}, sums = {r.parts * n, r.log_n, 0, 0, 0, 0};
  EACH_THREAD(t) {
    for (u32 i = t; i < n; i += blockDim.x) {
      acc[padded(i)] = rotated(test, i, u32(e[r.steps]), r.log_n, q);
      for (u32 c = 1; c < r.parts; ++c) acc[padded(c * n + i)] = 0;
    }
  }
  SYNC
  ROLLED for (u32 step = 0; step < r.steps; ++step) {
    const u32 turn = u32(e[step]);
    forward_tile<false>(
        digits, r.log_n - 2, p.roots, field,
        [&](u32 first, u32 d) {
          const u32 row = first >> r.log_n, i = first & (n - 1), from = (i + 2 * n - turn + d) & (2 * n - 1);
          const u32 part = row / r.levels, level = row % r.levels;
          const u64 there = acc[padded(part << r.log_n) + padded(from & (n - 1))];
          const u64 own = acc[padded(part << r.log_n | i) + padded(d)];
          // `there` with its sign, less `own`, and what makes a digit of it: between 0 and 4q.
          const u64 sign = 0 - u64(from >> r.log_n), sum = (there ^ sign) - sign + (r.digits.shift + 2 * q) - own;
          const u64 lower = min_of(sum, sum - 2 * q), shifted = min_of(lower, lower - q);
          return field.digit(shifted >> (r.bits - (level + 1) * r.base_log) & r.digits.mask, r.digits.half);
        },
        [&](u32 first, u32 d, Word x) { tile_word(first, d) = field.hold(x, FORWARD); });
    const u64* const* key = r.key + u64(step) * rows * r.parts;
    if (r.parts == 2) middle<2>(r, key, p, field);
    else if constexpr (Field::STAGES > 2) middle<3>(r, key, p, field);  // the others lack registers for it
    inverse_tile<false>(
        sums, r.log_n - 2, p.inverse_roots, field,
        [&](u32 first, u32 d) { return field.held(tile_word(first, d), INVERSE); },
        [&](u32 first, u32 d, Word x) {
          u64& own = acc[padded(first) + padded(d)];
          own = add_mod(own, field.canonical(field.mul(x, p.inverse_roots[0])), q);
        });
  }
  EACH_THREAD(t) {
    for (u32 i = t; i < r.parts * n; i += blockDim.x) r.out[r.parts * entry + (i >> r.log_n)][i & (n - 1)] = acc[padded(i)];
  }
}

// blockIdx.x is the ciphertext. Shared: parts levels + parts padded polynomials.
KERNEL lw_blind_rotate(const Rotation r, const Prime* table, u32 prime) {
  const Prime p = table[prime];
  of_class(p, [&](const auto& field) { rotate(r, p, field); });
}
