//! Genetic search: a gene is a side and a place in the order for each operation.
//!
//! The first population holds what the other policies find, and what survives is never worse than the best before. A
//! program is searched by its patterns ([`Patterns`]): each once, as it follows itself, and the find is applied to every
//! repeat. Then the whole is timed beside the other policies' placements of the whole, and the best is the answer.

use super::{
    ByKind, Heft, MinCut, OneSide, Policy,
    nsga::{self, Costs, survivors},
};
use crate::{
    offload::{
        error::OffloadError,
        pattern::Patterns,
        problem::{OperationId, Problem, SideId},
        timetable::{Placement, Timetable, Timing},
    },
    report::as_f64,
    threads::on_all_cores,
};
use std::ops::Range;

/// A second cost beside time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Second {
    /// Energy of operations and transfers.
    Energy,
    /// Bytes over all links.
    LinkBytes,
}

/// The search, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Genetic {
    /// Seed of its random numbers: equal seeds find equal placements.
    pub seed: u64,
    /// Genes that survive a generation.
    pub population: usize,
    /// Most generations of a pattern.
    pub generations: usize,
    /// Another cost that counts; time leads.
    pub second: Option<Second>,
}

impl Default for Genetic {
    fn default() -> Self {
        Self { seed: 1, population: 32, generations: 1000, second: None }
    }
}

/// Operations that all searches of a program time at most: a few seconds.
const TIMED: usize = 12_000_000;
/// Repeats of a pattern that are timed: one that begins, one in between, one that ends.
const REPEATS: usize = 3;
/// Operations up to which the cut of a whole program is looked for; beyond that it is of each pattern.
const CUT: usize = 20_000;
/// Points of a front of which a whole program is made.
const POINTS: usize = 9;

impl Policy for Genetic {
    fn name(&self) -> &'static str {
        "genetic"
    }

    fn place(&self, problem: &Problem) -> Result<Placement, OffloadError> {
        let alone = Self { second: None, ..*self };
        let mut found = alone.candidates(problem, 1)?;
        let time = |placement: &Placement| Timetable::of(problem, placement).makespan;
        let best = (0..found.len()).min_by_key(|&at| (time(&found[at]), at)).unwrap_or(0);
        Ok(found.swap_remove(best))
    }
}

impl Genetic {
    /// Placements of which none is beaten in both costs, with seconds and the second cost (bytes over links where none is
    /// asked for), the fastest first.
    ///
    /// # Errors
    /// As [`Policy::place`].
    pub fn front(&self, problem: &Problem) -> Result<Vec<(Placement, [f64; 2])>, OffloadError> {
        let second = self.second.unwrap_or(Second::LinkBytes);
        let found = Self { second: Some(second), ..*self }.candidates(problem, POINTS)?;
        let costs = |placement: &Placement| {
            let table = Timetable::of(problem, placement);
            [table.seconds(), cost(second, problem, &table)]
        };
        let all: Vec<Costs> = found.iter().map(costs).collect();
        let mut front: Vec<(Placement, Costs)> = Vec::new();
        for (placement, own) in found.into_iter().zip(&all) {
            let known = front.iter().any(|(_, other)| other.map(f64::to_bits) == own.map(f64::to_bits));
            if !known && !all.iter().any(|other| nsga::dominates(other, own)) {
                front.push((placement, *own));
            }
        }
        front.sort_by(|a, b| a.1[0].total_cmp(&b.1[0]));
        Ok(front)
    }

    /// Placements of the whole: of so many points of the patterns' fronts, and those of the other policies.
    fn candidates(&self, problem: &Problem, points: usize) -> Result<Vec<Placement>, OffloadError> {
        let mut found = whole(problem)?;
        let heft = found[0].clone();
        let patterns = Patterns::of(problem);
        let firsts = patterns.first_of_classes();
        let size = |(range, run): &(Range<usize>, usize)| range.len() * REPEATS.min(*run);
        let genes = TIMED / firsts.iter().map(size).sum::<usize>().max(1);
        let generations = (genes / self.population.max(2)).clamp(1, self.generations.max(1));
        let search = |(class, (range, run)): (usize, &(Range<usize>, usize))| {
            let seed = self.seed ^ (class as u64).wrapping_mul(STEP);
            let search = Search { numbers: *self, generations, seed };
            search.pattern(problem, range, REPEATS.min(*run), &heft.side)
        };
        let fronts = on_all_cores(&firsts, search);
        for point in 0..points {
            let placement = composed(problem, &patterns, &fronts, [point, points]);
            found.push(super::heft::reordered(problem, &placement.side));
            found.push(placement);
        }
        Ok(found)
    }
}

