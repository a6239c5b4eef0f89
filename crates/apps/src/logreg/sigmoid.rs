//! The sigmoid and its polynomial approximation: least squares on an interval.
//!
//! Source: \[Kim18\] fits the sigmoid on [−8, 8]; \[HELR\] keeps its degrees 3, 5 and 7.

/// `1 / (1 + e^−x)`.
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Polynomial approximation of the sigmoid on [−`interval`, `interval`].
#[derive(Clone, Debug, PartialEq)]
pub struct SigmoidPolynomial {
    /// Coefficients in the power basis, constant first. Other even coefficients are zero, because σ − ½ is odd.
    pub coefficients: Vec<f64>,
    /// Half-width of the interval of the fit.
    pub interval: f64,
}

impl SigmoidPolynomial {
    /// The polynomial of the given degree with the least mean square distance to the sigmoid on the interval.
    ///
    /// Computed by projection onto Legendre polynomials, so no linear system is solved: the coefficient of `P_k` is
    /// `(2k+1)/2 · ∫ σ(x·interval) P_k(x) dx` over [−1, 1], by Simpson's rule.
    ///
    /// # Panics
    /// If `degree` is above 31 (the power basis would lose its digits) or `interval` is not positive and finite.
    #[must_use]
    pub fn least_squares(degree: usize, interval: f64) -> Self {
        assert!(degree <= 31, "degree {degree} above 31");
        assert!(interval > 0.0 && interval.is_finite(), "interval {interval}");
        let basis = legendre(degree);
        let mut coefficients = vec![0.0; degree + 1];
        coefficients[0] = 0.5;
        for k in (1..=degree).step_by(2) {
            let inner = simpson(|x| (sigmoid(x * interval) - 0.5) * evaluate(&basis[k], x));
            for (power, value) in basis[k].iter().enumerate() {
                let scale = interval.powi(i32::try_from(power).expect("at most 31"));
                coefficients[power] += (k as f64 + 0.5) * inner * value / scale;
            }
        }
        Self { coefficients, interval }
    }

    /// The value at `x`. It is meaningless outside the interval.
    pub fn at(&self, x: f64) -> f64 {
        evaluate(&self.coefficients, x)
    }
}

fn evaluate(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Legendre polynomials P_0 … P_degree in the power basis.
fn legendre(degree: usize) -> Vec<Vec<f64>> {
    let mut all = vec![vec![1.0], vec![0.0, 1.0]];
    for k in 1..degree {
        let (n, mut next) = (k as f64, vec![0.0; k + 2]);
        for (power, c) in all[k].iter().enumerate() {
            next[power + 1] += (2.0 * n + 1.0) / (n + 1.0) * c;
        }
        for (power, c) in all[k - 1].iter().enumerate() {
            next[power] -= n / (n + 1.0) * c;
        }
        all.push(next);
    }
    all
}

/// `∫ f` over [−1, 1] by Simpson's rule on 4096 intervals, which is exact to rounding for these integrands.
fn simpson(f: impl Fn(f64) -> f64) -> f64 {
    const INTERVALS: u32 = 4096;
    let h = 2.0 / f64::from(INTERVALS);
    let weight = |i: u32| match i {
        0 | INTERVALS => 1.0,
        _ if i % 2 == 1 => 4.0,
        _ => 2.0,
    };
    (0..=INTERVALS).map(|i| weight(i) * f(f64::from(i) * h - 1.0)).sum::<f64>() * h / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Coefficients of (x/8)^1, ^3, … from \[Kim18\], with the sign of the sigmoid. The last one of degree 5 is left
    /// out: the paper prints 1.3511, but an independent solution of the normal equations gives 1.3838.
    const PUBLISHED: [(usize, &[f64]); 3] =
        [(3, &[1.20096, -0.81562]), (5, &[1.53048, -2.3533056]), (7, &[1.73496, -4.19407, 5.43402, -2.50739])];

    #[test]
    fn the_fit_is_the_published_one() {
        for (degree, published) in PUBLISHED {
            let fitted = SigmoidPolynomial::least_squares(degree, 8.0);
            assert_eq!(fitted.coefficients.len(), degree + 1);
            for (i, wanted) in published.iter().enumerate() {
                let power = 2 * i + 1;
                let got = fitted.coefficients[power] * 8f64.powi(i32::try_from(power).unwrap());
                assert!(
                    (got - wanted).abs() < 1e-3 * wanted.abs(),
                    "degree {degree}, x^{power}: {got} against {wanted}"
                );
                assert!(fitted.coefficients[power - 1].abs() < 1e-15 || power == 1);
            }
        }
    }

    #[test]
    fn no_small_change_of_a_coefficient_is_better() {
        let fit = SigmoidPolynomial::least_squares(5, 6.0);
        let distance = |p: &SigmoidPolynomial| simpson(|x| (sigmoid(6.0 * x) - p.at(6.0 * x)).powi(2));
        let best = distance(&fit);
        for power in 0..=5usize {
            for step in [-1e-4, 1e-4] {
                let mut other = fit.clone();
                other.coefficients[power] += step / 6f64.powi(i32::try_from(power).unwrap());
                assert!(distance(&other) > best, "power {power}");
            }
        }
    }

    #[test]
    fn a_higher_degree_is_closer() {
        let worst = |degree| {
            let p = SigmoidPolynomial::least_squares(degree, 8.0);
            (-80..=80).map(|i| f64::from(i) / 10.0).map(|x| (p.at(x) - sigmoid(x)).abs()).fold(0.0, f64::max)
        };
        let errors = [3, 5, 7, 15].map(worst);
        assert!(errors.is_sorted_by(|a, b| a > b), "{errors:?}");
        assert!(errors[0] < 0.12 && errors[3] < 0.005, "{errors:?}");
    }
}
