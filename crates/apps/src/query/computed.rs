//! Values that the owner of a table computes from its rows, in the clear, and what both sides know of them.

use super::{
    constant::{Constant, later},
    error::QueryError,
    field::{self, Domain, Field, codes, field},
    formula::Formula,
    operand::{Case, OfText, Operand, Part, Rounding, Scalar, Span},
    resolve::resolved,
    sql::Statement,
    table::{Column, Decimal, Kind, MOST_POINT, Table, civil, days},
};

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

/// Days of four hundred years.
const MOST_DAYS: u64 = 146_097;

/// A number of units in units of a coarser last digit.
fn rounded(how: Rounding, cell: i64, unit: i64) -> i64 {
    let (whole, rest) = (cell.div_euclid(unit), cell.rem_euclid(unit));
    match how {
        Rounding::Down => whole,
        Rounding::Up => whole + i64::from(rest > 0),
        // Half away from zero.
        Rounding::Near if cell < 0 => whole + i64::from(2 * rest > unit),
        Rounding::Near => whole + i64::from(2 * rest >= unit),
    }
}

/// Numbers with at most so many decimal places.
fn coarser((kind, cells): &Cells, how: Rounding, places: u32) -> Option<Cells> {
    let Kind::Number(own) = *kind else { return None };
    let unit = 10i64.pow(own.saturating_sub(places));
    Some((Kind::Number(own.min(places)), cells.iter().map(|&cell| rounded(how, cell, unit)).collect()))
}

/// The first day of a span of dates.
fn begin(span: Span, day: i64) -> i64 {
    let (year, month, _) = civil(day);
    match span {
        Span::Year => days((year, 1, 1)),
        Span::Quarter => days((year, (month - 1) / 3 * 3 + 1, 1)),
        Span::Month => days((year, month, 1)),
        Span::Week => day - (day + 3).rem_euclid(7), // 1970-01-01 was a Thursday
        Span::Day => day,
    }
}

fn part(part: Part, day: i64) -> i64 {
    let (year, month, of_month) = civil(day);
    let since_monday = day - begin(Span::Week, day);
    match part {
        Part::Year => year,
        Part::Quarter => (month + 2) / 3,
        Part::Month => month,
        // The week of a year's first Thursday is its first.
        Part::Week => {
            let thursday = day - since_monday + 3;
            (thursday - begin(Span::Year, thursday)) / 7 + 1
        }
        Part::Day => of_month,
        Part::DayOfWeek => (since_monday + 1) % 7,
        Part::IsoDay => since_monday + 1,
        Part::DayOfYear => day - begin(Span::Year, day) + 1,
    }
}

/// The values that a compared column may have.
pub(super) struct Values {
    low: i64,
    last: i64,
    /// Of dates that are cut to a span: its first days alone, and NULL, if there may be one, above the last.
    begins: Option<(Span, i64)>,
}

impl Values {
    pub(super) fn all(&self) -> Vec<i64> {
        let may = |value: &i64| self.begins.is_none_or(|(span, high)| *value > high || begin(span, *value) == *value);
        (self.low..=self.last).filter(may).collect()
    }

    pub(super) fn count(&self) -> u64 {
        match self.begins {
            // More days than any span leaves few of are not walked through.
            Some(_) if self.last.abs_diff(self.low) < MOST_DAYS => self.all().len() as u64,
            _ => self.last.abs_diff(self.low).saturating_add(1),
        }
    }
}

impl Statement {
    /// The values that a column of this query may have.
    pub(super) fn values(&self, field: &Field) -> Values {
        let operand = self.operands().into_iter().find(|operand| operand.is_called(&field.name));
        let begins = operand.and_then(|operand| match &operand.value {
            Some(Scalar::Begin(span, _)) => Some((*span, field.high)),
            _ => None,
        });
        Values { low: field.low, last: field.last(), begins }
    }
}

