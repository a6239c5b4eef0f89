//! The text of measurements.

use super::{table::render as table, units};
use crate::verbs::bench::{Report, Row};
use std::collections::BTreeSet;

/// Columns without rivals.
const OURS: usize = 9;
const HEADING: [&str; 12] =
    ["op", "N", "bits", "limbs", "threads", "isa", "time", "limit", "ours/limit", "rival", "time", "rival/ours"];
/// Columns of numbers.
const RIGHT: [usize; 8] = [2, 3, 4, 6, 7, 8, 10, 11];

/// One line a row; rivals and their parameters where there are any.
pub(crate) fn render(report: &Report) -> String {
    let rows: Vec<[String; 12]> = report.rows.iter().map(cells).collect();
    if report.rows.iter().all(|row| row.rival.is_none()) {
        let ours: Vec<[String; OURS]> = rows.iter().map(|row| std::array::from_fn(|i| row[i].clone())).collect();
        return table(std::array::from_fn::<_, OURS, _>(|i| HEADING[i]), &ours, &RIGHT);
    }
    table(HEADING, &rows, &RIGHT) + &parameters(report)
}

fn cells(row: &Row) -> [String; 12] {
    let time = |ns: f64| units::seconds(ns / 1e9);
    let ratio = |x: f64| format!("{x:.2}");
    let limit = row.limit_ns.map_or_else(|| "-".into(), time);
    let share = row.limit_ns.map_or_else(|| "-".into(), |limit| ratio(row.ns / limit));
    let bits = row.prime_bits.to_string();
    let size = format!("2^{}", row.n.ilog2());
    let (limbs, threads) = (row.limbs.to_string(), row.threads.to_string());
    let [name, rival, times] = match &row.rival {
        Some(rival) => [rival.library.clone(), time(rival.ns), ratio(rival.ns / row.ns)],
        None => ["-"; 3].map(str::to_owned),
    };
    [row.op.into(), size, bits, limbs, threads, row.isa.clone(), time(row.ns), limit, share, name, rival, times]
}

/// Each implementation with each of the parameter sets that it was measured at, scheme operations only.
fn parameters(report: &Report) -> String {
    let compared = report.rows.iter().filter_map(|row| Some((row, row.parameters.as_ref()?, row.rival.as_ref()?)));
    let lines: BTreeSet<[String; 3]> = compared
        .flat_map(|(row, ours, rival)| {
            let size = format!("2^{}", row.n.ilog2());
            let theirs = [size.clone(), format!("{} {}", rival.library, rival.version), rival.parameters.clone()];
            [[size, "ours".into(), ours.clone()], theirs]
        })
        .collect();
    let lines: Vec<[String; 3]> = lines.into_iter().rev().collect();
    format!("\n{}", table(["N", "by", "parameters"], &lines, &[]))
}
