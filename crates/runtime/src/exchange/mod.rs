//! Programs as lists of operations on ciphertexts, exchanged with other tools (docs/trace-format.md).
//!
//! Enters: the list of an evaluator's operations, JSON lines, HERACLES program traces (CSV both ways, protobuf), recording a list as a
//! graph with this library's own code; FHETCH's traces and files, OpenFHE's and Lattigo's files.
//! Stays out: values, keys, machines.
//!
//! Read in this order: [`ops`] (the list), [`listing`] (from a program), [`jsonl`], [`heracles`] (formats), [`mod@replay`] (to a
//! graph); [`protobuf`], [`fhetch`], [`foreign`].

pub mod fhetch;
pub mod foreign;
pub mod heracles;
pub mod jsonl;
pub mod listing;
pub mod ops;
pub mod order;
pub mod protobuf;
pub mod replay;

pub use listing::listed;
pub use ops::{Operand, Operation, Operations, TraceError, What};
pub use replay::replay;
