//! Files of BGV: parameters and ciphertexts. Its key files are those of RLWE, with the fingerprint of
//! [`BgvParams::rlwe`](crate::bgv::BgvParams::rlwe).

use super::{
    ciphertext::{MOST_BATCH, Parts, write_parts},
    container::{Container, FileKind, Origin, Writer},
    error::{WireError, check},
    params::Fingerprint,
    source::Source,
};
#[cfg(feature = "client")]
use crate::bgv::FreshCiphertext;
use crate::{
    Result,
    bgv::{BgvLiteral, BgvParams, Ciphertext, noise::NoiseBound},
    rlwe::operations::times,
};
use limbwise_device::{Device, HostRead, Role, Shape};
use limbwise_math::sampling::Seed;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, io::Write};

/// Upper limit of a noise bound in bits: the size of the largest modulus.
const MOST_NOISE: f64 = 128.0 * 61.0;

/// The header: the literal and the chosen primes, chain first.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParamsHeader<'a> {
    literal: Cow<'a, BgvLiteral>,
    primes: Cow<'a, [u64]>,
}

impl<'a> ParamsHeader<'a> {
    fn of(params: &'a BgvParams) -> Self {
        let primes = Cow::Borrowed(&params.rlwe().ring().spec().primes[..]);
        Self { literal: Cow::Borrowed(params.literal()), primes }
    }
}

/// The fingerprint of a parameter set; as [`fingerprint`](super::params::fingerprint).
///
/// # Panics
/// Never: numbers and strings always serialize.
#[must_use]
pub fn bgv_fingerprint(params: &BgvParams) -> Fingerprint {
    let header = serde_json::to_vec(&ParamsHeader::of(params)).expect("numbers and strings are always written");
    Fingerprint(*blake3::hash(&header).as_bytes())
}

/// Writes a parameter set.
///
/// # Errors
/// Errors of `out`.
pub fn write_bgv_params<W: Write>(out: W, params: &BgvParams) -> Result<W> {
    Ok(Writer::begin(out, FileKind::BgvParams, bgv_fingerprint(params), &Origin::NONE, &ParamsHeader::of(params))?
        .finish()?)
}

