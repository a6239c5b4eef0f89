//! Encryption under the public or the secret key: an encryption of zero times t, plus the message.

use super::{
    ciphertext::{Ciphertext, Plaintext},
    noise::{Encryption, NoiseBound},
    params::BgvParams,
};
use crate::{
    error::Result,
    rlwe::{
        PublicKey, SecretKey,
        encrypt::{public_zero, secret_zero},
        operations::times,
    },
};
use limbwise_device::{Device, Handle as _};
use limbwise_math::sampling::Seed;

/// Encrypts a plaintext (each of its batch) under the public key.
///
/// # Errors
/// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness.
pub fn encrypt<D: Device>(
    dev: &D,
    params: &BgvParams,
    key: &PublicKey<D>,
    plain: &Plaintext<D>,
) -> Result<Ciphertext<D>> {
    Ok(encrypt_from(dev, params, key, plain, &Seed::from_os()?))
}

/// [`encrypt`] with all randomness from a seed. Two plaintexts encrypted under one seed reveal their difference.
pub fn encrypt_from<D: Device>(
    dev: &D,
    params: &BgvParams,
    key: &PublicKey<D>,
    plain: &Plaintext<D>,
    seed: &Seed,
) -> Ciphertext<D> {
    let _region = dev.region("encrypt", 0);
    let zero = public_zero(dev, params.rlwe(), key, plain.poly.shape(), seed);
    finish(dev, params, plain, zero, Encryption::Public)
}

/// A ciphertext under the secret key with the seed of its second half: a file stores the seed in place of that half.
pub struct FreshCiphertext<D: Device> {
    /// The ciphertext; its second half is t times the polynomial that the seed expands to.
    pub ciphertext: Ciphertext<D>,
    /// The public seed of the second half.
    pub seed: Seed,
}

/// Encrypts under the secret key, with less noise than [`encrypt`] and half the bytes in a file.
///
/// # Errors
/// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness.
pub fn encrypt_seeded<D: Device>(
    dev: &D,
    params: &BgvParams,
    key: &SecretKey,
    plain: &Plaintext<D>,
) -> Result<FreshCiphertext<D>> {
    Ok(encrypt_seeded_from(dev, params, key, plain, &Seed::from_os()?))
}

/// [`encrypt_seeded`] with all randomness from a seed. Two plaintexts encrypted under one seed reveal their difference.
pub fn encrypt_seeded_from<D: Device>(
    dev: &D,
    params: &BgvParams,
    key: &SecretKey,
    plain: &Plaintext<D>,
    seed: &Seed,
) -> FreshCiphertext<D> {
    let _region = dev.region("encrypt", 0);
    let (zero, seed) = secret_zero(dev, params.rlwe(), key, plain.poly.shape(), seed);
    FreshCiphertext { ciphertext: finish(dev, params, plain, zero, Encryption::Secret), seed }
}

fn finish<D: Device>(
    dev: &D,
    params: &BgvParams,
    plain: &Plaintext<D>,
    zero: [D::Poly; 2],
    encryption: Encryption,
) -> Ciphertext<D> {
    let params = &params.at(plain.modulus);
    let [mut c0, c1] = zero.map(|half| times(dev, half, params.t()));
    dev.add_assign(&mut c0, &plain.poly);
    dev.scrub();
    let (noise, modulus) = (NoiseBound::fresh(params, encryption), plain.modulus);
    Ciphertext { parts: vec![c0, c1], level: plain.level, factor: 1, noise, modulus }
}
