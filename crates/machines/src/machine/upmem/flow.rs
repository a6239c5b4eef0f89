//! A program from its start to its end: what is sent, launched, done by the host and fetched, one after the other.
//!
//! The host drives everything: it sends operands, launches, waits and fetches, and a rank's memory belongs either to its
//! DPUs or to the host. So nothing overlaps, and the program's time is the sum.

use super::{
    costs::{Costs, Group},
    layout,
    numbers::{Offload, Where},
};
use crate::{
    error::MachineError,
    lower::role_name,
    machine::Machine,
    program::{Edge, Program, Stage, TaskId, TaskKind},
};
use limbwise_graph::{Basis, NodeId, Op, Role};
use std::collections::BTreeMap;

pub(super) const DPUS: u8 = 0;
pub(super) const LINK: u8 = 1;
pub(super) const HOST: u8 = 2;
/// A picosecond.
pub(super) const TICK_SECONDS: f64 = 1e-12;

/// The group after which each value is gone.
fn last_groups(costs: &Costs) -> Vec<usize> {
    let graph = costs.graph;
    let mut last = vec![0; graph.nodes().len()];
    for (at, group) in costs.groups.iter().enumerate() {
        for &id in &group.nodes {
            last[id.index()] = at;
            for &operand in graph.operands(id) {
                graph.for_each_piece(operand, |piece| last[piece.source.index()] = at);
            }
        }
    }
    for id in graph.ids().filter(|&id| graph.node(id).freed_before().is_none()) {
        graph.for_each_piece(id, |piece| {
            if !graph.node(piece.source).op().is_input() {
                last[piece.source.index()] = usize::MAX;
            }
        });
    }
    last
}

/// Location of each value as the program runs.
struct Walk<'a> {
    costs: &'a Costs<'a>,
    program: Program,
    /// Limbs of each value in MRAM, and on the host.
    mram: Vec<Basis>,
    host: Vec<Basis>,
    /// When each value in MRAM was read last, by groups.
    used: BTreeMap<NodeId, usize>,
    /// The group after which each value is gone: the last that reads it, through views as well, or that which makes it;
    /// never for results.
    last: Vec<usize>,
    /// Bytes on the fullest DPU.
    held: u64,
    /// Whether the last task was a launch, which the next operation may join.
    launched: bool,
    flow: Flow,
}

/// A program in time, with what reports tell of it.
pub(super) struct Flow {
    pub(super) program: Program,
    /// Bytes sent and fetched, by role.
    pub(super) to_bytes: BTreeMap<&'static str, u64>,
    pub(super) from_bytes: BTreeMap<&'static str, u64>,
    pub(super) launches: u64,
    /// Most bytes on a DPU.
    pub(super) peak_bytes: u64,
}

/// Puts a program in time, each group where it is placed.
///
/// # Errors
/// [`MachineError::NoMram`] where values do not fit.
pub(super) fn walk(costs: &Costs, places: &[Where]) -> Result<Flow, MachineError> {
    let graph = costs.graph;
    let program = Program::new(costs.model.units().to_vec(), TICK_SECONDS, false);
    let none = || BTreeMap::new();
    let flow = Flow { program: Program::default(), to_bytes: none(), from_bytes: none(), launches: 0, peak_bytes: 0 };
    let mut walk = Walk {
        costs,
        program,
        mram: vec![Basis::default(); graph.nodes().len()],
        host: vec![Basis::default(); graph.nodes().len()],
        used: BTreeMap::new(),
        last: last_groups(costs),
        held: 0,
        launched: false,
        flow,
    };
    for id in graph.ids().filter(|&id| graph.node(id).op() == Op::Upload) {
        walk.host[id.index()] = graph.shape(id).basis;
    }
    for (at, (group, place)) in costs.groups.iter().zip(places).enumerate() {
        match place {
            Where::Host => walk.on_host(group, at),
            _ => walk.on_dpus(group, at)?,
        }
    }
    walk.fetch_results();
    Ok(Flow { program: walk.program, ..walk.flow })
}

