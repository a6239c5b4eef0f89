//! Errors of files.

use super::{container::FileKind, params::Fingerprint};
use std::io;

/// Reasons why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// An input or output error of the system.
    #[error("{doing}: {source}")]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The file does not begin with the magic bytes.
    #[error("this is not a limbwise file: it begins with {got}, wanted \"LIMBWISE\"; check the path")]
    NotOurs {
        /// The first bytes.
        got: String,
    },
    /// Unknown format version.
    #[error(
        "the file has format version {got}, this program reads 1 and 2: use the limbwise that wrote it, or a newer one"
    )]
    Version {
        /// Version of the file.
        got: u16,
    },
    /// Unknown file kind.
    #[error("the file has kind {got}, and there are 1 to {}: it is damaged; fetch it again", FileKind::ALL.len())]
    UnknownKind {
        /// Number of the kind.
        got: u16,
    },
    /// A file of the wrong kind.
    #[error("the file holds {got}, wanted {wanted}: check which file goes where (limbwise inspect names its kind)")]
    Kind {
        /// Kind of the file.
        got: FileKind,
        /// Kind wanted.
        wanted: FileKind,
    },
    /// A file longer or shorter than its header says.
    #[error("the file has {got} bytes, its header says {wanted}: it is cut off or damaged; fetch it again")]
    Length {
        /// Length of the file in bytes.
        got: u64,
        /// Length by the header in bytes.
        wanted: u64,
    },
    /// A header above the size limit.
    #[error("the header has {got} bytes, at most {most} are possible: the file is damaged, or holds too many keys")]
    HeaderLength {
        /// Length of the header in bytes.
        got: u64,
        /// Limit in bytes.
        most: u64,
    },
    /// A checksum does not match.
    #[error("{what} is damaged (its checksum differs): fetch the file again")]
    Checksum {
        /// The damaged part of the file.
        what: String,
    },
    /// A header that cannot be parsed.
    #[error("the header cannot be understood: {problem} (format: docs/file-format.md)")]
    Header {
        /// Description of the problem.
        problem: String,
    },
    /// A header field outside its range.
    #[error(
        "{field} is {got}, wanted {wanted}: the file was written by a faulty program (format: docs/file-format.md)"
    )]
    Value {
        /// Name of the field.
        field: &'static str,
        /// Value given.
        got: String,
        /// Values allowed.
        wanted: String,
    },
    /// A file for another parameter set.
    #[error(
        "the file was made for parameters {got}, these are {wanted}: use the parameters that came with it (limbwise inspect prints both)"
    )]
    OtherParameters {
        /// Fingerprint in the file.
        got: Fingerprint,
        /// Fingerprint wanted.
        wanted: Fingerprint,
    },
    /// A file of another program, key set or inputs.
    #[error(
        "the file belongs to another {what}: it says {got}, wanted {wanted}; use the files that were made together (limbwise inspect prints what each belongs to)"
    )]
    Origin {
        /// Name of the part of the origin that differs.
        what: &'static str,
        /// Value in the file.
        got: String,
        /// Value wanted.
        wanted: String,
    },
    /// A prepared model that another version encoded.
    #[error("the model was prepared by encoding {got}, this program has encoding {wanted}: prepare it again")]
    Encoding {
        /// Number in the file.
        got: u32,
        /// Number of this version.
        wanted: u32,
    },
    /// A prepared model whose plaintexts are not those that the program takes.
    #[error("plaintext {number} of the prepared model is {got}, the program takes {wanted}: prepare the model again")]
    Plaintext {
        /// Number of the plaintext, from 0.
        number: u64,
        /// What the file has.
        got: String,
        /// What the program takes.
        wanted: String,
    },
    /// A parameter file with primes that this version would not choose.
    #[error(
        "these parameters name the primes {got}, this program chooses {wanted} for them: use the version that wrote the file, or write the primes themselves"
    )]
    OtherPrimes {
        /// Primes in the file.
        got: String,
        /// Primes that this version chooses.
        wanted: String,
    },
    /// A residue that is not below its prime.
    #[error(
        "block {block} has a residue {got}, wanted less than its prime {prime}: the file was written by a faulty program"
    )]
    Residue {
        /// Number of the block.
        block: u64,
        /// Largest value in the block.
        got: u64,
        /// Prime of the block.
        prime: u64,
    },
    /// A uniform half without its seed.
    #[error("{what} has no seed: only keys that were made here or read from a file can be written")]
    NoSeed {
        /// Description of the key.
        what: String,
    },
    /// An estimate that would reveal private values.
    #[error(
        "the ciphertext's public metadata were measured from its values and would leak them to every reader of the file: state bounds that hold for any input first (bound= where it is encrypted; in Rust Ciphertext::with_promise)"
    )]
    Measured,
    /// Keys written in an order other than announced.
    #[error(
        "{got} at level {got_level} was written where the file announces {wanted}: write the keys in order of their names"
    )]
    Order {
        /// The key given.
        got: String,
        /// Level of the key given.
        got_level: usize,
        /// The key expected.
        wanted: String,
    },
    /// A locked key without a passphrase.
    #[cfg(feature = "client")]
    #[error("the secret key is locked: give its passphrase")]
    Locked,
    /// A passphrase that does not unlock the key.
    #[cfg(feature = "client")]
    #[error("the passphrase does not open this secret key: try again, or the file is damaged")]
    Passphrase,
}

impl WireError {
    /// An error of the system, with the operation that failed.
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }

    /// An estimate that no computation gives.
    pub(crate) fn estimate() -> Self {
        Self::value("estimate", "impossible", "numbers from 0 on and at most 8 sources")
    }

    /// A value outside its range.
    pub(crate) fn value(field: &'static str, got: impl ToString, wanted: impl ToString) -> Self {
        Self::Value { field, got: got.to_string(), wanted: wanted.to_string() }
    }
}

/// `Ok` if the condition holds, else the error of a value.
pub(crate) fn check(
    holds: bool,
    field: &'static str,
    got: impl ToString,
    wanted: impl ToString,
) -> Result<(), WireError> {
    if holds { Ok(()) } else { Err(WireError::value(field, got, wanted)) }
}
