//! Operators whose windows slide over images, and products with constant matrices.

use super::{
    Taken,
    builder::{Builder, Tensor},
    operators::Attributes,
    refuse,
};
use crate::network::linear::{Linear, Window};

/// Images, channels, rows and columns: those of one axis are images of one row.
fn sides(tensor: &Tensor) -> Taken<[usize; 4]> {
    match tensor.shape[..] {
        [n, c, h, w] => Ok([n, c, h, w]),
        [n, c, w] => Ok([n, c, 1, w]),
        _ => refuse(format!("a tensor of {:?}", tensor.shape), "samples × channels × one or two sides"),
    }
}

/// The two numbers of an attribute: one axis has one of them.
fn pair(attributes: Attributes<'_>, name: &str, default: usize, axes: usize) -> Taken<[usize; 2]> {
    let given = attributes.sizes(name)?.unwrap_or_else(|| vec![default; axes]);
    match given[..] {
        [x] if axes == 1 => Ok([default, x]),
        [y, x] if axes == 2 => Ok([y, x]),
        _ => refuse(format!("{name} of {given:?}"), format!("{axes} numbers")),
    }
}

/// A window with its places, over channels that are `[input, result]` in groups.
pub(super) fn window(
    attributes: Attributes<'_>,
    tensor: &Tensor,
    kernel: [usize; 2],
    ([channels, results], groups): ([usize; 2], usize),
) -> Taken<Window> {
    let [samples, _, height, width] = sides(tensor)?;
    let axes = tensor.shape.len() - 2;
    let strides = pair(attributes, "strides", 1, axes)?;
    let dilations = pair(attributes, "dilations", 1, axes)?;
    let pads = attributes.sizes("pads")?.unwrap_or_else(|| vec![0; 2 * axes]);
    let mut pads = match pads[..] {
        [left, right] if axes == 1 => [[0, left], [0, right]],
        [top, left, bottom, right] if axes == 2 => [[top, left], [bottom, right]],
        _ => return refuse(format!("pads of {pads:?}"), format!("{} numbers", 2 * axes)),
    };
    let ceil = attributes.int("ceil_mode", 0) != 0;
    let (image, mut result) = ([height, width], [0; 2]);
    for at in 0..2 {
        let steps = [kernel[at], strides[at], dilations[at]];
        if steps.iter().any(|&n| n == 0 || n > 1 << 15) || pads.iter().any(|pad| pad[at] > 1 << 15) {
            return refuse(format!("a kernel, stride or dilation of {steps:?}"), "1 to 32768 each");
        }
        let reach = (steps[0] - 1) * steps[2] + 1;
        match attributes.text("auto_pad") {
            "" | "NOTSET" => {}
            "VALID" => (pads[0][at], pads[1][at]) = (0, 0),
            same @ ("SAME_UPPER" | "SAME_LOWER") => {
                let all = ((image[at].div_ceil(steps[1]) - 1) * steps[1] + reach).saturating_sub(image[at]);
                let less = all / 2;
                let (before, after) = if same == "SAME_UPPER" { (less, all - less) } else { (all - less, less) };
                (pads[0][at], pads[1][at]) = (before, after);
            }
            other => return refuse(format!("auto_pad of {other}"), "NOTSET, VALID, SAME_UPPER or SAME_LOWER"),
        }
        let room = (image[at] + pads[0][at] + pads[1][at]).checked_sub(reach);
        let Some(room) = room else {
            return refuse("a kernel larger than its image", "a smaller one, or more padding");
        };
        result[at] = if ceil { room.div_ceil(steps[1]) } else { room / steps[1] } + 1;
        // A window that would begin behind the image is left out.
        if (result[at] - 1) * steps[1] >= image[at] + pads[0][at] {
            result[at] -= 1;
        }
    }
    let channels = [channels * samples, results * samples];
    Ok(Window { channels, groups: groups * samples, image, kernel, strides, pads: pads[0], dilations, result })
}

