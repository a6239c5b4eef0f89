//! A table on integers in slots, looked up by bootstrapping: every slot's integer becomes its entry, with levels left.
//!
//! The clear twin is the table itself. An entry is right if the decrypted number is nearer to it than to any other.

use crate::{
    client::{Client, Conclusion},
    family::SlotsFound,
    linear::data::generated,
    program::{Array, Ckks, Details, Encryption, Evaluation, Numbers, Program, SlotsInput as Input, State, fields},
    way::Way,
};
use limbwise::{
    Complex64, Result,
    ckks::{BootstrapPlan, Ciphertext, Lookup, LookupTable, Packing, Precision, Promise, bootstrap::Content},
    params::Params,
    scheme::Maps,
};
use limbwise_device::Device;
use serde_json::json;

pub mod options;

/// Steps after which the state is saved.
const STEPS: usize = 5;

/// Why the workload cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TableAppError {
    #[error("{got} slots: choose a power of two from 1 to {most}, or a preset with a larger ring")]
    Slots { got: usize, most: usize },
    #[error("value {index} is {value}: wanted integers from 0 to {most}, as many as the table has entries")]
    NoInteger { index: usize, value: Complex64, most: usize },
    #[error("got {got} values; the program is for {slots} slots")]
    TooMany { got: usize, slots: usize },
}

/// The workload, without its integers.
#[derive(Clone, Debug)]
pub struct TableProgram {
    params: Params,
    plan: BootstrapPlan,
    table: LookupTable,
    output_level: usize,
}

impl TableProgram {
    /// A table, looked up by a bootstrapping plan.
    ///
    /// # Errors
    /// A slot count that the ring has not; parameters that the table does not fit.
    pub fn new(params: &Params, plan: BootstrapPlan, table: LookupTable) -> Result<Self, TableError> {
        let output_level = table.output_level(params)?;
        if !plan.slots.is_power_of_two() || plan.slots > params.max_slots() {
            return Err(TableAppError::Slots { got: plan.slots, most: params.max_slots() }.into());
        }
        Ok(Self { params: params.clone(), plan, table, output_level })
    }

    /// Bootstrapping configuration.
    pub fn plan(&self) -> BootstrapPlan {
        self.plan
    }

    fn is_complex(&self) -> bool {
        self.plan.content == Content::Complex
    }

    /// Integers in a ciphertext: two a slot if both parts are looked up.
    fn integers(&self) -> usize {
        self.plan.slots * if self.is_complex() { 2 } else { 1 }
    }

    fn floor(&self) -> usize {
        self.params.bootstrapping().map_or(0, limbwise::params::Bootstrapping::input_level)
    }
}

/// Any reason why the workload cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error(transparent)]
    App(#[from] TableAppError),
    #[error(transparent)]
    Scheme(#[from] limbwise::Error),
}

impl Program for TableProgram {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "table"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        let level = self.floor() + self.table.levels_before(&self.params);
        let packing = Packing { slots: self.plan.slots, level, scale: self.params.scale(level) };
        let parts = if self.is_complex() { 2f64.sqrt() } else { 1.0 };
        let peak = (self.table.values().len() - 1) as f64 * parts;
        let bounds = Promise { magnitude: peak, peak, real: !self.is_complex() };
        vec![Input { name: "integers".into(), batch: 1, packing, bounds }]
    }

    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    fn model(&self) -> Maps<'_> {
        Maps { maps: Vec::new(), bootstrapping: Some(self.plan) }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs, observer, journal } = on;
        let auto = &means.auto;
        let lookup = Lookup::new(auto.bootstrapper()?, &self.table, &self.params)?;
        let mut underway = lookup.begin(auto, &inputs[0])?;
        if let Some(State { step, mut ciphertexts, numbers }) = journal.resume()? {
            let (Some(value), [expected], 0..=STEPS) = (ciphertexts.pop(), &numbers[..], step) else {
                return Err(limbwise::Error::State);
            };
            underway = underway.resumed(step, value, *expected);
        }
        while let Some(name) = lookup.next_step(&underway) {
            observer.step(name, underway.done, STEPS);
            underway = lookup.advance(auto, underway)?;
            let ciphertexts = vec![underway.value.clone()];
            journal.keep(&State { step: underway.done, ciphertexts, numbers: vec![underway.expected] })?;
        }
        Ok(vec![lookup.finish(auto, &underway)?])
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let values = results[0][0].clone();
        let numbers = if self.is_complex() { Numbers::Complex } else { Numbers::Real };
        vec![Array { name: "entries".into(), shape: vec![values.len()], values, numbers }]
    }

    fn details(&self) -> Details {
        let out_of_range = self.params.bootstrapping().map_or(0.0, |boot| boot.log2_lookup_failure().max(-999.0));
        fields(json!({
            "slots": self.plan.slots,
            "integers": self.integers(),
            "entries": self.table.values().len(),
            "levels_left": self.output_level - self.floor(),
            "log2_out_of_range": out_of_range,
            "bootstrap_plan": self.plan,
        }))
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        let seconds: f64 = steps.iter().map(|(_, s)| s).sum();
        if steps.len() < STEPS {
            return Details::new(); // resumed after some of them
        }
        fields(json!({ "lookup_seconds": seconds, "us_an_integer": seconds / self.integers() as f64 * 1e6 }))
    }

    fn in_way(&self, way: Way) -> Self {
        Self { plan: way.bootstrapping.unwrap_or(self.plan), ..self.clone() }
    }
}

