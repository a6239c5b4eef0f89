//! The two sides by files for programs on TFHE, on BGV and for questions to tables: what comes out is what the clear twin
//! says, and the server's directory holds no secret.

use crate::{
    common::{Folder, TINY_BRIDGE, tiny_tfhe_of_four_bits},
    mistakes::refused,
    serve::verb,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// The files of a directory, sorted by name.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Keys, inputs and results of a program, each by its verb; every file of the server's is looked at for secrets.
pub(crate) fn evaluated(folder: &Folder, program: &[&str]) -> Value {
    let sides = ["--client", "mine", "--server", "theirs", "--seed", "7", "--insecure-seed"];
    verb(folder, &[&["keygen"], program, &sides].concat());
    verb(folder, &["encrypt", "--client", "mine", "--out", "in", "--seed", "8", "--insecure-seed"]);
    let report = verb(folder, &["eval", "--server", "theirs", "--in", "in", "--out", "out"]);
    no_secret(folder);
    report
}

/// Fails if a file of the client's alone, or one of its kind, is on the server's side.
fn no_secret(folder: &Folder) {
    let client = names(&folder.path().join("mine"));
    let server = folder.path().join("theirs");
    for name in names(&server) {
        let bytes = fs::read(server.join(&name)).unwrap();
        assert!(!name.contains("secret") && name != "data.json" && name != "ledger.json", "{name}");
        for own in client.iter().filter(|own| own.contains("secret")) {
            let secret = fs::read(folder.path().join("mine").join(own)).unwrap();
            let tail = &secret[secret.len() - 48..]; // the sealed seed of a key, with its checksum
            assert!(!bytes.windows(48).any(|window| window == tail), "{name} has what {own} has");
        }
        if name != "program.json" {
            let inspected = verb(folder, &["inspect", &format!("theirs/{name}")]);
            let kind = inspected[0]["kind"].as_str().unwrap();
            assert!(!kind.contains("secret"), "{name}: {kind}");
        }
    }
}

pub(crate) const DECRYPT: [&str; 7] = ["decrypt", "--client", "mine", "--in", "out", "--out", "y.json"];

/// What decryption says beside the clear twin.
fn compared(folder: &Folder) -> Value {
    let found = verb(folder, &[&DECRYPT[..], &["--compare"]].concat());
    let compared = &found["compared"];
    assert_eq!(compared["wrong"], 0, "{found:#}");
    found
}

#[test]
fn messages_of_tfhe_go_there_and_back() {
    let folder = Folder::new("exact-pbs");
    let report = evaluated(&folder, &["pbs", "--batch", "3", "--tables", "each", "--data-seed", "5"]);
    assert_eq!((&report["scheme"], &report["workload"]), (&"tfhe".into(), &"pbs".into()));
    assert!(report["log2_failure"].as_f64() < Some(-126.0) && report["insecure_randomness"] == true, "{report:#}");
    let server = names(&folder.path().join("theirs"));
    assert_eq!(server, ["bootstrap.keys", "params.limbwise", "program.json"]);
    assert!(names(&folder.path().join("mine")).contains(&"secret.tfhe.key".into()));
    let found = compared(&folder);
    assert_eq!((&found["shareable"], found.get("warning")), (&true.into(), None), "{found:#}");
    assert_eq!(found["results"][0]["shape"], json!([3]));
    let inspected =
        verb(&folder, &["inspect", "--verify", "theirs/bootstrap.keys", "in/input-000.ct", "--params", "mine"]);
    assert!(inspected.as_array().unwrap().iter().all(|file| file["verified"] == true), "{inspected:#}");
}

/// A file that is not as long as its header says is no file to describe; where that takes parameters, it is said.
#[test]
fn files_that_are_cut_off_are_told_without_verifying_them() {
    let folder = Folder::new("cut-off");
    folder.write("tfhe.toml", &tiny_tfhe_of_four_bits().replace("message_bits = 4", "message_bits = 2"));
    evaluated(&folder, &["gates", "--batch", "2", "--preset", "tfhe.toml"]);
    for name in ["theirs/bootstrap.keys", "theirs/params.limbwise", "mine/secret.tfhe.key", "in/input-000.ct"] {
        let (path, here) = (folder.path().join(name), ["--params", "mine"]);
        let whole = fs::read(&path).unwrap();
        let inspected = verb(&folder, &[&["inspect", name][..], &here].concat());
        assert_eq!(inspected[0]["whole"], true, "{inspected:#}");
        for (bytes, wanted) in
            [(&whole[..whole.len() - 1], whole.len()), (&[&whole[..], b"x"].concat()[..], whole.len())]
        {
            fs::write(&path, bytes).unwrap();
            let text = refused(&folder, &[&["inspect", name][..], &here].concat());
            let told = format!("{name}: the file has {} bytes, its header says {wanted}: it is cut off", bytes.len());
            assert!(text.contains(&told), "{text}");
        }
        fs::write(&path, whole).unwrap();
    }
    let output = folder.run(&["inspect", "in/input-000.ct"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("not checked: that takes the parameters"), "{text}");
}

#[test]
fn gates_go_there_and_back() {
    let folder = Folder::new("exact-gates");
    evaluated(&folder, &["gates", "--batch", "2"]);
    let found = compared(&folder);
    let results = found["results"].as_array().unwrap();
    assert_eq!(names(&folder.path().join("out")).len(), results.len());
    assert!(results.iter().any(|result| result["name"] == "mux") && results.len() > 6, "{found:#}");
    assert!(folder.path().join("y.nand.json").exists());
}

#[test]
fn integers_of_bgv_go_there_and_back() {
    for matrix in [&[][..], &["--encrypted-matrix"]] {
        let folder = Folder::new(&format!("exact-table-{}", matrix.len()));
        let report = evaluated(&folder, &[&["bgv-table"], matrix].concat());
        assert!(report["budget_bits_predicted"].as_f64() > Some(0.0), "{report:#}");
        let server = names(&folder.path().join("theirs"));
        assert_eq!(server, ["evaluation.keys", "params.limbwise", "program.json", "public.key"]);
        assert_eq!(names(&folder.path().join("in")).len(), 1 + matrix.len());
        let found = compared(&folder);
        assert_eq!((&found["shareable"], found["results"].as_array().unwrap().len()), (&true.into(), 2), "{found:#}");
        // Inputs under the public key are decrypted as well.
        verb(&folder, &["encrypt", "--client", "mine", "--out", "in", "--key", "public", "--force"]);
        verb(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "out", "--force", "--keys", "disk"]);
        let again = verb(&folder, &[&DECRYPT[..], &["--compare", "--force"]].concat());
        assert_eq!(again["compared"]["wrong"], 0, "{again:#}");
    }
}

#[test]
fn products_of_bgv_go_there_and_back() {
    let folder = Folder::new("exact-mul");
    evaluated(&folder, &["bgv-mul", "--n", "4096", "--ciphertexts", "2"]);
    compared(&folder);
    // Results that no bound lets anybody read are refused, as everywhere, and nothing is written.
    let small = Folder::new("exact-mul-small");
    evaluated(&small, &["bgv-mul", "--n", "1024", "--ciphertexts", "1"]);
    let text = refused(&small, &DECRYPT);
    assert!(text.contains("noise"), "{text}");
}

#[test]
fn words_of_64_bits_go_there_and_back() {
    let folder = Folder::new("exact-words");
    // Every carry: both ends and their neighbors, then numbers from nowhere special; more than a ciphertext holds.
    let left: Vec<u64> = [u64::MAX, 0, 1, 1 << 63].into_iter().chain((0..4996).map(|i| i * 0x9e37_79b9)).collect();
    let right: Vec<u64> = left.iter().map(|word| !word.rotate_left(7)).collect();
    let text = |words: &[u64]| words.iter().map(|word| format!("{word}\n")).collect::<String>();
    folder.write("lhs.txt", &text(&left));
    folder.write("rhs.txt", &text(&right));
    folder.write("few.txt", "1\n2\n");
    folder.write("bad.txt", "1\n18446744073709551616\n");
    // Keys are made from the number alone; the operands come later, from files.
    verb(&folder, &["keygen", "zn-mul", "--count", "5000", "--client", "mine", "--server", "theirs"]);
    let files = ["--data", "lhs.txt", "--data", "rhs.txt"];
    verb(&folder, &[&["encrypt", "--client", "mine", "--out", "in"], &files[..]].concat());
    verb(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "out"]);
    no_secret(&folder);
    let found =
        verb(&folder, &[&["decrypt", "--client", "mine", "--in", "out", "--out", "y.txt"], &files[..]].concat());
    assert_eq!((&found["compared"]["compared"], &found["compared"]["wrong"]), (&5000.into(), &0.into()), "{found:#}");
    let wanted: Vec<u64> = left.iter().zip(&right).map(|(x, y)| x.wrapping_mul(*y)).collect();
    assert_eq!(fs::read_to_string(folder.path().join("y.txt")).unwrap(), text(&wanted));
    for (given, why) in [
        (["few.txt", "few.txt"], "the files have 2 numbers each, and the program multiplies 5000 pairs"),
        (["lhs.txt", "few.txt"], "has 5000 numbers and few.txt 2"),
        (["bad.txt", "few.txt"], "line 2: got \"18446744073709551616\"; wanted one decimal number from 0 to 2^64 - 1"),
    ] {
        let [left, right] = given;
        let more = ["--data", left, "--data", right, "--out", "never"];
        let text = refused(&folder, &[&["encrypt", "--client", "mine"], &more[..]].concat());
        assert!(text.contains(why), "{text}");
    }
    assert!(!folder.path().join("never").exists());
    let text = refused(&folder, &["plan", "zn-mul", "--preset", "bgv-n13"]);
    assert!(text.contains("128.0 bits") && text.contains("choose zn64-n12"), "{text}");
    // Residues that come back in another order are residues of other moduli.
    let swapped = ["out/result-001.ct", "out/result-000.ct", "out/result-002.ct", "out/result-003.ct"];
    let text =
        refused(&folder, &[&["decrypt", "--client", "mine", "--out", "never.txt", "--in"], &swapped[..]].concat());
    assert!(text.contains("out/result-001.ct"), "{text}");
}

