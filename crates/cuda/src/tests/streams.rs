//! Keys in the host's memory and the copy stream that brings them, in orders that streams and events allow.

use super::{MEMORY, gpu, mock_driver, programs_agree, random, ring};
use crate::{
    Cuda, KeyRoom, Replay,
    driver::Stream,
    host::Host,
    turns::Order::{self, AsAsked, CopyEarly, CopyLate, Random},
};
use limbwise_cpu::{Cpu, Isa};
use limbwise_device::{
    Basis, Checked, Device, Gadget, GadgetKey, Ggsw, HostRead, KeyId, Lockstep, LweShape, LweSwitchKey, Ring, Role,
    Shape,
    conformance::{Reach, with_device},
    conformance_suite,
};
use std::sync::Arc;

/// Bytes of a row of the rings here.
const ROW: u64 = 8 << 10;
/// Rows of a key of the rings here: two digits, two halves, seven limbs.
const KEY: u64 = 2 * 2 * 7 * ROW;

/// A device that holds no key, with an area of so many bytes.
fn far(host: Host, staging_bytes: u64) -> (Cuda, Arc<Host>) {
    let host = Arc::new(host);
    (Cuda::on(host.clone(), KeyRoom { resident_bytes: 0, staging_bytes }, Replay::Steady), host)
}

fn ordered(order: Order, staging_bytes: u64) -> Option<Cuda> {
    Some(far(Host::new(MEMORY)?.order(order), staging_bytes).0)
}

conformance_suite!(
    streamed_keys,
    "c++",
    || ordered(Random(1), 1 << 20).map(Checked),
    Reach { log_n: 12, rotations: 4, ..Reach::default() }
);

conformance_suite!(gpu_streamed_keys, "cuda", || on_a_gpu(1 << 20).map(Checked), mock_driver::reach());

/// A GPU, where there is one, that holds no key.
fn on_a_gpu(staging_bytes: u64) -> Option<Cuda> {
    gpu(Cuda::builder().key_bytes(0).staging_bytes(staging_bytes))
}

#[test]
fn every_area_agrees_on_a_gpu() {
    with_device(
        "cuda",
        || on_a_gpu(0),
        |dev| {
            let want = switches(&dev, Role::Temporary);
            for staging_bytes in [0, 3 * ROW, KEY - ROW, KEY, 2 * KEY, 4 * KEY] {
                dev.limit_keys(KeyRoom { resident_bytes: 0, staging_bytes });
                (0..mock_driver::times(20)).for_each(|_| assert!(switches(&dev, FAR) == want, "{staging_bytes} bytes"));
                assert_eq!(dev.memory().staging_bytes, staging_bytes);
            }
        },
    );
}

/// Areas from next to nothing to more than all keys.
#[test]
fn arbitrary_programs_agree_in_any_order() {
    for (order, staging_bytes) in [(CopyLate, 1 << 20), (CopyEarly, 5 * ROW), (Random(2), 24 * ROW)] {
        let cpu = || Cpu::new(Isa::Scalar, 1).expect("scalar");
        let both = || Some(Lockstep { trusted: cpu(), tested: ordered(order, staging_bytes)? });
        with_device("c++", both, |dev| programs_agree(3, dev));
    }
}

/// Six limbs and a special one, in two digits.
fn ring_of(dev: &Cuda) -> Ring {
    ring(dev, 10, &[50, 50, 50, 50, 50, 50, 51])
}

fn key(dev: &Cuda, ring: &Ring, role: Role, label: u64) -> GadgetKey<crate::CudaPoly> {
    let wide = Shape::eval(ring, ring.full());
    let pair = |label: u64| [0, 1].map(|half| random(dev, &wide, role, label + half));
    let digits = vec![Basis::range(0, 3), Basis::range(3, 6)];
    GadgetKey { digits, special: Basis::single(6), pairs: vec![pair(label), pair(label + 2)] }
}

const FAR: Role = Role::EvaluationKey(KeyId(0));

fn ciphertext(dev: &Cuda, ring: &Ring, batch: usize) -> crate::CudaPoly {
    random(dev, &Shape::eval(ring, Basis::range(0, 6)).with_batch(batch), Role::Ciphertext, 99)
}