impl Walk<'_> {
    fn push(&mut self, node: NodeId, kind: TaskKind, unit: u8, ticks: u64) {
        let before = self.program.next_task().0.checked_sub(1).map(|last| Edge::End(TaskId(last)));
        self.program.push(node, Stage { whole_input: true, ..Stage::new(kind, unit, ticks) }, before);
        self.launched = unit == DPUS;
    }

    /// The values that a group reads and that it did not make.
    fn reads(&self, group: &Group) -> Vec<(NodeId, Basis)> {
        let mut reads: BTreeMap<NodeId, Basis> = BTreeMap::new();
        for &operand in group.nodes.iter().flat_map(|&id| self.costs.graph.operands(id)) {
            self.costs.graph.for_each_piece(operand, |piece| {
                if !group.nodes.contains(&piece.source) {
                    let basis = reads.entry(piece.source).or_default();
                    *basis = *basis | piece.basis;
                }
            });
        }
        reads.into_iter().collect()
    }

    fn on_host(&mut self, group: &Group, at: usize) {
        let reads = self.reads(group);
        for &(value, basis) in &reads {
            self.fetch(group.nodes[0], value, basis);
        }
        for &id in &group.nodes {
            self.push(id, TaskKind::Compute, HOST, self.costs.host_ticks(id));
            self.host[id.index()] = self.costs.graph.shape(id).basis;
        }
        reads.iter().for_each(|(value, _)| self.leave_at(*value, at));
    }

    fn on_dpus(&mut self, group: &Group, at: usize) -> Result<(), MachineError> {
        let (costs, graph, first) = (self.costs, self.costs.graph, group.nodes[0]);
        let reads = self.reads(group);
        let wanted: Vec<NodeId> = reads.iter().map(|(value, _)| *value).collect();
        for &(value, basis) in &reads {
            self.used.insert(value, at);
            self.send(first, value, basis, &wanted)?;
        }
        let joins = self.launched && costs.model.numbers.policy.offload == Offload::Operation;
        let (ticks, launches) = costs.dpu_ticks(group);
        let launches = if joins { 0 } else { launches };
        self.flow.launches += launches;
        self.push(first, TaskKind::Compute, DPUS, ticks.saturating_add(costs.launch_ticks(launches)));
        for &id in &group.nodes {
            // A dead value is overwritten.
            if graph.node(id).op().is_in_place() {
                graph.for_each_piece(graph.operands(id)[0], |piece| self.leave_at(piece.source, at));
            }
            let basis = graph.shape(id).basis;
            self.room(id, id, basis, &wanted)?;
            self.mram[id.index()] = basis;
        }
        wanted.iter().chain(&group.nodes).for_each(|&value| self.leave_at(value, at));
        Ok(())
    }

    /// Values that are dead after a group leave MRAM.
    fn leave_at(&mut self, value: NodeId, at: usize) {
        if self.last[value.index()] == at {
            self.leave(value);
        }
    }

    fn leave(&mut self, value: NodeId) {
        let basis = std::mem::take(&mut self.mram[value.index()]);
        self.used.remove(&value);
        self.held -= self.bytes(value, basis);
    }

    fn bytes(&self, value: NodeId, basis: Basis) -> u64 {
        if basis.is_empty() {
            return 0;
        }
        self.costs.layout.resident_bytes(self.costs.graph.shape(value), basis, self.costs.model.numbers.word_bytes())
    }

    /// Makes room for limbs of a value: keys and plaintexts, which the host still has, leave first, the longest unread
    /// before others.
    fn room(&mut self, node: NodeId, value: NodeId, basis: Basis, wanted: &[NodeId]) -> Result<(), MachineError> {
        let (graph, model) = (self.costs.graph, self.costs.model);
        let there = self.mram[value.index()];
        let more = self.bytes(value, there | basis) - self.bytes(value, there);
        let room = layout::room_bytes(&model.numbers, 1 << graph.shape(value).ring.log_n());
        while self.held + more > room {
            let leaves = |id: &&NodeId| {
                let role = graph.node(**id).role();
                !matches!(role, Role::Ciphertext | Role::Temporary) && !wanted.contains(id)
            };
            let Some(&oldest) = self.used.keys().filter(leaves).min_by_key(|id| self.used[*id]) else {
                return Err(self.too_much(node, self.held + more, room));
            };
            self.leave(oldest);
        }
        self.held += more;
        self.flow.peak_bytes = self.flow.peak_bytes.max(self.held);
        Ok(())
    }

    fn too_much(&self, node: NodeId, needs: u64, room: u64) -> MachineError {
        let (graph, layout, model) = (self.costs.graph, &self.costs.layout, self.costs.model);
        let shape = graph.shape(node);
        let n = 1 << shape.ring.log_n();
        let share = layout.share(layout.batch);
        MachineError::NoMram {
            machine: model.spec.name().into(),
            what: format!("{} (node {} of the program)", graph.node(node).op().name(), node.0),
            dpus: layout.dpus,
            share,
            n,
            needs,
            room,
            // Each ciphertext of the batch takes as much as the others.
            fit: (share * room / needs.max(1)) * layout.dpus,
            batch: layout.batch,
        }
    }

    fn send(&mut self, node: NodeId, value: NodeId, basis: Basis, wanted: &[NodeId]) -> Result<(), MachineError> {
        let missing = basis - self.mram[value.index()];
        if missing.is_empty() {
            return Ok(());
        }
        self.room(node, value, missing, wanted)?;
        self.mram[value.index()] = self.mram[value.index()] | missing;
        self.transfer(node, value, missing, TaskKind::Load);
        Ok(())
    }

    fn fetch(&mut self, node: NodeId, value: NodeId, basis: Basis) {
        let missing = basis - self.host[value.index()];
        if !missing.is_empty() {
            self.host[value.index()] = self.host[value.index()] | missing;
            self.transfer(node, value, missing, TaskKind::Store);
        }
    }

    fn transfer(&mut self, node: NodeId, value: NodeId, basis: Basis, kind: TaskKind) {
        let costs = self.costs;
        if costs.model.numbers.transfer.host_direct_access {
            return;
        }
        self.push(node, kind, LINK, costs.transfer_ticks(value, basis, kind));
        let role = role_name(costs.graph.node(value).role());
        let way = if kind == TaskKind::Load { &mut self.flow.to_bytes } else { &mut self.flow.from_bytes };
        *way.entry(role).or_default() += costs.moved_bytes(value, basis);
    }

    /// Results come to the host.
    fn fetch_results(&mut self) {
        let graph = self.costs.graph;
        for id in graph.ids().filter(|&id| graph.node(id).freed_before().is_none()) {
            let mut pieces = Vec::new();
            graph.for_each_piece(id, |piece| pieces.push((piece.source, piece.basis)));
            for (value, basis) in pieces {
                // An input that nobody touched is at the host already.
                if !graph.node(value).op().is_input() {
                    self.fetch(value, value, basis);
                }
            }
        }
    }
}
