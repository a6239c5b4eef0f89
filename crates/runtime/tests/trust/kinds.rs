//! The same over every kind of file there is, read alone: what is taken is written and taken again; the rest is an error.

use crate::{
    campaign::count,
    forge::{Dice, Others, Parts, damaged},
};
use limbwise::{
    Error,
    bgv::BgvParams,
    bridge::BridgeParams,
    params::Params,
    rlwe::KeyForm,
    tfhe::TfheParams,
    wire::{self, KeyFile, Lock, Origin},
};
use limbwise_cpu::Cpu;
use limbwise_runtime::files::{read_graph, read_report, write_graph, write_report};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

/// What the fixtures were made for.
struct Sets {
    dev: Cpu,
    ckks: Params,
    tfhe: TfheParams,
    bgv: BgvParams,
    bridge: BridgeParams,
}

fn fixture(name: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder =
        if ["graph", "machine-report"].contains(&name) { "tests/wire_v2" } else { "../limbwise/tests/wire/v2" };
    fs::read(root.join(folder).join(name).with_extension("lw")).unwrap()
}

/// A name, and how its file is read and written.
type Kind = (&'static str, fn(&[u8], &Sets) -> Result<Vec<u8>, Error>);

/// Reading and writing of each kind; origins are written as none.
const KINDS: [Kind; 16] = [
    ("params", |b, _| wire::write_params(Vec::new(), &wire::read_params(b)?)),
    ("public-key", |b, s| {
        wire::write_public_key(Vec::new(), &s.dev, &s.ckks, &wire::read_public_key(b, &s.dev, &s.ckks)?, &Origin::NONE)
    }),
    ("evaluation-keys", |b, s| {
        let keys = KeyFile::open(b, &s.ckks)?.read_all(&s.dev, KeyForm::Seeded)?;
        wire::write_keys(Vec::new(), &s.dev, &s.ckks, &keys, &Origin::NONE)
    }),
    ("secret-key", |b, s| {
        let key = wire::read_secret_key(b, &s.ckks, Lock::None)?;
        wire::write_secret_key(Vec::new(), &s.ckks, &key, Lock::None, &Origin::NONE)
    }),
    ("ciphertext", |b, s| {
        wire::write_ciphertext(Vec::new(), &s.dev, &s.ckks, &wire::read_ciphertext(b, &s.dev, &s.ckks)?, &Origin::NONE)
    }),
    ("ciphertext-seeded", |b, s| {
        let fresh = wire::read_fresh_ciphertext(b, &s.dev, &s.ckks)?;
        wire::write_fresh_ciphertext(Vec::new(), &s.dev, &s.ckks, &fresh, &Origin::NONE)
    }),
    ("plaintext", |b, s| {
        wire::write_plaintext(Vec::new(), &s.dev, &s.ckks, &wire::read_plaintext(b, &s.dev, &s.ckks)?)
    }),
    ("tfhe-params", |b, _| wire::write_tfhe_params(Vec::new(), &wire::read_tfhe_params(b)?)),
    ("tfhe-keys", |b, s| {
        wire::write_tfhe_keys(Vec::new(), &s.dev, &wire::read_tfhe_keys(b, &s.dev, &s.tfhe)?, &Origin::NONE)
    }),
    ("tfhe-secret-key", |b, s| {
        let key = wire::read_tfhe_secret_key(b, &s.tfhe, Lock::None)?;
        wire::write_tfhe_secret_key(Vec::new(), &key, Lock::None, &Origin::NONE)
    }),
    ("tfhe-ciphertext", |b, s| {
        wire::write_tfhe_ciphertext(Vec::new(), &s.dev, &wire::read_tfhe_ciphertext(b, &s.dev, &s.tfhe)?, &Origin::NONE)
    }),
    ("bgv-params", |b, _| wire::write_bgv_params(Vec::new(), &wire::read_bgv_params(b)?)),
    ("bgv-ciphertext", |b, s| {
        let ciphertext = wire::read_bgv_ciphertext(b, &s.dev, &s.bgv)?;
        wire::write_bgv_ciphertext(Vec::new(), &s.dev, &s.bgv, &ciphertext, &Origin::NONE)
    }),
    ("to-lwe-key", |b, s| wire::write_to_lwe_key(Vec::new(), &wire::read_to_lwe_key(b, &s.bridge)?, &Origin::NONE)),
    ("graph", |b, _| read_graph(b).and_then(|graph| write_graph(Vec::new(), &graph)).map_err(|_| Error::State)),
    ("machine-report", |b, _| {
        read_report(b).and_then(|report| write_report(Vec::new(), &report)).map_err(|_| Error::State)
    }),
];

#[test]
fn every_kind_of_file_is_an_error_or_itself() {
    let ckks = wire::read_params(fixture("params")).unwrap();
    let tfhe = wire::read_tfhe_params(fixture("tfhe-params")).unwrap();
    let bgv = wire::read_bgv_params(fixture("bgv-params")).unwrap();
    let bridge = BridgeParams::new(&wire::read_params(fixture("bridge-params")).unwrap(), &tfhe).unwrap();
    let sets = Sets { dev: Cpu::builder().threads(1).open().unwrap(), ckks, tfhe, bgv, bridge };
    let honest: Vec<Vec<u8>> = KINDS.iter().map(|(name, _)| fixture(name)).collect();
    let parts: Vec<Parts> = honest.iter().map(|bytes| Parts::of(bytes)).collect();
    let others = Others { strangers: parts.clone(), own: Vec::new() };
    let (mut taken, count) = (0, count());
    for input in 0..count {
        let mut dice = Dice::new(input as u64);
        let at = input % KINDS.len();
        let (name, rewrite) = KINDS[at];
        let hostile = match dice.below(4) {
            0 => damaged(&honest[at], &mut dice),
            _ => parts[at].changed(&mut dice, &others).sealed(),
        };
        let read = |bytes: &[u8]| catch_unwind(AssertUnwindSafe(|| rewrite(bytes, &sets)));
        let Ok(read_once) = read(&hostile) else { panic!("{name}: input {input} panics") };
        if let Ok(once) = read_once {
            taken += 1;
            let twice = read(&once).unwrap().unwrap();
            assert!(once == twice, "{name}: input {input} is written differently the second time");
        }
    }
    eprintln!("{taken} of {count} were taken, and were written the same again");
    assert!(taken < count / 2);
}
