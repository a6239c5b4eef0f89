//! One step of a blind rotation for one accumulator: what every set of kernels does, and the way that any can go.

use super::{
    LimbKernels,
    limb::Ahead,
    sums::{End, Sum, Term},
};
use crate::layout::{self, Line};
use limbwise_math::{gadget::Decomposition, modulus::Modulus};

/// A step: `acc ← acc + GGSW ⊡ (X^e − 1)·acc`.
pub struct Step<'a> {
    /// The prime modulus.
    pub modulus: Modulus,
    /// log₂ N.
    pub log_n: u32,
    /// Gadget decomposition of coefficients.
    pub gadget: Decomposition,
    /// e, in [0, 2N).
    pub exponent: u64,
    /// The GGSW ciphertext: limb `row·(k + 1) + component`, values.
    pub key: &'a [&'a [Line]],
    /// The part of the next step's GGSW ciphertext to prefetch meanwhile.
    pub next: Prefetch<'a>,
}

/// Lines to load into the cache before they are read.
pub struct Prefetch<'a> {
    /// Limbs of a GGSW ciphertext.
    pub limbs: &'a [&'a [Line]],
    /// Lines, counted through all limbs.
    pub lines: std::ops::Range<usize>,
}

impl<'a> Prefetch<'a> {
    /// To be asked for in so many calls.
    pub(super) fn ahead(&self, calls: usize) -> Ahead<'a> {
        Ahead::new(self.limbs, &self.lines, self.lines.len().div_ceil(calls))
    }
}

/// Limbs of a thread's own.
pub struct Scratch<'a> {
    /// One for each row of the key.
    pub digits: Vec<&'a mut [Line]>,
    /// One for each component.
    pub sums: Vec<&'a mut [Line]>,
}

/// The digits of `(X^e − 1)·a`, the limbs of one component.
fn rotated_digits(step: &Step<'_>, digits: &mut [&mut [Line]], a: &[Line]) {
    let (q, shift) = (step.modulus.value(), step.gadget.shift());
    let lines = 1usize << (step.log_n - 3);
    let place = |line: usize| if lines > layout::BLOCK { layout::padded(line) } else { line };
    let start = (16 * lines - usize::try_from(step.exponent).expect("below 2N")) % (16 * lines);
    let (first, offset) = (start / 8, start % 8);
    let (mask, half) = (step.gadget.base() - 1, step.gadget.base() / 2);
    for l in 0..lines {
        let mut both = [0; 16];
        for (part, words) in both.chunks_exact_mut(8).enumerate() {
            let source = (first + l + part) % (2 * lines);
            words.copy_from_slice(&a[place(source % lines)].0);
            if source >= lines {
                words.iter_mut().for_each(|x| *x = q - *x);
            }
        }
        let mut moved = [0; 8];
        for (i, (moved, &own)) in moved.iter_mut().zip(&a[place(l)].0).enumerate() {
            // Of the three the one in [0, q) is the least, for the others are larger or wrap round.
            let x = (both[offset + i] + shift).wrapping_sub(own);
            *moved = x.min(x.wrapping_sub(q)).min(x.wrapping_add(q));
        }
        for (digits, weight) in digits.iter_mut().zip(step.gadget.log_factors()) {
            for (out, x) in digits[place(l)].0.iter_mut().zip(moved) {
                let digit = (x >> weight & mask).wrapping_sub(half);
                *out = digit.min(digit.wrapping_add(q));
            }
        }
    }
}

/// The first half of a step, one component's: its digits, transformed.
pub(crate) fn component_digits(
    kernels: &(impl LimbKernels + ?Sized),
    step: &Step<'_>,
    acc: &[Line],
    digits: &mut [&mut [Line]],
) {
    let length = layout::lines(step.log_n);
    rotated_digits(step, digits, acc);
    digits.iter_mut().for_each(|digit| kernels.ntt(&mut digit[..length]));
}

/// The second half of a step, one component's: its product with the key, onto its accumulator.
pub(crate) fn component_sum(
    kernels: &(impl LimbKernels + ?Sized),
    step: &Step<'_>,
    component: usize,
    digits: &[&[Line]],
    (sum, acc): (&mut [Line], &mut [Line]),
) {
    let length = layout::lines(step.log_n);
    let rows = digits.iter().zip(step.key.chunks_exact(step.key.len() / digits.len()));
    let terms: Vec<Term<'_, 1>> =
        rows.map(|(digit, key)| Term { factor: &digit[..length], with: [key[component]] }).collect();
    kernels.inner_product(&mut sum[..length], &Sum::of(&terms, End::Set));
    add_onto(kernels, length, acc, sum);
}

/// `acc += INTT(sum)`.
fn add_onto(kernels: &(impl LimbKernels + ?Sized), length: usize, acc: &mut [Line], sum: &mut [Line]) {
    kernels.intt(&mut sum[..length]);
    kernels.add_assign(&mut acc[..length], &sum[..length]);
}

/// The step limb by limb: each passes the caches once for its digits, its transform, its product.
pub(crate) fn by_limbs(
    kernels: &(impl LimbKernels + ?Sized),
    step: &Step<'_>,
    acc: &mut [&mut [Line]],
    scratch: &mut Scratch<'_>,
) {
    let (levels, length) = (step.gadget.levels() as usize, layout::lines(step.log_n));
    for (acc, digits) in acc.iter().zip(scratch.digits.chunks_exact_mut(levels)) {
        component_digits(kernels, step, acc, digits);
    }
    let digits: Vec<&[Line]> = scratch.digits.iter().map(|digit| &digit[..length]).collect();
    // Two components read each digit once.
    if let ([b, a], [first, second]) = (&mut scratch.sums[..], &mut *acc) {
        let pairs = digits.iter().zip(step.key.chunks_exact(2));
        let terms: Vec<Term<'_, 2>> = pairs.map(|(factor, key)| Term { factor, with: [key[0], key[1]] }).collect();
        kernels.inner_products([&mut b[..length], &mut a[..length]], &Sum::of(&terms, End::Set));
        add_onto(kernels, length, first, b);
        add_onto(kernels, length, second, a);
    } else {
        for (c, (sum, acc)) in scratch.sums.iter_mut().zip(acc).enumerate() {
            component_sum(kernels, step, c, &digits, (sum, acc));
        }
    }
}
