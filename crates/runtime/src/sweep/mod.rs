//! Sweeps: a program on machines at many points of both, and which of these no other beats.
//!
//! Enters: grids of fields, rows and their metrics, recordings shared between points, threads, the journal that survives a
//! kill, Pareto fronts, CSV.
//! Stays out: what fields mean (whoever calls makes a program of their values), printing, searching.
//!
//! Read in this order: [`grid`], [`row`] (what a point gives), [`recordings`], [`engine`], [`journal`], [`mod@front`], [`table`].

pub mod engine;
pub mod front;
pub mod grid;
pub mod journal;
pub mod recordings;
pub mod row;
pub mod table;

pub use engine::{Engine, evaluate};
pub use front::front;
pub use grid::{Axis, Grid, Point};
pub use journal::{Identity, Journal};
pub use recordings::{Recorded, Recordings};
pub use row::{Metric, Metrics, Outcome, Row};
