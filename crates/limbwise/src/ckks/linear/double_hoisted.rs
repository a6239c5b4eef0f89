//! Baby steps stay over QP; only their sums are divided by P.

use super::apply::{Run, Stacked};
use crate::{ckks::Ciphertext, error::Result};
use limbwise_device::{
    Device, Handle as _, Rotation, Terms,
    composites::{product, rotation},
};

/// `⌊Σ_giant rotate(Σ_baby w ⊙ P·rotate(x, baby), giant) / P⌉` at `level`: the input's level, or the one below, whose
/// primes the same division then drops.
///
/// Cost: for b and g nonzero rotations, m diagonals and D = L + α: g + 1 mod_ups, b + g gadget products, g + 2
/// mod_downs, 2mD·N products and at most 2L·N for P·x.
/// Source: \[BMTH21\] Differs: P·x is added to the products over QP, so no separate rescale is left.
pub(super) fn apply<D: Device>(run: &Run<'_, D>, level: usize) -> Result<Ciphertext<D>> {
    let layout = &run.map.layout;
    let steps: Vec<(usize, i64)> = layout.babies.iter().copied().enumerate().collect();
    let mut total: Option<Stacked<D::Poly>> = None;
    for (sum, group) in sums(run, &steps)?.into_iter().zip(&layout.groups) {
        let sum = sum.expect("each group has a term");
        let moved = if group.giant == 0 { sum } else { giant_step(run, &sum, group.giant)? };
        total = Some(match total {
            None => moved,
            Some(total) => add(run, total, &moved),
        });
    }
    Ok(divided(run, total.expect("a map has a diagonal"), level))
}

/// The sum of two sums over QP.
pub(super) fn add<D: Device>(
    run: &Run<'_, D>,
    mut sum: Stacked<D::Poly>,
    other: &Stacked<D::Poly>,
) -> Stacked<D::Poly> {
    run.dev.add_assign(&mut sum.poly, &other.poly);
    Stacked { estimate: sum.estimate.sum(other.estimate), ..sum }
}

/// A sum over QP, divided by P and by the primes between the input's level and `level`.
pub(super) fn divided<D: Device>(run: &Run<'_, D>, total: Stacked<D::Poly>, level: usize) -> Ciphertext<D> {
    let params = run.eval.params;
    let dropped = if level < run.input.level { params.dropped(run.input.level) } else { 1.0 };
    let scale = run.product_scale() / dropped;
    let estimate = total.estimate.divided(params, run.input.slots, scale);
    let poly = run.dev.mod_down(&total.poly, params.basis(level));
    drop(total);
    Ciphertext { level, scale, ..run.unstack(&Stacked { poly, estimate }) }
}

/// P times the input over QP, as far as the baby steps need it.
struct Lifted<P> {
    /// The first half, over Q: its limbs modulo P are zero.
    first: P,
    /// Both halves over QP, where a baby step is 0.
    whole: Option<P>,
}

fn lifted<D: Device>(run: &Run<'_, D>, steps: &[(usize, i64)]) -> Lifted<D::Poly> {
    let (dev, input) = (run.dev, &run.input);
    let factors = product(run.eval.params.ring(), run.special, run.basis);
    let first = dev.scale_limbs(input.parts[0].clone(), &factors);
    let whole = steps.iter().any(|&(_, steps)| steps == 0).then(|| {
        let both = dev.stack(&[&first, &dev.scale_limbs(input.parts[1].clone(), &factors)]);
        dev.join(&[&both, &dev.zeros(&both.shape().with_basis(run.special))])
    });
    Lifted { first, whole }
}

/// The sums of all groups over QP, as far as they have terms with the given baby steps: pairs of a baby step's index and
/// the rotation of the input that it is.
pub(super) fn sums<D: Device>(run: &Run<'_, D>, steps: &[(usize, i64)]) -> Result<Vec<Option<Stacked<D::Poly>>>> {
    let dev = run.dev;
    let Lifted { first, whole } = lifted(run, steps);
    let estimate = |steps: i64| match steps {
        0 => run.input.estimate,
        steps => run.switch_estimate(run.input.estimate, run.galois(steps), run.input.scale),
    };
    let rotated = || steps.iter().map(|&(_, steps)| steps).filter(|&steps| steps != 0);
    let find = |baby: usize| steps.iter().position(|&(index, _)| index == baby);
    let estimates = |baby: usize| find(baby).map(|at| estimate(steps[at].1));
    if run.stores_weights() && run.keys_are_whole(rotated()) {
        let rotations = rotated().map(|steps| run.rotation(steps)).collect::<Result<Vec<_>>>()?;
        // The input itself comes after its rotations.
        let place = |baby: usize| {
            let at = find(baby)?;
            let before = steps[..at].iter().filter(|&&(_, steps)| steps != 0).count();
            Some(if steps[at].1 == 0 { rotations.len() } else { before })
        };
        let more: Vec<D::Poly> = whole.into_iter().collect();
        let x = |terms: &[Terms<'_, D::Poly>]| dev.rotated_sums(&run.input.parts[1], &first, &rotations, &more, terms);
        return run.sums_with(0..run.map.layout.groups.len(), run.basis | run.special, place, estimates, x);
    }
    // Keys that are expanded or read, and diagonals that are encoded at use, are there one at a time.
    let raised = run.raised(rotated().next().is_some());
    let baby = |steps: i64| match (steps, &whole) {
        (0, Some(whole)) => Ok(whole.clone()),
        (steps, _) => Ok(rotation(dev, raised.digits(), &first, &run.rotation(steps)?)),
    };
    let polys = steps.iter().map(|&(_, steps)| baby(steps)).collect::<Result<Vec<_>>>()?;
    run.sums(&polys, 0..run.map.layout.groups.len(), find, estimates)
}

/// Rotates a sum over QP: its second half is divided by P and decomposed, its first half is only permuted.
pub(super) fn giant_step<D: Device>(run: &Run<'_, D>, sum: &Stacked<D::Poly>, steps: i64) -> Result<Stacked<D::Poly>> {
    let (dev, batch, params) = (run.dev, run.input.batch(), run.eval.params);
    let Rotation { galois: g, key } = run.rotation(steps)?;
    let _region = dev.region("giant_step", g.value());
    let second = dev.automorphism(&dev.mod_down(&dev.split(&sum.poly, batch, 2 * batch), run.basis), g);
    let first = dev.automorphism(&dev.split(&sum.poly, 0, batch), g);
    let [b, a] = dev.key_switch_undivided(&second, &key, [Some(&first), None]);
    let scale = run.product_scale();
    let estimate = run.switch_estimate(sum.estimate.divided(params, run.input.slots, scale), g, scale);
    Ok(Stacked { poly: dev.stack(&[&b, &a]), estimate })
}
