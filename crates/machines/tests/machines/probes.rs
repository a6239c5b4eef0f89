//! Timing probes, tight: at t − 1 blocked, at t free. And a schedule that is tampered with is found out.

use crate::programs;
use limbwise_device::{Device, Shape};
use limbwise_graph::{Graph, NodeId};
use limbwise_machines::{
    Program, Schedule, Spec,
    check::{Violation, check},
    program::{Edge, Residency, Stage, TaskId, TaskKind},
    schedule, scheduler,
};

fn stage(unit: u8, occupancy: u64, fill: u64, parts: u32) -> Stage {
    Stage { kind: TaskKind::Compute, unit, occupancy, fill, parts, whole_input: false }
}

fn program(streaming: bool) -> Program {
    Program::new(vec!["a", "b"], 1e-9, streaming)
}

/// A graph of one node, for which all tasks of a probe are.
fn one_node() -> Graph {
    let (dev, ring) = programs::open(10, 1);
    dev.zeros(&Shape::eval(&ring, ring.full()));
    dev.finish()
}

/// The schedule starts task 1 at `at`; the checker allows `at` and forbids `at − 1`.
fn tight(program: Program, at: u64) {
    let mut schedule = scheduler::run(program);
    assert_eq!(schedule.start, [0, at]);
    assert_eq!(check(&one_node(), &schedule), Ok(()));
    schedule.start[1] = at - 1;
    assert!(check(&one_node(), &schedule).is_err());
}

fn two(streaming: bool, first: Stage, second: Stage, edge: Option<Edge>) -> Program {
    let mut program = program(streaming);
    program.push(NodeId(0), first, []);
    program.push(NodeId(0), second, edge);
    program
}

#[test]
fn a_unit_takes_the_next_task_when_it_is_free() {
    tight(two(false, stage(0, 10, 7, 1), stage(0, 5, 0, 1), None), 10);
}

#[test]
fn a_value_is_there_when_it_left_the_pipeline() {
    let output = Some(Edge::Output(TaskId(0)));
    tight(two(false, stage(0, 10, 7, 5), stage(1, 5, 0, 5), output), 17);
    let whole = Stage { whole_input: true, ..stage(1, 5, 0, 5) };
    tight(two(true, stage(0, 10, 7, 5), whole, output), 17);
}

#[test]
fn streaming_starts_at_the_first_part_but_never_overtakes() {
    let output = Some(Edge::Output(TaskId(0)));
    tight(two(true, stage(0, 10, 7, 5), stage(1, 10, 0, 5), output), 9); // 7 + one part of 2
    tight(two(true, stage(0, 10, 7, 5), stage(1, 20, 0, 5), output), 9); // a slower one cannot overtake
    tight(two(true, stage(0, 10, 7, 5), stage(1, 5, 0, 5), output), 13); // a faster one waits: its last part at 17
}

#[test]
fn room_is_there_when_its_holder_has_started() {
    let mut program = program(false);
    program.push(NodeId(0), stage(0, 10, 0, 1), []);
    program.push(NodeId(0), stage(0, 10, 0, 1), []);
    program.push(NodeId(0), stage(1, 1, 0, 1), [Edge::Start(TaskId(1))]);
    assert_eq!(scheduler::run(program).start, [0, 10, 10]);
}

#[test]
fn free_units_take_the_first_in_program_order() {
    let mut program = program(false);
    program.push(NodeId(0), stage(0, 10, 0, 1), []);
    program.push(NodeId(0), stage(1, 3, 0, 1), [Edge::Output(TaskId(0))]);
    program.push(NodeId(0), stage(1, 4, 0, 1), []); // fills the gap before task 1
    program.push(NodeId(0), stage(1, 4, 0, 1), []);
    program.push(NodeId(0), stage(1, 4, 0, 1), []);
    let schedule = scheduler::run(program);
    assert_eq!(schedule.start, [0, 12, 0, 4, 8]);
    let path: Vec<(u32, u64)> = schedule.critical_path().iter().map(|(id, ticks)| (id.0, *ticks)).collect();
    assert_eq!(path, [(1, 3), (4, 4), (3, 4), (2, 4)]);
    assert_eq!((schedule.ticks(), schedule.busy()), (15, vec![10, 15]));
}

fn real() -> (Graph, Schedule) {
    let graph = programs::rotations(2);
    let schedule = schedule(&graph, &Spec::load("ark").unwrap()).unwrap();
    assert_eq!(check(&graph, &schedule), Ok(()));
    (graph, schedule)
}

#[test]
fn a_task_moved_forward_is_found() {
    let (graph, schedule) = real();
    let mut found = 0;
    for at in (0..schedule.start.len()).filter(|&at| schedule.start[at] > 0) {
        let mut moved = schedule.clone();
        moved.start[at] -= 1;
        found += usize::from(check(&graph, &moved).is_err());
    }
    // All but tasks that wait for nothing and whose unit has a gap before them.
    assert_eq!(found, schedule.start.iter().filter(|&&s| s > 0).count());
}

#[test]
fn a_lost_start_a_lost_node_and_too_much_memory_are_found() {
    let (graph, schedule) = real();
    let mut lost = schedule.clone();
    lost.start.pop();
    assert!(matches!(check(&graph, &lost), Err(Violation::Count { .. })));
    let mut other_node = schedule.clone();
    let last_transform = graph.ids().filter(|&id| graph.work(id).ntt_products > 0).last().unwrap();
    for task in other_node.program.tasks.iter_mut().filter(|t| t.node == last_transform) {
        task.node = NodeId(0);
    }
    assert_eq!(check(&graph, &other_node), Err(Violation::Missing(last_transform.0)));
    let mut full = schedule;
    let bytes = full.program.capacity;
    full.program.residency.push(Residency { source: NodeId(0), from: 20, to: 21, bytes });
    assert!(matches!(check(&graph, &full), Err(Violation::Capacity { .. })));
}
