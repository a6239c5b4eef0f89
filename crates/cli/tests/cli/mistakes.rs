//! Mistakes of users: exit code 2, a text that says what, got, wanted, next step, nothing on standard output and
//! nothing written.

use crate::{
    common::{Folder, TINY},
    golden::compare,
};

/// Runs what must be refused, and gives the text.
pub(crate) fn refused(folder: &Folder, arguments: &[&str]) -> String {
    let before = folder.names();
    let output = folder.run(arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(output.stdout.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(folder.names(), before, "{arguments:?} left a file");
    text
}

/// A folder with files that are wrong in one way each.
fn with_bad_files(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("text.csv", "age,weight,ill\n30,70,0\n41,heavy,1\n52,81,0\n");
    folder.write("nan.csv", "age,weight,ill\n30,70,0\n41,NaN,1\n52,81,0\n");
    folder.write("ragged.csv", "age,weight,ill\n30,70,0\n41,1\n");
    folder.write("few.csv", "1,2\n3,4\n");
    folder.write("na.csv", "a,b\n1,2\n2,NA\n3,4\n");
    folder.write("three.csv", "1,0\n2,1\n3,2\n");
    folder.write("ring.toml", "extends = \"ring.toml\"\n");
    folder.write("bare.toml", "model = \"ark\"\n");
    let header = r#"{"format":"limbwise-graph","version":99,"rings":0,"shapes":0,"regions":0,"nodes":0}"#;
    folder.write("future.jsonl", header);
    folder.write(
        "trace.csv",
        "instruction,scheme\nadd,CKKS,16384,3,c-2-2,a-2-2,b-2-2\nmul,CKKS,16384,3,d-2-2,a-2-2,b-2-2\n",
    );
    folder.write("insecure.toml", &TINY[..TINY.find("[insecure]").unwrap()]);
    folder.write("typo.toml", &TINY.replace("dnum", "digits"));
    folder.write("broken.toml", "log_n = = 16\n");
    folder.write("small.toml", &TINY.replace(", [40], [40], [40]]", "]"));
    folder
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_mistake_has_a_text_that_teaches() {
    let folder = with_bad_files("mistakes");
    let cases: &[(&str, &[&str])] = &[
        ("helr-levels", &["plan", "helr", "--bootstrap-every", "4"]),
        ("helr-no-boot", &["plan", "helr", "--preset", "n16-l24-s40"]),
        ("helr-folder", &["run", "helr", "--data", "."]),
        ("lola-levels", &["plan", "lola", "--preset", "n13-l3-s40"]),
        ("lola-weights", &["run", "lola", "--weights", "few.csv"]),
        ("unknown-verb", &["plam", "logreg"]),
        ("unknown-workload", &["plan", "logrek"]),
        ("unknown-preset", &["plan", "logreg", "--preset", "n16-l24"]),
        ("boot-preset", &["plan", "bootstrap", "--preset", "n16-l24-s40"]),
        ("boot-slots", &["plan", "bootstrap", "--slots", "65536"]),
        ("boot-passes", &["run", "bootstrap", "--passes", "3"]),
        ("unknown-machine", &["time", "logreg", "--machine", "arc"]),
        ("unknown-machine-key", &["time", "logreg", "--machine", "ark,cpu", "--set", "hbm.bandwidth=2000"]),
        ("machine-value", &["time", "logreg", "--machine", "ark", "--set", "memory.hbm.bandwidth_gb_s=fast"]),
        ("machine-short-name", &["time", "logreg", "--machine", "ark", "--set", "clustres=8"]),
        ("machine-choice", &["time", "logreg", "--machine", "ark", "--set", "distribution=limbwise"]),
        ("machine-no-clusters", &["machines", "show", "ark", "--set", "clusters=0"]),
        ("machine-nan", &["machines", "show", "ark", "--set", "hbm_gb_s=nan"]),
        ("machine-prefetch", &["machines", "show", "ark", "--set", "policy.prefetch_mb=512"]),
        ("machine-extends-itself", &["machines", "show", "ring.toml", "--explain"]),
        ("machine-extends-nothing", &["time", "logreg", "--machine", "bare.toml"]),
        ("nothing-to-time", &["time", "--machine", "ark"]),
        ("tfhe-preset", &["plan", "pbs", "--preset", "n16-l24-s40"]),
        ("tfhe-bits", &["plan", "gates", "--preset", "strix-I"]),
        ("nn-space", &["plan", "nn20", "--preset", "strix-I"]),
        ("nn-images", &["plan", "nn50", "--images", "21"]),
        ("tfhe-batch", &["run", "pbs", "--batch", "5000"]),
        ("tfhe-shadow", &["run", "pbs", "--shadow"]),
        (
            "query-columns",
            &["plan", "query", "--data", "text.csv", "--sql", "SELECT COUNT(*) FROM t WHERE age < 40 OR weight < age"],
        ),
        (
            "query-group",
            &["run", "query", "--data", "text.csv", "--sql", "SELECT age, COUNT(*) FROM t WHERE age < 40 GROUP BY ill"],
        ),
        ("query-column", &["run", "query", "--data", "text.csv", "--sql", "SELECT SUM(pay) FROM t WHERE age < 40"]),
        ("query-text", &["run", "query", "--data", "text.csv", "--sql", "SELECT COUNT(*) FROM t WHERE weight < 80"]),
        (
            "query-width",
            &[
                "run",
                "query",
                "--data",
                "text.csv",
                "--sql",
                "SELECT COUNT(*) FROM t WHERE age < 40",
                "--domain",
                "age=0..50",
            ],
        ),
        ("query-shadow", &["run", "tpch-q6", "--shadow"]),
        ("query-bits", &["plan", "tpch-q6", "--preset", "flags-bool"]),
        ("query-rows", &["plan", "tpch-q6", "--rows", "20000"]),
        ("trace-line", &["time", "--graph", "trace.csv", "--machine", "ark"]),
        ("preset-change", &["plan", "bootstrap", "--preset", "boot:dnom=3"]),
        ("sweep-field", &["sweep", "--vary", "clustres=2", "logreg"]),
        ("sweep-value", &["sweep", "--vary", "clusters=0,1", "logreg"]),
        ("sweep-option", &["sweep", "--vary", "strategy=fast", "bootstrap"]),
        ("sweep-parameter", &["sweep", "--vary", "dnum=0..3", "bootstrap"]),
        ("sweep-range", &["sweep", "--vary", "clusters=8..2", "logreg"]),
        ("sweep-fixed", &["sweep", "--vary", "keys=stored,seeded", "logreg", "--keys", "stored"]),
        (
            "sweep-objective",
            &[
                "sweep",
                "--machine",
                "f1-scaled",
                "--objectives",
                "area_mm2",
                "--vary",
                "memory.hbm.bandwidth_gb_s=1,2",
                "logreg",
            ],
        ),
        ("sweep-journal", &["sweep", "--vary", "clusters=1,2", "--out", "text.csv", "logreg"]),
        ("sweep-host", &["sweep", "--machine", "cpu", "--vary", "iterations=1,2", "logreg"]),
        ("graph-version", &["time", "--graph", "future.jsonl", "--machine", "ark"]),
        ("graph-absent", &["time", "--graph", "absent.lw", "--machine", "ark"]),
        ("reproduce-unknown", &["reproduce", "ark", "--set", "hbm_gbs=1"]),
        ("count-field", &["count", "--set", "radix=3"]),
        ("count-limbs", &["count", "--set", "limbs=14"]),
        ("set-without-value", &["time", "logreg", "--set", "memory.hbm.bandwidth_gb_s"]),
        ("no-data", &["run", "logreg", "--data", "absent.csv"]),
        ("text-in-data", &["run", "logreg", "--data", "text.csv"]),
        ("nan-in-data", &["run", "logreg", "--data", "nan.csv"]),
        ("ragged-data", &["plan", "logreg", "--data", "ragged.csv"]),
        ("three-classes", &["plan", "logreg", "--data", "three.csv"]),
        ("unknown-label", &["plan", "logreg", "--data", "text.csv", "--label", "sick"]),
        ("digits", &["plan", "logreg", "--data", "text.csv", "--digits", "3,3"]),
        ("insecure-params", &["params", "check", "insecure.toml"]),
        ("unknown-field", &["params", "check", "typo.toml"]),
        ("broken-toml", &["plan", "logreg", "--preset", "broken.toml"]),
        ("too-few-levels", &["plan", "logreg", "--preset", "small.toml", "--iterations", "3"]),
        ("too-many-iterations", &["plan", "logreg", "--preset", "n16-l32-s40", "--iterations", "12"]),
        ("memory-unit", &["plan", "logreg", "--memory", "3"]),
        ("interval", &["plan", "logreg", "--interval", "-3"]),
        ("unwritable-out", &["plan", "logreg", "--out", "absent/plan.json"]),
        ("test-share", &["plan", "logreg", "--test-share", "1.5"]),
        ("label-without-data", &["plan", "logreg", "--label", "first"]),
        ("skip-without-data", &["plan", "nn20", "--skip", "5"]),
        ("query-cell", &["plan", "query", "--sql", "SELECT SUM(b) FROM t WHERE a < 3", "--data", "na.csv"]),
        (
            "query-nullable",
            &["plan", "query", "--sql", "SELECT SUM(\"2\") FROM t", "--data", "few.csv", "--nullable", "a"],
        ),
        ("linear-strategy", &["plan", "linear", "--strategy", "fast"]),
        ("linear-stranger", &["plan", "linear", "--kernel", "3"]),
        ("linear-kernel", &["plan", "linear", "--op", "conv", "--kernel", "9"]),
        ("linear-too-large", &["plan", "linear", "--op", "conv", "--channels", "64"]),
        ("linear-level", &["plan", "linear", "--op", "encrypted-matmul", "--level", "2", "--preset", "n13-l3-s40"]),
        ("linear-shape", &["run", "linear", "--weights", "three.csv", "--input", "three.csv"]),
        ("linear-text", &["run", "linear", "--weights", "text.csv"]),
        ("linear-columns", &["plan", "linear", "--weights", "three.csv", "--cols", "3"]),
        ("linear-one-diagonal", &["plan", "linear", "--rows", "1", "--strategy", "bsgs"]),
        ("resnet-weights", &["plan", "resnet20", "--weights", "text.csv", "--data", "text.csv"]),
        ("resnet-relu", &["plan", "resnet20", "--weights", "w", "--data", "d", "--relu", "8,8:6"]),
        ("resnet-images", &["plan", "resnet20", "--weights", "w", "--data", "d", "--images", "9-3"]),
        ("no-threads", &["run", "logreg", "--threads", "0"]),
    ];
    for (name, arguments) in cases {
        compare(&format!("mistakes/{name}"), &refused(&folder, arguments));
    }
}

#[test]
fn an_instruction_set_is_never_replaced_by_another() {
    let folder = Folder::new("isa");
    // What this CPU runs is in the text, so it cannot be a golden one.
    for text in [
        refused(&folder, &["run", "logreg", "--isa", "avx1024"]),
        refused(&folder, &["bench", "--quick", "--isa", "avx1024"]),
    ] {
        assert!(text.contains("\"avx1024\" is not available: this CPU runs scalar"), "{text}");
    }
    let output = folder.command(&["plan", "logreg"]).env("LIMBWISE_ISA", "mmx").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("\"mmx\""));
}

#[test]
fn a_folder_or_device_is_no_place_for_a_report() {
    let folder = Folder::new("places");
    for place in [".", "/dev/null"] {
        let text = refused(&folder, &["list", "--out", place]);
        assert!(text.contains("not a plain file"), "{text}");
    }
    let text = refused(&folder, &["time", "logreg", "--machine", "ark", "--trace", "absent/t.json"]);
    assert!(text.contains("absent/t.json: cannot write"), "{text}");
}

/// Each output has a file of its own, or nothing is written.
#[test]
fn outputs_do_not_overwrite_each_other() {
    let folder = with_bad_files("outputs");
    let both = "would both be written there: give each a file of its own";
    for arguments in [
        &["time", "ntt", "--machine", "ark", "--html", "same", "--out", "./same"][..],
        &["time", "ntt", "--machine", "ark", "--trace", "same", "--out", "same"],
        &["time", "ntt", "--machine", "ark,f1-scaled,ark", "--trace", "u.json"],
        &["sweep", "--vary", "clusters=1,2", "--html", "a", "--csv", "a", "logreg"],
        &["plan", "logreg", "--html", "a", "--out", "a"],
        &["record", "linear", "--out", "a.lw", "--operations", "a.lw"],
        &["reproduce", "mad", "--html", "a", "--out", "a"],
    ] {
        let text = refused(&folder, arguments);
        assert!(text.contains(both), "{text}");
    }
    // What is refused late has printed nothing either.
    let text = refused(&folder, &["record", "bootstrap", "--preset", "boot", "--operations", "b.csv"]);
    assert!(text.contains("HERACLES"), "{text}");
    // A set with words is no chain, whatever the program does under it.
    let words = ["record", "linear", "--preset", "boot-words", "--operations", "w.csv"];
    let text = refused(&folder, &words);
    assert!(text.contains("have as many") && text.contains(".jsonl"), "{text}");
}

/// Options that would do nothing are refused.
#[test]
fn options_without_effect_are_refused() {
    let folder = Folder::new("effect");
    for (arguments, wanted) in [
        (&["time", "ntt", "--machine", "ark", "--device", "abacus"][..], "there is no device \"abacus\""),
        (&["time", "ntt", "--machine", "ark", "--device", "upmem"], "\"limbwise time\" computes on no device"),
        // A field that the model knows, of a part that the machine does not have.
        (&["time", "ntt", "--machine", "ark,fab", "--set", "unit.fft.count=2"], "has a part \"unit.fft\""),
        (&["record", "linear", "--device", "abacus"], "there is no device \"abacus\""),
        (&["record", "linear", "--device", "upmem"], "\"limbwise record\" computes on no device"),
        (&["time", "ntt", "--machine", "ark", "--part", "2"], "--part: the rows of a part on the machine cluster"),
    ] {
        let text = refused(&folder, arguments);
        assert!(text.contains(wanted), "{text}");
    }
}

/// A file that is no recorded program is told what one is.
#[test]
fn files_of_another_kind_are_told_apart() {
    let folder = Folder::new("kinds");
    let trace = "instruction,scheme\nadd,CKKS,16384,3,c-2-2,a-2-2,b-2-2\n";
    folder.write("trace.txt", trace);
    folder.write("layer.fhetch", "# FHETCH\n");
    folder.write("one.csv", "instruction,scheme\nadd,CKKS,16384,3,c-2-2,a-2-2\n");
    folder.write("list.jsonl", "{\"format\":\"limbwise-operations\",\"version\":1}\n");
    let of = |name: &str| refused(&folder, &["time", "--graph", name, "--machine", "ark"]);
    for name in ["trace.txt", "layer.fhetch"] {
        assert!(of(name).contains("whose name ends in .csv or .bin; traces of FHETCH are written and not read"));
    }
    assert!(of("list.jsonl").contains("write its graph: \"limbwise record --out program.lw\""));
    let text = of("one.csv");
    assert!(text.contains("line 2: add has a result and 2 operands, got a result and 1"), "{text}");
    folder.write("TRACE.CSV", trace);
    let timed = folder.run(&["time", "--graph", "TRACE.CSV", "--machine", "ark"]);
    assert!(timed.status.success(), "{}", String::from_utf8_lossy(&timed.stderr));
}
