//! The workloads `helr`, `lola` and `mlp` through every verb, on rings as small as they allow.

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
    let [bits, predicted] = ["mean", "predicted"].map(|of| run["precision_bits"][of].as_f64().unwrap());
    assert!(bits > 12.0 && (bits - predicted).abs() < 3.0, "{run:#}");
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

/// Three images of a text file go through both sides; the server has one key, and other pixels than 0 to 1 are refused.
#[test]
fn mlp_takes_rows_of_pixels_and_no_rotation_key() {
    let folder = Folder::new("mlp");
    let pixel = |image: usize, i: usize| ((image * 37 + i * 11) % 101) as f64 / 100.0;
    let line = |image| (0..784).map(|i| format!("{:.6}", pixel(image, i))).collect::<Vec<_>>().join(" ");
    folder.write("pixels.txt", &(0..3).map(|image| line(image) + "\n").collect::<String>());
    folder.write("bytes.txt", &(line(0).replace("0.110000", "28.0") + "\n").repeat(3));
    let mlp = ["mlp", "--images", "3", "--data", "pixels.txt", "--json"];
    let plan = valid(&folder, "plan", &[&["plan"], &mlp[..]].concat());
    assert_eq!(
        (plan["preset"].as_str(), plan["security"]["bits"].as_u64()),
        (Some("n12-l2-s27"), Some(128)),
        "{plan:#}"
    );
    let run = valid(&folder, "run", &[&["run"], &mlp[..], &["--shadow"]].concat());
    assert!(run["shadow"].get("first").is_none(), "{run:#}");
    assert_eq!(run["same_label"].as_f64(), Some(1.0), "{run:#}");
    let refused = folder.run(&["run", "mlp", "--images", "3", "--data", "bytes.txt"]);
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && text.contains("is 28: wanted a number from 0 to 1"), "{text}");
    valid(&folder, "keygen", &[&["keygen"], &mlp[..], &["--client", "mine", "--server", "theirs"]].concat());
    valid(&folder, "encrypt", &["encrypt", "--client", "mine", "--out", "in", "--json"]);
    valid(&folder, "eval", &["eval", "--server", "theirs", "--in", "in", "--out", "results", "--json"]);
    let scores = ["decrypt", "--client", "mine", "--in", "results", "--out", "scores.csv", "--compare", "--json"];
    let told = valid(&folder, "decrypt", &scores);
    assert!(told.to_string().contains("same_label"), "{told:#}");
    let rows = std::fs::read_to_string(folder.path().join("scores.csv")).unwrap();
    assert!(rows.lines().count() == 3 && rows.lines().all(|row| row.split(',').count() == 10), "{rows}");
}
