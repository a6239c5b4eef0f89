//! Key switches cut into groups of limbs and entries equal their default bodies, with keys on the GPU and over the bus.

use super::{MEMORY, host, random, ring};
use crate::{Cuda, CudaPoly, KeyRoom, Replay, host::Host};
use limbwise_device::{Basis, Device, GadgetKey, HostRead, KeyId, Role, Shape, composites, conformance::with_device};
use std::sync::Arc;

/// Widths of the chain and of special primes, primes a digit, batches of the argument and of the key.
struct Case {
    chain: Vec<u32>,
    special: Vec<u32>,
    digit: usize,
    batches: [usize; 2],
}

fn case(chain: &[u32], special: &[u32], digit: usize, batches: [usize; 2]) -> Case {
    Case { chain: chain.to_vec(), special: special.to_vec(), digit, batches }
}

fn words(dev: &Cuda, pair: &[CudaPoly; 2]) -> [Vec<u64>; 2] {
    pair.each_ref().map(|half| dev.download(half).unwrap())
}

fn compare(dev: &Cuda, case: &Case) {
    let widths = [&case.chain[..], &case.special].concat();
    let ring = ring(dev, 10, &widths);
    let (limbs, all) = (case.chain.len(), widths.len());
    let (chain, special) = (Basis::range(0, limbs), Basis::range(limbs, all));
    let digits: Vec<Basis> =
        (0..limbs).step_by(case.digit).map(|i| Basis::range(i, (i + case.digit).min(limbs))).collect();
    let [batch, keys] = case.batches;
    let wide = Shape::eval(&ring, ring.full()).with_batch(keys);
    let part = |label| random(dev, &wide, Role::EvaluationKey(KeyId(1)), label);
    let pairs = (0..digits.len() as u64).map(|i| [part(2 * i), part(2 * i + 1)]).collect();
    let key = GadgetKey { digits, special, pairs };
    let own = Shape::eval(&ring, chain);
    let [c, b, a] = [(batch, 70), (batch.max(keys), 71), (1, 72)]
        .map(|(batch, label)| random(dev, &own.with_batch(batch), Role::Ciphertext, label));
    let want = words(dev, &composites::key_switch(dev, &c, &key));
    assert!(words(dev, &dev.key_switch(&c, &key)) == want);
    let ontos = [[None, None], [Some(&b), Some(&a)], [None, Some(&b)]];
    for (i, to) in [chain, Basis::range(0, limbs - 1), Basis::range(0, limbs.div_ceil(2))].into_iter().enumerate() {
        // Where limbs are many, which takes seconds on the host, each of either kind and not each pair.
        for &onto in if limbs < 25 { &ontos[..] } else { &ontos[i..=i] } {
            let want = words(dev, &composites::key_switch_onto(dev, &c, &key, onto, to));
            assert!(words(dev, &dev.key_switch_onto(&c, &key, onto, to)) == want, "onto {to:?}");
        }
    }
    assert_eq!(dev.sync(), Ok(()));
}

fn cases() -> Vec<Case> {
    vec![
        case(&[50; 25], &[55; 5], 5, [1, 1]),
        case(&[49; 25], &[50; 5], 5, [2, 1]),
        case(&[40, 31, 50, 61], &[60], 1, [7, 1]),
        case(&[45; 4], &[50; 2], 2, [1, 3]),
        case(&[45; 4], &[50; 2], 2, [40, 40]),
        case(&[50; 3], &[50; 4], 3, [3, 1]),
        case(&[31; 50], &[31; 30], 1, [1, 1]),
    ]
}

#[test]
fn key_switches_equal_their_default_bodies() {
    with_device("c++", || host(MEMORY), |dev| cases().iter().for_each(|case| compare(&dev, case)));
}

/// Room for no key and an area for a few limbs of one, for none, or for two keys.
#[test]
fn keys_over_the_bus_switch_alike() {
    for staging_bytes in [0, 100 << 10, 8 << 20] {
        let room = KeyRoom { resident_bytes: 0, staging_bytes };
        let open = || Some(Cuda::on(Arc::new(Host::new(MEMORY)?), room, Replay::Steady));
        with_device("c++", open, |dev| {
            compare(&dev, &case(&[50; 25], &[55; 5], 5, [2, 1]));
            compare(&dev, &case(&[45; 4], &[50; 2], 2, [7, 1]));
            assert!(dev.memory().host_bytes > 0 && (staging_bytes == 0 || dev.memory().copied_bytes > 0));
        });
    }
}
