//! A session that only writes down: levels, shapes and estimates are followed on a device without words.

use crate::live::{linear_plan, promised};
use limbwise::{
    Complex64, Result,
    ckks::{
        Auto, BootstrapPlan, Bootstrapper, Ciphertext, Encoder, Evaluator, LinearTransform, Noise, Packing, Promise,
        Shadow,
    },
    error::BootstrapError,
    params::Params,
    rlwe::DeclaredKeys,
};
use limbwise_apps::program::SlotsInput;
use limbwise_device::Null;
use limbwise_runtime::tape::{Machine, Op, Step, Tape, Value};
use std::{
    cell::Cell,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

#[derive(Default)]
struct Draft {
    inputs: Vec<SlotsInput>,
    steps: Vec<Step>,
    bootstraps: bool,
}

/// A session on the device that computes nothing.
pub(crate) struct Trace {
    pub(crate) params: Params,
    encoder: Encoder,
    pub(crate) bootstrapping: Option<BootstrapPlan>,
    null: Null,
    bootstrapper: OnceLock<Bootstrapper<Null>>,
    draft: Mutex<Draft>,
}

impl Trace {
    pub(crate) fn new(params: &Params, bootstrapping: Option<BootstrapPlan>) -> Self {
        Self {
            params: params.clone(),
            encoder: Encoder::new(params),
            bootstrapping,
            null: Null::default(),
            bootstrapper: OnceLock::new(),
            draft: Mutex::default(),
        }
    }

    fn draft(&self) -> MutexGuard<'_, Draft> {
        self.draft.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An input, with its number; `None` once there are operations.
    pub(crate) fn input(
        &self,
        values: Vec<Vec<Complex64>>,
        packing: Packing,
        bound: Option<f64>,
    ) -> Result<Option<(usize, Ciphertext<Null>)>> {
        let mut draft = self.draft();
        if !draft.steps.is_empty() {
            return Ok(None);
        }
        let slots = packing.slots;
        let of = Promise::of(&values, slots);
        let declared = self.encoder.declare_bounded(&self.null, values.len(), of, packing, Noise::Secret)?;
        let real = of.real;
        let shadow = Some(Shadow::new(&values, slots));
        let ciphertext = promised(Ciphertext { shadow, ..declared }, bound, real)?;
        let number = draft.inputs.len();
        let bounds = bound.map_or(of, |peak| Promise { magnitude: peak, peak, real });
        let name = format!("input {}", number + 1);
        draft.inputs.push(SlotsInput { name, batch: values.len(), packing, bounds });
        Ok(Some((number, ciphertext)))
    }

    /// Writes down an operation and returns the number of its result.
    pub(crate) fn apply(&self, op: &Op, operands: &[(usize, &Value<Null>)]) -> Result<(usize, Ciphertext<Null>)> {
        let keys = DeclaredKeys::all(&self.null, &self.params);
        let auto = Auto::new(Evaluator::new(&self.null, &self.params, &keys), &self.encoder);
        let (plan, bootstraps) = (Cell::new(None), Cell::new(false));
        let source = || {
            bootstraps.set(true);
            self.bootstrapper()
        };
        let machine = Machine { auto: &auto, bootstrapper: self.bootstrapping.is_some().then_some(&source) };
        let linear = |a: &Ciphertext<Null>| {
            let Op::Linear(map) = op else { unreachable!("asked for by linear maps only") };
            let how = linear_plan(&self.params, map, a.level);
            plan.set(Some(how));
            let declared = LinearTransform::declare(&self.null, &self.encoder, map, how)?;
            auto.linear_transform(a, &declared.with_shadow(map))
        };
        let values: Vec<&Value<Null>> = operands.iter().map(|o| o.1).collect();
        let result = op.apply(&machine, &values, &linear)?;
        let mut draft = self.draft();
        draft.bootstraps |= bootstraps.get();
        let number = draft.inputs.len() + draft.steps.len();
        let operands = operands.iter().map(|o| o.0).collect();
        draft.steps.push(Step { op: op.clone(), operands, plan: plan.get() });
        Ok((number, result))
    }

    fn bootstrapper(&self) -> Result<&Bootstrapper<Null>> {
        if let Some(made) = self.bootstrapper.get() {
            return Ok(made);
        }
        let plan = self.bootstrapping.ok_or(BootstrapError::Absent)?;
        let made = Bootstrapper::declare(&self.null, &self.encoder, plan)?;
        Ok(self.bootstrapper.get_or_init(|| made))
    }

    /// The tape with these results.
    pub(crate) fn finish(&self, results: &[(usize, &Value<Null>)]) -> Tape {
        let draft = self.draft();
        let shape = |value: &Value<Null>| {
            let ciphertext = value.get();
            [ciphertext.batch(), ciphertext.slots]
        };
        Tape {
            params: self.params.clone(),
            inputs: draft.inputs.clone(),
            steps: draft.steps.clone(),
            results: results.iter().map(|r| r.0).collect(),
            shapes: results.iter().map(|r| shape(r.1)).collect(),
            bootstrapping: self.bootstrapping.filter(|_| draft.bootstraps),
        }
    }
}
