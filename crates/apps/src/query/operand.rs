//! What a query takes of a row: a column, or a value that the owner of the data computes from columns of the row, in the
//! clear, before encryption.
//!
//! The server learns the text of the computation, and the domain of its values as that of any column.

use super::{
    constant::{Constant, constant, later, number, sign, span},
    error::QueryError,
    field::{Domain, Field, Values, field},
    sql::Statement,
    table::{Column, Decimal, Kind, MOST_POINT, Table, civil, days},
};
use sqlparser::ast::{
    BinaryOperator, DateTimeField, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator,
};
use std::fmt;

/// A part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Year,
    Month,
    Day,
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

    /// Whether both are the same.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.name.eq_ignore_ascii_case(&other.name)
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
        Expr::Extract { field, expr, .. } => Scalar::Part(part(&field.to_string())?, boxed(expr)?),
        Expr::Function(function) => {
            let FunctionArguments::List(list) = &function.args else { return None };
            let arguments = list.args.iter().map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            });
            let arguments = arguments.collect::<Option<Vec<&Expr>>>()?;
            // Nothing beside the arguments: no DISTINCT, FILTER or OVER.
            let all = arguments.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            if expr.to_string() != format!("{}({all})", function.name) {
                return None;
            }
            match (function.name.to_string().to_lowercase().as_str(), &arguments[..]) {
                ("abs", [of]) => Scalar::Absolute(boxed(of)?),
                ("mod", [of, by]) => Scalar::Remainder(boxed(of)?, divisor(by)?),
                ("coalesce", [of @ .., last]) if !of.is_empty() => of
                    .iter()
                    .rev()
                    .try_fold(scalar(last)?, |rest, of| Some(Scalar::First(Box::new([scalar(of)?, rest]))))?,
                ("nullif", [of, other]) => Scalar::UnlessEqual(Box::new([scalar(of)?, scalar(other)?])),
                (name, [of]) => Scalar::Part(part(name)?, boxed(of)?),
                _ => return None,
            }
        }
        _ => return None,
    })
}

fn divisor(expr: &Expr) -> Option<Decimal> {
    number(expr).filter(|number| number.mantissa != 0)
}

fn part(name: &str) -> Option<Part> {
    let parts =
        [(DateTimeField::Year, Part::Year), (DateTimeField::Month, Part::Month), (DateTimeField::Day, Part::Day)];
    parts.iter().find(|(field, _)| field.to_string().eq_ignore_ascii_case(name)).map(|(_, part)| *part)
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
            Self::Constant(Constant::Text(text)) => write!(f, "'{text}'"),
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
            Self::Part(part, of) => write!(f, "{}({of})", format!("{part:?}").to_lowercase()),
            Self::Remainder(of, by) => write!(f, "{} % {by}", inner(of)),
        }
    }
}

/// Values of a kind: the cells of a column, or the ends of a domain.
type Cells = (Kind, Vec<i64>);

/// The cells in units of a finer last digit.
fn finer((kind, cells): &Cells, wanted: u32) -> Option<Vec<i128>> {
    let Kind::Number(own) = kind else { return None };
    let unit = 10i128.pow(wanted - own);
    Some(cells.iter().map(|&cell| i128::from(cell) * unit).collect())
}

/// Sums or differences of values of two kinds, row by row.
fn added(a: &Cells, b: &Cells, sign: i64) -> Option<Cells> {
    let wide = |cells: &Cells| cells.1.iter().map(|&cell| i128::from(cell)).collect::<Vec<i128>>();
    let (kind, a, b) = match (a.0, b.0) {
        (Kind::Number(own), Kind::Number(other)) => {
            let digits = own.max(other);
            (Kind::Number(digits), finer(a, digits)?, finer(b, digits)?)
        }
        (Kind::Date, Kind::Number(0)) => (Kind::Date, wide(a), wide(b)),
        (Kind::Number(0), Kind::Date) if sign > 0 => (Kind::Date, wide(a), wide(b)),
        (Kind::Date, Kind::Date) if sign < 0 => (Kind::Number(0), wide(a), wide(b)),
        _ => return None,
    };
    let sum = |(a, b): (&i128, &i128)| i64::try_from(a + i128::from(sign) * b).ok();
    Some((kind, a.iter().zip(&b).map(sum).collect::<Option<_>>()?))
}

