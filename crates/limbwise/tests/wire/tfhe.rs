//! Files of TFHE: round trips, lengths, headers that lie.

use crate::{
    common::{Dev, device},
    fixtures::{PASSPHRASE, fixture, fixture_of},
    hostile::{header, opened, sealed},
};
use limbwise::{
    Error,
    params::{Insecure, PrimeChoice},
    tfhe::{ClientKey, Evaluator, GadgetLiteral, ServerKey, Table, TfheLiteral, TfheParams, presets},
    wire::{self, Lock, WireError, tfhe_fingerprint},
};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The set of the fixtures: two steps, so that a key fits some pages.
pub(crate) fn literal() -> TfheLiteral {
    TfheLiteral {
        log_n: 10,
        masks: 1,
        prime: PrimeChoice::Bits(48),
        glwe_sigma: 3.2,
        lwe_dimension: 2,
        log_lwe_modulus: 20,
        lwe_sigma: 3.2,
        bootstrap: GadgetLiteral { base_log: 22, levels: 1 },
        key_switch: GadgetLiteral { base_log: 8, levels: 2 },
        message_bits: 1,
        norm: 1.0,
        log2_failure: -40.0,
        insecure: Some(Insecure { reason: "fixture of the file format".into() }),
    }
}

/// The parameters of the fixtures.
pub(crate) fn params() -> TfheParams {
    static PARAMS: LazyLock<TfheParams> =
        LazyLock::new(|| wire::read_tfhe_params(fixture_of(1, "tfhe-params")).unwrap());
    PARAMS.clone()
}

/// The client's key of the fixtures.
pub(crate) fn fixture_key() -> ClientKey {
    wire::read_tfhe_secret_key(fixture_of(1, "tfhe-secret-key"), &params(), Lock::None).unwrap()
}

/// Reads a fixture of TFHE and writes it again.
pub(crate) fn rewritten(name: &str, bytes: &[u8], dev: &Dev, origin: &wire::Origin) -> Result<Vec<u8>, Error> {
    let (out, params) = (Vec::new(), params());
    let lock = if name == "tfhe-secret-key-locked" { Lock::Passphrase(PASSPHRASE) } else { Lock::None };
    match name {
        "tfhe-params" => wire::write_tfhe_params(out, &wire::read_tfhe_params(bytes)?),
        "tfhe-keys" => wire::write_tfhe_keys(out, dev, &wire::read_tfhe_keys(bytes, dev, &params)?, origin),
        "tfhe-ciphertext" => {
            wire::write_tfhe_ciphertext(out, dev, &wire::read_tfhe_ciphertext(bytes, dev, &params)?, origin)
        }
        _ => wire::write_tfhe_secret_key(out, &wire::read_tfhe_secret_key(bytes, &params, lock)?, Lock::None, origin),
    }
}

#[test]
fn what_is_read_bootstraps_what_was_written() {
    let (dev, params) = (device(), params());
    let client = wire::read_tfhe_secret_key(fixture_of(1, "tfhe-secret-key"), &params, Lock::None).unwrap();
    let keys = wire::read_tfhe_keys(fixture("tfhe-keys"), &dev, &params).unwrap();
    let ciphertext = wire::read_tfhe_ciphertext(fixture("tfhe-ciphertext"), &dev, &params).unwrap();
    assert_eq!((keys.tag(), ciphertext.range(), ciphertext.norm_squared()), (client.tag(), (0, 1), 1.0));
    assert_eq!(client.decrypt(&dev, &ciphertext).unwrap(), [1, 0, 1]);
    let server = ServerKey::new(&dev, &keys);
    let flipped = Evaluator::new(&dev, &server).bootstrap(&ciphertext, &[Table::new(&params, &[1, 0]).unwrap()]);
    let bytes = wire::write_tfhe_ciphertext(Vec::new(), &dev, &flipped.unwrap(), &wire::Origin::NONE).unwrap();
    let back = wire::read_tfhe_ciphertext(&bytes, &dev, &params).unwrap();
    assert_eq!(client.decrypt(&dev, &back).unwrap(), [0, 1, 0]);
}

