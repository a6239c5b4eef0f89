//! Times of scheme operations, each beside a limit that is measured in the same run.
//!
//! The limit is made of what was recorded of the same operation: see [`limit_ns`].

use crate::error::Result;
use limbwise::{
    ckks::{Auto, Ciphertext, Encoder, Evaluator, Packing, encrypt},
    params::{Params, presets::preset},
    rlwe::{DeclaredKeys, KeyForm, KeyGenerator, KeyName, KeyPlan, KeySet, SecretKey},
};
use limbwise_cpu::{Cpu, bench::Rates};
use limbwise_device::{Device, Null};
use limbwise_graph::{Graph, Recorder};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use serde::Serialize;
use std::time::Instant;

/// An operation to time: what it does to a fresh ciphertext.
type Operation<D> = fn(&Auto<'_, D>, &Ciphertext<D>) -> limbwise::Result<Ciphertext<D>>;

fn operations<D: Device>() -> [(&'static str, Operation<D>); 5] {
    [
        ("multiply_relinearize", |auto, a| auto.eval.relinearize(&auto.eval.multiply(a, a)?)),
        ("rotate", |auto, a| auto.eval.rotate(a, 1)),
        ("rescale", |auto, a| {
            let mut product = a.clone();
            product.scale *= auto.eval.params().dropped(a.level);
            auto.eval.rescale(&product)
        }),
        ("mul_scalar", |auto, a| auto.eval.mul_scalar(a, 0.5, 2.0)),
        ("add", |auto, a| auto.eval.add(a, a)),
    ]
}

fn packing(params: &Params) -> Packing {
    let level = params.top_level();
    Packing { slots: params.max_slots(), level, scale: params.scale(level) }
}

fn keys_of(params: &Params) -> KeyPlan {
    let rotation = KeyName::Galois(GaloisElement::rotation(1, params.log_n()));
    let required = [KeyName::Relinearization, rotation].map(|name| (name, params.top_level())).into();
    KeyPlan { required, form: KeyForm::Stored }
}

/// Records one operation.
fn recorded(params: &Params, operation: Operation<Recorder<Null>>) -> Result<Graph> {
    let recorder = Recorder::new(Null::default());
    {
        let encoder = Encoder::new(params);
        let keys = DeclaredKeys::exactly(&recorder, params, &keys_of(params));
        let input = encoder.declare(&recorder, &[Vec::new()], packing(params))?;
        operation(&Auto::new(Evaluator::new(&recorder, params, &keys), &encoder), &input)?;
    }
    Ok(recorder.finish())
}

/// A timed operation: one row of `limbwise bench`.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeRow {
    /// The operation.
    pub op: &'static str,
    /// Ring degree.
    pub n: usize,
    /// Bits of the primes that carry the scale.
    pub prime_bits: u32,
    /// Limbs of the ciphertext.
    pub limbs: usize,
    /// Threads.
    pub threads: usize,
    /// Instruction set.
    pub isa: String,
    /// Least time of several.
    pub ns: f64,
    /// The limit: see [`limit_ns`].
    pub limit_ns: f64,
}

/// The least time of a recorded operation at this host's peak rates: its multiply-adds on all threads, or its inputs
/// read once, whichever is longer. Where there are no 52-bit multiply-adds, only the bytes count.
///
/// A butterfly takes 3 multiply-adds, a term of a base conversion 2 (low and high half), any other product 4 (its two
/// halves, and as many for the quotient and remainder); eight words at a time.
#[must_use]
pub fn limit_ns(graph: &Graph, rates: Rates, threads: usize) -> f64 {
    let counts = graph.counts();
    let multiply_adds = 3 * counts.ntt_products
        + 2 * counts.convert_sum_products
        + 4 * (counts.convert_scale_products + counts.elementwise_products);
    let arithmetic = rates.madd_per_ns.map_or(0.0, |rate| multiply_adds as f64 / 8.0 / rate / threads as f64);
    let traffic = graph.traffic();
    let bytes = traffic.ciphertexts.widest + traffic.plaintexts.widest + traffic.evaluation_keys.widest;
    arithmetic.max(bytes as f64 / rates.dram_gb_s)
}

/// Times the levelled operations of a preset at its top level.
///
/// # Errors
/// An unknown preset, or a device fault.
pub fn scheme_rows(dev: &Cpu, preset_name: &str, rates: Rates, repetitions: usize) -> Result<Vec<SchemeRow>> {
    let params = preset(preset_name).map_err(limbwise::Error::Params)?;
    let encoder = Encoder::new(&params);
    let seed = Seed::from_os().map_err(limbwise::Error::Entropy)?;
    let secret = SecretKey::generate(&params, &seed);
    let generator = KeyGenerator::new(dev, &params, &secret)?;
    let keys: KeySet<Cpu> = generator.key_set(&keys_of(&params), |_| ());
    let values = vec![limbwise::Complex64::new(0.5, -0.5); params.max_slots()];
    let plain = encoder.encode(dev, &[values], packing(&params))?;
    let input = encrypt(dev, &params, &generator.public_key(), &plain)?;
    let auto = Auto::new(Evaluator::new(dev, &params, &keys), &encoder);
    let mut rows = Vec::new();
    for ((op, run), (_, record)) in operations().into_iter().zip(operations()) {
        let mut best = f64::INFINITY;
        for _ in 0..=repetitions.max(1) {
            let start = Instant::now();
            drop(run(&auto, &input)?);
            best = best.min(start.elapsed().as_secs_f64() * 1e9);
        }
        rows.push(SchemeRow {
            op,
            n: params.ring().n(),
            prime_bits: params.literal().log_scale,
            limbs: params.limbs(params.top_level()),
            threads: dev.threads(),
            isa: dev.isa().name().into(),
            ns: best,
            limit_ns: limit_ns(&recorded(&params, record)?, rates, dev.threads()),
        });
    }
    Ok(rows)
}
