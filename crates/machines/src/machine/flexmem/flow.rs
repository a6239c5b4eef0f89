//! A program on chips: where each value stands and in which shape, what passes between chips, and the tasks of all that.
//!
//! Operations on polynomials go to the chip where they are done first; the entries of a batch are divided over chips. In
//! runs of TFHE all chips do the same on their share of the batch, so a run is one task an operator and chip.

use super::{
    costs::Costs,
    homes::homes,
    links::Links,
    numbers::{Numbers, Switch},
    sweep::Cost,
    transfers::first_piece,
    work::{Kind, Reader, Work},
};
use crate::{
    error::MachineError,
    program::{Edge, Program, Stage, TaskId, TaskKind},
    spec::Spec,
    words::Words,
};
use limbwise_graph::{Graph, NodeId, Op, Region};
use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

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

/// An operation in each shape that it can have.
type Costed = Rc<Vec<(u64, Cost)>>;

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
}

/// A program while it is placed.
pub(super) struct Flow<'a> {
    pub(super) numbers: &'a Numbers,
    pub(super) spec: &'a Spec,
    pub(super) graph: &'a Graph,
    pub(super) reader: Reader<'a>,
    pub(super) costs: Costs<'a>,
    pub(super) links: Links<'a>,
    pub(super) program: Program,
    pub(super) made: Vec<Option<Made>>,
    /// Parts that were copied to other chips.
    pub(super) copies: HashMap<(NodeId, usize, usize), (TaskId, u64)>,
    pub(super) free: Vec<u64>,
    pub(super) last: Vec<Option<TaskId>>,
    pub(super) known: HashMap<Work, Costed>,
    /// The one shape of a machine that does not remap, by ring degree.
    pub(super) fixed: HashMap<u64, u64>,
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

