//! Secret keys and the generation of public keys. Exists only under the feature `client`.

use super::{
    key::{EvaluationKey, KeyForm, KeyName, KeyPair, PublicKey, UniformHalf, with_special},
    store::{KeyPlan, KeySet},
};
use crate::{
    bridge::BridgeError,
    error::{KeyError, LevelError, Result},
    params::{Params, Secret},
    tfhe::ClientKey,
    wire::params::{Fingerprint, fingerprint},
};
use limbwise_device::{Basis, Device, Domain, Role, Shape};
use limbwise_math::{
    modulus::Modulus,
    sampling::{GaussianTable, Seed, Stream},
};
use limbwise_taint::declassify;
use std::sync::{LazyLock, OnceLock};
use zeroize::{Zeroize as _, Zeroizing};

/// Draws the coefficients on first use.
type Draw = Box<dyn FnOnce() -> Zeroizing<Vec<i64>> + Send + Sync>;

/// A secret key: small coefficients on the host, wiped on drop. Devices hold it only during an operation that needs it.
pub struct SecretKey {
    coefficients: LazyLock<Zeroizing<Vec<i64>>, Draw>,
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

impl SecretKey {
    /// A key from the parameters' distribution, drawn when a device first asks for its words; a recorder never asks.
    #[must_use]
    pub fn generate(params: &Params, seed: &Seed) -> Self {
        Self::of(params.literal().secret, params, seed)
    }

    /// A key from the given distribution.
    fn of(secret: Secret, params: &Params, seed: &Seed) -> Self {
        let (n, seed) = (params.ring().n(), seed.clone());
        let draw = move || {
            let mut coefficients = Zeroizing::new(vec![0; n]);
            let mut stream = Stream::new(&seed, b"limbwise secret key");
            match secret {
                Secret::Ternary => stream.ternary(&mut coefficients),
                Secret::FixedWeight(h) => stream.fixed_weight(h, &mut coefficients),
            }
            coefficients
        };
        Self { coefficients: LazyLock::new(Box::new(draw)) }
    }

    /// A key from another library: N coefficients in {−1, 0, 1}. `None` for any other coefficient.
    #[must_use]
    pub fn from_coefficients(params: &Params, coefficients: Zeroizing<Vec<i64>>) -> Option<Self> {
        // All are looked at, and the answer is public: whoever calls learns it.
        let small = declassify(coefficients.iter().fold(true, |small, c| small & (c.abs() <= 1)));
        let fits = small && coefficients.len() == params.ring().n();
        fits.then(|| Self { coefficients: LazyLock::new(Box::new(move || coefficients)) })
    }

    /// The public name of the key set: the BLAKE3 hash, in derivation mode, of the parameters' fingerprint and the
    /// coefficients. Files carry it, which separates two key sets under the same parameters.
    ///
    /// It reveals no more about the key than the public key does. The security check passes no distribution whose keys
    /// can be guessed, and testing a guess costs a hash here as it costs a product there (ADR 120).
    #[must_use]
    pub fn identity(&self, params: &Params) -> Fingerprint {
        let bytes: Zeroizing<Vec<u8>> = Zeroizing::new(self.coefficients.iter().map(|c| c.to_le_bytes()[0]).collect());
        let mut hasher = blake3::Hasher::new_derive_key("limbwise 2026-11-22 identity of a CKKS or BGV key set");
        let hash = hasher.update(&fingerprint(params).0).update(&bytes).finalize();
        hasher.zeroize();
        Fingerprint(declassify(*hash.as_bytes())) // stands in every file of the key set
    }

    /// The N coefficients in {−1, 0, 1}.
    pub(crate) fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// The key on a device, evaluation domain.
    pub(crate) fn upload<D: Device>(&self, dev: &D, params: &Params, basis: Basis) -> D::Poly {
        let shape = Shape::eval(params.ring(), basis).with_domain(Domain::Coeff);
        dev.ntt(dev.upload(&shape, Role::Temporary, &|at, row| residues(at.modulus, &self.coefficients, row)))
    }
}

fn residues(q: Modulus, small: &[i64], row: &mut [u64]) {
    for (x, &c) in row.iter_mut().zip(small) {
        *x = q.from_i64(c);
    }
}

/// A polynomial of small coefficients in evaluation domain, drawn as [`small_coefficients`] are.
pub(crate) fn small_poly<D: Device>(
    dev: &D,
    shape: &Shape,
    draw: impl Fn(usize) -> Zeroizing<Vec<i64>> + Sync,
) -> D::Poly {
    dev.ntt(small_coefficients(dev, &shape.with_domain(Domain::Coeff), draw))
}

/// A polynomial of small coefficients. Each entry of the batch is drawn when (and if) the device asks for its words, on the
/// thread that asks.
pub(crate) fn small_coefficients<D: Device>(
    dev: &D,
    shape: &Shape,
    draw: impl Fn(usize) -> Zeroizing<Vec<i64>> + Sync,
) -> D::Poly {
    let drawn: Vec<OnceLock<Zeroizing<Vec<i64>>>> = (0..shape.batch).map(|_| OnceLock::new()).collect();
    dev.upload(shape, Role::Temporary, &|at, row| {
        residues(at.modulus, drawn[at.batch].get_or_init(|| draw(at.batch)), row);
    })
}

/// Gaussian errors of a batch. Each entry has a stream of its own, so that threads draw entries side by side, and a batch in
/// pieces has the errors of the whole.
pub(crate) struct Errors {
    seed: Seed,
    table: GaussianTable,
    n: usize,
}

impl Errors {
    pub(crate) fn new(params: &Params, seed: Seed) -> Self {
        Self { seed, table: GaussianTable::new(params.literal().sigma), n: params.ring().n() }
    }