/// The client: its integers, and the table, which is public.
#[derive(Clone, Debug)]
pub struct TableClient {
    values: Vec<Complex64>,
    table: LookupTable,
    complex: bool,
}

impl TableClient {
    /// Integers, filled up with zeros.
    ///
    /// # Errors
    /// More than there are slots; numbers that are no integers of the table.
    pub fn new(program: &TableProgram, mut values: Vec<Complex64>) -> Result<Self, TableAppError> {
        let (slots, complex) = (program.plan.slots, program.is_complex());
        if values.len() > slots {
            return Err(TableAppError::TooMany { got: values.len(), slots });
        }
        let most = program.table.values().len() - 1;
        let fits = |x: f64| x.fract() == 0.0 && (0.0..=most as f64).contains(&x);
        if let Some(index) = values.iter().position(|z| !fits(z.re) || !fits(z.im) || (z.im != 0.0 && !complex)) {
            return Err(TableAppError::NoInteger { index, value: values[index], most });
        }
        values.resize(slots, Complex64::default());
        Ok(Self { values, table: program.table.clone(), complex })
    }

    /// Uniform integers by a seed.
    pub fn uniform(program: &TableProgram, seed: u64) -> Result<Self, TableAppError> {
        let count = program.table.values().len() as f64;
        let parts = generated(seed, 0, 2 * program.plan.slots, 1.0);
        let integer = |x: f64| ((x + 1.0) / 2.0 * count).floor().clamp(0.0, count - 1.0);
        let value =
            |pair: &[f64]| Complex64::new(integer(pair[0]), if program.is_complex() { integer(pair[1]) } else { 0.0 });
        Self::new(program, parts.chunks_exact(2).map(value).collect())
    }

    fn wanted(&self) -> Vec<Complex64> {
        let entry = |x: f64| self.table.entry(x);
        self.values.iter().map(|z| Complex64::new(entry(z.re), if self.complex { entry(z.im) } else { 0.0 })).collect()
    }
}

impl Client for TableClient {
    type Scheme = Ckks;

    fn values(&self, _input: usize) -> Vec<Vec<Complex64>> {
        vec![self.values.clone()]
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let (wanted, margin) = (self.wanted(), self.table.margin());
        let right = |got: f64, entry: f64| (got - entry).abs() < margin;
        let pairs = || results[0][0].iter().zip(&wanted);
        let imaginary = |got: &Complex64, entry: &Complex64| self.complex && !right(got.im, entry.im);
        let wrong = pairs().filter(|(got, entry)| !right(got.re, entry.re)).count()
            + pairs().filter(|(got, entry)| imaginary(got, entry)).count();
        let largest = pairs().map(|(got, entry)| (got.re - entry.re).abs()).fold(0.0, f64::max);
        let compared = wanted.len() * if self.complex { 2 } else { 1 };
        Conclusion {
            found: SlotsFound { precision: Precision::of(&results[0][0], &wanted), accuracy: None },
            details: fields(json!({ "compared": compared, "wrong": wrong, "largest_error": largest })),
            warnings: Vec::new(),
        }
    }
}
