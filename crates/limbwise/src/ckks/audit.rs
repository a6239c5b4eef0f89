//! Shadow mode: after every operation the client decrypts the result, compares it with its shadow, and records the
//! first operation that is wrong. Exists only under the feature `client`.
//!
//! Two properties are checked. The error must stay within a bound: the estimate's deviation times a margin, or a number
//! of bits. The clear values must keep the program's promise: a polynomial evaluated outside its interval computes the
//! same wrong values in the clear, and only this check finds it.

use super::{
    ciphertext::Ciphertext,
    decrypt::{MOST_SHARE, Probe, largest, most_error},
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

/// Error of the clear computation itself, relative to the largest value: f64 rounding through several transforms.
const CLEAR_ERROR: f64 = 1.0 / (1u64 << 42) as f64;

/// Tolerance of the comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ShadowBound {
    /// 64 expected deviations. Gaussian errors stay below 5 and estimates are within a bit or two, while real faults
    /// are off by thousands.
    #[default]
    Predicted,
    /// An absolute error of 2^−bits.
    Bits(f64),
}

/// The kind of fault in a result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wrong {
    /// The error exceeds the tolerance.
    Error,
    /// The clear values exceed the program's promise.
    Promise,
    /// The device failed during decryption.
    Unread,
    /// The clear values exceed the modulus: wrong where they are read, right where a sum brings them back before.
    Beyond,
}

/// An operation with a wrong result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Name of the operation.
    pub op: &'static str,
    /// The regions around it, outermost first.
    pub region: String,
    /// Number of correct operations before it.
    pub after: usize,
    /// The kind of fault.
    pub wrong: Wrong,
    /// log₂ of the largest error, or of the largest clear value.
    pub log2_got: f64,
    /// log₂ of the value allowed.
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
            Wrong::Beyond => write!(
                f,
                ": a clear value of 2^{log2_got:.1}, where the modulus holds 2^{log2_bound:.1} at this level (smaller values, or more levels)"
            ),
        }
    }
}

/// Precision of the results of one region.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RegionPrecision {
    /// Path of the region; empty at the top.
    pub region: String,
    /// Number of results compared.
    pub operations: usize,
    /// Smallest mean precision of a result, in bits.
    pub mean: f64,
    /// Smallest precision of any slot, in bits.
    pub min: f64,
}

/// Result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ShadowReport {
    /// Number of results compared.
    pub operations: usize,
    /// The first wrong operation, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Finding>,
    /// The first value that its modulus does not hold, if any: no fault unless a result is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<Finding>,
    /// One entry per region, in order of first entry.
    pub regions: Vec<RegionPrecision>,
}

/// Compares every result that has a shadow.
pub struct Audit<'a, D: HostRead> {
    probe: Probe<'a, D>,
    bound: ShadowBound,
    state: Mutex<(ShadowReport, BTreeMap<String, usize>)>,
}

impl<'a, D: HostRead> Audit<'a, D> {
    /// An audit that decrypts with the client's probe.
    #[must_use]
    pub fn new(probe: Probe<'a, D>, bound: ShadowBound) -> Self {
        Self { probe, bound, state: Mutex::default() }
    }

    /// The findings so far.
    #[must_use]
    pub fn report(&self) -> ShadowReport {
        self.state().0.clone()
    }

    fn state(&self) -> MutexGuard<'_, (ShadowReport, BTreeMap<String, usize>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The regions around an operation, without its own: an operation that also rescales would otherwise differ in
    /// name.
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

    /// Judges a result of this precision: the fault, if any, with the value found and the value allowed.
    fn judge(&self, result: &Ciphertext<D>, largest: f64, precision: Precision) -> Option<(Wrong, f64, f64)> {
        let (error, expected) = ((-precision.min).exp2(), most_error(&result.estimate));
        // Errors that the program follows by itself are unknown until it tells them; a fault spoils all of a value.
        let left_out = if result.estimate.leaves_errors_out() { MOST_SHARE * result.estimate.peak } else { 0.0 };
        let bound = match self.bound {
            ShadowBound::Predicted => expected.max(left_out) + CLEAR_ERROR * largest,
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
        let largest = largest(shadow);
        let compared = self.probe.precision_within(result);
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
        let after = report.operations;
        let finding = |(wrong, got, bound): (Wrong, f64, f64)| {
            let [log2_got, log2_bound] = [got, bound].map(f64::log2);
            Finding { op, region: region.clone(), after, wrong, log2_got, log2_bound }
        };
        let beyond = (!self.probe.fits(result)).then(|| (Wrong::Beyond, largest, self.probe.room(result)));
        report.beyond = report.beyond.take().or_else(|| beyond.map(finding));
        report.first = report.first.take().or_else(|| wrong.map(finding));
        report.operations += 1;
    }
}
