//! Running a workload on BGV for real, every integer compared with its clear twin.

use super::{ModularPlan, ModularRecording};
use crate::{
    any_device::AnyDevice,
    clock::{Clock, DECRYPT_STEP, ENCRYPT_STEP, Event, KEY_STEP, MEMORY_STEP, PeakMemory, Step, evaluation_seconds},
    error::Result,
    head::Head,
    host::{Needed, admit, opens, peak_memory_bytes, touched},
};
use limbwise::{
    bgv::{
        Auto, BgvParams, Ciphertext, Encoder, Encryption, Evaluator, decrypt, encrypt_from, encrypt_seeded_from,
        phases, read,
    },
    rlwe::{KeyForm, KeyGenerator, KeyPlan, SecretKey},
};
use limbwise_apps::{Integers, Modular, Observer as _, modular::Messages, program::Details};
use limbwise_device::{Device, Domain, HostRead};
use limbwise_math::sampling::SeedSource;
use serde::Serialize;

/// How results were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Checked {
    /// Decrypted, integer by integer.
    Integers,
    /// Not to be read: phases modulo every prime, value by value.
    Phases,
}

/// What a run found: the JSON contract of `limbwise run` for workloads on BGV.
#[derive(Clone, Debug, Serialize)]
pub struct ModularReport {
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
    /// Every step with its time, keys, encryption and decryption included.
    pub steps: Vec<Step>,
    /// How the results were compared.
    pub checked: Checked,
    /// Numbers compared with the clear twin's.
    pub compared: usize,
    /// Those of them that are not the clear twin's.
    pub wrong: usize,
    /// Bits that the noise leaves free in the result that has fewest: measured, and by the bound.
    pub budget_bits: BudgetFound,
    /// Results as people have them, where the workload says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<(String, Vec<i64>)>,
    /// Bytes of the evaluation keys.
    pub key_bytes: u64,
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

/// Bits of budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BudgetFound {
    /// Found when decrypting; absent where that is not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// By the bound.
    pub predicted: f64,
}

/// What comparing found.
struct Comparison {
    checked: Checked,
    compared: usize,
    wrong: usize,
    measured: Option<f64>,
    results: Vec<Messages>,
}

/// Runs a program that was recorded and planned, on messages, and compares it with its clear twin.
///
/// # Errors
/// What the scheme refuses, or a device fault.
pub fn run<M: Modular>(
    dev: &AnyDevice,
    (program, recording, plan): (&M, &ModularRecording, &ModularPlan),
    messages: &[Messages],
    seeds: &SeedSource,
    tell: &mut dyn FnMut(Event),
) -> Result<ModularReport> {
    opens(dev, &[program.params().rlwe().ring()])?;
    let process = plan.peak_memory_bytes.predicted;
    admit(dev, process, Needed::planned(plan.device_memory, process, plan.key_bytes))?;
    let params = program.params();
    let seed = |label: &str| seeds.seed(label).map_err(limbwise::Error::from);
    let mut clock = Clock::new(tell);
    clock.step(MEMORY_STEP, 0, 1);
    touched(dev, params.rlwe().ring(), recording.peak_bytes)?;
    clock.step(KEY_STEP, 0, recording.required.len());
    let secret = SecretKey::generate(params.rlwe(), &seed("bgv secret key")?);
    let generator = KeyGenerator::from_seed(dev, params.rlwe(), &secret, seed("bgv public keys")?);
    let wanted_keys = KeyPlan { required: recording.required.clone(), form: KeyForm::Stored };
    let keys = generator.key_set(&wanted_keys, |_| ())?;
    let public = (program.encryption() == Encryption::Public).then(|| generator.public_key());
    drop(generator);
    clock.step(ENCRYPT_STEP, 0, messages.len());
    let encoder = Encoder::new(params);
    let encrypted = |(of, messages): (Integers, &Messages)| {
        let plain = encoder.encode(dev, messages, of.level)?;
        let seed = seed(&format!("bgv encryption of {}", of.name))?;
        let fresh = match &public {
            Some(public) => encrypt_from(dev, params, public, &plain, &seed),
            None => encrypt_seeded_from(dev, params, &secret, &plain, &seed).ciphertext,
        };
        Ok(with_domain(dev, fresh, of.domain))
    };
    let inputs = program.inputs().into_iter().zip(messages).map(encrypted).collect::<Result<Vec<_>>>()?;
    let auto = Auto::new(Evaluator::new(dev, params, &keys), &encoder);
    // A GPU may still be busy with what it was asked for: neither this nor the evaluation ends before it is done.
    dev.sync().map_err(limbwise::Error::from)?;
    let results = program.evaluate(&auto, &inputs, &mut clock)?;
    dev.sync().map_err(limbwise::Error::from)?;
    clock.step(DECRYPT_STEP, 0, results.len());
    let found = compared(dev, program, (&encoder, &secret), (&inputs, &results), messages)?;
    let peak = peak_memory_bytes();
    let (steps, minor_faults) = clock.finish();
    Ok(ModularReport {
        head: Head { device: dev.name(), ..plan.head.clone() },
        insecure_reason: plan.security.insecure_reason.clone(),
        insecure_randomness: seeds.is_insecure(),
        seconds: evaluation_seconds(&steps),
        steps,
        checked: found.checked,
        compared: found.compared,
        wrong: found.wrong,
        budget_bits: BudgetFound { measured: found.measured, predicted: plan.budget_bits },
        results: program.tables(&found.results),
        key_bytes: plan.key_bytes,
        peak_memory_bytes: PeakMemory { measured: peak, predicted: plan.peak_memory_bytes.predicted },
        minor_faults,
        seconds_predicted: plan.seconds_predicted,
        details: plan.details.clone(),
    })
}

