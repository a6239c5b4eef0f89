//! Public key material: as published (seeds and bodies) and as a device uses it.

use super::params::TfheParams;
use limbwise_device::{Device, Domain, Ggsw, KeyId, LweShape, LweSwitchKey, Role, Wordless};
use limbwise_math::sampling::{Seed, Stream};

/// Identity of the switching key on devices and in graphs; distinct from those of CKKS keys in the same program.
pub const SWITCH_KEY: KeyId = KeyId(10);
/// Identity of the bootstrapping key on devices and in graphs.
pub const BOOTSTRAP_KEY: KeyId = KeyId(1);

/// Public tag of a client key and everything made with it: random, not derived from the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyTag(pub u64);

impl std::fmt::Display for KeyTag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The server's bootstrapping keys as published: bodies, and a seed that expands to all uniform halves.
pub struct BootstrapKeys<D: Device> {
    pub(crate) params: TfheParams,
    pub(crate) tag: KeyTag,
    /// The seed of all uniform halves.
    pub(crate) seed: Seed,
    /// Bodies of the switching key: one per digit of each word of the big LWE key.
    pub(crate) switch_bodies: Vec<u64>,
    /// Bodies of the GGSW ciphertexts: one polynomial per row, its batch the n bits of the small LWE key.
    pub(crate) rows: Vec<D::Poly>,
}

/// The server's keys on a device.
pub struct ServerKey<D: Device> {
    params: TfheParams,
    tag: KeyTag,
    /// Switches from the big LWE key to the small one.
    pub switch: LweSwitchKey<D::Lwe>,
    /// The bits of the small LWE key encrypted under the GLWE key, in evaluation domain.
    pub bootstrap: Ggsw<D::Poly>,
}

/// The seed of mask `c` of row `row`.
pub(crate) fn mask_seed(seed: &Seed, row: usize, c: usize) -> Seed {
    seed.derive(&format!("bootstrapping row {row} mask {c}"))
}

/// The mask of an entry of the switching key.
pub(crate) fn switch_mask(seed: &Seed, entry: usize, modulus: u64, out: &mut [u64]) {
    let context = [b"switching entry ".as_slice(), &(entry as u64).to_le_bytes()].concat();
    let mut stream = Stream::new(seed, &context);
    out.iter_mut().for_each(|x| *x = stream.next_word() & (modulus - 1));
}

/// Shape of the switching key's rows.
pub(crate) fn switch_shape(params: &TfheParams) -> LweShape {
    let l = params.literal();
    let batch = l.big_dimension() * l.key_switch.levels as usize;
    LweShape { dimension: l.lwe_dimension, modulus: params.lwe_modulus(), batch }
}

impl<D: Device> BootstrapKeys<D> {
    /// Size of the published keys in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.params.published_key_bytes()
    }

    /// Tag of the client key.
    #[must_use]
    pub fn tag(&self) -> KeyTag {
        self.tag
    }
}

impl<D: Device> ServerKey<D> {
    /// Expands the uniform halves on a device.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn new(dev: &D, keys: &BootstrapKeys<D>) -> Self {
        let (params, seed) = (keys.params.clone(), &keys.seed);
        let shape = params.shape(params.literal().lwe_dimension, Domain::Eval);
        let grown = |(r, body): (usize, &D::Poly)| {
            let mask = |c| dev.expand_seed(&shape, Role::BootstrapKey(BOOTSTRAP_KEY), &mask_seed(seed, r, c));
            std::iter::once(body.clone()).chain((0..params.literal().masks).map(mask)).collect()
        };
        let bootstrap =
            Ggsw { gadget: params.literal().bootstrap.into(), rows: keys.rows.iter().enumerate().map(grown).collect() };
        let modulus = params.lwe_modulus();
        let rows = dev.upload_lwe(switch_shape(&params), Role::EvaluationKey(SWITCH_KEY), &|entry, words| {
            let (body, mask) = words.split_last_mut().expect("a ciphertext has a body");
            switch_mask(seed, entry, modulus, mask);
            *body = keys.switch_bodies[entry];
        });
        let switch = LweSwitchKey { gadget: params.literal().key_switch.into(), rows };
        Self { params, tag: keys.tag, switch, bootstrap }
    }

    /// Declares keys by shape, role and identity on a device that holds no words.
    #[must_use]
    pub fn declared(dev: &D, params: &TfheParams) -> Self
    where
        D: Wordless,
    {
        let l = params.literal();
        let shape = params.shape(l.lwe_dimension, Domain::Eval);
        let part = |_| dev.declare(&shape, Role::BootstrapKey(BOOTSTRAP_KEY));
        let rows = (l.masks + 1) * l.bootstrap.levels as usize;
        let rows = (0..rows).map(|_| (0..=l.masks).map(part).collect()).collect();
        let switch = dev.declare_lwe(switch_shape(params), Role::EvaluationKey(SWITCH_KEY));
        Self {
            params: params.clone(),
            tag: KeyTag(0),
            switch: LweSwitchKey { gadget: l.key_switch.into(), rows: switch },
            bootstrap: Ggsw { gadget: l.bootstrap.into(), rows },
        }
    }

    /// The parameter set.
    #[must_use]
    pub fn params(&self) -> &TfheParams {
        &self.params
    }

    /// Tag of the client key.
    #[must_use]
    pub fn tag(&self) -> KeyTag {
        self.tag
    }
}

/// A public encryption key: an encryption of zero, `[b, a_1 … a_k]` with `b + Σ a_c·S_c = e`, in evaluation domain.
pub struct PublicKey<D: Device> {
    /// The parameter set.
    pub params: TfheParams,
    /// Tag of the client key.
    pub tag: KeyTag,
    /// Body, then masks, in evaluation domain.
    pub parts: Vec<D::Poly>,
}
