//! Shadows follow every operation, and the probe names the one that goes wrong.

use crate::common::{Dev, Session, small, uniform};
use limbwise::{
    Result,
    ckks::{
        Audit, Auto, Ciphertext, Evaluator, Packing, Probe, Shadow, ShadowBound, ShadowReport, audit::Wrong, encrypt,
        functions::Smooth,
    },
    rlwe::{EvaluationKey, KeyName, KeyStore},
};
use limbwise_device::Device as _;
use limbwise_math::galois::GaloisElement;

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

/// Evaluates under audit, on real inputs in [−1, 1] with shadows.
fn audited(
    s: &Session,
    keys: &dyn KeyStore<Dev>,
    bound: ShadowBound,
    program: impl FnOnce(&Auto<'_, Dev>, &Ciphertext<Dev>) -> Result<Ciphertext<Dev>>,
) -> ShadowReport {
    s.dev.0.keep_regions();
    let real = [uniform(64, "a").into_iter().map(|z| z.re.into()).collect::<Vec<_>>()];
    let plain = s.encoder.encode(&s.dev, &real, Packing { slots: 64, ..s.packing() }).unwrap().with_shadow(&real);
    let a = encrypt(&s.dev, &s.params, &s.public, &plain).unwrap();
    let probe = Probe { dev: &s.dev, encoder: &s.encoder, params: &s.params, secret: &s.secret };
    let audit = Audit::new(probe, bound);
    let eval = Evaluator::new(&s.dev, &s.params, keys).with_watch(Some(&audit));
    program(&Auto::new(eval, &s.encoder), &a).unwrap();
    audit.report()
}

/// Sums of squares, a polynomial of them, a conjugation.
fn whole(auto: &Auto<'_, Dev>, a: &Ciphertext<Dev>) -> Result<Ciphertext<Dev>> {
    let _region = auto.eval.device().region("iteration", 3);
    let sum = auto.inner_sum(&auto.square(a)?, 1, 4)?;
    let few = auto.weighted_sum(&[(0.25, &sum)])?.bounded_by(1.0);
    auto.conjugate(&auto.chebyshev_unit(&few, &[0.1, 0.5, 0.0, 0.2])?)
}

#[test]
fn what_is_right_is_found_right_region_by_region() {
    let s = Session::new(&small(6), &[1, 2]);
    let report = audited(&s, &s.keys, ShadowBound::default(), whole);
    assert_eq!(report.first, None);
    let regions: Vec<&str> = report.regions.iter().map(|r| r.region.as_str()).collect();
    assert_eq!(regions, ["iteration 3", "iteration 3/inner_sum", "iteration 3/chebyshev 3"]);
    assert_eq!(report.operations, report.regions.iter().map(|r| r.operations).sum::<usize>());
    assert!(report.regions.iter().all(|r| r.mean > 20.0 && r.min > 15.0 && r.min < r.mean), "{report:?}");
    let strict = audited(&s, &s.keys, ShadowBound::Bits(60.0), whole).first.unwrap();
    assert_eq!((strict.op, strict.after, strict.wrong), ("square", 0, Wrong::Error));
}

#[test]
fn errors_that_a_function_follows_by_itself_are_none_of_its_steps() {
    let s = Session::new(&small(6), &[1, 2]);
    let smooth = Smooth::exp([-1.0, 1.0], 1e-4).unwrap();
    let ready = |x: &Ciphertext<Dev>, _: usize| Ok(x.clone());
    let report = audited(&s, &s.keys, ShadowBound::default(), |auto, a| {
        auto.square(&auto.settle(&auto.weighted_sum(&[(0.25, &smooth.apply(auto, a, &ready)?)])?)?)
    });
    assert_eq!(report.first, None);
    assert!(report.operations > 5, "{report:?}");
    // A fault in such a step is found all the same.
    let first = audited(&s, &WrongFactor(&s), ShadowBound::default(), |auto, a| smooth.apply(auto, a, &ready)).first;
    let first = first.unwrap();
    assert_eq!((first.region.as_str(), first.wrong), ("exp/chebyshev 7", Wrong::Error), "{first}");
}

/// Gives another rotation's key for a rotation.
struct WrongKey<'a>(&'a Session);

/// Gives a rotation's key for relinearization.
struct WrongFactor<'a>(&'a Session);

impl KeyStore<Dev> for WrongFactor<'_> {
    fn check(&self, op: &'static str, name: KeyName, level: usize) -> Result<()> {
        self.0.keys.check(op, name, level)
    }

    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<Dev>> {
        let rotation = KeyName::Galois(GaloisElement::rotation(1, 11));
        self.0.keys.key(op, if matches!(name, KeyName::Galois(_)) { name } else { rotation }, level)
    }
}

