//! Evaluation keys that come into being when they are first asked for: for programs that own both sides, client and
//! server, and are not planned. Exists only under the feature `client`.

use super::{
    key::{EvaluationKey, KeyForm, KeyName},
    secret::{KeyGenerator, SecretKey},
    store::{KeySet, KeyStore, Requirements, key_bytes},
};
use crate::{
    error::{KeyError, Result},
    params::Params,
};
use limbwise_device::Device;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// A key that was just made.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// Which.
    pub name: KeyName,
    /// Highest level it serves.
    pub level: usize,
    /// Its bytes.
    pub bytes: u64,
    /// The time it took.
    pub time: Duration,
}

/// Where keys are kept once they are made.
pub trait MadeHome<D: Device>: Send + Sync {
    /// The keys there are, each with its level.
    fn names(&self) -> Requirements;

    /// The key of a name, if it is there for this level.
    ///
    /// # Errors
    /// What keeps it from being read.
    fn find(&self, name: KeyName, level: usize) -> Result<Option<EvaluationKey<D>>>;

    /// Keeps a key in the place of another of its name.
    ///
    /// # Errors
    /// What keeps it from being written.
    fn keep(&self, key: EvaluationKey<D>) -> Result<()>;
}

/// All of them in memory.
struct Memory<D: Device>(Mutex<BTreeMap<KeyName, EvaluationKey<D>>>);

impl<D: Device> Memory<D> {
    fn held(&self) -> MutexGuard<'_, BTreeMap<KeyName, EvaluationKey<D>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Device> MadeHome<D> for Memory<D> {
    fn names(&self) -> Requirements {
        self.held().values().map(|k| (k.name(), k.level())).collect()
    }

    fn find(&self, name: KeyName, level: usize) -> Result<Option<EvaluationKey<D>>> {
        Ok(self.held().get(&name).filter(|key| key.level() >= level).cloned())
    }

    fn keep(&self, key: EvaluationKey<D>) -> Result<()> {
        self.held().insert(key.name(), key);
        Ok(())
    }
}

/// The keys made so far, and how many there may be.
pub struct MadeKeys<D: Device> {
    form: KeyForm,
    home: Box<dyn MadeHome<D>>,
    /// Rotation keys, the conjugation among them, that may be made.
    most_galois: usize,
    /// One key is made at a time.
    making: Mutex<()>,
}

impl<D: Device> MadeKeys<D> {
    /// No key yet; all will be kept in memory, in this form.
    #[must_use]
    pub fn new(form: KeyForm) -> Self
    where
        D: 'static,
    {
        Self::kept_in(form, Box::new(Memory(Mutex::default())))
    }

    /// Keys that are kept elsewhere; this is the form in which they are made.
    #[must_use]
    pub fn kept_in(form: KeyForm, home: Box<dyn MadeHome<D>>) -> Self {
        Self { form, home, most_galois: usize::MAX, making: Mutex::default() }
    }

    /// The same with at most so many keys of rotations and of the conjugation.
    #[must_use]
    pub fn with_most_galois(self, most_galois: usize) -> Self {
        Self { most_galois, ..self }
    }

    /// The keys there are, each with its level.
    #[must_use]
    pub fn names(&self) -> Requirements {
        self.home.names()
    }

    /// How keys are made.
    #[must_use]
    pub fn form(&self) -> KeyForm {
        self.form
    }

    /// One of the keys there are.
    ///
    /// # Errors
    /// What keeps it from being read.
    pub fn find(&self, name: KeyName, level: usize) -> Result<Option<EvaluationKey<D>>> {
        self.home.find(name, level)
    }

    /// The keys there are, for a server; all in memory.
    ///
    /// # Errors
    /// What keeps one from being read.
    pub fn key_set(&self, params: &Params) -> Result<KeySet<D>> {
        let keys = self.names().into_iter().map(|(name, level)| self.find(name, level));
        Ok(KeySet::new(params, keys.filter_map(Result::transpose).collect::<Result<_>>()?))
    }

    /// Fails where a key is one too many.
    fn may_make(&self, op: &'static str, name: KeyName, log_n: u32) -> Result<()> {
        let names = self.names();
        let galois = |name: &KeyName| matches!(name, KeyName::Galois(_));
        let made = names.keys().filter(|name| galois(name)).count();
        if galois(&name) && !names.contains_key(&name) && made >= self.most_galois {
            return Err(KeyError::TooMany { op, wanted: name.describe(log_n), most: self.most_galois }.into());
        }
        Ok(())
    }
}

/// A store that makes what is missing with the secret key.
///
/// Each name is drawn from fresh randomness whenever it is made, also when it is made again for a higher level. The two
/// keys of an ephemeral secret are made together, because they share it.
pub struct LazyKeys<'a, D: Device> {
    /// The device.
    pub dev: &'a D,
    /// The parameters.
    pub params: &'a Params,
    /// The key that all others are made from.
    pub secret: &'a SecretKey,
    /// Where they are kept.
    pub made: &'a MadeKeys<D>,
    /// Levels below which a key of a name is not made; [`Params::user_level`] for others.
    pub levels: &'a Requirements,
    /// Told of every key made.
    pub tell: &'a (dyn Fn(Made) + Send + Sync),
}

impl<D: Device> LazyKeys<'_, D> {
    /// Makes the missing ones of these keys.
    ///
    /// # Errors
    /// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness; [`KeyError::TooMany`]; those of the
    /// place where they are kept.
    pub fn make(&self, required: &Requirements) -> Result<()> {
        let there = self.made.names();
        let missing = required.iter().filter(|&(name, level)| there.get(name).is_none_or(|made| made < level));
        missing.into_iter().try_for_each(|(&name, &level)| self.get("making keys", name, level).map(drop))
    }

    fn get(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        let _one_at_a_time = self.made.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = self.made.find(name, level)? {
            return Ok(key);
        }
        self.made.may_make(op, name, self.params.log_n())?;
        if name == KeyName::FromLwe {
            let present = "those that are made from the main secret alone; make this one beforehand".into();
            return Err(KeyError::Missing { op, wanted: name.to_string(), present }.into());
        }
        let generator = KeyGenerator::new(self.dev, self.params, self.secret)?;
        let other = match name {
            KeyName::Encapsulation => Some(KeyName::Decapsulation),
            KeyName::Decapsulation => Some(KeyName::Encapsulation),
            _ => None,
        };
        if let Some(other) = other {
            self.made.home.keep(self.generated(&generator, other, 0)?)?;
        }
        let key = self.generated(&generator, name, level)?;
        self.made.home.keep(key.clone())?;
        Ok(key)
    }

    /// A key at the level that is usual for its name, or higher.
    fn generated(&self, generator: &KeyGenerator<'_, D>, name: KeyName, at_least: usize) -> Result<EvaluationKey<D>> {
        let usual = match name {
            name if name.is_lowest() => 0,
            KeyName::Decapsulation => self.params.top_level(),
            _ => self.params.user_level(),
        };
        let level = self.levels.get(&name).copied().unwrap_or(usual).max(at_least);
        let start = Instant::now();
        let key = generator.evaluation_key(name, level, self.made.form)?;
        let bytes = key_bytes(self.params, name, level, self.made.form);
        (self.tell)(Made { name, level, bytes, time: start.elapsed() });
        Ok(key)
    }
}

impl<D: Device> KeyStore<D> for LazyKeys<'_, D> {
    fn check(&self, _: &'static str, _: KeyName, _: usize) -> Result<()> {
        Ok(())
    }

    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        self.get(op, name, level)
    }
}
