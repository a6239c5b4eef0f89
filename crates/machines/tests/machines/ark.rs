//! ARK: unit times that follow from the stated numbers, memory, and what each number changes.

use crate::programs::{self, input, open};
use limbwise_device::{Device, Role, Shape};
use limbwise_graph::Graph;
use limbwise_machines::{MachineError, Schedule, Spec, check::check, machine, time};

fn ark(overrides: &[(&str, &str)]) -> Spec {
    Spec::load("ark").unwrap().with_overrides(overrides).unwrap()
}

fn on(graph: &Graph, overrides: &[(&str, &str)]) -> Schedule {
    let machine = machine::open(&ark(overrides)).unwrap();
    let schedule = machine.schedule(graph).unwrap();
    assert_eq!(check(graph, &*machine, &schedule), Ok(()));
    schedule
}

/// As good as no register files, which hold values as well.
const NO_FILES: (&str, &str) = ("memory.register_files.capacity_mb", "1");

fn busy(schedule: &Schedule, unit: &str) -> u64 {
    let at = schedule.program.units.iter().position(|u| *u == unit).unwrap();
    schedule.busy()[at]
}

/// Microseconds at 1 GHz, one decimal.
fn us(cycles: u64) -> String {
    format!("{:.1}", cycles as f64 / 1000.0)
}

#[test]
fn unit_times_of_a_rotation_are_the_ideal_ones() {
    let graph = programs::rotations(1);
    let run = on(&graph, &[]);
    assert_eq!(us(busy(&run, "bconvu")), "9.2");
    assert_eq!(us(busy(&run, "noc")), "11.8");
    let key = run.program.off_chip_bytes["evaluation_key"];
    assert_eq!(key, 120 << 20);
    assert_eq!(us(key / 1000), "125.8"); // 1000 bytes a cycle
    // The ideal has no cluster wait for a limb and counts products only: so, at the rate of 24 limbs at a time.
    let (dev, ring) = open(16, 24);
    let [a, b] = [0, 1].map(|_| dev.zeros(&Shape::eval(&ring, ring.full())));
    let values = dev.intt(dev.mul(&a, &b));
    let probe = on(&dev.graph(), &[]);
    drop(values);
    let counts = graph.counts();
    assert_eq!(us(counts.transformed_limbs * busy(&probe, "nttu") / 24), "11.5");
    assert_eq!(us(counts.elementwise_products * busy(&probe, "madu") / (24 << 16)), "9.2");
    // Of the last round of a node no more clusters are taken than it has limbs.
    assert_eq!(busy(&run, "nttu"), 180 / 4 * 256);
}

#[test]
fn a_program_takes_at_least_its_busiest_unit_and_at_most_all_in_turn() {
    let graph = programs::rotations(6);
    for overrides in [&[][..], &[("policy.streaming", "true")], &[("memory.hbm.bandwidth_gb_s", "100000")]] {
        let run = on(&graph, overrides);
        let in_turn: u64 = run.program.tasks.iter().map(|t| t.stage.occupancy + t.stage.fill).sum();
        assert!(run.ticks() > *run.busy().iter().max().unwrap() && run.ticks() < in_turn);
        let path: u64 = run.critical_path().iter().map(|(_, ticks)| ticks).sum();
        assert_eq!(path, run.ticks());
    }
}

#[test]
fn a_key_that_stays_is_loaded_once() {
    let graph = programs::rotations(4);
    let limb = 8u64 << 16;
    let run = on(&graph, &[]);
    assert_eq!(run.program.off_chip_bytes["evaluation_key"], 240 * limb);
    assert_eq!(run.program.off_chip_bytes["ciphertext"], 48 * limb);
    assert_eq!(run.program.off_chip_bytes["result"], 48 * limb);
    assert_eq!(run.program.off_chip_bytes.get("temporary"), None);
    // With less room than key and ciphertext need, parts of the key come again for every rotation.
    let tight = on(&graph, &[("memory.scratchpad.capacity_mb", "160"), ("policy.prefetch_mb", "1"), NO_FILES]);
    let loaded = tight.program.off_chip_bytes["evaluation_key"];
    assert!(loaded > 240 * limb && loaded < 4 * 240 * limb, "{} limbs", loaded / limb);
    // With room for nothing but an operation, all of it comes again.
    let tiny = on(&graph, &[("memory.scratchpad.capacity_mb", "66"), ("policy.prefetch_mb", "0"), NO_FILES]);
    assert!(tiny.program.off_chip_bytes["evaluation_key"] > loaded);
    assert!(tiny.program.off_chip_bytes["temporary"] > 0);
    assert!(tiny.ticks() > run.ticks());
}

