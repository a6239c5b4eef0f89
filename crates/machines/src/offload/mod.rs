//! Offloading: which operation of a program goes to which side of a machine, and in what order.
//!
//! Two or more sides, each with its time for every operation, and a link between each pair. A [`Policy`] finds a
//! [`Placement`]; a [`Timetable`] puts it in time; [`check`](check()) proves that timetable legal.
//!
//! Enters: the problem, its timetable and its checker, the policies, patterns of repeated operations, lanes for reports.
//! Stays out: the cost of an operation, which belongs to a machine or a device, and the capacity of memories.
//!
//! Read in this order: [`problem`] and [`draft`] (what is given), [`recorded`] and [`modelled`] (a problem from a
//! recorded graph and machine models),
//! [`timetable`] (what a placement takes), [`check`](mod@check), [`policy`] and its
//! files, [`Patterns`] (what repeats), [`lanes`].

pub mod check;
pub mod draft;
pub mod error;
pub mod lanes;
pub mod modelled;
pub(crate) mod network;
mod pattern;
pub mod policy;
pub mod problem;
pub mod recorded;
pub mod timetable;

pub use check::{Violation, check};
pub use draft::{Draft, DraftOperation};
pub use error::OffloadError;
pub use modelled::Modelled;
pub use pattern::{Patterns, Segment};
pub use policy::{ByKind, Genetic, Heft, MinCut, OneSide, Policy, Second};
pub use problem::{Duplex, Link, OperationId, Problem, Side, SideId, Value, ValueId};
pub use recorded::{Grouping, MoveSeconds, Recorded, SideModel};
pub use timetable::{Placement, Timetable, Transfer};
