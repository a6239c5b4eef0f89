//! Programmable bootstrapping raced against tfhe-rs, both in this process and in turns, so that whatever else the machine
//! does meets both.
//!
//! `cargo run --release --manifest-path bench/tfhe-rs/Cargo.toml -- [--rounds R] [--threads T] [names …]`; names of rows
//! or beginnings of them, `strix-IV` (2 GB) only where it is named. Times are milliseconds a ciphertext, the least of all
//! rounds; the ratio is that of the leasts, and beside it the median of the ratios of rounds. Every result is decrypted.
//! `integers` is sums and comparisons of 64 bits, on so many threads on both sides.

mod integers;
mod ours;
mod rival;
mod security;

use ours::Ours;
use rival::{Rival, Shape};
use std::{process::ExitCode, time::Instant};
use tfhe::shortint::parameters::PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128 as TWO_TWO;

/// What is timed.
pub trait Bootstrapper {
    /// Modulus switch, blind rotation, extraction.
    fn rotate(&mut self);
    /// Key switch, and the same.
    fn switch_and_rotate(&mut self);
    /// What the last bootstrapping with key switch gave.
    fn messages(&self) -> Vec<u64>;
}

/// A row of the table.
struct Row {
    name: &'static str,
    preset: &'static str,
    rival: Shape,
    /// Words of tfhe-rs.
    bits: u32,
    batch: usize,
    switched: bool,
}

/// Everything that is raced. tfhe-rs has words of 32 and of 64 bits: the small shapes are raced against both.
fn rows() -> Vec<Row> {
    let two_two = Shape {
        lwe_dimension: TWO_TWO.lwe_dimension.0,
        polynomial_size: TWO_TWO.polynomial_size.0,
        pbs: (TWO_TWO.pbs_base_log.0, TWO_TWO.pbs_level.0),
        ks: (TWO_TWO.ks_base_log.0, TWO_TWO.ks_level.0),
        message_bits: 4,
        // TUniform(2^b) of the parameters as Gaussians of about its width: no difference in time.
        noise: [(-18.9f64).exp2(), (-48.3f64).exp2()],
        estimate: None,
    };
    // The publication's shapes: the errors are some that bootstrap, the estimates those of the narrow key with them (ADR 119).
    let of = |lwe_dimension, polynomial_size, pbs, estimate| Shape {
        lwe_dimension,
        polynomial_size,
        pbs,
        ks: (4, 3),
        message_bits: 1,
        noise: [(-22f64).exp2(), (-30f64).exp2()],
        estimate,
    };
    let row = |name, preset, rival, bits, batch, switched| Row { name, preset, rival, bits, batch, switched };
    let mut all = vec![
        row("pbs_ms_single", "2-2-p128", two_two, 64, 1, false),
        row("pbs_ms_batched", "2-2-p128", two_two, 64, 16, false),
        row("ks_pbs_ms_single", "2-2-p128", two_two, 64, 1, true),
        row("ks_pbs_ms_batched", "2-2-p128", two_two, 64, 16, true),
        // The same class on both sides.
        row("s132_pbs_ms_batched", "2-2-p128-s132", two_two, 64, 16, false),
        row("s132_ks_pbs_ms_batched", "2-2-p128-s132", two_two, 64, 16, true),
    ];
    let shapes = [
        ("strix-I", of(500, 1024, (8, 2), Some("70 by estimate")), [32, 64]),
        ("strix-II", of(630, 1024, (7, 3), Some("86 by estimate")), [32, 64]),
        ("strix-III", of(592, 2048, (7, 3), Some("81 by estimate")), [32, 64]),
        ("strix-IV", of(991, 16384, (12, 2), None), [64, 0]),
    ];
    for (name, shape, words) in shapes {
        all.extend(words.into_iter().filter(|&bits| bits > 0).map(|bits| row(name, name, shape, bits, 16, false)));
    }
    all
}

/// Milliseconds a ciphertext.
fn timed(row: &Row, with: &mut dyn Bootstrapper) -> f64 {
    let start = Instant::now();
    if row.switched {
        with.switch_and_rotate()
    } else {
        with.rotate()
    }
    start.elapsed().as_secs_f64() * 1e3 / row.batch as f64
}

fn race(row: &Row, (rounds, threads): (usize, usize)) -> Result<(), Box<dyn std::error::Error>> {
    let mut ours = Ours::new(row.preset, row.batch, threads)?;
    let mut rival: Box<dyn Bootstrapper> = match row.bits {
        32 => Box::new(Rival::<u32>::new(row.rival, row.batch)),
        _ => Box::new(Rival::<u64>::new(row.rival, row.batch)),
    };
    for (who, with) in [("limbwise", &mut ours as &mut dyn Bootstrapper), ("tfhe-rs", &mut *rival)] {
        with.switch_and_rotate();
        let space = if who == "limbwise" { 1 << limbwise_bits(row.preset)? } else { 1u64 << row.rival.message_bits };
        let wanted: Vec<u64> = (0..row.batch as u64).map(|i| (i + 1) % space).collect();
        if with.messages() != wanted {
            return Err(format!("{}: {who} decrypted {:?}", row.name, with.messages()).into());
        }
    }
    let (mut own, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        theirs.push(timed(row, &mut *rival));
        own.push(timed(row, &mut ours));
    }
    let mut ratios: Vec<f64> = theirs.iter().zip(&own).map(|(t, o)| t / o).collect();
    ratios.sort_by(f64::total_cmp);
    let least = |all: &[f64]| all.iter().copied().fold(f64::INFINITY, f64::min);
    let (o, t) = (least(&own), least(&theirs));
    println!(
        "{:<22} {:<13} n={:<4} {:>8.3}   tfhe-rs u{} n={:<4} {:>8.3}   ratio {:.3}  (median of rounds {:.3})",
        row.name,
        row.preset,
        ours.steps(),
        o,
        row.bits,
        row.rival.lwe_dimension,
        t,
        t / o,
        ratios[ratios.len() / 2]
    );
    println!("    {}", security::ours(row.preset)?);
    println!("    {}", security::theirs(&row.rival, row.bits));
    Ok(())
}

fn limbwise_bits(name: &str) -> Result<u32, Box<dyn std::error::Error>> {
    Ok(limbwise::tfhe::preset(name)?.message_bits)
}

fn main() -> ExitCode {
    let (mut rounds, mut threads, mut names) = (9, 1, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = |least: usize| args.next().and_then(|n| n.parse().ok()).map_or(least, |n: usize| n.max(1));
        match arg.as_str() {
            "--rounds" => rounds = number(rounds),
            "--threads" => threads = number(threads),
            name => names.push(name.to_owned()),
        }
    }
    if names.iter().any(|name| name == "integers") {
        if let Err(e) = integers::race(rounds, threads) {
            eprintln!("{e}");
            return ExitCode::FAILURE;
        }
        names.retain(|name| name != "integers");
        if names.is_empty() {
            return ExitCode::SUCCESS;
        }
    }
    println!(
        "batches of 16; milliseconds a ciphertext; limbwise on {threads} thread(s), tfhe-rs on one; ratio > 1: limbwise is ahead"
    );
    for row in rows() {
        let named = names.iter().any(|name| row.name == name || row.name.starts_with(&format!("{name}_")));
        if !(named || names.is_empty() && row.name != "strix-IV") {
            continue;
        }
        if let Err(e) = race(&row, (rounds, threads)) {
            eprintln!("{e}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
