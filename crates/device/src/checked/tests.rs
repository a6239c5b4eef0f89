//! Violations of contracts are named.

use super::*;
use crate::Null;
use limbwise_math::prime::ntt_primes_below;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn violations_are_named() {
    let dev = Checked(Null::default());
    let ring = dev.ring(&RingSpec { log_n: 10, primes: ntt_primes_below(10, 40, 4, &[]).unwrap() }).unwrap();
    let shape = Shape::eval(&ring, Basis::range(0, 3));
    let a = dev.zeros(&shape);
    let narrow = dev.restrict(&a, Basis::range(0, 2));
    let two = dev.stack(&[&a, &a]);
    let weighted = |i, w| dev.weighted_sums(std::slice::from_ref(&a), &[vec![(i, w)]]);
    let key = GadgetKey { digits: vec![shape.basis], special: Basis::single(3), pairs: Vec::new() };
    let combined = |b, constants: &[Vec<u64>]| drop(dev.linear_combination(&[&a, b], constants));
    let matrix = IntegerMatrix::new(1, 2, vec![1, -1]).unwrap();
    let cases: [(&str, &dyn Fn()); 27] = [
        ("matrix_product: an operand for each of 2", &|| drop(dev.matrix_product(&a, &matrix))),
        ("add: operands share a basis", &|| drop(dev.add(&a, &narrow))),
        ("ntt: needs coefficient domain", &|| drop(dev.ntt(a.clone()))),
        ("basis_convert: needs coefficient domain", &|| drop(dev.basis_convert(&a, Basis::single(3)))),
        ("join: bases are disjoint", &|| drop(dev.join(&[&a, &narrow]))),
        ("restrict: 0x8 is a part", &|| drop(dev.restrict(&a, Basis::single(3)))),
        ("mul_acc: an operand is not larger", &|| dev.mul_acc(&mut a.clone(), &two, &a)),
        ("scale_limbs: one constant a limb", &|| drop(dev.scale_limbs(a.clone(), &[1]))),
        ("scale_limbs: constants are residues", &|| drop(dev.scale_limbs(a.clone(), &[1, 1, u64::MAX]))),
        ("reduce: one limb", &|| drop(dev.reduce(&dev.intt(narrow.clone()), Basis::single(3)))),
        ("extend_limb: one limb", &|| drop(dev.extend_limb(&dev.intt(narrow.clone()), Basis::single(3)))),
        ("key_switch_onto: the result has no special", &|| {
            drop(dev.key_switch_onto(&a, &key, [None; 2], Basis::single(3)));
        }),
        ("key_switch_onto: drops limbs", &|| {
            drop(dev.key_switch_onto(&narrow, &key, [None; 2], shape.basis));
        }),
        ("key_switch_onto: operands share a basis", &|| {
            drop(dev.key_switch_onto(&a, &key, [None, Some(&narrow)], shape.basis));
        }),
        ("key_switch_undivided: operands share a basis", &|| {
            drop(dev.key_switch_undivided(&a, &key, [Some(&a), None]));
        }),
        ("rotated_sums: the first half is over Q or QP", &|| {
            let rotation = Rotation { galois: GaloisElement::rotation(1, 10), key: key.clone() };
            drop(dev.rotated_sums(&a, &narrow, &[rotation], &[], &[]));
        }),
        ("weighted_sums: operands share a basis", &|| drop(weighted(0, Weight::Values(&narrow)))),
        ("weighted_sums: needs coefficient domain", &|| drop(weighted(0, Weight::OneLimb(&narrow)))),
        ("weighted_sums: term 1 of 1", &|| drop(weighted(1, Weight::Values(&a)))),
        ("tensor: a product of pairs", &|| drop(dev.tensor(&[&a], &[], 0, &[], &[]))),
        ("tensor: operands share a basis", &|| drop(dev.tensor(&[&a, &a], &[&a, &narrow], 0, &[], &[]))),
        ("tensor: both of a pair have one batch", &|| drop(dev.tensor(&[&a, &two], &[], 0, &[], &[]))),
        ("tensor: a term is not larger", &|| drop(dev.tensor(&[&a, &a], &[], 0, &[&two, &two], &[vec![1; 3]]))),
        ("tensor: constants for each of 1 pairs", &|| drop(dev.tensor(&[&a, &a], &[], 0, &[&a, &a], &[]))),
        ("linear_combination: operands share a basis", &|| combined(&narrow, &[vec![1; 3], vec![1; 2]])),
        ("linear_combination: constants are residues", &|| combined(&two, &[vec![1; 3], vec![u64::MAX; 3]])),
        ("linear_combination: constants for each of 2 terms", &|| combined(&two, &[vec![1; 3]])),
    ];
    for (expected, case) in cases {
        let panic = catch_unwind(AssertUnwindSafe(case)).unwrap_err();
        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(text.contains(expected), "{text:?} should say {expected:?}");
    }
}

#[test]
fn violations_of_tfhe_are_named() {
    let dev = Checked(Null::default());
    let ring = dev.ring(&RingSpec { log_n: 10, primes: ntt_primes_below(10, 40, 2, &[]).unwrap() }).unwrap();
    let limb = Shape::eval(&ring, Basis::single(0)).with_domain(Domain::Coeff);
    let (a, wide) = (dev.zeros(&limb), dev.zeros(&limb.with_basis(ring.full())));
    let lwe = |dimension, modulus, batch| {
        dev.upload_lwe(LweShape { dimension, modulus, batch }, Role::Temporary, &|_, _| unreachable!())
    };
    let (e, other) = (lwe(4, 2048, 3), lwe(4, 1024, 3));
    let gadget = Gadget { base_log: 10, levels: 2 };
    let key = |batch: usize| {
        let part = dev.zeros(&limb.with_domain(Domain::Eval).with_batch(batch));
        Ggsw { gadget, rows: vec![vec![part; 2]; 4] }
    };
    let cases: [(&str, &dyn Fn()); 10] = [
        ("monomial_mul: has one limb", &|| drop(dev.monomial_mul(&wide, &e, 0))),
        ("monomial_mul: exponents are modulo 2N", &|| drop(dev.monomial_mul(&a, &other, 0))),
        ("monomial_mul: there is a word 5", &|| drop(dev.monomial_mul(&a, &e, 5))),
        ("decompose: 5 digits of 10 bits fit", &|| drop(dev.decompose(&a, Gadget { base_log: 10, levels: 5 }))),
        ("lwe_add: operands share dimension and modulus", &|| drop(dev.lwe_add(&e, &other))),
        ("lwe_scale: the constant is a residue", &|| drop(dev.lwe_scale(&e, 2048))),
        ("lwe_product: a row for each word", &|| drop(dev.lwe_product(&e, &e))),
        ("sample_extract: places [1024] are below N", &|| drop(dev.sample_extract(&[&a, &a], &[1024]))),
        ("lwe_embed: component 2 over N = 1024", &|| drop(dev.lwe_embed(&e, &ring, Basis::single(0), 2))),
        ("blind_rotate: a key for each of 4 words", &|| drop(dev.blind_rotate(&a, &e, &key(3)))),
    ];
    for (expected, case) in cases {
        let panic = catch_unwind(AssertUnwindSafe(case)).unwrap_err();
        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(text.contains(expected), "{text:?} should say {expected:?}");
    }
    assert_eq!(dev.blind_rotate(&a, &e, &key(4))[1].shape().batch, 3);
}
