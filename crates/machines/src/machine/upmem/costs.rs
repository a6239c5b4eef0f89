//! What a program takes before it is put in time: its operations in groups, and what each group and each transfer costs.

use super::{
    Upmem,
    layout::{self, Layout},
    numbers::Offload,
    slots::{Demand, PRODUCT, kernel_of},
};
use crate::{
    dram::ticks,
    machine::Machine,
    program::{Stage, TaskKind},
    report::as_f64,
};
use limbwise_graph::{Basis, Graph, NodeId, Op};

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

/// Costs of a program before scheduling.
pub(super) struct Costs<'a> {
    pub(super) graph: &'a Graph,
    pub(super) model: &'a Upmem,
    pub(super) layout: Layout,
    pub(super) groups: Vec<Group>,
    /// Those of the host.
    host: Box<dyn Fn(NodeId) -> Vec<Stage> + 'a>,
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
        Self { graph, model, layout: Layout::new(graph, &model.numbers), groups, host: model.host.costs(graph) }
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
            let (dma, chunks) = (numbers.dma.cycles(pieces, pieces, 2 * bytes), model.slots.chunks(n));
            Demand { issue: 0, dma, pieces: chunks, chunks, stages: 1 }
        })
    }

    /// Ticks of so many launches.
    pub(super) fn launch_ticks(&self, launches: u64) -> u64 {
        let numbers = &self.model.numbers;
        let slots = self.model.slots.launch() * numbers.dpu.issue_every_cycles.max(numbers.dpu.tasklets);
        launches.saturating_mul(ticks(numbers.assumed.launch_ns.value * 1e3).saturating_add(self.cycles(slots)))
    }

    fn cycles(&self, cycles: u64) -> u64 {
        ticks(as_f64(cycles) * 1e6 / self.model.numbers.chip().core_mhz)
    }

    /// Ticks of a node on the host.
    pub(super) fn host_ticks(&self, id: NodeId) -> u64 {
        (self.host)(id).iter().map(|stage| stage.occupancy).fold(0, u64::saturating_add)
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
    pub(super) fn moved_bytes(&self, value: NodeId, basis: Basis) -> u64 {
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
