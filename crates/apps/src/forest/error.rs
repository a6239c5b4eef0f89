//! Why a forest cannot be read or run.

use crate::data::DataError;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForestError {
    #[error("{path}: {got}; wanted {wanted}")]
    File { path: String, got: String, wanted: &'static str },
    /// Of an operator or one of its attributes.
    #[error("{path}: node {node}: {got}; wanted {wanted}")]
    Node { path: String, node: String, got: String, wanted: String },
    #[error(transparent)]
    Data(#[from] DataError),
    /// Numbers of a description that make no forest.
    #[error("{what}: {got}; wanted {wanted}")]
    Shape { what: &'static str, got: String, wanted: String },
    #[error(
        "tree {tree}: a path of {conditions} conditions (norm² {norm_squared}); a table of {space} messages takes at most {most}, with noise that fails with 2^{promised} or less: train with less depth, or choose parameters with more message bits or a larger norm"
    )]
    Path { tree: usize, conditions: usize, norm_squared: f64, space: u64, most: u64, promised: f64 },
    #[error(
        "row {row} has no value of feature {feature}, and the keys are for rows that lack none: fill it, or make them for rows that may (--missing of plan, run and keygen)"
    )]
    Missing { row: usize, feature: usize },
    #[error("the forest's values take {0} message bits: choose 2-2-p128 or 2-2-p64")]
    Space(u32),
}

impl ForestError {
    pub(super) fn shape<T>(what: &'static str, got: impl ToString, wanted: impl Into<String>) -> Result<T, Self> {
        Err(Self::Shape { what, got: got.to_string(), wanted: wanted.into() })
    }
}
