//! Softmax and its logarithm.
//!
//! `exp` of large scores has no polynomial whose error is small beside small sums. There scores are divided by 2^k first; what
//! comes of them is squared k times, and made parts of its sum each time (normalize and square \[CHKPS24\]). So sums of squares
//! are between 1/n and 1 whatever the scores are, and the next division takes away what one is wrong by.

use super::{
    Taken,
    builder::{Builder, Tensor},
    composed::{axis, read_often, spread_sum},
    operators::Attributes,
    pointwise::{function, joined, subtracted},
};
use crate::network::function::{Expression, Joined, Named};
use limbwise::ckks::functions::Halvings;

/// What a softmax is made of.
struct Powers {
    /// The numbers without their mean along the axis, which changes no softmax but that sums of exponentials are at least the
    /// number of classes, however large the scores are.
    centred: Tensor,
    /// Exponentials, squared as often as the layer asks for.
    all: Tensor,
    /// Sums of the exponentials, and then of each square; the last is that of `all`.
    sums: Vec<Tensor>,
}

fn powers(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Powers> {
    let at = axis(attributes.int("axis", -1), x.shape.len())?;
    let layer = b.layer.clone();
    let squarings = b.squarings.get(&layer).copied().unwrap_or(0);
    let summed: Vec<bool> = (0..x.shape.len()).map(|axis| axis == at).collect();
    let x = read_often(b, x)?;
    let mean = spread_sum(b, &x, &summed, 1.0 / x.shape[at] as f64)?;
    let centred = subtracted(b, &x, &mean)?;
    b.layer = format!("{layer} (centred)");
    let centred = b.shared(centred)?;
    let argument = match squarings {
        0 => Expression::X,
        _ => Expression::X.by(Joined::Mul, Halvings::from(squarings).of_each(1.0)),
    };
    let exp = function(b, &centred, &argument.of(Named::Exp))?;
    b.layer = format!("{layer} (exp)");
    let mut all = b.shared(exp)?;
    let sum = spread_sum(b, &all, &summed, 1.0)?;
    b.layer = format!("{layer} (sum)");
    let mut sums = vec![b.shared(sum)?];
    for round in 1..=squarings {
        let inverse = function(b, &sums[sums.len() - 1], &Expression::X.of(Named::Reciprocal))?;
        b.layer = format!("{layer} (reciprocal {round})");
        let inverse = b.shared(inverse)?;
        b.layer = format!("{layer} (part {round})");
        let part = b.multiplied(&all, &inverse)?;
        let part = b.in_its_range(&part)?;
        b.layer = format!("{layer} (square {round})");
        let square = joined(b, Joined::Mul, &part, &part)?;
        all = b.shared(square)?;
        let sum = spread_sum(b, &all, &summed, 1.0)?;
        b.layer = format!("{layer} (sum {round})");
        sums.push(b.shared(sum)?);
    }
    b.layer = layer;
    Ok(Powers { centred, all, sums })
}

/// `exp(x) / Σ exp(x)`: the ranges of both are calibrated.
pub(super) fn softmax(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let layer = b.layer.clone();
    let Powers { all, sums, .. } = powers(b, attributes, x)?;
    b.layer = format!("{layer} (reciprocal)");
    let inverse = function(b, &sums[sums.len() - 1], &Expression::X.of(Named::Reciprocal))?;
    let inverse = b.shared(inverse)?;
    b.layer = layer;
    b.multiplied(&all, &inverse)
}

/// `x − log Σ exp(x)`. Squares of parts were divided by the sums before, so the logarithm is that of all sums, each as often
/// as what it divides is squared.
pub(super) fn log_softmax(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let layer = b.layer.clone();
    let Powers { centred, sums, .. } = powers(b, attributes, x)?;
    let mut left = centred;
    for (round, sum) in sums.iter().enumerate() {
        b.layer = if round == 0 { format!("{layer} (log)") } else { format!("{layer} (log {round})") };
        let log = function(b, sum, &Expression::X.of(Named::Log))?;
        let log = b.shared(log)?;
        let squared = sums.len() - 1 - round;
        let log = if squared == 0 { log } else { b.times(&log, (squared as f64).exp2())? };
        b.layer.clone_from(&layer);
        left = subtracted(b, &left, &log)?;
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Writer;
    use crate::network::{
        Inference, Planned, calibration::ranges, client::NetworkClient, steep::squarings, twin::Twin,
    };
    use limbwise::{
        ckks::{PlaintextForm, Strategy},
        params::{Insecure, Params, ParamsLiteral},
    };
    use std::sync::Arc;

    const ERROR: f64 = 0.005;

    /// Ten scores of a hundred samples, up to a size, of which some samples have nearly equal ones.
    fn scores(size: f64) -> Vec<Vec<f64>> {
        let one = |sample: u32, class: u32| {
            let spread = if sample.is_multiple_of(4) { 0.05 } else { 1.0 };
            size * spread * (f64::from(sample * 31 + class * 17 + sample * class * 7) * 1.37).sin()
        };
        (0..100).map(|sample| (0..10).map(|class| one(sample, class)).collect()).collect()
    }

    /// What the twin says of an operator on scores, and how often its exponentials are squared.
    fn twin(operator: &str, size: f64) -> (Twin, u32) {
        let graph = || Writer::new(&[1, 10]).node(operator, &["x"], "y", vec![]);
        let (data, flat) = (scores(size), graph().read().unwrap());
        let squarings = squarings(&flat, &data[50..], [1.5, ERROR]).unwrap();
        let network = Arc::new(graph().squared(&squarings).unwrap());
        for x in &data {
            let [exact, same] = [&flat, &*network].map(|network| network.outputs(&network.exact(x)));
            assert!(exact.iter().zip(&same).all(|(a, b)| (a - b).abs() < 1e-9), "{exact:?} {same:?}");
        }
        let mut literal = ParamsLiteral::chain(11, 50, 40, 48, (50, 6), 8);
        literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
        let squared = squarings.values().copied().max().unwrap_or(0);
        let inference = Inference {
            network: network.skeleton.clone(),
            ranges: ranges(&network, &data[50..]).unwrap(),
            margin: 1.5,
            error: ERROR,
            sign: None,
            squarings,
            samples: 50,
            arrangement: crate::way::Arrangement::Turns(1),
            strategy: Strategy::DoubleHoisted { babies: 0 },
            plaintexts: PlaintextForm::OnTheFly,
            bootstrapping: None,
        };
        let program = Planned::new(&Params::new(&literal).unwrap(), inference, &network).unwrap();
        let client = NetworkClient::new(&program, &network, data[..50].to_vec(), Vec::new()).unwrap();
        (client.twin(), squared)
    }

    /// Of scores up to 16, of which the mean is taken off, an exponential reaches e^24: its error is more than all sums.
    #[test]
    fn large_scores_are_squared_instead() {
        for (size, squared) in [(1.0, 0), (4.0, 1), (10.0, 2), (16.0, 3), (40.0, 4)] {
            let (twin, times) = twin("Softmax", size);
            assert!(times == squared && twin.largest_error < 0.02, "{size}: {times} squarings, {twin:?}");
            assert!(twin.largest_value_over_range < 1.0 && twin.warning.is_none(), "{size}: {twin:?}");
        }
    }

    /// Exponentials that overflow say nothing of what is behind them: that is asked again when they are squared.
    #[test]
    fn layers_behind_an_overflow_are_asked_again() {
        let graph = || {
            let first = Writer::new(&[1, 10]).node("Softmax", &["x"], "h", vec![]);
            first.node("Softmax", &["h"], "y", vec![])
        };
        let data = scores(2000.0);
        let first = squarings(&graph().read().unwrap(), &data, [1.5, ERROR]).unwrap();
        assert_eq!(first, [("Softmax.h".to_owned(), 10)].into());
        let network = graph().squared(&first).unwrap();
        assert!(squarings(&network, &data, [1.5, ERROR]).unwrap().is_empty());
        assert!(ranges(&network, &data).is_ok());
    }

    #[test]
    fn logarithms_of_large_scores_are_theirs() {
        for size in [1.0, 10.0, 16.0] {
            let (twin, _) = twin("LogSoftmax", size);
            assert!(twin.largest_error < 0.02 * twin.largest_output, "{size}: {twin:?}");
        }
    }
}
