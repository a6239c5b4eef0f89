//! Numbers of a compared column's values.
//!
//! An automaton follows at most four sets of what the rest may be, so a set of many scattered values (`LIKE '%STEEL'`, a long
//! IN) takes many automata. Which numbers values have is free where they are only compared with constants: both sides number
//! them so that the sets that the query asks of the column are ranges, or few. Values are sorted by the sets that they are in,
//! as a reflected code has it, so that neighbors differ in few sets.

use super::{condition::Cond, field::Field, set::Set};
use serde::{Deserialize, Serialize};

/// Most values of a column that are numbered anew.
const MOST_VALUES: u64 = 1 << 12;

/// How the values of compared columns are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numbering {
    /// In their order, as programs did before.
    #[default]
    Ordered,
    /// By the sets that the query asks, where that takes fewer bootstrappings.
    BySets,
}

impl Numbering {
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        *self == Self::Ordered
    }
}

/// The new number of each value of a domain, counted from its least value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places(pub Vec<i64>);

impl Places {
    /// The numbers of a column by the sets that conditions ask of it; none where each is a range already, or leaves one out.
    pub(super) fn by_sets(conds: &[Cond], column: usize, field: &Field) -> Option<Self> {
        if field.last().abs_diff(field.low) >= MOST_VALUES {
            return None;
        }
        let mut sets: Vec<&Set> = Vec::new();
        conds.iter().for_each(|cond| cond.sets(column, &mut sets));
        let one_range = |set: &&Set| {
            [set.ranges(), set.complement(field.low, field.last()).ranges()].iter().any(|ranges| ranges.len() <= 1)
        };
        if sets.iter().all(one_range) {
            return None;
        }
        let code = |value: i64| {
            let mut above = false;
            let bits = sets.iter().map(|set| {
                above ^= set.contains(value);
                !above
            });
            bits.collect::<Vec<bool>>()
        };
        let mut values: Vec<i64> = (field.low..=field.last()).collect();
        values.sort_by_cached_key(|&value| code(value));
        let mut places = vec![0; values.len()];
        for (place, value) in (0..).zip(values) {
            places[usize::try_from(value - field.low).ok()?] = place;
        }
        Some(Self(places))
    }

    /// The new number of a value.
    pub(super) fn of(&self, value: i64, low: i64) -> Option<i64> {
        self.0.get(usize::try_from(value.checked_sub(low)?).ok()?).copied()
    }

    /// The new numbers of a set.
    fn of_set(&self, set: &Set, low: i64) -> Set {
        let values = set.ranges().iter().flat_map(|&(first, last)| first..=last);
        Set::of(values.filter_map(|value| self.of(value, low)).map(|place| (low + place, low + place)).collect())
    }

    /// A condition of the new numbers.
    pub(super) fn of_cond(&self, cond: &Cond, column: usize, low: i64) -> Cond {
        let each = |of: &[Cond]| of.iter().map(|one| self.of_cond(one, column, low)).collect();
        match cond {
            Cond::In { column: own, set } if *own == column => Cond::In { column, set: self.of_set(set, low) },
            Cond::In { .. } => cond.clone(),
            Cond::All(of) => Cond::All(each(of)),
            Cond::Any(of) => Cond::Any(each(of)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Kind;
    use super::*;

    fn field(high: i64) -> Field {
        Field { name: "x".into(), kind: Kind::Number(0), low: -5, high, categories: Vec::new(), null: false }
    }

    fn scattered(step: i64, at: i64, high: i64) -> Cond {
        let values = (-5..=high).filter(|v| v.rem_euclid(step) == at).map(|v| (v, v));
        Cond::In { column: 0, set: Set::of(values.collect()) }
    }

    fn ranges(places: &Places, cond: &Cond) -> usize {
        let Cond::In { set, .. } = places.of_cond(cond, 0, -5) else { panic!("a test") };
        set.ranges().len()
    }

    #[test]
    fn sets_become_ranges() {
        let field = field(300);
        let [a, b, c] = [scattered(7, 3, 300), scattered(5, 1, 300), scattered(5, 4, 300)];
        let one = Places::by_sets(std::slice::from_ref(&a), 0, &field).unwrap();
        assert_eq!(ranges(&one, &a), 1);
        // Sets that meet, and such that do not.
        let two = Places::by_sets(&[a.clone(), b.clone()], 0, &field).unwrap();
        assert_eq!([&a, &b].map(|of| ranges(&two, of)), [1, 1]);
        let apart = Places::by_sets(&[Cond::Any(vec![b.clone(), c.clone()])], 0, &field).unwrap();
        assert_eq!([&b, &c].map(|of| ranges(&apart, of)), [1, 1]);
        for places in [one, two, apart] {
            let mut all = places.0.clone();
            all.sort_unstable();
            assert_eq!(all, (0..306).collect::<Vec<i64>>(), "each number once");
            for value in -5..=300 {
                let place = places.of(value, -5).unwrap() - 5;
                for cond in [&a, &b, &c] {
                    assert_eq!(cond.passes(&|_| value), places.of_cond(cond, 0, -5).passes(&|_| place), "{value}");
                }
            }
        }
        let range = |low, high| Cond::In { column: 0, set: Set::range(low, high) };
        assert_eq!(Places::by_sets(&[range(3, 9), range(-5, 7)], 0, &field), None, "ranges stay");
        assert_eq!(Places::by_sets(&[scattered(7, 3, 9000)], 0, &super::tests::field(9000)), None, "too many values");
    }
}