/// Products of an accumulator with plaintexts of 24 limbs (12.6 MB), in this order.
fn reads(order: &[usize]) -> Graph {
    let (dev, ring) = open(16, 24);
    let plain: Vec<_> = (0..3).map(|_| input(&dev, &ring, 24, Role::Plaintext)).collect();
    for &i in order {
        dev.mul(&plain[i], &plain[i]);
    }
    drop(plain);
    dev.graph()
}

#[test]
fn the_one_wanted_last_leaves() {
    let loads = |order: &[usize]| {
        // In the order of the program: a list would do what reads the same together.
        let room = [("memory.scratchpad.capacity_mb", "25"), ("policy.prefetch_mb", "0"), NO_FILES];
        let room_for_two = [&room[..], &[("policy.order", "in-order")]].concat();
        on(&reads(order), &room_for_two).program.off_chip_bytes["plaintext"] / (24 * (8 << 16))
    };
    assert_eq!(loads(&[0, 1, 0, 1, 2]), 3);
    assert_eq!(loads(&[0, 1, 2, 0, 1]), 4); // when 2 comes, 1 leaves; leaving out the oldest would load 5
    assert_eq!(loads(&[0, 1, 2, 1, 0]), 4);
}

#[test]
fn numbers_have_the_effect_they_name() {
    let graph = programs::rotations(8);
    let base = on(&graph, &[]);
    let half = on(&graph, &[("chip.clusters", "2")]);
    assert_eq!(busy(&half, "bconvu"), 2 * busy(&base, "bconvu"));
    assert_eq!(busy(&on(&graph, &[("unit.bconvu.targets_at_once", "12")]), "bconvu"), busy(&base, "bconvu") / 2);
    let port = ("memory.scratchpad.bandwidth_gb_s_per_cluster", "100000");
    let madu = |units: &str| busy(&on(&graph, &[port, ("unit.madu.count", units)]), "madu");
    assert_eq!(madu("1"), 2 * madu("2"));
    assert!(madu("2") < busy(&base, "madu")); // keys and far operands come through the port
    assert!(on(&graph, &[("policy.streaming", "true")]).ticks() < base.ticks());
    assert!(busy(&on(&graph, &[("policy.fuse_subtract_scale", "false")]), "madu") > busy(&base, "madu"));
    // Limb-wise only: 2·dnum·(α + ℓ + 1)·N words for each key switch instead of (dnum + 2)(α + ℓ + 1)·N.
    let limb_wise = busy(&on(&graph, &[("policy.distribution", "limb-wise")]), "noc");
    let words = |noc: u64| (noc as f64 / 8.0 * 1000.0 / 65536.0 / 30.0).round();
    assert_eq!((words(limb_wise), words(busy(&base, "noc"))), (8.0, 6.0));
    let report = |o: &[(&str, &str)]| time(&graph, &ark(o)).unwrap();
    let faster = report(&[("chip.clock_mhz", "2000"), ("memory.hbm.bandwidth_gb_s", "2000")]);
    assert!(faster.seconds < report(&[]).seconds);
    let energy = |o: &[(&str, &str)]| report(o).energy.unwrap();
    assert!(energy(&[("policy.idle_share", "0")]).energy_j < energy(&[]).energy_j);
    let more_area = energy(&[("chip.clusters", "8")]).area_mm2.unwrap() - energy(&[]).area_mm2.unwrap();
    assert!((more_area - (9.3 + 57.2 + 20.6 + 8.9 + 42.8)).abs() < 1e-9);
}

#[test]
fn a_batch_larger_than_the_chip_is_refused() {
    let (dev, ring) = open(16, 24);
    let one = input(&dev, &ring, 24, Role::Ciphertext);
    let parts: Vec<_> = (0..64).map(|_| &one).collect();
    let batch = dev.copy(&dev.stack(&parts)); // 805 MB
    let graph = dev.graph();
    drop(batch);
    let limb = 8u64 << 16;
    match machine::open(&ark(&[])).unwrap().schedule(&graph) {
        Err(MachineError::NoRoom { needs, room, missing, .. }) => {
            assert_eq!((needs, missing), (65 * 24 * limb, needs - room));
        }
        other => panic!("{:?}", other.map(|s| s.ticks())),
    }
}

