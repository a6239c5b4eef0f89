//! Exact integers modulo a prime: one side of a BGV computation, or both; or its trace. Keys are made when an operation
//! first needs them.

use crate::{
    error::{exception, of_scheme},
    exact::{BgvInput, BgvProgram, Draft, ExactRecorded, out_of_order},
    integers_call::{Call, Numbers, applied},
    integers_held::{Held, IntegerCiphertext, IntegerExpected},
    params::{literal, toml_of},
    secret::{lock, no_secret, secret_bytes},
};
use limbwise::{
    Result,
    bgv::{
        self, Auto, BgvExpectation, BgvLiteral, BgvParams, BgvReading, Ciphertext, CiphertextShape, Encoder,
        Encryption, Evaluator, Magnitude, Residues, encrypt_seeded,
    },
    rlwe::{DeclaredKeys, KeyForm, KeySet, KeyStore, LazyKeys, MadeKeys, Requirements, SecretKey},
    wire::{self, Fingerprint, KeyFile, Origin},
};
use limbwise_cpu::Cpu;
use limbwise_device::{Domain, Null};
use limbwise_math::sampling::Seed;
use pyo3::{
    prelude::{Bound, PyErr, PyRef, PyResult, Python, pyclass, pymethods},
    types::PyBytes,
};
use std::sync::{Arc, Mutex, PoisonError};
use zeroize::Zeroizing;

/// What a session computes with.
enum On {
    /// Keys that are made when an operation asks for them.
    Made(Arc<Cpu>, MadeKeys<Cpu>),
    /// Keys that a client has given; the client's own side has none.
    Given(Arc<Cpu>, KeySet<Cpu>),
    /// Nothing: it follows levels and noise, which keys are asked for, and writes down what is done.
    Trace(Null, Mutex<Requirements>, Draft<BgvInput, Call>),
}

/// One side, or both.
#[pyclass(frozen, name = "IntegerSession", module = "limbwise._limbwise")]
pub(crate) struct IntegerSession {
    on: On,
    name: String,
    params: BgvParams,
    encoder: Encoder,
    secret: Option<Arc<SecretKey>>,
    /// The name of the key set: tells its ciphertexts from others'.
    keys: Fingerprint,
}

fn no_values() -> PyErr {
    exception("TraceError", "a program that is recorded has no values: return what you want to see")
}

/// Parameters of a preset, or of a text as `limbwise params show NAME` prints it.
fn params_of(name: &str, toml: Option<&str>) -> PyResult<BgvParams> {
    let Some(text) = toml else { return bgv::preset(name).map_err(|e| of_scheme(e.into())) };
    let literal: BgvLiteral = literal(text, "not a parameter set", "bgv-n13")?;
    BgvParams::new(&literal).map_err(|e| of_scheme(e.into()))
}

fn other_modulus(left: usize, right: usize) -> limbwise::Error {
    bgv::BgvError::Modulus { op: "from_bytes", left, right }.into()
}

fn device(threads: Option<usize>) -> PyResult<Arc<Cpu>> {
    let builder = threads.map_or_else(Cpu::builder, |threads| Cpu::builder().threads(threads));
    Ok(Arc::new(builder.open().map_err(|e| exception("DeviceFault", &e.to_string()))?))
}

impl IntegerSession {
    /// Both sides of a secret key.
    fn both(dev: Arc<Cpu>, (name, params): (&str, BgvParams), secret: SecretKey) -> Self {
        let (encoder, keys) = (Encoder::new(&params), secret.identity(params.rlwe()));
        let on = On::Made(dev, MadeKeys::new(KeyForm::Stored));
        Self { on, name: name.into(), params, encoder, secret: Some(Arc::new(secret)), keys }
    }

    /// Another side of the same keys.
    fn sibling(&self, on: On, secret: Option<Arc<SecretKey>>) -> Self {
        let (name, params) = (self.name.clone(), self.params.clone());
        Self { on, name, encoder: Encoder::new(&params), params, secret, keys: self.keys }
    }

