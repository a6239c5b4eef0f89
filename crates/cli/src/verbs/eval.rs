//! `limbwise eval`: a program on encrypted files, with public keys only.

use crate::{
    failure::Mistake,
    host::{HostArgs, MemoryArgs},
    output::{JsonArgs, print},
    progress::{Progress, note},
    seconds::SecondsArgs,
    text::{forecast, table::line, units},
    verbs::resident,
    workload::refused,
};
use limbwise::rlwe::KeyForm;
use limbwise_apps::{
    Description,
    linear::layer::Model,
    options::{Choice, choice},
    registry::AnyLiteral,
};
use limbwise_runtime::{
    EvalReport, Job, Limits, evaluate_files, evaluate_parts,
    parts::{Answer as Done, Asker, Files, PartDone, Ready, Request},
    places::{BOOTSTRAP, Existing, KEYS, ciphertexts, description},
    scheme::Forecast,
};
use serde::Serialize;
use std::{
    io::{self, BufRead as _, Read as _},
    path::{Path, PathBuf},
    process::exit,
    sync::mpsc::{Receiver, channel},
    thread,
};

/// How evaluation keys are kept.
const KEYS_KEPT: &[Choice<KeyForm>] = &[
    ("stored", KeyForm::Stored, "Both halves in memory: fastest"),
    ("seeded", KeyForm::Seeded, "The uniform half expanded from a seed at each use: half the memory"),
    ("disk", KeyForm::Disk, "Left in their file, each prefetched before its use: least memory"),
];

/// Evaluate a program on encrypted files, with public keys only
///
/// Reads the program's description, keys and encrypted inputs, checks that they belong together, and
/// writes the encrypted results. With --checkpoint the state after each step is saved: repeat the same command to resume
/// a killed run, with bit-identical results.
///
/// Examples:
///   limbwise eval --server theirs --in in --out results
///   limbwise eval --server theirs --in in --out results --memory 3GB --checkpoint state
///
/// What the numbers mean:
///   seconds        of the evaluation; reading keys and inputs and writing results are separate steps
///   precision      -log2 of the expected mean absolute error of the first result
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, override_usage = "limbwise eval [OPTIONS] --server <DIR> --in <PATH>... --out <PATH>")]
pub(crate) struct Eval {
    /// Directory of the server: program.json, and evaluation.keys, bootstrap.keys or both
    #[arg(long, value_name = "DIR", required_unless_present = "socket")]
    server: Option<PathBuf>,

    /// Ask the evaluator that "limbwise serve DIR --socket PATH" keeps in memory, with its program, keys and model
    #[arg(long, value_name = "PATH", conflicts_with_all = ["server", "weights", "bias", "keys", "prepared", "parts"])]
    socket: Option<PathBuf>,

    /// The encrypted inputs: their directory, or files in the program's order
    #[arg(long = "in", value_name = "PATH", num_args = 1.., required_unless_present = "parts")]
    inputs: Vec<PathBuf>,

    /// A directory, or for a single result a file *.ct
    #[arg(long, value_name = "PATH", required_unless_present = "parts")]
    out: Option<PathBuf>,

    /// Replace files that exist
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    model: ModelFiles,

    /// Storage of evaluation keys [default: the fastest that fits]
    #[arg(long, value_parser = choice(KEYS_KEPT), value_name = "HOW")]
    keys: Option<KeyForm>,

    /// Save the state after each step in this directory, and resume from it
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,

    /// The program's plaintexts, encoded before (limbwise prepare): they are read in place of being encoded
    #[arg(long, value_name = "FILE")]
    prepared: Option<PathBuf>,

    /// Keep the keys, and evaluate the parts of a batch that come on standard input, a line of JSON each; answers go to
    /// standard output (docs/guide/cluster.md)
    #[arg(long, hide = true, conflicts_with_all = ["inputs", "out", "checkpoint"])]
    parts: bool,

    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    seconds: SecondsArgs,
    #[command(flatten)]
    output: JsonArgs,
}

/// Files of a model that the description leaves to the server.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ModelFiles {
    /// The server's matrix or filters, if the description leaves them to it: a table or .npy; the weights of a network
    #[arg(long, value_name = "FILE")]
    pub(super) weights: Option<PathBuf>,

    /// The server's bias, if the description leaves it to the server
    #[arg(long, value_name = "FILE")]
    pub(super) bias: Option<PathBuf>,
}

/// The model of a program.
pub(super) fn model_of(description: &Description, files: &ModelFiles) -> anyhow::Result<Model> {
    let files = [files.weights.as_deref(), files.bias.as_deref()];
    match description.workload.model(files).map_err(refused)? {
        None if files.iter().any(Option::is_some) => {
            Err(Mistake("--weights, --bias: this program has no clear matrix; leave them out".into()).into())
        }
        model => Ok(model.unwrap_or_default()),
    }
}

/// Longest request: a sum names thousands of directories.
const MOST_LINE: u64 = 1 << 24;

/// Said of keys that cannot be kept in any other way.
const WHOLE: &str =
    "--keys: every bootstrapping uses all keys of TFHE, so they are kept in memory (stored); leave it out";

