//! A program on chips: where each value stands and in which shape, what passes between chips, and the tasks of all that.
//!
//! Operations on polynomials go to the chip where they are done first; the entries of a batch are divided over chips. In
//! runs of TFHE all chips do the same on their share of the batch, so a run is one task an operator and chip.

use super::{
    classes::{Class, Classes, is_done},
    costs::Costs,
    homes::homes,
    links::Links,
    numbers::{Numbers, Switch},
    sweep::Cost,
    transfers::first_piece,
    work::Reader,
};
use crate::{
    error::MachineError,
    program::{Edge, Program, Stage, TaskId, TaskKind},
    spec::Spec,
    words::Words,
};
use limbwise_graph::{Graph, NodeId, Op, Region};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a program does on all chips.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    /// Work of all chips.
    pub(super) cost: Cost,
    /// Operations that were placed one by one.
    pub(super) placed: u64,
    /// Bytes between chips.
    pub(super) transferred: u64,
    /// Bytes of keys and plaintexts that stand on one chip, and what the fullest chip holds with them.
    pub(super) at_home: u64,
    pub(super) held: u64,
    /// Bootstrappings on TFHE, how many side by side, and the ticks of their runs.
    pub(super) rotations: u64,
    pub(super) in_flight: u64,
    pub(super) run_ticks: u64,
    /// Shapes that operations took, with the ticks of each.
    pub(super) shapes: BTreeMap<u64, u64>,
}

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
    spec: &'a Spec,
    numbers: &'a Numbers,
    graph: &'a Graph,
    reader: Reader<'a>,
    /// Whether each node is part of a run, which all chips do alike.
    is_run: Vec<bool>,
    /// Limbs of the largest polynomial of each ring degree.
    most_limbs: HashMap<u64, u64>,
    /// Classes where so many chips take part.
    classes: Vec<(u64, Classes)>,
}

impl<'a> Read<'a> {
    /// Reads a program that is distributed over so many chips, or so many.
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

    fn classes(&self, chips: u64) -> &Classes {
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

/// Some entries of a value on a chip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) chip: usize,
    pub(super) task: TaskId,
    /// When it is there, by the list that the placement makes.
    pub(super) there: u64,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// Parts of about equally many entries; none: divided over all chips by a run.
    pub(super) parts: Vec<Part>,
    /// Its shape in rows.
    pub(super) shape: u64,
    /// Parts that were copied to other chips; no part: all of them, of a value that a run divided.
    pub(super) copies: Vec<(Option<usize>, Part)>,
}

impl Made {
    fn new(parts: Vec<Part>, shape: u64) -> Self {
        Self { parts, shape, copies: Vec::new() }
    }
}

/// Limbs that were made in a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct InShape {
    shape: u64,
    limbs: u64,
}

/// A program while it is placed.
pub(super) struct Flow<'a> {
    read: &'a Read<'a>,
    pub(super) graph: &'a Graph,
    pub(super) reader: &'a Reader<'a>,
    classes: &'a Classes,
    costs: Costs<'a>,
    pub(super) links: Links<'a>,
    pub(super) program: Program,
    pub(super) made: Vec<Option<Made>>,
    pub(super) free: Vec<u64>,
    pub(super) last: Vec<Option<TaskId>>,
    /// The one shape of a machine that does not remap, by ring degree.
    fixed: HashMap<u64, u64>,
    /// By class: the best shape for what was read in each shape.
    best: Vec<HashMap<Box<[InShape]>, (u64, Cost)>>,
    /// What the operation reads that is looked at.
    from: Vec<InShape>,
    pub(super) totals: Totals,
    pub(super) distribution: Distribution,
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

/// The shape of a value that comes in whatever shape is wanted.
const ANY: u64 = 0;

/// Names of regions whose operations are one task of a run.
fn operator(graph: &Graph, id: NodeId) -> u32 {
    graph.node(id).region().0
}

