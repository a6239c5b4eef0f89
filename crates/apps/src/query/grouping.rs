//! What a question is made of for each group: flags of rows, selections, measures and ends, each once.

use super::{
    condition::Cond,
    error::QueryError,
    extreme::{End, Extreme},
    field::{Field, MOST_FACTOR},
    products::Factor,
    public::Public,
    question::{Asked, Group, GroupRows, Measure, Selection, Term, grouped, position},
    resolve::resolved,
    select::Made,
    set::Set,
    sql::Statement,
    table::Kind,
};
use std::ops::Range;

/// Most factors of a product. Each takes a level.
const MOST_FACTORS: usize = 4;

/// Flags, selections, measures and extremes so far, each once.
#[derive(Default)]
pub(super) struct Laid {
    pub flags: Vec<Cond>,
    pub selections: Vec<Selection>,
    pub measures: Vec<Measure>,
    pub extremes: Vec<Extreme>,
    pub different: Vec<Vec<usize>>,
}

impl Laid {
    /// The number of the selection of rows that satisfy a condition; none where no row can.
    fn selection(&mut self, (rows, within): (Cond, Option<Range<usize>>)) -> Option<usize> {
        if rows == Cond::FALSE {
            return None;
        }
        let flag = (rows != Cond::TRUE).then(|| position(&mut self.flags, rows));
        Some(position(&mut self.selections, Selection { flag, within }))
    }

    /// The number of a measure over the rows that satisfy a condition; none where no row can.
    fn measure(&mut self, rows: (Cond, Option<Range<usize>>), terms: Vec<Term>) -> Option<usize> {
        self.selection(rows).map(|selection| position(&mut self.measures, Measure { selection, terms }))
    }
}

/// What every group is made of.
pub(super) struct Grouping<'a> {
    pub condition: &'a Cond,
    pub compared: &'a [Field],
    /// The columns that are grouped by.
    pub key_columns: Vec<usize>,
    pub aggregates: Vec<Wanted>,
    /// Rows of the table.
    pub rows: usize,
}

impl Grouping<'_> {
    /// Lays a group out; none where no row can be in it.
    pub(super) fn group(
        &self,
        public: &Public,
        (values, within): (Vec<i64>, Option<Range<usize>>),
        laid: &mut Laid,
    ) -> Option<Group> {
        let compared = self.compared;
        let values_of = || self.key_columns.iter().copied().zip(values.iter().copied());
        // The server sees a public column, so that nothing is compared with it under encryption.
        let sees = |column: usize| public.has(&compared[column].name);
        let seen = |cond: Cond| {
            let of = values_of().filter(|&(column, _)| sees(column));
            of.fold(cond, |cond, (column, value)| cond.given(column, value, compared))
        };
        let tests = values_of().filter(|&(column, _)| !sees(column));
        let tests = tests.map(|(column, value)| Cond::test(column, Set::range(value, value), &compared[column]));
        let rows = Cond::all(std::iter::once(seen(self.condition.clone())).chain(tests).collect(), compared);
        // Without groups there is one answer, of no row too.
        if rows == Cond::FALSE && !values.is_empty() {
            return None;
        }
        // Whether a group has a row decides what is NULL.
        let taken = match rows == Cond::TRUE {
            true => GroupRows::Every,
            false => laid.selection((rows.clone(), within.clone())).map_or(GroupRows::None, GroupRows::Selection),
        };
        let asked = self.aggregates.iter().map(|wanted| match wanted {
            Wanted::Sum(when, terms) => {
                let of = std::iter::once(rows.clone()).chain(when.clone().map(seen)).collect();
                let of = Cond::all(of, compared);
                if of == Cond::TRUE && terms.is_empty() {
                    return Some(Asked::Rows(within.as_ref().map_or(self.rows, ExactSizeIterator::len)));
                }
                laid.measure((of, within.clone()), terms.clone()).map(Asked::Sum)
            }
            Wanted::Different(when, column, values) => {
                let of = |value: i64| {
                    let test = Cond::test(*column, Set::range(value, value), &compared[*column]);
                    let of = [rows.clone(), test].into_iter().chain(when.clone().map(seen)).collect();
                    Cond::all(of, compared)
                };
                let selections = values.iter().filter_map(|&value| laid.selection((of(value), within.clone())));
                let selections = selections.collect();
                Some(Asked::Different(position(&mut laid.different, selections)))
            }
            Wanted::Extreme(when, end, field) => {
                let of = std::iter::once(rows.clone()).chain(when.clone().map(seen)).collect();
                let selection = laid.selection((Cond::all(of, compared), within.clone()))?;
                let extreme = Extreme { selection, end: *end, field: field.clone() };
                Some(Asked::Extreme(position(&mut laid.extremes, extreme)))
            }
        });
        let asked = asked.collect();
        Some(Group { values, asked, rows: taken })
    }
}

/// What an aggregate asks.
pub(super) enum Wanted {
    /// The sum of a product over the rows that satisfy a condition beside WHERE.
    Sum(Option<Cond>, Vec<Term>),
    /// An end of a field's values among the rows that satisfy a condition beside WHERE.
    Extreme(Option<Cond>, End, Field),
    /// The number of different values of a compared column, of these that there may be, among such rows.
    Different(Option<Cond>, usize, Vec<i64>),
}

/// What each aggregate asks.
pub(super) fn aggregates(
    statement: &Statement,
    field: &impl Fn(&str) -> Result<Field, QueryError>,
    compared: &mut Vec<Field>,
) -> Result<Vec<Wanted>, QueryError> {
    let (results, mut found) = (&statement.results, Vec::new());
    for (number, aggregate) in results.aggregates.iter().enumerate() {
        let when = aggregate.when.as_ref().map(|when| resolved(when, true, field, compared)).transpose()?;
        let extreme = |end, column: &str| {
            let field = field(column)?;
            if !matches!(field.kind, Kind::Number(_)) && results.computes_with(number) {
                let what = format!("arithmetic with MIN or MAX of the {} of {column} (it stands alone)", field.kind);
                return Err(QueryError::unsupported(what));
            }
            Ok(Wanted::Extreme(when.clone(), end, field))
        };
        found.push(match &aggregate.of {
            Made::Sum(factors) if factors.len() > MOST_FACTORS => {
                return Err(QueryError::unsupported(format!("a product of {} factors", factors.len())));
            }
            Made::Sum(factors) => {
                let terms = factors.iter().map(|f| term(f, field(&f.operand.name)?)).collect::<Result<_, _>>()?;
                Wanted::Sum(when, terms)
            }
            Made::Least(of) => extreme(End::Least, &of.name)?,
            Made::Most(of) => extreme(End::Largest, &of.name)?,
            Made::Different(of) => {
                let field = field(&of.name)?;
                let known = Field { null: false, ..field.clone() };
                let values = grouped(&[known], &|field| statement.values(field))?.concat(); // not more values than groups
                Wanted::Different(when, position(compared, field), values)
            }
        });
    }
    Ok(found)
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
