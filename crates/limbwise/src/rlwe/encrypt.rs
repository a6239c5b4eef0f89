//! Encryptions of zero, to which every scheme adds its message, and the phase that decryption reads. Exists only under
//! the feature `client`.

use super::{
    key::PublicKey,
    secret::{Errors, SecretKey, entry_stream, small_coefficients, small_poly},
};
use crate::params::Params;
use limbwise_device::{Basis, Device, Domain, Handle, Role, RowAt, Shape, expand_row};
use limbwise_math::sampling::Seed;
use limbwise_taint::declassify;
use zeroize::Zeroizing;

/// `(v·b + e₀, v·a + e₁)` for each entry of a batch, all randomness from a seed; v ternary.
pub(crate) fn public_zero<D: Device>(
    dev: &D,
    params: &Params,
    key: &PublicKey<D>,
    shape: &Shape,
    seed: &Seed,
) -> [D::Poly; 2] {
    let ternary = seed.derive("v");
    let v = small_poly(dev, shape, |entry| {
        let mut v = Zeroizing::new(vec![0; shape.ring.n()]);
        entry_stream(&ternary, b"limbwise encryption", entry).ternary(&mut v);
        v
    });
    [0, 1].map(|index| {
        let mut c = dev.mul(&v, &dev.restrict(&key.parts[index], shape.basis));
        let errors = Errors::new(params, seed.derive(&format!("error {index}")));
        dev.add_assign(&mut c, &small_poly(dev, shape, |entry| errors.entry(entry)));
        c
    })
}

/// `(−a·s + e, a)` for each entry of a batch, all randomness from a seed, and the public seed that expands to a.
pub(crate) fn secret_zero<D: Device>(
    dev: &D,
    params: &Params,
    key: &SecretKey,
    shape: &Shape,
    seed: &Seed,
) -> ([D::Poly; 2], Seed) {
    let public = declassify(seed.derive("public")); // stands in the file in the place of a
    let a = dev.expand_seed(shape, Role::Ciphertext, &public);
    let mut c0 = dev.neg(dev.mul(&a, &key.upload(dev, params, shape.basis)));
    let errors = Errors::new(params, seed.derive("error"));
    dev.add_assign(&mut c0, &small_poly(dev, shape, |entry| errors.entry(entry)));
    ([c0, a], public)
}

/// Encryptions under the secret key, piece by piece: a large batch in little memory, with the words that [`secret_zero`] and
/// its message have.
pub(crate) struct Pieces<'a, D: Device> {
    dev: &'a D,
    /// −s; `None` only during drop.
    negated: Option<D::Poly>,
    errors: Errors,
    public: Seed,
    done: usize,
}

impl<'a, D: Device> Pieces<'a, D> {
    pub(crate) fn new(dev: &'a D, params: &Params, key: &SecretKey, basis: Basis, seed: &Seed) -> Self {
        let errors = Errors::new(params, seed.derive("error"));
        let public = declassify(seed.derive("public")); // stands in the file in the place of a
        let negated = Some(dev.neg(key.upload(dev, params, basis)));
        Self { dev, negated, errors, public, done: 0 }
    }

    /// The public seed of the second halves.
    pub(crate) fn public(&self) -> &Seed {
        &self.public
    }

    /// `−a·s + e + m` for the next entries of the batch, whose messages m are given in coefficient domain: errors and messages
    /// are transformed together.
    pub(crate) fn next(&mut self, mut messages: D::Poly) -> D::Poly {
        let (dev, first) = (self.dev, self.done);
        let coeff = messages.shape().clone();
        self.done += coeff.batch;
        let shape = coeff.with_domain(Domain::Eval);
        let public = &self.public;
        let a = dev.upload(&shape, Role::Ciphertext, &|at, row| {
            expand_row(public, RowAt { batch: first + at.batch, ..at }, row);
        });
        dev.add_assign(&mut messages, &small_coefficients(dev, &coeff, |entry| self.errors.entry(first + entry)));
        let mut c0 = dev.mul(&a, self.negated.as_ref().expect("held while pieces are made"));
        dev.add_assign(&mut c0, &dev.ntt(messages));
        c0
    }
}

/// What secrets and messages stood in is overwritten once, and not after each piece: the next takes the same memory.
impl<D: Device> Drop for Pieces<'_, D> {
    fn drop(&mut self) {
        self.negated = None;
        self.dev.scrub();
    }
}

/// `Σ parts[i]·s^i` in coefficient domain: the part of decryption that runs on any device.
pub(crate) fn phase<D: Device>(dev: &D, params: &Params, key: &SecretKey, parts: &[D::Poly], basis: Basis) -> D::Poly {
    let _region = dev.region("decrypt", 0);
    let secret = key.upload(dev, params, basis);
    // Horner in s, from the highest part down.
    let mut parts = parts.iter().rev();
    let mut sum = parts.next().map_or_else(|| secret.clone(), Clone::clone);
    for part in parts {
        sum = dev.add(&dev.mul(&sum, &secret), part);
    }
    dev.intt(sum)
}
