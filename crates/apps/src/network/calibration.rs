//! Ranges of values, and what is usual inside them, measured in the clear on samples that are not judged.

use super::{
    Network, NetworkError,
    function::Expression,
    skeleton::{Operation, Term, Value},
};
use crate::threads;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The smallest and the largest number of a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub from: f64,
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub to: f64,
    /// Expected errors are those of numbers that fill the range where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual: Option<Usual>,
}

/// What most numbers of a value are like. Errors follow it, where a range says only what is possible: an exponential is
/// steepest at the end of its range, where hardly any number lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usual {
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub mean: f64,
    /// Root mean square.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub size: f64,
    /// Root mean square of the slope of the function that makes the value, at its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
}

impl Usual {
    fn is_possible(self) -> bool {
        let slope = self.slope.unwrap_or(0.0);
        self.mean.abs() <= MOST && (0.0..=MOST).contains(&self.size) && (0.0..=f64::MAX).contains(&slope)
    }
}

/// What is counted of a value, sample after sample.
#[derive(Clone, Copy)]
struct Counted {
    range: Range,
    /// Numbers, their sum and the sum of their squares.
    numbers: [f64; 3],
    /// Slopes, and the sum of their squares.
    slopes: [f64; 2],
}

impl Counted {
    fn of(numbers: &[f64], slopes: impl Iterator<Item = f64>) -> Self {
        let sums = numbers.iter().fold([0.0, 0.0, 0.0], |[n, sum, squares], x| [n + 1.0, sum + x, squares + x * x]);
        let slopes = slopes.filter(|slope| slope.is_finite());
        let slopes = slopes.fold([0.0, 0.0], |[n, squares], slope| [n + 1.0, squares + slope * slope]);
        Self { range: Range::of(numbers), numbers: sums, slopes }
    }

    fn joined(self, other: Self) -> Self {
        let numbers = std::array::from_fn(|i| self.numbers[i] + other.numbers[i]);
        let slopes = std::array::from_fn(|i| self.slopes[i] + other.slopes[i]);
        Self { range: self.range.joined(other.range), numbers, slopes }
    }

    fn range(self) -> Range {
        let ([count, sum, squares], [slopes, of_slopes]) = (self.numbers, self.slopes);
        let slope = (slopes > 0.0).then(|| (of_slopes / slopes).sqrt());
        Range { usual: Some(Usual { mean: sum / count, size: (squares / count).sqrt(), slope }), ..self.range }
    }
}

/// Arguments of a function in one sample whose slopes are taken.
const SLOPES: usize = 256;

/// The slopes of a function at some of its arguments.
fn slopes(expression: &Expression, arguments: &[f64]) -> impl Iterator<Item = f64> {
    let every = arguments.len().div_ceil(SLOPES).max(1);
    arguments.iter().step_by(every).map(|&x| {
        // A third of the digits for the difference, two thirds for its quotient.
        let step = 1e-5 * x.abs().max(LEAST);
        (expression.evaluate(x + step) - expression.evaluate(x - step)) / (2.0 * step)
    })
}

const MOST: f64 = 1e9;
/// Of values that are always the same.
const LEAST: f64 = 1e-6;
/// The most by which a map enlarges a number of its operand, each in its unit, where nothing is computed from the result.
/// There a map stands at the lowest level, whose modulus has room for no more; the errors of its operands are as large in
/// either unit.
pub(super) const ENLARGED: f64 = 256.0;
/// The same where something is computed from it: what is smaller is zero beside the errors of its operands, as a sum behind a
/// dead unit is.
const NOTHING: f64 = (1_u64 << 20) as f64;

impl Range {
    fn of(numbers: &[f64]) -> Self {
        let (from, to) = numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
        Self::between(from, to)
    }

    /// All that is known is where it ends.
    pub fn between(from: f64, to: f64) -> Self {
        Self { from, to, usual: None }
    }

    fn joined(self, other: Self) -> Self {
        Self::between(self.from.min(other.from), self.to.max(other.to))
    }

    /// The largest absolute value.
    pub fn most(self) -> f64 {
        self.from.abs().max(self.to.abs()).max(LEAST)
    }

