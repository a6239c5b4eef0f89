//! Every `--json` against its schema in docs/schemas, on the cheapest real case.

use crate::common::{Folder, TINY, TINY_BOOT, TINY_TFHE, repository};
use serde_json::Value;
use std::fs;

/// Runs the program and checks that standard output is one JSON value of the schema.
pub(crate) fn valid(folder: &Folder, schema: &str, arguments: &[&str]) -> Value {
    let output = folder.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}"));
    check(schema, &json);
    json
}

fn check(schema: &str, json: &Value) {
    let errors = errors(schema, json);
    assert!(errors.is_empty(), "{schema}: {errors:#?}\n{json:#}");
}

fn errors(name: &str, json: &Value) -> Vec<String> {
    let path = repository(&format!("docs/schemas/{name}.schema.json"));
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    validator.iter_errors(json).map(|e| format!("{}: {e}", e.instance_path)).collect()
}

#[test]
fn lists_and_parameters() {
    let folder = Folder::new("lists");
    folder.write("tiny.toml", TINY);
    let list = valid(&folder, "list", &["list", "--json"]);
    let workloads = list["workloads"].as_array().unwrap();
    for name in ["logreg", "pbs", "bgv-mul", "query"] {
        assert!(workloads.iter().any(|w| w["name"] == name), "{name} of {workloads:?}"); // all of them: the help's golden files
    }
    valid(&folder, "params", &["params", "show", "--json"]);
    let choose = ["params", "choose", "--depth", "5", "--precision", "20", "--slots", "4096", "--json"];
    let chosen = valid(&folder, "params", &choose);
    assert!(chosen["slots"].as_u64() >= Some(4096) && chosen["levels"].as_u64() >= Some(5), "{chosen}");
    let layer = ["linear", "--rows", "8", "--cols", "8", "--preset", "tiny.toml", "--bits", "10", "--json"];
    let chosen = valid(&folder, "params", &[&["params", "choose"], &layer[..]].concat());
    assert_eq!((&chosen["plan"], &chosen["judged"][0]["preset"]), (&chosen["judged"][0], &"tiny.toml".into()));
    assert!(chosen["plan"]["precision_bits"].as_f64() >= Some(10.0) && chosen["set"]["literal"]["levels"].is_array());
    let tiny = valid(&folder, "params", &["params", "check", "tiny.toml", "--json"]);
    assert_eq!(tiny["security"]["insecure_reason"], "a test of the command line");
}

#[test]
fn programs_on_bgv_have_the_same_readings() {
    let folder = Folder::new("bgv");
    let shown = folder.run(&["params", "show", "bgv-n13-t30"]);
    folder.write("copy.toml", &String::from_utf8(shown.stdout).unwrap());
    let copy = valid(&folder, "params", &["params", "check", "copy.toml", "--json"]);
    assert_eq!(copy["literal"], valid(&folder, "params", &["params", "show", "bgv-n13-t30", "--json"])["literal"]);
    for (program, checked) in [
        (&["bgv-mul", "--n", "1024", "--ciphertexts", "2"][..], "phases"),
        (&["bgv-mul", "--n", "2048", "--ciphertexts", "2"], "integers"),
        (&["bgv-table", "--encrypted-matrix", "--preset", "copy.toml"], "integers"),
    ] {
        let plan = valid(&folder, "plan", &[&["plan"], program, &["--json"]].concat());
        let run = valid(&folder, "run", &[&["run"], program, &["--json"]].concat());
        assert_eq!((&run["wrong"], &run["checked"]), (&0.into(), &checked.into()), "{run:#}");
        assert!(run["compared"].as_u64() > Some(100), "{run:#}");
        let recorded = valid(&folder, "record", &[&["record"], program, &["--out", "g.lw", "--json"]].concat());
        assert_eq!((&recorded["counts"], &recorded["key_bytes"]), (&plan["counts"], &plan["key_bytes"]));
        valid(&folder, "time", &["time", "--graph", "g.lw", "--machine", "counts", "--json"]);
    }
    for step in ["ntt", "multiply", "intt", "all"] {
        let many = ["record", "bgv-mul", "--ciphertexts", "32768", "--step", step, "--limbs", "3", "--json"];
        let many = valid(&folder, "record", &many);
        assert!(many["nodes"].as_u64() < Some(100), "{many:#}");
    }
    folder.write("half.csv", "a,b\n1,2.5\n");
    folder.write("matrix.csv", "x\n1\n2\n");
    for (wrong, text) in [
        (&["run", "bgv-table", "--data", "half.csv", "--matrix", "matrix.csv"][..], "wanted a whole number"),
        (&["run", "bgv-table", "--preset", "bgv-n13"], "choose a preset with a larger plaintext modulus"),
        (&["run", "bgv-table", "--matrix", "matrix.csv"], "the matrix has 2 rows, the table 4 columns"),
        (&["run", "bgv-mul", "--preset", "bgv-n12", "--limbs", "7"], "the levels of this set have 1, 2 primes"),
    ] {
        let output = folder.run(wrong);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(text) && output.status.code() == Some(2), "{wrong:?}: {told}");
    }
}

