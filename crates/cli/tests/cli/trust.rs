//! Attacks by whoever answers: each of them worked before, and none of them may work again. The forged files have right
//! checksums, for whoever evaluates writes these too.

use crate::{
    common::{Folder, TINY},
    sides::{json, layer, refused},
};
use limbwise::{
    ckks::{Ciphertext, Encoder, Packing, encrypt_secret},
    params::Params,
    rlwe::SecretKey,
    wire::{self, Lock, Origin},
};
use limbwise_cpu::Cpu;
use serde_json::Value;
use std::{fs, path::Path};

const EVAL: [&str; 7] = ["eval", "--server", "theirs", "--in", "in", "--out", "out"];
const DECRYPT: [&str; 7] = ["decrypt", "--client", "mine", "--in", "out", "--out", "y.npy"];
const SHARE: [&str; 8] = ["decrypt", "--client", "mine", "--in", "out", "--out", "y.npy", "--share"];
const RESULT: &str = "out/result-000.ct";

fn params(folder: &Folder) -> Params {
    wire::read_params(fs::read(folder.path().join("theirs/params.limbwise")).unwrap()).unwrap()
}

/// Rewrites a ciphertext's file, checksums and all.
fn forge(folder: &Folder, name: &str, change: impl FnOnce(&mut Ciphertext<Cpu>, &mut Origin)) {
    let (path, params) = (folder.path().join(name), params(folder));
    let dev = Cpu::builder().open().unwrap();
    let bytes = fs::read(&path).unwrap();
    let mut origin = wire::origin(&bytes[..]).unwrap();
    let mut ciphertext = wire::read_ciphertext(bytes, &dev, &params).unwrap();
    change(&mut ciphertext, &mut origin);
    fs::write(path, wire::write_ciphertext(Vec::new(), &dev, &params, &ciphertext, &origin).unwrap()).unwrap();
}

/// What a verb says when it refuses.
fn refusal(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.run(arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{arguments:?}: {text}");
    text
}

/// A layer with an honest result.
fn evaluated(name: &str) -> Folder {
    let folder = layer(name);
    json(&folder, &EVAL);
    folder
}

#[test]
fn what_a_result_says_of_itself_is_not_believed() {
    let folder = evaluated("trust-headers");
    let honest = fs::read(folder.path().join(RESULT)).unwrap();
    type Change = fn(&mut Ciphertext<Cpu>);
    let lies: [(&str, Change); 9] = [
        // An error so small that flooding hides nothing, with all else open: the first attack of the review.
        ("all values are real", |c| c.estimate = c.estimate.with_error_known(1e-40).with_peak(1e6, false)),
        ("error", |c| c.estimate = c.estimate.with_error_known(1e-40)),
        // The honest error, and a bound that lets made-up ciphertexts pass: the second.
        ("all values are real", |c| c.estimate = c.estimate.with_peak(1e6, false)),
        ("largest value", |c| c.estimate = c.estimate.with_peak(1e6, c.estimate.real)),
        ("largest value", |c| c.estimate = c.estimate.with_peak(f64::INFINITY, c.estimate.real)),
        ("scale", |c| c.scale = 1e308),
        ("scale", |c| c.scale *= 2.0),
        ("number of slots", |c| c.slots /= 2),
        ("number of polynomials", |c| c.parts.push(c.parts[0].clone())),
    ];
    for (said, lie) in lies {
        forge(&folder, RESULT, |ciphertext, _| lie(ciphertext));
        for verb in [&DECRYPT[..], &SHARE] {
            let text = refusal(&folder, verb);
            assert!(text.contains(said) && text.contains("by your own recording"), "{said}: {text}");
        }
        fs::write(folder.path().join(RESULT), &honest).unwrap();
    }
    // Fewer primes, which any server can drop.
    forge(&folder, RESULT, |c, _| {
        let (dev, params) = (Cpu::builder().open().unwrap(), params(&folder));
        let level = c.level - 1;
        let bytes = wire::write_ciphertext(Vec::new(), &dev, &params, c, &Origin::NONE).unwrap();
        let again = wire::read_ciphertext(bytes, &dev, &params).unwrap();
        c.parts = again.parts.iter().map(|p| limbwise_device::Device::restrict(&dev, p, params.basis(level))).collect();
        c.level = level;
    });
    assert!(refusal(&folder, &DECRYPT).contains("its level is"));
    assert!(!folder.path().join("y.npy").exists());
    fs::write(folder.path().join(RESULT), &honest).unwrap();
    json(&folder, &DECRYPT);
}

#[test]
fn a_made_up_result_is_refused_without_a_word_of_what_is_in_it() {
    let folder = evaluated("trust-made-up");
    // c₁ = X^0 at a small multiple of the scale: decryption would give the key's coefficients.
    forge(&folder, RESULT, |c, _| c.parts.swap(0, 1));
    let (first, again) = (refusal(&folder, &DECRYPT), refusal(&folder, &SHARE));
    assert!(first.contains("contradict the program"), "{first}");
    let other = evaluated("trust-made-up-too");
    forge(&other, RESULT, |c, _| c.parts[1] = c.parts[0].clone());
    // The text is the same whatever was decrypted: its only number is the program's bound.
    assert_eq!((first.as_str(), first.as_str()), (again.as_str(), refusal(&other, &DECRYPT).as_str()));
    assert!(!folder.path().join("y.npy").exists());
}

#[test]
fn what_is_shared_has_the_noise_of_the_clients_own_estimate() {
    let folder = evaluated("trust-share");
    let shared = json(&folder, &[&SHARE[..], &["--shared-results", "3"]].concat());
    let plain = json(&folder, &[&DECRYPT[..], &["--force"]].concat());
    let flooded = &shared["results"][0]["flooded"];
    assert_eq!(flooded["precision_bits_before"], plain["precision_bits_predicted"]);
    assert_eq!((&shared["shared"]["results"], &shared["shared"]["sharing"]["results"]), (&1.into(), &3.into()));
    // The same result again is one more: fresh noise on the same numbers averages out.
    let again = [&SHARE[..], &["--force"]].concat();
    assert_eq!(json(&folder, &again)["shared"]["results"], 2);
    assert!(refusal(&folder, &[&again[..], &["--shared-results", "100"]].concat()).contains("first sharing"));
    assert!(refusal(&folder, &[&again[..], &["--statistical-bits", "10"]].concat()).contains("first sharing"));
    assert_eq!(json(&folder, &again)["shared"]["results"], 3);
    let before = fs::read(folder.path().join("y.npy")).unwrap();
    assert!(refusal(&folder, &again).contains("3 of the 3"));
    assert!(fs::read(folder.path().join("y.npy")).unwrap() == before, "nothing is written");
    // A ledger that was changed by hand, or that is another key's, is no ledger.
    let path = folder.path().join("mine/ledger.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"results\": 3,", "\"results\": 0,")).unwrap();
    assert!(refusal(&folder, &again).contains("damaged"));
}

