//! What is left of secrets in the memory of this process: of keys that were dropped, after a client has encrypted and
//! decrypted, after a server has evaluated, after a server has read its key for TLS, after a key of OpenFHE was converted.

mod scan;

use crate::sides::{Folder, decrypt, device, encrypt, eval, made};
use limbwise::{
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{KeyGenerator, SecretKey},
    tfhe::{ClientKey, TfheParams},
};
use limbwise_math::{
    modulus::Modulus,
    ntt::NttTable,
    sampling::{Seed, Stream},
};
use limbwise_runtime::{
    exchange::foreign::{Binding, Content, openfhe::Document},
    places::{SECRET, read_secret},
};
use limbwise_server::Tls;
use scan::{Hidden, HiddenWords, turn};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};
use zeroize::Zeroizing;

/// Fewest words of a polynomial that are no chance: a random word is one of a thousand of 40 bits with 2^−30.
const MANY: usize = 16;

/// The words of a secret in evaluation domain modulo a prime, in any order.
fn values(numbers: &[i64], q: Modulus) -> HiddenWords {
    let mut words: Zeroizing<Vec<u64>> = Zeroizing::new(numbers.iter().map(|&c| q.from_i64(c)).collect());
    NttTable::new(q, words.len().ilog2()).forward(&mut words);
    HiddenWords::of(&words)
}

#[test]
fn nothing_of_a_dropped_key_is_left() {
    let _turn = turn();
    // RLWE: made, used on the device, dropped.
    let mut literal = ParamsLiteral::chain(11, 40, 30, 2, (40, 2), 2);
    literal.insecure = Some(Insecure { reason: "a test of memory".into() });
    let params = Params::new(&literal).unwrap();
    let mut numbers = Zeroizing::new(vec![0; 1 << 11]);
    Stream::new(&Seed::from_os().unwrap(), b"a test of memory").ternary(&mut numbers);
    let (pattern, rows) = (Hidden::of(&numbers), values(&numbers, params.ring().moduli()[0]));
    let dev = device();
    let key = SecretKey::from_coefficients(&params, numbers).unwrap();
    let generator = KeyGenerator::new(&dev, &params, &key).unwrap();
    let found = (pattern.copies(), rows.found());
    assert!(found.0 > 0 && found.1 > MANY, "a key that is there is found: {found:?}");
    drop((generator.public_key(), generator));
    drop(key);
    assert_eq!(pattern.copies(), 0, "copies of a dropped RLWE key");
    assert!(rows.found() < MANY, "rows of a dropped RLWE key on the device");

    // TFHE: both keys, made from a seed, used for keys and encryption, dropped.
    let literal = fs::read_to_string("corpus/tfhe-params-toml/tiny.toml").unwrap();
    let tfhe = TfheParams::new(&toml::from_str(&literal).unwrap()).unwrap();
    let client = ClientKey::from_seed(&tfhe, Seed::from_os().unwrap());
    let narrow = Hidden::of(client.small_bits());
    assert!(narrow.copies() > 0, "a key that is there is found");
    let bootstrap = client.bootstrap_keys(&dev);
    let encrypted = client.encrypt(&dev, &[1, 2, 3]).unwrap();
    assert_eq!(client.decrypt(&dev, &encrypted).unwrap(), [1, 2, 3]);
    drop((client, bootstrap));
    assert_eq!(narrow.copies(), 0, "copies of a dropped TFHE key");
}

/// What is looked for of the key in a client's file: its packed bytes, its coefficients, its rows on a device.
fn of_file(path: &Path) -> (Hidden, Hidden, HiddenWords) {
    const CHECKSUM: usize = 16;
    let bytes = read_secret(path, 1 << 20).unwrap();
    // The ring of `sides` has 2^10 coefficients of two bits each.
    let packed = &bytes[bytes.len() - CHECKSUM - 256..bytes.len() - CHECKSUM];
    let mut numbers = Zeroizing::new(Vec::with_capacity(1 << 10));
    for byte in packed {
        numbers.extend([0, 2, 4, 6].map(|shift| i64::from(byte >> shift & 1) - i64::from(byte >> (shift + 1) & 1)));
    }
    let mut literal = ParamsLiteral::chain(10, 40, 30, 2, (40, 2), 2);
    literal.insecure = Some(Insecure { reason: "a test of memory".into() });
    let q = Params::new(&literal).unwrap().ring().moduli()[0];
    (Hidden::of_bytes(packed), Hidden::of(&numbers), values(&numbers, q))
}

