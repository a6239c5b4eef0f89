//! Exact integers and booleans: what `limbwise.tfhe` computes with.

use crate::error::{exception, of_runtime, of_scheme};
use limbwise::{
    Error, Result,
    tfhe::{
        Boolean, Ciphertext, ClientKey, Comparison, Evaluator, Format, Gate, Integers, Radix, ServerKey, TfheError,
        TfheLiteral, TfheParams, preset,
        radix::{
            bits::{Bitwise, Shift},
            format::Sign,
        },
    },
};
use limbwise_runtime::{AnyDevice, Host, open};
use pyo3::prelude::{PyErr, PyResult, Python, pyclass, pymethods};

/// Encrypted integers of a format, or booleans, in a row.
#[pyclass(frozen, module = "limbwise._limbwise")]
pub(crate) struct TfheCiphertext {
    ct: Ciphertext<AnyDevice>,
    /// None of booleans.
    format: Option<Format>,
}

#[pymethods]
impl TfheCiphertext {
    /// Number of values.
    #[getter]
    fn rows(&self) -> usize {
        self.ct.batch() / self.format.map_or(1, Format::digits)
    }
}

/// Both sides of a computation on exact values.
#[pyclass(frozen, module = "limbwise._limbwise")]
pub(crate) struct TfheSession {
    dev: AnyDevice,
    client: ClientKey,
    server: ServerKey<AnyDevice>,
    name: String,
    lanes: usize,
}

/// The exception of an error of TFHE.
fn refused(error: Error) -> PyErr {
    let class = match &error {
        Error::Tfhe(TfheError::Width(_) | TfheError::Digits(_) | TfheError::UnknownPreset(..)) => "ParamsError",
        Error::Tfhe(TfheError::Value { .. } | TfheError::Message { .. }) => "EncodeError",
        Error::Tfhe(TfheError::Formats { .. } | TfheError::Batch { .. } | TfheError::Shift { .. }) => "ShapeError",
        Error::Tfhe(TfheError::OtherKeys { .. } | TfheError::OtherParams { .. }) => "ContextError",
        _ => return of_scheme(error),
    };
    exception(class, &error.to_string())
}

fn comparison(op: &str) -> Option<Comparison> {
    Some(match op {
        "eq" => Comparison::Equal,
        "ne" => Comparison::NotEqual,
        "lt" => Comparison::Less,
        "le" => Comparison::AtMost,
        "gt" => Comparison::Greater,
        "ge" => Comparison::AtLeast,
        _ => return None,
    })
}

fn bitwise(op: &str) -> Option<Bitwise> {
    Some(match op {
        "and" => Bitwise::And,
        "or" => Bitwise::Or,
        "xor" => Bitwise::Xor,
        _ => return None,
    })
}

fn gate(op: &str) -> Option<Gate> {
    Some(match op {
        "and" => Gate::And,
        "or" => Gate::Or,
        "xor" | "ne" => Gate::Xor,
        "eq" => Gate::Xnor,
        _ => return None,
    })
}

/// An operation that the kind of value does not have.
fn no_operation(op: &str) -> PyErr {
    exception("DtypeError", &format!("{op} is for encrypted integers, not for booleans: use &, |, ^, ~, ==, !="))
}

type Values<'a> = Radix<'a, AnyDevice>;

impl TfheSession {
    fn eval(&self) -> Evaluator<'_, AnyDevice> {
        Evaluator::new(&self.dev, &self.server)
    }

    fn integers(&self, a: &TfheCiphertext, format: Format) -> Result<Values<'_>> {
        Integers::new(self.eval())?.with_lanes(self.lanes).value(format, &a.ct)
    }

    fn boolean(&self, a: &TfheCiphertext) -> Result<Boolean<'_, AnyDevice>> {
        Boolean::new(self.eval(), a.ct.clone())
    }

    fn held(value: &Values<'_>) -> Result<TfheCiphertext> {
        Ok(TfheCiphertext { ct: value.ciphertext()?, format: Some(value.format()) })
    }

    fn answered(answer: &Boolean<'_, AnyDevice>) -> TfheCiphertext {
        TfheCiphertext { ct: answer.ciphertext().clone(), format: None }
    }

    /// Computes without the interpreter's lock.
    fn apart(py: Python<'_>, f: impl FnOnce() -> Result<TfheCiphertext> + Send) -> PyResult<TfheCiphertext> {
        py.detach(f).map_err(refused)
    }
}

