//! The ladder: schema, timing probes, exact unit times, whole programs.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::float_cmp,
    clippy::cast_precision_loss,
    reason = "a test binary; exact numbers are meant"
)]

mod ark;
mod cluster;
mod composed;
mod counts;
mod cpu;
mod cuda;
mod fab;
mod memory;
mod mutations;
mod offload;
mod probes;
mod programs;
mod random;
mod reports;
mod simfhe;
mod specs;
mod toy;
mod upmem;
