//! The answer of a query: what the client makes of sums, decrypted or exact.
//!
//! Quotients, order and LIMIT are done here, in the clear, by one code for decrypted sums and for exact ones.

use super::{
    question::{Group, Question},
    select::{Arithmetic, Output},
    table::{Decimal, Kind},
};
use crate::family::{AnswerTable, Cell, Compared};

/// A number that results are computed with. `None` is SQL's NULL: a quotient by zero.
pub trait Number: Copy {
    fn of(constant: Decimal) -> Self;
    /// The result of an operation.
    fn met(op: Arithmetic, a: Self, b: Self) -> Option<Self>;
    fn float(self) -> f64;
}

impl Number for f64 {
    fn of(constant: Decimal) -> Self {
        constant.mantissa as f64 / 10f64.powi(constant.digits.cast_signed())
    }

    fn met(op: Arithmetic, a: Self, b: Self) -> Option<Self> {
        match op {
            Arithmetic::Plus => Some(a + b),
            Arithmetic::Minus => Some(a - b),
            Arithmetic::Times => Some(a * b),
            Arithmetic::Over => Some(a / b).filter(|quotient| quotient.is_finite()),
        }
    }

    fn float(self) -> f64 {
        self
    }
}

/// An exact number: a decimal, or a quotient of two. Where 128 bits do not hold it, its float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact {
    /// Numerator, denominator, and decimal places to write.
    ratio: Option<(i128, i128, u32)>,
    float: f64,
}

impl Exact {
    fn ratio(numerator: i128, denominator: i128, digits: u32) -> Self {
        let float = numerator as f64 / denominator as f64;
        Self { ratio: Some((numerator, denominator, digits)), float }
    }

    fn exactly(op: Arithmetic, a: Self, b: Self) -> Option<Self> {
        let ((an, ad, digits), (bn, bd, other)) = (a.ratio?, b.ratio?);
        let sum = |bn: i128| Some((an.checked_mul(bd)?.checked_add(bn.checked_mul(ad)?)?, ad.checked_mul(bd)?));
        let (numerator, denominator) = match op {
            Arithmetic::Plus | Arithmetic::Minus if ad == bd => {
                (if op == Arithmetic::Plus { an.checked_add(bn)? } else { an.checked_sub(bn)? }, ad)
            }
            Arithmetic::Plus => sum(bn)?,
            Arithmetic::Minus => sum(bn.checked_neg()?)?,
            Arithmetic::Times => (an.checked_mul(bn)?, ad.checked_mul(bd)?),
            Arithmetic::Over => (an.checked_mul(bd)?, ad.checked_mul(bn)?),
        };
        let digits = if op == Arithmetic::Times { digits + other } else { digits.max(other) };
        (denominator != 0).then(|| Self::ratio(numerator, denominator, digits))
    }
}

impl std::fmt::Display for Exact {
    /// Every digit of a decimal; a quotient that is none as a float.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let decimal = self.ratio.and_then(|(numerator, denominator, digits)| {
            let unit = 10i128.checked_pow(digits)?;
            if unit == denominator {
                return Some(Decimal { mantissa: numerator, digits });
            }
            let units = numerator.checked_mul(unit)?;
            (units % denominator == 0).then(|| Decimal { mantissa: units / denominator, digits })
        });
        match decimal {
            Some(decimal) => decimal.fmt(f),
            None => self.float.fmt(f),
        }
    }
}

impl Number for Exact {
    fn of(constant: Decimal) -> Self {
        let unit = 10i128.pow(constant.digits);
        Self::ratio(constant.mantissa, unit, constant.digits)
    }

    fn met(op: Arithmetic, a: Self, b: Self) -> Option<Self> {
        let float = || f64::met(op, a.float, b.float).map(|float| Self { ratio: None, float });
        Self::exactly(op, a, b).or_else(float)
    }

    fn float(self) -> f64 {
        self.float
    }
}

