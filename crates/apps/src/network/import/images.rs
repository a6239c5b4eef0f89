//! Operators that enlarge images, and those that turn channels into pixels.

use super::{
    Taken,
    builder::{Builder, Tensor, size},
    composed::axis,
    operators::{Attributes, integers, needed},
    refuse,
    shapes::{picked, strides, transposed},
    windows::with_bias,
};
use crate::network::linear::{Axis, Linear, Window};

/// Blocks of channels as blocks of pixels.
pub(super) fn depth_to_space(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let (block, [n, c, h, w]) = blocks(attributes, x)?;
    let Some(channels) = c.checked_div(block * block).filter(|of| of * block * block == c) else {
        return refuse(format!("{c} channels in blocks of {block} × {block}"), "a multiple");
    };
    let (sides, order) = match attributes.text("mode") {
        "" | "DCR" => ([n, block, block, channels, h, w], [0, 3, 4, 1, 5, 2]),
        "CRD" => ([n, channels, block, block, h, w], [0, 1, 4, 2, 5, 3]),
        other => return refuse(format!("the mode {other}"), "DCR or CRD"),
    };
    Ok(transposed(b, &x.reshaped(sides.into()), &order)?.reshaped(vec![n, channels, h * block, w * block]))
}

/// Blocks of pixels as blocks of channels.
pub(super) fn space_to_depth(b: &mut Builder, attributes: Attributes<'_>, x: &Tensor) -> Taken<Tensor> {
    let (block, [n, c, h, w]) = blocks(attributes, x)?;
    if h % block != 0 || w % block != 0 {
        return refuse(format!("{h} × {w} pixels in blocks of {block} × {block}"), "multiples");
    }
    let order = match attributes.text("mode") {
        "" | "DCR" => [0, 3, 5, 1, 2, 4],
        "CRD" => [0, 1, 3, 5, 2, 4],
        other => return refuse(format!("the mode {other}"), "DCR or CRD"),
    };
    let made = transposed(b, &x.reshaped(vec![n, c, h / block, block, w / block, block]), &order)?;
    Ok(made.reshaped(vec![n, c * block * block, h / block, w / block]))
}

/// The side of a block, and the sides of images.
fn blocks(attributes: Attributes<'_>, x: &Tensor) -> Taken<(usize, [usize; 4])> {
    let block = usize::try_from(attributes.int("blocksize", 0)).unwrap_or(0);
    match <[usize; 4]>::try_from(&x.shape[..]) {
        Ok(sides) if (1..=1 << 10).contains(&block) => Ok((block, sides)),
        Ok(_) => refuse(format!("a blocksize of {block}"), "1 to 1024"),
        Err(_) => refuse(format!("a tensor of {:?}", x.shape), "samples × channels × two sides"),
    }
}

/// A tap of each place of a side: which position it reads, and how often.
type Tap = (Vec<usize>, Vec<f64>);

/// How a side is resized.
struct Resizing<'a> {
    mode: &'a str,
    places: &'a str,
    nearest: &'a str,
    cubic: f64,
}

