//! A machine composed in its file: clusters with units, a chain of memories, networks, and policies (ADR 144).
//!
//! A unit here is all units of a name, in all clusters, working on one node together. What a cluster takes of a polynomial
//! is a policy: whole limbs, a share of the coefficients, or limbs but for base conversions. An operation draws on the
//! bandwidth of the memory where each of its operands is: the memories hold what was made last, the nearest to the units
//! the least of it.

mod energy;
mod fields;
mod memories;
mod numbers;

pub(crate) use fields::KINDS;

use self::{
    memories::{Drawn, Memories, Program},
    numbers::{Distribution, Limbs, Network, Numbers, Transforms, Unit},
};
use super::Machine;
use crate::{
    dram::ticks,
    error::MachineError,
    phases::Phases,
    program::{Order, POOLS, Pool, Stage, TaskKind},
    report::{Report, as_f64, input_reads},
    scheduler::Schedule,
    scratchpad::OffChip,
    spec::{Spec, interned},
    words::Words,
};
use limbwise_graph::{Basis, Entries, Graph, LimbOrder, NodeId, Op, Role, Shape};
use std::borrow::Cow;

/// A file to edit: a machine with everything that one can have, and what each line is.
pub(crate) fn new_machine(name: &str) -> String {
    include_str!("composed/new.toml")
        .replace("NAME.toml", &format!("{name}.toml"))
        .replace("\"NAME\"", &format!("\"{name}\""))
}

/// The model.
pub(super) struct Composed {
    spec: Spec,
    numbers: Numbers,
    memories: Memories,
    names: Vec<&'static str>,
}

impl Composed {
    /// The machine of a file.
    ///
    /// # Errors
    /// [`MachineError`] with the field that is missing or does not go with the others.
    pub(super) fn new(spec: &Spec) -> Result<Self, MachineError> {
        let numbers = Numbers::read(spec)?;
        let memories = Memories::new(spec, &numbers)?;
        let parts = numbers.unit.keys().chain(numbers.network.keys()).map(|name| interned(name));
        let names = parts.chain(memories.outside.map(|outside| outside.name)).collect();
        Ok(Self { spec: spec.clone(), numbers, memories, names })
    }

    /// The unit that does a primitive, and its number.
    fn unit(&self, primitive: &str) -> Option<(u8, &Unit)> {
        let does = |unit: &&Unit| unit.does.iter().any(|d| d == primitive);
        (0..).zip(self.numbers.unit.values()).find(|(_, unit)| does(unit))
    }

    /// The network that carries a pattern, and its number.
    fn network(&self, pattern: &str) -> Option<(u8, &Network)> {
        (0..).zip(self.numbers.network.values()).find(|(_, network)| network.takes(pattern)).map(|(at, network)| {
            let before = u8::try_from(self.numbers.unit.len()).expect("few parts");
            (before + at, network)
        })
    }

    fn by_coefficients(&self) -> bool {
        self.numbers.policy.distribution == Distribution::CoefficientWise
    }

    fn limbs(&self, shape: &Shape) -> u64 {
        self.words().limbs(shape, shape.basis)
    }

    fn bytes(&self, shape: &Shape, basis: Basis) -> u64 {
        self.words().bytes(shape, basis)
    }

    fn word_bytes(&self, words: u64) -> u64 {
        words.saturating_mul(self.numbers.chip.word_bits) / 8
    }

    /// A stage of the unit that does a primitive, on so many limbs.
    fn stage(&self, primitive: &str, limbs: u64, each: Each) -> Stage {
        let (at, unit) = self.unit(primitive).expect("refused by accept");
        let clusters = self.numbers.chip.clusters;
        let rate = unit.words_per_cycle * as_f64(unit.count);
        let (work, fill) = match each {
            Each::Words(words) => (as_f64(words), unit.depth_cycles),
            Each::Limb(log_n) => {
                let work = match unit.transforms {
                    Transforms::Words => as_f64(1 << log_n),
                    Transforms::Butterflies => as_f64(u64::from(log_n) << (log_n.max(1) - 1)),
                };
                (work, unit.transform_depth_cycles.unwrap_or(unit.depth_cycles))
            }
        };
        let (rounds, occupancy, width) = if self.by_coefficients() {
            (limbs, limbs.saturating_mul(ticks(work / (rate * as_f64(clusters)))), clusters)
        } else {
            // Of the last round no more clusters are taken than it needs.
            let rounds = limbs.div_ceil(clusters);
            (rounds, rounds.saturating_mul(ticks(work / rate)), limbs.div_ceil(rounds.max(1)))
        };
        Stage { fill, width, parts: parts(rounds), ..Stage::new(TaskKind::Compute, at, occupancy) }
    }

