//! The client's side: samples, and the results beside those of the network and of its twin with polynomials.

use super::{
    Network, NetworkError,
    encrypted::Planned,
    twin::{Twin, most},
};
use crate::{
    client::{Accuracy, Client, Conclusion},
    family::SlotsFound,
    program::{Ckks, Program as _, fields},
    threads,
    way::Way,
};
use limbwise::{Complex64, ckks::Precision};
use serde_json::json;
use std::sync::Arc;

/// The outputs of one sample in the clear: of the network, and of its twin with the polynomials.
#[derive(Clone, Debug, PartialEq)]
pub struct Twins {
    pub clear: Vec<f64>,
    pub polynomial: Vec<f64>,
    /// How far the value that fills its range most does so, and which it is; above 1 it is outside.
    pub fill: (f64, usize),
    /// The first value outside its range, with how far it fills it. What follows from it may be farther outside.
    pub outside: Option<(usize, f64)>,
}

impl Twins {
    fn of(network: &Network, program: &Planned, sample: &[f64]) -> Self {
        let clear = network.outputs(&network.exact(sample));
        let values = network.values(sample, &|at, _, x| program.replaced(at, x));
        let fills: Vec<f64> = values.iter().enumerate().map(|(at, numbers)| program.fill(at, numbers)).collect();
        let fullest = fills.iter().copied().zip(0..).max_by(|a, b| a.0.total_cmp(&b.0));
        let outside = fills.iter().position(|&fill| fill > 1.0).map(|at| (at, fills[at]));
        Self { clear, polynomial: network.outputs(&values), fill: fullest.unwrap_or_default(), outside }
    }
}

/// The place of the largest score, the last of equals.
pub fn class(scores: &[f64]) -> usize {
    (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0)
}

/// The data of an inference.
#[derive(Clone, Debug)]
pub struct NetworkClient {
    program: Planned,
    network: Arc<Network>,
    samples: Vec<Vec<f64>>,
    /// Classes, if they are known.
    labels: Vec<usize>,
}

impl NetworkClient {
    /// For a program and so many samples as it is for.
    ///
    /// # Errors
    /// [`NetworkError`] for another number of samples, other sizes, or numbers outside the calibrated range of an input.
    pub fn new(
        program: &Planned,
        network: &Arc<Network>,
        samples: Vec<Vec<f64>>,
        labels: Vec<usize>,
    ) -> Result<Self, NetworkError> {
        let wrong = |got: String, wanted: String| Err(NetworkError::Shape { what: "the data", got, wanted });
        let (count, size) = (program.inference().samples, network.skeleton.sample());
        if samples.len() != count || samples.iter().any(|sample| sample.len() != size) {
            let got = format!("{} samples of {} numbers", samples.len(), samples.first().map_or(0, Vec::len));
            return wrong(got, format!("{count} of {size}"));
        }
        if !labels.is_empty() && labels.len() != count {
            return wrong(format!("{} labels", labels.len()), format!("{count}, one a sample"));
        }
        let classes: usize = network.skeleton.outputs.iter().map(|&at| network.skeleton.values[at].size()).sum();
        if let Some(label) = labels.iter().find(|&&label| label >= classes) {
            return wrong(format!("the label {label}"), format!("classes from 0 to {}, one an output", classes - 1));
        }
        for (number, sample) in (1..).zip(&samples) {
            let mut begin = 0;
            for (at, input) in network.skeleton.inputs().enumerate() {
                let fill = program.fill(at, &sample[begin..begin + input.size()]);
                begin += input.size();
                let inside = fill <= 1.0;
                if !inside {
                    let got =
                        format!("sample {number} with numbers {fill:.2} times the range of its input {}", input.name);
                    return wrong(got, "numbers inside it: calibrate on more data or with a wider --margin".into());
                }
            }
        }
        Ok(Self { program: program.clone(), network: Arc::clone(network), samples, labels })
    }

    /// What the twin says of all samples, before any key.
    pub fn twin(&self) -> Twin {
        self.twin_of(&self.twins())
    }

    fn twin_of(&self, twins: &[Twins]) -> Twin {
        let count = |same: &dyn Fn(usize) -> bool| (0..twins.len()).filter(|&at| same(at)).count();
        let pairs = || twins.iter().flat_map(|twin| twin.clear.iter().zip(&twin.polynomial));
        let sum: f64 = pairs().map(|(a, b)| (a - b).abs()).sum();
        let right = |scores: &dyn Fn(usize) -> usize| {
            count(&|at| scores(at) == self.labels[at]) as f64 / self.labels.len().max(1) as f64
        };
        let twin = Twin {
            samples: twins.len(),
            same_class: count(&|at| class(&twins[at].clear) == class(&twins[at].polynomial)),
            mean_error: sum / pairs().count().max(1) as f64,
            largest_error: most(pairs().map(|(a, b)| (a - b).abs())),
            largest_output: most(pairs().map(|(a, _)| a.abs())),
            largest_value_over_range: twins.iter().map(|twin| twin.fill.0).fold(0.0, f64::max),
            accuracy: (!self.labels.is_empty())
                .then(|| [right(&|at| class(&twins[at].clear)), right(&|at| class(&twins[at].polynomial))]),
            outside: None,
            warning: None,
        };
        twin.judged(self.outside(twins))
    }

