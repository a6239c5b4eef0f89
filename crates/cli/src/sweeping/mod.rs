//! What `limbwise sweep` varies: from `FIELD=VALUES` to a grid, and from a point of it to its program.
//!
//! Enters: texts of values, names of fields and where they belong, the words of a point's program.
//! Stays out: how points are evaluated (`limbwise_runtime::sweep`), what is printed.
//!
//! Read in this order: [`values`], [`program`], [`fields`], [`outside`] (searches and clusters).

pub(crate) mod fields;
pub(crate) mod outside;
pub(crate) mod program;
pub(crate) mod values;
