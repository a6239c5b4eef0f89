//! Small problems by hand, what each takes to the picosecond, and what is wrong by field.

use limbwise_graph::NodeId;
use limbwise_machines::offload::{
    ByKind, Draft, DraftOperation, Duplex, Genetic, Heft, Link, MinCut, OffloadError, OneSide, OperationId, Placement,
    Policy, Problem, Side, SideId, Timetable, check, lanes,
};

pub(crate) const HERE: SideId = SideId(0);
pub(crate) const THERE: SideId = SideId(1);

pub(crate) fn side(name: &'static str, streams: u32) -> Side {
    Side { name, streams, balance: 1.0 }
}

/// An operation by its picoseconds on each side.
pub(crate) fn operation(node: u32, ticks: &[Option<u64>]) -> DraftOperation {
    let seconds: Vec<Option<f64>> = ticks.iter().map(|t| t.map(|t| t as f64 * 1e-12)).collect();
    DraftOperation::new(NodeId(node), &seconds)
}

/// A byte takes a picosecond.
pub(crate) fn link(latency: u64, duplex: Duplex) -> Link {
    Link::new(1000.0, latency as f64 * 1e-12, duplex)
}

/// Two inputs at home; a and b read one each, c reads both results and goes home.
fn diamond(duplex: Duplex, streams: u32) -> Problem {
    let mut draft = Draft::new(vec![side("host", streams), side("unit", 1)]);
    draft.link(HERE, THERE, link(5, duplex));
    let inputs = [draft.input(10, [HERE]), draft.input(20, [HERE])];
    let a = draft.operation(operation(0, &[Some(100), Some(30)]), [inputs[0]]);
    let b = draft.operation(operation(1, &[Some(100), Some(40)]), [inputs[1]]);
    let (x, y) = (draft.value(a, 10), draft.value(b, 10));
    let c = draft.operation(operation(2, &[Some(50), None]), [x, y]);
    let z = draft.value(c, 10);
    draft.keep(z, HERE);
    draft.build().unwrap()
}

#[test]
fn a_timetable_waits_for_streams_lanes_and_operands() {
    let order = vec![OperationId(0), OperationId(1), OperationId(2)];
    let away = Placement { side: vec![THERE, THERE, HERE], order };
    let problem = diamond(Duplex::Half, 1);
    let table = Timetable::of(&problem, &away);
    // The first input comes at 5 + 10, the second behind it; the second result waits for nobody.
    assert_eq!((table.start[0], table.end[0]), (15, 45));
    assert_eq!((table.start[1], table.end[1]), (45, 85));
    assert_eq!(
        table.transfers.iter().map(|t| (t.start, t.end)).collect::<Vec<_>>(),
        [(0, 15), (15, 40), (45, 60), (85, 100)]
    );
    assert_eq!((table.start[2], table.makespan), (100, 150));
    assert_eq!((table.link_bytes(&problem), table.operations(&problem)), (50, vec![1, 2]));
    let [host, unit] = table.busy_seconds(&problem)[..] else { panic!("two sides") };
    assert_eq!((host, unit, table.link_seconds(&problem)), (50e-12, 70e-12, vec![70.0 * 1e-12]));
    check(&problem, &table).unwrap();
    // Here both fit beside each other on two streams, and one after the other on one.
    let home = Placement::in_program_order(vec![HERE; 3]);
    assert_eq!(Timetable::of(&problem, &home).makespan, 250);
    assert_eq!(Timetable::of(&diamond(Duplex::Half, 2), &home).makespan, 150);
}

#[test]
fn both_directions_of_a_full_duplex_link_work_at_once() {
    // One value goes there while another comes back.
    let problem = |duplex| {
        let mut draft = Draft::new(vec![side("host", 1), side("unit", 1)]);
        draft.link(HERE, THERE, link(0, duplex));
        let (out, back) = (draft.input(100, [HERE]), draft.input(100, [THERE]));
        draft.operation(operation(0, &[None, Some(1)]), [out]);
        draft.operation(operation(1, &[Some(1), None]), [back]);
        draft.build().unwrap()
    };
    let placement = Placement::in_program_order(vec![THERE, HERE]);
    assert_eq!(Timetable::of(&problem(Duplex::Half), &placement).makespan, 201);
    assert_eq!(Timetable::of(&problem(Duplex::Full), &placement).makespan, 101);
    assert_eq!(problem(Duplex::Half).lanes(), ["link"]);
    assert_eq!(problem(Duplex::Full).lanes(), ["link there", "link back"]);
}

