//! `1/x`, `1/√x` and `√x` on an interval of positive numbers: a polynomial to begin with, then Goldschmidt's iteration.
//!
//! The first polynomial of `1/x` is the best of its degree: its residual `1 − x·p(x)` is a Chebyshev polynomial of the
//! interval, one at zero. Each iteration squares the residual and takes one level. Values keep their size: units
//! that kept them below one would cost precision. A value outside of the interval leaves a residual that the iteration
//! promises not to see: shadow mode names the place.

use super::{
    Fit,
    composed::{ROOM, Ready, added, inside, known, noiseless},
};
use crate::{
    ckks::{Auto, Ciphertext, chebyshev::depth},
    error::{FunctionError, Result},
};
use limbwise_device::Device;
use limbwise_math::chebyshev::Series;

/// Degrees of the first polynomial: the largest of each depth.
const DEGREES: [u32; 6] = [1, 3, 7, 15, 31, 63];
/// Most iterations: beyond these the interval is too wide for floating point.
const MOST_ITERATIONS: u32 = 12;

/// `1/x` on an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Inverse {
    from: f64,
    to: f64,
    start: Series,
    residual: f64,
    iterations: u32,
}

/// `1/√x` and `√x` on an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct InverseRoot {
    from: f64,
    to: f64,
    start: Series,
    residual: f64,
    iterations: u32,
}

fn check(function: &'static str, [from, to]: [f64; 2], error: f64) -> Result<()> {
    let possible = from > 0.0 && from < to && to.is_finite() && error > 0.0 && error < 1.0;
    if possible { Ok(()) } else { Err(FunctionError::Positive { function, from, to, error }.into()) }
}

/// The start of least levels with its iterations: residuals by degree, and what an iteration makes of a residual.
fn fewest(
    error: f64,
    residual: impl Fn(u32) -> f64,
    next: impl Fn(f64) -> f64,
    levels: usize,
) -> Option<(u32, f64, u32)> {
    let of_degree = |&degree: &u32| {
        let first = residual(degree);
        let mut left = first;
        let needed = (0..=MOST_ITERATIONS).find(|_| {
            let done = left <= error;
            left = next(left);
            done
        });
        needed.filter(|_| first < 1.0).map(|iterations| (degree, first, iterations))
    };
    let cost = |(degree, _, iterations): &(u32, f64, u32)| depth(*degree as usize) + levels * *iterations as usize;
    DEGREES.iter().filter_map(of_degree).min_by_key(cost)
}

impl Inverse {
    /// The inverse on [from, to] with at most this relative error, in as few levels as it takes.
    ///
    /// # Errors
    /// [`FunctionError::Positive`] for an interval that is not one of positive numbers, an error outside (0, 1), or both
    /// out of reach.
    pub fn new(from: f64, to: f64, error: f64) -> Result<Self> {
        check("inverse", [from, to], error)?;
        // T_n at the place of zero, beyond the left end of the interval.
        let zero = (to + from) / (to - from);
        let residual = |degree: u32| (f64::from(degree + 1) * zero.acosh()).cosh().recip();
        let Some((degree, first, iterations)) = fewest(error, residual, |e| e * e, 1) else {
            return Err(FunctionError::Positive { function: "inverse", from, to, error }.into());
        };
        let terms = f64::from(degree + 1);
        let chebyshev = |x: f64| {
            let u = (2.0 * x - from - to) / (to - from);
            // At nodes inside of the interval.
            (terms * u.clamp(-1.0, 1.0).acos()).cos()
        };
        // T_n(−z) = (−1)ⁿ·T_n(z).
        let sign = if degree % 2 == 0 { -1.0 } else { 1.0 };
        let start = |x: f64| (1.0 - sign * first * chebyshev(x)) / x;
        Ok(Self { from, to, start: Series::interpolate(start, from, to, degree), residual: first, iterations })
    }

