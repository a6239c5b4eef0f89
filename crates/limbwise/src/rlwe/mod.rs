//! The part shared by all RLWE schemes: keys, key stores, noise formulas.
//!
//! Enters: evaluation keys, key stores, products and key switches, secret keys and key generation (feature `client`),
//! variances.
//! Stays out: scales, plaintext moduli, concrete devices.
//!
//! Read in this order: [`key`], [`store`], [`operations`], [`noise`], and for clients `secret`, `encrypt`, `lazy`.

#[cfg(feature = "client")]
pub(crate) mod encrypt;
pub mod key;
#[cfg(feature = "client")]
pub mod lazy;
pub mod noise;
pub mod operations;
#[cfg(feature = "client")]
pub mod secret;
pub mod store;

pub use key::{EvaluationKey, KeyForm, KeyName, KeyPair, PublicKey, UniformHalf};
#[cfg(feature = "client")]
pub use lazy::{LazyKeys, Made, MadeHome, MadeKeys};
pub use operations::DivisionRounding;
#[cfg(feature = "client")]
pub use secret::{KeyGenerator, SecretKey};
pub use store::{DeclaredKeys, KeyPlan, KeySet, KeyStore, Request, Requirements, declare, key_bytes, serves};
