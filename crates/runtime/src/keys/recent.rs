//! Keys in files, of which those used last stay in memory: for programs that nobody recorded.
//!
//! [`super::disk`] knows what comes next and reads ahead; here the next request is unknown, so the key that was used
//! longest ago leaves when the budget is full, and a key that is away is read when it is asked for.

use super::disk::KeySource;
use limbwise::{
    Error, Result,
    error::KeyError,
    params::Params,
    rlwe::{EvaluationKey, KeyForm, KeyName, KeyStore, key_bytes, serves},
};
use limbwise_device::Device;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keys within a budget, that which was used last at the end.
pub(super) struct Recent<D: Device> {
    budget_bytes: u64,
    held: Vec<EvaluationKey<D>>,
}

impl<D: Device> Recent<D> {
    pub(super) fn new(budget_bytes: u64) -> Self {
        Self { budget_bytes, held: Vec::new() }
    }

    /// The key of a name for a level, now the one used last.
    pub(super) fn find(&mut self, name: KeyName, level: usize) -> Option<EvaluationKey<D>> {
        let at = self.held.iter().position(|key| key.name() == name && key.level() >= level)?;
        let key = self.held.remove(at);
        self.held.push(key.clone());
        Some(key)
    }

    /// Keeps a key, and lets others go until all fit; the one that came last stays.
    pub(super) fn put(&mut self, params: &Params, key: EvaluationKey<D>) {
        self.held.retain(|held| held.name() != key.name());
        self.held.push(key);
        let bytes = |key: &EvaluationKey<D>| key_bytes(params, key.name(), key.level(), KeyForm::Disk);
        let mut all: u64 = self.held.iter().map(bytes).sum();
        while all > self.budget_bytes && self.held.len() > 1 {
            all -= bytes(&self.held.remove(0));
        }
    }
}

/// The keys of a file, some of them in memory.
pub struct RecentKeys<D: Device> {
    dev: Arc<D>,
    params: Params,
    source: Box<dyn KeySource<D> + Send>,
    recent: Mutex<Recent<D>>,
}

impl<D: Device> RecentKeys<D> {
    /// Keys of a source, at most so many bytes of them in memory, one at least.
    pub fn new(dev: Arc<D>, params: &Params, source: Box<dyn KeySource<D> + Send>, budget_bytes: u64) -> Self {
        Self { dev, params: params.clone(), source, recent: Mutex::new(Recent::new(budget_bytes)) }
    }

    pub fn source(&self) -> &dyn KeySource<D> {
        &*self.source
    }

    /// Names and levels of the keys that are in memory, that which was used last at the end.
    pub fn held(&self) -> Vec<(KeyName, usize)> {
        self.recent().held.iter().map(|key| (key.name(), key.level())).collect()
    }

    fn recent(&self) -> MutexGuard<'_, Recent<D>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Device> KeyStore<D> for RecentKeys<D> {
    fn check(&self, op: &'static str, name: KeyName, level: usize) -> Result<()> {
        let names = self.source.names();
        Ok(serves(self.params.log_n(), op, name, level, names.get(&name).copied(), names.keys().copied())?)
    }

    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        self.check(op, name, level)?;
        // Whoever comes while a key is read waits: two readers would hold two keys beyond the budget.
        let mut recent = self.recent();
        if let Some(key) = recent.find(name, level) {
            return Ok(key);
        }
        let unread = |cause: Error| {
            let (wanted, file) = (name.describe(self.params.log_n()), self.source.place());
            KeyError::Unread { op, wanted, file, cause: cause.to_string() }
        };
        let key = self.source.read(&self.dev, name, level).map_err(unread)?;
        recent.put(&self.params, key.clone());
        Ok(key)
    }
}