impl Resizing<'_> {
    /// The coordinate of a place of the result on the side that is resized.
    fn coordinate(&self, place: usize, [from, to]: [usize; 2], scale: f64) -> Taken<f64> {
        let place = place as f64;
        Ok(match self.places {
            "" | "half_pixel" => (place + 0.5) / scale - 0.5,
            "pytorch_half_pixel" if to > 1 => (place + 0.5) / scale - 0.5,
            "pytorch_half_pixel" => 0.0,
            // Corners are those of the side before it is rounded down.
            "align_corners" if to > 1 => place * (from - 1) as f64 / (from as f64 * scale - 1.0),
            "align_corners" => 0.0,
            "asymmetric" => place / scale,
            "half_pixel_symmetric" => {
                let adjusted = to as f64 / (scale * from as f64);
                0.5 * from as f64 * (1.0 - adjusted) + (place + 0.5) / scale - 0.5
            }
            other => {
                let wanted = "half_pixel, pytorch_half_pixel, half_pixel_symmetric, align_corners or asymmetric";
                return refuse(format!("the coordinates {other}"), wanted);
            }
        })
    }

    /// The taps of a side; each place reads the same number of them.
    fn taps(&self, sides @ [from, to]: [usize; 2], scale: f64) -> Taken<Vec<Tap>> {
        let count = match self.mode {
            "" | "nearest" => 1,
            "linear" => 2,
            "cubic" => 4,
            other => return refuse(format!("the mode {other}"), "nearest, linear or cubic"),
        };
        let mut taps: Vec<Tap> = vec![(Vec::new(), Vec::new()); count];
        for place in 0..to {
            let at = self.coordinate(place, sides, scale)?;
            let (first, weights) = self.weights(at)?;
            for (tap, (positions, factors)) in taps.iter_mut().enumerate() {
                // Beyond the ends is what the ends are.
                let position = (first + tap as f64).clamp(0.0, (from - 1) as f64);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within a side")]
                positions.push(position as usize);
                factors.push(weights[tap]);
            }
        }
        Ok(taps)
    }

    /// The position of the first tap at a coordinate, and the weights of all.
    fn weights(&self, at: f64) -> Taken<(f64, Vec<f64>)> {
        let (below, past) = (at.floor(), at - at.floor());
        Ok(match self.mode {
            "linear" => (below, vec![1.0 - past, past]),
            "cubic" => {
                let a = self.cubic;
                let near = |t: f64| ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0;
                let far = |t: f64| ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a;
                (below - 1.0, vec![far(1.0 + past), near(past), near(1.0 - past), far(2.0 - past)])
            }
            _ => {
                let nearest = match self.nearest {
                    "" | "round_prefer_floor" if past <= 0.5 => below,
                    "round_prefer_ceil" if past < 0.5 => below,
                    "floor" => below,
                    "" | "round_prefer_floor" | "round_prefer_ceil" => below + 1.0,
                    "ceil" => at.ceil(),
                    other => {
                        let wanted = "round_prefer_floor, round_prefer_ceil, floor or ceil";
                        return refuse(format!("the nearest pixel by {other}"), wanted);
                    }
                };
                (nearest, vec![1.0])
            }
        })
    }
}

/// Images of other sides: by the nearest pixel, or by lines or cubics through some.
pub(super) fn resized(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let x = needed(inputs, 0)?;
    if attributes.int("antialias", 0) != 0 || attributes.int("exclude_outside", 0) != 0 {
        return refuse("antialias or exclude_outside", "neither");
    }
    let axes: Vec<usize> = match attributes.ints("axes") {
        Some(axes) => axes.iter().map(|&at| axis(at, x.shape.len())).collect::<Taken<_>>()?,
        None => (0..x.shape.len()).collect(),
    };
    let given = |at: usize| inputs.get(at).and_then(Option::as_ref).filter(|x| x.size() > 0);
    let numbers = |x: &Tensor| match x.numbers() {
        Some(numbers) if numbers.len() == axes.len() => Ok(numbers.clone()),
        _ => refuse("scales or sizes that are no constants", "one for each axis"),
    };
    let policy = attributes.text("keep_aspect_ratio_policy");
    if !["", "stretch"].contains(&policy) {
        return refuse(format!("the policy {policy}"), "stretch");
    }
    let mut to: Vec<(usize, f64)> = Vec::new();
    match (given(2), given(3)) {
        (_, Some(sizes)) => {
            numbers(sizes)?;
            for (&at, size) in axes.iter().zip(integers(inputs, 3)?.unwrap_or_default()) {
                let size = usize::try_from(size).unwrap_or(0);
                to.push((size, size as f64 / x.shape[at] as f64));
            }
        }
        (Some(scales), None) => {
            for (&at, scale) in axes.iter().zip(numbers(scales)?) {
                let size = (x.shape[at] as f64 * scale).floor();
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by the condition")]
                let size = if (1.0..=1e7).contains(&size) { size as usize } else { 0 };
                to.push((size, scale));
            }
        }
        (None, None) => return refuse("neither scales nor sizes", "one of them"),
    }
    let how = Resizing {
        mode: attributes.text("mode"),
        places: attributes.text("coordinate_transformation_mode"),
        nearest: attributes.text("nearest_mode"),
        cubic: attributes.float("cubic_coeff_a", -0.75),
    };
    let mut made = x.clone();
    for (&at, (side, scale)) in axes.iter().zip(to) {
        let mut shape = made.shape.clone();
        let from = std::mem::replace(&mut shape[at], side);
        size(&shape)?;
        if side == from && (scale - 1.0).abs() < 1e-12 {
            continue;
        }
        let taps = how.taps([from, side], scale)?;
        made = along_side(b, &made, at, taps)?;
    }
    Ok(made)
}

