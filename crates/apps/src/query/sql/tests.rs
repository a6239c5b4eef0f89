//! Tests of the front end.

use super::super::{
    constant::Constant,
    formula::{Comparison, Pattern, Test},
    from::{Join, Kept, Source},
    products::Factor,
    select::{Aggregate, Arithmetic, Item, Made, Order, Output},
    table::{Decimal, read_date},
};
use super::*;

fn column(name: &str) -> Operand {
    Operand { name: name.into(), value: None }
}

fn date(text: &str) -> Constant {
    Constant::Date(read_date(text).unwrap())
}

/// The tests of a formula, in their order.
fn tests(formula: &Formula) -> Vec<(&str, &Test)> {
    match formula {
        Formula::Is(condition) => vec![(&condition.operand.name, &condition.test)],
        Formula::Not(inner) | Formula::Unless(inner) => tests(inner),
        Formula::All(of) | Formula::Any(of) => of.iter().flat_map(tests).collect(),
    }
}

#[test]
fn the_text_of_the_specification_is_read() {
    let text = "select sum(l_extendedprice * l_discount) as revenue from lineitem where \
                l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval '1' year and \
                l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24;";
    let statement = Statement::parse(text).unwrap();
    let found = tests(&statement.filter);
    let number = |mantissa, digits| Constant::Number(Decimal { mantissa, digits });
    let wanted = [
        ("l_shipdate", Comparison::AtLeast, date("1994-01-01")),
        ("l_shipdate", Comparison::Below, date("1995-01-01")),
        ("l_discount", Comparison::AtLeast, number(5, 2)),
        ("l_discount", Comparison::AtMost, number(7, 2)),
        ("l_quantity", Comparison::Below, number(24, 0)),
    ];
    let wanted = wanted.map(|(name, comparison, constant)| (name, Test::Compare(comparison, constant)));
    assert_eq!(found, wanted.iter().map(|(name, test)| (*name, test)).collect::<Vec<_>>());
    let factor = |name: &str| Factor { operand: column(name), constant: None, negated: false };
    let sum = Made::Sum(vec![factor("l_extendedprice"), factor("l_discount")]);
    assert_eq!(statement.results.aggregates, [Aggregate { of: sum, when: None }]);
    assert!(statement.results.single() && statement.results.items[0].name == "revenue");
    assert_eq!(statement.from.first.table, "lineitem");
}

#[test]
fn constants_may_stand_on_the_left_and_in_factors() {
    let statement = Statement::parse("SELECT SUM(a * (1 - t.b) * (c - 0.5)) FROM t WHERE 3 < a AND b = 2").unwrap();
    let number = |mantissa| Constant::Number(Decimal { mantissa, digits: 0 });
    let wanted = [Test::Compare(Comparison::Above, number(3)), Test::Among(vec![number(2)])];
    assert_eq!(tests(&statement.filter), [("a", &wanted[0]), ("b", &wanted[1])]);
    let Made::Sum(factors) = &statement.results.aggregates[0].of else { panic!("a sum") };
    let parts: Vec<_> = factors.iter().map(|f| (f.constant.map(|c| c.to_string()), f.negated)).collect();
    assert_eq!(parts, [(None, false), (Some("1".into()), true), (Some("-0.5".into()), false)]);
}

#[test]
fn formulas_keep_their_shape() {
    let text =
        "SELECT COUNT(*) FROM t WHERE NOT (a <> 1 OR b NOT BETWEEN 2 AND 3) AND c LIKE 'x%' AND d NOT IN ('u', 'v')";
    let Formula::All(of) = Statement::parse(text).unwrap().filter else { panic!("an AND") };
    let [first, second, Formula::Not(list)] = &of[..] else { panic!("{of:?}") };
    assert!(matches!(first, Formula::Not(or) if matches!(&**or, Formula::Any(of) if of.len() == 2)), "{first:?}");
    assert_eq!(tests(second), [("c", &Test::Prefix("x".into()))]);
    let texts = ["u", "v"].map(|text| Constant::Text(text.into())).to_vec();
    assert_eq!(tests(list), [("d", &Test::Among(texts))]);
}

