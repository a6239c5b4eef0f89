//! Encryption, under the public key or the secret one.

use super::{
    ciphertext::{Ciphertext, Plaintext},
    estimate::{self, Estimate},
};
use crate::{
    error::Result,
    params::Params,
    rlwe::{
        PublicKey, SecretKey, noise,
        secret::{gaussian, small_poly},
    },
};
use limbwise_device::{Device, Handle, Role};
use limbwise_math::sampling::{Seed, Stream};
use zeroize::Zeroizing;

/// Encrypts a plaintext (each of its batch) under the public key: `(v·b + e₀ + m, v·a + e₁)`.
///
/// # Errors
/// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness.
pub fn encrypt<D: Device>(dev: &D, params: &Params, key: &PublicKey<D>, plain: &Plaintext<D>) -> Result<Ciphertext<D>> {
    let _region = dev.region("encrypt", 0);
    let seed = Seed::from_os()?;
    let shape = plain.poly.shape().clone();
    let ternary = seed.derive("v");
    let words = shape.batch * shape.ring.n();
    let v = small_poly(dev, &shape, move || {
        let mut v = Zeroizing::new(vec![0; words]);
        Stream::new(&ternary, b"limbwise encryption").ternary(&mut v);
        v
    });
    let half = |index: usize| {
        let mut c = dev.mul(&v, &dev.restrict(&key.parts[index], shape.basis));
        let error = gaussian(params, shape.batch, seed.derive(&format!("error {index}")));
        dev.add_assign(&mut c, &small_poly(dev, &shape, error));
        c
    };
    let (mut c0, c1) = (half(0), half(1));
    dev.add_assign(&mut c0, &plain.poly);
    drop(v);
    dev.scrub();
    let estimate = estimate::fresh(params, plain.estimate, plain.packing());
    Ok(finish(plain, estimate, vec![c0, c1], &seed))
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
    let _region = dev.region("encrypt", 0);
    let seed = Seed::from_os()?;
    let shape = plain.poly.shape().clone();
    let public = seed.derive("public");
    let a = dev.expand_seed(&shape, Role::Ciphertext, &public);
    let mut c0 = dev.neg(dev.mul(&a, &key.upload(dev, params, shape.basis)));
    dev.add_assign(&mut c0, &small_poly(dev, &shape, gaussian(params, shape.batch, seed.derive("error"))));
    dev.add_assign(&mut c0, &plain.poly);
    dev.scrub();
    let estimate = plain.estimate.encrypted(noise::secret_encryption(params), plain.slots, plain.scale);
    Ok(FreshCiphertext { ciphertext: finish(plain, estimate, vec![c0, a], &seed), seed: public })
}

/// Its estimate has the encryption's public name, and remembers that it was measured from the values.
fn finish<D: Device>(plain: &Plaintext<D>, estimate: Estimate, parts: Vec<D::Poly>, seed: &Seed) -> Ciphertext<D> {
    let (level, scale, slots) = (plain.level, plain.scale, plain.slots);
    let name = Stream::new(&seed.derive("name"), b"limbwise encryption").next_word();
    let estimate = estimate.named(name).measured();
    Ciphertext { parts, level, scale, slots, estimate, shadow: plain.shadow.clone() }
}
