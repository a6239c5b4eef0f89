//! Operators that work value by value.

use super::{
    Taken,
    builder::{Builder, Form, Tensor, joined_shape},
    composed::axis,
    operators::{Attributes, needed},
    refuse, shapes,
};
use crate::network::function::{Expression, Joined, Named};

/// The function of an operator of one input; `None` for none.
pub(super) fn named(operator: &str, attributes: Attributes<'_>, _version: i64) -> Option<Taken<Expression>> {
    let x = || Expression::X;
    let alpha = |default| attributes.float("alpha", default);
    Some(Ok(match operator {
        "Relu" => x().of(Named::Relu),
        "Sigmoid" => x().of(Named::Sigmoid),
        "Tanh" => x().of(Named::Tanh),
        "Exp" => x().of(Named::Exp),
        "Log" => x().of(Named::Log),
        "Sqrt" => x().of(Named::Sqrt),
        "Abs" => x().of(Named::Abs),
        "Erf" => x().of(Named::Erf),
        "Softplus" => x().of(Named::Softplus),
        "Softsign" => x().of(Named::Softsign),
        "Reciprocal" => x().of(Named::Reciprocal),
        "Sin" => x().of(Named::Sin),
        "Cos" => x().of(Named::Cos),
        "Neg" => x().by(Joined::Mul, -1.0),
        "LeakyRelu" => leaky(alpha(0.01)),
        "Elu" => elu(alpha(1.0)),
        "Celu" => sided(x(), below(alpha(1.0)).by(Joined::Mul, alpha(1.0))),
        "Selu" => {
            let (alpha, gamma) = (alpha(1.673_263_192_176_818_8), attributes.float("gamma", 1.050_701_022_148_132_3));
            sided(x(), below(1.0).by(Joined::Mul, alpha)).by(Joined::Mul, gamma)
        }
        "HardSigmoid" => hard_sigmoid(alpha(0.2), attributes.float("beta", 0.5)),
        "HardSwish" => {
            let gate = x().by(Joined::Mul, 1.0 / 6.0).by(Joined::Add, 0.5);
            clamped(gate, 0.0, 1.0).with(Joined::Mul, x())
        }
        "Mish" => x().of(Named::Softplus).of(Named::Tanh).with(Joined::Mul, x()),
        "Swish" => x().by(Joined::Mul, alpha(1.0)).of(Named::Sigmoid).with(Joined::Mul, x()),
        "Gelu" => match attributes.text("approximate") {
            "tanh" => {
                let cube = x().by(Joined::Pow, 3.0).by(Joined::Mul, 0.044_715).with(Joined::Add, x());
                half_gate(cube.by(Joined::Mul, (2.0 / std::f64::consts::PI).sqrt()).of(Named::Tanh))
            }
            _ => half_gate(x().by(Joined::Mul, std::f64::consts::FRAC_1_SQRT_2).of(Named::Erf)),
        },
        "Sign" | "Floor" | "Ceil" | "Round" | "ThresholdedRelu" | "Hardmax" => {
            return Some(refuse("a function that jumps", "a continuous one: polynomials approximate it badly"));
        }
        _ => return None,
    }))
}

/// `max(x, 0)` of one expression and `min(x, 0)` of another, which is 0 at 0.
fn sided(above: Expression, below: Expression) -> Expression {
    let negative = below.after(&Expression::X.by(Joined::Min, 0.0));
    above.after(&Expression::X.by(Joined::Max, 0.0)).with(Joined::Add, negative)
}

/// `exp(x/alpha) − 1`.
fn below(alpha: f64) -> Expression {
    Expression::X.by(Joined::Div, alpha).of(Named::Exp).by(Joined::Add, -1.0)
}

/// `x` above zero, `alpha·x` below.
pub(super) fn leaky(alpha: f64) -> Expression {
    sided(Expression::X, Expression::X.by(Joined::Mul, alpha))
}

/// `x` above zero, `alpha·(exp(x) − 1)` below.
pub(super) fn elu(alpha: f64) -> Expression {
    sided(Expression::X, below(1.0).by(Joined::Mul, alpha))
}

