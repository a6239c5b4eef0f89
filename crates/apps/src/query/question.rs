//! A query with resolved names: the range of each compared column, and the sum.
//!
//! Public metadata of a query: its text, the number of rows, and the type and domain of each column. The domain is the
//! set of possible values and decides the number of encrypted digits.

use super::{
    error::QueryError,
    sql::{Aggregate, Comparison, Condition, Constant, Statement},
    table::{Kind, Table},
};
use serde::{Deserialize, Serialize};

/// Most rows of a query: the slots of the largest ring.
pub const MOST_ROWS: usize = 1 << 16;
/// Most bits of a compared column.
pub const MOST_BITS: u32 = 40;
/// Largest factor of a sum. It is below 2^53, so that floats hold it exactly.
const MOST_FACTOR: i64 = 1 << 50;
/// Most decimal places of a column.
const MOST_POINT: u32 = 9;
/// Most factors of a product. Each takes a level.
const MOST_FACTORS: usize = 4;

/// Public metadata of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    pub name: String,
    pub kind: Kind,
    /// Smallest possible value, in units of its last digit or in days.
    pub low: i64,
    pub high: i64,
}

impl Field {
    /// Bits needed to distinguish its values.
    pub fn bits(&self) -> u32 {
        64 - self.high.abs_diff(self.low).leading_zeros()
    }
}

/// A declared domain, which replaces the column's minimum and maximum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    pub column: String,
    pub ends: [String; 2],
}

impl std::str::FromStr for Domain {
    type Err = QueryError;

    /// `COLUMN=LOW..HIGH`.
    fn from_str(text: &str) -> Result<Self, QueryError> {
        let wrong = || QueryError::Domain { text: text.to_owned(), problem: "not of that form".into() };
        let (column, ends) = text.split_once('=').ok_or_else(wrong)?;
        let (low, high) = ends.split_once("..").ok_or_else(wrong)?;
        Ok(Self { column: column.into(), ends: [low.into(), high.into()] })
    }
}

/// A column with the range it must lie in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The column.
    pub field: Field,
    pub low: i64,
    pub high: i64,
}

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

    /// Largest absolute value of the factor.
    pub fn bound(&self) -> i64 {
        [self.field.low, self.field.high].map(|cell| self.value(cell).abs()).into_iter().max().unwrap_or(1).max(1)
    }
}

/// A query on one table, as both sides know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub sql: String,
    pub rows: usize,
    /// Ranges that a row must pass: at least one, and each excludes some value.
    pub ranges: Vec<Range>,
    /// Factors of the summed product; empty for a count.
    pub terms: Vec<Term>,
}

impl Question {
    /// Resolves a statement's names in a table. Undeclared domains run from a column's minimum to its maximum.
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
        Self::of(statement, table.rows, |name| field(table, name, domains))
    }

    /// The same for the columns of a description, without a table. The description may be hostile.
    pub fn described(statement: &Statement, rows: usize, fields: &[Field]) -> Result<Self, QueryError> {
        for field in fields {
            let (low, high) = (field.low, field.high);
            let digits = if let Kind::Number(digits) = field.kind { digits } else { 0 };
            if low > high || low < -MOST_FACTOR || high > MOST_FACTOR || digits > MOST_POINT {
                let text = format!("{}={low}..{high}", field.name);
                return Err(QueryError::Domain { text, problem: "no domain of a column".into() });
            }
            wide(field)?;
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
        let mut ranges: Vec<Range> = Vec::new();
        for condition in &statement.conditions {
            let field = field(&condition.column)?;
            let (low, high) = passing(condition, &field)?;
            match ranges.iter_mut().find(|r| r.field == field) {
                Some(range) => (range.low, range.high) = (range.low.max(low), range.high.min(high)),
                None => ranges.push(Range { low: low.max(field.low), high: high.min(field.high), field }),
            }
        }
        if let Some(Range { field, .. }) = ranges.iter().find(|r| r.low > r.high) {
            let [low, high] = [field.low, field.high].map(|end| field.kind.show(end));
            return Err(QueryError::NoRow { name: field.name.clone(), low, high });
        }
        ranges.retain(|r| r.low > r.field.low || r.high < r.field.high);
        if ranges.is_empty() {
            return Err(QueryError::EveryRow);
        }
        let terms = match &statement.aggregate {
            Aggregate::Count => Vec::new(),
            Aggregate::Sum(factors) if factors.len() > MOST_FACTORS => {
                return Err(QueryError::unsupported(format!("a product of {} factors", factors.len())));
            }
            Aggregate::Sum(factors) => factors.iter().map(|f| term(f, field(&f.column)?)).collect::<Result<_, _>>()?,
        };
        Ok(Self { sql: statement.text.clone(), rows, ranges, terms })
    }

    /// The columns that the query names, each once.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        let all = self.ranges.iter().map(|r| &r.field).chain(self.terms.iter().map(|t| &t.field));
        all.for_each(|field| {
            if !fields.contains(field) {
                fields.push(field.clone());
            }
        });
        fields
    }

    /// Fails if the table has another number of rows, or values outside the public domains.
    pub fn fits(&self, table: &Table) -> Result<(), QueryError> {
        if table.rows != self.rows {
            return Err(QueryError::OtherRows { got: table.rows, wanted: self.rows });
        }
        for known in self.fields() {
            let Field { name, kind, low, high } = &known;
            let (_, got, values) = table.column(name)?;
            if got != *kind {
                return Err(QueryError::OtherKind {
                    name: name.clone(),
                    got: got.to_string(),
                    wanted: kind.to_string(),
                });
            }
            if let Some(at) = values.iter().position(|v| !(low..=high).contains(&v)) {
                let [low, high, got] = [*low, *high, values[at]].map(|value| kind.show(value));
                return Err(QueryError::OutOfRange { name: name.clone(), row: at + 1, got, low, high });
            }
        }
        Ok(())
    }

    /// Decimal places of the answer's units.
    pub fn digits(&self) -> u32 {
        self.terms.iter().map(|t| t.digits).sum()
    }

    /// Which rows pass.
    pub fn passing(&self, table: &Table) -> Result<Vec<bool>, QueryError> {
        let mut rows = vec![true; table.rows];
        for range in &self.ranges {
            let (_, _, values) = table.column(&range.field.name)?;
            rows.iter_mut().zip(values).for_each(|(row, v)| *row &= (range.low..=range.high).contains(v));
        }
        Ok(rows)
    }

    /// The exact answer, in units of 10^(−digits).
    pub fn answer(&self, table: &Table) -> Result<i128, QueryError> {
        let mut products: Vec<i128> = self.passing(table)?.into_iter().map(i128::from).collect();
        for term in &self.terms {
            let (_, _, values) = table.column(&term.field.name)?;
            products.iter_mut().zip(values).for_each(|(p, &v)| *p *= i128::from(term.value(v)));
        }
        Ok(products.iter().sum())
    }
}

