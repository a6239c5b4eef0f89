//! Workloads on BGV, read in the same three ways: recorded, planned, run.
//!
//! What [`mod@crate::plan`] and `crate::run` are for programs on slots of complex numbers. Nothing is left to choose, so a
//! recording is two passes: one learns the keys, one records with exactly these. A plan says how much of its modulus a
//! result leaves free, where another says how precise it is.

#[cfg(feature = "client")]
mod run;

#[cfg(feature = "client")]
pub use run::{Checked, ModularReport, run};

use crate::{
    calibrate::Calibration,
    error::Result,
    head::Head,
    plan::{DeviceMemory, Predicted},
};
use limbwise::{
    bgv::{Auto, BgvParams, Ciphertext, Encoder, Evaluator},
    params::SecurityReport,
    rlwe::{DeclaredKeys, KeyForm, KeyPlan, Requirements, key_bytes},
};
use limbwise_apps::{Integers, Modular, Observer, program::Details};
use limbwise_cpu::layout::{Line, lines};
use limbwise_device::{Null, Wordless};
use limbwise_graph::{Counts, Graph, Recorder};
use serde::Serialize;

/// A recorded program.
pub struct ModularRecording {
    /// The evaluation; inputs and keys are declared.
    pub graph: Graph,
    /// The keys it needs.
    pub required: Requirements,
    /// Bits between the bound on the noise and what the modulus holds, of the result that has fewest.
    pub budget_bits: f64,
    /// Most bytes alive at once on a server, keys and inputs included.
    pub peak_bytes: u64,
}

fn evaluated<D: Wordless, M: Modular>(
    dev: &D,
    program: &M,
    keys: &DeclaredKeys<'_, D>,
    observer: &mut dyn Observer,
) -> Result<Vec<Ciphertext<D>>> {
    let params = program.params();
    let input =
        |of: Integers| Ciphertext::declared(dev, params, ([of.batch, of.level], of.domain), program.encryption());
    let inputs: Vec<Ciphertext<D>> = program.inputs().into_iter().map(input).collect();
    let auto = Auto::new(Evaluator::new(dev, params, keys), &Encoder::new(params));
    Ok(program.evaluate(&auto, &inputs, observer)?)
}

/// Records a program.
///
/// # Errors
/// What the scheme refuses.
pub fn record<M: Modular>(program: &M) -> Result<ModularRecording> {
    let (null, rlwe) = (Null::default(), program.params().rlwe());
    let all = DeclaredKeys::all(&null, rlwe);
    drop(evaluated(&null, program, &all, &mut ())?);
    let plan = KeyPlan { required: all.requirements(), form: KeyForm::Stored };
    let measured = Null::default();
    drop(evaluated(&measured, program, &DeclaredKeys::exactly(&measured, rlwe, &plan), &mut ())?);
    let recorder = Recorder::new(Null::default());
    let results = evaluated(&recorder, program, &DeclaredKeys::exactly(&recorder, rlwe, &plan), &mut ())?;
    let graph = recorder.graph(); // while the results live: they are what the program keeps
    let budget_bits = results.iter().map(|c| c.budget_bits(program.params())).fold(f64::INFINITY, f64::min);
    Ok(ModularRecording { graph, required: plan.required, budget_bits, peak_bytes: measured.meter().peak_bytes() })
}

/// Predictions, under the names that a run's report uses.
#[derive(Clone, Debug, Serialize)]
pub struct ModularPlan {
    /// What every plan begins with.
    #[serde(flatten)]
    pub head: Head,
    /// What the gate found.
    pub security: SecurityReport,
    /// log₂ N.
    pub log_n: u32,
    /// t.
    pub plaintext_modulus: u64,
    /// Primes of the chain, and special ones.
    pub limbs: [usize; 2],
    /// Bits that the noise leaves free in the result that has fewest, by its bound; negative where it may not be read.
    pub budget_bits: f64,
    /// Evaluation keys.
    pub keys: usize,
    /// Their bytes.
    pub key_bytes: u64,
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

/// Plans a recorded program.
///
/// # Errors
/// [`MachineError`](limbwise_machines::MachineError) for a calibration that is no `cpu` model.
pub fn plan<M: Modular>(
    program: &M,
    preset: &str,
    recording: &ModularRecording,
    host: &Calibration,
) -> Result<ModularPlan> {
    let (params, graph) = (program.params(), &recording.graph);
    let (rlwe, security) = (params.rlwe(), params.security().clone());
    let bytes = |(name, &level): (&limbwise::rlwe::KeyName, &usize)| key_bytes(rlwe, *name, level, KeyForm::Stored);
    Ok(ModularPlan {
        head: Head::of(program.name(), preset, &security, host),
        security,
        log_n: rlwe.log_n(),
        plaintext_modulus: params.t().value(),
        limbs: [rlwe.limbs(rlwe.top_level()), rlwe.special().len()],
        budget_bits: recording.budget_bits,
        keys: recording.required.len(),
        key_bytes: recording.required.iter().map(bytes).sum(),
        input_bytes: graph.traffic().ciphertexts.declared,
        peak_memory_bytes: Predicted { predicted: peak(params, recording, host) },
        device_memory: DeviceMemory::of(host, recording.peak_bytes),
        counts: graph.counts(),
        nodes: graph.nodes().len(),
        seconds_predicted: limbwise_machines::time(graph, &host.spec()?)?.seconds,
        details: program.details(),
    })
}

/// The server's polynomials as this CPU lays them out, and the process.
fn peak(params: &BgvParams, recording: &ModularRecording, host: &Calibration) -> u64 {
    let log_n = params.rlwe().log_n();
    let padding = (lines(log_n) * size_of::<Line>()) as f64 / (8 << log_n) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes that a program needs")]
    let polynomials = (recording.peak_bytes as f64 * padding).ceil() as u64;
    polynomials + host.resident_bytes
}
