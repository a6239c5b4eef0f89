//! Experiments of a paper, repeated: what changes with one choice, as tables.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// A table: one choice varied, and results for each of its values.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Experiment {
    /// The choice that is varied.
    pub name: String,
    /// The fixed choices, in words.
    pub about: String,
    /// Names of the numbers.
    pub columns: Vec<String>,
    /// One row for each value.
    pub rows: Vec<Setting>,
}

/// A value of the choice, and its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Setting {
    /// The value.
    pub setting: String,
    /// One number for each column.
    pub values: Vec<f64>,
}

/// Four significant digits.
fn number(x: f64) -> String {
    let digits = (0..10u8).find(|&d| x.abs() * 10f64.powi(i32::from(d)) >= 1000.0).unwrap_or(9);
    if x == 0.0 { "0".into() } else { format!("{x:.*}", usize::from(digits)) }
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
