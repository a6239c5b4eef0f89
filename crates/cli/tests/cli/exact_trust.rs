//! Attacks by whoever answers, on exact schemes: results and descriptions that are not what they say, and ciphertexts that
//! were made up. The forged files have right checksums, for whoever evaluates writes these too.

use crate::{
    common::Folder,
    exact_sides::{DECRYPT, QUESTION, evaluated, names, question},
    mistakes::refused,
    serve::verb,
};
use limbwise::tfhe::{TfheParams, preset};
use serde_json::{Value, json};
use std::fs;

const EVAL: [&str; 8] = ["eval", "--server", "theirs", "--in", "in", "--out", "again", "--force"];

/// A file in parts: header, and payloads of its blocks.
struct Parts {
    preamble: Vec<u8>,
    header: Value,
    blocks: Vec<Vec<u8>>,
}

/// Bytes before the header; the digest of what is before is the last of them.
const PREAMBLE: usize = 184;
const DIGEST: usize = 152;

fn checksum(digest: &[u8], payload: &[u8], number: u64) -> [u8; 16] {
    let key: [u8; 32] = digest.try_into().unwrap();
    let hash = blake3::Hasher::new_keyed(&key).update(payload).update(&number.to_le_bytes()).finalize();
    *hash.as_bytes().first_chunk().unwrap()
}

impl Parts {
    fn of(bytes: &[u8]) -> Self {
        let header = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let mut rest = &bytes[PREAMBLE + header..];
        let mut blocks = Vec::new();
        while !rest.is_empty() {
            // Blocks do not say how long they are: each ends where its checksum is.
            let number = blocks.len() as u64;
            let ends =
                |&length: &usize| checksum(&bytes[DIGEST..PREAMBLE], &rest[..length], number) == rest[length..][..16];
            let length = (0..=rest.len() - 16).step_by(8).find(ends).unwrap();
            blocks.push(rest[..length].to_vec());
            rest = &rest[length + 16..];
        }
        let header = serde_json::from_slice(&bytes[PREAMBLE..PREAMBLE + header]).unwrap();
        Self { preamble: bytes[..DIGEST].to_vec(), header, blocks }
    }

    fn bytes(mut self) -> Vec<u8> {
        let header = serde_json::to_vec(&self.header).unwrap();
        self.preamble[12..16].copy_from_slice(&u32::try_from(header.len()).unwrap().to_le_bytes());
        let digest = *blake3::hash(&[&self.preamble[..], &header].concat()).as_bytes();
        let mut bytes = [&self.preamble[..], &digest, &header].concat();
        for (block, number) in self.blocks.iter().zip(0..) {
            bytes.extend_from_slice(block);
            bytes.extend(checksum(&digest, block, number));
        }
        bytes
    }
}

/// Rewrites a file, checksums and all.
fn forge(folder: &Folder, name: &str, change: impl FnOnce(&mut Parts)) {
    let path = folder.path().join(name);
    let mut parts = Parts::of(&fs::read(&path).unwrap());
    change(&mut parts);
    fs::write(path, parts.bytes()).unwrap();
}

/// Changes one field of a result's header at a time, and says what of it is told.
fn lies(folder: &Folder, name: &str, fields: &[(&str, Value, &str)]) {
    let honest = fs::read(folder.path().join(name)).unwrap();
    for (field, value, said) in fields {
        forge(folder, name, |parts| {
            assert!(parts.header.get(field).is_some(), "{:#}", parts.header);
            parts.header[field] = value.clone();
        });
        let text = refused(folder, &DECRYPT);
        assert!(text.contains(said) && text.matches("error:").count() == 1, "{field} = {value}: {text}");
        fs::write(folder.path().join(name), &honest).unwrap();
    }
}

#[test]
fn what_messages_say_of_themselves_is_not_believed() {
    let folder = Folder::new("forged-pbs");
    evaluated(&folder, &["pbs", "--batch", "4"]);
    let result = "out/result-000.ct";
    let own = "by your own recording";
    lies(
        &folder,
        result,
        &[
            ("range", json!([0, 14]), own),
            ("range", json!([-1, 1 << 30]), own),
            ("norm_squared", json!(4.0), own),
            ("norm_squared", json!(1e300), own),
            ("tag", json!(1), "key"),
            ("batch", json!(3), "bytes"),
            ("batch", json!(0), "batch"),
        ],
    );
    verb(&folder, &DECRYPT);
}

