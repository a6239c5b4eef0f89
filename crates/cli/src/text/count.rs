//! Text of counts by a model.

use super::table::render as table;
use crate::verbs::count::Counted;
use limbwise_machines::simfhe::{Count, Row, Set, Step};

/// The set, the subroutines, bootstrapping, and its ladder of options.
pub(crate) fn render(counted: &Counted) -> String {
    let Counted { set, budget, subroutines, bootstrap, steps } = counted;
    let rows = |rows: &[Row]| lines(rows.iter().map(|row| (row.name, &row.count)));
    format!(
        "{}\nsubroutines at {} limbs\n{}\nbootstrapping, {budget} levels\n{}\nsteps, each on top of those before\n{}",
        heading(set),
        set.limbs,
        rows(subroutines),
        rows(bootstrap),
        lines(steps.iter().map(|step: &Step| (step.name, &step.count)))
    )
}

fn heading(set: &Set) -> String {
    let fields = serde_json::to_value(set).unwrap_or_default();
    let field = |(name, value): (&String, &serde_json::Value)| {
        format!("{name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let fields: Vec<String> = fields.as_object().into_iter().flatten().map(field).collect();
    format!("set: {}\n", fields.join(", "))
}

fn lines<'a>(rows: impl Iterator<Item = (&'a str, &'a Count)>) -> String {
    let heading = ["", "Gop", "Gmult", "Gadd", "limbs", "GB", "read", "written", "keys", "ops a byte"];
    let row = |(name, c): (&str, &Count)| {
        let [ops, mults, adds] = [c.operations(), c.multiplications, c.additions].map(giga);
        let [all, read, written, keys] = [c.bytes(), c.read_bytes, c.written_bytes, c.key_bytes].map(giga);
        let (limbs, intensity) = (c.limb_transforms.to_string(), format!("{:.4}", c.intensity()));
        [name.to_owned(), ops, mults, adds, limbs, all, read, written, keys, intensity]
    };
    table(heading, &rows.map(row).collect::<Vec<_>>(), &[1, 2, 3, 4, 5, 6, 7, 8, 9])
}

/// 10⁹ with six digits, rounded to the nearest, as the published tables have them.
fn giga(x: u64) -> String {
    let millionths = (x + 500) / 1000;
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}
