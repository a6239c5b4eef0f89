//! The sign as a composition of minimax polynomials, of the least depth for a gap and an error.

use crate::ckks::chebyshev::depth;
use limbwise_math::{chebyshev::Series, remez::OddSign};

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
            // For gaps near the precision of floating point the exchange finds nothing, and says so by its error.
            let goes_on = best.stages.len() < MOST_STAGES && best.error < 1.0;
            for &degree in degrees.iter().filter(|_| goes_on) {
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
        for gap in [1e-9, 1e-12, 1e-15] {
            assert!(SignPlan::new(gap, gap / 8.0, 4).is_none_or(|plan| plan.error <= gap / 8.0));
        }
    }
}
