//! Models that are encoded once, and evaluators that stay: the same results bit for bit, and what does not fit is refused.

use crate::{
    common::{Folder, TINY, TINY_BOOT},
    sides::{json, refused},
};
use serde_json::Value;
use std::fs;

const SEEDS: [&str; 3] = ["--seed", "7", "--insecure-seed"];

/// Keys and inputs of a workload in a folder of its own.
fn sides(name: &str, keygen: &[&str]) -> Folder {
    let folder = Folder::new(name);
    folder.write("tiny.toml", TINY);
    folder.write("boot.toml", TINY_BOOT);
    more_sides(&folder, keygen, ["mine", "theirs", "in"]);
    folder
}

fn more_sides(folder: &Folder, keygen: &[&str], [client, server, inputs]: [&str; 3]) {
    json(folder, &[&["keygen"], keygen, &["--client", client, "--server", server], &SEEDS].concat());
    json(folder, &[&["encrypt", "--client", client, "--out", inputs], &SEEDS[..]].concat());
}

fn linear(form: &'static str) -> [&'static str; 9] {
    ["linear", "--preset", "tiny.toml", "--rows", "64", "--strategy", "bsgs", "--plaintexts", form]
}

fn result(folder: &Folder, out: &str) -> Vec<u8> {
    fs::read(folder.path().join(out).join("result-000.ct")).unwrap()
}

/// Evaluates with and without a prepared model, and compares all bits. Returns the number of plaintexts.
fn the_same(folder: &Folder) -> u64 {
    let prepared = json(folder, &["prepare", "--server", "theirs", "--out", "model"]);
    assert_eq!(prepared["file_bytes"], fs::metadata(folder.path().join("model")).unwrap().len());
    let eval = ["eval", "--server", "theirs", "--in", "in", "--out"];
    json(folder, &[&eval[..], &["plain"]].concat());
    json(folder, &[&eval[..], &["quick", "--prepared", "model", "--seconds", "seconds.json"]].concat());
    assert!(result(folder, "plain") == result(folder, "quick"));
    let seconds: Value = serde_json::from_slice(&fs::read(folder.path().join("seconds.json")).unwrap()).unwrap();
    assert!(seconds["total"].as_f64().unwrap() > seconds["keys"].as_f64().unwrap(), "{seconds:#}");
    prepared["plaintexts"].as_u64().unwrap()
}

#[test]
fn a_prepared_model_changes_no_bit() {
    for form in ["full", "on-the-fly", "at-use"] {
        assert!(the_same(&sides(&format!("prepared-{form}"), &linear(form))) == 8, "{form}");
    }
    let boot = ["bootstrap", "--preset", "boot.toml", "--slots", "64"];
    assert!(the_same(&sides("prepared-boot", &boot)) > 20);
}

#[test]
fn what_was_prepared_for_another_is_refused() {
    let folder = sides("prepared-other", &linear("full"));
    json(&folder, &["prepare", "--server", "theirs", "--out", "model"]);
    refused(&folder, &["prepare", "--server", "theirs", "--out", "model"], "model exists");
    let eval = |model| ["eval", "--server", "theirs", "--in", "in", "--out", "out", "--prepared", model];
    more_sides(&folder, &linear("at-use"), ["mine2", "theirs2", "in2"]);
    json(&folder, &["prepare", "--server", "theirs2", "--out", "other"]);
    refused(&folder, &eval("other"), "other: the file belongs to another program");
    refused(&folder, &eval("theirs/evaluation.keys"), "holds evaluation keys, wanted a prepared model");
    refused(&folder, &eval("nowhere"), "nowhere");
    let path = folder.path().join("model");
    let good = fs::read(&path).unwrap();
    let mut bytes = good.clone();
    let last = bytes.len() - 20;
    bytes[last] ^= 1;
    fs::write(&path, &bytes).unwrap();
    refused(&folder, &eval("model"), "is damaged (its checksum differs)");
    fs::write(&path, &good[..last]).unwrap();
    refused(&folder, &eval("model"), "its header says");
    assert!(!folder.path().join("out/result-000.ct").exists());
    // Programs of exact schemes encode nothing ahead.
    let keygen = ["bgv-mul", "--n", "1024", "--ciphertexts", "2"];
    more_sides(&folder, &keygen, ["mine3", "theirs3", "in3"]);
    let prepare = ["prepare", "--server", "theirs3", "--out", "none"];
    refused(&folder, &prepare, "bgv-mul encodes no plaintext before its inputs come");
    assert!(!folder.path().join("none").exists());
}

