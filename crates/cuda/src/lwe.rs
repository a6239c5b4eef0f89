//! LWE ciphertexts in GPU memory, one row for all words of a batch, and the operations on them, one function for each
//! `lwe_…` method of the device.

use crate::{
    device::{Cuda, CudaPoly},
    driver::Place,
    launch::{Args, ROWS, Shape as Blocks, small},
    pool::Row,
    ring::modulus_words,
    transform::digit_words,
};
use limbwise_device::{Domain, Gadget, LweFill, LweHandle, LweShape, Role, Rounding, Shape, ops::extracted};
use rayon::prelude::*;
use std::sync::Arc;

/// A batch of LWE ciphertexts.
#[derive(Clone)]
pub struct CudaLwe {
    pub(crate) shape: LweShape,
    /// Entry by entry, mask first.
    pub(crate) words: Arc<Row>,
}

impl LweHandle for CudaLwe {
    fn lwe_shape(&self) -> LweShape {
        self.shape
    }
}

/// Words of all entries.
fn count(shape: LweShape) -> usize {
    shape.batch * shape.words()
}

fn fresh(dev: &Cuda, shape: LweShape, place: Place) -> CudaLwe {
    CudaLwe { shape, words: dev.row(count(shape), place) }
}

pub(crate) fn upload(dev: &Cuda, shape: LweShape, role: Role, fill: LweFill<'_>) -> CudaLwe {
    let mut words = vec![0; count(shape)];
    words.par_chunks_exact_mut(shape.words()).enumerate().for_each(|(entry, words)| fill(entry, words));
    let out = fresh(dev, shape, dev.place(role));
    dev.write(&out.words, &words);
    out
}

/// Copies entries of `a` to the entries of `out` from `at` on.
fn copy(dev: &Cuda, out: &CudaLwe, at: usize, a: &CudaLwe, entries: std::ops::Range<usize>) {
    let words = a.shape.words();
    let number = |entries: usize| (entries * words) as u64;
    let args = Args::default().pointer(&out.words).pointer(&a.words).word(number(at)).word(number(entries.start));
    let blocks = Blocks::words(entries.len() * words, 1);
    dev.launch("lw_lwe_copy", blocks, args.word(number(entries.len())));
}

pub(crate) fn stack(dev: &Cuda, parts: &[&CudaLwe]) -> CudaLwe {
    let batch = parts.iter().map(|p| p.shape.batch).sum();
    let out = fresh(dev, parts[0].shape.with_batch(batch), Place::Device);
    parts.iter().fold(0, |at, part| {
        copy(dev, &out, at, part, 0..part.shape.batch);
        at + part.shape.batch
    });
    out
}

pub(crate) fn split(dev: &Cuda, a: &CudaLwe, from: usize, to: usize) -> CudaLwe {
    let out = fresh(dev, a.shape.with_batch(to - from), Place::Device);
    copy(dev, &out, 0, a, from..to);
    out
}

/// Computes `out` word by word.
fn map(dev: &Cuda, kernel: &'static str, out: CudaLwe, args: Args) -> CudaLwe {
    dev.launch(kernel, Blocks::words(count(out.shape), 1), args);
    out
}

pub(crate) fn add(dev: &Cuda, a: &CudaLwe, b: &CudaLwe) -> CudaLwe {
    let out = fresh(dev, a.shape.with_batch(a.shape.batch.max(b.shape.batch)), Place::Device);
    let args = Args::default().pointer(&out.words).pointer(&a.words).pointer(&b.words).word(out.shape.modulus);
    let counts = [out.shape, a.shape, b.shape].map(|shape| count(shape) as u64);
    let args = counts.into_iter().fold(args, Args::word);
    map(dev, "lw_lwe_add", out, args)
}

pub(crate) fn scale(dev: &Cuda, a: &CudaLwe, c: u64) -> CudaLwe {
    let out = fresh(dev, a.shape, Place::Device);
    let args = Args::default().pointer(&out.words).pointer(&a.words).word(c);
    let args = args.structure(&modulus_words(a.shape.modulus)).word(count(a.shape) as u64);
    map(dev, "lw_lwe_scale", out, args)
}

