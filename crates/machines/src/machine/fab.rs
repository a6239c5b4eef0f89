//! FAB: functional units that do one modular operation a cycle, an on-chip memory of a few polynomials, HBM; several
//! boards joined by Ethernet. Source: \[FAB\].
//!
//! All units of a board work on one limb together, and programs come limb by limb ([`Machine::prepare`]). Several boards
//! share out the ciphertexts of a batch, one after the other; what is one ciphertext stands on the first board. Each reads
//! keys and plaintexts from its own HBM; what one makes and another reads goes over Ethernet.

use super::Machine;
use crate::{
    dram::{Stream, ticks},
    error::MachineError,
    phases::Phases,
    program::{Order, Stage, TaskKind},
    report::{Report, as_f64},
    scheduler::Schedule,
    scratchpad::OffChip,
    spec::{Assumed, Spec},
    words::{Wide, Words},
};
use limbwise_graph::{Basis, Entries, Graph, LimbOrder, NodeId, Op, Shape};
use serde::Deserialize;
use std::borrow::Cow;

const UNITS: [&str; 5] = ["functional_units", "converters", "permutation", "hbm", "ethernet"];
const UNITS_OF_ALL: u8 = 0;
const CONVERTERS: u8 = 1;
const PERMUTATION: u8 = 2;
const HBM: u8 = 3;
const ETHERNET: u8 = 4;
const MB: u64 = 1_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    chip: Chip,
    policy: Policy,
    system: System,
    schedule: Scheduling,
    memory: Memory,
    network: Bandwidth,
    host: Bandwidth,
    assumed: Assumptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chip {
    functional_units: u64,
    core_mhz: f64,
    word_bits: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    limbs: Limbs,
    seeds: Seeds,
    words: Wide,
}

/// Order of limbs (ADR 77).
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Limbs {
    Whole,
    Apart,
    Fused,
    Reordered,
}

