//! What a placement takes: each operation and each transfer in time.
//!
//! Operations are taken in the placement's order. One starts when a stream of its side is free and its operands are
//! there; an operand that is not there is moved when the operation is taken, and stays: a value is moved to a side once,
//! however many read it. Nothing overtakes on a stream or on a lane.

use super::problem::{NEVER, OperationId, Problem, SideId, TICK_SECONDS, ValueId};
use crate::report::as_f64;

/// A side for each operation, and the order in which operations are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// By operation.
    pub side: Vec<SideId>,
    /// All operations, each after those whose values it reads.
    pub order: Vec<OperationId>,
}

impl Placement {
    /// Sides with operations in program order.
    #[must_use]
    pub fn in_program_order(side: Vec<SideId>) -> Self {
        let order = (0..u32::try_from(side.len()).unwrap_or(u32::MAX)).map(OperationId).collect();
        Self { side, order }
    }
}

/// A value on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The value.
    pub value: ValueId,
    /// Where it comes from.
    pub from: SideId,
    /// Where it goes.
    pub to: SideId,
    /// The operation that wants it; `None` for a result.
    pub wanted_by: Option<OperationId>,
    /// Start in ticks.
    pub start: u64,
    /// End in ticks.
    pub end: u64,
}

/// A placement in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timetable {
    /// Side of each operation.
    pub side: Vec<SideId>,
    /// Stream of its side on which each operation runs.
    pub stream: Vec<u32>,
    /// Start of each operation in ticks of a picosecond.
    pub start: Vec<u64>,
    /// End of each operation.
    pub end: Vec<u64>,
    /// All transfers in the order in which they hold their lanes.
    pub transfers: Vec<Transfer>,
    /// The end of all.
    pub makespan: u64,
}

/// Timing of placements of one problem, one after another.
pub(crate) struct Timing<'p> {
    problem: &'p Problem,
    /// When each stream of each side is free.
    free: Vec<Vec<u64>>,
    /// When each lane is free.
    lanes: Vec<u64>,
    /// When each value is at each side, and before the program begins.
    at: Vec<u64>,
    inputs: Vec<u64>,
    /// Values that are kept somewhere.
    kept: Vec<ValueId>,
    table: Timetable,
}

impl Timetable {
    /// Puts a placement in time.
    ///
    /// # Panics
    /// If the placement is not one of the problem: an operation on a side that does not have it, missing from the order,
    /// twice in it, or before what it reads.
    #[must_use]
    pub fn of(problem: &Problem, placement: &Placement) -> Self {
        let mut timing = Timing::new(problem);
        timing.time(&placement.side, placement.order.iter().copied());
        timing.table
    }

    /// The end of all in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        as_f64(self.makespan) * TICK_SECONDS
    }

    /// Seconds in which each side works, over all of its streams.
    #[must_use]
    pub fn busy_seconds(&self, problem: &Problem) -> Vec<f64> {
        let mut busy = vec![0u64; problem.sides().len()];
        for ((side, start), end) in self.side.iter().zip(&self.start).zip(&self.end) {
            busy[side.index()] = busy[side.index()].saturating_add(end - start);
        }
        busy.into_iter().map(|ticks| as_f64(ticks) * TICK_SECONDS).collect()
    }

    /// Seconds in which each lane of the links is held.
    #[must_use]
    pub fn link_seconds(&self, problem: &Problem) -> Vec<f64> {
        let mut busy = vec![0u64; problem.lanes().len()];
        for transfer in &self.transfers {
            let lane = &mut busy[problem.lane(transfer.from, transfer.to)];
            *lane = lane.saturating_add(transfer.end - transfer.start);
        }
        busy.into_iter().map(|ticks| as_f64(ticks) * TICK_SECONDS).collect()
    }

    /// Bytes over all links.
    #[must_use]
    pub fn link_bytes(&self, problem: &Problem) -> u64 {
        self.transfers.iter().map(|t| problem.value(t.value).bytes).fold(0, u64::saturating_add)
    }

    /// Energy of all operations and transfers.
    #[must_use]
    pub fn joules(&self, problem: &Problem) -> f64 {
        let work: f64 = problem.operations().zip(&self.side).map(|(id, &side)| problem.joules(id, side)).sum();
        let moved = self.transfers.iter().map(|t| problem.transfer_joules(t.value, t.from, t.to));
        work + moved.sum::<f64>()
    }

    /// Number of operations on each side.
    #[must_use]
    pub fn operations(&self, problem: &Problem) -> Vec<usize> {
        let mut count = vec![0; problem.sides().len()];
        self.side.iter().for_each(|side| count[side.index()] += 1);
        count
    }
}

