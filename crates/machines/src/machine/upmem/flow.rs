//! A program from its start to its end: what is sent, launched, done by the host and fetched, one after the other.
//!
//! The host drives everything: it sends operands, launches, waits and fetches, and a rank's memory belongs either to its
//! DPUs or to the host. So nothing overlaps, and the program's time is the sum.

use super::{
    Upmem,
    layout::{self, Layout},
    numbers::{Offload, Where},
    slots::{Demand, PRODUCT, kernel_of},
};
use crate::{
    dram::ticks,
    error::MachineError,
    lower::role_name,
    machine::Machine,
    program::{Edge, Program, Stage, TaskKind},
    report::as_f64,
};
use limbwise_graph::{Basis, Graph, NodeId, Op, Role};
use std::collections::BTreeMap;

pub(super) const DPUS: u8 = 0;
pub(super) const LINK: u8 = 1;
pub(super) const HOST: u8 = 2;
/// A picosecond.
pub(super) const TICK_SECONDS: f64 = 1e-12;

/// Operations that are done side by side.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) nodes: Vec<NodeId>,
    /// The four products of two ciphertexts.
    product: bool,
}

impl Group {
    /// One operation by itself.
    pub(super) fn alone(id: NodeId) -> Self {
        Self { nodes: vec![id], product: false }
    }
}

/// What a program takes, before it is put in time.
pub(super) struct Costs<'a> {
    pub(super) graph: &'a Graph,
    pub(super) model: &'a Upmem,
    pub(super) layout: Layout,
    pub(super) groups: Vec<Group>,
}

impl<'a> Costs<'a> {
    pub(super) fn new(graph: &'a Graph, model: &'a Upmem) -> Self {
        let ids: Vec<NodeId> = graph.ids().filter(|&id| is_work(graph.node(id).op())).collect();
        let mut groups = Vec::new();
        let mut rest = &ids[..];
        while !rest.is_empty() {
            let product = model.numbers.assumed.fused_products.value
                && model.slots.has(PRODUCT)
                && rest.get(..4).is_some_and(|four| layout::is_product(graph, four));
            let many = if product { 4 } else { layout::side_by_side(graph, rest) };
            let (nodes, others) = rest.split_at(many);
            groups.push(Group { nodes: nodes.to_vec(), product });
            rest = others;
        }
        Self { graph, model, layout: Layout::new(graph, &model.numbers), groups }
    }

    /// Whether DPUs can do a group.
    pub(super) fn on_dpus(&self, group: &Group) -> bool {
        let op = self.graph.node(group.nodes[0]).op();
        matches!(op, Op::Copy | Op::Zeros) || kernel_of(op).is_some_and(|name| self.model.slots.has(name))
    }

    /// Ticks of a group on DPUs without its launch, and how many launches it is if each launch is one operation's.
    pub(super) fn dpu_ticks(&self, group: &Group) -> (u64, u64) {
        let (model, first) = (self.model, group.nodes[0]);
        let (shape, numbers) = (self.graph.shape(first), &model.numbers);
        let demand = self.demand(group);
        let many = if group.product { 1 } else { group.nodes.len() as u64 };
        let rounds = self.layout.rounds(self.layout.residues(shape, shape.basis));
        let each = layout::cycles(&demand, many * self.layout.share(shape.batch as u64), numbers);
        let stages = if numbers.policy.offload == Offload::Stage { demand.stages } else { 1 };
        (self.cycles(each.saturating_mul(rounds)), rounds * stages)
    }

    fn demand(&self, group: &Group) -> Demand {
        let (model, first) = (self.model, group.nodes[0]);
        let n = 1u64 << self.graph.shape(first).ring.log_n();
        let name = if group.product { Some(PRODUCT) } else { kernel_of(self.graph.node(first).op()) };
        name.and_then(|name| model.slots.demand(name, n, &model.numbers)).unwrap_or_else(|| {
            // Copies and zeros: the engine alone.
            let (numbers, bytes) = (&model.numbers, n * model.numbers.word_bytes());
            let pieces = bytes.div_ceil(numbers.dma.most_bytes);
            Demand { issue: 0, dma: numbers.dma.cycles(pieces, pieces, 2 * bytes), coarse: false, stages: 1 }
        })
    }

    /// Ticks of so many launches.
    pub(super) fn launch_ticks(&self, launches: u64) -> u64 {
        let numbers = &self.model.numbers;
        let slots = self.model.slots.launch() * numbers.dpu.issue_every_cycles;
        launches.saturating_mul(ticks(numbers.assumed.launch_ns.value * 1e3).saturating_add(self.cycles(slots)))
    }

    fn cycles(&self, cycles: u64) -> u64 {
        ticks(as_f64(cycles) * 1e6 / self.model.numbers.chip().core_mhz)
    }

    /// Ticks of a node on the host.
    pub(super) fn host_ticks(&self, id: NodeId) -> u64 {
        self.model.host.cost(self.graph, id).iter().map(|stage| stage.occupancy).fold(0, u64::saturating_add)
    }

