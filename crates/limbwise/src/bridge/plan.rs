//! The plan of a crossing: the slots, the levels behind it, and how CoeffToSlot runs.

use super::{BridgeParams, noise};
use crate::{
    ckks::{
        PlaintextForm,
        bootstrap::{BootstrapPlan, Content, Rotations},
    },
    params::Params,
    rlwe::KeyName,
    tfhe,
};
use limbwise_math::{galois::GaloisElement, ntt::bit_reverse};
use serde::{Deserialize, Serialize};

/// Rows packed as one batch: 64 rows are 2·64 limbs at a time, plus the results of all blocks as another batch.
const BLOCK: usize = 64;

/// One configuration of the crossing from LWE ciphertexts to slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BridgePlan {
    /// Slots of the result, a power of two up to N/2; the row count must not exceed it.
    pub slots: usize,
    /// Levels that the circuit after the bridge consumes.
    pub levels: usize,
    /// Rotation strategy of CoeffToSlot.
    pub rotations: Rotations,
    /// Storage form of its diagonals.
    pub form: PlaintextForm,
}

impl BridgePlan {
    /// The fastest configuration for `slots` slots.
    #[must_use]
    pub fn fastest(slots: usize) -> Self {
        Self { slots, levels: 0, rotations: Rotations::DoubleHoisted, form: PlaintextForm::Full }
    }

    /// The configuration with the least memory.
    #[must_use]
    pub fn smallest(slots: usize) -> Self {
        Self { rotations: Rotations::MultiHop, form: PlaintextForm::OnTheFly, ..Self::fastest(slots) }
    }

    /// The bootstrapping plan whose last steps the bridge runs.
    pub(super) fn bootstrapping(self) -> BootstrapPlan {
        let Self { slots, rotations, form, .. } = self;
        BootstrapPlan { content: Content::Real, rotations, form, ..BootstrapPlan::fastest(slots) }
    }

    /// Rows packed together.
    pub(super) fn block(self) -> usize {
        self.slots.min(BLOCK)
    }

    /// Stages of the packing: log₂ of the slot count.
    pub(super) fn stages(self) -> u32 {
        self.slots.trailing_zeros()
    }

    /// Expected deviation of a slot, for flags with the nominal noise of a bootstrapping. Needs no keys.
    #[must_use]
    pub fn expected_error(self, params: &BridgeParams) -> f64 {
        let fresh = tfhe::noise::nominal(params.tfhe().literal());
        noise::flag(params.ckks(), self.slots, noise::raised_variance(params, self, fresh))
    }

    /// The slot of row `row`. Rows keep their order as coefficients, with blocks interleaved; CoeffToSlot then
    /// bit-reverses the indices.
    ///
    /// # Panics
    /// If `row` is not below the slot count.
    #[must_use]
    pub fn slot_of(self, row: usize) -> usize {
        assert!(row < self.slots, "row {row} of {}", self.slots);
        let (block, within) = (row / self.block(), row % self.block());
        bit_reverse(within * (self.slots / self.block()) + block, self.stages())
    }

    /// Reorders values from row order to slot order; slots without a row get the default.
    ///
    /// # Panics
    /// If there are more values than slots.
    #[must_use]
    pub fn arranged<T: Clone + Default>(self, by_row: &[T]) -> Vec<T> {
        let mut by_slot = vec![T::default(); self.slots];
        by_row.iter().enumerate().for_each(|(row, value)| by_slot[self.slot_of(row)] = value.clone());
        by_slot
    }

    /// The key name of each stage, and the exponent N/2^t of its monomial. The first stage would separate real and
    /// imaginary parts; it is omitted because the imaginary parts are dropped later.
    pub(super) fn stage(self, params: &Params, index: u32) -> (KeyName, usize) {
        let t = index + 2;
        (KeyName::Packing(GaloisElement::new((1 << t) + 1, params.log_n())), params.ring().n() >> t)
    }
}
