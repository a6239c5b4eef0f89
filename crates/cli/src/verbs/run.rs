//! `limbwise run`: a program on encrypted data, every measurement beside its prediction.

use crate::{
    dpus::counted,
    failure::{Wrong, WrongMessages},
    host::{HostArgs, MemoryArgs},
    output::{Output, OutputArgs},
    progress::Progress,
    readings::{Planned, calibrated_with_disk, planned, planned_logic, planned_modular, planned_query},
    secrets::{SeedArgs, forget_seed},
    text,
    verbs::without_nulls,
    workload::{
        Workload, logic::BuiltLogic, modular::BuiltModular, not_for_questions, not_on_slots, query::BuiltQuery,
    },
};
use limbwise::ckks::ShadowBound;
use limbwise_apps::Program as _;
use limbwise_machines::{Spec, time};
use limbwise_math::finite;
use limbwise_runtime::{AnyDevice, RunOptions, journal::Checkpoint, logic, modular, query, run, session::Sides};
use std::path::PathBuf;

/// Run a program on encrypted data, beside its clear twin
///
/// Plans the program and prints the plan; then makes the keys, encrypts, evaluates and decrypts, and puts what was
/// measured beside what was predicted. At the end the same recording is timed on the model of ARK and on the model of
/// this CPU. The report of --json and --out is the run's alone; progress goes to standard error.
///
/// Examples:
///   limbwise run logreg --iterations 4 --out report.json
///   limbwise run linear --op conv --memory 3GB
///   limbwise run bootstrap --keys disk --memory 2GB
///   limbwise run pbs --batch 64                               programmable bootstrapping of 64 messages (TFHE)
///   limbwise run tpch-q6 --checkpoint state                   a question to an encrypted table, which a kill only delays
///   limbwise run logreg --shadow                              which operation goes wrong, if one does
///
/// What the numbers mean:
///   accuracy       share of held-back rows that the decrypted scores get right; clear: the twin with the same
///                  polynomial and iterations; true sigmoid: what the polynomial costs
///   precision      -log2 of the mean and of the largest absolute error against the clear twin
///   seconds        of the evaluation; keys, encoding of clear maps, encryption and decryption are steps of their own
///   peak memory    VmHWM of this process; predicted before its first polynomial
///   shadow         with --shadow: the worst precision of any result, region by region; not planned, and slow
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    #[command(subcommand)]
    workload: Workload,

    /// Keep the state after each step in this directory, with the seed of the secret key, and go on from what is there
    #[arg(long, value_name = "DIR", global = true)]
    checkpoint: Option<PathBuf>,

    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    /// Compare every result with its clear twin, and name the first operation that is wrong, with its region
    #[arg(long, global = true, help_heading = "Shadow mode")]
    shadow: bool,

    /// Largest error in shadow mode, as 2^-BITS; implies --shadow [default: 64 deviations of what is expected]
    #[arg(long, value_name = "BITS", value_parser = bits, global = true, help_heading = "Shadow mode")]
    shadow_bound: Option<f64>,

    #[command(flatten)]
    output: OutputArgs,
}

fn bits(text: &str) -> Result<f64, String> {
    let bits = finite::parse(text).ok().filter(|bits| (-60.0..=60.0).contains(bits));
    bits.ok_or_else(|| "wanted a number from -60 to 60; 10 to 25 is usual".into())
}

