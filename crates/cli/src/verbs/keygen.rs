//! `limbwise keygen`: the keys of a program, the secret apart from what the server gets.

use crate::{
    failure::Mistake,
    host::{HostArgs, MemoryArgs},
    output::{Output, OutputArgs},
    progress::{Progress, note},
    readings::{calibrated, planned, recorded},
    seconds::{Seconds, SecondsArgs},
    secrets::{InsecureSeed, Passphrase, PassphraseArgs, SeedArgs},
    text::{forecast, table::line, units},
    workload::{Whole, Workload, refused},
};
use limbwise_apps::{AnyPrepared, Prepared, on_scheme};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    AnyDevice,
    calibrate::degrees,
    client_side::{KeysMade, ToMake, make_keys},
    keygen::{Sides, check},
    places::Existing,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Generate the keys of a program: the secret key for the client, public keys for the server
///
/// Records the program to find which keys it needs at which level, and generates only those, one after the other.
/// The client's directory gets the secret key (readable by its owner only), the public key, the program's description
/// and the paths of its data; the server's gets the evaluation keys, the public key, parameters and description. All of
/// them come into the directories at the end: keygen that is killed leaves a folder .unfinished, which the next one removes.
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

    /// Replace the keys that are in the directories: what was encrypted under them is lost
    #[arg(long, global = true, help_heading = "Sides")]
    force: bool,

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
    seconds: SecondsArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Report {
    #[serde(flatten)]
    made: KeysMade,
    client: PathBuf,
    /// The server's directory.
    server: PathBuf,
    /// The secret key is under a passphrase.
    passphrase: bool,
}

/// A directory that must be given.
fn given<'a>(dir: Option<&'a PathBuf>, name: &str) -> Result<&'a Path, Mistake> {
    dir.map(PathBuf::as_path).ok_or_else(|| {
        Mistake(format!("--{name} is missing: give two directories, --client for the secret and --server for the rest"))
    })
}

impl Keygen {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let (output, seconds) = (self.output.open()?, self.seconds.open()?);
        let (client, server) = (given(self.client.as_ref(), "client")?, given(self.server.as_ref(), "server")?);
        let seeds = self.seed.of_files(self.insecure)?;
        let passphrase = self.passphrase.read()?;
        let dev = self.host.open()?;
        let prepared = self.workload.prepare(self.memory.most).map_err(refused)?;
        let places = Sides { client, server };
        check(places, Existing::replaced_if(self.force))?;
        on_scheme!(AnyPrepared, &prepared, built => self.make(&dev, built, places, (&passphrase, &seeds), (&output, &seconds)))
    }

    fn make<S: Whole>(
        &self,
        dev: &AnyDevice,
        built: &Prepared<S>,
        places: Sides<'_>,
        (passphrase, seeds): (&Passphrase, &SeedSource),
        (output, seconds): (&Output, &Seconds),
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
        let mut progress = Progress::new(0.0);
        let data = &self.workload.data();
        let (lock, existing) = (passphrase.lock(), Existing::replaced_if(self.force));
        let order = ToMake { built, way, recording: &recording, data, lock, seeds, existing };
        let made = make_keys(dev, places, &order, &mut progress)?;
        progress.finish();
        seconds.write(&progress)?;
        note("the secret key is in the client's directory alone: keep it, nobody can make it again");
        let report = Report {
            made,
            client: places.client.to_owned(),
            server: places.server.to_owned(),
            passphrase: passphrase.is_some(),
        };
        output.report(&report, &render(&report))
    }
}

fn render(report: &Report) -> String {
    let mut text = String::from("keys\n");
    for reason in
        report.made.insecure_reason.iter().map(String::as_str).chain(insecure(report.made.insecure_randomness))
    {
        text += &line("INSECURE", reason);
    }
    text += &line("client", &report.client.display().to_string());
    text += &line("server", &report.server.display().to_string());
    text += &line("keys", &format!("{}, {} in their file", report.made.keys, units::bytes(report.made.key_file_bytes)));
    text += &forecast(&report.made.forecast);
    text
}

/// What to say of randomness from a number.
pub(super) fn insecure(is: bool) -> Option<&'static str> {
    is.then_some("randomness from --seed: anybody can make the same keys")
}
