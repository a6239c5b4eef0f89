//! Times of reading and writing files of keys and ciphertexts in memory, without a disk.

use super::{Chain, SchemeRow, Shape, inputs, keys_of};
use crate::error::Error;
use limbwise::{
    ckks::{Encoder, Promise},
    params::Params,
    rlwe::{KeyForm, KeyName, key_bytes},
    wire::{self, KeyFile},
};
use limbwise_cpu::{Cpu, bench::Rates};
use std::time::Instant;

/// Minimum over several calls, in nanoseconds.
fn least_ns<T>(repetitions: usize, mut f: impl FnMut() -> Result<T, limbwise::Error>) -> Result<f64, Error> {
    let mut best = f64::INFINITY;
    for _ in 0..=repetitions.max(1) {
        let start = Instant::now();
        drop(f()?);
        best = best.min(start.elapsed().as_secs_f64() * 1e9);
    }
    Ok(best)
}

/// Times the files of a shape at its top level: writing and reading a ciphertext of two polynomials, and reading one
/// evaluation key with and without expanding its uniform halves from the seed.
///
/// The limit is the memory bandwidth: the bytes of the file and of the polynomials, each moved once.
///
/// # Panics
/// Never: the tests check the parameters of all shapes.
pub fn file_rows<E: From<Error>>(
    dev: &Cpu,
    shape: Shape,
    rates: Rates,
    repetitions: usize,
    mut tell: impl FnMut(SchemeRow) -> Result<(), E>,
) -> Result<(), E> {
    let literal = shape.literal();
    let params = Params::new(&literal).expect("a checked parameter set");
    let (keys, _, ciphertext) = inputs(dev, &params, &Encoder::new(&params))?;
    let promise = Promise { magnitude: 1.0, peak: 1.0, real: false };
    let ciphertext = ciphertext.with_promise(promise).map_err(Error::from)?;
    let bytes =
        wire::write_ciphertext(Vec::new(), dev, &params, &ciphertext, &wire::Origin::NONE).map_err(Error::from)?;
    let key_file = wire::write_keys(Vec::new(), dev, &params, &keys, &wire::Origin::NONE).map_err(Error::from)?;
    let opened = KeyFile::open(&key_file, &params).map_err(Error::from)?;
    let (name, level) = (KeyName::Relinearization, params.top_level());
    let one_key = key_file.len() as u64 / keys_of(&params).required.len() as u64;
    let stored = |form| one_key + key_bytes(&params, name, level, form);
    let copied = bytes.len() as u64 + ciphertext.bytes();
    let mut row = |op, ns, bytes: u64| {
        tell(SchemeRow {
            op,
            n: params.ring().n(),
            prime_bits: literal.log_scale,
            limbs: params.limbs(level),
            threads: dev.threads(),
            isa: dev.isa().name().into(),
            ns,
            limit_ns: bytes as f64 / rates.dram_gb_s,
            chain: Chain::of(&literal),
        })
    };
    let mut out = Vec::with_capacity(bytes.len());
    let write = least_ns(repetitions, || {
        out.clear();
        wire::write_ciphertext(&mut out, dev, &params, &ciphertext, &wire::Origin::NONE).map(|_| ())
    })?;
    row("write_ciphertext", write, copied)?;
    row("read_ciphertext", least_ns(repetitions, || wire::read_ciphertext(&bytes, dev, &params))?, copied)?;
    for (op, form) in [("read_key_seeded", KeyForm::Seeded), ("read_key", KeyForm::Stored)] {
        row(op, least_ns(repetitions, || opened.read_key(dev, name, level, form))?, stored(form))?;
    }
    Ok(())
}
