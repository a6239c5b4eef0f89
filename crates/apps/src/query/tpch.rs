//! TPC-H: the text of Query 6, and the rows of `lineitem` from the `tpchgen` generator. Source: \[TPCH\] §2.4.6 and
//! §4.2.

use super::{
    field::Domain,
    load,
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

/// The first rows of a scale factor: numeric columns, ship dates and short texts. Comments, which no query here reads, are
/// drawn from a short text pool instead of the specified 300 MB; all other columns stay the same.
pub fn generated(scale: f64, rows: usize) -> Table {
    const POOL_BYTES: i32 = 1 << 16;
    let distributions = Distributions::static_default();
    let pool = TextPool::new(POOL_BYTES, distributions);
    let generator = LineItemGenerator::new_with_distributions_and_text_pool(scale, 1, 1, distributions, &pool);
    let (mut columns, mut texts): ([Vec<i64>; 5], [Vec<&str>; 4]) = Default::default();
    for line in generator.iter().take(rows) {
        let numbers = [line.l_quantity, line.l_extendedprice.0, line.l_discount.0, line.l_tax.0];
        let all = numbers.into_iter().chain([i64::from(line.l_shipdate.to_unix_epoch())]);
        columns.iter_mut().zip(all).for_each(|(column, value)| column.push(value));
        let all = [line.l_returnflag, line.l_linestatus, line.l_shipinstruct, line.l_shipmode];
        texts.iter_mut().zip(all).for_each(|(column, text)| column.push(text));
    }
    let names = ["l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_shipdate"];
    let kinds = [Kind::Number(0), Kind::Number(2), Kind::Number(2), Kind::Number(2), Kind::Date];
    let rows = columns[0].len();
    let column = |((name, kind), values): ((&str, Kind), Vec<i64>)| Column::new(name, kind, values);
    let numbers = names.into_iter().zip(kinds).zip(columns).map(column);
    let texts = TEXTS.iter().zip(&texts).map(|(name, cells)| Column::texts(name, cells));
    Table { name: Some(LINEITEM.into()), columns: numbers.chain(texts).collect(), rows }
}

/// The columns of short texts that the generator's rows have.
const TEXTS: [&str; 4] = ["l_returnflag", "l_linestatus", "l_shipinstruct", "l_shipmode"];

#[cfg(test)]
mod tests {
    use super::super::{question::Question, sql::Statement};
    use super::*;

    /// The shipped columns as text.
    fn text(table: &Table) -> String {
        let names = ["l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_shipdate"];
        let columns: Vec<&Column> = names.iter().chain(&TEXTS).map(|name| table.column(name).unwrap()).collect();
        let cell = |column: &Column, row: usize| match column.cells.0 {
            Kind::Text => column.categories[usize::try_from(column.cells.1[row]).unwrap()].clone(),
            kind => kind.show(column.cells.1[row]),
        };
        let row = |i: usize| columns.iter().map(|column| cell(column, i)).collect::<Vec<_>>().join(",") + "\n";
        let head: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        head.join(",") + "\n" + &(0..table.rows).map(row).collect::<String>()
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

    /// The value of a line `name = "value"`.
    fn value<'a>(lines: &mut impl Iterator<Item = &'a str>, name: &str) -> Option<&'a str> {
        lines.find_map(|line| {
            line.strip_prefix(name)?.trim_start_matches([' ', '=']).strip_prefix('"')?.strip_suffix('"')
        })
    }

    /// The answers are DuckDB's: `scripts/check_q6_duckdb.py` runs the same texts on the shipped file.
    #[test]
    fn queries_have_the_answers_of_another_database() {
        let files = [
            include_str!("../../../../tests/golden/q6_duckdb.toml"),
            include_str!("../../../../tests/golden/queries_duckdb.toml"),
        ];
        let (table, mut asked) = (sample(), 0);
        for file in files {
            let mut lines = file.lines();
            while let Some(sql) = value(&mut lines, "sql") {
                let question = Question::new(&Statement::parse(sql).unwrap(), &table, &domains()).unwrap();
                let selected = question.passing(&table).unwrap().into_iter().filter(|&row| row).count().to_string();
                let exact = question.exact(&question.sums(&table).unwrap());
                let answer = exact[0].to_string();
                let wanted = ["revenue", "rows"].map(|name| value(&mut lines, name).unwrap());
                assert_eq!([answer.as_str(), selected.as_str()], wanted, "{sql}");
                asked += 1;
            }
        }
        assert!(asked >= 12, "{asked} queries");
    }
}