    /// The stage with the bytes that pass through memories: operands of `id`, its result, and `tables`.
    fn with_traffic(&self, graph: &Graph, id: NodeId, stage: Stage, tables: u64) -> Stage {
        let (program, mut drawn) = (Program { graph, words: self.words() }, [0; POOLS]);
        self.memories.tables(&mut drawn, tables);
        self.memories.write(program, id, &mut drawn);
        for &operand in graph.operands(id) {
            if let Some(shape) = graph.lwe_shape(operand) {
                self.memories.read(program, (operand, shape.bytes()), id, &mut drawn);
                continue;
            }
            graph.for_each_piece(operand, |piece| {
                let size = self.bytes(graph.shape(piece.source), piece.basis);
                self.memories.read(program, (piece.source, size), id, &mut drawn);
            });
        }
        self.drawing(stage, drawn)
    }

    fn drawing(&self, stage: Stage, drawn: Drawn) -> Stage {
        let pools = &self.memories.pools;
        stage.drawing(pools, &drawn[..pools.len()])
    }

    /// All clusters exchange the words of so many limbs, or add them up.
    fn redistribute(&self, pattern: &str, limbs: u64, n: u64) -> Stage {
        let (at, network) = self.network(pattern).expect("checked with the file");
        let bytes = self.word_bytes(limbs.saturating_mul(n));
        let clusters = self.numbers.chip.clusters;
        let gb_s = network.bandwidth_gb_s_per_cluster * as_f64(clusters) / network.hops(clusters);
        let occupancy = ticks(as_f64(bytes) / self.numbers.per_cycle(gb_s));
        let stage = Stage {
            fill: network.fill_cycles,
            parts: parts(limbs),
            ..Stage::new(TaskKind::Redistribute, at, occupancy)
        };
        self.drawing(stage, self.memories.nearest(bytes.saturating_mul(2)))
    }

    /// Step 2 of base conversions: as many targets at once as the unit makes of a word, all sources of a coefficient in turn.
    /// Every cluster takes a share of the coefficients.
    fn convert(&self, batch: u64, sources: u64, targets: u64, n: u64) -> Stage {
        let (at, unit) = self.unit("convert").expect("refused by accept");
        let blocks = batch * targets.div_ceil(unit.targets_at_once);
        let rate = unit.words_per_cycle * as_f64(unit.count) * as_f64(self.numbers.chip.clusters);
        let occupancy = blocks.saturating_mul(sources).saturating_mul(ticks(as_f64(n) / rate));
        let stage = Stage {
            fill: unit.depth_cycles,
            width: self.numbers.chip.clusters,
            parts: parts(blocks),
            whole_input: true,
            ..Stage::new(TaskKind::Compute, at, occupancy)
        };
        // A block takes all sources once.
        let words = (blocks * sources + batch * targets).saturating_mul(n);
        self.drawing(stage, self.memories.nearest(self.word_bytes(words)))
    }

    /// The sources are scaled first, unless their inverse transform took the factor or an earlier target scaled them.
    fn base_conversion(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let (from, to) = (graph.shape(graph.operands(id)[0]), graph.shape(id));
        let (batch, n) = (from.batch as u64, from.ring.n() as u64);
        let (sources, targets) = (self.limbs(from) / batch, self.limbs(to) / batch);
        let mut after_intt = self.numbers.policy.scale_with_intt;
        graph.for_each_piece(graph.operands(id)[0], |p| after_intt &= graph.node(p.source).op() == Op::Intt);
        let mut stages = Vec::with_capacity(4);
        if !after_intt && !graph.node(id).is_scaled() {
            let words = self.word_bytes((batch * sources).saturating_mul(n));
            let scaler = if self.unit("multiply").is_some() { "multiply" } else { "convert" };
            let scaling = self.stage(scaler, batch * sources, Each::Words(n));
            stages.push(self.drawing(scaling, self.memories.nearest(words.saturating_mul(2))));
        }
        let moves = self.numbers.policy.distribution == Distribution::Alternating && self.numbers.chip.clusters > 1;
        if moves {
            stages.push(self.redistribute("exchange", batch * sources, n));
        }
        stages.push(self.convert(batch, sources, targets, n));
        if moves {
            stages.push(self.redistribute("exchange", batch * targets, n));
        }
        stages
    }

