//! Questions to encrypted tables, read in the same three ways: recorded, planned, run.
//!
//! What [`mod@crate::plan`] and [`mod@crate::logic`] are for programs of one scheme: a question takes both, and the bridge
//! between them, in one recording. There is one way to do it, so a recording is one pass over declared keys, once they are
//! known.

#[cfg(feature = "client")]
mod run;

#[cfg(feature = "client")]
pub use run::{Compared, QueryData, QueryReport, identity, run};

use crate::{
    calibrate::Calibration,
    error::Result,
    head::Head,
    logic::{FailureSummary, LweSummary},
    plan::{DeviceMemory, PlannedKey, Predicted, RingSummary, outside_graph},
};
use limbwise::{
    bridge::Bridge,
    ckks::{Auto, Encoder, Estimate, Evaluator, Noise},
    params::SecurityReport,
    rlwe::{DeclaredKeys, KeyForm, KeyPlan, KeyStore, key_bytes},
    tfhe::{self, ServerKey},
};
use limbwise_apps::{
    program::Details,
    query::{Answer, Bits, Means, Query},
};
use limbwise_cpu::layout::{Line, lines};
use limbwise_device::{Null, Wordless};
use limbwise_graph::{Counts, Graph, Op, Recorder};
use serde::Serialize;

/// A recorded question.
pub struct QueryRecording {
    /// The evaluation; inputs and keys are declared.
    pub graph: Graph,
    /// Blind rotations that it takes.
    pub rotations: u64,
    /// The CKKS keys, those of the bridge among them.
    pub keys: KeyPlan,
    /// What is expected of the bits that rows are multiplied with, and of the sum.
    pub expected: [Estimate; 2],
    /// Level of the sum.
    pub levels_left: usize,
    /// Most bytes alive at once on a server, keys and inputs included.
    pub peak_bytes: u64,
    /// Bytes that the host holds beside them.
    pub host_bytes: u64,
}

fn evaluated<D: Wordless>(dev: &D, program: &Query, keys: &dyn KeyStore<D>) -> Result<(Answer<D>, u64)> {
    let (ckks, messages) = (program.params().ckks(), program.params().tfhe());
    let encoder = Encoder::new(ckks);
    let key = ServerKey::declared(dev, messages);
    let bridge = Bridge::declare(dev, &encoder, program.params(), program.bridge())?;
    let auto = Auto::new(Evaluator::new(dev, ckks, keys), &encoder);
    let rows = program.question().rows;
    let digits = program.digits().into_iter().map(|most| tfhe::Ciphertext::declared(dev, messages, rows).at_most(most));
    let digits = digits.collect::<limbwise::Result<Vec<_>>>()?;
    let column = |input: limbwise_apps::Input| {
        encoder.declare_bounded(dev, (input.batch, input.bounds), input.packing, Noise::Public)
    };
    let columns = program.columns().into_iter().map(column).collect::<limbwise::Result<Vec<_>>>()?;
    let means = Means { tfhe: tfhe::Evaluator::new(dev, &key), auto: &auto, bridge: &bridge };
    let answer = program.evaluate(&means, (&digits, &columns), &mut (), &mut ())?;
    Ok((answer, bridge.host_bytes()))
}

/// Records a question.
///
/// # Errors
/// What the schemes refuse.
pub fn record(program: &Query) -> Result<QueryRecording> {
    let ckks = program.params().ckks();
    let null = Null::default();
    let keys = DeclaredKeys::all(&null, ckks);
    drop(evaluated(&null, program, &keys)?);
    let keys = KeyPlan { required: keys.requirements(), form: KeyForm::Stored };
    let recorder = Recorder::new(Null::default());
    let (answer, host_bytes) = evaluated(&recorder, program, &DeclaredKeys::exactly(&recorder, ckks, &keys))?;
    let graph = recorder.graph(); // while the results live: they are what the program keeps
    let null = Null::default();
    drop(evaluated(&null, program, &DeclaredKeys::exactly(&null, ckks, &keys))?);
    let switched = graph.ids().filter(|&id| graph.node(id).op() == Op::LweProduct);
    let rotations = switched.filter_map(|id| graph.lwe_shape(id)).map(|shape| shape.batch as u64).sum();
    Ok(QueryRecording {
        graph,
        rotations,
        keys,
        expected: [answer.bits.estimate, answer.sum.estimate],
        levels_left: answer.sum.level,
        peak_bytes: null.meter().peak_bytes(),
        host_bytes,
    })
}

/// How exact the sum is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SumPrecision {
    /// Deviation of a bit that a row is multiplied with.
    pub bit_error: f64,
    /// 3x² − 2x³ was applied to the bits.
    pub cleaned: bool,
    /// Rows that pass if each column were spread evenly over its domain: nobody knows the data.
    pub rows_expected: f64,
    /// Deviation of the sum by the arithmetic on slots, encryption of the columns included, relative to it.
    pub arithmetic_error: f64,
    /// rows · bit error / rows that pass, which is what the sum is off by if all bits err to one side, and the arithmetic's.
    pub sum_relative_error: f64,
}