    /// Levels: the interval and the polynomial; where there are iterations the first residual, and one for each.
    #[must_use]
    pub fn levels(&self) -> usize {
        let iterations = self.iterations as usize;
        self.first_levels() + if iterations == 0 { 0 } else { 1 + iterations }
    }

    /// Bound of the relative error.
    #[must_use]
    pub fn error(&self) -> f64 {
        (0..self.iterations).fold(self.residual, |e, _| e * e)
    }

    /// The value in the clear, by the same steps.
    #[must_use]
    pub fn evaluate(&self, x: f64) -> f64 {
        let mut y = self.start.evaluate(x);
        let mut e = 1.0 - x * y;
        for _ in 0..self.iterations {
            y += y * e;
            e *= e;
        }
        y
    }

    /// Levels of the first polynomial, which are in one piece.
    #[must_use]
    pub fn first_levels(&self) -> usize {
        1 + depth(self.start.coefficients.len() - 1)
    }

    /// `1/x`, settled [`Self::levels`] lower. Whether values lie below the interval, no bound says.
    ///
    /// # Errors
    /// [`FunctionError::Domain`] for values that may lie above the interval; too few levels; a missing key.
    pub fn apply<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        inside("inverse", x, self.to)?;
        let x = &ready(x, self.first_levels())?;
        let _region = auto.eval.device().region("inverse", self.iterations);
        let most = self.from.recip();
        let y = auto.settle(&auto.chebyshev(&noiseless(x), &self.start)?)?.bounded_by(most * (1.0 + self.residual));
        if self.iterations == 0 {
            let error = y.estimate.error();
            return Ok(self.ended(y, x, error));
        }
        let mut y = ready(&y, 1)?;
        let product = auto.settle(&auto.mul(&noiseless(x), &noiseless(&y))?)?;
        // Relative errors: of the first residual, and of each product, where the inverse is as large as in the mean. The first
        // residual sees the error of the polynomial, so an iteration takes it away.
        let typical = self.typical();
        let mut relative = product.estimate.error();
        let mut e = auto.add_scalar(&auto.eval.negate(&product), 1.0);
        let mut bound = self.residual;
        for step in 0..self.iterations {
            e = ready(&known(e, bound * (1.0 + ROOM), relative), 1)?;
            let fresh = ready(&y, 1)?;
            relative = e.estimate.error().hypot(added(&y, &fresh) * typical);
            y = fresh;
            let change = auto.mul(&noiseless(&y), &noiseless(&e))?;
            relative = relative.hypot(auto.settle(&change)?.estimate.error() * typical);
            y = auto.settle(&auto.add(&y, &change)?)?.bounded_by(most);
            if step + 1 < self.iterations {
                e = auto.settle(&auto.square(&noiseless(&e))?)?;
                bound *= bound;
            }
        }
        Ok(self.ended(y, x, relative / typical))
    }

    /// The inverse of a usual argument is one over this.
    fn typical(&self) -> f64 {
        (self.from * self.to).sqrt()
    }

    /// What an error is as a part of a usual argument.
    pub(super) fn relative(&self, error: f64) -> f64 {
        error / self.typical()
    }

    /// The result with its bound, and with its error: what came in with the argument, and what was made on the way.
    fn ended<D: Device>(&self, y: Ciphertext<D>, x: &Ciphertext<D>, made: f64) -> Ciphertext<D> {
        let error = (x.estimate.error() * self.slope()).hypot(made);
        // Values and errors are as those of arguments that lie evenly in the interval: at the steep end both are larger, and
        // decryption allows for it by the ratio of the peak to this.
        known(y, (1.0 + self.error() + ROOM) / self.from, error).with_magnitude(self.typical().recip())
    }

    /// Root mean square of `1/x²` on the interval.
    fn slope(&self) -> f64 {
        let cubes = self.from.powi(-3) - self.to.powi(-3);
        (cubes / (3.0 * (self.to - self.from))).sqrt()
    }
}

