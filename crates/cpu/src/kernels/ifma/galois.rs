//! Automorphisms of values, a tile of eight groups of sixteen at a time.

use super::{
    Token,
    vector::{V, load, store, zero},
};
use crate::kernels::unroll::unroll;
use crate::layout::{Line, blocks_mut, padded};
use std::arch::x86_64::{_mm512_mask_blend_epi64, _mm512_permutexvar_epi64};

/// Bit reversal of four bits.
const REVERSED: [usize; 16] = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15];

/// `out(X) = a(X^g)` on values; `groups` holds `16·source group + c`, `order[u]` the reversed number t with g·t = u.
///
/// All groups of a tile come from one tile. With lines taken in the order of reversed numbers, a lane is its source
/// lane rotated by its c: four conditional steps of 1, 2, 4, 8 lines for all lanes together.
pub(crate) fn map_values(_token: Token, groups: &[u32], order: &[usize; 16], out: &mut [Line], a: &[Line]) {
    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
    // SAFETY: the token proves AVX-512F.
    unsafe {
        map_tiles(groups, order, out, a);
    }
}

#[target_feature(enable = "avx512f")]
fn map_tiles(groups: &[u32], order: &[usize; 16], out: &mut [Line], a: &[Line]) {
    let tiles = blocks_mut(out).flat_map(|block| block.chunks_exact_mut(16));
    for (tile, groups) in tiles.zip(groups.chunks_exact(8)) {
        let tile: &mut [Line; 16] = tile.first_chunk_mut().expect("a tile has sixteen lines");
        let source = padded(groups[0] as usize / 128 * 16);
        let source: &[Line; 16] = a[source..].first_chunk().expect("a tile has sixteen lines");
        let lanes = load(&Line(std::array::from_fn(|lane| u64::from(groups[lane] / 16 % 8))));
        let mut steps = [0u8; 4];
        for (lane, &packed) in groups.iter().enumerate() {
            for (bit, step) in steps.iter_mut().enumerate() {
                *step |= u8::from(packed >> bit & 1 == 1) << lane;
            }
        }
        let mut v = [zero(); 16];
        unroll!(16 { v[I] = _mm512_permutexvar_epi64(lanes, load(&source[REVERSED[I]])); });
        let v = rotate::<8>(rotate::<4>(rotate::<2>(rotate::<1>(v, steps[0]), steps[1]), steps[2]), steps[3]);
        unroll!(16 { store(&mut tile[REVERSED[order[I] % 16]], v[I]); });
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