    /// A transform or an automorphism; by coefficients, clusters exchange theirs on the way.
    fn whole_limbs(&self, graph: &Graph, id: NodeId, primitive: &str, each: Each) -> Vec<Stage> {
        let shape = graph.shape(id);
        let limbs = self.limbs(shape);
        let transforms = matches!(each, Each::Limb(_));
        let tables = if transforms && !self.numbers.policy.makes_twiddles { self.bytes(shape, shape.basis) } else { 0 };
        let stage = self.with_traffic(graph, id, self.stage(primitive, limbs, each), tables);
        let exchanged = self.by_coefficients() && self.numbers.chip.clusters > 1;
        let exchange = exchanged.then(|| self.redistribute("exchange", limbs, shape.ring.n() as u64));
        exchange.into_iter().chain([stage]).collect()
    }

    /// Whether a node only scales the difference that was made for it, which is then one multiply-add.
    fn is_fused_scaling(&self, graph: &Graph, id: NodeId) -> bool {
        let operand = graph.operands(id)[0];
        // Limb by limb, the value is freed before the node after this one.
        let limb = u32::from(!matches!(self.numbers.policy.limbs, Limbs::Whole));
        self.numbers.policy.fuse_subtract_scale
            && matches!(graph.node(operand).op(), Op::Sub | Op::Add)
            && graph.node(operand).freed_before().is_some_and(|freed| (id.0..=id.0 + limb).contains(&freed.0))
    }

    fn element_wise(&self, graph: &Graph, id: NodeId, primitive: &str) -> Vec<Stage> {
        let shape = graph.shape(id);
        let (limbs, n) = (self.limbs(shape), shape.ring.n() as u64);
        let stage = self.with_traffic(graph, id, self.stage(primitive, limbs, Each::Words(n)), 0);
        let with_key = graph.operands(id).iter().any(|&operand| {
            let mut key = false;
            graph.for_each_piece(operand, |p| key |= matches!(graph.node(p.source).role(), Role::EvaluationKey(_)));
            key
        });
        let limb_wise = self.numbers.policy.distribution == Distribution::LimbWise;
        let summed_across = with_key && limb_wise && self.numbers.chip.clusters > 1;
        if summed_across { vec![stage, self.redistribute("sum", limbs, n)] } else { vec![stage] }
    }

    /// An operation on LWE ciphertexts: its products, sums and moved words, shared by all clusters.
    fn on_lwe(&self, graph: &Graph, id: NodeId) -> Stage {
        let (at, unit) = self.unit("lwe").expect("refused by accept");
        let work = graph.work(id);
        let words = work.products().max(work.added_words).max(work.permuted_words);
        let clusters = self.numbers.chip.clusters;
        let rate = unit.words_per_cycle * as_f64(unit.count) * as_f64(clusters);
        let stage = Stage { width: clusters, ..Stage::new(TaskKind::Compute, at, ticks(as_f64(words) / rate)) };
        self.with_traffic(graph, id, Stage { fill: unit.depth_cycles, ..stage }, 0)
    }

    /// Twisting factors of all primes of the largest ring, for both directions.
    fn twiddle_bytes(&self, graph: &Graph) -> u64 {
        let both = |shape: &Shape| 2 * self.bytes(&shape.with_batch(1), shape.ring.full());
        graph.shapes().iter().map(both).max().unwrap_or(0)
    }
}

/// What a unit takes of each limb.
#[derive(Clone, Copy)]
enum Each {
    /// So many words.
    Words(u64),
    /// A transform of 2^log₂N words.
    Limb(u32),
}

fn parts(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// What an operation asks a unit for; `None` where it takes no time.
fn primitive(op: Op) -> Option<&'static str> {
    match op {
        Op::Ntt => Some("ntt"),
        Op::Intt => Some("intt"),
        Op::Automorphism => Some("automorphism"),
        Op::BasisConvert => Some("convert"),
        Op::Add | Op::Sub | Op::Neg | Op::AddAssign | Op::Reduce | Op::Copy => Some("add"),
        Op::Mul | Op::MulAcc | Op::ScaleLimbs | Op::ShiftLimbs => Some("multiply"),
        Op::MonomialMul => Some("rotate"),
        Op::Decompose => Some("decompose"),
        Op::Zeros => None,
        _ if op.is_view() || op.is_input() => None,
        _ => Some("lwe"),
    }
}

impl Machine for Composed {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn units(&self) -> &[&'static str] {
        &self.names
    }

    fn tick_seconds(&self) -> f64 {
        1e-6 / self.numbers.chip.clock_mhz
    }

