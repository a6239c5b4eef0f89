//! The verbs of the two sides, by files: what comes out is right, belongs together, survives being killed, and is refused
//! where it does not fit.

use crate::{
    common::{Folder, TINY, TINY_BOOT, repository},
    contract,
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::Duration,
};

/// What a verb says, which is of its schema.
pub(crate) fn json(folder: &Folder, arguments: &[&str]) -> Value {
    contract::valid(folder, arguments[0], &[arguments, &["--json"]].concat())
}

pub(crate) fn refused(folder: &Folder, arguments: &[&str], wanted: &str) {
    let output = folder.run(arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(text.contains(wanted) && output.stdout.is_empty(), "{arguments:?}: {text}");
}

/// All files below a place, with their bytes.
fn files(place: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

const KEYGEN: [&str; 10] =
    ["keygen", "linear", "--preset", "tiny.toml", "--rows", "16", "--strategy", "hoisted", "--keys", "stored"];

/// A layer's keys, inputs and results, from a seed.
pub(crate) fn layer(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("tiny.toml", TINY);
    let plaintexts =
        ["--plaintexts", "full", "--client", "mine", "--server", "theirs", "--seed", "7", "--insecure-seed"];
    let report = json(&folder, &[&KEYGEN[..], &plaintexts].concat());
    assert_eq!(report["insecure_randomness"], true);
    let encrypted = json(&folder, &["encrypt", "--client", "mine", "--out", "in", "--seed", "8", "--insecure-seed"]);
    assert_eq!((&encrypted["insecure_randomness"], &encrypted["key"]), (&true.into(), &"public-key".into()));
    folder
}

#[test]
fn two_machines_compute_what_one_does() {
    let folder = layer("sides");
    let evaluated = json(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "out"]);
    assert_eq!((&evaluated["workload"], &evaluated["insecure_randomness"]), (&"linear".into(), &true.into()));
    for (keys, out) in [("seeded", "seeded"), ("disk", "disk")] {
        let other = json(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", out, "--keys", keys]);
        assert_eq!(other["key_form"], keys);
        let bytes = |out: &str| fs::read(folder.path().join(out).join("result-000.ct")).unwrap();
        assert!(bytes("out") == bytes(out), "how keys are kept changes no result");
    }
    let decrypt = ["decrypt", "--client", "mine", "--in", "out", "--out", "y.npy", "--compare"];
    let found = json(&folder, &decrypt);
    assert!(found["compared"]["precision_bits"]["mean"].as_f64().unwrap() > 12.0, "{found}");
    assert!(found["shareable"] == false && found["warning"].as_str().unwrap().contains("IND-CPA-D"));
    // The warning is given once for a directory.
    let again = folder.run(&[&decrypt[..], &["--force"]].concat());
    assert!(!String::from_utf8(again.stderr).unwrap().contains("IND-CPA-D"));
    // What is written as .npy is data again.
    let data = ["encrypt", "--client", "mine", "--data", "y.npy", "--out", "again.ct", "--key", "secret"];
    let output = folder.run(&data);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() || text.contains("promise"), "{text}");
    let inspected =
        json(&folder, &["inspect", "--verify", "theirs/evaluation.keys", "in/input-000.ct", "--params", "mine"]);
    assert!(inspected.as_array().unwrap().iter().all(|file| file["verified"] == true), "{inspected}");
    assert_eq!(
        inspected[0]["keys"].as_array().unwrap().len(),
        inspected[0]["header"]["keys"].as_array().unwrap().len()
    );
    let secret = json(&folder, &["inspect", "--verify", "mine/secret.key"]);
    assert_eq!((&secret[0]["kind"], &secret[0]["verified"]), (&"a secret key".into(), &false.into()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("mine"), mode("mine/secret.key")), (0o700, 0o600));
    }
    assert!(!folder.path().join("theirs/secret.key").exists());
}

#[test]
fn a_seed_repeats_every_byte_and_is_marked() {
    let (first, second) = (layer("seed-1"), layer("seed-2"));
    let bytes = |folder: &Folder, place: &str| -> Vec<Vec<u8>> {
        files(&folder.path().join(place)).into_iter().map(|(_, bytes)| bytes).collect()
    };
    assert!(bytes(&first, "theirs") == bytes(&second, "theirs") && bytes(&first, "in") == bytes(&second, "in"));
    let program: Value = serde_json::from_slice(&fs::read(first.path().join("theirs/program.json")).unwrap()).unwrap();
    assert_eq!(program["insecure_randomness"], true);
    let run = ["run", "logreg", "--preset", "tiny.toml", "--iterations", "1", "--seed", "3"];
    let (one, two) = (json(&first, &run), json(&first, &run));
    assert_eq!((&one["insecure_randomness"], &one["weights"]), (&true.into(), &two["weights"]));
    assert_eq!(one["precision_bits"], two["precision_bits"]);
    refused(&first, &[&KEYGEN[..], &["--client", "a", "--server", "b", "--seed", "7"]].concat(), "--insecure-seed");
    refused(&first, &["encrypt", "--client", "mine", "--out", "x", "--seed", "7"], "--insecure-seed");
}

