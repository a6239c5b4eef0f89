//! Tables in Parquet: one file, or a folder of files whose sub-folders may be named `column=value`. Only the row groups are
//! decoded that have rows of those asked for.

use super::{
    cells::Declared,
    error::QueryError,
    load::{MOST_COLUMNS, format},
    table::{Column, Kind, Table},
};
use crate::{
    data::{
        DataError,
        dataset::{guarded, io_error, open_plain},
    },
    workload::Part,
};
use parquet::{
    basic::{ConvertedType, LogicalType, Repetition, Type as Physical},
    errors::ParquetError,
    file::reader::{FileReader as _, SerializedFileReader},
    record::Field as Cell,
    schema::types::Type,
};
use std::{
    fs::File,
    path::{Path, PathBuf},
};

/// Most files of a folder.
const MOST_FILES: usize = 4096;
/// What programs that write such folders name one of rows without a value.
const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";
/// Deepest sub-folder.
const MOST_DEPTH: usize = 8;

/// A file of a table, and the columns that its folders' names give.
struct Piece {
    path: PathBuf,
    named: Vec<(String, String)>,
}

fn wrong(path: &Path, error: &ParquetError) -> QueryError {
    format(path, error.to_string(), "a Parquet file, uncompressed or with Snappy", "write it so, or as CSV")
}

fn opened(path: &Path) -> Result<SerializedFileReader<File>, QueryError> {
    let (file, _) = open_plain(path)?;
    SerializedFileReader::new(file).map_err(|e| wrong(path, &e))
}

/// The rows of a file or folder from `first` on, so many at most.
pub(super) fn read(path: &Path, rows: Part, texts: &[&str]) -> Result<Table, QueryError> {
    let mut known: Option<Vec<Named>> = None;
    let mut cells: Vec<Vec<Option<String>>> = Vec::new();
    let (mut before, end) = (0usize, rows.first.saturating_add(rows.count));
    for piece in pieces(path)? {
        if before >= end {
            break;
        }
        let own = guarded(&piece.path, "a Parquet file", || {
            let reader = opened(&piece.path)?;
            let own = columns(&piece, &reader)?;
            let known = known.get_or_insert_with(|| own.clone());
            if *known != own {
                let got = format!("columns {}", listed(&own));
                let wanted = format!("those of the files before it, of the same types: {}", listed(known));
                return Err(format(&piece.path, got, &wanted, "put files of one table into a folder"));
            }
            cells.resize_with(own.len(), Vec::new);
            taken(&piece, &reader, (before, &rows), &mut cells)
        })?;
        before = before.saturating_add(own);
    }
    let column = |((name, declared), cells): (&Named, &Vec<_>)| {
        Column::read(name, cells, &declared.clone().listed(name, texts), rows.first)
    };
    let taken = cells.first().map_or(0, Vec::len);
    let columns = known.unwrap_or_default().iter().zip(&cells).map(column).collect();
    Ok(Table { name: None, columns, rows: taken })
}

/// A column's name, and what the file says of it.
type Named = (String, Declared);

fn listed(columns: &[Named]) -> String {
    columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// A file's columns, with those of its folders.
fn columns(piece: &Piece, reader: &SerializedFileReader<File>) -> Result<Vec<Named>, QueryError> {
    let schema = reader.metadata().file_metadata().schema();
    let own = schema.get_fields().iter().map(|field| (field.name().to_owned(), declared(field)));
    let folders = piece.named.iter().map(|(name, _)| (name.clone(), Declared::Nothing));
    let names: Vec<Named> = own.chain(folders).collect();
    if names.len() == piece.named.len() || names.len() > MOST_COLUMNS {
        let got = format!("{} columns", names.len());
        return Err(format(&piece.path, got, "1 to 4096", "is it the right file?"));
    }
    Ok(names)
}

/// Puts the wanted rows of a file behind the cells; `before` rows came in other files. Returns how many rows it has.
fn taken(
    piece: &Piece,
    reader: &SerializedFileReader<File>,
    (before, rows): (usize, &Part),
    cells: &mut [Vec<Option<String>>],
) -> Result<usize, QueryError> {
    let wrong = |e: ParquetError| wrong(&piece.path, &e);
    let (end, mut at) = (rows.first.saturating_add(rows.count), before);
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number).map_err(wrong)?;
        let count = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let (from, to) = (at.max(rows.first), at.saturating_add(count).min(end));
        if from < to {
            let some = group.get_row_iter(None).map_err(wrong)?.skip(from - at).take(to - from);
            for row in some {
                let row = row.map_err(wrong)?;
                cells.iter_mut().zip(row.get_column_iter()).for_each(|(column, (_, cell))| column.push(written(cell)));
                let named = cells.iter_mut().rev().zip(piece.named.iter().rev());
                named.for_each(|(column, (_, value))| {
                    column.push(Some(value.clone()).filter(|value| value != NO_VALUE))
                });
            }
        }
        at = at.saturating_add(count);
    }
    Ok(at - before)
}

