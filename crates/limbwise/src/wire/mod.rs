//! Files for everything that passes between client and server: one container format, one file kind each.
//!
//! Enters: parameters, public and evaluation keys, ciphertexts, plaintexts, as bytes; secret keys under the feature
//! `client`; text of other crates (graphs, machine reports) with a checksum.
//! Stays out: names and permissions of files (the runtime opens them), the use of a key after it is read.
//!
//! Bytes come from a [`Source`], which is read at positions, and go to a [`std::io::Write`]. No input is trusted: every
//! length is checked against the file before memory is allocated, every block has a checksum, every residue is below
//! its prime. `docs/file-format.md` describes the format completely.
//!
//! Read in this order: [`source`], [`container`], [`packing`], `rows`, then one file per kind: [`params`],
//! [`public_key`], [`keys`], [`ciphertext`], [`plaintext`], [`prepared`], [`text`], [`tfhe`], [`bgv`], [`bridge`], and
//! for clients `secret`.
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
pub mod prepared;
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
#[cfg(feature = "client")]
pub(crate) use ciphertext::FreshWriter;
pub use ciphertext::{read_ciphertext, write_ciphertext};
#[cfg(feature = "client")]
pub use ciphertext::{read_fresh_ciphertext, write_fresh_ciphertext};
pub use container::{Container, FileKind, Origin, origin};
pub use error::WireError;
pub use keys::{KeyFile, KeyWriter, key_file_bytes, write_keys};
pub use params::{Fingerprint, read_params, write_params};
pub use plaintext::{read_plaintext, write_plaintext};
pub use prepared::{PreparedFile, PreparedWriter};
pub use public_key::{read_public_key, write_public_key};
#[cfg(feature = "client")]
pub use secret::{Lock, check_secret_key, read_labeled_secret_key, read_secret_key, write_secret_key};
pub use source::Source;
pub use text::{check_text, read_text, write_text};
pub use tfhe::{
    check_tfhe_keys, read_tfhe_ciphertext, read_tfhe_keys, read_tfhe_params, tfhe_fingerprint, write_tfhe_ciphertext,
    write_tfhe_keys, write_tfhe_params,
};
#[cfg(feature = "client")]
pub use tfhe::{check_tfhe_secret_key, read_labeled_tfhe_secret_key, read_tfhe_secret_key, write_tfhe_secret_key};
