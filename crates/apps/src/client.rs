//! The client's side of a workload: values to encrypt, and what decrypted results mean.
//!
//! Secret keys are no matter of this room: it lays data out, and reads numbers that somebody decrypted.

use crate::{family::Family, program::Details};
use limbwise::scheme::Scheme;
use schemars::JsonSchema;
use serde::Serialize;

/// Share of held-back rows that a model gets right.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Accuracy {
    /// The encrypted program's model, judged by its encrypted scores.
    pub encrypted: f64,
    /// The clear twin: same polynomial, same iterations.
    pub clear: f64,
}

#[derive(Clone, Debug)]
pub struct Conclusion<S: Family> {
    /// Results against the clear twin's.
    pub found: S::Found,
    /// What this workload adds to a report, beside the details of its program.
    pub details: Details,
    /// Sentences a person should read: a polynomial left its interval, say.
    pub warnings: Vec<String>,
}

/// The data of a workload.
pub trait Client {
    /// What its program computes with.
    type Scheme: Family;

    /// The values of one of the program's inputs.
    fn values(&self, input: usize) -> <Self::Scheme as Scheme>::Values;

    /// What the decrypted results mean.
    fn conclude(&self, results: &<Self::Scheme as Scheme>::Reading) -> Conclusion<Self::Scheme>;
}
