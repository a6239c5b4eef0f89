//! The encrypted program: training by Nesterov gradient descent on encrypted rows, then encrypted inference.
//!
//! Packing: a ciphertext holds `rows` signed rows z of `width` values (a power of two ≥ the columns), row after row; a
//! mini-batch is a batch of such ciphertexts. Weights are repeated in every row. Sums over a row fall into its first
//! slot, are cut out by a mask (which also divides by the sigmoid's interval, for nothing) and spread again; sums over
//! the rows run round the ciphertext, so they come out repeated. Source: \[Kim18\], \[HELR\].
//!
//! Levels: the first iteration starts from zero weights and takes 1; each later one takes 3 and the depth of the
//! polynomial; inference 1. The look-ahead v = (1−η)w + ηw' is never formed: (1−η)z and ηz cost no level, because z
//! must fall to the weights' level anyway.

use super::{
    data::{Batches, LabelledRows, Prepared},
    metrics::{metrics, scores},
    plain::{Activation, TrainOptions, Trained, momentum, train},
    sigmoid::SigmoidPolynomial,
};
use crate::program::{Accuracy, Conclusion, Input, Observer, Program};
use limbwise::{
    Complex64, Result,
    ckks::{
        Auto, BootstrapPlan, Ciphertext, LinearTransform, Packing, Precision, Series, bootstrap::Content, chebyshev,
    },
    params::{Bootstrapping, Params},
};
use limbwise_device::Device;
use serde_json::json;

/// The way out with the same parameters.
fn fewer(possible: usize) -> String {
    match possible {
        0 => "a polynomial of lower degree".into(),
        1 => "a single iteration".into(),
        most => format!("at most {most} iterations"),
    }
}

/// Why a program cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogregError {
    /// Too few levels.
    #[error(
        "{iterations} iterations with degree {degree} need {needed} levels, the parameters have {levels}: choose a preset with more levels (limbwise params show) or {}", fewer(*possible)
    )]
    Levels {
        /// Iterations asked for.
        iterations: usize,
        /// Degree of the polynomial.
        degree: usize,
        /// Levels needed.
        needed: usize,
        /// Levels there are.
        levels: usize,
        /// Iterations that fit.
        possible: usize,
    },
    /// A row wider than a ciphertext.
    #[error("a row of {cols} values does not fit {slots} slots: choose a larger ring or fewer features")]
    Width {
        /// Columns with the bias.
        cols: usize,
        /// Slots of the ring.
        slots: usize,
    },
    /// Nothing to do.
    #[error("{what} must be at least 1")]
    Zero {
        /// Which option.
        what: &'static str,
    },
}

/// How rows lie in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    /// Columns, and the power of two they are padded to.
    cols: usize,
    width: usize,
    /// Rows in one ciphertext, a power of two.
    rows: usize,
}

impl Layout {
    fn new(cols: usize, rows: usize, max_slots: usize) -> Result<Self, LogregError> {
        let width = cols.next_power_of_two();
        if width > max_slots {
            return Err(LogregError::Width { cols, slots: max_slots });
        }
        Ok(Self { cols, width, rows: rows.next_power_of_two().min(max_slots / width) })
    }

    fn slots(self) -> usize {
        self.width * self.rows
    }

