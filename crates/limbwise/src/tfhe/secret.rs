//! The client key: encryption, decryption, and generation of public keys. Exists only under the feature `client`.

use super::{
    ciphertext::{Ciphertext, belongs, shape},
    error::TfheError,
    key::{BootstrapKeys, KeyTag, PublicKey, mask_seed, switch_mask, switch_shape},
    params::TfheParams,
};
use crate::{
    error::Result,
    params::{ParamsError, security},
    rlwe::secret::{entry_stream, small_poly},
    wire::{params::Fingerprint, tfhe::tfhe_fingerprint},
};
use limbwise_device::{Device, Domain, Gadget, HostRead, Role, Shape};
use limbwise_math::{
    modulus::Modulus,
    sampling::{Gaussian, Seed, Stream},
};
use limbwise_taint::declassify;
use zeroize::{Zeroize as _, Zeroizing};

/// The secret bits of both LWE keys on the host, wiped on drop.
pub struct ClientKey {
    params: TfheParams,
    tag: KeyTag,
    /// The n bits of the small LWE key.
    narrow: Zeroizing<Vec<i64>>,
    /// The k·N bits of the big LWE key, which are the coefficients of the GLWE key.
    wide: Zeroizing<Vec<i64>>,
    /// Seed of the randomness for key generation; each use derives it with a label.
    seed: Seed,
}

impl std::fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClientKey({})", self.tag)
    }
}

/// Draws Gaussian errors.
pub(crate) fn errors(sigma: f64, count: usize, seed: &Seed) -> Zeroizing<Vec<i64>> {
    let mut errors = Zeroizing::new(vec![0; count]);
    Stream::new(seed, b"tfhe errors").wide_gaussian(&Gaussian::new(sigma), &mut errors);
    errors
}

/// Draws the Gaussian errors of one GLWE ciphertext of a batch, from a stream of its own: threads draw entries side by side.
fn glwe_errors(gaussian: &Gaussian, n: usize, (seed, entry): (&Seed, usize)) -> Zeroizing<Vec<i64>> {
    let mut errors = Zeroizing::new(vec![0; n]);
    entry_stream(seed, b"tfhe errors", entry).wide_gaussian(gaussian, &mut errors);
    errors
}

/// `Σ a_i·s_i mod q` for bits s, without branching on them.
fn inner_product(q: Modulus, a: &[u64], bits: &[i64]) -> u64 {
    a.iter().zip(bits).fold(0, |sum, (&a, &s)| q.add(sum, a & 0u64.wrapping_sub(s.cast_unsigned())))
}

impl ClientKey {
    /// A client key from fresh randomness.
    ///
    /// # Errors
    /// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness.
    pub fn generate(params: &TfheParams) -> Result<Self> {
        Ok(Self::from_seed(params, Seed::from_os()?))
    }

    /// The client key of a seed. The seed is as secret as the key.
    #[must_use]
    pub fn from_seed(params: &TfheParams, seed: Seed) -> Self {
        let bits = |label: &str, count: usize| {
            let mut bits = Zeroizing::new(vec![0; count]);
            Stream::new(&seed.derive(label), b"tfhe secret key").binary(&mut bits);
            bits
        };
        let l = params.literal();
        let (narrow, wide) = (bits("narrow", l.lwe_dimension), bits("wide", l.big_dimension()));
        // Public: the name of the key, in every ciphertext.
        let tag = KeyTag(declassify(Stream::new(&seed.derive("tag"), b"tfhe key tag").next_word()));
        Self { params: params.clone(), tag, narrow, wide, seed }
    }

    /// The parameter set.
    #[must_use]
    pub fn params(&self) -> &TfheParams {
        &self.params
    }

    /// The bits of the small LWE key, for noise measurements.
    #[must_use]
    pub fn small_bits(&self) -> &[i64] {
        &self.narrow
    }

    /// The bits of the big LWE key.
    pub(crate) fn big_bits(&self) -> &[i64] {
        &self.wide
    }

