//! When a ciphertext is bootstrapped: as late as possible, before an operation that would leave too few levels.
//!
//! All programs share one rule. Programs that know their operations beforehand ask [`LevelPolicy`] and lay out maps and
//! inputs accordingly; programs that learn them one by one call [`Auto::ready`], which asks and bootstraps. Programs
//! differ in numbers only: the floor, the top, the levels that an operation consumes and must leave.

use super::{Auto, Bootstrapper, Ciphertext};
use crate::{
    error::Result,
    params::{Bootstrapping, Params},
};
use limbwise_device::Device;

/// The levels between two bootstrappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelPolicy {
    /// The lowest usable level: that of bootstrapping's input, or 0 without bootstrapping.
    pub floor: usize,
    /// The level of fresh and of bootstrapped ciphertexts.
    pub top: usize,
    /// Whether the program bootstraps.
    pub bootstraps: bool,
}

/// The start of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Level of its operand.
    pub level: usize,
    /// Whether the operand is bootstrapped first.
    pub bootstrap: bool,
}

impl LevelPolicy {
    /// The policy of a parameter set, with bootstrapping if the set has it.
    #[must_use]
    pub fn of(params: &Params) -> Self {
        let boot = params.bootstrapping();
        Self { floor: boot.map_or(0, Bootstrapping::input_level), top: params.user_level(), bootstraps: boot.is_some() }
    }

    /// The lowest level that has `levels` levels above the floor.
    #[must_use]
    pub fn above(self, levels: usize) -> usize {
        self.floor + levels
    }

    /// Levels between the top and the floor.
    #[must_use]
    pub fn levels(self) -> usize {
        self.top.saturating_sub(self.floor)
    }

    /// The start of an operation that needs `levels` levels above the floor (those it consumes and those it must
    /// leave), for an operand at `level`. If the level is too low, it starts at the top after a bootstrapping. `None`
    /// if that is not enough either.
    #[must_use]
    pub fn start(self, level: usize, levels: usize) -> Option<Start> {
        let least = self.above(levels);
        let bootstrap = level < least;
        let level = if bootstrap && self.bootstraps { self.top } else { level };
        (level >= least).then_some(Start { level, bootstrap })
    }

    /// The number of bootstrappings on the way through stages, starting at level `from`. A stage is a pair: the levels
    /// it consumes, and those it must leave. `None` if a stage does not fit between two bootstrappings.
    #[must_use]
    pub fn bootstraps_on(self, from: usize, stages: impl IntoIterator<Item = [usize; 2]>) -> Option<usize> {
        let (mut level, mut count) = (from, 0);
        for [takes, leaves] in stages {
            let start = self.start(level, takes + leaves)?;
            count += usize::from(start.bootstrap);
            level = start.level - takes;
        }
        Some(count)
    }
}

/// Extra bits by which values are scaled down beyond their bound.
const SPARE: f64 = 1.0;

impl<D: Device> Auto<'_, D> {
    /// The settled value with at least `levels` levels above the floor, bootstrapped if it has fewer and that helps. If
    /// no bootstrapping gives enough levels, the operation itself reports the error.
    ///
    /// # Errors
    /// A missing key, or an error of the bootstrapping.
    pub fn ready(&self, a: &Ciphertext<D>, levels: usize) -> Result<Ciphertext<D>> {
        self.ready_with(a, levels, self.can_bootstrap().then_some(&|| self.bootstrapper()))
    }

    /// [`Self::ready`] with a bootstrapper that is built on first use, or with none.
    ///
    /// # Errors
    /// The errors of [`Self::ready`] and of building the bootstrapper.
    pub fn ready_with<'b>(
        &self,
        a: &Ciphertext<D>,
        levels: usize,
        bootstrapper: Option<&dyn Fn() -> Result<&'b Bootstrapper<D>>>,
    ) -> Result<Ciphertext<D>>
    where
        D: 'b,
    {
        let a = self.settle(a)?;
        let policy = LevelPolicy::of(self.eval.params());
        match (bootstrapper, policy.start(a.level, levels)) {
            (Some(made), Some(Start { bootstrap: true, .. })) => self.bootstrap_with(made()?, &a),
            _ => Ok(a),
        }
    }

    /// The same message at the output level. The slot count may be any that repeats in the bootstrapper's. Values that
    /// may be too large for the message ratio are scaled down before and up after, which costs precision and a level
    /// each.
    ///
    /// # Errors
    /// As [`Bootstrapper::evaluate`].
    pub fn bootstrap_with(&self, boot: &Bootstrapper<D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let slots = a.slots;
        let wide = self.settle(a)?.with_slots(boot.plan().slots);
        let (most, floor, peak) = (boot.largest_peak(), boot.levels().input_level(), wide.estimate.peak);
        if peak <= most || wide.level <= floor {
            return Ok(boot.evaluate(self, &wide)?.narrowed(slots));
        }
        let down = (-(peak / most).log2().ceil() - SPARE).exp2();
        let small = boot.evaluate(self, &self.scale_to(&wide, down, floor)?)?;
        let level = small.level - 1;
        Ok(self.scale_to(&small, 1.0 / down, level)?.narrowed(slots))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bootstrapped_is_what_is_too_low_and_nothing_else() {
        let policy = LevelPolicy { floor: 3, top: 17, bootstraps: true };
        assert_eq!((policy.levels(), policy.above(2)), (14, 5));
        assert_eq!(policy.start(8, 5), Some(Start { level: 8, bootstrap: false }));
        assert_eq!(policy.start(7, 5), Some(Start { level: 17, bootstrap: true }));
        assert_eq!(policy.start(17, 15), None);
        assert_eq!(LevelPolicy { bootstraps: false, ..policy }.start(7, 5), None);
        // Six levels each: two from a fresh one, then two from each bootstrapping; the last leaves one more.
        assert_eq!(policy.bootstraps_on(17, [[6, 0]; 6]), Some(2));
        assert_eq!(policy.bootstraps_on(17, [[6, 0], [6, 3]]), Some(1));
        assert_eq!(policy.bootstraps_on(17, [[15, 0]]), None);
    }
}