impl InverseRoot {
    /// The inverse root on [from, to] with about this relative error, in as few levels as it takes.
    ///
    /// # Errors
    /// As [`Inverse::new`].
    pub fn new(from: f64, to: f64, error: f64) -> Result<Self> {
        check("inverse_sqrt", [from, to], error)?;
        let start = |degree| Fit::new(|x| x.sqrt().recip(), from, to, degree).series;
        let residual = |degree: u32| residual_of(&start(degree), [from, to]);
        let Some((degree, first, iterations)) = fewest(error, residual, halved, 2) else {
            return Err(FunctionError::Positive { function: "inverse_sqrt", from, to, error }.into());
        };
        let start = start(degree);
        Ok(Self { from, to, start, residual: first, iterations })
    }

    /// Levels of `√x`: the interval, the polynomial, the first root, two an iteration.
    #[must_use]
    pub fn levels(&self) -> usize {
        1 + self.first_levels() + 2 * self.iterations as usize
    }

    /// Levels of `1/√x`: the same, or those of the polynomial alone.
    #[must_use]
    pub fn inverse_levels(&self) -> usize {
        if self.iterations == 0 { self.first_levels() } else { self.levels() }
    }

    /// Bound of the relative error.
    #[must_use]
    pub fn error(&self) -> f64 {
        (0..self.iterations).fold(self.residual, |r, _| halved(r))
    }

    /// `√x` and `1/√x` in the clear, by the same steps.
    #[must_use]
    pub fn evaluate(&self, x: f64) -> [f64; 2] {
        let mut y = self.start.evaluate(x);
        let mut root = x * y;
        for _ in 0..self.iterations {
            let r = 0.5 * (1.0 - root * y);
            (root, y) = (root + root * r, y + y * r);
        }
        [root, y]
    }

    /// Levels of the first polynomial, which are in one piece.
    #[must_use]
    pub fn first_levels(&self) -> usize {
        1 + depth(self.start.coefficients.len() - 1)
    }

    /// `√x` and `1/√x`, settled [`Self::levels`] lower.
    ///
    /// # Errors
    /// As [`Inverse::apply`].
    pub fn apply<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<[Ciphertext<D>; 2]> {
        inside("inverse_sqrt", x, self.to)?;
        let x = &ready(x, self.first_levels())?;
        let _region = auto.eval.device().region("inverse_sqrt", self.iterations);
        let most = [self.to.sqrt(), self.from.sqrt().recip()].map(|m| m * (1.0 + self.residual));
        let y = auto.settle(&auto.chebyshev(&noiseless(x), &self.start)?)?.bounded_by(most[1]);
        let mut y = ready(&y, 1)?;
        let product = auto.mul(&noiseless(x), &noiseless(&y))?;
        let product = auto.settle(&product)?;
        let own = product.estimate.error();
        let mut root = product.bounded_by(most[0]);
        let typical = (self.from * self.to).sqrt().sqrt();
        // The first residual sees the error of the polynomial, so an iteration takes it away.
        let polynomial = if self.iterations == 0 { y.estimate.error() * typical } else { 0.0 };
        let mut relative = (own / typical).hypot(polynomial);
        let mut bound = self.residual;
        for _ in 0..self.iterations {
            // An iteration takes two levels; what bootstrapping adds is an error of both roots alike.
            let [fresh_root, fresh_y] = [ready(&root, 2)?, ready(&y, 2)?];
            let came = [added(&root, &fresh_root) / typical, added(&y, &fresh_y) * typical];
            relative = relative.hypot(came[0]).hypot(came[1]);
            (root, y) = (fresh_root, fresh_y);
            let both = auto.settle(&auto.mul(&noiseless(&root), &noiseless(&y))?)?;
            relative = relative.hypot(both.estimate.error());
            // 1 − √x·(1/√x), halved with the product that follows.
            let r = known(auto.add_scalar(&auto.eval.negate(&both), 1.0), bound * (1.0 + ROOM), relative);
            let half = |z: &Ciphertext<D>| -> Result<Ciphertext<D>> {
                let change = auto.settle(&auto.mul(&noiseless(z), &noiseless(&r))?)?;
                auto.settle(&auto.weighted_sum(&[(1.0, z), (0.5, &change)])?)
            };
            (root, y) = (half(&root)?.bounded_by(most[0]), half(&y)?.bounded_by(most[1]));
            bound = halved(bound);
        }
        let results = [(root, self.slopes()[0], 0.5), (y, self.slopes()[1], -0.5)];
        let [root, inverse] = results.map(|(z, slope, power)| {
            let typical = (self.from * self.to).sqrt().powf(power);
            let error = (x.estimate.error() * slope).hypot(relative * typical);
            let peak = if power > 0.0 { self.to.sqrt() } else { self.from.sqrt().recip() };
            known(z, peak * (1.0 + self.residual), error).with_magnitude(self.magnitude(power))
        });
        Ok([root, inverse])
    }

