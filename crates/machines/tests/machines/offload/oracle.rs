//! All sides and all orders of small random problems: no policy is better, and the genetic search is never worse than HEFT.

use super::given::{link, operation, side};
use limbwise_machines::offload::{
    ByKind, Draft, Duplex, Genetic, Heft, MinCut, OneSide, OperationId, Placement, Policy, Problem, Second, SideId,
    Timetable, ValueId, check,
};
use proptest::prelude::*;

/// The least makespan of all placements, by trying them.
fn least(problem: &Problem) -> u64 {
    let mut best = u64::MAX;
    let mut placement = Placement { side: vec![SideId(0); problem.len()], order: Vec::new() };
    orders(problem, &mut placement, &mut |placement| best = best.min(Timetable::of(problem, placement).makespan));
    best
}

/// Extends an order in every way, with every side; calls for each that is whole.
fn orders(problem: &Problem, so_far: &mut Placement, whole: &mut impl FnMut(&Placement)) {
    if so_far.order.len() == problem.len() {
        return whole(so_far);
    }
    for id in problem.operations() {
        let ready = problem.predecessors(id).all(|before| so_far.order.contains(&before));
        if so_far.order.contains(&id) || !ready {
            continue;
        }
        for side in problem.side_ids().filter(|&side| problem.ticks(id, side).is_some()) {
            so_far.side[id.index()] = side;
            so_far.order.push(id);
            orders(problem, so_far, whole);
            so_far.order.pop();
        }
    }
}

/// An operation: ticks on three sides, which of them have it, what it reads, bytes of its result, whether that is kept.
type Drawn = ([u64; 3], [bool; 3], [u8; 2], u64, bool);

pub(crate) fn problem(drawn: &[Drawn], sides: usize, streams: u32, latency: u64, full: bool) -> Problem {
    let names = ["a", "b", "c"];
    let mut draft = Draft::new((0..sides).map(|i| side(names[i], if i == 0 { streams } else { 1 })).collect());
    let duplex = if full { Duplex::Full } else { Duplex::Half };
    for (x, y) in [(0, 1), (0, 2), (1, 2)].into_iter().filter(|(_, y)| usize::from(*y) < sides) {
        draft.link(SideId(x), SideId(y), link(latency, duplex));
    }
    let mut values: Vec<ValueId> = vec![draft.input(7, [SideId(0)]), draft.input(3, [SideId(1)])];
    for (node, (ticks, has, reads, bytes, kept)) in (0..).zip(drawn) {
        let own = |i: usize| (has[i] || !has[..sides].contains(&true)).then_some(ticks[i]);
        let times: Vec<Option<u64>> = (0..sides).map(own).collect();
        let read = |at: &u8| values[usize::from(*at) % values.len()];
        let reads: Vec<ValueId> = reads.iter().map(read).collect();
        let id = draft.operation(operation(node, &times), reads);
        let made = draft.value(id, *bytes);
        if *kept {
            draft.keep(made, SideId(0));
        }
        values.push(made);
    }
    draft.build().unwrap()
}

pub(crate) fn drawn(most: usize) -> impl Strategy<Value = Vec<Drawn>> {
    let one = ([1u64..60, 1u64..60, 1u64..60], any::<[bool; 3]>(), any::<[u8; 2]>(), 0u64..40, any::<bool>());
    prop::collection::vec(one, 1..=most)
}

fn policies(sides: u8) -> Vec<Box<dyn Policy>> {
    let small = Genetic { generations: 30, population: 12, ..Genetic::default() };
    let mut policies: Vec<Box<dyn Policy>> = vec![Box::new(ByKind), Box::new(Heft), Box::new(small)];
    if sides == 2 {
        policies.push(Box::new(MinCut));
    }
    policies.extend((0..sides).map(|side| Box::new(OneSide(SideId(side))) as Box<dyn Policy>));
    policies
}

fn held_to_the_oracle(problem: &Problem, sides: u8) -> Result<(), TestCaseError> {
    let least = least(problem);
    let mut heft = None;
    for policy in policies(sides) {
        let Ok(placement) = policy.place(problem) else {
            prop_assert_eq!(policy.name(), "one side", "only one side may not have all");
            continue;
        };
        let table = Timetable::of(problem, &placement);
        prop_assert_eq!(check(problem, &table), Ok(()), "{}", policy.name());
        prop_assert!(table.makespan >= least, "{} has {} and all have {least}", policy.name(), table.makespan);
        match policy.name() {
            "heft" => heft = Some(table.makespan),
            "genetic" => prop_assert!(heft.is_some_and(|heft| table.makespan <= heft)),
            _ => {}
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_policy_beats_an_exhaustive_search_on_two_sides(
        drawn in drawn(6), streams in 1u32..3, latency in 0u64..10, full: bool,
    ) {
        held_to_the_oracle(&problem(&drawn, 2, streams, latency, full), 2)?;
    }

    #[test]
    fn no_policy_beats_an_exhaustive_search_on_three_sides(
        drawn in drawn(4), streams in 1u32..3, latency in 0u64..10, full: bool,
    ) {
        held_to_the_oracle(&problem(&drawn, 3, streams, latency, full), 3)?;
    }

    #[test]
    fn larger_problems_have_legal_timetables_and_the_genetic_search_is_no_worse_than_heft(
        drawn in drawn(60), streams in 1u32..4, latency in 0u64..10, full: bool, seed: u64,
    ) {
        let problem = problem(&drawn, 2, streams, latency, full);
        let genetic = Genetic { generations: 5, population: 8, seed, second: None };
        let [heft, found] = [&Heft as &dyn Policy, &genetic].map(|policy| policy.place(&problem).unwrap());
        prop_assert_eq!(&genetic.place(&problem).unwrap(), &found, "a seed repeats its search");
        let [heft, found] = [heft, found].map(|placement| Timetable::of(&problem, &placement));
        prop_assert_eq!((check(&problem, &heft), check(&problem, &found)), (Ok(()), Ok(())));
        prop_assert!(found.makespan <= heft.makespan);
    }

    #[test]
    fn a_front_has_no_point_that_another_beats(drawn in drawn(12), latency in 0u64..10, full: bool) {
        let problem = problem(&drawn, 2, 1, latency, full);
        let genetic = Genetic { generations: 10, population: 16, second: Some(Second::LinkBytes), ..Genetic::default() };
        let front = genetic.front(&problem).unwrap();
        prop_assert!(!front.is_empty());
        for (placement, costs) in &front {
            let table = Timetable::of(&problem, placement);
            prop_assert_eq!(check(&problem, &table), Ok(()));
            prop_assert_eq!(*costs, [table.seconds(), table.link_bytes(&problem) as f64]);
        }
        for pair in front.windows(2) {
            prop_assert!(pair[0].1[0] < pair[1].1[0] && pair[0].1[1] > pair[1].1[1], "{:?}", [pair[0].1, pair[1].1]);
        }
    }
}

/// What the search finds is the best there is where the best is easily missed: two chains that overlap only when they
/// take turns.
#[test]
fn the_genetic_search_finds_what_an_exhaustive_one_finds() {
    let chain = |reads| ([30, 10, 0], [true, true, false], reads, 5, false);
    let drawn = [chain([0, 0]), chain([1, 1]), chain([2, 2]), chain([3, 3]), chain([4, 4]), chain([5, 5])];
    let problem = problem(&drawn, 2, 1, 2, true);
    let found = Timetable::of(&problem, &Genetic::default().place(&problem).unwrap()).makespan;
    assert_eq!(found, least(&problem));
    assert_eq!(problem.operations().last(), Some(OperationId(5)));
}
