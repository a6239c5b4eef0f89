//! Operators that are made of others: maxima of windows, softmax, layer norm.

use super::{
    Taken,
    builder::{Builder, Form, Tensor},
    operators::{Attributes, needed},
    pointwise::{function, joined, larger, subtracted},
    refuse,
    windows::{kernel, shape_of, window},
};
use crate::network::{
    function::{Expression, Joined, Named},
    linear::{Axis, Linear, Window},
};

/// The larger of all of some tensors of one shape, pair by pair.
fn largest(b: &mut Builder, mut all: Vec<Tensor>) -> Taken<Tensor> {
    let layer = b.layer.clone();
    let mut round = 0;
    while all.len() > 1 {
        round += 1;
        let mut next = Vec::new();
        for pair in all.chunks(2) {
            b.layer = format!("{layer} (maximum {round}.{})", next.len() + 1);
            next.push(match pair {
                [left, right] => larger(b, left, right)?,
                rest => rest[0].clone(),
            });
        }
        all = next;
    }
    b.layer = layer;
    all.pop().map_or_else(|| refuse("a maximum of nothing", "one number at least"), Ok)
}

/// What one tap of every window reads; in the padding the nearest pixel, which the window has too.
fn tap(window: &Window, tap: [usize; 2]) -> Linear {
    let Window { channels: [channels, _], image, result, strides, pads, .. } = window;
    let mut axes = vec![Axis::whole(*channels, image[0] * image[1])];
    let mut offset = 0;
    for (at, step) in [image[1], 1].into_iter().enumerate() {
        // A place p reads the pixel p·stride + tap − pad.
        let first = tap[at].saturating_sub(pads[at]).min(image[at] - 1);
        let before = pads[at].saturating_sub(tap[at]);
        offset += first * step;
        axes.push(Axis { size: result[at], stride: strides[at], before, side: image[at] - first, step, nearest: true });
    }
    Linear::View { axes, offset, inputs: channels * image[0] * image[1] }
}

pub(super) fn max_pool(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let (kernel, channels) = (kernel(attributes, x)?, x.shape[1]);
    let window = window(attributes, x, kernel, ([channels; 2], channels))?;
    let padded = window.pads != [0, 0]
        || (0..2).any(|at| (window.result[at] - 1) * window.strides[at] + kernel[at] > window.image[at]);
    if window.dilations != [1, 1] || (padded && (0..2).any(|at| window.strides[at] > kernel[at])) {
        return refuse("a maximum of windows with gaps", "dilations of 1, and steps no longer than the kernel");
    }
    let inside = |at: usize| {
        let last = (window.result[at] - 1) * window.strides[at] + kernel[at];
        window.pads[at] < kernel[at] && last < window.image[at] + window.pads[at] + kernel[at]
    };
    if !inside(0) || !inside(1) {
        return refuse("windows that lie outside the image", "padding shorter than the kernel");
    }
    let (x, shape) = (b.shared(x.clone())?, shape_of(x, &window, channels));
    let taps = (0..kernel[0]).flat_map(|dy| (0..kernel[1]).map(move |dx| [dy, dx]));
    let all = taps.map(|at| b.linear(&x, tap(&window, at), shape.clone())).collect::<Taken<Vec<_>>>()?;
    largest(b, all)
}

pub(super) fn global_max(b: &mut Builder, x: &Tensor) -> Taken<Tensor> {
    let [n, c, ref sides @ ..] = x.shape[..] else { return refuse(format!("{:?}", x.shape), "channels with sides") };
    let count: usize = sides.iter().product();
    if count > 256 {
        return refuse(format!("the maximum of {count} pixels"), "at most 256, or a mean");
    }
    let (x, shape) = (b.shared(x.clone())?, [vec![n, c], vec![1; sides.len()]].concat());
    let pixel = |offset| Linear::View { axes: vec![Axis::whole(n * c, count)], offset, inputs: n * c * count };
    let all = (0..count).map(|at| b.linear(&x, pixel(at), shape.clone())).collect::<Taken<Vec<_>>>()?;
    largest(b, all)
}

