//! A BGV ciphertext made with Python's integers from the definitions alone (scripts/make_bgv_vector.py).

use limbwise::{
    bgv::{BgvLiteral, BgvParams, Ciphertext, Encoder, Encryption, Evaluator, decrypt, noise::NoiseBound},
    params::{Insecure, PrimeChoice},
    rlwe::{KeySet, SecretKey},
};
use limbwise_cpu::Cpu;
use limbwise_device::{Device, Domain, Role, Shape};
use serde_json::Value;

fn integers(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|x| x.as_i64().unwrap()).collect()
}

#[test]
fn bgv_by_the_definitions() {
    let vector: Value = serde_json::from_str(include_str!("bgv_python.json")).unwrap();
    let mut literal = BgvLiteral::chain(10, vector["t"].as_u64().unwrap(), &[], &[], 1);
    literal.levels = integers(&vector["primes"]).iter().map(|q| vec![PrimeChoice::Exact(q.unsigned_abs())]).collect();
    literal.insecure = Some(Insecure { reason: "a vector of a small ring".into() });
    let params = BgvParams::new(&literal).unwrap();
    let (dev, encoder, t) = (Cpu::builder().open().unwrap(), Encoder::new(&params), params.t());
    let secret = SecretKey::from_coefficients(params.rlwe(), integers(&vector["secret"]).into()).unwrap();
    let slots = integers(&vector["slots"]);
    let shape = Shape::eval(params.rlwe().ring(), params.rlwe().basis(1)).with_domain(Domain::Coeff);
    let part = |name: &str| {
        let limbs: Vec<Vec<i64>> = vector[name].as_array().unwrap().iter().map(integers).collect();
        dev.ntt(dev.upload(&shape, Role::Ciphertext, &|at, row| {
            row.iter_mut().zip(&limbs[at.prime]).for_each(|(x, &word)| *x = word.unsigned_abs());
        }))
    };
    let noise = NoiseBound::fresh(&params, Encryption::Secret);
    let a = Ciphertext { parts: vec![part("c0"), part("c1")], level: 1, factor: 1, noise, modulus: 0 };
    assert_eq!(decrypt(&dev, &encoder, &secret, &a).unwrap().concat(), slots);
    let keys = KeySet::new(params.rlwe(), Vec::new());
    let square = Evaluator::new(&dev, &params, &keys).square(&a).unwrap();
    let wanted: Vec<i64> = slots.iter().map(|&x| t.centered(t.mul(t.from_i64(x), t.from_i64(x)))).collect();
    assert_eq!(decrypt(&dev, &encoder, &secret, &square).unwrap().concat(), wanted);
}
