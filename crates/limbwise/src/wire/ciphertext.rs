//! The file of a ciphertext: a batch of messages of one shape.

use super::{
    container::{Container, FileKind, Writer},
    error::{WireError, check},
    params::fingerprint,
    public_key::read_seed,
    rows::{Rows, write_rows},
    source::Source,
};
#[cfg(feature = "client")]
use crate::ckks::FreshCiphertext;
use crate::{
    Result,
    ckks::{Ciphertext, estimate::Written},
    params::Params,
};
use limbwise_device::{Device, HostRead, Role, Shape};
use limbwise_math::sampling::Seed;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Most messages of a batch.
pub(super) const MOST_BATCH: usize = 1 << 20;
/// Bytes of a seed.
const SEED: u64 = 32;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    level: usize,
    scale: f64,
    slots: usize,
    batch: usize,
    /// Polynomials: two, or three after a multiplication.
    parts: usize,
    /// The second polynomial is kept as its seed.
    seeded: bool,
    estimate: Written,
}

/// What plaintexts and ciphertexts share.
pub(super) fn check_packing(
    params: &Params,
    (level, scale): (usize, f64),
    (slots, batch): (usize, usize),
) -> Result<(), WireError> {
    let (top, most) = (params.top_level(), params.max_slots());
    check(level <= top, "level", level, format!("at most {top}"))?;
    check(scale.is_normal() && scale > 0.0, "scale", scale, "a positive number")?;
    check(slots.is_power_of_two() && slots <= most, "slots", slots, format!("a power of two up to {most}"))?;
    check((1..=MOST_BATCH).contains(&batch), "batch", batch, format!("1 to {MOST_BATCH}"))
}

/// Writes a ciphertext.
///
/// # Errors
/// [`WireError::Measured`] if its estimate would tell something of its values; those of `out`; a device fault.
pub fn write_ciphertext<W: Write, D: HostRead>(
    out: W,
    dev: &D,
    params: &Params,
    ciphertext: &Ciphertext<D>,
) -> Result<W> {
    write(out, dev, params, ciphertext, None)
}

/// Writes a fresh ciphertext with the seed of its second half: half the size.
///
/// # Errors
/// As [`write_ciphertext`].
#[cfg(feature = "client")]
pub fn write_fresh_ciphertext<W: Write, D: HostRead>(
    out: W,
    dev: &D,
    params: &Params,
    fresh: &FreshCiphertext<D>,
) -> Result<W> {
    write(out, dev, params, &fresh.ciphertext, Some(&fresh.seed))
}

fn write<W: Write, D: HostRead>(
    out: W,
    dev: &D,
    params: &Params,
    ciphertext: &Ciphertext<D>,
    seed: Option<&Seed>,
) -> Result<W> {
    let Ciphertext { parts, level, scale, slots, estimate, .. } = ciphertext;
    if estimate.is_measured() {
        return Err(WireError::Measured.into());
    }
    let (level, scale, slots, batch) = (*level, *scale, *slots, ciphertext.batch());
    check_packing(params, (level, scale), (slots, batch))?;
    let (parts, seeded, estimate) = (parts.len(), seed.is_some(), Written::of(estimate));
    let header = Header { level, scale, slots, batch, parts, seeded, estimate };
    let mut out = Writer::begin(out, FileKind::Ciphertext, fingerprint(params), &header)?;
    if let Some(seed) = seed {
        out.block(&seed.0)?;
    }
    let stored = if seeded { 1 } else { parts };
    for part in ciphertext.parts.iter().take(stored) {
        write_rows(&mut out, dev, part)?;
    }
    Ok(out.finish()?)
}

/// Reads a ciphertext; a half that is kept as its seed is grown.
///
/// # Errors
/// [`WireError`].
pub fn read_ciphertext<S: Source, D: Device>(source: S, dev: &D, params: &Params) -> Result<Ciphertext<D>> {
    Ok(read(source, dev, params)?.0)
}

/// Reads a ciphertext with the seed of its second half.
///
/// # Errors
/// [`WireError`], also for one whose second half is no seed.
#[cfg(feature = "client")]
pub fn read_fresh_ciphertext<S: Source, D: Device>(source: S, dev: &D, params: &Params) -> Result<FreshCiphertext<D>> {
    let (ciphertext, seed) = read(source, dev, params)?;
    let seed = seed.ok_or_else(|| WireError::value("seeded", false, true))?;
    Ok(FreshCiphertext { ciphertext, seed })
}

fn read<S: Source, D: Device>(source: S, dev: &D, params: &Params) -> Result<(Ciphertext<D>, Option<Seed>)> {
    let file = Container::open(source)?;
    file.expect(FileKind::Ciphertext, Some(params))?;
    let Header { level, scale, slots, batch, parts, seeded, estimate } = file.header()?;
    check_packing(params, (level, scale), (slots, batch))?;
    let most = if seeded { 2 } else { 3 };
    check((2..=most).contains(&parts), "parts", parts, format!("2 to {most}"))?;
    let estimate = estimate.read().ok_or_else(WireError::estimate)?;
    let shape = Shape::eval(params.ring(), params.basis(level)).with_batch(batch);
    let begin = if seeded { file.first().behind(1, SEED) } else { file.first() };
    let mut stored = vec![Rows::new(shape.clone(), begin)];
    for _ in 1..if seeded { 1 } else { parts } {
        let begin = stored.last().map_or(begin, Rows::end);
        stored.push(Rows::new(shape.clone(), begin));
    }
    file.ends(stored.last().map_or(begin, Rows::end))?;
    let seed = if seeded { Some(read_seed(&file, file.first())?) } else { None };
    let read = |rows: &Rows| rows.read(&file, dev, shape.basis, Role::Ciphertext);
    let mut parts = stored.iter().map(read).collect::<Result<Vec<D::Poly>, WireError>>()?;
    parts.extend(seed.as_ref().map(|seed| dev.expand_seed(&shape, Role::Ciphertext, seed)));
    Ok((Ciphertext { parts, level, scale, slots, estimate, shadow: None }, seed))
}
