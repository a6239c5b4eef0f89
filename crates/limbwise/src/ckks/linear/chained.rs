//! Double hoisting with few keys: baby steps in runs from anchors, giant steps one after the other.

use super::{
    apply::{Run, Stacked},
    double_hoisted::{add, divided, giant_step, sums},
};
use crate::{ckks::Ciphertext, error::Result};
use limbwise_device::Device;

/// Baby steps that share one decomposition: three keys serve all runs. Longer runs save decompositions and take more keys.
pub(super) const RUN: usize = 4;

/// The sum of [`double_hoisted`](super::double_hoisted), at `level`. The input is rotated by whole runs of baby steps, each
/// with the same key; from each such anchor the steps of a run are hoisted. Giant steps go in Horner form over QP, each
/// with the same key. If the progression does not start at 0, one rotation of the result applies the offset.
///
/// Cost: with a anchors beside the input, b and g nonzero rotations in runs and giant steps, m diagonals and D = L + α: a
/// key switches, a + g + 1 mod_ups, b + g gadget products, g + 2 mod_downs, 2mD·N products, and a rotation for an offset.
/// Source: \[BMTH21\] (double hoisting), \[ARK\] (one key for a progression).
pub(super) fn apply<D: Device>(run: &Run<'_, D>, level: usize) -> Result<Ciphertext<D>> {
    let layout = &run.map.layout;
    let [stride, step] = layout.hops.expect("the layout of a chained plan");
    let all: Vec<(usize, i64)> = (0..layout.babies.len()).zip((0..RUN as i64).map(|i| i * stride).cycle()).collect();
    let mut groups: Vec<Option<Stacked<D::Poly>>> = layout.groups.iter().map(|_| None).collect();
    let mut anchor = run.at(run.input.clone());
    for (index, steps) in all.chunks(RUN).enumerate() {
        if index > 0 {
            anchor = run.at(run.eval.rotate(&anchor.input, RUN as i64 * stride)?);
        }
        for (group, sum) in groups.iter_mut().zip(sums(&anchor, steps)?) {
            *group = match (group.take(), sum) {
                (Some(group), Some(sum)) => Some(add(run, group, &sum)),
                (group, sum) => group.or(sum),
            };
        }
    }
    drop(anchor);
    let mut total: Option<Stacked<D::Poly>> = None;
    for group in groups.into_iter().rev() {
        let moved = total.take().map(|total| giant_step(run, &total, step)).transpose()?;
        total = match (group, moved) {
            (Some(group), Some(moved)) => Some(add(run, group, &moved)),
            (group, moved) => group.or(moved),
        };
    }
    run.eval.rotate(&divided(run, total.expect("a map has a diagonal"), level), layout.offset)
}
