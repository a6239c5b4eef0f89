//! From a program to its plan: code that `plan`, `run`, `time` and `record` share.

use crate::{failure::Mistake, progress::note, text::units, workload::Whole};
use limbwise::{params::Params, rlwe::KeyForm, scheme::Scheme};
use limbwise_apps::Prepared;
use limbwise_device::SharedFootprint;
use limbwise_graph::Graph;
use limbwise_machines::Spec;
use limbwise_runtime::{
    AnyDevice, Calibration, Plan, Recording,
    calibrate::{self, Degrees, degrees},
    exchange::{heracles, protobuf, replay},
    files,
    frontier::{Budget, Fastest, Row, SPARE, Survey, Way, fastest_on, least_limit, survey_prepared},
    places::read_up_to,
    record,
};
use std::{
    fs::File,
    io::{BufReader, Read as _, Seek as _},
    path::Path,
    time::Instant,
};

/// A recorded and planned program.
pub(crate) struct Planned<S: Scheme> {
    pub(crate) way: Way,
    pub(crate) recording: Recording<S>,
    pub(crate) plan: Plan,
}

/// Records a program in one way.
pub(crate) fn recorded<S: Whole>(
    built: &Prepared<S>,
    way: Way,
    footprint: &SharedFootprint,
) -> limbwise_runtime::Result<Recording<S>> {
    let start = Instant::now();
    let recording = record(&built.program(way), way.keys, footprint)?;
    said_recorded(&recording.graph, 1, start);
    Ok(recording)
}

fn said_recorded(graph: &Graph, ways: usize, start: Instant) {
    let (nodes, seconds) = (graph.nodes().len(), units::seconds(start.elapsed().as_secs_f64()));
    let compared = if ways > 1 { format!("compared {ways} ways, ") } else { String::new() };
    note(&format!("{compared}recorded {} operations in {seconds}", units::count(nodes as u64)));
}

/// Reads a recorded program: a file of `limbwise record`, lines of JSON (docs/graph-format.md), or a program trace of
/// HERACLES (.csv, or .bin in protobuf), which is recorded by this library's own operations.
///
/// # Errors
/// [`Mistake`] for a file that cannot be read; what is wrong in it, with file, line and field.
pub(crate) fn read_graph(path: &Path) -> anyhow::Result<Graph> {
    let name = path.display();
    let wrong = |e: &dyn std::fmt::Display| Mistake(format!("{name}: {e}"));
    let mut file = File::open(path).map_err(|e| wrong(&format!("cannot read: {e}")))?;
    if is_named(path, "csv") {
        let trace = heracles::read(BufReader::new(file)).map_err(|e| wrong(&e))?;
        return replay(&trace).map_err(|e| wrong(&e).into());
    }
    if is_named(path, "bin") {
        let bytes = read_up_to(path, protobuf::MOST_BYTES)?;
        let trace = protobuf::decoded(&bytes).and_then(|message| protobuf::trace(&message)).map_err(|e| wrong(&e))?;
        return replay(&trace).map_err(|e| wrong(&e).into());
    }
    let mut first = Vec::new();
    (&mut file).take(LOOKED_AT).read_to_end(&mut first).map_err(|e| wrong(&format!("cannot read: {e}")))?;
    file.rewind().map_err(|e| wrong(&format!("cannot read: {e}")))?;
    let header = String::from_utf8_lossy(first.split(|&b| b == b'\n').next().unwrap_or(&[])).into_owned();
    match &first[..] {
        [b'{', ..] if header.contains("\"limbwise-operations\"") => Err(wrong(&OPERATIONS).into()),
        [b'{', ..] => Graph::read_jsonl(BufReader::new(file)).map_err(|e| wrong(&e).into()),
        _ if !first.is_empty() && !first.starts_with(b"LIMBWISE") => Err(wrong(&NO_PROGRAM).into()),
        _ => files::read_graph(&file).map_err(|e| wrong(&e).into()),
    }
}

/// Bytes of a file by which its kind is known.
const LOOKED_AT: u64 = 4096;
/// Said of a file of operations.
const OPERATIONS: &str = "it lists operations on ciphertexts, as \"limbwise record --operations\" writes them for other tools; \
    to time the program, write its graph: \"limbwise record --out program.lw\"";
/// Said of any other file.
const NO_PROGRAM: &str = "no recorded program: wanted what \"limbwise record --out\" writes, lines of JSON \
    (docs/graph-format.md), or a program trace of HERACLES, whose name ends in .csv or .bin; traces of FHETCH are written and not read";