#[test]
fn made_up_messages_tell_no_number() {
    let folder = Folder::new("made-up-pbs");
    evaluated(&folder, &["pbs", "--batch", "4"]);
    let result = "out/result-000.ct";
    let honest = fs::read(folder.path().join(result)).unwrap();
    let told = |change: &dyn Fn(&mut Parts)| {
        forge(&folder, result, change);
        let text = refused(&folder, &DECRYPT);
        fs::write(folder.path().join(result), &honest).unwrap();
        text
    };
    // The mask is X⁰ at a large multiple of the modulus' step: the phase would be a coefficient of the key.
    let coefficient = |at: usize| {
        move |parts: &mut Parts| {
            parts.blocks[0].fill(0);
            parts.blocks[0][8 * at + 5] = 0x3f;
            parts.blocks[4][..8].fill(0);
        }
    };
    // Farthest from every message, and a message whose padding bit is set.
    let params = TfheParams::new(&preset("2-2-p128").unwrap()).unwrap();
    let (q, step) = (params.modulus().value(), params.encode(1));
    let shifted = |by: u64| {
        move |parts: &mut Parts| {
            let body = parts.blocks[4].first_chunk_mut::<8>().unwrap();
            *body = ((u64::from_le_bytes(*body) + by) % q).to_le_bytes();
        }
    };
    let (noisy, padded) = (shifted(step / 2), shifted(step * params.space()));
    let moved = |parts: &mut Parts| parts.blocks.swap(0, 1);
    let texts = [told(&coefficient(0)), told(&coefficient(9)), told(&noisy), told(&padded), told(&moved)];
    assert!(texts[0].contains("error:") && texts.iter().all(|text| *text == texts[0]), "{texts:#?}");
    verb(&folder, &DECRYPT);
}

#[test]
fn what_integers_say_of_themselves_is_not_believed() {
    let folder = Folder::new("forged-table");
    evaluated(&folder, &["bgv-table"]);
    let own = "by your own recording";
    lies(
        &folder,
        "out/result-000.ct",
        &[
            ("factor", json!(3), own),
            ("noise_bits", json!(1.0), own),
            ("noise_bits", json!(7000.0), own),
            ("batch", json!(1), "bytes"),
            ("level", json!(0), "bytes"),
        ],
    );
    let honest = fs::read(folder.path().join("out/result-000.ct")).unwrap();
    forge(&folder, "out/result-000.ct", |parts| parts.blocks[0][..64].fill(1));
    let (first, second) = (refused(&folder, &DECRYPT), {
        forge(&folder, "out/result-000.ct", |parts| parts.blocks[0][64..128].fill(7));
        refused(&folder, &DECRYPT)
    });
    assert_eq!(first, second, "the text tells nothing of what was decrypted");
    fs::write(folder.path().join("out/result-000.ct"), honest).unwrap();
    verb(&folder, &DECRYPT);
}

/// Results that changed places, of other inputs and of another key set; inputs that changed places.
fn strangers(folder: &Folder, program: &[&str]) {
    let at = |dir: &str, i: usize| folder.path().join(format!("{dir}/{}", names(&folder.path().join(dir))[i]));
    for (dir, verb) in [("out", &DECRYPT[..]), ("in", &EVAL)] {
        if names(&folder.path().join(dir)).len() < 2 {
            continue;
        }
        let [first, second] = [0, 1].map(|i| fs::read(at(dir, i)).unwrap());
        fs::write(at(dir, 0), &second).unwrap();
        fs::write(at(dir, 1), &first).unwrap();
        let text = refused(folder, verb);
        assert!(text.contains("another number"), "{dir}: {text}");
        fs::write(at(dir, 0), first).unwrap();
        fs::write(at(dir, 1), second).unwrap();
    }
    verb(folder, &["encrypt", "--client", "mine", "--out", "in2"]);
    let old = refused(folder, &DECRYPT);
    assert!(old.contains("other inputs: those in in;"), "{old}");
    verb(folder, &[&DECRYPT[..], &["--inputs", "in"]].concat());
    fs::rename(folder.path().join("y.json"), folder.path().join("kept")).unwrap_or_default();

    let sides = ["--client", "mine2", "--server", "theirs2", "--seed", "9", "--insecure-seed"];
    verb(folder, &[&["keygen"], program, &sides].concat());
    verb(folder, &["encrypt", "--client", "mine2", "--out", "in3"]);
    let text = refused(folder, &["eval", "--server", "theirs", "--in", "in3", "--out", "x"]);
    assert!(text.contains("another key set"), "{text}");
    verb(folder, &["eval", "--server", "theirs2", "--in", "in3", "--out", "out3"]);
    let text = refused(folder, &["decrypt", "--client", "mine", "--in", "out3", "--out", "z.json", "--inputs", "in3"]);
    assert!(text.contains("another"), "{text}");
    // One's description beside another's keys.
    let key = if program[0] == "gates" { "bootstrap.keys" } else { "evaluation.keys" };
    fs::copy(folder.path().join("theirs2").join(key), folder.path().join("theirs").join(key)).unwrap();
    let text = refused(folder, &EVAL);
    assert!(text.contains("another key set"), "{text}");
}

#[test]
fn gates_of_others_are_told_apart() {
    let folder = Folder::new("strange-gates");
    evaluated(&folder, &["gates", "--batch", "1"]);
    strangers(&folder, &["gates", "--batch", "1"]);
}

#[test]
fn tables_of_others_are_told_apart() {
    let folder = Folder::new("strange-tables");
    evaluated(&folder, &["bgv-table", "--encrypted-matrix"]);
    strangers(&folder, &["bgv-table", "--encrypted-matrix"]);
}

