//! Operators that are made of others: maxima of windows, softmax, layer norm.

use super::{
    Taken,
    builder::{Builder, Form, Tensor},
    operators::{Attributes, integers, needed},
    pointwise::{function, joined, larger, subtracted},
    refuse,
    shapes::{self, along, strides, transposed},
    windows::{Slide, kernel},
};
use crate::network::{
    function::{Expression, Joined, Named},
    linear::{Axis, Linear},
    skeleton::Term,
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
pub(super) fn spread_sum(b: &mut Builder, x: &Tensor, summed: &[bool], factor: f64) -> Taken<Tensor> {
    let kept: Vec<usize> = x.shape.iter().zip(summed).map(|(&side, &gone)| if gone { 1 } else { side }).collect();
    let sum = b.linear(x, Linear::Sum { sides: x.shape.clone(), summed: summed.to_vec(), factor }, kept)?;
    b.broadcast(&sum, &x.shape)
}

/// A tensor that is read several times by one operator: as a value of its own, unless it is a value whose numbers are only moved
/// and scaled, which every reader's map does for itself.
pub(super) fn read_often(b: &mut Builder, x: &Tensor) -> Taken<Tensor> {
    let moves = |term: &Term| term.chain.iter().all(|map| map.longest_row() == 1);
    let is_moved = match &x.form {
        Form::Sum { terms, .. } => terms.len() == 1 && moves(&terms[0]),
        _ => b.straight(x).is_some(),
    };
    if is_moved { Ok(x.clone()) } else { b.shared(x.clone()) }
}

/// An axis, which counts from the end if it is negative.
pub(super) fn axis(axis: i64, sides: usize) -> Taken<usize> {
    let places = i64::try_from(sides).unwrap_or(i64::MAX);
    match usize::try_from(if axis < 0 { axis + places } else { axis }) {
        Ok(at) if at < sides => Ok(at),
        _ => refuse(format!("axis {axis} of {sides}"), "one that is there"),
    }
}

/// The part that one number has in a mean over some axes.
fn share(x: &Tensor, summed: &[bool]) -> f64 {
    1.0 / x.shape.iter().zip(summed).filter(|(_, gone)| **gone).map(|(side, _)| side).product::<usize>() as f64
}

/// `(x − mean)/√(variance + ε)` over some axes, with the mean and the inverse deviation.
fn normalized(b: &mut Builder, x: &Tensor, summed: &[bool], epsilon: f64) -> Taken<[Tensor; 3]> {
    let layer = b.layer.clone();
    let x = read_often(b, x)?;
    let mean = spread_sum(b, &x, summed, share(&x, summed))?;
    let centred = subtracted(b, &x, &mean)?;
    b.layer = format!("{layer} (centred)");
    let centred = b.shared(centred)?;
    b.layer = layer;
    let [normed, inverse] = by_root(b, &centred, summed, epsilon)?;
    Ok([normed, mean, inverse])
}

/// `x/√(mean of squares + ε)` over some axes, with the inverse root.
fn by_root(b: &mut Builder, centred: &Tensor, summed: &[bool], epsilon: f64) -> Taken<[Tensor; 2]> {
    let layer = b.layer.clone();
    let centred = b.shared(centred.clone())?;
    b.layer = format!("{layer} (squares)");
    let squares = joined(b, Joined::Mul, &centred, &centred)?;
    let squares = b.shared(squares)?;
    let variance = spread_sum(b, &squares, summed, share(&squares, summed))?;
    b.layer = format!("{layer} (variance)");
    let of = b.value(&variance)?;
    let variance = Tensor { form: Form::Function { of, expression: Expression::X }, ..variance };
    let root = Expression::X.by(Joined::Add, epsilon).of(Named::Sqrt).of(Named::Reciprocal);
    let inverse = function(b, &variance, &root)?;
    b.layer = format!("{layer} (inverse root)");
    let inverse = b.shared(inverse)?;
    b.layer = layer;
    Ok([b.multiplied(&centred, &inverse)?, inverse])
}

/// `x/√(mean of squares + ε)`, times a scale.
pub(super) fn root_norm(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let x = needed(inputs, 0)?;
    let first = axis(attributes.int("axis", -1), x.shape.len())?;
    let summed: Vec<bool> = (0..x.shape.len()).map(|axis| axis >= first).collect();
    let [normed, _] = by_root(b, x, &summed, attributes.float("epsilon", 1e-5))?;
    rescaled(b, normed, [inputs.get(1).and_then(Option::as_ref), None])
}

/// A normed tensor times a scale, with a shift.
fn rescaled(b: &mut Builder, normed: Tensor, [scale, shift]: [Option<&Tensor>; 2]) -> Taken<Tensor> {
    let scaled = match scale {
        Some(scale) => joined(b, Joined::Mul, &normed, scale)?,
        None => normed,
    };
    match shift {
        Some(shift) => joined(b, Joined::Add, &scaled, shift),
        None => Ok(scaled),
    }
}

/// `(x − mean)/√(variance + ε)`, times a scale, with a shift.
/// The mean and the inverse deviation are results too.
pub(super) fn layer_norm(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Vec<Tensor>> {
    let x = needed(inputs, 0)?;
    let first = axis(attributes.int("axis", -1), x.shape.len())?;
    let summed: Vec<bool> = (0..x.shape.len()).map(|axis| axis >= first).collect();
    let [normed, mean, inverse] = normalized(b, x, &summed, attributes.float("epsilon", 1e-5))?;
    let result = rescaled(b, normed, [1, 2].map(|at| inputs.get(at).and_then(Option::as_ref)))?;
    if attributes.0.outputs.len() == 1 {
        return Ok(vec![result]);
    }
    Ok(vec![result, first_of(b, &mean, &summed)?, first_of(b, &inverse, &summed)?])
}

/// The norm of each channel of each image, times a scale a channel, with a shift.
pub(super) fn instance_norm(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let [x, scale, shift] = [needed(inputs, 0)?, needed(inputs, 1)?, needed(inputs, 2)?];
    let summed: Vec<bool> = (0..x.shape.len()).map(|axis| axis > 1).collect();
    let [normed, ..] = normalized(b, x, &summed, attributes.float("epsilon", 1e-5))?;
    let [scale, shift] = [a_channel(x, scale, 1)?, a_channel(x, shift, 1)?];
    rescaled(b, normed, [Some(&scale), Some(&shift)])
}

/// The norm of some channels of an image together, times a scale a channel or a group, with a shift.
pub(super) fn group_norm(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let [x, scale, shift] = [needed(inputs, 0)?, needed(inputs, 1)?, needed(inputs, 2)?];
    let groups = usize::try_from(attributes.int("num_groups", 0)).unwrap_or(0);
    let channels = x.shape.get(1).copied().unwrap_or(0);
    if groups == 0 || channels == 0 || channels % groups != 0 {
        return refuse(format!("{channels} channels in {groups} groups"), "a multiple");
    }
    let flat = x.reshaped(vec![x.shape[0], groups, x.size() / (x.shape[0] * groups)]);
    let [normed, ..] = normalized(b, &flat, &[false, false, true], attributes.float("epsilon", 1e-5))?;
    let each = |numbers: &Tensor| a_channel(x, numbers, if numbers.size() == groups { channels / groups } else { 1 });
    let [scale, shift] = [each(scale)?, each(shift)?];
    rescaled(b, normed.reshaped(x.shape.clone()), [Some(&scale), Some(&shift)])
}

/// Constants for each channel of a tensor, each repeated for so many of them.
fn a_channel(x: &Tensor, constants: &Tensor, repeated: usize) -> Taken<Tensor> {
    let channels = x.shape.get(1).copied().unwrap_or(0);
    match constants.numbers() {
        Some(numbers) if numbers.len() * repeated == channels => {
            let shape = [vec![channels], vec![1; x.shape.len().saturating_sub(2)]].concat();
            let numbers = numbers.iter().flat_map(|&x| std::iter::repeat_n(x, repeated)).collect();
            Ok(Tensor::constant(shape, numbers))
        }
        _ => refuse(format!("a scale or shift of {:?}", constants.shape), "a constant for each channel"),
    }
}

/// The greatest number along some axes.
pub(super) fn greatest_along(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let x = needed(inputs, 0)?;
    let Some(axes) = shapes::reduced_axes(attributes, inputs)? else { return Ok(x.clone()) };
    let made = greatest_of(b, x, &axes)?;
    let keeps = attributes.int("keepdims", 1) != 0;
    let kept = (0..x.shape.len()).filter(|at| keeps || !axes.contains(at)).map(|at| made.shape[at]).collect();
    Ok(made.reshaped(kept))
}

/// The greatest, or the least, number along an axis, as the first of the topmost.
pub(super) fn topmost(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let (x, client) = (needed(inputs, 0)?, "the scores themselves: the client takes the largest after decryption");
    if b.results > 1 {
        return refuse("indices as the result", client);
    }
    match integers(inputs, 1)?.as_deref() {
        Some([1]) => {}
        Some([count]) => {
            return refuse(format!("the {count} topmost of encrypted numbers"), format!("one of them, or {client}"));
        }
        _ => return refuse("a count of topmost numbers that is no constant", format!("1, or {client}")),
    }
    let at = axis(attributes.int("axis", -1), x.shape.len())?;
    if attributes.int("largest", 1) != 0 {
        return greatest_of(b, x, &[at]);
    }
    let negated = b.negated(x)?;
    let most = greatest_of(b, &negated, &[at])?;
    b.negated(&most)
}

/// The greatest along some axes, which stay with one place each.
fn greatest_of(b: &mut Builder, x: &Tensor, axes: &[usize]) -> Taken<Tensor> {
    let count = axes.iter().fold(1_usize, |all, &at| all.saturating_mul(x.shape[at]));
    if count > MOST_COMPARED {
        return refuse(format!("the maximum of {count} numbers"), format!("at most {MOST_COMPARED}, or a mean"));
    }
    let layer = b.layer.clone();
    let mut made = x.clone();
    for &at in axes.iter().filter(|&&at| x.shape[at] > 1) {
        made = b.shared(made)?;
        let all = (0..x.shape[at]).map(|place| shapes::picked(b, &made, at, vec![place])).collect::<Taken<Vec<_>>>()?;
        b.layer = format!("{layer} (side {at})");
        made = largest(b, all)?;
    }
    b.layer = layer;
    Ok(made)
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
