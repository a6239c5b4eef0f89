//! Files: what is written comes back, and nothing else passes.

mod common;
mod round_trip;
