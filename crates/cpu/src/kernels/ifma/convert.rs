//! Base conversion and centered lifts, eight coefficients at a time.

use super::{
    Token,
    table::{Factor, factor},
    vector::{
        AHEAD, FactorVector, MASK, V, add, and, high, inverse_of_word, load, look_up8, look_up16, low, prefetch,
        product, reduce_once, splat, store, sub, zero,
    },
};
use crate::layout::Line;
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
    runs: Vec<Run>,
}

struct Source {
    q: Modulus,
    inverse: Factor,
    fraction: Fraction,
}

/// Neighbouring targets that are swept together.
struct Run {
    first: usize,
    targets: Vec<Target>,
    /// `2^52·A/a_i`, a row a source, then `−2^52·A`: sums are divided by 2^52 when they are reduced.
    weights: Vec<[u64; SWEEP]>,
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

impl Run {
    fn new(base: &BaseConversion, first: usize, count: usize) -> Self {
        let target = |j: usize| {
            let q = base.to[j].value();
            let mut starts = Line::default();
            starts.0.iter_mut().zip(&base.corrections[j]).for_each(|(to, &c)| *to = q + c);
            let shift = base.to[j].bits() - 1;
            let multiples = [0, 8].map(|from| Line(std::array::from_fn(|i| ((from + i as u64) << shift) / q * q)));
            Target { q, inverse: inverse_of_word(q), starts, shift: shift.into(), multiples }
        };
        let mut weights = vec![[0; SWEEP]; base.from.len() + 1];
        for (place, j) in (first..first + count).enumerate() {
            let q = base.to[j];
            let terms = base.weights[j].iter().chain(&base.corrections[j][1..2]);
            weights.iter_mut().zip(terms).for_each(|(to, &w)| to[place] = q.mul(w, q.reduce(1 << 52)));
        }
        Self { first, targets: (first..first + count).map(target).collect(), weights }
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
        let (mut runs, mut j) = (Vec::new(), 0);
        while j < base.to.len() {
            let reached = base.to[j..].iter().take_while(|&&q| PrimeClass::of(q) != PrimeClass::Long).count();
            let count = reached.div_ceil(reached.div_ceil(SWEEP).max(1));
            if count > 0 {
                runs.push(Run::new(base, j, count));
            }
            j += count.max(1);
        }
        Some(Self { _token: token, sources, runs })
    }

    /// Multiplies the sources and counts the overflows, starting from zeros.
    pub(crate) fn prepare(&self, sources: &mut [&mut [Line]], overflows: &mut [Line]) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            prepare(&self.sources, sources, overflows);
        }
    }

    /// Number of targets from `j` on that can be swept together; 0 if target `j` has no vector kernel.
    pub(crate) fn reach(&self, j: usize) -> usize {
        self.run(j).map_or(0, |run| run.first + run.targets.len() - j)
    }

    /// Writes the targets from number `first` on, within its reach, from prepared sources.
    pub(crate) fn sweep(&self, first: usize, targets: &mut [&mut [Line]], sources: &[&[Line]], overflows: &[Line]) {
        let Some(run) = self.run(first) else { return };
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            sweep_run(run, first - run.first, targets, sources, overflows);
        }
    }

    fn run(&self, j: usize) -> Option<&Run> {
        self.runs.iter().find(|run| (run.first..run.first + run.targets.len()).contains(&j))
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
fn sweep_run(run: &Run, place: usize, out: &mut [&mut [Line]], y: &[&[Line]], overflows: &[Line]) {
    match (out, y.len() > TABLED) {
        ([a], false) => sweep::<1, false>(run, place, [a], y, overflows),
        ([a], true) => sweep::<1, true>(run, place, [a], y, overflows),
        ([a, b], false) => sweep::<2, false>(run, place, [a, b], y, overflows),
        ([a, b], true) => sweep::<2, true>(run, place, [a, b], y, overflows),
        ([a, b, c], false) => sweep::<3, false>(run, place, [a, b, c], y, overflows),
        ([a, b, c], true) => sweep::<3, true>(run, place, [a, b, c], y, overflows),
        ([a, b, c, d], false) => sweep::<4, false>(run, place, [a, b, c, d], y, overflows),
        ([a, b, c, d], true) => sweep::<4, true>(run, place, [a, b, c, d], y, overflows),
        ([a, b, c, d, e], false) => sweep::<5, false>(run, place, [a, b, c, d, e], y, overflows),
        ([a, b, c, d, e], true) => sweep::<5, true>(run, place, [a, b, c, d, e], y, overflows),
        ([a, b, c, d, e, f], false) => sweep::<6, false>(run, place, [a, b, c, d, e, f], y, overflows),
        ([a, b, c, d, e, f], true) => sweep::<6, true>(run, place, [a, b, c, d, e, f], y, overflows),
        _ => unreachable!("a run has 1 to {SWEEP} targets"),
    }
}

/// The run's targets from `place` on: `Σ y_i·weight_i`; the overflows are one more term where there are more than [`TABLED`]
/// sources, else what they take off is looked up.
///
/// Range: high halves start at q, plus the sum before or what the overflows take off, in [0, 2q]; c ≤ 24 sources add less
/// than c·q/4. So [`reduced`] gets less than 8q, and less than 4q for c ≤ 7.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn sweep<const T: usize, const WIDE: bool>(
    run: &Run,
    place: usize,
    out: [&mut [Line]; T],
    sources: &[&[Line]],
    overflows: &[Line],
) {
    let targets: &[Target; T] = run.targets[place..].first_chunk().expect("one target an output");
    for (line, overflows) in overflows.iter().enumerate() {
        let overflows = load(overflows);
        let (mut lows, mut highs) = ([zero(); T], [zero(); T]);
        for t in 0..T {
            if WIDE {
                let w = splat(run.weights[sources.len()][place + t]);
                (lows[t], highs[t]) = (low(zero(), overflows, w), high(splat(targets[t].q), overflows, w));
            } else {
                highs[t] = _mm512_permutexvar_epi64(overflows, load(&targets[t].starts));
            }
        }
        for (chunk, weights) in sources.chunks(CHUNK).zip(run.weights.chunks(CHUNK)) {
            for (source, weights) in chunk.iter().zip(weights) {
                prefetch(source.as_ptr().wrapping_add(line + AHEAD));
                let y = load(&source[line]);
                for t in 0..T {
                    let w = splat(weights[place + t]);
                    (lows[t], highs[t]) = (low(lows[t], y, w), high(highs[t], y, w));
                }
            }
            for t in 0..T {
                let sum = reduced::<WIDE>(&targets[t], lows[t], highs[t]);
                (lows[t], highs[t]) = (zero(), if WIDE { add(sum, splat(targets[t].q)) } else { sum });
            }
        }
        for t in 0..T {
            let q = splat(targets[t].q);
            store(&mut out[t][line], if WIDE { sub(highs[t], q) } else { highs[t] });
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
        return super::wide::lift(token, from, to, out, a);
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
