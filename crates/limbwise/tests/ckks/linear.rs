//! Every strategy and every form of plaintext decrypts to the same map, with exactly the keys it says it needs.

use crate::common::{Session, small, uniform};
use limbwise::{
    Complex64,
    ckks::{
        Ciphertext, Diagonals, Encoder, Evaluator, LinearPlan, LinearTransform, Packing, PlaintextForm, Precision,
        Probe, Strategy, encrypt,
    },
    params::{Params, ParamsLiteral},
    rlwe::{DeclaredKeys, KeyName, Requirements},
};
use limbwise_device::Null;

/// Bits that every result has on average, and bits by which an estimate may be wrong.
const BITS: f64 = 17.0;
const OFF: f64 = 2.0;

fn random_map(slots: usize, indices: impl IntoIterator<Item = i64>) -> Diagonals {
    Diagonals::new(slots, indices.into_iter().map(|d| (d, uniform(slots, &format!("diagonal {d}"))))).unwrap()
}

fn maps(full: usize) -> Vec<Diagonals> {
    let dense: Vec<_> = (0..16).map(|i| uniform(16, &format!("row {i}"))).collect();
    vec![
        random_map(full, -7..=7),
        random_map(full, (0..8).map(|d| 128 * d)),
        random_map(full, [0, 1, 5, 300, -300]),
        Diagonals::from_matrix(&dense).unwrap(),
        random_map(64, [3]),
        random_map(64, [-10, -6, -2, 6]),
    ]
}

fn strategies(map: &Diagonals) -> Vec<Strategy> {
    let small = |s: &Strategy| match *s {
        Strategy::Bsgs { babies } | Strategy::DoubleHoisted { babies } => babies == 4 || babies >= map.count(),
        Strategy::Chained { babies } => babies == 2 || babies == 8,
        Strategy::MultiHop { babies } => babies == 4,
        _ => true,
    };
    let all = Strategy::candidates(map).into_iter().chain([Strategy::Whole { babies: 4 }]);
    all.filter(small).filter(|s| s.rotations(map).len() <= 40).collect()
}

/// A session with the keys of all strategies for all maps; the long hops of the scattered map are left out.
fn session(literal: &ParamsLiteral) -> (Session, Vec<(Diagonals, Strategy)>) {
    let params = Params::new(literal).unwrap();
    let all: Vec<(Diagonals, Strategy)> = maps(params.max_slots())
        .into_iter()
        .flat_map(|map| strategies(&map).into_iter().map(move |s| (map.clone(), s)))
        .filter(|(map, s)| map.count() != 5 || !matches!(s, Strategy::Chained { .. } | Strategy::MultiHop { .. }))
        .collect();
    let mut required: Requirements =
        all.iter().flat_map(|(map, s)| s.requirements(map, &params, params.top_level())).collect();
    required.insert(KeyName::Relinearization, params.top_level());
    (Session::with_keys(params, &required), all)
}

#[test]
fn every_strategy_decrypts_to_the_map() {
    let (s, all) = session(&small(4));
    let (eval, top) = (s.eval(), s.params.top_level());
    for (map, strategy) in &all {
        let x = uniform(map.slots(), "x");
        let wanted = map.apply(&x);
        let a = s.encrypt(&x);
        for form in PlaintextForm::ALL {
            let what = format!("{strategy}, {}, {} of {} diagonals", form.name(), map.count(), map.slots());
            let plan = LinearPlan::new(&s.params, *strategy, form, top);
            let t = LinearTransform::encode(&s.dev, &s.encoder, map, plan).unwrap();
            let rescaled = eval.linear_transform_rescaled(&a, &t).unwrap();
            assert_eq!((rescaled.level, rescaled.parts.len()), (top - 1, 2), "{what}");
            assert!((rescaled.scale / s.params.scale(top - 1) - 1.0).abs() < 1e-9, "{what}");
            let precision = s.expect(&what, &rescaled, &wanted, BITS);
            let expected = rescaled.estimate.precision_bits();
            assert!((precision.mean - expected).abs() < OFF, "{what}: {:.1} for {expected:.1} bits", precision.mean);
            // Two levels below the one it was encoded for, not rescaled.
            let low = eval.drop_level(&a, top - 2).unwrap();
            let product = eval.linear_transform(&low, &t).unwrap();
            assert_eq!(product.level, top - 2, "{what}");
            s.expect(&format!("{what}, below"), &product, &wanted, BITS);
        }
    }
}

#[test]
fn needs_are_what_is_asked_for() {
    let params = Params::new(&small(3)).unwrap();
    let (null, encoder, top) = (Null::default(), Encoder::new(&params), params.top_level());
    for map in maps(params.max_slots()) {
        for strategy in Strategy::candidates(&map) {
            let keys = DeclaredKeys::all(&null, &params);
            let plan = LinearPlan::new(&params, strategy, PlaintextForm::OnTheFly, top);
            let t = LinearTransform::declare(&null, &encoder, &map, plan).unwrap();
            let packing = Packing { slots: map.slots(), level: top, scale: params.scale(top) };
            let a = encoder.declare(&null, &[uniform(map.slots(), "x")], packing).unwrap();
            Evaluator::new(&null, &params, &keys).linear_transform(&a, &t).unwrap();
            assert_eq!(keys.requirements(), t.requirements(&params, top), "{strategy}");
            assert_eq!(keys.requirements(), strategy.requirements(&map, &params, top), "{strategy}");
            assert_eq!(t.bytes(), map.count() as u64 * 8 * 2048, "{strategy}: one limb a diagonal");
        }
    }
}

