//! What both sides know of a column: its kind, and its domain: the set of possible values, which decides the number of
//! encrypted digits.

use super::{
    error::QueryError,
    table::{Column, Kind, MOST_POINT, Table},
};
use crate::family::NULL;
use serde::{Deserialize, Serialize};

/// Most bits of a compared column.
pub const MOST_BITS: u32 = 40;
/// Largest factor of a sum. It is below 2^53, so that floats hold it exactly.
pub(super) const MOST_FACTOR: i64 = 1 << 50;
/// Most texts of a column that are told apart.
pub const MOST_CATEGORIES: usize = 1 << 12;
/// Longest of them.
const MOST_TEXT: usize = 256;

/// Public metadata of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    pub name: String,
    pub kind: Kind,
    /// Smallest possible value, in units of its last digit or in days.
    pub low: i64,
    pub high: i64,
    /// Of texts: the values that both sides know, ascending; a cell is the number of its value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Whether rows may have NULL. Where the column is compared, NULL is the value above [`Self::high`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub null: bool,
}

impl Field {
    /// A value as text.
    pub fn show(&self, value: i64) -> String {
        if self.is_null(value) {
            return NULL.into();
        }
        let text = usize::try_from(value).ok().and_then(|at| self.categories.get(at));
        text.map_or_else(|| self.kind.show(value), |text| format!("{text:?}"))
    }

    /// Bits needed to distinguish its values.
    pub fn bits(&self) -> u32 {
        64 - self.high.abs_diff(self.low).leading_zeros()
    }

    /// The largest value of the column where it is compared: NULL if there may be one.
    pub fn last(&self) -> i64 {
        self.high.saturating_add(i64::from(self.null))
    }

    /// Whether a compared value is NULL.
    pub fn is_null(&self, value: i64) -> bool {
        self.null && value == self.last()
    }

    /// Bits of a compared value, which may be NULL.
    pub fn coded_bits(&self) -> u32 {
        64 - self.last().abs_diff(self.low).leading_zeros()
    }
}

/// A declared domain, which replaces what is found in the column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    pub column: String,
    pub values: Values,
}

/// The values of a domain, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// `LOW..HIGH`: of numbers or dates.
    Ends([String; 2]),
    /// `A|B|C`: of texts.
    Texts(Vec<String>),
}

impl std::str::FromStr for Domain {
    type Err = QueryError;

    /// `COLUMN=LOW..HIGH`, or `COLUMN=A|B|C`.
    fn from_str(text: &str) -> Result<Self, QueryError> {
        let wrong = || QueryError::Domain { text: text.to_owned(), problem: "not of that form".into() };
        let (column, values) = text.split_once('=').ok_or_else(wrong)?;
        let values = match (values.split_once(".."), values.contains('|')) {
            (Some((low, high)), false) => Values::Ends([low.into(), high.into()]),
            (None, true) => Values::Texts(values.split('|').map(str::to_owned).collect()),
            _ => return Err(wrong()),
        };
        Ok(Self { column: column.into(), values })
    }
}

/// Fails for a field of a description that no column has.
pub(super) fn plausible(field: &Field) -> Result<(), QueryError> {
    let Field { name, kind, low, high, categories, .. } = field;
    let digits = if let Kind::Number(digits) = kind { *digits } else { 0 };
    let texts = match kind {
        Kind::Text => {
            let ascending = categories.windows(2).all(|pair| pair[0] < pair[1]);
            let short = categories.iter().all(|text| text.len() <= MOST_TEXT);
            let last = i64::try_from(categories.len()).ok().and_then(|count| count.checked_sub(1));
            ascending && short && categories.len() <= MOST_CATEGORIES && (Some(*low), Some(*high)) == (Some(0), last)
        }
        Kind::Number(_) | Kind::Date => categories.is_empty(),
    };
    if !texts || low > high || *low < -MOST_FACTOR || *high > MOST_FACTOR || digits > MOST_POINT {
        let text = format!("{name}={low}..{high}");
        return Err(QueryError::Domain { text, problem: "no domain of a column".into() });
    }
    wide(field)
}

/// A column's values as they are compared: [`values`], and NULL as the value above all others.
///
/// # Errors
/// Those of [`values`].
pub(super) fn codes(field: &Field, table: &Table) -> Result<Vec<i64>, QueryError> {
    let (mut all, column) = (values(field, table)?, table.usable(&field.name)?);
    all.iter_mut().enumerate().filter(|(row, _)| column.is_null(*row)).for_each(|(_, value)| *value = field.last());
    Ok(all)
}

