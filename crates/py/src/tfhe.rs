//! Exact integers and booleans: what `limbwise.tfhe` computes with.

use crate::{
    error::{exception, of_runtime, of_scheme},
    exact::{Draft, ExactRecorded, TfheInput, TfheProgram, out_of_order},
    params::{literal, toml_of},
    secret::{lock, no_secret, secret_bytes},
    tfhe_call::{Call, Op, Refused, Side, applied},
    tfhe_held::{Engine, Held, TfheCiphertext, TfheExpected},
};
use limbwise::{
    Result,
    tfhe::{
        Ciphertext, ClientKey, Evaluator, Format, ServerKey, TfheExpectation, TfheLiteral, TfheParams, TfheReading,
        preset, radix::format::Sign,
    },
    wire::{self, Fingerprint, Origin},
};
use limbwise_device::Null;
use limbwise_runtime::{AnyDevice, Host, open};
use pyo3::{
    prelude::{Bound, PyErr, PyRef, PyResult, Python, pyclass, pymethods},
    types::PyBytes,
};
use std::sync::Arc;
use zeroize::Zeroizing;

/// What a session computes on.
enum On {
    /// A device; on the client's side there is no key to compute with.
    Live(Arc<AnyDevice>, Option<Arc<ServerKey<AnyDevice>>>),
    /// Nothing: it follows shapes, ranges and norms, and writes down what is done.
    Trace(Trace),
}

struct Trace {
    dev: Null,
    server: ServerKey<Null>,
    draft: Draft<TfheInput, Call>,
}

/// One side of a computation on exact values, or both; or its trace.
#[pyclass(frozen, module = "limbwise._limbwise")]
pub(crate) struct TfheSession {
    on: On,
    params: TfheParams,
    client: Option<Arc<ClientKey>>,
    /// The name of the key set.
    keys: Fingerprint,
    name: String,
    /// How many rows are bootstrapped at a time: additions choose their carries by it, so both sides have one number.
    lanes: usize,
}

/// The format of so many bits; none of booleans.
fn format(bits: u32, signed: bool) -> Result<Option<Format>> {
    let sign = if signed { Sign::Signed } else { Sign::Unsigned };
    Ok(if bits == 1 { None } else { Some(Format::new(bits, sign)?) })
}

/// The format of integers of so many bits.
fn integers((bits, signed): (u32, bool)) -> PyResult<Format> {
    let no_boolean = || exception("DtypeError", "a boolean is no integer: choose 4 bits or more");
    format(bits, signed).map_err(of_scheme)?.ok_or_else(no_boolean)
}

/// Parameters of a text as `limbwise params show NAME` prints it, or of a preset.
fn params_of(name: &str, toml: Option<&str>) -> PyResult<TfheParams> {
    let literal: TfheLiteral = match toml {
        Some(text) => literal(text, &format!("{name}: not a TFHE parameter set"), "2-2-p128")?,
        None => preset(name).map_err(of_scheme)?,
    };
    TfheParams::new(&literal).map_err(|e| of_scheme(e.into()))
}

fn device(threads: Option<usize>) -> PyResult<Arc<AnyDevice>> {
    Ok(Arc::new(open(&Host { device: None, isa: None, threads }).map_err(of_runtime)?))
}

