//! What operations take: time of units, exchanges between clusters, bytes of memories.

use super::{
    Composed,
    memories::{Drawn, Program},
    numbers::{Distribution, Limbs, Transforms},
};
use crate::{
    dram::ticks,
    machine::Machine,
    program::{POOLS, Stage, TaskKind},
    report::as_f64,
    words::{Words, for_each_read, streams},
};
use limbwise_graph::{Graph, NodeId, Op, Role};

impl Composed {
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
    fn with_traffic(&self, program: &Program<'_>, id: NodeId, stage: Stage, tables: u64) -> Stage {
        let (graph, mut drawn) = (program.graph, [0; POOLS]);
        if self.memories.pools.is_empty() {
            return stage;
        }
        self.memories.tables(&mut drawn, tables);
        self.memories.write(program, id, &mut drawn);
        for &operand in graph.operands(id) {
            for_each_read(graph, operand, |value, basis| {
                self.memories.read(program, (value, program.bytes(value, basis)), id, &mut drawn);
            });
        }
        // A board takes its share of a batch from its own memories.
        if self.numbers.chip.boards > 1 {
            let batch = graph.shape(id).batch as u64;
            drawn = drawn.map(|bytes| bytes / batch * self.rounds(batch));
        }
        self.drawing(stage, drawn)
    }

    /// Limbs of a value that the first board makes.
    fn limbs_of(&self, program: &Program<'_>, id: NodeId) -> u64 {
        let limbs = program.limbs(id);
        if self.numbers.chip.boards == 1 {
            return limbs;
        }
        let batch = program.graph.shape(id).batch as u64;
        limbs / batch * self.rounds(batch)
    }

    fn drawing(&self, stage: Stage, drawn: Drawn) -> Stage {
        let pools = &self.memories.pools;
        stage.drawing(pools, &drawn[..pools.len()])
    }

    /// All clusters exchange the words of so many limbs, or add them up.
    fn redistribute(&self, pattern: &str, limbs: u64, n: u64) -> Stage {
        let (_, network) = self.network(pattern).expect("checked with the file");
        self.passing(pattern, network.hops(self.numbers.chip.clusters), limbs, n)
    }

    /// Every cluster gets the words of so many limbs. On its way to all others a word passes as many links as there are
    /// of these, over any topology.
    fn broadcast(&self, limbs: u64, n: u64) -> Stage {
        self.passing("exchange", as_f64(self.numbers.chip.clusters - 1), limbs, n)
    }

    /// The words of so many limbs, each over so many links.
    fn passing(&self, pattern: &str, links: f64, limbs: u64, n: u64) -> Stage {
        let (at, network) = self.network(pattern).expect("checked with the file");
        let bytes = self.word_bytes(limbs.saturating_mul(n));
        let gb_s = network.bandwidth_gb_s_per_cluster * as_f64(self.numbers.chip.clusters) / links;
        let occupancy = ticks(as_f64(bytes) / self.numbers.per_cycle(gb_s));
        let stage = Stage {
            fill: network.fill_cycles,
            parts: parts(limbs),
            ..Stage::new(TaskKind::Redistribute, at, occupancy)
        };
        self.drawing(stage, self.memories.nearest(bytes.saturating_mul(2)))
    }

