//! A problem from a recorded program: operations, the values between them, where inputs are and results go.
//!
//! A value counts with the limbs that somebody reads of it. Inputs are told apart by the batch entries that are read, so
//! that a step of a blind rotation moves its own part of the key. Several copies of a program, as ciphertexts in flight,
//! share its keys and plaintexts and nothing else; their operations take turns.

use super::{
    draft::{Draft, DraftOperation},
    error::OffloadError,
    problem::{Link, OperationId, Problem, Side, SideId, ValueId},
};
use crate::report::as_f64;
use limbwise_graph::{Basis, Graph, NodeId, Op, Piece, Region, RegionId, Role};
use std::collections::HashMap;

/// What a machine or a device says of itself as a side.
pub trait SideModel {
    /// Its name, streams and balance.
    fn side(&self) -> Side;

    /// Seconds of an operation, given by its nodes, on one stream; `None` where the side does not have it.
    fn seconds(&self, graph: &Graph, nodes: &[NodeId]) -> Option<f64>;

    /// Joules of the same; `None` where energy is not known.
    fn joules(&self, _graph: &Graph, _nodes: &[NodeId]) -> Option<f64> {
        None
    }

    /// Whether an input is there before the program begins. The home side has all.
    fn holds(&self, _graph: &Graph, _input: NodeId) -> bool {
        false
    }
}

/// What is placed as one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping<'a> {
    /// Each node by itself.
    #[default]
    Nodes,
    /// Nodes that follow each other in a region of one of these kinds; the outermost counts. All others by themselves.
    Regions(&'a [Region]),
}

/// Seconds of a transfer that does not follow from bytes: of some limbs of a node's value, from one side to another;
/// `None` where it does.
pub type MoveSeconds<'a> = &'a dyn Fn(NodeId, Basis, [SideId; 2]) -> Option<f64>;

/// A recorded program with the sides that share it.
#[derive(Clone, Copy)]
pub struct Recorded<'a> {
    /// The program.
    pub graph: &'a Graph,
    /// The sides.
    pub sides: &'a [&'a dyn SideModel],
    /// Links between them.
    pub links: &'a [(SideId, SideId, Link)],
    /// The side where inputs are and where results go.
    pub home: SideId,
    /// What is placed as one operation.
    pub grouping: Grouping<'a>,
    /// Copies of the program in flight; 1 for the program alone.
    pub copies: u32,
    /// Transfers that take another time than their bytes.
    pub move_seconds: Option<MoveSeconds<'a>>,
}

impl<'a> Recorded<'a> {
    /// One copy, node by node, with transfers by their bytes.
    #[must_use]
    pub fn new(graph: &'a Graph, sides: &'a [&'a dyn SideModel], links: &'a [(SideId, SideId, Link)]) -> Self {
        let (home, grouping) = (SideId(0), Grouping::Nodes);
        Self { graph, sides, links, home, grouping, copies: 1, move_seconds: None }
    }

    /// The problem.
    ///
    /// # Errors
    /// As [`Draft::build`].
    pub fn problem(&self) -> Result<Problem, OffloadError> {
        if self.copies == 0 {
            let (field, wanted, got) = ("copies".into(), "a number from 1", "0".into());
            return Err(OffloadError::Field { field, wanted, got });
        }
        let mut draft = Draft::new(self.sides.iter().map(|side| side.side()).collect());
        self.links.iter().for_each(|&(first, second, link)| draft.link(first, second, link));
        draft.regions(self.graph.regions().iter().map(|region| region.parent).collect());
        let groups = self.groups();
        let mut reading = Reading::new(self, &groups);
        reading.read(&groups);
        let made = vec![Copies { first: ValueId(0), step: 0 }; self.graph.nodes().len()];
        let mut building = Building { of: self, reading, draft, inputs: HashMap::new(), made };
        for (at, group) in groups.iter().enumerate() {
            building.group(at, group);
        }
        building.keep();
        building.draft.build()
    }

    /// Operations by their nodes, in program order.
    fn groups(&self) -> Vec<Vec<NodeId>> {
        let graph = self.graph;
        let within = self.grouped_regions();
        let mut groups: Vec<Vec<NodeId>> = Vec::new();
        let mut last: Option<RegionId> = None;
        for id in graph.ids().filter(|&id| is_work(graph.node(id).op())) {
            let region = within[graph.node(id).region().index()];
            match groups.last_mut().filter(|_| region.is_some() && region == last) {
                Some(group) => group.push(id),
                None => groups.push(vec![id]),
            }
            last = region;
        }
        groups
    }

    /// For each region the outermost one around it by which nodes are grouped.
    fn grouped_regions(&self) -> Vec<Option<RegionId>> {
        let Grouping::Regions(kinds) = self.grouping else { return vec![None; self.graph.regions().len()] };
        let mut within: Vec<Option<RegionId>> = Vec::new();
        for (at, region) in (0..).zip(self.graph.regions()) {
            let outer = within.get(region.parent.index()).copied().flatten();
            let own = kinds.iter().any(|&kind| region.is(kind)).then_some(RegionId(at));
            within.push(outer.or(own));
        }
        within
    }
}

/// Whether an operation takes time: views and uploads do not.
pub(crate) fn is_work(op: Op) -> bool {
    !op.is_view() && !matches!(op, Op::Upload | Op::UploadLwe)
}

/// An input as it is read: its node and the batch entries.
type InputPart = (NodeId, usize, usize);

/// What of each value is read.
struct Reading<'g> {
    graph: &'g Graph,
    /// The group that makes the value of each node.
    maker: Vec<Option<u32>>,
    /// Limbs of each made value that other groups read or the program keeps; `None` where nobody does.
    made: Vec<Option<Basis>>,
    inputs: HashMap<InputPart, Basis>,
    /// Values that are kept.
    kept: Vec<bool>,
}

