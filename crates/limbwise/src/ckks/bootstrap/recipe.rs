//! The inputs that determine the maps of a linear step, and a cache of their outlines.
//!
//! At full size, composing the maps takes a tenth of a second and a hundred megabytes. Planning needs their outlines
//! three times per configuration, but only encoding needs their entries. The outlines are therefore cached for the whole
//! process (they depend on no modulus, so a search over parameter sets composes each once), and the entries are recomputed
//! when a device asks for words.

use super::{
    Halves, count,
    transforms::{self, Factors},
};
use crate::{
    ckks::{Diagonals, linear::Outline},
    error::Result,
};
use num_complex::Complex64;
use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

/// Direction of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    SlotToCoeff,
    /// CoeffToSlot; the trace before it multiplied each slot by `repetitions`.
    CoeffToSlot {
        halves: Halves,
        repetitions: usize,
    },
}

/// Everything that determines the maps of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Recipe {
    pub(super) step: Step,
    pub(super) slots: usize,
    /// Number of maps in the step.
    pub(super) factors: usize,
    /// Whether the maps share one rotation at the end in place of one each.
    pub(super) telescoped: bool,
}

/// The cached outlines of factors.
struct Outlines {
    maps: Vec<Outline>,
    rotation: i64,
}

/// One slot of the cache. The thread that composes holds its lock, so that others that want the same recipe wait.
type Place = Arc<Mutex<Option<Arc<Outlines>>>>;

/// Cache by recipe: a few kilobytes for most.
static REMEMBERED: LazyLock<Mutex<HashMap<Recipe, Place>>> = LazyLock::new(Mutex::default);

/// Most recipes that are remembered: a server meets sets of strangers, whose maps may have thousands of diagonals.
const MOST: usize = 64;

impl Recipe {
    /// The maps; their entries are computed when a device asks for them.
    pub(super) fn factors(self) -> Result<Factors> {
        let place = {
            let mut remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
            if remembered.len() >= MOST {
                remembered.clear();
            }
            remembered.entry(self).or_default().clone()
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*place {
            return Ok(known.factors(self));
        }
        let factors = self.compose()?;
        let maps = factors.maps.iter().map(Diagonals::outline).collect();
        *place = Some(Arc::new(Outlines { maps, rotation: factors.rotation }));
        Ok(factors)
    }

    fn compose(self) -> Result<Factors> {
        let factors = match self.step {
            Step::SlotToCoeff => transforms::slot_to_coeff(self.slots, self.factors)?,
            Step::CoeffToSlot { halves, repetitions } => {
                adapt(transforms::coeff_to_slot(self.slots, self.factors)?, halves, repetitions)
            }
        };
        Ok(if self.telescoped { factors.telescoped() } else { factors })
    }
}

impl Outlines {
    fn factors(&self, recipe: Recipe) -> Factors {
        let composed = Arc::new(LazyLock::new(move || recipe.compose().expect("composed before")));
        let map = |(index, outline): (usize, &Outline)| {
            let composed = composed.clone();
            Diagonals::outlined(outline, Arc::new(move || composed.maps[index].clone()))
        };
        Factors { maps: self.maps.iter().enumerate().map(map).collect(), rotation: self.rotation }
    }
}

const ONE: Complex64 = Complex64::ONE;
const I: Complex64 = Complex64::I;

/// Merges the map with half of the sum with the conjugate, and divides by the trace's repetitions.
fn adapt(factors: Factors, halves: Halves, repetitions: usize) -> Factors {
    let each = (0.5 / count(repetitions)).powf(1.0 / count(factors.maps.len()));
    let last = factors.maps.len() - 1;
    let adapt = |(index, map): (usize, Diagonals)| match (halves, index == last) {
        (Halves::Beside, true) => map.scaled(each).beside(&[ONE, -I]),
        (Halves::Beside, false) => map.scaled(each).beside(&[ONE; 2]),
        (Halves::WithOpposites, true) => map.scaled(each).beside(&[ONE, -ONE, -I, I]),
        (Halves::WithOpposites, false) => map.scaled(each).beside(&[ONE; 4]),
        (Halves::Batch | Halves::Real, _) => map.scaled(each),
    };
    Factors { maps: factors.maps.into_iter().enumerate().map(adapt).collect(), ..factors }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_of_strangers_are_not_kept_for_ever() {
        for repetitions in 1..=2 * MOST {
            let step = Step::CoeffToSlot { halves: Halves::Batch, repetitions };
            Recipe { step, slots: 4, factors: 1, telescoped: false }.factors().unwrap();
            assert!(REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner).len() <= MOST);
        }
    }

    #[test]
    fn what_is_remembered_is_what_was_composed() {
        for step in [Step::SlotToCoeff, Step::CoeffToSlot { halves: Halves::Beside, repetitions: 4 }] {
            for telescoped in [false, true] {
                let recipe = Recipe { step, slots: 64, factors: 3, telescoped };
                let first = recipe.factors().unwrap();
                let again = recipe.factors().unwrap();
                assert_eq!((&first.maps, first.rotation), (&again.maps, again.rotation), "{recipe:?}");
                assert!(!again.maps[0].shares(&first.maps[0]));
                let norms = |maps: &[Diagonals]| maps.iter().map(|map| map.norm().to_bits()).collect::<Vec<_>>();
                assert_eq!(norms(&again.maps), norms(&first.maps));
            }
        }
    }
}
