//! Automorphisms of values, a tile of eight groups of sixteen at a time.

use super::{
    Token,
    vector::{V, load, prefetch, store, zero},
};
use crate::{
    kernels::{galois::TileMap, unroll::unroll},
    layout::Line,
};
use std::arch::x86_64::{_mm512_mask_blend_epi64, _mm512_permutexvar_epi64};

/// Bit reversal of four bits.
const REVERSED: [usize; 16] = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15];

/// Tiles of `out(X) = a(X^g)` on values, without padding; `order[u]` the reversed number t with g·t = u.
///
/// All groups of a tile come from one tile. With lines taken in the order of reversed numbers, a lane is its source
/// lane rotated by its c: four conditional steps of 1, 2, 4, 8 lines for all lanes together.
pub(crate) fn map_values(_token: Token, tiles: &[TileMap], order: &[usize; 16], out: &mut [Line], a: &[Line]) {
    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
    // SAFETY: the token proves AVX-512F.
    unsafe {
        map_tiles(tiles, order, out, a);
    }
}

/// Tiles between what is permuted and what is asked for.
const TILES_AHEAD: usize = 4;

#[target_feature(enable = "avx512f")]
fn map_tiles(tiles: &[TileMap], order: &[usize; 16], out: &mut [Line], a: &[Line]) {
    for (at, (out, tile)) in out.chunks_exact_mut(16).zip(tiles).enumerate() {
        // Tiles come from anywhere in a stretch of the limb, which the hardware does not foresee.
        if let Some(next) = tiles.get(at + TILES_AHEAD) {
            let next = a.as_ptr().wrapping_add(next.line as usize);
            unroll!(16 { prefetch(next.wrapping_add(I)); });
        }
        let out: &mut [Line; 16] = out.first_chunk_mut().expect("a tile has sixteen lines");
        let source: &[Line; 16] = a[tile.line as usize..].first_chunk().expect("a tile has sixteen lines");
        let (lanes, steps) = (load(&Line(tile.lanes.map(u64::from)), 0), tile.steps);
        let mut v = [zero(); 16];
        unroll!(16 { v[I] = _mm512_permutexvar_epi64(lanes, load(&source[REVERSED[I]], 0)); });
        let v = rotate::<8>(rotate::<4>(rotate::<2>(rotate::<1>(v, steps[0]), steps[1]), steps[2]), steps[3]);
        unroll!(16 { store(&mut out[REVERSED[order[I] % 16]], 0, v[I]); });
    }
}

/// Takes each marked lane from `BY` lines further on.
#[inline]
#[target_feature(enable = "avx512f")]
fn rotate<const BY: usize>(v: [V; 16], marked: u8) -> [V; 16] {
    let mut w = v;
    unroll!(16 { w[I] = _mm512_mask_blend_epi64(marked, v[I], v[(I + BY) % 16]); });
    w
}