impl KeyStore<Dev> for WrongKey<'_> {
    fn check(&self, op: &'static str, name: KeyName, level: usize) -> Result<()> {
        self.0.keys.check(op, name, level)
    }

    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<Dev>> {
        let [one, two] = [1, 2].map(|steps| KeyName::Galois(GaloisElement::rotation(steps, 11)));
        self.0.keys.key(op, if name == two { one } else { name }, level)
    }
}

#[test]
fn the_operation_with_a_wrong_key_is_named() {
    let s = Session::new(&small(6), &[1, 2]);
    let first = audited(&s, &WrongKey(&s), ShadowBound::default(), whole).first.unwrap();
    assert_eq!((first.op, first.region.as_str(), first.wrong), ("rotate", "iteration 3/inner_sum", Wrong::Error));
    let text = first.to_string();
    assert!(
        text.starts_with("rotate in region iteration 3/inner_sum: error 2^") && text.contains(", bound 2^-"),
        "{text}"
    );
    assert!(first.log2_got > first.log2_bound + 10.0);
}

#[test]
fn a_polynomial_outside_its_interval_is_named() {
    let s = Session::new(&small(6), &[1, 2]);
    let left = |auto: &Auto<'_, Dev>, a: &Ciphertext<Dev>| {
        let _region = auto.eval.device().region("activation", 0);
        auto.chebyshev_unit(&auto.weighted_sum(&[(3.0, a)])?, &[0.1, 0.5, 0.3])
    };
    let first = audited(&s, &s.keys, ShadowBound::default(), left).first.unwrap();
    assert_eq!((first.op, first.region.as_str(), first.wrong), ("square", "activation/chebyshev 2", Wrong::Promise));
    assert!(first.to_string().contains("a polynomial left its interval"), "{first}");
}

#[test]
fn a_value_beyond_its_modulus_is_wrong_only_where_it_stays_there() {
    let s = Session::new(&small(6), &[1, 2]);
    let doubled = |auto: &Auto<'_, Dev>, a: &Ciphertext<Dev>| -> Result<Vec<Ciphertext<Dev>>> {
        let mut all = vec![auto.eval.drop_level(a, 0)?];
        for _ in 0..30 {
            let last = all.last().expect("the first is there");
            all.push(auto.eval.add(last, last)?);
        }
        Ok(all)
    };
    // 2³⁰·a − 2²⁹·a − … − a = a.
    let there_and_back = |auto: &Auto<'_, Dev>, a: &Ciphertext<Dev>| {
        let mut all = doubled(auto, a)?.into_iter().rev();
        let first = all.next().expect("the last is there");
        all.try_fold(first, |sum, less| auto.eval.sub(&sum, &less))
    };
    let report = audited(&s, &s.keys, ShadowBound::default(), there_and_back);
    assert_eq!(report.first, None);
    let beyond = report.beyond.unwrap();
    assert_eq!((beyond.op, beyond.wrong), ("add", Wrong::Beyond));
    assert!(beyond.log2_got >= beyond.log2_bound && beyond.after > 1 && beyond.after < 30, "{beyond}");
    // A fault among such values is found all the same.
    let wrong = |auto: &Auto<'_, Dev>, a: &Ciphertext<Dev>| {
        let largest = doubled(auto, a)?.pop().expect("the last is there");
        Ok(auto.add_scalar(&Ciphertext { scale: largest.scale * 2.0, ..largest }, 0.5))
    };
    let first = audited(&s, &s.keys, ShadowBound::default(), wrong).first.unwrap();
    assert_eq!((first.op, first.wrong), ("add_scalar", Wrong::Error));
}

#[test]
fn the_first_operation_after_a_lost_scale_is_named() {
    let s = Session::new(&small(6), &[1, 2]);
    let lost = |auto: &Auto<'_, Dev>, a: &Ciphertext<Dev>| {
        let b = auto.settle(&auto.square(a)?)?;
        drop(auto.add_scalar(&Ciphertext { scale: b.scale * 2.0, ..b }, 0.5));
        auto.square(a)
    };
    let first = audited(&s, &s.keys, ShadowBound::default(), lost).first.unwrap();
    assert_eq!((first.op, first.region.as_str(), first.after), ("add_scalar", "", 2));
}

#[test]
fn a_message_read_with_fewer_slots_keeps_its_shadow() {
    let row: Vec<_> = uniform(4, "row").repeat(4);
    let shadow = Shadow::new(std::slice::from_ref(&row), 16);
    assert_eq!(shadow.with_slots(4).values()[0], row[..4]);
    assert_eq!(shadow.with_slots(4).with_slots(16), shadow);
}
