//! The client's side: inputs encrypted as the program's description promises, results decrypted. Only under the feature
//! `client`.

use crate::{
    clock::{DECRYPT_STEP, ENCRYPT_STEP},
    error::{Error, Result},
    ledger::{Ledger, hex},
    origin::{belongs, inputs_name, keys_for, origin_of},
    places::{PUBLIC, SECRET, TFHE_SECRET, open_file, put, refused},
};
use limbwise::{
    params::Params,
    rlwe::PublicKey,
    scheme::{ClientScheme, Encrypting, Scheme, Secrets, Shadows},
    tfhe::TfheParams,
    wire::{Fingerprint, Lock, Origin, read_labeled_secret_key, read_labeled_tfhe_secret_key, read_public_key},
};
use limbwise_apps::{Array, Client, Description, Encryption as Under, Observer, Program};
use limbwise_device::{Device, HostRead};
use limbwise_math::sampling::SeedSource;
use std::{
    io::BufWriter,
    path::{Path, PathBuf},
};

/// What the client's directory has to encrypt with, and what its files say they belong to.
pub struct EncryptionKey<D: Device> {
    key: Under,
    secrets: Option<Secrets>,
    public: Option<PublicKey<D>>,
    origin: Origin,
}

impl<D: Device> EncryptionKey<D> {
    /// Reads the keys of the client's directory that encryption under `which` takes.
    pub fn read<S: ClientScheme>(
        (dev, params): (&D, &S::Params),
        dir: &Path,
        description: &Description,
        which: Under,
        lock: Lock<'_>,
    ) -> Result<Self> {
        let secrets = S::takes_secrets(which).then(|| read_secrets::<S>(dir, params, lock)).transpose()?;
        let path = dir.join(if secrets.is_some() { secret_file::<S>(params) } else { PUBLIC });
        let origin = keys_for(&path, description)?;
        let public = match S::rlwe(params).filter(|_| which == Under::PublicKey) {
            None => None,
            Some(rlwe) => {
                let path = dir.join(PUBLIC);
                // Inputs of two schemes are under both: they must be of one set.
                let one = Origin { keys: origin.keys, ..Origin::NONE };
                one.admits(&keys_for(&path, description)?).map_err(|e| Error::of_file(&path, e.into()))?;
                let key = read_public_key(open_file(&path)?, dev, rlwe);
                Some(key.map_err(|e| Error::of_file(&path, e))?)
            }
        };
        Ok(Self { key: which, secrets, public, origin })
    }

    pub fn key_set(&self) -> Fingerprint {
        self.origin.keys
    }

    fn encrypting(&self) -> Encrypting<'_, D> {
        let (secrets, public) = (self.secrets.as_ref(), self.public.as_ref());
        Encrypting { key: self.key, secrets, public, shadows: Shadows::Absent }
    }
}

/// The file of a scheme's secret key: of RLWE where it has one.
pub fn secret_file<S: ClientScheme>(params: &S::Params) -> &'static str {
    if S::rlwe(params).is_some() { SECRET } else { TFHE_SECRET }
}

/// Reads the secret keys of the client's directory.
pub fn read_secrets<S: ClientScheme>(dir: &Path, params: &S::Params, lock: Lock<'_>) -> Result<Secrets> {
    let (rlwe_file, tfhe_file) = (dir.join(SECRET), dir.join(TFHE_SECRET));
    let read = |params: &Params| {
        read_labeled_secret_key(open_file(&rlwe_file)?, params, lock).map_err(|e| Error::of_file(&rlwe_file, e))
    };
    let read_tfhe = |params: &TfheParams| {
        read_labeled_tfhe_secret_key(open_file(&tfhe_file)?, params, lock).map_err(|e| Error::of_file(&tfhe_file, e))
    };
    let (rlwe, rlwe_label) = S::rlwe(params).map(read).transpose()?.unzip();
    let (tfhe, tfhe_label) = S::tfhe(params).map(read_tfhe).transpose()?.unzip();
    let secrets = Secrets { rlwe, tfhe };
    for (path, label) in [(&rlwe_file, rlwe_label), (&tfhe_file, tfhe_label)] {
        let label = label.unwrap_or(Origin::NONE);
        secrets.admitted(S::rlwe(params), &label).map_err(|e| Error::of_file(path, e))?;
    }
    Ok(secrets)
}

