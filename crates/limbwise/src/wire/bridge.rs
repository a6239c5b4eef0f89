//! The file of the key from slots to LWE: a seed and bodies. The other keys of a bridge are evaluation keys.

use super::{
    container::{CHECKSUM, Container, FileKind, Origin, Writer},
    packing::{pack, packed_bytes, unpack},
    params::{Fingerprint, fingerprint},
    public_key::read_seed,
    source::Source,
    tfhe::tfhe_fingerprint,
};
use crate::{
    Result,
    bridge::{
        BridgeParams, ToLweBodies,
        key::{LEVELS, LOG_MODULUS},
    },
    tfhe::KeyTag,
};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Size of a seed in bytes.
const SEED: u64 = 32;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    /// Tag of the TFHE client key that it switches to.
    tag: u64,
}

/// The fingerprint of a pair of parameter sets: the hash of both fingerprints, CKKS first.
#[must_use]
pub fn bridge_fingerprint(params: &BridgeParams) -> Fingerprint {
    let names = [fingerprint(params.ckks()).0, tfhe_fingerprint(params.tfhe()).0].concat();
    Fingerprint(*blake3::hash(&names).as_bytes())
}

/// Writes a key from slots to LWE: its seed, then its bodies, N words per block.
///
/// # Errors
/// Errors of `out`.
pub fn write_to_lwe_key<W: Write>(out: W, key: &ToLweBodies, origin: &Origin) -> Result<W> {
    let header = Header { tag: key.tag.0 };
    let mut out = Writer::begin(out, FileKind::ToLweKey, bridge_fingerprint(&key.params), origin, &header)?;
    out.block(&key.seed.0)?;
    let mut bytes = Vec::new();
    for bodies in key.bodies.chunks(key.params.ckks().ring().n()) {
        bytes.clear();
        pack(bodies, LOG_MODULUS, &mut bytes);
        out.block(&bytes)?;
    }
    Ok(out.finish()?)
}

/// Reads a key from slots to LWE.
///
/// # Errors
/// [`WireError`](super::WireError) for a bad file.
pub fn read_to_lwe_key<S: Source>(source: S, params: &BridgeParams) -> Result<ToLweBodies> {
    let file = Container::open(source)?;
    file.expect_of(FileKind::ToLweKey, bridge_fingerprint(params))?;
    let Header { tag } = file.header()?;
    let words = params.ckks().ring().n();
    let size = packed_bytes(words, LOG_MODULUS);
    let begin = file.first().behind(1, SEED);
    file.ends(begin.behind(LEVELS.into(), u64::from(LEVELS) * size as u64))?;
    let seed = read_seed(&file, file.first())?;
    let mut bodies = vec![0; words * LEVELS as usize];
    let mut bytes = vec![0; size + CHECKSUM];
    for (i, bodies) in (0..).zip(bodies.chunks_mut(words)) {
        let payload = file.block(begin.behind(i, i * size as u64), &mut bytes)?;
        unpack(payload, LOG_MODULUS, bodies);
    }
    Ok(ToLweBodies { params: params.clone(), tag: KeyTag(tag), seed, bodies })
}