#[cfg(unix)]
mod resident {
    use super::*;
    use std::{
        io::{BufRead as _, BufReader, Write as _},
        os::unix::{fs::PermissionsExt as _, net::UnixStream},
        process::{Child, Stdio},
        thread::sleep,
        time::{Duration, Instant},
    };

    /// A server that ends with the test.
    struct Resident(Child);

    impl Drop for Resident {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn serve(folder: &Folder, more: &[&str]) -> Resident {
        let words = [&["serve", "theirs", "--socket", "s"], more].concat();
        let mut server = Resident(folder.command(&words).stderr(Stdio::null()).spawn().unwrap());
        let began = Instant::now();
        while UnixStream::connect(folder.path().join("s")).is_err() {
            assert!(server.0.try_wait().unwrap().is_none() && began.elapsed() < Duration::from_secs(100));
            sleep(Duration::from_millis(20));
        }
        server
    }

    #[test]
    fn a_resident_evaluator_answers_as_eval_does() {
        let folder = sides("resident", &linear("full"));
        json(&folder, &["prepare", "--server", "theirs", "--out", "model"]);
        json(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "plain"]);
        let ask = |inputs, out| ["eval", "--socket", "s", "--in", inputs, "--out", out];
        refused(&folder, &ask("in", "out"), "no server answers there");
        let mut server = serve(&folder, &["--prepared", "model"]);
        let mode = fs::metadata(folder.path().join("s")).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        for out in ["first", "second"] {
            assert_eq!(json(&folder, &ask("in", out))["workload"], "linear");
            assert!(result(&folder, out) == result(&folder, "plain"));
        }
        refused(&folder, &ask("in", "first"), "exists");
        json(&folder, &[&ask("in", "first")[..], &["--force"]].concat());
        // Refusals are those of eval, and the server goes on.
        more_sides(&folder, &linear("full"), ["mine2", "theirs2", "in2"]);
        let encrypt =
            ["encrypt", "--client", "mine2", "--out", "in3", "--seed", "9", "--insecure-seed", "--key", "secret"];
        json(&folder, &encrypt);
        refused(&folder, &ask("nowhere", "third"), "nowhere");
        refused(
            &folder,
            &["eval", "--socket", "s", "--in", "in", "in", "--out", "third"],
            "2 ciphertexts; the program takes 1",
        );
        refused(&folder, &["serve", "theirs", "--socket", "s"], "another server answers there");
        refused(&folder, &["serve", "theirs", "--socket", "model"], "is no socket");
        let mut stream = UnixStream::connect(folder.path().join("s")).unwrap();
        for call in ["{\"inputs\": 3}\n", "{}\n", "\u{0}\n"] {
            stream.write_all(call.as_bytes()).unwrap();
            let mut answer = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut answer).unwrap();
            assert!(answer.contains("refused") && answer.contains("not a call"), "{answer}");
        }
        let _ = stream.write_all(&vec![b' '; (1 << 20) + 1]);
        let mut answer = String::new();
        let _ = BufReader::new(stream).read_line(&mut answer);
        assert!(answer.is_empty() || answer.contains("without an end"), "{answer}");
        json(&folder, &ask("in", "fourth"));
        assert!(result(&folder, "fourth") == result(&folder, "plain"));
        // Killed, it leaves a socket that nobody answers on; another server takes its place, and ends when it is idle.
        server.0.kill().unwrap();
        server.0.wait().unwrap();
        refused(&folder, &ask("in", "fifth"), "no server answers there");
        let mut server = serve(&folder, &["--idle", "1"]);
        assert!(server.0.wait().unwrap().success());
        assert!(!folder.path().join("s").exists());
    }
}
