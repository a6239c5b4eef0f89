//! Change of basis on tiles of coefficients: from several limbs to several others.

use super::{Isa, ifma};
use crate::layout::Line;
use limbwise_math::{
    modulus::Modulus,
    rns::{BaseConversion, Fraction},
};
use std::cell::RefCell;

/// Lines of a tile: the sources of one tile stay in the L1 cache while targets are swept.
pub const TILE: usize = 64;

/// A base conversion with the constants of each kernel.
pub struct Converter {
    base: BaseConversion,
    vector: Option<ifma::IfmaConversion>,
}

thread_local! {
    /// One a thread: a tile is converted in a few microseconds, in which nothing should be allocated.
    static SCRATCH: RefCell<ConversionScratch> = RefCell::default();
}

/// Room for one tile's intermediate values.
#[derive(Default)]
pub(crate) struct ConversionScratch {
    /// `x_i·(A/a_i)^{-1} mod a_i`: for each line, all sources.
    pub(crate) scaled: Vec<Line>,
    /// How often A is contained.
    pub(crate) wraps: Vec<Line>,
}

impl Converter {
    /// Constants for a conversion between disjoint bases; vector kernels serve sources that are all within their reach.
    ///
    /// # Panics
    /// If `from` is empty or shares a prime with `to`, or the CPU lacks `isa`.
    #[must_use]
    pub fn new(isa: Isa, from: &[Modulus], to: &[Modulus]) -> Self {
        let base = BaseConversion::new(from, to);
        let vector = match isa {
            Isa::Ifma => ifma::IfmaConversion::new(&base),
            _ => None,
        };
        Self { base, vector }
    }

    /// Converts some lines, best [`TILE`] of them; all slices have one length.
    ///
    /// # Panics
    /// If there is not one slice a prime.
    pub fn convert(&self, targets: &mut [&mut [Line]], sources: &[&[Line]]) {
        assert!(sources.len() == self.base.from.len() && targets.len() == self.base.to.len());
        SCRATCH.with_borrow_mut(|scratch| self.convert_with(targets, sources, scratch));
    }

    fn convert_with(&self, targets: &mut [&mut [Line]], sources: &[&[Line]], scratch: &mut ConversionScratch) {
        let length = sources[0].len();
        scratch.scaled.resize(length * sources.len(), Line::default());
        scratch.wraps.resize(length, Line::default());
        match &self.vector {
            Some(vector) => vector.scale(sources, scratch),
            None => self.scale(sources, scratch),
        }
        let done = self.vector.as_ref().map(|vector| vector.sweep(targets, scratch));
        for (j, target) in targets.iter_mut().enumerate() {
            if !done.as_ref().is_some_and(|done| done[j]) {
                self.sweep(j, target, scratch);
            }
        }
    }

    /// Fills the scratch from the sources.
    fn scale(&self, sources: &[&[Line]], scratch: &mut ConversionScratch) {
        let base = &self.base;
        scratch.wraps.fill(Line::default());
        for (i, source) in sources.iter().enumerate() {
            let scaled = scratch.scaled[i..].iter_mut().step_by(sources.len());
            let (q, w, fraction) = (base.from[i], base.inverses[i], base.fractions[i]);
            for ((x, y), sum) in source.iter().zip(scaled).zip(&mut scratch.wraps) {
                for ((&x, y), sum) in x.0.iter().zip(&mut y.0).zip(&mut sum.0) {
                    *y = q.mul_shoup(x, w);
                    *sum += fraction.of(*y);
                }
            }
        }
        scratch.wraps.iter_mut().flat_map(|line| &mut line.0).for_each(|sum| *sum = Fraction::round(*sum));
    }

    /// Writes one target from the scratch.
    fn sweep(&self, j: usize, target: &mut [Line], scratch: &ConversionScratch) {
        let (t, weights, corrections) = (self.base.to[j], &self.base.weights[j], &self.base.corrections[j]);
        let columns = scratch.scaled.chunks_exact(weights.len());
        for ((out, wraps), column) in target.iter_mut().zip(&scratch.wraps).zip(columns) {
            for (lane, (out, &wraps)) in out.0.iter_mut().zip(&wraps.0).enumerate() {
                let sum: u128 = column.iter().zip(weights).map(|(y, &w)| u128::from(y.0[lane]) * u128::from(w)).sum();
                let correction = usize::try_from(wraps).ok().and_then(|e| corrections.get(e));
                *out = t.add(t.reduce_wide(sum), correction.copied().unwrap_or(0));
            }
        }
    }
}

/// The centred lift of a limb modulo `from` to one modulo `to`.
///
/// # Panics
/// If the CPU lacks `isa`.
pub fn lift(isa: Isa, (from, to): (Modulus, Modulus), out: &mut [Line], a: &[Line]) {
    if isa == Isa::Ifma && from.bits().max(to.bits()) <= ifma::MAX_BITS {
        let token = ifma::Token::detect().expect("the caller checked that the CPU has IFMA");
        return ifma::lift(token, from, to, out, a);
    }
    for (out, a) in out.iter_mut().zip(a) {
        out.0.iter_mut().zip(&a.0).for_each(|(out, &a)| *out = to.from_i64(from.centred(a)));
    }
}
