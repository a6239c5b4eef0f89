//! Policies: how a placement is found.
//!
//! Simplest first: [`OneSide`], [`ByKind`], [`MinCut`], [`Heft`], [`Genetic`].

mod by_kind;
mod genetic;
mod heft;
pub(crate) mod min_cut;
mod nsga;

pub use by_kind::ByKind;
pub use genetic::{Genetic, Second};
pub use heft::Heft;
pub use min_cut::MinCut;

use super::{
    error::OffloadError,
    problem::{Problem, SideId},
    timetable::Placement,
};

/// A way to place a program.
pub trait Policy {
    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// A placement of all operations.
    ///
    /// # Errors
    /// [`OffloadError`] where the policy cannot place this problem.
    fn place(&self, problem: &Problem) -> Result<Placement, OffloadError>;
}

/// Everything on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneSide(pub SideId);

impl Policy for OneSide {
    fn name(&self) -> &'static str {
        "one side"
    }

    fn place(&self, problem: &Problem) -> Result<Placement, OffloadError> {
        match problem.operations().find(|&id| problem.ticks(id, self.0).is_none()) {
            None => Ok(Placement::in_program_order(vec![self.0; problem.len()])),
            Some(id) => Err(OffloadError::NotAll {
                side: problem.sides()[self.0.index()].name,
                operation: problem.name(id).into(),
                index: id.0,
            }),
        }
    }
}
