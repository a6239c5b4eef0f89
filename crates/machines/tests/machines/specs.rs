//! Schema: what a specification may say, and what is said about one that is wrong.

use limbwise_machines::{MachineError, Spec, machine, names};
use limbwise_math::prime_class::PrimeClass;

/// The file itself.
fn text_of(name: &str) -> String {
    let read = |folder| std::fs::read_to_string(format!("{}/{folder}/{name}.toml", env!("CARGO_MANIFEST_DIR")));
    read("specs").or_else(|_| read("zoo")).unwrap()
}

/// A machine of each model, and one for TFHE: files of the zoo are all read alike.
fn models() -> impl Iterator<Item = &'static str> {
    let of_zoo =
        |name: &str| Spec::load(name).unwrap().model() == "composed" && !["ark", "fab", "strix"].contains(&name);
    names().into_iter().filter(move |name| !of_zoo(name))
}

#[test]
fn built_in_machines_are_complete() {
    for name in names() {
        let spec = Spec::load(name).unwrap();
        assert_eq!((spec.name(), spec.built_in()), (name, name));
        assert_eq!(machine::open(&spec).unwrap().spec(), &spec);
        assert!(spec.assumed().iter().all(|a| a.reason.len() > 20), "every assumption of {name} has a reason");
    }
}

/// A specification that no line lists would be found by nobody.
#[test]
fn every_specification_is_listed() {
    let files = ["specs", "zoo"]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap());
    let stem = |file: std::io::Result<std::fs::DirEntry>| file.unwrap().path().file_stem().unwrap().to_owned();
    let mut stems: Vec<_> = files.map(stem).filter(|stem| stem != "upmem_slots").collect(); // a table of the model
    let mut listed: Vec<_> = names().into_iter().map(std::ffi::OsString::from).collect();
    stems.sort();
    listed.sort();
    assert_eq!(stems, listed);
}

/// A machine whose devices tell primes by class says the same bounds as they do.
#[test]
fn specifications_bound_the_classes_of_primes() {
    let mut bounds = 0;
    for field in names().into_iter().flat_map(|name| Spec::load(name).unwrap().fields()) {
        let class = match field.path.rsplit('.').next() {
            Some("narrow_bits") => PrimeClass::Narrow,
            Some("short_bits") => PrimeClass::Short,
            _ => continue,
        };
        assert_eq!(field.value, class.max_bits(), "{}", field.path);
        bounds += 1;
    }
    assert_eq!(bounds, 3, "cpu has one, cuda two");
}

/// A file of the zoo is short, and says of every number where it is from.
#[test]
fn files_of_the_zoo_are_short_and_sourced() {
    for name in
        ["bts", "cinnamon", "craterlake", "f1", "gpu", "heracles", "matcha", "morphling", "poseidon", "sharp", "strix"]
    {
        let text = text_of(name);
        assert!(text.lines().count() <= 80, "{name}");
        let said = ["name = ", "model = ", "about = "];
        for line in text.lines().filter(|l| l.contains(" = ") && !said.iter().any(|said| l.starts_with(said))) {
            assert!(line.contains("# [") || line.contains("reason = "), "{name}: no source: {line}");
        }
    }
}

#[test]
fn every_number_of_a_paper_has_its_source_beside_it() {
    for (text, source, least) in [
        (include_str!("../../specs/ark.toml"), "# [ARK]", 20),
        (include_str!("../../specs/fab.toml"), "# [FAB]", 9),
        (include_str!("../../specs/upmem.toml"), "# [DRA]", 30),
    ] {
        let stated = text.split("\n[assumed]").next().unwrap();
        let numbers = stated.lines().filter(|l| l.contains(" = ") && !l.contains(" = \"") && !l.contains("= ["));
        assert!(numbers.clone().count() >= least);
        for line in numbers {
            assert!(line.contains(source), "no source: {line}");
        }
    }
}

