//! Sorting networks of sorters with k inputs, stage by stage.
//!
//! The k-way network sorts blocks of k^t by merging k sorted blocks of k^(t−1). A merge sorts first what stands k apart (each
//! residue modulo k by itself, recursively), then cleans: read in rows of k, the columns are sorted, and the zeros of two
//! columns differ by at most k, so that only a few rows are in disorder. Short sequences of sorters along a slope and along
//! rows that are shifted put these in order; the tests prove by the zero-one principle that they do. For k = 2 this is
//! the odd-even merge of \[Bat68\]. A merge takes 1 + (t − 1)·(k − 1) stages, as the sloping and shaking of \[GLZ97\], on which
//! \[HKC21\] builds.

use super::Sorter;
use std::collections::BTreeMap;

/// Sorters of a stage. Member j of a group stands at `first + j·stride`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Distance between the members of a group.
    pub stride: usize,
    /// The groups, which share no position.
    pub groups: Vec<Group>,
}

/// Positions that one sorter sorts. Where two blocks meet it sorts the end of one and the beginning of the other, each by
/// itself; at both ends of all positions one of them is not there, and its members may stand where no slot is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Position of member 0, which may lie before the first.
    pub first: i64,
    /// The first member of the second block; 0 where there is one block.
    pub cut: usize,
    /// Members. Fewer than the ways where those that follow are left out: their slots may be those of other groups.
    pub len: usize,
    /// Whether the greatest comes first.
    pub descending: bool,
}

/// Which network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkKind {
    /// Sorters of two to five inputs, merged k-way.
    KWay(usize),
    /// Sorters of two inputs, half of them descending: bitonic.
    Bitonic,
}

impl NetworkKind {
    /// Inputs of a sorter.
    #[must_use]
    pub fn ways(self) -> usize {
        match self {
            Self::KWay(ways) => ways,
            Self::Bitonic => 2,
        }
    }
}

/// A network for so many positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Inputs of a sorter.
    pub ways: usize,
    /// Positions: a power of the ways, or the first of these.
    pub count: usize,
    /// The stages, first applied first.
    pub stages: Vec<Stage>,
}

/// Steps that clean a merge of k blocks, in order.
fn cleaning(ways: usize) -> &'static [Clean] {
    use Clean::{Rows, Slope};
    match ways {
        2 => &[Slope],
        3 => &[Slope, Rows(1)],
        4 => &[Slope, Rows(2), Rows(0)],
        _ => &[Slope, Rows(2), Rows(0), Rows(1)],
    }
}

#[derive(Clone, Copy, Debug)]
enum Clean {
    /// Column c of row r − c: one step to the next column is one row up.
    Slope,
    /// Rows that begin so many positions later.
    Rows(usize),
}

impl Network {
    /// The network with least positions for `count` values; `None` for fewer than two values or other ways than 2 to 5.
    #[must_use]
    pub fn new(kind: NetworkKind, count: usize) -> Option<Self> {
        let ways = kind.ways();
        let power = power(ways, count)?;
        let positions = ways.pow(power);
        let stages = match kind {
            NetworkKind::KWay(_) => (1..=power).flat_map(|t| merge(ways, positions, t)).collect(),
            NetworkKind::Bitonic => bitonic(positions),
        };
        Some(Self { ways, count: positions, stages })
    }

    /// The network for `count` values in so many slots: the one of [`Self::new`], or its first `count` positions where this
    /// has no room. The positions beyond would hold values above all others. Ascending sorters leave these where they are,
    /// so they can do without them; descending ones cannot, and [`NetworkKind::Bitonic`] is whole or `None`.
    #[must_use]
    pub fn within(kind: NetworkKind, count: usize, slots: usize) -> Option<Self> {
        let ways = kind.ways();
        let positions = ways.pow(power(ways, count)?);
        let whole = if positions <= slots { Self::new(kind, count) } else { None };
        let whole = whole.filter(|whole| Sorter::slots(whole) <= slots);
        match kind {
            NetworkKind::KWay(_) => whole.or_else(|| Self::first_positions(ways, count, slots)),
            NetworkKind::Bitonic => whole,
        }
    }

    /// The first `count` positions of the k-way network.
    fn first_positions(ways: usize, count: usize, slots: usize) -> Option<Self> {
        let power = power(ways, count).filter(|_| count <= slots)?;
        let stages = (1..=power).flat_map(|t| merge(ways, ways.pow(power), t));
        let stages = stages.map(|stage| stage.shortened(count)).filter(|stage| !stage.groups.is_empty());
        Some(Self { ways, count, stages: stages.collect() })
    }

