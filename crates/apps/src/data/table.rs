//! Numeric tables: comma-, semicolon-, tab- or space-separated, with or without a header.
//!
//! The delimiter is found in the first line. One column is the label, every other cell must be a finite number.

use std::convert::Infallible;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use csv::StringRecord;
use serde::{Deserialize, Serialize};

use super::Gaps;
use super::dataset::{DataSet, io_error, name_of, open_plain};
use super::error::DataError;
use super::npy::Numbers;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum LabelColumn {
    First,
    #[default]
    Last,
    /// A column by its number, from 1.
    Index(usize),
    Name(String),
}

impl FromStr for LabelColumn {
    type Err = Infallible;

    /// `first`, `last`, a number from 1, or else a column's name.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match (text, text.parse()) {
            ("first", _) => Self::First,
            ("last", _) => Self::Last,
            (_, Ok(index)) => Self::Index(index),
            (name, Err(_)) => Self::Name(name.to_owned()),
        })
    }
}

impl From<String> for LabelColumn {
    fn from(text: String) -> Self {
        let Ok(column) = text.parse();
        column
    }
}

impl From<LabelColumn> for String {
    fn from(column: LabelColumn) -> Self {
        column.to_string()
    }
}

impl fmt::Display for LabelColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("first"),
            Self::Last => f.write_str("last"),
            Self::Index(index) => write!(f, "{index}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// Whether the first row names the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// It does when none of its cells is a number.
    #[default]
    Detect,
    Present,
    Absent,
}

/// Reads a table from a file.
///
/// # Errors
/// [`DataError`] for a file that is absent, not UTF-8, empty or ragged, for a feature cell that is not a finite
/// number, for a label column that does not exist or does not hold exactly two values.
pub fn load(path: &Path, label: &LabelColumn, header: Header) -> Result<DataSet, DataError> {
    parse(&read_text(path)?, path, label, header)
}

/// The data set of an array of two sides: a row a sample, one column the label.
pub(super) fn of_array(path: &Path, array: &Numbers, label: &LabelColumn) -> Result<DataSet, DataError> {
    let &[_, width] = &array.shape[..] else {
        return Err(DataError::Format {
            path: path.to_owned(),
            got: format!("an array of shape {:?}", array.shape),
            wanted: "two sides, a row a sample".into(),
            next: "reshape it".into(),
        });
    };
    if let Some(z) = array.values.iter().find(|z| z.im != 0.0) {
        return Err(DataError::Format {
            path: path.to_owned(),
            got: format!("the complex number {z}"),
            wanted: "real numbers".into(),
            next: "save the real part".into(),
        });
    }
    let cells: Vec<String> = array.values.iter().map(|z| z.re.to_string()).collect();
    let rows = || cells.chunks_exact(width.max(1)).zip(1..);
    let record = |(row, line): (&[String], u64)| Record { line, fields: row.iter().map(String::as_str).collect() };
    let first = rows().next().map(record).ok_or_else(|| DataError::Empty { path: path.to_owned() })?;
    let columns = Columns::new(path, &first.fields, false, label)?;
    let (mut features, mut labels) = (Vec::new(), Labels::default());
    for row in rows() {
        columns.read(&record(row), &mut features, &mut labels)?;
    }
    let (labels, classes) = labels.finish(&columns)?;
    let feature_names = columns.feature_names();
    Ok(DataSet { name: name_of(path), features, labels, feature_names, classes })
}

/// Reads a table of numbers without header or label: its rows, all of one length.
///
/// # Errors
/// [`DataError`] for a file that is absent, not UTF-8, empty or ragged, or for a cell that is not a finite number.
pub fn load_numbers(path: &Path) -> Result<Vec<Vec<f64>>, DataError> {
    load_numbers_with(path, Gaps::Refused)
}

pub(super) fn load_numbers_with(path: &Path, gaps: Gaps) -> Result<Vec<Vec<f64>>, DataError> {
    let text = read_text(path)?;
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let mut keep = |row: Vec<f64>, line| {
        let wanted = rows.first().map_or(row.len(), Vec::len);
        if row.len() != wanted {
            return Err(DataError::Ragged { path: path.to_owned(), line, got: row.len(), wanted });
        }
        rows.push(row);
        Ok(())
    };
    match spaced(&text) {
        // Without a record of text a cell: images come as millions of numbers.
        Some(lines) => lines.into_iter().try_for_each(|(line, text)| {
            let row = match plain(text) {
                true => numbers(text.split_ascii_whitespace(), gaps, (path, line)),
                false => numbers(text.split_whitespace(), gaps, (path, line)),
            };
            keep(row?, line)
        })?,
        None => {
            for record in records(&text) {
                let Record { line, fields } = record.map_err(|error| unreadable(path, &error))?;
                keep(numbers(fields.iter(), gaps, (path, line))?, line)?;
            }
        }
    }
    if rows.is_empty() { Err(DataError::Empty { path: path.to_owned() }) } else { Ok(rows) }
}

/// Whether a line has no whitespace but that of ASCII, which is found faster.
fn plain(line: &str) -> bool {
    line.bytes().all(|byte| byte.is_ascii() && byte != 0x0b)
}

