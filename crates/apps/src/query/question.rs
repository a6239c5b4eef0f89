//! A query with resolved names: the groups, the flags of their rows, and the sums over flagged rows.
//!
//! Public metadata of a query: its text, the number of rows, and the type and domain of each column. The domain is the
//! set of possible values and decides the number of encrypted digits.

use super::{
    condition::Cond,
    derived::with_differences,
    error::QueryError,
    field::{Domain, Field, MOST_FACTOR, field, plausible, values},
    select::{Factor, Made, Results},
    set::Set,
    sql::{Comparison, Condition, Constant, Formula, Join, Statement, Test},
    table::{Decimal, Kind, Table, read_date},
};

/// Most rows of a query: the slots of the largest ring.
pub const MOST_ROWS: usize = 1 << 16;
/// Most factors of a product. Each takes a level.
const MOST_FACTORS: usize = 4;
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

    /// Largest absolute value of the factor, in its units.
    pub fn bound(&self) -> i64 {
        [self.field.low, self.field.high].map(|cell| self.value(cell).abs()).into_iter().max().unwrap_or(1).max(1)
    }
}

/// A sum over the rows of a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Number of the flag.
    pub flag: usize,
    /// Factors of the summed product; empty for a count.
    pub terms: Vec<Term>,
}

impl Measure {
    /// Decimal places of its units.
    pub fn digits(&self) -> u32 {
        self.terms.iter().map(|term| term.digits).sum()
    }
}

/// Rows that agree in the columns that are grouped by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Their values of these columns.
    pub values: Vec<i64>,
    /// The measure of each aggregate; none where no row can count.
    pub measures: Vec<Option<usize>>,
    /// The measure that counts its rows, where there are groups.
    pub count: Option<usize>,
}

/// A query on one table, as both sides know it.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub sql: String,
    pub rows: usize,
    /// The compared columns: at least one.
    pub compared: Vec<Field>,
    /// What a row must satisfy, over the numbers of [`Self::compared`].
    pub condition: Cond,
    /// The same with a group's values, and with what CASE asks: some rows could satisfy it, and some could not.
    pub flags: Vec<Cond>,
    /// The columns that are grouped by.
    pub keys: Vec<Field>,
    /// The groups that rows may be in; one without keys.
    pub groups: Vec<Group>,
    pub measures: Vec<Measure>,
    pub results: Results,
    /// The second table, whose rows were matched before encryption.
    pub join: Option<Join>,
}

impl Question {
    /// Resolves a statement's names in a table that has its differences ([`Table::with_differences`]). Undeclared domains
    /// run from a column's minimum to its maximum.
    ///
    /// # Errors
    /// [`QueryError`]: unknown or unsuitable columns and constants, values outside their domain, sizes above the
    /// limits.
    pub fn new(statement: &Statement, table: &Table, domains: &[Domain]) -> Result<Self, QueryError> {
        if let Some(wanted) = table.name.as_ref().filter(|name| !name.eq_ignore_ascii_case(&statement.table)) {
            return Err(QueryError::OtherTable { got: statement.table.clone(), wanted: wanted.clone() });
        }
        if !(1..=MOST_ROWS).contains(&table.rows) {
            return Err(QueryError::Rows { rows: table.rows, most: MOST_ROWS });
        }
        for domain in domains {
            table.column(&domain.column)?;
        }
        let domains = with_differences(statement, table, domains)?;
        Self::of(statement, table.rows, |name| field(table, name, &domains))
    }