    /// Row-major values, cut into vectors of slots.
    fn pack(self, values: &[f64]) -> Vec<Vec<Complex64>> {
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

/// The workload with its data.
#[derive(Debug)]
pub struct Logreg {
    params: Params,
    prepared: Prepared,
    batches: Batches,
    options: TrainOptions,
    polynomial: SigmoidPolynomial,
    training: Layout,
    testing: Layout,
}

/// Levels that training and inference take.
#[must_use]
pub fn levels_needed(iterations: usize, degree: usize) -> usize {
    1 + iterations.saturating_sub(1) * levels_of_iteration(degree) + 1
}

/// Levels that one iteration after the first takes.
fn levels_of_iteration(degree: usize) -> usize {
    3 + chebyshev::depth(degree)
}

/// What the weights are promised to stay below where they are bootstrapped; a clear twin that leaves it is a warning.
const WEIGHT_BOUND: f64 = 4.0;

impl Logreg {
    /// The program for prepared data; `batch_rows` of them a mini-batch.
    ///
    /// # Errors
    /// [`LogregError`] where data, options and parameters do not go together.
    pub fn new(
        params: &Params,
        prepared: Prepared,
        batch_rows: usize,
        iterations: usize,
        polynomial: SigmoidPolynomial,
    ) -> Result<Self, LogregError> {
        for (what, value) in [("the number of iterations", iterations), ("the rows of a mini-batch", batch_rows)] {
            if value == 0 {
                return Err(LogregError::Zero { what });
            }
        }
        let degree = polynomial.coefficients.len() - 1;
        let (needed, levels) = match params.bootstrapping() {
            // As many as wanted, if each finds its levels: rows that are multiplied with factors fall by one first, and
            // the last iteration leaves one for inference.
            Some(boot) => (1 + levels_of_iteration(degree) + 1, boot.levels),
            None => (levels_needed(iterations, degree), params.top_level()),
        };
        if needed > levels {
            let possible = (1..iterations).rev().find(|&i| levels_needed(i, degree) <= levels).unwrap_or(0);
            return Err(LogregError::Levels { iterations, degree, needed, levels, possible });
        }
        let batch_rows = batch_rows.min(prepared.train.labels.len());
        let cols = prepared.train.cols;
        let options = TrainOptions {
            iterations,
            activation: Activation::Polynomial(polynomial.clone()),
            ..TrainOptions::for_rows(&prepared.train)
        };
        let training = Layout::new(cols, batch_rows, params.max_slots())?;
        let testing = Layout::new(cols, prepared.test.labels.len(), params.max_slots())?;
        // Weights are repeated with the period of a row in either, so one layout serves both.
        let rows = training.rows.max(testing.rows);
        let (training, testing) = (Layout { rows, ..training }, Layout { rows, ..testing });
        let batches = Batches::new(&prepared.train, batch_rows);
        Ok(Self { params: params.clone(), prepared, batches, options, polynomial, training, testing })
    }

    fn used_batches(&self) -> usize {
        self.batches.count().min(self.options.iterations)
    }

    fn packing(&self, layout: Layout) -> Packing {
        let level = self.params.user_level();
        Packing { slots: layout.slots(), level, scale: self.params.scale(level) }
    }

    /// The level that values may not leave: that of bootstrapping's input.
    fn floor(&self) -> usize {
        self.params.bootstrapping().map_or(0, Bootstrapping::input_level)
    }

    /// Whether the weights are bootstrapped before iteration t, if they are at this level by then.
    fn bootstraps(&self, level: usize, t: usize) -> bool {
        let after = usize::from(t + 1 == self.options.iterations); // inference
        let degree = self.polynomial.coefficients.len() - 1;
        self.params.bootstrapping().is_some() && level < self.floor() + levels_of_iteration(degree) + after
    }

    /// Bootstrappings of the whole training.
    fn count_of_bootstraps(&self) -> usize {
        let degree = self.polynomial.coefficients.len() - 1;
        let (mut level, mut count) = (self.params.user_level() - 1, 0);
        for t in 1..self.options.iterations {
            if self.bootstraps(level, t) {
                (level, count) = (self.params.user_level() - 1, count + 1);
            }
            level -= levels_of_iteration(degree);
        }
        count
    }

    /// Both weights with all levels again: their rows repeat, so they are messages of few slots, and go as one batch.
    fn refreshed<D: Device>(&self, auto: &Auto<'_, D>, weights: [&Ciphertext<D>; 2]) -> Result<[Ciphertext<D>; 2]> {
        let (width, slots) = (self.training.width, self.training.slots());
        let few = weights.map(|w| {
            let low = auto.scale_to(w, 1.0, self.floor())?;
            Ok::<_, limbwise::Error>(low.with_slots(width).bounded_by(WEIGHT_BOUND))
        });
        let [w, before] = few;
        let both = auto.bootstrap(&auto.eval.stack(&[w?, before?]))?;
        let both = auto.scale_to(&both, 1.0, both.level - 1)?;
        Ok([0, 1].map(|i| auto.eval.split(&both, i, i + 1).with_slots(slots)))
    }

    /// `σ̂(interval·u)·γ_t/|B_t|` as a series in u.
    fn pull(&self, t: usize) -> Vec<f64> {
        let rate = self.options.learning_rate.at(t) / self.batches.at(t).real_rows as f64;
        let interval = self.polynomial.interval;
        let mut series = Series::from_monomials(&self.polynomial.coefficients, -interval, interval).coefficients;
        // σ̂ − ½ is odd: what interpolation leaves in the even terms is rounding, and would cost products.
        series.iter_mut().enumerate().filter(|(k, _)| *k > 0 && k % 2 == 0).for_each(|(_, c)| *c = 0.0);
        series.iter_mut().for_each(|c| *c *= rate);
        series
    }

    /// The sum over each row's values, in its first slot; other slots hold parts of sums.
    fn row_sums<D: Device>(&self, auto: &Auto<'_, D>, x: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        auto.inner_sum(x, 1, self.training.width)
    }

    /// One iteration after the first: the next weights from these and those before.
    fn iterate<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        z: &Ciphertext<D>,
        t: usize,
        [w, before]: [&Ciphertext<D>; 2],
    ) -> Result<Ciphertext<D>> {
        let eta = momentum(t - 1);
        let level = w.level;
        // z·v = (1−η)z·w + ηz·w'
        let mut products = auto.mul(&auto.scale_to(z, 1.0 - eta, level)?, w)?;
        if t > 1 {
            products = auto.add(&products, &auto.mul(&auto.scale_to(z, eta, level)?, before)?)?;
        }
        let sums = self.row_sums(auto, &products)?;
        let interval = self.polynomial.interval;
        let mask: Vec<Complex64> = (0..self.training.slots())
            .map(|slot| if slot % self.training.width == 0 { Complex64::from(-1.0 / interval) } else { 0.0.into() })
            .collect();
        let width = self.training.width;
        let u = auto.inner_sum(&auto.mul_values(&sums, &mask)?, -1, width)?.bounded_by(1.0);
        let pull = auto.chebyshev_unit(&u, &self.pull(t))?;
        let gradient = self.sum_of_rows(auto, &auto.mul(&pull, z)?)?;
        let mut terms = vec![(1.0, &gradient), (1.0 - eta, w)];
        terms.extend((t > 1).then_some((eta, before)));
        auto.settle(&auto.weighted_sum(&terms)?)
    }

    /// The sum of all rows of a mini-batch, repeated in every row.
    fn sum_of_rows<D: Device>(&self, auto: &Auto<'_, D>, x: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let one = auto.eval.batch_sum(&auto.settle(x)?)?;
        auto.inner_sum(&one, self.training.width as i64, self.training.rows)
    }
}

impl Program for Logreg {
    fn name(&self) -> &'static str {
        "logreg"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        let packing = self.packing(self.training);
        let mut inputs: Vec<Input> = (0..self.used_batches())
            .map(|t| {
                let values = self.training.pack(&self.batches.at(t).signed);
                Input { name: format!("mini-batch {}", t + 1), values, packing }
            })
            .collect();
        let values = self.testing.pack(&self.prepared.test.features);
        inputs.push(Input { name: "held-back rows".into(), values, packing: self.packing(self.testing) });
        inputs
    }

