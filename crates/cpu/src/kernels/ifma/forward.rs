//! The forward transform: coefficients in natural order → values in internal order.
//!
//! Why radix 16: sixteen vectors of data and the constants of a pass fit the 32 registers, so four stages load and store
//! each word once. Up to N = 2^16 a limb crosses the L2 cache twice, once in the first pass and once in the others, which
//! go block by block: a block of 4096 words stays in the L1 cache. Smaller radices make up the rest of log₂ N.
//!
//! Where the lazy bound is spent: a product is in [−q, q), so each stage widens the range of a sum by q on both sides,
//! until it no longer lies in [0, 2^52), which multiply-adds and look-ups read. [`super::range`] chooses the operands that
//! are corrected before that. Words between passes stay unreduced; only the last pass reduces to [0, q).

use super::{
    macros::{forward_stage, forward_stages},
    range::{FULL, ForwardPlan, LOG_U, ROOMY, Range, forward_fresh, forward_memory, forward_offset, plan_forward},
    table::{LaneFactor, Node, Tile, Twiddles, factor, prefetch_row},
    vector::{
        FactorVector, MASK, V, add, and, ask, high, load, load_at, look_up8, low, product, reduce_once, reread, splat,
        store, sub, transpose, zero,
    },
};
use crate::{
    kernels::{limb::Ahead, unroll::unroll},
    layout::{BLOCK, Line, PADDED, STRIP, blocks_mut},
};
use limbwise_math::{gadget::Decomposition, modulus::Modulus};
use std::arch::x86_64::{_mm512_mask_sub_epi64, _mm512_min_epu64, _mm512_srlv_epi64};

/// Register constants of a forward pass.
#[derive(Clone, Copy)]
pub(super) struct Forward {
    /// 1: quotients start here, so products are in [−q, q).
    one: V,
    /// 2^52 − q.
    negative: V,
    shift: V,
    table: V,
    offset: V,
    q: V,
    /// ⌊2^52 / q⌋.
    barrett: V,
    mask: V,
}

/// What the register constants are made from: a strip takes less time than their divisions.
#[derive(Clone, Copy)]
pub(super) struct Constants {
    q: u64,
    shift: u64,
    offset: u64,
    /// ⌊i·2^shift / q⌋·q − offset.
    table: Line,
    /// ⌊2^52 / q⌋.
    barrett: u64,
}

impl Constants {
    pub(super) fn new(kind: u32, modulus: Modulus) -> Self {
        let q = modulus.value();
        let shift = look_up_shift(kind, modulus);
        let offset = q * u64::from(forward_offset(kind).unsigned_abs());
        let table = Line(std::array::from_fn(|i| (((i as u64) << shift) / q * q).wrapping_sub(offset)));
        Self { q, shift: shift.into(), offset, table, barrett: factor(modulus, 1).quotient }
    }
}

impl Forward {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(c: &Constants) -> Self {
        Self {
            one: splat(1),
            negative: splat((1 << 52) - c.q),
            shift: splat(c.shift),
            table: load(&c.table),
            offset: splat(c.offset),
            q: splat(c.q),
            barrett: splat(c.barrett),
            mask: splat(MASK),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn correct(self, x: V) -> V {
        look_up8(x, self.shift, self.table)
    }

    /// `x + y·w` modulo q and modulo 2^52: `x + [−q, q)` for y in [0, 2^52). The sum takes no addition of its own.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn plus_product(self, x: V, y: V, w: FactorVector) -> V {
        low(low(x, y, w.value), high(self.one, y, w.quotient), self.negative)
    }

