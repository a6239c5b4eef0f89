//! `limbwise run`: a program on encrypted data, every measurement beside its prediction.

use crate::{
    dpus::counted,
    failure::{Mistake, Wrong, WrongMessages},
    host::{CalibrationArgs, HostArgs, MemoryArgs},
    output::{Output, OutputArgs},
    progress::{Progress, note},
    readings::{Planned, calibrated_with_disk, planned},
    secrets::{SeedArgs, forget_seed},
    text,
    verbs::run_parts::{ClusterArgs, InParts, On},
    workload::{Whole, Workload, refused},
};
use limbwise::ckks::ShadowBound;
use limbwise_apps::{AnyPrepared, Client as _, Prepared, Program as _, on_scheme};
use limbwise_machines::{Spec, time};
use limbwise_math::finite;
use limbwise_runtime::{
    AnyDevice, Calibration, RunOptions, RunReport,
    calibrate::{contradicted, degrees},
    client_side::without_nulls,
    journal::{Checkpoint, CheckpointDir},
    run,
    scheme::SchemeRun,
    session::{Of, Sides},
};
use std::path::PathBuf;

/// Run a program on encrypted data and compare it with its clear twin
///
/// Plans the program and prints the plan. Then generates keys, encrypts, evaluates and decrypts, and prints measured
/// beside predicted values. At the end the same recording is timed on the models of ARK and of this CPU.
/// The report of --json and --out covers the run only; progress goes to standard error.
///
/// Examples:
///   limbwise run logreg --iterations 4 --out report.json
///   limbwise run linear --op conv --memory 3GB
///   limbwise run bootstrap --keys disk --memory 2GB
///   limbwise run pbs --batch 64                               programmable bootstrapping of 64 messages (TFHE)
///   limbwise run tpch-q6 --checkpoint state                   query an encrypted table; resumes after a kill
///   limbwise run tpch-q6 --rows 4096 --on ray                 in parts on a Ray cluster, or the cores of this computer
///   limbwise run logreg --shadow                              name the first operation that goes wrong
///   limbwise run bootstrap --profile                          see where its seconds go
///
/// What the numbers mean:
///   accuracy       share of test rows that the decrypted scores classify correctly; clear: the twin with the same
///                  polynomial and iterations; true sigmoid: what the polynomial costs
///   precision      -log2 of the mean and of the largest absolute error against the clear twin
///   seconds        of the evaluation; key generation, encoding, encryption and decryption are separate steps
///   peak memory    VmHWM of this process; predicted before anything is allocated
///   profile        with --profile: seconds measured and predicted of the regions that take longest, inner ones included
///   shadow         with --shadow: the worst precision of any result, by region; slow, and not part of the plan
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    #[command(subcommand)]
    workload: Workload,

    /// Save the state after each step in this directory, with the seed of the secret key, and resume from it
    #[arg(long, value_name = "DIR", global = true)]
    checkpoint: Option<PathBuf>,

    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    calibration: CalibrationArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    /// Compare every intermediate result with its clear twin; name the first wrong operation and its region
    #[arg(long, global = true, help_heading = "Shadow mode")]
    shadow: bool,

    /// Largest error allowed in shadow mode, as 2^-BITS; implies --shadow [default: 64 standard deviations]
    #[arg(long, value_name = "BITS", value_parser = bits, global = true, help_heading = "Shadow mode")]
    shadow_bound: Option<f64>,

    /// Time every region of the evaluation, and show the longest beside what was predicted of them (CPU only)
    #[arg(long, global = true)]
    profile: bool,

    #[command(flatten)]
    cluster: ClusterArgs,

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
        self.calibration.apply();
        let dev = self.host.open()?;
        if let On::Ray(address) = &self.cluster.on {
            return self.in_parts(&dev, address.as_deref(), &output);
        }
        on_scheme!(AnyPrepared, self.workload.prepare(self.memory.most).map_err(refused)?, built => {
            self.run(&dev, &built, &output)
        })
    }

    fn in_parts(&self, dev: &AnyDevice, address: Option<&str>, output: &Output) -> anyhow::Result<()> {
        if self.shadow().is_some() || self.seed.is_given() || self.profile {
            let text = "--on ray: parts are two sides by files, with randomness of the system, no shadows and no profile; leave out --seed, --shadow, --shadow-bound and --profile";
            return Err(Mistake(text.into()).into());
        }
        let (workload, args, memory) = (&self.workload, &self.cluster, self.memory.most);
        InParts { dev, workload, args, address, memory, dir: self.checkpoint.as_deref() }.execute(output)
    }

    fn run<S: Whole>(&self, dev: &AnyDevice, built: &Prepared<S>, output: &Output) -> anyhow::Result<()> {
        self.watchable::<S>(dev)?;
        let client = built.client().map_err(refused)?;
        let calibration = calibrated_with_disk(dev, built, &self.memory.key_dir())?;
        let Planned { way, recording, plan } = planned(built, &calibration, self.memory.most)?;
        // Taken before the seed in it is made, or read.
        let kept = self.checkpoint.as_deref().map(CheckpointDir::open).transpose()?;
        let seeds = match &self.checkpoint {
            None => self.seed.of_run(),
            Some(dir) => self.seed.of_checkpoint(dir)?,
        };
        let moved = client.in_way(way);
        let (program, client) = (built.program(way), Of(moved.as_ref().unwrap_or(client)));
        let sides = Sides { program: &program, client: &client, seeds: &seeds };
        let mut journal = match kept {
            None => None,
            Some(dir) => {
                let identity = sides.identity(&built.description(way))?;
                Some(Checkpoint::open(dev, program.params(), dir, identity)?)
            }
        };
        output.text(&text::plan::render(&plan))?;
        let options = self.options(&calibration)?;
        let mut progress = Progress::new(plan.seconds_predicted);
        let tell = &mut |event| progress.tell(event);
        let report = match &mut journal {
            None => run(dev, &sides, (&recording, &plan), &options, &mut (), tell),
            Some(journal) => {
                let report = run(dev, &sides, (&recording, &plan), &options, journal, tell);
                report.map_err(|e| journal.reason(e))
            }
        };
        // The likely cause, where only the plan knows it: values without a meaning are withheld.
        let mut report = report.inspect_err(|_| text::plan::warning(&plan.details).into_iter().for_each(note))?;
        let resumed = journal.as_ref().and_then(Checkpoint::resumed);
        if let Some(step) = resumed {
            note(&format!("went on after step {step} of the checkpoint: seconds are of what was left"));
        }
        if let Some((journal, dir)) = journal.zip(self.checkpoint.as_deref()) {
            journal.clear()?;
            forget_seed(dir)?;
        }
        progress.finish();
        report.details.values_mut().for_each(without_nulls);
        let dpus = counted(dev, &mut report.details);
        output.report(&report, &(text::run::render(&report) + &dpus))?;
        // A part of an evaluation says nothing on the prediction of the whole.
        if report.seconds_interval.is_some()
            && resumed.is_none()
            && let Some(told) =
                contradicted(dev, degrees::<S>(built.params()), [report.seconds, report.seconds_predicted])
        {
            note(&told);
        }
        for spec in [Spec::load("ark")?, calibration.spec()?] {
            // A machine without units for a scheme's operations has nothing to say of it.
            if let Ok(timed) = time(&recording.graph, &spec) {
                output.text(&text::time::line(&timed))?;
            }
        }
        verdict(&report)
    }

    /// Fails where the scheme has no shadows, or the run no times of regions.
    fn watchable<S: Whole>(&self, dev: &AnyDevice) -> anyhow::Result<()> {
        let shadow = self.shadow().is_some();
        let text = match (shadow && !S::HAS_SHADOWS, self.profile && shadow, self.profile && !dev.has_region_times()) {
            (true, ..) => NO_SHADOW.into(),
            (_, true, _) => TWICE.into(),
            (.., true) => format!(
                "--profile: only programs that the CPU runs alone have times of regions, and this one runs on {}; leave out --profile or --device",
                dev.kind()
            ),
            _ => return Ok(()),
        };
        Err(Mistake(text).into())
    }

    fn shadow(&self) -> Option<ShadowBound> {
        let predicted = self.shadow.then_some(ShadowBound::Predicted);
        self.shadow_bound.map(ShadowBound::Bits).or(predicted)
    }

    fn options(&self, calibration: &Calibration) -> anyhow::Result<RunOptions> {
        let profile = self.profile.then(|| calibration.spec()).transpose()?;
        Ok(RunOptions { key_dir: self.memory.key_dir(), shadow: self.shadow(), profile, ask: None })
    }
}

const NO_SHADOW: &str = "--shadow: shadow mode supports CKKS workloads only; this one is exact, and every run compares its results with the clear twin: leave it out";

const TWICE: &str = "--profile: the times of shadow mode are of everything twice; leave out one of the two";

/// Fails for results that are wrong.
fn verdict(report: &RunReport) -> anyhow::Result<()> {
    if let SchemeRun::Ckks(section) = &report.scheme
        && let Some(finding) = section.shadow.as_ref().and_then(|shadow| shadow.first.clone())
    {
        return Err(Wrong(finding).into());
    }
    match report.scheme.wrong() {
        None | Some([0, _]) => Ok(()),
        Some([wrong, all]) => Err(WrongMessages { wrong, all }.into()),
    }
}
