//! ARK: four clusters of vector units round a scratchpad, one HBM. Source: \[ARK\].
//!
//! A unit here is all units of a kind, one in each cluster, working on one node together: limb-wise (each cluster takes
//! whole limbs) for all but base conversion, which is coefficient-wise (each takes a quarter of the coefficients); the
//! network redistributes between the two. Under the policy "limb-wise", conversions move nothing and products with keys
//! are summed across clusters instead.

mod numbers;

use self::numbers::{Distribution, HbmModel, Numbers};
use super::Machine;
use crate::{
    dram::{Dram, Stream, ticks},
    error::MachineError,
    phases::Phases,
    program::{Order, Pool, Stage, TaskKind},
    report::{Report, as_f64, input_reads},
    scheduler::Schedule,
    scratchpad::OffChip,
    spec::{Assumed, Spec},
    words::Words,
};
use limbwise_graph::{Basis, Graph, NodeId, Op, Role, Shape};
use std::collections::BTreeMap;

const UNITS: [&str; 6] = ["nttu", "bconvu", "madu", "autou", "noc", "hbm"];
const NTTU: u8 = 0;
const BCONVU: u8 = 1;
const MADU: u8 = 2;
const AUTOU: u8 = 3;
const NOC: u8 = 4;
const HBM: u8 = 5;

/// The model.
pub(super) struct Ark {
    spec: Spec,
    numbers: Numbers,
    pools: Vec<Pool>,
}

impl Ark {
    /// The model of a specification.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model, or the prefetch buffer fills the scratchpad.
    pub(super) fn new(spec: &Spec) -> Result<Self, MachineError> {
        let numbers: Numbers = spec.read()?;
        let (prefetch, capacity) = (numbers.assumed.prefetch_mb.value, numbers.memory.scratchpad.capacity_mb);
        if prefetch >= capacity {
            let wanted = format!("less than memory.scratchpad.capacity_mb = {capacity}");
            return Err(spec.wrong("assumed.prefetch_mb", wanted, prefetch));
        }
        let mut ark = Self { spec: spec.clone(), numbers, pools: Vec::new() };
        ark.pools = ark.bandwidths();
        Ok(ark)
    }

    /// Bandwidth pools. The share of off-chip data in the scratchpad's one port is set apart: otherwise a stage at the port's
    /// full rate would wait for the end of all loads (ADR 47).
    fn bandwidths(&self) -> Vec<Pool> {
        let clusters = as_f64(self.numbers.chip.clusters);
        let memory = &self.numbers.memory;
        let pool = |name, gb_s: f64| Pool { name, per_tick: ticks(self.per_cycle(gb_s)) };
        let port = memory.scratchpad.bandwidth_gb_s_per_cluster * clusters - self.off_chip_gb_s();
        let files = memory.register_files.bandwidth_gb_s_per_cluster * clusters;
        vec![pool("scratchpad", port), pool("register_files", files)]
    }

    /// Bytes a cycle of a bandwidth in 10⁹ bytes a second.
    fn per_cycle(&self, gb_s: f64) -> f64 {
        gb_s * 1e3 / self.numbers.assumed.core_mhz.value
    }

    /// The rate of off-chip data: half of the scratchpad's port at most.
    fn off_chip_gb_s(&self) -> f64 {
        let port = self.numbers.memory.scratchpad.bandwidth_gb_s_per_cluster * as_f64(self.numbers.chip.clusters);
        self.numbers.memory.hbm.bandwidth_gb_s.min(port / 2.0)
    }

    /// Off-chip memory: by its peak alone, or as channels of banks.
    fn stream(&self) -> Stream {
        let (assumed, bytes_per_tick) = (&self.numbers.assumed, self.per_cycle(self.off_chip_gb_s()));
        let burst_bytes = assumed.hbm_burst_bytes.value;
        let cycles = |ns: &Assumed<f64>| ns.value * assumed.core_mhz.value / 1e3;
        match self.numbers.memory.hbm.model {
            HbmModel::Bandwidth => {
                let latency = ticks(
                    cycles(&assumed.hbm_transport_ns) + cycles(&assumed.hbm_trcd_ns) + cycles(&assumed.hbm_tcl_ns),
                );
                Stream::Bandwidth { bytes_per_tick, latency, burst_bytes }
            }
            HbmModel::Banks => Stream::Dram(Dram {
                channels: assumed.hbm_channels.value,
                banks: assumed.hbm_banks.value,
                row_bytes: assumed.hbm_row_bytes.value,
                burst_bytes,
                bytes_per_tick,
                transport: cycles(&assumed.hbm_transport_ns),
                t_rcd: cycles(&assumed.hbm_trcd_ns),
                t_cl: cycles(&assumed.hbm_tcl_ns),
                t_rp: cycles(&assumed.hbm_trp_ns),
                t_ras: cycles(&assumed.hbm_tras_ns),
                t_refi: cycles(&assumed.hbm_trefi_ns),
                t_rfc: cycles(&assumed.hbm_trfc_ns),
                refresh: assumed.hbm_refresh.value,
                turnaround: cycles(&assumed.hbm_turnaround_ns),
            }),
        }
    }

