//! Errors of a query: its text, its columns, its widths. All are found before any key is made.

use crate::data::DataError;

/// The supported SQL, as text for users.
const SUPPORTED: &str = "wanted SELECT with COUNT(*), COUNT(a), SUM(a * b), AVG(a), MIN(a), MAX(a), SUM(CASE WHEN ... THEN a ELSE 0 END), \
                         COUNT(DISTINCT a), STDDEV(a), FILTER (WHERE ...) FROM table [[LEFT | RIGHT | FULL] JOIN table ON a = b] [WHERE conditions joined \
                         by AND, OR and NOT] [GROUP BY columns] [HAVING conditions of results] [ORDER BY results] [LIMIT count], a \
                         condition comparing columns, constants and arithmetic with them (=, <>, <, <=, >, >=, BETWEEN, IN, \
                         LIKE 'pattern')";

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
    #[error("{count} columns have the name {name:?} (capitals count for nothing): rename all but one")]
    Ambiguous { name: String, count: usize },
    #[error("{known} may be meant by {name}: write it with its table")]
    Shared { name: String, known: String },
    #[error(
        "column {name}, row {row}: NULL, which the column has not where the keys are made: leave that row out, or say it there (--nullable {name} of plan, run and keygen)"
    )]
    Null { name: String, row: usize },
    #[error("--nullable {name}: the query names no such column")]
    Nullable { name: String },
    #[error(
        "column {name} holds {got}, and a query takes numbers, dates, booleans and texts: write it as one of these"
    )]
    Type { name: String, got: String },
    #[error(
        "column {name}, row {row}: {got} is no {wanted}, as the column's other cells are: round or mend it, or leave that row out; or if they are texts, list them where the keys are made (--domain \"{name}=A|B|C\")"
    )]
    Cell { name: String, row: usize, got: String, wanted: String },
    #[error(
        "column {name}: the text that begins with {begin:?} has {got} bytes, at most {most} are taken: shorten it, or leave its rows out"
    )]
    LongText { name: String, begin: String, got: usize, most: usize },
    #[error("{name}: FROM names no such table; it names {known}")]
    UnknownTable { name: String, known: String },
    #[error("the query is about table {got:?}, the data are {wanted:?}: name that one")]
    OtherTable { got: String, wanted: String },
    #[error("{condition}: column {name} holds {kind}, the constant is {got}; write {wanted}")]
    Constant { condition: String, name: String, kind: String, got: String, wanted: &'static str },
    #[error(
        "no row can pass: the conditions leave no value of the public columns. Without a key the answer is known: it has no group"
    )]
    NoRow,
    #[error(
        "GROUP BY {name}: the table has a column {name}, and a result has that name too: group by the result's number, or give it another name"
    )]
    TwoMeanings { name: String },
    #[error(
        "column {name}, row {row}: {got} lies outside {low} to {high}, which its width is made for: leave that row out, or widen it where the keys are made (--domain {name}=LOW..HIGH of plan, run and keygen)"
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
        "--domain {text}: {problem}; wanted COLUMN=LOW..HIGH, such as l_quantity=1..50 or l_shipdate=1992-01-01..1998-12-31, or the texts of a column: l_shipmode=AIR|MAIL|SHIP"
    )]
    Domain { text: String, problem: String },
    #[error(
        "column {name}: {low} to {high} takes {bits} bits, comparisons have at most {most}: narrow it (--domain {name}=LOW..HIGH)"
    )]
    TooWide { name: String, low: String, high: String, bits: u32, most: u32 },
    #[error(
        "GROUP BY {names}: the known values make {got} groups, at most {most} are asked at once: declare fewer values (--domain {names}=A|B|C, or LOW..HIGH), or group by fewer columns"
    )]
    Groups { names: String, got: u128, most: usize },
    #[error(
        "the sum of {names} over {rows} rows may take {bits:.0} bits in its smallest unit, at most {most:.0} are taken: narrow the domains (--domain), or sum fewer rows (--rows)"
    )]
    SumRange { names: String, rows: usize, bits: f64, most: f64 },
    #[error(
        "a sum over {rows} rows may be {got:.1} bits above one unit, the modulus that is left behind its product holds {most:.1}: sum fewer rows (--rows), or a product of fewer factors"
    )]
    SumRoom { rows: usize, got: f64, most: f64 },
    #[error(
        "{what} decrypts to {got:.3}, which is no whole number: the results are damaged, or too imprecise (compare the plan's bits)"
    )]
    Whole { what: &'static str, got: f64 },
    #[error("--public {columns}: {problem}")]
    Public { columns: String, problem: String },
    #[error("the tables are not joined: {problem}")]
    Join { problem: String },
    #[error(
        "whether a sum of {columns} equals something is asked by =, <>, IN or NULLIF, and it may be off by {bound:.1e}, more than half of its last digit: ask with < and >, or declare a narrower domain (--domain COLUMN=LOW..HIGH)"
    )]
    Equality { columns: String, bound: f64 },
    #[error("{rows} rows: a query takes 1 to {most} (--rows takes the first so many)")]
    Rows { rows: usize, most: usize },
    #[error(
        "{bits} message bits are too few: two for the state of a comparison and one for a digit (--preset flags-2-2)"
    )]
    Bits { bits: u32 },
    #[error("the condition takes {got} bootstrappings a row, at most {most} are done: name fewer values (IN, OR)")]
    Steps { got: usize, most: usize },
    #[error(
        "column {name}, row {row}: {got:?} is none of the values that both sides know: leave that row out, or add it where the keys are made (--domain {name}=A|B|C of plan, run and keygen)"
    )]
    OutOfList { name: String, row: usize, got: String },
    #[error(
        "column {name} has {got} different texts, at most {most} are told apart: name those that count (--domain {name}=A|B|C)"
    )]
    Categories { name: String, got: usize, most: usize },
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
