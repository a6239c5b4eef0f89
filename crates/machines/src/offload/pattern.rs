//! What repeats: stretches of a program with equal structure, found from its regions.
//!
//! A program is cut at the borders of its regions, outermost first, until a stretch is short enough to be searched. What
//! follows itself (the steps of a blind rotation, in turn its products and what is between them) becomes a run of equal
//! stretches, and equal stretches anywhere share one class. Equal means: the same times on all sides, the same bytes, and
//! the same operands, as far as these are made within the stretch. Names play no part.

use super::problem::{OperationId, Problem};
use limbwise_graph::RegionId;
use std::{
    collections::HashMap,
    hash::{Hash, Hasher},
    ops::Range,
};

/// Most operations of a stretch that is searched as one.
const MOST: usize = 2048;
/// Most children of a region that a repeated stretch is made of.
const PERIOD: usize = 64;
/// Repeats from which on a run is told apart.
const RUN: usize = 4;

/// A stretch of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its class: segments of one class have equal structure.
    pub class: usize,
    /// Its operations.
    pub operations: Range<usize>,
}

/// A program as stretches, in order, that cover all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns {
    /// The stretches.
    pub segments: Vec<Segment>,
    /// Number of classes.
    pub classes: usize,
}

impl Patterns {
    /// The stretches of a problem.
    #[must_use]
    pub fn of(problem: &Problem) -> Self {
        let mut finding = Finding { problem, depth: depths(problem), classes: HashMap::new(), found: Self::default() };
        finding.divide(0..problem.len(), 0);
        finding.found.classes = finding.classes.len();
        finding.found
    }

    /// The first stretch of each class, with the number of stretches of that class that follow each other from there on,
    /// itself included.
    #[must_use]
    pub fn first_of_classes(&self) -> Vec<(Range<usize>, usize)> {
        let mut first: Vec<Option<(Range<usize>, usize)>> = vec![None; self.classes];
        for (at, segment) in self.segments.iter().enumerate() {
            let run = self.segments[at..].iter().take_while(|other| other.class == segment.class).count();
            let known = &mut first[segment.class];
            if known.is_none() {
                *known = Some((segment.operations.clone(), run));
            }
        }
        first.into_iter().flatten().collect()
    }
}

/// Depth of each region; the root has 0.
fn depths(problem: &Problem) -> Vec<usize> {
    let mut depths: Vec<usize> = Vec::with_capacity(problem.parents.len());
    for (at, parent) in problem.parents.iter().enumerate() {
        depths.push(if parent.index() == at { 0 } else { depths[parent.index()] + 1 });
    }
    depths
}

/// The search for stretches.
struct Finding<'p> {
    problem: &'p Problem,
    depth: Vec<usize>,
    /// Class of each structure.
    classes: HashMap<u64, usize>,
    found: Patterns,
}

impl Finding<'_> {
    /// The region around an operation at a depth; `None` if it stands in no region as deep.
    fn region(&self, operation: usize, depth: usize) -> Option<RegionId> {
        let mut region = self.problem.regions[operation];
        let mut at = *self.depth.get(region.index())?;
        if at < depth {
            return None;
        }
        while at > depth {
            region = self.problem.parents[region.index()];
            at -= 1;
        }
        Some(region)
    }

    /// Stretches of operations that stand in one region of this depth.
    fn divide(&mut self, range: Range<usize>, depth: usize) {
        if range.len() <= MOST {
            return self.segment(range);
        }
        let children = self.children(range, depth + 1);
        let hashes: Vec<u64> = children.iter().map(|child| self.structure(child.clone())).collect();
        // Children that belong to no run and are short.
        let mut loose: Range<usize> = 0..0;
        let mut at = 0;
        while at < children.len() {
            let child = children[at].clone();
            if let Some((period, times)) = self.run(&children, &hashes, at) {
                self.segment(std::mem::take(&mut loose));
                for unit in children[at..at + period * times].chunks(period) {
                    self.segment(unit[0].start..unit[period - 1].end);
                }
                at += period * times;
                continue;
            }
            at += 1;
            if child.len() > MOST {
                self.segment(std::mem::take(&mut loose));
                self.divide(child, depth + 1);
            } else if !loose.is_empty() && loose.len() + child.len() <= MOST {
                loose.end = child.end;
            } else {
                self.segment(std::mem::replace(&mut loose, child));
            }
        }
        self.segment(loose);
    }

    /// Operations that follow each other in one region of this depth, or stand alone outside of all.
    fn children(&self, range: Range<usize>, depth: usize) -> Vec<Range<usize>> {
        let mut children: Vec<Range<usize>> = Vec::new();
        let mut before = None;
        for operation in range {
            let region = self.region(operation, depth);
            match children.last_mut().filter(|_| region.is_some() && region == before) {
                Some(child) => child.end = operation + 1,
                None => children.push(operation..operation + 1),
            }
            before = region;
        }
        children
    }

    /// The shortest period with which children repeat from here on, and how often, if that is worth it.
    fn run(&self, children: &[Range<usize>], hashes: &[u64], at: usize) -> Option<(usize, usize)> {
        let rest = &hashes[at..];
        let longest = PERIOD.min(rest.len() / RUN);
        let period = (1..=longest).find(|&period| {
            let unit = children[at].start..children[at + period - 1].end;
            rest[..period] == rest[period..2 * period] && unit.len() <= MOST
        })?;
        let unit = |time: usize| children[at + time * period].start..children[at + (time + 1) * period - 1].end;
        let first = self.structure(unit(0));
        let most = rest.len() / period;
        let equal = |&time: &usize| {
            rest[time * period..(time + 1) * period] == rest[..period] && self.structure(unit(time)) == first
        };
        let times = (0..most).take_while(equal).count();
        // What repeats in a short stretch is searched with what is around it.
        (times >= RUN && unit(0).len() * times > MOST / RUN).then_some((period, times))
    }

    fn segment(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let (structure, next) = (self.structure(range.clone()), self.classes.len());
        let class = *self.classes.entry(structure).or_insert(next);
        self.found.segments.push(Segment { class, operations: range });
    }

    /// A number that is equal for stretches of equal structure.
    fn structure(&self, range: Range<usize>) -> u64 {
        let (problem, mut hasher) = (self.problem, Mixed(0));
        range.len().hash(&mut hasher);
        for index in range.clone() {
            let id = OperationId(u32::try_from(index).expect("operations have 32-bit numbers"));
            for side in problem.side_ids() {
                (problem.ticks_or_never(id, side), problem.joules(id, side).to_bits()).hash(&mut hasher);
            }
            problem.intensity(id).to_bits().hash(&mut hasher);
            for &value in problem.reads(id) {
                let of = problem.value(value);
                let within = of.maker.map(OperationId::index).filter(|maker| range.contains(maker));
                (of.bytes, of.at, within.map(|maker| index - maker)).hash(&mut hasher);
            }
            for &value in problem.makes(id) {
                (problem.value(value).bytes, problem.value(value).kept).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// A hash of numbers that is the same everywhere, and quick: each is mixed in by a multiplication (that of SplitMix64).
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        let x = (self.0 ^ (self.0 >> 32)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, x: u64) {
        let mixed = (self.0.rotate_left(23) ^ x).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.0 = mixed ^ (mixed >> 31);
    }

    fn write_usize(&mut self, x: usize) {
        self.write_u64(x as u64);
    }
}
