//! Times of scheme operations, each beside a lower limit measured in the same run.
//!
//! The limit is computed from a recording of the same operation: see [`limit_ns`].

mod files;
mod integers;

pub use files::file_rows;
pub use integers::integer_rows;

use crate::error::Result;
use limbwise::{
    Complex64,
    ckks::{Auto, Ciphertext, Encoder, Evaluator, Packing, Plaintext, encrypt},
    params::{Params, ParamsLiteral, PrimeChoice},
    rlwe::{DeclaredKeys, KeyForm, KeyGenerator, KeyName, KeyPlan, KeySet, SecretKey},
};
use limbwise_cpu::{Cpu, Isa, bench::Rates};
use limbwise_device::{Device, Null};
use limbwise_graph::{Graph, Recorder};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use serde::Serialize;
use std::time::Instant;

/// A timed operation on a fresh ciphertext and an encoded plaintext.
type Operation<D> = fn(&Auto<'_, D>, &Ciphertext<D>, &Plaintext<D>) -> limbwise::Result<Ciphertext<D>>;

fn operations<D: Device>() -> [(&'static str, Operation<D>); 7] {
    [
        ("multiply_relinearize", |auto, a, _| auto.eval.relinearize(&auto.eval.multiply(a, a)?)),
        ("multiply_relinearize_rescale", |auto, a, _| auto.eval.relinearize_rescaled(&auto.eval.multiply(a, a)?)),
        ("rotate", |auto, a, _| auto.eval.rotate(a, 1)),
        ("rescale", |auto, a, _| {
            let mut product = a.clone();
            product.scale *= auto.eval.params().dropped(a.level);
            auto.eval.rescale(&product)
        }),
        ("mul_plain", |auto, a, p| auto.eval.mul_plain(a, p)),
        ("mul_scalar", |auto, a, _| auto.eval.mul_scalar(a, 0.5, 2.0)),
        ("add", |auto, a, _| auto.eval.add(a, a)),
    ]
}

/// The parameters of a benchmark of scheme operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// N = 2^16, 25 limbs, 5 digits: the preset `n16-l24-s40`.
    Deep,
    /// N = 2^15, 20 limbs, 5 digits: the largest modulus that 128-bit security allows.
    Middle,
    /// N = 2^13, 4 limbs: fast, for looking at the form of a report.
    Small,
}

impl Shape {
    fn literal(self) -> ParamsLiteral {
        match self {
            Self::Deep => ParamsLiteral::chain(16, 50, 40, 24, (45, 5), 5),
            Self::Middle => ParamsLiteral::chain(15, 38, 35, 19, (37, 4), 5),
            Self::Small => ParamsLiteral::chain(13, 45, 40, 3, (45, 1), 4),
        }
    }
}

/// The modulus chain of a parameter set: what another library needs to do the same work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// Bits of each prime of the chain. The first prime is never dropped.
    pub chain_bits: Vec<u64>,
    /// Bits of each special prime.
    pub special_bits: Vec<u64>,
    /// Digits of key switching at the top level.
    pub dnum: usize,
}

impl Chain {
    fn of(literal: &ParamsLiteral) -> Self {
        Self::of_bits(&literal.levels, &literal.special, literal.dnum)
    }

    fn of_bits(levels: &[Vec<PrimeChoice>], special: &[PrimeChoice], dnum: usize) -> Self {
        let bits = |choice: &PrimeChoice| match *choice {
            PrimeChoice::Bits(bits) => bits.into(),
            PrimeChoice::Exact(prime) => u64::from(prime.ilog2() + 1),
        };
        Self {
            chain_bits: levels.iter().flatten().map(bits).collect(),
            special_bits: special.iter().map(bits).collect(),
            dnum,
        }
    }
}

impl std::fmt::Display for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { chain_bits, special_bits, dnum } = self;
        let [q, p] = [chain_bits, special_bits].map(|bits| bits.iter().sum::<u64>());
        write!(f, "{} limbs, log Q {q}, log P {p}, dnum {dnum}", chain_bits.len())
    }
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

fn values(params: &Params) -> [Vec<Complex64>; 1] {
    [vec![Complex64::new(0.5, -0.5); params.max_slots()]]
}

fn recorded(params: &Params, operation: Operation<Recorder<Null>>) -> Result<Graph> {
    let recorder = Recorder::new(Null::default());
    {
        let encoder = Encoder::new(params);
        let keys = DeclaredKeys::exactly(&recorder, params, &keys_of(params));
        let input = encoder.declare(&recorder, &[Vec::new()], packing(params))?;
        let plain = encoder.encode(&recorder, &values(params), packing(params))?;
        operation(&Auto::new(Evaluator::new(&recorder, params, &keys), &encoder), &input, &plain)?;
    }
    Ok(recorder.finish())
}

/// A timed operation: one row of `limbwise bench`.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeRow {
    pub op: &'static str,
    pub n: usize,
    /// Bits of the primes that carry the scale.
    pub prime_bits: u32,
    pub limbs: usize,
    pub threads: usize,
    pub isa: String,
    /// Minimum over the repetitions.
    pub ns: f64,
    /// The limit: see [`limit_ns`].
    pub limit_ns: f64,
    pub chain: Chain,
}

