//! Both sides of a workload by their files: keys, inputs, evaluation, results. The same directories as the command line's.

use crate::{
    error::{exception, of_runtime},
    program::json_of,
    report::{News, tell},
    secret::lock,
    workload::{Failure, Whole, Workload, chosen, refused, told},
};
use limbwise::{Complex64, ckks::Model, scheme::Input as _, wire::Lock};
use limbwise_apps::{
    AnyPrepared, AnyProgram, Array, Description, Encryption, Observer, Prepared, Program, on_scheme, program::Numbers,
    registry::Data,
};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    AnyDevice, Error, Host, Job, Limits,
    client::{Decrypted, EncryptionKey, Expected, InputsOf, decrypt_files, encrypt_files, read_secrets, secret_file},
    evaluate_files,
    expect::expectations,
    keygen::{self, Sides, check},
    ledger::{Ledger, Round, hex},
    open,
    origin::{inputs_name, keys_for},
    places::{BOOTSTRAP, DATA, Existing, KEYS, ciphertexts, description, put_private, read_up_to, targets},
    sealed::{seal, unseal},
};
use pyo3::prelude::{PyErr, PyResult, Python, pyfunction};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// A decrypted result: its name, its shape, what its numbers are, and their real and imaginary parts.
type Numbered = (String, Vec<usize>, &'static str, Vec<f64>, Vec<f64>);

struct Steps;

impl Observer for Steps {
    fn step(&mut self, name: &str, done: usize, total: usize) {
        tell(News { kind: "step", name, done, total, ..News::default() });
    }
}

fn device(device: Option<String>, threads: Option<usize>) -> PyResult<AnyDevice> {
    open(&Host { device, isa: None, threads }).map_err(of_runtime)
}

fn existing(replace: bool) -> Existing {
    if replace { Existing::Replaced } else { Existing::Kept }
}

/// Something that is wrong with a directory's files, in words.
fn wrong(dir: &Path, why: impl std::fmt::Display) -> PyErr {
    exception("WireError", &format!("{}: {why}", dir.display()))
}

/// Makes the keys of a workload: the secret into the client's directory, the others into the server's. What was made, as
/// JSON.
#[pyfunction]
#[pyo3(signature = (workload, client, server, *, passphrase=None))]
pub(crate) fn keygen_files(
    py: Python<'_>,
    workload: &Workload,
    client: PathBuf,
    server: PathBuf,
    passphrase: Option<&str>,
) -> PyResult<String> {
    let (dev, asked) = (device(None, None)?, &workload.0);
    let places = Sides { client: &client, server: &server };
    check(places).map_err(of_runtime)?;
    let data = seal(&asked.options.data()).map_err(|e| wrong(&client, e))?;
    let made = py.detach(|| -> Result<Value, Failure> {
        let made = on_scheme!(AnyPrepared, &asked.prepared, built => {
            made((&dev, built, asked.memory), places, lock(passphrase))?
        });
        put_private(&client.join(DATA), &data).map_err(Failure::Runtime)?;
        Ok(made)
    });
    json_of(&made?)
}

fn made<S: Whole>(
    (dev, built, memory): (&AnyDevice, &Prepared<S>, Option<u64>),
    places: Sides<'_>,
    lock: Lock<'_>,
) -> Result<Value, Failure> {
    let (way, recording) = chosen(built, memory, &dev.footprint())?;
    let (params, required) = (built.params(), &recording.keys.required);
    let of = (&built.description(way), required);
    let bytes = keygen::keygen::<S, _>((dev, params), places, of, (lock, &SeedSource::System), &mut Steps)
        .map_err(Failure::Runtime)?;
    let security = S::security(params);
    Ok(json!({
        "workload": built.program(way).name(),
        "scheme": S::NAME,
        "preset": built.preset,
        "security_bits": security.bits,
        "insecure_reason": security.insecure_reason,
        "way": way.named(),
        "keys": required.len() + if S::tfhe(params).is_some() { 2 } else { 0 },
        "key_file_bytes": bytes,
    }))
}

/// What a client's directory remembers.
struct Side {
    description: Description,
    /// With any numbers in the place of the server's.
    program: AnyProgram,
    data: Data,
}

fn side(dir: &Path) -> PyResult<Side> {
    let description = description(dir).map_err(of_runtime)?;
    let program = description.stand_in().map_err(|e| wrong(dir, e))?;
    let path = dir.join(DATA);
    let data = unseal(&read_up_to(&path, 1 << 20).map_err(of_runtime)?).map_err(|e| wrong(&path, e))?;
    Ok(Side { description, program, data })
}

struct How<'a> {
    data: &'a [PathBuf],
    key: Option<Encryption>,
    existing: Existing,
    lock: Lock<'a>,
}

