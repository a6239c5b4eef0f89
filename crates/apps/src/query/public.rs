//! Columns that the server sees: it knows the group of each row, so that nothing is compared for it under encryption.
//!
//! Rows are sorted by their values in these columns before encryption: a group is a range of rows, and nothing else of their
//! order is told. Rows whose public values alone fail the query are left out.

use super::{
    error::QueryError,
    field::{Field, codes},
    question::{MOST_GROUPS, MOST_ROWS, Question},
    resolve::resolved,
    sql::Statement,
    table::Table,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, ops::Range};

/// The public columns of a query, and their groups in the order of the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Public {
    pub columns: Vec<String>,
    pub groups: Vec<PublicGroup>,
}

/// Rows that agree in the public columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicGroup {
    /// Their values, in the order of the columns.
    pub values: Vec<i64>,
    pub rows: usize,
}

/// The values of groups, and their rows where they are public.
type Groups = Vec<(Vec<i64>, Option<Range<usize>>)>;

impl Public {
    /// Whether there is no public column.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.columns.is_empty()
    }

    /// Whether a column is public.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.eq_ignore_ascii_case(name))
    }

    /// The groups of a table, and the number of rows that they have.
    ///
    /// # Errors
    /// A column that the query does not group by, or that it sums or looks for the end of; too many groups, or none.
    pub(super) fn found(
        statement: &Statement,
        table: &Table,
        columns: &[String],
        field: impl Fn(&str) -> Result<Field, QueryError>,
    ) -> Result<(Self, usize), QueryError> {
        let keys = grouped_by(statement, columns, &field)?;
        let mut compared = Vec::new();
        let condition = resolved(&statement.filter, true, &field, &mut compared)?;
        let refused = |group: &[i64]| condition.clone().refuses(&keys, group, &compared);
        let rows = by_group(&keys, table)?;
        let groups: Vec<PublicGroup> = rows
            .into_iter()
            .filter(|(values, _)| !refused(values))
            .map(|(values, rows)| PublicGroup { values, rows: rows.len() })
            .collect();
        let names = || keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>().join(", ");
        match groups.len() {
            0 => Err(QueryError::NoRow),
            got if got > MOST_GROUPS => Err(QueryError::Groups { names: names(), got: got as u128, most: MOST_GROUPS }),
            _ => {
                let rows = groups.iter().map(|group| group.rows).sum();
                Ok((Self { columns: keys.into_iter().map(|key| key.name).collect(), groups }, rows))
            }
        }
    }

    /// Fails for groups of a description that no table has.
    pub(super) fn plausible(
        &self,
        statement: &Statement,
        rows: usize,
        field: impl Fn(&str) -> Result<Field, QueryError>,
    ) -> Result<(), QueryError> {
        if self.is_none() && self.groups.is_empty() {
            return Ok(());
        }
        let keys = grouped_by(statement, &self.columns, &field)?;
        let within = |group: &PublicGroup| {
            let values = group.values.iter().zip(&keys);
            let fits = values.clone().all(|(value, key)| (key.low..=key.last()).contains(value));
            fits && group.values.len() == keys.len() && (1..=MOST_ROWS).contains(&group.rows)
        };
        let ascending = self.groups.windows(2).all(|pair| pair[0].values < pair[1].values);
        let few = (1..=MOST_GROUPS).contains(&self.groups.len());
        if few
            && ascending
            && self.groups.iter().all(within)
            && self.groups.iter().map(|g| g.rows).sum::<usize>() == rows
        {
            return Ok(());
        }
        let problem = "the description's groups are none of a table: make keys anew (limbwise keygen)".into();
        Err(QueryError::Public { columns: self.columns.join(", "), problem })
    }

    /// The groups of all keys: each public one with every value of the others.
    pub(super) fn groups_of(
        &self,
        keys: &[Field],
        grouped: impl Fn(&[Field]) -> Result<Vec<Vec<i64>>, QueryError>,
    ) -> Result<Groups, QueryError> {
        if self.is_none() {
            return Ok(grouped(keys)?.into_iter().map(|values| (values, None)).collect());
        }
        let (seen, others): (Vec<Field>, Vec<Field>) = keys.iter().cloned().partition(|key| self.has(&key.name));
        let others = grouped(&others)?;
        let got = others.len() as u128 * self.groups.len() as u128;
        if got > MOST_GROUPS as u128 {
            let names = keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(QueryError::Groups { names, got, most: MOST_GROUPS });
        }
        let place = |key: &Field| self.columns.iter().position(|name| name.eq_ignore_ascii_case(&key.name));
        let places: Vec<usize> = seen.iter().filter_map(place).collect();
        let (mut all, mut first) = (Vec::new(), 0);
        for group in &self.groups {
            for other in &others {
                let (mut seen, mut other) = (places.iter().map(|&at| group.values[at]), other.iter().copied());
                let value = |key: &Field| if self.has(&key.name) { seen.next() } else { other.next() };
                let values: Vec<i64> = keys.iter().filter_map(value).collect();
                all.push((values, Some(first..first + group.rows)));
            }
            first += group.rows;
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(all)
    }
}

