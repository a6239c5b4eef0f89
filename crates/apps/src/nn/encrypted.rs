//! The network on encrypted bits: a layer of all images is one batch of bootstrappings.

use super::{
    digits::Digits,
    network::{CLASSES, MOST, Network, Neuron, NnError, PARTS, PLACES, SIDE, class, pixel},
};
use crate::{
    logic::{Logic, Messages},
    program::{Details, Observer},
};
use limbwise::{
    Result,
    tfhe::{Ciphertext, Evaluator, Table, TfheParams, noise},
};
use limbwise_device::Device;
use serde_json::json;

/// Most images at once: 13 MB of encrypted pixels each at N = 2048.
pub const MOST_IMAGES: usize = 64;

/// The workload.
#[derive(Clone, Debug)]
pub struct Nn {
    params: TfheParams,
    network: Network,
    digits: Digits,
}

impl Nn {
    /// A network on some images.
    ///
    /// # Errors
    /// [`NnError`]: parameters that do not hold the sums, no image or too many.
    pub fn new(params: &TfheParams, network: Network, digits: Digits) -> std::result::Result<Self, NnError> {
        let (l, images) = (params.literal(), digits.images.len());
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
        Ok(Self { params: params.clone(), network, digits })
    }

    /// Layers of the network, convolution and sums included.
    #[must_use]
    pub fn layers(&self) -> usize {
        self.network.hidden.len() + 2
    }

    /// Shares of images whose class is their label, and the classes.
    fn accuracy(&self, messages: &[Vec<u64>]) -> (f64, Vec<u8>) {
        let images = self.digits.labels.len();
        let sum = |m: u64| i32::try_from(m).map_or(0, |m| m - MOST);
        let sums = |image: usize| {
            (0..PARTS * CLASSES).map(|part| sum(messages[0][part * images + image])).collect::<Vec<i32>>()
        };
        let classes: Vec<u8> = (0..images).map(|image| class(&sums(image))).collect();
        let right = classes.iter().zip(&self.digits.labels).filter(|(c, l)| c == l).count();
        (right as f64 / images as f64, classes)
    }
}

/// `Σ w_i·a_i + b`; inputs that are not told are zeros.
fn sum<'c, D: Device + 'c>(
    eval: Evaluator<'_, D>,
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

impl Logic for Nn {
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
        vec![Messages { name: "pixels".into(), batch: SIDE * SIDE * self.digits.images.len(), most: 1 }]
    }

    fn evaluate<D: Device>(
        &self,
        eval: Evaluator<'_, D>,
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Ciphertext<D>>> {
        let (images, layers) = (self.digits.images.len(), self.layers());
        let step = Table::step(&self.params, 1)?;
        let fired = |sums: Vec<Ciphertext<D>>| -> Result<Vec<Ciphertext<D>>> {
            let jobs: Vec<_> = sums.into_iter().map(|sum| (sum, step.clone())).collect();
            Ok(eval.bootstrap_jobs(&jobs)?.into_iter().flatten().collect())
        };
        observer.step("convolution", 0, layers);
        let pixels: Vec<_> = (0..SIDE * SIDE).map(|p| eval.split(&inputs[0], p * images, (p + 1) * images)).collect();
        let zero = eval.scale(&pixels[0], 0);
        let places = || 0..PLACES[0] * PLACES[1];
        let convolved = self.network.kernels.iter().flat_map(|kernel| places().map(move |place| (kernel, place)));
        let sums = convolved.map(|(kernel, place)| sum(eval, kernel, |i| pixel(place, i).map(|p| &pixels[p]), &zero));
        let mut bits = fired(sums.collect::<Result<_>>()?)?;
        drop(pixels);
        for (i, layer) in self.network.hidden.iter().enumerate() {
            observer.step("layer", i + 1, layers);
            let sums = layer.iter().map(|neuron| sum(eval, neuron, |i| bits.get(i), &zero));
            bits = fired(sums.collect::<Result<_>>()?)?;
        }
        observer.step("sums", layers - 1, layers);
        let lifted = |part| Ok(eval.add_clear(&sum(eval, part, |i| bits.get(i), &zero)?, MOST));
        let parts = self.network.parts.iter().map(lifted).collect::<Result<Vec<_>>>()?;
        Ok(vec![eval.stack(&parts.iter().collect::<Vec<_>>())?])
    }

    /// The sums of all images, part by part, with 15 added: 0 to 30, of which the padding bit is one.
    fn clear(&self, inputs: &[Vec<u64>]) -> Vec<Vec<u64>> {
        let images = self.digits.images.len();
        let image = |at: usize| (0..SIDE * SIDE).map(|p| inputs[0][p * images + at]).collect::<Vec<u64>>();
        let sums: Vec<Vec<i32>> = (0..images).map(|at| self.network.sums(&image(at))).collect();
        let lifted = |sum: i32| u64::try_from(sum + MOST).expect("sums are -15 to 15");
        vec![(0..PARTS * CLASSES).flat_map(|part| sums.iter().map(move |sums| lifted(sums[part]))).collect()]
    }

    fn details(&self) -> Details {
        let details = json!({
            "layers": self.layers(),
            "batch": self.digits.images.len(),
            "neurons": self.network.neurons(),
        });
        details.as_object().cloned().unwrap_or_default()
    }

    /// The images' bits, whatever the seed.
    fn samples(&self, _: u64) -> Vec<Vec<u64>> {
        vec![(0..SIDE * SIDE).flat_map(|p| self.digits.images.iter().map(move |image| image[p])).collect()]
    }

    fn conclude(&self, clear: &[Vec<u64>], found: &[Vec<u64>]) -> Details {
        let ((twin, _), (encrypted, classes)) = (self.accuracy(clear), self.accuracy(found));
        let (of, right) = self.network.judged;
        let details = json!({
            "classes": classes,
            "labels": self.digits.labels,
            "accuracy": {
                "network": f64::from(right) / f64::from(of.max(1)),
                "judged": of,
                "twin": twin,
                "encrypted": encrypted,
            },
        });
        details.as_object().cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
