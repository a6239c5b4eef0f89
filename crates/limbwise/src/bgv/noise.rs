//! A bound on the phase, which travels with each ciphertext and decides when the modulus is switched.
//!
//! The bound is on the largest absolute value of the phase under the canonical embedding. No coefficient exceeds it,
//! and a product is at most the product of the bounds, however the operands are correlated. Random terms are bounded as
//! in \[GHS12\] appendix A.5: 6 deviations for one Gaussian or uniform polynomial, 16 for a product of two, 40 for a
//! product of three; each bound fails with probability below 2^−40. Messages count at their worst case, N·t/2.
//! Plaintext operands count as random polynomials (see [`NoiseBound::plaintext`]). Measured noise is several bits
//! smaller (`tests/bgv/noise.rs`), mostly by the √N between the embedding and the coefficients.

use super::params::BgvParams;
use crate::rlwe::{noise, operations::LevelDrop};
use limbwise_math::rns::to_f64;

const ONE: f64 = 6.0;
const TWO: f64 = 16.0;
const THREE: f64 = 40.0;

/// The key that a ciphertext is encrypted under.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// Under the public key.
    #[default]
    Public,
    /// Under the secret key: less noise, half the bytes.
    Secret,
}

/// log₂ of the largest absolute value of the embedded phase.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct NoiseBound(f64);

/// N, t, σ, and the variance of the secret's coefficients.
fn sizes(params: &BgvParams) -> [f64; 4] {
    let n = to_f64(params.slots() as u64);
    [n, to_f64(params.t().value()), params.rlwe().literal().sigma, params.rlwe().secret_norm_squared() / n]
}

impl NoiseBound {
    /// A bound given in bits.
    #[must_use]
    pub fn of_bits(bits: f64) -> Self {
        Self(bits)
    }

    /// The bound in bits.
    #[must_use]
    pub fn bits(self) -> f64 {
        self.0
    }

    /// The bound of a fresh encryption: the message plus t·(`v·e + e₀ + e₁·s`), or t·e under the secret key.
    #[must_use]
    pub fn fresh(params: &BgvParams, encryption: Encryption) -> Self {
        let [n, t, sigma, secret] = sizes(params);
        let one = ONE * sigma * n.sqrt();
        let error = match encryption {
            Encryption::Public => one + TWO * sigma * n * ((2.0f64 / 3.0).sqrt() + secret.sqrt()),
            Encryption::Secret => one,
        };
        Self((n * t / 2.0 + t * error).log2())
    }

    /// The bound of an encoded vector. It assumes uniform coefficients below t/2, which integers chosen to be
    /// adversarial can exceed. A constant vector, the common exception, is smaller.
    #[must_use]
    pub fn plaintext(params: &BgvParams) -> Self {
        let [n, t, ..] = sizes(params);
        Self((ONE * t * (n / 12.0).sqrt()).log2())
    }

    /// The bound of one integer in all slots.
    #[must_use]
    pub fn constant(value: i64) -> Self {
        Self(to_f64(value.unsigned_abs().max(1)).log2())
    }

    /// What rounding to multiples of t adds to `parts` polynomials: t·(τ₀ + τ₁·s + τ₂·s²), τ uniform in ±½.
    #[must_use]
    pub fn rounding(params: &BgvParams, parts: usize) -> Self {
        let [n, t, _, secret] = sizes(params);
        let uniform = (n / 12.0).sqrt();
        let norm = (secret * n).sqrt();
        let third = if parts > 2 { THREE * norm * norm } else { 0.0 };
        Self((t * uniform * (ONE + TWO * norm + third)).log2())
    }

    /// What the digits of a key switch at a level add, without its rounding.
    #[must_use]
    pub fn digits(params: &BgvParams, level: usize) -> Self {
        let [n, t, ..] = sizes(params);
        let rlwe = params.rlwe();
        let [whole, rounding] = [noise::key_switch(rlwe, level), noise::division(rlwe)];
        Self((TWO * t * n.sqrt() * (whole * whole - rounding * rounding).max(f64::MIN_POSITIVE).sqrt()).log2())
    }

    /// The bound of a sum.
    #[must_use]
    pub fn sum(self, other: Self) -> Self {
        let (high, low) = (self.0.max(other.0), self.0.min(other.0));
        Self(high + (low - high).exp2().ln_1p() / std::f64::consts::LN_2)
    }

    /// The bound of a product.
    #[must_use]
    pub fn product(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    /// The bound after a key switch at a level.
    #[must_use]
    pub fn after_key_switch(self, params: &BgvParams, level: usize) -> Self {
        self.sum(Self::digits(params, level)).sum(Self::rounding(params, 2))
    }

    /// The bound after a division by the primes between two levels.
    #[must_use]
    pub fn divided(self, params: &BgvParams, levels: LevelDrop, parts: usize) -> Self {
        let LevelDrop { from, to } = levels;
        let dropped = params.rlwe().log_modulus(from) - params.rlwe().log_modulus(to);
        Self(self.0 - dropped).sum(Self::rounding(params, parts))
    }

    /// The bound after relinearization and division by one shared rounding.
    #[must_use]
    pub fn relinearized(self, params: &BgvParams, levels: LevelDrop) -> Self {
        let LevelDrop { from, to } = levels;
        if from == to {
            self.after_key_switch(params, from)
        } else {
            self.sum(Self::digits(params, from)).divided(params, levels, 2)
        }
    }
}