    fn streaming(&self) -> bool {
        self.numbers.policy.streaming
    }

    fn width(&self, unit: u8) -> u64 {
        if usize::from(unit) < self.numbers.unit.len() { self.numbers.chip.clusters } else { 1 }
    }

    fn has_unit_for(&self, op: Op) -> bool {
        primitive(op).is_none_or(|primitive| self.unit(primitive).is_some())
    }

    fn lacks(&self, op: Op) -> Cow<'static, str> {
        let wanted = primitive(op).unwrap_or("none");
        Cow::Owned(format!("no unit of its file does \"{wanted}\""))
    }

    fn pools(&self) -> Vec<Pool> {
        self.memories.pools.clone()
    }

    fn words(&self) -> Words {
        Words { bits: self.numbers.chip.word_bits, wide: self.numbers.policy.words }
    }

    fn order(&self) -> Order {
        self.numbers.policy.order
    }

    fn phases(&self) -> Phases {
        self.numbers.policy.phases
    }

    fn prepare<'g>(&self, graph: &'g Graph) -> Cow<'g, Graph> {
        let order = match self.numbers.policy.limbs {
            Limbs::Whole => return Cow::Borrowed(graph),
            Limbs::Apart => LimbOrder::Operations,
            Limbs::Fused => LimbOrder::Fused,
            Limbs::Reordered => LimbOrder::Reordered,
        };
        Cow::Owned(graph.limb_by_limb(order, Entries::Apart))
    }

    fn off_chip(&self, graph: &Graph) -> Option<OffChip> {
        let outside = self.memories.outside?;
        let twiddles = if self.numbers.policy.makes_twiddles { 0 } else { self.twiddle_bytes(graph) };
        Some(OffChip {
            unit: u8::try_from(self.names.len() - 1).expect("few parts"),
            stream: outside.stream,
            capacity_bytes: self.memories.capacity.saturating_sub(twiddles).max(self.memories.prefetch),
            capacity_field: self.memories.capacity_field,
            prefetch_bytes: self.memories.prefetch,
            results_bytes: self.memories.results,
            makes_seeds: self.numbers.policy.makes_seeds,
        })
    }

    fn cost(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let op = graph.node(id).op();
        let Some(primitive) = primitive(op) else {
            // A value of zeros takes no time, but is made by a unit.
            return if op == Op::Zeros { vec![Stage::new(TaskKind::Compute, 0, 0)] } else { vec![] };
        };
        match op {
            Op::Ntt | Op::Intt => self.whole_limbs(graph, id, primitive, Each::Limb(graph.shape(id).ring.log_n())),
            Op::Automorphism | Op::MonomialMul => {
                self.whole_limbs(graph, id, primitive, Each::Words(graph.shape(id).ring.n() as u64))
            }
            Op::BasisConvert => self.base_conversion(graph, id),
            Op::ScaleLimbs if self.is_fused_scaling(graph, id) => vec![],
            _ if primitive == "lwe" => vec![self.on_lwe(graph, id)],
            _ => self.element_wise(graph, id, primitive),
        }
    }

    fn peak_products_s(&self) -> Option<f64> {
        let each = |unit: &Unit| {
            let has = |primitive| unit.does.iter().any(|d| d == primitive);
            let of_transforms = match unit.transforms {
                // ½·log₂N products a word, at N = 2^16.
                Transforms::Words => 8,
                Transforms::Butterflies => 1,
            };
            let products = [
                (has("ntt") || has("intt"), of_transforms),
                (has("convert"), unit.targets_at_once),
                (has("multiply") || has("lwe"), 1),
            ];
            let most = products.into_iter().filter(|(does, _)| *does).map(|(_, products)| products).max();
            unit.words_per_cycle * as_f64(unit.count * most.unwrap_or(0))
        };
        let all: f64 = self.numbers.unit.values().map(each).sum();
        (all > 0.0).then(|| all * as_f64(self.numbers.chip.clusters) / self.tick_seconds())
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = Report::of(self, graph, schedule);
        report.cycles = Some(schedule.ticks());
        if let Some(outermost) = self.memories.outermost {
            report.bytes.insert(outermost.into(), input_reads(graph));
        }
        for (pool, drawn) in schedule.program.pools.iter().zip(schedule.drawn_bytes()) {
            report.utilization.insert(pool.name.into(), memories::share(drawn, pool, schedule.ticks()));
        }
        self.add_energy(&mut report);
        if let Some(host) = &self.numbers.host {
            report.note_host(schedule, host.bandwidth_gb_s);
        }
        report
    }
}
