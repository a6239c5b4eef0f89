//! The answer of a query: what the client makes of sums, decrypted or exact.
//!
//! Quotients, HAVING, order and LIMIT are done here, in the clear, by one code for decrypted sums and for exact ones.

use super::{
    error::QueryError,
    field::Field,
    question::{Asked, Group, GroupRows, Question},
    select::{Arithmetic, Call, Item, Order, Output},
    table::{Decimal, Kind, Table},
};
use crate::family::{AnswerTable, Cell, Compared, NULL};
use std::cmp::Ordering;

/// A number that results are computed with: a decimal, or a quotient of two. Of a sum that is decrypted with an error, and
/// where 128 bits do not hold a number, its float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Numerator, denominator, and decimal places to write.
    ratio: Option<(i128, i128, u32)>,
    float: f64,
}

impl Number {
    /// A decimal.
    #[must_use]
    pub fn of(constant: Decimal) -> Self {
        Self::ratio(constant.mantissa, 10i128.pow(constant.digits), constant.digits)
    }

    /// A number that is not known to the last digit.
    #[must_use]
    pub fn near(float: f64) -> Self {
        Self { ratio: None, float }
    }

    #[must_use]
    pub fn float(self) -> f64 {
        self.float
    }

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

    /// The result of an operation. `None` is SQL's NULL: a quotient by zero.
    fn met(op: Arithmetic, a: Self, b: Self) -> Option<Self> {
        let float = || match op {
            Arithmetic::Plus => a.float + b.float,
            Arithmetic::Minus => a.float - b.float,
            Arithmetic::Times => a.float * b.float,
            Arithmetic::Over => a.float / b.float,
        };
        Self::exactly(op, a, b).or_else(|| Some(float()).filter(|float| float.is_finite()).map(Self::near))
    }

    /// The square root; 0 of what is below 0 by the error of a difference.
    fn root(self) -> Self {
        Self::near(self.float.max(0.0).sqrt())
    }

    fn absolute(self) -> Self {
        let ratio = self.ratio.map(|(a, b, digits)| (a.saturating_abs(), b.saturating_abs(), digits));
        Self { ratio, float: self.float.abs() }
    }

    /// Rounded to so many decimal places, half away from zero.
    fn rounded(self, places: i32) -> Self {
        let exact = || {
            let (numerator, denominator, _) = self.ratio?;
            let unit = 10i128.checked_pow(places.unsigned_abs())?;
            let (up, down) = if places < 0 { (1, unit) } else { (unit, 1) };
            let numerator = numerator.checked_mul(up)?;
            let (size, by) = (numerator.checked_abs()?, denominator.checked_abs()?.checked_mul(down)?);
            let whole = size / by + i128::from(size % by >= by - size % by);
            let whole = if (numerator < 0) == (denominator < 0) { whole } else { -whole };
            let digits = u32::try_from(places).unwrap_or(0);
            Some(Self::ratio(whole.checked_mul(down)?, up, digits))
        };
        exact().unwrap_or_else(|| {
            let unit = 10f64.powi(places.abs());
            let float = self.float;
            Self::near(if places < 0 { (float / unit).round() * unit } else { (float * unit).round() / unit })
        })
    }

    /// Which of two is larger.
    fn order(self, other: Self) -> Ordering {
        let difference = Self::exactly(Arithmetic::Minus, self, other).and_then(|difference| difference.ratio);
        let sign = |(numerator, denominator, _): (i128, i128, u32)| numerator.signum() * denominator.signum();
        difference.map_or_else(|| self.float.total_cmp(&other.float), |ratio| sign(ratio).cmp(&0))
    }
}

impl std::fmt::Display for Number {
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

/// What the client has of a program's results.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// In the order of the measures.
    pub sums: Vec<Number>,
    /// In the order of the extremes.
    pub ends: Vec<i64>,
    /// How many rows each selection has.
    pub rows: Vec<f64>,
    /// How many parts of equal size they are sums of.
    pub parts: usize,
}

/// A row of an answer: the number of its group, and the values of the query's items.
pub struct AnswerRow {
    pub group: usize,
    pub values: Vec<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A value of a column that is grouped by, and the column's number.
    Key(usize, i64),
    /// A date or a text that is an end of its column's values, and the number of the extreme.
    End(usize, i64),
    /// An aggregate, or what is computed from some.
    Number(Number),
    /// A quotient by zero, of no rows a sum or an end, or what NULL is grouped by.
    Null,
}