#[test]
fn a_matrix_that_the_server_alone_has_enlarges_results_as_far_as_the_client_says() {
    let folder = Folder::new("trust-model");
    folder.write("tiny.toml", TINY);
    folder.write("w.csv", &"0.9,0.9,0.9,0.9\n".repeat(4));
    let shape =
        ["linear", "--preset", "tiny.toml", "--op", "matvec", "--rows", "4", "--cols", "4", "--weights", "server"];
    json(&folder, &[&["keygen"][..], &shape, &["--client", "mine", "--server", "theirs"]].concat());
    json(&folder, &["encrypt", "--client", "mine", "--out", "in"]);
    json(&folder, &[&EVAL[..], &["--weights", "w.csv"]].concat());
    let text = refusal(&folder, &DECRYPT);
    assert!(text.contains("largest value") || text.contains("size of values"), "{text}");
    let found = json(&folder, &[&DECRYPT[..], &["--model-gain", "8"]].concat());
    let shared = json(&folder, &[&SHARE[..], &["--model-gain", "8", "--force"]].concat());
    // The error is taken as large as the client allows, not as large as the result says.
    let bits = |value: &Value| value.as_f64().unwrap();
    let before = bits(&shared["results"][0]["flooded"]["precision_bits_before"]);
    assert_eq!(shared["results"][0]["flooded"]["precision_bits_before"], found["precision_bits_predicted"]);
    let more = json(&folder, &[&DECRYPT[..], &["--model-gain", "16", "--force"]].concat());
    assert!((before - bits(&more["precision_bits_predicted"]) - 1.0).abs() < 1e-9);
    for wrong in ["0.5", "nan", "inf", "x"] {
        assert!(refusal(&folder, &[&DECRYPT[..], &["--model-gain", wrong]].concat()).contains("1 to 1e9"));
    }
    // A lie within the gain changes nothing: what is used is the client's own.
    forge(&folder, RESULT, |c, _| c.estimate = c.estimate.with_error_known(1e-40));
    let lied = json(&folder, &[&DECRYPT[..], &["--model-gain", "8", "--force"]].concat());
    assert_eq!(lied["precision_bits_predicted"], found["precision_bits_predicted"]);
}