/// `alpha·x + beta`, between 0 and 1.
pub(super) fn hard_sigmoid(alpha: f64, beta: f64) -> Expression {
    clamped(Expression::X.by(Joined::Mul, alpha).by(Joined::Add, beta), 0.0, 1.0)
}

pub(super) fn clamped(expression: Expression, from: f64, to: f64) -> Expression {
    expression.by(Joined::Max, from).by(Joined::Min, to)
}

/// `x/2·(1 + gate)`.
fn half_gate(gate: Expression) -> Expression {
    gate.by(Joined::Add, 1.0).by(Joined::Mul, 0.5).with(Joined::Mul, Expression::X)
}

/// A function of a tensor, number by number.
pub(super) fn function(b: &mut Builder, tensor: &Tensor, outer: &Expression) -> Taken<Tensor> {
    if let Some(numbers) = tensor.numbers() {
        return finite(tensor.shape.clone(), numbers.iter().map(|&x| outer.evaluate(x)).collect());
    }
    let (of, inner) = b.function(tensor)?;
    let expression = outer.after(&inner);
    Ok(Tensor::new(tensor.shape.clone(), Form::Function { of, expression }))
}

/// What jumps, of constants; `None` for other operators, and where something is encrypted.
pub(super) fn known(b: &mut Builder, operator: &str, inputs: &[Option<Tensor>]) -> Option<Taken<Tensor>> {
    let one = |f: fn(f64) -> f64| {
        let x = inputs.first()?.as_ref()?;
        Some(finite(x.shape.clone(), x.numbers()?.iter().map(|&x| f(x)).collect()))
    };
    let truth = |is: bool| f64::from(u8::from(is));
    match operator {
        "Ceil" => one(f64::ceil),
        "Floor" => one(f64::floor),
        "Round" => one(f64::round_ties_even),
        "Sign" => one(|x| if x == 0.0 { 0.0 } else { x.signum() }),
        "Equal" => {
            let [left, right] = [inputs.first()?.as_ref()?, inputs.get(1)?.as_ref()?];
            left.numbers().and(right.numbers())?;
            let mut equal = || {
                let shape = joined_shape(&left.shape, &right.shape)?;
                let (left, right) = (b.broadcast(left, &shape)?, b.broadcast(right, &shape)?);
                let both = left.numbers().into_iter().flatten().zip(right.numbers().into_iter().flatten());
                Ok(Tensor::constant(shape, both.map(|(a, b)| truth((a - b).abs() < f64::MIN_POSITIVE)).collect()))
            };
            Some(equal())
        }
        _ => None,
    }
}

fn finite(shape: Vec<usize>, numbers: Vec<f64>) -> Taken<Tensor> {
    match numbers.iter().find(|x| !x.is_finite()) {
        Some(x) => refuse(format!("{x} among constants"), "finite numbers"),
        None => Ok(Tensor::constant(shape, numbers)),
    }
}

/// Two tensors, number by number, the smaller one repeated.
pub(super) fn joined(b: &mut Builder, how: Joined, left: &Tensor, right: &Tensor) -> Taken<Tensor> {
    let shape = joined_shape(&left.shape, &right.shape)?;
    match (left.numbers(), right.numbers(), left.number(), right.number()) {
        (Some(_), Some(_), ..) => {
            let (left, right) = (b.broadcast(left, &shape)?, b.broadcast(right, &shape)?);
            let pairs = left.numbers().into_iter().flatten().zip(right.numbers().into_iter().flatten());
            let evaluated = |(&a, &c): (&f64, &f64)| Expression::X.by(how, c).evaluate(a);
            finite(shape, pairs.map(evaluated).collect())
        }
        (None, _, _, Some(number)) => {
            let left = b.broadcast(left, &shape)?;
            by_number(b, how, &left, number)
        }
        (_, None, Some(number), _) => {
            let right = b.broadcast(right, &shape)?;
            match how {
                Joined::Add | Joined::Mul | Joined::Max | Joined::Min => by_number(b, how, &right, number),
                _ => function(b, &right, &Expression::Number(number).with(how, Expression::X)),
            }
        }
        _ => {
            let (left, right) = (b.broadcast(left, &shape)?, b.broadcast(right, &shape)?);
            of_tensors(b, how, &left, &right)
        }
    }
}

