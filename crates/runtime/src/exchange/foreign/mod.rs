//! Ciphertexts, keys and parameters of OpenFHE and Lattigo. Sources: \[OPENFHE\], \[LATTIGO\].
//!
//! Enters: their files as bytes; theirs against ours by residues; ciphertexts for them.
//! Stays out: names of files, verbs.
//!
//! Read in this order: [`parts`] (what any of their files holds, and how it becomes ours), [`openfhe`], [`lattigo`] (formats),
//! [`compare`].

pub mod compare;
pub mod error;
pub mod lattigo;
pub mod openfhe;
pub mod openfhe_write;
mod ordered;
pub mod parts;
mod wiped;

pub use error::ForeignError;
pub use parts::{Binding, Chain, Content, ForeignCiphertext, ForeignKey, Form, Limb, Polynomial};