/// Replaces a text of a small file, asks, and puts it back.
fn altered(folder: &Folder, file: &str, (from, to): (&str, &str), verb: &[&str], said: &str) {
    let path = folder.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file}: {text}");
    fs::write(&path, text.replace(from, to)).unwrap();
    let told = refused(folder, verb);
    assert!(told.contains(said), "{file}, {to}: {told}");
    fs::write(path, text).unwrap();
}

#[test]
fn altered_files_of_either_side_are_refused() {
    let folder = Folder::new("altered-pbs");
    evaluated(&folder, &["pbs", "--batch", "2"]);
    for (side, verb) in [("theirs", &EVAL[..]), ("mine", &DECRYPT)] {
        let program = format!("{side}/program.json");
        for (change, said) in [
            (("\"batch\": 2", "\"batch\": 3"), "another program"),
            (("\"batch\": 2", "\"batch\": 70000000000"), "error: "),
            (("\"batch\": 2", "\"batch\": 2, \"more\": 1"), "unknown field"),
            (("\"tables\": \"same\"", "\"tables\": \"each\""), "another program"),
            (("\"lwe_dimension\"", "\"dimension\""), "dimension"),
            (("\"version\": 1", "\"version\": 9"), "version 9"),
        ] {
            altered(&folder, &program, change, verb, said);
        }
    }
    altered(&folder, "mine/data.json", ("\"data_seed\"", "\"data_sead\""), &DECRYPT, "data.json");
    altered(&folder, "mine/data.json", ("0", "1"), &DECRYPT, "data.json");
    altered(&folder, "mine/ledger.json", ("secret-key", "public-key"), &DECRYPT, "ledger.json");
    verb(&folder, &DECRYPT);

    let folder = Folder::new("altered-table");
    evaluated(&folder, &["bgv-table"]);
    for (side, verb) in [("theirs", &EVAL[..]), ("mine", &DECRYPT)] {
        let program = format!("{side}/program.json");
        altered(&folder, &program, ("\"columns\": 4", "\"columns\": 3"), verb, "error: ");
        altered(&folder, &program, ("\"key_form\": \"stored\"", "\"key_form\": \"seeded\""), verb, "another program");
    }
    verb(&folder, &DECRYPT);
}

#[test]
fn exact_results_are_not_flooded() {
    let folder = Folder::new("share-exact");
    evaluated(&folder, &["bgv-table"]);
    let text = refused(&folder, &[&DECRYPT[..], &["--share"]].concat());
    assert!(text.contains("--share: results of this workload are exact"), "{text}");
    let before = fs::read(folder.path().join("mine/ledger.json")).unwrap();
    verb(&folder, &DECRYPT);
    assert!(fs::read(folder.path().join("mine/ledger.json")).unwrap() == before, "nothing was counted as shared");
}

#[test]
fn answers_to_questions_are_told_apart_and_shared() {
    let folder = question("strange-query");
    let [sum, bits] = [0, 1].map(|i| folder.path().join(format!("out/result-00{i}.ct")));
    let [first, second] = [&sum, &bits].map(|path| fs::read(path).unwrap());
    fs::write(&sum, &second).unwrap();
    fs::write(&bits, &first).unwrap();
    assert!(refused(&folder, &DECRYPT).contains("another number"));
    fs::write(&sum, &first).unwrap();
    fs::write(&bits, &second).unwrap();
    // A result of the other scheme, from an input.
    let digit = fs::read(folder.path().join("in/input-000.ct")).unwrap();
    fs::write(&sum, &digit).unwrap();
    refused(&folder, &DECRYPT);
    fs::write(&sum, &first).unwrap();
    let shared = verb(&folder, &[&DECRYPT[..], &["--share", "--statistical-bits", "1"]].concat());
    assert_eq!((&shared["shareable"], &shared["shared"]["results"]), (&true.into(), &2.into()), "{shared:#}");
    // Only one of its two kinds of keys.
    for (key, said) in [("bootstrap.keys", "bootstrap.keys"), ("evaluation.keys", "evaluation.keys")] {
        let (path, away) = (folder.path().join("theirs").join(key), folder.path().join("away"));
        fs::rename(&path, &away).unwrap();
        assert!(refused(&folder, &EVAL).contains(said));
        fs::rename(&away, &path).unwrap();
    }
    // Keys of two sets: on the server's side, and the secrets of the client.
    let sides = ["--client", "mine2", "--server", "theirs2", "--seed", "9", "--insecure-seed"];
    verb(&folder, &[&["keygen"], &QUESTION[..], &sides].concat());
    for (file, other, asked) in [
        ("theirs/bootstrap.keys", "theirs2/bootstrap.keys", &EVAL[..]),
        ("mine/secret.tfhe.key", "mine2/secret.tfhe.key", &["encrypt", "--client", "mine", "--out", "mixed"]),
        ("mine/secret.key", "mine2/secret.key", &[&DECRYPT[..], &["--force"]].concat()),
    ] {
        let honest = fs::read(folder.path().join(file)).unwrap();
        fs::copy(folder.path().join(other), folder.path().join(file)).unwrap();
        let text = refused(&folder, asked);
        assert!(text.contains("another key set"), "{file}: {text}");
        fs::write(folder.path().join(file), honest).unwrap();
    }
}
