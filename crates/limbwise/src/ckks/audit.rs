//! Shadow mode: after every operation the client decrypts the result and compares it with its shadow, and keeps the first
//! operation that is wrong. Exists only under the feature `client`.
//!
//! Two things are compared. The error, with a bound: what the estimate expects of a result, times a margin, or a number of
//! bits. And the clear values themselves, with what the program promised of them: a polynomial outside its interval
//! computes the same wrong values in the clear, and is found by this.

use super::{
    ciphertext::Ciphertext,
    decrypt::{MOST_DEVIATIONS, Probe},
    precision::Precision,
    watch::{Done, Watch},
};
use limbwise_device::{HostRead, Region};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Relative to the largest value: what the clear computation itself may be off, in f64 and with transforms on the way.
const CLEAR_ERROR: f64 = 1.0 / (1u64 << 42) as f64;

/// How large an error may be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ShadowBound {
    /// 64 of the deviations that the estimate expects: Gaussian errors stay below 5, estimates are right within a bit or
    /// two, and what is wrong is wrong by thousands.
    #[default]
    Predicted,
    /// 2^−bits.
    Bits(f64),
}

/// What is wrong with a result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wrong {
    /// It differs from its shadow by more than it may.
    Error,
    /// Its clear values are larger than the program promised.
    Promise,
    /// It could not be decrypted: the device failed.
    Unread,
}

/// An operation whose result is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// The operation.
    pub op: &'static str,
    /// Where: regions of the program, outermost first.
    pub region: String,
    /// How many operations were right before it.
    pub after: usize,
    /// What is wrong.
    pub wrong: Wrong,
    /// log₂ of the largest error, or of the largest clear value.
    pub log2_got: f64,
    /// log₂ of what it may be.
    pub log2_bound: f64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { op, region, log2_got, log2_bound, .. } = self;
        write!(f, "{op}")?;
        if !region.is_empty() {
            write!(f, " in region {region}")?;
        }
        match self.wrong {
            Wrong::Error => write!(f, ": error 2^{log2_got:.1}, bound 2^{log2_bound:.1}"),
            Wrong::Promise => write!(
                f,
                ": a clear value of 2^{log2_got:.1}, where the program promises at most 2^{log2_bound:.1} (a polynomial left its interval, or a bound is wrong)"
            ),
            Wrong::Unread => write!(f, ": the result cannot be decrypted"),
        }
    }
}

/// How right the results of a region were.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RegionPrecision {
    /// The region; empty outside of all.
    pub region: String,
    /// Results compared.
    pub operations: usize,
    /// The worst of their mean precisions, in bits.
    pub mean: f64,
    /// The worst of all, in bits.
    pub min: f64,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ShadowReport {
    /// Results compared.
    pub operations: usize,
    /// The first that is wrong, if one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Finding>,
    /// Region by region, in the order they were entered.
    pub regions: Vec<RegionPrecision>,
}

/// Compares every result that has a shadow.
pub struct Audit<'a, D: HostRead> {
    probe: Probe<'a, D>,
    bound: ShadowBound,
    state: Mutex<(ShadowReport, BTreeMap<String, usize>)>,
}

impl<'a, D: HostRead> Audit<'a, D> {
    /// An audit with the client's probe.
    #[must_use]
    pub fn new(probe: Probe<'a, D>, bound: ShadowBound) -> Self {
        Self { probe, bound, state: Mutex::default() }
    }

    /// What was found so far.
    #[must_use]
    pub fn report(&self) -> ShadowReport {
        self.state().0.clone()
    }

    fn state(&self) -> MutexGuard<'_, (ShadowReport, BTreeMap<String, usize>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The regions around an operation, its own left out: that of an operation which also rescales has the shorter name.
    fn region(&self, op: &str) -> String {
        let mut open = self.probe.dev.regions();
        if open.last().is_some_and(|(region, _)| op.starts_with(region.name())) {
            open.pop();
        }
        let name = |&(region, index): &(Region, u32)| match index {
            0 => region.name().into(),
            _ => format!("{region} {index}"),
        };
        open.iter().map(name).collect::<Vec<String>>().join("/")
    }

    /// What is wrong with a result of this precision, if anything is: with the numbers that say so.
    fn judge(&self, result: &Ciphertext<D>, largest: f64, precision: Precision) -> Option<(Wrong, f64, f64)> {
        let (error, expected) = ((-precision.min).exp2(), MOST_DEVIATIONS * result.estimate.error());
        let bound = match self.bound {
            ShadowBound::Predicted => expected + CLEAR_ERROR * largest,
            ShadowBound::Bits(bits) => (-bits).exp2(),
        };
        let most = result.estimate.peak * (1.0 + 1e-9) + expected + CLEAR_ERROR;
        if error > bound {
            return Some((Wrong::Error, error, bound));
        }
        (largest > most).then_some((Wrong::Promise, largest, most))
    }
}

impl<D: HostRead> Watch<D> for Audit<'_, D> {
    fn after(&self, &Done { op, result, .. }: &Done<'_, D>) {
        let Some(shadow) = &result.shadow else { return };
        let region = self.region(op);
        let largest = shadow.values().iter().flatten().map(|z| z.norm()).fold(0.0, f64::max);
        let compared = self.probe.compared(result);
        let mut state = self.state();
        let (report, places) = &mut *state;
        let wrong = match compared {
            Ok(Some(precision)) => {
                let next = report.regions.len();
                let at = *places.entry(region.clone()).or_insert(next);
                if at == next {
                    let region = region.clone();
                    report.regions.push(RegionPrecision { region, operations: 0, mean: f64::MAX, min: f64::MAX });
                }
                let entry = &mut report.regions[at];
                entry.operations += 1;
                (entry.mean, entry.min) = (entry.mean.min(precision.mean), entry.min.min(precision.min));
                self.judge(result, largest, precision)
            }
            Ok(None) => return,
            Err(_) => Some((Wrong::Unread, 1.0, 1.0)),
        };
        if let (None, Some((wrong, got, bound))) = (&report.first, wrong) {
            let [log2_got, log2_bound] = [got, bound].map(f64::log2);
            report.first = Some(Finding { op, region, after: report.operations, wrong, log2_got, log2_bound });
        }
        report.operations += 1;
    }
}
