//! A ResNet-20 at full size, with generated numbers: what its recording takes.

use limbwise::{
    ckks::{BootstrapPlan, PlaintextForm, Strategy},
    params::presets::preset,
    rlwe::KeyForm,
};
use limbwise_apps::resnet::{Architecture, Inference, Network, Resnet, relu::ReluChoice};
use limbwise_runtime::record;

#[test]
#[ignore = "records a ResNet-20 at N = 2^16: half a minute"]
fn the_graph_of_a_resnet20_is_small() {
    let architecture = Architecture { side: 32, channels: 3, widths: vec![16, 32, 64], blocks: 3, classes: 10 };
    let (network, params) = (Network::generated(&architecture, 0), preset("boot").unwrap());
    let inference = Inference {
        images: 1,
        ranges: vec![10.0; architecture.layers() - 1],
        relu: ReluChoice::default(),
        strategy: Strategy::Bsgs { babies: 0 },
        plaintexts: PlaintextForm::AtUse,
        bootstrapping: Some(BootstrapPlan::smallest(1)),
        bounds: network.bounds(),
        architecture,
    };
    let program = Resnet::new(&params, inference, &network).unwrap();
    let plan = program.levels();
    assert_eq!((plan.bootstraps(), plan.input(), plan.linear), (19, 4, 4));
    let recording = record(&program, KeyForm::Seeded, &limbwise_cpu::footprint()).unwrap();
    let (bytes, nodes) = (recording.graph.node_bytes(), recording.graph.nodes().len());
    assert!(bytes <= 100 << 20, "{bytes} bytes for {nodes} nodes");
    // Keys seeded, diagonals encoded where they are used: polynomials of a whole session stay below the goal.
    assert!(recording.session_peak_bytes < 4_000_000_000, "{}", recording.session_peak_bytes);
    assert!(recording.results[0].estimate.precision_bits() > 8.0);
}