impl<'a> Flow<'a> {
    /// Places a program.
    ///
    /// # Errors
    /// [`MachineError::Value`] where keys have no room.
    pub(super) fn of(read: &'a Read<'a>, distribution: Distribution) -> Result<(Program, Totals), MachineError> {
        let (numbers, graph) = (read.numbers, read.graph);
        let chips = usize::try_from(numbers.system.chips).unwrap_or(1);
        let links = Links::new(numbers);
        let mut program = Program::new(links.units(), numbers.tick_seconds(), false);
        program.widths = links.widths().to_vec();
        let classes = read.classes(distribution.chips);
        let mut flow = Self {
            read,
            graph,
            reader: &read.reader,
            classes,
            costs: Costs::new(numbers),
            links,
            program,
            made: vec![None; graph.nodes().len()],
            free: vec![0; chips],
            last: vec![None; chips],
            fixed: read.fixed(distribution),
            best: std::iter::repeat_with(HashMap::new).take(classes.known().len()).collect(),
            from: Vec::new(),
            totals: Totals::default(),
            distribution,
        };
        flow.settle()?;
        flow.walk();
        Ok((flow.program, flow.totals))
    }

    /// Gives keys and plaintexts that not every chip has room for a chip of their own.
    fn settle(&mut self) -> Result<(), MachineError> {
        let (graph, room) = (self.graph, self.read.numbers.chip_bytes());
        let on = |chips| homes((self.read.spec, graph, self.reader), (chips, room), |id| self.is_run(id));
        // Chips that take no part in operations may hold keys, if those that do have no room.
        let homes = on(self.distribution.chips).or_else(|_| on(self.free.len() as u64))?;
        for &(id, chip) in &homes.moved {
            let unit = u8::try_from(chip).unwrap_or(u8::MAX);
            let task = self.program.push(id, Stage::new(TaskKind::Compute, unit, 0), []);
            self.made[id.index()] = Some(Made::new(vec![Part { chip, task, there: 0 }], ANY));
            self.totals.at_home = self.totals.at_home.saturating_add(self.reader.value_bytes(id));
        }
        self.totals.held = homes.held;
        Ok(())
    }

    fn is_run(&self, id: NodeId) -> bool {
        self.read.is_run[id.index()]
    }

    fn walk(&mut self) {
        let graph = self.graph;
        let mut run: Vec<NodeId> = Vec::new();
        for id in graph.ids() {
            if !is_done(graph.node(id).op()) {
                continue;
            }
            if self.is_run(id) {
                run.push(id);
                continue;
            }
            self.run(&std::mem::take(&mut run));
            self.node(id);
        }
        self.run(&run);
    }

    /// The best shape for a part of an operation, and its cost with the remapping of what it reads.
    fn best(&mut self, id: NodeId, number: usize) -> (u64, Cost) {
        let class = self.classes.class(number);
        let fixed = self.fixed.get(&class.n).copied();
        let mut from = std::mem::take(&mut self.from);
        from.clear();
        if class.costs.len() > 1 && fixed.is_none() {
            let entries = class.limbs / self.reader.limbs(id).max(1);
            for &operand in self.graph.operands(id) {
                let piece = first_piece(self.graph, operand);
                let made = self.made[piece.index()].as_ref().filter(|made| made.shape != ANY);
                if let (Some(made), true) = (made, self.reader.degree(piece) == class.n) {
                    let limbs = self.reader.limbs(operand).saturating_mul(entries.min(self.reader.batch(operand)));
                    from.push(InShape { shape: made.shape, limbs });
                }
            }
        }
        let found = match self.best[number].get(&from[..]) {
            Some(&known) => known,
            None => {
                let with = |&(shape, cost): &(u64, Cost)| {
                    let mut all = cost;
                    for before in &from {
                        all += self.costs.remap(class.n, before.limbs, [before.shape, shape]);
                    }
                    (shape, all)
                };
                // Of equal costs the widest shape, which is the last.
                let choices = class.costs.iter().filter(|(shape, _)| fixed.is_none_or(|one| one == *shape));
                let found = choices.map(with).rev().min_by_key(|(_, cost)| cost.ticks);
                let found = found.unwrap_or((self.read.numbers.chip.pes, Cost::default()));
                self.best[number].insert(from.clone().into(), found);
                found
            }
        };
        self.from = from;
        found
    }

    fn count(&mut self, shape: u64, cost: Cost) {
        self.totals.cost += cost;
        *self.totals.shapes.entry(shape).or_default() += cost.ticks;
    }

