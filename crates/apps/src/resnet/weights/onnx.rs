//! Weights from an ONNX file: the convolutions of its graph in their order, with batch norms folded by who wrote it or here.
//!
//! Only what the numbers need is read of \[ONNX\]: nodes, initializers, constants, metadata (`input_mean` and `input_std`
//! as in safetensors). Names mean nothing. Since nothing else would notice another network, every operator must be one
//! that such a residual network is exported with; its convolutions' shapes and strides, and the counts of its activations,
//! sums and linear layers, must be the network's. That the operators are also joined in its way is not checked.

use super::{KERNEL, Norm, Origin};
use crate::{
    data::DataError,
    onnx::{FLOAT, Model, Node, Tensor},
    resnet::network::{Architecture, Network, Step, Weights},
};
use prost::Message;
use std::{collections::HashMap, path::Path};

/// Operators that move values, make constants of shapes, or take means: they have no weights.
const WITHOUT_WEIGHTS: [&str; 17] = [
    "AveragePool",
    "Cast",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Flatten",
    "Gather",
    "GlobalAveragePool",
    "Identity",
    "Pad",
    "ReduceMean",
    "Reshape",
    "Shape",
    "Slice",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
];

pub(super) fn parse(bytes: &[u8], path: &Path, side: usize) -> Result<Network, DataError> {
    let wanted = "an ONNX file with the graph of a network";
    let model = Model::decode(bytes).map_err(|e| Origin::refuse(path, e.to_string(), wanted))?;
    let metadata = model.metadata.into_iter().map(|entry| (entry.key, entry.value)).collect();
    let origin = Origin { path, metadata };
    let Some(graph) = model.graph else { return origin.refused("no graph", wanted) };
    let constants = graph.nodes.iter().filter(|node| node.operator == "Constant").filter_map(|node| {
        let value = node.attributes.iter().find(|a| a.name == "value")?;
        Some((node.outputs.first()?.as_str(), value.tensor.as_ref()?))
    });
    let tensors = graph.initializers.iter().map(|t| (t.name.as_str(), t)).chain(constants).collect();
    let mut walk = Walk { origin, tensors, convolutions: Vec::new(), linear: Vec::new(), activations: 0, sums: 0 };
    graph.nodes.iter().try_for_each(|node| walk.step(node))?;
    walk.network(side)
}

struct Convolution {
    channels: [usize; 2],
    stride: usize,
    numbers: Weights,
    /// The name of its result, batch norm included.
    result: String,
}

struct Walk<'a> {
    origin: Origin<'a>,
    tensors: HashMap<&'a str, &'a Tensor>,
    convolutions: Vec<Convolution>,
    /// Classes, inputs and numbers.
    linear: Vec<([usize; 2], Weights)>,
    activations: usize,
    sums: usize,
}

