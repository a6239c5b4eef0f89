//! Comparisons: a tree of signs.
//!
//! The difference of two digits is −3 to 3 and a sign is −1 to 1. Because the padding bit negates, a message holds −15
//! to 15: `8·σ₂ + 4·σ₁ + d` has the sign of its first nonzero term. So a node takes the signs of two higher parts and
//! its own digit, and every digit costs one bootstrapping. Tables output the signs already weighted, which costs no
//! noise. Against a constant, two digits `4a₁ + a₀` are one leaf. The root takes up to three signs, `4σ₂ + 2σ₁ + σ₀ +
//! 8`, and outputs the weighted result of any of the six comparisons.
//!
//! Two digits of two ciphertexts as one leaf would have norm² 16·2 + 2 = 34, too much for sets at 2^−128.

use super::{
    format::Sign,
    value::{Integers, Jobs, Radix},
};
use crate::{
    error::Result,
    tfhe::{Boolean, Ciphertext, Table},
};
use limbwise_device::Device;
use std::{cmp::Ordering, ops::Range};

/// A comparison of two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// a = b.
    Equal,
    /// a ≠ b.
    NotEqual,
    /// a < b.
    Less,
    /// a ≤ b.
    AtMost,
    /// a > b.
    Greater,
    /// a ≥ b.
    AtLeast,
}

impl Comparison {
    /// All comparisons.
    pub const ALL: [Self; 6] = [Self::Equal, Self::NotEqual, Self::Less, Self::AtMost, Self::Greater, Self::AtLeast];

    /// The result for a given order of the operands.
    #[must_use]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

/// A node of the tree: the sign of a range of digits of the difference.
struct Node {
    /// The digits that the node reads directly.
    own: Range<usize>,
    /// The subtrees for the digits above, most significant first.
    above: Vec<Node>,
}

/// Weight of the i-th of `of` signs above a node's own digit.
fn weight(i: usize, of: usize) -> i32 {
    if i == 0 && of == 2 { 8 } else { 4 }
}

impl Node {
    /// The tree over a range of digits, with leaves of up to `leaf` digits.
    fn over(digits: Range<usize>, leaf: usize) -> Self {
        if digits.len() <= leaf {
            return Self { own: digits, above: Vec::new() };
        }
        let (own, rest) = (digits.start..digits.start + 1, digits.start + 1..digits.end);
        let parts = if rest.len() <= leaf { 1 } else { 2 };
        Self { own, above: split_range(rest, parts).into_iter().map(|part| Self::over(part, leaf)).collect() }
    }

    fn height(&self) -> usize {
        self.above.iter().map(|node| node.height() + 1).max().unwrap_or(0)
    }