#[test]
fn every_policy_finds_the_unit_that_pays() {
    let problem = diamond(Duplex::Full, 1);
    let time = |policy: &dyn Policy| {
        let table = Timetable::of(&problem, &policy.place(&problem).unwrap());
        check(&problem, &table).unwrap();
        table.makespan
    };
    assert_eq!(time(&OneSide(HERE)), 250);
    // HEFT moves b's input first, as the way from b to the end is longer; the search finds that a should go first.
    assert_eq!([time(&Heft), time(&Genetic::default())], [175, 150]);
    assert!(time(&MinCut) <= 250 && time(&ByKind) <= 250);
    let refused = OneSide(THERE).place(&problem).unwrap_err().to_string();
    assert_eq!(
        refused,
        "offload: unit cannot do all of the program, as an operation (operation 2); choose a policy that places each operation"
    );
}

#[test]
fn a_kind_goes_to_the_nearest_balance() {
    let slow = Side { name: "chip", streams: 1, balance: 4.0 };
    let mut draft = Draft::new(vec![slow, Side { name: "stack", balance: 1.0, ..slow }]);
    draft.link(HERE, THERE, link(0, Duplex::Half));
    for intensity in [0.0, 1.9, 2.1, 100.0] {
        draft.operation(DraftOperation { intensity, ..operation(0, &[Some(1), Some(1)]) }, []);
    }
    // What only one side has goes there whatever its kind.
    draft.operation(DraftOperation { intensity: 0.0, ..operation(0, &[Some(1), None]) }, []);
    let problem = draft.build().unwrap();
    assert_eq!(ByKind.place(&problem).unwrap().side, [THERE, THERE, HERE, HERE, HERE]);
}

#[test]
fn lanes_show_both_sides_and_the_link() {
    for duplex in [Duplex::Half, Duplex::Full] {
        let problem = diamond(duplex, 2);
        let table = Timetable::of(&problem, &Heft.place(&problem).unwrap());
        let schedule = lanes::schedule(&problem, &table);
        assert_eq!(schedule.program.units, lanes::units(&problem));
        assert_eq!(schedule.ticks(), table.makespan);
        assert_eq!(schedule.program.tasks.len(), problem.len() + table.transfers.len());
        let path: u64 = schedule.critical_path().iter().map(|(_, ticks)| ticks).sum();
        assert_eq!(path, table.makespan, "the critical path covers all of it");
        let mut starts: Vec<u64> = table.start.iter().copied().chain(table.transfers.iter().map(|t| t.start)).collect();
        starts.sort_unstable();
        assert_eq!(schedule.start, starts);
    }
}

fn draft_with(link: Option<Link>, sides: Vec<Side>, seconds: &[Option<f64>]) -> Result<Problem, OffloadError> {
    let mut draft = Draft::new(sides);
    if let Some(link) = link {
        draft.link(HERE, THERE, link);
    }
    draft.operation(DraftOperation::new(NodeId(0), seconds), []);
    draft.build()
}

#[test]
fn what_is_wrong_is_named_by_its_field() {
    let sides = || vec![side("host", 1), side("unit", 1)];
    let good = Link::new(1.0, 0.0, Duplex::Half);
    let both = [Some(1.0), Some(1.0)];
    let told = |problem: Result<Problem, OffloadError>| problem.unwrap_err().to_string();
    let said = [
        told(draft_with(None, sides(), &both)),
        told(draft_with(Some(Link { bandwidth_gb_s: [1.0, 0.0], ..good }), sides(), &both)),
        told(draft_with(Some(Link { latency_s: f64::NAN, ..good }), sides(), &both)),
        told(draft_with(Some(good), sides(), &[None, None])),
        told(draft_with(Some(good), sides(), &[Some(-1.0), None])),
        told(draft_with(Some(good), vec![side("host", 0), side("unit", 1)], &both)),
        told(draft_with(Some(good), vec![side("host", 1)], &both)),
    ];
    assert_eq!(
        said,
        [
            "offload, field \"link.host.unit\": there is no link between host and unit; give one with its bandwidth and latency",
            "offload, field \"link.host.unit.bandwidth_gb_s\": a number above 0 is wanted, got 0",
            "offload, field \"link.host.unit.latency_s\": a number from 0 is wanted, got NaN",
            "offload, field \"seconds\": no side of host, unit has an operation (operation 0); choose sides of which one has it",
            "offload, field \"operation 0.host.seconds\": a number from 0 is wanted, got -1",
            "offload, field \"host.streams\": a number from 1 is wanted, got 0",
            "offload, field \"sides\": 2 to 8 sides is wanted, got 1",
        ]
    );
    let mut three = Draft::new(vec![side("a", 1), side("b", 1), side("c", 1)]);
    [(0, 1), (1, 2)].into_iter().for_each(|(x, y)| three.link(SideId(x), SideId(y), good));
    let missing = three.clone().build().unwrap_err();
    assert_eq!(missing, OffloadError::NoLink { from: "a", to: "c" });
    three.link(SideId(2), SideId(0), good);
    let refused = MinCut.place(&three.build().unwrap()).unwrap_err();
    assert_eq!(refused, OffloadError::TwoSides { policy: "minimum cut", sides: 3 });
}
