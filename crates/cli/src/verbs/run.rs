//! `limbwise run`: a program on encrypted data, every measurement beside its prediction.

use crate::{
    host::{HostArgs, MemoryArgs},
    output::OutputArgs,
    progress::Progress,
    readings::{Planned, calibrated_with_disk, planned},
    text,
    workload::Workload,
};
use limbwise_machines::{Spec, time};
use limbwise_runtime::run;
use serde_json::Value;

/// Run a program on encrypted data, beside its clear twin
///
/// Plans the program and prints the plan; then makes the keys, encrypts, evaluates and decrypts, and puts what was
/// measured beside what was predicted. At the end the same recording is timed on the model of ARK and on the model of
/// this CPU. The report of --json and --out is the run's alone; progress goes to standard error.
///
/// Examples:
///   limbwise run logreg --iterations 4 --out report.json
///   limbwise run linear --op conv --memory 3GB
///
/// What the numbers mean:
///   accuracy       share of held-back rows that the decrypted scores get right; clear: the twin with the same
///                  polynomial and iterations; true sigmoid: what the polynomial costs
///   precision      -log2 of the mean and of the largest absolute error against the clear twin
///   seconds        of the evaluation; keys, encoding of clear maps, encryption and decryption are steps of their own
///   peak memory    VmHWM of this process; predicted before its first polynomial
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    #[command(subcommand)]
    workload: Workload,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Run {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        let dev = self.host.open()?;
        let built = self.workload.build(self.memory.most)?;
        let calibration = calibrated_with_disk(&dev, &built, &self.memory.key_dir())?;
        let Planned { way, recording, plan } = planned(&built, &calibration, self.memory.most)?;
        output.text(&text::plan::render(&plan))?;
        let mut progress = Progress::new(plan.seconds_predicted);
        let tell = &mut |event| progress.tell(event);
        let mut report = run(&dev, &built.program(way), &recording, &plan, &self.memory.key_dir(), tell)?;
        progress.finish();
        report.details.values_mut().for_each(without_nulls);
        output.report(&report, &text::run::render(&report))?;
        let models = [Spec::load("ark")?, calibration.spec()?];
        for spec in models {
            output.text(&text::time::line(&time(&recording.graph, &spec)?))?;
        }
        Ok(())
    }
}

/// Removes fields that do not apply: in the contract they are absent.
fn without_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(without_nulls);
    }
}
