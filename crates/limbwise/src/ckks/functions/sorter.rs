//! One stage of a sorting network on slots: all of its groups at once.
//!
//! A sorter of k inputs compares every pair of its members in one evaluation of the sign, on at most ⌊k/2⌋ ciphertexts: slot
//! i of a group holds x_i − x_{i+t}, indices modulo k. Then it inserts member after member: b_j tells whether the new one
//! goes before the j-th, and each insertion is one product a position, `m_j = b_j·(new − y_j)`, after which
//! `y_j + m_j − m_{j−1}` is in order. What the later members need to know, their comparisons with the j-th, moves along in the
//! same way, and so do columns that are sorted by the first. The sum of all members is kept, and members nearer to each other
//! than the gap become mixtures of themselves: no value leaves the range.
//! Where a group has fewer members than the sorter, the slots of those that are missing may be members of other groups. A mask
//! on the copies of each member and on each comparison, a level more, keeps these from each other.
//! Source: the network of \[HKC21\]; Differs: its sorters take order statistics, ours insert, which keeps sums.

use super::{
    Comparison, Group, Network, Stage,
    composed::{Composed, Ready, exact, known},
};
use crate::{
    ckks::{Auto, Ciphertext, Estimate, LevelPolicy},
    error::{FunctionError, Result},
};
use limbwise_device::Device;
use num_complex::Complex64;
use std::collections::BTreeMap;

/// Time of the sign of one message, in bootstrappings of one.
const STEP: f64 = 0.35;
/// Time of a rotation with its mask or product.
const MOVE: f64 = 0.02;

/// Sorts slots in [0, 1] by a network, stage by stage.
#[derive(Clone, Debug)]
pub struct Sorter {
    step: Composed,
    ways: usize,
    /// Whether some stage masks its comparisons.
    partial: bool,
}

impl Sorter {
    /// A sorter for a network.
    ///
    /// # Errors
    /// [`FunctionError::Domain`] unless the comparison's range is one, as that of the values.
    pub fn new(comparison: &Comparison, network: &Network) -> Result<Self> {
        let range = comparison.range();
        if (range - 1.0).abs() > f64::EPSILON {
            return Err(FunctionError::Domain { function: "sort", peak: 1.0, range }.into());
        }
        let partial = network.stages.iter().any(|stage| stage.is_partial(network.ways));
        Ok(Self { step: comparison.composed_step().clone(), ways: network.ways, partial })
    }

    /// Slots that a network needs: where not all are in use, groups that begin before the first position need others than
    /// those that end behind the last.
    #[must_use]
    pub fn slots(network: &Network) -> usize {
        let before = network.stages.iter().flat_map(|stage| &stage.groups).map(|group| group.first).min().unwrap_or(0);
        let slots = network.count.next_power_of_two();
        let room = (slots - network.count) as i64;
        if slots == network.count || room >= -before { slots } else { 2 * slots }
    }

