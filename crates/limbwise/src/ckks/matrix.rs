//! Matrices with one value of many messages a slot: no slot moves, so no rotation key is needed. Source: \[BCHPS24\].
//!
//! A clear matrix times encrypted rows is a product of integers with residues. Two encrypted matrices take one
//! relinearization a result.

use super::{
    ciphertext::Ciphertext,
    evaluator::{Evaluator, linear, pair_site},
    shadow::Shadow,
    watch::With,
};
use crate::{
    error::{Result, ScaleError, ShapeError},
    rlwe::operations::{self, MatrixSizes},
};
use limbwise_device::{Device, IntegerMatrix};
use num_complex::Complex64;

impl<D: Device> Evaluator<'_, D> {
    /// `Σ_i (w_ji/unit)·x_i` for each row j of a clear matrix of integers.
    ///
    /// Shape:  a batch of columns·G messages → rows·G: message `i·G + g` is value i of group g, and message `j·G + g` of
    ///         the result is sum j of group g; two polynomials, same level.
    /// Scale:  Δ → Δ·unit, exact: the weights are multiples of 1/unit, and nothing is rounded.
    /// Noise:  each row adds up independent errors: times the square root of the sum of its squared weights.
    /// Cost:   2·rows·columns·ℓ·N products a group.
    ///
    /// # Errors
    /// [`ShapeError::Columns`] for another number of messages; [`ScaleError::Wraps`] if a sum may exceed the modulus.
    pub fn matrix_product(&self, x: &Ciphertext<D>, matrix: &IntegerMatrix, unit: f64) -> Result<Ciphertext<D>> {
        let op = "matrix_product";
        linear(op, x)?;
        let columns = matrix.columns();
        if !x.batch().is_multiple_of(columns) {
            return Err(ShapeError::Columns { op, columns, batch: x.batch() }.into());
        }
        let (scale, estimate) = (x.scale * unit, x.estimate.mixed(&norms(matrix, unit), columns));
        let (log_scale, log_peak) = (scale.log2(), estimate.peak.max(1.0).log2());
        let log_modulus = self.params.log_modulus(x.level);
        let fits = log_scale + log_peak <= log_modulus - 1.0;
        if !fits {
            return Err(ScaleError::Wraps { op, log_scale, log_peak, log_modulus, level: x.level }.into());
        }
        let _region = self.dev.region(op, 0);
        let parts = x.parts.iter().map(|part| self.dev.matrix_product(part, matrix)).collect();
        let shadow = x.shadow.as_ref().map(|shadow| mixed(shadow, matrix, unit));
        Ok(self.report(op, &[x], With::Nothing, Ciphertext { parts, scale, estimate, shadow, ..*x }))
    }

    /// The product of two encrypted matrices with one value of many messages a slot, as ciphertexts of three
    /// polynomials: all products of a sum are added up first, so that each result is relinearized once.
    ///
    /// Shape:  batches of rows·inner and inner·columns messages, row after row → rows·columns.
    /// Scale:  the product of both.
    /// Noise:  that of a product, times √inner.
    /// Cost:   4·rows·inner·columns·ℓ·N products; no key.
    ///
    /// # Errors
    /// [`ShapeError::Columns`] if a batch is no multiple of `inner`; otherwise as [`Self::multiply`].
    pub fn multiply_matrices(&self, a: &Ciphertext<D>, b: &Ciphertext<D>, inner: usize) -> Result<Ciphertext<D>> {
        let op = "multiply_matrices";
        pair_site(op, a, b).same_level_and_slots()?;
        let ((a0, a1), (b0, b1)) = (linear(op, a)?, linear(op, b)?);
        let sizes = MatrixSizes::of(op, inner, [a.batch(), b.batch()])?;
        let scale = self.product_scale(op, a.scale, b.scale, a.level)?;
        let parts = operations::matrix_product(self.dev, [a0, a1], [b0, b1], sizes);
        let shadow = a.shadow.as_ref().zip(b.shadow.as_ref()).map(|(a, b)| multiplied([a, b], sizes));
        let estimate = a.estimate.product(b.estimate).summed(inner);
        let product = Ciphertext { parts, scale, estimate, shadow, ..*a };
        Ok(self.report(op, &[a, b], With::Nothing, product))
    }
}

/// The largest sums of absolute and of squared weights of a row.
pub struct Norms {
    /// Of absolute weights: how much a bound grows.
    pub absolute: f64,
    /// Square root of that of squares: how much independent errors grow.
    pub squared: f64,
}

fn norms(matrix: &IntegerMatrix, unit: f64) -> Norms {
    let squares = |j| matrix.row(j).iter().map(|&w| f64::from(w) * f64::from(w)).sum::<f64>();
    let largest = (0..matrix.rows()).map(squares).fold(0.0, f64::max);
    let absolute = |j| matrix.row(j).iter().map(|&w| f64::from(w).abs()).sum::<f64>();
    Norms { absolute: (0..matrix.rows()).map(absolute).fold(0.0, f64::max) / unit, squared: largest.sqrt() / unit }
}

/// The same sums in the clear.
fn mixed(shadow: &Shadow, matrix: &IntegerMatrix, unit: f64) -> Shadow {
    let values = shadow.values();
    let (groups, slots) = (values.len() / matrix.columns(), values[0].len());
    let sum = |j: usize, g: usize| -> Vec<Complex64> {
        let weights = matrix.row(j).iter().enumerate();
        let at = |slot| weights.clone().map(|(i, &w)| values[i * groups + g][slot] * (f64::from(w) / unit)).sum();
        (0..slots).map(at).collect()
    };
    let sums = (0..matrix.rows()).flat_map(|j| (0..groups).map(move |g| (j, g)));
    Shadow::new(&sums.map(|(j, g)| sum(j, g)).collect::<Vec<_>>(), slots)
}

/// The product of two matrices of clear slots.
fn multiplied([a, b]: [&Shadow; 2], MatrixSizes { rows, inner, columns }: MatrixSizes) -> Shadow {
    let (a, b) = (a.values(), b.values());
    let slots = a[0].len();
    let entry = |j: usize, g: usize| -> Vec<Complex64> {
        let at = |slot: usize| (0..inner).map(|k| a[j * inner + k][slot] * b[k * columns + g][slot]).sum();
        (0..slots).map(at).collect()
    };
    let entries = (0..rows).flat_map(|j| (0..columns).map(move |g| (j, g)));
    Shadow::new(&entries.map(|(j, g)| entry(j, g)).collect::<Vec<_>>(), slots)
}
