//! A CPU from its calibration: the cost of each operation, one after another.
//!
//! Times per limb were measured on one thread; the rows of an operation are shared by the threads, and no operation is
//! faster than memory lets all of them be. A tick is a picosecond.

use super::{
    Machine,
    traffic::{self, moved_bytes},
};
use crate::{
    dram::ticks,
    error::MachineError,
    lower::is_given,
    program::{Stage, TaskKind},
    report::{Report, as_f64},
    scheduler::Schedule,
    scratchpad::OffChip,
    spec::{Assumed, Spec},
};
use limbwise_graph::{Graph, NodeId, Op, Region, Role, Shape};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    host: Host,
    short: Kernels,
    long: Kernels,
    memory: Memory,
    rotation: Rotations,
    lwe: Lwe,
    assumed: Assumptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    threads: u64,
    short_bits: u32,
}

/// Kernels for primes of one width, on one thread.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernels {
    /// N = 2^10 … 2^17.
    transform_ns_per_limb: [f64; 8],
    mul_gb_s: f64,
    add_gb_s: f64,
    convert_term_ns: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    copy_gb_s: f64,
    permute_gb_s: f64,
    expand_gb_s: f64,
    all_threads_gb_s: f64,
}

/// Blind rotation, whose steps keep everything but the key in caches.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rotations {
    short: Rotation,
    long: Rotation,
    key_gb_s: f64,
}

