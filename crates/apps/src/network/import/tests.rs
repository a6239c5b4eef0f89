//! Graphs that are made here: what they compute, and what is refused.

use super::{ImportError, parse};
use crate::{
    network::{Network, skeleton::Operation},
    onnx::{Attribute, Graph, Model, Node, OperatorSet, Shape, Side, Tensor, TensorType, Type, ValueInfo},
};
use prost::Message as _;

/// A graph from an input `x` to an output `y`.
pub(super) struct Writer(pub(super) Graph, i64);

pub(super) fn ints(name: &str, ints: &[i64]) -> Attribute {
    Attribute { name: name.into(), ints: ints.to_vec(), ..Attribute::default() }
}

fn int(name: &str, int: i64) -> Attribute {
    Attribute { name: name.into(), int, ..Attribute::default() }
}

impl Writer {
    fn new(sides: &[i64]) -> Self {
        let side = |&value: &i64| Side { value: (value > 0).then_some(value), name: None };
        let shape = Some(Shape { sides: sides.iter().map(side).collect() });
        let kind = Some(Type { tensor: Some(TensorType { kind: 1, shape }) });
        let inputs = vec![ValueInfo { name: "x".into(), kind }];
        let outputs = vec![ValueInfo { name: "y".into(), kind: None }];
        Self(Graph { inputs, outputs, ..Graph::default() }, 17)
    }

    fn floats(mut self, name: &str, sides: &[i64], floats: &[f32]) -> Self {
        let tensor =
            Tensor { name: name.into(), sides: sides.into(), kind: 1, floats: floats.into(), ..Tensor::default() };
        self.0.initializers.push(tensor);
        self
    }

    fn whole(mut self, name: &str, integers: &[i64]) -> Self {
        let sides = vec![i64::try_from(integers.len()).unwrap()];
        let tensor = Tensor { name: name.into(), sides, kind: 7, integers: integers.into(), ..Tensor::default() };
        self.0.initializers.push(tensor);
        self
    }

    fn node(mut self, operator: &str, inputs: &[&str], output: &str, attributes: Vec<Attribute>) -> Self {
        let inputs = inputs.iter().map(|&name| name.into()).collect();
        let (name, outputs) = (format!("{operator}.{output}"), vec![output.into()]);
        self.0.nodes.push(Node { name, inputs, outputs, operator: operator.into(), attributes, ..Node::default() });
        self
    }

    fn read(self) -> Result<Network, ImportError> {
        let operator_sets = vec![OperatorSet { domain: String::new(), version: self.1 }];
        parse(&Model { graph: Some(self.0), operator_sets, ..Model::default() }.encode_to_vec(), "some.onnx")
    }

    fn refused(self) -> String {
        self.read().unwrap_err().to_string()
    }
}

fn outputs(network: &Network, x: &[f64]) -> Vec<f64> {
    network.outputs(&network.exact(x))
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6)
}

#[test]
fn chains_of_linear_operators_are_one_value() {
    let network = Writer::new(&[-1, 2, 3])
        .whole("minus", &[0, -1])
        .floats("half", &[], &[0.5])
        .floats("w", &[6, 2], &[1., 0., 2., 0., 3., 0., 0., 1., 0., 1., 0., 1.])
        .node("Transpose", &["x"], "t", vec![ints("perm", &[0, 2, 1])])
        .node("Reshape", &["t", "minus"], "r", vec![])
        .node("Mul", &["r", "half"], "m", vec![])
        .node("MatMul", &["m", "w"], "y", vec![])
        .read()
        .unwrap();
    assert_eq!(network.skeleton.values.len(), 2, "{:?}", network.skeleton.values);
    // The transpose of 1 2 3 / 4 5 6 is 1 4 2 5 3 6.
    let got = outputs(&network, &[1., 2., 3., 4., 5., 6.]);
    assert!(close(&got, &[0.5 * (1. + 8. + 6.), 0.5 * (5. + 3. + 6.)]), "{got:?}");
}

#[test]
fn functions_of_one_tensor_are_one_expression() {
    let gelu = Writer::new(&[1, 3])
        .floats("root", &[], &[std::f32::consts::SQRT_2])
        .floats("one", &[], &[1.0])
        .floats("half", &[], &[0.5])
        .node("Div", &["x", "root"], "a", vec![])
        .node("Erf", &["a"], "b", vec![])
        .node("Add", &["b", "one"], "c", vec![])
        .node("Mul", &["x", "c"], "d", vec![])
        .node("Mul", &["d", "half"], "y", vec![])
        .read()
        .unwrap();
    assert_eq!(gelu.skeleton.values.len(), 2);
    let got = outputs(&gelu, &[-1.0, 0.0, 2.0]);
    assert!(close(&got, &[-0.158_655_25, 0.0, 1.954_499_74]), "{got:?}");
    let square = Writer::new(&[1, 3]).node("Mul", &["x", "x"], "y", vec![]).read().unwrap();
    assert!(matches!(square.skeleton.values[1].operation, Operation::Product { of: [0, 0] }));
}

