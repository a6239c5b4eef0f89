//! The encrypted program: training by Nesterov gradient descent on encrypted rows, then encrypted inference.
//!
//! Packing: a ciphertext holds `rows` signed rows z of `width` values (a power of two ≥ the columns), row after row. A
//! mini-batch is a batch of such ciphertexts. Weights are repeated in every row. The sum over a row lands in its first
//! slot. A mask cuts it out, divides by the sigmoid's interval in the same product, and the result is spread over the
//! row again. Sums over the rows rotate cyclically, so their result is repeated in every row. Source: \[Kim18\],
//! \[HELR\].
//!
//! Levels: the first iteration starts from zero weights and takes 1. Each later one takes 3 plus the depth of the
//! polynomial. Inference takes 1. The look-ahead v = (1−η)w + ηw' is never formed. Instead z is multiplied by (1−η) and
//! η, which costs no level because z must drop to the weights' level anyway.

use super::{
    data::Rounds,
    descent::{Descent, Iterations, MOST_ITERATIONS, MOST_NUMBERS, pair},
    plain::momentum,
    sigmoid::SigmoidPolynomial,
    walk::{Added, Walk},
};
use crate::program::{
    Array, Ckks, Details, Evaluation, Numbers, Observer, Program, SlotsInput as Input, State, fields,
};
use limbwise::{
    Complex64, Result,
    ckks::{Auto, BootstrapPlan, Ciphertext, Estimate, LevelPolicy, Promise, Series, bootstrap::Content, chebyshev},
    params::Params,
    scheme::Maps,
};
use limbwise_device::Device;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Advice that keeps the same parameters.
fn fewer(possible: usize) -> String {
    match possible {
        0 => "a polynomial of lower degree".into(),
        1 => "a single iteration".into(),
        most => format!("at most {most} iterations"),
    }
}

/// Why the program cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LogregError {
    #[error(
        "{iterations} iterations with degree {degree} need {needed} levels, the parameters have {levels}: choose a preset with more levels (limbwise params show) or {}", fewer(*possible)
    )]
    Levels { iterations: usize, degree: usize, needed: usize, levels: usize, possible: usize },
    #[error("a row of {cols} values does not fit {slots} slots: choose a larger ring or fewer features")]
    Width {
        /// Columns with the bias.
        cols: usize,
        slots: usize,
    },
    #[error("{what}: got 0, wanted at least 1 (was the description of the program changed?)")]
    Zero { what: &'static str },
    #[error("{what}: got {got}, wanted {wanted} (was the description of the program changed?)")]
    Range { what: &'static str, got: f64, wanted: &'static str },
}

/// Public metadata of a training: data sizes, options, and the value bounds that the client discloses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Columns, bias included.
    pub columns: usize,
    pub train_rows: usize,
    /// Test rows.
    pub test_rows: usize,
    pub batch_rows: usize,
    pub iterations: usize,
    /// Degree of the polynomial that replaces the sigmoid.
    pub degree: usize,
    /// Half-width of the interval on which the polynomial fits.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub interval: f64,
    /// The learning rate of every step. It discloses the largest eigenvalue of the rows' covariance.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub learning_rate: f64,
    /// Bound of the encrypted training rows.
    pub train: Promise,
    /// Bound of the encrypted test rows.
    pub test: Promise,
}

impl Training {
    fn check(&self) -> Result<(), LogregError> {
        let positive = [
            ("the number of iterations", self.iterations),
            ("the rows of a mini-batch", self.batch_rows),
            ("the training rows", self.train_rows),
            ("the held-back rows", self.test_rows),
            ("the columns", self.columns),
        ];
        if let Some(&(what, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(LogregError::Zero { what });
        }
        let count = |x: usize| x as f64;
        let sizes = self.columns.saturating_mul(self.train_rows.saturating_add(self.test_rows));
        let [degree, interval, rate] = Descent::checks([self.interval, self.learning_rate], self.degree);
        let checks = [
            (sizes <= MOST_NUMBERS, "rows and columns", count(sizes), "at most 2^30 numbers"),
            (self.iterations <= MOST_ITERATIONS, "iterations", count(self.iterations), "at most 1000"),
            degree,
            interval,
            rate,
            (self.train.is_possible(), "the size of training rows", self.train.peak, "positive numbers"),
            (self.test.is_possible(), "the size of held-back rows", self.test.peak, "positive numbers"),
        ];
        let wrong = checks.iter().find(|(right, ..)| !right);
        wrong.map_or(Ok(()), |&(_, what, got, wanted)| Err(LogregError::Range { what, got, wanted }))
    }
}

/// Packing of rows in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Columns, and their number padded to a power of two.
    pub(super) cols: usize,
    pub(super) width: usize,
    /// Rows in one ciphertext, a power of two.
    pub(super) rows: usize,
}

