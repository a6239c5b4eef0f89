//! Trees of an operator's lists: nodes by their numbers, leaves' values, and the shape that makes them trees.

use super::{FloatNode, FloatTree, MOST_VALUES, Reader, few};
use crate::forest::{
    ForestError,
    skeleton::{Cut, MOST_DEPTH, MOST_FEATURES, Side},
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Tree and node, as numbered in the file.
type Name = (i64, i64);

/// Values of leaves.
pub(super) struct Leaves {
    values: HashMap<Name, Vec<(usize, f64)>>,
}

impl Leaves {
    /// The output of all values, if there is but one.
    pub(super) fn only_output(&self) -> Option<usize> {
        let mut outputs = self.values.values().flatten().map(|&(output, _)| output);
        let first = outputs.next()?;
        outputs.all(|output| output == first).then_some(first)
    }

    /// Whether no value is negative.
    pub(super) fn is_positive(&self) -> bool {
        self.values.values().flatten().all(|&(_, value)| value >= 0.0)
    }
}

/// A node as it is listed.
struct Listed {
    node: i64,
    /// Nothing for a leaf; else its cut, and the nodes on its left and right.
    split: Option<(Cut, i64, i64)>,
}

impl Reader<'_> {
    /// The values of leaves, of `class_*` or `target_*`.
    pub(super) fn leaves(&self, prefix: &str, outputs: usize) -> Result<Leaves, ForestError> {
        let list = |what: &str| format!("{prefix}_{what}");
        let [trees, nodes, ids] = ["treeids", "nodeids", "ids"].map(|what| self.ints(&list(what)));
        let (weights, _) = self.numbers(&list("weights"))?;
        for (what, length) in [("nodeids", nodes.len()), ("ids", ids.len()), ("weights", weights.len())] {
            self.length(&list(what), length, trees.len())?;
        }
        self.finite(&list("weights"), &weights)?;
        let mut values: HashMap<Name, Vec<(usize, f64)>> = HashMap::new();
        for (at, &id) in ids.iter().enumerate() {
            let output = usize::try_from(id).ok().filter(|&output| output < outputs);
            let wanted = || format!("0 to {}", outputs - 1);
            let output =
                output.ok_or_else(|| self.wrong(format!("{id} as entry {at} of {}", list("ids")), wanted()))?;
            values.entry((trees[at], nodes[at])).or_default().push((output, weights[at]));
        }
        Ok(Leaves { values })
    }

    /// All trees in the order of their numbers, and whether thresholds are of 32 bits.
    pub(super) fn trees(&self, leaves: &Leaves, outputs: usize) -> Result<(Vec<FloatTree>, bool), ForestError> {
        let (listed, single) = self.listed()?;
        let count = listed.values().flatten().filter(|node| node.split.is_none()).count();
        if count.saturating_mul(outputs) > MOST_VALUES {
            return Err(
                self.wrong(format!("{count} leaves of {outputs} values"), format!("at most {MOST_VALUES} values"))
            );
        }
        let (mut trees, mut met) = (Vec::new(), 0);
        for (&number, nodes) in &listed {
            let mut tree = Vec::new();
            let builder = Builder { reader: self, number, nodes, leaves, outputs };
            builder.build(&mut tree, &mut met)?;
            trees.push(FloatTree(tree));
        }
        if met != leaves.values.len() {
            let own = |(&tree, nodes): (&i64, &Vec<Listed>)| {
                let leaves = nodes.iter().filter(|node| node.split.is_none());
                leaves.map(|node| (tree, node.node)).collect::<Vec<Name>>()
            };
            let own: HashSet<Name> = listed.iter().flat_map(own).collect();
            let (tree, node) = leaves.values.keys().find(|name| !own.contains(name)).copied().unwrap_or_default();
            return Err(self.wrong(format!("values for node {node} of tree {tree}"), "values for its leaves alone"));
        }
        Ok((trees, single))
    }

    /// All nodes by the number of their tree, and whether thresholds are of 32 bits.
    fn listed(&self) -> Result<(BTreeMap<i64, Vec<Listed>>, bool), ForestError> {
        let names = ["nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids"];
        let [trees, nodes, features, trues, falses] = names.map(|name| self.ints(name));
        let modes = self.node.attribute("nodes_modes").map_or(&[][..], |a| &a.strings);
        let (values, single) = self.numbers("nodes_values")?;
        for (name, length) in names.iter().zip([trees, nodes, features, trues, falses].map(<[i64]>::len)) {
            self.length(name, length, trees.len())?;
        }
        self.length("nodes_modes", modes.len(), trees.len())?;
        self.length("nodes_values", values.len(), trees.len())?;
        let missing = self.ints("nodes_missing_value_tracks_true");
        if !missing.is_empty() {
            self.length("nodes_missing_value_tracks_true", missing.len(), trees.len())?;
        }
        let lists = Lists { nodes, trees, features, children: [trues, falses], modes, values: &values, missing };
        let mut listed: BTreeMap<i64, Vec<Listed>> = BTreeMap::new();
        for (at, &tree) in trees.iter().enumerate() {
            listed.entry(tree).or_default().push(self.node(&lists, at)?);
        }
        if few(trees.len(), listed.len()) {
            return Ok((listed, single));
        }
        let got = format!("{} nodes in {} trees", trees.len(), listed.len());
        Err(self.wrong(got, "1 to 131072 nodes in at most 4096 trees"))
    }

    fn node(&self, lists: &Lists<'_>, at: usize) -> Result<Listed, ForestError> {
        let here = || format!("node {} of tree {}", lists.nodes[at], lists.trees[at]);
        let mode = String::from_utf8_lossy(&lists.modes[at]);
        // Whether the value at the threshold is on the left, and whether "true" is.
        let (closed, upright) = match &*mode {
            "LEAF" => return Ok(Listed { node: lists.nodes[at], split: None }),
            "BRANCH_LEQ" => (true, true),
            "BRANCH_LT" => (false, true),
            "BRANCH_GT" => (true, false),
            "BRANCH_GTE" => (false, false),
            other => {
                let wanted = "BRANCH_LEQ, BRANCH_LT, BRANCH_GT, BRANCH_GTE or LEAF in nodes_modes";
                return Err(self.wrong(format!("{other} at {}", here()), wanted));
            }
        };
        let feature = usize::try_from(lists.features[at]).ok().filter(|&feature| feature < MOST_FEATURES);
        let Some(feature) = feature else {
            let got = format!("feature {} at {}", lists.features[at], here());
            return Err(self.wrong(got, "0 to 65535 in nodes_featureids"));
        };
        // Adding 0 makes the negative zero positive: they are equal, and have one place in the order.
        // Without a mark no comparison with a missing value holds.
        let holds = lists.missing.get(at).is_some_and(|&mark| mark == 1);
        let missing = Some(if holds == upright { Side::Left } else { Side::Right });
        let cut = Cut { feature, at: lists.values[at] + 0.0, closed, missing };
        if !cut.at.is_finite() {
            return Err(self.wrong(format!("{} at {}", cut.at, here()), "finite thresholds in nodes_values"));
        }
        let [on_true, on_false] = lists.children.map(|list| list[at]);
        let (left, right) = if upright { (on_true, on_false) } else { (on_false, on_true) };
        Ok(Listed { node: lists.nodes[at], split: Some((cut, left, right)) })
    }
}

