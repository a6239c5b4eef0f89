//! Encrypted values that several operations use, and the means to bring them to a level.

use limbwise::{
    Result,
    ckks::{Auto, Bootstrapper, Ciphertext, Shadow},
};
use limbwise_device::Device;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An encrypted value that many operations may use, from any thread. What one of them had to divide, relinearize or
/// bootstrap stays so for the others: the message is the same.
pub struct Value<D: Device>(Mutex<Ciphertext<D>>);

impl<D: Device> Value<D> {
    /// A value of its own.
    #[must_use]
    pub fn new(ciphertext: Ciphertext<D>) -> Self {
        Self(Mutex::new(ciphertext))
    }

    /// The ciphertext as it is now: another handle on the same polynomials.
    #[must_use]
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
    /// Levels and scales.
    pub auto: &'m Auto<'a, D>,
    /// What bootstraps, where parameters allow it.
    pub bootstrapper: Option<Source<'m, D>>,
}

/// Bits by which values are scaled down beyond what their bound demands.
const SPARE: f64 = 1.0;

impl<D: Device> Machine<'_, '_, D> {
    /// The level that values may not leave: that of bootstrapping's input, or 0.
    #[must_use]
    pub fn floor(&self) -> usize {
        self.bootstrapper.and(self.auto.eval.params().bootstrapping()).map_or(0, |boot| boot.input_level())
    }

    /// A value as it is, but settled; it stays settled.
    ///
    /// # Errors
    /// A missing key.
    pub fn settled(&self, value: &Value<D>) -> Result<Ciphertext<D>> {
        let mut held = value.held();
        *held = self.auto.settle(&held)?;
        Ok(held.clone())
    }

    /// A value, settled, with at least so many levels above the floor: bootstrapped where it has fewer, if that helps.
    ///
    /// # Errors
    /// A missing key; what bootstrapping refuses. Levels that no bootstrapping gives are left to the operation to refuse.
    pub fn ready(&self, value: &Value<D>, levels: usize) -> Result<Ciphertext<D>> {
        let mut held = value.held();
        *held = self.auto.settle(&held)?;
        let won = self.auto.eval.params().bootstrapping().map_or(0, |boot| boot.levels);
        if self.bootstrapper.is_some() && held.level < self.floor() + levels && levels <= won {
            *held = self.bootstrap(&held)?;
        }
        Ok(held.clone())
    }

    /// The same message with all levels. Values that may be too large for the message ratio are scaled down before and up
    /// after, at the price of their precision and of a level each.
    ///
    /// # Errors
    /// As [`Bootstrapper::evaluate`]; [`limbwise::error::BootstrapError::Absent`] where nothing bootstraps.
    pub fn bootstrap(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let auto = self.auto;
        let Some(source) = self.bootstrapper else { return auto.bootstrap(a) };
        let boot = source()?;
        let slots = a.slots;
        let wide = with_slots(auto.settle(a)?, boot.plan().slots);
        // A quarter of the way to the next multiple of q₀ the sine turns back; see `Bootstrapper::evaluate`.
        let most = f64::from(boot.levels().literal.message_ratio).exp2() / 5.0;
        let floor = boot.levels().input_level();
        let peak = wide.estimate.peak;
        if peak <= most || wide.level <= floor {
            return Ok(with_slots(boot.evaluate(auto, &wide)?, slots));
        }
        let down = (-(peak / most).log2().ceil() - SPARE).exp2();
        let small = boot.evaluate(auto, &auto.scale_to(&wide, down, floor)?)?;
        let level = small.level - 1;
        Ok(with_slots(auto.scale_to(&small, 1.0 / down, level)?, slots))
    }
}

/// The same polynomials read with another number of slots: what is in few slots is in more of them again and again. With
/// fewer slots the caller knows that the message repeats.
#[must_use]
pub fn with_slots<D: Device>(a: Ciphertext<D>, slots: usize) -> Ciphertext<D> {
    let repeat = |s: &Shadow| {
        let rows: Vec<_> = s.values().iter().map(|row| row.iter().copied().cycle().take(slots).collect()).collect();
        Shadow::new(&rows, slots)
    };
    let shadow = a.shadow.as_ref().map(repeat);
    Ciphertext { slots, shadow, ..a }
}