/// Predictions, under the names that a run's report uses.
#[derive(Clone, Debug, Serialize)]
pub struct QueryPlan {
    /// What every plan begins with.
    #[serde(flatten)]
    pub head: Head,
    /// What the gate found.
    pub security: SecurityReport,
    /// TFHE's keys in numbers.
    pub lwe: LweSummary,
    /// The CKKS ring and chain.
    pub ring: RingSummary,
    /// How often the comparisons may fail.
    pub failure: FailureSummary,
    /// log₂ of the probability that a coefficient leaves EvalMod's range on the bridge.
    pub log2_bridge_failure: f64,
    /// Programmable bootstrappings of all rows.
    pub bootstrappings: u64,
    /// Levels behind the bridge: there are, and are left by the sum.
    pub levels: [usize; 2],
    /// How exact the sum is.
    pub precision: SumPrecision,
    /// Every CKKS key, those of the bridge among them.
    pub keys: Vec<PlannedKey>,
    /// Bytes of all keys as a server uses them, TFHE's among them.
    pub key_bytes: u64,
    /// Bytes of encoded clear values.
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
    /// What the workload adds.
    #[serde(flatten)]
    pub details: Details,
}

impl SumPrecision {
    fn of(program: &Query, [bits, sum]: [Estimate; 2]) -> Self {
        let question = program.question();
        let share = |low: i64, high: i64| low.abs_diff(high) as f64 + 1.0;
        let passing = question.ranges.iter().map(|r| share(r.low, r.high) / share(r.field.low, r.field.high));
        let rows = question.rows as f64;
        let rows_expected = rows * passing.product::<f64>();
        let bit_error = bits.error();
        let arithmetic_error = sum.error() / (rows_expected * program.mean()).max(f64::MIN_POSITIVE);
        let sum_relative_error = rows * bit_error / rows_expected + arithmetic_error;
        let cleaned = program.bits() == Bits::Cleaned;
        Self { bit_error, cleaned, rows_expected, arithmetic_error, sum_relative_error }
    }
}

/// Plans a recorded question.
///
/// # Errors
/// [`MachineError`](limbwise_machines::MachineError) for a calibration that is no `cpu` model.
pub fn plan(program: &Query, preset: &str, recording: &QueryRecording, host: &Calibration) -> Result<QueryPlan> {
    let (params, graph) = (program.params(), &recording.graph);
    let (ckks, messages) = (params.ckks(), params.tfhe());
    let traffic = graph.traffic();
    let key = |(&name, &level)| PlannedKey {
        name: limbwise::rlwe::KeyName::describe(name, ckks.log_n()),
        level,
        bytes: key_bytes(ckks, name, level, recording.keys.form),
    };
    // What a limb takes in memory beside its words: most in the small ring.
    let log_n = messages.literal().log_n;
    let padding = (lines(log_n) * size_of::<Line>()) as f64 / (8 << log_n) as f64;
    let peak = (recording.peak_bytes as f64 * padding).ceil();
    let beside = outside_graph(ckks, recording.keys.required.values().copied().max(), host.threads);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes that a program needs")]
    let peak = peak as u64 + beside + messages.published_key_bytes() + recording.host_bytes + host.resident_bytes;
    let one = messages.log2_failure();
    let bridge = ckks.bootstrapping().map_or(-999.0, |boot| boot.log2_failure(program.bridge().slots).max(-999.0));
    Ok(QueryPlan {
        head: Head::of(program.name(), preset, params.security(), host),
        security: params.security().clone(),
        lwe: LweSummary::of(messages),
        ring: RingSummary::of(ckks),
        failure: FailureSummary {
            norm: messages.literal().norm,
            promised: messages.literal().log2_failure,
            bootstrapping: one,
            program: (one + (recording.rotations as f64).log2()).min(0.0),
        },
        log2_bridge_failure: bridge,
        bootstrappings: recording.rotations,
        levels: [ckks.user_level(), recording.levels_left],
        precision: SumPrecision::of(program, recording.expected),
        keys: recording.keys.required.iter().map(key).collect(),
        key_bytes: traffic.bootstrap_keys.declared + traffic.evaluation_keys.declared,
        plaintext_bytes: traffic.plaintexts.declared,
        input_bytes: traffic.ciphertexts.declared,
        peak_memory_bytes: Predicted { predicted: peak },
        device_memory: DeviceMemory::of(host, recording.peak_bytes),
        counts: graph.counts(),
        nodes: graph.nodes().len(),
        seconds_predicted: limbwise_machines::time(graph, &host.spec()?)?.seconds,
        details: program.details(),
    })
}
