//! Both sides of a workload by their files: keys, inputs, evaluation, results. The same directories as the command line's.

use crate::{
    error::{exception, of_runtime},
    program::json_of,
    report::{News, tell},
    secret::lock,
    workload::{Asked, Failure, Workload, chosen, refused, told},
};
use limbwise::{Complex64, wire::Lock};
use limbwise_apps::{
    AnyPrepared, Array, Description, Encryption, Observer, Prepared, linear::layer::Model, on_scheme, program::Numbers,
};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    AnyDevice, Host, Job, Limits,
    client_side::{ClientSide, KeysMade, ToDecrypt, ToEncrypt, ToMake, make_keys},
    evaluate_files,
    keygen::{Sides, check},
    open,
    places::{BOOTSTRAP, Existing, KEYS, ciphertexts, description},
    prepared::{ToPrepare, prepare_files},
    scheme::Whole,
};
use pyo3::prelude::{PyResult, Python, pyfunction};
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

/// Makes the keys of a workload: the secret into the client's directory, the others into the server's. What was made, as
/// JSON.
#[pyfunction]
#[pyo3(signature = (workload, client, server, *, passphrase=None, replace=false))]
pub(crate) fn keygen_files(
    py: Python<'_>,
    workload: &Workload,
    client: PathBuf,
    server: PathBuf,
    passphrase: Option<&str>,
    replace: bool,
) -> PyResult<String> {
    let (dev, asked) = (device(None, None)?, &workload.0);
    let (places, existing) = (Sides { client: &client, server: &server }, Existing::replaced_if(replace));
    check(places, existing).map_err(of_runtime)?;
    let lock = lock(passphrase);
    let made = py.detach(
        || on_scheme!(AnyPrepared, &asked.prepared, built => made(&dev, asked, built, places, (lock, existing))),
    );
    json_of(&made?)
}