    fn count(&self) -> usize {
        1 + self.above.iter().map(Self::count).sum::<usize>()
    }
}

/// Splits a range of digits into `parts` parts, most significant first.
fn split_range(digits: Range<usize>, parts: usize) -> Vec<Range<usize>> {
    let (start, length) = (digits.start, digits.len());
    (0..parts).rev().map(|i| start + i * length / parts..start + (i + 1) * length / parts).collect()
}

/// The subtrees below the root with the least cost, most significant first.
fn roots(digits: usize, leaf: usize) -> Vec<Node> {
    let of =
        |parts| split_range(0..digits, parts).into_iter().map(|part| Node::over(part, leaf)).collect::<Vec<Node>>();
    let cost = |roots: &Vec<Node>| {
        (roots.iter().map(Node::count).sum::<usize>(), roots.iter().map(Node::height).max().unwrap_or(0))
    };
    (1..=digits.min(3)).map(of).min_by_key(cost).unwrap_or_default()
}

/// Bootstrappings per row and layers of a comparison of n digits with a constant.
#[must_use]
pub fn constant_cost(n: usize) -> (usize, usize) {
    tree_cost(&roots(n, 2))
}

/// Bootstrappings per row and layers of a comparison of n digits with a ciphertext: n + 1 bootstrappings.
#[must_use]
pub fn ciphertext_cost(n: usize) -> (usize, usize) {
    tree_cost(&roots(n, 1))
}

fn tree_cost(roots: &[Node]) -> (usize, usize) {
    let height = roots.iter().map(Node::height).max().unwrap_or(0);
    (1 + roots.iter().map(Node::count).sum::<usize>(), height + 2)
}

/// The right operand.
#[derive(Clone, Copy)]
enum Other<'b, D: Device> {
    Encrypted(&'b [Ciphertext<D>]),
    Clear(&'b [u64]),
}

/// A comparison of one number with another.
struct Signs<'a, 'b, D: Device> {
    integers: Integers<'a, D>,
    digits: &'b [Ciphertext<D>],
    other: Other<'b, D>,
    sign: Sign,
}

/// A digit as an ordered number: the top digit of a signed integer is shifted to preserve the order.
fn ordered(sign: Sign, top: bool, digit: u64) -> i64 {
    let digit = digit.cast_signed();
    if top && sign == Sign::Signed { (digit + 2) % 4 } else { digit }
}

impl<D: Device> Signs<'_, '_, D> {
    /// The difference of a digit.
    fn difference(&self, i: usize) -> Result<Ciphertext<D>> {
        let eval = self.integers.eval;
        match self.other {
            Other::Encrypted(other) => eval.sub(&self.digits[i], &other[i]),
            Other::Clear(other) => Ok(eval.add_clear(&self.digits[i], -i32::try_from(other[i]).expect("a digit"))),
        }
    }

    /// The ciphertext and the table of a leaf: the sign of each message, times the weight.
    fn leaf(&self, own: &Range<usize>, weight: i32) -> Result<(Ciphertext<D>, Table)> {
        let (integers, low, count) = (&self.integers, own.start, self.digits.len());
        let params = integers.params();
        let sign = |order: Ordering| i64::from(weight) * order as i64;
        let digit = |i: usize, m: u64| ordered(self.sign, i + 1 == count, m);
        let pair = |m: u64| match own.len() {
            1 => digit(low, m % 4),
            _ => 4 * digit(low + 1, m >> 2) + digit(low, m % 4),
        };
        match self.other {
            Other::Encrypted(other) if low + 1 == count && self.sign == Sign::Signed => {
                let both = integers.pack(&self.digits[low], &other[low])?;
                let table = Table::integers(params, |m| sign(digit(low, m >> 2).cmp(&digit(low, m % 4))))?;
                Ok((both, table))
            }
            Other::Encrypted(_) => Ok((self.difference(low)?, Table::signed(params, |m| sign(m.cmp(&0)))?)),
            Other::Clear(other) => {
                let constant = pair(own.clone().rev().fold(0, |all, i| 4 * all + other[i]));
                let input = match own.len() {
                    1 => self.digits[low].clone(),
                    _ => integers.pack(&self.digits[low + 1], &self.digits[low])?,
                };
                Ok((input, Table::integers(params, |m| sign(pair(m).cmp(&constant)))?))
            }
        }
    }

    /// The ciphertext and the table of an inner node, from the signs above it.
    fn job(&self, node: &Node, weight: i32, above: Vec<Ciphertext<D>>) -> Result<(Ciphertext<D>, Table)> {
        if above.is_empty() {
            return self.leaf(&node.own, weight);
        }
        let own = self.difference(node.own.start)?;
        let sum = above.iter().try_fold(own, |sum, sign| self.integers.eval.add(&sum, sign))?;
        Ok((sum, Table::signed(self.integers.params(), |m| i64::from(weight) * m.cmp(&0) as i64)?))
    }

    /// The weighted signs of trees, with one layer for all nodes of equal height.
    fn of(&self, trees: &[(&Node, i32)]) -> Result<Vec<Ciphertext<D>>> {
        let mut all: Vec<(&Node, i32, Option<usize>)> =
            trees.iter().map(|&(node, weight)| (node, weight, None)).collect();
        let mut at = 0;
        while at < all.len() {
            let node = all[at].0;
            let children = node.above.iter().enumerate();
            all.extend(children.map(|(i, child)| (child, weight(i, node.above.len()), Some(at))));
            at += 1;
        }
        let mut done: Vec<Option<Ciphertext<D>>> = vec![None; all.len()];
        let height = trees.iter().map(|(node, _)| node.height()).max().unwrap_or(0);
        for h in 0..=height {
            let these: Vec<usize> = (0..all.len()).filter(|&i| all[i].0.height() == h).collect();
            let job = |&i: &usize| {
                let above = (0..all.len()).filter(|&c| all[c].2 == Some(i)).filter_map(|c| done[c].clone()).collect();
                self.job(all[i].0, all[i].1, above)
            };
            let jobs: Jobs<D> = these.iter().map(job).collect::<Result<_>>()?;
            let results = self.integers.layer(&jobs)?;
            these.into_iter().zip(results).for_each(|(i, sign)| done[i] = Some(sign));
        }
        Ok(done.into_iter().take(trees.len()).flatten().collect())
    }

    /// The result of the comparison times `times`, at most 15.
    fn answer(&self, leaf: usize, comparison: Comparison, times: u64) -> Result<Ciphertext<D>> {
        let (integers, roots) = (&self.integers, roots(self.digits.len(), leaf));
        let weighted: Vec<(&Node, i32)> = roots.iter().rev().zip(0..).map(|(node, i)| (node, 1 << i)).collect();
        let signs = self.of(&weighted)?;
        let sum = signs.iter().skip(1).try_fold(signs[0].clone(), |sum, sign| integers.eval.add(&sum, sign))?;
        let table = integers.table(|m| times * u64::from(comparison.holds(m.cmp(&8))))?;
        integers.eval.bootstrap(&integers.eval.add_clear(&sum, 8), &[table])
    }
}

impl<'a, D: Device> Radix<'a, D> {
    /// The result of a comparison times `times`.
    pub(crate) fn compare_weighted(&self, comparison: Comparison, other: &Self, times: u64) -> Result<Ciphertext<D>> {
        self.goes_with("compare", other)?;
        let (a, b) = match self.format.sign() {
            Sign::Unsigned => (self.clone(), other.clone()),
            Sign::Signed => (self.with_clean_top()?, other.with_clean_top()?),
        };
        let other = Other::Encrypted(&b.digits);
        let signs = Signs { integers: self.own, digits: &a.digits, other, sign: self.format.sign() };
        signs.answer(1, comparison, times)
    }

    /// Bootstraps the most significant digit if it is a sum of two ciphertexts.
    fn with_clean_top(&self) -> Result<Self> {
        let mut all = self.clone();
        let top = all.digits.split_off(all.digits.len() - 1);
        all.digits.extend(self.own.with_digits(self.format, top).clean(1.0)?.digits);
        Ok(all)
    }

    /// Compares row by row.
    ///
    /// # Errors
    /// [`TfheError`](crate::tfhe::TfheError) for operands of different formats, rows or keys, and for parameters
    /// without enough noise margin.
    pub fn compare(&self, comparison: Comparison, other: &Self) -> Result<Boolean<'a, D>> {
        Boolean::new(self.own.eval, self.compare_weighted(comparison, other, 1)?)
    }

    /// Compares all rows with a constant.
    ///
    /// # Errors
    /// The errors of [`Self::compare`]; [`TfheError::Value`](crate::tfhe::TfheError::Value) for a constant outside the
    /// format, for which all rows would have the same result.
    pub fn compare_clear(&self, comparison: Comparison, value: i128) -> Result<Boolean<'a, D>> {
        Boolean::new(self.own.eval, self.compare_clear_weighted(comparison, value, 1)?)
    }

    /// The result of a comparison with a constant times `times`.
    pub(crate) fn compare_clear_weighted(
        &self,
        comparison: Comparison,
        value: i128,
        times: u64,
    ) -> Result<Ciphertext<D>> {
        let other = self.format.digits_of(value)?;
        let clean = self.clean(1.0)?;
        let other = Other::Clear(&other);
        let signs = Signs { integers: self.own, digits: &clean.digits, other, sign: self.format.sign() };
        signs.answer(2, comparison, times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_is_looked_at_once_and_the_most_significant_by_a_leaf() {
        fn walk(node: &Node, top: usize, seen: &mut Vec<usize>) {
            seen.extend(node.own.clone());
            assert!(!node.own.contains(&top) || node.above.is_empty());
            node.above.iter().for_each(|node| walk(node, top, seen));
        }
        for (n, leaf) in (2..=32).flat_map(|n| [(n, 1), (n, 2)]) {
            let mut seen = Vec::new();
            roots(n, leaf).iter().for_each(|node| walk(node, n - 1, &mut seen));
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>(), "{n} digits, leaves of {leaf}");
        }
    }
}
