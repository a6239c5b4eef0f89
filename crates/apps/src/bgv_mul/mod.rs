//! Products of many BGV ciphertexts with their transforms: the benchmark of processing in memory.

use crate::{
    family::{Twin, integer_arrays},
    program::{Array, Details, Encryption, Evaluation, Integers, Program, fields},
};
use limbwise::{
    Result,
    bgv::{BgvParams, BgvReading, Ciphertext, Modulus},
    rlwe::operations,
    scheme::Bgv,
};
use limbwise_device::{Device, Domain};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub mod options;

/// Largest batch.
pub const MOST_CIPHERTEXTS: usize = 1 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Transforms of the ciphertexts
    Ntt,
    /// Products of transformed ciphertexts
    Multiply,
    /// Transforms back
    Intt,
    /// Both operands transformed, multiplied, the products transformed back
    #[default]
    All,
}

#[derive(Clone, Debug)]
pub struct BgvMul {
    params: BgvParams,
    ciphertexts: usize,
    level: usize,
    step: Step,
}

impl BgvMul {
    /// A batch of 1 to [`MOST_CIPHERTEXTS`] ciphertexts (pairs, if the step multiplies) at a level of the set.
    ///
    /// # Panics
    /// If the number or the level is not in its range.
    pub fn new(params: &BgvParams, ciphertexts: usize, level: usize, step: Step) -> Self {
        assert!((1..=MOST_CIPHERTEXTS).contains(&ciphertexts), "1 to {MOST_CIPHERTEXTS} ciphertexts");
        assert!(level <= params.top_level(), "a level that the set has");
        Self { params: params.clone(), ciphertexts, level, step }
    }

    fn is_product(&self) -> bool {
        matches!(self.step, Step::Multiply | Step::All)
    }
}

fn each<D: Device>(a: &Ciphertext<D>, transform: impl Fn(D::Poly) -> D::Poly) -> Ciphertext<D> {
    Ciphertext { parts: a.parts.iter().cloned().map(transform).collect(), ..*a }
}

impl Program for BgvMul {
    type Scheme = Bgv;

    fn name(&self) -> &'static str {
        "bgv-mul"
    }

    fn params(&self) -> &BgvParams {
        &self.params
    }

    fn inputs(&self) -> Vec<Integers> {
        let domain = if matches!(self.step, Step::Ntt | Step::All) { Domain::Coeff } else { Domain::Eval };
        let input =
            |name: &str| Integers { name: name.into(), batch: self.ciphertexts, level: self.level, domain, modulus: 0 };
        if self.is_product() { vec![input("left"), input("right")] } else { vec![input("ciphertexts")] }
    }

    fn model(&self) {}

    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    /// Noise is not checked, because the 27-bit set has no room for a product.
    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Bgv>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means: auto, inputs, observer, .. } = on;
        let dev = auto.eval.device();
        let mut done = inputs.to_vec();
        if matches!(self.step, Step::Ntt | Step::All) {
            observer.step("ntt", 0, 1);
            let _region = dev.region("ntt", 0);
            done = done.iter().map(|c| each(c, |p| dev.ntt(p))).collect();
        }
        if let (true, [a, b]) = (self.is_product(), &done[..]) {
            observer.step("multiply", 0, 1);
            let parts = operations::product(dev, [&a.parts[0], &a.parts[1]], [&b.parts[0], &b.parts[1]]);
            let factor = self.params.t().mul(a.factor, b.factor);
            done = vec![Ciphertext { parts, factor, noise: a.noise.product(b.noise), ..*a }];
        }
        if matches!(self.step, Step::Intt | Step::All) {
            observer.step("intt", 0, 1);
            let _region = dev.region("intt", 0);
            done = done.iter().map(|c| each(c, |p| dev.intt(p))).collect();
        }
        Ok(done)
    }

    fn arrays(&self, results: &BgvReading) -> Vec<Array> {
        integer_arrays([if self.is_product() { "products" } else { "ciphertexts" }.into()], results)
    }

    fn details(&self) -> Details {
        let limbs = self.params.rlwe().limbs(self.level);
        fields(json!({ "ciphertexts": self.ciphertexts, "limbs_used": limbs, "step": self.step }))
    }
}

impl Twin for BgvMul {
    fn clear(&self, inputs: &[Vec<Vec<i64>>]) -> Vec<Vec<Vec<i64>>> {
        let t = self.params.t();
        match inputs {
            [left, right] => {
                let product = |(&x, &y): (&i64, &i64)| t.centered(t.mul(t.from_i64(x), t.from_i64(y)));
                let message = |(a, b): (&Vec<i64>, &Vec<i64>)| a.iter().zip(b).map(product).collect();
                vec![left.iter().zip(right).map(message).collect()]
            }
            _ => inputs.to_vec(),
        }
    }

    fn phases(&self, q: Modulus, inputs: &[Vec<u64>]) -> Option<Vec<Vec<u64>>> {
        Some(match inputs {
            [left, right] => vec![left.iter().zip(right).map(|(&x, &y)| q.mul(x, y)).collect()],
            _ => inputs.to_vec(),
        })
    }
}
