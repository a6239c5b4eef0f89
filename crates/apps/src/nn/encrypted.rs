//! The network on encrypted bits: one batch of bootstrappings evaluates a layer for all images.

use super::network::{CLASSES, MOST, Network, Neuron, NnError, PARTS, PLACES, SIDE, class, pixel};
use crate::{
    family::Twin,
    program::{Array, Details, Encryption, Evaluation, Messages, Program, State, Tfhe, fields},
};
use limbwise::{
    Result,
    tfhe::{Ciphertext, Evaluator, Table, TfheParams, TfheReading, noise},
};
use limbwise_device::Device;
use serde_json::json;

/// Most images in one pass. At N = 2048 the encrypted pixels of one image take 13 MB.
pub const MOST_IMAGES: usize = 64;

#[derive(Clone, Debug)]
pub struct Nn {
    params: TfheParams,
    network: Network,
    images: usize,
}

impl Nn {
    /// A network on 1 to [`MOST_IMAGES`] images.
    ///
    /// # Errors
    /// [`NnError`]: the parameters cannot hold the sums, or the number of images is out of range.
    pub fn new(params: &TfheParams, network: Network, images: usize) -> std::result::Result<Self, NnError> {
        let l = params.literal();
        if l.message_bits < 4 {
            return Err(NnError::Space(l.message_bits));
        }
        let neurons = network.kernels.iter().chain(network.hidden.iter().flatten());
        let norm_squared = neurons.map(Neuron::norm_squared).fold(1.0, f64::max);
        let got = noise::log2_failure(l, norm_squared, 0);
        if got > l.log2_failure {
            return Err(NnError::Noise { norm_squared, got, wanted: l.log2_failure });
        }
        if !(1..=MOST_IMAGES).contains(&images) {
            return Err(NnError::Images(images));
        }
        Ok(Self { params: params.clone(), network, images })
    }

    /// Number of layers, including convolution and sums.
    pub fn layers(&self) -> usize {
        self.network.hidden.len() + 2
    }

    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Images in one pass.
    pub fn images(&self) -> usize {
        self.images
    }

    /// The class of each image, from the decrypted sums.
    ///
    /// # Panics
    /// If there are fewer messages than the result has.
    pub fn classes(&self, messages: &[u64]) -> Vec<u8> {
        let sum = |m: u64| i32::try_from(m).map_or(0, |m| m - MOST);
        let sums = |image: usize| {
            (0..PARTS * CLASSES).map(|part| sum(messages[part * self.images + image])).collect::<Vec<i32>>()
        };
        (0..self.images).map(|image| class(&sums(image))).collect()
    }
}

/// `Σ w_i·a_i + b`; omitted inputs are zero.
fn sum<'c, D: Device + 'c>(
    eval: &Evaluator<'_, D>,
    neuron: &Neuron,
    input: impl Fn(usize) -> Option<&'c Ciphertext<D>>,
    zero: &Ciphertext<D>,
) -> Result<Ciphertext<D>> {
    let side = |sign: i32| {
        let own = neuron.inputs.iter().filter(|(_, w)| w * sign > 0);
        let mut terms = own.filter_map(|&(i, w)| input(i).map(|a| (a, w * sign)));
        let term = |(a, w): (&Ciphertext<D>, i32)| if w == 1 { a.clone() } else { eval.scale(a, w) };
        let first = terms.next().map(term);
        first.map(|first| terms.try_fold(first, |sum, next| eval.add(&sum, &term(next)))).transpose()
    };
    let sum = match (side(1)?, side(-1)?) {
        (Some(plus), Some(minus)) => eval.sub(&plus, &minus)?,
        (Some(plus), None) => plus,
        (None, Some(minus)) => eval.scale(&minus, -1),
        (None, None) => zero.clone(),
    };
    Ok(if neuron.bias == 0 { sum } else { eval.add_clear(&sum, neuron.bias) })
}

impl Program for Nn {
    type Scheme = Tfhe;

