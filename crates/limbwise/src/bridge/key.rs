//! The key from the main CKKS secret to the wide key of TFHE: as published (a seed and bodies) and as a device uses it.

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

/// log₂ of its modulus: half a word, which key switches read fast.
pub const LOG_MODULUS: u32 = 32;
/// Digits of a word: one would leave the noise of 2^−9 of the modulus, two are as quiet as a bootstrapping.
pub(crate) const LEVELS: u32 = 2;
/// Identity on devices and in graphs.
const TO_LWE: KeyId = KeyId(8);

/// The key as it is published: its masks are grown from the seed.
#[derive(Clone, Debug)]
pub struct ToLweBodies {
    pub(crate) params: BridgeParams,
    pub(crate) tag: KeyTag,
    pub(crate) seed: Seed,
    pub(crate) bodies: Vec<u64>,
}

/// The key ready for use on a device: N·levels·(K + 1) half words.
pub struct ToLweKey<D: Device> {
    params: BridgeParams,
    tag: KeyTag,
    pub(super) switch: LweSwitchKey<D::Lwe>,
}

/// The digits that leave least noise.
///
/// # Panics
/// Never.
#[must_use]
pub fn gadget(params: &BridgeParams) -> GadgetLiteral {
    let candidates = (1..=LOG_MODULUS / LEVELS).map(|base_log| GadgetLiteral { base_log, levels: LEVELS });
    let quieter =
        |a: &GadgetLiteral, b: &GadgetLiteral| noise::key_switch(params, *a).total_cmp(&noise::key_switch(params, *b));
    candidates.min_by(quieter).expect("there are candidates")
}

/// Shape of its rows.
fn shape(params: &BridgeParams) -> LweShape {
    let batch = params.ckks().ring().n() * LEVELS as usize;
    LweShape { dimension: params.tfhe().literal().wide_dimension(), modulus: 1 << LOG_MODULUS, batch }
}

impl ToLweBodies {
    /// From both secrets, with fresh randomness.
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
        let bodies = switch_bodies((from, client.wide_bits()), (gadget(params).into(), shape.modulus), &seed, &noise);
        Ok(Self { params: params.clone(), tag: client.tag(), seed, bodies })
    }

    /// Which TFHE client key it switches to.
    #[must_use]
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// Bytes of what is published.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        32 + 8 * self.bodies.len() as u64
    }
}

impl<D: Device> ToLweKey<D> {
    /// Grows the masks.
    ///
    /// # Panics
    /// Never.
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

    /// A key by declaration.
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

    /// The parameters that it joins.
    #[must_use]
    pub fn params(&self) -> &BridgeParams {
        &self.params
    }

    /// Which TFHE client key it switches to.
    #[must_use]
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// Bytes on the device, words counted whole.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        shape(&self.params).bytes()
    }
}