    fn bootstrapping(&self) -> Option<BootstrapPlan> {
        let needed = self.count_of_bootstraps() > 0;
        needed.then(|| BootstrapPlan { content: Content::Real, ..BootstrapPlan::fastest(self.training.width) })
    }

    fn evaluate<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        _: &[LinearTransform<D>],
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Ciphertext<D>>> {
        let iterations = self.options.iterations;
        let (test, batches) = inputs.split_last().expect("the held-back rows are an input");
        observer.step("iteration 1", 0, iterations + 1);
        // From zero weights σ̂ is σ̂(0) everywhere: the first step is a multiple of the sum of rows.
        let mut w = {
            let _region = auto.eval.device().region("iteration", 1);
            let sum = self.sum_of_rows(auto, &batches[0])?;
            let rate = self.options.learning_rate.at(0) / self.batches.at(0).real_rows as f64;
            auto.scale_to(&sum, rate * self.polynomial.at(0.0), sum.level - 1)?
        };
        let mut before = w.clone();
        for t in 1..iterations {
            if self.bootstraps(w.level, t) {
                observer.step(&format!("bootstrap before {}", t + 1), t, iterations + 1);
                [w, before] = self.refreshed(auto, [&w, &before])?;
            }
            observer.step(&format!("iteration {}", t + 1), t, iterations + 1);
            let _region = auto.eval.device().region("iteration", u32::try_from(t + 1).unwrap_or(u32::MAX));
            let next = self.iterate(auto, &batches[t % batches.len()], t, [&w, &before])?;
            before = std::mem::replace(&mut w, next);
        }
        observer.step("inference", iterations, iterations + 1);
        let _region = auto.eval.device().region("inference", 0);
        let scores = self.row_sums(auto, &auto.mul(test, &w)?)?;
        Ok(vec![w, scores])
    }