    /// The layer that leaves its calibrated range most, with how far it fills it.
    fn fullest(&self, twins: &[Twins]) -> (f64, usize) {
        twins.iter().map(|twin| twin.fill).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default()
    }

    /// A warning of samples that leave calibrated ranges, with the first layer where one does.
    fn outside(&self, twins: &[Twins]) -> Option<String> {
        let outside = || twins.iter().filter_map(|twin| twin.outside);
        let (at, fill) = outside().min_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)))?;
        Some(format!(
            "{} of {} samples have values beyond the calibrated ranges, first in layer {}, whose range is {} with its margin and which they fill {fill:.3} times: their results are not to be trusted, or refused at decryption; calibrate on more data or with a wider --margin",
            outside().count(),
            twins.len(),
            self.network.skeleton.values[at].name,
            self.program.range(at)
        ))
    }

    /// The numbers of all outputs of each sample, from decrypted results.
    pub fn scores(&self, results: &[Vec<Vec<Complex64>>]) -> Vec<Vec<f64>> {
        let outputs = self.program.read(results);
        let of = |sample: usize| outputs.iter().flat_map(|output| output[sample].iter().copied()).collect();
        (0..self.samples.len()).map(of).collect()
    }

    /// The twins of all samples.
    pub fn twins(&self) -> Vec<Twins> {
        threads::each(&self.samples, |sample| Twins::of(&self.network, &self.program, sample))
    }
}

impl Client for NetworkClient {
    type Scheme = Ckks;

    fn values(&self, input: usize) -> Vec<Vec<Complex64>> {
        self.program.pack(input, &self.samples)
    }

    fn forewarned(&self) -> Option<String> {
        self.outside(&self.twins())
    }

    fn in_way(&self, way: Way) -> Option<Self> {
        let moved = way.samples.is_some_and(|arrangement| arrangement != self.program.inference().arrangement);
        moved.then(|| Self { program: self.program.in_way(way), ..self.clone() })
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let got = self.scores(results);
        let twins = self.twins();
        let count = |same: &dyn Fn(usize) -> bool| (0..got.len()).filter(|&at| same(at)).count();
        let mean = |a: &dyn Fn(usize) -> Vec<f64>, b: &dyn Fn(usize) -> Vec<f64>| {
            let all: Vec<f64> = (0..got.len())
                .flat_map(|at| a(at).into_iter().zip(b(at)).collect::<Vec<_>>())
                .map(|(x, y)| (x - y).abs())
                .collect();
            all.iter().sum::<f64>() / all.len().max(1) as f64
        };
        let (encrypted, clear, polynomial) = (
            |at: usize| got[at].clone(),
            |at: usize| twins[at].clear.clone(),
            |at: usize| twins[at].polynomial.clone(),
        );
        let (fill, fullest) = self.fullest(&twins);
        let details = json!({
            "same_class_as_clear": count(&|at| class(&got[at]) == class(&twins[at].clear)),
            "polynomial_same_class_as_clear": count(&|at| class(&twins[at].polynomial) == class(&twins[at].clear)),
            "output_error": { "encrypted_to_clear": mean(&encrypted, &clear), "encrypted_to_polynomial": mean(&encrypted, &polynomial), "polynomial_to_clear": mean(&polynomial, &clear) },
            "largest_value_over_range": fill,
            "fullest_layer": self.network.skeleton.values[fullest].name,
        });
        // As precision is predicted: in units of each output's range.
        let units = self.program.units_of_outputs();
        let flat = |rows: &mut dyn Iterator<Item = &Vec<f64>>| {
            let row = |row: &Vec<f64>| row.iter().zip(&units).map(|(x, unit)| (x / unit).into()).collect::<Vec<_>>();
            rows.flat_map(row).collect::<Vec<Complex64>>()
        };
        let expected = flat(&mut twins.iter().map(|twin| &twin.polynomial));
        let right = |class_of: &dyn Fn(usize) -> usize| {
            count(&|at| class_of(at) == self.labels[at]) as f64 / self.labels.len().max(1) as f64
        };
        let accuracy = (!self.labels.is_empty())
            .then(|| Accuracy { encrypted: right(&|at| class(&got[at])), clear: right(&|at| class(&twins[at].clear)) });
        Conclusion {
            found: SlotsFound { precision: Precision::of(&flat(&mut got.iter()), &expected), accuracy },
            details: fields(details),
            warnings: self.twin_of(&twins).warning.into_iter().collect(),
        }
    }
}
