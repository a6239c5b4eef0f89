//! Ensembles of ONNX-ML: `TreeEnsembleClassifier` and `TreeEnsembleRegressor` of `ai.onnx.ml` 1 to 3, as skl2onnx and
//! onnxmltools write them. Nothing of a file is trusted. Source: \[ONNX\].

use super::{
    ForestError,
    skeleton::{self, Cut, MOST_FEATURES, MOST_NODES, MOST_OUTPUTS, MOST_TREES, Task},
};
use crate::{
    data::{DataError, dataset::open_plain},
    onnx,
};
use prost::Message;
use std::{io::Read, path::Path};

mod nodes;

/// Longest file that is read: 131072 nodes take 6 MB.
const MOST_BYTES: u64 = 1 << 26;
/// Most numbers of all leaves.
const MOST_VALUES: usize = 1 << 22;
/// Largest value of a leaf: sums of as many as there can be are numbers.
const MOST: f64 = 1e100;
/// Operators behind an ensemble that do not change what it says.
const BEHIND: [&str; 6] = ["ZipMap", "Identity", "Cast", "Reshape", "Flatten", "Normalizer"];
/// Operators before one that do not change its input.
const BEFORE: [&str; 2] = ["Identity", "Cast"];

/// A node of a tree of floats.
#[derive(Clone, Debug, PartialEq)]
pub enum FloatNode {
    /// Nodes by their places.
    Split { cut: Cut, left: usize, right: usize },
    /// A number an output.
    Leaf(Vec<f64>),
}

/// The root is the first node.
#[derive(Clone, Debug, PartialEq)]
pub struct FloatTree(pub Vec<FloatNode>);

impl FloatTree {
    /// The values of its leaves.
    pub fn values(&self) -> impl Iterator<Item = &Vec<f64>> {
        self.0.iter().filter_map(|node| if let FloatNode::Leaf(values) = node { Some(values) } else { None })
    }

    /// The least value of each output.
    #[must_use]
    pub fn least(&self, outputs: usize) -> Vec<f64> {
        let least = |output: usize| self.values().map(|values| values[output]).fold(f64::INFINITY, f64::min);
        (0..outputs).map(least).collect()
    }
}

/// A forest as its file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    pub features: usize,
    /// Whether thresholds are of 32 bits, and so is what they are compared with.
    pub single: bool,
    pub task: Task,
    /// Whether labels are texts, be they written as numbers are.
    pub text_labels: bool,
    pub trees: Vec<FloatTree>,
    /// What is added to the sums, an output each.
    pub base: Vec<f64>,
}