impl Eval {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let (output, seconds) = (self.output.open(), self.seconds.open()?);
        if let Some(socket) = &self.socket {
            let report = resident::ask(socket, &self.files()?)?;
            seconds.write_steps(resident::steps(&report))?;
            return output.report(&report, &resident::render(&report));
        }
        let server = self.server.as_deref().unwrap_or_else(|| Path::new(""));
        let description = description(server)?;
        let model = model_of(&description, &self.model)?;
        if matches!((self.keys, &description.params), (Some(KeyForm::Seeded | KeyForm::Disk), AnyLiteral::Tfhe(_))) {
            return Err(Mistake(WHOLE.into()).into());
        }
        let inputs = match &self.inputs[..] {
            [] => Vec::new(),
            [place] => ciphertexts(place)?,
            files => files.to_vec(),
        };
        let dev = self.host.open()?;
        let keys = key_files(server);
        let job = Job {
            description: &description,
            model: &model,
            keys: &keys,
            inputs: &inputs,
            results: self.out.as_deref().unwrap_or_else(|| Path::new("")),
            existing: Existing::replaced_if(self.force),
            checkpoint: self.checkpoint.as_deref(),
            prepared: self.prepared.as_deref(),
        };
        let limits = Limits { key_form: self.keys, memory_bytes: self.memory.most, ..Limits::default() };
        if self.parts {
            return Ok(evaluate_parts(&dev, &job, &limits, &mut Lines::new())?);
        }
        let mut progress = Progress::new(0.0);
        let report = evaluate_files(&dev, &job, &limits, &mut |event| progress.tell(event))?;
        progress.finish();
        seconds.write(&progress)?;
        if let Some(step) = report.resumed_after {
            note(&format!("went on after step {step} of the checkpoint"));
        }
        output.report(&report, &render(&report))
    }
}

impl Eval {
    /// The same files as a request to another process, which may run in another directory.
    fn files(&self) -> anyhow::Result<Files> {
        let whole = |path: &Path| std::path::absolute(path);
        let inputs = self.inputs.iter().map(|path| whole(path)).collect::<io::Result<_>>()?;
        let results = whole(self.out.as_deref().unwrap_or_else(|| Path::new("")))?;
        let checkpoint = self.checkpoint.as_deref().map(whole).transpose()?;
        Ok(Files { inputs, results, replace: self.force, checkpoint })
    }
}

/// The key files of a server's directory.
pub(super) fn key_files(server: &Path) -> Vec<PathBuf> {
    [BOOTSTRAP, KEYS].map(|name| server.join(name)).into_iter().filter(|path| path.exists()).collect()
}

/// Requests from standard input, answers to standard output.
struct Lines {
    requests: Receiver<String>,
}

/// An answer as a line: what was done, or why not.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    /// The keys are there.
    Ready(Ready),
    Done(PartDone),
    Refused(String),
}

impl Lines {
    /// Reads in a thread of its own, so that the end is noticed while a part is evaluated: a caller that was killed wants
    /// no result, and what is left of its part is the checkpoint.
    fn new() -> Self {
        let (to, requests) = channel();
        thread::spawn(move || {
            loop {
                let mut line = String::new();
                match io::stdin().lock().take(MOST_LINE).read_line(&mut line) {
                    Ok(read) if read > 0 && to.send(line).is_ok() => {}
                    _ => exit(0),
                }
            }
        });
        Self { requests }
    }

    fn say(answer: &Answer) {
        let line = serde_json::to_string(answer).unwrap_or_default();
        let _ = print(&(line + "\n"));
    }
}

impl Asker for Lines {
    fn ready(&mut self, ready: Ready) {
        Self::say(&Answer::Ready(ready));
    }

    fn next(&mut self) -> Option<Request> {
        loop {
            match serde_json::from_str(&self.requests.recv().ok()?) {
                Ok(request) => return Some(request),
                Err(e) => Self::say(&Answer::Refused(format!("not a request: {e}"))),
            }
        }
    }

    fn answer(&mut self, done: limbwise_runtime::Result<Done>) {
        Self::say(&match done {
            Ok(Done::Part(part)) => Answer::Done(part),
            Ok(Done::Report(_)) => Answer::Refused("files are evaluated over a socket: limbwise serve --socket".into()),
            Err(e) => Answer::Refused(e.to_string()),
        });
    }
}

fn render(report: &EvalReport) -> String {
    let mut text = String::from("evaluated\n");
    if let Some(reason) = &report.insecure_reason {
        text += &line("INSECURE", reason);
    }
    if report.insecure_randomness {
        text += &line("INSECURE", "randomness from --seed: anybody can make the same keys");
    }
    text += &forecast(&report.forecast);
    text += &line("seconds", &units::seconds(report.seconds));
    let peak = report.peak_memory_bytes;
    let measured = peak.measured.map_or_else(|| "not told by this system".into(), units::bytes);
    text += &line("peak memory", &format!("{measured}; {} predicted", units::bytes(peak.predicted)));
    text += &line("keys", &units::bytes(report.key_bytes));
    if let Forecast::Ckks { levels_left, .. } = report.forecast {
        text += &line("levels left", &levels_left.to_string());
    }
    let steps = report.steps.iter().map(|s| format!("{} {}", s.name, units::seconds(s.seconds)));
    text += &line("steps", &steps.collect::<Vec<_>>().join(", "));
    for path in &report.results {
        text += &line("result", &path.display().to_string());
    }
    for warning in &report.warnings {
        text += &line("warning", warning);
    }
    text
}