/// Whether an operation is part of a run, which all chips do alike.
fn is_run(graph: &Graph) -> impl Fn(NodeId) -> bool {
    let rotating = rotating(graph);
    move |id| graph.node(id).op().is_tfhe() || rotating[graph.node(id).region().index()]
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
    /// [`MachineError::Value`] where limbs or a ring do not fit the chips.
    pub(super) fn of(
        (spec, numbers): (&'a Spec, &'a Numbers),
        graph: &'a Graph,
        words: Words,
        distribution: Distribution,
    ) -> Result<(Program, Totals), MachineError> {
        let chips = usize::try_from(numbers.system.chips).unwrap_or(1);
        let links = Links::new(numbers);
        let mut program = Program::new(links.units(), numbers.tick_seconds(), false);
        program.widths = links.widths();
        let mut flow = Self {
            numbers,
            spec,
            graph,
            reader: Reader::new(graph, numbers, words),
            costs: Costs::new(numbers),
            links,
            program,
            made: vec![None; graph.nodes().len()],
            copies: HashMap::new(),
            free: vec![0; chips],
            last: vec![None; chips],
            known: HashMap::new(),
            fixed: HashMap::new(),
            totals: Totals::default(),
            distribution,
        };
        flow.fits()?;
        flow.settle()?;
        flow.fix_shapes();
        flow.walk();
        Ok((flow.program, flow.totals))
    }

    /// Refuses rings that PEs do not divide, and values that no shape fits into the rows of a subarray.
    fn fits(&self) -> Result<(), MachineError> {
        let (site, rows) = (self.numbers.site(), self.numbers.chip.rows_per_subarray);
        for id in
            self.graph.ids().filter(|&id| !self.graph.node(id).op().is_view() && self.graph.lwe_shape(id).is_none())
        {
            let n = self.reader.degree(id);
            if n < 2 * site.pes {
                let wanted = format!("at most {}: a ring of {n} coefficients has two for each PE of a pair", n / 2);
                return Err(self.spec.wrong("chip.pes", wanted, site.pes));
            }
            let tiling = self.numbers.tiling(n);
            let limbs = self.reader.limbs(id);
            let shapes = self.costs.shapes(&tiling);
            let needs = |&shape: &u64| self.costs.visits(&tiling, limbs, shape).iter().map(|v| v.rows).sum::<u64>();
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

    /// Without remapping: for each ring the widest shape in which all limbs of its largest polynomial share a row.
    fn fix_shapes(&mut self) {
        let remaps = self.numbers.policy.remap == Switch::On;
        if self.numbers.poly_col().is_some() || (remaps && self.distribution.shapes == Shapes::Each) {
            return;
        }
        let mut most: HashMap<u64, u64> = HashMap::new();
        for id in self.graph.ids() {
            let limbs = most.entry(self.reader.degree(id)).or_default();
            *limbs = (*limbs).max(self.reader.limbs(id));
        }
        let shape = |(n, limbs)| {
            let tiling = self.numbers.tiling(n);
            let one = match self.distribution.shapes {
                Shapes::One(shape) if remaps => shape.min(self.costs.sharing(&tiling, 1)),
                _ => self.costs.sharing(&tiling, limbs),
            };
            (n, one)
        };
        self.fixed = most.into_iter().map(shape).collect();
    }

    /// Gives keys and plaintexts that not every chip has room for a chip of their own.
    fn settle(&mut self) -> Result<(), MachineError> {
        let (graph, room) = (self.graph, self.numbers.chip_bytes());
        let is_run = is_run(graph);
        let on = |chips| homes((self.spec, graph, &self.reader), (chips, room), &is_run);
        // Chips that take no part in operations may hold keys, if those that do have no room.
        let homes = on(self.distribution.chips).or_else(|_| on(self.free.len() as u64))?;
        for &(id, chip) in &homes.moved {
            let unit = u8::try_from(chip).unwrap_or(u8::MAX);
            let task = self.program.push(id, Stage::new(TaskKind::Compute, unit, 0), []);
            self.made[id.index()] = Some(Made { parts: vec![Part { chip, task, there: 0 }], shape: ANY });
            self.totals.at_home = self.totals.at_home.saturating_add(self.reader.value_bytes(id));
        }
        self.totals.held = homes.held;
        Ok(())
    }

    fn walk(&mut self) {
        let graph = self.graph;
        let is_run = is_run(graph);
        let mut run: Vec<NodeId> = Vec::new();
        for id in graph.ids() {
            let op = graph.node(id).op();
            if op.is_view() || op.is_input() {
                continue;
            }
            if is_run(id) {
                run.push(id);
                continue;
            }
            self.run(&std::mem::take(&mut run));
            self.node(id);
        }
        self.run(&run);
    }

    /// The cost of work in each shape, and the best with the remapping of what it reads.
    fn best(&mut self, id: NodeId, work: &Work) -> (u64, Cost) {
        let costed = match self.known.get(work) {
            Some(known) => known.clone(),
            None => {
                let tiling = self.numbers.tiling(work.n);
                let shapes = self.fixed.get(&work.n).map_or_else(|| self.costs.shapes(&tiling), |&one| vec![one]);
                let all: Costed = Rc::new(shapes.into_iter().map(|s| (s, self.costs.cost(work, s))).collect());
                self.known.insert(work.clone(), all.clone());
                all
            }
        };
        let mut from: Vec<(u64, u64)> = Vec::new();
        if costed.len() > 1 {
            let entries = work.limbs / self.reader.limbs(id).max(1);
            for &operand in self.graph.operands(id) {
                let piece = first_piece(self.graph, operand);
                let made = self.made[piece.index()].as_ref().filter(|made| made.shape != ANY);
                if let (Some(made), true) = (made, self.reader.degree(piece) == work.n) {
                    let limbs = self.reader.limbs(operand).saturating_mul(entries.min(self.reader.batch(operand)));
                    from.push((made.shape, limbs));
                }
            }
        }
        let with = |&(shape, cost): &(u64, Cost)| {
            let mut all = cost;
            for &(before, limbs) in &from {
                all += self.costs.remap(work.n, limbs, [before, shape]);
            }
            (shape, all)
        };
        // Of equal costs the widest shape, which is the last.
        let choices = costed.iter().map(with).rev();
        choices.min_by_key(|(_, cost)| cost.ticks).unwrap_or((self.numbers.chip.pes, Cost::default()))
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
            let work = self.reader.work(id, to - from);
            let (best, cost) = self.best(id, &work);
            shape = best;
            if work.kind != Kind::None {
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
        self.made[id.index()] = Some(Made { parts, shape });
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
            let work = self.reader.work(id, batch.div_ceil(chips));
            let (shape, cost) = self.best(id, &work);
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
            self.made[id.index()] = Some(Made { parts: vec![], shape });
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
