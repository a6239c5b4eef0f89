//! An SQL query on an encrypted table: exact comparisons filter the rows in TFHE, and CKKS sums them.
//!
//! Enters: the SQL front end, tables and their loaders, TPC-H's `lineitem` and its Query 6, the comparison automata,
//! the encrypted program over both schemes.
//! Stays out: keys, devices, conversion of bits to slots (`limbwise::bridge`).
//!
//! Read in this order: [`sql`] and [`select`] (text to statement), [`table`], [`mod@load`] and [`derived`], [`field`](mod@field) and [`question`] (resolved names),
//! [`set`] and [`condition`] (what a row must satisfy), [`filter`], [`encrypted`], [`answer`], [`client`], [`revealed`], [`options`], [`tpch`], [`error`].

pub mod answer;
pub mod client;
pub mod condition;
pub mod derived;
pub mod encrypted;
pub mod error;
pub mod field;
pub mod filter;
pub mod load;
pub mod options;
pub mod question;
pub mod revealed;
pub mod select;
pub mod set;
pub mod sql;
pub mod table;
pub mod tpch;

pub use client::QueryClient;
pub use encrypted::{Bits, Query, Rows, SumPrecision};
pub use error::QueryError;
pub use field::Domain;
pub use filter::{Filter, FilterSummary};
pub use load::load;
pub use question::Question;
pub use sql::Statement;
pub use table::Table;
