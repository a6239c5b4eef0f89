//! Real data: from an unchecked file to a table of finite numbers with two classes.
//!
//! Enters: file formats (numeric tables, NumPy arrays, MNIST IDX, lines of integers, bare numbers), their errors, the shipped data set.
//! Stays out: scaling, splitting and anything a model needs (they belong to the workload, see [`crate::logreg`]).
//!
//! Read in this order: [`dataset`], [`table`], [`integers`], [`npy`], [`idx`], [`words`], [`raw`], [`error`].

pub mod dataset;
pub mod error;
pub mod idx;
pub mod integers;
pub mod npy;
pub mod raw;
pub mod table;
pub mod words;

pub use dataset::{DataSet, LoadOptions, breast_cancer, load};
pub use error::DataError;
pub use idx::{Digits, Pooling};
pub use integers::{IntegerTable, load_integers, shop};
pub use npy::Numbers;
pub use table::{Header, LabelColumn, load_numbers};
pub use words::load_u64;

use std::path::Path;

/// The rows of a table of numbers; none where the file is a NumPy array.
///
/// # Errors
/// As [`load_numbers`].
pub fn load_rows(path: &Path) -> Result<Option<Vec<Vec<f64>>>, DataError> {
    if dataset::starts_with(path, npy::MAGIC)? { Ok(None) } else { load_numbers(path).map(Some) }
}

/// Numbers in a shape: of a NumPy array where the file is one, else of a table, row by row.
///
/// # Errors
/// [`DataError`] for a file that cannot be read as numbers.
pub fn load_array(path: &Path) -> Result<Numbers, DataError> {
    array(path, Gaps::Refused)
}

/// The same where values may be missing: NaN, `NA` and `null`, and empty cells. They are NaN.
///
/// # Errors
/// As [`load_array`].
pub fn load_array_with_gaps(path: &Path) -> Result<Numbers, DataError> {
    array(path, Gaps::Nan)
}

/// What becomes of a value that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    Refused,
    Nan,
}

fn array(path: &Path, gaps: Gaps) -> Result<Numbers, DataError> {
    if dataset::starts_with(path, npy::MAGIC)? {
        return npy::load_with(path, gaps);
    }
    let rows = table::load_numbers_with(path, gaps)?;
    let shape = vec![rows.len(), rows.first().map_or(0, Vec::len)];
    Ok(Numbers { shape, values: rows.into_iter().flatten().map(Into::into).collect() })
}