/// An evaluation with a checkpoint.
fn eval<'a>(out: &'a str, state: &'a str) -> [&'a str; 9] {
    ["eval", "--server", "theirs", "--in", "in", "--out", out, "--checkpoint", state]
}

#[test]
#[cfg(unix)]
fn a_killed_evaluation_goes_on_with_the_same_result() {
    let folder = Folder::new("killed");
    folder.write("boot.toml", TINY_BOOT);
    let plan = ["--strategy", "bsgs", "--plaintexts", "full", "--keys", "seeded", "--halves", "once"];
    let sides = ["--client", "mine", "--server", "theirs"];
    json(&folder, &[&["keygen", "bootstrap", "--preset", "boot.toml"], &plan[..], &sides].concat());
    json(&folder, &["encrypt", "--client", "mine", "--out", "in"]);
    let whole = json(&folder, &eval("whole", "state"));
    assert!(whole.get("resumed_after").is_none());
    let result = |out: &str| fs::read(folder.path().join(out).join("result-000.ct")).unwrap();
    let mut resumed = 0;
    for step in 1..=3 {
        let (out, state) = (format!("out-{step}"), format!("state-{step}"));
        let mut child = folder.command(&eval(&out, &state)).stderr(std::process::Stdio::null()).spawn().unwrap();
        let kept = folder.path().join(&state).join(format!("step-{step:06}"));
        while !kept.exists() && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_micros(200));
        }
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        let report = json(&folder, &[&eval(&out, &state)[..], &["--force"]].concat());
        resumed += usize::from(report.get("resumed_after").is_some());
        assert!(result(&out) == result("whole"), "killed after step {step}");
        assert!(!kept.exists(), "states go when the run is over");
    }
    assert!(resumed > 0, "no run was killed in time");
    // A state belongs to its run.
    let mut child = folder.command(&eval("other", "kept")).stderr(std::process::Stdio::null()).spawn().unwrap();
    while !folder.path().join("kept/step-000001").exists() && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    if fs::read_dir(folder.path().join("kept")).unwrap().count() > 0 {
        json(&folder, &["encrypt", "--client", "mine", "--out", "in", "--force"]);
        refused(&folder, &eval("other", "kept"), "the checkpoint of another run");
    }
}

#[test]
fn a_run_with_a_checkpoint_leaves_nothing() {
    let folder = Folder::new("run-checkpoint");
    folder.write("tiny.toml", TINY);
    let run = ["run", "logreg", "--preset", "tiny.toml", "--iterations", "2", "--degree", "3", "--checkpoint", "state"];
    assert!(json(&folder, &run).get("insecure_randomness").is_none());
    assert_eq!(fs::read_dir(folder.path().join("state")).unwrap().count(), 0);
}

