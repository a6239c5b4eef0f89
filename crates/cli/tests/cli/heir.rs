//! A program of HEIR through every verb; ciphertexts through FHETCH's archives and files of OpenFHE and Lattigo.

use crate::{
    common::{Folder, repository},
    sides::{json, layer, refused},
};
use std::fs;

fn program() -> String {
    repository("tests/heir/dot_product_8.mlir").to_str().unwrap().to_owned()
}

#[test]
fn a_program_of_heir_runs_and_has_two_sides() {
    let folder = Folder::new("heir");
    folder.write("x.csv", "0.5,-0.5,1,0.25,0,-1,0.125,0.75\n");
    folder.write("y.csv", "1,1,0.5,-0.5,1,0.25,-1,0.5\n");
    folder.write("z.csv", "0.375\n");
    let heir = ["heir", "--program", &program(), "--data", "x.csv", "--data", "y.csv", "--expected", "z.csv"];
    // 0.25 + 0.5 − 0.5 + 0.5 − 0.125 + 0 − 0.25 − 0.125 + 0.375 = 0.625: the wrong value is told.
    let wrong = folder.run(&[&["run"], &heir[..]].concat());
    let text = String::from_utf8(wrong.stdout).unwrap();
    assert!(wrong.status.success() && text.contains("results differ from --expected by 2.5"), "{text}");
    folder.write("z.csv", "0.625\n");
    let report = json(&folder, &[&["run"], &heir[..]].concat());
    assert!(report["largest_error_to_expected"].as_f64().unwrap() < 1e-6, "{report:#}");
    let plan = json(&folder, &[&["plan"], &heir[..]].concat());
    assert!(plan["parameters"].as_str().unwrap().starts_with("the text asks for N = 2^14, 2 levels"), "{plan:#}");
    json(&folder, &[&["time"], &heir[..], &["--machine", "ark"]].concat());
    json(&folder, &[&["keygen"], &heir[..], &["--client", "mine", "--server", "theirs"]].concat());
    json(&folder, &["encrypt", "--client", "mine", "--out", "in"]);
    json(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "results"]);
    let opened = json(&folder, &["decrypt", "--client", "mine", "--in", "results", "--out", "z.npy", "--compare"]);
    assert!(opened.to_string().contains("largest_error_to_expected"), "{opened:#}");
    // Eight products of 1000 by 1000 exceed the last modulus: the plan says so before there are keys.
    folder.write("large.csv", &["1000"; 8].join(","));
    let (program_file, data) = (program(), ["--data", "large.csv", "--data", "large.csv", "--largest", "1000"]);
    let large = [&["plan", "heir", "--program", &program_file], &data[..]].concat();
    let text = String::from_utf8(folder.run(&large).stdout).unwrap();
    assert!(text.contains("WARNING") && text.contains("they wrap around the modulus"), "{text}");
    assert!(json(&folder, &large)["twin"]["warning"].as_str().unwrap().starts_with("results are up to 8.000e6"));
    assert!(plan["twin"].is_null(), "{plan:#}");
    // What is wrong is said with its line.
    let text = fs::read_to_string(program()).unwrap();
    folder.write("bad.mlir", &text.replacen("\"ckks.mul\"", "\"ckks.power\"", 1));
    let line = text.lines().position(|line| line.contains("\"ckks.mul\"")).unwrap() + 1;
    let wanted = format!("bad.mlir: line {line}: ckks.power: an operation that is not read");
    refused(&folder, &["plan", "heir", "--program", "bad.mlir"], &wanted);
    refused(
        &folder,
        &["plan", "heir", "--program", &program(), "--data", "x.csv"],
        "1 files; the program has 2 arguments",
    );
}

