//! A session that computes: device, keys and, on the client's side, the secret.

use crate::{
    error::look_at_signals,
    report::{News, tell},
};
use limbwise::{
    Complex64, Error, Result,
    ckks::{
        Auto, BootstrapPlan, Bootstrapper, Ciphertext, Diagonals, Encoder, Evaluator, LinearPlan, LinearTransform,
        Packing, PlaintextForm, Precision, bootstrap::Rotations, bootstrap::requirements, decrypt,
        encrypt::encrypt_seeded, estimate::Promise,
    },
    error::{BootstrapError, EncodeError, KeyError},
    params::Params,
    rlwe::{EvaluationKey, KeyForm, KeyName, KeySet, KeyStore, LazyKeys, Made, MadeKeys, Requirements, SecretKey},
};
use limbwise_cpu::Cpu;
use limbwise_math::sampling::Seed;
use limbwise_runtime::tape::{Machine, Op, Value};
use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

/// Where evaluation keys come from.
pub(crate) enum Keys {
    /// Made when first asked for.
    Made(MadeKeys<Cpu>),
    /// Those that a client has given.
    Given(KeySet<Cpu>),
}

/// A session on the CPU.
pub(crate) struct Live {
    pub(crate) dev: Arc<Cpu>,
    pub(crate) params: Params,
    pub(crate) encoder: Encoder,
    pub(crate) secret: Option<Arc<SecretKey>>,
    pub(crate) keys: Keys,
    pub(crate) bootstrapping: Option<BootstrapPlan>,
    bootstrapper: OnceLock<Bootstrapper<Cpu>>,
    making: Mutex<()>,
    /// Levels of keys that more than one step asks for.
    levels: OnceLock<Requirements>,
    first_levels: Requirements,
}

/// How often signals are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A key store that lets signal handlers run: every long operation asks for keys again and again.
struct Watched<'k> {
    inner: &'k dyn KeyStore<Cpu>,
    looked: Mutex<Instant>,
}

impl KeyStore<Cpu> for Watched<'_> {
    fn check(&self, op: &'static str, name: KeyName, level: usize) -> Result<()> {
        self.inner.check(op, name, level)
    }

    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<Cpu>> {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.elapsed() > LOOK {
            *looked = Instant::now();
            drop(looked);
            look_at_signals()?;
        }
        self.inner.key(op, name, level)
    }
}

/// How linear maps of arrays are evaluated at a level.
pub(crate) fn linear_plan(params: &Params, map: &Diagonals, level: usize) -> LinearPlan {
    LinearPlan::new(params, Rotations::DoubleHoisted.strategy(map), PlaintextForm::Full, level)
}

/// Estimates as promised, if the values keep the promise.
pub(crate) fn promised<D: limbwise_device::Device>(
    mut ciphertext: Ciphertext<D>,
    bound: Option<f64>,
    real: bool,
) -> Result<Ciphertext<D>> {
    let Some(bound) = bound else { return Ok(ciphertext) };
    let promise = Promise { magnitude: bound, peak: bound, real };
    let magnitude = ciphertext.estimate.peak;
    let Some(estimate) = ciphertext.estimate.promised(promise) else {
        let log_scale = ciphertext.scale.log2();
        return Err(EncodeError::TooLarge { magnitude, log_scale, log_modulus: bound.log2() }.into());
    };
    ciphertext.estimate = estimate;
    Ok(ciphertext)
}

impl Live {
    pub(crate) fn new(
        dev: Arc<Cpu>,
        params: &Params,
        secret: Option<Arc<SecretKey>>,
        keys: Keys,
        bootstrapping: Option<BootstrapPlan>,
    ) -> Self {
        // EvalMod multiplies above the levels of programs: one relinearization key serves both.
        let first = params.bootstrapping().map(|boot| (KeyName::Relinearization, boot.eval_mod_level()));
        Self {
            encoder: Encoder::new(params),
            params: params.clone(),
            dev,
            secret,
            keys,
            bootstrapping,
            bootstrapper: OnceLock::new(),
            making: Mutex::default(),
            levels: OnceLock::new(),
            first_levels: first.into_iter().collect(),
        }
    }

    /// The keys there are.
    pub(crate) fn names(&self) -> Requirements {
        match &self.keys {
            Keys::Made(made) => made.names(),
            Keys::Given(set) => set.names(),
        }
    }

    /// How they are kept.
    pub(crate) fn key_form(&self) -> KeyForm {
        match &self.keys {
            Keys::Made(made) => made.form(),
            Keys::Given(_) => KeyForm::Stored,
        }
    }

    /// All keys, for a server.
    pub(crate) fn key_set(&self) -> KeySet<Cpu> {
        match &self.keys {
            Keys::Made(made) => made.key_set(&self.params),
            Keys::Given(set) => KeySet::new(&self.params, set.keys().cloned().collect()),
        }
    }

    fn secret(&self, op: &'static str) -> Result<&SecretKey> {
        let missing = || {
            let wanted = "the secret key, which only the client has".into();
            Error::Key(KeyError::Missing { op, wanted, present: "public keys only".into() })
        };
        self.secret.as_deref().ok_or_else(missing)
    }