#[test]
fn nothing_of_a_key_is_left_after_a_client_or_a_server_has_run() {
    let _turn = turn();
    let folder = Folder::new("memory");
    let root = &folder.0;
    let (client, server) = made(root, "memory", 4, 0x6d65_6d6f_7279);
    let (packed, numbers, rows) = of_file(&client.join(SECRET));
    let clean = |after: &str| {
        assert_eq!(packed.copies(), 0, "packed, {after}");
        assert_eq!(numbers.copies(), 0, "coefficients, {after}");
        let found = rows.found();
        assert!(found < MANY, "{found} words of rows, {after}");
    };
    clean("after keys were made");
    let (inputs, results) = (root.join("in"), root.join("out"));
    // The device stays open, as in a process that serves many calls.
    let dev = device();
    encrypt(&dev, &client, &inputs, 1.0).unwrap();
    clean("after encryption");
    eval(&dev, &server, &inputs, &results, None).unwrap();
    clean("after an evaluation");
    decrypt(&dev, &client, &results).unwrap();
    clean("after decryption");
}

#[test]
fn a_server_keeps_neither_the_text_nor_the_bytes_of_its_tls_key() {
    let _turn = turn();
    const KEY: &str = include_str!("memory/key.pem");
    let folder = Folder::new("tls-memory");
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.0.join(name));
    fs::write(&cert, include_str!("memory/cert.pem")).unwrap();
    fs::write(&key, KEY).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    // The constant itself lies in memory that nobody writes.
    let begin = KEY.find("-----\n").unwrap() + 6;
    let first = Hidden::of_bytes(&KEY.as_bytes()[begin + 16..]);
    let second = Hidden::of_bytes(&KEY.as_bytes()[begin + 65..]);
    let there = read_secret(&key, 1 << 20).unwrap();
    assert!(first.copies() > 0, "a text that is there is found");
    drop(there);
    let tls = Tls::from_files(&cert, &key).unwrap();
    assert_eq!((first.copies(), second.copies()), (0, 0), "the text of the key");
    // The 138 bytes of the key begin with 36 that all keys of this curve share: its number and its public half follow.
    // rustls has the number as words in its own order, so these bytes are a copy of what was read.
    let line = decoded(&KEY.as_bytes()[begin..begin + 128]);
    let bytes = Hidden::of_bytes(&line[36..]);
    drop(line);
    assert_eq!(bytes.copies(), 0, "the decoded key");
    drop(tls);
}

/// Base64 of letters without padding, line ends among them.
fn decoded(text: &[u8]) -> Zeroizing<Vec<u8>> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Zeroizing::new(Vec::with_capacity(text.len()));
    let (mut word, mut bits) = (0usize, 0);
    for place in text.iter().filter_map(|&letter| LETTERS.iter().position(|&other| other == letter)) {
        (word, bits) = ((word << 6 | place) & 0xffff, bits + 6);
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(word >> bits & 255).unwrap());
        }
    }
    out
}

#[test]
fn nothing_of_openfhes_key_is_left_after_it_was_read() {
    let _turn = turn();
    let place = Path::new("../runtime/tests/session/foreign/openfhe");
    let folder = Folder::new("openfhe-memory");
    let path = folder.0.join("secret.json");
    // Unpacked elsewhere, so that no buffer of the unpacking is in this memory.
    let unpacked = Command::new("gzip")
        .arg("-dc")
        .stdin(fs::File::open(place.join("secret.json.gz")).unwrap())
        .stdout(fs::File::create(&path).unwrap())
        .stderr(Stdio::inherit())
        .status();
    if !unpacked.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: gzip is not here");
        return;
    }
    let read = || {
        let bytes = read_secret(&path, 1 << 28).unwrap();
        let document = Document::parse(&bytes).unwrap();
        (document.chain().unwrap(), document.content().unwrap(), bytes)
    };
    let (chain, content, text) = read();
    let Content::SecretKey(poly) = &content else { panic!("{} in the place of a secret key", content.kind()) };
    let words: Zeroizing<Vec<i64>> = Zeroizing::new(poly.limbs[0].words.iter().map(|x| x.cast_signed()).collect());
    let numbers = Hidden::of(&words);
    let first = words[0].to_string();
    let at = text.windows(first.len()).position(|window| window == first.as_bytes()).unwrap();
    let letters = Hidden::of_bytes(&text[at..]);
    assert!(numbers.copies() > 0 && letters.copies() > 0, "a key that is there is found");
    drop((words, text));
    let params = Params::new(&chain.literal(Some("a test of memory")).unwrap()).unwrap();
    let dev = device();
    drop(Binding::new(&params).secret(&dev, poly).unwrap());
    drop(content);
    assert_eq!((numbers.copies(), letters.copies()), (0, 0), "numbers and text of a key of OpenFHE");
    // The same once more, without what the first reading left behind being in the way.
    drop(read());
    assert_eq!((numbers.copies(), letters.copies()), (0, 0), "numbers and text, read again");
}
