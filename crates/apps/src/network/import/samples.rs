//! The axis along which samples lie: a network is run on each of them, so no operator may join them.
//!
//! Where the first side of an input is dynamic, the graph is read for two samples too. What it makes of both in the clear must
//! be what it makes of each, one beside the other along some axis; so no list of operators says which may do what. A graph that
//! cannot be read for two means one sample.

use super::{ImportError, Importer, Refused, layer, named};
use crate::{
    network::{Network, linear::Linear, skeleton::Operation},
    onnx,
};
use std::collections::HashSet;

/// Largest difference of numbers that are equal but for rounding, for each unit of the largest.
const ROUNDED: f64 = 1e-9;
/// Products of the largest graph that is computed: 14 times those of a VGG-16 for two images of 32×32 pixels. Files are not
/// trusted, and a larger network does not fit encrypted.
const MOST_PRODUCTS: u64 = 1 << 33;

/// Whether the first side of an input counts samples.
pub(super) fn is_dynamic(input: &onnx::ValueInfo) -> bool {
    let shape = input.kind.as_ref().and_then(|kind| kind.tensor.as_ref()?.shape.as_ref());
    let side = shape.and_then(|shape| shape.sides.first());
    side.is_some_and(|side| side.value.is_none_or(|value| value <= 0))
}

/// A tensor in the clear.
struct Numbers {
    shape: Vec<usize>,
    values: Vec<f64>,
}

/// What a graph makes of two samples at once.
pub(super) struct Pair {
    /// Of each input, whether its first side counts samples.
    dynamic: Vec<bool>,
    outputs: Vec<Numbers>,
    /// Of each output, whether it is the same for other samples.
    known: Vec<bool>,
}

impl Pair {
    /// `None` where no input counts samples, and for a graph that takes one sample only.
    pub(super) fn of(graph: &onnx::Graph, version: i64) -> Option<Self> {
        let constants: HashSet<&str> = graph.initializers.iter().map(|tensor| tensor.name.as_str()).collect();
        let inputs = graph.inputs.iter().filter(|input| !constants.contains(input.name.as_str()));
        let dynamic: Vec<bool> = inputs.map(is_dynamic).collect();
        if !dynamic.contains(&true) {
            return None;
        }
        let network = Importer::new(graph, version, 2).network(graph).ok()?;
        if products(&network) > MOST_PRODUCTS {
            return None;
        }
        let [outputs, others] = [[0, 1], [3, 4]].map(|pair| outputs(&network, &sample(&network, &dynamic, &pair)));
        let known = outputs.iter().zip(&others).map(|(a, b)| are_equal(&a.values, &b.values)).collect();
        Some(Self { dynamic, outputs, known })
    }

    /// Whether each output of two samples is those of each, beside each other, by the network of one; or tells nothing of them.
    pub(super) fn are_apart(&self, network: &Network) -> Vec<bool> {
        let [first, second] = [0, 1].map(|which| outputs(network, &sample(network, &self.dynamic, &[which])));
        let each = first.iter().zip(&second).zip(self.outputs.iter().zip(&self.known));
        each.map(|((first, second), (both, known))| *known || beside(first, second, both)).collect()
    }
}

/// The error of a graph whose samples are joined: by the first operator that does it.
pub(super) fn joined(graph: &onnx::Graph, version: i64) -> ImportError {
    let names: Vec<(&onnx::Node, &String)> =
        graph.nodes.iter().flat_map(|n| n.outputs.iter().map(move |o| (n, o))).collect();
    let needed = Importer::new(graph, version, 1).needed;
    let names: Vec<_> = names.into_iter().filter(|(_, output)| needed.contains(output.as_str())).collect();
    let output = |(_, name): &(&onnx::Node, &String)| onnx::ValueInfo { name: (*name).clone(), kind: None };
    let whole = onnx::Graph { outputs: names.iter().map(output).collect(), ..graph.clone() };
    let apart = Pair::of(&whole, version).and_then(|pair| {
        let network = Importer::new(&whole, version, 1).network(&whole).ok()?;
        pair.are_apart(&network).into_iter().position(|apart| !apart)
    });
    let refused = Refused {
        got: "it joins samples, which lie along the first axis of the input".into(),
        wanted: "each sample by itself, as they are encrypted; where a batch is one sample, a first side that is known"
            .into(),
    };
    match apart.and_then(|at| names.get(at)) {
        Some((node, _)) => layer(&named(node), &node.operator, refused),
        None => layer(graph.outputs.first().map_or("", |output| &output.name), "Output", refused),
    }
}

