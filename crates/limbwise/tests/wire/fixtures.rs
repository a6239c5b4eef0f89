//! Files of version 1 as they were written first: they load for ever, mean the same, and are written again byte for byte.

use crate::{
    bgv, bridge,
    common::{Dev, Things, device, plain_values, promise},
    tfhe,
};
use limbwise::{
    Error,
    ckks::{Encoder, Evaluator, FreshCiphertext, Packing, Precision, decrypt},
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{KeyForm, KeyGenerator, KeyName, KeyPlan},
    wire::{self, FileKind, KeyFile, Lock},
};
use limbwise_math::galois::GaloisElement;
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

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wire/v1").join(name).with_extension("lw")
}

pub(crate) fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

pub(crate) fn fixture_params() -> Params {
    wire::read_params(fixture("params")).unwrap()
}

/// Reads a file as what the fixture of that name is, and writes it again; a locked key comes out unlocked.
pub(crate) fn rewritten(name: &str, bytes: &[u8], dev: &Dev, params: &Params) -> Result<Vec<u8>, Error> {
    let out = Vec::new();
    match name {
        "params" => wire::write_params(out, &wire::read_params(bytes)?),
        "public-key" => wire::write_public_key(out, dev, params, &wire::read_public_key(bytes, dev, params)?),
        "evaluation-keys" => {
            wire::write_keys(out, dev, params, &KeyFile::open(bytes, params)?.read_all(dev, KeyForm::Seeded)?)
        }
        "secret-key" => {
            wire::write_secret_key(out, params, &wire::read_secret_key(bytes, params, Lock::None)?, Lock::None)
        }
        "secret-key-locked" => {
            let key = wire::read_secret_key(bytes, params, Lock::Passphrase(PASSPHRASE))?;
            wire::write_secret_key(out, params, &key, Lock::None)
        }
        "ciphertext" => wire::write_ciphertext(out, dev, params, &wire::read_ciphertext(bytes, dev, params)?),
        "ciphertext-seeded" => {
            let fresh = wire::read_fresh_ciphertext(bytes, dev, params)?;
            wire::write_fresh_ciphertext(out, dev, params, &fresh)
        }
        "plaintext" => wire::write_plaintext(out, dev, params, &wire::read_plaintext(bytes, dev, params)?),
        name if name.starts_with("bgv") => bgv::rewritten(name, bytes, dev),
        "bridge-params" | "to-lwe-key" => bridge::rewritten(name, bytes, dev),
        _ => tfhe::rewritten(name, bytes, dev),
    }
}

#[test]
fn they_load_and_are_written_the_same() {
    let (dev, params) = (device(), fixture_params());
    for name in NAMES {
        let wanted = fixture(name.trim_end_matches("-locked"));
        assert!(rewritten(name, &fixture(name), &dev, &params).unwrap() == wanted, "{name}");
    }
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

/// The set of the fixtures: below any security, so small that a key fits a page.
fn literal() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(10, 26, 20, 1, (26, 1), 2);
    literal.insecure = Some(Insecure { reason: "fixture of the file format".into() });
    literal
}

#[test]
#[ignore = "writes the fixtures that are missing"]
fn write_those_that_are_missing() {
    let t = Things::new(&literal(), KeyForm::Stored);
    let Things { dev, params, secret, public, .. } = &t;
    let rotation = KeyName::Galois(GaloisElement::rotation(1, params.log_n()));
    let required = [(rotation, 1), (KeyName::Relinearization, 0)].into();
    let keys = KeyGenerator::new(dev, params, secret)
        .unwrap()
        .key_set(&KeyPlan { required, form: KeyForm::Seeded }, |_| ())
        .unwrap();
    let packing = Packing { slots: 512, level: 1, scale: params.scale(1) };
    let plain = t.encoder.encode(dev, &plain_values(1, 512), packing).unwrap();
    let FreshCiphertext { ciphertext, seed } = t.fresh(&plain);
    let fresh = FreshCiphertext { ciphertext: ciphertext.promised(promise()).unwrap(), seed };
    let out = Vec::new;
    let files = [
        wire::write_params(out(), params),
        wire::write_public_key(out(), dev, params, public),
        wire::write_keys(out(), dev, params, &keys),
        wire::write_secret_key(out(), params, secret, Lock::None),
        wire::write_secret_key(out(), params, secret, Lock::Passphrase(PASSPHRASE)),
        wire::write_ciphertext(out(), dev, params, &t.ciphertext(&plain)),
        wire::write_fresh_ciphertext(out(), dev, params, &fresh),
        wire::write_plaintext(out(), dev, params, &plain),
    ];
    let files =
        files.map(Result::unwrap).into_iter().chain(tfhe::files(dev)).chain(bgv::files(dev)).chain(bridge::files());
    for (name, bytes) in NAMES.iter().zip(files).filter(|(name, _)| !path(name).exists()) {
        std::fs::write(path(name), bytes).unwrap();
    }
}

#[test]
fn every_kind_has_a_fixture() {
    let kinds: Vec<FileKind> = NAMES.iter().map(|name| wire::Container::open(fixture(name)).unwrap().kind()).collect();
    let elsewhere = [FileKind::Graph, FileKind::MachineReport];
    assert!(FileKind::ALL.iter().all(|kind| kinds.contains(kind) != elsewhere.contains(kind)));
}
