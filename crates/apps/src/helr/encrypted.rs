//! The encrypted program: Nesterov gradient descent on mini-batches in blocks, with sparse bootstrapping of the
//! weights.
//!
//! One iteration, with rows z divided by the interval of the polynomial, so that u = z·v is in [−1, 1]:
//!
//! 1. u: the products of all ciphertexts with the rotated weights, summed before relinearization, and a sum over each
//!    place. The sum is correct in the first slot of each place; other slots mix two rows.
//! 2. p = σ̂(−u)·γ/|B| as a polynomial whose coefficients are zero outside those slots: the mask costs no level.
//! 3. p is copied to as many slots as a place has, rotated, and multiplied by all ciphertexts of the second packing. The
//!    products are summed before relinearization, and then over the rows: the gradient, with period F like the weights.
//!
//! Levels: 1 + depth of the polynomial + 1. v = (1−η)w' + ηw and its constants take no level: the terms added to the
//! gradient drop to its level anyway, and the polynomial's coefficients contain the gradient's factor 1−η. So the state
//! is v and (1−η)w'. The same coefficients contain the factor that scales the state for bootstrapping. Source:
//! \[HELR\]; Differs: packing ([`super::layout`]), and 4 levels for degree 3 instead of 5.
//!
//! Bootstrapping: v + i(1−η)w' is one message of F complex slots.

use super::layout::Layout;
use crate::{
    logreg::{
        data::Rounds,
        descent::{Descent, Iterations, MOST_ITERATIONS, MOST_NUMBERS, pair},
        plain::momentum,
        sigmoid::SigmoidPolynomial,
        walk::{Added, Walk},
    },
    program::{Array, Ckks, Details, Evaluation, Numbers, Observer, Program, SlotsInput as Input, State, fields},
    way::Way,
};
use limbwise::{
    Complex64, Result,
    ckks::{Auto, BootstrapPlan, Ciphertext, Estimate, LevelPolicy, Packing, Promise, chebyshev},
    params::Params,
    scheme::Maps,
};
use limbwise_device::{Device, OpenRegion};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::f64::consts::SQRT_2;

/// Why the program cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HelrError {
    #[error(
        "{between} iterations of {each} levels between two bootstrappings, the parameters have {levels} levels: choose --bootstrap-every {} or a preset with more levels (limbwise params show)", levels / each
    )]
    Levels { between: usize, each: usize, levels: usize },
    /// Not even one iteration fits, or the parameters lack the bootstrapping that the options need.
    #[error(
        "{iterations} iterations of {each} levels take bootstrapping, or {needed} levels; the parameters have {levels} and no bootstrapping: choose boot-few-words, or fewer iterations"
    )]
    NoBootstrapping { iterations: usize, each: usize, needed: usize, levels: usize },
    #[error(
        "mini-batches of {rows} rows of {columns} values: a row, and one value of each row, must fit {slots} slots; choose smaller --batch or a larger ring"
    )]
    Slots { columns: usize, rows: usize, slots: usize },
    #[error("{what}: got {got}, wanted {wanted} (was the description of the program changed?)")]
    Range { what: &'static str, got: f64, wanted: &'static str },
}

/// Public metadata of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Columns, bias included.
    pub columns: usize,
    pub train_rows: usize,
    pub batch_rows: usize,
    pub iterations: usize,
    /// Iterations between two bootstrappings.
    pub bootstrap_every: usize,
    /// Degree of the polynomial that replaces the sigmoid.
    pub degree: usize,
    /// Half-width of the interval on which the polynomial fits.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub interval: f64,
    /// The learning rate of every step.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub learning_rate: f64,
    /// Bound of the encrypted rows.
    pub rows: Promise,
}

impl Training {
    fn check(&self) -> Result<(), HelrError> {
        let count = |x: usize| x as f64;
        let numbers = self.columns.saturating_mul(self.train_rows.max(self.batch_rows));
        let [degree, interval, rate] = Descent::checks([self.interval, self.learning_rate], self.degree);
        let (iterations, every) = (self.iterations, self.bootstrap_every);
        let checks = [
            ((1..=MOST_NUMBERS).contains(&numbers), "rows and columns", count(numbers), "1 to 2^30 numbers"),
            (self.batch_rows >= 1, "the rows of a mini-batch", count(self.batch_rows), "at least 1"),
            (self.train_rows >= 1, "the training rows", count(self.train_rows), "at least 1"),
            ((1..=MOST_ITERATIONS).contains(&iterations), "iterations", count(iterations), "1 to 1000"),
            (every >= 1, "iterations between bootstrappings", count(every), "at least 1"),
            degree,
            interval,
            rate,
            (self.rows.is_possible(), "the size of rows", self.rows.peak, "positive numbers"),
        ];
        let wrong = checks.iter().find(|(right, ..)| !right);
        wrong.map_or(Ok(()), |&(_, what, got, wanted)| Err(HelrError::Range { what, got, wanted }))
    }