    /// Twisting factors of all primes of the largest ring, for both directions.
    fn twist_bytes(&self, graph: &Graph) -> u64 {
        let both = |shape: &Shape| 2 * self.bytes(&shape.with_batch(1), shape.ring.full());
        graph.shapes().iter().map(both).max().unwrap_or(0)
    }

    /// A stage that takes limbs, each cluster one at a time, at so many vectors a cycle. Of the last round no more
    /// clusters are taken than it needs.
    fn limb_wise(&self, unit: u8, limbs: u64, n: u64, vectors: u64) -> Stage {
        let rounds = limbs.div_ceil(self.numbers.chip.clusters);
        let occupancy = rounds * n.div_ceil(self.numbers.chip.lanes * vectors);
        let width = limbs.div_ceil(rounds.max(1));
        Stage { width, parts: parts(rounds), ..Stage::new(TaskKind::Compute, unit, occupancy) }
    }

    /// The stage with the bytes that pass through the scratchpad's port and the register files: operands of `id`, its result, and
    /// `tables` from the scratchpad.
    fn with_onchip_traffic(&self, graph: &Graph, id: NodeId, stage: Stage, tables: u64) -> Stage {
        let mut port = tables;
        let mut registers = self.bytes(graph.shape(id), graph.shape(id).basis);
        if !self.stays_in_registers(graph, id, graph.node(id).freed_before()) {
            port += registers;
        }
        for &operand in graph.operands(id) {
            graph.for_each_piece(operand, |piece| {
                let bytes = self.bytes(graph.shape(piece.source), piece.basis);
                let near = !graph.node(piece.source).op().is_input();
                if near && self.stays_in_registers(graph, piece.source, Some(id)) {
                    registers += bytes;
                } else {
                    port += bytes;
                }
            });
        }
        stage.drawing(&self.pools, &[port, registers])
    }

    /// Whether a value is still in the register files at another node: they hold what was made last.
    fn stays_in_registers(&self, graph: &Graph, value: NodeId, until: Option<NodeId>) -> bool {
        let Some(until) = until else { return false };
        let mut room = self.numbers.assumed.register_files_mb.value * MB;
        // A result in place of an operand takes no room of its own, and inputs come to the scratchpad.
        let takes_room = |op: Op| !op.is_view() && !op.is_in_place() && !op.is_input();
        (value.0..until.0).map(NodeId).filter(|&id| takes_room(graph.node(id).op())).all(|id| {
            let bytes = self.bytes(graph.shape(id), graph.shape(id).basis);
            let stays = bytes <= room;
            room = room.saturating_sub(bytes);
            stays
        })
    }

    fn bytes(&self, shape: &Shape, basis: Basis) -> u64 {
        self.words().bytes(shape, basis)
    }

    fn limbs(&self, shape: &Shape) -> u64 {
        self.words().limbs(shape, shape.basis)
    }

    /// All clusters exchange the words of so many limbs.
    fn redistribute(&self, limbs: u64, n: u64) -> Stage {
        let bytes = limbs * n * self.numbers.chip.word_bytes;
        let bandwidth = self.numbers.noc.bandwidth_gb_s_per_cluster * as_f64(self.numbers.chip.clusters);
        let occupancy = ticks(as_f64(bytes) / self.per_cycle(bandwidth));
        let fill = self.numbers.assumed.noc_fill_cycles.value;
        let stage = Stage { fill, parts: parts(limbs), ..Stage::new(TaskKind::Redistribute, NOC, occupancy) };
        stage.drawing(&self.pools, &[0, 2 * bytes])
    }