#[test]
fn transforms_alone_are_run_counted_and_timed() {
    let folder = Folder::new("ntt");
    for (direction, transforms) in [("forward", 12), ("inverse", 12), ("both", 24)] {
        let program = ["ntt", "--preset", "bgv-n13", "--limbs", "3", "--ciphertexts", "2", "--direction", direction];
        let run = valid(&folder, "run", &[&["run"], &program[..], &["--json"]].concat());
        assert_eq!((&run["wrong"], &run["transforms"]), (&0.into(), &transforms.into()), "{run:#}");
        assert_eq!(run["compared"], 2 * 8192, "{run:#}");
        let plan = valid(&folder, "plan", &[&["plan"], &program[..], &["--json"]].concat());
        assert_eq!(plan["counts"]["transformed_limbs"], transforms, "{plan:#}");
    }
    let seconds = |changes: &[&str]| {
        let time = valid(&folder, "time", &[&["time", "ntt", "--machine", "flexmem", "--json"], changes].concat());
        time["seconds"].as_f64().unwrap_or_else(|| panic!("{time:#}"))
    };
    // The two polynomials are on two chips, and half the PEs take longer for the same butterflies.
    let [usual, few, one] = [&[][..], &["--set", "pes=4"], &["--set", "chips=1", "--set", "dimms=1"]].map(seconds);
    assert!(few > 1.2 * usual && one > 1.5 * usual, "{usual} {few} {one}");
    let many = folder.run(&["plan", "ntt", "--limbs", "40"]);
    let told = String::from_utf8(many.stderr).unwrap();
    assert!(told.contains("--limbs 40: the levels of this set have 1, 2") && many.status.code() == Some(2), "{told}");
}

#[test]
fn programs_on_tfhe_have_the_same_readings() {
    let folder = Folder::new("tfhe");
    folder.write("tiny.toml", TINY_TFHE);
    let check = valid(&folder, "params", &["params", "check", "tiny.toml", "--json"]);
    assert_eq!(check["security"]["insecure_reason"], "a test of the command line");
    let shown = folder.run(&["params", "show", "2-2-p128"]);
    folder.write("copy.toml", &String::from_utf8(shown.stdout).unwrap());
    let copy = valid(&folder, "params", &["params", "check", "copy.toml", "--json"]);
    assert_eq!(copy["literal"], valid(&folder, "params", &["params", "show", "2-2-p128", "--json"])["literal"]);
    let four_bits = TINY_TFHE.replace("message_bits = 2", "message_bits = 4").replace("= 60", "= 8");
    folder.write("four.toml", &four_bits);
    // A result of the network is the sum of a third of its last 92 neurons: half of log2 31 more noise.
    for (workload, preset, options, summed) in [
        ("pbs", "tiny.toml", &["--tables", "each", "--batch", "3"][..], 0.0),
        ("gates", "tiny.toml", &["--batch", "2"], 0.0),
        ("nn20", "four.toml", &[], 2.5),
    ] {
        let program = [&[workload, "--preset", preset], options].concat();
        let plan = valid(&folder, "plan", &[&["plan"], &program[..], &["--json"]].concat());
        let run = valid(&folder, "run", &[&["run"], &program[..], &["--json"]].concat());
        assert_eq!((&run["wrong"], &run["bootstrappings"]), (&0.into(), &plan["bootstrappings"]), "{run:#}");
        let [found, predicted] = ["measured", "bootstrapping"].map(|name| run["noise_found"][name].as_f64().unwrap());
        assert!(found < predicted + summed + 1.5, "{run:#}");
        let recorded = valid(&folder, "record", &[&["record"], &program[..], &["--out", "g.lw", "--json"]].concat());
        assert_eq!((&recorded["counts"], &recorded["key_bytes"]), (&plan["counts"], &plan["key_bytes"]));
        let timed = valid(&folder, "time", &["time", "--graph", "g.lw", "--machine", "counts", "--json"]);
        assert_eq!(
            timed,
            valid(&folder, "time", &[&["time"], &program[..], &["--machine", "counts", "--json"]].concat())
        );
        let operators = timed["operators"].as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap());
        let names: Vec<&str> = operators.collect();
        for name in ["decomp", "ntt", "ep", "intt", "ps", "lwe_key_switch"] {
            assert!(names.contains(&name), "{names:?}");
        }
    }
}

