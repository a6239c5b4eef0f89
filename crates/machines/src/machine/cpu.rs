//! A CPU from its calibration: the cost of each operation, one after another.
//!
//! Times per limb were measured on one thread; the rows of an operation are shared by the threads, and no operation is
//! faster than memory lets all of them be. A tick is a picosecond.

use super::Machine;
use crate::{
    dram::ticks,
    error::MachineError,
    lower::role_name,
    program::{Stage, TaskKind},
    report::{Report, as_f64, named},
    scheduler::Schedule,
    scratchpad::OffChip,
    spec::{Assumed, Spec},
};
use limbwise_graph::{Graph, NodeId, Op, Shape};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    host: Host,
    short: Kernels,
    long: Kernels,
    memory: Memory,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assumptions {
    node_ns: Assumed<f64>,
}

/// The model.
pub struct Cpu {
    spec: Spec,
    numbers: Numbers,
}

impl Cpu {
    /// The model of a specification.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model.
    pub fn new(spec: &Spec) -> Result<Self, MachineError> {
        Ok(Self { spec: spec.clone(), numbers: spec.read()? })
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
            Op::Automorphism => bytes / self.numbers.memory.permute_gb_s,
            Op::Copy | Op::Zeros => bytes / self.numbers.memory.copy_gb_s,
            Op::ExpandSeed => bytes / self.numbers.memory.expand_gb_s,
            Op::Upload => 0.0,
            Op::Restrict | Op::Join | Op::Stack | Op::Split => 0.0,
            _ => unreachable!("refused by accept"),
        }
    }

    fn kernels(&self, shape: &Shape, prime: usize) -> &Kernels {
        let short = shape.ring.moduli()[prime].bits() <= self.numbers.host.short_bits;
        if short { &self.numbers.short } else { &self.numbers.long }
    }
}

/// Bytes that a node reads and writes.
fn moved_bytes(graph: &Graph, id: NodeId) -> u64 {
    let read: u64 = graph.operands(id).iter().map(|&o| graph.shape(o).bytes()).sum();
    read + graph.shape(id).bytes()
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

    fn cost(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let rows = graph.shape(id).rows() as u64;
        let shared = as_f64(rows.div_ceil(self.numbers.host.threads)) / as_f64(rows);
        let compute = self.one_thread_ns(graph, id) * shared;
        let memory = as_f64(moved_bytes(graph, id)) / self.numbers.memory.all_threads_gb_s;
        let ns = compute.max(memory) + self.numbers.assumed.node_ns.value;
        let stage = Stage { whole_input: true, ..Stage::new(TaskKind::Compute, 0, ticks(ns * 1e3)) };
        vec![stage]
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = Report::of(self, graph, schedule);
        let mut bytes = BTreeMap::new();
        for id in graph.ids().filter(|&id| !graph.node(id).op().is_view() && !graph.node(id).op().is_input()) {
            for &operand in graph.operands(id) {
                graph.for_each_piece(operand, |piece| {
                    let role = role_name(graph.node(piece.source).role());
                    *bytes.entry(role).or_default() += graph.piece_bytes(&piece);
                });
            }
            *bytes.entry("temporary").or_default() += graph.shape(id).bytes();
        }
        report.bytes.insert("memory".into(), named(&bytes));
        report
    }
}
