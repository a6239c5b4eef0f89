//! The list of operators.

use super::{
    Taken, attention,
    builder::{Builder, Tensor},
    choices, composed, images, pointwise, products, recurrent, refuse, shapes, softmax, windows,
};
use crate::{
    network::function::{Expression::X, Joined, Named},
    onnx,
};

/// The attributes of a node.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'n>(pub(super) &'n onnx::Node);

impl<'n> Attributes<'n> {
    /// Refuses numbers that are not finite, but those of a constant.
    fn check(self) -> Taken<()> {
        if self.0.operator == "Constant" {
            return Ok(());
        }
        let is_finite = |a: &onnx::Attribute| a.float.is_finite() && a.floats.iter().all(|x| x.is_finite());
        match self.0.attributes.iter().find(|a| !is_finite(a)) {
            Some(a) => refuse(format!("{} is not finite", a.name), "finite numbers"),
            None => Ok(()),
        }
    }

    pub(super) fn int(self, name: &str, default: i64) -> i64 {
        self.0.attribute(name).map_or(default, |a| a.int)
    }

    pub(super) fn float(self, name: &str, default: f64) -> f64 {
        self.0.attribute(name).map_or(default, |a| f64::from(a.float))
    }

    pub(super) fn text(self, name: &str) -> &'n str {
        self.0.attribute(name).and_then(|a| std::str::from_utf8(&a.text).ok()).unwrap_or("")
    }

    /// A list of names.
    pub(super) fn texts(self, name: &str) -> Option<Vec<String>> {
        let list = self.0.attribute(name)?;
        Some(list.strings.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect())
    }

    pub(super) fn floats(self, name: &str) -> &'n [f32] {
        self.0.attribute(name).map_or(&[], |a| &a.floats[..])
    }

    pub(super) fn ints(self, name: &str) -> Option<&'n [i64]> {
        self.0.attribute(name).map(|a| &a.ints[..])
    }

    /// Numbers that are not negative.
    pub(super) fn sizes(self, name: &str) -> Taken<Option<Vec<usize>>> {
        let Some(ints) = self.ints(name) else { return Ok(None) };
        match ints.iter().map(|&x| usize::try_from(x).ok()).collect() {
            Some(sizes) => Ok(Some(sizes)),
            None => refuse(format!("{name} of {ints:?}"), "no negative numbers"),
        }
    }
}

/// A node's input that must be there.
pub(super) fn needed(inputs: &[Option<Tensor>], at: usize) -> Taken<&Tensor> {
    match inputs.get(at) {
        Some(Some(tensor)) => Ok(tensor),
        _ => refuse(format!("no input {at}"), "one"),
    }
}

/// The whole numbers of a constant input.
pub(super) fn integers(inputs: &[Option<Tensor>], at: usize) -> Taken<Option<Vec<i64>>> {
    let Some(Some(tensor)) = inputs.get(at) else { return Ok(None) };
    let whole = |x: &f64| {
        #[expect(clippy::cast_possible_truncation, reason = "bounded one line before")]
        (x.fract() == 0.0 && x.abs() <= 9e15).then_some(*x as i64)
    };
    // "As far as it goes" is the largest integer of 64 bits.
    let clamped = |x: &f64| whole(&x.clamp(-9e15, 9e15));
    match tensor.numbers().map(|numbers| numbers.iter().map(clamped).collect::<Option<Vec<_>>>()) {
        Some(Some(numbers)) => Ok(Some(numbers)),
        _ => refuse(format!("input {at}, which is no constant of integers"), "shapes that are known before"),
    }
}

const KNOWN: &str = "one of the operators of docs/guide/networks.md, or a network that is cut before it";

