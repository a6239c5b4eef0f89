//! Base conversion and centered lifts for primes of any width, in sums of 32-bit products, written once for every vector
//! arithmetic.
//!
//! With B the bits of the largest prime of a conversion and p = ⌈B/2⌉ every word is a low part of p bits and a high one
//! of B − p: products of parts are one instruction, and their sums wait unreduced in three accumulators a target, of
//! weight 1, 2^p and 2^2p. Targets below B bits are scaled: with t' = 2^h·t of B bits and weights 2^h·w mod t', a sum
//! modulo t' is 2^h times the one wanted, and one reduction serves all.
//!
//! Range: between two reductions stand at most 2^(63−B) − 1 sources, the overflows and one reduced sum, hence
//! * no accumulator exceeds 2^64: the sum S is below 2^63·t', the middle one takes two products of B bits each;
//! * c = ⌊S/2^s⌋ for s = B − 1, summed from the accumulators' own shifts, is below 2^64 and misses S/2^s by less than 2;
//! * μ = ⌊2^(64+s)/t'⌋ is below 2^64, and ⌊c·μ/2^64⌋, of which `high` takes up to 3, misses S/t' by less than
//!   2·2^s/t' + 1 + 1 + 3 < 7: the remainder is in [0, 7t'), below 2^64.

use super::{
    avx2, avx512,
    convert::{Sources, Target as Swept},
};
use crate::layout::Line;
use limbwise_math::{
    modulus::{Modulus, Shoup},
    rns::{BaseConversion, Fraction},
};

/// Largest number of targets of one sweep.
pub(super) const SWEEP: usize = 4;

/// Vector unit, with the proof that this CPU has it.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Avx2(avx2::Token),
    Avx512(avx512::Token),
}

/// Constants of a conversion between primes of any width.
pub(crate) struct WordConversion {
    unit: Unit,
    pub(super) sources: Vec<Source>,
    pub(super) targets: Vec<Target>,
    /// Both parts of `2^h·A/a_i mod t'`, one row per source and one place per target; then those of `−2^h·A`.
    pub(super) weights: Vec<[u32; 2]>,
    /// B.
    pub(super) bits: u32,
}

pub(super) struct Source {
    pub(super) q: Modulus,
    pub(super) inverse: Shoup,
    pub(super) fraction: Fraction,
}

pub(super) struct Target {
    /// t', 2t', 4t'.
    pub(super) multiples: [u64; 3],
    /// μ.
    pub(super) mu: u64,
    /// h.
    pub(super) scale: u32,
}

impl WordConversion {
    pub(super) fn new(unit: Unit, base: &BaseConversion) -> Self {
        let bits = base.from.iter().chain(&base.to).map(|q| q.bits()).max().expect("a conversion needs a source");
        let sources = base.from.iter().zip(&base.inverses).zip(&base.fractions);
        let sources = sources.map(|((&q, &inverse), &fraction)| Source { q, inverse, fraction }).collect();
        let target = |q: &Modulus| {
            let scale = bits - q.bits();
            let scaled = q.value() << scale;
            let mu = (1u128 << (63 + bits)) / u128::from(scaled);
            Target {
                multiples: [scaled, 2 * scaled, 4 * scaled],
                mu: u64::try_from(mu).expect("t' is above 2^(B-1)"),
                scale,
            }
        };
        let targets: Vec<Target> = base.to.iter().map(target).collect();
        let part = bits.div_ceil(2);
        let weight = |j: usize, w: u64| {
            let w = w << targets[j].scale;
            [w & ((1 << part) - 1), w >> part].map(|half| u32::try_from(half).expect("a part has at most 31 bits"))
        };
        let row = |i: usize| (0..targets.len()).map(move |j| (i, j));
        let weights = (0..base.from.len()).flat_map(row).map(|(i, j)| weight(j, base.weights[j][i]));
        let overflows = (0..targets.len()).map(|j| weight(j, base.corrections[j][1]));
        let weights = weights.chain(overflows).collect();
        Self { unit, sources, targets, weights, bits }
    }

    /// Sources between two reductions.
    pub(super) fn chunk(&self) -> usize {
        (1 << (63 - self.bits).min(20)) - 1
    }

