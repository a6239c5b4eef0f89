//! A program on chips: where each value stands and in which shape, what passes between chips, and the tasks of all that.
//!
//! Operations on polynomials go to the chip where they are done first; the entries of a batch are divided over chips. In
//! runs of TFHE all chips do the same on their share of the batch, so a run is one task an operator and chip.

use super::{
    costs::{Cost, Costs},
    links::Links,
    numbers::{Numbers, Switch},
    work::{Kind, Reader, Work},
};
use crate::{
    error::MachineError,
    program::{Edge, Program, Stage, TaskId, TaskKind},
    spec::Spec,
    words::Words,
};
use limbwise_graph::{Basis, Graph, NodeId, Op, Piece, Region};
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
    /// The widest, for all.
    Widest,
}

/// An operation in each shape that it can have.
type Costed = Rc<Vec<(u64, Cost)>>;

/// Some entries of a value on a chip.
#[derive(Clone, Copy, Debug)]
struct Part {
    chip: usize,
    task: TaskId,
    /// When it is there, by the list that the placement makes.
    there: u64,
}

/// A value.
#[derive(Clone, Debug)]
struct Made {
    /// Parts of about equally many entries; none: divided over all chips by a run.
    parts: Vec<Part>,
    /// Its shape in rows.
    shape: u64,
}