/// Seconds of what was left contradict no calibration.
#[test]
fn a_killed_run_goes_on_and_says_so() {
    let folder = Folder::new("run-killed");
    folder.write("tiny.toml", TINY);
    let run = ["run", "logreg", "--preset", "tiny.toml", "--iterations", "2", "--degree", "3", "--checkpoint", "state"];
    let is_step =
        |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().to_string_lossy().starts_with("step-");
    let steps = || fs::read_dir(folder.path().join("state")).is_ok_and(|mut entries| entries.any(is_step));
    for _ in 0..20 {
        let mut child = folder
            .command(&run)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while !steps() && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_micros(200));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if steps() {
            let resumed = folder.command(&run).output().unwrap();
            let text = String::from_utf8_lossy(&resumed.stderr);
            assert!(resumed.status.success() && text.contains("went on after step"), "{text}");
            assert!(!text.contains("predicted:"), "{text}");
            return;
        }
    }
    panic!("no run was killed in time");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let folder = layer("strangers");
    let eval = ["eval", "--server", "theirs", "--in", "in", "--out", "out"];
    json(&folder, &eval);
    refused(&folder, &eval, "out/result-000.ct exists");
    refused(&folder, &["encrypt", "--client", "mine", "--out", "in"], "in/input-000.ct exists");
    let keygen = [&KEYGEN[..], &["--client", "mine", "--server", "theirs"]].concat();
    refused(&folder, &keygen, "exists: choose another place");
    refused(&folder, &[&KEYGEN[..], &["--client", "one", "--server", "one"]].concat(), "give two that are apart");
    refused(&folder, &[&KEYGEN[..], &["--client", "one"]].concat(), "--server is missing");
    refused(&folder, &["eval", "--server", "theirs", "--in", "theirs/public.key", "--out", "x"], "holds a public key");
    refused(&folder, &["eval", "--server", "theirs", "--in", "nowhere", "--out", "x"], "nowhere");
    refused(&folder, &["eval", "--server", "mine", "--in", "in", "--out", "x"], "evaluation.keys");
    refused(&folder, &["decrypt", "--client", "theirs", "--in", "out", "--out", "y.npy"], "data.json");
    refused(
        &folder,
        &["decrypt", "--client", "mine", "--in", "out", "--out", "y.xyz"],
        "*.npy, *.csv, *.txt or *.json",
    );
    // Other parameters.
    folder.write("other.toml", &TINY.replace("log_scale = 40", "log_scale = 38"));
    let other = ["keygen", "linear", "--preset", "other.toml", "--rows", "16", "--strategy", "hoisted"];
    let rest = ["--keys", "stored", "--plaintexts", "full", "--client", "mine2", "--server", "theirs2"];
    json(&folder, &[&other[..], &rest].concat());
    refused(&folder, &["eval", "--server", "theirs2", "--in", "in", "--out", "x"], "another program");
    // Keys of another program: too few.
    fs::copy(folder.path().join("theirs/program.json"), folder.path().join("program.json")).unwrap();
    let wide =
        ["keygen", "linear", "--preset", "tiny.toml", "--rows", "64", "--strategy", "hoisted", "--keys", "stored"];
    let rest = ["--plaintexts", "full", "--client", "mine3", "--server", "theirs3"];
    json(&folder, &[&wide[..], &rest].concat());
    fs::copy(folder.path().join("theirs/evaluation.keys"), folder.path().join("theirs3/evaluation.keys")).unwrap();
    refused(&folder, &["eval", "--server", "theirs3", "--in", "in", "--out", "x"], "another program");
    // Cut and changed bytes.
    let path = folder.path().join("in/input-000.ct");
    let good = fs::read(&path).unwrap();
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    refused(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "x"], "cut off");
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    fs::write(&path, flipped).unwrap();
    refused(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "x"], "checksum differs");
    fs::write(&path, good).unwrap();
    // Descriptions from outside.
    let program = folder.path().join("theirs/program.json");
    let text = fs::read_to_string(&program).unwrap();
    for (from, to, said) in [
        ("\"version\": 1", "\"version\": 9", "version 9"),
        ("\"limbwise program\"", "\"something\"", "not a description"),
        ("\"rows\": 16", "\"rows\": 70000000000", "another program"),
        ("\"rows\": 16", "\"rows\": 16, \"more\": 1", "unknown field"),
    ] {
        assert!(text.contains(from), "{text}");
        fs::write(&program, text.replace(from, to)).unwrap();
        refused(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "x"], said);
    }
}

#[test]
fn data_and_passphrases_are_checked() {
    let folder = Folder::new("client-data");
    folder.write("tiny.toml", TINY);
    folder.write("pass.txt", "correct horse\n");
    folder.write("wrong.txt", "battery staple\n");
    folder.write("empty.txt", "\n");
    let rest = ["--plaintexts", "full", "--client", "mine", "--server", "theirs", "--passphrase-file"];
    refused(&folder, &[&KEYGEN[..], &rest, &["empty.txt"]].concat(), "no passphrase");
    json(&folder, &[&KEYGEN[..], &rest, &["pass.txt"]].concat());
    json(&folder, &["encrypt", "--client", "mine", "--out", "in"]);
    json(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "out"]);
    let decrypt = ["decrypt", "--client", "mine", "--in", "out", "--out", "y.csv"];
    refused(&folder, &decrypt, "locked");
    refused(&folder, &[&decrypt[..], &["--passphrase-file", "wrong.txt"]].concat(), "does not open");
    json(&folder, &[&decrypt[..], &["--passphrase-file", "pass.txt"]].concat());
    // 60 bits of flooding are more than these parameters have.
    let share = ["--passphrase-file", "pass.txt", "--share", "--out", "z.csv"];
    let decrypt = ["decrypt", "--client", "mine", "--in", "out"];
    refused(&folder, &[&decrypt[..], &share, &["--statistical-bits", "60"]].concat(), "cannot be shared");
    let shared = json(&folder, &[&decrypt[..], &share].concat());
    let flooded = &shared["results"][0]["flooded"];
    assert!(shared["shareable"] == true && flooded["precision_bits"].as_f64() > Some(1.0), "{shared}");
    // Data of other shapes and numbers.
    folder.write("many.csv", &"0.5\n".repeat(17));
    folder.write("large.csv", &"3\n".repeat(16));
    folder.write("nan.csv", &"nan\n".repeat(16));
    for (file, said) in
        [("many.csv", "17 rows of 1"), ("large.csv", "romise"), ("nan.csv", "finite"), ("none.csv", "none.csv")]
    {
        refused(&folder, &["encrypt", "--client", "mine", "--data", file, "--out", "x"], said);
    }
}

#[test]
fn the_example_runs() {
    let folder = Folder::new("example");
    folder.write("tiny.toml", TINY);
    let mut command = Command::new("python3");
    command.arg(repository("examples/two_sides.py")).args(["--limbwise", env!("CARGO_BIN_EXE_limbwise"), "--"]);
    command.args(["logreg", "--preset", "tiny.toml", "--iterations", "2", "--degree", "3"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with("logreg: evaluated in ") && text.ends_with("bits of precision\n"), "{text}");
}