    /// Sorts in the clear.
    ///
    /// # Panics
    /// Unless there are as many values as positions.
    pub fn sort<T: PartialOrd + Copy>(&self, values: &mut [T]) {
        assert_eq!(values.len(), self.count, "a value a position");
        for stage in &self.stages {
            for group in &stage.groups {
                for at in stage.sorted_by(group, self.count) {
                    let mut members: Vec<T> = at.iter().map(|&p| values[p]).collect();
                    members.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
                    if group.descending {
                        members.reverse();
                    }
                    at.into_iter().zip(members).for_each(|(p, x)| values[p] = x);
                }
            }
        }
    }

    /// Pairs that are compared.
    #[must_use]
    pub fn comparisons(&self) -> usize {
        let groups = self.stages.iter().flat_map(|stage| stage.groups.iter().map(move |group| (stage, group)));
        let blocks = groups.flat_map(|(stage, group)| stage.sorted_by(group, self.count));
        blocks.map(|block| block.len() * block.len().saturating_sub(1) / 2).sum()
    }
}

impl Stage {
    /// The positions below `count` that a group sorts, each block by itself.
    pub(super) fn sorted_by(&self, group: &Group, count: usize) -> [Vec<usize>; 2] {
        let there = |j| usize::try_from(group.position(j, self.stride)).ok().filter(|&p| p < count);
        [0..group.cut, group.cut..group.len].map(|block| block.filter_map(there).collect())
    }

    /// The same for the first positions alone: each block is a group of its own, of the members that are left.
    fn shortened(self, count: usize) -> Self {
        let blocks = self.groups.iter().flat_map(|group| self.sorted_by(group, count).map(|block| (group, block)));
        let groups = blocks.filter_map(|(group, block)| match block[..] {
            [first, _, ..] => Some(Group { first: first as i64, cut: 0, len: block.len(), ..*group }),
            _ => None,
        });
        Self { stride: self.stride, groups: groups.collect() }
    }

    /// Whether some groups have fewer members than the sorter.
    #[must_use]
    pub fn is_partial(&self, ways: usize) -> bool {
        self.groups.iter().any(|group| group.len < ways)
    }
}

/// The least power of the ways that has a position for every value, if these are numbers of a network.
pub(super) fn power(ways: usize, count: usize) -> Option<u32> {
    let possible = (2..=5).contains(&ways) && (2..=1 << 20).contains(&count);
    possible.then(|| (1..).find(|&power| ways.pow(power) >= count)).flatten()
}

impl Group {
    /// Position of a member.
    #[must_use]
    pub fn position(self, member: usize, stride: usize) -> i64 {
        self.first + (member * stride) as i64
    }

    /// Whether two members are there, and of one block.
    #[must_use]
    pub fn compares(self, one: usize, other: usize) -> bool {
        one.max(other) < self.len && (one < self.cut) == (other < self.cut)
    }
}

/// Positions that are merged together.
#[derive(Clone, Copy)]
struct Region {
    origin: usize,
    spacing: usize,
    length: usize,
}

/// Merges blocks of k^(t−1) into blocks of k^t.
pub(super) fn merge(ways: usize, positions: usize, t: u32) -> Vec<Stage> {
    let block = ways.pow(t);
    let regions = |spacing: usize| {
        let origins = (0..positions).step_by(block).flat_map(move |start| start..start + spacing);
        origins.map(move |origin| Region { origin, spacing, length: block / spacing })
    };
    let outermost = block / ways;
    let group = |region: Region| Group { first: region.origin as i64, cut: 0, len: ways, descending: false };
    let mut stages = vec![Stage { stride: outermost, groups: regions(outermost).map(group).collect() }];
    let mut spacing = outermost;
    while spacing > 1 {
        spacing /= ways;
        for &clean in cleaning(ways) {
            let parts = regions(spacing).flat_map(|region| cleaned(region, clean, ways));
            stages.push(Stage { stride: spacing * clean.step(ways), groups: joined(parts, ways) });
        }
    }
    stages
}

impl Clean {
    /// Distance between members, in positions of the region.
    fn step(self, ways: usize) -> usize {
        match self {
            Self::Slope => ways - 1,
            Self::Rows(_) => 1,
        }
    }
}

/// Members `from … to − 1` of a group, which are of one region.
#[derive(Clone, Copy, Debug)]
struct Part {
    first: i64,
    from: usize,
    to: usize,
}

