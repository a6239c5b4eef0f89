//! From a graph to tasks: each node's stages on a machine, and the loads and stores that its memory needs.
//!
//! Views make no task. [`plan`] decides what is loaded, stored and sent away, and when; here its decisions become tasks
//! with edges. A seed's expansion is an input like others: it is loaded, or made on the chip at no cost where the
//! memory says so; a machine without a memory to load from grows seeds itself.

use crate::{
    error::MachineError,
    machine::Machine,
    phases::{self, Phases, Place},
    plan::{self, Action, NEVER},
    program::{Edge, Movement, Order, Program, Stage, TaskId, TaskKind},
    scratchpad::{OffChip, Rooms},
    words::{Words, for_each_read, rows, whole},
};
use limbwise_graph::{Basis, Graph, NodeId, Op, Role};

/// The name of a role in reports.
#[must_use]
pub fn role_name(role: Role) -> &'static str {
    match role {
        Role::Ciphertext => "ciphertext",
        Role::Plaintext => "plaintext",
        Role::EvaluationKey(_) => "evaluation_key",
        Role::BootstrapKey(_) => "bootstrap_key",
        _ => "temporary",
    }
}

/// A graph as a machine sees it, in whatever order it is planned.
pub struct Work<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) name: &'a str,
    pub(crate) off_chip: Option<OffChip>,
    words: Words,
    /// Bytes of a whole value of each shape.
    shape_bytes: Vec<u64>,
    /// A program without tasks.
    empty: Program,
    /// Nodes with work in program order. With serial phases, those of a key switch are in the order of its phases.
    nodes: Vec<NodeId>,
    /// Position of each node in its key switch; empty where phases overlap.
    places: Vec<Option<Place>>,
    key_switches: usize,
    stages: Vec<Stage>,
    stages_end: Vec<u32>,
    /// Operands of each node: values with rows of their own, and the limbs that are read.
    reads: Vec<(NodeId, Basis)>,
    reads_end: Vec<u32>,
    /// Bytes of the result of each node and of all values that it reads, whole.
    most_bytes: Vec<u64>,
    /// Values that the program keeps to its end.
    pub(crate) is_result: Vec<bool>,
}

impl<'a> Work<'a> {
    /// Asks the machine for the cost of each node.
    pub fn new<M: Machine + ?Sized>(graph: &'a Graph, machine: &'a M) -> Self {
        let off_chip = machine.off_chip(graph);
        let count = graph.nodes().len();
        let units: Vec<_> = machine.units().to_vec();
        let mut empty = Program::new(units, machine.tick_seconds(), machine.streaming());
        empty.widths = (0..).zip(&empty.units).map(|(unit, _)| machine.width(unit)).collect();
        (empty.pools, empty.order, empty.phases) = (machine.pools(), machine.order(), machine.phases());
        empty.capacity = off_chip.map_or(0, |m| m.capacity_bytes);
        let mut work = Self {
            graph,
            name: machine.spec().name(),
            off_chip,
            words: machine.words(),
            shape_bytes: graph.shapes().iter().map(|shape| machine.words().bytes(shape, shape.basis)).collect(),
            empty,
            nodes: Vec::with_capacity(count),
            places: Vec::new(),
            key_switches: 0,
            stages: Vec::with_capacity(count),
            stages_end: Vec::with_capacity(count),
            reads: Vec::with_capacity(2 * count),
            reads_end: Vec::with_capacity(count),
            most_bytes: Vec::with_capacity(count),
            is_result: vec![false; count],
        };
        work.read_graph(machine);
        if machine.phases() == Phases::Serial {
            let reads = |id, found: &mut dyn FnMut(NodeId)| work.reads(id).iter().for_each(|(value, _)| found(*value));
            let (places, key_switches) = phases::places(graph, &work.nodes, reads);
            (work.places, work.key_switches) = (places, key_switches);
            phases::sort(&mut work.nodes, &work.places);
        }
        work
    }

