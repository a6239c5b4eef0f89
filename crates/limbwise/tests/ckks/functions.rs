//! Comparisons and sorting networks on encrypted slots.

use crate::common::{Dev, Session, small};
use limbwise::{
    Complex64, Error,
    ckks::{
        Ciphertext, Packing, Precision, encrypt,
        functions::{Comparison, Inverse, InverseRoot, Network, NetworkKind, Sorter},
    },
    error::FunctionError,
};

pub(crate) fn real(values: impl IntoIterator<Item = f64>) -> Vec<Complex64> {
    values.into_iter().map(Complex64::from).collect()
}

pub(crate) fn encrypted(s: &Session, rows: &[Vec<Complex64>]) -> Ciphertext<Dev> {
    let packing = Packing { slots: rows[0].len(), ..s.packing() };
    let plain = s.encoder.encode(&s.dev, rows, packing).unwrap();
    encrypt(&s.dev, &s.params, &s.public, &plain).unwrap()
}

pub(crate) fn decrypted(s: &Session, x: &Ciphertext<Dev>) -> Vec<Vec<Complex64>> {
    limbwise::ckks::decrypt(&s.dev, &s.encoder, &s.params, &s.secret, x).unwrap()
}

/// Whoever has the secret key can give values their levels back without bootstrapping.
pub(crate) fn refreshed(s: &Session, x: &Ciphertext<Dev>, levels: usize) -> limbwise::Result<Ciphertext<Dev>> {
    let x = s.auto().settle(x)?;
    if x.level >= levels {
        return Ok(x);
    }
    let rows: Vec<_> = decrypted(s, &x).iter().map(|row| real(row.iter().map(|z| z.re))).collect();
    let fresh = encrypted(s, &rows);
    Ok(Ciphertext { estimate: x.estimate.with_error(fresh.estimate.error()), ..fresh })
}

#[test]
fn comparisons_keep_their_word_outside_the_gap() {
    let s = Session::new(&small(16), &[]);
    let auto = s.auto();
    let ready = |x: &Ciphertext<Dev>, _| auto.settle(x);
    let (gap, slots) = (0.1, 64usize);
    let comparison = Comparison::new(2.0, gap, 1e-2, 4).unwrap();
    // Differences from −1.9 to 1.9; the last is zero.
    let a: Vec<f64> = (0..slots).map(|i| i as f64 / 37.0 - 0.86).collect();
    let b: Vec<f64> = (0..slots).map(|i| if i == 63 { a[63] } else { 0.137 - a[i] }).collect();
    let rows = [real(a.clone()), real(b.clone())];
    let both = rows.each_ref().map(|row| encrypted(&s, std::slice::from_ref(row)).bounded_by(1.0));
    let both = both.each_ref();
    let far = |i: usize| (a[i] - b[i]).abs() >= gap;
    assert!((0..63).filter(|&i| far(i)).count() > 55);
    let check = |what: &str, got: Ciphertext<Dev>, wanted: &dyn Fn(f64, f64) -> f64, bound: &dyn Fn(f64) -> f64| {
        for (i, z) in decrypted(&s, &got)[0].iter().enumerate().filter(|(i, _)| far(*i)) {
            let error = (z.re - wanted(a[i], b[i])).abs();
            assert!(error <= bound((a[i] - b[i]).abs()) + 1e-6, "{what}, slot {i}: {} {} {z}", a[i], b[i]);
        }
        got.level
    };
    let error = comparison.error();
    let top = s.params.top_level();
    let level =
        check("greater", comparison.greater(&auto, both, &ready).unwrap(), &|x, y| f64::from(u8::from(x > y)), &|_| {
            error
        });
    assert_eq!(level, top - comparison.levels());
    let level = check("maximum", comparison.maximum(&auto, both, &ready).unwrap(), &f64::max, &|d| error * d);
    assert_eq!(level, top - comparison.levels() - 1);
    check("minimum", comparison.minimum(&auto, both, &ready).unwrap(), &f64::min, &|d| error * d);
    check("distance", comparison.distance(&auto, both, &ready).unwrap(), &|x, y| (x - y).abs(), &|d| 2.0 * error * d);
    let equal = comparison.equal(&auto, both, &ready).unwrap();
    check("equal", equal.clone(), &|_, _| 0.0, &|_| 4.0 * error * (1.0 + error));
    assert!((decrypted(&s, &equal)[0][63].re - 1.0).abs() < 1e-5, "equal values are equal");
    // What was measured from private values must not be published, whatever was computed from it.
    assert!(both.iter().all(|x| x.estimate.is_measured()) && equal.estimate.is_measured());
    // The greater of two values with errors has the error of one of them, not more.
    let maximum = comparison.maximum(&auto, both, &ready).unwrap();
    assert!(maximum.estimate.is_measured());
    let exact: Vec<Complex64> = {
        let plan =
            |d: f64| 2.0 * (d / 2.0) * limbwise::ckks::functions::Composed::sign(&sign(gap / 2.0)).evaluate(d / 2.0);
        real((0..64).map(|i| 0.5 * (a[i] + b[i] + plan(a[i] - b[i]))))
    };
    let (got, expected) = (Precision::of(&decrypted(&s, &maximum)[0], &exact).mean, maximum.estimate.precision_bits());
    assert!((expected - 2.0..expected + 3.0).contains(&got), "{got} bits, expected {expected}");
}

