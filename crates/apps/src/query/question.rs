//! A query with resolved names: the groups, the flags of their rows, and the sums over flagged rows.
//!
//! Public metadata of a query: its text, the number of rows, and the type and domain of each column. The domain is the
//! set of possible values and decides the number of encrypted digits.

use super::{
    computed::{Values, with_derived},
    condition::Cond,
    error::QueryError,
    extreme::Extreme,
    field::{Domain, Field, codes, field, plausible, values},
    from::Join,
    grouping::{Grouping, Laid, aggregates},
    numbering::Numbering,
    public::Public,
    resolve::resolved,
    select::Results,
    sql::Statement,
    table::{Column, Kind, Table},
};
use std::{cell::RefCell, ops::Range};

/// Most rows of a query: the slots of the largest ring.
pub const MOST_ROWS: usize = 1 << 16;
/// Most groups of a query: each has a flag for each row, which crosses the bridge on its own.
pub const MOST_GROUPS: usize = 64;
/// Most bits of a sum in its units: it is computed exactly in the clear, by integers of 128 bits.
const MOST_SUM_BITS: f64 = 120.0;

/// A factor of the sum: `constant ± column`, in units of its last digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The column.
    pub field: Field,
    /// Constant that the column is added to or subtracted from.
    pub constant: i64,
    /// Sign of the column: −1 if it is subtracted, else 1.
    pub sign: i64,
    /// Decimal places of the units.
    pub digits: u32,
}

impl Term {
    /// The factor for a column value, whose units may be larger.
    pub fn value(&self, cell: i64) -> i64 {
        self.constant + self.sign * cell * self.finer()
    }

    /// Units of the factor in one unit of the column.
    pub fn finer(&self) -> i64 {
        let Kind::Number(own) = self.field.kind else { return 1 };
        10i64.pow(self.digits - own)
    }

    /// Largest absolute value of the factor as a number.
    pub fn largest(&self) -> f64 {
        self.bound() as f64 / 10f64.powi(self.digits.cast_signed())
    }

    /// Largest absolute value of the column as a number: it is encrypted as it is.
    fn column_largest(&self) -> f64 {
        let Kind::Number(own) = self.field.kind else { return 0.0 };
        let cell = self.field.low.unsigned_abs().max(self.field.high.unsigned_abs());
        cell as f64 / 10f64.powi(own.cast_signed())
    }

    /// Largest absolute value of the factor, in its units.
    pub fn bound(&self) -> i64 {
        [self.field.low, self.field.high].map(|cell| self.value(cell).abs()).into_iter().max().unwrap_or(1).max(1)
    }
}

/// The rows of a flag, or those of them in a public group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Number of the flag; none where every row is taken, so that nothing is compared.
    pub flag: Option<usize>,
    /// The rows of the public group; all without one.
    pub within: Option<Range<usize>>,
}

/// A sum over the rows of a selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Number of the selection.
    pub selection: usize,
    /// Factors of the summed product; empty for a count.
    pub terms: Vec<Term>,
}

impl Measure {
    /// Decimal places of its units.
    pub fn digits(&self) -> u32 {
        self.terms.iter().map(|term| term.digits).sum()
    }
}

/// Where an aggregate of a group comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A measure by its number.
    Sum(usize),
    /// An extreme by its number.
    Extreme(usize),
    /// A number of rows that both sides know, because every row is counted.
    Rows(usize),
    /// How many of these selections have a row, by the number of their list.
    Different(usize),
}

/// Rows that agree in the columns that are grouped by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Their values of these columns.
    pub values: Vec<i64>,
    /// What each aggregate is; none where no row can count.
    pub asked: Vec<Option<Asked>>,
    pub rows: GroupRows,
}

/// The rows of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupRows {
    Every,
    /// None: the domains exclude them.
    None,
    /// Those of a selection.
    Selection(usize),
}

