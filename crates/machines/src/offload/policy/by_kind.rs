//! Static by kind: what needs much data goes where the memory is fast, what computes much where the arithmetic is.
//!
//! The kind of an operation is its multiplications a byte. Each side has a balance, the multiplications a byte at which
//! its arithmetic and its memory take equally long. An operation goes to the side whose balance is nearest, as a ratio:
//! between two sides the limit is the geometric mean of their balances. Transfers and load are not looked at.

use super::Policy;
use crate::offload::{
    error::OffloadError,
    problem::{Problem, SideId},
    timetable::Placement,
};

/// Each operation by its kind alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByKind;

/// A ratio below which all operations and balances are alike.
const LEAST: f64 = 1e-9;

impl Policy for ByKind {
    fn name(&self) -> &'static str {
        "static"
    }

    fn place(&self, problem: &Problem) -> Result<Placement, OffloadError> {
        let log = |x: f64| x.max(LEAST).ln();
        let side = |id| {
            let kind = log(problem.intensity(id));
            let away = |side: &SideId| (log(problem.sides()[side.index()].balance) - kind).abs();
            let has = problem.side_ids().filter(|&side| problem.ticks(id, side).is_some());
            has.min_by(|a, b| away(a).total_cmp(&away(b))).expect("some side has each operation of a checked problem")
        };
        Ok(Placement::in_program_order(problem.operations().map(side).collect()))
    }
}
