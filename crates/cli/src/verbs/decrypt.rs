//! `limbwise decrypt`: results in the clear, what they mean, and how they may be shared.

use crate::{
    failure::Mistake,
    host::HostArgs,
    output::JsonArgs,
    progress::{Progress, note},
    seconds::SecondsArgs,
    secrets::PassphraseArgs,
    text::{forecast, table::line},
    verbs::encrypt::ENCRYPTIONS,
};
use limbwise_apps::{Array, Encryption, data::npy, options::choice, program::Numbers};
use limbwise_runtime::{
    client_side::{ClientSide, ToDecrypt},
    ledger::Shared,
    parts::part_dirs,
    places::{Existing, absent, put_private, put_secret},
    scheme::Forecast,
    share::Flooded,
};
use schemars::JsonSchema;
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

/// Decrypt and interpret results
///
/// Records the program from the client's own description first. A result must match the level, scale, size and error of
/// that recording, and belong to this program, key set and the last inputs. A result's own header is checked
/// and never trusted. Writes .npy, .csv, .txt or .json, readable by the owner only. With the client's data
/// (--compare or --data) the numbers are compared with the clear twin.
///
/// Decrypted numbers carry noise that leaks information about the secret key. --share floods it: Gaussian
/// noise by the theorem of Li, Micciancio, Schultz and Sorrell (2022), then rounding. The noise covers all results
/// shared under this key, a number set by the first sharing and counted in the client's ledger.
/// Flooding protects honest results that others see. It does not protect against a server
/// that forges results: never tell such a server what was decrypted or refused (SECURITY.md).
///
/// Examples:
///   limbwise decrypt --client mine --in results --out weights.npy
///   limbwise decrypt --client mine --in results --out scores.csv --compare
///   limbwise decrypt --client mine --in earlier --inputs in-monday --out monday.npy
///   limbwise decrypt --client mine --in results --out public.csv --share --statistical-bits 20 --shared-results 100
///
/// Several results go to files with their names inserted: out.weights.npy, out.scores.npy.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Decrypt {
    /// Directory of the client
    #[arg(long, value_name = "DIR")]
    client: PathBuf,

    /// The encrypted results: their directory, or files in the program's order
    #[arg(long = "in", value_name = "PATH", num_args = 1.., required = true)]
    results: Vec<PathBuf>,

    /// Where the numbers go: *.npy, *.csv (or *.txt, the same) or *.json
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Replace files that exist
    #[arg(long)]
    force: bool,

    /// Compare with the clear twin on the client's data
    #[arg(long)]
    compare: bool,

    /// The encrypted data, if they differ from those named at keygen; implies --compare
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,

    /// The encrypted inputs of these results [default: the last ones encrypted]
    #[arg(long, value_name = "PATH", num_args = 1..)]
    inputs: Vec<PathBuf>,

    /// These results are sums over the parts of a batch, whose encrypted inputs are in the directories of this one
    #[arg(long, value_name = "DIR", conflicts_with_all = ["inputs", "compare", "data"])]
    parts: Option<PathBuf>,

    /// The key that encrypted the inputs, if the ledger does not know it: they were encrypted by others, or before
    /// there was a ledger [default: public; for keys of version 1 the key of the plan]
    #[arg(long, value_parser = choice(ENCRYPTIONS), value_name = "WHICH")]
    key: Option<Encryption>,

    /// Factor by which the server's matrix, unknown to the client, may enlarge values and errors beyond what a random
    /// matrix does
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = gain)]
    model_gain: f64,

    /// Make the numbers safe to share: flood their noise and round
    #[arg(long, conflicts_with_all = ["compare", "data"])]
    share: bool,

    /// Bound an attacker's advantage from shared numbers by 2^-BITS; each bit costs half a bit of precision [default:
    /// that of the key's first sharing, or 30]
    #[arg(long, value_name = "BITS", requires = "share", value_parser = clap::value_parser!(u32).range(1..=128))]
    statistical_bits: Option<u32>,

    /// Number of results ever shared under this key, counting each result of a program; four times as many cost a bit of
    /// precision [default: that of the key's first sharing, or 16]
    #[arg(long, value_name = "COUNT", requires = "share", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    shared_results: Option<u32>,

    #[command(flatten)]
    passphrase: PassphraseArgs,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    seconds: SecondsArgs,
    #[command(flatten)]
    output: JsonArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Report {
    workload: String,
    /// Keys and ciphertexts came from randomness that anybody can repeat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    insecure_randomness: bool,
    /// What is expected of the results.
    #[serde(flatten)]
    forecast: Option<Forecast>,
    results: Vec<Written>,
    /// Against the clear twin: precision, accuracy, what the workload adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Map<String, Value>>,
    /// What makes the results doubtful.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// Whether the numbers are fit to be shared.
    shareable: bool,
    /// What was shared under this key, these results counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<Shared>,
    /// What to know before sharing.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
}

