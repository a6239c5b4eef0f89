//! Programs as data: a list of operations on encrypted values, traced from a front end that is not written in Rust.
//!
//! Enters: the operations with their bootstrapping where levels end, the tape, and its reading as a [`Program`], so that
//! it is planned, recorded, timed and run like any other.
//! Stays out: shapes of arrays (the front end packs them into slots), languages.
//!
//! Read in this order: [`op`], [`value`], [`program`].
//!
//! [`Program`]: limbwise_apps::Program

pub mod op;
pub mod program;
pub mod value;

pub use op::Op;
pub use program::{Step, Tape};
pub use value::{Machine, Value};