/// An operator's lists of nodes, all of one length.
struct Lists<'a> {
    nodes: &'a [i64],
    trees: &'a [i64],
    features: &'a [i64],
    /// Where a comparison holds, and where not.
    children: [&'a [i64]; 2],
    modes: &'a [Vec<u8>],
    values: &'a [f64],
    /// 1 where a comparison holds of a value that is missing; empty where none does.
    missing: &'a [i64],
}

/// Makes one tree of its nodes.
struct Builder<'a> {
    reader: &'a Reader<'a>,
    number: i64,
    nodes: &'a [Listed],
    leaves: &'a Leaves,
    outputs: usize,
}

impl Builder<'_> {
    fn wrong(&self, got: impl Into<String>, wanted: &str) -> ForestError {
        self.reader.wrong(format!("{} in tree {}", got.into(), self.number), wanted)
    }

    /// Puts the nodes in order, the root first; `met` counts the leaves that have values.
    fn build(&self, tree: &mut Vec<FloatNode>, met: &mut usize) -> Result<(), ForestError> {
        let mut places = HashMap::new();
        for (at, listed) in self.nodes.iter().enumerate() {
            if places.insert(listed.node, at).is_some() {
                return Err(self.wrong(format!("node {} twice", listed.node), "each node once"));
            }
        }
        let mut parents = vec![0_usize; self.nodes.len()];
        for listed in self.nodes {
            for child in listed.split.iter().flat_map(|&(_, left, right)| [left, right]) {
                let missing =
                    || self.wrong(format!("node {}: a missing child {child}", listed.node), "nodes of its tree");
                parents[*places.get(&child).ok_or_else(missing)?] += 1;
            }
        }
        if let Some(at) = parents.iter().position(|&count| count > 1) {
            return Err(self.wrong(format!("node {} below two others", self.nodes[at].node), "one parent"));
        }
        let mut roots = parents.iter().enumerate().filter(|(_, count)| **count == 0).map(|(at, _)| at);
        let root = match (roots.next(), roots.next()) {
            (Some(root), None) => root,
            (None, _) => return Err(self.wrong("a cycle: no node without a parent", "one root")),
            (Some(_), Some(_)) => return Err(self.wrong("two nodes without a parent", "one root")),
        };
        self.place(root, &places, (tree, met), 0)?;
        if tree.len() < self.nodes.len() {
            let lost = self.nodes.len() - tree.len();
            return Err(self.wrong(format!("a cycle: {lost} nodes that the root does not reach"), "a tree"));
        }
        Ok(())
    }

    fn place(
        &self,
        at: usize,
        places: &HashMap<i64, usize>,
        (tree, met): (&mut Vec<FloatNode>, &mut usize),
        depth: usize,
    ) -> Result<usize, ForestError> {
        let (own, listed) = (tree.len(), &self.nodes[at]);
        if depth > MOST_DEPTH {
            return Err(self.wrong(format!("node {} below {depth} others", listed.node), "a depth of at most 64"));
        }
        let Some((cut, left, right)) = listed.split else {
            let mut values = vec![0.0; self.outputs];
            if let Some(given) = self.leaves.values.get(&(self.number, listed.node)) {
                *met += 1;
                given.iter().for_each(|&(output, value)| values[output] += value);
            }
            tree.push(FloatNode::Leaf(values));
            return Ok(own);
        };
        tree.push(FloatNode::Leaf(Vec::new()));
        let left = self.place(places[&left], places, (tree, met), depth + 1)?;
        let right = self.place(places[&right], places, (tree, met), depth + 1)?;
        tree[own] = FloatNode::Split { cut, left, right };
        Ok(own)
    }
}