/// The sum of some taps of a side.
fn along_side(b: &mut Builder, x: &Tensor, at: usize, taps: Vec<Tap>) -> Taken<Tensor> {
    let x = if taps.len() > 1 { b.shared(x.clone())? } else { x.clone() };
    let mut sum: Option<Tensor> = None;
    for (positions, factors) in taps {
        let mut sides = vec![1; x.shape.len()];
        sides[at] = positions.len();
        let tap = picked(b, &x, at, positions)?;
        let ones = factors.iter().all(|factor| factor.to_bits() == 1.0f64.to_bits());
        let tap = if ones { tap } else { b.scaled(&tap, factors, &sides)? };
        sum = Some(match sum {
            None => tap,
            Some(sum) => b.added(&sum, &tap)?,
        });
    }
    sum.map_or_else(|| refuse("no taps", "one at least"), Ok)
}

/// A transposed convolution: zeros between the pixels, and a convolution with the filters turned round.
pub(super) fn transposed_convolution(
    b: &mut Builder,
    attributes: Attributes<'_>,
    inputs: &[Option<Tensor>],
) -> Taken<Tensor> {
    let [Some(x), Some(filters), ..] = inputs else { return refuse("no data or no filters", "both") };
    let Some(numbers) = filters.numbers() else {
        return refuse("filters that are encrypted or computed", "constants inside the file");
    };
    let ([n, channels, image @ ..], [own, results, kernel @ ..]) = (&x.shape[..], &filters.shape[..]) else {
        return refuse(format!("filters of {:?} for a tensor of {:?}", filters.shape, x.shape), "as many sides");
    };
    let sides = image.len();
    if own != channels || kernel.len() != sides || !(1..=2).contains(&sides) {
        let got = format!("filters of {:?} for a tensor of {:?}", filters.shape, x.shape);
        return refuse(got, "as many channels, and one or two sides");
    }
    let groups = usize::try_from(attributes.int("group", 1)).unwrap_or(0);
    if groups == 0 || channels % groups != 0 {
        return refuse(format!("{channels} channels in {groups} groups"), "a multiple");
    }
    let spread = Spread::new(attributes, image, kernel)?;
    let (apart, window) = spread.window([channels * n, results * groups * n], groups * n);
    // Each pixel, and zeros behind it.
    let steps = strides(&x.shape);
    let mut axes = vec![Axis::whole(n * channels, x.size() / (n * channels))];
    for at in 0..sides {
        axes.push(Axis::whole(image[at], steps[at + 2]));
        axes.push(Axis { side: 1, ..Axis::whole(spread.strides[at], 1) });
    }
    let shape = axes.iter().map(|axis| axis.size).collect();
    let wide = b.linear(x, Linear::View { axes, offset: 0, inputs: x.size() }, shape)?;
    let wide = wide.reshaped(vec![n * channels, apart.iter().product()]);
    let (each, taps) = (channels / groups, kernel.iter().product::<usize>());
    let mut turned = Vec::with_capacity(numbers.len());
    for group in 0..groups {
        for result in 0..*results {
            for channel in group * each..(group + 1) * each {
                turned.extend(numbers[(channel * results + result) * taps..][..taps].iter().rev());
            }
        }
    }
    let weights = b.repeated_weight(&turned, *n)?;
    let shape = [&[*n, results * groups], &spread.result[..]].concat();
    let made = b.linear(&wide, Linear::Convolution { window, weights }, shape)?;
    with_bias(b, made, inputs.get(2).and_then(Option::as_ref))
}

