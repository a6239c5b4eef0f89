//! The same program one limb at a time.
//!
//! All operations but changes of basis work on each limb by itself, and a change of basis makes each of its limbs by
//! itself. A machine whose chip holds some limbs and no polynomials takes a program so: operation after operation, or
//! limb after limb through all operations between two changes of basis, so that what one of them makes is still there
//! when the next one wants it. \[MAD\] calls this O(1)-limb caching, and its re-ordering is what is done as late here as
//! the next change of basis lets it be.

use crate::{
    graph::{Graph, NEVER, Node, NodeId, RegionId, count},
    op::Op,
};
use limbwise_device::Basis;
use std::collections::HashMap;

/// Which limb of which operation comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimbOrder {
    /// All limbs of an operation, then the next operation.
    Operations,
    /// Within a key switch and what follows it: all operations between two changes of basis on a limb, then the next
    /// limb, as early as can be.
    Fused,
    /// The same, but the limbs that the next change of basis does not read come after it, together with what reads them.
    Reordered,
}

/// A limb of a value.
type Limb = (NodeId, usize);

impl Graph {
    /// This program with a node for each limb of each operation; inputs stay whole and are read limb by limb. Regions,
    /// counts and bytes are the same. A program with operations of TFHE, which have no limbs, comes back as it is.
    #[must_use]
    pub fn limb_by_limb(&self, order: LimbOrder) -> Self {
        if self.ids().any(|id| self.node(id).op().is_tfhe()) {
            return self.clone();
        }
        let graph = Self { rings: self.rings.clone(), regions: self.regions.clone(), ..Self::default() };
        let (inputs, limbs) = (HashMap::new(), HashMap::with_capacity(8 * self.nodes.len()));
        let mut splitting = Splitting { old: self, graph, inputs, joins: HashMap::new(), limbs };
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

    /// For each region whether it is in one that raises digits, with which a key switch begins.
    fn raises(&self) -> Vec<bool> {
        let mut raises = vec![false; self.regions.len()];
        for (at, region) in self.regions.iter().enumerate() {
            raises[at] = region.name == "mod_up" || (region.parent != RegionId::ROOT && raises[region.parent.index()]);
        }
        raises
    }

    /// The limbs, of nodes that are no views, that a limb of a node is made from.
    fn for_each_source(&self, (id, limb): Limb, found: &mut impl FnMut(Limb)) {
        let crosses = changes_basis(self.node(id).op());
        for &operand in self.operands(id) {
            let basis = if crosses { self.shape(operand).basis } else { Basis::single(limb) };
            basis.iter().for_each(|limb| self.look_up((operand, limb), found));
        }
    }

    /// What is behind a limb that may be one of a view.
    fn look_up(&self, (id, limb): Limb, found: &mut impl FnMut(Limb)) {
        if !self.node(id).op().is_view() {
            return found((id, limb));
        }
        let one = Basis::single(limb);
        let shown = self.operands(id).iter().filter(|o| one.is_subset(self.shape(**o).basis));
        shown.for_each(|&operand| self.look_up((operand, limb), found));
    }
}

/// Makes limbs of others.
fn changes_basis(op: Op) -> bool {
    matches!(op, Op::BasisConvert | Op::Reduce)
}

/// Changes of basis between the beginning of a segment and a limb of it: as early, or as late, as can be.
fn depths(graph: &Graph, segment: &[NodeId], order: LimbOrder) -> HashMap<Limb, u32> {
    let limbs = |id: NodeId| graph.shape(id).basis.iter().map(move |limb| (id, limb));
    let mut early: HashMap<Limb, u32> = HashMap::new();
    for item in segment.iter().flat_map(|&id| limbs(id)) {
        let mut depth = 0;
        let step = u32::from(changes_basis(graph.node(item.0).op()));
        graph.for_each_source(item, &mut |source| depth = depth.max(early.get(&source).map_or(0, |d| d + step)));
        early.insert(item, depth);
    }
    if order == LimbOrder::Fused {
        return early;
    }
    let mut late: HashMap<Limb, u32> = HashMap::new();
    for item in segment.iter().rev().flat_map(|&id| limbs(id)) {
        let depth = *late.entry(item).or_insert(early[&item]);
        let step = u32::from(changes_basis(graph.node(item.0).op()));
        graph.for_each_source(item, &mut |source| {
            if early.contains_key(&source) {
                let wanted = late.entry(source).or_insert(u32::MAX);
                *wanted = (*wanted).min(depth.saturating_sub(step));
            }
        });
    }
    late
}

/// A rewriting under way.
struct Splitting<'g> {
    old: &'g Graph,
    graph: Graph,
    /// Inputs, which stay whole.
    inputs: HashMap<NodeId, NodeId>,
    /// Operands of changes of basis.
    joins: HashMap<NodeId, NodeId>,
    /// Limbs of old values.
    limbs: HashMap<Limb, NodeId>,
}