/// The shape of a window's result, of as many axes as its input.
pub(super) fn shape_of(tensor: &Tensor, window: &Window, channels: usize) -> Vec<usize> {
    let sides = [tensor.shape[0], channels].into_iter();
    let skipped = if tensor.shape.len() == 3 { 1 } else { 0 };
    sides.chain(window.result[skipped..].iter().copied()).collect()
}

pub(super) fn kernel(attributes: Attributes<'_>, tensor: &Tensor) -> Taken<[usize; 2]> {
    match attributes.sizes("kernel_shape")?.as_deref() {
        Some(&[x]) if tensor.shape.len() == 3 => Ok([1, x]),
        Some(&[y, x]) if tensor.shape.len() == 4 => Ok([y, x]),
        _ => refuse(format!("a kernel for a tensor of {:?}", tensor.shape), "windows of one or two sides"),
    }
}

pub(super) fn convolution(
    builder: &mut Builder,
    attributes: Attributes<'_>,
    inputs: &[Option<Tensor>],
) -> Taken<Tensor> {
    let [Some(x), Some(filters), ..] = inputs else { return refuse("no data or no filters", "both") };
    let [samples, channels, ..] = sides(x)?;
    let Some(numbers) = filters.numbers() else {
        return refuse("filters that are encrypted or computed", "constants inside the file");
    };
    let [results, each, ky, kx] = sides(filters)?;
    let groups = usize::try_from(attributes.int("group", 1)).unwrap_or(0);
    if groups == 0 || each.checked_mul(groups) != Some(channels) || results % groups != 0 {
        return refuse(
            format!("filters of {:?} in {groups} groups for a tensor of {:?}", filters.shape, x.shape),
            "as many channels",
        );
    }
    let window = window(attributes, x, [ky, kx], ([channels, results], groups))?;
    let shape = shape_of(x, &window, results);
    let weights = builder.weight(numbers.repeat(samples));
    let made = builder.linear(x, Linear::Convolution { window, weights }, shape)?;
    match inputs.get(2).and_then(Option::as_ref) {
        None => Ok(made),
        Some(bias) => {
            let sides = [vec![bias.size()], vec![1; x.shape.len() - 2]].concat();
            let bias = builder.broadcast(&bias.reshaped(sides), &made.shape)?;
            builder.added(&made, &bias)
        }
    }
}

pub(super) fn average_pool(builder: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let (kernel, [_, channels, ..]) = (kernel(attributes, x)?, sides(x)?);
    let zeros_count = attributes.int("count_include_pad", 0) != 0;
    if zeros_count && attributes.int("ceil_mode", 0) != 0 {
        return refuse("ceil_mode with zeros that count", "one of the two");
    }
    let window = window(attributes, x, kernel, ([channels; 2], channels))?;
    let shape = shape_of(x, &window, channels);
    builder.linear(x, Linear::Mean { window, zeros_count }, shape)
}

/// A batch norm as a factor and a constant for each channel.
pub(super) fn batch_norm(
    builder: &mut Builder,
    attributes: Attributes<'_>,
    inputs: &[Option<Tensor>],
) -> Taken<Tensor> {
    let [Some(x), Some(gamma), Some(beta), Some(mean), Some(variance)] = inputs else {
        return refuse(format!("{} inputs", inputs.len()), "five: data, scale, shift, mean and variance");
    };
    let epsilon = attributes.float("epsilon", 1e-5);
    let lists = [gamma, beta, mean, variance].map(Tensor::numbers);
    let [Some(gamma), Some(beta), Some(mean), Some(variance)] = lists else {
        return refuse("statistics that are no constants", "a network in evaluation mode");
    };
    let channels = x.shape.get(1).copied().unwrap_or(1);
    if [gamma, beta, mean, variance].iter().any(|list| list.len() != channels)
        || attributes.int("training_mode", 0) != 0
    {
        return refuse(
            format!("{} statistics for a tensor of {:?}", gamma.len(), x.shape),
            "one a channel, not in training mode",
        );
    }
    let positive = |v: &f64| v + epsilon > 0.0;
    if let Some(v) = variance.iter().find(|v| !positive(v)) {
        return refuse(format!("a variance of {v}"), "no negative one");
    }
    let factors: Vec<f64> = gamma.iter().zip(variance).map(|(g, v)| g / (v + epsilon).sqrt()).collect();
    let shifts = beta.iter().zip(mean.iter().zip(&factors)).map(|(b, (m, f))| b - m * f).collect();
    let sides = [vec![channels], vec![1; x.shape.len().saturating_sub(2)]].concat();
    let scaled = builder.scaled(x, factors, &sides)?;
    let shifts = builder.broadcast(&Tensor::constant(sides, shifts), &scaled.shape)?;
    builder.added(&scaled, &shifts)
}

