//! The order of values of a transform in other tools: their root and their order against ours.
//!
//! Value k there is the polynomial at ψ^(2k+1), or at ψ^(2·rev(k)+1) where the order is bit-reversed. Roots of the order 2N are
//! odd powers of one another, so a change of root is a permutation of the values.

use limbwise_math::{modulus::Modulus, ntt::bit_reverse, prime::primitive_root};

/// The order in which a tool has its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Value k is at ψ^(2k+1).
    Natural,
    /// Value k is at ψ^(2·rev(k)+1).
    BitReversed,
}

/// The least primitive root of a prime: the number whose powers are all residues.
fn generator(q: Modulus) -> u64 {
    let (mut rest, mut factors) = (q.value() - 1, Vec::new());
    let mut factor = 2;
    while factor * factor <= rest {
        if rest % factor == 0 {
            factors.push(factor);
            while rest % factor == 0 {
                rest /= factor;
            }
        }
        factor += 1;
    }
    factors.extend((rest > 1).then_some(rest));
    let whole = |g: &u64| factors.iter().all(|factor| q.pow(*g, (q.value() - 1) / factor) != 1);
    (2..q.value()).find(whole).unwrap_or(1)
}

/// The root that Lattigo and FHETCH's interpreter take: g^((q−1)/2N) with the least primitive root g.
#[must_use]
pub fn least_root(q: Modulus, log_n: u32) -> u64 {
    q.pow(generator(q), (q.value() - 1) >> (log_n + 1))
}

/// For each value there, its place here. `None` unless the root has the order 2N.
#[must_use]
pub fn places(q: Modulus, log_n: u32, theirs: u64, order: Order) -> Option<Vec<usize>> {
    if q.pow(theirs, 1 << log_n) != q.value() - 1 {
        return None;
    }
    let ours = primitive_root(q, log_n);
    // theirs = ours^e
    let (mut power, mut e) = (1, 0usize);
    while power != theirs {
        power = q.mul(power, ours);
        e += 1;
    }
    let mask = (2usize << log_n) - 1;
    let at = |k: usize| match order {
        Order::Natural => k,
        Order::BitReversed => bit_reverse(k, log_n),
    };
    Some((0..1usize << log_n).map(|k| bit_reverse(((e * (2 * at(k) + 1)) & mask) / 2, log_n)).collect())
}
