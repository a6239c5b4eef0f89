//! Published results beside what recordings and schedules give here: fresh at each run, misses included.
//!
//! The published numbers stand in `claims/*.toml`, which no model can read: models are in a crate below this one. What is
//! measured has a name, and a claim names what it is compared with.
//!
//! Read in this order: [`Reproduction`] (claims, verdicts, text), `circuits` (what is recorded), `ark`, `fab`, `mad`,
//! `dramatic` (what is measured).

mod ark;
mod circuits;
mod claims;
mod dramatic;
mod experiments;
mod fab;
mod mad;
mod page;

pub use ark::ark;
pub use claims::{Choice, Kind, Reproduction, Row, System, Verdict};
pub use dramatic::{CpuSide, dramatic};
pub use experiments::{Experiment, Setting};
pub use fab::fab;
pub use mad::mad;

pub const SYSTEMS: [&str; 4] = ["ark", "fab", "mad", "dramatic"];