    /// [0, 2^52) → [0, q).
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn canonical(self, x: V) -> V {
        reduce_once(and(low(x, high(zero(), x, self.barrett), self.negative), self.mask), self.q)
    }
}

/// log₂ of the step a forward look-up resolves: `8·u` is the capacity of [`super::range`].
pub(super) fn look_up_shift(kind: u32, modulus: Modulus) -> u32 {
    match kind {
        ROOMY => modulus.bits() + 1,
        _ => LOG_U,
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn broadcast(node: &Node, i: usize) -> FactorVector {
    FactorVector::splat(node.0[i])
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn by_lane(lanes: &[LaneFactor; 16], i: usize) -> FactorVector {
    FactorVector { value: load(&lanes[i].value), quotient: load(&lanes[i].quotient) }
}

/// Place of a pass: reads [0, q) words.
const FIRST: u32 = 0;
/// Place of a pass: between others.
const MIDDLE: u32 = 1;
/// Place of a pass: reads corrected words or products, and is followed by a reduction.
const LAST: u32 = 2;
/// Place of a pass: between another and the reduction.
const UPPER: u32 = 3;
/// Place of a pass: reads digits between −q and q.
const DIGITS: u32 = 4;

struct Plan<const KIND: u32, const LOG_R: u32, const PLACE: u32>;

impl<const KIND: u32, const LOG_R: u32, const PLACE: u32> Plan<KIND, LOG_R, PLACE> {
    const PLAN: ForwardPlan = {
        let memory = forward_memory(KIND);
        let offset = forward_offset(KIND);
        match PLACE {
            FIRST => plan_forward(KIND, LOG_R, Range::multiples(KIND, offset, offset + 1), memory),
            LAST => {
                plan_forward(KIND, LOG_R, forward_fresh(KIND).union(Range::multiples(KIND, offset, offset + 2)), FULL)
            }
            UPPER => plan_forward(KIND, LOG_R, memory, FULL),
            DIGITS => plan_forward(KIND, LOG_R, Range::multiples(KIND, offset, offset + 2), memory),
            _ => plan_forward(KIND, LOG_R, memory, memory),
        }
    };
}

/// A pass of the given radix over columns: rows are `STRIDE` lines apart, a column is one line wide.
macro_rules! column_pass {
    ($name:ident, $radix:tt, $log:literal) => {
        #[inline]
        #[target_feature(enable = "avx512f,avx512ifma")]
        fn $name<const KIND: u32, const PLACE: u32, const STRIDE: usize, const COLUMNS: usize>(
            k: Forward,
            a: &mut [Line],
            node: &Node,
        ) {
            let a = &mut a[..STRIDE * ($radix - 1) + COLUMNS];
            for c in 0..COLUMNS {
                let node = reread(node);
                let mut v = [zero(); $radix];
                unroll!($radix {
                    let x = load(&a[c + I * STRIDE]);
                    v[I] = if PLACE == FIRST && I < $radix / 2 { add(x, k.offset) } else { x };
                });
                forward_stages!($radix, Plan::<KIND, $log, PLACE>::PLAN, k, v, broadcast(node));
                unroll!($radix { store(&mut a[c + I * STRIDE], v[I]); });
            }
        }
    };
}

column_pass!(radix2, 2, 1);
column_pass!(radix4, 4, 2);
column_pass!(radix8, 8, 3);
column_pass!(radix16, 16, 4);

/// Register constants of the decomposition into digits.
#[derive(Clone, Copy)]
pub(super) struct Digits {
    /// Added before the plain digits are taken.
    shift: V,
    mask: V,
    /// `−B/2` and multiples of q, for words that are next added to and for words that are next multiplied.
    lifts: [V; 2],
}

impl Digits {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(kind: u32, modulus: Modulus, gadget: Decomposition) -> Self {
        let (q, half) = (modulus.value(), gadget.base() / 2);
        let lift = |multiple: i32| splat(q * u64::from(multiple.unsigned_abs()) - half);
        let lifts = [lift(forward_offset(kind) + 1), lift(1)];
        Self { shift: splat(gadget.shift()), mask: splat(gadget.base() - 1), lifts }
    }
}

/// One component of an accumulator, of which the digits of `(X^e − 1)·a` are taken.
#[derive(Clone, Copy)]
pub(super) struct DigitSource<'a> {
    /// The limb, followed by its first line negated, so that eight words in a row can be read from any place.
    pub(super) a: &'a [Line],
    /// 2N − e modulo 2N.
    pub(super) start: usize,
    /// log₂ of the factor of each digit.
    pub(super) weights: &'a [u64],
}

/// The first pass of the digits of `(X^e − 1)·a`: rows are 16 lines apart.
macro_rules! digit_pass {
    ($name:ident, $radix:tt, $log:literal) => {
        #[inline]
        #[target_feature(enable = "avx512f,avx512ifma")]
        pub(super) fn $name<const KIND: u32, const SINGLE: bool>(
            k: Forward,
            d: Digits,
            source: DigitSource<'_>,
            out: &mut [&mut [Line]],
            node: &Node,
            next: &mut Ahead<'_>,
        ) {
            const LINES: usize = 16 * $radix;
            let DigitSource { a, start, weights } = source;
            let (a, own): (&[Line; LINES + 1], &[Line; LINES]) =
                (a.first_chunk().expect("a limb and a line"), a.first_chunk().expect("a limb"));
            let mut kept = [Line::default(); $radix];
            for c in 0..16 {
                ask(next);
                let mut t = [zero(); $radix];
                unroll!($radix {
                    let word = (8 * (c + 16 * I) + start) % (16 * LINES);
                    let x = load_at(a, word % (8 * LINES));
                    let negated = if word >= 8 * LINES { 0xff } else { 0 };
                    let x = add(_mm512_mask_sub_epi64(x, negated, k.q, x), d.shift);
                    let x = sub(x, load(&own[c + 16 * I]));
                    // Of the three the one in [0, q) is the least, for the others are larger or wrap round.
                    t[I] = _mm512_min_epu64(reduce_once(x, k.q), add(x, k.q));
                    if !SINGLE {
                        store(&mut kept[I], t[I]);
                    }
                });
                for (out, &weight) in out.iter_mut().zip(weights) {
                    let (node, weight) = (reread(node), splat(weight));
                    let mut v = [zero(); $radix];
                    unroll!($radix {
                        let x = if SINGLE { t[I] } else { load(&kept[I]) };
                        v[I] = add(and(_mm512_srlv_epi64(x, weight), d.mask), d.lifts[I / ($radix / 2)]);
                    });
                    forward_stages!($radix, Plan::<KIND, $log, DIGITS>::PLAN, k, v, broadcast(node));
                    let out: &mut [Line; LINES] = out.first_chunk_mut().expect("a limb");
                    unroll!($radix { store(&mut out[c + 16 * I], v[I]); });
                }
            }
        }
    };
}

digit_pass!(digits8, 8, 3);
digit_pass!(digits16, 16, 4);

/// The first three of the last seven stages on one tile of 128 words.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn upper_tile<const KIND: u32>(k: Forward, tile: &mut [Line], t: &Tile) {
    radix8::<KIND, MIDDLE, 2, 2>(k, tile, &t.upper);
}

/// The last four stages on one tile of 128 words. Range: whatever a multiply-add may read.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn lower_tile<const KIND: u32>(k: Forward, tile: &mut [Line], t: &Tile) {
    let mut v = transposed(tile);
    forward_stages!(16, Plan::<KIND, 4, UPPER>::PLAN, k, v, by_lane(&t.lanes));
    unroll!(16 { store(&mut tile[I], v[I]); });
}

/// The last eight stages on rows of 256 words.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn rows<const KIND: u32>(
    k: Forward,
    a: &mut [Line],
    nodes: &[[Node; 2]],
    twist: &[[LaneFactor; 16]; 2],
    ahead: &mut Ahead<'_>,
) {
    // A twisted word and the looked-up word 0 have the same offset.
    let lifted = k.offset;
    for (row, node) in a.chunks_exact_mut(32).zip(nodes) {
        let [upper, lower] = node;
        prefetch_row(node);
        ask(ahead);
        radix16::<KIND, MIDDLE, 2, 2>(k, row, upper);
        for (tile, twist) in row.chunks_exact_mut(16).zip(twist) {
            let (lower, twist) = (reread(lower), reread(twist));
            ask(ahead);
            let mut v = transposed(tile);
            v[0] = k.correct(v[0]);
            unroll!(from 1 to 15 { v[I] = product(lifted, v[I], by_lane(twist, I), k.negative); });
            forward_stages!(16, Plan::<KIND, 4, LAST>::PLAN, k, v, broadcast(lower));
            unroll!(16 { store(&mut tile[I], k.canonical(v[I])); });
        }
    }
}

