//! The client's side of a workload: values to encrypt, and the meaning of decrypted results.
//!
//! This module never sees secret keys: it lays out data and reads numbers that are already decrypted.

use crate::{family::Family, program::Details, way::Way};
use limbwise::scheme::Scheme;
use schemars::JsonSchema;
use serde::Serialize;

/// Share of test rows that a model classifies correctly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Accuracy {
    /// The encrypted program's model, judged by its encrypted scores.
    pub encrypted: f64,
    /// The clear twin: same polynomial, same iterations.
    pub clear: f64,
}

#[derive(Clone, Debug)]
pub struct Conclusion<S: Family> {
    /// Comparison with the clear twin.
    pub found: S::Found,
    /// Workload-specific additions to a report, beside the details of the program.
    pub details: Details,
    /// Warnings for the user, such as a polynomial that left its interval.
    pub warnings: Vec<String>,
}

/// Data of a workload.
pub trait Client {
    /// Scheme.
    type Scheme: Family;

    /// The values of one program input.
    fn values(&self, input: usize) -> <Self::Scheme as Scheme>::Values;

    /// The meaning of the decrypted results.
    fn conclude(&self, results: &<Self::Scheme as Scheme>::Reading) -> Conclusion<Self::Scheme>;

    /// Why results of these data may be refused, as the data alone tell it.
    fn forewarned(&self) -> Option<String> {
        None
    }

    /// The same data for the program in a way in which they lie otherwise; `None` where they lie alike in all ways.
    fn in_way(&self, _way: Way) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}