/// Whether a file's name ends so, in capitals or not.
pub(crate) fn is_named(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(end))
}

/// As [`calibrate::calibrated`], with notes to the user.
///
/// # Errors
/// A device that cannot be opened.
pub(crate) fn calibrated(dev: &AnyDevice, degrees: Degrees) -> limbwise_runtime::Result<Calibration> {
    calibrate::calibrated(dev, degrees, note)
}

/// Measures a device for a recorded program: at its largest ring, and at its smallest for blind rotations.
pub(crate) fn calibrated_for_graph(dev: &AnyDevice, graph: &Graph) -> limbwise_runtime::Result<Calibration> {
    let degrees = || graph.shapes().iter().map(|s| s.ring.log_n());
    let rotates = graph.nodes().iter().any(|node| node.op().is_tfhe());
    let tfhe = if rotates { Some(degrees().min().unwrap_or(10)) } else { None };
    calibrated(dev, [Some(degrees().max().unwrap_or(16)), tfhe])
}

/// As [`calibrated`], and how fast keys come from a directory, where a program may keep some there.
pub(crate) fn calibrated_with_disk<S: Whole>(
    dev: &AnyDevice,
    built: &Prepared<S>,
    dir: &Path,
) -> limbwise_runtime::Result<Calibration> {
    let calibration = calibrated(dev, degrees::<S>(built.params()))?;
    match S::rlwe(built.params()).filter(|_| built.ways.iter().any(|way| way.keys == KeyForm::Disk)) {
        None => Ok(calibration),
        Some(rlwe) => Ok(Calibration { key_read_gb_s: key_rate(dev, rlwe, dir)?, ..calibration }),
    }
}

/// How fast keys come from a directory, in GB/s.
#[cfg(feature = "client")]
pub(crate) fn key_rate(dev: &AnyDevice, params: &Params, dir: &Path) -> limbwise_runtime::Result<Option<f64>> {
    let rate = limbwise_runtime::keys::key_read_gb_s(dev, params, dir)?;
    note(&format!("keys come from {} at {rate:.2} GB/s, out of the page cache", dir.display()));
    Ok(Some(rate))
}

/// A server makes no key, so it has none to measure with.
#[cfg(not(feature = "client"))]
pub(crate) fn key_rate(_: &AnyDevice, _: &Params, _: &Path) -> limbwise_runtime::Result<Option<f64>> {
    Ok(None)
}

/// Records and plans every configuration that the options leave open. Takes the fastest that fits the given memory. Without
/// one, the smallest of those that fit this computer's and are hardly slower than the fastest.
pub(crate) fn planned<S: Whole>(
    built: &Prepared<S>,
    calibration: &Calibration,
    memory: Option<u64>,
) -> anyhow::Result<Planned<S>> {
    let start = Instant::now();
    let budget = Budget::of(memory, &built.ways);
    let Survey { rows, chosen } = survey_prepared(built, calibration, budget)?;
    let Some((way, recording, plan)) = chosen else {
        let smallest = rows.iter().min_by_key(|row| row.peak_bytes);
        let spare = |row: &Row| format!(", {} with {SPARE} % to spare", units::bytes(least_limit(row.peak_bytes)));
        let said = |row: &Row| describe(row) + &memory.map(|_| spare(row)).unwrap_or_default();
        let smallest = smallest.map_or_else(String::new, said);
        let limit = if memory.is_some() { "--memory" } else { "this computer has" };
        let text = format!(
            "{limit} {}: the smallest plan takes {smallest}; choose {}, or more memory",
            units::bytes(budget.bytes()),
            built.smaller
        );
        return Err(Mistake(text).into());
    };
    said_recorded(&recording.graph, rows.len(), start);
    Ok(Planned { way, recording, plan })
}

/// The fastest configuration for each machine, of all that the options leave open.
pub(crate) fn fastest<S: Whole>(
    built: &Prepared<S>,
    specs: &[Spec],
    footprint: &SharedFootprint,
) -> limbwise_runtime::Result<Vec<Fastest>> {
    let start = Instant::now();
    let best = fastest_on(&built.ways, |way| built.program(way), specs, footprint)?;
    best.iter().take(1).for_each(|first| said_recorded(&first.graph, built.ways.len(), start));
    Ok(best)
}

/// A configuration as text; used for the one with the least memory.
fn describe(row: &Row) -> String {
    let peak = format!("{} at its peak", units::bytes(row.peak_bytes));
    match row.way.strategy() {
        Some(_) => format!("{peak} ({}, {})", row.way.named(), units::seconds(row.cost)),
        _ => peak,
    }
}
