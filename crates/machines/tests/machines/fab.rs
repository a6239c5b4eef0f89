//! FAB: unit times that follow from the stated numbers, programs limb by limb, what each field changes.

use crate::programs::{input, key, open, rotate};
use limbwise_device::{Device, Handle, KeyId, Role, Shape};
use limbwise_graph::{Entries, Graph, LimbOrder};
use limbwise_machines::{Report, Spec, check::check, machine, schedule};
use limbwise_math::sampling::Seed;

fn fab(changes: &[(&str, &str)]) -> Spec {
    Spec::load("fab").unwrap().with_overrides(changes).unwrap()
}

/// Times a program; its schedule passes the checker.
fn on(graph: &Graph, changes: &[(&str, &str)]) -> Report {
    let spec = fab(changes);
    let machine = machine::open(&spec).unwrap();
    let (graph, schedule) = schedule(graph, &spec).unwrap();
    assert_eq!(check(&graph, &*machine, &schedule), Ok(()), "{changes:?}");
    machine.report(&graph, &schedule)
}

/// FAB's shape: N = 2^16, 24 limbs and 8, dnum 3; rotations with one key.
fn rotations(count: u32) -> Graph {
    let (dev, ring) = open(16, 32);
    let key = key(&dev, &ring, 8, 1);
    let mut ct = [0, 1].map(|_| input(&dev, &ring, 24, Role::Ciphertext));
    for _ in 0..count {
        ct = rotate(&dev, &ct, &key);
    }
    let graph = dev.graph();
    drop(ct);
    graph
}

fn sums(count: u32) -> Graph {
    let (dev, ring) = open(16, 32);
    let y = [0, 1].map(|_| input(&dev, &ring, 24, Role::Ciphertext));
    let mut x = [0, 1].map(|i| dev.add(&y[i], &y[i]));
    for _ in 0..count {
        x = [0, 1].map(|i| dev.add(&x[i], &y[i]));
    }
    let graph = dev.graph();
    drop(x);
    graph
}

#[test]
fn limb_by_limb_is_the_same_program() {
    let orders = [LimbOrder::Operations, LimbOrder::Fused, LimbOrder::Reordered];
    let both = orders.into_iter().flat_map(|order| [Entries::Together, Entries::Apart].map(|entries| (order, entries)));
    for ((order, entries), graph) in both.flat_map(|choice| [rotations(2), batch(3)].map(|graph| (choice, graph))) {
        let split = graph.limb_by_limb(order, entries);
        assert_eq!(split.counts_by_region(), graph.counts_by_region());
        assert_eq!(split.traffic().evaluation_keys, graph.traffic().evaluation_keys);
    }
}

/// Cycles of one more step.
fn one_more(program: impl Fn(u32) -> Graph, changes: &[(&str, &str)]) -> u64 {
    let cycles = |count| on(&program(count), changes).cycles.unwrap();
    (cycles(12) - cycles(10)) / 2
}

#[test]
fn a_sum_takes_a_cycle_a_word_and_unit() {
    let words = (2 * 24) << 16;
    assert_eq!(one_more(sums, &[]), words / 256);
    assert_eq!(one_more(sums, &[("functional_units", "512")]), words / 512);
}

/// By hand: transforms of 24 + 3·24 + 2·8 + 2·24 limbs, products of 2·3·32, and differences and sums of 3·24.
#[test]
fn units_are_busy_for_what_a_rotation_takes() {
    let report = on(&rotations(1), &[]);
    let cycles = report.cycles.unwrap() as f64;
    let (transforms, element_wise, sums) = (160 * 2048, (2 * 3 * 32 + 3 * 24) * 256, (3 + 2) * 24 * 8 * 256);
    let busy = |unit: &str| (report.utilization[unit] * cycles).round();
    assert_eq!(busy("functional_units"), f64::from(transforms + element_wise));
    assert_eq!(busy("converters"), f64::from(sums));
    assert_eq!(busy("permutation"), f64::from(2 * 24 * 256));
    let shared = on(&rotations(1), &[("conversion", "shared")]);
    assert_eq!(shared.utilization["converters"], 0.0);
    assert!(shared.seconds > report.seconds);
}