pub(crate) fn shift(dev: &Cuda, a: &CudaLwe, constants: &[u64]) -> CudaLwe {
    let (out, c) = (fresh(dev, a.shape, Place::Device), dev.store(constants));
    let args = Args::default().pointer(&out.words).pointer(&a.words).pointer(&c).word(a.shape.modulus);
    let args = args.word(count(a.shape) as u64).word(a.shape.words() as u64).word(constants.len() as u64);
    map(dev, "lw_lwe_shift", out, args)
}

pub(crate) fn switch_modulus(dev: &Cuda, a: &CudaLwe, to: u64, rounding: Rounding) -> CudaLwe {
    let (from, out) = (a.shape.modulus, fresh(dev, a.shape.with_modulus(to), Place::Device));
    let args = Args::default().pointer(&out.words).pointer(&a.words);
    match rounding {
        Rounding::Nearest => {
            let args = args.structure(&modulus_words(2 * from)).word(to).word(count(a.shape) as u64);
            map(dev, "lw_lwe_mod_switch", out, args)
        }
        Rounding::CenteredForBinary => {
            let args = args.structure(&modulus_words(from)).structure(&modulus_words(2 * from));
            let args = args.word(to).word(a.shape.words() as u64);
            dev.launch("lw_lwe_mod_switch_centred", Blocks::entries(a.shape.batch), args);
            out
        }
    }
}

pub(crate) fn decompose(dev: &Cuda, a: &CudaLwe, gadget: Gadget) -> CudaLwe {
    let q = a.shape.modulus;
    let shape = LweShape { dimension: a.shape.dimension * gadget.len(), ..a.shape };
    let out = fresh(dev, shape, Place::Device);
    let args = Args::default()
        .pointer(&out.words)
        .pointer(&a.words)
        .structure(&digit_words(gadget, q))
        .word(q)
        .word(count(shape) as u64)
        .word(shape.words() as u64)
        .int(gadget.levels)
        .int(64 - (q - 1).leading_zeros())
        .int(gadget.base_log);
    map(dev, "lw_lwe_decompose", out, args)
}

pub(crate) fn product(dev: &Cuda, a: &CudaLwe, rows: &CudaLwe) -> CudaLwe {
    let out = fresh(dev, rows.shape.with_batch(a.shape.batch), Place::Device);
    let args = Args::default()
        .pointer(&out.words)
        .pointer(&a.words)
        .pointer(&rows.words)
        .structure(&modulus_words(a.shape.modulus))
        .int(small(a.shape.dimension))
        .int(small(rows.shape.words()))
        .int(small(a.shape.batch));
    let blocks = Blocks::lwe_products(rows.shape.words(), a.shape.batch);
    dev.launch("lw_lwe_product", blocks, args);
    out
}

/// As many entries per launch as it has rows for.
pub(crate) fn sample_extract(dev: &Cuda, glwe: &[&CudaPoly], at: &[usize]) -> CudaLwe {
    let (shape, parts) = (&glwe[0].shape, glwe.len());
    let out = fresh(dev, extracted(shape, parts, at.len()), Place::Device);
    let places = dev.store(&at.iter().map(|&at| at as u64).collect::<Vec<u64>>());
    let together = ROWS / parts;
    for first in (0..shape.batch).step_by(together) {
        let entries = first..(first + together).min(shape.batch);
        let args = Args::default()
            .pointer(&out.words)
            .rows(entries.clone().flat_map(|e| glwe.iter().map(move |part| &part.rows[e])))
            .pointer(&places)
            .word(out.shape.modulus)
            .int(shape.ring.log_n())
            .int(small(parts))
            .int(small(at.len()))
            .int(small(first));
        let blocks = Blocks::many(out.shape.words(), entries.len() * at.len());
        dev.launch("lw_sample_extract", blocks, args);
    }
    out
}

pub(crate) fn embed(dev: &Cuda, a: &CudaLwe, shape: Shape, part: usize) -> CudaPoly {
    let n = shape.ring.n();
    let out = dev.fresh(shape.with_batch(a.shape.batch).with_domain(Domain::Coeff));
    for (first, rows) in (0..).step_by(ROWS).zip(out.rows.chunks(ROWS)) {
        let args = Args::default()
            .rows(rows)
            .pointer(&a.words)
            .word(a.shape.modulus)
            .int(out.shape.ring.log_n())
            .int(small(a.shape.words()))
            .int(small(part))
            .int(first);
        dev.launch("lw_lwe_embed", Blocks::words(n, rows.len()), args);
    }
    out
}
