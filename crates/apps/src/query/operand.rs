//! What a query takes of a row: a column, or a value that the owner of the data computes from columns of the row, in the
//! clear, before encryption.
//!
//! The server learns the text of the computation, and the domain of its values as that of any column.

use super::{
    constant::{Constant, constant, number, sign, span, whole},
    formula::{Formula, equal, formula},
    table::{Decimal, Kind, MOST_POINT, days},
};
use sqlparser::ast::{
    BinaryOperator, CaseWhen, CeilFloorKind, DateTimeField, Expr, FunctionArg, FunctionArgExpr, FunctionArguments,
    UnaryOperator, Value,
};
use std::fmt;

/// A part of a date, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Year,
    Quarter,
    Month,
    /// By ISO 8601: 1 to 53.
    Week,
    Day,
    /// 0 for Sunday to 6.
    DayOfWeek,
    /// 1 for Monday to 7.
    IsoDay,
    DayOfYear,
}

/// Parts and their names in SQL, the one that is written first.
const PARTS: [(Part, &[&str]); 8] = [
    (Part::Year, &["year"]),
    (Part::Quarter, &["quarter"]),
    (Part::Month, &["month"]),
    (Part::Week, &["week", "weekofyear"]),
    (Part::Day, &["day", "dayofmonth"]),
    (Part::DayOfWeek, &["dayofweek", "dow", "weekday"]),
    (Part::IsoDay, &["isodow"]),
    (Part::DayOfYear, &["dayofyear", "doy"]),
];

/// What dates are cut to the first day of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    Year,
    Quarter,
    Month,
    Week,
    Day,
}

const SPANS: [(Span, &str); 5] = [
    (Span::Year, "year"),
    (Span::Quarter, "quarter"),
    (Span::Month, "month"),
    (Span::Week, "week"),
    (Span::Day, "day"),
];

/// What is made of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfText {
    Lower,
    Upper,
    /// Without spaces at its ends.
    Trim,
    /// So many characters from this one on, counted from 1.
    From(usize, usize),
    /// The last so many characters.
    Last(usize),
}

/// How a number becomes one with fewer decimal places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Half away from zero.
    Near,
    Down,
    Up,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    Column(String),
    Constant(Constant),
    Plus(Box<[Scalar; 2]>),
    Minus(Box<[Scalar; 2]>),
    Times(Box<[Scalar; 2]>),
    /// A date this many months and days later.
    Later(Box<Scalar>, i64, i64),
    Absolute(Box<Scalar>),
    Part(Part, Box<Scalar>),
    /// The remainder of a division by a number, with the sign of what is divided.
    Remainder(Box<Scalar>, Decimal),
    /// What tells which of two is larger: their difference; of texts −1, 0 or 1.
    Against(Box<[Scalar; 2]>),
    /// The first of two that is not NULL.
    First(Box<[Scalar; 2]>),
    /// The first of two, or NULL where they are equal.
    UnlessEqual(Box<[Scalar; 2]>),
    /// 1 of NULL, else 0.
    Missing(Box<Scalar>),
    /// The first day of a span of dates.
    Begin(Span, Box<Scalar>),
    OfText(OfText, Box<Scalar>),
    /// The number of characters of a text.
    Length(Box<Scalar>),
    /// Rounded to so many decimal places.
    Rounded(Rounding, u32, Box<Scalar>),
    Case(Box<Case>),
}

/// CASE: the value of the first condition that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub branches: Vec<(Formula, Option<Scalar>)>,
    pub otherwise: Option<Scalar>,
    text: String,
}

impl Case {
    /// The values that it may give; none for NULL.
    pub(super) fn results(&self) -> impl Iterator<Item = Option<&Scalar>> {
        self.branches.iter().map(|(_, of)| of.as_ref()).chain([self.otherwise.as_ref()])
    }
}

/// A column, or what is computed from columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// The column's name, or the text of the computation.
    pub name: String,
    /// The computation; none for a column.
    pub value: Option<Scalar>,
}

