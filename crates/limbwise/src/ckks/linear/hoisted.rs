//! One decomposition of the input, shared by all rotations.

use super::apply::Run;
use crate::{ckks::Ciphertext, error::Result};
use limbwise_device::Device;

/// The digits of a ciphertext's second half, raised to QP once.
pub(super) struct Raised<'r, D: Device> {
    run: &'r Run<'r, D>,
    digits: Vec<D::Poly>,
}

impl<'r, D: Device> Raised<'r, D> {
    /// Raises the input's digits if they are needed.
    pub(super) fn new(run: &'r Run<'r, D>, needed: bool) -> Self {
        let (digits, _) = run.eval.params.gadget(run.input.level);
        let full = run.basis | run.special;
        let digits = if needed { run.dev.mod_up(&run.input.parts[1], &digits, full) } else { Vec::new() };
        Self { run, digits }
    }

    /// The raised digits; none if no rotation uses them.
    pub(super) fn digits(&self) -> &[D::Poly] {
        &self.digits
    }

    /// Rotates the whole input.
    ///
    /// Cost: a gadget product and two mod_downs.
    pub(super) fn rotate(&self, steps: i64) -> Result<Ciphertext<D>> {
        let (run, input) = (self.run, &self.run.input);
        if steps == 0 {
            return Ok(input.clone());
        }
        let g = run.galois(steps);
        let _region = run.dev.region("hoisted_rotation", g.value());
        // Permuting raised digits equals raising permuted ones.
        let moved: Vec<D::Poly> = self.digits.iter().map(|digit| run.dev.automorphism(digit, g)).collect();
        let product = run.dev.gadget_product(&moved, &run.rotation(steps)?.key);
        drop(moved);
        let [d0, d1] = product.map(|half| run.dev.mod_down(&half, run.basis));
        let parts = vec![run.dev.add(&run.dev.automorphism(&input.parts[0], g), &d0), d1];
        let (params, moved) = (run.eval.params, input.estimate.after_automorphism(g, run.eval.params.log_n()));
        let estimate = moved.after_key_switch(params, input.level, input.slots, input.scale);
        Ok(Ciphertext { parts, estimate, shadow: None, ..*input })
    }
}

/// `Σ_d w_d ⊙ rotate(x, d)`.
///
/// Cost: for n rotations and m diagonals, 1 mod_up, n gadget products, 2n mod_downs, 2mL·N products.
/// Source: \[HS18\]
pub(super) fn apply<D: Device>(run: &Run<'_, D>) -> Result<Ciphertext<D>> {
    let raised = Raised::new(run, run.map.layout.has_baby_steps());
    run.sum_streaming(|steps| raised.rotate(steps))
}
