//! Times of the kernels next to limits measured in the same run.
//!
//! A limit is the time of the arithmetic alone, or of the memory traffic alone, at the rates that this machine reaches
//! in the same run. No transform can be faster than its multiply-adds in sequence at full rate.

mod blind;
mod composites;
mod matrix;
mod rotated;
mod sums;

pub use blind::{BlindShape, blind_rotation};
pub use composites::{SwitchShape, key_switching};
pub use matrix::{MatrixShape, matrix_product};
pub use rotated::{RotatedShape, rotated_sums};
pub use sums::{SumsShape, weighted_sums};

use crate::{
    kernels::{
        Converter, Isa, LimbKernels, avx2, avx512,
        convert::TILE,
        galois::ValueMap,
        ifma, kernels,
        sums::{End, Sum, Term},
    },
    layout::{self, Line},
    pool::Pool,
};
use limbwise_device::Gadget;
use limbwise_math::{galois::GaloisElement, modulus::Modulus, prime::ntt_primes_below, prime_class::PrimeClass};
use std::{hint::black_box, time::Instant};

/// One measured operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Name of the operation: `ntt`, `intt`, `ntt_rotating` (each limb has its own prime and tables), `ntt_one_table`
    /// (rotating limbs share one prime; the difference is the cost of tables), ….
    pub op: &'static str,
    /// Ring degree N.
    pub n: usize,
    /// Bits of the primes.
    pub prime_bits: u32,
    /// Limbs in rotation; 1 means hot caches. For conversions, the sources; for composites, the primes of the chain;
    /// for blind rotations, the steps.
    pub limbs: usize,
    /// Number of threads.
    pub threads: usize,
    /// Instruction set.
    pub isa: Isa,
    /// Nanoseconds per limb, the smallest of several runs. Conversions count per target limb, composites as a whole,
    /// blind rotations per entry.
    pub ns: f64,
    /// The time at the measured peak rate, if the operation has a limit.
    pub limit_ns: Option<f64>,
}

/// Peak rates of this machine on one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// 52-bit multiply-add instructions of eight words per nanosecond; `None` if the CPU has no such instructions.
    pub madd_per_ns: Option<f64>,
    /// Multiply-add instructions of four floats per nanosecond; `None` if the CPU has no such instructions.
    pub fma_per_ns: Option<f64>,
    /// The same of eight floats.
    pub wide_fma_per_ns: Option<f64>,
    /// Bytes read per nanosecond from an array of 128 MiB in huge pages, in the best number of streams.
    pub dram_gb_s: f64,
}

/// What an instruction set asks of its multiplier for primes of up to 50 bits, in instructions for each eight words, and
/// how many of them this machine does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multiplier {
    per_ns: f64,
    /// A product with a factor prepared for it: a butterfly has one.
    pub product: usize,
    /// The additions of a butterfly, where they take the multiplier's units.
    pub additions: usize,
    /// What brings a lazy value to its residue.
    pub residue: usize,
    /// A term of a sum that is reduced once.
    pub term: usize,
    /// That reduction, in a sum of products.
    pub sum: usize,
    /// The same in a conversion.
    pub target: usize,
    /// A source of a conversion before its sums.
    pub source: usize,
    /// A product of two residues.
    pub mul: usize,
}

impl Multiplier {
    /// Nanoseconds for so many instructions.
    #[must_use]
    pub fn ns(self, instructions: usize) -> f64 {
        float(instructions) / self.per_ns
    }

    /// Instructions of a transform with short tables that ends in residues.
    fn transform(self, log_n: u32) -> usize {
        self.lazy_transform(log_n) + (self.residue << (log_n - 3))
    }

    fn lazy_transform(self, log_n: u32) -> usize {
        let vectors = 1usize << (log_n - 3);
        let twist = if log_n >= 12 { vectors * 15 / 16 } else { 0 };
        let butterflies = log_n as usize * vectors / 2;
        self.product * (butterflies + twist) + self.additions * butterflies
    }
}

