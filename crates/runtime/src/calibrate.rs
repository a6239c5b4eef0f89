//! Calibration: some seconds of measurement that fit the `cpu` machine model to this host, written as a TOML
//! specification.
//!
//! Rates of operations are measured with one thread on polynomials of the program's size, each as the median of its
//! repetitions. What calls take over the sum of their operations with all threads is measured by itself
//! ([`corrections`]).

mod corrections;
mod gpu;
mod kept;

pub use kept::{calibrated, contradicted, forget_all, given};

use crate::{
    any_device::AnyDevice,
    error::Result,
    host::{Host, open_cpu, resident_memory_bytes},
};
use limbwise::{
    Complex64,
    ckks::{Encoder, Packing},
    params::{Insecure, Params, ParamsLiteral},
    scheme::Scheme,
};
use limbwise_cpu::{Cpu, Isa};
use limbwise_cuda::Cuda;
use limbwise_device::{Basis, Device, Domain, Gadget, Ggsw, LweShape, Ring, RingSpec, Role, Shape, SharedFootprint};
use limbwise_machines::Spec;
use limbwise_math::{galois::GaloisElement, prime::ntt_primes_below, prime_class::PrimeClass, sampling::Seed};
use serde::{Deserialize, Serialize};
use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

/// The measured rates of a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Calibration {
    pub device: String,
    /// Instruction set of the device.
    pub isa: String,
    pub threads: usize,
    /// Memory of the process at calibration. A plan adds the program's memory to it.
    pub resident_bytes: u64,
    /// Device memory; `None` if the device uses the host's memory.
    pub device_memory_bytes: Option<u64>,
    pub toml: String,
    /// Half the distance of the slowest and the fastest of three rounds of measurement, over their middle, for most calls.
    pub spread: f64,
    /// Read rate of keys from their directory ([`key_read_gb_s`](crate::keys::key_read_gb_s)), if it was measured or is
    /// known.
    pub key_read_gb_s: Option<f64>,
    /// Name of the file that the rates were given in, where they are not this host's.
    #[serde(skip)]
    pub given: Option<String>,
}

/// log₂ of the ring degrees of a program: RLWE, and TFHE bootstrapping.
pub type Degrees = [Option<u32>; 2];

/// Those of a parameter set.
pub fn degrees<S: Scheme>(params: &S::Params) -> Degrees {
    [S::rlwe(params).map(Params::log_n), S::tfhe(params).map(|tfhe| tfhe.literal().log_n)]
}

/// Largest degree at which operations are measured, as its logarithm: operands of the next would take a gigabyte, which a
/// small server does not have. Larger rings are scaled by N·log N.
const MOST_LOG_N: u32 = 16;

/// Calibrates a device for a program with rings of these degrees.
pub fn calibrate_for(dev: &AnyDevice, [rlwe, tfhe]: Degrees) -> Result<Calibration> {
    let calibration = calibrate(dev, rlwe.or(tfhe).unwrap_or(MOST_LOG_N).min(MOST_LOG_N))?;
    tfhe.map_or(Ok(calibration.clone()), |log_n| calibration.with_rotations(dev, log_n))
}

/// The model of a GPU that shares programs with the host, calibrated for rings of these degrees.
pub(crate) fn gpu_spec(gpu: &Cuda, [rlwe, tfhe]: Degrees) -> Result<Spec> {
    let mut toml = gpu::measured(gpu, gpu.multiprocessors(), rlwe.or(tfhe).unwrap_or(16))?;
    if let Some(log_n) = tfhe {
        toml += &gpu::rotations(gpu, gpu.multiprocessors(), log_n)?;
    }
    Ok(Spec::from_toml(&toml, "the calibration of this GPU")?)
}

/// Share of a prediction by which an evaluation may miss it, beside the spread of the calibration: programs are not made
/// of the calls that were measured alone.
const MODEL_SHARE: f64 = 0.2;
/// Seconds by which any evaluation may be longer: threads that wake up, and caches that others used before.
const WAKING_S: f64 = 2e-3;

impl Calibration {
    /// The interval in which an evaluation's seconds are expected, nine times of ten, if so many are predicted.
    pub fn interval(&self, seconds: f64) -> [f64; 2] {
        let share = MODEL_SHARE + self.spread;
        [seconds / (1.0 + share), seconds * (1.0 + share) + WAKING_S]
    }

