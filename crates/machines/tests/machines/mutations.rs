//! A schedule that is tampered with is found out, whatever was done to it.

use crate::{programs, random::program};
use limbwise_graph::{Graph, NodeId};
use limbwise_machines::{
    Machine, Schedule, Spec, TaskId, TaskKind,
    check::{Violation, check},
    machine,
    phases::Phases,
    program::Edge,
};
use proptest::prelude::*;

fn real() -> (Graph, Box<dyn Machine>, Schedule) {
    let graph = programs::rotations(2);
    let machine = machine::open(&Spec::load("ark").unwrap()).unwrap();
    let schedule = machine.schedule(&graph).unwrap();
    assert_eq!(check(&graph, &*machine, &schedule), Ok(()));
    (graph, machine, schedule)
}

#[test]
fn counts_results_and_memory_are_watched() {
    let (graph, machine, schedule) = real();
    let violation = |change: &dyn Fn(&mut Schedule)| {
        let mut changed = schedule.clone();
        change(&mut changed);
        check(&graph, &*machine, &changed).unwrap_err()
    };
    assert!(matches!(violation(&|s| s.start.truncate(1)), Violation::Count { .. }));
    assert_eq!(violation(&|s| s.program.capacity *= 2), Violation::Machine);
    assert_eq!(violation(&|s| s.program.streaming = !s.program.streaming), Violation::Machine);
    let last_store = schedule.program.movements.last().unwrap().source;
    let lost = violation(&|s| {
        s.program.movements.pop();
        s.program.tasks.pop();
        s.start.pop();
        // Its stay ended with the last task.
        let end = s.program.next_task();
        s.program.residency.iter_mut().for_each(|r| r.until = r.until.min(end));
    });
    assert_eq!(lost, Violation::NotStored(last_store.0));
}

#[test]
fn nothing_waits_without_a_reason() {
    let (graph, machine, schedule) = real();
    for at in (0..schedule.start.len()).filter(|&at| schedule.start[at] > 0) {
        let mut moved = schedule.clone();
        moved.start[at] -= 1;
        assert!(check(&graph, &*machine, &moved).is_err(), "task {at}");
    }
}

/// A schedule that is legal but for its phases is found out, and so is one task that starts when its operands are there.
#[test]
fn phases_do_not_start_early() {
    let (graph, machine, schedule) = real();
    let overlapped = Spec::load("ark").unwrap().with_overrides(&[("phases", "overlapped")]).unwrap();
    let mut loose = machine::open(&overlapped).unwrap().schedule(&graph).unwrap();
    assert!(loose.ticks() < schedule.ticks());
    assert_eq!(check(&graph, &*machine, &loose), Err(Violation::Machine));
    loose.program.phases = Phases::Serial;
    assert!(matches!(check(&graph, &*machine, &loose), Err(Violation::TooEarly { .. })));
    let mut early = 0;
    for id in schedule.program.ids() {
        let edges = schedule.program.edges(id).iter().filter(|edge| !matches!(edge, Edge::End(_)));
        let stage = &schedule.program.tasks[id.index()].stage;
        let release = |edge: &Edge| {
            let start = schedule.start[edge.task()?.index()];
            Some(schedule.program.release(*edge, start, Some(stage)))
        };
        let mut changed = schedule.clone();
        changed.start[id.index()] = edges.filter_map(release).max().unwrap_or(0);
        if changed.start[id.index()] < schedule.start[id.index()] && stage.kind == TaskKind::Compute {
            let found = check(&graph, &*machine, &changed);
            assert!(found.is_err(), "{id:?}");
            early += usize::from(matches!(found, Err(Violation::TooEarly { .. })));
        }
    }
    assert!(early > 10, "{early} tasks are held by nothing but their phase");
}

