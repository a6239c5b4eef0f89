//! All sets of kernels keep every promise of the device crate, alone, on two threads, and in lockstep.

use limbwise_cpu::{Cpu, Isa};
use limbwise_device::{
    Basis, Checked, Device, HostRead, Hybrid, KeyId, Lockstep, LweShape, RingSpec, Role, Shape,
    conformance::{Reach, random_program, random_tfhe_program, with_device},
    conformance_suite,
    hybrid::{Assignment, Half},
    primitives_suite,
};
use limbwise_math::{galois::GaloisElement, prime::ntt_primes_below};
use proptest::prelude::*;

fn open(isa: Isa, threads: usize) -> Option<Cpu> {
    isa.is_available().then(|| Cpu::new(isa, threads).expect("available"))
}

/// A vector device beside the scalar one.
fn lockstep(isa: Isa) -> Option<Lockstep<Cpu, Cpu>> {
    Some(Lockstep { trusted: open(Isa::Scalar, 1)?, tested: open(isa, 2)? })
}

/// Two devices with a program between them.
fn hybrid(assignment: Assignment) -> Option<Hybrid<Cpu, Cpu>> {
    let dev = Hybrid::new(open(Isa::Scalar, 1)?, open(Isa::Scalar, 2)?);
    dev.assign(assignment);
    dev.begin();
    Some(dev)
}

conformance_suite!(
    hybrid_in_turn,
    "scalar",
    || hybrid(Assignment::Turns),
    Reach { log_n: 11, rotations: 2, ..Reach::default() }
);
conformance_suite!(
    hybrid_away,
    "scalar",
    || hybrid(Assignment::Whole(Half::Away)),
    Reach { log_n: 11, rotations: 2, ..Reach::default() }
);
conformance_suite!(scalar, "scalar", || open(Isa::Scalar, 1));
conformance_suite!(avx2, "avx2", || open(Isa::Avx2, 1));
conformance_suite!(avx512, "avx512", || open(Isa::Avx512, 1));
conformance_suite!(ifma, "ifma", || open(Isa::Ifma, 1));
conformance_suite!(avx2_two_threads, "avx2", || open(Isa::Avx2, 2).map(Checked));
conformance_suite!(avx512_two_threads, "avx512", || open(Isa::Avx512, 2).map(Checked));
conformance_suite!(ifma_two_threads, "ifma", || open(Isa::Ifma, 2).map(Checked));
primitives_suite!(lockstep_avx2, "avx2", || lockstep(Isa::Avx2), Reach::default());
primitives_suite!(lockstep_avx512, "avx512", || lockstep(Isa::Avx512), Reach::default());
primitives_suite!(lockstep_ifma, "ifma", || lockstep(Isa::Ifma), Reach::default());

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Arbitrary programs, compared operation by operation, contracts checked on the way.
    #[test]
    fn random_programs_agree(script in prop::collection::vec(any::<(u8, u8, u8)>(), 1..40), large in any::<bool>()) {
        for isa in Isa::VECTORS {
            with_device(isa.name(), || lockstep(isa), |dev| {
                let (log_n, dev) = (if large { 13 } else { 10 }, Checked(dev));
                let mut primes = ntt_primes_below(log_n, 49, 2, &[]).unwrap();
                for bits in [50, 30, 61] {
                    primes.extend(ntt_primes_below(log_n, bits, 1, &primes).unwrap());
                }
                let ring = dev.ring(&RingSpec { log_n, primes }).unwrap();
                random_program(&dev, &ring, &script);
            });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    /// The same for TFHE's operations, through every kind of kernel.
    #[test]
    fn random_tfhe_programs_agree(
        script in prop::collection::vec(any::<(u8, u8)>(), 1..20),
        (log_n, bits) in prop::sample::select(vec![(10, 48), (11, 50), (11, 32), (12, 49), (10, 60)]),
    ) {
        for isa in Isa::VECTORS {
            with_device(isa.name(), || lockstep(isa), |dev| {
                let dev = Checked(dev);
                let primes = ntt_primes_below(log_n, bits, 1, &[]).unwrap();
                let ring = dev.ring(&RingSpec { log_n, primes }).unwrap();
                random_tfhe_program(&dev, &ring, &script);
            });
        }
    }
}

/// A loop that has found its buffers takes no more of them.
#[test]
fn a_steady_loop_does_not_allocate() {
    let dev = Cpu::new(Isa::best(), 2).unwrap();
    let primes = ntt_primes_below(13, 49, 4, &[]).unwrap();
    let ring = dev.ring(&RingSpec { log_n: 13, primes }).unwrap();
    let a = dev.zeros(&Shape::eval(&ring, ring.full()));
    let step = || dev.ntt(dev.intt(dev.mul(&dev.add(&a, &a), &a)));
    step();
    let before = dev.memory();
    (0..10).for_each(|_| drop(step()));
    assert_eq!(dev.memory(), before);
}

/// Words that a large prime left in the padding of a recycled limb do not grow under a small one.
#[test]
fn padding_stays_reduced() {
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        let dev = Cpu::new(isa, 1).unwrap();
        let [large, small] = [61, 20].map(|bits| {
            dev.ring(&RingSpec { log_n: 13, primes: ntt_primes_below(13, bits, 1, &[]).unwrap() }).unwrap()
        });
        let shape = |ring| Shape::eval(ring, Basis::single(0));
        let q = large.moduli()[0].value();
        drop((0..8).map(|_| dev.shift_limbs(dev.zeros(&shape(&large)), &[q - 1])).collect::<Vec<_>>());
        let mut a = dev.upload(&shape(&small), Role::Temporary, &|_, row| row.fill(1));
        for _ in 0..8 {
            a = dev.automorphism(&dev.add(&a, &a), GaloisElement::rotation(1, 13));
        }
        assert!(dev.download(&a).unwrap().iter().all(|&x| x == 256)); // with overflow checks on in tests
    }
}

