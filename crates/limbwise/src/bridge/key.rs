//! The key from the main CKKS secret to the big LWE key of TFHE: as published (a seed and bodies) and as a device uses
//! it.

use super::{BridgeParams, noise};
use crate::tfhe::{GadgetLiteral, KeyTag, key::switch_mask};
#[cfg(feature = "client")]
use crate::{
    error::Result,
    rlwe::SecretKey,
    tfhe::{
        ClientKey,
        secret::{errors, switch_bodies},
    },
};
use limbwise_device::{Device, KeyId, LweShape, LweSwitchKey, Role, Wordless};
use limbwise_math::sampling::Seed;

/// log₂ of the key's modulus: 32 bits are half a word, which halves the bytes a key switch reads.
pub const LOG_MODULUS: u32 = 32;
/// Digits per word. One digit would leave noise of 2^−9 of the modulus; two leave as little as a bootstrapping.
pub(crate) const LEVELS: u32 = 2;
/// Identity of the key on devices and in graphs.
const TO_LWE: KeyId = KeyId(8);

/// The key as published: the seed expands to the masks.
#[derive(Clone, Debug)]
pub struct ToLweBodies {
    pub(crate) params: BridgeParams,
    pub(crate) tag: KeyTag,
    pub(crate) seed: Seed,
    pub(crate) bodies: Vec<u64>,
}

/// The key on a device: N·levels·(K + 1) half words.
pub struct ToLweKey<D: Device> {
    params: BridgeParams,
    tag: KeyTag,
    pub(super) switch: LweSwitchKey<D::Lwe>,
}

/// The digits with the least noise.
///
/// # Panics
/// Never: the candidate list is not empty.
#[must_use]
pub fn gadget(params: &BridgeParams) -> GadgetLiteral {
    let candidates = (1..=LOG_MODULUS / LEVELS).map(|base_log| GadgetLiteral { base_log, levels: LEVELS });
    let quieter =
        |a: &GadgetLiteral, b: &GadgetLiteral| noise::key_switch(params, *a).total_cmp(&noise::key_switch(params, *b));
    candidates.min_by(quieter).expect("there are candidates")
}

/// Shape of the key's rows.
fn shape(params: &BridgeParams) -> LweShape {
    let batch = params.ckks().ring().n() * LEVELS as usize;
    LweShape { dimension: params.tfhe().literal().big_dimension(), modulus: 1 << LOG_MODULUS, batch }
}

impl ToLweBodies {
    /// Makes the key from both secrets, with fresh randomness.
    ///
    /// # Errors
    /// [`EntropyError`](limbwise_math::sampling::EntropyError) without randomness.
    ///
    /// # Panics
    /// If the secrets are not of these parameters.
    #[cfg(feature = "client")]
    pub fn generate(params: &BridgeParams, secret: &SecretKey, client: &ClientKey) -> Result<Self> {
        let from = secret.coefficients();
        assert_eq!(client.params(), params.tfhe(), "the client key is of these parameters");
        assert_eq!(from.len(), params.ckks().ring().n(), "the secret is of these parameters");
        let (random, shape) = (Seed::from_os()?, shape(params));
        let (seed, noise) = (random.derive("public"), random.derive("errors"));
        let noise = errors(params.tfhe().literal().glwe_sigma, shape.batch, &noise);
        let bodies = switch_bodies(from, client.big_bits(), gadget(params).into(), shape.modulus, &seed, &noise);
        Ok(Self { params: params.clone(), tag: client.tag(), seed, bodies })
    }

    /// The TFHE client key that it switches to.
    #[must_use]
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// Size of the published key in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        32 + 8 * self.bodies.len() as u64
    }
}

impl<D: Device> ToLweKey<D> {
    /// Expands the masks onto a device.
    ///
    /// # Panics
    /// Never: every row has a body.
    #[must_use]
    pub fn new(dev: &D, published: &ToLweBodies) -> Self {
        let ToLweBodies { params, tag, seed, bodies } = published;
        let shape = shape(params);
        let rows = dev.upload_lwe(shape, Role::EvaluationKey(TO_LWE), &|entry, words| {
            let (body, mask) = words.split_last_mut().expect("a ciphertext has a body");
            switch_mask(seed, entry, shape.modulus, mask);
            *body = bodies[entry];
        });
        Self::of(params, *tag, rows)
    }

    /// Declares a key on a device that holds no words.
    #[must_use]
    pub fn declared(dev: &D, params: &BridgeParams) -> Self
    where
        D: Wordless,
    {
        Self::of(params, KeyTag(0), dev.declare_lwe(shape(params), Role::EvaluationKey(TO_LWE)))
    }

    fn of(params: &BridgeParams, tag: KeyTag, rows: D::Lwe) -> Self {
        Self { params: params.clone(), tag, switch: LweSwitchKey { gadget: gadget(params).into(), rows } }
    }

    /// The pair of parameter sets that it joins.
    #[must_use]
    pub fn params(&self) -> &BridgeParams {
        &self.params
    }

    /// The TFHE client key that it switches to.
    #[must_use]
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// Size on the device in bytes, with each half word counted as a whole one.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        shape(&self.params).bytes()
    }
}
