//! Real data: from a file that nobody has checked to a table of finite numbers with two classes.
//!
//! Enters: file formats (numeric tables, MNIST IDX), their errors, the data set that ships with the project.
//! Stays out: scaling, splitting and anything a model needs (they belong to the workload, see [`crate::logreg`]).
//!
//! Read in this order: [`dataset`], [`table`], [`idx`], [`error`].

pub mod dataset;
pub mod error;
pub mod idx;
pub mod table;

pub use dataset::{DataSet, LoadOptions, breast_cancer, load};
pub use error::DataError;
pub use idx::{Digits, Pooling};
pub use table::{Header, LabelColumn, load_numbers};