/// How many messages are bootstrapped at a time.
fn lanes(threads: Option<usize>) -> usize {
    threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// A device, and the keys that a server has on it.
type Live<'a> = (&'a Arc<AnyDevice>, Option<&'a Arc<ServerKey<AnyDevice>>>);

impl TfheSession {
    /// The client's keys and the server's, of the secret.
    fn both(py: Python<'_>, secret: ClientKey, name: String, (dev, lanes): (Arc<AnyDevice>, usize)) -> Self {
        let server = py.detach(|| Arc::new(ServerKey::new(&*dev, &secret.bootstrap_keys(&*dev))));
        let (params, keys) = (secret.params().clone(), secret.identity());
        Self { on: On::Live(dev, Some(server)), params, client: Some(Arc::new(secret)), keys, name, lanes }
    }

    /// A session without values, of keys of this name.
    fn traced(params: TfheParams, (name, keys): (String, Fingerprint), lanes: usize) -> Self {
        let dev = Null::default();
        let server = ServerKey::declared(&dev, &params);
        Self { on: On::Trace(Trace { dev, server, draft: Draft::default() }), params, client: None, keys, name, lanes }
    }

    /// Another side of the same keys.
    fn sibling(&self, server: Option<Arc<ServerKey<AnyDevice>>>, client: Option<Arc<ClientKey>>) -> PyResult<Self> {
        let (dev, _) = self.live("a side")?;
        let (params, name) = (self.params.clone(), self.name.clone());
        Ok(Self { on: On::Live(dev.clone(), server), params, client, keys: self.keys, name, lanes: self.lanes })
    }

    fn live(&self, op: &str) -> PyResult<Live<'_>> {
        match &self.on {
            On::Live(dev, server) => Ok((dev, server.as_ref())),
            On::Trace(..) => Err(exception(
                "TraceError",
                &format!("{op} needs values, and a program that is recorded has none: return what you want to see"),
            )),
        }
    }

    fn secret(&self, op: &str) -> PyResult<&ClientKey> {
        self.client.as_deref().ok_or_else(|| no_secret(op))
    }

    /// Carries out an operation with one result without the interpreter's lock.
    fn call(&self, py: Python<'_>, call: &Call, operands: &[&TfheCiphertext]) -> PyResult<TfheCiphertext> {
        Ok(self.calls(py, call, operands)?.swap_remove(0))
    }

    /// Carries out an operation without the interpreter's lock.
    fn calls(&self, py: Python<'_>, call: &Call, operands: &[&TfheCiphertext]) -> PyResult<Vec<TfheCiphertext>> {
        let made = match &self.on {
            On::Live(_, None) => {
                let text = "computing needs the bootstrapping key, which this side does not have: compute on the server's, or with keys that are both sides";
                return Err(exception("KeyMissing", text));
            }
            On::Live(dev, Some(server)) => {
                let side = Side { eval: Evaluator::new(&**dev, &**server), lanes: self.lanes };
                py.detach(|| computed(&side, call, operands))
            }
            On::Trace(Trace { dev, server, .. }) => {
                py.detach(|| computed(&Side { eval: Evaluator::new(dev, server), lanes: self.lanes }, call, operands))
            }
        };
        let made = made.map_err(|e| match e {
            Refused::Scheme(error) => of_scheme(error),
            Refused::Operation(op) => no_operation(op),
            Refused::Backwards(by) => {
                let text = format!(
                    "a shift by {by} bits: the number is negative; shift the other way, by {}",
                    by.unsigned_abs()
                );
                exception("ShapeError", &text)
            }
            Refused::Other => exception("ContextError", "a value of a recording among encrypted ones"),
        })?;
        let claimed = operands.iter().any(|operand| operand.claimed);
        let first = match &self.on {
            On::Live(..) => 0,
            On::Trace(trace) => {
                trace.draft.step(call.clone(), operands.iter().map(|one| one.number).collect(), made.len())
            }
        };
        let value = |(number, (held, format))| TfheCiphertext { held, format, claimed, number };
        Ok((first..).zip(made).map(value).collect())
    }
}

fn operation(name: &str) -> PyResult<Op> {
    Op::of(name).ok_or_else(|| exception("DtypeError", &format!("encrypted integers have no operation {name}")))
}

/// An operation that the kind of value does not have.
fn no_operation(op: String) -> PyErr {
    exception(
        "DtypeError",
        &format!("{op} is for encrypted integers, not for booleans: use &, |, ^, ~, ==, != of encrypted booleans"),
    )
}

fn computed<D: Engine>(
    side: &Side<'_, D>,
    call: &Call,
    operands: &[&TfheCiphertext],
) -> std::result::Result<Vec<(Held, Option<Format>)>, Refused> {
    let of = |operand: &&TfheCiphertext| Some((D::of(&operand.held)?.clone(), operand.format));
    let operands: Option<Vec<_>> = operands.iter().map(of).collect();
    let made = applied(side, call, &operands.ok_or(Refused::Other)?)?;
    Ok(made.into_iter().map(|(made, format)| (D::held(made), format)).collect())
}

