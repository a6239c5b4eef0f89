//! Graphs that are made here: what they compute, and what is refused.

use super::{ImportError, parse, parse_squared};
use crate::{
    network::{Network, layout::layouts, skeleton::Operation, steep::Squarings},
    onnx::{Attribute, Graph, Model, Node, OperatorSet, Shape, Side, Tensor, TensorType, Type, ValueInfo},
};
use prost::Message as _;

/// A graph from an input `x` to an output `y`.
pub(super) struct Writer(pub(super) Graph, i64);

pub(super) fn ints(name: &str, ints: &[i64]) -> Attribute {
    Attribute { name: name.into(), ints: ints.to_vec(), ..Attribute::default() }
}

pub(super) fn int(name: &str, int: i64) -> Attribute {
    Attribute { name: name.into(), int, ..Attribute::default() }
}

impl Writer {
    pub(super) fn new(sides: &[i64]) -> Self {
        let side = |&value: &i64| Side { value: (value > 0).then_some(value), name: None };
        let shape = Some(Shape { sides: sides.iter().map(side).collect() });
        let kind = Some(Type { tensor: Some(TensorType { kind: 1, shape }) });
        let inputs = vec![ValueInfo { name: "x".into(), kind }];
        let outputs = vec![ValueInfo { name: "y".into(), kind: None }];
        Self(Graph { inputs, outputs, ..Graph::default() }, 17)
    }

    pub(super) fn floats(mut self, name: &str, sides: &[i64], floats: &[f32]) -> Self {
        let tensor =
            Tensor { name: name.into(), sides: sides.into(), kind: 1, floats: floats.into(), ..Tensor::default() };
        self.0.initializers.push(tensor);
        self
    }

    pub(super) fn whole(mut self, name: &str, integers: &[i64]) -> Self {
        let sides = vec![i64::try_from(integers.len()).unwrap()];
        let tensor = Tensor { name: name.into(), sides, kind: 7, integers: integers.into(), ..Tensor::default() };
        self.0.initializers.push(tensor);
        self
    }

    pub(super) fn node(mut self, operator: &str, inputs: &[&str], output: &str, attributes: Vec<Attribute>) -> Self {
        let inputs = inputs.iter().map(|&name| name.into()).collect();
        let (name, outputs) = (format!("{operator}.{output}"), vec![output.into()]);
        self.0.nodes.push(Node { name, inputs, outputs, operator: operator.into(), attributes, ..Node::default() });
        self
    }

    pub(super) fn of_version(self, version: i64) -> Self {
        Self(self.0, version)
    }

    pub(super) fn read(self) -> Result<Network, ImportError> {
        self.squared(&Squarings::default())
    }

    pub(super) fn squared(self, squarings: &Squarings) -> Result<Network, ImportError> {
        let operator_sets = vec![OperatorSet { domain: String::new(), version: self.1 }];
        let model = Model { graph: Some(self.0), operator_sets, ..Model::default() };
        parse_squared(&model.encode_to_vec(), "some.onnx", squarings)
    }

