//! From a graph to tasks: each node's stages on a machine, and the loads and stores that its memory needs.
//!
//! Views make no task. Inputs (also a seed's expansion: no model of an accelerator here has a generator; a machine
//! without a memory to load from grows seeds itself) are loaded where they are first read, at the limbs that are read, and stay while there is room; a node that is larger than the room streams its
//! operands in and its result out. Loads run ahead of their use as far as the prefetch buffer allows.

use crate::{
    machine::Machine,
    program::{Edge, Program, Stage, TaskId, TaskKind},
    scratchpad::{NEVER, OffChip, Scratchpad},
};
use limbwise_graph::{Graph, NodeId, Op, Piece, Role, Shape};

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

/// Makes the tasks of a program.
pub fn lower<M: Machine + ?Sized>(graph: &Graph, machine: &M) -> Program {
    let memory = machine.off_chip();
    let mut program = Program::new(machine.units().to_vec(), machine.tick_seconds(), machine.streaming());
    program.capacity = memory.map_or(0, |m| m.capacity_bytes);
    let mut lowering = Lowering {
        graph,
        program,
        made_by: vec![None; graph.nodes().len()],
        memory: memory.map(|m| Memory::new(graph, m)),
        pieces: Vec::new(),
    };
    let given = |op: Op| op.is_input() && (op != Op::ExpandSeed || memory.is_some());
    for id in graph.ids().filter(|&id| !graph.node(id).op().is_view() && !given(graph.node(id).op())) {
        lowering.node(id, machine.cost(graph, id));
    }
    lowering.finish()
}

/// A lowering under way.
struct Lowering<'a> {
    graph: &'a Graph,
    program: Program,
    /// The last task that made or loaded each value.
    made_by: Vec<Option<TaskId>>,
    memory: Option<Memory>,
    /// Operands of the node at hand.
    pieces: Vec<Piece>,
}

/// What is known about memory.
struct Memory {
    off_chip: OffChip,
    pad: Scratchpad,
    /// For each read in program order, the node of the next read of the same value.
    next_reads: std::vec::IntoIter<u32>,
    /// The node that first reads each value.
    first_reads: Vec<u32>,
    /// Values that the program keeps to its end.
    is_result: Vec<bool>,
    /// The task that stored each value off the chip.
    stored_by: Vec<Option<TaskId>>,
    /// Bytes loaded so far and, for earlier nodes, the task whose start lets go of them.
    loaded: u64,
    consumers: Vec<(u64, TaskId)>,
    gate: usize,
}

impl Memory {
    fn new(graph: &Graph, off_chip: OffChip) -> Self {
        let count = graph.nodes().len();
        let mut is_result = vec![false; count];
        for id in graph.ids().filter(|&id| graph.node(id).freed_before().is_none()) {
            graph.for_each_piece(id, |piece| {
                is_result[piece.source.index()] = !graph.node(piece.source).op().is_input();
            });
        }
        let (next_reads, first_reads) = reads(graph);
        Self {
            pad: Scratchpad::new(off_chip.capacity_bytes),
            off_chip,
            next_reads: next_reads.into_iter(),
            first_reads,
            is_result,
            stored_by: vec![None; count],
            loaded: 0,
            consumers: Vec::new(),
            gate: 0,
        }
    }

    /// The start that makes room in the prefetch buffer for the last bytes of `loaded`: that of the first operation
    /// which, with all before it, leaves no more than fits. An operation that wants more than fits waits for the last.
    fn gate(&mut self) -> Option<Edge> {
        let let_go = self.loaded.checked_sub(self.off_chip.prefetch_bytes).filter(|&bytes| bytes > 0)?;
        while self.consumers.get(self.gate + 1).is_some() && self.consumers[self.gate].0 < let_go {
            self.gate += 1;
        }
        self.consumers.get(self.gate).map(|c| Edge::Start(c.1))
    }
}

