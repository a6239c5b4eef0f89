//! Bootstrapping alone: one ciphertext with all slots in use is refreshed and then multiplied down to its first level.
//!
//! One product at each gained level measures the time per level and slot, by which systems are compared (T_A.S. of
//! \[ARK\]). The clear twin is the identity.

use crate::{
    program::{
        Array, Ckks, Details, Encryption, Evaluation, Journal, Numbers, Observer, Program, SlotsInput as Input, State,
        fields,
    },
    way::Way,
};
use limbwise::{
    Complex64, Result,
    ckks::{Auto, BootstrapPlan, Bootstrapper, Ciphertext, Packing, Promise, bootstrap::Content},
    params::{Bootstrapping, Params},
    scheme::Maps,
};
use limbwise_device::Device;
use serde_json::json;

pub mod client;
pub mod options;

/// The step that is not bootstrapping.
const PRODUCTS: &str = "multiplications";

/// Why the workload cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BootstrapAppError {
    #[error("{0} has no bootstrapping: choose one of the presets boot, boot-… (limbwise params show)")]
    NoBootstrapping(String),
    #[error("{got} slots: choose a power of two from 1 to {most}, or a preset with a larger ring")]
    Slots { got: usize, most: usize },
    #[error("{0} passes: choose 1 or 2")]
    Passes(usize),
    #[error("values up to {0}: wanted a positive number (was the description of the program changed?)")]
    Promise(f64),
}

/// The workload, without its message.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    params: Params,
    levels: Bootstrapping,
    plan: BootstrapPlan,
    passes: usize,
    bounds: Promise,
}

impl Bootstrap {
    /// Bootstrapping by a plan, in one pass or two, of a message of which this is known.
    pub fn new(
        (params, name): (&Params, &str),
        plan: BootstrapPlan,
        passes: usize,
        bounds: Promise,
    ) -> Result<Self, BootstrapAppError> {
        let Some(&levels) = params.bootstrapping() else {
            return Err(BootstrapAppError::NoBootstrapping(name.to_owned()));
        };
        if !plan.slots.is_power_of_two() || plan.slots > params.max_slots() {
            return Err(BootstrapAppError::Slots { got: plan.slots, most: params.max_slots() });
        }
        if !(1..=2).contains(&passes) {
            return Err(BootstrapAppError::Passes(passes));
        }
        if !bounds.is_possible() {
            return Err(BootstrapAppError::Promise(bounds.peak));
        }
        Ok(Self { params: params.clone(), levels, plan, passes, bounds })
    }

    #[must_use]
    pub fn with(&self, plan: BootstrapPlan) -> Self {
        Self { plan, ..self.clone() }
    }

    /// Bootstrapping configuration.
    pub fn plan(&self) -> BootstrapPlan {
        self.plan
    }

    pub fn passes(&self) -> usize {
        self.passes
    }

    /// What is known of the message.
    pub fn bounds(&self) -> Promise {
        self.bounds
    }

    /// Levels that remain usable after bootstrapping.
    fn won(&self) -> usize {
        self.levels.levels + 1 - self.passes
    }
}

impl Bootstrap {
    /// Bootstrapping plan.
    pub fn bootstrapping(&self) -> Option<BootstrapPlan> {
        Some(self.plan)
    }
}

