//! Sorting by a network of comparators, Batcher's merge exchange \[Bat68\], of any number of integers.
//!
//! A comparator is a comparison and one choice: where a ≥ b, `part = 0`, else `part = a − b` digit by digit; the smaller
//! of both is `b + part` and the larger `a − part`, without a further bootstrapping: 2n + 1 for n digits. Each adds 1 to
//! the squared norms of both, so that digits are bootstrapped after some layers only.

use super::{
    compare::Comparison,
    format::BASE,
    select::{CHOICE, difference_of},
    value::Radix,
};
use crate::error::Result;
use limbwise_device::Device;

/// Largest squared norm of a digit that enters a comparator: what a choice bootstraps is twice that, plus 1.
const NOISY: f64 = 6.0;

/// The comparators of n lines, layer by layer; the smaller of two goes to the first line.
#[must_use]
pub fn network(n: usize) -> Vec<Vec<(usize, usize)>> {
    let mut layers = Vec::new();
    let top = if n > 1 { n.next_power_of_two() / 2 } else { 0 };
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            layers.push((0..n.saturating_sub(d)).filter(|i| i & p == r).map(|i| (i, i + d)).collect());
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    layers.retain(|layer: &Vec<_>| !layer.is_empty());
    layers
}

impl<D: Device> Radix<'_, D> {
    /// The smaller and the larger of two, row by row.
    ///
    /// Cost: 2n + 1 bootstrappings.
    ///
    /// # Errors
    /// As [`Self::select`].
    pub fn ordered(&self, other: &Self) -> Result<(Self, Self)> {
        let (own, eval) = (self.own, self.own.eval);
        let (a, b) = (self.clean(NOISY)?, other.clean(NOISY)?);
        let parts = difference_of(own, &a.compare_weighted(Comparison::Less, &b, CHOICE)?, (&a.digits, &b.digits))?;
        let pairs = |digits: &[_], sign: i32| -> Result<Vec<_>> {
            let pair = |(digit, part)| eval.add(digit, &eval.scale(part, sign))?.at_most(BASE - 1);
            digits.iter().zip(&parts).map(pair).collect()
        };
        Ok((own.with_digits(a.format, pairs(&b.digits, 1)?), own.with_digits(a.format, pairs(&a.digits, -1)?)))
    }

    /// Batches in ascending order, row by row: the first one has the smallest of all.
    ///
    /// # Errors
    /// As [`Self::select`].
    ///
    /// # Panics
    /// If there are none.
    pub fn sorted(all: &[Self]) -> Result<Vec<Self>> {
        let (mut lines, rows) = (all.to_vec(), all[0].rows());
        for layer in network(all.len()) {
            let ends = |of: fn(&(usize, usize)) -> usize| {
                Self::stacked(&layer.iter().map(|pair| lines[of(pair)].clone()).collect::<Vec<_>>())
            };
            let (low, high) = ends(|pair| pair.0)?.ordered(&ends(|pair| pair.1)?)?;
            for (at, &(first, second)) in layer.iter().enumerate() {
                let own: Vec<usize> = (at * rows..(at + 1) * rows).collect();
                (lines[first], lines[second]) = (low.gather(&own)?, high.gather(&own)?);
            }
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network sorts if it sorts all zeros and ones (Knuth's zero-one principle).
    #[test]
    fn networks_sort_all_zeros_and_ones() {
        for n in 0..=12 {
            let layers = network(n);
            for bits in 0..1_u32 << n {
                let mut line: Vec<u32> = (0..n).map(|i| bits >> i & 1).collect();
                for &(i, j) in layers.iter().flatten() {
                    (line[i], line[j]) = (line[i].min(line[j]), line[i].max(line[j]));
                }
                assert!(line.is_sorted(), "{n} lines");
            }
            let busy = |layer: &Vec<(usize, usize)>| {
                let mut ends: Vec<usize> = layer.iter().flat_map(|&(i, j)| [i, j]).collect();
                ends.sort_unstable();
                ends.windows(2).all(|pair| pair[0] < pair[1])
            };
            assert!(layers.iter().all(busy), "a layer takes each line once");
        }
    }
}
