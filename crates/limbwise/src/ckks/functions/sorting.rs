//! Rows in order: sorted, their first values, their medians, and where each value was.
//!
//! All rows go through one network at once: its groups are repeated for each row, and where rows meet, the end of one and
//! the beginning of the next are a group that is not compared across. The first values and the medians take networks that
//! do without what these do not need. Values of the interval are mapped into [0, 1]; the
//! places where they were are a column that moves along.

use super::{
    Axis, Comparison, Group, Network, NetworkKind, Rows, Selection, Sorter, Stage,
    composed::{Ready, inside, known, noiseless},
    network::power,
    sorter::hops,
};
use crate::{
    ckks::{Auto, Ciphertext, LevelPolicy},
    error::{FunctionError, LevelError, Result},
};
use limbwise_device::Device;

/// Share of the interval that is left free at both ends: what polynomials add must not leave [0, 1].
pub const MARGIN: f64 = 1.0 / 64.0;
/// Positions without a value: above every value.
pub const ABOVE: f64 = 1.0 - MARGIN / 2.0;
/// The sign's error is this many times smaller than the gap, so that what is far apart and is compared a hundred times
/// moves by less than the gap.
pub const FINER: f64 = 8.0;
/// Deepest polynomial of the sign: of degree 15.
pub const MOST_DEPTH: usize = 4;
/// Finest gap as a part of the interval: what bootstrapping adds in a hundred stages stays well below.
pub const FINEST: f64 = 1.0 / 65536.0;
/// A gap is at least this many deviations of the values wide.
const DEVIATIONS: f64 = 8.0;
/// An index in its row is wrong by at most this much.
const INDEX_ERROR: f64 = 0.25;

/// Which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The smallest first.
    Ascending,
    /// The greatest first.
    Descending,
}

/// What is asked of the sorted rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sorted {
    /// The first so many values.
    Values(usize),
    /// The first so many values, and in further messages the indices where they were.
    Places(usize),
    /// The one in the middle, or the mean of both that are, at place 0.
    Median,
}

/// The values to be sorted: their interval, and the least part of it that is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keys {
    /// Smallest and greatest value.
    pub interval: [f64; 2],
    /// Values that differ by less than this part of the interval may come in either order.
    pub gap: f64,
    /// Which comes first.
    pub order: Order,
}

/// Rows sorted by a network.
#[derive(Clone, Debug)]
pub struct Sorting {
    rows: Rows,
    keys: Keys,
    wanted: Sorted,
    network: Network,
    sorter: Sorter,
    policy: LevelPolicy,
}

impl Sorting {
    /// The cheapest network for rows of values: the one of fewest levels where nothing bootstraps, else that of least
    /// time.
    ///
    /// # Errors
    /// [`FunctionError::Gap`] for a gap that is none, is finer than a 65536th, or is beyond what polynomials tell;
    /// [`FunctionError::Bound`] for an interval that is none; [`LevelError`] if a stage does not fit between two
    /// bootstrappings.
    pub fn new(rows: &Rows, keys: Keys, wanted: Sorted, policy: LevelPolicy) -> Result<Self> {
        let [low, high] = keys.interval;
        if !(low < high && (high - low).is_finite()) {
            return Err(FunctionError::Bound { function: "sort", bound: high, most: f64::INFINITY }.into());
        }
        let refused = FunctionError::Gap { gap: keys.gap, range: 1.0, error: keys.gap / FINER, most: MOST_DEPTH };
        if !(keys.gap >= FINEST && keys.gap < 1.0) {
            return Err(refused.into());
        }
        let mut least_levels = None;
        let mut best: Option<Self> = None;
        for network in networks(rows.axis(), wanted) {
            let error = error(&network, &keys, wanted, rows.axis());
            let Ok(comparison) = Comparison::new(1.0, keys.told(), error, MOST_DEPTH) else { continue };
            let sorter = Sorter::new(&comparison, &network)?;
            if policy.bootstraps && sorter.first_levels() > policy.levels() {
                least_levels = least_levels.min(Some(sorter.first_levels())).or(Some(sorter.first_levels()));
                continue;
            }
            let this = Self { rows: rows.clone(), keys, wanted, network, sorter, policy };
            best = match best {
                Some(best) if best.cost() <= this.cost() => Some(best),
                _ => Some(this),
            };
        }
        best.ok_or_else(|| match least_levels {
            Some(needed) => {
                LevelError::Exhausted { op: "sort", needed, level: policy.levels(), top: policy.top }.into()
            }
            None => refused.into(),
        })
    }

