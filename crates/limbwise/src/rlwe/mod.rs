//! What every RLWE scheme shares: keys, their names and where they come from, noise formulas.
//!
//! Enters: evaluation keys, key stores, secret keys and key generation (feature `client`), variances.
//! Stays out: scales, plaintext moduli, concrete devices.
//!
//! Read in this order: [`key`], [`store`], [`noise`], and for clients `secret`, `lazy`.

pub mod key;
#[cfg(feature = "client")]
pub mod lazy;
pub mod noise;
#[cfg(feature = "client")]
pub mod secret;
pub mod store;

pub use key::{EvaluationKey, KeyForm, KeyName, PublicKey};
#[cfg(feature = "client")]
pub use lazy::{LazyKeys, Made, MadeHome, MadeKeys};
#[cfg(feature = "client")]
pub use secret::{KeyGenerator, SecretKey};
pub use store::{DeclaredKeys, KeyPlan, KeySet, KeyStore, Request, Requirements, declare, key_bytes, serves};
