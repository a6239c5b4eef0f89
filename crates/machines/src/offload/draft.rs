//! Building a problem by hand: sides, links, values and operations in program order, checked at the end.

use super::{
    error::OffloadError,
    problem::{
        Duplex, Link, Lists, MOST_SIDES, NEVER, OperationId, Problem, Side, SideId, TICK_SECONDS, Value, ValueId, Way,
    },
};
use crate::dram::ticks;
use limbwise_graph::{NodeId, RegionId};

/// An operation that is added to a draft.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftOperation {
    /// Its name in errors.
    pub name: &'static str,
    /// Nodes of the recorded graph that it stands for; the first one names it in reports.
    pub nodes: Vec<NodeId>,
    /// Region of the first of them.
    pub region: RegionId,
    /// Seconds on each side; `None` where that side does not have it.
    pub seconds: Vec<Option<f64>>,
    /// Joules on each side, or empty.
    pub joules: Vec<f64>,
    /// Multiplications a byte.
    pub intensity: f64,
}

impl DraftOperation {
    /// An operation by its times alone.
    #[must_use]
    pub fn new(node: NodeId, seconds: &[Option<f64>]) -> Self {
        let (nodes, region, seconds) = (vec![node], RegionId::ROOT, seconds.to_vec());
        Self { name: "an operation", nodes, region, seconds, joules: Vec::new(), intensity: 0.0 }
    }
}

/// A problem under construction.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    sides: Vec<Side>,
    links: Vec<(SideId, SideId, Link)>,
    operations: Vec<DraftOperation>,
    reads: Lists<ValueId>,
    values: Vec<Value>,
    moves: Vec<(ValueId, SideId, SideId, f64)>,
    parents: Vec<RegionId>,
}

impl Draft {
    /// A problem with these sides.
    #[must_use]
    pub fn new(sides: Vec<Side>) -> Self {
        Self { sides, ..Self::default() }
    }

    /// Links two sides. A second link between the same replaces the first.
    pub fn link(&mut self, first: SideId, second: SideId, link: Link) {
        self.links.push((first, second, link));
    }

    /// An input that some sides have before the program begins.
    ///
    /// # Panics
    /// If there are 2^32 values.
    pub fn input(&mut self, bytes: u64, at: impl IntoIterator<Item = SideId>) -> ValueId {
        let at = at.into_iter().fold(0, |all, side| all | side.only());
        self.push(Value { bytes, maker: None, at, kept: 0 })
    }

    /// An operation that reads values; it makes none before [`Self::value`] says so.
    ///
    /// # Panics
    /// If there are 2^32 operations.
    pub fn operation(&mut self, operation: DraftOperation, reads: impl IntoIterator<Item = ValueId>) -> OperationId {
        let id = OperationId(u32::try_from(self.operations.len()).expect("fewer than 2^32 operations"));
        let mut found: Vec<ValueId> = Vec::new();
        reads.into_iter().for_each(|value| {
            if !found.contains(&value) {
                found.push(value);
            }
        });
        self.operations.push(operation);
        self.reads.push(found);
        id
    }

    /// A value that an operation makes.
    ///
    /// # Panics
    /// If there are 2^32 values.
    pub fn value(&mut self, maker: OperationId, bytes: u64) -> ValueId {
        self.push(Value { bytes, maker: Some(maker), at: 0, kept: 0 })
    }

    /// A side must have a value at the end.
    pub fn keep(&mut self, value: ValueId, at: SideId) {
        self.values[value.index()].kept |= at.only();
    }

    /// Seconds of a transfer that does not follow from the bytes of its value.
    pub fn move_seconds(&mut self, value: ValueId, [from, to]: [SideId; 2], seconds: f64) {
        self.moves.push((value, from, to, seconds));
    }

    /// The tree of regions that operations stand in: the parent of each, the root's being itself. Without it all stand in
    /// the root.
    pub fn regions(&mut self, parents: Vec<RegionId>) {
        self.parents = parents;
    }

