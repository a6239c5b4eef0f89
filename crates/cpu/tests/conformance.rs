//! Both sets of kernels keep every promise of the device crate, alone, on two threads, and in lockstep.

use limbwise_cpu::{Cpu, Isa};
use limbwise_device::{
    Checked, Device, Lockstep, RingSpec,
    conformance::{random_program, with_device},
    conformance_suite,
};
use limbwise_math::prime::ntt_primes_below;
use proptest::prelude::*;

fn open(isa: Isa, threads: usize) -> Option<Cpu> {
    isa.is_available().then(|| Cpu::new(isa, threads).expect("available"))
}

conformance_suite!(scalar, "scalar", || open(Isa::Scalar, 1));
conformance_suite!(ifma, "ifma", || open(Isa::Ifma, 1));
conformance_suite!(ifma_two_threads, "ifma", || open(Isa::Ifma, 2).map(Checked));
conformance_suite!(lockstep, "ifma", || Some(Lockstep { trusted: open(Isa::Scalar, 1)?, tested: open(Isa::Ifma, 2)? }));

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Arbitrary programs, compared operation by operation, contracts checked on the way.
    #[test]
    fn random_programs_agree(script in prop::collection::vec(any::<(u8, u8, u8)>(), 1..40), large in any::<bool>()) {
        let both = || Some(Lockstep { trusted: open(Isa::Scalar, 1)?, tested: open(Isa::Ifma, 2)? });
        with_device("ifma", both, |dev| {
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

/// A loop that has found its buffers takes no more of them.
#[test]
fn a_steady_loop_does_not_allocate() {
    let dev = Cpu::new(Isa::best(), 2).unwrap();
    let primes = ntt_primes_below(13, 49, 4, &[]).unwrap();
    let ring = dev.ring(&RingSpec { log_n: 13, primes }).unwrap();
    let a = dev.zeros(&limbwise_device::Shape::eval(&ring, ring.full()));
    let step = || dev.ntt(dev.intt(dev.mul(&dev.add(&a, &a), &a)));
    step();
    let before = dev.memory();
    (0..10).for_each(|_| drop(step()));
    assert_eq!(dev.memory(), before);
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
