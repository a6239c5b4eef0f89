//! This device on the host: its own code and its own kernels, without a GPU; and on one, where there is one.

mod footprint;
mod key_switch;
#[expect(unsafe_code, reason = "calls of the driver that are wrong")]
mod mock_driver;
#[expect(unsafe_code, reason = "functions of a library that the test makes")]
mod ranges;
mod replay;
mod streams;

use crate::{
    Cuda, CudaBuilder, KeyRoom, Replay,
    host::{Host, float_field},
    launch::SOURCES,
    nvrtc,
    ring::factor,
};
use limbwise_cpu::{Cpu, Isa};
use limbwise_device::{
    Basis, Checked, Device, Domain, Fault, HostRead, Lockstep, LweShape, Ring, RingSpec, Role, Shape,
    conformance::{Reach, random_program, random_tfhe_program, with_device},
    conformance_suite,
};
use limbwise_math::{
    modulus::Modulus,
    ntt::NttTable,
    prime::ntt_primes_below,
    prime_class::PrimeClass,
    sampling::{Seed, Stream},
};
use proptest::{prelude::*, test_runner::TestRunner};
use std::sync::Arc;

/// Memory of a test's device: enough for the suite, little enough for the host.
const MEMORY: u64 = 4 << 30;

fn host(memory_bytes: u64) -> Option<Cuda> {
    Some(Cuda::on(Arc::new(Host::new(memory_bytes)?), KeyRoom::without_plan(memory_bytes), Replay::Steady))
}

fn beside_the_cpu(tested: Option<Cuda>) -> Option<Lockstep<Cpu, Cuda>> {
    Some(Lockstep { trusted: Cpu::new(Isa::Scalar, 1).expect("scalar"), tested: tested? })
}

/// Rings of the suite on the host, which runs a kernel's threads one by one; transforms of larger ones have their own test.
const ON_THE_HOST: Reach = Reach { log_n: 14, bits: 61, primes: usize::MAX, rotations: usize::MAX };

conformance_suite!(kernels_on_the_host, "c++", || host(MEMORY).map(Checked), ON_THE_HOST);
conformance_suite!(gpu, "cuda", || gpu(Cuda::builder()).map(Checked), mock_driver::reach());

/// A GPU, where there is one; else why not.
fn gpu(choices: CudaBuilder) -> Option<Cuda> {
    choices.open().map_err(|error| eprintln!("{error}")).ok()
}

