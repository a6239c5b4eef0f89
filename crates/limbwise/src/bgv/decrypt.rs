//! Decryption, exact or refused. Exists only under the feature `client`.

use super::{ciphertext::Ciphertext, encoder::Encoder, error::BgvError, params::BgvParams};
use crate::{
    error::Result,
    rlwe::{SecretKey, encrypt::phase},
};
use limbwise_device::{Device, HostRead};
use limbwise_math::rns::Reconstruction;
use zeroize::Zeroizing;

/// Bits that a phase leaves free below the largest there is, at the least: one that wrapped round the modulus is uniform,
/// and has no coefficient among N beyond half of it once in 2^N.
const LEAST_BUDGET: f64 = 1.0;

/// What a ciphertext holds, and how much noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The slots of each message, from −(t−1)/2 to (t−1)/2: first row, then second.
    pub messages: Vec<Vec<i64>>,
    /// log₂ of the largest coefficient of the phases.
    pub noise_bits: f64,
    /// Bits between that and half the modulus: the noise budget.
    pub budget_bits: f64,
}

/// Decrypts, and measures the noise; whatever comes out. For tests and for looking on: [`decrypt`] refuses what is no
/// message.
///
/// # Errors
/// A device fault.
pub fn read<D: HostRead>(dev: &D, encoder: &Encoder, key: &SecretKey, a: &Ciphertext<D>) -> Result<Reading> {
    let params = encoder.params();
    let (rlwe, n) = (params.rlwe(), params.slots());
    let moduli = rlwe.ring().moduli_of(rlwe.basis(a.level));
    let words = Zeroizing::new(dev.download(&phase(dev, rlwe, key, &a.parts, rlwe.basis(a.level)))?);
    dev.scrub();
    let (crt, t) = (Reconstruction::new(&moduli), params.t());
    let unfactored = t.inv(a.factor);
    let mut largest = 1.0f64;
    let mut residues = vec![0; moduli.len()];
    let mut message = |limbs: &[u64]| {
        let coefficient = |k: usize| {
            for (r, limb) in residues.iter_mut().zip(limbs.chunks_exact(n)) {
                *r = limb[k];
            }
            largest = largest.max(crt.centred_f64(&residues).abs());
            t.mul(crt.centred_modulo(&residues, t), unfactored)
        };
        let coefficients = (0..n).map(coefficient).collect();
        encoder.slots(coefficients).into_iter().map(|slot| t.centred(slot)).collect()
    };
    let messages = words.chunks_exact(n * moduli.len()).map(&mut message).collect();
    let noise_bits = largest.log2();
    Ok(Reading { messages, noise_bits, budget_bits: rlwe.log_modulus(a.level) - 1.0 - noise_bits })
}

/// The phases modulo every prime, in evaluation domain: what products and sums act on value by value, however much noise
/// there is.
///
/// # Errors
/// A device fault.
pub fn phases<D: HostRead>(dev: &D, params: &BgvParams, key: &SecretKey, a: &Ciphertext<D>) -> Result<Vec<u64>> {
    let rlwe = params.rlwe();
    let words = dev.download(&dev.ntt(phase(dev, rlwe, key, &a.parts, rlwe.basis(a.level))))?;
    dev.scrub();
    Ok(words)
}

/// The slots of every message in the batch, exactly.
///
/// # Errors
/// [`BgvError::Noise`] where the ciphertext's own bound does not vouch for it; [`BgvError::Decrypted`] where the phase fills
/// the modulus; a device fault.
pub fn decrypt<D: HostRead>(dev: &D, encoder: &Encoder, key: &SecretKey, a: &Ciphertext<D>) -> Result<Vec<Vec<i64>>> {
    Ok(vouched(dev, encoder, key, a)?.messages)
}

/// [`read`] where bound and phase vouch for what comes out.
pub(super) fn vouched<D: HostRead>(dev: &D, encoder: &Encoder, key: &SecretKey, a: &Ciphertext<D>) -> Result<Reading> {
    fits(encoder.params(), a)?;
    let reading = read(dev, encoder, key, a)?;
    if reading.budget_bits < LEAST_BUDGET { Err(BgvError::Decrypted.into()) } else { Ok(reading) }
}

/// Fails where a ciphertext's own bound does not vouch for it.
fn fits<D: Device>(params: &BgvParams, a: &Ciphertext<D>) -> Result<()> {
    let room = params.rlwe().log_modulus(a.level) - 1.0;
    if a.noise.bits() > room {
        return Err(BgvError::Noise { op: "decrypt", noise: a.noise.bits(), room, level: a.level }.into());
    }
    Ok(())
}
