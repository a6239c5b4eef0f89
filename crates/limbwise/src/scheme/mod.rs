//! What a scheme is to whoever plans, runs and times programs of it: one trait, which CKKS, BGV and TFHE implement, and
//! the pair of CKKS and TFHE with the bridge between them.
//!
//! Enters: parameters, inputs, evaluators, encryption, reading and files of a scheme behind common names; the key
//! material of one program.
//! Stays out: arithmetic (each scheme's own room), files by name and directories (the runtime opens them).
//!
//! Read in this order: [`keys`], this file, then a scheme a file.

mod bgv;
mod bridged;
mod ckks;
pub mod keys;
mod tfhe;

pub use bgv::{Bgv, Integers, IntegersEstimate};
pub use bridged::{
    Bridged, BridgedCiphertext, BridgedEstimate, BridgedInput, BridgedLiteral, BridgedMeans, BridgedValues,
};
pub use ckks::{Ckks, Encoded, Maps, Slots, SlotsEstimate, SlotsInput, plaintext_bytes, slots_bytes};
pub use keys::{Keys, NoKeys};
#[cfg(feature = "client")]
pub use keys::{Published, Secrets};
pub use tfhe::{Messages, MessagesEstimate, Tfhe};

#[cfg(feature = "client")]
use crate::ckks::Model as Knowledge;
use crate::{
    error::Result,
    params::{Params, SecurityReport},
    tfhe::TfheParams,
    wire::{Origin, Source},
};
use limbwise_device::{Device, HostRead, Ring, Wordless};
#[cfg(feature = "client")]
use limbwise_math::sampling::Seed;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{fmt::Debug, io::Write};

/// Under which key the client encrypts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encryption {
    /// The public one.
    #[default]
    PublicKey,
    /// The secret one: less noise.
    SecretKey,
}

impl From<Encryption> for crate::ckks::Noise {
    fn from(encryption: Encryption) -> Self {
        match encryption {
            Encryption::PublicKey => Self::Public,
            Encryption::SecretKey => Self::Secret,
        }
    }
}

impl From<Encryption> for crate::bgv::Encryption {
    fn from(encryption: Encryption) -> Self {
        match encryption {
            Encryption::PublicKey => Self::Public,
            Encryption::SecretKey => Self::Secret,
        }
    }
}

/// What a server encodes before inputs come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Linear maps of the program.
    Maps,
    /// The maps of bootstrapping.
    Bootstrapper,
}

/// A property in which a ciphertext from outside differs from what a program takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which property.
    pub field: &'static str,
    /// What the ciphertext has.
    pub got: String,
    /// What the program takes.
    pub wanted: String,
}