/// The values of a part of dates in a domain.
fn part_ends(of: Part, [low, high]: [i64; 2]) -> [i64; 2] {
    match of {
        Part::Year => [civil(low).0, civil(high).0],
        Part::Quarter => [1, 4],
        Part::Month => [1, 12],
        Part::Week => [1, 53],
        Part::Day => [1, 31],
        Part::DayOfWeek => [0, 6],
        Part::IsoDay => [1, 7],
        Part::DayOfYear => [1, 366],
    }
}

fn of_text(how: OfText, text: &str) -> String {
    match how {
        OfText::Lower => text.to_lowercase(),
        OfText::Upper => text.to_uppercase(),
        OfText::Trim => text.trim_matches(' ').to_owned(),
        OfText::From(first, count) => text.chars().skip(first - 1).take(count).collect(),
        OfText::Last(count) => text.chars().skip(text.chars().count().saturating_sub(count)).collect(),
    }
}

/// Which of two texts comes first: −1, 0 or 1.
fn ordered(a: &Column, b: &Column) -> Vec<i64> {
    let text = |column: &'_ Column, row: usize| column.text(row).unwrap_or_default().to_owned();
    (0..a.cells.1.len()).map(|row| text(a, row).cmp(&text(b, row)) as i64).collect()
}

/// The values of columns of one kind, of each row those of the column that is named; NULL of none.
fn picked(columns: &[Column], rows: usize, pick: impl Fn(usize) -> Option<usize>) -> Option<Column> {
    let kinds: Vec<Kind> = columns.iter().map(|column| column.cells.0).collect();
    if kinds.iter().all(|kind| *kind == Kind::Text) {
        let cells: Vec<Option<&str>> = (0..rows).map(|row| pick(row).and_then(|at| columns[at].text(row))).collect();
        return Some(Column::of_texts("", &cells));
    }
    let digits = |kind: &Kind| if let Kind::Number(digits) = kind { Some(*digits) } else { None };
    let kind = match kinds.iter().map(digits).collect::<Option<Vec<u32>>>() {
        Some(all) => Kind::Number(all.into_iter().max().unwrap_or(0)),
        None => kinds.iter().all(|kind| *kind == Kind::Date).then_some(Kind::Date)?,
    };
    let cell = |row: usize| {
        let Some(column) = pick(row).map(|at| &columns[at]) else { return Some(0) };
        let unit = if let (Kind::Number(all), Kind::Number(own)) = (kind, column.cells.0) { all - own } else { 0 };
        column.cells.1[row].checked_mul(10i64.pow(unit))
    };
    let cells = (0..rows).map(cell).collect::<Option<Vec<i64>>>()?;
    let nulls = (0..rows).map(|row| pick(row).is_none_or(|at| columns[at].is_null(row))).collect();
    Some(Column::new("", kind, cells).with_nulls(nulls))
}

/// The rows in which a formula is true.
fn holding(formula: &Formula, from: &Table) -> Option<Vec<bool>> {
    let mut asked = Vec::new();
    formula.conditions(&mut asked);
    let computed = |name: &str| {
        let operand = asked.iter().map(|condition| &condition.operand).find(|of| of.name == name)?;
        let column = match &operand.value {
            None => from.column(name).ok()?.clone(),
            Some(value) => Column { name: name.to_owned(), ..value.column(from)? },
        };
        Some(Table { name: None, columns: vec![column], rows: from.rows })
    };
    let unfit = || QueryError::unsupported("a condition");
    let look = |name: &str| field(&computed(name).ok_or_else(unfit)?, name, &[], true);
    let mut fields: Vec<Field> = Vec::new();
    let cond = resolved(formula, true, &look, &mut fields).ok()?;
    let columns = fields.iter().map(|of| codes(of, &computed(&of.name)?).ok()).collect::<Option<Vec<_>>>()?;
    Some((0..from.rows).map(|row| cond.passes(&|column: usize| columns[column][row])).collect())
}