impl Layout {
    fn new(cols: usize, rows: usize, max_slots: usize) -> Result<Self, LogregError> {
        let width = cols.next_power_of_two();
        if width > max_slots {
            return Err(LogregError::Width { cols, slots: max_slots });
        }
        Ok(Self { cols, width, rows: rows.next_power_of_two().min(max_slots / width) })
    }

    pub(super) fn slots(self) -> usize {
        self.width * self.rows
    }

    fn ciphertexts(self, rows: usize) -> usize {
        rows.div_ceil(self.rows)
    }
}

#[derive(Clone, Debug)]
pub struct Logreg {
    pub(super) options: Training,
    pub(super) descent: Descent,
    pub(super) training: Layout,
    pub(super) testing: Layout,
}

/// Levels that training and inference take.
pub fn levels_needed(iterations: usize, degree: usize) -> usize {
    1 + iterations.saturating_sub(1) * levels_of_iteration(degree) + 1
}

/// Levels that one iteration after the first takes.
fn levels_of_iteration(degree: usize) -> usize {
    3 + chebyshev::depth(degree)
}

/// Bound of the weights at bootstrapping. The report warns if a clear twin exceeds it.
pub(super) const WEIGHT_BOUND: f64 = 4.0;

impl Logreg {
    /// The program of a training.
    pub fn new(params: &Params, options: Training) -> Result<Self, LogregError> {
        options.check()?;
        let Training { iterations, degree, columns: cols, .. } = options;
        let (needed, levels) = match params.bootstrapping() {
            // As many iterations as requested, if the levels suffice. Rows drop one level when they are multiplied by
            // factors, and the last iteration leaves one level for inference.
            Some(boot) => (1 + levels_of_iteration(degree) + 1, boot.levels),
            None => (levels_needed(iterations, degree), params.top_level()),
        };
        if needed > levels {
            let possible = (1..iterations).rev().find(|&i| levels_needed(i, degree) <= levels).unwrap_or(0);
            return Err(LogregError::Levels { iterations, degree, needed, levels, possible });
        }
        let options = Training { batch_rows: options.batch_rows.min(options.train_rows), ..options };
        let training = Layout::new(cols, options.batch_rows, params.max_slots())?;
        let testing = Layout::new(cols, options.test_rows, params.max_slots())?;
        // One layout serves both: the weights have the period of a row in training and in inference.
        let rows = training.rows.max(testing.rows);
        let (training, testing) = (Layout { rows, ..training }, Layout { rows, ..testing });
        let polynomial = SigmoidPolynomial::least_squares(degree, options.interval);
        let rounds = Rounds { rows: options.train_rows, batch_rows: options.batch_rows };
        let mut descent = Descent::new(params, rounds, iterations, options.learning_rate, polynomial);
        // Weights start one level below the top, because rows drop one level when they are multiplied by factors.
        descent.policy.top -= 1;
        Ok(Self { options, descent, training, testing })
    }

    /// The same program with other value bounds for training and test rows.
    ///
    /// # Errors
    /// [`LogregError::Range`] for impossible bounds.
    pub fn with_promises(&self, [train, test]: [Promise; 2]) -> Result<Self, LogregError> {
        let options = Training { train, test, ..self.options.clone() };
        options.check()?;
        Ok(Self { options, ..self.clone() })
    }

    /// Public metadata of the program.
    pub fn training(&self) -> &Training {
        &self.options
    }

    /// Number of mini-batches that the iterations use.
    pub(super) fn used_batches(&self) -> usize {
        self.descent.used_batches()
    }

    /// Levels that iteration t takes, and levels that it must leave: 1 for inference after the last iteration, else 0.
    fn levels(&self, t: usize) -> [usize; 2] {
        [levels_of_iteration(self.options.degree), usize::from(t + 1 == self.options.iterations)]
    }

    /// Bootstrappings of the whole training.
    pub(super) fn count_of_bootstraps(&self) -> usize {
        let LevelPolicy { top, .. } = self.descent.policy;
        let stages = (1..self.options.iterations).map(|t| self.levels(t));
        self.descent.policy.bootstraps_on(top, stages).expect("checked when it was built")
    }

