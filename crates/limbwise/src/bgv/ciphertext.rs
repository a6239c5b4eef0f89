//! Plaintexts and ciphertexts: polynomials in evaluation domain with their level, factor and noise.

use super::{
    noise::{Encryption, NoiseBound},
    params::BgvParams,
};
use limbwise_device::{Device, Domain, Handle as _, Role, Shape, Wordless};

/// Encoded integers, one polynomial a batch entry.
pub struct Plaintext<D: Device> {
    /// The polynomial in evaluation domain over the primes of its level; coefficients below t/2 in absolute value.
    pub poly: D::Poly,
    /// Level of the polynomial: how many modulus switches are left.
    pub level: usize,
    /// Index of its plaintext modulus.
    pub modulus: usize,
}

/// Encrypted integers: `Σ parts[i]·s^i ≡ factor·message` modulo t. A batch holds independent messages.
pub struct Ciphertext<D: Device> {
    /// Two polynomials, or three after a multiplication; evaluation domain, over the primes of the level.
    pub parts: Vec<D::Poly>,
    /// Level: how many modulus switches are left.
    pub level: usize,
    /// Product of all constants that modulus switching and products have multiplied the message with, modulo t.
    pub factor: u64,
    /// Bound on the phase.
    pub noise: NoiseBound,
    /// Index of its plaintext modulus t: 0 unless the parameters have several.
    pub modulus: usize,
}

impl<D: Device> Clone for Ciphertext<D> {
    /// Another handle on the same polynomials; no words are copied.
    fn clone(&self) -> Self {
        Self { parts: self.parts.clone(), ..*self }
    }
}

impl<D: Device> std::fmt::Debug for Ciphertext<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (parts, level, noise) = (self.parts.len(), self.level, self.noise.bits());
        write!(f, "Ciphertext({} of {parts} polynomials at level {level}, noise 2^{noise:.1})", self.batch())
    }
}

impl<D: Device> Clone for Plaintext<D> {
    /// Another handle on the same polynomial.
    fn clone(&self) -> Self {
        Self { poly: self.poly.clone(), ..*self }
    }
}

/// Public shape of a fresh ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CiphertextShape {
    /// Number of independent messages.
    pub batch: usize,
    /// Level of the ciphertext.
    pub level: usize,
    /// Domain of its two polynomials.
    pub domain: Domain,
}

impl<D: Device> Ciphertext<D> {
    /// Declares a fresh batch of this shape modulo the set's plaintext modulus, for devices that hold no words.
    pub fn declared(dev: &D, params: &BgvParams, shape: CiphertextShape, encryption: Encryption) -> Self
    where
        D: Wordless,
    {
        let CiphertextShape { batch, level, domain } = shape;
        let shape = Shape::eval(params.rlwe().ring(), params.rlwe().basis(level)).with_batch(batch);
        let shape = shape.with_domain(domain);
        let part = || dev.declare(&shape, Role::Ciphertext);
        let (noise, modulus) = (NoiseBound::fresh(params, encryption), params.modulus());
        Self { parts: vec![part(), part()], level, factor: 1, noise, modulus }
    }

    /// Number of independent messages.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.parts[0].shape().batch
    }

    /// Size of the polynomials in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|p| p.shape().bytes()).sum()
    }

    /// Noise budget in bits: log₂ of half the modulus less that of the noise bound. The measured budget is at least
    /// this.
    #[must_use]
    pub fn budget_bits(&self, params: &BgvParams) -> f64 {
        params.rlwe().log_modulus(self.level) - 1.0 - self.noise.bits()
    }
}
