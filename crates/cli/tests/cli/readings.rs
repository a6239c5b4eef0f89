//! What plans, runs and times have in common for workloads of every scheme: where numbers stand, what a memory budget does,
//! and which way a machine takes.

use crate::{
    common::{Folder, TINY},
    mistakes::refused,
    serve::verb,
};
use serde_json::Value;

/// Fails unless there is a number at this path, with points between.
fn number(report: &Value, path: &str) {
    let value = path.split('.').try_fold(report, |value, key| value.get(key));
    assert!(value.is_some_and(Value::is_number), "{path}: {report:#}");
}

#[test]
fn numbers_that_programs_read_stand_where_they_always_did() {
    let folder = Folder::new("places");
    folder.write("tiny.toml", TINY);
    let of_all =
        ["seconds", "seconds_predicted", "peak_memory_bytes.predicted", "peak_memory_bytes.measured", "key_bytes"];
    let runs: [(&[&str], &str, &[&str]); 4] = [
        (
            &["logreg", "--preset", "tiny.toml", "--iterations", "1", "--degree", "3"],
            "ckks",
            &["precision_bits.mean", "precision_bits.min", "levels_left", "accuracy.encrypted", "plaintext_bytes"],
        ),
        (
            &["pbs", "--batch", "2"],
            "tfhe",
            &["ms_per_bootstrapping", "wrong", "bootstrappings", "messages", "noise_found.measured", "log2_failure"],
        ),
        (&["gates", "--batch", "1"], "tfhe", &["ms_per_bootstrapping", "wrong", "gates"]),
        (&["bgv-table"], "bgv", &["wrong", "compared", "budget_bits.measured", "budget_bits.predicted", "rows"]),
    ];
    for (workload, scheme, own) in runs {
        let run = verb(&folder, &[&["run"], workload].concat());
        assert_eq!((&run["scheme"], &run["workload"]), (&scheme.into(), &workload[0].into()), "{run:#}");
        of_all.iter().chain(own).for_each(|path| number(&run, path));
        assert!(run.get("wrong").is_none_or(|wrong| wrong == 0), "{run:#}");
    }
    let plan = verb(&folder, &["plan", "tpch-q6", "--rows", "32"]);
    assert_eq!(plan["scheme"], "tfhe+ckks");
    let own =
        ["bootstrappings", "precision.bit_error", "ring.log_n", "lwe.log_n", "failure.program", "plaintext_bytes"];
    let planned = [
        "seconds_predicted",
        "peak_memory_bytes.predicted",
        "key_bytes",
        "input_bytes",
        "counts.transformed_limbs",
        "nodes",
    ];
    planned.iter().chain(&own).for_each(|path| number(&plan, path));
    assert!(plan["keys"].as_array().is_some_and(|keys| keys.len() > 3), "{plan:#}");
}

#[test]
fn bootstrapping_says_its_seconds_a_level() {
    let folder = Folder::new("places-boot");
    folder.write("boot.toml", crate::common::TINY_BOOT);
    let run = verb(&folder, &["run", "bootstrap", "--preset", "boot.toml", "--keys", "seeded", "--strategy", "bsgs"]);
    ["bootstrap_seconds", "t_as_us", "levels_won", "precision_bits.mean", "levels_left"]
        .iter()
        .for_each(|path| number(&run, path));
}

