//! What is written comes back the same, in memory and byte for byte.

use crate::common::{Things, literal, plain_values, promise};
use limbwise::{
    Error,
    ckks::{FreshCiphertext, Packing, decrypt, encrypt, encrypt_seeded_from},
    error::KeyError,
    rlwe::{KeyForm, KeyName, KeyStore as _, Requirements, SecretKey},
    scheme::{Ckks, Clear, ClientScheme as _, Encrypting, Encryption, Secrets, Setup, Shadows, SlotsInput},
    wire::{self, KeyFile, KeyWriter, Lock, Origin, WireError},
};
use limbwise_device::{Device, GadgetKey, HostRead};
use limbwise_math::sampling::Seed;

fn things() -> Things {
    Things::new(&literal(10, 4, 3), KeyForm::Stored)
}

#[test]
fn parameters() {
    let t = things();
    let bytes = wire::write_params(Vec::new(), &t.params).unwrap();
    let back = wire::read_params(&bytes).unwrap();
    assert_eq!(back, t.params);
    assert_eq!(wire::write_params(Vec::new(), &back).unwrap(), bytes);
    for preset in limbwise::params::presets::presets() {
        let params = limbwise::params::Params::new(&preset.literal).unwrap();
        assert_eq!(wire::read_params(wire::write_params(Vec::new(), &params).unwrap()).unwrap(), params);
    }
}

#[test]
fn public_keys() {
    let t = things();
    let bytes = wire::write_public_key(Vec::new(), &t.dev, &t.params, &t.public, &wire::Origin::NONE).unwrap();
    let back = wire::read_public_key(&bytes, &t.dev, &t.params).unwrap();
    for (a, b) in back.parts.iter().zip(&t.public.parts) {
        assert_eq!(t.dev.download(a).unwrap(), t.dev.download(b).unwrap());
    }
    assert_eq!(wire::write_public_key(Vec::new(), &t.dev, &t.params, &back, &wire::Origin::NONE).unwrap(), bytes);
    let unnamed = limbwise::rlwe::PublicKey { seed: None, ..back };
    let refused = wire::write_public_key(Vec::new(), &t.dev, &t.params, &unnamed, &wire::Origin::NONE).unwrap_err();
    assert!(matches!(refused, Error::Wire(WireError::NoSeed { .. })), "{refused}");
}

fn words<D: HostRead>(dev: &D, key: &GadgetKey<D::Poly>) -> Vec<Vec<u64>> {
    key.pairs.iter().flatten().map(|p| dev.download(p).unwrap()).collect()
}

#[test]
fn evaluation_keys_at_every_level_and_in_both_forms() {
    let t = things();
    let (dev, params) = (&t.dev, &t.params);
    let bytes = wire::write_keys(Vec::new(), dev, params, &t.keys, &wire::Origin::NONE).unwrap();
    let file = KeyFile::open(&bytes, params).unwrap();
    assert_eq!(file.names(), t.keys.names());
    for (name, top) in file.names() {
        for level in 0..=top {
            let wanted = t.keys.key("test", name, level).unwrap().at(dev, params, level).unwrap();
            for form in [KeyForm::Stored, KeyForm::Seeded] {
                let key = file.read_key(dev, name, level, form).unwrap();
                assert_eq!((key.name(), key.level()), (name, level));
                assert_eq!(words(dev, &key.at(dev, params, level).unwrap()), words(dev, &wanted));
            }
        }
        let mut row = vec![0; params.ring().n()];
        for (digit, pair) in wanted_pairs(&t, name, top).iter().enumerate() {
            for (at, prime) in file.basis(name).unwrap().iter().enumerate() {
                file.read_row(name, digit, prime, &mut Vec::new(), &mut row).unwrap();
                assert_eq!(row, pair[at * row.len()..][..row.len()]);
            }
        }
        let above = file.read_key(dev, name, top + 1, KeyForm::Stored).err().unwrap();
        assert!(matches!(above, Error::Key(KeyError::TooLow { .. })), "{above}");
    }
    let missing = file.read_key(dev, KeyName::Decapsulation, 0, KeyForm::Stored).err().unwrap();
    assert!(matches!(missing, Error::Key(KeyError::Missing { .. })), "{missing}");
    for form in [KeyForm::Stored, KeyForm::Seeded] {
        let all = file.read_all(dev, form).unwrap();
        assert_eq!(wire::write_keys(Vec::new(), dev, params, &all, &wire::Origin::NONE).unwrap(), bytes);
    }
}