    /// What decides between networks: levels where nothing bootstraps, else the time of messages that are.
    fn cost(&self) -> [f64; 2] {
        let columns = match self.wanted {
            Sorted::Places(_) => 2,
            Sorted::Values(_) | Sorted::Median => 1,
        };
        let time = self.sorter.cost(self.policy, &self.network, columns);
        #[expect(clippy::cast_precision_loss, reason = "a number of levels")]
        let levels = if self.policy.bootstraps { 0.0 } else { self.levels() as f64 };
        [levels, time]
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Levels without those of bootstrapping: the interval and back, and those of each stage.
    #[must_use]
    pub fn levels(&self) -> usize {
        2 + self.network.stages.len() * self.sorter.levels()
    }

    /// Rows in order.
    ///
    /// # Errors
    /// [`FunctionError::Domain`] for values that may lie beyond the interval; [`FunctionError::Precision`] for values
    /// with errors that hide the gap; too few levels; a missing key.
    pub fn apply<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        let [low, high] = self.keys.interval;
        self.rows.check_whole(x)?;
        inside("sort", x, low.abs().max(high.abs()))?;
        if !self.policy.bootstraps {
            auto.eval.needs("sort", x, self.levels())?;
        }
        let (mut values, mut places) = (Vec::new(), Vec::new());
        for m in 0..x.batch() {
            let message = auto.eval.split(x, m, m + 1);
            let Some(rows) = self.rows.in_message(m, x.slots) else {
                // A message without a value stays as it is.
                if let Sorted::Places(_) = self.wanted {
                    places.push(message.clone());
                }
                values.push(message);
                continue;
            };
            let this = Self { rows, ..self.clone() };
            let mut results = this.message(auto, &message, ready)?.into_iter();
            values.extend(results.next());
            places.extend(results.next());
        }
        values.append(&mut places);
        auto.stack(&values)
    }

    /// The same for one message; the indices are a second one.
    fn message<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<Vec<Ciphertext<D>>> {
        let _region = auto.eval.device().region("sort", u32::try_from(self.network.count).unwrap_or(u32::MAX));
        let mut x = self.columns(auto, &self.entered(auto, x, ready)?)?;
        let gap = self.keys.told();
        for stage in &self.network.stages {
            let error = auto.eval.split(&x, 0, 1).estimate.error();
            if gap < DEVIATIONS * error {
                let width = (self.keys.interval[1] - self.keys.interval[0]) / (1.0 - 2.0 * MARGIN);
                let [gap, error] = [gap, error].map(|part| part * width);
                return Err(FunctionError::Precision { function: "sort", gap, error, needed: DEVIATIONS }.into());
            }
            x = self.sorter.stage(auto, &x, &self.repeated(stage, x.slots), ready)?;
        }
        let x = ready(&x, 1)?;
        let [low, high] = self.keys.interval;
        let width = (high - low) / (1.0 - 2.0 * MARGIN);
        let [factor, shift] = match self.keys.order {
            Order::Ascending => [width, low - MARGIN * width],
            Order::Descending => [-width, high + MARGIN * width],
        };
        let values = auto.eval.split(&x, 0, 1);
        let bound = low.abs().max(high.abs()) + MARGIN * width;
        if self.wanted == Sorted::Median {
            return Ok(vec![self.median(auto, &values, [factor, shift])?.bounded_by(bound)]);
        }
        let (Sorted::Values(first) | Sorted::Places(first)) = self.wanted else { unreachable!("it is no median") };
        let rows = self.rows.shortened(first);
        let values = read(auto, &rows, &values, [factor, shift])?.bounded_by(bound);
        if x.batch() == 1 {
            return Ok(vec![values]);
        }
        let indices = read(auto, &rows, &auto.eval.split(&x, 1, 2), [self.room(), 0.0])?;
        Ok(vec![values, indices])
    }

    /// Indices are parts of this.
    #[expect(clippy::cast_precision_loss, reason = "places of an axis")]
    fn room(&self) -> f64 {
        self.rows.axis().extent as f64
    }

    /// Values as parts of the interval, in the order wanted; positions of the network without a value above all.
    fn entered<D: Device>(&self, auto: &Auto<'_, D>, x: &Ciphertext<D>, ready: Ready<'_, D>) -> Result<Ciphertext<D>> {
        let [low, high] = self.keys.interval;
        let factor = (1.0 - 2.0 * MARGIN) / (high - low);
        let [factor, shift] = match self.keys.order {
            Order::Ascending => [factor, MARGIN - low * factor],
            Order::Descending => [-factor, MARGIN + high * factor],
        };
        let Axis { length, .. } = self.rows.axis();
        let x = ready(x, 1)?;
        let part = auto.settle(&self.rows.masked(auto, &noiseless(&x), |_| factor)?)?;
        let error = (x.estimate.error() * factor).hypot(part.estimate.error());
        let whole = Rows::new(Axis { length: self.network.count, ..self.rows.axis() }, self.rows.others())?;
        let shifts = whole.values([1, x.slots], |index| index.map_or(0.0, |i| if i < length { shift } else { ABOVE }));
        Ok(known(auto.add_rows(&part, &shifts)?, 1.0, error))
    }

