//! ModRaise: from q₀ to the whole chain, under a sparse secret.

use super::Bootstrapper;
use crate::{
    ckks::{Ciphertext, Evaluator, evaluator::linear},
    error::Result,
    rlwe::{KeyName, noise},
};
use limbwise_device::{Device, Handle as _};

/// The same residues modulo q₀, now modulo all primes: the message plus multiples of q₀, whose size follows the
/// secret's weight. If the parameters have an ephemeral secret, the ciphertext is switched to it before and back after.
///
/// Shape:  level 0 → top.
/// Scale:  unchanged.   Noise: that of the two key switches.
/// Cost:   a key switch at level 0 with few special primes, one at the top; 2 INTT and 2·(L − 1) NTT limbs.
/// Source: \[CHKKS18\], \[BTH22\]
pub(super) fn mod_raise<D: Device>(
    boot: &Bootstrapper<D>,
    eval: &Evaluator<'_, D>,
    a: &Ciphertext<D>,
) -> Result<Ciphertext<D>> {
    let (dev, params) = (eval.dev, eval.params);
    let _region = dev.region("mod_raise", 0);
    let a = match boot.levels.literal.ephemeral_weight {
        Some(_) => switch_key(eval, a, KeyName::Encapsulation)?,
        None => a.clone(),
    };
    let (low, top) = (params.basis(0), params.top_level());
    let others = params.basis(top) - low;
    let raise = |part: &D::Poly| {
        let coefficients = dev.intt(part.clone());
        // A single prime is lifted exactly at no cost; several are lifted by an exact centered conversion.
        let lifted = match low.len() {
            1 => dev.extend_limb(&coefficients, others),
            _ => dev.ntt(dev.basis_convert(&coefficients, others)),
        };
        debug_assert_eq!(lifted.shape().basis, others);
        dev.join(&[part, &lifted])
    };
    let raised = Ciphertext { parts: a.parts.iter().map(raise).collect(), level: top, ..a };
    match boot.levels.literal.ephemeral_weight {
        Some(_) => switch_key(eval, &raised, KeyName::Decapsulation),
        None => Ok(raised),
    }
}

/// Switches to another secret.
fn switch_key<D: Device>(eval: &Evaluator<'_, D>, a: &Ciphertext<D>, name: KeyName) -> Result<Ciphertext<D>> {
    let (dev, params) = (eval.dev, eval.params);
    let (c0, c1) = linear("bootstrap", a)?;
    let key = eval.keys.key("bootstrap", name, a.level)?;
    let [d0, d1] = dev.key_switch(c1, &key.at(dev, params, a.level)?);
    let noise = match name {
        KeyName::Encapsulation => noise::encapsulation(params),
        _ => noise::key_switch(params, a.level),
    };
    let estimate = a.estimate.with_noise(noise, a.slots, a.scale);
    Ok(Ciphertext { parts: vec![dev.add(c0, &d0), d1], estimate, shadow: None, ..*a })
}
