//! Joins: tables made of several, in the clear, by the owner of the data before encryption.
//!
//! The server learns neither keys nor which rows were matched, only how many rows there are in the end.

use super::{
    cells::Flaw,
    error::QueryError,
    from::{From, Join, Kept, Source},
    question::MOST_ROWS,
    table::{Column, Kind, Table},
};
use std::collections::{HashMap, HashSet};

/// A cell in a form that is equal for equal values of two columns; none of NULL, which equals nothing.
fn cell(column: &Column, row: usize, digits: u32) -> Option<String> {
    let (kind, cells) = &column.cells;
    let text = match kind {
        _ if column.is_null(row) => return None,
        Kind::Text => usize::try_from(cells[row]).ok().and_then(|at| column.categories.get(at)).cloned(),
        Kind::Date => Some(cells[row].to_string()),
        Kind::Number(own) => Some((i128::from(cells[row]) * 10i128.pow(digits.saturating_sub(*own))).to_string()),
    };
    Some(text.unwrap_or_default())
}

fn digits(column: &Column) -> u32 {
    if let Kind::Number(digits) = column.cells.0 { digits } else { 0 }
}

/// Whether values of two columns can be compared.
fn alike(a: &Column, b: &Column) -> bool {
    matches!((a.cells.0, b.cells.0), (Kind::Number(_), Kind::Number(_))) || a.cells.0 == b.cells.0
}

/// Columns of two tables that are equal in rows that match.
type Keys<'a> = (&'a Column, &'a Column);
/// A row of each of two tables; none where a row is kept that matches none.
type Pair = [Option<usize>; 2];

impl Table {
    fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// A column whose cells are keys: texts may look like anything.
    fn key(&self, name: &str) -> Result<&Column, QueryError> {
        match self.column(name)? {
            column if column.flaw.as_ref().is_some_and(Flaw::is_of_texts) => Ok(column),
            _ => self.usable(name),
        }
    }

