//! Ranges of values, measured in the clear on samples that are not judged.

use super::{
    Network, NetworkError,
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
}

const MOST: f64 = 1e9;
/// Of values that are always the same.
const LEAST: f64 = 1e-6;
/// The most by which a map enlarges a number of its operand, each in its unit, where nothing is computed from the result.
/// There a map stands at the lowest level, whose modulus has room for no more; the errors of its operands are as large in
/// either unit.
const ENLARGED: f64 = 256.0;
/// The same where something is computed from it: what is smaller is zero beside the errors of its operands, as a sum behind a
/// dead unit is.
const NOTHING: f64 = (1_u64 << 20) as f64;

impl Range {
    fn of(numbers: &[f64]) -> Self {
        let (from, to) = numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
        Self { from, to }
    }

    fn joined(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }

    /// The largest absolute value.
    pub fn most(self) -> f64 {
        self.from.abs().max(self.to.abs()).max(LEAST)
    }

    pub fn is_possible(self) -> bool {
        self.from <= self.to && self.from.abs() <= MOST && self.to.abs() <= MOST
    }
}

/// The ranges of all values over samples, as they are: margins come later.
///
/// # Errors
/// [`NetworkError::Shape`] for no sample, one of another size, or numbers that are not finite or too large.
pub fn ranges(network: &Network, samples: &[Vec<f64>]) -> Result<Vec<Range>, NetworkError> {
    let wanted = network.skeleton.sample();
    if let Some(other) = samples.iter().find(|sample| sample.len() != wanted) {
        let got = format!("a sample of {} numbers", other.len());
        return Err(NetworkError::Shape { what: "calibration", got, wanted: format!("{wanted} numbers each") });
    }
    let one = |sample: &Vec<f64>| network.exact(sample).iter().map(|x| Range::of(x)).collect::<Vec<_>>();
    let all = threads::each(samples, one);
    let joined = all.into_iter().reduce(|a, b| a.into_iter().zip(b).map(|(a, b)| a.joined(b)).collect());
    let Some(mut ranges) = joined else {
        let wanted = "data that are not judged: give others with --calibrate FILE".into();
        return Err(NetworkError::Shape { what: "calibration", got: "no sample".into(), wanted });
    };
    for (range, value) in ranges.iter().zip(&network.skeleton.values) {
        if !range.is_possible() {
            let got = format!("numbers from {:.3e} to {:.3e} in layer {}", range.from, range.to, value.name);
            let wanted = "finite numbers of at most 1e9: scale the data as the network was trained on them".into();
            return Err(NetworkError::Shape { what: "calibration", got, wanted });
        }
    }
    enlarge(network, &mut ranges);
    Ok(ranges)
}

/// Ranges of sums that are small beside what they are sums of become larger: see [`ENLARGED`] and [`NOTHING`].
fn enlarge(network: &Network, ranges: &mut [Range]) {
    let values = &network.skeleton.values;
    let computes = |value: &Value| matches!(value.operation, Operation::Function { .. } | Operation::Product { .. });
    let read: HashSet<usize> = values.iter().filter(|v| computes(v)).flat_map(|v| v.operation.operands()).collect();
    for (at, value) in values.iter().enumerate() {
        let Operation::Affine { terms, .. } = &value.operation else { continue };
        let term = |term: &Term| {
            term.chain.iter().map(|map| map.peak(&network.weights)).product::<f64>() * ranges[term.of].most()
        };
        let most = terms.iter().map(term).fold(0.0, f64::max).min(MOST);
        let limit = if read.contains(&at) { NOTHING } else { ENLARGED };
        if ranges[at].from.abs().max(ranges[at].to.abs()) < most / limit {
            ranges[at] = Range { from: ranges[at].from.min(0.0), to: most / ENLARGED };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ENLARGED, Range, ranges};
    use crate::network::{
        Network,
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
        assert_eq!(of(&[3.0, 2.0]), Range { from: 2.0, to: 2.0 });
        assert_eq!(of(&[4.0, 4.0]), Range { from: 0.0, to: 8.0 / ENLARGED });
        let small = of(&[-4.0, -3.99]);
        assert!((small.from + 0.02).abs() < 1e-9 && small.to == 8.0 / ENLARGED, "{small:?}");
    }
}
