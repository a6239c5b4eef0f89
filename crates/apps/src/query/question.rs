//! A query with resolved names: the range of each compared column, and the sum.
//!
//! Public metadata of a query: its text, the number of rows, and the type and domain of each column. The domain is the
//! set of possible values and decides the number of encrypted digits.

use super::{
    condition::Cond,
    error::QueryError,
    field::{Domain, Field, MOST_FACTOR, field, plausible, values},
    set::Set,
    sql::{Aggregate, Comparison, Condition, Constant, Formula, Statement, Test},
    table::{Decimal, Kind, Table, read_date},
};

/// Most rows of a query: the slots of the largest ring.
pub const MOST_ROWS: usize = 1 << 16;
/// Most factors of a product. Each takes a level.
const MOST_FACTORS: usize = 4;

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
    /// The compared columns: at least one.
    pub compared: Vec<Field>,
    /// What a row must satisfy, over the numbers of [`Self::compared`]: some rows could pass, and some could not.
    pub condition: Cond,
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
        let mut compared = Vec::new();
        let condition = resolved(&statement.filter, &field, &mut compared)?;
        if condition == Cond::FALSE {
            return Err(QueryError::NoRow);
        }
        if condition == Cond::TRUE {
            return Err(QueryError::EveryRow);
        }
        // A column whose tests are all certain is not encrypted.
        let used = condition.columns();
        let condition = condition.renumbered(&|column| used.iter().position(|&u| u == column).unwrap_or(column));
        let compared = used.iter().map(|&column| compared[column].clone()).collect();
        let terms = match &statement.aggregate {
            Aggregate::Count => Vec::new(),
            Aggregate::Sum(factors) if factors.len() > MOST_FACTORS => {
                return Err(QueryError::unsupported(format!("a product of {} factors", factors.len())));
            }
            Aggregate::Sum(factors) => factors.iter().map(|f| term(f, field(&f.column)?)).collect::<Result<_, _>>()?,
        };
        Ok(Self { sql: statement.text.clone(), rows, compared, condition, terms })
    }

    /// The columns that the query names, each once.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        let all = self.compared.iter().chain(self.terms.iter().map(|t| &t.field));
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
        let outside = self.condition.refused_row(&self.compared);
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

    /// Decimal places of the answer's units.
    pub fn digits(&self) -> u32 {
        self.terms.iter().map(|t| t.digits).sum()
    }

    /// Which rows pass.
    pub fn passing(&self, table: &Table) -> Result<Vec<bool>, QueryError> {
        let columns = self.compared.iter().map(|field| values(field, table)).collect::<Result<Vec<_>, _>>()?;
        Ok((0..table.rows).map(|row| self.condition.passes(&|column| columns[column][row])).collect())
    }

    /// The exact answer, in units of 10^(−digits).
    pub fn answer(&self, table: &Table) -> Result<i128, QueryError> {
        let mut products: Vec<i128> = self.passing(table)?.into_iter().map(i128::from).collect();
        for term in &self.terms {
            let values = values(&term.field, table)?;
            products.iter_mut().zip(values).for_each(|(p, v)| *p *= i128::from(term.value(v)));
        }
        Ok(products.iter().sum())
    }
}