/// Decrypts and compares; phases where a result may not be read and the program says what they should be.
fn compared<D: HostRead, M: Modular>(
    dev: &D,
    program: &M,
    (encoder, secret): (&Encoder, &SecretKey),
    (inputs, results): (&[Ciphertext<D>], &[Ciphertext<D>]),
    messages: &[Messages],
) -> Result<Comparison> {
    let params = program.params();
    let in_slots = |c: &Ciphertext<D>| with_domain(dev, c.clone(), Domain::Eval);
    let readable = results.iter().all(|c| c.budget_bits(params) >= 0.0);
    if !readable {
        let phase = |c: &Ciphertext<D>| Ok(phases(dev, params, secret, &in_slots(c))?);
        let inputs = inputs.iter().map(phase).collect::<Result<Vec<_>>>()?;
        let found = results.iter().map(phase).collect::<Result<Vec<_>>>()?;
        if let Some([compared, wrong]) = wrong_phases(program, params, results[0].level, (&inputs, &found)) {
            return Ok(Comparison { checked: Checked::Phases, compared, wrong, measured: None, results: Vec::new() });
        }
    }
    let (mut compared, mut wrong, mut measured) = (0, 0, f64::INFINITY);
    let mut decrypted = Vec::new();
    for (result, wanted) in results.iter().zip(program.clear(messages)) {
        let result = in_slots(result);
        let found = decrypt(dev, encoder, secret, &result)?;
        measured = measured.min(read(dev, encoder, secret, &result)?.budget_bits);
        for (found, wanted) in found.iter().zip(&wanted) {
            compared += wanted.len();
            wrong += found.iter().zip(wanted).filter(|(x, y)| x != y).count();
        }
        decrypted.push(found);
    }
    Ok(Comparison { checked: Checked::Integers, compared, wrong, measured: Some(measured), results: decrypted })
}

/// How many values there are, and how many are wrong.
fn wrong_phases<M: Modular>(
    program: &M,
    params: &BgvParams,
    level: usize,
    (inputs, found): (&[Vec<u64>], &[Vec<u64>]),
) -> Option<[usize; 2]> {
    let rlwe = params.rlwe();
    let (moduli, n) = (rlwe.ring().moduli_of(rlwe.basis(level)), params.slots());
    let rows = |words: &[Vec<u64>], limb: usize| -> Vec<Vec<u64>> {
        let limbs =
            |words: &Vec<u64>| words.chunks_exact(n).skip(limb).step_by(moduli.len()).flatten().copied().collect();
        words.iter().map(limbs).collect()
    };
    let (mut compared, mut wrong) = (0, 0);
    for (limb, &q) in moduli.iter().enumerate() {
        let wanted = program.phases(q, &rows(inputs, limb))?;
        for (found, wanted) in rows(found, limb).iter().zip(&wanted) {
            compared += wanted.len();
            wrong += found.iter().zip(wanted).filter(|(x, y)| x != y).count();
        }
    }
    Some([compared, wrong])
}

/// A ciphertext with polynomials in this domain.
fn with_domain<D: Device>(dev: &D, a: Ciphertext<D>, domain: Domain) -> Ciphertext<D> {
    let Ciphertext { parts, level, factor, noise } = a;
    let moved = |part: D::Poly| match (limbwise_device::Handle::shape(&part).domain, domain) {
        (Domain::Eval, Domain::Coeff) => dev.intt(part),
        (Domain::Coeff, Domain::Eval) => dev.ntt(part),
        _ => part,
    };
    Ciphertext { parts: parts.into_iter().map(moved).collect(), level, factor, noise }
}
