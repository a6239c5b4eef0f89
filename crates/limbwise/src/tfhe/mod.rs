//! TFHE: exact functions of small encrypted integers by programmable bootstrapping, generic over the device.
//!
//! A ciphertext is a batch of LWE ciphertexts under the big LWE key (the k·N coefficients of the GLWE key, modulo its
//! prime). Its public metadata are the largest message and the noise, so a bootstrapping that could fail is refused.
//! Bootstrapping is key switch → modulus switch → blind rotation → sample extraction.
//!
//! Enters: checked parameters, keys, ciphertexts, tables, bootstrapping, noise, the search for parameters.
//! Stays out: kernels (the device's `blind_rotate` is one call), secret keys without the feature `client`.
//!
//! Read in this order: [`params`], [`noise`], [`mod@presets`], [`mod@search`], [`key`], [`ciphertext`], [`table`],
//! [`bootstrap`], [`flag`], [`boolean`], [`integer`], [`radix`], and for clients `secret`.

pub mod boolean;
pub mod bootstrap;
pub mod ciphertext;
pub mod error;
pub mod expectation;
pub mod flag;
pub mod integer;
pub mod key;
pub mod noise;
pub mod params;
pub mod presets;
pub mod radix;
pub mod search;
#[cfg(feature = "client")]
pub mod secret;
pub mod table;

pub use boolean::{Boolean, Gate};
pub use bootstrap::Evaluator;
pub use ciphertext::Ciphertext;
pub use error::TfheError;
#[cfg(feature = "client")]
pub use expectation::TfheExpectation;
pub use expectation::TfheReading;
pub use flag::Flags;
pub use integer::Integer;
pub use key::{BootstrapKeys, KeyTag, PublicKey, ServerKey};
pub use params::{GadgetLiteral, TfheLiteral, TfheParams};
pub use presets::{TfhePreset, preset, presets};
pub use radix::{Comparison, Format, Integers, Radix};
pub use search::{SearchGoal, search};
#[cfg(feature = "client")]
pub use secret::ClientKey;
pub use table::Table;
