//! Operators that move, repeat, cut, join and add up.

use super::{
    Taken,
    builder::{Builder, Form, Tensor, broadcast_axes, size},
    composed::axis,
    operators::{Attributes, integers, needed},
    refuse,
};
use crate::{
    network::{
        function::Joined,
        linear::{Axis, Linear},
    },
    onnx,
};
use std::sync::Arc;

/// Elements between neighbors of each side.
pub(super) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut all = vec![1; shape.len()];
    for at in (1..shape.len()).rev() {
        all[at - 1] = all[at] * shape[at];
    }
    all
}

/// Numbers of a range at most.
const MOST_RANGE: f64 = 16_777_216.0;

pub(super) fn constant(node: &onnx::Node) -> Taken<Tensor> {
    let value = |name| node.attribute(name);
    if let Some(tensor) = value("value").and_then(|a| a.tensor.as_ref()) {
        let (shape, numbers) = tensor.numbers().or_else(|(got, wanted)| refuse(got, wanted))?;
        return Ok(Tensor::constant(shape, numbers));
    }
    if let Some(a) = value("value_float") {
        return Ok(Tensor::constant(vec![], vec![onnx::bounded(a.float.into())]));
    }
    if let Some(a) = value("value_int") {
        return Ok(Tensor::constant(vec![], vec![a.int as f64]));
    }
    let list = value("value_floats").map(|a| a.floats.iter().map(|&x| onnx::bounded(x.into())).collect::<Vec<f64>>());
    let list = list.or(value("value_ints").map(|a| a.ints.iter().map(|&x| x as f64).collect()));
    match list {
        Some(list) => Ok(Tensor::constant(vec![list.len()], list)),
        None => refuse("a constant of another kind", "numbers"),
    }
}

pub(super) fn constant_of_shape(node: &onnx::Node, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let shape = whole(&integers(inputs, 0)?.unwrap_or_default())?;
    let number = node.attribute("value").and_then(|a| a.tensor.as_ref()).map_or(Ok(0.0), |tensor| {
        let (_, numbers) = tensor.numbers().or_else(|(got, wanted)| refuse(got, wanted))?;
        numbers.first().copied().map_or_else(|| refuse("no number", "one"), Ok)
    })?;
    let count = size(&shape)?;
    Ok(Tensor::constant(shape, vec![number; count]))
}

/// Numbers from one to before another.
pub(super) fn range(inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let of = |at: usize| needed(inputs, at).map(Tensor::number);
    let [Some(start), Some(limit), Some(step)] = [of(0)?, of(1)?, of(2)?] else {
        return refuse("a range of encrypted numbers", "constants");
    };
    let count = ((limit - start) / step).ceil();
    if !(1.0..=MOST_RANGE).contains(&count) {
        return refuse(format!("{count} numbers from {start} to {limit} by {step}"), "1 to 2^24");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded before")]
    let count = count as usize;
    Ok(Tensor::constant(vec![count], (0..count).map(|at| start + step * at as f64).collect()))
}

fn whole(numbers: &[i64]) -> Taken<Vec<usize>> {
    match numbers.iter().map(|&x| usize::try_from(x).ok()).collect() {
        Some(sizes) => Ok(sizes),
        None => refuse(format!("sizes of {numbers:?}"), "no negative ones"),
    }
}

pub(super) fn shape_of(attributes: Attributes<'_>, x: &Tensor) -> Tensor {
    let places = i64::try_from(x.shape.len()).unwrap_or(0);
    let at = |value: i64| usize::try_from(if value < 0 { value + places } else { value }.clamp(0, places)).unwrap_or(0);
    let (start, end) = (at(attributes.int("start", 0)), at(attributes.int("end", places)));
    let sides: Vec<f64> = x.shape[start..end.max(start)].iter().map(|&side| side as f64).collect();
    Tensor::constant(vec![sides.len()], sides)
}

pub(super) fn flattened(attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let (at, sides) = (attributes.int("axis", 1), x.shape.len());
    let at = if at == i64::try_from(sides).unwrap_or(0) { sides } else { axis(at, sides.max(1))? };
    let (before, after) = x.shape.split_at(at.min(sides));
    Ok(x.reshaped(vec![before.iter().product(), after.iter().product()]))
}

pub(super) fn reshaped(attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let x = needed(inputs, 0)?;
    let wanted = integers(inputs, 1)?.unwrap_or_default();
    let keeps = attributes.int("allowzero", 0) == 0;
    let side = |(at, &side): (usize, &i64)| match side {
        0 if keeps => x.shape.get(at).copied(),
        -1 => Some(0),
        side => usize::try_from(side).ok(),
    };
    let shape: Option<Vec<usize>> = wanted.iter().enumerate().map(side).collect();
    let refused = || refuse(format!("{:?} to {wanted:?}", x.shape), "as many elements");
    let Some(mut shape) = shape else { return refused() };
    if let Some(at) = wanted.iter().position(|&side| side == -1) {
        let rest: usize = shape.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, side)| *side).product();
        shape[at] = x.size().checked_div(rest).unwrap_or(0);
    }
    match size(&shape) {
        Ok(count) if count == x.size() => Ok(x.reshaped(shape)),
        _ => refused(),
    }
}

