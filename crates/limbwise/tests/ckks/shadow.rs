//! Shadows follow every operation, and the probe names the one that goes wrong.

use crate::common::{Session, small, uniform};
use limbwise::ckks::{Packing, Probe, encrypt};
use limbwise_device::Device as _;

#[test]
fn every_operation_computes_on_both() {
    let s = Session::new(&small(6), &[1, 2]);
    let packing = Packing { slots: 64, ..s.packing() };
    let batch = [uniform(64, "a"), uniform(64, "b")];
    let plain = s.encoder.encode(&s.dev, &batch, packing).unwrap().with_shadow(&batch);
    let a = encrypt(&s.dev, &s.params, &s.public, &plain).unwrap();
    let auto = s.auto();
    let eval = &auto.eval;
    let square = auto.settle(&auto.square(&a).unwrap()).unwrap();
    let sum = eval.inner_sum(&square, 1, 3).unwrap();
    let mixed = auto.weighted_sum(&[(0.5, &sum), (1.0, &a), (-2.0, &square)]).unwrap();
    let product = auto.mul(&mixed, &eval.conjugate(&a).unwrap()).unwrap();
    let one = eval.batch_sum(&auto.settle(&product).unwrap()).unwrap();
    let values = auto.add_values(&auto.mul_values(&one, &uniform(64, "v")).unwrap(), &uniform(64, "w")).unwrap();
    let shifted = auto.add_scalar(&eval.negate(&values), 0.75);
    let there_and_back = eval.sub_plain(&eval.add_plain(&a, &plain).unwrap(), &plain).unwrap();
    let scaled = eval.mul_plain(&a, &plain).unwrap();
    let probe = Probe { dev: &s.dev, encoder: &s.encoder, params: &s.params, secret: &s.secret };
    let all = [
        ("sum", &sum),
        ("mixed", &mixed),
        ("product", &product),
        ("shifted", &shifted),
        ("plain", &there_and_back),
        ("scaled", &scaled),
    ];
    for (name, c) in all {
        let precision = probe.precision(c).unwrap().expect("a shadow");
        assert!(precision.mean > 18.0, "{name}: {precision:?}");
    }
    let real = auto.weighted_sum(&[(0.5, &a), (0.5, &eval.conjugate(&a).unwrap())]).unwrap();
    let polynomial = auto.chebyshev_unit(&real, &[0.1, 0.5, 0.0, 0.2]).unwrap();
    assert!(probe.precision(&polynomial).unwrap().unwrap().mean > 18.0);
    // A ciphertext spoiled on the way is found out.
    let mut spoiled = square.clone();
    spoiled.parts[0] = s.dev.add(&spoiled.parts[0], &spoiled.parts[1]);
    assert!(probe.precision(&spoiled).is_err());
    // What meets a value without a shadow has none.
    assert_eq!(probe.precision(&eval.add(&a, &s.encrypt(&uniform(64, "x"))).unwrap()).unwrap(), None);
}