    fn depth(&self) -> usize {
        2 + chebyshev::depth(self.degree)
    }

    /// Number of finished iterations at the next bootstrapping after `done` iterations, or at the end.
    fn next_stop(&self, done: usize) -> usize {
        ((done / self.bootstrap_every + 1) * self.bootstrap_every).min(self.iterations)
    }

    /// Whether the weights are bootstrapped after this many iterations.
    fn stops(&self, done: usize) -> bool {
        done < self.iterations && done.is_multiple_of(self.bootstrap_every)
    }
}

/// Bound of the weights. The report warns if a clear twin exceeds it. The weights are divided by it before
/// bootstrapping and multiplied by it afterwards, which is free.
pub(super) const WEIGHT_BOUND: f64 = 8.0;

#[derive(Clone, Debug)]
pub struct Helr {
    options: Training,
    descent: Descent,
    pub(super) layout: Layout,
    plan: BootstrapPlan,
}

impl Helr {
    /// The program of a training.
    pub fn new(params: &Params, options: Training) -> Result<Self, HelrError> {
        options.check()?;
        let options = Training { batch_rows: options.batch_rows.min(options.train_rows), ..options };
        let (each, iterations) = (options.depth(), options.iterations);
        let between = options.bootstrap_every.min(iterations);
        let policy = LevelPolicy::of(params);
        let (levels, fits) = (policy.levels(), policy.start(policy.top, each * between).is_some());
        if policy.bootstraps && !fits {
            return Err(HelrError::Levels { between, each, levels });
        }
        if !policy.bootstraps && (between < iterations || !fits) {
            return Err(HelrError::NoBootstrapping { iterations, each, needed: each * iterations, levels });
        }
        let layout = Layout::new(options.columns, options.batch_rows, params.max_slots())?;
        let polynomial = SigmoidPolynomial::least_squares(options.degree, options.interval);
        let plan = BootstrapPlan::fastest(layout.features);
        let rounds = Rounds { rows: options.train_rows, batch_rows: options.batch_rows };
        let descent = Descent::new(params, rounds, iterations, options.learning_rate, polynomial);
        Ok(Self { options, descent, layout, plan })
    }

    /// The same program with another bootstrapping plan of the same slots and content.
    #[must_use]
    pub fn with(&self, plan: BootstrapPlan) -> Self {
        let BootstrapPlan { slots, content, .. } = self.plan;
        Self { plan: BootstrapPlan { slots, content, ..plan }, ..self.clone() }
    }

    /// The same program with another value bound for the rows.
    ///
    /// # Errors
    /// [`HelrError::Range`] for impossible bounds.
    pub fn with_promise(&self, rows: Promise) -> Result<Self, HelrError> {
        let options = Training { rows, ..self.options.clone() };
        options.check()?;
        Ok(Self { options, ..self.clone() })
    }

    /// Public metadata of the program.
    pub fn training(&self) -> &Training {
        &self.options
    }

    /// Bootstrapping plan, if the program bootstraps.
    pub fn plan(&self) -> BootstrapPlan {
        self.plan
    }

    /// Number of mini-batches that the iterations use.
    pub(super) fn used_batches(&self) -> usize {
        self.descent.used_batches()
    }

    /// Bootstrappings of the whole training.
    pub(super) fn count_of_bootstraps(&self) -> usize {
        (self.options.iterations - 1) / self.options.bootstrap_every
    }

    /// Level of the weights at the start of the iterations from `done` to the next bootstrapping or the end.
    fn level(&self, done: usize) -> usize {
        self.descent.policy.above((self.options.next_stop(done) - done) * self.options.depth())
    }

    /// Level of the weights after the first iteration.
    fn first_level(&self) -> usize {
        if self.options.stops(1) { self.descent.policy.floor } else { self.level(1) }
    }

