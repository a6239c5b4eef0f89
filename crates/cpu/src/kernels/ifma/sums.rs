//! Sums of products of limbs: halves of 52 bits summed lazily, one reduction at the end.

use super::{
    table::{Factor, factor},
    vector::{
        AHEAD, FactorVector, MASK, V, add, and, high, inverse_of_word, load, low, prefetch, prefetch_later, product,
        reduce_once, splat, store, sub, zero,
    },
};
use crate::{
    kernels::sums::{End, Onto, Sum, Term},
    layout::Line,
};
use limbwise_math::modulus::Modulus;
use std::{
    arch::x86_64::{__cpuid, __cpuid_count, _mm512_srli_epi64},
    ops::Range,
    sync::LazyLock,
};

/// Terms that go in one go, if there are no more. With what was summed before, high halves of so many stay below 4q, each
/// being below q²/2^52 < q/4.
const WHOLE: usize = 6;

/// Terms in one go where there are more. Three times as many streams push each other out of the L1 cache: limbs lie such
/// that a line of each falls into one of four sets.
const GROUP: usize = 4;

/// Lines between what is multiplied and what is asked for: into the L1 cache, and where it would not keep them
/// ([`keeps_streams`]) into L2. Measured by a loop that only reads eight rows side by side: on Zen 5 into L1 34 GB/s, into L2
/// 29, without asking 28; on Zen 4 into L1 18, into L2 25, without asking 22. Sums of rotations (ADR 201) take 57 ms for 68.
const NEAR: usize = 16;
const FAR: usize = 32;

/// Whether the L1 cache has the ways to keep what some fifteen streams ask for: twelve on Zen 5 and on Intel's processors
/// since Ice Lake, eight on Zen 4.
fn keeps_streams() -> bool {
    static KEEPS: LazyLock<bool> = LazyLock::new(|| {
        // The leaf of AMD, then that of others; the first of its caches is the L1 cache of data. A leaf that is not there is
        // zeros or that of another property, whose type field is no cache of data.
        [(0x8000_0000, 0x8000_001d), (0, 4)].into_iter().any(|(range, leaf)| {
            let there = __cpuid(range).eax >= leaf;
            let cache = __cpuid_count(leaf, 0);
            let (data, first) = (cache.eax & 31 == 1, cache.eax >> 5 & 7 == 1);
            there && data && first && (cache.ebx >> 22) + 1 >= 12
        })
    });
    *KEEPS
}

/// What the register constants of a prime are made from: a sum of a few lines takes less time than their divisions.
#[derive(Clone, Copy)]
pub(super) struct Constants {
    pub(super) modulus: Modulus,
    /// q^{-1} modulo 2^52.
    inverse: u64,
    /// 2^52 modulo q.
    pub(super) unit: Factor,
}

impl Constants {
    pub(super) fn new(modulus: Modulus) -> Self {
        let unit = factor(modulus, modulus.reduce(1 << 52));
        Self { modulus, inverse: inverse_of_word(modulus.value()), unit }
    }

    /// `2^52·c` modulo q: the factor of a reduction that multiplies by c.
    pub(super) fn times(&self, c: u64) -> Factor {
        factor(self.modulus, self.modulus.mul(self.unit.value, c))
    }
}

/// Register constants of the reduction.
#[derive(Clone, Copy)]
pub(super) struct Reduction {
    q: V,
    /// q^{-1} modulo 2^52.
    inverse: V,
    /// 2^52 − q.
    negative: V,
    mask: V,
    factor: FactorVector,
}

impl Reduction {
    /// The reduction multiplies by 2^−52·`factor`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(c: &Constants, factor: Factor) -> Self {
        let q = c.modulus.value();
        Self {
            q: splat(q),
            inverse: splat(c.inverse),
            negative: splat((1 << 52) - q),
            mask: splat(MASK),
            factor: FactorVector::splat(factor),
        }
    }

    /// `(highs·2^52 + lows)·2^−52·factor` in [0, q), for highs in [0, 2q): Montgomery's step leaves (0, 3q + 2^12),
    /// which is below 2^52, and Shoup's product takes any such word.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn finish(self, lows: V, highs: V) -> V {
        let m = low(zero(), lows, self.inverse);
        let r = sub(add(add(highs, self.q), _mm512_srli_epi64::<52>(lows)), high(zero(), m, self.q));
        reduce_once(and(product(zero(), r, self.factor, self.negative), self.mask), self.q)
    }
}