/// The files of a path in their order: itself, or those of a folder.
fn pieces(path: &Path) -> Result<Vec<Piece>, QueryError> {
    if !path.is_dir() {
        return Ok(vec![Piece { path: path.to_owned(), named: Vec::new() }]);
    }
    let mut found = Vec::new();
    within(path, &mut Vec::new(), &mut found)?;
    if found.is_empty() {
        let next = "give a folder of Parquet files, with sub-folders named COLUMN=VALUE if there are any";
        return Err(format(path, "a folder without a file *.parquet", "a table", next));
    }
    Ok(found)
}

fn within(dir: &Path, named: &mut Vec<(String, String)>, found: &mut Vec<Piece>) -> Result<(), QueryError> {
    let entries = std::fs::read_dir(dir).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut paths: Vec<PathBuf> = entries.map_err(|e| io_error(dir, e))?.iter().map(std::fs::DirEntry::path).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Marks of the programs that write such folders: _SUCCESS, ._metadata.crc.
        if name.starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() {
            let Some((column, value)) = part_of(&name) else {
                let wanted = "a name COLUMN=VALUE in UTF-8, with %XX for bytes that names lack";
                return Err(format(&path, "a folder", wanted, "put the files into folders of such names"));
            };
            if named.len() == MOST_DEPTH || named.iter().any(|(known, _)| *known == column) {
                return Err(format(&path, "a folder", "at most 8 levels, each of another column", "flatten it"));
            }
            named.push((column, value));
            within(&path, named, found)?;
            named.pop();
        } else if path.extension().is_some_and(|e| e == "parquet") {
            found.push(Piece { path, named: named.clone() });
        } else {
            return Err(format(&path, "another file", "*.parquet alone", "take it out of the folder"));
        }
        if found.len() > MOST_FILES {
            return Err(DataError::Format {
                path: dir.to_owned(),
                got: format!("more than {MOST_FILES} files"),
                wanted: format!("at most {MOST_FILES}"),
                next: "write larger files".into(),
            }
            .into());
        }
    }
    Ok(())
}

/// The column and the value that a folder is named after.
fn part_of(folder: &str) -> Option<(String, String)> {
    let (column, value) = folder.split_once('=').filter(|(column, _)| !column.is_empty())?;
    Some((unescaped(column)?, unescaped(value)?))
}

/// A name in which programs that write such folders have put %XX for bytes: all but letters, digits and a few signs.
fn unescaped(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|digits| *first == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
        let byte = digits.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}

/// What a schema says of a column.
fn declared(field: &Type) -> Declared {
    if !field.is_primitive() || field.get_basic_info().repetition() == Repetition::REPEATED {
        return Declared::Other("lists or groups");
    }
    match (field.get_basic_info().converted_type(), field.get_physical_type()) {
        (ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON, _) | (_, Physical::BOOLEAN) => Declared::Text,
        (ConvertedType::DATE, _) => Declared::Date,
        (ConvertedType::DECIMAL, _) => Declared::Number,
        (
            ConvertedType::TIME_MILLIS
            | ConvertedType::TIME_MICROS
            | ConvertedType::TIMESTAMP_MILLIS
            | ConvertedType::TIMESTAMP_MICROS
            | ConvertedType::INTERVAL,
            _,
        )
        | (_, Physical::INT96) => Declared::Other("times"),
        (_, Physical::INT32 | Physical::INT64) if is_time(field) => Declared::Other("times"),
        (_, Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE) => Declared::Number,
        (_, Physical::FIXED_LEN_BYTE_ARRAY) if is_float(field) => Declared::Number,
        (_, Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY) => Declared::Other("bytes without a text mark"),
    }
}

/// Times in nanoseconds have no converted type.
fn is_time(field: &Type) -> bool {
    let logical = field.get_basic_info().logical_type_ref();
    matches!(logical, Some(LogicalType::Timestamp { .. } | LogicalType::Time { .. }))
}

fn is_float(field: &Type) -> bool {
    matches!(field.get_basic_info().logical_type_ref(), Some(LogicalType::Float16))
}

