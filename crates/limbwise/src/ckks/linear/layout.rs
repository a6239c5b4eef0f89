//! Assigns diagonals to rotations of the input.
//!
//! Every strategy computes `rotate(Σ_groups rotate(Σ_terms w ⊙ rotate(x, baby), giant), offset)`. The diagonal d =
//! offset + giant + baby is therefore encoded as `w = rotate(diagonal_d, −giant − offset)`.

use super::{Diagonals, Strategy, chained::RUN};
use std::collections::BTreeSet;

/// A sum under one giant step.
pub(super) struct Group {
    /// The rotation after the sum.
    pub(super) giant: i64,
    /// Terms of the sum; empty only in a progression with holes.
    pub(super) terms: Vec<Term>,
}

/// One diagonal in a sum.
pub(super) struct Term {
    /// Index of the baby step that it multiplies.
    pub(super) baby: usize,
    /// Its index in the map.
    pub(super) diagonal: usize,
}

/// The rotations of one strategy for one map.
pub(super) struct Layout {
    slots: usize,
    /// Rotations of the input, ascending from the first; progressions are complete.
    pub(super) babies: Vec<i64>,
    /// Giant steps in ascending order; progressions are complete.
    pub(super) groups: Vec<Group>,
    /// The rotation of the result.
    pub(super) offset: i64,
    /// For progressions: the rotation between neighboring baby steps, and that between neighboring giant steps.
    pub(super) hops: Option<[i64; 2]>,
    /// Baby steps from one hop to the next that have keys of their own, this one included: 1 where each is a hop.
    pub(super) run: usize,
}

/// Indices as a progression on the circle of slots: `first + stride·position`, positions in ascending order from 0.
struct Progression {
    first: i64,
    stride: i64,
    /// Pairs of position and index.
    members: Vec<(usize, usize)>,
}

impl Progression {
    /// The arc that omits the widest gap; of equal gaps, the one before the smallest index.
    fn of(diagonals: &Diagonals) -> Self {
        let slots = diagonals.slots();
        let indices: Vec<usize> = diagonals.indices().collect();
        let gap = |k: usize| (indices[k] + slots - indices[(k + indices.len() - 1) % indices.len()] - 1) % slots;
        let start = (0..indices.len()).rev().max_by_key(|&k| gap(k)).expect("a map has a diagonal");
        let first = indices[start];
        let away = |index: usize| (index + slots - first) % slots;
        let stride = indices.iter().fold(0, |g, &index| gcd(g, away(index))).max(1);
        let mut members: Vec<(usize, usize)> = indices.iter().map(|&index| (away(index) / stride, index)).collect();
        members.sort_unstable();
        Self { first: shorter(first as i64, slots), stride: stride as i64, members }
    }

    fn span(&self) -> usize {
        self.members.last().map_or(1, |m| m.0 + 1)
    }
}

impl Layout {
    pub(super) fn new(strategy: Strategy, diagonals: &Diagonals) -> Self {
        let progression = Progression::of(diagonals);
        match strategy {
            Strategy::Direct | Strategy::Hoisted => Self::one_group(diagonals),
            Strategy::Bsgs { babies } | Strategy::DoubleHoisted { babies } => {
                if babies >= progression.span() {
                    return Self::one_group(diagonals);
                }
                Self::baby_giant(diagonals.slots(), &progression, babies.max(1))
            }
            Strategy::Whole { babies } => {
                let mut layout = Self::multi_hop(diagonals.slots(), &progression, babies.max(1));
                layout.groups.retain(|group| !group.terms.is_empty());
                Self { hops: None, ..layout }
            }
            Strategy::Chained { babies } => {
                let layout = Self::multi_hop(diagonals.slots(), &progression, babies.max(1));
                Self { run: RUN, ..layout }
            }
            Strategy::MultiHop { babies } => Self::multi_hop(diagonals.slots(), &progression, babies.max(1)),
        }
    }

