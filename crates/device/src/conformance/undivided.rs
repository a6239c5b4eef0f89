//! Composites that are not divided by P.

use super::{expect, upload, words};
use crate::{
    composites,
    ops::{GadgetKey, Handle as _, HostRead, Rotation, Weight},
    ring::{Domain, Shape},
};
use limbwise_math::galois::GaloisElement;

/// Key switches that stay over QP, and sums of rotations, against the default bodies.
pub(super) fn composites_over_qp<D: HostRead>(dev: &D, c: &D::Poly, d: &D::Poly, key: &GadgetKey<D::Poly>) {
    let (ring, special) = (&c.shape().ring, key.special);
    let both = Shape::eval(ring, ring.full()).with_batch(2 * c.shape().batch);
    let whole = upload(dev, &both, &words(&both, 61));
    let half = dev.split(&whole, 0, c.shape().batch);
    let same = |op: &str, got: &[D::Poly], want: &[D::Poly]| {
        assert_eq!(got.len(), want.len(), "{op}");
        for (got, want) in got.iter().zip(want) {
            expect(dev, op, got, want.shape(), &dev.download(want).expect("no fault"));
        }
    };
    for onto in [[None; 2], [Some(&half), None], [Some(&half), Some(&half)]] {
        let expected = composites::key_switch_undivided(dev, c, key, onto);
        same("key_switch_undivided", &dev.key_switch_undivided(c, key, onto), &expected);
    }
    let one = Shape::eval(ring, ring.full());
    let (w, v) = (upload(dev, &one, &words(&one, 62)), upload(dev, &both, &words(&both, 63)));
    let limb = Shape::eval(ring, special).with_domain(Domain::Coeff);
    let limb = upload(dev, &limb, &words(&limb, 64));
    let rotations: Vec<Rotation<D::Poly>> = [1, -3, 8, 100]
        .map(|steps| Rotation { galois: GaloisElement::rotation(steps, ring.log_n()), key: key.clone() })
        .into();
    let plain = |i| (i, Weight::Values(&w));
    let sums = [vec![plain(0), plain(4)], (0..5).map(plain).collect(), vec![plain(4)], vec![plain(3)]];
    let others = [vec![plain(1), (4, Weight::Values(&v))], vec![(2, Weight::OneLimb(&limb)), plain(0)]];
    let one = |i| (i, Weight::One);
    let alone = [vec![one(0), one(4), one(2)], vec![one(4), one(1)], vec![one(3)], vec![one(1), one(4), one(0)]];
    let mixed = [vec![one(0), plain(1), one(4)], vec![one(2), (2, Weight::OneLimb(&limb))]];
    for onto in [d, &half] {
        for sums in [&sums[..], &others[..], &alone[..], &mixed[..]] {
            let run = |default: bool| match default {
                true => composites::rotated_sums(dev, c, onto, &rotations, std::slice::from_ref(&whole), sums),
                false => dev.rotated_sums(c, onto, &rotations, std::slice::from_ref(&whole), sums),
            };
            same("rotated_sums", &run(false), &run(true));
        }
    }
    let sums = [vec![(0, Weight::Values(&w))]];
    let expected = dev.weighted_sums(std::slice::from_ref(&whole), &sums);
    same("rotated_sums", &dev.rotated_sums(c, d, &[], std::slice::from_ref(&whole), &sums), &expected);
}