    /// Levels of the deepest stage, without those of bootstrapping: masks, the step, and a product a member after the
    /// first.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.step.depth() + self.ways + usize::from(self.partial)
    }

    /// Levels that a stage finds before it begins, so that it can bootstrap on its way.
    #[must_use]
    pub fn first_levels(&self) -> usize {
        1 + self.step.depths().next().unwrap_or(0).max(self.ways - 1)
    }

    /// Rotations of a stage, each of one or a few hops: members to the first and back, what wraps, and comparisons.
    #[must_use]
    pub fn rotations(&self) -> usize {
        let k = self.ways;
        2 * (k - 1) + (k - 1) / 2 + k * (k - 1) / 2 - k / 2
    }

    /// Messages that the stages of a network bootstrap, of a batch with so many columns that begins at the top.
    #[must_use]
    pub fn bootstrapped(&self, policy: LevelPolicy, network: &Network, columns: usize) -> usize {
        let (top, compared) = (policy.levels(), self.ways / 2);
        let (mut left, mut count) = (top, 0);
        // Levels of messages that want some.
        let mut ready = |has: usize, wants: usize, messages: usize| {
            count += if has < wants { messages } else { 0 };
            if has < wants { top } else { has }
        };
        for stage in &network.stages {
            let products = self.ways - 1 + usize::from(stage.is_partial(self.ways));
            let x = ready(left, self.first_levels(), columns);
            let mut steps = x - 1;
            for depth in self.step.depths() {
                steps = ready(steps, depth, compared).saturating_sub(depth);
            }
            let steps = ready(steps, products, compared) + self.ways - 1 - products;
            left = steps.min(x - 1).saturating_sub(self.ways - 1);
        }
        count
    }

    /// What the stages of a network cost, in bootstrappings of one message: those, and what else the stages do. The shares
    /// are estimates from one run; they decide between networks only.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "numbers of stages and messages")]
    pub fn cost(&self, policy: LevelPolicy, network: &Network, columns: usize) -> f64 {
        let of_stage = STEP * (self.ways / 2) as f64 + MOVE * self.rotations() as f64;
        let bootstrapped = if policy.bootstraps { self.bootstrapped(policy, network, columns) } else { 0 };
        let (stages, masked) =
            (network.stages.len(), network.stages.iter().filter(|s| s.is_partial(self.ways)).count());
        let pairs = self.ways * (self.ways - 1) / 2;
        bootstrapped as f64 + stages as f64 * of_stage + MOVE * (masked * pairs) as f64
    }

    /// One stage. The first message of the batch is sorted, and the others move with it. All are in [0, 1].
    ///
    /// # Errors
    /// Too few levels, a missing key, or an error of `ready`.
    pub fn stage<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        stage: &Stage,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        let x = ready(x, self.first_levels())?;
        let _region = auto.eval.device().region("sorter", u32::try_from(self.ways).unwrap_or(u32::MAX));
        let on = OnSlots::new(auto, stage, self.ways, x.slots);
        let members = on.members(&x)?;
        let differences = on.differences(&members)?;
        let members = on.masked(&members)?;
        let (steps, entered) = self.step.followed(auto, &differences, ready)?;
        let steps = ready(&steps, self.ways - 1 + usize::from(on.partial))?;
        // The sum of two values and of d·step(d): each passes at most k − 1 of these.
        let error = |argument: f64| {
            let d_step = self.step.product_deviation(argument, &entered.own());
            (std::f64::consts::SQRT_2 * d_step).hypot(if on.partial { on.after_mask(&steps, 0.0) } else { 0.0 })
        };
        let sorted = on.inserted(&members, &on.comparisons(&steps)?, &error)?;
        let mut out = x;
        for (j, (new, old)) in sorted.iter().zip(&members).enumerate() {
            let change = auto.sub(new, old)?;
            out = auto.add(&out, &on.moved(&change, -on.offset(j))?)?;
        }
        let error = sorted.iter().map(|y| y.estimate.error()).fold(0.0, f64::max);
        Ok(known(auto.settle(&out)?, 1.0, error))
    }
}

impl Sorter {
    /// One stage on clear slots, with the same polynomial in the place of the sign: the first row is sorted, and the
    /// others move with it.
    ///
    /// # Panics
    /// Unless all rows have one length, and some slots.
    pub fn stage_in_clear(&self, rows: &mut [Vec<f64>], stage: &Stage) {
        let slots = rows[0].len();
        let groups = in_slots(stage, slots);
        for group in groups {
            let at: Vec<usize> = (0..group.len).map(|j| slot(group, j, stage.stride, slots)).collect();
            // Whether j goes before i, for i < j.
            let before = |i: usize, j: usize| {
                let apart = if group.compares(i, j) { rows[0][at[i]] - rows[0][at[j]] } else { -1.0 };
                self.step.evaluate(if group.descending { -apart } else { apart })
            };
            let pairs: Vec<Vec<f64>> = (0..group.len).map(|j| (0..j).map(|i| before(i, j)).collect()).collect();
            let mut goes_before: Vec<Vec<f64>> = pairs.iter().map(|of| of.iter().take(1).copied().collect()).collect();
            let mut sorted: Vec<Vec<f64>> = rows.iter().map(|row| vec![row[at[0]]]).collect();
            for t in 1..group.len {
                let b = goes_before[t].clone();
                sorted.iter_mut().zip(&*rows).for_each(|(list, row)| insert(list, row[at[t]], &b));
                goes_before.iter_mut().zip(&pairs).skip(t + 1).for_each(|(list, pair)| insert(list, pair[t], &b));
            }
            for (row, list) in rows.iter_mut().zip(sorted) {
                at.iter().zip(list).for_each(|(&p, x)| row[p] = x);
            }
        }
    }
}

