//! Files of BGV: round trips, lengths, headers that lie.

use crate::{
    common::{Dev, device},
    fixtures::{fixture, fixture_of},
    hostile::{header, opened, sealed},
};
use limbwise::{
    Error,
    bgv::{BgvParams, Encoder, Evaluator, decrypt, presets},
    rlwe::{KeyForm, KeyGenerator, KeyName, KeyPlan, SecretKey},
    wire::{self, FileKind, WireError, bgv_fingerprint},
};
use limbwise_math::sampling::Seed;
use serde_json::{Value, json};

/// The parameters of the fixtures.
pub(crate) fn params() -> BgvParams {
    wire::read_bgv_params(fixture_of(1, "bgv-params")).unwrap()
}

/// The secret key of the fixtures.
fn secret(params: &BgvParams) -> SecretKey {
    SecretKey::generate(params.rlwe(), &Seed([9; 32]))
}

/// Reads a fixture of BGV and writes it again.
pub(crate) fn rewritten(name: &str, bytes: &[u8], dev: &Dev, origin: &wire::Origin) -> Result<Vec<u8>, Error> {
    let (out, params) = (Vec::new(), params());
    match name {
        "bgv-params" => wire::write_bgv_params(out, &wire::read_bgv_params(bytes)?),
        "bgv-ciphertext" => {
            wire::write_bgv_ciphertext(out, dev, &params, &wire::read_bgv_ciphertext(bytes, dev, &params)?, origin)
        }
        _ => wire::write_fresh_bgv_ciphertext(
            out,
            dev,
            &params,
            &wire::read_fresh_bgv_ciphertext(bytes, dev, &params)?,
            origin,
        ),
    }
}

#[test]
fn what_is_read_multiplies_with_keys_of_rlwe() {
    let (dev, params) = (device(), params());
    let (secret, encoder) = (secret(&params), Encoder::new(&params));
    let generator = KeyGenerator::from_seed(&dev, params.rlwe(), &secret, Seed([2; 32]));
    let plan = KeyPlan { required: [(KeyName::Relinearization, 1)].into(), form: KeyForm::Stored };
    let bytes = wire::write_keys(
        Vec::new(),
        &dev,
        params.rlwe(),
        &generator.key_set(&plan, |_| ()).unwrap(),
        &wire::Origin::NONE,
    )
    .unwrap();
    let keys = wire::KeyFile::open(bytes, params.rlwe()).unwrap().read_all(&dev, KeyForm::Seeded).unwrap();
    let eval = Evaluator::new(&dev, &params, &keys);
    for name in ["bgv-ciphertext", "bgv-ciphertext-seeded"] {
        let a = wire::read_bgv_ciphertext(fixture(name), &dev, &params).unwrap();
        let square = eval.mod_switch(&eval.square(&a).unwrap(), 0).unwrap();
        let written = wire::write_bgv_ciphertext(Vec::new(), &dev, &params, &square, &wire::Origin::NONE).unwrap();
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
        assert_eq!(*blake3::hash(header(&bytes)).as_bytes(), bgv_fingerprint(&params).0);
    }
}

/// A fixture with one field of its header replaced, and other payloads.
fn with(name: &str, lengths: &[usize], field: &str, value: Value, change: impl Fn(&mut [Vec<u8>])) -> Vec<u8> {
    let bytes = fixture(name);
    let (kind, names, mut parsed, mut payloads) = opened(&bytes, lengths);
    let mut text = header(&bytes).to_vec();
    if let Some(place) = parsed.pointer_mut(field) {
        *place = value;
        text = serde_json::to_vec(&parsed).unwrap();
    }
    change(&mut payloads);
    sealed(kind, &names, &text, &payloads)
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
        let error = rewritten(name, &with(name, &lengths, field, value.clone(), |_| ()), &dev, &wire::Origin::NONE);
        assert!(matches!(error, Err(Error::Wire(_))), "{field} = {value}");
    }
    let large = with(name, &lengths, "/none", json!(0), |p| p[2][..8].fill(0xff));
    assert!(matches!(rewritten(name, &large, &dev, &wire::Origin::NONE), Err(Error::Wire(WireError::Residue { .. }))));
    let other = with("bgv-params", &[], "/primes/0", json!(12289), |_| ());
    assert!(matches!(
        rewritten("bgv-params", &other, &dev, &wire::Origin::NONE),
        Err(Error::Wire(WireError::OtherPrimes { .. }))
    ));
    let mine = with("bgv-params", &[], "/literal/sigma", json!(3.1), |_| ());
    assert!(matches!(
        rewritten("bgv-params", &mine, &dev, &wire::Origin::NONE),
        Err(Error::Wire(WireError::OtherParameters { .. }))
    ));
    let even = with("bgv-params", &[], "/literal/plaintext_modulus", json!(12290), |_| ());
    assert!(matches!(rewritten("bgv-params", &even, &dev, &wire::Origin::NONE), Err(Error::Params(_))));
    assert_eq!(FileKind::of(&fixture(name)).unwrap().to_string(), "a ciphertext of BGV");
}
