//! Slots of a network's ciphertexts that no sample or no number stands in stay where polynomials and promises hold.

use crate::encrypted::session;
use limbwise::{
    ckks::{PlaintextForm, Strategy},
    params::{Insecure, Params, ParamsLiteral},
};
use limbwise_apps::{
    Client as _,
    linear::layer::Model,
    network::{
        Inference, Network, NetworkError, Planned, Skeleton, calibration,
        client::NetworkClient,
        function::{Expression, Named},
        linear::Linear,
        skeleton::{Operation, Term, Value},
    },
    way::Arrangement,
};
use std::sync::Arc;

fn params(levels: usize) -> Params {
    let mut literal = ParamsLiteral::chain(11, 50, 40, levels, (50, 6), 5);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).unwrap()
}

fn value(size: usize, operation: Operation) -> Value {
    Value { name: "v".into(), shape: vec![size], operation }
}

/// `f(weight·Σx + bias)` of four numbers.
fn gemm(weight: f64, bias: f64) -> Arc<Network> {
    let map = Linear::Dense { lead: 1, rows: 1, columns: 4, trail: 1, transposed: false, weights: 0 };
    let terms = vec![Term { of: 0, chain: vec![map] }];
    let values = vec![
        value(4, Operation::Input),
        value(1, Operation::Affine { terms, bias: Some(1) }),
        value(1, Operation::Function { of: 1, expression: Expression::X.of(Named::Tanh) }),
    ];
    let skeleton = Skeleton { values, weights: vec![4, 1], outputs: vec![2] };
    Arc::new(Network::new(skeleton, vec![vec![weight; 4], vec![bias]]).unwrap())
}

fn inference(network: &Network, data: &[Vec<f64>], arrangement: Arrangement) -> Inference {
    Inference {
        network: network.skeleton.clone(),
        ranges: calibration::ranges(network, data).unwrap(),
        margin: 1.5,
        error: 0.005,
        sign: None,
        squarings: Default::default(),
        samples: 3,
        arrangement,
        strategy: Strategy::DoubleHoisted { babies: 0 },
        plaintexts: PlaintextForm::OnTheFly,
        bootstrapping: None,
    }
}

fn check(network: &Arc<Network>, data: &[Vec<f64>], arrangement: Arrangement) {
    let program = Planned::new(&params(10), inference(network, data, arrangement), network).unwrap();
    let client = NetworkClient::new(&program, network, data[..3].to_vec(), Vec::new()).unwrap();
    let (results, _) = session(&program, &client);
    for (message, slots) in results.iter().flatten().enumerate() {
        let most = slots.iter().map(|z| z.norm()).fold(0.0, f64::max);
        assert!(most < 1.05, "{arrangement:?}, message {message}: {most} in some slot, in units of the value");
    }
    let conclusion = client.conclude(&results);
    assert!(conclusion.found.precision.mean > 12.0, "{arrangement:?}: {:?}", conclusion.found.precision);
}

/// Where sums are small beside their bias, zeros in the place of samples would lie far outside the calibrated range.
#[test]
fn places_of_no_sample_stay_in_the_ranges() {
    let data: Vec<Vec<f64>> = (0..6).map(|at| vec![3.6 + 0.05 * f64::from(at); 4]).collect();
    for arrangement in [Arrangement::Turns(4), Arrangement::Turns(2), Arrangement::Slots] {
        check(&gemm(0.07, -1.05), &data, arrangement);
    }
}

/// Of three numbers in four slots, `exp(x) − 1` is small and an exponential of nothing is not.
#[test]
fn slots_of_no_number_stay_in_the_ranges() {
    let terms = vec![Term { of: 1, chain: Vec::new() }];
    let values = vec![
        value(3, Operation::Input),
        value(3, Operation::Function { of: 0, expression: Expression::X.of(Named::Exp) }),
        value(3, Operation::Affine { terms, bias: Some(0) }),
        value(3, Operation::Function { of: 2, expression: Expression::X.of(Named::Tanh) }),
    ];
    let skeleton = Skeleton { values, weights: vec![3], outputs: vec![3] };
    let network = Arc::new(Network::new(skeleton, vec![vec![-1.0; 3]]).unwrap());
    let data: Vec<Vec<f64>> = (0..6).map(|at| vec![0.05 - 0.02 * f64::from(at); 3]).collect();
    for arrangement in [Arrangement::Turns(1), Arrangement::Turns(4)] {
        check(&network, &data, arrangement);
    }
}

#[test]
fn labels_are_classes() {
    let data = vec![vec![1.0; 4]; 3];
    let network = gemm(0.1, 0.0);
    let program = Planned::new(&params(10), inference(&network, &data, Arrangement::Turns(1)), &network).unwrap();
    let text = NetworkClient::new(&program, &network, data, vec![0, 0, 1]).unwrap_err().to_string();
    assert!(text.contains("got the label 1, wanted classes from 0 to 0"), "{text}");
}

/// Only who has the weights can say whether they fit.
#[test]
fn weights_of_a_stand_in_are_not_checked() {
    let data: Vec<Vec<f64>> = (0..6).map(|at| vec![1.0 + 0.1 * f64::from(at); 4]).collect();
    let network = gemm(1e-4, 0.0);
    let inference = inference(&network, &data, Arrangement::Slots);
    let model = Model { graph: Some(network), ..Model::default() };
    inference.program(&params(10), Some(&model)).unwrap();
    inference.program(&params(10), None).unwrap();
}

#[test]
fn weights_that_no_slot_a_sample_has_room_for_are_told_before() {
    let data: Vec<Vec<f64>> = (0..6).map(|at| vec![4.0, -4.0, 4.0, -4.001 + 1e-5 * f64::from(at)]).collect();
    let network = gemm(1.0, 0.0);
    let mut options = inference(&network, &data, Arrangement::Turns(1));
    options.ranges[1] = calibration::Range::between(-0.001, 0.001);
    let program = Planned::new(&params(10), options.clone(), &network).unwrap();
    assert!(matches!(program.fits_slots(), Err(NetworkError::Weight { .. })));
    let refused = Planned::new(&params(10), Inference { arrangement: Arrangement::Slots, ..options }, &network);
    assert!(matches!(refused, Err(NetworkError::Weight { .. })));
}
