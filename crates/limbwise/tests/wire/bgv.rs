//! Files of BGV: round trips, lengths, headers that lie.

use crate::{
    common::{Dev, device},
    fixtures::fixture,
    hostile::sealed,
};
use limbwise::{
    Error,
    bgv::{BgvLiteral, BgvParams, Encoder, Evaluator, decrypt, encrypt_seeded_from, presets},
    params::Insecure,
    rlwe::{KeyForm, KeyGenerator, KeyName, KeyPlan, SecretKey},
    wire::{self, FileKind, WireError, bgv_fingerprint},
};
use limbwise_math::sampling::Seed;
use serde_json::{Value, json};

fn literal() -> BgvLiteral {
    let mut literal = BgvLiteral::chain(10, 12289, &[36, 36], &[38], 2);
    literal.insecure = Some(Insecure { reason: "fixture of the file format".into() });
    literal
}

/// The parameters of the fixtures.
fn params() -> BgvParams {
    wire::read_bgv_params(fixture("bgv-params")).unwrap()
}

/// The secret key of the fixtures.
fn secret(params: &BgvParams) -> SecretKey {
    SecretKey::generate(params.rlwe(), &Seed([9; 32]))
}

/// Every file of BGV, as its fixture is made.
pub(crate) fn files(dev: &Dev) -> [Vec<u8>; 3] {
    let params = BgvParams::new(&literal()).unwrap();
    let plain = Encoder::new(&params).encode(dev, &[vec![1, -2, 3]], 1).unwrap();
    let fresh = encrypt_seeded_from(dev, &params, &secret(&params), &plain, &Seed([1; 32]));
    [
        wire::write_bgv_params(Vec::new(), &params),
        wire::write_bgv_ciphertext(Vec::new(), dev, &params, &fresh.ciphertext),
        wire::write_fresh_bgv_ciphertext(Vec::new(), dev, &params, &fresh),
    ]
    .map(Result::unwrap)
}

/// Reads a fixture of BGV and writes it again.
pub(crate) fn rewritten(name: &str, bytes: &[u8], dev: &Dev) -> Result<Vec<u8>, Error> {
    let (out, params) = (Vec::new(), params());
    match name {
        "bgv-params" => wire::write_bgv_params(out, &wire::read_bgv_params(bytes)?),
        "bgv-ciphertext" => {
            wire::write_bgv_ciphertext(out, dev, &params, &wire::read_bgv_ciphertext(bytes, dev, &params)?)
        }
        _ => {
            wire::write_fresh_bgv_ciphertext(out, dev, &params, &wire::read_fresh_bgv_ciphertext(bytes, dev, &params)?)
        }
    }
}

#[test]
fn what_is_read_multiplies_with_keys_of_rlwe() {
    let (dev, params) = (device(), params());
    let (secret, encoder) = (secret(&params), Encoder::new(&params));
    let generator = KeyGenerator::from_seed(&dev, params.rlwe(), &secret, Seed([2; 32]));
    let plan = KeyPlan { required: [(KeyName::Relinearization, 1)].into(), form: KeyForm::Stored };
    let bytes = wire::write_keys(Vec::new(), &dev, params.rlwe(), &generator.key_set(&plan, |_| ()).unwrap()).unwrap();
    let keys = wire::KeyFile::open(bytes, params.rlwe()).unwrap().read_all(&dev, KeyForm::Seeded).unwrap();
    let eval = Evaluator::new(&dev, &params, &keys);
    for name in ["bgv-ciphertext", "bgv-ciphertext-seeded"] {
        let a = wire::read_bgv_ciphertext(fixture(name), &dev, &params).unwrap();
        let square = eval.mod_switch(&eval.square(&a).unwrap(), 0).unwrap();
        let written = wire::write_bgv_ciphertext(Vec::new(), &dev, &params, &square).unwrap();
        let back = wire::read_bgv_ciphertext(&written, &dev, &params).unwrap();
        assert_eq!((back.factor, back.noise, back.level), (square.factor, square.noise, 0));
        assert_eq!(decrypt(&dev, &encoder, &secret, &back).unwrap()[0][..4], [1, 4, 9, 0]);
    }
}

