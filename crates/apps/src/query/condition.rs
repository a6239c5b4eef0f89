//! What a row must satisfy: tests of columns, joined by AND and OR. NOT is gone: a test's set is turned into its
//! complement.

use super::{field::Field, set::Set};

/// A formula over the compared columns, each by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cond {
    /// The column's value is in the set.
    In { column: usize, set: Set },
    /// All of these; without any, every row passes.
    All(Vec<Cond>),
    /// One of these; without any, no row passes.
    Any(Vec<Cond>),
}

impl Cond {
    pub const TRUE: Self = Self::All(Vec::new());
    pub const FALSE: Self = Self::Any(Vec::new());

    /// A test of a column; certain ones are constants.
    #[must_use]
    pub fn test(column: usize, set: Set, field: &Field) -> Self {
        let set = set.intersection(&Set::range(field.low, field.last()));
        match set.ranges() {
            [] => Self::FALSE,
            [(low, high)] if (*low, *high) == (field.low, field.last()) => Self::TRUE,
            _ => Self::In { column, set },
        }
    }

    /// All of these: tests of one column are one test.
    #[must_use]
    pub fn all(of: Vec<Self>, fields: &[Field]) -> Self {
        let mut kept: Vec<Self> = Vec::new();
        for cond in of {
            match cond {
                Self::All(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        let kept = merged(kept, fields, Set::intersection);
        if kept.contains(&Self::FALSE) { Self::FALSE } else { only(kept).unwrap_or_else(Self::All) }
    }

    /// One of these.
    #[must_use]
    pub fn any(of: Vec<Self>, fields: &[Field]) -> Self {
        let mut kept: Vec<Self> = Vec::new();
        for cond in of {
            match cond {
                Self::Any(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        let kept = merged(kept, fields, Set::union);
        if kept.contains(&Self::TRUE) { Self::TRUE } else { only(kept).unwrap_or_else(Self::Any) }
    }

    /// The rows that do not pass.
    #[must_use]
    pub fn not(self, fields: &[Field]) -> Self {
        match self {
            Self::In { column, set } => {
                let field = &fields[column];
                Self::test(column, set.complement(field.low, field.last()), field)
            }
            Self::All(of) => Self::any(of.into_iter().map(|cond| cond.not(fields)).collect(), fields),
            Self::Any(of) => Self::all(of.into_iter().map(|cond| cond.not(fields)).collect(), fields),
        }
    }

    /// The same where a column's value is known: its tests are constants.
    #[must_use]
    pub fn given(self, known: usize, value: i64, fields: &[Field]) -> Self {
        let each = |of: Vec<Self>| of.into_iter().map(|cond| cond.given(known, value, fields)).collect();
        match self {
            Self::In { column, set } if column == known => {
                if set.contains(value) {
                    Self::TRUE
                } else {
                    Self::FALSE
                }
            }
            Self::In { .. } => self,
            Self::All(of) => Self::all(each(of), fields),
            Self::Any(of) => Self::any(each(of), fields),
        }
    }

    /// Whether no row passes that has these values in these columns.
    pub fn refuses(self, known: &[Field], values: &[i64], fields: &[Field]) -> bool {
        let given = known.iter().zip(values).fold(self, |cond, (field, &value)| {
            match fields.iter().position(|other| other == field) {
                Some(column) => cond.given(column, value, fields),
                None => cond,
            }
        });
        given == Self::FALSE
    }

    /// Whether a row passes.
    pub fn passes(&self, value: &impl Fn(usize) -> i64) -> bool {
        match self {
            Self::In { column, set } => set.contains(value(*column)),
            Self::All(of) => of.iter().all(|cond| cond.passes(value)),
            Self::Any(of) => of.iter().any(|cond| cond.passes(value)),
        }
    }

    /// Share of rows that pass if all columns were uniform and every test independent of the others.
    pub fn share(&self, fields: &[Field]) -> f64 {
        match self {
            Self::In { column, set } => {
                set.size() / (fields[*column].low.abs_diff(fields[*column].last()) as f64 + 1.0)
            }
            Self::All(of) => of.iter().map(|cond| cond.share(fields)).product(),
            Self::Any(of) => 1.0 - of.iter().map(|cond| 1.0 - cond.share(fields)).product::<f64>(),
        }
    }

    /// The columns that it asks for.
    pub fn columns(&self) -> Vec<usize> {
        let mut found = match self {
            Self::In { column, .. } => vec![*column],
            Self::All(of) | Self::Any(of) => of.iter().flat_map(Self::columns).collect(),
        };
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The sets that are asked of a column, each once.
    pub(super) fn sets<'a>(&'a self, asked: usize, out: &mut Vec<&'a Set>) {
        match self {
            Self::In { column, set } if *column == asked && !out.contains(&set) => out.push(set),
            Self::In { .. } => {}
            Self::All(of) | Self::Any(of) => of.iter().for_each(|cond| cond.sets(asked, out)),
        }
    }

    /// The same with other numbers of columns.
    #[must_use]
    pub fn renumbered(self, number: &impl Fn(usize) -> usize) -> Self {
        let each = |of: Vec<Self>| of.into_iter().map(|cond| cond.renumbered(number)).collect();
        match self {
            Self::In { column, set } => Self::In { column: number(column), set },
            Self::All(of) => Self::All(each(of)),
            Self::Any(of) => Self::Any(each(of)),
        }
    }

    /// A row that does not pass, if one is found within so many trials: for rows that only fill a table.
    pub fn refused_row(&self, fields: &[Field]) -> Option<Vec<i64>> {
        let mut allowed: Vec<Set> = fields.iter().map(|f| Set::range(f.low, f.last())).collect();
        let mut trials = MOST_TRIALS;
        fails(&[self], fields, &mut allowed, &mut trials)
            .then(|| allowed.iter().zip(fields).map(|(set, field)| set.first().unwrap_or(field.low)).collect())
    }
}

/// Trials of [`Cond::refused_row`]; a query of a person takes a few.
const MOST_TRIALS: usize = 100_000;

/// Whether all of these can fail together, with each column's values narrowed to such that do.
fn fails(conds: &[&Cond], fields: &[Field], allowed: &mut Vec<Set>, trials: &mut usize) -> bool {
    let Some((first, rest)) = conds.split_first() else { return true };
    if *trials == 0 {
        return false;
    }
    *trials -= 1;
    match first {
        Cond::In { column, set } => {
            let field = &fields[*column];
            let before = allowed[*column].clone();
            allowed[*column] = before.intersection(&set.complement(field.low, field.last()));
            if !allowed[*column].is_empty() && fails(rest, fields, allowed, trials) {
                return true;
            }
            allowed[*column] = before;
            false
        }
        Cond::Any(of) => {
            let all: Vec<&Cond> = of.iter().chain(rest.iter().copied()).collect();
            fails(&all, fields, allowed, trials)
        }
        Cond::All(of) => of.iter().any(|one| {
            let all: Vec<&Cond> = std::iter::once(one).chain(rest.iter().copied()).collect();
            fails(&all, fields, allowed, trials)
        }),
    }
}

/// Joins tests of one column; the first of them keeps its place.
fn merged(of: Vec<Cond>, fields: &[Field], join: fn(&Set, &Set) -> Set) -> Vec<Cond> {
    let mut kept: Vec<Cond> = Vec::new();
    for cond in of {
        let same = |other: &&mut Cond| match (&**other, &cond) {
            (Cond::In { column: a, .. }, Cond::In { column: b, .. }) => a == b,
            (a, b) => *a == *b,
        };
        match (kept.iter_mut().find(same), cond) {
            (Some(Cond::In { set, .. }), Cond::In { set: other, .. }) => *set = join(set, &other),
            (Some(_), _) => {}
            (None, cond) => kept.push(cond),
        }
    }
    let certain = |cond| match cond {
        Cond::In { column, set } => Cond::test(column, set, &fields[column]),
        other => other,
    };
    kept.into_iter().map(certain).collect()
}

/// The only one, or all of them.
fn only(mut of: Vec<Cond>) -> Result<Cond, Vec<Cond>> {
    if of.len() == 1 { Ok(of.remove(0)) } else { Err(of) }
}