/// Reads a parameter set and checks it like any literal.
///
/// # Errors
/// [`WireError`] for a bad file or one whose primes this version would not choose;
/// [`ParamsError`](crate::params::ParamsError).
pub fn read_bgv_params<S: Source>(source: S) -> Result<BgvParams> {
    let file = Container::open(source)?;
    file.expect_of(FileKind::BgvParams, file.fingerprint())?;
    file.ends(file.first())?;
    let ParamsHeader { literal, primes } = file.header()?;
    let params = BgvParams::new(&literal)?;
    let chosen = &params.rlwe().ring().spec().primes;
    if *chosen != *primes {
        let list = |primes: &[u64]| primes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        return Err(WireError::OtherPrimes { got: list(&primes), wanted: list(chosen) }.into());
    }
    file.expect_of(FileKind::BgvParams, bgv_fingerprint(&params))?;
    Ok(params)
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CiphertextHeader {
    level: usize,
    batch: usize,
    /// Number of polynomials: two, or three after a multiplication.
    parts: usize,
    /// The second polynomial is t times the expansion of a seed, and stored as that seed.
    seeded: bool,
    /// Factor of the message, modulo t.
    factor: u64,
    /// Index of the plaintext modulus; absent for the first.
    #[serde(default, skip_serializing_if = "is_first")]
    modulus: usize,
    /// Noise bound in bits.
    #[serde(deserialize_with = "limbwise_math::finite::field")]
    noise_bits: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_first(modulus: &usize) -> bool {
    *modulus == 0
}

impl CiphertextHeader {
    fn check(&self, params: &BgvParams) -> Result<(), WireError> {
        let Self { level, batch, parts, seeded, factor, modulus, noise_bits } = *self;
        let (top, moduli) = (params.top_level(), params.moduli());
        let t = moduli.get(modulus).map_or(0, |t| t.value());
        check(t != 0, "modulus", modulus, format!("0 to {}", moduli.len() - 1))?;
        check(level <= top, "level", level, format!("at most {top}"))?;
        check((1..=MOST_BATCH).contains(&batch), "batch", batch, format!("1 to {MOST_BATCH}"))?;
        Parts { count: parts, seeded }.check()?;
        check((1..t).contains(&factor), "factor", factor, format!("1 to {}", t - 1))?;
        let known = (0.0..=MOST_NOISE).contains(&noise_bits);
        check(known, "noise_bits", noise_bits, format!("0 to {MOST_NOISE}"))
    }
}

/// Writes a ciphertext.
///
/// # Errors
/// Errors of `out`; a device fault.
pub fn write_bgv_ciphertext<W: Write, D: HostRead>(
    out: W,
    dev: &D,
    params: &BgvParams,
    ciphertext: &Ciphertext<D>,
    origin: &Origin,
) -> Result<W> {
    write(out, dev, params, ciphertext, None, origin)
}

/// Writes a fresh ciphertext with the seed in place of its second half: half the size.
///
/// # Errors
/// The errors of [`write_bgv_ciphertext`].
#[cfg(feature = "client")]
pub fn write_fresh_bgv_ciphertext<W: Write, D: HostRead>(
    out: W,
    dev: &D,
    params: &BgvParams,
    fresh: &FreshCiphertext<D>,
    origin: &Origin,
) -> Result<W> {
    write(out, dev, params, &fresh.ciphertext, Some(&fresh.seed), origin)
}

fn write<W: Write, D: HostRead>(
    out: W,
    dev: &D,
    params: &BgvParams,
    ciphertext: &Ciphertext<D>,
    seed: Option<&Seed>,
    origin: &Origin,
) -> Result<W> {
    let Ciphertext { parts, level, factor, noise, modulus } = ciphertext;
    let (level, factor, noise_bits, modulus) = (*level, *factor, noise.bits(), *modulus);
    let (batch, seeded) = (ciphertext.batch(), seed.is_some());
    let header = CiphertextHeader { level, batch, parts: parts.len(), seeded, factor, modulus, noise_bits };
    header.check(params)?;
    let out = Writer::begin(out, FileKind::BgvCiphertext, bgv_fingerprint(params), origin, &header)?;
    write_parts(out, dev, parts, seed)
}

/// Reads a ciphertext and expands a seeded half.
///
/// # Errors
/// [`WireError`] for a bad file.
pub fn read_bgv_ciphertext<S: Source, D: Device>(source: S, dev: &D, params: &BgvParams) -> Result<Ciphertext<D>> {
    Ok(read(source, dev, params)?.0)
}

/// Reads a fresh ciphertext with the seed of its second half.
///
/// # Errors
/// [`WireError`] for a bad file or one whose second half is not a seed.
#[cfg(feature = "client")]
pub fn read_fresh_bgv_ciphertext<S: Source, D: Device>(
    source: S,
    dev: &D,
    params: &BgvParams,
) -> Result<FreshCiphertext<D>> {
    let (ciphertext, seed) = read(source, dev, params)?;
    let seed = seed.ok_or_else(|| WireError::value("seeded", false, true))?;
    Ok(FreshCiphertext { ciphertext, seed })
}

fn read<S: Source, D: Device>(source: S, dev: &D, params: &BgvParams) -> Result<(Ciphertext<D>, Option<Seed>)> {
    let file = Container::open(source)?;
    file.expect_of(FileKind::BgvCiphertext, bgv_fingerprint(params))?;
    let header: CiphertextHeader = file.header()?;
    header.check(params)?;
    let CiphertextHeader { level, batch, parts, seeded, factor, modulus, noise_bits } = header;
    let rlwe = params.rlwe();
    let shape = Shape::eval(rlwe.ring(), rlwe.basis(level)).with_batch(batch);
    let (mut parts, seed) = Parts { count: parts, seeded }.read(&file, dev, &shape)?;
    let grown = |seed: &Seed| times(dev, dev.expand_seed(&shape, Role::Ciphertext, seed), params.at(modulus).t());
    parts.extend(seed.as_ref().map(grown));
    Ok((Ciphertext { parts, level, factor, noise: NoiseBound::of_bits(noise_bits), modulus }, seed))
}
