//! LWE ciphertexts in this process's memory and the operations on them, one function for each `lwe_…` method of the
//! device.

use crate::{
    device::{Cpu, CpuPoly},
    kernels::{
        Isa, avx2, avx512,
        gadget::{Wrapping, wrapping_sums},
    },
    layout,
};
use limbwise_device::{Domain, Gadget, LweFill, LweHandle, LweShape, Role, Rounding, ops::extracted};
use limbwise_math::gadget::{mod_switch, mod_switch_centered};
use std::{borrow::Cow, ops::Range, sync::Arc};

/// A batch of LWE ciphertexts.
#[derive(Clone)]
pub struct CpuLwe {
    pub(crate) shape: LweShape,
    /// Entry by entry, mask first.
    words: Words,
}

/// Words as they are stored. Keys modulo at most 2^32 take half the memory, because a key switch is bound by reading them.
#[derive(Clone)]
enum Words {
    Whole(Arc<Vec<u64>>),
    Half(Arc<Vec<u32>>),
}

impl LweHandle for CpuLwe {
    fn lwe_shape(&self) -> LweShape {
        self.shape
    }
}

/// Words of sums computed together, over all entries: they fit the L1 cache beside a few rows.
const SUMS: usize = 4096;
/// Smallest number of columns of a row that are read together: 1 KiB of 32-bit words.
const LEAST_COLUMNS: usize = 256;
/// Rows that stay in the L1 cache while all entries use them.
const ROWS: usize = 16;
/// Entries whose factors are made at a time: as many read the rows once, and their factors take 10 MB at most for a key
/// switch of 10,240 rows.
const ENTRIES: usize = 128;

impl CpuLwe {
    fn new(shape: LweShape, words: Vec<u64>) -> Self {
        Self { shape, words: Words::Whole(Arc::new(words)) }
    }

    /// All words, entry by entry.
    pub(crate) fn all(&self) -> Cow<'_, [u64]> {
        match &self.words {
            Words::Whole(words) => Cow::Borrowed(words),
            Words::Half(words) => words.iter().map(|&x| x.into()).collect(),
        }
    }

    /// The words of one entry; a batch of one stands for every entry.
    pub(crate) fn entry(&self, i: usize) -> Cow<'_, [u64]> {
        let words = self.shape.words();
        let range = i % self.shape.batch * words..(i % self.shape.batch + 1) * words;
        match &self.words {
            Words::Whole(words) => Cow::Borrowed(&words[range]),
            Words::Half(words) => words[range].iter().map(|&x| x.into()).collect(),
        }
    }

    fn map(&self, f: impl Fn(u64) -> u64) -> Self {
        Self::new(self.shape, self.all().iter().map(|&x| f(x)).collect())
    }
}

/// `x + y mod q`, q at most 2^62.
fn add_mod(q: u64, x: u64, y: u64) -> u64 {
    let s = x + y;
    s.min(s.wrapping_sub(q))
}

/// `−x mod q`.
fn neg_mod(q: u64, x: u64) -> u64 {
    let d = q - x;
    d.min(d.wrapping_sub(q))
}

/// `x·y mod q`.
fn mul_mod(q: u64, x: u64, y: u64) -> u64 {
    u64::try_from(u128::from(x) * u128::from(y) % u128::from(q)).expect("below q")
}

/// The representative of x in (−q/2, q/2].
fn centered(q: u64, x: u64) -> i64 {
    if x > q / 2 { x.cast_signed() - q.cast_signed() } else { x.cast_signed() }
}

/// New ciphertexts, each entry's words written by the task.
fn fresh(dev: &Cpu, shape: LweShape, task: impl Fn(usize, &mut [u64]) + Sync + Send) -> CpuLwe {
    let mut words = vec![0; shape.batch * shape.words()];
    let items: Vec<&mut [u64]> = words.chunks_exact_mut(shape.words()).collect();
    dev.each(shape.batch * shape.words(), items, task);
    CpuLwe::new(shape, words)
}

