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
///
/// Two steps: [`Self::prepare`] once for the sources, [`Self::sweep`] for each target; or both a tile at a time.
pub struct Converter {
    base: BaseConversion,
    vector: Option<ifma::IfmaConversion>,
}

thread_local! {
    /// One a thread: a tile is converted in a few microseconds, in which nothing large should be allocated.
    static SCRATCH: RefCell<Vec<Line>> = RefCell::default();
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
            Isa::Scalar | Isa::Avx2 => None,
        };
        Self { base, vector }
    }

    /// Converts some lines, best [`TILE`] of them; all slices have one length.
    ///
    /// # Panics
    /// If there is not one slice a prime.
    pub fn convert(&self, targets: &mut [&mut [Line]], sources: &[&[Line]]) {
        assert!(sources.len() == self.base.from.len() && targets.len() == self.base.to.len());
        SCRATCH.with_borrow_mut(|scratch| {
            let length = sources[0].len();
            scratch.resize(length * (sources.len() + 1), Line::default());
            let (wraps, scaled) = scratch.split_at_mut(length);
            scaled.chunks_exact_mut(length).zip(sources).for_each(|(to, from)| to.copy_from_slice(from));
            self.prepare(&mut scaled.chunks_exact_mut(length).collect::<Vec<_>>(), wraps);
            let sources: Vec<&[Line]> = scaled.chunks_exact(length).collect();
            let mut targets: Vec<_> = targets.iter_mut().enumerate().map(|(j, target)| (j, &mut **target)).collect();
            self.sweep(&mut targets, &sources, wraps);
        });
    }

    /// Sources x_i → `x_i·(A/a_i)^{-1} mod a_i`, and how often A is contained in their sum: what [`Self::sweep`] reads.
    ///
    /// # Panics
    /// If there is not one slice a prime.
    pub fn prepare(&self, sources: &mut [&mut [Line]], wraps: &mut [Line]) {
        assert_eq!(sources.len(), self.base.from.len());
        wraps.fill(Line::default());
        if let Some(vector) = &self.vector {
            return vector.prepare(sources, wraps);
        }
        let base = &self.base;
        for (i, source) in sources.iter_mut().enumerate() {
            let (q, w, fraction) = (base.from[i], base.inverses[i], base.fractions[i]);
            for (x, sum) in source.iter_mut().zip(&mut *wraps) {
                for (x, sum) in x.0.iter_mut().zip(&mut sum.0) {
                    *x = q.mul_shoup(*x, w);
                    *sum += fraction.of(*x);
                }
            }
        }
        wraps.iter_mut().flat_map(|line| &mut line.0).for_each(|sum| *sum = Fraction::round(*sum));
    }

    /// Writes some targets, with their ascending numbers, from prepared sources: each source is read once for those
    /// that follow each other.
    ///
    /// # Panics
    /// If there is not one slice a prime.
    pub fn sweep(&self, targets: &mut [(usize, &mut [Line])], sources: &[&[Line]], wraps: &[Line]) {
        assert_eq!(sources.len(), self.base.from.len());
        let mut rest = targets;
        while let Some(&mut (first, _)) = rest.first_mut() {
            let reach = self.vector.as_ref().map_or(0, |vector| vector.reach(first));
            let count = rest.iter().zip(first..).take(reach.max(1)).take_while(|((j, _), next)| j == next).count();
            let (now, later) = std::mem::take(&mut rest).split_at_mut(count);
            rest = later;
            match &self.vector {
                Some(vector) if reach > 0 => {
                    let mut now: Vec<&mut [Line]> = now.iter_mut().map(|(_, target)| &mut **target).collect();
                    vector.sweep(first, &mut now, sources, wraps);
                }
                _ => now.iter_mut().for_each(|(j, target)| self.sweep_scalar(*j, target, sources, wraps)),
            }
        }
    }

    fn sweep_scalar(&self, j: usize, target: &mut [Line], sources: &[&[Line]], wraps: &[Line]) {
        let (t, weights, corrections) = (self.base.to[j], &self.base.weights[j], &self.base.corrections[j]);
        for (i, (out, wraps)) in target.iter_mut().zip(wraps).enumerate() {
            for (lane, (out, &wraps)) in out.0.iter_mut().zip(&wraps.0).enumerate() {
                let products = sources.iter().zip(weights).map(|(y, &w)| u128::from(y[i].0[lane]) * u128::from(w));
                let correction = usize::try_from(wraps).ok().and_then(|e| corrections.get(e));
                *out = t.add(t.reduce_wide(products.sum()), correction.copied().unwrap_or(0));
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
