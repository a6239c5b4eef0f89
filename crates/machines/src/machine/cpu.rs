//! A CPU from its calibration: the cost of each operation, one after another.
//!
//! Times per limb were measured on one thread; the rows of an operation are shared by the threads, and no operation is
//! faster than memory lets all of them be. A tick is a picosecond.
//!
//! A device runs composites in kernels of their own, and threads wait for each other. So what a composite, or an operation
//! outside of all composites, takes is the sum of its operations times a correction, which was measured for its kind at
//! three sizes with all threads. Bytes that come from memory and not from a cache take longer by a rate of their own.

mod beyond;
mod bounds;
mod numbers;

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
    spec::Spec,
};
use bounds::Time;
use limbwise_graph::{Graph, NodeId, Op, Region, RegionInfo, Role, Shape};
use numbers::{Assumptions, Encoding, Kernels, Lwe, Memory, Rotations};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    host: Host,
    short: Kernels,
    long: Kernels,
    memory: Memory,
    encoding: Encoding,
    rotation: Rotations,
    lwe: Lwe,
    correction: BTreeMap<String, [f64; SIZES]>,
    assumed: Assumptions,
}

/// Sizes at which corrections are given.
const SIZES: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    threads: u64,
    short_bits: u32,
}

/// Composites with a correction of their own; in other regions it is that of each operation.
const COMPOSITES: [Region; 14] = [
    Region::KeySwitch,
    Region::KeySwitchOnto,
    Region::KeySwitchUndivided,
    Region::RotatedSums,
    Region::AddedRotations,
    Region::Tensor,
    Region::ModUp,
    Region::GadgetProduct,
    Region::ModDown,
    Region::Rescale,
    Region::ExtendLimb,
    Region::WeightedSums,
    Region::LinearCombination,
    Region::MatrixProduct,
];

/// Weights of one limb that grow within a sum.
const EXTENDED: &str = "extended_weights";

/// What the cost of a graph's nodes depends on beside themselves.
struct Setting {
    regions: Vec<Around>,
    /// Bytes read and written beyond the cache.
    beyond: Vec<[u64; 2]>,
}

/// Where a node is, for its cost.
#[derive(Clone, Copy)]
enum Around {
    /// Outside of all composites.
    Nothing,
    /// In a composite with this correction.
    Composite(f64),
    /// In sums with weights, with this correction.
    Sums(f64),
    /// In a blind rotation, which this device does in one go.
    Rotation,
    /// Where clear values are encoded: what is transformed there was made of them.
    Encoding,
}

/// The model.
pub(super) struct Cpu {
    spec: Spec,
    numbers: Numbers,
    /// Rows at which corrections are given, ascending.
    sizes: [f64; SIZES],
}

impl Cpu {
    /// The model of a specification.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model.
    pub(super) fn new(spec: &Spec) -> Result<Self, MachineError> {
        let mut numbers: Numbers = spec.read()?;
        let sizes = numbers.correction.remove("rows").unwrap_or([1.0, 2.0, 3.0]);
        if !(sizes[0] >= 1.0 && sizes.is_sorted_by(|a, b| a < b)) {
            return Err(MachineError::Value {
                machine: spec.name().into(),
                key: "correction.rows".into(),
                wanted: "three sizes from 1 on, ascending".into(),
                got: format!("{sizes:?}"),
            });
        }
        Ok(Self { spec: spec.clone(), numbers, sizes })
    }

    /// The correction of a kind at a size: linear in the logarithm of the rows, and beyond the measured sizes that of the
    /// nearest.
    fn correction(&self, kind: &str, rows: f64) -> f64 {
        let Some(at) = self.numbers.correction.get(kind) else { return 1.0 };
        let within = |(sizes, at): (&[f64], &[f64])| {
            let share = ((rows / sizes[0]).ln() / (sizes[1] / sizes[0]).ln()).clamp(0.0, 1.0);
            at[0] + share * (at[1] - at[0])
        };
        let from = usize::from(rows > self.sizes[1]);
        within((&self.sizes[from..], &at[from..]))
    }