impl Case {
    fn column(&self, from: &Table) -> Option<Column> {
        let mut columns: Vec<Column> = Vec::new();
        let mut place = |of: Option<&Scalar>| -> Option<Option<usize>> {
            let Some(of) = of else { return Some(None) };
            columns.push(of.column(from)?);
            Some(Some(columns.len() - 1))
        };
        let mut found: Vec<Option<Option<usize>>> = vec![None; from.rows];
        for (condition, of) in &self.branches {
            let (place, holds) = (place(of.as_ref())?, holding(condition, from)?);
            found
                .iter_mut()
                .zip(holds)
                .filter(|(of, holds)| of.is_none() && *holds)
                .for_each(|(of, _)| *of = Some(place));
        }
        let otherwise = place(self.otherwise.as_ref())?;
        picked(&columns, from.rows, |row| found[row].unwrap_or(otherwise))
    }

    /// The values that it may give where they are constants, which both sides know from the query.
    fn constants(&self) -> Option<field::Values> {
        let constant = |of: &Scalar| if let Scalar::Constant(constant) = of { Some(constant.clone()) } else { None };
        let all = self.results().flatten().map(constant).collect::<Option<Vec<Constant>>>()?;
        let text = |of: &Constant| if let Constant::Text(text) = of { Some(text.clone()) } else { None };
        match all.iter().map(text).collect::<Option<Vec<String>>>() {
            Some(texts) => Some(field::Values::Texts(texts)).filter(|_| !all.is_empty()),
            None => self
                .ends(&|_| (Kind::Text, [0, 0]))
                .map(|(kind, ends)| field::Values::Ends(ends.map(|end| kind.show(end)))),
        }
    }

    fn ends(&self, column: &impl Fn(&str) -> (Kind, [i64; 2])) -> Option<(Kind, [i64; 2])> {
        let mut all = self.results().flatten().map(|of| of.ends(column)).collect::<Option<Vec<_>>>()?;
        let first = all.pop()?;
        all.into_iter().try_fold(first, either)
    }
}

/// The ends of values of which each is one or the other's.
fn either(a: (Kind, [i64; 2]), b: (Kind, [i64; 2])) -> Option<(Kind, [i64; 2])> {
    let columns = [a, b].map(|(kind, ends)| Column::new("", kind, ends.to_vec()));
    let [a, b] = [0, 1].map(|at| picked(&columns, 2, |_| Some(at)));
    let (a, b) = (a?.cells, b?.cells);
    let all = [a.1, b.1].concat();
    Some((a.0, [*all.iter().min()?, *all.iter().max()?]))
}

impl Scalar {
    /// The values of a table's rows. None where kinds do not fit or a value is too large.
    fn column(&self, from: &Table) -> Option<Column> {
        let rows = from.rows;
        let one = |of: &Self| of.column(from);
        let strict = |of: &[&Column], (kind, cells): Cells| {
            let nulls = (0..rows).map(|row| of.iter().any(|column| column.is_null(row))).collect();
            Some(Column::new("", kind, cells).with_nulls(nulls))
        };
        let both = |of: &[Self; 2], made: &dyn Fn(&Column, &Column) -> Option<Cells>| {
            let (a, b) = (one(&of[0])?, one(&of[1])?);
            strict(&[&a, &b], made(&a, &b)?)
        };
        let mapped = |of: &Self, made: &dyn Fn(&Cells) -> Option<Cells>| {
            let of = one(of)?;
            strict(&[&of], made(&of.cells)?)
        };
        let dates = |of: &Self, kind: Kind, made: &dyn Fn(i64) -> Option<i64>| {
            mapped(of, &|(own, cells)| {
                let cells = cells.iter().map(|&day| made(day)).collect::<Option<_>>()?;
                (*own == Kind::Date).then_some((kind, cells))
            })
        };
        match self {
            Self::Column(name) => from.column(name).ok().cloned(),
            Self::Constant(Constant::Number(number)) => {
                let value = i64::try_from(number.mantissa).ok().filter(|_| number.digits <= MOST_POINT)?;
                Some(Column::new("", Kind::Number(number.digits), vec![value; rows]))
            }
            Self::Constant(Constant::Date(day)) => Some(Column::new("", Kind::Date, vec![*day; rows])),
            Self::Constant(Constant::Text(text)) => Some(Column::texts("", &vec![&text[..]; rows])),
            Self::Plus(of) => both(of, &|a, b| added(&a.cells, &b.cells, 1)),
            Self::Minus(of) => both(of, &|a, b| added(&a.cells, &b.cells, -1)),
            Self::Against(of) => both(of, &|a, b| match (a.cells.0, b.cells.0) {
                (Kind::Text, Kind::Text) => Some((Kind::Number(0), ordered(a, b))),
                _ => added(&a.cells, &b.cells, -1),
            }),
            Self::Times(of) => both(of, &|a, b| multiplied(&a.cells, &b.cells)),
            Self::Later(of, months, more) => dates(of, Kind::Date, &|day| later(day, *months, *more)),
            Self::Absolute(of) => mapped(of, &|(kind, cells)| {
                let cells = cells.iter().map(|cell| cell.checked_abs()).collect::<Option<_>>()?;
                matches!(kind, Kind::Number(_)).then_some((*kind, cells))
            }),
            Self::Part(what, of) => dates(of, Kind::Number(0), &|day| Some(part(*what, day))),
            Self::Begin(span, of) => dates(of, Kind::Date, &|day| Some(begin(*span, day))),
            Self::Remainder(of, by) => mapped(of, &|cells| remainders(cells, *by)),
            Self::Rounded(how, places, of) => mapped(of, &|cells| coarser(cells, *how, *places)),
            _ => self.chosen(from),
        }
    }

