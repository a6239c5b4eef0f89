//! A machine composed in its file: clusters with units, a chain of memories, networks, and policies (ADR 144).
//!
//! A unit here is all units of a name, in all clusters, working on one node together. What a cluster takes of a polynomial
//! is a policy: whole limbs, a share of the coefficients, or limbs but for base conversions. An operation draws on the
//! bandwidth of the memory where each of its operands is: the memories hold what was made last, the nearest to the units
//! the least of it.

mod boards;
mod cost;
mod energy;
mod fields;
mod memories;
mod network;
mod numbers;
mod traffic;

pub(crate) use fields::{KINDS, MOST_LETTERS};

use self::{
    cost::Each,
    fields::PRIMITIVES,
    memories::{Memories, Program},
    numbers::{Conversion, Distribution, Limbs, Network, Numbers, Seeds, Transforms, Unit},
};
use super::Machine;
use crate::{
    error::MachineError,
    phases::Phases,
    program::{Order, Pool, Stage, TaskKind},
    report::{Report, as_f64},
    scheduler::Schedule,
    scratchpad::OffChip,
    spec::{Spec, interned},
    words::Words,
};
use limbwise_graph::{Entries, Graph, LimbOrder, NodeId, Op, Role, Shape};
use std::borrow::Cow;

/// A file to edit: a machine with everything that one can have, and what each line is.
pub(crate) fn new_machine(name: &str) -> String {
    include_str!("composed/new.toml")
        .replace("NAME.toml", &format!("{name}.toml"))
        .replace("\"NAME\"", &format!("\"{name}\""))
}

/// Number of the unit that does a primitive.
fn doer(numbers: &Numbers, primitive: &str) -> Option<u8> {
    let shared = primitive == "convert" && numbers.policy.conversion == Conversion::Shared;
    let primitive = if shared { "multiply" } else { primitive };
    let does = |unit: &Unit| unit.does.iter().any(|d| d == primitive);
    (0..).zip(numbers.unit.values()).find(|(_, unit)| does(unit)).map(|(at, _)| at)
}

/// The model.
pub(super) struct Composed {
    spec: Spec,
    numbers: Numbers,
    memories: Memories,
    names: Vec<&'static str>,
    /// The unit of each primitive that one does.
    doers: Vec<(&'static str, u8)>,
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
        let doers = PRIMITIVES.iter().filter_map(|&does| Some((does, doer(&numbers, does)?))).collect();
        Ok(Self { spec: spec.clone(), numbers, memories, names, doers })
    }