#[test]
fn overlapping_is_no_worse_than_phases_one_after_another() {
    // By hand: the phases of a key switch in turn, each at its unit's rate, with the keys on the chip.
    let step = |overrides: &[(&str, &str)]| {
        let ticks = |n| on(&programs::rotations(n), overrides).ticks();
        ticks(9) - ticks(8)
    };
    let limb = 256;
    let noc = |limbs: u64| limbs * 8 * 65_536 / 8_000;
    let up = 6 * limb + noc(4 * 30) + 4 * 1536 + 4 * 6 * limb;
    let down = 2 * (2 * limb + noc(30) + 1536 + 6 * limb + 6 * 128);
    let recipe = 2 * 6 * limb + up + 8 * 8 * 128 + down + 6 * 128;
    let (streaming, waiting) = (step(&[("policy.streaming", "true")]), step(&[]));
    println!("a rotation with its key at hand: {streaming} cycles, {waiting} without streaming, {recipe} in turn");
    assert!(streaming < waiting && waiting < recipe);
}

#[test]
fn off_chip_memory_has_rows_and_refresh() {
    let graph = programs::rotations(1);
    let hbm = |overrides: &[(&str, &str)]| busy(&on(&graph, overrides), "hbm");
    let (peak, banks) = (hbm(&[("memory.hbm.model", "bandwidth")]), hbm(&[]));
    assert!(banks >= peak && banks < peak + peak / 1000); // only the turn to the result's store
    let all_banks = hbm(&[("memory.hbm.refresh", "all-banks"), ("memory.hbm.trfc_ns", "350")]);
    assert!(all_banks * 10 > banks * 11 && all_banks * 10 < banks * 12, "refresh takes 378 of 3900 ns");
    assert!(hbm(&[("memory.hbm.banks", "1"), ("memory.hbm.refresh", "all-banks")]) > 3 * banks / 2); // nothing hides a row
}

#[test]
fn stored_twisting_factors_take_port_and_room() {
    let graph = programs::rotations(1);
    let port = |overrides: &[(&str, &str)]| on(&graph, overrides).drawn_bytes()[0] as f64;
    let limbs = (port(&[("of_twist", "false")]) - port(&[])) / f64::from(8 << 16);
    assert!((limbs - 180.0).abs() < 1.0, "{limbs} limbs of factors for 180 transforms"); // rates are whole bytes a cycle
    let room = |overrides: &[(&str, &str)]| on(&graph, overrides).program.capacity;
    assert_eq!(room(&[]) - room(&[("of_twist", "false")]), 2 * 30 * (8 << 16)); // 2(α + L + 1)·N words
}

#[test]
fn narrow_words_refuse_or_split() {
    let graph = programs::rotations(1); // primes of 50 bits
    let narrow = ("chip.word_bits", "32");
    let refused = machine::open(&ark(&[narrow])).unwrap().schedule(&graph).unwrap_err().to_string();
    let wanted = "machine \"ark\" has words of 32 bits, the program has primes of 50 bits: choose a preset with narrower \
                  primes, or --set words=split to take 2 words a residue";
    assert_eq!(refused, wanted);
    let (whole, split) = (on(&graph, &[]), on(&graph, &[narrow, ("words", "split")]));
    assert_eq!(busy(&split, "nttu"), 2 * busy(&whole, "nttu"));
    assert_eq!(busy(&split, "bconvu"), 4 * busy(&whole, "bconvu")); // twice the sources into twice the targets
    assert_eq!(split.program.off_chip_bytes, whole.program.off_chip_bytes); // twice the limbs of half the bytes
}

#[test]
fn more_of_anything_is_not_slower() {
    let graph = programs::rotations(6);
    for (field, values) in [
        ("clusters", ["1", "2", "4", "8"]),
        ("hbm_gb_s", ["250", "500", "1000", "4000"]),
        ("bconv_macs_per_lane", ["1", "3", "6", "12"]),
        ("memory.scratchpad.capacity_mb", ["200", "300", "512", "1024"]),
        ("memory.register_files.bandwidth_gb_s_per_cluster", ["2000", "8000", "18000", "40000"]),
    ] {
        let ticks = values.map(|value| on(&graph, &[(field, value)]).ticks());
        // Lists have anomalies: what may start earlier may hold up what matters. They are small.
        assert!(ticks.is_sorted_by(|a, b| a + a / 100 >= *b), "{field}: {ticks:?} for {values:?}");
    }
}
