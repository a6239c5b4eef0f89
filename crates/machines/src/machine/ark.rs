//! ARK: four clusters of vector units round a scratchpad, one HBM. Source: \[ARK\].
//!
//! A unit here is all units of a kind, one in each cluster, working on one node together: limb-wise (each cluster takes
//! whole limbs) for all but base conversion, which is coefficient-wise (each takes a quarter of the coefficients); the
//! network redistributes between the two. Under the policy "limb-wise", conversions move nothing and products with keys
//! are summed across clusters instead.

use super::{Machine, basic_report, named};
use crate::{
    error::MachineError,
    lower::{input_bytes, ticks},
    program::{Stage, TaskKind},
    report::{Report, as_f64},
    scheduler::Schedule,
    scratchpad::OffChip,
    spec::{Assumed, Spec},
};
use limbwise_graph::{Graph, NodeId, Op, Role};
use serde::Deserialize;
use std::collections::BTreeMap;

const UNITS: [&str; 6] = ["nttu", "bconvu", "madu", "autou", "noc", "hbm"];
const NTTU: u8 = 0;
const BCONVU: u8 = 1;
const MADU: u8 = 2;
const AUTOU: u8 = 3;
const NOC: u8 = 4;
const HBM: u8 = 5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    chip: Chip,
    policy: Policy,
    nttu: Vectors,
    bconvu: BConvU,
    autou: Vectors,
    madu: MadU,
    memory: Memory,
    noc: Noc,
    area: BTreeMap<String, f64>,
    peak_power: BTreeMap<String, f64>,
    assumed: Assumptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chip {
    clusters: u64,
    lanes: u64,
    word_bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    distribution: Distribution,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Distribution {
    Alternating,
    LimbWise,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vectors {
    vectors_per_cycle: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BConvU {
    macs_per_lane: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MadU {
    units_per_cluster: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    scratchpad: Scratchpad,
    hbm: Hbm,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scratchpad {
    capacity_mb: u64,
    bandwidth_gb_s_per_cluster: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Noc {
    bandwidth_gb_s_per_cluster: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hbm {
    bandwidth_gb_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assumptions {
    core_mhz: Assumed<f64>,
    ntt_fill_cycles: Assumed<u64>,
    bconv_fill_cycles: Assumed<u64>,
    auto_fill_cycles: Assumed<u64>,
    mad_fill_cycles: Assumed<u64>,
    noc_fill_cycles: Assumed<u64>,
    hbm_latency_cycles: Assumed<u64>,
    hbm_burst_bytes: Assumed<u64>,
    prefetch_mb: Assumed<u64>,
    streaming: Assumed<bool>,
    scale_with_intt: Assumed<bool>,
    fuse_subtract_scale: Assumed<bool>,
    idle_share: Assumed<f64>,
    register_file_activity_share: Assumed<f64>,
    reference_clusters: Assumed<u64>,
}

/// The model.
pub struct Ark {
    spec: Spec,
    numbers: Numbers,
}

impl Ark {
    /// The model of a specification.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model, or the prefetch buffer fills the scratchpad.
    pub fn new(spec: &Spec) -> Result<Self, MachineError> {
        let numbers: Numbers = spec.read()?;
        let (prefetch, capacity) = (numbers.assumed.prefetch_mb.value, numbers.memory.scratchpad.capacity_mb);
        if prefetch >= capacity {
            let wanted = format!("less than memory.scratchpad.capacity_mb = {capacity}");
            return Err(spec.wrong("assumed.prefetch_mb", wanted, prefetch));
        }
        Ok(Self { spec: spec.clone(), numbers })
    }

    /// Bytes a cycle of a bandwidth in 10⁹ bytes a second.
    fn per_cycle(&self, gb_s: f64) -> f64 {
        gb_s * 1e3 / self.numbers.assumed.core_mhz.value
    }

    /// Rounds in which the clusters take so many limbs, one each.
    fn rounds(&self, limbs: u64) -> u64 {
        limbs.div_ceil(self.numbers.chip.clusters)
    }

    /// A stage that takes limbs, each cluster one at a time, at so many vectors a cycle.
    fn limb_wise(&self, unit: u8, limbs: u64, n: u64, vectors: u64, fill: u64) -> Stage {
        let rounds = self.rounds(limbs);
        let occupancy = rounds * n.div_ceil(self.numbers.chip.lanes * vectors);
        Stage { kind: TaskKind::Compute, unit, occupancy, fill, parts: parts(rounds), whole_input: false }
    }

    fn multiply_add(&self, limbs: u64, n: u64) -> Stage {
        self.limb_wise(MADU, limbs, n, self.numbers.madu.units_per_cluster, self.numbers.assumed.mad_fill_cycles.value)
    }

    /// All clusters exchange the words of so many limbs.
    fn redistribute(&self, limbs: u64, n: u64) -> Stage {
        let bytes = as_f64(limbs * n * self.numbers.chip.word_bytes);
        let bandwidth = self.numbers.noc.bandwidth_gb_s_per_cluster * as_f64(self.numbers.chip.clusters);
        Stage {
            kind: TaskKind::Redistribute,
            unit: NOC,
            occupancy: ticks(bytes / self.per_cycle(bandwidth)),
            fill: self.numbers.assumed.noc_fill_cycles.value,
            parts: parts(limbs),
            whole_input: false,
        }
    }

    /// Step 2 of base conversions: blocks of as many targets as a lane has units, all sources of a coefficient at once.
    fn convert(&self, batch: u64, sources: u64, targets: u64, n: u64) -> Stage {
        let blocks = batch * targets.div_ceil(self.numbers.bconvu.macs_per_lane);
        let vectors = n.div_ceil(self.numbers.chip.clusters * self.numbers.chip.lanes);
        Stage {
            kind: TaskKind::Compute,
            unit: BCONVU,
            occupancy: blocks * sources * vectors,
            fill: self.numbers.assumed.bconv_fill_cycles.value,
            parts: parts(blocks),
            whole_input: true,
        }
    }

    fn base_conversion(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let (from, to) = (graph.shape(graph.operands(id)[0]), graph.shape(id));
        let (batch, n) = (from.batch as u64, from.ring.n() as u64);
        let (sources, targets) = (from.basis.len() as u64, to.basis.len() as u64);
        let mut after_intt = self.numbers.assumed.scale_with_intt.value;
        graph.for_each_piece(graph.operands(id)[0], |p| after_intt &= graph.node(p.source).op() == Op::Intt);
        let mut stages = Vec::with_capacity(4);
        if !after_intt {
            stages.push(self.multiply_add(batch * sources, n));
        }
        let moves = self.numbers.policy.distribution == Distribution::Alternating;
        if moves {
            stages.push(self.redistribute(batch * sources, n));
        }
        stages.push(self.convert(batch, sources, targets, n));
        if moves {
            stages.push(self.redistribute(batch * targets, n));
        }
        stages
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
        let (limbs, n) = (shape.rows() as u64, shape.ring.n() as u64);
        let mut stage = self.multiply_add(limbs, n);
        stage.occupancy = stage.occupancy.max(self.scratchpad_cycles(input_bytes(graph, id)));
        let with_key = graph.operands(id).iter().any(|&operand| {
            let mut key = false;
            graph.for_each_piece(operand, |p| {
                key |= matches!(graph.node(p.source).role(), Role::EvaluationKey(_));
            });
            key
        });
        let summed_across = with_key && self.numbers.policy.distribution == Distribution::LimbWise;
        if summed_across { vec![stage, self.redistribute(limbs, n)] } else { vec![stage] }
    }

    fn scratchpad_cycles(&self, bytes: u64) -> u64 {
        let bandwidth = self.numbers.memory.scratchpad.bandwidth_gb_s_per_cluster * as_f64(self.numbers.chip.clusters);
        ticks(as_f64(bytes) / self.per_cycle(bandwidth))
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

    fn off_chip(&self) -> Option<OffChip> {
        let assumed = &self.numbers.assumed;
        Some(OffChip {
            unit: HBM,
            bytes_per_tick: self.per_cycle(self.numbers.memory.hbm.bandwidth_gb_s),
            latency: assumed.hbm_latency_cycles.value,
            burst_bytes: assumed.hbm_burst_bytes.value,
            capacity_bytes: (self.numbers.memory.scratchpad.capacity_mb - assumed.prefetch_mb.value) * 1_000_000,
            prefetch_bytes: assumed.prefetch_mb.value * 1_000_000,
        })
    }

    fn cost(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let shape = graph.shape(id);
        let (limbs, n) = (shape.rows() as u64, shape.ring.n() as u64);
        let assumed = &self.numbers.assumed;
        match graph.node(id).op() {
            Op::Ntt | Op::Intt => {
                let vectors = self.numbers.nttu.vectors_per_cycle;
                vec![self.limb_wise(NTTU, limbs, n, vectors, assumed.ntt_fill_cycles.value)]
            }
            Op::Automorphism => {
                let vectors = self.numbers.autou.vectors_per_cycle;
                vec![self.limb_wise(AUTOU, limbs, n, vectors, assumed.auto_fill_cycles.value)]
            }
            Op::BasisConvert => self.base_conversion(graph, id),
            Op::ScaleLimbs if self.is_fused_scaling(graph, id) => vec![],
            Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::MulAcc | Op::AddAssign => self.element_wise(graph, id),
            Op::ScaleLimbs | Op::ShiftLimbs | Op::Reduce | Op::Copy => self.element_wise(graph, id),
            Op::Upload | Op::ExpandSeed | Op::Zeros => vec![],
            Op::Restrict | Op::Join | Op::Stack | Op::Split => vec![],
            _ => unreachable!("refused by accept"),
        }
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = basic_report(&self.spec, graph, schedule);
        report.cycles = Some(schedule.ticks());
        let mut scratchpad = BTreeMap::new();
        for id in graph.ids().filter(|&id| !graph.node(id).op().is_view()) {
            for &operand in graph.operands(id) {
                graph.for_each_piece(operand, |piece| {
                    let node = graph.node(piece.source);
                    if node.op().is_input() {
                        *scratchpad.entry(crate::lower::role_name(node.role())).or_default() +=
                            graph.piece_bytes(&piece);
                    }
                });
            }
        }
        let read: u64 = scratchpad.values().sum();
        let moved = read + schedule.program.off_chip_bytes.values().sum::<u64>();
        let share = as_f64(self.scratchpad_cycles(moved)) / as_f64(schedule.ticks().max(1));
        let compute = [NTTU, BCONVU, MADU, AUTOU].map(|unit| report.utilization[UNITS[usize::from(unit)]]);
        let register_files =
            self.numbers.assumed.register_file_activity_share.value * compute.into_iter().fold(0.0, f64::max);
        report.utilization.insert("scratchpad".into(), share.min(1.0));
        let peak = self.of_this_chip(&self.numbers.peak_power, "w");
        let watts = peak.iter().map(|(part, watts)| {
            let activity = report.utilization.get(part).copied().unwrap_or(register_files);
            let idle = self.numbers.assumed.idle_share.value;
            watts * (idle + (1.0 - idle) * activity)
        });
        report.energy_j = Some(watts.sum::<f64>() * report.seconds);
        report.area_mm2 = Some(self.of_this_chip(&self.numbers.area, "mm2").values().sum());
        report.bytes.insert("hbm".into(), named(&schedule.program.off_chip_bytes));
        report.bytes.insert("scratchpad".into(), named(&scratchpad));
        report
    }
}
