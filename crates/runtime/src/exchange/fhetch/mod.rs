//! FHETCH, the trace and the files of a consortium of makers of FHE hardware. Source: \[FHETCH\].
//!
//! Enters: a recorded program as a trace of instructions on single residues; keys and ciphertexts as `.npz`.
//! Stays out: executing traces.
//!
//! Read in this order: [`trace`], [`npz`] (arrays in an archive), [`files`] (ciphertexts and keys in them).

pub mod files;
pub mod npz;
pub mod trace;

pub use npz::NpzError;
pub use trace::{FhetchError, Written, program, write};