/// What is done to tasks; each makes the schedule wrong, or says that it does not apply.
fn mutate_task(schedule: &Schedule, kind: u8, at: usize) -> Option<Schedule> {
    let mut changed = schedule.clone();
    let program = &mut changed.program;
    let at = at % program.tasks.len();
    match kind {
        // Before what it reads is there.
        0 => {
            let edges = program.edges(TaskId(u32::try_from(at).unwrap()));
            let made = edges.iter().find_map(|e| matches!(e, Edge::Output(_)).then_some(e.task()?))?;
            changed.start[at] = schedule.start[made.index()];
            (schedule.end(made) > schedule.start[made.index()]).then_some(changed)
        }
        // On another unit, for another time, with other widths.
        1 => {
            program.tasks[at].stage.unit = (program.tasks[at].stage.unit + 1) % 6;
            Some(changed)
        }
        2 => {
            program.tasks[at].stage.occupancy = program.tasks[at].stage.occupancy.checked_sub(1)?;
            Some(changed)
        }
        3 => {
            program.tasks[at].stage.draws[0] = program.tasks[at].stage.draws[0].checked_sub(1)?;
            Some(changed)
        }
        // Left out; done twice.
        4 => {
            program.tasks.remove(at);
            changed.start.remove(at);
            Some(changed)
        }
        5 => {
            let twice = program.tasks[at];
            program.tasks.push(twice);
            changed.start.push(schedule.ticks());
            Some(changed)
        }
        // For another node.
        _ => {
            let node = &mut program.tasks[at].node;
            let is_work = matches!(schedule.program.tasks[at].stage.kind, TaskKind::Compute | TaskKind::Redistribute);
            *node = NodeId(if node.0 == 0 { 1 } else { 0 });
            is_work.then_some(changed)
        }
    }
}

/// The same for what the plan says of memory.
fn mutate_memory(schedule: &Schedule, kind: u8, at: usize) -> Option<Schedule> {
    let mut changed = schedule.clone();
    let program = &mut changed.program;
    let moved = |movement: usize| schedule.program.movements.get(movement % schedule.program.movements.len().max(1));
    match kind {
        // A stay that nothing begins, of another size, that ends before its last reader, or twice.
        0 => {
            let stays = program.residency.len();
            program.residency.get_mut(at % stays.max(1))?.bytes += 1;
            Some(changed)
        }
        1 => {
            let stay = *program.residency.get(at % program.residency.len().max(1))?;
            program.residency.push(stay);
            Some(changed)
        }
        2 => {
            let number = at % program.residency.len().max(1);
            program.residency.get(number)?;
            program.residency.remove(number);
            Some(changed)
        }
        // A movement of nothing, of another value, of other limbs.
        3 => {
            let number = at % program.movements.len().max(1);
            moved(number)?;
            program.movements.remove(number);
            Some(changed)
        }
        _ => {
            let number = at % program.movements.len().max(1);
            let basis = moved(number)?.basis;
            program.movements[number].basis = basis - limbwise_device::Basis::single(basis.iter().next()?);
            Some(changed)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_mutation_is_found(
        calls in prop::collection::vec((0u8..8, 0usize..64, 0usize..64), 4..40),
        streaming: bool,
        kind in 0u8..12,
        at in 0usize..1000,
    ) {
        let graph = program(calls);
        let changes = [
            ("memory.scratchpad.capacity_mb", "20"),
            ("policy.prefetch_mb", "5"),
            ("policy.streaming", if streaming { "true" } else { "false" }),
        ];
        let machine = machine::open(&Spec::load("ark").unwrap().with_overrides(&changes).unwrap()).unwrap();
        let schedule = machine.schedule(&graph).unwrap();
        prop_assert_eq!(check(&graph, &*machine, &schedule), Ok(()));
        prop_assume!(!schedule.start.is_empty());
        let changed = if kind < 7 { mutate_task(&schedule, kind, at) } else { mutate_memory(&schedule, kind - 7, at) };
        let Some(changed) = changed else { return Err(TestCaseError::reject("does not apply")) };
        prop_assert!(check(&graph, &*machine, &changed).is_err(), "mutation {} of task {}", kind, at);
    }
}
