//! Weighted sums of polynomials, and the limbs that are extended for them.

use super::{composites, expect, upload, words};
use crate::{
    ops::{HostRead, Weight},
    ring::{Basis, Domain, Ring, Shape},
};
use limbwise_math::ntt::NttTable;

/// The limb that [`sums`] extends: its shape and words.
fn limb_of(ring: &Ring) -> (Shape, Vec<u64>) {
    let coeff = Shape::eval(ring, Basis::single(1)).with_domain(Domain::Coeff);
    let x = words(&coeff, 31);
    (coeff, x)
}

/// Limbs extended for weighted sums, against the definition of the lift.
pub(super) fn extended_limbs<D: HostRead>(dev: &D, ring: &Ring) {
    let ((coeff, x), q) = (limb_of(ring), ring.moduli()[1]);
    let limb = upload(dev, &coeff, &x);
    for to in [ring.full(), ring.full() - Basis::single(1), Basis::single(1)] {
        let shape = Shape::eval(ring, to);
        let mut values: Vec<u64> =
            ring.moduli_of(to).iter().flat_map(|p| x.iter().map(|&v| p.from_i64(q.centered(v)))).collect();
        for (row, &p) in values.chunks_exact_mut(ring.n()).zip(&ring.moduli_of(to)) {
            NttTable::new(p, ring.log_n()).forward(row);
        }
        expect(dev, "extend_limb", &dev.extend_limb(&limb, to), &shape, &values);
    }
}

/// Weighted sums against the default bodies.
pub(super) fn sums<D: HostRead>(dev: &D, ring: &Ring) {
    let (coeff, x) = limb_of(ring);
    let limb = upload(dev, &coeff, &x);
    let one = Shape::eval(ring, ring.full());
    let two = one.with_batch(2);
    let terms: Vec<D::Poly> = (32..35).map(|label| upload(dev, &two, &words(&two, label))).collect();
    let (w, v) = (upload(dev, &one, &words(&one, 35)), upload(dev, &two, &words(&two, 36)));
    let (w, v, limb) = (Weight::Values(&w), Weight::Values(&v), Weight::OneLimb(&limb));
    let one = Weight::One;
    let rows = [
        vec![(0, w), (1, v), (2, limb)],
        vec![(2, w)],
        vec![(1, limb), (1, w), (0, v)],
        vec![(2, one)],
        vec![(0, one), (1, one), (0, one)],
        vec![(0, one), (1, w), (2, one), (2, limb)],
        vec![(1, v), (0, one)],
        vec![(1, limb), (2, one)],
    ];
    let got = dev.weighted_sums(&terms, &rows);
    let expected = composites::weighted_sums(dev, &terms, &rows);
    assert_eq!(got.len(), rows.len(), "weighted_sums: one result a sum");
    for (got, want) in got.iter().zip(&expected) {
        expect(dev, "weighted_sums", got, &two, &dev.download(want).expect("no fault"));
    }
}
