//! One decomposition of the input, shared by all rotations.

use super::apply::Run;
use crate::{ckks::Ciphertext, error::Result};
use limbwise_device::Device;

/// `Σ_d w_d ⊙ rotate(x, d)`.
///
/// Cost: for n rotations and m diagonals, 1 mod_up, n gadget products, 2n mod_downs, 2mL·N products.
/// Source: \[HS18\]
pub(super) fn apply<D: Device>(run: &Run<'_, D>) -> Result<Ciphertext<D>> {
    let raised = run.raised(run.map.layout.has_baby_steps());
    run.sum_streaming(|steps| run.hoisted_rotation(&raised, steps))
}
