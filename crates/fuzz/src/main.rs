//! `limbwise-fuzz [--seconds S] [--inputs N] [--folder DIR] [TARGET…]`: a campaign over all targets, or over those named.
//!
//! Each gets S seconds (60), or N inputs if they end first. The folder (`target/campaign/fuzz`) keeps a journal, from which
//! the next campaign goes on. Ends with 1 if anything was found; `limbwise-fuzz --input FILE TARGET` repeats one input, and
//! `limbwise-fuzz --list` prints each target with the places of its stored inputs.

use limbwise_fuzz::{
    TARGETS, Target,
    driver::{Budget, Campaign, Outcome, Stretch, listen_to_panics, run},
    targets::{root, scratch},
};
use peak_alloc::PeakAlloc;
use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

struct Given {
    budget: Budget,
    folder: PathBuf,
    input: Option<PathBuf>,
    list: bool,
    targets: Vec<&'static Target>,
}

fn given() -> Result<Given, String> {
    let (mut seconds, mut inputs, mut input, mut list) = (60.0, u64::MAX, None, false);
    let mut folder = PathBuf::from("target/campaign/fuzz");
    let mut targets = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word}: wanted a value"));
        match &*word {
            "--seconds" => seconds = value()?.parse().map_err(|e| format!("--seconds: {e}"))?,
            "--inputs" => inputs = value()?.parse().map_err(|e| format!("--inputs: {e}"))?,
            "--folder" => folder = value()?.into(),
            "--list" => list = true,
            "--input" => input = Some(value()?.into()),
            name => targets.push(Target::of(name).ok_or_else(|| {
                let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
                format!(
                    "no target {name}; wanted --seconds, --inputs, --folder, --input, --list or one of {}",
                    names.join(", ")
                )
            })?),
        }
    }
    let time = Duration::try_from_secs_f64(seconds).map_err(|e| format!("--seconds: {e}"))?;
    if targets.is_empty() {
        targets = TARGETS.iter().collect();
    }
    Ok(Given { budget: Budget { inputs, time }, folder, input, list, targets })
}

/// One input again, with what it says.
fn repeat(path: &PathBuf, target: &Target) -> io::Result<bool> {
    let (outcome, time, bytes) = run(target, &fs::read(path)?, &MEMORY);
    writeln!(io::stdout(), "{}: {outcome:?} in {time:?} with {bytes} bytes of memory", target.name)?;
    Ok(matches!(outcome, Outcome::Found(_)))
}

/// A line a target: its name, and the folders of its stored inputs.
fn list(targets: &[&'static Target]) -> io::Result<bool> {
    for target in targets {
        let own = Some(format!("crates/fuzz/corpus/{}", target.name)).filter(|own| root().join(own).is_dir());
        let folder = |seed: &str| match root().join(seed).is_dir() {
            true => seed.to_owned(),
            false => seed.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned(),
        };
        let all: BTreeSet<String> = target.seeds.iter().copied().chain(own.as_deref()).map(folder).collect();
        writeln!(io::stdout(), "{} {}", target.name, all.into_iter().collect::<Vec<_>>().join(" "))?;
    }
    Ok(false)
}

fn campaign(given: &Given) -> io::Result<bool> {
    let mut campaign = Campaign::open(&given.folder)?;
    let mut out = io::stdout();
    let mut any = false;
    if let Some(found) = campaign.ended_by()? {
        writeln!(out, "{found} of the campaign before")?;
        any = true;
    }
    for target in &given.targets {
        let Stretch { from, to, seconds, taken, refused, kept, slowest_ms, most_bytes, found, .. } =
            campaign.run(target, given.budget, &MEMORY)?;
        let (name, inputs, megabytes) = (target.name, to - from, most_bytes / 1_000_000);
        writeln!(
            out,
            "{name}: {inputs} inputs in {seconds:.1} s, {taken} taken, {refused} refused, {kept} new errors, \
             slowest {slowest_ms:.1} ms, {megabytes} MB, {} found",
            found.len()
        )?;
        found.iter().take(3).try_for_each(|found| writeln!(out, "  {found}"))?;
        any |= !found.is_empty();
    }
    let all: u64 = campaign.past().iter().map(|stretch| stretch.to - stretch.from).sum();
    writeln!(out, "{all} inputs in all campaigns of {}", given.folder.display())?;
    Ok(any)
}

fn main() -> ExitCode {
    let given = match given() {
        Ok(given) => given,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            return ExitCode::from(2);
        }
    };
    listen_to_panics();
    let found = match &given.input {
        _ if given.list => list(&given.targets),
        Some(path) => repeat(path, given.targets[0]),
        None => campaign(&given),
    };
    scratch::clear();
    match found {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}