/// A program while it is placed.
pub(super) struct Flow<'a> {
    numbers: &'a Numbers,
    spec: &'a Spec,
    graph: &'a Graph,
    reader: Reader<'a>,
    costs: Costs<'a>,
    links: Links<'a>,
    program: Program,
    made: Vec<Option<Made>>,
    /// Parts that were copied to other chips.
    copies: HashMap<(NodeId, usize, usize), (TaskId, u64)>,
    free: Vec<u64>,
    last: Vec<Option<TaskId>>,
    known: HashMap<Work, Costed>,
    /// The one shape of a machine that does not remap, by ring degree.
    fixed: HashMap<u64, u64>,
    totals: Totals,
    distribution: Distribution,
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
        let widest = self.distribution.shapes == Shapes::Widest;
        if self.numbers.poly_col().is_some() || (self.numbers.policy.remap == Switch::On && !widest) {
            return;
        }
        let mut most: HashMap<u64, u64> = HashMap::new();
        for id in self.graph.ids() {
            let limbs = most.entry(self.reader.degree(id)).or_default();
            *limbs = (*limbs).max(self.reader.limbs(id));
        }
        let alone = self.numbers.policy.remap == Switch::On;
        let shape = |(n, limbs)| (n, self.costs.sharing(&self.numbers.tiling(n), if alone { 1 } else { limbs }));
        self.fixed = most.into_iter().map(shape).collect();
    }

    fn walk(&mut self) {
        let graph = self.graph;
        let rotating = rotating(graph);
        let is_run = |id: NodeId| graph.node(id).op().is_tfhe() || rotating[graph.node(id).region().index()];
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
                if let (Some(made), true) = (&self.made[piece.index()], self.reader.degree(piece) == work.n) {
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

    /// The chip of an entry of a value.
    fn chip_of(&self, value: NodeId, entry: u64) -> Option<usize> {
        let made = self.made[value.index()].as_ref()?;
        let at = part_of(entry, self.reader.batch(value), made.parts.len());
        made.parts.get(at).map(|part| part.chip)
    }

    /// Parts of made values that entries of a node read, with their bytes.
    fn needs(&self, id: NodeId, [from, to]: [u64; 2]) -> Vec<Need> {
        let mut needs: Vec<Need> = Vec::new();
        let batch = self.reader.batch(id).max(1);
        for &operand in self.graph.operands(id) {
            let own = self.reader.batch(operand).max(1);
            let [from, to] = if own == batch { [from, to] } else { [0, own] };
            let whole = match self.graph.lwe_shape(operand) {
                Some(_) => Basis::default(),
                None => self.graph.shape(operand).basis,
            };
            trace(self.graph, operand, (whole, [from, to]), &mut |piece| {
                if let Some(made) = &self.made[piece.source.index()] {
                    self.need(made, &piece, &mut needs);
                }
            });
        }
        needs
    }

    fn need(&self, made: &Made, piece: &Piece, needs: &mut Vec<Need>) {
        let (batch, each) = (self.reader.batch(piece.source), self.reader.piece_bytes(piece));
        let [from, to] = [piece.from as u64, piece.to as u64];
        if made.parts.is_empty() {
            // Divided over all chips: all but one share comes from elsewhere.
            needs.push(Need { source: piece.source, part: None, bytes: each.saturating_mul(to - from) });
            return;
        }
        let count = made.parts.len();
        for part in part_of(from, batch, count)..=part_of(to.saturating_sub(1), batch, count) {
            let entries = (to - from).div_ceil(count as u64).max(1);
            let bytes = each.saturating_mul(entries);
            match needs.iter_mut().find(|n| n.source == piece.source && n.part == Some(part)) {
                Some(known) => known.bytes = known.bytes.saturating_add(bytes),
                None => needs.push(Need { source: piece.source, part: Some(part), bytes }),
            }
        }
    }

    /// The chip on which work is done first.
    fn earliest(&self, needs: &[Need], ticks: u64) -> usize {
        let done = |chip: usize| {
            let ready = needs.iter().map(|need| self.arrives(need, chip)).max().unwrap_or(0);
            let moved: u64 = needs.iter().map(|need| self.moves(need, chip)).fold(0, u64::saturating_add);
            let against = moved.saturating_mul(self.distribution.aversion);
            ((ready.max(self.free[chip]) + ticks).saturating_add(against), chip)
        };
        let most = usize::try_from(self.distribution.chips).unwrap_or(1);
        (0..self.free.len().min(most)).map(done).min().map_or(0, |(_, chip)| chip)
    }

    /// Ticks that links would be taken so that a part is on a chip.
    fn moves(&self, need: &Need, chip: usize) -> u64 {
        let made = self.made[need.source.index()].as_ref();
        let Some(found) = made.zip(need.part).map(|(made, part)| (made.parts[part].chip, part)) else { return 0 };
        if found.0 == chip || self.copies.contains_key(&(need.source, found.1, chip)) {
            return 0;
        }
        self.links.way([found.0, chip], need.bytes).iter().map(|stage| stage.occupancy).sum()
    }

    /// When a part would be on a chip.
    fn arrives(&self, need: &Need, chip: usize) -> u64 {
        let Some(part) = need.part else { return self.free.iter().copied().max().unwrap_or(0) };
        let Some(found) = self.made[need.source.index()].as_ref().map(|made| made.parts[part]) else { return 0 };
        if found.chip == chip {
            return found.there;
        }
        match self.copies.get(&(need.source, part, chip)) {
            Some((_, there)) => *there,
            None => self.links.arrives([found.chip, chip], found.there, need.bytes),
        }
    }

    /// Has a part on a chip: the task after which it is there.
    fn bring(&mut self, need: &Need, chip: usize) -> (TaskId, u64) {
        let made = self.made[need.source.index()].as_ref();
        let Some(part) = need.part else { return self.gather(need, chip) };
        let Some(found) = made.map(|made| made.parts[part]) else { unreachable!("a need is of a made value") };
        if found.chip == chip {
            return (found.task, found.there);
        }
        if let Some(&copied) = self.copies.get(&(need.source, part, chip)) {
            return copied;
        }
        let copied = self.send(need, [found.chip, chip], (found.task, found.there));
        self.copies.insert((need.source, part, chip), copied);
        copied
    }

    /// A value that a run divided over all chips comes to one.
    fn gather(&mut self, need: &Need, chip: usize) -> (TaskId, u64) {
        let all = usize::MAX;
        if let Some(&copied) = self.copies.get(&(need.source, all, chip)) {
            return copied;
        }
        let chips = self.free.len();
        let task = self.last[chip].unwrap_or(TaskId(0));
        let ready = self.free.iter().copied().max().unwrap_or(0);
        let elsewhere = need.bytes / chips as u64 * (chips as u64 - 1);
        let copied = match (elsewhere, chips) {
            (0, _) | (_, 1) => (task, ready),
            _ => self.send(&Need { bytes: elsewhere, ..*need }, [(chip + 1) % chips, chip], (task, ready)),
        };
        self.copies.insert((need.source, all, chip), copied);
        copied
    }

    /// Bytes pass from chip to chip, over each link of the way.
    fn send(&mut self, need: &Need, chips: [usize; 2], (mut task, mut there): (TaskId, u64)) -> (TaskId, u64) {
        self.totals.transferred = self.totals.transferred.saturating_add(need.bytes);
        for stage in self.links.way(chips, need.bytes) {
            there = self.links.take(&stage, there);
            task = self.program.push(need.source, stage, [Edge::Output(task)]);
        }
        (task, there)
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

/// A part of a value that an operation reads; no part: its share of every chip.
#[derive(Clone, Copy, Debug)]
struct Need {
    source: NodeId,
    part: Option<usize>,
    bytes: u64,
}

/// The part of an entry, if so many entries are in so many parts.
fn part_of(entry: u64, batch: u64, parts: usize) -> usize {
    let (entry, batch) = (entry.min(batch.saturating_sub(1)), batch.max(1));
    // Part p begins at entry ⌊p·batch / parts⌋.
    let found = (0..parts as u64).rev().find(|p| p * batch / parts as u64 <= entry);
    found.and_then(|p| usize::try_from(p).ok()).unwrap_or(0)
}

/// A node that made a value, through views.
fn first_piece(graph: &Graph, mut id: NodeId) -> NodeId {
    while graph.node(id).op().is_view() {
        id = graph.operands(id)[0];
    }
    id
}

/// The rows behind some limbs and entries of a value.
fn trace(graph: &Graph, id: NodeId, (basis, [from, to]): (Basis, [u64; 2]), found: &mut impl FnMut(Piece)) {
    let op = graph.node(id).op();
    if !op.is_view() {
        let [from, to] = [from, to].map(|x| usize::try_from(x).unwrap_or(0));
        return found(Piece { source: id, basis, from, to });
    }
    let mut start = 0;
    for &operand in graph.operands(id) {
        let own = graph.shape(operand).batch as u64;
        match op {
            Op::Split => {
                let offset = u64::from(graph.node(id).split_from().unwrap_or(0));
                trace(graph, operand, (basis, [from + offset, to + offset]), found);
            }
            Op::Stack => {
                let (a, b) = (from.max(start), to.min(start + own));
                if a < b {
                    trace(graph, operand, (basis, [a - start, b - start]), found);
                }
                start += own;
            }
            _ => {
                let shown = basis & graph.shape(operand).basis;
                if !shown.is_empty() {
                    trace(graph, operand, (shown, [from, to]), found);
                }
            }
        }
    }
}