    /// Level of the rows of the second packing: where they are used highest.
    fn gradient_level(&self) -> usize {
        let starts = (1..self.options.iterations).filter(|&t| t == 1 || self.options.stops(t));
        let after_sigmoid = starts.map(|t| self.level(t) + 1 - self.options.depth());
        after_sigmoid.max().unwrap_or(0).max(self.first_level() + 1)
    }

    /// Scale factor of the state after iteration t. It fits bootstrapping if a bootstrapping follows.
    fn fit(&self, t: usize) -> f64 {
        if self.options.stops(t + 1) { 1.0 / WEIGHT_BOUND } else { 1.0 }
    }

    /// Factor by which w' is scaled up in the state after iteration t: the gradient carries this factor for v'. The
    /// last iteration leaves w' itself.
    fn lead(&self, t: usize) -> f64 {
        if t + 1 == self.options.iterations { 1.0 } else { 1.0 - momentum(t) }
    }

    /// Factor of each row's gradient at iteration t: learning rate, mini-batch size, interval, and [`Self::lead`].
    fn rate(&self, t: usize) -> f64 {
        self.descent.rate(t) * self.descent.polynomial.interval * self.lead(t) * self.fit(t)
    }

    /// A ciphertext rotated by each number of blocks, as a batch.
    fn turned<D: Device>(&self, auto: &Auto<'_, D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let steps: Vec<i64> = (1..self.layout.ciphertexts).map(|k| (k * self.layout.block()) as i64).collect();
        let a = auto.settle(a)?;
        let turned = auto.eval.rotations(&a, &steps)?;
        Ok(auto.eval.stack(&std::iter::once(a).chain(turned).collect::<Vec<_>>()))
    }

