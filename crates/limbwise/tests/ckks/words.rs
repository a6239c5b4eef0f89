//! Levels of whole words: their sets of primes are not nested, and nothing else is different.

use crate::common::{Session, small, uniform, unit};
use limbwise::{
    ckks::{
        Diagonals, LinearPlan, LinearTransform, Packing, PlaintextForm, Precision, Strategy,
        bootstrap::{BootstrapPlan, Bootstrapper, requirements},
        encrypt_secret,
    },
    params::{Insecure, Params, ParamsLiteral, PrimeChoice, Words, presets::presets},
    rlwe::{KeyForm, KeyName, Requirements},
    wire::{KeyFile, KeyWriter, Origin},
};
use limbwise_math::galois::GaloisElement;

const TOP: usize = 8;

/// Nine levels of 40 bits above one word of 50, in two digits, and levels 0 to 2 low.
fn literal() -> ParamsLiteral {
    let bits = |bits: u32, count: usize| vec![PrimeChoice::Bits(bits); count];
    let special = [bits(48, 3), bits(40, 2)].concat();
    let words = Some(Words { bits: 50, short: vec![30, 30, 40] });
    ParamsLiteral { words, special, dnum: 2, low_level: Some(2), ..small(TOP) }
}

fn required(params: &Params, steps: &[i64]) -> Requirements {
    let galois = |steps: &i64| GaloisElement::rotation(*steps, params.log_n());
    let each = steps.iter().flat_map(|r| [(KeyName::Galois(galois(r)), TOP), (KeyName::LowGalois(galois(r)), 2)]);
    each.chain([(KeyName::Relinearization, TOP), (KeyName::LowRelinearization, 2)]).collect()
}

fn session(steps: &[i64]) -> Session {
    let params = Params::new(&literal()).unwrap();
    Session::with_keys(params.clone(), &required(&params, steps))
}

#[test]
fn most_levels_lack_a_prime_of_the_level_above() {
    let params = Params::new(&literal()).unwrap();
    let limbs: Vec<usize> = (0..=TOP).map(|level| params.limbs(level)).collect();
    assert_eq!(limbs, [1, 2, 3, 4, 5, 5, 6, 7, 8]);
    let nested = |level: &usize| params.basis(level - 1).is_subset(params.basis(*level));
    assert_eq!((1..=TOP).filter(nested).collect::<Vec<_>>(), [1, 3, 6, 8]);
    // A key for all levels has every prime of them.
    assert_eq!(params.reached(TOP).len() + params.special().len(), params.ring().moduli().len());
    assert_eq!(params.digits(TOP).len(), 2);
    assert_eq!(params.gadget(2), (vec![params.basis(2)], params.low_special()));
}

#[test]
fn every_level_is_reached_and_computes() {
    let s = session(&[1]);
    let (eval, x) = (s.eval(), uniform(64, "x"));
    let (squares, turned): (Vec<_>, Vec<_>) = (0..64).map(|i| (x[i] * x[i], x[(i + 1) % 64])).unzip();
    let a = s.encrypt(&x);
    for level in (0..=TOP).rev() {
        let low = eval.drop_level(&a, level).unwrap();
        assert_eq!((low.level, low.scale.to_bits()), (level, a.scale.to_bits()));
        s.expect(&format!("a drop to level {level}"), &low, &x, 20.0);
        s.expect(&format!("a rotation at level {level}"), &eval.rotate(&low, 1).unwrap(), &turned, 17.0);
        if level > 0 {
            let product = eval.relinearize_rescaled(&eval.square(&low).unwrap()).unwrap();
            assert_eq!(product.level, level - 1);
            s.expect(&format!("a square at level {level}"), &product, &squares, 17.0);
            let apart = eval.rescale(&eval.relinearize(&eval.square(&low).unwrap()).unwrap()).unwrap();
            s.expect(&format!("a square at level {level}, divided apart"), &apart, &squares, 17.0);
        }
    }
}

#[test]
fn a_factor_is_applied_on_the_way_between_any_two_levels() {
    let s = session(&[]);
    let (auto, x) = (s.auto(), uniform(64, "x"));
    let scaled: Vec<_> = x.iter().map(|z| z * 0.7).collect();
    let fresh = s.encrypt(&x);
    for from in 1..=TOP {
        let a = auto.scale_to(&fresh, 1.0, from).unwrap();
        for to in 0..from {
            let b = auto.scale_to(&a, 0.7, to).unwrap();
            assert_eq!((b.level, b.scale.to_bits()), (to, s.params.scale(to).to_bits()));
            s.expect(&format!("from {from} to {to}"), &b, &scaled, 19.5);
        }
    }
    let sum = auto.add(&auto.scale_to(&fresh, 1.0, 7).unwrap(), &auto.scale_to(&fresh, 1.0, 4).unwrap()).unwrap();
    let twice: Vec<_> = x.iter().map(|z| z * 2.0).collect();
    s.expect("a sum of different levels", &sum, &twice, 18.0);
    // A chain of squares takes every level.
    let mut power = auto.scale_to(&s.encrypt(&unit(64, "u")), 1.0, TOP - 1).unwrap();
    let mut clear = unit(64, "u");
    while power.level > 0 {
        power = auto.settle(&auto.square(&power).unwrap()).unwrap();
        clear.iter_mut().for_each(|z| *z *= *z);
    }
    s.expect("the highest power", &power, &clear, 10.0);
}

