//! The variance that each step adds to a phase, relative to the squared modulus, and the failure probability.
//!
//! Errors are independent and their variances add. Secrets are binary: E\[s²\] = ½. A digit of base B has mean square
//! (B² + 2)/12; the part of a word below the digits is uniform. Source: \[CGGI20\] §3–4 with average instead of worst
//! cases, as in \[BBBCLOT23\] §2; the compensated modulus switch is from \[RDV25\].

use super::params::{GadgetLiteral, TfheLiteral};
use limbwise_math::{rns::to_f64, tail::log2_two_sided};

fn float(x: usize) -> f64 {
    to_f64(x as u64)
}

/// `2^(−2·bits)`: the squared unit of a modulus of `bits` bits, relative to the squared modulus.
fn unit(bits: f64) -> f64 {
    (-2.0 * bits).exp2()
}

/// Mean square of a digit.
fn digit(gadget: GadgetLiteral) -> f64 {
    ((2.0 * f64::from(gadget.base_log)).exp2() + 2.0) / 12.0
}

/// Variance of the part of a `bits`-bit word below the digits, in its integer units: uniform on integers.
fn remainder_variance(gadget: GadgetLiteral, bits: u32) -> f64 {
    let least = f64::from(bits - gadget.base_log * gadget.levels).exp2();
    (least * least - 1.0) / 12.0
}

/// An encryption under the secret GLWE key.
#[must_use]
pub fn fresh(l: &TfheLiteral) -> f64 {
    l.glwe_sigma.powi(2) * unit(l.log_modulus())
}

/// An encryption under the public key: `v·e + e₀ + Σ e_c·S_c`, v and S binary.
#[must_use]
pub fn public(l: &TfheLiteral) -> f64 {
    let terms = 1.0 + float(1 << l.log_n) / 2.0 + float(l.big_dimension()) / 2.0;
    fresh(l) * terms
}

/// A blind rotation: in each of n steps every digit multiplies an error of the key, and where the key bit is one, the
/// parts of body and masks below the digits remain.
#[must_use]
pub fn blind_rotation(l: &TfheLiteral) -> f64 {
    let rows = float(l.masks + 1) * f64::from(l.bootstrap.levels) * float(1 << l.log_n);
    let products = rows * digit(l.bootstrap) * l.glwe_sigma.powi(2);
    let rounding = 0.5 * remainder_variance(l.bootstrap, l.prime_bits()) * (1.0 + 0.5 * float(l.big_dimension()));
    float(l.lwe_dimension) * (products + rounding) * unit(l.log_modulus())
}

/// The LWE key switch: rounding to the small key's modulus, digits times errors of the key, and the part below the
/// digits.
#[must_use]
pub fn key_switch(l: &TfheLiteral) -> f64 {
    let wide = float(l.big_dimension());
    let rounding = (1.0 + 0.5 * wide) / 12.0;
    let products = wide * f64::from(l.key_switch.levels) * digit(l.key_switch) * l.lwe_sigma.powi(2);
    let left = 0.5 * wide * remainder_variance(l.key_switch, l.log_lwe_modulus);
    (rounding + products + left) * unit(l.log_lwe_modulus.into())
}

/// The switch to exponents modulo 2N in steps of 2^`log_tables`: the rounding of the body, and that of each mask word
/// times s − ½, because the mean is compensated.
#[must_use]
pub fn mod_switch(l: &TfheLiteral, log_tables: u32) -> f64 {
    (1.0 + 0.25 * float(l.lwe_dimension)) / 12.0 * unit(f64::from(l.log_n + 1 - log_tables))
}

/// The noise of a ciphertext of norm 1: that of a bootstrapping, or of a fresh encryption if larger.
#[must_use]
pub fn nominal(l: &TfheLiteral) -> f64 {
    blind_rotation(l).max(public(l))
}

/// Variance of the phase at the blind rotation, for an input of the given squared norm.
#[must_use]
pub fn before_rotation(l: &TfheLiteral, norm_squared: f64, log_tables: u32) -> f64 {
    norm_squared * nominal(l) + key_switch(l) + mod_switch(l, log_tables)
}

/// log₂ of the probability that a phase misses its message by half the distance of messages, 2^−(message bits + 2), at
/// a squared norm and with 2^`log_tables` tables together. It is equal for every message, because the distances are.
#[must_use]
pub fn log2_failure(l: &TfheLiteral, norm_squared: f64, log_tables: u32) -> f64 {
    let half = (-f64::from(l.message_bits + 2)).exp2();
    log2_two_sided(half / before_rotation(l, norm_squared, log_tables).sqrt())
}

/// log₂ of the probability that a message of a squared norm is decrypted wrongly. Decryption switches nothing, so that the
/// ciphertext's own noise alone stands against half the distance of messages.
#[must_use]
pub fn log2_misread(l: &TfheLiteral, norm_squared: f64) -> f64 {
    let half = (-f64::from(l.message_bits + 2)).exp2();
    log2_two_sided(half / (norm_squared * nominal(l)).sqrt())
}
