//! Tables of whole numbers: integers, decimals as multiples of their last digit, dates as days.
//!
//! All values are exact: a decimal never passes through a float.

use super::{cells::Flaw, error::QueryError};
use crate::workload::Part;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most digits of a number.
pub(super) const MOST_DIGITS: usize = 18;
/// Most of them behind the point.
pub(super) const MOST_POINT: u32 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Decimals with this many decimal places, as multiples of the last one; 0 for integers.
    Number(u32),
    /// Days since 1970-01-01.
    Date,
    /// Texts, as numbers of the values that both sides know.
    Text,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(0) => f.write_str("integers"),
            Self::Number(digits) => write!(f, "decimals with {digits} digits behind the point"),
            Self::Date => f.write_str("dates"),
            Self::Text => f.write_str("texts"),
        }
    }
}

impl Kind {
    /// A value as text.
    pub fn show(self, value: i64) -> String {
        match self {
            Self::Number(0) | Self::Text => value.to_string(),
            Self::Number(digits) => Decimal { mantissa: value.into(), digits }.to_string(),
            Self::Date => {
                let (year, month, day) = civil(value);
                format!("{year:04}-{month:02}-{day:02}")
            }
        }
    }

    /// Parses a cell.
    pub fn read(self, cell: &str) -> Option<i64> {
        match self {
            Self::Number(digits) => Decimal::read(cell)?.in_units(digits),
            Self::Date => read_date(cell),
            Self::Text => None,
        }
    }
}

/// A decimal number: `mantissa · 10^(−digits)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    pub mantissa: i128,
    /// Number of decimal places.
    pub digits: u32,
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digits == 0 {
            return write!(f, "{}", self.mantissa);
        }
        let unit = 10u128.pow(self.digits);
        let (sign, size) = (if self.mantissa < 0 { "-" } else { "" }, self.mantissa.unsigned_abs());
        write!(f, "{sign}{}.{:0width$}", size / unit, size % unit, width = self.digits as usize)
    }
}

impl Decimal {
    /// Parses a decimal of at most 18 digits.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (sign, size) = match text.as_bytes().first()? {
            b'-' => (-1, &text[1..]),
            b'+' => (1, &text[1..]),
            _ => (1, text),
        };
        let (whole, part) = size.split_once('.').unwrap_or((size, ""));
        let all = [whole, part].concat();
        let is_number = !all.is_empty() && all.len() <= MOST_DIGITS && all.bytes().all(|b| b.is_ascii_digit());
        let mantissa: i128 = is_number.then(|| all.parse().ok())??;
        Some(Self { mantissa: sign * mantissa, digits: u32::try_from(part.len()).ok()? })
    }

    /// The exact sum. It saturates above 10^19, which no column reaches.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let digits = self.digits.max(other.digits);
        let aligned = |x: Self| x.mantissa.saturating_mul(10i128.pow(digits - x.digits));
        Self { mantissa: aligned(self).saturating_add(aligned(other)), digits }
    }

    /// The largest multiple of `10^(−digits)` that is not above the number, and whether they are equal.
    pub fn floor_in(self, digits: u32) -> (i128, bool) {
        if digits >= self.digits {
            return (self.mantissa.saturating_mul(10i128.pow(digits - self.digits)), true);
        }
        let unit = 10i128.pow(self.digits - digits);
        (self.mantissa.div_euclid(unit), self.mantissa.rem_euclid(unit) == 0)
    }

    #[must_use]
    pub fn negated(self) -> Self {
        Self { mantissa: self.mantissa.saturating_neg(), ..self }
    }

    /// The number as a multiple of `10^(−digits)`, if it is one.
    fn in_units(self, digits: u32) -> Option<i64> {
        match self.floor_in(digits) {
            (value, true) => i64::try_from(value).ok(),
            _ => None,
        }
    }
}

