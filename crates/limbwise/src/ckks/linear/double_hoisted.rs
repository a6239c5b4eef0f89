//! Baby steps stay over QP; only their sums are divided by P.

use super::{
    apply::{Run, Stacked},
    hoisted::Raised,
};
use crate::{ckks::Ciphertext, error::Result};
use limbwise_device::{Device, Handle as _};

/// `⌊Σ_giant rotate(Σ_baby w ⊙ P·rotate(x, baby), giant) / P⌉` at `level`: the input's level, or the one below, whose
/// primes the same division then drops.
///
/// Cost: for b and g nonzero rotations, m diagonals and D = L + α: g + 1 mod_ups, b + g gadget products, g + 2
/// mod_downs, 2mD·N products and at most 2L·N for P·x.
/// Source: \[BMTH21\] Differs: P·x is added to the products over QP, so no separate rescale is left.
pub(super) fn apply<D: Device>(run: &Run<'_, D>, level: usize) -> Result<Ciphertext<D>> {
    let layout = &run.map.layout;
    let babies = babies(run)?;
    let mut total: Option<Stacked<D::Poly>> = None;
    for (sum, group) in run.sums(babies, 0, layout.groups.len())?.into_iter().zip(&layout.groups) {
        let moved = if group.giant == 0 { sum } else { giant_step(run, &sum, group.giant)? };
        total = Some(match total {
            None => moved,
            Some(mut total) => {
                run.dev.add_assign(&mut total.poly, &moved.poly);
                Stacked { estimate: total.estimate.sum(moved.estimate), ..total }
            }
        });
    }
    let total = total.expect("a map has a diagonal");
    let params = run.eval.params;
    let dropped = if level < run.input.level { params.dropped(run.input.level) } else { 1.0 };
    let scale = run.product_scale() / dropped;
    let estimate = total.estimate.divided(params, run.input.slots, scale);
    let poly = run.dev.mod_down(&total.poly, params.basis(level));
    drop(total);
    Ok(Ciphertext { level, scale, ..run.unstack(&Stacked { poly, estimate }) })
}

/// P times each baby step over QP, both halves.
fn babies<D: Device>(run: &Run<'_, D>) -> Result<Vec<Stacked<D::Poly>>> {
    let (dev, input) = (run.dev, &run.input);
    let raised = Raised::new(run);
    let ring = run.eval.params.ring();
    let factors: Vec<u64> = ring
        .moduli_of(run.basis)
        .into_iter()
        .map(|q| ring.moduli_of(run.special).iter().fold(1, |product, p| q.mul(product, q.reduce(p.value()))))
        .collect();
    let first = dev.scale_limbs(input.parts[0].clone(), &factors);
    let baby = |&steps: &i64| {
        if steps == 0 {
            let both = dev.stack(&[&first, &dev.scale_limbs(input.parts[1].clone(), &factors)]);
            let poly = dev.join(&[&both, &dev.zeros(&both.shape().with_basis(run.special))]);
            return Ok(Stacked { poly, estimate: input.estimate });
        }
        let (g, [b, a]) = raised.product(steps)?;
        let low = dev.add(&dev.restrict(&b, run.basis), &dev.automorphism(&first, g));
        let b = dev.join(&[&low, &dev.restrict(&b, run.special)]);
        let estimate = run.switch_estimate(input.estimate, g, input.scale);
        Ok(Stacked { poly: dev.stack(&[&b, &a]), estimate })
    };
    run.map.layout.babies.iter().map(baby).collect()
}

/// Rotates a sum over QP: its second half is divided by P and decomposed, its first half is only permuted.
fn giant_step<D: Device>(run: &Run<'_, D>, sum: &Stacked<D::Poly>, steps: i64) -> Result<Stacked<D::Poly>> {
    let (dev, batch, params) = (run.dev, run.input.batch(), run.eval.params);
    let (g, key) = run.key(steps)?;
    let _region = dev.region("giant_step", g.value());
    let second = dev.mod_down(&dev.split(&sum.poly, batch, 2 * batch), run.basis);
    let raised = dev.mod_up(&dev.automorphism(&second, g), &key.digits, run.basis | run.special);
    let [mut b, a] = dev.gadget_product(&raised, &key);
    dev.add_assign(&mut b, &dev.automorphism(&dev.split(&sum.poly, 0, batch), g));
    let scale = run.product_scale();
    let estimate = run.switch_estimate(sum.estimate.divided(params, run.input.slots, scale), g, scale);
    Ok(Stacked { poly: dev.stack(&[&b, &a]), estimate })
}