/// A column with its domain, which must contain all values.
fn field(table: &Table, name: &str, domains: &[Domain]) -> Result<Field, QueryError> {
    let (name, kind, values) = table.column(name)?;
    let ends = match domains.iter().find(|d| d.column.eq_ignore_ascii_case(name)) {
        None => values.iter().min().copied().zip(values.iter().max().copied()).unwrap_or_default(),
        Some(Domain { ends, .. }) => {
            let wrong =
                |problem: String| QueryError::Domain { text: format!("{name}={}..{}", ends[0], ends[1]), problem };
            let read =
                |end: &String| kind.read(end).ok_or_else(|| wrong(format!("the column holds {kind}, got {end:?}")));
            let (low, high) = (read(&ends[0])?, read(&ends[1])?);
            if low > high {
                return Err(wrong("the low end lies above the high one".into()));
            }
            (low, high)
        }
    };
    let field = Field { name: name.to_owned(), kind, low: ends.0, high: ends.1 };
    let [low, high] = [field.low, field.high].map(|end| kind.show(end));
    if let Some(at) = values.iter().position(|v| !(field.low..=field.high).contains(v)) {
        return Err(QueryError::OutOfRange { name: field.name, row: at + 1, got: kind.show(values[at]), low, high });
    }
    wide(&field)?;
    Ok(field)
}

/// Fails if a domain has too many values.
fn wide(field: &Field) -> Result<(), QueryError> {
    if field.bits() <= MOST_BITS {
        return Ok(());
    }
    let [low, high] = [field.low, field.high].map(|end| field.kind.show(end));
    Err(QueryError::TooWide { bits: field.bits(), name: field.name.clone(), low, high, most: MOST_BITS })
}

/// Smallest and largest value of a column that satisfy one condition.
fn passing(condition: &Condition, field: &Field) -> Result<(i64, i64), QueryError> {
    let mismatch = |got: &str, wanted| QueryError::Constant {
        condition: condition.text.clone(),
        name: field.name.clone(),
        kind: field.kind.to_string(),
        got: got.into(),
        wanted,
    };
    let (floor, exact) = match (field.kind, condition.constant) {
        (Kind::Number(digits), Constant::Number(number)) => number.floor_in(digits),
        (Kind::Date, Constant::Date(day)) => (i128::from(day), true),
        (Kind::Number(_), Constant::Date(_)) => return Err(mismatch("a date", "a number")),
        (Kind::Date, Constant::Number(_)) => return Err(mismatch("a number", "date 'YYYY-MM-DD'")),
    };
    // All values outside the domain are equivalent.
    let clipped = floor.clamp(i128::from(field.low) - 2, i128::from(field.high) + 2);
    let floor = i64::try_from(clipped).unwrap_or(field.high);
    Ok(match condition.comparison {
        Comparison::Above => (floor + 1, i64::MAX),
        Comparison::AtLeast => (floor + i64::from(!exact), i64::MAX),
        Comparison::Below => (i64::MIN, floor - i64::from(exact)),
        Comparison::AtMost => (i64::MIN, floor),
    })
}

