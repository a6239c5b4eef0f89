//! Published results beside what recordings and schedules give here: fresh at each run, misses included.
//!
//! The published numbers stand in `claims/*.toml`, which no model can read: models are in a crate below this one. What is
//! measured has a name, and a claim names what it is compared with.
//!
//! Read in this order: [`Reproduction`] (claims, verdicts, text), `circuits` (what is recorded), `ark` (what is measured).

mod ark;
mod circuits;
mod claims;

pub use ark::ark;
pub use claims::{Reproduction, Row, System, Verdict};

/// What can be reproduced.
pub const SYSTEMS: [&str; 1] = ["ark"];
