//! The models, one a file, and what they share; `machines!` lists the machines, a line each.

mod cluster;
mod composed;
mod counts;
mod cpu;
mod cuda;
mod fhex;
mod flexmem;
mod roofline;
mod traffic;
mod upmem;

pub use cluster::{Batch, Cluster, ClusterTime};
pub use upmem::{Slots, Upmem};

use crate::{
    error::MachineError,
    field::Kinds,
    lower::{Work, lower},
    phases::Phases,
    program::{Order, Pool, Program, Stage, TaskKind},
    report::Report,
    scheduler::{self, Schedule},
    scratchpad::OffChip,
    spec::Spec,
    words::Words,
};
use limbwise_graph::{Graph, NodeId, Op};
use std::borrow::Cow;

/// A built-in machine.
pub(crate) struct BuiltIn {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Its specification.
    pub(crate) text: &'static str,
    /// The model's name in specifications, and its constructor.
    model: &'static str,
    open: fn(&Spec) -> Result<Box<dyn Machine>, MachineError>,
}

macro_rules! machines {
    ($($name:literal = $model:literal: $made:ty;)+ zoo: $($file:literal,)+) => {
        /// The built-in machines.
        pub(crate) const BUILT_IN: &[BuiltIn] = &[$(BuiltIn {
            name: $name,
            text: include_str!(concat!("../../specs/", $name, ".toml")),
            model: $model,
            open: |spec| Ok(Box::new(<$made>::new(spec)?)),
        },)+ $(BuiltIn {
            name: $file,
            text: include_str!(concat!("../../zoo/", $file, ".toml")),
            model: "composed",
            open: |spec| Ok(Box::new(composed::Composed::new(spec)?)),
        },)+];
    };
}

// Name, whose specification is specs/NAME.toml, and the model that this names; of the zoo, zoo/NAME.toml.
machines! {
    "ark" = "composed": composed::Composed;
    "cluster" = "cluster": cluster::Cluster;
    "counts" = "counts": counts::Counts;
    "cpu" = "cpu": cpu::Cpu;
    "cuda" = "cuda": cuda::Cuda;
    "fab" = "composed": composed::Composed;
    "fhex" = "fhex": fhex::Fhex;
    "fhex-in-bank" = "fhex": fhex::Fhex;
    "flexmem" = "flexmem": flexmem::Flexmem;
    "f1-scaled" = "roofline": roofline::Roofline;
    "upmem" = "upmem": upmem::Upmem;
    zoo: "bts", "cinnamon", "craterlake", "f1", "gpu", "heracles", "matcha", "morphling", "poseidon", "sharp", "strix",
}

/// A machine: its units, what a node costs on them, and its memory.
pub trait Machine {
    /// Its numbers.
    fn spec(&self) -> &Spec;

    /// Names of its units; a [`Stage`] gives an index into them.
    fn units(&self) -> &[&'static str];

    /// Length of a tick, in which all times are counted.
    fn tick_seconds(&self) -> f64;

    /// Whether a unit may start on the first part of its operand.
    fn streaming(&self) -> bool;

    /// Width of a unit; a [`Stage`] takes a part of it.
    fn width(&self, _unit: u8) -> u64 {
        1
    }

    /// Whether it has units for an operation; a model of TFHE hardware says yes to more.
    fn has_unit_for(&self, op: Op) -> bool {
        !op.is_tfhe()
    }

    /// Refuses a program with an operation that the machine has no unit for (nothing is timed as if it cost nothing), or
    /// with primes wider than its words, unless these are to be split.
    ///
    /// # Errors
    /// [`MachineError::NoUnit`], [`MachineError::NarrowWord`].
    fn accept(&self, graph: &Graph) -> Result<(), MachineError> {
        self.words().admit(self.spec().name(), graph)?;
        match graph.ids().find(|&id| !self.has_unit_for(graph.node(id).op())) {
            None => Ok(()),
            Some(id) => {
                let (machine, op) = (self.spec().name().into(), graph.node(id).op());
                let next = if op.is_tfhe() { TFHE_ELSEWHERE } else { CKKS_ELSEWHERE };
                Err(MachineError::NoUnit { machine, op: op.name(), node: id.0, why: self.lacks(op), next })
            }
        }
    }

    /// Why no unit does an operation.
    fn lacks(&self, op: Op) -> Cow<'static, str> {
        Cow::Borrowed(not_made_for(op))
    }

    /// Bandwidths that several units share, at most [`POOLS`](crate::program::POOLS); a [`Stage`] draws from them.
    fn pools(&self) -> Vec<Pool> {
        Vec::new()
    }

    /// The bandwidth among [`Self::pools`] that loads and stores pass as well.
    fn port(&self) -> Option<usize> {
        None
    }

