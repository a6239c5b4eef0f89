//! Tails of the normal distribution, as logarithms: failure probabilities are too small for a float.

/// log₂ of the probability that a normal variable leaves ±`x` standard deviations, x ≥ 0.
///
/// Below 2 by the series of the error function, above by the continued fraction of its complement; ten digits.
/// Source: \[AS64\] 7.1.6, 7.1.14.
#[must_use]
pub fn log2_two_sided(x: f64) -> f64 {
    let z = x / std::f64::consts::SQRT_2;
    let root_pi = std::f64::consts::PI.sqrt();
    if z < 2.0 {
        // erf z = 2/√π·e^{−z²}·Σ 2^n z^{2n+1}/(1·3·…·(2n+1))
        let mut term = z;
        let mut sum = z;
        for n in 1..200 {
            term *= 2.0 * z * z / f64::from(2 * n + 1);
            sum += term;
        }
        return (1.0 - 2.0 / root_pi * (-z * z).exp() * sum).log2();
    }
    // √π·e^{z²}·erfc z = 1/(z + (1/2)/(z + 1/(z + (3/2)/(z + …))))
    let fraction = (1..200).rev().fold(z, |tail, n| z + f64::from(n) / 2.0 / tail);
    -(z * z) * std::f64::consts::LOG2_E - (root_pi * fraction).log2()
}

#[cfg(test)]
mod tests {
    use super::log2_two_sided;

    #[test]
    fn known_tails() {
        // 1 − 0.6826894921…, 1 − 0.9973002039…, and 6σ, 10σ from tables.
        let known =
            [(1.0, 0.317_310_507_863), (3.0, 0.002_699_796_063), (6.0, 1.973_175_290e-9), (10.0, 1.523_970_604e-23)];
        for (x, p) in known {
            assert!((log2_two_sided(x) - f64::log2(p)).abs() < 1e-6, "{x}");
        }
        assert!(log2_two_sided(0.0).abs() < 1e-12);
        let (below, above) = (log2_two_sided(2.828_427), log2_two_sided(2.828_428));
        assert!((below - above - 5.6e-6).abs() < 2e-6, "the two forms meet: {below} {above}");
        assert!((log2_two_sided(100.0) + 7220.4).abs() < 1.0);
    }
}
