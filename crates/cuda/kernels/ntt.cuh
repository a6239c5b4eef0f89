// The negacyclic transform in shared memory: limbwise_math::ntt to the last bit, for N = 2^10 ... 2^17.
//
// A transform of N = 2^s1 2^s2 points takes two passes over device memory. Columns: the first s1 stages, which pair words
// N / 2^s1 and more apart; a block holds 16 neighbouring columns. Blocks: what is left of each of the 2^s1 stretches b of
// 2^s2 words is a transform modulo X^(2^s2) - r^(2^s2) with r = psi^(1 + 2 brv(b)). Scaling word k by r^k makes it cyclic,
// with twiddles that all stretches share: tables of 2^s1 + 2^s2 words and two of about sqrt(2N), instead of N (OF-Twist of
// [ARK]). A ring of up to 2^12 has s1 = 0: one pass.
//
// Tables of Prime, entries [2^m + g] for stage m and group g: roots psi^brv(2^m + g) of log_n bits, m < s1; cyclic
// psi^(2N brv_m(g) / 2^(m+1)), m < s2. low[e] = psi^e, high[e] = psi^(e 2^split), for the powers of r; inverse_high holds
// 1/N besides. Inverse tables hold inverses.

// How powers of psi are split: exponents below 2N in two parts.
DEVICE u32 split_of(u32 log_n) { return (log_n + 2) / 2; }

// Words of shared memory that neighbouring threads read at strides of 2, 4, 8 lie in different banks.
DEVICE u32 padded(u32 i) { return i + (i >> 4); }

// Butterflies for primes of up to 61 bits. Ranges between stages: forward [0, 4q), inverse [0, 2q).
struct WideField {
  u64 q;
  MEMBER u64 mul(u64 x, Shoup w) const { return mul_shoup_lazy(x, w, q); }
  MEMBER void forward(u64& x, u64& y, Shoup w) const {
    const u64 a = min_of(x, x - 2 * q), t = mul_shoup_lazy(y, w, q);
    x = a + t, y = a + 2 * q - t;
  }
  MEMBER void inverse(u64& x, u64& y, Shoup w) const {
    const u64 s = x + y, d = x + 2 * q - y;
    x = min_of(s, s - 2 * q), y = mul_shoup_lazy(d, w, q);
  }
  MEMBER u64 canonical(u64 x) const { const u64 r = min_of(x, x - 2 * q); return min_of(r, r - q); }
};

// The same with 32-bit products for primes of up to 31 bits. Ranges: [0, q) throughout.
struct NarrowField {
  u32 q;
  MEMBER u32 mul32(u32 x, Shoup w) const {
    const u32 r = x * u32(w.value) - mul_high32(x, u32(w.quotient >> 32)) * q;
    return min_of32(r, r - q);
  }
  MEMBER u64 mul(u64 x, Shoup w) const { return mul32(u32(x), w); }
  MEMBER void forward(u64& x, u64& y, Shoup w) const {
    const u32 a = u32(x), t = mul32(u32(y), w), s = a + t, d = a - t;
    x = min_of32(s, s - q), y = min_of32(d, d + q);
  }
  MEMBER void inverse(u64& x, u64& y, Shoup w) const {
    const u32 a = u32(x), b = u32(y), s = a + b, d = a - b;
    x = min_of32(s, s - q), y = mul32(min_of32(d, d + q), w);
  }
  MEMBER u64 canonical(u64 x) const { return x; }
};

// A tile in shared memory: transforms of 2^points points each, 2^columns of them interleaved, 2^log_words words in all.
struct Tile { u32 points, columns, log_words; };