impl Question {
    /// The answer of figures.
    pub fn answer(&self, figures: &Figures) -> Vec<AnswerRow> {
        let there = |group: &Group| self.keys.is_empty() || !empty(group, figures);
        let kept = |group: &Group| {
            let compare = |of: &[Output; 2]| {
                let number = |output| self.made(output, group, figures);
                Some(number(&of[0])?.order(number(&of[1])?))
            };
            self.results.having.as_ref().is_none_or(|having| having.holds(&compare) == Some(true))
        };
        let row = |(number, group): (usize, &Group)| {
            let value = |item: &Item| self.value(&item.output, group, figures);
            let row = AnswerRow { group: number, values: self.results.items.iter().map(value).collect() };
            let by = self.results.order.iter().map(|order| self.value(&order.by, group, figures));
            (by.collect::<Vec<_>>(), row)
        };
        let groups = self.groups.iter().enumerate().filter(|(_, group)| there(group) && kept(group));
        let mut rows: Vec<(Vec<Value>, AnswerRow)> = groups.map(row).collect();
        rows.sort_by(|(a, _), (b, _)| {
            let all = self.results.order.iter().zip(a.iter().zip(b));
            let compared = all.map(|(Order { down, nulls_first, .. }, (a, b))| match (a, b) {
                (Value::Null, Value::Null) => Ordering::Equal,
                (Value::Null, _) if *nulls_first => Ordering::Less,
                (_, Value::Null) if *nulls_first => Ordering::Greater,
                (Value::Null, _) => Ordering::Greater,
                (_, Value::Null) => Ordering::Less,
                _ if *down => placed(b, a),
                _ => placed(a, b),
            });
            compared.fold(Ordering::Equal, Ordering::then)
        });
        let limit = self.results.limit.unwrap_or(usize::MAX);
        rows.into_iter().skip(self.results.offset).take(limit).map(|(_, row)| row).collect()
    }

    /// The value of an output in a group.
    fn value(&self, output: &Output, group: &Group, figures: &Figures) -> Value {
        if let Output::Key(key) = output {
            let value = group.values[*key];
            return if self.keys[*key].is_null(value) { Value::Null } else { Value::Key(*key, value) };
        }
        if let Output::Where(count, of) = output {
            let none = self.counted(*count, group, figures).is_none_or(|count| count.float() < 0.5);
            return if none { Value::Null } else { self.value(of, group, figures) };
        }
        if let Output::Aggregate(number) = output
            && let Some(Asked::Extreme(extreme)) = group.asked[*number]
            && !matches!(self.extremes[extreme].field.kind, Kind::Number(_))
        {
            return if empty(group, figures) { Value::Null } else { Value::End(extreme, figures.ends[extreme]) };
        }
        self.made(output, group, figures).map_or(Value::Null, Value::Number)
    }

    /// What an output is for a group, as a number.
    fn made(&self, output: &Output, group: &Group, figures: &Figures) -> Option<Number> {
        match output {
            Output::Key(_) | Output::Null => None,
            Output::Number(constant) => Some(Number::of(*constant)),
            Output::Aggregate(_) if empty(group, figures) => None,
            Output::Aggregate(number) | Output::Count(number) => self.counted(*number, group, figures),
            Output::Where(count, of) => {
                self.counted(*count, group, figures).filter(|count| count.float() > 0.5)?;
                self.made(of, group, figures)
            }
            Output::Call(call, of) => {
                let made = |of: &Output| self.made(of, group, figures);
                match (call, &of[..]) {
                    (Call::First, _) => of.iter().find_map(made),
                    (Call::UnlessEqual, [a, b]) => {
                        let a = made(a)?;
                        Some(a).filter(|a| made(b).is_none_or(|b| a.order(b).is_ne()))
                    }
                    (Call::Absolute, [of]) => made(of).map(Number::absolute),
                    (Call::Root, [of]) => made(of).map(Number::root),
                    (Call::Rounded(places), [of]) => made(of).map(|of| of.rounded(*places)),
                    _ => None,
                }
            }
            Output::Both(op, of) => {
                Number::met(*op, self.made(&of[0], group, figures)?, self.made(&of[1], group, figures)?)
            }
        }
    }

    /// What an aggregate of a group is; 0 where no row can count.
    fn counted(&self, number: usize, group: &Group, figures: &Figures) -> Option<Number> {
        let whole = |count: usize| {
            Some(Number::of(Decimal { mantissa: i128::try_from(count).unwrap_or(i128::MAX), digits: 0 }))
        };
        match group.asked[number] {
            None => whole(0),
            Some(Asked::Sum(measure)) => Some(figures.sums[measure]),
            Some(Asked::Rows(rows)) => whole(rows.saturating_mul(figures.parts)),
            Some(Asked::Extreme(extreme)) => {
                let Kind::Number(digits) = self.extremes[extreme].field.kind else { return None };
                Some(Number::of(Decimal { mantissa: figures.ends[extreme].into(), digits }))
            }
            Some(Asked::Different(of)) => {
                whole(self.different[of].iter().filter(|&&selection| figures.rows[selection] > 0.5).count())
            }
        }
    }

