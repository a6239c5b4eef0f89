//! SQL front end: parses a query into a statement with unresolved names.
//!
//! `sqlparser` parses the text, and only a small part of its tree is accepted. To reject everything else, the accepted
//! parts are printed again and must equal the whole statement.

use super::{
    error::QueryError,
    table::{Decimal, civil, days, read_date},
};
use sqlparser::{
    ast::{
        BinaryOperator, DataType, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
        Interval, Query, SelectItem, SetExpr, Statement as Sql, TableFactor, UnaryOperator, Value,
    },
    dialect::GenericDialect,
    parser::Parser,
};

const MOST_TEXT: usize = 1 << 14;
/// Most names and operators of a text: expressions nest as deep as there are operators, and are walked by recursion.
const MOST_WORDS: usize = 512;

/// Names and operators outside of quotes. Numbers, and the commas of lists, nest nothing.
fn words(text: &str) -> usize {
    let outside = text.split('\'').step_by(2).collect::<Vec<_>>().join(" ");
    let names = outside
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().next().is_some_and(char::is_alphabetic));
    let operators = outside.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && !"_,.();".contains(*c));
    names.count() + operators.count()
}

#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate {
    Count,
    /// The sum of a product over the rows that pass.
    Sum(Vec<Factor>),
}

/// A factor of a product: a column, or a constant plus or minus a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    pub column: String,
    pub constant: Option<Decimal>,
    /// The column is subtracted from it.
    pub negated: bool,
}

/// Comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    Number(Decimal),
    /// Days since 1970-01-01.
    Date(i64),
    /// A quoted text; of a date, if the column holds dates.
    Text(String),
}

/// What is asked of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    Compare(Comparison, Constant),
    /// Equal to one of these.
    Among(Vec<Constant>),
    /// Begins with this.
    Prefix(String),
}

/// A column compared with constants.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub column: String,
    pub test: Test,
    pub text: String,
}

/// What a row must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    Is(Condition),
    Not(Box<Formula>),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

/// A query: an aggregate over the rows of one table that satisfy a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The original text in one line.
    pub text: String,
    pub aggregate: Aggregate,
    pub table: String,
    /// What a row must satisfy.
    pub filter: Formula,
}

impl Statement {
    /// Parses a query.
    ///
    /// # Errors
    /// [`QueryError::Syntax`] if the text is not SQL, [`QueryError::Unsupported`] for other SQL statements.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if text.len() > MOST_TEXT {
            return Err(QueryError::Syntax(format!("{} bytes are too long for a query", text.len())));
        }
        if words(text) > MOST_WORDS {
            let got =
                format!("a text of {} names and operators (at most {MOST_WORDS}; IN takes long lists)", words(text));
            return Err(QueryError::unsupported(got));
        }
        let parsed = Parser::parse_sql(&GenericDialect {}, text).map_err(|e| QueryError::Syntax(e.to_string()))?;
        let [Sql::Query(query)] = &parsed[..] else {
            return Err(QueryError::unsupported(match parsed.len() {
                1 => "another statement than SELECT".into(),
                n => format!("a text of {n} statements"),
            }));
        };
        let SetExpr::Select(select) = &*query.body else {
            return Err(QueryError::unsupported("UNION, VALUES or another statement than SELECT"));
        };
        let [item] = &select.projection[..] else {
            return Err(QueryError::unsupported(format!("a list of {} results", select.projection.len())));
        };
        let (SelectItem::UnnamedExpr(result) | SelectItem::ExprWithAlias { expr: result, .. }) = item else {
            return Err(QueryError::unsupported(format!("the result {item}")));
        };
        let [from] = &select.from[..] else {
            return Err(QueryError::unsupported(format!("FROM with {} tables (a join)", select.from.len())));
        };
        let TableFactor::Table { name, .. } = &from.relation else {
            return Err(QueryError::unsupported(format!("FROM {}", from.relation)));
        };
        let filtered = select.selection.as_ref().map_or_else(String::new, |filter| format!(" WHERE {filter}"));
        understood(query, &format!("SELECT {item} FROM {name}{filtered}"))?;
        let (aggregate, table) = (aggregate(result)?, name.to_string());
        let Some(filter) = &select.selection else { return Err(QueryError::EveryRow) };
        // The parser writes a name with quotes inside as another name; the one line is what a description keeps.
        if Parser::parse_sql(&GenericDialect {}, &query.to_string()).ok().as_ref() != Some(&parsed) {
            return Err(QueryError::unsupported("a name or text with quotation marks inside"));
        }
        Ok(Self { text: query.to_string(), aggregate, table, filter: formula(filter)? })
    }
}

