//! Decryption, exact or refused. Exists only under the feature `client`.

use super::{ciphertext::Ciphertext, encoder::Encoder, error::BgvError, params::BgvParams};
use crate::{
    error::Result,
    rlwe::{SecretKey, encrypt::phase},
};
use limbwise_device::{Device, HostRead};
use limbwise_math::rns::Reconstruction;
use limbwise_taint::declassify;
use zeroize::Zeroizing;

/// Smallest budget in bits that a decryption accepts. A phase that overflowed the modulus is uniform: all of its N
/// coefficients stay below half of the modulus's half with probability 2^−N.
const LEAST_BUDGET: f64 = 1.0;

/// A decrypted ciphertext with its measured noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The slots of each message, from −(t−1)/2 to (t−1)/2: first row, then second.
    pub messages: Vec<Vec<i64>>,
    /// log₂ of the largest coefficient of the phases.
    pub noise_bits: f64,
    /// Noise budget: log₂ of half the modulus less `noise_bits`.
    pub budget_bits: f64,
}

/// Decrypts and measures the noise without judging either: for tests and diagnosis. [`decrypt`] refuses results that
/// are not messages.
///
/// # Errors
/// A device fault.
pub fn read<D: HostRead>(dev: &D, encoder: &Encoder, key: &SecretKey, a: &Ciphertext<D>) -> Result<Reading> {
    let encoder = &encoder.at(a.modulus);
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
            largest = largest.max(crt.centered_f64(&residues).abs());
            t.mul(crt.centered_modulo(&residues, t), unfactored)
        };
        let coefficients = (0..n).map(coefficient).collect();
        encoder.slots(coefficients).into_iter().map(|slot| t.centered(slot)).collect()
    };
    let messages = words.chunks_exact(n * moduli.len()).map(&mut message).collect();
    // The measured noise is a part of what is read, and decides whether it is refused.
    let noise_bits = declassify(largest).log2();
    Ok(Reading { messages, noise_bits, budget_bits: rlwe.log_modulus(a.level) - 1.0 - noise_bits })
}

/// The phases modulo every prime, in evaluation domain. Products and sums act on them value by value, whatever the
/// noise.
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
/// [`BgvError::Noise`] if the ciphertext's noise bound exceeds the modulus; [`BgvError::Decrypted`] if the phase fills
/// the modulus; a device fault.
pub fn decrypt<D: HostRead>(dev: &D, encoder: &Encoder, key: &SecretKey, a: &Ciphertext<D>) -> Result<Vec<Vec<i64>>> {
    Ok(decrypt_checked(dev, encoder, key, a)?.messages)
}

/// [`read`], refused unless the noise bound and the measured phase both fit.
pub(super) fn decrypt_checked<D: HostRead>(
    dev: &D,
    encoder: &Encoder,
    key: &SecretKey,
    a: &Ciphertext<D>,
) -> Result<Reading> {
    fits(encoder.params(), a)?;
    let reading = read(dev, encoder, key, a)?;
    if reading.budget_bits < LEAST_BUDGET { Err(BgvError::Decrypted.into()) } else { Ok(reading) }
}

/// Fails unless the ciphertext's noise bound fits its modulus.
fn fits<D: Device>(params: &BgvParams, a: &Ciphertext<D>) -> Result<()> {
    let room = params.rlwe().log_modulus(a.level) - 1.0;
    if a.noise.bits() > room {
        return Err(BgvError::Noise { op: "decrypt", noise: a.noise.bits(), room, level: a.level }.into());
    }
    Ok(())
}