    /// Where the nodes of a region are, if those around it are in `outer`.
    fn within(&self, outer: Around, region: &RegionInfo) -> Around {
        // Sums of rotations are of pairs, whose largest polynomial has the rows of two.
        let of_pairs = [Region::RotatedSums, Region::AddedRotations].iter().any(|&sums| region.is(sums));
        let polynomials = if of_pairs { 2.0 } else { 1.0 };
        let correction = |kind| self.correction(kind, f64::from(region.rows) / polynomials);
        match outer {
            Around::Sums(_) if region.is(Region::ExtendLimb) => Around::Composite(correction(EXTENDED)),
            Around::Nothing if region.is(Region::BlindRotate) => Around::Rotation,
            Around::Nothing if region.is(Region::Encode) => Around::Encoding,
            Around::Nothing if region.is(Region::WeightedSums) => Around::Sums(correction(&region.name)),
            Around::Nothing if COMPOSITES.iter().any(|&composite| region.is(composite)) => {
                Around::Composite(correction(&region.name))
            }
            outer => outer,
        }
    }

    /// Where each region's nodes are.
    fn regions(&self, graph: &Graph) -> Vec<Around> {
        let mut all: Vec<Around> = vec![Around::Nothing];
        for region in &graph.regions()[1..] {
            all.push(self.within(all[region.parent.index()], region));
        }
        all
    }

    fn setting(&self, graph: &Graph) -> Setting {
        let capacity = ticks(self.numbers.memory.cache_mb * 1e6);
        Setting { regions: self.regions(graph), beyond: beyond::beyond(graph, capacity) }
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

    /// A node inside a blind rotation: digits and components have the whole cost, but for the key, which
    /// comes from memory once for all entries.
    fn rotation(&self, graph: &Graph, id: NodeId) -> Time {
        let (op, shape) = (graph.node(id).op(), graph.shape(id));
        let degree = (shape.ring.log_n() as usize).clamp(10, 17) - 10;
        let prime = shape.basis.iter().next().unwrap_or(0);
        let rotation =
            if self.is_short(shape, prime) { &self.numbers.rotation.short } else { &self.numbers.rotation.long };
        let shared = |ns: f64, entries: u64| self.shared(ns * as_f64(shape.rows() as u64), entries);
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
                Time { memory: as_f64(key_bytes) / self.numbers.rotation.key_gb_s, ..Time::default() }
            }
            _ => Time::default(),
        }
    }

    /// How clear values became the residues that a node transforms: the embedding of one is the work of one thread. It is
    /// counted here because an upload is no work of a machine.
    fn encoding(&self, graph: &Graph, id: NodeId) -> Time {
        let (shape, rates) = (graph.shape(id), &self.numbers.encoding);
        let (entries, n) = (shape.batch as u64, as_f64(shape.ring.n() as u64));
        let embedding = self.shared(as_f64(entries) * n * rates.embed_ns_per_coefficient, entries);
        embedding.and(self.shared(as_f64(graph.value_bytes(id)) / rates.spread_gb_s, shape.rows() as u64))
    }

    /// Nanoseconds of one thread, shared by all: no part is smaller than a row.
    fn shared(&self, ns: f64, rows: u64) -> Time {
        let threads = self.numbers.host.threads;
        let arithmetic = ns / as_f64(threads);
        let all = ns * as_f64(rows.div_ceil(threads)) / as_f64(rows);
        Time { arithmetic, too_few_rows: all - arithmetic, ..Time::default() }
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

    /// A node on all threads.
    fn time(&self, graph: &Graph, id: NodeId, setting: &Setting) -> Time {
        let lwe = graph.lwe_shape(id);
        let rows = lwe.map_or_else(|| graph.shape(id).rows(), |shape| shape.batch) as u64;
        let correction = match setting.regions[graph.node(id).region().index()] {
            Around::Rotation => return self.rotation(graph, id),
            Around::Composite(correction) | Around::Sums(correction) => correction,
            Around::Nothing | Around::Encoding => {
                kind(graph.node(id).op()).map_or(1.0, |kind| self.correction(kind, as_f64(rows)))
            }
        };
        let one_thread = if lwe.is_some() { self.lwe_ns(graph, id) } else { self.one_thread_ns(graph, id) };
        let (compute, rates) = (self.shared(one_thread, rows), &self.numbers.memory);
        let copied =
            if beyond::copies(graph, id) { 2.0 * as_f64(graph.value_bytes(id)) / rates.copy_gb_s } else { 0.0 };
        let memory = as_f64(moved_bytes(graph, id)) / rates.all_threads_gb_s;
        let bound = if compute.total() >= memory { compute } else { Time { memory, ..Time::default() } };
        let near = bound.and(Time {
            memory: self.shared(copied, rows).total(),
            calls: self.numbers.assumed.node_ns.value,
            ..Time::default()
        });
        let [read, written] = setting.beyond[id.index()].map(as_f64);
        let beyond = read / rates.read_beyond_gb_s + written / rates.write_beyond_gb_s;
        let made = match setting.regions[graph.node(id).region().index()] {
            Around::Encoding if graph.node(id).op() == Op::Ntt => self.encoding(graph, id),
            _ => Time::default(),
        };
        near.times(correction).and(Time { memory: beyond, ..Time::default() }).and(made)
    }

    /// Ticks of a node on all threads.
    fn node_ticks(&self, graph: &Graph, id: NodeId, setting: &Setting) -> u64 {
        ticks(self.time(graph, id, setting).total() * 1e3)
    }

    /// Operations that take time.
    fn operations<'g>(graph: &'g Graph) -> impl Iterator<Item = NodeId> + 'g {
        graph.ids().filter(|&id| !graph.node(id).op().is_view() && !is_given(graph.node(id).op(), false))
    }

    fn is_short(&self, shape: &Shape, prime: usize) -> bool {
        shape.ring.moduli()[prime].bits() <= self.numbers.host.short_bits
    }

    fn kernels(&self, shape: &Shape, prime: usize) -> &Kernels {
        if self.is_short(shape, prime) { &self.numbers.short } else { &self.numbers.long }
    }
}

