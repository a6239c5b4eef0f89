//! A session that computes: device, keys and, on the client's side, the secret.

use crate::{
    error::look_at_signals,
    report::{News, tell},
};
use limbwise::{
    Complex64, Error, Result,
    ckks::{
        Auto, BootstrapPlan, Bootstrapper, Ciphertext, Diagonals, Encoder, Evaluator, LinearPlan, LinearTransform,
        Packing, PlaintextForm, Precision, Probe,
        bootstrap::Rotations,
        bootstrap::requirements,
        decrypt,
        encrypt::{encrypt, encrypt_seeded},
        estimate::{Estimate, Promise},
    },
    error::{BootstrapError, EncodeError, KeyError, LevelError},
    params::Params,
    rlwe::{
        KeyForm, KeyGenerator, KeyName, KeySet, KeyStore as _, LazyKeys, Made, MadeKeys, PublicKey, Requirements,
        SecretKey,
    },
    wire::{Container, Fingerprint, KeyWriter, Origin, read_ciphertext},
};
use limbwise_math::sampling::Seed;
use limbwise_runtime::AnyDevice;
use limbwise_runtime::{
    keys::{Asked, RecentKeys},
    tape::{Machine, Op, Value},
};
use std::{
    io::Write,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Instant,
};

/// Where evaluation keys come from.
pub(crate) enum Keys {
    /// Made when first asked for.
    Made(MadeKeys<AnyDevice>),
    /// Those that a client has given.
    Given(KeySet<AnyDevice>),
    /// The same in a file, those used last in memory.
    Filed(RecentKeys<AnyDevice>),
}

/// A session on the CPU.
pub(crate) struct Live {
    pub(crate) dev: Arc<AnyDevice>,
    pub(crate) params: Params,
    pub(crate) encoder: Encoder,
    pub(crate) secret: Option<Arc<SecretKey>>,
    pub(crate) keys: Keys,
    pub(crate) bootstrapping: Option<BootstrapPlan>,
    /// The key set, where there is no secret key to say it: what the file of its keys says.
    said: Fingerprint,
    identity: OnceLock<Fingerprint>,
    public: OnceLock<PublicKey<AnyDevice>>,
    bootstrapper: OnceLock<Bootstrapper<AnyDevice>>,
    making: Mutex<()>,
    /// Levels of keys that more than one step asks for.
    levels: OnceLock<Requirements>,
    first_levels: Requirements,
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
    let Estimate { magnitude, peak, real, .. } = ciphertext.estimate;
    let Some(estimate) = ciphertext.estimate.with_promise(promise) else {
        return Err(EncodeError::Promise { magnitude, peak, real }.into());
    };
    ciphertext.estimate = estimate;
    Ok(ciphertext)
}

