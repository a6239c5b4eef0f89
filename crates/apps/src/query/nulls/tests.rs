//! Tests of NULL: conditions against SQL's three values, and answers that DuckDB gives.

use super::super::{Public, Question, error::QueryError, table::Column};
use super::*;

const NAMES: [&str; 5] = ["a", "b", "p", "d", "s"];
const ROWS: [[&str; 5]; 9] = [
    ["", "", "", "", "x"],
    ["", "1", "1.5", "2024-01-05", ""],
    ["", "2", "2.25", "", "y"],
    ["1", "", "", "2024-02-01", "x"],
    ["1", "1", "4", "", ""],
    ["1", "2", "", "2024-03-01", "y"],
    ["2", "", "0.5", "2023-12-31", "x"],
    ["2", "1", "", "", "z"],
    ["2", "2", "8", "2024-02-01", ""],
];

fn table() -> Table {
    let column = |(at, name): (usize, &&str)| {
        let cells = ROWS.map(|row| row[at]);
        let nulls = cells.map(str::is_empty).to_vec();
        let column = if *name == "s" { Column::texts(name, &cells) } else { Column::of_cells(name, &cells) };
        // The empty text is none of the known ones.
        let numbers = column.cells.1.iter().map(|cell| cell - i64::from(*name == "s"));
        let cells = (column.cells.0, numbers.collect());
        let categories = column.categories.iter().filter(|text| !text.is_empty()).cloned().collect();
        Column { cells, categories, ..column }.with_nulls(nulls)
    };
    Table { name: None, columns: NAMES.iter().enumerate().map(column).collect(), rows: 9 }
}

fn asked(sql: &str) -> Result<(Statement, Table, Question), QueryError> {
    let statement = Statement::parse(sql)?.of_table(&table(), &[])?;
    let table = table().with_derived(&statement)?;
    let question = Question::new(&statement, &table, &[], &[])?;
    Ok((statement, table, question))
}

