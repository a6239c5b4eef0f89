//! No machine: operations and memory of every operator, by the names of regions.
//!
//! What an accelerator's paper draws as a breakdown of operations (FHEx's figure 2: \[FHX\]). A node belongs to the
//! innermost region that it stands in, and regions of one name are one operator, wherever they stand. Every operand is
//! read whole, once, and every result written: nothing is kept on a chip.

use super::Machine;
use crate::{
    error::MachineError,
    lower::role_name,
    program::{Stage, TaskKind},
    report::{Operator, Report},
    scheduler::Schedule,
    scratchpad::OffChip,
    spec::Spec,
};
use limbwise_graph::{Graph, NodeId, Op};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Bytes of a word in a graph.
const WORD: u64 = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    memory: Memory,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    word_bytes: u64,
}

/// The model.
pub(super) struct Counts {
    spec: Spec,
    numbers: Numbers,
}

impl Counts {
    /// The model of a specification.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model.
    pub(super) fn new(spec: &Spec) -> Result<Self, MachineError> {
        Ok(Self { spec: spec.clone(), numbers: spec.read()? })
    }

    fn bytes(&self, graph_bytes: u64) -> u64 {
        (graph_bytes / WORD).saturating_mul(self.numbers.memory.word_bytes)
    }

    /// Adds what a node does to its operator.
    fn add(&self, graph: &Graph, id: NodeId, to: &mut Operator) {
        let (work, op) = (graph.work(id), graph.node(id).op());
        let sum = |a: &mut u64, b: u64| *a = a.saturating_add(b);
        sum(&mut to.multiplications, work.products());
        sum(&mut to.additions, additions(op, &work));
        sum(&mut to.moved_words, work.permuted_words);
        for (i, &operand) in graph.operands(id).iter().enumerate() {
            let mut read = |role, bytes: u64| {
                let bytes = self.bytes(bytes);
                let of_role = to.read_bytes.entry(role_name(role).to_owned()).or_default();
                *of_role = of_role.saturating_add(bytes);
            };
            if op == Op::MonomialMul && i == 1 {
                // One exponent an entry, not all of them.
                read(graph.node(operand).role(), WORD * graph.shape(id).batch as u64);
                continue;
            }
            graph.for_each_piece(operand, |piece| read(graph.node(piece.source).role(), graph.piece_bytes(&piece)));
        }
        sum(&mut to.written_bytes, self.bytes(graph.value_bytes(id)));
    }
}

/// Modular additions: two a butterfly, one a word that is accumulated or summed.
fn additions(op: Op, work: &limbwise_graph::Counts) -> u64 {
    let accumulated = if matches!(op, Op::MulAcc | Op::LweProduct) { work.elementwise_products } else { 0 };
    let terms = work.ntt_products.saturating_mul(2).saturating_add(work.convert_sum_products);
    terms.saturating_add(work.added_words).saturating_add(accumulated)
}

impl Machine for Counts {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn units(&self) -> &[&'static str] {
        &[]
    }

    fn tick_seconds(&self) -> f64 {
        1.0
    }

    fn streaming(&self) -> bool {
        false
    }

    fn has_unit_for(&self, _op: Op) -> bool {
        true
    }

    fn off_chip(&self, _graph: &Graph) -> Option<OffChip> {
        None
    }

    fn cost(&self, _graph: &Graph, _id: NodeId) -> Vec<Stage> {
        vec![Stage::new(TaskKind::Compute, 0, 0)]
    }

    /// Nothing is scheduled.
    fn schedule(&self, _graph: &Graph) -> Result<Schedule, MachineError> {
        Ok(Schedule::default())
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = Report::of(self, graph, schedule);
        let mut operators: BTreeMap<&str, Operator> = BTreeMap::new();
        for id in graph.ids().filter(|&id| !graph.node(id).op().is_view() && !graph.node(id).op().is_input()) {
            let region = &graph.regions()[graph.node(id).region().index()];
            let name = if region.name.is_empty() { "program" } else { &region.name };
            let operator = operators.entry(name).or_insert_with(|| Operator::named(name));
            self.add(graph, id, operator);
        }
        report.operators = operators.into_values().collect();
        report.operators.sort_by_key(|o| std::cmp::Reverse((o.multiplications, o.bytes())));
        let mut bytes = BTreeMap::new();
        for operator in &report.operators {
            for (role, &read) in &operator.read_bytes {
                *bytes.entry(format!("{role} read")).or_insert(0) += read;
            }
            *bytes.entry("written".to_owned()).or_insert(0) += operator.written_bytes;
        }
        report.bytes.insert("memory".into(), bytes);
        report
    }
}
