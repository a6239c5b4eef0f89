//! The client's side: it encrypts inputs as the program's description declares, and decrypts results. Only with the
//! feature `client`.

use crate::{
    clock::{DECRYPT_STEP, ENCRYPT_STEP},
    error::{Error, Result},
    ledger::{Ledger, hex},
    origin::{belonging, inputs_name, keys_for, origin_of},
    places::{PUBLIC, SECRET, TFHE_SECRET, open_file, put, refused},
};
use limbwise::{
    params::Params,
    rlwe::PublicKey,
    scheme::{Clear, ClientScheme, Encrypting, Scheme, Secrets, Setup, Shadows},
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

/// The client's encryption keys, and the origin that its files record.
pub struct EncryptionKey<D: Device> {
    key: Under,
    secrets: Option<Secrets>,
    public: Option<PublicKey<D>>,
    origin: Origin,
}

impl<D: Device> EncryptionKey<D> {
    /// Reads the keys in the client's directory that encryption under `which` needs.
    pub fn read<S: ClientScheme>(
        dev: &D,
        params: &S::Params,
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
                // Inputs of two schemes are encrypted under both keys, which must be of one key set.
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

/// File name of a scheme's secret key: the RLWE key if the scheme has one.
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
        secrets.check_origin(S::rlwe(params), &label).map_err(|e| Error::of_file(path, e))?;
    }
    Ok(secrets)
}

/// Encrypts all inputs of a program into files and returns the inputs' fingerprint.
///
/// # Errors
/// Values that cannot be encoded or exceed the declared bound; no randomness; errors of the system.
pub fn encrypt_files<D: HostRead, P: Program<Scheme: ClientScheme>, C: Client<Scheme = P::Scheme>>(
    dev: &D,
    (program, client): (&P, &C),
    key: &EncryptionKey<D>,
    seeds: &SeedSource,
    targets: &[PathBuf],
    observer: &mut dyn Observer,
) -> Result<Fingerprint> {
    let all: Vec<usize> = (0..targets.len()).collect();
    encrypt_chosen(dev, (program, client), key, seeds, (targets, &all), observer)?;
    inputs_name(targets)
}

/// Encrypts the inputs with these indices into their files of all.
///
/// # Errors
/// As [`encrypt_files`].
pub fn encrypt_chosen<D: HostRead, P: Program<Scheme: ClientScheme>, C: Client<Scheme = P::Scheme>>(
    dev: &D,
    (program, client): (&P, &C),
    key: &EncryptionKey<D>,
    seeds: &SeedSource,
    (targets, chosen): (&[PathBuf], &[usize]),
    observer: &mut dyn Observer,
) -> Result<()> {
    let params = program.params();
    let encoder = P::Scheme::encoder(params);
    let setup = Setup { dev, encoder: &encoder, params };
    let inputs = program.inputs();
    for (done, &index) in chosen.iter().enumerate() {
        let (path, input) = (&targets[index], &inputs[index]);
        observer.step(ENCRYPT_STEP, done, chosen.len());
        let values = client.values(index);
        let seed = seeds.seed(&format!("input {index}")).map_err(limbwise::Error::from)?;
        let origin = key.origin.numbered(index);
        put(path, |file| {
            let clear = Clear { input, values: &values };
            let out = P::Scheme::encrypt_to(BufWriter::new(file), setup, &key.encrypting(), clear, &seed, &origin)?;
            out.into_inner().map_err(|e| refused(path, "writing")(e.into_error()))
        })?;
    }
    Ok(())
}

pub struct Decrypted<S: ClientScheme> {
    pub reading: S::Reading,
    /// The client's prediction for each result: above all, its error.
    pub estimates: Vec<S::Estimate>,
    /// The same results as arrays.
    pub arrays: Vec<Array>,
}

/// The inputs that results must come from, and how these were encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputsOf {
    /// Their fingerprint; `None` for files of version 1, which do not record it.
    pub name: Fingerprint,
    pub key: Under,
    /// Whether this client's ledger has them.
    pub known: bool,
}

impl InputsOf {
    /// The inputs that results must come from: those of the last encryption, or the named ones. `key` says which key
    /// encrypted them if the ledger does not have them. The default is the public key, because the secret key never
    /// leaves this directory; for keys of version 1, which had no ledger, it is the key that the program was planned
    /// with.
    ///
    /// # Errors
    /// [`Error::OtherInputs`] for a result of other inputs; absent files; a damaged ledger.
    pub fn of<P: Program>(
        ledger: &Ledger,
        program: &P,
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
            // Keys of version 1 do not record their origin, so the files that belong to them need not either.
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

/// What a client knows of results before it decrypts them.
pub struct Expected<S: ClientScheme> {
    /// Expected public metadata of each result.
    pub results: Vec<S::Expectation>,
    /// The origin that the files must record.
    pub origin: Origin,
}

/// Decrypts the results of a program. All of them are compared with the expected metadata before any is decrypted.
///
/// # Errors
/// Files that are absent, damaged, too few, or of another program, key set or inputs; metadata that differs from the
/// expected; implausible numbers.
pub fn decrypt_files<D: HostRead, P: Program<Scheme: ClientScheme>>(
    dev: &D,
    program: &P,
    secrets: &Secrets,
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
        let file = belonging(path, &if said { expected.origin.numbered(index) } else { Origin::NONE })?;
        let of_file = |e| Error::of_file(path, e);
        let result = P::Scheme::read(file, dev, params).map_err(of_file)?;
        results.push(P::Scheme::admit(expectation, params, result).map_err(of_file)?);
    }
    let encoder = P::Scheme::encoder(params);
    let opened = P::Scheme::open(Setup { dev, encoder: &encoder, params }, secrets, &[], &results);
    let place = files.first().map_or_else(PathBuf::new, |file| file.parent().unwrap_or(file).into());
    let reading = opened.map_err(|e| Error::of_file(if files.len() == 1 { &files[0] } else { &place }, e))?;
    let estimates = results.iter().map(|result| P::Scheme::estimate(params, result)).collect();
    program.admits(&reading).map_err(Error::of_refusal)?;
    let arrays = program.arrays(&reading);
    Ok(Decrypted { reading, estimates, arrays })
}
