//! Machines as data: what a file may say, and that each number has its effect.

use crate::programs;
use limbwise_machines::{Schedule, Spec, check::check, machine, new_machine, time};

/// A machine of two kinds of units and one memory.
pub(crate) const SMALL: &str = include_str!("small.toml");

fn of(text: &str) -> Spec {
    Spec::from_toml(text, "mine.toml").unwrap()
}

fn on(spec: &Spec, rotations: u32) -> Schedule {
    let graph = programs::rotations(rotations);
    let machine = machine::open(spec).unwrap();
    let graph = machine.prepare(&graph);
    let schedule = machine.schedule(&graph).unwrap();
    assert_eq!(check(&graph, &*machine, &schedule), Ok(()));
    schedule
}

#[test]
fn a_small_machine_takes_few_lines() {
    assert!(SMALL.lines().count() <= 25);
    let spec = of(SMALL);
    assert_eq!((spec.name(), spec.model()), ("mine", "composed"));
    // By hand: one rotation has 180 limbs to transform, each 2^16 words at 256 a cycle.
    let run = on(&spec, 1);
    let at = run.program.units.iter().position(|u| *u == "ntt").unwrap();
    // A limb passes in 256 cycles, but in and out at 1000 bytes a cycle it takes 1048.6.
    assert!(run.busy()[at] >= 180 * 2 * (8 << 16) / 1000 && run.busy()[at] < 180 * 1200, "{}", run.busy()[at]);
    assert!(run.drawn_bytes()[0] > 180 * 2 * (8 << 16));
    // What the file leaves out is assumed, and said.
    let assumed: Vec<String> = spec.assumed().into_iter().map(|a| a.key).collect();
    assert!(assumed.contains(&"policy.order".to_owned()) && assumed.contains(&"policy.phases".to_owned()));
}

/// Few bandwidths are whole bytes a cycle, and many are less than one.
#[test]
fn no_byte_passes_faster_than_a_memory_gives_it() {
    let graph = programs::rotations(1);
    let moved = |changes: &[(&str, &str)]| {
        let report = time(&graph, &of(SMALL).with_overrides(changes).unwrap()).unwrap();
        (report.seconds, report.bytes["hbm"].values().sum::<u64>())
    };
    let (_, bytes) = moved(&[]);
    assert_eq!(bytes % 8, 0, "words are eight bytes");
    for gb_s in ["123.4", "10.5", "1.01", "0.3", "0.000007"] {
        let (seconds, through) = moved(&[("memory.hbm.bandwidth_gb_s", gb_s)]);
        let least = bytes as f64 / (gb_s.parse::<f64>().unwrap() * 1e9);
        assert!(seconds >= least * 0.9999 && seconds < least * 1.01, "{gb_s} GB/s: {seconds} s, at least {least}");
        assert_eq!(through, bytes, "{gb_s} GB/s");
    }
    // Slow units draw less than a byte a cycle: not more bytes, and beside each other.
    let slow = [("unit.ntt.words_per_cycle", "0.01"), ("unit.rest.words_per_cycle", "0.01")];
    assert_eq!(moved(&slow).1, bytes);
}