    pub fn is_possible(self) -> bool {
        self.from <= self.to
            && self.from.abs() <= MOST
            && self.to.abs() <= MOST
            && self.usual.is_none_or(Usual::is_possible)
    }
}

/// The ranges of all values over samples, as they are: margins come later.
///
/// # Errors
/// [`NetworkError::Shape`] for no sample, one of another size, or numbers that are not finite or too large.
pub fn ranges(network: &Network, samples: &[Vec<f64>]) -> Result<Vec<Range>, NetworkError> {
    let mut ranges = measured(network, samples)?;
    for (range, value) in ranges.iter().zip(&network.skeleton.values) {
        if !range.is_possible() {
            let got = outside(network, &ranges, (range, value));
            let wanted = "finite numbers of at most 1e9: scale the data as the network was trained on them".into();
            return Err(NetworkError::Shape { what: "calibration", got, wanted });
        }
    }
    enlarge(network, &mut ranges);
    Ok(ranges)
}

/// The same of any numbers: those of steep exponentials may be infinite.
///
/// # Errors
/// [`NetworkError::Shape`] for no sample, or one of another size.
pub(super) fn measured(network: &Network, samples: &[Vec<f64>]) -> Result<Vec<Range>, NetworkError> {
    let wanted = network.skeleton.sample();
    if let Some(other) = samples.iter().find(|sample| sample.len() != wanted) {
        let got = format!("a sample of {} numbers", other.len());
        return Err(NetworkError::Shape { what: "calibration", got, wanted: format!("{wanted} numbers each") });
    }
    let one = |sample: &Vec<f64>| {
        let values = network.exact(sample);
        let counted = |(x, value): (&Vec<f64>, &Value)| match &value.operation {
            Operation::Function { of, expression } => Counted::of(x, slopes(expression, &values[*of])),
            _ => Counted::of(x, std::iter::empty()),
        };
        values.iter().zip(&network.skeleton.values).map(counted).collect::<Vec<_>>()
    };
    let all = threads::each(samples, one);
    let joined = all.into_iter().reduce(|a, b| a.into_iter().zip(b).map(|(a, b)| a.joined(b)).collect());
    let Some(ranges) = joined.map(|all| all.into_iter().map(Counted::range).collect::<Vec<_>>()) else {
        let wanted = "data that are not judged: give others with --calibrate FILE".into();
        return Err(NetworkError::Shape { what: "calibration", got: "no sample".into(), wanted });
    };
    Ok(ranges)
}

/// What is wrong with the first range that is not possible, and of what it is computed.
fn outside(network: &Network, ranges: &[Range], (range, value): (&Range, &Value)) -> String {
    let is_number = range.usual.is_none_or(|usual| !usual.mean.is_nan());
    let what = match is_number {
        true => format!("numbers from {:.3e} to {:.3e}", range.from, range.to),
        false => "NaN, which is no number,".into(),
    };
    let of = match &value.operation {
        Operation::Function { of, expression } => {
            let (from, operand) = (ranges[*of], &network.skeleton.values[*of].name);
            format!(": {} of numbers from {:.3e} to {:.3e} of layer {operand}", expression.text(), from.from, from.to)
        }
        _ => String::new(),
    };
    format!("{what} in layer {}{of}", value.name)
}