pub(super) fn squeezed(inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let x = needed(inputs, 0)?;
    let gone: Vec<usize> = match integers(inputs, 1)? {
        Some(axes) => axes.iter().map(|&at| axis(at, x.shape.len())).collect::<Taken<_>>()?,
        None => (0..x.shape.len()).filter(|&at| x.shape[at] == 1).collect(),
    };
    if let Some(&at) = gone.iter().find(|&&at| x.shape[at] != 1) {
        return refuse(format!("side {at} of {:?}", x.shape), "a side of 1");
    }
    let kept = x.shape.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, &side)| side).collect();
    Ok(x.reshaped(kept))
}

pub(super) fn unsqueezed(inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let x = needed(inputs, 0)?;
    let axes = integers(inputs, 1)?.unwrap_or_default();
    let sides = x.shape.len() + axes.len();
    let new: Vec<usize> = axes.iter().map(|&at| axis(at, sides)).collect::<Taken<_>>()?;
    let mut old = x.shape.iter().copied();
    let shape: Vec<usize> = (0..sides).map(|at| if new.contains(&at) { 1 } else { old.next().unwrap_or(1) }).collect();
    match size(&shape) {
        Ok(count) if count == x.size() => Ok(x.reshaped(shape)),
        _ => refuse(format!("axes {axes:?} for {:?}", x.shape), "axes that differ"),
    }
}

pub(super) fn transposed(b: &mut Builder, x: &Tensor, order: &[usize]) -> Taken<Tensor> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..x.shape.len()) {
        return refuse(format!("perm of {order:?} for {:?}", x.shape), "each axis once");
    }
    let (steps, shape) = (strides(&x.shape), order.iter().map(|&at| x.shape[at]).collect::<Vec<_>>());
    let axes = order.iter().map(|&at| Axis::whole(x.shape[at], steps[at])).collect();
    b.linear(x, Linear::View { axes, offset: 0, inputs: x.size() }, shape)
}

pub(super) fn expanded(b: &mut Builder, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let x = needed(inputs, 0)?;
    let wanted = whole(&integers(inputs, 1)?.unwrap_or_default())?;
    let shape = super::builder::joined_shape(&x.shape, &wanted)?;
    broadcast_axes(&x.shape, &shape)?;
    b.broadcast(x, &shape)
}

/// One axis of a tensor in another place: all others as they are.
pub(super) fn along(x: &Tensor, at: usize, made: Axis) -> Vec<Axis> {
    let steps = strides(&x.shape);
    let whole = |axis: usize| Axis::whole(x.shape[axis], steps[axis]);
    (0..x.shape.len()).map(|axis| if axis == at { made.clone() } else { whole(axis) }).collect()
}

/// Where the places of a padded side come from.
fn pad_positions(mode: &str, before: i64, size: usize, side: usize) -> Taken<Vec<usize>> {
    let n = i64::try_from(side).unwrap_or(i64::MAX);
    let position = |place: i64| {
        let at = place - before;
        match mode {
            "edge" => at.clamp(0, n - 1),
            "wrap" => at.rem_euclid(n),
            // There and back again, without the ends twice.
            _ if n == 1 => 0,
            _ => (n - 1) - ((n - 1) - at.rem_euclid(2 * (n - 1))).abs(),
        }
    };
    (0..).take(size).map(|place| usize::try_from(position(place)).or_else(|_| refuse("pads", "smaller ones"))).collect()
}

