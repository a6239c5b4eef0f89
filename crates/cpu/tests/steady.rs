//! A steady loop asks the operating system for no memory, and touches none that it has not touched before.

use limbwise_cpu::{Cpu, Isa};
use limbwise_device::{Basis, Device, GadgetKey, Handle as _, RingSpec, Role, Shape, Terms, Weight};
use limbwise_math::{galois::GaloisElement, prime::ntt_primes_below};

type Poly = <Cpu as Device>::Poly;

const LOG_N: u32 = 14;

/// Multiply, relinearize and rescale, apply a linear map by hoisted rotations, rescale, rotate: what programs repeat.
fn step(dev: &Cpu, [c0, c1]: &[Poly; 2], key: &GadgetKey<Poly>, limb: &Poly) -> [Poly; 2] {
    let (basis, special) = (c0.shape().basis, key.special);
    let g = GaloisElement::rotation(1, LOG_N);
    let mut middle = dev.mul(c0, c1);
    dev.add_assign(&mut middle, &dev.mul(c1, c0));
    let onto = [dev.mul(c0, c0), middle];
    let less = basis - Basis::single(basis.len() - 1);
    let product = dev.key_switch_onto(&dev.mul(c1, c1), key, onto.each_ref().map(Some), less);
    let [d0, d1] = product.each_ref();
    let cut = |digit: &Basis| *digit & less;
    let pairs = key.pairs.iter().map(|pair| pair.each_ref().map(|half| dev.restrict(half, less | special))).collect();
    let key = GadgetKey { digits: key.digits.iter().map(cut).collect(), special, pairs };
    let raised = dev.mod_up(d1, &key.digits, less | special);
    let hoisted = dev.gadget_product(&raised, &key).map(|half| dev.mod_down(&half, less));
    let babies = [dev.stack(&[d0, d1]), dev.stack(&hoisted.each_ref())];
    let terms: Vec<Terms<'_, Poly>> = vec![vec![(0, Weight::OneLimb(limb)), (1, Weight::Values(d0))]];
    let sum = dev.weighted_sums(&babies, &terms).remove(0);
    let [s0, s1] = [0, 1].map(|half| dev.split(&sum, half, half + 1));
    let moved = dev.automorphism(&s0, g);
    let rotated = dev.key_switch_onto(&dev.automorphism(&s1, g), &key, [Some(&moved), None], less);
    rotated.map(|half| dev.rescale(&half, less - Basis::single(less.len() - 1)))
}

#[test]
fn the_second_time_no_memory_is_new() {
    for threads in [1, 2] {
        let dev = Cpu::new(Isa::best(), threads).unwrap();
        let primes = ntt_primes_below(LOG_N, 48, 11, &[]).unwrap();
        let ring = dev.ring(&RingSpec { log_n: LOG_N, primes }).unwrap();
        let (basis, special) = (Basis::range(0, 8), Basis::range(8, 11));
        let some = |shape: Shape| dev.upload(&shape, Role::Temporary, &|at, row| row.fill(at.modulus.value() / 3));
        let c = [0, 1].map(|_| some(Shape::eval(&ring, basis)));
        let limb = dev.intt(some(Shape::eval(&ring, Basis::single(0))));
        let digits: Vec<Basis> = (0..3).map(|i| Basis::range(3 * i, 3 * i + 3) & basis).collect();
        let pairs = digits.iter().map(|_| [0, 1].map(|_| some(Shape::eval(&ring, ring.full())))).collect();
        let key = GadgetKey { digits, special, pairs };
        let before = dev.memory();
        drop(step(&dev, &c, &key, &limb));
        let first = (dev.memory(), dev.scratch());
        assert!(
            first.0.allocations > before.allocations && first.1.mapped_bytes > 0,
            "the first time takes what it needs"
        );
        for _ in 0..3 {
            drop(step(&dev, &c, &key, &limb));
        }
        assert_eq!((dev.memory(), dev.scratch()), first);
    }
}