#[test]
fn every_result_of_a_program_counts() {
    let folder = Folder::new("trust-count");
    folder.write("tiny.toml", TINY);
    let training = ["logreg", "--preset", "tiny.toml", "--iterations", "1", "--degree", "3"];
    json(&folder, &[&["keygen"][..], &training, &["--client", "mine", "--server", "theirs"]].concat());
    json(&folder, &["encrypt", "--client", "mine", "--out", "in"]);
    json(&folder, &EVAL);
    let results = fs::read_dir(folder.path().join("out")).unwrap().count();
    assert!(results > 1);
    let few = (results - 1).to_string();
    let share = [&SHARE[..], &["--statistical-bits", "1", "--shared-results"]].concat();
    assert!(refusal(&folder, &[&share[..], &[&few]].concat()).contains("cannot be shared"));
    // Results that changed places.
    let name = |i: usize| folder.path().join(format!("out/result-{i:03}.ct"));
    let [first, second] = [name(0), name(1)].map(|path| fs::read(path).unwrap());
    fs::write(name(0), &second).unwrap();
    fs::write(name(1), &first).unwrap();
    assert!(refusal(&folder, &DECRYPT).contains("another number"));
    // Inputs that changed places, on the server's side.
    let inputs = fs::read_dir(folder.path().join("in")).unwrap().count();
    if inputs > 1 {
        let name = |i: usize| folder.path().join(format!("in/input-{i:03}.ct"));
        let [first, second] = [name(0), name(1)].map(|path| fs::read(path).unwrap());
        fs::write(name(0), second).unwrap();
        fs::write(name(1), first).unwrap();
        assert!(refusal(&folder, &[&EVAL[..5], &["--out", "out2"]].concat()).contains("another number"));
    }
}

#[test]
fn results_of_earlier_inputs_and_of_other_keys_are_told_apart() {
    let folder = evaluated("trust-replay");
    json(&folder, &["encrypt", "--client", "mine", "--out", "in2"]);
    let old = refusal(&folder, &DECRYPT);
    assert!(old.contains("other inputs: those in in;") && old.contains("--inputs"), "{old}");
    json(&folder, &[&DECRYPT[..], &["--inputs", "in"]].concat());
    // A server that changes the label too is told by nothing but the label: SECURITY.md says so.
    json(&folder, &["eval", "--server", "theirs", "--in", "in2", "--out", "out2"]);
    json(&folder, &["decrypt", "--client", "mine", "--in", "out2", "--out", "y2.npy"]);
    let wrong = ["decrypt", "--client", "mine", "--in", "out2", "--out", "y3.npy", "--inputs", "in"];
    assert!(refusal(&folder, &wrong).contains("another inputs"));
    forge(&folder, RESULT, |_, origin| *origin = Origin::NONE);
    assert!(refusal(&folder, &[&DECRYPT[..], &["--inputs", "in"]].concat()).contains("it says none"));

    // A second key set under the same parameters, for the same program.
    let other = layer_of(&folder, "mine2", "theirs2");
    json(&folder, &["encrypt", "--client", "mine2", "--out", "in3"]);
    refused(&folder, &["eval", "--server", "theirs", "--in", "in3", "--out", "x"], "another key set");
    json(&folder, &["eval", "--server", "theirs2", "--in", "in3", "--out", "out3"]);
    refused(&folder, &["decrypt", "--client", "mine", "--in", "out3", "--out", "z.npy", "--inputs", "in3"], "another");
    // The description of one with the keys of another program.
    let keys = |name: &str| folder.path().join(name).join("evaluation.keys");
    fs::copy(keys(&other), keys("theirs")).unwrap();
    refused(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "x"], "another key set");
}

/// Keys for the same layer, from another seed.
fn layer_of(folder: &Folder, client: &str, server: &str) -> String {
    let keygen =
        ["keygen", "linear", "--preset", "tiny.toml", "--rows", "16", "--strategy", "hoisted", "--keys", "stored"];
    let rest = ["--plaintexts", "full", "--client", client, "--server", server, "--seed", "9", "--insecure-seed"];
    json(folder, &[&keygen[..], &rest].concat());
    server.into()
}

