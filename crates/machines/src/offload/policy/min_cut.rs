//! Minimum cut: the least sum of times, as if nothing overlapped.
//!
//! Two sides, a time for each operation on each, and a time for each value that is made on one and read on the other: the
//! least sum is a minimum cut (\[Sto77\]). A value is moved once however many read it, so all its readers hang on one
//! edge. Overlap is not seen: where both sides work at the same time, another placement may end earlier.

use super::Policy;
use crate::offload::{
    error::OffloadError,
    network::{Network, SINK, SOURCE},
    problem::{NEVER as HAS_NOT, Problem, SideId, ValueId},
    timetable::Placement,
};

/// More than any program takes.
pub(crate) const NEVER: u64 = 1 << 60;
/// An operation or transfer that takes longer counts as this long, so that sums stay below [`NEVER`].
pub(crate) const LONG: u64 = 1 << 42;

/// Who makes or reads a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// An operation, by its position.
    Operation(usize),
    /// The second side, whatever is placed where: its inputs and its results.
    Second,
    /// The first side, in the same way.
    First,
}

impl End {
    fn node(self) -> usize {
        match self {
            Self::Operation(at) => at + 2,
            Self::Second => SINK,
            Self::First => SOURCE,
        }
    }
}

/// Places operations on two sides by a minimum cut.
pub(crate) struct Cut {
    network: Network,
    operations: usize,
}

impl Cut {
    /// Operations by their times on the first and the second side; [`NEVER`] where one does not have it.
    pub(crate) fn new(times: impl ExactSizeIterator<Item = [u64; 2]>) -> Self {
        let operations = times.len();
        let mut network = Network::new(operations);
        for (at, [first, second]) in (2..).zip(times) {
            // Whoever is on the sink's side, the second, pays the edge from the source.
            network.edge(SOURCE, at, second);
            network.edge(at, SINK, first);
        }
        Self { network, operations }
    }

    /// A value with the time of its way from the first side to the second, and back.
    pub(crate) fn value(&mut self, maker: End, readers: impl IntoIterator<Item = End>, [there, back]: [u64; 2]) {
        let (network, at) = (&mut self.network, maker.node());
        let (any_on_second, any_on_first) = (network.node(), network.node());
        network.edge(at, any_on_second, there);
        network.edge(any_on_first, at, back);
        for reader in readers {
            network.edge(any_on_second, reader.node(), NEVER);
            network.edge(reader.node(), any_on_first, NEVER);
        }
    }

    /// For each operation whether it is on the first side.
    pub(crate) fn on_first(self) -> Vec<bool> {
        self.network.cut().into_iter().skip(2).take(self.operations).collect()
    }
}

/// The placement with the least sum of times, on two sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinCut;

impl Policy for MinCut {
    fn name(&self) -> &'static str {
        "minimum cut"
    }

    fn place(&self, problem: &Problem) -> Result<Placement, OffloadError> {
        let sides = problem.sides().len();
        if sides != 2 {
            return Err(OffloadError::TwoSides { policy: self.name(), sides });
        }
        let (first, second) = (SideId(0), SideId(1));
        let longest = problem.ticks.iter().filter(|&&ticks| ticks != HAS_NOT).max().copied().unwrap_or(0);
        // Ticks are scaled so that none exceeds LONG, which keeps small problems exact.
        let scale = longest / LONG + 1;
        let time = |ticks: u64| if ticks == HAS_NOT { NEVER } else { ticks.div_ceil(scale).min(LONG) };
        let times = problem.ticks.chunks_exact(2).map(|both| [time(both[0]), time(both[1])]);
        let mut cut = Cut::new(times);
        let mut readers: Vec<Vec<End>> = vec![Vec::new(); problem.values().len()];
        for id in problem.operations() {
            problem.reads(id).iter().for_each(|value| readers[value.index()].push(End::Operation(id.index())));
        }
        for ((value, of), mut readers) in (0..).map(ValueId).zip(problem.values()).zip(readers) {
            let maker = match (of.maker, of.at & first.only() != 0, of.at & second.only() != 0) {
                (Some(maker), ..) => End::Operation(maker.index()),
                (None, true, false) => End::First,
                (None, false, true) => End::Second,
                _ => continue,
            };
            readers.extend((of.kept & first.only() != 0).then_some(End::First));
            readers.extend((of.kept & second.only() != 0).then_some(End::Second));
            let ways = [[first, second], [second, first]];
            cut.value(maker, readers, ways.map(|[from, to]| time(problem.transfer_ticks(value, from, to))));
        }
        let side = cut.on_first().into_iter().map(|on_first| if on_first { first } else { second });
        Ok(Placement::in_program_order(side.collect()))
    }
}