/// A condition of the columns a and b, by SQL's rules.
enum Wanted {
    Compare(usize, &'static str, i64),
    Columns(&'static str),
    Among(Vec<i64>),
    Null(usize),
    Distinct(i64),
    DistinctColumns,
    Not(Box<Wanted>),
    Both(&'static str, Box<[Wanted; 2]>),
}

type Row = [Option<i64>; 2];

fn holds(op: &str, a: i64, b: i64) -> bool {
    match op {
        "=" => a == b,
        "<>" => a != b,
        "<" => a < b,
        ">=" => a >= b,
        other => unreachable!("{other}"),
    }
}

impl Wanted {
    fn sql(&self) -> String {
        match self {
            Self::Compare(column, op, with) => format!("{} {op} {with}", NAMES[*column]),
            Self::Columns(op) => format!("a {op} b"),
            Self::Among(of) => {
                let of: Vec<String> = of.iter().map(ToString::to_string).collect();
                format!("a NOT IN ({})", of.join(", "))
            }
            Self::Null(column) => format!("{} IS NULL", NAMES[*column]),
            Self::Distinct(with) => format!("b IS DISTINCT FROM {with}"),
            Self::DistinctColumns => "a IS NOT DISTINCT FROM b".into(),
            Self::Not(of) => format!("NOT ({})", of.sql()),
            Self::Both(op, of) => format!("({} {op} {})", of[0].sql(), of[1].sql()),
        }
    }

    fn of(&self, row: &Row) -> Option<bool> {
        match self {
            Self::Compare(column, op, with) => row[*column].map(|value| holds(op, value, *with)),
            Self::Columns(op) => Some(holds(op, row[0]?, row[1]?)),
            Self::Among(of) => row[0].map(|value| !of.contains(&value)),
            Self::Null(column) => Some(row[*column].is_none()),
            Self::Distinct(with) => Some(row[1] != Some(*with)),
            Self::DistinctColumns => Some(row[0] == row[1]),
            Self::Not(of) => of.of(row).map(|holds| !holds),
            Self::Both(op, of) => {
                let decisive = *op == "OR";
                let both = [of[0].of(row), of[1].of(row)];
                if both.contains(&Some(decisive)) {
                    Some(decisive)
                } else {
                    (!both.contains(&None)).then_some(!decisive)
                }
            }
        }
    }

    /// A condition that a number stands for.
    fn at(number: &mut u64, depth: u32) -> Self {
        let mut next = |below: u64| {
            *number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*number >> 33) % below
        };
        let op = ["=", "<>", "<", ">="][usize::try_from(next(4)).unwrap()];
        let with = i64::try_from(next(4)).unwrap();
        let column = usize::try_from(next(2)).unwrap();
        let kind = if depth == 0 { next(6) } else { next(12) };
        match kind {
            0 => Self::Compare(column, op, with),
            1 => Self::Columns(op),
            2 => Self::Among(vec![with, 2]),
            3 => Self::Null(column),
            4 => Self::Distinct(with),
            5 => Self::DistinctColumns,
            6..=7 => Self::Not(Box::new(Self::at(number, depth - 1))),
            _ => {
                let of = [Self::at(number, depth - 1), Self::at(number, depth - 1)];
                Self::Both(if kind < 10 { "AND" } else { "OR" }, Box::new(of))
            }
        }
    }
}

#[test]
fn conditions_have_three_values() {
    let rows = [None, Some(1), Some(2)].map(|a| [None, Some(1), Some(2)].map(|b| [a, b])).concat();
    let mut number = 0;
    let mut answers = std::collections::BTreeSet::new();
    for _ in 0..3000 {
        let wanted = Wanted::at(&mut number, 4);
        let sql = format!("SELECT COUNT(*) FROM t WHERE {}", wanted.sql());
        let (_, table, question) = asked(&sql).unwrap();
        let right: Vec<bool> = rows.iter().map(|row| wanted.of(row) == Some(true)).collect();
        assert_eq!(question.passing(&table).unwrap(), right, "{sql}");
        answers.insert(right);
    }
    assert!(answers.len() > 100, "{} different answers", answers.len());
}

fn answered(table: &Table, question: &Question) -> Vec<Vec<String>> {
    let rows = question.answer(&question.exact(table).unwrap());
    let shown = |value: &_| {
        question.shown(value, |number: &super::super::answer::Number| {
            let text = number.to_string();
            text.get(..9).unwrap_or(&text).to_owned()
        })
    };
    rows.iter().map(|row| row.values.iter().map(shown).collect()).collect()
}

/// As DuckDB 1.5 has it.
#[test]
fn answers_leave_null_out() {
    for (sql, wanted) in [
        ("SELECT COUNT(*), COUNT(a), COUNT(p), COUNT(s), COUNT(a + b) FROM t", "9 6 5 6 4"),
        (
            "SELECT SUM(a), AVG(p), SUM(a * b), SUM(a + b), AVG(a - b) FROM t WHERE b > 1 OR a IS NULL",
            "3 3.9166666 6 7 -0.5",
        ),
        ("SELECT SUM(p), COUNT(p), MIN(d) FROM t WHERE a = 1 AND b = 2", "NULL 0 2024-03-01"),
        (
            "SELECT MIN(p), MAX(p), MIN(d), MAX(d), MIN(s), MAX(s) FROM t WHERE NOT (a = 1)",
            "0.50 8.00 2023-12-31 2024-02-01 x z",
        ),
        (
            "SELECT COUNT(DISTINCT s), COUNT(DISTINCT a), COUNT(DISTINCT b) FILTER (WHERE a IS DISTINCT FROM 1) FROM t",
            "3 2 2",
        ),
        ("SELECT a, COUNT(*), SUM(p), COUNT(p) FROM t GROUP BY a ORDER BY a", "1 3 4.00 1, 2 3 8.50 2, NULL 3 3.75 2"),
        ("SELECT s, COUNT(*), MAX(a) FROM t GROUP BY s ORDER BY s DESC NULLS FIRST", "NULL 3 2, z 1 2, y 2 1, x 3 2"),
        ("SELECT SUM(CASE WHEN a > 1 THEN p ELSE b END), COUNT(CASE WHEN a > 1 THEN p ELSE b END) FROM t", "14.50 6"),
        ("SELECT SUM(CASE WHEN NOT a > 1 THEN 1 ELSE 10 END) FROM t", "63"),
        (
            "SELECT SUM(COALESCE(p, 100)), AVG(COALESCE(a, b)), SUM(NULLIF(a, 1)), COUNT(NULLIF(b, 2)) FROM t",
            "416.25 1.5 6 3",
        ),
        ("SELECT COUNT(*), MIN(COALESCE(d, date '2025-01-01')) FROM t WHERE a IS NOT DISTINCT FROM b", "3 2024-02-01"),
        ("SELECT VAR_POP(p), STDDEV(a) FROM t WHERE year(d) = 2024 OR s NOT LIKE 'x%'", "8.4305555 0.5773502"),
        ("SELECT DISTINCT s, a FROM t WHERE p IS NOT NULL ORDER BY s, a", "x 2, y NULL, NULL 1, NULL 2, NULL NULL"),
        ("SELECT s FROM t GROUP BY s HAVING s <> 'x' ORDER BY 1", "y, z"),
        (
            "SELECT a, SUM(p) FROM t WHERE s IN ('x', 'z') GROUP BY a HAVING SUM(p) > 0 OR COUNT(*) > 5 ORDER BY a",
            "2 0.50",
        ),
    ] {
        let (statement, table, question) = asked(sql).unwrap();
        let rows: Vec<String> = answered(&table, &question).iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows.join(", "), wanted, "{sql}");
        // What a server is told makes the same question.
        let again = Statement::with_nulls(&question.sql, statement.results.nulls.clone()).unwrap();
        assert_eq!(Question::described(&again, 9, &question.fields(), Public::default()).unwrap(), question, "{sql}");
    }
}

#[test]
fn what_is_not_compared_is_asked_by_one_bit() {
    let (.., question) = asked("SELECT SUM(p) FROM t WHERE b < 2").unwrap();
    let compared = |question: &Question| {
        let of = |field: &crate::query::field::Field| (field.name.clone(), field.coded_bits());
        question.compared.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(compared(&question), [("b".into(), 2), ("p IS NULL".into(), 1)]);
    let (.., question) = asked("SELECT SUM(p) FROM t WHERE p < 2 OR b IS NULL").unwrap();
    assert_eq!(compared(&question), [("p".into(), 10), ("b IS NULL".into(), 1)]);
    // A condition that says so already costs nothing more.
    let (.., question) = asked("SELECT SUM(p) FROM t WHERE p < 2").unwrap();
    assert_eq!((question.flags.len(), compared(&question).len()), (1, 1));
}

#[test]
fn null_where_there_should_be_none_is_told() {
    // Keys were made for a table without it.
    let statement = Statement::parse("SELECT SUM(p), COUNT(d) FROM t WHERE a < 9").unwrap();
    let full = Table {
        columns: table().columns.iter().map(|c| c.taken([Some(8)].into_iter())).collect(),
        name: None,
        rows: 1,
    };
    let domains = ["a=0..9", "p=0..9"].map(|domain| domain.parse().unwrap());
    let question = Question::new(&statement, &full, &domains, &[]).unwrap();
    for (row, name) in [(5, "p"), (4, "d"), (1, "a")] {
        let other = table().columns.iter().map(|c| c.taken([Some(row)].into_iter())).collect();
        let other = Table { columns: other, name: None, rows: 1 };
        let error = question.fits(&other).unwrap_err().to_string();
        let wanted = [format!("column {name}, row 1: NULL"), format!("--nullable {name}")];
        assert!(wanted.iter().all(|part| error.contains(part)), "{error}");
    }
    // It is declared, though the table has none.
    let declared = statement.clone().of_table(&full, &["P".into()]).unwrap();
    let full = full.with_derived(&declared).unwrap();
    let question = Question::new(&declared, &full, &[], &[]).unwrap();
    assert_eq!(question.compared.iter().map(|field| &field.name[..]).collect::<Vec<_>>(), ["p IS NULL"]);
    let error = statement.of_table(&full, &["s".into()]).unwrap_err().to_string();
    assert!(error.contains("--nullable s: the query names no such column"), "{error}");
    // A description that says two things of a column.
    let (statement, _, question) = asked("SELECT SUM(b) FROM t WHERE a < 2").unwrap();
    let mut fields = question.fields();
    fields[0].null = false;
    let error = Question::described(&statement, 9, &fields, Public::default()).unwrap_err().to_string();
    assert!(error.contains("not sure of NULL in a"), "{error}");
}

#[test]
fn rows_that_fill_a_part_may_be_null() {
    let (_, whole, question) = asked("SELECT COUNT(*) FROM t WHERE a IS NOT NULL AND b < 5").unwrap();
    let question = Question { rows: 4, ..question };
    let filled = question.filled(whole.part(crate::workload::Part { first: 6, count: 3 })).unwrap();
    assert_eq!(question.passing(&filled).unwrap(), [false, true, true, false]);
}

#[test]
fn rows_without_a_key_are_not_joined() {
    let statement = Statement::parse("SELECT COUNT(*) FROM t JOIN u ON a = k").unwrap();
    let other = Table { columns: vec![Column::of_cells("k", &["1", "", "2", "2"])], name: None, rows: 4 };
    let joined = table().joined(&other, &statement.from.joins[0]).unwrap();
    let b = joined.column("b").unwrap();
    assert_eq!(b.cells.1, [0, 1, 2, 0, 0, 1, 1, 2, 2]);
    assert_eq!(b.nulls, [true, false, false, true, true, false, false, false, false]);
}
