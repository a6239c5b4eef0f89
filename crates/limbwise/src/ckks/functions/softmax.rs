//! Functions of whole rows: softmax, and rows centered and divided by their deviation.

use super::{
    Halvings, Inverse, InverseRoot, Rows, Smooth,
    composed::{ROOM, Ready, inside, known, noiseless},
};
use crate::{
    ckks::{Auto, Ciphertext},
    error::{Error, FunctionError, Result},
};
use limbwise_device::Device;

/// Largest bound that one exponential serves: sums of `exp(x − bound)` lie in an interval whose ends have a quotient of
/// `exp(2·bound)`, and an [`Inverse`] takes a quotient of about a million.
const PLAIN: f64 = 7.0;
/// Relative error of the inverses before the last: the next division takes it away.
const LOOSE: f64 = 0.125;

/// `exp(x_i)/Σ_j exp(x_j)` along rows of values from −bound to bound.
///
/// Values beyond 7 are divided by 2^k ([`Halvings`]); their exponentials are made parts of their sum and squared k times.
#[derive(Clone, Debug, PartialEq)]
pub struct Softmax {
    rows: Rows,
    bound: f64,
    /// `exp((x − bound)/2^k)`, at most one.
    powers: Smooth,
    /// Of the sum of the exponentials, and of that of each square.
    inverses: Vec<Inverse>,
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
    /// [`FunctionError::Bound`] for a bound that no number of halvings serves; [`FunctionError::Error`] for an error that is
    /// none; as [`Smooth::exp`] and [`Inverse::new`].
    pub fn new(rows: &Rows, bound: f64, error: f64) -> Result<Self> {
        let most = Halvings::largest();
        if !(bound > 0.0 && bound <= most) {
            return Err(FunctionError::Bound { function: "softmax", bound, most }.into());
        }
        if !(error > 0.0 && error.is_finite()) {
            return Err(FunctionError::Error { function: "softmax", error }.into());
        }
        let halvings = if bound <= PLAIN { Halvings::NONE } else { Halvings::of(bound) };
        // Relative to the smallest value that a sum can have; each power may be wrong by a quarter of the error.
        let least = (-2.0 * halvings.of_each(bound)).exp();
        let of_powers = halvings.of_each(0.25 * error);
        let power = |x: f64| halvings.of_each(x - bound).exp();
        let powers = Smooth::new("softmax", power, [-bound, bound], of_powers * least)?;
        #[expect(clippy::cast_precision_loss, reason = "values of an axis")]
        let count = rows.axis().length as f64;
        let mut interval = [count * least * (1.0 - of_powers), count * (1.0 + of_powers)];
        let mut inverses = Vec::new();
        for _ in 0..halvings.count() {
            inverses.push(Inverse::new(interval[0], interval[1], LOOSE)?);
            // Squares of parts whose sum is nearly one.
            interval = [(1.0 - LOOSE).powi(2) / count * (1.0 - ROOM), (1.0 + LOOSE).powi(2) * (1.0 + ROOM)];
        }
        inverses.push(Inverse::new(interval[0], interval[1], 0.5 * error)?);
        Ok(Self { rows: rows.clone(), bound, powers, inverses })
    }

    /// Levels on so many slots: the exponential; for each sum its inverse, their product, and one if it must be spread; for
    /// each square one.
    #[must_use]
    pub fn levels(&self, slots: usize) -> usize {
        let of_sum = |inverse: &Inverse| self.rows.spread_levels(slots) + inverse.levels() + 1;
        self.powers.levels() + self.inverses.iter().map(of_sum).sum::<usize>() + self.inverses.len() - 1
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
        let mut powers = self.rows.filled(auto, &powers, -self.powers.evaluate(0.0))?.bounded_by(1.0);
        #[expect(clippy::cast_precision_loss, reason = "values of an axis")]
        let mut most = self.rows.axis().length as f64;
        let (last, before) = self.inverses.split_last().ok_or(Error::State)?;
        // Of parts that add up to nearly one, and of their squares.
        let size = (1.0 + LOOSE) / most.sqrt();
        for inverse in before {
            // The error of a sum is one of all parts of its row alike, which the next division takes away.
            let total = self.spread_total(auto, (&powers, most), noiseless, ready)?;
            let parts = self.divided(auto, &powers, (inverse, &noiseless(&total)), ready)?.bounded_by(1.0 + LOOSE);
            let error = parts.estimate.error().hypot(size * inverse.relative(total.estimate.error()));
            let parts = known(parts, 1.0 + LOOSE, error).with_magnitude(size);
            powers = auto.settle(&auto.square(&ready(&parts, 1)?)?)?.with_magnitude(size);
            most = (1.0 + LOOSE).powi(2);
        }
        let total = self.spread_total(auto, (&powers, most), Ciphertext::clone, ready)?;
        Ok(self.divided(auto, &powers, (last, &total), ready)?.bounded_by(1.0))
    }

    /// The sum of each row, which is at most `most`, at all of its places; `seen` is the sum with the error that counts.
    fn spread_total<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        (powers, most): (&Ciphertext<D>, f64),
        seen: fn(&Ciphertext<D>) -> Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        let total = self.rows.total(auto, powers, most)?;
        let total = self.rows.spread(auto, &seen(&total), 1.0, ready)?;
        // Rows without a value have no sum to divide by.
        self.rows.without_rows(auto, &total, most)
    }

    /// Powers divided by the sums of their rows.
    fn divided<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        powers: &Ciphertext<D>,
        (inverse, total): (&Inverse, &Ciphertext<D>),
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        let inverse = ready(&inverse.apply(auto, total, ready)?, 1)?;
        let inverse = self.rows.handed_back(auto, &inverse, powers.batch());
        auto.settle(&auto.mul(&ready(powers, 1)?, &inverse)?)
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
