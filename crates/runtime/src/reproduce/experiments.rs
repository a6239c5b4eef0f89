//! Experiments of a paper, repeated: what changes with one choice, as tables.

use serde::Serialize;
use std::fmt;

/// A choice and what comes of each of its values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Experiment {
    /// What is varied.
    pub name: String,
    /// What stays, in words.
    pub about: String,
    /// What the numbers are.
    pub columns: Vec<String>,
    /// One a value.
    pub rows: Vec<Setting>,
}

/// A value of the choice, and its numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// The value.
    pub setting: String,
    /// One a column.
    pub values: Vec<f64>,
}

/// Four significant digits.
pub(super) fn number(x: f64) -> String {
    let digits = |x: f64| usize::try_from((3.0 - x.abs().log10().floor()).clamp(0.0, 9.0) as i64).unwrap_or(0);
    if x == 0.0 { "0".into() } else { format!("{x:.*}", digits(x)) }
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}: {}", self.name, self.about)?;
        write!(f, "{:<24}", "")?;
        self.columns.iter().try_for_each(|column| write!(f, " {column:>18}"))?;
        writeln!(f)?;
        for row in &self.rows {
            write!(f, "{:<24}", row.setting)?;
            row.values.iter().try_for_each(|&x| write!(f, " {:>18}", number(x)))?;
            writeln!(f)?;
        }
        Ok(())
    }
}
