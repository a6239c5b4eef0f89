//! Which sums of bits and which tables make a forest, and which of their results are added.
//!
//! A *block* is a part of a tree below some node: W outcomes, which a sum of bits tells apart, below d conditions of the
//! path. Its message is `W·(conditions that hold − d) + outcome`: 0 to W − 1 where the row comes by, negative elsewhere. It
//! takes W·(d + 1) places of the table, and a norm² of W² a condition (twice where a feature has one on both sides). Parts as
//! large as fit are taken, so there are as few blocks as can be.

use super::{
    ForestError,
    quantize::Forest,
    skeleton::{Cut, Node, Tree},
};
use limbwise::tfhe::{TfheParams, noise};
use std::{collections::BTreeMap, ops::Range};

/// A sum of bits, and the leaves of its outcomes.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// What the path asks for.
    pub conditions: Vec<Condition>,
    /// Cuts with the weight of each in the outcome.
    pub terms: Vec<(usize, i32)>,
    /// Leaf of each outcome.
    pub leaves: Vec<usize>,
}

/// What a path says of one feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// On the right of a cut.
    Right(usize),
    /// On the left of a cut.
    Left(usize),
    /// On the right of the first and on the left of the second.
    Between(usize, usize),
}

impl Condition {
    /// Squared norm of its bit.
    fn norm_squared(self) -> u32 {
        if matches!(self, Self::Between(..)) { 2 } else { 1 }
    }
}

impl Block {
    /// Number of outcomes.
    #[must_use]
    pub fn outcomes(&self) -> usize {
        self.leaves.len()
    }

    /// Squared norm of its sum.
    #[must_use]
    pub fn norm_squared(&self) -> f64 {
        let path: u32 = self.conditions.iter().map(|condition| condition.norm_squared()).sum();
        let outcome: f64 = self.terms.iter().map(|&(_, weight)| f64::from(weight).powi(2)).sum();
        f64::from(path) * (self.outcomes() as f64).powi(2) + outcome
    }

    /// Places of the table.
    fn places(&self) -> usize {
        self.outcomes() * (self.conditions.len() + 1)
    }
}

/// What a bootstrapping gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A digit of the leaf's value: one bootstrapping for each block and digit of each output.
    Values,
    /// 1 for the leaf that is reached: one bootstrapping a leaf, whatever the outputs.
    Leaves,
}

/// How a forest is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Circuit {
    pub mode: Mode,
    pub blocks: Vec<Block>,
    /// Base and number of the digits of a level.
    pub digits: (u16, usize),
    /// Parts of trees whose sums are added: a range of blocks of one tree each.
    pub groups: Vec<Vec<Range<usize>>>,
    /// Bootstrappings a row, as chosen, and as [`Mode::Values`] and [`Mode::Leaves`] would take.
    pub counts: [usize; 3],
}

/// What parameters have room for.
struct Room<'a>(&'a TfheParams);

impl Room<'_> {
    fn promised(&self) -> f64 {
        self.0.literal().log2_failure
    }

    fn holds(&self, block: &Block) -> bool {
        let failure = noise::log2_failure(self.0.literal(), block.norm_squared(), 0);
        block.places() as u64 <= self.0.space() && failure <= self.promised()
    }

    /// Most results that are added, so that a sum is read wrongly as rarely as a bootstrapping fails.
    fn added(&self) -> usize {
        let fits = |count: usize| noise::log2_misread(self.0.literal(), count as f64) <= self.promised();
        let mut most = 1;
        while most < 1 << 20 && fits(2 * most) {
            most *= 2;
        }
        (most..2 * most).rev().find(|&count| fits(count)).unwrap_or(1)
    }
}

