//! The subroutines: `evaluator.py`. A polynomial given to a function is one of the two of a ciphertext.

use super::{
    count::{Count, Poly},
    set::{Caching, Set},
};

/// Whether a function reads its inputs and writes its results; what it does not, its caller counts or nobody.
#[derive(Clone, Copy)]
pub(super) struct Moves {
    pub(super) reads: bool,
    pub(super) writes: bool,
}

impl Moves {
    pub(super) const NONE: Self = Self { reads: false, writes: false };
    pub(super) const READS: Self = Self { reads: true, writes: false };
    pub(super) const WRITES: Self = Self { reads: false, writes: true };
    pub(super) const BOTH: Self = Self { reads: true, writes: true };

    pub(super) fn new(reads: bool, writes: bool) -> Self {
        Self { reads, writes }
    }
}

/// Whether the two factors of a product are one ciphertext.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Factors {
    Different,
    Same,
}

impl Factors {
    fn count(self) -> u64 {
        if self == Self::Same { 1 } else { 2 }
    }
}

/// A sum of ciphertexts. Source: `evaluator.add`.
pub(super) fn add(x: Poly, moves: Moves) -> Count {
    x.add().times(2) + Count::read(4, x).when(moves.reads) + Count::written(2, x).when(moves.writes)
}

/// A plaintext is added. Source: `evaluator.add_plain`.
pub(super) fn add_plain(x: Poly, moves: Moves) -> Count {
    x.add() + Count::read(2, x).when(moves.reads) + Count::written(1, x).when(moves.writes)
}

/// A product with a plaintext. Source: `evaluator.multiply_plain`.
pub(super) fn multiply_plain(x: Poly, moves: Moves) -> Count {
    x.multiply().times(2) + Count::read(3, x).when(moves.reads) + Count::written(2, x).when(moves.writes)
}

/// The automorphism of both polynomials, which takes no operation. Source: `evaluator.rotate_inner`.
pub(super) fn automorph(x: Poly, moves: Moves) -> Count {
    Count::read(2, x).when(moves.reads) + Count::written(2, x).when(moves.writes)
}

/// The last limb is divided away, of one polynomial. Source: `evaluator.mod_reduce_rescale`.
pub(super) fn rescale(x: Poly, moves: Moves) -> Count {
    let (last, left) = (x.with(1), x.drop(1));
    let moved = (Count::read(1, last) + Count::read(1, left)).when(moves.reads);
    last.transform()
        + left.transform()
        + left.add()
        + left.multiply()
        + moved
        + Count::written(1, left).when(moves.writes)
}

impl Set {
    /// Whether limbs go to memory between two steps: nothing is cached.
    pub(super) fn spills(&self) -> bool {
        self.caching < Caching::Limb
    }

    /// Whether what is divided by P is written before and read again. Source: `reorder_rdwr`.
    pub(super) fn spills_before_division(&self) -> bool {
        self.spills() || !self.reorder
    }

    /// Both halves of a digit of a key, or the one that no seed makes. Source: `ArchParam.key_sz`.
    pub(super) fn key(&self, raised: Poly) -> Count {
        Count::key(raised.bytes() * if self.key_compression { 1 } else { 2 })
    }

    /// Between limbs and coefficients and back, unless the limbs of a digit stay.
    fn transforms(&self, x: Poly) -> Count {
        (Count::written(1, x) + Count::read(1, x)).when(self.caching < Caching::Alpha)
    }

    /// From one basis to a larger one; the limbs that were there stay. Source: `evaluator.mod_raise`.
    pub(super) fn mod_raise(&self, from: Poly, to: Poly, moves: Moves) -> Count {
        let new = to.drop(from.limbs);
        let work =
            from.transform() + self.transforms(from) + from.convert(new) + self.transforms(new) + new.transform();
        work + Count::read(1, from).when(moves.reads) + Count::written(1, new).when(moves.writes)
    }

    /// Division by the limbs that `to` lacks. Source: `evaluator.mod_down`, with `mod_down_reduce` and
    /// `mod_down_divide`.
    pub(super) fn mod_down(&self, from: Poly, to: Poly, moves: Moves) -> Count {
        let divided = from.drop(to.limbs);
        let reduced =
            divided.transform() + self.transforms(divided) + divided.convert(to) + self.transforms(to) + to.transform();
        let read = (Count::read(1, divided) + Count::read(1, to)).when(moves.reads);
        reduced + to.add() + to.multiply() + read + Count::written(1, to).when(moves.writes)
    }