impl Operand {
    #[must_use]
    pub fn of(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Column(name) => Self { name, value: None },
            other => Self { name: other.to_string(), value: Some(other) },
        }
    }

    /// What an expression takes of a row; none of one that is not understood, or that takes nothing.
    pub(super) fn read(expr: &Expr) -> Option<Self> {
        scalar(expr).filter(|scalar| !matches!(scalar, Scalar::Constant(_))).map(Self::of)
    }

    /// Whether both are the same. Capitals count where a text is in the computation, and not in the names of columns.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.name == other.name || (self.is_called(&other.name) && !self.name.contains('\''))
    }

    /// Whether it has this name, as columns are looked up: capitals count for nothing.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The columns that it is computed from.
    pub fn columns(&self) -> Vec<&str> {
        let mut found = Vec::new();
        match &self.value {
            None => found.push(&self.name[..]),
            Some(value) => value.columns(&mut found),
        }
        found
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

/// The value of a row that an expression is.
pub(super) fn scalar(expr: &Expr) -> Option<Scalar> {
    if let Some(constant) = constant(expr) {
        return Some(Scalar::Constant(constant));
    }
    let boxed = |expr: &Expr| scalar(expr).map(Box::new);
    Some(match expr {
        Expr::Nested(inner) => scalar(inner)?,
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => Scalar::Column(named(expr)?),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => scalar(expr)?,
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            Scalar::Minus(Box::new([Scalar::Constant(Constant::whole(0)), scalar(expr)?]))
        }
        Expr::BinaryOp { left, op, right } => {
            if let (Expr::Interval(interval), Some(sign)) = (&**right, sign(op)) {
                let (months, days) = span(interval)?;
                return Some(Scalar::Later(boxed(left)?, sign * months, sign * days));
            }
            let both = || Some(Box::new([scalar(left)?, scalar(right)?]));
            match op {
                BinaryOperator::Plus => Scalar::Plus(both()?),
                BinaryOperator::Minus => Scalar::Minus(both()?),
                BinaryOperator::Multiply => Scalar::Times(both()?),
                BinaryOperator::Modulo => Scalar::Remainder(boxed(left)?, divisor(right)?),
                _ => return None,
            }
        }
        Expr::Case { operand, conditions, else_result, .. } => {
            case(expr, (operand.as_deref(), conditions, else_result.as_deref()))?
        }
        Expr::Function(function) => {
            let FunctionArguments::List(list) = &function.args else { return None };
            let arguments = list.args.iter().map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            });
            let arguments = arguments.collect::<Option<Vec<&Expr>>>()?;
            // Nothing beside the arguments: no DISTINCT, FILTER or OVER.
            let all = arguments.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let plain = expr.to_string() == format!("{}({all})", function.name);
            called(&function.name.to_string().to_lowercase(), &arguments).filter(|_| plain)?
        }
        _ => written(expr)?,
    })
}

/// Functions that SQL writes in their own way.
fn written(expr: &Expr) -> Option<Scalar> {
    let boxed = |expr: &Expr| scalar(expr).map(Box::new);
    Some(match expr {
        Expr::Extract { field, expr, .. } => Scalar::Part(part(&field.to_string())?, boxed(expr)?),
        Expr::Floor { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
            Scalar::Rounded(Rounding::Down, 0, boxed(expr)?)
        }
        Expr::Ceil { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
            Scalar::Rounded(Rounding::Up, 0, boxed(expr)?)
        }
        Expr::Substring { expr, substring_from: Some(from), substring_for, .. } => {
            let count = substring_for.as_deref().map_or(Some(usize::MAX), whole)?;
            Scalar::OfText(OfText::From(whole(from).filter(|&from| from > 0)?, count), boxed(expr)?)
        }
        Expr::Trim { trim_where: None, trim_what: None, trim_characters: None, expr } => {
            Scalar::OfText(OfText::Trim, boxed(expr)?)
        }
        _ => return None,
    })
}

/// A function of the values of a row.
fn called(name: &str, arguments: &[&Expr]) -> Option<Scalar> {
    let boxed = |expr: &Expr| scalar(expr).map(Box::new);
    Some(match (name, arguments) {
        ("abs", [of]) => Scalar::Absolute(boxed(of)?),
        ("mod", [of, by]) => Scalar::Remainder(boxed(of)?, divisor(by)?),
        ("coalesce", [of @ .., last]) if !of.is_empty() => {
            of.iter().rev().try_fold(scalar(last)?, |rest, of| Some(Scalar::First(Box::new([scalar(of)?, rest]))))?
        }
        ("nullif", [of, other]) => Scalar::UnlessEqual(Box::new([scalar(of)?, scalar(other)?])),
        ("lower" | "lcase", [of]) => Scalar::OfText(OfText::Lower, boxed(of)?),
        ("upper" | "ucase", [of]) => Scalar::OfText(OfText::Upper, boxed(of)?),
        ("left", [of, count]) => Scalar::OfText(OfText::From(1, whole(count)?), boxed(of)?),
        ("right", [of, count]) => Scalar::OfText(OfText::Last(whole(count)?), boxed(of)?),
        ("length" | "len" | "char_length", [of]) => Scalar::Length(boxed(of)?),
        ("round", [of]) => Scalar::Rounded(Rounding::Near, 0, boxed(of)?),
        ("round", [of, places]) => {
            let places = u32::try_from(whole(places)?).ok().filter(|&places| places <= MOST_POINT)?;
            Scalar::Rounded(Rounding::Near, places, boxed(of)?)
        }
        ("date_trunc", [of, day]) => {
            let Constant::Text(of) = constant(of)? else { return None };
            let (span, _) = SPANS.into_iter().find(|(_, name)| name.eq_ignore_ascii_case(&of))?;
            Scalar::Begin(span, boxed(day)?)
        }
        (name, [of]) => Scalar::Part(part(name)?, boxed(of)?),
        _ => return None,
    })
}

fn divisor(expr: &Expr) -> Option<Decimal> {
    number(expr).filter(|number| number.mantissa != 0)
}

fn part(name: &str) -> Option<Part> {
    PARTS.iter().find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name))).map(|(part, _)| *part)
}