fn multiplied(a: &Cells, b: &Cells) -> Option<Cells> {
    let (Kind::Number(own), Kind::Number(other)) = (a.0, b.0) else { return None };
    let product = |(a, b): (&i64, &i64)| a.checked_mul(*b);
    let cells = a.1.iter().zip(&b.1).map(product).collect::<Option<_>>()?;
    (own + other <= MOST_POINT).then_some((Kind::Number(own + other), cells))
}

fn remainders(of: &Cells, by: Decimal) -> Option<Cells> {
    let Kind::Number(own) = of.0 else { return None };
    let digits = Some(own.max(by.digits)).filter(|&digits| digits <= MOST_POINT)?;
    let unit = by.mantissa.checked_mul(10i128.pow(digits - by.digits))?;
    let cells = finer(of, digits)?.iter().map(|cell| i64::try_from(cell % unit).ok()).collect::<Option<_>>()?;
    Some((Kind::Number(digits), cells))
}

/// Values of two columns as those of one: numbers in units of the finer last digit, or dates.
fn alike(a: &Cells, b: &Cells) -> Option<(Cells, Cells)> {
    let (Kind::Number(own), Kind::Number(other)) = (a.0, b.0) else {
        return ((a.0, b.0) == (Kind::Date, Kind::Date)).then(|| (a.clone(), b.clone()));
    };
    let digits = own.max(other);
    let narrow = |cells: Vec<i128>| cells.into_iter().map(|cell| i64::try_from(cell).ok()).collect::<Option<Vec<_>>>();
    let kind = Kind::Number(digits);
    Some(((kind, narrow(finer(a, digits)?)?), (kind, narrow(finer(b, digits)?)?)))
}

/// The columns that a value is computed from.
struct Source<'a> {
    rows: usize,
    columns: Vec<&'a Column>,
}

impl Source<'_> {
    fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name)).copied()
    }
}

