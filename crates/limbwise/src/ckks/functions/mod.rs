//! Polynomial approximations of functions, with stated intervals and errors.
//!
//! A smooth function is one Chebyshev series. The sign function, and with it comparison and `max(x, 0)`, is a
//! composition of minimax polynomials: each moves values near ±1 closer, so few levels separate small differences.
//! Source: \[LLNK22\]; Differs: degrees are searched for the least depth, not taken from a table.

use super::chebyshev::depth;
use limbwise_math::{chebyshev::Series, remez::OddSign};

/// A polynomial approximation of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The series and its interval.
    pub series: Series,
    /// Largest absolute error on the interval.
    pub error: f64,
}

impl Fit {
    /// Interpolates a function at the Chebyshev nodes of an interval.
    ///
    /// # Panics
    /// As [`Series::interpolate`].
    #[must_use]
    pub fn new(f: impl Fn(f64) -> f64, from: f64, to: f64, degree: u32) -> Self {
        let series = Series::interpolate(&f, from, to, degree);
        let points = 32 * (degree + 1);
        let at = |i: u32| from + (to - from) * f64::from(i) / f64::from(points);
        let error = (0..=points).map(|i| (series.evaluate(at(i)) - f(at(i))).abs()).fold(0.0, f64::max);
        Self { series, error }
    }

    /// The fit of least depth with at most this error, of the highest degree that the depth allows. If none of at most
    /// `most` levels reaches the error, the deepest of them.
    #[must_use]
    pub fn within(f: impl Fn(f64) -> f64, from: f64, to: f64, error: f64, most: u32) -> Self {
        let of_depth = |depth: u32| Self::new(&f, from, to, (1 << depth.clamp(1, 12)) - 1);
        (1..most).map(of_depth).find(|fit| fit.error <= error).unwrap_or_else(|| of_depth(most))
    }
}

/// `1 / (1 + e^−x)`.
#[must_use]
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// A composition of polynomials that approximates the sign on [−1, 1]; each maps [−1, 1] to itself.
#[derive(Clone, Debug, PartialEq)]
pub struct SignPlan {
    /// The polynomials, first applied first.
    pub stages: Vec<Series>,
    /// Between −gap and gap the result is any value from −1 to 1.
    pub gap: f64,
    /// Largest absolute error outside the gap.
    pub error: f64,
}

/// Degrees of a stage: the largest of each depth.
const DEGREES: [usize; 4] = [3, 7, 15, 31];
/// Largest number of stages in the search.
const MOST_STAGES: usize = 8;

impl SignPlan {
    /// The composition of least depth with no stage deeper than `most`; `None` if eight stages are not enough.
    ///
    /// # Panics
    /// Unless the gap and the error are inside (0, 1).
    #[must_use]
    pub fn new(gap: f64, error: f64, most: usize) -> Option<Self> {
        assert!(gap > 0.0 && gap < 1.0 && error > 0.0 && error < 1.0, "gap {gap} and error {error} inside (0, 1)");
        let degrees: Vec<usize> = DEGREES.into_iter().filter(|&d| depth(d) <= most).collect();
        // Compositions by depth; of each depth only those with the narrowest gap.
        let mut open = vec![Self { stages: Vec::new(), gap, error: 1.0 - gap }];
        let mut by_depth: Vec<Vec<Self>> = vec![Vec::new(); 1 + depth(DEGREES[DEGREES.len() - 1]) * MOST_STAGES];
        for levels in 0..by_depth.len() {
            open.append(&mut by_depth[levels]);
            let narrowest = |p: &Self, q: &Self| p.error.total_cmp(&q.error);
            let Some(best) = open.drain(..).min_by(narrowest) else { continue };
            if best.error <= error {
                return Some(best);
            }
            for &degree in degrees.iter().filter(|_| best.stages.len() < MOST_STAGES) {
                if let Some(slot) = by_depth.get_mut(levels + depth(degree)) {
                    slot.push(best.then(degree));
                }
            }
        }
        None
    }

