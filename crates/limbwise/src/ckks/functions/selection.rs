//! Networks for the first values of rows, or for the one in the middle: what no wanted value needs is left out.
//!
//! A merge whose first k outputs alone are wanted does without some of its cleaning stages. Which, the zero-one principle
//! tells: a stage is left out if the outputs are right without it for all zeros and ones whose blocks begin in order. The
//! states of a block are the numbers of its first zeros, of which more than k make no difference. So a merge is tried
//! before anything is planned, 64 states at a time. The sum of two outputs obeys the principle as one output does, which
//! serves the median of an even number of values.
//!
//! Halving keeps k of n by sorters of two inputs: blocks of k are sorted up and down in turns, and of two such blocks the
//! smaller values, member by member, are one block that a bitonic merge sorts. \[Bat68\]

use super::{
    Group, Network, Stage,
    network::{merge, power},
};

/// Which outputs of a network are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The first so many, in order.
    First(usize),
    /// Of so many values the one in the middle, or the sum of both that are.
    Middle(usize),
}

/// Most words of 64 states, times positions, for which a merge is tried.
const MOST_TRIED: usize = 1 << 20;

impl Selection {
    /// The positions of the outputs that are wanted.
    fn positions(self) -> std::ops::Range<usize> {
        match self {
            Self::First(first) => 0..first,
            Self::Middle(length) => length.saturating_sub(1) / 2..length / 2 + 1,
        }
    }

    /// Zeros at the beginning of a block beyond which more make no difference.
    fn most_zeros(self, block: usize) -> usize {
        match self {
            Self::First(first) => first.min(block),
            Self::Middle(_) => block,
        }
    }

    /// Whether outputs are right where so many values are zeros: each bit of the words is a case of its own.
    fn is_right(self, words: &[u64], zeros: &[usize]) -> bool {
        let sorted = |p: usize| zeros.iter().enumerate().fold(0, |word, (bit, &z)| word | u64::from(p >= z) << bit);
        let all = u64::MAX >> (64 - zeros.len());
        match self {
            Self::First(first) => (0..first).all(|p| words[p] & all == sorted(p)),
            Self::Middle(length) => {
                let (low, high) = (length.saturating_sub(1) / 2, length / 2);
                let (a, b) = (words[low] & all, words[high] & all);
                a ^ b == sorted(low) ^ sorted(high) && a & b == sorted(low) & sorted(high)
            }
        }
    }
}

impl Network {
    /// The k-way network for some of its outputs: stages and groups without which they are the same are left out. `None`
    /// as for [`Self::new`].
    #[must_use]
    pub fn selecting(ways: usize, count: usize, wanted: Selection) -> Option<Self> {
        let power = power(ways, count)?;
        let positions = ways.pow(power);
        if wanted.positions().end > positions {
            return None;
        }
        let merges = (1..=power).flat_map(|t| {
            let all = merge(ways, positions, t);
            // The middle of all needs the whole of each part.
            let needed = match wanted {
                Selection::Middle(_) if t < power => vec![true; all.len()],
                Selection::First(first) => needed(ways, t, Selection::First(first.min(ways.pow(t)))),
                Selection::Middle(_) => needed(ways, t, wanted),
            };
            all.into_iter().zip(needed).filter_map(|(stage, needed)| needed.then_some(stage))
        });
        let network = Self { ways, count: positions, stages: merges.collect() };
        Some(network.reaching(wanted))
    }

    /// The network of sorters with two inputs that keeps the first so many again and again; `None` as for [`Self::new`].
    #[must_use]
    pub fn halving(count: usize, first: usize) -> Option<Self> {
        let positions = 1 << power(2, count)?;
        let block = first.clamp(1, positions).next_power_of_two();
        let stage = |stride: usize, members: &dyn Fn(usize) -> bool, size: usize| {
            let firsts = (0..positions).filter(|&p| p & stride == 0 && members(p));
            let group = |p: usize| Group { first: p as i64, cut: 0, len: 2, descending: p & size != 0 };
            Stage { stride, groups: firsts.map(group).collect() }
        };
        let strides = |size: usize| std::iter::successors(Some(size / 2), |&s| Some(s / 2)).take_while(|&s| s > 0);
        let sizes = (1..=block.ilog2()).map(|power| 1 << power);
        let mut stages: Vec<Stage> = sizes
            .flat_map(|size| strides(size).map(move |stride| (size, stride)))
            .map(|(size, stride)| stage(stride, &|_| true, size))
            .collect();
        let mut apart = block;
        while apart < positions {
            // Blocks that are still there stand so far apart; of two of them the first keeps the smaller values.
            stages.push(stage(apart, &|p| p & (2 * apart - 1) < block, 0));
            apart *= 2;
            stages.extend(strides(block).map(|stride| stage(stride, &|p| p & (apart - 1) < block, apart)));
        }
        let network = Self { ways: 2, count: positions, stages };
        Some(network.reaching(Selection::First(first.min(positions))))
    }

