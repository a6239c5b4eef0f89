//! CoeffToSlot and SlotToCoeff: `fft.py`. Memory is empty before and after.

use super::{
    count::{Count, Poly},
    evaluator::{Moves, add, multiply_plain, rescale},
    set::{Caching, Set, TransformStyle},
};

/// A matrix as diagonals in babies and giants. Source: the head of `fft.fft_inner_bsgs`.
struct Split {
    babies: u64,
    /// Diagonals of each giant step.
    giants: Vec<u64>,
    /// The giant step that needs no rotation.
    unmoved: usize,
}

impl Split {
    fn new(diagonals: u64) -> Self {
        let babies = diagonals.div_ceil(diagonals.isqrt());
        let starts = (0..diagonals).step_by(usize::try_from(babies).unwrap_or(usize::MAX));
        let giants = starts.map(|start| babies.min(diagonals - start)).collect();
        // Diagonals run from −⌊d/2⌋: the one of 0 is at ⌊d/2⌋.
        Self { babies, giants, unmoved: usize::try_from(diagonals / 2 / babies).unwrap_or(0) }
    }
}

impl Set {
    /// A transform: a matrix of 2^(g+1) − 1 diagonals for each stage, a limb each. Source: `fft.fft`.
    pub(super) fn transform(&self, mut x: Poly) -> Count {
        let mut count = Count::default();
        for log_radix in self.stages() {
            let diagonals = (1 << (log_radix + 1)) - 1;
            count += match self.transform {
                TransformStyle::Bsgs => self.bsgs(x, diagonals),
                TransformStyle::BsgsHoisted => self.bsgs_hoisted(x, diagonals),
                TransformStyle::UnrolledHoisted => self.unrolled(x, diagonals),
            };
            x = x.drop(1);
        }
        count
    }

    /// One rotation of raised digits that stays raised: products with its key, and the other polynomial added to them.
    /// It is multiplied by P once, or each time that it is read again. Source: the first loop of
    /// `fft.fft_inner_hoisted_unrolled` and of `fft.fft_inner_bsgs_hoisted`.
    fn raised_rotation(&self, x: Poly, first: bool, written: Count) -> Count {
        let (raised, spills) = (x.raised(), self.spills());
        let digits = Moves::new(self.caching < Caching::Beta || first, false);
        self.products(raised, digits, self.key(raised))
            + written
            + (Count::read(1, x) + x.multiply()).when(spills || first)
            + (Count::read(1, x) + Count::written(1, x)).when(spills)
            + x.add()
    }

    /// All rotations from the same digits, one division at the end. Source: `fft.fft_inner_hoisted_unrolled`.
    fn unrolled(&self, x: Poly, diagonals: u64) -> Count {
        let (raised, spills) = (x.raised(), self.spills());
        let both = Count::written(2, raised).when(spills);
        let rotations: Count = (0..diagonals - 1).map(|i| self.raised_rotation(x, i == 0, both)).sum();
        let products = (Count::read(2, raised).when(spills) + multiply_plain(raised, Moves::NONE)).times(diagonals)
            + add(raised, Moves::NONE).times(diagonals - 1)
            + both;
        let divided = self.mod_down(raised, x.drop(1), Moves::new(self.spills_before_division(), true));
        self.raise_digits(x, x.raised(), Moves::BOTH) + rotations + products + divided.times(2)
    }

    /// Babies from the same digits, each divided; giants whole. Source: `fft.fft_inner_bsgs`.
    fn bsgs(&self, x: Poly, diagonals: u64) -> Count {
        let (split, spills) = (Split::new(diagonals), self.spills());
        let mut count = self.raise_digits(x, x.raised(), Moves::BOTH);
        for baby in 1..split.babies {
            count += self.rotate_digits(x, self.caching < Caching::Beta || baby == 1);
        }
        for (giant, &size) in split.giants.iter().enumerate() {
            count += (Count::read(2, x) + multiply_plain(x, Moves::NONE)).times(size);
            count += add(x, Moves::NONE).times(size - 1) + Count::written(2, x).when(spills);
            count += self.rotate(x, Moves::new(spills, spills)).when(giant != split.unmoved);
            count += Count::read(2, x).when(spills) + Count::read(2, x) + add(x, Moves::WRITES);
        }
        count + rescale(x, Moves::BOTH).times(2)
    }

    /// Babies stay raised, giants are divided and raised again. Source: `fft.fft_inner_bsgs_hoisted`.
    fn bsgs_hoisted(&self, x: Poly, diagonals: u64) -> Count {
        let (split, spills) = (Split::new(diagonals), self.spills());
        let (raised, left) = (x.raised(), x.drop(1));
        let several = diagonals.isqrt() > 1;
        let divided = self.mod_down(raised, left, Moves::new(self.spills_before_division(), true)).times(2);
        let written = Count::written(1, raised).when(spills || several) + Count::written(1, raised).when(spills);
        let mut count = self.raise_digits(x, x.raised(), Moves::BOTH);
        count += (1..split.babies).map(|baby| self.raised_rotation(x, baby == 1, written)).sum();
        for (giant, &size) in split.giants.iter().enumerate() {
            let read = Count::read(2, raised).when(spills || giant > 0);
            count += (read + multiply_plain(raised, Moves::NONE)).times(size);
            count += add(raised, Moves::NONE).times(size - 1) + Count::written(2, raised).when(spills);
            if several {
                count += divided;
                count += if giant == split.unmoved {
                    multiply_plain(left, Moves::NONE)
                } else {
                    // The digits and the key of the smaller polynomial, multiplied at the larger raised one.
                    self.giant(left, raised)
                };
                count += (Count::read(2, raised) + add(raised, Moves::NONE)).when(giant > 0);
                count += Count::written(2, raised);
            }
        }
        count + divided
    }

    /// A giant step of `x` in a larger raised basis. Source: the last loop of `fft.fft_inner_bsgs_hoisted`.
    fn giant(&self, x: Poly, raised: Poly) -> Count {
        self.raise_digits(x, raised, Moves::BOTH)
            + self.products(raised, Moves::READS, self.key(raised))
            + Count::read(1, x)
            + x.multiply()
            + x.add()
    }
}
