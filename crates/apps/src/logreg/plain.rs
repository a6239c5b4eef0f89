//! The clear twin: the same training as the encrypted program, on `f64`.
//!
//! Nesterov's accelerated gradient on the logistic loss, as in \[HELR\] and \[Kim18\]. With signed rows `z = y'·x`,
//! weights `w`, look-ahead `v`, both zero at the start, iteration `t` = 0, 1, … over batch `B_t` is
//!
//! ```text
//! w' = v + γ_t/|B_t| · Σ_{z ∈ B_t} σ(−z·v) z
//! v' = (1 − η_t) w' + η_t w
//! ```
//!
//! `σ` is the true sigmoid or a polynomial; with the same polynomial, batches and options the encrypted program
//! computes these same numbers up to its noise.

use super::data::{Batch, Batches, LabeledRows};
use super::metrics::dot;
use super::sigmoid::{SigmoidPolynomial, sigmoid};

/// Activation in the gradient.
#[derive(Clone, Debug, PartialEq)]
pub enum Activation {
    Sigmoid,
    /// The polynomial that the encrypted program uses.
    Polynomial(SigmoidPolynomial),
}

impl Activation {
    pub fn at(&self, x: f64) -> f64 {
        match self {
            Self::Sigmoid => sigmoid(x),
            Self::Polynomial(polynomial) => polynomial.at(x),
        }
    }

    /// Largest |x| at which the value is meaningful.
    pub fn interval(&self) -> f64 {
        match self {
            Self::Sigmoid => f64::INFINITY,
            Self::Polynomial(polynomial) => polynomial.interval,
        }
    }
}

/// The learning rate γ_t.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LearningRate {
    /// The same at every iteration.
    Constant(f64),
    /// `first / (t + 1)`; \[Kim18\] takes `first` = 10.
    Harmonic {
        /// γ_0.
        first: f64,
    },
}

impl LearningRate {
    /// γ_t, with t from 0.
    pub fn at(self, t: usize) -> f64 {
        match self {
            Self::Constant(rate) => rate,
            Self::Harmonic { first } => first / (t as f64 + 1.0),
        }
    }
}

/// Nesterov's momentum η_t, with t from 0: `(1 − λ_t) / λ_{t+1}` where `λ_0 = 1`,
/// `λ_{t+1} = (1 + √(1 + 4λ_t²)) / 2`.
///
/// Range: η_0 = 0, then negative, tending to −1.
pub fn momentum(t: usize) -> f64 {
    let next = |lambda: f64| f64::midpoint(1.0, (1.0 + 4.0 * lambda * lambda).sqrt());
    let lambda = (0..t).fold(1.0, |lambda, _| next(lambda));
    (1.0 - lambda) / next(lambda)
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrainOptions {
    /// Number of gradient steps.
    pub iterations: usize,
    pub learning_rate: LearningRate,
    /// The sigmoid or its stand-in.
    pub activation: Activation,
}

impl TrainOptions {
    /// Four steps at the safe rate of these rows, with the degree-3 polynomial on [−8, 8].
    pub fn for_rows(train: &LabeledRows) -> Self {
        Self {
            iterations: 4,
            learning_rate: LearningRate::Constant(safe_learning_rate(train)),
            activation: Activation::Polynomial(SigmoidPolynomial::least_squares(3, 8.0)),
        }
    }
}

/// The largest constant rate for which descent on these rows cannot overshoot: `4 / λ`, with `λ` the largest
/// eigenvalue of `XᵀX / rows`, because the logistic loss curves by at most `λ/4`.
///
/// `λ` comes from 100 power iterations, which approach it from below: the rate is too large by at most what the
/// spectrum's gap leaves, in practice below a thousandth. Source: \[Nes04\] §2.2 for the step `1/L`.
pub fn safe_learning_rate(train: &LabeledRows) -> f64 {
    let mut direction = vec![1.0; train.cols];
    let mut lambda = 0.0;
    for _ in 0..100 {
        let norm = dot(&direction, &direction).sqrt();
        direction.iter_mut().for_each(|x| *x /= norm);
        let mut image = vec![0.0; train.cols];
        for row in train.rows() {
            let along = dot(row, &direction) / train.labels.len() as f64;
            image.iter_mut().zip(row).for_each(|(y, x)| *y += along * x);
        }
        lambda = dot(&direction, &image);
        direction = image;
    }
    4.0 / lambda
}

/// The state between two iterations.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// The model `w`: one weight a column, bias first.
    pub w: Vec<f64>,
    /// The look-ahead `v`, at which the next gradient is taken.
    pub v: Vec<f64>,
}

/// A trained model and what happened on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// The state after the last iteration; `weights.w` is the model.
    pub weights: Weights,
    /// Largest `|z·v|` the activation was asked for, one an iteration.
    pub max_input: Vec<f64>,
}

impl Trained {
    /// The largest `|z·v|` of all iterations.
    pub fn largest_input(&self) -> f64 {
        self.max_input.iter().copied().fold(0.0, larger)
    }

    /// The first iteration whose inputs leave the activation's interval: from there on the polynomial is no sigmoid,
    /// and a smaller learning rate or a wider interval is needed. NaN, where a diverging training ends, is outside.
    pub fn left_interval(&self, activation: &Activation) -> Option<usize> {
        self.max_input.iter().position(|&input| input.is_nan() || input > activation.interval())
    }
}

pub fn train(batches: &Batches, options: &TrainOptions) -> Trained {
    let zeros = || vec![0.0; batches.cols()];
    let mut weights = Weights { w: zeros(), v: zeros() };
    let mut max_input = Vec::with_capacity(options.iterations);
    for t in 0..options.iterations {
        let (next, input) = step(&weights, batches.at(t), t, options);
        weights = next;
        max_input.push(input);
    }
    Trained { weights, max_input }
}

/// One iteration; also the largest `|z·v|` of the batch (NaN when one is).
pub fn step(weights: &Weights, batch: &Batch, t: usize, options: &TrainOptions) -> (Weights, f64) {
    let rate = options.learning_rate.at(t) / batch.real_rows as f64;
    let eta = momentum(t);
    let mut w = weights.v.clone();
    let mut max_input: f64 = 0.0;
    for z in batch.signed.chunks_exact(w.len()).take(batch.real_rows) {
        let input = dot(z, &weights.v);
        max_input = larger(input.abs(), max_input);
        let pull = rate * options.activation.at(-input);
        w.iter_mut().zip(z).for_each(|(w, z)| *w += pull * z);
    }
    let v = w.iter().zip(&weights.w).map(|(new, old)| (1.0 - eta) * new + eta * old).collect();
    (Weights { w, v }, max_input)
}

/// The larger of two numbers, or NaN when one is (`f64::max` would hide it).
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b { a } else { b }
}

#[cfg(test)]
mod tests;
