//! Operators that are made of others: maxima of windows, softmax, layer norm.

use super::{
    Taken,
    builder::{Builder, Form, Tensor},
    operators::{Attributes, needed},
    pointwise::{function, joined, larger, subtracted},
    refuse,
    shapes::{self, along, strides, transposed},
    windows::{Slide, kernel},
};
use crate::network::{
    function::{Expression, Joined, Named},
    linear::{Axis, Linear},
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

/// The maximum of windows is that of rows and then of columns, which compares fewer numbers.
pub(super) fn max_pool(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Vec<Tensor>> {
    let slide = Slide::new(attributes, x, &kernel(attributes)?)?;
    if attributes.0.outputs.len() > 1 {
        return with_places(b, attributes, x, &slide);
    }
    let layer = b.layer.clone();
    let mut made = x.clone();
    for at in (0..slide.image.len()).rev() {
        let (axis, step) = (at + 2, strides(&made.shape)[at + 2]);
        let mut taps = (0..slide.kernel[at]).map(|tap| slide.inside(at, tap)).collect::<Taken<Vec<_>>>()?;
        taps.dedup();
        if let [only] = &taps[..]
            && only.iter().copied().eq(0..slide.image[at])
        {
            continue;
        }
        if taps.len() > 1 {
            made = b.shared(made)?;
        }
        let mut all = Vec::new();
        for listed in taps {
            let (mut shape, axes) = (made.shape.clone(), along(&made, axis, spaced(listed, slide.image[at], step)));
            shape[axis] = slide.result[at];
            all.push(b.linear(&made, Linear::View { axes, offset: 0, inputs: made.size() }, shape)?);
        }
        b.layer = if slide.image.len() > 1 { format!("{layer} (side {at})") } else { layer.clone() };
        made = largest(b, all)?;
    }
    b.layer = layer;
    Ok(vec![made])
}

/// Numbers and what belongs to them.
type Pair = (Tensor, Tensor);

/// The greatest of some tensors of one shape and what belongs to it, pair by pair. Of equal ones the first wins, or the
/// last; what differs by less than the error for each unit of the range gives something between.
fn greatest(b: &mut Builder, mut all: Vec<Pair>, last: bool) -> Taken<Pair> {
    let (layer, mut round) = (b.layer.clone(), 0);
    let step = Expression::X.of(if last { Named::Positive } else { Named::NotNegative });
    while all.len() > 1 {
        round += 1;
        let mut next = Vec::new();
        for pair in all.chunks(2) {
            let [(left, mine), (right, other)] = pair else {
                next.push(pair[0].clone());
                continue;
            };
            let number = next.len() + 1;
            b.layer = format!("{layer} (difference {round}.{number})");
            let difference = subtracted(b, left, right)?;
            let difference = b.shared(difference)?;
            b.layer = format!("{layer} (comparison {round}.{number})");
            let sign = function(b, &difference, &step)?;
            let sign = b.shared(sign)?;
            b.layer = format!("{layer} (greatest {round}.{number})");
            let more = b.multiplied(&difference, &sign)?;
            let value = b.added(right, &more)?;
            let apart = subtracted(b, mine, other)?;
            let more = joined(b, Joined::Mul, &apart, &sign)?;
            let own = joined(b, Joined::Add, other, &more)?;
            next.push((b.shared(value)?, b.shared(own)?));
        }
        all = next;
    }
    b.layer = layer;
    all.pop().map_or_else(|| refuse("a maximum of nothing", "one number at least"), Ok)
}

/// Maxima with their places in the tensor, of which all taps are compared.
fn with_places(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor, slide: &Slide) -> Taken<Vec<Tensor>> {
    let image: usize = slide.image.iter().product();
    let mut order: Vec<usize> = (0..x.shape.len()).collect();
    if attributes.int("storage_order", 0) != 0 {
        order[2..].reverse();
    }
    let counted: Vec<usize> = order.iter().map(|&at| x.shape[at]).collect();
    let numbers = Tensor::constant(counted, (0..x.size()).map(|at| at as f64).collect());
    let numbers = transposed(b, &numbers, &order)?;
    let count: usize = slide.kernel.iter().product();
    if count > MOST_COMPARED || image == 0 {
        return refuse(format!("the place of the greatest of {count} pixels"), format!("at most {MOST_COMPARED}"));
    }
    let x = b.shared(x.clone())?;
    let mut all = Vec::new();
    for tap in 0..count {
        let (mut tap, mut pair) = (tap, [x.clone(), numbers.clone()]);
        for at in (0..slide.image.len()).rev() {
            let listed = slide.inside(at, tap % slide.kernel[at])?;
            tap /= slide.kernel[at];
            for tensor in &mut pair {
                *tensor = shapes::picked(b, tensor, at + 2, listed.clone())?;
            }
        }
        let [value, place] = pair;
        all.push((value, place));
    }
    let (value, place) = greatest(b, all, false)?;
    Ok(vec![value, place])
}

/// The place of the greatest number along an axis.
pub(super) fn arg_max(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let at = axis(attributes.int("axis", 0), x.shape.len())?;
    let (count, last) = (x.shape[at], attributes.int("select_last_index", 0) != 0);
    if count > MOST_COMPARED {
        return refuse(
            format!("the place of the greatest of {count} numbers"),
            format!(
                "at most {MOST_COMPARED}, or the numbers themselves: the client finds the greatest after decryption"
            ),
        );
    }
    let x = b.shared(x.clone())?;
    let mut all = Vec::new();
    for place in 0..count {
        let value = shapes::picked(b, &x, at, vec![place])?;
        let numbers = Tensor::constant(value.shape.clone(), vec![place as f64; value.size()]);
        all.push((value, numbers));
    }
    let (_, place) = greatest(b, all, last)?;
    let mut shape = place.shape.clone();
    if attributes.int("keepdims", 1) == 0 {
        shape.remove(at);
    }
    Ok(place.reshaped(shape))
}

/// Numbers among which the greatest is found with its place.
const MOST_COMPARED: usize = 64;

/// Positions of a side, by a rule where they follow one.
fn spaced(listed: Vec<usize>, side: usize, step: usize) -> Axis {
    let stride = listed.get(1).zip(listed.first()).map_or(1, |(second, first)| second.wrapping_sub(*first));
    if listed.first() == Some(&0) && listed.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == stride) && stride > 0
    {
        return Axis { stride, side, ..Axis::whole(listed.len(), step) };
    }
    Axis::picked(listed, side, step)
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

/// `exp(x) / Σ exp(x)`: the ranges of both are calibrated. The mean is taken off first, which changes nothing but that
/// sums are at least the number of classes, however large the scores are.
pub(super) fn softmax(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let at = axis(attributes.int("axis", -1), x.shape.len())?;
    let layer = b.layer.clone();
    let summed: Vec<bool> = (0..x.shape.len()).map(|axis| axis == at).collect();
    let x = b.shared(x.clone())?;
    let mean = spread_sum(b, &x, &summed, 1.0 / x.shape[at] as f64)?;
    let centred = subtracted(b, &x, &mean)?;
    b.layer = format!("{layer} (centred)");
    let exp = function(b, &centred, &Expression::X.of(Named::Exp))?;
    b.layer = format!("{layer} (exp)");
    let exp = b.shared(exp)?;
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
