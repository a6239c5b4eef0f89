//! FROM: the tables of a query, and how their rows are matched.

use super::{error::QueryError, operand::named, sql::conjuncts};
use sqlparser::{
    ast::{BinaryOperator, Expr, JoinConstraint, JoinOperator, Select, TableFactor},
    dialect::GenericDialect,
    tokenizer::{Token, Tokenizer},
};

/// Most tables of a query.
const MOST_TABLES: usize = 8;

/// A table of FROM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub table: String,
    /// What stands before the names of its columns: its alias, or the table's name.
    pub name: String,
}

impl Source {
    /// Whether a table's name is that of this one, with or without the schema that it is in.
    pub(super) fn is(&self, table: &str) -> bool {
        let last = self.table.rsplit('.').next().unwrap_or_default();
        [&self.table, last].iter().any(|name| name.trim_matches('"').eq_ignore_ascii_case(table))
    }
}

/// Which rows a join keeps that match none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    None,
    Left,
    Right,
    Both,
}

/// A table that is joined to those before it: rows that have equal keys belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    pub with: Source,
    pub kept: Kept,
    /// Pairs of columns, one of each side in any order.
    pub keys: Vec<[String; 2]>,
    /// Whether both keys are one column (USING).
    pub merged: bool,
}

/// The tables of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct From {
    pub first: Source,
    pub joins: Vec<Join>,
}

impl From {
    /// All tables, in their order.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        std::iter::once(&self.first).chain(self.joins.iter().map(|join| &join.with))
    }

    /// Whether only rows that match stay, so that tables may be joined in any order.
    pub(super) fn is_inner(&self) -> bool {
        self.joins.iter().all(|join| join.kept == Kept::None)
    }

    /// The name of a column of one of the tables that has its name with others in common; none where a prefix names none.
    fn apart(&self, table: &str, column: &str) -> Option<String> {
        let named = self.sources().find(|source| source.name.eq_ignore_ascii_case(table));
        let source = named.or_else(|| self.sources().find(|source| source.is(table)))?;
        Some(format!("{}.{column}", source.name))
    }

    /// A query's text in which columns that several tables have are named with their tables.
    pub(super) fn told_apart(&self, text: &str, shared: &[String]) -> String {
        let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize().unwrap_or_default();
        let mut written = String::with_capacity(text.len());
        let mut at = 0;
        while at < tokens.len() {
            let chain = tokens[at..].iter().take_while(|token| matches!(token, Token::Word(_) | Token::Period)).count();
            let words: Vec<&str> = tokens[at..at + chain]
                .iter()
                .filter_map(|token| if let Token::Word(word) = token { Some(word.value.as_str()) } else { None })
                .collect();
            let own = match &words[..] {
                [.., table, column] => {
                    let shared = shared.iter().find(|name| name.eq_ignore_ascii_case(column));
                    shared.and_then(|column| self.apart(table, column))
                }
                _ => None,
            };
            match own {
                Some(name) => written += &format!("\"{name}\""),
                None => tokens[at..at + chain.max(1)].iter().for_each(|token| written += &token.to_string()),
            }
            at += chain.max(1);
        }
        written
    }
}

fn unjoined() -> QueryError {
    QueryError::unsupported("a join that is not ON a.key = b.key")
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
        Expr::Identifier(name) => name.value.split_once('.').map(|(table, _)| table.to_lowercase()),
        _ => None,
    };
    match expr {
        Expr::Nested(inner) => crosses(inner),
        Expr::BinaryOp { left, right, .. } => Some(table(left)? != table(right)?),
        _ => None,
    }
}

/// The numbers of the equations that join so many tables: those of columns that say so, or the only ones that may. None where
/// there are too few.
fn equations(conditions: &[&Expr], wanted: usize) -> Result<Option<Vec<usize>>, QueryError> {
    let all = conditions.iter().enumerate().filter(|(_, expr)| keys(expr).is_some());
    let may: Vec<(usize, Option<bool>)> =
        all.map(|(at, expr)| (at, crosses(expr))).filter(|(_, crosses)| *crosses != Some(false)).collect();
    let sure: Vec<usize> = may.iter().filter(|(_, crosses)| *crosses == Some(true)).map(|(at, _)| *at).collect();
    match (sure.len(), may.len()) {
        (got, _) if got == wanted => Ok(Some(sure)),
        // Of two tables each equation joins them; the first does it, and the others are asked of the rows.
        (1.., _) if wanted == 1 => Ok(Some(sure[..1].to_vec())),
        (_, got) if got == wanted => Ok(Some(may.into_iter().map(|(at, _)| at).collect())),
        (_, got) if got < wanted => Ok(None),
        _ => {
            let problem = "several equations of columns may be meant: write JOIN ... ON a.key = b.key".into();
            Err(QueryError::Join { problem })
        }
    }
}