/// Every byte of a small file with one bit flipped: a verb refuses it, or says what it says without the flip.
fn flips(folder: &Folder, file: &Path, bits: std::ops::Range<u32>, mut unharmed: impl FnMut() -> bool) {
    let path = folder.path().join(file);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        for bit in bits.clone() {
            damaged[at] = whole[at] ^ 1 << ((bit + u32::try_from(at).unwrap()) % 8);
            fs::write(&path, &damaged).unwrap();
            assert!(unharmed(), "{}: bit {bit} of byte {at} gives another result", file.display());
        }
    }
    fs::write(path, whole).unwrap();
}

#[test]
fn a_flipped_bit_of_a_description_changes_no_number() {
    let folder = evaluated("trust-flips");
    json(&folder, &DECRYPT);
    let [result, numbers] = [RESULT, "y.npy"].map(|name| fs::read(folder.path().join(name)).unwrap());
    // What eval does first; all bits. The verbs themselves follow, for some.
    let keys = folder.path().join("theirs/evaluation.keys");
    let path = folder.path().join("theirs/program.json");
    let parse = || limbwise_apps::Description::parse(&fs::read(&path).unwrap());
    let honest = parse().unwrap();
    let keys_for = |d: &limbwise_apps::Description| limbwise_runtime::origin::keys_for(&keys, d).is_err();
    flips(&folder, Path::new("theirs/program.json"), 0..8, || parse().map_or(true, |d| d == honest || keys_for(&d)));
    let same = |verb: &[&str], file: &str, wanted: &[u8]| {
        let output = folder.run(&[verb, &["--force"]].concat());
        match output.status.code() {
            Some(0) => fs::read(folder.path().join(file)).unwrap() == wanted,
            Some(2) => true,
            _ => false,
        }
    };
    // The program is the same in all of these: a few hundred processes in place of some thousand.
    let text = fs::read_to_string(&path).unwrap();
    for (from, to) in [("\"rows\": 16", "\"rows\": 17"), ("\"peak\": ", "\"peak\": 9"), ("stored", "seeded")] {
        assert!(text.contains(from), "{text}");
        for (side, verb, file, wanted) in
            [("theirs", &EVAL[..], RESULT, &result), ("mine", &DECRYPT, "y.npy", &numbers)]
        {
            let path = folder.path().join(side).join("program.json");
            fs::write(&path, text.replace(from, to)).unwrap();
            let said = refusal(&folder, &[verb, &["--force"]].concat());
            assert!(said.contains("another program"), "{side}: {said}");
            fs::write(&path, &text).unwrap();
            assert!(same(verb, file, wanted), "{side}");
        }
    }
}

#[test]
#[ignore = "some thousand processes"]
fn a_flipped_bit_of_any_small_file_changes_no_number() {
    let folder = evaluated("trust-all-flips");
    json(&folder, &DECRYPT);
    let [result, numbers] = [RESULT, "y.npy"].map(|name| fs::read(folder.path().join(name)).unwrap());
    for (name, verb, file, wanted) in [
        ("theirs/program.json", &EVAL[..], RESULT, &result),
        ("mine/program.json", &DECRYPT, "y.npy", &numbers),
        ("mine/data.json", &DECRYPT, "y.npy", &numbers),
        ("mine/ledger.json", &DECRYPT, "y.npy", &numbers),
    ] {
        let verb = [verb, &["--force"]].concat();
        flips(&folder, Path::new(name), 0..1, || match folder.run(&verb).status.code() {
            Some(0) => fs::read(folder.path().join(file)).unwrap() == *wanted,
            code => code == Some(2),
        });
    }
}

#[test]
#[cfg(unix)]
fn what_tells_of_the_client_is_its_owners() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = evaluated("trust-modes");
    for out in ["y.npy", "y.csv", "y.json"] {
        json(&folder, &["decrypt", "--client", "mine", "--in", "out", "--out", out]);
        let mode = fs::metadata(folder.path().join(out)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{out}");
    }
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("mine/data.json"), mode("mine/ledger.json")], [0o600; 2]);
}

