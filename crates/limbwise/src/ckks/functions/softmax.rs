//! Functions of whole rows: softmax, and rows centered and divided by their deviation.

use super::{
    Inverse, InverseRoot, Rows, Smooth,
    composed::{Ready, inside},
};
use crate::{
    ckks::{Auto, Ciphertext},
    error::{FunctionError, Result},
};
use limbwise_device::Device;

/// Bound of exponents: sums of `exp(x − bound)` lie in an interval whose ends have a quotient of `exp(2·bound)`, and an
/// [`Inverse`] takes a quotient of about a million.
const MOST: f64 = 7.0;

/// `exp(x_i)/Σ_j exp(x_j)` along rows of values from −bound to bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Softmax {
    rows: Rows,
    bound: f64,
    /// `exp(x − bound)`, at most one.
    powers: Smooth,
    inverse: Inverse,
}

/// `(x − mean)/√(variance + ε)` along rows.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerNorm {
    rows: Rows,
    /// Least and greatest variance.
    variance: [f64; 2],
    epsilon: f64,
    root: InverseRoot,
}

impl Softmax {
    /// The softmax of values from −bound to bound. `error` is the largest error of a result, as a part of the greatest.
    ///
    /// # Errors
    /// [`FunctionError::Bound`] for a bound beyond 7; as [`Smooth::exp`] and [`Inverse::new`].
    pub fn new(rows: &Rows, bound: f64, error: f64) -> Result<Self> {
        if !(bound > 0.0 && bound <= MOST) {
            return Err(FunctionError::Bound { function: "softmax", bound, most: MOST }.into());
        }
        // Relative to the smallest value that a sum can have.
        let least = (-2.0 * bound).exp();
        let powers = Smooth::new("softmax", |x| (x - bound).exp(), [-bound, bound], 0.25 * error * least)?;
        #[expect(clippy::cast_precision_loss, reason = "values of an axis")]
        let count = rows.axis().length as f64;
        // Each power may be wrong by a quarter of the error.
        let inverse = Inverse::new(count * least * (1.0 - 0.25 * error), count * (1.0 + 0.25 * error), 0.5 * error)?;
        Ok(Self { rows: rows.clone(), bound, powers, inverse })
    }

    /// Levels on so many slots: exponential, inverse of the sum, their product, and one if the sum must be spread.
    #[must_use]
    pub fn levels(&self, slots: usize) -> usize {
        self.powers.levels() + self.rows.spread_levels(slots) + self.inverse.levels() + 1
    }

    /// Levels of the first polynomial.
    #[must_use]
    pub fn first_levels(&self) -> usize {
        self.powers.levels()
    }

    /// The softmax where values are, zero elsewhere.
    ///
    /// # Errors
    /// [`FunctionError::Domain`] for values that may exceed the bound; too few levels; a missing key.
    pub fn apply<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        self.rows.check(x)?;
        inside("softmax", x, self.bound)?;
        // Where no value is there is zero, whose power is known.
        let powers = self.powers.apply(auto, x, ready)?;
        let powers = self.rows.filled(auto, &powers, -self.powers.evaluate(0.0))?.bounded_by(1.0);
        #[expect(clippy::cast_precision_loss, reason = "values of an axis")]
        let count = self.rows.axis().length as f64;
        let total = self.rows.total(auto, &powers, count)?;
        let total = self.rows.spread(auto, &total, 1.0, ready)?;
        // Rows without a value have no sum to divide by.
        let total = self.rows.without_rows(auto, &total, count)?;
        let inverse = ready(&self.inverse.apply(auto, &total, ready)?, 1)?;
        let inverse = self.rows.handed_back(auto, &inverse, x.batch());
        Ok(auto.settle(&auto.mul(&ready(&powers, 1)?, &inverse)?)?.bounded_by(1.0))
    }
}

impl LayerNorm {
    /// Rows whose variance lies between two numbers, the smaller first; `epsilon` is added to it. `error` is the largest
    /// relative error of the inverse root.
    ///
    /// # Errors
    /// As [`InverseRoot::new`].
    pub fn new(rows: &Rows, variance: [f64; 2], epsilon: f64, error: f64) -> Result<Self> {
        let root = InverseRoot::new(variance[0] + epsilon, variance[1] + epsilon, error)?;
        Ok(Self { rows: rows.clone(), variance, epsilon, root })
    }

    /// Levels on so many slots: mean, square, its mean, inverse root, product, and one if padding must be cleared.
    #[must_use]
    pub fn levels(&self, slots: usize) -> usize {
        4 + usize::from(self.must_clear(slots)) + self.root.inverse_levels()
    }

    /// Whether means are where no value is.
    fn must_clear(&self, slots: usize) -> bool {
        self.rows.is_padded() && !self.rows.go_round(slots)
    }

    /// The rows, centered and divided, where values are, zero elsewhere.
    ///
    /// # Errors
    /// Too few levels; a missing key.
    pub fn apply<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        self.rows.check(x)?;
        let _region = auto.eval.device().region("layer_norm", 0);
        #[expect(clippy::cast_precision_loss, reason = "values of an axis")]
        let part = 1.0 / self.rows.axis().length as f64;
        let centered = self.centered(auto, x, part, ready)?;
        let square = auto.settle(&auto.square(&ready(&centered, 1)?)?)?;
        let most = self.variance[1];
        let total = self.rows.total(auto, &square, most / part)?;
        let variance = self.rows.spread(auto, &total, part, ready)?.bounded_by(most);
        let middle = self.variance[0].midpoint(most);
        let variance = self.rows.without_rows(auto, &variance, middle)?;
        let variance = auto.add_scalar(&variance, self.epsilon).bounded_by(most + self.epsilon);
        let [_, of_root] = self.root.apply(auto, &variance, ready)?;
        let of_root = self.rows.handed_back(auto, &ready(&of_root, 1)?, x.batch());
        let normal = auto.settle(&auto.mul(&ready(&centered, 1)?, &of_root)?)?;
        // Of n values none is further from the mean than √n deviations.
        Ok(normal.bounded_by(part.recip().sqrt() * (1.0 + self.root.error())))
    }

    /// Values minus the mean of their row, zero where no value is.
    fn centered<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        part: f64,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        let total = self.rows.total(auto, x, x.estimate.peak / part)?;
        if self.rows.go_round(x.slots) {
            let total = self.rows.handed_back(auto, &ready(&total, 1)?, x.batch());
            let mean = auto.settle(&self.rows.masked(auto, &total, |_| part)?)?;
            return auto.settle(&auto.sub(x, &mean.bounded_by(x.estimate.peak))?);
        }
        let mean = self.rows.spread(auto, &total, part, ready)?;
        let centered = auto.settle(&auto.sub(x, &mean)?)?;
        if self.must_clear(x.slots) {
            return auto.settle(&self.rows.masked(auto, &ready(&centered, 1)?, |_| 1.0)?);
        }
        Ok(centered)
    }
}
