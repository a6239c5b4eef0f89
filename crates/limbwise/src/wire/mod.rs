//! Files for everything that passes between client and server: one container, one file kind each.
//!
//! Enters: parameters, public and evaluation keys, ciphertexts, plaintexts, as bytes; secret keys under the feature
//! `client`; text of other rooms (graphs, machine reports) with a checksum.
//! Stays out: names and permissions of files (the runtime opens them), what is done with a key once it is read.
//!
//! Bytes come from a [`Source`], which is read at positions, and go to a [`std::io::Write`]. Nothing that is read is
//! trusted: every length is compared with what is there before memory is asked for, every block has a checksum, every
//! residue is below its prime. The format is described in `docs/file-format.md`, completely.
//!
//! Read in this order: [`source`], [`container`], [`packing`], `rows`, then a file a kind: [`params`], [`public_key`],
//! [`keys`], [`ciphertext`], [`plaintext`], [`text`], [`tfhe`], [`bgv`], [`bridge`], and for clients `secret`.
#![deny(clippy::indexing_slicing)]

pub mod bgv;
pub mod bridge;
pub mod ciphertext;
pub mod container;
pub mod error;
pub mod keys;
pub mod packing;
pub mod params;
pub mod plaintext;
pub mod public_key;
mod rows;
#[cfg(feature = "client")]
pub mod secret;
pub mod source;
pub mod text;
pub mod tfhe;

pub use bgv::{bgv_fingerprint, read_bgv_ciphertext, read_bgv_params, write_bgv_ciphertext, write_bgv_params};
#[cfg(feature = "client")]
pub use bgv::{read_fresh_bgv_ciphertext, write_fresh_bgv_ciphertext};
pub use bridge::{bridge_fingerprint, read_to_lwe_key, write_to_lwe_key};
pub use ciphertext::{read_ciphertext, write_ciphertext};
#[cfg(feature = "client")]
pub use ciphertext::{read_fresh_ciphertext, write_fresh_ciphertext};
pub use container::{Container, FileKind, Origin, origin};
pub use error::WireError;
pub use keys::{KeyFile, KeyWriter, key_file_bytes, write_keys};
pub use params::{Fingerprint, read_params, write_params};
pub use plaintext::{read_plaintext, write_plaintext};
pub use public_key::{read_public_key, write_public_key};
#[cfg(feature = "client")]
pub use secret::{Lock, read_labelled_secret_key, read_secret_key, write_secret_key};
pub use source::Source;
pub use text::{read_text, write_text};
pub use tfhe::{
    check_tfhe_keys, read_tfhe_ciphertext, read_tfhe_keys, read_tfhe_params, tfhe_fingerprint, write_tfhe_ciphertext,
    write_tfhe_keys, write_tfhe_params,
};
#[cfg(feature = "client")]
pub use tfhe::{read_labelled_tfhe_secret_key, read_tfhe_secret_key, write_tfhe_secret_key};
