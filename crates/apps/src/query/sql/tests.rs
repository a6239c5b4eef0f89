//! Tests of the front end.

use super::super::select::{Aggregate, Arithmetic, Factor, Item, Made, Output};
use super::*;

fn date(text: &str) -> Constant {
    Constant::Date(read_date(text).unwrap())
}

/// The tests of a formula, in their order.
fn tests(formula: &Formula) -> Vec<(&str, &Test)> {
    match formula {
        Formula::Is(condition) => vec![(&condition.column, &condition.test)],
        Formula::Not(inner) => tests(inner),
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
    let wanted = wanted.map(|(column, comparison, constant)| (column, Test::Compare(comparison, constant)));
    assert_eq!(found, wanted.iter().map(|(column, test)| (*column, test)).collect::<Vec<_>>());
    let factor = |name: &str| Factor { column: name.into(), constant: None, negated: false };
    let sum = Made::Sum(vec![factor("l_extendedprice"), factor("l_discount")]);
    assert_eq!(statement.results.aggregates, [Aggregate { of: sum, when: None }]);
    assert!(statement.results.single() && statement.results.items[0].name == "revenue");
    assert_eq!(statement.table, "lineitem");
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
        ("SELECT SUM(a) FROM t LEFT JOIN u ON a = b", "which is no inner join"),
        ("SELECT SUM(a) FROM t JOIN u ON a < b", "a join of more than two tables"),
        ("SELECT SUM(a) FROM t JOIN u ON a = b JOIN v ON c = d", "a join of more than two tables"),
        ("SELECT SUM(a) FROM (SELECT a FROM u) WHERE a = 1", "FROM (SELECT"),
        ("DELETE FROM t WHERE a = 1", "another statement than SELECT"),
        ("SELECT COUNT(*) FROM t WHERE a = 1; SELECT COUNT(*) FROM t WHERE a = 1", "a text of 2 statements"),
        ("SELECT a FROM t WHERE a = 1", "the result a"),
        ("SELECT MEDIAN(a) FROM t WHERE a = 1", "the result MEDIAN(a)"),
        ("SELECT AVG(CASE WHEN a < 3 THEN a ELSE 0 END) FROM t", "the result AVG(CASE"),
        ("SELECT SUM(CASE WHEN a < 3 THEN a END) FROM t", "THEN a product ELSE 0 END"),
        ("SELECT SUM(CASE WHEN a < 3 THEN a ELSE 1 END) FROM t", "THEN a product ELSE 0 END"),
        ("SELECT MIN(a + 1) FROM t", "MIN and MAX are of a column"),
        ("SELECT b, COUNT(*) FROM t WHERE a = 1", "neither grouped by nor in an aggregate"),
        ("SELECT b + COUNT(*) FROM t GROUP BY b", "a column that is grouped by stands alone"),
        ("SELECT b FROM t GROUP BY b", "a query without an aggregate"),
        ("SELECT COUNT(*) FROM t GROUP BY a + 1", "GROUP BY a + 1, which is no column"),
        ("SELECT COUNT(*) FROM t GROUP BY ALL", "GROUP BY ALL"),
        ("SELECT COUNT(*) FROM t GROUP BY ROLLUP (a)", "GROUP BY ROLLUP"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b HAVING b > 3", "a column that is grouped by (WHERE asks it of rows)"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b ORDER BY c", "ORDER BY c, which is no result"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b ORDER BY 3", "ORDER BY 3, which is no result"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b LIMIT 0", "LIMIT 0"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b LIMIT 2 OFFSET 1", "LIMIT 2 OFFSET 1"),
        ("SELECT SUM(DISTINCT a) FROM t WHERE a = 1", "the result SUM(DISTINCT a)"),
        ("SELECT SUM(a) OVER () FROM t WHERE a = 1", "the result SUM(a) OVER ()"),
        (
            "SELECT SUM(a / b) FROM t WHERE a = 1",
            "the factor a / b (rows are multiplied and added; sums may be divided",
        ),
        ("SELECT SUM((a + b) * c) FROM t WHERE a = 1", "a sum of products is SUM(a * c) + SUM(b * c)"),
        ("SELECT COUNT(*) FROM t, u WHERE a = 1", "a join of more than two tables"),
        ("SELECT COUNT(*) FROM t WHERE a LIKE b", "the pattern of a LIKE b"),
        ("SELECT COUNT(*) FROM t WHERE a LIKE '%x'", "the pattern of a LIKE"),
        ("SELECT COUNT(*) FROM t WHERE a LIKE 'x_%'", "the pattern of a LIKE"),
        ("SELECT COUNT(*) FROM t WHERE a ILIKE 'x%'", "the condition a ILIKE"),
        ("SELECT COUNT(*) FROM t WHERE a IN (SELECT b FROM u)", "the condition a IN"),
        ("SELECT COUNT(*) FROM t WHERE a IN (1, b)", "b in a IN (1, b), which is no constant"),
        ("SELECT COUNT(*) FROM t WHERE a IS NULL", "the condition a IS NULL"),
        ("SELECT COUNT(*) FROM t WHERE a XOR b", "XOR in a XOR b"),
        ("SELECT COUNT(*) FROM t WHERE a + 1 < 3", "a column is compared with a constant"),
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
    let order = [(Output::Key(0), false), (Output::Key(1), false)];
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
    let factor = |name: &str| Factor { column: name.into(), constant: None, negated: false };
    let made: Vec<&Made> = found.aggregates.iter().map(|aggregate| &aggregate.of).collect();
    let wanted = [
        Made::Sum(vec![factor("a")]),
        Made::Sum(vec![factor("b"), factor("c")]),
        Made::Sum(vec![]),
        Made::Least("a".into()),
        Made::Most("c".into()),
    ];
    assert_eq!(made, wanted.iter().collect::<Vec<_>>());
    let order = [(Output::Aggregate(2), true), (Output::Aggregate(3), false)];
    assert_eq!((&found.order[..], found.limit), (&order[..], Some(3)));
}

#[test]
fn tables_are_joined_and_columns_compared() {
    let joined = |text: &str| {
        let statement = Statement::parse(text).unwrap();
        (statement.table.clone(), statement.join.clone(), tests(&statement.filter).len())
    };
    let join = |keys: [&str; 2]| Some(Join { table: "u".into(), keys: keys.map(str::to_owned) });
    let on = joined("SELECT COUNT(*) FROM t JOIN u ON t.k = u.i WHERE a = 1");
    assert_eq!(on, ("t".into(), join(["k", "i"]), 1));
    let comma = joined("SELECT COUNT(*) FROM t, u WHERE a = 1 AND (u.i = t.k AND b = 2)");
    assert_eq!(comma, ("t".into(), join(["i", "k"]), 2));
    let statement = Statement::parse("SELECT COUNT(*) FROM t WHERE a < b AND c <> d AND NOT a >= b").unwrap();
    let names: Vec<String> = statement.conditions().iter().map(|condition| condition.name()).collect();
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
            .map(|statement| statement.join.map(|join| join.keys.join(" = ")).unwrap_or_default())
            .map_err(|e| e.to_string())
    };
    assert_eq!(keys("l.a = l.b AND l.k = o.j").as_deref(), Ok("k = j"));
    assert_eq!(keys("l.a = l.b AND k = j").as_deref(), Ok("k = j"));
    assert_eq!(keys("a > 3 AND k = j").as_deref(), Ok("k = j"));
    assert!(keys("a = b AND k = j").unwrap_err().contains("write JOIN ... ON a.key = b.key"));
    assert!(keys("l.a = l.b").unwrap_err().contains("a join of more than two tables, or one that is not ON"));
}
