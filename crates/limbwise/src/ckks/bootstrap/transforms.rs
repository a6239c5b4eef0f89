//! The maps between slots and coefficients, factored into maps of few diagonals.
//!
//! Slots are S·w, where w is the vector of coefficients as complex numbers (imaginary parts from the second half) in
//! bit-reversed order, and S is a product of log₂(n) butterfly stages. SlotToCoeff is S, CoeffToSlot its inverse;
//! consecutive stages are grouped into one map per level. Both keep the bit-reversed order, so no step undoes it.
//! Source: \[CCS19\], \[HHC19\].

use crate::{ckks::Diagonals, error::Result};
use limbwise_math::embedding::Embedding;
use num_complex::Complex64;

/// A factored map, the first factor applied first, and a rotation of the result that is still due.
pub(super) struct Factors {
    pub(super) maps: Vec<Diagonals>,
    pub(super) rotation: i64,
}

/// S on `slots` slots in `factors` maps: 2·2^k − 1 diagonals for k stages, 2^k in the last map.
pub(super) fn slot_to_coeff(slots: usize, factors: usize) -> Result<Factors> {
    let embedding = Embedding::new(slots);
    let stages: Vec<usize> = (1..=slots.trailing_zeros()).map(|k| 1 << k).collect();
    group(slots, factors, &stages, |length| forward(&embedding, length))
}

/// S⁻¹ on `slots` slots in `factors` maps.
pub(super) fn coeff_to_slot(slots: usize, factors: usize) -> Result<Factors> {
    let embedding = Embedding::new(slots);
    let stages: Vec<usize> = (1..=slots.trailing_zeros()).rev().map(|k| 1 << k).collect();
    group(slots, factors, &stages, |length| inverse(&embedding, length))
}

/// Merges consecutive stages into one map each, the longer groups first.
fn group(
    slots: usize,
    factors: usize,
    stages: &[usize],
    stage: impl Fn(usize) -> Result<Diagonals>,
) -> Result<Factors> {
    let identity = || Diagonals::new(slots, [(0, vec![Complex64::new(1.0, 0.0); slots])]);
    let mut maps = Vec::new();
    let mut left = stages;
    for done in 0..factors {
        let (here, rest) = left.split_at(left.len().div_ceil(factors - done));
        left = rest;
        let product = |map: Result<Diagonals>, &length: &usize| Ok(stage(length)?.after(&map?));
        maps.push(match here {
            [] => identity()?,
            [first, others @ ..] => others.iter().fold(stage(*first), product)?,
        });
    }
    Ok(Factors { maps, rotation: 0 })
}

/// (x, y) → (x + w·y, x − w·y).
fn forward(embedding: &Embedding, length: usize) -> Result<Diagonals> {
    let one = Complex64::new(1.0, 0.0);
    let twiddles: Vec<Complex64> = (0..length / 2).map(|j| embedding.twiddle(length, j)).collect();
    butterflies(embedding.slots(), length, |j, low| if low { [one, twiddles[j]] } else { [-twiddles[j], one] })
}

/// (x, y) → ((x + y)/2, (x − y)·w̄/2).
fn inverse(embedding: &Embedding, length: usize) -> Result<Diagonals> {
    let half = Complex64::new(0.5, 0.0);
    let twiddles: Vec<Complex64> = (0..length / 2).map(|j| embedding.twiddle(length, j).conj() * 0.5).collect();
    butterflies(embedding.slots(), length, |j, low| if low { [half, half] } else { [-twiddles[j], twiddles[j]] })
}

/// A stage from the factors of a value itself and of its partner, for both positions of each butterfly.
fn butterflies(slots: usize, length: usize, factors: impl Fn(usize, bool) -> [Complex64; 2]) -> Result<Diagonals> {
    let half = length / 2;
    let at = |p: usize| factors(p % half, p % length < half);
    let partner = |low: bool| {
        let one = move |p: usize| if (p % length < half) == low { at(p)[1] } else { Complex64::default() };
        (0..slots).map(one).collect::<Vec<_>>()
    };
    let own = (0..slots).map(|p| at(p)[0]).collect();
    let half = half as i64;
    Diagonals::new(slots, [(0, own), (half, partner(true)), (-half, partner(false))])
}

