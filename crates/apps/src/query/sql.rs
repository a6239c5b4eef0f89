//! SQL front end: parses a query into a statement with unresolved names.
//!
//! `sqlparser` parses the text, and only a small part of its tree is accepted. To reject everything else, the accepted
//! parts are printed again and must equal the whole statement.

use super::{
    error::QueryError,
    formula::{Condition, Formula, formula},
    from::{From, prefixes, tables},
    having,
    nulls::Nulls,
    operand::Operand,
    select::{self, Results},
};
use sqlparser::{
    ast::{BinaryOperator, Expr, Query, SetExpr, Statement as Sql},
    dialect::GenericDialect,
    parser::{Parser, ParserError},
};

const MOST_TEXT: usize = 1 << 14;
/// Most names and operators of a text: expressions nest as deep as there are operators, and are walked by recursion.
const MOST_WORDS: usize = 512;

/// Expressions within expressions, at most: the parser calls itself with large frames, on stacks of 2 MiB too.
const MOST_NESTED: usize = 24;

fn parsed(text: &str) -> Result<Vec<Sql>, ParserError> {
    let dialect = GenericDialect {};
    Parser::new(&dialect).with_recursion_limit(MOST_NESTED).try_with_sql(text)?.parse_statements()
}

/// Names and operators outside of quotes. Numbers, and the commas of lists, nest nothing.
fn words(text: &str) -> usize {
    let outside = text.split('\'').step_by(2).collect::<Vec<_>>().join(" ");
    let names = outside
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().next().is_some_and(char::is_alphabetic));
    let operators = outside.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && !"_,.();".contains(*c));
    names.count() + operators.count()
}

/// A query: results over the rows of a table that satisfy a formula, for each group.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The original text in one line.
    pub text: String,
    pub results: Results,
    pub from: From,
    /// What a row must satisfy; without conditions, `All` of none.
    pub filter: Formula,
}

impl Statement {
    /// Parses a query.
    ///
    /// # Errors
    /// [`QueryError::Syntax`] if the text is not SQL, [`QueryError::Unsupported`] for other SQL statements.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        Self::with_nulls(text, Nulls::default())
    }

    /// Parses a query about a table in which these columns may have NULL.
    ///
    /// # Errors
    /// Those of [`Self::parse`].
    pub fn with_nulls(text: &str, nulls: Nulls) -> Result<Self, QueryError> {
        if text.len() > MOST_TEXT {
            return Err(QueryError::Syntax(format!("{} bytes are too long for a query", text.len())));
        }
        if words(text) > MOST_WORDS {
            let got =
                format!("a text of {} names and operators (at most {MOST_WORDS}; IN takes long lists)", words(text));
            return Err(QueryError::unsupported(got));
        }
        let parsed = parsed(text).map_err(|e| QueryError::Syntax(e.to_string()))?;
        let [Sql::Query(query)] = &parsed[..] else {
            return Err(QueryError::unsupported(match parsed.len() {
                1 => "another statement than SELECT".into(),
                n => format!("a text of {n} statements"),
            }));
        };
        let SetExpr::Select(select) = &*query.body else {
            return Err(QueryError::unsupported("UNION, VALUES or another statement than SELECT"));
        };
        let results = Results::parse(query, select, nulls)?;
        let filtered = select.selection.as_ref().map_or_else(String::new, |filter| format!(" WHERE {filter}"));
        let [items, after] = select::written(query, select);
        let mut conditions = Vec::new();
        select.selection.iter().for_each(|filter| conjuncts(filter, &mut conditions));
        let (from, read) = tables(select, &mut conditions)?;
        prefixes(&query.to_string(), select)?;
        understood(query, &format!("SELECT {items} FROM {read}{filtered}{after}"))?;
        let mut filter = conditions.into_iter().map(formula).collect::<Result<Vec<_>, _>>()?;
        filter.extend(select.having.iter().flat_map(|of| having::of_rows(&results, of)));
        let filter = Formula::All(filter);
        // The parser writes a name with quotes inside as another name; the one line is what a description keeps.
        if self::parsed(&query.to_string()).ok().as_ref() != Some(&parsed) {
            return Err(QueryError::unsupported("a name or text with quotation marks inside"));
        }
        Self { text: query.to_string(), results, from, filter }.asking_apart().told()
    }

    /// Fails for two computations whose names differ by capitals alone: columns are looked up without them, and texts in
    /// computations have them.
    fn told(self) -> Result<Self, QueryError> {
        let operands = self.operands();
        let alike = operands.iter().enumerate().find_map(|(at, one)| {
            let other = operands[..at].iter().find(|other| other.is_called(&one.name) && !other.is(one))?;
            Some((other.name.clone(), one.name.clone()))
        });
        match alike {
            None => Ok(self),
            Some((a, b)) => {
                let what = format!("{a} beside {b}, which differ by capitals alone (write names of columns alike),");
                Err(QueryError::unsupported(what))
            }
        }
    }

    /// The query with the names that columns have which several of its tables have.
    ///
    /// # Errors
    /// Those of [`Self::parse`].
    pub(super) fn told_apart(self, shared: &[String]) -> Result<Self, QueryError> {
        if shared.is_empty() {
            return Ok(self);
        }
        let nulls = self.results.nulls.clone();
        Self::with_nulls(&self.from.told_apart(&self.text, shared), nulls)
    }

    /// All conditions: of WHERE, and of CASE in the results.
    pub fn conditions(&self) -> Vec<&Condition> {
        let mut found = Vec::new();
        let whens = self.results.aggregates.iter().filter_map(|aggregate| aggregate.when.as_ref());
        std::iter::once(&self.filter).chain(whens).for_each(|formula| formula.conditions(&mut found));
        found
    }

    /// All that is taken of a row.
    pub fn operands(&self) -> Vec<&Operand> {
        let made = self.results.aggregates.iter().flat_map(|aggregate| aggregate.of.operands());
        let asked = self.conditions().into_iter().map(|condition| &condition.operand);
        asked.chain(made).chain(&self.results.keys).collect()
    }
}

/// What is joined by AND.
pub(super) fn conjuncts<'a>(expr: &'a Expr, out: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Nested(inner) => conjuncts(inner, out),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conjuncts(left, out);
            conjuncts(right, out);
        }
        other => out.push(other),
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

#[cfg(test)]
mod tests;