#[test]
fn a_memory_budget_holds_for_every_scheme() {
    let folder = Folder::new("budgets");
    let text = refused(&folder, &["plan", "pbs", "--memory", "10MB"]);
    assert!(text.contains("--memory 10.0 MB: the smallest plan takes") && text.contains("smaller --batch"), "{text}");
    let plan = verb(&folder, &["plan", "bgv-table", "--memory", "100MB"]);
    let choices = plan["choices"].as_array().unwrap();
    assert!(choices.iter().any(|row| row["key_form"] == "seeded") && choices.len() > 1, "{plan:#}");
    assert_eq!(choices.iter().filter(|row| row["chosen"] == true).count(), 1, "{plan:#}");
    let free = verb(&folder, &["plan", "bgv-table"]);
    assert_eq!((&free["key_form"], free.get("choices")), (&"stored".into(), None), "{free:#}");
    let text = refused(&folder, &["plan", "bgv-table", "--memory", "1MB"]);
    assert!(text.contains("the smallest plan takes"), "{text}");
    // The plan of a query by bytes: keys are what it is made of.
    let text = refused(&folder, &["plan", "tpch-q6", "--rows", "16", "--memory", "100MB"]);
    assert!(text.contains("the smallest plan takes"), "{text}");
}

#[test]
fn keys_of_bgv_may_stay_on_disk() {
    let folder = Folder::new("bgv-disk");
    let run = verb(&folder, &["run", "bgv-table", "--encrypted-matrix", "--keys", "disk"]);
    assert_eq!((&run["wrong"], &run["key_form"]), (&0.into(), &"disk".into()), "{run:#}");
    assert!(run["key_reads"]["measured"]["reads"].as_u64() > Some(0), "{run:#}");
    assert_eq!(run["key_reads"]["measured"]["reads"], run["key_reads"]["reads"], "a run reads what was planned");
    assert!(folder.names().is_empty(), "the key file is gone");
}

#[test]
#[cfg(unix)]
fn gates_go_on_after_a_kill() {
    let folder = Folder::new("gates-killed");
    let run = ["run", "gates", "--batch", "4", "--checkpoint", "state", "--json"];
    let mut killed = folder.command(&run).stderr(std::process::Stdio::null()).spawn().unwrap();
    let kept = || {
        let steps = std::fs::read_dir(folder.path().join("state")).ok()?;
        steps.filter_map(Result::ok).find(|e| e.file_name().to_string_lossy().starts_with("step-00000"))
    };
    while kept().is_none() && killed.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    killed.kill().unwrap(); // SIGKILL
    killed.wait().unwrap();
    assert!(kept().is_some(), "it was killed with a state behind it");
    let other = refused(&folder, &["run", "gates", "--batch", "5", "--checkpoint", "state"]);
    assert!(other.contains("has the checkpoint of another run"), "{other}");
    let done = verb(&folder, &run[..6]);
    assert_eq!(done["wrong"], 0, "{done:#}");
    assert_eq!(std::fs::read_dir(folder.path().join("state")).unwrap().count(), 0, "nothing is left of the states");
}

#[test]
fn a_machine_takes_the_way_that_is_fastest_there() {
    let folder = Folder::new("ways");
    folder.write("boot.toml", crate::common::TINY_BOOT);
    least_of_all(&folder, "boot.toml");
}

#[test]
fn a_large_bootstrapping_is_faster_on_ark_than_in_the_way_of_the_cpu() {
    let folder = Folder::new("ways-large");
    let time = ["time", "bootstrap", "--preset", "ark-24", "--machine", "ark"];
    let (taken, usual) = (verb(&folder, &time), {
        let way = ["--strategy", "double-hoisted", "--plaintexts", "full", "--keys", "stored", "--halves", "once"];
        verb(&folder, &[&time[..], &way].concat())
    });
    let [taken_seconds, usual_seconds] = [&taken, &usual].map(|report| report["seconds"].as_f64().unwrap());
    assert!(taken_seconds < 4e-3 && taken_seconds < usual_seconds, "{taken_seconds}: {usual_seconds}");
    let way = |report: &Value| report["way"].as_str().unwrap_or_default().to_owned();
    assert!(way(&taken).contains("multi-hop") && !way(&usual).contains("multi-hop"), "{:#}", taken["way"]);
}

#[test]
#[ignore = "many recordings of a large bootstrapping"]
fn ark_takes_the_way_that_is_fastest_on_ark() {
    let folder = Folder::new("ways-ark");
    let seconds = least_of_all(&folder, "ark-24");
    assert!(seconds < 4e-3, "{seconds}");
}