    /// The values, and with them where they are if that is asked for.
    fn columns<D: Device>(&self, auto: &Auto<'_, D>, x: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let Sorted::Places(_) = self.wanted else { return Ok(x.clone()) };
        #[expect(clippy::cast_precision_loss, reason = "places of an axis")]
        let part = |i: usize| i as f64 / self.room();
        let indices = self.rows.values([1, x.slots], |index| index.map_or(0.0, part));
        let nothing = auto.eval.sub(x, x)?;
        let nothing = Ciphertext { estimate: nothing.estimate.as_exact(0.0), ..nothing };
        Ok(auto.eval.stack(&[x.clone(), auto.add_rows(&nothing, &indices)?]))
    }

    /// A stage of the network for every row of a message.
    fn repeated(&self, stage: &Stage, slots: usize) -> Stage {
        let Axis { stride, extent, .. } = self.rows.axis();
        let rows = (0..slots).step_by(stride * extent).flat_map(|block| block..block + stride);
        let of_row = |row: usize| {
            let moved = move |group: &Group| Group { first: group.first * stride as i64 + row as i64, ..*group };
            stage.groups.iter().map(moved)
        };
        Stage { stride: stage.stride * stride, groups: rows.flat_map(of_row).collect() }
    }

    /// The middle of sorted rows at place 0, zero elsewhere.
    fn median<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        [factor, shift]: [f64; 2],
    ) -> Result<Ciphertext<D>> {
        let Axis { length, stride, .. } = self.rows.axis();
        let at = |index: usize| {
            let mut hops = hops((index * stride) as i64, x.slots).into_iter();
            hops.try_fold(x.clone(), |x, hop| auto.rotate(&x, hop))
        };
        let rows = self.rows.firsts();
        let upper = at(length / 2)?;
        if length % 2 == 1 {
            return read(auto, &rows, &upper, [factor, shift]);
        }
        let both = auto.add(&upper, &at(length / 2 - 1)?)?;
        read(auto, &rows, &both, [0.5 * factor, shift])
    }
}

impl Keys {
    /// The gap between values in [0, 1].
    fn told(&self) -> f64 {
        self.gap * (1.0 - 2.0 * MARGIN)
    }
}

/// `factor·x + shift` where values are, zero elsewhere.
fn read<D: Device>(
    auto: &Auto<'_, D>,
    rows: &Rows,
    x: &Ciphertext<D>,
    [factor, shift]: [f64; 2],
) -> Result<Ciphertext<D>> {
    let y = auto.settle(&rows.masked(auto, &noiseless(x), |_| factor)?)?;
    let error = (x.estimate.error() * factor).hypot(y.estimate.error());
    let shifts = rows.values([1, x.slots], |index| index.map_or(0.0, |_| shift));
    let y = known(y, x.estimate.peak * factor.abs(), error);
    if shift == 0.0 { Ok(y) } else { auto.add_rows(&y, &shifts) }
}

/// The networks that give what is wanted of the rows of an axis, as far as there is room for them.
fn networks(axis: Axis, wanted: Sorted) -> Vec<Network> {
    let count = axis.length.max(2);
    let selection = match wanted {
        Sorted::Values(first) | Sorted::Places(first) => Selection::First(first.min(axis.length)),
        Sorted::Median => Selection::Middle(axis.length),
    };
    // Networks are tried while they are made: those that have no room are not.
    let has_room = |ways: &usize| power(*ways, count).is_some_and(|power| ways.pow(power) <= axis.extent);
    let of_ways = |ways| match selection {
        Selection::First(first) if first >= axis.length => Network::new(NetworkKind::KWay(ways), count),
        _ => Network::selecting(ways, count, selection),
    };
    let halving = match selection {
        Selection::First(first) if first < axis.length => Network::halving(count, first),
        _ => None,
    };
    (2..=5).filter(has_room).filter_map(of_ways).chain(halving).filter(|network| fits(network, axis)).collect()
}

/// Whether there is room for a network in the rows of an axis.
fn fits(network: &Network, axis: Axis) -> bool {
    let groups = || network.stages.iter().flat_map(|stage| stage.groups.iter().map(move |group| (stage, group)));
    let before = groups().map(|(_, group)| -group.first).max().unwrap_or(0);
    let last = groups().map(|(stage, group)| group.position(network.ways - 1, stage.stride)).max().unwrap_or(0);
    let (count, extent) = (network.count as i64, axis.extent as i64);
    // Groups that reach over the ends need places of no row, unless rows meet there.
    count == extent || (count < extent && before <= extent - count && last < extent)
}

/// The sign's error: an eighth of the gap, and so fine that indices which move along are wrong by a quarter at most.
fn error(network: &Network, keys: &Keys, wanted: Sorted, axis: Axis) -> f64 {
    let of_values = (keys.told() / FINER).min(0.5);
    match wanted {
        Sorted::Values(_) | Sorted::Median => of_values,
        Sorted::Places(_) => {
            // A value passes k − 1 insertions a stage; each moves its index by the sign's error of all that there are.
            #[expect(clippy::cast_precision_loss, reason = "places of an axis and stages")]
            let moves = (network.stages.len().max(1) * (network.ways - 1) * axis.length) as f64;
            of_values.min(INDEX_ERROR / moves)
        }
    }
}
