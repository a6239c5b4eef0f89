//! One full rotation per diagonal.

use super::apply::Run;
use crate::{ckks::Ciphertext, error::Result};
use limbwise_device::Device;

/// `Σ_d w_d ⊙ rotate(x, d)`.
///
/// Cost: for n rotations and m diagonals, n key switches, 2mL·N products.
/// Source: \[HS14\]
pub(super) fn apply<D: Device>(run: &Run<'_, D>) -> Result<Ciphertext<D>> {
    run.sum_streaming(|steps| run.eval.rotate(&run.input, steps))
}