    /// The seed of the key, which is as secret as the key.
    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// Public tag of the key.
    #[must_use]
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// The public name of its key set in files: the BLAKE3 hash, in derivation mode, of the parameters' fingerprint and
    /// the seed (ADR 120).
    #[must_use]
    pub fn identity(&self) -> Fingerprint {
        let mut hasher = blake3::Hasher::new_derive_key("limbwise 2026-11-22 identity of a TFHE key set");
        let hash = hasher.update(&tfhe_fingerprint(&self.params).0).update(&self.seed.0).finalize();
        hasher.zeroize();
        Fingerprint(declassify(*hash.as_bytes())) // stands in every file of the key set
    }

    /// Encrypts messages, one per ciphertext of the batch.
    ///
    /// # Errors
    /// [`TfheError::Message`] outside the message space; no randomness.
    ///
    /// # Panics
    /// If `messages` is empty.
    pub fn encrypt<D: Device>(&self, dev: &D, messages: &[u64]) -> Result<Ciphertext<D>> {
        self.encrypt_from(dev, messages, &Seed::from_os()?)
    }

    /// The same from a seed, which is as secret as the messages. Two encryptions from one seed tell the difference of
    /// their messages.
    ///
    /// # Errors
    /// [`TfheError::Message`] outside the message space.
    ///
    /// # Panics
    /// If `messages` is empty.
    pub fn encrypt_from<D: Device>(&self, dev: &D, messages: &[u64], seed: &Seed) -> Result<Ciphertext<D>> {
        assert!(!messages.is_empty(), "at least one message");
        in_space(&self.params, messages)?;
        let q = self.params.modulus();
        let noise = errors(self.params.literal().glwe_sigma, messages.len(), &seed.derive("errors"));
        let uniform = declassify(seed.derive("public")); // expands to the masks, which are in the ciphertexts
        let lwe = dev.upload_lwe(shape(&self.params, messages.len()), Role::Ciphertext, &|entry, words| {
            let (body, mask) = words.split_last_mut().expect("a ciphertext has a body");
            Stream::new(&uniform, &(entry as u64).to_le_bytes()).uniform(q, mask);
            let message = self.params.encode(messages[entry].cast_signed());
            *body = q.add(q.sub(message, inner_product(q, mask, &self.wide)), q.from_i64(noise[entry]));
        });
        Ok(Ciphertext::fresh(lwe, &self.params, self.tag))
    }

    /// The phase of each ciphertext: message plus noise.
    ///
    /// # Errors
    /// [`TfheError`] for ciphertexts of other keys or parameters; a device fault.
    pub fn phases<D: HostRead>(&self, dev: &D, a: &Ciphertext<D>) -> Result<Vec<u64>> {
        belongs("decrypt", (&self.params, self.tag), (&a.params, a.tag))?;
        let (q, dimension) = (self.params.modulus(), self.params.literal().big_dimension());
        let words = dev.download_lwe(&a.lwe)?;
        let phase = |words: &[u64]| q.add(words[dimension], inner_product(q, &words[..dimension], &self.wide));
        Ok(words.chunks_exact(dimension + 1).map(phase).collect())
    }

    /// Decrypts every message of the batch.
    ///
    /// # Errors
    /// The errors of [`Self::phases`]; [`TfheError::Decrypted`] for a phase that is no message.
    pub fn decrypt<D: HostRead>(&self, dev: &D, a: &Ciphertext<D>) -> Result<Vec<u64>> {
        let most = self.params.space() - 1;
        let messages: Vec<u64> = self.phases(dev, a)?.into_iter().map(|phase| self.params.decode(phase)).collect();
        // Whether all are messages is public: whoever decrypts learns it.
        let within = declassify(messages.iter().fold(true, |within, &message| within & (message <= most)));
        if within { Ok(messages) } else { Err(TfheError::Decrypted { most }.into()) }
    }