pub(super) fn padded(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let x = needed(inputs, 0)?;
    let pads = integers(inputs, 1)?.unwrap_or_default();
    let axes: Vec<usize> = match integers(inputs, 3)? {
        Some(axes) => axes.iter().map(|&at| axis(at, x.shape.len())).collect::<Taken<_>>()?,
        None => (0..x.shape.len()).collect(),
    };
    let mode = match attributes.text("mode") {
        "" => "constant",
        mode @ ("constant" | "edge" | "reflect" | "wrap") => mode,
        other => return refuse(format!("padding by {other}"), "constant, edge, reflect or wrap"),
    };
    let value = match inputs.get(2) {
        Some(Some(tensor)) if mode == "constant" => {
            tensor.number().map_or_else(|| refuse("a value that is no constant", "a number"), Ok)?
        }
        _ => 0.0,
    };
    if pads.len() != 2 * axes.len() || pads.iter().any(|&p| p.abs() >= 1 << 20) {
        return refuse(format!("pads of {pads:?}"), "two for each axis, of less than 2^20");
    }
    // Zeros around what is moved by the value, and moved back.
    let moved = Tensor::constant(vec![], vec![value]);
    let mut made = if value == 0.0 { x.clone() } else { super::pointwise::subtracted(b, x, &moved)? };
    for (which, &at) in axes.iter().enumerate() {
        let (before, after, side) = (pads[which], pads[which + axes.len()], made.shape[at]);
        if before == 0 && after == 0 {
            continue;
        }
        let size = i64::try_from(side).unwrap_or(0) + before + after;
        let Some(size) = usize::try_from(size).ok().filter(|&size| size > 0) else {
            return refuse(format!("pads of {pads:?} for {:?}", x.shape), "something that is left");
        };
        let step = strides(&made.shape)[at];
        let (axis, offset) = if mode == "constant" {
            let cut = usize::try_from(-before).unwrap_or(0);
            let before = usize::try_from(before).unwrap_or(0);
            (Axis { before, side: side.saturating_sub(cut).max(1), ..Axis::whole(size, step) }, cut * step)
        } else {
            (Axis::picked(pad_positions(mode, before, size, side)?, side, step), 0)
        };
        let (mut shape, axes) = (made.shape.clone(), along(&made, at, axis));
        shape[at] = size;
        made = b.linear(&made, Linear::View { axes, offset, inputs: made.size() }, shape)?;
    }
    if value == 0.0 { Ok(made) } else { super::pointwise::joined(b, Joined::Add, &made, &moved) }
}

/// Every `step`th of `count` places of an axis.
fn cut(b: &mut Builder, x: &Tensor, at: usize, [first, step, count]: [usize; 3]) -> Taken<Tensor> {
    let each = strides(&x.shape)[at];
    let (mut shape, axes) = (x.shape.clone(), along(x, at, Axis::whole(count, step * each)));
    shape[at] = count;
    b.linear(x, Linear::View { axes, offset: first * each, inputs: x.size() }, shape)
}

pub(super) fn sliced(b: &mut Builder, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let x = needed(inputs, 0)?;
    let (starts, ends) = (integers(inputs, 1)?.unwrap_or_default(), integers(inputs, 2)?.unwrap_or_default());
    let every: Vec<i64> = (0..).take(starts.len()).collect();
    let axes = integers(inputs, 3)?.unwrap_or(every);
    let steps = integers(inputs, 4)?.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()].iter().any(|&n| n != starts.len()) {
        return refuse("starts, ends, axes and steps of other lengths", "as many of each");
    }
    let mut made = x.clone();
    for (which, &at) in axes.iter().enumerate() {
        let at = axis(at, made.shape.len())?;
        let side = i64::try_from(made.shape[at]).unwrap_or(i64::MAX);
        let step = steps[which];
        // Backwards the first place is the last one at most, and the end may stand before the first.
        let [least, most] = if step < 0 { [-1, side - 1] } else { [0, side] };
        let place = |n: i64| if n < 0 { n + side } else { n }.clamp(least, most);
        let (from, to) = (place(starts[which]), place(ends[which]));
        let every = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
        let listed: Vec<usize> = if step < 0 {
            (to + 1..=from).rev().step_by(every).filter_map(|at| usize::try_from(at).ok()).collect()
        } else {
            (from..to).step_by(every.max(1)).filter_map(|at| usize::try_from(at).ok()).collect()
        };
        match (&listed[..], step) {
            ([], _) | (_, 0) => {
                return refuse(format!("places {from} to {to} in steps of {step}"), "one place at least");
            }
            ([first, ..], 1..) => made = cut(b, &made, at, [*first, every, listed.len()])?,
            _ => made = picked(b, &made, at, listed)?,
        }
    }
    Ok(made)
}