impl Rates {
    /// The multiplier that an instruction set works with; `None` for plain words.
    #[must_use]
    pub fn multiplier(self, isa: Isa) -> Option<Multiplier> {
        match isa {
            // Two halves of a product; Montgomery's step and Shoup's product at the end of a sum.
            Isa::Ifma => self.madd_per_ns.map(|per_ns| Multiplier {
                per_ns,
                product: 3,
                additions: 0,
                residue: 2,
                term: 2,
                sum: 5,
                target: 2,
                source: 4,
                mul: 4,
            }),
            // Twice as many, each of four words: a product is four, a term two, a reduction two. As many additions go with
            // them, to units of their own, which this limit leaves out.
            Isa::Avx2 => self.fma_per_ns.map(|per_ns| Multiplier {
                per_ns,
                product: 8,
                additions: 0,
                residue: 4,
                term: 4,
                sum: 8,
                target: 8,
                source: 16,
                mul: 8,
            }),
            // A line is one vector. Additions go to the units of products and are counted with them.
            Isa::Avx512 => self.wide_fma_per_ns.map(|per_ns| Multiplier {
                per_ns,
                product: 6,
                additions: 2,
                residue: 4,
                term: 4,
                sum: 10,
                target: 10,
                source: 8,
                mul: 9,
            }),
            Isa::Scalar => None,
        }
    }
}

