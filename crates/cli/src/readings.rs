//! From a program to its plan: what `plan`, `run` and `time` have in common.

use crate::{
    failure::Mistake,
    progress::note,
    text::{self, units},
    workload::{Built, logic::BuiltLogic, modular::BuiltModular, query::BuiltQuery},
};
use limbwise::rlwe::KeyForm;
use limbwise_apps::Program;
use limbwise_graph::Graph;
use limbwise_runtime::{
    AnyDevice, Calibration, Plan, Recording, calibrate,
    exchange::{heracles, replay},
    files,
    frontier::{Budget, Row, Survey, Way, survey},
    host::{available_memory_bytes, resident_memory_bytes},
    logic::{self, LogicPlan, LogicRecording},
    modular::{self, ModularPlan, ModularRecording},
    query::{self, QueryPlan, QueryRecording},
    record,
};
use std::{
    fs::File,
    io::{BufReader, Read as _, Seek as _},
    path::Path,
    time::Instant,
};

/// A recorded and planned program.
pub(crate) struct Planned {
    pub(crate) way: Way,
    pub(crate) recording: Recording,
    pub(crate) plan: Plan,
}

/// Records a program.
///
/// # Errors
/// What the schemes refuse.
pub(crate) fn recorded<P: Program>(program: &P, way: Way) -> limbwise_runtime::Result<Recording> {
    let start = Instant::now();
    let recording = record(program, way.keys)?;
    said_recorded(&recording, 1, start);
    Ok(recording)
}

fn said_recorded(recording: &Recording, ways: usize, start: Instant) {
    let (nodes, seconds) = (recording.graph.nodes().len(), units::seconds(start.elapsed().as_secs_f64()));
    let compared = if ways > 1 { format!("compared {ways} ways, ") } else { String::new() };
    note(&format!("{compared}recorded {} operations in {seconds}", units::count(nodes as u64)));
}

/// Reads a recorded program: a file of `limbwise record`, lines of JSON (docs/graph-format.md), or a program trace of
/// HERACLES (.csv), which is recorded by this library's own operations.
///
/// # Errors
/// [`Mistake`] for a file that cannot be read; what is wrong in it, with file, line and field.
pub(crate) fn read_graph(path: &Path) -> anyhow::Result<Graph> {
    let name = path.display();
    let wrong = |e: &dyn std::fmt::Display| Mistake(format!("{name}: {e}"));
    let mut file = File::open(path).map_err(|e| wrong(&format!("cannot read: {e}")))?;
    if path.extension().is_some_and(|e| e == "csv") {
        let trace = heracles::read(BufReader::new(file)).map_err(|e| wrong(&e))?;
        return replay(&trace).map_err(|e| wrong(&e).into());
    }
    let mut first = [0];
    let is_text = file.read_exact(&mut first).is_ok() && first == *b"{";
    file.rewind().map_err(|e| wrong(&format!("cannot read: {e}")))?;
    match is_text {
        true => Graph::read_jsonl(BufReader::new(file)).map_err(|e| wrong(&e).into()),
        false => files::read_graph(&file).map_err(|e| wrong(&e).into()),
    }
}

/// Measures this host for programs of one ring degree.
///
/// # Errors
/// A device that cannot be opened.
pub(crate) fn calibrated(dev: &AnyDevice, log_n: u32) -> limbwise_runtime::Result<Calibration> {
    note("calibrating this host (about two seconds)");
    calibrate(dev, log_n)
}

/// Measures this host for programs on TFHE of one ring degree.
///
/// # Errors
/// As [`calibrated`].
pub(crate) fn calibrated_for_logic(dev: &AnyDevice, log_n: u32) -> limbwise_runtime::Result<Calibration> {
    note("calibrating this host (about three seconds)");
    calibrate(dev, log_n)?.with_rotations(dev, log_n)
}

/// Measures a device for a recorded program: at its largest ring, and at its smallest for blind rotations.
///
/// # Errors
/// As [`calibrated`].
pub(crate) fn calibrated_for_graph(dev: &AnyDevice, graph: &Graph) -> limbwise_runtime::Result<Calibration> {
    let degrees = || graph.shapes().iter().map(|s| s.ring.log_n());
    let calibration = calibrated(dev, degrees().max().unwrap_or(16))?;
    match graph.nodes().iter().any(|node| node.op().is_tfhe()) {
        true => calibration.with_rotations(dev, degrees().min().unwrap_or(10)),
        false => Ok(calibration),
    }
}

/// Records a program on TFHE.
///
/// # Errors
/// What the scheme refuses.
pub(crate) fn recorded_logic(built: &BuiltLogic) -> limbwise_runtime::Result<LogicRecording> {
    let start = Instant::now();
    let recording = logic::record(&built.program)?;
    let (nodes, seconds) = (recording.graph.nodes().len(), units::seconds(start.elapsed().as_secs_f64()));
    note(&format!("recorded {} operations in {seconds}", units::count(nodes as u64)));
    Ok(recording)
}

/// Records and plans a program on TFHE.
///
/// # Errors
/// Those of recording.
pub(crate) fn planned_logic(
    dev: &AnyDevice,
    built: &BuiltLogic,
) -> limbwise_runtime::Result<(LogicRecording, LogicPlan)> {
    let calibration = calibrated_for_logic(dev, built.log_n())?;
    let recording = recorded_logic(built)?;
    let plan = logic::plan(&built.program, &built.preset, &recording, &calibration)?;
    Ok((recording, plan))
}