/// A tensor and a public number. A sum that waits for its layer stays one.
fn by_number(b: &mut Builder, how: Joined, tensor: &Tensor, number: f64) -> Taken<Tensor> {
    let waits = matches!(tensor.form, Form::Sum { .. });
    match how {
        Joined::Mul if waits => b.times(tensor, number),
        Joined::Div if waits => b.times(tensor, 1.0 / number),
        Joined::Add if waits => {
            let constant = Tensor::constant(tensor.shape.clone(), vec![number; tensor.size()]);
            b.added(tensor, &constant)
        }
        _ => function(b, tensor, &Expression::X.by(how, number)),
    }
}

/// Two tensors of one shape, of which one at least is encrypted and the other no single number.
fn of_tensors(b: &mut Builder, how: Joined, left: &Tensor, right: &Tensor) -> Taken<Tensor> {
    if let (Form::Function { of: a, expression: f }, Form::Function { of: c, expression: g }) =
        (&left.form, &right.form)
        && a == c
        && f.size() + g.size() < 60
        && (how != Joined::Pow)
    {
        let expression = f.clone().with(how, g.clone());
        return Ok(Tensor::new(left.shape.clone(), Form::Function { of: *a, expression }));
    }
    match how {
        Joined::Add => b.added(left, right),
        Joined::Mul => match (left.numbers().cloned(), right.numbers().cloned()) {
            (None, Some(weights)) => b.scaled(left, weights, &right.shape),
            (Some(weights), None) => b.scaled(right, weights, &left.shape),
            _ => b.multiplied(left, right),
        },
        Joined::Div => {
            let inverse = function(b, right, &Expression::X.of(Named::Reciprocal))?;
            of_tensors(b, Joined::Mul, left, &inverse)
        }
        Joined::Max => {
            let more = positive_difference(b, left, right)?;
            b.added(right, &more)
        }
        Joined::Min => {
            let less = positive_difference(b, left, right)?;
            let less = b.negated(&less)?;
            b.added(left, &less)
        }
        Joined::Pow => powers(b, left, right),
    }
}

/// Exponents of one operator that differ.
const MOST_EXPONENTS: usize = 64;

/// Each number to an exponent of its own: those with one exponent are a value.
fn powers(b: &mut Builder, x: &Tensor, exponents: &Tensor) -> Taken<Tensor> {
    let (None, Some(numbers)) = (x.numbers(), exponents.numbers()) else {
        return refuse("exponents that are encrypted", "constant exponents");
    };
    let mut groups: Vec<(f64, Vec<usize>)> = Vec::new();
    for (at, &exponent) in numbers.iter().enumerate() {
        match groups.iter_mut().find(|(other, _)| other.to_bits() == exponent.to_bits()) {
            Some((_, places)) => places.push(at),
            None => groups.push((exponent, vec![at])),
        }
        if groups.len() > MOST_EXPONENTS {
            return refuse(format!("more than {MOST_EXPONENTS} different exponents"), "fewer, or one public number");
        }
    }
    let layer = b.layer.clone();
    let flat = b.shared(x.reshaped(vec![x.size()]))?;
    let (mut parts, mut back) = (Vec::new(), vec![0; x.size()]);
    let mut first = 0;
    for (exponent, places) in groups {
        places.iter().zip(first..).for_each(|(&place, at)| back[place] = at);
        first += places.len();
        let own = shapes::picked(b, &flat, 0, places)?;
        b.layer = format!("{layer} (to the power of {exponent})");
        let power = function(b, &own, &Expression::X.by(Joined::Pow, exponent))?;
        parts.push(b.shared(power)?);
    }
    b.layer = layer;
    let joined = shapes::beside(b, &parts.iter().collect::<Vec<_>>(), 0)?;
    Ok(shapes::picked(b, &joined, 0, back)?.reshaped(x.shape.clone()))
}

/// `max(left − right, 0)`.
fn positive_difference(b: &mut Builder, left: &Tensor, right: &Tensor) -> Taken<Tensor> {
    let difference = subtracted(b, left, right)?;
    function(b, &difference, &Expression::X.of(Named::Relu))
}

pub(super) fn subtracted(b: &mut Builder, left: &Tensor, right: &Tensor) -> Taken<Tensor> {
    let negated = function_or_times(b, right)?;
    joined(b, Joined::Add, left, &negated)
}

