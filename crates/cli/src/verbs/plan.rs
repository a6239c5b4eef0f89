//! `limbwise plan`: what a program takes, before any key exists.

use crate::{
    host::{HostArgs, MemoryArgs},
    output::OutputArgs,
    readings::{calibrated_with_disk, planned},
    text,
    workload::{Workload, told},
};
use limbwise_apps::{AnyPrepared, on_scheme};

/// Say what a program takes, before any key exists
///
/// Records the program on a device that computes nothing, and reads everything off the recording: nothing is encrypted,
/// no key is made. Two seconds of measurement of this CPU, on other polynomials, give the time.
///
/// Examples:
///   limbwise plan logreg --iterations 4 --threads 2
///   limbwise plan linear --op conv --memory 3GB
///
/// What the numbers mean:
///   security       class of the tables of 2024: 128, 192 or 256 bits; 0 where leave was taken to be insecure
///   levels         multiplications in a row: of a fresh ciphertext, used, left over
///   precision      -log2 of the mean absolute error of the first result, from noise formulas
///   keys           every evaluation key the server needs, each made for the highest level it is used at
///   plaintexts     encoded clear values that the program multiplies with or adds
///   peak memory    most memory of the whole process, client and server together
///   seconds        of the evaluation on this CPU with these threads, without key generation
///   failure        of programs on TFHE: the probability that any message comes out wrong
///   choices        ways to do the same that no other beats in both memory and time; the star marks what is taken
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Plan {
    #[command(subcommand)]
    workload: Workload,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Plan {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        let dev = self.host.open()?;
        let memory = self.memory.most;
        on_scheme!(AnyPrepared, self.workload.prepare(memory).map_err(told)?, built => {
            let calibration = calibrated_with_disk(&dev, &built, &self.memory.key_dir())?;
            let plan = planned(&built, &calibration, memory)?.plan;
            output.report(&plan, &text::plan::render(&plan))
        })
    }
}