fn sign(gap: f64) -> limbwise::ckks::functions::SignPlan {
    limbwise::ckks::functions::SignPlan::new(gap, 1e-2, 4).unwrap()
}

#[test]
fn what_may_leave_the_domain_is_refused_before_it_is_compared() {
    let s = Session::new(&small(6), &[]);
    let auto = s.auto();
    let x = encrypted(&s, &[real([3.0, 0.0])]).bounded_by(3.0);
    let y = encrypted(&s, &[real([0.0, 1.0])]).bounded_by(1.0);
    let comparison = Comparison::new(2.0, 0.5, 0.1, 3).unwrap();
    let refused = comparison.greater(&auto, [&x, &y], &|x, _| auto.settle(x)).err().unwrap();
    assert!(matches!(refused, Error::Function(FunctionError::Domain { function: "compare", .. })), "{refused}");
    assert_eq!(
        refused.to_string(),
        "compare: values may reach 4.000000e0, the domain ends at 2.000000e0: give a larger range, or state the bound that your values keep"
    );
    for (range, gap, error) in
        [(1.0, 1e-12, 1e-12), (1.0, 2.0, 0.1), (0.0, 0.1, 0.1), (1.0, f64::NAN, 0.1), (1.0, 0.1, 0.0)]
    {
        assert!(matches!(Comparison::new(range, gap, error, 2), Err(Error::Function(FunctionError::Gap { .. }))));
    }
}

#[test]
fn networks_sort_slots_and_carry_columns_along() {
    let steps: Vec<i64> = (0..6).flat_map(|i| [1 << i, -(1 << i)]).collect();
    let s = Session::new(&small(16), &steps);
    let auto = s.auto();
    let comparison = Comparison::new(1.0, 1.0 / 32.0, 1e-3, 4).unwrap();
    for (kind, count, most) in [
        (NetworkKind::KWay(2), 8, 8),
        (NetworkKind::Bitonic, 8, 8),
        (NetworkKind::KWay(3), 9, 16),
        (NetworkKind::KWay(4), 16, 16),
        (NetworkKind::KWay(5), 25, 64),
        // Networks without room are their first positions, with groups that lack members.
        (NetworkKind::KWay(3), 12, 16),
        (NetworkKind::KWay(5), 30, 32),
    ] {
        let network = Network::within(kind, count, most).unwrap();
        assert_eq!(network.count, count);
        let sorter = Sorter::new(&comparison, &network).unwrap();
        let slots = Sorter::slots(&network);
        let key = |p: usize| ((p * 7 + 3) % count) as f64 / 32.0 + 0.05;
        let column = |p: usize| ((p * 5 + 1) % count) as f64 / 32.0;
        let filled = |of: &dyn Fn(usize) -> f64| real((0..slots).map(|p| if p < count { of(p) } else { 0.0 }));
        let rows = [filled(&key), filled(&column)];
        let mut x = encrypted(&s, &rows).bounded_by(1.0);
        let mut twin: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|z| z.re).collect()).collect();
        let ready = |x: &Ciphertext<Dev>, levels| refreshed(&s, x, levels);
        assert!(sorter.levels() <= s.params.top_level());
        for stage in &network.stages {
            x = sorter.stage(&auto, &x, stage, &ready).unwrap();
            sorter.stage_in_clear(&mut twin, stage);
        }
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&p, &q| key(p).total_cmp(&key(q)));
        let got = decrypted(&s, &x);
        for (at, &from) in order.iter().enumerate() {
            let errors = [got[0][at].re - key(from), got[1][at].re - column(from)];
            assert!(errors.iter().all(|e| e.abs() < 0.01), "{kind:?}, position {at}: {errors:?}");
        }
        // A sorter at an end of the network sends what is missing to its place, but for the error of the step.
        assert!((count..slots).all(|p| got[0][p].norm() < 0.01), "{kind:?}: slots beyond the network stay empty");
        let twin: Vec<Complex64> = twin.iter().flat_map(|row| real(row.iter().copied())).collect();
        let (got, expected) = (Precision::of(&got.concat(), &twin).mean, x.estimate.precision_bits());
        assert!((expected - 1.0..expected + 2.0).contains(&got), "{kind:?}: {got} bits, expected {expected}");
    }
}

