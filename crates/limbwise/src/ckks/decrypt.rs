//! Decryption. Exists only under the feature `client`.

use super::{
    ciphertext::Ciphertext,
    encoder::{Decoded, Encoder, Packing},
    estimate::Estimate,
    precision::Precision,
    shadow::Shadow,
};
use crate::{
    error::{DecryptError, Result},
    params::Params,
    rlwe::{SecretKey, encrypt},
};
use limbwise_device::{Device, HostRead};
use limbwise_taint::declassify;
use num_complex::Complex64;

/// `Σ parts[i]·s^i` in coefficient domain: the part of decryption that runs on any device.
pub fn phase<D: Device>(dev: &D, params: &Params, key: &SecretKey, ciphertext: &Ciphertext<D>) -> D::Poly {
    encrypt::phase(dev, params, key, &ciphertext.parts, params.basis(ciphertext.level))
}

/// The slots of every message in the batch, checked against the ciphertext's estimate: no larger than its bound, and
/// real where they should be, up to the expected error.
///
/// A message that overflowed the modulus is smaller than it should be and still real. Its coefficients are anywhere in the
/// modulus, so where the estimate leaves an overflow possible, one that comes near the modulus is refused too. Leave
/// room at level 0: choose first primes that exceed the scale by the size of the values.
///
/// # Errors
/// [`DecryptError`] instead of implausible values; a device fault.
pub fn decrypt<D: HostRead>(
    dev: &D,
    encoder: &Encoder,
    params: &Params,
    key: &SecretKey,
    ciphertext: &Ciphertext<D>,
) -> Result<Vec<Vec<Complex64>>> {
    Ok(decrypt_wide(dev, encoder, params, key, ciphertext)?.0)
}

/// [`decrypt`], and for scales of a wide set what f64 leaves of each slot: the sum of both has about 100 bits. Nothing is
/// left of other scales, and the second list is empty.
///
/// # Errors
/// As [`decrypt`].
pub fn decrypt_wide<D: HostRead>(
    dev: &D,
    encoder: &Encoder,
    params: &Params,
    key: &SecretKey,
    ciphertext: &Ciphertext<D>,
) -> Result<(Slots, Slots)> {
    let Read { messages, rest, full } = slots(dev, encoder, params, key, ciphertext)?;
    plausible(&messages, full, ciphertext.estimate, params.room(ciphertext.level, ciphertext.scale))?;
    Ok((messages, rest))
}

/// The slots of each message.
type Slots = Vec<Vec<Complex64>>;

/// The slots of every message, and what f64 leaves of them.
struct Read {
    messages: Slots,
    rest: Slots,
    /// Whether a coefficient of any comes near the modulus.
    full: bool,
}

/// What is in a ciphertext, unchecked.
fn slots<D: HostRead>(
    dev: &D,
    encoder: &Encoder,
    params: &Params,
    key: &SecretKey,
    ciphertext: &Ciphertext<D>,
) -> Result<Read> {
    read(dev, encoder, &phase(dev, params, key, ciphertext), ciphertext)
}

/// What is in a phase, or in the difference of two, that is packed like a ciphertext.
fn read<D: HostRead>(dev: &D, encoder: &Encoder, phase: &D::Poly, like: &Ciphertext<D>) -> Result<Read> {
    let words = zeroize::Zeroizing::new(dev.download(phase)?);
    dev.scrub();
    let packing = packing(like);
    let size = words.len() / like.batch();
    let mut read = Read { messages: Vec::new(), rest: Vec::new(), full: false };
    for message in words.chunks_exact(size) {
        let Decoded { slots, rest, full } = encoder.decode(message, packing);
        read.messages.push(slots);
        read.full |= full;
        if !rest.is_empty() {
            read.rest.push(rest);
        }
    }
    Ok(read)
}

fn packing<D: Device>(of: &Ciphertext<D>) -> Packing {
    Packing { slots: of.slots, level: of.level, scale: of.scale }
}

/// Tolerance in expected deviations. Gaussian errors of 2^16 slots stay below 5 and estimates are within a bit or two,
/// while wrong results are off by thousands.
const MOST_DEVIATIONS: f64 = 64.0;
/// Share of the largest value that an error may have at most, if it is not that much by its deviations.
pub(super) const MOST_SHARE: f64 = 1.0 / 16.0;

/// The largest error that any slot may have. What a product does to an error is as large as the value beside it: where a few
/// slots hold all that is there, theirs is larger than the mean over all slots by as much as their values are.
pub(super) fn most_error(estimate: &Estimate) -> f64 {
    let usual = MOST_DEVIATIONS * estimate.error();
    let sparse = estimate.peak / estimate.magnitude;
    if sparse.is_finite() { (usual * sparse).min(MOST_SHARE * estimate.peak).max(usual) } else { usual }
}

