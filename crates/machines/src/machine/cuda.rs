//! A GPU as the device `cuda` uses it: each operation takes as long as its bytes or its instructions, whichever is more.
//!
//! Operations come one after another on the whole GPU, no faster than the host launches them. What the device does in one
//! pass is charged once: the terms of a sum, the division at the end of a change of basis, all steps of a blind rotation
//! that shared memory holds. Without a calibration every slowdown is 1: what a GPU would take that is always at one of its
//! limits, with every word from memory (none from a cache) and nothing uploaded on the way. A calibration replaces them by
//! what was measured over what this model says of the same operations. A tick is a picosecond.

use super::{
    Machine,
    traffic::{self, moved_bytes},
};
use crate::{
    dram::ticks,
    error::MachineError,
    program::{Stage, TaskKind},
    report::{Report, as_f64},
    scheduler::Schedule,
    scratchpad::OffChip,
    spec::{Assumed, Spec},
};
use limbwise_graph::{Graph, NodeId, Op, Region, Shape};
use serde::Deserialize;

/// Instructions of one kind that a multiprocessor takes up each clock cycle.
const LANES: f64 = 64.0;
/// log₂ of the largest ring that is transformed in one pass over memory.
const ONE_PASS: u32 = 12;
/// log₂ of the largest ring that a blind rotation keeps in shared memory from its first step to its last.
const ONE_BLOCK: u32 = 12;
/// Regions in which sums of products are one pass.
const SUMS: [Region; 3] = [Region::GadgetProduct, Region::WeightedSums, Region::LinearCombination];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    device: Device,
    narrow: Slots,
    short: Slots,
    long: Slots,
    lwe: Lwe,
    slowdown: Slowdown,
    assumed: Assumptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Device {
    multiprocessors: u64,
    memory_gb_s: f64,
    narrow_bits: u32,
    short_bits: u32,
}

/// Instructions of the busiest kind, for primes of one width.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Slots {
    /// A butterfly.
    butterfly_slots: f64,
    /// A word of a transform of two passes beside its butterflies: a power of the root.
    word_slots: f64,
    /// A word of one source of a base conversion, added into one target.
    term_slots: f64,
    /// A word of a target beside its terms.
    target_slots: f64,
    /// A product of two residues that is added to a sum.
    product_slots: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lwe {
    product_slots: f64,
}

/// Measured time over this model's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Slowdown {
    transform_factor: f64,
    convert_factor: f64,
    memory_factor: f64,
    rotation_factor: f64,
    lwe_factor: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assumptions {
    clock_mhz: Assumed<f64>,
    launch_ns: Assumed<f64>,
    seed_gb_s: Assumed<f64>,
}

/// The model.
pub(super) struct Cuda {
    spec: Spec,
    numbers: Numbers,
}

impl Cuda {
    /// The model of a specification.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model.
    pub(super) fn new(spec: &Spec) -> Result<Self, MachineError> {
        Ok(Self { spec: spec.clone(), numbers: spec.read()? })
    }

    fn slots(&self, shape: &Shape, prime: usize) -> &Slots {
        let bits = shape.ring.moduli()[prime].bits();
        match bits {
            _ if bits <= self.numbers.device.narrow_bits => &self.numbers.narrow,
            _ if bits <= self.numbers.device.short_bits => &self.numbers.short,
            _ => &self.numbers.long,
        }
    }

    /// Nanoseconds of so many slots on so many multiprocessors.
    fn computing_ns(&self, slots: f64, multiprocessors: u64) -> f64 {
        slots / (as_f64(multiprocessors) * LANES * self.numbers.assumed.clock_mhz.value / 1e3)
    }

    fn moving_ns(&self, bytes: f64) -> f64 {
        bytes / self.numbers.device.memory_gb_s
    }

    /// The longer of both, on all multiprocessors.
    fn bound_ns(&self, slots: f64, bytes: f64) -> f64 {
        self.computing_ns(slots, self.numbers.device.multiprocessors).max(self.moving_ns(bytes))
    }

    /// Slots of all rows of a value, of so many a row of each kind of prime.
    fn over_rows(&self, shape: &Shape, slots: &dyn Fn(&Slots) -> f64) -> f64 {
        as_f64(shape.batch as u64) * shape.basis.iter().map(|i| slots(self.slots(shape, i))).sum::<f64>()
    }

    /// Nanoseconds of a transform; one that ends a division reads what is divided besides.
    fn transform_ns(&self, graph: &Graph, id: NodeId) -> f64 {
        let shape = graph.shape(id);
        let passes = if shape.ring.log_n() <= ONE_PASS { 1.0 } else { 2.0 };
        let bytes = as_f64(graph.value_bytes(id));
        let divides = graph.node(id).op() == Op::Ntt && in_division(graph, id);
        let read = if divides { bytes } else { 0.0 };
        let slots = self.over_rows(shape, &|s| transform_slots(s, shape.ring.log_n()));
        self.bound_ns(slots, passes * 2.0 * bytes + read) * self.numbers.slowdown.transform_factor
    }

    fn convert_ns(&self, graph: &Graph, id: NodeId) -> f64 {
        let shape = graph.shape(id);
        let sources = as_f64(graph.shape(graph.operands(id)[0]).basis.len() as u64);
        let words = as_f64(shape.ring.n() as u64);
        let slots = self.over_rows(shape, &|s| words * (sources * s.term_slots + s.target_slots));
        self.bound_ns(slots, as_f64(moved_bytes(graph, id))) * self.numbers.slowdown.convert_factor
    }

    /// Nanoseconds of an operation that only moves words, or multiplies each once.
    fn memory_ns(&self, bytes: f64) -> f64 {
        self.moving_ns(bytes) * self.numbers.slowdown.memory_factor
    }

