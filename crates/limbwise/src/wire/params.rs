//! The file of a parameter set, and the fingerprint by which other files name it.

use super::{
    container::{Container, FileKind, Origin, Writer},
    error::WireError,
    source::Source,
};
use crate::{
    Result,
    params::{Params, ParamsLiteral},
};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt, io::Write};

/// The identity of a parameter set: the BLAKE3 hash of its file's header without `low_level`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// The fingerprint of files without parameters.
    pub const NONE: Self = Self([0; 32]);
}

impl fmt::Display for Fingerprint {
    /// The first half in hexadecimal: enough to tell sets apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(16).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// The header: the literal and the chosen primes, chain first.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header<'a> {
    literal: Cow<'a, ParamsLiteral>,
    primes: Cow<'a, [u64]>,
}

impl<'a> Header<'a> {
    fn of(params: &'a Params) -> Self {
        Self { literal: Cow::Borrowed(params.literal()), primes: Cow::Borrowed(&params.ring().spec().primes) }
    }
}

/// The fingerprint of a parameter set. Equal literals with equal primes have equal fingerprints, in every version and
/// on every machine. Which levels have keys of their own does not count: secret keys and ciphertexts are the same.
///
/// # Panics
/// Never: numbers and strings always serialize.
#[must_use]
pub fn fingerprint(params: &Params) -> Fingerprint {
    let literal = ParamsLiteral { low_level: None, ..params.literal().clone() };
    let header = Header { literal: Cow::Owned(literal), ..Header::of(params) };
    let header = serde_json::to_vec(&header).expect("numbers and strings are always written");
    Fingerprint(*blake3::hash(&header).as_bytes())
}

/// Writes a parameter set.
///
/// # Errors
/// Errors of `out`.
pub fn write_params<W: Write>(out: W, params: &Params) -> Result<W> {
    Ok(Writer::begin(out, FileKind::Params, fingerprint(params), &Origin::NONE, &Header::of(params))?.finish()?)
}

/// Reads a parameter set and checks it like any literal.
///
/// # Errors
/// [`WireError`] for a bad file or one whose primes this version would not choose;
/// [`ParamsError`](crate::params::ParamsError).
pub fn read_params<S: Source>(source: S) -> Result<Params> {
    let file = Container::open(source)?;
    file.expect(FileKind::Params, None)?;
    file.ends(file.first())?;
    let Header { literal, primes } = file.header()?;
    let params = Params::new(&literal)?;
    let chosen = &params.ring().spec().primes;
    if *chosen != *primes {
        let list = |primes: &[u64]| primes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        return Err(WireError::OtherPrimes { got: list(&primes), wanted: list(chosen) }.into());
    }
    let wanted = fingerprint(&params);
    if file.fingerprint() != wanted {
        return Err(WireError::OtherParameters { got: file.fingerprint(), wanted }.into());
    }
    Ok(params)
}