/// The kind of an operation whose correction is its own; operations that a device does alike share one.
fn kind(op: Op) -> Option<&'static str> {
    Some(match op {
        Op::Ntt | Op::Intt => "transform",
        Op::Mul => "mul",
        Op::MulAcc => "mul_acc",
        Op::Add | Op::Sub | Op::Neg | Op::Reduce => "add",
        Op::AddAssign => "add_assign",
        Op::ScaleLimbs | Op::ShiftLimbs => "scale_limbs",
        Op::Automorphism | Op::MonomialMul => "automorphism",
        Op::BasisConvert => "basis_convert",
        Op::Copy | Op::Zeros => "copy",
        Op::ExpandSeed => "expand_seed",
        _ => return None,
    })
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
        self.costs(graph)(id)
    }

    fn costs<'g>(&'g self, graph: &'g Graph) -> Box<dyn Fn(NodeId) -> Vec<Stage> + 'g> {
        let setting = self.setting(graph);
        Box::new(move |id| {
            let ticks = self.node_ticks(graph, id, &setting);
            vec![Stage { whole_input: true, ..Stage::new(TaskKind::Compute, 0, ticks) }]
        })
    }

    /// The sum over all operations: one unit does them one after another and never waits.
    fn seconds(&self, graph: &Graph) -> Result<f64, MachineError> {
        Ok(self.region_seconds(graph)?.first().copied().unwrap_or(0.0))
    }

    fn region_seconds(&self, graph: &Graph) -> Result<Vec<f64>, MachineError> {
        self.accept(graph)?;
        let (setting, regions) = (self.setting(graph), graph.regions());
        let mut ticks = vec![0_u64; regions.len()];
        for id in Self::operations(graph) {
            let own = &mut ticks[graph.node(id).region().index()];
            *own = own.saturating_add(self.node_ticks(graph, id, &setting));
        }
        for at in (1..ticks.len()).rev() {
            let outer = regions[at].parent.index();
            ticks[outer] = ticks[outer].saturating_add(ticks[at]);
        }
        Ok(ticks.into_iter().map(|ticks| as_f64(ticks) * self.tick_seconds()).collect())
    }

    /// One unit does one operation after another, so all are on the critical path; it is told by what bounds them.
    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = Report::of(self, graph, schedule);
        let setting = self.setting(graph);
        let all = Self::operations(graph).map(|id| self.time(graph, id, &setting)).fold(Time::default(), Time::and);
        report.critical_path = BTreeMap::from([("cpu".into(), all.named())]);
        report.bytes.insert("memory".into(), traffic::by_role(graph));
        report
    }
}