/// Days since 1970-01-01 of a Gregorian date. The algorithm uses 400-year cycles, with years that begin in March.
pub fn days((year, month, day): (i64, i64, i64)) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// The date of a day number: inverse of [`days`].
pub fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (year, day) = (year + era * 400, of_year - (153 * month + 2) / 5 + 1);
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// Days since 1970-01-01 of `YYYY-MM-DD`, if that date exists.
pub fn read_date(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let number = |range: std::ops::Range<usize>| {
        let text = text.get(range)?;
        text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<i64>().ok())?
    };
    let date = (number(0..4)?, number(5..7)?, number(8..10)?);
    let day = (1..=12).contains(&date.1).then(|| days(date))?;
    (civil(day) == date).then_some(day)
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    /// Its values; those of texts are numbers of [`Self::categories`].
    pub cells: (Kind, Vec<i64>),
    /// The different texts, in their order; empty for numbers and dates.
    pub categories: Vec<String>,
    /// The rows that have NULL; empty where none has. Their cells are 0.
    pub nulls: Vec<bool>,
    /// Why a query cannot use it.
    pub flaw: Option<Flaw>,
}

impl Column {
    /// Numbers or dates.
    #[must_use]
    pub fn new(name: &str, kind: Kind, values: Vec<i64>) -> Self {
        Self { name: name.to_owned(), cells: (kind, values), categories: Vec::new(), nulls: Vec::new(), flaw: None }
    }

    /// Texts, each as the number of its value.
    #[must_use]
    pub fn texts(name: &str, cells: &[&str]) -> Self {
        let different: std::collections::BTreeSet<&str> = cells.iter().copied().collect();
        let categories: Vec<String> = different.into_iter().map(str::to_owned).collect();
        let number = |cell: &&str| categories.partition_point(|text| text.as_str() < *cell);
        #[expect(clippy::cast_possible_wrap, reason = "fewer texts than rows of a file")]
        let values = cells.iter().map(|cell| number(cell) as i64).collect();
        Self { name: name.to_owned(), cells: (Kind::Text, values), categories, nulls: Vec::new(), flaw: None }
    }

    /// Texts, and NULL.
    #[must_use]
    pub(super) fn of_texts(name: &str, cells: &[Option<&str>]) -> Self {
        let known: Vec<&str> = cells.iter().flatten().copied().collect();
        let mut column = Self::texts(name, &known);
        let mut numbers = column.cells.1.iter().copied();
        let cells_of = |cell: &Option<&str>| cell.and_then(|_| numbers.next()).unwrap_or(0);
        let all = cells.iter().map(cells_of).collect();
        column.cells.1 = all;
        column.with_nulls(cells.iter().map(Option::is_none).collect())
    }

    /// The text of a row; none of NULL, or of a column of numbers or dates.
    pub(super) fn text(&self, row: usize) -> Option<&str> {
        let at = usize::try_from(*self.cells.1.get(row)?).ok().filter(|_| !self.is_null(row))?;
        self.categories.get(at).map(String::as_str)
    }

    /// The column with NULL in these rows.
    #[must_use]
    pub fn with_nulls(mut self, nulls: Vec<bool>) -> Self {
        self.cells.1.iter_mut().zip(&nulls).filter(|(_, null)| **null).for_each(|(cell, _)| *cell = 0);
        self.nulls = if nulls.contains(&true) { nulls } else { Vec::new() };
        self
    }

    /// Whether a row has NULL.
    #[must_use]
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.get(row) == Some(&true)
    }

    /// The cells that are not NULL.
    pub(super) fn present(&self) -> impl Iterator<Item = i64> {
        let all = self.cells.1.iter().enumerate();
        all.filter(|(row, _)| !self.is_null(*row)).map(|(_, &cell)| cell)
    }

    /// These rows of the column, and NULL for none. Texts keep the numbers that they have in the whole.
    pub(super) fn taken(&self, rows: impl Iterator<Item = Option<usize>> + Clone) -> Self {
        let nulls = rows.clone().map(|row| row.is_none_or(|row| self.is_null(row))).collect();
        let cells = rows.map(|row| row.map_or(0, |row| self.cells.1[row])).collect();
        let (name, categories, flaw) = (self.name.clone(), self.categories.clone(), self.flaw.clone());
        Self { name, cells: (self.cells.0, cells), categories, nulls: Vec::new(), flaw }.with_nulls(nulls)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name of the table in a query; `None` for a file, which accepts any name.
    pub name: Option<String>,
    /// Columns, all of one length.
    pub columns: Vec<Column>,
    pub rows: usize,
}

impl Table {
    /// The table cut to its first rows.
    #[must_use]
    pub fn first(self, rows: usize) -> Self {
        self.part(Part { first: 0, count: rows })
    }

