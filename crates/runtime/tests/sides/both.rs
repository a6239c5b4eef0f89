//! What the verbs do, in this process: keys, encryption, evaluation, decryption, each from files alone.

use limbwise::{
    ckks::Model as Known,
    rlwe::KeyForm,
    scheme::Scheme,
    wire::{Lock, Origin},
};
use limbwise_apps::{Client, Description, Program, linear::layer::Model};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    AnyDevice, Error, EvalReport, Event, Host, Job, Limits,
    client::{Decrypted, EncryptionKey, Expected, InputsOf, decrypt_files, encrypt_files, read_secrets, secret_file},
    eval::evaluate_files,
    expect::expectations,
    keygen::{KeyOrder, Sides, keygen},
    ledger::{Ledger, Round, hex},
    open,
    origin::keys_for,
    places::{BOOTSTRAP, Existing, KEYS, ciphertexts, description, targets},
    record,
    scheme::Piped,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A program, its data, and what is told of it.
pub(crate) struct Case<P, C> {
    pub(crate) program: P,
    pub(crate) client: C,
    pub(crate) description: Description,
}

/// The two directories.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) client: PathBuf,
    pub(crate) server: PathBuf,
}

impl Places {
    /// The files of the server's keys.
    pub(crate) fn keys(&self) -> Vec<PathBuf> {
        let files = [KEYS, BOOTSTRAP].map(|name| self.server.join(name));
        files.into_iter().filter(|path| path.exists()).collect()
    }
}

/// What an evaluation is given beside its inputs.
#[derive(Clone, Copy)]
pub(crate) struct How<'a> {
    pub(crate) state: Option<&'a Path>,
    pub(crate) stop: &'a (dyn Fn() -> bool + Sync),
    pub(crate) form: Option<KeyForm>,
}

impl Default for How<'_> {
    fn default() -> Self {
        Self { state: None, stop: &|| false, form: None }
    }
}

pub(crate) fn device() -> AnyDevice {
    open(&Host { device: None, isa: None, threads: Some(2) }).unwrap()
}

impl<P: Program<Scheme: Piped>, C: Client<Scheme = P::Scheme>> Case<P, C> {
    /// Keys of both sides, made from a seed.
    pub(crate) fn keys(&self, root: &Path, name: &str, seed: u64) -> Places {
        let [client, server] = ["client", "server"].map(|side| root.join(format!("{name}-{side}")));
        let recording = record(&self.program, KeyForm::Stored, &limbwise_cpu::footprint()).unwrap();
        let (sides, seeds) = (Sides { client: &client, server: &server }, SeedSource::Repeating(seed));
        let (params, required) = (self.program.params(), &recording.keys.required);
        let (description, existing) = (&self.description, Existing::Kept);
        let order = KeyOrder { params, description, required, lock: Lock::None, seeds: &seeds, data: &[], existing };
        keygen::<P::Scheme, _>(&device(), sides, &order, &mut ()).unwrap();
        Places { client, server }
    }

    /// `limbwise encrypt`.
    pub(crate) fn encrypt(&self, dev: &AnyDevice, places: &Places, out: &Path) -> Result<(), Error> {
        let (params, which) = (self.program.params(), self.program.encryption());
        let described = description(&places.client)?;
        let key = EncryptionKey::read::<P::Scheme>(dev, params, &places.client, &described, which, Lock::None)?;
        let files = targets(out, "input", self.program.inputs().len(), Existing::Replaced)?;
        let sides = (&self.program, &self.client);
        let name = encrypt_files(dev, sides, &key, &SeedSource::System, &files, &mut ())?;
        let round = Round { inputs: hex(name), key: which, place: out.display().to_string() };
        Ledger::of(&places.client, key.key_set()).encrypted(round)
    }

    /// `limbwise decrypt`.
    pub(crate) fn decrypt(
        &self,
        dev: &AnyDevice,
        places: &Places,
        results: &Path,
    ) -> Result<Decrypted<P::Scheme>, Error> {
        let (params, dir) = (self.program.params(), &places.client);
        let (described, files) = (description(dir)?, ciphertexts(results)?);
        let origin = keys_for(&dir.join(secret_file::<P::Scheme>(params)), &described)?;
        let secrets = read_secrets::<P::Scheme>(dir, params, Lock::None)?;
        let ledger = Ledger::of(dir, secrets.identity(P::Scheme::rlwe(params)));
        let inputs = InputsOf::of(&ledger, &self.program, origin, &files[0], None, None)?;
        let results = expectations(&self.program, inputs.key, Known::Known)?;
        let expected = Expected { results, origin: Origin { inputs: inputs.name, ..origin } };
        decrypt_files(dev, &self.program, &secrets, &expected, &files, &mut ())
    }

    /// Keys, encryption, evaluation, decryption. What the server has of it tells no secret.
    pub(crate) fn whole(&self, dev: &AnyDevice, root: &Path) -> (EvalReport, Decrypted<P::Scheme>) {
        let places = self.keys(root, "whole", 7);
        let [inputs, results] = ["in", "out"].map(|folder| root.join(folder));
        self.encrypt(dev, &places, &inputs).unwrap();
        let report = eval(dev, &places.server, (&places.keys(), &inputs), &results, How::default()).unwrap();
        for dir in [&places.server, &inputs, &results] {
            tells_no_secret(&places.client, dir);
        }
        let decrypted = self.decrypt(dev, &places, &results).unwrap();
        assert_eq!(decrypted.arrays.len(), self.program.arrays(&decrypted.reading).len());
        (report, decrypted)
    }
}

/// `limbwise eval`: of the program in the server's directory, which knows no client.
pub(crate) fn eval(
    dev: &AnyDevice,
    server: &Path,
    (keys, inputs): (&[PathBuf], &Path),
    results: &Path,
    how: How<'_>,
) -> Result<EvalReport, Error> {
    eval_told(dev, server, (keys, inputs), results, how, &mut |_| ())
}

/// The same, with what happens.
pub(crate) fn eval_told(
    dev: &AnyDevice,
    server: &Path,
    (keys, inputs): (&[PathBuf], &Path),
    results: &Path,
    how: How<'_>,
    tell: &mut dyn FnMut(Event),
) -> Result<EvalReport, Error> {
    let (description, inputs) = (description(server)?, ciphertexts(inputs)?);
    let job = Job {
        description: &description,
        model: &Model::default(),
        keys,
        inputs: &inputs,
        results,
        existing: Existing::Replaced,
        checkpoint: how.state,
        prepared: None,
    };
    let limits = Limits { memory_bytes: Some(8 << 30), stop: how.stop, key_form: how.form, ..Limits::default() };
    evaluate_files(dev, &job, &limits, tell)
}

/// A secret key's file ends with its seed and a checksum: neither that seed nor that file is in a directory.
fn tells_no_secret(client: &Path, dir: &Path) {
    let files =
        |dir: &Path| -> Vec<PathBuf> { fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let is_secret = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("secret");
    let secrets: Vec<PathBuf> = files(client).into_iter().filter(is_secret).collect();
    assert!(!secrets.is_empty());
    for path in files(dir) {
        assert!(!is_secret(&path), "{}", path.display());
        let bytes = fs::read(&path).unwrap();
        for secret in &secrets {
            let secret = fs::read(secret).unwrap();
            let seed = &secret[secret.len() - 48..secret.len() - 16];
            assert!(bytes.windows(seed.len()).all(|window| window != seed), "{}", path.display());
        }
    }
}

/// A folder that goes away with its test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("limbwise-sides-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
