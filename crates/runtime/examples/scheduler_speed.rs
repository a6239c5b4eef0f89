//! How many nodes a second machines schedule: `scheduler_speed graph.lw ark,fab` (a file of `limbwise record --out`).

#![expect(clippy::print_stdout, reason = "a tool")]

use limbwise_machines::{
    Spec,
    lower::{Work, lower},
    machine, scheduler,
};
use limbwise_runtime::files;
use std::{env, error::Error, fs::File, time::Instant};

/// Runs of each measurement; the least counts.
const RUNS: usize = 5;

fn least<T>(mut run: impl FnMut() -> T) -> (f64, T) {
    let mut best = (f64::INFINITY, run());
    for _ in 0..RUNS {
        let start = Instant::now();
        let made = run();
        best = (best.0.min(start.elapsed().as_secs_f64()), made);
    }
    best
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("name a graph: scheduler_speed graph.lw ark,fab")?;
    let machines = arguments.next().unwrap_or_else(|| "ark".into());
    let graph = files::read_graph(File::open(path)?)?;
    for name in machines.split(',') {
        let spec = Spec::load(name)?;
        let spec = if spec.has("policy.words") { spec.with_overrides(&[("words", "split")])? } else { spec };
        let machine = machine::open(&spec)?;
        let prepared = machine.prepare(&graph);
        let nodes = u32::try_from(prepared.nodes().len())?;
        let (all, schedule) = least(|| machine.schedule(&prepared));
        let schedule = schedule?;
        let (read, work) = least(|| Work::new(&prepared, &*machine));
        let (lowered, _) = least(|| lower(&work, work.nodes()).map(drop));
        let (placed, again) = least(|| scheduler::run(schedule.program.clone()));
        let rate = |seconds: f64| f64::from(nodes) / seconds / 1e6;
        let tasks = schedule.program.tasks.len();
        println!(
            "{name}: {nodes} nodes, {tasks} tasks: {:.2} million nodes a second; {all:.3} s, reading costs {read:.3}, planning and \
             lowering {lowered:.3}, placing {placed:.3} ({:.2} million); {} ticks",
            rate(all),
            rate(placed),
            again.ticks()
        );
    }
    Ok(())
}
