//! Schedules as Chrome traces (chrome://tracing, Perfetto): one row a unit, microseconds.

use crate::{
    program::TaskKind,
    report::{as_f64, kind_name},
    scheduler::Schedule,
};
use limbwise_graph::Graph;
use std::io::{self, Write};

impl Schedule {
    /// Writes at most `most` events, in program order; what is left out is said in an event of its own.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_chrome_trace(&self, graph: &Graph, most: usize, mut out: impl Write) -> io::Result<()> {
        let paths = graph.region_paths();
        let us = |ticks: u64| as_f64(ticks) * self.program.tick_seconds * 1e6;
        writeln!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        for (i, unit) in self.program.units.iter().enumerate() {
            writeln!(out, r#"{{"ph":"M","name":"thread_name","pid":0,"tid":{i},"args":{{"name":"{unit}"}}}},"#)?;
        }
        let total = self.program.tasks.len();
        for (task, &start) in self.program.tasks.iter().zip(&self.start).take(most) {
            let node = graph.node(task.node);
            let name = match task.stage.kind {
                TaskKind::Compute => node.op().name(),
                kind => kind_name(kind),
            };
            let region = serde_json::Value::from(paths[node.region().index()].as_str());
            let (unit, at, length) = (task.stage.unit, us(start), us(task.stage.occupancy));
            writeln!(
                out,
                r#"{{"ph":"X","name":"{name}","pid":0,"tid":{unit},"ts":{at},"dur":{length},"args":{{"node":{},"region":{region}}}}},"#,
                task.node.0
            )?;
        }
        let (shown, end) = (total.min(most), us(self.ticks()));
        writeln!(
            out,
            r#"{{"ph":"i","name":"{shown} of {total} tasks are shown","pid":0,"tid":0,"ts":{end},"s":"g"}}"#
        )?;
        writeln!(out, "]}}")?;
        out.flush()
    }
}