    /// The composition of stages of the given odd degrees, in order. Its gap and error may exceed those that
    /// [`Self::new`] accepts.
    ///
    /// # Panics
    /// Unless the gap is inside (0, 1) and the degrees are odd and below 64.
    #[must_use]
    pub fn of_degrees(gap: f64, degrees: &[usize]) -> Self {
        let none = Self { stages: Vec::new(), gap, error: 1.0 - gap };
        degrees.iter().fold(none, |plan, &degree| plan.then(degree))
    }

    /// Appends a stage. The stages before are divided by their largest value, so that its argument stays in [−1, 1].
    fn then(&self, degree: usize) -> Self {
        let mut stages = self.stages.clone();
        let mut inner = self.gap;
        if let Some(last) = stages.last_mut() {
            last.coefficients.iter_mut().for_each(|c| *c /= 1.0 + self.error);
            inner = (1.0 - self.error) / (1.0 + self.error);
        }
        let OddSign { series, error } = OddSign::new(degree, inner);
        stages.push(series);
        Self { stages, gap: self.gap, error }
    }

    /// Levels that the composition consumes.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.stages.iter().map(|s| depth(s.coefficients.len() - 1)).sum()
    }

    /// The composition's value in the clear.
    #[must_use]
    pub fn evaluate(&self, x: f64) -> f64 {
        self.stages.iter().fold(x, |x, stage| stage.evaluate(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_state_their_errors() {
        let fit = Fit::within(sigmoid, -8.0, 8.0, 1e-3, 8);
        assert_eq!(fit.series.coefficients.len(), 32);
        assert!(fit.error <= 1e-3 && Fit::new(sigmoid, -8.0, 8.0, 15).error > 1e-3);
        let at = |i: i32| f64::from(i) * 0.0137;
        let worst = (-580..=580).map(at).map(|x| (fit.series.evaluate(x) - sigmoid(x)).abs()).fold(0.0, f64::max);
        assert!(worst <= fit.error && worst > 0.9 * fit.error, "{worst} {}", fit.error);
        assert_eq!(Fit::within(f64::abs, -1.0, 1.0, 1e-9, 4).series.coefficients.len(), 16);
    }

    #[test]
    fn signs_stay_in_range_and_keep_their_word() {
        for (gap, error, most) in [(0.5, 0.1, 5), (1.0 / 64.0, 1e-3, 5), (1.0 / 64.0, 1e-3, 3), (1.0 / 1024.0, 1e-6, 4)]
        {
            let plan = SignPlan::new(gap, error, most).unwrap();
            assert!(plan.error <= error && plan.stages.iter().all(|s| depth(s.coefficients.len() - 1) <= most));
            for i in -4000..=4000 {
                let x = f64::from(i) / 4000.0;
                let mut y = x;
                for stage in &plan.stages {
                    assert!(y.abs() <= 1.0 + 1e-9, "{x} reaches {y}");
                    y = stage.evaluate(y);
                }
                let wrong = if x.abs() < gap { y.abs() - 1.0 } else { (y - x.signum()).abs() };
                assert!(wrong <= plan.error * (1.0 + 1e-6), "{x} → {y}, error {}", plan.error);
            }
        }
        let found = SignPlan::new(1.0 / 64.0, 1e-3, 3).unwrap();
        let degrees: Vec<usize> = found.stages.iter().map(|s| s.coefficients.len() - 1).collect();
        assert_eq!(SignPlan::of_degrees(1.0 / 64.0, &degrees), found);
        let shallow = SignPlan::new(1.0 / 64.0, 1e-3, 5).unwrap().depth();
        assert!(shallow < SignPlan::new(1.0 / 1024.0, 1e-6, 5).unwrap().depth());
        assert!(SignPlan::new(1e-9, 1e-9, 2).is_none());
    }
}
