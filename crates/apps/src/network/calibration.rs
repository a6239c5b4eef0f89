//! Ranges of values, measured in the clear on samples that are not judged.

use super::{Network, NetworkError};
use crate::threads;
use serde::{Deserialize, Serialize};

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
    let Some(ranges) = joined else {
        let wanted = "data that are not judged: give others with --calibrate FILE".into();
        return Err(NetworkError::Shape { what: "calibration", got: "no sample".into(), wanted });
    };
    for (range, value) in ranges.iter().zip(&network.skeleton.values) {
        if !range.is_possible() {
            let got = format!("numbers from {} to {} in layer {}", range.from, range.to, value.name);
            let wanted = "finite numbers of at most 1e9: scale the data as the network was trained on them".into();
            return Err(NetworkError::Shape { what: "calibration", got, wanted });
        }
    }
    Ok(ranges)
}
