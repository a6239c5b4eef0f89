//! Reports and traces: the contract, its text, and how fast they come.

use crate::programs;
use limbwise_device::{Device, LweShape, Null, Role};
use limbwise_graph::Recorder;
use limbwise_machines::{Spec, check::check, machine, report::Bound, schedule, time};
use std::time::Instant;

#[test]
fn the_report_of_a_chip_has_every_field() {
    let graph = programs::rotations(2);
    let report = time(&graph, &Spec::load("ark").unwrap()).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    let fields: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let (outer, inner) = (
        ["assumed", "bytes", "critical_path", "cycles", "energy", "machine", "products"],
        ["regions", "reuse", "roofline", "seconds", "utilization"],
    );
    assert_eq!(fields, [&outer[..], &inner[..]].concat());
    let energy = report.energy.clone().unwrap();
    assert!((energy.area_mm2.unwrap() - 418.2).abs() < 1e-9); // the stated parts add up to this; the chip is stated 418.3
    assert!((report.seconds * 1e9 - report.cycles.unwrap() as f64).abs() < 1e-3);
    let peak = 281.3 * report.seconds;
    assert!(
        energy.energy_j > energy.idle_j && energy.energy_j < peak && (energy.idle_j - 0.3 * peak).abs() < 1e-9 * peak
    );
    assert!((energy.parts_j.values().sum::<f64>() - energy.energy_j).abs() < 1e-9 * peak);
    assert!(
        (energy.edap.unwrap() / (energy.power_w * report.seconds.powi(2) * energy.area_mm2.unwrap()) - 1.0).abs()
            < 1e-12
    );
    let path: f64 = report.critical_path.values().flat_map(|kinds| kinds.values()).sum();
    assert!((path - report.seconds).abs() < 1e-12);
    assert!(report.utilization.values().all(|&share| (0.0..=1.0).contains(&share)));
    assert_eq!(json["bytes"]["hbm"]["evaluation_key"], 120 << 20);
    let seconds = |path: &str| report.regions.iter().find(|r| r.path == path).unwrap().seconds;
    assert!((seconds("step[0]") + seconds("step[1]") - report.seconds).abs() < 1e-12);
    assert!(seconds("step[0]/rotate/key_switch") <= seconds("step[0]/rotate"));
}

/// Two rotations by one key: it is loaded once, and each byte of it is read twice.
#[test]
fn reuse_tells_what_comes_again() {
    let graph = programs::rotations(2);
    let keys = |mb: &str| {
        let changes = [("memory.scratchpad.capacity_mb", mb), ("policy.prefetch_mb", "0")];
        let report = time(&graph, &Spec::load("ark").unwrap().with_overrides(&changes).unwrap()).unwrap();
        let moved = report.bytes["hbm"]["evaluation_key"];
        let keys = report.reuse["evaluation_key"];
        assert_eq!(keys.first_bytes + keys.again_bytes, moved);
        keys
    };
    let (roomy, tight) = (keys("512"), keys("100"));
    assert_eq!((roomy.values, roomy.first_bytes, roomy.again_bytes, roomy.read_bytes), (1, 120 << 20, 0, 240 << 20));
    assert!(tight.first_bytes == 120 << 20 && tight.again_bytes > 0 && tight.read_bytes == 240 << 20, "{tight:?}");
}