/// Numbers for the inputs of a network: of these samples where the first side counts them, of none elsewhere. They are
/// positive, so that roots and logarithms have a value.
fn sample(network: &Network, dynamic: &[bool], samples: &[u64]) -> Vec<f64> {
    let mut all = Vec::new();
    for (at, (input, dynamic)) in (0..).zip(network.skeleton.inputs().zip(dynamic)) {
        let samples = if *dynamic { samples } else { &[2][..] };
        for which in samples {
            let mut state = (at * 5 + which + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            all.extend((0..input.size() / samples.len()).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                0.25 + (state >> 40) as f64 / f64::from(1u32 << 24)
            }));
        }
    }
    all
}

/// Products of numbers in all linear maps.
fn products(network: &Network) -> u64 {
    let skeleton = &network.skeleton;
    let terms = skeleton.values.iter().filter_map(|value| match &value.operation {
        Operation::Affine { terms, .. } => Some(terms),
        _ => None,
    });
    let maps = terms.flatten().flat_map(|term| &term.chain);
    let of_map = |map: &Linear| {
        let outputs = map.sizes(&skeleton.weights).map_or(0, |[_, outputs]| outputs as u64);
        outputs.saturating_mul(map.longest_row() as u64)
    };
    maps.map(of_map).fold(0, u64::saturating_add)
}

fn outputs(network: &Network, sample: &[f64]) -> Vec<Numbers> {
    let values = network.exact(sample);
    let of = |&at: &usize| Numbers { shape: network.skeleton.values[at].shape.clone(), values: values[at].clone() };
    network.skeleton.outputs.iter().map(of).collect()
}

/// Whether numbers are equal but for rounding. What is not finite says nothing.
fn are_equal(a: &[f64], b: &[f64]) -> bool {
    let most = a.iter().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| !a.is_finite() || !b.is_finite() || (a - b).abs() <= ROUNDED * most)
}