    /// Step 2 of base conversions: blocks of as many targets as a lane has units, all sources of a coefficient at once.
    fn convert(&self, batch: u64, sources: u64, targets: u64, n: u64) -> Stage {
        let blocks = batch * targets.div_ceil(self.numbers.bconvu.macs_per_lane);
        let vectors = n.div_ceil(self.numbers.chip.clusters * self.numbers.chip.lanes);
        let stage = Stage {
            fill: self.numbers.assumed.bconv_fill_cycles.value,
            parts: parts(blocks),
            whole_input: true,
            ..Stage::new(TaskKind::Compute, BCONVU, blocks * sources * vectors)
        };
        // A block takes all sources once.
        let words = (blocks * sources + batch * targets) * n;
        stage.drawing(&self.pools, &[0, words * self.numbers.chip.word_bytes])
    }

    fn base_conversion(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let (from, to) = (graph.shape(graph.operands(id)[0]), graph.shape(id));
        let (batch, n) = (from.batch as u64, from.ring.n() as u64);
        let (sources, targets) = (self.limbs(from) / batch, self.limbs(to) / batch);
        let mut after_intt = self.numbers.assumed.scale_with_intt.value;
        graph.for_each_piece(graph.operands(id)[0], |p| after_intt &= graph.node(p.source).op() == Op::Intt);
        let mut stages = Vec::with_capacity(4);
        if !after_intt {
            let words = batch * sources * n * self.numbers.chip.word_bytes;
            let scaling = self.multiply_add(batch * sources, n);
            stages.push(scaling.drawing(&self.pools, &[0, 2 * words]));
        }
        let moves = self.numbers.policy.distribution == Distribution::Alternating && self.numbers.chip.clusters > 1;
        if moves {
            stages.push(self.redistribute(batch * sources, n));
        }
        stages.push(self.convert(batch, sources, targets, n));
        if moves {
            stages.push(self.redistribute(batch * targets, n));
        }
        stages
    }

    fn multiply_add(&self, limbs: u64, n: u64) -> Stage {
        let fill = self.numbers.assumed.mad_fill_cycles.value;
        Stage { fill, ..self.limb_wise(MADU, limbs, n, self.numbers.madu.units_per_cluster) }
    }

    /// Whether a node only scales the difference that was made for it, which is then one multiply-add.
    fn is_fused_scaling(&self, graph: &Graph, id: NodeId) -> bool {
        let operand = graph.operands(id)[0];
        self.numbers.assumed.fuse_subtract_scale.value
            && matches!(graph.node(operand).op(), Op::Sub | Op::Add)
            && graph.node(operand).freed_before() == Some(id)
    }

    fn element_wise(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let shape = graph.shape(id);
        let (limbs, n) = (self.limbs(shape), shape.ring.n() as u64);
        let stage = self.with_onchip_traffic(graph, id, self.multiply_add(limbs, n), 0);
        let with_key = graph.operands(id).iter().any(|&operand| {
            let mut key = false;
            graph.for_each_piece(operand, |p| {
                key |= matches!(graph.node(p.source).role(), Role::EvaluationKey(_));
            });
            key
        });
        let limb_wise = self.numbers.policy.distribution == Distribution::LimbWise;
        let summed_across = with_key && limb_wise && self.numbers.chip.clusters > 1;
        if summed_across { vec![stage, self.redistribute(limbs, n)] } else { vec![stage] }
    }

    /// A table of area or power: units that each cluster has grow with the number of clusters.
    fn of_this_chip(&self, table: &BTreeMap<String, f64>, unit_of_measure: &str) -> BTreeMap<String, f64> {
        let grown = as_f64(self.numbers.chip.clusters) / as_f64(self.numbers.assumed.reference_clusters.value);
        let entry = |(key, x): (&String, &f64)| {
            let part = key.trim_end_matches(unit_of_measure).trim_end_matches('_').to_owned();
            let fixed = matches!(part.as_str(), "scratchpad" | "noc" | "hbm");
            (part, if fixed { *x } else { x * grown })
        };
        table.iter().map(entry).collect()
    }
}

const MB: u64 = 1_000_000;