    /// Multiplies the sources and counts the overflows, starting from zeros.
    pub(super) fn prepare(&self, sources: &mut [&mut [Line]], overflows: &mut [Line]) {
        match self.unit {
            Unit::Avx2(token) => avx2::prepare(token, self, sources, overflows),
            Unit::Avx512(token) => avx512::prepare(token, self, sources, overflows),
        }
    }

    /// Writes lines of up to [`SWEEP`] consecutive targets, from prepared sources.
    pub(super) fn sweep(&self, out: &mut [Swept<'_>], sources: Sources<'_>) {
        match self.unit {
            Unit::Avx2(token) => avx2::sweep(token, self, out, sources),
            Unit::Avx512(token) => avx512::sweep(token, self, out, sources),
        }
    }
}

/// Makes `prepare`, `sweep` and `lift` of an arithmetic in scope: `V`, `HALVES`, `load`, `store`, `splat`,
/// `broadcast` (a 32-bit word at the foot of every lane), `add`, `sub`,
/// `and`, `left`, `right`, `right_by`, `reduce_once`, `lift_once`, `where_greater`, `narrow_product`, `low_product`, `high`, `scale`,
/// `fraction`.
#[cfg(target_arch = "x86_64")]
macro_rules! conversions {
    ($token:ty, $features:tt) => {
        pub(crate) fn prepare(_token: $token, c: &WordConversion, sources: &mut [&mut [Line]], overflows: &mut [Line]) {
            #[expect(unsafe_code, reason = "calls into code for one instruction set")]
            // SAFETY: the token proves the features.
            unsafe {
                prepare_lines(c, sources, overflows);
            }
        }

        #[target_feature(enable = $features)]
        fn prepare_lines(c: &WordConversion, sources: &mut [&mut [Line]], overflows: &mut [Line]) {
            for (s, source) in c.sources.iter().zip(sources) {
                let (k, factor) = (Constants::new(s.q), splat(s.fraction.factor));
                let [l, r] = [s.fraction.left, s.fraction.right].map(|shift| splat(shift.into()));
                for (x, sum) in source.iter_mut().zip(&mut *overflows) {
                    for half in 0..HALVES {
                        let y = scale(k, load(x, half), &s.inverse);
                        store(x, half, y);
                        store(sum, half, add(load(sum, half), fraction(right(left(y, l), r), factor)));
                    }
                }
            }
            let (half_unit, unit) = (splat(1 << (Fraction::BITS - 1)), splat(Fraction::BITS.into()));
            for sum in overflows {
                for half in 0..HALVES {
                    store(sum, half, right(add(load(sum, half), half_unit), unit));
                }
            }
        }

        pub(crate) fn sweep(
            _token: $token,
            c: &WordConversion,
            out: &mut [Swept<'_>],
            y: Sources<'_>,
        ) {
            #[expect(unsafe_code, reason = "calls into code for one instruction set")]
            match out {
                // SAFETY: the token proves the features.
                [(j, a)] => unsafe { sweep_lines(c, *j, [a], y) },
                // SAFETY: the token proves the features.
                [(j, a), (_, b)] => unsafe { sweep_lines(c, *j, [a, b], y) },
                // SAFETY: the token proves the features.
                [(j, a), (_, b), (_, d)] => unsafe { sweep_lines(c, *j, [a, b, d], y) },
                // SAFETY: the token proves the features.
                [(j, a), (_, b), (_, d), (_, e)] => unsafe { sweep_lines(c, *j, [a, b, d, e], y) },
                _ => unreachable!("a sweep has 1 to 4 targets"),
            }
        }

        /// Shifts by p (twice: a shift by `count` keeps the compiler from masking what no product reads), 2p, s, s − p,
        /// 2p − s, and the mask of a low part.
        #[derive(Clone, Copy)]
        struct Shifts {
            part: V,
            count: __m128i,
            parts: V,
            top: V,
            less: V,
            more: V,
            mask: V,
        }

        impl Shifts {
            #[inline]
            #[target_feature(enable = $features)]
            fn new(bits: u32) -> Self {
                assert!(bits <= Modulus::MAX_BITS, "what a shift takes; a larger one would be another instruction");
                let (p, s) = (u64::from(bits.div_ceil(2)), u64::from(bits - 1));
                Self {
                    part: splat(p),
                    count: _mm_cvtsi64_si128(p.cast_signed()),
                    parts: splat(2 * p),
                    top: splat(s),
                    less: splat(s - p),
                    more: splat(2 * p - s),
                    mask: splat((1 << p) - 1),
                }
            }
        }

        /// Accumulators of weight 1, 2^p and 2^2p → their sum modulo t'.
        #[inline]
        #[target_feature(enable = $features)]
        fn reduced(k: Shifts, target: &Target, [a0, a1, a2]: [V; 3]) -> V {
            let c = add(add(left(a2, k.more), right(a1, k.less)), right(a0, k.top));
            let bottom = add(add(left(a2, k.parts), left(a1, k.part)), a0);
            let [q, twice, four] = [splat(target.multiples[0]), splat(target.multiples[1]), splat(target.multiples[2])];
            let r = sub(bottom, low_product(high(c, splat(target.mu)), q));
            reduce_once(reduce_once(reduce_once(r, four), twice), q)
        }

        #[target_feature(enable = $features)]
        fn sweep_lines<const T: usize>(
            c: &WordConversion,
            first: usize,
            out: [&mut [Line]; T],
            Sources { rows: sources, overflows, part }: Sources<'_>,
        ) {
            let (k, chunk, count) = (Shifts::new(c.bits), c.chunk(), c.targets.len());
            let (targets, weights) = (&c.targets[first..first + T], &c.weights[first..]);
            for line in part.runs().flatten() {
                for half in 0..HALVES {
                    let e = load(&overflows[line], half);
                    let last = &weights[count * sources.len()..][..T];
                    let mut sums = [[splat(0); 3]; SWEEP];
                    unroll!(4 {
                        if I < T {
                            let [w0, w1] = last[I];
                            sums[I] = [narrow_product(e, broadcast(w0)), narrow_product(e, broadcast(w1)), splat(0)];
                        }
                    });
                    let mut start = 0;
                    while start < sources.len() {
                        let end = sources.len().min(start + chunk);
                        for i in start..end {
                            let row = &weights[count * i..][..T];
                            let y = load(&sources[i][line], half);
                            let (y0, y1) = (and(y, k.mask), right_by(y, k.count));
                            unroll!(4 {
                                if I < T {
                                    let [w0, w1] = [broadcast(row[I][0]), broadcast(row[I][1])];
                                    sums[I][0] = add(sums[I][0], narrow_product(y0, w0));
                                    sums[I][1] = add(sums[I][1], narrow_product(y1, w0));
                                    sums[I][1] = add(sums[I][1], narrow_product(y0, w1));
                                    sums[I][2] = add(sums[I][2], narrow_product(y1, w1));
                                }
                            });
                        }
                        unroll!(4 {
                            if I < T {
                                sums[I] = [reduced(k, &targets[I], sums[I]), splat(0), splat(0)];
                            }
                        });
                        start = end;
                    }
                    unroll!(4 {
                        if I < T {
                            store(&mut out[I][line], half, right(sums[I][0], splat((targets[I].scale & 63).into())));
                        }
                    });
                }
            }
        }

        /// The centered lift of a limb modulo `from` to one modulo `to`.
        pub(crate) fn lift(_token: $token, from: Modulus, to: Modulus, out: &mut [Line], a: &[Line]) {
            #[expect(unsafe_code, reason = "calls into code for one instruction set")]
            // SAFETY: the token proves the features.
            unsafe {
                lift_lines(from, to, out, a);
            }
        }

        #[target_feature(enable = $features)]
        fn lift_lines(from: Modulus, to: Modulus, out: &mut [Line], a: &[Line]) {
            let (k, one, q) = (Constants::new(to), to.shoup(1), splat(to.value()));
            let (half_prime, wrap) = (splat(from.value() / 2), splat(to.reduce(from.value())));
            for (out, a) in out.iter_mut().zip(a) {
                for half in 0..HALVES {
                    let x = load(a, half);
                    store(out, half, lift_once(sub(scale(k, x, &one), where_greater(x, half_prime, wrap)), q));
                }
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use conversions;
