//! Transforms of BGV ciphertexts alone: the kernel by which machines are studied.

use crate::{
    family::{Twin, integer_arrays},
    program::{Array, Details, Encryption, Evaluation, Integers, Program, fields},
};
use limbwise::{
    Result,
    bgv::{BgvParams, BgvReading, Ciphertext},
    scheme::Bgv,
};
use limbwise_device::{Device, Domain};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub mod options;

/// Largest batch.
pub const MOST_CIPHERTEXTS: usize = 1 << 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From coefficients to evaluations
    #[default]
    Forward,
    /// From evaluations to coefficients
    Inverse,
    /// From coefficients to evaluations and back
    Both,
}

impl Direction {
    /// The domain of the inputs.
    fn from(self) -> Domain {
        if self == Self::Inverse { Domain::Eval } else { Domain::Coeff }
    }

    /// Transforms of each limb.
    fn times(self) -> usize {
        if self == Self::Both { 2 } else { 1 }
    }
}

/// The transforms of a batch of ciphertexts.
#[derive(Clone, Debug)]
pub struct Ntt {
    params: BgvParams,
    ciphertexts: usize,
    level: usize,
    direction: Direction,
}

impl Ntt {
    /// A batch of 1 to [`MOST_CIPHERTEXTS`] ciphertexts at a level of the set.
    ///
    /// # Panics
    /// If the number or the level is not in its range.
    pub fn new(params: &BgvParams, ciphertexts: usize, level: usize, direction: Direction) -> Self {
        assert!((1..=MOST_CIPHERTEXTS).contains(&ciphertexts), "1 to {MOST_CIPHERTEXTS} ciphertexts");
        assert!(level <= params.top_level(), "a level that the set has");
        Self { params: params.clone(), ciphertexts, level, direction }
    }

    /// Transforms of one limb, of all ciphertexts together.
    fn transforms(&self) -> usize {
        2 * self.ciphertexts * self.params.rlwe().limbs(self.level) * self.direction.times()
    }
}

impl Program for Ntt {
    type Scheme = Bgv;

    fn name(&self) -> &'static str {
        "ntt"
    }

    fn params(&self) -> &BgvParams {
        &self.params
    }

    fn inputs(&self) -> Vec<Integers> {
        let (batch, level, domain) = (self.ciphertexts, self.level, self.direction.from());
        vec![Integers { name: "ciphertexts".into(), batch, level, domain, modulus: 0 }]
    }

    fn model(&self) {}

    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Bgv>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means: auto, inputs, observer, .. } = on;
        let dev = auto.eval.device();
        let mut parts = inputs[0].parts.clone();
        if self.direction != Direction::Inverse {
            observer.step("forward", 0, self.direction.times());
            let _region = dev.region("forward", 0);
            parts = parts.into_iter().map(|part| dev.ntt(part)).collect();
        }
        if self.direction != Direction::Forward {
            observer.step("inverse", self.direction.times() - 1, self.direction.times());
            let _region = dev.region("inverse", 0);
            parts = parts.into_iter().map(|part| dev.intt(part)).collect();
        }
        Ok(vec![Ciphertext { parts, ..inputs[0] }])
    }

    fn arrays(&self, results: &BgvReading) -> Vec<Array> {
        integer_arrays(["ciphertexts".into()], results)
    }

    fn details(&self) -> Details {
        let limbs = self.params.rlwe().limbs(self.level);
        fields(json!({
            "ciphertexts": self.ciphertexts,
            "limbs_used": limbs,
            "direction": self.direction,
            "transforms": self.transforms(),
        }))
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        let own = steps.iter().filter(|(name, _)| matches!(*name, "forward" | "inverse"));
        let seconds: f64 = own.map(|(_, seconds)| seconds).sum();
        fields(json!({ "us_a_transform": seconds / self.transforms() as f64 * 1e6 }))
    }
}

impl Twin for Ntt {
    fn clear(&self, inputs: &[Vec<Vec<i64>>]) -> Vec<Vec<Vec<i64>>> {
        inputs.to_vec()
    }
}