    /// Makes the server's keys on a device, which drops the secret afterwards.
    #[must_use]
    pub fn bootstrap_keys<D: Device>(&self, dev: &D) -> BootstrapKeys<D> {
        let seed = declassify(self.seed.derive("public keys")); // stands in the keys in the place of masks
        let keys = BootstrapKeys {
            params: self.params.clone(),
            tag: self.tag,
            switch_bodies: self.switch_bodies(&seed),
            rows: self.ggsw_bodies(dev, &seed),
            seed,
        };
        dev.scrub();
        keys
    }

    fn switch_bodies(&self, seed: &Seed) -> Vec<u64> {
        let l = self.params.literal();
        let noise =
            errors(l.lwe_sigma, switch_shape(&self.params).batch, &self.seed.derive("errors of the switching key"));
        switch_bodies(&self.wide, &self.narrow, l.key_switch.into(), self.params.lwe_modulus(), seed, &noise)
    }

    /// The components of the GLWE key on a device in evaluation domain.
    fn upload_components<D: Device>(&self, dev: &D) -> Vec<D::Poly> {
        let n = self.params.ring().n();
        let shape = self.params.shape(1, Domain::Eval);
        let part = |bits: &[i64]| small_poly(dev, &shape, |_| Zeroizing::new(bits.to_vec()));
        self.wide.chunks_exact(n).map(part).collect()
    }

    /// `−Σ a_c·S_c + e + s_i·2^f·S` for each row, S being 1 or a component of the key; the batch runs over the bits
    /// s_i.
    fn ggsw_bodies<D: Device>(&self, dev: &D, seed: &Seed) -> Vec<D::Poly> {
        let l = self.params.literal();
        let shape = self.params.shape(l.lwe_dimension, Domain::Eval);
        let secret = self.upload_components(dev);
        let bits = dev.upload(&shape, Role::Temporary, &|at, row| row.fill(self.narrow[at.batch].cast_unsigned()));
        let q = self.params.modulus();
        let factors: Vec<u32> = Gadget::from(l.bootstrap).of(q.value()).log_factors().collect();
        let row = |r: usize| {
            let message = dev.scale_limbs(bits.clone(), &[q.reduce(1 << factors[r % factors.len()])]);
            let message = match (r / factors.len()).checked_sub(1) {
                None => message,
                Some(component) => dev.mul(&message, &secret[component]),
            };
            let label = self.seed.derive(&format!("errors of bootstrapping row {r}"));
            let zero = self.body_of_zero(dev, &secret, &shape, &label, |c| mask_seed(seed, r, c));
            dev.add(&zero, &message)
        };
        (0..(l.masks + 1) * factors.len()).map(row).collect()
    }

    /// `−Σ a_c·S_c + e`, with masks expanded from their seeds.
    fn body_of_zero<D: Device>(
        &self,
        dev: &D,
        secret: &[D::Poly],
        shape: &Shape,
        noise: &Seed,
        masks: impl Fn(usize) -> Seed,
    ) -> D::Poly {
        let gaussian = Gaussian::new(self.params.literal().glwe_sigma);
        let mut sum = small_poly(dev, shape, |entry| glwe_errors(&gaussian, shape.ring.n(), (noise, entry)));
        for (c, part) in secret.iter().enumerate() {
            let mask = dev.neg(dev.expand_seed(shape, Role::Temporary, &masks(c)));
            dev.mul_acc(&mut sum, &mask, part);
        }
        sum
    }

    /// Makes a public encryption key.
    ///
    /// # Errors
    /// [`ParamsError::InsecureBinary`] if the secret of a single encryption (N bits for k polynomials) is insecure.
    pub fn public_key<D: Device>(&self, dev: &D) -> Result<PublicKey<D>> {
        let l = self.params.literal();
        let (n, log_modulus) = (self.params.ring().n(), self.params.ring().log_modulus(self.params.ring().full()));
        if security::binary_class(n, log_modulus, l.glwe_sigma) < 128 && l.insecure.is_none() {
            let wanted = "with several masks the errors must be as wide as dimension N asks".into();
            let log_sigma = l.glwe_sigma.log2() - log_modulus;
            return Err(ParamsError::InsecureBinary { key: "public", dimension: n, log_sigma, wanted }.into());
        }
        let (shape, seed) = (self.params.shape(1, Domain::Eval), declassify(self.seed.derive("public key"))); // expands to the masks
        let secret = self.upload_components(dev);
        let masks = |c| seed.derive(&format!("mask {c}"));
        let noise = self.seed.derive("errors of the public key");
        let body = self.body_of_zero(dev, &secret, &shape, &noise, masks);
        let grown = (0..l.masks).map(|c| dev.expand_seed(&shape, Role::Temporary, &masks(c)));
        let parts = std::iter::once(body).chain(grown).collect();
        drop(secret);
        dev.scrub();
        Ok(PublicKey { params: self.params.clone(), tag: self.tag, parts })
    }
}