    fn read_graph<M: Machine + ?Sized>(&mut self, machine: &M) {
        let graph = self.graph;
        let costs = machine.costs(graph);
        // A node without stages only gives its operand another name.
        let mut same_as: Vec<NodeId> = graph.ids().collect();
        for id in graph.ids() {
            let op = graph.node(id).op();
            if !op.is_view() && !is_given(op, self.off_chip.is_some()) {
                let start = self.reads.len();
                let stages = costs(id);
                for &operand in graph.operands(id) {
                    for_each_read(graph, operand, |value, basis| self.reads.push((same_as[value.index()], basis)));
                }
                match self.reads.get(start) {
                    Some(&(value, _)) if stages.is_empty() => {
                        same_as[id.index()] = value;
                        self.reads.truncate(start);
                    }
                    _ => self.nodes.push(id),
                }
                self.stages.extend(stages);
            }
            let read = self.reads[self.reads_end.last().map_or(0, |&end| end as usize)..].iter();
            let whole = |value: NodeId| self.bytes(value, self.whole(value));
            let made = if op.is_view() { 0 } else { whole(id) };
            let most = read.map(|(value, _)| whole(*value)).fold(made, u64::saturating_add);
            self.most_bytes.push(most);
            self.reads_end.push(index(self.reads.len()));
            self.stages_end.push(index(self.stages.len()));
        }
        for id in graph.ids().filter(|&id| graph.node(id).freed_before().is_none()) {
            graph.for_each_piece(id, |piece| {
                let value = same_as[piece.source.index()];
                self.is_result[value.index()] = !graph.node(value).op().is_input();
            });
        }
    }

    /// Nodes with work, in the order of the program and of its phases.
    #[must_use]
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    fn stages(&self, id: NodeId) -> &[Stage] {
        &self.stages[range(&self.stages_end, id)]
    }

    pub(crate) fn reads(&self, id: NodeId) -> &[(NodeId, Basis)] {
        &self.reads[range(&self.reads_end, id)]
    }

    /// The most bytes that a node needs on the chip.
    pub(crate) fn most_bytes(&self, id: NodeId) -> u64 {
        self.most_bytes[id.index()]
    }

    /// The value that a node may overwrite: its whole first operand, if the program handed that over.
    pub(crate) fn overwrites(&self, id: NodeId, next_use: u32) -> Option<NodeId> {
        let (&(first, _), others) = self.reads(id).split_first()?;
        if !self.graph.node(id).op().is_in_place() {
            return None;
        }
        let node = self.graph.node(first);
        let alike = match [first, id].map(|value| self.graph.lwe_shape(value)) {
            [None, None] => {
                let (old, new) = (self.graph.shape(first), self.graph.shape(id));
                old.ring == new.ring && old.basis == new.basis && old.batch == new.batch
            }
            [old, new] => old == new,
        };
        let last = next_use == NEVER && !self.is_result[first.index()] && !node.op().is_input();
        (alike && last && others.iter().all(|(value, _)| *value != first)).then_some(first)
    }

    /// For each read in the order of the plan, the position of the next read of the same value; for each value, the
    /// position of the first.
    pub(crate) fn next_reads(&self, order: &[NodeId]) -> (Vec<u32>, Vec<u32>) {
        let mut seen = vec![NEVER; self.graph.nodes().len()];
        let mut next = Vec::with_capacity(self.reads.len());
        for (position, &id) in (0..index(order.len())).zip(order).rev() {
            let reads = self.reads(id);
            next.extend(reads.iter().rev().map(|(value, _)| seen[value.index()]));
            reads.iter().for_each(|(value, _)| seen[value.index()] = position);
        }
        next.reverse();
        (next, seen)
    }

    /// Bytes of some limbs of a value.
    pub(crate) fn bytes(&self, value: NodeId, basis: Basis) -> u64 {
        if basis.is_empty() {
            return 0;
        }
        if self.graph.lwe_shape(value).is_none() && basis == self.graph.shape(value).basis {
            return self.shape_bytes[self.graph.node(value).shape().0 as usize];
        }
        self.words.of_value(self.graph, value, basis)
    }

    /// All limbs of a value.
    #[must_use]
    pub fn whole(&self, value: NodeId) -> Basis {
        whole(self.graph, value)
    }

    pub(crate) fn is_input(&self, value: NodeId) -> bool {
        self.graph.node(value).op().is_input()
    }
}

/// Whether a value comes from outside.
pub(crate) fn is_given(op: Op, has_memory: bool) -> bool {
    op.is_input() && (op != Op::ExpandSeed || has_memory)
}