#[test]
fn opening_refuses_what_is_not_there() {
    let refused = Cpu::builder().isa("sse9").threads(1).open().err().map(|e| e.to_string());
    let expected = format!(
        "instruction set \"sse9\" is not available: this CPU runs {}",
        Isa::ALL.into_iter().filter(|isa| isa.is_available()).map(Isa::name).collect::<Vec<_>>().join(", ")
    );
    assert_eq!(refused, Some(expected));
    assert_eq!(Cpu::builder().isa("scalar").threads(3).open().unwrap().threads(), 3);
}

/// Sums of rows for a large batch are those of each entry, whatever the modulus: entries are taken in groups.
#[test]
fn sums_of_rows_of_a_large_batch_are_those_of_its_entries() {
    let words = |shape: LweShape, seed: u64| {
        let word = move |at: usize| (at as u64 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) % shape.modulus;
        move |entry: usize, out: &mut [u64]| {
            let length = out.len();
            out.iter_mut().enumerate().for_each(|(i, x)| *x = word(entry * length + i));
        }
    };
    for threads in [1, 2] {
        let dev = Cpu::new(Isa::best(), threads).unwrap();
        for modulus in [1 << 32, 1 << 47, (1 << 47) - 115] {
            let shape = LweShape { dimension: 40, modulus, batch: 300 };
            let a = dev.upload_lwe(shape, Role::Temporary, &words(shape, 1));
            let of_rows = LweShape { dimension: 600, modulus, batch: shape.dimension };
            let rows = dev.upload_lwe(of_rows, Role::EvaluationKey(KeyId(0)), &words(of_rows, 2));
            let all = dev.download_lwe(&dev.lwe_product(&a, &rows)).unwrap();
            for entry in 0..shape.batch {
                let alone = dev.lwe_product(&dev.lwe_split(&a, entry, entry + 1), &rows);
                let wanted = dev.download_lwe(&alone).unwrap();
                assert_eq!(all[entry * of_rows.words()..][..of_rows.words()], wanted, "entry {entry} modulo {modulus}");
            }
        }
    }
}
