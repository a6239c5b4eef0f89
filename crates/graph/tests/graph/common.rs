//! Programs that several tests record.

use limbwise_device::{Basis, Device, GadgetKey, Handle, KeyId, Ring, RingSpec, Role, Shape};
use limbwise_math::{galois::GaloisElement, prime::ntt_primes_below};

/// A ring of `q + p` primes.
pub(crate) fn ring<D: Device>(dev: &D, log_n: u32, primes: usize) -> Ring {
    dev.ring(&RingSpec { log_n, primes: ntt_primes_below(log_n, 50, primes, &[]).unwrap() }).unwrap()
}

/// A declared key over QP: one pair a digit of `alpha` limbs, P being the last `alpha` primes.
pub(crate) fn key<D: Device>(dev: &D, ring: &Ring, alpha: usize, id: u32) -> GadgetKey<D::Poly> {
    let limbs = ring.full().len() - alpha;
    let digits: Vec<Basis> = (0..limbs).step_by(alpha).map(|i| Basis::range(i, (i + alpha).min(limbs))).collect();
    let part = || dev.upload(&Shape::eval(ring, ring.full()), Role::EvaluationKey(KeyId(id)), &|_, _| unreachable!());
    let pairs = digits.iter().map(|_| [part(), part()]).collect();
    GadgetKey { digits, special: Basis::range(limbs, limbs + alpha), pairs }
}

/// A rotation by one slot, as schemes write it.
pub(crate) fn rotate<D: Device>(dev: &D, ct: &[D::Poly; 2], key: &GadgetKey<D::Poly>) -> [D::Poly; 2] {
    let _region = dev.region("rotate", 0);
    let g = GaloisElement::rotation(1, ct[0].shape().ring.log_n());
    let [c0, c1] = [0, 1].map(|i| dev.automorphism(&ct[i], g));
    let [b, a] = dev.key_switch(&c1, key);
    [dev.add(&c0, &b), a]
}

/// An input ciphertext over the primes that no key part keeps for itself.
pub(crate) fn ciphertext<D: Device>(dev: &D, ring: &Ring, basis: Basis) -> [D::Poly; 2] {
    [0, 1].map(|_| dev.upload(&Shape::eval(ring, basis), Role::Ciphertext, &|_, _| unreachable!()))
}