    /// `Σ_{i < count} rotate(a, i·stride)`.
    fn sum<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        a: &Ciphertext<D>,
        stride: usize,
        count: usize,
    ) -> Result<Ciphertext<D>> {
        auto.eval.inner_sum_in(self.plan.rotations.sum_steps(), &auto.settle(a)?, stride as i64, count)
    }

    /// The gradient, with period F, from the products with the rows of the second packing.
    fn gradient<D: Device>(&self, auto: &Auto<'_, D>, products: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let Layout { features, .. } = self.layout;
        self.sum(auto, &auto.eval.batch_sum(products)?, features, self.layout.slots() / features)
    }

    /// `σ̂(−interval·u)` times the rate in the first slot of each place, zero in all other slots.
    fn pull<D: Device>(&self, auto: &Auto<'_, D>, u: &Ciphertext<D>, t: usize) -> Result<Ciphertext<D>> {
        let (rate, interval) = (self.rate(t), self.descent.polynomial.interval);
        let masked = |power: i32| {
            let at = usize::try_from(power).unwrap_or(0);
            let c = self.descent.polynomial.coefficients.get(at).copied().unwrap_or(0.0);
            self.layout.firsts(c * (-interval).powi(power) * rate)
        };
        // c·u + d·u³, or c·u alone.
        let square = auto.settle(&auto.square(u)?)?;
        let odd = |power: i32| -> Result<Ciphertext<D>> {
            let first = auto.mul_values(u, &masked(power))?;
            if power + 2 > i32::try_from(self.options.degree).unwrap_or(0) {
                return Ok(first);
            }
            let third = auto.mul(&auto.mul_values(u, &masked(power + 2))?, &square)?;
            auto.add(&third, &first)
        };
        let mut sum = odd(1)?;
        if self.options.degree > 3 {
            sum = auto.add(&auto.mul(&odd(5)?, &auto.square(&square)?)?, &sum)?;
        }
        auto.add_values(&sum, &masked(0))
    }

    /// The gradient sum of iteration t, times the rate.
    fn step<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        (rows, t): (&[Ciphertext<D>], usize),
        v: &Ciphertext<D>,
    ) -> Result<Ciphertext<D>> {
        let [forward, back] = both_packings(rows)?;
        let products = auto.mul(forward, &self.turned(auto, v)?)?;
        let u = self.sum(auto, &auto.eval.batch_sum(&products)?, 1, self.layout.block())?.bounded_by(1.0);
        let pull = self.sum(auto, &self.pull(auto, &u, t)?, 1, self.layout.block())?;
        self.gradient(auto, &auto.mul(back, &self.turned(auto, &pull)?)?)
    }

    /// v and (1−η)w' after iteration t ≥ 1. The last iteration returns w' twice. The error estimate is the walk's, plus
    /// an error of v.
    fn iterate<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        at: (&[Ciphertext<D>], usize),
        [v, w]: [&Ciphertext<D>; 2],
        (walk, beside): (Walk, f64),
    ) -> Result<([Ciphertext<D>; 2], Walk)> {
        let t = at.1;
        let gradient = self.step(auto, at, v)?;
        let (lead, fit) = (self.lead(t), self.fit(t));
        // The first gradient is taken at nearly exact weights: its error is the noise of every gradient, as encrypted.
        let walk = if t == 1 { walk.adding(gradient.estimate.error()) } else { walk };
        // w comes with the factor that the iteration before gave it.
        let added = Added { unit: 1.0 / (lead * fit), ahead: beside, before: beside / self.lead(t - 1) };
        let walk = walk.after(-momentum(t - 1), added);
        let expected = |mut c: Ciphertext<D>, error: f64| {
            let Estimate { magnitude, peak, real, .. } = c.estimate;
            c.estimate = Estimate::exact(magnitude).with_peak(peak, real).with_error(error * fit);
            c.bounded_by(WEIGHT_BOUND * fit)
        };
        let next = auto.weighted_sum(&[(1.0, &gradient), (lead * fit, v)])?;
        let of_weights = walk.of_weights() * lead;
        if t + 1 == self.options.iterations {
            let last = expected(next, of_weights);
            return Ok(([last.clone(), last], walk));
        }
        let before = momentum(t) / (1.0 - momentum(t - 1));
        let ahead = auto.weighted_sum(&[(1.0, &next), (before * fit, w)])?;
        let of_ahead = walk.of_look_ahead(-momentum(t));
        Ok(([expected(ahead, of_ahead), expected(next, of_weights)], walk))
    }

    /// From zero weights σ̂ is σ̂(0) everywhere: the first step is a multiple of the sum of rows, and w' = v'.
    fn first_weights<D: Device>(&self, auto: &Auto<'_, D>, rows: &[Ciphertext<D>]) -> Result<[Ciphertext<D>; 2]> {
        let [_, back] = both_packings(rows)?;
        let level = self.first_level();
        let sum = self.gradient(auto, &auto.scale_to(back, 1.0, level + 1)?)?;
        let w = auto.scale_to(&sum, self.rate(0) * self.descent.polynomial.at(0.0), level)?;
        Ok([w.clone(), w])
    }

    /// Bootstraps v and (1−η)w'.
    fn refreshed<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        done: usize,
        [v, w]: [&Ciphertext<D>; 2],
    ) -> Result<[Ciphertext<D>; 2]> {
        let boot = auto.bootstrapper()?;
        let both = auto.add(v, &boot.times_i(&auto.eval, w))?.with_slots(self.layout.features).bounded_by(1.0);
        let both = auto.bootstrap(&both)?;
        let conjugate = auto.conjugate(&both)?;
        let (twice_v, twice_w) =
            (auto.add(&both, &conjugate)?, auto.eval.negate(&boot.times_i(&auto.eval, &auto.sub(&both, &conjugate)?)));
        let whole = |half: Ciphertext<D>| {
            // The factor is an integer, so it takes no level.
            let large = auto.eval.mul_scalar(&half, WEIGHT_BOUND / 2.0, 1.0)?;
            let low = auto.scale_to(&large, 1.0, self.level(done))?;
            // A gradient is a sum over all rows.
            Ok::<_, limbwise::Error>(low.as_copies(self.layout.slots()).bounded_by(WEIGHT_BOUND))
        };
        Ok([whole(twice_v)?, whole(twice_w)?])
    }
}

impl<D: Device> Iterations<D> for Helr {
    const INPUTS: usize = 2;

    fn first(&self, auto: &Auto<'_, D>, rows: &[Ciphertext<D>], observer: &mut dyn Observer) -> Result<State<D>> {
        observer.step(ITERATION, 0, self.options.iterations);
        let _region = region(auto, ITERATION, 0);
        let first = self.first_weights(auto, rows)?;
        let added = Added { unit: 0.0, ahead: first[0].estimate.error() / self.fit(0), before: 0.0 };
        let walk = Walk::START.after(0.0, added);
        Ok(State { step: 1, ciphertexts: first.into(), numbers: walk.numbers() })
    }

