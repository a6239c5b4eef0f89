//! Twiddle factors of the vector transform: short tables, so that thirty limbs do not evict each other.
//!
//! The transform is a binary tree: with m groups at a level, node i multiplies by ψ^brv(m + i). A pass of radix 16 takes
//! a subtree of fifteen nodes, one [`Node`]. In the last pass the groups of sixteen words lie one a lane; the twiddles of
//! lane k of a row of sixteen groups are those of lane 0 times powers of `h_k = ψ^(brv₄(k)·N/128)`, the same in all
//! rows. So the words are multiplied by the powers of h_k once (a table of 4 KiB), and all lanes share one node.

use super::vector::prefetch;
use crate::layout::Line;
use limbwise_math::{modulus::Modulus, ntt::bit_reverse, prime::primitive_root};

/// A factor w and ⌊w·2^52/q⌋.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Factor {
    pub(super) value: u64,
    pub(super) quotient: u64,
}

/// A subtree: 1, 2, 4, 8 factors, level after level. Place 15 of an inverse transform's root holds 1/N.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Node(pub(super) [Factor; 16]);

/// A factor for each lane.
#[derive(Clone, Copy, Default)]
pub(super) struct LaneFactor {
    pub(super) value: Line,
    pub(super) quotient: Line,
}

/// Twiddles of a tile of 128 words at the end of a small transform: eight rows of sixteen.
#[derive(Clone)]
pub(super) struct Tile {
    pub(super) upper: Node,
    pub(super) lanes: [LaneFactor; 16],
}

/// The twiddles of one direction.
pub(super) struct Twiddles {
    /// The pass nearest the root.
    pub(super) first: Node,
    /// The same in an inverse transform of words that are 2^−52 times what is meant.
    pub(super) summed: Node,
    /// N = 2^17 only: halves of the sixteen parts of 8192 words.
    pub(super) split: Vec<Node>,
    /// One a block of 4096 words, N > 4096.
    pub(super) blocks: Vec<Node>,
    /// Two a row of 256 words, N ≥ 4096.
    pub(super) rows: Vec<[Node; 2]>,
    /// Powers of h_k, N ≥ 4096: word 0 … 15 of lanes 0 … 7, then of lanes 8 … 15.
    pub(super) twist: [[LaneFactor; 16]; 2],
    /// One a tile, N < 4096.
    pub(super) tiles: Vec<Tile>,
}

/// `w` with its quotient.
pub(super) fn factor(q: Modulus, value: u64) -> Factor {
    let quotient = (u128::from(value) << 52) / u128::from(q.value());
    Factor { value, quotient: u64::try_from(quotient).expect("below 2^52") }
}

/// Rows between the one that is transformed and the one whose factors are asked for.
const ROWS_AHEAD: usize = 3;

/// Prefetches the factors of a later row: with thirty primes in turn they come from the L3 cache (ADR 28).
#[inline]
#[target_feature(enable = "sse")]
pub(super) fn prefetch_row(row: &[Node; 2]) {
    prefetch_lines(std::ptr::from_ref(row).wrapping_add(ROWS_AHEAD));
}

#[inline]
#[target_feature(enable = "sse")]
fn prefetch_lines(row: *const [Node; 2]) {
    for line in 0..size_of::<[Node; 2]>() / size_of::<Line>() {
        prefetch(row.cast::<Line>().wrapping_add(line));
    }
}

impl Twiddles {
    /// Prefetches the factors that all rows share and those of the first rows.
    #[inline]
    #[target_feature(enable = "sse")]
    pub(super) fn prefetch(&self) {
        for lanes in self.twist.as_flattened() {
            prefetch(&lanes.value);
            prefetch(&lanes.quotient);
        }
        self.rows.iter().take(ROWS_AHEAD).for_each(|row| prefetch_lines(row));
    }
}

/// Powers of a root, and whether they are taken of it or of its inverse.
struct Roots {
    q: Modulus,
    log_n: u32,
    /// ψ^e, e < N.
    powers: Vec<u64>,
    inverse: bool,
}