    /// The unit that does a primitive, and its number.
    fn unit(&self, primitive: &str) -> Option<(u8, &Unit)> {
        let (_, at) = self.doers.iter().find(|(does, _)| *does == primitive)?;
        self.numbers.unit.values().nth(usize::from(*at)).map(|unit| (*at, unit))
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

    fn word_bytes(&self, words: u64) -> u64 {
        words.saturating_mul(self.numbers.chip.word_bits) / 8
    }

    /// Twisting factors of all primes of the largest ring, for both directions.
    fn twiddle_bytes(&self, graph: &Graph) -> u64 {
        let both = |shape: &Shape| 2 * self.words().bytes(&shape.with_batch(1), shape.ring.full());
        graph.shapes().iter().map(both).max().unwrap_or(0)
    }
}

impl Composed {
    /// The stages of a node.
    fn stages(&self, program: &Program<'_>, id: NodeId) -> Vec<Stage> {
        let graph = program.graph;
        let op = graph.node(id).op();
        let Some(primitive) = primitive(op) else {
            // A value of zeros takes no time, but is made by a unit.
            return if op == Op::Zeros { vec![Stage::new(TaskKind::Compute, 0, 0)] } else { vec![] };
        };
        match op {
            Op::Ntt | Op::Intt => self.whole_limbs(program, id, primitive, Each::Limb(graph.shape(id).ring.log_n())),
            Op::Automorphism | Op::MonomialMul => {
                self.whole_limbs(program, id, primitive, Each::Words(graph.shape(id).ring.n() as u64))
            }
            Op::BasisConvert => self.base_conversion(graph, id),
            Op::ScaleLimbs if self.is_fused_scaling(graph, id) => vec![],
            _ if primitive == "lwe" => self.streamed(graph, id).into_iter().chain([self.on_lwe(program, id)]).collect(),
            _ => self.element_wise(program, id, primitive),
        }
    }
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

/// Whether ciphertexts come to a program in batches.
fn has_batch(graph: &Graph) -> bool {
    graph.ids().any(|id| {
        let node = graph.node(id);
        node.op().is_input() && node.role() == Role::Ciphertext && graph.shape(id).batch > 1
    })
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

    fn port(&self) -> Option<usize> {
        self.memories.port()
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
        if self.unit("decompose").is_some() && graph.ids().any(|id| graph.node(id).op().is_tfhe()) {
            // Bootstrapping keys are larger than chips: their entries come one after another.
            return Cow::Owned(graph.keys_apart().in_groups(self.numbers.policy.groups));
        }
        let order = match self.numbers.policy.limbs {
            Limbs::Whole => return Cow::Borrowed(graph),
            Limbs::Apart => LimbOrder::Operations,
            Limbs::Fused => LimbOrder::Fused,
            Limbs::Reordered => LimbOrder::Reordered,
        };
        // Boards share out the ciphertexts of a batch, so an entry must not be a node of its own; one board takes entries one
        // by one, because a whole batch does not fit on its chip. What is one ciphertext stands on the first board (ADR 79).
        let entries = if self.numbers.chip.boards > 1 && has_batch(graph) { Entries::Together } else { Entries::Apart };
        Cow::Owned(graph.limb_by_limb(order, entries))
    }

    fn off_chip(&self, graph: &Graph) -> Option<OffChip> {
        let outside = self.memories.outside?;
        let boards = self.boards_of(graph);
        let twiddles = if self.numbers.policy.makes_twiddles { 0 } else { self.twiddle_bytes(graph) };
        Some(OffChip {
            unit: self.off_chip_unit(),
            stream: outside.stream,
            // Memory of several boards adds up, which is right for a batch and too much for one ciphertext (ADR 79).
            capacity_bytes: self
                .memories
                .capacity
                .saturating_sub(twiddles)
                .max(self.memories.prefetch)
                .saturating_mul(boards),
            capacity_field: self.memories.capacity_field,
            prefetch_bytes: self.memories.prefetch,
            results_bytes: self.memories.results.saturating_mul(boards),
            makes_seeds: self.numbers.policy.seeds == Seeds::Made,
        })
    }

    fn cost(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        self.costs(graph)(id)
    }

    fn costs<'g>(&'g self, graph: &'g Graph) -> Box<dyn Fn(NodeId) -> Vec<Stage> + 'g> {
        let program = Program::new(graph, self.words());
        Box::new(move |id| {
            let mut stages = self.stages(&program, id);
            if let Some(transfer) = self.other_boards(&program, id).filter(|_| !stages.is_empty()) {
                stages.insert(0, transfer);
            }
            stages
        })
    }

    fn peak_products_s(&self) -> Option<f64> {
        let each = |unit: &Unit| {
            let has = |primitive| unit.does.iter().any(|d| d == primitive);
            let of_transforms = match unit.transforms {
                // ½·log₂N products a word, at N = 2^16.
                Transforms::Words => 8,
                Transforms::Butterflies => 1,
            };
            let beside = self.numbers.policy.conversion == Conversion::Beside;
            let products = [
                (has("ntt") || has("intt"), of_transforms),
                (has("convert") && beside, unit.targets_at_once),
                (has("multiply") || has("lwe"), 1),
            ];
            let most = products.into_iter().filter(|(does, _)| *does).map(|(_, products)| products).max();
            unit.words_per_cycle * as_f64(unit.count * most.unwrap_or(0))
        };
        let all: f64 = self.numbers.unit.values().map(each).sum();
        let chips = as_f64(self.numbers.chip.clusters * self.numbers.chip.boards);
        (all > 0.0).then(|| all * chips / self.tick_seconds())
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = Report::of(self, graph, schedule);
        report.cycles = Some(schedule.ticks());
        self.add_traffic(&mut report, graph, schedule);
        self.add_energy(&mut report);
        if let Some(host) = &self.numbers.host {
            let moved = self.memories.off_chip_name().and_then(|name| report.bytes.get(name)).cloned();
            report.note_host(&moved.unwrap_or_default(), host.bandwidth_gb_s);
        }
        report
    }
}
