//! The same bits everywhere: what both sides write from a seed has one digest for every instruction set, number of threads,
//! form of keys, memory and device.

use crate::common::{Folder, TINY, TINY_BOOT, TINY_BRIDGE, TINY_TFHE, tiny_tfhe_of_four_bits};
use limbwise_cpu::Isa;
use std::{fs, path::Path};

const SEED: [&str; 3] = ["--seed", "7", "--insecure-seed"];

/// A workload with the options that make it small, and those that a plan would choose by measured times; what its evaluation may be given besides.
struct Case {
    words: &'static [&'static str],
    /// Whether its keys are RLWE's, which may be kept seeded or on disk.
    forms: bool,
    /// Devices beside the CPU that evaluate it in seconds.
    devices: &'static [&'static str],
}

const SMALL: &[Case] = &[
    Case {
        words: &[
            "linear",
            "--preset",
            "tiny.toml",
            "--rows",
            "16",
            "--strategy",
            "hoisted",
            "--plaintexts",
            "full",
            "--keys",
            "stored",
        ],
        forms: true,
        devices: &[],
    },
    Case { words: &["gates", "--preset", "tfhe.toml", "--batch", "2"], forms: false, devices: &[] },
    Case { words: &["bgv-mul"], forms: true, devices: &["hybrid:cpu+upmem"] },
    Case {
        words: &["tpch-q6", "--preset", "bridge.toml,tfhe4.toml", "--rows", "16", "--keys", "stored"],
        forms: true,
        devices: &[],
    },
];

/// Levels of at most 31 bits: DPUs compute modulo primes of at most 32.
const NARROW: &str = "log_n = 11
levels = [[31], [28], [28], [28]]
special = [31, 31]
dnum = 2
log_scale = 28

[insecure]
reason = \"a test of the command line\"
";

/// The rest, and devices that take longer.
const LARGER: &[Case] = &[
    Case {
        words: &[
            "linear",
            "--preset",
            "narrow.toml",
            "--rows",
            "16",
            "--strategy",
            "hoisted",
            "--plaintexts",
            "full",
            "--keys",
            "stored",
        ],
        forms: true,
        devices: &["upmem", "hybrid:cpu+upmem"],
    },
    Case {
        words: &["logreg", "--preset", "tiny.toml", "--iterations", "1", "--degree", "3", "--keys", "stored"],
        forms: true,
        devices: &[],
    },
    Case {
        words: &[
            "bootstrap",
            "--preset",
            "boot.toml",
            "--strategy",
            "bsgs",
            "--plaintexts",
            "full",
            "--keys",
            "seeded",
            "--halves",
            "once",
        ],
        forms: true,
        devices: &[],
    },
    Case { words: &["pbs", "--preset", "tfhe.toml", "--batch", "16"], forms: false, devices: &[] },
    Case { words: &["nn20", "--preset", "tfhe4.toml", "--images", "1"], forms: false, devices: &[] },
    Case {
        words: &["lola", "--strategy", "bsgs", "--plaintexts", "full", "--keys", "stored"],
        forms: true,
        devices: &[],
    },
    Case { words: &["bgv-table", "--keys", "stored"], forms: true, devices: &[] },
    Case { words: &["ntt"], forms: true, devices: &["hybrid:cpu+upmem"] },
];

