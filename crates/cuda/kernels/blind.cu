// A whole blind rotation in one launch: a block a ciphertext, accumulators and sums in shared memory, the key streamed
// through the L2 cache by blocks that go through its steps together.

// What does not depend on the ciphertext. Rows of the key: [(step rows + row) parts + part], values, one address each.
struct Rotation {
  const u64* const* key;
  const u64* exponents;  // words an entry: steps, then the body's
  u64* const* out;       // [entry parts + part]
  const u64* const* tests;
  u32 exponent_batch, test_batch, steps, parts, levels, base_log, bits, log_n;
  Digits digits;
};

template <class Field>
DEVICE void rotate(const Rotation& r, const Prime& p, const Field field) {
  const u32 n = 1u << r.log_n, room = padded(n), entry = blockIdx.x;
  const u64 q = p.m.q;
  u64 *acc = shared_words, *sums = acc + r.parts * room, *work = sums + r.parts * room;
  const u64* e = r.exponents + u64(r.exponent_batch == 1 ? 0 : entry) * (r.steps + 1);
  const u64* test = r.tests[r.test_batch == 1 ? 0 : entry];
  const Tile tile = {r.log_n, 0, r.log_n};
  EACH_THREAD(t) {
    for (u32 i = t; i < n; i += blockDim.x) {
      acc[padded(i)] = rotated(test, i, u32(e[r.steps]), r.log_n, q);
      for (u32 c = 1; c < r.parts; ++c) acc[c * room + padded(i)] = 0;
    }
  }
  SYNC
  for (u32 step = 0; step < r.steps; ++step) {
    const u64* const* rows = r.key + u64(step) * r.parts * r.levels * r.parts;
    for (u32 row = 0; row < r.parts * r.levels; ++row) {
      const u64* own = acc + row / r.levels * room;
      const u32 weight = r.bits - (row % r.levels + 1) * r.base_log, turn = u32(e[step]);
      EACH_THREAD(t) {
        for (u32 i = t; i < n; i += blockDim.x) {
          const u32 from = (i + 2 * n - turn) & (2 * n - 1);
          const u64 there = own[padded(from & (n - 1))], moved = from < n ? there : neg_mod(there, q);
          const u64 digit = digit_of(sub_mod(moved, own[padded(i)], q), weight, r.digits, q);
          work[padded(i)] = twisted(digit, i, r.log_n, p.low, p.high, field);
        }
      }
      SYNC
      forward_tile(work, tile, p.cyclic, field);
      EACH_THREAD(t) {
        for (u32 i = t; i < n; i += blockDim.x) {
          const u64 x = field.canonical(work[padded(i)]);
          for (u32 c = 0; c < r.parts; ++c) {
            u64& sum = sums[c * room + padded(i)];
            sum = mul_add_mod(x, rows[row * r.parts + c][i], row == 0 ? 0 : sum, p.m);
          }
        }
      }
      SYNC
    }
    for (u32 c = 0; c < r.parts; ++c) {
      inverse_tile(sums + c * room, tile, p.inverse_cyclic, field);
      EACH_THREAD(t) {
        for (u32 i = t; i < n; i += blockDim.x) {
          const u64 x = twisted(sums[c * room + padded(i)], i, r.log_n, p.inverse_low, p.inverse_high, field);
          u64& own = acc[c * room + padded(i)];
          own = add_mod(own, field.canonical(x), q);
        }
      }
      SYNC
    }
  }
  EACH_THREAD(t) {
    for (u32 c = 0; c < r.parts; ++c)
      for (u32 i = t; i < n; i += blockDim.x) r.out[entry * r.parts + c][i] = acc[c * room + padded(i)];
  }
}

// blockIdx.x is the ciphertext. Shared: (2 parts + 1) padded polynomials.
KERNEL lw_blind_rotate(const Rotation r, const Prime* table, u32 prime) {
  const Prime p = table[prime];
  if (is_narrow(p.m)) rotate(r, p, NarrowField{u32(p.m.q)});
  else rotate(r, p, WideField{p.m.q});
}