impl Difference {
    /// The first of several properties that differs.
    fn first<const N: usize>(fields: [(&'static str, String, String, bool); N]) -> Option<Self> {
        let differs = fields.into_iter().find(|(.., same)| !same);
        differs.map(|(field, got, wanted, _)| Self { field, got, wanted })
    }
}

/// An encrypted input of a program, as both sides know it before anything is encrypted.
pub trait Input: Clone + Debug + PartialEq {
    /// What it is, for people.
    fn name(&self) -> &str;
}

/// A scheme.
pub trait Scheme: Copy + Debug + Send + Sync + 'static {
    /// Its name in plans, reports and descriptions.
    const NAME: &'static str;

    /// Unchecked parameters, as files have them.
    type Literal: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// Checked parameters.
    type Params: Clone + Debug + PartialEq + Send + Sync;
    /// An encrypted input.
    type Input: Input;
    /// The clear values of one ciphertext.
    type Values: Clone + Debug;
    /// The clear numbers that a server encodes before inputs come.
    type Model<'m>;
    /// Tables of the host.
    type Encoder: Send + Sync;
    /// What a server has encoded.
    type Encoded<D: Device>;
    /// What an encrypted program computes with.
    type Means<'a, D: Device + 'a>;
    /// A ciphertext.
    type Ciphertext<D: Device>: Clone;
    /// What is known of a ciphertext before it is decrypted.
    type Estimate: Clone + Copy + Debug + Send + Sync;
    /// All results of a program, decrypted.
    type Reading;

    /// Checks parameters.
    ///
    /// # Errors
    /// [`ParamsError`](crate::params::ParamsError) for what is refused.
    fn params(literal: &Self::Literal) -> Result<Self::Params>;

    /// The parameters as files have them.
    fn literal(params: &Self::Params) -> Self::Literal;

    /// What the security gate found, of the weakest key.
    fn security(params: &Self::Params) -> &SecurityReport;

    /// The parameters of RLWE keys, where the scheme has any.
    fn rlwe(params: &Self::Params) -> Option<&Params>;

    /// The parameters of bootstrapping keys, where the scheme has any.
    fn tfhe(params: &Self::Params) -> Option<&TfheParams>;

    /// All rings.
    fn rings(params: &Self::Params) -> Vec<&Ring> {
        Self::rlwe(params).map(Params::ring).into_iter().chain(Self::tfhe(params).map(TfheParams::ring)).collect()
    }

    /// Tables of the host, made when first needed.
    fn encoder(params: &Self::Params) -> Self::Encoder;

    /// Encodes a model.
    ///
    /// # Errors
    /// Values that cannot be encoded.
    fn encode<D: Device>(
        on: (&D, &Self::Encoder),
        params: &Self::Params,
        model: &Self::Model<'_>,
        tell: &mut dyn FnMut(Encoding, usize, usize),
    ) -> Result<Self::Encoded<D>>;

    /// The same by declaration, for devices without words.
    ///
    /// # Errors
    /// As [`Self::encode`].
    fn declare<D: Wordless>(
        on: (&D, &Self::Encoder),
        params: &Self::Params,
        model: &Self::Model<'_>,
    ) -> Result<Self::Encoded<D>>;

    /// An encoded model with its clear values beside it, for shadow mode; the same where the scheme has none.
    fn with_shadows<D: Device>(encoded: Self::Encoded<D>, model: &Self::Model<'_>) -> Self::Encoded<D> {
        let _ = model;
        encoded
    }

    /// Bytes that the host holds for an encoded model.
    fn host_bytes<D: Device>(encoded: &Self::Encoded<D>) -> u64 {
        let _ = encoded;
        0
    }

    /// What a program computes with.
    fn means<'a, D: Device>(
        on: (&'a D, &'a Self::Encoder),
        params: &'a Self::Params,
        encoded: &'a Self::Encoded<D>,
        keys: Keys<'a, D>,
    ) -> Self::Means<'a, D>;

    /// An input by declaration.
    ///
    /// # Errors
    /// Levels, scales or messages that cannot be.
    fn declare_input<D: Wordless>(
        on: (&D, &Self::Encoder),
        params: &Self::Params,
        input: &Self::Input,
        key: Encryption,
    ) -> Result<Self::Ciphertext<D>>;

    /// A ciphertext from a file as the program takes it.
    fn placed<D: Device>(dev: &D, input: &Self::Input, ciphertext: Self::Ciphertext<D>) -> Self::Ciphertext<D> {
        let _ = (dev, input);
        ciphertext
    }

    /// Bytes that an input takes on its device, known before anything is laid out; sizes that cannot be saturate.
    fn input_bytes(params: &Self::Params, input: &Self::Input) -> u64;

    /// Bytes that an encoded model takes at the least, with the clear numbers beside it.
    fn least_model_bytes(params: &Self::Params, model: &Self::Model<'_>) -> u64 {
        let _ = (params, model);
        0
    }

    /// Bytes of a model's clear numbers, which the host holds.
    fn clear_model_bytes(model: &Self::Model<'_>) -> u64 {
        let _ = model;
        0
    }

    /// Bytes of a ciphertext on its device.
    fn bytes<D: Device>(ciphertext: &Self::Ciphertext<D>) -> u64;

    /// What is known of a ciphertext.
    fn estimate<D: Device>(params: &Self::Params, ciphertext: &Self::Ciphertext<D>) -> Self::Estimate;

    /// In what a ciphertext from outside differs from an input, if it does.
    fn difference<D: Device>(input: &Self::Input, got: &Self::Ciphertext<D>) -> Option<Difference>;

    /// Writes a ciphertext.
    ///
    /// # Errors
    /// Those of `out`; a device fault.
    fn write<W: Write, D: HostRead>(
        out: W,
        on: (&D, &Self::Params),
        ciphertext: &Self::Ciphertext<D>,
        origin: &Origin,
    ) -> Result<W>;

    /// Reads a ciphertext.
    ///
    /// # Errors
    /// [`WireError`](crate::wire::WireError).
    fn read<S: Source, D: Device>(source: S, on: (&D, &Self::Params)) -> Result<Self::Ciphertext<D>>;

