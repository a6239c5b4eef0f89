//! Programs on exact values that were written in Python: written down once, then planned, timed and saved like others.

use crate::{
    apart::apart,
    error::{exception, of_runtime},
    integers_call::{self, Numbers},
    program::{calibrated, json_of, too_small, write_graph},
    tfhe_call,
    timing::timed,
    workload::facts,
};
use limbwise::{
    Error, Result,
    bgv::{BgvParams, BgvReading, Ciphertext as IntegerCiphertext, Encoder, Magnitude},
    rlwe::KeyForm,
    scheme::{Bgv, Integers, Messages, Tfhe},
    tfhe::{Ciphertext, Format, TfheParams, TfheReading},
};
use limbwise_apps::{
    Program,
    family::{integer_arrays, message_arrays},
    program::{Array, Details, Encryption, Evaluation},
};
use limbwise_device::Device;
use limbwise_graph::Graph;
use limbwise_machines::Spec;
use limbwise_runtime::{Recording, calibrate::degrees, frontier::Budget, plan::plan, record, scheme::Piped};
use pyo3::prelude::{PyResult, Python, pyclass, pymethods};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

/// An operation on values by their numbers: inputs first, then results in order.
#[derive(Clone)]
struct Step<C> {
    call: C,
    operands: Vec<usize>,
}

/// Inputs and operations in order, as they come.
#[derive(Clone)]
pub(crate) struct Tape<I, C> {
    inputs: Vec<I>,
    steps: Vec<Step<C>>,
    values: usize,
}

/// A tape that is being written.
pub(crate) struct Draft<I, C>(Mutex<Tape<I, C>>);

impl<I, C> Default for Draft<I, C> {
    fn default() -> Self {
        Self(Mutex::new(Tape { inputs: Vec::new(), steps: Vec::new(), values: 0 }))
    }
}

impl<I: Clone, C: Clone> Draft<I, C> {
    fn tape(&self) -> MutexGuard<'_, Tape<I, C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of an input; none once there are operations.
    pub(crate) fn input(&self, input: I) -> Option<usize> {
        let mut tape = self.tape();
        if !tape.steps.is_empty() {
            return None;
        }
        tape.inputs.push(input);
        tape.values += 1;
        Some(tape.values - 1)
    }

    /// The number of the first of the results of an operation.
    pub(crate) fn step(&self, call: C, operands: Vec<usize>, results: usize) -> usize {
        let mut tape = self.tape();
        tape.steps.push(Step { call, operands });
        tape.values += results;
        tape.values - results
    }

    pub(crate) fn finished(&self) -> Tape<I, C> {
        self.tape().clone()
    }
}

impl<I, C> Tape<I, C> {
    /// The results of all operations on these inputs; what no later operation takes is let go.
    fn replay<V: Clone>(
        &self,
        inputs: Vec<V>,
        results: &[usize],
        mut apply: impl FnMut(usize, &C, &[V]) -> Result<Vec<V>>,
    ) -> Result<Vec<V>> {
        let mut last = vec![0; self.values];
        for (at, step) in self.steps.iter().enumerate() {
            step.operands.iter().for_each(|&value| last[value] = at);
        }
        results.iter().for_each(|&value| last[value] = usize::MAX);
        let mut values: Vec<Option<V>> = inputs.into_iter().map(Some).collect();
        for (at, step) in self.steps.iter().enumerate() {
            let held = |&value: &usize| values[value].clone().expect("held until its last use");
            let operands: Vec<V> = step.operands.iter().map(held).collect();
            values.extend(apply(at, &step.call, &operands)?.into_iter().map(Some));
            step.operands.iter().filter(|&&value| last[value] == at).for_each(|&value| values[value] = None);
        }
        Ok(results.iter().map(|&value| values[value].clone().expect("results are kept")).collect())
    }
}

/// A batch of messages and the format of its integers; none of booleans.
pub(crate) type TfheInput = (usize, Option<Format>);

/// A program on integers and booleans of TFHE.
pub(crate) struct TfheProgram {
    pub(crate) params: TfheParams,
    pub(crate) lanes: usize,
    pub(crate) tape: Tape<TfheInput, tfhe_call::Call>,
    pub(crate) results: Vec<usize>,
}

fn names(of: &str, count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(move |number| format!("{of} {number}"))
}

/// What went well when it was written down goes well again, but for errors of the scheme.
fn of_scheme(refused: tfhe_call::Refused) -> Error {
    match refused {
        tfhe_call::Refused::Scheme(error) => error,
        _ => unreachable!("refused when it was written down"),
    }
}

