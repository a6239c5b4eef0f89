// Arithmetic modulo one word-sized prime, as limbwise-math defines it, and what kernels are given.
//
// Rows hold 64-bit words for all primes (20 to 61 bits), canonical residues wherever a kernel ends (but for the two halves of
// a transform, which say so). Transforms tell three classes of primes apart: fields.cuh.

// Rows of a launch, by value: four operands of them and their primes fit the 4 KB that parameters may take on any driver.
static const u32 ROWS = 96;
struct Rows { u64* at[ROWS]; };
// Which prime of the ring each row has; or another small number for each row. (Bytes would be copied to local memory.)
struct Small { u32 at[ROWS]; };
// A constant for each row.
struct Words { u64 at[ROWS]; };

// q and floor(2^128 / q).
struct Modulus { u64 q, high, low; };
// w and floor(w 2^64 / q), for multiplication by a constant.
struct Shoup { u64 value, quotient; };
// A prime of a ring of degree 2^log_n with 1/q rounded and its transform's tables; ntt.cuh says what they hold.
struct Prime {
  Modulus m;
  double inverse;
  const Shoup *roots, *inverse_roots, *cyclic, *inverse_cyclic, *low, *high, *inverse_low, *inverse_high;
};
// A double word.
struct Wide { u64 high, low; };
// Two words that are read together.
struct alignas(16) Pair { u64 x, y; };

DEVICE u64 min_of(u64 a, u64 b) { return a < b ? a : b; }
DEVICE u32 min_of32(u32 a, u32 b) { return a < b ? a : b; }
DEVICE bool is_narrow(const Modulus& m) { return m.q >> 31 == 0; }

// [0, q) -> [0, q), q < 2^63.
DEVICE u64 add_mod(u64 a, u64 b, u64 q) { const u64 s = a + b; return min_of(s, s - q); }
DEVICE u64 sub_mod(u64 a, u64 b, u64 q) { const u64 d = a - b; return min_of(d, d + q); }
DEVICE u64 neg_mod(u64 a, u64 q) { return sub_mod(0, a, q); }

DEVICE Wide mul_wide(u64 a, u64 b) { return {mul_high(a, b), a * b}; }
DEVICE Wide add_wide(Wide a, Wide b) {
  const u64 low = a.low + b.low;
  return {a.high + b.high + (low < a.low), low};
}
DEVICE Wide neg_wide(Wide a) { return {~a.high + (a.low == 0), 0 - a.low}; }
// 4 x.
DEVICE Wide shift_left2(Wide x) { return {x.high << 2 | x.low >> 62, x.low << 2}; }
// floor(x / 2^by), 0 < by < 64.
DEVICE Wide shift_wide(Wide x, u32 by) { return {x.high >> by, x.low >> by | x.high << (64 - by)}; }

// x mod q for any word.
DEVICE u64 reduce(u64 x, const Modulus& m) {
  const u64 r = x - mul_high(x, m.high) * m.q;
  return min_of(r, r - m.q);
}
// floor(x / q) or up to 2 less, modulo 2^64.
DEVICE u64 quotient_wide(Wide x, const Modulus& m) {
  const Wide a = mul_wide(x.high, m.low), b = mul_wide(x.low, m.high);
  const Wide sum = add_wide(add_wide(a, {0, mul_high(x.low, m.low)}), b);
  return x.high * m.high + sum.high;
}
// x mod q for any double word (Barrett), q up to 2^62.
DEVICE u64 reduce_wide(Wide x, const Modulus& m) {
  u64 r = x.low - quotient_wide(x, m) * m.q;
  r = min_of(r, r - m.q);
  return min_of(r, r - m.q);
}
// A reduction with a quotient of one word: of x below 2^62 q. With b the bits of q, x / q is floor(x / 2^(b-2)) times
// floor(2^(b+62) / q) over 2^64, less 1/2 for the first floor, 1 for the second and 1 for the last: the rest is below 4q.
struct Short { u32 shift; u64 ratio; };
DEVICE Short short_of(const Modulus& m) {
  const u32 bits = bits_in(m.q);
  return {bits - 2, shift_wide({m.high, m.low}, 66 - bits).low};
}
DEVICE u64 reduce_short(Wide x, const Modulus& m, Short s) {
  u64 r = x.low - mul_high(shift_wide(x, s.shift).low, s.ratio) * m.q;
  r = min_of(r, r - 2 * m.q);
  return min_of(r, r - m.q);
}
// [0, q) x [0, q) -> [0, q).
DEVICE u64 mul_mod(u64 a, u64 b, const Modulus& m) {
  return is_narrow(m) ? reduce(u64(u32(a)) * u32(b), m) : reduce_wide(mul_wide(a, b), m);
}
// a b + c mod q.
DEVICE u64 mul_add_mod(u64 a, u64 b, u64 c, const Modulus& m) {
  return is_narrow(m) ? reduce(u64(u32(a)) * u32(b) + c, m) : reduce_wide(add_wide(mul_wide(a, b), {0, c}), m);
}
// Sums of products are kept whole in a double word and reduced every 32 terms: 32 (2^61)^2 + 2^61 < 2^128.
struct Sum {
  Wide s;
  u32 held;
  MEMBER void add(u64 a, u64 b, const Modulus& m) {
    if (held == 32) s = {0, reduce_wide(s, m)}, held = 0;
    s = add_wide(s, mul_wide(a, b)), ++held;
  }
};
// Any word -> [0, 2q).
DEVICE u64 mul_shoup_lazy(u64 a, Shoup w, u64 q) { return a * w.value - mul_high(a, w.quotient) * q; }
// Any word -> [0, q).
DEVICE u64 mul_shoup(u64 a, Shoup w, u64 q) {
  const u64 r = mul_shoup_lazy(a, w, q);
  return min_of(r, r - q);
}
// The residue modulo m of the representative in (-p/2, p/2] of a residue x modulo p.
DEVICE u64 centred_residue(u64 x, u64 p, const Modulus& m) {
  const bool negative = x > p / 2;
  const u64 r = reduce(negative ? p - x : x, m);
  return negative ? neg_mod(r, m.q) : r;
}
// Digits of a gadget: add `shift`, cut at a weight, take `half` away.
struct Digits { u64 shift, mask, half; };
DEVICE u64 digit_of(u64 x, u32 weight, const Digits& d, u64 q) {
  const u64 digit = (add_mod(x, d.shift, q) >> weight & d.mask) - d.half;
  return min_of(digit, digit + q);
}
// Coefficient i of X^e a, e in [0, 2N), a of degree below N = 2^log_n.
DEVICE u64 rotated(const u64* a, u32 i, u32 e, u32 log_n, u64 q) {
  const u32 n = 1u << log_n, from = (i + 2 * n - e) & (2 * n - 1);
  const u64 x = a[from & (n - 1)];
  return from >> log_n ? neg_mod(x, q) : x;
}