pub(super) fn split(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Vec<Tensor>> {
    let x = b.shared(needed(inputs, 0)?.clone())?;
    let at = axis(attributes.int("axis", 0), x.shape.len())?;
    let outputs = attributes.0.outputs.len().max(1);
    let each = x.shape[at].div_ceil(outputs);
    let equal = || (0..outputs).map(|part| each.min(x.shape[at].saturating_sub(part * each))).collect();
    let sizes = integers(inputs, 1)?.map_or_else(|| Ok(equal()), |sizes| whole(&sizes))?;
    if sizes.iter().sum::<usize>() != x.shape[at] || sizes.contains(&0) {
        return refuse(format!("parts of {sizes:?} of {:?}", x.shape), "parts that add up");
    }
    let (mut first, mut all) = (0, Vec::new());
    for count in sizes {
        all.push(cut(b, &x, at, [first, 1, count])?);
        first += count;
    }
    Ok(all)
}

/// Any places of an axis.
pub(super) fn picked(b: &mut Builder, x: &Tensor, at: usize, listed: Vec<usize>) -> Taken<Tensor> {
    let (mut shape, side, step) = (x.shape.clone(), x.shape[at], strides(&x.shape)[at]);
    shape[at] = listed.len();
    let axes = along(x, at, Axis::picked(listed, side, step));
    b.linear(x, Linear::View { axes, offset: 0, inputs: x.size() }, shape)
}

pub(super) fn gathered(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let (x, indices) = (needed(inputs, 0)?, needed(inputs, 1)?);
    let at = axis(attributes.int("axis", 0), x.shape.len())?;
    let numbers = integers(inputs, 1)?.unwrap_or_default();
    let places = numbers.iter().map(|&n| axis(n, x.shape[at])).collect::<Taken<Vec<_>>>()?;
    let step = match places[..] {
        [first, second, ..] => second.checked_sub(first).filter(|&step| step > 0),
        _ => Some(1),
    };
    let even = step.filter(|step| places.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(*step)));
    let shape = [&x.shape[..at], &indices.shape[..], &x.shape[at + 1..]].concat();
    let made = match (even, places.first()) {
        (Some(step), Some(&first)) => cut(b, x, at, [first, step, places.len()])?,
        (_, Some(_)) => picked(b, x, at, places)?,
        (_, None) => return refuse("no places", "one at least"),
    };
    Ok(made.reshaped(shape))
}

pub(super) fn concatenated(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let first = needed(inputs, 0)?;
    let at = axis(attributes.int("axis", 0), first.shape.len())?;
    let parts = (0..inputs.len()).map(|at| needed(inputs, at)).collect::<Taken<Vec<_>>>()?;
    let rest = |tensor: &Tensor| {
        let mut shape = tensor.shape.clone();
        if at < shape.len() {
            shape[at] = 0;
        }
        shape
    };
    if let Some(other) = parts.iter().find(|tensor| rest(tensor) != rest(first)) {
        return refuse(format!("{:?} beside {:?}", other.shape, first.shape), "equal sides but for one");
    }
    beside(b, &parts, at)
}

/// Tensors one behind another along an axis.
pub(super) fn beside(b: &mut Builder, parts: &[&Tensor], at: usize) -> Taken<Tensor> {
    let all = parts.iter().map(|tensor| tensor.shape[at]).sum();
    let (mut before, mut sum) = (0, None);
    for &tensor in parts {
        let (side, step) = (tensor.shape[at], strides(&tensor.shape)[at]);
        let axis = Axis { before, side, ..Axis::whole(all, step) };
        let (mut shape, axes) = (tensor.shape.clone(), along(tensor, at, axis));
        shape[at] = all;
        let part = b.linear(tensor, Linear::View { axes, offset: 0, inputs: tensor.size() }, shape)?;
        before += side;
        sum = Some(match sum {
            None => part,
            Some(sum) => both(b, &sum, &part)?,
        });
    }
    sum.map_or_else(|| refuse("nothing to join", "one tensor at least"), Ok)
}

