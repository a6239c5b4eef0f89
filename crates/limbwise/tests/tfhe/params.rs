//! The gate and the failure probability decide about parameters; the search stays inside both.

use crate::common::small;
use limbwise::{
    params::{ParamsError, PrimeChoice},
    tfhe::{SearchGoal, TfheLiteral, TfheParams, noise, presets, search},
};

fn refused(literal: &TfheLiteral) -> String {
    TfheParams::new(literal).err().map(|e| e.to_string()).unwrap_or_default()
}

#[test]
fn every_preset_passes_at_its_class_and_not_beyond() {
    for preset in presets() {
        let params = TfheParams::new(&preset.literal).unwrap_or_else(|e| panic!("{}: {e}", preset.name));
        assert_eq!(params.security().bits >= 128, preset.literal.insecure.is_none(), "{}", preset.name);
        assert!(params.log2_failure() <= preset.literal.log2_failure, "{}", preset.name);
        if preset.literal.insecure.is_some() {
            continue;
        }
        // One bit beyond: errors of half the width for either key.
        for key in ["key switching", "bootstrapping"] {
            let mut weaker = preset.literal.clone();
            *(if key == "bootstrapping" { &mut weaker.glwe_sigma } else { &mut weaker.lwe_sigma }) /= 2.0;
            assert!(refused(&weaker).contains(&format!("the {key} key")), "{}: {}", preset.name, refused(&weaker));
        }
    }
}

#[test]
fn literals_are_plain_text() {
    for preset in presets() {
        let text = toml::to_string(&preset.literal).unwrap();
        assert_eq!(toml::from_str::<TfheLiteral>(&text).unwrap(), preset.literal, "{text}");
    }
}

#[test]
fn bad_parameters_are_named() {
    type Change = fn(&mut TfheLiteral);
    let cases: [(Change, &str); 9] = [
        (|l| l.insecure = None, "the key switching key (binary secret of dimension 60"),
        (|l| l.insecure.as_mut().unwrap().reason.clear(), "insecure.reason"),
        (|l| l.log_n = 9, "log_n = 9"),
        (|l| l.masks = 0, "masks = 0"),
        (|l| l.message_bits = 11, "message_bits = 11"),
        (|l| l.norm = f64::NAN, "norm = NaN"),
        (|l| l.bootstrap.levels = 4, "digits that fit the modulus"),
        (|l| l.lwe_sigma = 1e8, "would fail with probability 2^"),
        (|l| l.prime = PrimeChoice::Exact(1 << 47), "not a prime"),
    ];
    for (change, wanted) in cases {
        let mut literal = small(2, 1);
        change(&mut literal);
        let text = refused(&literal);
        assert!(text.contains(wanted), "{text:?} should say {wanted:?}");
    }
}

#[test]
fn the_search_meets_its_goal() {
    let goal = SearchGoal { message_bits: 2, norm: 3.2, log2_failure: -64.0, prime_bits: 48 };
    let found = search(goal).unwrap();
    let params = TfheParams::new(&found).unwrap();
    assert_eq!(params.security().bits, 128);
    // Two dimensions less would fail: with less noise from no other step there is nothing cheaper of this shape.
    let least = limbwise::params::security::least_sigma(128, found.lwe_dimension - 2, 32.0).unwrap().ceil();
    let less = TfheLiteral { lwe_dimension: found.lwe_dimension - 2, lwe_sigma: least, ..found.clone() };
    assert!(matches!(TfheParams::new(&less), Err(ParamsError::FailsTooOften { .. })));
    assert!(noise::log2_failure(&found, 4.0 * goal.norm * goal.norm, 0) > noise::log2_failure(&found, 1.0, 0));
    let impossible = search(SearchGoal { message_bits: 10, norm: 100.0, log2_failure: -128.0, prime_bits: 32 });
    assert!(impossible.unwrap_err().to_string().contains("10 message bits"));
}