impl Program for Bootstrap {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "bootstrap"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        let level = self.levels.input_level();
        let packing = Packing { slots: self.plan.slots, level, scale: self.params.scale(level) };
        vec![Input { name: "message".into(), batch: 1, packing, bounds: self.bounds }]
    }

    /// Public-key noise at scale 2^40 would be all that is seen of the error.
    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    fn model(&self) -> Maps<'_> {
        Maps { maps: Vec::new(), bootstrapping: self.bootstrapping() }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs, observer, journal } = on;
        let auto = &means.auto;
        let bootstrapper = auto.bootstrapper()?;
        let mut pass = Pass { auto, bootstrapper, total: 4 * self.passes + self.won(), observer, journal };
        let kept = pass.journal.resume()?;
        let result = match self.passes {
            1 => pass.run(&inputs[0], &[], kept)?,
            _ => pass.twice(&inputs[0], kept)?,
        };
        let total = pass.total;
        for level in (self.levels.input_level() + 1..=result.level).rev() {
            observer.step(PRODUCTS, total + self.levels.input_level() - level, total);
            let factor = auto.eval.drop_level(&result, level)?;
            auto.eval.relinearize_rescaled(&auto.eval.multiply(&factor, &factor)?)?;
        }
        Ok(vec![result])
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let values = results[0][0].clone();
        let numbers = if self.plan.content == Content::Real { Numbers::Real } else { Numbers::Complex };
        vec![Array { name: "slots".into(), shape: vec![values.len()], values, numbers }]
    }

    fn details(&self) -> Details {
        fields(json!({
            "slots": self.plan.slots,
            "passes": self.passes,
            "levels_won": self.won(),
            "log2_failure": self.levels.log2_failure(self.plan.slots).max(-999.0),
            "bootstrap_plan": self.plan,
        }))
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        let sum = |wanted: fn(&str) -> bool| steps.iter().filter(|(name, _)| wanted(name)).map(|(_, s)| s).sum::<f64>();
        let own = ["slot_to_coeff", "mod_raise", "coeff_to_slot", "eval_mod"];
        if !own.iter().all(|name| steps.iter().any(|(step, _)| step == name)) {
            return Details::new(); // resumed after some of them
        }
        let bootstrap = sum(|name| matches!(name, "slot_to_coeff" | "mod_raise" | "coeff_to_slot" | "eval_mod"));
        let products = sum(|name| name == PRODUCTS);
        let share = (self.won() * self.plan.slots) as f64;
        fields(json!({ "bootstrap_seconds": bootstrap, "t_as_us": (bootstrap + products) / share * 1e6 }))
    }

    fn in_way(&self, way: Way) -> Self {
        way.bootstrapping.map_or_else(|| self.clone(), |plan| self.clone().with(plan))
    }
}

/// Steps of bootstrapping after which the state is saved.
const STEPS: usize = 4;

/// One bootstrapping after another, each step kept. A state is counted from the first step of the first pass; the
/// second has the first's result beside it.
struct Pass<'a, 'b, D: Device> {
    auto: &'a Auto<'b, D>,
    bootstrapper: &'a Bootstrapper<D>,
    total: usize,
    observer: &'a mut dyn Observer,
    journal: &'a mut dyn Journal<D>,
}

impl<D: Device> Pass<'_, '_, D> {
    /// Bootstraps; `beside` is what lives until the end, `kept` where to go on.
    fn run(&mut self, a: &Ciphertext<D>, beside: &[Ciphertext<D>], kept: Option<State<D>>) -> Result<Ciphertext<D>> {
        let before = STEPS * beside.len();
        let mut underway = self.bootstrapper.begin(self.auto, a)?;
        if let Some(State { step, mut ciphertexts, numbers }) = kept {
            let (Some(value), [expected], true) =
                (ciphertexts.pop(), &numbers[..], (before..=before + STEPS).contains(&step))
            else {
                return Err(limbwise::Error::State);
            };
            underway = underway.resumed(step - before, value, *expected);
        }
        while let Some(name) = self.bootstrapper.next_step(&underway) {
            self.observer.step(name, before + underway.done, self.total);
            underway = self.bootstrapper.advance(self.auto, underway)?;
            let ciphertexts = [beside, std::slice::from_ref(&underway.value)].concat();
            let step = before + underway.done;
            self.journal.keep(&State { step, ciphertexts, numbers: vec![underway.expected] })?;
        }
        Ok(self.bootstrapper.finish(self.auto, underway))
    }

    fn twice(&mut self, a: &Ciphertext<D>, kept: Option<State<D>>) -> Result<Ciphertext<D>> {
        let (auto, bootstrapper) = (self.auto, self.bootstrapper);
        let (first, kept) = match kept {
            Some(state) if state.step > STEPS => {
                let [first, _] = &state.ciphertexts[..] else { return Err(limbwise::Error::State) };
                (first.clone(), Some(state))
            }
            kept => (self.run(&bootstrapper.checked_message(auto, a)?, &[], kept)?, None),
        };
        let amplified = bootstrapper.amplified_error(auto, a, &first)?;
        let second = self.run(&amplified, std::slice::from_ref(&first), kept)?;
        bootstrapper.corrected(auto, a, &first, &second)
    }
}
