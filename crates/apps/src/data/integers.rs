//! Tables of whole numbers with a header line.

use super::{dataset::open_plain, error::DataError, table};
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegerTable {
    pub names: Vec<String>,
    /// Its rows, as wide as the header; at least one.
    pub rows: Vec<Vec<i64>>,
}

impl IntegerTable {
    /// Some of the columns, in this order.
    ///
    /// # Errors
    /// [`DataError::NoColumn`] for a name that the header does not have.
    pub fn columns(&self, path: &Path, names: &[String]) -> Result<Self, DataError> {
        let place = |name: &String| {
            self.names.iter().position(|known| known == name).ok_or_else(|| DataError::NoColumn {
                path: path.to_owned(),
                got: name.clone(),
                wanted: self.names.join(", "),
            })
        };
        let places = names.iter().map(place).collect::<Result<Vec<usize>, _>>()?;
        let rows = self.rows.iter().map(|row| places.iter().map(|&i| row[i]).collect()).collect();
        Ok(Self { names: names.to_vec(), rows })
    }
}

/// Reads a table whose first line names the columns.
///
/// # Errors
/// [`DataError`] for a file that is absent, not UTF-8, empty or ragged, or for a cell that is no whole number.
pub fn load_integers(path: &Path) -> Result<IntegerTable, DataError> {
    open_plain(path)?;
    parse(&table::read_text(path)?, path)
}

/// Sales of a shop, 120 days of four goods, and what each is worth: generated for this project
/// (`crates/apps/data/README.md`).
///
/// # Panics
/// Never for a built crate: a unit test reads both.
pub fn shop() -> [IntegerTable; 2] {
    let files = [
        ("shop_sales.csv", include_str!("../../data/shop_sales.csv")),
        ("shop_prices.csv", include_str!("../../data/shop_prices.csv")),
    ];
    files.map(|(name, text)| parse(text, Path::new(name)).expect("the embedded tables are well-formed"))
}

fn parse(text: &str, path: &Path) -> Result<IntegerTable, DataError> {
    let mut records = table::records(text);
    let empty = || DataError::Empty { path: path.to_owned() };
    let unreadable = |error: csv::Error| table::unreadable(path, &error);
    let header = records.next().ok_or_else(empty)?.map_err(unreadable)?;
    let names: Vec<String> = header.fields.iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for record in records {
        let table::Record { line, fields } = record.map_err(unreadable)?;
        if fields.len() != names.len() {
            return Err(DataError::Ragged { path: path.to_owned(), line, got: fields.len(), wanted: names.len() });
        }
        let integer = |(column, (cell, name)): (usize, (&str, &String))| {
            cell.parse::<i64>().map_err(|_| DataError::NotWhole {
                path: path.to_owned(),
                line,
                column: column + 1,
                name: name.clone(),
                got: table::short(cell, 40),
            })
        };
        rows.push(fields.iter().zip(&names).enumerate().map(integer).collect::<Result<Vec<i64>, _>>()?);
    }
    if rows.is_empty() { Err(empty()) } else { Ok(IntegerTable { names, rows }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shop_is_read() {
        let [sales, prices] = shop();
        assert_eq!((sales.rows.len(), sales.names.len()), (120, 4));
        assert_eq!(
            (prices.rows.len(), &prices.names[..]),
            (4, &["price_cents".to_owned(), "weight_grams".to_owned()][..])
        );
        let two = sales.columns(Path::new("s"), &["dates".into(), "apples".into()]).unwrap();
        assert_eq!(two.rows[7], [sales.rows[7][3], sales.rows[7][0]]);
        let none = sales.columns(Path::new("s.csv"), &["pears".into()]).unwrap_err().to_string();
        assert_eq!(none, "s.csv: no column \"pears\"; the header has apples, bread, cheese, dates (name one of them)");
    }

    #[test]
    fn cells_that_are_not_whole_are_named() {
        let told = |text: &str| parse(text, Path::new("t.csv")).unwrap_err().to_string();
        let wanted = "t.csv: line 3, column 2 (b): got \"2.5\"; wanted a whole number (round or scale the column first: \
                      only whole numbers are exact)";
        assert_eq!(told("a,b\n1,2\n3,2.5\n"), wanted);
        assert!(told("a,b\n1,x\n").contains("got \"x\""));
        assert!(told("a,b\n1,99999999999999999999\n").contains("wanted a whole number"));
        assert!(told("a,b\n1\n").contains("1 columns, but the first row has 2"));
        assert!(told("a,b\n").contains("no data row") && told("").contains("no data row"));
    }
}