/// Encrypts a client's data as the inputs of its program; returns their files.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
#[pyo3(signature = (client, out, *, data=Vec::new(), public=None, passphrase=None, replace=false))]
pub(crate) fn encrypt_inputs(
    py: Python<'_>,
    client: PathBuf,
    out: PathBuf,
    data: Vec<PathBuf>,
    public: Option<bool>,
    passphrase: Option<&str>,
    replace: bool,
) -> PyResult<Vec<PathBuf>> {
    let (dev, side) = (device(None, None)?, side(&client)?);
    let key = public.map(|public| if public { Encryption::PublicKey } else { Encryption::SecretKey });
    let how = How { data: &data, key, existing: existing(replace), lock: lock(passphrase) };
    py.detach(
        || on_scheme!(AnyProgram, &side.program, program => encrypted((&dev, program), &side, (&client, &out), &how)),
    )
}

fn encrypted<P: Program<Scheme: Whole>>(
    (dev, program): (&AnyDevice, &P),
    side: &Side,
    (dir, out): (&Path, &Path),
    how: &How<'_>,
) -> PyResult<Vec<PathBuf>> {
    let Side { description, data, program: any } = side;
    let client = data.client::<P::Scheme>(&description.workload, any, how.data).map_err(refused)?;
    let written = || -> limbwise_runtime::Result<Vec<PathBuf>> {
        let files = targets(out, "input", program.inputs().len(), how.existing)?;
        let key = how.key.unwrap_or_else(|| program.encryption());
        let params = program.params();
        let read = EncryptionKey::read::<P::Scheme>((dev, params), dir, description, key, how.lock)?;
        let ledger = Ledger::of(dir, read.key_set());
        ledger.ready()?; // without it nobody could read the results
        let name = encrypt_files(dev, (program, &client), (&read, &SeedSource::System), &files, &mut Steps)?;
        ledger.encrypted(Round { inputs: hex(name), key, place: out.display().to_string() })?;
        Ok(files)
    };
    written().map_err(of_runtime)
}

/// The names of the inputs that a client's program takes, in order.
#[pyfunction]
pub(crate) fn input_names(client: PathBuf) -> PyResult<Vec<String>> {
    let side = side(&client)?;
    Ok(on_scheme!(AnyProgram, &side.program, program => {
        program.inputs().iter().map(|input| input.name().to_owned()).collect()
    }))
}

/// Evaluates the program of a server's directory on encrypted inputs; the report as JSON.
#[pyfunction]
#[pyo3(signature = (server, inputs, out, *, weights=None, bias=None, memory=None, replace=false, device_name=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
pub(crate) fn evaluate_inputs(
    py: Python<'_>,
    server: PathBuf,
    inputs: PathBuf,
    out: PathBuf,
    weights: Option<PathBuf>,
    bias: Option<PathBuf>,
    memory: Option<u64>,
    replace: bool,
    device_name: Option<String>,
    threads: Option<usize>,
) -> PyResult<String> {
    let dev = device(device_name, threads)?;
    let description = description(&server).map_err(of_runtime)?;
    let files = [weights.as_deref(), bias.as_deref()];
    let model = match description.workload.model(files).map_err(refused)? {
        None if files.iter().any(Option::is_some) => {
            return Err(exception("ParamsError", "weights, bias: this program has no clear matrix; leave them out"));
        }
        model => model.unwrap_or_default(),
    };
    let inputs = ciphertexts(&inputs).map_err(of_runtime)?;
    let keys: Vec<PathBuf> =
        [BOOTSTRAP, KEYS].map(|name| server.join(name)).into_iter().filter(|path| path.exists()).collect();
    let job = Job {
        description: &description,
        model: &model,
        keys: &keys,
        inputs: &inputs,
        results: &out,
        existing: existing(replace),
        checkpoint: None,
    };
    let limits = Limits { memory_bytes: memory, ..Limits::default() };
    json_of(&py.detach(|| evaluate_files(&dev, &job, &limits, &mut told)).map_err(of_runtime)?)
}