#[pymethods]
impl TfheSession {
    /// New keys under a preset, or under a set as `limbwise params show NAME` prints it.
    #[new]
    #[pyo3(signature = (name, toml=None, *, threads=None))]
    fn new(py: Python<'_>, name: String, toml: Option<&str>, threads: Option<usize>) -> PyResult<Self> {
        let (params, dev) = (params_of(&name, toml)?, device(threads)?);
        Ok(Self::both(py, ClientKey::generate(&params).map_err(of_scheme)?, name, (dev, lanes(threads))))
    }

    /// Both sides of a secret key's bytes.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
    #[pyo3(signature = (name, toml, bytes, lanes, *, passphrase=None, threads=None))]
    fn load(
        py: Python<'_>,
        name: String,
        toml: &str,
        bytes: Vec<u8>,
        lanes: usize,
        passphrase: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let (params, dev, bytes) = (params_of(&name, Some(toml))?, device(threads)?, Zeroizing::new(bytes));
        let secret = py.detach(|| wire::read_tfhe_secret_key(&bytes[..], &params, lock(passphrase)));
        Ok(Self::both(py, secret.map_err(of_scheme)?, name, (dev, lanes)))
    }

    /// A server of the bytes of its keys.
    #[staticmethod]
    #[pyo3(signature = (name, toml, bytes, lanes, *, threads=None))]
    fn server(
        py: Python<'_>,
        name: String,
        toml: &str,
        bytes: &[u8],
        lanes: usize,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let (params, dev) = (params_of(&name, Some(toml))?, device(threads)?);
        let read = || -> Result<_> {
            let keys = wire::read_tfhe_keys(bytes, &*dev, &params)?;
            Ok((Arc::new(ServerKey::new(&*dev, &keys)), wire::origin(bytes)?.keys))
        };
        let (server, keys) = py.detach(read).map_err(of_scheme)?;
        Ok(Self { on: On::Live(dev, Some(server)), params, client: None, keys, name, lanes })
    }

    /// The client's side alone.
    fn client_side(&self) -> PyResult<Self> {
        self.secret("client")?;
        self.sibling(None, self.client.clone())
    }

    /// The server's side alone.
    fn server_side(&self) -> PyResult<Self> {
        let (_, server) = self.live("server")?;
        self.sibling(server.cloned(), None)
    }

    /// A session that follows what is asked of it without values.
    fn trace(&self) -> Self {
        Self::traced(self.params.clone(), (self.name.clone(), self.keys), self.lanes)
    }

    /// A session without keys, for recordings before there are any.
    #[staticmethod]
    #[pyo3(signature = (name, toml=None, *, threads=None))]
    fn declared(name: String, toml: Option<&str>, threads: Option<usize>) -> PyResult<Self> {
        let params = params_of(&name, toml)?;
        Ok(Self::traced(params, (name, Fingerprint::NONE), lanes(threads)))
    }

    /// The program of a recording with these results.
    #[expect(clippy::needless_pass_by_value, reason = "Python's list")]
    fn finish(&self, results: Vec<PyRef<'_, TfheCiphertext>>) -> PyResult<ExactRecorded> {
        let On::Trace(trace) = &self.on else { return Err(out_of_order("only a recording is finished")) };
        let program = TfheProgram {
            params: self.params.clone(),
            lanes: self.lanes,
            tape: trace.draft.finished(),
            results: results.iter().map(|one| one.number).collect(),
        };
        Ok(ExactRecorded::of_tfhe(program, &self.name))
    }

    #[getter]
    fn has_secret(&self) -> bool {
        self.client.is_some()
    }

    #[getter]
    fn lanes(&self) -> usize {
        self.lanes
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The parameters as TOML.
    fn to_toml(&self) -> PyResult<String> {
        toml_of(self.params.literal())
    }

    #[getter]
    fn security_bits(&self) -> u32 {
        self.params.security().bits
    }

    #[getter]
    fn insecure_reason(&self) -> Option<String> {
        self.params.security().insecure_reason.clone()
    }

    /// log₂ of the probability that a bootstrapping fails.
    #[getter]
    fn log2_failure(&self) -> f64 {
        self.params.log2_failure()
    }

    #[getter]
    fn key_bytes(&self) -> u64 {
        self.params.server_key_bytes()
    }

    /// The server's keys, as a file's bytes.
    fn keys_to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (secret, (dev, _)) = (self.secret("keys_to_bytes")?, self.live("keys_to_bytes")?);
        let origin = Origin::of_keys(self.keys);
        let written = py.detach(|| wire::write_tfhe_keys(Vec::new(), &**dev, &secret.bootstrap_keys(&**dev), &origin));
        Ok(PyBytes::new(py, &written.map_err(of_scheme)?))
    }

