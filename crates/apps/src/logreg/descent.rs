//! Nesterov's gradient descent on encrypted rows, independent of the packing: learning rates, momentum, cyclic
//! mini-batches, levels, and the loop with its checkpoints.
//!
//! [`super::encrypted`] and [`crate::helr::encrypted`] are its two packings. Each implements the first and the later
//! iterations.

use super::{data::Rounds, sigmoid::SigmoidPolynomial};
use crate::program::{Journal, Observer, State};
use limbwise::{
    Result,
    ckks::{Auto, Ciphertext, LevelPolicy, Packing},
    params::Params,
};
use limbwise_device::Device;

pub(crate) const MOST_ITERATIONS: usize = 1000;
/// Largest data set, in numbers. Sizes come from files and are multiplied, so they must not overflow.
pub(crate) const MOST_NUMBERS: usize = 1 << 30;

/// A checked training option: validity, name, value, valid range.
pub(crate) type Check = (bool, &'static str, f64, &'static str);

/// Training options that every packing shares.
#[derive(Clone, Debug)]
pub(crate) struct Descent {
    pub(crate) params: Params,
    pub(crate) policy: LevelPolicy,
    pub(crate) rounds: Rounds,
    pub(crate) iterations: usize,
    learning_rate: f64,
    /// The polynomial that replaces the sigmoid.
    pub(crate) polynomial: SigmoidPolynomial,
}

impl Descent {
    /// From options that passed [`Self::checks`].
    pub(crate) fn new(
        params: &Params,
        rounds: Rounds,
        iterations: usize,
        learning_rate: f64,
        polynomial: SigmoidPolynomial,
    ) -> Self {
        let policy = LevelPolicy::of(params);
        Self { params: params.clone(), policy, rounds, iterations, learning_rate, polynomial }
    }

    pub(crate) fn checks([interval, learning_rate]: [f64; 2], degree: usize) -> [Check; 3] {
        let within = |x: f64, most: f64| x > 0.0 && x <= most;
        [
            (matches!(degree, 3 | 5 | 7), "the degree", degree as f64, "3, 5 or 7"),
            (within(interval, 1000.0), "the interval", interval, "a number above 0, at most 1000"),
            (within(learning_rate, 1e9), "the learning rate", learning_rate, "a positive number"),
        ]
    }

    /// Number of mini-batches that the iterations use.
    pub(crate) fn used_batches(&self) -> usize {
        self.rounds.count().min(self.iterations)
    }

    /// The learning rate of iteration t, divided by the rows of its mini-batch.
    pub(crate) fn rate(&self, t: usize) -> f64 {
        self.learning_rate / self.rounds.real_rows(t) as f64
    }

    /// Layout of the encrypted rows: at the top level.
    pub(crate) fn packing(&self, slots: usize) -> Packing {
        let level = self.params.user_level();
        Packing { slots, level, scale: self.params.scale(level) }
    }

    /// Runs all iterations, from the start or from a checkpoint. Returns the last weights and their companion.
    pub(crate) fn run<D: Device, I: Iterations<D>>(
        &self,
        layout: &I,
        auto: &Auto<'_, D>,
        batches: &[Ciphertext<D>],
        observer: &mut dyn Observer,
        journal: &mut dyn Journal<D>,
    ) -> Result<State<D>> {
        let mut state = match journal.resume()? {
            Some(state) if (1..=self.iterations).contains(&state.step) && state.ciphertexts.len() == 2 => state,
            Some(_) => return Err(limbwise::Error::State),
            None => layout.first(auto, &batches[..I::INPUTS], observer)?,
        };
        for t in state.step..self.iterations {
            journal.keep(&state)?;
            let rows = &batches[t * I::INPUTS % batches.len()..][..I::INPUTS];
            state = layout.next(auto, rows, &state, observer)?;
        }
        journal.keep(&state)?;
        Ok(state)
    }
}

/// One packing of gradient descent. A state is two ciphertexts and the number of finished iterations.
pub(crate) trait Iterations<D: Device> {
    /// Inputs that hold the rows of one mini-batch.
    const INPUTS: usize;

    /// State after the first iteration, from zero weights.
    fn first(&self, auto: &Auto<'_, D>, rows: &[Ciphertext<D>], observer: &mut dyn Observer) -> Result<State<D>>;

    /// State after one more iteration. Bootstraps first if due.
    fn next(
        &self,
        auto: &Auto<'_, D>,
        rows: &[Ciphertext<D>],
        state: &State<D>,
        observer: &mut dyn Observer,
    ) -> Result<State<D>>;
}

pub(crate) fn pair<D: Device>(state: &State<D>) -> Result<[&Ciphertext<D>; 2]> {
    let [first, second] = &state.ciphertexts[..] else { return Err(limbwise::Error::State) };
    Ok([first, second])
}
