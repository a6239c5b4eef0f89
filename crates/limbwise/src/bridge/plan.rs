//! How a bridge is crossed: how many rows, in which slots, by which keys.

use super::{BridgeParams, noise};
use crate::{
    ckks::{
        PlaintextForm,
        bootstrap::{BootstrapPlan, Content, HalvesAt, Rotations},
    },
    params::Params,
    rlwe::KeyName,
    tfhe,
};
use limbwise_math::{galois::GaloisElement, ntt::bit_reverse};
use serde::{Deserialize, Serialize};

/// Rows that are packed as one batch: 2·64 limbs at a time, the results of all blocks as another batch.
const BLOCK: usize = 64;

/// One way across, from LWE ciphertexts to slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BridgePlan {
    /// Slots of the result, a power of two up to N/2: rows at most.
    pub slots: usize,
    /// Levels that the circuit behind the bridge takes.
    pub levels: usize,
    /// The rotations of CoeffToSlot.
    pub rotations: Rotations,
    /// How its diagonals are stored.
    pub form: PlaintextForm,
}

impl BridgePlan {
    /// The fastest way into so many slots.
    #[must_use]
    pub fn fastest(slots: usize) -> Self {
        Self { slots, levels: 0, rotations: Rotations::DoubleHoisted, form: PlaintextForm::Full }
    }

    /// The way with the least memory.
    #[must_use]
    pub fn smallest(slots: usize) -> Self {
        Self { rotations: Rotations::MultiHop, form: PlaintextForm::OnTheFly, ..Self::fastest(slots) }
    }

    /// The bootstrapping whose steps the bridge takes.
    pub(super) fn bootstrapping(self) -> BootstrapPlan {
        let Self { slots, rotations, form, .. } = self;
        BootstrapPlan { slots, content: Content::Real, rotations, form, halves: HalvesAt::Once }
    }

    /// Rows that are packed together.
    pub(super) fn block(self) -> usize {
        self.slots.min(BLOCK)
    }

    /// log₂ of the slots: stages of the packing.
    pub(super) fn stages(self) -> u32 {
        self.slots.trailing_zeros()
    }

    /// Expected deviation of a slot, for flags as a bootstrapping leaves them: before anything is made.
    #[must_use]
    pub fn expected_error(self, params: &BridgeParams) -> f64 {
        let fresh = tfhe::noise::nominal(params.tfhe().literal());
        noise::flag(params.ckks(), self.slots, noise::raised(params, self, fresh))
    }

    /// Where row r is found: rows keep their order as coefficients, blocks interleaved, and CoeffToSlot reverses the bits of
    /// their places.
    ///
    /// # Panics
    /// For a row beyond the slots.
    #[must_use]
    pub fn slot_of(self, row: usize) -> usize {
        assert!(row < self.slots, "row {row} of {}", self.slots);
        let (block, within) = (row / self.block(), row % self.block());
        bit_reverse(within * (self.slots / self.block()) + block, self.stages())
    }

    /// Values by row as values by slot; slots without a row get the default.
    ///
    /// # Panics
    /// For more values than slots.
    #[must_use]
    pub fn arranged<T: Clone + Default>(self, by_row: &[T]) -> Vec<T> {
        let mut by_slot = vec![T::default(); self.slots];
        by_row.iter().enumerate().for_each(|(row, value)| by_slot[self.slot_of(row)] = value.clone());
        by_slot
    }

    /// The name of each stage's key, and the place N/2^t that its second operands move by. The first stage would separate
    /// real and imaginary parts: the imaginary ones are dropped later, so it is left out.
    pub(super) fn stage(self, params: &Params, index: u32) -> (KeyName, usize) {
        let t = index + 2;
        (KeyName::Packing(GaloisElement::new((1 << t) + 1, params.log_n())), params.ring().n() >> t)
    }
}
