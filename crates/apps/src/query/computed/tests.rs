//! Tests of what the owner of a table computes.

use super::*;

fn table() -> Table {
    let column = |name: &str, cells: &[&str]| Column::of_cells(name, cells);
    let columns = vec![
        column("order", &["7", "9", "7", "8"]),
        column("price", &["1.5", "2", "3", "4"]),
        column("paid", &["2026-01-05", "2026-01-01", "2026-02-01", "2026-01-09"]),
        column("due", &["2026-01-04", "2026-01-02", "2026-02-01", "2026-03-09"]),
        column("from", &["ulm", "bonn", "ulm", "a"]),
        column("to", &["bonn", "bonn", "x", "b"]),
    ];
    Table { name: None, columns, rows: 4 }
}

fn parsed(condition: &str) -> Statement {
    Statement::parse(&format!("SELECT COUNT(*) FROM l WHERE {condition}")).unwrap()
}

#[test]
fn operands_are_computed_row_by_row() {
    for (condition, name, kind, cells) in [
        ("due < paid", "due - paid", Kind::Number(0), [-1, 1, 0, 59]),
        ("price <> order", "price - order", Kind::Number(1), [-55, -70, -40, -40]),
        ("\"from\" = \"to\"", "from - to", Kind::Number(0), [1, 0, -1, -1]),
        ("price * order > 3", "price * order", Kind::Number(1), [105, 180, 210, 320]),
        ("abs(price - order) > 5", "abs(price - order)", Kind::Number(1), [55, 70, 40, 40]),
        ("order % 4 = 3", "order % 4", Kind::Number(0), [3, 1, 3, 0]),
        ("-price % 0.7 < 0", "(0 - price) % 0.7", Kind::Number(1), [-1, -6, -2, -5]),
        ("month(due) = 3", "month(due)", Kind::Number(0), [1, 1, 2, 3]),
        ("day(due) = 3", "day(due)", Kind::Number(0), [4, 2, 1, 9]),
        ("quarter(due) = 1", "quarter(due)", Kind::Number(0), [1, 1, 1, 1]),
        ("week(paid) = 1", "week(paid)", Kind::Number(0), [2, 1, 5, 2]),
        ("extract(dow FROM paid) = 1", "dayofweek(paid)", Kind::Number(0), [1, 4, 0, 5]),
        ("isodow(paid) = 1", "isodow(paid)", Kind::Number(0), [1, 4, 7, 5]),
        ("dayofyear(due) = 1", "dayofyear(due)", Kind::Number(0), [4, 2, 32, 68]),
        (
            "date_trunc('month', due) > '2026-01-01'",
            "date_trunc('month', due)",
            Kind::Date,
            [20_454, 20_454, 20_485, 20_513],
        ),
        (
            "date_trunc('week', due) > '2026-01-01'",
            "date_trunc('week', due)",
            Kind::Date,
            [20_451, 20_451, 20_479, 20_521],
        ),
        ("round(price) = 2", "round(price, 0)", Kind::Number(0), [2, 2, 3, 4]),
        ("round(-price) = 2", "round(0 - price, 0)", Kind::Number(0), [-2, -2, -3, -4]),
        ("floor(price) = 2", "floor(price)", Kind::Number(0), [1, 2, 3, 4]),
        ("ceil(price) = 2", "ceil(price)", Kind::Number(0), [2, 2, 3, 4]),
        ("length(\"from\") = 2", "length(from)", Kind::Number(0), [3, 4, 3, 1]),
        (
            "CASE WHEN price > 2 THEN 1.5 ELSE order END > 2",
            "CASE WHEN price > 2 THEN 1.5 ELSE order END",
            Kind::Number(1),
            [70, 90, 15, 15],
        ),
        ("due - interval '1' month < paid", "(due - 1 months) - paid", Kind::Number(0), [-32, -30, -31, 31]),
    ] {
        let statement = parsed(condition);
        let made = table().with_derived(&statement).unwrap();
        assert_eq!(made.columns[6..].iter().map(|c| &c.name[..]).collect::<Vec<_>>(), [name], "{condition}");
        assert_eq!(made.columns[6].cells, (kind, cells.to_vec()), "{condition}");
    }
}