    fn name(&self) -> &'static str {
        match self.layers() {
            20 => "nn20",
            50 => "nn50",
            100 => "nn100",
            _ => "nn",
        }
    }

    fn params(&self) -> &TfheParams {
        &self.params
    }

    fn inputs(&self) -> Vec<Messages> {
        vec![Messages { name: "pixels".into(), batch: SIDE * SIDE * self.images, most: 1 }]
    }

    fn model(&self) {}

    /// There is no public key.
    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    /// The state after a layer holds the bits of its neurons.
    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Tfhe>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means: eval, inputs, observer, journal } = on;
        let (images, layers) = (self.images, self.layers());
        let step = Table::step(&self.params, 1)?;
        let fired = |sums: Vec<Ciphertext<D>>| -> Result<Vec<Ciphertext<D>>> {
            let jobs: Vec<_> = sums.into_iter().map(|sum| (sum, step.clone())).collect();
            Ok(eval.bootstrap_jobs(&jobs)?.into_iter().flatten().collect())
        };
        let zero = eval.scale(&eval.split(&inputs[0], 0, images), 0);
        let mut state = match journal.resume()? {
            Some(state) if (1..layers).contains(&state.step) && !state.ciphertexts.is_empty() => state,
            Some(_) => return Err(limbwise::Error::State),
            None => {
                observer.step("convolution", 0, layers);
                let part = |p: usize| eval.split(&inputs[0], p * images, (p + 1) * images);
                let pixels: Vec<_> = (0..SIDE * SIDE).map(part).collect();
                let places = || 0..PLACES[0] * PLACES[1];
                let convolved =
                    self.network.kernels.iter().flat_map(|kernel| places().map(move |place| (kernel, place)));
                let sums =
                    convolved.map(|(kernel, place)| sum(eval, kernel, |i| pixel(place, i).map(|p| &pixels[p]), &zero));
                State { step: 1, ciphertexts: fired(sums.collect::<Result<_>>()?)?, numbers: Vec::new() }
            }
        };
        for (i, layer) in self.network.hidden.iter().enumerate().skip(state.step - 1) {
            journal.keep(&state)?;
            observer.step("layer", i + 1, layers);
            let sums = layer.iter().map(|neuron| sum(eval, neuron, |i| state.ciphertexts.get(i), &zero));
            let bits = fired(sums.collect::<Result<_>>()?)?;
            state = State { step: i + 2, ciphertexts: bits, numbers: Vec::new() };
        }
        observer.step("sums", layers - 1, layers);
        let lifted = |part| Ok(eval.add_clear(&sum(eval, part, |i| state.ciphertexts.get(i), &zero)?, MOST));
        let parts = self.network.parts.iter().map(lifted).collect::<Result<Vec<_>>>()?;
        Ok(vec![eval.stack(&parts.iter().collect::<Vec<_>>())?])
    }

    /// The class of each image, and the sums behind it: three partial sums per class.
    fn arrays(&self, results: &Vec<TfheReading>) -> Vec<Array> {
        let classes = self.classes(&results[0].messages);
        vec![Array::whole("classes", vec![self.images], classes.into_iter().map(i64::from))]
    }

    fn details(&self) -> Details {
        fields(json!({ "layers": self.layers(), "batch": self.images, "neurons": self.network.neurons() }))
    }
}

impl Twin for Nn {
    /// The sums of all images, one partial sum after another. Adding 15 makes them 0 to 30, which needs the padding
    /// bit.
    fn clear(&self, inputs: &[Vec<u64>]) -> Vec<Vec<u64>> {
        let images = self.images;
        let image = |at: usize| (0..SIDE * SIDE).map(|p| inputs[0][p * images + at]).collect::<Vec<u64>>();
        let sums: Vec<Vec<i32>> = (0..images).map(|at| self.network.sums(&image(at))).collect();
        let lifted = |sum: i32| u64::try_from(sum + MOST).expect("sums are -15 to 15");
        vec![(0..PARTS * CLASSES).flat_map(|part| sums.iter().map(move |sums| lifted(sums[part]))).collect()]
    }
}
