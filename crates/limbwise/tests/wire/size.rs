//! Files are as large as what they hold: to the byte as the format says, and within 1 % of the information.

use crate::common::Things;
use limbwise::{
    params::presets::preset,
    rlwe::KeyForm,
    wire::{self, Lock},
};
use limbwise_device::Basis;

/// Preamble and header.
fn head(bytes: &[u8]) -> usize {
    wire::container::PREAMBLE + wire::Container::open(bytes).unwrap().header_text().len()
}

#[test]
fn files_hold_what_they_must_and_little_else() {
    let literal = preset("n13-l3-s40").unwrap().literal().clone();
    let t = Things::new(&literal, KeyForm::Seeded);
    let (dev, params) = (&t.dev, &t.params);
    let top = params.top_level();
    let (ring, chain) = (params.ring(), params.basis(top));
    let n = ring.n();
    // Bytes of rows with their checksums; bits of information, for residues are uniform.
    let rows = |basis: Basis| ring.moduli_of(basis).iter().map(|q| n / 8 * q.bits() as usize + 16).sum::<usize>();
    let bits = |basis: Basis| f64::from(u32::try_from(n).unwrap()) * ring.log_modulus(basis);
    let seed = 32;
    let check = |what: &str, bytes: &[u8], wanted: usize, information: f64| {
        assert_eq!(bytes.len(), head(bytes) + wanted, "{what}");
        let length = f64::from(u32::try_from(bytes.len()).unwrap()) * 8.0;
        assert!(length < 1.01 * information, "{what}: {length} bits for {information}");
    };

    let plain = t.plaintext(1, 4096, top);
    let whole = wire::write_ciphertext(Vec::new(), dev, params, &t.ciphertext(&plain), &wire::Origin::NONE).unwrap();
    check("ciphertext", &whole, 2 * rows(chain), 2.0 * bits(chain));
    let seeded = wire::write_fresh_ciphertext(Vec::new(), dev, params, &t.fresh(&plain), &wire::Origin::NONE).unwrap();
    check("seeded ciphertext", &seeded, seed + 16 + rows(chain), 256.0 + bits(chain));
    let public = wire::write_public_key(Vec::new(), dev, params, &t.public, &wire::Origin::NONE).unwrap();
    check("public key", &public, seed + 16 + rows(chain), 256.0 + bits(chain));

    let keys = wire::write_keys(Vec::new(), dev, params, &t.keys, &wire::Origin::NONE).unwrap();
    let (mut wanted, mut information) = (0, 0.0);
    for (name, level) in t.keys.names() {
        let (digits, special) = name.gadget(params, level);
        let basis = params.basis(level) | special;
        let count = f64::from(u32::try_from(digits.len()).unwrap());
        wanted += digits.len() * (seed + rows(basis)) + 16;
        information += count * (256.0 + bits(basis));
    }
    check("evaluation keys", &keys, wanted, information);

    // Two bits a coefficient, where log₂3 would do: simple, and read without a division by a secret.
    let secret = wire::write_secret_key(Vec::new(), params, &t.secret, Lock::None, &wire::Origin::NONE).unwrap();
    assert_eq!(secret.len(), head(&secret) + n / 4 + 16);
}
