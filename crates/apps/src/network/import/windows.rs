//! Operators whose windows slide over images, and products with constant matrices.
//!
//! Images have one, two or three sides. Of three, the first is taken apart: a window is one of two sides for each of its
//! rows along the first, and these add up.

use super::{
    Taken,
    builder::{Builder, Tensor, joined_shape},
    operators::Attributes,
    products, refuse,
    shapes::{strides, transposed},
};
use crate::network::linear::{Axis, Linear, Window};

/// How windows slide over the sides of images.
pub(super) struct Slide {
    pub(super) image: Vec<usize>,
    pub(super) kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    /// Padding before the first pixel of a side and after the last.
    pads: [Vec<usize>; 2],
    pub(super) result: Vec<usize>,
}

impl Slide {
    pub(super) fn new(attributes: Attributes<'_>, tensor: &Tensor, kernel: &[usize]) -> Taken<Self> {
        let Some((_, image)) = tensor.shape.split_at_checked(2).filter(|(_, image)| (1..=3).contains(&image.len()))
        else {
            return refuse(format!("a tensor of {:?}", tensor.shape), "samples × channels × one to three sides");
        };
        let axes = image.len();
        let list = |name, default, count| {
            let given = attributes.sizes(name)?.unwrap_or_else(|| vec![default; count]);
            if given.len() == count {
                Ok(given)
            } else {
                refuse(format!("{name} of {given:?}"), format!("{count} numbers"))
            }
        };
        if kernel.len() != axes {
            return refuse(
                format!("a kernel of {kernel:?} for a tensor of {:?}", tensor.shape),
                "a number for each side",
            );
        }
        let (strides, dilations, pads) =
            (list("strides", 1, axes)?, list("dilations", 1, axes)?, list("pads", 0, 2 * axes)?);
        let (before, after) = pads.split_at(axes);
        let mut made = Self {
            image: image.into(),
            kernel: kernel.into(),
            strides,
            dilations,
            pads: [before.into(), after.into()],
            result: Vec::new(),
        };
        let ceil = attributes.int("ceil_mode", 0) != 0;
        for at in 0..axes {
            made.side(at, attributes.text("auto_pad"), ceil)?;
        }
        Ok(made)
    }

    /// Pads and places along a side.
    fn side(&mut self, at: usize, auto_pad: &str, ceil: bool) -> Taken<()> {
        let (image, [before, after]) = (self.image[at], [self.pads[0][at], self.pads[1][at]]);
        let steps @ [kernel, stride, dilation] = [self.kernel[at], self.strides[at], self.dilations[at]];
        if steps.iter().any(|&n| n == 0 || n > 1 << 15) || before.max(after) > 1 << 15 {
            return refuse(format!("a kernel, stride or dilation of {steps:?}"), "1 to 32768 each");
        }
        let reach = (kernel - 1) * dilation + 1;
        let [before, after] = match auto_pad {
            "" | "NOTSET" => [before, after],
            "VALID" => [0, 0],
            same @ ("SAME_UPPER" | "SAME_LOWER") => {
                let all = ((image.div_ceil(stride) - 1) * stride + reach).saturating_sub(image);
                let less = all / 2;
                if same == "SAME_UPPER" { [less, all - less] } else { [all - less, less] }
            }
            other => return refuse(format!("auto_pad of {other}"), "NOTSET, VALID, SAME_UPPER or SAME_LOWER"),
        };
        let Some(room) = (image + before + after).checked_sub(reach) else {
            return refuse("a kernel larger than its image", "a smaller one, or more padding");
        };
        let mut result = if ceil { room.div_ceil(stride) } else { room / stride } + 1;
        // A window that was rounded up to, and would begin behind the image, is left out.
        if ceil && (result - 1) * stride >= image + before {
            result -= 1;
        }
        (self.pads[0][at], self.pads[1][at]) = (before, after);
        self.result.push(result);
        Ok(())
    }

    /// The window of the last two sides, over channels that are `[input, result]` in groups.
    fn window(&self, channels: [usize; 2], groups: usize) -> Window {
        let two = |sides: &[usize], missing| match *sides {
            [.., y, x] => [y, x],
            [x] => [missing, x],
            [] => [missing; 2],
        };
        Window {
            channels,
            groups,
            image: two(&self.image, 1),
            kernel: two(&self.kernel, 1),
            strides: two(&self.strides, 1),
            pads: two(&self.pads[0], 0),
            dilations: two(&self.dilations, 1),
            result: two(&self.result, 1),
        }
    }