/// A product with a constant matrix on either side.
pub(super) fn matmul(builder: &mut Builder, a: &Tensor, b: &Tensor) -> Taken<Tensor> {
    let shapes = || format!("{:?} times {:?}", a.shape, b.shape);
    let squeezed = |shape: &[usize]| match shape {
        [lead @ .., rows, columns] if lead.iter().all(|&n| n == 1) => Some([*rows, *columns]),
        [columns] => Some([1, *columns]),
        _ => None,
    };
    match (a.numbers(), b.numbers()) {
        (_, Some(numbers)) => {
            let vector = b.shape.len() == 1;
            let sides = if vector { Some([b.size(), 1]) } else { squeezed(&b.shape) };
            let (Some([columns, rows]), Some((&last, lead))) = (sides, a.shape.split_last()) else {
                return refuse(shapes(), "a constant matrix, not a stack of them");
            };
            if last != columns {
                return refuse(shapes(), "as many columns as rows");
            }
            let shape = if vector { lead.to_vec() } else { [lead, &[rows]].concat() };
            let weights = builder.weight(numbers.clone());
            let lead = lead.iter().product();
            builder.linear(a, Linear::Dense { lead, rows, columns, trail: 1, transposed: true, weights }, shape)
        }
        (Some(numbers), None) => {
            let (Some([rows, columns]), [lead @ .., inner, trail]) = (squeezed(&a.shape), &b.shape[..]) else {
                return refuse(shapes(), "a constant matrix, not a stack of them");
            };
            if *inner != columns {
                return refuse(shapes(), "as many columns as rows");
            }
            let shape = if a.shape.len() == 1 { [lead, &[*trail]].concat() } else { [lead, &[rows, *trail]].concat() };
            let weights = builder.weight(numbers.clone());
            let (lead, trail) = (lead.iter().product(), *trail);
            builder.linear(b, Linear::Dense { lead, rows, columns, trail, transposed: false, weights }, shape)
        }
        (None, None) => {
            refuse("a product of two encrypted tensors", "one of them constant (attention is not built yet)")
        }
    }
}

/// `α·A·B + β·C`, A or B transposed.
pub(super) fn gemm(builder: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let [Some(a), Some(b), ..] = inputs else { return refuse("fewer than two inputs", "A and B") };
    if a.shape.len() != 2 || b.shape.len() != 2 {
        return refuse(format!("{:?} times {:?}", a.shape, b.shape), "two matrices");
    }
    let turned = |builder: &mut Builder, tensor: &Tensor, name| match attributes.int(name, 0) {
        0 => Ok(tensor.clone()),
        _ => super::shapes::transposed(builder, tensor, &[1, 0]),
    };
    let (a, b) = (turned(builder, a, "transA")?, turned(builder, b, "transB")?);
    let (alpha, beta) = (attributes.float("alpha", 1.0), attributes.float("beta", 1.0));
    let b = if b.numbers().is_some() { builder.times(&b, alpha)? } else { b };
    let a = if b.numbers().is_none() { builder.times(&a, alpha)? } else { a };
    let product = matmul(builder, &a, &b)?;
    match inputs.get(2).and_then(Option::as_ref) {
        None => Ok(product),
        Some(c) => {
            let c = builder.times(c, beta)?;
            let c = builder.broadcast(&c, &product.shape)?;
            builder.added(&product, &c)
        }
    }
}
