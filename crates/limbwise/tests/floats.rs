//! What an attacker writes where a number is wanted: NaN, infinities, powers far beyond sense. Every float of every literal
//! is tried, in the file and in the field, and none is taken, none panics.

use limbwise::{
    bgv::{self, BgvLiteral, BgvParams},
    bridge,
    ckks::Promise,
    params::{Params, ParamsLiteral, presets},
    tfhe::{self, TfheLiteral, TfheParams},
};
use serde::{Serialize, de::DeserializeOwned};
use toml::Value;

const NOT_NUMBERS: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
const ABSURD: [f64; 3] = [1e300, -1e300, -1.0];

/// Paths of all floats in a tree.
fn floats(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match value {
        Value::Float(_) => found.push(path.clone()),
        Value::Table(table) => {
            for (key, inner) in table {
                path.push(key.clone());
                floats(inner, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, key| &mut value[key.as_str()])
}

/// Tries each float of a literal with what is no number, which the file must refuse, and with what no parameter can be,
/// which the check must refuse. Returns what was taken.
fn taken<L: Serialize + DeserializeOwned, T>(
    name: &str,
    literal: &L,
    check: impl Fn(&L) -> Result<T, String>,
) -> (usize, Vec<String>) {
    let written = Value::try_from(literal).expect("a literal is plain data");
    let mut paths = Vec::new();
    floats(&written, &mut Vec::new(), &mut paths);
    let mut taken = Vec::new();
    for path in &paths {
        for x in NOT_NUMBERS.into_iter().chain(ABSURD) {
            let mut attack = written.clone();
            *at(&mut attack, path) = Value::Float(x);
            let text = toml::to_string(&attack).expect("a table is written");
            match toml::from_str::<L>(&text) {
                Ok(_) if !x.is_finite() => taken.push(format!("{name}: {path:?} = {x} was read")),
                Ok(read) if check(&read).is_ok() && !(x < 0.0 && path[0] == "log2_failure") => {
                    taken.push(format!("{name}: {path:?} = {x} was taken"));
                }
                _ => {}
            }
        }
    }
    (paths.len(), taken)
}

#[test]
fn no_file_of_parameters_takes_what_is_no_number() {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let mut all = Vec::new();
    let mut count = 0;
    let mut add = |(fields, found): (usize, Vec<String>)| {
        assert!(fields > 0);
        count += fields;
        all.extend(found);
    };
    let ckks = &presets::presets()[0];
    add(taken::<ParamsLiteral, _>(ckks.name, &ckks.literal, |l| Params::new(l).map_err(|e| text(&e))));
    let bgv = &bgv::presets()[0];
    add(taken::<BgvLiteral, _>(bgv.name, &bgv.literal, |l| BgvParams::new(l).map_err(|e| text(&e))));
    for preset in tfhe::presets() {
        add(taken::<TfheLiteral, _>(preset.name, &preset.literal, |l| TfheParams::new(l).map_err(|e| text(&e))));
    }
    for preset in bridge::presets().unwrap() {
        add(taken::<ParamsLiteral, _>(preset.name, &preset.ckks, |l| Params::new(l).map_err(|e| text(&e))));
    }
    assert!(all.is_empty(), "of {count} fields:\n{}", all.join("\n"));
}

#[test]
fn no_constructor_takes_what_is_no_number() {
    type Change = fn(&mut TfheLiteral, f64);
    let fields: [(&str, Change); 4] = [
        ("glwe_sigma", |l, x| l.glwe_sigma = x),
        ("lwe_sigma", |l, x| l.lwe_sigma = x),
        ("norm", |l, x| l.norm = x),
        ("log2_failure", |l, x| l.log2_failure = x),
    ];
    for preset in tfhe::presets() {
        for (field, change) in fields {
            for x in NOT_NUMBERS.into_iter().chain([1e300]) {
                let mut literal = preset.literal.clone();
                change(&mut literal, x);
                let refused = TfheParams::new(&literal).err().map(|e| e.to_string()).unwrap_or_default();
                assert!(refused.contains(&format!("{field} = ")), "{}: {field} = {x}: {refused:?}", preset.name);
            }
        }
    }
    for x in NOT_NUMBERS {
        let mut ckks = presets::presets()[0].literal.clone();
        ckks.sigma = x;
        assert!(Params::new(&ckks).unwrap_err().to_string().contains("sigma = "));
        let mut exact = bgv::presets()[0].literal.clone();
        exact.sigma = x;
        assert!(BgvParams::new(&exact).unwrap_err().to_string().contains("sigma = "));
    }
}

#[test]
fn no_promise_takes_what_is_no_number() {
    let promise = Promise { magnitude: 0.5, peak: 1.0, real: true };
    let check = |p: &Promise| if p.is_possible() { Ok(()) } else { Err(String::new()) };
    let (fields, mut found) = taken("promise", &promise, check);
    found.retain(|line| !line.contains("= 1e300") && !line.contains("= -1"));
    assert_eq!((fields, found), (2, Vec::new()));
}

/// Errors as wide as the check lets them be are drawn without a panic.
#[cfg(feature = "client")]
#[test]
fn the_widest_errors_that_pass_can_be_drawn() {
    use limbwise_math::sampling::{Gaussian, Seed, Stream};
    let mut literal = tfhe::preset("strix-I").unwrap();
    let passes = |literal: &TfheLiteral| match TfheParams::new(literal) {
        Ok(_) => true,
        Err(e) => e.to_string().contains("would fail"),
    };
    for exponent in 1..1023 {
        literal.lwe_sigma = f64::from(exponent).exp2();
        if passes(&literal) {
            let mut drawn = vec![0; 16];
            Stream::new(&Seed([1; 32]), b"wide").wide_gaussian(&Gaussian::new(literal.lwe_sigma), &mut drawn);
        }
    }
}
