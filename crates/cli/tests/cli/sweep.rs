//! Sweeps: the same rows whenever they are stopped, one recording a program, reports that hold what they promise.

use crate::common::{Folder, TINY, TINY_BOOT, repository};
use serde_json::Value;
use std::{collections::BTreeSet, fs, thread::sleep, time::Duration};

const LAYER: [&str; 7] = ["linear", "--preset", "tiny.toml", "--plaintexts", "full", "--keys", "stored"];

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("tiny.toml", TINY);
    folder
}

/// A sweep of a layer with these options.
fn words<'a>(options: &[&'a str]) -> Vec<&'a str> {
    let varied = [
        "sweep",
        "--vary",
        "strategy=hoisted,multi-hop:8",
        "--vary",
        "clusters=1,2,4",
        "--vary",
        "hbm_gb_s=500..1000:250",
    ];
    [&varied[..], options, &LAYER[..]].concat()
}

fn schema(name: &str) -> jsonschema::Validator {
    let path = repository(&format!("docs/schemas/{name}.schema.json"));
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// The rows of a journal, and its first line.
fn rows(folder: &Folder, name: &str) -> (String, BTreeSet<String>) {
    let text = fs::read_to_string(folder.path().join(name)).unwrap();
    let mut lines = text.lines().map(str::to_owned);
    let header = lines.next().unwrap();
    let rows: Vec<String> = lines.collect();
    let distinct: BTreeSet<String> = rows.iter().cloned().collect();
    assert_eq!(rows.len(), distinct.len(), "no row comes twice");
    (header, distinct)
}

#[test]
fn wherever_a_journal_ends_the_same_rows_come_of_it() {
    let folder = folder("sweep-journal");
    let run = |file: &str| {
        let output = folder.run(&words(&["--out", file, "--json"]));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let found = run("whole.jsonl");
    assert!(schema("sweep").is_valid(&found), "{found:#}");
    let (header, whole) = rows(&folder, "whole.jsonl");
    let validator = schema("sweep-row");
    assert!(whole.iter().all(|row| validator.is_valid(&serde_json::from_str(row).unwrap())), "{whole:#?}");
    assert_eq!((whole.len(), found["timed"].as_u64()), (18, Some(18)));

    let text = fs::read(folder.path().join("whole.jsonl")).unwrap();
    let first_row = header.len() + 1;
    // Nothing, a part of the header, the header, a part of a row, several rows, all but the last byte.
    for end in [0, 10, header.len(), first_row, first_row + 40, text.len() / 2, text.len() - 1] {
        fs::write(folder.path().join("cut.jsonl"), &text[..end]).unwrap();
        assert_eq!(run("cut.jsonl"), found, "cut at {end}");
        assert_eq!(rows(&folder, "cut.jsonl"), (header.clone(), whole.clone()), "cut at {end}");
    }
    let again = folder.run(&words(&["--out", "whole.jsonl"]));
    assert!(String::from_utf8_lossy(&again.stderr).contains("evaluated 0 points"), "nothing is done twice");
}

#[test]
fn a_sweep_that_is_killed_goes_on() {
    let folder = folder("sweep-kill");
    let wide = [
        "sweep",
        "--threads",
        "2",
        "--vary",
        "clusters=1..32",
        "--vary",
        "hbm_gb_s=500..1000:25",
        "--out",
        "killed.jsonl",
    ];
    let wide = [&wide[..], &LAYER[..], &["--strategy", "multi-hop:8"]].concat();
    let path = folder.path().join("killed.jsonl");
    let lines = || fs::read_to_string(&path).map_or(0, |text| text.lines().count());
    let mut child =
        folder.command(&wide).stderr(std::process::Stdio::null()).stdout(std::process::Stdio::null()).spawn().unwrap();
    while lines() < 8 && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = lines();
    let output = folder.run(&wide);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(before >= 8, "{before} lines when it was killed");
    assert_eq!(rows(&folder, "killed.jsonl").1.len(), 32 * 21);
}

#[test]
fn programs_and_parameters_are_varied_too() {
    let folder = Folder::new("sweep-program");
    folder.write("boot.toml", TINY_BOOT);
    let sweep = [
        "sweep",
        "--machine",
        "ark,f1-scaled",
        "--vary",
        "dnum=3,5",
        "--vary",
        "coeff-to-slot=2..3",
        "--vary",
        "clusters=4",
    ];
    let boot = [
        "bootstrap",
        "--preset",
        "boot.toml",
        "--strategy",
        "double-hoisted",
        "--plaintexts",
        "full",
        "--keys",
        "stored",
    ];
    let refused = folder.run(&[&sweep[..], &boot].concat());
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("machine \"f1-scaled\" has no such field"), "{text}");
    let sweep = [
        "sweep",
        "--vary",
        "dnum=3,5",
        "--vary",
        "coeff-to-slot=2..3",
        "--csv",
        "all.csv",
        "--html",
        "all.html",
        "--json",
    ];
    let numbers = ["--objectives", "seconds,key_bytes,slots_bits_s"];
    let output = folder.run(&[&sweep[..], &numbers, &boot].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((found["points"].as_u64(), found["timed"].as_u64()), (Some(4), Some(4)), "{found:#}");
    // The command that repeats a point gives its time.
    let best = &found["front"][0];
    let command: Vec<&str> = best["command"].as_str().unwrap().split(' ').skip(1).chain(["--json"]).collect();
    let again: Value = serde_json::from_slice(&folder.run(&command).stdout).unwrap();
    assert_eq!(again["seconds"], best["seconds"], "{command:?}");
    let csv = fs::read_to_string(folder.path().join("all.csv")).unwrap();
    assert!(csv.starts_with("coeff-to-slot,dnum,seconds,energy_j,area_mm2,") && csv.lines().count() == 5, "{csv}");
    let html = fs::read_to_string(folder.path().join("all.html")).unwrap();
    assert!(html.matches("<circle").count() >= 8 && html.contains("dnum=3"), "two plots of four points");
}

/// What a page may not have: anything that is fetched.
fn needs_nothing(html: &str) {
    for wanting in
        ["http://", "https://", "src=", "url(", "@import", "<link", "<iframe", "fetch(", "XMLHttpRequest", "WebSocket"]
    {
        assert!(!html.contains(wanting), "{wanting}");
    }
    assert!(html.contains("default-src 'none'") && html.contains("prefers-color-scheme: dark"));
    // Every element that is opened is closed: the page is read as it was meant.
    for tag in ["html", "head", "body", "main", "table", "figure", "svg", "script", "style", "section", "ul"] {
        let (open, close) = (html.matches(&format!("<{tag}")).count(), html.matches(&format!("</{tag}>")).count());
        let heads = if tag == "head" { html.matches("<header").count() } else { 0 };
        assert_eq!(open - heads, close, "{tag}");
    }
}

#[test]
fn a_page_needs_nothing_else() {
    let folder = folder("sweep-html");
    let time = ["time", "--machine", "ark,f1-scaled", "--html", "time.html"];
    let output = folder.run(&[&time[..], &LAYER, &["--strategy", "multi-hop:8"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let html = fs::read_to_string(folder.path().join("time.html")).unwrap();
    needs_nothing(&html);
    for part in [
        "Timeline of ark",
        "Timeline of f1-scaled",
        "Roofline",
        "Traffic on ark",
        "Where the time goes on ark",
        "Assumptions behind ark",
    ] {
        assert!(html.contains(&format!("{part}</h2>")), "{part}");
    }
    // The script's numbers are JSON, a share for each bin of each unit.
    let data = html.split("type=\"application/json\" id=\"d0\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let bins = usize::try_from(data["bins"].as_u64().unwrap()).unwrap();
    let shares = |unit: &Value| unit[1].as_array().unwrap().iter().map(|x| x.as_u64().unwrap()).collect::<Vec<_>>();
    let units: Vec<Vec<u64>> = data["units"].as_array().unwrap().iter().map(shares).collect();
    assert!(units.len() == 6 && units.iter().all(|u| u.len() == bins && u.iter().all(|&x| x <= 100)));
    assert!(units.iter().all(|u| u.iter().any(|&x| x > 0)), "every unit of ark works in a layer");
    assert!(html.len() < 300_000, "{} bytes", html.len());
}

#[test]
fn operations_go_out_and_come_back() {
    let folder = folder("sweep-trace");
    let layer = [&["record"][..], &LAYER, &["--strategy", "multi-hop:8", "--operations"]].concat();
    for name in ["layer.csv", "layer.jsonl"] {
        let output = folder.run(&[&layer[..], &[name]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let lines = fs::read_to_string(folder.path().join("layer.jsonl")).unwrap();
    let validator = schema("operations");
    assert!(lines.lines().all(|line| validator.is_valid(&serde_json::from_str(line).unwrap())), "{lines}");
    let timed = folder.run(&["time", "--graph", "layer.csv", "--machine", "ark", "--json"]);
    let timed: Value = serde_json::from_slice(&timed.stdout).unwrap();
    assert!(timed["seconds"].as_f64() > Some(0.0), "{timed:#}");
}

#[test]
fn a_machine_without_an_area_is_swept_by_seconds() {
    let folder = folder("sweep-bare");
    let parts = "[unit.u]\ndoes = [\"ntt\", \"intt\", \"convert\", \"add\", \"multiply\", \"automorphism\"]\nwords_per_cycle = 64\n";
    folder.write("bare.toml", &format!("model = \"composed\"\n[chip]\nclock_mhz = 1000\nword_bits = 64\n{parts}"));
    let vary = ["sweep", "--machine", "bare.toml", "--vary", "unit.u.words_per_cycle=64,128", "--json"];
    let fixed = ["--strategy", "multi-hop:8"];
    let output = folder.run(&[&vary[..], &LAYER[..], &fixed[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["objectives"], serde_json::json!(["seconds"]));
    assert_eq!(found["front"].as_array().unwrap().len(), 1, "{found:#}");
}

#[test]
fn workloads_of_every_scheme_are_swept() {
    let folder = Folder::new("sweep-schemes");
    let cases: [(&[&str], &str); 2] = [
        (&["--vary", "batch=1,2", "pbs", "--preset", "bool-p128"], "log2_failure"),
        (&["--vary", "ciphertexts=1,2", "--vary", "step=ntt,all", "bgv-mul", "--n", "1024"], "budget_bits"),
    ];
    for (words, number) in cases {
        let objectives = format!("seconds,{number}");
        let fixed = ["sweep", "--machine", "cuda", "--objectives", &objectives, "--json"];
        let output = folder.run(&[&fixed[..], words].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(schema("sweep").is_valid(&found), "{found:#}");
        assert_eq!(found["points"], found["timed"], "{found:#}");
        let best = &found["front"][0];
        assert!(best[number].is_number() && best["precision_bits"].is_null(), "{found:#}");
        let command: Vec<&str> = best["command"].as_str().unwrap().split(' ').skip(1).chain(["--json"]).collect();
        let again: Value = serde_json::from_slice(&folder.run(&command).stdout).unwrap();
        assert_eq!(again["seconds"], best["seconds"], "{command:?}");
    }
    // Parameters of other schemes are varied as whole sets.
    let output = folder.run(&["sweep", "--vary", "dnum=2,3", "pbs"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && text.contains("no such field"), "{text}");
    let output = folder.run(&["sweep", "--vary", "preset=2-2-p128,boot", "pbs"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && text.contains("--vary preset=boot"), "{text}");
}
