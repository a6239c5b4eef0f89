//! SQL front end: parses a query into a statement with unresolved names.
//!
//! `sqlparser` parses the text, and only a small part of its tree is accepted. To reject everything else, the accepted
//! parts are printed again and must equal the whole statement.

use super::{
    error::QueryError,
    select::{self, Results},
    table::{Decimal, civil, days, read_date},
};
use sqlparser::{
    ast::{
        BinaryOperator, DataType, DateTimeField, Expr, Interval, JoinConstraint, JoinOperator, Query, Select, SetExpr,
        Statement as Sql, TableFactor, UnaryOperator, Value,
    },
    dialect::GenericDialect,
    parser::Parser,
    tokenizer::{Token, Tokenizer},
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

/// A column compared with constants, or the difference of two columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub column: String,
    /// The column that is subtracted: `a < b` asks whether a − b is below 0.
    pub minus: Option<String>,
    pub test: Test,
    pub text: String,
}

impl Condition {
    /// Name of the column that is encrypted for it.
    #[must_use]
    pub fn name(&self) -> String {
        self.minus.as_ref().map_or_else(|| self.column.clone(), |minus| format!("{} - {minus}", self.column))
    }
}

/// What a row must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    Is(Condition),
    Not(Box<Formula>),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

/// The second table of a join: rows that have equal keys belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    pub table: String,
    /// One column of each table, in any order.
    pub keys: [String; 2],
}

/// A query: results over the rows of a table that satisfy a formula, for each group.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The original text in one line.
    pub text: String,
    pub results: Results,
    pub table: String,
    pub join: Option<Join>,
    /// What a row must satisfy; without conditions, `All` of none.
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
        let results = Results::parse(query, select)?;
        let filtered = select.selection.as_ref().map_or_else(String::new, |filter| format!(" WHERE {filter}"));
        let [items, after] = select::written(query, select);
        let mut conditions = Vec::new();
        conjuncts(select.selection.as_ref(), &mut conditions);
        let (table, join, from) = tables(select, &mut conditions)?;
        prefixes(&query.to_string(), select)?;
        understood(query, &format!("SELECT {items} FROM {from}{filtered}{after}"))?;
        let filter = Formula::All(conditions.into_iter().map(formula).collect::<Result<_, _>>()?);
        // The parser writes a name with quotes inside as another name; the one line is what a description keeps.
        if Parser::parse_sql(&GenericDialect {}, &query.to_string()).ok().as_ref() != Some(&parsed) {
            return Err(QueryError::unsupported("a name or text with quotation marks inside"));
        }
        Ok(Self { text: query.to_string(), results, table, join, filter })
    }

    /// All conditions: of WHERE, and of CASE in the results.
    pub fn conditions(&self) -> Vec<&Condition> {
        let mut found = Vec::new();
        let whens = self.results.aggregates.iter().filter_map(|aggregate| aggregate.when.as_ref());
        std::iter::once(&self.filter).chain(whens).for_each(|formula| formula.conditions(&mut found));
        found
    }
}

impl Formula {
    fn conditions<'a>(&'a self, out: &mut Vec<&'a Condition>) {
        match self {
            Self::Is(condition) => out.push(condition),
            Self::Not(inner) => inner.conditions(out),
            Self::All(of) | Self::Any(of) => of.iter().for_each(|one| one.conditions(out)),
        }
    }
}

/// What is joined by AND.
fn conjuncts<'a>(expr: Option<&'a Expr>, out: &mut Vec<&'a Expr>) {
    match expr {
        Some(Expr::Nested(inner)) => conjuncts(Some(inner), out),
        Some(Expr::BinaryOp { left, op: BinaryOperator::And, right }) => {
            conjuncts(Some(left), out);
            conjuncts(Some(right), out);
        }
        Some(other) => out.push(other),
        None => {}
    }
}

/// The two columns of an equation.
fn keys(expr: &Expr) -> Option<[String; 2]> {
    match expr {
        Expr::Nested(inner) => keys(inner),
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => Some([named(left)?, named(right)?]),
        _ => None,
    }
}

/// Whether two columns of an equation are of different tables, as far as they say which.
fn crosses(expr: &Expr) -> Option<bool> {
    let table = |expr: &Expr| match expr {
        Expr::CompoundIdentifier(parts) => parts.iter().rev().nth(1).map(|name| name.value.to_lowercase()),
        _ => None,
    };
    match expr {
        Expr::Nested(inner) => crosses(inner),
        Expr::BinaryOp { left, right, .. } => Some(table(left)? != table(right)?),
        _ => None,
    }
}

/// The number of the equation that joins two tables: one of columns that say so, or the only one that may.
fn equation(conditions: &[&Expr]) -> Result<Option<usize>, QueryError> {
    let all = conditions.iter().enumerate().filter(|(_, expr)| keys(expr).is_some());
    let may: Vec<(usize, Option<bool>)> =
        all.map(|(at, expr)| (at, crosses(expr))).filter(|(_, crosses)| *crosses != Some(false)).collect();
    match (may.iter().find(|(_, crosses)| *crosses == Some(true)), &may[..]) {
        (Some((at, _)), _) | (None, [(at, _)]) => Ok(Some(*at)),
        (None, []) => Ok(None),
        (None, _) => {
            let problem = "several equations of columns may be meant: write JOIN ... ON a.key = b.key".into();
            Err(QueryError::Join { problem })
        }
    }
}