    /// The position of a tap of a side's window, counted from the first pixel.
    fn position(&self, at: usize, place: usize, tap: usize) -> Option<usize> {
        (place * self.strides[at] + tap * self.dilations[at]).checked_sub(self.pads[0][at])
    }

    /// What a tap of a side's windows reads; outside of the image the nearest tap of the same window that is inside.
    pub(super) fn inside(&self, at: usize, tap: usize) -> Taken<Vec<usize>> {
        let pixel = |place: usize, tap: usize| self.position(at, place, tap).filter(|&pixel| pixel < self.image[at]);
        let nearest = |place: usize| {
            let taps = (0..self.kernel[at]).filter_map(|other| Some((other.abs_diff(tap), pixel(place, other)?)));
            taps.min().map(|(_, pixel)| pixel)
        };
        match (0..self.result[at]).map(nearest).collect() {
            Some(pixels) => Ok(pixels),
            None => refuse("windows that lie outside the image", "padding shorter than the kernel"),
        }
    }

    /// How many taps of a side's window count: those in the image, or in its padding too.
    fn counted(&self, at: usize, place: usize, zeros_count: bool) -> usize {
        let [before, after] = if zeros_count { [self.pads[0][at], self.pads[1][at]] } else { [0, 0] };
        let first = self.pads[0][at] - before;
        let end = self.pads[0][at] + self.image[at] + after;
        let position = |tap| place * self.strides[at] + tap * self.dilations[at];
        (0..self.kernel[at]).filter(|&tap| (first..end).contains(&position(tap))).count()
    }
}

/// The sides of a kernel that is an attribute.
pub(super) fn kernel(attributes: Attributes<'_>) -> Taken<Vec<usize>> {
    attributes.sizes("kernel_shape")?.map_or_else(|| refuse("no kernel_shape", "the sides of the windows"), Ok)
}

/// A map of windows: what it is of the last two sides, for channels of input and result, groups, and one row of the kernel
/// along the first side of three.
type OfWindow<'f> = &'f mut dyn FnMut(&mut Builder, Window, usize) -> Taken<Linear>;

/// A sum over windows: of `[channels, results]` in groups, for each sample.
fn slid(
    b: &mut Builder,
    x: &Tensor,
    slide: &Slide,
    ([channels, results], groups): ([usize; 2], usize),
    of: OfWindow<'_>,
) -> Taken<Tensor> {
    let samples = x.shape[0];
    let &[depth, _, _] = &slide.image[..] else {
        let window = slide.window([channels * samples, results * samples], groups * samples);
        let map = of(b, window, 0)?;
        return b.linear(x, map, [&[samples, results], &slide.result[..]].concat());
    };
    // Samples × places along the first side become samples of images of two sides.
    let (planes, steps) = (slide.result[0], strides(&x.shape));
    let all = samples * planes;
    let mut sum: Option<Tensor> = None;
    for tap in 0..slide.kernel[0] {
        let ahead = tap * slide.dilations[0];
        let first = ahead.saturating_sub(slide.pads[0][0]);
        if first >= depth {
            continue;
        }
        let along = Axis {
            stride: slide.strides[0],
            before: slide.pads[0][0].saturating_sub(ahead),
            side: depth - first,
            ..Axis::whole(planes, steps[2])
        };
        let rest = [1, 3, 4].map(|at| Axis::whole(x.shape[at], steps[at]));
        let axes = [vec![Axis::whole(samples, steps[0]), along], rest.to_vec()].concat();
        let shape: Vec<usize> = axes.iter().map(|axis| axis.size).collect();
        let view = Linear::View { axes, offset: first * steps[2], inputs: x.size() };
        let plane = b.linear(x, view, shape)?;
        let map = of(b, slide.window([channels * all, results * all], groups * all), tap)?;
        let part = b.linear(&plane, map, vec![samples, planes, results, slide.result[1], slide.result[2]])?;
        sum = Some(match sum {
            None => part,
            Some(sum) => b.added(&sum, &part)?,
        });
    }
    let Some(sum) = sum else { return refuse("windows that lie outside the image", "padding shorter than the kernel") };
    transposed(b, &sum, &[0, 2, 1, 3, 4])
}