// R stages from `stage` on, 2^R words of a task in registers.
template <int R, class Field>
DEVICE void forward_step(u64* tile, const Tile s, u32 stage, const Shoup* roots, const Field field) {
  EACH_THREAD(t) {
    const u32 last = s.points - stage - R;  // log2 of the distance that the last of the stages pairs
    for (u32 task = t; task < 1u << (s.log_words - R); task += blockDim.x) {
      const u32 c = task & ((1u << s.columns) - 1), rest = task >> s.columns;
      const u32 o = rest & ((1u << last) - 1), group = rest >> last, g = group & ((1u << stage) - 1);
      const u32 first = ((group << (R + last)) + o) << s.columns | c;
      u64 x[1 << R];
      UNROLL for (int i = 0; i < 1 << R; ++i) x[i] = tile[padded(first + (i << (last + s.columns)))];
      UNROLL for (int k = 0; k < R; ++k)
        UNROLL for (int i = 0; i < 1 << R; ++i)
          if ((i & 1 << (R - 1 - k)) == 0)
            field.forward(x[i], x[i | 1 << (R - 1 - k)], roots[(1u << (stage + k)) + (g << k) + (i >> (R - k))]);
      UNROLL for (int i = 0; i < 1 << R; ++i) tile[padded(first + (i << (last + s.columns)))] = x[i];
    }
  }
  SYNC
}

// The stages stage + R - 1 down to stage, backwards.
template <int R, class Field>
DEVICE void inverse_step(u64* tile, const Tile s, u32 stage, const Shoup* roots, const Field field) {
  EACH_THREAD(t) {
    const u32 last = s.points - stage - R;
    for (u32 task = t; task < 1u << (s.log_words - R); task += blockDim.x) {
      const u32 c = task & ((1u << s.columns) - 1), rest = task >> s.columns;
      const u32 o = rest & ((1u << last) - 1), group = rest >> last, g = group & ((1u << stage) - 1);
      const u32 first = ((group << (R + last)) + o) << s.columns | c;
      u64 x[1 << R];
      UNROLL for (int i = 0; i < 1 << R; ++i) x[i] = tile[padded(first + (i << (last + s.columns)))];
      UNROLL for (int k = R - 1; k >= 0; --k)
        UNROLL for (int i = 0; i < 1 << R; ++i)
          if ((i & 1 << (R - 1 - k)) == 0)
            field.inverse(x[i], x[i | 1 << (R - 1 - k)], roots[(1u << (stage + k)) + (g << k) + (i >> (R - k))]);
      UNROLL for (int i = 0; i < 1 << R; ++i) tile[padded(first + (i << (last + s.columns)))] = x[i];
    }
  }
  SYNC
}

// All stages of a tile: in threes, the rest at the end.
template <class Field>
DEVICE void forward_tile(u64* tile, const Tile s, const Shoup* roots, const Field field) {
  u32 stage = 0;
  for (; stage + 3 <= s.points; stage += 3) forward_step<3>(tile, s, stage, roots, field);
  if (stage + 2 == s.points) forward_step<2>(tile, s, stage, roots, field);
  if (stage + 1 == s.points) forward_step<1>(tile, s, stage, roots, field);
}

template <class Field>
DEVICE void inverse_tile(u64* tile, const Tile s, const Shoup* roots, const Field field) {
  u32 stage = s.points;
  for (; stage >= 3; stage -= 3) inverse_step<3>(tile, s, stage - 3, roots, field);
  if (stage == 2) inverse_step<2>(tile, s, 0, roots, field);
  if (stage == 1) inverse_step<1>(tile, s, 0, roots, field);
}

// x r^k for the stretch b of 2^s1: the power is psi^e.
template <class Field>
DEVICE u64 twisted(u64 x, u32 e, u32 log_n, const Shoup* low, const Shoup* high, const Field field) {
  const u32 split = split_of(log_n);
  return field.mul(field.mul(x, low[e & ((1u << split) - 1)]), high[e >> split]);
}
DEVICE u32 twist_exponent(u32 b, u32 k, u32 log_n, u32 s1) {
  const u32 reversed = s1 == 0 ? 0 : reverse32(b) >> (32 - s1);
  return (1 + 2 * reversed) * k & ((2u << log_n) - 1);
}