fn message(result: Result<Spec, MachineError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn no_field_of_any_machine_takes_what_is_no_number() {
    for name in names() {
        let spec = Spec::load(name).unwrap();
        for field in spec.fields() {
            let numbers = field.value.as_array().map_or(1, Vec::len);
            if !field.value.is_number() && !field.value.is_array() {
                continue;
            }
            for x in ["nan", "inf", "-inf", "1e300"] {
                let value =
                    if field.value.is_array() { format!("[{}]", vec![x; numbers].join(", ")) } else { x.into() };
                let taken = spec.with_overrides(&[(&field.path, &value)]);
                assert!(taken.is_err(), "{name}: {} = {value} was taken", field.path);
            }
        }
    }
}

#[test]
fn wrong_keys_and_values_are_named() {
    let ark = Spec::load("ark").unwrap();
    let cases = [
        ("hbm.bandwith_gb_s", "1", "has no field \"hbm.bandwith_gb_s\"; did you mean \"memory.hbm.bandwidth_gb_s\"?"),
        ("hbm", "1", "has no field \"hbm\""),
        ("", "1", "has no field \"\""),
        ("memory.hbm.bandwidth_gb_s", "fast", "field \"memory.hbm.bandwidth_gb_s\": a number is wanted, got \"fast\""),
        ("memory.hbm.bandwidth_gb_s", "0", "a number from 10^-6 to 10^9 is wanted, got 0"),
        ("memory.hbm.bandwidth_gb_s", "nan", "a number from 10^-6"),
        ("memory.hbm.bandwidth_gb_s", "1\nx = 2", "a number is wanted"),
        ("chip.clusters", "4.5", "field \"chip.clusters\": an integer is wanted, got 4.5"),
        ("chip.clusters", "-4", "from 1 to 10^6"),
        ("chip.clusters", "9223372036854775807", "to 10^6"),
        ("policy.streaming", "1", "field \"policy.streaming\": true or false is wanted, got 1"),
        ("policy.idle_share", "1.5", "a number from 0 to 1 is wanted, got 1.5"),
        (
            "distribution",
            "limbwise",
            "one of alternating, limb-wise, broadcast, coefficient-wise is wanted, got \"limbwise\"; did you mean \"limb-wise\"?",
        ),
        ("policy.distribution", "3", "one of alternating, limb-wise, broadcast, coefficient-wise is wanted, got \"3\""),
        ("clusers", "2", "no field \"clusers\"; did you mean \"clusters\"?"),
        ("name", "other", "no field \"name\""),
    ];
    for (key, value, wanted) in cases {
        let got = message(ark.with_overrides(&[(key, value)]));
        assert!(got.contains(wanted), "{key}={value}: \"{got}\" should say \"{wanted}\"");
    }
    let got = message(Spec::load("arc"));
    assert_eq!(
        got,
        "there is no machine \"arc\": choose one of ark, cluster, counts, cpu, cuda, fab, fhex, fhex-in-bank, flexmem, f1-scaled, upmem, bts, cinnamon, craterlake, f1, gpu, heracles, matcha, morphling, poseidon, sharp, strix, or give the path of a TOML file; did you mean \"ark\"?"
    );
    let full = ark.with_overrides(&[("policy.prefetch_mb", "512")]).unwrap();
    assert!(machine::open(&full).err().unwrap().to_string().contains("less than memory.scratchpad.capacity_mb = 512"));
}

#[test]
fn overrides_change_one_number() {
    let ark = Spec::load("ark").unwrap();
    let changed = ark.with_overrides(&[("memory.hbm.bandwidth_gb_s", "2000"), ("chip.clock_mhz", "1500")]).unwrap();
    let differing: Vec<_> = ark
        .fields()
        .into_iter()
        .zip(changed.fields())
        .filter(|(a, b)| a != b)
        .map(|(_, b)| (b.path, b.value))
        .collect();
    assert_eq!(differing[1], ("memory.hbm.bandwidth_gb_s".into(), 2000.0.into()));
    assert_eq!(differing.len(), 2);
    let core = changed.assumed().into_iter().find(|a| a.key == "chip.clock_mhz").unwrap();
    assert_eq!((core.value, core.reason), (1500.0.into(), "chosen by the user".into()));
}

#[test]
fn the_ends_of_the_ranges_do_not_overflow() {
    let graph = crate::programs::rotations(2);
    for name in models() {
        let spec = Spec::load(name).unwrap();
        for field in spec.fields() {
            let key = &field.path;
            for extreme in ["0.000001", "1000000", "1e9", "0", "1"] {
                let changed = spec.with_overrides(&[(key.as_str(), extreme)]);
                if let Some(report) = changed.ok().and_then(|s| limbwise_machines::time(&graph, &s).ok()) {
                    let in_time = report.seconds > 0.0 && report.seconds.is_finite();
                    assert!(in_time || spec.model() == "counts", "{name}: {key}={extreme}");
                }
            }
        }
    }
}

#[test]
fn variants_say_what_differs() {
    let variant = "name = \"wide\"\nextends = \"ark\"\n[unit.bconvu]\ntargets_at_once = 12\n";
    let wide = Spec::from_toml(variant, "wide.toml").unwrap();
    assert_eq!((wide.name(), wide.model()), ("wide", "composed"));
    assert_ne!(wide, Spec::load("ark").unwrap());
    let cases = [
        ("model = \"ark\"", "wide.toml, field \"extends\": wanted extends = \"NAME\", one of ark, cluster, counts,"),
        ("extends = \"ark\"\nmodel = \"cpu\"", "no field \"model\""),
        ("extends = \"ark\"\nname = 3", "field \"name\": a text is wanted, got 3"),
        ("extends = \"ark\"\n[short_names]\nx = \"chip.clusters\"", "no field \"short_names.x\""),
        ("extends = \"arc\"", "did you mean \"ark\"?"),
        (
            "extends = \"ark\"\n[unit.bconvu]\ntargets_at = 12",
            "has no field \"unit.bconvu.targets_at\"; did you mean \"unit.bconvu.targets_at_once\"?",
        ),
        ("extends = \"fhex\"\n[assumed]\nwhole_streams = 3", "a table of \"value\" and \"reason\" is wanted, got 3"),
        (
            "extends = \"ark\"\n[chip]\nclock_mhz = { value = 2000, reason = \" \" }",
            "a table of \"value\" and \"reason\"",
        ),
        ("extends = \"cpu\"\n[short]\ntransform_ns_per_limb = [1, 2]", "a list of 8 numbers is wanted, got [1, 2]"),
        ("extends = ", "wide.toml: TOML parse error at line 1"),
    ];
    for (text, wanted) in cases {
        let got = message(Spec::from_toml(text, "wide.toml"));
        assert!(got.contains(wanted), "{text}: \"{got}\" should say \"{wanted}\"");
    }
}

/// `--set` with a short name is `--set` with the path; the four names of the contract are there.
#[test]
fn short_names_stand_for_paths() {
    let ark = Spec::load("ark").unwrap();
    for (short, path, value) in [
        ("clusters", "chip.clusters", "8"),
        ("hbm_gb_s", "memory.hbm.bandwidth_gb_s", "2000"),
        ("distribution", "policy.distribution", "limb-wise"),
        ("bconv_macs_per_lane", "unit.bconvu.targets_at_once", "3"),
    ] {
        let changed = ark.with_overrides(&[(short, value)]).unwrap();
        assert_eq!(changed, ark.with_overrides(&[(path, value)]).unwrap());
        assert!(changed != ark && changed.has(short) && changed.has(path));
        let field = changed.fields().into_iter().find(|f| f.path == path).unwrap();
        assert_eq!((field.short_name.as_deref(), field.source.as_str()), (Some(short), "chosen by the user"));
    }
    for name in names() {
        let spec = Spec::load(name).unwrap();
        let table: toml::Table = toml::from_str(&text_of(name)).unwrap();
        let named = table.get("short_names").and_then(toml::Value::as_table).into_iter().flatten();
        let each = |(short, paths): (_, &toml::Value)| {
            let paths = paths.as_array().map_or(std::slice::from_ref(paths), Vec::as_slice).to_vec();
            paths.into_iter().map(move |path| (short, path))
        };
        for (short, path) in named.flat_map(each) {
            let path = path.as_str().unwrap();
            assert!(spec.fields().iter().any(|f| f.path == path && f.short_name.as_deref() == Some(short)), "{short}");
        }
    }
}

/// Every choice that a file names is one that its model takes.
#[test]
fn choices_are_taken_by_the_models() {
    for name in names() {
        let spec = Spec::load(name).unwrap();
        for field in spec.fields() {
            // What a memory is and what it feeds must go with the other memories.
            if field.path.starts_with("memory.") && (field.path.ends_with(".feeds") || field.path.ends_with(".kind")) {
                continue;
            }
            assert!(!field.value.is_string() || !field.choices.is_empty(), "{} has no choices", field.path);
            for choice in field.choices.iter().filter(|_| field.value.is_string()) {
                let chosen = spec.with_overrides(&[(field.path.as_str(), choice.as_str())]).unwrap();
                assert!(machine::open(&chosen).is_ok(), "{}={choice}", field.path);
            }
        }
    }
}

#[test]
fn fields_are_explained_by_what_stands_beside_them() {
    let fields = Spec::load("ark").unwrap().fields();
    let field = |path: &str| fields.iter().find(|f| f.path == path).unwrap();
    let clusters = field("chip.clusters");
    assert_eq!((clusters.value_text().as_str(), clusters.unit), ("4", ""));
    assert!(clusters.source.starts_with("[ARK]") && !clusters.assumed);
    assert_eq!((field("memory.hbm.bandwidth_gb_s").unit, field("network.noc.power_w").unit), ("GB/s", "W"));
    let core = field("chip.clock_mhz");
    assert!(core.assumed && core.source.starts_with("the clock is not published") && core.unit == "MHz");
    assert_eq!(field("policy.distribution").choices, ["alternating", "limb-wise", "broadcast", "coefficient-wise"]);
    assert!(fields.iter().all(|f| !f.source.is_empty()));
    let variant = "extends = \"ark\"\n[chip]\nclusters = 8 # twice\nword_bits = 32\n";
    let fields = Spec::from_toml(variant, "a/wide.toml").unwrap().fields();
    let source = |path: &str| fields.iter().find(|f| f.path == path).unwrap().source.clone();
    assert_eq!((source("chip.clusters").as_str(), source("chip.word_bits").as_str()), ("twice", "a/wide.toml"));
    assert!(source("unit.nttu.words_per_cycle").starts_with("[ARK]"));
}

#[test]
fn variants_extend_variants_but_not_themselves() {
    let folder = std::env::temp_dir().join(format!("limbwise-specs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        folder.join(name).display().to_string()
    };
    write("wide.toml", "extends = \"ark\"\n[chip]\nclusters = 8\n");
    let both = write("both.toml", "extends = \"wide.toml\"\nname = \"both\"\n[unit.bconvu]\ntargets_at_once = 12\n");
    let spec = Spec::load(&both).unwrap();
    assert_eq!((spec.name(), spec.model()), ("both", "composed"));
    let by_hand =
        Spec::load("ark").unwrap().with_overrides(&[("clusters", "8"), ("bconv_macs_per_lane", "12")]).unwrap();
    let values = |spec: &Spec| spec.fields().into_iter().map(|f| f.value).collect::<Vec<_>>();
    assert_eq!(values(&spec), values(&by_hand));
    let ring = write("a.toml", "extends = \"b.toml\"");
    write("b.toml", "extends = \"a.toml\"");
    assert!(message(Spec::load(&ring)).contains("does not extend this one again"));
    assert!(message(Spec::load(&write("c.toml", "extends = \"absent.toml\""))).contains("absent.toml"));
    std::fs::remove_dir_all(&folder).unwrap();
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
    for name in models() {
        let text = text_of(name);
        // What a variant of everything would say.
        let fields = text.split("\n[").filter(|part| !part.contains("short_names]") && !part.contains("choices]"));
        let text = format!("extends = \"{name}\"\n[{}", fields.skip(1).collect::<Vec<_>>().join("\n["));
        let values = |spec: &Spec| spec.fields().into_iter().map(|f| f.value).collect::<Vec<_>>();
        let whole = values(&Spec::from_toml(&text, "whole").unwrap());
        let text_length = text.len();
        let flip = |at: usize| {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] ^= [1, 2, 4, 8, 16][at % 5];
            let flipped = String::from_utf8_lossy(&bytes);
            // A flip in a comment changes nothing that is timed.
            if let Some(spec) = Spec::from_toml(&flipped, "flipped").ok().filter(|spec| values(spec) != whole) {
                let _ = limbwise_machines::time(&graph, &spec);
            }
        };
        // The fuzzer reads more of them; every seventh byte meets most fields, and each bit in turn.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for first in 0..threads {
                let flip = &flip;
                scope.spawn(move || (7 * first..text_length).step_by(7 * threads).for_each(flip));
            }
        });
    }
}
