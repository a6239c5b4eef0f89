//! Base conversion, eight coefficients at a time, four targets a sweep.

use super::{
    MAX_BITS, Token,
    table::{Factor, factor},
    vector::{MASK, V, add, and, high, load, low, product, reduce_once, splat, store, zero},
};
use crate::{kernels::convert::ConversionScratch, layout::Line};
use limbwise_math::{modulus::Modulus, rns::BaseConversion, rns::Fraction};
use std::arch::x86_64::{_mm512_sllv_epi64, _mm512_srli_epi64};

/// Sources whose products fit a high sum of 52 bits together.
const CHUNK: usize = 8;

/// Targets whose sums are in registers together.
pub(crate) const SWEEP: usize = 4;

/// Constants of a conversion from primes of up to 50 bits.
pub(crate) struct IfmaConversion {
    _token: Token,
    sources: Vec<Source>,
    targets: Vec<Option<Target>>,
}

struct Source {
    q: Modulus,
    inverse: Factor,
    fraction: Fraction,
}

struct Target {
    q: Modulus,
    /// 2^52 modulo q.
    wrap: Factor,
    one: Factor,
    /// `A/a_i`, then −A.
    weights: Vec<u64>,
}

impl IfmaConversion {
    /// Constants, if this CPU and all sources allow.
    pub(crate) fn new(base: &BaseConversion) -> Option<Self> {
        let token = Token::detect()?;
        if base.from.iter().any(|q| q.bits() > MAX_BITS) {
            return None;
        }
        let sources = base.from.iter().zip(&base.inverses).zip(&base.fractions);
        let sources = sources.map(|((&q, w), &fraction)| Source { q, inverse: factor(q, w.value), fraction }).collect();
        let target = |(j, &q): (usize, &Modulus)| {
            let weights = [&base.weights[j][..], &base.corrections[j][1..2]].concat();
            let wrap = factor(q, q.reduce(1 << 52));
            (q.bits() <= MAX_BITS).then(|| Target { q, wrap, one: factor(q, 1), weights })
        };
        Some(Self { _token: token, sources, targets: base.to.iter().enumerate().map(target).collect() })
    }

    /// Whether target `j` has a vector kernel.
    pub(crate) fn reaches(&self, j: usize) -> bool {
        self.targets[j].is_some()
    }

    /// Fills the scratch from the sources.
    pub(crate) fn scale(&self, sources: &[&[Line]], scratch: &mut ConversionScratch) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            scale(&self.sources, sources, scratch);
        }
    }

    /// Writes targets `j, j + 1, …` that all have vector kernels, at most [`SWEEP`], from the scratch.
    pub(crate) fn sweep(&self, j: usize, out: &mut [&mut [Line]], scratch: &ConversionScratch) {
        let targets: Vec<&Target> = self.targets[j..][..out.len()].iter().flatten().collect();
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            match (&targets[..], out) {
                (&[a, b, c, d], [x, y, z, w]) => sweep([a, b, c, d], [x, y, z, w], scratch),
                (targets, out) => {
                    targets.iter().zip(out).for_each(|(target, out)| sweep([target], [out], scratch));
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn scale(constants: &[Source], sources: &[&[Line]], scratch: &mut ConversionScratch) {
    let length = scratch.wraps.len();
    scratch.wraps.fill(Line::default());
    let mask = splat(MASK);
    for ((s, source), scaled) in constants.iter().zip(sources).zip(scratch.scaled.chunks_exact_mut(length)) {
        let w = (splat(s.inverse.value), splat(s.inverse.quotient));
        let (q, negative) = (splat(s.q.value()), splat((1 << 52) - s.q.value()));
        let (left, fraction) = (splat(u64::from(s.fraction.left)), splat(s.fraction.factor));
        for ((x, y), sum) in source.iter().zip(scaled).zip(&mut scratch.wraps) {
            let value = reduce_once(and(product(zero(), load(x), w, negative), mask), q);
            store(y, value);
            store(sum, high(load(sum), _mm512_sllv_epi64(value, left), fraction));
        }
    }
    let half = splat(1 << (Fraction::BITS - 1));
    for sum in &mut scratch.wraps {
        store(sum, _mm512_srli_epi64::<{ Fraction::BITS }>(add(load(sum), half)));
    }
}

/// `high·2^52 + low` modulo q, for sums of at most [`CHUNK`] + 1 products: [0, q).
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn reduced(t: &Target, low_sum: V, high_sum: V) -> V {
    let (q, negative, mask) = (splat(t.q.value()), splat((1 << 52) - t.q.value()), splat(MASK));
    let carried = add(high_sum, _mm512_srli_epi64::<52>(low_sum));
    // Both products are below 2q; the sum of the true values is below 4q ≤ 2^52.
    let upper = product(zero(), carried, (splat(t.wrap.value), splat(t.wrap.quotient)), negative);
    let sum = low(add(upper, low_sum), high(zero(), low_sum, splat(t.one.quotient)), negative);
    reduce_once(reduce_once(and(sum, mask), add(q, q)), q)
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn sweep<const T: usize>(targets: [&Target; T], out: [&mut [Line]; T], scratch: &ConversionScratch) {
    let length = scratch.wraps.len();
    let sources = targets[0].weights.len() - 1;
    for line in 0..length {
        let mut totals = [zero(); T];
        for first in (0..sources).step_by(CHUNK) {
            let (mut lows, mut highs) = ([zero(); T], [zero(); T]);
            for i in first..(first + CHUNK).min(sources) {
                let y = load(&scratch.scaled[i * length + line]);
                for t in 0..T {
                    let w = splat(targets[t].weights[i]);
                    (lows[t], highs[t]) = (low(lows[t], y, w), high(highs[t], y, w));
                }
            }
            if first == 0 {
                let y = load(&scratch.wraps[line]);
                for t in 0..T {
                    let w = splat(targets[t].weights[sources]);
                    (lows[t], highs[t]) = (low(lows[t], y, w), high(highs[t], y, w));
                }
            }
            for t in 0..T {
                totals[t] =
                    reduce_once(add(totals[t], reduced(targets[t], lows[t], highs[t])), splat(targets[t].q.value()));
            }
        }
        for t in 0..T {
            store(&mut out[t][line], totals[t]);
        }
    }
}
