//! How a series is divided before anything is computed: the division with the fewest relinearizations.
//!
//! p = q·B_m + r for m a power of two, q and r divided in their turn, down to sums of few terms. A product is an operand of
//! the next one only where it is a quotient, so only quotients that are products are relinearized, and every B_k.

use num_complex::Complex64;
use std::collections::BTreeSet;

/// The polynomials that a sum is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// T_k, for real arguments in [−1, 1].
    Chebyshev,
    /// i^k·T_k: with real coefficients a series whose even part is real and whose odd part is imaginary.
    Turned,
    /// z^k, for arguments on the unit circle.
    Power,
}

impl Kind {
    /// The sign of B_{a−b} in `B_{a+b} = 2·B_a·B_b − sign·B_{a−b}`; `None` for `B_{a+b} = B_a·B_b`.
    pub(super) fn mirrored(self, b: usize) -> Option<f64> {
        match self {
            Self::Chebyshev => Some(1.0),
            Self::Turned => Some(if b.is_multiple_of(2) { 1.0 } else { -1.0 }),
            Self::Power => None,
        }
    }

    /// Quotient and remainder by the m-th polynomial, for m ≤ deg p < 2m.
    fn divided(self, p: &[Complex64], m: usize) -> [Vec<Complex64>; 2] {
        let mut remainder = p[..m].to_vec();
        let mut quotient = vec![p[m]];
        for (j, &c) in (1..).zip(&p[m + 1..]) {
            match self.mirrored(j) {
                None => quotient.push(c),
                Some(sign) => {
                    quotient.push(2.0 * c);
                    remainder[m - j] -= sign * c;
                }
            }
        }
        [quotient, remainder]
    }
}

/// The two polynomials whose product gives the k-th: a the largest power of two below k, so that the depth is ⌈log₂ k⌉.
pub(super) fn factors(k: usize) -> [usize; 2] {
    let a = k.next_power_of_two() / 2;
    [a, k - a]
}

/// Levels that a polynomial of the basis is below its argument: ⌈log₂ k⌉.
fn depth_of(k: usize) -> usize {
    k.next_power_of_two().trailing_zeros() as usize
}

/// A series as it is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// `Σ p_k·B_k`.
    Sum(Vec<Complex64>),
    /// `high·B_by + low`.
    Product { high: Box<Part>, by: usize, low: Box<Part> },
}

impl Part {
    /// The division with the fewest relinearizations, and of these the one with the fewest products, of a series that is
    /// evaluated `below` levels under its argument.
    pub(super) fn of(kind: Kind, p: &[Complex64], below: usize) -> Self {
        let longest = p.len().next_power_of_two().trailing_zeros();
        let all = (1..=longest.max(1)).map(|log| Self::with_sums(kind, p, 1 << log, below));
        all.min_by_key(|part| part.cost(kind)).expect("there is one division at least")
    }

    /// With sums of polynomials below `babies`, where these are there so early.
    fn with_sums(kind: Kind, p: &[Complex64], babies: usize, below: usize) -> Self {
        let length = p.iter().rposition(|c| *c != Complex64::default()).map_or(1, |last| last + 1);
        let p = &p[..length];
        let degree = length - 1;
        if degree <= 1 || (degree < babies && depth_of(degree) <= below) {
            return Self::Sum(p.to_vec());
        }
        let m = length.next_power_of_two() / 2;
        let [quotient, remainder] = kind.divided(p, m);
        if quotient.len() == 1 {
            let mut whole = Self::with_sums(kind, &remainder, babies, below);
            whole.add(m, quotient[0]);
            return whole;
        }
        let high = Box::new(Self::with_sums(kind, &quotient, babies, below - 1));
        Self::Product { high, by: m, low: Box::new(Self::with_sums(kind, &remainder, babies, below)) }
    }

    /// Adds `c·B_k` to the sum at its end.
    fn add(&mut self, k: usize, c: Complex64) {
        match self {
            Self::Product { low, .. } => low.add(k, c),
            Self::Sum(p) => {
                p.resize(p.len().max(k + 1), Complex64::default());
                p[k] += c;
            }
        }
    }

    /// Relinearizations and products.
    fn cost(&self, kind: Kind) -> [usize; 2] {
        let mut powers = BTreeSet::new();
        let [relinearized, products] = self.count(kind, &mut powers);
        let last = usize::from(matches!(self, Self::Product { .. }));
        [powers.len() + relinearized + last, powers.len() + products]
    }

