//! Recorded programs on models of machines.

use limbwise_graph::Graph;
use limbwise_machines::{Spec, machine};

/// A program's report on a machine and, with events, its schedule as a Chrome trace; both JSON.
pub(crate) fn timed(graph: &Graph, spec: &Spec, events: usize) -> limbwise_runtime::Result<(String, Option<String>)> {
    let machine = machine::open(spec)?;
    let graph = machine.prepare(graph);
    let schedule = machine.schedule(&graph)?;
    let mut trace = Vec::new();
    if events > 0 {
        // Writing to memory does not fail.
        let _ = schedule.write_chrome_trace(&graph, events, &mut trace);
    }
    let report = serde_json::json!(machine.report(&graph, &schedule)).to_string();
    Ok((report, (events > 0).then(|| String::from_utf8_lossy(&trace).into_owned())))
}
