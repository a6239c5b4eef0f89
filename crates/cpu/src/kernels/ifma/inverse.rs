//! The inverse transform: values in internal order → coefficients in natural order, with 1/N.

use super::{
    forward::{broadcast, by_lane, look_up_shift},
    macros::{inverse_exit, inverse_stage, inverse_stages},
    range::{FULL, InversePlan, Range, inverse_memory, inverse_offset, is_crossed, plan_inverse},
    table::{LaneFactor, Node, Tile, Twiddles, prefetch_row},
    vector::{
        MASK, V, add, and, ask, load, look_up16, prefetch, product, reduce_once, reread, splat, store, sub, transpose,
        zero,
    },
};
use crate::{
    kernels::{limb::Ahead, unroll::unroll},
    layout::{BLOCK, Line, PADDED},
};
use limbwise_math::modulus::Modulus;

/// Register constants of an inverse pass.
#[derive(Clone, Copy)]
pub(super) struct Inverse {
    /// 2^52 − q.
    negative: V,
    shift: V,
    table: [V; 2],
    /// Added to a difference that could be negative.
    offset: V,
    twice: V,
    q: V,
    mask: V,
}

impl Inverse {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(kind: u32, modulus: Modulus) -> Self {
        let q = modulus.value();
        let shift = look_up_shift(kind, modulus) - 1;
        let table = |from: u64| Line(std::array::from_fn(|i| ((from + i as u64) << shift) / q * q));
        Self {
            negative: splat((1 << 52) - q),
            shift: splat(u64::from(shift)),
            table: [load(&table(0)), load(&table(8))],
            offset: splat(q * u64::from(inverse_offset(kind).unsigned_abs())),
            twice: splat(2 * q),
            q: splat(q),
            mask: splat(MASK),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn correct(self, x: V) -> V {
        look_up16(x, self.shift, self.table)
    }

    /// [0, 2q) and junk above 52 bits → [0, q).
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn canonical(self, x: V) -> V {
        reduce_once(and(x, self.mask), self.q)
    }
}

/// Place of a pass: reads [0, q) words; any word in range may be stored, for all but word 0 are multiplied next.
const FIRST: u32 = 0;
/// Place of a pass: between others.
const MIDDLE: u32 = 1;
/// Place of a pass: ends the transform.
const LAST: u32 = 2;
/// Place of a pass: reads [0, q) words and is followed by others.
const LOWER: u32 = 3;
/// Place of a pass: reads sums in [0, 4q) and is followed by others.
pub(super) const SUMMED: u32 = 4;

struct Plan<const KIND: u32, const LOG_R: u32, const PLACE: u32>;

impl<const KIND: u32, const LOG_R: u32, const PLACE: u32> Plan<KIND, LOG_R, PLACE> {
    const PLAN: InversePlan = {
        let memory = inverse_memory(KIND);
        let canonical = Range::multiples(KIND, 0, 1);
        match PLACE {
            FIRST => plan_inverse(KIND, LOG_R, canonical, FULL),
            LAST => plan_inverse(KIND, LOG_R, memory, FULL),
            LOWER => plan_inverse(KIND, LOG_R, canonical, memory),
            SUMMED => plan_inverse(KIND, LOG_R, Range::multiples(KIND, 0, 4), memory),
            _ => plan_inverse(KIND, LOG_R, memory, memory),
        }
    };
}

/// A pass of the given radix over columns: rows are `STRIDE` lines apart, a column is one line wide.
macro_rules! column_pass {
    ($name:ident, $radix:tt, $log:literal) => {
        #[inline]
        #[target_feature(enable = "avx512f,avx512ifma")]
        fn $name<const KIND: u32, const PLACE: u32, const STRIDE: usize, const COLUMNS: usize>(
            k: Inverse,
            a: &mut [Line],
            node: &Node,
        ) {
            let a = &mut a[..STRIDE * ($radix - 1) + COLUMNS];
            for c in 0..COLUMNS {
                let node = reread(node);
                let mut v = [zero(); $radix];
                unroll!($radix { v[I] = load(&a[c + I * STRIDE]); });
                inverse_stages!($radix, Plan::<KIND, $log, PLACE>::PLAN, PLACE == LAST, k, v, broadcast(node));
                unroll!($radix { store(&mut a[c + I * STRIDE], v[I]); });
            }
        }
    };
}

column_pass!(radix2, 2, 1);
column_pass!(radix4, 4, 2);
column_pass!(radix8, 8, 3);
column_pass!(radix16, 16, 4);

/// Lines asked for ahead of the first pass, which reads a limb that may lie in the outer cache: 8 KiB.
const AHEAD: usize = 128;

/// The first eight stages on rows of 256 words.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn rows<const KIND: u32>(k: Inverse, a: &mut [Line], nodes: &[[Node; 2]], twist: &[[LaneFactor; 16]; 2]) {
    for (row, node) in a.chunks_exact_mut(32).zip(nodes) {
        let [upper, lower] = node;
        prefetch_row(node);
        for (tile, twist) in row.chunks_exact_mut(16).zip(twist) {
            let (lower, twist) = (reread(lower), reread(twist));
            let mut v = [zero(); 16];
            unroll!(16 {
                v[I] = load(&tile[I]);
                prefetch(tile.as_ptr().wrapping_add(AHEAD + I));
            });
            inverse_stages!(16, Plan::<KIND, 4, FIRST>::PLAN, false, k, v, broadcast(lower));
            v[0] = k.correct(v[0]);
            unroll!(from 1 to 15 { v[I] = product(zero(), v[I], by_lane(twist, I), k.negative); });
            store_transposed(tile, v);
        }
        radix16::<KIND, MIDDLE, 2, 2>(k, row, upper);
    }
}

/// Columns → a tile of eight rows of sixteen words.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_transposed(tile: &mut [Line], v: [V; 16]) {
    let t: &mut [Line; 16] = tile.first_chunk_mut().expect("a tile has sixteen lines");
    let [v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15] = v;
    let even = transpose([v0, v1, v2, v3, v4, v5, v6, v7]);
    let odd = transpose([v8, v9, v10, v11, v12, v13, v14, v15]);
    unroll!(8 {
        store(&mut t[2 * I], even[I]);
        store(&mut t[2 * I + 1], odd[I]);
    });
}

