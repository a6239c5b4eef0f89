//! The file of a secret key: two bits per coefficient, encrypted if a passphrase is given.
//!
//! A locked key is encrypted with XChaCha20-Poly1305 under a key that Argon2id derives from the passphrase
//! (\[RFC9106\], second recommended option: 64 MiB, 3 passes, 4 lanes). The header, and with it the parameters'
//! fingerprint, is authenticated too. Exists only under the feature `client`.

use super::{
    container::{CHECKSUM, Container, FileKind, Origin, Writer},
    error::{WireError, check},
    params::{Fingerprint, fingerprint},
    source::Source,
};
use crate::{Result, params::Params, rlwe::SecretKey};
use argon2::{Algorithm, Argon2, Version};
use chacha20poly1305::{AeadInPlace, KeyInit, Tag, XChaCha20Poly1305};
use limbwise_math::sampling::Seed;
use limbwise_taint::declassify;
use serde::{Deserialize, Serialize};
use std::io::Write;
use zeroize::Zeroizing;

/// Argon2id: memory in KiB, passes, lanes.
const COST: (u32, u32, u32) = (1 << 16, 3, 4);
/// Size in bytes of the authentication tag.
const TAG: usize = 16;

/// Protection of a secret key file.
#[derive(Clone, Copy)]
pub enum Lock<'a> {
    /// Unencrypted: anyone who reads the file has the key.
    None,
    /// Encrypted under a passphrase.
    Passphrase(&'a str),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    lock: Option<Locked>,
}

/// Public salt and nonce of a locked key.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Locked {
    salt: [u8; 16],
    nonce: [u8; 24],
}

impl Locked {
    fn fresh() -> Result<Self> {
        let mut locked = Self { salt: [0; 16], nonce: [0; 24] };
        let (salt, nonce) = (Seed::from_os()?, Seed::from_os()?);
        locked.salt.iter_mut().zip(&salt.0).for_each(|(to, from)| *to = *from);
        locked.nonce.iter_mut().zip(&nonce.0).for_each(|(to, from)| *to = *from);
        Ok(locked)
    }

    fn cipher(&self, passphrase: &str) -> Result<XChaCha20Poly1305, WireError> {
        let (memory, passes, lanes) = COST;
        let mut key = Zeroizing::new([0; 32]);
        let refused = |e: argon2::Error| WireError::value("passphrase", e, "text of up to 4 GiB");
        let params = argon2::Params::new(memory, passes, lanes, Some(key.len())).map_err(refused)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon2.hash_password_into(passphrase.as_bytes(), &self.salt, &mut *key).map_err(refused)?;
        Ok(XChaCha20Poly1305::new((&*key).into()))
    }
}

/// Writes a secret key. Only the owner should be able to read the file behind `out`.
///
/// # Errors
/// Errors of `out`; no randomness.
pub fn write_secret_key<W: Write>(
    out: W,
    params: &Params,
    key: &SecretKey,
    lock: Lock<'_>,
    origin: &Origin,
) -> Result<W> {
    write_sealed(out, FileKind::SecretKey, fingerprint(params), origin, pack(key.coefficients()), lock)
}

/// Writes a file of one secret block, locked or not.
pub(super) fn write_sealed<W: Write>(
    out: W,
    kind: FileKind,
    fingerprint: Fingerprint,
    origin: &Origin,
    mut secret: Zeroizing<Vec<u8>>,
    lock: Lock<'_>,
) -> Result<W> {
    let locked = match lock {
        Lock::None => None,
        Lock::Passphrase(_) => Some(Locked::fresh()?),
    };
    let header = Header { lock: locked };
    let mut out = Writer::begin(out, kind, fingerprint, origin, &header)?;
    if let (Some(locked), Lock::Passphrase(passphrase)) = (&header.lock, lock) {
        let cipher = locked.cipher(passphrase)?;
        let sealed = cipher.encrypt_in_place_detached(&locked.nonce.into(), out.digest(), &mut secret);
        // A reallocation leaves its old memory unwiped, but that memory holds ciphertext only.
        secret.extend_from_slice(&sealed.map_err(|_| WireError::Passphrase)?);
    }
    out.block(&secret)?;
    Ok(out.finish()?)
}