/// A query on one table, as both sides know it.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub sql: String,
    pub rows: usize,
    /// The compared columns; none where every row is taken.
    pub compared: Vec<Field>,
    /// The columns that are not encrypted because the domains decide what the query asks of them, which both sides have to
    /// find.
    pub decided: Vec<Field>,
    /// How values of compared columns are numbered.
    pub numbering: Numbering,
    /// What a row must satisfy, over the numbers of [`Self::compared`].
    pub condition: Cond,
    /// The same with a group's values, and with what CASE asks: some rows could satisfy it, and some could not.
    pub flags: Vec<Cond>,
    /// The rows that are summed: those of a flag, or of a flag in a public group.
    pub selections: Vec<Selection>,
    /// The columns that are grouped by.
    pub keys: Vec<Field>,
    /// Those of them that the server sees.
    pub public: Public,
    /// The groups that rows may be in; one without keys.
    pub groups: Vec<Group>,
    pub measures: Vec<Measure>,
    /// The least and largest values that are asked for.
    pub extremes: Vec<Extreme>,
    /// Selections of which those with a row are counted: one for each value of a column.
    pub different: Vec<Vec<usize>>,
    pub results: Results,
    /// How rows of several tables were matched before encryption.
    pub joins: Vec<Join>,
}

impl Question {
    /// Resolves a statement's names in a table that has what the statement computes of rows ([`Table::with_derived`]). Undeclared domains
    /// run from a column's minimum to its maximum. The server sees the columns that are named public.
    ///
    /// # Errors
    /// [`QueryError`]: unknown or unsuitable columns and constants, values outside their domain, sizes above the
    /// limits.
    pub fn new(
        statement: &Statement,
        table: &Table,
        domains: &[Domain],
        public: &[String],
    ) -> Result<Self, QueryError> {
        if let Some(wanted) = table.name.as_ref().filter(|name| !name.eq_ignore_ascii_case(&statement.from.first.table))
        {
            return Err(QueryError::OtherTable { got: statement.from.first.table.clone(), wanted: wanted.clone() });
        }
        if !(1..=MOST_ROWS).contains(&table.rows) {
            return Err(QueryError::Rows { rows: table.rows, most: MOST_ROWS });
        }
        for (at, domain) in domains.iter().enumerate() {
            let Column { name, .. } = table.column(&domain.column)?;
            if domains[..at].iter().any(|other| other.column.eq_ignore_ascii_case(name)) {
                let problem = "the column has a domain already; name each column once".into();
                return Err(QueryError::Domain { text: format!("{name}=…"), problem });
            }
        }
        countable(&statement.results, table)?;
        unambiguous(&statement.results, table)?;
        let domains = with_derived(statement, table, domains)?;
        let nullable = |name: &str| statement.may_be_null(name) == Some(true);
        let look = |name: &str| field(table, name, &domains, nullable(name));
        let (public, rows) = match public {
            [] => (Public::default(), table.rows),
            columns => Public::found(statement, table, columns, look)?,
        };
        Self::of(statement, rows, public, look)
    }