/// Sums along axes, repeated to the shape again.
fn spread_sum(b: &mut Builder, x: &Tensor, summed: &[bool], factor: f64) -> Taken<Tensor> {
    let kept: Vec<usize> = x.shape.iter().zip(summed).map(|(&side, &gone)| if gone { 1 } else { side }).collect();
    let sum = b.linear(x, Linear::Sum { sides: x.shape.clone(), summed: summed.to_vec(), factor }, kept)?;
    b.broadcast(&sum, &x.shape)
}

/// An axis, which counts from the end if it is negative.
pub(super) fn axis(axis: i64, sides: usize) -> Taken<usize> {
    let places = i64::try_from(sides).unwrap_or(i64::MAX);
    match usize::try_from(if axis < 0 { axis + places } else { axis }) {
        Ok(at) if at < sides => Ok(at),
        _ => refuse(format!("axis {axis} of {sides}"), "one that is there"),
    }
}

/// `exp(x) / Σ exp(x)`: the ranges of both are calibrated.
pub(super) fn softmax(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let at = axis(attributes.int("axis", -1), x.shape.len())?;
    let layer = b.layer.clone();
    let exp = function(b, x, &Expression::X.of(Named::Exp))?;
    b.layer = format!("{layer} (exp)");
    let exp = b.shared(exp)?;
    let summed: Vec<bool> = (0..x.shape.len()).map(|axis| axis == at).collect();
    let sum = spread_sum(b, &exp, &summed, 1.0)?;
    b.layer = format!("{layer} (sum)");
    let inverse = function(b, &sum, &Expression::X.of(Named::Reciprocal))?;
    b.layer = format!("{layer} (reciprocal)");
    let inverse = b.shared(inverse)?;
    b.layer = layer;
    b.multiplied(&exp, &inverse)
}

/// `(x − mean)/√(variance + ε)`, times a scale, with a shift.
/// The mean and the inverse deviation are results too.
pub(super) fn layer_norm(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Vec<Tensor>> {
    let x = needed(inputs, 0)?;
    let first = axis(attributes.int("axis", -1), x.shape.len())?;
    let summed: Vec<bool> = (0..x.shape.len()).map(|axis| axis >= first).collect();
    let count: usize = x.shape[first..].iter().product();
    let share = 1.0 / count as f64;
    let layer = b.layer.clone();
    let x = b.shared(x.clone())?;
    let mean = spread_sum(b, &x, &summed, share)?;
    let centred = subtracted(b, &x, &mean)?;
    b.layer = format!("{layer} (centred)");
    let centred = b.shared(centred)?;
    b.layer = format!("{layer} (squares)");
    let squares = joined(b, Joined::Mul, &centred, &centred)?;
    let squares = b.shared(squares)?;
    let variance = spread_sum(b, &squares, &summed, share)?;
    b.layer = format!("{layer} (variance)");
    let of = b.value(&variance)?;
    let variance = Tensor { form: Form::Function { of, expression: Expression::X }, ..variance };
    let root = Expression::X.by(Joined::Add, attributes.float("epsilon", 1e-5)).of(Named::Sqrt).of(Named::Reciprocal);
    let inverse = function(b, &variance, &root)?;
    b.layer = format!("{layer} (inverse root)");
    let inverse = b.shared(inverse)?;
    b.layer = layer;
    let normed = b.multiplied(&centred, &inverse)?;
    let scaled = match inputs.get(1).and_then(Option::as_ref) {
        Some(scale) => joined(b, Joined::Mul, &normed, scale)?,
        None => normed,
    };
    let result = match inputs.get(2).and_then(Option::as_ref) {
        Some(shift) => joined(b, Joined::Add, &scaled, shift)?,
        None => scaled,
    };
    if attributes.0.outputs.len() == 1 {
        return Ok(vec![result]);
    }
    Ok(vec![result, first_of(b, &mean, &summed)?, first_of(b, &inverse, &summed)?])
}

/// The first place along some axes, along which all are equal.
fn first_of(b: &mut Builder, x: &Tensor, equal: &[bool]) -> Taken<Tensor> {
    let (mut axes, mut step) = (Vec::new(), 1);
    for (&side, &equal) in x.shape.iter().zip(equal).rev() {
        axes.push(Axis::whole(if equal { 1 } else { side }, step));
        step *= side;
    }
    axes.reverse();
    let shape = axes.iter().map(|axis| axis.size).collect();
    b.linear(x, Linear::View { axes, offset: 0, inputs: x.size() }, shape)
}
