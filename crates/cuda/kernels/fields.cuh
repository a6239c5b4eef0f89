// Three classes of primes in transforms, told apart once a block: up to 31 bits with 32-bit products, below 2^50 in floating
// point, all others (up to 61 bits) with 64-bit products. A GPU for science has as many multipliers of doubles as of 32-bit
// integers, and a product modulo q takes a 64-bit word ten multiplications of the latter; for other GPUs FLOAT_BITS is 31, and
// none is taken in floating point (nvrtc.rs).
#ifndef FLOAT_BITS
#define FLOAT_BITS 50
#endif
//
// A field's Word is a residue in registers. open: from a canonical residue; canonical: back. held, hold: the 64 bits of shared
// memory and between the two passes of a transform. forward: x, y <- x + w y, x - w y; inverse: x, y <- x + y, (x - y) w; the
// same with _one for w = 1. STAGES: how many a step takes through registers; fewer where code is longer, for all of it is compiled at
// first use, and presets have primes below 2^50. Ranges: FloatField counts them; the other two have one for each direction. `claim` names a
// range where words come together that were read in different places.

// Bounds of words in shared memory: 4q in the forward direction, 2q in the inverse one.
static const u32 FORWARD = 256, INVERSE = 128;

// Forward: words in [0, 4q). Inverse: in [0, 2q).
struct WideField {
  static const int STAGES = 2;
  Modulus m;
  using Word = u64;
  using Total = u64;
  MEMBER Word open(u64 x) const { return x; }
  MEMBER u64 canonical(Word x) const { return min_of(lower(x), lower(x) - m.q); }
  MEMBER Word held(u64 x, u32) const { return x; }
  MEMBER u64 hold(Word x, u32) const { return x; }
  MEMBER Word claim(Word x, u32) const { return x; }
  // [0, 4q) -> [0, 2q).
  MEMBER Word lower(Word x) const { return min_of(x, x - 2 * m.q); }
  MEMBER Word mul(Word x, Shoup w) const { return mul_shoup_lazy(x, w, m.q); }
  MEMBER void forward(Word& x, Word& y, Shoup w) const { add_to(x, y, mul(y, w)); }
  MEMBER void forward_one(Word& x, Word& y) const { add_to(x, y, lower(y)); }
  MEMBER void inverse(Word& x, Word& y, Shoup w) const { const Word d = x + 2 * m.q - y; x = lower(x + y), y = mul(d, w); }
  MEMBER void inverse_one(Word& x, Word& y) const { const Word d = x + 2 * m.q - y; x = lower(x + y), y = lower(d); }
  MEMBER void add_to(Word& x, Word& y, Word t) const { const Word a = lower(x); x = a + t, y = a + 2 * m.q - t; }
  // A digit of a gadget, cut out but for half of the base.
  MEMBER Word digit(u64 cut, u64 half) const { return min_of(cut - half, cut - half + m.q); }
  // A word as a factor of canonical residues, their sum with such products, and the word that it becomes.
  MEMBER Word factor(Word x) const { return canonical(x); }
  MEMBER void add_product(Total& sum, Word x, u64 y, u32) const {
    sum = reduce_wide(add_wide(mul_wide(x, y), {0, sum}), m);
  }
  MEMBER Word total(const Total& sum) const { return sum; }
  // (a - x) c, canonical.
  MEMBER u64 divided(u64 a, Word x, u64 c) const { return reduce_wide(mul_wide(sub_mod(a, canonical(x), m.q), c), m); }
};

