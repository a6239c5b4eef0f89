//! Operations on ciphertexts of every RLWE scheme: products, key switches, divisions of the modulus.
//!
//! BGV differs only in how a division rounds ([`DivisionRounding`], ADR 89).

use super::key::EvaluationKey;
use crate::{
    error::{Result, ShapeError},
    params::Params,
};
use limbwise_device::{Basis, Device, GadgetKey, Handle as _, Terms, Weight};
use limbwise_math::{galois::GaloisElement, modulus::Modulus};

/// Rounding of a division by primes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DivisionRounding {
    /// To the nearest integer.
    Nearest,
    /// To a multiple of t: the remainder subtracted before dividing is one, so the value modulo t is divided exactly.
    ///
    /// `(x − t·[x·t⁻¹])/q = t·⌊t⁻¹·x / q⌉`, t⁻¹ modulo all of x's primes: a division to nearest between two products
    /// with constants. The errors of a key switch become multiples of t in the same way, so all schemes share their
    /// keys.
    MultipleOf(Modulus),
}

impl DivisionRounding {
    /// `t⁻¹·x` for a multiple of t, else x.
    fn enter<D: Device>(self, dev: &D, x: D::Poly) -> D::Poly {
        let Self::MultipleOf(t) = self else { return x };
        let moduli = x.shape().ring.moduli_of(x.shape().basis);
        let inverses: Vec<u64> = moduli.iter().map(|q| q.inv(q.reduce(t.value()))).collect();
        dev.scale_limbs(x, &inverses)
    }

    /// `t·x` for a multiple of t, else x.
    fn leave<D: Device>(self, dev: &D, x: D::Poly) -> D::Poly {
        match self {
            Self::Nearest => x,
            Self::MultipleOf(t) => times(dev, x, t),
        }
    }

    /// Divides `a` by its primes outside `to`.
    pub fn divide<D: Device>(self, dev: &D, a: &D::Poly, to: Basis) -> D::Poly {
        self.leave(dev, dev.rescale(&self.enter(dev, a.clone()), to))
    }

    /// [`Device::key_switch_onto`] with this rounding.
    fn key_switch_onto<D: Device>(
        self,
        dev: &D,
        c: &D::Poly,
        key: &GadgetKey<D::Poly>,
        onto: [Option<&D::Poly>; 2],
        to: Basis,
    ) -> [D::Poly; 2] {
        if self == Self::Nearest {
            return dev.key_switch_onto(c, key, onto, to);
        }
        let inside = self.enter(dev, c.clone());
        if to == c.shape().basis {
            let switched = dev.key_switch(&inside, key).map(|half| self.leave(dev, half));
            let [b, a] = switched;
            let sum = |half: D::Poly, onto: Option<&D::Poly>| match onto {
                Some(onto) => dev.add(&half, onto),
                None => half,
            };
            return [sum(b, onto[0]), sum(a, onto[1])];
        }
        let onto = onto.map(|onto| onto.map(|onto| self.enter(dev, onto.clone())));
        let onto = [onto[0].as_ref(), onto[1].as_ref()];
        dev.key_switch_onto(&inside, key, onto, to).map(|half| self.leave(dev, half))
    }
}

/// `t·x`.
pub(crate) fn times<D: Device>(dev: &D, x: D::Poly, t: Modulus) -> D::Poly {
    let moduli = x.shape().ring.moduli_of(x.shape().basis);
    let factors: Vec<u64> = moduli.iter().map(|q| q.reduce(t.value())).collect();
    dev.scale_limbs(x, &factors)
}

/// `(a0 + a1·s)(b0 + b1·s)` as a polynomial in s: `a0b0`, `a0b1 + a1b0`, `a1b1`.
///
/// Cost: 4 products per limb.
pub fn product<D: Device>(dev: &D, [a0, a1]: [&D::Poly; 2], [b0, b1]: [&D::Poly; 2]) -> Vec<D::Poly> {
    let _region = dev.region("multiply", 0);
    dev.tensor(&[a0, a1], &[b0, b1], 0, &[], &[])
}

/// Messages of two encrypted matrices, a message an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixSizes {
    /// Rows of the left matrix and of the result.
    pub rows: usize,
    /// Columns of the left matrix, rows of the right one.
    pub inner: usize,
    /// Columns of the right matrix and of the result.
    pub columns: usize,
}

impl MatrixSizes {
    /// Sizes from the inner one and the batches of both operands.
    ///
    /// # Errors
    /// [`ShapeError::Columns`] if a batch is no multiple of it.
    pub fn of(op: &'static str, inner: usize, [left, right]: [usize; 2]) -> Result<Self> {
        let part = |batch: usize| -> Result<usize> {
            let part = batch.checked_div(inner).filter(|part| part * inner == batch);
            Ok(part.ok_or(ShapeError::Columns { op, columns: inner, batch })?)
        };
        Ok(Self { rows: part(left)?, inner, columns: part(right)? })
    }
}

