//! From an ensemble of floats to a forest of cuts and levels.
//!
//! By the thresholds themselves no comparison changes. A uniform grid has fewer cuts, and moves thresholds to the nearest.

use super::{
    Cut, Ensemble, ForestError, Skeleton,
    ensemble::FloatNode,
    skeleton::{MOST_LEVELS, Node, Scale, Tree, implied, leaf},
};

/// How far from a whole number of levels a value may lie for quantization to be exact.
const EXACT: f64 = 1e-5;

/// Which cuts a feature may have.
#[derive(Clone, Debug)]
pub enum Grid {
    /// Those of the thresholds.
    Thresholds,
    /// 2^bits − 1 between the least and the largest value of each feature.
    Uniform { bits: u32, ranges: Vec<(f64, f64)> },
}

impl Grid {
    /// A uniform one over the rows of a table.
    ///
    /// # Errors
    /// [`ForestError::Shape`] for 0 or more than 8 bits, or for rows that are not as wide as the forest.
    pub fn uniform(bits: u32, rows: &[Vec<f64>], features: usize) -> Result<Self, ForestError> {
        if !(1..=8).contains(&bits) {
            return ForestError::shape("bits", bits, "1 to 8");
        }
        if let Some(row) = rows.iter().find(|row| row.len() != features) {
            return ForestError::shape("a row to calibrate on", format!("{} values", row.len()), features.to_string());
        }
        let range = |feature: usize| {
            // The least and the largest pass over what is missing.
            let values = || rows.iter().map(move |row| row[feature]);
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
        };
        Ok(Self::Uniform { bits, ranges: (0..features).map(range).collect() })
    }

    fn snapped(&self, cut: Cut) -> Cut {
        let Self::Uniform { bits, ranges } = self else { return cut };
        let (from, to) = ranges[cut.feature];
        let places = f64::from(1_u32 << bits);
        let width = (to - from) / places;
        if !(width.is_finite() && width > 0.0) {
            return Cut { at: if from.is_finite() { from } else { 0.0 }, ..cut };
        }
        let place = ((cut.at - from) / width).round().clamp(1.0, places - 1.0);
        Cut { at: from + place * width, ..cut }
    }
}

/// A quantized forest: what both sides know, and the server's values.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    pub skeleton: Skeleton,
    pub trees: Vec<Tree>,
    /// A level for each output of each leaf, leaf by leaf.
    pub levels: Vec<u16>,
}

impl Forest {
    /// Quantizes an ensemble: its thresholds by a grid, its values to at most 2^`bits` levels; to fewer if those are exact.
    ///
    /// # Errors
    /// [`ForestError::Shape`] for bits outside 1 to 8, or for more trees, nodes or cuts than can be.
    pub fn new(ensemble: &Ensemble, grid: &Grid, bits: u32) -> Result<Self, ForestError> {
        if !(1..=8).contains(&bits) {
            return ForestError::shape("bits of a value", bits, "1 to 8");
        }
        let mut cuts: Vec<Cut> = ensemble.cuts().map(|cut| grid.snapped(cut)).collect();
        cuts.sort_by(Cut::order);
        cuts.dedup();
        let levels = u16::try_from((1_u32 << bits) - 1).unwrap_or(MOST_LEVELS);
        let scale = scale(ensemble, levels);
        Self::made(ensemble, &|cut| grid.snapped(cut), cuts, scale)
    }

    /// The server's forest from its ensemble, quantized as a skeleton says.
    ///
    /// # Errors
    /// [`ForestError::Shape`] for another forest than the skeleton's.
    pub fn quantized_as(skeleton: &Skeleton, ensemble: &Ensemble) -> Result<Self, ForestError> {
        let other = || ForestError::Shape {
            what: "the forest",
            got: "another one".into(),
            wanted: "the file that the description was made with (--weights FILE)".into(),
        };
        if ensemble.features != skeleton.features || ensemble.task.outputs() != skeleton.task.outputs() {
            return Err(other());
        }
        let whole;
        let ensemble = match skeleton.takes_missing() {
            true => ensemble,
            false => {
                whole = ensemble.clone().of_whole_rows();
                &whole
            }
        };
        let (cuts, distance) = (&skeleton.cuts, |a: &Cut, b: &Cut| (a.at - b.at).abs());
        let near = |cut: Cut| {
            let [from, to] = [cut.feature, cut.feature + 1].map(|f| cuts.partition_point(|own| own.feature < f));
            let own = cuts[from..to].iter().filter(|own| (own.closed, own.missing) == (cut.closed, cut.missing));
            own.min_by(|a, b| distance(a, &cut).total_cmp(&distance(b, &cut))).copied()
        };
        if ensemble.cuts().any(|cut| near(cut).is_none()) {
            return Err(other());
        }
        let near = |cut: Cut| near(cut).unwrap_or(cut);
        let forest = Self::made(ensemble, &near, skeleton.cuts.clone(), skeleton.scale.clone())?;
        if forest.skeleton == *skeleton { Ok(forest) } else { Err(other()) }
    }

