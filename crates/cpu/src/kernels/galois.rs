//! Automorphisms on limbs: signed scatter of coefficients, gather of values.

use super::{Isa, ifma};
use crate::layout::{BLOCK, Line, blocks, clear_padding, padded};
use limbwise_math::{galois::GaloisElement, modulus::Modulus, ntt::bit_reverse};

/// Source of each group of sixteen values under one automorphism, in internal order.
///
/// Sixteen neighbors in bit-reversed order are evaluations at ψ^e for all e with given low bits, so they come from
/// sixteen neighbors. With t the reversed number within the group, t' = g·t + c modulo 16: c is the group's own.
#[derive(Clone, Debug)]
pub struct ValueMap {
    /// `16·source group + c`, one a group.
    groups: Vec<u32>,
    /// Source place within a group at `[c][place]`.
    places: [[u8; 16]; 16],
}

impl ValueMap {
    /// The map of X → X^g.
    ///
    /// # Panics
    /// If N exceeds 2^31.
    #[must_use]
    pub fn new(g: GaloisElement, log_n: u32) -> Self {
        let groups = (0..1usize << (log_n - 4))
            .map(|group| {
                let source = g.source_of_value(16 * group, log_n);
                u32::try_from(source / 16 * 16 + bit_reverse(source % 16, 4)).expect("below 2^17")
            })
            .collect();
        let multiplier = g.value() as usize;
        let place = |c: usize, k: usize| bit_reverse((multiplier * bit_reverse(k, 4) + c) % 16, 4);
        let places = std::array::from_fn(|c| std::array::from_fn(|k| u8::try_from(place(c, k)).expect("below 16")));
        Self { groups, places }
    }

    /// `out(X) = a(X^g)` on values.
    ///
    /// # Panics
    /// If the limbs are not of the map's ring degree, or the CPU lacks `isa`.
    pub fn apply(&self, isa: Isa, out: &mut [Line], a: &[Line]) {
        #[cfg(test)]
        crate::traffic::tiles(out, a, self.groups.chunks_exact(8).map(|groups| padded(groups[0] as usize / 128 * 16)));
        clear_padding(out);
        if isa == Isa::Ifma {
            let token = ifma::Token::detect().expect("the caller checked that the CPU has IFMA");
            let mut order = [0; 16];
            (0..16).for_each(|k| order[bit_reverse(self.places[0][k].into(), 4)] = bit_reverse(k, 4));
            return ifma::map_values(token, &self.groups, &order, out, a);
        }
        let tiles = crate::layout::blocks_mut(out).flat_map(|block| block.chunks_exact_mut(16));
        for (tile, groups) in tiles.zip(self.groups.as_chunks::<8>().0) {
            // All groups of a tile come from one tile. Places are below 16, which is said once more for the compiler.
            let source: &[Line; 16] = a[padded(groups[0] as usize / 128 * 16)..].first_chunk().expect("a whole tile");
            for (lane, &packed) in groups.iter().enumerate() {
                let (group, c) = (packed as usize / 16, packed as usize % 16);
                for (line, &k) in tile.iter_mut().zip(&self.places[c]) {
                    line.0[lane] = source[usize::from(k % 16)].0[group % 8];
                }
            }
        }
    }
}

/// `out(X) = a(X^g)` on coefficients.
pub fn map_coefficients(q: Modulus, g: GaloisElement, log_n: u32, out: &mut [Line], a: &[Line]) {
    clear_padding(out);
    let (n, step) = (1usize << log_n, g.value() as usize);
    let mut exponent = 0;
    for &c in blocks(a).flatten().flat_map(|line| &line.0) {
        let at = exponent & (n - 1);
        let (line, negated) = (at / 8, exponent & n != 0);
        let line = if n > 8 * BLOCK { padded(line) } else { line };
        out[line].0[at % 8] = if negated { q.neg(c) } else { c };
        exponent = (exponent + step) & (2 * n - 1);
    }
}
