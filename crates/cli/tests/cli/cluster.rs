//! A batch on a cluster, before anything starts: `plan --nodes`, `time --machine cluster`.

use crate::{
    common::{Folder, TINY_BRIDGE, tiny_tfhe_of_four_bits},
    contract::valid,
    mistakes::refused,
};
use serde_json::Value;

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("tfhe.toml", &tiny_tfhe_of_four_bits());
    folder.write("ckks.toml", TINY_BRIDGE);
    folder
}

fn numbers(report: &Value, names: [&str; 4]) -> [u64; 4] {
    names.map(|name| report["cluster"][name].as_u64().unwrap_or_else(|| panic!("{name}: {report:#}")))
}

const SIZES: [&str; 4] = ["nodes", "parts", "part", "key_copies"];
const BYTES: [&str; 4] = ["key_bytes", "input_bytes", "result_bytes", "nodes"];

#[test]
fn a_batch_is_planned_on_nodes() {
    let folder = folder("nodes");
    let pbs = ["plan", "pbs", "--batch", "50", "--preset", "tfhe.toml", "--threads", "1", "--json"];
    let alone = valid(&folder, "plan", &pbs);
    assert!(alone.get("cluster").is_none());
    let four = valid(&folder, "plan", &[&pbs[..], &["--nodes", "4", "--memory", "4GB"]].concat());
    assert_eq!(numbers(&four, SIZES), [4, 4, 13, 4], "{four:#}");
    let [keys, inputs, results, _] = numbers(&four, BYTES);
    // The last part is moved back over entries of the one before: 52 messages are sent.
    assert_eq!(inputs * 50, alone["input_bytes"].as_u64().unwrap() * 52);
    assert!(keys.is_multiple_of(4) && keys > 0 && keys < 4 * four["key_bytes"].as_u64().unwrap(), "{four:#}");
    assert_eq!(results, inputs);
    assert!(four["cluster"]["seconds"].as_f64() > four["seconds_predicted"].as_f64(), "{four:#}");
    let few = valid(&folder, "plan", &[&pbs[..], &["--nodes", "4", "--part", "5"]].concat());
    assert_eq!(numbers(&few, SIZES), [4, 10, 5, 4]);
    let said = String::from_utf8(folder.run(&[&pbs[..8], &["--nodes", "2"]].concat()).stdout).unwrap();
    for text in ["plan of pbs", "2 nodes, each cpu; 2 parts of 25", "of keys", "2 copies in memory"] {
        assert!(said.contains(text), "{text}: {said}");
    }
}

#[test]
fn sums_travel_and_programs_without_a_batch_are_refused() {
    let folder = folder("sums");
    let query = ["plan", "tpch-q6", "--rows", "64", "--preset", "ckks.toml,tfhe.toml", "--json"];
    let summed = valid(&folder, "plan", &[&query[..], &["--nodes", "3", "--part", "8"]].concat());
    assert_eq!(numbers(&summed, SIZES), [3, 8, 8, 3]);
    let told = refused(&folder, &["plan", "bootstrap", "--nodes", "2"]);
    assert!(told.contains("--nodes: bootstrap has no batch of independent rows"), "{told}");
    // Sums of groups are added; ends of columns are not, and rows of public groups have their places.
    folder.write("t.csv", "a,b\n1,x\n2,y\n3,x\n4,y\n");
    let in_parts = |sql: &'static str| {
        let words =
            ["plan", "query", "--sql", sql, "--data", "t.csv", "--preset", "ckks.toml,tfhe.toml", "--nodes", "2"];
        [&words[..], &["--part", "2", "--json"]].concat()
    };
    let groups = in_parts("SELECT b, COUNT(*), AVG(a) FROM t WHERE a < 4 GROUP BY b");
    assert_eq!(numbers(&valid(&folder, "plan", &groups), SIZES)[..2], [2, 2]);
    for wrong in [in_parts("SELECT MIN(a) FROM t WHERE a < 3"), [&groups[..], &["--public", "b"]].concat()] {
        let told = refused(&folder, &wrong);
        assert!(told.contains("query has no batch"), "{told}");
    }
}

#[test]
fn a_batch_is_timed_on_a_cluster_of_any_machine() {
    let folder = folder("machine");
    let time =
        ["time", "pbs", "--batch", "64", "--preset", "tfhe.toml", "--threads", "1", "--machine", "cluster", "--json"];
    let two = valid(&folder, "time", &time);
    assert_eq!(numbers(&two, SIZES), [2, 2, 32, 2], "{two:#}");
    let speed = |report: &Value| report["cluster"]["speed_up"].as_f64().unwrap();
    let local = valid(&folder, "time", &[&time[..], &["--set", "nodes.keys=shared", "--part", "4"]].concat());
    assert_eq!((numbers(&local, SIZES), numbers(&local, BYTES)[0]), ([2, 16, 4, 2], 0));
    assert!((1.0..=2.001).contains(&speed(&local)), "{local:#}");
    let strix = ["time", "pbs", "--batch", "64", "--preset", "strix-I-32", "--machine", "cluster", "--json"];
    let strix = [&strix[..], &["--set", "machine=strix", "--set", "nodes=3"]].concat();
    let strix = valid(&folder, "time", &strix);
    assert_eq!((&strix["cluster"]["node"], numbers(&strix, SIZES)[1]), (&"strix".into(), 3), "{strix:#}");
    // Beside another machine the whole batch is timed there.
    let both = [&time[..9], &["cluster,cpu", "--json"]].concat();
    let both = valid(&folder, "time", &both);
    assert!(both[0].get("cluster").is_none() && both[1]["machine"] == "cluster", "{both:#}");
    let told = refused(&folder, &[&time[..10], &["--trace", "t.json"]].concat());
    assert!(told.contains("a batch on a cluster has no timeline"), "{told}");
}
