//! Layers of softmax whose scores are too far apart for one polynomial of the exponential.

use super::{
    Network, NetworkError,
    activation::Unit,
    calibration::measured,
    function::{Expression, Named},
    skeleton::{Operation, Value},
};
use limbwise::ckks::functions::Halvings;
use std::collections::BTreeMap;

/// How often the exponentials of a softmax are squared, by the name of its layer; none in those that are not named.
pub type Squarings = BTreeMap<String, u32>;

/// How the exponentials of a layer of softmax are named.
const EXPONENTIAL: &str = " (exp)";
/// Error of an exponential, for each unit of the smallest sum, from which on it is squared instead.
const STEEP: f64 = 0.1;

/// Further layers that are too steep, by the samples of the calibration, for a margin and an error. What they make may
/// overflow, so that more are found where these are squared.
///
/// # Errors
/// As [`super::calibration::ranges`], but for ranges that are not possible.
pub fn squarings(
    network: &Network,
    samples: &[Vec<f64>],
    [margin, error]: [f64; 2],
) -> Result<Squarings, NetworkError> {
    let values = &network.skeleton.values;
    if !values.iter().any(|value| value.name.ends_with(EXPONENTIAL)) {
        return Ok(Squarings::new());
    }
    let ranges = measured(network, samples)?;
    let of = |(at, value): (usize, &Value)| {
        let Operation::Function { of, expression } = &value.operation else { return None };
        let layer = value.name.strip_suffix(EXPONENTIAL).filter(|_| *expression == Expression::X.of(Named::Exp))?;
        let sum = at + values[at..].iter().position(|later| later.name == format!("{layer} (sum)"))?;
        let most = ranges[*of].most() * margin;
        let is_gentle = most.exp().is_finite() && error * most.exp() <= STEEP * ranges[sum].from;
        // Behind a steep layer that overflows nothing is known.
        let is_known = ranges[*of].usual.is_some_and(|usual| usual.mean.is_finite());
        if is_gentle || !is_known {
            return None;
        }
        Some((layer.to_owned(), Halvings::of(most).count()))
    };
    Ok(values.iter().enumerate().filter_map(of).collect())
}

/// The error that a function may have for each unit of its largest value, of the one that is usual. In a softmax that is
/// squared it is relative to a usual value, and squares double it.
pub(super) fn error(squarings: &Squarings, (layer, expression): (&str, &Expression), unit: Unit, usual: f64) -> f64 {
    let Some(&times) = layer.rsplit_once(" (").and_then(|(layer, _)| squarings.get(layer)) else { return usual };
    let doubled = Halvings::from(times).of_each(usual);
    let f = |u: f64| expression.evaluate(unit.middle + unit.half * u).abs();
    let relative = f(0.0) / f(-1.0).max(f(1.0));
    match expression {
        Expression::Of(Named::Exp, _) => doubled * relative,
        Expression::Of(Named::Reciprocal, _) => usual * relative,
        Expression::Of(Named::Log, _) => doubled,
        _ => usual,
    }
}