// Words in [0, q) throughout.
struct NarrowField {
  static const int STAGES = 3;
  Modulus m;
  using Word = u32;
  using Total = u64;
  MEMBER u32 q() const { return u32(m.q); }
  MEMBER Word open(u64 x) const { return u32(x); }
  MEMBER u64 canonical(Word x) const { return x; }
  MEMBER Word held(u64 x, u32) const { return u32(x); }
  MEMBER u64 hold(Word x, u32) const { return x; }
  MEMBER Word claim(Word x, u32) const { return x; }
  MEMBER Word add(Word a, Word b) const { return min_of32(a + b, a + b - q()); }
  MEMBER Word sub(Word a, Word b) const { return min_of32(a - b, a - b + q()); }
  MEMBER Word mul(Word x, Shoup w) const {
    const u32 r = x * u32(w.value) - mul_high32(x, u32(w.quotient >> 32)) * q();
    return min_of32(r, r - q());
  }
  MEMBER void forward(Word& x, Word& y, Shoup w) const { const Word a = x, t = mul(y, w); x = add(a, t), y = sub(a, t); }
  MEMBER void forward_one(Word& x, Word& y) const { const Word a = x, t = y; x = add(a, t), y = sub(a, t); }
  MEMBER void inverse(Word& x, Word& y, Shoup w) const { forward_one(x, y), y = mul(y, w); }
  MEMBER void inverse_one(Word& x, Word& y) const { forward_one(x, y); }
  MEMBER Word digit(u64 cut, u64 half) const { const u32 d = u32(cut - half); return min_of32(d, d + q()); }
  MEMBER Word factor(Word x) const { return x; }
  MEMBER void add_product(Total& sum, Word x, u64 y, u32) const { sum = reduce(u64(x) * u32(y) + sum, m); }
  MEMBER Word total(const Total& sum) const { return u32(sum); }
  MEMBER u64 divided(u64 a, Word x, u64 c) const { return reduce(u64(sub(u32(a), x)) * u32(c), m); }
};

// q < 2^50. A word is a double v, an integer that stands for its residue, with b such that |v| <= b q / 64; b is a constant
// wherever loops are unrolled and costs nothing on a GPU. On the host each claim is checked. Why every result is exact:
//
// Sums. b <= 512 means |v| <= 8q < 2^53, and integers up to there are doubles.
// Nearest integer. x + MAGIC for |x| <= 2^51 lies in [2^52, 2^53], where doubles are the integers: fma(x, y, MAGIC) - MAGIC is
//   the integer k nearest to x y, rounded once.
// Products x w, |w| <= q / 2 (a table's w is centered) and b <= 256, so that |x w / q| <= 2q < 2^51. h = rn(x w), and
//   l = x w - h is a double, as that of any product that does not underflow. The table's w/q, below 1/2 and rounded once, is
//   off by 2^-55 at most, so k = nearest(x (w/q)) is within 1/2 + |x| 2^-55 <= 1/2 + (b/64) 2^-5 of x w / q, and x w - k q
//   within (33 + b / 32) q / 64 of 0. h - k q is that less l, an integer below 2^52: the fma that gives it does not round, nor does adding l.
// Products x y of two words, b b' <= 128 64, so that |x y| <= 2 q^2. k = nearest(h rn(1/q)): |h| 2^-52 / q more from the
//   quotient than 1/2, at most (b b' / 64^2) 2^-2: within (33 + b b' / 256) q / 64. The rest as above.
// tame. k = nearest(x rn(1/q)) is within 1/2 + 2^-40 of x / q, so the rest within 33 q / 64; it is an integer: exact.
struct FloatField {
  static const int STAGES = 4;
  u64 modulus;
  double q, reciprocal;
  struct Word { double v; u32 b; };
  using Total = Word;
  // The bits of 2^52, or'ed to integers below it to have their sum; and 2^52 + 2^51.
  static const u64 EXPONENT = 0x4330000000000000;
  MEMBER static double magic() { return 6755399441055744.0; }