    /// The same without groups that no wanted output depends on, and without stages that have none.
    fn reaching(self, wanted: Selection) -> Self {
        let mut reached = vec![false; self.count];
        reached[wanted.positions()].fill(true);
        let mut stages: Vec<Stage> = Vec::new();
        for stage in self.stages.iter().rev() {
            let mut groups = Vec::new();
            for group in &stage.groups {
                let blocks = stage.sorted_by(group, self.count).into_iter().filter(|block| block.len() > 1);
                let live: Vec<_> = blocks.filter(|block| block.iter().any(|&p| reached[p])).collect();
                if !live.is_empty() {
                    groups.push(*group);
                    live.concat().into_iter().for_each(|p| reached[p] = true);
                }
            }
            if !groups.is_empty() {
                stages.push(Stage { stride: stage.stride, groups });
            }
        }
        stages.reverse();
        Self { stages, ..self }
    }
}

/// Which stages of the merge of blocks into one of k^t the wanted outputs need: the last ones are tried first.
fn needed(ways: usize, t: u32, wanted: Selection) -> Vec<bool> {
    let count = ways.pow(t);
    let network = Network { ways, count, stages: merge(ways, count, t) };
    let mut needed = vec![true; network.stages.len()];
    let states = (wanted.most_zeros(count / ways) + 1).checked_pow(u32::try_from(ways).unwrap_or(u32::MAX));
    if states.and_then(|states| states.div_ceil(64).checked_mul(count)).is_none_or(|work| work > MOST_TRIED) {
        return needed;
    }
    let stages: Vec<_> = network.stages.iter().map(|stage| exchanges(&network, stage)).collect();
    let cases = cases([ways, count], wanted);
    for stage in (0..stages.len()).rev() {
        needed[stage] = false;
        let left: Vec<_> = stages.iter().zip(&needed).filter_map(|(pairs, needed)| needed.then_some(pairs)).collect();
        needed[stage] = !cases.iter().all(|case| case.is_right_after(&left, wanted));
    }
    needed
}

/// Positions whose words become their "and" and their "or", in order.
fn exchanges(network: &Network, stage: &Stage) -> Vec<[usize; 2]> {
    let mut pairs = Vec::new();
    for group in &stage.groups {
        for block in stage.sorted_by(group, network.count) {
            // Zeros and ones in order: exchanges of neighbours.
            for end in (1..block.len()).rev() {
                let neighbours = block[..=end].windows(2).map(|pair| [pair[0], pair[1]]);
                pairs.extend(neighbours.map(|[a, b]| if group.descending { [b, a] } else { [a, b] }));
            }
        }
    }
    pairs
}

fn exchange(words: &mut [u64], pairs: &[[usize; 2]]) {
    for &[less, more] in pairs {
        (words[less], words[more]) = (words[less] & words[more], words[less] | words[more]);
    }
}

/// Up to 64 arrays of zeros and ones: a word for each position, and how many zeros each array has.
struct Case {
    words: Vec<u64>,
    zeros: Vec<usize>,
}

impl Case {
    /// Whether stages make the wanted outputs right.
    fn is_right_after(&self, stages: &[&Vec<[usize; 2]>], wanted: Selection) -> bool {
        let mut words = self.words.clone();
        stages.iter().for_each(|pairs| exchange(&mut words, pairs));
        wanted.is_right(&words, &self.zeros)
    }
}

