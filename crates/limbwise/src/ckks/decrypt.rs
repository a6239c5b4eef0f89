//! Decryption. Exists only under the feature `client`.

use super::{
    ciphertext::Ciphertext,
    encoder::{Encoder, Packing},
    estimate::Estimate,
    precision::Precision,
};
use crate::{
    error::{DecryptError, Result},
    params::Params,
    rlwe::{SecretKey, encrypt},
};
use limbwise_device::{Device, HostRead};
use num_complex::Complex64;

/// `Σ parts[i]·s^i` in coefficient domain: the part of decryption that any device can do.
pub fn phase<D: Device>(dev: &D, params: &Params, key: &SecretKey, ciphertext: &Ciphertext<D>) -> D::Poly {
    encrypt::phase(dev, params, key, &ciphertext.parts, params.basis(ciphertext.level))
}

/// The slots of every message in the batch, if they are what the ciphertext promises: no larger than its bound and,
/// where they should be real, without imaginary parts beyond the expected error.
///
/// A message that wrapped round the modulus is smaller than it should be and still real: it is not found here. Leave
/// room for it at level 0: the first primes are larger than the scale by what the values need.
///
/// # Errors
/// [`DecryptError`] instead of numbers that cannot be right; a device fault.
pub fn decrypt<D: HostRead>(
    dev: &D,
    encoder: &Encoder,
    params: &Params,
    key: &SecretKey,
    ciphertext: &Ciphertext<D>,
) -> Result<Vec<Vec<Complex64>>> {
    let messages = slots(dev, encoder, params, key, ciphertext)?;
    plausible(&messages, ciphertext.estimate)?;
    Ok(messages)
}

/// The slots of every message, whatever they are.
fn slots<D: HostRead>(
    dev: &D,
    encoder: &Encoder,
    params: &Params,
    key: &SecretKey,
    ciphertext: &Ciphertext<D>,
) -> Result<Vec<Vec<Complex64>>> {
    let words = zeroize::Zeroizing::new(dev.download(&phase(dev, params, key, ciphertext))?);
    dev.scrub();
    let packing = Packing { slots: ciphertext.slots, level: ciphertext.level, scale: ciphertext.scale };
    let size = words.len() / ciphertext.batch();
    Ok(words.chunks_exact(size).map(|message| encoder.decode(message, packing)).collect())
}

/// How many expected deviations an error may be: Gaussian errors of 2^16 slots stay below 5, estimates are within a
/// bit or two, and what is wrong is wrong by thousands.
pub(super) const MOST_DEVIATIONS: f64 = 64.0;

/// Fails where messages contradict their estimate.
fn plausible(messages: &[Vec<Complex64>], estimate: Estimate) -> Result<()> {
    let error = MOST_DEVIATIONS * estimate.error();
    let most = estimate.peak * (1.0 + 1e-9) + error;
    let imaginary = if estimate.real { error } else { f64::INFINITY };
    // NaN is within no bound. One error for both bounds: which of them was broken tells of the decrypted values.
    let within = |z: &Complex64| z.norm() <= most && z.im.abs() <= imaginary;
    if messages.iter().flatten().all(within) {
        return Ok(());
    }
    Err(DecryptError::Implausible { most, real: estimate.real }.into())
}

/// Bits of room above a message in what a comparison looks at: coefficients are larger than slots by at most √N, and a
/// wrong value should be seen as such.
const ROOM_BITS: f64 = 24.0;

/// Compares ciphertexts with their shadows while a program runs: the client's means to find the operation that goes
/// wrong.
pub struct Probe<'a, D: HostRead> {
    /// The device.
    pub dev: &'a D,
    /// The encoder.
    pub encoder: &'a Encoder,
    /// The parameters.
    pub params: &'a Params,
    /// The key that reads.
    pub secret: &'a SecretKey,
}

impl<D: HostRead> Probe<'_, D> {
    /// Decrypts and compares; `None` without a shadow.
    ///
    /// # Errors
    /// A device fault.
    pub fn precision(&self, ciphertext: &Ciphertext<D>) -> Result<Option<Precision>> {
        let Some(shadow) = &ciphertext.shadow else { return Ok(None) };
        let got = decrypt(self.dev, self.encoder, self.params, self.secret, ciphertext)?;
        Ok(Some(Precision::of(&got.concat(), &shadow.values().concat())))
    }

    /// The same for values that may be anything. Only the primes that the shadow needs are looked at: whatever is wrong
    /// modulo all of them is wrong modulo these.
    ///
    /// # Errors
    /// A device fault.
    pub(super) fn compared(&self, ciphertext: &Ciphertext<D>) -> Result<Option<Precision>> {
        let Some(shadow) = &ciphertext.shadow else { return Ok(None) };
        let largest = shadow.values().iter().flatten().map(|z| z.norm()).fold(1.0, f64::max);
        let needed = (largest * ciphertext.scale).log2() + ROOM_BITS;
        let level = (0..ciphertext.level).find(|&level| self.params.log_modulus(level) > needed);
        let level = level.unwrap_or(ciphertext.level);
        let parts = ciphertext.parts.iter().map(|p| self.dev.restrict(p, self.params.basis(level))).collect();
        let low = Ciphertext { level, ..ciphertext.with_parts(parts) };
        let got = slots(self.dev, self.encoder, self.params, self.secret, &low)?;
        Ok(Some(Precision::of(&got.concat(), &shadow.values().concat())))
    }
}
