//! Text of other crates in the container: recorded programs and machine reports, with one checksum per MiB.

use super::{
    container::{CHECKSUM, Container, FileKind, Origin, Place, Writer},
    error::WireError,
    params::Fingerprint,
    source::Source,
};
use crate::Result;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Bytes per block; the last may be shorter.
const BLOCK: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    /// Length of the text in bytes.
    bytes: u64,
}

/// Writes text as a file of kind [`FileKind::Graph`] or [`FileKind::MachineReport`].
///
/// # Errors
/// Errors of `out`.
pub fn write_text<W: Write>(out: W, kind: FileKind, text: &[u8]) -> Result<W> {
    let header = Header { bytes: text.len() as u64 };
    let mut out = Writer::begin(out, kind, Fingerprint::NONE, &Origin::NONE, &header)?;
    for block in text.chunks(1 << 20) {
        out.block(block)?;
    }
    Ok(out.finish()?)
}

/// The bytes of the text in a file of this kind, which ends behind it.
fn text_in<S: Source>(file: &Container<S>, kind: FileKind) -> Result<u64, WireError> {
    file.expect(kind, None)?;
    let Header { bytes } = file.header()?;
    let blocks = bytes.div_ceil(BLOCK);
    let end = bytes.checked_add(file.first().at).and_then(|at| at.checked_add(blocks * CHECKSUM as u64));
    let end = end.ok_or_else(|| WireError::value("bytes", bytes, "the length of the text"))?;
    file.ends(Place { block: blocks, at: end })?;
    Ok(bytes)
}

/// Checks a file of this kind without reading its text: kind, header, length.
///
/// # Errors
/// [`WireError`] for a bad file.
pub fn check_text<S: Source>(source: S, kind: FileKind) -> Result<(), WireError> {
    text_in(&Container::open(source)?, kind).map(drop)
}

/// Reads the text of a file of this kind.
///
/// # Errors
/// [`WireError`] for a bad file.
pub fn read_text<S: Source>(source: S, kind: FileKind) -> Result<Vec<u8>> {
    let file = Container::open(source)?;
    let bytes = text_in(&file, kind)?;
    let mut text = Vec::new();
    let mut place = file.first();
    let mut buffer = Vec::new();
    let mut left = bytes;
    while left > 0 {
        let length = left.min(BLOCK);
        buffer.resize(usize::try_from(length).unwrap_or(0) + CHECKSUM, 0);
        text.extend_from_slice(file.block(place, &mut buffer)?);
        place = place.behind(1, length);
        left -= length;
    }
    Ok(text)
}
