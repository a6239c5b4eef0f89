//! Standard deviation of the noise that each operation adds to a coefficient, in integer units of the ciphertext.
//!
//! Average case, for independent errors: \[CKKS17\] §3.5 with the variances of \[HK20\] for key switching. `‖s‖²` is the
//! expected squared norm of the secret (2N/3 for ternary ones).

use crate::params::{Order, Params, Secret, Sine};
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

/// Division with rounding of the three polynomials of a product: `(1 + ‖s‖² + ‖s²‖²)/12`. `‖s²‖² ≈ 2‖s‖⁴`, because s²
/// contains each product of two coefficients of s twice.
#[must_use]
pub fn division_of_product(params: &Params) -> f64 {
    let norm = params.secret_norm_squared();
    ((1.0 + norm + 2.0 * norm * norm) / 12.0).sqrt()
}

/// Key switching at a level: each digit, centered and uniform below D_i, times a Gaussian, divided by P, plus the
/// rounding.
#[must_use]
pub fn key_switch(params: &Params, level: usize) -> f64 {
    let ring = params.ring();
    let (digits, special) = params.gadget(level);
    let log_special = ring.log_modulus(special);
    let digits: f64 = digits.iter().map(|&d| ((ring.log_modulus(d) - log_special) * 2.0).exp2()).sum::<f64>() / 12.0;
    let sigma = params.literal().sigma;
    (degree(params) * sigma * sigma * digits + division(params).powi(2)).sqrt()
}

/// Switching to the ephemeral secret at level 0: one digit, few special primes, and rounding under a sparse secret.
#[must_use]
pub fn encapsulation(params: &Params) -> f64 {
    let ring = params.ring();
    let digit = (params.log_modulus(0) - ring.log_modulus(params.encapsulation_special())).exp2();
    let weight = params.bootstrapping().and_then(|boot| boot.literal.ephemeral_weight).unwrap_or(0);
    let sigma = params.literal().sigma;
    (degree(params) * sigma * sigma * digit * digit / 12.0 + (1.0 + to_f64(weight as u64)) / 12.0).sqrt()
}

/// A key switch to the main secret at level 0: one digit and the few special primes of an encapsulation.
#[must_use]
pub fn lowest_switch(params: &Params) -> f64 {
    let digit = (params.log_modulus(0) - params.ring().log_modulus(params.encapsulation_special())).exp2();
    let sigma = params.literal().sigma;
    (degree(params) * sigma * sigma * digit * digit / 12.0 + division(params).powi(2)).sqrt()
}

/// The error of EvalMod in a slot value, for parts uniform in ±`width`: the noise of its products and the error of its
/// sine.
///
/// The noise is an empirical law (`tests/ckks/bootstrap.rs` and full-size runs compare it with measurements), for a
/// dense secret and a range of 16. In bits, with SlotToCoeff first, n slots, primes of E bits and message ratio m: 45.3
/// − ½·log₂N − ½·log₂(2n) − m + (E − 50). An exponential gives 1.5 bits more, because squarings amplify less than
/// double angles. SlotToCoeff last gives ½·log₂(2n) less, because coefficients are spread over the slots. A range K
/// costs log₂(K/16), because the input is divided by it. The error of the sine is computed. That of CoeffToSlot is not in
/// it: its key switches have noise of their own where digits are as long as the special primes.
///
/// Scales, constants and the maps' entries are f64 numbers: an argument of deviation d has an error of 2^−49.4·d by their
/// rounding (measured where all primes are wide), which is 2^(m−49.4)·d of a message.
#[must_use]
pub fn eval_mod(params: &Params, slots: usize, width: f64) -> f64 {
    let Some(boot) = params.bootstrapping() else { return 0.0 };
    let (log_n, m) = (f64::from(params.log_n()), f64::from(boot.literal.message_ratio));
    let prime = params.dropped(boot.eval_mod_level()).log2() - 50.0;
    let log_slots = to_f64(2 * slots as u64).log2();
    let spread = if boot.literal.order == Order::SlotToCoeffFirst { 0.5 } else { 1.0 };
    let exponential = if matches!(boot.literal.eval_mod.sine, Sine::Exponential { .. }) { 1.5 } else { 0.0 };
    let range = (f64::from(boot.literal.eval_mod.range) / 16.0).log2();
    let bits = 45.3 - 0.5 * log_n - spread * log_slots - m + prime + exponential - range;
    let rounding = boot.multiple_deviation() * (m - 49.4).exp2();
    (-bits).exp2().hypot(boot.sine_error(width)).hypot(rounding)
}

/// The noise of EvalMod's exponential, in each part of a point of the unit circle: that of [`eval_mod`] in units of the
/// circle, with the error of the series of the interval.
#[must_use]
pub fn circle(params: &Params, slots: usize) -> f64 {
    let Some(boot) = params.bootstrapping() else { return 0.0 };
    let turn = std::f64::consts::TAU * (-f64::from(boot.literal.message_ratio)).exp2();
    (eval_mod(params, slots, 0.0) * turn).hypot(boot.literal.eval_mod.interval_error())
}

/// The factor from the error of a coefficient to that of one real component of a slot: √n for n slots in 2n
/// coefficients.
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
