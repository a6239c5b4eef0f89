//! Bootstrapping by itself: one ciphertext, all slots in use, refreshed and then multiplied down to where it began.
//!
//! The products, one at each level that was won, are there for the time per level and slot by which systems are compared
//! (T_A.S. of \[ARK\]). Its clear twin is the identity.

use crate::{
    linear::data::generated,
    program::{Conclusion, Encryption, Input, Observer, Program},
};
use limbwise::{
    Complex64, Result,
    ckks::{Auto, BootstrapPlan, Ciphertext, LinearTransform, Packing, Precision, bootstrap::Content},
    params::{Bootstrapping, Params},
};
use limbwise_device::Device;
use serde_json::{Map, Value, json};

/// The step that is not bootstrapping.
const PRODUCTS: &str = "multiplications";

/// What is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Message {
    /// Both parts uniform in [−1, 1].
    #[default]
    Random,
    /// The same in every slot: 0.7 + 0.3i.
    Constant,
    /// Real, uniform in [0, 1].
    Positive,
    /// Both parts uniform in [−0.01, 0.01].
    Small,
}

impl Message {
    /// Its name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Constant => "constant",
            Self::Positive => "positive",
            Self::Small => "small",
        }
    }

    fn values(self, count: usize, content: Content, seed: u64) -> Vec<Complex64> {
        let parts = generated(seed, 0, 2 * count, 1.0);
        let value = |part: &[f64]| {
            let (re, im) = (part[0], part[1]);
            let z = match self {
                Self::Random => Complex64::new(re, im),
                Self::Constant => Complex64::new(0.7, 0.3),
                Self::Positive => Complex64::new(re.abs(), 0.0),
                Self::Small => Complex64::new(re, im) * 0.01,
            };
            if content == Content::Real { z.re.into() } else { z }
        };
        parts.chunks_exact(2).map(value).collect()
    }
}

/// Why the workload cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BootstrapAppError {
    /// Parameters without bootstrapping.
    #[error("{0} has no bootstrapping: choose one of the presets boot, boot-… (limbwise params show)")]
    NoBootstrapping(String),
    /// More slots than there are.
    #[error("{got} slots: choose a power of two from 1 to {most}, or a preset with a larger ring")]
    Slots {
        /// Asked for.
        got: usize,
        /// What there is.
        most: usize,
    },
    /// Neither one pass nor two.
    #[error("{0} passes: choose 1 or 2")]
    Passes(usize),
}

/// The workload.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    params: Params,
    levels: Bootstrapping,
    plan: BootstrapPlan,
    passes: usize,
    message: Message,
    values: Vec<Complex64>,
}

impl Bootstrap {
    /// Bootstrapping by a plan, in one pass or two.
    ///
    /// # Errors
    /// [`BootstrapAppError`] for what cannot be.
    pub fn new(
        (params, name): (&Params, &str),
        plan: BootstrapPlan,
        passes: usize,
        (message, seed): (Message, u64),
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
        let values = message.values(plan.slots, plan.content, seed);
        Ok(Self { params: params.clone(), levels, plan, passes, message, values })
    }

    /// The same by another plan.
    #[must_use]
    pub fn with(&self, plan: BootstrapPlan) -> Self {
        Self { plan, ..self.clone() }
    }

    /// How it is carried out.
    #[must_use]
    pub fn plan(&self) -> BootstrapPlan {
        self.plan
    }

    /// Levels that are there to be used after it.
    fn won(&self) -> usize {
        self.levels.levels + 1 - self.passes
    }
}

impl Program for Bootstrap {
    fn name(&self) -> &'static str {
        "bootstrap"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        let level = self.levels.input_level();
        let packing = Packing { slots: self.plan.slots, level, scale: self.params.scale(level) };
        vec![Input { name: "message".into(), values: vec![self.values.clone()], packing }]
    }

    /// Public-key noise at scale 2^40 would be all that is seen of the error.
    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    fn bootstrapping(&self) -> Option<BootstrapPlan> {
        Some(self.plan)
    }

    fn evaluate<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        _: &[LinearTransform<D>],
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Ciphertext<D>>> {
        let total = 4 * self.passes + self.won();
        let mut done = 0;
        let mut begins = |name: &'static str| {
            observer.step(name, done, total);
            done += 1;
        };
        let bootstrapper = auto.bootstrapper()?;
        let result = match self.passes {
            1 => bootstrapper.evaluate_in_steps(auto, &inputs[0], &mut begins)?,
            _ => bootstrapper.evaluate_twice(auto, &inputs[0], &mut begins)?,
        };
        for level in (self.levels.input_level() + 1..=result.level).rev() {
            observer.step(PRODUCTS, total + self.levels.input_level() - level, total);
            let factor = auto.eval.drop_level(&result, level)?;
            auto.eval.relinearize_rescaled(&auto.eval.multiply(&factor, &factor)?)?;
        }
        Ok(vec![result])
    }

    fn conclude(&self, results: &[Vec<Vec<Complex64>>]) -> Conclusion {
        let details = json!({
            "message": self.message.name(),
            "slots": self.plan.slots,
            "passes": self.passes,
            "levels_won": self.won(),
            "log2_failure": self.levels.log2_failure(self.plan.slots).max(-999.0),
            "bootstrap_plan": self.plan,
        });
        Conclusion {
            precision: Precision::of(&results[0][0], &self.values),
            accuracy: None,
            details: details.as_object().cloned().unwrap_or_default(),
            warnings: Vec::new(),
        }
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Map<String, Value> {
        let sum = |wanted: fn(&str) -> bool| steps.iter().filter(|(name, _)| wanted(name)).map(|(_, s)| s).sum::<f64>();
        let own = ["slot_to_coeff", "mod_raise", "coeff_to_slot", "eval_mod"];
        debug_assert!(own.iter().all(|name| steps.iter().any(|(step, _)| step == name)));
        let bootstrap = sum(|name| matches!(name, "slot_to_coeff" | "mod_raise" | "coeff_to_slot" | "eval_mod"));
        let products = sum(|name| name == PRODUCTS);
        let share = (self.won() * self.plan.slots) as f64;
        let times = json!({ "bootstrap_seconds": bootstrap, "t_as_us": (bootstrap + products) / share * 1e6 });
        times.as_object().cloned().unwrap_or_default()
    }
}
