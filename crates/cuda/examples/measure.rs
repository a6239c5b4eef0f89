//! Times of the operations that decide, each beside its floor on an H200: bytes over 4.3 TB/s, FP64 instructions or 32-bit
//! multiply-adds over 14.8·10^12 of each a second, whichever is most. `cargo run --release -p limbwise-cuda --example measure`;
//! with the word `small` at small sizes, with the word `cpu` at these on the host, to see that it runs. `scripts/gpu_check.py`
//! calls it.

use limbwise_cpu::{Cpu, Isa};
use limbwise_cuda::Cuda;
use limbwise_device::{Basis, Device, Domain, Gadget, GadgetKey, Ggsw, KeyId, LweShape, Ring, RingSpec, Role, Shape};
use limbwise_math::{galois::GaloisElement, prime::ntt_primes_below};
use std::{
    io::Write as _,
    time::{Duration, Instant},
};

const BYTES_A_SECOND: f64 = 4.3e12;
/// Of FP64, and of 32-bit multiply-adds: 132 multiprocessors × 64 × 1.755 GHz, the assumed boost clock.
const INSTRUCTIONS_A_SECOND: f64 = 14.8e12;
/// 32-bit multiply-adds of a term of a sum: a product of 64-bit words.
const PRODUCTS_A_TERM: f64 = 4.0;
/// FP64 instructions of a product of two residues that is added to a sum.
const FP64_A_TERM: f64 = 7.0;

/// What an operation moves and computes at least.
#[derive(Clone, Copy, Default)]
struct Floor {
    bytes: f64,
    fp64: f64,
    products: f64,
}

impl Floor {
    /// Butterflies in the arithmetic of primes of so many bits (`fields.cuh`): a product and two sums in floating point below
    /// 2^50, else 32-bit multiply-adds: three to 31 bits, and three 64-bit products above, of which one is the high half.
    fn butterflies(bits: u32, count: f64) -> Self {
        match bits {
            0..=31 => Self { products: 3.0 * count, ..Self::default() },
            32..=50 => Self { fp64: 8.0 * count, ..Self::default() },
            _ => Self { products: 10.0 * count, ..Self::default() },
        }
    }

    fn seconds(self) -> f64 {
        (self.bytes / BYTES_A_SECOND).max(self.products.max(self.fp64) / INSTRUCTIONS_A_SECOND)
    }
}

