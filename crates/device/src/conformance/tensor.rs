//! Products before relinearization.

use super::{expect, map2, upload, words};
use crate::{
    composites,
    ops::HostRead,
    ring::{Ring, Shape},
};
use limbwise_math::modulus::Modulus;

/// Products and squares of pairs, doubled and added to, operands of both batches, against the definition.
pub(super) fn tensors<D: HostRead>(dev: &D, ring: &Ring) {
    let one = Shape::eval(ring, ring.full());
    let two = one.with_batch(2);
    let shapes = [&two, &two, &one, &one, &one, &one, &two, &two];
    let x: Vec<Vec<u64>> = (60..).zip(shapes).map(|(label, shape)| words(shape, label)).collect();
    let polys: Vec<D::Poly> = x.iter().zip(shapes).map(|(x, shape)| upload(dev, shape, x)).collect();
    let constant = |i: u64| ring.moduli().iter().map(|q| q.value() - 1 - i * (q.value() / 7)).collect();
    let constants: Vec<Vec<u64>> = (0..2).map(constant).collect();
    let product = |a: usize, b: usize| map2(&two, &x[a], &x[b], Modulus::mul);
    for (square, doublings, pairs) in [(false, 0, 0), (true, 0, 0), (false, 1, 1), (true, 2, 2), (false, 0, 2)] {
        let [y0, y1] = if square { [0, 1] } else { [2, 3] };
        let middle = map2(&two, &product(0, y1), &product(1, y0), Modulus::add);
        let mut expected = [product(0, y0), middle, product(1, y1)];
        for _ in 0..doublings {
            expected = expected.map(|part| map2(&two, &part, &part, Modulus::add));
        }
        for (i, term) in x[4..4 + 2 * pairs].iter().enumerate() {
            let spread: Vec<u64> = constants[i / 2].iter().flat_map(|&c| std::iter::repeat_n(c, ring.n())).collect();
            let term = map2(&two, term, &spread, Modulus::mul);
            expected[i % 2] = map2(&two, &expected[i % 2], &term, Modulus::add);
        }
        let all: Vec<&D::Poly> = polys.iter().collect();
        let (x, y, terms) = (&all[..2], if square { &[] } else { &all[2..4] }, &all[4..4 + 2 * pairs]);
        let got = dev.tensor(x, y, doublings, terms, &constants[..pairs]);
        let default = composites::tensor(dev, x, y, doublings, terms, &constants[..pairs]);
        assert!(got.len() == 3 && default.len() == 3, "three polynomials");
        for ((got, default), expected) in got.iter().zip(&default).zip(&expected) {
            expect(dev, "tensor", got, &two, expected);
            expect(dev, "tensor, default", default, &two, expected);
        }
    }
}
