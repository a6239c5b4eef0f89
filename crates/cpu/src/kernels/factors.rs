//! Twiddle factors of the transforms in [`passes`](super::passes), for any form of a factor.
//!
//! The transform is a binary tree: with m groups at a level, node i multiplies by ψ^brv(m + i). A pass takes one or two
//! levels. The last four run on tiles of eight rows of sixteen words, a row a lane; the factors of lane k of a block of
//! sixteen rows are those of lane 0 times powers of `h_k = ψ^(brv₄(k)·N/128)`, the same in all blocks. So words are
//! multiplied by these powers once, and lanes share their factors: tables have about N/8 words instead of N.

use crate::layout::Line;
use limbwise_math::{
    modulus::Modulus,
    ntt::{NttTable, bit_reverse},
};
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// One or two levels of the transform.
pub(super) struct Pass<F> {
    /// Two levels instead of one.
    pub(super) is_double: bool,
    /// Corrections of values, see [`passes`](super::passes).
    pub(super) fix: u8,
    /// One a group: the factor of the upper level, and the two of the lower.
    pub(super) nodes: Vec<[F; 3]>,
}

/// A factor for each lane, in two words where it needs as many.
pub(super) type LaneFactors = [Line; 2];

/// The factors of one direction.
pub(super) struct Factors<F> {
    /// From the root down; the last two work on transposed tiles.
    pub(super) passes: Vec<Pass<F>>,
    /// Number of passes over whole limbs of more than one block.
    pub(super) outer: usize,
    /// For each of the two tiles of a row of 256 words: the factors of word 0 … 15; in the inverse with 1/N.
    pub(super) twist: [[LaneFactors; 16]; 2],
}

/// Rows between the one that is transformed and the one whose factors are asked for.
const ROWS_AHEAD: usize = 3;

impl<F> Factors<F> {
    /// Asks for the factors of a row some rows after number `r`, and with the first row for what all rows share: where
    /// thirty primes take turns, they come from the L3 cache.
    #[inline]
    #[target_feature(enable = "sse")]
    pub(super) fn prefetch(&self, r: usize) {
        let ask = |start: *const [F; 3], count: usize| {
            for byte in (0..count * size_of::<[F; 3]>()).step_by(size_of::<Line>()) {
                _mm_prefetch::<_MM_HINT_T0>(start.cast::<i8>().wrapping_add(byte));
            }
        };
        if self.outer > 0 && r == 0 {
            let lines = self.twist.as_flattened().as_flattened();
            lines.iter().for_each(|line| _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast()));
        }
        for (pass, nodes) in self.passes[self.passes.len() - 4..].iter().zip([1, 4, 1, 4]) {
            ask(pass.nodes.as_ptr().wrapping_add(nodes * (r + ROWS_AHEAD)), nodes);
        }
    }
}

/// The passes of a transform from the root down, each with whether it is double.
pub(super) fn shape(log_n: u32) -> Vec<bool> {
    let single = (log_n % 2 == 1).then_some(false);
    single.into_iter().chain(std::iter::repeat_n(true, log_n as usize / 2)).collect()
}

/// The factors of both directions, forward first.
///
/// `fixes` holds one entry a pass of [`shape`]; `form` makes a factor of a residue, `parts` the words of a lane factor.
pub(super) fn factors<F: Copy>(
    q: Modulus,
    log_n: u32,
    fixes: [&[u8]; 2],
    form: impl Fn(u64) -> F,
    parts: impl Fn(F) -> [u64; 2],
) -> [Factors<F>; 2] {
    let table = NttTable::new(q, log_n);
    let n = 1usize << log_n;
    let direction = |inverse: bool| {
        let roots = if inverse { table.inverse_roots() } else { table.roots() };
        let node = |i: usize| [i, 2 * i, 2 * i + 1].map(|i| form(roots.get(i).map_or(0, |root| root.value)));
        let mut groups = 1;
        let mut passes = Vec::new();
        for (is_double, &fix) in shape(log_n).into_iter().zip(fixes[usize::from(inverse)]) {
            // Below rows of 16 words only the first of the sixteen lanes is kept.
            let kept = |i: &usize| groups < n / 16 || (i / (groups * 16 / n)).is_multiple_of(16);
            passes.push(Pass { is_double, fix, nodes: (0..groups).filter(kept).map(|i| node(groups + i)).collect() });
            groups *= if is_double { 4 } else { 2 };
        }
        let power = |e: usize| {
            let root = roots[bit_reverse(e % n, log_n)].value;
            let root = if e / n % 2 == 1 { q.neg(root) } else { root };
            form(if inverse { q.mul(root, table.n_inverse().value) } else { root })
        };
        let lanes = |tile: usize, word: usize| {
            let mut lines = LaneFactors::default();
            for lane in 0..8 {
                let words = parts(power(bit_reverse(8 * tile + lane, 4) * (n / 128) * word));
                lines.iter_mut().zip(words).for_each(|(line, word)| line.0[lane] = word);
            }
            lines
        };
        let twist = std::array::from_fn(|tile| std::array::from_fn(|word| lanes(tile, word)));
        Factors { passes, outer: (log_n as usize).saturating_sub(12).div_ceil(2), twist }
    };
    [direction(false), direction(true)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise_math::prime::ntt_primes_below;

    #[test]
    fn tables_are_short() {
        for log_n in 10..=17 {
            let q = Modulus::new(ntt_primes_below(log_n, 40, 1, &[]).unwrap()[0]);
            let fixes = vec![0; shape(log_n).len()];
            let [forward, inverse] = factors(q, log_n, [&fixes, &fixes], |w| w, |w| [w, 0]);
            assert_eq!(forward.passes.iter().map(|p| if p.is_double { 2 } else { 1 }).sum::<u32>(), log_n);
            for table in [forward, inverse] {
                assert!(table.passes.iter().map(|pass| 3 * pass.nodes.len()).sum::<usize>() <= (1 << log_n) / 8);
            }
        }
    }
}
