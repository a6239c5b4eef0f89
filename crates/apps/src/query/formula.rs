//! Conditions of rows, with unresolved names: comparisons joined by AND, OR and NOT.

use super::{
    constant::{Constant, ZERO, constant, divided},
    error::QueryError,
    operand::{Operand, Part, Scalar, named, scalar, year},
    table::{Decimal, read_date},
};
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

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

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    Different,
    Ordered(Comparison),
}

impl Relation {
    fn of(op: &BinaryOperator) -> Option<Self> {
        Some(match op {
            BinaryOperator::Eq => Self::Equal,
            BinaryOperator::NotEq => Self::Different,
            BinaryOperator::Gt => Self::Ordered(Comparison::Above),
            BinaryOperator::GtEq => Self::Ordered(Comparison::AtLeast),
            BinaryOperator::Lt => Self::Ordered(Comparison::Below),
            BinaryOperator::LtEq => Self::Ordered(Comparison::AtMost),
            _ => return None,
        })
    }

    /// As seen from the other side.
    fn turned(self) -> Self {
        match self {
            Self::Ordered(Comparison::Above) => Self::Ordered(Comparison::Below),
            Self::Ordered(Comparison::AtLeast) => Self::Ordered(Comparison::AtMost),
            Self::Ordered(Comparison::Below) => Self::Ordered(Comparison::Above),
            Self::Ordered(Comparison::AtMost) => Self::Ordered(Comparison::AtLeast),
            other => other,
        }
    }

    fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Different => order.is_ne(),
            Self::Ordered(Comparison::Above) => order.is_gt(),
            Self::Ordered(Comparison::AtLeast) => order.is_ge(),
            Self::Ordered(Comparison::Below) => order.is_lt(),
            Self::Ordered(Comparison::AtMost) => order.is_le(),
        }
    }
}

/// A pattern of LIKE, or of ILIKE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub text: String,
    /// Capitals count for nothing.
    pub any_case: bool,
}

/// Longest pattern with `_`, or with `%` elsewhere than at its end.
const MOST_PATTERN: usize = 256;

impl Pattern {
    /// Whether a text matches: `%` stands for any text, `_` for any character.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let fold = |text: &str| {
            let text = if self.any_case { text.to_lowercase() } else { text.to_owned() };
            text.chars().collect::<Vec<char>>()
        };
        let (pattern, text) = (fold(&self.text), fold(text));
        // Behind a `%` the shortest match is tried first; where the rest does not match, it takes a character more.
        let (mut p, mut t, mut open) = (0, 0, None);
        while t < text.len() {
            if pattern.get(p) == Some(&'%') {
                (open, p) = (Some((p + 1, t)), p + 1);
            } else if pattern.get(p).is_some_and(|&c| c == '_' || c == text[t]) {
                (p, t) = (p + 1, t + 1);
            } else if let Some((behind, from)) = open {
                (open, p, t) = (Some((behind, from + 1)), behind, from + 1);
            } else {
                return false;
            }
        }
        pattern[p..].iter().all(|&c| c == '%')
    }
}

/// What is asked of an operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    Compare(Comparison, Constant),
    /// Equal to one of these.
    Among(Vec<Constant>),
    /// Begins with this.
    Prefix(String),
    Like(Pattern),
    /// Not NULL.
    Known,
}

/// An operand compared with constants.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub operand: Operand,
    pub test: Test,
    pub text: String,
}

/// What a row must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    Is(Condition),
    Not(Box<Formula>),
    /// The formula is false or, for a NULL, unknown.
    Unless(Box<Formula>),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

