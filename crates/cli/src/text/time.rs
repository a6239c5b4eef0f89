//! Texts about times on machines; the report of one machine brings its own.

use super::units;
use crate::verbs::time::TimeReport;
use limbwise_graph::Graph;
use limbwise_machines::Report;

pub(crate) fn heading(what: &str, graph: &Graph) -> String {
    let nodes = units::count(graph.nodes().len() as u64);
    let products = units::count(graph.counts().products());
    format!("{nodes} operations with {what}, {products} modular products\n\n")
}

/// Why the program could not be run, if it could not.
pub(crate) fn not_run(why: Option<&str>) -> String {
    why.map_or_else(String::new, |why| {
        format!("timed by the shape of its parameters alone, with which it cannot run: {why}\n")
    })
}

/// A machine's report, with the configuration that was chosen.
pub(crate) fn report(timed: &TimeReport) -> String {
    let way = timed.way.as_ref().map_or_else(String::new, |way| {
        super::table::line("configuration", &format!("{way}: fastest on this machine"))
    });
    format!("{way}{}", timed.report)
}

pub(crate) fn line(report: &Report) -> String {
    let time = units::seconds(report.seconds);
    let assumed = report.assumed.len();
    let model = if report.machine == "cpu" { "model of this CPU" } else { "model" };
    let text = format!("{time} on {} ({model}; assumed: {assumed}, listed by limbwise time)", report.machine);
    super::table::line("time", &text)
}
