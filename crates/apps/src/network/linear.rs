//! Linear operations of networks as rows of sparse matrices: which inputs an output reads, and how often.
//!
//! Every linear operator of \[ONNX\] is one of a few kinds. Rows of a chain of them are rows of rows, so that a batch norm
//! behind a convolution, or a pooling before it, becomes part of one map.

use limbwise::ckks::tensor::Tell;
pub use limbwise::ckks::tensor::Window;
use serde::{Deserialize, Serialize};

/// The weights of a network, list by list.
pub type Tensors = [Vec<f64>];

/// An axis of a result, which walks along a side of the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Places of the result.
    pub size: usize,
    /// Positions of the side from one place to the next.
    pub stride: usize,
    /// Subtracted from a position: where the first place stands before the side.
    pub before: usize,
    /// Positions of the side.
    pub side: usize,
    /// Elements of the input from one position to the next; 0 repeats.
    pub step: usize,
    /// Places outside the side read its nearest position, and not 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nearest: bool,
    /// The position of each place, where they do not follow a rule; then stride and what stands before count for nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<usize>,
}

/// A linear operation from a list of numbers to another. Weights are lists by number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Linear {
    /// Weights are result channels × input channels of a group × rows × columns.
    Convolution { window: Window, weights: usize },
    /// Means of windows; those at the border have fewer pixels, unless zeros count.
    Mean { window: Window, zeros_count: bool },
    /// `y[l, m, t] = Σ_k W[m, k]·x[l, k, t]`; rows × columns weights, or columns × rows if they are transposed.
    Dense { lead: usize, rows: usize, columns: usize, trail: usize, transposed: bool, weights: usize },
    /// Moves, repeats, leaves out, or puts zeros between.
    View { axes: Vec<Axis>, offset: usize, inputs: usize },
    /// Times a weight each; the axes say which.
    Scale { axes: Vec<Axis>, weights: usize },
    /// Times a public number.
    Factor {
        size: usize,
        #[serde(deserialize_with = "limbwise::finite::field")]
        factor: f64,
    },
    /// Sums over the axes that are marked, times a public number.
    Sum {
        sides: Vec<usize>,
        summed: Vec<bool>,
        #[serde(deserialize_with = "limbwise::finite::field")]
        factor: f64,
    },
}

impl Axis {
    /// All of a side, one after another.
    pub fn whole(size: usize, step: usize) -> Self {
        Self { size, stride: 1, before: 0, side: size, step, nearest: false, listed: Vec::new() }
    }

    /// Any positions of a side.
    pub fn picked(listed: Vec<usize>, side: usize, step: usize) -> Self {
        Self { size: listed.len(), side, listed, ..Self::whole(0, step) }
    }

    /// Positions of the side from one place to the next; of listed ones in the mean.
    fn apart(&self) -> usize {
        match &self.listed[..] {
            [first, .., last] => (last.abs_diff(*first) / (self.listed.len() - 1)).max(1),
            _ => self.stride.max(1),
        }
    }

    /// The element that a place reads, counted from the first.
    fn element(&self, place: usize) -> Option<usize> {
        if let Some(position) = self.listed.get(place) {
            return Some(position * self.step);
        }
        let (position, last) = (place * self.stride, self.side - 1);
        let position = match position.checked_sub(self.before) {
            Some(position) if position <= last => position,
            Some(_) if self.nearest => last,
            None if self.nearest => 0,
            _ => return None,
        };
        Some(position * self.step)
    }
}

/// The element that an output reads.
fn read(axes: &[Axis], mut out: usize) -> Option<usize> {
    let mut sum = 0;
    for axis in axes.iter().rev() {
        sum += axis.element(out % axis.size)?;
        out /= axis.size;
    }
    Some(sum)
}

/// Places of all axes, and the last element that any reads.
fn extent(axes: &[Axis]) -> Option<[usize; 2]> {
    let mut all = [1_usize, 0];
    for axis in axes {
        axis.size.checked_mul(axis.stride)?;
        let listed = &axis.listed;
        let known = listed.is_empty() || (listed.len() == axis.size && listed.iter().all(|&at| at < axis.side));
        known.then_some(())?;
        let last = axis.side.checked_sub(1)?.checked_mul(axis.step)?;
        all = [all[0].checked_mul(axis.size)?, all[1].checked_add(last)?];
    }
    Some(all)
}

fn product(sides: impl IntoIterator<Item = usize>) -> Option<usize> {
    sides.into_iter().try_fold(1_usize, |all, side| all.checked_mul(side))
}