/// Encrypts all inputs of a program into files, and returns their name.
///
/// # Errors
/// Values that cannot be encoded, or that are larger than was promised; no randomness; those of the system.
pub fn encrypt_files<D: HostRead, P: Program<Scheme: ClientScheme>, C: Client<Scheme = P::Scheme>>(
    dev: &D,
    (program, client): (&P, &C),
    (key, seeds): (&EncryptionKey<D>, &SeedSource),
    targets: &[PathBuf],
    observer: &mut dyn Observer,
) -> Result<Fingerprint> {
    let params = program.params();
    let encoder = P::Scheme::encoder(params);
    for (index, (path, input)) in targets.iter().zip(program.inputs()).enumerate() {
        observer.step(ENCRYPT_STEP, index, targets.len());
        let values = client.values(index);
        let seed = seeds.seed(&format!("input {index}")).map_err(limbwise::Error::from)?;
        let origin = key.origin.numbered(index);
        put(path, |file| {
            let (on, with, of) = ((dev, &encoder), key.encrypting(), (&input, &values));
            let out = P::Scheme::encrypt_to(BufWriter::new(file), on, params, &with, of, (&seed, &origin))?;
            out.into_inner().map_err(|e| refused(path, "writing")(e.into_error()))
        })?;
    }
    inputs_name(targets)
}

pub struct Decrypted<S: ClientScheme> {
    pub reading: S::Reading,
    /// What the client expects of each: its error above all.
    pub estimates: Vec<S::Estimate>,
    /// The same as people have it.
    pub arrays: Vec<Array>,
}

/// Which inputs results are of, and how those were encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputsOf {
    /// Their name; none where files of version 1 cannot say.
    pub name: Fingerprint,
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
pub struct Expected<S: ClientScheme> {
    /// What each must say of itself.
    pub results: Vec<S::Expectation>,
    /// What their files must say they belong to.
    pub origin: Origin,
}

/// Decrypts the results of a program. All of them are compared with what is expected before any is decrypted.
///
/// # Errors
/// Files that are absent, damaged, too few, of another program, key set or inputs; results that are not as expected;
/// numbers that cannot be right.
pub fn decrypt_files<D: HostRead, P: Program<Scheme: ClientScheme>>(
    dev: &D,
    (program, secrets): (&P, &Secrets),
    expected: &Expected<P::Scheme>,
    files: &[PathBuf],
    observer: &mut dyn Observer,
) -> Result<Decrypted<P::Scheme>> {
    let (params, wanted) = (program.params(), &expected.results);
    if files.len() != wanted.len() {
        let names = format!("the results of {}", program.name());
        return Err(Error::Count { count: files.len(), wanted: wanted.len(), names });
    }
    let said = expected.origin != Origin::NONE;
    let mut results = Vec::new();
    for (index, (path, expectation)) in files.iter().zip(wanted).enumerate() {
        observer.step(DECRYPT_STEP, index, files.len());
        belongs(path, &if said { expected.origin.numbered(index) } else { Origin::NONE })?;
        let of_file = |e| Error::of_file(path, e);
        let result = P::Scheme::read(open_file(path)?, (dev, params)).map_err(of_file)?;
        results.push(P::Scheme::admit(expectation, params, result).map_err(of_file)?);
    }
    let encoder = P::Scheme::encoder(params);
    let opened = P::Scheme::open((dev, &encoder), params, secrets, (&[], &results));
    let place = files.first().map_or_else(PathBuf::new, |file| file.parent().unwrap_or(file).into());
    let reading = opened.map_err(|e| Error::of_file(if files.len() == 1 { &files[0] } else { &place }, e))?;
    let estimates = results.iter().map(|result| P::Scheme::estimate(params, result)).collect();
    let arrays = program.arrays(&reading);
    Ok(Decrypted { reading, estimates, arrays })
}