    /// The rows of a part; fewer where the table ends. Texts keep the numbers that they have in the whole.
    #[must_use]
    pub fn part(&self, part: Part) -> Self {
        let range = part.first.min(self.rows)..part.first.saturating_add(part.count).min(self.rows);
        let columns = self.columns.iter().map(|column| column.taken(range.clone().map(Some))).collect();
        Self { name: self.name.clone(), columns, rows: range.len() }
    }

    /// A column that values are taken from.
    ///
    /// # Errors
    /// A column that is not there or has a [`Flaw`].
    pub(super) fn usable(&self, name: &str) -> Result<&Column, QueryError> {
        let column = self.column(name)?;
        column.flaw.as_ref().map_or(Ok(column), |flaw| Err(flaw.error(&column.name)))
    }

    /// A column.
    pub fn column(&self, name: &str) -> Result<&Column, QueryError> {
        let named = || self.columns.iter().filter(|column| column.name.eq_ignore_ascii_case(name));
        if named().count() > 1 {
            return Err(QueryError::Ambiguous { name: name.to_owned(), count: named().count() });
        }
        let of_tables =
            |column: &&Column| column.name.rsplit_once('.').is_some_and(|(_, own)| own.eq_ignore_ascii_case(name));
        if named().next().is_none() && self.columns.iter().filter(of_tables).count() > 1 {
            let known = self.columns.iter().filter(of_tables).map(|column| column.name.as_str()).collect::<Vec<_>>();
            return Err(QueryError::Shared { name: name.to_owned(), known: known.join(" or ") });
        }
        named().next().ok_or_else(|| {
            let known = self.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ");
            let table = self.name.as_ref().map_or_else(|| "the file".into(), |name| format!("table {name}"));
            QueryError::UnknownColumn { table, name: name.to_owned(), known }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_both_ways() {
        assert_eq!([days((1970, 1, 1)), days((1992, 1, 1)), days((2000, 2, 29))], [0, 8035, 11_016]);
        for day in -200_000..200_000 {
            let next = civil(day + 1);
            assert_eq!(days(civil(day)), day);
            assert!(next > civil(day), "{day}");
        }
        assert_eq!(read_date("1994-01-01"), Some(8766));
        for bad in ["1994-02-30", "1994-13-01", "1994-1-1", "94-01-01", "1994/01/01", "", "1994-01-0x", "é994-01-1"] {
            assert_eq!(read_date(bad), None, "{bad}");
        }
    }

    #[test]
    fn decimals_are_exact() {
        let read = |text| Decimal::read(text).unwrap();
        assert_eq!(read("-12.340"), Decimal { mantissa: -12_340, digits: 3 });
        assert_eq!(read("0.06").plus(read("-0.010")).to_string(), "0.050");
        assert_eq!((read("0.055").floor_in(2), read("-0.055").floor_in(2)), ((5, false), (-6, false)));
        assert_eq!((read("7").floor_in(2), read("7.00").floor_in(0)), ((700, true), (7, true)));
        let large =
            (0..2000).fold(read("0"), |sum, _| sum.plus(read("999999999999999999")).plus(read("0.00000000000000001")));
        assert!(large.negated().floor_in(9).0 < -(1 << 100), "no overflow");
        for bad in ["", "-", ".", "1e5", "1.2.3", "nan", "1234567890123456789", "0x10", " 1"] {
            assert_eq!(Decimal::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn columns_find_their_kind() {
        let column = |cells: &[&str]| Column::of_cells("c", cells);
        assert_eq!(column(&["1", "-2"]).cells, (Kind::Number(0), vec![1, -2]));
        assert_eq!(column(&["1", "0.25", "3.5"]).cells, (Kind::Number(2), vec![100, 25, 350]));
        assert_eq!(column(&["1970-01-02"]).cells, (Kind::Date, vec![1]));
        let texts = column(&["x", "1", "x", "é"]);
        assert_eq!(
            (texts.cells, texts.categories),
            ((Kind::Text, vec![1, 0, 1, 2]), vec!["1".into(), "x".into(), "é".into()])
        );
        assert_eq!((Kind::Number(2).show(-5), Kind::Date.show(8766)), ("-0.05".into(), "1994-01-01".into()));
    }
}
