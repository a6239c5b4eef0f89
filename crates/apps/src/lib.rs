//! Workloads: programs on real data. One source is run encrypted, planned and timed.
//!
//! Enters: loaders, clear twins, encrypted programs, their descriptions.
//! Stays out: concrete devices, printing.
//!
//! Read in this order: [`program`] (what a workload is), [`client`], [`family`] (what the workloads of a scheme share),
//! [`way`] (configurations), [`workload`] (options, description, data), [`registry`] (the list), [`words`] (workloads
//! by name), [`options`], [`description`], [`data`] (loaders). CKKS: [`logreg`], [`helr`], [`linear`], [`lola`],
//! [`bootstrap`], [`resnet`], [`sort`], [`heir`]. TFHE: [`pbs`], [`gates`], [`nn`], [`forest`]. BGV: [`bgv_mul`], [`bgv_table`], [`ntt`].
//! [`bootstrap`], [`resnet`], [`network`], [`sort`]. TFHE: [`pbs`], [`gates`], [`nn`]. BGV: [`bgv_mul`], [`bgv_table`], [`ntt`].
//! by name), [`options`], [`description`], [`data`] (loaders). CKKS: [`logreg`], [`helr`], [`linear`], [`lola`], [`mlp`],
//! [`bootstrap`], [`resnet`], [`sort`]. TFHE: [`pbs`], [`gates`], [`nn`]. BGV: [`bgv_mul`], [`bgv_table`], [`ntt`].
//! CKKS and TFHE: [`query`].

#![expect(missing_docs, clippy::missing_errors_doc, reason = "docs stand where name and type do not say it all")]
#![expect(clippy::must_use_candidate, reason = "asked of what gives a changed copy, not of every getter")]

pub mod bgv_mul;
pub mod bgv_table;
pub mod bootstrap;
pub mod client;
pub mod data;
pub mod description;
pub mod family;
pub mod floor;
pub mod forest;
pub mod gates;
pub mod heir;
pub mod helr;
pub mod linear;
pub mod logreg;
pub mod lola;
pub mod memory;
pub mod mlp;
pub mod network;
pub mod nn;
pub mod ntt;
mod onnx;
pub mod options;
pub mod pbs;
pub mod program;
pub mod query;
pub mod registry;
pub mod resnet;
pub mod similarity;
pub mod sort;
pub mod table;
pub mod threads;
pub mod way;
pub mod words;
pub mod workload;
pub mod zn_mul;

pub use client::{Accuracy, Client, Conclusion};
pub use description::Description;
pub use family::Family;
pub use program::{Array, Details, Encryption, Evaluation, Journal, Observer, Program, State};
pub use registry::{AnyPrepared, AnyProgram, Prepared, Registered};
pub use way::Way;

/// A file or folder of the shared public data, for tests: under `LIMBWISE_DATA`, else under `../shared/data` beside the
/// repository. Absent data is printed, because a silent skip would look like a pass.
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

/// TFHE parameters of few steps, for tests of programs.
#[cfg(test)]
pub(crate) fn small_tfhe() -> limbwise::tfhe::TfheParams {
    use limbwise::{
        params::{Insecure, PrimeChoice},
        tfhe::{GadgetLiteral, TfheLiteral, TfheParams},
    };
    let literal = TfheLiteral {
        log_n: 10,
        masks: 1,
        prime: PrimeChoice::Bits(48),
        glwe_sigma: 3.2,
        lwe_dimension: 20,
        log_lwe_modulus: 32,
        lwe_sigma: 3.2,
        bootstrap: GadgetLiteral { base_log: 16, levels: 2 },
        key_switch: GadgetLiteral { base_log: 4, levels: 5 },
        message_bits: 4,
        norm: 5.0,
        log2_failure: -40.0,
        insecure: Some(Insecure { reason: "a test of correctness".into() }),
    };
    TfheParams::new(&literal).unwrap()
}