/// Switches with each key of three in turn, so that each overwrites what another has read, and adds between them.
fn switches(dev: &Cuda, role: Role) -> Vec<u64> {
    let ring = ring_of(dev);
    let keys: Vec<_> = (0..3).map(|i| key(dev, &ring, role, 10 * i)).collect();
    let mut c = ciphertext(dev, &ring, 1);
    for i in 0..9 {
        let [b, a] = dev.key_switch(&c, &keys[i % 3]);
        c = dev.add(&dev.add(&b, &a), &c);
    }
    dev.download(&c).unwrap()
}

/// The same words in every order and with every area, and each is one in which a wait that is left out would show.
#[test]
fn every_wait_is_needed() {
    with_device(
        "c++",
        || Host::new(MEMORY).map(|host| far(host, 0).0),
        |dev| {
            let want = switches(&dev, Role::Temporary);
            assert_eq!(dev.memory().copied_bytes, 0);
            let host = || Host::new(MEMORY).expect("there was one");
            for order in [AsAsked, CopyLate, CopyEarly, Random(3), Random(4)] {
                for staging_bytes in [0, 3 * ROW, KEY - ROW, 2 * KEY, 4 * KEY] {
                    let (dev, _) = far(host().order(order), staging_bytes);
                    assert!(switches(&dev, FAR) == want, "{order:?} with {staging_bytes} bytes");
                    let memory = dev.memory();
                    assert!(memory.host_bytes > 0 && memory.staging_bytes == staging_bytes);
                }
            }
            for (deaf, order) in [(Stream::Compute, CopyLate), (Stream::Copy, CopyEarly)] {
                let (dev, _) = far(host().order(order).deaf(deaf), KEY);
                assert!(switches(&dev, FAR) != want, "{deaf:?} waits for nothing");
            }
        },
    );
}

/// A key switch copies the limbs that it needs, once, whatever the batch; what is still there is not copied again.
#[test]
fn what_is_copied_is_what_is_needed() {
    with_device(
        "c++",
        || ordered(Random(5), 2 * KEY),
        |dev| {
            let ring = ring_of(&dev);
            let copied = || dev.memory().copied_bytes;
            let [first, second, third] = [0, 10, 20].map(|label| key(&dev, &ring, FAR, label));
            let lower = |c: &crate::CudaPoly, key: &GadgetKey<_>| {
                let (to, special) = (Basis::range(0, 4), key.special);
                let pairs = key.pairs.iter().map(|pair| pair.each_ref().map(|p| dev.restrict(p, to | special)));
                let digits = vec![Basis::range(0, 3), Basis::single(3)];
                drop(dev.key_switch(&dev.restrict(c, to), &GadgetKey { digits, special, pairs: pairs.collect() }));
            };
            let c = ciphertext(&dev, &ring, 3);
            lower(&c, &first);
            assert_eq!(copied(), 2 * 2 * 5 * ROW);
            drop(dev.key_switch(&c, &first));
            assert_eq!(copied(), KEY);
            lower(&c, &first);
            drop(dev.key_switch(&c, &second));
            drop(dev.key_switch(&c, &first));
            assert_eq!(copied(), 2 * KEY);
            drop(dev.key_switch(&c, &third)); // in place of the oldest
            drop(dev.key_switch(&c, &second));
            assert_eq!(copied(), 3 * KEY);
            drop(first);
            let fourth = key(&dev, &ring, FAR, 30); // where the first lay
            let want = dev.key_switch(&c, &key(&dev, &ring, Role::Temporary, 30)).map(|half| dev.download(&half));
            assert_eq!(dev.key_switch(&c, &fourth).map(|half| dev.download(&half)), want);
            assert_eq!(dev.sync(), Ok(()));
        },
    );
}