/// The first seven stages on tiles of 128 words.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn tiles<const KIND: u32>(k: Inverse, a: &mut [Line], tiles: &[Tile]) {
    // The next tile is begun before one is ended, so that neither waits (ADR 216).
    for begun in 0..=tiles.len() {
        if let Some(t) = tiles.get(begun) {
            lower_tile::<KIND, LOWER>(k, &mut a[16 * begun..16 * (begun + 1)], t);
        }
        if let Some(ended) = begun.checked_sub(1) {
            upper_tile::<KIND>(k, &mut a[16 * ended..16 * (ended + 1)], &tiles[ended]);
        }
    }
}

/// The first four of the first seven stages on one tile of 128 words. Range: that of the place → that between passes.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn lower_tile<const KIND: u32, const PLACE: u32>(k: Inverse, tile: &mut [Line], t: &Tile) {
    let mut v = [zero(); 16];
    unroll!(16 { v[I] = load(&tile[I]); });
    inverse_stages!(16, Plan::<KIND, 4, PLACE>::PLAN, false, k, v, by_lane(&t.lanes));
    store_transposed(tile, v);
}

/// The other three of the first seven stages on one tile of 128 words.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn upper_tile<const KIND: u32>(k: Inverse, tile: &mut [Line], t: &Tile) {
    radix8::<KIND, MIDDLE, 2, 2>(k, tile, &t.upper);
}

/// The last pass, of rows 16 lines apart, added to what is in `acc`.
macro_rules! adding_pass {
    ($name:ident, $radix:tt, $log:literal) => {
        #[inline]
        #[target_feature(enable = "avx512f,avx512ifma")]
        pub(super) fn $name<const KIND: u32>(
            k: Inverse,
            acc: &mut [Line],
            a: &[Line],
            node: &Node,
            next: &mut Ahead<'_>,
        ) {
            let a: &[Line; 16 * $radix] = a.first_chunk().expect("a limb");
            let acc: &mut [Line; 16 * $radix] = acc.first_chunk_mut().expect("a limb");
            for c in 0..16 {
                ask(next);
                let node = reread(node);
                let mut v = [zero(); $radix];
                unroll!($radix { v[I] = load(&a[c + 16 * I]); });
                inverse_stages!($radix, Plan::<KIND, $log, LAST>::PLAN, true, k, v, broadcast(node));
                unroll!($radix {
                    let sum = add(load(&acc[c + 16 * I]), v[I]);
                    store(&mut acc[c + 16 * I], reduce_once(sum, k.q));
                });
            }
        }
    };
}

adding_pass!(adding8, 8, 3);
adding_pass!(adding16, 16, 4);

/// The transform of one limb. Range: [0, q) → [0, q).
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn inverse<const KIND: u32>(
    modulus: Modulus,
    log_n: u32,
    t: &Twiddles,
    from: Option<&[Line]>,
    a: &mut [Line],
) {
    let k = Inverse::new(KIND, modulus);
    if log_n > 12 {
        t.prefetch();
    }
    if let Some(from) = from.filter(|_| log_n <= 12) {
        a.copy_from_slice(from);
    }
    match log_n {
        10 | 11 => tiles::<KIND>(k, a, &t.tiles),
        12 => rows::<KIND>(k, a, &t.rows, &t.twist),
        _ => {
            for (i, block) in a.chunks_exact_mut(PADDED).enumerate() {
                if let Some(from) = from {
                    block.copy_from_slice(&from[PADDED * i..][..PADDED]);
                }
                rows::<KIND>(k, &mut block[..BLOCK], &t.rows[16 * i..], &t.twist);
                radix16::<KIND, MIDDLE, 32, 32>(k, block, &t.blocks[i]);
            }
            for (part, node) in a.chunks_exact_mut(2 * PADDED).zip(&t.split) {
                radix2::<KIND, MIDDLE, 513, 512>(k, part, node);
            }
        }
    }
    match log_n {
        10 => radix8::<KIND, LAST, 16, 16>(k, a, &t.first),
        11 => radix16::<KIND, LAST, 16, 16>(k, a, &t.first),
        12 => radix16::<KIND, LAST, 32, 32>(k, a, &t.first),
        13 => radix2::<KIND, LAST, 513, 512>(k, a, &t.first),
        14 => radix4::<KIND, LAST, 513, 512>(k, a, &t.first),
        15 => radix8::<KIND, LAST, 513, 512>(k, a, &t.first),
        16 => radix16::<KIND, LAST, 513, 512>(k, a, &t.first),
        _ => {
            radix16::<KIND, LAST, 1026, 512>(k, a, &t.first);
            radix16::<KIND, LAST, 1026, 512>(k, &mut a[513..], &t.first);
        }
    }
}
