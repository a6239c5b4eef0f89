//! Standard deviations of what each operation adds to a coefficient, in units of the ciphertext's own integers.
//!
//! Average case, for independent errors: \[CKKS17\] §3.5 with the variances of \[HK20\] for key switching. `‖s‖²` is the
//! expected squared norm of the secret (2N/3 for ternary ones).

use crate::params::{Params, Secret};
use limbwise_math::rns::to_f64;

fn degree(params: &Params) -> f64 {
    to_f64(params.ring().n() as u64)
}

/// Encryption under the public key: `v·e + e₀ + e₁·s`, v and s ternary.
#[must_use]
pub fn public_encryption(params: &Params) -> f64 {
    let sigma = params.literal().sigma;
    sigma * (1.0 + 2.0 / 3.0 * degree(params) + params.secret_norm_squared()).sqrt()
}

/// Encryption under the secret key: one Gaussian.
#[must_use]
pub fn secret_encryption(params: &Params) -> f64 {
    params.literal().sigma
}

/// Rounding to integers: uniform in [−½, ½].
#[must_use]
pub fn encoding() -> f64 {
    (1.0f64 / 12.0).sqrt()
}

/// Division with rounding of both halves of a ciphertext: `(1 + ‖s‖²)/12`.
#[must_use]
pub fn division(params: &Params) -> f64 {
    ((1.0 + params.secret_norm_squared()) / 12.0).sqrt()
}

/// Key switching at a level: each digit, centred and uniform below D_i, times a Gaussian, divided by P; and the rounding.
#[must_use]
pub fn key_switch(params: &Params, level: usize) -> f64 {
    let ring = params.ring();
    let log_special = ring.log_modulus(params.special());
    let digits: f64 =
        params.digits(level).iter().map(|&d| ((ring.log_modulus(d) - log_special) * 2.0).exp2()).sum::<f64>() / 12.0;
    let sigma = params.literal().sigma;
    (degree(params) * sigma * sigma * digits + division(params).powi(2)).sqrt()
}

/// From a coefficient to one real component of a slot: with n slots in 2n coefficients, `√n`.
#[must_use]
pub fn slot_factor(slots: usize) -> f64 {
    to_f64(slots as u64).sqrt()
}

/// Slot error of a fresh public-key encryption with all slots in use and a ternary secret, in units of 1/scale.
#[must_use]
pub fn fresh_slot_error(log_n: u32) -> f64 {
    let n = f64::from(log_n).exp2();
    debug_assert_eq!(Secret::default(), Secret::Ternary);
    3.2 * (1.0 + 4.0 / 3.0 * n).sqrt() * (n / 2.0).sqrt()
}