/// Placements of the other policies, HEFT's first.
fn whole(problem: &Problem) -> Result<Vec<Placement>, OffloadError> {
    let mut found = vec![Heft.place(problem)?, ByKind.place(problem)?];
    found.extend(problem.side_ids().filter_map(|side| OneSide(side).place(problem).ok()));
    if problem.sides().len() == 2 && problem.len() <= CUT {
        found.push(MinCut.place(problem)?);
    }
    Ok(found)
}

/// The whole program with a point of each pattern's front, applied to every repeat.
fn composed(problem: &Problem, patterns: &Patterns, fronts: &[Vec<Gene>], [point, points]: [usize; 2]) -> Placement {
    let (mut side, mut order) = (vec![SideId(0); problem.len()], Vec::with_capacity(problem.len()));
    for segment in &patterns.segments {
        let front = &fronts[segment.class];
        let gene = &front[point * (front.len() - 1) / points.saturating_sub(1).max(1)];
        let start = segment.operations.start;
        side[segment.operations.clone()].copy_from_slice(&gene.side);
        order.extend(gene.order.iter().map(|&at| operation(start + at as usize)));
    }
    Placement { side, order }
}

fn operation(at: usize) -> OperationId {
    OperationId(u32::try_from(at).expect("operations have 32-bit numbers"))
}

fn cost(second: Second, problem: &Problem, table: &Timetable) -> f64 {
    match second {
        Second::Energy => table.joules(problem),
        Second::LinkBytes => as_f64(table.link_bytes(problem)),
    }
}

/// A side for each operation of a pattern, and its operations in order.
#[derive(Clone, Debug)]
struct Gene {
    side: Vec<SideId>,
    order: Vec<u32>,
}

/// Weyl's step of [`Random`].
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64: small, seeded, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or(0)
    }
}

/// The search of one pattern.
struct Search {
    numbers: Genetic,
    generations: usize,
    seed: u64,
}

/// What a pattern's genes are made with.
struct Pool<'p> {
    part: &'p Problem,
    /// Operations of the pattern; the part has several repeats of it.
    len: usize,
    repeats: usize,
    /// Within the pattern, by operation.
    before: Vec<Vec<u32>>,
    after: Vec<Vec<u32>>,
    timing: Timing<'p>,
    side: Vec<SideId>,
    second: Option<Second>,
    random: Random,
}

impl Search {
    /// The front of a pattern's genes, the fastest first.
    fn pattern(&self, problem: &Problem, range: &Range<usize>, repeats: usize, sides: &[SideId]) -> Vec<Gene> {
        let len = range.len();
        let part = problem.part(range.start..range.start + len * repeats, |value| {
            let of = problem.value(value);
            of.maker.map_or(of.at, |maker| sides[maker.index()].only())
        });
        let mut pool = Pool::new(&part, repeats, self);
        let mut genes = pool.first(&sides[range.clone()], self.numbers.population.max(2));
        let mut costs: Vec<Costs> = genes.iter().map(|gene| pool.costs(gene)).collect();
        for _ in 0..self.generations {
            let children = genes.len();
            for _ in 0..children {
                let child = pool.child(&genes[..children], &costs[..children]);
                costs.push(pool.costs(&child));
                genes.push(child);
            }
            let kept = survivors(&costs, self.numbers.population.max(2));
            genes = kept.iter().map(|&at| genes[at].clone()).collect();
            costs = kept.iter().map(|&at| costs[at]).collect();
        }
        let mut front: Vec<usize> = nsga::fronts(&costs).into_iter().next().unwrap_or_default();
        front.sort_by(|&a, &b| costs[a][0].total_cmp(&costs[b][0]).then(costs[a][1].total_cmp(&costs[b][1])));
        front.into_iter().map(|at| genes[at].clone()).collect()
    }
}

impl<'p> Pool<'p> {
    fn new(part: &'p Problem, repeats: usize, search: &Search) -> Self {
        let len = part.len() / repeats;
        let (mut before, mut after) = (vec![Vec::new(); len], vec![Vec::new(); len]);
        for id in part.operations().take(len) {
            for maker in part.predecessors(id) {
                before[id.index()].push(maker.0);
                after[maker.index()].push(id.0);
            }
        }
        let (second, random) = (search.numbers.second, Random(search.seed));
        let (timing, side) = (Timing::new(part), Vec::with_capacity(part.len()));
        Self { part, len, repeats, before, after, timing, side, second, random }
    }

