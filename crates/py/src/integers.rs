//! Exact integers: a context that owns both sides of a BGV computation. Keys are made when an operation first needs them.

use crate::error::{exception, of_scheme};
use limbwise::{
    Result,
    bgv::{
        self, Auto, BgvLiteral, BgvParams, Ciphertext, Encoder, Encryption, Evaluator, LinearTransform, encrypt_seeded,
    },
    rlwe::{KeyForm, LazyKeys, MadeKeys, Requirements, SecretKey},
};
use limbwise_cpu::Cpu;
use limbwise_math::sampling::Seed;
use pyo3::prelude::{PyRef, PyResult, Python, pyclass, pymethods};

/// A batch of encrypted messages.
#[pyclass(frozen, name = "IntegerCiphertext", module = "limbwise._limbwise")]
pub(crate) struct IntegerCiphertext {
    inner: Ciphertext<Cpu>,
    /// Which session made it.
    owner: u64,
}

#[pymethods]
impl IntegerCiphertext {
    #[getter]
    fn level(&self) -> usize {
        self.inner.level
    }

    #[getter]
    fn noise_bits(&self) -> f64 {
        self.inner.noise.bits()
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }
}

/// Both sides.
#[pyclass(frozen, name = "IntegerSession", module = "limbwise._limbwise")]
pub(crate) struct IntegerSession {
    dev: Cpu,
    name: String,
    params: BgvParams,
    encoder: Encoder,
    secret: SecretKey,
    made: MadeKeys<Cpu>,
    /// Tells its ciphertexts from others'.
    owner: u64,
}

impl IntegerSession {
    /// Runs something with an evaluator whose keys are made on demand, without the interpreter's lock.
    fn with(
        &self,
        py: Python<'_>,
        run: impl FnOnce(&Auto<'_, Cpu>) -> Result<Ciphertext<Cpu>> + Send,
    ) -> PyResult<IntegerCiphertext> {
        let computed = py.detach(|| {
            let keys = LazyKeys {
                dev: &self.dev,
                params: self.params.rlwe(),
                secret: &self.secret,
                made: &self.made,
                levels: &Requirements::new(),
                tell: &|_| (),
            };
            run(&Auto::new(Evaluator::new(&self.dev, &self.params, &keys), &self.encoder))
        });
        Ok(IntegerCiphertext { inner: computed.map_err(of_scheme)?, owner: self.owner })
    }

    /// A ciphertext of this session.
    fn own<'c>(&self, a: &'c PyRef<'_, IntegerCiphertext>) -> PyResult<&'c Ciphertext<Cpu>> {
        if a.owner == self.owner {
            return Ok(&a.inner);
        }
        Err(exception("ContextError", "a ciphertext of another context: compute with those that one context encrypted"))
    }
}

#[pymethods]
impl IntegerSession {
    /// A preset by name, or a set as `limbwise params show NAME` prints it.
    #[new]
    #[pyo3(signature = (name, toml=None, threads=None))]
    fn new(py: Python<'_>, name: &str, toml: Option<&str>, threads: Option<usize>) -> PyResult<Self> {
        let params = match toml {
            None => bgv::preset(name).map_err(|e| of_scheme(e.into()))?,
            Some(text) => {
                let wrong = |e: toml::de::Error| {
                    let next = "\"limbwise params show bgv-n13\" prints a text of the right form";
                    exception("ParamsError", &format!("not a parameter set: {}\n({next})", e.to_string().trim_end()))
                };
                let literal: BgvLiteral = toml::from_str(text).map_err(wrong)?;
                BgvParams::new(&literal).map_err(|e| of_scheme(e.into()))?
            }
        };
        let builder = threads.map_or_else(Cpu::builder, |threads| Cpu::builder().threads(threads));
        let dev = builder.open().map_err(|e| exception("DeviceFault", &e.to_string()))?;
        py.detach(|| {
            let seed = Seed::from_os()?;
            let secret = SecretKey::generate(params.rlwe(), &seed.derive("secret"));
            let encoder = Encoder::new(&params);
            let owner = u64::from_le_bytes(*seed.derive("owner").0.first_chunk().expect("32 bytes"));
            let made = MadeKeys::new(KeyForm::Stored);
            Ok(Self { dev, name: name.into(), params, encoder, secret, made, owner })
        })
        .map_err(of_scheme)
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
        self.made.names().into_iter().map(key).collect()
    }

    fn encrypt(&self, py: Python<'_>, messages: Vec<Vec<i64>>) -> PyResult<IntegerCiphertext> {
        self.with(py, |auto| {
            let plain = self.encoder.encode(auto.eval.device(), &messages, self.params.top_level())?;
            Ok(encrypt_seeded(auto.eval.device(), &self.params, &self.secret, &plain)?.ciphertext)
        })
    }