#[pymethods]
impl TfheSession {
    /// New keys under a preset, or under a set as `limbwise params show NAME` prints it.
    #[new]
    #[pyo3(signature = (name, toml=None, *, threads=None))]
    fn new(py: Python<'_>, name: String, toml: Option<&str>, threads: Option<usize>) -> PyResult<Self> {
        let wrong = |e: toml::de::Error| {
            let next = "\"limbwise params show 2-2-p128\" prints a text of the right form";
            exception(
                "ParamsError",
                &format!("{name}: not a TFHE parameter set: {}\n({next})", e.to_string().trim_end()),
            )
        };
        let literal: TfheLiteral = match toml {
            Some(text) => toml::from_str(text).map_err(wrong)?,
            None => preset(&name).map_err(refused)?,
        };
        let params = TfheParams::new(&literal).map_err(|e| of_scheme(e.into()))?;
        let dev = open(&Host { device: None, isa: None, threads }).map_err(of_runtime)?;
        let lanes = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let keys = py.detach(|| -> Result<_> {
            let client = ClientKey::generate(&params)?;
            let server = ServerKey::new(&dev, &client.bootstrap_keys(&dev));
            Ok((client, server))
        });
        let (client, server) = keys.map_err(refused)?;
        Ok(Self { dev, client, server, name, lanes })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn security_bits(&self) -> u32 {
        self.client.params().security().bits
    }

    #[getter]
    fn insecure_reason(&self) -> Option<String> {
        self.client.params().security().insecure_reason.clone()
    }

    /// log₂ of the probability that a bootstrapping fails.
    #[getter]
    fn log2_failure(&self) -> f64 {
        self.client.params().log2_failure()
    }

    #[getter]
    fn key_bytes(&self) -> u64 {
        self.client.params().server_key_bytes()
    }

    /// Encrypts words: values modulo 2^64, of so many bits; one bit is a boolean.
    fn encrypt(&self, py: Python<'_>, words: Vec<u64>, bits: u32, signed: bool) -> PyResult<TfheCiphertext> {
        Self::apart(py, || {
            if bits == 1 {
                let ct = self.client.encrypt(&self.dev, &words)?.at_most(1)?;
                return Ok(TfheCiphertext { ct, format: None });
            }
            let format = Format::new(bits, if signed { Sign::Signed } else { Sign::Unsigned })?;
            let values: Vec<i128> = words.into_iter().map(|w| format.wrapped(w.into())).collect();
            let ct = self.client.encrypt(&self.dev, &format.messages(&values)?)?;
            Ok(TfheCiphertext { ct, format: Some(format) })
        })
    }

    /// Values modulo 2^64.
    fn decrypt(&self, py: Python<'_>, a: &TfheCiphertext) -> PyResult<Vec<u64>> {
        let word = |v: i128| u64::try_from(v.rem_euclid(1 << 64)).expect("below 2^64");
        let values = py.detach(|| -> Result<Vec<u64>> {
            let messages = self.client.decrypt(&self.dev, &a.ct)?;
            let Some(format) = a.format else { return Ok(messages) };
            Ok(format.values(&messages)?.into_iter().map(word).collect())
        });
        values.map_err(refused)
    }

    /// An operation of two ciphertexts of one kind.
    fn binary(&self, py: Python<'_>, op: &str, a: &TfheCiphertext, b: &TfheCiphertext) -> PyResult<TfheCiphertext> {
        let Some(format) = a.format else {
            let gate = gate(op).ok_or_else(|| no_operation(op))?;
            return Self::apart(py, || Ok(Self::answered(&self.boolean(a)?.gate(gate, &self.boolean(b)?)?)));
        };
        Self::apart(py, || {
            let (x, y) = (self.integers(a, format)?, self.integers(b, b.format.unwrap_or(format))?);
            if let Some(comparison) = comparison(op) {
                return Ok(Self::answered(&x.compare(comparison, &y)?));
            }
            Self::held(&match (op, bitwise(op)) {
                (_, Some(f)) => x.bitwise(f, &y)?,
                ("add", _) => x.add(&y)?,
                ("sub", _) => x.sub(&y)?,
                ("mul", _) => x.mul(&y)?,
                ("min", _) => x.min(&y)?,
                _ => x.max(&y)?,
            })
        })
    }

    /// An operation with a clear number on the right.
    fn clear(&self, py: Python<'_>, op: &str, a: &TfheCiphertext, value: i128) -> PyResult<TfheCiphertext> {
        let format = a.format.ok_or_else(|| no_operation(op))?;
        Self::apart(py, || {
            let x = self.integers(a, format)?;
            if let Some(comparison) = comparison(op) {
                return Ok(Self::answered(&x.compare_clear(comparison, value)?));
            }
            let by = u32::try_from(value).unwrap_or(u32::MAX);
            Self::held(&match (op, bitwise(op)) {
                (_, Some(f)) => x.bitwise_clear(f, value)?,
                ("add", _) => x.add_clear(value)?,
                ("sub", _) => x.sub_clear(value)?,
                ("mul", _) => x.mul_clear(value)?,
                ("shl", _) => x.shifted(Shift::Left, by)?,
                _ => x.shifted(Shift::Right, by)?,
            })
        })
    }

    /// All bits turned.
    fn complement(&self, py: Python<'_>, a: &TfheCiphertext) -> PyResult<TfheCiphertext> {
        Self::apart(py, || match a.format {
            Some(format) => Self::held(&self.integers(a, format)?.complement()),
            None => Ok(Self::answered(&!&self.boolean(a)?)),
        })
    }

    /// The negative.
    fn negated(&self, py: Python<'_>, a: &TfheCiphertext) -> PyResult<TfheCiphertext> {
        let format = a.format.ok_or_else(|| no_operation("-"))?;
        Self::apart(py, || Self::held(&self.integers(a, format)?.negated()?))
    }

    /// `choice ? yes : no`.
    fn select(
        &self,
        py: Python<'_>,
        choice: &TfheCiphertext,
        yes: &TfheCiphertext,
        no: &TfheCiphertext,
    ) -> PyResult<TfheCiphertext> {
        Self::apart(py, || {
            let choice = self.boolean(choice)?;
            match (yes.format, no.format) {
                (Some(a), Some(b)) => {
                    Self::held(&Radix::select(&choice, &self.integers(yes, a)?, &self.integers(no, b)?)?)
                }
                _ => Ok(Self::answered(&choice.mux(&self.boolean(yes)?, &self.boolean(no)?)?)),
            }
        })
    }
}