impl<'g> Reading<'g> {
    fn new(of: &Recorded<'g>, groups: &[Vec<NodeId>]) -> Self {
        let count = of.graph.nodes().len();
        let mut maker = vec![None; count];
        for (at, group) in (0..).zip(groups) {
            group.iter().for_each(|id| maker[id.index()] = Some(at));
        }
        Self { graph: of.graph, maker, made: vec![None; count], inputs: HashMap::new(), kept: vec![false; count] }
    }

    fn read(&mut self, groups: &[Vec<NodeId>]) {
        for (at, group) in (0..).zip(groups) {
            self.for_each_read(at, group, |this, piece| this.note(&piece));
        }
        let graph = self.graph;
        for id in graph.ids().filter(|&id| graph.node(id).freed_before().is_none()) {
            graph.for_each_piece(id, |piece| {
                if self.maker[piece.source.index()].is_some() {
                    self.kept[piece.source.index()] = true;
                    self.note(&piece);
                }
            });
        }
    }

    fn note(&mut self, piece: &Piece) {
        match self.maker[piece.source.index()] {
            Some(_) => {
                let basis = self.made[piece.source.index()].get_or_insert_default();
                *basis = *basis | piece.basis;
            }
            None => {
                let basis = self.inputs.entry((piece.source, piece.from, piece.to)).or_default();
                *basis = *basis | piece.basis;
            }
        }
    }

    /// The pieces that a group reads and did not make.
    fn for_each_read(&mut self, at: u32, group: &[NodeId], mut found: impl FnMut(&mut Self, Piece)) {
        let graph = self.graph;
        for &operand in group.iter().flat_map(|&id| graph.operands(id)) {
            graph.for_each_piece(operand, |piece| {
                if self.maker[piece.source.index()] != Some(at) {
                    found(self, piece);
                }
            });
        }
    }
}

/// The draft under construction.
struct Building<'r, 'a> {
    of: &'r Recorded<'a>,
    reading: Reading<'a>,
    draft: Draft,
    inputs: HashMap<InputPart, Copies>,
    /// By node.
    made: Vec<Copies>,
}

/// A value in each copy of the program.
#[derive(Clone, Copy)]
struct Copies {
    first: ValueId,
    /// From copy to copy; 0 where all share it.
    step: u32,
}

impl Copies {
    fn of(self, copy: u32) -> ValueId {
        ValueId(self.first.0 + copy * self.step)
    }
}