    /// Ticks in which some limbs of a value go to the DPUs or come from there. All DPUs of a rank send or receive alike, so
    /// the fullest decides.
    pub(super) fn transfer_ticks(&self, value: NodeId, basis: Basis, kind: TaskKind) -> u64 {
        let numbers = &self.model.numbers;
        if numbers.transfer.host_direct_access {
            return 0;
        }
        let (shape, link) = (self.graph.shape(value), numbers.link());
        let rounds = self.layout.rounds(self.layout.residues(shape, basis));
        let each = (self.layout.share(shape.batch as u64) * numbers.word_bytes()) << shape.ring.log_n();
        let bytes = each * rounds * numbers.system.dpus_per_rank;
        let gb_s = if kind == TaskKind::Load { link.to } else { link.from };
        ticks(as_f64(bytes) * 1e3 / gb_s + numbers.assumed.transfer_ns.value * 1e3)
    }

    /// Bytes that some limbs of a value are on their way; what all of a batch reads goes to each DPU.
    fn moved_bytes(&self, value: NodeId, basis: Basis) -> u64 {
        let shape = self.graph.shape(value);
        let shared = shape.batch == 1 && self.layout.batch > 1;
        let entries = if shared { self.layout.dpus } else { shape.batch as u64 };
        (entries * self.layout.residues(shape, basis) * self.model.numbers.word_bytes()) << shape.ring.log_n()
    }
}

/// Whether an operation takes time: views and uploads do not.
pub(super) fn is_work(op: Op) -> bool {
    !op.is_view() && op != Op::Upload
}

/// The last node of a group.
fn last(group: &Group) -> u32 {
    group.nodes.last().map_or(0, |id| id.0)
}

/// Where each value is while the program goes on.
struct Walk<'a> {
    costs: &'a Costs<'a>,
    program: Program,
    /// Limbs of each value in MRAM, and on the host.
    mram: Vec<Basis>,
    host: Vec<Basis>,
    /// When each value in MRAM was read last, by groups.
    used: BTreeMap<NodeId, usize>,
    /// Bytes on the fullest DPU.
    held: u64,
    /// Values by the node before which they are let go.
    freed: BTreeMap<u32, Vec<NodeId>>,
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
    let mut freed: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
    for id in graph.ids() {
        if let Some(NodeId(before)) = graph.node(id).freed_before() {
            freed.entry(before).or_default().push(id);
        }
    }
    let none = || BTreeMap::new();
    let flow = Flow { program: Program::default(), to_bytes: none(), from_bytes: none(), launches: 0, peak_bytes: 0 };
    let mut walk = Walk {
        costs,
        program,
        mram: vec![Basis::default(); graph.nodes().len()],
        host: vec![Basis::default(); graph.nodes().len()],
        used: BTreeMap::new(),
        held: 0,
        freed,
        launched: false,
        flow,
    };
    for id in graph.ids().filter(|&id| graph.node(id).op() == Op::Upload) {
        walk.host[id.index()] = graph.shape(id).basis;
    }
    for (at, (group, place)) in costs.groups.iter().zip(places).enumerate() {
        match place {
            Where::Host => walk.on_host(group),
            _ => walk.on_dpus(group, at)?,
        }
    }
    walk.fetch_results();
    Ok(Flow { program: walk.program, ..walk.flow })
}

impl Walk<'_> {
    fn push(&mut self, node: NodeId, kind: TaskKind, unit: u8, ticks: u64) {
        let before = self.program.ids().last().map(Edge::End);
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

    fn on_host(&mut self, group: &Group) {
        for (value, basis) in self.reads(group) {
            self.fetch(group.nodes[0], value, basis);
        }
        for &id in &group.nodes {
            self.push(id, TaskKind::Compute, HOST, self.costs.host_ticks(id));
            self.host[id.index()] = self.costs.graph.shape(id).basis;
        }
        self.let_go(last(group), &[]);
    }

    fn on_dpus(&mut self, group: &Group, at: usize) -> Result<(), MachineError> {
        let (costs, graph, first) = (self.costs, self.costs.graph, group.nodes[0]);
        let reads = self.reads(group);
        let wanted: Vec<NodeId> = reads.iter().map(|(value, _)| *value).collect();
        self.let_go(first.0, &wanted);
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
            // What was handed over is overwritten.
            let handed = self.freed.get(&id.0).filter(|_| graph.node(id).op().is_in_place()).cloned();
            handed.into_iter().flatten().for_each(|old| self.drop_value(old));
            let basis = graph.shape(id).basis;
            self.room(id, id, basis, &wanted)?;
            self.mram[id.index()] = basis;
        }
        self.let_go(last(group), &[]);
        Ok(())
    }

    /// Lets go of what the program let go of before a node, but for what that is handed to be overwritten.
    fn let_go(&mut self, before: u32, handed: &[NodeId]) {
        let later = self.freed.split_off(&(before + 1));
        let gone = std::mem::replace(&mut self.freed, later);
        for value in gone.into_values().flatten() {
            match handed.contains(&value) {
                true => self.freed.entry(before).or_default().push(value),
                false => self.drop_value(value),
            }
        }
    }

    fn drop_value(&mut self, value: NodeId) {
        let basis = std::mem::take(&mut self.mram[value.index()]);
        self.host[value.index()] = Basis::default();
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
            let basis = std::mem::take(&mut self.mram[oldest.index()]);
            self.used.remove(&oldest);
            self.held -= self.bytes(oldest, basis);
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

    /// What the program keeps comes to the host.
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
