//! How many issue slots a second one core interprets: `cargo bench -p limbwise-upmem`.

use limbwise_math::{modulus::Modulus, prime::ntt_primes_below};
use limbwise_upmem::{Form, Preset, exact::Bench, kernels::frame::Operation};
use std::{
    error::Error,
    io::{Write as _, stdout},
    time::Instant,
};

fn main() -> Result<(), Box<dyn Error>> {
    let log_n = 12;
    let q = Modulus::new(ntt_primes_below(log_n, 32, 1, &[])?[0]);
    for (operation, jobs, tasklets) in [
        (Operation::Ntt, 16, 16),
        (Operation::Ntt, 11, 11),
        (Operation::Ntt, 1, 1),
        (Operation::NttShared, 4, 16),
        (Operation::BgvProduct, 16, 16),
    ] {
        let mut bench = Bench::new(Preset::v1b(), Form::default(), q, log_n)?;
        let list: Vec<_> = (0..jobs).map(|i| bench.job(operation, 8 * i, 1)).collect();
        let mut best = 0.0f64;
        let mut counts = Default::default();
        for _ in 0..3 {
            let begun = Instant::now();
            counts = bench.run(&[(operation, list.clone())], tasklets)?;
            best = best.max(counts.slots as f64 / begun.elapsed().as_secs_f64());
        }
        writeln!(
            stdout(),
            "{:12} {jobs:3} sub-polynomials of 2^{log_n}, {tasklets:2} tasklets: {:8} slots, {:8} cycles, {:6.1} M slots/s",
            operation.name(),
            counts.slots,
            counts.cycles,
            best / 1e6
        )?;
    }
    Ok(())
}