/// A cell as text; none for NULL. A float has its shortest digits: 0.1 is 0.1.
fn written(cell: &Cell) -> Option<String> {
    Some(match cell {
        Cell::Null => return None,
        Cell::Str(text) => text.clone(),
        Cell::Date(day) => Kind::Date.show((*day).into()),
        Cell::Float(x) => x.to_string(),
        Cell::Double(x) => x.to_string(),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Question, Statement, load};
    use parquet::{
        data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type},
        file::writer::SerializedFileWriter,
        schema::parser::parse_message_type,
    };
    use std::{fs, sync::Arc};

    /// A file with a row group for each list of days; prices count on.
    fn written_to(path: &Path, groups: &[&[i32]]) {
        let schema = "message t { REQUIRED INT32 day (DATE); REQUIRED INT64 price (DECIMAL(12, 2)); }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let file = File::create(path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
        for days in groups {
            let prices: Vec<i64> = days.iter().map(|&day| i64::from(day) * 100 + 5).collect();
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int32Type>().write_batch(days, None, None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&prices, None, None).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        writer.close().unwrap();
    }

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("limbwise-parquet-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    fn days(table: &Table) -> Vec<i64> {
        table.column("day").unwrap().cells.1.clone()
    }

    /// A file of one optional column of each type, a row `None` and one with a value.
    fn with_nulls(path: &Path) {
        let schema = "message t { REQUIRED INT64 id; OPTIONAL INT64 n; OPTIONAL BYTE_ARRAY s (UTF8); OPTIONAL BYTE_ARRAY b; \
                      REQUIRED INT64 t (TIMESTAMP_MICROS); REQUIRED DOUBLE f; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let text = [ByteArray::from("null")];
        for number in 0..6 {
            let mut column = group.next_column().unwrap().unwrap();
            match number {
                0 | 4 => column.typed::<Int64Type>().write_batch(&[7, 8], None, None),
                1 => column.typed::<Int64Type>().write_batch(&[9], Some(&[1, 0]), None),
                2 | 3 => column.typed::<ByteArrayType>().write_batch(&text, Some(&[1, 0]), None),
                _ => column.typed::<DoubleType>().write_batch(&[0.5, f64::NAN], None, None),
            }
            .unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
    }

    #[test]
    fn columns_that_a_query_does_not_take_are_refused_where_they_are_used() {
        let dir = folder("nulls");
        let path = dir.join("q.parquet");
        with_nulls(&path);
        let ask = |sql: &str| {
            let table = load(&path, None, &[]).unwrap();
            let statement = Statement::parse(sql).unwrap().of_table(&table, &[]).unwrap();
            let found = table.with_derived(&statement).and_then(|table| {
                let question = Question::new(&statement, &table, &[], &[])?;
                Ok(question.passing(&table)?.into_iter().filter(|&row| row).count())
            });
            found.map_err(|e| e.to_string())
        };
        assert_eq!(ask("SELECT COUNT(*) FROM q WHERE id < 8"), Ok(1), "other columns do not matter");
        for (sql, rows) in [
            ("SELECT COUNT(*) FROM q WHERE s = 'null'", 1),
            ("SELECT COUNT(*) FROM q WHERE s IS NULL", 1),
            ("SELECT SUM(n) FROM q WHERE n > 0 OR s IS NULL", 2),
            ("SELECT s, COUNT(*) FROM q WHERE id < 9 GROUP BY s", 2),
            ("SELECT COUNT(*) FROM q WHERE n > id", 1),
        ] {
            assert_eq!(ask(sql), Ok(rows), "{sql}");
        }
        for (sql, wanted) in [
            ("SELECT COUNT(*) FROM q WHERE b = 'null'", "column b holds bytes without a text mark"),
            ("SELECT MIN(t) FROM q WHERE id < 8", "column t holds times"),
            ("SELECT SUM(f) FROM q WHERE id < 8", "column f, row 2: \"NaN\" is no number"),
        ] {
            let error = ask(sql).unwrap_err();
            assert!(error.contains(wanted), "{sql}: {error}");
        }
        let join =
            Statement::parse("SELECT COUNT(*) FROM q JOIN o ON s = k WHERE id < 8").unwrap().from.joins.remove(0);
        let other = Table { name: None, columns: vec![Column::of_cells("k", &["null"])], rows: 1 };
        assert_eq!(load(&path, None, &[]).unwrap().joined(&other, &join).unwrap().rows, 1);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn files_are_read_and_damaged_ones_refused() {
        let dir = folder("file");
        let path = dir.join("q.parquet");
        written_to(&path, &[&[8766, 9131, 0]]);
        let table = load(&path, Some(2), &[]).unwrap();
        assert_eq!(table.column("day").unwrap().cells, (Kind::Date, vec![8766, 9131]));
        assert_eq!(table.column("price").unwrap().cells, (Kind::Number(2), vec![876_605, 913_105]));
        let bytes = fs::read(&path).unwrap();
        for cut in [8, bytes.len() / 2, bytes.len() - 1] {
            fs::write(&path, &bytes[..cut]).unwrap();
            assert!(load(&path, None, &[]).unwrap_err().to_string().contains("a Parquet file"), "{cut}");
        }
        fs::remove_dir_all(dir).unwrap();
    }

    /// A part is read of the row groups that have it: the others may be damaged.
    #[test]
    fn a_part_reads_its_row_groups_alone() {
        let dir = folder("groups");
        let path = dir.join("q.parquet");
        written_to(&path, &[&[1, 2, 3], &[4, 5], &[6], &[7, 8, 9, 10]]);
        for first in 0..11 {
            for count in 1..11 {
                let wanted: Vec<i64> = (1..=10).skip(first).take(count).collect();
                let table = read(&path, Part { first, count }, &[]).unwrap();
                assert_eq!((days(&table), table.rows), (wanted.clone(), wanted.len()), "{first} {count}");
            }
        }
        let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let at = usize::try_from(file.metadata().row_group(3).column(0).data_page_offset()).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[at..at + 8].fill(0xff);
        fs::write(&path, bytes).unwrap();
        assert_eq!(days(&read(&path, Part { first: 3, count: 3 }, &[]).unwrap()), [4, 5, 6]);
        assert!(read(&path, Part { first: 3, count: 4 }, &[]).is_err());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn folders_are_tables_with_their_names_as_columns() {
        let dir = folder("folder");
        for (place, days) in
            [("shop=bonn/year=2025", [1, 2]), ("shop=ulm/year=2025", [3, 4]), ("shop=ulm/year=2026", [5, 6])]
        {
            fs::create_dir_all(dir.join(place)).unwrap();
            written_to(&dir.join(place).join("part-0.parquet"), &[&days]);
        }
        fs::write(dir.join("_SUCCESS"), "").unwrap();
        let table = load(&dir, None, &[]).unwrap();
        assert_eq!((days(&table), table.rows), (vec![1, 2, 3, 4, 5, 6], 6));
        let shops = table.column("shop").unwrap();
        assert_eq!(
            (&shops.cells.1[..], &shops.categories[..]),
            (&[0, 0, 1, 1, 1, 1][..], &["bonn".into(), "ulm".into()][..])
        );
        assert_eq!(table.column("year").unwrap().cells, (Kind::Number(0), vec![2025, 2025, 2025, 2025, 2026, 2026]));
        assert_eq!(days(&read(&dir, Part { first: 1, count: 4 }, &[]).unwrap()), [2, 3, 4, 5]);
        // As pyarrow, Spark and DuckDB write what a name may not hold.
        let escaped = dir.join("shop=k%C3%B6ln%2Fs%c3%bcd 100%/year=2026");
        fs::create_dir_all(&escaped).unwrap();
        written_to(&escaped.join("part-0.parquet"), &[&[7]]);
        assert_eq!(load(&dir, None, &[]).unwrap().column("shop").unwrap().categories, ["bonn", "köln/süd 100%", "ulm"]);
        fs::remove_dir_all(dir.join("shop=k%C3%B6ln%2Fs%c3%bcd 100%")).unwrap();
        let refused = |wanted: &str| {
            let error = load(&dir, None, &[]).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        };
        fs::create_dir(dir.join("shop=%ff")).unwrap();
        refused("a name COLUMN=VALUE in UTF-8");
        fs::remove_dir(dir.join("shop=%ff")).unwrap();
        fs::write(dir.join("notes.txt"), "x").unwrap();
        refused("*.parquet alone");
        fs::remove_file(dir.join("notes.txt")).unwrap();
        fs::create_dir(dir.join("other")).unwrap();
        refused("a name COLUMN=VALUE");
        fs::remove_dir(dir.join("other")).unwrap();
        written_to(&dir.join("stray.parquet"), &[&[7]]);
        refused("those of the files before it");
        fs::remove_dir_all(&dir).unwrap();
        fs::create_dir(&dir).unwrap();
        refused("a folder without a file");
        fs::remove_dir_all(dir).unwrap();
    }
}