    pub(super) fn refused(self) -> String {
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
fn windows_of_convolutions_lie_in_padding_alone_where_it_is_wide() {
    let conv = |pads: &[i64], sides: [i64; 2]| {
        let result = Writer::new(&[1, 1, 1, 3])
            .floats("w", &[1, 1, 1, 1], &[2.0])
            .floats("b", &[1], &[0.5])
            .whole("flat", &[1, sides[0] * sides[1]])
            .node("Conv", &["x", "w", "b"], "c", vec![ints("pads", pads)])
            .node("Reshape", &["c", "flat"], "y", vec![])
            .read();
        outputs(&result.unwrap(), &[1., 2., 3.])
    };
    assert!(close(&conv(&[0, 0, 0, 2], [1, 5]), &[2.5, 4.5, 6.5, 0.5, 0.5]));
    assert!(close(&conv(&[0, 2, 0, 0], [1, 5]), &[0.5, 0.5, 2.5, 4.5, 6.5]));
    assert!(close(&conv(&[0, 0, 2, 0], [3, 3])[3..], &[0.5; 6]));
    // A pool whose size is rounded up has no window of padding alone.
    let sizes = [ints("kernel_shape", &[1, 1]), ints("strides", &[1, 2]), int("ceil_mode", 1)].to_vec();
    let pool = Writer::new(&[1, 1, 1, 4]).node("AveragePool", &["x"], "y", sizes).read().unwrap();
    assert!(close(&outputs(&pool, &[1., 2., 3., 4.]), &[1., 3.]));
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
    let text = Writer::new(&[1, 3]).node("Det", &["x"], "y", vec![]).refused();
    assert!(text.contains("(Det): an operator that is not known; wanted"), "{text}");
    assert!(
        Writer::new(&[1, -1])
            .node("Relu", &["x"], "y", vec![])
            .refused()
            .contains("layer x (Input): a dynamic shape, 1×?")
    );
    let nan = Writer::new(&[1, 1]).floats("w", &[1, 1], &[f32::NAN]).node("MatMul", &["x", "w"], "y", vec![]);
    assert!(nan.refused().contains("NaN in w"));
    let both = Writer::new(&[1, 4096, 4096]).node("Relu", &["x"], "a", vec![]).node("MatMul", &["x", "a"], "y", vec![]);
    assert!(both.refused().contains("a product of two encrypted matrices, 4096×4096 and 4096×4096"));
    let running = Writer::new(&[1, 2000]).whole("axis", &[1]).node("CumSum", &["x", "axis"], "y", vec![]);
    assert!(running.refused().contains("running sums of 2000 numbers"));
    let scales =
        Writer::new(&[1, 1, 4, 4]).floats("s", &[4], &[1., 1., 1e9, 2.]).node("Resize", &["x", "", "s"], "y", vec![]);
    assert!(scales.refused().contains("2^24"));
    let pads = Writer::new(&[1, 1, 4, 4]).floats("k", &[1, 1, 2, 2], &[1.0; 4]).node(
        "ConvTranspose",
        &["x", "k"],
        "y",
        vec![ints("pads", &[3, 0, 0, 0])],
    );
    assert!(pads.refused().contains("less than the kernel reaches"));
    assert!(Writer::new(&[1, 3]).node("TopK", &["x"], "y", vec![]).refused().contains("after decryption"));
    let many = Writer::new(&[1, 100]).node("ArgMax", &["x"], "y", vec![int("axis", 1)]).refused();
    assert!(many.contains("the greatest of 100 numbers") && many.contains("after decryption"), "{many}");
    let huge = Writer::new(&[1, 3]).whole("s", &[1 << 40, 3]).node("Expand", &["x", "s"], "y", vec![]);
    assert!(huge.refused().contains("2^24"));
    let conv = Writer::new(&[1, 1, 2, 2]).floats("k", &[1, 1, 3, 3], &[0.0; 9]).node("Conv", &["x", "k"], "y", vec![]);
    assert!(conv.refused().contains("a kernel larger than its image"));
    let old = Writer(Writer::new(&[1, 3]).node("Relu", &["x"], "y", vec![]).0, 12).refused();
    assert!(old.contains("operators of version 12; wanted version 13"), "{old}");
    assert!(Writer::new(&[1, 3]).node("Relu", &["z"], "y", vec![]).refused().contains("which nothing before makes"));
    assert!(Writer::new(&[1, 3]).refused().contains("no node makes it"));
    let constant = Writer::new(&[1, 3]).floats("c", &[3], &[-1., 0., 2.]).node("Relu", &["c"], "y", vec![]);
    // A result of zero is nearly so: it needs a row of its own.
    let got = outputs(&constant.read().unwrap(), &[9.0; 3]);
    assert!(got.iter().zip([0.0, 0.0, 2.0]).all(|(got, wanted)| (got - wanted).abs() < 1e-99), "{got:?}");
    let rounded = Writer::new(&[1, 3]).node("Cast", &["x"], "y", vec![int("to", 7)]).refused();
    assert!(rounded.contains("a cast that rounds"), "{rounded}");
}

#[test]
fn windows_have_one_to_three_sides() {
    let filter: Vec<f32> = (0..8).map(|i| i as f32 - 3.0).collect();
    let conv = Writer::new(&[1, 1, 3, 3, 2])
        .floats("k", &[1, 1, 2, 2, 2], &filter)
        .node("Conv", &["x", "k"], "y", vec![ints("pads", &[1, 0, 0, 0, 0, 0]), ints("strides", &[2, 1, 1])])
        .read()
        .unwrap();
    let x: Vec<f64> = (0..18).map(|i| f64::from(i * 5 % 7) - 2.0).collect();
    let got = outputs(&conv, &x);
    assert_eq!(conv.skeleton.values[1].shape, [1, 1, 2, 2, 1]);
    for (at, value) in got.iter().enumerate() {
        let (z, y) = (at / 2, at % 2);
        let mut sum = 0.0;
        for (tap, weight) in filter.iter().enumerate() {
            let (dz, dy, dx) = (tap / 4, tap / 2 % 2, tap % 2);
            if let Some(plane) = (2 * z + dz).checked_sub(1).filter(|&plane| plane < 3) {
                sum += f64::from(*weight) * x[(plane * 3 + y + dy) * 2 + dx];
            }
        }
        assert!((value - sum).abs() < 1e-9, "{at}: {value} {sum}");
    }
    // Dilated windows that reach outside take what they have inside.
    let kernel = || vec![ints("kernel_shape", &[2]), ints("dilations", &[2]), ints("pads", &[1, 1])];
    let pool = Writer::new(&[1, 1, 4]).node("MaxPool", &["x"], "y", kernel()).read().unwrap();
    assert_eq!(outputs(&pool, &[1., 9., 2., 3.]), [9., 2., 9., 2.]);
    let mean = Writer::new(&[1, 1, 4]).node("AveragePool", &["x"], "y", kernel()).read().unwrap();
    assert_eq!(outputs(&mean, &[1., 9., 2., 3.]), [9., 1.5, 6., 2.]);
}

#[test]
fn places_of_the_greatest_are_found() {
    let of = |x: &[f64], attributes| {
        let sides = [2, i64::try_from(x.len() / 2).unwrap()];
        outputs(&Writer::new(&sides).node("ArgMax", &["x"], "y", attributes).read().unwrap(), x)
    };
    let last = |which| vec![int("axis", 1), int("select_last_index", which)];
    let x = [3., 1., 3., -1., -5., -2., -1., -1.];
    assert_eq!(of(&x, last(0)), [0., 2.]);
    assert_eq!(of(&x, last(1)), [2., 3.]);
    assert_eq!(of(&x, vec![]), [0., 0., 0., 0.]);
}

#[test]
fn choices_by_one_tensor_are_one_function() {
    // As PyTorch writes Softplus: the exponential may overflow where it is not chosen.
    let softplus = Writer::new(&[1, 4])
        .floats("most", &[], &[20.0])
        .floats("one", &[], &[1.0])
        .node("Greater", &["x", "most"], "high", vec![])
        .node("Exp", &["x"], "e", vec![])
        .node("Add", &["e", "one"], "more", vec![])
        .node("Log", &["more"], "soft", vec![])
        .node("Where", &["high", "x", "soft"], "y", vec![])
        .read()
        .unwrap();
    assert_eq!(softplus.skeleton.values.len(), 2, "{:?}", softplus.skeleton.values);
    assert!(close(
        &outputs(&softplus, &[1000., 0., -2., 3.]),
        &[1000., std::f64::consts::LN_2, 0.126_928_01, 3.048_587_35]
    ));
    let leaky = Writer::new(&[1, 3])
        .floats("zero", &[], &[0.0])
        .floats("slope", &[], &[0.1])
        .node("LessOrEqual", &["x", "zero"], "low", vec![])
        .node("Not", &["low"], "high", vec![])
        .node("Mul", &["x", "slope"], "small", vec![])
        .node("Where", &["high", "x", "small"], "y", vec![])
        .read()
        .unwrap();
    assert_eq!(leaky.skeleton.values.len(), 2);
    assert!(close(&outputs(&leaky, &[-2., 0., 3.]), &[-0.2, 0., 3.]));
    // Two tensors, one of which chooses: a step of its own and a product.
    let apart = Writer::new(&[1, 2])
        .floats("limit", &[2], &[1.0, -1.0])
        .node("Less", &["x", "limit"], "low", vec![])
        .node("Exp", &["x"], "e", vec![])
        .node("Where", &["low", "e", "x"], "y", vec![])
        .read()
        .unwrap();
    assert!(close(&outputs(&apart, &[0., 5.]), &[1., 5.]));
    let known = Writer::new(&[1, 2])
        .whole("mask", &[0, 1])
        .floats("c", &[], &[7.0])
        .node("Where", &["mask", "x", "c"], "y", vec![])
        .read()
        .unwrap();
    assert!(close(&outputs(&known, &[3., 4.]), &[7., 4.]));
    let both = Writer::new(&[1, 3])
        .floats("a", &[], &[0.0])
        .floats("b", &[], &[1.0])
        .node("GreaterOrEqual", &["x", "a"], "from", vec![])
        .node("Greater", &["x", "b"], "past", vec![])
        .node("Not", &["past"], "to", vec![])
        .node("And", &["from", "to"], "in", vec![])
        .node("Or", &["in", "past"], "y", vec![])
        .read()
        .unwrap();
    assert!(close(&outputs(&both, &[-1., 0.5, 2.]), &[0., 1., 1.]));
}

#[test]
fn encrypted_matrices_are_multiplied() {
    // x·xᵀ for two samples of 2 × 3.
    let gram = Writer::new(&[2, 2, 3])
        .node("Transpose", &["x"], "t", vec![ints("perm", &[0, 2, 1])])
        .node("MatMul", &["x", "t"], "y", vec![])
        .read()
        .unwrap();
    let x = [1., 2., 3., 4., 5., 6., 1., 0., -1., 2., 1., 0.];
    assert!(close(&outputs(&gram, &x), &[14., 32., 32., 77., 2., 2., 2., 5.]));
    let attention = Writer::new(&[1, 2, 2])
        .floats("v", &[2, 2], &[1., 0., 0., 2.])
        .node("Transpose", &["x"], "t", vec![ints("perm", &[0, 2, 1])])
        .node("MatMul", &["x", "t"], "scores", vec![])
        .node("Softmax", &["scores"], "weights", vec![])
        .node("MatMul", &["x", "v"], "values", vec![])
        .node("MatMul", &["weights", "values"], "y", vec![])
        .read()
        .unwrap();
    let e = 1f64.exp();
    let got = outputs(&attention, &[1., 0., 0., 1.]);
    assert!(close(&got, &[e / (e + 1.), 2. / (e + 1.), 1. / (e + 1.), 2. * e / (e + 1.)]), "{got:?}");
}

#[test]
fn sums_of_products_go_by_letters() {
    let of = |sides: &[i64], text: &str, inputs: &[&str]| {
        let equation = Attribute { name: "equation".into(), text: text.into(), ..Attribute::default() };
        Writer::new(sides).floats("w", &[3, 2], &[1., 2., 3., 4., 5., 6.]).node("Einsum", inputs, "y", vec![equation])
    };
    let x = [1., 2., 3., 4., 5., 6.];
    let by_weights = of(&[1, 2, 3], "bij,jk->bki", &["x", "w"]).read().unwrap();
    assert_eq!(by_weights.skeleton.values.len(), 2, "a constant is a map");
    assert!(close(&outputs(&by_weights, &x), &[22., 49., 28., 64.]));
    let gram = of(&[2, 3], " ij, kj -> ik ", &["x", "x"]).read().unwrap();
    assert!(close(&outputs(&gram, &x), &[14., 32., 32., 77.]));
    let trace = of(&[3, 3], "ii", &["x"]).read().unwrap();
    assert!(close(&outputs(&trace, &[1., 0., 0., 0., 2., 0., 0., 0., 4.]), &[7.]));
    assert!(of(&[2, 3], "...j,jk->...k", &["x", "w"]).refused().contains("the equation ...j,jk->...k"));
    assert!(of(&[2, 3], "ij,kj->ik", &["x", "w"]).refused().contains("sides of 3 and 2 for j"));
    assert!(of(&[2, 3], "ij,jk->iz", &["x", "w"]).refused().contains("letters for the sides"));
}

#[test]
fn images_are_enlarged_and_turned() {
    let filter = [1., 2., 3., -1., 0.5, 4., 2., 0., 1.];
    let made = Writer::new(&[1, 1, 2, 3])
        .floats("k", &[1, 1, 3, 3], &filter)
        .node(
            "ConvTranspose",
            &["x", "k"],
            "y",
            vec![ints("strides", &[2, 1]), ints("pads", &[1, 0, 0, 1]), ints("output_padding", &[1, 0])],
        )
        .read()
        .unwrap();
    let x = [1., -2., 3., 0.5, 4., -1.];
    // Each pixel adds its filter where it stands.
    let (mut whole, rows, columns) = ([0.0; 36], 6, 6);
    for (at, pixel) in x.iter().enumerate() {
        for (tap, weight) in filter.iter().enumerate() {
            whole[(2 * (at / 3) + tap / 3) * columns + at % 3 + tap % 3] += pixel * f64::from(*weight);
        }
    }
    let wanted: Vec<f64> = (1..rows).flat_map(|y| (0..4).map(move |x| whole[y * columns + x])).collect();
    assert_eq!(made.skeleton.values.last().unwrap().shape, [1, 1, 5, 4]);
    assert!(close(&outputs(&made, &x), &wanted), "{:?} {wanted:?}", outputs(&made, &x));

    let text = |name: &str, text: &str| Attribute { name: name.into(), text: text.into(), ..Attribute::default() };
    let resized = |scale: f32, attributes| {
        let writer = Writer::new(&[1, 1, 1, 4]).floats("s", &[4], &[1., 1., 1., scale]);
        outputs(&writer.node("Resize", &["x", "", "s"], "y", attributes).read().unwrap(), &[1., 2., 3., 5.])
    };
    let floor = || vec![text("coordinate_transformation_mode", "asymmetric"), text("nearest_mode", "floor")];
    assert_eq!(resized(2.0, floor()), [1., 1., 2., 2., 3., 3., 5., 5.]);
    let linear = resized(2.0, vec![text("mode", "linear")]);
    assert!(close(&linear, &[1., 1.25, 1.75, 2.25, 2.75, 3.5, 4.5, 5.]), "{linear:?}");
    let corners = vec![text("mode", "linear"), text("coordinate_transformation_mode", "align_corners")];
    let linear = resized(1.75, corners);
    assert!(close(&linear, &[1., 1.5, 2., 2.5, 3., 4., 5.]), "{linear:?}");
    // A cubic through four pixels has their values at them.
    let cubic = resized(1.75, vec![text("mode", "cubic"), text("coordinate_transformation_mode", "align_corners")]);
    assert!(close(&[cubic[0], cubic[2], cubic[4], cubic[6]], &[1., 2., 3., 5.]), "{cubic:?}");

    let there = Writer::new(&[1, 4, 1, 2])
        .node("DepthToSpace", &["x"], "d", vec![int("blocksize", 2)])
        .node("SpaceToDepth", &["d"], "y", vec![int("blocksize", 2)])
        .read()
        .unwrap();
    let x: Vec<f64> = (0..8).map(f64::from).collect();
    assert!(close(&outputs(&there, &x), &x));
    let space = Writer::new(&[1, 4, 1, 2]).node("DepthToSpace", &["x"], "y", vec![int("blocksize", 2)]).read().unwrap();
    assert!(close(&outputs(&space, &x), &[0., 2., 1., 3., 4., 6., 5., 7.]));
}

#[test]
fn norms_sums_and_maxima_along_axes() {
    let norm = Writer::new(&[1, 2, 2])
        .floats("scale", &[2], &[1., 2.])
        .floats("shift", &[2], &[0., 1.])
        .node("InstanceNormalization", &["x", "scale", "shift"], "y", vec![])
        .read()
        .unwrap();
    let got = outputs(&norm, &[1., 3., 5., 1.]);
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4);
    assert!(near(&got, &[-1., 1., 3., -1.]), "{got:?}");
    let groups = Writer::new(&[1, 4, 1])
        .floats("scale", &[2], &[1., 2.])
        .floats("shift", &[4], &[0., 0., 0., 1.])
        .node("GroupNormalization", &["x", "scale", "shift"], "y", vec![int("num_groups", 2)])
        .read()
        .unwrap();
    let got = outputs(&groups, &[1., 3., 5., 1.]);
    assert!(near(&got, &[-1., 1., 2., -1.]), "{got:?}");
    let root = Writer::new(&[1, 2])
        .floats("scale", &[2], &[1., 2.])
        .node("RMSNormalization", &["x", "scale"], "y", vec![])
        .read()
        .unwrap();
    assert!(near(&outputs(&root, &[1., 7.]), &[0.2, 2.8]));
    let tiles = Writer::new(&[1, 2]).whole("times", &[2, 2]).node("Tile", &["x", "times"], "y", vec![]).read().unwrap();
    assert!(close(&outputs(&tiles, &[1., 2.]), &[1., 2., 1., 2., 1., 2., 1., 2.]));
    let slopes = Writer::new(&[1, 2, 2])
        .floats("slopes", &[2], &[0.5, 0.1])
        .node("PRelu", &["x", "slopes"], "y", vec![])
        .read()
        .unwrap();
    assert!(close(&outputs(&slopes, &[-1., 1., -1., -2.]), &[-0.5, 1., -0.5, -0.2]));
    let channels = Writer::new(&[1, 2, 3])
        .floats("slopes", &[2], &[0.5, 0.1])
        .node("PRelu", &["x", "slopes"], "y", vec![])
        .read()
        .unwrap();
    assert!(close(&outputs(&channels, &[-1., 1., -1., -2., 0., 1.]), &[-0.5, 1., -0.5, -0.2, 0., 1.]));
    let softmax = Writer::new(&[1, 3]).node("LogSoftmax", &["x"], "y", vec![]).read().unwrap();
    assert!(close(&outputs(&softmax, &[0., 1., 2.]), &[-2.407_605_96, -1.407_605_96, -0.407_605_96]));
    let sums = |attributes| {
        let writer = Writer::new(&[2, 3]).whole("axis", &[1]).node("CumSum", &["x", "axis"], "y", attributes);
        outputs(&writer.read().unwrap(), &[1., 2., 3., 4., 5., 6.])
    };
    assert!(close(&sums(vec![]), &[1., 3., 6., 4., 9., 15.]));
    assert!(close(&sums(vec![int("reverse", 1), int("exclusive", 1)]), &[5., 3., 0., 11., 6., 0.]));
    let along = |operator: &str, x: &[f64]| {
        let writer = Writer::new(&[1, 2, 3]).whole("axes", &[2]);
        outputs(&writer.node(operator, &["x", "axes"], "y", vec![int("keepdims", 0)]).read().unwrap(), x)
    };
    let x = [1., -2., 2., 0., -4., 3.];
    assert_eq!(along("ReduceMax", &x), [2., 3.]);
    assert_eq!(along("ReduceMin", &x), [-2., -4.]);
    let twice = Writer::new(&[1, 2, 3]).whole("axes", &[2, -1]).node("ReduceMax", &["x", "axes"], "y", vec![]);
    assert_eq!(outputs(&twice.read().unwrap(), &x), [2., 3.]);
    let many = Writer::new(&[1, 1 << 22]).whole("axes", &[1; 12]).node("ReduceMax", &["x", "axes"], "y", vec![]);
    assert!(many.refused().contains("the maximum of 4194304 numbers"));
    assert_eq!(along("ReduceL1", &x), [5., 7.]);
    assert_eq!(along("ReduceL2", &x), [3., 5.]);
}

#[test]
fn integers_are_numbers_until_they_are_rounded() {
    let whole = |writer: Writer| {
        let mut writer = writer;
        writer.0.inputs[0].kind.as_mut().unwrap().tensor.as_mut().unwrap().kind = 2;
        writer
    };
    let image = Writer::new(&[1, 4]).floats("scale", &[], &[255.0]).node("Cast", &["x"], "f", vec![int("to", 1)]).node(
        "Div",
        &["f", "scale"],
        "y",
        vec![],
    );
    let got = outputs(&whole(image).read().unwrap(), &[0., 51., 102., 255.]);
    assert!(close(&got, &[0.0, 0.2, 0.4, 1.0]), "{got:?}");
    let divided = Writer::new(&[1, 4]).whole("two", &[2]).node("Div", &["x", "two"], "y", vec![]);
    assert!(whole(divided).refused().contains("a Cast to floats"));
}

#[test]
fn weights_beside_the_model_are_read_and_nothing_else_is() {
    let folder = std::env::temp_dir().join(format!("limbwise-external-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("net.data"), [1f32, 2., 3., 4.].map(f32::to_le_bytes).concat()).unwrap();
    let model = |location: &str, offset: &str| {
        let mut writer = Writer::new(&[1, 2]).floats("w", &[2], &[]).node("Mul", &["x", "w"], "y", vec![]);
        let entry = |key: &str, value: &str| crate::onnx::Entry { key: key.into(), value: value.into() };
        let weights = &mut writer.0.initializers[0];
        weights.place = 1;
        weights.external = vec![entry("location", location), entry("offset", offset), entry("length", "8")];
        let operator_sets = vec![OperatorSet { domain: String::new(), version: 17 }];
        let bytes = Model { graph: Some(writer.0), operator_sets, ..Model::default() }.encode_to_vec();
        std::fs::write(folder.join("net.onnx"), &bytes).unwrap();
        assert!(parse(&bytes, "net.onnx").unwrap_err().to_string().contains("lie in another file"));
        super::load(&folder.join("net.onnx"))
    };
    let got = outputs(&model("net.data", "8").unwrap(), &[1., 10.]);
    assert_eq!(got, [3., 40.]);
    for (location, offset, wanted) in [
        ("../net.data", "0", "a file in the folder"),
        ("/etc/hostname", "0", "a file in the folder"),
        ("", "0", "a file in the folder"),
        ("net.data", "9", "bytes that are there"),
        ("net.data", "-1", "whole numbers"),
        ("none.data", "0", "none.data"),
    ] {
        let text = model(location, offset).unwrap_err().to_string();
        assert!(text.contains(wanted), "{text}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
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

/// A large convolution of a sum is one map of the sum, and what windows leave out is no gap.
#[test]
fn the_greatest_of_windows_lies_dense_and_is_one_value() {
    let weights: Vec<f32> = (0..64 * 64 * 9_u16).map(|i| f32::from(i % 13) - 6.0).collect();
    let pool = vec![ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2])];
    let network = Writer::new(&[1, 64, 32, 32])
        .floats("w", &[64, 64, 3, 3], &weights)
        .node("MaxPool", &["x"], "p", pool)
        .node("Conv", &["p", "w"], "y", vec![ints("pads", &[1, 1, 1, 1])])
        .read()
        .unwrap();
    let skeleton = &network.skeleton;
    let last = skeleton.values.last().unwrap();
    let Operation::Affine { terms, .. } = &last.operation else { panic!("a convolution") };
    assert_eq!((terms.len(), terms[0].chain.len()), (1, 1), "{:?}", last.operation);
    let Operation::Affine { terms, .. } = &skeleton.values[terms[0].of].operation else { panic!("a sum") };
    assert!(terms.len() > 1, "the greatest is a sum");
    let layouts = layouts(skeleton, &[], 1 << 15);
    let slots = |at: usize| layouts[at].period * layouts[at].count;
    assert_eq!((slots(0), slots(layouts.len() - 1)), (64 << 10, 64 << 8));
    assert!((0..layouts.len()).all(|at| slots(at) <= 2 * skeleton.values[at].size()));
}