impl Factors {
    /// The same maps with diagonals indexed from 0 up. A rotation commutes with a map whose diagonals are rotated, so
    /// the rotations to each map's first diagonal add up to one rotation of the result. Multi-hop plans then need no
    /// key for them.
    pub(super) fn telescoped(mut self) -> Self {
        let slots = self.maps.first().map_or(1, Diagonals::slots) as i64;
        let firsts: Vec<i64> = self.maps.iter().map(Diagonals::first_index).collect();
        let total: i64 = firsts.iter().sum();
        let mut left = 0;
        let turned = |(map, mut first): (Diagonals, i64)| {
            // A map whose diagonals cover all indices may start anywhere; the best start cancels most of the other
            // rotations.
            let stride = slots / map.count() as i64;
            if map.count() > 1 && map.indices().all(|d| d as i64 % stride == 0) {
                first = (first - total + stride / 2).div_euclid(stride) * stride;
            }
            // rotate(·, left) of the map's input becomes a rotation of its output.
            let turned = map.between_rotations(left, -left - first);
            left += first;
            turned
        };
        self.maps = self.maps.into_iter().zip(firsts).map(turned).collect();
        let rotation = (self.rotation + left).rem_euclid(slots);
        self.rotation = if rotation > slots / 2 { rotation - slots } else { rotation };
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(n: usize) -> Vec<Complex64> {
        (0..n).map(|i| Complex64::new((i as f64 * 0.7).sin(), (i as f64 * 1.3).cos())).collect()
    }

    fn close(a: &[Complex64], b: &[Complex64]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).norm() < 1e-9)
    }

    fn apply(factors: &Factors, x: &[Complex64]) -> Vec<Complex64> {
        let mut y = factors.maps.iter().fold(x.to_vec(), |x, map| map.apply(&x));
        let length = y.len();
        y.rotate_left(usize::try_from(factors.rotation.rem_euclid(length as i64)).unwrap());
        y
    }

    #[test]
    fn factors_multiply_to_the_embedding() {
        for (slots, factors) in [(64, 3), (64, 2), (32, 4), (8, 5), (1, 1)] {
            let embedding = Embedding::new(slots);
            let x = values(slots);
            // Bit-reversed complex coefficients.
            let coefficients = embedding.to_coefficients(&x);
            let bits = slots.trailing_zeros();
            let place = |i: usize| limbwise_math::ntt::bit_reverse(i, bits);
            let w: Vec<Complex64> =
                (0..slots).map(place).map(|i| Complex64::new(coefficients[i], coefficients[slots + i])).collect();
            for telescoped in [false, true] {
                let finish = |f: Factors| if telescoped { f.telescoped() } else { f };
                let to = finish(slot_to_coeff(slots, factors).unwrap());
                let from = finish(coeff_to_slot(slots, factors).unwrap());
                assert!(close(&apply(&to, &w), &x), "{slots} slots in {factors}, {telescoped}");
                assert!(close(&apply(&from, &x), &w), "{slots} slots in {factors}, {telescoped}");
            }
        }
    }

    #[test]
    fn diagonals_are_as_many_as_published() {
        let counts = |f: Factors| f.maps.iter().map(Diagonals::count).collect::<Vec<_>>();
        let slots = 1 << 12;
        assert_eq!(counts(slot_to_coeff(slots, 3).unwrap()), [31, 31, 16]);
        assert_eq!(counts(coeff_to_slot(slots, 3).unwrap()), [16, 31, 31]);
        let telescoped = slot_to_coeff(slots, 3).unwrap().telescoped();
        assert_eq!(telescoped.rotation.abs(), 1);
        assert!(telescoped.maps.iter().all(|m| m.first_index() == 0));
    }
}