#[test]
fn ciphertexts_come_back_from_archives() {
    let folder = layer("archives");
    let (like, theirs) = ("in/input-000.ct", ["--params", "theirs"]);
    json(&folder, &[&["convert", like, "--out", "x.npz"], &theirs[..]].concat());
    fs::create_dir(folder.path().join("in2")).unwrap();
    let back = ["convert", "x.npz", "--like", like, "--out", "in2/input-000.ct"];
    json(&folder, &[&back[..], &theirs[..]].concat());
    json(&folder, &["eval", "--server", "theirs", "--in", "in2", "--out", "results"]);
    let decrypt = ["decrypt", "--client", "mine", "--in", "results", "--inputs", "in2", "--out", "y.npy", "--compare"];
    let opened = json(&folder, &decrypt);
    assert!(opened.to_string().contains("precision_bits"), "{opened:#}");
    let keys = json(&folder, &[&["convert", "theirs/evaluation.keys", "--out", "keys"], &theirs[..]].concat());
    assert!(keys["files"].as_array().unwrap().len().is_multiple_of(2));
    refused(&folder, &[&["convert", "x.npz", "--out", "z.ct"], &theirs[..]].concat(), "--like");
    refused(&folder, &[&["convert", like, "--out", "z.csv"], &theirs[..]].concat(), "wanted .ct to .npz");
    refused(&folder, &[&["convert", "tiny.toml", "--out", "z.ct"], &theirs[..]].concat(), "a file *.toml");
    let record = ["record", "linear", "--preset", "tiny.toml", "--rows", "16", "--fhetch", "layer.fhetch"];
    assert!(folder.run(&record).status.success());
    let trace = fs::read_to_string(folder.path().join("layer.fhetch")).unwrap();
    assert!(trace.contains("\nmodulus_count 11\n") && trace.ends_with("halt\n"), "{:.300}", trace);
}

/// A file of another library's tests, unpacked into a folder.
fn foreign(folder: &Folder, name: &str) {
    use std::io::Read as _;
    let path = repository("crates/runtime/tests/session/foreign").join(name);
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(&path).unwrap()).read_to_end(&mut bytes).unwrap();
    fs::write(folder.path().join(path.file_stem().unwrap()), bytes).unwrap();
}

/// Files of OpenFHE and Lattigo are opened and compared.
#[test]
fn ciphertexts_of_other_libraries_are_opened_and_compared() {
    let folder = Folder::new("foreign");
    for name in ["a", "product", "relin", "secret"] {
        foreign(&folder, &format!("openfhe/{name}.json.gz"));
    }
    for name in ["ct", "secret"] {
        foreign(&folder, &format!("lattigo/{name}.bin.gz"));
    }
    let params = repository("crates/runtime/tests/session/foreign/lattigo/params.json");
    fs::copy(params, folder.path().join("params.json")).unwrap();
    refused(&folder, &["convert", "relin.json", "--out", "o.toml"], "--insecure REASON");
    json(&folder, &["convert", "relin.json", "--out", "o.toml", "--insecure", "a test"]);
    json(&folder, &["convert", "params.json", "--out", "l.toml", "--insecure", "a test"]);
    let opened = |file: &str, params: &str, secret: &str| {
        json(&folder, &["convert", file, "--params", params, "--secret", secret, "--out", "x.npy", "--force"]);
        let bytes = fs::read(folder.path().join("x.npy")).unwrap();
        let reals = bytes[bytes.len() - 512 * 16..].chunks(16).map(|z| f64::from_le_bytes(z[..8].try_into().unwrap()));
        let far = reals.enumerate().map(|(i, x)| (x - ((i % 17) as f64 / 16.0 - 0.5)).abs());
        assert!(far.fold(0.0, f64::max) < 1e-4, "{file}");
    };
    opened("a.json", "o.toml", "secret.json");
    opened("ct.bin", "l.toml", "secret.bin");
    refused(&folder, &["convert", "a.json", "--out", "x.zip"], "a file *.json to *.zip");
    // Parameters are looked for beside the file, also if it is named without a folder.
    refused(&folder, &["convert", "ct.bin", "--out", "y.npy", "--secret", "secret.bin"], "./params.limbwise");
    let compare = |other: &str| {
        let words = ["convert", "a.json", "--params", "o.toml", "--compare", other, "--secret", "secret.json"];
        folder.run(&words)
    };
    assert!(compare("a.json").status.success());
    let differs = compare("product.json");
    assert!(!differs.status.success() && String::from_utf8_lossy(&differs.stderr).contains("residues differ"));
    refused(
        &folder,
        &["convert", "a.json", "--params", "l.toml", "--compare", "a.json"],
        "the primes of the parameters",
    );
}