    fn push(&mut self, value: Value) -> ValueId {
        self.values.push(value);
        ValueId(u32::try_from(self.values.len() - 1).expect("fewer than 2^32 values"))
    }

    /// The problem, checked.
    ///
    /// # Errors
    /// [`OffloadError`] by field: fewer than two sides or too many, a side without streams, a pair without a link, a link
    /// without bandwidth, a time that is none, an operation that no side has.
    ///
    /// # Panics
    /// If a read, a maker or a side is not of this draft, or an operation reads what a later one makes.
    pub fn build(self) -> Result<Problem, OffloadError> {
        self.check_sides()?;
        let (ways, lanes) = self.ways()?;
        let sides = self.sides.len();
        let mut problem = Problem {
            ways,
            lanes,
            ticks: Vec::with_capacity(self.operations.len() * sides),
            joules: Vec::new(),
            intensity: Vec::with_capacity(self.operations.len()),
            nodes: Lists::default(),
            names: Vec::with_capacity(self.operations.len()),
            regions: Vec::with_capacity(self.operations.len()),
            parents: self.parents,
            reads: self.reads,
            makes: Lists::default(),
            values: self.values,
            moves: None,
            sides: self.sides,
        };
        let has_energy = self.operations.iter().any(|o| !o.joules.is_empty());
        for (index, operation) in (0..).zip(self.operations) {
            problem.add(OperationId(index), operation, has_energy)?;
        }
        problem.set_makes();
        if !self.moves.is_empty() {
            problem.set_moves(&self.moves)?;
        }
        Ok(problem)
    }

    fn check_sides(&self) -> Result<(), OffloadError> {
        let field = |field: String, wanted, got: String| Err(OffloadError::Field { field, wanted, got });
        if !(2..=MOST_SIDES).contains(&self.sides.len()) {
            return field("sides".into(), "2 to 8 sides", self.sides.len().to_string());
        }
        for side in &self.sides {
            if side.streams == 0 {
                return field(format!("{}.streams", side.name), "a number from 1", "0".into());
            }
            if !side.balance.is_finite() || side.balance < 0.0 {
                return field(format!("{}.balance", side.name), "a number from 0", side.balance.to_string());
            }
        }
        Ok(())
    }

    /// Ways between all sides, and the lanes that they hold.
    fn ways(&self) -> Result<(Vec<Option<Way>>, Vec<&'static str>), OffloadError> {
        let count = self.sides.len();
        let mut ways = vec![None; count * count];
        let mut lanes: Vec<&'static str> = Vec::new();
        for a in 0..count {
            for b in a + 1..count {
                let found =
                    self.links.iter().rev().find_map(|(first, second, link)| match (first.index(), second.index()) {
                        (x, y) if (x, y) == (a, b) => Some(*link),
                        (x, y) if (x, y) == (b, a) => {
                            let [there, back] = link.bandwidth_gb_s;
                            Some(Link { bandwidth_gb_s: [back, there], ..*link })
                        }
                        _ => None,
                    });
                let (from, to) = (self.sides[a].name, self.sides[b].name);
                let link = found.ok_or(OffloadError::NoLink { from, to })?;
                check_link(&link, from, to)?;
                let names: &[&'static str] = match (link.duplex, count) {
                    (Duplex::Half, 2) => &["link"],
                    (Duplex::Full, 2) => &["link there", "link back"],
                    (Duplex::Half, _) => &["a link"],
                    (Duplex::Full, _) => &["a link there", "a link back"],
                };
                let lane = lanes.len();
                lanes.extend(names);
                for (way, at) in [(0, a * count + b), (1, b * count + a)] {
                    ways[at] = Some(Way {
                        lane: lane + way.min(names.len() - 1),
                        latency: ticks(link.latency_s / TICK_SECONDS),
                        ticks_per_byte: 1e3 / link.bandwidth_gb_s[way],
                        joules_per_byte: link.joules_per_byte,
                    });
                }
            }
        }
        Ok((ways, lanes))
    }
}

