//! Workloads: programs for real data that run encrypted, are planned and are timed from one source.
//!
//! Enters: loaders, clear twins, encrypted programs, their descriptions.
//! Stays out: concrete devices, printing.
//!
//! Read in this order: [`program`] (what a workload is), [`client`], [`data`] (loaders), [`logreg`], [`helr`], [`linear`], [`lola`],
//! [`bootstrap`], [`resnet`], [`description`], [`any`]; [`logic`] (what one on TFHE is), [`pbs`], [`gates`], [`nn`];
//! [`modular`] (what one on BGV is), [`bgv_mul`], [`bgv_table`]; [`query`] (two schemes in one program).

pub mod any;
pub mod bgv_mul;
pub mod bgv_table;
pub mod bootstrap;
pub mod client;
pub mod data;
pub mod description;
pub mod floor;
pub mod gates;
pub mod helr;
pub mod linear;
pub mod logic;
pub mod logreg;
pub mod lola;
pub mod modular;
pub mod nn;
pub mod pbs;
pub mod program;
pub mod query;
pub mod resnet;

pub use any::{AnyClient, AnyProgram};
pub use client::{Accuracy, Client, Conclusion};
pub use description::Description;
pub use logic::{AnyLogic, Logic, Messages};
pub use modular::{AnyModular, Integers, Modular};
pub use program::{Array, Details, Encryption, Input, Journal, Observer, Program, State};

/// A file or folder of the shared public data, for tests: under `LIMBWISE_DATA`, else under `../shared/data` beside
/// the repository. Absent data is said aloud, because a silent skip would look like a pass.
#[cfg(test)]
pub(crate) fn data_dir(name: &str) -> Option<std::path::PathBuf> {
    let beside = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("LIMBWISE_DATA").map_or(beside, std::path::PathBuf::from);
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is absent (set LIMBWISE_DATA to the folder with the public data)", path.display());
    None
}