#[test]
fn intervals_end_with_their_month() {
    let bound = |sum: &str| {
        let text = format!("SELECT COUNT(*) FROM t WHERE d < date '2000-01-31' {sum}");
        tests(&Statement::parse(&text).unwrap().filter)[0].1.clone()
    };
    let below = |day| Test::Compare(Comparison::Below, date(day));
    assert_eq!(bound("+ interval '1' month"), below("2000-02-29"));
    assert_eq!(bound("- interval '2' year"), below("1998-01-31"));
    assert_eq!(bound("+ interval '30' day"), below("2000-03-01"));
}

#[test]
fn what_is_beyond_the_front_is_named() {
    let refused = [
        ("SELEC 1", "is not SQL"),
        ("SELECT a FROM t", "the result a"),
        ("SELECT SUM(a) FROM t CROSS JOIN u", "CROSS JOIN u, which is no inner, left, right or full join"),
        ("SELECT SUM(a) FROM t JOIN u ON a < b", "a join that is not ON a.key = b.key"),
        ("SELECT SUM(a) FROM t, x JOIN u ON a = b", "FROM with both a comma and a JOIN"),
        ("SELECT SUM(a) FROM (SELECT a FROM u) WHERE a = 1", "FROM (SELECT"),
        ("DELETE FROM t WHERE a = 1", "another statement than SELECT"),
        ("SELECT COUNT(*) FROM t WHERE a = 1; SELECT COUNT(*) FROM t WHERE a = 1", "a text of 2 statements"),
        ("SELECT a FROM t WHERE a = 1", "the result a"),
        ("SELECT MEDIAN(a) FROM t WHERE a = 1", "the result MEDIAN(a)"),
        ("SELECT MIN(CASE WHEN a < 3 THEN a / b ELSE 1 END) FROM t", "MIN and MAX are of a column"),
        ("SELECT SUM(SUM(a)) FROM t", "the factor SUM(a)"),
        ("SELECT SUM(POWER(a, 9)) FROM t", "an exponent is 1, 2, 3 or 4"),
        ("SELECT SUM(POWER(a + b + c + d + e + f, 3)) FROM t", "a sum of more than 32 products"),
        ("SELECT SUM(a) FROM t TABLESAMPLE (10 PERCENT) JOIN u ON k = i", "what stands at"),
        ("SELECT SUM(a) FROM t WITH (NOLOCK) WHERE a = 1", "what stands at"),
        ("SELECT SUM(a) FROM t NATURAL JOIN u", "a join that is not ON a.key = b.key"),
        ("SELECT DISTINCT COUNT(*), a FROM t GROUP BY a, b", "SELECT DISTINCT with GROUP BY b, which is no result"),
        ("SELECT DISTINCT COUNT(*), a FROM t", "neither grouped by nor in an aggregate"),
        ("SELECT CAST(SUM(a) AS INTEGER) FROM t", "the result CAST(SUM(a) AS INTEGER)"),
        ("SELECT SUM(a) FROM t WHERE 1 = 'x'", "which compares constants of two kinds"),
        ("SELECT SUM(a) FROM t WHERE a % 0 = 1", "a % 0 in a % 0 = 1"),
        ("SELECT b, COUNT(*) FROM t WHERE a = 1", "neither grouped by nor in an aggregate"),
        ("SELECT b + COUNT(*) FROM t GROUP BY b", "a column that is grouped by stands alone"),
        ("SELECT 1 FROM t", "a query without an aggregate"),
        ("SELECT COUNT(*) FROM t GROUP BY SUBSTRING(a, 0)", "GROUP BY SUBSTRING(a, 0), which is no column"),
        ("SELECT a, COUNT(*) FROM t GROUP BY 3", "GROUP BY 3, which is no column"),
        ("SELECT REVERSE(a), COUNT(*) FROM t GROUP BY 1", "GROUP BY REVERSE(a), which is no column"),
        ("SELECT COUNT(*) FROM t GROUP BY ALL", "GROUP BY ALL"),
        ("SELECT COUNT(*) FROM t GROUP BY ROLLUP (a)", "GROUP BY ROLLUP"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b HAVING b > 3 OR COUNT(*) > 2", "grouped by beside results (join such"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b ORDER BY c", "ORDER BY c, which is no result"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b ORDER BY 3", "ORDER BY 3, which is no result"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b LIMIT 0", "LIMIT 0"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b LIMIT 1, 2", "LIMIT 1, 2"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b FETCH FIRST 2 ROWS WITH TIES", "WITH TIES"),
        ("SELECT SUM(DISTINCT a) FROM t WHERE a = 1", "the result SUM(DISTINCT a)"),
        ("SELECT SUM(a) OVER () FROM t WHERE a = 1", "the result SUM(a) OVER ()"),
        (
            "SELECT SUM(a / b) FROM t WHERE a = 1",
            "the factor a / b (rows are multiplied and added; sums may be divided",
        ),
        ("SELECT COUNT(*) FROM t, u WHERE a = 1", "a join that is not ON a.key = b.key"),
        ("SELECT COUNT(*) FROM t WHERE a LIKE b", "the pattern of a LIKE b"),
        ("SELECT COUNT(*) FROM t WHERE a LIKE 'x!%' ESCAPE '!'", "the condition a LIKE"),
        ("SELECT COUNT(*) FROM t WHERE a LIKE 'x\\%'", "without \\"),
        ("SELECT COUNT(*) FROM t WHERE a IN (SELECT b FROM u)", "the condition a IN"),
        ("SELECT COUNT(*) FROM t WHERE (a, b) = (1, 2)", "(a, b) in (a, b) = (1, 2), which is no column"),
        ("SELECT COUNT(*) FROM t WHERE a XOR b", "XOR in a XOR b"),
        ("SELECT COUNT(*) FROM t WHERE a || 'x' = 'yx'", "a || 'x' in a || 'x' = 'yx', which is no column"),
    ];
    for (text, wanted) in refused {
        let error = Statement::parse(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn what_nests_is_bounded() {
    let deep = format!("SELECT COUNT(*) FROM t WHERE {}a = 1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(Statement::parse(&deep).unwrap_err().to_string().contains("recursion limit"));
    for depth in [5, 20, 24, 25, 60, 200] {
        for (open, close) in [("POWER(", ", 1)"), ("abs(", ")"), ("CASE WHEN b > 1 THEN ", " END"), ("-(", ")")] {
            let of = format!("{}a{}", open.repeat(depth), close.repeat(depth));
            let read = Statement::parse(&format!("SELECT SUM({of}), MAX({of}) FROM t WHERE {of} > 1"));
            assert!(read.is_err() || depth < 60, "{depth} of {open}");
        }
    }
    for (name, chain) in [("a sum", " - a"), ("a product", " * a"), ("a quotient", " / 2")] {
        let text = format!("SELECT SUM(a{}) FROM t WHERE b > 1", chain.repeat(160));
        assert_eq!(Statement::parse(&text).is_ok(), chain == " / 2" || chain == " * a", "{name}");
    }
    // What is long and nests nothing is read; what nests is bounded, however it is written.
    let list = format!("SELECT COUNT(*) FROM t WHERE a IN ({}'it, - or ++')", "'x - y', 1, ".repeat(1000));
    assert!(Statement::parse(&list).is_ok());
    for (one, other) in [("a=1", " OR "), ("a=1", " AND "), ("1", "+"), ("a", "-"), ("a", "::int"), ("a", " IS NULL")] {
        let chain =
            |count: usize| format!("SELECT COUNT(*) FROM t WHERE b < {}{one}", format!("{one}{other}").repeat(count));
        assert!(Statement::parse(&chain(1000)).unwrap_err().to_string().contains("names and operators"), "{other}");
        let _ = Statement::parse(&chain(150));
    }
}

/// What stands for very much is refused as soon as it is read.
#[test]
fn short_texts_of_long_expressions_are_refused() {
    let nested = |open: &str, close: &str| {
        let text = format!("SELECT SUM({}a{}) FROM t", open.repeat(6), close.repeat(6));
        Statement::parse(&text).unwrap_err().to_string()
    };
    for (open, close) in [("POWER(", ", 4)"), ("POWER(CASE WHEN b > 1 THEN ", " END, 4)")] {
        assert!(nested(open, close).contains("factors and conditions"), "{}", nested(open, close));
    }
    let mut text = "SELECT SUM(a) AS x0".to_owned();
    (0..60).for_each(|i| text += &format!(", x{i} + x{i} AS x{}", i + 1));
    let error = Statement::parse(&(text + " FROM t")).unwrap_err().to_string();
    assert!(error.contains("which stands for more than 256 operations"), "{error}");
}

#[test]
fn results_are_arithmetic_with_aggregates() {
    let results = |text: &str| Statement::parse(text).unwrap().results;
    // TPC-H's Query 1: ten results, of which the averages are quotients of sums that are there anyway.
    let found = results(
        "select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, sum(l_extendedprice) as sum_base_price, \
         sum(l_extendedprice * (1 - l_discount)) as sum_disc_price, \
         sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge, avg(l_quantity) as avg_qty, \
         avg(l_extendedprice) as avg_price, avg(l_discount) as avg_disc, count(*) as count_order from lineitem where \
         l_shipdate <= date '1998-12-01' - interval '90' day group by l_returnflag, l_linestatus order by \
         l_returnflag, l_linestatus",
    );
    assert_eq!((found.items.len(), found.aggregates.len(), found.keys.len()), (10, 6, 2));
    let by = |by, down| Order { by, down, nulls_first: false };
    let order = [by(Output::Key(0), false), by(Output::Key(1), false)];
    assert_eq!((&found.order[..], found.limit, found.single()), (&order[..], None, false));
    assert_eq!(
        found.items[6].output,
        Output::Both(Arithmetic::Over, Box::new([Output::Aggregate(0), Output::Count(4)]))
    );
    // Query 14: a quotient of sums, one of them over rows that CASE chooses.
    let found = results(
        "select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end) / \
         sum(l_extendedprice * (1 - l_discount)) as promo_revenue from lineitem, part where l_partkey = p_partkey \
         and l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-09-01' + interval '1' month",
    );
    let [Aggregate { when: Some(when), of: one }, Aggregate { when: None, of: other }] = &found.aggregates[..] else {
        panic!("{:?}", found.aggregates)
    };
    assert_eq!((tests(when), one), (vec![("p_type", &Test::Prefix("PROMO".into()))], other));
    assert!(matches!(&found.items[..], [Item { output: Output::Both(Arithmetic::Over, _), .. }]));
    // What is linear becomes sums, and counts of CASE are counts.
    let found = results(
        "SELECT SUM(2 * a - b * c), SUM(CASE WHEN b = 1 OR b = 3 THEN 1 ELSE 0 END) AS n, MIN(a), MAX(c) FROM t \
         WHERE d = 1 GROUP BY e ORDER BY n DESC, MIN(a) LIMIT 3",
    );
    let factor = |name: &str| Factor { operand: column(name), constant: None, negated: false };
    let made: Vec<&Made> = found.aggregates.iter().map(|aggregate| &aggregate.of).collect();
    let wanted = [
        Made::Sum(vec![factor("a")]),
        Made::Sum(vec![factor("b"), factor("c")]),
        Made::Sum(vec![]),
        Made::Least(column("a")),
        Made::Most(column("c")),
    ];
    assert_eq!(made, wanted.iter().collect::<Vec<_>>());
    let order = [by(Output::Aggregate(2), true), by(Output::Aggregate(3), false)];
    assert_eq!((&found.order[..], found.limit), (&order[..], Some(3)));
}

#[test]
fn tables_are_joined_and_columns_compared() {
    let joined = |text: &str| {
        let statement = Statement::parse(text).unwrap();
        (statement.from.clone(), tests(&statement.filter).len())
    };
    let source = |name: &str| Source { table: name.into(), name: name.into() };
    let join = |keys: [&str; 2]| {
        let join = Join { with: source("u"), kept: Kept::None, keys: vec![keys.map(str::to_owned)], merged: false };
        From { first: source("t"), joins: vec![join] }
    };
    let on = joined("SELECT COUNT(*) FROM t JOIN u ON t.k = u.i WHERE a = 1");
    assert_eq!(on, (join(["k", "i"]), 1));
    let comma = joined("SELECT COUNT(*) FROM t, u WHERE a = 1 AND (u.i = t.k AND b = 2)");
    assert_eq!(comma, (join(["i", "k"]), 2));
    let statement = Statement::parse("SELECT COUNT(*) FROM t WHERE a < b AND c <> d AND NOT a >= b").unwrap();
    let names: Vec<&str> = statement.conditions().iter().map(|condition| &condition.operand.name[..]).collect();
    assert_eq!(names, ["a - b", "c - d", "a - b"]);
}

#[test]
fn tables_are_those_that_from_names() {
    for (text, wanted) in [
        (
            "SELECT SUM(x.price) FROM goods WHERE day > '2026-01-01'",
            "x.price: FROM names no such table; it names goods",
        ),
        ("SELECT SUM(GOODS.price) FROM s.goods WHERE s.goods.day > 3 AND price < 1.5", ""),
        ("SELECT COUNT(*) FROM l JOIN o ON l.k = q.k WHERE a > 1", "q.k: FROM names no such table; it names l, o"),
    ] {
        let got = Statement::parse(text).map(drop).map_err(|e| e.to_string());
        match wanted {
            "" => assert_eq!(got, Ok(()), "{text}"),
            _ => assert!(got.clone().unwrap_err().contains(wanted), "{text}: {got:?}"),
        }
    }
    let keys = |filter: &str| {
        Statement::parse(&format!("SELECT COUNT(*) FROM l, o WHERE {filter}"))
            .map(|statement| statement.from.joins.first().map(|join| join.keys[0].join(" = ")).unwrap_or_default())
            .map_err(|e| e.to_string())
    };
    assert_eq!(keys("l.a = l.b AND l.k = o.j").as_deref(), Ok("k = j"));
    assert_eq!(keys("l.a = l.b AND k = j").as_deref(), Ok("k = j"));
    assert_eq!(keys("a > 3 AND k = j").as_deref(), Ok("k = j"));
    assert!(keys("a = b AND k = j").unwrap_err().contains("write JOIN ... ON a.key = b.key"));
    assert!(keys("l.a = l.b").unwrap_err().contains("a join that is not ON a.key = b.key"));
}

/// What is added to a column goes to the constant: the column is encrypted once.
#[test]
fn conditions_ask_columns_where_they_can() {
    let asked = |condition: &str| {
        let statement = Statement::parse(&format!("SELECT COUNT(*) FROM t WHERE {condition}")).unwrap();
        let show = |(name, test): (&str, &Test)| match test {
            Test::Compare(comparison, constant) => format!("{name} {comparison:?} {}", shown(constant)),
            Test::Among(constants) => format!("{name} = {}", constants.iter().map(shown).collect::<Vec<_>>().join("|")),
            other => format!("{name} {other:?}"),
        };
        tests(&statement.filter).into_iter().map(show).collect::<Vec<_>>().join(", ")
    };
    fn shown(constant: &Constant) -> String {
        match constant {
            Constant::Number(number) => number.to_string(),
            Constant::Date(day) => super::super::table::Kind::Date.show(*day),
            Constant::Text(text) => text.clone(),
        }
    }
    for (condition, wanted) in [
        ("a + 3 > 5", "a Above 2"),
        ("10 - a < 5", "a Above 5"),
        ("-2 * a <= 5", "a AtLeast -2.5"),
        ("3 * a = 1", "3 * a = 1"),
        ("a > b + 3", "a - b Above 3"),
        ("a - 2 > b", "a - b Above 2"),
        ("b - a > 0.5", "b - a Above 0.5"),
        ("a * b + 1 < 7", "a * b Below 6"),
        ("d + interval '3' day < date '2026-03-02'", "d Below 2026-02-27"),
        ("d + interval '1' month < date '2026-03-02'", "d + 1 months Below 2026-03-02"),
        ("d + 30 <= f", "d - f AtMost -30"),
        ("d - date '2026-01-01' > 30", "d Above 2026-01-31"),
        ("year(d) = 2025", "d AtLeast 2025-01-01, d AtMost 2025-12-31"),
        ("EXTRACT(year FROM d) > 2025", "d Above 2025-12-31"),
        ("month(d) = 2", "month(d) = 2"),
        ("a BETWEEN b AND 7", "a - b AtLeast 0, a AtMost 7"),
        ("a IN (1, b)", "a = 1, a - b = 0"),
        ("a IN (1e2, 2)", "a = 100|2"),
        ("d >= CAST('2026-01-01' AS DATE) AND d < '2026-02-01'::date", "d AtLeast 2026-01-01, d Below 2026-02-01"),
        ("d < date '2026-01-31' + interval '1 month'", "d Below 2026-02-28"),
        ("abs(a - b) > 3", "abs(a - b) Above 3"),
        ("a % 7 = 0 OR mod(a, 2) = 1", "a % 7 = 0, a % 2 = 1"),
        ("a IS NOT NULL AND 2 > 1", "a Known"),
        ("a > 100 * 0.06 / 4", "a Above 1.5"),
    ] {
        assert_eq!(asked(condition), wanted, "{condition}");
    }
}

#[test]
fn patterns_match_as_they_read() {
    for (pattern, text, wanted) in [
        ("%r%", "dark red", true),
        ("_ed", "red", true),
        ("_ed", "dred", false),
        ("d%d", "dark red", true),
        ("d%k", "dark red", false),
        ("%", "", true),
        ("_", "", false),
        ("_l", "Öl", true),
        ("a%b%c", "a-b-b-c", true),
        ("a%bc", "abcbc", true),
    ] {
        assert_eq!(Pattern { text: pattern.into(), any_case: false }.matches(text), wanted, "{pattern} {text}");
    }
    assert!(Pattern { text: "%RED".into(), any_case: true }.matches("dark red"));
    assert!(!Pattern { text: "%RED".into(), any_case: false }.matches("dark red"));
    let text = format!("SELECT COUNT(*) FROM t WHERE a LIKE '%{}'", "x".repeat(300));
    assert!(Statement::parse(&text).unwrap_err().to_string().contains("at most 256 bytes"));
}

/// Sums of products, each for the rows that CASE and FILTER choose.
#[test]
fn expressions_become_sums_of_products() {
    let results = |text: &str| Statement::parse(&format!("SELECT {text} FROM t")).unwrap().results;
    let names = |results: &Results| {
        let name = |aggregate: &Aggregate| {
            let made: Vec<&str> = aggregate.of.operands().iter().map(|operand| &operand.name[..]).collect();
            let when = aggregate.when.as_ref().map_or(0, |when| tests(when).len());
            format!("{}/{when}", made.join(" * "))
        };
        results.aggregates.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    for (text, wanted) in [
        ("SUM((a + b) * (c - 2))", "a * c/0, b * c/0"),
        ("SUM(d - f)", "d - f/0"),
        ("SUM(-a * abs(b))", "a * abs(b)/0"),
        ("SUM(CASE WHEN a > 1 THEN b WHEN a > 0 THEN c ELSE 0 END)", "b/1, c/2"),
        ("SUM(CASE WHEN a > 1 THEN b END)", "b/2, /1"),
        ("SUM(b) FILTER (WHERE a > 1)", "b/1, /1"),
        ("COUNT(CASE WHEN a > 1 THEN b END)", "/1"),
        ("AVG(CASE a WHEN 1 THEN 5 ELSE b END)", "/1, b/1, /0"),
        ("SUM(POWER(a, 3))", "a * a * a/0"),
        ("COUNT(DISTINCT a), MAX(a) FILTER (WHERE b = 1)", "a/0, a/1, /1"),
        ("STDDEV(a)", "a * a/0, a/0, /0"),
    ] {
        assert_eq!(names(&results(text)), wanted, "{text}");
    }
    let keys = |text: &str| {
        let keys = Statement::parse(text).unwrap().results.keys;
        keys.into_iter().map(|key| key.name).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(keys("SELECT a AS x, year(d), COUNT(*) FROM t GROUP BY x, 2"), "a, year(d)");
    assert_eq!(keys("SELECT DISTINCT a, b FROM t"), "a, b");
    assert_eq!(keys("SELECT DISTINCT b, SUM(c), a FROM t GROUP BY a, b"), "a, b");
    let moved = Statement::parse("SELECT a, COUNT(*) FROM t GROUP BY a HAVING a > 3 AND COUNT(*) > 2").unwrap();
    assert_eq!((moved.conditions().len(), moved.results.having.is_some()), (1, true));
}