    /// Step 2 of base conversions: as many targets at once as the unit makes of a word, all sources of a coefficient in turn.
    /// Every cluster takes a share of the coefficients; where sources were broadcast, of the targets.
    fn convert(&self, batch: u64, sources: u64, targets: u64, n: u64) -> Stage {
        let (at, unit) = self.unit("convert").expect("refused by accept");
        let (clusters, rate) = (self.numbers.chip.clusters, unit.words_per_cycle * as_f64(unit.count));
        let (blocks, each) = match self.numbers.policy.distribution {
            Distribution::Broadcast => (targets.div_ceil(clusters).div_ceil(unit.targets_at_once), as_f64(n) / rate),
            _ => (targets.div_ceil(unit.targets_at_once), as_f64(n) / (rate * as_f64(clusters))),
        };
        let blocks = batch * blocks;
        let occupancy = blocks.saturating_mul(sources).saturating_mul(ticks(each));
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
    pub(super) fn base_conversion(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let (from, to) = (graph.shape(graph.operands(id)[0]), graph.shape(id));
        let (batch, n) = (from.batch as u64, from.ring.n() as u64);
        let (sources, targets) = (self.limbs(from) / batch, self.limbs(to) / batch);
        let batch = self.rounds(batch);
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
        if self.numbers.policy.distribution == Distribution::Broadcast && self.numbers.chip.clusters > 1 {
            stages.push(self.broadcast(batch * sources, n));
        }
        stages.push(self.convert(batch, sources, targets, n));
        if moves {
            stages.push(self.redistribute("exchange", batch * targets, n));
        }
        stages
    }

    /// A transform or an automorphism; by coefficients, clusters exchange theirs on the way.
    pub(super) fn whole_limbs(&self, program: &Program<'_>, id: NodeId, primitive: &str, each: Each) -> Vec<Stage> {
        let shape = program.graph.shape(id);
        let limbs = self.limbs_of(program, id);
        let transforms = matches!(each, Each::Limb(_));
        let tables = if transforms && !self.numbers.policy.makes_twiddles { program.bytes(id, shape.basis) } else { 0 };
        let stage = self.with_traffic(program, id, self.stage(primitive, limbs, each), tables);
        let exchanged = self.by_coefficients() && self.numbers.chip.clusters > 1;
        let exchange = exchanged.then(|| self.redistribute("exchange", limbs, shape.ring.n() as u64));
        exchange.into_iter().chain([stage]).collect()
    }

    /// Whether a node only scales the difference that was made for it, which is then one multiply-add.
    pub(super) fn is_fused_scaling(&self, graph: &Graph, id: NodeId) -> bool {
        let operand = graph.operands(id)[0];
        // Limb by limb, the value is freed before the node after this one.
        let limb = u32::from(!matches!(self.numbers.policy.limbs, Limbs::Whole));
        self.numbers.policy.fuse_subtract_scale
            && matches!(graph.node(operand).op(), Op::Sub | Op::Add)
            && graph.node(operand).freed_before().is_some_and(|freed| (id.0..=id.0 + limb).contains(&freed.0))
    }

    pub(super) fn element_wise(&self, program: &Program<'_>, id: NodeId, primitive: &str) -> Vec<Stage> {
        let graph = program.graph;
        let (limbs, n) = (self.limbs_of(program, id), graph.shape(id).ring.n() as u64);
        let stage = self.with_traffic(program, id, self.stage(primitive, limbs, Each::Words(n)), 0);
        let reads_key = || {
            graph.operands(id).iter().any(|&operand| {
                let mut key = false;
                graph.for_each_piece(operand, |p| key |= matches!(graph.node(p.source).role(), Role::EvaluationKey(_)));
                key
            })
        };
        let limb_wise = self.numbers.policy.distribution == Distribution::LimbWise;
        let summed_across = limb_wise && self.numbers.chip.clusters > 1 && reads_key();
        if summed_across { vec![stage, self.redistribute("sum", limbs, n)] } else { vec![stage] }
    }

    /// The passing by of a key that is not kept on the chip.
    pub(super) fn streamed(&self, graph: &Graph, id: NodeId) -> Option<Stage> {
        let bytes = streamed_bytes(graph, self.words(), id);
        let outside = self.memories.outside.filter(|_| bytes > 0)?;
        let (occupancy, fill) = outside.stream.ticks(TaskKind::Load, bytes);
        Some(Stage { fill, ..Stage::new(TaskKind::Redistribute, self.off_chip_unit(), occupancy) })
    }

    pub(super) fn off_chip_unit(&self) -> u8 {
        u8::try_from(self.names.len() - 1).expect("few parts")
    }

    /// An operation on LWE ciphertexts: its products, sums and moved words, shared by all clusters.
    pub(super) fn on_lwe(&self, program: &Program<'_>, id: NodeId) -> Stage {
        let (at, unit) = self.unit("lwe").expect("refused by accept");
        let work = program.graph.work(id);
        let words = work.products().max(work.added_words).max(work.permuted_words);
        let clusters = self.numbers.chip.clusters;
        let rate = unit.words_per_cycle * as_f64(unit.count) * as_f64(clusters);
        let stage = Stage { width: clusters, ..Stage::new(TaskKind::Compute, at, ticks(as_f64(words) / rate)) };
        self.with_traffic(program, id, Stage { fill: unit.depth_cycles, ..stage }, 0)
    }
}

/// What a unit takes of each limb.
#[derive(Clone, Copy)]
pub(super) enum Each {
    /// So many words.
    Words(u64),
    /// A transform of 2^log₂N words.
    Limb(u32),
}

/// Bytes of keys that pass by while a node reads them.
pub(super) fn streamed_bytes(graph: &Graph, words: Words, id: NodeId) -> u64 {
    let keys = graph.operands(id).iter().filter(|&&operand| streams(graph, operand));
    keys.map(|&key| words.lwe_bytes(graph, key)).sum()
}

fn parts(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
