//! A question to an encrypted table in SQL: filter by exact comparisons on TFHE, sum on CKKS.
//!
//! Enters: the SQL front, tables and their loaders, TPC-H's `lineitem` and its Query 6, the automata that compare, the
//! encrypted program of both schemes.
//! Stays out: keys, devices, how bits become slots (`limbwise::bridge`).
//!
//! Read in this order: [`sql`] (text to statement), [`table`] and [`mod@load`], [`question`] (names looked up), [`filter`],
//! [`encrypted`], [`client`], [`options`], [`tpch`], [`error`].

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