/// The fields of public columns.
fn grouped_by(
    statement: &Statement,
    columns: &[String],
    field: impl Fn(&str) -> Result<Field, QueryError>,
) -> Result<Vec<Field>, QueryError> {
    let results = &statement.results;
    let mut keys: Vec<Field> = Vec::new();
    for name in columns {
        let wrong = |problem: &str| QueryError::Public { columns: name.clone(), problem: problem.into() };
        if !results.keys.iter().any(|key| key.name.eq_ignore_ascii_case(name)) {
            return Err(wrong("the query does not group by it: only a column of GROUP BY may be public"));
        }
        let mut operands = results.aggregates.iter().flat_map(|aggregate| aggregate.of.operands());
        if operands.any(|operand| operand.name.eq_ignore_ascii_case(name)) {
            return Err(wrong("the query aggregates it under encryption: leave --public out for it"));
        }
        let field = field(name)?;
        if keys.contains(&field) {
            return Err(wrong("it is named twice"));
        }
        keys.push(field);
    }
    if keys.is_empty() {
        let problem = "groups without a column".into();
        return Err(QueryError::Public { columns: String::new(), problem });
    }
    Ok(keys)
}

/// The rows of each group, in their order.
fn by_group(keys: &[Field], table: &Table) -> Result<BTreeMap<Vec<i64>, Vec<usize>>, QueryError> {
    let columns = keys.iter().map(|key| codes(key, table)).collect::<Result<Vec<_>, _>>()?;
    let mut rows: BTreeMap<Vec<i64>, Vec<usize>> = BTreeMap::new();
    for row in 0..table.rows {
        rows.entry(columns.iter().map(|column| column[row]).collect()).or_default().push(row);
    }
    Ok(rows)
}

impl Question {
    /// The rows of a table in the order that the program takes them: sorted by public columns, without groups that the
    /// query refuses. A table of a query without public columns stays as it is.
    ///
    /// # Errors
    /// Groups that have other numbers of rows than the program's.
    pub fn arranged(&self, table: Table) -> Result<Table, QueryError> {
        if self.public.is_none() {
            return Ok(table);
        }
        let fields = self.fields();
        let named = |name: &String| fields.iter().find(|field| field.name == *name).cloned();
        let keys: Vec<Field> = self.public.columns.iter().filter_map(named).collect();
        let mut order = Vec::with_capacity(table.rows);
        let mut rows = by_group(&keys, &table)?;
        let shown = |group: &[i64]| group.iter().zip(&keys).map(|(&v, key)| key.show(v)).collect::<Vec<_>>().join(", ");
        let wrong = |group: &[i64], got: usize, wanted: usize| {
            let problem = format!("{got} rows have {}, the program has {wanted} of them", shown(group));
            QueryError::Public { columns: self.public.columns.join(", "), problem }
        };
        for group in &self.public.groups {
            let found = rows.remove(&group.values).unwrap_or_default();
            if found.len() != group.rows {
                return Err(wrong(&group.values, found.len(), group.rows));
            }
            order.extend(found);
        }
        let refused = |group: &[i64]| self.condition.clone().refuses(&keys, group, &self.compared);
        if let Some((group, found)) = rows.iter().find(|(group, _)| !refused(group)) {
            return Err(wrong(group, found.len(), 0));
        }
        let columns = table.columns.iter().map(|column| column.taken(order.iter().copied().map(Some))).collect();
        Ok(Table { columns, rows: order.len(), ..table })
    }
}