/// A tile of eight rows of sixteen words → its columns.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed(tile: &[Line]) -> [V; 16] {
    let t: &[Line; 16] = tile.first_chunk().expect("a tile has sixteen lines");
    let at = |i: usize| &t[i];
    let a = [load(at(0)), load(at(2)), load(at(4)), load(at(6)), load(at(8)), load(at(10)), load(at(12)), load(at(14))];
    let b = [load(at(1)), load(at(3)), load(at(5)), load(at(7)), load(at(9)), load(at(11)), load(at(13)), load(at(15))];
    let ([a0, a1, a2, a3, a4, a5, a6, a7], [b0, b1, b2, b3, b4, b5, b6, b7]) = (transpose(a), transpose(b));
    [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7]
}

/// The last seven stages on tiles of 128 words.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn tiles<const KIND: u32>(k: Forward, a: &mut [Line], tiles: &[Tile]) {
    // The next tile is begun before one is ended, so that neither waits (ADR 216).
    for begun in 0..=tiles.len() {
        if let Some(t) = tiles.get(begun) {
            upper_tile::<KIND>(k, &mut a[16 * begun..16 * (begun + 1)], t);
        }
        if let Some(ended) = begun.checked_sub(1) {
            let tile = &mut a[16 * ended..16 * (ended + 1)];
            let mut v = transposed(tile);
            forward_stages!(16, Plan::<KIND, 4, UPPER>::PLAN, k, v, by_lane(&tiles[ended].lanes));
            unroll!(16 { store(&mut tile[I], k.canonical(v[I])); });
        }
    }
}