#[test]
fn counts_of_a_set_with_changes() {
    let folder = Folder::new("count");
    let usual = valid(&folder, "count", &["count", "--json"]);
    let row = |json: &Value, name: &str| {
        json["subroutines"].as_array().unwrap().iter().find(|r| r["name"] == name).unwrap().clone()
    };
    assert_eq!(row(&usual, "mult")["limb_transforms"], 310);
    let changed = valid(&folder, "count", &["count", "fab", "--set", "caching=alpha,logn=15", "--json"]);
    assert_eq!((&changed["set"]["log_n"], &changed["set"]["caching"]), (&15.into(), &"alpha".into()));
    let text = String::from_utf8(folder.run(&["count"]).stdout).unwrap();
    let mult = text.lines().find(|l| l.trim_start().starts_with("mult ")).unwrap();
    assert!(mult.contains("1.833304") && mult.contains("1.929380"), "{mult}");
}

#[test]
fn what_show_prints_is_a_parameter_file() {
    let folder = Folder::new("show");
    let shown = folder.run(&["params", "show", "n16-l24-s40"]);
    folder.write("copy.toml", &String::from_utf8(shown.stdout).unwrap());
    let copy = valid(&folder, "params", &["params", "check", "copy.toml", "--json"]);
    let preset = valid(&folder, "params", &["params", "show", "n16-l24-s40", "--json"]);
    assert_eq!(copy["literal"], preset["literal"]);
    assert_eq!(copy["evaluation_key_bytes"], preset["evaluation_key_bytes"]);
}

#[test]
fn a_shown_machine_is_a_machine_file() {
    let folder = Folder::new("machines");
    let list = valid(&folder, "machines", &["machines", "list", "--json"]);
    for name in list.as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()) {
        let file = folder.run(&["machines", "show", name, "--set", &format!("assumed.{}", "x=1")]);
        assert_eq!(file.status.code(), Some(2), "assumed.x is no field");
        folder.write("mine.toml", &String::from_utf8(folder.run(&["machines", "show", name]).stdout).unwrap());
        let mine = valid(&folder, "machines", &["machines", "show", "mine.toml", "--json"]);
        let original = valid(&folder, "machines", &["machines", "show", name, "--json"]);
        assert_eq!(mine["fields"], original["fields"], "{name}: values and sources");
        assert_eq!((&mine["built_in"], mine["name"].as_str()), (&name.into(), Some(&*format!("{name}-variant"))));
    }
    let explained = folder.run(&["machines", "show", "ark", "--explain", "--set", "hbm_gb_s=2000"]);
    let text = String::from_utf8(explained.stdout).unwrap();
    let line = text.lines().find(|l| l.contains("memory.hbm.bandwidth_gb_s")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[1..], ["2000", "GB/s", "hbm_gb_s", "chosen", "by", "the", "user"], "{line}");
}

#[test]
fn a_recorded_program_is_timed_from_its_file() {
    let folder = Folder::new("record");
    folder.write("tiny.toml", TINY);
    let layer = ["linear", "--preset", "tiny.toml", "--strategy", "multi-hop:8", "--plaintexts", "full"];
    let fixed = [&layer[..], &["--keys", "stored"]].concat();
    let recorded = valid(&folder, "record", &[&["record"], &fixed[..], &["--out", "layer.lw", "--json"]].concat());
    assert!(recorded["keys"].as_array().unwrap().len() > 1 && recorded["key_form"] == "stored", "{recorded:#}");
    let direct = valid(&folder, "time", &[&["time"], &fixed[..], &["--machine", "ark,f1-scaled", "--json"]].concat());
    let file = ["time", "--graph", "layer.lw", "--machine", "ark,f1-scaled", "--json"];
    assert_eq!(valid(&folder, "time", &file), direct, "the file is the program");
    let listed = folder.run(&[&["record", "--keys"], &fixed[..]].concat());
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(text.lines().count() >= recorded["keys"].as_array().unwrap().len() + 3, "{text}");
}