fn made<S: Whole>(
    dev: &AnyDevice,
    asked: &Asked,
    built: &Prepared<S>,
    places: Sides<'_>,
    (lock, existing): (Lock<'_>, Existing),
) -> Result<Made, Failure> {
    let (way, recording) = chosen(built, asked.memory, &dev.footprint())?;
    let data = &asked.options.data();
    let order = ToMake { built, way, recording: &recording, data, lock, seeds: &SeedSource::System, existing };
    let keys = make_keys(dev, places, &order, &mut Steps);
    Ok(Made { keys: keys.map_err(Failure::Runtime)?, way: way.named() })
}

#[derive(serde::Serialize)]
struct Made {
    #[serde(flatten)]
    keys: KeysMade,
    way: String,
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
    let (dev, side) = (device(None, None)?, ClientSide::open(&client).map_err(of_runtime)?);
    let asked = ToEncrypt {
        data: &data,
        only: &[],
        key: public.map(|public| if public { Encryption::PublicKey } else { Encryption::SecretKey }),
        out: &out,
        existing: Existing::replaced_if(replace),
        lock: lock(passphrase),
        seeds: &SeedSource::System,
    };
    let encrypted = py.detach(|| side.encrypt(&dev, &asked, &mut Steps)).map_err(of_runtime)?;
    Ok(encrypted.inputs.into_iter().map(|input| input.file).collect())
}

/// The names of the inputs that a client's program takes, in order.
#[pyfunction]
pub(crate) fn input_names(client: PathBuf) -> PyResult<Vec<String>> {
    Ok(ClientSide::open(&client).map_err(of_runtime)?.input_names())
}

/// The server's numbers from their files.
fn model(description: &Description, files: [Option<&Path>; 2]) -> PyResult<Model> {
    match description.workload.model(files).map_err(refused)? {
        None if files.iter().any(Option::is_some) => {
            Err(exception("ParamsError", "weights, bias: this program has no clear matrix; leave them out"))
        }
        model => Ok(model.unwrap_or_default()),
    }
}

/// Encodes the model of a server's program once into a file; the report as JSON.
#[pyfunction]
#[pyo3(signature = (server, out, *, weights=None, bias=None, memory=None, replace=false))]
#[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
pub(crate) fn prepare_plaintexts(
    py: Python<'_>,
    server: PathBuf,
    out: PathBuf,
    weights: Option<PathBuf>,
    bias: Option<PathBuf>,
    memory: Option<u64>,
    replace: bool,
) -> PyResult<String> {
    let (dev, description) = (device(None, None)?, description(&server).map_err(of_runtime)?);
    let model = model(&description, [weights.as_deref(), bias.as_deref()])?;
    let existing = Existing::replaced_if(replace);
    let asked = ToPrepare { description: &description, model: &model, out: &out, existing };
    let limits = Limits { memory_bytes: memory, ..Limits::default() };
    json_of(&py.detach(|| prepare_files(&dev, &asked, &limits, &mut told)).map_err(of_runtime)?)
}

/// Evaluates the program of a server's directory on encrypted inputs; the report as JSON.
#[pyfunction]
#[pyo3(signature = (server, inputs, out, *, weights=None, bias=None, prepared=None, memory=None, replace=false, device_name=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
pub(crate) fn evaluate_inputs(
    py: Python<'_>,
    server: PathBuf,
    inputs: PathBuf,
    out: PathBuf,
    weights: Option<PathBuf>,
    bias: Option<PathBuf>,
    prepared: Option<PathBuf>,
    memory: Option<u64>,
    replace: bool,
    device_name: Option<String>,
    threads: Option<usize>,
) -> PyResult<String> {
    let dev = device(device_name, threads)?;
    let description = description(&server).map_err(of_runtime)?;
    let model = model(&description, [weights.as_deref(), bias.as_deref()])?;
    let inputs = ciphertexts(&inputs).map_err(of_runtime)?;
    let keys: Vec<PathBuf> =
        [BOOTSTRAP, KEYS].map(|name| server.join(name)).into_iter().filter(|path| path.exists()).collect();
    let job = Job {
        description: &description,
        model: &model,
        keys: &keys,
        inputs: &inputs,
        results: &out,
        existing: Existing::replaced_if(replace),
        checkpoint: None,
        prepared: prepared.as_deref(),
    };
    let limits = Limits { memory_bytes: memory, ..Limits::default() };
    json_of(&py.detach(|| evaluate_files(&dev, &job, &limits, &mut told)).map_err(of_runtime)?)
}

/// Decrypts results of a client's program, each compared first with what the client's own recording expects; with `compare`
/// also a comparison with the clear twin, as JSON. Last comes what makes the results doubtful.
#[pyfunction]
#[pyo3(signature = (client, results, *, inputs=None, parts=Vec::new(), compare=false, gain=1.0, passphrase=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
pub(crate) fn decrypt_results(
    py: Python<'_>,
    client: PathBuf,
    results: PathBuf,
    inputs: Option<PathBuf>,
    parts: Vec<PathBuf>,
    compare: bool,
    gain: f64,
    passphrase: Option<&str>,
) -> PyResult<(Vec<Numbered>, Option<String>, Vec<String>)> {
    if !(gain.is_finite() && gain >= 1.0) {
        return Err(exception("ParamsError", &format!("gain = {gain}: give a number from 1")));
    }
    let (dev, side) = (device(None, None)?, ClientSide::open(&client).map_err(of_runtime)?);
    let inputs: Vec<PathBuf> = inputs.into_iter().collect();
    let asked = ToDecrypt {
        results: &[results],
        inputs: &inputs,
        parts: &parts,
        compare,
        data: &[],
        key: None,
        gain,
        share: false,
        lock: lock(passphrase),
    };
    let opened = py.detach(|| side.decrypt(&dev, &asked, &mut Steps)).map_err(of_runtime)?;
    let compared = opened.compared.map(|compared| json_of(&compared)).transpose()?;
    Ok((opened.arrays.into_iter().map(numbered).collect(), compared, opened.warnings))
}

fn numbered(array: Array) -> Numbered {
    let kind = match array.numbers {
        Numbers::Complex => "complex",
        Numbers::Real => "real",
        Numbers::Whole => "whole",
        Numbers::Words => "words",
    };
    let part = |of: fn(&Complex64) -> f64| array.values.iter().map(of).collect();
    let (real, imaginary) = (part(|z| z.re), part(|z| z.im));
    (array.name, array.shape, kind, real, imaginary)
}
