//! Rewrites a program so that the parts of a key that it reads one after another are inputs of their own.
//!
//! A bootstrapping key is declared as a batch: an entry for each step of a blind rotation. A step reads one entry. A
//! memory that is smaller than the whole key holds a few entries, so a model of it needs them as separate values.

use crate::{
    graph::{Annotation, Graph, NodeId, count},
    op::Op,
};
use limbwise_device::Role;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Batch entries `from … to − 1`.
type Range = (usize, usize);

impl Graph {
    /// The same program with an input for each part of a key's batch, where operations read the whole key in parts that do
    /// not overlap. Other keys stay as they are. Regions, counts and bytes of operations are unchanged.
    #[must_use]
    pub fn keys_apart(&self) -> Self {
        let parts = self.parts_of_keys();
        if parts.is_empty() {
            return self.clone();
        }
        let graph = Self { nodes: Vec::new(), operands: Vec::new(), ..self.clone() };
        let mut rewriting =
            Rewriting { old: self, graph, parts, made: HashMap::new(), same: Vec::new(), first: Vec::new() };
        self.ids().for_each(|id| rewriting.node(id));
        let Rewriting { mut graph, mut first, .. } = rewriting;
        first.push(count(graph.nodes.len()));
        // Values are dropped before the same operations as before; one that lives to the end has a number beyond all nodes.
        for node in &mut graph.nodes {
            node.freed = first.get(node.freed as usize).copied().unwrap_or(node.freed);
        }
        graph
    }

    /// The parts of each key that is read in several.
    fn parts_of_keys(&self) -> HashMap<NodeId, Vec<Range>> {
        let mut read: BTreeMap<NodeId, BTreeSet<Range>> = BTreeMap::new();
        for id in self.ids().filter(|&id| !self.node(id).op().is_view()) {
            for &operand in self.operands(id) {
                self.for_each_piece(operand, |piece| {
                    if self.is_batch_of_keys(piece.source) {
                        read.entry(piece.source).or_default().insert((piece.from, piece.to));
                    }
                });
            }
        }
        let cover = |id: NodeId, ranges: &BTreeSet<Range>| {
            let mut end = 0;
            let joined = ranges.iter().all(|&(from, to)| std::mem::replace(&mut end, to) == from);
            joined && end == self.shape(id).batch && ranges.len() > 1
        };
        read.into_iter()
            .filter(|(id, ranges)| cover(*id, ranges))
            .map(|(id, ranges)| (id, ranges.into_iter().collect()))
            .collect()
    }

    fn is_batch_of_keys(&self, id: NodeId) -> bool {
        let node = self.node(id);
        let key = matches!(node.role(), Role::EvaluationKey(_) | Role::BootstrapKey(_));
        key && node.op().is_input() && self.lwe_shape(id).is_none() && self.shape(id).batch > 1
    }
}

/// State of the rewriting.
struct Rewriting<'g> {
    old: &'g Graph,
    graph: Graph,
    parts: HashMap<NodeId, Vec<Range>>,
    /// The inputs of the parts of a key.
    made: HashMap<NodeId, Vec<NodeId>>,
    /// The new node of each old one; of a key in parts its first part.
    same: Vec<NodeId>,
    /// Number of new nodes before each old one.
    first: Vec<u32>,
}

impl Rewriting<'_> {
    fn node(&mut self, id: NodeId) {
        self.first.push(count(self.graph.nodes.len()));
        let node = *self.old.node(id);
        let made = if let Some(ranges) = self.parts.get(&id).cloned() {
            let inputs: Vec<NodeId> = ranges.into_iter().map(|range| self.input(id, range)).collect();
            let first = inputs[0];
            self.made.insert(id, inputs);
            first
        } else if let Some(part) = self.part(id) {
            part
        } else {
            let operands: Vec<NodeId> = self.old.operands(id).iter().map(|&operand| self.whole(operand, id)).collect();
            self.push(node.op(), node.annotation(), id, &operands)
        };
        self.same.push(made);
    }

    /// The input of one part of a key.
    fn input(&mut self, id: NodeId, (from, to): Range) -> NodeId {
        let node = *self.old.node(id);
        let shape = self.graph.intern(&self.old.shape(id).with_batch(to - from));
        let made = self.graph.push(node.op(), node.annotation(), shape, node.region(), &[]);
        self.graph.nodes[made.index()].freed = node.freed;
        made
    }

    /// The part that a split of a key shows, if it is one of them.
    fn part(&self, id: NodeId) -> Option<NodeId> {
        let from = self.old.node(id).split_from()? as usize;
        let key = self.old.operands(id)[0];
        let range = (from, from + self.old.shape(id).batch);
        let at = self.parts.get(&key)?.iter().position(|&part| part == range)?;
        Some(self.made[&key][at])
    }

    /// An operand: a key that is seen as a whole is a view of its parts.
    fn whole(&mut self, operand: NodeId, reader: NodeId) -> NodeId {
        let Some(parts) = self.made.get(&operand).cloned() else { return self.same[operand.index()] };
        let region = self.old.node(reader).region();
        let made = self.graph.push(Op::Stack, Annotation::NONE, self.old.node(operand).shape(), region, &parts);
        self.graph.nodes[made.index()].freed = self.old.node(operand).freed;
        made
    }

    fn push(&mut self, op: Op, annotation: Annotation, id: NodeId, operands: &[NodeId]) -> NodeId {
        let node = self.old.node(id);
        let made = self.graph.push(op, annotation, node.shape(), node.region(), operands);
        self.graph.nodes[made.index()].freed = node.freed;
        made
    }
}
