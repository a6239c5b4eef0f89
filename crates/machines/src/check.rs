//! Checks a schedule against the rules, independently of how it was made.

use crate::{program::TaskId, scheduler::Schedule};
use limbwise_graph::Graph;

/// Which rule a schedule breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// Two tasks on a unit at a time.
    #[error("tasks {0:?} and {1:?} are on one unit at a time")]
    Overlap(TaskId, TaskId),
    /// A task starts before what it waits for.
    #[error("task {task:?} starts at {start}, {waits_for:?} lets it start at {earliest}")]
    TooEarly {
        /// The task.
        task: TaskId,
        /// Its start.
        start: u64,
        /// What it waits for.
        waits_for: TaskId,
        /// From when on it may start.
        earliest: u64,
    },
    /// Tasks and starts do not match.
    #[error("{tasks} tasks have {starts} starts")]
    Count {
        /// How many tasks.
        tasks: usize,
        /// How many starts.
        starts: usize,
    },
    /// A node with work has no task.
    #[error("node {0} is not scheduled")]
    Missing(u32),
    /// More in the scratchpad than it holds.
    #[error("before node {node} the scratchpad holds {bytes} of {capacity} bytes")]
    Capacity {
        /// When, in program order.
        node: u32,
        /// How much.
        bytes: u64,
        /// How much it holds.
        capacity: u64,
    },
}

/// Checks that no unit does two tasks at a time, no value is read before it exists, every node that counts for work is
/// there, and the scratchpad is never over-full.
///
/// # Errors
/// The first [`Violation`] found.
pub fn check(graph: &Graph, schedule: &Schedule) -> Result<(), Violation> {
    let program = &schedule.program;
    let (tasks, starts) = (program.tasks.len(), schedule.start.len());
    if tasks != starts {
        return Err(Violation::Count { tasks, starts });
    }
    units(schedule)?;
    for (id, task) in (0..).map(TaskId).zip(&program.tasks) {
        let start = schedule.start[id.index()];
        for &edge in program.edges(id) {
            let waits_for = edge.task();
            let earliest = program.release(edge, schedule.start[waits_for.index()], &task.stage);
            if start < earliest {
                return Err(Violation::TooEarly { task: id, start, waits_for, earliest });
            }
        }
    }
    let mut done = vec![false; graph.nodes().len()];
    for task in &program.tasks {
        done[task.node.index()] = true;
    }
    let heavy = |id: &limbwise_graph::NodeId| graph.work(*id).ntt_products + graph.work(*id).convert_sum_products > 0;
    if let Some(id) = graph.ids().filter(heavy).find(|id| !done[id.index()]) {
        return Err(Violation::Missing(id.0));
    }
    capacity(schedule)
}

fn units(schedule: &Schedule) -> Result<(), Violation> {
    let mut order: Vec<(u8, u64, u64, TaskId)> = (0..)
        .map(TaskId)
        .zip(&schedule.program.tasks)
        .filter(|(_, task)| task.stage.occupancy > 0)
        .map(|(id, task)| (task.stage.unit, schedule.start[id.index()], task.stage.occupancy, id))
        .collect();
    order.sort_unstable();
    for pair in order.windows(2) {
        let ((unit, start, occupancy, first), (next_unit, next_start, _, second)) = (pair[0], pair[1]);
        if unit == next_unit && next_start < start + occupancy {
            return Err(Violation::Overlap(first, second));
        }
    }
    Ok(())
}

fn capacity(schedule: &Schedule) -> Result<(), Violation> {
    // Those that leave before a node sort before those that arrive.
    let mut changes: Vec<(u32, bool, u64)> = Vec::new();
    for r in &schedule.program.residency {
        changes.push((r.from, true, r.bytes));
        changes.push((r.to, false, r.bytes));
    }
    changes.sort_unstable();
    let mut bytes = 0u64;
    for (node, arrives, size) in changes {
        bytes = if arrives { bytes + size } else { bytes - size };
        if bytes > schedule.program.capacity {
            return Err(Violation::Capacity { node, bytes, capacity: schedule.program.capacity });
        }
    }
    Ok(())
}
