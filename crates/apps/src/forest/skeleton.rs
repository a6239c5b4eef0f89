//! What both sides know of a forest: the cuts of its features, the shapes of its trees, and how sums become answers. The
//! values of leaves are not in it.

use super::ForestError;
use limbwise::finite;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Most trees, nodes of all trees, cuts, features and outputs.
pub const MOST_TREES: usize = 1 << 12;
pub const MOST_NODES: usize = 1 << 17;
pub const MOST_CUTS: usize = 1 << 14;
pub const MOST_FEATURES: usize = 1 << 16;
pub const MOST_OUTPUTS: usize = 1 << 8;
/// Most decisions on a path; deeper trees do not fit a table by far.
pub const MOST_DEPTH: usize = 64;
/// Most levels of a leaf's value above 0.
pub const MOST_LEVELS: u16 = 255;
/// Scores that differ by less than this share of a level are equal: they come from the same integers.
const SAME: f64 = 1e-6;

/// A place between two values of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    pub feature: usize,
    #[serde(deserialize_with = "finite::field")]
    pub at: f64,
    /// Whether the value at the cut lies on its left, as `x <= at` asks; `x < at` leaves it on the right.
    pub closed: bool,
    /// Where a missing value lies; none where no row lacks one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Side>,
}

/// A side of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Left,
    Right,
}

impl Cut {
    /// Whether a value lies on its right.
    #[must_use]
    pub fn is_left_of(&self, value: f64) -> bool {
        if value.is_nan() {
            return self.missing == Some(Side::Right);
        }
        if self.closed { value > self.at } else { value >= self.at }
    }

    /// What a row has one place among the cuts of: a value that is missing lies on one side of all of them.
    pub(super) fn line(&self) -> (usize, Option<Side>) {
        (self.feature, self.missing)
    }

    /// Features in order, then cuts from left to right.
    pub(super) fn order(&self, other: &Self) -> std::cmp::Ordering {
        let (a, b) = (self, other);
        a.line().cmp(&b.line()).then(a.at.total_cmp(&b.at)).then(a.closed.cmp(&b.closed))
    }
}

/// What a forest answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Task {
    /// One of two labels: the second where the score is above 0.
    Binary(Vec<String>),
    /// The label with the largest score, a score each.
    Classes(Vec<String>),
    /// So many numbers.
    Numbers(usize),
}

impl Task {
    /// Scores of a row.
    #[must_use]
    pub fn outputs(&self) -> usize {
        match self {
            Self::Binary(_) => 1,
            Self::Classes(labels) => labels.len(),
            Self::Numbers(count) => *count,
        }
    }

    /// Labels of a classification.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        match self {
            Self::Binary(labels) | Self::Classes(labels) => labels,
            Self::Numbers(_) => &[],
        }
    }
}

/// From sums of levels to scores: `offset + step·sum`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    #[serde(deserialize_with = "finite::field")]
    pub step: f64,
    /// Largest level of a leaf, 1 to [`MOST_LEVELS`].
    pub levels: u16,
    /// One an output.
    pub offsets: Vec<f64>,
}

/// A node of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// Right where the row lies on the right of the cut.
    Split { cut: usize, left: usize, right: usize },
    /// A leaf, counted over the whole forest.
    Leaf(usize),
}

/// The root is the first node.
pub type Tree = Vec<Node>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skeleton {
    pub features: usize,
    /// Whether values are rounded to 32 bits before they are compared, as the forest was trained.
    pub single: bool,
    pub task: Task,
    /// Whether labels are texts, be they written as numbers are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_labels: bool,
    pub scale: Scale,
    /// In the order of [`Cut`]s, each once.
    pub cuts: Vec<Cut>,
    /// Each tree's nodes, a node before what is left of it before what is right of it: the number of its cut, or −1.
    pub trees: Vec<Vec<i32>>,
}

impl Skeleton {
    /// Checks every number and gives the trees.
    ///
    /// # Errors
    /// [`ForestError::Shape`] with the first that makes no forest.
    pub fn check(&self) -> Result<Vec<Tree>, ForestError> {
        let Self { features, task, scale, cuts, trees, .. } = self;
        if !(1..=MOST_FEATURES).contains(features) {
            return ForestError::shape("features", features, "1 to 65536");
        }
        let outputs = task.outputs();
        let least = match task {
            Task::Binary(labels) if labels.len() != 2 => return ForestError::shape("labels", labels.len(), "two"),
            Task::Classes(_) => 3,
            Task::Binary(_) | Task::Numbers(_) => 1,
        };
        if !(least..=MOST_OUTPUTS).contains(&outputs) {
            return ForestError::shape("outputs", outputs, format!("{least} to {MOST_OUTPUTS}"));
        }
        let finite = scale.offsets.iter().all(|x| x.is_finite()) && scale.step > 0.0 && scale.step.is_finite();
        if scale.offsets.len() != outputs || !finite || !(1..=MOST_LEVELS).contains(&scale.levels) {
            let got = format!("step {}, {} levels, {} offsets", scale.step, scale.levels, scale.offsets.len());
            return ForestError::shape("the scale", got, "a step above 0, 1 to 255 levels, a finite offset an output");
        }
        if cuts.len() > MOST_CUTS {
            return ForestError::shape("cuts", cuts.len(), "at most 16384: use --bits");
        }
        let sorted = cuts.windows(2).all(|pair| pair[0].order(&pair[1]).is_lt());
        if !sorted || cuts.iter().any(|cut| cut.feature >= *features || !cut.at.is_finite()) {
            return ForestError::shape("cuts", "out of order or of no feature", "each once, by feature and place");
        }
        let nodes: usize = trees.iter().map(Vec::len).sum();
        if !(1..=MOST_TREES).contains(&trees.len()) || nodes > MOST_NODES {
            return ForestError::shape(
                "trees",
                format!("{} with {nodes} nodes", trees.len()),
                "1 to 4096, 131072 nodes",
            );
        }
        let mut leaves = 0;
        trees
            .iter()
            .map(|tree| Reader { cuts, text: tree, at: 0, leaves: &mut leaves, path: Vec::new() }.read())
            .collect()
    }