    /// Relinearizations of quotients, and products; with the polynomials of the basis that are needed.
    fn count(&self, kind: Kind, powers: &mut BTreeSet<usize>) -> [usize; 2] {
        match self {
            Self::Sum(p) => {
                (2..p.len()).filter(|&k| p[k] != Complex64::default()).for_each(|k| require(kind, k, powers));
                [0, 0]
            }
            Self::Product { high, by, low } => {
                require(kind, *by, powers);
                let [above, of_high] = high.count(kind, powers);
                let [below, of_low] = low.count(kind, powers);
                let operand = usize::from(matches!(**high, Self::Product { .. }));
                [above + below + operand, of_high + of_low + 1]
            }
        }
    }
}

/// What the k-th polynomial of the basis takes, itself included.
fn require(kind: Kind, k: usize, powers: &mut BTreeSet<usize>) {
    if k <= 1 || !powers.insert(k) {
        return;
    }
    let [a, b] = factors(k);
    let less = if kind == Kind::Power { 0 } else { a - b };
    [a, b, less].into_iter().for_each(|k| require(kind, k, powers));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(p: &[f64]) -> Vec<Complex64> {
        p.iter().map(|&c| c.into()).collect()
    }

    /// B_k(x).
    fn basis(kind: Kind, k: usize, x: Complex64) -> Complex64 {
        let angle = x.re.acos();
        let turned = Complex64::i().powu(u32::try_from(k).unwrap());
        match kind {
            Kind::Chebyshev => (angle * k as f64).cos().into(),
            Kind::Turned => turned * (angle * k as f64).cos(),
            Kind::Power => x.powu(u32::try_from(k).unwrap()),
        }
    }

    fn value(kind: Kind, part: &Part, x: Complex64) -> Complex64 {
        match part {
            Part::Sum(p) => p.iter().enumerate().map(|(k, c)| c * basis(kind, k, x)).sum(),
            Part::Product { high, by, low } => value(kind, high, x) * basis(kind, *by, x) + value(kind, low, x),
        }
    }

    /// Whether sums stand where their polynomials are there already.
    fn fits(part: &Part, below: usize) -> bool {
        match part {
            Part::Sum(p) => depth_of(p.len() - 1) <= below,
            Part::Product { high, by, low } => depth_of(*by) <= below && fits(high, below - 1) && fits(low, below),
        }
    }

    #[test]
    fn divisions_have_the_values_of_their_series() {
        for degree in [1usize, 2, 3, 4, 7, 8, 12, 15, 16, 31, 63, 127] {
            let p: Vec<Complex64> = (0..=degree).map(|k| (1.0 / (1.0 + k as f64)).into()).collect();
            let below = (degree + 1).next_power_of_two().trailing_zeros().max(1) as usize - 1;
            for kind in [Kind::Chebyshev, Kind::Turned, Kind::Power] {
                for log in 1..8 {
                    let part = Part::with_sums(kind, &p, 1 << log, below);
                    assert!(fits(&part, below), "{degree} {kind:?} {part:?}");
                    let x = Complex64::new(0.37, 0.0);
                    let wanted: Complex64 = p.iter().enumerate().map(|(k, c)| c * basis(kind, k, x)).sum();
                    let got = value(kind, &part, x);
                    assert!((got - wanted).norm() < 1e-10, "{degree} {kind:?} {log}: {got} {wanted}");
                }
            }
        }
    }

    #[test]
    fn few_products_are_relinearized() {
        // Nothing cancels.
        let dense = |degree: usize| real(&(0..=degree).map(|k| 1.0 / (1.0 + k as f64)).collect::<Vec<_>>());
        let odd = |degree: usize| real(&(0..=degree).map(|k| (k % 2) as f64 / (1.0 + k as f64)).collect::<Vec<_>>());
        // T_2, T_3, T_4, T_8, T_16; three quotients; one quotient more for the depth; the last.
        assert_eq!(Part::of(Kind::Turned, &dense(31), 4).cost(Kind::Turned), [10, 13]);
        assert_eq!(Part::of(Kind::Chebyshev, &odd(15), 3).cost(Kind::Chebyshev), [7, 8]);
        assert_eq!(Part::of(Kind::Chebyshev, &dense(3), 1).cost(Kind::Chebyshev), [2, 2]);
        // What is zero is not computed.
        let sparse = real(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(Part::of(Kind::Chebyshev, &sparse, 3).cost(Kind::Chebyshev), [2, 2]);
    }
}