    /// An operation on polynomials: each part of its batch on the chip where it is done first.
    fn node(&mut self, id: NodeId) {
        let (batch, chips) = (self.reader.batch(id).max(1), self.distribution.chips);
        let count = batch.min(chips);
        let mut parts = Vec::with_capacity(usize::try_from(count).unwrap_or(1));
        let mut shape = 0;
        for part in 0..count {
            let [from, to] = [part * batch / count, (part + 1) * batch / count];
            let number = self.classes.number(id, to - from > batch / count);
            let (best, cost) = self.best(id, number);
            shape = best;
            if self.classes.class(number).takes_time {
                self.count(best, cost);
            }
            let needs = self.needs(id, [from, to]);
            let kept = self.reader.work_stays_with(id);
            let chip =
                kept.and_then(|sum| self.chip_of(sum, from)).unwrap_or_else(|| self.earliest(&needs, cost.ticks));
            let mut edges = Vec::with_capacity(needs.len());
            let mut ready = 0;
            for need in &needs {
                let (task, there) = self.bring(need, chip);
                edges.push(Edge::Output(task));
                ready = ready.max(there);
            }
            edges.dedup();
            let unit = u8::try_from(chip).unwrap_or(u8::MAX);
            let task = self.program.push(id, Stage::new(TaskKind::Compute, unit, cost.ticks), edges);
            let end = ready.max(self.free[chip]) + cost.ticks;
            self.free[chip] = end;
            self.last[chip] = Some(task);
            parts.push(Part { chip, task, there: end });
        }
        self.totals.placed += 1;
        self.made[id.index()] = Some(Made::new(parts, shape));
    }

    /// Operations of TFHE, one after another, on all chips alike.
    fn run(&mut self, nodes: &[NodeId]) {
        if nodes.is_empty() {
            return;
        }
        let chips = self.free.len() as u64;
        let mut operators: Vec<(u32, NodeId, u64)> = Vec::new();
        let mut at: HashMap<u32, usize> = HashMap::new();
        let mut most = 1;
        for &id in nodes {
            let batch = self.reader.batch(id).max(1);
            // The chip with the most entries holds up the others.
            let (shape, cost) = self.best(id, self.classes.number(id, true));
            self.count(shape, cost.times(batch.min(chips)));
            if self.graph.node(id).op() == Op::SampleExtract {
                self.totals.rotations += batch;
            }
            if self.graph.node(id).op() == Op::MonomialMul {
                most = most.max(batch);
            }
            let operator = operator(self.graph, id);
            let next = operators.len();
            let number = *at.entry(operator).or_insert(next);
            if number == next {
                operators.push((operator, id, 0));
            }
            operators[number].2 += cost.ticks;
            self.made[id.index()] = Some(Made::new(vec![], shape));
        }
        self.totals.in_flight = self.totals.in_flight.max(most);
        let start = self.barrier();
        let mut end = start;
        for (_, id, ticks) in operators {
            end += ticks;
            self.totals.run_ticks += ticks;
            for chip in 0..self.free.len() {
                let unit = u8::try_from(chip).unwrap_or(u8::MAX);
                let edges = self.last[chip].map(Edge::End);
                let task = self.program.push(id, Stage::new(TaskKind::Compute, unit, ticks), edges);
                self.last[chip] = Some(task);
            }
        }
        self.free.fill(end);
    }

    /// All chips wait for each other: a run begins when all that was before is done.
    fn barrier(&mut self) -> u64 {
        let ends: Vec<Edge> = self.last.iter().flatten().map(|&task| Edge::End(task)).collect();
        let first = self.last.iter().flatten().map(|task| task.0).min();
        if let (Some(first), true) = (first, ends.len() > 1) {
            let node = self.program.tasks[first as usize].node;
            for chip in 0..self.free.len() {
                let unit = u8::try_from(chip).unwrap_or(u8::MAX);
                let task = self.program.push(node, Stage::new(TaskKind::Compute, unit, 0), ends.iter().copied());
                self.last[chip] = Some(task);
            }
        }
        self.free.iter().copied().max().unwrap_or(0)
    }
}