/// All beginnings of the blocks that a merge may meet.
fn cases([ways, count]: [usize; 2], wanted: Selection) -> Vec<Case> {
    let block = count / ways;
    let digits = wanted.most_zeros(block) + 1;
    let states = (0..ways).fold(1, |all, _| all * digits);
    let case = |from: usize| {
        let (mut words, mut zeros) = (vec![0; count], Vec::new());
        for (bit, state) in (from..(from + 64).min(states)).enumerate() {
            let mut left = state;
            let mut of_all = 0;
            for part in 0..ways {
                let of_block = left % digits;
                words[part * block + of_block..(part + 1) * block].iter_mut().for_each(|word| *word |= 1 << bit);
                (left, of_all) = (left / digits, of_all + of_block);
            }
            zeros.push(of_all);
        }
        Case { words, zeros }
    };
    (0..states).step_by(64).map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckks::functions::NetworkKind;

    fn full(ways: usize, count: usize) -> Network {
        Network::new(NetworkKind::KWay(ways), count).unwrap()
    }

    /// Numbers without order, some of them equal.
    fn numbers(count: usize, seed: u64) -> Vec<u64> {
        let number = |i: u64| (i.wrapping_add(seed)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
        (0..count as u64).map(|i| number(i) % (3 * count as u64)).collect()
    }

    fn check(network: &Network, values: &[u64], wanted: Selection) {
        let (mut got, mut sorted) = (values.to_vec(), values.to_vec());
        sorted.sort_unstable();
        network.sort(&mut got);
        match wanted {
            Selection::First(first) => assert_eq!(got[..first], sorted[..first], "{} of {}", first, network.count),
            Selection::Middle(length) => {
                let sum = |of: &[u64]| of[(length - 1) / 2] + of[length / 2];
                assert_eq!(sum(&got), sum(&sorted), "the middle of {length}");
            }
        }
    }

    /// By the zero-one principle a network is right if it is for all zeros and ones: up to 16 positions all are tried.
    #[test]
    fn what_is_wanted_is_right_for_all_zeros_and_ones() {
        for count in [4, 8, 9, 16] {
            let mut networks = Vec::new();
            for ways in (2..=5).filter(|&ways| full(ways, count).count <= 16) {
                let positions = full(ways, count).count;
                networks.extend(
                    (1..=positions)
                        .map(|k| (Network::selecting(ways, count, Selection::First(k)), Selection::First(k))),
                );
                networks.extend(
                    (2..=positions)
                        .map(|n| (Network::selecting(ways, count, Selection::Middle(n)), Selection::Middle(n))),
                );
            }
            networks.extend((1..=count).map(|k| (Network::halving(count, k), Selection::First(k))));
            for (network, wanted) in networks {
                let network = network.unwrap();
                let stages: Vec<_> = network.stages.iter().map(|stage| exchanges(&network, stage)).collect();
                for from in (0..1u64 << network.count).step_by(64) {
                    let states = from..(from + 64).min(1 << network.count);
                    let bit = |p: usize| states.clone().enumerate().fold(0, |w, (b, state)| w | (state >> p & 1) << b);
                    let words = (0..network.count).map(bit).collect();
                    let zeros = states.clone().map(|state| network.count - state.count_ones() as usize).collect();
                    let right = Case { words, zeros }.is_right_after(&stages.iter().collect::<Vec<_>>(), wanted);
                    assert!(right, "{wanted:?} of {}, {} ways", network.count, network.ways);
                }
            }
        }
        // A network that does not sort is told: without its last stage the whole is not in order.
        let mut network = full(2, 16);
        network.stages.pop();
        let stages: Vec<_> = network.stages[6..].iter().map(|stage| exchanges(&network, stage)).collect();
        let right = |wanted| {
            cases([2, 16], wanted).iter().all(|c| c.is_right_after(&stages.iter().collect::<Vec<_>>(), wanted))
        };
        assert!(!right(Selection::First(16)) && right(Selection::Middle(16)));
    }

    /// Stages and comparisons of the whole network, and of what is left for the first values and for the middle.
    #[test]
    fn fewer_are_compared_than_by_a_whole_network() {
        let size = |network: Network| [network.stages.len(), network.comparisons()];
        let first = |ways, count, k| size(Network::selecting(ways, count, Selection::First(k)).unwrap());
        let middle = |ways, count| size(Network::selecting(ways, count, Selection::Middle(count)).unwrap());
        let halving = |count, k| size(Network::halving(count, k).unwrap());
        let whole = |ways, count| size(full(ways, count));
        for (got, wanted) in [
            (whole(2, 16), [10, 63]),
            (halving(16, 1), [4, 15]),
            (halving(16, 2), [7, 29]),
            (halving(16, 4), [9, 48]),
            (middle(2, 16), [9, 52]),
            (whole(4, 16), [5, 106]),
            (first(4, 16, 1), [2, 30]),
            (first(4, 16, 2), [3, 37]),
            (first(4, 16, 4), [4, 65]),
            (middle(4, 16), [4, 66]),
            (whole(5, 25), [6, 270]),
            (first(5, 25, 2), [3, 71]),
            (middle(5, 25), [5, 158]),
            (whole(2, 128), [28, 1471]),
            (first(4, 16, 8), [5, 86]),
            (halving(128, 1), [7, 127]),
            (halving(128, 2), [13, 253]),
            (halving(128, 4), [18, 440]),
            (halving(128, 8), [22, 684]),
            (middle(2, 128), [27, 1212]),
        ] {
            assert_eq!(got, wanted);
        }
    }

    #[test]
    fn longer_rows_are_right_for_numbers() {
        for (ways, count) in [(2, 128), (3, 81), (4, 64), (4, 256), (5, 125)] {
            for first in [1, 2, 5, 17, count] {
                let selecting = Network::selecting(ways, count, Selection::First(first)).unwrap();
                let halving = Network::halving(count, first).unwrap();
                for seed in 0..20 {
                    check(&selecting, &numbers(selecting.count, seed), Selection::First(first));
                    check(&halving, &numbers(halving.count, seed), Selection::First(first));
                }
            }
            for length in [count, count - 1, count - 2] {
                let median = Network::selecting(ways, count, Selection::Middle(length)).unwrap();
                (0..20).for_each(|seed| check(&median, &numbers(median.count, seed), Selection::Middle(length)));
            }
        }
        assert_eq!(Network::selecting(2, 16, Selection::First(17)), None);
        assert_eq!(Network::selecting(6, 16, Selection::First(1)), None);
        assert_eq!(Network::halving(1, 1), None);
    }
}