/// Rejects a statement that contains more than the accepted parts.
fn understood(query: &Query, read: &str) -> Result<(), QueryError> {
    let whole = query.to_string();
    match whole == read {
        true => Ok(()),
        false => {
            let beyond: String = whole
                .chars()
                .zip(read.chars().chain(std::iter::repeat('\0')))
                .skip_while(|(a, b)| a == b)
                .map(|(a, _)| a)
                .take(40)
                .collect();
            Err(QueryError::unsupported(format!("what stands at {:?}", beyond.trim_start())))
        }
    }
}

fn aggregate(expr: &Expr) -> Result<Aggregate, QueryError> {
    let other = || QueryError::unsupported(format!("the result {expr}"));
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else { return Err(other()) };
    let [FunctionArg::Unnamed(argument)] = &list.args[..] else { return Err(other()) };
    // Only the name and the argument are accepted: no DISTINCT, FILTER or OVER.
    if expr.to_string() != format!("{name}({argument})") {
        return Err(other());
    }
    match (name.to_string().to_lowercase().as_str(), argument) {
        ("count", FunctionArgExpr::Wildcard) => Ok(Aggregate::Count),
        ("sum", FunctionArgExpr::Expr(product)) => {
            let mut factors = Vec::new();
            multiplied(product, &mut factors)?;
            Ok(Aggregate::Sum(factors))
        }
        _ => Err(other()),
    }
}

fn multiplied(expr: &Expr, out: &mut Vec<Factor>) -> Result<(), QueryError> {
    match expr {
        Expr::Nested(inner) => multiplied(inner, out),
        Expr::BinaryOp { left, op: BinaryOperator::Multiply, right } => {
            multiplied(left, out)?;
            multiplied(right, out)
        }
        Expr::BinaryOp { left, op: op @ (BinaryOperator::Plus | BinaryOperator::Minus), right } => {
            let minus = *op == BinaryOperator::Minus;
            let other =
                || QueryError::unsupported(format!("the factor {expr} (a column, or a number plus or minus one)"));
            let factor = match (number(left), named(left), number(right), named(right)) {
                (Some(constant), _, _, Some(column)) => Factor { column, constant: Some(constant), negated: minus },
                (_, Some(column), Some(constant), _) => {
                    Factor { column, constant: Some(if minus { constant.negated() } else { constant }), negated: false }
                }
                _ => return Err(other()),
            };
            out.push(factor);
            Ok(())
        }
        _ => {
            let column = named(expr).ok_or_else(|| QueryError::unsupported(format!("the factor {expr}")))?;
            out.push(Factor { column, constant: None, negated: false });
            Ok(())
        }
    }
}

/// The name of a column; a table prefix must name the only table.
fn named(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.value.clone()),
        Expr::CompoundIdentifier(parts) => parts.last().map(|name| name.value.clone()),
        Expr::Nested(inner) => named(inner),
        _ => None,
    }
}

fn formula(expr: &Expr) -> Result<Formula, QueryError> {
    let not = |negated: bool, formula: Formula| if negated { Formula::Not(Box::new(formula)) } else { formula };
    Ok(match expr {
        Expr::Nested(inner) => formula(inner)?,
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => not(true, formula(expr)?),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => Formula::All(vec![formula(left)?, formula(right)?]),
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => Formula::Any(vec![formula(left)?, formula(right)?]),
        Expr::Between { expr: of, negated, low, high } => {
            let low = compared(expr, of, Comparison::AtLeast, low)?;
            not(*negated, Formula::All(vec![low, compared(expr, of, Comparison::AtMost, high)?]))
        }
        Expr::InList { expr: of, list, negated } => {
            let constants = list.iter().map(|value| constant_in(expr, value)).collect::<Result<_, _>>()?;
            not(*negated, is(expr, of, Test::Among(constants))?)
        }
        Expr::Like { negated, any: false, expr: of, pattern, escape_char: None } => {
            not(*negated, is(expr, of, prefix(expr, pattern)?)?)
        }
        Expr::BinaryOp { left, op: op @ (BinaryOperator::Eq | BinaryOperator::NotEq), right } => {
            let (of, value) = if named(left).is_some() { (left, right) } else { (right, left) };
            not(*op == BinaryOperator::NotEq, is(expr, of, Test::Among(vec![constant_in(expr, value)?]))?)
        }
        Expr::BinaryOp { left, op, right } => {
            let Some([one, turned]) = comparisons(op) else {
                return Err(QueryError::unsupported(format!("{op} in {expr}")));
            };
            match named(left) {
                Some(_) => compared(expr, left, one, right)?,
                None => compared(expr, right, turned, left)?,
            }
        }
        _ => return Err(QueryError::unsupported(format!("the condition {expr}"))),
    })
}

