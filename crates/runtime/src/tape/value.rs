//! Encrypted values that several operations use, and the means to bring them to a level.

use limbwise::{
    Result,
    ckks::{Auto, Bootstrapper, Ciphertext, LevelPolicy, LookupTable},
    error::BootstrapError,
};
use limbwise_device::Device;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An encrypted value that many operations may use, from any thread. What one of them had to divide, relinearize or
/// bootstrap stays so for the others: the message is the same.
pub struct Value<D: Device>(Mutex<Ciphertext<D>>);

impl<D: Device> Value<D> {
    pub fn new(ciphertext: Ciphertext<D>) -> Self {
        Self(Mutex::new(ciphertext))
    }

    /// The ciphertext as it is now: another handle on the same polynomials.
    pub fn get(&self) -> Ciphertext<D> {
        self.held().clone()
    }

    fn held(&self) -> MutexGuard<'_, Ciphertext<D>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a bootstrapper comes from: it may be encoded only when it is first needed.
pub type Source<'m, D> = &'m dyn Fn() -> Result<&'m Bootstrapper<D>>;

/// What operations are carried out with.
pub struct Machine<'m, 'a, D: Device> {
    pub auto: &'m Auto<'a, D>,
    /// What bootstraps, where parameters allow it.
    pub bootstrapper: Option<Source<'m, D>>,
}

impl<'m, D: Device> Machine<'m, '_, D> {
    /// The level that values may not leave: that of bootstrapping's input, or 0.
    pub fn floor(&self) -> usize {
        self.bootstrapper.map_or(0, |_| LevelPolicy::of(self.auto.eval.params()).floor)
    }

    /// A value as it is, but settled; it stays settled.
    pub fn settled(&self, value: &Value<D>) -> Result<Ciphertext<D>> {
        let mut held = value.held();
        *held = self.auto.settle(&held)?;
        Ok(held.clone())
    }

    /// A value with at least so many levels above the floor, as [`Auto::ready`] makes it; it stays so.
    ///
    /// # Errors
    /// A missing key; what bootstrapping refuses. Levels that no bootstrapping gives are left to the operation to refuse.
    pub fn ready(&self, value: &Value<D>, levels: usize) -> Result<Ciphertext<D>> {
        let mut held = value.held();
        *held = self.auto.ready_with(&held, levels, self.bootstrapper)?;
        Ok(held.clone())
    }

    /// The entries of a value's integers: see [`Auto::look_up_with`].
    ///
    /// # Errors
    /// As there; [`BootstrapError::Absent`] where nothing bootstraps.
    pub fn look_up(&self, value: &Value<D>, table: &LookupTable) -> Result<Ciphertext<D>> {
        let made = self.bootstrapper.ok_or(BootstrapError::Absent)?;
        let a = self.ready(value, table.levels_before(self.auto.eval.params()))?;
        self.auto.look_up_with(made()?, &a, table)
    }

    /// The same message with all levels: see [`Auto::bootstrap_with`].
    ///
    /// # Errors
    /// As there; [`BootstrapError::Absent`] where nothing bootstraps.
    pub fn bootstrap(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        match self.bootstrapper {
            Some(made) => self.auto.bootstrap_with(made()?, a),
            None => self.auto.bootstrap(a),
        }
    }
}