/// Ciphertexts from the host; keys of short words take half the room.
pub(crate) fn upload(dev: &Cpu, shape: LweShape, role: Role, fill: LweFill<'_>) -> CpuLwe {
    let half = matches!(role, Role::EvaluationKey(_)) && shape.modulus <= 1 << 32 && shape.modulus.is_power_of_two();
    if !half {
        return fresh(dev, shape, fill);
    }
    let mut words = vec![0u32; shape.batch * shape.words()];
    let items: Vec<&mut [u32]> = words.chunks_exact_mut(shape.words()).collect();
    dev.each(shape.batch * shape.words(), items, |i, out| {
        let mut entry = vec![0; shape.words()];
        fill(i, &mut entry);
        out.iter_mut().zip(entry).for_each(|(out, x)| *out = u32::try_from(x).expect("below the modulus"));
    });
    CpuLwe { shape, words: Words::Half(Arc::new(words)) }
}

pub(crate) fn stack(parts: &[&CpuLwe]) -> CpuLwe {
    let words: Vec<u64> = parts.iter().flat_map(|p| p.all().into_owned()).collect();
    let batch = parts.iter().map(|p| p.shape.batch).sum();
    CpuLwe::new(parts[0].shape.with_batch(batch), words)
}

pub(crate) fn split(a: &CpuLwe, from: usize, to: usize) -> CpuLwe {
    let words = a.all()[from * a.shape.words()..to * a.shape.words()].to_vec();
    CpuLwe::new(a.shape.with_batch(to - from), words)
}

pub(crate) fn add(dev: &Cpu, a: &CpuLwe, b: &CpuLwe) -> CpuLwe {
    let shape = a.shape.with_batch(a.shape.batch.max(b.shape.batch));
    fresh(dev, shape, |i, out| {
        let (a, b) = (a.entry(i), b.entry(i));
        out.iter_mut().zip(a.iter().zip(&*b)).for_each(|(out, (&x, &y))| *out = add_mod(shape.modulus, x, y));
    })
}

pub(crate) fn scale(a: &CpuLwe, c: u64) -> CpuLwe {
    a.map(|x| mul_mod(a.shape.modulus, x, c))
}

pub(crate) fn shift(dev: &Cpu, a: &CpuLwe, constants: &[u64]) -> CpuLwe {
    fresh(dev, a.shape, |i, out| {
        out.copy_from_slice(&a.entry(i));
        let body = out.last_mut().expect("a ciphertext has a body");
        *body = add_mod(a.shape.modulus, *body, constants[i % constants.len()]);
    })
}

pub(crate) fn switch_modulus(dev: &Cpu, a: &CpuLwe, to: u64, rounding: Rounding) -> CpuLwe {
    let from = a.shape.modulus;
    fresh(dev, a.shape.with_modulus(to), |i, out| match rounding {
        Rounding::Nearest => {
            out.iter_mut().zip(&*a.entry(i)).for_each(|(out, &x)| *out = mod_switch(x, from, to));
        }
        Rounding::CenteredForBinary => {
            out.copy_from_slice(&a.entry(i));
            mod_switch_centered(out, from, to);
        }
    })
}

pub(crate) fn decompose(dev: &Cpu, a: &CpuLwe, gadget: Gadget) -> CpuLwe {
    let (q, gadget) = (a.shape.modulus, gadget.of(a.shape.modulus));
    let (shift, mask, half) = (gadget.shift(), gadget.base() - 1, gadget.base() / 2);
    let weights: Vec<u32> = gadget.log_factors().collect();
    let shape = LweShape { dimension: a.shape.dimension * weights.len(), ..a.shape };
    fresh(dev, shape, |i, out| {
        let entry = a.entry(i);
        let (body, words) = entry.split_last().expect("a ciphertext has a body");
        let (last, out) = out.split_last_mut().expect("a ciphertext has a body");
        for (out, &x) in out.chunks_exact_mut(weights.len()).zip(words) {
            let plain = add_mod(q, x, shift);
            for (out, weight) in out.iter_mut().zip(&weights) {
                let digit = (plain >> weight & mask).wrapping_sub(half);
                *out = digit.min(digit.wrapping_add(q));
            }
        }
        *last = *body;
    })
}

