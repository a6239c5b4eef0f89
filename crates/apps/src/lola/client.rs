//! The client's side: images to encrypt, and digits from decrypted scores.

use super::{
    encrypted::Lola,
    network::{LolaError, Network, label},
};
use crate::{
    client::{Accuracy, Client, Conclusion},
    data::idx::Images,
    family::SlotsFound,
    linear::data::generated,
    program::{Ckks, fields},
};
use limbwise::{
    Complex64,
    ckks::{Precision, Promise},
    params::Params,
};
use serde_json::json;

/// Images, with their digits if known.
#[derive(Clone, Debug, PartialEq)]
pub struct Digits {
    /// Pixels in [0, 1], row by row.
    pub pixels: Vec<Vec<f64>>,
    /// Digits of the images; empty if unknown.
    pub labels: Vec<u8>,
}

impl From<Images> for Digits {
    fn from(images: Images) -> Self {
        Self { pixels: images.pixels, labels: images.labels }
    }
}

impl Digits {
    /// Random pixels from a seed, for plans, timings and tests.
    #[must_use]
    pub fn generated(side: usize, count: usize, seed: u64) -> Self {
        let pixels = generated(seed, 0, count * side * side, 1.0);
        let image = |pixels: &[f64]| pixels.iter().map(|x| x.max(0.0)).collect();
        Self { pixels: pixels.chunks_exact(side * side).map(image).collect(), labels: Vec::new() }
    }
}

#[derive(Clone, Debug)]
pub struct LolaClient {
    program: Lola,
    digits: Digits,
    /// The twin's scores, if the client has the network.
    expected: Vec<Vec<f64>>,
}

impl LolaClient {
    /// Images for a program. The client's network replaces the server's if they differ.
    pub fn new(program: &Lola, digits: Digits) -> Result<Self, LolaError> {
        if digits.pixels.len() != program.images() {
            return Err(LolaError::Images(digits.pixels.len()));
        }
        check(program.network(), &digits)?;
        let expected = digits.pixels.iter().map(|pixels| program.network().scores(pixels));
        Ok(Self { program: program.clone(), expected: expected.collect::<Result<_, _>>()?, digits })
    }

    pub fn sides(params: &Params, network: Network, digits: Digits) -> Result<(Lola, Self), LolaError> {
        check(&network, &digits)?;
        let unknown = Promise { magnitude: 1.0, peak: 1.0, real: true };
        let program = Lola::new(params, network.clone(), digits.pixels.len(), unknown)?;
        let packed = digits.pixels.iter().map(|pixels| program.pack(pixels)).collect::<limbwise::Result<Vec<_>>>()?;
        let bounds = Promise::of(&packed, params.max_slots()).rounded();
        let program = program.with_bounds(bounds);
        let client = Self::new(&program, digits)?;
        Ok((program, client))
    }
}

fn check(network: &Network, digits: &Digits) -> Result<(), LolaError> {
    let side = network.shape.side;
    let wrong = digits.pixels.iter().position(|pixels| pixels.len() != side * side);
    wrong.map_or(Ok(()), |at| Err(LolaError::Image { at: at + 1, got: digits.pixels[at].len(), side }))
}

impl Client for LolaClient {
    type Scheme = Ckks;

    fn values(&self, _input: usize) -> Vec<Vec<Complex64>> {
        let pack = |pixels: &Vec<f64>| self.program.pack(pixels).expect("images of the network's size");
        self.digits.pixels.iter().map(pack).collect()
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let got: Vec<Vec<f64>> = results[0].iter().map(|slots| self.program.scores(slots)).collect();
        let count = got.len() as f64;
        let share = |scores: &[Vec<f64>], digits: &dyn Fn(usize) -> usize| {
            scores.iter().enumerate().filter(|(at, scores)| label(scores) == digits(*at)).count() as f64 / count
        };
        let digits = |at: usize| usize::from(self.digits.labels[at]);
        let accuracy = (!self.digits.labels.is_empty())
            .then(|| Accuracy { encrypted: share(&got, &digits), clear: share(&self.expected, &digits) });
        let flat = |scores: &[Vec<f64>]| scores.iter().flatten().map(|&x| x.into()).collect::<Vec<Complex64>>();
        let details = json!({
            "same_label": share(&got, &|at| label(&self.expected[at])),
            "largest_value": self.expected.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs())),
        });
        Conclusion {
            found: SlotsFound { precision: Precision::of(&flat(&got), &flat(&self.expected)), accuracy },
            details: fields(details),
            warnings: Vec::new(),
        }
    }
}