pub(super) fn convolution(
    builder: &mut Builder,
    attributes: Attributes<'_>,
    inputs: &[Option<Tensor>],
) -> Taken<Tensor> {
    let [Some(x), Some(filters), ..] = inputs else { return refuse("no data or no filters", "both") };
    let Some(numbers) = filters.numbers() else {
        return refuse("filters that are encrypted or computed", "constants inside the file");
    };
    let (Some(&channels), [results, each, kernel @ ..]) = (x.shape.get(1), &filters.shape[..]) else {
        return refuse(format!("filters of {:?} for a tensor of {:?}", filters.shape, x.shape), "as many sides");
    };
    let groups = usize::try_from(attributes.int("group", 1)).unwrap_or(0);
    if groups == 0 || each.checked_mul(groups) != Some(channels) || results % groups != 0 {
        return refuse(
            format!("filters of {:?} in {groups} groups for a tensor of {:?}", filters.shape, x.shape),
            "as many channels",
        );
    }
    let slide = Slide::new(attributes, x, kernel)?;
    let plane: usize = kernel.iter().rev().take(2).product();
    let made = slid(builder, x, &slide, ([channels, *results], groups), &mut |b, window, row| {
        let rows = numbers.chunks_exact(kernel.iter().product());
        let own: Vec<f64> = rows.flat_map(|filter| &filter[row * plane..(row + 1) * plane]).copied().collect();
        let weights = b.repeated_weight(&own, window.channels[1] / results)?;
        Ok(Linear::Convolution { window, weights })
    })?;
    with_bias(builder, made, inputs.get(2).and_then(Option::as_ref))
}

/// What filters made, and a constant for each of their channels.
pub(super) fn with_bias(b: &mut Builder, made: Tensor, bias: Option<&Tensor>) -> Taken<Tensor> {
    let Some(bias) = bias else { return Ok(made) };
    let sides = [vec![bias.size()], vec![1; made.shape.len().saturating_sub(2)]].concat();
    let bias = b.broadcast(&bias.reshaped(sides), &made.shape)?;
    b.added(&made, &bias)
}

