//! Columns from cells: numbers, dates or texts, and cells for which a column is none of these.
//!
//! A column of numbers never becomes one of texts for a few cells: compared as texts, 9 is above 10.

use super::{
    error::QueryError,
    table::{Column, Decimal, Kind, MOST_DIGITS, MOST_POINT, read_date},
};

/// What a file says of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Declared {
    /// Nothing: its cells decide.
    Nothing,
    /// Texts, which stay texts though all of them look like numbers: 01 is not 1, and 10 stands before 9. Dates if all of
    /// them are: their order is that of their texts.
    Text,
    /// Texts of a list that both sides know: none of them is a number or a date, whatever it looks like.
    Listed,
    Number,
    Date,
    /// What a query does not take, in words.
    Other(&'static str),
}

impl Declared {
    /// The same where columns are named whose texts both sides know.
    pub(super) fn listed(self, name: &str, texts: &[&str]) -> Self {
        let named = texts.iter().any(|of_texts| of_texts.eq_ignore_ascii_case(name));
        if named && matches!(self, Self::Nothing | Self::Text) { Self::Listed } else { self }
    }
}

/// Why a column cannot be used, as its first such cell has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Row number, from 1.
    row: usize,
    got: String,
    fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The column has values of a type that is not taken.
    Type,
    /// A cell that is no number or date that is taken, where all others are.
    Limit(Kind),
    /// A text in a column of which nearly all cells are numbers or dates.
    Stray(Kind),
}

impl Flaw {
    /// The error of a query that uses the column.
    pub(super) fn error(&self, name: &str) -> QueryError {
        let (name, row, got) = (name.to_owned(), self.row, self.got.clone());
        match self.fault {
            Fault::Type => QueryError::Type { name, got },
            Fault::Limit(kind) | Fault::Stray(kind) => {
                let got = format!("{got:?}");
                let wanted = match kind {
                    Kind::Date => "date YYYY-MM-DD".into(),
                    _ => format!("number of at most {MOST_DIGITS} digits, {MOST_POINT} of them behind the point"),
                };
                QueryError::Cell { name, row, got, wanted }
            }
        }
    }

    /// Whether the column has texts, so that equal cells are equal keys.
    pub(super) fn is_of_texts(&self) -> bool {
        matches!(self.fault, Fault::Stray(_))
    }
}

/// Cells that stand for no value.
fn missing(cell: &str) -> bool {
    ["nan", "na", "n/a", "none", "inf", "-inf", "infinity", "-infinity"]
        .iter()
        .any(|word| cell.eq_ignore_ascii_case(word))
}

/// A number, be it beyond what is taken.
fn numeric(cell: &str) -> bool {
    cell.trim_start_matches(['-', '+', '.']).starts_with(|c: char| c.is_ascii_digit()) && cell.parse::<f64>().is_ok()
}

/// A date or a time, be it one that does not exist or is written otherwise.
fn datelike(cell: &str) -> bool {
    cell.starts_with(|c: char| c.is_ascii_digit()) && cell.chars().all(|c| c.is_ascii_digit() || "-/.: TZ+".contains(c))
}

/// The kind that all cells have.
fn kind_of(cells: &[&str]) -> Option<Kind> {
    let decimals = || cells.iter().map(|cell| Decimal::read(cell)).collect::<Option<Vec<_>>>();
    match decimals() {
        Some(all) => Some(Kind::Number(all.iter().map(|d| d.digits).max().unwrap_or(0))),
        None => cells.iter().all(|cell| read_date(cell).is_some()).then_some(Kind::Date),
    }
}

/// The first cell that is not of the kind that the column seems to have.
fn stray(cells: &[&str]) -> Option<(usize, Fault)> {
    type Read = fn(&str) -> bool;
    let number: Read = |cell| Decimal::read(cell).is_some();
    let date: Read = |cell| read_date(cell).is_some();
    let kinds = [(Kind::Number(0), number, numeric as Read), (Kind::Date, date, datelike as Read)];
    kinds.into_iter().find_map(|(kind, read, like)| {
        let first = cells.iter().position(|cell| !read(cell))?;
        let count = cells.iter().filter(|cell| read(cell)).count();
        let begun = count > 0 || (kind != Kind::Date && cells.iter().any(|cell| like(cell)));
        if begun && cells.iter().all(|cell| read(cell) || like(cell) || missing(cell)) {
            return Some((first, Fault::Limit(kind)));
        }
        (count >= cells.len() - cells.len() / 10).then_some((first, Fault::Stray(kind)))
    })
}

/// What a text file writes for NULL: nothing, or what databases write.
fn is_null(cell: &str) -> bool {
    cell.is_empty() || cell.eq_ignore_ascii_case("null") || cell == "\\N"
}