/// Inserts a value into a list, before the j-th by the share b_j.
fn insert(list: &mut Vec<f64>, new: f64, before: &[f64]) {
    let moved: Vec<f64> = list.iter().zip(before).map(|(y, b)| b * (new - y)).collect();
    list.push(new);
    for (y, m) in list.iter_mut().zip(&moved) {
        *y += m;
    }
    for (y, m) in list.iter_mut().skip(1).zip(&moved) {
        *y -= m;
    }
}

/// The groups of a stage on so many slots. Where all slots are in use, what begins before the first position and what ends
/// behind the last meet: there they are one group, as two blocks are elsewhere.
fn in_slots(stage: &Stage, slots: usize) -> Vec<Group> {
    let moved = stage.groups.iter().map(|group| Group { first: group.first.rem_euclid(slots as i64), ..*group });
    moved.map(|group| (group.first, group)).collect::<BTreeMap<_, _>>().into_values().collect()
}

/// Slot of a member.
fn slot(group: Group, member: usize, stride: usize, slots: usize) -> usize {
    usize::try_from(group.position(member, stride).rem_euclid(slots as i64)).unwrap_or(0)
}

/// A stage on so many slots.
struct OnSlots<'s, 'a, D: Device> {
    auto: &'s Auto<'a, D>,
    stride: usize,
    groups: Vec<Group>,
    ways: usize,
    slots: usize,
    /// Whether some groups have fewer members than the sorter.
    partial: bool,
}

/// Whether one member goes before another, earlier one: for each pair of them, where member 0 of the group stands.
struct Comparisons<D: Device>(Vec<Vec<Ciphertext<D>>>);

impl<'s, 'a, D: Device> OnSlots<'s, 'a, D> {
    fn new(auto: &'s Auto<'a, D>, stage: &Stage, ways: usize, slots: usize) -> Self {
        let (groups, partial) = (in_slots(stage, slots), stage.is_partial(ways));
        Self { auto, stride: stage.stride, groups, ways, slots, partial }
    }

    /// Slots from member 0 to another.
    fn offset(&self, member: usize) -> i64 {
        (member * self.stride) as i64
    }

    /// Slots to the left, by powers of two forward and back: few keys serve all strides.
    fn moved(&self, x: &Ciphertext<D>, steps: i64) -> Result<Ciphertext<D>> {
        hops(steps, self.slots).into_iter().try_fold(x.clone(), |x, hop| self.auto.rotate(&x, hop))
    }

    /// Every member where member 0 stands.
    fn members(&self, x: &Ciphertext<D>) -> Result<Vec<Ciphertext<D>>> {
        (0..self.ways).map(|j| self.moved(x, self.offset(j))).collect()
    }

    /// Those of the groups alone; zero for members that a group lacks.
    fn masked(&self, members: &[Ciphertext<D>]) -> Result<Vec<Ciphertext<D>>> {
        members.iter().enumerate().map(|(j, x)| self.at_first(x, |group| j < group.len)).collect()
    }

    /// What stands where member 0 of some groups does, zero elsewhere.
    fn at_first(&self, x: &Ciphertext<D>, keeps: impl Fn(&Group) -> bool) -> Result<Ciphertext<D>> {
        let mask = self.values(|group, member| if member == 0 && keeps(group) { 1.0 } else { 0.0 });
        let masked = self.auto.settle(&self.auto.mul_values(x, &mask)?)?;
        // Where the mask is one, the error is what it was; the rule of products would take the mean of the mask.
        Ok(known(masked, x.estimate.peak.min(1.0), self.after_mask(x, x.estimate.error())))
    }

    /// An error after a mask, whose product is divided by the primes of the level.
    fn after_mask(&self, x: &Ciphertext<D>, error: f64) -> f64 {
        let params = self.auto.eval.params();
        let division = Estimate::constant(0.0).divided(params, x.slots, params.scale(x.level.saturating_sub(1)));
        error.hypot(division.error())
    }

