//! Texts of reports for people: reports in, strings out.
//!
//! Enters: units, tables. Stays out: printing, and any number that is not in the report.

#[cfg(feature = "client")]
pub(crate) mod bench;
pub(crate) mod count;
pub(crate) mod list;
pub(crate) mod logic;
pub(crate) mod machines;
pub(crate) mod modular;
pub(crate) mod params;
pub(crate) mod plan;
pub(crate) mod query;
pub(crate) mod record;
#[cfg(feature = "client")]
pub(crate) mod run;
pub(crate) mod sweep;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod units;