/// The operator as seen from its left side, and from its right side.
fn comparisons(op: &BinaryOperator) -> Option<[Comparison; 2]> {
    use Comparison::{Above, AtLeast, AtMost, Below};
    Some(match op {
        BinaryOperator::Gt => [Above, Below],
        BinaryOperator::GtEq => [AtLeast, AtMost],
        BinaryOperator::Lt => [Below, Above],
        BinaryOperator::LtEq => [AtMost, AtLeast],
        _ => return None,
    })
}

fn is(whole: &Expr, of: &Expr, test: Test) -> Result<Formula, QueryError> {
    let column = named(of).ok_or_else(|| {
        QueryError::unsupported(format!("the condition {whole} (a column is compared with a constant)"))
    })?;
    Ok(Formula::Is(Condition { column, test, text: whole.to_string() }))
}

fn compared(whole: &Expr, of: &Expr, comparison: Comparison, with: &Expr) -> Result<Formula, QueryError> {
    is(whole, of, Test::Compare(comparison, Constant::Date(0)))?; // the column first: it is what is wrong more often
    is(whole, of, Test::Compare(comparison, constant_in(whole, with)?))
}

fn constant_in(whole: &Expr, expr: &Expr) -> Result<Constant, QueryError> {
    constant(expr).ok_or_else(|| {
        QueryError::unsupported(format!("{expr} in {whole}, which is no constant number, date or text,"))
    })
}

/// A pattern that begins with a text, or is one.
fn prefix(whole: &Expr, pattern: &Expr) -> Result<Test, QueryError> {
    let other = || QueryError::unsupported(format!("the pattern of {whole} (a text, or one with % at its end alone)"));
    let Some(Constant::Text(pattern)) = constant(pattern) else { return Err(other()) };
    let (text, open) = pattern.strip_suffix('%').map_or((pattern.as_str(), false), |text| (text, true));
    match text.contains(['%', '_', '\\']) {
        true => Err(other()),
        false if open => Ok(Test::Prefix(text.into())),
        false => Ok(Test::Among(vec![Constant::Text(text.into())])),
    }
}

fn number(expr: &Expr) -> Option<Decimal> {
    match constant(expr)? {
        Constant::Number(number) => Some(number),
        Constant::Date(_) | Constant::Text(_) => None,
    }
}

/// The value of a constant expression: numbers, dates, their sums, dates plus an interval.
fn constant(expr: &Expr) -> Option<Constant> {
    match expr {
        Expr::Nested(inner) => constant(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => Decimal::read(text).map(Constant::Number),
            Value::SingleQuotedString(text) => Some(Constant::Text(text.clone())),
            _ => None,
        },
        Expr::TypedString(typed) if typed.data_type == DataType::Date => match &typed.value.value {
            Value::SingleQuotedString(text) => read_date(text).map(Constant::Date),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => number(expr).map(|n| Constant::Number(n.negated())),
        Expr::BinaryOp { left, op, right } => {
            let sign = match op {
                BinaryOperator::Plus => 1,
                BinaryOperator::Minus => -1,
                _ => return None,
            };
            match (constant(left)?, &**right) {
                (Constant::Date(day), Expr::Interval(interval)) => moved(day, sign, interval).map(Constant::Date),
                (Constant::Number(left), right) => {
                    let right = number(right)?;
                    Some(Constant::Number(left.plus(if sign < 0 { right.negated() } else { right })))
                }
                (Constant::Date(_) | Constant::Text(_), _) => None,
            }
        }
        _ => None,
    }
}

/// The date that is this many days, months or years later. A day that the month lacks becomes the month's last day.
fn moved(day: i64, sign: i64, interval: &Interval) -> Option<i64> {
    let count = match &*interval.value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => text.parse::<i64>().ok()?,
            _ => return None,
        },
        _ => return None,
    };
    let count = sign * Some(count).filter(|n| n.unsigned_abs() < 100_000)?;
    let months = match interval.leading_field.as_ref()? {
        DateTimeField::Day | DateTimeField::Days => return Some(day + count),
        DateTimeField::Month | DateTimeField::Months => count,
        DateTimeField::Year | DateTimeField::Years => 12 * count,
        _ => return None,
    };
    let (year, month, of_month) = civil(day);
    let months = 12 * year + month - 1 + months;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    (1..=of_month).rev().map(|d| (year, month, d)).find(|&date| civil(days(date)) == date).map(days)
}