impl<'p> Timing<'p> {
    pub(crate) fn new(problem: &'p Problem) -> Self {
        let sides = problem.sides().len();
        let mut inputs = vec![NEVER; problem.values().len() * sides];
        for (value, of) in problem.values().iter().enumerate() {
            for side in problem.side_ids().filter(|side| of.at & side.only() != 0) {
                inputs[value * sides + side.index()] = 0;
            }
        }
        let kept = (0..).map(ValueId).zip(problem.values()).filter(|(_, value)| value.kept != 0);
        Self {
            problem,
            free: problem.sides().iter().map(|side| vec![0; side.streams as usize]).collect(),
            lanes: vec![0; problem.lanes().len()],
            at: inputs.clone(),
            inputs,
            kept: kept.map(|(id, _)| id).collect(),
            table: Timetable::default(),
        }
    }

    /// Puts a placement in time.
    pub(crate) fn time(&mut self, side: &[SideId], order: impl ExactSizeIterator<Item = OperationId>) -> &Timetable {
        let count = self.problem.len();
        assert!(side.len() == count && order.len() == count, "a placement of this problem");
        self.free.iter_mut().for_each(|streams| streams.fill(0));
        self.lanes.fill(0);
        self.at.copy_from_slice(&self.inputs);
        let table = &mut self.table;
        let all = |list: &mut Vec<u64>| {
            list.clear();
            list.resize(count, NEVER);
        };
        all(&mut table.start);
        all(&mut table.end);
        table.side.clear();
        table.side.extend_from_slice(side);
        table.stream.clear();
        table.stream.resize(count, 0);
        table.transfers.clear();
        table.makespan = 0;
        order.for_each(|operation| self.take(operation));
        self.keep_results();
        &self.table
    }

    fn take(&mut self, id: OperationId) {
        let (problem, side) = (self.problem, self.table.side[id.index()]);
        let mut ready = 0;
        for &value in problem.reads(id) {
            ready = ready.max(self.arrival(value, side, Some(id)));
        }
        let ticks = problem.ticks(id, side).expect("an operation is on a side that has it");
        let streams = &mut self.free[side.index()];
        let stream = (0..streams.len()).min_by_key(|&stream| streams[stream]).expect("a side has a stream");
        let start = ready.max(streams[stream]);
        let end = start.saturating_add(ticks);
        streams[stream] = end;
        assert!(self.table.start[id.index()] == NEVER, "an operation is taken once");
        self.table.stream[id.index()] = u32::try_from(stream).unwrap_or(u32::MAX);
        (self.table.start[id.index()], self.table.end[id.index()]) = (start, end);
        self.table.makespan = self.table.makespan.max(end);
        for &value in problem.makes(id) {
            self.at[value.index() * problem.sides().len() + side.index()] = end;
        }
    }

    /// When a value is at a side; it is moved there if it is not. Of several copies the one that arrives first is taken.
    fn arrival(&mut self, value: ValueId, to: SideId, wanted_by: Option<OperationId>) -> u64 {
        let (problem, sides) = (self.problem, self.problem.sides().len());
        let places = value.index() * sides..(value.index() + 1) * sides;
        let there = self.at[places.start + to.index()];
        if there != NEVER {
            return there;
        }
        let mut best: Option<Transfer> = None;
        for from in problem.side_ids().filter(|from| self.at[places.start + from.index()] != NEVER) {
            let start = self.at[places.start + from.index()].max(self.lanes[problem.lane(from, to)]);
            let end = start.saturating_add(problem.transfer_ticks(value, from, to));
            if best.is_none_or(|best| end < best.end) {
                best = Some(Transfer { value, from, to, wanted_by, start, end });
            }
        }
        let transfer = best.expect("an operation is taken after those whose values it reads");
        self.lanes[problem.lane(transfer.from, to)] = transfer.end;
        self.at[places.start + to.index()] = transfer.end;
        self.table.makespan = self.table.makespan.max(transfer.end);
        self.table.transfers.push(transfer);
        transfer.end
    }

    /// Results go where they are kept, in the order in which they are made.
    fn keep_results(&mut self) {
        let problem = self.problem;
        let ends = |id: ValueId| problem.value(id).maker.map_or(0, |maker| self.table.end[maker.index()]);
        let mut kept: Vec<(u64, ValueId)> = self.kept.iter().map(|&id| (ends(id), id)).collect();
        kept.sort_unstable();
        for (_, value) in kept {
            for side in problem.side_ids().filter(|side| problem.value(value).kept & side.only() != 0) {
                self.arrival(value, side, None);
            }
        }
    }
}
