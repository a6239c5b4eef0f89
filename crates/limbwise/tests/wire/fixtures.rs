//! Files of every version as they were written first: they load for ever and mean the same, and those of the present version
//! are written again byte for byte.

use crate::{
    bgv, bridge,
    common::{Dev, device, plain_values},
    tfhe,
};
use limbwise::{
    Error,
    ckks::{Encoder, Evaluator, Precision, decrypt},
    params::Params,
    rlwe::KeyForm,
    wire::{self, FileKind, Fingerprint, KeyFile, Lock, Origin},
};
use std::path::PathBuf;

/// The passphrase of the locked secret key.
pub(crate) const PASSPHRASE: &str = "limbwise version 1";

/// All of this crate; the runtime has those of its rooms.
pub(crate) const NAMES: [&str; 18] = [
    "params",
    "public-key",
    "evaluation-keys",
    "secret-key",
    "secret-key-locked",
    "ciphertext",
    "ciphertext-seeded",
    "plaintext",
    "tfhe-params",
    "tfhe-keys",
    "tfhe-secret-key",
    "tfhe-secret-key-locked",
    "tfhe-ciphertext",
    "bgv-params",
    "bgv-ciphertext",
    "bgv-ciphertext-seeded",
    "bridge-params",
    "to-lwe-key",
];

/// Versions of the format, each with its fixtures.
pub(crate) const VERSIONS: [u16; 2] = [1, 2];

fn path(version: u16, name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/wire/v{version}"));
    folder.join(name).with_extension("lw")
}

/// A fixture of the present version.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    fixture_of(2, name)
}

pub(crate) fn fixture_of(version: u16, name: &str) -> Vec<u8> {
    std::fs::read(path(version, name)).unwrap()
}

pub(crate) fn fixture_params() -> Params {
    wire::read_params(fixture_of(1, "params")).unwrap()
}

/// Reads a file as what the fixture of that name is, and writes it again with the same origin, in the present version; a
/// locked key comes out unlocked.
pub(crate) fn rewritten(name: &str, bytes: &[u8], dev: &Dev, params: &Params) -> Result<Vec<u8>, Error> {
    rewritten_as(name, bytes, dev, params, &wire::origin(bytes)?)
}

/// The same with another origin.
fn rewritten_as(name: &str, bytes: &[u8], dev: &Dev, params: &Params, origin: &Origin) -> Result<Vec<u8>, Error> {
    let out = Vec::new();
    match name {
        "params" => wire::write_params(out, &wire::read_params(bytes)?),
        "public-key" => wire::write_public_key(out, dev, params, &wire::read_public_key(bytes, dev, params)?, origin),
        "evaluation-keys" => {
            let keys = KeyFile::open(bytes, params)?.read_all(dev, KeyForm::Seeded)?;
            wire::write_keys(out, dev, params, &keys, origin)
        }
        "secret-key" | "secret-key-locked" => {
            let lock = if name == "secret-key" { Lock::None } else { Lock::Passphrase(PASSPHRASE) };
            wire::write_secret_key(out, params, &wire::read_secret_key(bytes, params, lock)?, Lock::None, origin)
        }
        "ciphertext" => wire::write_ciphertext(out, dev, params, &wire::read_ciphertext(bytes, dev, params)?, origin),
        "ciphertext-seeded" => {
            let fresh = wire::read_fresh_ciphertext(bytes, dev, params)?;
            wire::write_fresh_ciphertext(out, dev, params, &fresh, origin)
        }
        "plaintext" => wire::write_plaintext(out, dev, params, &wire::read_plaintext(bytes, dev, params)?),
        name if name.starts_with("bgv") => bgv::rewritten(name, bytes, dev, origin),
        "bridge-params" | "to-lwe-key" => bridge::rewritten(name, bytes, dev, origin),
        _ => tfhe::rewritten(name, bytes, dev, origin),
    }
}

/// What the fixtures of version 2 say they belong to; parameters and plaintexts belong to nothing.
fn fixture_origin(name: &str) -> Origin {
    if name.ends_with("params") || name == "plaintext" {
        return Origin::NONE;
    }
    let keys = match name.trim_end_matches("-locked") {
        "secret-key" => {
            let params = fixture_params();
            wire::read_secret_key(fixture_of(1, "secret-key"), &params, Lock::None).unwrap().identity(&params)
        }
        "tfhe-secret-key" => tfhe::fixture_key().identity(),
        _ => Fingerprint([2; 32]),
    };
    Origin { program: Fingerprint([1; 32]), keys, inputs: Fingerprint([3; 32]), index: Some(4) }
}

