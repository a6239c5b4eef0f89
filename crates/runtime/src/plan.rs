//! Plans: everything a user wants to know before any key exists.
//!
//! All numbers come from the recording; seconds from the host's model, whose rates were measured on other polynomials
//! than the program's.

use crate::{
    calibrate::Calibration,
    error::Result,
    frontier::{Row, Way},
    head::Head,
    record::Recording,
};
use limbwise::{
    ckks::{BootstrapPlan, PlaintextForm},
    params::{Params, SecurityReport},
    rlwe::{KeyForm, key_bytes},
    wire::key_file_bytes,
};
use limbwise_apps::Program;
use limbwise_device::SharedFootprint;
use limbwise_graph::Counts;
use serde::Serialize;

/// Predictions, under the names that a run's report uses.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// What every plan begins with.
    #[serde(flatten)]
    pub head: Head,
    /// What the gate found.
    pub security: SecurityReport,
    /// The ring and chain.
    pub ring: RingSummary,
    /// Levels the program uses and leaves.
    pub levels: Levels,
    /// Rescales left in the lowest result.
    pub levels_left: usize,
    /// How the program bootstraps, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrapping: Option<BootstrapSummary>,
    /// Expected precision of the first result.
    pub precision_bits: Predicted<f64>,
    /// Every evaluation key.
    pub keys: Vec<PlannedKey>,
    /// How evaluation keys are kept.
    pub key_form: KeyForm,
    /// Bytes of all evaluation keys, in memory or on disk.
    pub key_bytes: u64,
    /// How keys on disk are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_reads: Option<KeyReads>,
    /// Bytes of encoded clear values that the program multiplies with or adds.
    pub plaintext_bytes: u64,
    /// Bytes of the encrypted inputs.
    pub input_bytes: u64,
    /// Most memory of the process.
    pub peak_memory_bytes: Predicted<u64>,
    /// Memory of the device's own, where it is not the host's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_memory: Option<DeviceMemory>,
    /// Exact operation counts of the evaluation.
    pub counts: Counts,
    /// Nodes of the recorded graph.
    pub nodes: usize,
    /// Time of the evaluation on this host.
    pub seconds_predicted: f64,
    /// The ways that were compared and that no other beats in both memory and time, the fastest first, this one among
    /// them; empty where there was one way only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
}

/// How keys on disk are read during an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KeyReads {
    /// Most bytes of keys in memory at once.
    pub memory_bytes: u64,
    /// Keys read.
    pub reads: usize,
    /// Bytes read of the file.
    pub read_bytes: u64,
    /// How fast they come, from the system's page cache; absent where that was not measured, and the predicted seconds
    /// are then without the reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_gb_s: Option<f64>,
}

impl KeyReads {
    fn of(params: &Params, recording: &Recording, read_gb_s: Option<f64>) -> Option<Self> {
        let plan = recording.reads.as_ref()?;
        let rehearsal = plan.shelf(params).rehearse();
        let bytes = rehearsal.reads.iter().map(|&(_, (name, level))| key_file_bytes(params, name, level));
        let (reads, read_bytes) = (rehearsal.reads.len(), bytes.sum());
        Some(Self { memory_bytes: rehearsal.peak_bytes, reads, read_bytes, read_gb_s })
    }

    /// What reading takes of the threads that compute: from the page cache it is their work, however far ahead.
    fn seconds(&self) -> f64 {
        self.read_gb_s.map_or(0.0, |rate| self.read_bytes as f64 / rate / 1e9)
    }
}

/// Memory of a device that has its own. Keys that it does not take stay in the host's memory and cross the bus in each use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeviceMemory {
    /// Most bytes of polynomials at once, keys among them.
    pub needed_bytes: u64,
    /// What the device has.
    pub bytes: u64,
}

impl DeviceMemory {
    /// Of a program that takes so many bytes, on a device that has memory of its own.
    pub(crate) fn of(host: &Calibration, needed_bytes: u64) -> Option<Self> {
        host.device_memory_bytes.map(|bytes| Self { needed_bytes, bytes })
    }
}

/// How a program bootstraps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BootstrapSummary {
    /// Slots, strategies, packing.
    #[serde(flatten)]
    pub plan: BootstrapPlan,
    /// Levels between two bootstrappings.
    pub levels: usize,
    /// log₂ of the probability that a coefficient of one of them leaves EvalMod's range.
    pub log2_failure: f64,
}

impl BootstrapSummary {
    fn of<P: Program>(program: &P) -> Option<Self> {
        let (plan, levels) = (program.bootstrapping()?, *program.params().bootstrapping()?);
        // Certain to succeed is 2^−∞, which JSON does not have.
        let log2_failure = levels.log2_failure(plan.slots).max(-999.0);
        Some(Self { plan, levels: levels.levels, log2_failure })
    }
}

/// One way to run the program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// How linear maps rotate; absent where the program has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// How their diagonals are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plaintexts: Option<PlaintextForm>,
    /// How evaluation keys are kept.
    pub key_form: KeyForm,
    /// Evaluation keys.
    pub keys: usize,
    /// Their bytes, in memory or on disk.
    pub key_bytes: u64,
    /// Bytes of encoded clear values.
    pub plaintext_bytes: u64,
    /// Most memory of the process.
    pub peak_memory_bytes: u64,
    /// Time of the evaluation.
    pub seconds: f64,
    /// The way that the plan takes.
    pub chosen: bool,
}

impl Row {
    /// The row of a program as plans list it.
    pub(crate) fn choice(self, chosen: Way) -> Choice {
        let Self { way, keys, key_bytes, plaintext_bytes, peak_bytes, cost, .. } = self;
        Choice {
            strategy: way.strategy(),
            plaintexts: way.plaintexts(),
            key_form: way.keys,
            keys,
            key_bytes,
            plaintext_bytes,
            peak_memory_bytes: peak_bytes,
            seconds: cost,
            chosen: way == chosen,
        }
    }
}

