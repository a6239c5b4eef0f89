//! Where a ciphertext is bootstrapped: before an operation that would leave too few levels, as late as can be.
//!
//! The one rule for all programs. Those that know their operations beforehand ask [`LevelPolicy`] and lay out maps and
//! inputs by what it says; those that learn them one by one call [`Auto::ready`], which asks and bootstraps. What differs
//! between programs is a number: the floor, the top, or how many levels an operation takes and must leave.

use super::{Auto, Bootstrapper, Ciphertext};
use crate::{
    error::Result,
    params::{Bootstrapping, Params},
};
use limbwise_device::Device;

/// The levels between two bootstrappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelPolicy {
    /// The lowest level there may be: that of bootstrapping's input, 0 where nothing is bootstrapped.
    pub floor: usize,
    /// The level of what was bootstrapped, or is fresh.
    pub top: usize,
    /// Whether anything bootstraps.
    pub bootstraps: bool,
}

/// Where an operation starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The level of its operand.
    pub level: usize,
    /// Whether it has that level from a bootstrapping.
    pub bootstrap: bool,
}

impl LevelPolicy {
    /// Of parameters: with bootstrapping where they have it.
    #[must_use]
    pub fn of(params: &Params) -> Self {
        let boot = params.bootstrapping();
        Self { floor: boot.map_or(0, Bootstrapping::input_level), top: params.user_level(), bootstraps: boot.is_some() }
    }

    /// The lowest level from which so many can be taken.
    #[must_use]
    pub fn above(self, levels: usize) -> usize {
        self.floor + levels
    }

    /// Levels from the top to the floor.
    #[must_use]
    pub fn levels(self) -> usize {
        self.top.saturating_sub(self.floor)
    }

    /// Where something starts that takes so many levels, what has to be left above the floor among them, for an operand
    /// at a level: there, or at the top after a bootstrapping if that is too low. `None` where neither is enough.
    #[must_use]
    pub fn start(self, level: usize, levels: usize) -> Option<Start> {
        let least = self.above(levels);
        let bootstrap = level < least;
        let level = if bootstrap && self.bootstraps { self.top } else { level };
        (level >= least).then_some(Start { level, bootstrap })
    }

    /// Bootstrappings on the way through stages, from a level on, each of which takes levels and must leave some for
    /// what comes after it. `None` where a stage does not fit between two of them.
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

/// Bits by which values are scaled down beyond what their bound demands.
const SPARE: f64 = 1.0;

impl<D: Device> Auto<'_, D> {
    /// The value, settled, with at least so many levels above the floor: bootstrapped where it has fewer, if that helps.
    /// Levels that no bootstrapping gives are left to the operation to refuse.
    ///
    /// # Errors
    /// A missing key; what bootstrapping refuses.
    pub fn ready(&self, a: &Ciphertext<D>, levels: usize) -> Result<Ciphertext<D>> {
        self.ready_with(a, levels, self.can_bootstrap().then_some(&|| self.bootstrapper()))
    }

    /// [`Self::ready`] with a bootstrapper that is made when it is first needed, or with none.
    ///
    /// # Errors
    /// As [`Self::ready`], and those of the bootstrapper.
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
            (Some(made), Some(Start { bootstrap: true, .. })) => self.refreshed(made()?, &a),
            _ => Ok(a),
        }
    }

    /// The same message with all levels, in any number of slots that repeat in the bootstrapper's. Values that may be too
    /// large for the message ratio are scaled down before and up after, at the price of their precision and of a level
    /// each.
    ///
    /// # Errors
    /// As [`Bootstrapper::evaluate`].
    pub fn refreshed(&self, boot: &Bootstrapper<D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let slots = a.slots;
        let wide = self.settle(a)?.with_slots(boot.plan().slots);
        let (most, floor, peak) = (boot.largest_peak(), boot.levels().input_level(), wide.estimate.peak);
        if peak <= most || wide.level <= floor {
            return Ok(boot.evaluate(self, &wide)?.with_slots(slots));
        }
        let down = (-(peak / most).log2().ceil() - SPARE).exp2();
        let small = boot.evaluate(self, &self.scale_to(&wide, down, floor)?)?;
        let level = small.level - 1;
        Ok(self.scale_to(&small, 1.0 / down, level)?.with_slots(slots))
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
