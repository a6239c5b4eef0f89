//! Rotations by monomials and small digits, limb by limb, in plain Rust.

use crate::layout::{self, Line, blocks, blocks_mut, clear_padding};
use limbwise_math::{gadget::Decomposition, modulus::Modulus};

/// `out = a·X^e` on coefficients, e in [0, 2N).
///
/// # Panics
/// If the limbs differ in length.
pub fn monomial(q: Modulus, log_n: u32, e: u64, out: &mut [Line], a: &[Line]) {
    assert_eq!(out.len(), a.len(), "limbs of one length");
    clear_padding(out);
    let lines = 1usize << (log_n - 3);
    let at = |line: usize| &a[if lines > layout::BLOCK { layout::padded(line) } else { line }].0;
    // Word 0 of the result is word 2N − e of a followed by −a, read in a circle.
    let start = (2 * 8 * lines - usize::try_from(e).expect("below 2N")) % (16 * lines);
    let (first, offset) = (start / 8, start % 8);
    for (l, line) in blocks_mut(out).flatten().enumerate() {
        let mut both = [0; 16];
        for (half, words) in both.chunks_exact_mut(8).enumerate() {
            let source = (first + l + half) % (2 * lines);
            words.copy_from_slice(at(source % lines));
            if source >= lines {
                words.iter_mut().for_each(|x| *x = q.neg(*x));
            }
        }
        line.0.copy_from_slice(&both[offset..offset + 8]);
    }
}

/// Digit j of every coefficient as a residue.
///
/// # Panics
/// If the limbs differ in length.
pub fn digit(gadget: Decomposition, q: Modulus, j: u32, out: &mut [Line], a: &[Line]) {
    assert_eq!(out.len(), a.len(), "limbs of one length");
    clear_padding(out);
    let (shift, q) = (gadget.shift(), q.value());
    let weight = gadget.log_factors().nth(j as usize).expect("a digit of the gadget");
    let (mask, half) = (gadget.base() - 1, gadget.base() / 2);
    for (out, a) in blocks_mut(out).flatten().zip(blocks(a).flatten()) {
        for (out, &x) in out.0.iter_mut().zip(&a.0) {
            let shifted = x + shift;
            let plain = shifted.min(shifted.wrapping_sub(q)) >> weight & mask;
            let digit = plain.wrapping_sub(half);
            *out = digit.min(digit.wrapping_add(q));
        }
    }
}

/// A word whose sums and products wrap round.
pub(crate) trait Wrapping: Copy + Send + Sync + 'static {
    /// `self + a·b`.
    fn plus_product(self, a: Self, b: Self) -> Self;
}

impl Wrapping for u64 {
    #[inline(always)]
    fn plus_product(self, a: Self, b: Self) -> Self {
        self.wrapping_add(a.wrapping_mul(b))
    }
}

impl Wrapping for u32 {
    #[inline(always)]
    fn plus_product(self, a: Self, b: Self) -> Self {
        self.wrapping_add(a.wrapping_mul(b))
    }
}

/// `sums[j] += Σ_i factors[i]·rows[i][j]` modulo 2^32 or 2^64, all rows as long as the sums.
///
/// Always inlined: a copy of its own would have the instructions of every x86-64, whichever set its caller enables.
#[inline(always)]
pub(crate) fn wrapping_sums<W: Wrapping>(sums: &mut [W], factors: &[W], rows: &[&[W]]) {
    let mut groups = factors.chunks_exact(8).zip(rows.chunks_exact(8));
    for (f, r) in groups.by_ref() {
        let [r0, r1, r2, r3, r4, r5, r6, r7] = *r else { unreachable!("chunks of eight") };
        let words = sums.iter_mut().zip(r0).zip(r1).zip(r2).zip(r3).zip(r4).zip(r5).zip(r6).zip(r7);
        for ((((((((sum, &a), &b), &c), &d), &e), &g), &h), &i) in words {
            let total = sum.plus_product(a, f[0]).plus_product(b, f[1]).plus_product(c, f[2]).plus_product(d, f[3]);
            *sum = total.plus_product(e, f[4]).plus_product(g, f[5]).plus_product(h, f[6]).plus_product(i, f[7]);
        }
    }
    let done = factors.len() / 8 * 8;
    for (&f, row) in factors[done..].iter().zip(&rows[done..]) {
        sums.iter_mut().zip(*row).for_each(|(sum, &x)| *sum = sum.plus_product(x, f));
    }
}
