//! The workloads `helr` and `lola` through every verb, on rings as small as they allow.

use crate::{
    common::{Folder, TINY_BOOT},
    contract::valid,
};

/// Four user levels: one iteration between bootstrappings.
fn params() -> String {
    TINY_BOOT.replace("[40], [40]", "[40], [40], [40], [40]")
}

#[test]
fn helr_trains_and_is_what_was_planned() {
    let folder = Folder::new("helr");
    folder.write("boot.toml", &params());
    let helr =
        ["helr", "--preset", "boot.toml", "--iterations", "3", "--bootstrap-every", "1", "--batch", "16", "--json"];
    let plan = valid(&folder, "plan", &[&["plan"], &helr[..]].concat());
    assert_eq!((&plan["bootstrapping"]["content"], &plan["bootstrapping"]["slots"]), (&"complex".into(), &256.into()));
    let run = valid(&folder, "run", &[&["run"], &helr[..], &["--shadow"]].concat());
    assert!(run["shadow"].get("first").is_none(), "{run:#}");
    assert_eq!((&run["bootstraps"], &run["ciphertexts"]), (&2.into(), &4.into()));
    assert!(run["precision_bits"]["mean"].as_f64() > Some(12.0), "{run:#}");
    let accuracy = |which: &str| run["accuracy"][which].as_f64().unwrap();
    assert!((accuracy("encrypted") - accuracy("clear")).abs() < 0.005 && accuracy("clear") > 0.9, "{run:#}");
    valid(&folder, "time", &[&["time"], &helr[..], &["--machine", "ark"]].concat());
}

#[test]
fn lola_names_the_digits_that_its_twin_names() {
    let folder = Folder::new("lola");
    let lola = ["lola", "--keys", "seeded", "--strategy", "multi-hop", "--plaintexts", "full", "--json"];
    let plan = valid(&folder, "plan", &[&["plan"], &lola[..]].concat());
    assert_eq!(plan["levels_left"], 0);
    let run = valid(&folder, "run", &[&["run"], &lola[..]].concat());
    assert_eq!((run["same_label"].as_f64(), run.get("accuracy")), (Some(1.0), None));
    assert!(run["precision_bits"]["mean"].as_f64() > Some(10.0), "{run:#}");
    let predicted = plan["precision_bits"]["predicted"].as_f64().unwrap();
    // Twelve runs were 0.4 bits worse to 0.7 better than predicted: keys differ, and ten scores are a small sample.
    let better = run["precision_bits"]["mean"].as_f64().unwrap() - predicted;
    assert!((-2.0..2.5).contains(&better), "{run:#}");
}
