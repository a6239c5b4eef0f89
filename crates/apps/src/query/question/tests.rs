//! Tests of questions.

use super::super::answer::{Figures, Number};
use super::*;

fn table() -> Table {
    let column = |name: &str, cells: &[&str]| Column::of_cells(name, cells);
    let columns = vec![
        column("Price", &["10.50", "99.99", "3", "7.25"]),
        column("discount", &["0.05", "0.10", "0", "0.07"]),
        column("day", &["1994-01-01", "1993-12-31", "1994-12-31", "1995-01-01"]),
        column("color", &["red", "green", "blue", "1"]),
    ];
    Table { name: Some("goods".into()), columns, rows: 4 }
}

fn question(filter: &str, result: &str, domains: &[&str]) -> Result<Question, QueryError> {
    let domains: Vec<Domain> = domains.iter().map(|d| d.parse()).collect::<Result<_, _>>()?;
    let statement = Statement::parse(&format!("SELECT {result} FROM goods WHERE {filter}"))?;
    Question::new(&statement, &table(), &domains, &[])
}

#[test]
fn answers_are_exact() {
    let day = "day >= date '1994-01-01' AND day < date '1995-01-01'";
    for (filter, result, rows, answer, digits) in [
        (day, "SUM(price * discount)", vec![true, false, true, false], 1050 * 5, 4),
        ("discount between 0.05 and 0.07", "COUNT(*)", vec![true, false, false, true], 2, 0),
        ("discount > 0.055", "SUM(price)", vec![false, true, false, true], 9999 + 725, 2),
        ("discount < 0.055", "SUM(price * (1 - discount))", vec![true, false, true, false], 1050 * 95 + 300 * 100, 4),
        ("discount = 0.1", "SUM(price * (discount + 0.125))", vec![false, true, false, false], 9999 * 225, 5),
        ("10 <= price", "SUM(discount)", vec![true, true, false, false], 15, 2),
        ("color = 'green' OR price < 5", "COUNT(*)", vec![false, true, true, false], 2, 0),
        ("color <> 'green' AND NOT price > 10", "COUNT(*)", vec![false, false, true, true], 2, 0),
        ("color IN ('red', 'blue', 'black')", "SUM(price)", vec![true, false, true, false], 1350, 2),
        ("color LIKE 'gr%' OR color LIKE 're%'", "COUNT(*)", vec![true, true, false, false], 2, 0),
        ("color NOT LIKE 'b%' AND color >= 'a'", "COUNT(*)", vec![true, true, false, false], 2, 0),
        ("day IN ('1994-01-01', date '1995-01-01')", "COUNT(*)", vec![true, false, false, true], 2, 0),
        (
            "NOT (day BETWEEN '1994-01-01' AND '1994-12-31' AND price > 5)",
            "COUNT(*)",
            vec![false, true, true, true],
            3,
            0,
        ),
        ("price IN (3, 7.25, 8) OR price NOT IN (10.5, 3, 7.25)", "COUNT(*)", vec![false, true, true, true], 3, 0),
    ] {
        let question = question(filter, result, &[]).unwrap();
        assert_eq!(question.passing(&table()).unwrap(), rows, "{filter}");
        let (sums, measure) = (question.sums(&table()).unwrap(), &question.measures[0]);
        assert_eq!((&sums[..], measure.digits()), (&[answer][..], digits), "{result}");
    }
}

/// A side that has the description alone has to find the same.
#[test]
fn columns_that_the_domains_decide_are_told_and_not_encrypted() {
    for (filter, result, decided) in [
        ("price > 5 AND color <> 'black'", "COUNT(*)", &["color"][..]),
        ("price > 5 AND NOT (day > '2000-01-01' AND color = 'red')", "SUM(price)", &["day", "color"]),
        ("price < 50", "SUM(CASE WHEN discount < 1 THEN price ELSE 0 END)", &["discount"]),
        ("price < 50", "SUM(CASE WHEN color = 'black' THEN discount ELSE 0 END), COUNT(*)", &["color", "discount"]),
    ] {
        let asked = question(filter, result, &[]).unwrap();
        let names = |fields: &[Field]| fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(&asked.decided), names(&asked.compared)),
            (decided.iter().map(|&name| name.into()).collect(), vec!["Price".into()])
        );
        let statement = Statement::parse(&asked.sql).unwrap();
        assert_eq!(Question::described(&statement, 4, &asked.fields(), Public::default()).unwrap(), asked, "{filter}");
        // Another table may have what they exclude.
        let mut other = table();
        other.columns[3] = Column::of_cells("color", &["red", "green", "blue", "black"]);
        assert_eq!(asked.fits(&other).is_err(), decided.contains(&"color"), "{filter}");
    }
}

