//! The object behind a Python context: one side, or both, of an encrypted computation; or its trace.

use crate::{
    ciphertext::{Held, PyCiphertext},
    error::{exception, of_runtime, of_scheme, shape_error},
    live::Live,
    share::Book,
    trace::Trace,
};
use limbwise::{params::Params, rlwe::KeyForm};
use limbwise_device::Null;
use limbwise_math::sampling::Seed;
use limbwise_runtime::{
    Host, open,
    tape::{Op, Value},
};
use pyo3::prelude::{PyResult, Python, pyclass};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

pub(crate) enum Engine {
    Live(Box<Live>),
    Trace(Box<Trace>),
}

/// A computation on encrypted values under one parameter set.
#[pyclass(frozen, module = "limbwise._limbwise")]
pub(crate) struct Session {
    pub(crate) engine: Engine,
    /// Ciphertexts belong to one session; those of the two sides of one client share it.
    pub(crate) number: u64,
    pub(crate) name: String,
    /// What was shared under its key.
    pub(crate) sharing: Book,
}

static SESSIONS: AtomicU64 = AtomicU64::new(1);

pub(crate) fn next_number() -> u64 {
    SESSIONS.fetch_add(1, Ordering::Relaxed)
}

impl Session {
    pub(crate) fn live(&self, op: &str) -> PyResult<&Live> {
        match &self.engine {
            Engine::Live(live) => Ok(live),
            Engine::Trace(_) => {
                let text = format!(
                    "{op} needs values, and a program that is planned or timed has none: return what you want to see, and call {op} on the result of a run"
                );
                Err(exception("TraceError", &text))
            }
        }
    }

    pub(crate) fn params(&self) -> &Params {
        match &self.engine {
            Engine::Live(live) => &live.params,
            Engine::Trace(trace) => &trace.params,
        }
    }

    pub(crate) fn owns(&self, op: &str, ciphertext: &PyCiphertext) -> PyResult<()> {
        if ciphertext.session == self.number {
            return Ok(());
        }
        let text = format!(
            "{op}: this ciphertext belongs to another context, whose keys are different ones: use the context that encrypted it, or encrypt the values again"
        );
        Err(exception("ContextError", &text))
    }

    pub(crate) fn made(&self, held: Held, seed: Option<Seed>) -> PyCiphertext {
        PyCiphertext { session: self.number, held, seed, claimed: false }
    }

    /// A result of operands: if one of them is somebody else's word, so is what it says of itself.
    pub(crate) fn computed(&self, held: Held, operands: &[&PyCiphertext]) -> PyCiphertext {
        let claimed = operands.iter().any(|operand| operand.claimed);
        PyCiphertext { claimed, ..self.made(held, None) }
    }

    /// A ciphertext that says the truth of itself.
    pub(crate) fn trusted<'c>(
        &self,
        op: &str,
        ciphertext: &'c PyCiphertext,
    ) -> PyResult<&'c Arc<Value<limbwise_runtime::AnyDevice>>> {
        let value = self.live_value(op, ciphertext)?;
        // Without the secret key nothing is decrypted, and that is what is said.
        if !ciphertext.claimed || self.live(op)?.secret.is_none() {
            return Ok(value);
        }
        let text = format!(
            "{op}: this array was read from bytes, so its error and its largest value are the word of whoever wrote them, who could learn the secret key if they were believed: say what you expect, context.from_bytes(data, expect=lw.record(program, inputs, context=context)), or trusted=True for bytes that you wrote yourself and nobody could change"
        );
        Err(exception("UnverifiedError", &text))
    }

    pub(crate) fn live_value<'c>(
        &self,
        op: &str,
        ciphertext: &'c PyCiphertext,
    ) -> PyResult<&'c Arc<Value<limbwise_runtime::AnyDevice>>> {
        self.owns(op, ciphertext)?;
        match &ciphertext.held {
            Held::Live(value) => Ok(value),
            Held::Trace(..) => Err(shape_error("a value of a trace where a ciphertext is wanted")),
        }
    }

    /// Carries out an operation without the interpreter's lock.
    pub(crate) fn run(&self, py: Python<'_>, op: Op, operands: &[&PyCiphertext]) -> PyResult<PyCiphertext> {
        operands.iter().try_for_each(|c| self.owns(op.name(), c))?;
        match &self.engine {
            Engine::Live(live) => {
                let values = operands.iter().map(|c| self.live_value(op.name(), c)).collect::<PyResult<Vec<_>>>()?;
                let result = py.detach(|| {
                    let values: Vec<&Value<_>> = values.iter().map(|v| &***v).collect();
                    live.apply(&op, &values)
                });
                Ok(self.computed(Held::Live(Arc::new(Value::new(result.map_err(of_scheme)?))), operands))
            }
            Engine::Trace(trace) => {
                let traced = traced(operands)?;
                let result = py.detach(|| trace.apply(&op, &traced));
                let (number, result) = result.map_err(of_scheme)?;
                Ok(self.made(Held::Trace(number, Arc::new(Value::new(result))), None))
            }
        }
    }

    pub(crate) fn sibling(&self, engine: Live) -> Self {
        let (number, name, sharing) = (self.number, self.name.clone(), self.sharing.clone());
        Self { engine: Engine::Live(Box::new(engine)), number, name, sharing }
    }
}

pub(crate) fn key_form(name: Option<&str>) -> PyResult<Option<KeyForm>> {
    match name {
        None => Ok(None),
        Some("stored") => Ok(Some(KeyForm::Stored)),
        Some("seeded") => Ok(Some(KeyForm::Seeded)),
        Some(other) => {
            let text = format!(
                "keys = {other:?}: choose \"stored\" or \"seeded\", or pathlib.Path(directory) to keep them on disk"
            );
            Err(exception("ParamsError", &text))
        }
    }
}

pub(crate) fn traced<'c>(operands: &[&'c PyCiphertext]) -> PyResult<Vec<(usize, &'c Value<Null>)>> {
    let of = |c: &&'c PyCiphertext| match &c.held {
        Held::Trace(number, value) => Ok((*number, &**value)),
        Held::Live(_) => Err(shape_error("a ciphertext where a value of the trace is wanted")),
    };
    operands.iter().map(of).collect()
}

pub(crate) fn open_device(
    device: Option<String>,
    threads: Option<usize>,
) -> PyResult<Arc<limbwise_runtime::AnyDevice>> {
    Ok(Arc::new(open(&Host { device, isa: None, threads }).map_err(of_runtime)?))
}