/// The finite numbers of a row, and NaN for missing ones where they are taken.
fn numbers<'t>(
    cells: impl Iterator<Item = &'t str>,
    gaps: Gaps,
    (path, line): (&Path, u64),
) -> Result<Vec<f64>, DataError> {
    let missing = |cell: &str| ["", "na", "nan", "null"].iter().any(|word| cell.eq_ignore_ascii_case(word));
    let number = |(column, cell): (usize, &str)| match cell.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ if gaps == Gaps::Nan && missing(cell) => Ok(f64::NAN),
        _ => {
            let (path, name, got) = (path.to_owned(), format!("column {}", column + 1), short(cell, 40));
            let next = "give a table of numbers alone, without header or labels";
            Err(DataError::Cell { path, line, column: column + 1, name, got, next })
        }
    };
    cells.enumerate().map(number).collect()
}

/// The lines of a table whose cells are separated by spaces, blank ones left out, with their numbers.
fn spaced(text: &str) -> Option<impl Iterator<Item = (u64, &str)>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let filled = |line: &str| !line.trim_start().is_empty();
    let first = text.lines().find(|line| filled(line)).unwrap_or_default();
    let lines = (1..).zip(text.lines()).filter(move |(_, line)| filled(line));
    delimiter(first).is_none().then_some(lines)
}

/// The text of a plain file.
pub(super) fn read_text(path: &Path) -> Result<String, DataError> {
    let (mut file, _) = open_plain(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|source| io_error(path, source))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count();
        DataError::Format {
            path: path.to_owned(),
            got: format!("line {line}: is not UTF-8 text"),
            wanted: "a text table of numbers".into(),
            next: "convert the file to UTF-8, or check that it is a table".into(),
        }
    })
}

/// Reads a table from text; `path` is used in errors and for the name.
pub(super) fn parse(text: &str, path: &Path, label: &LabelColumn, header: Header) -> Result<DataSet, DataError> {
    let mut records = records(text).map(|record| record.map_err(|error| unreadable(path, &error))).peekable();
    let first = match records.peek() {
        None => return Err(DataError::Empty { path: path.to_owned() }),
        Some(Ok(record)) => record.clone(),
        Some(Err(_)) => return Err(records.next().and_then(Result::err).expect("peeked")),
    };
    let named = match header {
        Header::Present => true,
        Header::Absent => false,
        Header::Detect => !first.fields.iter().any(|cell| cell.parse::<f64>().is_ok()),
    };
    let columns = Columns::new(path, &first.fields, named, label)?;
    let mut features = Vec::new();
    let mut labels = Labels::default();
    for record in records.skip(usize::from(named)) {
        columns.read(&record?, &mut features, &mut labels)?;
    }
    let (labels, classes) = labels.finish(&columns)?;
    let feature_names = columns.feature_names();
    Ok(DataSet { name: name_of(path), features, labels, feature_names, classes })
}

/// One row of the file and the line it starts on.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) line: u64,
    pub(super) fields: StringRecord,
}

/// The rows of a table, blank lines left out, cells trimmed.
pub(super) fn records(text: &str) -> Box<dyn Iterator<Item = Result<Record, csv::Error>> + '_> {
    if let Some(lines) = spaced(text) {
        return Box::new(lines.map(|(line, text)| Ok(Record { line, fields: text.split_whitespace().collect() })));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let delimiter = delimiter(first).unwrap_or(b',');
    let reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let whole = reader.into_records().map(move |record| {
        record.map(|fields| Record { line: fields.position().map_or(0, |at| line_of(text, at)), fields })
    });
    Box::new(whole.filter(|record| !record.as_ref().is_ok_and(|r| r.fields.len() == 1 && r.fields[0].is_empty())))
}

/// The line of a record; its position as told stands before the blank lines in front of it.
fn line_of(text: &str, at: &csv::Position) -> u64 {
    let start = usize::try_from(at.byte()).expect("within the text");
    let blank = text.as_bytes()[start..].iter().take_while(|b| matches!(b, b'\r' | b'\n'));
    blank.fold(at.line(), |line, &byte| line + u64::from(byte == b'\n'))
}

/// The delimiter of a line: the first of tab, semicolon, comma that stands outside quotes; `None` means spaces.
fn delimiter(line: &str) -> Option<u8> {
    let outside: String = line.split('"').step_by(2).collect();
    [b'\t', b';', b','].into_iter().find(|&d| outside.contains(char::from(d)))
}

pub(super) fn unreadable(path: &Path, error: &csv::Error) -> DataError {
    DataError::Format {
        path: path.to_owned(),
        got: format!("cannot be split into rows: {error}"),
        wanted: "a text table of numbers".into(),
        next: "check its quotes and delimiters".into(),
    }
}

/// The columns of one file: their names and which is the label.
struct Columns<'a> {
    path: &'a Path,
    names: Vec<String>,
    label: usize,
}