pub(super) fn average_pool(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let slide = Slide::new(attributes, x, &kernel(attributes)?)?;
    let (channels, zeros_count) = (x.shape[1], attributes.int("count_include_pad", 0) != 0);
    // Means over two sides know what lies in the image; what else counts is the same for all channels.
    let flat = slide.image.len() < 3 && !zeros_count;
    let made = slid(b, x, &slide, ([channels; 2], channels), &mut |_, window, _| {
        Ok(Linear::Mean { window, zeros_count: !flat })
    })?;
    if flat {
        return Ok(made);
    }
    let plane: usize = slide.kernel.iter().rev().take(2).product();
    let mut counts = vec![1_usize];
    for at in 0..slide.result.len() {
        let side: Vec<usize> = (0..slide.result[at]).map(|place| slide.counted(at, place, zeros_count)).collect();
        counts = counts.iter().flat_map(|count| side.iter().map(move |own| count * own)).collect();
    }
    let factors: Vec<f64> = counts.iter().map(|&count| plane as f64 / count.max(1) as f64).collect();
    match factors[..] {
        [first, ref rest @ ..] if rest.iter().all(|factor| factor.to_bits() == first.to_bits()) => {
            if first.to_bits() == 1.0f64.to_bits() { Ok(made) } else { b.times(&made, first) }
        }
        _ => {
            let sides = [&[1, 1], &slide.result[..]].concat();
            b.scaled(&made, factors, &sides)
        }
    }
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

/// Sides that count the matrices of a stack, its rows and its columns.
fn stack(shape: &[usize]) -> Option<(&[usize], [usize; 2])> {
    let (lead, [rows, columns]) = shape.split_last_chunk::<2>()?;
    Some((lead, [*rows, *columns]))
}

/// A product with a constant matrix, or a stack of them, on either side.
pub(super) fn matmul(builder: &mut Builder, a: &Tensor, b: &Tensor) -> Taken<Tensor> {
    // A vector is a matrix of one row or one column, which the result does not have.
    let row = |x: &Tensor| x.reshaped(if x.shape.len() == 1 { vec![1, x.size()] } else { x.shape.clone() });
    let column = |x: &Tensor| x.reshaped(if x.shape.len() == 1 { vec![x.size(), 1] } else { x.shape.clone() });
    let (left, right) = (row(a), column(b));
    let (Some((lead, [rows, inner])), Some((other, [same, columns]))) = (stack(&left.shape), stack(&right.shape))
    else {
        return refuse(format!("{:?} times {:?}", a.shape, b.shape), "matrices or vectors");
    };
    if inner != same {
        return refuse(format!("{:?} times {:?}", a.shape, b.shape), "as many columns as rows");
    }
    let lead = joined_shape(lead, other)?;
    let shape = |sides: [usize; 2]| [&lead[..], &sides].concat();
    let made = match (left.numbers(), right.numbers()) {
        (_, Some(numbers)) if right.size() == inner * columns => {
            let weights = builder.weight(numbers.clone());
            let lead = left.size() / inner;
            let dense = Linear::Dense { lead, rows: columns, columns: inner, trail: 1, transposed: true, weights };
            builder.linear(&left, dense, shape([rows, columns]))?
        }
        (Some(numbers), None) if left.size() == rows * inner => {
            let weights = builder.weight(numbers.clone());
            let (lead, trail) = (right.size() / (inner * columns), columns);
            let dense = Linear::Dense { lead, rows, columns: inner, trail, transposed: false, weights };
            builder.linear(&right, dense, shape([rows, columns]))?
        }
        (_, Some(_)) => {
            // (a·b)ᵀ = bᵀ·aᵀ: what is constant stands on the left.
            let (left, right) = (builder.broadcast(&left, &shape([rows, inner]))?, last_turned(builder, &right)?);
            let right = builder.broadcast(&right, &shape([columns, inner]))?;
            let left = last_turned(builder, &left)?;
            let made = stacked(builder, &right, &left, shape([columns, rows]))?;
            last_turned(builder, &made)?
        }
        (Some(_), None) => {
            let (left, right) = (builder.broadcast(&left, &shape([rows, inner]))?, right.clone());
            let right = builder.broadcast(&right, &shape([inner, columns]))?;
            stacked(builder, &left, &right, shape([rows, columns]))?
        }
        (None, None) => products::encrypted(builder, [&left, &right], (&lead, [rows, inner, columns]))?,
    };
    let mut sides = made.shape.clone();
    if b.shape.len() == 1 {
        sides.pop();
    }
    if a.shape.len() == 1 {
        sides.remove(lead.len());
    }
    Ok(made.reshaped(sides))
}

/// The last two axes in the other order.
pub(super) fn last_turned(b: &mut Builder, x: &Tensor) -> Taken<Tensor> {
    let mut order: Vec<usize> = (0..x.shape.len()).collect();
    let last = order.len();
    order.swap(last - 2, last - 1);
    transposed(b, x, &order)
}

/// Each constant matrix of a stack times its own of a tensor: a convolution of one pixel whose groups are the matrices.
fn stacked(b: &mut Builder, constant: &Tensor, x: &Tensor, shape: Vec<usize>) -> Taken<Tensor> {
    let (Some((lead, [rows, inner])), Some((_, [_, columns]))) = (stack(&constant.shape), stack(&x.shape)) else {
        return refuse("no matrices", "stacks of them");
    };
    let groups: usize = lead.iter().product();
    let window = Window {
        channels: [groups * inner, groups * rows],
        groups,
        image: [1, columns],
        kernel: [1, 1],
        strides: [1, 1],
        pads: [0, 0],
        dilations: [1, 1],
        result: [1, columns],
    };
    let weights = b.weight(constant.numbers().cloned().unwrap_or_default());
    b.linear(x, Linear::Convolution { window, weights }, shape)
}

/// `α·A·B + β·C`, A or B transposed.
pub(super) fn gemm(builder: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let [Some(a), Some(b), ..] = inputs else { return refuse("fewer than two inputs", "A and B") };
    if a.shape.len() != 2 || b.shape.len() != 2 {
        return refuse(format!("{:?} times {:?}", a.shape, b.shape), "two matrices");
    }
    let turned = |builder: &mut Builder, tensor: &Tensor, name| match attributes.int(name, 0) {
        0 => Ok(tensor.clone()),
        _ => transposed(builder, tensor, &[1, 0]),
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
