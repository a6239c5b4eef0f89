//! Machines: what a recorded program takes on hardware that is described by a file.
//!
//! Enters: specifications, one model a machine, the shared scheduler and scratchpad, reports, traces.
//! Stays out: residues, schemes, and any published result: a model knows stated numbers and named assumptions only.
//!
//! Read in this order: [`spec`] and [`field`], [`machine`] (the trait and the models), [`program`] (tasks), [`lower`] and
//! [`scratchpad`] (from graph to tasks), [`scheduler`], [`check`], [`report`], [`trace`], [`html`]. Of machines with several sides:
//! [`offload`]. Apart from all that: [`address`]
//! (where a polynomial stands in DRAM) and [`simfhe`] (another's counting model, restated).
//!
//! ```
//! use limbwise_machines::{Spec, time};
//! let faster = Spec::load("ark")?.with_overrides(&[("memory.hbm.bandwidth_gb_s", "2000")])?;
//! let report = time(&limbwise_graph::Graph::default(), &faster)?;
//! assert_eq!(report.cycles, Some(0));
//! # Ok::<(), limbwise_machines::MachineError>(())
//! ```

pub mod address;
pub mod check;
pub mod dram;
pub mod error;
pub mod field;
pub mod html;
pub mod lower;
pub mod machine;
pub mod offload;
pub mod phases;
mod plan;
pub mod program;
pub mod report;
mod reuse;
pub mod scheduler;
pub mod scratchpad;
pub mod simfhe;
pub mod spec;
mod threads;
pub mod trace;
pub mod words;

pub use error::MachineError;
pub use field::Field;
pub use machine::{Machine, new_machine};
pub use program::{Program, Task, TaskId, TaskKind};
pub use report::Report;
pub use scheduler::Schedule;
pub use spec::{Assumption, Spec, names};

use limbwise_graph::Graph;
use std::borrow::Cow;

/// Times a program on a machine.
///
/// # Errors
/// [`MachineError`] where the specification is not one of its model, or the machine has no unit for an operation.
pub fn time(graph: &Graph, spec: &Spec) -> Result<Report, MachineError> {
    let machine = machine::open(spec)?;
    let graph = machine.prepare(graph);
    let schedule = machine.schedule(&graph)?;
    Ok(machine.report(&graph, &schedule))
}

/// The seconds of [`time`], without the rest of the report.
///
/// # Errors
/// As [`time`].
pub fn seconds(graph: &Graph, spec: &Spec) -> Result<f64, MachineError> {
    machine::open(spec)?.seconds(graph)
}

/// Seconds in each region, inner regions included, in the order of [`Graph::regions`]; those of the first are all.
///
/// # Errors
/// As [`time`].
pub fn region_seconds(graph: &Graph, spec: &Spec) -> Result<Vec<f64>, MachineError> {
    machine::open(spec)?.region_seconds(graph)
}

/// Schedules a program on a machine: for traces and for [`check::check`], with the program as the machine takes it.
///
/// # Errors
/// As [`time`].
pub fn schedule<'g>(graph: &'g Graph, spec: &Spec) -> Result<(Cow<'g, Graph>, Schedule), MachineError> {
    let machine = machine::open(spec)?;
    let graph = machine.prepare(graph);
    let schedule = machine.schedule(&graph)?;
    Ok((graph, schedule))
}