#[test]
fn batches_shadows_and_automatic_levels() {
    let map = random_map(32, -3..=4);
    let params = Params::new(&small(4)).unwrap();
    let strategies = strategies(&map);
    let mut required: Requirements =
        strategies.iter().flat_map(|s| s.requirements(&map, &params, params.top_level())).collect();
    required.insert(KeyName::Relinearization, params.top_level());
    let s = Session::with_keys(params, &required);
    let (auto, probe) = (s.auto(), Probe { dev: &s.dev, encoder: &s.encoder, params: &s.params, secret: &s.secret });
    let rows: Vec<Vec<Complex64>> = (0..3).map(|i| uniform(32, &format!("row {i}"))).collect();
    let plain = s.encoder.encode(&s.dev, &rows, Packing { slots: 32, ..s.packing() }).unwrap().with_shadow(&rows);
    let batch: Ciphertext<_> = encrypt(&s.dev, &s.params, &s.public, &plain).unwrap();
    let square = auto.square(&batch).unwrap();
    for strategy in strategies {
        // Encoded one level below where the settled square is.
        let plan = LinearPlan::new(&s.params, strategy, PlaintextForm::Full, 2);
        let t = LinearTransform::encode(&s.dev, &s.encoder, &map, plan).unwrap().with_shadow(&map);
        let result = auto.linear_transform(&square, &t).unwrap();
        assert_eq!((result.level, result.batch()), (1, 3));
        let wanted: Vec<Complex64> =
            rows.iter().flat_map(|row| map.apply(&row.iter().map(|z| z * z).collect::<Vec<_>>())).collect();
        assert!(Precision::of(&result.shadow.as_ref().unwrap().values().concat(), &wanted).min > 40.0);
        assert!(probe.precision(&result).unwrap().unwrap().mean > BITS, "{strategy}");
        // What comes out settled can be added to what is settled.
        auto.eval.add(&result, &auto.scale_to(&batch, 1.0, 1).unwrap()).unwrap();
    }
}

#[test]
fn mistakes_teach() {
    let map = random_map(64, [0, 1, 2]);
    let s = Session::new(&small(2), &[1]);
    let (eval, top) = (s.eval(), s.params.top_level());
    let encoded = |strategy, form, level, scale: f64| {
        let plan = LinearPlan { scale, ..LinearPlan::new(&s.params, strategy, form, level) };
        LinearTransform::encode(&s.dev, &s.encoder, &map, plan)
    };
    let scale = s.params.scale(top);
    let t = encoded(Strategy::Hoisted, PlaintextForm::Full, top, scale).unwrap();
    let low = encoded(Strategy::MultiHop { babies: 3 }, PlaintextForm::Full, top - 1, scale).unwrap();
    let tiny = encoded(Strategy::MultiHop { babies: 3 }, PlaintextForm::Full, top, 4.0).unwrap();
    let a = s.encrypt(&uniform(64, "x"));
    let said = |result: Result<Ciphertext<_>, limbwise::Error>| result.err().unwrap().to_string();
    let bottom = eval.drop_level(&a, 0).unwrap();
    let cases = [
        (said(eval.linear_transform(&a, &t)), "linear_transform needs Galois key"),
        (said(eval.linear_transform(&a, &t)), "(rotation by 2)"),
        (said(eval.linear_transform(&s.encrypt(&uniform(32, "x")), &t)), "32 and 64 slots"),
        (said(eval.linear_transform(&a, &low)), "level 2 is above level 1"),
        (said(eval.linear_transform(&eval.square(&a).unwrap(), &t)), "relinearize first"),
        (said(eval.linear_transform(&bottom, &t)), "does not fit the modulus"),
        (said(eval.linear_transform_rescaled(&bottom, &t)), "needs level 1"),
        (said(eval.linear_transform_rescaled(&a, &tiny)), "would leave scale 2^"),
        (said(s.auto().linear_transform(&eval.drop_level(&a, 1).unwrap(), &t)), "needs level 2"),
    ];
    for (text, expected) in cases {
        assert!(text.contains(expected), "{text:?} should say {expected:?}");
    }
    // What is wider than a prime takes two limbs; what is wider than the modulus is refused.
    for form in PlaintextForm::ALL {
        assert!(encoded(Strategy::Direct, form, top, 2f64.powi(52)).is_ok());
        let wide = encoded(Strategy::Direct, form, 0, 2f64.powi(52)).err().unwrap().to_string();
        assert!(wide.contains("overflows the modulus of 2^50"), "{wide}");
    }
}