    fn dev(&self) -> PyResult<&Arc<Cpu>> {
        match &self.on {
            On::Made(dev, _) | On::Given(dev, _) => Ok(dev),
            On::Trace(..) => Err(no_values()),
        }
    }

    fn secret(&self, op: &str) -> PyResult<&Arc<SecretKey>> {
        self.secret.as_ref().ok_or_else(|| no_secret(op))
    }

    /// The store that makes what is missing.
    fn lazy<R>(
        &self,
        (dev, made): (&Cpu, &MadeKeys<Cpu>),
        levels: &Requirements,
        then: impl FnOnce(&LazyKeys<'_, Cpu>) -> Result<R>,
    ) -> Result<R> {
        let secret = self.secret.as_deref().expect("who makes keys has the secret");
        then(&LazyKeys { dev, params: self.params.rlwe(), secret, made, levels, tell: &|_| () })
    }

    fn live(&self, dev: &Cpu, keys: &dyn KeyStore<Cpu>, call: &Call, of: &[&IntegerCiphertext]) -> PyResult<Held> {
        let words = |c: &&IntegerCiphertext| match &c.held {
            Held::Live(ciphertext) => Ok(ciphertext.clone()),
            Held::Trace(_) => Err(no_values()),
        };
        let of = of.iter().map(words).collect::<PyResult<Vec<_>>>()?;
        let auto = Auto::new(Evaluator::new(dev, &self.params, keys), &self.encoder);
        let made = applied(&auto, &self.encoder, call, &of.iter().collect::<Vec<_>>());
        Ok(Held::Live(made.map_err(of_scheme)?))
    }

    fn traced(
        &self,
        null: &Null,
        asked: &Mutex<Requirements>,
        call: &Call,
        of: &[&IntegerCiphertext],
    ) -> PyResult<Held> {
        let shape = |c: &&IntegerCiphertext| match &c.held {
            Held::Trace(ciphertext) => Ok(ciphertext.clone()),
            Held::Live(_) => Err(exception("ContextError", "encrypted integers among those of a recording")),
        };
        let of = of.iter().map(shape).collect::<PyResult<Vec<_>>>()?;
        let keys = DeclaredKeys::all(null, self.params.rlwe());
        let auto = Auto::new(Evaluator::new(null, &self.params, &keys), &self.encoder);
        let made = applied(&auto, &self.encoder, call, &of.iter().collect::<Vec<_>>()).map_err(of_scheme)?;
        let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, level) in keys.requirements() {
            let highest = asked.entry(name).or_insert(level);
            *highest = level.max(*highest);
        }
        Ok(Held::Trace(made))
    }

    /// Carries out an operation without the interpreter's lock.
    fn call(&self, py: Python<'_>, call: &Call, of: &[&IntegerCiphertext]) -> PyResult<IntegerCiphertext> {
        of.iter().try_for_each(|c| self.own(c))?;
        let held = py.detach(|| match &self.on {
            On::Made(dev, made) => {
                let levels = Requirements::new();
                self.lazy((dev, made), &levels, |lazy| Ok(self.live(dev, lazy, call, of))).map_err(of_scheme)?
            }
            On::Given(dev, keys) => self.live(dev, keys, call, of),
            On::Trace(null, asked, _) => self.traced(null, asked, call, of),
        })?;
        let number = match &self.on {
            On::Made(..) | On::Given(..) => 0,
            On::Trace(_, _, draft) => draft.step(call.clone(), of.iter().map(|c| c.number).collect(), 1),
        };
        Ok(IntegerCiphertext { held, keys: self.keys, claimed: of.iter().any(|c| c.claimed), number })
    }