    /// The same for the columns of a description, without a table. The description may be hostile.
    pub fn described(statement: &Statement, rows: usize, fields: &[Field]) -> Result<Self, QueryError> {
        for field in fields {
            plausible(field)?;
        }
        let look = |name: &str| {
            let found = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)).cloned();
            found.ok_or_else(|| QueryError::unsupported(format!("column {name}, which the description does not have")))
        };
        Self::of(statement, rows, look)
    }

    fn of(
        statement: &Statement,
        rows: usize,
        field: impl Fn(&str) -> Result<Field, QueryError>,
    ) -> Result<Self, QueryError> {
        if !(1..=MOST_ROWS).contains(&rows) {
            return Err(QueryError::Rows { rows, most: MOST_ROWS });
        }
        let results = &statement.results;
        let mut compared = Vec::new();
        let condition = resolved(&statement.filter, &field, &mut compared)?;
        if condition == Cond::FALSE {
            return Err(QueryError::NoRow);
        }
        let keys = results.keys.iter().map(|key| field(key)).collect::<Result<Vec<_>, _>>()?;
        let key_columns: Vec<usize> = keys.iter().map(|key| position(&mut compared, key.clone())).collect();
        let mut laid = Laid { flags: Vec::new(), measures: Vec::new() };
        let mut groups = Vec::new();
        let aggregates = aggregates(results, &field, &mut compared)?;
        for values in grouped(&keys)? {
            let one =
                |(&column, &value): (&usize, &i64)| Cond::test(column, Set::range(value, value), &compared[column]);
            let within = key_columns.iter().zip(&values).map(one);
            let rows = Cond::all(std::iter::once(condition.clone()).chain(within).collect(), &compared);
            if rows == Cond::FALSE {
                continue; // no row can be in this group
            }
            let count = if keys.is_empty() { None } else { laid.measure(rows.clone(), Vec::new())? };
            let measure = |(when, terms): &Asked| {
                let of = std::iter::once(rows.clone()).chain(when.clone()).collect();
                laid.measure(Cond::all(of, &compared), terms.clone())
            };
            let measures = aggregates.iter().map(measure).collect::<Result<_, _>>()?;
            groups.push(Group { values, measures, count });
        }
        let Laid { flags, measures } = laid;
        if flags.is_empty() {
            return Err(QueryError::NoRow);
        }
        // A column whose tests are all certain is not encrypted.
        let mut used: Vec<usize> = flags.iter().chain([&condition]).flat_map(Cond::columns).collect();
        used.sort_unstable();
        used.dedup();
        let number = |column| used.iter().position(|&u| u == column).unwrap_or(column);
        let renumbered = |cond: Cond| cond.renumbered(&number);
        let (condition, flags) = (renumbered(condition), flags.into_iter().map(renumbered).collect());
        let compared = used.iter().map(|&column| compared[column].clone()).collect();
        let (sql, results, join) = (statement.text.clone(), results.clone(), statement.join.clone());
        let question = Self { sql, rows, compared, condition, flags, keys, groups, measures, results, join };
        question.measures.iter().try_for_each(|measure| question.within_range(measure))?;
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
        self.compared.iter().chain(&self.keys).chain(terms).for_each(|field| {
            if !fields.contains(field) {
                fields.push(field.clone());
            }
        });
        fields
    }

    /// The summed columns, each once, with the unit of its slots: the largest factor that is made of it.
    pub fn summed(&self) -> Vec<(Field, f64)> {
        let mut summed: Vec<(Field, f64)> = Vec::new();
        for term in self.measures.iter().flat_map(|measure| &measure.terms) {
            match summed.iter_mut().find(|(field, _)| *field == term.field) {
                Some((_, unit)) => *unit = unit.max(term.largest()),
                None => summed.push((term.field.clone(), term.largest())),
            }
        }
        summed
    }

    /// Fails if the table has another number of rows, or values outside the public domains.
    pub fn fits(&self, table: &Table) -> Result<(), QueryError> {
        if table.rows != self.rows {
            return Err(QueryError::OtherRows { got: table.rows, wanted: self.rows });
        }
        self.fields().iter().try_for_each(|field| values(field, table).map(drop))
    }

    /// The table with rows that do not pass behind its own, up to the number that the program takes.
    ///
    /// # Errors
    /// A formula of which no failing row is found.
    pub fn filled(&self, mut table: Table) -> Result<Table, QueryError> {
        let missing = self.rows.saturating_sub(table.rows);
        if missing == 0 {
            return Ok(table);
        }
        let outside = Cond::any(self.flags.clone(), &self.compared).refused_row(&self.compared);
        let outside = outside.ok_or_else(|| QueryError::unsupported("a part of a table with so long a formula"))?;
        let fields = self.fields();
        for column in &mut table.columns {
            let named = |field: &&Field| field.name == column.name;
            let compared = self.compared.iter().position(|field| field.name == column.name);
            let field = fields.iter().find(named);
            let value = compared.map_or_else(|| field.map_or(0, |field| field.low), |at| outside[at]);
            // A text is a number of the field's; in the table it has another.
            let text = field.and_then(|field| field.categories.get(usize::try_from(value).ok()?));
            let value = text.map_or(Some(value), |text| number_of(&mut column.categories, text));
            column.cells.1.extend(std::iter::repeat_n(value.unwrap_or(0), missing));
        }
        table.rows += missing;
        Ok(table)
    }

    /// Which rows satisfy WHERE.
    pub fn passing(&self, table: &Table) -> Result<Vec<bool>, QueryError> {
        Ok(self.satisfying(table, std::slice::from_ref(&self.condition))?.remove(0))
    }

    /// The rows of each flag.
    pub fn flagged(&self, table: &Table) -> Result<Vec<Vec<bool>>, QueryError> {
        self.satisfying(table, &self.flags)
    }

    fn satisfying(&self, table: &Table, conds: &[Cond]) -> Result<Vec<Vec<bool>>, QueryError> {
        let columns = self.compared.iter().map(|field| values(field, table)).collect::<Result<Vec<_>, _>>()?;
        let rows = |cond: &Cond| (0..table.rows).map(|row| cond.passes(&|column| columns[column][row])).collect();
        Ok(conds.iter().map(rows).collect())
    }

    /// The exact sums, each in units of 10^(−digits).
    pub fn sums(&self, table: &Table) -> Result<Vec<i128>, QueryError> {
        let flags = self.flagged(table)?;
        let sum = |measure: &Measure| {
            let mut products: Vec<i128> = flags[measure.flag].iter().copied().map(i128::from).collect();
            for term in &measure.terms {
                let values = values(&term.field, table)?;
                products.iter_mut().zip(values).for_each(|(p, v)| *p *= i128::from(term.value(v)));
            }
            Ok(products.iter().sum())
        };
        self.measures.iter().map(sum).collect()
    }
}