/// Smallest time of one call in nanoseconds, over about `millis` milliseconds.
fn least_ns(millis: u128, mut f: impl FnMut()) -> f64 {
    f();
    let begin = Instant::now();
    let mut least = f64::INFINITY;
    while begin.elapsed().as_millis() < millis || least.is_infinite() {
        let start = Instant::now();
        f();
        least = least.min(start.elapsed().as_secs_f64() * 1e9);
    }
    least
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn float(x: usize) -> f64 {
    x as f64
}

/// Measures the peak rates.
///
/// # Panics
/// Never.
#[must_use]
pub fn rates() -> Rates {
    const ROUNDS: u64 = 20_000;
    let madd = |token| {
        let ns = least_ns(50, || {
            black_box(ifma::peak_madd(token, black_box(ROUNDS)));
        });
        16.0 * float(usize::try_from(ROUNDS).expect("small")) / ns
    };
    let fma = |token| {
        let ns = least_ns(50, || {
            black_box(avx2::peak_fma(token, black_box(ROUNDS)));
        });
        12.0 * float(usize::try_from(ROUNDS).expect("small")) / ns
    };
    let wide_fma = |token| {
        let ns = least_ns(50, || {
            black_box(avx512::peak_fma(token, black_box(ROUNDS)));
        });
        16.0 * float(usize::try_from(ROUNDS).expect("small")) / ns
    };
    Rates {
        madd_per_ns: ifma::Token::detect().map(madd),
        fma_per_ns: avx2::Token::detect().map(fma),
        wide_fma_per_ns: avx512::Token::detect().map(wide_fma),
        dram_gb_s: read_gb_s(128 << 20),
    }
}

/// The multiplier for primes of so many bits.
fn multiplier(isa: Isa, prime_bits: u32, rates: Rates) -> Option<Multiplier> {
    rates.multiplier(isa).filter(|_| PrimeClass::of_bits(prime_bits) <= PrimeClass::Short)
}

/// Bytes per nanosecond of repeated reads of an array of `bytes` bytes in pages as polynomials have them: the best of one to
/// eight streams side by side, as operations have them.
fn read_gb_s(bytes: usize) -> f64 {
    let pool = Pool::default();
    let mut array = pool.take(bytes / size_of::<Line>());
    pool.make_mut(&mut array).fill(Line([1; 8]));
    let ns = [read_side_by_side::<1>, read_side_by_side::<2>, read_side_by_side::<4>, read_side_by_side::<8>]
        .map(|read| least_ns(50, || _ = black_box(read(array.lines()))));
    float(bytes) / ns.into_iter().fold(f64::INFINITY, f64::min)
}

/// The exclusive sum of all lines, read in S streams.
fn read_side_by_side<const S: usize>(lines: &[Line]) -> [u64; 8] {
    let length = lines.len() / S;
    let streams: [&[Line]; S] = std::array::from_fn(|s| &lines[s * length..][..length]);
    let mut sums = [[0; 8]; S];
    for i in 0..length {
        for (sum, stream) in sums.iter_mut().zip(&streams) {
            sum.iter_mut().zip(&stream[i].0).for_each(|(sum, x)| *sum ^= x);
        }
    }
    sums.into_iter().fold([0; 8], |all, sum| std::array::from_fn(|i| all[i] ^ sum[i]))
}

/// The primes of a benchmark.
fn moduli(log_n: u32, bits: u32, count: usize) -> Vec<Modulus> {
    let primes = ntt_primes_below(log_n, bits, count, &[]).expect("as many primes of these widths");
    primes.into_iter().map(Modulus::new).collect()
}

fn limb(q: Modulus, log_n: u32, salt: u64) -> Vec<Line> {
    let word = |i: u64| q.reduce((i + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (0..layout::lines(log_n) as u64).map(|l| Line(std::array::from_fn(|i| word(8 * l + i as u64)))).collect()
}

type Transform = fn(&dyn LimbKernels, &mut [Line]);

/// Forward and inverse transforms: one hot limb, and `limbs` in rotation.
#[must_use]
pub fn transforms(isa: Isa, log_n: u32, prime_bits: u32, limbs: usize, rates: Rates) -> Vec<Measurement> {
    let tables: Vec<_> = moduli(log_n, prime_bits, limbs).into_iter().map(|q| (q, kernels(isa, q, log_n))).collect();
    let (first, kernel) = &tables[0];
    let mut data: Vec<_> = tables.iter().map(|(q, _)| limb(*q, log_n, 1)).collect();
    let mut alike = vec![limb(*first, log_n, 1); if limbs > 1 { limbs } else { 0 }];
    let limit_ns = multiplier(isa, prime_bits, rates).map(|m| m.ns(m.transform(log_n)));
    let mut rows = Vec::new();
    let both: [([&'static str; 3], Transform); 2] = [
        (["ntt", "ntt_one_table", "ntt_rotating"], |kernels, a| kernels.ntt(a)),
        (["intt", "intt_one_table", "intt_rotating"], |kernels, a| kernels.intt(a)),
    ];
    for ([hot, one_table, rotating], f) in both {
        let row = |op, limbs, ns| Measurement {
            op,
            n: 1 << log_n,
            prime_bits,
            limbs,
            threads: 1,
            isa: kernel.isa(),
            ns,
            limit_ns,
        };
        rows.push(row(hot, 1, least_ns(60, || f(kernel.as_ref(), &mut data[0]))));
        if limbs > 1 {
            let sweep = || alike.iter_mut().for_each(|a| f(kernel.as_ref(), a));
            rows.push(row(one_table, limbs, least_ns(150, sweep) / float(limbs)));
            let sweep = || data.iter_mut().zip(&tables).for_each(|(a, (_, kernels))| f(kernels.as_ref(), a));
            rows.push(row(rotating, limbs, least_ns(150, sweep) / float(limbs)));
        }
    }
    rows
}

/// Element-wise operations on `limbs` limbs in rotation; the limit is to read as many bytes from an equally large
/// array.
#[must_use]
pub fn elementwise(isa: Isa, log_n: u32, prime_bits: u32, limbs: usize) -> Vec<Measurement> {
    let tables: Vec<_> = moduli(log_n, prime_bits, limbs).into_iter().map(|q| (q, kernels(isa, q, log_n))).collect();
    let rows = |salt| tables.iter().map(|(q, _)| limb(*q, log_n, salt)).collect::<Vec<_>>();
    let (mut out, a, b) = (rows(1), rows(2), rows(3));
    let bytes = 64 * layout::lines(log_n);
    let limits = [1, 3].map(|streams| float(streams * bytes) / read_gb_s(streams * bytes * limbs));
    type Op = fn(&dyn LimbKernels, &mut [Line], &[Line], &[Line]);
    let ops: [(&'static str, f64, Op); 4] = [
        ("add", limits[1], |k, out, a, b| k.add(out, a, b)),
        ("mul", limits[1], |k, out, a, b| k.mul(out, a, b)),
        ("mul_acc", limits[1], |k, out, a, b| k.mul_acc(out, a, b)),
        ("scale_limbs", limits[0], |k, out, _, _| k.scale(out, 3)),
    ];
    let measure = |(op, limit, f): (&'static str, f64, Op)| {
        let total = least_ns(100, || {
            for (i, (_, kernels)) in tables.iter().enumerate() {
                f(kernels.as_ref(), &mut out[i], &a[i], &b[i]);
            }
        });
        let isa = tables[0].1.isa();
        Measurement {
            op,
            n: 1 << log_n,
            prime_bits,
            limbs,
            threads: 1,
            isa,
            ns: total / float(limbs),
            limit_ns: Some(limit),
        }
    };
    ops.into_iter().map(measure).collect()
}

/// Size of a base conversion.
#[derive(Clone, Copy, Debug)]
pub struct ConversionSize {
    /// Number of source limbs.
    pub sources: usize,
    /// Number of target limbs.
    pub targets: usize,
}

/// Base conversion, timed per target limb.
#[must_use]
pub fn conversion(isa: Isa, log_n: u32, prime_bits: u32, size: ConversionSize, rates: Rates) -> Measurement {
    let ConversionSize { sources, targets } = size;
    let primes = moduli(log_n, prime_bits, sources + targets);
    let converter = Converter::new(isa, &primes[..sources], &primes[sources..]);
    let from: Vec<_> = primes[..sources].iter().map(|q| limb(*q, log_n, 4)).collect();
    let mut to = vec![vec![Line::default(); layout::lines(log_n)]; targets];
    let ns = least_ns(150, || {
        let mut parts: Vec<_> = to.iter_mut().map(|limb| limb.chunks_mut(TILE)).collect();
        for first in (0..from[0].len()).step_by(TILE) {
            let mut out: Vec<&mut [Line]> = parts.iter_mut().filter_map(Iterator::next).collect();
            let tile: Vec<&[Line]> = from.iter().map(|limb| &limb[first..first + out[0].len()]).collect();
            converter.convert(&mut out, &tile);
        }
    });
    let limit_ns = multiplier(isa, prime_bits, rates).map(|m| {
        let each = m.term * sources + m.target;
        m.ns(layout::lines(log_n) * (targets * each + m.source * sources)) / float(targets)
    });
    Measurement {
        op: "basis_convert",
        n: 1 << log_n,
        prime_bits,
        limbs: sources,
        threads: 1,
        isa,
        ns: ns / float(targets),
        limit_ns,
    }
}

/// An automorphism of values on `limbs` limbs in rotation; the limit as for [`elementwise`].
///
/// # Panics
/// If there are not enough primes of that size, or the CPU lacks `isa`.
#[must_use]
pub fn automorphism(isa: Isa, log_n: u32, prime_bits: u32, limbs: usize) -> Measurement {
    let map = ValueMap::new(GaloisElement::rotation(1, log_n), log_n);
    let a: Vec<_> = moduli(log_n, prime_bits, limbs).into_iter().map(|q| limb(q, log_n, 5)).collect();
    let mut out = a.clone();
    let bytes = 128 * layout::lines(log_n);
    let limit_ns = Some(float(bytes) / read_gb_s(bytes * limbs));
    let ns = least_ns(100, || out.iter_mut().zip(&a).for_each(|(out, a)| map.apply(isa, out, a))) / float(limbs);
    Measurement { op: "automorphism", n: 1 << log_n, prime_bits, limbs, threads: 1, isa, ns, limit_ns }
}

/// Sums over five digits of their products with both halves of a key, timed per limb of both results. The digits are
/// hot; the key's limbs rotate, and with more than one of them the limit is to read them from memory.
///
/// # Panics
/// If there are not enough primes of that size, or the CPU lacks `isa`.
#[must_use]
pub fn inner_products(isa: Isa, log_n: u32, prime_bits: u32, limbs: usize, rates: Rates) -> Measurement {
    const DIGITS: usize = 5;
    let primes = moduli(log_n, prime_bits, limbs);
    let least = *primes.last().expect("at least one limb");
    let row = |q| limb(q, log_n, 6);
    let factors: Vec<_> = (0..DIGITS).map(|_| row(least)).collect();
    let key = |&q: &Modulus| (kernels(isa, q, log_n), vec![[row(q), row(q)]; DIGITS]);
    let keys: Vec<_> = primes.iter().map(key).collect();
    let mut out = [0, 1].map(|_| vec![Line::default(); layout::lines(log_n)]);
    let ns = least_ns(150, || {
        for (kernels, key) in &keys {
            let terms = factors.iter().zip(key);
            let terms = terms.map(|(factor, [b, a])| Term { factor, with: [b, a] });
            let terms: Vec<Term<'_, 2>> = terms.collect();
            kernels.inner_products(out.each_mut().map(|out| &mut out[..]), &Sum::of(&terms, End::Set));
        }
    });
    let lines = layout::lines(log_n);
    let compute = multiplier(isa, prime_bits, rates).map(|m| m.ns(lines * 2 * (m.term * DIGITS + m.sum)));
    let read = float(2 * DIGITS * 64 * lines) / rates.dram_gb_s;
    let limit_ns = if limbs > 1 { Some(compute.unwrap_or(0.0).max(read)) } else { compute };
    Measurement {
        op: "inner_products",
        n: 1 << log_n,
        prime_bits,
        limbs,
        threads: 1,
        isa,
        ns: ns / float(limbs),
        limit_ns,
    }
}

/// Key switching of 25 limbs at N = 2^16, dnum 5.
fn switching(isa: Isa, threads: usize, rates: Rates) -> Vec<Measurement> {
    let shape = SwitchShape { log_n: 16, prime_bits: 48, chain: 25, special: 5, digit: 5 };
    key_switching(isa, shape, threads, rates).expect("the CPU has the instruction set, and a second thread")
}

/// Weighted sums of 8 operands of 12 limbs at N = 2^16.
fn summing(isa: Isa, threads: usize, rates: Rates) -> Vec<Measurement> {
    let shape = SumsShape { log_n: 16, prime_bits: 48, limbs: 12, babies: 8, sums: 4 };
    weighted_sums(isa, shape, threads, rates).expect("the CPU has the instruction set, and a second thread")
}

/// A map of 32 diagonals on 12 limbs at N = 2^16: 7 rotations and 4 sums.
fn rotating_sums(isa: Isa, threads: usize, rates: Rates) -> Vec<Measurement> {
    let switch = SwitchShape { log_n: 16, prime_bits: 48, chain: 12, special: 3, digit: 3 };
    let shape = RotatedShape { switch, rotations: 7, sums: 4 };
    rotated_sums(isa, shape, threads, rates).expect("the CPU has the instruction set, and a second thread")
}

/// The first layer of `mlp` on one of both polynomials: with the primes of its preset, and with wide and long ones.
fn layering(isa: Isa, threads: usize, rates: Rates) -> Vec<Measurement> {
    let row = |prime_bits| {
        let shape = MatrixShape { log_n: 12, prime_bits, limbs: 3, sides: [128, 485], weight_bits: 8 };
        matrix_product(isa, shape, threads, rates).expect("the CPU has the instruction set, and a second thread")
    };
    [27, 48, 60].into_iter().flat_map(row).collect()
}

/// Blind rotations of the shapes that TFHE's usual parameter sets have, alone and sixteen together.
fn rotating(isa: Isa, rates: Rates) -> Vec<Measurement> {
    let shapes = [(10, 500, 10, 2), (11, 918, 23, 1), (11, 592, 7, 3)];
    let row = |(log_n, steps, base_log, levels): (u32, usize, u32, u32)| {
        [(1, 1), (16, 1), (16, 2)].map(|(batch, threads)| {
            let gadget = Gadget { base_log, levels };
            let shape = BlindShape { log_n, prime_bits: 48, steps, gadget, batch };
            blind_rotation(isa, shape, threads, rates).expect("the CPU has the instruction set, and a second thread")
        })
    };
    shapes.into_iter().flat_map(row).collect()
}

/// All kernel measurements of `limbwise bench`; takes about fifteen seconds.
///
/// # Panics
/// If the CPU lacks `isa`.
#[must_use]
pub fn all(isa: Isa) -> Vec<Measurement> {
    let rates = rates();
    GROUPS.iter().flat_map(|&group| some(isa, group, rates)).collect()
}

/// Groups of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Group {
    /// Forward and inverse transforms.
    Transforms,
    /// Element-wise operations, automorphisms, inner products with a key.
    Passes,
    /// Base conversions.
    Conversions,
    /// A key switch and its parts, on one thread and on two.
    KeySwitching,
    /// Weighted sums, likewise.
    Sums,
    /// Sums of rotations, likewise.
    Rotations,
    /// Matrices times residues, likewise.
    Matrices,
    /// Blind rotations.
    BlindRotation,
}

/// All groups, in the order of [`all`].
pub const GROUPS: &[Group] = &[
    Group::Transforms,
    Group::Passes,
    Group::Conversions,
    Group::KeySwitching,
    Group::Sums,
    Group::Rotations,
    Group::Matrices,
    Group::BlindRotation,
];

/// The measurements of one group.
///
/// # Panics
/// If the CPU lacks `isa`.
#[must_use]
pub fn some(isa: Isa, group: Group, rates: Rates) -> Vec<Measurement> {
    let on_both = |f: fn(Isa, usize, Rates) -> Vec<Measurement>| {
        [1, 2].into_iter().flat_map(|threads| f(isa, threads, rates)).collect()
    };
    match group {
        Group::Transforms => transforming(isa, rates),
        Group::Passes => {
            let mut rows = elementwise(isa, 16, 49, 30);
            rows.push(automorphism(isa, 16, 49, 30));
            rows.extend([(12, 1), (16, 30)].map(|(log_n, limbs)| inner_products(isa, log_n, 48, limbs, rates)));
            rows
        }
        Group::Conversions => converting(isa, rates),
        Group::KeySwitching => on_both(switching),
        Group::Sums => on_both(summing),
        Group::Rotations => on_both(rotating_sums),
        Group::Matrices => on_both(layering),
        Group::BlindRotation => rotating(isa, rates),
    }
}

/// Transforms of all ring degrees.
fn transforming(isa: Isa, rates: Rates) -> Vec<Measurement> {
    let short = PrimeClass::Short.max_bits(); // AVX-512 has kernels for these bits and for one and two less
    let wide = if isa == Isa::Ifma { vec![short - 2, short - 1, short, 60] } else { vec![short - 1, 60] };
    let mut rows = Vec::new();
    for log_n in [10, 11, 12, 13, 14, 15] {
        rows.extend(wide.iter().flat_map(|&bits| transforms(isa, log_n, bits, 1, rates)));
    }
    rows.extend(wide.iter().flat_map(|&bits| transforms(isa, 16, bits, 30, rates)));
    rows.extend(transforms(isa, 17, 49, 1, rates));
    rows
}

/// Conversions at N = 2^16, beside plain words.
fn converting(isa: Isa, rates: Rates) -> Vec<Measurement> {
    let mut rows = Vec::new();
    for (bits, sources, targets) in [(49, 5, 25), (49, 25, 5), (49, 1, 24), (60, 5, 25)] {
        let size = ConversionSize { sources, targets };
        let scalar = (isa != Isa::Scalar).then_some(Isa::Scalar);
        rows.extend(scalar.into_iter().chain([isa]).map(|isa| conversion(isa, 16, bits, size, rates)));
    }
    rows
}
