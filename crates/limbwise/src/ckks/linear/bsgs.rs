//! Baby steps, hoisted, and giant steps.

use super::{
    apply::{Run, Stacked},
    hoisted::Raised,
};
use crate::{ckks::Ciphertext, error::Result};
use limbwise_device::Device;

/// `Σ_giant rotate(Σ_baby w ⊙ rotate(x, baby), giant)`.
///
/// Cost: for b and g rotations that are not 0 and m diagonals, 1 mod_up, b gadget products, 2b mod_downs, g key
/// switches, 2mL·N products.
/// Source: \[HS18\]
pub(super) fn apply<D: Device>(run: &Run<'_, D>) -> Result<Ciphertext<D>> {
    let raised = Raised::new(run);
    let layout = &run.map.layout;
    let baby = |&steps: &i64| Ok(run.stack(&raised.rotated(steps)?));
    let babies = layout.babies.iter().map(baby).collect::<Result<Vec<Stacked<D::Poly>>>>()?;
    drop(raised);
    let mut result: Option<Ciphertext<D>> = None;
    for (sum, group) in run.sums(babies, 0, layout.groups.len()).into_iter().zip(&layout.groups) {
        let moved = run.eval.rotate(&run.unstack(&sum), group.giant)?;
        drop(sum);
        result = Some(match result {
            None => moved,
            Some(result) => run.eval.add(&result, &moved)?,
        });
    }
    Ok(result.expect("a map has a diagonal"))
}