    /// Digits of a polynomial, each raised and written. Source: `evaluator.key_switch_hoisting`.
    pub(super) fn raise_digits(&self, x: Poly, raised: Poly, moves: Moves) -> Count {
        let digit = x.with(x.alpha());
        let each = digit.decompose()
            + self.mod_raise(digit, raised, Moves::NONE)
            + Count::written(1, raised.drop(x.alpha())).when(moves.writes);
        each.times(x.dnum) + Count::read(1, x).when(moves.reads)
    }

    /// Products of raised digits with a key, read or not. Source: `evaluator.key_switch_inner_product`.
    pub(super) fn products(&self, raised: Poly, moves: Moves, key: Count) -> Count {
        let each = multiply_plain(raised, Moves::NONE) + key + Count::read(1, raised).when(moves.reads);
        each.times(raised.dnum)
            + add(raised, Moves::NONE).times(raised.dnum - 1)
            + Count::written(2, raised).when(moves.writes)
    }

    /// The key of a product, which a huge cache keeps. Source: `key_cached` in `eval_sine.py`.
    pub(super) fn product_key(&self, x: Poly) -> Count {
        self.key(x.raised()).when(self.caching < Caching::Huge)
    }

    /// Source: `evaluator.key_switch`.
    fn key_switch(&self, x: Poly, moves: Moves) -> Count {
        let (raised, spills) = (x.raised(), self.spills());
        self.raise_digits(x, raised, Moves::new(moves.reads, true))
            + self.products(raised, Moves::new(true, spills), self.key(raised))
            + self.mod_down(raised, x, Moves::new(spills, moves.writes))
            + self.mod_down(raised, x, Moves::new(spills, false))
            + Count::read(1, x).when(moves.reads)
            + x.add()
            + Count::written(1, x).when(moves.writes)
    }

    /// Source: `evaluator.rotate`.
    pub(super) fn rotate(&self, x: Poly, moves: Moves) -> Count {
        let spills = self.spills();
        automorph(x, Moves::new(moves.reads, spills)) + self.key_switch(x, Moves::new(spills, moves.writes))
    }

    /// One rotation of raised digits. Source: `evaluator.rotate_digits`.
    pub(super) fn rotate_digits(&self, x: Poly, reads: bool) -> Count {
        let raised = x.raised();
        self.products(raised, Moves::new(reads, true), self.key(raised))
            + self.mod_down(raised, x, Moves::BOTH)
            + self.mod_down(raised, x, Moves::READS)
            + Count::read(1, x).when(reads)
            + x.add()
            + Count::written(1, x)
    }

    /// (a₀b₁ + a₁b₀, b₀b₁). Source: `evaluator.partial_multiply_inner`.
    fn other_products(&self, x: Poly, factors: Factors) -> Count {
        let (multiplications, additions) = match (factors, self.karatsuba) {
            (Factors::Same, _) => (2, 1),
            (Factors::Different, true) => (2, 4),
            (Factors::Different, false) => (3, 1),
        };
        x.multiply().times(multiplications) + x.add().times(additions)
    }

    /// A product of ciphertexts, relinearized and rescaled. Source: `evaluator.multiply`.
    pub(super) fn multiply(&self, x: Poly, factors: Factors, moves: Moves, key: Count) -> Count {
        let (raised, left) = (x.raised(), x.drop(1));
        let (spills, divides) = (self.spills(), self.spills_before_division());
        let mut count = Count::read(factors.count(), x).when(moves.reads)
            + x.multiply()
            + Count::written(1, x).when(spills)
            + self.raise_digits(x, raised, Moves::new(spills, true))
            + self.products(raised, Moves::new(true, spills), key)
            + Count::read(2 * factors.count(), x).when(moves.reads)
            + self.other_products(x, factors)
            + Count::read(2, x).when(spills)
            + add(x, Moves::new(false, divides));
        if self.merge {
            // The rescaling is a part of the division by P: the other products are raised by P instead.
            count += multiply_plain(x, Moves::NONE);
            count += self.mod_down(raised, left, Moves::new(divides, moves.writes)).times(2);
        } else {
            count += Count::written(2, raised).when(!spills && divides);
            count += self.mod_down(raised, x, Moves::new(divides, spills)).times(2);
            count += rescale(x, Moves::new(divides, moves.writes)).times(2);
        }
        count
    }

    /// Twice the product, which is read and written. Source: `evaluator.double_multiply`.
    pub(super) fn double_multiply(&self, x: Poly, factors: Factors) -> Count {
        self.multiply(x, factors, Moves::READS, self.product_key(x)) + add(x.drop(1), Moves::WRITES)
    }
}