/// `−⟨a, s⟩ + e + z_i·2^f` for each word z_i of one secret and each factor 2^f, under the binary secret s, modulo a
/// power of two.
pub(crate) fn switch_bodies(
    from: &[i64],
    to: &[i64],
    gadget: Gadget,
    modulus: u64,
    seed: &Seed,
    noise: &[i64],
) -> Vec<u64> {
    let factors: Vec<u32> = gadget.of(modulus).log_factors().collect();
    let mut mask = vec![0; to.len()];
    let body = |entry: usize| {
        switch_mask(seed, entry, modulus, &mut mask);
        let product = mask.iter().zip(to);
        let product = product.fold(0u64, |sum, (&a, &s)| sum.wrapping_add(a & 0u64.wrapping_sub(s.cast_unsigned())));
        let message = from[entry / factors.len()].cast_unsigned() << factors[entry % factors.len()];
        message.wrapping_add(noise[entry].cast_unsigned()).wrapping_sub(product) & (modulus - 1)
    };
    (0..from.len() * factors.len()).map(body).collect()
}

fn in_space(params: &TfheParams, messages: &[u64]) -> Result<()> {
    let most = params.space() - 1;
    // Whether all fit is public: whoever encrypts learns it. What does not fit stands in the error.
    if declassify(messages.iter().fold(true, |within, &m| within & (m <= most))) {
        return Ok(());
    }
    let got = messages.iter().copied().find(|&m| m > most).unwrap_or(most);
    Err(TfheError::Message { got, most }.into())
}

impl<D: Device> PublicKey<D> {
    /// Encrypts messages: `v·[b, a] + [e₀ + m, e]` with binary v, then extracts the constant coefficient.
    ///
    /// # Errors
    /// [`TfheError::Message`] outside the message space; no randomness.
    ///
    /// # Panics
    /// If `messages` is empty.
    pub fn encrypt(&self, dev: &D, messages: &[u64]) -> Result<Ciphertext<D>> {
        assert!(!messages.is_empty(), "at least one message");
        in_space(&self.params, messages)?;
        let (seed, n) = (Seed::from_os()?, self.params.ring().n());
        let shape = self.params.shape(messages.len(), Domain::Eval);
        let binary = seed.derive("binary");
        let v = small_poly(dev, &shape, |entry| {
            let mut bits = Zeroizing::new(vec![0; n]);
            entry_stream(&binary, b"tfhe encryption", entry).binary(&mut bits);
            bits
        });
        let gaussian = Gaussian::new(self.params.literal().glwe_sigma);
        let part = |(c, part): (usize, &D::Poly)| {
            let seed = seed.derive(&format!("errors {c}"));
            let mut sum = small_poly(dev, &shape, |entry| glwe_errors(&gaussian, n, (&seed, entry)));
            dev.mul_acc(&mut sum, &v, part);
            dev.intt(sum)
        };
        let parts: Vec<D::Poly> = self.parts.iter().enumerate().map(part).collect();
        let zero = dev.sample_extract(&parts.iter().collect::<Vec<_>>(), &[0]);
        let encoded: Vec<u64> = messages.iter().map(|&m| self.params.encode(m.cast_signed())).collect();
        let lwe = dev.lwe_shift(&zero, &encoded);
        drop((parts, v));
        dev.scrub();
        Ok(Ciphertext::fresh(lwe, &self.params, self.tag))
    }
}
