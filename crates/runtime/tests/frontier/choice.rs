//! A memory budget picks the cheapest plan that fits.

use limbwise::{
    Complex64,
    ckks::{Diagonals, PlaintextForm, Strategy},
    params::{Insecure, Params, ParamsLiteral},
    rlwe::KeyForm,
};
use limbwise_runtime::frontier::{LinearTask, cheapest_within, frontier, record_linear, rows, strategies};

#[test]
fn less_memory_costs_more() {
    let mut literal = ParamsLiteral::chain(11, 50, 40, 7, (48, 2), 4);
    literal.insecure = Some(Insecure { reason: "counting on a small ring".into() });
    let params = Params::new(&literal).unwrap();
    let one = |d| (d, vec![Complex64::new(0.5, 0.0)]);
    let diagonals = Diagonals::new(params.max_slots(), (-31..=31).map(one)).unwrap();
    let task = |keys| LinearTask { params: &params, diagonals: &diagonals, level: 7, keys };
    let products = |graph: &limbwise_graph::Graph| Ok(graph.counts().products() as f64);
    let all = rows(task(KeyForm::Stored), products).unwrap();
    assert_eq!(all.len(), 2 * Strategy::candidates(&diagonals).len());
    let worth = strategies(&diagonals);
    for kind in ["direct", "hoisted", "bsgs", "double_hoisted", "chained", "multi_hop"] {
        let steps = |s: &&Strategy| s.steps(&diagonals);
        let best = |of: &[Strategy]| {
            of.iter().filter(|s| s.name() == kind).min_by_key(steps).copied().map(|s| s.steps(&diagonals))
        };
        assert_eq!(best(&worth), best(&Strategy::candidates(&diagonals)), "{kind}");
    }
    assert!(worth.len() < Strategy::candidates(&diagonals).len());
    assert!(all.windows(2).all(|pair| pair[0].cost <= pair[1].cost));
    let best = frontier(&all);
    assert!(best.len() > 3 && best[0] == all[0]);
    assert!(best.windows(2).all(|p| p[0].cost <= p[1].cost && p[0].peak_bytes > p[1].peak_bytes));
    for row in &all {
        let chosen = cheapest_within(&all, row.peak_bytes).unwrap();
        assert!(chosen.cost <= row.cost && chosen.peak_bytes <= row.peak_bytes);
        assert!(best.iter().any(|b| b.cost <= chosen.cost && b.peak_bytes <= chosen.peak_bytes));
        assert!(row.peak_bytes > row.key_bytes + row.plaintext_bytes);
    }
    let smallest = best.last().unwrap();
    assert!(matches!(smallest.way.maps, Some((Strategy::MultiHop { .. }, PlaintextForm::OnTheFly))));
    assert_eq!(cheapest_within(&all, smallest.peak_bytes - 1), None);
    // Seeds instead of uniform halves: half the key bytes.
    let seeded = rows(task(KeyForm::Seeded), products).unwrap();
    let same = |row: &&limbwise_runtime::frontier::Row| row.way.maps == all[0].way.maps;
    let seeded = seeded.iter().find(same).unwrap();
    assert_eq!(seeded.counts, all[0].counts);
    // Growing seeds takes time on the model of a CPU.
    let cpu = limbwise_machines::Spec::load("cpu").unwrap();
    let seconds = |keys| {
        let (graph, _) = record_linear(task(keys), Strategy::Hoisted, PlaintextForm::Full).unwrap();
        limbwise_machines::time(&graph, &cpu).unwrap().seconds
    };
    assert!(seconds(KeyForm::Seeded) > 1.05 * seconds(KeyForm::Stored));
    assert!(2 * seeded.key_bytes < all[0].key_bytes * 101 / 100);
}
