//! Configuration of a linear map: its rotations, keys and form of the diagonals.
//!
//! With n diagonals, b baby and g giant steps (b·g ≈ n), L limbs at the level, α special primes, β digits, D = L + α:
//!
//! | strategy | key switches | products of polynomials | keys | source |
//! |---|---|---|---|---|
//! | direct | n | 2nL | n | \[HS14\] |
//! | hoisted | 1 mod_up, n gadget products, 2n mod_downs | 2nL | n | \[HS18\] |
//! | bsgs | b hoisted, g whole | 2nL | b + g | \[HS18\] |
//! | whole | b + g whole | 2nL | b + g, one more with an offset | \[HHC19\], base line of \[ARK\] |
//! | double hoisted | b + g gadget products, g + 1 mod_ups, g + 2 mod_downs | 2nD | b + g | \[BMTH21\] |
//! | chained | as double hoisted, and b/4 whole | 2nD | 5, 6 with an offset | \[BMTH21\], \[ARK\] |
//! | multi-hop | b + g whole | 2nL | 2, 3 with an offset | \[ARK\] |
//!
//! Tests in `crates/runtime/tests/frontier` compare these counts with recordings.

use super::{Diagonals, layout::Layout};
use crate::{
    params::Params,
    rlwe::{KeyName, Requirements},
};
use limbwise_math::galois::GaloisElement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the rotations of a map are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Strategy {
    /// One full rotation per diagonal, one at a time: the least memory.
    Direct,
    /// Baby steps are hoisted, giant steps are full rotations.
    Bsgs {
        /// Diagonals per giant step, in strides; 0 counts as 1.
        babies: usize,
    },
    /// Baby and giant steps are full rotations, each with its own key, from the first diagonal on. [`Self::Bsgs`] is
    /// never worse; this is the baseline for multi-hop.
    Whole {
        /// As in [`Self::Bsgs`].
        babies: usize,
    },
    /// All rotations share one decomposition of the input.
    Hoisted,
    /// Baby steps stay over QP, with one mod_down per giant step and one for the result.
    DoubleHoisted {
        /// As in [`Self::Bsgs`]; all diagonals form one giant step if there are no more.
        babies: usize,
    },
    /// Baby and giant steps over QP as in [`Self::DoubleHoisted`], with one key for all giant steps, applied repeatedly,
    /// and four for all baby steps: they go in runs of four, each from the input rotated by the runs before.
    Chained {
        /// As in [`Self::Bsgs`].
        babies: usize,
    },
    /// One key for all baby steps and one for all giant steps, applied repeatedly: the fewest keys.
    MultiHop {
        /// As in [`Self::Bsgs`].
        babies: usize,
    },
}

impl Strategy {
    /// Name without the number of baby steps.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Bsgs { .. } => "bsgs",
            Self::Whole { .. } => "whole",
            Self::Hoisted => "hoisted",
            Self::DoubleHoisted { .. } => "double_hoisted",
            Self::Chained { .. } => "chained",
            Self::MultiHop { .. } => "multi_hop",
        }
    }

    /// Rotations that need keys for a map, each as its shorter equivalent, in ascending order.
    #[must_use]
    pub fn rotations(self, diagonals: &Diagonals) -> Vec<i64> {
        Layout::new(self, diagonals).rotations()
    }

    /// Replaces 0 baby steps by the number with the fewest rotations for a map: 0 makes a strategy for maps of any
    /// shape.
    #[must_use]
    pub fn for_map(self, diagonals: &Diagonals) -> Self {
        let with = |babies| match self {
            Self::Bsgs { babies: 0 } => Self::Bsgs { babies },
            Self::Whole { babies: 0 } => Self::Whole { babies },
            Self::DoubleHoisted { babies: 0 } => Self::DoubleHoisted { babies },
            Self::Chained { babies: 0 } => Self::Chained { babies },
            Self::MultiHop { babies: 0 } => Self::MultiHop { babies },
            other => other,
        };
        let span = Layout::span(diagonals);
        let all = (0..usize::BITS).map(|k| 1usize << k).take_while(|&b| b < 2 * span).map(with);
        diagonals.resolve_strategy(self, || all.min_by_key(|s| s.steps(diagonals)).unwrap_or(self))
    }

    /// Number of rotations for a map, each a key switch. Multi-hop makes more rotations than it has keys.
    #[must_use]
    pub fn steps(self, diagonals: &Diagonals) -> usize {
        Layout::new(self, diagonals).steps()
    }

    /// The keys a map needs at a level.
    #[must_use]
    pub fn requirements(self, diagonals: &Diagonals, params: &Params, level: usize) -> Requirements {
        let name = |steps| KeyName::galois(GaloisElement::rotation(steps, params.log_n()), params, level);
        self.rotations(diagonals).into_iter().map(|steps| (name(steps), level)).collect()
    }

    /// All strategies that can be the best for a map; with baby steps, every power of two that makes a difference.
    #[must_use]
    pub fn candidates(diagonals: &Diagonals) -> Vec<Self> {
        let mut all = vec![Self::Direct, Self::Hoisted];
        let span = Layout::span(diagonals);
        for babies in (0..usize::BITS).map(|k| 1usize << k).take_while(|&b| b < 2 * span) {
            all.extend([Self::DoubleHoisted { babies }, Self::Chained { babies }, Self::MultiHop { babies }]);
            if babies < span {
                all.push(Self::Bsgs { babies });
            }
        }
        all.sort_unstable();
        all
    }
}

impl std::fmt::Display for Strategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Direct | Self::Hoisted => f.write_str(self.name()),
            Self::Bsgs { babies }
            | Self::Whole { babies }
            | Self::DoubleHoisted { babies }
            | Self::Chained { babies }
            | Self::MultiHop { babies } => match babies {
                0 => f.write_str(self.name()),
                babies => write!(f, "{}({babies})", self.name()),
            },
        }
    }
}

/// Storage form of encoded diagonals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlaintextForm {
    /// All limbs that take part in products, in evaluation domain: over QP for [`Strategy::DoubleHoisted`], else over
    /// Q.
    Full,
    /// One limb of signed coefficients (two if the primes are short), reduced and transformed for the other limbs on
    /// use. \[ARK\]
    OnTheFly,
    /// Not stored: each diagonal is encoded from the clear map on every use. For maps that are too large to keep
    /// encoded.
    AtUse,
}

impl PlaintextForm {
    /// The forms that keep diagonals encoded.
    pub const ALL: [Self; 2] = [Self::Full, Self::OnTheFly];

    /// Name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::OnTheFly => "on_the_fly",
            Self::AtUse => "at_use",
        }
    }
}

/// Configuration of an encoded map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearPlan {
    /// How rotations are computed.
    pub strategy: Strategy,
    /// How diagonals are stored.
    pub form: PlaintextForm,
    /// Highest level of ciphertexts that it maps.
    pub level: usize,
    /// Scale of the encoded diagonals.
    pub scale: f64,
}

impl LinearPlan {
    /// A plan whose rescaled result has the scale that [`Auto`](crate::ckks::Auto) keeps at the next level.
    #[must_use]
    pub fn new(params: &Params, strategy: Strategy, form: PlaintextForm, level: usize) -> Self {
        let scale = match level.checked_sub(1) {
            Some(next) => params.scale(next) * params.dropped(level) / params.scale(level),
            None => params.scale(0),
        };
        Self { strategy, form, level, scale }
    }
}