    fn next(
        &self,
        auto: &Auto<'_, D>,
        rows: &[Ciphertext<D>],
        state: &State<D>,
        observer: &mut dyn Observer,
    ) -> Result<State<D>> {
        let (t, [v, w], iterations) = (state.step, pair(state)?, self.options.iterations);
        let walk = Walk::of(&state.numbers).ok_or(limbwise::Error::State)?;
        // v + iw is one message, of which half of the error is v's and half is w's by the rules, which do not know that
        // w's is real and leaves v alone.
        let brought = [v, w].map(|c| c.estimate.error() / self.fit(t - 1));
        let brought = if self.options.stops(t) { brought[0].hypot(brought[1]) / SQRT_2 } else { brought[0] };
        let [v, w] = if self.options.stops(t) {
            observer.step(BOOTSTRAP, t, iterations);
            let _region = region(auto, "refresh", t);
            self.refreshed(auto, t, [v, w])?
        } else {
            [v.clone(), w.clone()]
        };
        observer.step(ITERATION, t, iterations);
        let _region = region(auto, ITERATION, t);
        // Error that bootstrapping adds.
        let beside = (v.estimate.error().powi(2) - brought.powi(2)).max(0.0).sqrt();
        let (next, walk) = self.iterate(auto, (rows, t), [&v, &w], (walk, beside))?;
        Ok(State { step: t + 1, ciphertexts: next.into(), numbers: walk.numbers() })
    }
}

/// A mini-batch in both packings.
fn both_packings<D: Device>(rows: &[Ciphertext<D>]) -> Result<[&Ciphertext<D>; 2]> {
    let [forward, back] = rows else { return Err(limbwise::Error::State) };
    Ok([forward, back])
}

/// The region of iteration t, or of the steps before it.
fn region<'d, D: Device>(auto: &Auto<'d, D>, name: &'static str, t: usize) -> OpenRegion<'d> {
    auto.eval.device().region(name, u32::try_from(t + 1).unwrap_or(u32::MAX))
}

const ITERATION: &str = "iteration";
const BOOTSTRAP: &str = "bootstrap";

impl Helr {
    /// Bootstrapping plan, if the program bootstraps.
    pub fn bootstrapping(&self) -> Option<BootstrapPlan> {
        (self.count_of_bootstraps() > 0).then_some(self.plan)
    }
}

impl Program for Helr {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "helr"
    }

    fn params(&self) -> &Params {
        &self.descent.params
    }

    fn inputs(&self) -> Vec<Input> {
        let forward = self.descent.packing(self.layout.slots());
        let level = self.gradient_level();
        let back = Packing { level, scale: self.descent.params.scale(level), ..forward };
        let (batch, bounds) = (self.layout.ciphertexts, self.options.rows);
        let input = |name: String, packing| Input { name, batch, packing, bounds };
        let pair = |t: usize| {
            [input(format!("mini-batch {t}"), forward), input(format!("mini-batch {t} for its gradient"), back)]
        };
        (1..=self.used_batches()).flat_map(pair).collect()
    }

    fn model(&self) -> Maps<'_> {
        Maps { maps: Vec::new(), bootstrapping: self.bootstrapping() }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs: batches, observer, journal } = on;
        let auto = &means.auto;
        let mut state = self.descent.run(self, auto, batches, observer, journal)?;
        state.ciphertexts.truncate(1);
        Ok(state.ciphertexts)
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let values: Vec<Complex64> = results[0][0].iter().take(self.options.columns).copied().collect();
        vec![Array { name: "weights".into(), shape: vec![values.len()], values, numbers: Numbers::Real }]
    }

    fn details(&self) -> Details {
        fields(json!({
            "iterations": self.options.iterations,
            "bootstraps": self.count_of_bootstraps(),
            "batch": self.options.batch_rows,
            "ciphertexts": self.layout.ciphertexts,
            "features": self.options.columns - 1,
            "bootstrap_plan": self.plan,
        }))
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        let sum = |wanted: &str| steps.iter().filter(|(name, _)| *name == wanted).map(|(_, s)| s).sum::<f64>();
        let iterations = self.options.iterations as f64;
        let (own, boots) = (sum(ITERATION), sum(BOOTSTRAP));
        fields(json!({
            "seconds_an_iteration": (own + boots) / iterations,
            "bootstrap_seconds_of_it": boots / iterations,
        }))
    }

    fn in_way(&self, way: Way) -> Self {
        way.bootstrapping.map_or_else(|| self.clone(), |plan| self.clone().with(plan))
    }
}