struct Opening<'a> {
    files: &'a [PathBuf],
    /// Encrypted inputs, where the results are not of those that were encrypted last.
    inputs: Option<&'a Path>,
    compare: bool,
    model: Model,
    lock: Lock<'a>,
}

/// Decrypts results of a client's program, each compared first with what the client's own recording expects; with `compare`
/// also a comparison with the clear twin, as JSON.
#[pyfunction]
#[pyo3(signature = (client, results, *, inputs=None, compare=false, gain=1.0, passphrase=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
pub(crate) fn decrypt_results(
    py: Python<'_>,
    client: PathBuf,
    results: PathBuf,
    inputs: Option<PathBuf>,
    compare: bool,
    gain: f64,
    passphrase: Option<&str>,
) -> PyResult<(Vec<Numbered>, Option<String>)> {
    let (dev, side) = (device(None, None)?, side(&client)?);
    if compare && !side.data.has_model() {
        return Err(exception("ParamsError", "compare: the server alone has the model; leave it out"));
    }
    if !(gain.is_finite() && gain >= 1.0) {
        return Err(exception("ParamsError", &format!("gain = {gain}: give a number from 1")));
    }
    let (program, model) = match side.data.model(&side.description.workload).map_err(refused)? {
        Some(numbers) => (side.description.program(&numbers).map_err(|e| wrong(&client, e))?, Model::Known),
        None => (side.program.clone(), Model::Server { gain }),
    };
    let files = ciphertexts(&results).map_err(of_runtime)?;
    let opening = Opening { files: &files, inputs: inputs.as_deref(), compare, model, lock: lock(passphrase) };
    let opened =
        py.detach(|| on_scheme!(AnyProgram, &program, program => opened((&dev, program), &side, &client, &opening)));
    let (arrays, compared) = opened?;
    Ok((arrays.into_iter().map(numbered).collect(), compared.map(|compared| json_of(&compared)).transpose()?))
}

/// The decrypted arrays, and how they compare with the clear twin's.
type Opened = (Vec<Array>, Option<Map<String, Value>>);

fn opened<P: Program<Scheme: Whole>>(
    (dev, program): (&AnyDevice, &P),
    side: &Side,
    dir: &Path,
    how: &Opening<'_>,
) -> PyResult<Opened> {
    let data = || side.data.client::<P::Scheme>(&side.description.workload, &side.program, &[]).map_err(refused);
    let client = how.compare.then(data).transpose()?;
    let read = || -> limbwise_runtime::Result<Decrypted<P::Scheme>> {
        let params = program.params();
        let origin = keys_for(&dir.join(secret_file::<P::Scheme>(params)), &side.description)?;
        let secrets = read_secrets::<P::Scheme>(dir, params, how.lock)?;
        let ledger = Ledger::of(dir, secrets.identity(<P::Scheme as limbwise::scheme::Scheme>::rlwe(params)));
        let named = how.inputs.map(|place| inputs_name(&ciphertexts(place)?)).transpose()?;
        let first = how.files.first().ok_or_else(|| Error::Empty { path: dir.display().to_string() })?;
        let inputs = InputsOf::of((&ledger, program), origin, first, named, None)?;
        let results = expectations(program, inputs.key, how.model)?;
        let origin = limbwise::wire::Origin { inputs: inputs.name, ..origin };
        decrypt_files(dev, (program, &secrets), &Expected { results, origin }, how.files, &mut Steps)
    };
    let Decrypted { reading, arrays, .. } = read().map_err(of_runtime)?;
    let compared = client.map(|client| {
        let conclusion = limbwise_apps::Client::conclude(&client, &reading);
        let mut all = <P::Scheme as limbwise_apps::Family>::compared(&conclusion.found);
        all.extend(conclusion.details);
        all
    });
    Ok((arrays, compared))
}

fn numbered(array: Array) -> Numbered {
    let kind = match array.numbers {
        Numbers::Complex => "complex",
        Numbers::Real => "real",
        Numbers::Whole => "whole",
    };
    let part = |of: fn(&Complex64) -> f64| array.values.iter().map(of).collect();
    let (real, imaginary) = (part(|z| z.re), part(|z| z.im));
    (array.name, array.shape, kind, real, imaginary)
}
