//! `limbwise keygen`: the keys of a program, the secret apart from what the server gets.

use crate::{
    failure::Mistake,
    host::{HostArgs, MemoryArgs},
    output::{Output, OutputArgs},
    progress::{Progress, note},
    readings::{calibrated, degrees, planned, recorded},
    secrets::{InsecureSeed, Passphrase, PassphraseArgs, SeedArgs},
    text::{forecast, table::line, units},
    workload::{Whole, Workload, told},
};
use limbwise_apps::{AnyPrepared, Prepared, Program as _, on_scheme};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    AnyDevice,
    keygen::{Sides, check, keygen},
    places::{DATA, put_private},
    scheme::Forecast,
    sealed::seal,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Generate the keys of a program: the secret key for the client, public keys for the server
///
/// Records the program to find which keys it needs at which level, and generates only those, one after the other.
/// The client's directory gets the secret key (readable by its owner only), the public key, the program's description
/// and the paths of its data; the server's gets the evaluation keys, the public key, parameters and description.
///
/// Examples:
///   limbwise keygen logreg --client mine --server theirs
///   limbwise keygen linear --weights server --rows 10 --cols 784 --client mine --server theirs --passphrase-file p.txt
///
/// The server learns: the description (program.json), with data sizes and options; for CKKS programs the
/// largest value and root mean square of the inputs; for logreg the learning rate, an eigenvalue of the
/// training rows; for queries the SQL text and column domains; for bgv-table the matrix, unless it is encrypted.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Keygen {
    #[command(subcommand)]
    workload: Workload,

    /// Client directory; created if missing
    #[arg(long, value_name = "DIR", global = true, help_heading = "Sides")]
    client: Option<PathBuf>,

    /// Server directory; created if missing
    #[arg(long, value_name = "DIR", global = true, help_heading = "Sides")]
    server: Option<PathBuf>,

    #[command(flatten)]
    passphrase: PassphraseArgs,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    insecure: InsecureSeed,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Report {
    workload: String,
    /// What it computes with.
    scheme: &'static str,
    /// Name of the parameter set.
    preset: String,
    /// The class of the security gate; 0 below 128.
    security_bits: u32,
    /// Whose table says so.
    security_standard: &'static str,
    /// Why the parameters may be insecure, if the security check was overridden.
    #[serde(skip_serializing_if = "Option::is_none")]
    insecure_reason: Option<String>,
    /// Keys and ciphertexts came from randomness that anybody can repeat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    insecure_randomness: bool,
    client: PathBuf,
    /// The server's directory.
    server: PathBuf,
    /// The secret key is under a passphrase.
    passphrase: bool,
    keys: usize,
    /// Of the file of evaluation keys.
    key_file_bytes: u64,
    /// How they were planned to be kept in memory.
    key_form: limbwise::rlwe::KeyForm,
    /// What is expected of the results.
    #[serde(flatten)]
    forecast: Forecast,
}

/// A directory that must be given.
fn given<'a>(dir: Option<&'a PathBuf>, name: &str) -> Result<&'a Path, Mistake> {
    dir.map(PathBuf::as_path).ok_or_else(|| {
        Mistake(format!("--{name} is missing: give two directories, --client for the secret and --server for the rest"))
    })
}

impl Keygen {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        let (client, server) = (given(self.client.as_ref(), "client")?, given(self.server.as_ref(), "server")?);
        let seeds = self.seed.of_files(self.insecure)?;
        let passphrase = self.passphrase.read()?;
        let dev = self.host.open()?;
        let prepared = self.workload.prepare(self.memory.most).map_err(told)?;
        let places = Sides { client, server };
        check(places)?;
        on_scheme!(AnyPrepared, &prepared, built => self.make(&dev, built, places, (&passphrase, &seeds), &output))
    }

    fn make<S: Whole>(
        &self,
        dev: &AnyDevice,
        built: &Prepared<S>,
        places: Sides<'_>,
        (passphrase, seeds): (&Passphrase, &SeedSource),
        output: &Output,
    ) -> anyhow::Result<()> {
        // Where nothing is left open and no budget is to be kept, nothing is measured.
        let (way, recording) = match &built.ways[..] {
            [way] if self.memory.most.is_none() => (*way, recorded(built, *way, &dev.footprint())?),
            _ => {
                let calibration = calibrated(dev, degrees::<S>(built.params()))?;
                let planned = planned(built, &calibration, self.memory.most)?;
                (planned.way, planned.recording)
            }
        };
        let mut description = built.description(way);
        description.insecure_randomness = seeds.is_insecure();
        let data = seal(&self.workload.data())?;
        let mut progress = Progress::new(0.0);
        let (params, required) = (built.params(), &recording.keys.required);
        let of = (&description, required);
        let bytes = keygen::<S, _>((dev, params), places, of, (passphrase.lock(), seeds), &mut progress)?;
        progress.finish();
        put_private(&places.client.join(DATA), &data)?;
        note("the secret key is in the client's directory alone: keep it, nobody can make it again");
        let security = S::security(params);
        let report = Report {
            workload: built.program(way).name().into(),
            scheme: S::NAME,
            preset: built.preset.clone(),
            security_bits: security.bits,
            security_standard: security.standard,
            insecure_reason: security.insecure_reason.clone(),
            insecure_randomness: seeds.is_insecure(),
            client: places.client.to_owned(),
            server: places.server.to_owned(),
            passphrase: passphrase.is_some(),
            keys: required.len() + if S::tfhe(params).is_some() { 2 } else { 0 },
            key_file_bytes: bytes,
            key_form: recording.keys.form,
            forecast: S::forecast(params, &recording.results, recording.rotations),
        };
        output.report(&report, &render(&report))
    }
}

fn render(report: &Report) -> String {
    let mut text = String::from("keys\n");
    for reason in report.insecure_reason.iter().map(String::as_str).chain(insecure(report.insecure_randomness)) {
        text += &line("INSECURE", reason);
    }
    text += &line("client", &report.client.display().to_string());
    text += &line("server", &report.server.display().to_string());
    text += &line("keys", &format!("{}, {} in their file", report.keys, units::bytes(report.key_file_bytes)));
    text += &forecast(&report.forecast);
    text
}

/// What to say of randomness from a number.
pub(super) fn insecure(is: bool) -> Option<&'static str> {
    is.then_some("randomness from --seed: anybody can make the same keys")
}