    /// Bytes of a product or a sum of two values: in a sum of products, which is made in one pass, the sum itself is
    /// written once, where its first term stands, and never read.
    fn sum_bytes(&self, graph: &Graph, id: NodeId) -> f64 {
        let bytes_of = |o: &NodeId| as_f64(graph.value_bytes(*o));
        let (operands, written) = (graph.operands(id), as_f64(graph.value_bytes(id)));
        let op = graph.node(id).op();
        match (inside(graph, id, &SUMS), op) {
            // Both halves are made while a digit is read once; the key stands last.
            (Some(Region::GadgetProduct), Op::Mul) => bytes_of(&operands[0]) / 2.0 + bytes_of(&operands[1]) + written,
            (Some(Region::GadgetProduct), Op::MulAcc) => bytes_of(&operands[1]) / 2.0 + bytes_of(&operands[2]),
            (Some(Region::WeightedSums), Op::MulAcc) => operands[1..].iter().map(bytes_of).sum(),
            (Some(Region::LinearCombination), Op::ScaleLimbs) => bytes_of(&operands[0]),
            (Some(Region::LinearCombination), Op::Add) => 0.0,
            _ => operands.iter().map(bytes_of).sum::<f64>() + written,
        }
    }

    /// Nanoseconds of a node in a blind rotation that one launch does: its transforms and products, on as many
    /// multiprocessors as there are ciphertexts.
    fn rotation_ns(&self, graph: &Graph, id: NodeId) -> f64 {
        let shape = graph.shape(id);
        let (log_n, words) = (shape.ring.log_n(), as_f64(shape.ring.n() as u64));
        let slots = match graph.node(id).op() {
            Op::Ntt | Op::Intt => self.over_rows(shape, &|s| transform_slots(s, log_n)),
            Op::Mul | Op::MulAcc => self.over_rows(shape, &|s| words * s.product_slots),
            _ => return 0.0,
        };
        let split = graph.operands(id).first().filter(|&&o| graph.node(o).op() == Op::Decompose);
        let entries = split.map_or(shape.batch, |&o| graph.shape(graph.operands(o)[0]).batch) as u64;
        let turns = as_f64(entries.div_ceil(self.numbers.device.multiprocessors));
        self.computing_ns(slots / as_f64(entries) * turns, 1) * self.numbers.slowdown.rotation_factor
    }

    /// Nanoseconds of a node on the GPU.
    fn node_ns(&self, graph: &Graph, id: NodeId) -> f64 {
        let op = graph.node(id).op();
        match op {
            Op::Upload | Op::UploadLwe | Op::Restrict | Op::Join | Op::Stack | Op::Split => 0.0,
            Op::Ntt | Op::Intt => self.transform_ns(graph, id),
            Op::BasisConvert => self.convert_ns(graph, id),
            Op::Mul | Op::MulAcc | Op::Add => self.memory_ns(self.sum_bytes(graph, id)),
            // The transform before it has done this already.
            Op::Sub | Op::ScaleLimbs if in_division(graph, id) => 0.0,
            Op::ScaleLimbs => self.memory_ns(self.sum_bytes(graph, id)),
            Op::ExpandSeed => as_f64(graph.value_bytes(id)) / self.numbers.assumed.seed_gb_s.value,
            Op::LweProduct => {
                let slots = as_f64(graph.work(id).products()) * self.numbers.lwe.product_slots;
                self.bound_ns(slots, as_f64(moved_bytes(graph, id))) * self.numbers.slowdown.lwe_factor
            }
            _ => self.memory_ns(as_f64(moved_bytes(graph, id))),
        }
    }
}

/// Slots of the transform of a row.
fn transform_slots(s: &Slots, log_n: u32) -> f64 {
    let words = f64::from(log_n).exp2();
    let scaled = if log_n <= ONE_PASS { 0.0 } else { words };
    words / 2.0 * f64::from(log_n) * s.butterfly_slots + scaled * s.word_slots
}

/// The innermost of these regions that a node is in.
fn inside(graph: &Graph, id: NodeId, among: &[Region]) -> Option<Region> {
    graph.regions_around(id).find_map(|region| among.iter().copied().find(|&known| region.is(known)))
}

/// Whether a node stands in a division by dropped primes.
fn in_division(graph: &Graph, id: NodeId) -> bool {
    inside(graph, id, &[Region::ModDown, Region::Rescale]).is_some()
}

/// Whether a node is part of a blind rotation that is one launch.
fn in_one_launch(graph: &Graph, id: NodeId) -> bool {
    graph.lwe_shape(id).is_none()
        && graph.shape(id).ring.log_n() <= ONE_BLOCK
        && inside(graph, id, &[Region::BlindRotate]).is_some()
}

impl Machine for Cuda {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn units(&self) -> &[&'static str] {
        &["gpu"]
    }

    fn tick_seconds(&self) -> f64 {
        1e-12
    }

    fn streaming(&self) -> bool {
        false
    }

    fn off_chip(&self, _graph: &Graph) -> Option<OffChip> {
        None
    }

    fn has_unit_for(&self, _op: Op) -> bool {
        true
    }

    fn cost(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let op = graph.node(id).op();
        if op.is_view() {
            return vec![];
        }
        let ns = if in_one_launch(graph, id) {
            self.rotation_ns(graph, id)
        } else {
            let ns = self.node_ns(graph, id);
            // An operation without cost is part of another launch, or done before the program begins.
            if ns > 0.0 { ns.max(self.numbers.assumed.launch_ns.value) } else { 0.0 }
        };
        vec![Stage { whole_input: true, ..Stage::new(TaskKind::Compute, 0, ticks(ns * 1e3)) }]
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = Report::of(self, graph, schedule);
        report.bytes.insert("memory".into(), traffic::by_role(graph));
        report
    }
}
