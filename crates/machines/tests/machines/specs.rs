//! Schema: what a specification may say, and what is said about one that is wrong.

use limbwise_machines::{MachineError, Spec, machine, names};

#[test]
fn built_in_machines_are_complete() {
    assert_eq!(names(), ["ark", "cpu"]);
    for name in names() {
        let spec = Spec::load(name).unwrap();
        assert_eq!((spec.name(), spec.model()), (name, name));
        assert_eq!(machine::open(&spec).unwrap().spec(), &spec);
        assert!(spec.assumed().iter().all(|a| a.reason.len() > 20), "every assumption of {name} has a reason");
    }
}

#[test]
fn every_number_of_ark_has_its_source_beside_it() {
    let text = include_str!("../../specs/ark.toml");
    let stated = text.split("\n[assumed]").next().unwrap();
    let numbers = stated.lines().filter(|l| l.contains(" = ") && !l.starts_with("name") && !l.starts_with("model"));
    assert!(numbers.clone().count() > 20);
    for line in numbers {
        assert!(line.contains("# [ARK]"), "no source: {line}");
    }
}

fn message(result: Result<Spec, MachineError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn wrong_keys_and_values_are_named() {
    let ark = Spec::load("ark").unwrap();
    let cases = [
        ("hbm.bandwith_gb_s", "1", "has no key \"hbm.bandwith_gb_s\"; did you mean \"hbm.bandwidth_gb_s\"?"),
        ("hbm", "1", "has no key \"hbm\""),
        ("", "1", "has no key \"\""),
        ("hbm.bandwidth_gb_s", "fast", "key \"hbm.bandwidth_gb_s\": a number is wanted, got \"fast\""),
        ("hbm.bandwidth_gb_s", "0", "a number from 10^-6 to 10^9 is wanted, got 0"),
        ("hbm.bandwidth_gb_s", "nan", "a number from 10^-6"),
        ("hbm.bandwidth_gb_s", "1\nx = 2", "a number is wanted"),
        ("chip.clusters", "4.5", "key \"chip.clusters\": an integer is wanted, got 4.5"),
        ("chip.clusters", "-4", "from 1 to 10^6"),
        ("chip.clusters", "9223372036854775807", "to 10^6"),
        ("assumed.streaming", "1", "key \"assumed.streaming\": true or false is wanted, got 1"),
        ("assumed.idle_share", "1.5", "a number from 0 to 1 is wanted, got 1.5"),
        ("model", "cpu", "a variant keeps its model"),
    ];
    for (key, value, wanted) in cases {
        let got = message(ark.with_overrides(&[(key, value)]));
        assert!(got.contains(wanted), "{key}={value}: \"{got}\" should say \"{wanted}\"");
    }
    let got = message(Spec::load("arc"));
    assert_eq!(
        got,
        "there is no machine \"arc\": choose one of ark, cpu, or give the path of a TOML file; did you mean \"ark\"?"
    );
    let policy = ark.with_overrides(&[("policy.distribution", "random")]).unwrap();
    assert!(machine::open(&policy).err().unwrap().to_string().contains("unknown variant `random`"));
    let full = ark.with_overrides(&[("assumed.prefetch_mb", "512")]).unwrap();
    assert!(machine::open(&full).err().unwrap().to_string().contains("less than scratchpad.capacity_mb = 512"));
}

#[test]
fn overrides_change_one_number() {
    let ark = Spec::load("ark").unwrap();
    let changed = ark.with_overrides(&[("hbm.bandwidth_gb_s", "2000"), ("assumed.core_mhz", "1500")]).unwrap();
    let differing: Vec<_> =
        ark.keys().into_iter().zip(changed.keys()).filter(|(a, b)| a != b).map(|(_, b)| b).collect();
    assert_eq!(differing[1], ("hbm.bandwidth_gb_s".into(), "2000.0".into()));
    assert_eq!(differing.len(), 2);
    let core = changed.assumed().into_iter().find(|a| a.key == "core_mhz").unwrap();
    assert_eq!((core.value, core.reason), (1500.0.into(), "chosen by the user".into()));
}

#[test]
fn the_ends_of_the_ranges_do_not_overflow() {
    let graph = crate::programs::rotations(2);
    for name in names() {
        let spec = Spec::load(name).unwrap();
        for (key, _) in spec.keys() {
            for extreme in ["0.000001", "1000000", "1e9", "0", "1"] {
                let changed = spec.with_overrides(&[(key.as_str(), extreme)]);
                if let Some(report) = changed.ok().and_then(|s| limbwise_machines::time(&graph, &s).ok()) {
                    assert!(report.seconds > 0.0 && report.seconds.is_finite(), "{name}: {key}={extreme}");
                }
            }
        }
    }
}

#[test]
fn variants_say_what_differs() {
    let variant = "name = \"wide\"\nmodel = \"ark\"\n[bconvu]\nmacs_per_lane = 12\n";
    let wide = Spec::from_toml(variant, "wide.toml").unwrap();
    assert_eq!((wide.name(), wide.model()), ("wide", "ark"));
    assert_ne!(wide, Spec::load("ark").unwrap());
    let cases = [
        ("model = 3", "a text \"model\" is wanted, one of ark, cpu"),
        ("model = \"arc\"", "did you mean \"ark\"?"),
        ("model = \"ark\"\n[bconvu]\nmacs = 12", "has no key \"bconvu.macs\"; did you mean \"bconvu.macs_per_lane\"?"),
        ("model = \"ark\"\n[assumed]\ncore_mhz = 2000", "a table of \"value\" and \"reason\" is wanted, got 2000"),
        (
            "model = \"ark\"\n[assumed]\ncore_mhz = { value = 2000, reason = \" \" }",
            "a table of \"value\" and \"reason\"",
        ),
        ("model = \"cpu\"\n[short]\ntransform_ns_per_limb = [1, 2]", "a list of 8 numbers is wanted, got [1, 2]"),
        ("model = ", "wide.toml: TOML parse error at line 1"),
    ];
    for (text, wanted) in cases {
        let got = message(Spec::from_toml(text, "wide.toml"));
        assert!(got.contains(wanted), "{text}: \"{got}\" should say \"{wanted}\"");
    }
}

#[test]
fn the_documented_variant_is_read() {
    let page = include_str!("../../../../docs/machine-specs.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(Spec::from_toml(example, "page").unwrap().name(), "ark-wide");
}

#[test]
fn flipped_files_never_panic() {
    let graph = crate::programs::rotations(1);
    for text in [include_str!("../../specs/ark.toml"), include_str!("../../specs/cpu.toml")] {
        for at in 0..text.len() {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] ^= [1, 2, 4, 8, 16][at % 5];
            let flipped = String::from_utf8_lossy(&bytes);
            if let Ok(spec) = Spec::from_toml(&flipped, "flipped") {
                let _ = limbwise_machines::time(&graph, &spec);
            }
        }
    }
}