    /// Messages under the secret key: a batch of residues a modulus.
    fn encrypted(
        &self,
        py: Python<'_>,
        residues: &[Vec<Vec<i64>>],
        magnitude: Option<Magnitude>,
    ) -> PyResult<IntegerCiphertext> {
        let (secret, dev) = (self.secret("encrypt")?, self.dev()?);
        let one = |(at, messages): (usize, &Vec<Vec<i64>>)| -> Result<_> {
            let plain = self.encoder.at(at).encode(&**dev, messages, self.params.top_level())?;
            Ok(encrypt_seeded(&**dev, &self.params, secret, &plain)?.ciphertext)
        };
        let made = py.detach(|| residues.iter().enumerate().map(one).collect::<Result<Vec<_>>>());
        let held = Held::Live(Numbers { residues: made.map_err(of_scheme)?, magnitude });
        Ok(IntegerCiphertext { held, keys: self.keys, claimed: false, number: 0 })
    }

    /// The slots of every message modulo every modulus.
    fn decrypted(&self, py: Python<'_>, a: &IntegerCiphertext) -> PyResult<Vec<Vec<Vec<i64>>>> {
        let (secret, dev, a) = (self.secret("decrypt")?, self.dev()?, self.trusted("decrypt", a)?);
        let read = py.detach(|| BgvReading::of(&**dev, &self.encoder, &self.params, secret, &[], &a.residues));
        match read.map_err(of_scheme)? {
            BgvReading::Integers { messages, .. } => Ok(messages),
            BgvReading::Phases { .. } => unreachable!("only where there are inputs"),
        }
    }

    /// Fails for a ciphertext of other keys.
    fn own(&self, a: &IntegerCiphertext) -> PyResult<()> {
        if a.keys == self.keys {
            return Ok(());
        }
        Err(exception("ContextError", "a ciphertext of another context: compute with those that one context encrypted"))
    }

    /// A ciphertext that says the truth of itself.
    fn trusted<'c>(&self, op: &str, a: &'c IntegerCiphertext) -> PyResult<&'c Numbers<Cpu>> {
        self.own(a)?;
        if a.claimed {
            let text = format!(
                "{op}: these integers were read from bytes, so their noise is the word of whoever wrote them, who could learn the secret key if they were believed: say what you expect, context.from_bytes(data, expect=lw.record(program, inputs, context=context)), or trusted=True for bytes that you wrote yourself and nobody could change"
            );
            return Err(exception("UnverifiedError", &text));
        }
        live_of(a)
    }
}

fn live_of(a: &IntegerCiphertext) -> PyResult<&Numbers<Cpu>> {
    match &a.held {
        Held::Live(ciphertext) => Ok(ciphertext),
        Held::Trace(_) => Err(no_values()),
    }
}

#[pymethods]
impl IntegerSession {
    /// A preset by name, or a set as `limbwise params show NAME` prints it.
    #[new]
    #[pyo3(signature = (name, toml=None, threads=None))]
    fn new(py: Python<'_>, name: &str, toml: Option<&str>, threads: Option<usize>) -> PyResult<Self> {
        let (params, dev) = (params_of(name, toml)?, device(threads)?);
        let seed = Seed::from_os().map_err(|e| of_scheme(e.into()))?;
        Ok(py.detach(|| {
            let secret = SecretKey::generate(params.rlwe(), &seed.derive("secret"));
            Self::both(dev, (name, params), secret)
        }))
    }

    /// Both sides of a secret key's bytes.
    #[staticmethod]
    #[pyo3(signature = (name, toml, bytes, *, passphrase=None, threads=None))]
    fn load(
        py: Python<'_>,
        name: &str,
        toml: &str,
        bytes: Vec<u8>,
        passphrase: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let (params, dev, bytes) = (params_of(name, Some(toml))?, device(threads)?, Zeroizing::new(bytes));
        let secret = py.detach(|| wire::read_secret_key(&bytes[..], params.rlwe(), lock(passphrase)));
        Ok(Self::both(dev, (name, params), secret.map_err(of_scheme)?))
    }

    /// A server of the bytes of its keys.
    #[staticmethod]
    #[pyo3(signature = (name, toml, bytes, *, threads=None))]
    fn server(py: Python<'_>, name: &str, toml: &str, bytes: &[u8], threads: Option<usize>) -> PyResult<Self> {
        let (params, dev) = (params_of(name, Some(toml))?, device(threads)?);
        let read = || -> Result<_> {
            let file = KeyFile::open(bytes, params.rlwe())?;
            Ok((file.read_all(&*dev, KeyForm::Stored)?, file.origin().keys))
        };
        let (given, keys) = py.detach(read).map_err(of_scheme)?;
        let encoder = Encoder::new(&params);
        Ok(Self { on: On::Given(dev, given), name: name.into(), params, encoder, secret: None, keys })
    }

