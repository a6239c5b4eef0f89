//! An SQL query on an encrypted table: exact comparisons filter the rows in TFHE, and CKKS sums them.
//!
//! Enters: the SQL front end, tables and their loaders, TPC-H's `lineitem` and its Query 6, the comparison automata,
//! the encrypted program over both schemes.
//! Stays out: keys, devices, conversion of bits to slots (`limbwise::bridge`).
//!
//! Read in this order: [`sql`], [`from`](mod@from), [`mod@constant`], [`operand`], `computed`, [`mod@formula`], [`products`], [`select`], `functions`, [`nulls`] and [`having`] (text to
//! statement), [`table`], [`cells`], [`mod@load`], [`mod@parquet`] and `joins`, [`field`](mod@field) and [`question`] (resolved names),
//! [`public`] (groups that the server sees), [`set`] and [`condition`] (what a row must satisfy), [`numbering`], [`filter`], [`extreme`]
//! and [`searches`] (MIN and MAX), [`encrypted`], [`precision`], [`answer`], [`client`], [`revealed`], [`options`],
//! [`tpch`], [`error`].

pub mod answer;
pub mod cells;
pub mod client;
mod computed;
pub mod condition;
pub mod constant;
pub mod encrypted;
pub mod error;
pub mod extreme;
pub mod field;
pub mod filter;
pub mod formula;
pub mod from;
mod functions;
mod grouping;
pub mod having;
mod joins;
pub mod load;
pub mod nulls;
pub mod numbering;
pub mod operand;
pub mod options;
pub mod parquet;
pub mod precision;
pub mod products;
pub mod public;
pub mod question;
mod resolve;
pub mod revealed;
pub mod searches;
pub mod select;
pub mod set;
pub mod sql;
pub mod table;
pub mod tpch;

pub use client::QueryClient;
pub use encrypted::{Bits, Query, Rows};
pub use error::QueryError;
pub use field::Domain;
pub use filter::{Filter, FilterSummary};
pub use load::{load, load_part};
pub use nulls::Nulls;
pub use precision::SumPrecision;
pub use public::Public;
pub use question::Question;
pub use sql::Statement;
pub use table::Table;
