//! Nesterov's gradient descent on encrypted rows, as far as it does not hang on how rows lie in slots: rates, momentum,
//! mini-batches in turn, levels, and the course of a run with its states.
//!
//! [`super::encrypted`] and [`crate::helr::encrypted`] are the two layouts of it: each says how its first weights come
//! about, and the next ones.

use super::{data::Rounds, sigmoid::SigmoidPolynomial};
use crate::program::{Journal, Observer, State};
use limbwise::{
    Result,
    ckks::{Auto, Ciphertext, LevelPolicy, Packing},
    params::Params,
};
use limbwise_device::Device;

pub(crate) const MOST_ITERATIONS: usize = 1000;
/// Most numbers of a data set: sizes are multiplied, and come from files.
pub(crate) const MOST_NUMBERS: usize = 1 << 30;

/// A number of a training: whether it is possible, what it is called, what it is, what it may be.
pub(crate) type Check = (bool, &'static str, f64, &'static str);

/// What a training is, whatever its layout.
#[derive(Clone, Debug)]
pub(crate) struct Descent {
    pub(crate) params: Params,
    pub(crate) policy: LevelPolicy,
    pub(crate) rounds: Rounds,
    pub(crate) iterations: usize,
    learning_rate: f64,
    /// In the sigmoid's place.
    pub(crate) polynomial: SigmoidPolynomial,
}

impl Descent {
    /// Of numbers that were checked.
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

    /// Mini-batches that the iterations come to.
    pub(crate) fn used_batches(&self) -> usize {
        self.rounds.count().min(self.iterations)
    }

    /// The learning rate of iteration t, for each row of its mini-batch.
    pub(crate) fn rate(&self, t: usize) -> f64 {
        self.learning_rate / self.rounds.real_rows(t) as f64
    }

    /// How rows lie that are encrypted: at the highest level there is.
    pub(crate) fn packing(&self, slots: usize) -> Packing {
        let level = self.params.user_level();
        Packing { slots, level, scale: self.params.scale(level) }
    }

    /// All iterations, from the start or from a kept state: what is left are the last weights and what goes with them.
    pub(crate) fn run<D: Device>(
        &self,
        layout: &impl Iterations<D>,
        auto: &Auto<'_, D>,
        batches: &[Ciphertext<D>],
        observer: &mut dyn Observer,
        journal: &mut dyn Journal<D>,
    ) -> Result<State<D>> {
        let mut state = match journal.resume()? {
            Some(state) if (1..=self.iterations).contains(&state.step) && state.ciphertexts.len() == 2 => state,
            Some(_) => return Err(limbwise::Error::State),
            None => layout.first(auto, &batches[0], observer)?,
        };
        for t in state.step..self.iterations {
            journal.keep(&state)?;
            state = layout.next(auto, &batches[t % batches.len()], &state, observer)?;
        }
        journal.keep(&state)?;
        Ok(state)
    }
}

/// How a layout of rows carries iterations out. A state is two ciphertexts after as many iterations as it counts steps.
pub(crate) trait Iterations<D: Device> {
    /// After the first iteration, from weights of zero.
    fn first(&self, auto: &Auto<'_, D>, rows: &Ciphertext<D>, observer: &mut dyn Observer) -> Result<State<D>>;

    /// After one iteration more; bootstrapped before it where that is due.
    fn next(
        &self,
        auto: &Auto<'_, D>,
        rows: &Ciphertext<D>,
        state: &State<D>,
        observer: &mut dyn Observer,
    ) -> Result<State<D>>;
}

pub(crate) fn pair<D: Device>(state: &State<D>) -> Result<[&Ciphertext<D>; 2]> {
    let [first, second] = &state.ciphertexts[..] else { return Err(limbwise::Error::State) };
    Ok([first, second])
}