    fn decrypt(&self, py: Python<'_>, a: PyRef<'_, IntegerCiphertext>) -> PyResult<Vec<Vec<i64>>> {
        let a = self.own(&a)?;
        py.detach(|| bgv::decrypt(&self.dev, &self.encoder, &self.secret, a)).map_err(of_scheme)
    }

    /// Bits of noise budget: measured with the secret key, and by the bound that travels.
    fn budget(&self, py: Python<'_>, a: PyRef<'_, IntegerCiphertext>) -> PyResult<(f64, f64)> {
        let a = self.own(&a)?;
        let reading = py.detach(|| bgv::read(&self.dev, &self.encoder, &self.secret, a)).map_err(of_scheme)?;
        Ok((reading.budget_bits, a.budget_bits(&self.params)))
    }

    /// Bits of budget of a fresh ciphertext, by the bound.
    fn fresh_budget(&self) -> f64 {
        let noise = bgv::noise::NoiseBound::fresh(&self.params, Encryption::Secret);
        self.params.rlwe().log_modulus(self.params.top_level()) - 1.0 - noise.bits()
    }

    fn add(
        &self,
        py: Python<'_>,
        a: PyRef<'_, IntegerCiphertext>,
        b: PyRef<'_, IntegerCiphertext>,
    ) -> PyResult<IntegerCiphertext> {
        let (a, b) = (self.own(&a)?, self.own(&b)?);
        self.with(py, |auto| auto.add(a, b))
    }

    fn sub(
        &self,
        py: Python<'_>,
        a: PyRef<'_, IntegerCiphertext>,
        b: PyRef<'_, IntegerCiphertext>,
    ) -> PyResult<IntegerCiphertext> {
        let (a, b) = (self.own(&a)?, self.own(&b)?);
        self.with(py, |auto| auto.sub(a, b))
    }

    fn mul(
        &self,
        py: Python<'_>,
        a: PyRef<'_, IntegerCiphertext>,
        b: PyRef<'_, IntegerCiphertext>,
    ) -> PyResult<IntegerCiphertext> {
        let (a, b) = (self.own(&a)?, self.own(&b)?);
        self.with(py, |auto| auto.mul(a, b))
    }

    fn negate(&self, py: Python<'_>, a: PyRef<'_, IntegerCiphertext>) -> PyResult<IntegerCiphertext> {
        let a = self.own(&a)?;
        self.with(py, |auto| Ok(auto.eval.negate(a)))
    }

    fn add_values(
        &self,
        py: Python<'_>,
        a: PyRef<'_, IntegerCiphertext>,
        rows: Vec<Vec<i64>>,
    ) -> PyResult<IntegerCiphertext> {
        let a = self.own(&a)?;
        self.with(py, |auto| auto.add_values(a, &rows))
    }

    fn mul_values(
        &self,
        py: Python<'_>,
        a: PyRef<'_, IntegerCiphertext>,
        rows: Vec<Vec<i64>>,
    ) -> PyResult<IntegerCiphertext> {
        let a = self.own(&a)?;
        self.with(py, |auto| auto.mul_values(a, &rows))
    }

    fn mul_scalar(&self, py: Python<'_>, a: PyRef<'_, IntegerCiphertext>, value: i64) -> PyResult<IntegerCiphertext> {
        let a = self.own(&a)?;
        self.with(py, |auto| auto.eval.mul_scalar(a, value))
    }

    fn rotate(&self, py: Python<'_>, a: PyRef<'_, IntegerCiphertext>, steps: i64) -> PyResult<IntegerCiphertext> {
        let a = self.own(&a)?;
        self.with(py, |auto| auto.rotate_rows(a, steps))
    }

    fn swap_rows(&self, py: Python<'_>, a: PyRef<'_, IntegerCiphertext>) -> PyResult<IntegerCiphertext> {
        let a = self.own(&a)?;
        self.with(py, |auto| auto.swap_rows(a))
    }

    fn slot_sum(&self, py: Python<'_>, a: PyRef<'_, IntegerCiphertext>) -> PyResult<IntegerCiphertext> {
        let a = self.own(&a)?;
        self.with(py, |auto| auto.slot_sum(a))
    }

    /// A matrix times the first row of slots.
    fn matvec(
        &self,
        py: Python<'_>,
        a: PyRef<'_, IntegerCiphertext>,
        matrix: Vec<Vec<i64>>,
    ) -> PyResult<IntegerCiphertext> {
        let a = self.own(&a)?;
        self.with(py, |auto| {
            let map = LinearTransform::of_rows(auto.eval.device(), &self.encoder, [&matrix[..], &[]], a.level)?;
            auto.linear_transform(a, &map)
        })
    }
}