#[test]
fn they_load_and_are_written_the_same() {
    let (dev, params) = (device(), fixture_params());
    for name in NAMES {
        let wanted = fixture(name.trim_end_matches("-locked"));
        assert!(rewritten(name, &fixture(name), &dev, &params).unwrap() == wanted, "{name}");
        // Version 1 holds the same and says nothing of its origin.
        let (first, origin) = (fixture_of(1, name), fixture_origin(name));
        assert_eq!((wire::origin(&first[..]).unwrap(), wire::origin(&wanted[..]).unwrap()), (Origin::NONE, origin));
        let written = rewritten_as(name, &first, &dev, &params, &origin).unwrap();
        assert!(written == wanted, "{name} of version 1");
    }
}

#[test]
fn a_secret_key_under_another_label_is_refused() {
    let params = fixture_params();
    let secret = wire::read_secret_key(fixture("secret-key"), &params, Lock::None).unwrap();
    let origin = Origin::of_keys(Fingerprint([7; 32]));
    let bytes = wire::write_secret_key(Vec::new(), &params, &secret, Lock::None, &origin).unwrap();
    let refused = wire::read_secret_key(bytes, &params, Lock::None).unwrap_err().to_string();
    assert!(refused.contains("another key set"), "{refused}");
    let key = tfhe::fixture_key();
    let bytes = wire::write_tfhe_secret_key(Vec::new(), &key, Lock::None, &origin).unwrap();
    assert!(wire::read_tfhe_secret_key(bytes, key.params(), Lock::None).is_err());
}

#[test]
fn they_mean_what_they_meant() {
    let (dev, params) = (device(), fixture_params());
    let encoder = Encoder::new(&params);
    let secret = wire::read_secret_key(fixture("secret-key"), &params, Lock::None).unwrap();
    let keys = KeyFile::open(fixture("evaluation-keys"), &params).unwrap().read_all(&dev, KeyForm::Stored).unwrap();
    let eval = Evaluator::new(&dev, &params, &keys);
    let values = plain_values(1, 512).concat();
    let expect = |ciphertext: &_, wanted: &[_], bits: f64| {
        let got = decrypt(&dev, &encoder, &params, &secret, ciphertext).unwrap().concat();
        let precision = Precision::of(&got, wanted);
        assert!(precision.mean > bits, "{precision:?}");
    };
    let whole = wire::read_ciphertext(fixture("ciphertext"), &dev, &params).unwrap();
    expect(&whole, &values, 5.0);
    expect(&wire::read_ciphertext(fixture("ciphertext-seeded"), &dev, &params).unwrap(), &values, 8.0);
    let plain = wire::read_plaintext(fixture("plaintext"), &dev, &params).unwrap();
    let doubled: Vec<_> = values.iter().map(|z| z * 2.0).collect();
    expect(&eval.add_plain(&whole, &plain).unwrap(), &doubled, 5.0);
    let mut rotated = values.clone();
    rotated.rotate_left(1);
    expect(&eval.rotate(&whole, 1).unwrap(), &rotated, 4.0);
}

#[test]
#[ignore = "writes the fixtures that are missing"]
fn write_those_that_are_missing() {
    let (dev, params) = (device(), fixture_params());
    for name in NAMES.iter().filter(|name| !path(2, name).exists()) {
        let origin = fixture_origin(name);
        let bytes = if let Some(plain) = name.strip_suffix("-locked") {
            let lock = Lock::Passphrase(PASSPHRASE);
            match plain {
                "secret-key" => {
                    let key = wire::read_secret_key(fixture_of(1, plain), &params, Lock::None).unwrap();
                    wire::write_secret_key(Vec::new(), &params, &key, lock, &origin)
                }
                _ => wire::write_tfhe_secret_key(Vec::new(), &tfhe::fixture_key(), lock, &origin),
            }
        } else {
            rewritten_as(name, &fixture_of(1, name), &dev, &params, &origin)
        };
        std::fs::create_dir_all(path(2, name).parent().unwrap()).unwrap();
        std::fs::write(path(2, name), bytes.unwrap()).unwrap();
    }
}

#[test]
fn every_kind_has_a_fixture() {
    let kinds: Vec<FileKind> = NAMES.iter().map(|name| wire::Container::open(fixture(name)).unwrap().kind()).collect();
    // A prepared model has its fixture in `prepared`, of version 2 alone.
    let elsewhere = [FileKind::Graph, FileKind::MachineReport, FileKind::Prepared];
    assert!(FileKind::ALL.iter().all(|kind| kinds.contains(kind) != elsewhere.contains(kind)));
}