impl Program for TfheProgram {
    type Scheme = Tfhe;

    fn name(&self) -> &'static str {
        "program"
    }

    fn params(&self) -> &TfheParams {
        &self.params
    }

    fn inputs(&self) -> Vec<Messages> {
        let most = |format: Option<Format>| if format.is_some() { self.params.space() - 1 } else { 1 };
        let input = |(name, &(batch, format))| Messages { name, batch, most: most(format) };
        names("input", self.tape.inputs.len()).zip(&self.tape.inputs).map(input).collect()
    }

    fn model(&self) {}

    /// There is no public key.
    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Tfhe>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means: eval, inputs, observer, .. } = on;
        let side = tfhe_call::Side { eval: *eval, lanes: self.lanes };
        let inputs = inputs.iter().zip(&self.tape.inputs).map(|(ct, &(_, format))| (ct.clone(), format)).collect();
        let made = self.tape.replay(inputs, &self.results, |at, call, operands| {
            observer.step(call.name(), at, self.tape.steps.len());
            let _region = eval.device().region(call.name(), u32::try_from(at).unwrap_or(u32::MAX));
            tfhe_call::applied(&side, call, operands).map_err(of_scheme)
        })?;
        Ok(made.into_iter().map(|(ct, _)| ct).collect())
    }

    fn results(&self) -> usize {
        self.results.len()
    }

    fn arrays(&self, results: &Vec<TfheReading>) -> Vec<Array> {
        message_arrays(names("result", self.results.len()), results)
    }

    fn details(&self) -> Details {
        Details::new()
    }
}

/// A batch of messages, and whether they are words: residues modulo every plaintext modulus.
pub(crate) type BgvInput = (usize, bool);

/// A program on integers of BGV.
pub(crate) struct BgvProgram {
    pub(crate) params: BgvParams,
    pub(crate) tape: Tape<BgvInput, integers_call::Call>,
    pub(crate) results: Vec<usize>,
    /// Ciphertexts of all results: one for each residue.
    pub(crate) ciphertexts: usize,
}

impl BgvProgram {
    fn residues(&self, words: bool) -> usize {
        if words { self.params.moduli().len() } else { 1 }
    }
}

impl Program for BgvProgram {
    type Scheme = Bgv;

    fn name(&self) -> &'static str {
        "program"
    }

    fn params(&self) -> &BgvParams {
        &self.params
    }

    fn inputs(&self) -> Vec<Integers> {
        let level = self.params.top_level();
        let all = names("input", self.tape.inputs.len()).zip(&self.tape.inputs);
        all.flat_map(|(name, &(batch, words))| {
            (0..self.residues(words)).map(move |modulus| Integers {
                name: name.clone(),
                batch,
                level,
                domain: limbwise_device::Domain::Eval,
                modulus,
            })
        })
        .collect()
    }

    fn model(&self) {}

    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Bgv>) -> Result<Vec<IntegerCiphertext<D>>> {
        let Evaluation { means: auto, inputs, observer, .. } = on;
        let (encoder, mut rest) = (Encoder::new(&self.params), inputs);
        let numbers = |&(_, words): &BgvInput| {
            let own;
            (own, rest) = rest.split_at(self.residues(words));
            Numbers { residues: own.to_vec(), magnitude: words.then_some(Magnitude::WORD) }
        };
        let inputs = self.tape.inputs.iter().map(numbers).collect();
        let made = self.tape.replay(inputs, &self.results, |at, call, operands| {
            observer.step(call.name(), at, self.tape.steps.len());
            let _region = auto.eval.device().region(call.name(), u32::try_from(at).unwrap_or(u32::MAX));
            let operands: Vec<&Numbers<D>> = operands.iter().collect();
            Ok(vec![integers_call::applied(auto, &encoder, call, &operands)?])
        })?;
        Ok(made.into_iter().flat_map(|numbers| numbers.residues).collect())
    }

    fn results(&self) -> usize {
        self.ciphertexts
    }

    fn arrays(&self, results: &BgvReading) -> Vec<Array> {
        integer_arrays(names("result", self.ciphertexts), results)
    }

    fn details(&self) -> Details {
        Details::new()
    }
}

/// A program with what was learned of it.
struct Written<P: Program<Scheme: Piped>> {
    program: P,
    preset: String,
    recording: OnceLock<Arc<Recording<P::Scheme>>>,
}

impl<P: Program<Scheme: Piped>> Written<P> {
    fn of(program: P, preset: &str) -> Arc<Self> {
        Arc::new(Self { program, preset: preset.into(), recording: OnceLock::new() })
    }