impl Walk<'_> {
    fn step(&mut self, node: &Node) -> Result<(), DataError> {
        match &*node.operator {
            "Conv" => self.convolutions.push(self.convolution(node)?),
            "BatchNormalization" => self.batch_norm(node)?,
            "Gemm" => self.linear.push(self.gemm(node)?),
            "Relu" => self.activations += 1,
            "Add" => self.sums += 1,
            other if WITHOUT_WEIGHTS.contains(&other) => {}
            other => return self.origin.refused(format!("the operator {other}"), "those of a residual network"),
        }
        Ok(())
    }

    /// Sides and numbers of a node's input.
    fn tensor(&self, node: &Node, at: usize) -> Result<(Vec<usize>, Vec<f64>), DataError> {
        let name = node.inputs.get(at).map_or("", String::as_str);
        let Some(tensor) = self.tensors.get(name) else {
            return self.origin.refused(
                format!("{} whose input {at}, {name:?}, is no constant", node.operator),
                "weights inside the file",
            );
        };
        if tensor.kind != FLOAT {
            return self.origin.refused(format!("{name} of ONNX's type {}", tensor.kind), "32-bit floats (1)");
        }
        tensor.numbers().or_else(|(got, wanted)| self.origin.refused(got, wanted))
    }

    /// The numbers of a vector of a known length.
    fn vector(&self, node: &Node, at: usize, length: usize) -> Result<Vec<f64>, DataError> {
        let (sides, numbers) = self.tensor(node, at)?;
        match sides[..] == [length] {
            true => Ok(numbers),
            false => {
                let got = format!("{} with an input of {sides:?}", node.operator);
                self.origin.refused(got, &format!("[{length}]"))
            }
        }
    }

    fn convolution(&self, node: &Node) -> Result<Convolution, DataError> {
        let (sides, weights) = self.tensor(node, 1)?;
        let [outputs, inputs, KERNEL, KERNEL] = sides[..] else {
            return self
                .origin
                .refused(format!("filters of {sides:?}"), "3×3, and shortcuts without weights (option A)");
        };
        let bias = if node.inputs.len() > 2 { self.vector(node, 2, outputs)? } else { vec![0.0; outputs] };
        let ints = |name| node.attribute(name).map_or(&[][..], |a| &a.ints[..]);
        let all = |name, value| ints(name).iter().all(|&x| x == value);
        let strides = ints("strides");
        let stride = strides.first().map_or(Some(1), |&s| usize::try_from(s).ok()).unwrap_or(0);
        let one_group = node.attribute("group").is_none_or(|a| a.int == 1);
        let padded = ints("pads") == [1; 4];
        if !padded || !one_group || !all("dilations", 1) || strides.iter().any(|s| Some(s) != strides.first()) {
            return self
                .origin
                .refused("a convolution with other padding, groups or steps", "3×3 that keep the border");
        }
        let result = node.outputs.first().cloned().unwrap_or_default();
        Ok(Convolution { channels: [inputs, outputs], stride, numbers: Weights { weights, bias }, result })
    }

    fn batch_norm(&mut self, node: &Node) -> Result<(), DataError> {
        let before = self.convolutions.last().filter(|c| node.inputs.first() == Some(&c.result));
        let Some(conv) = before else {
            return self.origin.refused("a batch norm that follows no convolution", "one behind each, or none at all");
        };
        let vector = |at| self.vector(node, at, conv.channels[1]);
        let norm: Norm = [vector(1)?, vector(2)?, vector(3)?, vector(4)?];
        let epsilon = node.attribute("epsilon").map_or(1e-5, |a| a.float.into());
        let numbers = self.origin.folded(&conv.result, &conv.numbers, &norm, epsilon)?;
        if let Some(conv) = self.convolutions.last_mut() {
            conv.numbers = numbers;
            conv.result = node.outputs.first().cloned().unwrap_or_default();
        }
        Ok(())
    }

    fn gemm(&self, node: &Node) -> Result<([usize; 2], Weights), DataError> {
        let (sides, weights) = self.tensor(node, 1)?;
        let factor = |name| node.attribute(name).is_none_or(|a| (a.float - 1.0).abs() < f32::EPSILON);
        let transposed = node.attribute("transB").is_some_and(|a| a.int == 1);
        let ([classes, inputs], true) = (&sides[..], transposed && factor("alpha") && factor("beta")) else {
            return self.origin.refused(format!("a linear layer of {sides:?}"), "classes × channels (transB = 1)");
        };
        Ok(([*classes, *inputs], Weights { weights, bias: self.vector(node, 2, *classes)? }))
    }

    fn network(self, side: usize) -> Result<Network, DataError> {
        let Self { origin, convolutions, mut linear, activations, sums, .. } = self;
        let (Some(stem), Some(([classes, inputs], last)), true) =
            (convolutions.first(), linear.pop(), linear.is_empty())
        else {
            let got = format!("{} convolutions, {} linear layers", convolutions.len(), linear.len());
            return origin.refused(got, "convolutions and one linear layer");
        };
        let mut widths = vec![stem.channels[1]];
        widths.extend(convolutions[1..].iter().filter(|c| c.stride == 2).map(|c| c.channels[1]));
        let blocks = (convolutions.len() - 1) / (2 * widths.len());
        let architecture = Architecture { side, channels: stem.channels[0], widths, blocks, classes };
        architecture.check().or_else(|e| origin.refused(e.to_string(), "a network of another shape"))?;
        let steps = architecture.steps();
        let same = |(step, c): (&Step, &Convolution)| step.channels == c.channels && step.stride() == c.stride;
        let fits = steps.len() == convolutions.len() && steps.iter().zip(&convolutions).all(same);
        if !fits
            || (activations, sums) != (steps.len(), steps.len() / 2)
            || inputs != architecture.widths[architecture.widths.len() - 1]
        {
            let got = format!("{} convolutions, {activations} activations, {sums} sums", convolutions.len());
            return origin.refused(got, "a stem, and stages of equally many blocks of two convolutions of 3×3");
        }
        let normalization = origin.normalization(architecture.channels)?;
        let convolutions = convolutions.into_iter().map(|c| c.numbers).collect();
        Ok(Network { architecture, convolutions, linear: last, normalization })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::onnx::{Attribute, Entry, Graph};

    fn attribute(name: &str, int: i64, ints: &[i64]) -> Attribute {
        Attribute { name: name.into(), int, ints: ints.to_vec(), ..Attribute::default() }
    }

    struct Writer(Graph);

    impl Writer {
        /// A constant, in either of the two ways numbers are kept.
        fn tensor(&mut self, name: &str, sides: &[i64], value: f32) -> String {
            let count = usize::try_from(sides.iter().product::<i64>()).unwrap();
            let mut tensor = Tensor { name: name.into(), sides: sides.to_vec(), kind: FLOAT, ..Tensor::default() };
            match sides.len() {
                1 => tensor.floats = vec![value; count],
                _ => tensor.raw = value.to_le_bytes().repeat(count),
            }
            self.0.initializers.push(tensor);
            name.into()
        }

        fn node(&mut self, operator: &str, inputs: &[&str], result: &str, attributes: Vec<Attribute>) {
            let inputs = inputs.iter().map(|&name| name.into()).collect();
            let node =
                Node { inputs, outputs: vec![result.into()], operator: operator.into(), attributes, ..Node::default() };
            self.0.nodes.push(node);
        }

        /// A convolution; with its batch norm or one that an exporter has folded.
        fn layer(&mut self, at: usize, [inputs, outputs]: [i64; 2], stride: i64, folded: bool) {
            let weights = self.tensor(&format!("w{at}"), &[outputs, inputs, 3, 3], 0.5);
            let (x, y) = (format!("x{at}"), format!("x{}", at + 1));
            let attributes = vec![attribute("strides", 0, &[stride; 2]), attribute("pads", 0, &[1; 4])];
            if folded {
                let bias = self.tensor(&format!("b{at}"), &[outputs], -0.75);
                self.node("Conv", &[&x, &weights, &bias], &y, attributes);
            } else {
                self.node("Conv", &[&x, &weights], &format!("c{at}"), attributes);
                let of = [("g", 2.0), ("s", 0.25), ("m", 1.0), ("v", 3.0)]
                    .map(|(name, value)| self.tensor(&format!("{name}{at}"), &[outputs], value));
                let epsilon = Attribute { name: "epsilon".into(), float: 1.0, ..Attribute::default() };
                let inputs = [&*format!("c{at}"), &of[0], &of[1], &of[2], &of[3]];
                self.node("BatchNormalization", &inputs, &y, vec![epsilon]);
            }
            self.node("Relu", &[&y], &y, Vec::new());
        }
    }

    /// Two stages of one block.
    fn graph(folded: bool) -> Graph {
        let mut writer = Writer(Graph::default());
        for (at, channels, stride) in [(0, [3, 2], 1), (1, [2, 2], 1), (2, [2, 2], 1), (3, [2, 4], 2), (4, [4, 4], 1)] {
            writer.layer(at, channels, stride, folded || at > 2);
        }
        writer.node("Add", &["x1", "x3"], "y", Vec::new());
        writer.node("Add", &["y", "x5"], "z", Vec::new());
        writer.node("GlobalAveragePool", &["z"], "m", Vec::new());
        let (weights, bias) = (writer.tensor("fw", &[5, 4], 1.0), writer.tensor("fb", &[5], -1.0));
        writer.node("Gemm", &["m", &weights, &bias], "scores", vec![attribute("transB", 1, &[])]);
        writer.0
    }

    fn read(graph: Graph) -> Result<Network, DataError> {
        let entry = |key: &str, value: &str| Entry { key: key.into(), value: value.into() };
        let metadata = vec![entry("input_mean", "0.1,0.2,0.3"), entry("input_std", "1,1,2")];
        parse(&Model { graph: Some(graph), metadata, ..Model::default() }.encode_to_vec(), Path::new("some.onnx"), 8)
    }

    #[test]
    fn a_graph_is_read_as_the_network_that_was_written() {
        let [folded, normed] = [true, false].map(|folded| read(graph(folded)).unwrap());
        assert_eq!(folded.architecture.widths, [2, 4]);
        assert_eq!((folded.architecture.blocks, folded.architecture.classes), (1, 5));
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
        for (a, b) in folded.convolutions.iter().zip(&normed.convolutions) {
            assert!(a.weights.iter().zip(&b.weights).chain(a.bias.iter().zip(&b.bias)).all(close), "{a:?} {b:?}");
        }
        assert!(close((&folded.normalization[2][1], &2.0)) && close((&folded.linear.bias[4], &-1.0)));
    }

    #[test]
    fn other_graphs_are_refused() {
        let refused = |change: &dyn Fn(&mut Graph)| {
            let mut all = graph(true);
            change(&mut all);
            read(all).unwrap_err().to_string()
        };
        assert!(refused(&|g| g.nodes[1].operator = "Sigmoid".into()).contains("the operator Sigmoid"));
        assert!(refused(&|g| drop(g.nodes.remove(1))).contains("5 convolutions, 4 activations, 2 sums"));
        assert!(refused(&|g| g.nodes[0].attributes[0].ints = vec![2, 2]).contains("stem"));
        assert!(refused(&|g| g.nodes[0].attributes[1].ints = vec![0; 4]).contains("padding"));
        assert!(refused(&|g| g.initializers[0].raw.truncate(215)).contains("53 numbers for w0 of [2, 3, 3, 3]"));
        assert!(refused(&|g| g.initializers[0].sides[0] = i64::MAX).contains("for w0"));
        assert!(refused(&|g| g.initializers[1].floats[0] = f32::NAN).contains("NaN in b0"));
        assert!(refused(&|g| g.initializers[0].kind = 10).contains("w0 of ONNX's type 10"));
        assert!(refused(&|g| drop(g.initializers.pop())).contains("\"fb\", is no constant"));
        assert!(refused(&|g| drop(g.nodes.pop())).contains("0 linear layers"));
        assert!(refused(&|g| g.nodes.clear()).contains("0 convolutions"));
        let path = Path::new("some.onnx");
        for bytes in [&b""[..], &[255; 64], b"{}"] {
            assert!(parse(bytes, path, 8).unwrap_err().to_string().contains("an ONNX file"));
        }
    }
}
