//! Memory: the graph's own account of live bytes is the meter's of the device it was recorded on.

use crate::common;

use limbwise_device::{Basis, Device, Handle, Null, OpenRegion, Role, Shape};
use limbwise_graph::{Op, Recorder};
use limbwise_math::galois::GaloisElement;
use proptest::prelude::*;

#[test]
fn peak_of_rotations_is_the_meters() {
    let dev = Recorder::new(Null::default());
    let ring = common::ring(&dev, 10, 10);
    let key = common::key(&dev, &ring, 2, 0);
    let mut ct = common::ciphertext(&dev, &ring, Basis::range(0, 8));
    for _ in 0..3 {
        ct = common::rotate(&dev, &ct, &key);
    }
    let graph = dev.graph();
    assert_eq!(graph.peak_live_bytes(), dev.inner().meter().peak_bytes());
    assert!(graph.peak_live_bytes() > 8 * 10 * (8 << 10));
}

#[test]
fn accumulations_are_values_and_frees_are_placed() {
    let dev = Recorder::new(Null::default());
    let ring = common::ring(&dev, 10, 2);
    let shape = Shape::eval(&ring, ring.full());
    let a = dev.upload(&shape, Role::Plaintext, &|_, _| unreachable!());
    let mut acc = dev.mul(&a, &a);
    let kept = acc.clone();
    dev.mul_acc(&mut acc, &a, &a); // shared: a new buffer
    dev.mul_acc(&mut acc, &a, &kept); // its own buffer
    drop(a);
    let acc = dev.intt(acc);
    let graph = dev.graph();
    let ops: Vec<Op> = graph.nodes().iter().map(|n| n.op()).collect();
    assert_eq!(ops, [Op::Upload, Op::Mul, Op::MulAcc, Op::MulAcc, Op::Intt]);
    let operands: Vec<Vec<u32>> = graph.ids().map(|i| graph.operands(i).iter().map(|o| o.0).collect()).collect();
    assert_eq!(operands, [vec![], vec![0, 0], vec![1, 0, 0], vec![2, 0, 1], vec![3]]);
    let freed: Vec<Option<u32>> = graph.nodes().iter().map(|n| n.freed_before().map(|f| f.0)).collect();
    assert_eq!(freed, [Some(4), None, Some(3), Some(4), None]);
    let last: Vec<Option<u32>> = graph.last_uses().iter().map(|u| u.map(|u| u.0)).collect();
    assert_eq!(last, [Some(3), Some(3), Some(3), Some(4), None]);
    assert_eq!((graph.peak_live_bytes(), acc.shape().batch), (3 * 2 * (8 << 10), 1));
    drop(kept);
    assert_eq!(dev.finish().node(acc.node()).freed_before(), None);
}

#[test]
fn recorders_and_their_values_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Recorder<Null>>();
    crosses::<<Recorder<Null> as Device>::Poly>();
    crosses::<limbwise_graph::Graph>();
}

#[test]
fn regions_close_with_their_guards() {
    let dev = Recorder::new(Null::default());
    let ring = common::ring(&dev, 10, 1);
    let shape = Shape::eval(&ring, ring.full());
    let zeros = |guard: OpenRegion<'_>| {
        dev.zeros(&shape);
        drop(guard);
    };
    zeros(dev.region("step", 0));
    zeros(dev.region("step", 1));
    zeros(dev.region("step", 1));
    zeros(dev.region("end", 0));
    dev.zeros(&shape);
    let graph = dev.finish();
    let paths = graph.region_paths();
    let of_nodes: Vec<&str> = graph.nodes().iter().map(|n| paths[n.region().index()].as_str()).collect();
    assert_eq!(of_nodes, ["step[0]", "step[1]", "step[1]", "end", ""]);
}

/// One random call on a pool of values, all over one basis.
fn step(dev: &Recorder<Null>, pool: &mut Vec<<Recorder<Null> as Device>::Poly>, op: u8, i: usize, j: usize) {
    let at = |k: usize| k % pool.len();
    let (a, b) = (pool[at(i)].clone(), pool[at(j)].clone());
    let full = a.shape().basis;
    let half = Basis::range(0, full.len() / 2);
    let taken = at(i);
    let made = match op {
        0 => dev.add(&a, &b),
        1 => dev.copy(&a),
        2 => dev.automorphism(&a, GaloisElement::new(5, 10)),
        3 => dev.join(&[&dev.restrict(&a, half), &dev.restrict(&b, full - half)]),
        4 => dev.split(&dev.stack(&[&a, &b, &a]), 1, 2),
        5 => {
            drop((a, b));
            let mut acc = pool.swap_remove(taken);
            let other = pool.first().unwrap_or(&acc).clone();
            dev.mul_acc(&mut acc, &other, &other);
            acc
        }
        6 => {
            drop((a, b));
            let own = pool.swap_remove(taken);
            dev.neg(own)
        }
        _ => {
            drop((a, b));
            if pool.len() > 1 {
                pool.swap_remove(taken);
            }
            return;
        }
    };
    pool.push(made);
}

proptest! {
    #[test]
    fn peak_is_the_meters_for_any_program(calls in prop::collection::vec((0u8..8, 0usize..64, 0usize..64), 1..120)) {
        let dev = Recorder::new(Null::default());
        let ring = common::ring(&dev, 10, 4);
        let mut pool = vec![dev.zeros(&Shape::eval(&ring, ring.full()))];
        for call in calls {
            let (op, i, j) = call;
            step(&dev, &mut pool, op, i, j);
        }
        prop_assert_eq!(dev.graph().peak_live_bytes(), dev.inner().meter().peak_bytes());
    }
}