/// The cells that are not NULL, and their rows.
struct Present<'a> {
    texts: Vec<&'a str>,
    rows: Vec<usize>,
}

impl<'a> Present<'a> {
    fn of(cells: &'a [Option<String>], has_value: impl Fn(&str) -> bool) -> Self {
        let all = cells.iter().enumerate().filter_map(|(row, cell)| Some((row, cell.as_deref()?)));
        let (rows, texts) = all.filter(|(_, cell)| has_value(cell)).unzip();
        Self { texts, rows }
    }

    /// The column of these cells with NULL in the other rows.
    fn spread(&self, values: &Column, rows: usize) -> Column {
        let (kind, of_values) = &values.cells;
        let (mut cells, mut nulls) = (vec![0; rows], vec![true; rows]);
        self.rows.iter().zip(of_values).for_each(|(&row, &value)| (cells[row], nulls[row]) = (value, false));
        Column { cells: (*kind, cells), ..values.clone() }.with_nulls(nulls)
    }

    fn flaw(&self, at: usize, first: usize, fault: Fault) -> Flaw {
        Flaw { row: first + self.rows[at] + 1, got: self.texts[at].chars().take(40).collect(), fault }
    }
}

impl Column {
    /// A column from the cells of rows from `first` on; `None` is NULL. In a file that says nothing of its columns, an empty
    /// cell among numbers or dates is NULL too.
    pub(super) fn read(name: &str, cells: &[Option<String>], declared: &Declared, first: usize) -> Self {
        if let Declared::Other(got) = declared {
            let flaw = Flaw { row: first + 1, got: (*got).to_owned(), fault: Fault::Type };
            return Self { flaw: Some(flaw), ..Self::texts(name, &vec![""; cells.len()]) };
        }
        let open = *declared == Declared::Nothing;
        let values = Present::of(cells, |cell| !(open && is_null(cell)));
        let kind = match declared {
            Declared::Date => Some(Kind::Date),
            Declared::Number => {
                let all = values.texts.iter().map(|cell| Decimal::read(cell).map_or(0, |d| d.digits));
                Some(Kind::Number(all.max().unwrap_or(0)))
            }
            Declared::Listed | Declared::Other(_) => None,
            Declared::Text if values.texts.is_empty() => None,
            // Nothing in any row is NULL in all; `null` alone is a text.
            Declared::Nothing if values.texts.is_empty() && !cells.iter().flatten().all(String::is_empty) => None,
            Declared::Text => kind_of(&values.texts).filter(|kind| *kind == Kind::Date),
            Declared::Nothing => kind_of(&values.texts),
        };
        let Some(kind) = kind else {
            // Among texts an empty cell is the empty text.
            let texts = Present::of(cells, |_| true);
            let column = texts.spread(&Self::texts(name, &texts.texts), cells.len());
            return match stray(&values.texts).filter(|_| open && !values.texts.is_empty()) {
                Some((at, fault)) => Self { flaw: Some(values.flaw(at, first, fault)), ..column },
                None => column,
            };
        };
        let most = |cell: &str| Decimal::read(cell).is_none_or(|d| d.digits <= MOST_POINT);
        let read = |cell: &&str| kind.read(cell).filter(|_| kind == Kind::Date || most(cell));
        match values.texts.iter().map(read).collect::<Option<Vec<i64>>>() {
            Some(numbers) => values.spread(&Self::new(name, kind, numbers), cells.len()),
            None => {
                let at = values.texts.iter().position(|cell| read(cell).is_none()).unwrap_or(0);
                let texts = Present::of(cells, |_| true);
                let column = texts.spread(&Self::texts(name, &texts.texts), cells.len());
                Self { flaw: Some(values.flaw(at, first, Fault::Limit(kind))), ..column }
            }
        }
    }

