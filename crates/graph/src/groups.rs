//! Rewrites a program of one batch as groups of it that are in flight together.
//!
//! A hardware pipeline of blind rotation takes one ciphertext of a batch after another: while one is transformed, another is
//! decomposed. A recording has one node for all of them, and the next operation waits for it. Groups of the batch are
//! independent, so that a schedule may overlap them.

use crate::{
    graph::{Graph, NodeId, count},
    op::Op,
};
use limbwise_device::Role;

impl Graph {
    /// The same program with each operation on the batch divided into `groups` equal parts, or into as many as divide it.
    /// Keys and values of a single entry are shared. Values of several batches, such as the digits of one, are divided
    /// batch by batch. A program that takes entries of a batch apart is returned unchanged. Regions and counts are
    /// unchanged; every group reads the keys.
    #[must_use]
    pub fn in_groups(&self, groups: usize) -> Self {
        let shared = self.shared_by_entries();
        let Some(batch) = self.only_batch(&shared) else { return self.clone() };
        let groups = (1..=groups.min(batch)).rev().find(|g| batch.is_multiple_of(*g)).unwrap_or(1);
        if groups == 1 {
            return self.clone();
        }
        let mut made: Vec<Vec<NodeId>> = Vec::with_capacity(self.nodes.len());
        let mut first = Vec::with_capacity(self.nodes.len() + 1);
        // The group of each new node; a shared value is dropped with the last group's.
        let mut group_of: Vec<usize> = Vec::new();
        let mut graph = Self { nodes: Vec::new(), operands: Vec::new(), ..self.clone() };
        for id in self.ids() {
            first.push(count(graph.nodes.len()));
            let copies = if shared[id.index()] { 1 } else { groups };
            let node = *self.node(id);
            let shape = match self.lwe_shape(id) {
                _ if copies == 1 => node.shape(),
                Some(lwe) => graph.intern_lwe(lwe.with_batch(lwe.batch / groups)),
                None => graph.intern(&self.shape(id).with_batch(self.entries(id) / groups)),
            };
            let mut annotation = node.annotation();
            if copies > 1 && is_split(node.op()) {
                annotation.attribute /= count(groups);
            }
            let copy = |group: usize| {
                let of = |operand: &NodeId| {
                    let parts: &Vec<NodeId> = &made[operand.index()];
                    parts[group.min(parts.len() - 1)]
                };
                let operands: Vec<NodeId> = self.operands(id).iter().map(of).collect();
                let made = graph.push(node.op(), annotation, shape, node.region(), &operands);
                graph.nodes[made.index()].freed = node.freed;
                made
            };
            group_of.extend(if copies == 1 { groups - 1..groups } else { 0..groups });
            made.push((0..copies).map(copy).collect());
        }
        first.push(count(graph.nodes.len()));
        for (node, group) in graph.nodes.iter_mut().zip(group_of) {
            let before = node.freed as usize;
            let divided = shared.get(before).is_some_and(|shared| !shared);
            node.freed = first.get(before).map_or(node.freed, |first| first + if divided { count(group) } else { 0 });
        }
        graph
    }

    /// For each value whether all entries of a batch read it: keys and their parts, and what is made of values of a single
    /// entry alone.
    fn shared_by_entries(&self) -> Vec<bool> {
        let mut shared: Vec<bool> = Vec::with_capacity(self.nodes.len());
        for id in self.ids() {
            let node = self.node(id);
            let key = matches!(node.role(), Role::EvaluationKey(_) | Role::BootstrapKey(_));
            let here = if node.op().is_input() {
                key || self.entries(id) == 1
            } else if node.op().is_view() {
                self.operands(id).iter().all(|operand| shared[operand.index()])
            } else {
                self.entries(id) == 1 && self.operands(id).iter().all(|operand| shared[operand.index()])
            };
            shared.push(here);
        }
        shared
    }

    /// The least batch of a value that is not shared; `None` if another is no multiple of it, or a view cuts through one.
    fn only_batch(&self, shared: &[bool]) -> Option<usize> {
        let divided = || self.ids().filter(|id| !shared[id.index()]);
        let batch = divided().map(|id| self.entries(id)).min()?;
        let cut = |id: NodeId| {
            let start = if is_split(self.node(id).op()) { self.node(id).attribute as usize } else { 0 };
            !start.is_multiple_of(batch) || !self.entries(id).is_multiple_of(batch)
        };
        (!divided().any(cut)).then_some(batch)
    }

    /// Entries of a value's batch.
    fn entries(&self, id: NodeId) -> usize {
        self.lwe_shape(id).map_or_else(|| self.shape(id).batch, |lwe| lwe.batch)
    }
}

fn is_split(op: Op) -> bool {
    matches!(op, Op::Split | Op::LweSplit)
}
