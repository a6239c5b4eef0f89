//! The file of a plaintext: encoded clear values, a batch of messages of one shape.

use super::{
    ciphertext::check_packing,
    container::{Container, FileKind, Origin, Writer},
    error::WireError,
    params::fingerprint,
    rows::{Rows, write_rows},
    source::Source,
};
use crate::{
    Result,
    ckks::{Plaintext, estimate::Written},
    params::Params,
};
use limbwise_device::{Device, Handle as _, HostRead, Role, Shape};
use serde::{Deserialize, Serialize};
use std::io::Write;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    level: usize,
    #[serde(deserialize_with = "limbwise_math::finite::field")]
    scale: f64,
    slots: usize,
    batch: usize,
    estimate: Written,
}

/// Writes a plaintext. Anyone who reads the file can read its values.
///
/// # Errors
/// Errors of `out`; a device fault.
pub fn write_plaintext<W: Write, D: HostRead>(out: W, dev: &D, params: &Params, plain: &Plaintext<D>) -> Result<W> {
    let Plaintext { poly, level, scale, slots, estimate, .. } = plain;
    let (level, scale, slots, batch) = (*level, *scale, *slots, poly.shape().batch);
    check_packing(params, level, scale, slots, batch)?;
    let header = Header { level, scale, slots, batch, estimate: Written::of(estimate) };
    let mut out = Writer::begin(out, FileKind::Plaintext, fingerprint(params), &Origin::NONE, &header)?;
    write_rows(&mut out, dev, poly)?;
    Ok(out.finish()?)
}

/// Reads a plaintext.
///
/// # Errors
/// [`WireError`] for a bad file.
pub fn read_plaintext<S: Source, D: Device>(source: S, dev: &D, params: &Params) -> Result<Plaintext<D>> {
    let file = Container::open(source)?;
    file.expect(FileKind::Plaintext, Some(params))?;
    let Header { level, scale, slots, batch, estimate } = file.header()?;
    check_packing(params, level, scale, slots, batch)?;
    let estimate = estimate.read().ok_or_else(WireError::estimate)?;
    let shape = Shape::eval(params.ring(), params.basis(level)).with_batch(batch);
    let rows = Rows::new(shape.clone(), file.first());
    file.ends(rows.end())?;
    let poly = rows.read(&file, dev, shape.basis, Role::Plaintext)?;
    Ok(Plaintext { poly, level, scale, slots, estimate, shadow: None })
}
