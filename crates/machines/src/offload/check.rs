//! Proves a timetable legal from the problem, not from how it was made.
//!
//! Starts, ends and transfers are taken as claims. Each operation takes its time on a side that has it; no stream and no
//! lane is held twice; each operand is made at the side, was there before, or has come by a transfer that left where the
//! value was; each result is where it is kept; the end is the end of all.

use super::{
    problem::{OperationId, Problem, SideId, ValueId},
    timetable::{Timetable, Transfer},
};
use std::collections::HashMap;

/// A rule that a timetable breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// Lists of other lengths than the problem's.
    #[error("the timetable is for another problem")]
    Problem,
    /// A side that does not have the operation, a stream that there is not, or another time.
    #[error("operation {0} does not take what its side takes")]
    Operation(u32),
    /// Two operations on one stream at a time.
    #[error("operations {0} and {1} are on one stream at a time")]
    Stream(u32, u32),
    /// Two transfers on one lane at a time.
    #[error("transfers {0} and {1} are on one lane at a time")]
    Lane(usize, usize),
    /// A transfer of what is not there, to where it comes from, or in another time.
    #[error("transfer {0} moves what is not there, or in another time")]
    Transfer(usize),
    /// A value that comes to a side twice.
    #[error("transfer {0} moves what is there already")]
    Twice(usize),
    /// An operation starts before an operand is there.
    #[error("operation {operation} starts before value {value} is there")]
    NotThere {
        /// The operation.
        operation: u32,
        /// The operand.
        value: u32,
    },
    /// A result is not where it is kept.
    #[error("result {0} does not come to where it is kept")]
    NotKept(u32),
    /// The end is not that of the last operation or transfer.
    #[error("the end is not the end of all")]
    Makespan,
}

/// Checks a timetable.
///
/// # Errors
/// The first [`Violation`] found.
pub fn check(problem: &Problem, table: &Timetable) -> Result<(), Violation> {
    let count = problem.len();
    let lengths = [table.side.len(), table.stream.len(), table.start.len(), table.end.len()];
    if lengths.iter().any(|&length| length != count) {
        return Err(Violation::Problem);
    }
    operations(problem, table)?;
    let came = transfers(problem, table)?;
    let there = |value: ValueId, side: SideId| arrival(problem, table, &came, value, side);
    for id in problem.operations() {
        let side = table.side[id.index()];
        let late = |value: &&ValueId| there(**value, side).is_none_or(|at| at > table.start[id.index()]);
        if let Some(value) = problem.reads(id).iter().find(late) {
            return Err(Violation::NotThere { operation: id.0, value: value.0 });
        }
    }
    for (value, of) in (0..).map(ValueId).zip(problem.values()) {
        let missing = |side: &SideId| of.kept & side.only() != 0 && there(value, *side).is_none();
        if problem.side_ids().any(|side| missing(&side)) {
            return Err(Violation::NotKept(value.0));
        }
    }
    let last = table.end.iter().copied().chain(table.transfers.iter().map(|t| t.end)).max().unwrap_or(0);
    if last == table.makespan { Ok(()) } else { Err(Violation::Makespan) }
}

/// Start and end of an operation.
type Held = (u64, u64, OperationId);

/// Times of operations, and that none overlap on a stream.
fn operations(problem: &Problem, table: &Timetable) -> Result<(), Violation> {
    let mut on: HashMap<(SideId, u32), Vec<Held>> = HashMap::new();
    for id in problem.operations() {
        let (at, side) = (id.index(), table.side[id.index()]);
        let known = problem.sides().get(side.index()).is_some_and(|of| table.stream[at] < of.streams);
        let ticks = if known { problem.ticks(id, side) } else { None };
        if ticks.is_none_or(|ticks| table.start[at].checked_add(ticks) != Some(table.end[at])) {
            return Err(Violation::Operation(id.0));
        }
        on.entry((side, table.stream[at])).or_default().push((table.start[at], table.end[at], id));
    }
    for held in on.values_mut() {
        held.sort_unstable();
        if let Some(pair) = held.windows(2).find(|pair| pair[1].0 < pair[0].1) {
            return Err(Violation::Stream(pair[0].2.0, pair[1].2.0));
        }
    }
    Ok(())
}

/// Times of transfers, that none overlap on a lane, and when each brings its value.
fn transfers(problem: &Problem, table: &Timetable) -> Result<HashMap<(ValueId, SideId), u64>, Violation> {
    let mut came: HashMap<(ValueId, SideId), u64> = HashMap::new();
    let mut lanes: Vec<Vec<(u64, u64, usize)>> = vec![Vec::new(); problem.lanes().len()];
    for (index, transfer) in table.transfers.iter().enumerate() {
        let &Transfer { value, from, to, start, end, .. } = transfer;
        let sides = problem.sides().len();
        let known = value.index() < problem.values().len() && from.index() < sides && to.index() < sides && from != to;
        if !known || start.checked_add(problem.transfer_ticks(value, from, to)) != Some(end) {
            return Err(Violation::Transfer(index));
        }
        let of = problem.value(value);
        let made_there = of.at & to.only() != 0 || of.maker.is_some_and(|maker| table.side[maker.index()] == to);
        if made_there || came.insert((value, to), end).is_some() {
            return Err(Violation::Twice(index));
        }
        lanes[problem.lane(from, to)].push((start, end, index));
    }
    for (index, transfer) in table.transfers.iter().enumerate() {
        let at = arrival(problem, table, &came, transfer.value, transfer.from);
        if at.is_none_or(|at| at > transfer.start) {
            return Err(Violation::Transfer(index));
        }
    }
    for held in &mut lanes {
        held.sort_unstable();
        if let Some(pair) = held.windows(2).find(|pair| pair[1].0 < pair[0].1) {
            return Err(Violation::Lane(pair[0].2, pair[1].2));
        }
    }
    Ok(came)
}

/// When a value is at a side: from the beginning, since it was made there, or since it came.
fn arrival(
    problem: &Problem,
    table: &Timetable,
    came: &HashMap<(ValueId, SideId), u64>,
    value: ValueId,
    side: SideId,
) -> Option<u64> {
    let of = problem.value(value);
    if of.at & side.only() != 0 {
        return Some(0);
    }
    match of.maker {
        Some(maker) if table.side[maker.index()] == side => Some(table.end[maker.index()]),
        _ => came.get(&(value, side)).copied(),
    }
}
