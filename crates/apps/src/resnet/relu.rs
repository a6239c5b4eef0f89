//! The activation as a polynomial: `max(u, 0) = u·(1 + sign u)/2`, with a composition of polynomials for the sign.

use limbwise::{
    Result,
    ckks::{Auto, Ciphertext, Encoder, Estimate, Evaluator, Series, chebyshev::depth, functions::SignPlan},
    params::Params,
    rlwe::DeclaredKeys,
};
use limbwise_device::{Device, Null};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReluChoice {
    /// Odd degrees of its stages, below 64.
    pub degrees: Vec<usize>,
    /// −log₂ of the gap: what is smaller than the range times the gap may be taken for either sign.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub gap_bits: f64,
}

impl Default for ReluChoice {
    /// Twelve levels: with these the scores of the CIFAR-10 network differ by 0.01 in the mean.
    fn default() -> Self {
        Self { degrees: vec![15, 15, 15], gap_bits: 8.0 }
    }
}

impl ReluChoice {
    /// Whether there is such a composition.
    pub fn is_possible(&self) -> bool {
        let odd = |d: &usize| d % 2 == 1 && (3..64).contains(d);
        (1..=6).contains(&self.degrees.len()) && self.degrees.iter().all(odd) && (1.0..=20.0).contains(&self.gap_bits)
    }
}

/// The activation on [−1, 1].
#[derive(Clone, Debug, PartialEq)]
pub struct Relu {
    /// What is composed; the last one gives (1 + sign u)/2.
    stages: Vec<Series>,
    /// Largest distance of the sign from ±1 outside the gap.
    pub sign_error: f64,
    /// The points where errors are followed. Each activation of a network asks, in each way to run it.
    course: Vec<Point>,
}

/// An argument on its way through the stages.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    u: f64,
    /// Of each stage, where it takes its argument.
    slopes: Vec<f64>,
    /// What the last stage makes of it.
    x: f64,
}

impl Point {
    const COUNT: u32 = 4096;

    /// The points of [−1, 1] at equal distances.
    fn all(stages: &[Series]) -> Vec<Self> {
        const STEP: f64 = 1e-6;
        let follow = |point: u32| {
            let u = (f64::from(point) + 0.5) / f64::from(Self::COUNT) * 2.0 - 1.0;
            let (mut x, mut slopes) = (u, Vec::with_capacity(stages.len()));
            for stage in stages {
                slopes.push((stage.evaluate(x + STEP) - stage.evaluate(x - STEP)) / (2.0 * STEP));
                x = stage.evaluate(x);
            }
            Self { u, slopes, x }
        };
        (0..Self::COUNT).map(follow).collect()
    }
}

impl Relu {
    /// The activation of a choice that is possible.
    pub fn new(choice: &ReluChoice) -> Self {
        let SignPlan { mut stages, error, .. } = SignPlan::of_degrees((-choice.gap_bits).exp2(), &choice.degrees);
        if let Some(last) = stages.last_mut() {
            last.coefficients.iter_mut().for_each(|c| *c *= 0.5);
            last.coefficients[0] = 0.5;
        }
        // What the exchange leaves in even terms is rounding, and would cost products.
        stages.iter_mut().flat_map(|s| s.coefficients.iter_mut().skip(2).step_by(2)).for_each(|c| *c = 0.0);
        let course = Point::all(&stages);
        Self { stages, sign_error: error, course }
    }

    pub fn depth(&self) -> usize {
        self.stages.iter().map(|s| depth(s.coefficients.len() - 1)).sum::<usize>() + 1
    }

    /// Its value, in the clear.
    pub fn evaluate(&self, u: f64) -> f64 {
        u * self.stages.iter().fold(u, |x, stage| stage.evaluate(x))
    }