/// Times bootstrapping on ARK: what is taken is the least over all ways, each of which is timed by itself.
fn least_of_all(folder: &Folder, preset: &str) -> f64 {
    let time = ["time", "bootstrap", "--preset", preset, "--machine", "ark"];
    let taken = verb(folder, &time);
    let (seconds, way) = (taken["seconds"].as_f64().unwrap(), taken["way"].as_str().unwrap());
    let mut all = Vec::new();
    for strategy in ["direct", "hoisted", "bsgs", "whole", "double-hoisted", "chained", "multi-hop"] {
        for plaintexts in ["full", "on-the-fly", "at-use"] {
            for keys in ["stored", "seeded"] {
                let fixed = ["--strategy", strategy, "--plaintexts", plaintexts, "--keys", keys];
                let one = verb(folder, &[&time[..], &fixed].concat());
                all.push((one["seconds"].as_f64().unwrap(), fixed.join(" ")));
            }
        }
    }
    let (least, best) = all.iter().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    assert!(seconds <= least * (1.0 + 1e-12), "{way} takes {seconds}; {best} takes {least}");
    assert!(all.iter().any(|(one, _)| (one - seconds).abs() <= 1e-12 * seconds), "{way}: {all:?}");
    seconds
}

#[test]
fn a_host_is_measured_once_and_given_rates_take_its_place() {
    let folder = Folder::new("rates");
    folder.write("tiny.toml", TINY);
    let plan = ["plan", "logreg", "--preset", "tiny.toml", "--iterations", "1", "--degree", "3", "--threads", "1"];
    let told = |measured: bool, rates: &str| {
        let mut command = folder.command(&plan);
        command.env("XDG_CACHE_HOME", folder.path());
        if measured {
            command.env_remove("LIMBWISE_RATES")
        } else {
            command.env("LIMBWISE_RATES", rates)
        };
        let output = command.output().unwrap();
        let (said, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        (output.status.code(), said + &told)
    };
    let kept = || {
        folder.path().join("limbwise").read_dir().map_or(0, |files| {
            files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "json")).count()
        })
    };
    let rates = crate::common::repository(crate::common::RATES);
    let (code, text) = told(false, rates.to_str().unwrap());
    assert!(code == Some(0) && text.contains("seconds are by the rates of") && kept() == 0, "{text}");
    assert!(text.contains("of evaluation by the rates of rates.json"), "{text}");
    let (code, text) = told(true, "");
    assert!(code == Some(0) && text.contains("calibrating this host") && kept() == 1, "{text}");
    assert!(text.contains("of evaluation on this CPU"), "{text}");
    let (code, text) = told(true, "");
    assert!(code == Some(0) && text.contains("this host's calibration is that of") && kept() == 1, "{text}");
    // Whatever is named must be rates, and of a CPU.
    let good = std::fs::read_to_string(rates).unwrap();
    let wrong = [
        ("absent.json", None, "absent.json"),
        ("text.json", Some("rates".into()), "no file of a calibration"),
        ("gpu.json", Some(good.replace("\"device\": \"cpu\"", "\"device\": \"cuda\"")), "wanted those of cpu"),
        ("rate.json", Some(good.replace("add_gb_s = ", "add_gb_s = -")), "add_gb_s"),
        ("field.json", Some(good.replace("[memory]", "[memory]\\nsurprise = 1")), "surprise"),
        ("spread.json", Some(good.replace("\"spread\": 0", "\"spread\": 7")), "a spread of 7"),
    ];
    for (name, text, why) in wrong {
        if let Some(text) = text {
            assert_ne!(text, good, "{name}");
            folder.write(name, &text);
        }
        let (code, text) = told(false, name);
        assert!(code == Some(2) && text.contains(why) && text.contains(name), "{name}: {text}");
    }
}
