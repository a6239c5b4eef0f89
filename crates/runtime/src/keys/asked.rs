//! Long computations that ask now and then whether to go on: whenever they come for a key.

use limbwise::{
    Result,
    rlwe::{EvaluationKey, KeyName, KeyStore},
};
use limbwise_device::Device;
use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Asked on the thread that computes; an error ends the computation.
pub type Ask = fn() -> Result<()>;

/// How often is asked.
const PAUSE: Duration = Duration::from_millis(50);

/// A key store that asks before it gives a key: every long operation comes for keys again and again.
pub struct Asked<'k, D: Device> {
    inner: &'k dyn KeyStore<D>,
    ask: Ask,
    last: Mutex<Instant>,
}

impl<'k, D: Device> Asked<'k, D> {
    pub fn new(inner: &'k dyn KeyStore<D>, ask: Ask) -> Self {
        Self { inner, ask, last: Mutex::new(Instant::now()) }
    }
}

impl<D: Device> KeyStore<D> for Asked<'_, D> {
    fn check(&self, op: &'static str, name: KeyName, level: usize) -> Result<()> {
        self.inner.check(op, name, level)
    }

    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() > PAUSE {
            *last = Instant::now();
            drop(last);
            (self.ask)()?;
        }
        self.inner.key(op, name, level)
    }

    fn is_whole(&self, name: KeyName) -> bool {
        self.inner.is_whole(name)
    }
}