    /// Makes what is missing of these keys.
    pub(crate) fn make_keys(&self, required: &Requirements) -> Result<()> {
        let Keys::Made(made) = &self.keys else { return Ok(()) };
        let total = required.len();
        for (done, (&name, &level)) in required.iter().enumerate() {
            tell(News { kind: "step", name: "keys", done, total, ..News::default() });
            look_at_signals()?;
            self.lazy(made, required, |lazy| lazy.make(&[(name, level)].into()))?;
        }
        tell(News { kind: "step", name: "keys", done: total, total, ..News::default() });
        Ok(())
    }

    /// The store that makes what is missing, each key at the level that is said or at the highest of programs.
    fn lazy<R>(
        &self,
        made: &MadeKeys<Cpu>,
        levels: &Requirements,
        then: impl FnOnce(&LazyKeys<'_, Cpu>) -> Result<R>,
    ) -> Result<R> {
        let log_n = self.params.log_n();
        let told = |Made { name, level, bytes, time }: Made| {
            let name = format!("{} for level {level}", name.describe(log_n));
            tell(News { kind: "key", name: &name, bytes, seconds: time.as_secs_f64(), ..News::default() });
        };
        let (dev, params, secret) = (&*self.dev, &self.params, self.secret("making a key")?);
        then(&LazyKeys { dev, params, secret, made, levels, tell: &told })
    }

    /// An evaluator with this session's keys.
    pub(crate) fn with_auto<R>(&self, then: impl FnOnce(&Auto<'_, Cpu>) -> Result<R>) -> Result<R> {
        let run = |store: &dyn KeyStore<Cpu>| {
            let watched = Watched { inner: store, looked: Mutex::new(Instant::now()) };
            then(&Auto::new(Evaluator::new(&*self.dev, &self.params, &watched), &self.encoder))
        };
        match &self.keys {
            Keys::Given(set) => run(set),
            Keys::Made(made) => {
                let levels = self.levels.get().unwrap_or(&self.first_levels);
                self.lazy(made, levels, |lazy| run(lazy))
            }
        }
    }

    /// Carries out an operation.
    pub(crate) fn apply(&self, op: &Op, operands: &[&Value<Cpu>]) -> Result<Ciphertext<Cpu>> {
        self.with_auto(|auto| {
            let source = || self.bootstrapper();
            let machine = Machine { auto, bootstrapper: self.bootstrapping.is_some().then_some(&source) };
            let linear = |a: &Ciphertext<Cpu>| {
                let Op::Linear(map) = op else { unreachable!("asked for by linear maps only") };
                let plan = linear_plan(&self.params, map, a.level);
                let encoded = LinearTransform::encode(&*self.dev, &self.encoder, map, plan)?;
                auto.linear_transform(a, &if a.shadow.is_some() { encoded.with_shadow(map) } else { encoded })
            };
            let result = op.apply(&machine, operands, &linear)?;
            self.dev_ok()?;
            Ok(result)
        })
    }

    fn dev_ok(&self) -> Result<()> {
        Ok(limbwise_device::Device::sync(&*self.dev)?)
    }

    /// The bootstrapper, encoded when it is first needed, with its keys.
    fn bootstrapper(&self) -> Result<&Bootstrapper<Cpu>> {
        if let Some(made) = self.bootstrapper.get() {
            return Ok(made);
        }
        let _one_at_a_time = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = self.bootstrapper.get() {
            return Ok(made);
        }
        let plan = self.bootstrapping.ok_or(BootstrapError::Absent)?;
        let start = Instant::now();
        let required = requirements(&self.params, plan)?;
        let _ = self.levels.set(required.clone());
        self.make_keys(&required)?;
        let encoded = Bootstrapper::encode(&*self.dev, &self.encoder, plan)?;
        let news =
            News { kind: "bootstrapper", name: plan.rotations.name(), bytes: encoded.bytes(), ..News::default() };
        tell(News { seconds: start.elapsed().as_secs_f64(), ..news });
        Ok(self.bootstrapper.get_or_init(|| encoded))
    }

    /// Encrypts messages under the secret key, at the highest level that programs have.
    pub(crate) fn encrypt(
        &self,
        rows: &[Vec<Complex64>],
        slots: usize,
        bound: Option<f64>,
        with_shadow: Shadowed,
    ) -> Result<(Ciphertext<Cpu>, Seed)> {
        let (secret, level) = (self.secret("encrypt")?, self.params.user_level());
        let packing = Packing { slots, level, scale: self.params.scale(level) };
        let plain = self.encoder.encode(&*self.dev, rows, packing)?;
        let real = plain.estimate.real;
        let plain = if with_shadow == Shadowed::Yes { plain.with_shadow(rows) } else { plain };
        let fresh = encrypt_seeded(&*self.dev, &self.params, secret, &plain)?;
        Ok((promised(fresh.ciphertext, bound, real)?, fresh.seed))
    }

    /// The messages of a ciphertext.
    pub(crate) fn decrypt(&self, value: &Value<Cpu>) -> Result<Vec<Vec<Complex64>>> {
        decrypt(&*self.dev, &self.encoder, &self.params, self.secret("decrypt")?, &value.get())
    }

    /// Mean and least precision against the clear values beside, if there are any.
    pub(crate) fn precision(&self, value: &Value<Cpu>) -> Result<Option<Precision>> {
        let Some(shadow) = value.get().shadow else { return Ok(None) };
        Ok(Some(Precision::of(&self.decrypt(value)?.concat(), &shadow.values().concat())))
    }
}

/// Whether clear values travel beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shadowed {
    /// They do.
    Yes,
    /// They do not.
    No,
}
