//! The interface of a scheme to planning, running and timing: one trait, implemented by CKKS, BGV, TFHE, and the pair
//! of CKKS and TFHE with the bridge between them.
//!
//! Enters: parameters, inputs, evaluators, encryption, decryption and files of a scheme behind common names; the key
//! material of one program.
//! Stays out: arithmetic (each scheme's own module), files by name and directories (the runtime opens them).
//!
//! Read in this order: [`keys`], this file, then one scheme per file.

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
    supply::Supply,
    tfhe::TfheParams,
    wire::{Origin, Source},
};
use limbwise_device::{Device, HostRead, Ring, Wordless};
#[cfg(feature = "client")]
use limbwise_math::sampling::Seed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{fmt::Debug, io::Write};

/// The key that the client encrypts under.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encryption {
    /// Under the public key.
    #[default]
    PublicKey,
    /// Under the secret key: less noise.
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

/// A stage of the server's encoding before inputs arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The program's linear maps.
    Maps,
    /// The maps of bootstrapping.
    Bootstrapper,
}

/// A property in which a received ciphertext differs from the program's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the property.
    pub field: &'static str,
    /// Value in the ciphertext.
    pub got: String,
    /// Value in the program's input.
    pub wanted: String,
}

impl Difference {
    /// The first property that differs, if any.
    fn first<const N: usize>(fields: [(&'static str, String, String, bool); N]) -> Option<Self> {
        let differs = fields.into_iter().find(|(.., same)| !same);
        differs.map(|(field, got, wanted, _)| Self { field, got, wanted })
    }
}

/// Metadata of an encrypted input, known to both sides before encryption.
pub trait Input: Clone + Debug + PartialEq {
    /// Name for people.
    fn name(&self) -> &str;
}

/// The means of encoding for a device: host tables and parameters beside it.
pub struct Setup<'a, S: Scheme, D: Device> {
    /// Holds the polynomials.
    pub dev: &'a D,
    /// Host tables, made from `params`.
    pub encoder: &'a S::Encoder,
    /// The scheme's checked parameters.
    pub params: &'a S::Params,
}

impl<S: Scheme, D: Device> Clone for Setup<'_, S, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Scheme, D: Device> Copy for Setup<'_, S, D> {}

/// A homomorphic scheme with its programs' parameters, inputs, keys, values and files.
pub trait Scheme: Copy + Debug + Send + Sync + 'static {
    /// Name in plans, reports and descriptions.
    const NAME: &'static str;

    /// Unchecked parameters as stored in files.
    type Literal: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// Checked parameters.
    type Params: Clone + Debug + PartialEq + Send + Sync;
    /// Metadata of an encrypted input.
    type Input: Input;
    /// The clear values of one ciphertext.
    type Values: Clone + Debug;
    /// The clear numbers that a server encodes before inputs arrive.
    type Model<'m>;
    /// Host tables for encoding.
    type Encoder: Send + Sync;
    /// The model encoded on a device.
    type Encoded<D: Device>;
    /// The evaluator of an encrypted program, with its encoded model.
    type Means<'a, D: Device + 'a>;
    /// Ciphertext on a device.
    type Ciphertext<D: Device>: Clone;
    /// Public metadata of a ciphertext: level, size, noise.
    type Estimate: Clone + Copy + Debug + Send + Sync;
    /// All results of a program, decrypted.
    type Reading;

    /// Checks a literal.
    ///
    /// # Errors
    /// [`ParamsError`](crate::params::ParamsError) for a literal that is refused.
    fn params(literal: &Self::Literal) -> Result<Self::Params>;

    /// The literal of checked parameters.
    fn literal(params: &Self::Params) -> Self::Literal;

    /// The security check's result for the weakest key.
    fn security(params: &Self::Params) -> &SecurityReport;

    /// The parameters of RLWE keys, if the scheme has any.
    fn rlwe(params: &Self::Params) -> Option<&Params>;

    /// The parameters of bootstrapping keys, if the scheme has any.
    fn tfhe(params: &Self::Params) -> Option<&TfheParams>;

    /// All rings of the parameters.
    fn rings(params: &Self::Params) -> Vec<&Ring> {
        Self::rlwe(params).map(Params::ring).into_iter().chain(Self::tfhe(params).map(TfheParams::ring)).collect()
    }

    /// Host tables, built on first use.
    fn encoder(params: &Self::Params) -> Self::Encoder;