fn range(ends: &[u32], id: NodeId) -> std::ops::Range<usize> {
    let start = id.index().checked_sub(1).map_or(0, |before| ends[before] as usize);
    start..ends[id.index()] as usize
}

fn index(len: usize) -> u32 {
    u32::try_from(len).expect("a graph has fewer than 2^32 edges")
}

/// Makes the tasks of a program that is planned in this order.
///
/// # Errors
/// [`MachineError::NoRoom`] where an operation wants more on-chip memory than there is.
pub fn lower(work: &Work, order: &[NodeId]) -> Result<Program, MachineError> {
    let actions = plan::plan(work, order)?;
    let count = work.graph.nodes().len();
    let mut program = work.empty.clone();
    program.reserve(work.stages.len(), work.reads.len());
    let mut lowering = Lowering {
        work,
        program,
        made_by: vec![None; count],
        loaded_by: vec![NEVER; count],
        loads: Vec::new(),
        stored_by: vec![None; count],
        rooms: work.off_chip.map(|off_chip| (off_chip, Rooms::new(off_chip.capacity_bytes, count))),
        last: None,
        under_way: std::iter::repeat_with(Phase::default).take(work.key_switches).collect(),
        near: order.first().copied().unwrap_or(NodeId(0)),
        moved: [None; MOVED.len()],
        edges: Vec::new(),
    };
    for action in actions {
        lowering.action(action);
    }
    let moved = MOVED.iter().zip(lowering.moved).filter_map(|(&name, bytes)| Some((name, bytes?)));
    lowering.program.off_chip_bytes = moved.collect();
    lowering.program.residency = lowering.rooms.map(|(_, rooms)| rooms.into_log()).unwrap_or_default();
    Ok(lowering.program)
}

/// The phase of a key switch that is being lowered: its last tasks, and those of the phase before.
#[derive(Default)]
struct Phase {
    depth: u32,
    ends: Vec<TaskId>,
    before: Vec<TaskId>,
}

/// Names of what is moved, of roles and of results.
const MOVED: [&str; 6] = ["ciphertext", "plaintext", "evaluation_key", "bootstrap_key", "temporary", "result"];
const TEMPORARY: usize = 4;
const RESULT: usize = 5;

fn role_of(role: Role) -> usize {
    MOVED.iter().position(|&name| name == role_name(role)).unwrap_or(TEMPORARY)
}

/// A lowering under way.
struct Lowering<'w> {
    work: &'w Work<'w>,
    program: Program,
    /// The last task that made each value.
    made_by: Vec<Option<TaskId>>,
    /// The last load of each limb of a value that was loaded: by value, where its loads stand.
    loaded_by: Vec<u32>,
    loads: Vec<Vec<(Basis, TaskId)>>,
    /// The task that stored each value off the chip.
    stored_by: Vec<Option<TaskId>>,
    rooms: Option<(OffChip, Rooms)>,
    /// The last operation's last task, which the next one follows on a machine that takes them in order.
    last: Option<TaskId>,
    /// The phase that each key switch is in, by its number.
    under_way: Vec<Phase>,
    /// The last operation, for which stores are done.
    near: NodeId,
    /// Bytes to and from off-chip memory by [`MOVED`], where there are any loads or stores.
    moved: [Option<u64>; MOVED.len()],
    /// Edges of the task that is made.
    edges: Vec<Edge>,
}