/// Median of repetitions for half a second, each waited for.
fn seconds(dev: &impl Device, mut work: impl FnMut()) -> f64 {
    work();
    dev.sync().expect("no fault");
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < 3 || begin.elapsed() < Duration::from_millis(500) {
        let start = Instant::now();
        let region = dev.region("measured", 0);
        work();
        drop(region);
        dev.sync().expect("no fault");
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn report(what: &str, seconds: f64, floor: Floor, goal: &str) {
    let (us, floor) = (seconds * 1e6, floor.seconds() * 1e6);
    let _ =
        writeln!(std::io::stdout(), "{what:<52} {us:>12.1} us  floor {floor:>10.1} us  {:>6.1} x  {goal}", us / floor);
}

fn ring(dev: &impl Device, log_n: u32, bits: u32, count: usize) -> Ring {
    let primes = ntt_primes_below(log_n, bits, count, &[]).expect("primes");
    dev.ring(&RingSpec { log_n, primes }).expect("a ring")
}

fn polynomial<D: Device>(dev: &D, shape: &Shape, role: Role) -> D::Poly {
    dev.upload(shape, role, &|at, row| {
        row.iter_mut().zip(1u64..).for_each(|(x, i)| *x = at.modulus.reduce(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    })
}

/// Transforms, element-wise operations and a key switch at 25 + 5 limbs with five digits.
fn ckks<D: Device>(dev: &D, log_n: u32, bits: u32) {
    let ring = ring(dev, log_n, bits, 30);
    let (n, limb) = (ring.n() as f64, 8.0 * ring.n() as f64);
    let (chain, special) = (Basis::range(0, 25), Basis::range(25, 30));
    let a = polynomial(dev, &Shape::eval(&ring, chain), Role::Ciphertext);
    let b = polynomial(dev, &Shape::eval(&ring, chain), Role::Ciphertext);
    let butterflies = n / 2.0 * f64::from(log_n);
    let title = |what: &str| format!("{what}, 2^{log_n}, {bits} bits");
    let copy = Floor { bytes: 50.0 * limb, ..Floor::default() };
    report(&title("copy of 25 limbs"), seconds(dev, || drop(dev.copy(&a))), copy, "");
    let add = Floor { bytes: 75.0 * limb, ..Floor::default() };
    report(&title("add, 25 limbs"), seconds(dev, || drop(dev.add(&a, &b))), add, "");
    report(&title("mul, 25 limbs"), seconds(dev, || drop(dev.mul(&a, &b))), add, "");
    let g = GaloisElement::rotation(1, log_n);
    report(&title("automorphism, 25 limbs"), seconds(dev, || drop(dev.automorphism(&a, g))), copy, "");
    let both = Floor { bytes: 200.0 * limb, ..Floor::butterflies(bits, 50.0 * butterflies) };
    let mut moving = Some(a.clone());
    let time = seconds(dev, || moving = moving.take().map(|p| dev.ntt(dev.intt(p))));
    report(&title("intt and ntt of 25 limbs"), time, both, "goal: 2 x the memory floor");
    let wide = Shape::eval(&ring, ring.full());
    let digits: Vec<Basis> = (0..5).map(|i| Basis::range(5 * i, 5 * i + 5)).collect();
    let pair = |_| [(); 2].map(|()| polynomial(dev, &wide, Role::EvaluationKey(KeyId(0))));
    let key = GadgetKey { digits, special, pairs: (0..5).map(pair).collect() };
    // 210 transforms, 175 conversions from 5 limbs, 300 limbs of products; the key and every transformed limb twice in memory.
    let terms = (175.0 * 5.0 + 300.0) * n;
    let transforms = Floor::butterflies(bits, 210.0 * butterflies);
    let products = transforms.products + terms * PRODUCTS_A_TERM;
    let floor = Floor { bytes: (300.0 + 2.0 * 210.0) * limb, products, ..transforms };
    report(&title("key switch, 25 + 5 limbs, 5 digits"), seconds(dev, || drop(dev.key_switch(&a, &key))), floor, "");
    let hmult = || {
        let [d0, d2] = [dev.mul(&a, &b), dev.mul(&b, &b)];
        let mut d1 = dev.mul(&a, &b);
        dev.mul_acc(&mut d1, &b, &a);
        drop(dev.key_switch_onto(&d2, &key, [Some(&d0), Some(&d1)], chain));
    };
    report(&title("multiply and relinearize, 25 limbs"), seconds(dev, hmult), floor, "goal: 600 us");
}

/// Blind rotations of a batch.
fn rotations<D: Device>(dev: &D, log_n: u32, steps: usize, levels: u32, batch: usize) {
    let ring = ring(dev, log_n, 48, 1);
    let shape = Shape::eval(&ring, ring.full());
    let rows = 2 * levels as usize;
    let part = |_| polynomial(dev, &shape.with_batch(steps), Role::BootstrapKey(KeyId(0)));
    let rows = (0..rows).map(|_| (0..2).map(part).collect()).collect();
    let key = Ggsw { gadget: Gadget { base_log: 8, levels }, rows };
    let exponents = LweShape { dimension: steps, modulus: 2 << log_n, batch };
    let exponents = dev.upload_lwe(exponents, Role::Ciphertext, &|entry, words| {
        let word = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (63 - log_n);
        words.iter_mut().zip(entry as u64..).for_each(|(x, i)| *x = word(i + 1));
    });
    let test = polynomial(dev, &shape.with_domain(Domain::Coeff), Role::Plaintext);
    let time = seconds(dev, || drop(dev.blind_rotate(&test, &exponents, &key)));
    let butterflies = f64::from(2 * levels + 2) * ring.n() as f64 / 2.0 * f64::from(log_n);
    let products = f64::from(2 * levels) * 2.0 * ring.n() as f64 * FP64_A_TERM;
    let floor = Floor::butterflies(48, butterflies);
    let fp64 = (batch * steps) as f64 * (floor.fp64 + products);
    let what = format!("{batch} blind rotations, 2^{log_n}, n = {steps}, l = {levels}");
    let goal = format!("{:.0} a second, goal 60000", batch as f64 / time);
    report(&what, time, Floor { fp64, ..floor }, &goal);
}

fn all<D: Device>(dev: &D, log_n: u32, batch: usize, steps: [usize; 2]) {
    let _ = writeln!(std::io::stdout(), "{}; floors are of one H200", dev.name());
    for bits in [50, 31] {
        ckks(dev, log_n, bits);
    }
    rotations(dev, 10, steps[0], 2, batch);
    rotations(dev, 11, steps[1], 1, batch);
}

fn main() {
    let size = std::env::args().nth(1).unwrap_or_default();
    if size == "cpu" {
        let cpu = Cpu::new(Isa::best(), 1).expect("this CPU");
        return all(&cpu, 11, 2, [10, 10]);
    }
    match Cuda::open() {
        Ok(gpu) if size == "small" => all(&gpu, 11, 2, [10, 10]),
        Ok(gpu) => all(&gpu, 16, 1584, [500, 918]),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            std::process::exit(1);
        }
    }
}
