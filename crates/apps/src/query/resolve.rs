//! Conditions with resolved names: what they ask of the columns' numbers.

use super::{
    condition::Cond,
    constant::Constant,
    error::QueryError,
    field::Field,
    formula::{Comparison, Condition, Formula, Test},
    question::position,
    set::Set,
    table::{Decimal, Kind, read_date},
};

/// What is asked of the columns, each of which is looked up once, where a formula is true, or where it is false. A comparison
/// of NULL is neither.
pub(super) fn resolved(
    formula: &Formula,
    holds: bool,
    field: &impl Fn(&str) -> Result<Field, QueryError>,
    fields: &mut Vec<Field>,
) -> Result<Cond, QueryError> {
    Ok(match formula {
        Formula::Is(condition) => {
            let column = position(fields, field(&condition.operand.name)?);
            let field = &fields[column];
            let passing = passing(condition, field)?.intersection(&Set::range(field.low, field.high));
            let last = if condition.test == Test::Known { field.last() } else { field.high };
            Cond::test(column, if holds { passing } else { passing.complement(field.low, last) }, field)
        }
        Formula::Not(inner) => resolved(inner, !holds, field, fields)?,
        Formula::Unless(inner) => {
            let cond = resolved(inner, true, field, fields)?;
            if holds { cond.not(fields) } else { cond }
        }
        Formula::All(of) | Formula::Any(of) => {
            let every = matches!(formula, Formula::All(_)) == holds;
            let of = of.iter().map(|one| resolved(one, holds, field, fields)).collect::<Result<_, _>>()?;
            if every { Cond::all(of, fields) } else { Cond::any(of, fields) }
        }
    })
}

/// The values of a column that satisfy one condition.
fn passing(condition: &Condition, field: &Field) -> Result<Set, QueryError> {
    let all = |low, high| Set::range(low, high);
    Ok(match &condition.test {
        Test::Compare(comparison, constant) => {
            let (floor, exact) = floor(condition, constant, field)?;
            match comparison {
                Comparison::Above => all(floor + 1, i64::MAX),
                Comparison::AtLeast => all(floor + i64::from(!exact), i64::MAX),
                Comparison::Below => all(i64::MIN, floor - i64::from(exact)),
                Comparison::AtMost => all(i64::MIN, floor),
            }
        }
        Test::Among(constants) => {
            let one = |constant| match floor(condition, constant, field)? {
                (value, true) => Ok(Some((value, value))),
                _ => Ok(None),
            };
            let found = constants.iter().map(one).collect::<Result<Vec<_>, QueryError>>()?;
            Set::of(found.into_iter().flatten().collect())
        }
        Test::Known => all(i64::MIN, i64::MAX),
        Test::Prefix(_) | Test::Like(_) if field.kind != Kind::Text => {
            return Err(mismatch(condition, field, "a text", wanted(field.kind)));
        }
        Test::Like(pattern) => {
            let matching = field.categories.iter().enumerate().filter(|(_, text)| pattern.matches(text));
            let ranges = matching.filter_map(|(at, _)| i64::try_from(at).ok()).map(|at| (at, at));
            Set::of(ranges.collect())
        }
        Test::Prefix(text) => {
            let first = field.categories.partition_point(|known| known < text);
            let count = field.categories[first..].iter().take_while(|known| known.starts_with(text)).count();
            let number = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
            all(number(first), number(first + count) - 1)
        }
    })
}

/// What is to be written for a constant that a column of this kind is compared with.
fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Number(_) => "a number",
        Kind::Date => "date 'YYYY-MM-DD'",
        Kind::Text => "a text in quotes",
    }
}

fn mismatch(condition: &Condition, field: &Field, got: &str, wanted: &'static str) -> QueryError {
    // A column of numbers with one cell that is none holds texts: that cell is what is wrong.
    let strange = field.categories.iter().find(|text| Decimal::read(text).is_none());
    let kind = strange.map_or_else(|| field.kind.to_string(), |text| format!("texts such as {text:?}"));
    let mixed = got == "a number" && strange.is_some() && field.categories.iter().any(|t| Decimal::read(t).is_some());
    let wanted =
        if mixed { "a text in quotes if the column is of texts; if it is of numbers, mend that cell" } else { wanted };
    QueryError::Constant { condition: condition.text.clone(), name: field.name.clone(), kind, got: got.into(), wanted }
}

/// The largest value of a column that is not above a constant, and whether it is equal.
fn floor(condition: &Condition, constant: &Constant, field: &Field) -> Result<(i64, bool), QueryError> {
    let (floor, exact) = match (field.kind, constant) {
        (Kind::Number(digits), Constant::Number(number)) => number.floor_in(digits),
        (Kind::Date, Constant::Date(day)) => (i128::from(*day), true),
        (Kind::Date, Constant::Text(text)) if read_date(text).is_some() => {
            (i128::from(read_date(text).unwrap_or_default()), true)
        }
        (Kind::Text, Constant::Text(text)) => {
            let first = field.categories.partition_point(|known| known < text);
            let exact = field.categories.get(first) == Some(text);
            (i128::try_from(first).unwrap_or(i128::MAX) - i128::from(!exact), exact)
        }
        (kind, constant) => {
            let got = match constant {
                Constant::Number(_) => "a number",
                Constant::Date(_) => "a date",
                Constant::Text(text) if read_date(text).is_some() => "a date",
                Constant::Text(_) => "a text",
            };
            return Err(mismatch(condition, field, got, wanted(kind)));
        }
    };
    // All values outside the domain are equivalent.
    let clipped = floor.clamp(i128::from(field.low) - 2, i128::from(field.high) + 2);
    Ok((i64::try_from(clipped).unwrap_or(field.high), exact))
}