    /// Writes a file of the parameters.
    ///
    /// # Errors
    /// Those of `out`.
    fn write_params<W: Write>(out: W, params: &Self::Params) -> Result<W>;
}

/// What an input is encrypted with.
#[cfg(feature = "client")]
pub struct Encrypting<'a, D: Device> {
    /// Under which key.
    pub key: Encryption,
    /// The secret keys; absent where the public one is enough.
    pub secrets: Option<&'a Secrets>,
    /// The public key of RLWE.
    pub public: Option<&'a crate::rlwe::PublicKey<D>>,
    /// Whether clear values go with the ciphertext, for shadow mode.
    pub shadows: Shadows,
}

/// Whether ciphertexts carry their clear values, for shadow mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shadows {
    /// They do not.
    Absent,
    /// They do, inside this process.
    Carried,
}

/// Ciphertexts of a scheme.
#[cfg(feature = "client")]
pub type Ciphertexts<'a, S, D> = &'a [<S as Scheme>::Ciphertext<D>];

/// The client's side of a scheme. Exists only under the feature `client`.
#[cfg(feature = "client")]
pub trait ClientScheme: Scheme {
    /// What is expected of a result before it is opened.
    type Expectation: Clone + Debug;

    /// Whether reading results may take the inputs too.
    const READS_INPUTS: bool = false;

    /// Feeds clear values to a hash.
    fn hash_values(values: &Self::Values, feed: &mut dyn FnMut(&[u8]));

    /// Compares every result on slots with its clear value while a program runs; none where results are exact.
    fn audit<'a, D: HostRead>(
        _on: (&'a D, &'a Self::Encoder),
        _params: &'a Self::Params,
        _secrets: &'a Secrets,
        _bound: crate::ckks::ShadowBound,
    ) -> Option<crate::ckks::Audit<'a, D>> {
        None
    }

    /// Whether encryption under this key takes the secret keys.
    fn takes_secrets(key: Encryption) -> bool;

    /// Encrypts one input.
    ///
    /// # Errors
    /// Values that cannot be encoded, or that are larger than was promised; no randomness.
    fn encrypt<D: Device>(
        on: (&D, &Self::Encoder),
        params: &Self::Params,
        with: &Encrypting<'_, D>,
        of: (&Self::Input, &Self::Values),
        seed: &Seed,
    ) -> Result<Self::Ciphertext<D>>;

    /// Encrypts one input into a file: as small as the key allows.
    ///
    /// # Errors
    /// As [`Self::encrypt`]; those of `out`.
    fn encrypt_to<W: Write, D: HostRead>(
        out: W,
        on: (&D, &Self::Encoder),
        params: &Self::Params,
        with: &Encrypting<'_, D>,
        (input, values): (&Self::Input, &Self::Values),
        (seed, origin): (&Seed, &Origin),
    ) -> Result<W> {
        let encrypted = Self::encrypt(on, params, with, (input, values), seed)?;
        Self::write(out, (on.0, params), &encrypted, origin)
    }

    /// Values of an input that nobody has: for sessions on devices without words.
    fn no_values(input: &Self::Input) -> Self::Values;

    /// The part of decryption that any device can do; returns the bytes of what the host would get.
    fn rehearse_reading<D: Device>(
        dev: &D,
        params: &Self::Params,
        secrets: &Secrets,
        result: &Self::Ciphertext<D>,
    ) -> u64;

    /// Decrypts all results of a program.
    ///
    /// # Errors
    /// Numbers that cannot be right; a device fault.
    fn open<D: HostRead>(
        on: (&D, &Self::Encoder),
        params: &Self::Params,
        secrets: &Secrets,
        inputs_and_results: (Ciphertexts<'_, Self, D>, Ciphertexts<'_, Self, D>),
    ) -> Result<Self::Reading>;

    /// What is expected of a result that was recorded.
    fn expectation<D: Device>(
        params: &Self::Params,
        recorded: &Self::Ciphertext<D>,
        model: Knowledge,
    ) -> Self::Expectation;

    /// A result from outside with what is expected in the place of what it says of itself.
    ///
    /// # Errors
    /// [`DecryptError::Unexpected`](crate::error::DecryptError::Unexpected): the first fact that differs.
    fn admit<D: Device>(
        expectation: &Self::Expectation,
        params: &Self::Params,
        got: Self::Ciphertext<D>,
    ) -> Result<Self::Ciphertext<D>>;
}
