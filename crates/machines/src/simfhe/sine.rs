//! The sine: a Chebyshev series by babies and giants, then doublings: `eval_sine.py`. Memory is empty before and after.

use super::{
    count::{Count, Poly},
    evaluator::{Factors, Moves, add, add_plain, multiply_plain, rescale},
    set::Set,
};

impl Set {
    /// log₂ of the number of coefficients, and of the babies. Source: the head of `eval_sine.eval_sine`.
    fn depths(&self) -> (u32, u32) {
        let all = (self.degree + 1).next_power_of_two().ilog2();
        (all, all / 2)
    }

    /// One evaluation. Source: `eval_sine.eval_sine`.
    pub(super) fn sine(&self, x: Poly) -> Count {
        let (all, babies) = self.depths();
        let powers = x.drop(babies.into());
        let leaves = powers.drop(1);
        let root = leaves.drop((all - babies).into());
        self.babies(x) + self.giants(powers) + self.leaves(powers) + self.tree(leaves) + self.doublings(root)
    }

    /// Source: `eval_sine.baby_step_basis`.
    fn babies(&self, mut x: Poly) -> Count {
        let mut count = Count::default();
        for level in 0..self.depths().1 {
            let (reached, reachable) = (1u64 << level, 2u64 << level);
            let left = x.drop(1);
            for index in reached + 1..=reachable {
                count += self.double_multiply(x, if index % 2 == 0 { Factors::Same } else { Factors::Different });
            }
            let scaled = Count::read(2, x) + multiply_plain(x, Moves::NONE) + rescale(x, Moves::NONE);
            count += (scaled + Count::written(2, left)).times(reached);
            for index in reached + 1..=reachable {
                let subtracted = if index % 2 == 0 { add(left, Moves::NONE) } else { add_plain(left, Moves::NONE) };
                count += Count::read(2, left) + subtracted + Count::written(2, left);
            }
            x = left;
        }
        count
    }

    /// Source: `eval_sine.giant_step_basis`.
    fn giants(&self, powers: Poly) -> Count {
        let (all, babies) = self.depths();
        let step = |i: u32| {
            let x = powers.drop(1 + u64::from(i));
            self.double_multiply(x, Factors::Same) + add_plain(x.drop(1), Moves::NONE)
        };
        (0..all - 1 - babies).map(step).sum()
    }

    /// Source: `eval_sine.leaf_prods`.
    fn leaves(&self, x: Poly) -> Count {
        let (all, babies) = self.depths();
        let terms = 1u64 << babies;
        let each = (Count::read(2, x) + multiply_plain(x, Moves::NONE)).times(terms)
            + add_plain(x, Moves::NONE)
            + add(x, Moves::NONE).times(terms - 1)
            + rescale(x, Moves::NONE)
            + Count::written(2, x.drop(1));
        each.times(1 << (all - babies))
    }

    /// Source: `eval_sine.tree_up`.
    fn tree(&self, mut x: Poly) -> Count {
        let (all, babies) = self.depths();
        let mut count = Count::default();
        for depth in (0..all - babies).rev() {
            let left = x.drop(1);
            let each = self.multiply(x, Factors::Different, Moves::NONE, self.product_key(x))
                + Count::read(2, x)
                + multiply_plain(x, Moves::NONE)
                + rescale(x, Moves::NONE)
                + add(left, Moves::NONE)
                + Count::written(2, left);
            count += each.times(1 << depth);
            x = left;
        }
        count
    }

    /// Source: `eval_sine.r_square`.
    fn doublings(&self, root: Poly) -> Count {
        let step = |i| {
            let x = root.drop(i);
            self.double_multiply(x, Factors::Same) + add_plain(x, Moves::NONE)
        };
        (0..self.doublings).map(step).sum()
    }
}
