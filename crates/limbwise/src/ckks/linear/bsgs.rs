//! Baby steps, hoisted or full rotations, and giant steps.

use super::apply::{Run, Stacked};
use crate::{ckks::Ciphertext, error::Result};
use limbwise_device::Device;

/// `Σ_giant rotate(Σ_baby w ⊙ rotate(x, baby), giant)`.
///
/// Cost: for b and g nonzero rotations and m diagonals, 1 mod_up, b gadget products, 2b mod_downs, g key switches,
/// 2mL·N products.
/// Source: \[HS18\]
pub(super) fn apply<D: Device>(run: &Run<'_, D>) -> Result<Ciphertext<D>> {
    let layout = &run.map.layout;
    let raised = run.raised(layout.has_baby_steps());
    let baby = |&steps: &i64| Ok(run.stack(&run.hoisted_rotation(&raised, steps)?));
    let babies = layout.babies.iter().map(baby).collect::<Result<Vec<Stacked<D::Poly>>>>()?;
    drop(raised);
    giants(run, babies)
}

/// The same sum with full rotations as baby steps, and one rotation of the result if the first diagonal is not 0.
///
/// Cost: for b and g steps and m diagonals, b + g key switches and one for an offset, 2mL·N products.
/// Source: \[HHC19\]
pub(super) fn apply_whole<D: Device>(run: &Run<'_, D>) -> Result<Ciphertext<D>> {
    let baby = |&steps: &i64| Ok(run.stack(&run.eval.rotate(&run.input, steps)?));
    let babies = run.map.layout.babies.iter().map(baby).collect::<Result<Vec<Stacked<D::Poly>>>>()?;
    run.eval.rotate(&giants(run, babies)?, run.map.layout.offset)
}

/// `Σ_giant rotate(Σ_baby w ⊙ baby, giant)`.
fn giants<D: Device>(run: &Run<'_, D>, babies: Vec<Stacked<D::Poly>>) -> Result<Ciphertext<D>> {
    let layout = &run.map.layout;
    let mut result: Option<Ciphertext<D>> = None;
    for (sum, group) in run.sums_of(babies, 0..layout.groups.len())?.into_iter().zip(&layout.groups) {
        let moved = run.eval.rotate(&run.unstack(&sum), group.giant)?;
        drop(sum);
        result = Some(match result {
            None => moved,
            Some(result) => run.eval.add(&result, &moved)?,
        });
    }
    Ok(result.expect("a map has a diagonal"))
}
