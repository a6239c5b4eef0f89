//! Rows as CSV: a column a field, a column a metric, and why there is none.

use super::row::{METRICS, Outcome, Row};
use std::collections::BTreeSet;

/// A table with a heading; cells that do not apply are empty.
///
/// # Panics
/// Never: a vector takes every line.
pub fn csv(rows: &[Row]) -> Vec<u8> {
    let fields: BTreeSet<&String> = rows.iter().flat_map(|row| row.point.keys()).collect();
    let names = fields.iter().map(|name| name.as_str()).chain(METRICS.iter().map(|metric| metric.name));
    let mut lines: Vec<Vec<String>> = vec![names.chain(["refused"]).map(str::to_owned).collect()];
    for row in rows {
        let values = fields.iter().map(|&name| row.point.get(name).cloned().unwrap_or_default());
        let numbers = METRICS.iter().map(|metric| metric.of(row).map_or_else(String::new, |x| x.to_string()));
        let refused = match &row.outcome {
            Outcome::Refused { refused } => refused.clone(),
            Outcome::Timed(_) => String::new(),
        };
        lines.push(values.chain(numbers).chain([refused]).collect());
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.write_record(line).expect("a vector takes every line");
    }
    writer.into_inner().expect("a vector takes every line")
}
