//! HEFT: the operation with the longest way to the end goes first, to where it ends first. Source: \[THW02\].
//!
//! Differs: transfers wait for each other on their lane, the source's never do. An operation may go into a gap between
//! others, as in the source; of all gaps the next few are looked at, so that millions of operations take seconds.

use super::Policy;
use crate::offload::{
    error::OffloadError,
    problem::{NEVER, OperationId, Problem, SideId, ValueId},
    timetable::{Placement, Timetable},
};
use std::collections::BTreeMap;

/// Heterogeneous earliest finish time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heft;

/// Gaps of a stream that are looked at for one operation.
const GAPS: usize = 32;

impl Policy for Heft {
    fn name(&self) -> &'static str {
        "heft"
    }

    fn place(&self, problem: &Problem) -> Result<Placement, OffloadError> {
        let values = (0..).zip(problem.values());
        let moved: Vec<u64> = values.map(|(id, _)| mean_transfer(problem, ValueId(id))).collect();
        let time = |id| mean(problem.side_ids().map(|side| problem.ticks_or_never(id, side)));
        let order = ranked(problem, time, |value, _| moved[value.index()]);
        let mut state = State::new(problem);
        for &id in &order {
            state.place(id);
        }
        let mut by_start: Vec<(u64, usize)> = (0..).zip(&order).map(|(at, id)| (state.start[id.index()], at)).collect();
        by_start.sort_unstable();
        let by_start = by_start.into_iter().map(|(_, at)| order[at]).collect();
        let by_rank = Placement { side: state.side.clone(), order };
        let by_start = Placement { side: state.side, order: by_start };
        // A timetable fills no gaps. The order of starts keeps what insertion has won, unless transfers then wait longer.
        let later = Timetable::of(problem, &by_start).makespan > Timetable::of(problem, &by_rank).makespan;
        Ok(if later { by_rank } else { by_start })
    }
}

/// Sides that are given, in the order of the longest ways to the end.
pub(super) fn reordered(problem: &Problem, side: &[SideId]) -> Placement {
    let time = |id: OperationId| problem.ticks_or_never(id, side[id.index()]);
    let moved = |value: ValueId, reader: OperationId| {
        let maker = problem.value(value).maker.map(|maker| side[maker.index()]);
        maker
            .filter(|&from| from != side[reader.index()])
            .map_or(0, |from| problem.transfer_ticks(value, from, side[reader.index()]))
    };
    Placement { side: side.to_vec(), order: ranked(problem, time, moved) }
}

/// Mean of the ticks that are known.
fn mean(ticks: impl Iterator<Item = u64>) -> u64 {
    let (sum, count) = ticks.filter(|&t| t != NEVER).fold((0u64, 0), |(sum, n), t| (sum.saturating_add(t), n + 1));
    sum / u64::max(count, 1)
}

/// Operations by upward rank: their time and the longest way from there to the end, with the time of each value to each
/// reader. The earlier one of the program first where ranks are equal, so predecessors come before successors.
fn ranked(
    problem: &Problem,
    time: impl Fn(OperationId) -> u64,
    moved: impl Fn(ValueId, OperationId) -> u64,
) -> Vec<OperationId> {
    // Until an operation's own time is added, the longest way behind it.
    let mut rank = vec![0u64; problem.len()];
    for id in problem.operations().rev() {
        let own = rank[id.index()].saturating_add(time(id));
        rank[id.index()] = own;
        for &value in problem.reads(id) {
            if let Some(maker) = problem.value(value).maker {
                rank[maker.index()] = rank[maker.index()].max(own.saturating_add(moved(value, id)));
            }
        }
    }
    let mut order: Vec<OperationId> = problem.operations().collect();
    order.sort_by_key(|id| std::cmp::Reverse(rank[id.index()]));
    order
}

fn mean_transfer(problem: &Problem, value: ValueId) -> u64 {
    let pairs = problem.side_ids().flat_map(|from| problem.side_ids().map(move |to| (from, to)));
    mean(pairs.filter(|(from, to)| from != to).map(|(from, to)| problem.transfer_ticks(value, from, to)))
}

/// A stream: from when on it is free for good, and its gaps by their ends.
#[derive(Clone, Default)]
struct Stream {
    free: u64,
    gaps: BTreeMap<u64, u64>,
}

impl Stream {
    /// The earliest start of some ticks from a time on.
    fn start(&self, ready: u64, ticks: u64) -> u64 {
        let fits = |(&end, &start): (&u64, &u64)| {
            let from = start.max(ready);
            (from.saturating_add(ticks) <= end).then_some(from)
        };
        let gap = self.gaps.range(ready.saturating_add(1)..).take(GAPS).find_map(fits);
        gap.unwrap_or_else(|| self.free.max(ready))
    }

