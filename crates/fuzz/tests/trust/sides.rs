//! A client and a server in folders of their own, in this process: what the verbs do, without a process a step.

use limbwise::{
    Complex64,
    ckks::{Model as Known, PlaintextForm, Precision, Promise, Strategy},
    params::{Insecure, Params, ParamsLiteral},
    rlwe::KeyForm,
    scheme::Ckks,
    wire::{Lock, Origin},
};
use limbwise_apps::{
    AnyProgram, Client, Conclusion, Description, Encryption, Program as _,
    family::SlotsFound,
    linear::{
        layer::{Described, LayerShape, Model, Numbers},
        options::Described as Linear,
    },
    registry::{Described as Workload, SlotsProgram},
};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    AnyDevice, Error, Host, Job, Limits,
    client::{EncryptionKey, Expected, InputsOf, decrypt_files, encrypt_files, read_secrets},
    eval::evaluate_files,
    expect::expectations,
    keygen::{KeyOrder, Sides, keygen},
    ledger::{Ledger, Round, hex},
    open,
    origin::keys_for,
    places::{Existing, KEYS, SECRET, ciphertexts, description},
    record,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Rows and columns of the layer.
const SIDE: usize = 4;

/// The client's numbers.
pub(crate) struct Numbers4(pub(crate) f64);

impl Client for Numbers4 {
    type Scheme = Ckks;

    fn values(&self, _input: usize) -> Vec<Vec<Complex64>> {
        vec![[0.25, -0.5, 0.75, 1.0].map(|x| Complex64::from(x * self.0)).to_vec()]
    }

    fn conclude(&self, _results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let found = SlotsFound { precision: Precision::of(&[], &[]), accuracy: None };
        Conclusion { found, details: serde_json::Map::new(), warnings: Vec::new() }
    }
}

pub(crate) fn device() -> AnyDevice {
    open(&Host { device: None, isa: None, threads: Some(1) }).unwrap()
}

fn params() -> Params {
    let mut literal = ParamsLiteral::chain(10, 40, 30, 2, (40, 2), 2);
    literal.insecure = Some(Insecure { reason: "a test of trust".into() });
    Params::new(&literal).unwrap()
}

/// A layer with rows of so many.
fn described(rows: usize) -> Description {
    let shape = LayerShape::Product { rows, columns: SIDE, vectors: 1 };
    let workload = Linear {
        layer: Described { shape, weights: Numbers::Seed(1), bias: None },
        level: 1,
        strategy: Strategy::Hoisted,
        plaintexts: PlaintextForm::Full,
        bounds: Promise { magnitude: 1.0, peak: 1.0, real: true },
    };
    Description::new::<Ckks>("tiny", &params(), KeyForm::Stored, Workload::Linear(workload))
}

/// Keys of both sides, made.
pub(crate) fn made(root: &Path, name: &str, rows: usize, seed: u64) -> (PathBuf, PathBuf) {
    let (client, server) = (root.join(format!("{name}-client")), root.join(format!("{name}-server")));
    let description = described(rows);
    let recording = record(&stand_in(&description).unwrap(), KeyForm::Stored, &limbwise_cpu::footprint()).unwrap();
    let sides = Sides { client: &client, server: &server };
    let (seeds, required) = (SeedSource::Repeating(seed), &recording.keys.required);
    let (params, description) = (&params(), &description);
    let existing = Existing::Kept;
    let order = KeyOrder { params, description, required, lock: Lock::None, seeds: &seeds, data: &[], existing };
    keygen::<Ckks, _>(&device(), sides, &order, &mut ()).unwrap();
    (client, server)
}

/// `limbwise encrypt`.
pub(crate) fn encrypt(dev: &AnyDevice, client: &Path, out: &Path, times: f64) -> Result<(), Error> {
    let (description, program) = opened(client)?;
    let key =
        EncryptionKey::read::<Ckks>(dev, program.params(), client, &description, Encryption::PublicKey, Lock::None)?;
    let files = limbwise_runtime::places::targets(out, "input", program.inputs().len(), Existing::Replaced)?;
    let name = encrypt_files(dev, (&program, &Numbers4(times)), &key, &SeedSource::System, &files, &mut ())?;
    let round = Round { inputs: hex(name), key: Encryption::PublicKey, place: out.display().to_string() };
    Ledger::of(client, key.key_set()).encrypted(round)
}

/// `limbwise eval`.
pub(crate) fn eval(
    dev: &AnyDevice,
    server: &Path,
    inputs: &Path,
    out: &Path,
    state: Option<&Path>,
) -> Result<(), Error> {
    let description = description(server)?;
    let inputs = ciphertexts(inputs)?;
    let job = Job {
        description: &description,
        model: &Model::default(),
        keys: &[server.join(KEYS)],
        inputs: &inputs,
        results: out,
        existing: Existing::Replaced,
        checkpoint: state,
        prepared: None,
    };
    let limits = Limits { memory_bytes: Some(1 << 30), ..Limits::default() };
    evaluate_files(dev, &job, &limits, &mut |_| ()).map(drop)
}

fn stand_in(description: &Description) -> Result<SlotsProgram, Error> {
    match description.stand_in().map_err(|e| Error::Report(e.to_string()))? {
        AnyProgram::Ckks(program) => Ok(program),
        _ => Err(Error::Report("a program on slots".into())),
    }
}

fn opened(client: &Path) -> Result<(Description, SlotsProgram), Error> {
    let description = description(client)?;
    let program = stand_in(&description)?;
    Ok((description, program))
}

/// `limbwise decrypt`: the numbers.
pub(crate) fn decrypt(dev: &AnyDevice, client: &Path, results: &Path) -> Result<Vec<f64>, Error> {
    let (description, program) = opened(client)?;
    let files = ciphertexts(results)?;
    let origin = keys_for(&client.join(SECRET), &description)?;
    let secrets = read_secrets::<Ckks>(client, program.params(), Lock::None)?;
    let ledger = Ledger::of(client, secrets.identity(Some(program.params())));
    let inputs = InputsOf::of(&ledger, &program, origin, &files[0], None, None)?;
    let results = expectations(&program, inputs.key, Known::Known)?;
    let expected = Expected { results, origin: Origin { inputs: inputs.name, ..origin } };
    let decrypted = decrypt_files(dev, &program, &secrets, &expected, &files, &mut ())?;
    Ok(decrypted.arrays.iter().flat_map(|array| array.values.iter().map(|z| z.re)).collect())
}

/// A folder that goes away with its test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("limbwise-trust-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