/// Sides of a transposed convolution.
struct Spread<'k> {
    image: &'k [usize],
    kernel: &'k [usize],
    strides: Vec<usize>,
    dilations: Vec<usize>,
    /// Zeros before the first pixel.
    before: Vec<usize>,
    result: Vec<usize>,
}

impl<'k> Spread<'k> {
    fn new(attributes: Attributes<'_>, image: &'k [usize], kernel: &'k [usize]) -> Taken<Self> {
        let sides = image.len();
        let list = |name: &str, default, count| {
            let given = attributes.sizes(name)?.unwrap_or_else(|| vec![default; count]);
            if given.len() == count && given.iter().all(|&n| n <= 1 << 15) {
                Ok(given)
            } else {
                refuse(format!("{name} of {given:?}"), format!("{count} numbers up to 32768"))
            }
        };
        let (strides, dilations) = (list("strides", 1, sides)?, list("dilations", 1, sides)?);
        let (pads, more) = (list("pads", 0, 2 * sides)?, list("output_padding", 0, sides)?);
        let wanted = attributes.sizes("output_shape")?;
        let (mut before, mut result) = (Vec::new(), Vec::new());
        for at in 0..sides {
            if strides[at] == 0 || dilations[at] == 0 || kernel[at] == 0 {
                return refuse("a stride, dilation or kernel of 0", "1 at least");
            }
            let reach = dilations[at] * (kernel[at] - 1);
            let full = strides[at] * (image[at] - 1) + more[at] + reach + 1;
            let auto = attributes.text("auto_pad");
            let [first, side] = match (wanted.as_ref().and_then(|sides| sides.get(at)).copied(), auto) {
                (None, "" | "NOTSET") => [pads[at], full.saturating_sub(pads[at] + pads[at + sides])],
                (None, "VALID") => [0, full],
                (wanted, "" | "NOTSET" | "VALID" | "SAME_UPPER" | "SAME_LOWER") => {
                    let side = wanted.unwrap_or(image[at] * strides[at]);
                    let all = full.saturating_sub(side);
                    [if auto == "SAME_UPPER" { all / 2 } else { all - all / 2 }, side]
                }
                (_, other) => {
                    return refuse(format!("auto_pad of {other}"), "NOTSET, VALID, SAME_UPPER or SAME_LOWER");
                }
            };
            let Some(zeros) = reach.checked_sub(first).filter(|_| side > 0) else {
                return refuse(format!("pads of {pads:?}"), "less than the kernel reaches, and something that is left");
            };
            before.push(zeros);
            result.push(side);
        }
        Ok(Self { image, kernel, strides, dilations, before, result })
    }

    /// The sides with their zeros, and the window that slides over them.
    fn window(&self, channels: [usize; 2], groups: usize) -> (Vec<usize>, Window) {
        let apart: Vec<usize> = self.image.iter().zip(&self.strides).map(|(side, stride)| side * stride).collect();
        let two = |sides: &[usize], missing| match *sides {
            [y, x] => [y, x],
            [x] => [missing, x],
            _ => [missing; 2],
        };
        let window = Window {
            channels,
            groups,
            image: two(&apart, 1),
            kernel: two(self.kernel, 1),
            strides: [1, 1],
            pads: two(&self.before, 0),
            dilations: two(&self.dilations, 1),
            result: two(&self.result, 1),
        };
        (apart, window)
    }
}