    /// The same for the columns of a description, without a table. The description may be hostile.
    pub fn described(statement: &Statement, rows: usize, fields: &[Field], public: Public) -> Result<Self, QueryError> {
        for field in fields {
            plausible(field)?;
        }
        let look = |name: &str| {
            let found = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)).cloned();
            found.ok_or_else(|| QueryError::unsupported(format!("column {name}, which the description does not have")))
        };
        public.plausible(statement, rows, look)?;
        Self::of(statement, rows, public, look)
    }

    fn of(
        statement: &Statement,
        rows: usize,
        public: Public,
        field: impl Fn(&str) -> Result<Field, QueryError>,
    ) -> Result<Self, QueryError> {
        if !(1..=MOST_ROWS).contains(&rows) {
            return Err(QueryError::Rows { rows, most: MOST_ROWS });
        }
        let named = RefCell::new(Vec::new());
        let field = |name: &str| {
            let field = field(name)?;
            if statement.may_be_null(name).is_some_and(|may| may != field.null) {
                return Err(QueryError::unsupported(format!("a description that is not sure of NULL in {name}")));
            }
            position(&mut named.borrow_mut(), field.clone());
            Ok(field)
        };
        let results = &statement.results;
        let mut compared = Vec::new();
        let condition = resolved(&statement.filter, true, &field, &mut compared)?;
        let keys = results.keys.iter().map(|key| field(&key.name)).collect::<Result<Vec<_>, _>>()?;
        let key_columns: Vec<usize> = keys.iter().map(|key| position(&mut compared, key.clone())).collect();
        let aggregates = aggregates(statement, &field, &mut compared)?;
        let wanted = Grouping { condition: &condition, compared: &compared, key_columns, aggregates, rows };
        let (mut laid, mut groups) = (Laid::default(), Vec::new());
        let values_of = |field: &Field| statement.values(field);
        for (values, within) in public.groups_of(&keys, |keys| grouped(keys, &values_of))? {
            groups.extend(wanted.group(&public, (values, within), &mut laid));
        }
        let Laid { flags, selections, measures, extremes, different } = laid;
        // A column whose tests are all certain is not encrypted.
        let mut used: Vec<usize> = flags.iter().chain([&condition]).flat_map(Cond::columns).collect();
        used.sort_unstable();
        used.dedup();
        let number = |column| used.iter().position(|&u| u == column).unwrap_or(column);
        let renumbered = |cond: Cond| cond.renumbered(&number);
        let (condition, flags) = (renumbered(condition), flags.into_iter().map(renumbered).collect());
        let compared = used.iter().map(|&column| compared[column].clone()).collect();
        let (sql, results, joins) = (statement.text.clone(), results.clone(), statement.from.joins.clone());
        let mut question = Self {
            sql,
            rows,
            compared,
            decided: Vec::new(),
            numbering: Numbering::BySets,
            condition,
            flags,
            selections,
            keys,
            public,
            groups,
            measures,
            extremes,
            different,
            results,
            joins,
        };
        question.measures.iter().try_for_each(|measure| question.within_range(measure))?;
        let used = question.fields();
        question.decided = named.into_inner().into_iter().filter(|field| !used.contains(field)).collect();
        Ok(question)
    }

    /// Fails for a sum that integers of 128 bits may not hold.
    fn within_range(&self, measure: &Measure) -> Result<(), QueryError> {
        let bits = measure.terms.iter().map(|term| (term.bound() as f64).log2()).sum::<f64>();
        let bits = bits + (self.rows as f64).log2();
        if bits <= MOST_SUM_BITS {
            return Ok(());
        }
        let names = measure.terms.iter().map(|term| term.field.name.as_str()).collect::<Vec<_>>().join(" * ");
        Err(QueryError::SumRange { names, rows: self.rows, bits, most: MOST_SUM_BITS })
    }

    /// The columns that the query names, each once.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        let terms = self.measures.iter().flat_map(|measure| &measure.terms).map(|term| &term.field);
        let extremes = self.extremes.iter().map(|extreme| &extreme.field);
        self.compared.iter().chain(&self.keys).chain(terms).chain(extremes).chain(&self.decided).for_each(|field| {
            if !fields.contains(field) {
                fields.push(field.clone());
            }
        });
        fields
    }

    /// The summed columns, each once, with the unit of its slots: the largest of its values and of the factors made of it.
    pub fn summed(&self) -> Vec<(Field, f64)> {
        let mut summed: Vec<(Field, f64)> = Vec::new();
        for term in self.measures.iter().flat_map(|measure| &measure.terms) {
            let largest = term.largest().max(term.column_largest());
            match summed.iter_mut().find(|(field, _)| *field == term.field) {
                Some((_, unit)) => *unit = unit.max(largest),
                None => summed.push((term.field.clone(), largest)),
            }
        }
        summed
    }

    /// Fails if the table has another number of rows, values outside the public domains, NULL in a column whose cells are
    /// counted, or a column with the name of a result that is grouped by.
    pub fn fits(&self, table: &Table) -> Result<(), QueryError> {
        if table.rows != self.rows {
            return Err(QueryError::OtherRows { got: table.rows, wanted: self.rows });
        }
        countable(&self.results, table)?;
        unambiguous(&self.results, table)?;
        self.fields().iter().try_for_each(|field| values(field, table).map(drop))
    }

    /// Fails for parts of so many rows of a table where rows that fill the last part would be taken.
    pub fn divides(&self, rows: usize, part: usize) -> Result<(), QueryError> {
        if rows == part {
            return Ok(());
        }
        if self.selections.is_empty() {
            return Err(QueryError::unsupported("an answer that both sides know without a key, in parts"));
        }
        let known =
            self.groups.iter().flat_map(|group| &group.asked).any(|asked| matches!(asked, Some(Asked::Rows(_))));
        let flagged = self.flagged().len() == self.selections.len() && !known;
        if rows.is_multiple_of(part) || (flagged && self.outside().is_some()) {
            return Ok(());
        }
        let what = format!(
            "a sum over every row, in parts of {part} of {rows} rows (take parts of equal size, or add a condition that \
             excludes a value),"
        );
        Err(QueryError::unsupported(what))
    }

    /// A row that no flag takes.
    fn outside(&self) -> Option<Vec<i64>> {
        // Parts have no public groups, so each flag is asked of every row.
        Cond::any(self.flags.clone(), &self.compared).refused_row(&self.compared)
    }

    /// The table with rows that do not pass behind its own, up to the number that the program takes.
    ///
    /// # Errors
    /// A formula of which no failing row is found; a selection that every row passes.
    pub fn filled(&self, mut table: Table) -> Result<Table, QueryError> {
        let missing = self.rows.saturating_sub(table.rows);
        if missing == 0 {
            return Ok(table);
        }
        self.divides(table.rows, self.rows)?;
        let outside = self.outside();
        let outside = outside.ok_or_else(|| QueryError::unsupported("a part of a table with so long a formula"))?;
        let fields = self.fields();
        for column in &mut table.columns {
            let named = |field: &&Field| field.name == column.name;
            let compared = self.compared.iter().position(|field| field.name == column.name);
            let field = fields.iter().find(named);
            let value = compared.map_or_else(|| field.map_or(0, |field| field.low), |at| outside[at]);
            // A text is a number of the field's; in the table it has another.
            let text = field.and_then(|field| field.categories.get(usize::try_from(value).ok()?));
            let null = field.is_some_and(|field| field.is_null(value));
            let value = text.map_or(Some(value), |text| number_of(&mut column.categories, text));
            let mut nulls: Vec<bool> = (0..table.rows).map(|row| column.is_null(row)).collect();
            column.cells.1.extend(std::iter::repeat_n(value.unwrap_or(0), missing));
            nulls.extend(std::iter::repeat_n(null, missing));
            *column = column.clone().with_nulls(nulls);
        }
        table.rows += missing;
        Ok(table)
    }

    /// Which rows satisfy WHERE.
    pub fn passing(&self, table: &Table) -> Result<Vec<bool>, QueryError> {
        Ok(self.satisfying(table, std::slice::from_ref(&self.condition))?.remove(0))
    }

    /// The rows of each selection.
    pub fn selected(&self, table: &Table) -> Result<Vec<Vec<bool>>, QueryError> {
        let flags = self.satisfying(table, &self.flags)?;
        let rows = |selection: &Selection| {
            let within = |row: usize| selection.within.as_ref().is_none_or(|within| within.contains(&row));
            let flagged = |row: usize| selection.flag.is_none_or(|flag| flags[flag][row]);
            (0..table.rows).map(|row| flagged(row) && within(row)).collect()
        };
        Ok(self.selections.iter().map(rows).collect())
    }

    /// The numbers of the selections that have a flag: whose rows are found under encryption.
    pub fn flagged(&self) -> Vec<usize> {
        (0..self.selections.len()).filter(|&number| self.selections[number].flag.is_some()).collect()
    }

    /// The number of rows that a selection may have.
    pub fn most_rows(&self, selection: usize) -> usize {
        self.selections[selection].within.as_ref().map_or(self.rows, ExactSizeIterator::len)
    }

    fn satisfying(&self, table: &Table, conds: &[Cond]) -> Result<Vec<Vec<bool>>, QueryError> {
        let columns = self.compared.iter().map(|field| codes(field, table)).collect::<Result<Vec<_>, _>>()?;
        let rows = |cond: &Cond| (0..table.rows).map(|row| cond.passes(&|column| columns[column][row])).collect();
        Ok(conds.iter().map(rows).collect())
    }

    /// The exact sums, each in units of 10^(−digits).
    pub fn sums(&self, table: &Table) -> Result<Vec<i128>, QueryError> {
        let selected = self.selected(table)?;
        let sum = |measure: &Measure| {
            let mut products: Vec<i128> = selected[measure.selection].iter().copied().map(i128::from).collect();
            for term in &measure.terms {
                let values = values(&term.field, table)?;
                products.iter_mut().zip(values).for_each(|(p, v)| *p *= i128::from(term.value(v)));
            }
            Ok(products.iter().sum())
        };
        self.measures.iter().map(sum).collect()
    }

    /// The exact least and largest values, as the encrypted program has them: an end of the domain's bits where no row is
    /// selected.
    pub fn ends(&self, table: &Table) -> Result<Vec<i64>, QueryError> {
        let selected = self.selected(table)?;
        let end = |extreme: &Extreme| {
            let values = values(&extreme.field, table)?;
            let rows = values.into_iter().zip(&selected[extreme.selection]);
            Ok(extreme.of(rows.filter_map(|(value, &taken)| taken.then_some(value))))
        };
        self.extremes.iter().map(end).collect()
    }
}

