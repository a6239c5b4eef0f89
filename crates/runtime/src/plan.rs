//! Plans: everything a user wants to know before any key exists.
//!
//! All numbers come from the recording; seconds from the host's model, whose rates were measured on other polynomials
//! than the program's. A plan has what all schemes have, and a section of its program's scheme.

use crate::{
    calibrate::Calibration,
    error::Result,
    frontier::Row,
    head::Head,
    record::Recording,
    scheme::{Piped, SchemePlan},
};
use limbwise::{
    ckks::PlaintextForm,
    params::{Params, SecurityReport},
    rlwe::{KeyForm, KeyPlan, key_bytes},
    scheme::Scheme,
    tfhe::TfheParams,
    wire::key_file_bytes,
};
use limbwise_apps::{Details, Program, Way, program::RegionCost, way::Arrangement};
use limbwise_device::{KeyId, Ring, Role, SharedFootprint};
use limbwise_graph::Counts;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Predictions, under the names that a run's report uses.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Plan {
    /// What every plan begins with.
    #[serde(flatten)]
    pub head: Head,
    /// What the gate found.
    pub security: SecurityReport,
    #[serde(flatten)]
    pub scheme: SchemePlan,
    /// Every evaluation key of RLWE.
    pub keys: Vec<PlannedKey>,
    /// How they are kept.
    pub key_form: KeyForm,
    /// Bytes of all keys as a server has them, in memory or on disk; those of TFHE among them.
    pub key_bytes: u64,
    /// How keys on disk are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_reads: Option<KeyReads>,
    /// Bytes of encoded clear values that the program multiplies by or adds.
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
    /// The interval in which it is expected nine times of ten, on a machine that does nothing else.
    pub seconds_interval: [f64; 2],
    /// Name of the file whose rates the seconds are by (`LIMBWISE_RATES`); absent where they are this host's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rates: Option<String>,
    /// The ways that were compared and that no other beats in both memory and time, the fastest first, this one among
    /// them; empty where there was one way only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// What the workload adds.
    #[serde(flatten)]
    pub details: Details,
}

impl Plan {
    /// Levels that bootstrapping wins, of a program whose result they are.
    pub fn levels_won(&self) -> Option<u64> {
        levels_won(&self.details)
    }
}

/// Levels that bootstrapping wins, as a program's details have them.
pub(crate) fn levels_won(details: &Details) -> Option<u64> {
    details.get("levels_won").and_then(serde_json::Value::as_u64)
}

/// How keys on disk are read during an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KeyReads {
    /// Most bytes of keys in memory at once.
    pub memory_bytes: u64,
    pub reads: usize,
    /// Bytes read of the file.
    pub read_bytes: u64,
    /// How fast they come, from the system's page cache; absent where that was not measured, and the predicted seconds
    /// are then without the reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_gb_s: Option<f64>,
}

