//! Campaigns of hostile bytes: every reader of bytes from outside as a target, mutators that know their formats, a driver.
//!
//! Enters: targets, mutators, stored inputs (`corpus/`), the driver that `make campaign` and CI run on a stable compiler.
//! Stays out: what a reader accepts; libFuzzer, which drives the same targets from `fuzz/` on a nightly compiler.
//!
//! Read in this order: [`targets`] (the readers and what each has to hold), [`forge`] (containers taken apart, changed and
//! sealed again), [`mutate`] (changes by form), [`driver`] (campaigns, journal). The decision is ADR 155.

#![expect(missing_docs, clippy::missing_errors_doc, reason = "docs stand where name and type do not say it all")]
#![expect(clippy::missing_panics_doc, reason = "a panic of a target is a finding, and the only way it has to tell one")]
#![expect(clippy::must_use_candidate, reason = "asked of what gives a changed copy, not of every getter")]

pub mod driver;
pub mod forge;
pub mod mutate;
pub mod targets;

pub use targets::{Form, TARGETS, Target};
