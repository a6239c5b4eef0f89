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
    #[error("{got} passes: choose {wanted}")]
    Passes { got: usize, wanted: &'static str },
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
    /// Bootstrapping by a plan, in so many passes or as many as the parameters say, of a message of which this is known.
    pub fn new(
        (params, name): (&Params, &str),
        plan: BootstrapPlan,
        passes: Option<usize>,
        bounds: Promise,
    ) -> Result<Self, BootstrapAppError> {
        let Some(&levels) = params.bootstrapping() else {
            return Err(BootstrapAppError::NoBootstrapping(name.to_owned()));
        };
        if !plan.slots.is_power_of_two() || plan.slots > params.max_slots() {
            return Err(BootstrapAppError::Slots { got: plan.slots, most: params.max_slots() });
        }
        let passes = passes.unwrap_or(levels.passes());
        let (most, wanted) = match levels.literal.refinement {
            Some(_) => (4, "1 to 4"),
            None => (2, "1 or 2, or a preset with a refinement, such as boot-80, for more"),
        };
        if !(1..=most).contains(&passes) {
            return Err(BootstrapAppError::Passes { got: passes, wanted });
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

    /// Levels that remain usable after bootstrapping: a second pass takes one where the scale leaves no room for it.
    fn won(&self) -> usize {
        match self.levels.literal.refinement {
            Some(_) => self.levels.levels,
            None => self.levels.levels + 1 - self.passes,
        }
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
        let mut pass = Pass { auto, bootstrapper, total: STEPS * self.passes + self.won(), observer, journal };
        let result = pass.all(&inputs[0], self.passes)?;
        let total = pass.total;
        for level in (self.levels.input_level() + 1..=result.level).rev() {
            observer.step(PRODUCTS, total + self.levels.input_level() - level, total);
            let factor = auto.eval.drop_level(&result, level)?;
            auto.eval.relinearize_rescaled(&auto.eval.multiply(&factor, &factor)?)?;
        }
        Ok(vec![result])
    }

    /// The slots; of a scale beyond double precision a second array with what is left of each.
    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let numbers = if self.plan.content == Content::Real { Numbers::Real } else { Numbers::Complex };
        let array = |(name, values): (&str, &Vec<Complex64>)| {
            let (name, values) = (name.into(), values.clone());
            Array { name, shape: vec![values.len()], values, numbers }
        };
        ["slots", "rest"].into_iter().zip(&results[0]).map(array).collect()
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

/// One bootstrapping after another, each step kept. A state is counted from the first step of the first pass; later passes
/// have the result so far beside it.
struct Pass<'a, 'b, D: Device> {
    auto: &'a Auto<'b, D>,
    bootstrapper: &'a Bootstrapper<D>,
    total: usize,
    observer: &'a mut dyn Observer,
    journal: &'a mut dyn Journal<D>,
}

impl<D: Device> Pass<'_, '_, D> {
    /// All passes, from where a kept state left off.
    fn all(&mut self, a: &Ciphertext<D>, passes: usize) -> Result<Ciphertext<D>> {
        let (auto, bootstrapper) = (self.auto, self.bootstrapper);
        let mut kept = self.journal.resume()?;
        let message = if passes > 1 { &bootstrapper.checked_message(auto, a)? } else { a };
        // The pass of the last step that was kept.
        let from = kept.as_ref().map_or(0, |state| state.step.saturating_sub(1) / STEPS);
        let mut result = match &kept {
            Some(state) if from > 0 => {
                let [result, _] = &state.ciphertexts[..] else { return Err(limbwise::Error::State) };
                result.clone()
            }
            _ => {
                let first = self.run(message, (0, None), kept.take())?;
                bootstrapper.lifted(auto, first)?
            }
        };
        for pass in from.max(1)..passes {
            let amplified = bootstrapper.amplified_error(auto, a, &result)?;
            let error = self.run(&amplified, (pass, Some(&result)), kept.take())?;
            result = bootstrapper.corrected(auto, a, &result, &error)?;
        }
        Ok(result)
    }

    /// Bootstraps once; `beside` is what lives until the end, `kept` where to go on.
    fn run(
        &mut self,
        a: &Ciphertext<D>,
        (pass, beside): (usize, Option<&Ciphertext<D>>),
        kept: Option<State<D>>,
    ) -> Result<Ciphertext<D>> {
        let before = STEPS * pass;
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
            let ciphertexts = beside.into_iter().chain([&underway.value]).cloned().collect();
            let step = before + underway.done;
            self.journal.keep(&State { step, ciphertexts, numbers: vec![underway.expected] })?;
        }
        Ok(self.bootstrapper.finish(self.auto, underway))
    }
}
