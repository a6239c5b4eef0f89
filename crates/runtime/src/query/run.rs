//! Asking for real, with every measurement beside its prediction.

use super::{QueryPlan, QueryRecording, SumPrecision};
use crate::{
    any_device::AnyDevice,
    clock::{BOOTSTRAP_STEP, Clock, DECRYPT_STEP, ENCRYPT_STEP, Event, KEY_STEP, PeakMemory, Step, evaluation_seconds},
    error::{Error, Result},
    head::Head,
    host::{Needed, admit, opens, peak_memory_bytes},
    journal::Identity,
};
use limbwise::{
    bridge::Bridge,
    ckks::{Auto, Ciphertext, Encoder, Evaluator, decrypt, encrypt_from},
    rlwe::{KeyGenerator, KeySet, PublicKey, SecretKey},
    tfhe::{self, ClientKey, ServerKey},
};
use limbwise_apps::{
    Journal, Observer as _,
    program::{Details, Tfhe},
    query::{Answer, Means, Query, Rows, table::Kind},
};
use limbwise_math::sampling::SeedSource;
use serde::Serialize;

/// The client's side: what it encrypts, and what must come out.
#[derive(Clone, Debug)]
pub struct QueryData {
    /// Values to encrypt.
    pub rows: Rows,
    /// Which rows pass.
    pub passing: Vec<bool>,
    /// The answer, exact, in units of its last digit.
    pub answer: i128,
}

/// What a question's answer is, encrypted and in the clear.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// As it was decrypted.
    pub decrypted: f64,
    /// As the clear twin has it, every digit.
    pub exact: String,
    /// Relative error of the one against the other; absolute where the answer is 0.
    pub relative_error: f64,
}

/// What a run found: the JSON contract of `limbwise run` for questions.
#[derive(Clone, Debug, Serialize)]
pub struct QueryReport {
    /// What every report begins with.
    #[serde(flatten)]
    pub head: Head,
    /// Why it may be insecure, where leave was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_reason: Option<String>,
    /// Keys came from randomness that anybody can repeat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure_randomness: bool,
    /// The answer.
    pub answer: Compared,
    /// Rows that pass.
    pub rows_passing: usize,
    /// Rows that were decided otherwise than by the clear twin.
    pub wrong: usize,
    /// Largest error of a bit that a row was multiplied with.
    pub largest_bit_error: f64,
    /// What was predicted of bits and sum.
    pub precision: SumPrecision,
    /// Time of the evaluation.
    pub seconds: f64,
    /// The same for each row.
    pub seconds_per_row: f64,
    /// Bootstrappings.
    pub bootstrappings: u64,
    /// Every step with its time, keys, encryption and decryption included.
    pub steps: Vec<Step>,
    /// log₂ of the probability that any bootstrapping fails.
    pub log2_failure: f64,
    /// Bytes of all keys as a server uses them.
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

/// What a state of this run belongs to: its question, parameters, data and randomness.
///
/// # Errors
/// No randomness.
pub fn identity(program: &Query, data: &QueryData, seeds: &SeedSource) -> Result<Identity> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(program.question().sql.as_bytes());
    let literals = (program.params().ckks().literal(), program.params().tfhe().literal());
    hasher.update(&serde_json::to_vec(&literals).map_err(|e| Error::Report(e.to_string()))?);
    for list in &data.rows.digits {
        hasher.update(&(list.len() as u64).to_le_bytes());
        for digit in list {
            hasher.update(&digit.to_le_bytes());
        }
    }
    for x in data.rows.columns.iter().flatten() {
        hasher.update(&x.to_le_bytes());
    }
    hasher.update(&seeds.seed("identity").map_err(limbwise::Error::from)?.0);
    Ok(Identity(*hasher.finalize().as_bytes()))
}

/// Both secret keys, and what a server has of them.
struct Keys {
    client: ClientKey,
    secret: SecretKey,
    public: PublicKey<AnyDevice>,
    server: ServerKey<AnyDevice>,
    set: KeySet<AnyDevice>,
}

fn keys(
    dev: &AnyDevice,
    (program, recording): (&Query, &QueryRecording),
    seeds: &SeedSource,
    clock: &mut Clock<'_>,
) -> limbwise::Result<Keys> {
    let (ckks, total) = (program.params().ckks(), recording.keys.required.len() + 1);
    clock.step(KEY_STEP, 0, total);
    let client = ClientKey::from_seed(program.params().tfhe(), seeds.seed("tfhe key")?);
    let server = ServerKey::new(dev, &client.bootstrap_keys(dev));
    let secret = SecretKey::generate(ckks, &seeds.seed("secret key")?);
    let generator = KeyGenerator::from_seed(dev, ckks, &secret, seeds.seed("keys")?).with_lwe(&client)?;
    let public = generator.public_key();
    let set = generator.key_set(&recording.keys, |done| clock.step(KEY_STEP, done + 1, total))?;
    Ok(Keys { client, secret, public, server, set })
}

