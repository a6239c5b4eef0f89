//! Memories of composed machines: more of them never slows a program, and what a report says of them is what passed.

use crate::{composed::SMALL, counts, programs};
use limbwise_device::{Device, KeyId, Role};
use limbwise_graph::Graph;
use limbwise_machines::{MachineError, Report, Spec, check::check, machine, names, report::Bound, time};

const HBM: &str = "memory.hbm.bandwidth_gb_s";

/// Rotations by as many keys: more bytes come than are computed with.
fn many_keys(count: u32) -> Graph {
    let (dev, ring) = programs::open(16, 30);
    let mut ct = [0, 1].map(|_| programs::input(&dev, &ring, 24, Role::Ciphertext));
    for id in 0..count {
        ct = programs::rotate(&dev, &ct, &programs::key(&dev, &ring, 6, id));
    }
    let graph = dev.graph();
    drop(ct);
    graph
}

/// Sums and products of polynomials that are each read once.
fn sums(count: usize) -> Graph {
    let (dev, ring) = programs::open(16, 30);
    let mut sum = programs::input(&dev, &ring, 24, Role::Ciphertext);
    for _ in 0..count {
        let next = programs::input(&dev, &ring, 24, Role::EvaluationKey(KeyId(1)));
        sum = dev.add(&sum, &dev.mul(&next, &next));
    }
    let graph = dev.graph();
    drop(sum);
    graph
}

/// Ticks of a program on a machine with so fast a memory, in words that take its primes; `None` where it has no unit or room
/// for it.
fn ticks(graph: &Graph, spec: &Spec, gb_s: f64) -> Option<u64> {
    let (name, gb_s) = (spec.name(), gb_s.to_string());
    let spec = spec.with_overrides(&[("policy.words", "split"), (HBM, &gb_s)]);
    let machine = machine::open(&spec.unwrap()).unwrap();
    let graph = machine.prepare(graph);
    match machine.schedule(&graph) {
        Ok(schedule) => {
            assert_eq!(check(&graph, &*machine, &schedule), Ok(()), "{name}, {HBM} = {gb_s}");
            Some(schedule.ticks())
        }
        Err(MachineError::NoUnit { .. } | MachineError::NoRoom { .. }) => None,
        Err(other) => panic!("{name}: {other}"),
    }
}

/// The memory off the chip takes its part of the scratchpad's port for what it moves, not for what it could.
#[test]
fn more_bandwidth_never_slows_a_program() {
    let graphs = [programs::rotations(3), many_keys(3), sums(12), counts::rotation(32)];
    // A port that is no faster than the memory off the chip.
    let narrow = SMALL.replace("feeds = \"units\"", "feeds = \"scratchpad\"")
        + "[memory.scratchpad]\nkind = \"scratchpad\"\nfeeds = \"units\"\ncapacity_mb = 256\nbandwidth_gb_s = 1000\n";
    let composed = names().into_iter().map(|name| Spec::load(name).unwrap()).filter(|spec| spec.model() == "composed");
    let mut timed = 0;
    for spec in composed.chain([Spec::from_toml(&narrow, "narrow.toml").unwrap()]) {
        let stated = spec.fields().into_iter().find(|field| field.path == HBM).unwrap().value.as_f64().unwrap();
        for (at, graph) in graphs.iter().enumerate() {
            let decades = [0.1, 1.0, 10.0, 100.0, 1000.0].map(|times| ticks(graph, &spec, stated * times));
            let known: Vec<u64> = decades.into_iter().flatten().collect();
            // A list schedule may take a few per cent longer when something in it comes sooner.
            for pair in known.windows(2) {
                assert!(pair[1] <= pair[0] + pair[0] / 32, "{}, program {at}: {known:?}", spec.name());
            }
            timed += usize::from(!known.is_empty());
        }
    }
    assert!(timed > 25, "{timed}");
}

/// What passes a memory that feeds units is what they read and write; it is then what bounds the time.
#[test]
fn memory_that_feeds_units_moves_all_that_they_touch() {
    let graph = programs::rotations(2);
    let on = |gb_s: &str| {
        let spec = Spec::from_toml(SMALL, "mine.toml").unwrap();
        time(&graph, &spec.with_overrides(&[("memory.hbm.bandwidth_gb_s", gb_s)]).unwrap()).unwrap()
    };
    let of_path = |report: &Report| {
        let hbm: f64 = report.critical_path.get("hbm").into_iter().flat_map(|kinds| kinds.values()).sum();
        hbm / report.seconds
    };
    let slow = on("1000");
    let limb = 8u64 << 16;
    // By hand: each of two rotations reads a key of 240 limbs and makes two polynomials of 24, of which the last are kept.
    assert_eq!(slow.bytes["hbm"]["evaluation_key"], 2 * 240 * limb);
    assert_eq!(slow.bytes["hbm"]["result"], 2 * 24 * limb);
    assert!(slow.bytes["hbm"]["temporary"] > 2 * 180 * 2 * limb, "transforms alone read and write as much");
    let moved: u64 = slow.bytes["hbm"].values().sum();
    let share = moved as f64 / 1e12 / slow.seconds;
    assert!((slow.utilization["hbm"] - share).abs() < 0.01 * share);
    let roofline = slow.roofline.unwrap();
    assert_eq!(roofline.bound, Bound::Memory);
    assert!((roofline.memory_s - moved as f64 / 1e12).abs() < 0.01 * roofline.memory_s);
    assert!(of_path(&slow) > 0.9, "{:?}", slow.critical_path);
    let fast = on("1000000");
    assert_eq!(fast.roofline.unwrap().bound, Bound::Compute);
    assert!(of_path(&fast) < 0.1 && fast.seconds < slow.seconds);
}

/// Without memory off the chip nothing comes or goes, which the report says.
#[test]
fn a_chip_without_memory_off_it_says_so() {
    let text = SMALL.replace("\"off-chip\"", "\"scratchpad\"");
    let report = time(&programs::rotations(1), &Spec::from_toml(&text, "mine.toml").unwrap()).unwrap();
    assert!(report.notes.iter().any(|note| note.starts_with("no memory off the chip")), "{:?}", report.notes);
    assert!(report.roofline.is_none());
}

/// Bytes are of words of the machine: what is loaded, what comes again, and what is read of it.
#[test]
fn reuse_is_counted_in_words_of_the_machine() {
    let graph = programs::rotations(2);
    for (name, words) in [("fab", 1), ("sharp", 2), ("heracles", 2), ("ark", 1)] {
        let spec = Spec::load(name).unwrap().with_overrides(&[("policy.words", "split")]).unwrap();
        let bits = spec.fields().into_iter().find(|field| field.path == "chip.word_bits").unwrap().value;
        let bits = bits.as_u64().unwrap();
        let report = time(&graph, &spec).unwrap();
        let keys = report.reuse["evaluation_key"];
        assert_eq!(keys.first_bytes + keys.again_bytes, report.bytes["hbm"]["evaluation_key"], "{name}");
        // Each of two rotations reads all 240 limbs of the key, of which a chip may make half; a word is so many bits.
        let read = 2 * 240 * words * (bits << 16) / 8;
        assert!(keys.read_bytes == read || keys.read_bytes == read / 2, "{name}: {} of {read}", keys.read_bytes);
    }
}