const SQL: &str = "SELECT SUM(price) FROM sales WHERE rebate < 0.08";
pub(crate) const QUESTION: [&str; 7] =
    ["query", "--sql", SQL, "--data", "sales.csv", "--preset", "ckks.toml,tfhe.toml"];

/// A question to three rows.
pub(crate) fn question(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("ckks.toml", TINY_BRIDGE);
    folder.write("tfhe.toml", &tiny_tfhe_of_four_bits());
    folder.write("sales.csv", "day,price,rebate\n2026-01-01,10.50,0.05\n2025-12-31,99.99,0.10\n2026-02-01,7.25,0.07\n");
    evaluated(&folder, &QUESTION);
    folder
}

#[test]
fn a_question_to_a_table_goes_there_and_back() {
    let folder = question("exact-query");
    let server = names(&folder.path().join("theirs"));
    assert_eq!(server, ["bootstrap.keys", "evaluation.keys", "params.limbwise", "program.json", "public.key"]);
    let mine = names(&folder.path().join("mine"));
    assert!(["secret.key", "secret.tfhe.key"].iter().all(|name| mine.contains(&(*name).into())), "{mine:?}");
    let found = compared(&folder);
    assert_eq!(found["compared"]["answer"]["exact"], "17.75", "{found:#}");
    // What it says comes off slots, so it is approximate: it carries noise, and may be flooded.
    assert_eq!(found["shareable"], false, "{found:#}");
    assert!(found["warning"].as_str().unwrap().contains("IND-CPA-D"));
}