#[test]
fn inverses_and_roots_say_how_near_they_come() {
    let s = Session::new(&small(16), &[]);
    let auto = s.auto();
    let ready = |x: &Ciphertext<Dev>, _| auto.settle(x);
    for (from, to) in [(0.25, 1.0), (1.0 / 64.0, 1.0), (1.0, 40.0)] {
        let values: Vec<f64> = (0..512).map(|i| from + (to - from) * (f64::from(i) + 0.5) / 512.0).collect();
        let x = encrypted(&s, &[real(values.iter().copied())]).bounded_by(to);
        let (inverse, root) = (Inverse::new(from, to, 1e-5).unwrap(), InverseRoot::new(from, to, 1e-5).unwrap());
        let y = inverse.apply(&auto, &x, &ready).unwrap();
        assert_eq!(y.level, s.params.top_level() - inverse.levels());
        let [sqrt, of_sqrt] = root.apply(&auto, &x, &ready).unwrap();
        let levels = [root.levels(), root.inverse_levels()];
        assert_eq!([sqrt.level, of_sqrt.level], levels.map(|levels| s.params.top_level() - levels));
        let clear = |f: &dyn Fn(f64) -> f64| real(values.iter().map(|&x| f(x)));
        let results = [
            ("inverse", y, clear(&|x| inverse.evaluate(x))),
            ("root", sqrt, clear(&|x| root.evaluate(x)[0])),
            ("inverse root", of_sqrt, clear(&|x| root.evaluate(x)[1])),
        ];
        for (what, z, wanted) in results {
            let got = Precision::of(&decrypted(&s, &z)[0], &wanted).mean;
            let expected = z.estimate.precision_bits();
            assert!(
                (expected - 2.0..expected + 4.0).contains(&got),
                "{what} on [{from}, {to}]: {got} bits, expected {expected}"
            );
        }
    }
    // Where all values are at the steep end every error is far above the mean over the interval.
    for from in [1.0 / 256.0, 1.0 / 1024.0] {
        let x = encrypted(&s, &[real([from; 512])]).bounded_by(1.0);
        let (inverse, root) = (Inverse::new(from, 1.0, 1e-5).unwrap(), InverseRoot::new(from, 1.0, 1e-5).unwrap());
        let [_, of_sqrt] = root.apply(&auto, &x, &ready).unwrap();
        for (z, wanted) in [(inverse.apply(&auto, &x, &ready).unwrap(), from.recip()), (of_sqrt, from.sqrt().recip())] {
            let got = decrypted(&s, &z);
            let worst = got[0].iter().map(|z| (z.re / wanted - 1.0).abs()).fold(0.0, f64::max);
            assert!(worst < 0.01, "{worst} of {wanted}");
        }
    }
    let beyond = encrypted(&s, &[real([2.0])]).bounded_by(2.0);
    let refused = Inverse::new(0.5, 1.0, 0.1).unwrap().apply(&auto, &beyond, &ready).err().unwrap();
    assert!(refused.to_string().starts_with("inverse: values may reach 2.0"), "{refused}");
}
