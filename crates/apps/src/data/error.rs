//! Errors of data files. Each names the position and the next step.

use std::path::PathBuf;

/// A data set could not be read or prepared.
///
/// Lines and columns count from 1. Every text says what, got, wanted, next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    #[error("{}: cannot read: {source} (check the path and its permissions)", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}: is not a plain file; wanted a table (CSV, TSV, space-separated) or MNIST IDX images (give a file, not a folder or device)", path.display())]
    NotAFile { path: PathBuf },
    #[error("{}: has no data row; wanted at least one row of numbers (is it the right file?)", path.display())]
    Empty { path: PathBuf },
    /// The file as a whole is in a form that is not read.
    #[error("{}: {got}; wanted {wanted} ({next})", path.display())]
    Format { path: PathBuf, got: String, wanted: String, next: String },
    #[error("{}: line {line}: {got} columns, but the first row has {wanted} (mend that line, or quote a field that holds the delimiter)", path.display())]
    Ragged { path: PathBuf, line: u64, got: usize, wanted: usize },
    #[error("{}: line {line}, column {column} ({name}): got {got:?}; wanted a finite decimal number ({next})", path.display())]
    Cell {
        path: PathBuf,
        line: u64,
        /// The column, from 1.
        column: usize,
        name: String,
        /// The cell's text, cut after 40 characters.
        got: String,
        next: &'static str,
    },
    #[error("{}: line {line}, column {column} ({name}): got {got:?}; wanted a whole number (round or scale the column first: only whole numbers are exact)", path.display())]
    NotWhole {
        path: PathBuf,
        line: u64,
        /// The column, from 1.
        column: usize,
        name: String,
        /// The cell's text, cut after 40 characters.
        got: String,
    },
    #[error("{}: no column {got:?}; the header has {wanted} (name one of them)", path.display())]
    NoColumn { path: PathBuf, got: String, wanted: String },
    #[error("{}: no label column {got:?}; wanted {wanted} (choose one of them as the label column)", path.display())]
    NoLabelColumn { path: PathBuf, got: String, wanted: String },
    #[error("{}: label column {column} ({name}) holds {got}; wanted exactly two distinct values ({next})", path.display())]
    Labels {
        path: PathBuf,
        /// The column, from 1.
        column: usize,
        name: String,
        got: String,
        next: &'static str,
    },
    /// The options or the shape of a data set do not allow its preparation.
    #[error("data set {name}: {got}; wanted {wanted} ({next})")]
    Preparation { name: String, got: String, wanted: String, next: &'static str },
}
