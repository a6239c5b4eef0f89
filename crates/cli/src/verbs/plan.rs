//! `limbwise plan`: what a program takes, before any key exists.

use crate::{
    choosing::{Choosing, DemandArgs},
    files::Target,
    host::{CalibrationArgs, HostArgs, MemoryArgs},
    output::OutputArgs,
    progress::note,
    readings::{calibrated_with_disk, planned},
    text,
    workload::{Workload, refused},
};
use limbwise_apps::{AnyPrepared, on_scheme};
use std::path::PathBuf;

/// Predict the cost of a program before any key exists
///
/// Records the program on a device that computes nothing and derives all numbers from the recording. No key is made and
/// nothing is encrypted. Seconds come from a calibration of this CPU (a few seconds, kept for a day).
///
/// Examples:
///   limbwise plan logreg --iterations 4 --threads 2
///   limbwise plan linear --op conv --memory 3GB
///   limbwise plan bootstrap --bits 20 --memory 4GB       chooses the parameters too: the fastest that are enough
///
/// What the numbers mean:
///   security       class of the 2024 guidelines: 128, 192 or 256 bits; 0 if the security check was overridden
///   levels         multiplicative depth: of a fresh ciphertext, used, left
///   precision      -log2 of the mean absolute error of the first result, by noise formulas
///   keys           every evaluation key the server needs, each for the highest level at which it is used
///   plaintexts     encoded clear values that the program multiplies by or adds
///   peak memory    of the whole process, client and server together
///   seconds        of the evaluation on this CPU with this number of threads, without key generation
///   failure        TFHE programs: probability that any message is wrong
///   choices        Pareto-optimal configurations in memory and time; the star marks the chosen one
///   layers         networks: of each value the level and scale it ends at, expected bits, rotations, evaluation keys,
///                  bytes and seconds
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Plan {
    #[command(subcommand)]
    workload: Workload,

    /// Also write the plan with all tables as one self-contained HTML file
    #[arg(long, value_name = "FILE", global = true)]
    html: Option<PathBuf>,

    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    calibration: CalibrationArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    demand: DemandArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Plan {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        let html = self.html.as_deref().map(Target::new).transpose()?;
        self.calibration.apply();
        let dev = self.host.open()?;
        let memory = self.memory.most;
        let mut workload = self.workload.clone();
        let demand = self.demand.demand();
        if !demand.is_empty() {
            let (best, found) = Choosing::new(&self.workload, &dev, &self.memory).chosen(demand)?;
            note(&text::choice::chosen(&best, &found));
            *workload.preset() = Some(best.preset);
        }
        on_scheme!(AnyPrepared, workload.prepare(memory).map_err(refused)?, built => {
            let calibration = calibrated_with_disk(&dev, &built, &self.memory.key_dir())?;
            let plan = planned(&built, &calibration, memory)?.plan;
            if let Some(html) = &html {
                html.write(text::plan::page(&plan).render().as_bytes())?;
            }
            output.report(&plan, &text::plan::render(&plan))
        })
    }
}
