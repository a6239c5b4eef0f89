//! Ciphertexts and keys of FHETCH's reference interpreter: an `.npz` has `moduli`, of a ciphertext `scale`, and a row of
//! values for each polynomial and prime (`ct_0_limb_i`, `ct_1_limb_i`; `limb_i` of a polynomial alone).
//!
//! Value k is the polynomial at ψ^(2k+1), ψ = g^((q−1)/2N) with the least primitive root g: a permutation of the values here,
//! whose root and order are others. A key has a file for each digit and half, with the moduli of Q and P; digits are
//! consecutive primes, as many as P has, which a parameter set here must have as well.

use super::{
    super::order::{self, Order},
    npz::{Arrays, NpzError, Writer},
};
use limbwise::{
    Complex64,
    ckks::{Ciphertext, Estimate},
    params::Params,
    rlwe::{EvaluationKey, KeyName, KeyPair, UniformHalf},
};
use limbwise_apps::data::npy::{self, Parts};
use limbwise_device::{Basis, Device, HostRead, Role, Shape};
use limbwise_math::modulus::Modulus;
use std::{
    io::{Seek, Write},
    path::Path,
};

/// For each value there, its place here.
fn places(q: Modulus, log_n: u32) -> Vec<usize> {
    order::places(q, log_n, order::least_root(q, log_n), Order::Natural).expect("a root of the order 2N")
}

/// Rows of a polynomial there, as words here.
fn read_rows(arrays: &Arrays, params: &Params, basis: Basis, prefix: &str) -> Result<Vec<u64>, NpzError> {
    let (n, log_n) = (params.ring().n(), params.log_n());
    let mut words = Vec::with_capacity(n * basis.len());
    for (at, q) in params.ring().moduli_of(basis).into_iter().enumerate() {
        let name = format!("{prefix}limb_{at}");
        let row = arrays.wholes(&name)?;
        if row.values.len() != n {
            return Err(arrays.field(&name, format!("{} values", row.values.len()), format!("{n} (N)")));
        }
        let bound = i128::from(q.value());
        if let Some(wrong) = row.values.iter().find(|x| x.abs() >= bound) {
            return Err(arrays.field(&name, wrong, format!("residues of {}", q.value())));
        }
        // Their tools leave some residues centered.
        let residue = |x: i128| u64::try_from(x.rem_euclid(bound)).expect("below a modulus of 64 bits");
        let mut limb = vec![0; n];
        for (place, &x) in places(q, log_n).into_iter().zip(&row.values) {
            limb[place] = residue(x);
        }
        words.extend(limb);
    }
    Ok(words)
}

/// Checks that the moduli are these primes, in their order.
/// Whether these are the primes of a basis.
fn has_moduli(params: &Params, basis: Basis, got: &[i128]) -> bool {
    got.iter().copied().eq(params.ring().moduli_of(basis).into_iter().map(|q| i128::from(q.value())))
}

fn same_moduli(arrays: &Arrays, params: &Params, wanted: Basis) -> Result<(), NpzError> {
    let primes: Vec<u64> = params.ring().moduli_of(wanted).into_iter().map(Modulus::value).collect();
    let got = arrays.wholes("moduli")?.values;
    let listed = |all: &[String]| all.join(", ");
    match has_moduli(params, wanted, &got) {
        true => Ok(()),
        false => Err(arrays.field(
            "moduli",
            listed(&got.iter().map(ToString::to_string).collect::<Vec<_>>()),
            format!(
                "the primes of the parameters: {}",
                listed(&primes.iter().map(ToString::to_string).collect::<Vec<_>>())
            ),
        )),
    }
}

fn uploaded<D: Device>(dev: &D, params: &Params, basis: Basis, role: Role, words: &[u64]) -> D::Poly {
    let (shape, n) = (Shape::eval(params.ring(), basis), params.ring().n());
    dev.upload(&shape, role, &|at, row| {
        let limb = basis.position(at.prime).expect("a prime of the basis");
        row.copy_from_slice(&words[limb * n..][..n]);
    })
}