impl Formula {
    pub(super) fn conditions<'a>(&'a self, out: &mut Vec<&'a Condition>) {
        match self {
            Self::Is(condition) => out.push(condition),
            Self::Not(inner) | Self::Unless(inner) => inner.conditions(out),
            Self::All(of) | Self::Any(of) => of.iter().for_each(|one| one.conditions(out)),
        }
    }

    /// How many conditions are in it, and what joins them.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Is(_) => 1,
            Self::Not(inner) | Self::Unless(inner) => 1 + inner.size(),
            Self::All(of) | Self::Any(of) => 1 + of.iter().map(Self::size).sum::<usize>(),
        }
    }

    /// What all of these ask; none where there is nothing to ask.
    pub(super) fn all(mut of: Vec<Self>) -> Option<Self> {
        match of.len() {
            0 => None,
            1 => of.pop(),
            _ => Some(Self::All(of)),
        }
    }

    pub(super) fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    pub(super) fn unless(self) -> Self {
        Self::Unless(Box::new(self))
    }

    /// The formula with another condition in the place of each.
    pub(super) fn with(self, change: &impl Fn(Condition) -> Condition) -> Self {
        let inner = |of: Box<Self>| Box::new(of.with(change));
        let each = |of: Vec<Self>| of.into_iter().map(|one| one.with(change)).collect();
        match self {
            Self::Is(condition) => Self::Is(change(condition)),
            Self::Not(of) => Self::Not(inner(of)),
            Self::Unless(of) => Self::Unless(inner(of)),
            Self::All(of) => Self::All(each(of)),
            Self::Any(of) => Self::Any(each(of)),
        }
    }

    fn certain(holds: bool) -> Self {
        if holds { Self::All(Vec::new()) } else { Self::Any(Vec::new()) }
    }
}

pub(super) fn formula(expr: &Expr) -> Result<Formula, QueryError> {
    Ok(match expr {
        Expr::Nested(inner) => formula(inner)?,
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => formula(expr)?.negated(),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => Formula::All(vec![formula(left)?, formula(right)?]),
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => Formula::Any(vec![formula(left)?, formula(right)?]),
        _ => leaf(expr)?,
    })
}

/// A condition that is not made of others. Apart from [`formula`], which calls itself and has to leave little on the stack.
fn leaf(expr: &Expr) -> Result<Formula, QueryError> {
    let not = |negated: bool, formula: Formula| if negated { formula.negated() } else { formula };
    Ok(match expr {
        Expr::Between { expr: of, negated, low, high } => {
            let low = compared(expr, of, Relation::Ordered(Comparison::AtLeast), low)?;
            let high = compared(expr, of, Relation::Ordered(Comparison::AtMost), high)?;
            not(*negated, Formula::All(vec![low, high]))
        }
        Expr::InList { expr: of, list, negated } => not(*negated, among(expr, of, list)?),
        Expr::Like { negated, any: false, expr: of, pattern, escape_char: None } => {
            not(*negated, is(expr, of, like(expr, pattern, false)?)?)
        }
        Expr::ILike { negated, any: false, expr: of, pattern, escape_char: None } => {
            not(*negated, is(expr, of, like(expr, pattern, true)?)?)
        }
        Expr::IsNotNull(of) => is(expr, of, Test::Known)?,
        Expr::IsNull(of) => is(expr, of, Test::Known)?.negated(),
        Expr::IsDistinctFrom(left, right) => same(expr, left, right)?.unless(),
        Expr::IsNotDistinctFrom(left, right) => same(expr, left, right)?.unless().unless(),
        Expr::Value(value) if matches!(value.value, Value::Boolean(_)) => {
            Formula::certain(value.value == Value::Boolean(true))
        }
        Expr::BinaryOp { left, op, right } => {
            let relation = Relation::of(op).ok_or_else(|| QueryError::unsupported(format!("{op} in {expr}")))?;
            compared(expr, left, relation, right)?
        }
        _ => return Err(QueryError::unsupported(format!("the condition {expr}"))),
    })
}

/// A test of what a row has.
fn is(whole: &Expr, of: &Expr, test: Test) -> Result<Formula, QueryError> {
    let operand = Operand::read(of).ok_or_else(|| {
        QueryError::unsupported(format!("the condition {whole} (a column, or what is computed from columns, is asked)"))
    })?;
    Ok(Formula::Is(Condition { operand, test, text: whole.to_string() }))
}

fn among(whole: &Expr, of: &Expr, list: &[Expr]) -> Result<Formula, QueryError> {
    let constants: Option<Vec<Constant>> = list.iter().map(constant).collect();
    match (named(of), constants) {
        (Some(_), Some(constants)) => is(whole, of, Test::Among(constants)),
        _ => {
            let each = list.iter().map(|one| compared(whole, of, Relation::Equal, one));
            Ok(Formula::Any(each.collect::<Result<_, _>>()?))
        }
    }
}

