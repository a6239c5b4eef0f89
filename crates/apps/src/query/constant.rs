//! Constants of a query: numbers, dates and texts, and arithmetic with them.

use super::table::{Decimal, civil, days, read_date};
use sqlparser::ast::{BinaryOperator, CastKind, DataType, Expr, Interval, UnaryOperator, Value};

/// Most decimal places of a constant.
const MOST_PLACES: u32 = 18;

#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    Number(Decimal),
    /// Days since 1970-01-01.
    Date(i64),
    /// A quoted text; of a date, if the column holds dates.
    Text(String),
}

impl Constant {
    /// A whole number.
    pub(super) fn whole(value: i64) -> Self {
        Self::Number(Decimal { mantissa: value.into(), digits: 0 })
    }

    /// This constant plus a number, of days where it is a date.
    pub(super) fn plus(&self, number: Decimal) -> Option<Self> {
        match self {
            Self::Number(own) => Some(Self::Number(own.plus(number))),
            Self::Date(day) => {
                let (days, true) = number.floor_in(0) else { return None };
                day.checked_add(i64::try_from(days).ok()?).map(Self::Date)
            }
            Self::Text(text) => Self::Date(read_date(text)?).plus(number),
        }
    }
}

pub(super) const ZERO: Decimal = Decimal { mantissa: 0, digits: 0 };

pub(super) fn number(expr: &Expr) -> Option<Decimal> {
    match constant(expr)? {
        Constant::Number(number) => Some(number),
        Constant::Date(_) | Constant::Text(_) => None,
    }
}

/// A literal whole number.
pub(super) fn whole(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The value of a constant expression: numbers, dates, texts, arithmetic with numbers, dates plus days or an interval.
pub(super) fn constant(expr: &Expr) -> Option<Constant> {
    match expr {
        Expr::Nested(inner) => constant(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => literal(text).map(Constant::Number),
            Value::SingleQuotedString(text) => Some(Constant::Text(text.clone())),
            _ => None,
        },
        Expr::TypedString(typed) if typed.data_type == DataType::Date => match &typed.value.value {
            Value::SingleQuotedString(text) => read_date(text).map(Constant::Date),
            _ => None,
        },
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type: DataType::Date, format: None } => {
            match constant(expr)? {
                Constant::Text(text) => read_date(&text).map(Constant::Date),
                other @ Constant::Date(_) => Some(other),
                Constant::Number(_) => None,
            }
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => number(expr).map(|n| Constant::Number(n.negated())),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => number(expr).map(Constant::Number),
        Expr::BinaryOp { left, op, right } => {
            let left = constant(left)?;
            if let (Expr::Interval(interval), Some(sign)) = (&**right, sign(op)) {
                let Constant::Date(day) = left else { return None };
                let (months, days) = span(interval)?;
                return later(day, sign * months, sign * days).map(Constant::Date);
            }
            computed(&left, op, &constant(right)?)
        }
        _ => None,
    }
}

/// The sign of what is added or subtracted.
pub(super) fn sign(op: &BinaryOperator) -> Option<i64> {
    match op {
        BinaryOperator::Plus => Some(1),
        BinaryOperator::Minus => Some(-1),
        _ => None,
    }
}

/// A number, with an exponent or without.
fn literal(text: &str) -> Option<Decimal> {
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else { return Decimal::read(text) };
    let (read, exponent) = (Decimal::read(mantissa)?, exponent.parse::<i32>().ok()?);
    let digits = i32::try_from(read.digits).ok()?.checked_sub(exponent)?;
    match u32::try_from(digits) {
        Ok(digits) => (digits <= MOST_PLACES).then_some(Decimal { digits, ..read }),
        Err(_) => {
            let up = 10i128.checked_pow(digits.unsigned_abs()).filter(|_| digits >= -18)?;
            Some(Decimal { mantissa: read.mantissa.checked_mul(up)?, digits: 0 })
        }
    }
}

fn computed(left: &Constant, op: &BinaryOperator, right: &Constant) -> Option<Constant> {
    Some(match (left, op, right) {
        (Constant::Number(_) | Constant::Date(_), BinaryOperator::Plus, Constant::Number(right)) => {
            left.plus(*right)?
        }
        (Constant::Number(_) | Constant::Date(_), BinaryOperator::Minus, Constant::Number(right)) => {
            left.plus(right.negated())?
        }
        (Constant::Date(left), BinaryOperator::Minus, Constant::Date(right)) => Constant::whole(left - right),
        (Constant::Number(left), BinaryOperator::Multiply, Constant::Number(right)) => {
            let (mantissa, digits) = (left.mantissa.checked_mul(right.mantissa)?, left.digits + right.digits);
            Constant::Number(Decimal { mantissa, digits: Some(digits).filter(|&digits| digits <= MOST_PLACES)? })
        }
        (Constant::Number(left), BinaryOperator::Divide, Constant::Number(right)) => {
            Constant::Number(divided(*left, *right)?)
        }
        _ => return None,
    })
}

/// A quotient that is a decimal.
pub(super) fn divided(left: Decimal, right: Decimal) -> Option<Decimal> {
    let up = left.mantissa.checked_mul(10i128.pow(MOST_PLACES))?.checked_mul(10i128.checked_pow(right.digits)?)?;
    let down = right.mantissa.checked_mul(10i128.checked_pow(left.digits)?).filter(|&down| down != 0)?;
    if up % down != 0 {
        return None;
    }
    let (mut mantissa, mut digits) = (up / down, MOST_PLACES);
    while digits > 0 && mantissa % 10 == 0 {
        (mantissa, digits) = (mantissa / 10, digits - 1);
    }
    Some(Decimal { mantissa, digits })
}

/// Months and days of an interval: `interval '3' month`, `interval 3 month` or `interval '3 months'`.
pub(super) fn span(interval: &Interval) -> Option<(i64, i64)> {
    let Expr::Value(value) = &*interval.value else { return None };
    let (Value::SingleQuotedString(text) | Value::Number(text, _)) = &value.value else { return None };
    let (count, unit) = match (&interval.leading_field, text.trim().split_once(' ')) {
        (Some(field), None) => (text.trim(), field.to_string().to_lowercase()),
        (None, Some((count, unit))) => (count, unit.trim().to_lowercase()),
        _ => return None,
    };
    let count = count.parse::<i64>().ok().filter(|count| count.unsigned_abs() < 100_000)?;
    Some(match unit.trim_end_matches('s') {
        "day" => (0, count),
        "week" => (0, 7 * count),
        "month" => (count, 0),
        "year" => (12 * count, 0),
        _ => return None,
    })
}

/// The date that is this many months and days later. A day that the month lacks becomes the month's last day.
pub(super) fn later(day: i64, months: i64, more: i64) -> Option<i64> {
    if months == 0 {
        return day.checked_add(more);
    }
    let (year, month, of_month) = civil(day);
    let months = 12 * year + month - 1 + months;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    let day = (1..=of_month).rev().map(|d| (year, month, d)).find(|&date| civil(days(date)) == date).map(days)?;
    day.checked_add(more)
}