#[test]
fn all_presets_have_files() {
    for preset in presets() {
        let params = TfheParams::new(&preset.literal).unwrap();
        let bytes = wire::write_tfhe_params(Vec::new(), &params).unwrap();
        assert_eq!(wire::read_tfhe_params(&bytes).unwrap(), params);
        assert_eq!(*blake3::hash(header(&bytes)).as_bytes(), tfhe_fingerprint(&params).0);
    }
}

#[test]
fn lengths_are_those_of_the_format() {
    let header = |bytes: &[u8]| wire::container::PREAMBLE + header(bytes).len();
    let (row, block) = (1024 / 8 * 48 + 16, 1024 / 8 * 20 + 16);
    for (name, wanted) in [
        ("tfhe-params", 0),
        ("tfhe-keys", 32 + 16 + 2 * block + 2 * 2 * row),
        ("tfhe-secret-key", 32 + 16),
        ("tfhe-secret-key-locked", 32 + 16 + 16),
        ("tfhe-ciphertext", 3 * row + 3 * 8 + 16),
    ] {
        let bytes = fixture(name);
        assert_eq!(bytes.len() - header(&bytes), wanted, "{name}");
    }
    // As large as what is published, but for checksums and 48 bits a word.
    let keys = fixture("tfhe-keys").len() as u64;
    assert!(keys < params().published_key_bytes());
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
    let row = 1024 / 8 * 48;
    let lengths = [row, row, row, 24];
    let untouched = with("tfhe-ciphertext", &lengths, "/none", json!(0), |_| ());
    assert!(untouched == fixture("tfhe-ciphertext"), "the format is as described");
    for (field, value) in [
        ("/batch", json!(0)),
        ("/batch", json!(2)),
        ("/batch", json!(1 << 20)),
        ("/batch", json!(u64::MAX)),
        ("/range", json!([1, 0])),
        ("/range", json!([0, 1i64 << 41])),
        ("/norm_squared", json!(-1.0)),
        ("/norm_squared", json!(null)),
        ("/tag", json!(-1)),
    ] {
        let error = rewritten(
            "tfhe-ciphertext",
            &with("tfhe-ciphertext", &lengths, field, value.clone(), |_| ()),
            &dev,
            &wire::Origin::NONE,
        );
        assert!(matches!(error, Err(Error::Wire(_))), "{field} = {value}");
    }
    let prime = params().modulus().value();
    for (block, bytes) in [(1, (prime | 0xffff << 48).to_le_bytes()), (3, prime.to_le_bytes())] {
        let file = with("tfhe-ciphertext", &lengths, "/none", json!(0), |p| p[block][..8].copy_from_slice(&bytes));
        let error = rewritten("tfhe-ciphertext", &file, &dev, &wire::Origin::NONE).err().unwrap();
        assert!(matches!(error, Error::Wire(WireError::Residue { .. })), "{error}");
    }
    let other = with("tfhe-params", &[], "/prime", json!(prime - 2), |_| ());
    assert!(matches!(
        rewritten("tfhe-params", &other, &dev, &wire::Origin::NONE),
        Err(Error::Wire(WireError::OtherPrimes { .. }))
    ));
    let mine = with("tfhe-params", &[], "/literal/glwe_sigma", json!(3.1), |_| ());
    assert!(matches!(
        rewritten("tfhe-params", &mine, &dev, &wire::Origin::NONE),
        Err(Error::Wire(WireError::OtherParameters { .. }))
    ));
    let wrong =
        rewritten("tfhe-keys", &fixture("tfhe-ciphertext"), &dev, &wire::Origin::NONE).err().unwrap().to_string();
    assert!(wrong.contains("holds a ciphertext of TFHE, wanted keys of a server for TFHE"), "{wrong}");
    let locked = wire::read_tfhe_secret_key(fixture("tfhe-secret-key-locked"), &params(), Lock::None).unwrap_err();
    assert!(matches!(locked, Error::Wire(WireError::Locked)), "{locked}");
}