/// What is asked of a row where two expressions are equal.
pub(super) fn equal(whole: &Expr, left: &Expr, right: &Expr) -> Result<Formula, QueryError> {
    compared(whole, left, Relation::Equal, right)
}

/// Whether two values are equal, or both NULL.
fn same(whole: &Expr, left: &Expr, right: &Expr) -> Result<Formula, QueryError> {
    let equal = compared(whole, left, Relation::Equal, right)?;
    if constant(left).is_some() || constant(right).is_some() {
        return Ok(equal);
    }
    let null = |of: &Expr| is(whole, of, Test::Known).map(Formula::negated);
    Ok(Formula::Any(vec![equal, Formula::All(vec![null(left)?, null(right)?])]))
}

fn compared(whole: &Expr, left: &Expr, relation: Relation, right: &Expr) -> Result<Formula, QueryError> {
    let side = |expr: &Expr| {
        let what = || format!("{expr} in {whole}, which is no column, no constant and no arithmetic with them,");
        scalar(expr).ok_or_else(|| QueryError::unsupported(what()))
    };
    let text = whole.to_string();
    Ok(match (side(left)?, side(right)?) {
        (Scalar::Constant(left), Scalar::Constant(right)) => {
            let order = ordered(&left, &right);
            let what = || QueryError::unsupported(format!("{whole}, which compares constants of two kinds,"));
            Formula::certain(relation.holds(order.ok_or_else(what)?))
        }
        (of, Scalar::Constant(constant)) => asked(&text, of, relation, constant),
        (Scalar::Constant(constant), of) => asked(&text, of, relation.turned(), constant),
        (left, right) => asked(&text, Scalar::Against(Box::new([left, right])), relation, Constant::Number(ZERO)),
    })
}

/// The order of two constants of one kind.
fn ordered(left: &Constant, right: &Constant) -> Option<std::cmp::Ordering> {
    match (left, right) {
        (Constant::Number(left), Constant::Number(right)) => Some(left.plus(right.negated()).mantissa.cmp(&0)),
        (Constant::Date(left), Constant::Date(right)) => Some(left.cmp(right)),
        (Constant::Text(left), Constant::Text(right)) => Some(left.cmp(right)),
        (Constant::Date(left), Constant::Text(right)) => Some(left.cmp(&read_date(right)?)),
        (Constant::Text(left), Constant::Date(right)) => Some(read_date(left)?.cmp(right)),
        _ => None,
    }
}

/// What a comparison with a constant asks of a row. What is added to an operand goes to the other side, so that a column
/// is encrypted once, whatever it is compared with.
fn asked(text: &str, mut of: Scalar, mut relation: Relation, mut constant: Constant) -> Formula {
    while let Some((inner, turned, other)) = moved(&of, relation, &constant) {
        (of, relation, constant) = (inner, turned, other);
    }
    if let Some(formula) = in_year(text, &of, relation, &constant) {
        return formula;
    }
    let is = |test| Formula::Is(Condition { operand: Operand::of(of), test, text: text.to_owned() });
    match relation {
        Relation::Equal => is(Test::Among(vec![constant])),
        Relation::Different => is(Test::Among(vec![constant])).negated(),
        Relation::Ordered(comparison) => is(Test::Compare(comparison, constant)),
    }
}