    /// Memory that programs need on the calibrated device.
    pub fn footprint(&self) -> SharedFootprint {
        match self.device.as_str() {
            "cuda" => limbwise_cuda::footprint(&self.isa),
            "upmem" => limbwise_upmem::footprint(limbwise_cpu::footprint()),
            "hybrid:cpu+upmem" | "hybrid:cpu+cuda" => std::sync::Arc::new(limbwise_device::footprint::DefaultBodies),
            _ if self.isa == Isa::Scalar.name() => limbwise_cpu::footprint_on(Isa::Scalar),
            _ => limbwise_cpu::footprint(),
        }
    }

    /// The specification of the `cpu` model with these rates.
    ///
    /// # Errors
    /// [`MachineError`](limbwise_machines::MachineError) if the model rejects the rates.
    pub fn spec(&self) -> Result<Spec> {
        Ok(Spec::from_toml(&self.toml, "the calibration of this host")?)
    }
}

struct Rates {
    transform_ns_per_limb: f64,
    mul_gb_s: f64,
    add_gb_s: f64,
    convert_term_ns: f64,
}

/// Limbs of the measured polynomials: 12.5 MiB at N = 2^16.
const LIMBS: usize = 25;
/// Bytes of a polynomial that is measured in the last cache.
const NEAR_BYTES: usize = 3 << 20;
/// Source limbs of the measured base conversion.
const SOURCES: usize = 5;

/// [`seconds_within`] with about 40 ms.
pub(crate) fn seconds(work: impl FnMut()) -> f64 {
    seconds_within(Duration::from_millis(40), work)
}