#[test]
fn texts_are_numbers_of_what_both_sides_know() {
    let domain = ["color=yellow|red|green|blue|1"];
    let asked = question("color = 'red'", "COUNT(*)", &domain).unwrap();
    assert_eq!(asked.compared[0].categories, ["1", "blue", "green", "red", "yellow"]);
    assert_eq!(values(&asked.compared[0], &table()).unwrap(), [3, 2, 1, 0]);
    // A list that lacks one is told where; one that is no list, and hostile ones, are refused.
    let error = question("color = 'red'", "COUNT(*)", &["color=red|blue"]).unwrap_err().to_string();
    assert!(error.contains("column color, row 2: \"green\" is none of the values"), "{error}");
    let error = question("color = 'red'", "COUNT(*)", &["color=1..3"]).unwrap_err().to_string();
    assert!(error.contains("the column holds texts, got a range"), "{error}");
    let statement = Statement::parse(&asked.sql).unwrap();
    assert_eq!(Question::described(&statement, 4, &asked.compared, Public::default()).unwrap(), asked);
    for change in [
        |field: &mut Field| field.categories.swap(0, 1),
        |field: &mut Field| field.high = 7,
        |field: &mut Field| field.categories.clear(),
        |field: &mut Field| field.categories[4] = "z".repeat(300),
        |field: &mut Field| field.kind = Kind::Date,
    ] {
        let mut field = asked.compared[0].clone();
        change(&mut field);
        let error = Question::described(&statement, 4, &[field], Public::default()).unwrap_err().to_string();
        assert!(error.contains("no domain of a column"), "{error}");
    }
}

/// What a column cannot be is told before keys.
#[test]
fn cells_that_queries_cannot_take_are_named() {
    let ask = |sql: &str, cells: &[&str], domains: &[&str]| {
        let columns = vec![Column::of_cells("a", cells), Column::of_cells("b", &["1", "2", "3"])];
        let columns =
            if sql.contains("AMB") { [columns, vec![Column::of_cells("A", cells)]].concat() } else { columns };
        let table = Table { name: None, columns, rows: 3 };
        let domains: Vec<Domain> = domains.iter().map(|d| d.parse()).collect::<Result<_, _>>()?;
        Question::new(&Statement::parse(sql)?, &table, &domains, &[])
    };
    let long = "x".repeat(257);
    for (sql, cells, domains, wanted) in [
        ("SELECT SUM(a) FROM t WHERE b > 1", ["1", "", "3"], &[][..], "column a, row 2: NULL, which"),
        ("SELECT MAX(a) FROM t WHERE b > 1", ["9", "10", "1e3"], &[], "column a, row 3: \"1e3\" is no number"),
        ("SELECT COUNT(*) FROM t WHERE a > '2'", ["9", "10", "NaN"], &[], "--domain \"a=A|B|C\""),
        ("SELECT COUNT(*) FROM t WHERE a > 2", ["9", "10", "x"], &[], "if it is of numbers, mend that cell"),
        ("SELECT COUNT(*) FROM t WHERE a = 'x'", ["y", "x", &long], &[], "begins with \"xxxx"),
        ("SELECT COUNT(*) FROM t WHERE a > 2", ["1", "2", "3"], &["a=1..3", "A=1..4"], "has a domain already"),
        ("SELECT COUNT(*) AS AMB FROM t WHERE a > 2", ["1", "2", "3"], &[], "2 columns have the name \"a\""),
    ] {
        let error = ask(sql, &cells, domains).unwrap_err().to_string();
        assert!(error.contains(wanted), "{sql}: {error}");
    }
}

#[test]
fn long_formulas_become_short_ones() {
    for join in ["OR", "AND"] {
        let many = vec!["price=3"; 160].join(&format!(" {join} "));
        assert_eq!(
            question(&many, "COUNT(*)", &[]).unwrap().condition,
            question("price=3", "COUNT(*)", &[]).unwrap().condition
        );
    }
    let list = (0..3000).map(|i| (2 * i).to_string()).collect::<Vec<_>>().join(",");
    let long = question(&format!("price IN ({list})"), "COUNT(*)", &["price=0..99999"]).unwrap();
    let error = super::super::Filter::new(
        &long,
        &limbwise::tfhe::preset("2-2-p64").map(|p| limbwise::tfhe::TfheParams::new(&p).unwrap()).unwrap(),
    );
    assert!(error.unwrap_err().to_string().contains("bootstrappings a row"));
}