    /// Slots with a value for each member of each group, zero elsewhere.
    fn values(&self, of: impl Fn(&Group, usize) -> f64) -> Vec<Complex64> {
        let mut values = vec![Complex64::default(); self.slots];
        for group in &self.groups {
            for member in 0..group.len {
                values[slot(*group, member, self.stride, self.slots)] = of(group, member).into();
            }
        }
        values
    }

    /// At member i of each group x_i − x_{i+t}, indices modulo k: a message for each t up to k/2. Members of two blocks
    /// count as in order, as far apart as values can be.
    fn differences(&self, members: &[Ciphertext<D>]) -> Result<Ciphertext<D>> {
        let (auto, k) = (self.auto, self.ways);
        let key = |x: &Ciphertext<D>| auto.eval.split(x, 0, 1);
        let x = key(&members[0]);
        let mut all = Vec::new();
        for (t, ahead) in (1..=k / 2).zip(&members[1..]) {
            let direction = |descending: bool| if descending { -1.0 } else { 1.0 };
            // Of an even number the farthest are compared once.
            let pairs = if 2 * t == k { t } else { k };
            let is_pair = |group: &Group, i: usize| i < pairs && group.compares(i, (i + t) % k);
            let here = |wraps: bool| {
                self.values(|group, i| {
                    let counts = is_pair(group, i) && (i + t >= k) == wraps;
                    if counts { direction(group.descending) } else { 0.0 }
                })
            };
            let ahead = auto.sub(&x, &key(ahead))?;
            let mut sum = auto.mul_values(&ahead, &here(false))?;
            if 2 * t < k {
                let behind = auto.sub(&x, &self.moved(&x, self.offset(t) - self.offset(k))?)?;
                sum = auto.add(&sum, &auto.mul_values(&behind, &here(true))?)?;
            }
            let sum = auto.settle(&sum)?;
            let apart = self.values(|group, i| match i < pairs && !group.compares(i, (i + t) % k) {
                // What is not compared is masked there.
                _ if self.partial => 0.0,
                true if i + t < k => -1.0,
                true => 1.0,
                false => 0.0,
            });
            let sum = if apart.iter().any(|z| z.re != 0.0) { auto.add_values(&sum, &apart)? } else { sum };
            let of_both = std::f64::consts::SQRT_2 * x.estimate.error();
            all.push(known(sum, 1.0, self.after_mask(&x, of_both)));
        }
        Ok(auto.eval.stack(&all))
    }

    /// Brings the steps of all pairs to where member 0 stands.
    fn comparisons(&self, steps: &Ciphertext<D>) -> Result<Comparisons<D>> {
        let (auto, k) = (self.auto, self.ways);
        let mut pairs: Vec<Vec<Option<Ciphertext<D>>>> = (0..k).map(|j| vec![None; j]).collect();
        for t in 1..=k / 2 {
            let steps = auto.eval.split(steps, t - 1, t);
            for i in 0..(if 2 * t == k { t } else { k }) {
                let j = (i + t) % k;
                // 1 where member j goes before member i.
                let before = self.moved(&steps, self.offset(i))?;
                let (late, early) = (i.max(j), i.min(j));
                let before = if j > i {
                    before
                } else {
                    auto.add_scalar(&auto.eval.negate(&before), 1.0).bounded_by(steps.estimate.peak)
                };
                pairs[late][early] = Some(match self.partial {
                    true => self.at_first(&before, |group| group.compares(early, late))?,
                    false => before,
                });
            }
        }
        Ok(Comparisons(pairs.into_iter().map(|of| of.into_iter().flatten().collect()).collect()))
    }