/// Ranges of sums that are small beside what they are sums of become larger: see [`ENLARGED`] and [`NOTHING`].
fn enlarge(network: &Network, ranges: &mut [Range]) {
    let values = &network.skeleton.values;
    let sums = |operation: &Operation| matches!(operation, Operation::Input | Operation::Affine { .. });
    let computes = |value: &Value| !sums(&value.operation);
    let read: HashSet<usize> = values.iter().filter(|v| computes(v)).flat_map(|v| v.operation.operands()).collect();
    for (at, value) in values.iter().enumerate() {
        let term = |term: &Term| {
            term.chain.iter().map(|map| map.peak(&network.weights)).product::<f64>() * ranges[term.of].most()
        };
        let most = match &value.operation {
            Operation::Affine { terms, .. } => terms.iter().map(term).fold(0.0, f64::max),
            Operation::MatrixProduct { of, .. } => of.map(|at| ranges[at].most()).into_iter().product(),
            _ => continue,
        };
        let most = most.min(MOST);
        let limit = if read.contains(&at) { NOTHING } else { ENLARGED };
        if ranges[at].from.abs().max(ranges[at].to.abs()) < most / limit {
            ranges[at] = Range { from: ranges[at].from.min(0.0), to: most / ENLARGED, ..ranges[at] };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ENLARGED, Range, Usual, ranges};
    use crate::network::{
        Network,
        function::{Expression, Joined, Named},
        linear::Linear,
        skeleton::{Operation, Skeleton, Term, Value},
    };

    #[test]
    fn a_sum_that_is_zero_on_all_samples_has_a_range_that_its_operands_can_be_brought_to() {
        let map = Linear::Dense { lead: 1, rows: 1, columns: 2, trail: 1, transposed: false, weights: 0 };
        let value = |shape, operation| Value { name: "a".into(), shape, operation };
        let terms = vec![Term { of: 0, chain: vec![map] }];
        let values = vec![value(vec![2], Operation::Input), value(vec![1], Operation::Affine { terms, bias: None })];
        let skeleton = Skeleton { values, weights: vec![2], outputs: vec![1] };
        let network = Network::new(skeleton, vec![vec![2.0, -2.0]]).unwrap();
        let of = |x: &[f64]| ranges(&network, &[x.to_vec()]).unwrap()[1];
        let ends = |range: Range| (range.from, range.to);
        assert_eq!(ends(of(&[3.0, 2.0])), (2.0, 2.0));
        assert_eq!(ends(of(&[4.0, 4.0])), (0.0, 8.0 / ENLARGED));
        let small = of(&[-4.0, -3.99]);
        assert!((small.from + 0.02).abs() < 1e-9 && small.to == 8.0 / ENLARGED, "{small:?}");
    }

    #[test]
    fn what_is_no_number_is_named_with_what_it_comes_of() {
        let value = |name: &str, operation| Value { name: name.into(), shape: vec![2], operation };
        let log = Operation::Function { of: 0, expression: Expression::X.of(Named::Log) };
        let values = vec![value("x", Operation::Input), value("y", log)];
        let network = Network::new(Skeleton { values, weights: vec![], outputs: vec![1] }, vec![]).unwrap();
        // One number is enough, and the other one has a logarithm.
        let text = ranges(&network, &[vec![-2.0, 3.0], vec![1.0, 1.0]]).unwrap_err().to_string();
        assert!(
            text.contains("NaN, which is no number, in layer y: log(x) of numbers from -2.000e0 to 3.000e0"),
            "{text}"
        );
    }

    #[test]
    fn what_is_usual_is_measured_beside_what_is_possible() {
        let value = |operation| Value { name: "a".into(), shape: vec![4], operation };
        let square = Expression::X.by(Joined::Pow, 2.0);
        let values = vec![value(Operation::Input), value(Operation::Function { of: 0, expression: square })];
        let skeleton = Skeleton { values, weights: Vec::new(), outputs: vec![1] };
        let network = Network::new(skeleton, Vec::new()).unwrap();
        let all = ranges(&network, &[vec![1.0, 1.0, -1.0, 3.0], vec![1.0; 4]]).unwrap();
        let [x, squares] = [0, 1].map(|at: usize| all[at].usual.unwrap());
        assert_eq!((all[0].from, all[0].to, x.slope), (-1.0, 3.0, None));
        assert!((x.mean - 1.0).abs() < 1e-12 && (x.size - 2f64.sqrt()).abs() < 1e-12, "{x:?}");
        // Of x² the slope is 2x.
        assert!((squares.slope.unwrap() - 8f64.sqrt()).abs() < 1e-6, "{squares:?}");
        assert!((squares.mean - 2.0).abs() < 1e-12 && (squares.size - 11f64.sqrt()).abs() < 1e-12, "{squares:?}");
        assert!(all.iter().all(|range| range.is_possible()));
        let impossible = [(f64::NAN, 1.0, None), (0.0, -1.0, None), (0.0, 1e30, None), (0.0, 1.0, Some(f64::INFINITY))];
        for (mean, size, slope) in impossible {
            assert!(!Range { usual: Some(Usual { mean, size, slope }), ..all[0] }.is_possible());
        }
    }
}
