// Element-wise operations on rows: one thread two words (16 bytes), blockIdx.x along the row, blockIdx.y the row.
// Ranges: [0, q) -> [0, q), q the prime of the row. An output may be one of the inputs.

#define EACH_PAIR(i) \
  EACH_THREAD(t) if (const u32 i = blockIdx.x * blockDim.x + t; 2 * i < n)
DEVICE Pair pair_of(const u64* a, u32 i) { return reinterpret_cast<const Pair*>(a)[i]; }
DEVICE void put(u64* a, u32 i, Pair p) { reinterpret_cast<Pair*>(a)[i] = p; }

KERNEL lw_copy(const Rows out, const Rows a, u32 n) {
  EACH_PAIR(i) { put(out.at[blockIdx.y], i, pair_of(a.at[blockIdx.y], i)); }
}

// Words that come as arguments, one thread each.
KERNEL lw_words(u64* out, const Words words, u32 count) {
  EACH_THREAD(t) if (const u32 i = blockIdx.x * blockDim.x + t; i < count) out[i] = words.at[i];
}

KERNEL lw_zeros(const Rows out, u32 n) {
  EACH_PAIR(i) { put(out.at[blockIdx.y], i, {0, 0}); }
}

KERNEL lw_add(const Rows out, const Rows a, const Rows b, const Small primes, const Prime* table, u32 n) {
  const u32 row = blockIdx.y;
  const u64 q = table[primes.at[row]].m.q;
  EACH_PAIR(i) {
    const Pair x = pair_of(a.at[row], i), y = pair_of(b.at[row], i);
    put(out.at[row], i, {add_mod(x.x, y.x, q), add_mod(x.y, y.y, q)});
  }
}

KERNEL lw_sub(const Rows out, const Rows a, const Rows b, const Small primes, const Prime* table, u32 n) {
  const u32 row = blockIdx.y;
  const u64 q = table[primes.at[row]].m.q;
  EACH_PAIR(i) {
    const Pair x = pair_of(a.at[row], i), y = pair_of(b.at[row], i);
    put(out.at[row], i, {sub_mod(x.x, y.x, q), sub_mod(x.y, y.y, q)});
  }
}

KERNEL lw_neg(const Rows out, const Rows a, const Small primes, const Prime* table, u32 n) {
  const u32 row = blockIdx.y;
  const u64 q = table[primes.at[row]].m.q;
  EACH_PAIR(i) {
    const Pair x = pair_of(a.at[row], i);
    put(out.at[row], i, {neg_mod(x.x, q), neg_mod(x.y, q)});
  }
}

KERNEL lw_scale(const Rows out, const Rows a, const Words c, const Small primes, const Prime* table, u32 n) {
  const u32 row = blockIdx.y;
  const Modulus m = table[primes.at[row]].m;
  EACH_PAIR(i) {
    const Pair x = pair_of(a.at[row], i);
    put(out.at[row], i, {mul_mod(x.x, c.at[row], m), mul_mod(x.y, c.at[row], m)});
  }
}

KERNEL lw_shift(const Rows out, const Rows a, const Words c, const Small primes, const Prime* table, u32 n) {
  const u32 row = blockIdx.y;
  const u64 q = table[primes.at[row]].m.q;
  EACH_PAIR(i) {
    const Pair x = pair_of(a.at[row], i);
    put(out.at[row], i, {add_mod(x.x, c.at[row], q), add_mod(x.y, c.at[row], q)});
  }
}

// out = (a - b) c: the last step of a division by dropped primes.
KERNEL lw_divide(const Rows out, const Rows a, const Rows b, const Words c, const Small primes, const Prime* table,
                 u32 n) {
  const u32 row = blockIdx.y;
  const Modulus m = table[primes.at[row]].m;
  EACH_PAIR(i) {
    const Pair x = pair_of(a.at[row], i), y = pair_of(b.at[row], i);
    put(out.at[row], i, {mul_mod(sub_mod(x.x, y.x, m.q), c.at[row], m), mul_mod(sub_mod(x.y, y.y, m.q), c.at[row], m)});
  }
}

// out_r = (onto: out_r +) sum over t of a_{r terms + t} b_{r terms + t}.
KERNEL lw_inner(const Rows out, const Rows a, const Rows b, const Small primes, const Prime* table, u32 n, u32 terms,
                u32 onto) {
  const u32 row = blockIdx.y;
  const Modulus m = table[primes.at[row]].m;
  EACH_PAIR(i) {
    const Pair before = onto ? pair_of(out.at[row], i) : Pair{0, 0};
    Sum x = {{0, before.x}, 0}, y = {{0, before.y}, 0};
    for (u32 t = row * terms; t < (row + 1) * terms; ++t) {
      const Pair u = pair_of(a.at[t], i), v = pair_of(b.at[t], i);
      x.add(u.x, v.x, m), y.add(u.y, v.y, m);
    }
    put(out.at[row], i, {reduce_wide(x.s, m), reduce_wide(y.s, m)});
  }
}

