//! Texts about times on machines; the report of one machine brings its own.

use super::units;
use limbwise_machines::Report;
use limbwise_runtime::Recording;

/// What was timed.
pub(crate) fn heading(preset: &str, recording: &Recording) -> String {
    let nodes = units::count(recording.graph.nodes().len() as u64);
    let products = units::count(recording.graph.counts().products());
    format!("{nodes} operations with {preset}, {products} modular products\n\n")
}

/// One machine in one line.
pub(crate) fn line(report: &Report) -> String {
    let time = units::seconds(report.seconds);
    let assumed = report.assumed.len();
    let model = if report.machine == "cpu" { "model of this CPU" } else { "model" };
    let text = format!("{time} on {} ({model}; assumed: {assumed}, listed by limbwise time)", report.machine);
    super::table::line("time", &text)
}