/// The sum of two parts; constants stay constants.
fn both(b: &mut Builder, left: &Tensor, right: &Tensor) -> Taken<Tensor> {
    match (left.numbers(), right.numbers()) {
        (Some(l), Some(r)) => {
            let sum = l.iter().zip(r).map(|(a, b)| a + b).collect();
            Ok(Tensor::new(left.shape.clone(), Form::Constant(Arc::new(sum))))
        }
        _ => b.added(left, right),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reduction {
    Sum,
    Mean,
}

/// The axes that a reduction takes away, all where none is named; `None` where that means nothing at all.
pub(super) fn reduced_axes(attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Option<Vec<usize>>> {
    let sides = needed(inputs, 0)?.shape.len();
    let given = integers(inputs, 1)?.or(attributes.ints("axes").map(<[i64]>::to_vec)).unwrap_or_default();
    if given.is_empty() {
        return Ok((attributes.int("noop_with_empty_axes", 0) == 0).then(|| (0..sides).collect()));
    }
    let mut axes = given.iter().map(|&at| axis(at, sides)).collect::<Taken<Vec<_>>>()?;
    axes.sort_unstable();
    axes.dedup();
    Ok(Some(axes))
}

pub(super) fn reduced(
    b: &mut Builder,
    attributes: Attributes<'_>,
    inputs: &[Option<Tensor>],
    how: Reduction,
) -> Taken<Tensor> {
    let x = needed(inputs, 0)?;
    let Some(axes) = reduced_axes(attributes, inputs)? else { return Ok(x.clone()) };
    let summed: Vec<bool> = (0..x.shape.len()).map(|at| axes.contains(&at)).collect();
    let gone = |at: usize| summed[at];
    let count: usize = (0..x.shape.len()).filter(|&at| gone(at)).map(|at| x.shape[at]).product();
    let kept = |keep: bool| {
        let sides = (0..x.shape.len()).filter(|&at| keep || !gone(at));
        sides.map(|at| if gone(at) { 1 } else { x.shape[at] }).collect::<Vec<usize>>()
    };
    let factor = if how == Reduction::Mean { 1.0 / count as f64 } else { 1.0 };
    let shape = kept(attributes.int("keepdims", 1) != 0);
    b.linear(x, Linear::Sum { sides: x.shape.clone(), summed, factor }, shape)
}

/// A tensor repeated along its axes.
pub(super) fn tiled(b: &mut Builder, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let x = needed(inputs, 0)?;
    let times = whole(&integers(inputs, 1)?.unwrap_or_default())?;
    if times.len() != x.shape.len() {
        return refuse(format!("{times:?} repetitions of {:?}", x.shape), "one for each axis");
    }
    let (mut made, parts) = (x.clone(), x.shape.iter().zip(&times).map(|(side, times)| side.checked_mul(*times)));
    for (at, part) in parts.enumerate().filter(|(at, _)| times[*at] != 1) {
        let mut shape = made.shape.clone();
        let side = std::mem::replace(&mut shape[at], part.unwrap_or(usize::MAX));
        size(&shape)?;
        made = picked(b, &made, at, (0..shape[at]).map(|place| place % side).collect())?;
    }
    Ok(made)
}

/// The longest side along which sums are kept running.
const MOST_RUNNING: usize = 1 << 10;

/// Sums of all numbers up to each place of an axis.
pub(super) fn running_sum(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let x = needed(inputs, 0)?;
    let Some(&[given]) = integers(inputs, 1)?.as_deref() else { return refuse("no axis", "one") };
    let at = axis(given, x.shape.len())?;
    let side = x.shape[at];
    if side > MOST_RUNNING {
        return refuse(format!("running sums of {side} numbers"), format!("at most {MOST_RUNNING}"));
    }
    let [turned, without] = ["reverse", "exclusive"].map(|name| attributes.int(name, 0) != 0);
    let counts = |to: usize, from: usize| {
        let (to, from) = if turned { (from, to) } else { (to, from) };
        from < to || (from == to && !without)
    };
    let entries = (0..side * side).map(|entry| f64::from(u8::from(counts(entry / side, entry % side)))).collect();
    let (lead, trail) = (x.shape[..at].iter().product(), x.shape[at + 1..].iter().product());
    let weights = b.weight(entries);
    let dense = Linear::Dense { lead, rows: side, columns: side, trail, transposed: false, weights };
    b.linear(x, dense, x.shape.clone())
}

/// The mean of all pixels of each channel.
pub(super) fn global_mean(b: &mut Builder, x: &Tensor) -> Taken<Tensor> {
    let summed: Vec<bool> = (0..x.shape.len()).map(|at| at > 1).collect();
    let shape: Vec<usize> = x.shape.iter().zip(&summed).map(|(&side, &gone)| if gone { 1 } else { side }).collect();
    let factor = 1.0 / x.shape.iter().skip(2).product::<usize>() as f64;
    b.linear(x, Linear::Sum { sides: x.shape.clone(), summed, factor }, shape)
}
