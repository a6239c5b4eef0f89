//! Divisions to a basis with primes that the operand lacks.

use super::{expect, upload};
use crate::{
    composites,
    ops::{GadgetKey, Handle, HostRead},
    ring::Basis,
};

/// From levels that lack the first prime, or the second, to one that has it: every override against the default bodies, and
/// these against exact integers.
pub(super) fn to_new_primes<D: HostRead>(dev: &D, c: &D::Poly, key: &GadgetKey<D::Poly>) {
    let (chain, to) = (c.shape().basis, Basis::range(0, 2));
    let same = |op: &str, got: &D::Poly, want: &D::Poly| {
        expect(dev, op, got, want.shape(), &dev.download(want).expect("no fault"));
    };
    for new in [0, 1] {
        let from = chain - Basis::single(new);
        let c = dev.restrict(c, from);
        same("rescale to a new prime", &dev.rescale(&c, to), &composites::rescale(dev, &c, to));
        same("mod_down to a new prime", &dev.mod_down(&c, to), &composites::mod_down(dev, &c, to));
        let digits: Vec<Basis> = key.digits.iter().map(|&digit| digit & from).filter(|d| !d.is_empty()).collect();
        let part = |half: &D::Poly| dev.restrict(half, from | key.special);
        let pairs = key.pairs.iter().take(digits.len()).map(|pair| pair.each_ref().map(part)).collect();
        let key = GadgetKey { digits, special: key.special, pairs };
        for onto in [[None, None], [Some(&c), None], [Some(&c), Some(&c)]] {
            let got = dev.key_switch_onto(&c, &key, onto, to);
            let expected = composites::key_switch_onto(dev, &c, &key, onto, to);
            got.iter().zip(&expected).for_each(|(got, want)| same("key_switch_onto to a new prime", got, want));
        }
        is_rounded(dev, &c, new);
    }
}

/// With one prime p dropped and one prime g new, `m·p + e` becomes `m·g + round(e·g/p)`.
fn is_rounded<D: HostRead>(dev: &D, like: &D::Poly, new: usize) {
    let (ring, from) = (&like.shape().ring, like.shape().basis);
    let dropped = from.iter().next_back().expect("a basis has a prime");
    let to = (from | Basis::single(new)) - Basis::single(dropped);
    let [p, g] = [dropped, new].map(|i| i128::from(ring.spec().primes[i]));
    let shape = like.shape().with_basis(from).with_batch(1);
    for (m, e) in [(0, 0), (1, 0), (-7, 0), (3, 1), (-5, -1), (12, p / 3), (-1, -(p / 3)), (2, p / 2), (9, -(p / 2))] {
        let quotient = m * g + (2 * e * g + p).div_euclid(2 * p);
        let words = |basis: Basis, x: i128| -> Vec<u64> {
            let residue = |i: usize| u64::try_from(x.rem_euclid(ring.spec().primes[i].into())).expect("a residue");
            basis.iter().flat_map(|i| vec![residue(i); ring.n()]).collect()
        };
        let a = upload(dev, &shape, &words(from, m * p + e));
        for (op, got) in [("rescale", dev.rescale(&a, to)), ("mod_down", dev.mod_down(&a, to))] {
            expect(dev, &format!("{op} of {m}·p + {e}"), &got, &shape.with_basis(to), &words(to, quotient));
        }
    }
}
