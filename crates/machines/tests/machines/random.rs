//! Any program, on any of these chips, has a schedule without a conflict.

use crate::programs::{self, Dev, Poly};
use limbwise_device::{Basis, Device, Handle, KeyId, Role};
use limbwise_graph::Graph;
use limbwise_machines::{Spec, check::check, machine};
use proptest::prelude::*;

/// One random call on values over six primes.
fn step(dev: &Dev, pool: &mut Vec<Poly>, op: u8, i: usize, j: usize) {
    let taken = i % pool.len();
    let (a, b) = (pool[taken].clone(), pool[j % pool.len()].clone());
    let full = a.shape().basis;
    let half = Basis::range(0, 3);
    let made = match op {
        0 => dev.add(&a, &b),
        1 => dev.mul(&a, &b),
        2 => dev.automorphism(&a, limbwise_math::galois::GaloisElement::conjugation(16)),
        3 => {
            let coeff = dev.intt(dev.restrict(&a, half));
            let raised = dev.ntt(dev.basis_convert(&coeff, full - half));
            dev.join(&[&dev.restrict(&b, half), &raised])
        }
        4 => dev.split(&dev.stack(&[&a, &b]), 1, 2),
        5 => {
            drop((a, b));
            let mut acc = pool.swap_remove(taken);
            let other = pool.first().unwrap_or(&acc).clone();
            dev.mul_acc(&mut acc, &other, &other);
            acc
        }
        6 => dev.scale_limbs(dev.sub(&a, &b), &[1; 6]),
        _ => {
            if pool.len() > 1 {
                pool.swap_remove(taken);
            }
            return;
        }
    };
    pool.push(made);
}

/// A program of such calls.
pub(crate) fn program(calls: Vec<(u8, usize, usize)>) -> Graph {
    let (dev, ring) = programs::open(16, 6);
    let roles = [Role::Ciphertext, Role::Plaintext, Role::EvaluationKey(KeyId(1))];
    let mut pool: Vec<Poly> = roles.map(|role| programs::input(&dev, &ring, 6, role)).into();
    for call in calls {
        let (op, i, j) = call;
        step(&dev, &mut pool, op, i, j);
    }
    dev.graph()
}

proptest! {
    #[test]
    fn schedules_have_no_conflict(
        calls in prop::collection::vec((0u8..8, 0usize..64, 0usize..64), 1..80),
        capacity in 16u32..60,
        clusters in 1u32..7,
        streaming: bool,
        in_order: bool,
    ) {
        let graph = program(calls);
        let changes = [
            ("memory.scratchpad.capacity_mb", capacity.to_string()),
            ("policy.prefetch_mb", (capacity / 8).to_string()),
            ("chip.clusters", clusters.to_string()),
            ("policy.streaming", streaming.to_string()),
            ("policy.order", if in_order { "in-order" } else { "list" }.to_string()),
        ];
        let machine = machine::open(&Spec::load("ark").unwrap().with_overrides(&changes).unwrap()).unwrap();
        let run = machine.schedule(&graph).unwrap();
        prop_assert_eq!(check(&graph, &*machine, &run), Ok(()));
        prop_assert!(run.ticks() >= run.busy().into_iter().max().unwrap());
        let path: u64 = run.critical_path().iter().map(|(_, ticks)| ticks).sum();
        prop_assert_eq!(path, run.ticks());
    }
}