/// Lower bound on the time of a recorded operation at this host's peak rates. It is the longer of two times: all
/// multiplier instructions on all threads, and one read of all inputs. In plain words only the bytes count.
///
/// Multiplier instructions per eight words are those of [`limbwise_cpu::bench::Multiplier`]: one product for a butterfly, one
/// term for each of a base conversion, a product of two residues for all else.
pub fn limit_ns(graph: &Graph, (rates, isa): (Rates, Isa), threads: usize) -> f64 {
    let arithmetic = arithmetic_ns(graph, (rates, isa), threads).unwrap_or(0.0);
    let traffic = graph.traffic();
    let bytes = traffic.ciphertexts.widest + traffic.plaintexts.widest + traffic.evaluation_keys.widest;
    arithmetic.max(bytes as f64 / rates.dram_gb_s)
}

/// Time of the multiplier alone, for operands in a cache; `None` where there is no vector multiplier.
fn arithmetic_ns(graph: &Graph, (rates, isa): (Rates, Isa), threads: usize) -> Option<f64> {
    let (counts, m) = (graph.counts(), rates.multiplier(isa)?);
    let instructions = m.product as u64 * counts.ntt_products
        + m.term as u64 * counts.convert_sum_products
        + m.mul as u64 * (counts.convert_scale_products + counts.elementwise_products);
    Some(m.ns(1) * instructions as f64 / 8.0 / threads as f64)
}

/// Times the leveled operations of a shape at its top level. Each row is reported as soon as it is measured, so that
/// other libraries can be measured in between.
///
/// # Panics
/// Never: the tests check the parameters of all shapes.
pub fn scheme_rows<E: From<crate::Error>>(
    dev: &Cpu,
    shape: Shape,
    rates: Rates,
    repetitions: usize,
    mut tell: impl FnMut(SchemeRow) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let literal = shape.literal();
    let params = Params::new(&literal).expect("a checked parameter set");
    let encoder = Encoder::new(&params);
    let (keys, plain, input) = inputs(dev, &params, &encoder)?;
    let auto = Auto::new(Evaluator::new(dev, &params, &keys), &encoder);
    for ((op, run), (_, record)) in operations().into_iter().zip(operations()) {
        let mut best = f64::INFINITY;
        for _ in 0..=repetitions.max(1) {
            let start = Instant::now();
            drop(run(&auto, &input, &plain).map_err(crate::Error::from)?);
            best = best.min(start.elapsed().as_secs_f64() * 1e9);
        }
        tell(SchemeRow {
            op,
            n: params.ring().n(),
            prime_bits: literal.log_scale,
            limbs: params.limbs(params.top_level()),
            threads: dev.threads(),
            isa: dev.isa().name().into(),
            ns: best,
            limit_ns: limit_ns(&recorded(&params, record)?, (rates, dev.isa()), dev.threads()),
            chain: Chain::of(&literal),
        })?;
    }
    Ok(())
}

/// Keys, a plaintext and its encryption.
fn inputs(dev: &Cpu, params: &Params, encoder: &Encoder) -> Result<(KeySet<Cpu>, Plaintext<Cpu>, Ciphertext<Cpu>)> {
    let seed = Seed::from_os().map_err(limbwise::Error::Entropy)?;
    let secret = SecretKey::generate(params, &seed);
    let generator = KeyGenerator::new(dev, params, &secret)?;
    let keys = generator.key_set(&keys_of(params), |_| ())?;
    let plain = encoder.encode(dev, &values(params), packing(params))?;
    let input = encrypt(dev, params, &generator.public_key(), &plain)?;
    Ok((keys, plain, input))
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise::params::presets::presets;

    #[test]
    fn shapes_are_parameters_at_128_bits() {
        for (shape, words) in [
            (Shape::Deep, "25 limbs, log Q 1010, log P 225, dnum 5"),
            (Shape::Middle, "20 limbs, log Q 703, log P 148, dnum 5"),
            (Shape::Small, "4 limbs, log Q 165, log P 45, dnum 4"),
        ] {
            let params = Params::new(&shape.literal()).unwrap();
            assert!(params.security().bits >= 128);
            assert_eq!(Chain::of(&shape.literal()).to_string(), words);
        }
        assert_eq!(Shape::Deep.literal(), presets().iter().find(|p| p.name == "n16-l24-s40").unwrap().literal.clone());
    }

    #[test]
    fn a_product_with_clear_values_reads_them() {
        let params = Params::new(&Shape::Small.literal()).unwrap();
        let (_, record) = operations().into_iter().find(|(op, _)| *op == "mul_plain").unwrap();
        let limb = 8 * params.ring().n() as u64;
        let traffic = recorded(&params, record).unwrap().traffic();
        assert_eq!([traffic.ciphertexts.widest, traffic.plaintexts.widest], [2 * 4 * limb, 4 * limb]);
        assert_eq!(traffic.evaluation_keys.widest, 0);
    }
}