    /// The values of what may be NULL, or texts.
    fn chosen(&self, from: &Table) -> Option<Column> {
        let rows = from.rows;
        let one = |of: &Self| of.column(from);
        match self {
            Self::Missing(of) => {
                let of = one(of)?;
                let cells = (0..rows).map(|row| i64::from(of.is_null(row))).collect();
                Some(Column::new("", Kind::Number(0), cells))
            }
            Self::First(of) => {
                let columns = [one(&of[0])?, one(&of[1])?];
                picked(&columns, rows, |row| Some(usize::from(columns[0].is_null(row))))
            }
            Self::UnlessEqual(of) => {
                let columns = [one(&of[0])?, one(&of[1])?];
                let [a, b] = [0, 1].map(|at| picked(&columns, rows, |_| Some(at)));
                let (a, b) = (a?, b?);
                let texts = a.cells.0 == Kind::Text;
                let same =
                    |row: usize| if texts { a.text(row) == b.text(row) } else { a.cells.1[row] == b.cells.1[row] };
                let equal = |row: usize| !a.is_null(row) && !b.is_null(row) && same(row);
                picked(&columns, rows, |row| (!equal(row)).then_some(0))
            }
            Self::OfText(how, of) => {
                let of = one(of).filter(|of| of.cells.0 == Kind::Text)?;
                let cells: Vec<Option<String>> =
                    (0..rows).map(|row| of.text(row).map(|text| of_text(*how, text))).collect();
                Some(Column::of_texts("", &cells.iter().map(Option::as_deref).collect::<Vec<_>>()))
            }
            Self::Length(of) => {
                let of = one(of).filter(|of| of.cells.0 == Kind::Text)?;
                let length = |row: usize| i64::try_from(of.text(row).map_or(0, |text| text.chars().count())).ok();
                let nulls = (0..rows).map(|row| of.is_null(row)).collect();
                let cells = (0..rows).map(length).collect::<Option<_>>()?;
                Some(Column::new("", Kind::Number(0), cells).with_nulls(nulls))
            }
            Self::Case(case) => case.column(from),
            _ => None,
        }
    }

