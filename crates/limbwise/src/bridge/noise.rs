//! The error of each step: as a variance of the phase relative to the squared modulus, and as a deviation of a slot.
//!
//! A flag's phase x = b/2 + e, in units of the modulus, becomes (1 − cos 2πx)/2 = b ± sin²(πe): an error of π²e² beside
//! that of EvalMod. If e has variance v, its mean is π²v and its root mean square √3·π²·v.

use super::{BridgeParams, BridgePlan, key::LOG_MODULUS};
use crate::{
    ckks::Estimate,
    params::Params,
    rlwe::noise as rlwe,
    tfhe::{Ciphertext, GadgetLiteral, noise as tfhe},
};
use limbwise_device::Device;
use limbwise_math::rns::to_f64;
use std::f64::consts::PI;

/// Variance of the phases that come from TFHE.
#[must_use]
pub fn incoming<D: Device>(a: &Ciphertext<D>) -> f64 {
    a.norm_squared() * tfhe::nominal(a.params().literal())
}

/// The switch to q₀: every word is rounded, and those of the mask multiply binary key bits.
#[must_use]
pub fn mod_switch(params: &BridgeParams) -> f64 {
    let wide = to_f64(params.tfhe().literal().big_dimension() as u64);
    (1.0 + 0.5 * wide) / 12.0 * unit(params.ckks())
}

/// Packing in `stages` stages: `σ²·(4^s + (4^s − 1)/3)`. A key switch's noise doubles in each later stage, that of the
/// embedded ciphertexts in every stage.
#[must_use]
pub fn packing(params: &Params, stages: u32) -> f64 {
    let doubled = f64::from(2 * stages).exp2();
    rlwe::lowest_switch(params).powi(2) * (doubled + (doubled - 1.0) / 3.0) * unit(params)
}

/// Variance of a raised coefficient, for flags of the variance `incoming`.
#[must_use]
pub fn raised_variance(params: &BridgeParams, plan: BridgePlan, incoming: f64) -> f64 {
    let ckks = params.ckks();
    let sparse = ckks.bootstrapping().and_then(|boot| boot.literal.ephemeral_weight);
    let encapsulation = sparse.map_or(0.0, |_| rlwe::encapsulation(ckks).powi(2) * unit(ckks));
    incoming + mod_switch(params) + packing(ckks, plan.stages()) + encapsulation
}

/// Deviation of a slot with a flag whose phase has the variance `v`.
#[must_use]
pub fn flag(params: &Params, slots: usize, v: f64) -> f64 {
    let squared = 3f64.sqrt() * PI * PI * v;
    // The EvalMod law is in units of q₀/4 over the turn; a flag is half the sine.
    let eval_mod = rlwe::eval_mod(params, slots, 0.0) * (PI / 2.0) / 2.0;
    let scale = params.scale(params.user_level());
    squared.hypot(eval_mod).hypot(Estimate::exact(0.0).divided(params, slots, scale).error())
}

/// Deviation of `3x² − 2x³` for a flag of deviation `error`: three times the error squared, and the rounding of two
/// products. The flag's error is itself a square, c·e², and E e⁸ = 105 (E e²)⁴. Its fourth moment is therefore 105/9 of
/// the square of its second, and the root mean square of its square is √(35/3)·error².
#[must_use]
pub fn cleaned_error(params: &Params, slots: usize, level: usize, error: f64) -> f64 {
    let scale = params.scale(level);
    let product =
        Estimate::exact(0.0).divided(params, slots, scale).after_key_switch(params, level, slots, scale).error();
    (3.0 * (35f64 / 3.0).sqrt() * error * error).hypot(10f64.sqrt() * product)
}

/// Extraction and key switch: the rounding of N words to the key's modulus, the digits times the key's errors, and the
/// part that the digits omit, under a secret of the ring.
#[must_use]
pub fn key_switch(params: &BridgeParams, gadget: GadgetLiteral) -> f64 {
    let norm = params.ckks().secret_norm_squared();
    let (n, base) = (to_f64(params.ckks().ring().n() as u64), f64::from(gadget.base_log).exp2());
    let rounding = (1.0 + norm) / 12.0;
    let sigma = params.tfhe().literal().glwe_sigma;
    let products = n * f64::from(gadget.levels) * (base * base + 2.0) / 12.0 * sigma * sigma;
    let least = f64::from(LOG_MODULUS - gadget.base_log * gadget.levels).exp2();
    (rounding + products + norm * (least * least - 1.0) / 12.0) * (-2.0 * f64::from(LOG_MODULUS)).exp2()
}

/// (1/q₀)²: a rounding unit of q₀, squared, relative to the modulus.
fn unit(params: &Params) -> f64 {
    (-2.0 * params.log_modulus(0)).exp2()
}