impl Ensemble {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ForestError`], which names the node and its attribute.
    pub fn load(path: &Path) -> Result<Self, ForestError> {
        let (file, length) = open_plain(path)?;
        let shown = path.display().to_string();
        if length > MOST_BYTES {
            return Err(ForestError::File { path: shown, got: format!("{length} bytes"), wanted: "at most 64 MiB" });
        }
        let mut bytes = Vec::new();
        let read = file.take(MOST_BYTES).read_to_end(&mut bytes);
        read.map_err(|source| DataError::Io { path: path.to_owned(), source })?;
        Self::parse(&bytes, &shown)
    }

    /// The same from bytes; errors name the path.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn parse(bytes: &[u8], path: &str) -> Result<Self, ForestError> {
        let file = |got: String, wanted| ForestError::File { path: path.into(), got, wanted };
        let wanted = "an ONNX file with a tree ensemble";
        let model = onnx::Model::decode(bytes).map_err(|e| file(e.to_string(), wanted))?;
        let graph = model.graph.ok_or_else(|| file("no graph".into(), wanted))?;
        let is_ensemble = |node: &&onnx::Node| node.operator.starts_with("TreeEnsemble");
        let mut ensembles = graph.nodes.iter().filter(is_ensemble);
        let (node, more) =
            (ensembles.next().ok_or_else(|| file("no tree ensemble".into(), wanted))?, ensembles.count());
        if more > 0 {
            return Err(file(format!("{} tree ensembles", more + 1), "one: save each by itself"));
        }
        let reader = Reader { node, path };
        if let Some(other) = graph.nodes.iter().find(|other| !is_ensemble(other) && !plain(&graph, node, other)) {
            let got = format!("the operator {} beside the ensemble", other.operator);
            return Err(Reader { node: other, path }.wrong(got, "nothing that changes its input or its scores"));
        }
        reader.ensemble(width(&graph))
    }

    /// Cuts of all splits.
    pub fn cuts(&self) -> impl Iterator<Item = Cut> {
        let cut = |node: &FloatNode| if let FloatNode::Split { cut, .. } = node { Some(*cut) } else { None };
        self.trees.iter().flat_map(move |tree| tree.0.iter().filter_map(cut))
    }

    /// The same forest for rows that lack no value: cuts that differ by where a missing one goes are one.
    #[must_use]
    pub fn of_whole_rows(mut self) -> Self {
        for node in self.trees.iter_mut().flat_map(|tree| &mut tree.0) {
            if let FloatNode::Split { cut, .. } = node {
                cut.missing = None;
            }
        }
        self
    }

    /// Scores of a row, an output each. NaN is a value that is missing.
    ///
    /// # Panics
    /// If the row has fewer values than the ensemble has features.
    #[must_use]
    pub fn scores(&self, row: &[f64]) -> Vec<f64> {
        let mut scores = self.base.clone();
        for tree in &self.trees {
            let mut at = 0;
            while let FloatNode::Split { cut, left, right } = &tree.0[at] {
                let x = row[cut.feature];
                let x = if self.single { skeleton::single(x) } else { x };
                at = if cut.is_left_of(x) { *right } else { *left };
            }
            if let FloatNode::Leaf(values) = &tree.0[at] {
                scores.iter_mut().zip(values).for_each(|(score, value)| *score += value);
            }
        }
        scores
    }

    /// The number of the label of scores.
    #[must_use]
    pub fn class(&self, scores: &[f64]) -> usize {
        skeleton::class(&self.task, scores, 0.0)
    }
}

/// Whether an operator stands before or behind the ensemble and changes nothing.
fn plain(graph: &onnx::Graph, ensemble: &onnx::Node, other: &onnx::Node) -> bool {
    let outside = |name: &String| graph.inputs.iter().any(|input| input.name == *name);
    let feeds = other.outputs.iter().any(|output| ensemble.inputs.contains(output));
    match feeds {
        true => BEFORE.contains(&&*other.operator) && other.inputs.iter().all(outside),
        false => BEHIND.contains(&&*other.operator),
    }
}

/// The last side of the graph's input, where it is known.
fn width(graph: &onnx::Graph) -> Option<usize> {
    let kind = graph.inputs.first()?.kind.as_ref()?;
    let sides = &kind.tensor.as_ref()?.shape.as_ref()?.sides;
    (sides.len() == 2).then(|| sides[1].value.and_then(|side| usize::try_from(side).ok())).flatten()
}

/// Reads the attributes of one operator.
struct Reader<'a> {
    node: &'a onnx::Node,
    path: &'a str,
}

impl<'a> Reader<'a> {
    fn wrong(&self, got: impl Into<String>, wanted: impl Into<String>) -> ForestError {
        let node = if self.node.name.is_empty() { self.node.operator.clone() } else { self.node.name.clone() };
        ForestError::Node { path: self.path.into(), node, got: got.into(), wanted: wanted.into() }
    }

    fn ints(&self, name: &str) -> &'a [i64] {
        self.node.attribute(name).map_or(&[], |a| &a.ints)
    }

    /// Numbers of an attribute, or of the one with doubles in its place; whether they are of 32 bits.
    fn numbers(&self, name: &str) -> Result<(Vec<f64>, bool), ForestError> {
        let tensor = format!("{name}_as_tensor");
        let Some(tensor) = self.node.attribute(&tensor).and_then(|a| a.tensor.as_ref()) else {
            let floats = self.node.attribute(name).map_or(&[][..], |a| &a.floats);
            return Ok((floats.iter().map(|&x| x.into()).collect(), true));
        };
        let numbers =
            tensor.numbers().map_err(|(got, wanted)| self.wrong(format!("{name}_as_tensor: {got}"), wanted))?;
        Ok((numbers.1, tensor.kind == onnx::FLOAT))
    }

    /// An attribute's text, or the default.
    fn text(&self, name: &str, usual: &str) -> String {
        let text = self.node.attribute(name).map(|a| String::from_utf8_lossy(&a.text).into_owned());
        text.filter(|text| !text.is_empty()).unwrap_or_else(|| usual.into())
    }

    /// As many entries as there are nodes or leaves.
    fn length(&self, name: &str, got: usize, wanted: usize) -> Result<(), ForestError> {
        if got == wanted {
            return Ok(());
        }
        Err(self.wrong(format!("{got} entries of {name}"), format!("{wanted}, as many as of its other lists")))
    }

    fn finite(&self, name: &str, numbers: &[f64]) -> Result<(), ForestError> {
        match numbers.iter().position(|x| !(-MOST..=MOST).contains(x)) {
            Some(at) => Err(self.wrong(format!("{} as entry {at} of {name}", numbers[at]), "numbers up to 1e100")),
            None => Ok(()),
        }
    }

    fn ensemble(&self, width: Option<usize>) -> Result<Ensemble, ForestError> {
        let classifier = match &*self.node.operator {
            "TreeEnsembleClassifier" => true,
            "TreeEnsembleRegressor" => false,
            other => {
                let wanted = "TreeEnsembleClassifier or TreeEnsembleRegressor (ai.onnx.ml 3 or earlier)";
                return Err(self.wrong(format!("the operator {other}"), wanted));
            }
        };
        let transform = self.text("post_transform", "NONE");
        let monotone = classifier && ["LOGISTIC", "SOFTMAX"].contains(&&*transform);
        if transform != "NONE" && !monotone {
            return Err(
                self.wrong(format!("post_transform {transform}"), "NONE; of classifiers also LOGISTIC, SOFTMAX")
            );
        }
        let prefix = if classifier { "class" } else { "target" };
        let labels = if classifier { self.labels()? } else { Vec::new() };
        let count = if classifier { labels.len() } else { self.targets()? };
        let leaves = self.leaves(prefix, count)?;
        let (trees, single) = self.trees(&leaves, count)?;
        let (base, _) = self.numbers("base_values")?;
        self.finite("base_values", &base)?;
        let highest = trees.iter().flat_map(|tree| &tree.0).filter_map(|node| match node {
            FloatNode::Split { cut, .. } => Some(cut.feature + 1),
            FloatNode::Leaf(_) => None,
        });
        let used = highest.max().unwrap_or(1);
        let features = width.unwrap_or(used);
        if used > features || features > MOST_FEATURES {
            let got = format!("feature {} in nodes_featureids", used - 1);
            return Err(self.wrong(got, format!("0 to {}, as the graph's input has", features.min(MOST_FEATURES) - 1)));
        }
        let text_labels =
            classifier && self.node.attribute("classlabels_strings").is_some_and(|a| !a.strings.is_empty());
        let ensemble = Ensemble { features, single, task: Task::Numbers(count), text_labels, trees, base };
        if classifier { self.classifier(ensemble, labels, &leaves) } else { self.regressor(ensemble) }
    }

    fn targets(&self) -> Result<usize, ForestError> {
        let count = self.node.attribute("n_targets").map_or(1, |a| a.int);
        let few = usize::try_from(count).ok().filter(|count| (1..=MOST_OUTPUTS).contains(count));
        few.ok_or_else(|| self.wrong(format!("n_targets {count}"), format!("1 to {MOST_OUTPUTS}")))
    }

    fn labels(&self) -> Result<Vec<String>, ForestError> {
        let strings = self.node.attribute("classlabels_strings").map_or(&[][..], |a| &a.strings);
        let named = strings.iter().map(|label| String::from_utf8_lossy(label).into_owned());
        let labels: Vec<String> = self.ints("classlabels_int64s").iter().map(i64::to_string).chain(named).collect();
        if (2..=MOST_OUTPUTS).contains(&labels.len()) {
            return Ok(labels);
        }
        Err(self.wrong(format!("{} labels in classlabels", labels.len()), format!("2 to {MOST_OUTPUTS}")))
    }

    fn regressor(&self, mut ensemble: Ensemble) -> Result<Ensemble, ForestError> {
        let count = ensemble.task.outputs();
        match &*self.text("aggregate_function", "SUM") {
            "SUM" => {}
            "AVERAGE" => {
                let trees = ensemble.trees.len() as f64;
                let nodes = ensemble.trees.iter_mut().flat_map(|tree| &mut tree.0);
                nodes.for_each(|node| {
                    if let FloatNode::Leaf(values) = node {
                        values.iter_mut().for_each(|x| *x /= trees);
                    }
                });
            }
            other => return Err(self.wrong(format!("aggregate_function {other}"), "SUM or AVERAGE")),
        }
        if ensemble.base.is_empty() {
            ensemble.base = vec![0.0; count];
        }
        self.length("base_values", ensemble.base.len(), count)?;
        Ok(ensemble)
    }

    /// Of two labels one score is left: above 0 for the second. Where leaves have values for one label only, the runtime
    /// of ONNX compares their sum with one half if none is negative, else with 0.
    fn classifier(
        &self,
        mut ensemble: Ensemble,
        labels: Vec<String>,
        leaves: &nodes::Leaves,
    ) -> Result<Ensemble, ForestError> {
        let base = std::mem::take(&mut ensemble.base);
        if labels.len() > 2 {
            if !base.is_empty() {
                self.length("base_values", base.len(), labels.len())?;
            }
            ensemble.base = if base.is_empty() { vec![0.0; labels.len()] } else { base };
            ensemble.task = Task::Classes(labels);
            return Ok(ensemble);
        }
        if base.len() > 2 {
            self.length("base_values", base.len(), 2)?;
        }
        let at = |of: usize| base.get(of).or(base.last()).copied().unwrap_or(0.0);
        let one = leaves.only_output();
        let threshold = if one.is_some() && leaves.is_positive() { 0.5 } else { 0.0 };
        let merged = |of: &[f64]| one.map_or(of[1] - of[0], |one| of[one]);
        let nodes = ensemble.trees.iter_mut().flat_map(|tree| &mut tree.0);
        nodes.for_each(|node| {
            if let FloatNode::Leaf(values) = node {
                *values = vec![merged(values)];
            }
        });
        ensemble.base = vec![merged(&[at(0), at(1)]) - threshold];
        ensemble.task = Task::Binary(labels);
        Ok(ensemble)
    }
}

/// Whether so many nodes, leaves or trees can be.
fn few(nodes: usize, trees: usize) -> bool {
    (1..=MOST_NODES).contains(&nodes) && trees <= MOST_TREES
}
