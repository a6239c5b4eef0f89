//! Several boards: they share out the entries of a batch, and send each other what one made and another reads (ADR 79).

use super::{Composed, memories::Program};
use crate::{
    dram::ticks,
    machine::Machine,
    program::{Stage, TaskKind},
    report::as_f64,
};
use limbwise_graph::{Basis, Graph, NodeId, Op};

impl Composed {
    /// Boards that have a part in a program: no more than a batch has entries.
    pub(super) fn boards_of(&self, graph: &Graph) -> u64 {
        let boards = self.numbers.chip.boards;
        if boards == 1 {
            return 1;
        }
        let is_work = |id: &NodeId| !graph.node(*id).op().is_input() && !graph.node(*id).op().is_view();
        let most = graph.ids().filter(is_work).map(|id| graph.shape(id).batch as u64).max();
        most.unwrap_or(1).clamp(1, boards)
    }

    /// Entries of a batch that a board takes. The first board takes the most, so the program takes as long as it.
    pub(super) fn rounds(&self, batch: u64) -> u64 {
        batch.div_ceil(self.numbers.chip.boards)
    }

    /// The board of an entry of a batch.
    fn board(&self, batch: usize, entry: usize) -> u64 {
        entry as u64 / self.rounds(batch as u64)
    }

    /// The transfer of what a node reads and another board made. A value is sent again for each operation that reads it.
    pub(super) fn other_boards(&self, program: &Program<'_>, id: NodeId) -> Option<Stage> {
        let graph = program.graph;
        // A machine with boards has no unit for TFHE, so all values are polynomials.
        if self.numbers.chip.boards == 1 {
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
        let (at, network) = self.network("boards").filter(|_| bytes > 0)?;
        let ns = as_f64(bytes) / network.bandwidth_gb_s_per_cluster;
        let occupancy = ticks(ns * self.numbers.chip.clock_mhz / 1e3);
        Some(Stage { fill: network.fill_cycles, ..Stage::new(TaskKind::Redistribute, at, occupancy) })
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
