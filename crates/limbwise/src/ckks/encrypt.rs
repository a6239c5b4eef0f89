//! Encryption, under the public key or the secret one.

use super::{
    ciphertext::{Ciphertext, Plaintext},
    estimate,
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
    Ok(finish(params, plain, vec![c0, c1]))
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
    let _region = dev.region("encrypt", 0);
    let seed = Seed::from_os()?;
    let shape = plain.poly.shape().clone();
    let a = dev.expand_seed(&shape, Role::Ciphertext, &seed.derive("public"));
    let mut c0 = dev.neg(dev.mul(&a, &key.upload(dev, params, shape.basis)));
    dev.add_assign(&mut c0, &small_poly(dev, &shape, gaussian(params, shape.batch, seed.derive("error"))));
    dev.add_assign(&mut c0, &plain.poly);
    dev.scrub();
    let mut ciphertext = finish(params, plain, vec![c0, a]);
    ciphertext.estimate = plain.estimate.encrypted(noise::secret_encryption(params), plain.slots, plain.scale);
    Ok(ciphertext)
}

fn finish<D: Device>(params: &Params, plain: &Plaintext<D>, parts: Vec<D::Poly>) -> Ciphertext<D> {
    let (level, scale, slots) = (plain.level, plain.scale, plain.slots);
    let estimate = estimate::fresh(params, plain.estimate, plain.packing());
    Ciphertext { parts, level, scale, slots, estimate, shadow: plain.shadow.clone() }
}
