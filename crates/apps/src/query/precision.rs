//! How exact the sums of a query are: bounds that hold for all values of the columns' domains.

use super::{
    answer::Number,
    encrypted::{Bits, Query},
    error::QueryError,
    question::{Asked, Measure},
    table::Decimal,
};
use crate::program::{Evaluation, Program as _};
use limbwise::{
    Result,
    ckks::{Encoder, Estimate},
    rlwe::DeclaredKeys,
    scheme::{Bridged, BridgedEstimate, Encryption, Keys, Scheme as _, Setup},
    tfhe::ServerKey,
};
use limbwise_device::Null;
use serde::Serialize;

/// How many standard deviations a bound takes: one sum in 5·10⁸ is off by more.
const DEVIATIONS: f64 = 6.0;

/// What is expected of the sums: each number is the largest of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SumPrecision {
    /// Standard deviation of a bit that a row is multiplied by.
    pub bit_error: f64,
    /// Whether 3x² − 2x³ was applied to the bits.
    pub cleaned: bool,
    /// Expected number of rows of the sum that is off most in relation to the largest it can be, if each column were uniform
    /// over its domain, because the data are secret.
    pub rows_expected: f64,
    /// Standard deviation of a sum from CKKS arithmetic, including encryption of the columns: a number like the sum.
    pub arithmetic_error: f64,
    /// Most that a sum is off, whatever the values are: six times rows · bit error · largest product, if all bits err to
    /// one side, and the arithmetic error. A number like the sum.
    pub sum_error: f64,
    /// The same in relation to the largest sum that the domains allow. The sum itself may be far smaller.
    pub sum_relative_error: f64,
    /// Whether every sum is rounded to its last digit, because it is off by less than half of it.
    pub sums_exact: bool,
}

/// Errors of the sum of one measure.
#[derive(Clone, Copy, Debug)]
struct SumErrors {
    arithmetic: f64,
    bound: f64,
    /// The bound in relation to the largest sum.
    relative: f64,
}

impl SumErrors {
    fn of(program: &Query, measure: &Measure, sum: Estimate, bits: Option<&Estimate>) -> Self {
        let rows = program.question().most_rows(measure.selection) as f64;
        let bit = bits.map_or(0.0, |bits| bits.error());
        let largest: f64 = measure.terms.iter().map(|term| term.largest()).product();
        let arithmetic = sum.error() * program.unit(measure);
        let bound = DEVIATIONS * (rows * bit * largest + arithmetic);
        Self { arithmetic, bound, relative: bound / (rows * largest) }
    }
}

impl Measure {
    /// One unit of the sum's last digit, as a number.
    fn last_digit(&self) -> f64 {
        10f64.powi(-self.digits().cast_signed())
    }

    /// A decrypted sum that is off by less than half of its last digit, without that error.
    pub(super) fn rounded(&self, sum: f64) -> Number {
        let digits = self.digits();
        let units = (sum * 10f64.powi(digits.cast_signed())).round();
        #[expect(clippy::cast_possible_truncation, reason = "a bound of half a unit is far below 2^127")]
        let mantissa = units as i128;
        Number::of(Decimal { mantissa, digits })
    }
}

/// The sums and the bits of results, in the order of the results.
fn slots(results: &[BridgedEstimate]) -> Vec<Estimate> {
    let slots = |result: &BridgedEstimate| match result {
        BridgedEstimate::Slots(slots) => Some(slots.estimate),
        BridgedEstimate::Messages(_) => None,
    };
    results.iter().filter_map(slots).collect()
}

impl Query {
    /// The errors of each measure's sum.
    fn errors(&self, results: &[BridgedEstimate]) -> Vec<SumErrors> {
        let measures = &self.question().measures;
        let all = slots(results);
        let (sums, bits) = all.split_at(measures.len().min(all.len()));
        let flagged = self.question().flagged();
        let bits_of = |selection| bits.get(flagged.iter().position(|&number| number == selection)?);
        let of = |(measure, sum): (&Measure, &Estimate)| SumErrors::of(self, measure, *sum, bits_of(measure.selection));
        measures.iter().zip(sums).map(of).collect()
    }