// Two such sums that share a: rows r of out and b belong to the first, rows half + r to the second.
KERNEL lw_inner_pair(const Rows out, const Rows a, const Rows b, const Small primes, const Prime* table, u32 n,
                     u32 terms, u32 onto) {
  const u32 row = blockIdx.y, out_half = ROWS / 2, b_half = ROWS / 2;
  const Modulus m = table[primes.at[row]].m;
  EACH_PAIR(i) {
    const Pair c = onto ? pair_of(out.at[row], i) : Pair{0, 0};
    const Pair d = onto ? pair_of(out.at[out_half + row], i) : Pair{0, 0};
    Sum cx = {{0, c.x}, 0}, cy = {{0, c.y}, 0}, dx = {{0, d.x}, 0}, dy = {{0, d.y}, 0};
    for (u32 t = row * terms; t < (row + 1) * terms; ++t) {
      const Pair u = pair_of(a.at[t], i), v = pair_of(b.at[t], i), w = pair_of(b.at[b_half + t], i);
      cx.add(u.x, v.x, m), cy.add(u.y, v.y, m), dx.add(u.x, w.x, m), dy.add(u.y, w.y, m);
    }
    put(out.at[row], i, {reduce_wide(cx.s, m), reduce_wide(cy.s, m)});
    put(out.at[out_half + row], i, {reduce_wide(dx.s, m), reduce_wide(dy.s, m)});
  }
}

// out_r = (onto: out_r +) sum over t of a_{r terms + t} c_{r terms + t}, c a constant.
KERNEL lw_combination(const Rows out, const Rows a, const Words c, const Small primes, const Prime* table, u32 n,
                      u32 terms, u32 onto) {
  const u32 row = blockIdx.y;
  const Modulus m = table[primes.at[row]].m;
  EACH_PAIR(i) {
    const Pair before = onto ? pair_of(out.at[row], i) : Pair{0, 0};
    Sum x = {{0, before.x}, 0}, y = {{0, before.y}, 0};
    for (u32 t = row * terms; t < (row + 1) * terms; ++t) {
      const Pair u = pair_of(a.at[t], i);
      x.add(u.x, c.at[t], m), y.add(u.y, c.at[t], m);
    }
    put(out.at[row], i, {reduce_wide(x.s, m), reduce_wide(y.s, m)});
  }
}

// A clear matrix times rows. Entry e of operand i is x[i each + e], entry e of sum j is out[j each + e]; its prime is
// primes[e % limbs]. Weights, with 2^31 added to each: [(block columns + i) 4 + j % 4].
struct MatrixProduct {
  const u64* const* x;
  u64* const* out;
  const u64* weights;
  const u64* primes;
  u32 columns, rows, each, limbs;
};

// Four sums of one entry: blockIdx.y is (j / 4) each + e, counted from `first`. A product is below 2^93, so sums of all
// columns are kept whole; what was added to the weights is taken off at the end.
KERNEL lw_matrix_product(const MatrixProduct r, const Prime* table, u32 n, u32 first) {
  const u32 at = blockIdx.y + first, block = at / r.each, e = at % r.each;
  const Modulus m = table[r.primes[e % r.limbs]].m;
  EACH_PAIR(i) {
    Wide sums[4][2] = {}, all[2] = {};
    for (u32 column = 0; column < r.columns; ++column) {
      const Pair u = pair_of(r.x[column * r.each + e], i);
      const u64* w = r.weights + 4 * (u64(block) * r.columns + column);
      all[0] = add_wide(all[0], {0, u.x}), all[1] = add_wide(all[1], {0, u.y});
      UNROLL for (int j = 0; j < 4; ++j) {
        sums[j][0] = add_wide(sums[j][0], mul_wide(u.x, w[j]));
        sums[j][1] = add_wide(sums[j][1], mul_wide(u.y, w[j]));
      }
    }
    const u64 x = reduce_wide(mul_wide(reduce_wide(all[0], m), 1ull << 31), m);
    const u64 y = reduce_wide(mul_wide(reduce_wide(all[1], m), 1ull << 31), m);
    UNROLL for (int j = 0; j < 4; ++j) {
      if (4 * block + j >= r.rows) continue;
      const Pair sum = {reduce_wide(sums[j][0], m), reduce_wide(sums[j][1], m)};
      put(r.out[(4 * block + j) * r.each + e], i, {sub_mod(sum.x, x, m.q), sub_mod(sum.y, y, m.q)});
    }
  }
}
