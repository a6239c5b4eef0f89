//! Encryption, under the public key or the secret one.

use super::{
    ciphertext::{Ciphertext, Plaintext},
    estimate::{self, Estimate},
};
use crate::{
    error::Result,
    params::Params,
    rlwe::{
        PublicKey, SecretKey,
        encrypt::{public_zero, secret_zero},
        noise,
    },
};
use limbwise_device::{Device, Handle};
use limbwise_math::sampling::{Seed, Stream};

/// Encrypts a plaintext (each of its batch) under the public key: `(v·b + e₀ + m, v·a + e₁)`.
///
/// # Errors
/// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness.
pub fn encrypt<D: Device>(dev: &D, params: &Params, key: &PublicKey<D>, plain: &Plaintext<D>) -> Result<Ciphertext<D>> {
    Ok(encrypt_from(dev, params, key, plain, &Seed::from_os()?))
}

/// [`encrypt`] with all randomness from a seed. Two plaintexts under one seed betray their difference.
pub fn encrypt_from<D: Device>(
    dev: &D,
    params: &Params,
    key: &PublicKey<D>,
    plain: &Plaintext<D>,
    seed: &Seed,
) -> Ciphertext<D> {
    let _region = dev.region("encrypt", 0);
    let shape = plain.poly.shape().clone();
    let [mut c0, c1] = public_zero(dev, params, key, &shape, seed);
    dev.add_assign(&mut c0, &plain.poly);
    dev.scrub();
    let estimate = estimate::fresh(params, plain.estimate, plain.packing(), name(seed));
    finish(plain, estimate, vec![c0, c1])
}

/// A ciphertext under the secret key with what its second half was grown from: a file keeps only this.
pub struct FreshCiphertext<D: Device> {
    /// It.
    pub ciphertext: Ciphertext<D>,
    /// The seed of its second half. Public.
    pub seed: Seed,
}

/// Encrypts under the secret key: `(−a·s + e + m, a)`, with less noise.
///
/// # Errors
/// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness.
pub fn encrypt_secret<D: Device>(
    dev: &D,
    params: &Params,
    key: &SecretKey,
    plain: &Plaintext<D>,
) -> Result<Ciphertext<D>> {
    Ok(encrypt_seeded(dev, params, key, plain)?.ciphertext)
}

/// [`encrypt_secret`], with the seed of its second half: for files, which are half the size by that.
///
/// # Errors
/// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness.
pub fn encrypt_seeded<D: Device>(
    dev: &D,
    params: &Params,
    key: &SecretKey,
    plain: &Plaintext<D>,
) -> Result<FreshCiphertext<D>> {
    Ok(encrypt_seeded_from(dev, params, key, plain, &Seed::from_os()?))
}

/// [`encrypt_seeded`] with all randomness from a seed. Two plaintexts under one seed betray their difference.
pub fn encrypt_seeded_from<D: Device>(
    dev: &D,
    params: &Params,
    key: &SecretKey,
    plain: &Plaintext<D>,
    seed: &Seed,
) -> FreshCiphertext<D> {
    let _region = dev.region("encrypt", 0);
    let shape = plain.poly.shape().clone();
    let ([mut c0, a], public) = secret_zero(dev, params, key, &shape, seed);
    dev.add_assign(&mut c0, &plain.poly);
    dev.scrub();
    let noise = noise::secret_encryption(params);
    let estimate = plain.estimate.encrypted(noise, (plain.slots, plain.scale), name(seed));
    FreshCiphertext { ciphertext: finish(plain, estimate, vec![c0, a]), seed: public }
}

/// What the errors of an encryption are followed by, by whoever reads it: it says nothing about its seed.
fn name(seed: &Seed) -> u64 {
    Stream::new(&seed.derive("name"), b"limbwise encryption").next_word()
}

/// Its estimate remembers that it was measured from the values.
fn finish<D: Device>(plain: &Plaintext<D>, estimate: Estimate, parts: Vec<D::Poly>) -> Ciphertext<D> {
    let (level, scale, slots) = (plain.level, plain.scale, plain.slots);
    let estimate = estimate.measured();
    Ciphertext { parts, level, scale, slots, estimate, shadow: plain.shadow.clone() }
}
