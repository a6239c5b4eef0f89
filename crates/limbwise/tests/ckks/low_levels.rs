//! Ciphertexts at low levels have keys of their own: one digit and few special primes.

use crate::common::{Session, small, uniform};
use limbwise::{
    ckks::{Diagonals, LinearPlan, LinearTransform, PlaintextForm, Strategy},
    params::{Params, ParamsLiteral},
    rlwe::{KeyForm, KeyName, Requirements, key_bytes},
    wire::{KeyFile, KeyWriter, Origin, params::fingerprint},
};
use limbwise_math::galois::GaloisElement;

/// Seven limbs in two digits of four, five special primes, and levels 0 to 2 low.
fn literal() -> ParamsLiteral {
    let mut literal = small(6);
    (literal.dnum, literal.low_level) = (2, Some(2));
    literal.special = vec![literal.special[0]; 5];
    literal
}

fn rotation(params: &Params, steps: i64) -> GaloisElement {
    GaloisElement::rotation(steps, params.log_n())
}

/// A key of each kind for each name.
fn required(params: &Params, steps: &[i64]) -> Requirements {
    let galois = steps.iter().map(|&steps| rotation(params, steps));
    let each = galois.flat_map(|g| [(KeyName::Galois(g), 6), (KeyName::LowGalois(g), 2)]);
    each.chain([(KeyName::Relinearization, 6), (KeyName::LowRelinearization, 2)]).collect()
}

#[test]
fn low_keys_have_one_digit_and_the_fewest_special_primes() {
    let params = Params::new(&literal()).unwrap();
    // 130 bits, and three more, take three primes of 48.
    let limbs = |level| {
        let (digits, special) = params.gadget(level);
        (digits.iter().map(|digit| digit.len()).collect::<Vec<_>>(), special.len())
    };
    assert_eq!((limbs(6), limbs(3)), ((vec![4, 3], 5), (vec![4], 5)));
    assert_eq!((limbs(2), limbs(0)), ((vec![3], 3), (vec![1], 3)));
    let bytes = |name, level| key_bytes(&params, name, level, KeyForm::Stored);
    assert_eq!(bytes(KeyName::LowRelinearization, 2) * 8, bytes(KeyName::Relinearization, 2) * 6);
    let names: Vec<KeyName> = [2, 3].map(|level| KeyName::galois(rotation(&params, 1), &params, level)).into();
    assert_eq!(names, [KeyName::LowGalois(rotation(&params, 1)), KeyName::Galois(rotation(&params, 1))]);
}

#[test]
fn what_is_asked_for_follows_the_level_and_decrypts() {
    let params = Params::new(&literal()).unwrap();
    let map = Diagonals::new(64, (0..7).map(|d| (d, uniform(64, &format!("diagonal {d}"))))).unwrap();
    let s = Session::with_keys(params.clone(), &required(&params, &(1..8).collect::<Vec<_>>()));
    let (eval, x) = (s.eval(), uniform(64, "x"));
    let a = s.encrypt(&x);
    let squares: Vec<_> = x.iter().map(|z| z * z).collect();
    for level in [6, 3, 2, 1] {
        let low = eval.drop_level(&a, level).unwrap();
        let product = eval.relinearize(&eval.square(&low).unwrap()).unwrap();
        s.expect(&format!("a square at level {level}"), &product, &squares, 17.0);
        s.expect(&format!("a rotation at level {level}"), &eval.rotate(&low, 1).unwrap(), &map_of_one(&x), 17.0);
        for strategy in [
            Strategy::Direct,
            Strategy::Hoisted,
            Strategy::Bsgs { babies: 4 },
            Strategy::DoubleHoisted { babies: 4 },
            Strategy::Chained { babies: 4 },
            Strategy::MultiHop { babies: 4 },
        ] {
            // Encoded for this level, and for one with keys of the other kind.
            for encoded in [level, 6] {
                let plan = LinearPlan::new(&s.params, strategy, PlaintextForm::Full, encoded);
                let t = LinearTransform::encode(&s.dev, &s.encoder, &map, plan).unwrap();
                let y = eval.linear_transform(&low, &t).unwrap();
                s.expect(&format!("{strategy} of level {encoded} at {level}"), &y, &map.apply(&x), 15.0);
            }
        }
    }
}

fn map_of_one(x: &[limbwise::Complex64]) -> Vec<limbwise::Complex64> {
    (0..x.len()).map(|i| x[(i + 1) % x.len()]).collect()
}

/// The noise of a low key switch is that of the formula: of 32768 near-Gaussian errors, within 5 %.
#[test]
fn their_noise_is_what_the_formula_says() {
    let params = Params::new(&literal()).unwrap();
    let s = Session::with_keys(params.clone(), &required(&params, &[1]));
    for level in [1, 2, 4] {
        let ratio = s.noise_ratio(&s.eval().rotate(&s.with_shadow(level), 1).unwrap());
        assert!((ratio - 1.0).abs() < 0.05, "level {level}: {ratio:.3} of what is expected");
    }
}

#[test]
fn files_hold_both_kinds_and_refuse_what_the_parameters_lack() {
    let params = Params::new(&literal()).unwrap();
    let announced = required(&params, &[1]);
    let s = Session::with_keys(params.clone(), &announced);
    let written = |params: &Params| {
        let mut out = KeyWriter::new(Vec::new(), params, &announced, &Origin::NONE).unwrap();
        for key in s.keys.keys() {
            out.write(&s.dev, key).unwrap();
        }
        out.finish().unwrap()
    };
    let bytes = written(&params);
    let file = KeyFile::open(bytes, &params).unwrap();
    assert_eq!(file.names(), announced);
    for (&name, &level) in &announced {
        let (read, made) = (file.read_key(&s.dev, name, level, KeyForm::Stored).unwrap(), s.keys.names()[&name]);
        assert_eq!((read.name(), read.level(), read.pairs().len()), (name, made, if level == 2 { 1 } else { 2 }));
    }
    let plain = Params::new(&ParamsLiteral { low_level: None, ..literal() }).unwrap();
    // A file that says it is of parameters without low levels.
    let refused = KeyFile::open(written(&plain), &plain).err().map(|e| e.to_string());
    assert!(refused.as_ref().is_some_and(|text| text.contains("no key of low levels")), "{refused:?}");
}

#[test]
fn low_levels_that_special_primes_do_not_cover_are_refused() {
    let refused = |low| Params::new(&ParamsLiteral { low_level: Some(low), ..literal() }).unwrap_err().to_string();
    // Five primes of 48 bits cover 50 + 4·40 bits and three more, and no fifth level.
    assert!(Params::new(&ParamsLiteral { low_level: Some(4), ..literal() }).is_ok());
    assert!(refused(5).contains("low_level = 5") && refused(5).contains("at most 4"), "{}", refused(5));
    assert!(refused(99).contains("at most 4"));
}

/// Ciphertexts and secret keys do not know which levels have keys of their own.
#[test]
fn fingerprints_are_those_of_the_primes() {
    let of = |low_level| fingerprint(&Params::new(&ParamsLiteral { low_level, ..literal() }).unwrap());
    assert_eq!(of(Some(2)), of(None));
}
