//! A ResNet-20 at full size, with generated numbers: what its recording takes.

use limbwise::{
    ckks::{BootstrapPlan, PlaintextForm, Strategy},
    params::presets::preset,
    rlwe::KeyForm,
};
use limbwise_apps::{
    Program as _,
    network::{Inference, Planned, activation::SignChoice, calibration::Range},
    resnet::{Architecture, Trained},
    way::Arrangement,
};
use limbwise_runtime::record;

#[test]
fn the_graph_of_a_resnet20_is_small() {
    let architecture = Architecture { side: 32, channels: 3, widths: vec![16, 32, 64], blocks: 3, classes: 10 };
    let (trained, params) = (Trained::generated(&architecture, 0).unwrap(), preset("boot").unwrap());
    let skeleton = trained.network.skeleton.clone();
    let inference = Inference {
        ranges: vec![Range::between(-10.0, 10.0); skeleton.values.len()],
        network: skeleton,
        margin: 1.0,
        error: 0.005,
        sign: Some(SignChoice::default()),
        squarings: Default::default(),
        samples: 1,
        arrangement: Arrangement::default(),
        strategy: Strategy::Bsgs { babies: 0 },
        plaintexts: PlaintextForm::AtUse,
        bootstrapping: Some(BootstrapPlan::smallest(1)),
    };
    let program = Planned::new(&params, inference, &trained.network).unwrap();
    let levels = program.levels();
    assert_eq!((levels.bootstraps(), levels.values[0].read), (19, 4));
    let recording = record(&program, KeyForm::Seeded, &limbwise_cpu::footprint()).unwrap();
    let (bytes, nodes) = (recording.graph.node_bytes(), recording.graph.nodes().len());
    assert!(bytes <= 100 << 20, "{bytes} bytes for {nodes} nodes");
    // Keys seeded, diagonals encoded where they are used: polynomials of a whole session stay below the goal.
    assert!(recording.session_peak_bytes < 4_000_000_000, "{}", recording.session_peak_bytes);
    assert!(recording.results[0].estimate.precision_bits() > 8.0);
    let least = program.least_bytes();
    assert!((1 << 22..recording.session_peak_bytes).contains(&least), "{least} of {}", recording.session_peak_bytes);
}