impl<'a> Columns<'a> {
    fn new(path: &'a Path, first: &StringRecord, named: bool, label: &LabelColumn) -> Result<Self, DataError> {
        let width = first.len();
        if width < 2 {
            return Err(DataError::Format {
                path: path.to_owned(),
                got: "the first row has one column".into(),
                wanted: "at least one feature and a label, separated by comma, semicolon, tab or spaces".into(),
                next: "check the delimiter".into(),
            });
        }
        let names: Vec<String> = match named {
            true => first.iter().map(str::to_owned).collect(),
            false => (1..=width).map(|column| format!("column {column}")).collect(),
        };
        let at = match label {
            LabelColumn::First => Some(0),
            LabelColumn::Last => Some(width - 1),
            LabelColumn::Index(index) => index.checked_sub(1).filter(|&at| at < width),
            LabelColumn::Name(name) if named => names.iter().position(|n| n == name),
            LabelColumn::Name(_) => None,
        };
        let wanted = || match named {
            true => format!("first, last, 1 to {width}, or a name of the header: {}", short(&names.join(", "), 200)),
            false => format!("first, last, or 1 to {width} (the file has no header)"),
        };
        let missing = || DataError::NoLabelColumn { path: path.to_owned(), got: label.to_string(), wanted: wanted() };
        Ok(Self { path, label: at.ok_or_else(missing)?, names })
    }

    fn feature_names(&self) -> Vec<String> {
        self.names.iter().enumerate().filter(|&(c, _)| c != self.label).map(|(_, name)| name.clone()).collect()
    }

    /// Appends one row to `features` and `labels`.
    fn read(&self, record: &Record, features: &mut Vec<f64>, labels: &mut Labels) -> Result<(), DataError> {
        let Record { line, fields } = record;
        if fields.len() != self.names.len() {
            let (got, wanted) = (fields.len(), self.names.len());
            return Err(DataError::Ragged { path: self.path.to_owned(), line: *line, got, wanted });
        }
        for (column, cell) in fields.iter().enumerate() {
            if column == self.label {
                labels.push(self, *line, cell)?;
            } else {
                features.push(self.number(*line, column, cell)?);
            }
        }
        Ok(())
    }

    fn number(&self, line: u64, column: usize, cell: &str) -> Result<f64, DataError> {
        let next = match cell.parse::<f64>() {
            Ok(value) if value.is_finite() => return Ok(value),
            Ok(_) => "remove the row or fill in a value",
            Err(_) if cell.is_empty() => "a value is missing: remove the row or fill in a value",
            Err(_) => "encode categories as numbers, or name this column as the label",
        };
        let (path, name) = (self.path.to_owned(), self.names[column].clone());
        Err(DataError::Cell { path, line, column: column + 1, name, got: short(cell, 40), next })
    }

    fn bad_labels(&self, got: String, next: &'static str) -> DataError {
        let (path, column, name) = (self.path.to_owned(), self.label + 1, self.names[self.label].clone());
        DataError::Labels { path, column, name, got, next }
    }
}

/// The label column while it is read: the distinct values in order of appearance, and which of them each row has.
#[derive(Default)]
struct Labels {
    values: Vec<String>,
    rows: Vec<bool>,
}

impl Labels {
    fn push(&mut self, columns: &Columns<'_>, line: u64, cell: &str) -> Result<(), DataError> {
        if cell.is_empty() || cell.parse::<f64>().is_ok_and(|v| !v.is_finite()) {
            return Err(columns.bad_labels(format!("{cell:?} on line {line}"), "remove the row or fill in a label"));
        }
        let known = self.values.iter().position(|value| same(value, cell));
        let at = known.unwrap_or(self.values.len());
        if at == 2 {
            let [third, first, second] = [cell, &self.values[0], &self.values[1]].map(|value| short(value, 40));
            let got = format!("a third value {third:?} on line {line} after {first:?} and {second:?}");
            return Err(columns.bad_labels(got, "choose the right label column, or keep two classes"));
        }
        if known.is_none() {
            self.values.push(cell.to_owned());
        }
        self.rows.push(at == 1);
        Ok(())
    }

    /// Labels with the larger value (as numbers when both are numbers, else as text) as the positive class.
    fn finish(mut self, columns: &Columns<'_>) -> Result<(Vec<bool>, [String; 2]), DataError> {
        if self.rows.is_empty() {
            return Err(DataError::Empty { path: columns.path.to_owned() });
        }
        let Ok([first, second]) = <[String; 2]>::try_from(std::mem::take(&mut self.values)) else {
            let got = "only one value in all rows".into();
            return Err(columns.bad_labels(got, "choose the right label column, or add rows of the other class"));
        };
        let ordered = match (first.parse::<f64>(), second.parse::<f64>()) {
            (Ok(a), Ok(b)) => a < b,
            _ => first < second,
        };
        match ordered {
            true => Ok((self.rows, [first, second])),
            false => Ok((self.rows.into_iter().map(|label| !label).collect(), [second, first])),
        }
    }
}

/// Whether two label cells mean the same class: `1` and `1.0` do.
fn same(a: &str, b: &str) -> bool {
    a == b || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(x), Ok(y)) if x.total_cmp(&y).is_eq())
}

/// The text, cut after `most` characters.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
