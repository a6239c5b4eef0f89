//! Every kind of container, read alone, with the parameters of the fixtures.

use super::{Answer, root, scratch::with_file, stable};
use limbwise::{
    bgv::BgvParams,
    bridge::BridgeParams,
    params::Params,
    rlwe::KeyForm,
    tfhe::TfheParams,
    wire::{self, KeyFile, Lock, Origin},
};
use limbwise_cpu::Cpu;
use limbwise_runtime::files::{read_graph, read_report, write_graph, write_report};
use std::{fs, sync::LazyLock};

/// What the fixtures were made for.
struct Sets {
    dev: Cpu,
    ckks: Params,
    tfhe: TfheParams,
    bgv: BgvParams,
    bridge: BridgeParams,
}

static SETS: LazyLock<Sets> = LazyLock::new(|| {
    let file = |name: &str| {
        fs::read(root().join("crates/limbwise/tests/wire/v2").join(name)).expect("the fixtures are in the tree")
    };
    let tfhe = wire::read_tfhe_params(file("tfhe-params.lw")).expect("the fixture");
    let bridged = wire::read_params(file("bridge-params.lw")).expect("the fixture");
    Sets {
        dev: Cpu::builder().threads(1).open().expect("a device"),
        ckks: wire::read_params(file("params.lw")).expect("the fixture"),
        bgv: wire::read_bgv_params(file("bgv-params.lw")).expect("the fixture"),
        bridge: BridgeParams::new(&bridged, &tfhe).expect("a pair"),
        tfhe,
    }
});

pub fn params(bytes: &[u8]) -> Answer {
    stable(bytes, |b| wire::write_params(Vec::new(), &wire::read_params(b)?))
}

pub fn public_key(bytes: &[u8]) -> Answer {
    let Sets { dev, ckks, .. } = &*SETS;
    stable(bytes, |b| {
        wire::write_public_key(Vec::new(), dev, ckks, &wire::read_public_key(b, dev, ckks)?, &Origin::NONE)
    })
}

pub fn evaluation_keys(bytes: &[u8]) -> Answer {
    let Sets { dev, ckks, .. } = &*SETS;
    stable(bytes, |b| {
        let keys = KeyFile::open(b, ckks)?.read_all(dev, KeyForm::Seeded)?;
        wire::write_keys(Vec::new(), dev, ckks, &keys, &Origin::NONE)
    })
}

pub fn secret_key(bytes: &[u8]) -> Answer {
    let ckks = &SETS.ckks;
    stable(bytes, |b| {
        let key = wire::read_secret_key(b, ckks, Lock::None)?;
        wire::write_secret_key(Vec::new(), ckks, &key, Lock::None, &Origin::NONE)
    })
}

pub fn ciphertext(bytes: &[u8]) -> Answer {
    let Sets { dev, ckks, .. } = &*SETS;
    stable(bytes, |b| {
        wire::write_ciphertext(Vec::new(), dev, ckks, &wire::read_ciphertext(b, dev, ckks)?, &Origin::NONE)
    })
}

pub fn ciphertext_seeded(bytes: &[u8]) -> Answer {
    let Sets { dev, ckks, .. } = &*SETS;
    stable(bytes, |b| {
        let fresh = wire::read_fresh_ciphertext(b, dev, ckks)?;
        wire::write_fresh_ciphertext(Vec::new(), dev, ckks, &fresh, &Origin::NONE)
    })
}

pub fn plaintext(bytes: &[u8]) -> Answer {
    let Sets { dev, ckks, .. } = &*SETS;
    stable(bytes, |b| wire::write_plaintext(Vec::new(), dev, ckks, &wire::read_plaintext(b, dev, ckks)?))
}

pub fn prepared(bytes: &[u8]) -> Answer {
    let Sets { dev, ckks, .. } = &*SETS;
    stable(bytes, |b| {
        let file = wire::PreparedFile::open(b, ckks)?;
        // A run of none says nothing, whatever its count of plaintexts is; a length bounds the others.
        let shapes: Vec<_> = file.shapes().cloned().collect();
        let mut out = wire::PreparedWriter::begin(Vec::new(), ckks, &Origin::NONE, wire::Fingerprint::NONE, &shapes)?;
        for (number, shape) in (0..).zip(&shapes) {
            out.push(dev, &file.read(dev, number, shape)?)?;
        }
        out.finish()
    })
}

pub fn tfhe_params(bytes: &[u8]) -> Answer {
    stable(bytes, |b| wire::write_tfhe_params(Vec::new(), &wire::read_tfhe_params(b)?))
}

pub fn tfhe_keys(bytes: &[u8]) -> Answer {
    let Sets { dev, tfhe, .. } = &*SETS;
    stable(bytes, |b| wire::write_tfhe_keys(Vec::new(), dev, &wire::read_tfhe_keys(b, dev, tfhe)?, &Origin::NONE))
}

pub fn tfhe_secret_key(bytes: &[u8]) -> Answer {
    let tfhe = &SETS.tfhe;
    stable(bytes, |b| {
        let key = wire::read_tfhe_secret_key(b, tfhe, Lock::None)?;
        wire::write_tfhe_secret_key(Vec::new(), &key, Lock::None, &Origin::NONE)
    })
}

pub fn tfhe_ciphertext(bytes: &[u8]) -> Answer {
    let Sets { dev, tfhe, .. } = &*SETS;
    stable(bytes, |b| {
        wire::write_tfhe_ciphertext(Vec::new(), dev, &wire::read_tfhe_ciphertext(b, dev, tfhe)?, &Origin::NONE)
    })
}

pub fn bgv_params(bytes: &[u8]) -> Answer {
    stable(bytes, |b| wire::write_bgv_params(Vec::new(), &wire::read_bgv_params(b)?))
}

pub fn bgv_ciphertext(bytes: &[u8]) -> Answer {
    let Sets { dev, bgv, .. } = &*SETS;
    stable(bytes, |b| {
        wire::write_bgv_ciphertext(Vec::new(), dev, bgv, &wire::read_bgv_ciphertext(b, dev, bgv)?, &Origin::NONE)
    })
}

pub fn bgv_ciphertext_seeded(bytes: &[u8]) -> Answer {
    let Sets { dev, bgv, .. } = &*SETS;
    stable(bytes, |b| {
        let fresh = wire::read_fresh_bgv_ciphertext(b, dev, bgv)?;
        wire::write_fresh_bgv_ciphertext(Vec::new(), dev, bgv, &fresh, &Origin::NONE)
    })
}

pub fn to_lwe_key(bytes: &[u8]) -> Answer {
    let pair = &SETS.bridge;
    stable(bytes, |b| wire::write_to_lwe_key(Vec::new(), &wire::read_to_lwe_key(b, pair)?, &Origin::NONE))
}

pub fn graph(bytes: &[u8]) -> Answer {
    stable(bytes, |b| write_graph(Vec::new(), &read_graph(b)?))
}

pub fn machine_report(bytes: &[u8]) -> Answer {
    stable(bytes, |b| write_report(Vec::new(), &read_report(b)?))
}

/// What `limbwise inspect` says of a file without knowing its parameters.
pub fn inspect(bytes: &[u8]) -> Answer {
    with_file(".lw", bytes, |path| limbwise_runtime::inspect::inspect(path, None, None).map(drop))
        .map_err(|e| e.to_string())
}