    /// The client's side alone.
    fn client_side(&self) -> PyResult<Self> {
        let none = KeySet::new(self.params.rlwe(), Vec::new());
        Ok(self.sibling(On::Given(self.dev()?.clone(), none), Some(self.secret("client")?.clone())))
    }

    /// The server's side alone, with the keys made so far.
    fn server_side(&self) -> PyResult<Self> {
        let keys = match &self.on {
            On::Made(_, made) => made.key_set(self.params.rlwe()).map_err(of_scheme)?,
            On::Given(_, given) => KeySet::new(self.params.rlwe(), given.keys().cloned().collect()),
            On::Trace(..) => return Err(no_values()),
        };
        Ok(self.sibling(On::Given(self.dev()?.clone(), keys), None))
    }

    /// A session that follows what is asked of it without values.
    fn trace(&self) -> Self {
        self.sibling(On::Trace(Null::default(), Mutex::default(), Draft::default()), None)
    }

    /// A session without keys, for recordings before there are any.
    #[staticmethod]
    #[pyo3(signature = (name, toml=None))]
    fn declared(name: &str, toml: Option<&str>) -> PyResult<Self> {
        let params = params_of(name, toml)?;
        let (encoder, on) = (Encoder::new(&params), On::Trace(Null::default(), Mutex::default(), Draft::default()));
        Ok(Self { on, name: name.into(), params, encoder, secret: None, keys: Fingerprint::NONE })
    }

