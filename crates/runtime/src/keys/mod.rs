//! Evaluation keys larger than memory: they stay in a file and are read one key ahead of use.
//!
//! Enters: what is read when, the store that reads, where the keys of a session live.
//! Stays out: the format of the file (it is `limbwise::wire`'s), the choice of a budget ([`crate::frontier`]).
//!
//! Read in this order: [`shelf`], [`disk`], [`home`], [`mod@file`], [`rate`].

pub mod disk;
pub mod file;
pub mod home;
pub mod rate;
pub mod shelf;

pub use disk::{DiskKeys, KeySource, Traffic};
pub use file::{FileKeys, OnDisk};
pub use home::{Imagined, InMemory, KeyHome, ReadPlan};
pub use rate::key_read_gb_s;
pub use shelf::{Rehearsal, Shelf};
