//! Joins: tables made of two, in the clear, by the owner of the data before encryption.
//!
//! The server learns neither keys nor which rows were matched, only how many rows there are in the end.

use super::{
    cells::Flaw,
    error::QueryError,
    question::MOST_ROWS,
    sql::Join,
    table::{Column, Kind, Table},
};
use std::collections::HashMap;

/// A cell in a form that is equal for equal values of two columns.
fn cell(column: &Column, row: usize, digits: u32) -> String {
    let (kind, cells) = &column.cells;
    match kind {
        Kind::Text => usize::try_from(cells[row]).ok().and_then(|at| column.categories.get(at)).cloned(),
        Kind::Date => Some(cells[row].to_string()),
        Kind::Number(own) => Some((i128::from(cells[row]) * 10i128.pow(digits.saturating_sub(*own))).to_string()),
    }
    .unwrap_or_default()
}

fn digits(column: &Column) -> u32 {
    if let Kind::Number(digits) = column.cells.0 { digits } else { 0 }
}

/// Whether values of two columns can be compared.
fn alike(a: &Column, b: &Column) -> bool {
    matches!((a.cells.0, b.cells.0), (Kind::Number(_), Kind::Number(_))) || a.cells.0 == b.cells.0
}

impl Table {
    /// The pairs of rows of two tables that have equal keys, in the order of this table.
    ///
    /// # Errors
    /// Keys that neither table has, or of different kinds; a name that both tables have; no pair, or too many.
    pub fn joined(&self, other: &Self, join: &Join) -> Result<Self, QueryError> {
        let [one, two] = &join.keys;
        let has = |table: &Self, name: &str| table.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
        let (own, others) = if has(self, one) && has(other, two) { (one, two) } else { (two, one) };
        let key = |table: &'_ Self, name: &str| match table.column(name)? {
            column if column.flaw.as_ref().is_some_and(Flaw::is_of_texts) => Ok(column.clone()),
            _ => table.usable(name).cloned(),
        };
        let (own, others) = (&key(self, own)?, &key(other, others)?);
        if !alike(own, others) {
            let (name, got, wanted) = (others.name.clone(), others.cells.0.to_string(), own.cells.0.to_string());
            return Err(QueryError::OtherKind { name, got, wanted });
        }
        let same_key = own.name.eq_ignore_ascii_case(&others.name);
        let added: Vec<&Column> = other.columns.iter().filter(|c| !(same_key && c.name == others.name)).collect();
        if let Some(both) = added.iter().find(|column| has(self, &column.name)) {
            return Err(QueryError::Join { problem: format!("both tables have a column {}: rename one", both.name) });
        }
        let fine = digits(own).max(digits(others));
        let mut rows_of: HashMap<String, Vec<usize>> = HashMap::new();
        // NULL is no key: it equals nothing, not even NULL.
        let with_key = (0..other.rows).filter(|&row| !others.is_null(row));
        with_key.for_each(|row| rows_of.entry(cell(others, row, fine)).or_default().push(row));
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for row in (0..self.rows).filter(|&row| !own.is_null(row)) {
            let found = rows_of.get(&cell(own, row, fine)).into_iter().flatten();
            pairs.extend(found.map(|&other| (row, other)).take(MOST_ROWS + 1));
            if pairs.len() > MOST_ROWS {
                return Err(QueryError::Rows { rows: pairs.len(), most: MOST_ROWS });
            }
        }
        if pairs.is_empty() {
            let problem = format!("no {} is a {} of the other table", own.name, others.name);
            return Err(QueryError::Join { problem });
        }
        let own = self.columns.iter().map(|column| column.taken(pairs.iter().map(|pair| pair.0)));
        let columns = own.chain(added.iter().map(|column| column.taken(pairs.iter().map(|pair| pair.1)))).collect();
        Ok(Self { name: self.name.clone(), columns, rows: pairs.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::sql::Statement, *};

    fn tables() -> [Table; 2] {
        let column = |name: &str, cells: &[&str]| Column::of_cells(name, cells);
        let lines = vec![
            column("order", &["7", "9", "7", "8"]),
            column("price", &["1.5", "2", "3", "4"]),
            column("paid", &["2026-01-05", "2026-01-01", "2026-02-01", "2026-01-09"]),
            column("due", &["2026-01-04", "2026-01-02", "2026-02-01", "2026-03-09"]),
        ];
        let orders = vec![column("number", &["8.0", "7", "6"]), column("who", &["ann", "bob", "cy"])];
        [Table { name: None, columns: lines, rows: 4 }, Table { name: None, columns: orders, rows: 3 }]
    }

    fn parsed(text: &str) -> Statement {
        Statement::parse(text).unwrap()
    }

    #[test]
    fn rows_with_equal_keys_are_joined() {
        let [lines, orders] = tables();
        for text in [
            "SELECT COUNT(*) FROM l JOIN o ON l.order = o.number WHERE who = 'bob'",
            "SELECT COUNT(*) FROM l, o WHERE who = 'bob' AND number = l.order",
        ] {
            let joined = lines.joined(&orders, parsed(text).join.as_ref().unwrap()).unwrap();
            assert_eq!((joined.rows, joined.columns.len()), (3, 6), "{text}");
            let who = joined.column("who").unwrap();
            assert_eq!((&who.cells.1[..], &who.categories[..]), (&[1, 1, 0][..], &orders.columns[1].categories[..]));
            assert_eq!(joined.column("price").unwrap().cells.1, [15, 30, 40]);
        }
        let on = |a: &str, b: &str| Join { table: "o".into(), keys: [a.into(), b.into()] };
        for (join, wanted) in [
            (on("order", "who"), "column who holds texts"),
            (on("order", "size"), "no column"),
            (on("price", "number"), "no price is a number of the other table"),
        ] {
            let error = lines.joined(&orders, &join).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        let error = lines.joined(&lines, &on("order", "order")).unwrap_err().to_string();
        assert!(error.contains("both tables have a column price"), "{error}");
    }
}
