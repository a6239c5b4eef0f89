//! The client's side: images as rows, and the quality of the trained model on the test images.

use super::{
    encrypted::{Helr, HelrError, Training, WEIGHT_BOUND},
    layout::Layout,
};
use crate::{
    client::{Client, Conclusion},
    family::SlotsFound,
    logreg::{
        Twins,
        data::{Batches, Prepared},
        metrics::{metrics, scores},
        plain::{Activation, LearningRate, TrainOptions},
    },
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
    /// Iterations between two bootstrappings.
    pub bootstrap_every: usize,
    /// Degree of the polynomial that replaces the sigmoid.
    pub degree: usize,
    /// Half-width of the interval on which the polynomial fits.
    pub interval: f64,
    pub learning_rate: f64,
}

/// Training data and options.
#[derive(Clone, Debug)]
pub struct HelrClient {
    layout: Layout,
    options: Training,
    prepared: Prepared,
    batches: Batches,
    bootstrapped: bool,
}

impl HelrClient {
    /// Pairs the rows with a program made for them, or for rows of the same shape.
    pub fn new(program: &Helr, prepared: Prepared) -> Result<Self, String> {
        let options = program.training().clone();
        let (got, wanted) = ([prepared.train.cols, prepared.train.labels.len()], [options.columns, options.train_rows]);
        if got != wanted {
            let text = |[columns, rows]: [usize; 2]| format!("{rows} training images of {} pixels", columns - 1);
            return Err(format!("got {}; the program is for {}", text(got), text(wanted)));
        }
        let batches = Batches::new(&prepared.train, options.batch_rows);
        let bootstrapped = program.count_of_bootstraps() > 0;
        Ok(Self { layout: program.layout, options, prepared, batches, bootstrapped })
    }

    /// Program and client for prepared rows.
    ///
    /// # Panics
    /// Never: the program is made for these rows.
    pub fn sides(params: &Params, prepared: Prepared, options: Options) -> Result<(Helr, Self), HelrError> {
        let Options { batch_rows, iterations, bootstrap_every, degree, interval, learning_rate } = options;
        let rows = Promise { magnitude: 1.0, peak: 1.0, real: true }; // until they are packed
        let (columns, train_rows) = (prepared.train.cols, prepared.train.labels.len());
        let sizes = Training {
            columns,
            train_rows,
            batch_rows,
            iterations,
            bootstrap_every,
            degree,
            interval,
            learning_rate,
            rows,
        };
        let program = Helr::new(params, sizes)?;
        let client = Self::new(&program, prepared).expect("made for these rows");
        Ok((program.with_promise(client.promise(&program))?, client))
    }

    /// Public value bounds of the packed rows.
    fn promise(&self, program: &Helr) -> Promise {
        let of = |input| Promise::of(&self.values(input), self.layout.slots()).rounded();
        (1..2 * program.used_batches()).fold(of(0), |all, input| all.or_wider(of(input)))
    }
}

impl Client for HelrClient {
    type Scheme = Ckks;

    fn values(&self, input: usize) -> Vec<Vec<Complex64>> {
        let (rows, factor) = (&self.batches.at(input / 2).signed, 1.0 / self.options.interval);
        match input % 2 {
            0 => self.layout.pack(rows, factor),
            _ => self.layout.pack_for_gradient(rows, factor),
        }
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let Training { iterations, learning_rate, degree, interval, columns, .. } = self.options;
        let polynomial = crate::logreg::sigmoid::SigmoidPolynomial::least_squares(degree, interval);
        let (activation, learning_rate) = (Activation::Polynomial(polynomial), LearningRate::Constant(learning_rate));
        let twins = Twins::train(&self.batches, &TrainOptions { iterations, learning_rate, activation });
        let got: Vec<f64> = results[0][0].iter().take(columns).map(|z| z.re).collect();
        let test = &self.prepared.test;
        let (accuracy, mut details) = twins.judge(metrics(&scores(test, &got), &test.labels), test);
        let train_rows = self.prepared.train.labels.len();
        details.insert("rows".into(), json!({ "train": train_rows, "test": test.labels.len() }));
        details.insert("weights".into(), json!(got));
        let complex = |weights: &[f64]| weights.iter().map(|&w| w.into()).collect::<Vec<Complex64>>();
        Conclusion {
            found: SlotsFound {
                precision: Precision::of(&complex(&got), &complex(&twins.polynomial.weights.w)),
                accuracy: Some(accuracy),
            },
            details,
            warnings: twins.warnings(self.bootstrapped.then_some(WEIGHT_BOUND)),
        }
    }
}