#[test]
fn numbers_of_a_file_have_the_effect_they_name() {
    let spec = of(&new_machine("mine"));
    let ticks = |changes: &[(&str, &str)]| on(&spec.with_overrides(changes).unwrap(), 4).ticks();
    let base = ticks(&[]);
    assert!(ticks(&[("memory.hbm.latency_ns", "0")]) < base);
    for (path, more) in [
        ("unit.transforms.words_per_cycle", "1024"),
        ("unit.conversions.targets_at_once", "24"),
        ("unit.rest.count", "8"),
        ("memory.hbm.bandwidth_gb_s", "4000"),
        ("memory.scratchpad.bandwidth_gb_s_per_cluster", "20000"),
        ("network.exchange.bandwidth_gb_s_per_cluster", "8000"),
        ("policy.streaming", "true"),
        ("chip.clock_mhz", "1000"),
    ] {
        assert!(ticks(&[(path, more)]) <= base + base / 100, "{path}={more}");
    }
    assert!(ticks(&[("unit.transforms.words_per_cycle", "16")]) > base);
    assert!(ticks(&[("unit.transforms.transforms", "butterflies")]) > base);
    assert!(
        ticks(&[("network.exchange.topology", "ring"), ("network.exchange.bandwidth_gb_s_per_cluster", "20")]) > base
    );
    assert!(
        ticks(&[("policy.distribution", "coefficient-wise"), ("network.exchange.bandwidth_gb_s_per_cluster", "20")])
            > base
    );
    // Half of a key's bytes are grown on the chip.
    let bytes = |changes: &[(&str, &str)]| on(&spec.with_overrides(changes).unwrap(), 1).program.off_chip_bytes["evaluation_key"];
    assert_eq!(bytes(&[]), 240 * (8 << 16));
    let report = time(&programs::rotations(1), &spec).unwrap();
    assert!(report.notes.iter().any(|note| note.contains("from and to the host")));
    assert!(report.energy.is_none(), "the file has no powers");
    let powers = [("unit.rest.power_w", "10"), ("unit.rest.area_mm2", "3"), ("policy.idle_share", "0.5")];
    let energy = time(&programs::rotations(1), &spec.with_overrides(&powers).unwrap()).unwrap().energy.unwrap();
    assert!(energy.power_w > 5.0 && energy.power_w < 10.0 && energy.area_mm2 == Some(3.0));
}

/// By hand: one rotation converts four digits of six limbs and twice six special limbs. Each source passes to the three other
/// clusters, over links of 2000 bytes a cycle a cluster; nothing comes back and no sum crosses.
#[test]
fn a_broadcast_sends_sources_alone() {
    let spec = of(&new_machine("mine"));
    let run = |distribution: &str| {
        let changed = spec.with_overrides(&[("policy.distribution", distribution), ("unit.conversions.count", "64")]);
        let schedule = on(&changed.unwrap(), 1);
        let at = schedule.program.units.iter().position(|unit| *unit == "exchange").unwrap();
        (schedule.busy()[at], schedule.ticks())
    };
    let limbs: u64 = 4 * 6 + 2 * 6;
    let (busy, _) = run("broadcast");
    assert_eq!(busy, 6 * (limbs / 6 * (8 << 16) * 3).div_ceil(4 * 2000));
    assert!(busy < run("alternating").0 && busy < run("limb-wise").0);
}

/// What the refusal of wide primes advises is taken by a file that gives nothing a short name.
#[test]
fn advice_holds_for_every_file() {
    let narrow = of(&SMALL.replace("word_bits = 64", "word_bits = 32"));
    let refused = time(&programs::rotations(1), &narrow).unwrap_err().to_string();
    assert!(refused.contains("--set words=split"), "{refused}");
    assert!(time(&programs::rotations(1), &narrow.with_overrides(&[("words", "split")]).unwrap()).is_ok());
    for name in ["strix", "gpu", "sharp", "fab"] {
        assert!(Spec::load(name).unwrap().with_overrides(&[("words", "split")]).is_ok(), "{name}");
    }
}

/// A machine with boards has no unit for TFHE.
#[test]
fn boards_are_for_polynomials() {
    let text = SMALL.replace("\"automorphism\"", "\"rotate\"").replace("word_bits = 64", "word_bits = 64\nboards = 2");
    let refused = Spec::from_toml(&text, "mine.toml").and_then(|spec| machine::open(&spec).map(drop)).unwrap_err();
    assert!(refused.to_string().contains("field \"chip.boards\": 1 where a unit is for TFHE is wanted, got 2"));
}

