//! Promises of the graph, one file each.

#![expect(clippy::cast_precision_loss, clippy::unwrap_used, clippy::print_stdout, reason = "a test binary")]

mod ark_counts;
mod common;
mod file_format;
mod light;
mod liveness;
mod tfhe;
