//! Base conversion and centered lifts, eight coefficients at a time.

use super::{
    Token,
    table::{Factor, factor},
    vector::{
        AHEAD, FactorVector, MASK, V, add, and, high, inverse_of_word, load, look_up8, look_up16, low, prefetch,
        prefetch_later, prefetch_to_write, product, reduce_once, splat, store, sub, zero,
    },
};
use crate::{
    kernels::{
        avx512,
        convert::{Sources, Target as Swept},
    },
    layout::Line,
};
use limbwise_math::{
    modulus::Modulus,
    prime_class::PrimeClass,
    rns::{BaseConversion, Fraction},
};
use std::arch::x86_64::{
    _mm512_cmpgt_epu64_mask, _mm512_mask_sub_epi64, _mm512_permutexvar_epi64, _mm512_sllv_epi64, _mm512_srli_epi64,
};

/// Sources summed between two reductions: the reduced sum stays below 8t.
const CHUNK: usize = 24;

/// Largest number of sources whose corrections fit one vector.
const TABLED: usize = 7;

/// Targets whose sums are in registers together.
const SWEEP: usize = 6;

/// Constants of a conversion from narrow and short primes.
pub(crate) struct IfmaConversion {
    _token: Token,
    sources: Vec<Source>,
    /// `None` for long primes, which have no kernel here.
    targets: Vec<Option<Target>>,
    /// `2^52·A/a_i` modulo each target, a row a source, then `−2^52·A`: sums are divided by 2^52 when they are reduced.
    weights: Vec<Vec<u64>>,
}

struct Source {
    q: Modulus,
    inverse: Factor,
    fraction: Fraction,
}

struct Target {
    q: u64,
    /// q^{-1} modulo 2^52.
    inverse: u64,
    /// `q − e·A mod q` for e = 0 … [`TABLED`], if there are so few.
    starts: Line,
    /// The bits of q less one: what a look-up resolves.
    shift: u64,
    /// `⌊i·2^shift/q⌋·q` for i = 0 … 15.
    multiples: [Line; 2],
}

impl Target {
    fn new(modulus: Modulus, corrections: &[u64]) -> Self {
        let (q, shift) = (modulus.value(), modulus.bits() - 1);
        let mut starts = Line::default();
        starts.0.iter_mut().zip(corrections).for_each(|(to, &c)| *to = q + c);
        let multiples = [0, 8].map(|from| Line(std::array::from_fn(|i| ((from + i as u64) << shift) / q * q)));
        Self { q, inverse: inverse_of_word(q), starts, shift: shift.into(), multiples }
    }
}

impl IfmaConversion {
    /// Constants, if this CPU and all sources allow.
    pub(crate) fn new(base: &BaseConversion) -> Option<Self> {
        let token = Token::detect()?;
        if base.from.iter().any(|&q| PrimeClass::of(q) == PrimeClass::Long) {
            return None;
        }
        let sources = base.from.iter().zip(&base.inverses).zip(&base.fractions);
        let sources = sources.map(|((&q, w), &fraction)| Source { q, inverse: factor(q, w.value), fraction }).collect();
        let target =
            |(&q, c): (&Modulus, &Vec<u64>)| (PrimeClass::of(q) != PrimeClass::Long).then(|| Target::new(q, c));
        let targets = base.to.iter().zip(&base.corrections).map(target).collect();
        let term = |j: usize, i: usize| base.weights[j].get(i).copied().unwrap_or(base.corrections[j][1]);
        let weight = |(j, q): (usize, &Modulus), i: usize| q.mul(term(j, i), q.reduce(1 << 52));
        let row = |i: usize| base.to.iter().enumerate().map(|target| weight(target, i)).collect();
        Some(Self { _token: token, sources, targets, weights: (0..=base.from.len()).map(row).collect() })
    }