#[test]
fn memory_decides_how_keys_are_kept() {
    let folder = Folder::new("memory");
    for (most, form) in [("9GB", "stored"), ("3.5GB", "seeded")] {
        let plan = valid(&folder, "plan", &["plan", "logreg", "--memory", most, "--json"]);
        assert_eq!(plan["key_form"], form, "{most}");
    }
    for arguments in [&["--memory", "500MB"][..], &["--memory", "3.5GB", "--keys", "stored"]] {
        let output = folder.run(&[&["plan", "logreg"], arguments].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("the smallest plan takes") && output.stdout.is_empty(), "{text}");
    }
}

#[test]
fn keys_on_disk_take_as_much_memory_as_they_may() {
    let folder = Folder::new("disk");
    folder.write("boot.toml", TINY_BOOT);
    let boot = [
        "bootstrap",
        "--preset",
        "boot.toml",
        "--strategy",
        "multi-hop",
        "--plaintexts",
        "full",
        "--key-dir",
        ".",
        "--json",
    ];
    let run = |options: &[&str]| valid(&folder, "run", &[&["run"], &boot[..], options].concat());
    let peak = |report: &Value| report["peak_memory_bytes"]["predicted"].as_u64().unwrap();
    let reads = |report: &Value| report["key_reads"]["reads"].as_u64().unwrap();
    let (memory, least) = (run(&["--keys", "seeded"]), run(&["--keys", "disk"]));
    assert!(peak(&least) < peak(&memory) && least["key_form"] == "disk" && memory.get("key_reads").is_none());
    // Nearer to the larger one: a plan keeps 2 % spare, and half of the difference is hardly more.
    let budget = peak(&least) + 3 * (peak(&memory) - peak(&least)) / 4;
    let more = run(&["--keys", "disk", "--memory", &format!("{budget}B")]);
    assert!(peak(&more) > peak(&least) && peak(&more) <= budget, "{more:#}");
    assert!(reads(&more) <= reads(&least), "more memory, no more reads: {more:#} {least:#}");
    for report in [&least, &more] {
        assert_eq!(
            report["key_reads"]["measured"]["reads"], report["key_reads"]["reads"],
            "a run reads what was planned"
        );
        assert!(report["precision_bits"]["mean"].as_f64() > Some(23.0), "{report:#}");
    }
    assert_eq!(folder.names(), ["boot.toml"], "the key file is gone");
    let output = folder.run(&[&["run"], &boot[..7], &["--keys", "disk", "--key-dir", "nowhere"]].concat());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("nowhere") && text.contains("creating a key file"), "{text}");
}

#[test]
fn shadow_mode_finds_workloads_right_and_names_what_is_not() {
    let folder = Folder::new("shadow");
    folder.write("tiny.toml", TINY);
    folder.write("boot.toml", TINY_BOOT);
    let long = TINY_BOOT.replace("[40], [40]", &["[40]"; 7].join(", ")).replace("dnum = 4", "dnum = 5");
    folder.write("long.toml", &long);
    let logreg = ["logreg", "--preset", "long.toml", "--degree", "3", "--iterations", "3", "--batch", "60"];
    let linear = ["linear", "--op", "matvec", "--rows", "16", "--cols", "16", "--preset", "tiny.toml"];
    // Functions follow errors by themselves: none of their steps is found wrong.
    let data = |name: &str| repository("crates/apps/tests/data").join(name).to_str().unwrap().to_owned();
    let [model, x] = ["small.onnx", "small_x.npy"].map(data);
    let network = ["network", "--model", &model, "--data", &x, "--error", "0.02"];
    let runs: [(&[&str], &str); 4] = [
        (&logreg, "iteration 2"),
        (&linear, "layer"),
        (&["bootstrap", "--preset", "boot.toml"], ""),
        (&network, "layer 2/polynomial"),
    ];
    for (workload, region) in runs {
        let run = valid(&folder, "run", &[&["run"], workload, &["--shadow", "--json"]].concat());
        let shadow = &run["shadow"];
        assert!(shadow.get("first").is_none(), "{shadow:#}");
        let regions = shadow["regions"].as_array().unwrap();
        assert!(regions.iter().any(|r| r["region"] == region && r["mean"].as_f64() > Some(8.0)), "{shadow:#}");
    }
    let output = folder.run(&[&["run"], &linear[..], &["--shadow-bound", "60"]].concat());
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("the first wrong operation is linear_transform_rescaled in region layer: error 2^-"),
        "{text}"
    );
}