    /// What is expected of the sums, and of the bits.
    pub(super) fn precision(&self, results: &[BridgedEstimate]) -> Option<SumPrecision> {
        let (question, errors) = (self.question(), self.errors(results));
        let below = |(measure, e): (&Measure, &SumErrors)| e.bound < measure.last_digit() / 2.0;
        let sums_exact = question.measures.iter().zip(&errors).all(below);
        let all = question.measures.iter().zip(&errors);
        let worst = all.max_by(|a, b| a.1.relative.total_cmp(&b.1.relative));
        // Without a sum there are flags of rows, and ends of columns, which are exact.
        let selection = worst.map_or(0, |(measure, _)| measure.selection);
        let bits = slots(results).into_iter().skip(question.measures.len()).map(|bits| bits.error());
        let largest = |of: fn(&SumErrors) -> f64| errors.iter().map(of).fold(0.0, f64::max);
        let flag = question.selections.get(selection)?.flag;
        let share = flag.map_or(1.0, |flag| question.flags[flag].share(&question.compared));
        Some(SumPrecision {
            bit_error: bits.fold(0.0, f64::max),
            cleaned: self.bits() == Bits::Cleaned,
            rows_expected: question.most_rows(selection) as f64 * share,
            arithmetic_error: largest(|e| e.arithmetic),
            sum_error: largest(|e| e.bound),
            sum_relative_error: largest(|e| e.relative),
            sums_exact,
        })
    }

    /// Most that each measure's sum may be off, by a run that computes nothing.
    pub(super) fn rehearsed_bounds(&self) -> Result<Vec<f64>> {
        let (null, params) = (Null::default(), self.params());
        let encoder = Encoder::new(params.ckks());
        let setup = || Setup { dev: &null, encoder: &encoder, params };
        let bridge = Bridged::declare(setup(), &self.model())?;
        // More noise than under the secret key.
        let inputs = self.inputs();
        let inputs = inputs.iter().map(|input| Bridged::declare_input(setup(), input, Encryption::PublicKey));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let (store, server) = (DeclaredKeys::all(&null, params.ckks()), ServerKey::declared(&null, params.tfhe()));
        let means = Bridged::means(setup(), &bridge, Keys { store: &store, bootstrap: Some(&server), watch: None });
        let results =
            self.evaluate(Evaluation { means: &means, inputs: &inputs, observer: &mut (), journal: &mut () })?;
        let results: Vec<BridgedEstimate> = results.iter().map(|result| Bridged::estimate(params, result)).collect();
        Ok(self.errors(&results).into_iter().map(|errors| errors.bound).collect())
    }

    /// Whether a measure's sum is off by less than half of its last digit, those of all parts together.
    pub(super) fn exact(&self, measure: usize) -> bool {
        let last = self.question().measures[measure].last_digit();
        self.bounds().get(measure).is_some_and(|bound| *bound * (self.parts.unwrap_or(1) as f64) < last / 2.0)
    }

    /// Of the sums in what a closure says, the one that is off most and by more than half of its last digit: its columns, and its
    /// bound.
    fn open(&self, asked: impl Fn(usize) -> bool) -> Option<(String, f64)> {
        let question = self.question();
        let groups = question.groups.iter().flat_map(|group| group.asked.iter().enumerate());
        let measures = groups.filter(|(aggregate, _)| asked(*aggregate)).filter_map(|(_, asked)| match asked {
            Some(Asked::Sum(measure)) if !question.measures[*measure].terms.is_empty() => Some(*measure),
            _ => None,
        });
        let open = measures.filter(|&measure| !self.exact(measure));
        let bound = |measure: usize| self.bounds().get(measure).copied().unwrap_or(f64::INFINITY);
        let worst = open.max_by(|&a, &b| bound(a).total_cmp(&bound(b)))?;
        let names: Vec<&str> = question.measures[worst].terms.iter().map(|term| term.field.name.as_str()).collect();
        Some((names.join(" * "), bound(worst)))
    }

    /// Fails where it is asked whether a sum equals something, and noise would decide it.
    pub(super) fn check_equalities(&self) -> std::result::Result<(), QueryError> {
        let equated = self.question().results.equated();
        match self.open(|aggregate| equated.iter().any(|output| output.takes(aggregate))) {
            Some((columns, bound)) => Err(QueryError::Equality { columns, bound }),
            None => Ok(()),
        }
    }

    /// What is said of an answer whose rows are chosen or ordered by sums that are not exact to their last digit.
    pub(super) fn decided_by_noise(&self) -> Option<String> {
        let results = &self.question().results;
        let equated = results.equated();
        let (columns, bound) = self.open(|aggregate| {
            let mut outputs = results.order.iter().map(|order| &order.by).chain(equated.iter().copied());
            outputs.any(|output| output.takes(aggregate))
                || results.having.as_ref().is_some_and(|having| having.takes(aggregate))
        })?;
        Some(format!(
            "ORDER BY, HAVING or NULLIF compares sums of {columns} that may be off by {bound:.1e}, more than half of their last digit: \
             between values that lie closer together, ties among them, noise decides"
        ))
    }
}