/// A comparison with less on its left side.
fn moved(of: &Scalar, relation: Relation, constant: &Constant) -> Option<(Scalar, Relation, Constant)> {
    let days = |days: i64| Decimal { mantissa: days.into(), digits: 0 };
    let less = |number: Decimal| constant.plus(number.negated());
    let stays = |inner: &Scalar, constant: Option<Constant>| Some((inner.clone(), relation, constant?));
    match of {
        Scalar::Plus(sum) => match &**sum {
            [inner, Scalar::Constant(Constant::Number(number))]
            | [Scalar::Constant(Constant::Number(number)), inner] => stays(inner, less(*number)),
            _ => None,
        },
        Scalar::Minus(of) => match (&**of, constant) {
            ([inner, Scalar::Constant(Constant::Number(number))], _) => stays(inner, constant.plus(*number)),
            ([inner, Scalar::Constant(date @ Constant::Date(_))], Constant::Number(number)) => {
                stays(inner, date.plus(*number))
            }
            ([Scalar::Constant(from), inner], Constant::Number(number)) if !matches!(from, Constant::Text(_)) => {
                Some((inner.clone(), relation.turned(), from.plus(number.negated())?))
            }
            _ => None,
        },
        Scalar::Times(of) => match (&**of, constant) {
            (
                [inner, Scalar::Constant(Constant::Number(by))] | [Scalar::Constant(Constant::Number(by)), inner],
                Constant::Number(number),
            ) => {
                let turned = if by.mantissa < 0 { relation.turned() } else { relation };
                Some((inner.clone(), turned, Constant::Number(divided(*number, *by)?)))
            }
            _ => None,
        },
        Scalar::Later(inner, 0, more) if !matches!(constant, Constant::Number(_)) => stays(inner, less(days(*more))),
        Scalar::Against(of) => {
            let [left, right] = &**of;
            let (left, right, constant) = match (left, right) {
                (Scalar::Plus(sum), _) if let [inner, Scalar::Constant(Constant::Number(number))] = &**sum => {
                    (inner, right, less(*number)?)
                }
                (_, Scalar::Plus(sum)) if let [inner, Scalar::Constant(Constant::Number(number))] = &**sum => {
                    (left, inner, constant.plus(*number)?)
                }
                (Scalar::Minus(sum), _) if let [inner, Scalar::Constant(Constant::Number(number))] = &**sum => {
                    (inner, right, constant.plus(*number)?)
                }
                (_, Scalar::Minus(sum)) if let [inner, Scalar::Constant(Constant::Number(number))] = &**sum => {
                    (left, inner, less(*number)?)
                }
                (Scalar::Later(inner, 0, more), _) => (&**inner, right, less(days(*more))?),
                (_, Scalar::Later(inner, 0, more)) => (left, &**inner, constant.plus(days(*more))?),
                _ => return None,
            };
            Some((Scalar::Against(Box::new([left.clone(), right.clone()])), relation, constant))
        }
        _ => None,
    }
}

/// A comparison of the year of a column of dates: one of its dates.
fn in_year(text: &str, of: &Scalar, relation: Relation, constant: &Constant) -> Option<Formula> {
    let (Scalar::Part(Part::Year, of), Constant::Number(number)) = (of, constant) else { return None };
    let Scalar::Column(_) = &**of else { return None };
    let (number, true) = number.floor_in(0) else { return None };
    let [first, last] = year(i64::try_from(number).ok()?)?;
    let is = |comparison, day| {
        let test = Test::Compare(comparison, Constant::Date(day));
        Formula::Is(Condition { operand: Operand::of((**of).clone()), test, text: text.to_owned() })
    };
    let within = || Formula::All(vec![is(Comparison::AtLeast, first), is(Comparison::AtMost, last)]);
    Some(match relation {
        Relation::Equal => within(),
        Relation::Different => within().negated(),
        Relation::Ordered(Comparison::Above) => is(Comparison::Above, last),
        Relation::Ordered(Comparison::AtLeast) => is(Comparison::AtLeast, first),
        Relation::Ordered(Comparison::Below) => is(Comparison::Below, first),
        Relation::Ordered(Comparison::AtMost) => is(Comparison::AtMost, last),
    })
}

/// What a pattern asks: a text, one that begins so, or a pattern.
fn like(whole: &Expr, pattern: &Expr, any_case: bool) -> Result<Test, QueryError> {
    let other = |what: &str| QueryError::unsupported(format!("the pattern of {whole} ({what})"));
    let Some(Constant::Text(pattern)) = constant(pattern) else { return Err(other("a text in quotes")) };
    if pattern.contains('\\') {
        return Err(other("without \\"));
    }
    let (text, open) = pattern.strip_suffix('%').map_or((pattern.as_str(), false), |text| (text, true));
    Ok(match text.contains(['%', '_']) || any_case {
        true if pattern.len() > MOST_PATTERN => return Err(other("at most 256 bytes")),
        true => Test::Like(Pattern { text: pattern, any_case }),
        false if open => Test::Prefix(text.into()),
        false => Test::Among(vec![Constant::Text(text.into())]),
    })
}