#[test]
fn values_outside_their_ranges_are_named_where_results_are_withheld() {
    let folder = Folder::new("outside");
    let data = |name: &str| repository("crates/apps/tests/data").join(name).to_str().unwrap().to_owned();
    let [model, x] = ["small.onnx", "small_x.npy"].map(data);
    let network = ["network", "--model", &model, "--data", &x, "--error", "0.02", "--margin", "1"];
    let plan = valid(&folder, "plan", &[&["plan"], &network[..], &["--json"]].concat());
    let warning = plan["twin"]["warning"].as_str().unwrap();
    assert!(warning.starts_with("1 of 1 samples have values beyond the calibrated ranges, first in layer sum"));
    assert!(warning.contains(", whose range is ") && warning.contains(" to "), "{warning}");
    let output = folder.run(&[&["run"], &network[..], &["--json"]].concat());
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("the values are withheld") && text.contains(warning), "{text}");
    // By files: without the data the ranges of the outputs are told, which are public; with them what the data alone tell.
    let done = |words: &[&str]| {
        let output = folder.run(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    done(&[&["keygen"], &network[..], &["--client", "mine", "--server", "theirs"]].concat());
    done(&["encrypt", "--client", "mine", "--out", "in"]);
    done(&["eval", "--server", "theirs", "--in", "in", "--out", "out", "--weights", &model]);
    let decrypt = ["decrypt", "--client", "mine", "--in", "out", "--out", "y.json"];
    let told = |words: &[&str]| {
        let output = folder.run(words);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let (bare, compared) = (told(&decrypt), told(&[&decrypt[..], &["--compare"]].concat()));
    let outputs = "a likely cause: a value beyond its calibrated range; those of the outputs are, with their margin, ";
    assert!(bare.contains("the values are withheld") && bare.contains(outputs) && !bare.contains("in layer"), "{bare}");
    let layer = "a likely cause: 1 of 1 samples have values beyond the calibrated ranges, first in layer sum";
    assert!(compared.contains("the values are withheld") && compared.contains(layer), "{compared}");
}

#[test]
fn memory_decides_how_a_map_is_evaluated() {
    let folder = Folder::new("frontier");
    let conv =
        ["plan", "linear", "--op", "conv", "--channels", "8", "--height", "16", "--preset", "n14-l7-s40", "--json"];
    let free = valid(&folder, "plan", &conv);
    let bytes = |row: &Value| row["peak_memory_bytes"].as_u64().unwrap();
    let seconds = |row: &Value| row["seconds"].as_f64().unwrap();
    let rows = free["choices"].as_array().unwrap();
    let (most, least) = (bytes(&rows[0]), bytes(rows.last().unwrap()));
    assert!(rows.len() > 3 && most > 2 * least, "{free:#}");
    let usual = rows.iter().filter(|row| seconds(row) <= 1.1 * seconds(&rows[0])).min_by_key(|row| bytes(row)).unwrap();
    assert!(
        rows.iter().all(|row| (row["chosen"] == true) == (row == usual)),
        "the smallest that is hardly slower: {free:#}"
    );
    let budget = u64::midpoint(most, least);
    let limited = valid(&folder, "plan", &[&conv[..], &["--memory", &format!("{budget}B")]].concat());
    let rows = limited["choices"].as_array().unwrap();
    let chosen: Vec<&Value> = rows.iter().filter(|row| row["chosen"] == true).collect();
    let fitting = rows.iter().find(|row| bytes(row) <= budget).unwrap();
    assert!(chosen.len() == 1 && chosen[0] == fitting && bytes(&rows[0]) > budget, "{limited:#}");
    assert_eq!(limited["key_bytes"], chosen[0]["key_bytes"]);
    assert!(limited["seconds_predicted"].as_f64() > rows[0]["seconds"].as_f64(), "less memory takes longer");
    let output = folder.run(&[&conv[..], &["--memory", "1MB"]].concat());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && text.contains("--memory 1.00 MB: the smallest plan takes"), "{text}");
    assert!(text.contains("on_the_fly plaintexts, keys on disk"), "{text}");
}

#[test]
fn bootstrapping_runs_and_is_what_was_planned() {
    let folder = Folder::new("bootstrap");
    folder.write("boot.toml", TINY_BOOT);
    let boot = ["bootstrap", "--preset", "boot.toml", "--json"];
    let plan = valid(&folder, "plan", &[&["plan"], &boot[..]].concat());
    assert_eq!((&plan["bootstrapping"]["levels"], &plan["bootstrapping"]["slots"]), (&2.into(), &1024.into()));
    assert!((plan["bootstrapping"]["log2_failure"].as_f64().unwrap() + 110.7).abs() < 0.1, "{plan:#}");
    let runs: [(&[&str], f64); 6] = [
        (&[], 23.0),
        (
            &["--message", "constant", "--strategy", "multi-hop", "--plaintexts", "on-the-fly", "--halves", "turns"],
            23.0,
        ),
        (&["--slots", "64", "--content", "real", "--keys", "seeded"], 23.0),
        (&["--passes", "2"], 29.0),
        (&["--strategy", "direct", "--message", "small"], 23.0),
        (&["--strategy", "hoisted", "--message", "positive"], 23.0),
    ];
    for (options, bits) in runs {
        let run = valid(&folder, "run", &[&["run"], &boot[..], options].concat());
        let precision = |which: &str| run["precision_bits"][which].as_f64().unwrap();
        assert!(precision("mean") > bits && precision("min") > bits - 4.0, "{options:?}: {run:#}");
        assert!((precision("mean") - precision("predicted")).abs() < 4.0, "{options:?}: {run:#}");
        assert!(run["t_as_us"].as_f64() > Some(0.0) && run["bootstrap_seconds"].as_f64() > Some(0.0), "{run:#}");
    }
}

#[test]
fn training_bootstraps_where_its_levels_end() {
    let folder = Folder::new("long-training");
    folder
        .write("boot.toml", &TINY_BOOT.replace("[40], [40]", &["[40]"; 7].join(", ")).replace("dnum = 4", "dnum = 5"));
    let training = ["logreg", "--preset", "boot.toml", "--degree", "3", "--iterations", "4", "--batch", "60", "--json"];
    let plan = valid(&folder, "plan", &[&["plan"], &training[..]].concat());
    assert_eq!((&plan["bootstrapping"]["content"], &plan["bootstrapping"]["slots"]), (&"real".into(), &32.into()));
    let run = valid(&folder, "run", &[&["run"], &training[..]].concat());
    assert!(run["bootstraps"].as_u64() >= Some(2) && run["precision_bits"]["mean"].as_f64() > Some(14.0), "{run:#}");
    let accuracy = |which: &str| run["accuracy"][which].as_f64().unwrap();
    assert!((accuracy("encrypted") - accuracy("clear")).abs() < 0.01 && accuracy("clear") > 0.85, "{run:#}");
}

#[test]
fn layers_run_and_agree_with_their_twins() {
    let folder = Folder::new("layers");
    folder.write("tiny.toml", TINY);
    folder.write("matrix.csv", "1,2,3\n-4,5,6\n");
    folder.write("vector.csv", "0.5\n-1\n2\n");
    let layers: [(&[&str], &str, u64); 5] = [
        (&["--weights", "matrix.csv", "--input", "vector.csv"], "clear 2×3 × encrypted 3×1", 2),
        (&["--rows", "30", "--cols", "20", "--strategy", "bsgs:4"], "clear 30×20 × encrypted 20×1", 30),
        (&["--op", "matmul", "--rows", "8", "--cols", "5", "--vectors", "300"], "clear 8×5 × encrypted 5×300", 2400),
        (&["--op", "encrypted-matmul", "--rows", "5", "--vectors", "3"], "3 × encrypted 5×5 × encrypted 5×5", 75),
        (
            &[
                "--op",
                "conv",
                "--channels",
                "3",
                "--height",
                "9",
                "--filters",
                "2",
                "--stride",
                "2",
                "--strategy",
                "multi-hop",
            ],
            "2 filters of 3×3×3, stride 2, same padding on an encrypted image of 3×9×9",
            50,
        ),
    ];
    for (options, layer, values) in layers {
        let program = ["run", "linear", "--preset", "tiny.toml", "--threads", "1", "--json"];
        let run = valid(&folder, "run", &[&program[..], options].concat());
        assert_eq!((run["layer"].as_str(), run["values"].as_u64()), (Some(layer), Some(values)));
        let bits = ["mean", "predicted"].map(|name| run["precision_bits"][name].as_f64().unwrap());
        assert!(bits[0] > 12.0 && (bits[0] - bits[1]).abs() < 6.0, "{run:#}");
        assert!(run["steps"].as_array().unwrap().iter().any(|step| step["name"] == "encoding"), "{run:#}");
    }
    // What is left open is chosen for this host, and then timed elsewhere.
    let time = valid(&folder, "time", &["time", "linear", "--preset", "tiny.toml", "--machine", "ark", "--json"]);
    assert!(time["seconds"].as_f64() > Some(0.0), "{time:#}");
}

#[test]
fn plans_and_times_of_the_full_size() {
    let folder = Folder::new("plans");
    let plan = valid(&folder, "plan", &["plan", "logreg", "--json", "--out", "plan.json"]);
    assert_eq!(plan["security_bits"], 128);
    let sum: u64 = plan["keys"].as_array().unwrap().iter().map(|key| key["bytes"].as_u64().unwrap()).sum();
    assert_eq!(plan["key_bytes"], sum);
    let written: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("plan.json")).unwrap()).unwrap();
    assert_eq!(written, plan);

    let several = valid(&folder, "time", &["time", "logreg", "--machine", "ark,cpu", "--json", "--trace", "t.json"]);
    let slow = ["time", "logreg", "--machine", "ark", "--set", "memory.hbm.bandwidth_gb_s=100", "--json"];
    let one = valid(&folder, "time", &slow);
    assert!(several.is_array() && one.is_object());
    assert!(one["seconds"].as_f64() > several[0]["seconds"].as_f64(), "a slower memory takes longer");
    assert_eq!(folder.names(), ["plan.json", "t.ark.json", "t.cpu.json"]);
    let trace: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("t.ark.json")).unwrap()).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().len() > 1000);
}