/// A result in its file.
#[derive(Debug, Serialize, JsonSchema)]
struct Written {
    name: String,
    /// Lengths of its axes.
    shape: Vec<usize>,
    file: PathBuf,
    /// What was done to its numbers to make them fit to be shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    flooded: Option<Flooded>,
}

impl Decrypt {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let (output, seconds) = (self.output.open(), self.seconds.open()?);
        let form = Form::of(&self.out)?;
        let side = ClientSide::open(&self.client)?;
        let (passphrase, dev) = (self.passphrase.read()?, self.host.open()?);
        let parts = self.parts.as_deref().map(part_dirs).transpose()?.unwrap_or_default();
        let asked = ToDecrypt {
            results: &self.results,
            inputs: &self.inputs,
            parts: &parts,
            compare: self.compare || !self.data.is_empty(),
            data: &self.data,
            key: self.key,
            gain: self.model_gain,
            share: self.share,
            lock: passphrase.lock(),
        };
        let mut progress = Progress::new(0.0);
        let mut opened = side.decrypt(&dev, &asked, &mut progress)?;
        progress.finish();
        seconds.write(&progress)?;
        if !opened.known_inputs {
            note("these inputs are not in the client's ledger: taken as encrypted by others");
        }
        let targets = self.targets(&opened.arrays);
        absent(&targets, Existing::replaced_if(self.force))?;
        let shared = self.share.then(|| opened.share(self.statistical_bits, self.shared_results)).transpose()?;
        let (mut flooded, shared) = shared.map_or_else(|| (Vec::new(), None), |(all, shared)| (all, Some(shared)));
        let mut flooded = flooded.drain(..);
        let mut results = Vec::new();
        for (array, file) in opened.arrays.into_iter().zip(targets) {
            form.write(&file, &array)?;
            results.push(Written { name: array.name, shape: array.shape, file, flooded: flooded.next() });
        }
        let approximate = opened.errors.is_some();
        if approximate {
            self.warn_once()?;
        }
        // Exact results carry no error of the scheme, so they tell nothing beside themselves.
        let shareable = self.share || !approximate;
        let report = Report {
            workload: opened.workload,
            insecure_randomness: opened.insecure_randomness,
            forecast: opened.forecast,
            results,
            compared: opened.compared,
            warnings: opened.warnings,
            shareable,
            shared,
            warning: if shareable { None } else { Some(WARNING) },
        };
        output.report(&report, &render(&report))
    }

    /// A file a result; several have the results' names put in.
    fn targets(&self, arrays: &[Array]) -> Vec<PathBuf> {
        let extension = self.out.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
        match arrays {
            [_] => vec![self.out.clone()],
            _ => {
                let names = in_file_names(arrays.iter().map(|array| array.name.as_str()));
                names.iter().map(|name| self.out.with_extension(format!("{name}.{extension}"))).collect()
            }
        }
    }

    /// Says once for a client's directory that numbers tell of the key.
    fn warn_once(&self) -> anyhow::Result<()> {
        let mark = self.client.join(WARNED);
        if !self.share && !mark.exists() {
            note(WARNING);
            put_private(
                &mark,
                b"limbwise decrypt has said that decrypted numbers carry noise that tells of the key\n",
            )?;
        }
        Ok(())
    }
}

/// Longest part of a file's name that a result's name becomes, in bytes.
const MOST_NAME: usize = 100;

/// Names as parts of files' names. What could be read as another directory, or as anything but a letter, becomes a dash; a
/// name that then is one of those before, whatever their case, gets its number.
fn in_file_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (number, name) in names.enumerate() {
        let plain = |c: char| if c.is_alphanumeric() || "._-+= ".contains(c) { c } else { '-' };
        let mut length = 0;
        let fits = |c: &char| {
            length += c.len_utf8();
            length <= MOST_NAME
        };
        let mut part: String = name.trim_start_matches('/').chars().map(plain).take_while(fits).collect();
        let same = |part: &String| all.iter().any(|before| before.to_lowercase() == part.to_lowercase());
        while part.is_empty() || same(&part) {
            part = format!("{part}-{number}");
        }
        all.push(part);
    }
    all
}

