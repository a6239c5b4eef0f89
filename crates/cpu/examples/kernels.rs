//! Prints the times of all kernels beside their limits: `cargo run --release -p limbwise-cpu --example kernels [isa
//! [group …]]`, the groups by their numbers from 0 on.

use limbwise_cpu::{Isa, bench};
use std::io::{Result, Write, stdout};

fn main() -> Result<()> {
    let name = std::env::args().nth(1);
    let isa = name.map_or_else(|| Ok(Isa::best()), |name| Isa::from_name(&name)).map_err(std::io::Error::other)?;
    let rates = bench::rates();
    let mut out = stdout().lock();
    let [madd, fma, wide] =
        [rates.madd_per_ns, rates.fma_per_ns, rates.wide_fma_per_ns].map(|rate| rate.unwrap_or(0.0));
    writeln!(out, "{madd:.2} madd52/ns, {fma:.2} FMA/ns of 4, {wide:.2} of 8, {:.1} GB/s from DRAM", rates.dram_gb_s)?;
    let wanted: Vec<usize> = std::env::args().skip(2).filter_map(|number| number.parse().ok()).collect();
    let groups = bench::GROUPS.iter().enumerate().filter(|(i, _)| wanted.is_empty() || wanted.contains(i));
    for row in groups.flat_map(|(_, &group)| bench::some(isa, group, rates)) {
        let limit = row.limit_ns.map_or(String::new(), |l| format!("limit {:8.2}  x{:.2}", l / 1e3, row.ns / l));
        let (op, n, bits, limbs, threads) = (row.op, row.n, row.prime_bits, row.limbs, row.threads);
        let (isa, us) = (row.isa.name(), row.ns / 1e3);
        writeln!(out, "{op:22} {n:7} {bits:3} bit {limbs:3} {isa:7} {threads}T {us:9.2} us  {limit}")?;
    }
    Ok(())
}
