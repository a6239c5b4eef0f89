//! Sums and comparisons of 64 bits: tfhe-rs's `FheUint64` against Limbwise's `Radix`, on as many threads.
//!
//! tfhe-rs goes through its public interface, which uses its threads inside an operation; a batch is its operation once a
//! row. Limbwise takes a batch as one. Both have 2 bits of message, 2 of carry, and p_fail ≤ 2^−128; results are decrypted.

use limbwise::tfhe::{Ciphertext, ClientKey, Comparison, Evaluator, Format, Integers, ServerKey, TfheParams, preset};
use limbwise_cpu::Cpu;
use limbwise_math::sampling::Seed;
use std::time::Instant;
use tfhe::{
    ConfigBuilder, FheBool, FheUint64, generate_keys,
    prelude::{FheDecrypt, FheEncrypt, FheOrd},
    set_server_key,
    shortint::parameters::PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128 as TWO_TWO,
};

/// Integers of a batch.
const ROWS: usize = 8;

/// What is raced.
#[derive(Clone, Copy, PartialEq)]
enum Op {
    Add,
    Less,
}

fn operands(rows: usize) -> [Vec<u64>; 2] {
    let word = |i: usize, by: u64| (i as u64 + 1).wrapping_mul(by);
    [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03].map(|by| (0..rows).map(|i| word(i, by)).collect())
}

fn clear(op: Op, a: u64, b: u64) -> u64 {
    if op == Op::Add { a.wrapping_add(b) } else { u64::from(a < b) }
}

/// Limbwise.
struct Ours {
    dev: Cpu,
    client: ClientKey,
    server: ServerKey<Cpu>,
    threads: usize,
}

impl Ours {
    fn new(threads: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let params = TfheParams::new(&preset("2-2-p128")?)?;
        let dev = Cpu::new(limbwise_cpu::Isa::best(), threads)?;
        let client = ClientKey::from_seed(&params, Seed([7; 32]));
        let server = ServerKey::new(&dev, &client.bootstrap_keys(&dev));
        Ok(Self { dev, client, server, threads })
    }

    fn encrypted(&self, values: &[u64]) -> Result<Ciphertext<Cpu>, limbwise::Error> {
        let values: Vec<i128> = values.iter().map(|&v| v.into()).collect();
        self.client.encrypt(&self.dev, &Format::unsigned(64)?.messages(&values)?)
    }

    /// Seconds, and what came out.
    fn run(&self, op: Op, a: &Ciphertext<Cpu>, b: &Ciphertext<Cpu>) -> Result<(f64, Vec<u64>), limbwise::Error> {
        let format = Format::unsigned(64)?;
        let integers = Integers::new(Evaluator::new(&self.dev, &self.server))?.with_lanes(self.threads);
        let (x, y) = (integers.value(format, a)?, integers.value(format, b)?);
        let start = Instant::now();
        let (seconds, values) = match op {
            Op::Add => {
                let sum = x.add(&y)?;
                let seconds = start.elapsed().as_secs_f64();
                let values = format.values(&self.client.decrypt(&self.dev, &sum.ciphertext()?)?)?;
                (seconds, values.into_iter().map(|v| u64::try_from(v).expect("unsigned")).collect())
            }
            Op::Less => {
                let less = x.compare(Comparison::Less, &y)?;
                (start.elapsed().as_secs_f64(), self.client.decrypt(&self.dev, less.ciphertext())?)
            }
        };
        Ok((seconds, values))
    }
}

/// What tfhe-rs computes.
enum Found {
    Sum(FheUint64),
    Less(FheBool),
}

fn rival(op: Op, a: &[FheUint64], b: &[FheUint64]) -> (f64, Vec<Found>) {
    let start = Instant::now();
    let one = |(a, b): (&FheUint64, &FheUint64)| match op {
        Op::Add => Found::Sum(a + b),
        Op::Less => Found::Less(a.lt(b)),
    };
    let found = a.iter().zip(b).map(one).collect();
    (start.elapsed().as_secs_f64(), found)
}

/// All rows of the table.
///
/// # Errors
/// A result that is wrong.
pub fn race(rounds: usize, threads: usize) -> Result<(), Box<dyn std::error::Error>> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let (client, server) = generate_keys(ConfigBuilder::with_custom_parameters(TWO_TWO));
    set_server_key(server);
    let ours = Ours::new(threads)?;
    println!(
        "integers of 64 bits; milliseconds an integer; {threads} thread(s) on both sides; ratio > 1: limbwise is ahead"
    );
    println!("    {}", crate::security::ours("2-2-p128")?);
    println!(
        "    tfhe-rs: n {}, N {}; 132 bits by the noise formulas of its source",
        TWO_TWO.lwe_dimension.0, TWO_TWO.polynomial_size.0
    );
    for (name, op, rows) in
        [("add", Op::Add, 1), ("lt", Op::Less, 1), ("add, batch", Op::Add, ROWS), ("lt, batch", Op::Less, ROWS)]
    {
        let [a, b] = operands(rows);
        let wanted: Vec<u64> = a.iter().zip(&b).map(|(&a, &b)| clear(op, a, b)).collect();
        let theirs = [&a, &b].map(|v| v.iter().map(|&v| FheUint64::encrypt(v, &client)).collect::<Vec<_>>());
        let own = [ours.encrypted(&a)?, ours.encrypted(&b)?];
        let (mut times, mut rivals) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (seconds, found) = rival(op, &theirs[0], &theirs[1]);
            let decrypt = |found: &Found| match found {
                Found::Sum(x) => x.decrypt(&client),
                Found::Less(x) => u64::from(x.decrypt(&client)),
            };
            let values: Vec<u64> = found.iter().map(decrypt).collect();
            rivals.push(seconds * 1e3 / rows as f64);
            let (seconds, own) = ours.run(op, &own[0], &own[1])?;
            times.push(seconds * 1e3 / rows as f64);
            if values != wanted || own != wanted {
                return Err(format!("{name}: wanted {wanted:?}, limbwise {own:?}, tfhe-rs {values:?}").into());
            }
        }
        let mut ratios: Vec<f64> = rivals.iter().zip(&times).map(|(t, o)| t / o).collect();
        ratios.sort_by(f64::total_cmp);
        let least = |all: &[f64]| all.iter().copied().fold(f64::INFINITY, f64::min);
        let (o, t) = (least(&times), least(&rivals));
        let median = ratios[ratios.len() / 2];
        println!("{name:<12} {o:>9.2}   tfhe-rs {t:>9.2}   ratio {:.3}  (median of rounds {median:.3})", t / o);
    }
    Ok(())
}