/// Median of at least three repetitions.
fn seconds_within(time: Duration, mut work: impl FnMut()) -> f64 {
    work(); // tables and buffers
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < 3 || begin.elapsed() < time {
        let start = Instant::now();
        work();
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Runs the work and waits for it. A fault is ignored here: the program will meet it again.
fn done(dev: &impl Device, work: &mut dyn FnMut()) {
    work();
    let _ = dev.sync();
}

fn polynomial<D: Device>(dev: &D, ring: &Ring, basis: Basis, domain: Domain) -> D::Poly {
    let shape = Shape::eval(ring, basis).with_domain(domain);
    dev.upload(&shape, Role::Temporary, &|at, row| {
        row.iter_mut().zip(1u64..).for_each(|(x, i)| *x = at.modulus.reduce(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    })
}

fn open_ring(dev: &impl Device, (log_n, bits): (u32, u32), limbs: usize) -> Result<Ring> {
    let primes = ntt_primes_below(log_n, bits, limbs, &[]).map_err(|e| limbwise::Error::Params(e.into()))?;
    Ok(dev.ring(&RingSpec { log_n, primes }).map_err(limbwise::Error::Ring)?)
}

fn rates(dev: &impl Device, ring: &Ring) -> Rates {
    let seconds = |work: &mut dyn FnMut()| seconds(|| done(dev, &mut *work));
    let full = ring.full();
    let near = near(ring, 1);
    let bytes = ring_bytes(ring, near);
    let a = polynomial(dev, ring, near, Domain::Eval);
    let b = polynomial(dev, ring, near, Domain::Eval);
    let mut sum = dev.copy(&a);
    let mut moving = Some(polynomial(dev, ring, full, Domain::Coeff));
    let both_ways = seconds(&mut || moving = moving.take().map(|p| dev.intt(dev.ntt(p))));
    let multiply = seconds(&mut || drop(dev.mul(&a, &b)));
    let accumulate = seconds(&mut || dev.mul_acc(&mut sum, &a, &b));
    let add = seconds(&mut || drop(dev.add(&a, &b)));
    let few = polynomial(dev, ring, Basis::range(0, SOURCES), Domain::Coeff);
    let convert = seconds(&mut || drop(dev.basis_convert(&few, full - Basis::range(0, SOURCES))));
    let terms = (SOURCES * (LIMBS - SOURCES)) << ring.log_n();
    Rates {
        transform_ns_per_limb: both_ways / 2.0 / LIMBS as f64 * 1e9,
        mul_gb_s: 7.0 * bytes / (multiply + accumulate) / 1e9, // 3 polynomials pass the memory, then 4
        add_gb_s: 3.0 * bytes / add / 1e9,
        convert_term_ns: convert / terms as f64 * 1e9,
    }
}

/// Limbs of polynomials of [`NEAR_BYTES`], four of which most last caches hold; a limb for each thread at least. What comes
/// from memory has rates of its own ([`corrections`]).
fn near(ring: &Ring, threads: usize) -> Basis {
    let limbs = NEAR_BYTES / (8 * ring.n());
    Basis::range(0, limbs.max(threads).clamp(1, LIMBS))
}

/// Bytes of a polynomial's words.
fn ring_bytes(ring: &Ring, basis: Basis) -> f64 {
    8.0 * (basis.len() * ring.n()) as f64
}

/// Measures a device for programs of one ring degree, in three to five seconds.
pub fn calibrate(dev: &AnyDevice, log_n: u32) -> Result<Calibration> {
    let resident_bytes = resident_memory_bytes().unwrap_or(0);
    let host = |cpu: &Cpu| {
        let isa = Some(cpu.isa().name().to_owned());
        let with = |threads| open_cpu(&Host { device: None, isa: isa.clone(), threads: Some(threads) });
        // The probes use devices of their own: closing these frees their memory before the run.
        measured(&with(1)?, &with(cpu.threads())?, cpu.threads(), log_n)
    };
    let (toml, spread) = match dev {
        AnyDevice::Cpu(cpu) => host(cpu)?,
        AnyDevice::Cuda(gpu) => (gpu::measured(gpu, gpu.multiprocessors(), log_n)?, 0.0),
        // The host's rates: the time of the interpreter is of no interest, and the machine `upmem` models the DPUs.
        AnyDevice::Upmem(dpus) => host(dpus.host())?,
        // The host's as well; a placement calibrates the GPU by itself.
        AnyDevice::CpuUpmem(both) => host(both.home())?,
        AnyDevice::CpuCuda(both) => host(both.home())?,
    };
    let (device, isa, threads) = (dev.kind().into(), dev.isa(), dev.threads());
    let device_memory_bytes = dev.memory_bytes();
    Ok(Calibration {
        device,
        isa,
        threads,
        resident_bytes,
        device_memory_bytes,
        toml,
        spread,
        key_read_gb_s: None,
        given: None,
    })
}

/// The model of a device, measured with one thread and with all threads, and how far apart the rounds of the latter were.
fn measured<D: Device>(alone: &D, all: &D, threads: usize, log_n: u32) -> Result<(String, f64)> {
    let seconds = |work: &mut dyn FnMut()| seconds(|| done(alone, &mut *work));
    let ring = open_ring(alone, (log_n, 45), LIMBS)?;
    let short = rates(alone, &ring);
    let long = rates(alone, &open_ring(alone, (log_n, 58), LIMBS)?);
    let few = near(&ring, 1);
    let (a, bytes) = (polynomial(alone, &ring, few, Domain::Eval), ring_bytes(&ring, few));
    let copy = 2.0 * bytes / seconds(&mut || drop(alone.copy(&a))) / 1e9;
    let g = GaloisElement::rotation(1, log_n);
    let permute = 2.0 * bytes / seconds(&mut || drop(alone.automorphism(&a, g))) / 1e9;
    let shape = Shape::eval(&ring, few);
    let seed = Seed([0; 32]);
    let expand = bytes / seconds(&mut || drop(alone.expand_seed(&shape, Role::Temporary, &seed))) / 1e9;
    let shared = open_ring(all, (log_n, 45), LIMBS)?;
    let few = near(&shared, threads);
    let [x, y] = [(); 2].map(|()| polynomial(all, &shared, few, Domain::Eval));
    // The threads' share of memory bandwidth varies most between moments, so it is measured for longer.
    let add = seconds_within(Duration::from_millis(200), || done(all, &mut || drop(all.add(&x, &y))));
    let together = 3.0 * ring_bytes(&shared, few) / add / 1e9;
    let small = open_ring(alone, (10, 45), LIMBS)?;
    let one = polynomial(alone, &small, Basis::single(0), Domain::Eval);
    let node = seconds(&mut || (0..1000).for_each(|_| drop(alone.add(&one, &one)))) * 1e6;
    let memory = Memory { copy, permute, expand, together, node };
    let [embed, spread] = encoding(alone, log_n, short.transform_ns_per_limb)?;
    let encoding = format!("\n[encoding]\nembed_ns_per_coefficient = {embed:.3}\nspread_gb_s = {spread:.3}\n");
    let text = |more: &str| toml(threads, log_n, [&short, &long], (&memory, more)) + &encoding;
    let model = |memory: &str| Ok(Spec::from_toml(&text(memory), "the calibration of this host")?);
    let corrections = corrections::measured(all, log_n, model)?;
    Ok((text(&corrections.memory) + &corrections.toml, corrections.spread))
}

/// Levels at which encoding is measured, and their distance is what a limb takes.
const ENCODED_LEVELS: [usize; 2] = [1, 13];

/// Nanoseconds a coefficient to make integers of values, and gigabytes a second at which these become residues.
fn encoding<D: Device>(dev: &D, log_n: u32, transform_ns_per_limb: f64) -> Result<[f64; 2]> {
    let mut literal = ParamsLiteral::chain(log_n, 50, 45, ENCODED_LEVELS[1], (50, 1), 14);
    literal.insecure = Some(Insecure { reason: "nothing is encrypted: encoding is timed".into() });
    let params = Params::new(&literal).map_err(limbwise::Error::Params)?;
    let encoder = Encoder::new(&params);
    let slots = params.max_slots();
    let values = [(0..slots).map(|i| Complex64::new((i % 97) as f64 / 97.0, 0.0)).collect::<Vec<_>>()];
    let mut seconds_at = [0.0; 2];
    for (time, level) in seconds_at.iter_mut().zip(ENCODED_LEVELS) {
        let packing = Packing { slots, level, scale: 45f64.exp2() };
        drop(encoder.encode(dev, &values, packing)?);
        *time = seconds(|| done(dev, &mut || drop(encoder.encode(dev, &values, packing))));
    }
    let [few, many] = seconds_at.map(|seconds| seconds * 1e9);
    let [first, last] = ENCODED_LEVELS.map(|level| (level + 1) as f64);
    let a_limb = (many - few) / (last - first);
    let n = (1_u64 << log_n) as f64;
    // On a busy machine a difference of two times can be too small; a rate must be positive.
    let spread_ns = (a_limb - transform_ns_per_limb).max(0.1 * n);
    Ok([((few - first * a_limb) / n).clamp(1.0, 1e3), 8.0 * n / spread_ns])
}

impl Calibration {
    /// Adds the rates of blind rotation and of LWE key switches at one ring degree, for TFHE programs, in about a
    /// second.
    /// Rotations with one and with three digits are measured, each with a short key that stays in the cache and with a
    /// long key that does not.
    pub fn with_rotations(self, dev: &AnyDevice, log_n: u32) -> Result<Self> {
        match dev {
            AnyDevice::Cpu(_) | AnyDevice::Upmem(_) | AnyDevice::CpuUpmem(_) | AnyDevice::CpuCuda(_) => {
                let alone = open_cpu(&Host { device: None, isa: dev.host().isa, threads: Some(1) })?;
                self.with_rotations_of(&alone, log_n)
            }
            AnyDevice::Cuda(gpu) => {
                let rates = gpu::rotations(gpu, gpu.multiprocessors(), log_n)?;
                Ok(Self { toml: self.toml + &rates, ..self })
            }
        }
    }

    fn with_rotations_of(mut self, alone: &impl Device, log_n: u32) -> Result<Self> {
        let mut text = String::new();
        let mut key_gb_s = 0.0;
        for (section, bits) in [("short", 48), ("long", 58)] {
            let ring = one_prime(alone, log_n, bits)?;
            let one = step_ns(alone, &ring, (1, HOT_ENTRIES), 0);
            let three = step_ns(alone, &ring, (3, HOT_ENTRIES), 0);
            // On a busy machine the difference of two times can be zero or negative; a rate must be positive.
            let digit = ((three - one) / 4.0).max(LEAST_NS);
            let component = (one / 2.0 - digit).max(LEAST_NS);
            if section == "short" {
                let waited = (step_ns(alone, &ring, (1, 1), COLD_KEY_BYTES) - one).max(1e-3);
                key_gb_s = (32u64 << log_n) as f64 / waited;
            }
            let at = |ns: f64| {
                let at = |l: u32| ns * f64::from(l) / f64::from(log_n) * (f64::from(l) - f64::from(log_n)).exp2();
                (10..=17).map(|l| format!("{:.1}", at(l))).collect::<Vec<_>>().join(", ")
            };
            let (digit, component) = (at(digit), at(component));
            let _ = write!(
                text,
                "\n[rotation.{section}]\ndigit_ns_per_limb = [{digit}]\ncomponent_ns_per_limb = [{component}]\n"
            );
        }
        let term = product_term_ns(alone);
        let _ = write!(
            self.toml,
            "\n[rotation]\nkey_gb_s = {:.3}\n{text}\n[lwe]\nproduct_term_ns = {term:.4}\n",
            key_gb_s.clamp(1e-3, 1e6)
        );
        Ok(self)
    }
}

/// Least plausible nanoseconds of a transform of any measured length.
const LEAST_NS: f64 = 100.0;
/// Entries of a batch whose key is in the cache.
const HOT_ENTRIES: usize = 4;
/// Bytes of a key that is larger than any cache.
const COLD_KEY_BYTES: usize = 48 << 20;

fn one_prime(dev: &impl Device, log_n: u32, bits: u32) -> Result<Ring> {
    let primes = ntt_primes_below(log_n, bits, 1, &[]).map_err(|e| limbwise::Error::Params(e.into()))?;
    Ok(dev.ring(&RingSpec { log_n, primes }).map_err(limbwise::Error::Ring)?)
}

/// A bootstrapping key with this many steps and digits, and exponents for a batch.
fn rotation_key<D: Device>(
    dev: &D,
    ring: &Ring,
    (levels, batch): (u32, usize),
    steps: usize,
) -> (Ggsw<D::Poly>, D::Lwe) {
    let shape = Shape { batch: steps, ..Shape::eval(ring, ring.full()) };
    let part = |_| {
        dev.upload(&shape, Role::Temporary, &|at, row| {
            row.iter_mut().zip(1u64..).for_each(|(x, i)| *x = at.modulus.reduce(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        })
    };
    let rows = (0..2 * levels).map(|_| (0..2).map(part).collect()).collect();
    let shape = LweShape { dimension: steps, modulus: 2 << ring.log_n(), batch };
    let exponents = dev.upload_lwe(shape, Role::Temporary, &|entry, words| {
        let word = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (63 - ring.log_n());
        words.iter_mut().zip(entry as u64..).for_each(|(x, i)| *x = word(i + 1));
    });
    (Ggsw { gadget: Gadget { base_log: 8, levels }, rows }, exponents)
}

/// Nanoseconds of one step for one entry of a batch, with a key of at least this many bytes.
fn step_ns(dev: &impl Device, ring: &Ring, (levels, batch): (u32, usize), key_bytes: usize) -> f64 {
    let row_bytes = 2 * 2 * levels as usize * 8 * ring.n();
    let steps = (key_bytes / row_bytes).max(if ring.log_n() > 12 { 2 } else { 16 });
    let (key, exponents) = rotation_key(dev, ring, (levels, batch), steps);
    let test = polynomial(dev, ring, ring.full(), Domain::Coeff);
    let least = (0..3)
        .map(|_| seconds(|| done(dev, &mut || drop(dev.blind_rotate(&test, &exponents, &key)))))
        .fold(f64::MAX, f64::min);
    least * 1e9 / (steps * batch) as f64
}

/// Nanoseconds to multiply a word of a row by a digit and add it, modulo a power of two.
fn product_term_ns(dev: &impl Device) -> f64 {
    let (rows, words, batch) = (2048, 1024, 4);
    let shape = LweShape { dimension: words - 1, modulus: 1 << 32, batch: rows };
    let row = dev.upload_lwe(shape, Role::Temporary, &|entry, out| out.fill(entry as u64));
    let digits = LweShape { dimension: rows, batch, ..shape };
    let digits = dev.upload_lwe(digits, Role::Temporary, &|_, out| out.fill(3));
    seconds(|| done(dev, &mut || drop(dev.lwe_product(&digits, &row)))) * 1e9 / (rows * words * batch) as f64
}

/// Memory-bound rates, which do not depend on the prime.
struct Memory {
    copy: f64,
    permute: f64,
    expand: f64,
    together: f64,
    node: f64,
}

fn toml(threads: usize, log_n: u32, [short, long]: [&Rates; 2], (memory, more): (&Memory, &str)) -> String {
    let short_bits = PrimeClass::Short.max_bits();
    let mut text =
        format!("name = \"cpu\"\nextends = \"cpu\"\n\n[host]\nthreads = {threads}\nshort_bits = {short_bits}\n");
    for (section, r) in [("short", short), ("long", long)] {
        // Measured at one degree. Other degrees are scaled by N·log N, which the program does not use.
        let at = |l: u32| {
            r.transform_ns_per_limb * f64::from(l) / f64::from(log_n) * (f64::from(l) - f64::from(log_n)).exp2()
        };
        let transforms: Vec<String> = (10..=17).map(|l| format!("{:.1}", at(l))).collect();
        let _ = write!(
            text,
            "\n[{section}]\ntransform_ns_per_limb = [{}]\nmul_gb_s = {:.3}\nadd_gb_s = {:.3}\nconvert_term_ns = {:.4}\n",
            transforms.join(", "),
            r.mul_gb_s,
            r.add_gb_s,
            r.convert_term_ns
        );
    }
    let Memory { copy, permute, expand, together, node } = memory;
    let _ = write!(
        text,
        "\n[memory]\ncopy_gb_s = {copy:.3}\npermute_gb_s = {permute:.3}\nexpand_gb_s = {expand:.3}\nall_threads_gb_s = {together:.3}\n{more}\n[assumed]\nnode_ns = {{ value = {node:.0}, reason = \"measured as the whole of an operation on one limb of 2^10\" }}\n"
    );
    text
}
