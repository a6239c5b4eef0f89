//! Tables from files: CSV (comma, semicolon or tab, with a header), TPC-H's `.tbl`, Parquet ([`super::parquet`]). File
//! contents are hostile: every read is bounded, and errors name the position.

use super::{
    cells::Declared,
    error::QueryError,
    parquet,
    question::MOST_ROWS,
    table::{Column, Table},
    tpch,
};
use crate::{
    data::{
        DataError,
        dataset::{io_error, open_plain, starts_with},
    },
    workload::Part,
};
use std::{borrow::Cow, io::Read as _, path::Path};

/// Longest text table.
const MOST_BYTES: u64 = 1 << 30;
pub(super) const MOST_COLUMNS: usize = 4096;
/// Magic number of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

pub(super) fn format(path: &Path, got: impl Into<String>, wanted: &str, next: &str) -> QueryError {
    DataError::Format { path: path.to_owned(), got: got.into(), wanted: wanted.into(), next: next.into() }.into()
}

/// The first rows of a table. Columns that are named are of texts, unless the file says that they are not.
pub fn load(path: &Path, rows: Option<usize>, texts: &[&str]) -> Result<Table, QueryError> {
    // One row more than the limit, so that an overlong table is detected.
    load_part(path, Part { first: 0, count: rows.unwrap_or(MOST_ROWS + 1) }, texts)
}

/// Rows of a table; fewer where it ends. A folder is a table of Parquet files. Parquet is recognized by its magic number and
/// `.tbl` by its name; other files are text with a header. Of Parquet only the row groups of these rows are decoded.
pub fn load_part(path: &Path, rows: Part, texts: &[&str]) -> Result<Table, QueryError> {
    let table = match path.is_dir() || starts_with(path, PARQUET)? {
        true => parquet::read(path, rows, texts)?,
        false => {
            let (file, _) = open_plain(path)?;
            let mut bytes = Vec::new();
            file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|e| io_error(path, e))?;
            let is_tbl = path.extension().is_some_and(|e| e == "tbl");
            let names = if is_tbl { Some(&tpch::COLUMNS[..]) } else { None };
            text((path, &bytes), (names, texts), rows.first.saturating_add(rows.count))?.part(rows)
        }
    };
    if table.rows == 0 {
        return Err(DataError::Empty { path: path.to_owned() }.into());
    }
    Ok(table)
}

/// A text table: `|`-separated with the names of TPC-H's columns, or with a header.
pub(super) fn text(
    (path, bytes): (&Path, &[u8]),
    (names, texts): (Option<&[&str]>, &[&str]),
    most: usize,
) -> Result<Table, QueryError> {
    let first = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    let delimiter = match names {
        Some(_) => b'|',
        None => [b'\t', b';', b','].into_iter().find(|d| first.contains(d)).unwrap_or(b','),
    };
    let alone = names.is_none() && !first.contains(&delimiter);
    let bytes = &if alone { with_empty_cells(bytes) } else { bytes.into() }[..];
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(names.is_none())
        .trim(csv::Trim::All)
        .quoting(names.is_none())
        .flexible(true)
        .from_reader(bytes);
    let wrong = |e: csv::Error| format(path, e.to_string(), "a text table in UTF-8", "check its quotes and delimiters");
    let names: Vec<String> = match names {
        Some(names) => names.iter().map(|&name| name.to_owned()).collect(),
        None => {
            reader.headers().map_err(wrong)?.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect()
        }
    };
    if names.len() > MOST_COLUMNS {
        return Err(format(path, format!("{} columns", names.len()), "at most 4096", "is it the right file?"));
    }
    let mut cells: Vec<Vec<Option<String>>> = vec![Vec::new(); names.len()];
    for record in reader.records().take(most) {
        let record = record.map_err(wrong)?;
        // TPC-H's rows end with a delimiter.
        let got =
            if delimiter == b'|' && record.iter().next_back() == Some("") { record.len() - 1 } else { record.len() };
        if got != names.len() {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(DataError::Ragged { path: path.to_owned(), line, got, wanted: names.len() }.into());
        }
        cells.iter_mut().zip(&record).for_each(|(column, cell)| column.push(Some(cell.to_owned())));
    }
    let rows = cells.first().map_or(0, Vec::len);
    let column =
        |(name, cells): (&String, &Vec<_>)| Column::read(name, cells, &Declared::Nothing.listed(name, texts), 0);
    Ok(Table { name: None, columns: names.iter().zip(&cells).map(column).collect(), rows })
}

/// A file of one column in which a blank line is an empty cell, which readers of CSV pass over.
fn with_empty_cells(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut quoted = false;
    let (mut all, mut changed) = (Vec::with_capacity(bytes.len()), false);
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        let blank = !quoted && matches!(line, b"\n" | b"\r\n");
        if blank {
            all.extend(b"\"\"");
        }
        all.extend(line);
        changed |= blank;
        quoted ^= line.iter().filter(|&&b| b == b'"').count() % 2 == 1;
    }
    if changed { all.into() } else { bytes.into() }
}

#[cfg(test)]
mod tests {
    use super::super::table::Kind;
    use super::*;

    fn read(text_of: &str, names: Option<&[&str]>) -> Result<Table, QueryError> {
        text((Path::new("t.csv"), text_of.as_bytes()), (names, &[]), 10)
    }

    #[test]
    fn text_tables() {
        let table = read("a;b;c\n1;0.5;x\n2; 1.25;y\n", None).unwrap();
        assert_eq!(table.column("B").unwrap().cells, (Kind::Number(2), vec![50, 125]));
        assert_eq!(table.rows, 2);
        let table = read("1|1994-01-01|\n2|1994-01-02|\n", Some(&["k", "d"])).unwrap();
        assert_eq!(table.column("d").unwrap().cells, (Kind::Date, vec![8766, 8767]));
        let error = read("a,b\n1,2\n3\n", None).unwrap_err().to_string();
        assert!(error.contains("line 3: 1 columns, but the first row has 2"), "{error}");
        let of = |bytes, most| text((Path::new("t.csv"), bytes), (None, &["A"]), most);
        assert!(of(b"a,b\n1,\xff\n", 10).unwrap_err().to_string().contains("UTF-8"));
        assert_eq!(of(b"a\n1\n2\n3\n", 2).unwrap().rows, 2);
        // As in DuckDB a blank line is a row of a file of one column, and none of others.
        let blank = read("n\n1\n\n2\n", None).unwrap();
        assert_eq!((blank.rows, &blank.columns[0].nulls[..]), (3, &[false, true, false][..]));
        assert_eq!(read("n\r\nx\r\n\r\ny\r\n", None).unwrap().columns[0].categories, ["", "x", "y"]);
        assert_eq!(read("n\n\"x\n\ny\"\nz", None).unwrap().rows, 2, "a blank line in quotes");
        assert_eq!(read("n,m\n1,1\n\n2,2\n", None).unwrap().rows, 2);
        let zips = of(b"a,b\n1,7\n01,8\n,9\n", 9).unwrap();
        assert_eq!(zips.columns[0].cells, (Kind::Text, vec![2, 1, 0]), "each text is itself");
        assert_eq!(zips.columns[1].cells, (Kind::Number(0), vec![7, 8, 9]));
    }
}
