//! The readings of one program: run it, plan it, time it; and the host they happen on.
//!
//! Enters: opening devices by name, recording, plans, runs, files of programs and reports, calibration of the
//! host's model, programs as data.
//! Stays out: printing, arguments, arithmetic.
//!
//! Read in this order: [`session`] (what every reading goes through), [`mod@record`],
//! [`mod@plan`], [`frontier`], [`keys`], [`mod@run`], [`shadow`], [`mod@calibrate`], [`reproduce`],
//! [`files`], [`tape`].

pub mod bench;
pub mod calibrate;
pub mod error;
pub mod files;
pub mod frontier;
pub mod host;
pub mod keys;
pub mod plan;
pub mod record;
pub mod reproduce;
pub mod run;
pub mod session;
pub mod shadow;
pub mod tape;

pub use calibrate::{Calibration, calibrate};
pub use error::{Error, Result};
pub use host::{Host, minor_faults, open};
pub use plan::{Plan, plan};
pub use record::{Recording, record};
pub use reproduce::Reproduction;
pub use run::{Event, RunOptions, RunReport, run};
