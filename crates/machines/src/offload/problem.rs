//! The problem: sides, links, operations with their time on each side, and the values that pass between them.
//!
//! Times are whole picoseconds, so that equal problems have equal timetables on every host. Operations are numbered in
//! an order that respects their dependences.

use crate::report::as_f64;
use limbwise_graph::{NodeId, RegionId};
use std::{collections::HashMap, ops::Range};

/// Length of a tick.
pub const TICK_SECONDS: f64 = 1e-12;
/// The time of an operation on a side that does not have it.
pub(crate) const NEVER: u64 = u64::MAX;
/// Most sides of a problem: a set of sides is a byte.
pub const MOST_SIDES: usize = 8;

/// One of the sides, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SideId(pub u8);

impl SideId {
    /// Position among the sides.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The set with this side alone.
    #[must_use]
    pub fn only(self) -> u8 {
        1 << self.0
    }
}

/// An operation, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(pub u32);

/// A value, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

impl OperationId {
    /// Position among the operations.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ValueId {
    /// Position among the values.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A side: a processor with its memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// Its name in reports.
    pub name: &'static str,
    /// Operations that it does at the same time, each in the time that the problem states.
    pub streams: u32,
    /// Multiplications a byte at which its arithmetic and its memory take equally long.
    pub balance: f64,
}

/// Whether both directions of a link work at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplex {
    /// One transfer at a time.
    Half,
    /// One transfer at a time in each direction.
    Full,
}

/// A link between two sides. A transfer holds it for the latency and the time of its bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bandwidth from the first side to the second, and back.
    pub bandwidth_gb_s: [f64; 2],
    /// From a request to its first byte.
    pub latency_s: f64,
    /// Whether both directions work at the same time.
    pub duplex: Duplex,
    /// Energy of a byte, if energy is of interest.
    pub joules_per_byte: f64,
}

impl Link {
    /// A link with the same bandwidth both ways and no energy.
    #[must_use]
    pub fn new(bandwidth_gb_s: f64, latency_s: f64, duplex: Duplex) -> Self {
        Self { bandwidth_gb_s: [bandwidth_gb_s; 2], latency_s, duplex, joules_per_byte: 0.0 }
    }
}

/// A direction of a link, as the problem keeps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Way {
    /// The lane that its transfers hold; both directions of a half-duplex link have one.
    pub(crate) lane: usize,
    pub(crate) latency: u64,
    pub(crate) ticks_per_byte: f64,
    pub(crate) joules_per_byte: f64,
}

/// A value that operations read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its size.
    pub bytes: u64,
    /// The operation that makes it; `None` for an input.
    pub maker: Option<OperationId>,
    /// The sides that have it before the program begins, as a set of bits.
    pub at: u8,
    /// The sides that must have it at the end, as a set of bits.
    pub kept: u8,
}

/// Lists of lists in one array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lists<T> {
    items: Vec<T>,
    ends: Vec<u32>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { items: Vec::new(), ends: Vec::new() }
    }
}

impl<T> Lists<T> {
    pub(crate) fn push(&mut self, items: impl IntoIterator<Item = T>) {
        self.items.extend(items);
        self.ends.push(u32::try_from(self.items.len()).expect("fewer than 2^32 entries"));
    }

    pub(crate) fn get(&self, at: usize) -> &[T] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.items[start..self.ends[at] as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}

/// A checked problem; [`Draft`](super::Draft) and [`Recorded`](super::Recorded) make them.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub(crate) sides: Vec<Side>,
    /// From each side to each side.
    pub(crate) ways: Vec<Option<Way>>,
    pub(crate) lanes: Vec<&'static str>,
    /// Ticks of each operation on each side.
    pub(crate) ticks: Vec<u64>,
    /// Joules of the same, or empty.
    pub(crate) joules: Vec<f64>,
    /// Multiplications a byte of each operation.
    pub(crate) intensity: Vec<f64>,
    /// Nodes of the recorded graph that each operation stands for.
    pub(crate) nodes: Lists<NodeId>,
    pub(crate) names: Vec<&'static str>,
    /// Region of the first of them.
    pub(crate) regions: Vec<RegionId>,
    /// Parent of each region; empty where there are none but the root.
    pub(crate) parents: Vec<RegionId>,
    pub(crate) reads: Lists<ValueId>,
    pub(crate) makes: Lists<ValueId>,
    pub(crate) values: Vec<Value>,
    /// Ticks of a value from each side to each side where these are not by its bytes.
    pub(crate) moves: Option<Vec<u64>>,
}

impl Problem {
    /// The sides in the order of their numbers.
    #[must_use]
    pub fn sides(&self) -> &[Side] {
        &self.sides
    }

    /// Numbers of the sides.
    pub fn side_ids(&self) -> impl Iterator<Item = SideId> + use<> {
        (0..u8::try_from(self.sides.len()).unwrap_or(u8::MAX)).map(SideId)
    }

    /// The side with a name.
    #[must_use]
    pub fn side(&self, name: &str) -> Option<SideId> {
        self.side_ids().find(|side| self.sides[side.index()].name == name)
    }

    /// Names of the lanes of all links: one for a half-duplex link, one a direction for a full-duplex link.
    #[must_use]
    pub fn lanes(&self) -> &[&'static str] {
        &self.lanes
    }

    /// Number of operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.reads.len()
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All operations in program order.
    pub fn operations(&self) -> impl DoubleEndedIterator<Item = OperationId> + use<> {
        (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).map(OperationId)
    }