/// The levels between blocks, on one strip: its first line is that of `a`. Range: [0, q) → what passes leave in memory.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn strip<const KIND: u32>(modulus: &Constants, log_n: u32, t: &Twiddles, a: &mut [Line]) {
    const { assert!(BLOCK == 512 && PADDED == 513, "the strides below are those of the layout") };
    let k = Forward::new(modulus);
    match log_n {
        ..=12 => {}
        13 => radix2::<KIND, FIRST, 513, STRIP>(k, a, &t.first),
        14 => radix4::<KIND, FIRST, 513, STRIP>(k, a, &t.first),
        15 => radix8::<KIND, FIRST, 513, STRIP>(k, a, &t.first),
        16 => radix16::<KIND, FIRST, 513, STRIP>(k, a, &t.first),
        _ => {
            radix16::<KIND, FIRST, 1026, STRIP>(k, a, &t.first);
            radix16::<KIND, FIRST, 1026, STRIP>(k, &mut a[513..], &t.first);
            for (part, node) in a.chunks_mut(2 * PADDED).zip(&t.split) {
                radix2::<KIND, MIDDLE, 513, STRIP>(k, part, node);
            }
        }
    }
}

/// The levels within a block. Range: what passes leave in memory, [0, q) where no levels come before → [0, q).
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn block<const KIND: u32>(
    (modulus, log_n): (&Constants, u32),
    t: &Twiddles,
    a: &mut [Line],
    number: usize,
    ahead: &mut Ahead<'_>,
) {
    let k = Forward::new(modulus);
    match log_n {
        10 => radix8::<KIND, FIRST, 16, 16>(k, a, &t.first),
        11 => radix16::<KIND, FIRST, 16, 16>(k, a, &t.first),
        12 => radix16::<KIND, FIRST, 32, 32>(k, a, &t.first),
        _ => {
            for first in (0..32).step_by(4) {
                ask(ahead);
                radix16::<KIND, MIDDLE, 32, 4>(k, &mut a[first..], &t.blocks[number]);
            }
        }
    }
    match log_n {
        10 | 11 => tiles::<KIND>(k, a, &t.tiles),
        _ => rows::<KIND>(k, a, &t.rows[16 * number..], &t.twist, ahead),
    }
}

/// The transform of one limb. Range: [0, q) → [0, q).
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn forward<const KIND: u32>(modulus: &Constants, log_n: u32, t: &Twiddles, a: &mut [Line]) {
    if log_n > 12 {
        t.prefetch();
        (0..BLOCK).step_by(STRIP).for_each(|first| strip::<KIND>(modulus, log_n, t, &mut a[first..]));
    }
    for (number, a) in blocks_mut(a).enumerate() {
        block::<KIND>((modulus, log_n), t, a, number, &mut Ahead::nothing());
    }
}