impl Circuit {
    /// The cheaper mode, as few blocks as fit, and groups as large as their sums can be read.
    ///
    /// # Errors
    /// [`ForestError::Path`] for a path that no table takes; [`ForestError::Space`] for parameters of fewer than 2 message
    /// bits.
    pub fn new(forest: &Forest, params: &TfheParams) -> Result<Self, ForestError> {
        let (room, space) = (Room(params), params.space());
        if space < 4 {
            return Err(ForestError::Space(params.literal().message_bits));
        }
        let (levels, outputs) = (forest.skeleton.scale.levels, forest.skeleton.task.outputs());
        let largest = u16::try_from(space - 1).unwrap_or(u16::MAX);
        let values = Self::digits(levels, levels.min(largest) + 1);
        let [joined, single] = [Mode::Values, Mode::Leaves].map(|mode| Self::blocks(forest, &room, mode));
        let (joined, single) = (joined?, single?);
        let total = |trees: &[Vec<Block>]| trees.iter().map(Vec::len).sum::<usize>();
        let counts = [total(&joined) * outputs * values.1, total(&single)];
        let (mode, trees, digits) = match counts[0] <= counts[1] {
            true => (Mode::Values, joined, values),
            false => (Mode::Leaves, single, Self::digits(levels, 2)),
        };
        // A sum may go up to 2·space − 1: what is only decrypted needs no padding.
        let highest = usize::from(digits.0 - 1).min(usize::from(levels));
        let together = (2 * params.table_len() - 1) / highest.max(1);
        let groups = groups(&trees, together, room.added());
        let blocks = trees.into_iter().flatten().collect();
        Ok(Self { mode, blocks, digits, groups, counts: [counts[0].min(counts[1]), counts[0], counts[1]] })
    }

    fn digits(levels: u16, base: u16) -> (u16, usize) {
        let (mut count, mut reach) = (1, u32::from(base));
        while reach <= u32::from(levels) {
            (count, reach) = (count + 1, reach * u32::from(base));
        }
        (base, count)
    }

    fn blocks(forest: &Forest, room: &Room<'_>, mode: Mode) -> Result<Vec<Vec<Block>>, ForestError> {
        let one = |(number, tree): (usize, &Tree)| {
            let mut cutter = Cutter { cuts: &forest.skeleton.cuts, tree, number, room, mode, blocks: Vec::new() };
            cutter.node(0, &mut Vec::new())?;
            Ok(cutter.blocks)
        };
        forest.trees.iter().enumerate().map(one).collect()
    }

    /// Digit of a level.
    #[must_use]
    pub fn digit(&self, level: u16, digit: usize) -> u16 {
        (0..digit).fold(level, |level, _| level / self.digits.0) % self.digits.0
    }

    /// Results of a group: a digit of an output each.
    #[must_use]
    pub fn results_of_a_group(&self, outputs: usize) -> usize {
        outputs * self.digits.1
    }

    /// Largest squared norm of a result.
    #[must_use]
    pub fn norm_squared(&self) -> f64 {
        let group = |group: &Vec<Range<usize>>| group.iter().map(Range::len).sum::<usize>();
        self.groups.iter().map(group).max().unwrap_or(1) as f64
    }
}

/// Parts of trees in groups: at most so many parts, and so many blocks.
fn groups(trees: &[Vec<Block>], parts: usize, blocks: usize) -> Vec<Vec<Range<usize>>> {
    let (mut groups, mut own, mut at, mut filled) = (Vec::new(), Vec::new(), 0, 0);
    for tree in trees {
        let end = at + tree.len();
        while at < end {
            let part = at..end.min(at + blocks);
            if own.len() == parts || filled + part.len() > blocks {
                groups.push(std::mem::take(&mut own));
                filled = 0;
            }
            (at, filled) = (part.end, filled + part.len());
            own.push(part);
        }
    }
    groups.push(own);
    groups
}

/// Cuts one tree into blocks.
struct Cutter<'a> {
    cuts: &'a [Cut],
    tree: &'a [Node],
    number: usize,
    room: &'a Room<'a>,
    mode: Mode,
    blocks: Vec<Block>,
}