    /// The name that a key has here: its own, or that of the only column `table.key`.
    fn key_name(&self, key: &str) -> Option<&str> {
        let own = self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(key));
        let of_table =
            |column: &&Column| column.name.rsplit_once('.').is_some_and(|(_, own)| own.eq_ignore_ascii_case(key));
        let mut named = self.columns.iter().filter(of_table);
        let only = named.next().filter(|_| named.next().is_none());
        own.or(only).map(|column| &column.name[..])
    }

    /// The tables of a query with names of columns that no other has: what several have is named with its table.
    pub(super) fn told_apart(mut tables: Vec<Self>, from: &From) -> (Vec<Self>, Vec<String>) {
        let mut count: HashMap<String, usize> = HashMap::new();
        for table in &tables {
            let own: HashSet<String> = table.columns.iter().map(|column| column.name.to_lowercase()).collect();
            own.into_iter().for_each(|name| *count.entry(name).or_default() += 1);
        }
        let mut shared = Vec::new();
        for (table, Source { name, .. }) in tables.iter_mut().zip(from.sources()) {
            for column in &mut table.columns {
                let known = column.name.to_lowercase();
                if count[&known] > 1 {
                    shared.push(column.name.clone());
                    column.name = format!("{name}.{}", column.name);
                }
            }
        }
        (tables, shared)
    }

    /// The rows of all tables of a query that belong together; `start` is the number of the table whose order they have, where
    /// only rows that match stay.
    ///
    /// # Errors
    /// Keys that no table has, or of different kinds; no row, or too many.
    pub(super) fn all_joined(tables: Vec<Self>, from: &From, start: usize) -> Result<Self, QueryError> {
        // USING means the tables before it, and an outer join keeps rows of these.
        if !from.is_inner() || from.joins.iter().any(|join| join.merged) {
            let mut tables = tables.into_iter();
            let first = tables.next().unwrap_or_default();
            return tables.zip(&from.joins).try_fold(first, |all, (table, join)| all.joined(&table, join));
        }
        let mut left: Vec<Option<Self>> = tables.into_iter().map(Some).collect();
        let mut open: Vec<&Join> = from.joins.iter().collect();
        let mut all = left.get_mut(start).and_then(Option::take).unwrap_or_default();
        while !open.is_empty() {
            let joins = |all: &Self, table: &Self, join: &Join| {
                join.keys.iter().all(|[a, b]| (all.has(a) && table.has(b)) || (all.has(b) && table.has(a)))
            };
            let found = open.iter().enumerate().find_map(|(at, join)| {
                let table = left.iter().position(|table| table.as_ref().is_some_and(|table| joins(&all, table, join)));
                Some((at, table?))
            });
            let next = found.map(|(at, table)| (open.remove(at), left[table].take()));
            let Some((join, Some(table))) = next else { return Err(unknown(&all, &left, &open)) };
            all = all.joined(&table, join)?;
        }
        Ok(all)
    }

    /// The pairs of rows of two tables that have equal keys, in the order of this table, and the rows that a join keeps beside
    /// them, behind these those of the other table.
    ///
    /// # Errors
    /// Keys that neither table has, or of different kinds; no pair, or too many.
    pub fn joined(&self, other: &Self, join: &Join) -> Result<Self, QueryError> {
        let mut keys: Vec<Keys<'_>> = Vec::new();
        for [one, two] in &join.keys {
            let named = |table: &'_ Self| table.key_name(one).unwrap_or(one).to_owned();
            let (own, others) = match join.merged {
                true => (&named(self), &named(other)),
                false if self.has(one) && other.has(two) => (one, two),
                false => (two, one),
            };
            let (own, others) = (self.key(own)?, other.key(others)?);
            if !alike(own, others) {
                let (name, got, wanted) = (others.name.clone(), others.cells.0.to_string(), own.cells.0.to_string());
                return Err(QueryError::OtherKind { name, got, wanted });
            }
            keys.push((own, others));
        }
        let fine: Vec<u32> = keys.iter().map(|(own, others)| digits(own).max(digits(others))).collect();
        let own_key = |row: usize| keys.iter().zip(&fine).map(|((own, _), &digits)| cell(own, row, digits)).collect();
        let other_key = |row: usize| keys.iter().zip(&fine).map(|((_, of), &digits)| cell(of, row, digits)).collect();
        let mut rows_of: HashMap<Vec<String>, Vec<usize>> = HashMap::new();
        for row in 0..other.rows {
            let key: Option<Vec<String>> = other_key(row);
            key.into_iter().for_each(|key| rows_of.entry(key).or_default().push(row));
        }
        let mut pairs: Vec<Pair> = Vec::new();
        let mut met = vec![false; other.rows];
        for row in 0..self.rows {
            let key: Option<Vec<String>> = own_key(row);
            let found = key.and_then(|key| rows_of.get(&key)).map_or(&[][..], Vec::as_slice);
            pairs.extend(found.iter().take(MOST_ROWS + 1).map(|&other| [Some(row), Some(other)]));
            found.iter().for_each(|&other| met[other] = true);
            if found.is_empty() && matches!(join.kept, Kept::Left | Kept::Both) {
                pairs.push([Some(row), None]);
            }
            if pairs.len() > MOST_ROWS {
                return Err(QueryError::Rows { rows: pairs.len(), most: MOST_ROWS });
            }
        }
        if matches!(join.kept, Kept::Right | Kept::Both) {
            pairs.extend((0..other.rows).filter(|&row| !met[row]).map(|row| [None, Some(row)]));
        }
        match (pairs.len(), keys.first()) {
            (0, Some((own, others))) => {
                let problem = format!("no {} is a {} of the other table", own.name, others.name);
                Err(QueryError::Join { problem })
            }
            (rows, _) if rows > MOST_ROWS => Err(QueryError::Rows { rows, most: MOST_ROWS }),
            _ => Ok(self.paired(other, join, (&keys, &pairs))),
        }
    }

    /// The table of these pairs of rows. A key that both call alike has its plain name beside: with USING that of the side
    /// that is kept, and where only rows that match stay it is both.
    fn paired(&self, other: &Self, join: &Join, (keys, pairs): (&[Keys<'_>], &[Pair])) -> Self {
        let own = self.columns.iter().map(|column| column.taken(pairs.iter().map(|pair| pair[0])));
        let others = other.columns.iter().map(|column| column.taken(pairs.iter().map(|pair| pair[1])));
        let mut columns: Vec<Column> = own.chain(others).collect();
        let plain = |column: &Column| column.name.rsplit('.').next().unwrap_or_default().to_owned();
        for (own, others) in keys.iter().filter(|_| join.merged || join.kept == Kept::None) {
            let name = plain(own);
            if !name.eq_ignore_ascii_case(&plain(others)) {
                continue;
            }
            let (kept, side) = if join.kept == Kept::Right { (others, 1) } else { (own, 0) };
            let key = Column { name: name.clone(), ..kept.taken(pairs.iter().map(|pair| pair[side])) };
            columns.retain(|column| !column.name.eq_ignore_ascii_case(&name));
            columns.push(key);
        }
        Self { name: self.name.clone(), columns, rows: pairs.len() }
    }
}

/// The error of tables that nothing joins: of the first key that no table has, if there is one.
fn unknown(all: &Table, left: &[Option<Table>], open: &[&Join]) -> QueryError {
    let mut names = open.iter().flat_map(|join| join.keys.iter().flatten());
    let has = |name: &String| all.has(name) || left.iter().flatten().any(|table| table.has(name));
    let lacking = names.find(|name| !has(name)).and_then(|name| all.column(name).err());
    lacking.unwrap_or_else(|| {
        let keys: Vec<String> = open.iter().flat_map(|join| &join.keys).map(|pair| pair.join(" = ")).collect();
        QueryError::Join { problem: format!("{} joins no table to those before it", keys.join(", ")) }
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Public, Question, sql::Statement},
        *,
    };

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
            let joined = lines.joined(&orders, &parsed(text).from.joins[0]).unwrap();
            assert_eq!((joined.rows, joined.columns.len()), (3, 6), "{text}");
            let who = joined.column("who").unwrap();
            assert_eq!((&who.cells.1[..], &who.categories[..]), (&[1, 1, 0][..], &orders.columns[1].categories[..]));
            assert_eq!(joined.column("price").unwrap().cells.1, [15, 30, 40]);
        }
        let on =
            |a: &str, b: &str| parsed(&format!("SELECT COUNT(*) FROM l JOIN o ON l.{a} = o.{b}")).from.joins.remove(0);
        for (join, wanted) in [
            (on("order", "who"), "column who holds texts"),
            (on("order", "size"), "no column"),
            (on("price", "number"), "no price is a number of the other table"),
        ] {
            let error = lines.joined(&orders, &join).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }

    fn table(columns: &[(&str, &[&str])]) -> Table {
        let rows = columns.first().map_or(0, |(_, cells)| cells.len());
        let columns = columns.iter().map(|(name, cells)| Column::of_cells(name, cells)).collect();
        Table { name: None, columns, rows }
    }

    /// Patients, their visits, and wards of visits; each has an id.
    fn hospital() -> Vec<Table> {
        vec![
            table(&[("id", &["1", "2", "3"]), ("born", &["1950", "1980", "2001"]), ("boss", &["2", "", "2"])]),
            table(&[("id", &["10", "11", "12"]), ("patient", &["1", "1", "9"]), ("ward", &["A", "B", "A"])]),
            table(&[("ward", &["A", "C"]), ("floor", &["3", "4"])]),
        ]
    }

    /// The first of some results, for each group.
    fn answered(sql: &str, tables: Vec<Table>) -> Result<Vec<String>, QueryError> {
        let statement = Statement::parse(sql)?;
        let (tables, shared) = Table::told_apart(tables, &statement.from);
        let statement = statement.told_apart(&shared)?;
        let table = Table::all_joined(tables, &statement.from, 0)?;
        let statement = statement.of_table(&table, &[])?;
        let table = table.with_derived(&statement)?;
        let question = Question::new(&statement, &table, &[], &[])?;
        let shown = |value: &_| question.shown(value, ToString::to_string);
        let rows = question.answer(&question.exact(&table)?);
        // A server reads the query from the line that it is told.
        let again = Statement::with_nulls(&question.sql, statement.results.nulls.clone())?;
        let again = Question::described(&again, table.rows, &question.fields(), Public::default())?;
        assert_eq!(again, question, "{sql}");
        Ok(rows.iter().map(|row| row.values.iter().map(shown).collect::<Vec<_>>().join(" ")).collect())
    }

    /// As DuckDB 1.5 has it.
    #[test]
    fn tables_are_joined_by_their_kinds_of_join() {
        for (sql, count, wanted) in [
            ("SELECT COUNT(*), SUM(v.id) FROM p JOIN v ON p.id = patient JOIN w USING (ward)", 3, "1 10"),
            ("SELECT COUNT(*), SUM(p.id), COUNT(v.id) FROM p LEFT JOIN v ON p.id = v.patient", 2, "4 7 2"),
            ("SELECT COUNT(*), MIN(born) FROM p LEFT JOIN v ON p.id = v.patient WHERE v.id IS NULL", 2, "2 1980"),
            ("SELECT SUM(born), COUNT(born), SUM(v.id) FROM p RIGHT OUTER JOIN v ON p.id = v.patient", 2, "3900 2 33"),
            ("SELECT COUNT(*), COUNT(p.id), COUNT(v.id) FROM p FULL JOIN v ON v.patient = p.id", 2, "5 4 3"),
            (
                "SELECT ward, COUNT(floor) FROM p LEFT JOIN v ON p.id = v.patient LEFT JOIN w USING (ward) GROUP BY ward \
                 ORDER BY ward",
                3,
                "A 1, B 0, NULL 0",
            ),
            (
                "SELECT ward, COUNT(patient), MAX(floor) FROM v RIGHT JOIN w USING (ward) GROUP BY ward ORDER BY 1",
                0,
                "A 2 3, C 0 4",
            ),
            ("SELECT COUNT(*) FROM p, v, w WHERE p.id = v.patient AND v.ward = w.ward AND floor > 2", 3, "1"),
            ("SELECT COUNT(*), MAX(a.born) FROM p a JOIN p b ON a.boss = b.id WHERE a.born > b.born", 1, "1 2001"),
            ("SELECT COUNT(*) FROM p LEFT JOIN v ON p.id = v.patient AND p.boss = v.id", 2, "3"),
            ("SELECT COUNT(*), MIN(v.ward), COUNT(w.ward), COUNT(ward) FROM v LEFT JOIN w USING (ward)", 0, "3 A 2 3"),
            ("SELECT COUNT(*), MAX(v.id) FROM v LEFT JOIN w USING (ward) WHERE w.ward IS NULL", 0, "1 11"),
            ("SELECT COUNT(v.ward), COUNT(w.ward), MAX(ward) FROM v RIGHT JOIN w USING (ward)", 0, "2 3 C"),
        ] {
            let tables = match (count, hospital()) {
                (0, all) => all[1..].to_vec(),
                (1, all) => vec![all[0].clone(), all[0].clone()],
                (count, all) => all[..count].to_vec(),
            };
            assert_eq!(answered(sql, tables).unwrap().join(", "), wanted, "{sql}");
        }
    }

    #[test]
    fn joins_that_are_not_clear_are_refused() {
        for (sql, wanted) in [
            (
                "SELECT SUM(id) FROM p JOIN v ON p.id = v.patient",
                "p.id or v.id may be meant by id: write it with its table",
            ),
            (
                "SELECT COUNT(*) FROM p LEFT JOIN v ON p.id = v.patient AND v.id > 10",
                "v.id > 10 in ON of an outer join",
            ),
            ("SELECT COUNT(*) FROM p FULL JOIN v USING (id)", "write ON, and COALESCE of both columns"),
            ("SELECT COUNT(*) FROM p JOIN p ON id = boss", "two tables are p: give one another name"),
            ("SELECT COUNT(*) FROM p CROSS JOIN v", "which is no inner, left, right or full join"),
            ("SELECT COUNT(*) FROM p NATURAL JOIN v", "a join that is not ON"),
            ("SELECT COUNT(*) FROM p JOIN v ON p.size = v.patient", "no column \"size\""),
            ("SELECT COUNT(*) FROM p JOIN v ON p.id = p.boss", "a join that is not ON"),
            ("SELECT COUNT(*) FROM p JOIN v ON born = boss", "joins no table to those before it"),
        ] {
            let error = answered(sql, hospital()[..2].to_vec()).unwrap_err().to_string();
            assert!(error.contains(wanted), "{sql}: {error}");
        }
    }
}