    /// Ticks of an operation on a side; `None` where that side does not have it.
    #[must_use]
    pub fn ticks(&self, operation: OperationId, side: SideId) -> Option<u64> {
        let ticks = self.ticks_or_never(operation, side);
        (ticks != NEVER).then_some(ticks)
    }

    pub(crate) fn ticks_or_never(&self, operation: OperationId, side: SideId) -> u64 {
        self.ticks[operation.index() * self.sides.len() + side.index()]
    }

    /// Joules of an operation on a side; 0 where energy is not stated.
    #[must_use]
    pub fn joules(&self, operation: OperationId, side: SideId) -> f64 {
        self.joules.get(operation.index() * self.sides.len() + side.index()).copied().unwrap_or(0.0)
    }

    /// Name of an operation in errors and reports.
    #[must_use]
    pub fn name(&self, operation: OperationId) -> &'static str {
        self.names[operation.index()]
    }

    /// Multiplications a byte of an operation.
    #[must_use]
    pub fn intensity(&self, operation: OperationId) -> f64 {
        self.intensity[operation.index()]
    }

    /// The nodes of the recorded graph that an operation stands for, in program order.
    #[must_use]
    pub fn nodes(&self, operation: OperationId) -> &[NodeId] {
        self.nodes.get(operation.index())
    }

    /// The values that an operation reads, each once.
    #[must_use]
    pub fn reads(&self, operation: OperationId) -> &[ValueId] {
        self.reads.get(operation.index())
    }

    /// The values that an operation makes.
    #[must_use]
    pub fn makes(&self, operation: OperationId) -> &[ValueId] {
        self.makes.get(operation.index())
    }

    /// All values.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// A value.
    #[must_use]
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    /// The operations whose values an operation reads, in the order of the reads.
    pub fn predecessors(&self, operation: OperationId) -> impl Iterator<Item = OperationId> + '_ {
        self.reads(operation).iter().filter_map(|&value| self.value(value).maker)
    }

    /// Ticks for which a transfer of a value holds its lane.
    ///
    /// # Panics
    /// If both sides are one.
    #[must_use]
    pub fn transfer_ticks(&self, value: ValueId, from: SideId, to: SideId) -> u64 {
        let at = self.pair(from, to);
        if let Some(moves) = &self.moves {
            return moves[value.index() * self.ways.len() + at];
        }
        let way = self.ways[at].expect("a checked problem has all links");
        way.latency.saturating_add(crate::dram::ticks(as_f64(self.value(value).bytes) * way.ticks_per_byte))
    }

    /// The lane of transfers from one side to another.
    ///
    /// # Panics
    /// If both sides are one.
    #[must_use]
    pub fn lane(&self, from: SideId, to: SideId) -> usize {
        self.ways[self.pair(from, to)].expect("a checked problem has all links").lane
    }

    /// Joules of a transfer.
    ///
    /// # Panics
    /// If both sides are one.
    #[must_use]
    pub fn transfer_joules(&self, value: ValueId, from: SideId, to: SideId) -> f64 {
        let way = self.ways[self.pair(from, to)].expect("a checked problem has all links");
        as_f64(self.value(value).bytes) * way.joules_per_byte
    }

    pub(crate) fn pair(&self, from: SideId, to: SideId) -> usize {
        from.index() * self.sides.len() + to.index()
    }
}

impl Problem {
    /// Some operations in a row as a problem of their own. Values from outside are inputs, at the sides that `at` says.
    pub(crate) fn part(&self, range: Range<usize>, at: impl Fn(ValueId) -> u8) -> Self {
        let sides = self.sides.len();
        let mut part = Self {
            sides: self.sides.clone(),
            ways: self.ways.clone(),
            lanes: self.lanes.clone(),
            ticks: self.ticks[range.start * sides..range.end * sides].to_vec(),
            joules: self.joules.get(range.start * sides..range.end * sides).unwrap_or_default().to_vec(),
            intensity: self.intensity[range.clone()].to_vec(),
            nodes: Lists::default(),
            names: self.names[range.clone()].to_vec(),
            regions: self.regions[range.clone()].to_vec(),
            parents: self.parents.clone(),
            reads: Lists::default(),
            makes: Lists::default(),
            values: Vec::new(),
            moves: None,
        };
        let mut ids: HashMap<ValueId, ValueId> = HashMap::new();
        let mut old: Vec<ValueId> = Vec::new();
        for id in range.clone() {
            let mut own = |values: &[ValueId], maker: Option<OperationId>, part: &mut Self| -> Vec<ValueId> {
                let one = |&value: &ValueId| {
                    *ids.entry(value).or_insert_with(|| {
                        let of = self.value(value);
                        let (at, kept) = if maker.is_some() { (of.at, of.kept) } else { (at(value), 0) };
                        part.values.push(Value { bytes: of.bytes, maker, at, kept });
                        old.push(value);
                        ValueId(u32::try_from(part.values.len() - 1).expect("no more than in the whole"))
                    })
                };
                values.iter().map(one).collect()
            };
            let reads = own(self.reads.get(id), None, &mut part);
            let maker = OperationId(u32::try_from(id - range.start).expect("no more than in the whole"));
            let makes = own(self.makes.get(id), Some(maker), &mut part);
            part.reads.push(reads);
            part.makes.push(makes);
            part.nodes.push(self.nodes.get(id).first().copied());
        }
        let ways = self.ways.len();
        let moved = |moves: &Vec<u64>| old.iter().flat_map(|v| moves[v.index() * ways..][..ways].to_vec()).collect();
        part.moves = self.moves.as_ref().map(moved);
        part
    }
}
