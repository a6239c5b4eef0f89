//! The readings of one program: run it, plan it, time it; and the host they happen on.
//!
//! Enters: opening devices by name, recording, plans, runs, files of programs and reports, calibration of the
//! host's model, programs as data; which files belong together, what a client remembers and expects.
//! Stays out: printing, arguments, arithmetic.
//!
//! Read in this order: [`server`], `client` and `session` (what every reading goes through), [`mod@record`],
//! [`mod@plan`], [`frontier`], [`sets`], [`keys`], [`prepared`], [`clock`], `run`, `shadow`, [`files`], [`mod@calibrate`], [`reproduce`],
//! [`sweep`], [`exchange`], [`tape`]; of the client's trust [`origin`], [`sealed`], `ledger`, `expect`, `share`; what each scheme adds: [`scheme`]. Where
//! the device is chosen: [`any_device`]; a program divided between two: [`offload`].
//! What has a secret key exists only under the feature `client`.

#![expect(missing_docs, clippy::missing_errors_doc, reason = "docs stand where name and type do not say it all")]
#![expect(clippy::must_use_candidate, reason = "asked of what gives a changed copy, not of every getter")]

pub mod any_device;
#[cfg(feature = "client")]
pub mod bench;
pub mod calibrate;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "client")]
pub mod client_side;
pub mod clock;
pub mod error;
pub mod eval;
pub mod exchange;
#[cfg(feature = "client")]
pub mod expect;
pub mod files;
pub mod frontier;
pub mod head;
pub mod host;
pub mod inspect;
pub mod journal;
#[cfg(feature = "client")]
pub mod keygen;
pub mod keys;
#[cfg(feature = "client")]
pub mod ledger;
pub mod offload;
pub mod origin;
pub mod parts;
pub mod places;
pub mod plan;
pub mod prepared;
#[cfg(feature = "client")]
mod profile;
pub mod record;
pub mod reproduce;
#[cfg(feature = "client")]
pub mod run;
pub mod scheme;
pub mod sealed;
pub mod server;
pub mod server_keys;
#[cfg(feature = "client")]
pub mod session;
pub mod sets;
#[cfg(feature = "client")]
pub mod shadow;
#[cfg(feature = "client")]
pub mod share;
#[cfg(feature = "client")]
mod staging;
pub mod sweep;
pub mod tape;

pub use any_device::AnyDevice;
pub use calibrate::{Calibration, calibrate};
pub use clock::{Event, Step};
pub use error::{Error, Result};
pub use eval::{EvalReport, Job, Limits, evaluate_files, evaluate_held, evaluate_parts};
pub use host::{Host, minor_faults, open, open_cpu};
pub use plan::{Plan, plan};
#[cfg(feature = "client")]
pub use profile::RegionSeconds;
pub use record::{Recording, record};
pub use reproduce::Reproduction;
#[cfg(feature = "client")]
pub use run::{RunOptions, RunReport, run};
pub use server::Server;