/// Reads a ciphertext. Its level follows from its moduli; its slots are all, and what it holds is what is promised.
///
/// # Errors
/// [`NpzError`] for an archive that does not fit the parameters: nothing is uploaded then.
pub fn read_ciphertext<D: Device>(
    bytes: &[u8],
    path: &Path,
    (dev, params): (&D, &Params),
    estimate: Estimate,
) -> Result<Ciphertext<D>, NpzError> {
    let arrays = Arrays::read(bytes, path)?;
    let moduli = arrays.wholes("moduli")?.values;
    let count = moduli.len();
    let mut levels = (0..=params.top_level()).filter(|&level| params.limbs(level) == count).peekable();
    let first = levels.peek().copied();
    // Levels of whole words may have as many primes as another.
    let level = levels.find(|&level| has_moduli(params, params.basis(level), &moduli)).or(first);
    let level = level.ok_or_else(|| arrays.field("moduli", count, "as many as a level has"))?;
    let basis = params.basis(level);
    same_moduli(&arrays, params, basis)?;
    let scale = if arrays.has("scale") { arrays.number("scale")? } else { params.scale(level) };
    let within = (2.0..=params.log_modulus(level).exp2()).contains(&scale);
    if !within {
        return Err(arrays.field("scale", scale, "2 up to the modulus"));
    }
    let rows = ["ct_0_", "ct_1_"].map(|prefix| read_rows(&arrays, params, basis, prefix));
    let [first, second] = rows;
    let parts = [first?, second?].map(|words| uploaded(dev, params, basis, Role::Ciphertext, &words));
    Ok(Ciphertext { parts: parts.into(), level, scale, slots: params.max_slots(), estimate, shadow: None })
}

/// Writes one message of a ciphertext of two polynomials.
///
/// # Errors
/// [`NpzError::Field`] for another shape; a fault of the device as an error of input and output.
pub fn write_ciphertext<W: Write + Seek, D: HostRead>(
    out: W,
    (dev, params): (&D, &Params),
    ciphertext: &Ciphertext<D>,
) -> Result<W, NpzError> {
    let mut writer = Writer::new(out);
    let basis = params.basis(ciphertext.level);
    if ciphertext.parts.len() != 2 || ciphertext.batch() != 1 {
        let got = format!("{} polynomials of {} messages", ciphertext.parts.len(), ciphertext.batch());
        let (path, name, wanted) = ("the ciphertext".into(), "shape".into(), "two polynomials of one message".into());
        return Err(NpzError::Field { path, name, got, wanted });
    }
    moduli(&mut writer, params, basis)?;
    let scale = [Complex64::from(ciphertext.scale)];
    writer.array("scale", |out| npy::write(out, &[], &scale, Parts::Real))?;
    for (part, poly) in ciphertext.parts.iter().enumerate() {
        rows(&mut writer, (dev, params), poly, &format!("ct_{part}_"))?;
    }
    writer.finish()
}

/// Reads one half of one digit of a key, or any polynomial over Q and P.
///
/// # Errors
/// As [`read_ciphertext`].
pub fn read_half<D: Device>(
    bytes: &[u8],
    path: &Path,
    (dev, params): (&D, &Params),
    name: KeyName,
) -> Result<D::Poly, NpzError> {
    let arrays = Arrays::read(bytes, path)?;
    let basis = params.reached(params.top_level()) | params.special();
    same_moduli(&arrays, params, basis)?;
    let words = read_rows(&arrays, params, basis, "")?;
    Ok(uploaded(dev, params, basis, Role::EvaluationKey(name.id()), &words))
}

/// A key of halves, digit by digit, both halves of each.
pub fn key_of<D: Device>(name: KeyName, params: &Params, halves: Vec<[D::Poly; 2]>) -> EvaluationKey<D> {
    let pair = |[masked, poly]: [D::Poly; 2]| KeyPair { masked, uniform: UniformHalf::Stored { poly, seed: None } };
    EvaluationKey::new(name, params.top_level(), halves.into_iter().map(pair).collect())
}

/// Writes a polynomial alone: one half of one digit of a key.
///
/// # Errors
/// As [`write_ciphertext`].
pub fn write_half<W: Write + Seek, D: HostRead>(
    out: W,
    (dev, params): (&D, &Params),
    poly: &D::Poly,
    basis: Basis,
) -> Result<W, NpzError> {
    let mut writer = Writer::new(out);
    moduli(&mut writer, params, basis)?;
    rows(&mut writer, (dev, params), poly, "")?;
    writer.finish()
}

fn moduli<W: Write + Seek>(writer: &mut Writer<W>, params: &Params, basis: Basis) -> Result<(), NpzError> {
    let primes: Vec<u64> = params.ring().moduli_of(basis).into_iter().map(Modulus::value).collect();
    writer.array("moduli", |out| npy::write_words(out, &[primes.len()], &primes))
}

/// Rows in their order, each under its number.
fn rows<W: Write + Seek, D: HostRead>(
    writer: &mut Writer<W>,
    (dev, params): (&D, &Params),
    poly: &D::Poly,
    prefix: &str,
) -> Result<(), NpzError> {
    use limbwise_device::Handle as _;
    let words = dev.download(poly).map_err(std::io::Error::other)?;
    let n = params.ring().n();
    for ((at, q), limb) in params.ring().moduli_of(poly.shape().basis).into_iter().enumerate().zip(words.chunks(n)) {
        let theirs: Vec<u64> = places(q, params.log_n()).into_iter().map(|place| limb[place]).collect();
        writer.array(&format!("{prefix}limb_{at}"), |out| npy::write_words(out, &[n], &theirs))?;
    }
    Ok(())
}