    /// Errors that the stages and the final product add, if the stages start at this level. Found by evaluating exact
    /// values on a device that computes nothing.
    pub fn own_errors(&self, params: &Params, (slots, level): (usize, usize)) -> Result<Vec<f64>> {
        let (null, encoder) = (Null::default(), Encoder::new(params));
        let keys = DeclaredKeys::all(&null, params);
        let auto = Auto::new(Evaluator::new(&null, params, &keys), &encoder);
        let exact = Estimate::constant(1.0);
        let packing = limbwise::ckks::Packing { slots, level, scale: params.scale(level) };
        let mut x = encoder.declare(&null, &[vec![]], packing)?;
        let u = Ciphertext { estimate: exact, ..x.clone() };
        let mut errors = Vec::new();
        for stage in &self.stages {
            x = auto.settle(&auto.chebyshev_unit(&Ciphertext { estimate: exact, ..x }, &stage.coefficients)?)?;
            errors.push(x.estimate.error());
        }
        let product = auto.settle(&auto.mul(&u, &Ciphertext { estimate: exact, ..x })?)?;
        errors.push(product.estimate.error());
        Ok(errors)
    }

    /// Deviations of the errors after each stage and after the product, of an argument uniform in [−1, 1] with an error
    /// of this deviation: each error times the root mean square of the slope from where it comes to where it goes. The
    /// rules of products alone would count steep stages even where the activation is flat.
    pub fn errors(&self, argument: f64, own: &[f64]) -> Vec<f64> {
        let count = self.stages.len();
        let mut squares = vec![0.0; count + 1];
        let mut errors = Vec::with_capacity(count + 1);
        for Point { u, slopes, x } in &self.course {
            // Errors that are there so far, each with its slope: of the argument first.
            errors.clear();
            errors.push(argument);
            for (k, slope) in slopes.iter().enumerate() {
                errors.iter_mut().for_each(|e| *e *= slope);
                errors.push(own[k]);
                squares[k] += errors.iter().map(|e| e * e).sum::<f64>();
            }
            // u·x: the argument's error by both ways, which are one.
            errors.iter_mut().for_each(|e| *e *= u);
            errors[0] += argument * x;
            squares[count] += errors.iter().map(|e| e * e).sum::<f64>() + own[count] * own[count];
        }
        squares.into_iter().map(|s| (s / f64::from(Point::COUNT)).sqrt()).collect()
    }

    /// Its values on a ciphertext whose slots are in [−1, 1], settled [`Self::depth`] levels lower. `own` is that of
    /// [`Self::own_errors`].
    pub fn apply<D: Device>(&self, auto: &Auto<'_, D>, u: &Ciphertext<D>, own: &[f64]) -> Result<Ciphertext<D>> {
        let _region = auto.eval.device().region("relu", 0);
        let errors = self.errors(u.estimate.error(), own);
        let known = |x: Ciphertext<D>, error: f64| {
            let x = x.bounded_by(1.0);
            Ciphertext { estimate: x.estimate.with_error_known(error), ..x }
        };
        let mut x = u.clone();
        for (stage, &error) in self.stages.iter().zip(&errors) {
            x = known(auto.settle(&auto.chebyshev_unit(&x, &stage.coefficients)?)?, error);
        }
        Ok(known(auto.settle(&auto.mul(u, &x)?)?, errors[self.stages.len()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_the_gap_it_is_the_activation() {
        let choice = ReluChoice { degrees: vec![7, 7, 15], gap_bits: 6.0 };
        let relu = Relu::new(&choice);
        assert!(choice.is_possible() && relu.depth() == 11);
        for i in -1000..=1000 {
            let u = f64::from(i) / 1000.0;
            let bound = if u.abs() < 1.0 / 64.0 { u.abs() } else { 0.5 * u.abs() * relu.sign_error };
            assert!((relu.evaluate(u) - u.max(0.0)).abs() <= bound * (1.0 + 1e-6), "{u}");
        }
        // A slope of one or nothing, and no error of its own: what comes in, times the root of a half.
        let errors = relu.errors(1e-6, &[0.0; 4]);
        assert!((errors[3] / 1e-6 - 0.5f64.sqrt()).abs() < 0.05, "{errors:?}");
        assert!(errors[0] > 2e-6 && errors.iter().all(|e| *e < 1e-4), "{errors:?}");
        assert!(!ReluChoice { degrees: vec![4], gap_bits: 6.0 }.is_possible());
        assert!(!ReluChoice { degrees: vec![], gap_bits: 6.0 }.is_possible());
    }
}
