//! Chebyshev series: interpolation, least-squares fit, evaluation, and division by a Chebyshev polynomial.

use std::f64::consts::PI;

/// `Σ c_k·T_k(u)`, u = (2x − a − b)/(b − a), on the interval [a, b].
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Coefficients c_0 … c_d.
    pub coefficients: Vec<f64>,
    /// a, the left end of the interval.
    pub from: f64,
    /// b, the right end of the interval.
    pub to: f64,
}

impl Series {
    /// Interpolates f at the Chebyshev nodes of [from, to].
    ///
    /// # Panics
    /// If the interval is empty or not finite.
    #[must_use]
    pub fn interpolate(f: impl Fn(f64) -> f64, from: f64, to: f64, degree: u32) -> Self {
        assert!(from < to && (to - from).is_finite(), "[{from}, {to}] is not an interval");
        let count = f64::from(degree + 1);
        let angle = |i: u32| PI * (f64::from(i) + 0.5) / count;
        let samples: Vec<f64> =
            (0..=degree).map(|i| f(from.midpoint(to) + 0.5 * (to - from) * angle(i).cos())).collect();
        let coefficient = |k: u32| {
            let sum: f64 = samples.iter().zip(0..).map(|(s, i)| s * (f64::from(k) * angle(i)).cos()).sum();
            sum * if k == 0 { 1.0 } else { 2.0 } / count
        };
        Self { coefficients: (0..=degree).map(coefficient).collect(), from, to }
    }

    /// The least-squares fit of f on points of [from, to]. It is accurate near the points only.
    ///
    /// Householder reflections keep the precision near the points even if the points barely determine a coefficient.
    /// Source: \[GVL13\] §5.3.
    ///
    /// # Panics
    /// Unless there are more points than the degree, all in the interval.
    #[must_use]
    pub fn fit(f: impl Fn(f64) -> f64, from: f64, to: f64, degree: usize, points: &[f64]) -> Self {
        assert!(points.len() > degree, "{} points do not determine a series of degree {degree}", points.len());
        assert!(points.iter().all(|x| (from..=to).contains(x)), "points lie in [{from}, {to}]");
        let row = |&x: &f64| {
            let u = (2.0 * x - from - to) / (to - from);
            let mut row = vec![1.0, u];
            while row.len() <= degree {
                row.push(2.0 * u * row[row.len() - 1] - row[row.len() - 2]);
            }
            row.truncate(degree + 1);
            row.push(f(x));
            row
        };
        Self { coefficients: least_squares(&mut points.iter().map(row).collect::<Vec<_>>()), from, to }
    }

    /// The series of `Σ p_k·x^k` on [from, to].
    ///
    /// # Panics
    /// If there is no coefficient or the interval is empty.
    #[must_use]
    pub fn from_monomials(p: &[f64], from: f64, to: f64) -> Self {
        let degree = u32::try_from(p.len().saturating_sub(1)).expect("a polynomial has fewer than 2^32 terms");
        Self::interpolate(|x| p.iter().rev().fold(0.0, |acc, c| acc * x + c), from, to, degree)
    }

    /// Value at x, by Clenshaw's recurrence.
    #[must_use]
    pub fn evaluate(&self, x: f64) -> f64 {
        let u = (2.0 * x - self.from - self.to) / (self.to - self.from);
        let (mut b1, mut b2) = (0.0, 0.0);
        for &c in self.coefficients.iter().skip(1).rev() {
            (b1, b2) = (2.0 * u * b1 - b2 + c, b1);
        }
        u * b1 - b2 + self.coefficients.first().copied().unwrap_or(0.0)
    }
}

/// Solves `A·c ≈ b` by least squares. Each row is a row of A followed by its entry of b; rows are overwritten.
///
/// # Panics
/// Without a row, or with fewer rows than unknowns.
#[must_use]
pub fn least_squares(rows: &mut [Vec<f64>]) -> Vec<f64> {
    let columns = rows[0].len() - 1;
    for k in 0..columns {
        let norm = rows[k..].iter().map(|r| r[k] * r[k]).sum::<f64>().sqrt();
        let alpha = if rows[k][k] > 0.0 { -norm } else { norm };
        let mut v: Vec<f64> = rows[k..].iter().map(|r| r[k]).collect();
        v[0] -= alpha;
        let square: f64 = v.iter().map(|x| x * x).sum();
        if square == 0.0 {
            continue;
        }
        for column in k..=columns {
            let product: f64 = v.iter().zip(&rows[k..]).map(|(x, r)| x * r[column]).sum();
            v.iter().zip(&mut rows[k..]).for_each(|(x, r)| r[column] -= 2.0 * product / square * x);
        }
    }
    let mut solution = vec![0.0; columns];
    for k in (0..columns).rev() {
        let known: f64 = (k + 1..columns).map(|j| rows[k][j] * solution[j]).sum();
        solution[k] = (rows[k][columns] - known) / rows[k][k];
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_the_sigmoid() {
        let f = |x: f64| 1.0 / (1.0 + (-x).exp());
        let s = Series::interpolate(f, -8.0, 8.0, 31);
        let worst = (0..=1000u32).map(|i| -8.0 + 0.016 * f64::from(i)).map(|x| (s.evaluate(x) - f(x)).abs());
        assert!(worst.fold(0.0, f64::max) < 2e-5);
        let cubic = Series::from_monomials(&[0.5, 0.15012, 0.0, -0.001593], -8.0, 8.0);
        assert!((cubic.evaluate(3.0) - (0.5 + 0.45036 - 0.043011)).abs() < 1e-12);
    }

    #[test]
    fn a_fit_is_good_where_it_was_asked_for() {
        // The cosine of bootstrapping: wanted near integers only, where a fit beats interpolation on the interval.
        let f = |x: f64| (0.25 * PI * (x - 0.25)).cos();
        let near = |i: i32| (-3..=3).map(move |j| f64::from(i) + f64::from(j) / 384.0);
        let points: Vec<f64> = (-15..=15).flat_map(near).collect();
        let fit = Series::fit(f, -15.75, 16.25, 31, &points);
        let worst = |s: &Series| points.iter().map(|&x| (s.evaluate(x) - f(x)).abs()).fold(0.0, f64::max);
        let interpolated = worst(&Series::interpolate(f, -15.75, 16.25, 31));
        assert!(32.0 * worst(&fit) < interpolated, "2^{} and 2^{}", worst(&fit).log2(), interpolated.log2());
        assert!(worst(&fit) < 2f64.powi(-38), "2^{}", worst(&fit).log2());
        let line = Series::fit(|x| 2.0 * x - 1.0, 0.0, 4.0, 1, &[0.0, 1.0, 3.0]);
        assert!((line.evaluate(4.0) - 7.0).abs() < 1e-12);
    }
}