    /// Holds it. Gaps shorter than `least` are forgotten, as nothing goes into them.
    fn hold(&mut self, start: u64, ticks: u64, least: u64) {
        let end = start.saturating_add(ticks);
        if start >= self.free {
            if start - self.free >= least && start > self.free {
                self.gaps.insert(start, self.free);
            }
            self.free = end;
            return;
        }
        let gap = self.gaps.range(end..).next().map(|(&end, &start)| (start, end));
        if let Some((from, to)) = gap.filter(|(from, _)| *from <= start) {
            self.gaps.remove(&to);
            if start > from && start - from >= least {
                self.gaps.insert(start, from);
            }
            if to > end && to - end >= least {
                self.gaps.insert(to, end);
            }
        }
    }
}

/// What is placed so far.
struct State<'p> {
    problem: &'p Problem,
    streams: Vec<Vec<Stream>>,
    /// The shortest operation of each side.
    least: Vec<u64>,
    lanes: Vec<u64>,
    /// The same with what an operation would move.
    ahead: Vec<u64>,
    at: Vec<u64>,
    side: Vec<SideId>,
    start: Vec<u64>,
}

impl<'p> State<'p> {
    fn new(problem: &'p Problem) -> Self {
        let sides = problem.sides().len();
        let mut at = vec![NEVER; problem.values().len() * sides];
        for (value, of) in problem.values().iter().enumerate() {
            for side in problem.side_ids().filter(|side| of.at & side.only() != 0) {
                at[value * sides + side.index()] = 0;
            }
        }
        let mut least = vec![NEVER; sides];
        for ticks in problem.ticks.chunks_exact(sides) {
            least.iter_mut().zip(ticks).for_each(|(least, &ticks)| *least = (*least).min(ticks));
        }
        Self {
            problem,
            streams: problem.sides().iter().map(|side| vec![Stream::default(); side.streams as usize]).collect(),
            least,
            lanes: vec![0; problem.lanes().len()],
            ahead: vec![0; problem.lanes().len()],
            at,
            side: vec![SideId(0); problem.len()],
            start: vec![0; problem.len()],
        }
    }

    /// Places an operation where it ends first; transfers are made for good only there.
    fn place(&mut self, id: OperationId) {
        let problem = self.problem;
        let mut best: Option<(u64, u64, SideId, usize)> = None;
        for side in problem.side_ids() {
            let Some(ticks) = problem.ticks(id, side) else { continue };
            let ready = self.ready(id, side);
            let streams = self.streams[side.index()].iter().enumerate();
            let starts = streams.map(|(stream, of)| (of.start(ready, ticks), stream));
            let Some((start, stream)) = starts.min() else { continue };
            let end = start.saturating_add(ticks);
            if best.is_none_or(|(known, ..)| end < known) {
                best = Some((end, start, side, stream));
            }
        }
        let (end, start, side, stream) = best.expect("some side has each operation of a checked problem");
        self.bring(id, side);
        let ticks = problem.ticks_or_never(id, side);
        self.streams[side.index()][stream].hold(start, ticks, self.least[side.index()]);
        (self.side[id.index()], self.start[id.index()]) = (side, start);
        for &value in problem.makes(id) {
            self.at[value.index() * problem.sides().len() + side.index()] = end;
        }
    }

    /// When all operands are at a side, if they are moved now.
    fn ready(&mut self, id: OperationId, side: SideId) -> u64 {
        self.ahead.copy_from_slice(&self.lanes);
        let (problem, mut ready) = (self.problem, 0);
        for &value in problem.reads(id) {
            ready = ready.max(self.arrival(value, side).map_or_else(
                |there| there,
                |(end, lane)| {
                    self.ahead[lane] = end;
                    end
                },
            ));
        }
        ready
    }

    /// Moves all operands to a side.
    fn bring(&mut self, id: OperationId, side: SideId) {
        self.ahead.copy_from_slice(&self.lanes);
        let problem = self.problem;
        for &value in problem.reads(id) {
            if let Ok((end, lane)) = self.arrival(value, side) {
                self.ahead[lane] = end;
                self.at[value.index() * problem.sides().len() + side.index()] = end;
            }
        }
        self.lanes.copy_from_slice(&self.ahead);
    }

    /// The end and the lane of a value's way to a side, behind what is moved ahead of it; `Err` with the time since when it
    /// is there.
    fn arrival(&self, value: ValueId, to: SideId) -> Result<(u64, usize), u64> {
        let problem = self.problem;
        let place = value.index() * problem.sides().len();
        match self.at[place + to.index()] {
            NEVER => {}
            there => return Err(there),
        }
        let known = problem.side_ids().filter(|from| self.at[place + from.index()] != NEVER);
        let ends = known.map(|from| {
            let lane = problem.lane(from, to);
            let start = self.at[place + from.index()].max(self.ahead[lane]);
            (start.saturating_add(problem.transfer_ticks(value, from, to)), lane)
        });
        Ok(ends.min().expect("predecessors are placed first"))
    }
}
