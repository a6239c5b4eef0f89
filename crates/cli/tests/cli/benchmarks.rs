//! The stages of public benchmarks, played by the offline driver: a small size of each that takes no minutes.

use crate::common::{Folder, RATES, repository};
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn python(folder: &Folder, words: &[&str]) -> Output {
    let mut command = Command::new("python3");
    command.args(words).current_dir(folder.path()).env("LIMBWISE", env!("CARGO_BIN_EXE_limbwise"));
    command.env("LIMBWISE_RATES", repository(RATES)).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command.output().expect("python3 runs, as the checkers do")
}

fn driver(folder: &Folder, words: &[&str]) -> Output {
    let harness = repository("benchmarks/fhe-benchmarking/harness.py");
    let root = ["--root", ".", "--submission", "stages/submission"];
    python(folder, &[&[harness.to_str().unwrap()], words, &root].concat())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn refused(output: &Output, why: &str) {
    assert!(!output.status.success() && text(output).contains(why), "{why}: {}", text(output));
}

/// A copy of a submission's files with the module that all share, as a fork has it.
fn copied(folder: &Folder, workload: &str) {
    let from = repository(&format!("benchmarks/fhe-benchmarking/{workload}"));
    for part in ["scripts", "submission"] {
        let to = folder.path().join("stages").join(part);
        fs::create_dir_all(&to).unwrap();
        for file in fs::read_dir(from.join(part)).unwrap().map(Result::unwrap).filter(|file| file.path().is_file()) {
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    let shared = repository("benchmarks/fhe-benchmarking/common/stages.py");
    fs::copy(shared, folder.path().join("stages/submission/common.py")).unwrap();
}

#[test]
fn products_modulo_2_64_pass_the_harness() {
    let folder = Folder::new("benchmark-zn");
    copied(&folder, "Zn-multiplication");
    let played = driver(&folder, &["zn", "1", "--runs", "2"]);
    assert!(played.status.success(), "{}", text(&played));
    assert!(text(&played).contains("run 2 of 2: all 1000 products are exact"), "{}", text(&played));
    let result = fs::read_to_string(folder.path().join("measurements/small/results-2.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["per_stage"].as_object().unwrap().len(), 6, "{result:#}");
    assert!(result["bandwidth"]["Client: encrypted inputs"].as_str().unwrap().ends_with('K'), "{result:#}");
    let steps = fs::read_to_string(folder.path().join("io/small/server_reported_steps.json")).unwrap();
    let steps: serde_json::Value = serde_json::from_str(&steps).unwrap();
    assert!(steps.as_object().unwrap().values().all(serde_json::Value::is_number), "{steps:#}");
    refused(&driver(&folder, &["zn", "1"]), "has files of another run");
    // Inputs of another run are those of other keys.
    let (mine, other) = (folder.path().join("io/small/ciphertexts_upload"), Folder::new("benchmark-zn-other"));
    copied(&other, "Zn-multiplication");
    assert!(driver(&other, &["zn", "1"]).status.success());
    let theirs = other.path().join("io/small/ciphertexts_upload");
    for file in fs::read_dir(&theirs).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), mine.join(file.file_name())).unwrap();
    }
    let stage = Path::new("stages/submission/target/release");
    let stage = |name: &str| stage.join(name).to_str().unwrap().to_owned();
    refused(&python(&folder, &[&stage("server_encrypted_compute"), "small", "1000"]), "limbwise eval failed");
    refused(&python(&folder, &[&stage("server_encrypted_compute"), "small", "999"]), "the instance small has 1000");
    // A missing stage ends the run before anything is made, where the published harness would skip it.
    let script = folder.path().join("stages/scripts/build_task.sh");
    let build = fs::read_to_string(&script).unwrap().replace(" client_postprocess;", ";");
    assert!(!build.contains("client_postprocess"), "{build}");
    fs::write(&script, build).unwrap();
    fs::remove_dir_all(folder.path().join("stages/submission/target")).unwrap();
    refused(&driver(&folder, &["zn", "0"]), "the stage client_postprocess is missing");
    assert!(!folder.path().join("io/single/public_keys").exists());
}