#[test]
fn maps_are_for_their_level() {
    let s = session(&(1..8).collect::<Vec<_>>());
    let map = Diagonals::new(64, (0..7).map(|d| (d, uniform(64, &format!("diagonal {d}"))))).unwrap();
    let (auto, x) = (s.auto(), uniform(64, "x"));
    let a = s.encrypt(&x);
    for level in [TOP, 7, 6, 5, 2, 1] {
        for strategy in [
            Strategy::Direct,
            Strategy::Hoisted,
            Strategy::Bsgs { babies: 4 },
            Strategy::DoubleHoisted { babies: 4 },
            Strategy::Chained { babies: 4 },
            Strategy::MultiHop { babies: 4 },
        ] {
            for form in [PlaintextForm::Full, PlaintextForm::OnTheFly, PlaintextForm::AtUse] {
                let plan = LinearPlan::new(&s.params, strategy, form, level);
                let t = LinearTransform::encode(&s.dev, &s.encoder, &map, plan).unwrap();
                let y = auto.linear_transform(&a, &t).unwrap();
                assert_eq!(y.level, level - 1);
                s.expect(&format!("{strategy} at {level}, {form:?}"), &y, &map.apply(&x), 15.0);
            }
        }
    }
    let plan = LinearPlan::new(&s.params, Strategy::Direct, PlaintextForm::Full, 7);
    let t = LinearTransform::encode(&s.dev, &s.encoder, &map, plan).unwrap();
    let low = s.eval().drop_level(&a, 6).unwrap();
    let refused = s.eval().linear_transform(&low, &t).err().map(|e| e.to_string());
    assert!(refused.as_ref().is_some_and(|text| text.contains("levels 6 and 7")), "{refused:?}");
}

/// Of 32768 near-Gaussian errors, within 5 %.
#[test]
fn the_noise_of_a_drop_is_what_the_formula_says() {
    let s = session(&[]);
    let own = s.with_shadow(7);
    for level in [6, 5, 2, 0] {
        let ratio = s.noise_ratio(&s.eval().drop_level(&own, level).unwrap());
        assert!((ratio - 1.0).abs() < 0.05, "level {level}: {ratio:.3} of what is expected");
    }
}

#[test]
fn keys_are_read_for_lower_levels_and_seeded() {
    let s = session(&[1]);
    let announced = s.keys.names();
    let mut out = KeyWriter::new(Vec::new(), &s.params, &announced, &Origin::NONE).unwrap();
    s.keys.keys().for_each(|key| out.write(&s.dev, key).unwrap());
    let file = KeyFile::open(out.finish().unwrap(), &s.params).unwrap();
    let x = uniform(64, "x");
    let turned: Vec<_> = (0..64).map(|i| x[(i + 1) % 64]).collect();
    for level in (0..=TOP).rev() {
        let name = KeyName::galois(GaloisElement::rotation(1, s.params.log_n()), &s.params, level);
        let low = s.eval().drop_level(&s.encrypt(&x), level).unwrap();
        for form in [KeyForm::Stored, KeyForm::Seeded] {
            let read = file.read_key(&s.dev, name, level, form).unwrap();
            let whole = file.read_key(&s.dev, name, announced[&name], form).unwrap();
            for key in [read, whole.restrict(&s.dev, &s.params, level)] {
                let keys = limbwise::rlwe::KeySet::new(&s.params, vec![key]);
                let eval = limbwise::ckks::Evaluator::new(&s.dev, &s.params, &keys);
                s.expect(&format!("{form:?} at {level}"), &eval.rotate(&low, 1).unwrap(), &turned, 17.0);
            }
        }
    }
}

/// The presets with words, shortened to few levels on a small ring: their steps and their precision.
#[test]
fn bootstrapping_ends_and_begins_at_such_levels() {
    for preset in presets().into_iter().filter(|preset| preset.literal.words.is_some()) {
        let full = Params::new(&preset.literal).unwrap();
        let insecure = Some(Insecure { reason: "unit test on a small ring".into() });
        let params = Params::new(&ParamsLiteral { log_n: 11, insecure, ..preset.literal }).unwrap();
        assert_eq!(params.limbs(params.user_level()), full.limbs(full.user_level()));
        for plan in [BootstrapPlan::fastest(1 << 10), BootstrapPlan::smallest(1 << 10)] {
            let s = Session::with_keys(params.clone(), &requirements(&params, plan).unwrap());
            let boot = Bootstrapper::encode(&s.dev, &s.encoder, plan).unwrap();
            let values = uniform(1 << 10, "boot");
            let level = boot.levels().input_level();
            let packing = Packing { slots: 1 << 10, level, scale: params.scale(level) };
            let plain = s.encoder.encode(&s.dev, std::slice::from_ref(&values), packing).unwrap();
            let a = encrypt_secret(&s.dev, &params, &s.secret, &plain).unwrap().bounded_by(2f64.sqrt());
            let result = boot.evaluate(&s.auto(), &a).unwrap();
            assert_eq!(result.level, boot.levels().output_level());
            let (got, expected) = (Precision::of(&s.decrypt(&result), &values), result.estimate.precision_bits());
            assert!(
                (expected - 1.5..expected + 4.0).contains(&got.mean),
                "{plan:?}: {:.2}, not {expected:.2}",
                got.mean
            );
        }
    }
}
