//! The file of a ciphertext: a batch of messages of one shape.

use super::{
    container::{Container, FileKind, Origin, Writer},
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

/// Largest batch of a file.
pub(super) const MOST_BATCH: usize = 1 << 20;
/// Size of a seed in bytes.
const SEED: u64 = 32;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    level: usize,
    #[serde(deserialize_with = "limbwise_math::finite::field")]
    scale: f64,
    slots: usize,
    batch: usize,
    /// Number of polynomials: two, or three after a multiplication.
    parts: usize,
    /// The second polynomial is stored as its seed.
    seeded: bool,
    estimate: Written,
}

/// Checks the fields that plaintexts and ciphertexts share.
pub(super) fn check_packing(
    params: &Params,
    level: usize,
    scale: f64,
    slots: usize,
    batch: usize,
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
/// [`WireError::Measured`] if its estimate would reveal the values; errors of `out`; a device fault.
pub fn write_ciphertext<W: Write, D: HostRead>(
    out: W,
    dev: &D,
    params: &Params,
    ciphertext: &Ciphertext<D>,
    origin: &Origin,
) -> Result<W> {
    write(out, dev, params, ciphertext, None, origin)
}

/// Writes a fresh ciphertext with the seed in place of its second half: half the size.
///
/// # Errors
/// The errors of [`write_ciphertext`].
#[cfg(feature = "client")]
pub fn write_fresh_ciphertext<W: Write, D: HostRead>(
    out: W,
    dev: &D,
    params: &Params,
    fresh: &FreshCiphertext<D>,
    origin: &Origin,
) -> Result<W> {
    write(out, dev, params, &fresh.ciphertext, Some(&fresh.seed), origin)
}

fn write<W: Write, D: HostRead>(
    out: W,
    dev: &D,
    params: &Params,
    ciphertext: &Ciphertext<D>,
    seed: Option<&Seed>,
    origin: &Origin,
) -> Result<W> {
    let parts = Parts { count: ciphertext.parts.len(), seeded: seed.is_some() };
    let out = begin(out, params, ciphertext, (ciphertext.batch(), parts), origin)?;
    write_parts(out, dev, &ciphertext.parts, seed)
}

/// Writes the header.
fn begin<W: Write, D: Device>(
    out: W,
    params: &Params,
    ciphertext: &Ciphertext<D>,
    (batch, parts): (usize, Parts),
    origin: &Origin,
) -> Result<Writer<W>> {
    let &Ciphertext { level, scale, slots, ref estimate, .. } = ciphertext;
    if estimate.is_measured() {
        return Err(WireError::Measured.into());
    }
    check_packing(params, level, scale, slots, batch)?;
    let Parts { count: parts, seeded } = parts;
    let header = Header { level, scale, slots, batch, parts, seeded, estimate: Written::of(estimate) };
    Ok(Writer::begin(out, FileKind::Ciphertext, fingerprint(params), origin, &header)?)
}

/// Writes what [`write_fresh_ciphertext`] writes, some entries of the batch at a time.
#[cfg(feature = "client")]
pub(crate) struct FreshWriter<W>(Writer<W>);

#[cfg(feature = "client")]
impl<W: Write> FreshWriter<W> {
    /// Writes header and seed for a ciphertext of so many entries, which has no polynomials yet.
    pub(crate) fn begin<D: Device>(
        out: W,
        params: &Params,
        ciphertext: &Ciphertext<D>,
        batch: usize,
        seed: &Seed,
        origin: &Origin,
    ) -> Result<Self> {
        let mut out = begin(out, params, ciphertext, (batch, Parts { count: 2, seeded: true }), origin)?;
        out.block(&seed.0)?;
        Ok(Self(out))
    }

    /// Writes the first half of the next entries.
    pub(crate) fn push<D: HostRead>(&mut self, dev: &D, poly: &D::Poly) -> Result<()> {
        write_rows(&mut self.0, dev, poly)
    }

    pub(crate) fn finish(self) -> Result<W> {
        Ok(self.0.finish()?)
    }
}

/// Reads a ciphertext and expands a seeded half.
///
/// # Errors
/// [`WireError`] for a bad file.
pub fn read_ciphertext<S: Source, D: Device>(source: S, dev: &D, params: &Params) -> Result<Ciphertext<D>> {
    Ok(read(source, dev, params)?.0)
}

/// Reads a fresh ciphertext with the seed of its second half.
///
/// # Errors
/// [`WireError`] for a bad file or one whose second half is not a seed.
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
    check_packing(params, level, scale, slots, batch)?;
    let parts = Parts { count: parts, seeded };
    parts.check()?;
    let estimate = estimate.read().ok_or_else(WireError::estimate)?;
    let shape = Shape::eval(params.ring(), params.basis(level)).with_batch(batch);
    let (mut parts, seed) = parts.read(&file, dev, &shape)?;
    parts.extend(seed.as_ref().map(|seed| dev.expand_seed(&shape, Role::Ciphertext, seed)));
    Ok((Ciphertext { parts, level, scale, slots, estimate, shadow: None }, seed))
}

/// The polynomials of a ciphertext, last in its file: all of them, or the first and the seed of the second.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    /// Number of polynomials: two, or three after a multiplication.
    pub(super) count: usize,
    /// The second of two polynomials is stored as its seed.
    pub(super) seeded: bool,
}

impl Parts {
    pub(super) fn check(self) -> Result<(), WireError> {
        let (parts, most) = (self.count, if self.seeded { 2 } else { 3 });
        check((2..=most).contains(&parts), "parts", parts, format!("2 to {most}"))
    }

    /// Number of polynomials stored in full.
    fn stored(self) -> usize {
        if self.seeded { 1 } else { self.count }
    }

    /// Reads the polynomials, and the seed if there is one. Fails before reading unless the file ends after them.
    pub(super) fn read<S: Source, D: Device>(
        self,
        file: &Container<S>,
        dev: &D,
        shape: &Shape,
    ) -> Result<(Vec<D::Poly>, Option<Seed>), WireError> {
        let mut at = if self.seeded { file.first().behind(1, SEED) } else { file.first() };
        let mut stored = Vec::new();
        for _ in 0..self.stored() {
            let rows = Rows::new(shape.clone(), at);
            at = rows.end();
            stored.push(rows);
        }
        file.ends(at)?;
        let seed = if self.seeded { Some(read_seed(file, file.first())?) } else { None };
        let polynomial = |rows: &Rows| rows.read(file, dev, shape.basis, Role::Ciphertext);
        Ok((stored.iter().map(polynomial).collect::<Result<_, _>>()?, seed))
    }
}

/// Writes the polynomials after a header, with a seed in place of the second if given, and ends the file.
pub(super) fn write_parts<W: Write, D: HostRead>(
    mut out: Writer<W>,
    dev: &D,
    parts: &[D::Poly],
    seed: Option<&Seed>,
) -> Result<W> {
    if let Some(seed) = seed {
        out.block(&seed.0)?;
    }
    let stored = Parts { count: parts.len(), seeded: seed.is_some() }.stored();
    for part in parts.iter().take(stored) {
        write_rows(&mut out, dev, part)?;
    }
    Ok(out.finish()?)
}
