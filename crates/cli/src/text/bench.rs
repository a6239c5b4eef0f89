//! The text of measurements.

use super::{table::render as table, units};
use crate::verbs::bench::{Report, Row};

/// One line a row.
pub(crate) fn render(report: &Report) -> String {
    let cells = |row: &Row| {
        let time = |ns: f64| units::seconds(ns / 1e9);
        let limit = row.limit_ns.map_or_else(|| "-".into(), time);
        let share = row.limit_ns.map_or_else(|| "-".into(), |limit| format!("{:.0} %", 100.0 * limit / row.ns));
        let bits = row.prime_bits.to_string();
        let size = format!("2^{}", row.n.ilog2());
        let (limbs, threads) = (row.limbs.to_string(), row.threads.to_string());
        [row.op.to_owned(), size, bits, limbs, threads, row.isa.clone(), time(row.ns), limit, share]
    };
    let heading = ["op", "N", "bits", "limbs", "threads", "isa", "time", "limit", "of limit"];
    table(heading, &report.rows.iter().map(cells).collect::<Vec<_>>(), &[2, 3, 4, 6, 7, 8])
}