/// The place of a value in a list, which it is put behind if it is not in it.
pub(super) fn position<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter().position(|known| *known == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}

/// Fails for a column that is not there or has NULL, where a result is the number of its cells. Nothing else of it is known
/// to a server.
fn countable(results: &Results, table: &Table) -> Result<(), QueryError> {
    results.counted.iter().try_for_each(|name| {
        let column = table.usable(name)?;
        match column.nulls.iter().position(|&null| null) {
            Some(at) => Err(QueryError::Null { name: column.name.clone(), row: at + 1 }),
            None => Ok(()),
        }
    })
}

/// Fails where GROUP BY names a result and a column at a time. SQL means the column, and whoever wrote it often the result.
fn unambiguous(results: &Results, table: &Table) -> Result<(), QueryError> {
    let is_column = |name: &&String| table.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    match results.renamed.iter().find(is_column) {
        Some(name) => Err(QueryError::TwoMeanings { name: name.clone() }),
        None => Ok(()),
    }
}

/// The values of the groups: every combination of the columns' values.
pub(super) fn grouped(keys: &[Field], values: &impl Fn(&Field) -> Values) -> Result<Vec<Vec<i64>>, QueryError> {
    let got = keys.iter().fold(1u128, |all, key| all.saturating_mul(values(key).count().into()));
    if got > MOST_GROUPS as u128 {
        let names = keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(QueryError::Groups { names, got, most: MOST_GROUPS });
    }
    let mut all = vec![Vec::new()];
    for key in keys {
        let with = |group: &Vec<i64>| {
            let values = values(key).all();
            values.into_iter().map(|value| group.iter().copied().chain([value]).collect()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    Ok(all)
}

/// The number of a text among categories, which it is put behind if it is none of them.
fn number_of(categories: &mut Vec<String>, text: &str) -> Option<i64> {
    i64::try_from(position(categories, text.to_owned())).ok()
}

#[cfg(test)]
mod tests;
