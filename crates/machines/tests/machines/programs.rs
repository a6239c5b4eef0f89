//! Programs that several tests time.

use limbwise_device::{Basis, Device, GadgetKey, Handle, KeyId, Null, Ring, RingSpec, Role, Shape};
use limbwise_graph::{Graph, Recorder};
use limbwise_math::{galois::GaloisElement, prime::ntt_primes_below};

pub(crate) type Dev = Recorder<Null>;
pub(crate) type Poly = <Dev as Device>::Poly;

pub(crate) fn open(log_n: u32, primes: usize) -> (Dev, Ring) {
    let dev = Recorder::new(Null::default());
    let primes = ntt_primes_below(log_n, 50, primes, &[]).unwrap();
    let ring = dev.ring(&RingSpec { log_n, primes }).unwrap();
    (dev, ring)
}

pub(crate) fn input(dev: &Dev, ring: &Ring, limbs: usize, role: Role) -> Poly {
    dev.upload(&Shape::eval(ring, Basis::range(0, limbs)), role, &|_, _| unreachable!())
}

pub(crate) fn key(dev: &Dev, ring: &Ring, alpha: usize, id: u32) -> GadgetKey<Poly> {
    let limbs = ring.full().len() - alpha;
    let digits: Vec<Basis> = (0..limbs).step_by(alpha).map(|i| Basis::range(i, (i + alpha).min(limbs))).collect();
    let part = || input(dev, ring, ring.full().len(), Role::EvaluationKey(KeyId(id)));
    let pairs = digits.iter().map(|_| [part(), part()]).collect();
    GadgetKey { digits, special: Basis::range(limbs, limbs + alpha), pairs }
}

pub(crate) fn rotate(dev: &Dev, ct: &[Poly; 2], key: &GadgetKey<Poly>) -> [Poly; 2] {
    let _region = dev.region("rotate", 0);
    let g = GaloisElement::rotation(1, ct[0].shape().ring.log_n());
    let [c0, c1] = [0, 1].map(|i| dev.automorphism(&ct[i], g));
    let [b, a] = dev.key_switch(&c1, key);
    [dev.add(&c0, &b), a]
}

/// ARK's parameters: N = 2^16, ℓ = 23, dnum 4, α = 6; rotations one after another with one key.
pub(crate) fn rotations(count: u32) -> Graph {
    let (dev, ring) = open(16, 30);
    let key = key(&dev, &ring, 6, 7);
    let mut ct = [0, 1].map(|_| input(&dev, &ring, 24, Role::Ciphertext));
    for i in 0..count {
        let _region = dev.region("step", i);
        ct = rotate(&dev, &ct, &key);
    }
    drop(key);
    let graph = dev.graph();
    drop(ct);
    graph
}
