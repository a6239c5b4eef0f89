//! The client's side of a workload: values to encrypt, and what decrypted results mean.
//!
//! Secret keys are no matter of this room: it lays data into slots, and reads numbers that somebody decrypted.

use crate::program::Details;
use limbwise::{Complex64, ckks::Precision};
use serde::Serialize;

/// Share of held-back rows that a model gets right.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Accuracy {
    /// The encrypted program's model, judged by its encrypted scores.
    pub encrypted: f64,
    /// The clear twin: same polynomial, same iterations.
    pub clear: f64,
}

/// What decrypted results mean.
#[derive(Clone, Debug, Serialize)]
pub struct Conclusion {
    /// Results against the clear twin's.
    #[serde(skip)]
    pub precision: Precision,
    /// For programs that classify.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// What this workload adds to a report, beside the details of its program.
    #[serde(flatten)]
    pub details: Details,
    /// Sentences a person should read: a polynomial left its interval, say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The data of a workload.
pub trait Client {
    /// The values of one of the program's inputs: a vector a batch entry, at most as many values as it has slots.
    fn values(&self, input: usize) -> Vec<Vec<Complex64>>;

    /// What the decrypted results mean: a list a result, with a vector a batch entry.
    fn conclude(&self, results: &[Vec<Vec<Complex64>>]) -> Conclusion;
}
