//! The file of a public encryption key: the seed of its uniform half, and the other half.

use super::{
    container::{CHECKSUM, Container, FileKind, Origin, Place, Writer},
    error::WireError,
    params::fingerprint,
    rows::{Rows, write_rows},
    source::Source,
};
use crate::{Result, params::Params, rlwe::PublicKey};
use limbwise_device::{Device, HostRead, Role, Shape};
use limbwise_math::sampling::Seed;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Size of a seed in bytes.
const SEED: usize = 32;

/// An empty header: the parameters determine the content.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {}

/// Writes a public key.
///
/// # Errors
/// [`WireError::NoSeed`] for a key of another library; errors of `out`; a device fault.
pub fn write_public_key<W: Write, D: HostRead>(
    out: W,
    dev: &D,
    params: &Params,
    key: &PublicKey<D>,
    origin: &Origin,
) -> Result<W> {
    let seed = key.seed.as_ref().ok_or_else(|| WireError::NoSeed { what: "the public key".into() })?;
    let mut out = Writer::begin(out, FileKind::PublicKey, fingerprint(params), origin, &Header {})?;
    out.block(&seed.0)?;
    let [masked, _] = &key.parts;
    write_rows(&mut out, dev, masked)?;
    Ok(out.finish()?)
}

/// Reads a public key.
///
/// # Errors
/// [`WireError`] for a bad file.
pub fn read_public_key<S: Source, D: Device>(source: S, dev: &D, params: &Params) -> Result<PublicKey<D>> {
    let file = Container::open(source)?;
    file.expect(FileKind::PublicKey, Some(params))?;
    let Header {} = file.header()?;
    let shape = Shape::eval(params.ring(), params.reached(params.top_level()));
    let rows = Rows::new(shape.clone(), file.first().behind(1, SEED as u64));
    file.ends(rows.end())?;
    let seed = read_seed(&file, file.first())?;
    let masked = rows.read(&file, dev, shape.basis, Role::Temporary)?;
    Ok(PublicKey { parts: [masked, dev.expand_seed(&shape, Role::Temporary, &seed)], seed: Some(seed) })
}

/// Reads a block that is one seed.
pub(super) fn read_seed<S: Source>(file: &Container<S>, place: Place) -> Result<Seed, WireError> {
    let mut bytes = [0; SEED + CHECKSUM];
    let payload = file.block(place, &mut bytes)?;
    Ok(Seed(*payload.first_chunk().unwrap_or(&[0; SEED])))
}