impl Scalar {
    fn columns<'a>(&'a self, out: &mut Vec<&'a str>) {
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
            | Self::Missing(of) => of.columns(out),
        }
    }

    /// The rows in which it is NULL. None where kinds do not fit.
    fn nulls(&self, from: &Source) -> Option<Vec<bool>> {
        let joined = |of: &[Self; 2], join: fn(bool, bool) -> bool| {
            let (a, b) = (of[0].nulls(from)?, of[1].nulls(from)?);
            Some(a.into_iter().zip(b).map(|(a, b)| join(a, b)).collect())
        };
        match self {
            Self::Column(name) => {
                let column = from.column(name);
                Some((0..from.rows).map(|row| column.is_some_and(|column| column.is_null(row))).collect())
            }
            Self::Constant(_) | Self::Missing(_) => Some(vec![false; from.rows]),
            Self::Plus(of) | Self::Minus(of) | Self::Times(of) | Self::Against(of) => joined(of, |a, b| a || b),
            Self::Later(of, ..) | Self::Absolute(of) | Self::Part(_, of) | Self::Remainder(of, _) => of.nulls(from),
            Self::First(of) => joined(of, |a, b| a && b),
            Self::UnlessEqual(of) => {
                let ((_, a), (_, b)) = alike(&of[0].cells(from)?, &of[1].cells(from)?)?;
                let (own, others) = (of[0].nulls(from)?, of[1].nulls(from)?);
                Some((0..from.rows).map(|row| own[row] || (!others[row] && a[row] == b[row])).collect())
            }
        }
    }

    /// The values, from those of columns; 0 where it is NULL. None where kinds do not fit or a value is too large.
    fn cells(&self, from: &Source) -> Option<Cells> {
        let both = |of: &[Self; 2]| Some((of[0].cells(from)?, of[1].cells(from)?));
        let dates = |of: &Self, change: &dyn Fn(i64) -> Option<i64>, kind: Kind| {
            let (Kind::Date, cells) = of.cells(from)? else { return None };
            Some((kind, cells.into_iter().map(change).collect::<Option<_>>()?))
        };
        let rows = from.rows;
        match self {
            Self::Column(name) => from.column(name).map(|column| column.cells.clone()),
            Self::First(of) => {
                let ((kind, mut first), (_, other)) = both(of).and_then(|(a, b)| alike(&a, &b))?;
                let absent = of[0].nulls(from)?;
                first.iter_mut().zip(other).zip(absent).filter(|(_, absent)| *absent).for_each(|((a, b), _)| *a = b);
                Some((kind, first))
            }
            Self::UnlessEqual(of) => both(of).and_then(|(a, b)| alike(&a, &b)).map(|(a, _)| a),
            Self::Missing(of) => Some((Kind::Number(0), of.nulls(from)?.into_iter().map(i64::from).collect())),
            Self::Constant(Constant::Number(number)) => {
                let value = i64::try_from(number.mantissa).ok().filter(|_| number.digits <= MOST_POINT)?;
                Some((Kind::Number(number.digits), vec![value; rows]))
            }
            Self::Constant(Constant::Date(day)) => Some((Kind::Date, vec![*day; rows])),
            Self::Constant(Constant::Text(_)) => None,
            Self::Plus(of) => both(of).and_then(|(a, b)| added(&a, &b, 1)),
            Self::Minus(of) | Self::Against(of) => both(of).and_then(|(a, b)| added(&a, &b, -1)),
            Self::Times(of) => both(of).and_then(|(a, b)| multiplied(&a, &b)),
            Self::Later(of, months, days) => dates(of, &|day| later(day, *months, *days), Kind::Date),
            Self::Absolute(of) => {
                let (kind @ Kind::Number(_), cells) = of.cells(from)? else { return None };
                Some((kind, cells.into_iter().map(i64::checked_abs).collect::<Option<_>>()?))
            }
            Self::Part(part, of) => {
                let of_date = |day: i64| {
                    let (year, month, day) = civil(day);
                    Some(match part {
                        Part::Year => year,
                        Part::Month => month,
                        Part::Day => day,
                    })
                };
                dates(of, &of_date, Kind::Number(0))
            }
            Self::Remainder(of, by) => remainders(&of.cells(from)?, *by),
        }
    }

    /// The ends of the values that there may be, from those of columns: never narrower than they are.
    fn ends(&self, column: &impl Fn(&str) -> (Kind, [i64; 2])) -> Option<(Kind, [i64; 2])> {
        let cells = |(kind, ends): (Kind, [i64; 2])| (kind, ends.to_vec());
        let sorted = |(kind, all): Cells| Some((kind, [*all.iter().min()?, *all.iter().max()?]));
        match self {
            Self::Column(name) => Some(column(name)),
            Self::Constant(_) => sorted(self.cells(&Source { rows: 1, columns: Vec::new() })?),
            Self::Plus(of) => sorted(added(&cells(of[0].ends(column)?), &cells(of[1].ends(column)?), 1)?),
            Self::Minus(of) | Self::Against(of) => {
                let ((kind, [low, high]), b) = (of[1].ends(column)?, cells(of[0].ends(column)?));
                sorted(added(&b, &(kind, vec![high, low]), -1)?)
            }
            Self::Times(of) => {
                let ((a, [al, ah]), (b, [bl, bh])) = (of[0].ends(column)?, of[1].ends(column)?);
                sorted(multiplied(&(a, vec![al, al, ah, ah]), &(b, vec![bl, bh, bl, bh]))?)
            }
            Self::Later(of, months, more) => {
                let (Kind::Date, [low, high]) = of.ends(column)? else { return None };
                Some((Kind::Date, [later(low, *months, *more)?, later(high, *months, *more)?]))
            }
            Self::First(of) => {
                let (a, b) = alike(&cells(of[0].ends(column)?), &cells(of[1].ends(column)?))?;
                sorted((a.0, [a.1, b.1].concat()))
            }
            Self::UnlessEqual(of) => {
                let (a, _) = alike(&cells(of[0].ends(column)?), &cells(of[1].ends(column)?))?;
                sorted(a)
            }
            Self::Missing(_) => Some((Kind::Number(0), [0, 1])),
            Self::Absolute(of) => {
                let (kind, [low, high]) = of.ends(column)?;
                let least = if low <= 0 && high >= 0 { 0 } else { low.checked_abs()?.min(high.checked_abs()?) };
                Some((kind, [least, low.checked_abs()?.max(high.checked_abs()?)]))
            }
            Self::Part(part, of) => {
                let (Kind::Date, [low, high]) = of.ends(column)? else { return None };
                let ends = match part {
                    Part::Year => [civil(low).0, civil(high).0],
                    Part::Month => [1, 12],
                    Part::Day => [1, 31],
                };
                Some((Kind::Number(0), ends))
            }
            Self::Remainder(of, by) => {
                let (Kind::Number(own), [low, high]) = of.ends(column)? else { return None };
                let digits = own.max(by.digits);
                let most = by.mantissa.checked_mul(10i128.checked_pow(digits - by.digits)?)?.checked_abs()? - 1;
                let most = i64::try_from(most).ok()?;
                Some((Kind::Number(digits), [if low < 0 { -most } else { 0 }, if high > 0 { most } else { 0 }]))
            }
        }
    }
}