/// The file that is written to be edited says what it is, and every commented line of it is a field.
#[test]
fn the_new_file_is_complete() {
    let text = new_machine("mine");
    assert!(of(&text).about().len() > 10 && !text.contains("NAME\""));
    let optional: String = text
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|l| l.contains(" = ") && !l.contains("{")).unwrap_or(line))
        .map(|line| format!("{line}\n"))
        .collect();
    let spec = Spec::from_toml(&optional, "mine.toml");
    assert!(spec.is_ok(), "{spec:?}\n{optional}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_is_wrong_in_a_file_is_named() {
    let cases = [
        (
            "words_per_cycle = 256",
            "",
            "field \"unit.ntt.words_per_cycle\": its throughput, a number is wanted, got nothing",
        ),
        ("clock_mhz = 1000", "", "field \"chip.clock_mhz\": the clock: a number is wanted, got nothing"),
        ("word_bits = 64", "word_bits = 65", "field \"chip.word_bits\": an integer from 8 to 64 is wanted, got 65"),
        ("does = [\"ntt\", \"intt\"]", "does = []", "field \"unit.ntt.does\": a list of names is wanted"),
        ("\"intt\"]", "\"intd\"]", "got \"intd\"; did you mean \"intt\"?"),
        ("\"intt\"]", "\"intt\", \"add\"]", "field \"unit.rest.does\": \"add\" in one unit"),
        (
            "feeds = \"units\"",
            "",
            "field \"memory.hbm.feeds\": \"units\" or the name of a memory is wanted, got nothing: no one reads this memory",
        ),
        ("feeds = \"units\"", "feeds = \"unit\"", "got \"unit\"; did you mean \"units\"?"),
        ("feeds = \"units\"", "feeds = \"hbm\"", "a memory on the chip, or units is wanted, got hbm"),
        ("bandwidth_gb_s = 1000", "", "got nothing"),
        ("bandwidth_gb_s = 1000", "bandwidth_gb_s = 1000\nports = 2", "ports with port_words_per_cycle is wanted"),
        (
            "bandwidth_gb_s = 1000",
            "bandwidth_gbs = 1000",
            "no field \"memory.hbm.bandwidth_gbs\"; did you mean \"memory.hbm.bandwidth_gb_s\"?",
        ),
        (
            "[unit.ntt]",
            "[unit.\"a b\"]",
            "field \"unit.a b.does\": a name of 1 to 40 letters, digits, \"-\" and \"_\" is wanted, got \"a b\"",
        ),
        ("clock_mhz = 1000", "clock_mhz = 1000\nclock_mhy = 1", "did you mean \"chip.clock_mhz\"?"),
        (
            "word_bits = 64",
            "word_bits = 64\nclusters = 4",
            "field \"network\": a section [network.NAME] that joins the clusters is wanted, got 4 clusters and none",
        ),
        (
            "word_bits = 64",
            "word_bits = 64\nboards = 2",
            "field \"network\": a section [network.NAME] with carries = [\"boards\"] is wanted, got 2 boards and none",
        ),
        ("model = \"composed\"", "model = \"composd\"", "field \"extends\""),
        (
            "clock_mhz = 1000",
            "clock_mhz = { value = 1000, reason = \"\" }",
            "a table of \"value\" and \"reason\" is wanted, got { reason = \"\", value = 1000 }",
        ),
        (
            "word_bits = 64",
            "word_bits = 64\nclusters = { value = 8 }",
            "field \"chip.clusters\": a \"reason\" beside the \"value\" is wanted, got none",
        ),
        (
            "model = \"composed\"",
            "model = \"composed\"\nname = \"\"",
            "field \"name\": a name of one line of at most 200 letters is wanted, got \"\"",
        ),
        ("model = \"composed\"", "model = \"composed\"\nname = \"a\\nb\"", "field \"name\": a name of one line"),
        ("clock_mhz = 1000", "clock_mhz = inf", "field \"chip.clock_mhz\""),
        ("clock_mhz = 1000", "clock_mhz 1000", "TOML parse error at line 3"),
        ("[memory.hbm]", "[memory.ntt]", "one unit, memory or network of a name is wanted, got two"),
        ("kind = \"off-chip\"", "kind = \"tape\"", "one of registers, scratchpad, cache, off-chip is wanted"),
    ];
    for (from, to, wanted) in cases {
        assert!(SMALL.contains(from), "{from}");
        let opened =
            Spec::from_toml(&SMALL.replacen(from, to, 1), "mine.toml").and_then(|spec| machine::open(&spec).map(drop));
        let got = opened.expect_err(to).to_string();
        assert!(got.contains(wanted), "{to}: \"{got}\" should say \"{wanted}\"");
    }
}

