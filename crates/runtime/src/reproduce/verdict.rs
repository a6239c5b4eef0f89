//! Verdicts: how far a model's number is from the published one, and how many claims fare how.

use super::claims::Row;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a claim fares. A verdict never says more than the relative difference: a printed number of one digit can be equal
/// after rounding and 8 % away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Verdict {
    /// Equal at the paper's digits, and at most 1 % away.
    #[serde(rename = "equal at printed digits")]
    Equal,
    /// At most 1 % away.
    #[serde(rename = "within 1 %")]
    Within1,
    /// At most 10 % away.
    #[serde(rename = "within 10 %")]
    Within10,
    /// At most 25 % away.
    #[serde(rename = "within 25 %")]
    Within25,
    /// Further away.
    #[serde(rename = "off")]
    Off,
    /// A number of the machine was made from the claim, so agreement says nothing.
    #[serde(rename = "calibrated")]
    Calibrated,
    /// A number that the paper quotes of another system; nothing here models that system.
    #[serde(rename = "context")]
    Context,
    /// A claim of the paper that nothing here computes.
    #[serde(rename = "not derivable")]
    NotDerivable,
}

/// When the reading of an unclear claim was fixed: how the published words became a program and a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fixed {
    /// Before its result was seen: a prediction.
    Before,
    /// After its result was seen, or inferred from the published number itself.
    After,
    /// Neither a decision record nor the history of the code tells.
    Unknown,
}

impl Fixed {
    /// In the order of the columns.
    const ALL: [Self; 3] = [Self::Before, Self::After, Self::Unknown];

    /// The word in tables.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Unknown => "unknown",
        }
    }
}

impl Verdict {
    /// The verdicts that compare a derived number, the best first.
    pub(super) const DERIVED: [Self; 5] = [Self::Equal, Self::Within1, Self::Within10, Self::Within25, Self::Off];

    /// The verdicts that compare nothing.
    const APART: [Self; 3] = [Self::Calibrated, Self::Context, Self::NotDerivable];

    /// The verdict in words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Equal => "equal at printed digits",
            Self::Within1 => "within 1 %",
            Self::Within10 => "within 10 %",
            Self::Within25 => "within 25 %",
            Self::Off => "off",
            Self::Calibrated => "calibrated",
            Self::Context => "context",
            Self::NotDerivable => "not derivable",
        }
    }

    /// Compares a model's number with a published one that has so many digits after the point.
    pub(super) fn of(paper: f64, model: f64, digits: usize) -> Self {
        let rounded = |x: f64| format!("{x:.digits$}");
        let error = (model / paper - 1.0).abs();
        match error {
            _ if error <= 0.01 && rounded(model) == rounded(paper) => Self::Equal,
            error if error <= 0.01 => Self::Within1,
            error if error <= 0.1 => Self::Within10,
            error if error <= 0.25 => Self::Within25,
            _ => Self::Off,
        }
    }
}

/// How many claims fare how; derived, calibrated, quoted and not derivable numbers are counted apart.
pub(super) struct Counts<'a>(pub(super) &'a [Row]);

impl Counts<'_> {
    fn count(&self, found: impl Fn(&Row) -> bool) -> usize {
        self.0.iter().filter(|row| found(row)).count()
    }

    /// All in one sentence.
    pub(super) fn sentence(&self) -> String {
        let derived = self.count(|row| Verdict::DERIVED.contains(&row.verdict));
        let apart =
            Verdict::APART.map(|verdict| format!("{} {}", self.count(|r| r.verdict == verdict), verdict.text()));
        format!("{} claims: {derived} derived, {}", self.0.len(), apart.join(", "))
    }

    /// Derived claims by verdict and by when their reading was fixed; the last column is the sum.
    pub(super) fn table(&self) -> Vec<(Verdict, [usize; 4])> {
        let line = |verdict: Verdict| {
            let fixed = Fixed::ALL.map(|fixed| self.count(|r| r.verdict == verdict && r.fixed == Some(fixed)));
            let [before, after, unknown] = fixed;
            (verdict, [before, after, unknown, before + after + unknown])
        };
        Verdict::DERIVED.map(line).to_vec()
    }

    /// The columns of the table.
    pub(super) const COLUMNS: [&'static str; 4] = ["before", "after", "unknown", "all"];
}

impl fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.sentence())?;
        let [before, after, unknown, all] = Self::COLUMNS;
        writeln!(f, "{:<24} {before:>7} {after:>7} {unknown:>7} {all:>7}", "derived; reading fixed")?;
        self.table().into_iter().try_for_each(|(verdict, [before, after, unknown, all])| {
            writeln!(f, "{:<24} {before:>7} {after:>7} {unknown:>7} {all:>7}", verdict.text())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_never_says_more_than_the_difference() {
        let of = Verdict::of;
        assert_eq!(of(40.0, 40.0, 0), Verdict::Equal);
        assert_eq!(of(54.8, 54.79, 1), Verdict::Equal);
        assert_eq!(of(8.61, 8.548, 2), Verdict::Within1);
        assert_eq!(of(0.014, 0.0145, 3), Verdict::Within10, "equal digits, 3.6 % away");
        assert_eq!(of(0.5, 0.4595, 1), Verdict::Within10, "equal digits, 8.1 % away");
        assert_eq!(of(0.5, 0.545, 0), Verdict::Within10, "no digits: 0 and 1");
        assert_eq!(of(1.0, 1.2, 0), Verdict::Within25, "equal digits, 20 % away");
        assert_eq!(of(1.0, 0.74, 0), Verdict::Off);
        assert_eq!(of(1.0, f64::NAN, 0), Verdict::Off);
    }
}