impl Cutter<'_> {
    fn node(&mut self, at: usize, path: &mut Vec<(usize, bool)>) -> Result<(), ForestError> {
        let node = self.tree[at];
        let whole = self.mode == Mode::Values || matches!(node, Node::Leaf(_));
        if let Some(block) = self.block(at, path).filter(|block| whole && self.room.holds(block)) {
            self.blocks.push(block);
            return Ok(());
        }
        let Node::Split { cut, left, right } = node else {
            let conditions = self.conditions(path);
            let norm_squared = conditions.iter().map(|c| f64::from(c.norm_squared())).sum();
            return Err(ForestError::Path {
                tree: self.number,
                conditions: conditions.len(),
                norm_squared,
                space: self.room.0.space(),
                most: self.room.0.space() - 1,
                promised: self.room.promised(),
            });
        };
        for (side, next) in [(false, left), (true, right)] {
            path.push((cut, side));
            self.node(next, path)?;
            path.pop();
        }
        Ok(())
    }

    /// What a path says, feature by feature.
    fn conditions(&self, path: &[(usize, bool)]) -> Vec<Condition> {
        let mut lines: BTreeMap<_, (Option<usize>, Option<usize>)> = BTreeMap::new();
        for &(cut, right) in path {
            let (above, below) = lines.entry(self.cuts[cut].line()).or_default();
            // Decisions are open where they stand, so that each is nearer than those before it.
            *(if right { above } else { below }) = Some(cut);
        }
        let condition = |ends| match ends {
            (Some(above), Some(below)) => Some(Condition::Between(above, below)),
            (Some(above), None) => Some(Condition::Right(above)),
            (None, Some(below)) => Some(Condition::Left(below)),
            (None, None) => None,
        };
        lines.into_values().filter_map(condition).collect()
    }

    /// The whole part below a node, if its outcomes are few enough for any table.
    fn block(&self, at: usize, path: &[(usize, bool)]) -> Option<Block> {
        let mut cuts = Vec::new();
        self.cuts_below(at, self.room.0.table_len(), &mut cuts)?;
        cuts.sort_unstable();
        cuts.dedup();
        let (mut weights, mut outcomes) = (BTreeMap::new(), 1_usize);
        for own in cuts.chunk_by(|&a, &b| self.cuts[a].line() == self.cuts[b].line()) {
            weights.extend(own.iter().map(|&cut| (cut, outcomes)));
            outcomes = outcomes.checked_mul(own.len() + 1).filter(|&count| count <= self.room.0.table_len())?;
        }
        let leaves = (0..outcomes).map(|outcome| self.leaf_of(at, outcome, &cuts, &weights)).collect();
        let term = |(cut, weight)| Some((cut, i32::try_from(weight).ok()?));
        let terms = weights.iter().map(|(&cut, &weight)| term((cut, weight))).collect::<Option<_>>()?;
        Some(Block { conditions: self.conditions(path), terms, leaves })
    }

    /// Cuts below a node, if there are at most so many splits.
    fn cuts_below(&self, at: usize, most: usize, cuts: &mut Vec<usize>) -> Option<()> {
        if let Node::Split { cut, left, right } = self.tree[at] {
            cuts.push(cut);
            if cuts.len() > most {
                return None;
            }
            self.cuts_below(left, most, cuts)?;
            self.cuts_below(right, most, cuts)?;
        }
        Some(())
    }

    /// The leaf of an outcome: the value of a feature lies on the right of as many of its cuts as its digit says.
    fn leaf_of(&self, mut at: usize, outcome: usize, cuts: &[usize], weights: &BTreeMap<usize, usize>) -> usize {
        loop {
            match self.tree[at] {
                Node::Leaf(leaf) => return leaf,
                Node::Split { cut, left, right } => {
                    let same = |&&own: &&usize| self.cuts[own].line() == self.cuts[cut].line();
                    let (count, weight) = (cuts.iter().filter(same).count(), weights[&cut]);
                    let before = cuts.iter().filter(same).filter(|&&own| own < cut).count();
                    at = if outcome / weight % (count + 1) > before { right } else { left };
                }
            }
        }
    }
}