    /// The ends of the values that there may be, from those of columns: never narrower than they are. None of texts.
    fn ends(&self, column: &impl Fn(&str) -> (Kind, [i64; 2])) -> Option<(Kind, [i64; 2])> {
        let cells = |(kind, ends): (Kind, [i64; 2])| (kind, ends.to_vec());
        let sorted = |(kind, all): Cells| Some((kind, [*all.iter().min()?, *all.iter().max()?]));
        let dates = |of: &Self| match of.ends(column)? {
            (Kind::Date, ends) => Some(ends),
            _ => None,
        };
        match self {
            Self::Column(name) => Some(column(name)).filter(|(kind, _)| *kind != Kind::Text),
            Self::Constant(_) => {
                let one = self.column(&Table { rows: 1, ..Table::default() })?;
                sorted(one.cells).filter(|(kind, _)| *kind != Kind::Text)
            }
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
                let [low, high] = dates(of)?;
                Some((Kind::Date, [later(low, *months, *more)?, later(high, *months, *more)?]))
            }
            Self::First(of) => either(of[0].ends(column)?, of[1].ends(column)?),
            // As many decimal places as either has.
            Self::UnlessEqual(of) => either(of[0].ends(column)?, of[1].ends(column)?),
            Self::Missing(_) => Some((Kind::Number(0), [0, 1])),
            Self::Absolute(of) => {
                let (kind, [low, high]) = of.ends(column)?;
                let least = if low <= 0 && high >= 0 { 0 } else { low.checked_abs()?.min(high.checked_abs()?) };
                Some((kind, [least, low.checked_abs()?.max(high.checked_abs()?)]))
            }
            Self::Part(part, of) => Some((Kind::Number(0), part_ends(*part, dates(of)?))),
            Self::Begin(span, of) => Some((Kind::Date, dates(of)?.map(|day| begin(*span, day)))),
            Self::Rounded(how, places, of) => sorted(coarser(&cells(of.ends(column)?), *how, *places)?),
            Self::Remainder(of, by) => {
                let (Kind::Number(own), [low, high]) = of.ends(column)? else { return None };
                let digits = own.max(by.digits);
                let most = by.mantissa.checked_mul(10i128.checked_pow(digits - by.digits)?)?.checked_abs()? - 1;
                let most = i64::try_from(most).ok()?;
                Some((Kind::Number(digits), [if low < 0 { -most } else { 0 }, if high > 0 { most } else { 0 }]))
            }
            Self::Case(case) => case.ends(column),
            Self::OfText(..) | Self::Length(_) => None,
        }
    }
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
        let mut names = Vec::new();
        value.columns(&mut names);
        let found = names.iter().map(|name| self.usable(name)).collect::<Result<Vec<&Column>, _>>()?;
        let Some(column) = value.column(self) else {
            let mut kinds: Vec<String> = Vec::new();
            for column in found {
                let kind = format!("{} ({})", column.name, column.cells.0);
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            let kinds = kinds.join(" and ");
            let what = format!("{name}, computed from {kinds} (numbers have 18 digits, 9 behind the point),");
            return Err(QueryError::unsupported(what));
        };
        Ok(Column { name: name.to_owned(), ..column })
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
        if declared(&all, &operand.name) {
            continue;
        }
        let columns = operand.columns();
        let field = |name: &&str| field(table, name, domains, true);
        let found = match value {
            // Whether rows are NULL is found of each, whatever others are.
            Scalar::Missing(_) => Some(field::Values::Ends(["0".into(), "1".into()])),
            Scalar::Case(case) if case.constants().is_some() => case.constants(),
            _ if !columns.iter().all(|name| declared(domains, name)) => None,
            _ => {
                let fields = columns.iter().map(field).collect::<Result<Vec<Field>, _>>()?;
                let texts = fields.iter().all(|field| field.kind == Kind::Text);
                let ends = |name: &str| {
                    let found = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name));
                    found.map_or((Kind::Text, [0, 0]), |field| (field.kind, [field.low, field.high]))
                };
                match value {
                    Scalar::Against(_) if texts => Some(field::Values::Ends(["-1".into(), "1".into()])),
                    _ => value.ends(&ends).map(|(kind, ends)| field::Values::Ends(ends.map(|end| kind.show(end)))),
                }
            }
        };
        all.extend(found.map(|values| Domain { column: operand.name.clone(), values }));
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
