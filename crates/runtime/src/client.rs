//! The client's side: inputs encrypted as the program's description promises, results decrypted. Only under the feature
//! `client`.

use crate::{
    clock::{DECRYPT_STEP, ENCRYPT_STEP},
    error::{Error, Result},
    ledger::{Ledger, hex},
    origin::{belongs, inputs_name, keys_for, origin_of},
    places::{PUBLIC, SECRET, open_file, put, refused},
};
use limbwise::{
    Complex64,
    ckks::{Ciphertext, Encoder, Estimate, Expectation, decrypt, encrypt_from, encrypt_seeded_from},
    params::Params,
    rlwe::{PublicKey, SecretKey},
    wire::{
        Fingerprint, Lock, Origin, read_ciphertext, read_public_key, read_secret_key, write_ciphertext,
        write_fresh_ciphertext,
    },
};
use limbwise_apps::{Array, Client, Description, Encryption as Under, Input, Observer, Program};
use limbwise_device::{Device, HostRead};
use limbwise_math::sampling::SeedSource;
use std::{
    io::BufWriter,
    path::{Path, PathBuf},
};

/// Whether ciphertexts carry their clear values, for shadow mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shadows {
    /// They do not.
    Absent,
    /// They do, inside this process.
    Carried,
}

/// What inputs are encrypted with.
pub struct Encryption<'a, D: Device> {
    /// The public key.
    pub public: &'a PublicKey<D>,
    /// The secret one.
    pub secret: &'a SecretKey,
    /// Where seeds come from.
    pub seeds: &'a SeedSource,
    /// Whether clear values go with them.
    pub shadows: Shadows,
}

/// Encrypts one input of a program.
///
/// # Errors
/// Values that cannot be encoded, or that are larger than was promised; no randomness.
pub fn encrypted<D: Device, P: Program, C: Client>(
    (dev, encoder): (&D, &Encoder),
    program: &P,
    client: &C,
    input: usize,
    with: &Encryption<'_, D>,
) -> limbwise::Result<Ciphertext<D>> {
    let params = program.params();
    let declared = program.inputs().swap_remove(input);
    let values = client.values(input);
    let plain = encoder.encode(dev, &values, declared.packing)?;
    let plain = if with.shadows == Shadows::Carried { plain.with_shadow(&values) } else { plain };
    let seed = with.seeds.seed(&format!("input {input}"))?;
    let encrypted = match program.encryption() {
        Under::PublicKey => encrypt_from(dev, params, with.public, &plain, &seed),
        Under::SecretKey => encrypt_seeded_from(dev, params, with.secret, &plain, &seed).ciphertext,
    };
    encrypted.promised(declared.bounds)
}

/// A key to encrypt with, and what its file says it belongs to.
pub struct EncryptionKey<D: Device> {
    key: Key<D>,
    origin: Origin,
}

enum Key<D: Device> {
    /// Anybody's.
    Public(PublicKey<D>),
    /// The client's own: less noise, and files of half the size.
    Secret(SecretKey),
}

impl<D: Device> EncryptionKey<D> {
    /// Reads the key of the client's directory.
    ///
    /// # Errors
    /// A file that is absent, damaged, locked, or made for another program than the directory's.
    pub fn read(
        (dev, params): (&D, &Params),
        dir: &Path,
        description: &Description,
        which: Under,
        lock: Lock<'_>,
    ) -> Result<Self> {
        let path = dir.join(if which == Under::PublicKey { PUBLIC } else { SECRET });
        let origin = keys_for(&path, description)?;
        let key = match which {
            Under::PublicKey => {
                let key = read_public_key(open_file(&path)?, dev, params);
                Key::Public(key.map_err(|e| Error::of_file(&path, e))?)
            }
            Under::SecretKey => Key::Secret(read_secret(dir, params, lock)?),
        };
        Ok(Self { key, origin })
    }

    /// The key set.
    #[must_use]
    pub fn key_set(&self) -> Fingerprint {
        self.origin.keys
    }
}

/// Reads the secret key of the client's directory.
///
/// # Errors
/// A file that is absent, damaged or locked.
pub fn read_secret(dir: &Path, params: &Params, lock: Lock<'_>) -> Result<SecretKey> {
    let path = dir.join(SECRET);
    read_secret_key(open_file(&path)?, params, lock).map_err(|e| Error::of_file(&path, e))
}

/// Encrypts all inputs of a program into files, and returns their name.
///
/// # Errors
/// As [`encrypted`]; those of the system.
pub fn encrypt_files<D: HostRead, P: Program, C: Client>(
    dev: &D,
    (program, client): (&P, &C),
    (key, seeds): (&EncryptionKey<D>, &SeedSource),
    targets: &[PathBuf],
    observer: &mut dyn Observer,
) -> Result<Fingerprint> {
    let params = program.params();
    let encoder = Encoder::new(params);
    for (index, (path, input)) in targets.iter().zip(program.inputs()).enumerate() {
        observer.step(ENCRYPT_STEP, index, targets.len());
        let Input { packing, bounds, .. } = input;
        let plain = encoder.encode(dev, &client.values(index), packing)?;
        let seed = seeds.seed(&format!("input {index}")).map_err(limbwise::Error::from)?;
        let origin = key.origin.numbered(index);
        put(path, |file| {
            let file = BufWriter::new(file);
            let out = match &key.key {
                Key::Public(key) => {
                    let promised = encrypt_from(dev, params, key, &plain, &seed).promised(bounds)?;
                    write_ciphertext(file, dev, params, &promised, &origin)?
                }
                Key::Secret(key) => {
                    let mut fresh = encrypt_seeded_from(dev, params, key, &plain, &seed);
                    fresh.ciphertext = fresh.ciphertext.promised(bounds)?;
                    write_fresh_ciphertext(file, dev, params, &fresh, &origin)?
                }
            };
            out.into_inner().map_err(|e| refused(path, "writing")(e.into_error()))
        })?;
    }
    inputs_name(targets)
}

