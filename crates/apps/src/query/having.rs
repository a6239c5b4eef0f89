//! HAVING: which groups are in the answer. The client decides it from decrypted aggregates, in the clear.

use super::{
    error::QueryError,
    formula::{Formula, formula},
    operand::Operand,
    select::{Output, Results},
    sql::conjuncts,
};
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};
use std::cmp::Ordering;

/// How two outputs compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `=`
    Equal,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

impl Relation {
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Above => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

/// What a group must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub enum Having {
    Compare(Relation, Box<[Output; 2]>),
    Not(Box<Having>),
    All(Vec<Having>),
    Any(Vec<Having>),
}

impl Having {
    /// Whether an aggregate is in it.
    pub fn takes(&self, aggregate: usize) -> bool {
        match self {
            Self::Compare(_, of) => of.iter().any(|output| output.takes(aggregate)),
            Self::Not(inner) => inner.takes(aggregate),
            Self::All(of) | Self::Any(of) => of.iter().any(|one| one.takes(aggregate)),
        }
    }

    /// Adds what is asked to equal something in it.
    pub(super) fn equated<'a>(&'a self, found: &mut Vec<&'a Output>) {
        match self {
            Self::Compare(relation, of) => {
                if *relation == Relation::Equal {
                    found.extend(of.iter());
                }
                of.iter().for_each(|output| output.equated(found));
            }
            Self::Not(inner) => inner.equated(found),
            Self::All(of) | Self::Any(of) => of.iter().for_each(|one| one.equated(found)),
        }
    }

    /// Whether a group is in the answer; none where a quotient by zero decides it, as SQL's three values have it.
    pub fn holds(&self, compare: &impl Fn(&[Output; 2]) -> Option<Ordering>) -> Option<bool> {
        match self {
            Self::Compare(relation, of) => compare(of).map(|order| relation.holds(order)),
            Self::Not(inner) => inner.holds(compare).map(|holds| !holds),
            Self::All(of) => decided(of.iter().map(|one| one.holds(compare)), false),
            Self::Any(of) => decided(of.iter().map(|one| one.holds(compare)), true),
        }
    }
}

/// One that is decisive decides; without one, an unknown leaves all unknown.
fn decided(of: impl Iterator<Item = Option<bool>>, decisive: bool) -> Option<bool> {
    let mut all = Some(!decisive);
    for one in of {
        match one {
            Some(one) if one == decisive => return Some(decisive),
            Some(_) => {}
            None => all = None,
        }
    }
    all
}

/// The conditions of HAVING, joined by AND, that ask columns that are grouped by alone: of rows they ask the same, so that
/// they belong to WHERE.
pub(super) fn of_rows(results: &Results, having: &Expr) -> Vec<Formula> {
    let mut all = Vec::new();
    conjuncts(having, &mut all);
    all.into_iter().filter_map(|expr| of_keys(results, expr)).collect()
}

/// What a condition asks of the columns that are grouped by; none where it asks anything else.
fn of_keys(results: &Results, expr: &Expr) -> Option<Formula> {
    let formula = formula(expr).ok()?;
    let mut conditions = Vec::new();
    formula.conditions(&mut conditions);
    let column = |name: &str| results.keys.iter().any(|key| key.value.is_none() && key.name.eq_ignore_ascii_case(name));
    let known = |of: &Operand| results.keys.iter().any(|key| key.is(of)) || of.columns().into_iter().all(column);
    let keys = !conditions.is_empty() && conditions.iter().all(|condition| known(&condition.operand));
    keys.then_some(formula)
}

/// Reads the conditions on the results' outputs; what they aggregate is put into the results' aggregates.
pub(super) fn parse(results: &mut Results, expr: &Expr) -> Result<Option<Having>, QueryError> {
    let mut all = Vec::new();
    conjuncts(expr, &mut all);
    all.retain(|one| of_keys(results, one).is_none());
    let mut read = all.into_iter().map(|one| condition(results, one)).collect::<Result<Vec<_>, _>>()?;
    Ok(if read.len() > 1 { Some(Having::All(read)) } else { read.pop() })
}

fn condition(results: &mut Results, expr: &Expr) -> Result<Having, QueryError> {
    let not = |negated: bool, having: Having| if negated { Having::Not(Box::new(having)) } else { having };
    Ok(match expr {
        Expr::Nested(inner) => condition(results, inner)?,
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => not(true, condition(results, expr)?),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            Having::All(vec![condition(results, left)?, condition(results, right)?])
        }
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
            Having::Any(vec![condition(results, left)?, condition(results, right)?])
        }
        Expr::Between { expr: of, negated, low, high } => {
            let low = compared(results, expr, Relation::AtLeast, [of, low])?;
            not(*negated, Having::All(vec![low, compared(results, expr, Relation::AtLeast, [high, of])?]))
        }
        Expr::InList { expr: of, list, negated } => {
            let any = list.iter().map(|one| compared(results, expr, Relation::Equal, [of, one]));
            not(*negated, Having::Any(any.collect::<Result<_, _>>()?))
        }
        Expr::BinaryOp { left, op, right } => {
            let (left, right): (&Expr, &Expr) = (left, right);
            let (relation, of, negated) = match op {
                BinaryOperator::Eq => (Relation::Equal, [left, right], false),
                BinaryOperator::NotEq => (Relation::Equal, [left, right], true),
                BinaryOperator::Gt => (Relation::Above, [left, right], false),
                BinaryOperator::GtEq => (Relation::AtLeast, [left, right], false),
                BinaryOperator::Lt => (Relation::Above, [right, left], false),
                BinaryOperator::LtEq => (Relation::AtLeast, [right, left], false),
                _ => return Err(other(expr)),
            };
            not(negated, compared(results, expr, relation, of)?)
        }
        _ => return Err(other(expr)),
    })
}

fn other(expr: &Expr) -> QueryError {
    QueryError::unsupported(format!("HAVING {expr} (aggregates are compared with numbers or each other)"))
}

fn compared(results: &mut Results, whole: &Expr, relation: Relation, of: [&Expr; 2]) -> Result<Having, QueryError> {
    let mut output = |expr: &Expr| match results.output(expr)? {
        Output::Key(_) => Err(QueryError::unsupported(format!(
            "HAVING {whole}, which asks a column that is grouped by beside results (join such conditions by AND),"
        ))),
        output => Ok(output),
    };
    let of = [output(of[0])?, output(of[1])?];
    Ok(Having::Compare(relation, Box::new(of)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_neither_true_nor_false() {
        let (yes, no, unknown) = (Some(true), Some(false), None);
        let all = |of: &[Option<bool>]| decided(of.iter().copied(), false);
        let any = |of: &[Option<bool>]| decided(of.iter().copied(), true);
        assert_eq!(
            [all(&[yes, yes]), all(&[yes, unknown]), all(&[unknown, no]), all(&[no, unknown])],
            [yes, unknown, no, no]
        );
        assert_eq!(
            [any(&[no, no]), any(&[no, unknown]), any(&[unknown, yes]), any(&[yes, unknown])],
            [no, unknown, yes, yes]
        );
    }
}