    /// What the other policies find for the pattern, what was found before, and mutations of these.
    fn first(&mut self, known: &[SideId], population: usize) -> Vec<Gene> {
        let mut genes = vec![Gene { side: known.to_vec(), order: (0..).take(self.len).collect() }];
        let mut placements = whole(self.part).unwrap_or_default();
        placements.extend((self.part.sides().len() == 2).then(|| MinCut.place(self.part).ok()).flatten());
        // Each repeat of a placement is a gene: the last is what the pattern settles to.
        for placement in &placements {
            genes.extend((0..self.repeats).rev().map(|repeat| self.repeat_of(placement, repeat)));
        }
        let given = genes.len();
        while genes.len() < population.max(given) {
            let mut gene = genes[self.random.below(given)].clone();
            let times = 1 + self.random.below(self.len);
            (0..times).for_each(|_| self.mutate(&mut gene));
            genes.push(gene);
        }
        genes
    }

    /// One repeat of a placement of the part.
    fn repeat_of(&self, placement: &Placement, repeat: usize) -> Gene {
        let range = repeat * self.len..(repeat + 1) * self.len;
        let own = placement.order.iter().filter(|id| range.contains(&id.index()));
        let order = own.map(|id| id.0 - operation(range.start).0).collect();
        Gene { side: placement.side[range].to_vec(), order }
    }

    fn costs(&mut self, gene: &Gene) -> Costs {
        self.side.clear();
        (0..self.repeats).for_each(|_| self.side.extend_from_slice(&gene.side));
        let len = u32::try_from(self.len).expect("operations have 32-bit numbers");
        let order = (0..self.part.len()).map(|at| {
            let repeat = u32::try_from(at / gene.order.len()).unwrap_or(u32::MAX);
            OperationId(repeat * len + gene.order[at % gene.order.len()])
        });
        let table = self.timing.time(&self.side, order);
        let time = as_f64(table.makespan);
        [time, self.second.map_or(time, |second| cost(second, self.part, table))]
    }

    /// The better of two.
    fn parent<'g>(&mut self, genes: &'g [Gene], costs: &[Costs]) -> &'g Gene {
        let [a, b] = [(); 2].map(|()| self.random.below(genes.len()));
        &genes[if nsga::dominates(&costs[b], &costs[a]) { b } else { a }]
    }

    /// A child has the beginning of one parent's order, with its sides, and then the order and sides of the other: each
    /// operation stays behind those whose values it reads.
    fn child(&mut self, genes: &[Gene], costs: &[Costs]) -> Gene {
        let (one, other) = (self.parent(genes, costs), self.parent(genes, costs));
        let cut = self.random.below(self.len + 1);
        let mut child = Gene { side: other.side.clone(), order: Vec::with_capacity(self.len) };
        let mut taken = vec![false; self.len];
        for &at in &one.order[..cut] {
            taken[at as usize] = true;
            child.side[at as usize] = one.side[at as usize];
            child.order.push(at);
        }
        child.order.extend(other.order.iter().filter(|&&at| !taken[at as usize]));
        let times = 1 + self.random.below(3);
        (0..times).for_each(|_| self.mutate(&mut child));
        child
    }

    /// Another side for an operation, alone or with those around it in the order, or another place in the order.
    fn mutate(&mut self, gene: &mut Gene) {
        let at = self.random.below(self.len);
        match self.random.below(3) {
            0 => {
                let side = self.other_side(gene, at);
                self.put(gene, at, side);
            }
            1 => {
                let (place, count) = (self.random.below(self.len), 1 + self.random.below(8));
                let side = SideId(u8::try_from(self.random.below(self.part.sides().len())).unwrap_or(0));
                let end = (place + count).min(self.len);
                let moved: Vec<u32> = gene.order[place..end].to_vec();
                moved.into_iter().for_each(|at| self.put(gene, at as usize, side));
            }
            _ => self.move_in_order(gene, at),
        }
    }

    fn other_side(&mut self, gene: &Gene, at: usize) -> SideId {
        let sides = self.part.sides().len();
        let step = 1 + self.random.below(sides - 1);
        SideId(u8::try_from((gene.side[at].index() + step) % sides).unwrap_or(0))
    }

    /// On a side, if that has it.
    fn put(&self, gene: &mut Gene, at: usize, side: SideId) {
        if self.part.ticks(operation(at), side).is_some() {
            gene.side[at] = side;
        }
    }

    /// Takes an operation to any place between those that it reads from and those that read from it.
    fn move_in_order(&mut self, gene: &mut Gene, place: usize) {
        let at = gene.order[place] as usize;
        let back = gene.order[..place].iter().rev().take_while(|other| !self.before[at].contains(other)).count();
        let on = gene.order[place + 1..].iter().take_while(|other| !self.after[at].contains(other)).count();
        let to = place - back + self.random.below(back + on + 1);
        if to < place {
            gene.order[to..=place].rotate_right(1);
        } else {
            gene.order[place..=to].rotate_left(1);
        }
    }
}
