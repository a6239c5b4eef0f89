//! The device keeps every promise of the device crate: interpreted at a small ring, by the closed form at larger ones.

#[cfg(test)]
mod footprint;
#[cfg(test)]
mod schemes;

use limbwise_cpu::{Cpu, Isa};
use limbwise_device::{
    Basis, Checked, Device, Fault, HostRead, Hybrid, Lockstep, RingError, RingSpec, Role, Shape,
    conformance::{Reach, random_program},
    conformance_suite,
    hybrid::{Assignment, Half},
    primitives_suite,
};
use limbwise_math::prime::ntt_primes_below;
use limbwise_upmem::{Mode, ModuliOrder, OpenError, Options, Preset, Sharing, Upmem};
use proptest::prelude::*;

fn cpu() -> Cpu {
    Cpu::new(Isa::Scalar, 1).expect("scalar code runs anywhere")
}

/// Three small ranks.
fn small() -> Options {
    Options { dpus: 5, dpus_per_rank: 2, ..Options::default() }
}

fn open(options: Options) -> Option<Upmem<Cpu>> {
    Some(Upmem::open(cpu(), options).expect("options in their ranges"))
}

// All composites have default bodies.
primitives_suite!(exact, "upmem", || open(small()), Reach { bits: 32, log_n: 10, primes: 4, rotations: 0 });
primitives_suite!(
    closed_form,
    "upmem",
    || open(Options { mode: Mode::ClosedForm, order: ModuliOrder::Sequential, ..small() }),
    Reach { bits: 32, log_n: 12, primes: 5, rotations: 2 }
);

/// Host and DPUs in turn, so that values move all the time.
fn in_turn() -> Option<Hybrid<Cpu, Upmem<Cpu>>> {
    let dev = Hybrid::new(cpu(), open(Options { mode: Mode::ClosedForm, ..small() })?);
    dev.assign(Assignment::Turns);
    dev.begin();
    Some(dev)
}

conformance_suite!(in_turn_with_the_host, "upmem", in_turn, Reach { bits: 32, log_n: 11, primes: 4, rotations: 0 });

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    /// Arbitrary programs beside the scalar CPU, operation by operation, with contracts checked.
    #[test]
    fn random_programs_agree(script in prop::collection::vec(any::<(u8, u8, u8)>(), 1..15), sequential in any::<bool>()) {
        let order = if sequential { ModuliOrder::Sequential } else { ModuliOrder::ByRank };
        let sharing = if sequential { Sharing::Together } else { Sharing::Alone };
        let tested = open(Options { order, sharing, tasklets: 7, ..small() }).unwrap();
        let dev = Checked(Lockstep { trusted: cpu(), tested });
        let mut primes = ntt_primes_below(10, 32, 2, &[]).unwrap();
        primes.extend(ntt_primes_below(10, 27, 1, &[]).unwrap());
        let ring = dev.ring(&RingSpec { log_n: 10, primes }).unwrap();
        random_program(&dev, &ring, &script);
    }
}

#[test]
fn primes_past_32_bits_are_refused_by_name() {
    let dev = open(small()).unwrap();
    let primes = ntt_primes_below(10, 33, 1, &[]).unwrap();
    let refused = dev.ring(&RingSpec { log_n: 10, primes: primes.clone() }).unwrap_err();
    assert_eq!(refused, RingError::PrimeTooLarge { device: "upmem".into(), prime: primes[0], largest: 32 });
}

#[test]
fn options_are_checked() {
    let refused = |options| Upmem::open(cpu(), options).err().map(|e| e.to_string());
    let cases = [
        (Options { dpus: 2561, ..small() }, "dpus = 2561 is out of range: choose 1 to 2560"),
        (Options { dpus_per_rank: 0, ..small() }, "dpus_per_rank = 0 is out of range: choose 1 to 2560"),
        (Options { tasklets: 17, ..small() }, "tasklets = 17 is out of range: choose 1 to 16"),
    ];
    for (options, wanted) in cases {
        assert_eq!(refused(options).as_deref(), Some(wanted));
    }
    let text = "chip=v1A, dpus=40,mode=closed-form,transforms=together,reduction=montgomery,inline_mul=true,moduli_order=sequential,transfer_preset=prim";
    let parsed: Options = text.parse().unwrap();
    assert_eq!((parsed.dpus, parsed.mode, parsed.preset.tasklets), (40, Mode::ClosedForm, 24));
    assert_eq!(parsed.to_string().parse::<Options>().as_ref(), Ok(&parsed));
    for wrong in ["dpus", "dpus=many", "ranks=2", "mode=fast"] {
        let refused = wrong.parse::<Options>().unwrap_err().to_string();
        assert!(
            refused.starts_with(&format!("\"{wrong}\" is no option of upmem: wanted chip=v1A|v1B, dpus=")),
            "{refused}"
        );
    }
    let one = Options { preset: Preset::v1a(), tasklets: 24, ..small() };
    assert!(!matches!(Upmem::open(cpu(), one), Err(OpenError::Range { .. })));
}