/// The encrypted answer to a question.
fn answered(
    dev: &AnyDevice,
    (program, rows): (&Query, &Rows),
    (keys, seeds, encoder): (&Keys, &SeedSource, &Encoder),
    clock: &mut Clock<'_>,
    journal: &mut dyn Journal<AnyDevice, Tfhe>,
) -> limbwise::Result<Answer<AnyDevice>> {
    let ckks = program.params().ckks();
    clock.step(BOOTSTRAP_STEP, 0, 1);
    let bridge = Bridge::encode(dev, encoder, program.params(), program.bridge())?;
    let total = rows.digits.len() + rows.columns.len();
    clock.step(ENCRYPT_STEP, 0, total);
    let digit = |(digits, most): (&Vec<u64>, u64)| keys.client.encrypt(dev, digits)?.at_most(most);
    let digits = rows.digits.iter().zip(program.digits()).map(digit).collect::<limbwise::Result<Vec<_>>>()?;
    let mut columns: Vec<Ciphertext<AnyDevice>> = Vec::new();
    for (i, (values, input)) in rows.columns.iter().zip(program.columns()).enumerate() {
        clock.step(ENCRYPT_STEP, rows.digits.len() + i, total);
        let plain = encoder.encode_real(dev, std::slice::from_ref(values), input.packing)?;
        let seed = seeds.seed(&format!("column {i}"))?;
        columns.push(encrypt_from(dev, ckks, &keys.public, &plain, &seed).promised(input.bounds)?);
    }
    let auto = Auto::new(Evaluator::new(dev, ckks, &keys.set), encoder);
    let means = Means { tfhe: tfhe::Evaluator::new(dev, &keys.server), auto: &auto, bridge: &bridge };
    program.evaluate(&means, (&digits, &columns), clock, journal)
}

/// Asks a question that was planned, and compares the answer with the clear twin's.
///
/// # Errors
/// What the schemes or the journal refuse, or a device fault.
pub fn run(
    dev: &AnyDevice,
    (program, recording, plan): (&Query, &QueryRecording, &QueryPlan),
    data: &QueryData,
    (seeds, journal): (&SeedSource, &mut dyn Journal<AnyDevice, Tfhe>),
    tell: &mut dyn FnMut(Event),
) -> Result<QueryReport> {
    opens(dev, &[program.params().ckks().ring(), program.params().tfhe().ring()])?;
    let process = plan.peak_memory_bytes.predicted;
    admit(dev, process, Needed::planned(plan.device_memory, process, plan.key_bytes))?;
    let mut clock = Clock::new(tell);
    let keys = keys(dev, (program, recording), seeds, &mut clock)?;
    let encoder = Encoder::new(program.params().ckks());
    let answer = answered(dev, (program, &data.rows), (&keys, seeds, &encoder), &mut clock, journal)?;
    clock.step(DECRYPT_STEP, 0, 1);
    let read = |ciphertext| decrypt(dev, &encoder, program.params().ckks(), &keys.secret, ciphertext);
    let (sums, bits) = (read(&answer.sum)?, read(&answer.bits)?);
    let bits = program.by_row(&bits[0]);
    let error = |(bit, &passes): (&f64, &bool)| (bit - f64::from(u8::from(passes))).abs();
    let errors: Vec<f64> = bits.iter().zip(&data.passing).map(error).collect();
    let peak = peak_memory_bytes();
    let (steps, minor_faults) = clock.finish();
    let seconds = evaluation_seconds(&steps);
    Ok(QueryReport {
        head: plan.head.clone(),
        insecure_reason: plan.security.insecure_reason.clone(),
        insecure_randomness: seeds.is_insecure(),
        answer: compared(program, sums[0][0].re, data.answer),
        rows_passing: data.passing.iter().filter(|&&row| row).count(),
        wrong: errors.iter().filter(|&&e| e >= 0.5).count(),
        largest_bit_error: errors.iter().copied().fold(0.0, f64::max),
        precision: plan.precision,
        seconds,
        seconds_per_row: seconds / program.question().rows as f64,
        bootstrappings: plan.bootstrappings,
        steps,
        log2_failure: plan.failure.program,
        key_bytes: plan.key_bytes,
        peak_memory_bytes: PeakMemory { measured: peak, predicted: plan.peak_memory_bytes.predicted },
        minor_faults,
        seconds_predicted: plan.seconds_predicted,
        details: plan.details.clone(),
    })
}

/// A decrypted sum beside the exact one, whose digits are written from whole numbers.
fn compared(program: &Query, sum: f64, exact: i128) -> Compared {
    let units = sum * program.unit();
    let wanted = exact as f64;
    let relative_error = (units - wanted).abs() / if exact == 0 { 1.0 } else { wanted.abs() };
    let digits = program.question().digits();
    let written = i64::try_from(exact).map_or_else(|_| exact.to_string(), |exact| Kind::Number(digits).show(exact));
    Compared { decrypted: units * 10f64.powi(-digits.cast_signed()), exact: written, relative_error }
}
