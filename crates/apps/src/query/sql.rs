//! SQL front end: parses a query into a statement with unresolved names.
//!
//! `sqlparser` parses the text, and only a small part of its tree is accepted. To reject everything else, the accepted
//! parts are printed again and must equal the whole statement.

use super::{
    error::QueryError,
    formula::{Condition, Formula, formula},
    having,
    nulls::Nulls,
    operand::{Operand, named},
    select::{self, Results},
};
use sqlparser::{
    ast::{BinaryOperator, Expr, JoinConstraint, JoinOperator, Query, Select, SetExpr, Statement as Sql, TableFactor},
    dialect::GenericDialect,
    parser::{Parser, ParserError},
    tokenizer::{Token, Tokenizer},
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
        let (table, join, from) = tables(select, &mut conditions)?;
        prefixes(&query.to_string(), select)?;
        understood(query, &format!("SELECT {items} FROM {from}{filtered}{after}"))?;
        let mut filter = conditions.into_iter().map(formula).collect::<Result<Vec<_>, _>>()?;
        filter.extend(select.having.iter().flat_map(|of| having::of_rows(&results, of)));
        let filter = Formula::All(filter);
        // The parser writes a name with quotes inside as another name; the one line is what a description keeps.
        if self::parsed(&query.to_string()).ok().as_ref() != Some(&parsed) {
            return Err(QueryError::unsupported("a name or text with quotation marks inside"));
        }
        Ok(Self { text: query.to_string(), results, table, join, filter }.asking_apart())
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

/// The name of a table, and FROM as it was read: a name, and another for it.
fn table(factor: &TableFactor) -> Result<(String, String), QueryError> {
    let other = || QueryError::unsupported(format!("FROM {factor}"));
    let TableFactor::Table { name, alias, .. } = factor else { return Err(other()) };
    let read = match alias {
        None => name.to_string(),
        Some(alias) => format!("{name} {}{}", if alias.explicit { "AS " } else { "" }, alias.name),
    };
    Ok((name.to_string(), read))
}

/// The table, what is joined to it, and FROM as it was read. `FROM a, b WHERE a.k = b.k` is a join; its equation is
/// taken out of the conditions, and what else ON asks is put to them.
fn tables<'a>(
    select: &'a Select,
    conditions: &mut Vec<&'a Expr>,
) -> Result<(String, Option<Join>, String), QueryError> {
    let many = || QueryError::unsupported("a join of more than two tables, or one that is not ON a.key = b.key");
    match &select.from[..] {
        [from] => match &from.joins[..] {
            [] => table(&from.relation).map(|(name, read)| (name, None, read)),
            [join] => {
                let (on, kind) = match &join.join_operator {
                    JoinOperator::Join(on) => (on, "JOIN"),
                    JoinOperator::Inner(on) => (on, "INNER JOIN"),
                    _ => return Err(QueryError::unsupported(format!("{join}, which is no inner join,"))),
                };
                let ((name, read), (joined, other)) = (table(&from.relation)?, table(&join.relation)?);
                let (keys, on) = match on {
                    JoinConstraint::On(on) => (joining(on, conditions)?, format!("ON {on}")),
                    JoinConstraint::Using(columns) => {
                        let [column] = &columns[..] else { return Err(many()) };
                        let key = column.0.last().map(|part| part.to_string().trim_matches('"').to_owned());
                        let key = key.ok_or_else(many)?;
                        ([key.clone(), key], format!("USING({column})"))
                    }
                    _ => return Err(many()),
                };
                Ok((name, Some(Join { table: joined, keys }), format!("{read} {kind} {other} {on}")))
            }
            _ => Err(many()),
        },
        [one, other] if one.joins.is_empty() && other.joins.is_empty() => {
            let at = equation(conditions)?.ok_or_else(many)?;
            let keys = keys(conditions.remove(at)).ok_or_else(many)?;
            let ((name, one), (joined, other)) = (table(&one.relation)?, table(&other.relation)?);
            Ok((name, Some(Join { table: joined, keys }), format!("{one}, {other}")))
        }
        _ => Err(many()),
    }
}

/// The equation of ON that joins two tables. What else ON asks, joined by AND, is asked of the rows.
fn joining<'a>(on: &'a Expr, conditions: &mut Vec<&'a Expr>) -> Result<[String; 2], QueryError> {
    let many = || QueryError::unsupported("a join of more than two tables, or one that is not ON a.key = b.key");
    if let Some(keys) = keys(on) {
        return Ok(keys);
    }
    let mut all = Vec::new();
    conjuncts(on, &mut all);
    let at = equation(&all)?.ok_or_else(many)?;
    let found = keys(all.remove(at)).ok_or_else(many)?;
    conditions.extend(all);
    Ok(found)
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
