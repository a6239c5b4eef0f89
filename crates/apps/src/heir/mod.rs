//! Programs of HEIR: its CKKS dialect from generic MLIR text, run, planned and timed like any workload (ADR 145).
//!
//! Read in this order: [`text`] (a text becomes operations), [`unroll`] (operations become steps on
//! ciphertexts), [`act`] (the steps),
//! [`source`] (a program with its arguments and results), [`program`] (its reading as a workload), [`client`], [`options`].

pub mod act;
pub mod client;
mod constant;
mod lower;
mod map;
pub mod options;
pub mod params;
pub mod plain;
pub mod program;
pub mod source;
pub mod text;
pub mod unroll;
mod value;
mod whole;

#[cfg(test)]
mod tests;

pub use client::HeirClient;
pub use program::Heir;
pub use source::Source;
