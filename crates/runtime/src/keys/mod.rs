//! Evaluation keys larger than memory: they stay in a file and are read one key ahead of use.
//!
//! Enters: what is read when, the stores that read, where the keys of a session live.
//! Stays out: the format of the file (it is `limbwise::wire`'s), the choice of a budget ([`crate::frontier`]).
//!
//! Read in this order: [`shelf`], [`reads`], [`disk`], [`recent`], [`resident`], [`asked`], [`mod@file`], and for clients `home`,
//! `directory` and `rate`.

pub mod asked;
#[cfg(feature = "client")]
pub mod directory;
pub mod disk;
pub mod file;
#[cfg(feature = "client")]
pub mod home;
#[cfg(feature = "client")]
pub mod rate;
pub mod reads;
pub mod recent;
pub mod resident;
pub mod shelf;

pub use asked::{Ask, Asked};
#[cfg(feature = "client")]
pub use directory::KeyDirectory;
pub use disk::{DiskKeys, KeySource, Traffic};
pub use file::FileKeys;
#[cfg(feature = "client")]
pub use home::{Imagined, InMemory, KeyHome, Making, OnDisk};
#[cfg(feature = "client")]
pub use rate::key_read_gb_s;
pub(crate) use reads::Declared;
pub use reads::ReadPlan;
pub use recent::RecentKeys;
pub use resident::{HeldKeys, ResidentKeys};
pub use shelf::{Rehearsal, Shelf};
