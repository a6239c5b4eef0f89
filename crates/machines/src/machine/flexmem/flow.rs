//! A program on chips: where each value stands and in which shape, what passes between chips, and the tasks of all that.
//!
//! Operations on polynomials go to the chip where they are done first; the entries of a batch are divided over chips. In
//! runs of TFHE all chips do the same on their share of the batch, so a run is one task an operator and chip.

use super::{
    classes::{Classes, is_done},
    costs::Costs,
    homes::homes,
    links::Links,
    read::{Distribution, Read},
    sweep::Cost,
    transfers::first_piece,
    work::Reader,
};
use crate::{
    error::MachineError,
    program::{Edge, Program, Stage, TaskId, TaskKind},
};
use limbwise_graph::{Graph, NodeId, Op};
use std::collections::{BTreeMap, HashMap};

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

/// The best shape of a class and its cost, by what is read in which shape.
type Best = HashMap<Box<[InShape]>, (u64, Cost)>;

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
    /// Of each class.
    best: Vec<Best>,
    /// What the operation reads that is looked at.
    from: Vec<InShape>,
    pub(super) totals: Totals,
    pub(super) distribution: Distribution,
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