/// Decrypted results.
pub struct Decrypted {
    /// Slots of each result, a vector a batch entry.
    pub slots: Vec<Vec<Vec<Complex64>>>,
    /// What the client expects of each: its error above all.
    pub estimates: Vec<Estimate>,
    /// Rescales left in the lowest.
    pub levels_left: usize,
    /// The same as people have it.
    pub arrays: Vec<Array>,
}

/// Which inputs results are of, and how those were encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputsOf {
    /// Their name; none where files of version 1 cannot say.
    pub name: Fingerprint,
    /// Under which key.
    pub key: Under,
    /// Whether this client's ledger knows them.
    pub known: bool,
}

impl InputsOf {
    /// The inputs that results must be of: those of the last encryption, or those that are named. `key` says under which
    /// key they were encrypted where the ledger does not know: public by default, since the secret one is here alone; for
    /// keys of version 1, which had no ledger, what the program is planned with.
    ///
    /// # Errors
    /// [`Error::OtherInputs`] for a result of others; files that are absent; a damaged ledger.
    pub fn of<P: Program>(
        (ledger, program): (&Ledger, &P),
        keys: Origin,
        result: &Path,
        named: Option<Fingerprint>,
        key: Option<Under>,
    ) -> Result<Self> {
        let rounds = ledger.rounds()?;
        let said = origin_of(result)?.inputs;
        let round = |name: Fingerprint| rounds.iter().find(|round| round.inputs == hex(name));
        let found = |name, usual| {
            let round = round(name);
            Self { name, key: round.map_or(key.unwrap_or(usual), |round| round.key), known: round.is_some() }
        };
        if keys == Origin::NONE {
            // Such keys do not say what they belong to, and neither need the files that go with them.
            let found = found(named.unwrap_or(said), program.encryption());
            return Ok(Self { name: Fingerprint::NONE, ..found });
        }
        match (named, rounds.last()) {
            (Some(name), _) => Ok(found(name, Under::PublicKey)),
            (None, Some(last)) if last.inputs == hex(said) => Ok(found(said, last.key)),
            (None, last) => {
                let got = round(said).map(|round| format!("those in {}", round.place));
                let got = got.unwrap_or_else(|| "not of this client".into());
                let last = last.map_or_else(|| "no place".into(), |round| round.place.clone());
                Err(Error::OtherInputs { path: result.display().to_string(), got, last })
            }
        }
    }
}

/// What a client knows of results before it opens them.
pub struct Expected {
    /// Level, scale, size and error of each.
    pub results: Vec<Expectation>,
    /// What their files must say they belong to.
    pub origin: Origin,
}

/// Decrypts the results of a program. All of them are compared with what is expected before any is decrypted.
///
/// # Errors
/// Files that are absent, damaged, too few, of another program, key set or inputs; results that are not as expected;
/// numbers that cannot be right.
pub fn decrypt_files<D: HostRead, P: Program>(
    dev: &D,
    (program, secret): (&P, &SecretKey),
    expected: &Expected,
    files: &[PathBuf],
    observer: &mut dyn Observer,
) -> Result<Decrypted> {
    let (params, wanted) = (program.params(), &expected.results);
    if files.len() != wanted.len() {
        let names = format!("the results of {}", program.name());
        return Err(Error::Count { count: files.len(), wanted: wanted.len(), names });
    }
    let said = expected.origin != Origin::NONE;
    let mut results = Vec::new();
    for (index, (path, expectation)) in files.iter().zip(wanted).enumerate() {
        belongs(path, &if said { expected.origin.numbered(index) } else { Origin::NONE })?;
        let of_file = |e| Error::of_file(path, e);
        let result = read_ciphertext(open_file(path)?, dev, params).map_err(of_file)?;
        results.push(expectation.admit(params, result).map_err(|e| of_file(e.into()))?);
    }
    let encoder = Encoder::new(params);
    let mut slots = Vec::new();
    for (index, (path, result)) in files.iter().zip(&results).enumerate() {
        observer.step(DECRYPT_STEP, index, files.len());
        slots.push(decrypt(dev, &encoder, params, secret, result).map_err(|e| Error::of_file(path, e))?);
    }
    let (estimates, levels_left) =
        (results.iter().map(|r| r.estimate).collect(), results.iter().map(|r| r.level).min());
    let arrays = program.arrays(&slots);
    Ok(Decrypted { slots, estimates, levels_left: levels_left.unwrap_or(0), arrays })
}
