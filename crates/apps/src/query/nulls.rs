//! NULL: which columns may have it, and what is asked of a row for it.
//!
//! Both sides know which columns may have NULL, and the server not which rows do. Where such a column is compared, NULL is
//! one more value of it; where it is only summed, counted or searched, its owner computes a column of its own (`a IS NULL`),
//! whose test takes one bootstrapping a row.

use super::{
    constant::{Constant, ZERO},
    error::QueryError,
    formula::{Condition, Formula, Test},
    operand::{Operand, Scalar},
    sql::Statement,
    table::Table,
};
use serde::{Deserialize, Serialize};

/// The columns of a query that may have NULL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nulls(pub Vec<String>);

impl Nulls {
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a column may have NULL.
    #[must_use]
    pub fn has(&self, column: &str) -> bool {
        self.0.iter().any(|name| name.eq_ignore_ascii_case(column))
    }

    /// Whether what is taken of a row may be NULL.
    pub(super) fn of(&self, operand: &Operand) -> bool {
        operand.value.as_ref().map_or_else(|| self.has(&operand.name), |value| self.scalar(value))
    }

    fn scalar(&self, value: &Scalar) -> bool {
        match value {
            Scalar::Column(name) => self.has(name),
            Scalar::Constant(_) | Scalar::Missing(_) => false,
            Scalar::Plus(of) | Scalar::Minus(of) | Scalar::Times(of) | Scalar::Against(of) => {
                of.iter().any(|one| self.scalar(one))
            }
            Scalar::Later(of, ..)
            | Scalar::Absolute(of)
            | Scalar::Part(_, of)
            | Scalar::Remainder(of, _)
            | Scalar::Begin(_, of)
            | Scalar::OfText(_, of)
            | Scalar::Length(of)
            | Scalar::Rounded(_, _, of) => self.scalar(of),
            Scalar::Case(case) => case.results().any(|of| of.is_none_or(|of| self.scalar(of))),
            Scalar::First(of) => of.iter().all(|one| self.scalar(one)),
            Scalar::UnlessEqual(_) => true,
        }
    }

    /// What rows satisfy in which an operand is not NULL; none where it never is.
    pub(super) fn known(&self, operand: &Operand) -> Option<Formula> {
        let text = || format!("{} IS NOT NULL", operand.name);
        self.of(operand).then(|| Formula::Is(Condition { operand: operand.clone(), test: Test::Known, text: text() }))
    }
}

/// The same condition, asked of a column that says whether its operand is NULL.
fn apart(condition: Condition) -> Condition {
    let Operand { name, value } = condition.operand;
    let missing = Scalar::Missing(Box::new(value.unwrap_or(Scalar::Column(name))));
    Condition { operand: Operand::of(missing), test: Test::Among(vec![Constant::Number(ZERO)]), ..condition }
}

impl Statement {
    /// Whether an operand is compared, so that its NULL is one of its values.
    fn compares(&self, operand: &Operand) -> bool {
        let asked = self.conditions().into_iter().filter(|condition| condition.test != Test::Known);
        let of = asked.map(|condition| &condition.operand).chain(&self.results.keys);
        of.chain(self.results.aggregates.iter().filter_map(|aggregate| aggregate.of.different()))
            .any(|other| other.is(operand))
    }

    /// Whether what has this name may be NULL; none where the statement takes nothing of that name.
    pub(super) fn may_be_null(&self, name: &str) -> Option<bool> {
        let of = self.operands().into_iter().find(|operand| operand.is_called(name))?;
        Some(self.results.nulls.of(of))
    }

    /// The statement in which columns that are not compared are asked by columns of their own whether they are NULL.
    pub(super) fn asking_apart(mut self) -> Self {
        let nulls = self.results.nulls.clone();
        let asked: Vec<Operand> = {
            let known = self.conditions().into_iter().filter(|condition| condition.test == Test::Known);
            let of = known.map(|condition| &condition.operand);
            of.filter(|operand| nulls.of(operand) && !self.compares(operand)).cloned().collect()
        };
        let change = |condition: Condition| {
            let moves = condition.test == Test::Known && asked.iter().any(|operand| operand.is(&condition.operand));
            if moves { apart(condition) } else { condition }
        };
        self.filter = self.filter.with(&change);
        for aggregate in &mut self.results.aggregates {
            aggregate.when = aggregate.when.take().map(|when| when.with(&change));
        }
        self
    }

    /// The statement for a table, some columns of which have NULL, or may have it in other data.
    ///
    /// # Errors
    /// A column that the query does not name.
    pub fn of_table(self, table: &Table, declared: &[String]) -> Result<Self, QueryError> {
        let mut named: Vec<&str> = self.operands().into_iter().flat_map(Operand::columns).collect();
        named.extend(self.results.counted.iter().map(String::as_str));
        if let Some(other) = declared.iter().find(|name| !named.iter().any(|of| of.eq_ignore_ascii_case(name))) {
            return Err(QueryError::Nullable { name: other.clone() });
        }
        let mut nulls = Nulls::default();
        for name in named {
            let column = table.column(name)?;
            let may = !column.nulls.is_empty() || declared.iter().any(|of| of.eq_ignore_ascii_case(name));
            if may && !nulls.has(name) {
                nulls.0.push(column.name.clone());
            }
        }
        if nulls.is_none() { Ok(self) } else { Self::with_nulls(&self.text, nulls) }
    }
}

#[cfg(test)]
mod tests;