/// Reads a secret key.
///
/// # Errors
/// [`WireError::Locked`] for a locked key without a passphrase, [`WireError::Passphrase`] for a wrong one.
pub fn read_secret_key<S: Source>(source: S, params: &Params, lock: Lock<'_>) -> Result<SecretKey> {
    let (key, label) = read_labeled_secret_key(source, params, lock)?;
    // The passphrase does not authenticate a locked file's label, so the label is compared with the key itself.
    label.admits_keys(key.identity(params))?;
    Ok(key)
}

/// Reads one of several secret keys of a set together with its file's origin. The set's label names all keys, so
/// [`Secrets::check_origin`](crate::scheme::Secrets::check_origin) compares it once all are read.
///
/// # Errors
/// The errors of [`read_secret_key`], except those of the label.
pub fn read_labeled_secret_key<S: Source>(source: S, params: &Params, lock: Lock<'_>) -> Result<(SecretKey, Origin)> {
    let file = Container::open(source)?;
    file.expect(FileKind::SecretKey, Some(params))?;
    let coefficients = unpack(&read_sealed(&file, packed_bytes(params), lock)?)?;
    let key = SecretKey::from_coefficients(params, coefficients);
    Ok((key.ok_or_else(|| WireError::value("coefficients", "too few", "N"))?, file.origin()))
}

/// Checks a file of a secret key without reading the key: kind, parameters, header, length.
///
/// # Errors
/// [`WireError`] for a bad file.
pub fn check_secret_key<S: Source>(source: S, params: &Params) -> Result<(), WireError> {
    let file = Container::open(source)?;
    file.expect(FileKind::SecretKey, Some(params))?;
    check_sealed(&file, packed_bytes(params))
}

/// Fails unless the file has one secret block of `plain` bytes.
pub(super) fn check_sealed<S: Source>(file: &Container<S>, plain: usize) -> Result<(), WireError> {
    sealed_in(file, plain).map(drop)
}

/// Bytes of the packed coefficients of a key.
fn packed_bytes(params: &Params) -> usize {
    params.ring().n() / 4
}

/// The header of a file with one secret block of `plain` bytes, and the block's bytes.
fn sealed_in<S: Source>(file: &Container<S>, plain: usize) -> Result<(Header, usize), WireError> {
    let header: Header = file.header()?;
    let size = plain + if header.lock.is_some() { TAG } else { 0 };
    file.ends(file.first().behind(1, size as u64))?;
    Ok((header, size))
}

/// The only secret block of a file, of `plain` bytes.
pub(super) fn read_sealed<S: Source>(file: &Container<S>, plain: usize, lock: Lock<'_>) -> Result<Zeroizing<Vec<u8>>> {
    let (header, size) = sealed_in(file, plain)?;
    let mut bytes = Zeroizing::new(vec![0; size + CHECKSUM]);
    file.block(file.first(), &mut bytes)?;
    bytes.truncate(size);
    if let Some(locked) = &header.lock {
        let Lock::Passphrase(passphrase) = lock else { return Err(WireError::Locked.into()) };
        let tag: [u8; TAG] = bytes.last_chunk().copied().unwrap_or_default();
        bytes.truncate(size - TAG);
        let opened = locked.cipher(passphrase)?.decrypt_in_place_detached(
            &locked.nonce.into(),
            file.digest(),
            &mut bytes,
            &Tag::from(tag),
        );
        opened.map_err(|_| WireError::Passphrase)?;
    }
    Ok(bytes)
}

/// Packs four coefficients per byte, lowest bits first: 0 as 0, 1 as 1, −1 as 2.
fn pack(coefficients: &[i64]) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(coefficients.len() / 4 + TAG));
    for four in coefficients.chunks(4) {
        let bits = |c: i64| u8::from(c == 1) | u8::from(c == -1) << 1;
        bytes.push(four.iter().rev().fold(0, |byte, &c| byte << 2 | bits(c)));
    }
    bytes
}

/// Unpacks the coefficients; those of a damaged file are wiped too.
fn unpack(bytes: &[u8]) -> Result<Zeroizing<Vec<i64>>, WireError> {
    let mut coefficients = Zeroizing::new(Vec::with_capacity(4 * bytes.len()));
    let mut wrong = 0;
    for byte in bytes {
        for shift in [0, 2, 4, 6] {
            let bits = byte >> shift & 3;
            wrong |= bits & bits >> 1;
            coefficients.push(i64::from(bits & 1) - i64::from(bits >> 1));
        }
    }
    // Public: whoever reads the file learns whether it is damaged.
    check(declassify(wrong) == 0, "coefficients", "a pair of bits 11", "00, 01 or 10")?;
    Ok(coefficients)
}