#[test]
fn all_presets_have_files() {
    for preset in presets() {
        let params = BgvParams::new(&preset.literal).unwrap();
        let bytes = wire::write_bgv_params(Vec::new(), &params).unwrap();
        assert_eq!(wire::read_bgv_params(&bytes).unwrap(), params);
        assert_eq!(*blake3::hash(&bytes[80..]).as_bytes(), bgv_fingerprint(&params).0);
    }
}

/// The payloads of a file after its header.
fn payloads(bytes: &[u8], lengths: &[usize]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut at = 80 + u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let header = bytes[80..at].to_vec();
    let block = |&length: &usize| {
        at += length + 16;
        bytes[at - length - 16..at - 16].to_vec()
    };
    let payloads = lengths.iter().map(block).collect();
    assert_eq!(at, bytes.len(), "the length is that of the format");
    (header, payloads)
}

fn with(name: &str, lengths: &[usize], field: &str, value: Value, change: impl Fn(&mut [Vec<u8>])) -> Vec<u8> {
    let bytes = fixture(name);
    let (mut header, mut blocks) = payloads(&bytes, lengths);
    let mut parsed: Value = serde_json::from_slice(&header).unwrap();
    if let Some(place) = parsed.pointer_mut(field) {
        *place = value;
        header = serde_json::to_vec(&parsed).unwrap();
    }
    change(&mut blocks);
    let kind = u16::from_le_bytes(bytes[10..12].try_into().unwrap());
    sealed(kind, bytes[16..48].try_into().unwrap(), &header, &blocks)
}

#[test]
fn files_that_lie_are_refused() {
    let dev = device();
    let row = 1024 / 8 * 36;
    let lengths = [row; 4];
    let name = "bgv-ciphertext";
    assert!(with(name, &lengths, "/none", json!(0), |_| ()) == fixture(name), "the format is as described");
    let seeded = [32, row, row];
    assert!(with("bgv-ciphertext-seeded", &seeded, "/none", json!(0), |_| ()) == fixture("bgv-ciphertext-seeded"));
    for (field, value) in [
        ("/level", json!(2)),
        ("/level", json!(0)),
        ("/batch", json!(0)),
        ("/batch", json!(1 << 20)),
        ("/batch", json!(u64::MAX)),
        ("/parts", json!(1)),
        ("/parts", json!(3)),
        ("/seeded", json!(true)),
        ("/factor", json!(0)),
        ("/factor", json!(12289)),
        ("/noise_bits", json!(-1.0)),
        ("/noise_bits", json!(1e9)),
        ("/noise_bits", json!(null)),
    ] {
        let error = rewritten(name, &with(name, &lengths, field, value.clone(), |_| ()), &dev);
        assert!(matches!(error, Err(Error::Wire(_))), "{field} = {value}");
    }
    let large = with(name, &lengths, "/none", json!(0), |p| p[2][..8].fill(0xff));
    assert!(matches!(rewritten(name, &large, &dev), Err(Error::Wire(WireError::Residue { .. }))));
    let other = with("bgv-params", &[], "/primes/0", json!(12289), |_| ());
    assert!(matches!(rewritten("bgv-params", &other, &dev), Err(Error::Wire(WireError::OtherPrimes { .. }))));
    let mine = with("bgv-params", &[], "/literal/sigma", json!(3.1), |_| ());
    assert!(matches!(rewritten("bgv-params", &mine, &dev), Err(Error::Wire(WireError::OtherParameters { .. }))));
    let even = with("bgv-params", &[], "/literal/plaintext_modulus", json!(12290), |_| ());
    assert!(matches!(rewritten("bgv-params", &even, &dev), Err(Error::Params(_))));
    assert_eq!(FileKind::of(&fixture(name)).unwrap().to_string(), "a ciphertext of BGV");
}