impl Lowering<'_> {
    fn action(&mut self, action: Action) {
        match action {
            Action::Run { node, overwrites, keeps } => self.run(node, overwrites, keeps),
            Action::Load { value, basis, node } => self.load(value, basis, node),
            Action::Store { value } => self.store(value),
            Action::Leave { value } => {
                let until = self.program.next_task();
                if let Some((_, rooms)) = &mut self.rooms {
                    rooms.leave(value, until);
                }
            }
        }
    }

    fn run(&mut self, id: NodeId, overwrites: Option<NodeId>, keeps: bool) {
        let work = self.work;
        let reads = work.reads(id);
        let mut edges = std::mem::take(&mut self.edges);
        reads.iter().for_each(|&(value, basis)| self.arrival(value, basis, &mut edges));
        edges.dedup();
        let bytes = work.bytes(id, work.whole(id));
        if let Some((_, rooms)) = &mut self.rooms {
            match overwrites {
                Some(old) => edges.extend(rooms.readers(old).map(Edge::Taken)),
                None if keeps => edges.extend(rooms.take(bytes, &mut self.program)),
                None => {}
            }
        }
        if work.empty.order == Order::InOrder {
            edges.extend(self.last.map(Edge::Start));
        }
        let place = work.places.get(id.index()).copied().flatten();
        if let Some(place) = place {
            let phase = &mut self.under_way[place.number as usize];
            if place.depth > phase.depth {
                (phase.depth, phase.before) = (place.depth, std::mem::take(&mut phase.ends));
            }
            edges.extend(phase.before.iter().copied().map(Edge::End));
        }
        let first = self.program.next_task();
        for &stage in work.stages(id) {
            let task = self.program.push(id, stage, edges.drain(..));
            edges.push(Edge::Output(task));
            (self.made_by[id.index()], self.last) = (Some(task), Some(task));
        }
        edges.clear();
        self.edges = edges;
        if let Some(phase) = place.and_then(|place| self.under_way.get_mut(place.number as usize)) {
            phase.ends.extend(self.made_by[id.index()]);
        }
        self.near = id;
        let Some((_, rooms)) = &mut self.rooms else { return };
        reads.iter().for_each(|(value, _)| rooms.read(*value, first));
        match overwrites {
            Some(old) => rooms.hand_over(old, id, first),
            None if keeps => rooms.come(id, work.whole(id), bytes, first),
            None => {}
        }
    }

    /// Edges of a task that reads limbs of a value: to their loads, or to the task that made them.
    fn arrival(&self, value: NodeId, basis: Basis, edges: &mut Vec<Edge>) {
        let loads = self.loads.get(self.loaded_by[value.index()] as usize).map_or(&[][..], Vec::as_slice);
        let mut made = basis;
        for (limbs, load) in loads.iter().filter(|(limbs, _)| !(*limbs & basis).is_empty()) {
            edges.push(Edge::Output(*load));
            made = made - *limbs;
        }
        if !made.is_empty() {
            edges.extend(self.made_by[value.index()].map(Edge::Output));
        }
    }

    fn load(&mut self, value: NodeId, basis: Basis, node: NodeId) {
        let (work, graph) = (self.work, self.work.graph);
        let Some((off_chip, rooms)) = &mut self.rooms else { return };
        let bytes = work.bytes(value, basis);
        let gate = rooms.take(bytes, &mut self.program);
        let after = self.stored_by[value.index()].into_iter().chain(self.made_by[value.index()]);
        let brought = off_chip.brought(graph, value, bytes);
        let stage = off_chip.transfer(TaskKind::Load, brought, rows(graph, value, basis));
        let task = self.program.push(node, stage, after.map(Edge::Output).chain(gate));
        rooms.come(value, basis, bytes, task);
        self.program.movements.push(Movement { task, source: value, basis });
        let number = &mut self.loaded_by[value.index()];
        if *number == NEVER {
            *number = index(self.loads.len());
            self.loads.push(Vec::with_capacity(1));
        }
        let loads = &mut self.loads[*number as usize];
        loads.iter_mut().for_each(|(limbs, _)| *limbs = *limbs - basis);
        loads.retain(|(limbs, _)| !limbs.is_empty());
        loads.push((basis, task));
        self.count(role_of(graph.node(value).role()), brought);
    }

    fn store(&mut self, value: NodeId) {
        let (work, basis) = (self.work, self.work.whole(value));
        let Some((off_chip, rooms)) = &mut self.rooms else { return };
        let bytes = work.bytes(value, basis);
        let limbs = rows(work.graph, value, basis);
        let stage = off_chip.transfer(TaskKind::Store, bytes, limbs);
        let task = self.program.push(self.near, stage, self.made_by[value.index()].map(Edge::Output));
        rooms.read(value, task);
        self.program.movements.push(Movement { task, source: value, basis });
        self.stored_by[value.index()] = Some(task);
        self.count(if work.is_result[value.index()] { RESULT } else { TEMPORARY }, bytes);
    }

    fn count(&mut self, role: usize, moved: u64) {
        self.moved[role] = Some(self.moved[role].unwrap_or(0).saturating_add(moved));
    }
}
