//! SlotToCoeff: slot values become coefficients.

use super::Bootstrapper;
use crate::{
    ckks::{Ciphertext, Evaluator},
    error::Result,
};
use limbwise_device::Device;

/// The polynomial whose coefficients, in bit-reversed order, are the slots of `a`.
///
/// Shape:  level ℓ → level ℓ − (number of maps).
/// Scale:  by the maps' scales: to q₀/2^m per unit at level 0, or to the user's at the output level.
/// Cost:   that of the maps' strategies.
pub(super) fn slot_to_coeff<D: Device>(
    boot: &Bootstrapper<D>,
    eval: &Evaluator<'_, D>,
    a: &Ciphertext<D>,
) -> Result<Ciphertext<D>> {
    let _region = eval.device().region("slot_to_coeff", 0);
    boot.to_coeff.apply(eval, a)
}