    /// Strides from the first to the last diagonal, both included.
    pub(super) fn span(diagonals: &Diagonals) -> usize {
        Progression::of(diagonals).span()
    }

    /// The first index of the progression, in (−n/2, n/2].
    pub(super) fn first(diagonals: &Diagonals) -> i64 {
        Progression::of(diagonals).first
    }

    fn one_group(diagonals: &Diagonals) -> Self {
        let slots = diagonals.slots();
        let babies = diagonals.indices().map(|d| shorter(d as i64, slots)).collect();
        let terms = diagonals.indices().enumerate().map(|(baby, diagonal)| Term { baby, diagonal }).collect();
        Self { slots, babies, groups: vec![Group { giant: 0, terms }], offset: 0, hops: None, run: 1 }
    }

    /// Giant steps are multiples of `count` strides if the indices are multiples of the stride, so that one giant step
    /// is 0.
    fn baby_giant(slots: usize, p: &Progression, count: usize) -> Self {
        let aligned = p.first % p.stride == 0;
        let shift = if aligned { (p.first / p.stride).rem_euclid(count as i64) } else { 0 };
        let base = p.first - shift * p.stride;
        let at = |position: usize| position + usize::try_from(shift).expect("not negative");
        let used: BTreeSet<usize> = p.members.iter().map(|m| at(m.0) % count).collect();
        let used: Vec<usize> = used.into_iter().collect();
        let mut groups: Vec<Group> = Vec::new();
        for &(position, diagonal) in &p.members {
            let giant = shorter(base + (at(position) / count * count) as i64 * p.stride, slots);
            let baby = used.binary_search(&(at(position) % count)).expect("collected above");
            match groups.last_mut().filter(|g| g.giant == giant) {
                Some(group) => group.terms.push(Term { baby, diagonal }),
                None => groups.push(Group { giant, terms: vec![Term { baby, diagonal }] }),
            }
        }
        let babies = used.into_iter().map(|i| shorter(i as i64 * p.stride, slots)).collect();
        Self { slots, babies, groups, offset: 0, hops: None, run: 1 }
    }

    fn multi_hop(slots: usize, p: &Progression, count: usize) -> Self {
        let count = count.min(p.span());
        let last = p.members.iter().map(|m| m.0 % count).max().unwrap_or(0);
        let babies = (0..=last).map(|i| shorter(i as i64 * p.stride, slots)).collect();
        let step = count as i64 * p.stride;
        let mut groups: Vec<Group> = (0..p.span().div_ceil(count))
            .map(|j| Group { giant: shorter(j as i64 * step, slots), terms: Vec::new() })
            .collect();
        for &(position, diagonal) in &p.members {
            groups[position / count].terms.push(Term { baby: position % count, diagonal });
        }
        Self {
            slots,
            babies,
            groups,
            offset: p.first,
            hops: Some([shorter(p.stride, slots), shorter(step, slots)]),
            run: 1,
        }
    }

    /// Whether a baby step is a rotation.
    pub(super) fn has_baby_steps(&self) -> bool {
        self.babies.iter().any(|&steps| steps != 0)
    }

    /// Number of rotations, each a key switch.
    pub(super) fn steps(&self) -> usize {
        let others = |steps: &mut dyn Iterator<Item = i64>| steps.filter(|&s| s != 0).count();
        match self.hops {
            Some(_) => self.babies.len() + self.groups.len() - 2 + usize::from(self.offset != 0),
            None => {
                let giants = self.groups.iter().map(|g| g.giant).chain([self.offset]);
                others(&mut self.babies.iter().copied()) + others(&mut giants.into_iter())
            }
        }
    }

    /// Rotations that need keys, in ascending order.
    pub(super) fn rotations(&self) -> Vec<i64> {
        let mut needed = BTreeSet::from([self.offset]);
        match self.hops {
            Some([stride, step]) => {
                // The steps of a run, and from the second run on the hop between runs.
                let last = self.run.min(self.babies.len() - 1);
                needed.extend((1..=last as i64).map(|steps| steps * stride));
                needed.extend((self.groups.len() > 1).then_some(step));
            }
            None => needed.extend(self.babies.iter().copied().chain(self.groups.iter().map(|g| g.giant))),
        }
        needed.remove(&0);
        needed.into_iter().map(|steps| shorter(steps, self.slots)).collect()
    }
}