/// `Σ_k (a0_jk + a1_jk·s)(b0_kg + b1_kg·s)` as polynomials in s, entry `j·columns + g` of the batch: every product is
/// added up before anything is relinearized.
///
/// Cost: 4·rows·inner·columns products per limb.
pub fn matrix_product<D: Device>(
    dev: &D,
    a: [&D::Poly; 2],
    b: [&D::Poly; 2],
    MatrixSizes { rows, inner, columns }: MatrixSizes,
) -> Vec<D::Poly> {
    let _region = dev.region("multiply_matrices", 0);
    let entries = |half: &D::Poly, size: usize| -> Vec<D::Poly> {
        let count = half.shape().batch / size;
        (0..count).map(|at| dev.split(half, at * size, (at + 1) * size)).collect()
    };
    let [weights0, weights1] = a.map(|half| entries(half, 1));
    // The second half of b lies behind the first.
    let x: Vec<D::Poly> = b.into_iter().flat_map(|half| entries(half, columns)).collect();
    // Row j of the left matrix on a half of b.
    let row = |weights, half: usize, j: usize| {
        let weights: &Vec<D::Poly> = [&weights0, &weights1][weights];
        let of_row = weights[j * inner..][..inner].iter().enumerate();
        of_row.map(move |(k, weight)| (half * inner + k, Weight::Values(weight)))
    };
    let sum = |part: usize, j: usize| -> Terms<'_, D::Poly> {
        match part {
            0 => row(0, 0, j).collect(),
            1 => row(0, 1, j).chain(row(1, 0, j)).collect(),
            _ => row(1, 1, j).collect(),
        }
    };
    let sum = &sum;
    let terms: Vec<Terms<'_, D::Poly>> = (0..3).flat_map(|part| (0..rows).map(move |j| sum(part, j))).collect();
    let sums = dev.weighted_sums(&x, &terms);
    sums.chunks(rows).map(|part| dev.stack(&part.iter().collect::<Vec<_>>())).collect()
}

/// `(a0 + a1·s)²`, with one product fewer.
pub fn square<D: Device>(dev: &D, [a0, a1]: [&D::Poly; 2]) -> Vec<D::Poly> {
    let _region = dev.region("square", 0);
    dev.tensor(&[a0, a1], &[], 0, &[], &[])
}

/// The level of an operand and the level of its result, which is at most as high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelDrop {
    /// Level of the operand.
    pub from: usize,
    /// Level of the result.
    pub to: usize,
}

impl LevelDrop {
    /// Operand and result at one level.
    #[must_use]
    pub fn none(level: usize) -> Self {
        Self { from: level, to: level }
    }
}

/// Relinearizes `c0 + c1·s + c2·s²` to a pair, and divides by the primes that `levels` drops.
///
/// # Errors
/// [`KeyError`](crate::error::KeyError) for a key made for lower levels.
pub fn relinearize<D: Device>(
    dev: &D,
    params: &Params,
    [c0, c1, c2]: [&D::Poly; 3],
    key: &EvaluationKey<D>,
    levels: LevelDrop,
    rounding: DivisionRounding,
) -> Result<Vec<D::Poly>> {
    let LevelDrop { from, to } = levels;
    let _region = dev.region(if to < from { "relinearize_rescaled" } else { "relinearize" }, 0);
    let key = key.at(dev, params, from)?;
    Ok(rounding.key_switch_onto(dev, c2, &key, [Some(c0), Some(c1)], params.basis(to)).into())
}

/// An automorphism of ciphertexts at one level, with its key.
pub struct KeyedAutomorphism<'k, D: Device> {
    /// Name of the scheme operation, which is the name of the region.
    pub op: &'static str,
    /// g of X → X^g.
    pub g: GaloisElement,
    /// Switches s(X^g) → s.
    pub key: &'k EvaluationKey<D>,
    /// Level of operand and result.
    pub level: usize,
    /// Rounding of the key switch.
    pub rounding: DivisionRounding,
}

/// Applies X → X^g to `c0 + c1·s` and switches the result back to s.
///
/// # Errors
/// As [`relinearize`].
pub fn apply_automorphism<D: Device>(
    dev: &D,
    params: &Params,
    [c0, c1]: [&D::Poly; 2],
    with: &KeyedAutomorphism<'_, D>,
) -> Result<Vec<D::Poly>> {
    let KeyedAutomorphism { op, g, key, level, rounding } = *with;
    let _region = dev.region(op, g.value());
    let permuted = dev.automorphism(c1, g);
    let (key, first) = (key.at(dev, params, level)?, dev.automorphism(c0, g));
    Ok(rounding.key_switch_onto(dev, &permuted, &key, [Some(&first), None], params.basis(level)).into())
}