fn succeed(folder: &Folder, arguments: &[&str]) {
    let output = folder.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// One digest of all files of some folders, but for what says when or by what they were made.
fn digest(folder: &Folder, places: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for place in places {
        let mut paths: Vec<_> =
            fs::read_dir(folder.path().join(place)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(!paths.is_empty(), "{place} is empty");
        for path in paths {
            hasher.update(path.file_name().unwrap().as_encoded_bytes()).update(&fs::read(&path).unwrap());
        }
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Keys and inputs on one instruction set with so many threads.
fn encrypted(case: &Case, isa: &str, threads: &str) -> (Folder, String) {
    let folder = Folder::new(&format!("digest-{}-{isa}-{threads}", case.words[0]));
    let files = [("tiny.toml", TINY), ("boot.toml", TINY_BOOT), ("bridge.toml", TINY_BRIDGE), ("tfhe.toml", TINY_TFHE)];
    files.iter().for_each(|(name, text)| folder.write(name, text));
    folder.write("narrow.toml", NARROW);
    folder.write("tfhe4.toml", &tiny_tfhe_of_four_bits());
    let on = ["--isa", isa, "--threads", threads];
    let sides = ["--client", "mine", "--server", "theirs"];
    succeed(&folder, &[&["keygen"], case.words, &sides, &SEED, &on].concat());
    succeed(&folder, &[&["encrypt", "--client", "mine", "--out", "in"], &SEED[..], &on].concat());
    let made = digest(&folder, &["theirs", "in"]);
    (folder, made)
}

/// The results of an evaluation.
fn evaluated(folder: &Folder, given: &[&str]) -> String {
    let _ = fs::remove_dir_all(folder.path().join("out"));
    succeed(folder, &[&["eval", "--server", "theirs", "--in", "in", "--out", "out"], given].concat());
    digest(folder, &["out"])
}

/// The instruction sets of this machine.
fn instruction_sets() -> Vec<&'static str> {
    let required = std::env::var("LIMBWISE_REQUIRE").unwrap_or_default();
    let here = |isa: &Isa| {
        if !isa.is_available() {
            let name = isa.name();
            assert!(!required.split(',').any(|wanted| wanted == name), "LIMBWISE_REQUIRE names {name}");
            eprintln!("SKIPPED: {name} is not here");
        }
        isa.is_available()
    };
    Isa::ALL.into_iter().filter(here).map(Isa::name).collect()
}

/// Every evaluation of a case, compared with the first; and the sides' own files.
fn compare(case: &Case, variants: &[Vec<&str>], makers: &[[&str; 2]]) {
    let name = case.words.join(" ");
    let (folder, made) = encrypted(case, makers[0][0], makers[0][1]);
    for [isa, threads] in &makers[1..] {
        let (_, other) = encrypted(case, isa, threads);
        assert_eq!(other, made, "{name}: keys and inputs on {isa} with {threads} threads");
    }
    let first = evaluated(&folder, &variants[0]);
    for variant in &variants[1..] {
        assert_eq!(evaluated(&folder, variant), first, "{name}: {variant:?} in the place of {:?}", variants[0]);
    }
    eprintln!("{name}: {made} {first}, {} evaluations", variants.len());
}

fn devices(case: &Case) -> impl Iterator<Item = Vec<&'static str>> {
    case.devices.iter().map(|&device| vec!["--device", device])
}

#[test]
fn one_digest_of_small_rings_whatever_computes_them() {
    let sets = instruction_sets();
    for case in SMALL {
        // Each instruction set, number of threads and form of keys once.
        let forms: &[&str] = if case.forms { &["stored", "seeded", "disk"] } else { &[] };
        let mut variants: Vec<Vec<&str>> = Vec::new();
        for (at, threads) in ["1", "2", "7"].into_iter().enumerate() {
            let mut variant = vec!["--isa", sets[at % sets.len()], "--threads", threads];
            forms.get(at).iter().for_each(|&&form| variant.extend(["--keys", form]));
            variants.push(variant);
        }
        variants.extend(devices(case));
        compare(case, &variants, &[[sets[0], "2"], [sets[sets.len() - 1], "1"]]);
    }
}

/// Each instruction set with each number of threads, and every form of keys with each of either.
#[test]
#[ignore = "some hundred evaluations"]
fn one_digest_of_every_workload_whatever_computes_it() {
    let sets = instruction_sets();
    for case in SMALL.iter().chain(LARGER) {
        let forms: &[&str] = if case.forms { &["stored", "seeded", "disk"] } else { &[] };
        let mut variants: Vec<Vec<&str>> = Vec::new();
        for (row, isa) in sets.iter().enumerate() {
            for (column, threads) in ["1", "2", "7"].into_iter().enumerate() {
                let mut variant = vec!["--isa", isa, "--threads", threads];
                forms.get((row + column) % 3).iter().for_each(|&&form| variant.extend(["--keys", form]));
                variants.push(variant);
            }
        }
        variants.push(vec!["--memory", "2GB"]);
        variants.extend(devices(case));
        let makers: Vec<[&str; 2]> = sets.iter().zip(["1", "2", "7"]).map(|(isa, threads)| [*isa, threads]).collect();
        compare(case, &variants, &makers);
    }
}

/// A digest tells one bit: a test that compares digests can fail.
#[test]
fn a_digest_tells_one_bit() {
    let folder = Folder::new("digest-bit");
    let place = Path::new("out");
    fs::create_dir_all(folder.path().join(place)).unwrap();
    let write = |byte: u8| {
        fs::write(folder.path().join(place).join("result-000.ct"), [0, byte]).unwrap();
        digest(&folder, &["out"])
    };
    assert_ne!(write(0), write(1));
}