/// Conversions of one limb run beside the transforms of another in every order of limbs: results under way have room of
/// their own, however full the memory is (ADR 129).
#[test]
fn no_order_of_limbs_makes_units_take_turns() {
    let busy = 160 * 2048 + (2 * 3 * 32 + 3 * 24) * 256;
    for limbs in ["apart", "fused", "reordered"] {
        let cycles = one_more(rotations, &[("limbs", limbs)]);
        assert!(cycles >= busy && cycles < busy + busy / 6, "{limbs}: {cycles} for {busy}");
    }
}

#[test]
fn orders_of_limbs_decide_what_is_spilled() {
    let graph = rotations(2);
    let spilled = |limbs: &str| on(&graph, &[("limbs", limbs)]).bytes["hbm"].get("temporary").copied().unwrap_or(0);
    assert!(spilled("reordered") < spilled("fused") && spilled("fused") < spilled("apart"));
    let refused = schedule(&graph, &fab(&[("limbs", "whole")])).unwrap_err().to_string();
    assert!(refused.contains("raise memory.on_chip.capacity_mb"), "{refused}");
}

/// A key whose uniform halves are seeds.
#[test]
fn halves_that_are_made_are_not_loaded() {
    let (dev, ring) = open(16, 32);
    let mut key = key(&dev, &ring, 8, 1);
    for pair in &mut key.pairs {
        let shape = pair[1].shape().clone();
        pair[1] = dev.expand_seed(&shape, Role::EvaluationKey(KeyId(1)), &Seed([7; 32]));
    }
    let ct = [0, 1].map(|_| input(&dev, &ring, 24, Role::Ciphertext));
    let rotated = rotate(&dev, &ct, &key);
    let graph = dev.graph();
    drop(rotated);
    let keys = |seeds: &str| on(&graph, &[("seeds", seeds)]).bytes["hbm"]["evaluation_key"];
    assert_eq!(keys("loaded"), 2 * keys("made"));
}

/// Transforms of each of a batch, then their sum.
fn batch(entries: usize) -> Graph {
    let (dev, ring) = open(16, 8);
    let shape = Shape::eval(&ring, ring.full()).with_batch(entries);
    let x = dev.upload(&shape, Role::Ciphertext, &|_, _| unreachable!());
    let last = (0..20).fold(dev.copy(&x), |x, _| dev.ntt(dev.intt(x)));
    let sum = (1..entries).fold(dev.copy(&dev.split(&last, 0, 1)), |sum, i| dev.add(&sum, &dev.split(&last, i, i + 1)));
    let graph = dev.graph();
    drop(sum);
    graph
}

/// A ciphertext that becomes a batch of eight, which is added up.
fn hoisted() -> Graph {
    let (dev, ring) = open(16, 8);
    let x = dev.upload(&Shape::eval(&ring, ring.full()), Role::Ciphertext, &|_, _| unreachable!());
    let batch = (0..4).fold(dev.stack(&[&x; 8]), |x, _| dev.ntt(dev.intt(x)));
    let sum = (1..8).fold(dev.copy(&dev.split(&batch, 0, 1)), |sum, i| dev.add(&sum, &dev.split(&batch, i, i + 1)));
    let graph = dev.graph();
    drop(sum);
    graph
}

#[test]
fn boards_share_out_a_batch_and_send_what_others_read() {
    let (one, eight) = (on(&batch(8), &[]), on(&batch(8), &[("fpgas", "8")]));
    assert!(eight.seconds < one.seconds);
    let sent = |report: &Report| report.critical_path.contains_key("ethernet");
    assert!(sent(&eight) && !sent(&one));
    // Seven of eight entries come to the first board, a limb of 54 bits at a time.
    let bytes = 7.0 * 8.0 * f64::from(54 << 13);
    let busy = eight.utilization["ethernet"] * eight.seconds * 12.5e9;
    assert!((busy / bytes - 1.0).abs() < 1e-3, "{busy} for {bytes}");
    // Rotations that share a decomposition are a batch inside, of one ciphertext.
    let hoisted = |fpgas| on(&hoisted(), &[("fpgas", fpgas), ("on_chip_mb", "400")]).seconds;
    assert_eq!(hoisted("1"), hoisted("2"), "a batch that a ciphertext makes of itself stays with it");
    let alone = |fpgas| on(&rotations(1), &[("fpgas", fpgas), ("on_chip_mb", "400")]).seconds;
    assert_eq!(alone("1"), alone("8"), "what is one ciphertext stays on a board");
}