    /// A column from its cells, of which nothing is said.
    #[must_use]
    pub fn of_cells(name: &str, cells: &[&str]) -> Self {
        let cells: Vec<Option<String>> = cells.iter().map(|&cell| Some(cell.to_owned())).collect();
        Self::read(name, &cells, &Declared::Nothing, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(cells: &[Option<&str>], declared: &Declared) -> Option<String> {
        let cells: Vec<Option<String>> = cells.iter().map(|cell| cell.map(str::to_owned)).collect();
        Column::read("c", &cells, declared, 10).flaw.map(|flaw| flaw.error("c").to_string())
    }

    #[test]
    fn columns_of_numbers_do_not_become_texts() {
        for (cell, wanted) in [
            ("1000000000000000000", "\"1000000000000000000\" is no number of at most 18 digits, 9 of them"),
            ("NaN", "\"NaN\" is no number"),
            ("0.1234567891", "is no number of at most 18 digits"),
            ("1e5", "is no number"),
            ("-inf", "is no number"),
            ("NA", "is no number"),
        ] {
            let found = flaw(&[Some("1"), Some(cell), Some("3")], &Declared::Nothing).unwrap();
            assert!(found.contains("column c, row 12: ") && found.contains(wanted), "{cell}: {found}");
        }
        for cell in ["2026-02-30", "nan", "2026/01/01", "2026-01-01 10:00:00"] {
            let found = flaw(&[Some("2026-01-01"), Some(cell)], &Declared::Nothing).unwrap();
            assert!(found.contains("is no date YYYY-MM-DD"), "{cell}: {found}");
        }
        // Nine decimal places leave nine digits before the point.
        let found = flaw(&[Some("0.000000001"), Some("99999999999999999")], &Declared::Nothing).unwrap();
        assert!(found.contains("row 12"), "{found}");
        let many: Vec<Option<&str>> = [Some("7"); 19].into_iter().chain([Some("seven")]).collect();
        assert!(flaw(&many, &Declared::Nothing).unwrap().contains("row 30: \"seven\" is no number"));
        assert_eq!(flaw(&[Some("7"), Some("seven")], &Declared::Nothing), None, "these are texts");
        assert_eq!(flaw(&[Some(""), Some("x")], &Declared::Nothing), None);
    }

    #[test]
    fn empty_cells_among_numbers_are_null() {
        let read = |cells: &[Option<&str>], declared: &Declared| {
            let cells: Vec<Option<String>> = cells.iter().map(|cell| cell.map(str::to_owned)).collect();
            let column = Column::read("c", &cells, declared, 0);
            assert_eq!(column.flaw, None);
            (column.cells, column.categories.join("|"), column.nulls)
        };
        let (open, no) = (&Declared::Nothing, Vec::new());
        let nulls = vec![false, true, true, true, false];
        let cells = [Some("1.5"), Some(""), Some("NULL"), Some("\\N"), Some("-2")];
        assert_eq!(read(&cells, open), ((Kind::Number(1), vec![15, 0, 0, 0, -20]), String::new(), nulls));
        let days = read(&[Some(""), Some("1970-01-02")], open);
        assert_eq!(days, ((Kind::Date, vec![0, 1]), String::new(), vec![true, false]));
        // Among texts they are texts, and nothing else is NULL but what the file says.
        let texts = read(&[Some(""), Some("x"), Some("null")], open);
        assert_eq!(texts, ((Kind::Text, vec![0, 2, 1]), "|null|x".into(), no.clone()));
        let nothing = read(&[Some(""), Some("")], open);
        assert_eq!(nothing, ((Kind::Number(0), vec![0, 0]), String::new(), vec![true, true]));
        assert_eq!(read(&[Some("")], &Declared::Listed), ((Kind::Text, vec![0]), String::new(), no));
        let texts = read(&[None, Some("b"), Some("a")], &Declared::Text);
        assert_eq!(texts, ((Kind::Text, vec![0, 1, 0]), "a|b".into(), vec![true, false, false]));
        let numbers = read(&[Some("0.25"), None], &Declared::Number);
        assert_eq!(numbers, ((Kind::Number(2), vec![25, 0]), String::new(), vec![false, true]));
    }

    #[test]
    fn what_a_file_says_of_a_column_is_kept() {
        let nan = flaw(&[Some("NaN"), Some("x")], &Declared::Number).unwrap();
        assert!(nan.contains("row 11: \"NaN\" is no number"), "{nan}");
        assert!(flaw(&[Some("+12026-01-01")], &Declared::Date).unwrap().contains("no date"));
        let bytes = flaw(&[Some("[1]")], &Declared::Other("bytes without a text mark")).unwrap();
        assert!(bytes.contains("column c holds bytes without a text mark"), "{bytes}");
        for cell in ["", "1e5", "1000000000000000000", "01"] {
            assert_eq!(flaw(&[Some("1"), Some(cell)], &Declared::Text), None, "{cell}");
        }
        let declared_texts =
            |cells: [&str; 3]| Column::read("c", &cells.map(|cell| Some(cell.into())), &Declared::Text, 0);
        let (zips, days) =
            (declared_texts(["9", "01", "1"]), declared_texts(["2026-01-02", "1970-01-01", "2026-01-02"]));
        assert_eq!(
            (zips.cells, &zips.categories[..]),
            ((Kind::Text, vec![2, 0, 1]), &["01".into(), "1".into(), "9".into()][..])
        );
        assert_eq!((days.cells.0, days.categories.len()), (Kind::Date, 0));
    }
}