/// Keys of TFHE cross the bus once for a batch; what is larger than the area is not copied.
#[test]
fn keys_of_bootstrapping_are_copied_whole_or_not() {
    let (steps, batch) = (5, 3);
    let rows_shape = LweShape { dimension: 6, modulus: 1 << 32, batch: 24 };
    let (bootstrap, switch) = (4 * steps as u64 * ROW, 8 * 24 * 7);
    let used = |dev: Cuda| {
        let ring = ring(&dev, 10, &[48]);
        let shape = Shape::eval(&ring, ring.full());
        let row = |r: u64| {
            (0..2).map(|c| random(&dev, &shape.with_batch(steps), Role::BootstrapKey(KeyId(1)), 2 * r + c)).collect()
        };
        let gadget = Gadget { base_log: 16, levels: 1 };
        let key = Ggsw { gadget, rows: (0..2).map(row).collect() };
        let test = random(&dev, &shape.with_domain(limbwise_device::Domain::Coeff), Role::Temporary, 1);
        let counting = |factor: u64| {
            move |entry: usize, out: &mut [u64]| (entry as u64..).zip(out).for_each(|(i, x)| *x = i * factor % 2048)
        };
        let exponents = LweShape { dimension: steps, modulus: 2048, batch };
        let exponents = dev.upload_lwe(exponents, Role::Temporary, &counting(77));
        let rotated = dev.blind_rotate(&test, &exponents, &key);
        let a = LweShape { dimension: 12, modulus: 1 << 32, batch };
        let a = dev.upload_lwe(a, Role::Temporary, &counting(1 << 20));
        let gadget = Gadget { base_log: 8, levels: 2 };
        let key = LweSwitchKey { gadget, rows: dev.upload_lwe(rows_shape, FAR, &counting(1_234_567)) };
        let switched = dev.lwe_key_switch(&a, &key);
        let words: Vec<_> = rotated.iter().map(|part| dev.download(part).unwrap()).collect();
        (words, dev.download_lwe(&switched).unwrap(), dev.memory().copied_bytes)
    };
    with_device(
        "c++",
        || ordered(CopyLate, 1 << 20),
        |dev| {
            let (words, switched, copied) = used(dev);
            assert_eq!(copied, bootstrap + switch);
            let (again, and_again, copied) = used(ordered(CopyLate, bootstrap / 2).expect("there was one"));
            assert!(again == words && and_again == switched);
            assert!((switch..bootstrap).contains(&copied), "{copied}");
        },
    );
}

/// A copy is done before operations that were asked for earlier, while there is room; then when its room is free.
#[test]
fn copies_go_ahead_of_operations() {
    with_device(
        "c++",
        || Some(far(Host::new(MEMORY)?.order(CopyEarly), 2 * KEY)),
        |(dev, host)| {
            let ring = ring_of(&dev);
            let c = ciphertext(&dev, &ring, 1);
            let keys: Vec<_> = (0..4).map(|i| key(&dev, &ring, FAR, 10 * i)).collect();
            drop(dev.key_switch(&c, &keys[3])); // takes the area
            dev.sync().unwrap();
            let before = host.done();
            let since = || [0, 1].map(|i| host.done()[i] - before[i]);
            (0..5).for_each(|_| drop(dev.add(&c, &c)));
            drop(dev.key_switch(&c, &keys[0]));
            let [launches, one_key] = since();
            assert!(launches == 0 && one_key > 0, "no launch is done, and all copies are");
            drop(dev.key_switch(&c, &keys[1]));
            let [_, held] = since();
            assert!(held > one_key, "a second key overwrites what was read long ago");
            drop(dev.key_switch(&c, &keys[2]));
            assert_eq!(since(), [0, held], "a third one waits for launches that are not done");
            dev.sync().unwrap();
            assert!(since()[0] > 5 && since()[1] > held);
        },
    );
}

/// Nothing of a key is left when it has been dropped and the device scrubbed; and the area still serves.
#[test]
fn the_area_is_scrubbed() {
    with_device(
        "c++",
        || Some(far(Host::new(MEMORY)?.order(CopyEarly), 2 * KEY)),
        |(dev, host)| {
            let ring = ring_of(&dev);
            let (c, key) = (ciphertext(&dev, &ring, 1), key(&dev, &ring, FAR, 1));
            let switched = || dev.key_switch(&c, &key).map(|half| dev.download(&half).unwrap());
            let (want, words) = (switched(), dev.download(&key.pairs[1][1]).unwrap());
            let some = [words[600], words[601]];
            dev.scrub();
            assert!(switched() == want && dev.memory().copied_bytes == 2 * KEY);
            dev.sync().unwrap();
            assert!(host.holds(some));
            drop(key);
            dev.scrub();
            dev.sync().unwrap();
            assert!(!host.holds(some));
        },
    );
}

