//! How large the polynomials of a series are for the arguments that it usually has. A product carries the error of each factor
//! by the size of the other, so an error that goes by bounds of sizes is said too large (ADR 70).

use super::split::Part;

/// Values of T_0, T_1, … at some arguments in [−1, 1].
#[derive(Clone, Debug)]
pub(super) struct Sizes(Vec<Vec<f64>>);

impl Sizes {
    /// Up to a degree; `None` without arguments.
    pub(super) fn new(arguments: &[f64], degree: usize) -> Option<Self> {
        (!arguments.is_empty()).then_some(())?;
        let mut values = vec![vec![1.0; arguments.len()], arguments.to_vec()];
        for k in 2..=degree {
            let next = |i: usize| 2.0 * arguments[i] * values[k - 1][i] - values[k - 2][i];
            values.push((0..arguments.len()).map(next).collect());
        }
        Some(Self(values))
    }

    /// Root mean square of T_k.
    pub(super) fn of(&self, k: usize) -> f64 {
        self.0.get(k).map_or(1.0, |values| root_mean_square(values))
    }

    /// Root mean square of a part of a series.
    pub(super) fn of_part(&self, part: &Part) -> f64 {
        root_mean_square(&self.values(part))
    }

    fn values(&self, part: &Part) -> Vec<f64> {
        let mut sum = vec![0.0; self.0[0].len()];
        match part {
            Part::Sum(p) => {
                for (c, values) in p.iter().zip(&self.0) {
                    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += c.re * value);
                }
            }
            Part::Product { high, by, low } => {
                let factors = self.values(high).into_iter().zip(&self.0[*by]).zip(self.values(low));
                sum.iter_mut().zip(factors).for_each(|(sum, ((high, by), low))| *sum = high * by + low);
            }
        }
        sum
    }
}

fn root_mean_square(values: &[f64]) -> f64 {
    (values.iter().map(|x| x * x).sum::<f64>() / values.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::{super::split::Kind, *};

    #[test]
    fn sizes_are_those_of_the_polynomials() {
        let arguments: Vec<f64> = (0..1000).map(|i| (f64::from(i) + 0.5) / 500.0 - 1.0).collect();
        let sizes = Sizes::new(&arguments, 31).unwrap();
        // The mean of T_k² on [−1, 1] is 1/2 − 1/(2(4k² − 1)).
        for k in [1, 2, 5, 16, 31] {
            let wanted = 0.5 - 0.5 / (4.0 * (k * k) as f64 - 1.0);
            assert!((sizes.of(k).powi(2) - wanted).abs() < 2e-3, "{k}");
        }
        let p: Vec<_> = (0..=27).map(|k| (1.0 / (1.0 + f64::from(k))).into()).collect();
        let part = Part::of(Kind::Chebyshev, &p, 4);
        assert!(matches!(part, Part::Product { .. }));
        let value = |x: &f64| (0..=27).map(|k| (x.acos() * f64::from(k)).cos() / (1.0 + f64::from(k))).sum::<f64>();
        let wanted = root_mean_square(&arguments.iter().map(value).collect::<Vec<_>>());
        assert!((sizes.of_part(&part) - wanted).abs() < 1e-9);
        assert!(Sizes::new(&[], 3).is_none());
        assert!((Sizes::new(&[1.0, -1.0], 9).unwrap().of(9) - 1.0).abs() < 1e-12);
    }
}
