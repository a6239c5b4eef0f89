//! Files by a program that means harm: checksums are right, contents are not. Written here from the format's
//! description, by other code than the library's.

use crate::{
    common::device,
    fixtures::{VERSIONS, fixture, fixture_of, fixture_params, rewritten},
};
use limbwise::Error;
use limbwise::{
    params::Params,
    wire::{WireError, params::fingerprint},
};
use serde_json::{Value, json};

/// A file from its parts: kind, names (the fingerprint alone in version 1, with the origin in version 2), header, payloads.
pub(crate) fn sealed(kind: u16, names: &[u8], header: &[u8], payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"LIMBWISE".to_vec();
    file.extend(if names.len() == 32 { [1, 0] } else { [2, 0] });
    file.extend(kind.to_le_bytes());
    file.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(names);
    let digest = *blake3::hash(&[&file[..], header].concat()).as_bytes();
    file.extend(digest);
    file.extend(header);
    for (number, payload) in (0u64..).zip(payloads) {
        let hash = blake3::keyed_hash(&digest, &[&payload[..], &number.to_le_bytes()].concat());
        file.extend(payload);
        file.extend(&hash.as_bytes()[..16]);
    }
    file
}

/// The fingerprint and the origin of a file, of either version.
pub(crate) fn names(bytes: &[u8]) -> &[u8] {
    if bytes[8] == 1 { &bytes[16..48] } else { &bytes[16..152] }
}

/// The header of a file, of either version.
pub(crate) fn header(bytes: &[u8]) -> &[u8] {
    let before = 16 + names(bytes).len() + 32;
    &bytes[before..before + u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize]
}

/// Kind, names, header and payloads.
pub(crate) type Parts = (u16, Vec<u8>, Value, Vec<Vec<u8>>);

/// The parts of a file, its payloads of these lengths.
pub(crate) fn opened(bytes: &[u8], lengths: &[usize]) -> Parts {
    let (names, text) = (names(bytes).to_vec(), header(bytes));
    let kind = u16::from_le_bytes(bytes[10..12].try_into().unwrap());
    let value = serde_json::from_slice(text).unwrap();
    let mut at = 16 + names.len() + 32 + text.len();
    let mut payload = |&length: &usize| {
        at += length + 16;
        bytes[at - length - 16..at - 16].to_vec()
    };
    let payloads = lengths.iter().map(&mut payload).collect();
    (kind, names, value, payloads)
}

/// Lengths of the rows of a basis of the first primes.
fn lengths(params: &Params, primes: usize) -> Vec<usize> {
    params.ring().moduli()[..primes].iter().map(|q| 128 * q.bits() as usize).collect()
}

fn refused(name: &str, bytes: &[u8]) -> Error {
    let Err(error) = rewritten(name, bytes, &device(), &fixture_params()) else { panic!("{name} is taken") };
    error
}

#[test]
fn the_format_is_as_described() {
    let params = fixture_params();
    let rows = lengths(&params, 2);
    for (name, lengths) in [
        ("params", vec![]),
        ("public-key", [&[32], &rows[..]].concat()),
        ("secret-key", vec![256]),
        ("secret-key-locked", vec![256 + 16]),
        ("ciphertext", rows.repeat(2)),
        ("ciphertext-seeded", [&[32], &rows[..]].concat()),
        ("plaintext", rows.clone()),
    ] {
        for version in VERSIONS {
            let bytes = fixture_of(version, name);
            let (kind, names, _, payloads) = opened(&bytes, &lengths);
            assert!(sealed(kind, &names, header(&bytes), &payloads) == bytes, "{name} of version {version}");
        }
    }
    for version in VERSIONS {
        let hash = *blake3::hash(header(&fixture_of(version, "params"))).as_bytes();
        assert_eq!(hash, fingerprint(&params).0);
    }
}

/// A fixture with one field of its header replaced.
fn with(name: &str, lengths: &[usize], field: &str, value: Value) -> Vec<u8> {
    let (kind, names, mut header, payloads) = opened(&fixture(name), lengths);
    *header.pointer_mut(field).unwrap_or_else(|| panic!("{name} has no {field}")) = value;
    sealed(kind, &names, &serde_json::to_vec(&header).unwrap(), &payloads)
}

#[test]
fn headers_that_lie_are_refused() {
    let params = fixture_params();
    let rows = lengths(&params, 2).repeat(2);
    let huge = json!(u64::MAX);
    for (field, values) in [
        ("/level", vec![json!(0), json!(2), json!(-1), json!(1.5), huge.clone(), json!(null)]),
        ("/scale", vec![json!(0.0), json!(-1.0), json!(5e-324), json!(null), json!("1e9999")]),
        ("/slots", vec![json!(0), json!(3), json!(1024), huge.clone()]),
        ("/batch", vec![json!(0), json!(2), json!(1 << 20), json!((1 << 20) + 1), huge.clone()]),
        ("/parts", vec![json!(0), json!(1), json!(3), json!(4), huge.clone()]),
        ("/seeded", vec![json!(true), json!(2)]),
        ("/estimate/magnitude", vec![json!(-1.0), json!("x")]),
        ("/estimate/sources", vec![json!([{"encryption": 1, "galois": 1, "deviation": -1.0}]), json!(vec![0; 9])]),
    ] {
        for value in values {
            let error = refused("ciphertext", &with("ciphertext", &rows, field, value.clone()));
            assert!(matches!(error, Error::Wire(_)), "{field} = {value}: {error}");
        }
    }
    let nine: Vec<Value> = (0..9).map(|i| json!({"encryption": i, "galois": 1, "deviation": 1.0})).collect();
    let error = refused("ciphertext", &with("ciphertext", &rows, "/estimate/sources", json!(nine)));
    assert!(error.to_string().contains("at most 8 sources"), "{error}");
}

