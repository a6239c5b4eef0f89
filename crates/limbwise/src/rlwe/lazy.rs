//! Evaluation keys generated on first use, for unplanned programs that own both the client's and the server's side.
//! Exists only under the feature `client`.

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

/// A key that was just generated.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// Name of the key.
    pub name: KeyName,
    /// Highest level of ciphertexts that it switches.
    pub level: usize,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the generation.
    pub time: Duration,
}

/// Storage of generated keys.
pub trait MadeHome<D: Device>: Send + Sync {
    /// Names of the stored keys, each with its level.
    fn names(&self) -> Requirements;

    /// The named key, if it is stored for this level or a higher one.
    ///
    /// # Errors
    /// An error while reading it.
    fn find(&self, name: KeyName, level: usize) -> Result<Option<EvaluationKey<D>>>;

    /// Stores a key, replacing any of the same name.
    ///
    /// # Errors
    /// An error while writing it.
    fn keep(&self, key: EvaluationKey<D>) -> Result<()>;
}

/// Storage in memory.
struct Memory<D: Device>(Mutex<BTreeMap<KeyName, EvaluationKey<D>>>);

impl<D: Device> Memory<D> {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<KeyName, EvaluationKey<D>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Device> MadeHome<D> for Memory<D> {
    fn names(&self) -> Requirements {
        self.lock().values().map(|k| (k.name(), k.level())).collect()
    }

    fn find(&self, name: KeyName, level: usize) -> Result<Option<EvaluationKey<D>>> {
        Ok(self.lock().get(&name).filter(|key| key.level() >= level).cloned())
    }

    fn keep(&self, key: EvaluationKey<D>) -> Result<()> {
        self.lock().insert(key.name(), key);
        Ok(())
    }
}

/// The keys generated so far, and the limit on their number.
pub struct MadeKeys<D: Device> {
    form: KeyForm,
    home: Box<dyn MadeHome<D>>,
    /// Limit on rotation keys, including the conjugation key.
    most_galois: usize,
    /// Held while a key is generated, so that no key is generated twice.
    making: Mutex<()>,
}

impl<D: Device> MadeKeys<D> {
    /// An empty store in memory for keys of the given form.
    #[must_use]
    pub fn new(form: KeyForm) -> Self
    where
        D: 'static,
    {
        Self::with_home(form, Box::new(Memory(Mutex::default())))
    }

    /// A store that keeps keys of the given form in `home`.
    #[must_use]
    pub fn with_home(form: KeyForm, home: Box<dyn MadeHome<D>>) -> Self {
        Self { form, home, most_galois: usize::MAX, making: Mutex::default() }
    }

    /// Limits the number of rotation and conjugation keys.
    #[must_use]
    pub fn with_most_galois(self, most_galois: usize) -> Self {
        Self { most_galois, ..self }
    }

    /// Names of the stored keys, each with its level.
    #[must_use]
    pub fn names(&self) -> Requirements {
        self.home.names()
    }

    /// Form of the generated keys.
    #[must_use]
    pub fn form(&self) -> KeyForm {
        self.form
    }

    /// The named key, if it is stored.
    ///
    /// # Errors
    /// An error while reading it.
    pub fn find(&self, name: KeyName, level: usize) -> Result<Option<EvaluationKey<D>>> {
        self.home.find(name, level)
    }

    /// All stored keys as a set for a server, in memory.
    ///
    /// # Errors
    /// An error while reading a key.
    pub fn key_set(&self, params: &Params) -> Result<KeySet<D>> {
        let keys = self.names().into_iter().map(|(name, level)| self.find(name, level));
        Ok(KeySet::new(params, keys.filter_map(Result::transpose).collect::<Result<_>>()?))
    }

    /// Fails if one more key would exceed the limit.
    fn may_make(&self, op: &'static str, name: KeyName, log_n: u32) -> Result<()> {
        let names = self.names();
        let galois = |name: &KeyName| matches!(name, KeyName::Galois(_) | KeyName::LowGalois(_));
        let made = names.keys().filter(|name| galois(name)).count();
        if galois(&name) && !names.contains_key(&name) && made >= self.most_galois {
            return Err(KeyError::TooMany { op, wanted: name.describe(log_n), most: self.most_galois }.into());
        }
        Ok(())
    }
}

/// A key store that generates missing keys from the secret key.
///
/// Each generation draws fresh randomness, also when a key is generated again for a higher level. The two keys of an
/// ephemeral secret are generated together, because they share that secret.
pub struct LazyKeys<'a, D: Device> {
    /// The device that generates keys.
    pub dev: &'a D,
    /// The parameter set of the keys.
    pub params: &'a Params,
    /// The secret key that all keys are generated from.
    pub secret: &'a SecretKey,
    /// The store of generated keys.
    pub made: &'a MadeKeys<D>,
    /// Lowest level at which to generate each key; [`Params::user_level`] for names that are absent.
    pub levels: &'a Requirements,
    /// Called after each generation.
    pub tell: &'a (dyn Fn(Made) + Send + Sync),
}

impl<D: Device> LazyKeys<'_, D> {
    /// Generates the keys that are missing.
    ///
    /// # Errors
    /// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness; [`KeyError::TooMany`]; the errors of
    /// the storage.
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
            self.made.home.keep(self.generate(&generator, other, 0)?)?;
        }
        let key = self.generate(&generator, name, level)?;
        self.made.home.keep(key.clone())?;
        Ok(key)
    }

    /// Generates a key at its usual level or at `at_least`, whichever is higher.
    fn generate(&self, generator: &KeyGenerator<'_, D>, name: KeyName, at_least: usize) -> Result<EvaluationKey<D>> {
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

    fn is_whole(&self, _name: KeyName) -> bool {
        self.made.form == KeyForm::Stored
    }
}
