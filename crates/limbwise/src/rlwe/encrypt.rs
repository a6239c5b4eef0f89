//! Encryptions of zero, to which every scheme adds its message, and the phase that decryption reads. Exists only under
//! the feature `client`.

use super::{
    key::PublicKey,
    secret::{ERRORS, SecretKey, gaussian, small_poly},
};
use crate::params::Params;
use limbwise_device::{Basis, Device, Role, RowAt, Shape, expand_row};
use limbwise_math::sampling::{GaussianTable, Seed, Stream};
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
    let words = shape.batch * shape.ring.n();
    let v = small_poly(dev, shape, move || {
        let mut v = Zeroizing::new(vec![0; words]);
        Stream::new(&ternary, b"limbwise encryption").ternary(&mut v);
        v
    });
    [0, 1].map(|index| {
        let mut c = dev.mul(&v, &dev.restrict(&key.parts[index], shape.basis));
        let error = gaussian(params, shape.batch, seed.derive(&format!("error {index}")));
        dev.add_assign(&mut c, &small_poly(dev, shape, error));
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
    dev.add_assign(&mut c0, &small_poly(dev, shape, gaussian(params, shape.batch, seed.derive("error"))));
    ([c0, a], public)
}

/// The first halves of [`secret_zero`], piece by piece: a large batch in little memory, with the same words.
pub(crate) struct ZeroPieces<'a, D: Device> {
    dev: &'a D,
    secret: D::Poly,
    table: GaussianTable,
    errors: Stream,
    public: Seed,
    done: usize,
}

impl<'a, D: Device> ZeroPieces<'a, D> {
    pub(crate) fn new(dev: &'a D, params: &Params, key: &SecretKey, basis: Basis, seed: &Seed) -> Self {
        let errors = Stream::new(&seed.derive("error"), ERRORS);
        let table = GaussianTable::new(params.literal().sigma);
        let public = declassify(seed.derive("public")); // stands in the file in the place of a
        Self { dev, secret: key.upload(dev, params, basis), table, errors, public, done: 0 }
    }

    /// The public seed of the second halves.
    pub(crate) fn public(&self) -> &Seed {
        &self.public
    }

    /// `−a·s + e` for the next entries of the batch.
    pub(crate) fn next(&mut self, shape: &Shape) -> D::Poly {
        let (dev, first, n) = (self.dev, self.done, shape.ring.n());
        self.done += shape.batch;
        let public = &self.public;
        let a = dev.upload(shape, Role::Ciphertext, &|at, row| {
            expand_row(public, RowAt { batch: first + at.batch, ..at }, row);
        });
        let mut errors = Zeroizing::new(vec![0; shape.batch * n]);
        self.errors.gaussian(&self.table, &mut errors);
        let mut c0 = dev.neg(dev.mul(&a, &self.secret));
        dev.add_assign(&mut c0, &small_poly(dev, shape, || errors));
        c0
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
