//! Automorphisms on limbs: signed scatter of coefficients, gather of values.

use super::{Isa, avx512};
use crate::layout::{BLOCK, Line, blocks, clear_padding, padded};
use limbwise_math::{galois::GaloisElement, modulus::Modulus, ntt::bit_reverse};

/// Lines of a tile, the unit of an automorphism on values.
pub const TILE: usize = 16;

/// Groups of sixteen values in a tile.
const GROUPS: usize = 8;

/// The source of a tile, whose groups all come from one tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileMap {
    /// The first line of the source tile, padding included.
    pub(crate) line: u32,
    /// The source lane of each lane.
    pub(crate) lanes: [u8; GROUPS],
    /// Lanes whose c has each bit, from the lowest.
    pub(crate) steps: [u8; 4],
}

impl TileMap {
    fn new(groups: &[u32; GROUPS]) -> Self {
        let line = u32::try_from(padded(groups[0] as usize / 128 * TILE)).expect("below 2^17");
        let lanes = groups.map(|packed| u8::try_from(packed / 16 % 8).expect("below 8"));
        let lanes_with =
            |bit: u32| (0..GROUPS).fold(0, |all, lane| all | u8::from(groups[lane] >> bit & 1 == 1) << lane);
        Self { line, lanes, steps: [0, 1, 2, 3].map(lanes_with) }
    }
}

/// Source of each group of sixteen values under one automorphism, in internal order.
///
/// Sixteen neighbors in bit-reversed order are evaluations at ψ^e for all e with given low bits, so they come from
/// sixteen neighbors. With t the reversed number within the group, t' = g·t + c modulo 16: c is the group's own.
#[derive(Clone, Debug)]
pub struct ValueMap {
    /// `16·source group + c`, one a group.
    groups: Vec<u32>,
    /// The same by tiles, as vectors take it.
    tiles: Vec<TileMap>,
    /// Source place within a group at `[c][place]`.
    places: [[u8; 16]; 16],
    /// The reversed number t' with g·t' = t, for each reversed number t.
    order: [usize; 16],
}

impl ValueMap {
    /// The map of X → X^g.
    ///
    /// # Panics
    /// If N exceeds 2^31.
    #[must_use]
    pub fn new(g: GaloisElement, log_n: u32) -> Self {
        let groups: Vec<u32> = (0..1usize << (log_n - 4))
            .map(|group| {
                let source = g.source_of_value(16 * group, log_n);
                u32::try_from(source / 16 * 16 + bit_reverse(source % 16, 4)).expect("below 2^17")
            })
            .collect();
        let multiplier = g.value() as usize;
        let place = |c: usize, k: usize| bit_reverse((multiplier * bit_reverse(k, 4) + c) % 16, 4);
        let places: [[u8; 16]; 16] =
            std::array::from_fn(|c| std::array::from_fn(|k| u8::try_from(place(c, k)).expect("below 16")));
        let tiles = groups.as_chunks().0.iter().map(TileMap::new).collect();
        let mut order = [0; 16];
        (0..16).for_each(|k| order[bit_reverse(places[0][k].into(), 4)] = bit_reverse(k, 4));
        Self { groups, tiles, places, order }
    }

    /// `out(X) = a(X^g)` on values.
    ///
    /// # Panics
    /// If the limbs are not of the map's ring degree, or the CPU lacks `isa`.
    pub fn apply(&self, isa: Isa, out: &mut [Line], a: &[Line]) {
        clear_padding(out);
        for (first, block) in (0..).step_by(BLOCK / TILE).zip(crate::layout::blocks_mut(out)) {
            self.apply_tiles(isa, block, first, a);
        }
    }

    /// The tiles of the result from the `first` on, as many as `out` holds without padding; all of `a`.
    ///
    /// # Panics
    /// If `out` is no whole number of tiles or exceeds the result, `a` is not of the map's ring degree, or the CPU lacks
    /// `isa`.
    pub fn apply_tiles(&self, isa: Isa, out: &mut [Line], first: usize, a: &[Line]) {
        assert!(out.len().is_multiple_of(TILE), "whole tiles");
        // Those that follow are asked for ahead.
        let tiles = &self.tiles[first..];
        assert!(out.len() / TILE <= tiles.len(), "tiles of the result");
        #[cfg(test)]
        crate::traffic::tiles(out, a, tiles.iter().map(|tile| tile.line as usize));
        if isa >= Isa::Avx512 {
            let token = avx512::Token::detect().expect("the caller checked that the CPU has AVX-512");
            return avx512::map_values(token, tiles, &self.order, out, a);
        }
        let groups = self.groups[GROUPS * first..].as_chunks::<GROUPS>().0;
        for ((out, groups), tile) in out.chunks_exact_mut(TILE).zip(groups).zip(tiles) {
            // Places are below 16, which is said once more for the compiler.
            let source: &[Line; TILE] = a[tile.line as usize..].first_chunk().expect("a whole tile");
            for (lane, &packed) in groups.iter().enumerate() {
                let (group, c) = (packed as usize / 16, packed as usize % 16);
                for (line, &k) in out.iter_mut().zip(&self.places[c]) {
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
