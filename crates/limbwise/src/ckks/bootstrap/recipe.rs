//! What the maps of a linear step are made of, and what is remembered of them.
//!
//! Composing the maps takes a tenth of a second and a hundred megabytes at full size, and whoever plans wants them three
//! times in each way to run a program; but only who encodes wants their numbers. So their outlines stay with the
//! parameters, and the numbers are made again when a device asks for words.

use super::{
    Halves, count,
    transforms::{self, Factors},
};
use crate::{
    ckks::{Diagonals, linear::Outline},
    error::Result,
    params::Params,
};
use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    SlotToCoeff,
    /// The trace that comes before it has summed each slot so many times.
    CoeffToSlot {
        halves: Halves,
        repetitions: usize,
    },
}

/// All that the maps of a step hang on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Recipe {
    pub(super) step: Step,
    pub(super) slots: usize,
    /// Maps that the step is cut into.
    pub(super) factors: usize,
    /// One rotation at the end in place of one a map.
    pub(super) telescoped: bool,
}

/// What is remembered of factors.
struct Outlines {
    maps: Vec<Outline>,
    rotation: i64,
}

/// Who composes holds it, so that another thread that wants the same waits for it.
type Place = Arc<Mutex<Option<Arc<Outlines>>>>;

/// By recipe: a few kilobytes each, as many as there are numbers of slots and ways to rotate.
#[derive(Default)]
struct Remembered(Mutex<HashMap<Recipe, Place>>);

impl Recipe {
    /// The maps, with numbers that are there or will be when they are asked for.
    pub(super) fn factors(self, params: &Params) -> Result<Factors> {
        let remembered = params.table::<Remembered>();
        let place = remembered.0.lock().unwrap_or_else(PoisonError::into_inner).entry(self).or_default().clone();
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
                adapted(transforms::coeff_to_slot(self.slots, self.factors)?, halves, repetitions)
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

/// With half of the sum with the conjugate, and the trace multiplied by the repetitions.
fn adapted(factors: Factors, halves: Halves, repetitions: usize) -> Factors {
    let each = (0.5 / count(repetitions)).powf(1.0 / count(factors.maps.len()));
    let last = factors.maps.len() - 1;
    let adapt = |(index, map): (usize, Diagonals)| match (halves, index == last) {
        (Halves::Beside, true) => map.scaled(each).beside_its_quarter_turn(),
        (Halves::Beside, false) => map.scaled(each).repeated(),
        _ => map.scaled(each),
    };
    Factors { maps: factors.maps.into_iter().enumerate().map(adapt).collect(), ..factors }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::ParamsLiteral;

    #[test]
    fn what_is_remembered_is_what_was_composed() {
        let literal = ParamsLiteral::chain(16, 50, 40, 3, (45, 2), 2);
        let (params, step) =
            (Params::new(&literal).unwrap(), Step::CoeffToSlot { halves: Halves::Beside, repetitions: 4 });
        for step in [Step::SlotToCoeff, step] {
            for telescoped in [false, true] {
                let recipe = Recipe { step, slots: 64, factors: 3, telescoped };
                let first = recipe.factors(&params).unwrap();
                let again = recipe.factors(&params).unwrap();
                assert_eq!((&first.maps, first.rotation), (&again.maps, again.rotation), "{recipe:?}");
                assert!(!again.maps[0].shares(&first.maps[0]));
                let norms = |maps: &[Diagonals]| maps.iter().map(|map| map.norm().to_bits()).collect::<Vec<_>>();
                assert_eq!(norms(&again.maps), norms(&first.maps));
            }
        }
    }
}