/// So many arbitrary inputs.
fn arbitrary<S: Strategy>(cases: u32, strategy: &S, test: impl Fn(S::Value)) {
    let mut runner = TestRunner::new(ProptestConfig { cases, ..ProptestConfig::default() });
    let done = runner.run(strategy, |value| {
        test(value);
        Ok(())
    });
    done.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Arbitrary programs beside the CPU, compared operation by operation, contracts checked on the way.
fn programs_agree(cases: u32, dev: Lockstep<Cpu, Cuda>) {
    let dev = Checked(dev);
    let scripts = (prop::collection::vec(any::<(u8, u8, u8)>(), 1..40), prop::sample::select(vec![10, 10, 13]));
    arbitrary(cases, &scripts, |(script, log_n)| {
        let mut primes = ntt_primes_below(log_n, 49, 2, &[]).unwrap();
        for bits in [50, 30, 61] {
            primes.extend(ntt_primes_below(log_n, bits, 1, &primes).unwrap());
        }
        random_program(&dev, &dev.ring(&RingSpec { log_n, primes }).unwrap(), &script);
    });
    let rings = prop::sample::select(vec![(10, 48), (11, 50), (11, 31), (12, 49), (10, 60)]);
    arbitrary(cases, &(prop::collection::vec(any::<(u8, u8)>(), 1..16), rings), |(script, (log_n, bits))| {
        let primes = ntt_primes_below(log_n, bits, 1, &[]).unwrap();
        random_tfhe_program(&dev, &dev.ring(&RingSpec { log_n, primes }).unwrap(), &script);
    });
}

#[test]
fn arbitrary_programs_agree_on_the_host() {
    with_device("c++", || beside_the_cpu(host(MEMORY)), |dev| programs_agree(8, dev));
}

#[test]
fn arbitrary_programs_agree_on_a_gpu() {
    with_device("cuda", || beside_the_cpu(gpu(Cuda::builder())), |dev| programs_agree(mock_driver::cases(64), dev));
}

/// A few steps of both kinds on small rings: what a checker of memory accesses, which is slow, can follow.
#[test]
fn gpu_small_programs() {
    with_device(
        "cuda",
        || gpu(Cuda::builder()),
        |dev| {
            let several = ring(&dev, 10, &[49, 50, 31]);
            let script: Vec<(u8, u8, u8)> = (0..48_u8).map(|i| (i.wrapping_mul(37), i, i / 2)).collect();
            for _ in 0..4 {
                let _region = dev.region("again", 0);
                random_program(&dev, &several, &script);
            }
            assert!(dev.launches().graphs > 0);
            random_tfhe_program(&dev, &ring(&dev, 10, &[48]), &(0..12).map(|i| (i, i)).collect::<Vec<_>>());
            assert_eq!(dev.sync(), Ok(())); // nothing else asks whether launches failed
        },
    );
}

fn ring(dev: &impl Device, log_n: u32, widths: &[u32]) -> Ring {
    let mut primes = Vec::new();
    for &bits in widths {
        primes.extend(ntt_primes_below(log_n, bits, 1, &primes).unwrap());
    }
    dev.ring(&RingSpec { log_n, primes }).unwrap()
}

/// Uniform words of each row, the first four the edges.
fn random<D: Device>(dev: &D, shape: &Shape, role: Role, label: u64) -> D::Poly {
    dev.upload(shape, role, &|at, row| {
        let context = [label, at.batch as u64, at.prime as u64].map(u64::to_le_bytes).concat();
        Stream::new(&Seed([7; 32]), &context).uniform(at.modulus, row);
        row[..4].copy_from_slice(&[0, at.modulus.value() - 1, 1, at.modulus.value() / 2]);
    })
}

/// Every cut of a transform into passes and steps, in all classes of primes at their upper ends; rows that are uniform, that are
/// all 0, all q − 1, and either by turns.
#[test]
fn transforms_of_every_size_equal_the_reference() {
    with_device(
        "c++",
        || host(MEMORY),
        |dev| {
            for log_n in 10..=17 {
                let ring = ring(&dev, log_n, &[31, 49, 50, 50, 61]);
                let coeff = Shape::eval(&ring, ring.full()).with_domain(Domain::Coeff);
                let a = random(&dev, &coeff, Role::Temporary, 1);
                let last = |q: Modulus| q.value() - 1;
                let extreme = dev.upload(&coeff, Role::Temporary, &|at, row| {
                    row.iter_mut()
                        .zip(0..)
                        .for_each(|(x, i)| *x = if i % (1 << at.prime) == 0 { last(at.modulus) } else { 0 });
                });
                for a in [a, extreme] {
                    equal_to_the_reference(&dev, &ring, a);
                }
            }
        },
    );
}

fn equal_to_the_reference(dev: &Cuda, ring: &Ring, a: crate::CudaPoly) {
    let words = dev.download(&a).unwrap();
    let mut want = words.clone();
    for (row, &q) in want.chunks_exact_mut(ring.n()).zip(ring.moduli()) {
        NttTable::new(q, ring.log_n()).forward(row);
    }
    let values = dev.ntt(a);
    assert!(dev.download(&values).unwrap() == want, "forward at 2^{}", ring.log_n());
    assert!(dev.download(&dev.intt(values)).unwrap() == words, "inverse at 2^{}", ring.log_n());
}

/// Products and butterflies in floating point beside whole numbers, within the ranges that `fields.cuh` claims: primes from the
/// largest below 2^50 down, operands anywhere in their ranges and at their ends.
#[test]
fn floating_point_is_exact() {
    let moduli: Vec<Modulus> =
        [50, 49, 48, 40, 33].iter().map(|&b| Modulus::new(ntt_primes_below(12, b, 1, &[]).unwrap()[0])).collect();
    let edge = || prop_oneof![4 => any::<u64>(), 1 => Just(0), 1 => Just(u64::MAX), 1 => Just(u64::MAX / 2)];
    let scripts = (prop::sample::select(moduli), [edge(), edge()], [edge(), edge()]);
    with_device(
        "c++",
        || Host::new(0),
        |_| {
            arbitrary(4000, &scripts, |(q, xy, wc)| {
                let p = i128::from(q.value());
                // A number of 64 bits as one of -4q ..= 4q, and as a residue.
                let signed = |x: u64| ((i128::from(x) * (8 * p + 1)) >> 64) - 4 * p;
                let residue = |x: u64| u64::try_from((i128::from(x) * p) >> 64).unwrap();
                let ([x, y], [w, c]) = (xy.map(signed), wc.map(residue));
                let small = [x, y].map(|x| i64::try_from(x).unwrap());
                let got = float_field(q.value(), small, factor(q, 50, w), c).expect("every value within its range");
                let [w, c] = [w, c].map(i128::from);
                let want = [x + w * y, x - w * y, x / 2 + y / 2, (x / 2 - y / 2) * w, x * c];
                assert_eq!(got.map(i128::from), want.map(|x| x.rem_euclid(p)));
            });
        },
    );
}

/// More sources than are summed without a reduction, more targets than a block makes, more rows than a launch takes, and
/// sums of more terms than that.
#[test]
fn long_operands_are_cut_into_launches() {
    with_device(
        "c++",
        || beside_the_cpu(host(MEMORY)),
        |dev| {
            let from = Basis::range(0, 50);
            assert!(3 * from.len() > SOURCES);
            let [ring, short] = [61, 50].map(|bits| ring(&dev, 10, &[bits; 70]));
            for ring in [&ring, &short] {
                let coeff = Shape::eval(ring, from).with_domain(Domain::Coeff).with_batch(3);
                let a = random(&dev, &coeff, Role::Temporary, 1);
                drop(dev.basis_convert(&a, ring.full() - from));
                drop(dev.neg(dev.ntt(a)));
            }
            let one = Shape::eval(&ring, Basis::single(0));
            let x: Vec<_> = (0..130).map(|i| random(&dev, &one, Role::Temporary, i)).collect();
            let terms = x.iter().enumerate().map(|(i, w)| (129 - i, limbwise_device::Weight::Values(w))).collect();
            let tested: Vec<_> = dev.weighted_sums(&x, &[terms]);
            drop(dev.linear_combination(&x.iter().collect::<Vec<_>>(), &vec![vec![5]; 130]));
            let mut sum = dev.zeros(&one);
            x.iter().zip(x.iter().rev()).for_each(|(a, b)| dev.mul_acc(&mut sum, a, b));
            assert_eq!(dev.download(&tested[0]), dev.download(&sum));
            let many = LweShape { dimension: 130, modulus: 1 << 32, batch: 19 };
            let key = LweShape { dimension: 300, batch: many.dimension, ..many };
            let [many, key] = [many, key].map(|shape| {
                dev.upload_lwe(shape, Role::Temporary, &|entry, words| {
                    let words = words.iter_mut().zip(entry as u64 * 1000..);
                    words.for_each(|(x, i)| *x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32);
                })
            });
            drop(dev.lwe_product(&many, &key));
        },
    );
}

/// What does not fit is a fault of the device that asks, told once, at the next wait; values that it left behind do no harm.
#[test]
fn a_full_memory_is_a_fault() {
    with_device(
        "c++",
        || host(8 << 20),
        |dev| {
            let (ring, other) = (ring(&dev, 13, &[50, 50]), ring(&dev, 12, &[31, 60]));
            let shape = Shape::eval(&ring, ring.full());
            let mut kept: Vec<_> = (0..80).map(|_| dev.zeros(&shape)).collect();
            let fault = dev.sync().unwrap_err();
            assert!(matches!(fault, Fault::OutOfMemory { .. }), "{fault}");
            assert_eq!(dev.sync(), Ok(()));
            let last = kept.pop().unwrap();
            drop(kept);
            drop(dev.add(&last, &last));
            let fault = dev.download(&dev.zeros(&shape)).unwrap_err().to_string();
            assert_eq!(
                fault,
                "cuda (kernels on the host) failed: a value was used that a fault had left without memory"
            );
            drop(last);
            // What those rows took serves rows of another length.
            let a = random(&dev, &Shape::eval(&other, other.full()), Role::Temporary, 1);
            let many: Vec<_> = (0..60).map(|_| dev.ntt(dev.intt(dev.copy(&a)))).collect();
            assert_eq!(dev.download(many.last().unwrap()), dev.download(&a));
            drop(many);
            assert!(dev.download(&dev.zeros(&shape)).unwrap().iter().all(|&x| x == 0));
        },
    );
}

/// A loop that has found its rows takes no more of them, and what is scrubbed is gone.
#[test]
fn a_steady_loop_does_not_allocate() {
    with_device(
        "c++",
        || host(MEMORY),
        |dev| {
            let ring = ring(&dev, 10, &[49, 49, 49]);
            let a = random(&dev, &Shape::eval(&ring, ring.full()), Role::Temporary, 1);
            let step = || dev.ntt(dev.intt(dev.mul(&dev.add(&a, &a), &a)));
            drop(step());
            let before = dev.memory();
            (0..10).for_each(|_| drop(step()));
            assert_eq!(dev.memory(), before);
            drop(step());
            dev.scrub();
            let rows = dev.unwritten(Shape::eval(&ring, ring.full()), crate::driver::Place::Device);
            assert!(dev.download(&rows).unwrap().iter().all(|&x| x == 0));
        },
    );
}

/// Most registers of a kernel for which docs/cuda.md says how many blocks fit a multiprocessor.
const REGISTERS: [(&str, u32); 5] = [
    ("lw_ntt_columns", 80),
    ("lw_intt_columns", 80),
    ("lw_ntt_blocks", 128),
    ("lw_intt_blocks", 128),
    ("lw_blind_rotate", 80),
];

/// The registers of a kernel by the compiler's messages.
fn registers(log: &str, kernel: &str) -> Option<u32> {
    let (_, after) = log.split_once(&format!("entry function '{kernel}'"))?;
    let (_, used) = after.split_once("Used ")?;
    used.split(' ').next()?.parse().ok()
}

/// Every kernel becomes machine code for a Hopper GPU, without a stack and without spills, in the registers it may have.
#[test]
fn every_kernel_compiles_for_hopper() {
    with_device(
        "nvrtc",
        || nvrtc::Nvrtc::find().ok(),
        |nvrtc| {
            let mut bounded = 0;
            for (file, source) in nvrtc::SOURCES {
                let compiled = nvrtc.compile(file, source, "sm_90").unwrap();
                for (kernel, most) in REGISTERS {
                    if let Some(used) = registers(&compiled.log, kernel) {
                        assert!(used <= most, "{kernel} has {used} registers");
                        bounded += 1;
                    }
                }
                assert!(compiled.cubin.starts_with(b"\x7fELF"), "{file} gives no machine code");
                let frames: Vec<&str> =
                    compiled.log.lines().filter(|line| line.contains("bytes stack frame")).collect();
                let clean =
                    |line: &&str| line.contains(" 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads");
                assert!(frames.iter().all(clean), "{file}: {}", compiled.log);
                assert_eq!(
                    frames.len(),
                    source.matches("\nKERNEL ").count(),
                    "{file}: a line a kernel: {}",
                    compiled.log
                );
            }
            assert_eq!(bounded, REGISTERS.len());
            let refused =
                nvrtc.compile("bad.cu", "KERNEL lw_bad(u64* out) { out = 1; }", "sm_90").unwrap_err().to_string();
            assert!(refused.starts_with("NVRTC refuses bad.cu for sm_90: bad.cu("), "{refused}");
        },
    );
}

/// A GPU for graphics or inference has too few units for doubles.
#[test]
fn floating_point_is_for_gpus_that_are_good_at_it() {
    let bits = ["host", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"].map(nvrtc::float_bits);
    let [none, float] = [PrimeClass::Narrow, PrimeClass::Short].map(PrimeClass::max_bits);
    assert_eq!(bits, [float, float, none, none, float, float, none, none]);
}

/// The kernels' text bounds the classes of primes as Rust does.
#[test]
fn kernels_bound_the_classes_of_primes() {
    let [narrow, short] = [PrimeClass::Narrow, PrimeClass::Short].map(PrimeClass::max_bits);
    let (fields, words) = (include_str!("../kernels/fields.cuh"), include_str!("../kernels/modarith.cuh"));
    assert!(fields.contains(&format!("#define FLOAT_BITS {short}\n")) && fields.contains("q >> FLOAT_BITS == 0"));
    let is_narrow = format!("q >> {narrow} == 0");
    assert!(fields.contains(&is_narrow) && words.contains(&is_narrow), "both tell narrow primes by {is_narrow:?}");
}

/// The cache gives back what was compiled, and compiles again what is damaged.
#[test]
fn compiled_kernels_are_kept() {
    with_device(
        "nvrtc",
        || nvrtc::Nvrtc::find().ok(),
        |nvrtc| {
            let folder = std::env::temp_dir().join(format!("limbwise_cache_{}", std::process::id()));
            let (file, source) = nvrtc::SOURCES[1];
            let cubin = || nvrtc.cached(file, source, "sm_90", Some(&folder)).unwrap();
            let first = cubin();
            let kept: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert_eq!(kept.len(), 1);
            std::fs::write(&kept[0], b"\x7fELF but not what was compiled").unwrap();
            assert_ne!(cubin(), first); // it is the file that is read
            std::fs::write(&kept[0], b"damaged").unwrap();
            assert_eq!(cubin().len(), first.len());
            std::fs::remove_dir_all(&folder).unwrap();
        },
    );
}

/// Where there is no driver, that is what is said; where there is one, a GPU opens.
#[test]
fn a_missing_driver_is_one_clear_error() {
    match Cuda::open() {
        Ok(dev) => assert!(dev.name().starts_with("cuda (")),
        Err(error) => assert_eq!(
            error.to_string(),
            "no NVIDIA driver was found (libcuda.so.1): install one for CUDA 13.0 or later (R580), or use --device cpu"
        ),
    }
}