/// `(0, b) + Σ a_i·row_i`, some columns for a group of entries at a time. Modulo a power of two words wrap round; otherwise
/// sums are kept whole: a term has 32 + 62 bits at most, which leaves room for 2^32 of them.
pub(crate) fn product(dev: &Cpu, a: &CpuLwe, rows: &CpuLwe) -> CpuLwe {
    let low = |x: u64| u32::try_from(x & u64::from(u32::MAX)).expect("32 bits");
    match &rows.words {
        Words::Half(all) => tiled(dev, (a, &low), rows.shape, |columns, factors| {
            wrapping_tile(dev, (all, rows.shape), columns, factors)
        }),
        Words::Whole(all) if rows.shape.modulus.is_power_of_two() => {
            tiled(dev, (a, &|x| x), rows.shape, |columns, factors| {
                wrapping_tile(dev, (all, rows.shape), columns, factors)
            })
        }
        Words::Whole(all) => {
            let factor = |x| centered(a.shape.modulus, x);
            tiled(dev, (a, &factor), rows.shape, |columns, factors| whole_tile((all, rows.shape), columns, factors))
        }
    }
}

/// What the rows are multiplied by, entry by entry.
fn factors<F>(a: &CpuLwe, entries: Range<usize>, factor: impl Fn(u64) -> F) -> Vec<Vec<F>> {
    entries.map(|entry| a.entry(entry)[..a.shape.dimension].iter().map(|&x| factor(x)).collect()).collect()
}

/// A product from tiles of its columns: a group of [`ENTRIES`] after another. Each entry adds its body.
fn tiled<F: Sync>(
    dev: &Cpu,
    (a, factor): (&CpuLwe, &dyn Fn(u64) -> F),
    rows: LweShape,
    tile: impl Fn(Range<usize>, &[Vec<F>]) -> Vec<u64> + Sync + Send,
) -> CpuLwe {
    let (words, batch) = (rows.words(), a.shape.batch);
    let share = words.div_ceil(dev.threads());
    let most = (SUMS / batch.min(ENTRIES)).clamp(LEAST_COLUMNS, SUMS);
    // Tiles of one width, so that no thread waits for another's; whole lines of 16 short words.
    let columns = share.div_ceil(share.div_ceil(most)).next_multiple_of(16);
    let starts: Vec<usize> = (0..words).step_by(columns).collect();
    let group = |first: usize| {
        let factors = factors(a, first..(first + ENTRIES).min(batch), factor);
        let mut tiles: Vec<Vec<u64>> = vec![Vec::new(); starts.len()];
        let items: Vec<(usize, &mut Vec<u64>)> = starts.iter().copied().zip(&mut tiles).collect();
        let work = a.shape.dimension * words;
        dev.each(work, items, |_, (start, out)| *out = tile(start..(start + columns).min(words), &factors));
        tiles
    };
    let groups: Vec<Vec<Vec<u64>>> = (0..batch).step_by(ENTRIES).map(group).collect();
    fresh(dev, rows.with_batch(batch), |e, out| {
        for (&start, tile) in starts.iter().zip(&groups[e / ENTRIES]) {
            let width = columns.min(words - start);
            out[start..start + width].copy_from_slice(&tile[e % ENTRIES * width..][..width]);
        }
        let body = out.last_mut().expect("a ciphertext has a body");
        *body = add_mod(rows.modulus, *body, a.entry(e)[a.shape.dimension]);
    })
}