#[test]
fn maxima_and_softmax_are_made_of_others() {
    let pool = Writer::new(&[1, 1, 3, 4])
        .node(
            "MaxPool",
            &["x"],
            "y",
            vec![ints("kernel_shape", &[2, 2]), ints("strides", &[1, 2]), ints("pads", &[0, 1, 1, 1])],
        )
        .read()
        .unwrap();
    let x = [1., 9., 2., 3., 4., -5., 6., 7., -8., 8., -1., 0.];
    let got = outputs(&pool, &x);
    assert!(close(&got, &[4., 9., 7., 4., 8., 7., -8., 8., 0.]), "{got:?}");
    let softmax = Writer::new(&[1, 3]).node("Softmax", &["x"], "y", vec![]).read().unwrap();
    let got = outputs(&softmax, &[0.0, 1.0, 2.0]);
    assert!(close(&got, &[0.090_030_57, 0.244_728_47, 0.665_240_96]), "{got:?}");
    let norm = Writer::new(&[1, 4])
        .floats("scale", &[4], &[1., 2., 1., 1.])
        .node("LayerNormalization", &["x", "scale"], "y", vec![])
        .read()
        .unwrap();
    let got = outputs(&norm, &[1.0, 2.0, 3.0, 4.0]);
    assert!(close(&got, &[-1.341_635_42, -0.894_423_61, 0.447_211_81, 1.341_635_42]), "{got:?}");
}

#[test]
fn shapes_are_computed_and_constants_folded() {
    let network = Writer::new(&[1, 2, 2, 2])
        .whole("zero", &[0])
        .whole("rest", &[-1])
        .node("Shape", &["x"], "s", vec![])
        .node("Gather", &["s", "zero"], "n", vec![int("axis", 0)])
        .node("Concat", &["n", "rest"], "to", vec![int("axis", 0)])
        .node("Reshape", &["x", "to"], "y", vec![])
        .read()
        .unwrap();
    assert_eq!(network.skeleton.values[network.skeleton.outputs[0]].shape, [1, 8]);
    let sliced = Writer::new(&[1, 6])
        .whole("from", &[1])
        .whole("to", &[i64::MAX])
        .whole("axis", &[1])
        .whole("step", &[2])
        .node("Slice", &["x", "from", "to", "axis", "step"], "a", vec![])
        .node("Concat", &["a", "a"], "y", vec![int("axis", 1)])
        .read()
        .unwrap();
    assert!(close(&outputs(&sliced, &[0., 1., 2., 3., 4., 5.]), &[1., 3., 5., 1., 3., 5.]));
}

#[test]
fn what_cannot_be_run_is_refused_by_its_layer() {
    let text = Writer::new(&[1, 3]).node("Sign", &["x"], "y", vec![]).refused();
    assert!(text.contains("layer Sign.y (Sign)") && text.contains("jumps"), "{text}");
    let text = Writer::new(&[1, 3]).node("Einsum", &["x"], "y", vec![]).refused();
    assert!(text.contains("(Einsum): an operator that is not known; wanted"), "{text}");
    assert!(
        Writer::new(&[1, -1])
            .node("Relu", &["x"], "y", vec![])
            .refused()
            .contains("layer x (Input): a dynamic shape, 1×?")
    );
    let nan = Writer::new(&[1, 1]).floats("w", &[1, 1], &[f32::NAN]).node("MatMul", &["x", "w"], "y", vec![]);
    assert!(nan.refused().contains("NaN in w"));
    let both = Writer::new(&[2, 2]).node("Relu", &["x"], "a", vec![]).node("MatMul", &["x", "a"], "y", vec![]);
    assert!(both.refused().contains("product of two encrypted tensors"));
    assert!(Writer::new(&[1, 3]).node("ArgMax", &["x"], "y", vec![]).refused().contains("after decryption"));
    let huge = Writer::new(&[1, 3]).whole("s", &[1 << 40, 3]).node("Expand", &["x", "s"], "y", vec![]);
    assert!(huge.refused().contains("2^24"));
    let conv = Writer::new(&[1, 1, 2, 2]).floats("k", &[1, 1, 3, 3], &[0.0; 9]).node("Conv", &["x", "k"], "y", vec![]);
    assert!(conv.refused().contains("a kernel larger than its image"));
    let old = Writer(Writer::new(&[1, 3]).node("Relu", &["x"], "y", vec![]).0, 12).refused();
    assert!(old.contains("operators of version 12; wanted version 13"), "{old}");
    assert!(Writer::new(&[1, 3]).node("Relu", &["z"], "y", vec![]).refused().contains("which nothing before makes"));
    assert!(Writer::new(&[1, 3]).refused().contains("no node makes it"));
    let constant = Writer::new(&[1, 3]).floats("c", &[3], &[1.0; 3]).node("Relu", &["c"], "y", vec![]);
    assert!(constant.refused().contains("a constant in the place of data"));
}

#[test]
fn hostile_bytes_are_refused() {
    let good = Writer::new(&[1, 3]).node("Relu", &["x"], "y", vec![]);
    let operator_sets = vec![OperatorSet { domain: String::new(), version: 17 }];
    let bytes = Model { graph: Some(good.0), operator_sets, ..Model::default() }.encode_to_vec();
    assert!(parse(&bytes, "a").is_ok());
    for at in 0..bytes.len() {
        for value in [0, 0x7f, 0xff, bytes[at] ^ 1] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let _ = parse(&changed, "a");
        }
        let _ = parse(&bytes[..at], "a");
    }
    for bytes in [&b""[..], &[255; 64], b"{}"] {
        assert!(parse(bytes, "a").is_err());
    }
}