    /// Any values in the place of the server's.
    ///
    /// # Errors
    /// [`ForestError::Shape`] for a skeleton that makes no forest.
    pub fn stand_in(skeleton: &Skeleton) -> Result<Self, ForestError> {
        let trees = skeleton.check()?;
        let leaves = trees.iter().flatten().filter(|node| matches!(node, Node::Leaf(_))).count();
        let levels = vec![skeleton.scale.levels; leaves * skeleton.task.outputs()];
        Ok(Self { skeleton: skeleton.clone(), trees, levels })
    }

    fn made(
        ensemble: &Ensemble,
        snapped: &dyn Fn(Cut) -> Cut,
        cuts: Vec<Cut>,
        scale: Scale,
    ) -> Result<Self, ForestError> {
        let (mut trees, mut levels) = (Vec::new(), Vec::new());
        for tree in &ensemble.trees {
            let low = tree.least(scale.offsets.len());
            let mut writer = Writer { tree: &tree.0, snapped, cuts: &cuts, text: Vec::new(), path: Vec::new() };
            writer.node(0, &mut |values| {
                let level = |(x, low): (&f64, &f64)| {
                    let level = ((x - low) / scale.step).round().clamp(0.0, f64::from(scale.levels));
                    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
                    (level as u16)
                };
                levels.extend(values.iter().zip(&low).map(level));
            });
            trees.push(writer.text);
        }
        let Ensemble { features, single, text_labels, .. } = *ensemble;
        let task = ensemble.task.clone();
        let skeleton = Skeleton { features, single, task, text_labels, scale, cuts, trees };
        let trees = skeleton.check()?;
        Ok(Self { skeleton, trees, levels })
    }

    /// Levels of a leaf, an output each.
    #[must_use]
    pub fn of_leaf(&self, leaf: usize) -> &[u16] {
        let outputs = self.skeleton.task.outputs();
        &self.levels[leaf * outputs..(leaf + 1) * outputs]
    }

    /// Sums of levels over all trees for a row's bits, an output each.
    #[must_use]
    pub fn sums(&self, bits: &[bool]) -> Vec<u64> {
        let mut sums = vec![0; self.skeleton.task.outputs()];
        for tree in &self.trees {
            for (sum, &level) in sums.iter_mut().zip(self.of_leaf(leaf(tree, bits))) {
                *sum += u64::from(level);
            }
        }
        sums
    }
}

/// As few levels as are exact, or all.
fn scale(ensemble: &Ensemble, most: u16) -> Scale {
    let outputs = ensemble.task.outputs();
    let (mut offsets, mut above) = (ensemble.base.clone(), Vec::new());
    for tree in &ensemble.trees {
        let low = tree.least(outputs);
        offsets.iter_mut().zip(&low).for_each(|(offset, low)| *offset += low);
        above.extend(tree.values().flat_map(|values| values.iter().zip(&low).map(|(x, low)| x - low)));
    }
    let range = above.iter().copied().fold(0.0, f64::max);
    if range == 0.0 {
        return Scale { step: 1.0, levels: 1, offsets };
    }
    let exact = |levels: u16| {
        let step = range / f64::from(levels);
        above.iter().all(|x| (x / step - (x / step).round()).abs() <= EXACT)
    };
    let levels = (1..most).find(|&levels| exact(levels)).unwrap_or(most);
    Scale { step: range / f64::from(levels), levels, offsets }
}

/// Writes a tree as a skeleton has it, without decisions that the path has already made.
struct Writer<'a> {
    tree: &'a [FloatNode],
    snapped: &'a dyn Fn(Cut) -> Cut,
    cuts: &'a [Cut],
    text: Vec<i32>,
    path: Vec<(usize, bool)>,
}

impl Writer<'_> {
    fn node(&mut self, at: usize, leaf: &mut dyn FnMut(&[f64])) {
        match &self.tree[at] {
            FloatNode::Leaf(values) => {
                self.text.push(-1);
                leaf(values);
            }
            &FloatNode::Split { cut, left, right } => {
                let wanted = (self.snapped)(cut);
                let cut = self.cuts.partition_point(|cut| cut.order(&wanted).is_lt());
                if let Some(known) = implied(self.cuts, &self.path, cut) {
                    return self.node(if known { right } else { left }, leaf);
                }
                self.text.push(i32::try_from(cut).unwrap_or(i32::MAX));
                for (side, next) in [(false, left), (true, right)] {
                    self.path.push((cut, side));
                    self.node(next, leaf);
                    self.path.pop();
                }
            }
        }
    }
}
