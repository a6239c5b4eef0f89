//! What passes through the memories of a composed machine, in its report.

use super::{Composed, cost::streamed_bytes, memories};
use crate::{
    machine::Machine,
    program::{Pool, Stage, TaskKind},
    report::{self, Report, Roofline, input_reads},
    scheduler::Schedule,
};
use limbwise_graph::{Graph, NodeId};

impl Composed {
    /// Bytes of memories, their share of the time, and what follows from these.
    pub(super) fn add_traffic(&self, report: &mut Report, graph: &Graph, schedule: &Schedule) {
        let streamed: u64 = graph.ids().map(|id| streamed_bytes(graph, self.words(), id)).sum();
        if let Some(outside) = self.memories.outside.filter(|_| streamed > 0) {
            *report.bytes.entry(outside.name.into()).or_default().entry("evaluation_key".into()).or_default() +=
                streamed;
        }
        let program = &schedule.program;
        let moved: u64 = program.off_chip_bytes.values().sum();
        for (at, (pool, drawn)) in program.pools.iter().zip(schedule.drawn_bytes()).enumerate() {
            // The port carries what is loaded and stored besides what units draw.
            let passed = if self.port() == Some(at) { drawn.saturating_add(moved) } else { drawn };
            let whole = Pool { per_tick: pool.per_tick + program.aside_of(at), ..*pool };
            report.utilization.insert(pool.name.into(), memories::share(passed, &whole, schedule.ticks()));
        }
        match (self.memories.direct(), self.memories.outermost) {
            (Some(pool), _) => self.add_direct(report, graph, (schedule, pool)),
            (None, Some(outermost)) => {
                report.bytes.insert(outermost.into(), input_reads(graph, self.words()));
            }
            (None, None) => {}
        }
        if self.memories.off_chip_name().is_none() {
            report.notes.push("no memory off the chip: inputs are on it before, results are after".into());
        }
    }

    /// Off-chip memory that feeds units: all that they read and write passes it. What is not of an input or a result is
    /// temporary.
    fn add_direct(&self, report: &mut Report, graph: &Graph, (schedule, at): (&Schedule, usize)) {
        let (pool, words) = (schedule.program.pools[at], self.words());
        let mut bytes = input_reads(graph, words);
        let result = |id: &NodeId| {
            let node = graph.node(*id);
            !node.op().is_view() && !node.op().is_input() && is_result(graph, *id)
        };
        let size = |id: NodeId| words.of_value(graph, id, crate::words::whole(graph, id));
        bytes.insert("result".into(), graph.ids().filter(result).map(size).sum());
        let drawn = schedule.drawn_bytes()[at];
        let known: u64 = bytes.values().sum();
        bytes.insert("temporary".into(), drawn.saturating_sub(known));
        let moved: u64 = bytes.values().sum();
        report.bytes.insert(pool.name.into(), bytes);
        let bandwidth = pool.bytes_per_tick() / self.tick_seconds();
        report.roofline = self.peak_products_s().map(|peak| Roofline::new(peak, bandwidth, report.products, moved));
        report.critical_path = report::critical_path(schedule, |stage| {
            is_bound(stage, at, &pool).then_some((pool.name, report::kind_name(TaskKind::Load)))
        });
    }
}

/// Whether a stage takes as long as its bytes take through a pool: they would not pass in a tick less.
fn is_bound(stage: &Stage, at: usize, pool: &Pool) -> bool {
    let drawn = u128::from(stage.draws[at]) * u128::from(stage.occupancy);
    stage.occupancy > 0 && drawn > u128::from(pool.per_tick) * u128::from(stage.occupancy - 1)
}

/// Whether the program keeps a value to its end.
fn is_result(graph: &Graph, id: NodeId) -> bool {
    graph.node(id).freed_before().is_none()
}