/// Which of two texts comes first: −1, 0 or 1.
fn texts(a: &Column, b: &Column) -> Vec<i64> {
    let text = |column: &'_ Column, row: usize| -> String {
        let at = usize::try_from(column.cells.1[row]).ok();
        at.and_then(|at| column.categories.get(at)).cloned().unwrap_or_default()
    };
    (0..a.cells.1.len()).map(|row| text(a, row).cmp(&text(b, row)) as i64).collect()
}

impl Table {
    /// The table with a column for each computation of a statement.
    ///
    /// # Errors
    /// Columns that are not there, or whose values a computation does not take; a column that has a computation's name.
    pub fn with_derived(mut self, statement: &Statement) -> Result<Self, QueryError> {
        let mut made: Vec<&Operand> = Vec::new();
        for operand in statement.operands() {
            let Some(value) = &operand.value else { continue };
            if made.iter().any(|other| other.is(operand)) {
                continue;
            }
            let name = &operand.name;
            if self.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name)) {
                let what =
                    format!("a column of the data with the name of what the query computes, {name:?} (rename it),");
                return Err(QueryError::unsupported(what));
            }
            let column = self.computed(name, value)?;
            self.columns.push(column);
            made.push(operand);
        }
        Ok(self)
    }

    fn computed(&self, name: &str, value: &Scalar) -> Result<Column, QueryError> {
        let mut columns = Vec::new();
        value.columns(&mut columns);
        let found = columns.iter().map(|name| self.usable(name)).collect::<Result<Vec<&Column>, _>>()?;
        let from = Source { rows: self.rows, columns: found };
        let cells = match (value, &from.columns[..]) {
            (Scalar::Against(_), [a, b]) if (a.cells.0, b.cells.0) == (Kind::Text, Kind::Text) => {
                Some((Kind::Number(0), texts(a, b)))
            }
            _ => value.cells(&from),
        };
        let Some(((kind, cells), nulls)) = cells.zip(value.nulls(&from)) else {
            let kind = |column: &&Column| format!("{} ({})", column.name, column.cells.0);
            let kinds = from.columns.iter().map(kind).collect::<Vec<_>>().join(" and ");
            let what =
                format!("{name}, computed from {kinds} (of numbers, 18 digits and 9 behind the point, and dates),");
            return Err(QueryError::unsupported(what));
        };
        Ok(Column::new(name, kind, cells).with_nulls(nulls))
    }
}

/// The domains of computations from columns whose domains are declared: data tell nothing of them then.
pub(super) fn with_derived(
    statement: &Statement,
    table: &Table,
    domains: &[Domain],
) -> Result<Vec<Domain>, QueryError> {
    let mut all = domains.to_vec();
    for operand in statement.operands() {
        let declared = |all: &[Domain], name: &str| all.iter().any(|domain| domain.column.eq_ignore_ascii_case(name));
        let Some(value) = &operand.value else { continue };
        let columns = operand.columns();
        // Whether rows are NULL is found of each, whatever others are.
        let open = matches!(value, Scalar::Missing(_));
        if declared(&all, &operand.name) || (!open && !columns.iter().all(|name| declared(domains, name))) {
            continue;
        }
        let of = if open { &[][..] } else { &columns };
        let fields = of.iter().map(|name| field(table, name, domains, true)).collect::<Result<Vec<Field>, _>>()?;
        let ends = |name: &str| {
            let found = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name));
            found.map_or((Kind::Text, [0, 0]), |field| (field.kind, [field.low, field.high]))
        };
        let texts = !open && fields.iter().all(|field| field.kind == Kind::Text);
        let found = if texts { Some((Kind::Number(0), [-1, 1])) } else { value.ends(&ends) };
        if let Some((kind, ends)) = found {
            all.push(Domain { column: operand.name.clone(), values: Values::Ends(ends.map(|end| kind.show(end))) });
        }
    }
    Ok(all)
}