  MEMBER Word word(double v, u32 b) const {
    CLAIM((v < 0 ? -v : v) * 64 <= b * q && b <= 512)
    return {v, b};
  }
  MEMBER Word open(u64 x) const { return word(add_rn(double_of(x | EXPONENT), -4503599627370496.0), 64); }
  MEMBER u64 canonical(Word x) const {
    const i64 r = i64(bits_of(add_rn(within(x, 63).v, magic())) - bits_of(magic()));
    return u64(r + (r >> 63 & i64(modulus)));
  }
  MEMBER Word held(u64 x, u32 b) const { return word(double_of(x), b); }
  MEMBER u64 hold(Word x, u32 b) const { return bits_of(within(x, b).v); }
  MEMBER Word claim(Word x, u32 b) const { return word(x.v, b); }
  MEMBER Word add(Word a, Word b) const { return word(add_rn(a.v, b.v), a.b + b.b); }
  MEMBER Word sub(Word a, Word b) const { return word(add_rn(a.v, -b.v), a.b + b.b); }

  MEMBER Word tame(Word x) const { return word(fma_rn(-nearest(x.v, reciprocal), q, x.v), 33); }
  MEMBER Word within(Word x, u32 b) const { return x.b <= b ? x : tame(x); }
  MEMBER static double nearest(double x, double y) {
    CLAIM(x * y <= 2251799813685248.0 && x * y >= -2251799813685248.0)
    return add_rn(fma_rn(x, y, magic()), -magic());
  }
  // h + l - k q.
  MEMBER Word rest(double h, double l, double k, u32 b) const { return word(add_rn(fma_rn(-k, q, h), l), b); }
  MEMBER Word mul(Word any, Shoup w) const {
    const Word x = within(any, 256);
    const double value = double_of(w.value), h = mul_rn(x.v, value);
    return rest(h, fma_rn(x.v, value, -h), nearest(x.v, double_of(w.quotient)), 33 + x.b / 32);
  }
  MEMBER Word product(Word x, Word y) const {
    CLAIM(x.b * y.b <= 128 * 64)
    const double h = mul_rn(x.v, y.v);
    return rest(h, fma_rn(x.v, y.v, -h), nearest(h, reciprocal), 33 + x.b * y.b / 256);
  }
  MEMBER void forward(Word& x, Word& y, Shoup w) const { add_to(x, y, mul(y, w)); }
  MEMBER void forward_one(Word& x, Word& y) const { add_to(x, y, within(y, 128)); }
  MEMBER void add_to(Word& x, Word& y, Word t) const { const Word a = within(x, 256 - t.b); x = add(a, t), y = sub(a, t); }
  MEMBER void inverse(Word& x, Word& y, Shoup w) const { inverse_one(x, y), y = mul(y, w); }
  MEMBER void inverse_one(Word& x, Word& y) const {
    Word a = x, b = y;
    if (a.b + b.b > 256 && a.b >= b.b) a = tame(a);
    if (a.b + b.b > 256) b = tame(b);
    if (a.b + b.b > 256) a = tame(a);
    x = add(a, b), y = sub(a, b);
  }
  MEMBER Word digit(u64 cut, u64 half) const {
    return word(add_rn(double_of(cut | EXPONENT), -double_of(half | EXPONENT)), 64);
  }
  MEMBER Word factor(Word x) const { return within(x, 128); }
  MEMBER void add_product(Total& sum, Word x, u64 y, u32 term) const {
    // At most four products of 65 follow the rest, of 33, of those before.
    if (term % 4 == 3) sum = tame(word(sum.v, 293));
    sum = word(add(word(sum.v, 228), product(x, open(y))).v, 293);
  }
  MEMBER Word total(const Total& sum) const { return tame(word(sum.v, 293)); }
  MEMBER u64 divided(u64 a, Word x, u64 c) const {
    return canonical(product(tame(sub(open(a), within(x, 256))), open(c)));
  }
};

// f with the field of a prime.
template <class F>
DEVICE void of_class(const Prime& p, const F& f) {
  const u64 q = p.m.q;
  if (q >> 31 == 0) f(NarrowField{p.m});
  else if (q >> FLOAT_BITS == 0) f(FloatField{q, double_of(q | FloatField::EXPONENT) - 4503599627370496.0, p.inverse});
  else f(WideField{p.m});
}