    /// The secret key, as a file's bytes.
    #[pyo3(signature = (passphrase=None))]
    fn secret_to_bytes<'py>(&self, py: Python<'py>, passphrase: Option<&str>) -> PyResult<Bound<'py, PyBytes>> {
        let (secret, origin) = (self.secret("save_secret")?, Origin::of_keys(self.keys));
        secret_bytes(py, 4096, |out| wire::write_tfhe_secret_key(out, secret, lock(passphrase), &origin).map(drop))
    }

    /// Encrypts words: values modulo 2^64, of so many bits; one bit is a boolean.
    fn encrypt(&self, py: Python<'_>, words: Vec<u64>, bits: u32, signed: bool) -> PyResult<TfheCiphertext> {
        let (secret, (dev, _)) = (self.secret("encrypt")?, self.live("encrypt")?);
        let made = py.detach(|| -> Result<_> {
            let format = format(bits, signed)?;
            let ciphertext = match format {
                None => secret.encrypt(&**dev, &words)?.at_most(1)?,
                Some(format) => {
                    let values: Vec<i128> = words.into_iter().map(|w| format.wrapped(w.into())).collect();
                    secret.encrypt(&**dev, &format.messages(&values)?)?
                }
            };
            Ok(TfheCiphertext { held: Held::Live(ciphertext), format, claimed: false, number: 0 })
        });
        made.map_err(of_scheme)
    }

    /// So many values that nobody has, for a trace.
    fn declare(&self, rows: usize, bits: u32, signed: bool) -> PyResult<TfheCiphertext> {
        let On::Trace(trace) = &self.on else {
            return Err(exception("TraceError", "values without words are for recordings"));
        };
        let format = format(bits, signed).map_err(of_scheme)?;
        let batch = rows * format.map_or(1, Format::digits);
        let fresh = Ciphertext::declared(&trace.dev, &self.params, batch);
        let ciphertext = if format.is_none() { fresh.at_most(1).map_err(of_scheme)? } else { fresh };
        let late = || out_of_order("an input after an operation: declare all inputs first");
        let number = trace.draft.input((batch, format)).ok_or_else(late)?;
        Ok(TfheCiphertext { held: Held::Trace(ciphertext), format, claimed: false, number })
    }

    /// What is expected of a result of a trace.
    fn expected(&self, a: &TfheCiphertext) -> PyResult<TfheExpected> {
        let Held::Trace(recorded) = &a.held else {
            return Err(exception("TraceError", "only results of a recording say what to expect"));
        };
        Ok(TfheExpected { expectation: TfheExpectation::of(recorded), format: a.format })
    }

    /// A ciphertext as a file's bytes.
    fn to_bytes<'py>(&self, py: Python<'py>, a: &TfheCiphertext) -> PyResult<Bound<'py, PyBytes>> {
        let (dev, _) = self.live("to_bytes")?;
        let Held::Live(ciphertext) = &a.held else { return Err(exception("TraceError", "a recording has no values")) };
        let origin = Origin::of_keys(self.keys);
        let written = py.detach(|| wire::write_tfhe_ciphertext(Vec::new(), &**dev, ciphertext, &origin));
        Ok(PyBytes::new(py, &written.map_err(of_scheme)?))
    }

    /// A ciphertext from a file's bytes. What it says of itself is believed only where its own writer asks for it.
    fn read_bytes(
        &self,
        py: Python<'_>,
        bytes: &[u8],
        bits: u32,
        signed: bool,
        trusted: bool,
    ) -> PyResult<TfheCiphertext> {
        let (dev, _) = self.live("from_bytes")?;
        let read = || -> Result<_> {
            Origin::of_keys(self.keys).admits(&wire::origin(bytes)?)?;
            Ok((wire::read_tfhe_ciphertext(bytes, &**dev, &self.params)?, format(bits, signed)?))
        };
        let (ciphertext, format) = py.detach(read).map_err(of_scheme)?;
        let (batch, digits) = (ciphertext.batch(), format.map_or(1, Format::digits));
        if batch == 0 || batch % digits != 0 {
            let text = format!("{batch} digits: wanted {digits} for each value");
            return Err(exception("WireError", &text));
        }
        Ok(TfheCiphertext { held: Held::Live(ciphertext), format, claimed: !trusted, number: 0 })
    }

    /// The same ciphertext with what is expected of it in the place of what it says, if both agree.
    fn admit(&self, a: &TfheCiphertext, expected: &TfheExpected) -> PyResult<TfheCiphertext> {
        let Held::Live(ciphertext) = &a.held else { return Err(exception("TraceError", "a recording has no values")) };
        let admitted = expected.expectation.admit(ciphertext.clone()).map_err(|e| of_scheme(e.into()))?;
        Ok(TfheCiphertext { held: Held::Live(admitted), format: expected.format, claimed: false, number: 0 })
    }

    /// Values modulo 2^64.
    fn decrypt(&self, py: Python<'_>, a: &TfheCiphertext) -> PyResult<Vec<u64>> {
        let (secret, (dev, _)) = (self.secret("decrypt")?, self.live("decrypt")?);
        if a.claimed {
            let text = "decrypt: these values were read from bytes, so their range and noise are the word of whoever wrote them, who could learn the secret key if they were believed: say what you expect, keys.from_bytes(data, expect=lw.record(program, inputs, context=keys)), or trusted=True for bytes that you wrote yourself and nobody could change";
            return Err(exception("UnverifiedError", text));
        }
        let Held::Live(ciphertext) = &a.held else { return Err(exception("TraceError", "a recording has no values")) };
        let word = |v: i128| u64::try_from(v.rem_euclid(1 << 64)).expect("below 2^64");
        let values = py.detach(|| -> Result<Vec<u64>> {
            let messages = TfheReading::of(&**dev, secret, ciphertext)?.messages;
            let Some(format) = a.format else { return Ok(messages) };
            Ok(format.values(&messages)?.into_iter().map(word).collect())
        });
        values.map_err(of_scheme)
    }

    /// An operation of two ciphertexts of one kind.
    fn binary(&self, py: Python<'_>, op: &str, a: &TfheCiphertext, b: &TfheCiphertext) -> PyResult<TfheCiphertext> {
        self.call(py, &Call::Binary(operation(op)?), &[a, b])
    }

    /// An operation with a clear number on the right.
    fn clear(&self, py: Python<'_>, op: &str, a: &TfheCiphertext, value: i128) -> PyResult<TfheCiphertext> {
        self.call(py, &Call::Clear(operation(op)?, value), &[a])
    }

    /// All bits turned, the negative, or the absolute value.
    fn unary(&self, py: Python<'_>, op: &str, a: &TfheCiphertext) -> PyResult<TfheCiphertext> {
        let call = match op {
            "invert" => Call::Complement,
            "negative" => Call::Negated,
            "absolute" => Call::Abs,
            _ => return Err(exception("DtypeError", &format!("encrypted integers have no operation {op}"))),
        };
        self.call(py, &call, &[a])
    }

    /// Quotient, rounded down, and remainder.
    fn divided(&self, py: Python<'_>, a: &TfheCiphertext, b: &TfheCiphertext) -> PyResult<Vec<TfheCiphertext>> {
        self.calls(py, &Call::Divided, &[a, b])
    }

    /// The same by clear numbers: one, or one a row.
    fn divided_clear(&self, py: Python<'_>, a: &TfheCiphertext, by: Vec<i128>) -> PyResult<Vec<TfheCiphertext>> {
        if by.len() != 1 && by.len() != a.rows() && a.rows() != 1 {
            return Err(exception("ShapeError", &format!("{} divisors of {} values", by.len(), a.rows())));
        }
        self.calls(py, &Call::DividedClear(by), &[a])
    }

    /// `choice ? yes : no`.
    fn select(
        &self,
        py: Python<'_>,
        choice: &TfheCiphertext,
        yes: &TfheCiphertext,
        no: &TfheCiphertext,
    ) -> PyResult<TfheCiphertext> {
        self.call(py, &Call::Select, &[choice, yes, no])
    }

    /// Values by their places, in any order and any number of times.
    fn gather(&self, py: Python<'_>, a: &TfheCiphertext, places: Vec<usize>) -> PyResult<TfheCiphertext> {
        let rows = a.rows();
        if places.is_empty() || places.iter().any(|&place| place >= rows) {
            return Err(exception(
                "ShapeError",
                &format!("places of {rows} values: choose 0 to {}, one at least", rows - 1),
            ));
        }
        self.call(py, &Call::Gather(places), &[a])
    }

    /// All values of several ciphertexts of one kind.
    #[expect(clippy::needless_pass_by_value, reason = "Python's list")]
    fn stack(&self, py: Python<'_>, every: Vec<PyRef<'_, TfheCiphertext>>) -> PyResult<TfheCiphertext> {
        let every: Vec<&TfheCiphertext> = every.iter().map(|one| &**one).collect();
        if every.is_empty() || every.iter().any(|one| one.format != every[0].format) {
            return Err(exception("DtypeError", "values of one dtype go into one array, one at least"));
        }
        self.call(py, &Call::Stack, &every)
    }

    /// Clear values, as ciphertexts without noise that go with `like`.
    fn known(
        &self,
        py: Python<'_>,
        like: &TfheCiphertext,
        values: Vec<i128>,
        bits: u32,
        signed: bool,
    ) -> PyResult<TfheCiphertext> {
        if values.is_empty() {
            return Err(exception("ShapeError", "an array without values"));
        }
        // What everybody may know is nobody's word.
        let made = self.call(py, &Call::Known(values, format(bits, signed).map_err(of_scheme)?), &[like])?;
        Ok(TfheCiphertext { claimed: false, ..made })
    }

    /// The same values in another format; one bit is a boolean.
    fn cast(&self, py: Python<'_>, a: &TfheCiphertext, bits: u32, signed: bool) -> PyResult<TfheCiphertext> {
        self.call(py, &Call::Cast(format(bits, signed).map_err(of_scheme)?), &[a])
    }

    /// The entries of a table at indices, in a format.
    fn lookup(
        &self,
        py: Python<'_>,
        a: &TfheCiphertext,
        table: Vec<i128>,
        bits: u32,
        signed: bool,
    ) -> PyResult<TfheCiphertext> {
        self.call(py, &Call::Lookup(table, format(bits, signed).map_err(of_scheme)?), &[a])
    }

    /// The sum of as many parts as there are weights, each times its own, computed in the first number of bits and
    /// returned in the second.
    fn sum(
        &self,
        py: Python<'_>,
        a: &TfheCiphertext,
        weights: Vec<i128>,
        inner: (u32, bool),
        outer: (u32, bool),
    ) -> PyResult<TfheCiphertext> {
        a.divides(weights.len())?;
        let formats = [integers(inner)?, integers(outer)?];
        self.call(py, &Call::Sum(weights, formats), &[a])
    }

    /// So many parts in ascending order, value by value.
    fn sort(&self, py: Python<'_>, a: &TfheCiphertext, parts: usize) -> PyResult<TfheCiphertext> {
        a.divides(parts)?;
        self.call(py, &Call::Sort(parts), &[a])
    }

    /// How many of so many parts are true, as integers of a format.
    fn count(
        &self,
        py: Python<'_>,
        a: &TfheCiphertext,
        parts: usize,
        bits: u32,
        signed: bool,
    ) -> PyResult<TfheCiphertext> {
        a.divides(parts)?;
        self.call(py, &Call::Count(parts, integers((bits, signed))?), &[a])
    }

    /// Whether any, or all, of so many parts are true.
    fn reduce(&self, py: Python<'_>, op: &str, a: &TfheCiphertext, parts: usize) -> PyResult<TfheCiphertext> {
        a.divides(parts)?;
        self.call(py, &if op == "any" { Call::Any(parts) } else { Call::All(parts) }, &[a])
    }
}
