//! Rewrites a program to process one limb at a time.
//!
//! Every operation except a change of basis works on each limb separately, and a change of basis computes each of its
//! target limbs separately. A machine whose chip holds some limbs but no whole polynomials can therefore choose between
//! two orders: operation by operation, or limb by limb through all operations between two changes of basis, which
//! reuses a limb while it is on the chip. \[MAD\] calls the second order O(1)-limb caching. Its re-ordering corresponds
//! here to delaying every operation to the next change of basis.

use crate::{
    graph::{Annotation, Graph, NEVER, Node, NodeId, RegionId, count},
    op::Op,
};
use limbwise_device::{Basis, Region};
use std::collections::HashMap;

/// Order in which limbs of operations are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimbOrder {
    /// All limbs of an operation, then the next operation.
    Operations,
    /// Within a key switch and the operations after it: all operations between two changes of basis on one limb, then
    /// the next limb, each as early as possible.
    Fused,
    /// As [`Self::Fused`], but limbs that the next change of basis does not read are delayed until after it, together
    /// with their readers.
    Reordered,
}

/// Whether the batch is split into entries too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// One node for all entries.
    Together,
    /// One node per entry.
    Apart,
}

/// A part of a value that becomes a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Limb {
    value: NodeId,
    /// Index of the prime in the ring.
    limb: usize,
    /// Batch entry; 0 if the batch is not split.
    entry: usize,
}

impl Graph {
    /// The same program with a node for each limb of each operation, and for each batch entry if wanted. Inputs stay
    /// whole and are read limb by limb. Regions, counts and bytes are unchanged. A program with operations of TFHE,
    /// which have no limbs, is returned unchanged.
    #[must_use]
    pub fn limb_by_limb(&self, order: LimbOrder, entries: Entries) -> Self {
        if self.ids().any(|id| self.node(id).op().is_tfhe()) {
            return self.clone();
        }
        let graph = Self { rings: self.rings.clone(), regions: self.regions.clone(), ..Self::default() };
        let (inputs, limbs) = (HashMap::new(), HashMap::with_capacity(8 * self.nodes.len()));
        let old = Parts { graph: self, entries };
        let mut splitting = Splitting { old, graph, inputs, joins: HashMap::new(), limbs };
        let raises = self.raises();
        let mut segment: Vec<NodeId> = Vec::new();
        let mut before = false;
        for id in self.ids().filter(|&id| !self.node(id).op().is_view()) {
            let here = raises[self.node(id).region().index()];
            if self.node(id).op().is_input() {
                splitting.input(id);
                continue;
            }
            if here && !before {
                splitting.segment(&segment, order);
                segment.clear();
            }
            before = here;
            segment.push(id);
        }
        splitting.segment(&segment, order);
        splitting.finish()
    }

    /// For each region, whether it is inside one that raises digits, the start of a key switch.
    fn raises(&self) -> Vec<bool> {
        let mut raises = vec![false; self.regions.len()];
        for (at, region) in self.regions.iter().enumerate() {
            raises[at] = region.is(Region::ModUp) || (region.parent != RegionId::ROOT && raises[region.parent.index()]);
        }
        raises
    }
}

/// The old program and the parts that its values are split into.
#[derive(Clone, Copy)]
struct Parts<'g> {
    graph: &'g Graph,
    entries: Entries,
}

impl<'g> Parts<'g> {
    fn batch(self, id: NodeId) -> usize {
        if self.entries == Entries::Apart { self.graph.shape(id).batch } else { 1 }
    }

