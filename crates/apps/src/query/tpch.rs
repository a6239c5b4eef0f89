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
    let table = load::text((Path::new("lineitem_1024.csv"), bytes), (None, &[]), usize::MAX)
        .expect("the shipped rows are a table");
    Table { name: Some(LINEITEM.into()), ..table }
}

/// The first rows of a scale factor: numeric columns, ship dates and short texts. Comments, which no query here reads, are
/// drawn from a short text pool instead of the specified 300 MB; all other columns stay the same.
pub fn generated(scale: f64, rows: usize) -> Table {
    const POOL_BYTES: i32 = 1 << 16;
    let distributions = Distributions::static_default();
    let pool = TextPool::new(POOL_BYTES, distributions);
    let generator = LineItemGenerator::new_with_distributions_and_text_pool(scale, 1, 1, distributions, &pool);
    let (mut columns, mut texts): ([Vec<i64>; 9], [Vec<&str>; 4]) = Default::default();
    for line in generator.iter().take(rows) {
        let numbers = [line.l_quantity, line.l_extendedprice.0, line.l_discount.0, line.l_tax.0];
        let dates = [line.l_shipdate, line.l_commitdate, line.l_receiptdate].map(|day| i64::from(day.to_unix_epoch()));
        let all = numbers.into_iter().chain(dates).chain([line.l_orderkey, line.l_partkey]);
        columns.iter_mut().zip(all).for_each(|(column, value)| column.push(value));
        let all = [line.l_returnflag, line.l_linestatus, line.l_shipinstruct, line.l_shipmode];
        texts.iter_mut().zip(all).for_each(|(column, text)| column.push(text));
    }
    let rows = columns[0].len();
    let column = |(&(name, kind), values): (&(&str, Kind), Vec<i64>)| Column::new(name, kind, values);
    let numbers = NUMBERS.iter().zip(columns).map(column);
    let texts = TEXTS.iter().zip(&texts).map(|(name, cells)| Column::texts(name, cells));
    Table { name: Some(LINEITEM.into()), columns: numbers.chain(texts).collect(), rows }
}

/// The columns of numbers and dates that the generator's rows have.
const NUMBERS: [(&str, Kind); 9] = [
    ("l_quantity", Kind::Number(0)),
    ("l_extendedprice", Kind::Number(2)),
    ("l_discount", Kind::Number(2)),
    ("l_tax", Kind::Number(2)),
    ("l_shipdate", Kind::Date),
    ("l_commitdate", Kind::Date),
    ("l_receiptdate", Kind::Date),
    ("l_orderkey", Kind::Number(0)),
    ("l_partkey", Kind::Number(0)),
];

/// The columns of short texts that the generator's rows have.
const TEXTS: [&str; 4] = ["l_returnflag", "l_linestatus", "l_shipinstruct", "l_shipmode"];

#[cfg(test)]
mod tests {
    use super::super::{answer::Value, question::Question, sql::Statement};
    use super::*;
    use std::collections::BTreeSet;
    use tpchgen::generators::{OrderGenerator, PartGenerator};

    /// Columns as text.
    fn text(table: &Table, names: &[&str]) -> String {
        let columns: Vec<&Column> = names.iter().map(|name| table.column(name).unwrap()).collect();
        let cell = |column: &Column, row: usize| match column.cells.0 {
            Kind::Text => column.categories[usize::try_from(column.cells.1[row]).unwrap()].clone(),
            kind => kind.show(column.cells.1[row]),
        };
        let row = |i: usize| columns.iter().map(|column| cell(column, i)).collect::<Vec<_>>().join(",") + "\n";
        names.join(",") + "\n" + &(0..table.rows).map(row).collect::<String>()
    }

    /// The orders and the parts that lines name.
    fn others(lines: &Table) -> [Table; 2] {
        let pool = TextPool::new(1 << 16, Distributions::static_default());
        let named = |key: &str| lines.column(key).unwrap().cells.1.iter().copied().collect::<BTreeSet<i64>>();
        let table = |names: [&str; 2], rows: Vec<(i64, &str)>| {
            let (keys, texts): (Vec<i64>, Vec<&str>) = rows.into_iter().unzip();
            let rows = keys.len();
            let columns = vec![Column::new(names[0], Kind::Number(0), keys), Column::texts(names[1], &texts)];
            Table { name: None, columns, rows }
        };
        let distributions = Distributions::static_default();
        let (orders, parts) = (named("l_orderkey"), named("l_partkey"));
        let order = OrderGenerator::new_with_distributions_and_text_pool(1.0, 1, 1, distributions, &pool);
        let part = PartGenerator::new_with_distributions_and_text_pool(1.0, 1, 1, distributions, &pool);
        let order = order.iter().filter(|o| orders.contains(&o.o_orderkey)).take(orders.len());
        let part = part.iter().filter(|p| parts.contains(&p.p_partkey)).take(parts.len());
        [
            table(["o_orderkey", "o_orderpriority"], order.map(|o| (o.o_orderkey, o.o_orderpriority)).collect()),
            table(["p_partkey", "p_type"], part.map(|p| (p.p_partkey, p.p_type)).collect()),
        ]
    }