impl Linear {
    /// Elements of the input and of the result, for weights of these lengths; `None` for what cannot be.
    pub fn sizes(&self, lengths: &[usize]) -> Option<[usize; 2]> {
        let has = |weights: &usize, count: usize| lengths.get(*weights) == Some(&count);
        let sizes = match self {
            Self::Convolution { window, weights } => {
                window.sizes().filter(|_| window.weights().is_some_and(|count| has(weights, count)))?
            }
            Self::Mean { window, .. } => window
                .sizes()
                .filter(|_| window.channels[0] == window.channels[1] && window.groups == window.channels[0])?,
            Self::Dense { lead, rows, columns, trail, weights, .. } => {
                has(weights, product([*rows, *columns])?).then_some(())?;
                [product([*lead, *columns, *trail])?, product([*lead, *rows, *trail])?]
            }
            Self::View { axes, offset, inputs } => {
                let [size, last] = extent(axes)?;
                (last.checked_add(*offset)? < *inputs).then_some([*inputs, size])?
            }
            Self::Scale { axes, weights } => {
                let [size, last] = extent(axes)?;
                (lengths.get(*weights).is_some_and(|&count| last < count)).then_some([size, size])?
            }
            Self::Factor { size, .. } => [*size, *size],
            Self::Sum { sides, summed, .. } => {
                (sides.len() == summed.len()).then_some(())?;
                let kept = sides.iter().zip(summed).map(|(&side, &gone)| if gone { 1 } else { side });
                [product(sides.iter().copied())?, product(kept)?]
            }
        };
        (!sizes.contains(&0)).then_some(sizes)
    }

    /// The entries of its longest row.
    pub fn longest_row(&self) -> usize {
        match self {
            Self::Convolution { window, .. } => {
                window.channels[0] / window.groups * window.kernel[0] * window.kernel[1]
            }
            Self::Mean { window, .. } => window.kernel[0] * window.kernel[1],
            Self::Dense { columns, .. } => *columns,
            Self::View { .. } | Self::Scale { .. } | Self::Factor { .. } => 1,
            Self::Sum { sides, summed, .. } => {
                sides.iter().zip(summed).filter(|(_, s)| **s).map(|(side, _)| side).product()
            }
        }
    }

    /// The largest of its entries, without their signs.
    pub fn peak(&self, tensors: &Tensors) -> f64 {
        let most = |weights: usize| tensors[weights].iter().fold(0.0, |most: f64, w| most.max(w.abs()));
        match self {
            Self::Convolution { weights, .. } | Self::Dense { weights, .. } | Self::Scale { weights, .. } => {
                most(*weights)
            }
            Self::Mean { .. } => 1.0 / self.longest_row() as f64,
            Self::View { .. } => 1.0,
            Self::Factor { factor, .. } | Self::Sum { factor, .. } => factor.abs(),
        }
    }

    /// Rows and columns of the input from one of the result's to the next.
    pub fn strides(&self) -> [usize; 2] {
        match self {
            Self::Convolution { window, .. } | Self::Mean { window, .. } => window.strides,
            // A max pool is made of views, a tap each.
            Self::View { axes, .. } => match &axes[..] {
                [.., rows, columns] => [rows.apart(), columns.apart()],
                _ => [1, 1],
            },
            _ => [1, 1],
        }
    }

    /// Rows and columns of the result of a window.
    pub fn windows(&self) -> Option<[usize; 2]> {
        match self {
            Self::Convolution { window, .. } | Self::Mean { window, .. } => Some(window.result),
            _ => None,
        }
    }

    /// The operation in the clear.
    fn apply(&self, tensors: &Tensors, x: &[f64]) -> Vec<f64> {
        if let Self::Convolution { window, weights } = self {
            return window.apply(&tensors[*weights], x);
        }
        let lengths: Vec<usize> = tensors.iter().map(Vec::len).collect();
        let [_, outputs] = self.sizes(&lengths).expect("networks are checked");
        let value = |out: usize| {
            let mut sum = 0.0;
            self.row(tensors, out, &mut |at, w| sum += w * x[at]);
            sum
        };
        (0..outputs).map(value).collect()
    }

    /// The entries of one row.
    pub fn row(&self, tensors: &Tensors, out: usize, tell: Tell<'_>) {
        match self {
            Self::Convolution { window, weights } => window.convolution(&tensors[*weights], out, tell),
            Self::Mean { window, zeros_count } => window.mean(*zeros_count, out, tell),
            &Self::Dense { rows, columns, trail, transposed, weights, .. } => {
                let (t, m, l) = (out % trail, out / trail % rows, out / trail / rows);
                let weights = &tensors[weights];
                for k in 0..columns {
                    let weight = if transposed { weights[k * rows + m] } else { weights[m * columns + k] };
                    tell((l * columns + k) * trail + t, weight);
                }
            }
            Self::View { axes, offset, .. } => {
                if let Some(element) = read(axes, out) {
                    tell(offset + element, 1.0);
                }
            }
            Self::Scale { axes, weights } => {
                if let Some(element) = read(axes, out) {
                    tell(out, tensors[*weights][element]);
                }
            }
            Self::Factor { factor, .. } => tell(out, *factor),
            Self::Sum { sides, summed, factor } => sum_row(sides, summed, out, &mut |at| tell(at, *factor)),
        }
    }
}