#[test]
fn directories_of_version_1_are_still_read() {
    // Keys, inputs and results whose preamble says nothing, as all files did; the ledger was not there.
    let folder = evaluated("trust-version-1");
    for name in ["mine/public.key", "mine/secret.key", "theirs/evaluation.keys", "in/input-000.ct"] {
        let path = folder.path().join(name);
        fs::write(&path, as_version_1(&fs::read(&path).unwrap())).unwrap();
    }
    fs::remove_file(folder.path().join("mine/ledger.json")).unwrap();
    json(&folder, &[&EVAL[..], &["--force"]].concat());
    json(&folder, &DECRYPT);
    forge(&folder, RESULT, |c, _| c.estimate = c.estimate.with_error_known(1e-40));
    assert!(refusal(&folder, &[&SHARE[..], &["--force"]].concat()).contains("by your own recording"));
    // With a ledger from now on, under either key, shared and not.
    for key in ["secret", "public"] {
        let encrypt = ["encrypt", "--client", "mine", "--out", "in", "--key", key, "--force"];
        json(&folder, &[&encrypt[..], &["--seed", "5", "--insecure-seed"]].concat());
        json(&folder, &[&EVAL[..], &["--force"]].concat());
        json(&folder, &[&DECRYPT[..], &["--force"]].concat());
        json(&folder, &[&SHARE[..], &["--force"]].concat());
    }
    // Without one, whoever encrypted under the other key says so.
    json(&folder, &["encrypt", "--client", "mine", "--out", "in", "--key", "secret", "--force"]);
    json(&folder, &[&EVAL[..], &["--force"]].concat());
    fs::remove_file(folder.path().join("mine/ledger.json")).unwrap();
    assert!(refusal(&folder, &[&DECRYPT[..], &["--force"]].concat()).contains("error"));
    json(&folder, &[&DECRYPT[..], &["--force", "--key", "secret"]].concat());
}

/// A file of the present version as one of version 1: the preamble without its origin, and other checksums.
fn as_version_1(bytes: &[u8]) -> Vec<u8> {
    let header = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let (before, old) = (184 + header, &bytes[152..184]);
    let mut file = bytes[..48].to_vec();
    file[8] = 1;
    let digest = *blake3::hash(&[&file[..], &bytes[184..before]].concat()).as_bytes();
    file.extend(digest);
    file.extend(&bytes[184..before]);
    // Blocks are found by their checksums under the old digest.
    let old: [u8; 32] = old.try_into().unwrap();
    let (mut at, mut number) = (before, 0u64);
    while at < bytes.len() {
        let mut hasher = blake3::Hasher::new_keyed(&old);
        let ends = |length: usize, hasher: &mut blake3::Hasher| {
            let mut whole = hasher.clone();
            whole.update(&number.to_le_bytes());
            whole.finalize().as_bytes()[..16] == bytes[at + length..at + length + 16]
        };
        let mut length = 0;
        while !ends(length, &mut hasher) {
            hasher.update(&bytes[at + length..=at + length]);
            length += 1;
        }
        let payload = &bytes[at..at + length];
        let hash = blake3::Hasher::new_keyed(&digest).update(payload).update(&number.to_le_bytes()).finalize();
        file.extend(payload);
        file.extend(&hash.as_bytes()[..16]);
        (at, number) = (at + length + 16, number + 1);
    }
    file
}

#[test]
#[cfg(unix)]
fn a_file_that_is_replaced_is_its_owners_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = evaluated("trust-planted");
    json(&folder, &DECRYPT);
    fs::set_permissions(folder.path().join("y.npy"), fs::Permissions::from_mode(0o666)).unwrap();
    json(&folder, &[&DECRYPT[..], &["--force"]].concat());
    let mode = fs::metadata(folder.path().join("y.npy")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "a file that is replaced keeps nothing of the old one");
}

#[test]
fn a_secret_key_is_not_told_by_two_shared_results() {
    // Two honest results of the same inputs, shared: their difference is noise that is far above the scheme's own.
    let folder = evaluated("trust-two");
    let numbers = |out: &str| -> Vec<f64> {
        json(&folder, &["decrypt", "--client", "mine", "--in", "out", "--out", out, "--share"]);
        let text = fs::read_to_string(folder.path().join(out)).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        value["values"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let (a, b) = (numbers("a.json"), numbers("b.json"));
    let params = params(&folder);
    let dev = Cpu::builder().open().unwrap();
    let bytes = fs::read(folder.path().join("mine/secret.key")).unwrap();
    let secret: SecretKey = wire::read_secret_key(bytes, &params, Lock::None).unwrap();
    let encoder = Encoder::new(&params);
    let packing = Packing { slots: 16, level: 0, scale: params.scale(0) };
    let plain = encoder.encode(&dev, &[vec![0.5.into(); 16]], packing).unwrap();
    let fresh = encrypt_secret(&dev, &params, &secret, &plain).unwrap().estimate.error();
    // Shared numbers are rounded to about their noise, so that some of the two may be equal: all of them together are not.
    let squares: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum();
    let apart = (squares / a.len() as f64).sqrt();
    assert!(apart > 1e3 * fresh, "{apart:e} where the scheme's errors are {fresh:e}");
}
