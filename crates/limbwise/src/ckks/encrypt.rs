//! Encryption under the public or the secret key.

use super::{
    Encoder, Packing,
    ciphertext::{Ciphertext, Plaintext},
    estimate::{self, Estimate},
};
use crate::{
    error::Result,
    params::Params,
    rlwe::{
        PublicKey, SecretKey,
        encrypt::{Pieces, public_zero, secret_zero},
        noise,
    },
};
use limbwise_device::{Device, Handle, Shape};
use limbwise_math::sampling::{Seed, Stream};
use limbwise_taint::declassify;
use num_complex::Complex64;

/// Encrypts a plaintext (each of its batch) under the public key: `(v·b + e₀ + m, v·a + e₁)`.
///
/// # Errors
/// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness.
pub fn encrypt<D: Device>(dev: &D, params: &Params, key: &PublicKey<D>, plain: &Plaintext<D>) -> Result<Ciphertext<D>> {
    Ok(encrypt_from(dev, params, key, plain, &Seed::from_os()?))
}

/// [`encrypt`] with all randomness from a seed. Two plaintexts encrypted under one seed reveal their difference.
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

/// A ciphertext under the secret key with the seed of its second half: a file stores the seed in place of that half.
pub struct FreshCiphertext<D: Device> {
    /// The ciphertext; its second half is the polynomial that the seed expands to.
    pub ciphertext: Ciphertext<D>,
    /// The public seed of the second half.
    pub seed: Seed,
}

/// Encrypts under the secret key: `(−a·s + e + m, a)`. Less noise than [`encrypt`].
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

/// [`encrypt_secret`] with the seed of the second half, which halves the size of a file.
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

/// [`encrypt_seeded`] with all randomness from a seed. Two plaintexts encrypted under one seed reveal their difference.
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
    let estimate = plain.estimate.encrypted(noise, plain.slots, plain.scale, name(seed));
    FreshCiphertext { ciphertext: finish(plain, estimate, vec![c0, a]), seed: public }
}

/// Bytes of polynomials that are encrypted at a time: enough for all threads, and little beside the file's.
const PIECE_BYTES: u64 = 32 << 20;

/// [`encrypt_seeded_from`] piece by piece: a large batch in little memory, with the same words. A ciphertext without
/// polynomials and the seed of the second half come first, then `each` gets the first half of some entries at a time.
///
/// # Errors
/// Values that cannot be encoded; those of `begin` and `each`.
pub(crate) fn encrypt_in_pieces<D: Device, T>(
    (dev, encoder): (&D, &Encoder),
    key: &SecretKey,
    (values, packing): (&[Vec<Complex64>], Packing),
    seed: &Seed,
    begin: impl FnOnce(Ciphertext<D>, &Seed) -> Result<T>,
    each: impl Fn(&mut T, &D::Poly) -> Result<()>,
) -> Result<T> {
    let _region = dev.region("encrypt", 0);
    let params = encoder.params();
    let Packing { slots, level, scale } = packing;
    let fresh = encoder.estimate(values, packing)?;
    let estimate = fresh.encrypted(noise::secret_encryption(params), slots, scale, name(seed)).measured();
    let basis = params.basis(level);
    let mut pieces = Pieces::new(dev, params, key, basis, seed);
    let header = Ciphertext { parts: Vec::new(), level, scale, slots, estimate, shadow: None };
    let mut out = begin(header, pieces.public())?;
    let entry = Shape::eval(params.ring(), basis).bytes();
    let entries = usize::try_from(PIECE_BYTES / entry).unwrap_or(1).max(1);
    for some in values.chunks(entries) {
        let messages = encoder.coefficients(dev, some.len(), &|at| some[at].clone(), packing, basis);
        each(&mut out, &pieces.next(messages))?;
    }
    Ok(out)
}

/// The name under which an encryption's errors are tracked: a hash that reveals nothing about the seed.
fn name(seed: &Seed) -> u64 {
    declassify(Stream::new(&seed.derive("name"), b"limbwise encryption").next_word())
}

/// Assembles a ciphertext; its estimate stays marked as measured from the values.
fn finish<D: Device>(plain: &Plaintext<D>, estimate: Estimate, parts: Vec<D::Poly>) -> Ciphertext<D> {
    let (level, scale, slots) = (plain.level, plain.scale, plain.slots);
    let estimate = estimate.measured();
    Ciphertext { parts, level, scale, slots, estimate, shadow: plain.shadow.clone() }
}
