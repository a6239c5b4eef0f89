//! The file of the key from slots to LWE: round trip, length, what it is for.

use crate::{
    common::{Dev, device},
    fixtures::{fixture, fixture_of},
    tfhe,
};
use limbwise::{
    Error,
    bridge::BridgeParams,
    tfhe::TfheParams,
    wire::{self, WireError},
};

pub(crate) fn params() -> BridgeParams {
    let ckks = wire::read_params(fixture_of(1, "bridge-params")).unwrap();
    BridgeParams::new(&ckks, &tfhe::params()).unwrap()
}

/// Reads a fixture and writes it again.
pub(crate) fn rewritten(name: &str, bytes: &[u8], dev: &Dev, origin: &wire::Origin) -> Result<Vec<u8>, Error> {
    match name {
        "bridge-params" => wire::write_params(Vec::new(), &wire::read_params(bytes)?),
        "to-lwe-key" => wire::write_to_lwe_key(Vec::new(), &wire::read_to_lwe_key(bytes, &params())?, origin),
        _ => tfhe::rewritten(name, bytes, dev, origin),
    }
}

#[test]
fn a_key_belongs_to_both_sets_and_is_a_seed_and_bodies() {
    let bytes = fixture("to-lwe-key");
    let key = wire::read_to_lwe_key(&bytes[..], &params()).unwrap();
    let client = wire::read_tfhe_secret_key(fixture("tfhe-secret-key"), &tfhe::params(), wire::Lock::None).unwrap();
    assert_eq!(key.tag(), client.tag());
    let header = wire::container::PREAMBLE + crate::hostile::header(&bytes).len();
    assert_eq!(bytes.len() - header, 32 + 16 + 2 * (1024 * 4 + 16));
    let mut wider = tfhe::literal();
    wider.glwe_sigma = 3.3;
    let other = BridgeParams::new(params().ckks(), &TfheParams::new(&wider).unwrap()).unwrap();
    let got = wire::read_to_lwe_key(&bytes[..], &other).err().unwrap();
    assert!(matches!(got, Error::Wire(WireError::OtherParameters { .. })), "{got}");
    let got = rewritten("to-lwe-key", &fixture("tfhe-keys"), &device(), &wire::Origin::NONE).err().unwrap().to_string();
    assert!(got.contains("holds keys of a server for TFHE, wanted a key from slots to LWE"), "{got}");
    let got = wire::read_to_lwe_key(&bytes[..bytes.len() - 1], &params()).err().unwrap();
    assert!(matches!(got, Error::Wire(_)), "{got}");
}