impl Roots {
    /// ψ^e or ψ^−e, 0 ≤ e < 2N.
    fn power(&self, e: usize) -> Factor {
        let n = 1usize << self.log_n;
        let e = if self.inverse { (2 * n - e) % (2 * n) } else { e };
        let value = if e < n { self.powers[e] } else { self.q.neg(self.powers[e - n]) };
        factor(self.q, value)
    }

    /// The subtree of a pass of the given radix below node `i` of `groups`.
    fn node(&self, groups: usize, i: usize, radix: usize) -> Node {
        let mut node = Node::default();
        let mut width = 1;
        while width < radix {
            for j in 0..width {
                let exponent = bit_reverse((groups + i) * width + j, self.log_n);
                // Negated where the product is next subtracted, see `InversePlan`: ψ^N = −1.
                let negated = if self.inverse && j % 2 == 1 { 1 << self.log_n } else { 0 };
                node.0[width - 1 + j] = self.power((exponent + negated) % (2 << self.log_n));
            }
            width *= 2;
        }
        node
    }

    fn lanes(&self, of: impl Fn(usize) -> Factor) -> LaneFactor {
        let factors: [Factor; 8] = std::array::from_fn(of);
        LaneFactor { value: Line(factors.map(|f| f.value)), quotient: Line(factors.map(|f| f.quotient)) }
    }

    fn tile(&self, i: usize) -> Tile {
        let n = 1usize << self.log_n;
        let nodes: [Node; 8] = std::array::from_fn(|lane| self.node(n / 16, 8 * i + lane, 16));
        let lanes = std::array::from_fn(|place| self.lanes(|lane| nodes[lane].0[place]));
        Tile { upper: self.node(n / 128, i, 8), lanes }
    }

    fn twist(&self, half: usize) -> [LaneFactor; 16] {
        let unit = (1usize << self.log_n) / 128;
        std::array::from_fn(|word| self.lanes(|lane| self.power(bit_reverse(8 * half + lane, 4) * unit * word)))
    }
}

/// log₂ of the radix of the pass nearest the root.
pub(super) fn first_radix(log_n: u32) -> u32 {
    match log_n {
        10 => 3,
        13..=15 => log_n - 12,
        _ => 4,
    }
}

/// The twiddles of both directions, forward first.
pub(super) fn twiddles(q: Modulus, log_n: u32) -> [Twiddles; 2] {
    let psi = primitive_root(q, log_n);
    let powers = std::iter::successors(Some(1), |&p| Some(q.mul(p, psi))).take(1 << log_n).collect();
    let mut roots = Roots { q, log_n, powers, inverse: false };
    let forward = direction(&roots);
    roots.inverse = true;
    let mut inverse = direction(&roots);
    // The last stage of the inverse multiplies both halves of its butterflies: 1/N comes for little.
    let scale = q.inv(1 << log_n);
    inverse.first.0[0] = factor(q, q.mul(inverse.first.0[0].value, scale));
    inverse.first.0[15] = factor(q, scale);
    inverse.summed = inverse.first;
    for place in [0, 15] {
        let value = q.mul(inverse.first.0[place].value, q.reduce(1 << 52));
        inverse.summed.0[place] = factor(q, value);
    }
    [forward, inverse]
}

fn direction(roots: &Roots) -> Twiddles {
    let (log_n, n) = (roots.log_n, 1usize << roots.log_n);
    let large = log_n >= 12;
    let row = |r| [roots.node(n / 256, r, 16), roots.node(n / 16, 16 * r, 16)];
    let blocks = if log_n > 12 { n / 4096 } else { 0 };
    Twiddles {
        first: roots.node(1, 0, 1 << first_radix(log_n)),
        summed: Node::default(),
        split: (0..if log_n == 17 { 16 } else { 0 }).map(|i| roots.node(16, i, 2)).collect(),
        blocks: (0..blocks).map(|i| roots.node(blocks, i, 16)).collect(),
        rows: (0..if large { n / 256 } else { 0 }).map(row).collect(),
        twist: if large { [roots.twist(0), roots.twist(1)] } else { Default::default() },
        tiles: (0..if large { 0 } else { n / 128 }).map(|i| roots.tile(i)).collect(),
    }
}