    /// The exact figures of a table.
    ///
    /// # Errors
    /// Values outside their domains.
    pub fn exact(&self, table: &Table) -> Result<Figures, QueryError> {
        let count = |rows: &Vec<bool>| rows.iter().filter(|&&row| row).count() as f64;
        let rows = self.selected(table)?.iter().map(count).collect();
        Ok(Figures { sums: self.exact_sums(&self.sums(table)?), ends: self.ends(table)?, rows, parts: 1 })
    }

    fn exact_sums(&self, sums: &[i128]) -> Vec<Number> {
        let number = |(measure, &sum): (&super::question::Measure, &i128)| {
            Number::of(Decimal { mantissa: sum, digits: measure.digits() })
        };
        self.measures.iter().zip(sums).map(number).collect()
    }

    /// The answer of decrypted figures beside the exact one, and whether both have the same rows in the same order.
    pub fn compared(&self, decrypted: &Figures, exact: &Figures) -> (AnswerTable, bool) {
        let (found, wanted) = (self.answer(decrypted), self.answer(exact));
        let same = found.iter().map(|row| row.group).eq(wanted.iter().map(|row| row.group));
        let all = Self { results: self.results.unlimited(), ..self.clone() }.answer(exact);
        let row = |row: &AnswerRow| {
            let twin = all.iter().find(|other| other.group == row.group);
            let cell = |(item, value): (usize, &Value)| match (value, twin.map(|twin| twin.values[item])) {
                (Value::Key(key, value), _) => Cell::Key(shown(&self.keys[*key], *value)),
                (Value::End(extreme, value), _) => Cell::Key(shown(&self.extremes[*extreme].field, *value)),
                (Value::Null, Some(Value::Null)) => Cell::Null(()),
                (decrypted, exact) => Cell::Number(compared(decrypted, exact)),
            };
            row.values.iter().enumerate().map(cell).collect()
        };
        let columns = self.results.items.iter().map(|item| item.name.clone()).collect();
        (AnswerTable { columns, rows: found.iter().map(row).collect() }, same)
    }

    /// A value as text, and a number in its own way.
    pub fn shown(&self, value: &Value, number: impl Fn(&Number) -> String) -> String {
        match value {
            Value::Key(key, value) => shown(&self.keys[*key], *value),
            Value::End(extreme, value) => shown(&self.extremes[*extreme].field, *value),
            Value::Number(value) => number(value),
            Value::Null => NULL.into(),
        }
    }

    /// A value as a number: a decimal's, days since 1970, or a text's place among its column's.
    pub fn as_number(&self, value: &Value) -> f64 {
        let (field, value) = match value {
            Value::Key(key, value) => (&self.keys[*key], *value),
            Value::End(extreme, value) => (&self.extremes[*extreme].field, *value),
            Value::Number(number) => return number.float(),
            Value::Null => return f64::NAN,
        };
        match field.kind {
            Kind::Number(digits) => value as f64 / 10f64.powi(digits.cast_signed()),
            Kind::Date | Kind::Text => value as f64,
        }
    }
}

/// Whether a group has no row.
fn empty(group: &Group, figures: &Figures) -> bool {
    match group.rows {
        GroupRows::Every => false,
        GroupRows::None => true,
        GroupRows::Selection(selection) => figures.rows[selection] < 0.5,
    }
}

/// A value of a column as text.
fn shown(field: &Field, value: i64) -> String {
    let text = usize::try_from(value).ok().and_then(|at| field.categories.get(at));
    text.cloned().unwrap_or_else(|| field.kind.show(value))
}

fn compared(decrypted: &Value, exact: Option<Value>) -> Compared {
    let decrypted = if let Value::Number(decrypted) = decrypted { Some(decrypted.float()) } else { None };
    let exact = if let Some(Value::Number(exact)) = exact { Some((exact.to_string(), exact.float())) } else { None };
    Compared::of(decrypted, exact)
}

/// The order of two values of one output. NULL is last, up and down, as in DuckDB: the caller sees to it.
fn placed(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Key(_, a) | Value::End(_, a), Value::Key(_, b) | Value::End(_, b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => a.order(*b),
        _ => Ordering::Equal,
    }
}
