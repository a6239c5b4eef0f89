//! The activation as a polynomial: `max(u, 0) = u·(1 + sign u)/2`, with a composition of polynomials for the sign.

use limbwise::{
    Result,
    ckks::{
        Auto, Ciphertext,
        functions::{Composed, SignPlan},
    },
};
use limbwise_device::Device;
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
    /// `(1 + sign u)/2`.
    step: Composed,
    /// Largest distance of the sign from ±1 outside the gap.
    pub sign_error: f64,
}

impl Relu {
    /// The activation of a choice that is possible.
    pub fn new(choice: &ReluChoice) -> Self {
        let plan = SignPlan::of_degrees((-choice.gap_bits).exp2(), &choice.degrees);
        Self { step: Composed::step(&plan), sign_error: plan.error }
    }

    pub fn depth(&self) -> usize {
        self.step.depth() + 1
    }

    /// Its value, in the clear.
    pub fn evaluate(&self, u: f64) -> f64 {
        u * self.step.evaluate(u)
    }

    /// Its values on a ciphertext whose slots are in [−1, 1], settled [`Self::depth`] levels lower.
    pub fn apply<D: Device>(&self, auto: &Auto<'_, D>, u: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let _region = auto.eval.device().region("relu", 0);
        // The plan of levels has bootstrapped before, where that was needed.
        Ok(self.step.times_argument(auto, u, &|x, _| auto.settle(x))?.bounded_by(1.0))
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
        assert!(!ReluChoice { degrees: vec![4], gap_bits: 6.0 }.is_possible());
        assert!(!ReluChoice { degrees: vec![], gap_bits: 6.0 }.is_possible());
    }
}
