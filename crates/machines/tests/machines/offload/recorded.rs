//! Problems from recorded programs: what is one operation, what repeats, what is moved.

use limbwise_device::{Device, Domain, Gadget, Ggsw, KeyId, LweShape, Null, Region, RingSpec, Role, Shape};
use limbwise_graph::{Graph, NodeId, Recorder};
use limbwise_machines::offload::{
    Duplex, Genetic, Grouping, Heft, Link, Patterns, Policy, Problem, Recorded, Side, SideId, SideModel, Timetable,
    check,
};
use limbwise_math::prime::ntt_primes_below;
use std::time::Instant;

const STEPS: usize = 40;

/// Blind rotations one after another: N = 1024, three digits.
fn rotations(times: usize) -> Graph {
    let dev = Recorder::new(Null::default());
    let ring = dev.ring(&RingSpec { log_n: 10, primes: ntt_primes_below(10, 48, 1, &[]).unwrap() }).unwrap();
    let shape = Shape::eval(&ring, ring.full());
    let part = || dev.upload(&shape.with_batch(STEPS), Role::BootstrapKey(KeyId(7)), &|_, _| unreachable!());
    let key = Ggsw { gadget: Gadget { base_log: 8, levels: 3 }, rows: (0..6).map(|_| vec![part(), part()]).collect() };
    let lwe = LweShape { dimension: STEPS, modulus: 2048, batch: 1 };
    let exponents = dev.upload_lwe(lwe, Role::Ciphertext, &|_, _| unreachable!());
    let test = dev.upload(&shape.with_domain(Domain::Coeff), Role::Plaintext, &|_, _| unreachable!());
    let mut kept = Vec::new();
    for _ in 0..times {
        kept.push(dev.blind_rotate(kept.last().map_or(&test, |last: &Vec<_>| &last[0]), &exponents, &key));
    }
    let graph = dev.finish();
    drop(kept);
    graph
}

/// Seconds by products and by bytes.
struct Rates {
    side: Side,
    products_s: f64,
    bytes_s: f64,
    has_keys: bool,
}

impl SideModel for Rates {
    fn side(&self) -> Side {
        self.side
    }

    fn seconds(&self, graph: &Graph, nodes: &[NodeId]) -> Option<f64> {
        let one = |&id: &NodeId| {
            let bytes = graph.operands(id).iter().map(|&o| graph.value_bytes(o)).sum::<u64>() + graph.value_bytes(id);
            (graph.work(id).products() as f64 / self.products_s).max(bytes.min(1 << 20) as f64 / self.bytes_s)
        };
        Some(nodes.iter().map(one).sum())
    }

    fn holds(&self, graph: &Graph, input: NodeId) -> bool {
        self.has_keys && matches!(graph.node(input).role(), Role::BootstrapKey(_))
    }
}

const REGIONS: [Region; 5] = [Region::Decomposition, Region::Ntt, Region::Products, Region::Intt, Region::Steps];

fn problem(graph: &Graph, copies: u32, has_keys: bool, grouping: Grouping<'_>) -> Problem {
    let chip = Rates {
        side: Side { name: "chip", streams: 4, balance: 4.0 },
        products_s: 4e12,
        bytes_s: 1e12,
        has_keys: false,
    };
    let stack =
        Rates { side: Side { name: "stack", streams: 2, balance: 0.25 }, products_s: 1e12, bytes_s: 4e12, has_keys };
    let links = [(SideId(0), SideId(1), Link::new(400.0, 1e-8, Duplex::Full))];
    Recorded { copies, grouping, ..Recorded::new(graph, &[&chip, &stack], &links) }.problem().unwrap()
}

#[test]
fn consecutive_nodes_of_a_region_are_one_operation() {
    let graph = rotations(1);
    let nodes = problem(&graph, 1, true, Grouping::Nodes);
    let grouped = problem(&graph, 1, true, Grouping::Regions(&REGIONS));
    // A first rotation of the test polynomial; each step ends with a sum, which the next begins behind.
    assert_eq!(grouped.len(), 1 + 5 * STEPS);
    let ids = |p: &Problem| p.operations().flat_map(|id| p.nodes(id).to_vec()).collect::<Vec<_>>();
    assert_eq!(ids(&nodes), ids(&grouped), "each node is in one operation");
    assert!(nodes.len() > 10 * STEPS);
}

#[test]
fn steps_are_one_pattern_and_copies_share_keys() {
    let graph = rotations(3);
    for copies in [1, 4] {
        let problem = problem(&graph, copies, false, Grouping::Regions(&REGIONS));
        assert_eq!(problem.len(), copies as usize * 3 * (1 + 5 * STEPS) - copies as usize * 2);
        let patterns = Patterns::of(&problem);
        let mut next = 0;
        for segment in &patterns.segments {
            assert_eq!(segment.operations.start, next, "stretches follow each other");
            next = segment.operations.end;
        }
        assert_eq!(next, problem.len());
        // Parts of the key are read once a step and rotation, and shared by copies.
        let key_part = 8 * 1024;
        let inputs = problem.values().iter().filter(|value| value.maker.is_none());
        assert_eq!(inputs.filter(|value| value.bytes == key_part).count(), 12 * STEPS + 1);
    }
    let steps = problem(&rotations(3), 16, true, Grouping::Regions(&REGIONS));
    let patterns = Patterns::of(&steps);
    let step = 5 * 16;
    assert!(patterns.segments.iter().filter(|segment| segment.operations.len() == step).count() > 3 * (STEPS - 2));
    let many = problem(&rotations(20), 4, true, Grouping::Nodes);
    let patterns = Patterns::of(&many);
    assert!(patterns.segments.len() >= 20 * (STEPS - 2), "{} stretches", patterns.segments.len());
    assert!(patterns.classes <= 8, "{} classes", patterns.classes);
}

#[test]
fn a_side_that_holds_the_keys_is_sent_none() {
    let graph = rotations(1);
    let moved = |has_keys| {
        let problem = problem(&graph, 2, has_keys, Grouping::Regions(&REGIONS));
        let all_there = vec![SideId(1); problem.len()];
        let placement = limbwise_machines::offload::Placement::in_program_order(all_there);
        let table = Timetable::of(&problem, &placement);
        check(&problem, &table).unwrap();
        table.link_bytes(&problem)
    };
    let keys = 12 * STEPS as u64 * 8 * 1024;
    assert_eq!(moved(false) - moved(true), keys, "once for both copies");
}

#[test]
fn patterns_are_searched_and_the_whole_is_no_worse_than_heft() {
    let graph = rotations(20);
    let problem = problem(&graph, 4, true, Grouping::Nodes);
    let begin = Instant::now();
    let [heft, found] = [&Heft as &dyn Policy, &Genetic::default()].map(|policy| {
        let table = Timetable::of(&problem, &policy.place(&problem).unwrap());
        check(&problem, &table).unwrap();
        table.makespan
    });
    println!("{} operations, heft {heft}, genetic {found}, {:?}", problem.len(), begin.elapsed());
    assert!(found <= heft);
}