/// The groups of a region, as far as they are in it.
fn cleaned(region: Region, clean: Clean, ways: usize) -> Vec<Part> {
    let (rows, k) = ((region.length / ways) as i64, ways as i64);
    let firsts: Vec<i64> = match clean {
        // The last column of each row begins a group, and the first column k − 1 rows below ends it.
        Clean::Slope => (1 - k..rows).map(|row| row * k + k - 1).collect(),
        Clean::Rows(shift) => (-1..rows).map(|row| row * k + shift as i64).collect(),
    };
    let step = clean.step(ways);
    let part = |first: i64| {
        let there = |j: &usize| (0..region.length as i64).contains(&(first + (j * step) as i64));
        let (from, to) = ((0..ways).find(there)?, 1 + (0..ways).rev().find(there)?);
        Some(Part { first: region.origin as i64 + first * region.spacing as i64, from, to })
    };
    firsts.into_iter().filter_map(part).collect()
}

/// Parts with one beginning are one group: the end of a region and the beginning of the next one. Groups that compare
/// nothing are left out.
fn joined(parts: impl Iterator<Item = Part>, ways: usize) -> Vec<Group> {
    let mut groups: BTreeMap<i64, (usize, usize)> = BTreeMap::new();
    for Part { first, from, to } in parts {
        let cut = if from > 0 { from } else { to % ways };
        let (known, most) = groups.entry(first).or_insert((cut, 0));
        debug_assert_eq!(*known, cut, "parts of one group meet");
        *most = (*most).max(to - from);
    }
    let group = |(first, (cut, most))| (most > 1).then_some(Group { first, cut, len: ways, descending: false });
    groups.into_iter().filter_map(group).collect()
}

/// Blocks sorted up and down in turns, merged by halves.
fn bitonic(positions: usize) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut size = 2;
    while size <= positions {
        let mut stride = size / 2;
        while stride > 0 {
            let firsts = (0..positions).filter(|p| p & stride == 0);
            let group = |p: usize| Group { first: p as i64, cut: 0, len: 2, descending: p & size != 0 };
            stages.push(Stage { stride, groups: firsts.map(group).collect() });
            stride /= 2;
        }
        size *= 2;
    }
    stages
}

#[cfg(test)]
mod tests {
    use super::*;
    use NetworkKind::{Bitonic, KWay};

    /// All numbers of so many digits.
    fn counters(base: usize, digits: usize) -> impl Iterator<Item = Vec<usize>> {
        let count = (0..digits).fold(1, |all, _| all * base);
        (0..count).map(move |mut number| {
            let digit = |_| {
                let digit = number % base;
                number /= base;
                digit
            };
            (0..digits).map(digit).collect()
        })
    }

    /// By the zero-one principle a merge is right if it sorts all zeros and ones whose blocks are sorted.
    #[test]
    fn merges_sort_all_sorted_blocks_of_zeros_and_ones() {
        for (ways, power) in [(2usize, 5), (3, 3), (4, 3), (5, 2)] {
            let (count, block) = (ways.pow(power), ways.pow(power - 1));
            let network = Network { ways, count, stages: merge(ways, count, power) };
            for zeros in counters(block + 1, ways) {
                let mut values: Vec<u8> = (0..count).map(|p| u8::from(p % block >= zeros[p / block])).collect();
                let mut sorted = values.clone();
                sorted.sort_unstable();
                network.sort(&mut values);
                assert_eq!(values, sorted, "{ways} ways, zeros {zeros:?}");
            }
        }
    }

    /// Five blocks of 25 have too many states to try all; what comes before cleaning differs by at most one a column and
    /// block, so columns with zeros in these ranges are all there is.
    #[test]
    fn cleaning_sorts_all_columns_that_come_before_it() {
        for ways in 2..=5 {
            let region = Region { origin: 0, spacing: 1, length: ways * (3 * ways + 2) };
            let clean = |&clean: &Clean| {
                let parts = cleaned(region, clean, ways).into_iter();
                Stage { stride: clean.step(ways), groups: joined(parts, ways) }
            };
            let stages = cleaning(ways).iter().map(clean).collect();
            let network = Network { ways, count: region.length, stages };
            let rows = region.length / ways;
            let states = (0..=rows).flat_map(|most| counters(ways + 1, ways - 1).map(move |less| (most, less)));
            for (most, less) in states {
                let columns = less.iter().map(|l| most.saturating_sub(*l));
                let zeros: Vec<usize> = std::iter::once(most).chain(columns).collect();
                if !zeros.is_sorted_by(|left, right| left >= right) {
                    continue;
                }
                let mut values: Vec<u8> = (0..region.length).map(|p| u8::from(p / ways >= zeros[p % ways])).collect();
                let mut sorted = values.clone();
                sorted.sort_unstable();
                network.sort(&mut values);
                assert_eq!(values, sorted, "{ways} ways, zeros {zeros:?}");
            }
        }
    }