/// The equivalent rotation in (−slots/2, slots/2].
fn shorter(steps: i64, slots: usize) -> i64 {
    let slots = slots as i64;
    let left = steps.rem_euclid(slots);
    if left > slots / 2 { left - slots } else { left }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex64;

    fn map(slots: usize, indices: impl Iterator<Item = i64>) -> Diagonals {
        Diagonals::new(slots, indices.map(|d| (d, vec![Complex64::new(1.0, 0.0)]))).unwrap()
    }

    #[test]
    fn every_diagonal_is_met_once() {
        let maps = [
            map(1024, -31..=31),
            map(1024, (0..32).map(|d| 32 * d)),
            map(64, 0..64),
            map(1024, [5, 105, 305].into_iter()),
            map(1024, [7].into_iter()),
            map(1024, [0, 512].into_iter()),
            map(8, (-7..0).map(|d| 2 * d)),
            map(1, 0..1),
        ];
        for (which, map) in maps.iter().enumerate() {
            for strategy in Strategy::candidates(map).into_iter().chain([Strategy::Whole { babies: 4 }]) {
                let layout = Layout::new(strategy, map);
                let slots = map.slots();
                let mut met: Vec<usize> = Vec::new();
                for group in &layout.groups {
                    for term in &group.terms {
                        let d = layout.offset + group.giant + layout.babies[term.baby];
                        assert_eq!(shorter(d, slots), shorter(term.diagonal as i64, slots), "map {which}, {strategy}");
                        met.push(term.diagonal);
                    }
                }
                met.sort_unstable();
                assert_eq!(met, map.indices().collect::<Vec<_>>(), "map {which}, {strategy}");
            }
        }
    }

    #[test]
    fn key_counts_are_the_published_ones() {
        // [ARK]: 63, 63 and 32 diagonals with 8 baby steps are 40 rotations; a progression takes 1 key a direction.
        let (wide, narrow) = (map(1 << 15, (-31..=31).map(|d| 32 * d)), map(1 << 15, (0..32).map(|d| 1024 * d)));
        let keys = |strategy: Strategy, map: &Diagonals| strategy.rotations(map).len();
        let hops = |map: &Diagonals| Strategy::MultiHop { babies: 8 }.steps(map);
        assert_eq!([hops(&wide), hops(&wide), hops(&narrow)], [15, 15, 10]);
        assert_eq!(keys(Strategy::MultiHop { babies: 8 }, &wide), 3);
        assert_eq!(keys(Strategy::MultiHop { babies: 8 }, &narrow), 2);
        assert_eq!(Strategy::MultiHop { babies: 8 }.rotations(&wide), [-31 * 32, 32, 8 * 32]);
        // Without the offset, which the next map can take over, 2 keys a map: 40 → 6.
        assert_eq!(keys(Strategy::MultiHop { babies: 8 }, &wide.before_rotation(31 * 32)), 2);
        // Giant steps at multiples of 8 strides save the rotation by the offset: 14 + 14 + 10 = 38.
        assert_eq!([keys(Strategy::Bsgs { babies: 8 }, &wide), keys(Strategy::Bsgs { babies: 8 }, &narrow)], [14, 10]);
        let whole = Strategy::Whole { babies: 8 };
        assert_eq!([keys(whole, &wide), keys(whole, &narrow), whole.steps(&wide)], [15, 10, 15]);
        assert_eq!([keys(Strategy::Hoisted, &wide), Strategy::Direct.steps(&wide)], [62, 62]);
        assert_eq!(Strategy::Bsgs { babies: 8 }.steps(&narrow), 10);
    }
}
