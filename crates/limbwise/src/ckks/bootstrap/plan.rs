//! The configuration of a bootstrapping: choices that change its time and memory, not its parameters.

use crate::ckks::{Diagonals, PlaintextForm, Strategy, SumSteps};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rotation strategy of the maps; the number of baby steps is chosen for each map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rotations {
    /// One full rotation per diagonal.
    Direct,
    /// All rotations share one decomposition.
    Hoisted,
    /// Baby steps are hoisted, giant steps are full rotations.
    Bsgs,
    /// Baby and giant steps are full rotations, each with its own key.
    Whole,
    /// Baby steps stay over QP: the fastest.
    #[default]
    DoubleHoisted,
    /// Baby and giant steps over QP with few keys, applied repeatedly: nearly as fast.
    Chained,
    /// One key per progression: the fewest keys.
    MultiHop,
}

impl Rotations {
    /// How sums of rotations are made beside the maps: strategies with few keys take the fewest there as well.
    #[must_use]
    pub fn sum_steps(self) -> SumSteps {
        match self {
            Self::Hoisted | Self::Bsgs | Self::DoubleHoisted => SumSteps::OfFour,
            Self::Direct | Self::Whole | Self::Chained | Self::MultiHop => SumSteps::OfTwo,
        }
    }

    /// All strategies.
    pub const ALL: [Self; 7] =
        [Self::Direct, Self::Hoisted, Self::Bsgs, Self::Whole, Self::DoubleHoisted, Self::Chained, Self::MultiHop];

    /// Strategies that can be the best, from the fastest to that with the fewest keys.
    pub const USUAL: [Self; 3] = [Self::DoubleHoisted, Self::Chained, Self::MultiHop];

    /// Name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Hoisted => "hoisted",
            Self::Bsgs => "bsgs",
            Self::Whole => "whole",
            Self::DoubleHoisted => "double-hoisted",
            Self::Chained => "chained",
            Self::MultiHop => "multi-hop",
        }
    }

    /// The strategy for one map. √(2·diagonals) baby steps, to the nearest power of two: giant steps cost more than
    /// baby steps.
    #[must_use]
    pub fn strategy(self, map: &Diagonals) -> Strategy {
        self.strategy_with(map, BabySteps::Usual)
    }

    /// The strategy for one map with other than the usual number of baby steps.
    #[must_use]
    pub fn strategy_with(self, map: &Diagonals, steps: BabySteps) -> Strategy {
        let mut babies = 1;
        while 4 * babies * babies <= 2 * map.count() + map.count() / 2 {
            babies *= 2;
        }
        babies = match steps {
            BabySteps::Usual => babies,
            BabySteps::Fewer => (babies / 2).max(1),
            BabySteps::More => 2 * babies,
        };
        match self {
            Self::Direct => Strategy::Direct,
            Self::Hoisted => Strategy::Hoisted,
            Self::Bsgs => Strategy::Bsgs { babies },
            Self::Whole => Strategy::Whole { babies },
            Self::DoubleHoisted => Strategy::DoubleHoisted { babies },
            Self::Chained => Strategy::Chained { babies },
            Self::MultiHop => Strategy::MultiHop { babies },
        }
    }
}

/// How many baby steps a map has, beside the usual number. Which is best depends on the levels, the digits and the machine:
/// plans compare them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BabySteps {
    /// As many as the rule says.
    #[default]
    Usual,
    /// Half as many, with twice the giant steps: fewer plaintexts in memory at a time.
    Fewer,
    /// Twice as many, with half the giant steps.
    More,
}

impl BabySteps {
    /// All numbers.
    pub const ALL: [Self; 3] = [Self::Usual, Self::Fewer, Self::More];

    /// What reports add to the name of a strategy.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Usual => "",
            Self::Fewer => ", fewer baby steps",
            Self::More => ", more baby steps",
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::Usual
    }
}

/// Type of the slot values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Complex values.
    #[default]
    Complex,
    /// Real values: the imaginary parts are dropped, which halves EvalMod.
    Real,
}

/// How the two halves of the coefficients go through EvalMod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HalvesAt {
    /// As a batch: faster.
    #[default]
    Once,
    /// One after the other: less memory.
    Turns,
    /// Side by side in one message: half the work, where few slots leave room. An exponential takes up to N/8 slots, a
    /// cosine with an arcsine up to N/4; such a cosine does so without being asked.
    Beside,
}

/// One configuration of a bootstrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct BootstrapPlan {
    /// Slots of the ciphertexts, a power of two up to N/2. Fewer slots cost less.
    pub slots: usize,
    /// Type of the slot values.
    pub content: Content,
    /// Rotation strategy of the linear steps.
    pub rotations: Rotations,
    /// Storage form of their diagonals.
    pub form: PlaintextForm,
    /// How the halves go through EvalMod.
    pub halves: HalvesAt,
    /// The number of baby steps of the linear steps.
    #[serde(default, skip_serializing_if = "BabySteps::is_usual")]
    pub babies: BabySteps,
}

impl BootstrapPlan {
    /// The fastest configuration for `slots` complex slots.
    #[must_use]
    pub fn fastest(slots: usize) -> Self {
        Self {
            slots,
            content: Content::Complex,
            rotations: Rotations::DoubleHoisted,
            form: PlaintextForm::Full,
            halves: HalvesAt::Once,
            babies: BabySteps::Usual,
        }
    }

    /// The strategy of one of its maps.
    #[must_use]
    pub fn strategy(&self, map: &Diagonals) -> Strategy {
        self.rotations.strategy_with(map, self.babies)
    }

    /// The configuration with the least memory.
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