/// Fails for a column of a table that FROM does not name.
fn prefixes(text: &str, select: &Select) -> Result<(), QueryError> {
    let relations = select
        .from
        .iter()
        .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)));
    let (mut tables, mut known): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for relation in relations {
        let TableFactor::Table { name, alias, .. } = relation else { continue };
        let parts: Vec<String> = name.0.iter().map(ToString::to_string).collect();
        known.extend(parts.last().map(|name| name.trim_matches('"').to_owned()));
        known.extend(alias.as_ref().map(|alias| alias.name.value.clone()));
        tables.push(parts.join("."));
    }
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize().unwrap_or_default();
    for chain in tokens.split(|token| !matches!(token, Token::Word(_) | Token::Period)) {
        let words: Vec<&str> = chain
            .iter()
            .filter_map(|token| if let Token::Word(word) = token { Some(word.value.as_str()) } else { None })
            .collect();
        let [.., table, column] = &words[..] else { continue };
        let named = |known: &String| known.eq_ignore_ascii_case(table);
        if !known.iter().any(named) && !tables.contains(&chain.iter().map(ToString::to_string).collect::<String>()) {
            return Err(QueryError::UnknownTable { name: format!("{table}.{column}"), known: known.join(", ") });
        }
    }
    Ok(())
}

/// The table, what is joined to it, and FROM as it was read. `FROM a, b WHERE a.k = b.k` is a join; its equation is
/// taken out of the conditions.
fn tables(select: &Select, conditions: &mut Vec<&Expr>) -> Result<(String, Option<Join>, String), QueryError> {
    let many = || QueryError::unsupported("a join of more than two tables, or one that is not ON a.key = b.key");
    let name = |factor: &TableFactor| match factor {
        TableFactor::Table { name, .. } => Ok(name.to_string()),
        other => Err(QueryError::unsupported(format!("FROM {other}"))),
    };
    match &select.from[..] {
        [from] => match &from.joins[..] {
            [] => name(&from.relation).map(|table| (table.clone(), None, table)),
            [join] => {
                let (JoinOperator::Join(on) | JoinOperator::Inner(on)) = &join.join_operator else {
                    return Err(QueryError::unsupported(format!("{join}, which is no inner join,")));
                };
                let JoinConstraint::On(on) = on else { return Err(many()) };
                let joined = Join { table: name(&join.relation)?, keys: keys(on).ok_or_else(many)? };
                Ok((name(&from.relation)?, Some(joined), from.to_string()))
            }
            _ => Err(many()),
        },
        [one, other] if one.joins.is_empty() && other.joins.is_empty() => {
            let at = equation(conditions)?.ok_or_else(many)?;
            let keys = keys(conditions.remove(at)).ok_or_else(many)?;
            let names = [name(&one.relation)?, name(&other.relation)?];
            let from = names.join(", ");
            let [table, joined] = names;
            Ok((table, Some(Join { table: joined, keys }), from))
        }
        _ => Err(many()),
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

/// The name of a column; a table prefix must name one of the tables.
pub(super) fn named(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.value.clone()),
        Expr::CompoundIdentifier(parts) => parts.last().map(|name| name.value.clone()),
        Expr::Nested(inner) => named(inner),
        _ => None,
    }
}

pub(super) fn formula(expr: &Expr) -> Result<Formula, QueryError> {
    Ok(match expr {
        Expr::Nested(inner) => formula(inner)?,
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => Formula::Not(Box::new(formula(expr)?)),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => Formula::All(vec![formula(left)?, formula(right)?]),
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => Formula::Any(vec![formula(left)?, formula(right)?]),
        _ => leaf(expr)?,
    })
}

/// A condition that is not made of others. Apart from [`formula`], which calls itself and has to leave little on the stack.
fn leaf(expr: &Expr) -> Result<Formula, QueryError> {
    let not = |negated: bool, formula: Formula| if negated { Formula::Not(Box::new(formula)) } else { formula };
    Ok(match expr {
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
        Expr::BinaryOp { left, op, right } if named(left).is_some() && named(right).is_some() => {
            difference(expr, [left, right], op)?
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

/// Two columns: their difference, compared with 0.
fn difference(whole: &Expr, [left, right]: [&Expr; 2], op: &BinaryOperator) -> Result<Formula, QueryError> {
    let zero = Constant::Number(Decimal { mantissa: 0, digits: 0 });
    let (test, not) = match op {
        BinaryOperator::Eq => (Test::Among(vec![zero]), false),
        BinaryOperator::NotEq => (Test::Among(vec![zero]), true),
        _ => match comparisons(op) {
            Some([comparison, _]) => (Test::Compare(comparison, zero), false),
            None => return Err(QueryError::unsupported(format!("{op} in {whole}"))),
        },
    };
    let column = named(left).unwrap_or_default();
    let is = Formula::Is(Condition { column, minus: named(right), test, text: whole.to_string() });
    Ok(if not { Formula::Not(Box::new(is)) } else { is })
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
    Ok(Formula::Is(Condition { column, minus: None, test, text: whole.to_string() }))
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

pub(super) fn number(expr: &Expr) -> Option<Decimal> {
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
mod tests;