fn gain(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|x: &f64| (1.0..=1e9).contains(x));
    factor.ok_or_else(|| "wanted a factor from 1 to 1e9".into())
}

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
            Some("csv" | "txt") => Ok(Self::Csv),
            Some("json") => Ok(Self::Json),
            _ => Err(Mistake(format!("{}: wanted a file *.npy, *.csv, *.txt or *.json", path.display()))),
        }
    }

    fn write(self, path: &Path, array: &Array) -> anyhow::Result<()> {
        let parts = match array.numbers {
            Numbers::Complex => npy::Parts::Complex,
            Numbers::Words => npy::Parts::Words,
            Numbers::Real | Numbers::Whole => npy::Parts::Real,
        };
        match self {
            Self::Npy => put_secret(path, |file| {
                let mut out = BufWriter::new(file);
                let written = npy::write(&mut out, &array.shape, &array.values, parts);
                written.and_then(|()| out.into_inner().map_err(io::IntoInnerError::into_error)).map_err(|source| {
                    limbwise_runtime::Error::Io { path: path.display().to_string(), doing: "writing", source }
                })
            })?,
            Self::Csv => put_private(path, csv(array).as_bytes())?,
            Self::Json => {
                let number = |z: &limbwise::Complex64| match array.numbers {
                    Numbers::Complex => json!([z.re, z.im]),
                    Numbers::Real => json!(z.re),
                    Numbers::Whole => json!(whole(z.re)),
                    Numbers::Words => json!(Array::word(*z)),
                };
                let values: Vec<Value> = array.values.iter().map(number).collect();
                let text = json!({ "name": array.name, "shape": array.shape, "values": values }).to_string();
                put_private(path, (text + "\n").as_bytes())?;
            }
        }
        Ok(())
    }
}

/// An integer that a float holds exactly.
#[expect(clippy::cast_possible_truncation, reason = "integers of results are below 2^53")]
fn whole(x: f64) -> i64 {
    x as i64
}

/// A row a line: of the last side; of complex numbers, one a line with its two parts.
fn csv(array: &Array) -> String {
    let (mut text, real) = (String::new(), array.numbers != Numbers::Complex);
    let columns = match array.shape.last() {
        Some(&last) if real && array.shape.len() > 1 => last.max(1),
        _ => 1,
    };
    for row in array.values.chunks(columns) {
        let cell = |z: &limbwise::Complex64| match array.numbers {
            Numbers::Complex => format!("{},{}", z.re, z.im),
            Numbers::Real | Numbers::Whole => z.re.to_string(),
            Numbers::Words => Array::word(*z).to_string(),
        };
        let _ = writeln!(text, "{}", row.iter().map(cell).collect::<Vec<_>>().join(","));
    }
    text
}

fn render(report: &Report) -> String {
    let mut text = String::from("decrypted\n");
    if report.insecure_randomness {
        text += &line("INSECURE", "randomness from --seed: anybody can make the same keys");
    }
    text += &report.forecast.as_ref().map_or_else(String::new, forecast);
    if let Some(compared) = &report.compared {
        let number = |path: [&str; 2]| compared.get(path[0]).and_then(|v| v.get(path[1])).and_then(Value::as_f64);
        if let (Some(mean), Some(min)) = (number(["precision_bits", "mean"]), number(["precision_bits", "min"])) {
            text += &line("measured", &format!("{mean:.1} bits mean, {min:.1} least"));
        }
        if let (Some(wrong), Some(all)) = (compared.get("wrong"), compared.get("compared")) {
            text += &line("compared", &format!("{wrong} of {all} differ from the clear twin"));
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
    for warning in &report.warnings {
        text += &line("WARNING", warning);
    }
    if let Some(Shared { sharing, results }) = report.shared {
        text += &line("ledger", &format!("{results} of {} results shared under this key", sharing.results));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::in_file_names;

    #[test]
    fn names_of_results_stay_in_their_directory_and_apart() {
        let names = ["weights", "/fc/out", "fc-out", "../../up", "a\nb", "FC-out", "fc-out-2", "", &"é".repeat(300)];
        let got = in_file_names(names.into_iter());
        let last = "é".repeat(50);
        let wanted = ["weights", "fc-out", "fc-out-2", "..-..-up", "a-b", "FC-out-5", "fc-out-2-6", "-7", &last];
        assert_eq!(got, wanted);
    }
}