/// D13: about 3750 sub-polynomials a DPU at N = 4096. One more is a fault that says what fits.
#[test]
fn a_batch_that_does_not_fit_is_a_fault_that_says_what_fits() {
    let dev = open(Options { dpus: 1, dpus_per_rank: 1, ..small() }).unwrap();
    let ring = dev.ring(&RingSpec { log_n: 12, primes: ntt_primes_below(12, 27, 1, &[]).unwrap() }).unwrap();
    let one = dev.ntt(dev.zeros(&Shape::eval(&ring, ring.full()).with_domain(limbwise_device::Domain::Coeff)));
    let capacity = dev.capacity(4096);
    assert!((3750..3750 + 375).contains(&capacity));
    let shape = Shape::eval(&ring, ring.full());
    let fits = dev.zeros(&shape.with_batch(capacity - 1));
    assert_eq!(dev.sync(), Ok(()));
    let more = dev.add(&one, &one);
    let what = format!(
        "DPU 0: its MRAM holds {capacity} sub-polynomials of 4096 words and has no room for one more: take more DPUs (dpus) or a smaller batch"
    );
    assert_eq!(dev.download(&more).map(drop), Err(Fault::Failed { device: "upmem".into(), what }));
    drop(fits);
    let again = dev.add(&one, &one);
    assert_eq!(dev.download(&again).map(|words| words.len()), Ok(4096));
}

/// What is counted: launches, bytes both ways, the same slots in both modes.
#[test]
fn launches_and_bytes_are_counted() {
    let primes = ntt_primes_below(10, 32, 2, &[]).unwrap();
    let spec = RingSpec { log_n: 10, primes };
    let run = |mode| {
        let dev = open(Options { mode, ..small() }).unwrap();
        let ring = dev.ring(&spec).unwrap();
        let shape = Shape::eval(&ring, ring.full()).with_batch(4);
        let upload = |x: u64| dev.upload(&shape, Role::Ciphertext, &|at, row| row.fill(x % at.modulus.value()));
        let (a, b) = (upload(12_345_678_901), upload(98_765_432_109));
        let before = dev.counters();
        assert_eq!((before.to_bytes, before.from_bytes, before.launches), (2 * 8 * 4096, 0, 0));
        let product = dev.mul(&dev.intt(a), &b);
        let product = dev.restrict(&product, Basis::single(0));
        let words = dev.download(&product).unwrap();
        let after = dev.counters();
        assert_eq!((after.from_bytes, after.launches, after.host_operations), (4 * 4096, 2, 0));
        assert!(after.joules() > 0.0 && after.transfer_seconds > before.transfer_seconds);
        (words, after)
    };
    let ((exact_words, exact), (words, closed)) = (run(Mode::Exact), run(Mode::ClosedForm));
    assert_eq!(exact_words, words);
    assert_eq!((exact.to_bytes, exact.from_bytes), (closed.to_bytes, closed.from_bytes));
    let off = exact.cycles.abs_diff(closed.cycles);
    assert!(off * 50 < exact.cycles, "{} for {} cycles", closed.cycles, exact.cycles);
}

/// A value moves when it is first wanted on the other side, once, however many views of it are wanted.
#[test]
fn a_hybrid_moves_a_value_once() {
    let dev = Hybrid::new(cpu(), cpu());
    let primes = ntt_primes_below(10, 40, 2, &[]).unwrap();
    let ring = dev.ring(&RingSpec { log_n: 10, primes }).unwrap();
    let shape = Shape::eval(&ring, ring.full());
    let a = dev.upload(&shape, Role::Temporary, &|at, row| row.fill(at.prime as u64 + 2));
    let list = [("mul", Half::Away), ("add", Half::Away), ("neg", Half::Home), ("mul", Half::Away)];
    dev.assign(Assignment::Each(list.to_vec()));
    let program = dev.evaluation();
    assert_eq!(dev.shares().moved_bytes, [0, 0], "uploads stay at home");
    let square = dev.mul(&a, &a);
    let sum = dev.add(&square, &a);
    assert_eq!(dev.shares().moved_bytes, [shape.bytes(), 0]);
    let words = dev.download(&sum).unwrap();
    assert!(words[..1024].iter().all(|&w| w == 6) && words[1024..].iter().all(|&w| w == 12));
    dev.download(&sum).unwrap();
    assert_eq!(dev.shares().moved_bytes, [shape.bytes(); 2]);
    // Limbs of what is there already are a view of that.
    let [one, other] = [0, 1].map(|limb| dev.restrict(&a, Basis::single(limb)));
    let both = dev.join(&[&one, &other]);
    drop(dev.neg(dev.sub(&sum, &sum)));
    drop(dev.neg(sum));
    let cube = dev.mul(&both, &square);
    assert_eq!(dev.shares().moved_bytes, [shape.bytes(); 2]);
    assert_eq!((dev.shares().operations, dev.shares().strayed), ([1, 3], 2), "sub and its neg are not of the program");
    drop(program);
    let cubes = dev.download(&dev.add(&cube, &cube)).unwrap();
    assert!(cubes[..1024].iter().all(|&w| w == 16), "behind the program everything is at home");
}
