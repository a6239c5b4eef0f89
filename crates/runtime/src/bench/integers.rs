//! Times of BGV operations: products without relinearization, and the NTT of a whole ciphertext.

use super::{Chain, SchemeRow, arithmetic_ns, limit_ns};
use crate::error::Result;
use limbwise::{
    bgv::{BgvLiteral, BgvParams, Ciphertext, CiphertextShape, Encoder, Encryption, Evaluator, encrypt_seeded_from},
    params::PrimeChoice,
    rlwe::{DeclaredKeys, KeySet, SecretKey},
};
use limbwise_cpu::{Cpu, Isa, bench::Rates};
use limbwise_device::{Device, Domain, Null};
use limbwise_graph::{Graph, Recorder};
use limbwise_math::sampling::Seed;
use std::time::Instant;

/// Repetitions of these operations per repetition of a longer one: they take microseconds.
const SHORT: usize = 200;

/// N = 4096 with 3 limbs, N = 8192 with 5: shapes that SEAL users know.
fn literals() -> [BgvLiteral; 2] {
    [BgvLiteral::chain(12, 65537, &[35; 3], &[], 1), BgvLiteral::chain(13, 65537, &[42; 5], &[], 1)]
}

/// Records an operation on a fresh ciphertext.
fn recorded(
    params: &BgvParams,
    domain: Domain,
    run: impl Fn(&Evaluator<'_, Recorder<Null>>, Ciphertext<Recorder<Null>>) -> limbwise::Result<Vec<Recorded>>,
) -> Result<Graph> {
    let recorder = Recorder::new(Null::default());
    {
        let keys = DeclaredKeys::all(&recorder, params.rlwe());
        let shape = CiphertextShape { batch: 1, level: params.top_level(), domain };
        let input = Ciphertext::declared(&recorder, params, shape, Encryption::Secret);
        drop(run(&Evaluator::new(&recorder, params, &keys), input)?);
    }
    Ok(recorder.finish())
}

type Recorded = <Recorder<Null> as Device>::Poly;

/// Transforms both polynomials to the evaluation domain, in place if no other handle shares them.
fn transformed<D: Device>(dev: &D, parts: Vec<D::Poly>) -> Vec<D::Poly> {
    parts.into_iter().map(|p| dev.ntt(p)).collect()
}

/// Times the product of two ciphertexts (`bgv_multiply`) and the NTT of one (`bgv_ntt`). Each row is reported as soon
/// as it is measured.
///
/// # Panics
/// Never: the tests check the parameters of both shapes.
pub fn integer_rows<E: From<crate::Error>>(
    dev: &Cpu,
    rates: Rates,
    repetitions: usize,
    mut tell: impl FnMut(SchemeRow) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    for literal in literals() {
        let params = BgvParams::new(&literal).expect("a checked parameter set");
        let input = fresh(dev, &params)?;
        let keys = KeySet::new(params.rlwe(), Vec::new());
        let eval = Evaluator::new(dev, &params, &keys);
        let row = |op, ns, graph: Graph| SchemeRow {
            op,
            n: params.slots(),
            prime_bits: bits(&literal),
            limbs: literal.levels.len(),
            threads: dev.threads(),
            isa: dev.isa().name().into(),
            ns,
            limit_ns: limit(&graph, (rates, dev.isa()), dev.threads()),
            chain: Chain::of_bits(&literal.levels, &literal.special, literal.dnum),
        };
        let mut best = f64::INFINITY;
        for _ in 0..SHORT * repetitions.max(1) {
            let start = Instant::now();
            drop(eval.multiply(&input, &input).map_err(crate::Error::from)?);
            best = best.min(start.elapsed().as_secs_f64() * 1e9);
        }
        let graph = recorded(&params, Domain::Eval, |eval, a| Ok(eval.multiply(&a, &a)?.parts))?;
        tell(row("bgv_multiply", best, graph))?;
        let mut parts: Vec<_> = input.parts.into_iter().map(|p| dev.intt(p)).collect();
        let mut best = f64::INFINITY;
        for _ in 0..SHORT * repetitions.max(1) {
            let start = Instant::now();
            let values = transformed(dev, parts);
            best = best.min(start.elapsed().as_secs_f64() * 1e9);
            parts = values.into_iter().map(|p| dev.intt(p)).collect();
        }
        let graph = recorded(&params, Domain::Coeff, |eval, a| Ok(transformed(eval.device(), a.parts)))?;
        tell(row("bgv_ntt", best, graph))?;
    }
    Ok(())
}

/// The multiplier alone, because all operands are in a cache; the general limit where there is no such rate.
fn limit(graph: &Graph, rates: (Rates, Isa), threads: usize) -> f64 {
    arithmetic_ns(graph, rates, threads).unwrap_or_else(|| limit_ns(graph, rates, threads))
}

fn bits(literal: &BgvLiteral) -> u32 {
    match literal.levels[0][0] {
        PrimeChoice::Bits(bits) => bits,
        PrimeChoice::Exact(prime) => prime.ilog2() + 1,
    }
}

fn fresh(dev: &Cpu, params: &BgvParams) -> Result<Ciphertext<Cpu>> {
    let seed = Seed::from_os().map_err(limbwise::Error::Entropy)?;
    let secret = SecretKey::generate(params.rlwe(), &seed.derive("secret"));
    let values: Vec<i64> = (-1000..1000).collect();
    let plain = Encoder::new(params).encode(dev, &[values], params.top_level())?;
    Ok(encrypt_seeded_from(dev, params, &secret, &plain, &seed.derive("encryption")).ciphertext)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_parameters_at_128_bits() {
        for (literal, words) in
            literals().iter().zip(["3 limbs, log Q 105, log P 0, dnum 1", "5 limbs, log Q 210, log P 0, dnum 1"])
        {
            let params = BgvParams::new(literal).unwrap();
            assert_eq!(params.security().bits, 128);
            assert_eq!(Chain::of_bits(&literal.levels, &literal.special, literal.dnum).to_string(), words);
            let graph = recorded(&params, Domain::Eval, |eval, a| Ok(eval.multiply(&a, &a)?.parts)).unwrap();
            assert_eq!(graph.counts().elementwise_products, 4 * (params.slots() * literal.levels.len()) as u64);
        }
    }
}