/// Flags and measures so far, each once.
struct Laid {
    flags: Vec<Cond>,
    measures: Vec<Measure>,
}

impl Laid {
    /// The number of a measure over the rows that satisfy a condition; none where no row can.
    fn measure(&mut self, rows: Cond, terms: Vec<Term>) -> Result<Option<usize>, QueryError> {
        if rows == Cond::FALSE {
            return Ok(None);
        }
        if rows == Cond::TRUE {
            return Err(QueryError::EveryRow);
        }
        let flag = position(&mut self.flags, rows);
        Ok(Some(position(&mut self.measures, Measure { flag, terms })))
    }
}

/// The place of a value in a list, which it is put behind if it is not in it.
fn position<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter().position(|known| *known == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}

/// What an aggregate asks of rows beside WHERE, and its factors.
type Asked = (Option<Cond>, Vec<Term>);

/// What each aggregate asks of rows beside WHERE, and its factors.
fn aggregates(
    results: &Results,
    field: &impl Fn(&str) -> Result<Field, QueryError>,
    compared: &mut Vec<Field>,
) -> Result<Vec<Asked>, QueryError> {
    let mut found = Vec::new();
    for aggregate in &results.aggregates {
        let when = aggregate.when.as_ref().map(|when| resolved(when, field, compared)).transpose()?;
        let terms = match &aggregate.of {
            Made::Sum(factors) if factors.len() > MOST_FACTORS => {
                return Err(QueryError::unsupported(format!("a product of {} factors", factors.len())));
            }
            Made::Sum(factors) => factors.iter().map(|f| term(f, field(&f.column)?)).collect::<Result<_, _>>()?,
            Made::Least(column) | Made::Most(column) => {
                let what =
                    "MIN or MAX (GROUP BY the column, ORDER BY it and LIMIT 1 has it where there are few values)";
                return Err(QueryError::unsupported(format!("{what} of {column}")));
            }
        };
        found.push((when, terms));
    }
    Ok(found)
}