/// Sums of some lines that wait for more terms: low halves, then high ones.
type Waiting<const H: usize> = [[Line; TILE]; H];

/// Lines that go through all terms before the next: long enough for the caches to follow, short enough to wait there.
const TILE: usize = 256;

/// See [`crate::kernels::LimbKernels::inner_products`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn inner_products<const H: usize>(c: &Constants, mut out: [&mut [Line]; H], sum: &Sum<'_, H>) {
    let k = Reduction::new(c, if let End::Divide(inverse) = sum.end { c.times(inverse) } else { c.unit });
    let length = out[0].len();
    let (terms, near) = (sum.terms.len(), keeps_streams());
    if terms <= WHOLE {
        let mut place = Place { k, near, out: &mut out, waiting: &mut [], lines: 0..length };
        return match sum.end {
            End::Set => place.lines::<SET, true>(sum.terms, sum.onto),
            End::Add => place.lines::<ADD, true>(sum.terms, sum.onto),
            End::Divide(_) => place.lines::<DIVIDE, true>(sum.terms, sum.onto),
        };
    }
    by_groups(k, near, out, sum, terms.div_ceil(terms.div_ceil(GROUP)));
}

/// The same with sums that wait between groups of so many terms, of which there are two at least.
#[target_feature(enable = "avx512f,avx512ifma")]
fn by_groups<const H: usize>(k: Reduction, near: bool, mut out: [&mut [Line]; H], sum: &Sum<'_, H>, size: usize) {
    let mut waiting = [[[Line::default(); TILE]; H]; 2];
    let length = out[0].len();
    for first in (0..length).step_by(TILE) {
        let lines = first..(first + TILE).min(length);
        let mut groups = sum.terms.chunks(size);
        let start = groups.next().unwrap_or_default();
        let mut place = Place { k, near, out: &mut out, waiting: &mut waiting, lines };
        match sum.end {
            End::Set => place.lines::<SET, false>(start, sum.onto),
            End::Add => place.lines::<ADD, false>(start, sum.onto),
            End::Divide(_) => place.lines::<DIVIDE, false>(start, sum.onto),
        }
        while let Some(group) = groups.next() {
            match groups.len() {
                0 => place.lines::<GO_ON, true>(group, None),
                _ => place.lines::<GO_ON, false>(group, None),
            }
        }
    }
}

/// Initial value of a line: by [`End`] without its constant, or a partial sum.
const SET: u8 = 0;
const ADD: u8 = 1;
const DIVIDE: u8 = 2;
const GO_ON: u8 = 3;

/// The range of one group of terms.
struct Place<'a, 'o, const H: usize> {
    k: Reduction,
    /// Whether lines are asked for into the L1 cache.
    near: bool,
    out: &'a mut [&'o mut [Line]; H],
    /// The waiting sums; empty where all terms are one group.
    waiting: &'a mut [Waiting<H>],
    lines: Range<usize>,
}

