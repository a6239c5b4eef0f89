//! Change of basis on tiles of coefficients: from several limbs to several others.

use super::{Isa, ifma};
use crate::layout::Line;
use limbwise_math::{
    modulus::Modulus,
    rns::{BaseConversion, Fraction},
};

/// Lines of a tile: the sources of one tile stay in the L1 cache while targets are swept.
pub const TILE: usize = 64;

/// A base conversion with the constants of each kernel.
pub struct Converter {
    base: BaseConversion,
    vector: Option<ifma::IfmaConversion>,
}

/// Room for one tile's intermediate values, reused from tile to tile.
#[derive(Default)]
pub struct ConversionScratch {
    /// `x_i·(A/a_i)^{-1} mod a_i`, source after source.
    pub(super) scaled: Vec<Line>,
    /// How often A is contained.
    pub(super) wraps: Vec<Line>,
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
            Isa::Scalar => None,
        };
        Self { base, vector }
    }

    /// Converts up to [`TILE`] lines, all slices of one length.
    ///
    /// # Panics
    /// If there is not one slice a prime.
    pub fn convert(&self, targets: &mut [&mut [Line]], sources: &[&[Line]], scratch: &mut ConversionScratch) {
        assert!(sources.len() == self.base.from.len() && targets.len() == self.base.to.len());
        let length = sources[0].len();
        scratch.scaled.resize(length * sources.len(), Line::default());
        scratch.wraps.resize(length, Line::default());
        match &self.vector {
            Some(vector) => vector.scale(sources, scratch),
            None => self.scale(sources, scratch),
        }
        let reached = |j: usize| self.vector.as_ref().filter(|vector| vector.reaches(j));
        let mut j = 0;
        while j < targets.len() {
            let run = (j..targets.len().min(j + ifma::SWEEP)).take_while(|&j| reached(j).is_some()).count();
            match reached(j) {
                Some(vector) => vector.sweep(j, &mut targets[j..j + run], scratch),
                None => self.sweep(j, targets[j], scratch),
            }
            j += run.max(1);
        }
    }

    /// Fills the scratch from the sources.
    fn scale(&self, sources: &[&[Line]], scratch: &mut ConversionScratch) {
        let base = &self.base;
        scratch.wraps.fill(Line::default());
        let scaled = scratch.scaled.chunks_exact_mut(sources[0].len());
        for (i, (source, scaled)) in sources.iter().zip(scaled).enumerate() {
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
        let length = target.len();
        for (l, (out, wraps)) in target.iter_mut().zip(&scratch.wraps).enumerate() {
            for (lane, (out, &wraps)) in out.0.iter_mut().zip(&wraps.0).enumerate() {
                let terms = weights.iter().enumerate();
                let sum: u128 =
                    terms.map(|(i, &w)| u128::from(scratch.scaled[i * length + l].0[lane]) * u128::from(w)).sum();
                let correction = usize::try_from(wraps).ok().and_then(|e| corrections.get(e));
                *out = t.add(t.reduce_wide(sum), correction.copied().unwrap_or(0));
            }
        }
    }
}

/// The centred lift of a limb modulo `from` to one modulo `to`.
pub fn lift(from: Modulus, to: Modulus, out: &mut [Line], a: &[Line]) {
    for (out, a) in out.iter_mut().zip(a) {
        out.0.iter_mut().zip(&a.0).for_each(|(out, &a)| *out = to.from_i64(from.centred(a)));
    }
}
