//! Tables in Parquet: one file, or a folder of files whose sub-folders may be named `column=value`. Only the row groups are
//! decoded that have rows of those asked for.

use super::{
    error::QueryError,
    load::{MOST_COLUMNS, format, of_cells},
    table::{Kind, Table},
};
use crate::{
    data::{
        DataError,
        dataset::{guarded, io_error, open_plain},
    },
    workload::Part,
};
use parquet::{
    errors::ParquetError,
    file::reader::{FileReader as _, SerializedFileReader},
    record::Field as Cell,
};
use std::{
    fs::File,
    path::{Path, PathBuf},
};

/// Most files of a folder.
const MOST_FILES: usize = 4096;
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
pub(super) fn read(path: &Path, rows: Part) -> Result<Table, QueryError> {
    let mut names: Option<Vec<String>> = None;
    let mut cells: Vec<Vec<String>> = Vec::new();
    let (mut before, end) = (0usize, rows.first.saturating_add(rows.count));
    for piece in pieces(path)? {
        if before >= end {
            break;
        }
        let own = guarded(&piece.path, "a Parquet file", || {
            let reader = opened(&piece.path)?;
            let own = columns(&piece, &reader)?;
            let known = names.get_or_insert_with(|| own.clone());
            if *known != own {
                let got = format!("columns {}", own.join(", "));
                let wanted = format!("those of the files before it: {}", known.join(", "));
                return Err(format(&piece.path, got, &wanted, "put files of one table into a folder"));
            }
            cells.resize_with(own.len(), Vec::new);
            taken(&piece, &reader, (before, &rows), &mut cells)
        })?;
        before = before.saturating_add(own);
    }
    Ok(of_cells(&names.unwrap_or_default(), &cells))
}

/// The names of a file's columns, with those of its folders.
fn columns(piece: &Piece, reader: &SerializedFileReader<File>) -> Result<Vec<String>, QueryError> {
    let schema = reader.metadata().file_metadata().schema();
    let own = schema.get_fields().iter().map(|field| field.name().to_owned());
    let names: Vec<String> = own.chain(piece.named.iter().map(|(name, _)| name.clone())).collect();
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
    cells: &mut [Vec<String>],
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
                named.for_each(|(column, (_, value))| column.push(value.clone()));
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
            let Some((column, value)) = name.split_once('=').filter(|(column, _)| !column.is_empty()) else {
                return Err(format(
                    &path,
                    "a folder",
                    "a name COLUMN=VALUE",
                    "put the files into folders of such names",
                ));
            };
            if named.len() == MOST_DEPTH || named.iter().any(|(known, _)| known == column) {
                return Err(format(&path, "a folder", "at most 8 levels, each of another column", "flatten it"));
            }
            named.push((column.to_owned(), value.to_owned()));
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

/// A cell as text. A float has its shortest digits: 0.1 is 0.1.
fn written(cell: &Cell) -> String {
    match cell {
        Cell::Str(text) => text.clone(),
        Cell::Date(day) => Kind::Date.show((*day).into()),
        Cell::Float(x) => x.to_string(),
        Cell::Double(x) => x.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::load;
    use parquet::{
        data_type::{Int32Type, Int64Type},
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

    #[test]
    fn files_are_read_and_damaged_ones_refused() {
        let dir = folder("file");
        let path = dir.join("q.parquet");
        written_to(&path, &[&[8766, 9131, 0]]);
        let table = load(&path, Some(2)).unwrap();
        assert_eq!(table.column("day").unwrap().cells, (Kind::Date, vec![8766, 9131]));
        assert_eq!(table.column("price").unwrap().cells, (Kind::Number(2), vec![876_605, 913_105]));
        let bytes = fs::read(&path).unwrap();
        for cut in [8, bytes.len() / 2, bytes.len() - 1] {
            fs::write(&path, &bytes[..cut]).unwrap();
            assert!(load(&path, None).unwrap_err().to_string().contains("a Parquet file"), "{cut}");
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
                let table = read(&path, Part { first, count }).unwrap();
                assert_eq!((days(&table), table.rows), (wanted.clone(), wanted.len()), "{first} {count}");
            }
        }
        let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let at = usize::try_from(file.metadata().row_group(3).column(0).data_page_offset()).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[at..at + 8].fill(0xff);
        fs::write(&path, bytes).unwrap();
        assert_eq!(days(&read(&path, Part { first: 3, count: 3 }).unwrap()), [4, 5, 6]);
        assert!(read(&path, Part { first: 3, count: 4 }).is_err());
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
        let table = load(&dir, None).unwrap();
        assert_eq!((days(&table), table.rows), (vec![1, 2, 3, 4, 5, 6], 6));
        let shops = table.column("shop").unwrap();
        assert_eq!(
            (&shops.cells.1[..], &shops.categories[..]),
            (&[0, 0, 1, 1, 1, 1][..], &["bonn".into(), "ulm".into()][..])
        );
        assert_eq!(table.column("year").unwrap().cells, (Kind::Number(0), vec![2025, 2025, 2025, 2025, 2026, 2026]));
        assert_eq!(days(&read(&dir, Part { first: 1, count: 4 }).unwrap()), [2, 3, 4, 5]);
        let refused = |wanted: &str| {
            let error = load(&dir, None).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        };
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
