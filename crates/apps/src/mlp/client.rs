//! The client's side: images to encrypt, feature by feature, and digits from decrypted scores.

use super::{
    encrypted::Mlp,
    network::{MlpError, Network, label},
};
use crate::{
    client::{Accuracy, Client, Conclusion},
    family::SlotsFound,
    lola::client::Digits,
    program::{Ckks, fields},
};
use limbwise::{Complex64, ckks::Precision};
use serde_json::json;

#[derive(Clone, Debug)]
pub struct MlpClient {
    program: Mlp,
    digits: Digits,
}

impl MlpClient {
    /// Images for a program.
    pub fn new(program: &Mlp, digits: Digits) -> Result<Self, MlpError> {
        if digits.pixels.len() != program.images() {
            return Err(MlpError::Images(digits.pixels.len()));
        }
        digits.pixels.iter().enumerate().try_for_each(|(at, pixels)| check(program.network(), at + 1, pixels))?;
        Ok(Self { program: program.clone(), digits })
    }
}

fn check(network: &Network, at: usize, pixels: &[f64]) -> Result<(), MlpError> {
    let side = network.shape.side;
    if pixels.len() != side * side {
        return Err(MlpError::Image { at, got: pixels.len(), side });
    }
    match pixels.iter().position(|x| !(0.0..=1.0).contains(x)) {
        Some(pixel) => Err(MlpError::Pixel { at, pixel: pixel + 1, value: pixels[pixel] }),
        None => Ok(()),
    }
}

impl Client for MlpClient {
    type Scheme = Ckks;

    fn values(&self, _input: usize) -> Vec<Vec<Complex64>> {
        let (network, slots) = (self.program.network(), self.program.slots());
        let row = |i: usize, images: &[Vec<f64>]| images.iter().map(|x| network.feature(x, i).into()).collect();
        let groups = || self.digits.pixels.chunks(slots);
        (0..network.shape.features()).flat_map(|i| groups().map(move |images| row(i, images))).collect()
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let got = self.program.scores(&results[0]);
        let expected: Vec<Vec<f64>> = self.digits.pixels.iter().map(|x| self.program.network().scores(x)).collect();
        let count = got.len() as f64;
        let share = |scores: &[Vec<f64>], digits: &dyn Fn(usize) -> usize| {
            scores.iter().enumerate().filter(|(at, scores)| label(scores) == digits(*at)).count() as f64 / count
        };
        let digits = |at: usize| usize::from(self.digits.labels[at]);
        let accuracy = (!self.digits.labels.is_empty())
            .then(|| Accuracy { encrypted: share(&got, &digits), clear: share(&expected, &digits) });
        let flat = |scores: &[Vec<f64>]| scores.iter().flatten().map(|&x| x.into()).collect::<Vec<Complex64>>();
        let details = json!({
            "same_label": share(&got, &|at| label(&expected[at])),
            "largest_value": expected.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs())),
        });
        Conclusion {
            found: SlotsFound { precision: Precision::of(&flat(&got), &flat(&expected)), accuracy },
            details: fields(details),
            warnings: Vec::new(),
        }
    }
}
