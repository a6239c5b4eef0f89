//! The kernels for one prime, selected once.

use super::{
    Isa, avx2, avx512,
    blind::{Scratch, Step, by_limbs, component_digits, component_sum},
    ifma,
    matrix::PackedMatrix,
    scalar::ScalarLimb,
    sums::{Sum, by_tiles, combined_by_tiles},
};
use crate::layout::Line;
use limbwise_math::modulus::Modulus;
use std::ops::Range;

/// Arithmetic modulo one prime on limbs of one ring degree.
///
/// Range: [0, q) → [0, q) everywhere. The slices of one call have equal length, padding included.
pub trait LimbKernels: Send + Sync {
    /// Instruction set of the kernels.
    fn isa(&self) -> Isa;
    /// Coefficients → values, in place.
    fn ntt(&self, a: &mut [Line]);
    /// The levels of [`Self::ntt`] between blocks, on the strip of columns from line `first` of each block on; nothing
    /// for a limb of one block. All strips, and then [`Self::ntt_block`] of all blocks, are a transform; between the two
    /// words are not residues.
    fn ntt_strip(&self, a: &mut [Line], first: usize);
    /// The levels of [`Self::ntt`] within a block, which is given without padding and by its number. Asks for lines on the
    /// way where the instruction set has a way to.
    fn ntt_block(&self, block: &mut [Line], number: usize, ahead: &mut Ahead<'_>);
    /// Values → coefficients, in place.
    fn intt(&self, a: &mut [Line]);
    /// [`Self::intt`] into another limb.
    fn intt_of(&self, out: &mut [Line], a: &[Line]) {
        out.copy_from_slice(a);
        self.intt(out);
    }

    /// `out = a + b`.
    fn add(&self, out: &mut [Line], a: &[Line], b: &[Line]);
    /// `out = a − b`.
    fn sub(&self, out: &mut [Line], a: &[Line], b: &[Line]);
    /// `out = a·b`.
    fn mul(&self, out: &mut [Line], a: &[Line], b: &[Line]);
    /// `acc += a`.
    fn add_assign(&self, acc: &mut [Line], a: &[Line]);
    /// `acc += a·b`.
    fn mul_acc(&self, acc: &mut [Line], a: &[Line], b: &[Line]);
    /// `a = −a`.
    fn neg(&self, a: &mut [Line]);
    /// `a = a·c`, c in [0, q).
    fn scale(&self, a: &mut [Line], c: u64);
    /// `a = a + c`, c in [0, q).
    fn shift(&self, a: &mut [Line], c: u64);

    /// `out = (a − out)·c`, c in [0, q): the end of a division by dropped primes, where `out` holds the remainder.
    fn divide(&self, out: &mut [Line], a: &[Line], c: u64) {
        self.neg(out);
        self.add_assign(out, a);
        self.scale(out, c);
    }

    /// Two sums with common factors; each operand is read once.
    fn inner_products(&self, out: [&mut [Line]; 2], sum: &Sum<'_, 2>) {
        by_tiles(self, out, sum);
    }

    /// One sum.
    fn inner_product(&self, out: &mut [Line], sum: &Sum<'_, 1>) {
        by_tiles(self, [out], sum);
    }

    /// `out = Σ limb·c` of at least one term, c in [0, q); each limb is read once.
    fn combination(&self, out: &mut [Line], terms: &[(&[Line], u64)]) {
        combined_by_tiles(self, out, terms);
    }

    /// Brings lines that will be read soon into the L2 cache, where the instruction set has a way to ask for them.
    fn ask_for(&self, _lines: &[Line]) {}

    /// For each row of the matrix `out = Σ x_i·w_i`, on up to [`MOST_LINES`](super::matrix::MOST_LINES) lines: `x` has
    /// those of one operand after another.
    fn matrix_product(&self, out: &mut [&mut [Line]], x: &[Line], matrix: &PackedMatrix<'_>);

    /// Prepares accumulators for [`Self::blind_step`]: each is a limb of coefficients and one further line.
    fn blind_start(&self, _acc: &mut [&mut [Line]]) {}

    /// The first half of a step of a blind rotation for one component of the accumulator: its digits, transformed as
    /// [`Self::blind_sum`] takes them; between the two words are not residues.
    fn blind_digits(&self, step: &Step<'_>, acc: &[Line], digits: &mut [&mut [Line]]) {
        component_digits(self, step, acc, digits);
    }

    /// The second half for one component: its sum of products of all digits with the key, and the accumulator it goes onto.
    fn blind_sum(&self, step: &Step<'_>, component: usize, digits: &[&[Line]], onto: (&mut [Line], &mut [Line])) {
        component_sum(self, step, component, digits, onto);
    }

    /// One step of a blind rotation: both halves for all components.
    fn blind_step(&self, step: &Step<'_>, acc: &mut [&mut [Line]], scratch: &mut Scratch<'_>) {
        by_limbs(self, step, acc, scratch);
    }
}

/// How many times the transform of a block of 4096 words asks for lines: eight times in its first pass, three times with each
/// row of 256 words.
pub(super) const ASKS: usize = 8 + 3 * 16;

/// Lines to ask for while something else is computed, a few at a time: bursts fill a core's miss buffers and stall it.
pub struct Ahead<'a> {
    /// Lines that come first, those that come next, and the limbs behind them.
    lines: &'a [Line],
    next: &'a [Line],
    limbs: &'a [&'a [Line]],
    left: usize,
    by: usize,
}

