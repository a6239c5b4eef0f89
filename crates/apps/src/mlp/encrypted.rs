//! The encrypted network: a ciphertext a feature, an image a slot. A layer is a product of a clear matrix of integers with
//! residues, and the square between them is the only product of ciphertexts; there is no rotation key.
//!
//! Scales grow exactly, by 2^8 a matrix and by themselves at the square; one division follows it. Images beyond the slots
//! of a ciphertext are further groups of the same batch.

use super::network::{MOST_IMAGES, MlpError, Network, UNIT};
use crate::{
    lola::{client::Digits, encrypted::root_mean_square},
    program::{Array, Ckks, Details, Encryption, Evaluation, Numbers, Program, SlotsInput as Input, State, fields},
    way::Way,
};
use limbwise::{
    Complex64, Result,
    ckks::{Ciphertext, Packing, Promise},
    params::Params,
    scheme::{Maps, Slots},
};
use limbwise_device::Device;
use serde_json::json;
use std::sync::Arc;

/// Levels that the network takes: one division, and room for the growth of sums.
pub const LEVELS: usize = 2;

/// Scale of the pixels: what the modulus of the default parameters leaves above squares and their sums.
const SCALE: f64 = (1u64 << 20) as f64;

/// Pixels and the constant are within [0, 1].
const BOUNDS: Promise = Promise { magnitude: 1.0, peak: 1.0, real: true };

#[derive(Clone, Debug)]
pub struct Mlp {
    params: Params,
    network: Arc<Network>,
    images: usize,
    /// Root mean squares of the values after each step.
    sizes: [f64; STEPS.len()],
}

impl Mlp {
    /// The network for this many images per pass.
    pub fn new(params: &Params, network: Network, images: usize) -> std::result::Result<Self, MlpError> {
        let (needed, levels) = (LEVELS, params.top_level());
        if levels < needed {
            return Err(MlpError::Levels { needed, levels });
        }
        if !(1..=MOST_IMAGES).contains(&images) {
            return Err(MlpError::Images(images));
        }
        let sizes = sizes(&network);
        Ok(Self { params: params.clone(), network: Arc::new(network), images, sizes })
    }

    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Images in one pass.
    pub fn images(&self) -> usize {
        self.images
    }

    /// Slots of a ciphertext: no more than there are images.
    pub fn slots(&self) -> usize {
        self.images.next_power_of_two().min(self.params.max_slots())
    }

    /// Ciphertexts of a feature.
    pub fn groups(&self) -> usize {
        self.images.div_ceil(self.slots())
    }

    /// The scores of each image from the slots of the result.
    pub(super) fn scores(&self, slots: &[Vec<Complex64>]) -> Vec<Vec<f64>> {
        let (groups, classes, of_one) = (self.groups(), self.network.shape.classes, self.slots());
        let score = |image: usize, class: usize| slots[class * groups + image / of_one][image % of_one].re;
        (0..self.images).map(|image| (0..classes).map(|class| score(image, class)).collect()).collect()
    }
}

/// Images that the sizes of values are taken from.
const SAMPLE: usize = 16;

/// Sizes of the clear network's values on generated images: the rule of sums cannot know how much of a sum cancels. Both
/// sides know the weights.
fn sizes(network: &Network) -> [f64; STEPS.len()] {
    let digits = Digits::generated(network.shape.side, SAMPLE, 0).pixels;
    let steps: Vec<_> = digits.iter().map(|pixels| network.steps(pixels)).collect();
    std::array::from_fn(|step| root_mean_square(steps.iter().flat_map(|steps| &steps[step])))
}

const STEPS: [&str; 3] = ["first layer", "square", "second layer"];

impl Program for Mlp {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "mlp"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        let packing = Packing { slots: self.slots(), level: LEVELS, scale: SCALE };
        let batch = self.network.shape.features() * self.groups();
        vec![Input { name: "images".into(), batch, packing, bounds: BOUNDS }]
    }

    /// Who encrypts images reads the scores: files of half the size.
    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    fn model(&self) -> Maps<'_> {
        Maps { maps: Vec::new(), bootstrapping: None }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs, observer, journal } = on;
        let Slots { auto, .. } = means;
        let eval = auto.eval;
        let mut state = match journal.resume()? {
            Some(state) if (1..=STEPS.len()).contains(&state.step) && state.ciphertexts.len() == 1 => state,
            Some(_) => return Err(limbwise::Error::State),
            None => State { step: 0, ciphertexts: vec![inputs[0].clone()], numbers: Vec::new() },
        };
        for (step, name) in STEPS.into_iter().enumerate().skip(state.step) {
            observer.step(name, step, STEPS.len());
            let _region = eval.device().region(name, 0);
            let x = &state.ciphertexts[0];
            let next = match step {
                0 => eval.matrix_product(x, &self.network.first, UNIT)?,
                1 => eval.relinearize_rescaled(&eval.square(x)?)?,
                _ => eval.matrix_product(x, &self.network.second, UNIT)?,
            };
            let next = next.with_magnitude(self.sizes[step]);
            state = State { step: step + 1, ciphertexts: vec![next], numbers: Vec::new() };
            journal.keep(&state)?;
        }
        Ok(state.ciphertexts)
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let values = self.scores(&results[0]).into_iter().flatten().map(Into::into).collect();
        let shape = vec![self.images, self.network.shape.classes];
        vec![Array { name: "scores".into(), shape, values, numbers: Numbers::Real }]
    }

    fn details(&self) -> Details {
        let shape = self.network.shape;
        fields(json!({
            "images": self.images,
            "layers": [shape.features(), shape.hidden, shape.classes],
            "ciphertexts_a_feature": self.groups(),
        }))
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        let own = steps.iter().filter(|(name, _)| STEPS.contains(name));
        let seconds: f64 = own.clone().map(|(_, s)| s).sum();
        let times = json!({ "seconds_an_image": seconds / self.images as f64 });
        // After a resume the measured time does not cover a whole image.
        if own.count() < STEPS.len() { Details::new() } else { fields(times) }
    }

    fn in_way(&self, _way: Way) -> Self {
        self.clone()
    }
}