    fn shipped(name: &str) -> std::path::PathBuf {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data")).join(name)
    }

    #[test]
    fn shipped_rows_are_what_the_generator_makes() {
        let made = generated(1.0, 1024);
        let [orders, parts] = others(&made);
        let names: Vec<&str> = NUMBERS[..5].iter().map(|(name, _)| *name).chain(TEXTS).collect();
        let names: Vec<&str> = names.into_iter().chain(NUMBERS[5..].iter().map(|(name, _)| *name)).collect();
        let files = [
            ("lineitem_1024.csv", text(&made, &names)),
            ("orders_1024.csv", text(&orders, &["o_orderkey", "o_orderpriority"])),
            ("part_1024.csv", text(&parts, &["p_partkey", "p_type"])),
        ];
        for (name, made) in files {
            if std::env::var_os("LIMBWISE_BLESS").is_some() {
                std::fs::write(shipped(name), &made).unwrap();
            }
            assert!(std::fs::read_to_string(shipped(name)).unwrap() == made, "{name}");
        }
        let sample = sample();
        assert_eq!((sample.rows, made.rows), (1024, 1024));
        let few = generated(0.001, 100_000).rows;
        assert!((5_900..6_100).contains(&few), "{few} rows of a scale that has no more");
    }

    /// The value of a line `name = "value"`.
    fn value<'a>(lines: &mut impl Iterator<Item = &'a str>, name: &str) -> Option<&'a str> {
        lines.find_map(|line| {
            line.strip_prefix(name)?.trim_start_matches([' ', '=']).strip_prefix('"')?.strip_suffix('"')
        })
    }

    /// The answers are DuckDB's: `scripts/check_q6_duckdb.py` runs the same texts on the shipped files. Sums of decimals
    /// agree in every digit; quotients, which it has as floats, in fifteen.
    #[test]
    fn queries_have_the_answers_of_another_database() {
        let files = [
            include_str!("../../../../tests/golden/q6_duckdb.toml"),
            include_str!("../../../../tests/golden/queries_duckdb.toml"),
        ];
        let (lines, mut asked) = (sample(), 0);
        let read = |name: &str| load::load(&shipped(name), None, &[]).unwrap();
        for file in files {
            let mut all = file.lines();
            while let Some(sql) = value(&mut all, "sql") {
                let statement = Statement::parse(sql).unwrap();
                let table = match statement
                    .from
                    .joins
                    .first()
                    .map(|join| [&join.with.table[..], &statement.from.first.table[..]])
                {
                    None => lines.clone(),
                    Some(names) => {
                        let other = if names.contains(&"orders") { "orders_1024.csv" } else { "part_1024.csv" };
                        Table { name: None, ..lines.joined(&read(other), &statement.from.joins[0]).unwrap() }
                    }
                };
                let table = table.with_derived(&statement).unwrap();
                let domains = if !statement.from.joins.is_empty() { Vec::new() } else { domains() };
                let question = Question::new(&statement, &table, &domains, &[]).unwrap();
                let answer = question.answer(&question.exact(&table).unwrap());
                let shown = |value: &Value| question.shown(value, ToString::to_string);
                let wanted = value(&mut all, "answer").unwrap();
                let wanted: Vec<Vec<&str>> =
                    wanted.split("; ").filter(|row| !row.is_empty()).map(|row| row.split(", ").collect()).collect();
                assert_eq!(answer.len(), wanted.len(), "{sql}");
                for (row, wanted) in answer.iter().zip(wanted) {
                    let got: Vec<String> = row.values.iter().map(shown).collect();
                    let near = |got: &str, wanted: &str| {
                        let [got, wanted] = [got, wanted].map(str::parse::<f64>);
                        got.is_ok_and(|got| wanted.is_ok_and(|wanted| (got - wanted).abs() <= 1e-14 * wanted.abs()))
                    };
                    let same = |(got, wanted): (&String, &&str)| got == wanted || near(got, wanted);
                    assert!(
                        got.len() == wanted.len() && got.iter().zip(&wanted).all(same),
                        "{sql}: {got:?} {wanted:?}"
                    );
                }
                asked += 1;
            }
        }
        assert!(asked >= 47, "{asked} queries");
    }
}