fn parts(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Machine for Ark {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn units(&self) -> &[&'static str] {
        &UNITS
    }

    fn tick_seconds(&self) -> f64 {
        1e-6 / self.numbers.assumed.core_mhz.value
    }

    fn streaming(&self) -> bool {
        self.numbers.assumed.streaming.value
    }

    fn width(&self, unit: u8) -> u64 {
        if matches!(unit, NTTU | MADU | AUTOU) { self.numbers.chip.clusters } else { 1 }
    }

    fn pools(&self) -> Vec<Pool> {
        self.pools.clone()
    }

    fn words(&self) -> Words {
        Words { bits: 8 * self.numbers.chip.word_bytes, wide: self.numbers.policy.words }
    }

    fn order(&self) -> Order {
        self.numbers.schedule.order
    }

    fn phases(&self) -> Phases {
        self.numbers.assumed.phases.value
    }

    fn off_chip(&self, graph: &Graph) -> Option<OffChip> {
        let (assumed, memory) = (&self.numbers.assumed, &self.numbers.memory);
        // The last results are in the register files; the scratchpad has the rest, twisting factors included.
        let capacity = (memory.scratchpad.capacity_mb + assumed.register_files_mb.value) * MB;
        let twists = if self.numbers.nttu.of_twist { 0 } else { self.twist_bytes(graph) };
        let prefetch_bytes = assumed.prefetch_mb.value * MB;
        Some(OffChip {
            unit: HBM,
            stream: self.stream(),
            capacity_bytes: capacity.saturating_sub(twists).max(prefetch_bytes),
            capacity_field: "memory.scratchpad.capacity_mb",
            prefetch_bytes,
            results_bytes: 0,
            makes_seeds: false,
        })
    }

    fn cost(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let shape = graph.shape(id);
        let (limbs, n) = (self.limbs(shape), shape.ring.n() as u64);
        let assumed = &self.numbers.assumed;
        match graph.node(id).op() {
            Op::Ntt | Op::Intt => {
                let vectors = self.numbers.nttu.vectors_per_cycle;
                let fill = assumed.ntt_fill_cycles.value;
                let twist = if self.numbers.nttu.of_twist { 0 } else { self.bytes(shape, shape.basis) };
                vec![self.with_onchip_traffic(
                    graph,
                    id,
                    Stage { fill, ..self.limb_wise(NTTU, limbs, n, vectors) },
                    twist,
                )]
            }
            Op::Automorphism => {
                let vectors = self.numbers.autou.vectors_per_cycle;
                let fill = assumed.auto_fill_cycles.value;
                vec![self.with_onchip_traffic(graph, id, Stage { fill, ..self.limb_wise(AUTOU, limbs, n, vectors) }, 0)]
            }
            Op::BasisConvert => self.base_conversion(graph, id),
            Op::ScaleLimbs if self.is_fused_scaling(graph, id) => vec![],
            Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::MulAcc | Op::AddAssign => self.element_wise(graph, id),
            Op::ScaleLimbs | Op::ShiftLimbs | Op::Reduce | Op::Copy => self.element_wise(graph, id),
            Op::Zeros => vec![Stage::new(TaskKind::Compute, MADU, 0)],
            Op::Upload | Op::ExpandSeed => vec![],
            Op::Restrict | Op::Join | Op::Stack | Op::Split => vec![],
            _ => unreachable!("refused by accept"),
        }
    }

    fn peak_products_s(&self) -> Option<f64> {
        let n = &self.numbers;
        // A vector of √N lanes a cycle through all stages of a transform of N words: ½·log₂N = log₂(lanes) products each.
        let transform = n.nttu.vectors_per_cycle * u64::from(n.chip.lanes.ilog2());
        let each = transform + n.bconvu.macs_per_lane + n.madu.units_per_cluster;
        Some(as_f64(n.chip.clusters * n.chip.lanes * each) / self.tick_seconds())
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = Report::of(self, graph, schedule);
        report.cycles = Some(schedule.ticks());
        report.bytes.insert("scratchpad".into(), input_reads(graph));
        for (pool, drawn) in schedule.program.pools.iter().zip(schedule.drawn_bytes()) {
            let share = as_f64(drawn) / (as_f64(pool.per_tick) * as_f64(schedule.ticks().max(1)));
            report.utilization.insert(pool.name.into(), share.min(1.0));
        }
        let (peak, idle) = (self.of_this_chip(&self.numbers.peak_power, "w"), self.numbers.assumed.idle_share.value);
        let drawn = |(part, watts): (&String, &f64)| {
            let activity = report.utilization.get(part).copied().unwrap_or(1.0);
            (part.clone(), watts * (idle + (1.0 - idle) * activity))
        };
        let watts = peak.iter().map(drawn).collect();
        let area = self.of_this_chip(&self.numbers.area, "mm2").values().sum();
        report.set_energy(area, &watts, idle * peak.values().sum::<f64>());
        report
    }
}
