//! The checker rejects every timetable that is not legal.

use super::oracle::{drawn, problem};
use limbwise_machines::offload::{
    Heft, OperationId, Placement, Policy, Problem, SideId, Timetable, ValueId, Violation, check,
};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any one number that is changed is noticed.
    #[test]
    fn a_changed_number_is_rejected(drawn in drawn(10), at: usize, by in 1u64..50, latency in 1u64..5, full: bool) {
        let problem = problem(&drawn, 2, 2, latency, full);
        let table = Timetable::of(&problem, &Heft.place(&problem).unwrap());
        let op = at % problem.len();
        type Change<'a> = Box<dyn Fn(&mut Timetable) + 'a>;
        let mut changes: Vec<Change> = vec![
            Box::new(|t| t.start[op] += by),
            Box::new(|t| t.end[op] += by),
            Box::new(|t| t.makespan += by),
            Box::new(|t| t.stream[op] = 7),
            Box::new(|t| t.side[op] = SideId(2)),
            Box::new(|t| t.end.truncate(t.end.len() - 1)),
        ];
        if !table.transfers.is_empty() {
            let moved = at % table.transfers.len();
            changes.push(Box::new(move |t| t.transfers[moved].start += by));
            changes.push(Box::new(move |t| t.transfers[moved].end += by));
            changes.push(Box::new(move |t| t.transfers[moved].value = ValueId(u32::MAX)));
            changes.push(Box::new(move |t| t.transfers[moved].to = t.transfers[moved].from));
            changes.push(Box::new(move |t| t.transfers.push(t.transfers[moved])));
            changes.push(Box::new(move |t| {
                t.transfers.remove(moved);
            }));
        }
        for (number, change) in changes.iter().enumerate() {
            let mut wrong = table.clone();
            change(&mut wrong);
            prop_assert!(check(&problem, &wrong).is_err(), "change {number}");
        }
    }
}

/// b reads a's value, on the other side; c runs beside b.
fn three() -> (Problem, Timetable) {
    let here = ([10, 50, 0], [true, false, false], [0, 0], 4, false);
    let there = ([50, 10, 0], [false, true, false], [2, 2], 4, true);
    let problem = problem(&[here, there, ([9, 9, 0], [true, false, false], [0, 0], 1, false)], 2, 1, 3, false);
    let order = [0, 1, 2].map(OperationId).to_vec();
    let table = Timetable::of(&problem, &Placement { side: [0, 1, 0].map(SideId).to_vec(), order });
    (problem, table)
}

#[test]
fn each_rule_has_a_timetable_that_breaks_it() {
    let (problem, table) = three();
    check(&problem, &table).unwrap();
    let broken = |change: &dyn Fn(&mut Timetable)| {
        let mut wrong = table.clone();
        change(&mut wrong);
        check(&problem, &wrong).unwrap_err()
    };
    // Later by a transfer that is still the same length.
    let shift = |t: &mut Timetable, op: usize, to: u64| {
        (t.start[op], t.end[op]) = (to, to + t.end[op] - t.start[op]);
    };
    assert_eq!(broken(&|t| shift(t, 2, 5)), Violation::Stream(0, 2));
    assert_eq!(broken(&|t| shift(t, 1, table.start[1] - 1)), Violation::NotThere { operation: 1, value: 2 });
    assert_eq!(broken(&|t| t.transfers.truncate(1)), Violation::NotKept(3));
    assert_eq!(broken(&|t| t.transfers.push(t.transfers[0])), Violation::Twice(2));
    let early = |t: &mut Timetable| {
        (t.transfers[0].start, t.transfers[0].end) = (0, table.transfers[0].end - table.transfers[0].start)
    };
    assert_eq!(broken(&early), Violation::Transfer(0));
    assert_eq!(broken(&|t| t.makespan -= 1), Violation::Makespan);
    assert_eq!(broken(&|t| t.end[1] += 1), Violation::Operation(1));
    assert_eq!(broken(&|t| t.side.truncate(2)), Violation::Problem);
}

#[test]
fn two_transfers_do_not_share_a_lane() {
    let read = |from| ([50, 10, 0], [false, true, false], [from, from], 4, false);
    let made = ([1, 50, 0], [true, false, false], [0, 0], 4, false);
    let problem = problem(&[made, made, read(2), read(3)], 2, 1, 3, false);
    let side = [0, 0, 1, 1].map(SideId).to_vec();
    let mut table = Timetable::of(&problem, &Placement::in_program_order(side));
    check(&problem, &table).unwrap();
    let length = table.transfers[1].end - table.transfers[1].start;
    let start = table.transfers[0].end - 1;
    (table.transfers[1].start, table.transfers[1].end) = (start, start + length);
    assert_eq!(check(&problem, &table), Err(Violation::Lane(0, 1)));
}