fn term(factor: &super::sql::Factor, field: Field) -> Result<Term, QueryError> {
    let Kind::Number(own) = field.kind else {
        return Err(QueryError::unsupported(format!("a sum of the dates of {}", field.name)));
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
mod tests {
    use super::super::table::Column;
    use super::*;

    fn table() -> Table {
        let column = |name: &str, cells: &[&str]| Column::of_cells(name, cells);
        let columns = vec![
            column("Price", &["10.50", "99.99", "3", "7.25"]),
            column("discount", &["0.05", "0.10", "0", "0.07"]),
            column("day", &["1994-01-01", "1993-12-31", "1994-12-31", "1995-01-01"]),
            column("color", &["red", "green", "blue", "1"]),
        ];
        Table { name: Some("goods".into()), columns, rows: 4 }
    }

    fn question(filter: &str, result: &str, domains: &[&str]) -> Result<Question, QueryError> {
        let domains: Vec<Domain> = domains.iter().map(|d| d.parse()).collect::<Result<_, _>>()?;
        let statement = Statement::parse(&format!("SELECT {result} FROM goods WHERE {filter}"))?;
        Question::new(&statement, &table(), &domains)
    }

    #[test]
    fn answers_are_exact() {
        let day = "day >= date '1994-01-01' AND day < date '1995-01-01'";
        for (filter, result, rows, answer, digits) in [
            (day, "SUM(price * discount)", vec![true, false, true, false], 1050 * 5, 4),
            ("discount between 0.05 and 0.07", "COUNT(*)", vec![true, false, false, true], 2, 0),
            ("discount > 0.055", "SUM(price)", vec![false, true, false, true], 9999 + 725, 2),
            (
                "discount < 0.055",
                "SUM(price * (1 - discount))",
                vec![true, false, true, false],
                1050 * 95 + 300 * 100,
                4,
            ),
            ("discount = 0.1", "SUM(price * (discount + 0.125))", vec![false, true, false, false], 9999 * 225, 5),
            ("10 <= price", "SUM(discount)", vec![true, true, false, false], 15, 2),
        ] {
            let question = question(filter, result, &[]).unwrap();
            assert_eq!(question.passing(&table()).unwrap(), rows, "{filter}");
            assert_eq!((question.answer(&table()).unwrap(), question.digits()), (answer, digits), "{result}");
        }
    }

    #[test]
    fn domains_decide_the_width() {
        let width = |domains: &[&str]| question("price < 50", "COUNT(*)", domains).map(|q| q.ranges[0].field.bits());
        assert_eq!(width(&[]).unwrap(), 14, "9699 units between least and largest");
        assert_eq!(width(&["price=0..655.35"]).unwrap(), 16);
        let refused = [
            (&["price=0..50"][..], "column Price, row 2: 99.99 lies outside 0.00 to 50.00"),
            (&["price=0..99999999999"], "takes 44 bits"),
            (&["price=50..0"], "the low end lies above"),
            (&["price=1994-01-01..7"], "the column holds decimals"),
            (&["price"], "not of that form"),
            (&["prize=1..2"], "no column \"prize\""),
        ];
        for (domains, wanted) in refused {
            let error = width(domains).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn mistakes_are_named_before_keys() {
        for (filter, result, wanted) in [
            ("price < 0", "COUNT(*)", "no row can pass: the conditions on Price"),
            ("price < 10 AND price > 20", "COUNT(*)", "no row can pass"),
            ("discount = 0.055", "COUNT(*)", "no row can pass"),
            ("price < 1000", "COUNT(*)", "every row passes"),
            ("size < 3", "COUNT(*)", "no column \"size\": its columns are Price, discount, day, color"),
            ("color < 3", "COUNT(*)", "column color holds text (\"red\")"),
            ("price < 50", "SUM(color)", "column color holds text"),
            ("price < 50", "SUM(day)", "a sum of the dates of day"),
            ("day < 3", "COUNT(*)", "column day holds dates, the constant is a number; write date 'YYYY-MM-DD'"),
            ("price < '1994-01-01'", "COUNT(*)", "the constant is a date; write a number"),
            ("price < 50", "SUM(price * price * price * price * price)", "a product of 5 factors"),
            ("price < 50", "SUM(99999999999999999 - price)", "a factor of Price beyond"),
        ] {
            let error = question(filter, result, &[]).unwrap_err().to_string();
            assert!(error.contains(wanted), "{filter}: {error}");
        }
        let other = Statement::parse("SELECT COUNT(*) FROM orders WHERE price < 50").unwrap();
        let error = Question::new(&other, &table(), &[]).unwrap_err().to_string();
        assert!(error.contains("about table \"orders\", the data are \"goods\""), "{error}");
    }
}
