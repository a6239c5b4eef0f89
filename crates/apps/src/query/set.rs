//! Sets of values of a column, as ranges.

/// Disjoint closed ranges, ascending, with a gap between any two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set(Vec<(i64, i64)>);

impl Set {
    /// All values of a range; none if it is empty.
    #[must_use]
    pub fn range(low: i64, high: i64) -> Self {
        Self(if low <= high { vec![(low, high)] } else { Vec::new() })
    }

    /// The union of ranges in any order.
    #[must_use]
    pub fn of(mut ranges: Vec<(i64, i64)>) -> Self {
        ranges.retain(|(low, high)| low <= high);
        ranges.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (low, high) in ranges {
            match joined.last_mut() {
                Some((_, last)) if low <= last.saturating_add(1) => *last = (*last).max(high),
                _ => joined.push((low, high)),
            }
        }
        Self(joined)
    }

    pub fn ranges(&self) -> &[(i64, i64)] {
        &self.0
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::of(self.0.iter().chain(&other.0).copied().collect())
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let with = |&(a, b): &(i64, i64)| other.0.iter().map(move |&(c, d)| (a.max(c), b.min(d)));
        Self::of(self.0.iter().flat_map(with).collect())
    }

    /// The values of a range that are not in the set. The range does not end at the ends of `i64`: no column's does.
    #[must_use]
    pub fn complement(&self, low: i64, high: i64) -> Self {
        let (mut gaps, mut next) = (Vec::new(), low);
        for &(first, last) in &self.0 {
            gaps.push((next, high.min(first.saturating_sub(1))));
            next = next.max(last.saturating_add(1));
        }
        gaps.push((next, high));
        Self::of(gaps)
    }

    pub fn contains(&self, value: i64) -> bool {
        let next = self.0.partition_point(|(low, _)| *low <= value);
        next.checked_sub(1).is_some_and(|at| value <= self.0[at].1)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many values there are.
    pub fn size(&self) -> f64 {
        self.0.iter().map(|(low, high)| low.abs_diff(*high) as f64 + 1.0).sum()
    }

    /// The least value.
    pub fn first(&self) -> Option<i64> {
        self.0.first().map(|(low, _)| *low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of sets of values below 6.
    #[test]
    fn sets_are_what_their_values_are() {
        let set = |bits: u32| Set::of((0..6).filter(|v| bits >> v & 1 == 1).map(|v| (v, v)).collect());
        for a in 0..64 {
            assert_eq!(set(a).complement(0, 5), set(!a & 63), "{a:b}");
            assert!(set(a).ranges().windows(2).all(|w| w[0].1 + 1 < w[1].0), "{a:b}");
            assert!((set(a).size() - f64::from(a.count_ones())).abs() < 0.5);
            for b in 0..64 {
                assert_eq!(set(a).union(&set(b)), set(a | b), "{a:b} {b:b}");
                assert_eq!(set(a).intersection(&set(b)), set(a & b), "{a:b} {b:b}");
            }
        }
        assert_eq!(Set::range(3, 2), Set::of(Vec::new()));
    }
}