/// A prediction, where a run puts a measurement beside it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted<T> {
    /// The prediction.
    pub predicted: T,
}

/// The ring and chain in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct RingSummary {
    /// log₂ N.
    pub log_n: u32,
    /// log₂ of the product of all primes.
    pub log_qp: f64,
    /// Primes of the chain and special primes.
    pub limbs: [usize; 2],
    /// Digits of key switching at the top.
    pub dnum: usize,
}

impl RingSummary {
    pub(crate) fn of(params: &Params) -> Self {
        Self {
            log_n: params.log_n(),
            log_qp: params.security().log_qp,
            limbs: [params.limbs(params.top_level()), params.special().len()],
            dnum: params.digits(params.top_level()).len(),
        }
    }
}

/// The level budget.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Levels {
    /// Of a fresh ciphertext.
    pub fresh: usize,
    /// That the program takes.
    pub used: usize,
}

/// One evaluation key.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedKey {
    /// Which.
    pub name: String,
    /// Highest level it is used at; it is made for that one.
    pub level: usize,
    /// Its bytes.
    pub bytes: u64,
}

/// Plans a recorded program.
///
/// # Errors
/// [`MachineError`](limbwise_machines::MachineError) for a calibration that is no `cpu` model.
pub fn plan<P: Program>(program: &P, preset: &str, recording: &Recording, host: &Calibration) -> Result<Plan> {
    let params = program.params();
    let keys: Vec<PlannedKey> = recording
        .keys
        .required
        .iter()
        .map(|(name, &level)| PlannedKey {
            name: name.describe(params.log_n()),
            level,
            bytes: match recording.keys.form {
                KeyForm::Disk => key_file_bytes(params, *name, level),
                form => key_bytes(params, *name, level, form),
            },
        })
        .collect();
    let report = limbwise_machines::time(&recording.graph, &host.spec()?)?;
    let [first, ..] = &recording.results[..] else { unreachable!("a program has a result") };
    let left = recording.results.iter().map(|r| r.level).min().unwrap_or(0);
    let security = params.security().clone();
    let key_reads = KeyReads::of(params, recording, host.key_read_gb_s);
    let footprint = host.footprint();
    let peak_bytes = recording.peak_on(program, &footprint)?;
    let tables_bytes = footprint.table_bytes(params.ring());
    Ok(Plan {
        head: Head::of(program.name(), preset, &security, host),
        ring: RingSummary::of(params),
        security,
        levels: Levels { fresh: params.top_level(), used: params.top_level() - left },
        levels_left: left,
        bootstrapping: BootstrapSummary::of(program),
        precision_bits: Predicted { predicted: first.estimate.precision_bits() },
        key_form: recording.keys.form,
        key_bytes: keys.iter().map(|k| k.bytes).sum(),
        key_reads,
        keys,
        plaintext_bytes: recording.graph.traffic().plaintexts.declared,
        input_bytes: recording.input_bytes,
        peak_memory_bytes: Predicted {
            predicted: memory_on((&footprint, peak_bytes), (params, recording), (host.threads, host.resident_bytes)),
        },
        device_memory: DeviceMemory::of(host, footprint.stored_bytes(params.log_n(), peak_bytes) + tables_bytes),
        counts: recording.graph.counts(),
        nodes: recording.graph.nodes().len(),
        seconds_predicted: report.seconds + key_reads.map_or(0.0, |reads| reads.seconds()),
        choices: Vec::new(),
    })
}

/// Most memory of the process on the device that a program was recorded for: polynomials as the device stores them, what
/// it holds beside them, what the host holds, and the process as it stood before it measured anything.
pub(crate) fn predicted_memory(params: &Params, recording: &Recording, process: (usize, u64)) -> u64 {
    memory_on((&recording.footprint, recording.session_peak_bytes), (params, recording), process)
}

/// The same on a device where so many bytes of polynomials are alive at once.
fn memory_on(
    (footprint, peak_bytes): (&SharedFootprint, u64),
    (params, recording): (&Params, &Recording),
    (threads, resident_bytes): (usize, u64),
) -> u64 {
    let level = recording.keys.required.values().copied().max();
    let polynomials = footprint.stored_bytes(params.log_n(), peak_bytes);
    polynomials + outside_graph(footprint, params, level, threads) + recording.host_bytes + resident_bytes
}

/// What a device holds beside a program's polynomials: each thread's own limbs of a key switch, at the highest level of
/// one, and the tables of the transforms.
pub(crate) fn outside_graph(footprint: &SharedFootprint, params: &Params, level: Option<usize>, threads: usize) -> u64 {
    let scratch = level.map_or(0, |level| footprint.scratch_rows(threads, params.digits(level).len())) as u64;
    scratch * footprint.row_bytes(params.log_n()) + footprint.table_bytes(params.ring())
}

/// The peak on a device of what was measured on one, or measured again if that is another.
pub(crate) fn peak_on<E>(
    (measured, peak_bytes): (&SharedFootprint, u64),
    footprint: &SharedFootprint,
    again: impl FnOnce() -> std::result::Result<u64, E>,
) -> std::result::Result<u64, E> {
    if measured.name() == footprint.name() { Ok(peak_bytes) } else { again() }
}

/// So many bytes of words as a device stores rows of a degree, padding included.
pub(crate) fn padded(footprint: &SharedFootprint, log_n: u32, bytes: u64) -> u64 {
    let padding = footprint.row_bytes(log_n) as f64 / (8 << log_n) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes that a program needs")]
    let padded = (bytes as f64 * padding).ceil() as u64;
    padded
}