    /// All parts of a value.
    fn of(self, id: NodeId) -> impl Iterator<Item = Limb> + use<'g> {
        let (basis, batch) = (self.graph.shape(id).basis, self.batch(id));
        basis.iter().flat_map(move |limb| (0..batch).map(move |entry| Limb { value: id, limb, entry }))
    }

    /// The corresponding part of an operand, which may have a single entry for all.
    fn operand(self, id: NodeId, limb: usize, entry: usize) -> Limb {
        Limb { value: id, limb, entry: if self.batch(id) == 1 { 0 } else { entry } }
    }

    /// The parts that a part of a node is computed from, with views resolved.
    fn for_each_source(self, part: Limb, found: &mut impl FnMut(Limb)) {
        let Limb { value: id, limb, entry } = part;
        let crosses = changes_basis(self.graph.node(id).op());
        for &operand in self.graph.operands(id) {
            let basis = if crosses { self.graph.shape(operand).basis } else { Basis::single(limb) };
            basis.iter().for_each(|limb| self.look_up(self.operand(operand, limb, entry), found));
        }
    }

    /// Resolves a part that may belong to a view.
    fn look_up(self, part: Limb, found: &mut impl FnMut(Limb)) {
        if !self.graph.node(part.value).op().is_view() {
            return found(part);
        }
        self.shown_by(part).for_each(|part| self.look_up(part, found));
    }

    /// The operands' parts that a part of a view shows: one, except for a stack whose entries are not split.
    fn shown_by(self, part: Limb) -> impl Iterator<Item = Limb> + use<'g> {
        let Limb { value: id, limb, entry } = part;
        let (one, node) = (Basis::single(limb), *self.graph.node(id));
        let mut start = 0;
        self.graph.operands(id).iter().filter_map(move |&operand| {
            let batch = self.batch(operand);
            let from = start;
            match (node.op(), self.entries) {
                (Op::Split, Entries::Apart) => {
                    Some(Limb { value: operand, limb, entry: entry + node.attribute as usize })
                }
                (Op::Stack, Entries::Apart) => {
                    start += batch;
                    (from..from + batch).contains(&entry).then(|| Limb { value: operand, limb, entry: entry - from })
                }
                _ => one.is_subset(self.graph.shape(operand).basis).then_some(Limb { value: operand, limb, entry }),
            }
        })
    }
}

/// Whether the operation computes limbs from other limbs.
fn changes_basis(op: Op) -> bool {
    matches!(op, Op::BasisConvert | Op::Reduce)
}

/// For each limb of a segment, the number of changes of basis before it: smallest or largest possible by order.
fn depths(old: Parts<'_>, segment: &[NodeId], order: LimbOrder) -> HashMap<Limb, u32> {
    let step = |part: Limb| u32::from(changes_basis(old.graph.node(part.value).op()));
    let mut early: HashMap<Limb, u32> = HashMap::new();
    for part in segment.iter().flat_map(|&id| old.of(id)) {
        let mut depth = 0;
        old.for_each_source(part, &mut |source| depth = depth.max(early.get(&source).map_or(0, |d| d + step(part))));
        early.insert(part, depth);
    }
    if order == LimbOrder::Fused {
        return early;
    }
    let mut late: HashMap<Limb, u32> = HashMap::new();
    for part in segment.iter().rev().flat_map(|&id| old.of(id)) {
        let depth = *late.entry(part).or_insert(early[&part]);
        old.for_each_source(part, &mut |source| {
            if early.contains_key(&source) {
                let wanted = late.entry(source).or_insert(u32::MAX);
                *wanted = (*wanted).min(depth.saturating_sub(step(part)));
            }
        });
    }
    late
}

/// State of the rewriting.
struct Splitting<'g> {
    old: Parts<'g>,
    graph: Graph,
    /// Inputs, which stay whole.
    inputs: HashMap<NodeId, NodeId>,
    /// Joined operands of changes of basis, by entry.
    joins: HashMap<(NodeId, usize), NodeId>,
    /// The new nodes of parts of old values.
    limbs: HashMap<Limb, NodeId>,
}