/// The dates of a year.
pub(super) fn year(year: i64) -> Option<[i64; 2]> {
    (1..=9999).contains(&year).then(|| [days((year, 1, 1)), days((year, 12, 31))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let column = |name: &str, cells: &[&str]| Column::of_cells(name, cells);
        let columns = vec![
            column("order", &["7", "9", "7", "8"]),
            column("price", &["1.5", "2", "3", "4"]),
            column("paid", &["2026-01-05", "2026-01-01", "2026-02-01", "2026-01-09"]),
            column("due", &["2026-01-04", "2026-01-02", "2026-02-01", "2026-03-09"]),
            column("from", &["ulm", "bonn", "ulm", "a"]),
            column("to", &["bonn", "bonn", "x", "b"]),
        ];
        Table { name: None, columns, rows: 4 }
    }

    fn parsed(condition: &str) -> Statement {
        Statement::parse(&format!("SELECT COUNT(*) FROM l WHERE {condition}")).unwrap()
    }

    #[test]
    fn operands_are_computed_row_by_row() {
        for (condition, name, kind, cells) in [
            ("due < paid", "due - paid", Kind::Number(0), [-1, 1, 0, 59]),
            ("price <> order", "price - order", Kind::Number(1), [-55, -70, -40, -40]),
            ("\"from\" = \"to\"", "from - to", Kind::Number(0), [1, 0, -1, -1]),
            ("price * order > 3", "price * order", Kind::Number(1), [105, 180, 210, 320]),
            ("abs(price - order) > 5", "abs(price - order)", Kind::Number(1), [55, 70, 40, 40]),
            ("order % 4 = 3", "order % 4", Kind::Number(0), [3, 1, 3, 0]),
            ("-price % 0.7 < 0", "(0 - price) % 0.7", Kind::Number(1), [-1, -6, -2, -5]),
            ("month(due) = 3", "month(due)", Kind::Number(0), [1, 1, 2, 3]),
            ("day(due) = 3", "day(due)", Kind::Number(0), [4, 2, 1, 9]),
            ("due - interval '1' month < paid", "(due - 1 months) - paid", Kind::Number(0), [-32, -30, -31, 31]),
        ] {
            let statement = parsed(condition);
            let made = table().with_derived(&statement).unwrap();
            assert_eq!(made.columns[6..].iter().map(|c| &c.name[..]).collect::<Vec<_>>(), [name], "{condition}");
            assert_eq!(made.columns[6].cells, (kind, cells.to_vec()), "{condition}");
        }
        for (condition, wanted) in [
            ("due < price", "due - price, computed from due (dates) and price (decimals"),
            ("abs(due) = 3", "abs(due), computed from due (dates)"),
            ("year(price) + order = 3", "from price (decimals with 1 digits behind the point) and order (integers)"),
            ("price * \"to\" = 3", "to (texts)"),
            ("price * size = 3", "no column \"size\""),
        ] {
            let error = table().with_derived(&parsed(condition)).unwrap_err().to_string();
            assert!(error.contains(&wanted.replace('"', "")) || error.contains(wanted), "{condition}: {error}");
        }
        let taken = Table {
            columns: ["a", "b", "A - b"].map(|name| Column::of_cells(name, &["1"])).into(),
            name: None,
            rows: 1,
        };
        let error = taken.with_derived(&parsed("a < b")).unwrap_err().to_string();
        assert!(error.contains("a column of the data with the name of what the query computes"), "{error}");
        let wide = Table { columns: vec![Column::of_cells("a", &["999999999999999999"])], name: None, rows: 1 };
        assert!(wide.with_derived(&parsed("a * a = 1")).is_err(), "no overflow");
    }

    /// The domains of what is computed hold all that may come of the columns' domains.
    #[test]
    fn domains_follow_from_those_of_columns() {
        let domains: Vec<Domain> = [
            "paid=2026-01-01..2026-12-31",
            "due=2026-01-01..2026-12-31",
            "order=-3..9",
            "price=0..4",
            "from=a|ulm|bonn",
            "to=a|b|bonn|x",
        ]
        .map(|d| d.parse().unwrap())
        .into();
        for (condition, wanted) in [
            ("due < paid", ["-364", "364"]),
            ("order * price > 5", ["-12.0", "36.0"]),
            ("order * order > 5", ["-27", "81"]),
            ("abs(order) > 5", ["0", "9"]),
            ("order % 4 = 1", ["-3", "3"]),
            ("price % 4 = 1", ["0.0", "3.9"]),
            ("month(due) = 1", ["1", "12"]),
            ("year(due) + order = 1", ["2023", "2035"]),
            ("due + interval '1' month < paid", ["-333", "395"]),
            ("\"from\" < \"to\"", ["-1", "1"]),
        ] {
            let statement = parsed(condition);
            let made = table().with_derived(&statement).unwrap();
            let all = with_derived(&statement, &made, &domains).unwrap();
            assert_eq!(all[6].values, Values::Ends(wanted.map(Into::into)), "{condition}");
        }
        assert_eq!(with_derived(&parsed("due < price"), &table(), &domains[..1]).unwrap().len(), 1);
    }
}