/// For each read of each node in program order, the node that reads the value next; for each value, the first that does.
fn reads(graph: &Graph) -> (Vec<u32>, Vec<u32>) {
    let (mut sources, mut ends) = (Vec::new(), Vec::new());
    for id in graph.ids() {
        if !graph.node(id).op().is_view() {
            for &operand in graph.operands(id) {
                graph.for_each_piece(operand, |piece| sources.push(piece.source));
            }
        }
        ends.push(sources.len());
    }
    let mut seen = vec![NEVER; graph.nodes().len()];
    let mut next = vec![NEVER; sources.len()];
    for (node, &end) in (0..).zip(&ends).collect::<Vec<(u32, &usize)>>().into_iter().rev() {
        let start = (node as usize).checked_sub(1).map_or(0, |before| ends[before]);
        for read in start..end {
            next[read] = seen[sources[read].index()];
        }
        for source in &sources[start..end] {
            seen[source.index()] = node;
        }
    }
    (next, seen)
}

impl Lowering<'_> {
    fn node(&mut self, id: NodeId, stages: Vec<Stage>) {
        let graph = self.graph;
        self.pieces.clear();
        for &operand in graph.operands(id) {
            graph.for_each_piece(operand, |piece| self.pieces.push(piece));
        }
        let loaded_before = self.memory.as_ref().map_or(0, |m| m.loaded);
        self.fetch(id);
        let mut edges: Vec<Edge> =
            self.pieces.iter().filter_map(|p| self.made_by[p.source.index()]).map(Edge::Output).collect();
        edges.dedup();
        let mut first = None;
        for stage in stages {
            let task = self.program.push(id, stage, edges.drain(..));
            edges.push(Edge::Output(task));
            first = first.or(Some(task));
            self.made_by[id.index()] = Some(task);
        }
        if first.is_none() {
            self.made_by[id.index()] = self.pieces.first().and_then(|p| self.made_by[p.source.index()]);
        }
        if let (Some(memory), Some(task)) = (&mut self.memory, first)
            && memory.loaded > loaded_before
        {
            memory.consumers.push((memory.loaded, task));
        }
        self.settle(id);
    }

    /// Loads what the node reads and is not there.
    fn fetch(&mut self, id: NodeId) {
        let Some(mut memory) = self.memory.take() else { return };
        let pinned: Vec<NodeId> = self.pieces.iter().map(|p| p.source).collect();
        for piece in std::mem::take(&mut self.pieces) {
            let source = piece.source;
            let shape = self.graph.shape(source);
            let wanted = if self.graph.node(source).op().is_input() { piece.basis } else { shape.basis };
            let missing = wanted - memory.pad.basis(source);
            if !missing.is_empty() {
                let missing_shape = shape.with_basis(missing);
                let fits = self.make_room(&mut memory, id, &missing_shape, &pinned);
                self.load(&mut memory, id, source, &missing_shape);
                if fits {
                    memory.pad.insert(source, missing, missing_shape.bytes(), id.0);
                }
            }
            self.pieces.push(piece);
        }
        self.memory = Some(memory);
    }

    /// Whether there is room, after others were sent away if need be.
    fn make_room(&mut self, memory: &mut Memory, id: NodeId, shape: &Shape, pinned: &[NodeId]) -> bool {
        let Some(leaving) = memory.pad.make_room(shape.bytes(), pinned, id.0) else { return false };
        for gone in leaving {
            self.store(memory, id, gone);
        }
        true
    }

    /// Lets go of what is not wanted any more and makes room for the result. An operand that the node overwrites goes
    /// before the result comes, the others go after it.
    fn settle(&mut self, id: NodeId) {
        let Some(mut memory) = self.memory.take() else { return };
        let overwritten = self.graph.operands(id).first().filter(|_| self.graph.node(id).op().is_in_place());
        let mut dead = Vec::new();
        for piece in &self.pieces {
            let next = memory.next_reads.next().unwrap_or(NEVER);
            memory.pad.set_next_use(piece.source, next);
            if next != NEVER || memory.is_result[piece.source.index()] {
                continue;
            }
            if overwritten == Some(&piece.source) {
                memory.pad.remove(piece.source, id.0);
            } else {
                dead.push(piece.source);
            }
        }
        let (first_read, is_result) = (memory.first_reads[id.index()], memory.is_result[id.index()]);
        if first_read != NEVER || is_result {
            let pinned: Vec<NodeId> = self.pieces.iter().map(|p| p.source).collect();
            let shape = self.graph.shape(id);
            if self.make_room(&mut memory, id, shape, &pinned) {
                memory.pad.insert(id, shape.basis, shape.bytes(), id.0);
                memory.pad.set_next_use(id, first_read);
            } else {
                self.store(&mut memory, id, id);
            }
        }
        for source in dead {
            memory.pad.remove(source, id.0 + 1);
        }
        self.memory = Some(memory);
    }

    fn load(&mut self, memory: &mut Memory, id: NodeId, source: NodeId, shape: &Shape) {
        memory.loaded = memory.loaded.saturating_add(shape.bytes());
        let after = memory.stored_by[source.index()].or(self.made_by[source.index()]);
        let edges = after.map(Edge::Output).into_iter().chain(memory.gate());
        let stage = transfer(&memory.off_chip, TaskKind::Load, shape);
        let task = self.program.push(id, stage, edges);
        self.made_by[source.index()] = Some(task);
        self.count(role_name(self.graph.node(source).role()), shape);
    }

    /// Stores a value that leaves; inputs and what is stored already are off the chip anyway.
    fn store(&mut self, memory: &mut Memory, id: NodeId, source: NodeId) {
        if self.graph.node(source).op().is_input() || memory.stored_by[source.index()].is_some() {
            return;
        }
        let shape = self.graph.shape(source);
        let stage = transfer(&memory.off_chip, TaskKind::Store, shape);
        let edges = self.made_by[source.index()].map(Edge::Output);
        memory.stored_by[source.index()] = Some(self.program.push(id, stage, edges));
        let kept = memory.is_result[source.index()];
        self.count(if kept { "result" } else { "temporary" }, shape);
    }

    fn count(&mut self, role: &'static str, shape: &Shape) {
        let bytes = self.program.off_chip_bytes.entry(role).or_default();
        *bytes = u64::saturating_add(*bytes, shape.bytes());
    }

    fn finish(mut self) -> Program {
        let Some(mut memory) = self.memory.take() else { return self.program };
        let end = u32::try_from(self.graph.nodes().len()).unwrap_or(NEVER);
        let (left, log) = std::mem::take(&mut memory.pad).finish(end);
        for source in left {
            if memory.is_result[source.index()] {
                self.store(&mut memory, NodeId(end - 1), source);
            }
        }
        self.program.residency = log;
        self.program
    }
}

/// The bytes of a shape on their way to or from off-chip memory, limb by limb.
fn transfer(memory: &OffChip, kind: TaskKind, shape: &Shape) -> Stage {
    let bytes = shape.bytes().div_ceil(memory.burst_bytes) * memory.burst_bytes;
    Stage {
        kind,
        unit: memory.unit,
        occupancy: ticks(crate::report::as_f64(bytes) / memory.bytes_per_tick),
        fill: memory.latency,
        parts: u32::try_from(shape.rows()).unwrap_or(u32::MAX),
        whole_input: false,
    }
}

/// Whole ticks, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive time; saturates at 2^64")]
pub(crate) fn ticks(x: f64) -> u64 {
    x.ceil() as u64
}

/// Bytes of the program's inputs that a node reads: they come from the scratchpad, all else from register files.
pub(crate) fn input_bytes(graph: &Graph, id: NodeId) -> u64 {
    let mut bytes = 0;
    for &operand in graph.operands(id) {
        graph.for_each_piece(operand, |piece| {
            if graph.node(piece.source).op().is_input() {
                bytes += graph.piece_bytes(&piece);
            }
        });
    }
    bytes
}