impl Run {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        let dev = self.host.open()?;
        if let Some(built) = self.workload.logic()? {
            not_on_slots(self.memory.is_given() || self.checkpoint.is_some() || self.options().shadow.is_some())?;
            return self.logic(&dev, &built, output);
        }
        if let Some(built) = self.workload.modular()? {
            not_on_slots(self.memory.is_given() || self.checkpoint.is_some() || self.options().shadow.is_some())?;
            return self.modular(&dev, &built, output);
        }
        if let Some(built) = self.workload.query()? {
            not_for_questions(self.memory.is_given() || self.options().shadow.is_some())?;
            return self.query(&dev, &built, output);
        }
        let built = self.workload.build(self.memory.most)?;
        let calibration = calibrated_with_disk(&dev, &built, &self.memory.key_dir())?;
        let Planned { way, recording, plan } = planned(&built, &calibration, self.memory.most)?;
        output.text(&text::plan::render(&plan))?;
        let mut progress = Progress::new(plan.seconds_predicted);
        let tell = &mut |event| progress.tell(event);
        let (program, client) = (built.program(way), built.client()?);
        let mut report = match &self.checkpoint {
            None => {
                let sides = Sides { program: &program, client, seeds: &self.seed.of_run() };
                run(&dev, &sides, (&recording, &plan), &self.options(), &mut (), tell)?
            }
            Some(dir) => {
                let seeds = self.seed.of_checkpoint(dir)?;
                let sides = Sides { program: &program, client, seeds: &seeds };
                let identity = sides.identity(&built.description(way))?;
                let mut journal = Checkpoint::open(&dev, program.params(), dir, identity)?;
                let report = run(&dev, &sides, (&recording, &plan), &self.options(), &mut journal, tell);
                let report = report.map_err(|e| journal.reason(e))?;
                journal.clear()?;
                forget_seed(dir)?;
                report
            }
        };
        progress.finish();
        report.details.values_mut().for_each(without_nulls);
        let dpus = counted(&dev, &mut report.details);
        output.report(&report, &(text::run::render(&report) + &dpus))?;
        let models = [Spec::load("ark")?, calibration.spec()?];
        for spec in models {
            output.text(&text::time::line(&time(&recording.graph, &spec)?))?;
        }
        match report.shadow.and_then(|shadow| shadow.first) {
            Some(finding) => Err(Wrong(finding).into()),
            None => Ok(()),
        }
    }

    /// A program on TFHE.
    fn logic(&self, dev: &AnyDevice, built: &BuiltLogic, output: Output) -> anyhow::Result<()> {
        let (_, plan) = planned_logic(dev, built)?;
        output.text(&text::logic::plan(&plan))?;
        let mut progress = Progress::new(plan.seconds_predicted);
        let tell = &mut |event| progress.tell(event);
        let report = logic::run(dev, (&built.program, &plan), &built.messages(), &self.seed.of_run(), tell)?;
        progress.finish();
        output.report(&report, &text::logic::run(&report))?;
        match report.wrong {
            0 => Ok(()),
            wrong => Err(WrongMessages { wrong, all: report.messages }.into()),
        }
    }

    /// A program on BGV.
    fn modular(&self, dev: &AnyDevice, built: &BuiltModular, output: Output) -> anyhow::Result<()> {
        let (recording, plan) = planned_modular(dev, built)?;
        output.text(&text::modular::plan(&plan))?;
        let mut progress = Progress::new(plan.seconds_predicted);
        let tell = &mut |event| progress.tell(event);
        let messages = built.messages();
        let seeds = self.seed.of_run();
        let mut report = modular::run(dev, (&built.program, &recording, &plan), &messages, &seeds, tell)?;
        progress.finish();
        let dpus = counted(dev, &mut report.details);
        output.report(&report, &(text::modular::run(&report) + &dpus))?;
        match report.wrong {
            0 => Ok(()),
            wrong => Err(WrongMessages { wrong, all: report.compared }.into()),
        }
    }

    /// A question to a table.
    fn query(&self, dev: &AnyDevice, built: &BuiltQuery, output: Output) -> anyhow::Result<()> {
        let data = built.data()?;
        let (recording, plan) = planned_query(dev, built)?;
        output.text(&text::query::plan(&plan))?;
        let mut progress = Progress::new(plan.seconds_predicted);
        let tell = &mut |event| progress.tell(event);
        let program = &built.program;
        let asked = (program, &recording, &plan);
        let report = match &self.checkpoint {
            None => query::run(dev, asked, &data, (&self.seed.of_run(), &mut ()), tell)?,
            Some(dir) => {
                let seeds = self.seed.of_checkpoint(dir)?;
                let identity = query::identity(program, &data, &seeds)?;
                let mut journal = Checkpoint::open(dev, program.params().tfhe(), dir, identity)?;
                let report = query::run(dev, asked, &data, (&seeds, &mut journal), tell);
                let report = report.map_err(|e| journal.reason(e))?;
                journal.clear()?;
                forget_seed(dir)?;
                report
            }
        };
        progress.finish();
        output.report(&report, &text::query::run(&report))?;
        match report.wrong {
            0 => Ok(()),
            wrong => Err(WrongMessages { wrong, all: program.question().rows }.into()),
        }
    }

    fn options(&self) -> RunOptions {
        let predicted = self.shadow.then_some(ShadowBound::Predicted);
        let shadow = self.shadow_bound.map(ShadowBound::Bits).or(predicted);
        RunOptions { key_dir: self.memory.key_dir(), shadow, ask: None }
    }
}