#[test]
fn what_no_owner_computes_is_refused() {
    for (condition, wanted) in [
        ("due < price", "due - price, computed from due (dates) and price (decimals"),
        ("abs(due) = 3", "abs(due), computed from due (dates)"),
        ("year(price) + order = 3", "from price (decimals with 1 digits behind the point) and order (integers)"),
        ("price * \"to\" = 3", "to (texts)"),
        ("price * size = 3", "no column \"size\""),
    ] {
        let error = table().with_derived(&parsed(condition)).unwrap_err().to_string();
        assert!(error.contains(&wanted.replace('"', "")) || error.contains(wanted), "{condition}: {error}");
    }
    let taken =
        Table { columns: ["a", "b", "A - b"].map(|name| Column::of_cells(name, &["1"])).into(), name: None, rows: 1 };
    let error = taken.with_derived(&parsed("a < b")).unwrap_err().to_string();
    assert!(error.contains("a column of the data with the name of what the query computes"), "{error}");
    let wide = Table { columns: vec![Column::of_cells("a", &["999999999999999999"])], name: None, rows: 1 };
    assert!(wide.with_derived(&parsed("a * a = 1")).is_err(), "no overflow");
}

#[test]
fn texts_are_computed_too() {
    let made = |expr: &str| {
        let statement = Statement::parse(&format!("SELECT COUNT(*) FROM l GROUP BY {expr}")).unwrap();
        let made = table().with_derived(&statement).unwrap();
        let column = made.columns.last().unwrap();
        let cells: Vec<String> = (0..4).map(|row| column.text(row).unwrap_or("NULL").to_owned()).collect();
        cells.join(" ")
    };
    for (expr, wanted) in [
        ("upper(\"from\")", "ULM BONN ULM A"),
        ("substring(\"from\", 2, 2)", "lm on lm "),
        ("SUBSTRING(\"from\" FROM 3)", "m nn m "),
        ("left(\"from\", 1)", "u b u a"),
        ("right(\"from\", 3)", "ulm onn ulm a"),
        ("coalesce(nullif(\"from\", 'ulm'), \"to\")", "bonn bonn x a"),
        ("nullif(lower(\"from\"), \"to\")", "ulm NULL ulm a"),
        ("CASE WHEN price < 2 THEN 'cheap' WHEN price > 3 THEN 'dear' END", "cheap NULL NULL dear"),
        ("CASE \"from\" WHEN 'ulm' THEN \"to\" ELSE 'other' END", "bonn other x other"),
    ] {
        assert_eq!(made(expr), wanted, "{expr}");
    }
    // What a CASE of constants may give is in the query, whatever the data have.
    let text = "SELECT CASE WHEN price < 99 THEN 'low' WHEN price < 2 THEN 'never' ELSE 'high' END, COUNT(*) FROM l GROUP BY 1";
    let statement = Statement::parse(text).unwrap();
    let domains = with_derived(&statement, &table(), &[]).unwrap();
    assert_eq!(domains[0].values, field::Values::Texts(["low", "never", "high"].map(Into::into).into()));
    let statement = parsed("CASE WHEN price < 2 THEN 1 ELSE 2.5 END = 1");
    assert_eq!(
        with_derived(&statement, &table(), &[]).unwrap()[0].values,
        field::Values::Ends(["1.0", "2.5"].map(Into::into))
    );
    for (condition, wanted) in [
        ("length(price) = 1", "length(price), computed from price (decimals"),
        ("CASE WHEN price < 2 THEN 1 ELSE due END = 1", "computed from due (dates) and price"),
        ("date_trunc('month', price) = '2026-01-01'", "date_trunc('month', price), computed from price"),
    ] {
        let error = table().with_derived(&parsed(condition)).unwrap_err().to_string();
        assert!(error.contains(wanted), "{condition}: {error}");
    }
}

