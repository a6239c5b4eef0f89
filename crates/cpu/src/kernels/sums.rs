//! Sums of products of limbs: their terms, initial values and final steps, and the generic implementation.

use super::{LimbKernels, convert::TILE};
use crate::layout::Line;
use std::ops::Range;

/// One product of a sum: a factor times each of H limbs.
#[derive(Clone, Copy)]
pub struct Term<'a, const H: usize> {
    /// The factor shared by all H products.
    pub factor: &'a [Line],
    /// The limbs to multiply it with.
    pub with: [&'a [Line]; H],
}

/// The initial value of a sum: limbs times a constant in [0, q).
#[derive(Clone, Copy)]
pub struct Onto<'a, const H: usize> {
    /// The limbs; `None` counts as zero.
    pub limbs: [Option<&'a [Line]>; H],
    /// The constant in [0, q).
    pub times: u64,
}

impl<const H: usize> Onto<'_, H> {
    /// Some lines of it.
    #[must_use]
    pub fn part(self, lines: &Range<usize>) -> Self {
        Self { limbs: self.limbs.map(|limb| Some(&limb?[lines.clone()])), ..self }
    }
}

/// The final step of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `out = sum`.
    Set,
    /// `out += sum`.
    Add,
    /// `out = (sum − out)·c`, c in [0, q): the end of a division by dropped primes, where `out` holds the remainder.
    Divide(u64),
}

/// `onto_h·constant + Σ factor·with_h` for each h below H.
#[derive(Clone, Copy)]
pub struct Sum<'a, const H: usize> {
    /// The products to sum.
    pub terms: &'a [Term<'a, H>],
    /// The initial value; `None` counts as zero.
    pub onto: Option<Onto<'a, H>>,
    /// The final step.
    pub end: End,
}

impl<'a, const H: usize> Sum<'a, H> {
    /// A sum of products with initial value zero.
    #[must_use]
    pub fn of(terms: &'a [Term<'a, H>], end: End) -> Self {
        Self { terms, onto: None, end }
    }
}

/// The sums by element-wise kernels, a tile in the L1 cache after another.
pub(super) fn by_tiles<const H: usize>(kernels: &(impl LimbKernels + ?Sized), out: [&mut [Line]; H], sum: &Sum<'_, H>) {
    let mut total = [Line::default(); TILE];
    for (h, out) in out.into_iter().enumerate() {
        for (first, out) in (0..).step_by(TILE).zip(out.chunks_mut(TILE)) {
            let (total, range) = (&mut total[..out.len()], first..first + out.len());
            match sum.onto.and_then(|onto| Some((onto.limbs[h]?, onto.times))) {
                Some((limb, times)) => {
                    total.copy_from_slice(&limb[range.clone()]);
                    kernels.scale(total, times);
                }
                None => total.fill(Line::default()),
            }
            for term in sum.terms {
                kernels.mul_acc(total, &term.factor[range.clone()], &term.with[h][range.clone()]);
            }
            match sum.end {
                End::Set => out.copy_from_slice(total),
                End::Add => kernels.add_assign(out, total),
                End::Divide(c) => kernels.divide(out, total, c),
            }
        }
    }
}

/// Limbs times constants, a tile in the L1 cache after another.
pub(super) fn combined_by_tiles(kernels: &(impl LimbKernels + ?Sized), out: &mut [Line], terms: &[(&[Line], u64)]) {
    let ((first_limb, first_constant), rest) = terms.split_first().expect("a combination has a term");
    let mut scaled = [Line::default(); TILE];
    for (first, out) in (0..).step_by(TILE).zip(out.chunks_mut(TILE)) {
        let (scaled, range) = (&mut scaled[..out.len()], first..first + out.len());
        out.copy_from_slice(&first_limb[range.clone()]);
        kernels.scale(out, *first_constant);
        for (limb, constant) in rest {
            scaled.copy_from_slice(&limb[range.clone()]);
            kernels.scale(scaled, *constant);
            kernels.add_assign(out, scaled);
        }
    }
}
