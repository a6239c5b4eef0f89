//! Errors of a query: its text, its columns, its widths. All are found before any key is made.

use crate::data::DataError;

/// The supported SQL, as text for users.
const SUPPORTED: &str = "wanted SELECT SUM(a * b) or COUNT(*) FROM table WHERE conditions joined by AND, each comparing \
                         an integer, decimal or date column with a constant (=, <, <=, >, >=, BETWEEN)";

/// An unsupported query, or data that do not fit a query.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    #[error("the table has {got} rows, the program {wanted}: give as many, or make keys for these (limbwise keygen)")]
    OtherRows { got: usize, wanted: usize },
    #[error(
        "column {name} holds {got}, the program was made for {wanted}: give data like those, or make keys for these (limbwise keygen)"
    )]
    OtherKind { name: String, got: String, wanted: String },
    #[error("the query is not SQL: {0} (quote it for the shell: --sql \"SELECT ...\")")]
    Syntax(String),
    #[error("{what} is not supported; {SUPPORTED}")]
    Unsupported { what: String },
    #[error("{table} has no column {name:?}: its columns are {known}")]
    UnknownColumn { table: String, name: String, known: String },
    #[error("the query is about table {got:?}, the data are {wanted:?}: name that one")]
    OtherTable { got: String, wanted: String },
    #[error("column {name} holds text ({example:?}); {SUPPORTED}")]
    TextColumn { name: String, example: String },
    #[error("{condition}: column {name} holds {kind}, the constant is {got}; write {wanted}")]
    Constant { condition: String, name: String, kind: String, got: String, wanted: &'static str },
    #[error(
        "no row can pass: the conditions on {name} leave nothing of {low} to {high}: the answer is 0 without a key"
    )]
    NoRow { name: String, low: String, high: String },
    #[error("every row passes: no condition excludes a value that its column may have; add one that does (WHERE ...)")]
    EveryRow,
    #[error(
        "column {name}, row {row}: {got} lies outside {low} to {high}, which its width is made for: widen it (--domain {name}=LOW..HIGH)"
    )]
    OutOfRange {
        name: String,
        /// Row number, from 1.
        row: usize,
        got: String,
        low: String,
        high: String,
    },
    #[error(
        "--domain {text}: {problem}; wanted COLUMN=LOW..HIGH, such as l_quantity=1..50 or l_shipdate=1992-01-01..1998-12-31"
    )]
    Domain { text: String, problem: String },
    #[error(
        "column {name}: {low} to {high} takes {bits} bits, comparisons have at most {most}: narrow it (--domain {name}=LOW..HIGH)"
    )]
    TooWide { name: String, low: String, high: String, bits: u32, most: u32 },
    #[error("{rows} rows: a query takes 1 to {most} (--rows takes the first so many)")]
    Rows { rows: usize, most: usize },
    #[error(
        "{bits} message bits are too few: two for the state of a comparison and one for a digit (--preset flags-2-2)"
    )]
    Bits { bits: u32 },
    #[error("{got} filtered columns: these parameters join at most {most} (fewer columns, or more message bits)")]
    Columns { got: usize, most: usize },
    #[error(transparent)]
    Scheme(#[from] limbwise::Error),
    /// A file that cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
}

impl QueryError {
    /// A statement that is not supported.
    pub(super) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }
}