/// A field is compared with all others, so a file of very many would be read for minutes, and one long name with every
/// field's for as long.
#[test]
fn files_that_are_too_much_are_refused_before_they_are_read() {
    let refused = |text: &str| Spec::from_toml(text, "mine.toml").map(drop).unwrap_err().to_string();
    let unit = |number: usize| format!("[unit.u{number}]\ndoes = [\"ntt\"]\nwords_per_cycle = 1\n");
    let many = refused(&format!("{SMALL}{}", (0..20_000).map(unit).collect::<String>()));
    assert!(many.contains("a machine has at most 2000 fields, got 40"), "{many}");
    let long = refused(&SMALL.replacen("model =", &format!("name = \"{}\"\nmodel =", "m".repeat(400_000)), 1));
    assert!(long.contains("at most 200 letters is wanted, got 400000 letters"), "{}", &long[..200.min(long.len())]);
}

/// A field that a file leaves out can be given, where the part is there that it is a field of.
#[test]
fn fields_that_a_file_leaves_out_can_be_given() {
    let small = of(SMALL);
    for path in ["unit.ntt.count", "unit.ntt.words_per_cycle", "clusters", "host.bandwidth_gb_s", "chip.word_bits"] {
        assert!(small.takes(path), "{path}");
    }
    for path in ["unit.fft.count", "unit.ntt.counts", "network.noc.fill_cycles", "unit.nt.count", "chip", ""] {
        assert!(!small.takes(path), "{path}");
    }
    let ark = Spec::load("ark").unwrap();
    assert!(!ark.has("unit.nttu.count") && ark.takes("unit.nttu.count"));
    assert!(!Spec::load("cpu").unwrap().takes("unit.nttu.count"));
    let seconds = |spec: &Spec| time(&programs::rotations(1), spec).unwrap().seconds;
    assert!(seconds(&ark.with_overrides(&[("unit.nttu.count", "4")]).unwrap()) < seconds(&ark));
}

#[test]
fn what_does_not_go_together_is_named() {
    // A loop beside a way that is whole, two memories on one reader, and one beyond what is off the chip.
    let more = |text: &str| {
        let spec = Spec::from_toml(&format!("{SMALL}{text}"), "mine.toml").unwrap();
        machine::open(&spec).map(drop).unwrap_err().to_string()
    };
    let memory =
        |name: &str, feeds: &str| format!("[memory.{name}]\nkind = \"cache\"\nfeeds = \"{feeds}\"\ncapacity_mb = 1\n");
    assert!(more(&(memory("a", "b") + &memory("b", "a"))).contains("a cycle of memories"));
    assert!(more(&memory("a", "units")).contains("feeds already"));
    assert!(more(&memory("a", "hbm")).contains("a memory on the chip, or units is wanted"));
    // A program that asks for what no unit does.
    let without = of(&SMALL.replace("\"automorphism\"", "\"rotate\""));
    let refused = time(&programs::rotations(1), &without).unwrap_err().to_string();
    assert!(
        refused.contains("has no unit for automorphism")
            && refused.contains("no unit of its file does \"automorphism\"; name it among what a unit \"does\""),
        "{refused}"
    );
}
