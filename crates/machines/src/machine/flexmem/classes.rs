//! Operations by what they take: a program of millions has few that differ, so each kind is costed once, in every shape.
//!
//! Nothing here depends on where operations go, so all distributions over as many chips share it.

use super::{
    costs::Costs,
    numbers::Numbers,
    sweep::Cost,
    work::{Kind, Reader, Work},
};
use limbwise_graph::{Graph, NodeId, Op};
use std::collections::HashMap;

/// A part of an operation's batch, which one chip does.
#[derive(Debug)]
pub(super) struct Class {
    /// Coefficients of a limb.
    pub(super) n: u64,
    /// Limbs of all entries.
    pub(super) limbs: u64,
    pub(super) takes_time: bool,
    /// Its cost in each shape that it can have, the widest last.
    pub(super) costs: Vec<(u64, Cost)>,
}

/// The classes of a program's operations.
#[derive(Debug)]
pub(super) struct Classes {
    /// Of each node: the class of a part with the fewest entries, and of one that has an entry more.
    of: Vec<[u32; 2]>,
    known: Vec<Class>,
}

/// Whether an operation is done on chips: a view is not, and inputs are there.
pub(super) fn is_done(op: Op) -> bool {
    !op.is_view() && !op.is_input()
}

impl Classes {
    /// The classes of operations whose batches are divided into so many parts at most. `parts` says in how many.
    pub(super) fn new(
        graph: &Graph,
        (reader, numbers): (&Reader<'_>, &Numbers),
        parts: impl Fn(NodeId) -> u64,
    ) -> Self {
        let costs = Costs::new(numbers);
        let mut numbered: HashMap<Work, u32> = HashMap::new();
        let mut classes = Self { of: vec![[0; 2]; graph.nodes().len()], known: Vec::new() };
        for id in graph.ids().filter(|&id| is_done(graph.node(id).op())) {
            let (batch, parts) = (reader.batch(id).max(1), parts(id).max(1));
            let least = batch / parts;
            let mut class = |entries| {
                let work = reader.work(id, entries);
                *numbered.entry(work).or_insert_with_key(|work| {
                    classes.known.push(Class::of(work, numbers, &costs));
                    u32::try_from(classes.known.len() - 1).expect("fewer than 2^32 classes")
                })
            };
            let fewest = class(least);
            let most = if least * parts == batch { fewest } else { class(least + 1) };
            classes.of[id.index()] = [fewest, most];
        }
        classes
    }

    pub(super) fn known(&self) -> &[Class] {
        &self.known
    }

    /// The number of the class of a part; `has_more`: it has an entry more than others have.
    pub(super) fn number(&self, id: NodeId, has_more: bool) -> usize {
        self.of[id.index()][usize::from(has_more)] as usize
    }

    pub(super) fn class(&self, number: usize) -> &Class {
        &self.known[number]
    }
}

impl Class {
    fn of(work: &Work, numbers: &Numbers, costs: &Costs<'_>) -> Self {
        let shapes = costs.shapes(&numbers.tiling(work.n)).into_iter();
        Self {
            n: work.n,
            limbs: work.limbs,
            takes_time: work.kind != Kind::None,
            costs: shapes.map(|shape| (shape, costs.cost(work, shape))).collect(),
        }
    }
}
