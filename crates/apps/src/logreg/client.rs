//! The client's side: data preparation, packing, and the quality of the trained model.

use super::{
    data::{Batches, Prepared},
    encrypted::{Layout, Logreg, LogregError, Training, WEIGHT_BOUND},
    metrics::metrics,
    plain::{Activation, LearningRate, TrainOptions, safe_learning_rate},
    twins::Twins,
};
use crate::{
    client::{Client, Conclusion},
    family::SlotsFound,
    program::Ckks,
};
use limbwise::{
    Complex64,
    ckks::{Precision, Promise},
    params::Params,
};
use serde_json::json;

/// Training options, without the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Rows of a mini-batch, at most all.
    pub batch_rows: usize,
    pub iterations: usize,
    /// Degree of the polynomial that replaces the sigmoid.
    pub degree: usize,
    /// Half-width of the interval on which the polynomial fits.
    pub interval: f64,
}

/// Placeholder bounds until the rows are packed.
const UNKNOWN: Promise = Promise { magnitude: 1.0, peak: 1.0, real: true };

/// Public metadata of prepared rows and options, without value bounds: see [`LogregClient::promises`].
fn training(prepared: &Prepared, options: Options) -> Training {
    let Options { batch_rows, iterations, degree, interval } = options;
    Training {
        columns: prepared.train.cols,
        train_rows: prepared.train.labels.len(),
        test_rows: prepared.test.labels.len(),
        batch_rows: batch_rows.min(prepared.train.labels.len()),
        iterations,
        degree,
        interval,
        learning_rate: safe_learning_rate(&prepared.train),
        train: UNKNOWN,
        test: UNKNOWN,
    }
}

/// Training data and options.
#[derive(Clone, Debug)]
pub struct LogregClient {
    program: Logreg,
    prepared: Prepared,
    batches: Batches,
}

impl LogregClient {
    /// Pairs the rows with a program made for them, or for rows of the same shape.
    pub fn new(program: &Logreg, prepared: Prepared) -> Result<Self, String> {
        let options = program.training();
        let got = [prepared.train.cols, prepared.train.labels.len(), prepared.test.labels.len()];
        let wanted = [options.columns, options.train_rows, options.test_rows];
        if got != wanted {
            let text = |[columns, train, test]: [usize; 3]| {
                format!("{train} training and {test} held-back rows of {} features", columns.saturating_sub(1))
            };
            return Err(format!("got {}; the program is for {}", text(got), text(wanted)));
        }
        let batches = Batches::new(&prepared.train, options.batch_rows.max(1));
        Ok(Self { program: program.clone(), prepared, batches })
    }

    /// Program and client for prepared rows.
    pub fn sides(params: &Params, prepared: Prepared, options: Options) -> Result<(Logreg, Self), LogregError> {
        let program = Logreg::new(params, training(&prepared, options))?;
        let batches = Batches::new(&prepared.train, program.training().batch_rows);
        let client = Self { program: program.clone(), prepared, batches };
        Ok((program.with_promises(client.promises())?, client))
    }

    /// Public value bounds of the packed training and test rows.
    pub fn promises(&self) -> [Promise; 2] {
        let of = |input, slots| Promise::of(&self.values(input), slots).rounded();
        let (batches, slots) = (self.program.used_batches(), self.program.training.slots());
        let training = (1..batches).fold(of(0, slots), |all, input| all.or_wider(of(input, slots)));
        [training, of(batches, self.program.testing.slots())]
    }

    fn options(&self) -> TrainOptions {
        let Training { iterations, learning_rate, .. } = *self.program.training();
        let activation = Activation::Polynomial(self.program.descent.polynomial.clone());
        TrainOptions { iterations, learning_rate: LearningRate::Constant(learning_rate), activation }
    }
}

impl Layout {
    /// Row-major values, cut into vectors of slots.
    pub(super) fn pack(self, values: &[f64]) -> Vec<Vec<Complex64>> {
        let vector = |rows: &[f64]| {
            let mut slots = vec![Complex64::default(); self.slots()];
            for (row, place) in rows.chunks_exact(self.cols).zip(slots.chunks_exact_mut(self.width)) {
                place.iter_mut().zip(row).for_each(|(slot, &x)| *slot = x.into());
            }
            slots
        };
        values.chunks(self.rows * self.cols).map(vector).collect()
    }
}

impl Client for LogregClient {
    type Scheme = Ckks;

    fn values(&self, input: usize) -> Vec<Vec<Complex64>> {
        if input < self.program.used_batches() {
            self.program.training.pack(&self.batches.at(input).signed)
        } else {
            self.program.testing.pack(&self.prepared.test.features)
        }
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let twins = Twins::train(&self.batches, &self.options());
        let test = &self.prepared.test;
        let (width, cols) = (self.program.training.width, self.program.training.cols);
        let model = &twins.polynomial.weights.w;
        let expected: Vec<Complex64> = (0..self.program.training.slots())
            .map(|slot| model.get(slot % width).copied().unwrap_or(0.0).into())
            .collect();
        let weights = &results[0][0];
        let got: Vec<f64> = self.program.scores(&results[1]).map(|z| z.re).collect();
        let (accuracy, mut details) = twins.judge(metrics(&got, &test.labels), test);
        details.insert("weights".into(), json!(weights.iter().take(cols).map(|z| z.re).collect::<Vec<f64>>()));
        details.insert("columns".into(), json!(self.prepared.columns));
        let bound = (self.program.count_of_bootstraps() > 0).then_some(WEIGHT_BOUND);
        Conclusion {
            found: SlotsFound { precision: Precision::of(weights, &expected), accuracy: Some(accuracy) },
            details,
            warnings: twins.warnings(bound),
        }
    }
}
