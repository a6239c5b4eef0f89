//! What Python calls of a session.

use crate::{
    buffer::{Axis, Lie, numbers, pack, unpack},
    ciphertext::{Held, PyCiphertext},
    error::{exception, of_scheme, shape_error},
    live::{Encryption, Keys, Live, packing},
    params::PyParams,
    planned::PyFunction,
    program::{Expected, Recorded},
    secret::{lock, secret_bytes},
    session::{Engine, Session, key_form, next_number, open_device, traced},
    share::Book,
    trace::Trace,
    ways::{KeyChoice, as_json, both_sides, from_json, keys_of_file},
};
use limbwise::{
    ckks::{BootstrapPlan, Diagonals, Series, bootstrap::Content},
    rlwe::{KeyForm, KeySet, SecretKey, key_bytes},
    wire::{self, KeyFile},
};
use limbwise_math::sampling::Seed;
use limbwise_runtime::tape::{Op, Value};
use pyo3::{
    prelude::{Bound, Py, PyAny, PyRef, PyResult, Python, pymethods},
    types::PyBytes,
};
use std::{cell::Cell, fs::File, io::BufWriter, path::PathBuf, sync::Arc};
use zeroize::Zeroizing;

#[pymethods]
impl Session {
    /// Both sides in one: a fresh secret (or the one given), and evaluation keys when they are first needed.
    #[staticmethod]
    #[pyo3(signature = (params, *, slots, complex, device=None, threads=None, memory=None, keys=None, key_dir=None, most_rotation_keys=None, bootstrapping=None, secret=None, passphrase=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn open(
        py: Python<'_>,
        params: &PyParams,
        slots: usize,
        complex: bool,
        device: Option<String>,
        threads: Option<usize>,
        memory: Option<u64>,
        keys: Option<&str>,
        key_dir: Option<PathBuf>,
        most_rotation_keys: Option<usize>,
        bootstrapping: Option<&str>,
        secret: Option<Vec<u8>>,
        passphrase: Option<&str>,
    ) -> PyResult<Self> {
        let (dev, name, params) = (open_device(device, threads)?, params.name.clone(), params.params.clone());
        let form = if key_dir.is_some() { Some(KeyForm::Disk) } else { key_form(keys)? };
        let keys = KeyChoice { form, dir: key_dir, most_galois: most_rotation_keys.unwrap_or(usize::MAX), memory };
        let given = from_json(bootstrapping)?;
        let secret = secret.map(Zeroizing::new);
        let live = py.detach(|| {
            let secret = match secret {
                Some(bytes) => wire::read_secret_key(&bytes[..], &params, lock(passphrase))?,
                None => SecretKey::generate(&params, &Seed::from_os()?),
            };
            both_sides((dev, &params), secret, (slots, complex), given, keys)
        });
        let live = live.map_err(of_scheme)?;
        Ok(Self { engine: Engine::Live(Box::new(live)), number: next_number(), name, sharing: Book::default() })
    }

    /// A session that writes down what is asked of it.
    #[staticmethod]
    #[pyo3(signature = (params, *, slots, complex, bootstrapping=None))]
    fn trace(params: &PyParams, slots: usize, complex: bool, bootstrapping: Option<&str>) -> PyResult<Self> {
        let content = if complex { Content::Complex } else { Content::Real };
        let usual =
            || params.params.bootstrapping().map(|_| BootstrapPlan { content, ..BootstrapPlan::fastest(slots) });
        let plan = from_json(bootstrapping)?.or_else(usual);
        let engine = Engine::Trace(Box::new(Trace::new(&params.params, plan)));
        Ok(Self { engine, number: next_number(), name: params.name.clone(), sharing: Book::default() })
    }

    /// A server: keys from bytes, or from a file after its first bytes; within a budget they stay there.
    #[staticmethod]
    #[pyo3(signature = (params, source=None, *, path=None, after=0, memory=None, device=None, threads=None, bootstrapping=None, seeded=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn server(
        py: Python<'_>,
        params: &PyParams,
        source: Option<&[u8]>,
        path: Option<PathBuf>,
        after: u64,
        memory: Option<u64>,
        device: Option<String>,
        threads: Option<usize>,
        bootstrapping: Option<&str>,
        seeded: bool,
    ) -> PyResult<Self> {
        let (dev, name, params) = (open_device(device, threads)?, params.name.clone(), params.params.clone());
        let plan = from_json(bootstrapping)?;
        let form = if seeded { KeyForm::Seeded } else { KeyForm::Stored };
        let keys = py.detach(|| match (path, source) {
            (Some(path), _) => keys_of_file(&dev, &params, &path, after, form, memory),
            (None, source) => {
                let file = KeyFile::open(source.unwrap_or_default(), &params)?;
                Ok((Keys::Given(file.read_all(&*dev, form)?), file.origin()))
            }
        });
        let (keys, origin) = keys.map_err(of_scheme)?;
        let live = Live::new(dev, &params, None, keys, plan).of_key_set(origin.keys);
        Ok(Self { engine: Engine::Live(Box::new(live)), number: next_number(), name, sharing: Book::default() })
    }

    /// Who has the public key alone: encrypts, and neither evaluates nor decrypts.
    #[staticmethod]
    #[pyo3(signature = (params, source, *, device=None, threads=None))]
    fn encryptor(
        py: Python<'_>,
        params: &PyParams,
        source: &[u8],
        device: Option<String>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let (dev, name, params) = (open_device(device, threads)?, params.name.clone(), params.params.clone());
        let public = py.detach(|| wire::read_public_key(source, &*dev, &params)).map_err(of_scheme)?;
        let none = Keys::Given(KeySet::new(&params, Vec::new()));
        let origin = wire::origin(source).map_err(|e| of_scheme(e.into()))?;
        let live = Live::new(dev, &params, None, none, None).with_public(public).of_key_set(origin.keys);
        Ok(Self { engine: Engine::Live(Box::new(live)), number: next_number(), name, sharing: Book::default() })
    }

    /// The client's side alone: it encrypts and decrypts, and evaluates nothing.
    fn client(&self) -> PyResult<Self> {
        let live = self.live("client")?;
        let none = Keys::Given(KeySet::new(&live.params, Vec::new()));
        let (dev, secret) = (live.dev.clone(), live.secret.clone());
        Ok(self.sibling(Live::new(dev, &live.params, secret, none, live.bootstrapping)))
    }

    /// The server's side alone, with the keys made so far and no secret.
    fn without_secret(&self) -> PyResult<Self> {
        let live = self.live("server")?;
        let keys = Keys::Given(live.key_set().map_err(of_scheme)?);
        let server = Live::new(live.dev.clone(), &live.params, None, keys, live.bootstrapping);
        Ok(self.sibling(server.of_key_set(live.key_set_name())))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn number(&self) -> u64 {
        self.number
    }

    #[getter]
    fn is_trace(&self) -> bool {
        matches!(self.engine, Engine::Trace(_))
    }

    #[getter]
    fn has_secret(&self) -> bool {
        matches!(&self.engine, Engine::Live(live) if live.secret.is_some())
    }

    #[getter]
    fn key_form(&self) -> PyResult<&'static str> {
        Ok(match self.live("key_form")?.key_form() {
            KeyForm::Stored => "stored",
            KeyForm::Seeded => "seeded",
            KeyForm::Disk => "disk",
        })
    }

    /// How it bootstraps, as JSON.
    #[getter]
    fn bootstrapping(&self) -> Option<String> {
        match &self.engine {
            Engine::Live(live) => as_json(live.bootstrapping),
            Engine::Trace(trace) => as_json(trace.bootstrapping),
        }
    }

    /// The evaluation keys there are: what each is, its level, its bytes.
    fn keys(&self) -> PyResult<Vec<(String, usize, u64)>> {
        let live = self.live("keys")?;
        let (params, form) = (&live.params, live.key_form());
        let row = |(&name, &level): (_, &usize)| {
            let name: limbwise::rlwe::KeyName = name;
            (name.describe(params.log_n()), level, key_bytes(params, name, level, form))
        };
        Ok(live.names().iter().map(row).collect())
    }

    /// Makes the keys that a recorded program needs.
    fn make_keys(&self, py: Python<'_>, recorded: &Recorded) -> PyResult<()> {
        let live = self.live("make_keys")?;
        let required = recorded.required(py)?;
        py.detach(|| live.make_keys(&required)).map_err(of_scheme)
    }

    /// The evaluation keys there are, as a file's bytes.
    fn keys_to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let live = self.live("keys_to_bytes")?;
        Ok(PyBytes::new(py, &py.detach(|| live.write_keys(Vec::new())).map_err(of_scheme)?))
    }

    /// The same, to a file; the bytes given come first.
    fn keys_to_file(&self, py: Python<'_>, path: PathBuf, before: Vec<u8>) -> PyResult<()> {
        use std::io::Write as _;
        let live = self.live("keys_to_file")?;
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(&before)?;
        let written = py.detach(|| live.write_keys(file));
        Ok(written.map_err(of_scheme)?.flush()?)
    }

    /// Bytes of so many fresh ciphertexts.
    fn ciphertext_bytes(&self, batch: u64) -> u64 {
        let params = self.params();
        let limbs = params.basis(params.user_level()).len() as u64;
        (2 * 8 * limbs * batch) << params.log_n()
    }

    /// The public key, as a file's bytes.
    fn public_key_to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let live = self.live("public_key_to_bytes")?;
        let write = || {
            let key = live.public_key("public_key_to_bytes")?;
            wire::write_public_key(Vec::new(), &*live.dev, &live.params, key, &live.origin())
        };
        Ok(PyBytes::new(py, &py.detach(write).map_err(of_scheme)?))
    }

    /// The secret key, as a file's bytes.
    #[pyo3(signature = (passphrase=None))]
    fn secret_to_bytes<'py>(&self, py: Python<'py>, passphrase: Option<&str>) -> PyResult<Bound<'py, PyBytes>> {
        let live = self.live("secret_to_bytes")?;
        let Some(secret) = &live.secret else {
            return Err(exception("KeyMissing", "this side has no secret key: only the client can save it"));
        };
        secret_bytes(py, 4096 + live.params.ring().n(), |out| {
            wire::write_secret_key(out, &live.params, secret, lock(passphrase), &live.origin()).map(drop)
        })
    }

    /// Encrypts an array that lies as said.
    #[pyo3(signature = (array, axes, *, slots, batch, complex, bound=None, level=None, public=false, shadow=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn encrypt(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        axes: Vec<Axis>,
        slots: usize,
        batch: usize,
        complex: bool,
        bound: Option<f64>,
        level: Option<usize>,
        public: bool,
        shadow: bool,
    ) -> PyResult<PyCiphertext> {
        let packing = packing(self.params(), slots, level).map_err(of_scheme)?;
        let rows = pack(array, complex, &Lie { axes, slots, batch }, 1.0)?;
        match &self.engine {
            Engine::Live(live) => {
                let how = Encryption { public, shadowed: shadow };
                let made = py.detach(|| live.encrypt(&rows, packing, bound, how));
                let (ciphertext, seed) = made.map_err(of_scheme)?;
                Ok(self.made(Held::Live(Arc::new(Value::new(ciphertext))), seed))
            }
            Engine::Trace(trace) => match trace.input(rows, packing, bound).map_err(of_scheme)? {
                Some((number, c)) => Ok(self.made(Held::Trace(number, Arc::new(Value::new(c))), None)),
                None => Err(exception(
                    "TraceError",
                    "encrypt: inputs come before the first operation; pass this array as an input of the program",
                )),
            },
        }
    }

    /// Decrypts into an array of the right size.
    fn decrypt(
        &self,
        ciphertext: &PyCiphertext,
        array: &Bound<'_, PyAny>,
        axes: Vec<Axis>,
        complex: bool,
    ) -> PyResult<()> {
        let live = self.live("decrypt")?;
        let value = self.trusted("decrypt", ciphertext)?;
        let messages = array.py().detach(|| live.decrypt(value)).map_err(of_scheme)?;
        unpack(&messages, array, complex, &Lie { axes, slots: value.get().slots, batch: messages.len() })
    }

    /// The clear values beside a ciphertext, into an array.
    fn shadow(
        &self,
        ciphertext: &PyCiphertext,
        array: &Bound<'_, PyAny>,
        axes: Vec<Axis>,
        complex: bool,
    ) -> PyResult<bool> {
        let (shadow, slots) = match &ciphertext.held {
            Held::Live(value) => (value.get().shadow, value.get().slots),
            Held::Trace(_, value) => (value.get().shadow, value.get().slots),
        };
        let Some(shadow) = shadow else { return Ok(false) };
        let messages = shadow.values();
        unpack(messages, array, complex, &Lie { axes, slots, batch: messages.len() })?;
        Ok(true)
    }

    /// Mean and least precision in bits against the clear values beside; nothing without them.
    fn precision(&self, py: Python<'_>, ciphertext: &PyCiphertext) -> PyResult<Option<(f64, f64)>> {
        let (live, value) = (self.live("precision")?, self.trusted("precision", ciphertext)?);
        let measured = py.detach(|| live.precision(value)).map_err(of_scheme)?;
        Ok(measured.map(|p| (p.mean, p.min)))
    }

    /// The same in the middle of a program, where a value may be larger than its modulus and come back.
    fn precision_within(&self, py: Python<'_>, ciphertext: &PyCiphertext) -> PyResult<Option<(f64, f64)>> {
        let (live, value) = (self.live("precision")?, self.trusted("precision", ciphertext)?);
        let measured = py.detach(|| live.precision_within(value)).map_err(of_scheme)?;
        Ok(measured.map(|p| (p.mean, p.min)))
    }

    /// A ciphertext as a file's bytes.
    fn to_bytes<'py>(&self, py: Python<'py>, ciphertext: &PyCiphertext) -> PyResult<Bound<'py, PyBytes>> {
        let (live, value) = (self.live("to_bytes")?, self.live_value("to_bytes", ciphertext)?);
        let (held, seed) = (value.get(), ciphertext.seed.clone());
        let bytes = py.detach(|| match seed {
            Some(seed) => {
                let fresh = limbwise::ckks::encrypt::FreshCiphertext { ciphertext: held, seed };
                wire::write_fresh_ciphertext(Vec::new(), &*live.dev, &live.params, &fresh, &live.origin())
            }
            None => wire::write_ciphertext(Vec::new(), &*live.dev, &live.params, &held, &live.origin()),
        });
        Ok(PyBytes::new(py, &bytes.map_err(of_scheme)?))
    }

    /// A ciphertext from a file's bytes. What it says of itself is believed only where its own writer asks for it.
    fn read_bytes(&self, py: Python<'_>, bytes: &[u8], trusted: bool) -> PyResult<PyCiphertext> {
        let live = self.live("from_bytes")?;
        let read = py.detach(|| live.read(bytes)).map_err(of_scheme)?;
        let made = self.made(Held::Live(Arc::new(Value::new(read))), None);
        Ok(PyCiphertext { claimed: !trusted, ..made })
    }

    /// The same ciphertext with what is expected of it in the place of what it says, if both agree.
    fn admit(&self, ciphertext: &PyCiphertext, expected: &Expected) -> PyResult<PyCiphertext> {
        let value = self.live_value("from_bytes", ciphertext)?;
        let admitted = expected.0.admit(self.params(), value.get()).map_err(|e| of_scheme(e.into()))?;
        Ok(self.made(Held::Live(Arc::new(Value::new(admitted))), None))
    }

    /// Decrypts into an array of the right size what may be shared: its errors are hidden by noise, and it is counted.
    #[pyo3(signature = (ciphertext, array, axes, complex, *, statistical_bits=None, results=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn share(
        &self,
        ciphertext: &PyCiphertext,
        array: &Bound<'_, PyAny>,
        axes: Vec<Axis>,
        complex: bool,
        statistical_bits: Option<u32>,
        results: Option<u32>,
    ) -> PyResult<String> {
        let sharing = self.sharing.sharing(statistical_bits, results)?;
        let (live, value) = (self.live("share")?, self.trusted("share", ciphertext)?);
        let held = value.get();
        let messages = array.py().detach(|| live.decrypt(value)).map_err(of_scheme)?;
        let lie = Lie { axes, slots: held.slots, batch: messages.len() };
        self.sharing.flood((&messages, &lie), (array, complex), held.estimate, sharing)
    }

    /// Keeps the count of what is shared beside the file of the secret key, from now on.
    fn keep_ledger(&self, secret: PathBuf) -> PyResult<()> {
        self.sharing.keep(&secret, self.live("keep_ledger")?.key_set_name())
    }

    fn add(&self, py: Python<'_>, a: &PyCiphertext, b: &PyCiphertext) -> PyResult<PyCiphertext> {
        self.run(py, Op::Add, &[a, b])
    }

    fn sub(&self, py: Python<'_>, a: &PyCiphertext, b: &PyCiphertext) -> PyResult<PyCiphertext> {
        self.run(py, Op::Sub, &[a, b])
    }

    fn mul(&self, py: Python<'_>, a: &PyCiphertext, b: &PyCiphertext) -> PyResult<PyCiphertext> {
        self.run(py, Op::Mul, &[a, b])
    }

    fn negate(&self, py: Python<'_>, a: &PyCiphertext) -> PyResult<PyCiphertext> {
        self.run(py, Op::Negate, &[a])
    }

    fn add_scalar(&self, py: Python<'_>, a: &PyCiphertext, value: f64) -> PyResult<PyCiphertext> {
        self.run(py, Op::AddScalar(value), &[a])
    }

    fn mul_scalar(&self, py: Python<'_>, a: &PyCiphertext, value: f64) -> PyResult<PyCiphertext> {
        self.run(py, Op::MulScalar(value), &[a])
    }

    /// Adds a clear array that lies as said, times a factor.
    #[pyo3(signature = (a, array, axes, *, batch, complex, factor=1.0))]
    #[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn add_array(
        &self,
        a: &PyCiphertext,
        array: &Bound<'_, PyAny>,
        axes: Vec<Axis>,
        batch: usize,
        complex: bool,
        factor: f64,
    ) -> PyResult<PyCiphertext> {
        let rows = pack(array, complex, &Lie { axes, slots: a.slot_count(), batch }, factor)?;
        self.run(array.py(), Op::AddRows(Arc::new(rows)), &[a])
    }

    /// Multiplies with a clear array that lies as said.
    #[pyo3(signature = (a, array, axes, *, batch, complex))]
    fn mul_array(
        &self,
        a: &PyCiphertext,
        array: &Bound<'_, PyAny>,
        axes: Vec<Axis>,
        batch: usize,
        complex: bool,
    ) -> PyResult<PyCiphertext> {
        let rows = pack(array, complex, &Lie { axes, slots: a.slot_count(), batch }, 1.0)?;
        self.run(array.py(), Op::MulRows(Arc::new(rows)), &[a])
    }

    fn rotate(&self, py: Python<'_>, a: &PyCiphertext, steps: i64) -> PyResult<PyCiphertext> {
        self.run(py, Op::Rotate(steps), &[a])
    }

    fn conjugate(&self, py: Python<'_>, a: &PyCiphertext) -> PyResult<PyCiphertext> {
        self.run(py, Op::Conjugate, &[a])
    }

    fn inner_sum(&self, py: Python<'_>, a: &PyCiphertext, stride: i64, count: usize) -> PyResult<PyCiphertext> {
        self.run(py, Op::InnerSum { stride, count }, &[a])
    }

    /// A Chebyshev series on its interval.
    fn series(
        &self,
        py: Python<'_>,
        a: &PyCiphertext,
        coefficients: Vec<f64>,
        from: f64,
        to: f64,
    ) -> PyResult<PyCiphertext> {
        let finite = coefficients.iter().all(|c| c.is_finite());
        if coefficients.is_empty() || !finite || !(from < to && (to - from).is_finite()) {
            let text = format!(
                "a series of {} coefficients on [{from}, {to}]: wanted finite ones, at least one, and an interval",
                coefficients.len()
            );
            return Err(exception("EncodeError", &text));
        }
        self.run(py, Op::Series(Arc::new(Series { coefficients, from, to })), &[a])
    }

    /// A planned function.
    fn apply(&self, py: Python<'_>, a: &PyCiphertext, function: &PyFunction) -> PyResult<PyCiphertext> {
        self.run(py, Op::Function(function.0.clone()), &[a])
    }

    /// A linear map on slots by its diagonals: their indices, and their real values one after another.
    fn linear(&self, a: &PyCiphertext, indices: Vec<i64>, values: &Bound<'_, PyAny>) -> PyResult<PyCiphertext> {
        let (py, slots) = (values.py(), a.slot_count());
        let map = numbers(values, |values| {
            if values.len() != indices.len() * slots {
                let (got, many) = (values.len(), indices.len());
                return Err(shape_error(&format!("{got} values for {many} diagonals of {slots} slots")));
            }
            let complex = |v: &[Cell<f64>]| v.iter().map(|x| x.get().into()).collect();
            let diagonals = indices.into_iter().zip(values.chunks_exact(slots).map(complex));
            Diagonals::new(slots, diagonals.collect::<Vec<_>>()).map_err(of_scheme)
        })?;
        self.run(py, Op::Linear(Arc::new(map)), &[a])
    }

    fn gather(&self, py: Python<'_>, a: &PyCiphertext, indices: Vec<usize>) -> PyResult<PyCiphertext> {
        let batch = a.batch_size();
        if indices.is_empty() || indices.iter().any(|&i| i >= batch) {
            return Err(shape_error(&format!("messages {indices:?} of a batch of {batch}")));
        }
        self.run(py, Op::Gather(indices), &[a])
    }

    fn stack(&self, py: Python<'_>, all: Vec<PyRef<'_, PyCiphertext>>) -> PyResult<PyCiphertext> {
        let all: Vec<&PyCiphertext> = all.iter().map(|c| &**c).collect();
        let Some(first) = all.first() else { return Err(shape_error("a batch of no ciphertexts")) };
        if all.iter().any(|c| c.slot_count() != first.slot_count()) {
            return Err(shape_error("ciphertexts of different numbers of slots in one batch"));
        }
        self.run(py, Op::Stack, &all)
    }

    /// The same with more slots, in which it repeats, or fewer.
    fn with_slots(&self, py: Python<'_>, a: &PyCiphertext, slots: usize) -> PyResult<PyCiphertext> {
        if !slots.is_power_of_two() || slots > self.params().max_slots() {
            return Err(shape_error(&format!(
                "{slots} slots: choose a power of two up to {}",
                self.params().max_slots()
            )));
        }
        self.run(py, Op::Slots(slots), &[a])
    }

    fn bounded_by(&self, py: Python<'_>, a: &PyCiphertext, most: f64) -> PyResult<PyCiphertext> {
        self.run(py, Op::BoundedBy(most), &[a])
    }

    fn bootstrap(&self, py: Python<'_>, a: &PyCiphertext) -> PyResult<PyCiphertext> {
        self.run(py, Op::Bootstrap, &[a])
    }

    fn settle(&self, py: Python<'_>, a: &PyCiphertext) -> PyResult<PyCiphertext> {
        self.run(py, Op::Settle, &[a])
    }

    /// The product alone: three polynomials, the scales multiplied.
    fn multiply(&self, py: Python<'_>, a: &PyCiphertext, b: &PyCiphertext) -> PyResult<PyCiphertext> {
        self.run(py, Op::Multiply, &[a, b])
    }

    fn relinearize(&self, py: Python<'_>, a: &PyCiphertext) -> PyResult<PyCiphertext> {
        self.run(py, Op::Relinearize, &[a])
    }

    fn rescale(&self, py: Python<'_>, a: &PyCiphertext) -> PyResult<PyCiphertext> {
        self.run(py, Op::Rescale, &[a])
    }

    fn drop_level(&self, py: Python<'_>, a: &PyCiphertext, level: usize) -> PyResult<PyCiphertext> {
        self.run(py, Op::DropLevel(level), &[a])
    }

    /// Ends a trace.
    fn finish(&self, results: Vec<PyRef<'_, PyCiphertext>>) -> PyResult<Recorded> {
        let Engine::Trace(trace) = &self.engine else { return Err(shape_error("only a trace is recorded")) };
        let results: Vec<&PyCiphertext> = results.iter().map(|c| &**c).collect();
        results.iter().try_for_each(|c| self.owns("record", c))?;
        if results.is_empty() {
            return Err(exception("TraceError", "the program returned no encrypted value: return what it computed"));
        }
        Ok(Recorded::new(trace.finish(&traced(&results)?), &self.name))
    }

    /// Nanoseconds of the explicit product of two ciphertexts (multiply, relinearize, rescale) without Python between,
    /// each repetition's: what the same from Python is compared with.
    fn time_product(
        &self,
        py: Python<'_>,
        a: &PyCiphertext,
        b: &PyCiphertext,
        repetitions: usize,
    ) -> PyResult<Vec<u64>> {
        let live = self.live("time_product")?;
        let (a, b) = (self.live_value("time_product", a)?, self.live_value("time_product", b)?);
        let one = || {
            live.with_auto(|auto| {
                let (a, b) = (a.get(), b.get());
                let start = std::time::Instant::now();
                drop(auto.eval.relinearize_rescaled(&auto.eval.multiply(&a, &b)?)?);
                Ok(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
            })
        };
        py.detach(|| (0..repetitions).map(|_| one()).collect::<limbwise::Result<_>>()).map_err(of_scheme)
    }

    /// Refused, as for ciphertexts.
    fn __reduce_ex__(&self, _protocol: i32) -> PyResult<Py<PyAny>> {
        let text = "contexts are not pickled, because unpickling runs code of whoever wrote the bytes and would carry the secret key: use context.save_secret(path) and lw.load(path), or context.keys_to_bytes() for a server";
        Err(exception("PickleRefused", text))
    }
}