    /// Encodes a model on a device; the encoded plaintexts come from a supply.
    ///
    /// # Errors
    /// Values that cannot be encoded; those of the supply.
    fn encode<D: Device>(
        setup: Setup<'_, Self, D>,
        supply: &dyn Supply<D>,
        model: &Self::Model<'_>,
        tell: &mut dyn FnMut(Encoding, usize, usize),
    ) -> Result<Self::Encoded<D>>;

    /// Declares a model on a device that holds no words.
    ///
    /// # Errors
    /// As [`Self::encode`].
    fn declare<D: Wordless>(setup: Setup<'_, Self, D>, model: &Self::Model<'_>) -> Result<Self::Encoded<D>>;

    /// Attaches clear values to an encoded model for shadow mode; no effect if the scheme has none.
    fn with_shadows<D: Device>(encoded: Self::Encoded<D>, model: &Self::Model<'_>) -> Self::Encoded<D> {
        let _ = model;
        encoded
    }

    /// Host memory of an encoded model in bytes.
    fn host_bytes<D: Device>(encoded: &Self::Encoded<D>) -> u64 {
        let _ = encoded;
        0
    }

    /// The evaluator of a program.
    fn means<'a, D: Device>(
        setup: Setup<'a, Self, D>,
        encoded: &'a Self::Encoded<D>,
        keys: Keys<'a, D>,
    ) -> Self::Means<'a, D>;

    /// Declares an input on a device that holds no words.
    ///
    /// # Errors
    /// Invalid levels, scales or messages.
    fn declare_input<D: Wordless>(
        setup: Setup<'_, Self, D>,
        input: &Self::Input,
        key: Encryption,
    ) -> Result<Self::Ciphertext<D>>;

    /// Brings a ciphertext from a file into the domain that the program takes.
    fn in_input_domain<D: Device>(
        dev: &D,
        input: &Self::Input,
        ciphertext: Self::Ciphertext<D>,
    ) -> Self::Ciphertext<D> {
        let _ = (dev, input);
        ciphertext
    }

    /// Device memory of an input in bytes, computed before allocation; impossible sizes saturate.
    fn input_bytes(params: &Self::Params, input: &Self::Input) -> u64;

    /// Lower bound of an encoded model's memory in bytes, with the clear numbers.
    fn least_model_bytes(params: &Self::Params, model: &Self::Model<'_>) -> u64 {
        let _ = (params, model);
        0
    }

    /// Host memory of a model's clear numbers in bytes.
    fn clear_model_bytes(model: &Self::Model<'_>) -> u64 {
        let _ = model;
        0
    }

    /// The sum of two results of one program, which takes no key; `None` for schemes whose results are not summed.
    ///
    /// # Errors
    /// Results that do not go together, or a sum that the modulus has no room for.
    fn sum<D: Device>(
        setup: Setup<'_, Self, D>,
        [a, b]: [&Self::Ciphertext<D>; 2],
    ) -> Option<Result<Self::Ciphertext<D>>> {
        let _ = (setup, a, b);
        None
    }

    /// Device memory of a ciphertext in bytes.
    fn bytes<D: Device>(ciphertext: &Self::Ciphertext<D>) -> u64;

    /// Public metadata of a ciphertext.
    fn estimate<D: Device>(params: &Self::Params, ciphertext: &Self::Ciphertext<D>) -> Self::Estimate;

    /// The first property in which a received ciphertext differs from an input, if any.
    fn difference<D: Device>(input: &Self::Input, got: &Self::Ciphertext<D>) -> Option<Difference>;

    /// Writes a ciphertext file.
    ///
    /// # Errors
    /// Errors of `out`; a device fault.
    fn write<W: Write, D: HostRead>(
        out: W,
        dev: &D,
        params: &Self::Params,
        ciphertext: &Self::Ciphertext<D>,
        origin: &Origin,
    ) -> Result<W>;

    /// Reads a ciphertext file.
    ///
    /// # Errors
    /// [`WireError`](crate::wire::WireError).
    fn read<S: Source, D: Device>(source: S, dev: &D, params: &Self::Params) -> Result<Self::Ciphertext<D>>;

    /// Writes a parameter file.
    ///
    /// # Errors
    /// Errors of `out`.
    fn write_params<W: Write>(out: W, params: &Self::Params) -> Result<W>;
}

/// The keys and options of an encryption.
#[cfg(feature = "client")]
pub struct Encrypting<'a, D: Device> {
    /// The key to encrypt under.
    pub key: Encryption,
    /// The secret keys; `None` if the public key suffices.
    pub secrets: Option<&'a Secrets>,
    /// The public key of RLWE.
    pub public: Option<&'a crate::rlwe::PublicKey<D>>,
    /// Whether clear values travel with the ciphertext, for shadow mode.
    pub shadows: Shadows,
}