#[test]
fn rows_that_fill_a_table_do_not_pass() {
    for filter in [
        "color <> 'red' OR price > 5",
        "color NOT IN ('red', 'blue') AND price < 50",
        "price > 3 OR day > '1994-01-01'",
    ] {
        let whole = Question { rows: 7, ..question(filter, "COUNT(*)", &[]).unwrap() };
        let filled = whole.filled(table()).unwrap();
        assert_eq!(filled.rows, 7);
        let passing = whole.passing(&filled).unwrap();
        assert_eq!(passing[4..], [false; 3], "{filter}");
        assert_eq!(passing[..4], whole.passing(&table()).unwrap()[..], "{filter}");
    }
}

#[test]
fn domains_decide_the_width() {
    let width = |domains: &[&str]| question("price < 50", "COUNT(*)", domains).map(|q| q.compared[0].bits());
    assert_eq!(width(&[]).unwrap(), 14, "9699 units between least and largest");
    assert_eq!(width(&["price=0..655.35"]).unwrap(), 16);
    let refused = [
        (&["price=0..50"][..], "column Price, row 2: 99.99 lies outside 0.00 to 50.00"),
        (&["price=0..99999999999"], "takes 44 bits"),
        (&["price=50..0"], "the low end lies above"),
        (&["price=1994-01-01..7"], "the column holds decimals"),
        (&["price"], "not of that form"),
        (&["prize=1..2"], "no column \"prize\""),
    ];
    for (domains, wanted) in refused {
        let error = width(domains).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn mistakes_are_named_before_keys() {
    for (filter, result, wanted) in [
        ("size < 3", "COUNT(*)", "no column \"size\": its columns are Price, discount, day, color"),
        (
            "color < 3",
            "COUNT(*)",
            "column color holds texts such as \"blue\", the constant is a number; write a text in quotes if the column is of texts; if it is of numbers, mend that cell",
        ),
        ("price LIKE '3%'", "COUNT(*)", "the constant is a text; write a number"),
        ("price = 'red'", "COUNT(*)", "the constant is a text; write a number"),
        ("price < 50", "SUM(color)", "a sum of the texts of color"),
        ("price < 50", "SUM(day)", "a sum of the dates of day"),
        ("day < 3", "COUNT(*)", "column day holds dates, the constant is a number; write date 'YYYY-MM-DD'"),
        ("price < '1994-01-01'", "COUNT(*)", "the constant is a date; write a number"),
        ("price < 50", "SUM(price * price * price * price * price)", "a product of 5 factors"),
        ("price < 50", "SUM(99999999999999999 - price)", "a factor of Price beyond"),
    ] {
        let error = question(filter, result, &[]).unwrap_err().to_string();
        assert!(error.contains(wanted), "{filter}: {error}");
    }
    let other = Statement::parse("SELECT COUNT(*) FROM orders WHERE price < 50").unwrap();
    let error = Question::new(&other, &table(), &[], &[]).unwrap_err().to_string();
    assert!(error.contains("about table \"orders\", the data are \"goods\""), "{error}");
}

fn asked(text: &str, domains: &[&str]) -> Result<Question, QueryError> {
    let domains: Vec<Domain> = domains.iter().map(|d| d.parse()).collect::<Result<_, _>>()?;
    Question::new(&Statement::parse(text)?, &table(), &domains, &[])
}

/// The rows of the exact answer as text.
fn answered(question: &Question) -> Vec<Vec<String>> {
    let rows = question.answer(&question.exact(&question.arranged(table()).unwrap()).unwrap());
    let shown = |value: &_| question.shown(value, ToString::to_string);
    rows.iter().map(|row| row.values.iter().map(shown).collect()).collect()
}

/// SQL groups by the column where a result has its name, and people mean the result.
#[test]
fn a_name_of_a_column_and_of_another_result_is_no_key() {
    let wrong = "GROUP BY day: the table has a column day, and a result has that name too";
    for text in [
        "SELECT year(day) AS day, COUNT(*) FROM goods GROUP BY day",
        "SELECT color AS DAY, MAX(price) FROM goods GROUP BY (day), color",
    ] {
        let error = asked(text, &[]).unwrap_err().to_string();
        assert!(error.contains(wrong), "{text}: {error}");
    }
    for text in [
        "SELECT color AS day, COUNT(*) FROM goods GROUP BY 1",
        "SELECT color AS day, COUNT(*) FROM goods GROUP BY goods.color",
        "SELECT color AS c, COUNT(*) FROM goods GROUP BY C",
        "SELECT goods.color AS Color, COUNT(*) FROM goods GROUP BY color",
    ] {
        assert_eq!(answered(&asked(text, &[]).unwrap()).len(), 4, "{text}");
    }
}

/// Keys are made with one table, and another is encrypted.
#[test]
fn a_table_with_the_name_of_a_key_does_not_fit() {
    let question = asked("SELECT color AS shade, COUNT(*) FROM goods GROUP BY shade", &[]).unwrap();
    assert!(question.fits(&table()).is_ok());
    let mut other = table();
    other.columns.push(Column::of_cells("Shade", &["1", "2", "3", "4"]));
    let error = question.fits(&other).unwrap_err().to_string();
    assert!(error.contains("the table has a column shade"), "{error}");
}

#[test]
fn distinct_rows_of_groups_are_the_rows() {
    let text = "COUNT(*) AS n, color FROM goods GROUP BY color HAVING MIN(price) < 9 ORDER BY color";
    let rows = |text: &str| answered(&asked(text, &[]).unwrap());
    assert_eq!(rows(&format!("SELECT DISTINCT {text}")), rows(&format!("SELECT {text}")));
    assert_eq!(rows("SELECT DISTINCT SUM(price), COUNT(*) FROM goods"), rows("SELECT SUM(price), COUNT(*) FROM goods"));
}

#[test]
fn groups_have_flags_and_share_sums() {
    let text = "SELECT color, COUNT(*), AVG(price), SUM(price), SUM(CASE WHEN discount > 0.06 THEN price ELSE 0 END) \
                FROM goods WHERE color <> 'blue' GROUP BY color ORDER BY SUM(price) DESC";
    let question = asked(text, &["color=1|blue|green|red|white"]).unwrap();
    // Blue cannot pass; white has no row, which only the decrypted count tells.
    assert_eq!(
        question.groups.iter().map(|g| question.keys[0].show(g.values[0])).collect::<Vec<_>>(),
        ["\"1\"", "\"green\"", "\"red\"", "\"white\""]
    );
    assert_eq!((question.flags.len(), question.measures.len()), (8, 12), "a flag and one of CASE, three sums");
    let rows = answered(&question);
    let wanted = [
        ["green", "1", "99.99", "99.99", "99.99"],
        ["red", "1", "10.50", "10.50", "0.00"],
        ["1", "1", "7.25", "7.25", "7.25"],
    ];
    assert_eq!(rows, wanted);
    // What a server is told is enough to make the same question.
    let again = Statement::parse(&question.sql).unwrap();
    let again = Question::described(&again, 4, &question.fields(), Public::default()).unwrap();
    assert_eq!(again, question);
}

#[test]
fn an_average_of_no_row_is_none() {
    let question = asked("SELECT AVG(price), COUNT(*) FROM goods WHERE price < 5 AND color = 'red'", &[]).unwrap();
    let exact = question.exact(&table()).unwrap();
    let rows = question.answer(&exact);
    assert_eq!(rows[0].values[0], super::super::answer::Value::Null);
    let (shown, same) = question
        .compared(&Figures { sums: vec![Number::near(0.0); 2], ends: Vec::new(), rows: vec![0.0], parts: 1 }, &exact);
    assert!(same && matches!(shown.rows[0][0], crate::family::Cell::Null(())));
}

/// The column is encrypted as it is, whatever factors are made of it.
#[test]
fn units_cover_the_columns_and_their_factors() {
    for (filter, result, domain, unit) in [
        ("price < 50", "SUM(1 - discount)", "discount=0..1", 1.0),
        ("price < 50", "SUM(discount - 3)", "discount=0..4", 4.0),
        ("price < 50", "SUM(discount - 30)", "discount=0..1", 30.0),
        ("discount < 0.06", "SUM(price * (50 - price))", "price=0..100", 100.0),
        ("discount < 0.06", "SUM(1 - price)", "price=0..1000", 1000.0),
        ("discount < 0.06", "SUM(price) + SUM(price - 10)", "price=-5..100", 100.0),
    ] {
        let found = question(filter, result, &[domain]).unwrap();
        let [(_, got)] = &found.summed()[..] else { panic!("{result}") };
        assert!((got - unit).abs() < 1e-12, "{result}: {got}");
    }
}

/// As in DuckDB: blue has no average, and is last both ways.
#[test]
fn null_is_last_up_and_down() {
    for (order, wanted) in [("", ["1", "red", "blue"]), ("DESC", ["red", "1", "blue"])] {
        let text = format!(
            "SELECT color, SUM(price) / SUM(discount) AS q FROM goods WHERE price < 50 GROUP BY color ORDER BY q {order}"
        );
        let rows = answered(&asked(&text, &[]).unwrap());
        assert_eq!(rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), wanted, "{order}");
        assert_eq!(rows[2][1], "NULL");
    }
}

/// Without a condition nothing is compared; what is counted is known.
#[test]
fn every_row_is_taken_without_a_condition() {
    for (text, wanted, flags) in [
        ("SELECT SUM(price) FROM goods", &["120.74"][..], 0),
        ("SELECT AVG(price), COUNT(*), COUNT(1), COUNT(Price) FROM goods", &["30.185", "4", "4", "4"], 0),
        ("SELECT SUM(price * (1 - discount)), SUM(price) FROM goods WHERE price < 1000", &["109.7085", "120.74"], 0),
        ("SELECT MIN(price), MAX(day), MIN(color) FROM goods", &["3.00", "1995-01-01", "1"], 0),
        ("SELECT SUM(CASE WHEN price < 5 THEN 1 ELSE 0 END), COUNT(*), MAX(price) FROM goods", &["1", "4", "99.99"], 1),
        ("SELECT AVG(price) FROM goods HAVING COUNT(*) > 4", &[], 0),
        ("SELECT COUNT(color), COUNT(*) FROM goods WHERE price < 50", &["3", "3"], 1),
        ("SELECT COUNT(*), SUM(price), MAX(day) FROM goods WHERE color = 'black'", &["0", "NULL", "NULL"], 0),
        ("SELECT COUNT(*) FROM goods WHERE price < 1000", &["4"], 0),
        ("SELECT color, COUNT(*) FROM goods WHERE price > 1000 GROUP BY color", &[], 0),
        ("SELECT COUNT(DISTINCT color), COUNT(DISTINCT color) FILTER (WHERE price < 50) FROM goods", &["4", "3"], 8),
        (
            "SELECT MAX(day) FILTER (WHERE price > 50), MIN(price) FILTER (WHERE color = 'black') FROM goods",
            &["1993-12-31", "NULL"],
            1,
        ),
        ("SELECT DISTINCT color FROM goods WHERE price < 8 ORDER BY color DESC", &["blue", "1"], 4),
        (
            "SELECT ROUND(SUM(price), -1), COALESCE(SUM(price) FILTER (WHERE color = 'x'), 7) FROM goods",
            &["120", "7"],
            0,
        ),
    ] {
        let found = asked(text, &[]).unwrap();
        assert_eq!((answered(&found).concat(), found.flags.len()), (wanted.iter().map(|&w| w.into()).collect(), flags));
        let again = Question::described(&found_statement(&found), 4, &found.fields(), Public::default()).unwrap();
        assert_eq!(again, found, "{text}");
    }
    // A server learns nothing of a column that is only counted; the owner of the data learns that it has no NULL.
    let counted = asked("SELECT COUNT(color) FROM goods WHERE price < 50", &[]).unwrap();
    assert_eq!(counted.fields().iter().map(|field| &field.name[..]).collect::<Vec<_>>(), ["Price"]);
    let mut holes = table();
    holes.columns[3] = Column::of_cells("color", &["", "green", "blue", "1"]);
    holes.columns[1] = Column::of_cells("discount", &["0.05", "", "0", "0.07"]);
    assert!(counted.fits(&holes).is_ok(), "an empty text is a text");
    let counted = asked("SELECT COUNT(discount) FROM goods WHERE price < 50", &[]).unwrap();
    let error = counted.fits(&holes).unwrap_err().to_string();
    assert!(
        error.contains("column discount, row 2: NULL, which the column has not where the keys are made"),
        "{error}"
    );
    let error = Question::new(&found_statement(&counted), &holes, &[], &[]).unwrap_err().to_string();
    assert!(error.contains("column discount, row 2"), "{error}");
    // Rows that fill a part would be summed.
    let part = Question { rows: 7, ..asked("SELECT SUM(price) FROM goods", &[]).unwrap() };
    let error = part.filled(table()).unwrap_err().to_string();
    assert!(error.contains("a sum over every row, in parts of 7 of 4 rows"), "{error}");
    assert!(part.divides(4, 3).is_err() && part.divides(4, 2).is_ok() && counted.divides(4, 3).is_ok());
}

fn found_statement(question: &Question) -> Statement {
    Statement::parse(&question.sql).unwrap()
}

#[test]
fn mistakes_of_groups_are_named_before_keys() {
    for (text, domains, wanted) in [
        ("SELECT day, COUNT(*) FROM goods GROUP BY day", &[][..], "GROUP BY day: the known values make 367 groups"),
        ("SELECT COUNT(*) FROM goods GROUP BY size", &[], "no column \"size\""),
        (
            "SELECT color, COUNT(*) FROM goods GROUP BY color",
            &["color=red|green"],
            "row 3: \"blue\" is none of the values",
        ),
        ("SELECT COUNT(size) FROM goods WHERE price < 50", &[], "no column \"size\""),
        ("SELECT COUNT(price + size) FROM goods WHERE price < 50", &[], "no column \"size\""),
        (
            "SELECT COUNT(DISTINCT day) FROM goods WHERE price < 50",
            &[],
            "GROUP BY day: the known values make 367 groups",
        ),
        ("SELECT MAX(size % 3) FROM goods WHERE price < 50", &[], "no column \"size"),
        ("SELECT MAX(day) - 1 FROM goods WHERE price < 50", &[], "arithmetic with MIN or MAX of the dates of day"),
        (
            "SELECT color FROM goods GROUP BY color HAVING MIN(day) > 3",
            &[],
            "arithmetic with MIN or MAX of the dates of day",
        ),
        (
            "SELECT SUM(price * price * price * price) FROM goods WHERE price < 5",
            &["price=0..9999999999.99"],
            "bits in its smallest unit, at most 120 are taken",
        ),
    ] {
        let error = asked(text, domains).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn ends_of_columns_are_found_in_groups() {
    let text = "SELECT color, MIN(price), MAX(day), MAX(price) - MIN(price) FROM goods WHERE discount < 0.1 \
                GROUP BY color ORDER BY MIN(price) DESC";
    let found = asked(text, &["color=1|blue|green|red|white"]).unwrap();
    assert_eq!((found.measures.len(), found.extremes.len()), (0, 15), "three ends a group");
    let wanted = [
        ["red", "10.50", "1994-01-01", "0.00"],
        ["1", "7.25", "1995-01-01", "0.00"],
        ["blue", "3.00", "1994-12-31", "0.00"],
    ];
    assert_eq!(answered(&found), wanted);
    // Of no rows there is no least value.
    let none = asked("SELECT MIN(price), MAX(color) FROM goods WHERE discount > 0.08 AND price < 50", &[]).unwrap();
    assert_eq!(answered(&none), [["NULL", "NULL"]]);
    let whole = asked("SELECT MIN(color), MAX(discount) FROM goods WHERE price > 3", &[]).unwrap();
    assert_eq!(answered(&whole), [["1", "0.10"]]);
    assert!(!whole.results.single());
}

#[test]
fn having_chooses_groups_and_order_may_be_of_what_is_not_shown() {
    let answer = |text: &str| answered(&asked(text, &[]).unwrap());
    let head = "SELECT color FROM goods WHERE price > 3 GROUP BY color";
    let with = |rest: &str| answer(&format!("{head} {rest}")).concat();
    assert_eq!(with("HAVING SUM(price) > 8 ORDER BY SUM(price) DESC LIMIT 1"), ["green"]);
    assert_eq!(with("HAVING NOT SUM(price) BETWEEN 8 AND 20 ORDER BY AVG(discount)"), ["1", "green"]);
    assert_eq!(
        with("HAVING COUNT(*) = 1 AND (AVG(price) < 8 OR MAX(discount) = 0.05) ORDER BY MAX(price)"),
        ["1", "red"]
    );
    assert_eq!(with("HAVING MIN(price) <> 10.5 AND 2 * COUNT(*) >= 2 ORDER BY color"), ["1", "green"]);
    assert_eq!(with("HAVING SUM(price) / SUM(discount) > 0 ORDER BY 1 LIMIT 2"), ["1", "green"]);
    assert_eq!(with("HAVING color <> 'red' AND COUNT(*) IN (1, 2) ORDER BY color DESC"), ["green", "1"]);
    assert_eq!(with("ORDER BY color LIMIT 1 OFFSET 1"), ["green"]);
    assert_eq!(with("HAVING SUM(price) = 10.5 OR AVG(price) IN (4, 7.250) ORDER BY color"), ["1", "red"]);
    assert_eq!(with("HAVING 1 / NULLIF(SUM(price) - 10.5, 0) < 0 ORDER BY color LIMIT 1"), ["1"]);
    assert_eq!(with("ORDER BY NULLIF(MIN(price), 10.5) NULLS FIRST, color FETCH FIRST 2 ROWS ONLY"), ["red", "1"]);
    for (rest, wanted) in [
        ("HAVING color = 'red' OR COUNT(*) > 1", "a column that is grouped by"),
        ("HAVING COUNT(*)", "aggregates are compared with numbers"),
        ("ORDER BY day", "no result of the query"),
        ("ORDER BY 7", "no result of the query"),
    ] {
        let error = asked(&format!("{head} {rest}"), &[]).unwrap_err().to_string();
        assert!(error.contains(wanted), "{rest}: {error}");
    }
}

/// A column that the server sees is not compared: rows are sorted by it, and what it alone refuses is left out.
#[test]
fn public_columns_group_rows_in_the_clear() {
    let text = "SELECT color, COUNT(*), SUM(price), MAX(price) FROM goods \
                WHERE color <> 'green' AND (discount < 0.06 OR color = '1') GROUP BY color ORDER BY color";
    let statement = Statement::parse(text).unwrap();
    let public = ["color".to_owned()];
    // Of color 1 every row passes, so that nothing is compared for it.
    let decided = Question::new(&statement, &table(), &[], &public).unwrap();
    let flags: Vec<bool> = decided.selections.iter().map(|selection| selection.flag.is_some()).collect();
    assert_eq!((decided.flags.len(), decided.flagged(), flags), (1, vec![1, 2], vec![false, true, true]));
    assert_eq!(decided.groups[0].asked[0], Some(Asked::Rows(1)));
    assert_eq!(answered(&decided), answered(&Question::new(&statement, &table(), &[], &[]).unwrap()));
    let text = text.replace("OR color = '1'", "OR color = '1' AND price < 50");
    let statement = Statement::parse(&text).unwrap();
    let encrypted = Question::new(&statement, &table(), &[], &[]).unwrap();
    let found = Question::new(&statement, &table(), &[], &public).unwrap();
    assert_eq!((found.rows, found.flags.len(), found.selections.len()), (3, 2, 3), "green is left out");
    let rows: Vec<usize> = found.public.groups.iter().map(|group| group.rows).collect();
    assert_eq!((rows, &found.public.columns[..]), (vec![1, 1, 1], &public[..]));
    assert_eq!(answered(&found), answered(&encrypted));
    let again = Question::described(&statement, 3, &found.fields(), found.public.clone()).unwrap();
    assert_eq!(again, found);
    // The same groups by another table: other prices, other numbers of rows.
    let mut other = table();
    other.columns[3] = Column::of_cells("color", &["red", "red", "blue", "1"]);
    let error = found.arranged(other).unwrap_err().to_string();
    assert!(error.contains("2 rows have \"red\", the program has 1"), "{error}");
    for (name, wanted) in [("price", "does not group by it"), ("colour", "does not group by it")] {
        let error = Question::new(&statement, &table(), &[], &[name.into()]).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    for change in [
        |public: &mut Public| public.groups[0].rows = 2,
        |public: &mut Public| public.groups.swap(0, 1),
        |public: &mut Public| public.groups[0].values = vec![9],
        |public: &mut Public| public.groups[0].values = Vec::new(),
        |public: &mut Public| public.groups.clear(),
        |public: &mut Public| public.columns.clear(),
    ] {
        let mut public = found.public.clone();
        change(&mut public);
        let error = Question::described(&statement, 3, &found.fields(), public).unwrap_err().to_string();
        assert!(error.contains("--public"), "{error}");
    }
}