#[test]
fn a_run_and_its_plan_agree() {
    let folder = Folder::new("run");
    folder.write("tiny.toml", TINY);
    let program = ["logreg", "--preset", "tiny.toml", "--iterations", "2", "--degree", "3", "--batch", "64"];
    let with = |verb, rest: &[&'static str]| [&[verb][..], &program, rest].concat();
    let plan = valid(&folder, "plan", &with("plan", &["--json", "--threads", "1"]));
    let run = valid(&folder, "run", &with("run", &["--json", "--threads", "1", "--out", "run.json"]));
    for field in ["workload", "device", "isa", "threads", "preset", "security_bits", "key_bytes", "plaintext_bytes"] {
        assert_eq!(run[field], plan[field], "{field}");
    }
    assert_eq!(run["levels_left"], plan["levels_left"]);
    assert_eq!(run["precision_bits"]["predicted"], plan["precision_bits"]["predicted"]);
    assert_eq!(run["insecure_reason"], "a test of the command line");
    let accuracy = |of: &str| run["accuracy"][of].as_f64().unwrap();
    assert!((accuracy("encrypted") - accuracy("clear")).abs() <= 0.005, "{run:#}");
    assert!(accuracy("encrypted") > 0.8, "{run:#}");
    assert!(run["precision_bits"]["min"].as_f64() > Some(8.0), "{run:#}");
    assert_eq!(folder.names(), ["run.json", "tiny.toml"]);
}

#[test]
fn measurements() {
    let folder = Folder::new("bench");
    let bench = valid(&folder, "bench", &["bench", "--quick", "--json", "--isa", "scalar", "--threads", "2"]);
    let threads: Vec<_> = bench["rows"].as_array().unwrap().iter().map(|row| row["threads"].as_u64()).collect();
    assert!(threads.contains(&Some(1)) && threads.contains(&Some(2)), "{bench:#}");
}

#[test]
fn the_schemas_refuse_what_they_should() {
    let folder = Folder::new("schemas");
    let mut list = valid(&folder, "list", &["list", "--json"]);
    list["devices"][0]["threads"] = Value::Null;
    assert_eq!(errors("list", &list).len(), 1);
    assert!(!errors("run", &serde_json::json!({})).is_empty());
    assert!(!errors("time", &serde_json::json!([])).is_empty());
}