/// CASE, as its owner computes it.
fn case(whole: &Expr, (of, cases, otherwise): (Option<&Expr>, &[CaseWhen], Option<&Expr>)) -> Option<Scalar> {
    let is_null = |expr: &Expr| matches!(expr, Expr::Value(value) if value.value == Value::Null);
    let result = |expr: &Expr| if is_null(expr) { Some(None) } else { scalar(expr).map(Some) };
    let branch = |case: &CaseWhen| {
        let condition = match of {
            Some(of) => equal(whole, of, &case.condition),
            None => formula(&case.condition),
        };
        Some((condition.ok()?, result(&case.result)?))
    };
    let branches = cases.iter().map(branch).collect::<Option<_>>()?;
    let otherwise = otherwise.map_or(Some(None), result)?;
    Some(Scalar::Case(Box::new(Case { branches, otherwise, text: whole.to_string() })))
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = |of: &Self| match of {
            Self::Plus(_) | Self::Minus(_) | Self::Times(_) | Self::Later(..) | Self::Against(_) => format!("({of})"),
            Self::Remainder(..) => format!("({of})"),
            _ => of.to_string(),
        };
        let both =
            |f: &mut fmt::Formatter<'_>, op: char, [a, b]: &[Self; 2]| write!(f, "{} {op} {}", inner(a), inner(b));
        match self {
            Self::Column(name) => f.write_str(name),
            Self::Constant(Constant::Number(number)) => write!(f, "{number}"),
            Self::Constant(Constant::Date(day)) => write!(f, "date '{}'", Kind::Date.show(*day)),
            Self::Constant(Constant::Text(text)) => write!(f, "'{}'", text.replace('\'', "''")),
            Self::Plus(of) => both(f, '+', of),
            Self::Minus(of) | Self::Against(of) => both(f, '-', of),
            Self::Times(of) => both(f, '*', of),
            Self::Later(of, months, days) => {
                write!(f, "{}", inner(of))?;
                [(months, "months"), (days, "days")].iter().filter(|(count, _)| **count != 0).try_for_each(
                    |(count, unit)| write!(f, " {} {} {unit}", if **count < 0 { '-' } else { '+' }, count.abs()),
                )
            }
            Self::Absolute(of) => write!(f, "abs({of})"),
            Self::First(of) => write!(f, "coalesce({}, {})", of[0], of[1]),
            Self::UnlessEqual(of) => write!(f, "nullif({}, {})", of[0], of[1]),
            Self::Missing(of) => write!(f, "{} IS NULL", inner(of)),
            Self::Part(part, of) => {
                let name = PARTS.iter().find(|(known, _)| known == part).map_or("part", |(_, names)| names[0]);
                write!(f, "{name}({of})")
            }
            Self::Begin(span, of) => write!(f, "date_trunc('{}', {of})", format!("{span:?}").to_lowercase()),
            Self::OfText(OfText::Lower, of) => write!(f, "lower({of})"),
            Self::OfText(OfText::Upper, of) => write!(f, "upper({of})"),
            Self::OfText(OfText::Trim, of) => write!(f, "trim({of})"),
            Self::OfText(OfText::From(first, usize::MAX), of) => write!(f, "substring({of}, {first})"),
            Self::OfText(OfText::From(first, count), of) => write!(f, "substring({of}, {first}, {count})"),
            Self::OfText(OfText::Last(count), of) => write!(f, "right({of}, {count})"),
            Self::Length(of) => write!(f, "length({of})"),
            Self::Rounded(Rounding::Near, places, of) => write!(f, "round({of}, {places})"),
            Self::Rounded(Rounding::Down, _, of) => write!(f, "floor({of})"),
            Self::Rounded(Rounding::Up, _, of) => write!(f, "ceil({of})"),
            Self::Case(case) => f.write_str(&case.text),
            Self::Remainder(of, by) => write!(f, "{} % {by}", inner(of)),
        }
    }
}

impl Scalar {
    /// The columns that it is computed from, some of them more than once.
    pub(super) fn columns<'a>(&'a self, out: &mut Vec<&'a str>) {
        match self {
            Self::Column(name) => out.push(name),
            Self::Constant(_) => {}
            Self::Plus(of)
            | Self::Minus(of)
            | Self::Times(of)
            | Self::Against(of)
            | Self::First(of)
            | Self::UnlessEqual(of) => of.iter().for_each(|one| one.columns(out)),
            Self::Later(of, ..)
            | Self::Absolute(of)
            | Self::Part(_, of)
            | Self::Remainder(of, _)
            | Self::Missing(of)
            | Self::Begin(_, of)
            | Self::OfText(_, of)
            | Self::Length(of)
            | Self::Rounded(_, _, of) => of.columns(out),
            Self::Case(case) => {
                case.results().flatten().for_each(|of| of.columns(out));
                let mut asked = Vec::new();
                case.branches.iter().for_each(|(condition, _)| condition.conditions(&mut asked));
                asked.into_iter().for_each(|condition| out.extend(condition.operand.columns()));
            }
        }
    }
}

/// The dates of a year.
pub(super) fn year(year: i64) -> Option<[i64; 2]> {
    (1..=9999).contains(&year).then(|| [days((year, 1, 1)), days((year, 12, 31))])
}
