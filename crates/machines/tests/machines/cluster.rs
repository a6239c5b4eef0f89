//! Clusters: a batch in parts, followed by hand.

use limbwise_graph::Graph;
use limbwise_machines::{
    Spec,
    machine::{Batch, Cluster, Machine as _},
};

/// A link of 1 GB/s without latency; a start of 2 s, and nothing for a task but what is said.
fn cluster(nodes: u32, changes: &[(&str, &str)]) -> Cluster {
    let nodes = nodes.to_string();
    let base = [
        ("nodes", nodes.as_str()),
        ("link_gb_s", "1"),
        ("link.latency_ns", "0.001"),
        ("assumed.start_seconds", "2"),
        ("assumed.task_seconds", "0.000001"),
    ];
    let spec = Spec::load("cluster").unwrap().with_overrides(&[&base[..], changes].concat()).unwrap();
    Cluster::new(&spec).unwrap()
}

const GB: u64 = 1_000_000_000;

fn batch(parts: u64) -> Batch {
    Batch { parts, part_seconds: 10.0, key_bytes: 3 * GB, input_bytes: GB, result_bytes: GB / 2, summed_bytes: 0 }
}

fn near(got: f64, wanted: f64) {
    assert!((got - wanted).abs() < 1e-4, "{got}, wanted {wanted}");
}

#[test]
fn keys_go_to_one_node_after_the_other() {
    let time = cluster(2, &[]).batch(&batch(2), 5);
    // Keys at 3 and 6 s, starts of 2 s; inputs at 6 and 9 s, for the second node is ready at 8.
    near(time.seconds_start, 8.0);
    near(time.seconds, 9.0 + 10.0 + 0.5);
    assert_eq!((time.key_copies, time.key_bytes, time.input_bytes, time.result_bytes), (2, 6 * GB, 2 * GB, GB));
    let shared = cluster(2, &[("nodes.keys", "shared")]).batch(&batch(2), 5);
    near(shared.seconds_start, 2.0);
    near(shared.seconds, 2.0 + 2.0 + 10.0 + 0.5);
    assert_eq!(shared.key_bytes, 0);
}

/// Keys, starts, inputs and results stand on the critical path of a batch beside its parts: all is told.
#[test]
fn the_critical_path_of_a_batch_adds_up() {
    let graph = crate::programs::rotations(2);
    for (nodes, parts) in [(1, 4), (2, 5), (3, 3)] {
        let cluster = cluster(nodes, &[]);
        let schedule = cluster.schedule(&graph).unwrap();
        let report = cluster.report_of(&graph, &schedule, &Batch { summed_bytes: GB / 4, ..batch(parts) }, 2);
        let path: f64 = report.critical_path.values().flat_map(|kinds| kinds.values()).sum();
        near(path, report.seconds);
        let link = &report.critical_path["link"];
        assert!(link["keys"] > 0.0 && link["inputs"] > 0.0 && link["results"] > 0.0, "{link:?}");
        // The link has the keys of a second node to carry while the first one starts.
        assert_eq!(report.critical_path["nodes"].contains_key("start"), nodes == 1);
        let outer = |path: &str| !path.contains('/');
        let regions: f64 = report.regions.iter().filter(|r| outer(&r.path)).map(|r| r.seconds).sum();
        near(regions, report.seconds);
    }
}

#[test]
fn inputs_come_while_a_part_is_evaluated() {
    // One node: 3 s of keys and 2 of its start; the first inputs come when it is ready.
    let time = cluster(1, &[]).batch(&batch(4), 5);
    near(time.seconds, 6.0 + 4.0 * 10.0 + 0.5);
    near(time.speed_up, 1.0);
    let two = cluster(2, &[]).batch(&batch(4), 5);
    // Ready at 5 and 8 s, inputs at 7 and 9; the second of each follows at once.
    near(two.seconds, 9.0 + 20.0 + 0.5);
    near(two.speed_up, (46.5 - 5.0) / (29.5 - 5.0));
    // The first node may be done with all before the last has started.
    let short = Batch { part_seconds: 0.01, input_bytes: 0, result_bytes: 0, ..batch(3) };
    let three = cluster(3, &[]).batch(&short, 5);
    assert!(three.seconds < three.seconds_start && three.speed_up.is_finite(), "{three:?}");
    // More nodes than parts: those without one get no keys.
    let many = cluster(9, &[]).batch(&batch(4), 5);
    assert_eq!((many.nodes, many.key_copies), (9, 4));
    // A link that cannot bring inputs as fast as nodes take them bounds the whole.
    let slow = cluster(8, &[("nodes.keys", "shared"), ("link_gb_s", "0.1")]).batch(&batch(64), 5);
    assert!(slow.seconds > 64.0 * 10.0 && slow.seconds < 64.0 * 10.0 + 60.0, "{}", slow.seconds);
}

#[test]
fn sums_are_a_tree_over_eight() {
    let summed = |parts| Batch { summed_bytes: GB / 4, ..batch(parts) };
    let (with, without) = (cluster(2, &[]).batch(&summed(20), 5), cluster(2, &[]).batch(&batch(20), 5));
    // Twenty results and three sums of them go out, three and one come back.
    assert_eq!(with.result_bytes - without.result_bytes, (20 + 3 + 3 + 1) * (GB / 4));
    near(with.seconds - without.seconds, 8.0 * 0.25 + 0.25 + 3.0 * 0.25 + 0.25);
}

#[test]
fn a_program_without_a_batch_runs_on_a_node() {
    let (cluster, graph) = (cluster(4, &[("machine", "ark")]), Graph::default());
    let schedule = cluster.schedule(&graph).unwrap();
    let report = cluster.report(&graph, &schedule);
    assert_eq!((report.machine.as_str(), report.cluster, cluster.nodes()), ("cluster", None, 4));
    assert!(report.notes.iter().any(|note| note.contains("one node")));
    let error =
        Spec::load("cluster").unwrap().with_overrides(&[("nodes", "0")]).and_then(|spec| Cluster::new(&spec).map(drop));
    assert!(error.is_err());
}
