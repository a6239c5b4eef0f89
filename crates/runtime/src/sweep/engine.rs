//! Points to rows, on several threads.

use super::{
    grid::{MACHINE, Point},
    recordings::{Recorded, Recordings},
    row::{Metrics, Outcome, Row},
};
use limbwise_machines::{MachineError, Spec, machine};
use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

/// Makes the program of a point's fields and records it; or says why there is none.
pub type Recording<'a> = dyn Fn(&[(String, String)]) -> Result<Recorded, String> + Sync + 'a;

/// What is needed to give any point of a grid its numbers.
pub struct Engine<'a> {
    record: &'a Recording<'a>,
    /// Machines by the names by which points choose them; the first is that of points that do not.
    machines: BTreeMap<String, Spec>,
    default: Option<String>,
    recordings: Recordings,
}

impl<'a> Engine<'a> {
    /// For programs recorded in this way, on these machines.
    pub fn new(record: &'a Recording<'a>, machines: Vec<(String, Spec)>) -> Self {
        let default = machines.first().map(|(name, _)| name.clone());
        Self { record, default, machines: machines.into_iter().collect(), recordings: Recordings::default() }
    }

    pub fn recordings(&self) -> &Recordings {
        &self.recordings
    }

    pub fn row(&self, point: &Point) -> Row {
        let outcome = match self.recordings.get(&point.program, || (self.record)(&point.program)) {
            Err(refused) => Outcome::Refused { refused },
            Ok(recorded) => match self.timed(&recorded, point) {
                Ok(metrics) => Outcome::Timed(Box::new(metrics)),
                Err(refused) => Outcome::Refused { refused: refused.to_string() },
            },
        };
        Row { point: point.fields(), outcome }
    }

    fn timed(&self, recorded: &Recorded, point: &Point) -> Result<Metrics, MachineError> {
        let chosen = point.machine.iter().find(|(name, _)| name == MACHINE).map(|(_, value)| value);
        let name = chosen.or(self.default.as_ref()).map_or("", String::as_str);
        let spec = self.machines.get(name).ok_or_else(|| self.unknown(name))?;
        let changes: Vec<&(String, String)> = point.machine.iter().filter(|(name, _)| name != MACHINE).collect();
        let changes: Vec<(&str, &str)> = changes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let machine = machine::open(&spec.with_overrides(&changes)?)?;
        let graph = machine.prepare(&recorded.graph);
        let schedule = machine.schedule(&graph)?;
        let report = machine.report(&graph, &schedule);
        let moved = || schedule.program.off_chip_bytes.values().fold(0u64, |sum, bytes| sum.saturating_add(*bytes));
        Ok(Metrics::of(recorded, &report, machine.off_chip(&graph).map(|_| moved())))
    }

    /// A machine that is not among those of the sweep.
    fn unknown(&self, name: &str) -> MachineError {
        let known = self.machines.keys().cloned().collect::<Vec<_>>().join(", ");
        MachineError::UnknownMachine { name: name.to_owned(), known, nearest: None }
    }
}

/// Evaluates points on so many threads and hands over each row as it is there, in any order; neighbors in the list are
/// done about the same time. Ends early with the error of whoever takes the rows.
pub fn evaluate<E>(
    engine: &Engine,
    points: impl Iterator<Item = Point> + Send,
    threads: usize,
    mut done: impl FnMut(Row) -> Result<(), E>,
) -> Result<(), E> {
    let (points, stop) = (Mutex::new(points), AtomicBool::new(false));
    let next = || points.lock().unwrap_or_else(PoisonError::into_inner).next();
    let (send, rows) = mpsc::sync_channel(2 * threads.max(1));
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let send = send.clone();
            let (next, stop) = (&next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let Some(point) = next() else { return };
                    if send.send(engine.row(&point)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        // Rows of a sweep that is being stopped are let go, so that no thread waits to hand one over.
        rows.into_iter().try_for_each(&mut done).inspect_err(|_| stop.store(true, Ordering::Relaxed))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        scheme::Forecast,
        sweep::grid::{Axis, Grid},
    };
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_program_is_recorded_once_and_refused_points_are_rows() {
        let calls = AtomicUsize::new(0);
        let record = |fields: &[(String, String)]| {
            calls.fetch_add(1, Ordering::Relaxed);
            let recorded = Recorded {
                graph: std::sync::Arc::default(),
                key_bytes: 7,
                security_bits: 128,
                forecast: Forecast::Bgv { budget_bits_predicted: 20.0 },
                bootstrapping: None,
            };
            if fields[0].1 == "3" { Err("no such program".to_owned()) } else { Ok(recorded) }
        };
        let axis = |name: &str, values: &[&str]| Axis {
            name: name.into(),
            values: values.iter().map(ToString::to_string).collect(),
        };
        let machine = vec![axis("clusters", &["1", "2", "0"])];
        let grid = Grid::new(vec![axis("dnum", &["2", "3", "4"])], machine).unwrap();
        let engine = Engine::new(&record, vec![("ark".into(), Spec::load("ark").unwrap())]);
        let mut rows = Vec::new();
        let kept: Result<(), ()> = evaluate(&engine, grid.points(), 3, |row| {
            rows.push(row);
            Ok(())
        });
        assert_eq!((kept, rows.len()), (Ok(()), 9));
        assert_eq!((calls.load(Ordering::Relaxed), engine.recordings().made()), (3, 3), "one of each program");
        let refused = |row: &&Row| matches!(row.outcome, Outcome::Refused { .. });
        // All of one program, and the machine that cannot be of the two others.
        assert_eq!(rows.iter().filter(refused).count(), 3 + 2);
        let stopped = evaluate(&engine, grid.points(), 3, |_| Err("the disk is full"));
        assert_eq!(stopped, Err("the disk is full"));
    }
}
