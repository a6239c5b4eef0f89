//! Where an evaluation's seconds go.

use crate::{
    common::{Folder, TINY_BOOT},
    contract::valid,
};
use serde_json::Value;

/// The regions of programs of each scheme nest: what is within a region takes no longer than it, and none longer than the
/// evaluation. Composites that the CPU runs whole are among them.
#[test]
fn regions_are_timed_beside_their_predictions() {
    let folder = Folder::new("profile");
    folder.write("boot.toml", TINY_BOOT);
    let runs: [(&[&str], &str); 3] = [
        (&["bootstrap", "--preset", "boot.toml"], "bootstrap/eval_mod"),
        (&["bgv-mul"], "multiply/tensor"),
        (&["pbs", "--batch", "2"], "blind_rotate"),
    ];
    for (workload, region) in runs {
        let run = valid(&folder, "run", &[&["run"], workload, &["--profile", "--json"]].concat());
        let profile = run["profile"].as_array().unwrap();
        let path = |row: &Value| row["path"].as_str().unwrap().to_owned();
        let seconds = |row: &Value| row["seconds"].as_f64().unwrap();
        assert!(profile.iter().any(|row| path(row).contains(region)), "{profile:#?}");
        assert!(profile.iter().any(|row| row["seconds_predicted"].as_f64() > Some(0.0)), "{profile:#?}");
        for outer in profile {
            let inner = |row: &&Value| {
                path(row)
                    .strip_prefix(&path(outer))
                    .is_some_and(|rest| rest.starts_with('/') && !rest[1..].contains('/'))
            };
            let within: f64 = profile.iter().filter(inner).map(seconds).sum();
            assert!(within <= 1.000_001 * seconds(outer), "{} in {outer:#}", within);
            assert!(seconds(outer) <= run["seconds"].as_f64().unwrap(), "{outer:#}");
        }
    }
}

#[test]
fn what_has_no_times_is_refused_before_any_work() {
    let folder = Folder::new("unprofiled");
    for (device, more, why) in [
        (&["--device", "upmem"][..], &[][..], "this one runs on upmem"),
        (&[], &["--shadow"], "everything twice"),
        (&[], &["--on", "ray"], "no profile"),
    ] {
        let output = folder.run(
            &[&["run", "linear", "--rows", "4", "--cols", "4", "--op", "matvec", "--profile"], device, more].concat(),
        );
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && text.contains(why), "{text}");
    }
}
