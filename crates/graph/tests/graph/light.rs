//! Recording is light: bytes a node, and (printed, not asserted) seconds.

use crate::common;

use limbwise_device::{Basis, Device, Null};
use limbwise_graph::{Node, Recorder};
use std::time::Instant;

#[test]
fn a_node_with_its_edges_is_at_most_48_bytes() {
    assert!(size_of::<Node>() <= 24);
    let dev = Recorder::new(Null::default());
    let ring = common::ring(&dev, 16, 30);
    let key = common::key(&dev, &ring, 6, 0);
    let mut ct = common::ciphertext(&dev, &ring, Basis::range(0, 24));
    let start = Instant::now();
    for i in 0..3000 {
        let _region = dev.region("step", i);
        ct = common::rotate(&dev, &ct, &key);
    }
    let recorded = start.elapsed();
    let graph = dev.finish();
    let nodes = graph.nodes().len();
    assert!(nodes > 100_000);
    assert!(graph.node_bytes() <= 48 * nodes, "{} bytes for {nodes} nodes", graph.node_bytes());
    let start = Instant::now();
    let counts = graph.counts();
    println!(
        "{nodes} nodes, {:.1} B each, recorded in {recorded:?}, counted in {:?}",
        graph.node_bytes() as f64 / nodes as f64,
        start.elapsed()
    );
    assert_eq!(counts.transformed_limbs, 3000 * 180);
}
