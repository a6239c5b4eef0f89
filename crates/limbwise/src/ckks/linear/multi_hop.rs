//! One key per progression, applied repeatedly: the minimum key set.

use super::apply::{Run, Stacked};
use crate::{ckks::Ciphertext, error::Result};
use limbwise_device::Device;

/// Baby steps by repeated rotation by the stride, giant steps in Horner form from last to first. If the progression
/// does not start at 0, one rotation of the result applies the offset.
///
/// Cost: for b and g steps, b + g key switches and one for an offset, 2mL·N products for m diagonals.
/// Source: \[ARK\] Differs: the offset rotates the result, in the paper the input.
pub(super) fn apply<D: Device>(run: &Run<'_, D>) -> Result<Ciphertext<D>> {
    let layout = &run.map.layout;
    let [stride, step] = layout.hops.expect("the layout of a multi-hop plan");
    let mut babies = vec![run.input.clone()];
    while let (Some(last), true) = (babies.last(), babies.len() < layout.babies.len()) {
        babies.push(run.eval.rotate(last, stride)?);
    }
    let mut result: Option<Ciphertext<D>> = None;
    for (index, group) in layout.groups.iter().enumerate().rev() {
        if let Some(sum) = result {
            result = Some(run.eval.rotate(&sum, step)?);
        }
        if group.terms.is_empty() {
            continue;
        }
        let stacked: Vec<Stacked<D::Poly>> = babies.iter().map(|baby| run.stack(baby)).collect();
        for sum in run.sums_of(stacked, index..index + 1)? {
            let sum = run.unstack(&sum);
            result = Some(match result {
                None => sum,
                Some(result) => run.eval.add(&result, &sum)?,
            });
        }
    }
    run.eval.rotate(&result.expect("a map has a diagonal"), layout.offset)
}