/// What a node makes of its inputs.
pub(super) fn apply(b: &mut Builder, node: &onnx::Node, inputs: &[Option<Tensor>], version: i64) -> Taken<Vec<Tensor>> {
    let attributes = Attributes(node);
    attributes.check()?;
    if !["", "ai.onnx"].contains(&&*node.domain) {
        return refuse(format!("an operator of {}", node.domain), KNOWN);
    }
    if b.whole && ["Div", "ReduceMean", "Mean", "AveragePool", "GlobalAveragePool"].contains(&&*node.operator) {
        return refuse("quotients of integers, which are rounded", "a Cast to floats before it");
    }
    let x = || needed(inputs, 0);
    let one = match &*node.operator {
        "Conv" => windows::convolution(b, attributes, inputs)?,
        "Gemm" => windows::gemm(b, attributes, inputs)?,
        "Einsum" => products::einsum(b, attributes, inputs)?,
        "MatMul" => windows::matmul(b, x()?, needed(inputs, 1)?)?,
        "BatchNormalization" => windows::batch_norm(b, attributes, inputs)?,
        "AveragePool" => windows::average_pool(b, attributes, x()?)?,
        "GlobalAveragePool" => shapes::global_mean(b, x()?)?,
        "MaxPool" => return composed::max_pool(b, attributes, x()?),
        "ArgMax" => composed::arg_max(b, attributes, x()?)?,
        "ArgMin" => {
            let negated = b.negated(x()?)?;
            composed::arg_max(b, attributes, &negated)?
        }
        "GlobalMaxPool" => composed::global_max(b, x()?)?,
        "ReduceMax" => composed::greatest_along(b, attributes, inputs)?,
        "ReduceMin" => {
            let negated = [&[Some(b.negated(x()?)?)], inputs.get(1..).unwrap_or(&[])].concat();
            let most = composed::greatest_along(b, attributes, &negated)?;
            b.negated(&most)?
        }
        "Softmax" => softmax::softmax(b, attributes, x()?)?,
        "LogSoftmax" => softmax::log_softmax(b, attributes, x()?)?,
        "LayerNormalization" => return composed::layer_norm(b, attributes, inputs),
        "RMSNormalization" => composed::root_norm(b, attributes, inputs)?,
        "InstanceNormalization" => composed::instance_norm(b, attributes, inputs)?,
        "GroupNormalization" => composed::group_norm(b, attributes, inputs)?,
        "Add" => pointwise::joined(b, Joined::Add, x()?, needed(inputs, 1)?)?,
        "Mul" => pointwise::joined(b, Joined::Mul, x()?, needed(inputs, 1)?)?,
        "Div" => pointwise::joined(b, Joined::Div, x()?, needed(inputs, 1)?)?,
        "Pow" => pointwise::joined(b, Joined::Pow, x()?, needed(inputs, 1)?)?,
        "Sub" => pointwise::subtracted(b, x()?, needed(inputs, 1)?)?,
        "Sum" => pointwise::folded(b, Joined::Add, inputs)?,
        "Max" => pointwise::folded(b, Joined::Max, inputs)?,
        "Min" => pointwise::folded(b, Joined::Min, inputs)?,
        "Mean" => {
            let sum = pointwise::folded(b, Joined::Add, inputs)?;
            b.times(&sum, 1.0 / inputs.len().max(1) as f64)?
        }
        "PRelu" => pointwise::parametric_relu(b, x()?, needed(inputs, 1)?)?,
        "Clip" => pointwise::clipped(b, attributes, inputs)?,
        "Where" => choices::chosen(b, inputs)?,
        "Not" => choices::opposite(b, x()?)?,
        "And" => pointwise::joined(b, Joined::Mul, x()?, needed(inputs, 1)?)?,
        "Or" => choices::either(b, x()?, needed(inputs, 1)?)?,
        "Split" => return shapes::split(b, attributes, inputs),
        "Dropout" => return dropout(inputs),
        _ => return rest(b, node, inputs, version),
    };
    Ok(vec![one])
}

/// Nothing, and a mask of ones: in evaluation mode all are kept.
fn dropout(inputs: &[Option<Tensor>]) -> Taken<Vec<Tensor>> {
    let x = needed(inputs, 0)?;
    let number = |at: usize| inputs.get(at).and_then(Option::as_ref).and_then(Tensor::number);
    if number(2).is_some_and(|training| training != 0.0) && number(1) != Some(0.0) {
        return refuse("training mode", "a network in evaluation mode");
    }
    Ok(vec![x.clone(), Tensor::constant(x.shape.clone(), vec![1.0; x.size()])])
}

