//! `limbwise decrypt`: results in the clear, what they mean, and how they may be shared.

use crate::{
    failure::Mistake,
    host::HostArgs,
    output::JsonArgs,
    progress::{Progress, note},
    secrets::PassphraseArgs,
    text::table::line,
    verbs::{encrypt::open, existing, without_nulls},
};
use limbwise_apps::{Array, Client as _, Program as _, data::npy};
use limbwise_math::sampling::Seed;
use limbwise_runtime::{
    client::{Decrypted, decrypt_files, read_secret},
    places::{absent, ciphertexts, put, put_bytes},
    share::{Flooded, Sharing, shared},
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::{
    fmt::Write as _,
    io::{self, BufWriter},
    path::{Path, PathBuf},
};

/// Remembers that the warning was given.
const WARNED: &str = "noise-warning-given";
/// What everybody should know before they share a decrypted number.
const WARNING: &str = "decrypted CKKS numbers carry the noise of the scheme, which tells of the secret key: who has a ciphertext, its clear values and its decryption can compute the key (IND-CPA-D, Li and Micciancio 2021). Keep them, or share them with --share";

/// Decrypt results, and say what they mean
///
/// Writes the numbers as .npy, .csv or .json; with the client's data (--compare, or --data) the clear twin says what they
/// should be. Decrypted numbers carry noise that tells of the secret key, so before they are shared --share floods it:
/// Gaussian noise by the theorem of Li, Micciancio, Schultz and Sorrell (2022), and rounding to what it leaves.
///
/// Examples:
///   limbwise decrypt --client mine --in results --out weights.npy
///   limbwise decrypt --client mine --in results --out scores.csv --compare
///   limbwise decrypt --client mine --in results --out public.csv --share --statistical-bits 20
///
/// Several results are files with their names put in: out.weights.npy, out.scores.npy.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Decrypt {
    /// Directory of the client
    #[arg(long, value_name = "DIR")]
    client: PathBuf,

    /// The encrypted results: their directory, or files in the program's order
    #[arg(long = "in", value_name = "PATH", num_args = 1.., required = true)]
    results: Vec<PathBuf>,

    /// Where the numbers go: *.npy, *.csv or *.json
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Replace files that exist
    #[arg(long)]
    force: bool,

    /// Compare with the clear twin on the client's data
    #[arg(long)]
    compare: bool,

    /// The data that were encrypted, where they are not those that the keys were made for; compares with them
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,

    /// Make the numbers fit to be shared: flood their noise, and round
    #[arg(long, conflicts_with_all = ["compare", "data"])]
    share: bool,

    /// What an attacker may gain from shared numbers is at most 2^-BITS; each costs half a bit of precision
    #[arg(long, value_name = "BITS", default_value_t = 30, requires = "share", value_parser = clap::value_parser!(u32).range(1..=128))]
    statistical_bits: u32,

    /// Results that will be shared under this key in its life; four times as many cost a bit of precision
    #[arg(long, value_name = "COUNT", default_value_t = 1, requires = "share", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    shared_results: u32,

    #[command(flatten)]
    passphrase: PassphraseArgs,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    output: JsonArgs,
}

/// What was decrypted.
#[derive(Debug, Serialize)]
struct Report {
    workload: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    insecure_randomness: bool,
    precision_bits_predicted: f64,
    levels_left: usize,
    results: Vec<Written>,
    /// Against the clear twin: precision, accuracy, what the workload adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Map<String, Value>>,
    /// Whether the numbers are fit to be shared.
    shareable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
}

/// A result in its file.
#[derive(Debug, Serialize)]
struct Written {
    name: &'static str,
    shape: Vec<usize>,
    file: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    flooded: Option<Flooded>,
}

impl Decrypt {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open();
        let form = Form::of(&self.out)?;
        let (description, program, data) = open(&self.client)?;
        let files = match &self.results[..] {
            [place] => ciphertexts(place)?,
            files => files.to_vec(),
        };
        let client = if self.compare || !self.data.is_empty() {
            if !data.has_model() {
                return Err(Mistake("--compare: the server alone has the model, so nothing is known of what results should be; leave it out".into()).into());
            }
            Some(data.client(&description, &program, &self.data)?)
        } else {
            None
        };
        let passphrase = self.passphrase.read()?;
        let dev = self.host.open()?;
        let secret = read_secret(&self.client, program.params(), passphrase.lock())?;
        let mut progress = Progress::new(0.0);
        let decrypted = decrypt_files(&dev, &program, &secret, &files, &mut progress)?;
        progress.finish();
        let compared = client.map(|client| compared(&client.conclude(&decrypted.slots)));
        let Decrypted { estimates, levels_left, arrays, .. } = decrypted;
        let precision_bits_predicted = estimates[0].precision_bits();
        let targets = self.targets(&arrays);
        absent(&targets, existing(self.force))?;
        let mut results = Vec::new();
        for ((array, estimate), file) in arrays.iter().zip(estimates).zip(targets) {
            let (array, flooded) = match self.sharing() {
                Some(sharing) => shared(array, estimate, sharing, &Seed::from_os().map_err(limbwise::Error::from)?)
                    .map(|(array, flooded)| (array, Some(flooded)))?,
                None => (array.clone(), None),
            };
            form.write(&file, &array)?;
            results.push(Written { name: array.name, shape: array.shape, file, flooded });
        }
        let warning = if self.share { None } else { Some(WARNING) };
        self.warn_once()?;
        let report = Report {
            workload: program.name().into(),
            insecure_randomness: description.insecure_randomness,
            precision_bits_predicted,
            levels_left,
            results,
            compared,
            shareable: self.share,
            warning,
        };
        output.report(&report, &render(&report))
    }

    fn sharing(&self) -> Option<Sharing> {
        let sharing = Sharing { statistical_bits: self.statistical_bits, results: self.shared_results };
        self.share.then_some(sharing)
    }

    /// A file a result; several have the results' names put in.
    fn targets(&self, arrays: &[Array]) -> Vec<PathBuf> {
        let extension = self.out.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
        match arrays {
            [_] => vec![self.out.clone()],
            _ => arrays.iter().map(|array| self.out.with_extension(format!("{}.{extension}", array.name))).collect(),
        }
    }

    /// Says once for a client's directory that numbers tell of the key.
    fn warn_once(&self) -> anyhow::Result<()> {
        let mark = self.client.join(WARNED);
        if !self.share && !mark.exists() {
            note(WARNING);
            put_bytes(&mark, b"limbwise decrypt has said that decrypted numbers carry noise that tells of the key\n")?;
        }
        Ok(())
    }
}