    #[test]
    fn networks_sort_and_have_the_stages_of_their_formula() {
        for (kind, count) in [(KWay(2), 1024), (KWay(3), 700), (KWay(4), 1024), (KWay(5), 3000), (Bitonic, 1024)] {
            let network = Network::new(kind, count).unwrap();
            let (ways, power) = (network.ways, network.count.ilog(network.ways) as usize);
            assert!(network.count >= count && network.count < count * ways);
            assert_eq!(network.stages.len(), power + (ways - 1) * power * (power - 1) / 2);
            let mut values: Vec<u64> =
                (0..network.count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let mut sorted = values.clone();
            sorted.sort_unstable();
            network.sort(&mut values);
            assert_eq!(values, sorted);
            for stage in &network.stages {
                let mut seen = vec![false; network.count];
                let members = |g: &Group| (0..ways).map(|j| g.position(j, stage.stride)).collect::<Vec<_>>();
                for p in stage.groups.iter().flat_map(members).filter_map(|p| usize::try_from(p).ok()) {
                    let twice = seen.get_mut(p).is_some_and(|seen| std::mem::replace(seen, true));
                    assert!(!twice, "groups share no position");
                }
            }
        }
        let stages = |kind, count| Network::new(kind, count).unwrap().stages.len();
        assert_eq!([stages(Bitonic, 16384), stages(KWay(2), 16384), stages(KWay(4), 16384)], [105, 105, 70]);
        assert_eq!([stages(KWay(3), 16384), stages(KWay(5), 15625)], [81, 66]);
        assert_eq!(Network::new(KWay(6), 8), None);
        assert_eq!(Network::new(KWay(2), 1), None);
    }

    #[test]
    fn networks_without_room_are_their_first_positions() {
        for (kind, count, slots) in [
            (KWay(5), 16384, 32768),
            (KWay(3), 20000, 32768),
            (KWay(5), 30, 32),
            (KWay(4), 20, 32),
            (KWay(3), 12, 16),
            (KWay(5), 2, 2),
        ] {
            let network = Network::within(kind, count, slots).unwrap();
            assert_eq!((network.count, Sorter::slots(&network)), (count, count.next_power_of_two()));
            for seed in 0..5u64 {
                let value = |i: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 9 & 0xfff;
                let mut values: Vec<u64> = (0..count as u64).map(value).collect();
                let mut sorted = values.clone();
                sorted.sort_unstable();
                network.sort(&mut values);
                assert!(values == sorted, "{kind:?} of {count}");
            }
            for stage in &network.stages {
                let mut seen = vec![false; count];
                let members = |g: &Group| (0..g.len).map(|j| g.position(j, stage.stride)).collect::<Vec<_>>();
                for p in stage.groups.iter().flat_map(members) {
                    let seen = &mut seen[usize::try_from(p).unwrap()];
                    assert!(!std::mem::replace(seen, true), "members that are there share no position");
                }
            }
        }
        // Where the whole network has room it is as before.
        for (kind, count) in [(KWay(5), 3000), (KWay(4), 1024), (Bitonic, 700)] {
            assert_eq!(Network::within(kind, count, 32768), Network::new(kind, count));
        }
        assert_eq!(Network::within(Bitonic, 700, 512), None);
        assert_eq!(Network::within(KWay(2), 700, 512), None);
        assert_eq!(Network::within(KWay(6), 8, 16), None);
    }

    /// By the zero-one principle a short network is right if it is for all zeros and ones.
    #[test]
    fn first_positions_sort_all_zeros_and_ones() {
        for (ways, slots) in [(3, 16), (4, 16), (5, 16)] {
            for count in 2..=14 {
                let network = Network::first_positions(ways, count, slots).unwrap();
                for state in 0..1u32 << count {
                    let mut values: Vec<u32> = (0..count).map(|p| state >> p & 1).collect();
                    network.sort(&mut values);
                    assert!(values.is_sorted(), "{ways} ways, {count} positions, {state:b}");
                }
            }
        }
    }
}
