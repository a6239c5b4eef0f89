//! An SQL query on an encrypted table: exact comparisons filter the rows in TFHE, and CKKS sums them.
//!
//! Enters: the SQL front end, tables and their loaders, TPC-H's `lineitem` and its Query 6, the comparison automata,
//! the encrypted program over both schemes.
//! Stays out: keys, devices, conversion of bits to slots (`limbwise::bridge`).
//!
//! Read in this order: [`sql`] (text to statement), [`table`] and [`mod@load`], [`question`] (resolved names),
//! [`filter`], [`encrypted`], [`client`], [`options`], [`tpch`], [`error`].

pub mod client;
pub mod encrypted;
pub mod error;
pub mod filter;
pub mod load;
pub mod options;
pub mod question;
pub mod sql;
pub mod table;
pub mod tpch;

pub use client::QueryClient;
pub use encrypted::{Bits, Query, Rows, SumPrecision};
pub use error::QueryError;
pub use filter::{Filter, FilterSummary};
pub use load::load;
pub use question::{Domain, Question};
pub use sql::Statement;
pub use table::Table;