    /// A program in the form in which the machine takes it, which is what is scheduled, checked and reported: as it is, or
    /// limb by limb.
    fn prepare<'g>(&self, graph: &'g Graph) -> Cow<'g, Graph> {
        Cow::Borrowed(graph)
    }

    /// The order in which operations may start.
    fn order(&self) -> Order {
        Order::List
    }

    /// Whether functions of one key switch overlap.
    fn phases(&self) -> Phases {
        Phases::Overlapped
    }

    /// Its words.
    fn words(&self) -> Words {
        Words::default()
    }

    /// Off-chip memory, where the model has one, and the room that a program finds on the chip.
    fn off_chip(&self, graph: &Graph) -> Option<OffChip>;

    /// The stages of a node in order, each fed by the one before. None: the result is the first operand under another
    /// name; an operation without operands has at least one.
    fn cost(&self, graph: &Graph, node: NodeId) -> Vec<Stage>;

    /// [`Self::cost`] of a graph's nodes, for a machine whose costs depend on what comes before: what that needs is found
    /// once.
    fn costs<'g>(&'g self, graph: &'g Graph) -> Box<dyn Fn(NodeId) -> Vec<Stage> + 'g> {
        Box::new(move |id| self.cost(graph, id))
    }

    /// Ticks of each node on the machine's own units, stage after stage, as if it were alone; `None` where no unit of its
    /// own has the operation. What one side of [`offload`](crate::offload) takes.
    fn own_ticks(&self, graph: &Graph) -> Vec<Option<u64>> {
        let costs = self.costs(graph);
        let ticks = |id| costs(id).iter().map(|stage| stage.occupancy).fold(0, u64::saturating_add);
        graph.ids().map(|id| self.has_unit_for(graph.node(id).op()).then(|| ticks(id))).collect()
    }

    /// Products a second with every multiplier busy, where that is known.
    fn peak_products_s(&self) -> Option<f64> {
        None
    }

    /// Report of a scheduled program.
    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        Report::of(self, graph, schedule)
    }

    /// Seconds of a program, as its report says them.
    ///
    /// # Errors
    /// As [`Self::schedule`].
    fn seconds(&self, graph: &Graph) -> Result<f64, MachineError> {
        let graph = self.prepare(graph);
        Ok(self.report(&graph, &self.schedule(&graph)?).seconds)
    }

    /// Seconds in each region, inner regions included, in the order of [`Graph::regions`].
    ///
    /// # Errors
    /// As [`Self::schedule`].
    fn region_seconds(&self, graph: &Graph) -> Result<Vec<f64>, MachineError> {
        let graph = self.prepare(graph);
        let ticks = self.schedule(&graph)?.region_ticks(&graph);
        Ok(ticks.into_iter().map(|ticks| crate::report::as_f64(ticks) * self.tick_seconds()).collect())
    }

    /// Lowers and schedules a program twice: in program order, then in the order in which the first schedule starts its
    /// operations, because on-chip memory is wanted in that order. Takes the shorter schedule, and the first where both take
    /// as long, so that a schedule does not depend on a tie (ADR 45).
    ///
    /// # Errors
    /// As [`Self::accept`], and [`MachineError::NoRoom`] where an operation wants more on-chip memory than there is.
    fn schedule(&self, graph: &Graph) -> Result<Schedule, MachineError> {
        self.accept(graph)?;
        let work = Work::new(graph, self);
        let mut best = scheduler::run(lower(&work, work.nodes())?);
        if self.off_chip(graph).is_some() && self.order() == Order::List {
            let second = scheduler::run(lower(&work, &started(graph, &best))?);
            if second.ticks() < best.ticks() {
                best = second;
            }
        }
        // What is loaded and stored takes its part of the port, in proportion to its bytes (ADR 47).
        let Some((port, grains)) = self.port().and_then(|port| Some((port, best.through(port)?))) else {
            return Ok(best);
        };
        let mut program = best.program;
        program.set_aside(port, grains);
        Ok(scheduler::run(program))
    }
}

/// What to do where a machine has no unit for an operation of TFHE, or of another scheme.
const TFHE_ELSEWHERE: &str = "choose a machine that runs TFHE, as cpu, or counts";
const CKKS_ELSEWHERE: &str = "name it among what a unit \"does\", or choose another machine, as ark or cpu";

/// Why a machine for polynomials modulo many primes has no unit for an operation of TFHE.
fn not_made_for(op: Op) -> &'static str {
    match op {
        Op::MonomialMul => "its rotations are those that a program knows, this one is by a word of a ciphertext",
        Op::Decompose => "its units convert between primes, none splits coefficients into digits of a small base",
        _ => "its units work on polynomials, and LWE ciphertexts are vectors of any length modulo any number",
    }
}

/// The nodes of a schedule in the order of their starts. The sort is stable, so nodes that start together keep the order of
/// the plan.
fn started(graph: &Graph, schedule: &Schedule) -> Vec<NodeId> {
    let Program { tasks, .. } = &schedule.program;
    let mut seen = vec![false; graph.nodes().len()];
    let mut order: Vec<(u64, NodeId)> = Vec::with_capacity(tasks.len());
    for (task, &start) in tasks.iter().zip(&schedule.start) {
        let is_operation = matches!(task.stage.kind, TaskKind::Compute | TaskKind::Redistribute);
        if is_operation && !std::mem::replace(&mut seen[task.node.index()], true) {
            order.push((start, task.node));
        }
    }
    order.sort_by_key(|(start, _)| *start);
    order.into_iter().map(|(_, id)| id).collect()
}

/// What a model says about its fields whose files are complete of themselves.
pub(crate) fn kinds(model: &str) -> Option<&'static Kinds> {
    (model == "composed").then_some(&composed::KINDS)
}

/// The names that parts of such a machine can have.
pub(crate) fn part_names() -> String {
    format!("a name of 1 to {} letters, digits, \"-\" and \"_\"", composed::MOST_LETTERS)
}

/// The text of a composed machine's file, to be edited: every section with a comment on each line.
#[must_use]
pub fn new_machine(name: &str) -> String {
    composed::new_machine(name)
}

/// The model of a specification.
///
/// # Errors
/// [`MachineError::UnknownModel`], and where the specification is not one of its model.
pub fn open(spec: &Spec) -> Result<Box<dyn Machine>, MachineError> {
    let Some(machine) = BUILT_IN.iter().find(|machine| machine.model == spec.model()) else {
        let mut known: Vec<&str> = BUILT_IN.iter().map(|machine| machine.model).collect();
        known.sort_unstable();
        known.dedup();
        let (machine, model) = (spec.name().into(), spec.model().into());
        return Err(MachineError::UnknownModel { machine, model, known: known.join(", ") });
    };
    (machine.open)(spec)
}