    /// Bootstraps both weight vectors as one batch of sparse messages: their slots repeat with the period of a row. They are
    /// scaled down before where a division is left to do it, because the sine's error grows with the fifth power of a value.
    fn refreshed<D: Device>(&self, auto: &Auto<'_, D>, weights: [&Ciphertext<D>; 2]) -> Result<[Ciphertext<D>; 2]> {
        let (width, slots) = (self.training.width, self.training.slots());
        let floor = self.descent.policy.floor;
        let fit = if weights.iter().all(|w| w.level > floor) { WEIGHT_BOUND } else { 1.0 };
        let few = weights.map(|w| {
            let low = auto.scale_to(w, 1.0 / fit, floor)?;
            Ok::<_, limbwise::Error>(low.with_slots(width).bounded_by(WEIGHT_BOUND / fit))
        });
        let [w, before] = few;
        let both = auto.bootstrap(&auto.eval.stack(&[w?, before?]))?;
        let both = auto.scale_to(&both, fit, both.level - 1)?.bounded_by(WEIGHT_BOUND);
        // A gradient is a sum over all rows.
        Ok([0, 1].map(|i| auto.eval.split(&both, i, i + 1).as_copies(slots)))
    }

    /// `σ̂(interval·u)·γ_t/|B_t|` as a series in u.
    fn pull(&self, t: usize) -> Vec<f64> {
        let (rate, interval) = (self.descent.rate(t), self.descent.polynomial.interval);
        let mut series =
            Series::from_monomials(&self.descent.polynomial.coefficients, -interval, interval).coefficients;
        // σ̂ − ½ is odd: even coefficients are rounding errors of the interpolation and would cost products.
        series.iter_mut().enumerate().filter(|(k, _)| *k > 0 && k % 2 == 0).for_each(|(_, c)| *c = 0.0);
        series.iter_mut().for_each(|c| *c *= rate);
        series
    }

    /// The sum over each row's values, in its first slot. Other slots hold partial sums.
    fn row_sums<D: Device>(&self, auto: &Auto<'_, D>, x: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        auto.inner_sum(x, 1, self.training.width)
    }

    /// One iteration after the first: computes the next weights from the last two. The error estimate is the walk's.
    fn iterate<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        (z, t): (&Ciphertext<D>, usize),
        [w, before]: [&Ciphertext<D>; 2],
        walk: Walk,
    ) -> Result<(Ciphertext<D>, Walk)> {
        let eta = momentum(t - 1);
        let level = w.level;
        // z·v = (1−η)z·w + ηz·w'
        let mut products = auto.mul(&auto.scale_to(z, 1.0 - eta, level)?, w)?;
        if t > 1 {
            products = auto.add(&products, &auto.mul(&auto.scale_to(z, eta, level)?, before)?)?;
        }
        let sums = self.row_sums(auto, &products)?;
        let interval = self.descent.polynomial.interval;
        let mask: Vec<Complex64> = (0..self.training.slots())
            .map(|slot| if slot % self.training.width == 0 { Complex64::from(-1.0 / interval) } else { 0.0.into() })
            .collect();
        let width = self.training.width;
        let u = auto.inner_sum(&auto.mul_values(&sums, &mask)?, -1, width)?.bounded_by(1.0);
        let pull = auto.chebyshev_unit(&u, &self.pull(t))?;
        let gradient = self.sum_of_rows(auto, &auto.mul(&pull, z)?)?;
        let mut terms = vec![(1.0, &gradient), (1.0 - eta, w)];
        terms.extend((t > 1).then_some((eta, before)));
        // The first gradient is taken at nearly exact weights: its error is the noise of every gradient, as encrypted.
        let walk = if t == 1 { walk.adding(gradient.estimate.error()) } else { walk };
        let walk = walk.after(-eta, Added { unit: 1.0, ahead: 0.0, before: 0.0 });
        let mut next = auto.settle(&auto.weighted_sum(&terms)?)?;
        let Estimate { magnitude, peak, real, .. } = next.estimate;
        next.estimate = Estimate::exact(magnitude).with_peak(peak, real).with_error(walk.of_weights());
        Ok((next, walk))
    }

    /// The sum of all rows of a mini-batch, repeated in every row.
    fn sum_of_rows<D: Device>(&self, auto: &Auto<'_, D>, x: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let one = auto.eval.batch_sum(&auto.settle(x)?)?;
        auto.inner_sum(&one, self.training.width as i64, self.training.rows)
    }
}

impl Logreg {
    /// Bootstrapping plan, if the program bootstraps.
    pub fn bootstrapping(&self) -> Option<BootstrapPlan> {
        let needed = self.count_of_bootstraps() > 0;
        needed.then(|| BootstrapPlan { content: Content::Real, ..BootstrapPlan::fastest(self.training.width) })
    }
}

