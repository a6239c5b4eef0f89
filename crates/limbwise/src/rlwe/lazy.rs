//! Evaluation keys that come into being when they are first asked for: for programs that own both sides, client and
//! server, and are not planned. Exists only under the feature `client`.

use super::{
    key::{EvaluationKey, KeyForm, KeyName},
    secret::{KeyGenerator, SecretKey},
    store::{KeySet, KeyStore, Requirements, key_bytes},
};
use crate::{error::Result, params::Params};
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

/// The keys made so far, and at which levels to make others.
pub struct MadeKeys<D: Device> {
    form: KeyForm,
    keys: Mutex<BTreeMap<KeyName, EvaluationKey<D>>>,
}

impl<D: Device> MadeKeys<D> {
    /// No key yet; all will be kept in this form.
    #[must_use]
    pub fn new(form: KeyForm) -> Self {
        Self { form, keys: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<KeyName, EvaluationKey<D>>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The keys there are, each with its level.
    #[must_use]
    pub fn names(&self) -> Requirements {
        self.held().values().map(|k| (k.name(), k.level())).collect()
    }

    /// How keys are kept.
    #[must_use]
    pub fn form(&self) -> KeyForm {
        self.form
    }

    /// The keys there are, for a server.
    #[must_use]
    pub fn key_set(&self, params: &Params) -> KeySet<D> {
        KeySet::new(params, self.held().values().cloned().collect())
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
    /// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness.
    pub fn make(&self, required: &Requirements) -> Result<()> {
        required.iter().try_for_each(|(&name, &level)| self.get(name, level).map(drop))
    }

    fn get(&self, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        let mut keys = self.made.held();
        if let Some(key) = keys.get(&name).filter(|key| key.level() >= level) {
            return Ok(key.clone());
        }
        let generator = KeyGenerator::new(self.dev, self.params, self.secret)?;
        let together = match name {
            KeyName::Encapsulation | KeyName::Decapsulation => vec![KeyName::Encapsulation, KeyName::Decapsulation],
            _ => vec![name],
        };
        for one in together {
            let usual = match one {
                KeyName::Encapsulation => 0,
                KeyName::Decapsulation => self.params.top_level(),
                _ => self.params.user_level(),
            };
            let at_least = if one == name { level } else { 0 };
            let level = self.levels.get(&one).copied().unwrap_or(usual).max(at_least);
            let start = Instant::now();
            keys.insert(one, generator.evaluation_key(one, level, self.made.form));
            let bytes = key_bytes(self.params, one, level, self.made.form);
            (self.tell)(Made { name: one, level, bytes, time: start.elapsed() });
        }
        Ok(keys[&name].clone())
    }
}

impl<D: Device> KeyStore<D> for LazyKeys<'_, D> {
    fn check(&self, _: &'static str, _: KeyName, _: usize) -> Result<()> {
        Ok(())
    }

    fn key(&self, _: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        self.get(name, level)
    }
}