    /// Those of an entry.
    pub(crate) fn entry(&self, entry: usize) -> Zeroizing<Vec<i64>> {
        let mut errors = Zeroizing::new(vec![0; self.n]);
        entry_stream(&self.seed, b"limbwise errors", entry).gaussian(&self.table, &mut errors);
        errors
    }
}

/// The stream of one entry of a batch.
pub(crate) fn entry_stream(seed: &Seed, name: &[u8], entry: usize) -> Stream {
    Stream::new(seed, &[name, &(entry as u64).to_le_bytes()].concat())
}

/// Generates public keys from a secret key.
pub struct KeyGenerator<'a, D: Device> {
    dev: &'a D,
    params: &'a Params,
    /// `None` only during drop.
    secret: Option<D::Poly>,
    /// The big LWE key of a TFHE client as a polynomial, at level 0 and the special primes used there.
    lwe: Option<LweSecret<D::Poly>>,
    /// Private randomness; its label "public" seeds everything published.
    seed: Seed,
}

/// A TFHE client's big LWE key as a polynomial, with its client.
struct LweSecret<P> {
    poly: P,
    /// Identifies the client and its parameters in labels of randomness.
    label: String,
}

impl<'a, D: Device> KeyGenerator<'a, D> {
    /// A generator that holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness.
    pub fn new(dev: &'a D, params: &'a Params, secret: &SecretKey) -> Result<Self> {
        Ok(Self::from_seed(dev, params, secret, Seed::from_os()?))
    }

    /// [`Self::new`] with all randomness from a seed. The seed must be private and must not be used with another secret
    /// key.
    #[must_use]
    pub fn from_seed(dev: &'a D, params: &'a Params, secret: &SecretKey, seed: Seed) -> Self {
        let uploaded = secret.upload(dev, params, params.ring().full());
        Self { dev, params, secret: Some(uploaded), lwe: None, seed }
    }

    /// Adds the big LWE key of a TFHE client, from which [`KeyName::FromLwe`] switches.
    ///
    /// # Errors
    /// [`BridgeError::Dimension`] if that key is longer than the ring degree.
    pub fn with_lwe(mut self, client: &ClientKey) -> Result<Self> {
        let (bits, n) = (client.big_bits(), self.params.ring().n());
        if bits.len() > n {
            return Err(BridgeError::Dimension { dimension: bits.len(), n }.into());
        }
        let basis = self.params.basis(0) | self.params.encapsulation_special();
        let padded = |_| {
            let mut padded = Zeroizing::new(vec![0; n]);
            padded[..bits.len()].copy_from_slice(bits);
            padded
        };
        let poly = small_poly(self.dev, &Shape::eval(self.params.ring(), basis), padded);
        let label = format!("of client {} with {} bits", client.tag(), bits.len());
        self.lwe = Some(LweSecret { poly, label });
        Ok(self)
    }

    /// The limbs of the secret in a basis.
    fn secret(&self, basis: Basis) -> D::Poly {
        self.dev.restrict(self.secret.as_ref().expect("held while the generator lives"), basis)
    }

    /// The public encryption key.
    #[must_use]
    pub fn public_key(&self) -> PublicKey<D> {
        let shape = Shape::eval(self.params.ring(), self.params.reached(self.params.top_level()));
        let (b, a, seed) = self.encryption_of_zero(&self.secret(shape.basis), &shape, "public key");
        PublicKey { parts: [b, a], seed: Some(seed) }
    }

    /// The ephemeral secret of bootstrapping in a basis, shared by both of its keys; `wanted` names the key in errors.
    fn ephemeral(&self, wanted: KeyName, basis: Basis) -> Result<D::Poly> {
        let next = "choose a preset that bootstraps with one (limbwise params show lists them as boot-*)";
        let weight = self.params.bootstrapping().and_then(|boot| boot.literal.ephemeral_weight);
        let weight = weight.ok_or(KeyError::NoSecret { wanted, secret: "an ephemeral secret", next })?;
        let secret = SecretKey::of(Secret::FixedWeight(weight), self.params, &self.seed.derive("ephemeral"));
        Ok(secret.upload(self.dev, self.params, basis))
    }