    /// Multiplies the sources and counts the overflows, starting from zeros.
    pub(crate) fn prepare(&self, sources: &mut [&mut [Line]], overflows: &mut [Line]) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            prepare(&self.sources, sources, overflows);
        }
    }

    /// Of `wanted` targets from `j` on, the number to be swept together first; 0 if target `j` has no kernel here.
    pub(crate) fn together(&self, j: usize, wanted: usize) -> usize {
        let reached = self.targets[j..].iter().take(wanted).take_while(|target| target.is_some()).count();
        reached.div_ceil(reached.div_ceil(SWEEP).max(1))
    }

    /// Writes lines of as many consecutive targets as [`Self::together`] says, from prepared sources.
    pub(crate) fn sweep(&self, targets: &mut [Swept<'_>], sources: Sources<'_>) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            sweep_some(self, targets, sources);
        }
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn prepare(constants: &[Source], sources: &mut [&mut [Line]], overflows: &mut [Line]) {
    let mask = splat(MASK);
    for (s, source) in constants.iter().zip(sources) {
        let w = FactorVector::splat(s.inverse);
        let (q, negative) = (splat(s.q.value()), splat((1 << 52) - s.q.value()));
        let (left, fraction) = (splat(u64::from(s.fraction.left)), splat(s.fraction.factor));
        for (x, sum) in source.iter_mut().zip(&mut *overflows) {
            let value = reduce_once(and(product(zero(), load(x), w, negative), mask), q);
            store(x, value);
            store(sum, high(load(sum), _mm512_sllv_epi64(value, left), fraction));
        }
    }
    let half = splat(1 << (Fraction::BITS - 1));
    for sum in overflows {
        store(sum, _mm512_srli_epi64::<{ Fraction::BITS }>(add(load(sum), half)));
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn sweep_some(c: &IfmaConversion, out: &mut [Swept<'_>], y: Sources<'_>) {
    match (out, y.rows.len() > TABLED) {
        ([(j, a)], false) => sweep::<1, false>(c, *j, [a], y),
        ([(j, a)], true) => sweep::<1, true>(c, *j, [a], y),
        ([(j, a), (_, b)], false) => sweep::<2, false>(c, *j, [a, b], y),
        ([(j, a), (_, b)], true) => sweep::<2, true>(c, *j, [a, b], y),
        ([(j, a), (_, b), (_, d)], false) => sweep::<3, false>(c, *j, [a, b, d], y),
        ([(j, a), (_, b), (_, d)], true) => sweep::<3, true>(c, *j, [a, b, d], y),
        ([(j, a), (_, b), (_, d), (_, e)], false) => sweep::<4, false>(c, *j, [a, b, d, e], y),
        ([(j, a), (_, b), (_, d), (_, e)], true) => sweep::<4, true>(c, *j, [a, b, d, e], y),
        ([(j, a), (_, b), (_, d), (_, e), (_, f)], false) => sweep::<5, false>(c, *j, [a, b, d, e, f], y),
        ([(j, a), (_, b), (_, d), (_, e), (_, f)], true) => sweep::<5, true>(c, *j, [a, b, d, e, f], y),
        ([(j, a), (_, b), (_, d), (_, e), (_, f), (_, g)], false) => sweep::<6, false>(c, *j, [a, b, d, e, f, g], y),
        ([(j, a), (_, b), (_, d), (_, e), (_, f), (_, g)], true) => sweep::<6, true>(c, *j, [a, b, d, e, f, g], y),
        _ => unreachable!("a sweep has 1 to {SWEEP} targets"),
    }
}

/// The targets from number `first` on: `Σ y_i·weight_i`; the overflows are one more term where there are more than
/// [`TABLED`] sources, else what they take off is looked up.
///
/// Range: high halves start at q, plus the sum before or what the overflows take off, in [0, 2q]; c ≤ 24 sources add less
/// than c·q/4. So [`reduced`] gets less than 8q, and less than 4q for c ≤ 7.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn sweep<const T: usize, const WIDE: bool>(
    c: &IfmaConversion,
    first: usize,
    out: [&mut [Line]; T],
    Sources { rows: sources, overflows, part }: Sources<'_>,
) {
    let targets: [&Target; T] =
        std::array::from_fn(|t| c.targets[first + t].as_ref().expect("targets with a kernel are swept"));
    let window = |row: &Vec<u64>| *row[first..].first_chunk::<T>().expect("a weight for each target");
    let weights: Vec<[u64; T]> = c.weights.iter().map(window).collect();
    // The next strip is asked for into the L2 cache, for it is far away in time; the next lines into the L1 cache, and what is
    // written there is left to the hardware, which follows it.
    let strips = part.is_strip();
    let ask = |line: *const Line| if strips { prefetch_later(line) } else { prefetch(line) };
    for lines in part.runs() {
        for line in lines {
            if strips {
                prefetch_later(overflows.as_ptr().wrapping_add(line + AHEAD));
            }
            let overflows = load(&overflows[line]);
            let (mut lows, mut highs) = ([zero(); T], [zero(); T]);
            for t in 0..T {
                if WIDE {
                    let w = splat(weights[sources.len()][t]);
                    (lows[t], highs[t]) = (low(zero(), overflows, w), high(splat(targets[t].q), overflows, w));
                } else {
                    highs[t] = _mm512_permutexvar_epi64(overflows, load(&targets[t].starts));
                }
            }
            for (chunk, weights) in sources.chunks(CHUNK).zip(weights.chunks(CHUNK)) {
                for (source, weights) in chunk.iter().zip(weights) {
                    ask(source.as_ptr().wrapping_add(line + AHEAD));
                    let y = load(&source[line]);
                    for t in 0..T {
                        let w = splat(weights[t]);
                        (lows[t], highs[t]) = (low(lows[t], y, w), high(highs[t], y, w));
                    }
                }
                for t in 0..T {
                    let sum = reduced::<WIDE>(targets[t], lows[t], highs[t]);
                    (lows[t], highs[t]) = (zero(), if WIDE { add(sum, splat(targets[t].q)) } else { sum });
                }
            }
            for t in 0..T {
                let q = splat(targets[t].q);
                if strips {
                    prefetch_to_write(out[t].as_ptr().wrapping_add(line + AHEAD));
                }
                store(&mut out[t][line], if WIDE { sub(highs[t], q) } else { highs[t] });
            }
        }
    }
}

/// `high + low/2^52` modulo q, `high` having started at q or more: Montgomery's step, a look-up, a subtraction.
///
/// Range: high + ⌊low/2^52⌋ in [q, 8q) if `WIDE`, else in [q, 4q) → [0, q).
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn reduced<const WIDE: bool>(target: &Target, low_sum: V, high_sum: V) -> V {
    let (q, shift, multiples) = (splat(target.q), splat(target.shift & 63), &target.multiples);
    let m = low(zero(), low_sum, splat(target.inverse));
    let r = sub(add(high_sum, _mm512_srli_epi64::<52>(low_sum)), high(zero(), m, q));
    let r = if WIDE {
        look_up16(r, shift, [load(&multiples[0]), load(&multiples[1])])
    } else {
        look_up8(r, shift, load(&multiples[0]))
    };
    reduce_once(r, q)
}

/// The centered lift of a limb modulo `from` to one modulo `to`.
pub(crate) fn lift(token: Token, from: Modulus, to: Modulus, out: &mut [Line], a: &[Line]) {
    if PrimeClass::of(from).max(PrimeClass::of(to)) == PrimeClass::Long {
        return avx512::lift(token.into(), from, to, out, a);
    }
    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
    // SAFETY: the token proves AVX-512F and IFMA.
    unsafe {
        lift_lines(from, to, out, a);
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn lift_lines(from: Modulus, to: Modulus, out: &mut [Line], a: &[Line]) {
    let (t, negative, mask) = (splat(to.value()), splat((1 << 52) - to.value()), splat(MASK));
    let (half, wrap) = (splat(from.value() / 2), splat(to.reduce(from.value())));
    let barrett = splat(factor(to, 1).quotient);
    for (out, a) in out.iter_mut().zip(a) {
        let x = load(a);
        let r = reduce_once(and(low(x, high(zero(), x, barrett), negative), mask), t);
        let shifted = _mm512_mask_sub_epi64(r, _mm512_cmpgt_epu64_mask(x, half), r, wrap);
        // Below zero it is a huge word: of it and its sum with t the smaller is the residue.
        store(out, std::arch::x86_64::_mm512_min_epu64(shifted, add(shifted, t)));
    }
}