impl KeyReads {
    fn of<S: Scheme>(params: &Params, recording: &Recording<S>, read_gb_s: Option<f64>) -> Option<Self> {
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DeviceMemory {
    /// Most bytes of polynomials at once, keys among them.
    pub needed_bytes: u64,
    pub bytes: u64,
}

/// One way to run the program.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Choice {
    /// How samples lie in slots; absent where there is no choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<String>,
    /// How linear maps rotate; absent where the program has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// How their diagonals are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plaintexts: Option<PlaintextForm>,
    /// How evaluation keys are kept.
    pub key_form: KeyForm,
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
            samples: way.samples.map(Arrangement::named),
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Predicted<T> {
    pub predicted: T,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlannedKey {
    pub name: String,
    /// Highest level it is used at; it is made for that one.
    pub level: usize,
    pub bytes: u64,
}

/// The evaluation keys of a plan, with their bytes in the form in which they are kept.
pub fn planned_keys(params: Option<&Params>, plan: &KeyPlan) -> Vec<PlannedKey> {
    let key = |params: &Params, name: limbwise::rlwe::KeyName, level| PlannedKey {
        name: name.describe(params.log_n()),
        level,
        bytes: match plan.form {
            KeyForm::Disk => key_file_bytes(params, name, level),
            form => key_bytes(params, name, level, form),
        },
    };
    let of = |params| plan.required.iter().map(move |(&name, &level)| key(params, name, level));
    params.into_iter().flat_map(of).collect()
}

/// Plans a recorded program, for the device that it was recorded for.
///
/// # Errors
/// [`MachineError`](limbwise_machines::MachineError) for a calibration that is no `cpu` model.
pub fn plan<P: Program<Scheme: Piped>>(
    program: &P,
    preset: &str,
    recording: &Recording<P::Scheme>,
    host: &Calibration,
) -> Result<Plan> {
    let params = program.params();
    let (rlwe, tfhe) = (P::Scheme::rlwe(params), P::Scheme::tfhe(params));
    let keys = planned_keys(rlwe, &recording.keys);
    let key_bytes = keys.iter().map(|k| k.bytes).sum::<u64>() + tfhe.map_or(0, TfheParams::server_key_bytes);
    let spec = host.spec()?;
    let seconds = limbwise_machines::seconds(&recording.graph, &spec)?;
    let regions = limbwise_machines::region_seconds(&recording.graph, &spec)?;
    let security = P::Scheme::security(params).clone();
    let key_reads = rlwe.and_then(|rlwe| KeyReads::of(rlwe, recording, host.key_read_gb_s));
    let mut details = program.details();
    details.extend(program.costs(&costs(recording, &regions)));
    details.extend(program.expected(&recording.results));
    let needed = || needed_memory::<P::Scheme>(params, recording);
    let seconds = seconds + key_reads.map_or(0.0, |reads| reads.seconds());
    Ok(Plan {
        head: Head::of::<P::Scheme>(program.name(), preset, &security, host),
        security,
        scheme: P::Scheme::planned(program, recording),
        key_form: recording.keys.form,
        key_bytes,
        key_reads,
        keys,
        plaintext_bytes: recording.graph.traffic().plaintexts.declared,
        input_bytes: recording.input_bytes,
        peak_memory_bytes: Predicted {
            predicted: predicted_memory::<P::Scheme>(params, recording, (host.threads, host.resident_bytes)),
        },
        device_memory: host.device_memory_bytes.map(|bytes| DeviceMemory { needed_bytes: needed(), bytes }),
        counts: recording.graph.counts(),
        nodes: recording.graph.nodes().len(),
        seconds_predicted: seconds,
        seconds_interval: host.interval(seconds),
        rates: host.given.clone(),
        choices: Vec::new(),
        details,
    })
}

/// What the outermost regions of a recording cost, from the seconds of all regions.
fn costs<S: Scheme>(recording: &Recording<S>, seconds: &[f64]) -> Vec<RegionCost> {
    let graph = &recording.graph;
    let regions = graph.regions();
    let outermost = |mut at: usize| {
        while regions[at].parent.index() != 0 {
            at = regions[at].parent.index();
        }
        at
    };
    let outermost: Vec<usize> = (0..regions.len()).map(outermost).collect();
    let mut keys: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); regions.len()];
    for id in graph.ids() {
        let used = graph.operands(id).iter().filter_map(|&operand| match graph.node(operand).role() {
            Role::EvaluationKey(KeyId(key)) => Some(key),
            _ => None,
        });
        keys[outermost[graph.node(id).region().index()]].extend(used);
    }
    let expected = |name: &str, index: u32| {
        recording.expected.0.iter().find(|(region, at, _)| region == name && *at == index).map(|&(_, _, bits)| bits)
    };
    let cost = |at: usize| RegionCost {
        name: regions[at].name.clone(),
        index: regions[at].index,
        seconds: seconds[at],
        keys: keys[at].len(),
        bits: expected(&regions[at].name, regions[at].index),
    };
    (1..regions.len()).filter(|&at| outermost[at] == at).map(cost).collect()
}

/// Polynomials as the device stores them, each thread's own limbs of a key switch where there is one, the tables of the
/// transforms, what the host holds beside them, and the process as it stood before it measured anything.
pub(crate) fn predicted_memory<S: Scheme>(
    params: &S::Params,
    recording: &Recording<S>,
    (threads, resident_bytes): (usize, u64),
) -> u64 {
    let rows = scratch_rows::<S>(params, recording, threads) as u64;
    let scratch = S::rlwe(params).map_or(0, |rlwe| rows * recording.footprint.row_bytes(rlwe.log_n()));
    needed_memory::<S>(params, recording) + scratch + recording.host_bytes + resident_bytes
}

/// Limbs of the threads' own that the key switches of a program take; none where nothing is switched.
pub(crate) fn scratch_rows<S: Scheme>(params: &S::Params, recording: &Recording<S>, threads: usize) -> usize {
    let level = recording.keys.required.values().copied().max();
    let switched = S::rlwe(params).zip(level);
    switched.map_or(0, |(rlwe, level)| recording.footprint.scratch_rows(threads, rlwe.digits(level).len()))
}

/// What a program takes of its device: polynomials as it stores them, and the tables of the transforms.
fn needed_memory<S: Scheme>(params: &S::Params, recording: &Recording<S>) -> u64 {
    let (rings, footprint) = (S::rings(params), &recording.footprint);
    let tables: u64 = rings.iter().map(|ring| footprint.table_bytes(ring)).sum();
    stored(footprint, &rings, recording.session_peak_bytes) + tables
}

/// So many bytes of words as a device stores them: of several rings, padded as the rows of the one that has most padding.
fn stored(footprint: &SharedFootprint, rings: &[&Ring], bytes: u64) -> u64 {
    let padded = |ring: &&Ring| {
        let (words, row) = (8u128 << ring.log_n(), u128::from(footprint.row_bytes(ring.log_n())));
        u64::try_from((u128::from(bytes) * row).div_ceil(words)).unwrap_or(u64::MAX)
    };
    rings.iter().map(padded).max().unwrap_or(bytes)
}
