//! The model of the device `cuda`: bytes or instructions, what one pass does charged once.

use crate::programs::{self, input, open};
use limbwise_device::{Basis, Device, Domain, Gadget, Ggsw, KeyId, LweShape, Role, Shape};
use limbwise_graph::Graph;
use limbwise_machines::{Spec, check::check, machine, time};
use limbwise_math::galois::GaloisElement;

/// Bytes decide: a byte a nanosecond, instructions and launches almost free.
const BYTES: [(&str, &str); 7] = [
    ("device.memory_gb_s", "1"),
    ("short.butterfly_slots", "1e-6"),
    ("short.word_slots", "1e-6"),
    ("short.term_slots", "1e-6"),
    ("short.target_slots", "1e-6"),
    ("short.product_slots", "1e-6"),
    ("assumed.launch_ns", "0"),
];
/// Instructions decide, those of floating point for the primes of 50 bits that these programs have: 64 multiprocessors of 64 at 1 GHz, 4096 a nanosecond.
const SLOTS: [(&str, &str); 7] = [
    ("device.multiprocessors", "64"),
    ("device.memory_gb_s", "1e9"),
    ("short.butterfly_slots", "8"),
    ("short.word_slots", "16"),
    ("short.product_slots", "32"),
    ("assumed.clock_mhz", "1000"),
    ("assumed.launch_ns", "0"),
];

fn nanoseconds(graph: &Graph, overrides: &[(&str, &str)]) -> f64 {
    let spec = Spec::load("cuda").unwrap().with_overrides(overrides).unwrap();
    let machine = machine::open(&spec).unwrap();
    assert_eq!(check(graph, &*machine, &machine.schedule(graph).unwrap()), Ok(()));
    time(graph, &spec).unwrap().seconds * 1e9
}

fn close(got: f64, wanted: f64) {
    assert!((got / wanted - 1.0).abs() < 1e-5, "{got} ns, wanted {wanted}");
}

#[test]
fn a_key_switch_moves_each_limb_as_often_as_its_launches_do() {
    let limb = f64::from(8 << 16);
    // To coefficients, two passes; four digits of 6 limbs to the 24 others; these to values; digits once for both halves,
    // with their keys, and the sums written once; both halves divided by 6 primes, where the transform reads the dividend.
    let (raise, product) = (24 * 4 + 4 * (6 + 24) + 4 * 24 * 4, 4 * (30 + 2 * 30) + 2 * 30);
    let divide = 2 * (6 * 4 + 6 + 24 + 24 * 5);
    let rotate = 2 * 2 * 24 + 3 * 24;
    close(nanoseconds(&programs::rotations(1), &BYTES), limb * f64::from(raise + product + divide + rotate));
}

#[test]
fn a_transform_takes_its_butterflies() {
    let (dev, ring) = open(16, 3);
    let a = input(&dev, &ring, 3, Role::Ciphertext);
    let b = dev.intt(a);
    let graph = dev.graph();
    drop(b);
    let words = f64::from(1 << 16);
    let slots = 3.0 * words * (8.0 * 16.0 / 2.0 + 16.0);
    close(nanoseconds(&graph, &SLOTS), slots / 4096.0);
    let longer =
        [&SLOTS[..], &[("device.short_bits", "40"), ("long.butterfly_slots", "80"), ("long.word_slots", "160")]];
    close(nanoseconds(&graph, &longer.concat()), 10.0 * slots / 4096.0);
    let slowed = [&SLOTS[..], &[("slowdown.transform_factor", "3")]];
    close(nanoseconds(&graph, &slowed.concat()), 3.0 * slots / 4096.0);
}

/// Blind rotations of so many ciphertexts, three steps, two digits.
fn rotation(log_n: u32, batch: usize) -> Graph {
    let (dev, ring) = open(log_n, 1);
    let shape = Shape::eval(&ring, ring.full());
    let part = |_| dev.upload(&shape.with_batch(3), Role::BootstrapKey(KeyId(0)), &|_, _| unreachable!());
    let rows = (0..4).map(|_| (0..2).map(part).collect()).collect();
    let key = Ggsw { gadget: Gadget { base_log: 8, levels: 2 }, rows };
    let exponents = LweShape { dimension: 3, modulus: 2 << log_n, batch };
    let exponents = dev.upload_lwe(exponents, Role::Ciphertext, &|_, _| unreachable!());
    let test = dev.upload(&shape.with_domain(Domain::Coeff), Role::Plaintext, &|_, _| unreachable!());
    let rotated = dev.blind_rotate(&test, &exponents, &key);
    let graph = dev.graph();
    drop((rotated, key));
    graph
}

#[test]
fn a_blind_rotation_takes_a_multiprocessor_a_ciphertext() {
    let step = |log_n: u32| {
        let words = f64::from(1u32 << log_n);
        // Four digits and two results transformed, eight products.
        6.0 * words * 8.0 * f64::from(log_n) / 2.0 + 8.0 * words * 32.0
    };
    for (batch, turns) in [(1, 1.0), (64, 1.0), (65, 2.0), (640, 10.0)] {
        close(nanoseconds(&rotation(10, batch), &SLOTS), turns * 3.0 * step(10) / 64.0);
    }
    // What shared memory does not hold is made operation by operation, on the whole GPU.
    let large = nanoseconds(&rotation(13, 64), &SLOTS);
    let transforms = 64.0 * 3.0 * 6.0 * f64::from(1 << 13) * (8.0 * 13.0 / 2.0 + 16.0) / 4096.0;
    assert!((1.0..1.1).contains(&(large / transforms)), "{large} ns, transforms {transforms}");
}

#[test]
fn nothing_is_shorter_than_its_launch() {
    let (dev, ring) = open(10, 1);
    let a = input(&dev, &ring, 1, Role::Ciphertext);
    let b = dev.automorphism(&dev.add(&dev.restrict(&a, Basis::single(0)), &a), GaloisElement::conjugation(10));
    let graph = dev.graph();
    drop(b);
    close(nanoseconds(&graph, &[("assumed.launch_ns", "5000")]), 10_000.0);
}
