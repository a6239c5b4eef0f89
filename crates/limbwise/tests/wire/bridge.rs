//! The file of the key from slots to LWE: round trip, length, what it is for.

use crate::{
    common::{Dev, device},
    fixtures::fixture,
    tfhe,
};
use limbwise::{
    Error,
    bridge::{BridgeParams, ToLweBodies},
    params::{BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsLiteral, Sine},
    rlwe::SecretKey,
    tfhe::{ClientKey, TfheParams},
    wire::{self, WireError},
};
use limbwise_math::sampling::Seed;

/// The smallest ring that a bridge can end at.
fn literal() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(10, 26, 24, 11, (26, 2), 6);
    literal.bootstrapping = Some(BootstrapLiteral {
        order: Order::SlotToCoeffFirst,
        slot_to_coeff: 1,
        coeff_to_slot: 1,
        message_ratio: 2,
        ephemeral_weight: None,
        eval_mod: EvalModLiteral { range: 128, degree: 63, double_angles: 6, sine: Sine::Cosine { arcsine: 0 } },
    });
    literal.levels.extend(vec![literal.levels[1].clone(); 4]);
    (literal.dnum, literal.insecure) = (8, Some(Insecure { reason: "fixture of the file format".into() }));
    literal
}

fn params() -> BridgeParams {
    let ckks = wire::read_params(fixture("bridge-params")).unwrap();
    BridgeParams::new(&ckks, &tfhe::params()).unwrap()
}

/// Both files, as their fixtures are made.
pub(crate) fn files() -> [Vec<u8>; 2] {
    let (ckks, tfhe) = (Params::new(&literal()).unwrap(), TfheParams::new(&tfhe::literal()).unwrap());
    let params = BridgeParams::new(&ckks, &tfhe).unwrap();
    let (secret, client) = (SecretKey::generate(&ckks, &Seed([8; 32])), ClientKey::from_seed(&tfhe, Seed([9; 32])));
    let key = ToLweBodies::generate(&params, &secret, &client).unwrap();
    [wire::write_params(Vec::new(), &ckks), wire::write_to_lwe_key(Vec::new(), &key)].map(Result::unwrap)
}

/// Reads a fixture and writes it again.
pub(crate) fn rewritten(name: &str, bytes: &[u8], dev: &Dev) -> Result<Vec<u8>, Error> {
    match name {
        "bridge-params" => wire::write_params(Vec::new(), &wire::read_params(bytes)?),
        "to-lwe-key" => wire::write_to_lwe_key(Vec::new(), &wire::read_to_lwe_key(bytes, &params())?),
        _ => tfhe::rewritten(name, bytes, dev),
    }
}

#[test]
fn a_key_belongs_to_both_sets_and_is_a_seed_and_bodies() {
    let bytes = fixture("to-lwe-key");
    let key = wire::read_to_lwe_key(&bytes[..], &params()).unwrap();
    let client = wire::read_tfhe_secret_key(fixture("tfhe-secret-key"), &tfhe::params(), wire::Lock::None).unwrap();
    assert_eq!(key.tag(), client.tag());
    let header = 80 + u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    assert_eq!(bytes.len() - header, 32 + 16 + 2 * (1024 * 4 + 16));
    let mut wider = tfhe::literal();
    wider.glwe_sigma = 3.3;
    let other = BridgeParams::new(params().ckks(), &TfheParams::new(&wider).unwrap()).unwrap();
    let got = wire::read_to_lwe_key(&bytes[..], &other).err().unwrap();
    assert!(matches!(got, Error::Wire(WireError::OtherParameters { .. })), "{got}");
    let got = rewritten("to-lwe-key", &fixture("tfhe-keys"), &device()).err().unwrap().to_string();
    assert!(got.contains("holds keys of a server for TFHE, wanted a key from slots to LWE"), "{got}");
    let got = wire::read_to_lwe_key(&bytes[..bytes.len() - 1], &params()).err().unwrap();
    assert!(matches!(got, Error::Wire(_)), "{got}");
}