/// Fails for a column of a table that FROM does not name.
pub(super) fn prefixes(text: &str, select: &Select) -> Result<(), QueryError> {
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

/// A table, and FROM as it was read: a name, and another for it.
fn source(factor: &TableFactor) -> Result<(Source, String), QueryError> {
    let other = || QueryError::unsupported(format!("FROM {factor}"));
    let TableFactor::Table { name, alias, .. } = factor else { return Err(other()) };
    let last = name.0.last().map(|part| part.to_string().trim_matches('"').to_owned()).unwrap_or_default();
    let (own, read) = match alias {
        None => (last, name.to_string()),
        Some(alias) => {
            let read = format!("{name} {}{}", if alias.explicit { "AS " } else { "" }, alias.name);
            (alias.name.value.clone(), read)
        }
    };
    Ok((Source { table: name.to_string(), name: own }, read))
}

/// How an operator joins, in its own words.
fn operator(of: &JoinOperator) -> Option<(&JoinConstraint, Kept, &'static str)> {
    Some(match of {
        JoinOperator::Join(on) => (on, Kept::None, "JOIN"),
        JoinOperator::Inner(on) => (on, Kept::None, "INNER JOIN"),
        JoinOperator::Left(on) => (on, Kept::Left, "LEFT JOIN"),
        JoinOperator::LeftOuter(on) => (on, Kept::Left, "LEFT OUTER JOIN"),
        JoinOperator::Right(on) => (on, Kept::Right, "RIGHT JOIN"),
        JoinOperator::RightOuter(on) => (on, Kept::Right, "RIGHT OUTER JOIN"),
        JoinOperator::FullOuter(on) => (on, Kept::Both, "FULL JOIN"),
        _ => return None,
    })
}

/// The tables, and FROM as it was read. `FROM a, b WHERE a.k = b.k` is a join; its equation is taken out of the conditions,
/// and what else ON asks is put to them.
pub(super) fn tables<'a>(select: &'a Select, conditions: &mut Vec<&'a Expr>) -> Result<(From, String), QueryError> {
    let found = match &select.from[..] {
        [from] => {
            let (first, mut read) = source(&from.relation)?;
            let mut joins = Vec::new();
            for join in &from.joins {
                let other = || QueryError::unsupported(format!("{join}, which is no inner, left, right or full join,"));
                let (constraint, kept, word) = operator(&join.join_operator).ok_or_else(other)?;
                let (with, joined) = source(&join.relation)?;
                let (keys, merged, on) = match constraint {
                    JoinConstraint::On(on) => (joining(on, kept, conditions)?, false, format!("ON {on}")),
                    JoinConstraint::Using(columns) => {
                        let part = |column: &sqlparser::ast::ObjectName| {
                            let name = column.0.last().map(|part| part.to_string().trim_matches('"').to_owned());
                            name.map(|name| [name.clone(), name]).ok_or_else(unjoined)
                        };
                        let listed = columns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                        (columns.iter().map(part).collect::<Result<_, _>>()?, true, format!("USING({listed})"))
                    }
                    _ => return Err(unjoined()),
                };
                if merged && kept == Kept::Both {
                    return Err(QueryError::unsupported(format!("{join} (write ON, and COALESCE of both columns),")));
                }
                read += &format!(" {word} {joined} {on}");
                joins.push(Join { with, kept, keys, merged });
            }
            (From { first, joins }, read)
        }
        [one, others @ ..] => {
            if select.from.iter().any(|from| !from.joins.is_empty()) {
                return Err(QueryError::unsupported("FROM with both a comma and a JOIN"));
            }
            let mut equations = equations(conditions, others.len())?.ok_or_else(unjoined)?;
            equations.sort_unstable_by(|a, b| b.cmp(a));
            let (first, mut read) = source(&one.relation)?;
            let mut joins = Vec::new();
            for (from, at) in others.iter().zip(equations) {
                let (with, joined) = source(&from.relation)?;
                let keys = vec![keys(conditions.remove(at)).ok_or_else(unjoined)?];
                read += &format!(", {joined}");
                joins.push(Join { with, kept: Kept::None, keys, merged: false });
            }
            (From { first, joins }, read)
        }
        [] => return Err(QueryError::unsupported("a query without FROM")),
    };
    let count = found.0.joins.len() + 1;
    if count > MOST_TABLES {
        return Err(QueryError::unsupported(format!("a join of {count} tables (at most {MOST_TABLES})")));
    }
    let names: Vec<String> = found.0.sources().map(|source| source.name.to_lowercase()).collect();
    if let Some(at) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
        let problem = format!("two tables are {}: give one another name (FROM t a JOIN t b)", names[at]);
        return Err(QueryError::Join { problem });
    }
    Ok(found)
}

/// The equations of ON that join a table. What else an inner join's ON asks, joined by AND, is asked of the rows; what else an
/// outer join's asks decides which rows match, and is refused.
fn joining<'a>(on: &'a Expr, kept: Kept, conditions: &mut Vec<&'a Expr>) -> Result<Vec<[String; 2]>, QueryError> {
    let mut all = Vec::new();
    conjuncts(on, &mut all);
    if kept == Kept::None {
        let at = equations(&all, 1)?.and_then(|found| found.first().copied()).ok_or_else(unjoined)?;
        let found = keys(all.remove(at)).ok_or_else(unjoined)?;
        conditions.extend(all);
        return Ok(vec![found]);
    }
    let key = |expr: &&Expr| {
        let what = || format!("{expr} in ON of an outer join (equations of columns, joined by AND, are taken),");
        keys(expr).filter(|_| crosses(expr) != Some(false)).ok_or_else(|| QueryError::unsupported(what()))
    };
    all.iter().map(key).collect()
}