#[test]
fn headers_of_keys_that_lie_are_refused() {
    let entry = |key: Value, level: u64| json!({"key": key, "level": level});
    let relinearization = || entry(json!("relinearization"), 0);
    for keys in [
        json!([relinearization(), relinearization()]),
        json!([entry(json!({"galois": 5}), 0), relinearization()]),
        json!([entry(json!({"galois": 4}), 0)]),
        json!([entry(json!({"galois": 2049}), 0)]),
        json!([entry(json!({"galois": -5}), 0)]),
        json!([entry(json!("encapsulation"), 1)]),
        json!([entry(json!("relinearization"), 2)]),
        json!([entry(json!("relinearization"), u64::MAX)]),
        json!([entry(json!("relinearisation"), 0)]),
        json!(vec![relinearization(); 10_000]),
    ] {
        let error = refused("evaluation-keys", &with("evaluation-keys", &[], "/keys", keys.clone()));
        assert!(matches!(error, Error::Wire(_)), "{keys}: {error}");
    }
}

#[test]
fn residues_that_are_none_are_refused() {
    let params = fixture_params();
    let rows = lengths(&params, 2);
    let (kind, names, header, payloads) = opened(&fixture("plaintext"), &rows);
    for (row, prime) in payloads.iter().zip(&params.ring().spec().primes).enumerate().map(|(i, (_, q))| (i, *q)) {
        let mut wrong = payloads.clone();
        // The first residue becomes the prime itself.
        let width = params.ring().moduli()[row].bits();
        let first = u64::from_le_bytes(wrong[row][..8].try_into().unwrap());
        let replaced = first >> width << width | prime;
        wrong[row][..8].copy_from_slice(&replaced.to_le_bytes());
        let bytes = sealed(kind, &names, &serde_json::to_vec(&header).unwrap(), &wrong);
        let error = refused("plaintext", &bytes);
        assert!(matches!(error, Error::Wire(WireError::Residue { got, .. }) if got == prime), "{error}");
    }
    let secret = sealed(4, &names, br#"{"lock":null}"#, &[vec![0b1100; 256]]);
    assert!(refused("secret-key", &secret).to_string().contains("00, 01 or 10"));
}

#[test]
fn parameters_that_lie_are_refused() {
    for (field, value) in [
        ("/literal/log_n", json!(60)),
        ("/literal/levels", json!([[0], [1]])),
        ("/literal/levels", json!(vec![vec![20]; 10_000])),
        ("/literal/insecure/reason", json!("")),
        ("/literal/sigma", json!(null)),
        ("/primes", json!([12289, 40961, 3])),
        ("/primes", json!([])),
    ] {
        let bytes = with("params", &[], field, value.clone());
        assert!(rewritten("params", &bytes, &device(), &fixture_params()).is_err(), "{field} = {value}");
    }
    let mut renamed = fixture("params");
    renamed[20] ^= 1;
    let bytes = sealed(1, names(&renamed), header(&renamed), &[]);
    assert!(matches!(refused("params", &bytes), Error::Wire(WireError::OtherParameters { .. })));
}

#[test]
fn messages_say_what_got_wanted_and_the_next_step() {
    let original = fixture("plaintext");
    let edited = |at: usize, byte: u8| {
        let mut bytes = original.clone();
        bytes[at] = byte;
        refused("plaintext", &bytes).to_string()
    };
    let last = original.len() - 1;
    assert_eq!(
        [
            edited(0, b'X'),
            edited(8, 3),
            edited(10, 17),
            refused("plaintext", &fixture("ciphertext")).to_string(),
            edited(10, 5),
            edited(15, 1),
            edited(60, 7),
            edited(150, 7),
            edited(last, !original[last]),
            refused("plaintext", &original[..last]).to_string(),
        ],
        [
            "this is not a limbwise file: it begins with \"XIMBWISE\", wanted \"LIMBWISE\"; check the path",
            "the file has format version 3, this program reads 1 and 2: use the limbwise that wrote it, or a newer one",
            "the file has kind 17, and there are 1 to 16: it is damaged; fetch it again",
            "the file holds a ciphertext, wanted a plaintext: check which file goes where (limbwise inspect names its kind)",
            "the header is damaged (its checksum differs): fetch the file again",
            "the header has 16777397 bytes, at most 1048576 are possible: the file is damaged, or holds too many keys",
            "the header is damaged (its checksum differs): fetch the file again",
            "the reserved bytes 148 to 151 is 458752, wanted 0: the file was written by a faulty program (format: docs/file-format.md)",
            "block 1 is damaged (its checksum differs): fetch the file again",
            "the file has 6284 bytes, its header says 6285: it is cut off or damaged; fetch it again",
        ]
    );
}