impl Splitting<'_> {
    /// A node of the new graph, of the ring and batch of an old one.
    fn push(&mut self, op: Op, like: Node, basis: Basis, operands: &[NodeId], from: NodeId) -> NodeId {
        let shape = self.graph.intern(&self.old.shape(from).with_basis(basis));
        self.graph.push(op, (like.role, like.attribute), (shape, like.region), operands)
    }

    fn input(&mut self, id: NodeId) {
        let node = *self.old.node(id);
        let made = self.push(node.op(), node, self.old.shape(id).basis, &[], id);
        self.inputs.insert(id, made);
    }

    /// A key switch and what follows it.
    fn segment(&mut self, segment: &[NodeId], order: LimbOrder) {
        let old = self.old;
        let mut items: Vec<Limb> =
            segment.iter().flat_map(|&id| old.shape(id).basis.iter().map(move |limb| (id, limb))).collect();
        if order != LimbOrder::Operations {
            let depths = depths(old, segment, order);
            items.sort_by_key(|item| (depths[item], item.1, item.0));
        }
        for (id, limb) in items {
            let mut node = *old.node(id);
            let operands: Vec<NodeId> = if changes_basis(node.op()) {
                let operand = old.operands(id)[0];
                // The sources are scaled for the first target.
                node.attribute = u32::from(self.joins.contains_key(&id));
                let join = self.joins.get(&id).copied();
                let join = join.unwrap_or_else(|| self.join(operand));
                self.joins.insert(id, join);
                vec![join]
            } else {
                old.operands(id).iter().map(|&operand| self.limb(operand, limb)).collect()
            };
            let made = self.push(node.op(), node, Basis::single(limb), &operands, id);
            self.limbs.insert((id, limb), made);
        }
    }

    /// A limb of an old value; parts of inputs, stacks and splits are made where they are first wanted.
    fn limb(&mut self, id: NodeId, limb: usize) -> NodeId {
        if let Some(&made) = self.limbs.get(&(id, limb)) {
            return made;
        }
        let (old, node, one) = (self.old, *self.old.node(id), Basis::single(limb));
        let operands = old.operands(id);
        let made = match (node.op(), self.inputs.get(&id).copied()) {
            (_, Some(whole)) => self.push(Op::Restrict, temporary(node), one, &[whole], id),
            (Op::Stack | Op::Split, _) => {
                let operands: Vec<NodeId> = operands.iter().map(|&operand| self.limb(operand, limb)).collect();
                self.push(node.op(), node, one, &operands, id)
            }
            _ => {
                let has = |operand: &&NodeId| one.is_subset(old.shape(**operand).basis);
                let operand = *operands.iter().find(has).expect("a view shows limbs that there are");
                self.limb(operand, limb)
            }
        };
        self.limbs.insert((id, limb), made);
        made
    }

    /// All limbs of an old value as one.
    fn join(&mut self, id: NodeId) -> NodeId {
        let basis = self.old.shape(id).basis;
        let limbs: Vec<NodeId> = basis.iter().map(|limb| self.limb(id, limb)).collect();
        match limbs[..] {
            [one] => one,
            _ => self.push(Op::Join, temporary(*self.old.node(id)), basis, &limbs, id),
        }
    }

    /// Values live until their last use, results to the end.
    fn finish(mut self) -> Graph {
        let old = self.old;
        let mut results = Vec::new();
        for id in old.ids().filter(|&id| old.node(id).freed == NEVER) {
            match self.inputs.get(&id) {
                Some(&whole) => results.push(whole),
                None => results.extend(old.shape(id).basis.iter().map(|limb| self.limb(id, limb))),
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

/// A view like a node: no input, without attributes.
fn temporary(node: Node) -> Node {
    Node { role: 3, attribute: 0, ..node }
}