/// Where the GPU has no memory for the area, keys are read where they lie: no fault. Another plan may choose another area.
#[test]
fn an_area_that_is_not_to_be_had_is_done_without() {
    with_device(
        "c++",
        || Some(far(Host::new(16 << 20)?, 1 << 30)),
        |(dev, _)| {
            let want = switches(&dev, Role::Temporary);
            assert!(switches(&dev, FAR) == want);
            assert_eq!((dev.memory().staging_bytes, dev.memory().copied_bytes, dev.sync()), (0, 0, Ok(())));
            for bytes in [2 * KEY, KEY, 0] {
                let before = dev.memory().copied_bytes;
                dev.limit_keys(KeyRoom { resident_bytes: 0, staging_bytes: bytes });
                assert!(switches(&dev, FAR) == want);
                assert_eq!(dev.memory().staging_bytes, bytes);
                assert_eq!(dev.memory().copied_bytes > before, bytes > 0);
            }
        },
    );
}

/// Operations that may overwrite their operand take other rows for one in the host's memory.
#[test]
fn keys_are_not_overwritten() {
    with_device(
        "c++",
        || ordered(CopyEarly, 3 * ROW),
        |dev| {
            let ring = ring_of(&dev);
            let shape = Shape::eval(&ring, ring.full());
            let changed = |role: Role| {
                let value = || random(&dev, &shape, role, 5);
                let mut sum = value();
                dev.mul_acc(&mut sum, &value(), &value());
                let many = [sum, dev.neg(value()), dev.scale_limbs(value(), &[3; 7]), dev.ntt(dev.intt(value()))];
                many.map(|poly| dev.download(&poly).unwrap())
            };
            assert!(changed(FAR) == changed(Role::Temporary));
        },
    );
}

/// A copy that fails is a fault, told once; then nothing is left in the area that was not copied.
#[test]
fn a_copy_that_fails_is_a_fault() {
    with_device(
        "c++",
        || Some(far(Host::new(MEMORY)?.order(CopyLate), 2 * KEY)),
        |(dev, host)| {
            let ring = ring_of(&dev);
            let c = ciphertext(&dev, &ring, 1);
            let [near, key] = [Role::Temporary, FAR].map(|role| key(&dev, &ring, role, 1));
            let switched = |key: &GadgetKey<_>| dev.key_switch(&c, key).map(|half| dev.download(&half));
            let want = switched(&near);
            assert!(want.iter().all(Result::is_ok));
            host.fail();
            let gone = dev.key_switch(&c, &key);
            let fault = dev.sync().unwrap_err().to_string();
            assert_eq!(fault, "cuda (kernels on the host) failed: the bus is cut");
            assert_eq!(dev.sync(), Ok(()));
            drop(gone);
            assert!(switched(&key) == want);
            host.fail();
            let told = dev.key_switch(&dev.add(&c, &c), &near).map(|half| dev.download(&half).is_ok());
            assert_eq!(told, [true, true], "nothing is copied for keys of the GPU");
            drop(key);
            let again = self::key(&dev, &ring, FAR, 1);
            assert!(switched(&again)[0].is_err());
            assert!(switched(&again) == want);
        },
    );
}

/// Threads that use different keys take turns.
#[test]
fn threads_share_the_area() {
    with_device(
        "c++",
        || ordered(Random(6), KEY + 3 * ROW),
        |dev| {
            let want = switches(&dev, Role::Temporary);
            std::thread::scope(|threads| {
                let all: Vec<_> = (0..3).map(|_| threads.spawn(|| switches(&dev, FAR))).collect();
                assert!(all.into_iter().all(|thread| thread.join().expect("it ends") == want));
            });
        },
    );
}

/// A plan's room: all for keys that fit; else two of the largest key are staged, if that is no more than an eighth.
#[test]
fn a_room_is_split() {
    let split = |room, keys, largest| {
        let KeyRoom { resident_bytes, staging_bytes } = KeyRoom::split(room, keys, largest);
        (resident_bytes, staging_bytes)
    };
    assert_eq!(split(8000, 8000, 400), (8000, 0));
    assert_eq!(split(8000, 8001, 400), (7200, 800));
    assert_eq!(split(8000, 8001, 501), (7000, 1000));
    assert_eq!(split(0, 1, 1), (0, 0));
}
