//! Published results beside what recordings and schedules give here: fresh at each run, with all that is off.
//!
//! The published numbers stand in `claims/*.toml`, which no model can read: models are in a crate below this one. Each
//! measure has a name, and a claim names the measure that it is compared with (ADR 49). A claim is one row; other readings
//! of it are notes of that row, and each row says when its reading was fixed (ADR 129).
//!
//! Read in this order: [`Reproduction`] (claims), [`Verdict`], `text` and `page` (output), `circuits` (what is recorded),
//! `ark`, `fab`, `mad`, `dramatic`, `fhex`, `flexmem`, `zoo` (what is measured).

mod ark;
mod circuits;
mod claims;
mod dramatic;
mod experiments;
mod fab;
mod fhex;
mod flexmem;
mod mad;
mod page;
mod text;
mod verdict;
mod zoo;

pub use ark::ark;
pub use claims::{Choice, Kind, Reading, Reproduction, Row, System};
pub use dramatic::{CpuSide, dramatic};
pub use experiments::{Experiment, Setting};
pub use fab::fab;
pub use fhex::fhex;
pub use flexmem::flexmem;
pub use mad::mad;
pub use verdict::{Fixed, Verdict};
pub use zoo::{ZOO, zoo};

pub const SYSTEMS: [&str; 7] = ["ark", "fab", "mad", "dramatic", "fhex", "flexmem", "zoo"];
