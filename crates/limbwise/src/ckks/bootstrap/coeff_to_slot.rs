//! CoeffToSlot: coefficients become slot values, real and imaginary parts separate.

use super::{Bootstrapper, Halves};
use crate::{
    ckks::{Ciphertext, Evaluator, SumSteps},
    error::Result,
};
use limbwise_device::Device;

/// The coefficients over K·q₀, as real slots. The real and the imaginary parts are a batch of two, or side by side in
/// twice the slots, or side by side with their opposites in four times; with real content only the real parts remain.
///
/// Shape:  top → the level where EvalMod starts.
/// Scale:  that of EvalMod's first level.
/// Cost:   the rotations of the trace for sparse packing, the maps' strategies, one conjugation.
pub(super) fn coeff_to_slot<D: Device>(
    boot: &Bootstrapper<D>,
    eval: &Evaluator<'_, D>,
    a: &Ciphertext<D>,
) -> Result<Ciphertext<D>> {
    let dev = eval.device();
    let _region = dev.region("coeff_to_slot", 0);
    let traced = trace(eval, a, boot.plan.rotations.sum_steps())?;
    let slots = boot.to_slot.slots();
    let values = boot.to_slot.apply(eval, &Ciphertext { slots, ..traced })?;
    let conjugate = eval.conjugate(&values)?;
    let sum = eval.add(&values, &conjugate)?;
    if boot.halves != Halves::Batch {
        return Ok(sum);
    }
    // −i·(t − t̄) is twice the imaginary part.
    let difference = eval.sub(&conjugate, &values)?;
    Ok(eval.stack(&[sum, boot.times_i(eval, &difference)]))
}

/// Sums the conjugates of a ciphertext under the subring's automorphisms: coefficients outside the subring cancel, the
/// others are multiplied by the number of repetitions, which the maps divide by.
fn trace<D: Device>(eval: &Evaluator<'_, D>, a: &Ciphertext<D>, steps: SumSteps) -> Result<Ciphertext<D>> {
    let all = eval.params().max_slots();
    eval.inner_sum_in(steps, &Ciphertext { slots: all, ..a.clone() }, a.slots as i64, all / a.slots)
}