/// Columns of the sums of all entries, modulo a power of two that fits a word.
fn wrapping_tile<W: Wrapping + Default + Into<u64>>(
    dev: &Cpu,
    (all, shape): (&[W], LweShape),
    columns: Range<usize>,
    factors: &[Vec<W>],
) -> Vec<u64> {
    let width = columns.len();
    let mut sums = vec![W::default(); factors.len() * width];
    let mut group: Vec<&[W]> = Vec::with_capacity(ROWS);
    for (first, rows) in (0..).step_by(ROWS).zip(all.chunks(ROWS * shape.words())) {
        group.clear();
        group.extend(rows.chunks_exact(shape.words()).map(|row| &row[columns.clone()]));
        for (sums, factors) in sums.chunks_exact_mut(width).zip(factors) {
            let factors = &factors[first..][..group.len()];
            match dev.isa() {
                Isa::Avx512 | Isa::Ifma => avx512::wrapping_sums(
                    avx512::Token::detect().expect("checked when the device was opened"),
                    sums,
                    factors,
                    &group,
                ),
                Isa::Avx2 => avx2::wrapping_sums(
                    avx2::Token::detect().expect("checked when the device was opened"),
                    sums,
                    factors,
                    &group,
                ),
                Isa::Scalar => wrapping_sums(sums, factors, &group),
            }
        }
    }
    sums.into_iter().map(|x| x.into() & (shape.modulus - 1)).collect()
}

pub(crate) fn sample_extract(dev: &Cpu, glwe: &[&CpuPoly], at: &[usize]) -> CpuLwe {
    let (shape, n) = (&glwe[0].shape, glwe[0].shape.ring.n());
    let out_shape = extracted(shape, glwe.len(), at.len());
    let q = out_shape.modulus;
    fresh(dev, out_shape, |i, out| {
        let (entry, at) = (i / at.len(), at[i % at.len()]);
        let mut row = vec![0; n];
        let (body, mask) = out.split_last_mut().expect("a ciphertext has a body");
        for (poly, out) in glwe[1..].iter().zip(mask.chunks_exact_mut(n)) {
            layout::read_coefficients(poly.rows[entry].lines(), &mut row);
            for (j, out) in out.iter_mut().enumerate() {
                *out = if j <= at { row[at - j] } else { neg_mod(q, row[n + at - j]) };
            }
        }
        layout::read_coefficients(glwe[0].rows[entry].lines(), &mut row);
        *body = row[at];
    })
}

pub(crate) fn embed(dev: &Cpu, a: &CpuLwe, shape: limbwise_device::Shape, part: usize) -> CpuPoly {
    let (n, q) = (shape.ring.n(), a.shape.modulus);
    debug_assert_eq!(shape.domain, Domain::Coeff);
    dev.fresh(shape, |i, row| {
        let mut words = vec![0; n];
        let entry = a.entry(i);
        match part.checked_sub(1) {
            None => words[0] = entry[a.shape.dimension],
            Some(mask) => {
                let own = &entry[mask * n..a.shape.dimension.min((mask + 1) * n)];
                words[0] = own[0];
                words[1..].iter_mut().rev().zip(&own[1..]).for_each(|(to, &x)| *to = neg_mod(q, x));
            }
        }
        layout::write_coefficients(row, &words);
    })
}

/// Columns of the sums of all entries, with sums in 128 bits.
fn whole_tile((all, shape): (&[u64], LweShape), columns: Range<usize>, factors: &[Vec<i64>]) -> Vec<u64> {
    let mut sums = vec![0i128; factors.len() * columns.len()];
    for (i, row) in all.chunks_exact(shape.words()).enumerate() {
        for (sums, factors) in sums.chunks_exact_mut(columns.len()).zip(factors) {
            let factor = i128::from(factors[i]);
            sums.iter_mut().zip(&row[columns.clone()]).for_each(|(sum, &x)| *sum += factor * i128::from(x));
        }
    }
    sums.into_iter().map(|sum| u64::try_from(sum.rem_euclid(shape.modulus.into())).expect("below q")).collect()
}
