//! What every target does with its bytes: reads them as one kind of file, and writes again what passes.
//!
//! Property: nothing panics, and what was taken is written as a file that is taken again and written the same. Memory is
//! bounded by libFuzzer (`make fuzz`: no allocation above 64 MiB, for inputs of at most 64 KiB). Checksums are not compared in these
//! builds (`cfg(fuzzing)`), so that changed bytes come past them.

use limbwise::{
    bgv::BgvParams,
    bridge::BridgeParams,
    params::{Params, ParamsLiteral},
    rlwe::KeyForm,
    tfhe::TfheParams,
    wire::{self, KeyFile, Lock},
};
use limbwise_cpu::Cpu;
use limbwise_runtime::exchange::{heracles, replay};
use std::sync::LazyLock;

/// The parameters of the fixtures, and a device for them.
static SETTING: LazyLock<(Cpu, Params)> = LazyLock::new(|| {
    let file = include_bytes!("../../crates/limbwise/tests/wire/v1/params.lw");
    (Cpu::builder().threads(1).open().expect("a device"), wire::read_params(&file[..]).expect("the fixture"))
});

/// What is taken is written as a file that is taken again and written the same.
fn stable<E: std::fmt::Debug>(data: &[u8], rewritten: impl Fn(&[u8]) -> Result<Vec<u8>, E>) {
    if let Ok(once) = rewritten(data) {
        let twice = rewritten(&once).expect("what was written is taken");
        assert!(once == twice, "written differently the second time");
    }
}

pub fn params(data: &[u8]) {
    stable(data, |bytes| wire::write_params(Vec::new(), &wire::read_params(bytes)?));
}

pub fn public_key(data: &[u8]) {
    let (dev, params) = &*SETTING;
    stable(data, |bytes| {
        wire::write_public_key(
            Vec::new(),
            dev,
            params,
            &wire::read_public_key(bytes, dev, params)?,
            &wire::Origin::NONE,
        )
    });
}

pub fn keys(data: &[u8]) {
    let (dev, params) = &*SETTING;
    stable(data, |bytes| {
        wire::write_keys(
            Vec::new(),
            dev,
            params,
            &KeyFile::open(bytes, params)?.read_all(dev, KeyForm::Seeded)?,
            &wire::Origin::NONE,
        )
    });
}

/// The parameters of TFHE's fixtures.
static TFHE: LazyLock<TfheParams> = LazyLock::new(|| {
    let file = include_bytes!("../../crates/limbwise/tests/wire/v1/tfhe-params.lw");
    wire::read_tfhe_params(&file[..]).expect("the fixture")
});

/// The parameters of BGV's fixtures.
static BGV: LazyLock<BgvParams> = LazyLock::new(|| {
    let file = include_bytes!("../../crates/limbwise/tests/wire/v1/bgv-params.lw");
    wire::read_bgv_params(&file[..]).expect("the fixture")
});

pub fn bgv_params(data: &[u8]) {
    stable(data, |bytes| wire::write_bgv_params(Vec::new(), &wire::read_bgv_params(bytes)?));
}

pub fn bgv_ciphertext(data: &[u8]) {
    let dev = &SETTING.0;
    stable(data, |bytes| {
        wire::write_bgv_ciphertext(
            Vec::new(),
            dev,
            &BGV,
            &wire::read_bgv_ciphertext(bytes, dev, &BGV)?,
            &wire::Origin::NONE,
        )
    });
}

pub fn tfhe_params(data: &[u8]) {
    stable(data, |bytes| wire::write_tfhe_params(Vec::new(), &wire::read_tfhe_params(bytes)?));
}

pub fn tfhe_keys(data: &[u8]) {
    let dev = &SETTING.0;
    stable(data, |bytes| {
        wire::write_tfhe_keys(Vec::new(), dev, &wire::read_tfhe_keys(bytes, dev, &TFHE)?, &wire::Origin::NONE)
    });
}