impl Splitting<'_> {
    /// Appends a node like an old one, for a part of its value.
    fn push(&mut self, op: Op, like: Node, basis: Basis, operands: &[NodeId], from: NodeId) -> NodeId {
        let shape = self.old.graph.shape(from).with_basis(basis);
        let shape = if self.old.entries == Entries::Apart { shape.with_batch(1) } else { shape };
        let shape = self.graph.intern(&shape);
        self.graph.push(op, like.annotation(), shape, like.region, operands)
    }

    fn input(&mut self, id: NodeId) {
        let node = *self.old.graph.node(id);
        let shape = self.graph.intern(self.old.graph.shape(id));
        let made = self.graph.push(node.op(), node.annotation(), shape, node.region, &[]);
        self.inputs.insert(id, made);
    }

    /// Rewrites a key switch and the operations after it.
    fn segment(&mut self, segment: &[NodeId], order: LimbOrder) {
        let old = self.old;
        let mut items: Vec<Limb> = segment.iter().flat_map(|&id| old.of(id)).collect();
        if order != LimbOrder::Operations {
            let depths = depths(old, segment, order);
            items.sort_by_key(|part| (depths[part], part.limb, part.value, part.entry));
        }
        for part in items {
            let Limb { value: id, limb, entry } = part;
            let mut node = *old.graph.node(id);
            let operands: Vec<NodeId> = if changes_basis(node.op()) {
                let before = self.joins.get(&(id, entry)).copied();
                // The sources are scaled for the first target only.
                node.attribute = u32::from(before.is_some());
                let join = before.unwrap_or_else(|| self.join(old.graph.operands(id)[0], entry));
                self.joins.insert((id, entry), join);
                vec![join]
            } else {
                let operands = old.graph.operands(id).iter();
                operands.map(|&operand| self.limb(old.operand(operand, limb, entry))).collect()
            };
            let made = self.push(node.op(), node, Basis::single(limb), &operands, id);
            self.limbs.insert(part, made);
        }
    }

    /// The new node of a part of an old value. Views of inputs, and stacks and splits of unsplit batches, are created
    /// on first use.
    fn limb(&mut self, part: Limb) -> NodeId {
        let Limb { value: id, limb, entry } = part;
        if let Some(&made) = self.limbs.get(&part) {
            return made;
        }
        let (old, node, one) = (self.old, *self.old.graph.node(id), Basis::single(limb));
        let views = matches!(node.op(), Op::Stack | Op::Split) && old.entries == Entries::Together;
        let made = match self.inputs.get(&id).copied() {
            Some(whole) => self.part_of_input(id, whole, one, entry),
            None if views => {
                let operands: Vec<NodeId> = old
                    .graph
                    .operands(id)
                    .iter()
                    .map(|&operand| self.limb(Limb { value: operand, limb, entry: 0 }))
                    .collect();
                self.push(node.op(), node, one, &operands, id)
            }
            None => {
                let shown = old.shown_by(part).next().expect("a view shows parts that there are");
                self.limb(shown)
            }
        };
        self.limbs.insert(part, made);
        made
    }

    fn part_of_input(&mut self, id: NodeId, whole: NodeId, one: Basis, entry: usize) -> NodeId {
        let (old, view) = (self.old.graph, temporary(*self.old.graph.node(id)));
        let entries = old.shape(id).batch;
        let shape = self.graph.intern(&old.shape(id).with_basis(one));
        let limb =
            self.graph.push(Op::Restrict, Annotation { role: view.role, attribute: 0 }, shape, view.region, &[whole]);
        if self.old.entries == Entries::Together || entries == 1 {
            return limb;
        }
        self.push(Op::Split, Node { attribute: count(entry), ..view }, one, &[limb], id)
    }

    /// Joins all limbs of an old value.
    fn join(&mut self, id: NodeId, entry: usize) -> NodeId {
        let basis = self.old.graph.shape(id).basis;
        let limbs: Vec<NodeId> = basis.iter().map(|limb| self.limb(self.old.operand(id, limb, entry))).collect();
        match limbs[..] {
            [one] => one,
            _ => self.push(Op::Join, temporary(*self.old.graph.node(id)), basis, &limbs, id),
        }
    }

    /// Sets lifetimes: values live until their last use, results to the end.
    fn finish(mut self) -> Graph {
        let old = self.old;
        let mut results = Vec::new();
        for id in old.graph.ids().filter(|&id| old.graph.node(id).freed == NEVER) {
            match self.inputs.get(&id) {
                Some(&whole) => results.push(whole),
                None => results.extend(old.of(id).map(|part| self.limb(part))),
            }
        }
        let last = self.graph.last_uses();
        for (at, (node, last)) in self.graph.nodes.iter_mut().zip(last).enumerate() {
            node.freed = count(last.map_or(at, NodeId::index) + 1);
        }
        for id in results {
            self.graph.nodes[id.index()].freed = NEVER;
        }
        self.graph
    }
}

/// The view of a node without role and attribute.
fn temporary(node: Node) -> Node {
    Node { role: 3, attribute: 0, ..node }
}