impl Program for Logreg {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "logreg"
    }

    fn params(&self) -> &Params {
        &self.descent.params
    }

    fn inputs(&self) -> Vec<Input> {
        let Training { batch_rows, test_rows, train, test, .. } = self.options;
        let input = |name: String, layout: Layout, rows, bounds| {
            let (batch, packing) = (layout.ciphertexts(rows), self.descent.packing(layout.slots()));
            Input { name, batch, packing, bounds }
        };
        let batches = 1..=self.used_batches();
        let batches = batches.map(|t| input(format!("mini-batch {t}"), self.training, batch_rows, train));
        batches.chain([input("held-back rows".into(), self.testing, test_rows, test)]).collect()
    }

    fn model(&self) -> Maps<'_> {
        Maps { maps: Vec::new(), bootstrapping: self.bootstrapping() }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs, observer, journal } = on;
        let auto = &means.auto;
        let iterations = self.options.iterations;
        let (test, batches) = inputs.split_last().expect("the held-back rows are an input");
        let state = self.descent.run(self, auto, batches, observer, journal)?;
        observer.step("inference", iterations, iterations + 1);
        let _region = auto.eval.device().region("inference", 0);
        let w = pair(&state)?[0].clone();
        let scores = self.row_sums(auto, &auto.mul(test, &w)?)?;
        Ok(vec![w, scores])
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let weights: Vec<Complex64> = results[0][0].iter().take(self.training.cols).copied().collect();
        let scores: Vec<Complex64> = self.scores(&results[1]).collect();
        let array = |name: &str, values: Vec<Complex64>| Array {
            name: name.into(),
            shape: vec![values.len()],
            values,
            numbers: Numbers::Real,
        };
        vec![array("weights", weights), array("scores", scores)]
    }

    fn details(&self) -> Details {
        fields(json!({
            "iterations": self.options.iterations,
            "bootstraps": self.count_of_bootstraps(),
            "rows": { "train": self.options.train_rows, "test": self.options.test_rows },
            "features": self.options.columns - 1,
        }))
    }

    fn results(&self) -> usize {
        2
    }
}

impl<D: Device> Iterations<D> for Logreg {
    const INPUTS: usize = 1;

    /// From zero weights σ̂ is σ̂(0) everywhere: the first step is a multiple of the sum of rows.
    fn first(&self, auto: &Auto<'_, D>, rows: &[Ciphertext<D>], observer: &mut dyn Observer) -> Result<State<D>> {
        observer.step("iteration 1", 0, self.options.iterations + 1);
        let _region = auto.eval.device().region("iteration", 1);
        let sum = self.sum_of_rows(auto, &rows[0])?;
        let w = auto.scale_to(&sum, self.descent.rate(0) * self.descent.polynomial.at(0.0), sum.level - 1)?;
        let walk = Walk::START.after(0.0, Added { unit: 0.0, ahead: w.estimate.error(), before: 0.0 });
        Ok(State { step: 1, ciphertexts: vec![w.clone(), w], numbers: walk.numbers() })
    }

    /// The weights after iteration t and after iteration t − 1.
    fn next(
        &self,
        auto: &Auto<'_, D>,
        rows: &[Ciphertext<D>],
        state: &State<D>,
        observer: &mut dyn Observer,
    ) -> Result<State<D>> {
        let (t, total, [w, before]) = (state.step, self.options.iterations + 1, pair(state)?);
        let mut walk = Walk::of(&state.numbers).ok_or(limbwise::Error::State)?;
        let start = self.descent.policy.start(w.level, self.levels(t).iter().sum());
        let [w, before] = if start.is_some_and(|start| start.bootstrap) {
            observer.step(&format!("bootstrap before {}", t + 1), t, total);
            let brought = w.estimate.error();
            let fresh = self.refreshed(auto, [w, before])?;
            walk = walk.disturbed((fresh[0].estimate.error().powi(2) - brought.powi(2)).max(0.0).sqrt());
            fresh
        } else {
            [w.clone(), before.clone()]
        };
        observer.step(&format!("iteration {}", t + 1), t, total);
        let _region = auto.eval.device().region("iteration", u32::try_from(t + 1).unwrap_or(u32::MAX));
        let (next, walk) = self.iterate(auto, (&rows[0], t), [&w, &before], walk)?;
        Ok(State { step: t + 1, ciphertexts: vec![next, w], numbers: walk.numbers() })
    }
}

impl Logreg {
    /// The scores of the test rows from decrypted slots.
    pub(super) fn scores<'a>(&self, slots: &'a [Vec<Complex64>]) -> impl Iterator<Item = Complex64> + 'a {
        slots.iter().flatten().step_by(self.testing.width).take(self.options.test_rows).copied()
    }
}