    fn recording(&self) -> Result<Arc<Recording<P::Scheme>>> {
        if let Some(known) = self.recording.get() {
            return Ok(known.clone());
        }
        let recorded = Arc::new(record(&self.program, KeyForm::Stored, &limbwise_cpu::footprint())?);
        Ok(self.recording.get_or_init(|| recorded).clone())
    }

    fn graph(&self) -> Result<Arc<Graph>> {
        Ok(self.recording()?.graph.clone())
    }

    fn facts(&self) -> Result<serde_json::Value> {
        Ok(facts::<P::Scheme>(self.program.params(), &self.preset, "as written", &*self.recording()?))
    }

    /// The plan as JSON, and the most memory that it takes.
    fn plan(&self) -> limbwise_runtime::Result<(serde_json::Value, u64)> {
        let host = calibrated(degrees::<P::Scheme>(self.program.params()))?;
        let recording = record(&self.program, KeyForm::Stored, &host.footprint())?;
        let made = plan(&self.program, &self.preset, &recording, &host)?;
        Ok((serde_json::json!(made), made.peak_memory_bytes.predicted))
    }

    fn timed(
        &self,
        machine: &str,
        overrides: &[(String, String)],
        events: usize,
    ) -> limbwise_runtime::Result<(String, Option<String>)> {
        let spec = match machine {
            "cpu" => calibrated(degrees::<P::Scheme>(self.program.params()))?.spec()?,
            name => Spec::load(name)?,
        };
        timed(&self.recording()?.graph, &spec.with_overrides(overrides)?, events)
    }
}

enum Any {
    Tfhe(Arc<Written<TfheProgram>>),
    Bgv(Arc<Written<BgvProgram>>),
}

/// A program on exact values, written down.
#[pyclass(frozen, module = "limbwise._limbwise")]
pub(crate) struct ExactRecorded(Any);

/// Does something with the program of either scheme, apart from the interpreter.
macro_rules! on_program {
    ($py:expr, $self:expr, $written:ident => $does:expr) => {
        match &$self.0 {
            Any::Tfhe(written) => {
                let $written = written.clone();
                apart($py, move || $does)
            }
            Any::Bgv(written) => {
                let $written = written.clone();
                apart($py, move || $does)
            }
        }
    };
}

impl ExactRecorded {
    pub(crate) fn of_tfhe(program: TfheProgram, preset: &str) -> Self {
        Self(Any::Tfhe(Written::of(program, preset)))
    }

    pub(crate) fn of_bgv(program: BgvProgram, preset: &str) -> Self {
        Self(Any::Bgv(Written::of(program, preset)))
    }
}

#[pymethods]
impl ExactRecorded {
    /// Operations of the front end, by name.
    #[getter]
    fn operations(&self) -> Vec<&'static str> {
        match &self.0 {
            Any::Tfhe(written) => written.program.tape.steps.iter().map(|step| step.call.name()).collect(),
            Any::Bgv(written) => written.program.tape.steps.iter().map(|step| step.call.name()).collect(),
        }
    }

    /// The plan as JSON.
    #[pyo3(signature = (memory=None))]
    fn plan(&self, py: Python<'_>, memory: Option<u64>) -> PyResult<String> {
        let (made, peak) = on_program!(py, self, written => written.plan())?.map_err(of_runtime)?;
        match memory {
            Some(limit) if peak > Budget::Asked(limit).most() => {
                Err(too_small(limit, peak, "allow that, or compute on fewer values at a time"))
            }
            _ => json_of(&made),
        }
    }

    /// What the recording holds, as JSON.
    fn record(&self, py: Python<'_>) -> PyResult<String> {
        json_of(&on_program!(py, self, written => written.facts())?.map_err(crate::error::of_scheme)?)
    }

    /// Writes the graph (docs/graph-format.md).
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let graph = on_program!(py, self, written => written.graph())?.map_err(crate::error::of_scheme)?;
        write_graph(py, &graph, &path)
    }

    /// The program on a machine: its report and, with events, its schedule as a Chrome trace; both JSON.
    #[pyo3(signature = (name, overrides, events=0))]
    fn time(
        &self,
        py: Python<'_>,
        name: String,
        overrides: Vec<(String, String)>,
        events: usize,
    ) -> PyResult<(String, Option<String>)> {
        on_program!(py, self, written => written.timed(&name, &overrides, events))?.map_err(of_runtime)
    }
}

/// Raised where an input comes after an operation, or a result is no value of the recording.
pub(crate) fn out_of_order(what: &str) -> pyo3::prelude::PyErr {
    exception("TraceError", what)
}