#[cfg(test)]
mod tests {
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
        assert_eq!(statement.aggregate, Aggregate::Sum(vec![factor("l_extendedprice"), factor("l_discount")]));
        assert_eq!(statement.table, "lineitem");
    }

    #[test]
    fn constants_may_stand_on_the_left_and_in_factors() {
        let statement = Statement::parse("SELECT SUM(a * (1 - t.b) * (c - 0.5)) FROM t WHERE 3 < a AND b = 2").unwrap();
        let number = |mantissa| Constant::Number(Decimal { mantissa, digits: 0 });
        let wanted = [Test::Compare(Comparison::Above, number(3)), Test::Among(vec![number(2)])];
        assert_eq!(tests(&statement.filter), [("a", &wanted[0]), ("b", &wanted[1])]);
        let Aggregate::Sum(factors) = statement.aggregate else { panic!("a sum") };
        let parts: Vec<_> = factors.iter().map(|f| (f.constant.map(|c| c.to_string()), f.negated)).collect();
        assert_eq!(parts, [(None, false), (Some("1".into()), true), (Some("-0.5".into()), false)]);
    }

    #[test]
    fn formulas_keep_their_shape() {
        let text = "SELECT COUNT(*) FROM t WHERE NOT (a <> 1 OR b NOT BETWEEN 2 AND 3) AND c LIKE 'x%' AND d NOT IN ('u', 'v')";
        let Formula::All(of) = Statement::parse(text).unwrap().filter else { panic!("an AND") };
        let [Formula::All(first), Formula::Not(list)] = &of[..] else { panic!("{of:?}") };
        assert!(
            matches!(&first[0], Formula::Not(or) if matches!(&**or, Formula::Any(of) if of.len() == 2)),
            "{first:?}"
        );
        assert_eq!(tests(&first[1]), [("c", &Test::Prefix("x".into()))]);
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
            ("SELECT SUM(a) FROM t", "every row passes"),
            ("SELECT a FROM t", "the result a"),
            ("SELECT SUM(a) FROM t JOIN u ON a = b", "what stands at \"JOIN u"),
            ("DELETE FROM t WHERE a = 1", "another statement than SELECT"),
            ("SELECT COUNT(*) FROM t WHERE a = 1; SELECT COUNT(*) FROM t WHERE a = 1", "a text of 2 statements"),
            ("SELECT a FROM t WHERE a = 1", "the result a"),
            ("SELECT AVG(a) FROM t WHERE a = 1", "the result AVG(a)"),
            ("SELECT SUM(DISTINCT a) FROM t WHERE a = 1", "the result SUM(DISTINCT a)"),
            ("SELECT SUM(a) OVER () FROM t WHERE a = 1", "the result SUM(a) OVER ()"),
            ("SELECT SUM(a / b) FROM t WHERE a = 1", "the factor a / b"),
            ("SELECT SUM(a + b) FROM t WHERE a = 1", "the factor a + b"),
            ("SELECT SUM(a), COUNT(*) FROM t WHERE a = 1", "a list of 2 results"),
            ("SELECT COUNT(*) FROM t, u WHERE a = 1", "(a join)"),
            ("SELECT COUNT(*) FROM t JOIN u ON t.x = u.x WHERE a = 1", "what stands at \"JOIN u"),
            ("SELECT COUNT(*) FROM t WHERE a = 1 GROUP BY b", "what stands at \"GROUP BY b\""),
            ("SELECT COUNT(*) FROM t WHERE a = 1 LIMIT 3", "LIMIT 3"),
            ("SELECT COUNT(*) FROM t WHERE a < b", "no constant number, date or text"),
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
        let deep = format!("SELECT COUNT(*) FROM t WHERE {}a = 1{}", "(".repeat(5000), ")".repeat(5000));
        assert!(Statement::parse(&deep).unwrap_err().to_string().contains("recursion limit"));
        // What is long and nests nothing is read; what nests is bounded, however it is written.
        let list = format!("SELECT COUNT(*) FROM t WHERE a IN ({}'it, - or ++')", "'x - y', 1, ".repeat(1000));
        assert!(Statement::parse(&list).is_ok());
        for (one, other) in
            [("a=1", " OR "), ("a=1", " AND "), ("1", "+"), ("a", "-"), ("a", "::int"), ("a", " IS NULL")]
        {
            let chain = |count: usize| {
                format!("SELECT COUNT(*) FROM t WHERE b < {}{one}", format!("{one}{other}").repeat(count))
            };
            assert!(Statement::parse(&chain(1000)).unwrap_err().to_string().contains("names and operators"), "{other}");
            let _ = Statement::parse(&chain(150));
        }
    }
}