/// What a condition asks of the columns, each of which is looked up once.
fn resolved(
    formula: &Formula,
    field: &impl Fn(&str) -> Result<Field, QueryError>,
    fields: &mut Vec<Field>,
) -> Result<Cond, QueryError> {
    Ok(match formula {
        Formula::Is(condition) => {
            let found = field(&condition.column)?;
            let column = fields.iter().position(|known| *known == found).unwrap_or_else(|| {
                fields.push(found);
                fields.len() - 1
            });
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
    let at = categories.iter().position(|known| known == text).unwrap_or_else(|| {
        categories.push(text.to_owned());
        categories.len() - 1
    });
    i64::try_from(at).ok()
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

fn term(factor: &super::sql::Factor, field: Field) -> Result<Term, QueryError> {
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
            ("color = 'green' OR price < 5", "COUNT(*)", vec![false, true, true, false], 2, 0),
            ("color <> 'green' AND NOT price > 10", "COUNT(*)", vec![false, false, true, true], 2, 0),
            ("color IN ('red', 'blue', 'black')", "SUM(price)", vec![true, false, true, false], 1350, 2),
            ("color LIKE 'gr%' OR color LIKE 're%'", "COUNT(*)", vec![true, true, false, false], 2, 0),
            ("color NOT LIKE 'b%' AND color >= 'a'", "COUNT(*)", vec![true, true, false, false], 2, 0),
            ("day IN ('1994-01-01', date '1995-01-01')", "COUNT(*)", vec![true, false, false, true], 2, 0),
            (
                "NOT (day BETWEEN '1994-01-01' AND '1994-12-31' AND price > 5)",
                "COUNT(*)",
                vec![false, true, true, true],
                3,
                0,
            ),
            ("price IN (3, 7.25, 8) OR price NOT IN (10.5, 3, 7.25)", "COUNT(*)", vec![false, true, true, true], 3, 0),
        ] {
            let question = question(filter, result, &[]).unwrap();
            assert_eq!(question.passing(&table()).unwrap(), rows, "{filter}");
            assert_eq!((question.answer(&table()).unwrap(), question.digits()), (answer, digits), "{result}");
        }
    }

    #[test]
    fn texts_are_numbers_of_what_both_sides_know() {
        let domain = ["color=yellow|red|green|blue|1"];
        let asked = question("color = 'red'", "COUNT(*)", &domain).unwrap();
        assert_eq!(asked.compared[0].categories, ["1", "blue", "green", "red", "yellow"]);
        assert_eq!(values(&asked.compared[0], &table()).unwrap(), [3, 2, 1, 0]);
        // A list that lacks one is told where; one that is no list, and hostile ones, are refused.
        let error = question("color = 'red'", "COUNT(*)", &["color=red|blue"]).unwrap_err().to_string();
        assert!(error.contains("column color, row 2: \"green\" is none of the values"), "{error}");
        let error = question("color = 'red'", "COUNT(*)", &["color=1..3"]).unwrap_err().to_string();
        assert!(error.contains("the column holds texts, got a range"), "{error}");
        let statement = Statement::parse(&asked.sql).unwrap();
        assert_eq!(Question::described(&statement, 4, &asked.compared).unwrap(), asked);
        for change in [
            |field: &mut Field| field.categories.swap(0, 1),
            |field: &mut Field| field.high = 7,
            |field: &mut Field| field.categories.clear(),
            |field: &mut Field| field.categories[4] = "z".repeat(300),
            |field: &mut Field| field.kind = Kind::Date,
        ] {
            let mut field = asked.compared[0].clone();
            change(&mut field);
            let error = Question::described(&statement, 4, &[field]).unwrap_err().to_string();
            assert!(error.contains("no domain of a column"), "{error}");
        }
    }

    #[test]
    fn long_formulas_become_short_ones() {
        for join in ["OR", "AND"] {
            let many = vec!["price=3"; 160].join(&format!(" {join} "));
            assert_eq!(
                question(&many, "COUNT(*)", &[]).unwrap().condition,
                question("price=3", "COUNT(*)", &[]).unwrap().condition
            );
        }
        let list = (0..3000).map(|i| (2 * i).to_string()).collect::<Vec<_>>().join(",");
        let long = question(&format!("price IN ({list})"), "COUNT(*)", &["price=0..99999"]).unwrap();
        let error = super::super::Filter::new(
            &long,
            &limbwise::tfhe::preset("2-2-p64").map(|p| limbwise::tfhe::TfheParams::new(&p).unwrap()).unwrap(),
        );
        assert!(error.unwrap_err().to_string().contains("bootstrappings a row"));
    }

    #[test]
    fn rows_that_fill_a_table_do_not_pass() {
        for filter in [
            "color <> 'red' OR price > 5",
            "color NOT IN ('red', 'blue') AND price < 50",
            "price > 3 OR day > '1994-01-01'",
        ] {
            let whole = Question { rows: 7, ..question(filter, "COUNT(*)", &[]).unwrap() };
            let filled = whole.filled(table()).unwrap();
            assert_eq!(filled.rows, 7);
            let passing = whole.passing(&filled).unwrap();
            assert_eq!(passing[4..], [false; 3], "{filter}");
            assert_eq!(passing[..4], whole.passing(&table()).unwrap()[..], "{filter}");
        }
    }

    #[test]
    fn domains_decide_the_width() {
        let width = |domains: &[&str]| question("price < 50", "COUNT(*)", domains).map(|q| q.compared[0].bits());
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
            ("price < 0", "COUNT(*)", "no row can pass"),
            ("price < 10 AND price > 20", "COUNT(*)", "no row can pass"),
            ("discount = 0.055", "COUNT(*)", "no row can pass"),
            ("price < 1000", "COUNT(*)", "every row passes"),
            ("size < 3", "COUNT(*)", "no column \"size\": its columns are Price, discount, day, color"),
            (
                "color < 3",
                "COUNT(*)",
                "column color holds texts such as \"blue\", the constant is a number; write a text in quotes",
            ),
            ("color = 'black'", "COUNT(*)", "no row can pass"),
            ("color < 'red' OR price < 1000", "COUNT(*)", "every row passes"),
            ("price LIKE '3%'", "COUNT(*)", "the constant is a text; write a number"),
            ("price = 'red'", "COUNT(*)", "the constant is a text; write a number"),
            ("price < 50", "SUM(color)", "a sum of the texts of color"),
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