/// The values of the groups: every combination of the columns' values.
fn grouped(keys: &[Field]) -> Result<Vec<Vec<i64>>, QueryError> {
    let got = keys.iter().fold(1u128, |all, key| all.saturating_mul(u128::from(key.high.abs_diff(key.low)) + 1));
    if got > MOST_GROUPS as u128 {
        let names = keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(QueryError::Groups { names, got, most: MOST_GROUPS });
    }
    let mut all = vec![Vec::new()];
    for key in keys {
        let with = |group: &Vec<i64>| {
            (key.low..=key.high).map(|value| group.iter().copied().chain([value]).collect()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    Ok(all)
}

/// What a condition asks of the columns, each of which is looked up once.
fn resolved(
    formula: &Formula,
    field: &impl Fn(&str) -> Result<Field, QueryError>,
    fields: &mut Vec<Field>,
) -> Result<Cond, QueryError> {
    Ok(match formula {
        Formula::Is(condition) => {
            let column = position(fields, field(&condition.name())?);
            Cond::test(column, passing(condition, &fields[column])?, &fields[column])
        }
        Formula::Not(inner) => resolved(inner, field, fields)?.not(fields),
        Formula::All(of) => {
            let of = of.iter().map(|one| resolved(one, field, fields)).collect::<Result<_, _>>()?;
            Cond::all(of, fields)
        }
        Formula::Any(of) => {
            let of = of.iter().map(|one| resolved(one, field, fields)).collect::<Result<_, _>>()?;
            Cond::any(of, fields)
        }
    })
}

/// The number of a text among categories, which it is put behind if it is none of them.
fn number_of(categories: &mut Vec<String>, text: &str) -> Option<i64> {
    i64::try_from(position(categories, text.to_owned())).ok()
}

/// The values of a column that satisfy one condition.
fn passing(condition: &Condition, field: &Field) -> Result<Set, QueryError> {
    let all = |low, high| Set::range(low, high);
    Ok(match &condition.test {
        Test::Compare(comparison, constant) => {
            let (floor, exact) = floor(condition, constant, field)?;
            match comparison {
                Comparison::Above => all(floor + 1, i64::MAX),
                Comparison::AtLeast => all(floor + i64::from(!exact), i64::MAX),
                Comparison::Below => all(i64::MIN, floor - i64::from(exact)),
                Comparison::AtMost => all(i64::MIN, floor),
            }
        }
        Test::Among(constants) => {
            let one = |constant| match floor(condition, constant, field)? {
                (value, true) => Ok(Some((value, value))),
                _ => Ok(None),
            };
            let found = constants.iter().map(one).collect::<Result<Vec<_>, QueryError>>()?;
            Set::of(found.into_iter().flatten().collect())
        }
        Test::Prefix(_) if field.kind != Kind::Text => {
            return Err(mismatch(condition, field, "a text", wanted(field.kind)));
        }
        Test::Prefix(text) => {
            let first = field.categories.partition_point(|known| known < text);
            let count = field.categories[first..].iter().take_while(|known| known.starts_with(text)).count();
            let number = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
            all(number(first), number(first + count) - 1)
        }
    })
}

/// What is to be written for a constant that a column of this kind is compared with.
fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Number(_) => "a number",
        Kind::Date => "date 'YYYY-MM-DD'",
        Kind::Text => "a text in quotes",
    }
}

fn mismatch(condition: &Condition, field: &Field, got: &str, wanted: &'static str) -> QueryError {
    // A column of numbers with one cell that is none holds texts: that cell is what is wrong.
    let strange = field.categories.iter().find(|text| Decimal::read(text).is_none());
    let kind = strange.map_or_else(|| field.kind.to_string(), |text| format!("texts such as {text:?}"));
    QueryError::Constant { condition: condition.text.clone(), name: field.name.clone(), kind, got: got.into(), wanted }
}

/// The largest value of a column that is not above a constant, and whether it is equal.
fn floor(condition: &Condition, constant: &Constant, field: &Field) -> Result<(i64, bool), QueryError> {
    let (floor, exact) = match (field.kind, constant) {
        (Kind::Number(digits), Constant::Number(number)) => number.floor_in(digits),
        (Kind::Date, Constant::Date(day)) => (i128::from(*day), true),
        (Kind::Date, Constant::Text(text)) if read_date(text).is_some() => {
            (i128::from(read_date(text).unwrap_or_default()), true)
        }
        (Kind::Text, Constant::Text(text)) => {
            let first = field.categories.partition_point(|known| known < text);
            let exact = field.categories.get(first) == Some(text);
            (i128::try_from(first).unwrap_or(i128::MAX) - i128::from(!exact), exact)
        }
        (kind, constant) => {
            let got = match constant {
                Constant::Number(_) => "a number",
                Constant::Date(_) => "a date",
                Constant::Text(text) if read_date(text).is_some() => "a date",
                Constant::Text(_) => "a text",
            };
            return Err(mismatch(condition, field, got, wanted(kind)));
        }
    };
    // All values outside the domain are equivalent.
    let clipped = floor.clamp(i128::from(field.low) - 2, i128::from(field.high) + 2);
    Ok((i64::try_from(clipped).unwrap_or(field.high), exact))
}

fn term(factor: &Factor, field: Field) -> Result<Term, QueryError> {
    let Kind::Number(own) = field.kind else {
        return Err(QueryError::unsupported(format!("a sum of the {} of {}", field.kind, field.name)));
    };
    let digits = factor.constant.map_or(own, |c| c.digits.max(own));
    let constant = factor.constant.map_or(Some(0), |c| i64::try_from(c.floor_in(digits).0).ok());
    let too_large = || QueryError::unsupported(format!("a factor of {} beyond {MOST_FACTOR} of its units", field.name));
    let constant = constant.filter(|c| c.abs() <= MOST_FACTOR && digits <= 12).ok_or_else(too_large)?;
    let finer = 10i64.pow(digits - own);
    let largest = field.low.unsigned_abs().max(field.high.unsigned_abs());
    if largest.saturating_mul(finer.unsigned_abs()) > MOST_FACTOR.unsigned_abs() {
        return Err(too_large());
    }
    Ok(Term { constant, sign: if factor.negated { -1 } else { 1 }, digits, field })
}

#[cfg(test)]
mod tests;
