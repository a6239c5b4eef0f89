//! Pareto fronts: the points that no other beats.

use super::row::{Metric, Row};

/// Numbers of the rows that no other row equals or beats in every objective and beats in one; rows without one of the
/// objectives are not on it. Of rows that are equal in all, each is. Sorted by the first objective, the best first.
pub fn front(rows: &[Row], objectives: &[Metric]) -> Vec<usize> {
    let costs_of = |row: &Row| objectives.iter().map(|metric| metric.cost_of(row)).collect::<Option<Vec<f64>>>();
    let mut known: Vec<(Vec<f64>, usize)> =
        rows.iter().enumerate().filter_map(|(number, row)| Some((costs_of(row)?, number))).collect();
    let by_costs = |(a, i): &(Vec<f64>, usize), (b, j): &(Vec<f64>, usize)| {
        a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(i.cmp(j))
    };
    known.sort_by(by_costs);
    // In this order nothing is beaten by what comes later, unless it is equal in all, which does not beat.
    let mut kept: Vec<(Vec<f64>, usize)> = Vec::new();
    for (costs, number) in known {
        let beats = |other: &Vec<f64>| *other != costs && other.iter().zip(&costs).all(|(x, y)| x <= y);
        if !kept.iter().any(|(other, _)| beats(other)) {
            kept.push((costs, number));
        }
    }
    kept.into_iter().map(|(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::row::{Metrics, Outcome};
    use std::collections::BTreeMap;

    fn row(seconds: f64, area: f64, precision: f64) -> Row {
        let metrics = Metrics {
            seconds,
            cycles: None,
            energy_j: None,
            area_mm2: Some(area),
            edap: None,
            off_chip_bytes: None,
            products: 1,
            key_bytes: 1,
            security_bits: 128,
            precision_bits: Some(precision),
            log2_failure: None,
            budget_bits: None,
            slots_bits_s: None,
            t_as_us: None,
        };
        Row { point: BTreeMap::new(), outcome: Outcome::Timed(Box::new(metrics)) }
    }

    fn metrics(names: &[&str]) -> Vec<Metric> {
        names.iter().map(|name| Metric::named(name).unwrap()).collect()
    }

    #[test]
    fn what_nothing_beats_is_on_the_front() {
        let mut rows = vec![row(2.0, 2.0, 20.0), row(1.0, 3.0, 20.0), row(3.0, 1.0, 9.0), row(3.0, 2.0, 30.0)];
        rows.push(Row { point: BTreeMap::new(), outcome: Outcome::Refused { refused: "no room".into() } });
        assert_eq!(front(&rows, &metrics(&["seconds", "area_mm2"])), [1, 0, 2]);
        // More precision is better: a fourth point is good for something now.
        assert_eq!(front(&rows, &metrics(&["seconds", "area_mm2", "precision_bits"])), [1, 0, 2, 3]);
        assert_eq!(front(&rows, &metrics(&["precision_bits"])), [3]);
        assert!(front(&rows, &metrics(&["edap"])).is_empty(), "nobody knows");
    }

    #[test]
    fn agrees_with_the_definition() {
        // A few hundred points on a small grid, so that many are equal in one objective or in all.
        let rows: Vec<Row> =
            (0..300u32).map(|i| row(f64::from(i * 7 % 11), f64::from(i * 5 % 13), f64::from(i * i % 17))).collect();
        let objectives = metrics(&["seconds", "area_mm2", "precision_bits"]);
        let costs = |row: &Row| objectives.iter().map(|m| m.cost_of(row).unwrap()).collect::<Vec<_>>();
        let beats = |a: &Row, b: &Row| costs(a) != costs(b) && costs(a).iter().zip(costs(b)).all(|(x, y)| *x <= y);
        let mut wanted: Vec<usize> = (0..rows.len()).filter(|&i| !rows.iter().any(|a| beats(a, &rows[i]))).collect();
        let mut found = front(&rows, &objectives);
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
    }
}