/// One input with its clear values.
#[cfg(feature = "client")]
pub struct Clear<'a, S: Scheme> {
    /// Public metadata of the input.
    pub input: &'a S::Input,
    /// Values to encrypt; their shape is the input's.
    pub values: &'a S::Values,
}

#[cfg(feature = "client")]
impl<S: Scheme> Clone for Clear<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

#[cfg(feature = "client")]
impl<S: Scheme> Copy for Clear<'_, S> {}

/// Whether ciphertexts carry their clear values, for shadow mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shadows {
    /// No clear values.
    Absent,
    /// Clear values travel with the ciphertext inside this process.
    Carried,
}

/// Ciphertexts of a scheme.
#[cfg(feature = "client")]
pub type Ciphertexts<'a, S, D> = &'a [<S as Scheme>::Ciphertext<D>];

/// The client's side of a scheme. Exists only under the feature `client`.
#[cfg(feature = "client")]
pub trait ClientScheme: Scheme {
    /// Expected metadata of a result.
    type Expectation: Clone + Debug;

    /// Whether decryption of results may need the inputs.
    const READS_INPUTS: bool = false;

    /// Feeds clear values to a hash.
    fn hash_values(values: &Self::Values, feed: &mut dyn FnMut(&[u8]));

    /// Compares every result on slots with its clear value while a program runs; `None` for exact schemes.
    fn audit<'a, D: HostRead>(
        _setup: Setup<'a, Self, D>,
        _secrets: &'a Secrets,
        _bound: crate::ckks::ShadowBound,
    ) -> Option<crate::ckks::Audit<'a, D>> {
        None
    }

    /// Whether encryption under this key needs the secret keys.
    fn takes_secrets(key: Encryption) -> bool;

    /// Encrypts one input.
    ///
    /// # Errors
    /// Values that cannot be encoded or exceed their promise; no randomness.
    fn encrypt<D: Device>(
        setup: Setup<'_, Self, D>,
        with: &Encrypting<'_, D>,
        clear: Clear<'_, Self>,
        seed: &Seed,
    ) -> Result<Self::Ciphertext<D>>;

    /// Encrypts one input into a file, in the smallest form that the key allows.
    ///
    /// # Errors
    /// The errors of [`Self::encrypt`] and of `out`.
    fn encrypt_to<W: Write, D: HostRead>(
        out: W,
        setup: Setup<'_, Self, D>,
        with: &Encrypting<'_, D>,
        clear: Clear<'_, Self>,
        seed: &Seed,
        origin: &Origin,
    ) -> Result<W> {
        let encrypted = Self::encrypt(setup, with, clear, seed)?;
        Self::write(out, setup.dev, setup.params, &encrypted, origin)
    }

    /// Placeholder values of an input, for devices that hold no words.
    fn no_values(input: &Self::Input) -> Self::Values;

    /// The part of decryption that runs on any device; returns the bytes that the host would receive.
    fn rehearse_reading<D: Device>(
        dev: &D,
        params: &Self::Params,
        secrets: &Secrets,
        result: &Self::Ciphertext<D>,
    ) -> u64;

    /// Decrypts all results of a program. Only a scheme with [`Self::READS_INPUTS`] looks at `inputs`.
    ///
    /// # Errors
    /// Implausible values; a device fault.
    fn open<D: HostRead>(
        setup: Setup<'_, Self, D>,
        secrets: &Secrets,
        inputs: Ciphertexts<'_, Self, D>,
        results: Ciphertexts<'_, Self, D>,
    ) -> Result<Self::Reading>;

    /// A recorded result as that of other encryptions, told apart by a number: the errors of both are independent.
    fn of_others<D: Device>(recorded: &Self::Ciphertext<D>, number: u64) -> Self::Ciphertext<D> {
        let _ = number;
        recorded.clone()
    }

    /// The expectation of a recorded result.
    fn expectation<D: Device>(
        params: &Self::Params,
        recorded: &Self::Ciphertext<D>,
        model: Knowledge,
    ) -> Self::Expectation;

    /// Replaces the metadata of a received result by the expected metadata.
    ///
    /// # Errors
    /// [`DecryptError::Unexpected`](crate::error::DecryptError::Unexpected) with the first field that differs.
    fn admit<D: Device>(
        expectation: &Self::Expectation,
        params: &Self::Params,
        got: Self::Ciphertext<D>,
    ) -> Result<Self::Ciphertext<D>>;
}