/// The elements that a sum adds up for one output.
fn sum_row(sides: &[usize], summed: &[bool], mut out: usize, tell: &mut dyn FnMut(usize)) {
    let (mut base, mut stride, mut loops) = (0, 1, Vec::new());
    for (&side, &gone) in sides.iter().zip(summed).rev() {
        if gone {
            loops.push([side, stride]);
        } else {
            base += out % side * stride;
            out /= side;
        }
        stride *= side;
    }
    let count = loops.iter().map(|[side, _]| side).product();
    for mut at in 0..count {
        let mut element = base;
        for [side, stride] in &loops {
            element += at % side * stride;
            at /= side;
        }
        tell(element);
    }
}

/// The entries of a row of a chain, whose last operation gives the result; an entry may be told in parts.
pub fn chain_row(chain: &[Linear], tensors: &Tensors, out: usize, tell: Tell<'_>) {
    scaled_row(chain, tensors, (out, 1.0), tell);
}

fn scaled_row(chain: &[Linear], tensors: &Tensors, (out, weight): (usize, f64), tell: Tell<'_>) {
    match chain {
        [] => tell(out, weight),
        [first] => first.row(tensors, out, &mut |at, w| tell(at, weight * w)),
        [rest @ .., last] => {
            last.row(tensors, out, &mut |at, w| scaled_row(rest, tensors, (at, weight * w), &mut *tell));
        }
    }
}

/// A convolution that begins a chain, with what stands behind it, where that is nothing but a factor for each of its results.
pub fn leading_convolution(chain: &[Linear]) -> Option<(&Window, usize, &[Linear])> {
    let [Linear::Convolution { window, weights }, behind @ ..] = chain else { return None };
    let keeps = |map: &Linear| matches!(map, Linear::Factor { .. } | Linear::Scale { .. });
    behind.iter().all(keeps).then_some((window, *weights, behind))
}

/// `chain·x` in the clear, one operation after another: an output by its row would compute again what outputs share.
pub fn apply(chain: &[Linear], tensors: &Tensors, x: &[f64]) -> Vec<f64> {
    let Some((first, others)) = chain.split_first() else { return x.to_vec() };
    others.iter().fold(first.apply(tensors, x), |x, map| map.apply(tensors, &x))
}