/// A column's values as those of a field: texts by the field's numbers, decimals in its units. NULL is the least value here:
/// what is summed or searched has a flag that leaves its row out.
///
/// # Errors
/// Another kind, values outside of the field's domain, or NULL in a column without it.
pub(super) fn values(field: &Field, table: &Table) -> Result<Vec<i64>, QueryError> {
    let column = table.usable(&field.name)?;
    let Column { name, cells: (kind, cells), categories, .. } = column;
    if let Some(at) = column.nulls.iter().position(|&null| null).filter(|_| !field.null) {
        return Err(QueryError::Null { name: name.clone(), row: at + 1 });
    }
    // Rows that are all NULL tell no kind.
    if column.present().next().is_none() {
        return Ok(vec![field.low; cells.len()]);
    }
    if let (Kind::Number(own), Kind::Number(wanted)) = (*kind, field.kind)
        && own < wanted
    {
        // Rows of which none happens to have the last decimal places.
        let finer = cells.iter().map(|cell| cell.saturating_mul(10i64.pow((wanted - own).min(MOST_POINT)))).collect();
        let column = Column { cells: (field.kind, finer), ..column.clone() };
        return values(field, &Table { name: None, columns: vec![column], rows: table.rows });
    }
    if *kind != field.kind {
        let (got, wanted) = (kind.to_string(), field.kind.to_string());
        return Err(QueryError::OtherKind { name: name.clone(), got, wanted });
    }
    if *kind == Kind::Text {
        let number = |text: &String| field.categories.binary_search(text).ok().and_then(|at| i64::try_from(at).ok());
        let numbers: Vec<Option<i64>> = categories.iter().map(number).collect();
        let of_cell = |cell: i64| usize::try_from(cell).ok().and_then(|at| numbers.get(at).copied().flatten());
        let missing = |row: usize| {
            let text = usize::try_from(cells[row]).ok().and_then(|at| categories.get(at)).cloned().unwrap_or_default();
            QueryError::OutOfList { name: name.clone(), row: row + 1, got: text.chars().take(40).collect() }
        };
        let number = |row: usize| match column.is_null(row) {
            true => Ok(field.low),
            false => of_cell(cells[row]).ok_or_else(|| missing(row)),
        };
        return (0..cells.len()).map(number).collect();
    }
    let outside = |(row, value): (usize, &i64)| !column.is_null(row) && !(field.low..=field.high).contains(value);
    if let Some(at) = cells.iter().enumerate().position(outside) {
        let [low, high, got] = [field.low, field.high, cells[at]].map(|value| kind.show(value));
        return Err(QueryError::OutOfRange { name: name.clone(), row: at + 1, got, low, high });
    }
    let value = |(row, &cell): (usize, &i64)| if column.is_null(row) { field.low } else { cell };
    Ok(cells.iter().enumerate().map(value).collect())
}

/// A column with its domain, which must contain all values, and whether its rows may have NULL.
pub(super) fn field(table: &Table, name: &str, domains: &[Domain], null: bool) -> Result<Field, QueryError> {
    let domain = domains.iter().find(|d| d.column.eq_ignore_ascii_case(name)).map(|domain| &domain.values);
    let column = table.usable(name)?;
    let Column { name, cells: (kind, _), categories, .. } = column;
    let wrong = |values: &Values, problem: String| {
        let text = match values {
            Values::Ends([low, high]) => format!("{name}={low}..{high}"),
            Values::Texts(texts) => format!("{name}={}", texts.join("|")),
        };
        QueryError::Domain { text, problem }
    };
    let holds = |values: &Values, got: &str| wrong(values, format!("the column holds {kind}, got {got}"));
    let found = || (column.present().min().zip(column.present().max()).unwrap_or_default(), Vec::new());
    let ((low, high), categories) = match (domain, kind) {
        (None, Kind::Text) => texts(name, categories.clone())?,
        (Some(Values::Texts(given)), Kind::Text) => texts(name, given.clone())?,
        (Some(given), Kind::Text) => return Err(holds(given, "a range")),
        (Some(given @ Values::Texts(_)), _) => return Err(holds(given, "a list of texts")),
        (None, _) => found(),
        (Some(given @ Values::Ends(ends)), _) => {
            let read = |end: &String| kind.read(end).ok_or_else(|| holds(given, &format!("{end:?}")));
            let (low, high) = (read(&ends[0])?, read(&ends[1])?);
            if low > high {
                return Err(wrong(given, "the low end lies above the high one".into()));
            }
            ((low, high), Vec::new())
        }
    };
    let field = Field { name: name.clone(), kind: *kind, low, high, categories, null };
    values(&field, table)?;
    wide(&field)?;
    Ok(field)
}

/// The domain of texts: their numbers, and themselves in their order.
fn texts(name: &str, mut all: Vec<String>) -> Result<((i64, i64), Vec<String>), QueryError> {
    all.sort_unstable();
    all.dedup();
    if let Some(long) = all.iter().find(|text| text.len() > MOST_TEXT) {
        let (name, begin, got) = (name.to_owned(), long.chars().take(40).collect(), long.len());
        return Err(QueryError::LongText { name, begin, got, most: MOST_TEXT });
    }
    let got = all.len();
    match i64::try_from(got) {
        Ok(count) if (1..=MOST_CATEGORIES).contains(&got) => Ok(((0, count - 1), all)),
        _ => Err(QueryError::Categories { name: name.to_owned(), got, most: MOST_CATEGORIES }),
    }
}

/// Fails if a domain has too many values.
fn wide(field: &Field) -> Result<(), QueryError> {
    if field.coded_bits() <= MOST_BITS {
        return Ok(());
    }
    let [low, high] = [field.low, field.high].map(|end| field.show(end));
    Err(QueryError::TooWide { bits: field.coded_bits(), name: field.name.clone(), low, high, most: MOST_BITS })
}
