//! TPC-H: the text of Query 6, and the rows of `lineitem` from the `tpchgen` generator. Source: \[TPCH\] §2.4.6 and
//! §4.2.

use super::{
    load,
    question::Domain,
    table::{Column, Kind, Table},
};
use std::path::Path;
use tpchgen::{distribution::Distributions, generators::LineItemGenerator, text::TextPool};

/// Query 6 with the parameters of its validation run.
pub const QUERY_6: &str = "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem \
                           WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01' \
                           AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24";

pub const LINEITEM: &str = "lineitem";

/// Columns of a `lineitem.tbl`.
pub const COLUMNS: [&str; 16] = [
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_linenumber",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
    "l_commitdate",
    "l_receiptdate",
    "l_shipinstruct",
    "l_shipmode",
    "l_comment",
];

/// The domains that the specification gives to the columns of Query 6. They disclose nothing about the rows.
///
/// # Panics
/// Never.
pub fn domains() -> Vec<Domain> {
    let domains = ["l_shipdate=1992-01-01..1998-12-31", "l_discount=0.00..0.10", "l_quantity=1..50"];
    let prices = "l_extendedprice=900.00..104950.00"; // 1 × the least price of a part to 50 × the largest
    domains.iter().chain([&prices]).map(|d| d.parse().expect("of that form")).collect()
}

/// The shipped rows: the first 1024 of scale factor 1, as the generator makes them.
///
/// # Panics
/// Never: the file is read by a test.
pub fn sample() -> Table {
    let bytes = include_bytes!("../../data/lineitem_1024.csv");
    let table =
        load::text(Path::new("lineitem_1024.csv"), bytes, None, usize::MAX).expect("the shipped rows are a table");
    Table { name: Some(LINEITEM.into()), ..table }
}

/// The first rows of a scale factor: numeric columns and dates. Comments, which no query here reads, are drawn from a
/// short text pool instead of the specified 300 MB; all other columns stay the same.
pub fn generated(scale: f64, rows: usize) -> Table {
    const POOL_BYTES: i32 = 1 << 16;
    let distributions = Distributions::static_default();
    let pool = TextPool::new(POOL_BYTES, distributions);
    let generator = LineItemGenerator::new_with_distributions_and_text_pool(scale, 1, 1, distributions, &pool);
    let mut columns: [Vec<i64>; 5] = Default::default();
    for line in generator.iter().take(rows) {
        let numbers = [line.l_quantity, line.l_extendedprice.0, line.l_discount.0, line.l_tax.0];
        let all = numbers.into_iter().chain([i64::from(line.l_shipdate.to_unix_epoch())]);
        columns.iter_mut().zip(all).for_each(|(column, value)| column.push(value));
    }
    let names = ["l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_shipdate"];
    let kinds = [Kind::Number(0), Kind::Number(2), Kind::Number(2), Kind::Number(2), Kind::Date];
    let rows = columns[0].len();
    let column =
        |((name, kind), values): ((&str, Kind), Vec<i64>)| Column { name: name.into(), cells: Ok((kind, values)) };
    Table {
        name: Some(LINEITEM.into()),
        columns: names.into_iter().zip(kinds).zip(columns).map(column).collect(),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{question::Question, sql::Statement};
    use super::*;

    /// The shipped columns as text.
    fn text(table: &Table) -> String {
        let names = ["l_quantity", "l_extendedprice", "l_discount", "l_shipdate"];
        let columns = names.map(|name| table.column(name).unwrap());
        let row = |i: usize| columns.map(|(_, kind, values)| kind.show(values[i])).join(",") + "\n";
        names.join(",") + "\n" + &(0..table.rows).map(row).collect::<String>()
    }

    #[test]
    fn shipped_rows_are_what_the_generator_makes() {
        let made = generated(1.0, 1024);
        if std::env::var_os("LIMBWISE_BLESS").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/lineitem_1024.csv");
            std::fs::write(path, text(&made)).unwrap();
        }
        let sample = sample();
        assert_eq!((sample.rows, made.rows), (1024, 1024));
        for column in &sample.columns {
            assert_eq!(sample.column(&column.name).unwrap(), made.column(&column.name).unwrap());
        }
        let few = generated(0.001, 100_000).rows;
        assert!((5_900..6_100).contains(&few), "{few} rows of a scale that has no more");
    }

    /// The answer is DuckDB's: `scripts/check_q6_duckdb.py` runs the same text on the shipped file.
    #[test]
    fn query_6_has_the_answer_of_another_database() {
        let golden = include_str!("../../../../tests/golden/q6_duckdb.toml");
        let value = |name: &str| {
            let line = golden.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start_matches([' ', '=', '"']).trim_end_matches('"').to_owned()
        };
        let question = Question::new(&Statement::parse(QUERY_6).unwrap(), &sample(), &domains()).unwrap();
        let selected = question.passing(&sample()).unwrap().into_iter().filter(|&row| row).count();
        let answer = Kind::Number(question.digits()).show(question.answer(&sample()).unwrap().try_into().unwrap());
        assert_eq!((answer, selected.to_string()), (value("revenue"), value("rows")));
    }
}