/// Numbers as those of another type: floats stay what they are, constants are rounded.
fn cast(b: &Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let to = attributes.int("to", 1);
    match x.numbers() {
        _ if onnx::FLOATS.contains(&to) => Ok(x.clone()),
        Some(numbers) if to == 9 => {
            Ok(Tensor::constant(x.shape.clone(), numbers.iter().map(|&x| f64::from(u8::from(x != 0.0))).collect()))
        }
        Some(numbers) => Ok(Tensor::constant(x.shape.clone(), numbers.iter().map(|x| x.trunc()).collect())),
        None if b.whole && to != 9 => Ok(x.clone()),
        None => refuse("a cast that rounds encrypted numbers", "floats throughout"),
    }
}

/// Operators that move values, layers over sequences, and functions of one number.
fn rest(b: &mut Builder, node: &onnx::Node, inputs: &[Option<Tensor>], version: i64) -> Taken<Vec<Tensor>> {
    let attributes = Attributes(node);
    let x = || needed(inputs, 0);
    let one = match &*node.operator {
        "Identity" | "CastLike" => x()?.clone(),
        "Cast" => cast(b, attributes, x()?)?,
        "Constant" => shapes::constant(node)?,
        "ConstantOfShape" => shapes::constant_of_shape(node, inputs)?,
        "Range" => shapes::range(inputs)?,
        "Shape" => shapes::shape_of(attributes, x()?),
        "Flatten" => shapes::flattened(attributes, x()?)?,
        "Reshape" => shapes::reshaped(attributes, inputs)?,
        "Squeeze" => shapes::squeezed(inputs)?,
        "Unsqueeze" => shapes::unsqueezed(inputs)?,
        "Transpose" => {
            let reversed: Vec<usize> = (0..x()?.shape.len()).rev().collect();
            let order = attributes.sizes("perm")?.unwrap_or(reversed);
            shapes::transposed(b, x()?, &order)?
        }
        "Expand" => shapes::expanded(b, inputs)?,
        "Tile" => shapes::tiled(b, inputs)?,
        "Pad" => shapes::padded(b, attributes, inputs)?,
        "Slice" => shapes::sliced(b, inputs)?,
        "Gather" => shapes::gathered(b, attributes, inputs)?,
        "Concat" => shapes::concatenated(b, attributes, inputs)?,
        "ReduceMean" => shapes::reduced(b, attributes, inputs, shapes::Reduction::Mean)?,
        "ReduceSum" => shapes::reduced(b, attributes, inputs, shapes::Reduction::Sum)?,
        "ReduceSumSquare" | "ReduceL2" | "ReduceL1" => {
            let function = if node.operator == "ReduceL1" { X.of(Named::Abs) } else { X.by(Joined::Pow, 2.0) };
            let made = pointwise::function(b, x()?, &function)?;
            let inputs = [&[Some(made)], inputs.get(1..).unwrap_or(&[])].concat();
            let sum = shapes::reduced(b, attributes, &inputs, shapes::Reduction::Sum)?;
            if node.operator == "ReduceL2" { pointwise::function(b, &sum, &X.of(Named::Sqrt))? } else { sum }
        }
        "CumSum" => shapes::running_sum(b, attributes, inputs)?,
        "Resize" => images::resized(b, attributes, inputs)?,
        "DepthToSpace" => images::depth_to_space(b, attributes, x()?)?,
        "SpaceToDepth" => images::space_to_depth(b, attributes, x()?)?,
        "ConvTranspose" => images::transposed_convolution(b, attributes, inputs)?,
        "TopK" => composed::topmost(b, attributes, inputs)?,
        "DequantizeLinear" => pointwise::dequantized(b, attributes, inputs)?,
        "Attention" => return attention::attention(b, attributes, inputs),
        "RNN" => return recurrent::recurrent(b, attributes, inputs, recurrent::Kind::Rnn),
        "GRU" => return recurrent::recurrent(b, attributes, inputs, recurrent::Kind::Gru),
        "LSTM" => return recurrent::recurrent(b, attributes, inputs, recurrent::Kind::Lstm),
        "Loop" | "If" | "Scan" => return refuse("a part that runs by its data", KNOWN),
        name if let Some(known) = pointwise::known(b, name, inputs) => known?,
        name => match (pointwise::named(name, attributes, version), choices::compared(b, name, inputs)) {
            (Some(expression), _) => pointwise::function(b, x()?, &expression?)?,
            (None, Some(compared)) => compared?,
            (None, None) => return refuse("an operator that is not known", KNOWN),
        },
    };
    Ok(vec![one])
}
