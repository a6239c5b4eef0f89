//! Files of TFHE: parameters, server keys, ciphertexts, and for clients the secret key.
//!
//! Keys are stored as bodies and one seed for all uniform halves. A secret key is stored as its seed.

#[cfg(feature = "client")]
use super::secret::{Lock, check_sealed, read_sealed, write_sealed};
use super::{
    ciphertext::MOST_BATCH,
    container::{CHECKSUM, Container, FileKind, Origin, Place, Writer},
    error::{WireError, check},
    packing::{pack, packed_bytes, unpack, unpack_residues},
    params::Fingerprint,
    public_key::read_seed,
    rows::{Rows, write_rows},
    source::Source,
};
#[cfg(feature = "client")]
use crate::tfhe::ClientKey;
use crate::{
    Result,
    tfhe::{
        BootstrapKeys, Ciphertext, KeyTag, TfheLiteral, TfheParams,
        ciphertext::shape as ciphertext_shape,
        key::{BOOTSTRAP_KEY, switch_shape},
    },
};
use limbwise_device::{Device, Domain, HostRead, LweHandle as _, Role, Shape};
#[cfg(feature = "client")]
use limbwise_math::sampling::Seed;
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    io::Write,
    sync::{Mutex, OnceLock, PoisonError},
};

/// Size of a seed in bytes.
const SEED: u64 = SEED_BYTES as u64;
const SEED_BYTES: usize = 32;
/// Size of a body in bytes.
const BODY: usize = 8;
/// Upper limit of a message range: beyond any sum that computations make.
const MOST_MESSAGE: i64 = 1 << 40;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParamsHeader<'a> {
    literal: Cow<'a, TfheLiteral>,
    prime: u64,
}

/// The fingerprint of a parameter set; as [`fingerprint`](super::params::fingerprint).
///
/// # Panics
/// Never: numbers and strings always serialize.
#[must_use]
pub fn tfhe_fingerprint(params: &TfheParams) -> Fingerprint {
    let header = ParamsHeader { literal: Cow::Borrowed(params.literal()), prime: params.modulus().value() };
    let header = serde_json::to_vec(&header).expect("numbers and strings are always written");
    Fingerprint(*blake3::hash(&header).as_bytes())
}

/// Writes a parameter set.
///
/// # Errors
/// Errors of `out`.
pub fn write_tfhe_params<W: Write>(out: W, params: &TfheParams) -> Result<W> {
    let header = ParamsHeader { literal: Cow::Borrowed(params.literal()), prime: params.modulus().value() };
    Ok(Writer::begin(out, FileKind::TfheParams, tfhe_fingerprint(params), &Origin::NONE, &header)?.finish()?)
}