/// The tensor times −1.
fn function_or_times(b: &mut Builder, tensor: &Tensor) -> Taken<Tensor> {
    match tensor.numbers() {
        Some(numbers) => Ok(Tensor::constant(tensor.shape.clone(), numbers.iter().map(|x| -x).collect())),
        None => b.negated(tensor),
    }
}

/// `(x − zero)·scale` of constants, with numbers for all or for each place along an axis.
pub(super) fn dequantized(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let (x, scale) = (needed(inputs, 0)?, needed(inputs, 1)?);
    if x.numbers().is_none() {
        return refuse("integers that are encrypted", "weights: encrypted numbers are reals, and need no scale");
    }
    let sides = x.shape.len();
    let along = |numbers: &Tensor| match numbers.size() {
        1 => Ok(numbers.reshaped(vec![])),
        count => {
            let at = axis(attributes.int("axis", 1), sides)?;
            if attributes.int("block_size", 0) != 0 || count != x.shape[at] {
                return refuse(
                    format!("scales of {:?} for {:?}", numbers.shape, x.shape),
                    "one, or one a place of an axis",
                );
            }
            Ok(numbers.reshaped([vec![count], vec![1; sides - at - 1]].concat()))
        }
    };
    let shifted = match inputs.get(2).and_then(Option::as_ref) {
        Some(zero) => subtracted(b, x, &along(zero)?)?,
        None => x.clone(),
    };
    joined(b, Joined::Mul, &shifted, &along(scale)?)
}

pub(super) fn folded(b: &mut Builder, how: Joined, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let mut all = needed(inputs, 0)?.clone();
    for at in 1..inputs.len() {
        all = joined(b, how, &all, needed(inputs, at)?)?;
    }
    Ok(all)
}

/// The larger of two tensors.
pub(super) fn larger(b: &mut Builder, left: &Tensor, right: &Tensor) -> Taken<Tensor> {
    of_tensors(b, Joined::Max, left, right)
}

/// `max(x, 0) + slope·min(x, 0)`, a public slope or one for each channel.
pub(super) fn parametric_relu(b: &mut Builder, x: &Tensor, slope: &Tensor) -> Taken<Tensor> {
    let Some(numbers) = slope.numbers() else { return refuse("slopes that are no constants", "constant ones") };
    if let &[alpha] = &numbers[..] {
        return function(b, x, &sided(Expression::X, Expression::X.by(Joined::Mul, alpha)));
    }
    // Older converters write a slope for each channel without the sides of one behind it.
    let channels = x.shape.get(1).copied().unwrap_or(0);
    let sides = [&[numbers.len()], &vec![1; x.shape.len().saturating_sub(2)][..]].concat();
    let by_channel = slope.shape == [channels] && x.shape.last() != Some(&channels);
    let slope = if by_channel { slope.reshaped(sides) } else { slope.clone() };
    let shape = joined_shape(&x.shape, &slope.shape)?;
    if shape != x.shape {
        return refuse(format!("slopes of {:?} for {:?}", slope.shape, x.shape), "slopes that repeat to the data");
    }
    let x = b.shared(x.clone())?;
    let relu = function(b, &x, &Expression::X.of(Named::Relu))?;
    let slopes = b.scaled(&x, numbers.clone(), &slope.shape)?;
    let rest = b.scaled(&relu, numbers.iter().map(|a| 1.0 - a).collect(), &slope.shape)?;
    b.added(&slopes, &rest)
}

pub(super) fn clipped(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let bound = |at: usize, name: &str| match inputs.get(at) {
        Some(Some(tensor)) => match tensor.number() {
            Some(number) => Ok(Some(number)),
            None => refuse("a bound that is not one constant", "a number"),
        },
        _ => Ok(attributes.0.attribute(name).map(|a| f64::from(a.float))),
    };
    let (least, most) = (bound(1, "min")?, bound(2, "max")?);
    let mut expression = Expression::X;
    if let Some(least) = least.filter(|x| *x > -1e30) {
        expression = expression.by(Joined::Max, least);
    }
    if let Some(most) = most.filter(|x| *x < 1e30) {
        expression = expression.by(Joined::Min, most);
    }
    function(b, needed(inputs, 0)?, &expression)
}