/// What f64 may make of numbers up to 1 on their way to the slots: 2^9 times its rounding.
const ROUNDING: f64 = f64::EPSILON * 256.0;

/// Fails if the messages contradict their estimate, or have filled a modulus that has room for so much.
fn plausible(messages: &[Vec<Complex64>], full: bool, estimate: Estimate, room: f64) -> Result<()> {
    let error = most_error(&estimate);
    let most = estimate.peak * (1.0 + 1e-9) + error;
    let largest = estimate.peak.min(room);
    let rounding = if largest.is_finite() { largest * ROUNDING } else { 0.0 };
    let imaginary = if estimate.real { error + rounding } else { f64::INFINITY };
    let vouched = estimate.peak < room;
    // NaN fails every bound. All bounds give one error: telling which was broken would leak decrypted values.
    // All are looked at, without branches (a norm by `hypot` has some); the answer alone is public. Both are divided by the
    // bound, so that no square overflows.
    let scale = most.max(f64::MIN_POSITIVE).recip();
    let within = |z: &Complex64| ((z * scale).norm_sqr() <= 1.0) & (z.im.abs() <= imaginary);
    if declassify(messages.iter().flatten().fold(vouched | !full, |all, z| all & within(z))) {
        return Ok(());
    }
    Err(DecryptError::Implausible { most, real: estimate.real, room }.into())
}

/// Bits of room above a message in a comparison: coefficients exceed slots by at most √N, and a wrong value must still
/// be recognizable.
const ROOM_BITS: f64 = 24.0;

/// log₂ of the largest integers that are encoded.
const MOST_ENCODED: f64 = 125.0;

/// The largest absolute value of a shadow.
pub(super) fn largest(shadow: &Shadow) -> f64 {
    shadow.values().iter().flatten().map(|z| z.norm()).fold(0.0, f64::max)
}

/// Compares ciphertexts with their shadows while a program runs, so that the client finds the operation that goes
/// wrong.
pub struct Probe<'a, D: HostRead> {
    /// The device that holds the ciphertexts.
    pub dev: &'a D,
    /// The encoder of their parameter set.
    pub encoder: &'a Encoder,
    /// The parameter set of the ciphertexts.
    pub params: &'a Params,
    /// The secret key.
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

    /// The precision of values of any size, in the middle of a program. Only the primes that the shadow needs are read: a
    /// value that is wrong modulo all primes is wrong modulo these.
    ///
    /// A value beyond its modulus is compared modulo the modulus: sums, products and divisions are right modulo theirs, so a
    /// later sum may bring it back. What reads it, a decryption or a bootstrapping, is where it is wrong.
    ///
    /// # Errors
    /// A device fault.
    pub fn precision_within(&self, ciphertext: &Ciphertext<D>) -> Result<Option<Precision>> {
        let Some(shadow) = &ciphertext.shadow else { return Ok(None) };
        let largest = largest(shadow);
        let needed = (largest.max(1.0) * ciphertext.scale).log2() + ROOM_BITS;
        let own = self.params.basis(ciphertext.level);
        let reads = |&level: &usize| self.params.log_modulus(level) > needed && self.params.basis(level).is_subset(own);
        let level = (0..ciphertext.level).find(reads);
        let level = level.unwrap_or(ciphertext.level);
        let parts = ciphertext.parts.iter().map(|p| self.dev.restrict(p, self.params.basis(level))).collect();
        let low = Ciphertext { level, ..ciphertext.with_parts(parts) };
        if self.fits(&low) || (largest * low.scale).log2() > MOST_ENCODED {
            let got = slots(self.dev, self.encoder, self.params, self.secret, &low)?.messages;
            return Ok(Some(Precision::of(&got.concat(), &shadow.values().concat())));
        }
        let of = |message: usize| shadow.values()[message].clone();
        let basis = self.params.basis(level);
        let clear = self.encoder.coefficients(self.dev, low.batch(), &of, packing(&low), basis);
        let off = self.dev.sub(&phase(self.dev, self.params, self.secret, &low), &clear);
        let off = read(self.dev, self.encoder, &off, &low)?.messages.concat();
        Ok(Some(Precision::of(&off, &vec![Complex64::default(); off.len()])))
    }

    /// Whether the modulus holds the clear values of a ciphertext with a shadow.
    pub(super) fn fits(&self, ciphertext: &Ciphertext<D>) -> bool {
        ciphertext.shadow.as_ref().is_none_or(|shadow| largest(shadow) < self.room(ciphertext))
    }

    /// The largest value that the modulus of a ciphertext holds.
    pub(super) fn room(&self, ciphertext: &Ciphertext<D>) -> f64 {
        self.params.room(ciphertext.level, ciphertext.scale)
    }
}
