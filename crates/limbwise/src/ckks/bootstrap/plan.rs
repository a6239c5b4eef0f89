//! How a bootstrapping is carried out: choices that change its time and memory, not its parameters.

use crate::ckks::{Diagonals, PlaintextForm, Strategy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the maps rotate; baby steps are chosen for each map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rotations {
    /// A whole rotation a diagonal.
    Direct,
    /// All rotations of one decomposition.
    Hoisted,
    /// Baby steps hoisted, giant steps whole.
    Bsgs,
    /// Baby and giant steps, each a whole rotation with a key of its own.
    Whole,
    /// Baby steps stay over QP: the least time.
    #[default]
    DoubleHoisted,
    /// One key a progression: the least keys.
    MultiHop,
}

impl Rotations {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Direct, Self::Hoisted, Self::Bsgs, Self::Whole, Self::DoubleHoisted, Self::MultiHop];

    /// Its name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Hoisted => "hoisted",
            Self::Bsgs => "bsgs",
            Self::Whole => "whole",
            Self::DoubleHoisted => "double-hoisted",
            Self::MultiHop => "multi-hop",
        }
    }

    /// The strategy for one map: √(2·diagonals) baby steps, to the nearest power of two, for giant steps cost more.
    #[must_use]
    pub fn strategy(self, map: &Diagonals) -> Strategy {
        let mut babies = 1;
        while 4 * babies * babies <= 2 * map.count() + map.count() / 2 {
            babies *= 2;
        }
        match self {
            Self::Direct => Strategy::Direct,
            Self::Hoisted => Strategy::Hoisted,
            Self::Bsgs => Strategy::Bsgs { babies },
            Self::Whole => Strategy::Whole { babies },
            Self::DoubleHoisted => Strategy::DoubleHoisted { babies },
            Self::MultiHop => Strategy::MultiHop { babies },
        }
    }
}

/// What the slots hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Complex values.
    #[default]
    Complex,
    /// Real values: imaginary parts are dropped, and half of EvalMod with them.
    Real,
}

/// Whether the two halves of the coefficients go through EvalMod as a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HalvesAt {
    /// As a batch: the least time.
    #[default]
    Once,
    /// One after the other: the least memory.
    Turns,
}

/// One way to bootstrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct BootstrapPlan {
    /// Slots of the ciphertexts, a power of two up to N/2. Few slots cost less.
    pub slots: usize,
    /// What they hold.
    pub content: Content,
    /// The rotations of the linear steps.
    pub rotations: Rotations,
    /// How their diagonals are stored.
    pub form: PlaintextForm,
    /// The halves in EvalMod.
    pub halves: HalvesAt,
}

impl BootstrapPlan {
    /// The fastest way for so many complex slots.
    #[must_use]
    pub fn fastest(slots: usize) -> Self {
        Self {
            slots,
            content: Content::Complex,
            rotations: Rotations::DoubleHoisted,
            form: PlaintextForm::Full,
            halves: HalvesAt::Once,
        }
    }

    /// The way with the least memory.
    #[must_use]
    pub fn smallest(slots: usize) -> Self {
        Self {
            rotations: Rotations::MultiHop,
            form: PlaintextForm::OnTheFly,
            halves: HalvesAt::Turns,
            ..Self::fastest(slots)
        }
    }
}