/// Source of the uniform half of a key.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Seeds {
    Loaded,
    Made,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    fpgas: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scheduling {
    order: Order,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    on_chip: Capacity,
    register_file: Capacity,
    hbm: Hbm,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bandwidth {
    bandwidth_gb_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Capacity {
    capacity_mb: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hbm {
    #[serde(rename = "axi_ports")]
    _axi_ports: u64,
    bandwidth_gb_s: f64,
}

/// Unit of base conversions.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Conversion {
    Beside,
    Shared,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assumptions {
    conversion: Assumed<Conversion>,
    butterflies_per_unit: Assumed<u64>,
    mac_fill_cycles: Assumed<u64>,
    ntt_fill_cycles: Assumed<u64>,
    permute_fill_cycles: Assumed<u64>,
    network_latency_ns: Assumed<f64>,
    hbm_latency_ns: Assumed<f64>,
    hbm_burst_bytes: Assumed<u64>,
    prefetch_mb: Assumed<u64>,
    phases: Assumed<Phases>,
    streaming: Assumed<bool>,
    scale_with_intt: Assumed<bool>,
    fuse_subtract_scale: Assumed<bool>,
}

/// The model.
pub(super) struct Fab {
    spec: Spec,
    numbers: Numbers,
}

impl Fab {
    /// The model of a specification.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model, or loads ahead fill the on-chip memory.
    pub(super) fn new(spec: &Spec) -> Result<Self, MachineError> {
        let numbers: Numbers = spec.read()?;
        let (prefetch, capacity) = (numbers.assumed.prefetch_mb.value, numbers.memory.on_chip.capacity_mb);
        if prefetch >= capacity {
            let wanted = format!("less than memory.on_chip.capacity_mb = {capacity}");
            return Err(spec.wrong("assumed.prefetch_mb", wanted, prefetch));
        }
        Ok(Self { spec: spec.clone(), numbers })
    }

    fn limbs(&self, shape: &Shape) -> u64 {
        self.words().limbs(shape, shape.basis)
    }

    /// A stage with a number of modular operations for each ciphertext of a batch. Boards share out a batch from the first
    /// board on, so the first board takes longest (ADR 79).
    fn operations(&self, unit: u8, batch: u64, each: u64, parts: u64) -> Stage {
        let rounds = batch.div_ceil(self.numbers.system.fpgas);
        let occupancy = rounds * each.div_ceil(self.numbers.chip.functional_units);
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        let fill = self.numbers.assumed.mac_fill_cycles.value;
        Stage { parts, fill, ..Stage::new(TaskKind::Compute, unit, occupancy) }
    }

    /// The board of a ciphertext of a batch.
    fn board(&self, batch: usize, entry: usize) -> u64 {
        entry as u64 / (batch as u64).div_ceil(self.numbers.system.fpgas)
    }

    /// The transfer over Ethernet of what a node reads and another board made. A value is sent again for each operation that
    /// reads it (ADR 79).
    fn board_transfer(&self, graph: &Graph, id: NodeId) -> Option<Stage> {
        if self.numbers.system.fpgas == 1 {
            return None;
        }
        let batch = graph.shape(id).batch;
        let mut bytes = 0;
        for &operand in graph.operands(id) {
            for entry in 0..batch {
                let part = Part { value: operand, basis: graph.shape(operand).basis, entry };
                for_each_maker(graph, part, &mut |made| {
                    let of = graph.shape(made.value);
                    let stays = self.board(of.batch, made.entry) == self.board(batch, entry);
                    if !stays && !graph.node(made.value).op().is_input() {
                        bytes += self.words().bytes(&of.with_batch(1), made.basis);
                    }
                });
            }
        }
        let network = &self.numbers.network;
        let cycles = |ns: f64| ticks(ns * self.numbers.chip.core_mhz / 1e3);
        if bytes == 0 {
            return None;
        }
        let stage = Stage::new(TaskKind::Redistribute, ETHERNET, cycles(as_f64(bytes) / network.bandwidth_gb_s));
        Some(Stage { fill: cycles(self.numbers.assumed.network_latency_ns.value), ..stage })
    }

    fn element_wise(&self, shape: &Shape) -> Stage {
        let (batch, limbs) = (shape.batch as u64, self.limbs(shape));
        self.operations(UNITS_OF_ALL, batch, (limbs / batch) << shape.ring.log_n(), limbs)
    }

    fn transform(&self, shape: &Shape) -> Stage {
        let (batch, limbs, log_n) = (shape.batch as u64, self.limbs(shape), shape.ring.log_n());
        let butterflies = ((limbs / batch) << (log_n - 1)).saturating_mul(u64::from(log_n));
        let assumed = &self.numbers.assumed;
        let each = butterflies.div_ceil(assumed.butterflies_per_unit.value);
        Stage { fill: assumed.ntt_fill_cycles.value, ..self.operations(UNITS_OF_ALL, batch, each, limbs) }
    }

    /// Products of all sources with all targets. The sources are scaled first, unless their inverse transform took the
    /// factor (assumed.scale_with_intt) or an earlier target scaled them.
    fn convert(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let (from, to) = (graph.shape(graph.operands(id)[0]), graph.shape(id));
        let (batch, log_n) = (to.batch as u64, to.ring.log_n());
        let (sources, targets) = (self.limbs(from) / batch, self.limbs(to) / batch);
        let mut after_intt = graph.node(id).is_scaled() || self.numbers.assumed.scale_with_intt.value;
        graph.for_each_piece(graph.operands(id)[0], |p| {
            after_intt &= graph.node(id).is_scaled() || graph.node(p.source).op() == Op::Intt;
        });
        let unit = match self.numbers.assumed.conversion.value {
            Conversion::Beside => CONVERTERS,
            Conversion::Shared => UNITS_OF_ALL,
        };
        let sums = self.operations(unit, batch, (sources << log_n).saturating_mul(targets), targets);
        let sums = Stage { whole_input: true, ..sums };
        if after_intt { vec![sums] } else { vec![self.element_wise(from), sums] }
    }

    /// Whether a node only scales the difference before it: one multiply-add (assumed.fuse_subtract_scale).
    fn is_fused_scaling(&self, graph: &Graph, id: NodeId) -> bool {
        let operand = graph.operands(id)[0];
        self.numbers.assumed.fuse_subtract_scale.value
            && matches!(graph.node(operand).op(), Op::Sub | Op::Add)
            && graph.node(operand).freed_before().is_some_and(|freed| freed.0 <= id.0 + 1)
    }
}

/// Some limbs of one entry of a batch.
struct Part {
    value: NodeId,
    basis: Basis,
    entry: usize,
}

/// Finds the nodes that made a part of a value, through views. A batch of one broadcasts, so its entry is that of all.
fn for_each_maker(graph: &Graph, part: Part, found: &mut impl FnMut(Part)) {
    let Part { value: id, basis, entry } = part;
    let entry = if graph.shape(id).batch == 1 { 0 } else { entry };
    let operands = graph.operands(id);
    let mut start = 0;
    match graph.node(id).op() {
        Op::Split => {
            let from = graph.node(id).split_from().unwrap_or(0) as usize;
            for_each_maker(graph, Part { value: operands[0], basis, entry: from + entry }, found);
        }
        Op::Stack => {
            for &operand in operands {
                let batch = graph.shape(operand).batch;
                if (start..start + batch).contains(&entry) {
                    for_each_maker(graph, Part { value: operand, basis, entry: entry - start }, found);
                }
                start += batch;
            }
        }
        Op::Restrict | Op::Join => {
            for &operand in operands {
                let shown = basis & graph.shape(operand).basis;
                if !shown.is_empty() {
                    for_each_maker(graph, Part { value: operand, basis: shown, entry }, found);
                }
            }
        }
        _ => found(Part { value: id, basis, entry }),
    }
}

impl Machine for Fab {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn units(&self) -> &[&'static str] {
        &UNITS
    }

    fn tick_seconds(&self) -> f64 {
        1e-6 / self.numbers.chip.core_mhz
    }

    fn streaming(&self) -> bool {
        self.numbers.assumed.streaming.value
    }

    fn words(&self) -> Words {
        Words { bits: self.numbers.chip.word_bits, wide: self.numbers.policy.words }
    }

    fn order(&self) -> Order {
        self.numbers.schedule.order
    }

    fn phases(&self) -> Phases {
        self.numbers.assumed.phases.value
    }

    fn prepare<'g>(&self, graph: &'g Graph) -> Cow<'g, Graph> {
        // Boards share out the entries of a batch, so an entry must not be a node of its own; one board takes them one by
        // one, because a whole batch does not fit on its chip.
        let entries = if self.numbers.system.fpgas == 1 { Entries::Apart } else { Entries::Together };
        let order = match self.numbers.policy.limbs {
            Limbs::Whole => return Cow::Borrowed(graph),
            Limbs::Apart => LimbOrder::Operations,
            Limbs::Fused => LimbOrder::Fused,
            Limbs::Reordered => LimbOrder::Reordered,
        };
        Cow::Owned(graph.limb_by_limb(order, entries))
    }

    fn off_chip(&self, _: &Graph) -> Option<OffChip> {
        let (assumed, memory) = (&self.numbers.assumed, &self.numbers.memory);
        let (mhz, fpgas) = (self.numbers.chip.core_mhz, self.numbers.system.fpgas);
        Some(OffChip {
            unit: HBM,
            stream: Stream::Bandwidth {
                bytes_per_tick: memory.hbm.bandwidth_gb_s * 1e3 / mhz,
                latency: ticks(assumed.hbm_latency_ns.value * mhz / 1e3),
                burst_bytes: assumed.hbm_burst_bytes.value,
            },
            // Memory of several boards adds up, which is right for a batch and too much for one ciphertext (ADR 79).
            capacity_bytes: (memory.on_chip.capacity_mb + memory.register_file.capacity_mb) * MB * fpgas,
            capacity_field: "memory.on_chip.capacity_mb",
            prefetch_bytes: assumed.prefetch_mb.value * MB,
            // Units work from the register file, so results under way stand there (ADR 129).
            results_bytes: memory.register_file.capacity_mb * MB * fpgas,
            makes_seeds: self.numbers.policy.seeds == Seeds::Made,
        })
    }

    fn cost(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let shape = graph.shape(id);
        let stages = match graph.node(id).op() {
            Op::Ntt | Op::Intt => vec![self.transform(shape)],
            Op::Automorphism => {
                let fill = self.numbers.assumed.permute_fill_cycles.value;
                vec![Stage { unit: PERMUTATION, fill, ..self.element_wise(shape) }]
            }
            Op::BasisConvert => self.convert(graph, id),
            Op::ScaleLimbs if self.is_fused_scaling(graph, id) => return vec![],
            Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::MulAcc | Op::AddAssign => vec![self.element_wise(shape)],
            Op::ScaleLimbs | Op::ShiftLimbs | Op::Reduce | Op::Copy => vec![self.element_wise(shape)],
            Op::Zeros => return vec![Stage::new(TaskKind::Compute, UNITS_OF_ALL, 0)],
            Op::Upload | Op::ExpandSeed => return vec![],
            Op::Restrict | Op::Join | Op::Stack | Op::Split => return vec![],
            _ => unreachable!("refused by accept"),
        };
        self.board_transfer(graph, id).into_iter().chain(stages).collect()
    }

    fn peak_products_s(&self) -> Option<f64> {
        let beside = self.numbers.assumed.conversion.value == Conversion::Beside;
        let units = self.numbers.chip.functional_units * if beside { 2 } else { 1 };
        Some(as_f64(units * self.numbers.system.fpgas) / self.tick_seconds())
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = Report { cycles: Some(schedule.ticks()), ..Report::of(self, graph, schedule) };
        report.note_host(schedule, self.numbers.host.bandwidth_gb_s);
        report
    }
}