/// The domains of what is computed hold all that may come of the columns' domains.
#[test]
fn domains_follow_from_those_of_columns() {
    let domains: Vec<Domain> = [
        "paid=2026-01-01..2026-12-31",
        "due=2026-01-01..2026-12-31",
        "order=-3..9",
        "price=0..4",
        "from=a|ulm|bonn",
        "to=a|b|bonn|x",
    ]
    .map(|d| d.parse().unwrap())
    .into();
    for (condition, wanted) in [
        ("due < paid", ["-364", "364"]),
        ("order * price > 5", ["-12.0", "36.0"]),
        ("order * order > 5", ["-27", "81"]),
        ("abs(order) > 5", ["0", "9"]),
        ("order % 4 = 1", ["-3", "3"]),
        ("price % 4 = 1", ["0.0", "3.9"]),
        ("month(due) = 1", ["1", "12"]),
        ("year(due) + order = 1", ["2023", "2035"]),
        ("due + interval '1' month < paid", ["-333", "395"]),
        ("\"from\" < \"to\"", ["-1", "1"]),
        ("quarter(due) = 1", ["1", "4"]),
        ("date_trunc('year', due) > '2026-01-01'", ["2026-01-01", "2026-01-01"]),
        ("floor(price - 2.5) = 1", ["-3", "1"]),
        ("coalesce(order, price) = 1", ["-3.0", "9.0"]),
        ("CASE WHEN order > 2 THEN price ELSE 7.25 END = 1", ["0.00", "7.25"]),
    ] {
        let statement = parsed(condition);
        let made = table().with_derived(&statement).unwrap();
        let all = with_derived(&statement, &made, &domains).unwrap();
        assert_eq!(all[6].values, field::Values::Ends(wanted.map(Into::into)), "{condition}");
    }
    assert_eq!(with_derived(&parsed("due < price"), &table(), &domains[..1]).unwrap().len(), 1);
}

/// Days between the first days of months are no groups.
#[test]
fn dates_that_are_cut_have_a_group_a_span() {
    let days = ["2024-11-03", "2025-02-28", "2026-01-31", "2026-01-01"];
    let table = Table { name: None, columns: vec![Column::of_cells("day", &days)], rows: 4 };
    for (span, groups) in [("month", 15), ("quarter", 6), ("year", 3), ("week", 66)] {
        let text = format!("SELECT date_trunc('{span}', day), COUNT(*) FROM t GROUP BY 1 ORDER BY 1");
        let statement = Statement::parse(&text).unwrap();
        let made = table.clone().with_derived(&statement).unwrap();
        let question = super::super::Question::new(&statement, &made, &[], &[]);
        match question {
            Ok(question) => assert_eq!(question.groups.len(), groups, "{span}"),
            Err(error) => assert!(groups > 64 && error.to_string().contains("66 groups"), "{span}: {error}"),
        }
    }
    let distinct = Statement::parse("SELECT COUNT(DISTINCT date_trunc('month', day)) FROM t").unwrap();
    let made = table.with_derived(&distinct).unwrap();
    let question = super::super::Question::new(&distinct, &made, &[], &[]).unwrap();
    assert_eq!(question.different[0].len(), 15);
}

/// `'a'` is not `'A'`, and names of columns have no capitals.
#[test]
fn texts_in_computations_have_capitals() {
    let of = |text: &str| Statement::parse(text).map(|statement| statement.operands().len()).map_err(|e| e.to_string());
    let case = |letter: &str| format!("CASE WHEN s = '{letter}' THEN 'x' END");
    let [small, large] = ["a", "A"].map(case);
    let error = of(&format!("SELECT {large}, COUNT(*) FROM t GROUP BY {small}")).unwrap_err();
    assert!(error.contains("the result CASE WHEN s = 'A'"), "{error}");
    let error = of(&format!("SELECT COUNT(*) FROM t WHERE {small} = 'x' OR {large} = 'x'")).unwrap_err();
    assert!(error.contains("which differ by capitals alone"), "{error}");
    let error = of("SELECT MAX(nullif(s, 'a')), MAX(NULLIF(s, 'A')) FROM t").unwrap_err();
    assert!(error.contains("which differ by capitals alone"), "{error}");
    assert!(of("SELECT MAX(nullif(s, 'a')), MIN(NULLIF(s, 'a')) FROM t WHERE abs(B) > 3 OR ABS(b) < 1").is_ok());
    assert!(of("SELECT MAX(coalesce(s, 'a'', ''b')) FROM t").is_ok());
}