    /// The big LWE key of a TFHE client in a basis.
    fn lwe(&self, wanted: KeyName, basis: Basis) -> Result<D::Poly> {
        let next = "give it the client key first (KeyGenerator::with_lwe)";
        let lwe = self.lwe.as_ref().ok_or(KeyError::NoSecret { wanted, secret: "the key of a TFHE client", next })?;
        Ok(self.dev.restrict(&lwe.poly, basis))
    }

    /// `−a·s + e` and a over a basis, and the publishable seed of a.
    fn encryption_of_zero(&self, secret: &D::Poly, shape: &Shape, label: &str) -> (D::Poly, D::Poly, Seed) {
        let dev = self.dev;
        let seed = declassify(self.seed.derive("public").derive(label)); // stands in the key in the place of a
        let a = dev.expand_seed(shape, Role::Temporary, &seed);
        let mut b = dev.neg(dev.mul(&a, secret));
        let errors = Errors::new(self.params, self.seed.derive(&format!("error of {label}")));
        dev.add_assign(&mut b, &small_poly(dev, shape, |entry| errors.entry(entry)));
        (b, a, seed)
    }

    /// The label of a key's randomness. A key from LWE is labeled with its client: a generator may serve several, and
    /// two keys with the same randomness would reveal the difference of what they encrypt.
    fn label(&self, name: KeyName) -> String {
        match (&self.lwe, name) {
            (Some(lwe), KeyName::FromLwe) => format!("{} {}", name.label(), lwe.label),
            _ => name.label(),
        }
    }

    /// Generates one evaluation key for ciphertexts up to `level`.
    ///
    /// # Errors
    /// [`KeyError::NoSecret`] for [`KeyName::FromLwe`] before [`Self::with_lwe`], and for keys of an ephemeral secret
    /// that the parameters lack; [`LevelError::Above`] for a level outside the name's range.
    pub fn evaluation_key(&self, name: KeyName, level: usize, form: KeyForm) -> Result<EvaluationKey<D>> {
        let (dev, params) = (self.dev, self.params);
        match name.highest_level(params) {
            None => return Err(KeyError::NoLowLevels(name).into()),
            Some(highest) if level > highest => {
                return Err(LevelError::Above { op: "evaluation_key", wanted: level, level: highest }.into());
            }
            Some(_) => {}
        }
        let _region = dev.region("evaluation_key", name.id().0);
        let (digits, special) = name.held(params, level);
        let basis = with_special(&digits, special);
        // The secret to switch from, and the secret to switch to.
        let (other, secret) = match name {
            KeyName::Relinearization | KeyName::LowRelinearization => {
                let secret = self.secret(basis);
                (dev.mul(&secret, &secret), secret)
            }
            KeyName::Galois(g) | KeyName::LowGalois(g) | KeyName::Packing(g) => {
                (dev.automorphism(&self.secret(basis), g), self.secret(basis))
            }
            KeyName::Encapsulation => (self.secret(basis), self.ephemeral(name, basis)?),
            KeyName::Decapsulation => (self.ephemeral(name, basis)?, self.secret(basis)),
            KeyName::FromLwe => (self.lwe(name, basis)?, self.secret(basis)),
        };
        let (shape, label) = (Shape::eval(params.ring(), basis), self.label(name));
        let pair = |(index, &digit): (usize, &Basis)| {
            let (b, a, seed) = self.encryption_of_zero(&secret, &shape, &format!("{label} digit {index}"));
            let lifted =
                dev.scale_limbs(dev.copy(&dev.restrict(&other, digit)), &special_product(params, special, digit));
            let own = dev.add(&dev.restrict(&b, digit), &lifted);
            let uniform = match form {
                KeyForm::Stored => UniformHalf::Stored { poly: a, seed: Some(seed) },
                KeyForm::Seeded | KeyForm::Disk => UniformHalf::Seeded(seed),
            };
            KeyPair { masked: dev.join(&[&own, &dev.restrict(&b, basis - digit)]), uniform }
        };
        Ok(EvaluationKey::new(name, level, digits.iter().enumerate().map(pair).collect()))
    }

    /// Generates all keys of a plan, each at its level.
    ///
    /// # Errors
    /// Those of [`Self::evaluation_key`].
    pub fn key_set(&self, plan: &KeyPlan, mut progress: impl FnMut(usize)) -> Result<KeySet<D>> {
        let make = |(done, (&name, &level)): (usize, (&KeyName, &usize))| {
            let key = self.evaluation_key(name, level, plan.form)?;
            progress(done + 1);
            Ok(key)
        };
        Ok(KeySet::new(self.params, plan.required.iter().enumerate().map(make).collect::<Result<_>>()?))
    }
}

impl<D: Device> Drop for KeyGenerator<'_, D> {
    fn drop(&mut self) {
        (self.secret, self.lwe) = (None, None);
        self.dev.scrub();
    }
}

/// The product of special primes modulo each prime of a digit.
fn special_product(params: &Params, special: Basis, digit: Basis) -> Vec<u64> {
    let ring = params.ring();
    let product = |q: Modulus| special.iter().fold(1, |p, i| q.mul(p, q.reduce(ring.spec().primes[i])));
    ring.moduli_of(digit).into_iter().map(product).collect()
}
