//! How large a phase may be: a bound that travels with each ciphertext, and decides when the modulus is switched.
//!
//! The bound is on the largest absolute value of the phase under the canonical embedding, which no coefficient exceeds, and
//! under which a product is at most the product of the bounds, whatever the operands have in common. Random terms are
//! bounded as \[GHS12\] appendix A.5 does: 6 deviations for one Gaussian or uniform polynomial, 16 for a product of two, 40 for
//! one of three; each fails with probability below 2^−40. Messages are taken at their worst, N·t/2; so are plaintexts that a
//! ciphertext is multiplied with, unless nothing but their randomness is known to be missing (see [`NoiseBound::plaintext`]).
//! Measured noise is several bits smaller (`tests/bgv/noise.rs`): mostly the √N between the embedding and coefficients.

use super::params::BgvParams;
use crate::rlwe::noise;
use limbwise_math::rns::to_f64;

const ONE: f64 = 6.0;
const TWO: f64 = 16.0;
const THREE: f64 = 40.0;

/// Under which key a ciphertext is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// The public one.
    #[default]
    Public,
    /// The secret one: less noise, half the bytes.
    Secret,
}

/// log₂ of the largest absolute value that the embedded phase has.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct NoiseBound(f64);

/// N, t, σ, and the variance of the secret's coefficients, which divides nothing.
fn sizes(params: &BgvParams) -> [f64; 4] {
    let n = to_f64(params.slots() as u64);
    [n, to_f64(params.t().value()), params.rlwe().literal().sigma, params.rlwe().secret_norm_squared() / n]
}

impl NoiseBound {
    /// A bound of so many bits.
    #[must_use]
    pub fn of_bits(bits: f64) -> Self {
        Self(bits)
    }

    /// It, in bits.
    #[must_use]
    pub fn bits(self) -> f64 {
        self.0
    }

    /// Of an encryption: message and t times `v·e + e₀ + e₁·s`, or t·e.
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

    /// Of an encoded vector: coefficients are uniform below t/2 unless the integers were chosen to make them otherwise. The
    /// same integer in all slots, which is the common exception, is smaller.
    #[must_use]
    pub fn plaintext(params: &BgvParams) -> Self {
        let [n, t, ..] = sizes(params);
        Self((ONE * t * (n / 12.0).sqrt()).log2())
    }

    /// Of an integer in all slots.
    #[must_use]
    pub fn constant(value: i64) -> Self {
        Self(to_f64(value.unsigned_abs().max(1)).log2())
    }

    /// What rounding to multiples of t adds to so many polynomials: t·(τ₀ + τ₁·s + τ₂·s²), τ uniform in ±½.
    #[must_use]
    pub fn rounding(params: &BgvParams, parts: usize) -> Self {
        let [n, t, _, secret] = sizes(params);
        let uniform = (n / 12.0).sqrt();
        let norm = (secret * n).sqrt();
        let third = if parts > 2 { THREE * norm * norm } else { 0.0 };
        Self((t * uniform * (ONE + TWO * norm + third)).log2())
    }

    /// What the digits of a key switch at a level add, without the rounding.
    #[must_use]
    pub fn digits(params: &BgvParams, level: usize) -> Self {
        let [n, t, ..] = sizes(params);
        let rlwe = params.rlwe();
        let [whole, rounding] = [noise::key_switch(rlwe, level), noise::division(rlwe)];
        Self((TWO * t * n.sqrt() * (whole * whole - rounding * rounding).max(f64::MIN_POSITIVE).sqrt()).log2())
    }

    /// Of a sum.
    #[must_use]
    pub fn sum(self, other: Self) -> Self {
        let (high, low) = (self.0.max(other.0), self.0.min(other.0));
        Self(high + (low - high).exp2().ln_1p() / std::f64::consts::LN_2)
    }

    /// Of a product.
    #[must_use]
    pub fn product(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    /// After a change of key at a level.
    #[must_use]
    pub fn switched(self, params: &BgvParams, level: usize) -> Self {
        self.sum(Self::digits(params, level)).sum(Self::rounding(params, 2))
    }

    /// After division by the primes between two levels, of so many polynomials.
    #[must_use]
    pub fn divided(self, params: &BgvParams, [from, to]: [usize; 2], parts: usize) -> Self {
        let dropped = params.rlwe().log_modulus(from) - params.rlwe().log_modulus(to);
        Self(self.0 - dropped).sum(Self::rounding(params, parts))
    }

    /// After relinearization and such a division in one.
    #[must_use]
    pub fn relinearized(self, params: &BgvParams, [from, to]: [usize; 2]) -> Self {
        if from == to {
            self.switched(params, from)
        } else {
            self.sum(Self::digits(params, from)).divided(params, [from, to], 2)
        }
    }
}