/// The pair of parameters of the bridge's fixtures.
static BRIDGE: LazyLock<BridgeParams> = LazyLock::new(|| {
    let file = include_bytes!("../../crates/limbwise/tests/wire/v1/bridge-params.lw");
    BridgeParams::new(&wire::read_params(&file[..]).expect("the fixture"), &TFHE).expect("a pair")
});

pub fn to_lwe_key(data: &[u8]) {
    stable(data, |bytes| {
        wire::write_to_lwe_key(Vec::new(), &wire::read_to_lwe_key(bytes, &BRIDGE)?, &wire::Origin::NONE)
    });
}

pub fn tfhe_secret_key(data: &[u8]) {
    let written = |bytes: &[u8]| {
        let key = wire::read_tfhe_secret_key(bytes, &TFHE, Lock::None)?;
        wire::write_tfhe_secret_key(Vec::new(), &key, Lock::None, &wire::Origin::NONE)
    };
    stable(data, written);
}

pub fn tfhe_ciphertext(data: &[u8]) {
    let dev = &SETTING.0;
    stable(data, |bytes| {
        wire::write_tfhe_ciphertext(
            Vec::new(),
            dev,
            &wire::read_tfhe_ciphertext(bytes, dev, &TFHE)?,
            &wire::Origin::NONE,
        )
    });
}

pub fn secret_key(data: &[u8]) {
    let params = &SETTING.1;
    stable(data, |bytes| {
        wire::write_secret_key(
            Vec::new(),
            params,
            &wire::read_secret_key(bytes, params, Lock::None)?,
            Lock::None,
            &wire::Origin::NONE,
        )
    });
}

pub fn ciphertext(data: &[u8]) {
    let (dev, params) = &*SETTING;
    stable(data, |bytes| {
        wire::write_ciphertext(
            Vec::new(),
            dev,
            params,
            &wire::read_ciphertext(bytes, dev, params)?,
            &wire::Origin::NONE,
        )
    });
}

pub fn plaintext(data: &[u8]) {
    let (dev, params) = &*SETTING;
    stable(data, |bytes| wire::write_plaintext(Vec::new(), dev, params, &wire::read_plaintext(bytes, dev, params)?));
}

pub fn graph(data: &[u8]) {
    use limbwise_runtime::files::{read_graph, write_graph};
    stable(data, |bytes| write_graph(Vec::new(), &read_graph(bytes)?));
}

pub fn report(data: &[u8]) {
    use limbwise_runtime::files::{read_report, write_report};
    stable(data, |bytes| write_report(Vec::new(), &read_report(bytes)?));
}

/// A recorded program without its container.
pub fn graph_file(data: &[u8]) {
    stable(data, |bytes| {
        let mut text = Vec::new();
        limbwise_graph::Graph::read_jsonl(bytes)?.write_jsonl(&mut text)?;
        Ok::<_, limbwise_graph::GraphError>(text)
    });
}

/// A parameter set as a person writes it.
pub fn params_toml(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(literal) = toml::from_str::<ParamsLiteral>(text) else { return };
    if let Ok(params) = Params::new(&literal) {
        let file = wire::write_params(Vec::new(), &params).expect("memory takes all");
        assert_eq!(wire::read_params(file).expect("what was written is taken"), params);
    }
}

/// A machine as a person writes it: refused, or timed.
pub fn machine_toml(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(spec) = limbwise_machines::Spec::from_toml(text, "fuzz") {
        let _ = limbwise_machines::time(&limbwise_graph::Graph::default(), &spec);
    }
}

/// A program trace of HERACLES: what is taken is replayed where that is quick, and its errors name lines of it.
pub fn op_trace(data: &[u8]) {
    let Ok(trace) = heracles::read(data) else { return };
    if trace.lines.len() <= 8 && trace.log_n == 10 && trace.limbs <= 4 {
        let lines = data.split(|&b| b == b'\n').count();
        if let Err(error) = replay(&trace) {
            assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error}");
        }
    }
}