/// Entries of all rows of a chain at most.
pub fn entries(chain: &[Linear], outputs: usize) -> u64 {
    chain.iter().map(|map| map.longest_row() as u64).fold(outputs as u64, u64::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(channels: [usize; 2], groups: usize, image: [usize; 2], result: [usize; 2]) -> Window {
        let (kernel, strides, dilations) = ([3, 2], [2, 1], [1, 2]);
        Window { channels, groups, image, kernel, strides, pads: [1, 0], dilations, result }
    }

    #[test]
    fn a_convolution_reads_what_its_definition_says() {
        let window = window([4, 6], 2, [5, 7], [3, 5]);
        let weights: Vec<f64> = (0..6 * 2 * 6).map(|i| f64::from(i) - 20.0).collect();
        let x: Vec<f64> = (0..4 * 35).map(|i| f64::from(i * 7 % 11) - 5.0).collect();
        let map = [Linear::Convolution { window, weights: 0 }];
        assert_eq!(map[0].sizes(&[72]), Some([140, 90]));
        let got = apply(&map, std::slice::from_ref(&weights), &x);
        for (at, value) in got.iter().enumerate() {
            let (filter, y, x0) = (at / 15, at / 5 % 3, at % 5);
            let mut sum = 0.0;
            for channel in 0..2 {
                for (dy, dx) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
                    let (row, column) = (2 * y + dy, x0 + 2 * dx);
                    if (1..6).contains(&row) && column < 7 {
                        let element = (filter / 3 * 2 + channel) * 35 + (row - 1) * 7 + column;
                        sum += weights[(filter * 2 + channel) * 6 + dy * 2 + dx] * x[element];
                    }
                }
            }
            assert!((value - sum).abs() < 1e-9, "{at}: {value} {sum}");
            let mut by_row = 0.0;
            chain_row(&map, std::slice::from_ref(&weights), at, &mut |at, w| by_row += w * x[at]);
            assert!((value - by_row).abs() < 1e-9, "{at}: {value} {by_row}");
        }
    }

    /// Filters that reach outside on both sides, by more than a stride, and images that they never cover.
    #[test]
    fn convolutions_in_the_clear_are_their_rows() {
        let all = [
            ([5, 7], [3, 3], [1, 1], [2, 2], [1, 1], [7, 9]),
            ([4, 4], [3, 5], [3, 2], [1, 4], [1, 1], [2, 4]),
            ([2, 3], [2, 2], [2, 3], [1, 1], [3, 4], [2, 2]),
            ([1, 1], [3, 3], [1, 1], [1, 1], [2, 2], [1, 1]),
            // More channels and taps than are laid out at a time.
            ([30, 30], [25, 21], [1, 1], [12, 10], [1, 1], [30, 30]),
        ];
        for (image, kernel, strides, pads, dilations, result) in all {
            let window = Window { channels: [4, 10], groups: 2, image, kernel, strides, pads, dilations, result };
            let weights = vec![(0..10 * 2 * kernel[0] * kernel[1]).map(|i| i as f64 - 7.0).collect::<Vec<_>>()];
            let map = [Linear::Convolution { window, weights: 0 }];
            let [inputs, outputs] = map[0].sizes(&[weights[0].len()]).unwrap();
            let x: Vec<f64> = (0..inputs).map(|i| (i * 7 % 11) as f64 - 5.0).collect();
            let got = apply(&map, &weights, &x);
            assert_eq!(got.len(), outputs);
            for (out, value) in got.into_iter().enumerate() {
                let mut sum = 0.0;
                chain_row(&map, &weights, out, &mut |at, w| sum += w * x[at]);
                assert!((value - sum).abs() < 1e-9, "{image:?} {out}: {value} {sum}");
            }
        }
    }

    #[test]
    fn chains_are_products() {
        let sides = vec![2, 3, 2];
        let sum = Linear::Sum { sides, summed: vec![false, true, false], factor: 0.5 };
        let dense = Linear::Dense { lead: 1, rows: 2, columns: 4, trail: 1, transposed: true, weights: 0 };
        let chain = [sum, dense];
        let weights = vec![vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]];
        let x: Vec<f64> = (0..12).map(f64::from).collect();
        // Half the sums are 3, 4.5, 12, 13.5.
        let wanted = [3.0 + 3.0 * 4.5 + 5.0 * 12.0 + 7.0 * 13.5, 6.0 + 4.0 * 4.5 + 6.0 * 12.0 + 8.0 * 13.5];
        assert_eq!(apply(&chain, &weights, &x), wanted);
        assert_eq!(entries(&chain, 2), 24);
    }

    #[test]
    fn views_move_repeat_and_fill() {
        // The transpose of 2×3, padded with a row of zeros before.
        let rows = Axis { before: 1, side: 3, ..Axis::whole(4, 1) };
        let view = Linear::View { axes: vec![rows, Axis::whole(2, 3)], offset: 0, inputs: 6 };
        assert_eq!(view.sizes(&[]), Some([6, 8]));
        let x: Vec<f64> = (1..=6).map(f64::from).collect();
        assert_eq!(apply(&[view], &[], &x), [0.0, 0.0, 1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let edge = Axis { before: 1, side: 2, nearest: true, ..Axis::whole(4, 1) };
        assert_eq!(
            apply(&[Linear::View { axes: vec![edge], offset: 0, inputs: 2 }], &[], &[8.0, 9.0]),
            [8.0, 8.0, 9.0, 9.0]
        );
    }

    #[test]
    fn what_reaches_outside_is_refused() {
        let view = |size, offset| Linear::View { axes: vec![Axis::whole(size, 1)], offset, inputs: 6 };
        assert!(view(6, 0).sizes(&[]).is_some() && view(6, 1).sizes(&[]).is_none() && view(0, 0).sizes(&[]).is_none());
        assert!(view(usize::MAX, 0).sizes(&[]).is_none());
        let conv = |window| Linear::Convolution { window, weights: 0 }.sizes(&[24]);
        assert!(conv(window([4, 1], 1, [5, 7], [3, 5])).is_some());
        assert!(conv(window([4, 1], 1, [5, 7], [4, 5])).is_some(), "a fourth window lies in padding alone");
        assert!(conv(window([4, 1], 3, [5, 7], [3, 5])).is_none() && conv(window([4, 1], 0, [5, 7], [3, 5])).is_none());
        assert!(Linear::Scale { axes: vec![Axis::whole(3, 1)], weights: 0 }.sizes(&[2]).is_none());
        let dense = Linear::Dense { lead: 1, rows: 2, columns: 3, trail: 1, transposed: false, weights: 1 };
        assert!(dense.sizes(&[6]).is_none() && dense.sizes(&[0, 6]).is_some());
    }
}