    /// A row's bits: for each cut, whether the row lies on its right.
    #[must_use]
    pub fn bits(&self, row: &[f64]) -> Vec<bool> {
        self.cuts.iter().map(|cut| cut.is_left_of(self.value(row[cut.feature]))).collect()
    }

    /// Whether rows may lack values.
    #[must_use]
    pub fn takes_missing(&self) -> bool {
        self.cuts.iter().all(|cut| cut.missing.is_some())
    }

    /// As it is compared.
    #[must_use]
    pub fn value(&self, x: f64) -> f64 {
        if self.single { single(x) } else { x }
    }

    /// Scores of sums of levels, an output each.
    #[must_use]
    pub fn scores(&self, sums: &[u64]) -> Vec<f64> {
        let Scale { step, offsets, .. } = &self.scale;
        offsets.iter().zip(sums).map(|(offset, &sum)| offset + step * sum as f64).collect()
    }

    /// The number of the label of scores; 0 where there are none.
    #[must_use]
    pub fn class(&self, scores: &[f64]) -> usize {
        class(&self.task, scores, SAME * self.scale.step)
    }
}

/// The label of scores that count as equal within a tolerance.
pub(super) fn class(task: &Task, scores: &[f64], same: f64) -> usize {
    match task {
        Task::Binary(_) => usize::from(scores[0] > same),
        Task::Classes(_) => {
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            scores.iter().position(|&score| score >= most - same).unwrap_or(0)
        }
        Task::Numbers(_) => 0,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounded as the runtime of the forest rounds")]
pub(super) fn single(x: f64) -> f64 {
    f64::from(x as f32)
}

/// The leaf that bits lead to.
#[must_use]
pub fn leaf(tree: &[Node], bits: &[bool]) -> usize {
    let mut at = 0;
    loop {
        match tree[at] {
            Node::Leaf(leaf) => return leaf,
            Node::Split { cut, left, right } => at = if bits[cut] { right } else { left },
        }
    }
}

/// What the decisions of a path already say of a cut: on its right, on its left, or nothing.
pub(super) fn implied(cuts: &[Cut], path: &[(usize, bool)], cut: usize) -> Option<bool> {
    let known = |&(at, right): &(usize, bool)| {
        let says = cuts[at].line() == cuts[cut].line() && if right { at >= cut } else { at <= cut };
        says.then_some(right)
    };
    path.iter().find_map(known)
}

/// Reads a tree's text.
struct Reader<'a> {
    cuts: &'a [Cut],
    text: &'a [i32],
    at: usize,
    leaves: &'a mut usize,
    path: Vec<(usize, bool)>,
}

impl Reader<'_> {
    fn read(mut self) -> Result<Tree, ForestError> {
        let mut tree = Tree::new();
        self.node(&mut tree)?;
        match self.text.len() - self.at {
            0 => Ok(tree),
            more => ForestError::shape("a tree", format!("{more} nodes too many"), "one root"),
        }
    }

    fn node(&mut self, tree: &mut Tree) -> Result<usize, ForestError> {
        let own = tree.len();
        let Some(&word) = self.text.get(self.at) else {
            return ForestError::shape("a tree", "a missing child", "two for each cut");
        };
        self.at += 1;
        if word == -1 {
            tree.push(Node::Leaf(*self.leaves));
            *self.leaves += 1;
            return Ok(own);
        }
        let Some(cut) = usize::try_from(word).ok().filter(|&cut| cut < self.cuts.len()) else {
            return ForestError::shape("a tree", format!("cut {word}"), "a number of a cut, or -1");
        };
        if implied(self.cuts, &self.path, cut).is_some() || self.path.len() >= MOST_DEPTH {
            let got = format!("cut {word} below {} others", self.path.len());
            return ForestError::shape("a tree", got, "decisions that are open, 64 on a path");
        }
        tree.push(Node::Leaf(0));
        self.path.push((cut, false));
        let left = self.node(tree)?;
        self.path.pop();
        self.path.push((cut, true));
        let right = self.node(tree)?;
        self.path.pop();
        tree[own] = Node::Split { cut, left, right };
        Ok(own)
    }
}

/// The leaves of each tree, counted over the whole forest.
#[must_use]
pub fn leaves(trees: &[Tree]) -> Vec<Range<usize>> {
    let mut from = 0;
    let count = |tree: &Tree| tree.iter().filter(|node| matches!(node, Node::Leaf(_))).count();
    let range = |tree: &Tree| {
        let range = from..from + count(tree);
        from = range.end;
        range
    };
    trees.iter().map(range).collect()
}