impl Building<'_, '_> {
    fn group(&mut self, at: usize, group: &[NodeId]) {
        let graph = self.of.graph;
        let mut parts: Vec<(Piece, bool)> = Vec::new();
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.reading.for_each_read(at, group, |this, piece| {
            parts.push((piece, this.maker[piece.source.index()].is_some()));
        });
        let reads: Vec<Copies> = parts
            .iter()
            .map(|(piece, made)| if *made { self.made[piece.source.index()] } else { self.input(piece) })
            .collect();
        let read_bytes = parts.iter().map(|(piece, _)| graph.piece_bytes(piece)).fold(0, u64::saturating_add);
        let seen: Vec<NodeId> = group.iter().copied().filter(|id| self.reading.made[id.index()].is_some()).collect();
        let written = seen.iter().map(|&id| graph.value_bytes(id)).fold(read_bytes, u64::saturating_add);
        let products = group.iter().map(|&id| graph.work(id).products()).fold(0, u64::saturating_add);
        let joules: Vec<Option<f64>> = self.of.sides.iter().map(|side| side.joules(graph, group)).collect();
        let operation = DraftOperation {
            name: graph.node(group[0]).op().name(),
            nodes: group.to_vec(),
            region: graph.node(group[0]).region(),
            seconds: self.of.sides.iter().map(|side| side.seconds(graph, group)).collect(),
            joules: if joules.iter().any(Option::is_some) {
                joules.into_iter().map(Option::unwrap_or_default).collect()
            } else {
                Vec::new()
            },
            intensity: as_f64(products) / as_f64(written.max(1)),
        };
        for copy in 0..self.of.copies {
            let id = self.draft.operation(operation.clone(), reads.iter().map(|values| values.of(copy)));
            for &node in &seen {
                let value = self.make(node, id);
                if copy == 0 {
                    let step = u32::try_from(seen.len()).unwrap_or(u32::MAX);
                    self.made[node.index()] = Copies { first: value, step };
                }
            }
        }
    }

    fn make(&mut self, node: NodeId, maker: OperationId) -> ValueId {
        let graph = self.of.graph;
        let basis = self.reading.made[node.index()].unwrap_or_default();
        let bytes = match graph.lwe_shape(node) {
            Some(shape) => shape.bytes(),
            None => graph.shape(node).with_basis(basis).bytes(),
        };
        let value = self.draft.value(maker, bytes);
        self.moves(node, basis, value);
        value
    }

    fn input(&mut self, piece: &Piece) -> Copies {
        let part = (piece.source, piece.from, piece.to);
        if let Some(&values) = self.inputs.get(&part) {
            return values;
        }
        let graph = self.of.graph;
        let basis = self.reading.inputs.get(&part).copied().unwrap_or_default();
        let bytes = graph.piece_bytes(&Piece { basis, ..*piece });
        let own = matches!(graph.node(piece.source).role(), Role::Ciphertext | Role::Temporary);
        let copies = if own { self.of.copies } else { 1 };
        let ids = (0..).map(SideId).zip(self.of.sides);
        let at: Vec<SideId> = ids
            .filter(|(side, model)| *side == self.of.home || model.holds(graph, piece.source))
            .map(|(side, _)| side)
            .collect();
        let values: Vec<ValueId> = (0..copies).map(|_| self.draft.input(bytes, at.iter().copied())).collect();
        values.iter().for_each(|&value| self.moves(piece.source, basis, value));
        let copies = Copies { first: values[0], step: u32::from(own) };
        self.inputs.insert(part, copies);
        copies
    }

    fn moves(&mut self, node: NodeId, basis: Basis, value: ValueId) {
        let Some(seconds) = self.of.move_seconds else { return };
        let ids = || (0..).map(SideId).zip(self.of.sides).map(|(side, _)| side);
        for pair in ids().flat_map(|from| ids().map(move |to| [from, to])).filter(|[from, to]| from != to) {
            if let Some(seconds) = seconds(node, basis, pair) {
                self.draft.move_seconds(value, pair, seconds);
            }
        }
    }

    /// Results go home.
    fn keep(&mut self) {
        let home = self.of.home;
        for (_, values) in self.reading.kept.iter().zip(&self.made).filter(|(kept, _)| **kept) {
            (0..self.of.copies).for_each(|copy| self.draft.keep(values.of(copy), home));
        }
    }
}
