//! Tails of a sum of independent uniform variables, the distribution of summed rounding errors.

/// P[|S| > x] for S the sum of `count` independent variables, uniform on [−½, ½] each.
///
/// Exact but for rounding at any size of the result: the tail is a sum of values of the next B-spline, and those come
/// from a recurrence of positive terms. Source: \[DB72\] Cost: count²·(count/2 − x) operations.
///
/// # Panics
/// If `count` is 0, or x is negative or NaN.
#[must_use]
pub fn two_sided_tail(count: u32, x: f64) -> f64 {
    assert!(count > 0 && x >= 0.0, "a sum of {count} has no tail at {x}");
    // Over [0, count], P[sum > t] is the sum of the density of count + 1 variables at t + 1, t + 2, …
    let from = x + 0.5 * f64::from(count) + 1.0;
    let beyond = (f64::from(count + 1) - from).ceil();
    if beyond <= 0.0 {
        return 0.0;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 < beyond ≤ count / 2 + 1")]
    let points = beyond as u32;
    2.0 * (0..points).map(|k| density(count + 1, f64::from(count + 1) - from - f64::from(k))).sum::<f64>()
}

/// log₂ of a bound on P[|S| > x] for S Gaussian-like with this variance: Chernoff's, `2·exp(−x²/2σ²)`.
///
/// Holds for sums of independent variables that are symmetric and sub-Gaussian with that variance, as uniform ones are.
#[must_use]
pub fn log2_sub_gaussian_tail(variance: f64, x: f64) -> f64 {
    1.0 - x * x / (2.0 * variance) * std::f64::consts::LOG2_E
}

/// The density of the sum of n variables uniform on [0, 1], at t, by de Boor's recurrence.
fn density(n: u32, t: f64) -> f64 {
    // f_n(t) = (t·f_{n−1}(t) + (n − t)·f_{n−1}(t − 1))/(n − 1); row k holds f_k at t, t − 1, t − 2, …
    let mut row: Vec<f64> = (0..n).map(|j| t - f64::from(j)).map(|t| f64::from((0.0..1.0).contains(&t))).collect();
    for k in 2..=n {
        for (place, j) in (0..).zip(0..=n - k) {
            let at = t - f64::from(j);
            let value = at * row[place] + (f64::from(k) - at) * row[place + 1];
            row[place] = if at > 0.0 && at < f64::from(k) { value / f64::from(k - 1) } else { 0.0 };
        }
    }
    row[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sums_by_hand() {
        assert!((two_sided_tail(1, 0.3) - 0.4).abs() < 1e-15);
        assert!((two_sided_tail(2, 0.5) - 0.25).abs() < 1e-15); // a triangle
        assert!((two_sided_tail(3, 1.0) - 2.0 * 0.125 / 6.0).abs() < 1e-15); // a corner of a cube
        assert!(two_sided_tail(32, 16.0) <= 0.0);
        assert!((two_sided_tail(12, 0.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn published_failure_probabilities() {
        // Exact rational values: weight h, so h + 1 summands, for 2^16 coefficients.
        for (weight, x, log2) in [
            (32u32, 16.0, -138.7),
            (32, 15.5, -105.7),
            (32, 13.5, -53.4),
            (32, 11.5, -29.1),
            (40, 15.5, -52.3),
            (40, 19.5, -147.5),
            (64, 15.5, -21.5),
            (64, 27.5, -134.1),
        ] {
            let got = two_sided_tail(weight + 1, x).log2() + 16.0;
            assert!((got - log2).abs() < 0.06, "h = {weight}, x = {x}: 2^{got:.2}, published 2^{log2}");
        }
        assert!(two_sided_tail(33, 16.5) <= 0.0);
    }

    #[test]
    fn chernoff_bounds_the_exact_tail() {
        for x in [2.0, 5.0, 8.0, 12.0] {
            assert!(log2_sub_gaussian_tail(33.0 / 12.0, x) >= two_sided_tail(33, x).log2());
        }
    }
}