/// Records a program on BGV.
///
/// # Errors
/// What the scheme refuses.
pub(crate) fn recorded_modular(built: &BuiltModular) -> limbwise_runtime::Result<ModularRecording> {
    let start = Instant::now();
    let recording = modular::record(&built.program)?;
    let (nodes, seconds) = (recording.graph.nodes().len(), units::seconds(start.elapsed().as_secs_f64()));
    note(&format!("recorded {} operations in {seconds}", units::count(nodes as u64)));
    Ok(recording)
}

/// Measures this host for a question to a table.
///
/// # Errors
/// As [`calibrated`].
pub(crate) fn calibrated_for_query(dev: &AnyDevice, built: &BuiltQuery) -> limbwise_runtime::Result<Calibration> {
    note("calibrating this host (about three seconds)");
    let [slots, messages] = built.log_n();
    calibrate(dev, slots)?.with_rotations(dev, messages)
}

/// Records a question to a table.
///
/// # Errors
/// What the schemes refuse.
pub(crate) fn recorded_query(built: &BuiltQuery) -> limbwise_runtime::Result<QueryRecording> {
    let start = Instant::now();
    let recording = query::record(&built.program)?;
    let (nodes, seconds) = (recording.graph.nodes().len(), units::seconds(start.elapsed().as_secs_f64()));
    note(&format!("recorded {} operations in {seconds}", units::count(nodes as u64)));
    Ok(recording)
}

/// Records and plans a program on BGV.
///
/// # Errors
/// Those of recording.
pub(crate) fn planned_modular(
    dev: &AnyDevice,
    built: &BuiltModular,
) -> limbwise_runtime::Result<(ModularRecording, ModularPlan)> {
    let calibration = calibrated(dev, built.log_n())?;
    let recording = recorded_modular(built)?;
    let plan = modular::plan(&built.program, &built.preset, &recording, &calibration)?;
    Ok((recording, plan))
}

/// Records and plans a question to a table.
///
/// # Errors
/// Those of recording.
pub(crate) fn planned_query(
    dev: &AnyDevice,
    built: &BuiltQuery,
) -> limbwise_runtime::Result<(QueryRecording, QueryPlan)> {
    let calibration = calibrated_for_query(dev, built)?;
    let recording = recorded_query(built)?;
    let plan = query::plan(&built.program, &built.preset, &recording, &calibration)?;
    Ok((recording, plan))
}

/// As [`calibrated`], and how fast keys come from a directory, where a program may keep some there.
///
/// # Errors
/// As [`calibrated`], or a directory that cannot be written to.
pub(crate) fn calibrated_with_disk(
    dev: &AnyDevice,
    built: &Built,
    dir: &Path,
) -> limbwise_runtime::Result<Calibration> {
    let calibration = calibrated(dev, built.params().log_n())?;
    if built.ways.iter().all(|way| way.keys != KeyForm::Disk) {
        return Ok(calibration);
    }
    Ok(Calibration { key_read_gb_s: key_rate(dev, built, dir)?, ..calibration })
}

/// How fast keys come from a directory, in GB/s.
#[cfg(feature = "client")]
fn key_rate(dev: &AnyDevice, built: &Built, dir: &Path) -> limbwise_runtime::Result<Option<f64>> {
    let rate = limbwise_runtime::keys::key_read_gb_s(dev, built.params(), dir)?;
    note(&format!("keys come from {} at {rate:.2} GB/s, out of the page cache", dir.display()));
    Ok(Some(rate))
}

/// A server makes no key, so it has none to measure with.
#[cfg(not(feature = "client"))]
fn key_rate(_: &AnyDevice, _: &Built, _: &Path) -> limbwise_runtime::Result<Option<f64>> {
    Ok(None)
}

/// Records and plans every way that is left open, and takes the fastest that fits: the memory asked for or, where there
/// is a choice, what this computer has.
///
/// # Errors
/// Those of recording, or a program that does not fit.
pub(crate) fn planned(built: &Built, calibration: &Calibration, memory: Option<u64>) -> anyhow::Result<Planned> {
    let start = Instant::now();
    let free = || Some(available_memory_bytes()?.saturating_add(resident_memory_bytes()?));
    let budget = match (memory, &built.ways[..]) {
        (Some(most), _) => Budget::Asked(most),
        (None, [_]) => Budget::Free(u64::MAX),
        (None, _) => Budget::Free(free().unwrap_or(u64::MAX)),
    };
    let most = budget.bytes();
    let Survey { rows, chosen } = survey(&built.ways, |way| built.program(way), &built.preset, calibration, budget)?;
    let Some((way, recording, plan)) = chosen else {
        let smallest = rows.iter().min_by_key(|row| row.peak_bytes);
        let smallest = smallest.map_or_else(String::new, describe);
        let budget = if memory.is_some() { "--memory" } else { "this computer has" };
        let text = format!(
            "{budget} {}: the smallest plan takes {smallest}; choose {}, or more memory",
            units::bytes(most),
            built.smaller
        );
        return Err(Mistake(text).into());
    };
    said_recorded(&recording, rows.len(), start);
    Ok(Planned { way, recording, plan })
}

/// A way in words, for the one that is the smallest.
fn describe(row: &Row) -> String {
    let peak = format!("{} at its peak", units::bytes(row.peak_bytes));
    match (row.way.strategy(), row.way.plaintexts()) {
        (Some(strategy), Some(form)) => {
            let keys = text::plan::form(row.way.keys);
            let seconds = units::seconds(row.cost);
            format!("{peak} ({strategy}, {} plaintexts, keys {keys}, {seconds})", form.name())
        }
        _ => peak,
    }
}