fn wanted_pairs(t: &Things, name: KeyName, level: usize) -> Vec<Vec<u64>> {
    let key = t.keys.key("test", name, level).unwrap();
    key.pairs().iter().map(|pair| t.dev.download(&pair.masked).unwrap()).collect()
}

#[test]
fn keys_are_written_in_the_order_announced() {
    let t = things();
    let announced: Requirements = t.keys.names();
    let mut out = KeyWriter::new(Vec::new(), &t.params, &announced, &wire::Origin::NONE).unwrap();
    let second = t.keys.keys().nth(1).unwrap();
    let refused = out.write(&t.dev, second).unwrap_err();
    assert!(matches!(refused, Error::Wire(WireError::Order { .. })), "{refused}");
    let missing = out.finish().unwrap_err();
    assert!(matches!(missing, Error::Wire(WireError::Order { .. })), "{missing}");
}

#[test]
fn secret_keys_open_and_locked() {
    let t = things();
    for lock in [Lock::None, Lock::Passphrase("correct horse")] {
        let bytes = wire::write_secret_key(Vec::new(), &t.params, &t.secret, lock, &wire::Origin::NONE).unwrap();
        let back = wire::read_secret_key(&bytes, &t.params, lock).unwrap();
        let plain = t.plaintext(1, 512, 2);
        let decrypted = decrypt(&t.dev, &t.encoder, &t.params, &back, &t.ciphertext(&plain));
        decrypted.expect("the same key reads what was encrypted");
        if let Lock::Passphrase(_) = lock {
            let locked = wire::read_secret_key(&bytes, &t.params, Lock::None).unwrap_err();
            assert!(matches!(locked, Error::Wire(WireError::Locked)), "{locked}");
            let wrong = wire::read_secret_key(&bytes, &t.params, Lock::Passphrase("Correct horse")).unwrap_err();
            assert!(matches!(wrong, Error::Wire(WireError::Passphrase)), "{wrong}");
        } else {
            assert_eq!(wire::write_secret_key(Vec::new(), &t.params, &back, lock, &wire::Origin::NONE).unwrap(), bytes);
        }
    }
}

#[test]
fn ciphertexts_whole_and_seeded() {
    let t = things();
    let (dev, params) = (&t.dev, &t.params);
    for (batch, slots, level) in [(1, 512, 4), (3, 16, 2), (2, 1, 0)] {
        let plain = t.plaintext(batch, slots, level);
        let whole = t.ciphertext(&plain);
        let FreshCiphertext { ciphertext: fresh, seed } = t.fresh(&plain);
        let bytes = wire::write_ciphertext(Vec::new(), dev, params, &whole, &wire::Origin::NONE).unwrap();
        let unseeded = wire::write_ciphertext(Vec::new(), dev, params, &fresh, &wire::Origin::NONE).unwrap();
        let both = FreshCiphertext { ciphertext: fresh, seed };
        let seeded = wire::write_fresh_ciphertext(Vec::new(), dev, params, &both, &wire::Origin::NONE).unwrap();
        assert!(seeded.len() < unseeded.len() / 2 + 600, "{} and {}", seeded.len(), unseeded.len());
        for (bytes, wanted) in [(&bytes, &whole), (&unseeded, &both.ciphertext), (&seeded, &both.ciphertext)] {
            let back = wire::read_ciphertext(bytes, dev, params).unwrap();
            assert_eq!((back.level, back.slots, back.batch()), (level, slots, batch));
            assert_eq!(back.scale.to_bits(), wanted.scale.to_bits());
            assert_eq!(back.estimate, wanted.estimate);
            for (a, b) in back.parts.iter().zip(&wanted.parts) {
                assert_eq!(dev.download(a).unwrap(), dev.download(b).unwrap());
            }
        }
        let back = wire::read_ciphertext(&bytes, dev, params).unwrap();
        assert_eq!(wire::write_ciphertext(Vec::new(), dev, params, &back, &wire::Origin::NONE).unwrap(), bytes);
    }
}