    fn conclude(&self, results: &[Vec<Vec<Complex64>>]) -> Conclusion {
        let twin = train(&self.batches, &self.options);
        let truth = train(&self.batches, &TrainOptions { activation: Activation::Sigmoid, ..self.options.clone() });
        let test = &self.prepared.test;
        let (width, cols) = (self.training.width, self.training.cols);
        let expected: Vec<Complex64> = (0..self.training.slots())
            .map(|slot| twin.weights.w.get(slot % width).copied().unwrap_or(0.0).into())
            .collect();
        let weights = &results[0][0];
        let got: Vec<f64> = results[1].iter().flatten().step_by(width).take(test.labels.len()).map(|z| z.re).collect();
        let encrypted = metrics(&got, &test.labels);
        let clear = metrics(&scores(test, &twin.weights.w), &test.labels);
        let sigmoid = metrics(&scores(test, &truth.weights.w), &test.labels);
        let details = json!({
            "iterations": self.options.iterations,
            "bootstraps": self.count_of_bootstraps(),
            "rows": { "train": self.prepared.train.labels.len(), "test": test.labels.len() },
            "features": cols - 1,
            "auc": { "encrypted": encrypted.auc, "clear": clear.auc },
            "true_sigmoid": { "accuracy": sigmoid.accuracy, "auc": sigmoid.auc },
            "largest_sigmoid_input": twin.largest_input(),
            "weights": weights.iter().take(cols).map(|z| z.re).collect::<Vec<f64>>(),
            "columns": self.prepared.columns,
        });
        Conclusion {
            precision: Precision::of(weights, &expected),
            accuracy: Some(Accuracy { encrypted: encrypted.accuracy, clear: clear.accuracy }),
            details: details.as_object().cloned().unwrap_or_default(),
            warnings: self.warnings(&twin),
        }
    }
}

impl Logreg {
    fn warnings(&self, twin: &Trained) -> Vec<String> {
        let left = twin.left_interval(&self.options.activation);
        let warning = left.map(|t| {
            format!(
                "iteration {} asked the polynomial sigmoid for {:.1}, outside [−{2}, {2}]: the weights are not to be trusted; widen the interval or lower the learning rate",
                t + 1,
                twin.max_input[t],
                self.polynomial.interval
            )
        });
        let largest = twin.weights.w.iter().fold(0.0f64, |most, w| most.max(w.abs()));
        let wrapped = (self.count_of_bootstraps() > 0 && largest > WEIGHT_BOUND).then(|| {
            format!("a weight reached {largest:.1}, beyond the {WEIGHT_BOUND} that bootstrapping was promised: the weights are not to be trusted")
        });
        warning.into_iter().chain(wrapped).collect()
    }

    /// Held-back rows, for reports.
    #[must_use]
    pub fn test_rows(&self) -> &LabelledRows {
        &self.prepared.test
    }
}
