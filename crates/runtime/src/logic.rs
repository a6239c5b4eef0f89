//! Workloads on TFHE, read in the same three ways: recorded, planned, run.
//!
//! What [`mod@crate::plan`] and `crate::run` are for programs on slots. There are no levels and one choice only, so a
//! recording is one pass over declared keys, and a plan says how often the program may fail instead of how precise it is.

#[cfg(feature = "client")]
mod run;

#[cfg(feature = "client")]
pub use run::{LogicReport, NoiseFound, run};

use crate::{
    calibrate::Calibration,
    error::Result,
    head::Head,
    plan::{DeviceMemory, Predicted},
};
use limbwise::{
    params::SecurityReport,
    tfhe::{Ciphertext, Evaluator, ServerKey, TfheParams, noise},
};
use limbwise_apps::{Logic, Messages, Observer, program::Details};
use limbwise_cpu::layout::{Line, lines};
use limbwise_device::{Null, Wordless};
use limbwise_graph::{Counts, Graph, Op, Recorder};
use serde::Serialize;

/// A recorded program.
pub struct LogicRecording {
    /// The evaluation; inputs and keys are declared.
    pub graph: Graph,
    /// Blind rotations that it takes.
    pub rotations: u64,
    /// Most bytes alive at once on a server, keys and inputs included.
    pub peak_bytes: u64,
}

fn evaluated<D: Wordless, L: Logic>(dev: &D, program: &L, observer: &mut dyn Observer) -> Result<Vec<Ciphertext<D>>> {
    let params = program.params();
    let key = ServerKey::declared(dev, params);
    let input = |of: Messages| Ciphertext::declared(dev, params, of.batch).at_most(of.most);
    let inputs = program.inputs().into_iter().map(input).collect::<limbwise::Result<Vec<_>>>()?;
    Ok(program.evaluate(Evaluator::new(dev, &key), &inputs, observer)?)
}

/// Records a program.
///
/// # Errors
/// What the scheme refuses.
pub fn record<L: Logic>(program: &L) -> Result<LogicRecording> {
    let null = Null::default();
    drop(evaluated(&null, program, &mut ())?);
    let recorder = Recorder::new(Null::default());
    let results = evaluated(&recorder, program, &mut ())?;
    let graph = recorder.graph(); // while the results live: they are what the program keeps
    drop(results);
    let switched = graph.ids().filter(|&id| graph.node(id).op() == Op::LweProduct);
    let rotations = switched.filter_map(|id| graph.lwe_shape(id)).map(|shape| shape.batch as u64).sum();
    Ok(LogicRecording { graph, rotations, peak_bytes: null.meter().peak_bytes() })
}

/// Predictions, under the names that a run's report uses.
#[derive(Clone, Debug, Serialize)]
pub struct LogicPlan {
    /// What every plan begins with.
    #[serde(flatten)]
    pub head: Head,
    /// What the gate found.
    pub security: SecurityReport,
    /// Both keys in numbers.
    pub lwe: LweSummary,
    /// Noise of each step, as log₂ of its deviation over the modulus.
    pub noise: NoiseSummary,
    /// How often it may fail.
    pub failure: FailureSummary,
    /// Programmable bootstrappings of the whole program.
    pub bootstrappings: u64,
    /// Bytes of both keys as a server uses them.
    pub key_bytes: u64,
    /// Bytes of both keys as they are published: bodies, and one seed.
    pub published_key_bytes: u64,
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

/// The keys of a parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LweSummary {
    /// log₂ N.
    pub log_n: u32,
    /// Masks k.
    pub masks: usize,
    /// Bits of the prime.
    pub prime_bits: u32,
    /// Dimension n of the narrow key: steps of a blind rotation.
    pub dimension: usize,
    /// log₂ of the narrow key's modulus.
    pub log_modulus: u32,
    /// Bits of a message, carries included, the padding bit not.
    pub message_bits: u32,
}

impl LweSummary {
    pub(crate) fn of(params: &TfheParams) -> Self {
        let l = params.literal();
        Self {
            log_n: l.log_n,
            masks: l.masks,
            prime_bits: l.prime_bits(),
            dimension: l.lwe_dimension,
            log_modulus: l.log_lwe_modulus,
            message_bits: l.message_bits,
        }
    }
}

/// log₂ of deviations over the modulus.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NoiseSummary {
    /// Of a fresh encryption.
    pub fresh: f64,
    /// That a blind rotation leaves.
    pub blind_rotation: f64,
    /// That a key switch adds.
    pub key_switch: f64,
    /// That the switch of the modulus to 2N adds.
    pub mod_switch: f64,
    /// What a blind rotation meets at the largest norm.
    pub worst: f64,
}

/// Probabilities as log₂.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FailureSummary {
    /// Norm of the sums before a bootstrapping that all this holds for.
    pub norm: f64,
    /// What the parameters promise of one bootstrapping.
    pub promised: f64,
    /// One bootstrapping at the worst input.
    pub bootstrapping: f64,
    /// Any of the program's, at most.
    pub program: f64,
}

impl LogicPlan {
    fn noise(params: &TfheParams) -> NoiseSummary {
        let l = params.literal();
        let log = |variance: f64| variance.log2() / 2.0;
        NoiseSummary {
            fresh: log(noise::fresh(l)),
            blind_rotation: log(noise::blind_rotation(l)),
            key_switch: log(noise::key_switch(l)),
            mod_switch: log(noise::mod_switch(l, 0)),
            worst: log(noise::before_rotation(l, l.norm * l.norm, 0)),
        }
    }
}

/// Plans a recorded program.
///
/// # Errors
/// [`MachineError`](limbwise_machines::MachineError) for a calibration that is no `cpu` model.
pub fn plan<L: Logic>(program: &L, preset: &str, recording: &LogicRecording, host: &Calibration) -> Result<LogicPlan> {
    let (params, graph) = (program.params(), &recording.graph);
    let (l, security) = (params.literal(), params.security().clone());
    let traffic = graph.traffic();
    let one = params.log2_failure();
    // What a limb takes in memory beside its words.
    let padding = (lines(l.log_n) * size_of::<Line>()) as f64 / (8 << l.log_n) as f64;
    let published = params.published_key_bytes();
    let peak = (recording.peak_bytes as f64 * padding).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes that a program needs")]
    let peak = peak as u64 + published + host.resident_bytes;
    Ok(LogicPlan {
        head: Head::of(program.name(), preset, &security, host),
        security,
        lwe: LweSummary::of(params),
        noise: LogicPlan::noise(params),
        failure: FailureSummary {
            norm: l.norm,
            promised: l.log2_failure,
            bootstrapping: one,
            program: (one + (recording.rotations as f64).log2()).min(0.0),
        },
        bootstrappings: recording.rotations,
        key_bytes: traffic.bootstrap_keys.declared + traffic.evaluation_keys.declared,
        published_key_bytes: published,
        input_bytes: traffic.ciphertexts.declared,
        peak_memory_bytes: Predicted { predicted: peak },
        device_memory: DeviceMemory::of(host, recording.peak_bytes),
        counts: graph.counts(),
        nodes: graph.nodes().len(),
        seconds_predicted: limbwise_machines::time(graph, &host.spec()?)?.seconds,
        details: program.details(),
    })
}