/// A row of an answer: the number of its group, and the values of the query's items.
pub struct AnswerRow<N> {
    pub group: usize,
    pub values: Vec<Value<N>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<N> {
    /// A value of a column that is grouped by, and the column's number.
    Key(usize, i64),
    /// An aggregate, or what is computed from some.
    Number(N),
    /// A quotient by zero.
    Null,
}

impl Question {
    /// The answer of sums in the order of the measures.
    pub fn answer<N: Number>(&self, sums: &[N]) -> Vec<AnswerRow<N>> {
        let there = |group: &Group| group.count.is_none_or(|count| sums[count].float() >= 0.5);
        let row = |(number, group): (usize, &Group)| {
            let value = |item: &super::select::Item| match &item.output {
                Output::Key(key) => Value::Key(*key, group.values[*key]),
                output => made(output, group, sums).map_or(Value::Null, Value::Number),
            };
            AnswerRow { group: number, values: self.results.items.iter().map(value).collect() }
        };
        let groups = self.groups.iter().enumerate().filter(|(_, group)| there(group));
        let mut rows: Vec<AnswerRow<N>> = groups.map(row).collect();
        rows.sort_by(|a, b| {
            let compared = self.results.order.iter().map(|&(item, down)| {
                let order = place(&a.values[item]).total_cmp(&place(&b.values[item]));
                if down { order.reverse() } else { order }
            });
            compared.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        rows.truncate(self.results.limit.unwrap_or(usize::MAX));
        rows
    }

    /// Exact sums as numbers.
    pub fn exact(&self, sums: &[i128]) -> Vec<Exact> {
        let number = |(measure, &sum): (&super::question::Measure, &i128)| {
            Exact::of(Decimal { mantissa: sum, digits: measure.digits() })
        };
        self.measures.iter().zip(sums).map(number).collect()
    }

    /// The answer of decrypted sums beside the exact one, and whether both have the same rows in the same order.
    pub fn compared(&self, decrypted: &[f64], exact: &[Exact]) -> (AnswerTable, bool) {
        let (found, wanted) = (self.answer(decrypted), self.answer(exact));
        let same = found.iter().map(|row| row.group).eq(wanted.iter().map(|row| row.group));
        let all = Self { results: self.results.unlimited(), ..self.clone() }.answer(exact);
        let row = |row: &AnswerRow<f64>| {
            let twin = all.iter().find(|other| other.group == row.group);
            let cell = |(item, value): (usize, &Value<f64>)| match (value, twin.map(|twin| twin.values[item])) {
                (Value::Key(key, value), _) => Cell::Key(self.shown(*key, *value)),
                (Value::Number(decrypted), Some(Value::Number(exact))) => Cell::Number(compared(*decrypted, exact)),
                _ => Cell::Null(()),
            };
            row.values.iter().enumerate().map(cell).collect()
        };
        let columns = self.results.items.iter().map(|item| item.name.clone()).collect();
        (AnswerTable { columns, rows: found.iter().map(row).collect() }, same)
    }

    /// A value of a column that is grouped by, as text.
    pub fn shown(&self, key: usize, value: i64) -> String {
        let field = &self.keys[key];
        let text = usize::try_from(value).ok().and_then(|at| field.categories.get(at));
        text.cloned().unwrap_or_else(|| field.kind.show(value))
    }

    /// The same value as a number: a decimal's, days since 1970, or a text's place among its column's.
    pub fn as_number(&self, key: usize, value: i64) -> f64 {
        match self.keys[key].kind {
            Kind::Number(digits) => value as f64 / 10f64.powi(digits.cast_signed()),
            Kind::Date | Kind::Text => value as f64,
        }
    }
}

fn compared(decrypted: f64, exact: Exact) -> Compared {
    let wanted = exact.float();
    let relative_error = (decrypted - wanted).abs() / if wanted == 0.0 { 1.0 } else { wanted.abs() };
    Compared { decrypted, exact: exact.to_string(), relative_error }
}

/// Where a value stands in the order; NULL last, as in DuckDB.
fn place<N: Number>(value: &Value<N>) -> f64 {
    match value {
        Value::Key(_, value) => *value as f64,
        Value::Number(number) => number.float(),
        Value::Null => f64::INFINITY,
    }
}

/// What an output is for a group.
fn made<N: Number>(output: &Output, group: &Group, sums: &[N]) -> Option<N> {
    let zero = || N::of(Decimal { mantissa: 0, digits: 0 });
    match output {
        Output::Key(_) => None,
        Output::Number(constant) => Some(N::of(*constant)),
        Output::Aggregate(number) => Some(group.measures[*number].map_or_else(zero, |measure| sums[measure])),
        Output::Both(op, of) => N::met(*op, made(&of[0], group, sums)?, made(&of[1], group, sums)?),
    }
}