impl Live {
    pub(crate) fn new(
        dev: Arc<AnyDevice>,
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
            said: Fingerprint::NONE,
            identity: OnceLock::new(),
            public: OnceLock::new(),
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
            Keys::Filed(filed) => filed.source().names().clone(),
        }
    }

    /// How they are kept.
    pub(crate) fn key_form(&self) -> KeyForm {
        match &self.keys {
            Keys::Made(made) => made.form(),
            Keys::Given(_) => KeyForm::Stored,
            Keys::Filed(_) => KeyForm::Disk,
        }
    }

    /// All keys, for a server; all in memory.
    pub(crate) fn key_set(&self) -> Result<KeySet<AnyDevice>> {
        match &self.keys {
            Keys::Made(made) => made.key_set(&self.params),
            Keys::Given(set) => Ok(KeySet::new(&self.params, set.keys().cloned().collect())),
            Keys::Filed(filed) => {
                let read = |(name, level)| filed.key("keys", name, level);
                Ok(KeySet::new(&self.params, self.names().into_iter().map(read).collect::<Result<_>>()?))
            }
        }
    }

    /// Writes all keys, one after another: they need not be in memory together.
    pub(crate) fn write_keys<W: Write>(&self, out: W) -> Result<W> {
        let names = self.names();
        let mut out = KeyWriter::new(out, &self.params, &names, &self.origin())?;
        for (name, level) in names {
            look_at_signals()?;
            let key = match &self.keys {
                Keys::Made(made) => made.find(name, level)?,
                Keys::Given(set) => Some(set.key("keys", name, level)?),
                Keys::Filed(filed) => Some(filed.key("keys", name, level)?),
            };
            out.write(&*self.dev, &key.expect("keys that were made stay"))?;
        }
        out.finish()
    }

    /// The name of the key set; none where only files of version 1 are known of it.
    pub(crate) fn key_set_name(&self) -> Fingerprint {
        let of = |secret: &Arc<SecretKey>| secret.identity(&self.params);
        *self.identity.get_or_init(|| self.secret.as_ref().map_or(self.said, of))
    }

    /// The same with the name of its key set, as a file says it.
    pub(crate) fn of_key_set(self, said: Fingerprint) -> Self {
        Self { said, ..self }
    }

    /// What files of this session say they belong to.
    pub(crate) fn origin(&self) -> Origin {
        Origin::of_keys(self.key_set_name())
    }

    /// The same with a public key.
    pub(crate) fn with_public(self, public: PublicKey<AnyDevice>) -> Self {
        Self { public: public.into(), ..self }
    }

    /// The public key, made when it is first asked for.
    pub(crate) fn public_key(&self, op: &'static str) -> Result<&PublicKey<AnyDevice>> {
        if let Some(known) = self.public.get() {
            return Ok(known);
        }
        let generator = KeyGenerator::new(&*self.dev, &self.params, self.secret(op)?)?;
        let made = generator.public_key();
        Ok(self.public.get_or_init(|| made))
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
        made: &MadeKeys<AnyDevice>,
        levels: &Requirements,
        then: impl FnOnce(&LazyKeys<'_, AnyDevice>) -> Result<R>,
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
    pub(crate) fn with_auto<R>(&self, then: impl FnOnce(&Auto<'_, AnyDevice>) -> Result<R>) -> Result<R> {
        let run = |store: &dyn limbwise::rlwe::KeyStore<AnyDevice>| {
            let watched = Asked::new(store, look_at_signals);
            then(&Auto::new(Evaluator::new(&*self.dev, &self.params, &watched), &self.encoder))
        };
        match &self.keys {
            Keys::Given(set) => run(set),
            Keys::Filed(filed) => run(filed),
            Keys::Made(made) => {
                let levels = self.levels.get().unwrap_or(&self.first_levels);
                self.lazy(made, levels, |lazy| run(lazy))
            }
        }
    }

    /// Carries out an operation.
    pub(crate) fn apply(&self, op: &Op, operands: &[&Value<AnyDevice>]) -> Result<Ciphertext<AnyDevice>> {
        self.with_auto(|auto| {
            let source = || self.bootstrapper();
            let machine = Machine { auto, bootstrapper: self.bootstrapping.is_some().then_some(&source) };
            let linear = |a: &Ciphertext<AnyDevice>| {
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
    fn bootstrapper(&self) -> Result<&Bootstrapper<AnyDevice>> {
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

    /// Encrypts messages, and tells the seed of the second half where there is one.
    pub(crate) fn encrypt(
        &self,
        rows: &[Vec<Complex64>],
        packing: Packing,
        bound: Option<f64>,
        how: Encryption,
    ) -> Result<(Ciphertext<AnyDevice>, Option<Seed>)> {
        let plain = self.encoder.encode(&*self.dev, rows, packing)?;
        let real = plain.estimate.real;
        let plain = if how.shadowed { plain.with_shadow(rows) } else { plain };
        let (dev, params) = (&*self.dev, &self.params);
        let (ciphertext, seed) = if how.public || (self.secret.is_none() && self.public.get().is_some()) {
            (encrypt(dev, params, self.public_key("encrypt")?, &plain)?, None)
        } else {
            let fresh = encrypt_seeded(dev, params, self.secret("encrypt")?, &plain)?;
            (fresh.ciphertext, Some(fresh.seed))
        };
        Ok((promised(ciphertext, bound, real)?, seed))
    }

    /// Reads a ciphertext, which may say anything of itself but for the key set that it belongs to. Files of version 1 do
    /// not say that either.
    pub(crate) fn read(&self, bytes: &[u8]) -> Result<Ciphertext<AnyDevice>> {
        let file = Container::open(bytes)?;
        if file.version() > 1 {
            self.origin().admits(&file.origin())?;
        }
        read_ciphertext(bytes, &*self.dev, &self.params)
    }

    /// The messages of a ciphertext, which says the truth of itself.
    pub(crate) fn decrypt(&self, value: &Value<AnyDevice>) -> Result<Vec<Vec<Complex64>>> {
        decrypt(&*self.dev, &self.encoder, &self.params, self.secret("decrypt")?, &value.get())
    }

    /// Mean and least precision against the clear values beside, if there are any.
    pub(crate) fn precision(&self, value: &Value<AnyDevice>) -> Result<Option<Precision>> {
        let Some(shadow) = value.get().shadow else { return Ok(None) };
        Ok(Some(Precision::of(&self.decrypt(value)?.concat(), &shadow.values().concat())))
    }

    /// The same in the middle of a program, where a value may be larger than its modulus and come back.
    pub(crate) fn precision_within(&self, value: &Value<AnyDevice>) -> Result<Option<Precision>> {
        let secret = self.secret("decrypt")?;
        let probe = Probe { dev: &*self.dev, encoder: &self.encoder, params: &self.params, secret };
        probe.precision_within(&value.get())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encryption {
    /// Under the public key, as those do who have no other; else under the secret one.
    pub(crate) public: bool,
    /// Whether clear values travel beside.
    pub(crate) shadowed: bool,
}

/// How a level's values lie in slots, for programs.
pub(crate) fn packing(params: &Params, slots: usize, level: Option<usize>) -> Result<Packing> {
    let top = params.user_level();
    let level = level.unwrap_or(top);
    if level > top {
        return Err(LevelError::Above { op: "encrypt", wanted: level, level: top }.into());
    }
    Ok(Packing { slots, level, scale: params.scale(level) })
}