fn check_link(link: &Link, from: &'static str, to: &'static str) -> Result<(), OffloadError> {
    let field = |name: &str, wanted, got: f64| {
        Err(OffloadError::Field { field: format!("link.{from}.{to}.{name}"), wanted, got: got.to_string() })
    };
    if let Some(&gb_s) = link.bandwidth_gb_s.iter().find(|gb_s| !gb_s.is_finite() || **gb_s <= 0.0) {
        return field("bandwidth_gb_s", "a number above 0", gb_s);
    }
    if !link.latency_s.is_finite() || link.latency_s < 0.0 {
        return field("latency_s", "a number from 0", link.latency_s);
    }
    if !link.joules_per_byte.is_finite() || link.joules_per_byte < 0.0 {
        return field("joules_per_byte", "a number from 0", link.joules_per_byte);
    }
    Ok(())
}

/// A time or an energy: finite and not negative.
fn amount(x: f64, field: impl FnOnce() -> String) -> Result<f64, OffloadError> {
    if x.is_finite() && x >= 0.0 {
        return Ok(x);
    }
    Err(OffloadError::Field { field: field(), wanted: "a number from 0", got: x.to_string() })
}

impl Problem {
    fn add(&mut self, id: OperationId, operation: DraftOperation, has_energy: bool) -> Result<(), OffloadError> {
        let count = self.sides.len();
        let name = |field: &str, side: usize| format!("operation {}.{}.{field}", id.0, self.sides[side].name);
        for side in 0..count {
            let ticks = match operation.seconds.get(side).copied().flatten() {
                Some(seconds) => ticks(amount(seconds, || name("seconds", side))? / TICK_SECONDS).min(NEVER - 1),
                None => NEVER,
            };
            self.ticks.push(ticks);
            if has_energy {
                let joules = operation.joules.get(side).copied().unwrap_or(0.0);
                self.joules.push(amount(joules, || name("joules", side))?);
            }
        }
        if self.ticks[id.index() * count..].iter().all(|&ticks| ticks == NEVER) {
            let sides: Vec<&str> = self.sides.iter().map(|side| side.name).collect();
            return Err(OffloadError::NoSide {
                sides: sides.join(", "),
                operation: operation.name.into(),
                index: id.0,
            });
        }
        self.intensity.push(amount(operation.intensity, || format!("operation {}.intensity", id.0))?);
        self.nodes.push(operation.nodes);
        self.names.push(operation.name);
        self.regions.push(operation.region);
        let earlier = |value: &ValueId| self.value(*value).maker.is_none_or(|maker| maker < id);
        assert!(self.reads(id).iter().all(earlier), "operation {} reads what is made later", id.0);
        Ok(())
    }

    fn set_makes(&mut self) {
        let mut makes: Vec<Vec<ValueId>> = vec![Vec::new(); self.len()];
        for (index, value) in (0..).zip(&self.values) {
            if let Some(maker) = value.maker {
                makes[maker.index()].push(ValueId(index));
            }
        }
        makes.into_iter().for_each(|values| self.makes.push(values));
    }

    fn set_moves(&mut self, stated: &[(ValueId, SideId, SideId, f64)]) -> Result<(), OffloadError> {
        let ids: Vec<SideId> = self.side_ids().collect();
        let mut moves = Vec::with_capacity(self.values.len() * self.ways.len());
        for (value, _) in (0..).zip(&self.values) {
            for (&from, &to) in ids.iter().flat_map(|from| ids.iter().map(move |to| (from, to))) {
                moves.push(if from == to { 0 } else { self.transfer_ticks(ValueId(value), from, to) });
            }
        }
        for &(value, from, to, seconds) in stated {
            let seconds = amount(seconds, || format!("value {}.seconds", value.0))?;
            moves[value.index() * self.ways.len() + self.pair(from, to)] = ticks(seconds / TICK_SECONDS);
        }
        self.moves = Some(moves);
        Ok(())
    }
}
