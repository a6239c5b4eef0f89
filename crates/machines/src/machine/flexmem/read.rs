//! What all distributions of a program share, and what is known of one before it is tried.

use super::{
    classes::{Class, Classes, is_done},
    costs::Costs,
    numbers::{Numbers, Switch},
    work::Reader,
};
use crate::{error::MachineError, spec::Spec, words::Words};
use limbwise_graph::{Graph, NodeId, Region};
use std::collections::{HashMap, HashSet};

/// How operations on polynomials are given to chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Distribution {
    /// Chips that take part, from the first.
    pub(super) chips: u64,
    /// How many times the ticks of a transfer on its links count against its chip, besides the wait.
    pub(super) aversion: u64,
    pub(super) shapes: Shapes,
}

/// Whose shape is chosen, where the policy leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shapes {
    /// That of each operation.
    Each,
    /// One for all, or the widest that limbs of a ring have where that is narrower.
    One(u64),
}

/// What all distributions of a program share.
pub(super) struct Read<'a> {
    pub(super) spec: &'a Spec,
    pub(super) numbers: &'a Numbers,
    pub(super) graph: &'a Graph,
    pub(super) reader: Reader<'a>,
    /// Whether each node is part of a run, which all chips do alike.
    pub(super) is_run: Vec<bool>,
    /// Limbs of the largest polynomial of each ring degree.
    most_limbs: HashMap<u64, u64>,
    /// Classes where so many chips take part.
    classes: Vec<(u64, Classes)>,
}

impl<'a> Read<'a> {
    /// Reads a program that may be distributed over each of these numbers of chips.
    ///
    /// # Errors
    /// [`MachineError::Value`] where limbs or a ring do not fit the chips.
    pub(super) fn new(
        (spec, numbers): (&'a Spec, &'a Numbers),
        graph: &'a Graph,
        words: Words,
        chips: &[u64],
    ) -> Result<Self, MachineError> {
        let reader = Reader::new(graph, numbers, words);
        let is_run = is_run(graph);
        let classes = |&chips: &u64| {
            let parts = |id: NodeId| if is_run[id.index()] { numbers.system.chips } else { chips };
            (chips, Classes::new(graph, (&reader, numbers), |id| parts(id).min(reader.batch(id).max(1))))
        };
        let classes = chips.iter().map(classes).collect();
        let mut most_limbs: HashMap<u64, u64> = HashMap::new();
        for id in graph.ids() {
            let limbs = most_limbs.entry(reader.degree(id)).or_default();
            *limbs = (*limbs).max(reader.limbs(id));
        }
        let read = Self { spec, numbers, graph, reader, is_run, most_limbs, classes };
        read.fits()?;
        Ok(read)
    }

    pub(super) fn classes(&self, chips: u64) -> &Classes {
        let found = self.classes.iter().find(|(of, _)| *of == chips);
        &found.expect("a distribution is over chips that were named").1
    }

    /// Refuses rings that PEs do not divide, and values that no shape fits into the rows of a subarray.
    fn fits(&self) -> Result<(), MachineError> {
        let (site, rows) = (self.numbers.site(), self.numbers.chip.rows_per_subarray);
        let costs = Costs::new(self.numbers);
        let mut fitting = HashSet::new();
        for id in
            self.graph.ids().filter(|&id| !self.graph.node(id).op().is_view() && self.graph.lwe_shape(id).is_none())
        {
            let (n, limbs) = (self.reader.degree(id), self.reader.limbs(id));
            if !fitting.insert((n, limbs)) {
                continue;
            }
            if n < 2 * site.pes {
                let wanted = format!("at most {}: a ring of {n} coefficients has two for each PE of a pair", n / 2);
                return Err(self.spec.wrong("chip.pes", wanted, site.pes));
            }
            let tiling = self.numbers.tiling(n);
            let shapes = costs.shapes(&tiling);
            let needs = |&shape: &u64| costs.visits(&tiling, limbs, shape).iter().map(|v| v.rows).sum::<u64>();
            let least = shapes.iter().map(needs).min().unwrap_or(0);
            if least > rows {
                let tile = tiling.tile();
                let wanted = format!(
                    "{least} rows or more: {limbs} limbs of 2^{} have tiles of {tile} words in a subarray, in the best of {} shapes",
                    n.ilog2(),
                    shapes.len()
                );
                return Err(self.spec.wrong("chip.rows_per_subarray", wanted, rows));
            }
        }
        Ok(())
    }

    /// The one shape of each ring in a distribution that does not remap. Without remapping that is the widest in which all limbs
    /// of the ring's largest polynomial share a row.
    pub(super) fn fixed(&self, distribution: Distribution) -> HashMap<u64, u64> {
        let remaps = self.numbers.policy.remap == Switch::On;
        if self.numbers.poly_col().is_some() || (remaps && distribution.shapes == Shapes::Each) {
            return HashMap::new();
        }
        let costs = Costs::new(self.numbers);
        let shape = |(&n, &limbs): (&u64, &u64)| {
            let tiling = self.numbers.tiling(n);
            let one = match distribution.shapes {
                Shapes::One(shape) if remaps => shape.min(costs.sharing(&tiling, 1)),
                _ => costs.sharing(&tiling, limbs),
            };
            (n, one)
        };
        self.most_limbs.iter().map(shape).collect()
    }

    /// Ticks that a distribution takes at least: runs one after another, and all other work divided equally.
    pub(super) fn least_ticks(&self, distribution: Distribution) -> u64 {
        let (classes, fixed) = (self.classes(distribution.chips), self.fixed(distribution));
        let least = |class: &Class| {
            let fixed = fixed.get(&class.n);
            let allowed = class.costs.iter().filter(|(shape, _)| fixed.is_none_or(|one| one == shape));
            allowed.map(|(_, cost)| cost.ticks).min().unwrap_or(0)
        };
        let least: Vec<u64> = classes.known().iter().map(least).collect();
        let (mut runs, mut divided) = (0u64, 0u64);
        for id in self.graph.ids().filter(|&id| is_done(self.graph.node(id).op())) {
            let ticks = |has_more| least[classes.number(id, has_more)];
            if self.is_run[id.index()] {
                runs = runs.saturating_add(ticks(true));
                continue;
            }
            let batch = self.reader.batch(id).max(1);
            let parts = batch.min(distribution.chips);
            let more = batch % parts;
            let sum = ticks(false).saturating_mul(parts - more).saturating_add(ticks(true).saturating_mul(more));
            divided = divided.saturating_add(sum);
        }
        runs.saturating_add(divided / distribution.chips.max(1))
    }
}

/// Whether each region is a part of a bootstrapping on TFHE.
fn rotating(graph: &Graph) -> Vec<bool> {
    const RUNS: [Region; 3] = [Region::BlindRotate, Region::ExternalProduct, Region::LweKeySwitch];
    let mut inside: Vec<bool> = Vec::with_capacity(graph.regions().len());
    for region in graph.regions() {
        let around = inside.get(region.parent.index()).copied().unwrap_or(false);
        inside.push(around || RUNS.iter().any(|&run| region.is(run)));
    }
    inside
}

/// Whether each operation is part of a run, which all chips do alike.
fn is_run(graph: &Graph) -> Vec<bool> {
    let rotating = rotating(graph);
    let nodes = graph.nodes().iter();
    nodes.map(|node| node.op().is_tfhe() || rotating[node.region().index()]).collect()
}