/// A conclusion as JSON.
fn compared(conclusion: &limbwise_apps::Conclusion) -> Map<String, Value> {
    let precision = conclusion.precision;
    let mut all = json!(conclusion);
    without_nulls(&mut all);
    let mut all = all.as_object().cloned().unwrap_or_default();
    all.insert("precision_bits".into(), json!({ "mean": precision.mean, "min": precision.min }));
    all
}

/// How numbers are written.
#[derive(Clone, Copy, Debug)]
enum Form {
    Npy,
    Csv,
    Json,
}

impl Form {
    fn of(path: &Path) -> Result<Self, Mistake> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("npy") => Ok(Self::Npy),
            Some("csv") => Ok(Self::Csv),
            Some("json") => Ok(Self::Json),
            _ => Err(Mistake(format!("{}: wanted a file *.npy, *.csv or *.json", path.display()))),
        }
    }

    fn write(self, path: &Path, array: &Array) -> anyhow::Result<()> {
        let parts = if array.real { npy::Parts::Real } else { npy::Parts::Complex };
        match self {
            Self::Npy => put(path, |file| {
                let mut out = BufWriter::new(file);
                let written = npy::write(&mut out, &array.shape, &array.values, parts);
                written.and_then(|()| out.into_inner().map_err(io::IntoInnerError::into_error)).map_err(|source| {
                    limbwise_runtime::Error::Io { path: path.display().to_string(), doing: "writing", source }
                })
            })?,
            Self::Csv => put_bytes(path, csv(array).as_bytes())?,
            Self::Json => {
                let number = |z: &limbwise::Complex64| if array.real { json!(z.re) } else { json!([z.re, z.im]) };
                let values: Vec<Value> = array.values.iter().map(number).collect();
                let text = json!({ "name": array.name, "shape": array.shape, "values": values }).to_string();
                put_bytes(path, (text + "\n").as_bytes())?;
            }
        }
        Ok(())
    }
}

/// A row a line: of the last side; of complex numbers, one a line with its two parts.
fn csv(array: &Array) -> String {
    let mut text = String::new();
    let columns = match array.shape.last() {
        Some(&last) if array.real && array.shape.len() > 1 => last.max(1),
        _ => 1,
    };
    for row in array.values.chunks(columns) {
        let cell = |z: &limbwise::Complex64| if array.real { z.re.to_string() } else { format!("{},{}", z.re, z.im) };
        let _ = writeln!(text, "{}", row.iter().map(cell).collect::<Vec<_>>().join(","));
    }
    text
}

fn render(report: &Report) -> String {
    let mut text = String::from("decrypted\n");
    if report.insecure_randomness {
        text += &line("INSECURE", "randomness from --seed: anybody can make the same keys");
    }
    text += &line("precision", &format!("{:.1} bits predicted", report.precision_bits_predicted));
    if let Some(compared) = &report.compared {
        let number = |path: [&str; 2]| compared.get(path[0]).and_then(|v| v.get(path[1])).and_then(Value::as_f64);
        if let (Some(mean), Some(min)) = (number(["precision_bits", "mean"]), number(["precision_bits", "min"])) {
            text += &line("measured", &format!("{mean:.1} bits mean, {min:.1} least"));
        }
        if let (Some(encrypted), Some(clear)) = (number(["accuracy", "encrypted"]), number(["accuracy", "clear"])) {
            text += &line("accuracy", &format!("encrypted {encrypted:.4}, clear twin {clear:.4}"));
        }
    }
    for Written { name, shape, file, flooded } in &report.results {
        text += &line(name, &format!("{}, shape {shape:?}", file.display()));
        if let Some(Flooded { sharing, precision_bits, precision_bits_before, .. }) = flooded {
            let (s, lost) = (sharing.statistical_bits, precision_bits_before - precision_bits);
            let kept = format!("{precision_bits:.1} bits left; {s} bits of statistical security cost {lost:.1}");
            text += &line("shared", &kept);
        }
    }
    text
}
