//! What a client expects of a result, and the results it decrypts.

use super::ciphertext::Ciphertext;
#[cfg(feature = "client")]
use super::{
    decrypt::{decrypt_checked, phases},
    encoder::Encoder,
    params::BgvParams,
};
#[cfg(feature = "client")]
use crate::{
    error::{DecryptError, Result},
    rlwe::SecretKey,
    wire::bgv_fingerprint,
};
#[cfg(feature = "client")]
use limbwise_device::HostRead;
use limbwise_device::{Device, Domain};

/// Tolerance between two noise bounds, in bits: the same rules in another order differ by f64 rounding only.
#[cfg(feature = "client")]
const ROUNDING: f64 = 1e-9;

/// Shape and noise bound of a result in the client's own recording.
#[cfg(feature = "client")]
#[derive(Clone, Debug, PartialEq)]
pub struct BgvExpectation {
    params: BgvParams,
    level: usize,
    batch: usize,
    parts: usize,
    factor: u64,
    noise: super::noise::NoiseBound,
    modulus: usize,
}

#[cfg(feature = "client")]
impl BgvExpectation {
    /// The expectation of a recorded result, which holds no words.
    #[must_use]
    pub fn of<D: Device>(params: &BgvParams, recorded: &Ciphertext<D>) -> Self {
        let Ciphertext { parts, level, factor, noise, modulus } = recorded;
        let (batch, parts) = (recorded.batch(), parts.len());
        let (params, modulus) = (params.clone(), *modulus);
        Self { params, level: *level, batch, parts, factor: *factor, noise: *noise, modulus }
    }

    /// Replaces what the ciphertext claims about itself by what is expected.
    ///
    /// # Errors
    /// [`DecryptError::Unexpected`] with the first field that differs.
    pub fn admit<D: Device>(&self, params: &BgvParams, got: Ciphertext<D>) -> Result<Ciphertext<D>, DecryptError> {
        let unexpected = |field, got: String, wanted: String| DecryptError::Unexpected { field, got, wanted };
        if *params != self.params {
            let name = |params| bgv_fingerprint(params).to_string();
            return Err(unexpected("set of parameters", name(params), name(&self.params)));
        }
        let whole = [
            ("batch", got.batch() as u64, self.batch as u64),
            ("level", got.level as u64, self.level as u64),
            ("number of polynomials", got.parts.len() as u64, self.parts as u64),
            ("factor", got.factor, self.factor),
            ("plaintext modulus", got.modulus as u64, self.modulus as u64),
        ];
        for (field, got, wanted) in whole {
            if got != wanted {
                return Err(unexpected(field, got.to_string(), wanted.to_string()));
            }
        }
        let (said, wanted) = (got.noise.bits(), self.noise.bits());
        // NaN compares as different.
        let near = (said - wanted).abs() <= ROUNDING * wanted.abs().max(1.0);
        if !near {
            return Err(unexpected("bound on the noise", format!("2^{said:.6}"), format!("2^{wanted:.6}")));
        }
        Ok(Ciphertext { noise: self.noise, ..got })
    }
}

/// All results of a program, decrypted.
#[derive(Clone, Debug, PartialEq)]
pub enum BgvReading {
    /// Decrypted integers with the smallest noise budget among the results.
    Integers {
        /// The slots of each message of each result.
        messages: Vec<Vec<Vec<i64>>>,
        /// Smallest noise budget among the results, in bits.
        budget_bits: f64,
    },
    /// The noise bound forbids decryption: the phases of inputs and results modulo every prime of the results' level.
    Phases {
        /// Level of the results.
        level: usize,
        /// Phases of the inputs.
        inputs: Vec<Vec<u64>>,
        /// Phases of the results.
        results: Vec<Vec<u64>>,
    },
}

impl<D: Device> Ciphertext<D> {
    /// The same ciphertext with its polynomials in `domain`.
    #[must_use]
    pub fn in_domain(self, dev: &D, domain: Domain) -> Self {
        let Self { parts, level, factor, noise, modulus } = self;
        let transformed = |part: D::Poly| match (limbwise_device::Handle::shape(&part).domain, domain) {
            (Domain::Eval, Domain::Coeff) => dev.intt(part),
            (Domain::Coeff, Domain::Eval) => dev.ntt(part),
            _ => part,
        };
        Self { parts: parts.into_iter().map(transformed).collect(), level, factor, noise, modulus }
    }
}

#[cfg(feature = "client")]
impl BgvReading {
    /// Decrypts the results. Where their noise bound forbids it and the inputs are present, gives the phases instead.
    ///
    /// # Errors
    /// [`BgvError`](super::BgvError) for results that the noise bound forbids to decrypt or that hold no message; a
    /// device fault.
    pub fn of<D: HostRead>(
        dev: &D,
        encoder: &Encoder,
        params: &BgvParams,
        key: &SecretKey,
        inputs: &[Ciphertext<D>],
        results: &[Ciphertext<D>],
    ) -> Result<Self> {
        let in_slots = |c: &Ciphertext<D>| c.clone().in_domain(dev, Domain::Eval);
        let readable = results.iter().all(|c| c.budget_bits(params) >= 0.0);
        if !readable && !inputs.is_empty() {
            let all = |of: &[Ciphertext<D>]| -> Result<_> {
                of.iter().map(|c| phases(dev, params, key, &in_slots(c))).collect()
            };
            return Ok(Self::Phases { level: results[0].level, inputs: all(inputs)?, results: all(results)? });
        }
        let (mut messages, mut budget_bits) = (Vec::new(), f64::INFINITY);
        for result in results {
            let result = in_slots(result);
            let found = decrypt_checked(dev, encoder, key, &result)?;
            // The bound of a fresh encryption fails with probability below 2^−40, so larger noise means a forged file.
            if found.noise_bits > result.noise.bits() {
                return Err(super::BgvError::Decrypted.into());
            }
            messages.push(found.messages);
            budget_bits = budget_bits.min(found.budget_bits);
        }
        Ok(Self::Integers { messages, budget_bits })
    }
}
