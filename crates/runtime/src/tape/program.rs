//! A traced program: its inputs, its operations in order, its results.

use super::{
    op::Op,
    value::{Machine, Value},
};
use limbwise::{
    Complex64, Result,
    ckks::{BootstrapPlan, Ciphertext, Diagonals, LinearPlan, PlaintextForm},
    params::Params,
    scheme::{Ckks, Maps, Slots},
};
use limbwise_apps::{
    Array, Details, Encryption, Evaluation, Program,
    program::{Numbers, SlotsInput as Input},
};
use limbwise_device::Device;

#[derive(Clone, Debug)]
pub struct Step {
    pub op: Op,
    /// To which values: inputs first, then the results of the steps before, in order.
    pub operands: Vec<usize>,
    /// For [`Op::Linear`]: how its map is encoded.
    pub plan: Option<LinearPlan>,
}

/// A program as a list of operations.
#[derive(Clone, Debug)]
pub struct Tape {
    pub params: Params,
    pub inputs: Vec<Input>,
    /// The operations, in order.
    pub steps: Vec<Step>,
    /// Values that are results, at least one.
    pub results: Vec<usize>,
    /// Batch and slots of each of them.
    pub shapes: Vec<[usize; 2]>,
    /// How the program bootstraps, if it does.
    pub bootstrapping: Option<BootstrapPlan>,
}

impl Tape {
    /// The same, bootstrapped in another way.
    #[must_use]
    pub fn with_bootstrapping(&self, plan: BootstrapPlan) -> Self {
        Self { bootstrapping: self.bootstrapping.map(|_| plan), ..self.clone() }
    }

    /// The same with the diagonals of all maps in one form.
    #[must_use]
    pub fn with_form(&self, form: PlaintextForm) -> Self {
        let with = |step: &Step| Step { plan: step.plan.map(|plan| LinearPlan { form, ..plan }), ..step.clone() };
        Self { steps: self.steps.iter().map(with).collect(), ..self.clone() }
    }

    /// Its clear linear maps, each with the way in which it is evaluated.
    pub fn maps(&self) -> Vec<(&Diagonals, LinearPlan)> {
        let map = |step| match step {
            &Step { op: Op::Linear(ref map), plan: Some(plan), .. } => Some((&**map, plan)),
            _ => None,
        };
        self.steps.iter().filter_map(map).collect()
    }

    /// The step after which each value is used no more; results are never let go.
    fn last_uses(&self) -> Vec<usize> {
        let mut last = vec![0; self.inputs.len() + self.steps.len()];
        for (at, step) in self.steps.iter().enumerate() {
            step.operands.iter().for_each(|&operand| last[operand] = at);
        }
        self.results.iter().for_each(|&result| last[result] = usize::MAX);
        last
    }
}

impl Program for Tape {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "program"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        self.inputs.clone()
    }

    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    fn model(&self) -> Maps<'_> {
        Maps { maps: self.maps(), bootstrapping: self.bootstrapping }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means: Slots { auto, maps }, inputs, observer, .. } = on;
        let mut values: Vec<Option<Value<D>>> = inputs.iter().map(|c| Some(Value::new(c.clone()))).collect();
        let source = || auto.bootstrapper();
        let machine = Machine { auto, bootstrapper: self.bootstrapping.is_some().then_some(&source) };
        let last = self.last_uses();
        let mut maps = maps.iter();
        for (at, step) in self.steps.iter().enumerate() {
            observer.step(step.op.name(), at, self.steps.len());
            let _region = auto.eval.device().region(step.op.name(), u32::try_from(at).unwrap_or(u32::MAX));
            let operands: Vec<&Value<D>> =
                step.operands.iter().map(|&i| values[i].as_ref().expect("held until its last use")).collect();
            let map = if matches!(step.op, Op::Linear(_)) { maps.next() } else { None };
            let linear = |a: &Ciphertext<D>| auto.linear_transform(a, map.expect("each map was encoded"));
            let result = step.op.apply(&machine, &operands, &linear)?;
            values.push(Some(Value::new(result)));
            for &operand in step.operands.iter().filter(|&&i| last[i] == at) {
                values[operand] = None;
            }
        }
        let result = |&i: &usize| values[i].as_ref().expect("results are kept").get();
        Ok(self.results.iter().map(result).collect())
    }

    fn results(&self) -> usize {
        self.results.len()
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let array = |(values, shape): (&Vec<Vec<Complex64>>, &[usize; 2])| Array {
            name: "result".into(),
            shape: shape.to_vec(),
            values: values.concat(),
            numbers: Numbers::Complex,
        };
        results.iter().zip(&self.shapes).map(array).collect()
    }

    fn details(&self) -> Details {
        Details::new()
    }
}