    /// The members in order: one after another is inserted into those that are. `error` is that of a value of two which
    /// passed a comparison, by the error of both.
    fn inserted(
        &self,
        members: &[Ciphertext<D>],
        Comparisons(pairs): &Comparisons<D>,
        error: &dyn Fn(f64) -> f64,
    ) -> Result<Vec<Ciphertext<D>>> {
        let mut values = vec![members[0].clone()];
        // Of each later member: whether it goes before the one that is j-th now.
        let mut goes_before: Vec<Vec<Ciphertext<D>>> =
            pairs.iter().map(|of| of.iter().take(1).cloned().collect()).collect();
        for t in 1..self.ways {
            let before = goes_before[t].clone();
            let mut rows: Vec<(&mut Vec<Ciphertext<D>>, Ciphertext<D>)> = vec![(&mut values, members[t].clone())];
            rows.extend(goes_before.iter_mut().zip(pairs).skip(t + 1).map(|(row, pair)| (row, pair[t].clone())));
            let mut products = self.products(&before, &rows)?.into_iter();
            for (at, (row, new)) in rows.into_iter().enumerate() {
                let entering = row.iter().map(|y| y.estimate.error()).fold(new.estimate.error(), f64::max);
                let of_row: Vec<Ciphertext<D>> = products.by_ref().take(t).collect();
                let own = of_row.iter().map(|m| m.estimate.error()).fold(0.0, f64::max);
                // A comparison that moves has the error of one of two, a value what both and the step make of it.
                let error = if at == 0 { error(entering).hypot(own) } else { entering.hypot(own) };
                let peak = if at == 0 { 1.0 } else { new.estimate.peak };
                row.push(new);
                for j in (0..=t).rev() {
                    let mut y = row[j].clone();
                    if let Some(m) = of_row.get(j) {
                        y = self.auto.add(&y, m)?;
                    }
                    if j > 0 {
                        y = self.auto.sub(&y, &of_row[j - 1])?;
                    }
                    row[j] = known(self.auto.settle(&y)?, peak, error);
                }
            }
        }
        Ok(values)
    }

    /// `before_j·(new − y_j)` of every row, in one batch. The error of each is that of the product alone.
    fn products(
        &self,
        before: &[Ciphertext<D>],
        rows: &[(&mut Vec<Ciphertext<D>>, Ciphertext<D>)],
    ) -> Result<Vec<Ciphertext<D>>> {
        let auto = self.auto;
        let (mut left, mut right, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for (row, new) in rows {
            for (y, b) in row.iter().zip(before) {
                let change = auto.settle(&auto.sub(new, y)?)?;
                sizes.push(change.batch());
                right.extend(vec![b.clone(); change.batch()]);
                left.push(change);
            }
        }
        let level = left.iter().chain(&right).map(|c| c.level).min().unwrap_or(0);
        let at_level = |all: &[Ciphertext<D>]| -> Result<Ciphertext<D>> {
            let all = all.iter().map(|c| auto.scale_to(c, 1.0, level)).collect::<Result<Vec<_>>>()?;
            Ok(exact(&auto.eval.stack(&all)))
        };
        let product = auto.settle(&auto.mul(&at_level(&left)?, &at_level(&right)?)?)?;
        let mut from = 0;
        let part = |size: usize| {
            from += size;
            auto.eval.split(&product, from - size, from)
        };
        Ok(sizes.into_iter().map(part).collect())
    }
}

/// A rotation as rotations by powers of two, forward and back, as few as there are.
pub(super) fn hops(steps: i64, slots: usize) -> Vec<i64> {
    let slots = slots as i64;
    let left = steps.rem_euclid(slots);
    let mut rest = if left > slots / 2 { left - slots } else { left };
    let (mut hops, mut power) = (Vec::new(), 1);
    while rest != 0 {
        // A digit of −1, 0 or 1, so that the next one is 0: the non-adjacent form.
        let digit = if rest % 2 == 0 { 0 } else { 2 - rest.rem_euclid(4) };
        if digit != 0 {
            hops.push(digit * power);
        }
        rest = (rest - digit) / 2;
        power *= 2;
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_add_up_and_are_few() {
        for steps in -300..300 {
            let all = hops(steps, 256);
            assert_eq!((all.iter().sum::<i64>() - steps).rem_euclid(256), 0, "{steps}: {all:?}");
            assert!(all.len() <= 4 && all.iter().all(|h| h.unsigned_abs().is_power_of_two()));
        }
        assert_eq!(hops(3, 256), [-1, 4]);
        assert_eq!(hops(-4, 256), [-4]);
    }
}
