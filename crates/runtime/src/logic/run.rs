//! Running a workload on TFHE for real, with every measurement beside its prediction.

use super::{LogicPlan, NoiseSummary};
use crate::{
    any_device::AnyDevice,
    clock::{Clock, DECRYPT_STEP, ENCRYPT_STEP, Event, KEY_STEP, PeakMemory, Step, evaluation_seconds},
    error::Result,
    head::Head,
    host::{Needed, admit, opens, peak_memory_bytes},
};
use limbwise::tfhe::{ClientKey, Evaluator, ServerKey, TfheParams};
use limbwise_apps::{Logic, Observer as _, program::Details};
use limbwise_math::{rns::to_f64, sampling::SeedSource};
use serde::Serialize;

/// What a run found: the JSON contract of `limbwise run` for workloads on TFHE.
#[derive(Clone, Debug, Serialize)]
pub struct LogicReport {
    /// What every report begins with.
    #[serde(flatten)]
    pub head: Head,
    /// Why it may be insecure, where leave was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_reason: Option<String>,
    /// Keys came from randomness that anybody can repeat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure_randomness: bool,
    /// Time of the evaluation.
    pub seconds: f64,
    /// The same for each bootstrapping, in milliseconds.
    pub ms_per_bootstrapping: f64,
    /// Bootstrappings.
    pub bootstrappings: u64,
    /// Every step with its time, keys, encryption and decryption included.
    pub steps: Vec<Step>,
    /// Messages that came out, and those of them that are not the clear twin's.
    pub messages: usize,
    /// Those of them that are not the clear twin's.
    pub wrong: usize,
    /// Noise of the results, measured against the clear twin's phases, and predicted.
    pub noise_found: NoiseFound,
    /// log₂ of the probability that any bootstrapping of the program fails.
    pub log2_failure: f64,
    /// Bytes of both keys as a server uses them.
    pub key_bytes: u64,
    /// Bytes of both keys as they are published.
    pub published_key_bytes: u64,
    /// Most memory of the process.
    pub peak_memory_bytes: PeakMemory,
    /// Page faults during the evaluation; absent where the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// Time of the evaluation, predicted before the run.
    pub seconds_predicted: f64,
    /// What the workload adds.
    #[serde(flatten)]
    pub details: Details,
}

/// log₂ of deviations over the modulus.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NoiseFound {
    /// Root of the mean square over all results.
    pub measured: f64,
    /// Of one bootstrapping, which the results of a program may be sums of.
    pub bootstrapping: f64,
}

/// log₂ of the root mean square of `phase − encode(message)`, over the modulus; no noise at all is −999.
fn log2_noise(params: &TfheParams, phases: &[u64], messages: &[u64]) -> f64 {
    let q = params.modulus();
    let error = |(&phase, &message): (&u64, &u64)| {
        let error = q.sub(phase, params.encode(message.cast_signed()));
        let size = to_f64(error.min(q.value() - error)) / to_f64(q.value());
        size * size
    };
    let sum: f64 = phases.iter().zip(messages).map(error).sum();
    ((sum / phases.len().max(1) as f64).log2() / 2.0).max(-999.0)
}

/// Runs a program that was planned, on messages, and compares it with its clear twin.
///
/// # Errors
/// What the scheme refuses, or a device fault.
pub fn run<L: Logic>(
    dev: &AnyDevice,
    (program, plan): (&L, &LogicPlan),
    messages: &[Vec<u64>],
    seeds: &SeedSource,
    tell: &mut dyn FnMut(Event),
) -> Result<LogicReport> {
    opens(dev, &[program.params().ring()])?;
    let process = plan.peak_memory_bytes.predicted;
    admit(dev, process, Needed::planned(plan.device_memory, process, plan.key_bytes))?;
    let params = program.params();
    let mut clock = Clock::new(tell);
    clock.step(KEY_STEP, 0, 1);
    let client = ClientKey::from_seed(params, seeds.seed("tfhe key").map_err(limbwise::Error::from)?);
    let server = ServerKey::new(dev, &client.bootstrap_keys(dev));
    clock.step(ENCRYPT_STEP, 0, messages.len());
    let input = |(of, messages): (limbwise_apps::Messages, &Vec<u64>)| client.encrypt(dev, messages)?.at_most(of.most);
    let inputs = program.inputs().into_iter().zip(messages).map(input).collect::<limbwise::Result<Vec<_>>>()?;
    let results = program.evaluate(Evaluator::new(dev, &server), &inputs, &mut clock)?;
    clock.step(DECRYPT_STEP, 0, results.len());
    let wanted = program.clear(messages);
    let (mut phases, mut messages, mut wrong) = (Vec::new(), Vec::new(), 0);
    for (result, wanted) in results.iter().zip(&wanted) {
        let found = client.phases(dev, result)?;
        let decoded: Vec<u64> = found.iter().map(|&phase| params.decode(phase)).collect();
        wrong += decoded.iter().zip(wanted).filter(|(got, wanted)| got != wanted).count();
        phases.extend(found);
        messages.push(decoded);
    }
    let mut details = plan.details.clone();
    details.extend(program.conclude(&wanted, &messages));
    let peak = peak_memory_bytes();
    let (steps, minor_faults) = clock.finish();
    let seconds = evaluation_seconds(&steps);
    let wanted = wanted.concat();
    let NoiseSummary { blind_rotation, .. } = plan.noise;
    Ok(LogicReport {
        head: plan.head.clone(),
        insecure_reason: plan.security.insecure_reason.clone(),
        insecure_randomness: seeds.is_insecure(),
        seconds,
        ms_per_bootstrapping: seconds * 1e3 / plan.bootstrappings.max(1) as f64,
        bootstrappings: plan.bootstrappings,
        steps,
        messages: wanted.len(),
        wrong,
        noise_found: NoiseFound { measured: log2_noise(params, &phases, &wanted), bootstrapping: blind_rotation },
        log2_failure: plan.failure.program,
        key_bytes: plan.key_bytes,
        published_key_bytes: plan.published_key_bytes,
        peak_memory_bytes: PeakMemory { measured: peak, predicted: plan.peak_memory_bytes.predicted },
        minor_faults,
        seconds_predicted: plan.seconds_predicted,
        details,
    })
}