/// Whether one tensor is two others one behind the other along an axis.
fn beside(first: &Numbers, second: &Numbers, both: &Numbers) -> bool {
    // Axes before that have one place each may be there or not.
    if are_equal(&both.values, &[&first.values[..], &second.values].concat()) {
        return true;
    }
    (0..first.shape.len()).any(|at| {
        let run: usize = first.shape[at..].iter().product::<usize>().max(1);
        let mut shape = first.shape.clone();
        shape[at] *= 2;
        let runs = first.values.chunks(run).zip(second.values.chunks(run));
        shape == both.shape && are_equal(&both.values, &runs.flat_map(|(a, b)| [a, b].concat()).collect::<Vec<_>>())
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Writer, int, ints};

    #[test]
    fn operators_along_samples_are_refused() {
        let cases = [
            ("Softmax", vec![int("axis", 0)]),
            ("LogSoftmax", vec![int("axis", -2)]),
            ("ReduceMean", vec![ints("axes", &[0, 1])]),
            ("ReduceSum", vec![]),
            ("ArgMax", vec![]),
        ];
        for (operator, attributes) in cases {
            let of = |side| Writer::new(&[side, 3]).node(operator, &["x"], "y", attributes.clone());
            let text = of(0).refused();
            let wanted = format!("layer {operator}.y ({operator}): it joins samples, which lie along the first axis");
            assert!(text.contains(&wanted), "{text}");
            assert!(of(1).read().is_ok(), "{operator} of one sample that is known");
        }
        let sums = |place| Writer::new(&[0, 3]).whole("at", &[place]).node("CumSum", &["x", "at"], "y", vec![]);
        assert!(sums(0).refused().contains("it joins samples") && sums(1).read().is_ok());
    }

    /// Operators that move what lies along the first axis, or count it.
    #[test]
    fn what_moves_or_counts_samples_is_refused_too() {
        let x = || Writer::new(&[0, 3]).whole("zero", &[0]).whole("one", &[1]);
        let slice = |from: &str, to: &str, step: &str| {
            x().whole("-1", &[-1]).whole("-9", &[-9]).node("Slice", &["x", from, to, "zero", step], "y", vec![])
        };
        let size = || x().node("Shape", &["x"], "s", vec![]).node("Gather", &["s", "zero"], "n", vec![]);
        let cases = [
            ("Slice", slice("zero", "one", "one")),
            ("Slice", slice("-1", "-9", "-1")),
            ("Concat", x().node("Concat", &["x", "x"], "y", vec![int("axis", 0)])),
            ("Pad", x().whole("p", &[1, 0, 0, 0]).node("Pad", &["x", "p"], "y", vec![])),
            ("Tile", x().whole("p", &[2, 1]).node("Tile", &["x", "p"], "y", vec![])),
            ("MatMul", x().node("Transpose", &["x"], "t", vec![]).node("MatMul", &["t", "x"], "y", vec![])),
            ("Softmax", x().node("Squeeze", &["x"], "t", vec![]).node("Softmax", &["t"], "y", vec![int("axis", 0)])),
            (
                "Softmax",
                x().whole("p", &[-1]).node("Reshape", &["x", "p"], "t", vec![]).node("Softmax", &["t"], "y", vec![]),
            ),
            (
                "Reshape",
                x().node("Transpose", &["x"], "t", vec![]).whole("p", &[-1, 3]).node(
                    "Reshape",
                    &["t", "p"],
                    "y",
                    vec![],
                ),
            ),
            ("Mul", size().node("Cast", &["n"], "f", vec![int("to", 1)]).node("Mul", &["x", "f"], "y", vec![])),
        ];
        for (operator, graph) in cases {
            let text = graph.refused();
            assert!(text.contains(&format!("({operator}): it joins samples")), "{operator}: {text}");
        }
    }

    #[test]
    fn axes_of_one_sample_are_not() {
        let moved = Writer::new(&[0, 3])
            .node("Transpose", &["x"], "t", vec![])
            .node("Softmax", &["t"], "y", vec![int("axis", 0)])
            .read();
        assert!(moved.is_ok(), "{moved:?}");
        assert!(Writer::new(&[0, 3]).node("Softmax", &["x"], "y", vec![]).read().is_ok());
        // Heads of attention beside samples, as PyTorch lays them, and back.
        let heads = Writer::new(&[0, 2, 6])
            .whole("apart", &[2, -1, 3])
            .whole("back", &[2, -1, 6])
            .node("Transpose", &["x"], "t", vec![ints("perm", &[1, 0, 2])])
            .node("Reshape", &["t", "apart"], "h", vec![])
            .node("Softmax", &["h"], "s", vec![])
            .node("Reshape", &["s", "back"], "b", vec![])
            .node("Transpose", &["b"], "y", vec![ints("perm", &[1, 0, 2])]);
        assert!(heads.read().is_ok());
        // For two samples there is no such graph: it means one.
        let one = Writer::new(&[0, 3]).whole("p", &[1, 3]).node("Reshape", &["x", "p"], "y", vec![]);
        assert!(one.read().is_ok());
    }

    #[test]
    fn the_first_operator_that_joins_is_named() {
        let deep = Writer::new(&[0, 3])
            .node("Relu", &["x"], "r", vec![])
            .node("ReduceSum", &["r"], "s", vec![ints("axes", &[0])])
            .node("Relu", &["s"], "y", vec![])
            .refused();
        assert!(deep.contains("layer ReduceSum.s (ReduceSum): it joins samples"), "{deep}");
    }
}
