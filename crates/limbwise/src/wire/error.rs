//! What can be wrong with a file.

use super::{container::FileKind, params::Fingerprint};
use std::io;

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The system refused.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// Other bytes at the beginning.
    #[error("this is no file of limbwise: it begins with {got}, wanted \"LIMBWISE\"; check the path")]
    NotOurs {
        /// The first bytes.
        got: String,
    },
    /// A version that this program does not know.
    #[error(
        "the file has format version {got}, this program reads 1 and 2: use the limbwise that wrote it, or a newer one"
    )]
    Version {
        /// Its version.
        got: u16,
    },
    /// A file kind that no version has.
    #[error("the file has kind {got}, and there are 1 to {}: it is damaged; fetch it again", FileKind::ALL.len())]
    UnknownKind {
        /// The number.
        got: u16,
    },
    /// A file for something else.
    #[error("the file holds {got}, wanted {wanted}: check which file goes where (limbwise inspect names its kind)")]
    Kind {
        /// What it holds.
        got: FileKind,
        /// What was asked for.
        wanted: FileKind,
    },
    /// Longer or shorter than its header says.
    #[error("the file has {got} bytes, its header says {wanted}: it is cut off or damaged; fetch it again")]
    Length {
        /// Bytes there are.
        got: u64,
        /// Bytes there should be.
        wanted: u64,
    },
    /// A header longer than any.
    #[error("the header has {got} bytes, at most {most} are possible: the file is damaged, or holds too many keys")]
    HeaderLength {
        /// Its length.
        got: u64,
        /// The limit.
        most: u64,
    },
    /// A checksum that differs.
    #[error("{what} is damaged (its checksum differs): fetch the file again")]
    Checksum {
        /// The part of the file.
        what: String,
    },
    /// A header that is none.
    #[error("the header cannot be understood: {problem} (format: docs/file-format.md)")]
    Header {
        /// What is wrong.
        problem: String,
    },
    /// A value out of its range.
    #[error(
        "{field} is {got}, wanted {wanted}: the file was written by a faulty program (format: docs/file-format.md)"
    )]
    Value {
        /// The field.
        field: &'static str,
        /// What it is.
        got: String,
        /// What it may be.
        wanted: String,
    },
    /// Made for another parameter set.
    #[error(
        "the file was made for parameters {got}, these are {wanted}: use the parameters that came with it (limbwise inspect prints both)"
    )]
    OtherParameters {
        /// What the file was made for.
        got: Fingerprint,
        /// What it is read for.
        wanted: Fingerprint,
    },
    /// A file of another program, key set or inputs.
    #[error(
        "the file belongs to another {what}: it says {got}, wanted {wanted}; use the files that were made together (limbwise inspect prints what each belongs to)"
    )]
    Origin {
        /// What differs.
        what: &'static str,
        /// What the file says.
        got: String,
        /// What was asked for.
        wanted: String,
    },
    /// Parameters of a program that chose other primes.
    #[error(
        "these parameters name the primes {got}, this program chooses {wanted} for them: use the version that wrote the file, or write the primes themselves"
    )]
    OtherPrimes {
        /// Primes of the file.
        got: String,
        /// Primes of this program.
        wanted: String,
    },
    /// A residue that is none.
    #[error(
        "block {block} has a residue {got}, wanted less than its prime {prime}: the file was written by a faulty program"
    )]
    Residue {
        /// Number of the block.
        block: u64,
        /// The largest value in it.
        got: u64,
        /// The prime.
        prime: u64,
    },
    /// A uniform half without the seed that it was grown from.
    #[error("{what} has no seed: only keys that were made here or read from a file can be written")]
    NoSeed {
        /// The key.
        what: String,
    },
    /// An estimate that would tell what nobody should know.
    #[error(
        "what the ciphertext promises of its values was measured from them, and would tell them to every reader of the file: state bounds that hold for any input first (Ciphertext::promised)"
    )]
    Measured,
    /// Keys written in another order than announced.
    #[error(
        "{got} at level {got_level} was written where the file announces {wanted}: write the keys in order of their names"
    )]
    Order {
        /// The key that came.
        got: String,
        /// Its level.
        got_level: usize,
        /// What should have come.
        wanted: String,
    },
    /// A secret that is locked.
    #[cfg(feature = "client")]
    #[error("the secret key is locked: give its passphrase")]
    Locked,
    /// A passphrase that does not open it.
    #[cfg(feature = "client")]
    #[error("the passphrase does not open this secret key: try again, or the file is damaged")]
    Passphrase,
}

impl WireError {
    /// An error of the system, with what was being done.
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }

    /// An estimate that no computation has.
    pub(crate) fn estimate() -> Self {
        Self::value("estimate", "impossible", "numbers from 0 on and at most 8 sources")
    }

    /// A value out of its range.
    pub(crate) fn value(field: &'static str, got: impl ToString, wanted: impl ToString) -> Self {
        Self::Value { field, got: got.to_string(), wanted: wanted.to_string() }
    }
}

/// `Ok` where it holds, else the error of a value.
pub(crate) fn check(
    holds: bool,
    field: &'static str,
    got: impl ToString,
    wanted: impl ToString,
) -> Result<(), WireError> {
    if holds { Ok(()) } else { Err(WireError::value(field, got, wanted)) }
}
