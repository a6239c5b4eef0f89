//! A small network on a small ring: encrypted scores are the clear network's.

use crate::encrypted::session;
use limbwise::{
    ckks::{PlaintextForm, Strategy},
    params::{Insecure, Params, ParamsLiteral},
};
use limbwise_apps::{
    Client as _,
    linear::data::generated,
    lola::{
        client::{Digits, LolaClient},
        network::{LolaError, Network, Shape},
    },
};

const SHAPE: Shape = Shape { side: 8, filters: 3, kernel: 3, stride: 2, hidden: 10, classes: 4 };

fn params(levels: usize) -> Params {
    let mut literal = ParamsLiteral::chain(11, 50, 40, levels, (48, 2), 3);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).unwrap()
}

fn network() -> Network {
    let count = 27 + 3 + 10 * 48 + 10 + 40 + 4;
    Network::new(SHAPE, &generated(3, 1, count, 0.4)).unwrap()
}

#[test]
fn the_network_decrypts_to_its_twin() {
    let params = params(5);
    let mut digits = Digits::generated(8, 3, 7);
    digits.labels = vec![0, 1, 2];
    let (program, client) = LolaClient::sides(&params, network(), digits).unwrap();
    for (strategy, form) in [
        (Strategy::DoubleHoisted { babies: 4 }, PlaintextForm::Full),
        (Strategy::MultiHop { babies: 4 }, PlaintextForm::OnTheFly),
    ] {
        let (results, predicted) = session(&program.with(strategy, form), &client);
        let conclusion = client.conclude(&results);
        let got = conclusion.found.precision.mean;
        assert!(got > 15.0 && (got - predicted).abs() < 4.0, "{strategy}: {got:.1} bits, {predicted:.1} expected");
        let accuracy = conclusion.found.accuracy.unwrap();
        assert_eq!(
            (accuracy.encrypted.to_bits(), conclusion.details["same_label"].as_f64()),
            (accuracy.clear.to_bits(), Some(1.0))
        );
    }
}

#[test]
fn what_does_not_fit_is_refused_before_any_key() {
    let refused = |levels, digits| LolaClient::sides(&params(levels), network(), digits).unwrap_err();
    let text = refused(4, Digits::generated(8, 1, 0)).to_string();
    assert!(text.contains("takes 5 levels, the parameters have 4"), "{text}");
    let text = refused(5, Digits::generated(9, 2, 0)).to_string();
    assert!(text.contains("image 1 has 81 pixels; wanted 8×8"), "{text}");
    assert!(matches!(refused(5, Digits { pixels: Vec::new(), labels: Vec::new() }), LolaError::Images(0)));
    let wide = Shape { filters: 64, ..SHAPE };
    let count = 576 + 64 + 10240 + 10 + 40 + 4;
    let wide = Network::new(wide, &generated(3, 1, count, 0.4)).unwrap();
    let text = LolaClient::sides(&params(5), wide, Digits::generated(8, 1, 0)).unwrap_err().to_string();
    assert!(text.contains("choose a larger ring"), "{text}");
}
