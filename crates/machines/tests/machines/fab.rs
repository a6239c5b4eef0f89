//! FAB: unit times that follow from the stated numbers, programs limb by limb, what each field changes.

use crate::programs::{key, open, input, rotate};
use limbwise_device::{Basis, Device, Role};
use limbwise_graph::{Graph, LimbOrder};
use limbwise_machines::{Report, Spec, check::check, machine, schedule};

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
    let graph = rotations(2);
    for order in [LimbOrder::Operations, LimbOrder::Fused, LimbOrder::Reordered] {
        let split = graph.limb_by_limb(order);
        assert_eq!(split.counts_by_region(), graph.counts_by_region());
        assert_eq!(split.traffic().evaluation_keys, graph.traffic().evaluation_keys);
    }
}

#[test]
fn zz_probe() {
    for changes in [&[][..], &[("conversion", "shared")], &[("limbs", "apart")], &[("limbs", "fused")], &[("limbs", "whole"), ("on_chip_mb", "60")], &[("assumed.prefetch_mb","0")],&[("assumed.prefetch_mb","8")], &[("hbm_gb_s","100000")]] {
        let t: Vec<f64> = (1..4).map(|n| on(&rotations(n), changes).seconds * 1e3).collect();
        let a: Vec<f64> = (1..4).map(|n| on(&sums(n), changes).seconds * 1e3).collect();
        let r = on(&rotations(3), changes);
        println!("{changes:?} rot {t:?} add {a:?} {:?}", r.bytes);
    }
    println!("{}", on(&rotations(3), &[]));
    let _ = Basis::range(0, 1);
}

#[test]
fn zz_dram() {
    use limbwise_machines::address::*;
    let p = Polynomial { log_n: 17, limbs: 35 };
    for (n, d) in [("jedec", Ddr::ddr4_2133()), ("nogroups", Ddr { t_ccd_l: 3.75, ..Ddr::ddr4_2133() }), ("q64", Ddr { queue: 64, t_ccd_l: 3.75, ..Ddr::ddr4_2133() }), ("q128", Ddr { queue: 128, t_ccd_l: 3.75, ..Ddr::ddr4_2133() })] {
        for m in [Mapping::LimbAboveSlot, Mapping::Split { slot_bits: 5, limb_bits: 5 }, Mapping::Split { slot_bits: 4, limb_bits: 6 }, Mapping::Split { slot_bits: 8, limb_bits: 6 }, Mapping::Split { slot_bits: 3, limb_bits: 6 }] {
            let t: Vec<String> = [Access::LimbWise, Access::SlotWise { slots: 8 }, Access::SlotWise { slots: 32 }, Access::SlotWise { slots: 256 }].iter().map(|&a| format!("{:.2}", d.access_ns(p, m, a) / 1e6)).collect();
            println!("{n} {m:?} {t:?}");
        }
    }
}