/// By hand: 4 clusters of 256 lanes, 8 products a cycle and lane in the NTTU, 6 in the BConvU, 2 in the MADUs.
#[test]
fn the_roofline_is_that_of_the_units() {
    let graph = programs::rotations(1);
    let time = |machine: &str, changes: &[(&str, &str)]| {
        let spec = Spec::load(machine).unwrap().with_overrides(changes).unwrap();
        time(&graph, &spec).unwrap()
    };
    let report = time("ark", &[]);
    let roofline = report.roofline.unwrap();
    assert_eq!((roofline.peak_products_s / 1e9).round(), 16384.0);
    assert_eq!((roofline.bandwidth_bytes_s / 1e9).round(), 1000.0);
    assert_eq!((report.products, roofline.bound), (2628 << 16, Bound::Memory));
    let moved: u64 = report.bytes["hbm"].values().sum();
    assert!((roofline.intensity - (2628 << 16) as f64 / moved as f64).abs() < 1e-12);
    assert!(report.seconds > roofline.memory_s && roofline.memory_s > roofline.compute_s);
    let fast = time("f1-scaled", &[("hbm_gb_s", "1000000")]).roofline.unwrap();
    assert_eq!(fast.bound, Bound::Compute);
    // A machine that is nothing but a roofline takes the longer of the two, and what the first load leaves to wait.
    let scaled = time("f1-scaled", &[]);
    let bounds = scaled.roofline.unwrap();
    assert!((bounds.compute_s * 40960e9 - (2628 << 16) as f64).abs() < 1.0);
    assert!((bounds.memory_s * 3000e9 - moved as f64).abs() < 1.0);
    assert!(scaled.seconds >= bounds.memory_s && scaled.seconds < 1.1 * bounds.memory_s, "{scaled}");
}

#[test]
fn the_text_shows_what_was_assumed() {
    let text = time(&programs::rotations(1), &Spec::load("ark").unwrap()).unwrap().to_string();
    for wanted in
        ["ark: ", " cycles, ", "nttu", "evaluation_key", "step/rotate", "assumed chip.clock_mhz = 1000.0: the clock"]
    {
        assert!(text.contains(wanted), "{wanted} in\n{text}");
    }
}

#[test]
fn a_trace_is_json_and_bounded() {
    let graph = programs::rotations(1);
    let (_, run) = schedule(&graph, &Spec::load("ark").unwrap()).unwrap();
    let events = |most: usize| {
        let mut out = Vec::new();
        run.write_chrome_trace(&graph, most, &mut out).unwrap();
        let trace: serde_json::Value = serde_json::from_slice(&out).unwrap();
        trace["traceEvents"].as_array().unwrap().clone()
    };
    let all = events(usize::MAX);
    let slices: Vec<_> = all.iter().filter(|e| e["ph"] == "X").collect();
    assert_eq!(slices.len(), run.program.tasks.len());
    assert!(
        slices.iter().any(|e| e["name"] == "load" && e["args"]["region"] == "step/rotate/key_switch/gadget_product")
    );
    let few = events(5);
    assert_eq!(few.iter().filter(|e| e["ph"] == "X").count(), 5);
    assert!(few.last().unwrap()["name"].as_str().unwrap().starts_with("5 of "));
}

#[test]
fn scheduling_is_deterministic_and_its_speed_is_printed() {
    let (long, short) = (programs::rotations(3000), programs::rotations(50));
    for name in ["ark", "cpu", "fab", "f1-scaled"] {
        let graph = if name == "fab" { &short } else { &long }; // about a thousand nodes a rotation
        let spec = Spec::load(name).unwrap();
        let started = Instant::now();
        let (taken, run) = schedule(graph, &spec).unwrap();
        let seconds = started.elapsed().as_secs_f64();
        let (nodes, tasks) = (taken.nodes().len(), run.program.tasks.len());
        println!("{name}: {nodes} nodes, {tasks} tasks in {seconds:.3} s, {:.2e} nodes/s", nodes as f64 / seconds);
        assert_eq!(check(&taken, &*machine::open(&spec).unwrap(), &run), Ok(()));
        assert_eq!(run.start, schedule(graph, &spec).unwrap().1.start);
    }
}

/// A program on TFHE is refused by a machine without units for it, not timed as if it were free.
#[test]
fn operations_without_a_unit_are_refused() {
    let dev = Recorder::new(Null::default());
    let shape = LweShape { dimension: 10, modulus: 4096, batch: 1 };
    let a = dev.upload_lwe(shape, Role::Ciphertext, &|_, _| unreachable!());
    drop(dev.lwe_add(&a, &a));
    let graph = dev.finish();
    let refused = time(&graph, &Spec::load("ark").unwrap()).unwrap_err().to_string();
    assert!(refused.contains("has no unit for lwe_add (node 1 of the program)"), "{refused}");
    let report = time(&graph, &Spec::load("cpu").unwrap()).unwrap();
    assert!(report.seconds > 0.0 && report.bytes["memory"]["ciphertext"] == 2 * 8 * 11, "{report}");
}