    /// The program of a recording with these results.
    #[expect(clippy::needless_pass_by_value, reason = "Python's list")]
    fn finish(&self, results: Vec<PyRef<'_, IntegerCiphertext>>) -> PyResult<ExactRecorded> {
        let On::Trace(_, _, draft) = &self.on else { return Err(out_of_order("only a recording is finished")) };
        let residues = |one: &PyRef<'_, IntegerCiphertext>| match &one.held {
            Held::Trace(numbers) => Ok(numbers.residues.len()),
            Held::Live(_) => Err(out_of_order("encrypted integers among those of a recording")),
        };
        let program = BgvProgram {
            params: self.params.clone(),
            tape: draft.finished(),
            results: results.iter().map(|one| one.number).collect(),
            ciphertexts: results.iter().map(residues).sum::<PyResult<usize>>()?,
        };
        Ok(ExactRecorded::of_bgv(program, &self.name))
    }

    #[getter]
    fn has_secret(&self) -> bool {
        self.secret.is_some()
    }

    /// The parameters as TOML.
    fn to_toml(&self) -> PyResult<String> {
        toml_of(self.params.literal())
    }

    /// Names of all presets with their purpose.
    #[staticmethod]
    fn presets() -> Vec<(&'static str, &'static str)> {
        bgv::presets().into_iter().map(|p| (p.name, p.purpose)).collect()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn modulus(&self) -> u64 {
        self.params.t().value()
    }

    /// Number of plaintext moduli.
    #[getter]
    fn moduli(&self) -> usize {
        self.params.moduli().len()
    }

    /// Bits of the integers that the residues modulo all plaintext moduli tell apart, with their sign.
    #[getter]
    fn word_room(&self) -> f64 {
        Residues::new(&self.params).room()
    }

    #[getter]
    fn slots(&self) -> usize {
        self.params.slots()
    }

    #[getter]
    fn levels(&self) -> usize {
        self.params.top_level()
    }

    #[getter]
    fn security_bits(&self) -> u32 {
        self.params.security().bits
    }

    #[getter]
    fn insecure_reason(&self) -> Option<&str> {
        self.params.security().insecure_reason.as_deref()
    }

    #[getter]
    fn security_standard(&self) -> &str {
        self.params.security().standard
    }

    /// Keys made so far, in words, and their bytes.
    fn keys(&self) -> Vec<(String, u64)> {
        let (rlwe, log_n) = (self.params.rlwe(), self.params.rlwe().log_n());
        let key = |(name, level): (limbwise::rlwe::KeyName, usize)| {
            (name.describe(log_n), limbwise::rlwe::key_bytes(rlwe, name, level, KeyForm::Stored))
        };
        let names = match &self.on {
            On::Made(_, made) => made.names(),
            On::Given(_, given) => given.names(),
            On::Trace(_, asked, _) => asked.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        names.into_iter().map(key).collect()
    }

    /// Makes the keys that a trace asked for.
    fn make_keys(&self, py: Python<'_>, traced: &Self) -> PyResult<()> {
        let (On::Made(dev, made), On::Trace(_, asked, _)) = (&self.on, &traced.on) else {
            return Err(exception("KeyMissing", "prepare: only the context that owns both sides makes keys"));
        };
        let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        py.detach(|| self.lazy((dev, made), &asked, |lazy| lazy.make(&asked))).map_err(of_scheme)
    }

    /// All keys made so far, as a file's bytes.
    fn keys_to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let On::Made(dev, made) = &self.on else {
            return Err(exception("KeyMissing", "keys_to_bytes: only the context that owns both sides has made keys"));
        };
        let rlwe = self.params.rlwe();
        let write = || -> Result<_> {
            wire::write_keys(Vec::new(), &**dev, rlwe, &made.key_set(rlwe)?, &Origin::of_keys(self.keys))
        };
        Ok(PyBytes::new(py, &py.detach(write).map_err(of_scheme)?))
    }

    /// The secret key, as a file's bytes.
    #[pyo3(signature = (passphrase=None))]
    fn secret_to_bytes<'py>(&self, py: Python<'py>, passphrase: Option<&str>) -> PyResult<Bound<'py, PyBytes>> {
        let (secret, rlwe, origin) = (self.secret("save_secret")?, self.params.rlwe(), Origin::of_keys(self.keys));
        secret_bytes(py, 4096 + rlwe.ring().n(), |out| {
            wire::write_secret_key(out, rlwe, secret, lock(passphrase), &origin).map(drop)
        })
    }

    /// Integers modulo t, a row a message.
    fn encrypt(&self, py: Python<'_>, messages: Vec<Vec<i64>>) -> PyResult<IntegerCiphertext> {
        self.encrypted(py, &[messages], None)
    }

    /// Words as residues modulo every plaintext modulus.
    fn encrypt_words(&self, py: Python<'_>, messages: Vec<Vec<u64>>) -> PyResult<IntegerCiphertext> {
        let split = Residues::new(&self.params);
        let rows: Vec<Vec<Vec<i64>>> = messages.iter().map(|row| split.split(row)).collect();
        let modulo = |at: usize| rows.iter().map(|row| row[at].clone()).collect();
        let residues: Vec<Vec<Vec<i64>>> = (0..split.count()).map(modulo).collect();
        self.encrypted(py, &residues, Some(Magnitude::WORD))
    }

    /// So many messages that nobody has, for a trace.
    fn declare(&self, batch: usize, words: bool) -> PyResult<IntegerCiphertext> {
        let On::Trace(null, _, draft) = &self.on else {
            return Err(exception("TraceError", "integers without words are for recordings"));
        };
        let shape = CiphertextShape { batch, level: self.params.top_level(), domain: Domain::Eval };
        let declared = |at: usize| Ciphertext::declared(null, &self.params.at(at), shape, Encryption::Secret);
        let count = if words { self.params.moduli().len() } else { 1 };
        let magnitude = words.then_some(Magnitude::WORD);
        let numbers = Numbers { residues: (0..count).map(declared).collect(), magnitude };
        let late = || out_of_order("an input after an operation: declare all inputs first");
        let number = draft.input((batch, words)).ok_or_else(late)?;
        Ok(IntegerCiphertext { held: Held::Trace(numbers), keys: self.keys, claimed: false, number })
    }

    /// What is expected of a result of a trace.
    fn expected(&self, a: &IntegerCiphertext) -> PyResult<IntegerExpected> {
        match &a.held {
            Held::Trace(recorded) => {
                let all = recorded.residues.iter().map(|one| BgvExpectation::of(&self.params, one)).collect();
                Ok(IntegerExpected(all, recorded.magnitude))
            }
            Held::Live(_) => Err(exception("TraceError", "only results of a recording say what to expect")),
        }
    }

    /// Ciphertexts as files' bytes, one a residue.
    fn to_bytes<'py>(&self, py: Python<'py>, a: &IntegerCiphertext) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let (dev, held, origin) = (self.dev()?, live_of(a)?, Origin::of_keys(self.keys));
        let write = |one: &Ciphertext<Cpu>| wire::write_bgv_ciphertext(Vec::new(), &**dev, &self.params, one, &origin);
        let written = py.detach(|| held.residues.iter().map(write).collect::<Result<Vec<_>>>());
        Ok(written.map_err(of_scheme)?.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }

    /// Ciphertexts from files' bytes: words where their magnitude is told, else integers modulo t. What they say of
    /// themselves is believed only where their own writer asks for it.
    fn read_bytes(
        &self,
        py: Python<'_>,
        files: Vec<Vec<u8>>,
        word_bits: Option<f64>,
        trusted: bool,
    ) -> PyResult<IntegerCiphertext> {
        let dev = self.dev()?;
        let wanted = if word_bits.is_some() { self.params.moduli().len() } else { 1 };
        if files.len() != wanted {
            let text = format!("{} residues: these parameters have {wanted}, so the bytes are not whole", files.len());
            return Err(exception("WireError", &text));
        }
        let read = |(at, bytes): (usize, &Vec<u8>)| -> Result<_> {
            Origin::of_keys(self.keys).admits(&wire::origin(&bytes[..])?)?;
            let one = wire::read_bgv_ciphertext(&bytes[..], &**dev, &self.params)?;
            if one.modulus == at { Ok(one) } else { Err(other_modulus(one.modulus, at)) }
        };
        let residues =
            py.detach(|| files.iter().enumerate().map(read).collect::<Result<Vec<_>>>()).map_err(of_scheme)?;
        let magnitude = word_bits.map(Magnitude::of_bits);
        if let Some(magnitude) = magnitude {
            Residues::new(&self.params).fits("from_bytes", magnitude).map_err(of_scheme)?;
        }
        let held = Held::Live(Numbers { residues, magnitude });
        Ok(IntegerCiphertext { held, keys: self.keys, claimed: !trusted, number: 0 })
    }

    /// The same numbers with what is expected of them in the place of what they say, if both agree.
    fn admit(&self, a: &IntegerCiphertext, expected: &IntegerExpected) -> PyResult<IntegerCiphertext> {
        let (held, IntegerExpected(wanted, magnitude)) = (live_of(a)?, expected);
        if held.residues.len() != wanted.len() {
            let text = format!("{} residues, expected {}", held.residues.len(), wanted.len());
            return Err(exception("DecryptError", &text));
        }
        let admitted = |(one, wanted): (&Ciphertext<Cpu>, &BgvExpectation)| wanted.admit(&self.params, one.clone());
        let residues = held.residues.iter().zip(wanted).map(admitted).collect::<std::result::Result<Vec<_>, _>>();
        let residues = residues.map_err(|e| of_scheme(e.into()))?;
        let held = Held::Live(Numbers { residues, magnitude: *magnitude });
        Ok(IntegerCiphertext { held, keys: self.keys, claimed: false, number: 0 })
    }

    fn decrypt(&self, py: Python<'_>, a: &IntegerCiphertext) -> PyResult<Vec<Vec<i64>>> {
        Ok(self.decrypted(py, a)?.swap_remove(0))
    }

    /// Words of a message each, as bytes: so many words of 64 bits an integer, two's complement, lowest first.
    fn decrypt_words<'py>(
        &self,
        py: Python<'py>,
        a: &IntegerCiphertext,
        wide: bool,
    ) -> PyResult<(usize, Bound<'py, PyBytes>)> {
        let messages = self.decrypted(py, a)?;
        let split = Residues::new(&self.params);
        if messages.len() != split.count() {
            return Err(exception("DtypeError", "decrypt_words: these are integers modulo t, not words"));
        }
        let words = if wide { split.words() } else { 1 };
        let joined = py.detach(|| {
            let flat: Vec<Vec<i64>> = messages.into_iter().map(|batch| batch.concat()).collect();
            let joined = split.join(&flat.iter().map(Vec::as_slice).collect::<Vec<_>>(), words);
            joined.into_iter().flat_map(u64::to_le_bytes).collect::<Vec<u8>>()
        });
        Ok((words, PyBytes::new(py, &joined)))
    }

    /// Bits of noise budget: measured with the secret key, and by the bound that travels.
    fn budget(&self, py: Python<'_>, a: &IntegerCiphertext) -> PyResult<(f64, f64)> {
        let (secret, dev, a) = (self.secret("noise_budget")?, self.dev()?, self.trusted("noise_budget", a)?);
        let each = |one: &Ciphertext<Cpu>| -> Result<_> {
            Ok((bgv::read(&**dev, &self.encoder, secret, one)?.budget_bits, one.budget_bits(&self.params)))
        };
        let all = py.detach(|| a.residues.iter().map(each).collect::<Result<Vec<_>>>()).map_err(of_scheme)?;
        Ok(all.into_iter().fold((f64::INFINITY, f64::INFINITY), |(x, y), (a, b)| (x.min(a), y.min(b))))
    }

    /// Bits of budget of a fresh ciphertext, by the bound.
    fn fresh_budget(&self) -> f64 {
        let noise = bgv::noise::NoiseBound::fresh(&self.params, Encryption::Secret);
        self.params.rlwe().log_modulus(self.params.top_level()) - 1.0 - noise.bits()
    }

    fn add(&self, py: Python<'_>, a: &IntegerCiphertext, b: &IntegerCiphertext) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::Add, &[a, b])
    }

    fn sub(&self, py: Python<'_>, a: &IntegerCiphertext, b: &IntegerCiphertext) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::Sub, &[a, b])
    }

    fn mul(&self, py: Python<'_>, a: &IntegerCiphertext, b: &IntegerCiphertext) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::Mul, &[a, b])
    }

    fn negate(&self, py: Python<'_>, a: &IntegerCiphertext) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::Negate, &[a])
    }

    fn add_values(&self, py: Python<'_>, a: &IntegerCiphertext, rows: Vec<Vec<i64>>) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::AddValues(rows), &[a])
    }

    fn mul_values(&self, py: Python<'_>, a: &IntegerCiphertext, rows: Vec<Vec<i64>>) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::MulValues(rows), &[a])
    }

    fn add_words(&self, py: Python<'_>, a: &IntegerCiphertext, rows: Vec<Vec<u64>>) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::AddWords(rows), &[a])
    }

    fn mul_words(&self, py: Python<'_>, a: &IntegerCiphertext, rows: Vec<Vec<u64>>) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::MulWords(rows), &[a])
    }

    fn mul_scalar(&self, py: Python<'_>, a: &IntegerCiphertext, value: i64) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::MulScalar(value), &[a])
    }

    fn rotate(&self, py: Python<'_>, a: &IntegerCiphertext, steps: i64) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::Rotate(steps), &[a])
    }

    fn swap_rows(&self, py: Python<'_>, a: &IntegerCiphertext) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::SwapRows, &[a])
    }

    fn slot_sum(&self, py: Python<'_>, a: &IntegerCiphertext) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::SlotSum, &[a])
    }

    /// A matrix times the first row of slots.
    fn matvec(&self, py: Python<'_>, a: &IntegerCiphertext, matrix: Vec<Vec<i64>>) -> PyResult<IntegerCiphertext> {
        self.call(py, &Call::Matvec(matrix), &[a])
    }
}