#[test]
fn a_measured_estimate_is_not_written() {
    let t = things();
    let plain = t.plaintext(1, 512, 1);
    let measured = encrypt(&t.dev, &t.params, &t.public, &plain).unwrap();
    let square = limbwise::ckks::Evaluator::new(&t.dev, &t.params, &t.keys).square(&measured).unwrap();
    for ciphertext in [&measured, &square] {
        let refused =
            wire::write_ciphertext(Vec::new(), &t.dev, &t.params, ciphertext, &wire::Origin::NONE).unwrap_err();
        assert!(matches!(refused, Error::Wire(WireError::Measured)), "{refused}");
    }
    let low = limbwise::ckks::Promise { peak: 0.5, ..promise() };
    assert!(square.with_promise(promise()).is_err(), "its errors were measured too");
    assert!(measured.with_promise(low).err().unwrap().to_string().contains("promise"));
}

#[test]
fn plaintexts() {
    let t = things();
    let plain = t.plaintext(2, 32, 3);
    let bytes = wire::write_plaintext(Vec::new(), &t.dev, &t.params, &plain).unwrap();
    let back = wire::read_plaintext(&bytes, &t.dev, &t.params).unwrap();
    assert_eq!(t.dev.download(&back.poly).unwrap(), t.dev.download(&plain.poly).unwrap());
    assert_eq!((back.packing(), back.estimate), (plain.packing(), plain.estimate));
    assert_eq!(wire::write_plaintext(Vec::new(), &t.dev, &t.params, &back).unwrap(), bytes);
}

#[test]
fn text_of_any_length() {
    for length in [0, 1, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20] {
        let text: Vec<u8> = (0u8..=255).cycle().take(length).collect();
        let bytes = wire::write_text(Vec::new(), wire::FileKind::Graph, &text).unwrap();
        assert_eq!(wire::read_text(&bytes, wire::FileKind::Graph).unwrap(), text);
    }
}

#[test]
fn other_parameters_and_other_kinds_are_refused_by_name() {
    let t = things();
    let other = Things::new(&literal(10, 3, 2), KeyForm::Stored);
    let bytes = wire::write_public_key(Vec::new(), &t.dev, &t.params, &t.public, &wire::Origin::NONE).unwrap();
    let refused = wire::read_public_key(&bytes, &other.dev, &other.params).err().unwrap().to_string();
    assert!(refused.contains(&wire::params::fingerprint(&t.params).to_string()), "{refused}");
    let refused = wire::read_ciphertext(&bytes, &t.dev, &t.params).err().unwrap().to_string();
    assert!(refused.contains("holds a public key, wanted a ciphertext"), "{refused}");
    let null = limbwise_device::Null::default();
    wire::read_public_key(&bytes, &null, &t.params).expect("a device without words reads none");
    drop(null.sync());
}

#[test]
fn a_large_batch_is_encrypted_in_pieces_to_the_same_file() {
    let t = Things::new(&literal(10, 1, 2), KeyForm::Seeded);
    let (batch, seed) = (2500, Seed([5; 32]));
    let input = SlotsInput {
        name: "x".into(),
        batch,
        packing: Packing { slots: 8, level: 1, scale: t.params.scale(1) },
        bounds: promise(),
    };
    let values = plain_values(batch, 8);
    let origin = Origin::NONE.numbered(3);
    let secret = || SecretKey::generate(&t.params, &Seed([4; 32]));
    let setup = Setup { dev: &t.dev, encoder: &t.encoder, params: &t.params };
    let secrets = Secrets { rlwe: Some(secret()), tfhe: None };
    let with =
        Encrypting { key: Encryption::SecretKey, secrets: Some(&secrets), public: None, shadows: Shadows::Absent };
    let clear = |values| Clear { input: &input, values };
    let pieces = Ckks::encrypt_to(Vec::new(), setup, &with, clear(&values), &seed, &origin).unwrap();
    let plain = t.encoder.encode(&t.dev, &values, input.packing).unwrap();
    let FreshCiphertext { ciphertext, seed: public } = encrypt_seeded_from(&t.dev, &t.params, &secret(), &plain, &seed);
    let fresh = FreshCiphertext { ciphertext: ciphertext.with_promise(promise()).unwrap(), seed: public };
    let whole = wire::write_fresh_ciphertext(Vec::new(), &t.dev, &t.params, &fresh, &origin).unwrap();
    assert!(pieces == whole);
    // A promise that one value breaks is refused before anything is written.
    let mut broken = values.clone();
    broken[batch - 1][7] *= 1e3;
    assert!(Ckks::encrypt_to(Vec::new(), setup, &with, clear(&broken), &seed, &origin).is_err());
}