    /// Root mean square of `√x`, or of `1/√x` for a negative power, on the interval.
    fn magnitude(&self, power: f64) -> f64 {
        let (from, to) = (self.from, self.to);
        if power > 0.0 { ((from + to) / 2.0).sqrt() } else { ((to / from).ln() / (to - from)).sqrt() }
    }

    /// Root mean squares of the slopes of `√x` and of `1/√x` on the interval.
    fn slopes(&self) -> [f64; 2] {
        let (from, to) = (self.from, self.to);
        let width = to - from;
        let root = 0.25 * (to / from).ln() / width;
        let inverse = 0.125 * (from.powi(-2) - to.powi(-2)) / width;
        [root.sqrt(), inverse.sqrt()]
    }
}

/// What an iteration makes of `1 − √x·(1/√x)`: with r half of it, `1 − (1 + r)²·(1 − 2r) = 3r² + 2r³`.
fn halved(residual: f64) -> f64 {
    let r = 0.5 * residual;
    3.0 * r * r + 2.0 * r * r * r
}

/// Largest `|1 − x·p(x)²|` on an interval.
fn residual_of(p: &Series, [from, to]: [f64; 2]) -> f64 {
    let points = 64 * u32::try_from(p.coefficients.len()).unwrap_or(64);
    // Near the small end the root bends most.
    let at = |i: u32| from * (to / from).powf(f64::from(i) / f64::from(points));
    (0..=points).map(|i| (1.0 - at(i) * p.evaluate(at(i)).powi(2)).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_keep_their_error_on_the_interval() {
        for (from, to, error) in [(0.5, 1.0, 1e-6), (1.0 / 1024.0, 1.0, 1.0 / 65536.0), (2.0, 300.0, 1e-4)] {
            let (inverse, root) = (Inverse::new(from, to, error).unwrap(), InverseRoot::new(from, to, error).unwrap());
            assert!(inverse.error() <= error && root.error() <= error, "{inverse:?} {root:?}");
            for i in 0..=5000 {
                let x = from * (to / from).powf(f64::from(i) / 5000.0);
                assert!((inverse.evaluate(x) * x - 1.0).abs() <= inverse.error() + 1e-12, "{x}");
                let [sqrt, of] = root.evaluate(x);
                // Goldschmidt's two are as near as their product says.
                assert!((of * x.sqrt() - 1.0).abs() <= root.error() + 1e-12, "{x}");
                assert!((sqrt / x.sqrt() - 1.0).abs() <= root.error() + 1e-12, "{x}");
            }
        }
        // The polynomial of degree 63 leaves 1/T_64(1 + 2/1023) = 2^-4.8; two squarings make it 2^-19.
        let inverse = Inverse::new(1.0 / 1024.0, 1.0, 1.0 / 65536.0).unwrap();
        assert_eq!(inverse.levels(), 10);
        for (from, to, error) in
            [(0.0, 1.0, 0.1), (1.0, 0.5, 0.1), (0.5, 1.0, 0.0), (f64::NAN, 1.0, 0.1), (1e-30, 1.0, 1e-3)]
        {
            assert!(Inverse::new(from, to, error).is_err() && InverseRoot::new(from, to, error).is_err());
        }
    }
}
