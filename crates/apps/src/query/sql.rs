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

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    Number(Decimal),
    /// Days since 1970-01-01.
    Date(i64),
}

/// A column compared with a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub column: String,
    pub comparison: Comparison,
    pub constant: Constant,
    pub text: String,
}

/// A query: an aggregate over the rows of one table that satisfy all conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The original text in one line.
    pub text: String,
    pub aggregate: Aggregate,
    pub table: String,
    /// Conditions that a row must satisfy.
    pub conditions: Vec<Condition>,
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
        let mut conditions = Vec::new();
        conjunction(filter, &mut conditions)?;
        Ok(Self { text: query.to_string(), aggregate, table, conditions })
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

fn conjunction(expr: &Expr, out: &mut Vec<Condition>) -> Result<(), QueryError> {
    match expr {
        Expr::Nested(inner) => conjunction(inner, out),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conjunction(left, out)?;
            conjunction(right, out)
        }
        Expr::Between { expr: of, negated: false, low, high } => {
            compared(expr, of, &[(Comparison::AtLeast, &**low), (Comparison::AtMost, &**high)], out)
        }
        Expr::BinaryOp { left, op, right } => {
            let Some([one, turned]) = comparisons(op) else {
                return Err(QueryError::unsupported(format!("{op} in {expr}")));
            };
            match named(left) {
                Some(_) => compared(expr, left, &one.iter().map(|&c| (c, &**right)).collect::<Vec<_>>(), out),
                None => compared(expr, right, &turned.iter().map(|&c| (c, &**left)).collect::<Vec<_>>(), out),
            }
        }
        _ => Err(QueryError::unsupported(format!("the condition {expr}"))),
    }
}

/// The operator as seen from its left side, and from its right side.
fn comparisons(op: &BinaryOperator) -> Option<[&'static [Comparison]; 2]> {
    use Comparison::{Above, AtLeast, AtMost, Below};
    Some(match op {
        BinaryOperator::Gt => [&[Above], &[Below]],
        BinaryOperator::GtEq => [&[AtLeast], &[AtMost]],
        BinaryOperator::Lt => [&[Below], &[Above]],
        BinaryOperator::LtEq => [&[AtMost], &[AtLeast]],
        BinaryOperator::Eq => [&[AtLeast, AtMost], &[AtLeast, AtMost]],
        _ => return None,
    })
}

fn compared(whole: &Expr, of: &Expr, with: &[(Comparison, &Expr)], out: &mut Vec<Condition>) -> Result<(), QueryError> {
    let Some(column) = named(of) else {
        return Err(QueryError::unsupported(format!("the condition {whole} (a column is compared with a constant)")));
    };
    for (comparison, expr) in with {
        let Some(constant) = constant(expr) else {
            return Err(QueryError::unsupported(format!("{expr} in {whole}, which is no constant number or date,")));
        };
        out.push(Condition { column: column.clone(), comparison: *comparison, constant, text: whole.to_string() });
    }
    Ok(())
}

fn number(expr: &Expr) -> Option<Decimal> {
    match constant(expr)? {
        Constant::Number(number) => Some(number),
        Constant::Date(_) => None,
    }
}

/// The value of a constant expression: numbers, dates, their sums, dates plus an interval.
fn constant(expr: &Expr) -> Option<Constant> {
    match expr {
        Expr::Nested(inner) => constant(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => Decimal::read(text).map(Constant::Number),
            Value::SingleQuotedString(text) => read_date(text).map(Constant::Date),
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
                (Constant::Date(_), _) => None,
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

    #[test]
    fn the_text_of_the_specification_is_read() {
        let text = "select sum(l_extendedprice * l_discount) as revenue from lineitem where \
                    l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval '1' year and \
                    l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24;";
        let statement = Statement::parse(text).unwrap();
        let found = statement.conditions.iter().map(|c| (c.column.as_str(), c.comparison, c.constant));
        let number = |mantissa, digits| Constant::Number(Decimal { mantissa, digits });
        let wanted = [
            ("l_shipdate", Comparison::AtLeast, date("1994-01-01")),
            ("l_shipdate", Comparison::Below, date("1995-01-01")),
            ("l_discount", Comparison::AtLeast, number(5, 2)),
            ("l_discount", Comparison::AtMost, number(7, 2)),
            ("l_quantity", Comparison::Below, number(24, 0)),
        ];
        assert_eq!(found.collect::<Vec<_>>(), wanted);
        let factor = |name: &str| Factor { column: name.into(), constant: None, negated: false };
        assert_eq!(statement.aggregate, Aggregate::Sum(vec![factor("l_extendedprice"), factor("l_discount")]));
        assert_eq!(statement.table, "lineitem");
    }

    #[test]
    fn constants_may_stand_on_the_left_and_in_factors() {
        let statement = Statement::parse("SELECT SUM(a * (1 - t.b) * (c - 0.5)) FROM t WHERE 3 < a AND b = 2").unwrap();
        let asked: Vec<_> = statement.conditions.iter().map(|c| (c.column.as_str(), c.comparison)).collect();
        assert_eq!(asked, [("a", Comparison::Above), ("b", Comparison::AtLeast), ("b", Comparison::AtMost)]);
        let Aggregate::Sum(factors) = statement.aggregate else { panic!("a sum") };
        let parts: Vec<_> = factors.iter().map(|f| (f.constant.map(|c| c.to_string()), f.negated)).collect();
        assert_eq!(parts, [(None, false), (Some("1".into()), true), (Some("-0.5".into()), false)]);
    }

    #[test]
    fn intervals_end_with_their_month() {
        let bound = |sum: &str| {
            let text = format!("SELECT COUNT(*) FROM t WHERE d < date '2000-01-31' {sum}");
            Statement::parse(&text).unwrap().conditions[0].constant
        };
        assert_eq!(bound("+ interval '1' month"), date("2000-02-29"));
        assert_eq!(bound("- interval '2' year"), date("1998-01-31"));
        assert_eq!(bound("+ interval '30' day"), date("2000-03-01"));
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
            ("SELECT COUNT(*) FROM t WHERE a = 1 OR b = 2", "OR in a = 1 OR b = 2"),
            ("SELECT COUNT(*) FROM t WHERE NOT a = 1", "the condition NOT a = 1"),
            ("SELECT COUNT(*) FROM t WHERE a <> 1", "<> in a <> 1"),
            ("SELECT COUNT(*) FROM t WHERE a < b", "no constant number or date"),
            ("SELECT COUNT(*) FROM t WHERE a LIKE 'x%'", "the condition a LIKE"),
            ("SELECT COUNT(*) FROM t WHERE a IN (1, 2)", "the condition a IN"),
            ("SELECT COUNT(*) FROM t WHERE a + 1 < 3", "a column is compared with a constant"),
            ("SELECT COUNT(*) FROM t WHERE a = 'green'", "no constant number or date"),
        ];
        for (text, wanted) in refused {
            let error = Statement::parse(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
        let deep = format!("SELECT COUNT(*) FROM t WHERE {}a = 1{}", "(".repeat(5000), ")".repeat(5000));
        assert!(Statement::parse(&deep).unwrap_err().to_string().contains("recursion limit"));
    }
}