/// Costs of a step, N = 2^10 … 2^17.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rotation {
    /// A digit of a component: made, transformed, times its row of the key.
    digit_ns_per_limb: [f64; 8],
    /// A component: rotated, transformed back, added.
    component_ns_per_limb: [f64; 8],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lwe {
    product_term_ns: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assumptions {
    node_ns: Assumed<f64>,
}

/// The model.
pub(super) struct Cpu {
    spec: Spec,
    numbers: Numbers,
}

impl Cpu {
    /// The model of a specification.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model.
    pub(super) fn new(spec: &Spec) -> Result<Self, MachineError> {
        Ok(Self { spec: spec.clone(), numbers: spec.read()? })
    }

    /// Nanoseconds of a node on one thread that works on LWE ciphertexts, all entries together.
    fn lwe_ns(&self, graph: &Graph, id: NodeId) -> f64 {
        let bytes = as_f64(moved_bytes(graph, id));
        match graph.node(id).op() {
            Op::LweProduct => as_f64(graph.work(id).products()) * self.numbers.lwe.product_term_ns,
            Op::UploadLwe => 0.0,
            _ => bytes / self.numbers.memory.copy_gb_s,
        }
    }

    /// Nanoseconds of a node inside a blind rotation: digits and components have the whole cost, but for the key, which
    /// comes from memory once for all entries.
    fn rotation_ns(&self, graph: &Graph, id: NodeId) -> f64 {
        let (op, shape) = (graph.node(id).op(), graph.shape(id));
        let degree = (shape.ring.log_n() as usize).clamp(10, 17) - 10;
        let prime = shape.basis.iter().next().unwrap_or(0);
        let rotation =
            if self.is_short(shape, prime) { &self.numbers.rotation.short } else { &self.numbers.rotation.long };
        let shared = |ns: f64, entries: u64| {
            ns * as_f64(shape.rows() as u64) * as_f64(entries.div_ceil(self.numbers.host.threads)) / as_f64(entries)
        };
        match op {
            Op::Ntt => {
                let digits = graph.operands(id)[0];
                let split = graph.node(digits).op() == Op::Decompose;
                let entries = if split { graph.shape(graph.operands(digits)[0]) } else { shape }.batch as u64;
                shared(rotation.digit_ns_per_limb[degree], entries)
            }
            Op::Intt => shared(rotation.component_ns_per_limb[degree], shape.batch as u64),
            Op::Mul | Op::MulAcc => {
                let mut key_bytes = 0;
                let key = graph.operands(id).last().copied().unwrap_or(id);
                graph.for_each_piece(key, |piece| {
                    if matches!(graph.node(piece.source).role(), Role::BootstrapKey(_)) {
                        key_bytes += graph.piece_bytes(&piece);
                    }
                });
                as_f64(key_bytes) / self.numbers.rotation.key_gb_s
            }
            _ => 0.0,
        }
    }

    /// Nanoseconds of a node on one thread, all rows together.
    fn one_thread_ns(&self, graph: &Graph, id: NodeId) -> f64 {
        let shape = graph.shape(id);
        let bytes = as_f64(moved_bytes(graph, id));
        let per_limb = |ns: &dyn Fn(&Kernels) -> f64| -> f64 {
            as_f64(shape.batch as u64) * shape.basis.iter().map(|i| ns(self.kernels(shape, i))).sum::<f64>()
        };
        let limb_bytes = bytes / as_f64(shape.rows() as u64);
        match graph.node(id).op() {
            Op::Ntt | Op::Intt => {
                let degree = (shape.ring.log_n() as usize).clamp(10, 17) - 10;
                per_limb(&|k| k.transform_ns_per_limb[degree])
            }
            Op::BasisConvert => {
                let sources = graph.shape(graph.operands(id)[0]).basis.len();
                let terms = as_f64((sources * shape.ring.n()) as u64);
                per_limb(&|k| terms * k.convert_term_ns)
            }
            Op::Mul | Op::MulAcc | Op::ScaleLimbs => per_limb(&|k| limb_bytes / k.mul_gb_s),
            Op::Add | Op::Sub | Op::Neg | Op::AddAssign | Op::ShiftLimbs | Op::Reduce => {
                per_limb(&|k| limb_bytes / k.add_gb_s)
            }
            Op::Decompose => per_limb(&|k| limb_bytes / k.add_gb_s),
            Op::Automorphism | Op::MonomialMul | Op::LweEmbed => bytes / self.numbers.memory.permute_gb_s,
            Op::Copy | Op::Zeros => bytes / self.numbers.memory.copy_gb_s,
            Op::ExpandSeed => bytes / self.numbers.memory.expand_gb_s,
            Op::Upload => 0.0,
            Op::Restrict | Op::Join | Op::Stack | Op::Split => 0.0,
            _ => self.lwe_ns(graph, id),
        }
    }

    /// Ticks of a node on all threads.
    fn node_ticks(&self, graph: &Graph, id: NodeId) -> u64 {
        if is_rotation(graph, id) {
            return ticks(self.rotation_ns(graph, id) * 1e3);
        }
        let rows = graph.lwe_shape(id).map_or_else(|| graph.shape(id).rows(), |shape| shape.batch) as u64;
        let shared = as_f64(rows.div_ceil(self.numbers.host.threads)) / as_f64(rows);
        let is_lwe = graph.lwe_shape(id).is_some();
        let compute = if is_lwe { self.lwe_ns(graph, id) } else { self.one_thread_ns(graph, id) } * shared;
        let memory = as_f64(moved_bytes(graph, id)) / self.numbers.memory.all_threads_gb_s;
        ticks((compute.max(memory) + self.numbers.assumed.node_ns.value) * 1e3)
    }

    fn is_short(&self, shape: &Shape, prime: usize) -> bool {
        shape.ring.moduli()[prime].bits() <= self.numbers.host.short_bits
    }

    fn kernels(&self, shape: &Shape, prime: usize) -> &Kernels {
        if self.is_short(shape, prime) { &self.numbers.short } else { &self.numbers.long }
    }
}

/// Whether a node is part of a blind rotation, which this device does in one go.
fn is_rotation(graph: &Graph, id: NodeId) -> bool {
    graph.regions_around(id).any(|region| region.is(Region::BlindRotate))
}

impl Machine for Cpu {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn units(&self) -> &[&'static str] {
        &["cpu"]
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
        let ticks = self.node_ticks(graph, id);
        vec![Stage { whole_input: true, ..Stage::new(TaskKind::Compute, 0, ticks) }]
    }

    /// The sum over all operations: one unit does them one after another and never waits.
    fn seconds(&self, graph: &Graph) -> Result<f64, MachineError> {
        self.accept(graph)?;
        let operations =
            graph.ids().filter(|&id| !graph.node(id).op().is_view() && !is_given(graph.node(id).op(), false));
        let ticks = operations.map(|id| self.node_ticks(graph, id)).fold(0, u64::saturating_add);
        Ok(as_f64(ticks) * self.tick_seconds())
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = Report::of(self, graph, schedule);
        report.bytes.insert("memory".into(), traffic::by_role(graph));
        report
    }
}