impl<'a> Ahead<'a> {
    /// Nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self { lines: &[], next: &[], limbs: &[], left: 0, by: 0 }
    }

    /// Some lines of limbs of one length, which are numbered through from the first limb on; `by` at a time.
    #[must_use]
    pub fn new(limbs: &'a [&'a [Line]], lines: &Range<usize>, by: usize) -> Self {
        let Some(first) = limbs.first().filter(|first| !first.is_empty()) else { return Self::nothing() };
        let (limb, offset) = (lines.start / first.len(), lines.start % first.len());
        match limbs.get(limb..) {
            Some([limb, limbs @ ..]) => Self { lines: &limb[offset..], next: &[], limbs, left: lines.len(), by },
            _ => Self::nothing(),
        }
    }

    /// All lines of `first` and then these of limbs of one length, spread over the transform of a block
    /// ([`LimbKernels::ntt_block`]).
    #[must_use]
    pub fn spread(first: &'a [Line], limbs: &'a [&'a [Line]], lines: &Range<usize>) -> Self {
        let then = Self::new(limbs, lines, 0);
        let left = first.len() + then.left;
        let by = left.div_ceil(ASKS);
        if first.is_empty() { Self { by, ..then } } else { Self { lines: first, next: then.lines, left, by, ..then } }
    }

    /// The next lines.
    #[inline]
    pub(super) fn take(&mut self) -> impl Iterator<Item = &'a Line> {
        let count = self.by.min(self.left);
        self.left -= count;
        (0..count).map_while(|_| {
            let (line, rest) = self.lines.split_first()?;
            self.lines = rest;
            if rest.is_empty() {
                self.lines = std::mem::take(&mut self.next);
            }
            if let ([], [limb, limbs @ ..]) = (self.lines, self.limbs) {
                (self.lines, self.limbs) = (limb, limbs);
            }
            Some(line)
        })
    }
}

/// The kernels of `isa` for a prime that is 1 modulo 2N.
///
/// # Panics
/// If the CPU lacks `isa` ([`Isa::is_available`]), or N is not in 2^10 … 2^17.
#[must_use]
pub fn kernels(isa: Isa, modulus: Modulus, log_n: u32) -> Box<dyn LimbKernels> {
    assert!((10..=17).contains(&log_n), "no kernels for N = 2^{log_n}");
    match isa {
        Isa::Ifma => {
            let token = ifma::Token::detect().expect("the caller checked that the CPU has IFMA");
            ifma::limb(token, modulus, log_n)
        }
        Isa::Avx512 => {
            let token = avx512::Token::detect().expect("the caller checked that the CPU has AVX-512");
            avx512::limb(token, isa, modulus, log_n)
        }
        Isa::Avx2 => {
            let token = avx2::Token::detect().expect("the caller checked that the CPU has AVX2");
            avx2::limb(token, isa, modulus, log_n)
        }
        Isa::Scalar => Box::new(ScalarLimb::new(modulus, log_n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line once, in order, whatever is empty.
    #[test]
    fn what_is_spread_is_asked_for_once() {
        let all: Vec<Line> = (0..11).map(|i| Line([i; 8])).collect();
        let (first, limbs) = (&all[..3], [&all[3..7], &all[7..]]);
        let asked = |mut ahead: Ahead<'_>| -> Vec<u64> {
            let mut found = Vec::new();
            for _ in 0..ASKS {
                found.extend(ahead.take().map(|line| line.0[0]));
            }
            found
        };
        assert_eq!(asked(Ahead::spread(first, &limbs, &(2..7))), [0, 1, 2, 5, 6, 7, 8, 9]);
        assert_eq!(asked(Ahead::spread(&[], &limbs, &(4..8))), [7, 8, 9, 10]);
        assert_eq!(asked(Ahead::spread(first, &limbs, &(8..8))), [0, 1, 2]);
        assert_eq!(asked(Ahead::spread(first, &[], &(0..0))), [0, 1, 2]);
        assert_eq!(asked(Ahead::spread(&[], &[], &(0..0))), [0; 0]);
    }
}