impl<const H: usize> Place<'_, '_, H> {
    /// One group of terms: the first or a further one, the last or one after which sums wait.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn lines<const START: u8, const LAST: bool>(&mut self, terms: &[Term<'_, H>], onto: Option<Onto<'_, H>>) {
        let pairs = self.lines.len() / 2 * 2;
        for i in (0..pairs).step_by(2) {
            self.block::<2, START, LAST>(terms, onto, i);
        }
        for i in pairs..self.lines.len() {
            self.block::<1, START, LAST>(terms, onto, i);
        }
    }

    /// Asks for a line of the limb that this line is of.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn ask(&self, line: *const Line) {
        if self.near {
            prefetch(line.wrapping_add(NEAR));
        } else {
            prefetch_later(line.wrapping_add(FAR));
        }
    }

    /// L lines from the i-th on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn block<const L: usize, const START: u8, const LAST: bool>(
        &mut self,
        terms: &[Term<'_, H>],
        onto: Option<Onto<'_, H>>,
        i: usize,
    ) {
        let (k, first) = (self.k, self.lines.start + i);
        let (mut lows, mut highs) = ([[zero(); L]; H], [[zero(); L]; H]);
        for h in 0..H {
            let old: &[Line; L] = some(&self.out[h][first..]);
            for l in 0..L {
                // What was there is taken up by the low half, which has twelve bits to spare.
                (lows[h][l], highs[h][l]) = match START {
                    ADD => (load(&old[l]), zero()),
                    DIVIDE => (sub(k.q, load(&old[l])), zero()),
                    GO_ON => (load(&self.waiting[0][h][i + l]), load(&self.waiting[1][h][i + l])),
                    _ => (zero(), zero()),
                };
            }
            if let Some((limb, times)) = onto.and_then(|onto| Some((onto.limbs[h]?, onto.times))) {
                let (limb, times) = (some::<L>(&limb[first..]), splat(times));
                for l in 0..L {
                    let x = load(&limb[l]);
                    (lows[h][l], highs[h][l]) = (low(lows[h][l], x, times), high(highs[h][l], x, times));
                }
            }
        }
        for term in terms {
            let factor = some::<L>(&term.factor[first..]);
            for line in factor {
                self.ask(line);
            }
            for h in 0..H {
                let with = some::<L>(&term.with[h][first..]);
                for l in 0..L {
                    self.ask(&with[l]);
                    let (x, y) = (load(&factor[l]), load(&with[l]));
                    (lows[h][l], highs[h][l]) = (low(lows[h][l], x, y), high(highs[h][l], x, y));
                }
            }
        }
        let twice = add(k.q, k.q);
        for h in 0..H {
            for l in 0..L {
                let (low, high) = (lows[h][l], reduce_once(highs[h][l], twice));
                if LAST {
                    store(&mut self.out[h][first + l], k.finish(low, high));
                } else {
                    store(&mut self.waiting[0][h][i + l], low);
                    store(&mut self.waiting[1][h][i + l], high);
                }
            }
        }
    }
}

/// See [`crate::kernels::LimbKernels::combination`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn combination(c: &Constants, out: &mut [Line], terms: &[(&[Line], u64)]) {
    let k = Reduction::new(c, c.unit);
    let pairs = out.len() / 2 * 2;
    for i in (0..pairs).step_by(2) {
        combine::<2>(k, out, terms, i);
    }
    for i in pairs..out.len() {
        combine::<1>(k, out, terms, i);
    }
}

/// L lines of a combination from the i-th on: after each [`WHOLE`] terms the sums are below 2q and 2^52 again.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn combine<const L: usize>(k: Reduction, out: &mut [Line], terms: &[(&[Line], u64)], i: usize) {
    let (mut lows, mut highs) = ([zero(); L], [zero(); L]);
    let twice = add(k.q, k.q);
    for group in terms.chunks(WHOLE) {
        for (limb, constant) in group {
            let (limb, constant) = (some::<L>(&limb[i..]), splat(*constant));
            for l in 0..L {
                prefetch(limb.as_ptr().wrapping_add(AHEAD + l));
                let x = load(&limb[l]);
                (lows[l], highs[l]) = (low(lows[l], x, constant), high(highs[l], x, constant));
            }
        }
        for l in 0..L {
            highs[l] = reduce_once(add(highs[l], _mm512_srli_epi64::<52>(lows[l])), twice);
            lows[l] = and(lows[l], k.mask);
        }
    }
    for l in 0..L {
        store(&mut out[i + l], k.finish(lows[l], highs[l]));
    }
}

/// The first lines of some.
#[inline]
fn some<const L: usize>(lines: &[Line]) -> &[Line; L] {
    lines.first_chunk().expect("limbs of one length")
}