/// Reads a parameter set and checks it like any literal.
///
/// # Errors
/// [`WireError`] for a bad file or one whose prime this version would not choose;
/// [`ParamsError`](crate::params::ParamsError).
pub fn read_tfhe_params<S: Source>(source: S) -> Result<TfheParams> {
    let file = Container::open(source)?;
    file.expect_of(FileKind::TfheParams, file.fingerprint())?;
    file.ends(file.first())?;
    let ParamsHeader { literal, prime } = file.header()?;
    let params = TfheParams::new(&literal)?;
    let chosen = params.modulus().value();
    if chosen != prime {
        return Err(WireError::OtherPrimes { got: prime.to_string(), wanted: chosen.to_string() }.into());
    }
    file.expect_of(FileKind::TfheParams, tfhe_fingerprint(&params))?;
    Ok(params)
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeysHeader {
    /// Tag of the client key.
    tag: u64,
}

/// Words of the small key's modulus per block: one for each word of the big LWE key.
fn switch_block(params: &TfheParams) -> (usize, u32) {
    (params.literal().big_dimension(), params.literal().log_lwe_modulus)
}

fn row_shape(params: &TfheParams) -> Shape {
    params.shape(params.literal().lwe_dimension, Domain::Eval)
}

/// Writes the server's keys: seed, bodies of the switching key, bodies of the bootstrapping key.
///
/// # Errors
/// Errors of `out`; a device fault.
pub fn write_tfhe_keys<W: Write, D: HostRead>(out: W, dev: &D, keys: &BootstrapKeys<D>, origin: &Origin) -> Result<W> {
    let params = &keys.params;
    let mut out =
        Writer::begin(out, FileKind::TfheKeys, tfhe_fingerprint(params), origin, &KeysHeader { tag: keys.tag.0 })?;
    out.block(&keys.seed.0)?;
    let ((words, bits), mut bytes) = (switch_block(params), Vec::new());
    for bodies in keys.switch_bodies.chunks(words) {
        bytes.clear();
        pack(bodies, bits, &mut bytes);
        out.block(&bytes)?;
    }
    for row in &keys.rows {
        write_rows(&mut out, dev, row)?;
    }
    Ok(out.finish()?)
}

/// The tag in a file of server keys, and the places of the bootstrapping key's rows.
fn keys_in<S: Source>(file: &Container<S>, params: &TfheParams) -> Result<(KeyTag, Vec<Rows>), WireError> {
    file.expect_of(FileKind::TfheKeys, tfhe_fingerprint(params))?;
    let KeysHeader { tag } = file.header()?;
    let l = params.literal();
    let ((words, bits), blocks) = (switch_block(params), l.key_switch.levels);
    let begin = file.first().behind(1, SEED);
    let mut at = begin.behind(blocks.into(), u64::from(blocks) * packed_bytes(words, bits) as u64);
    let mut stored = Vec::new();
    for _ in 0..(l.masks + 1) * l.bootstrap.levels as usize {
        let rows = Rows::new(row_shape(params), at);
        at = rows.end();
        stored.push(rows);
    }
    file.ends(at)?;
    Ok((KeyTag(tag), stored))
}

/// Checks a file of server keys without reading the keys: kind, parameters, header, length.
///
/// # Errors
/// [`WireError`] for a bad file.
pub fn check_tfhe_keys<S: Source>(source: S, params: &TfheParams) -> Result<(), WireError> {
    keys_in(&Container::open(source)?, params).map(drop)
}

/// Reads the server's keys.
///
/// # Errors
/// [`WireError`] for a bad file.
pub fn read_tfhe_keys<S: Source, D: Device>(source: S, dev: &D, params: &TfheParams) -> Result<BootstrapKeys<D>> {
    let file = Container::open(source)?;
    let (tag, stored) = keys_in(&file, params)?;
    let (words, bits) = switch_block(params);
    let (size, begin) = (packed_bytes(words, bits), file.first().behind(1, SEED));
    let seed = read_seed(&file, file.first())?;
    let mut switch_bodies = vec![0; switch_shape(params).batch];
    let mut bytes = vec![0; size + CHECKSUM];
    for (i, bodies) in (0..).zip(switch_bodies.chunks_mut(words)) {
        let payload = file.block(begin.behind(i, i * size as u64), &mut bytes)?;
        unpack(payload, bits, bodies);
    }
    let row = |rows: &Rows| rows.read(&file, dev, row_shape(params).basis, Role::BootstrapKey(BOOTSTRAP_KEY));
    let rows = stored.iter().map(row).collect::<Result<Vec<D::Poly>, WireError>>()?;
    Ok(BootstrapKeys { params: params.clone(), tag, seed, switch_bodies, rows })
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CiphertextHeader {
    tag: u64,
    batch: usize,
    /// Smallest and largest possible message.
    range: (i64, i64),
    /// Squared norm of the coefficients that combine bootstrapped ciphertexts.
    #[serde(deserialize_with = "limbwise_math::finite::field")]
    norm_squared: f64,
}

impl CiphertextHeader {
    fn check(&self) -> Result<(), WireError> {
        let Self { batch, range: (low, high), norm_squared, .. } = *self;
        check((1..=MOST_BATCH).contains(&batch), "batch", batch, format!("1 to {MOST_BATCH}"))?;
        let near = |x: i64| (-MOST_MESSAGE..=MOST_MESSAGE).contains(&x);
        check(low <= high && near(low) && near(high), "range", format!("{low} to {high}"), "least, then largest")?;
        let known = norm_squared.is_finite() && norm_squared >= 0.0;
        check(known, "norm_squared", norm_squared, "a number from 0 on")
    }
}

/// Writes a batch of messages: the mask of each, then all bodies.
///
/// # Errors
/// Errors of `out`; a device fault.
pub fn write_tfhe_ciphertext<W: Write, D: HostRead>(
    out: W,
    dev: &D,
    ciphertext: &Ciphertext<D>,
    origin: &Origin,
) -> Result<W> {
    let (params, shape) = (&ciphertext.params, ciphertext.lwe.lwe_shape());
    let Ciphertext { tag, range, norm_squared, .. } = ciphertext;
    let header = CiphertextHeader { tag: tag.0, batch: shape.batch, range: *range, norm_squared: *norm_squared };
    header.check()?;
    let mut out = Writer::begin(out, FileKind::TfheCiphertext, tfhe_fingerprint(params), origin, &header)?;
    let (words, mut bytes, mut bodies) = (dev.download_lwe(&ciphertext.lwe)?, Vec::new(), Vec::new());
    for entry in words.chunks_exact(shape.words()) {
        let Some((body, mask)) = entry.split_last() else { continue };
        bytes.clear();
        pack(mask, params.modulus().bits(), &mut bytes);
        out.block(&bytes)?;
        bodies.extend_from_slice(&body.to_le_bytes());
    }
    out.block(&bodies)?;
    Ok(out.finish()?)
}

/// Reads a batch of messages.
///
/// # Errors
/// [`WireError`] for a bad file.
pub fn read_tfhe_ciphertext<S: Source, D: Device>(source: S, dev: &D, params: &TfheParams) -> Result<Ciphertext<D>> {
    let file = Container::open(source)?;
    file.expect_of(FileKind::TfheCiphertext, tfhe_fingerprint(params))?;
    let header: CiphertextHeader = file.header()?;
    header.check()?;
    let shape = ciphertext_shape(params, header.batch);
    let (size, entries) = (packed_bytes(shape.dimension, params.modulus().bits()), header.batch as u64);
    let behind = file.first().behind(entries, entries * size as u64);
    file.ends(behind.behind(1, BODY as u64 * entries))?;
    let mut bodies = vec![0; BODY * header.batch + CHECKSUM];
    let bodies = file.block(behind, &mut bodies)?.as_chunks::<BODY>().0;
    let problem = OnceLock::new();
    let buffers = Mutex::new(Vec::<Vec<u8>>::new());
    let buffers = || buffers.lock().unwrap_or_else(PoisonError::into_inner);
    let lwe = dev.upload_lwe(shape, Role::Ciphertext, &|entry, words| {
        let mut bytes = buffers().pop().unwrap_or_default();
        bytes.resize(size + CHECKSUM, 0);
        let place = file.first().behind(entry as u64, entry as u64 * size as u64);
        let body = bodies.get(entry).map_or(0, |body| u64::from_le_bytes(*body));
        if let Err(e) = read_entry(&file, place, params, &mut bytes, body, words) {
            problem.get_or_init(|| e);
            words.fill(0);
        }
        buffers().push(bytes);
    });
    match problem.into_inner() {
        Some(e) => Err(e.into()),
        None => Ok(Ciphertext {
            lwe,
            params: params.clone(),
            tag: KeyTag(header.tag),
            range: header.range,
            norm_squared: header.norm_squared,
        }),
    }
}

fn read_entry<S: Source>(
    file: &Container<S>,
    place: Place,
    params: &TfheParams,
    bytes: &mut [u8],
    body: u64,
    words: &mut [u64],
) -> Result<(), WireError> {
    let prime = params.modulus().value();
    let Some((last, mask)) = words.split_last_mut() else { return Ok(()) };
    *last = body;
    unpack_residues(file.block(place, bytes)?, params.modulus(), mask)
        .and(if body < prime { Ok(()) } else { Err(body) })
        .map_err(|got| WireError::Residue { block: place.block, got, prime })
}

/// Checks a file of a client key without reading the key: kind, parameters, header, length.
///
/// # Errors
/// [`WireError`] for a bad file.
#[cfg(feature = "client")]
pub fn check_tfhe_secret_key<S: Source>(source: S, params: &TfheParams) -> Result<(), WireError> {
    let file = Container::open(source)?;
    file.expect_of(FileKind::TfheSecretKey, tfhe_fingerprint(params))?;
    check_sealed(&file, SEED_BYTES)
}

/// Writes a client key as its seed. Only the owner should be able to read the file.
///
/// # Errors
/// Errors of `out`; no randomness.
#[cfg(feature = "client")]
pub fn write_tfhe_secret_key<W: Write>(out: W, key: &ClientKey, lock: Lock<'_>, origin: &Origin) -> Result<W> {
    let seed = zeroize::Zeroizing::new(key.seed().0.to_vec());
    write_sealed(out, FileKind::TfheSecretKey, tfhe_fingerprint(key.params()), origin, seed, lock)
}

/// Reads a client key.
///
/// # Errors
/// The errors of [`read_secret_key`](super::read_secret_key).
#[cfg(feature = "client")]
pub fn read_tfhe_secret_key<S: Source>(source: S, params: &TfheParams, lock: Lock<'_>) -> Result<ClientKey> {
    let (key, label) = read_labeled_tfhe_secret_key(source, params, lock)?;
    label.admits_keys(key.identity())?;
    Ok(key)
}

/// Reads one of several secret keys of a set, as [`read_labeled_secret_key`](super::read_labeled_secret_key).
///
/// # Errors
/// The errors of [`read_tfhe_secret_key`], except those of the label.
///
/// # Panics
/// Never: a sealed payload has the requested length.
#[cfg(feature = "client")]
pub fn read_labeled_tfhe_secret_key<S: Source>(
    source: S,
    params: &TfheParams,
    lock: Lock<'_>,
) -> Result<(ClientKey, Origin)> {
    let file = Container::open(source)?;
    file.expect_of(FileKind::TfheSecretKey, tfhe_fingerprint(params))?;
    let bytes = read_sealed(&file, SEED_BYTES, lock)?;
    let key = ClientKey::from_seed(params, Seed(*bytes.first_chunk().expect("as long as was asked for")));
    Ok((key, file.origin()))
}
