//! Variances of what each step adds to a phase, relative to the squared modulus, and the failure probability.
//!
//! Errors are independent and their variances add. Secrets are binary: E\[s²\] = ½. A digit of base B has mean square
//! (B² + 2)/12, what digits leave out of a word is uniform below the least factor. Source: \[CGGI20\] §3–4 with averages for
//! worst cases, as in \[BBBCLOT23\] §2; the compensated modulus switch is \[RDV25\]'s.

use super::params::{GadgetLiteral, TfheLiteral};
use limbwise_math::{rns::to_f64, tail::log2_two_sided};

fn float(x: usize) -> f64 {
    to_f64(x as u64)
}

/// `2^(−2·bits)`: the square of a unit of a modulus of so many bits.
fn unit(bits: f64) -> f64 {
    (-2.0 * bits).exp2()
}

/// Mean square of a digit.
fn digit(gadget: GadgetLiteral) -> f64 {
    ((2.0 * f64::from(gadget.base_log)).exp2() + 2.0) / 12.0
}

/// Variance of what the digits of a word of so many bits leave out, in its units: uniform on whole numbers.
fn left_out(gadget: GadgetLiteral, bits: u32) -> f64 {
    let least = f64::from(bits - gadget.base_log * gadget.levels).exp2();
    (least * least - 1.0) / 12.0
}

/// An encryption under the wide secret key.
#[must_use]
pub fn fresh(l: &TfheLiteral) -> f64 {
    l.glwe_sigma.powi(2) * unit(l.log_modulus())
}

/// An encryption under the public key: `v·e + e₀ + Σ e_c·S_c`, v and S binary.
#[must_use]
pub fn public(l: &TfheLiteral) -> f64 {
    let terms = 1.0 + float(1 << l.log_n) / 2.0 + float(l.wide_dimension()) / 2.0;
    fresh(l) * terms
}

/// A blind rotation: in each of n steps every digit meets an error of the key, and where the bit is one what the digits left
/// out of body and masks remains.
#[must_use]
pub fn blind_rotation(l: &TfheLiteral) -> f64 {
    let rows = float(l.masks + 1) * f64::from(l.bootstrap.levels) * float(1 << l.log_n);
    let products = rows * digit(l.bootstrap) * l.glwe_sigma.powi(2);
    let rounding = 0.5 * left_out(l.bootstrap, l.prime_bits()) * (1.0 + 0.5 * float(l.wide_dimension()));
    float(l.lwe_dimension) * (products + rounding) * unit(l.log_modulus())
}

/// The LWE key switch: rounding to the narrow modulus, digits that meet errors of the key, and what they leave out.
#[must_use]
pub fn key_switch(l: &TfheLiteral) -> f64 {
    let wide = float(l.wide_dimension());
    let rounding = (1.0 + 0.5 * wide) / 12.0;
    let products = wide * f64::from(l.key_switch.levels) * digit(l.key_switch) * l.lwe_sigma.powi(2);
    let left = 0.5 * wide * left_out(l.key_switch, l.log_lwe_modulus);
    (rounding + products + left) * unit(l.log_lwe_modulus.into())
}

/// The switch to exponents modulo 2N, in steps of 2^`log_tables`: the body's rounding, and each mask word's times s − ½, the
/// mean being compensated.
#[must_use]
pub fn mod_switch(l: &TfheLiteral, log_tables: u32) -> f64 {
    (1.0 + 0.25 * float(l.lwe_dimension)) / 12.0 * unit(f64::from(l.log_n + 1 - log_tables))
}

/// What a bootstrapping leaves, or a fresh encryption if that is more: the noise of one ciphertext of norm 1.
#[must_use]
pub fn nominal(l: &TfheLiteral) -> f64 {
    blind_rotation(l).max(public(l))
}

/// The phase that a blind rotation meets, for inputs added up with the given squared norm.
#[must_use]
pub fn before_rotation(l: &TfheLiteral, norm_squared: f64, log_tables: u32) -> f64 {
    norm_squared * nominal(l) + key_switch(l) + mod_switch(l, log_tables)
}

/// log₂ of the probability that a phase leaves half the distance of messages, 2^−(message bits + 2), at a squared norm and
/// 2^`log_tables` tables together. The same for every message: the distance is.
#[must_use]
pub fn log2_failure(l: &TfheLiteral, norm_squared: f64, log_tables: u32) -> f64 {
    let half = (-f64::from(l.message_bits + 2)).exp2();
    log2_two_sided(half / before_rotation(l, norm_squared, log_tables).sqrt())
}
