//! Softmax and its logarithm.
//!
//! `exp` of large scores has no polynomial whose error is small beside small sums. There scores are divided by 2^k first; what
//! comes of them is squared k times, and made parts of its sum each time (normalize and square \[CHKPS24\]). So sums of squares
//! are between 1/n and 1 whatever the scores are, and the next division takes away what one is wrong by.

use super::{
    Taken,
    builder::{Builder, Form, Tensor},
    composed::{axis, read_often, spread_sum},
    operators::Attributes,
    pointwise::{function, joined, subtracted},
};
use crate::network::function::{Expression, Joined, Named};
use limbwise::ckks::functions::Halvings;
use std::sync::Arc;

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

/// Scores that a public mask leaves out: those to which a constant is added that is so far below the largest of its row.
const MASKED: f64 = 1000.0;
/// A row whose constants are all below this is left out. What is infinite in a file is the largest number of 32 bits.
const INFINITE: f64 = -1e30;

/// What a public mask leaves of scores: for each 1, or 0 where it is left out.
struct Mask {
    kept: Vec<f64>,
    /// Scores that are kept in the row of each.
    counts: Vec<f64>,
}

impl Mask {
    /// The scores without their mask, and the mask, of sums along an axis; `None` where nothing is left out.
    fn taken(x: &Tensor, at: usize) -> Option<(Tensor, Self)> {
        let Form::Sum { terms, bias: Some(bias) } = &x.form else { return None };
        if bias.iter().all(|&number| number > -MASKED) {
            return None;
        }
        let (side, trail) = (x.shape[at], x.shape[at + 1..].iter().product::<usize>());
        let mut shifted = vec![0.0; bias.len()];
        let mut mask = Self { kept: vec![0.0; bias.len()], counts: vec![0.0; bias.len()] };
        for first in (0..bias.len()).filter(|number| number / trail % side == 0) {
            let row = || (0..side).map(|place| first + place * trail);
            let most = row().map(|number| bias[number]).fold(f64::NEG_INFINITY, f64::max);
            let is_kept = |&number: &usize| most > INFINITE && bias[number] > most - MASKED;
            // A softmax is the same for numbers that are all larger by one.
            let shift = if most < -MASKED { most } else { 0.0 };
            for number in row().filter(is_kept) {
                (shifted[number], mask.kept[number]) = (bias[number] - shift, 1.0);
            }
            let count = row().filter(is_kept).count() as f64;
            row().for_each(|number| mask.counts[number] = count);
        }
        let form = Form::Sum { terms: terms.clone(), bias: Some(Arc::new(shifted)) };
        Some((Tensor { form, ..x.clone() }, mask))
    }

    /// Numbers that are left out made zero.
    fn applied(&self, b: &mut Builder, x: &Tensor) -> Taken<Tensor> {
        b.scaled(x, self.kept.clone(), &x.shape)
    }

    /// The mean of what is kept of each row.
    fn mean(&self, b: &mut Builder, x: &Tensor, summed: &[bool]) -> Taken<Tensor> {
        let shares = self.kept.iter().zip(&self.counts).map(|(kept, count)| kept / count.max(1.0)).collect();
        let shares = b.scaled(x, shares, &x.shape)?;
        spread_sum(b, &shares, summed, 1.0)
    }

    /// A sum of exponentials, and 1 where none is kept: those rows are zero.
    fn filled(&self, b: &mut Builder, sum: &Tensor) -> Taken<Tensor> {
        if self.counts.iter().all(|&count| count > 0.0) {
            return Ok(sum.clone());
        }
        let ones = self.counts.iter().map(|&count| if count > 0.0 { 0.0 } else { 1.0 }).collect();
        joined(b, Joined::Add, sum, &Tensor::constant(sum.shape.clone(), ones))
    }
}

fn powers(b: &mut Builder, x: &Tensor, at: usize, is_masked: bool) -> Taken<Powers> {
    let layer = b.layer.clone();
    let squarings = b.squarings.get(&layer).copied().unwrap_or(0);
    let summed: Vec<bool> = (0..x.shape.len()).map(|axis| axis == at).collect();
    let (x, mask) = match Mask::taken(x, at).filter(|_| is_masked) {
        Some((x, mask)) => (x, Some(mask)),
        None => (x.clone(), None),
    };
    let x = read_often(b, &x)?;
    let mean = match &mask {
        Some(mask) => mask.mean(b, &x, &summed)?,
        None => spread_sum(b, &x, &summed, 1.0 / x.shape[at] as f64)?,
    };
    let mut centred = subtracted(b, &x, &mean)?;
    if let Some(mask) = &mask {
        centred = mask.applied(b, &centred)?;
    }
    b.layer = format!("{layer} (centred)");
    let centred = b.shared(centred)?;
    let argument = match squarings {
        0 => Expression::X,
        _ => Expression::X.by(Joined::Mul, Halvings::from(squarings).of_each(1.0)),
    };
    let exp = function(b, &centred, &argument.of(Named::Exp))?;
    b.layer = format!("{layer} (exp)");
    let mut all = b.shared(exp)?;
    let masked = mask.as_ref().map(|mask| mask.applied(b, &all)).transpose()?;
    let mut sum = spread_sum(b, masked.as_ref().unwrap_or(&all), &summed, 1.0)?;
    if let (Some(mask), Some(masked)) = (&mask, masked) {
        // The sum reads the exponentials themselves, so that the mask takes no level of its way.
        sum = mask.filled(b, &sum)?;
        b.layer = format!("{layer} (kept)");
        all = b.shared(masked)?;
    }
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

/// The softmax of a node along its axis.
pub(super) fn softmax(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let at = axis(attributes.int("axis", -1), x.shape.len())?;
    softmax_along(b, x, at)
}

/// `exp(x) / Σ exp(x)`: the ranges of both are calibrated. What a public mask leaves out is zero.
pub(super) fn softmax_along(b: &mut Builder, x: &Tensor, at: usize) -> Taken<Tensor> {
    let layer = b.layer.clone();
    let Powers { all, sums, .. } = powers(b, x, at, true)?;
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
    let at = axis(attributes.int("axis", -1), x.shape.len())?;
    let Powers { centred, sums, .. } = powers(b, x, at, false)?;
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

    /// What minus infinity or a large number is added to is zero; so is a row of infinities alone. A row that is low as a whole is
    /// shifted.
    #[test]
    fn public_masks_leave_numbers_out() {
        let out = f32::NEG_INFINITY;
        let mask = [0.0, out, 0.5, -1e9, -1e9, -1e9, out, out, out, -1e4, 0.0, 0.0];
        let network = Writer::new(&[1, 4, 3])
            .floats("mask", &[4, 3], &mask)
            .node("Add", &["x", "mask"], "scores", vec![])
            .node("Softmax", &["scores"], "y", vec![])
            .read()
            .unwrap();
        let x = [0.3, 2.0, -0.4, 1.0, -1.0, 0.0, 0.7, 0.2, 0.1, -0.5, 0.5, 1.5];
        let shares = |all: &[f64]| -> Vec<f64> {
            let sum: f64 = all.iter().map(|x| x.exp()).sum();
            all.iter().map(|x| x.exp() / sum).collect()
        };
        let [first, second, last] = [shares(&[0.3, 0.1]), shares(&x[3..6]), shares(&x[10..])];
        let wanted = [&[first[0], 0.0, first[1]][..], &second, &[0.0; 3], &[0.0], &last].concat();
        let got = network.outputs(&network.exact(&x));
        assert!(got.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{got:?} {wanted:?}");
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
