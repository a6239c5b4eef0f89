//! Ranges of lazily reduced values, tracked while compiling.
//!
//! A butterfly adds to or subtracts from `x` a product in [−q, q), so bounds grow; a *look-up correction*
//! `x − table[x / u]` brings `x` back to `offset + [0, q + u)`. The planners below choose where to correct, at least
//! cost, and assert that every value which is multiplied, looked up or stored stays where it must. A plan that does not
//! hold does not compile.
//!
//! Units: the prime of a kernel has b bits and `8·u` is the capacity, at most 2^52. A kernel serves one ratio of q to u,
//! named by the bits of the largest prime it takes: [`ROOMY`] (q in (u/4, u/2), every b up to it), [`MEDIUM`] (q in (u/2, u))
//! and [`TIGHT`] (q in (u, 2u)). Bounds are linear in q, or replaced by their chord where a larger of two is taken, so it is enough to
//! hold them at both ends of that interval: pairs of numbers in quarters of u.

use limbwise_math::prime_class::PrimeClass;

/// The kind of the widest primes of the class.
pub(super) const TIGHT: u32 = PrimeClass::Short.max_bits();
/// The kind of primes of a bit less.
pub(super) const MEDIUM: u32 = TIGHT - 1;
/// The kind of all others.
pub(super) const ROOMY: u32 = TIGHT - 2;

/// log₂ of u where it is largest.
pub(super) const LOG_U: u32 = 49;
const _: () =
    assert!(TIGHT == LOG_U + 1 && LOG_U + 3 == 52, "the widest primes are below 2u, and 8u is what multiply-adds read");

/// `8·u` in quarters.
const CAPACITY: i32 = 32;

/// A half-open interval, at the smallest and at the largest q.
#[derive(Clone, Copy)]
pub(super) struct Range {
    low: [i32; 2],
    high: [i32; 2],
}

/// Everything that may be multiplied or looked up.
pub(super) const FULL: Range = Range { low: [0; 2], high: [CAPACITY; 2] };

/// The smallest and the largest q, in quarters of u.
const fn prime(kind: u32) -> [i32; 2] {
    let largest = 1 << (kind + 1 - ROOMY);
    [largest / 2, largest]
}

const fn multiple(kind: u32, factor: i32) -> [i32; 2] {
    let [a, b] = prime(kind);
    [factor * a, factor * b]
}

const fn sum(a: [i32; 2], b: [i32; 2]) -> [i32; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

const fn difference(a: [i32; 2], b: [i32; 2]) -> [i32; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

impl Range {
    /// `[low·q, high·q)`.
    pub(super) const fn multiples(kind: u32, low: i32, high: i32) -> Self {
        Self { low: multiple(kind, low), high: multiple(kind, high) }
    }

    /// Range after a look-up that resolves `step` quarters of u: `offset·q + [0, q + step)`.
    pub(super) const fn looked_up(kind: u32, offset: i32, step: i32) -> Self {
        let low = multiple(kind, offset);
        Self { low, high: sum(sum(low, prime(kind)), [step; 2]) }
    }

    /// Range after `stages` butterflies as the operand that is added to.
    const fn grown(self, kind: u32, stages: i32) -> Self {
        let by = multiple(kind, stages);
        Self { low: difference(self.low, by), high: sum(self.high, by) }
    }

    const fn plus(self, other: Self) -> Self {
        Self { low: sum(self.low, other.low), high: sum(self.high, other.high) }
    }

    const fn minus(self, other: Self) -> Self {
        Self { low: difference(self.low, other.high), high: difference(self.high, other.low) }
    }

    /// The least range that holds both.
    pub(super) const fn union(self, other: Self) -> Self {
        let mut union = self;
        let mut end = 0;
        while end < 2 {
            if other.low[end] < union.low[end] {
                union.low[end] = other.low[end];
            }
            if other.high[end] > union.high[end] {
                union.high[end] = other.high[end];
            }
            end += 1;
        }
        union
    }

    const fn within(self, outer: Self) -> bool {
        self.low[0] >= outer.low[0]
            && self.low[1] >= outer.low[1]
            && self.high[0] <= outer.high[0]
            && self.high[1] <= outer.high[1]
    }
}

// ---- forward ------------------------------------------------------------------------------------------------------

/// Multiples of q by which a forward look-up lifts: the most stages that fit below and above.
pub(super) const fn forward_offset(kind: u32) -> i32 {
    match kind {
        ROOMY => 6,
        MEDIUM => 3,
        _ => 1,
    }
}

/// Range after a forward look-up; its table resolves u.
pub(super) const fn forward_fresh(kind: u32) -> Range {
    Range::looked_up(kind, forward_offset(kind), 4)
}

/// Between two forward passes.
pub(super) const fn forward_memory(kind: u32) -> Range {
    forward_fresh(kind).grown(kind, if kind == ROOMY { 4 } else { 1 })
}

/// Operands that a forward pass corrects: bit i of entry s is set where position i is looked up before stage s.
#[derive(Clone, Copy)]
pub(super) struct ForwardPlan {
    pub(super) fix: [u16; 4],
}

/// Corrections needed while `range` goes through `uses` more stages as `x`, each doubling it, to end within `exit`.
const fn forward_cost(kind: u32, range: Range, uses: u32, exit: Range) -> u32 {
    if uses == 0 {
        return if range.within(exit) { 0 } else { 1 << 16 };
    }
    let keep = 2 * forward_cost(kind, range.grown(kind, 1), uses - 1, exit);
    if !range.within(FULL) {
        return keep;
    }
    let correct = 1 + 2 * forward_cost(kind, forward_fresh(kind).grown(kind, 1), uses - 1, exit);
    if keep <= correct { keep } else { correct }
}

/// Plans a forward pass of radix 2^`log_r` from one input range to one output range.
pub(super) const fn plan_forward(kind: u32, log_r: u32, input: Range, exit: Range) -> ForwardPlan {
    let radix = 1usize << log_r;
    let mut at = [input; 16];
    let mut fix = [0; 4];
    let mut stage = 0;
    while stage < log_r {
        let half = radix >> (stage + 1);
        let mut i = 0;
        while i < radix {
            if i & half == 0 {
                let mut uses = 0;
                while stage + uses < log_r && i & (radix >> (stage + uses + 1)) == 0 {
                    uses += 1;
                }
                let end = if stage + uses == log_r { exit } else { FULL };
                let keep = 2 * forward_cost(kind, at[i].grown(kind, 1), uses - 1, end);
                let correct = 1 + 2 * forward_cost(kind, forward_fresh(kind).grown(kind, 1), uses - 1, end);
                if correct < keep {
                    assert!(at[i].within(FULL), "looked up out of range");
                    fix[stage as usize] |= 1 << i;
                    at[i] = forward_fresh(kind);
                }
                assert!(at[i + half].within(FULL), "multiplied out of range");
                at[i] = at[i].grown(kind, 1);
                at[i + half] = at[i];
            }
            i += 1;
        }
        stage += 1;
    }
    let mut i = 0;
    while i < radix {
        assert!(at[i].within(exit), "left the output range");
        i += 1;
    }
    ForwardPlan { fix }
}

// ---- inverse ------------------------------------------------------------------------------------------------------

/// Multiples of q added to a difference that could be negative.
pub(super) const fn inverse_offset(kind: u32) -> i32 {
    match kind {
        ROOMY => 8,
        MEDIUM => 4,
        _ => 2,
    }
}

/// Range after an inverse look-up; its table resolves u/2.
const fn inverse_fresh(kind: u32) -> Range {
    Range::looked_up(kind, 0, 2)
}

/// Between two inverse passes.
pub(super) const fn inverse_memory(kind: u32) -> Range {
    Range::multiples(kind, 0, if kind == ROOMY { 4 } else { 2 }).union(inverse_fresh(kind))
}

/// Extra steps of an inverse pass; bit i is position i.
///
/// A butterfly needs `x − y` and `x + y`, and the first must not be negative when it is multiplied. So a product that is
/// next a second operand is stored negated, by a negated factor in the table, and the first operand beside it starts
/// at 2q: their *sum* is then a difference within (0, 4q), their difference a sum, and no offset is added. Such
/// butterflies are *crossed*: those between two products of the stage before.
#[derive(Clone, Copy)]
pub(super) struct InversePlan {
    /// Looked up before the stage.
    pub(super) fix: [u16; 4],
    /// First operands of which the offset is added to what is subtracted from them.
    pub(super) lift: [u16; 4],
    /// Products that the stage leaves in [2q, 4q), because they are next subtracted from; others are in [0, 2q).
    pub(super) high: [u16; 4],
    /// Looked up before they are stored.
    pub(super) exit: u16,
    /// Additional vector operations a column.
    pub(super) cost: u32,
}

/// Whether the butterfly of first operand `i` at distance `half` has two products of the stage before.
pub(super) const fn is_crossed(i: usize, half: usize) -> bool {
    i & (half / 2) != 0
}

/// Cost of a look-up and of adding an offset, in vector operations.
const LOOK_UP: u32 = 3;
const LIFT: u32 = 1;

/// One way through a butterfly.
#[derive(Clone, Copy)]
struct Way {
    fix_x: bool,
    fix_y: bool,
    lift: bool,
    cost: u32,
    /// Range of what stays at x.
    sum: Range,
}

/// The cheapest way through one butterfly.
const fn inverse_way(kind: u32, x: Range, y: Range, crossed: bool) -> Way {
    let offset = inverse_offset(kind);
    let mut best = Way { fix_x: true, fix_y: true, lift: true, cost: u32::MAX, sum: FULL };
    let mut choice = 0;
    while choice < 8 {
        let (fix_x, fix_y, lift) = (choice & 1 != 0, choice & 2 != 0, choice & 4 != 0);
        let a = if fix_x { inverse_fresh(kind) } else { x };
        let b = if fix_y { inverse_fresh(kind) } else { y };
        let plus = a.plus(b);
        let minus =
            a.minus(b).plus(Range::multiples(kind, if lift { offset } else { 0 }, if lift { offset } else { 0 }));
        let cost = LOOK_UP * (fix_x as u32 + fix_y as u32) + LIFT * lift as u32;
        if cost < best.cost && plus.within(FULL) && minus.within(FULL) {
            best = Way { fix_x, fix_y, lift, cost, sum: if crossed { minus } else { plus } };
        }
        choice += 1;
    }
    assert!(best.cost < u32::MAX, "no way through a butterfly");
    best
}

/// The plan of an inverse pass of radix 2^`log_r`.
pub(super) const fn plan_inverse(kind: u32, log_r: u32, input: Range, exit: Range) -> InversePlan {
    let radix = 1usize << log_r;
    let mut at = [input; 16];
    let mut plan = InversePlan { fix: [0; 4], lift: [0; 4], high: [0; 4], exit: 0, cost: 0 };
    let mut stage = 0;
    while stage < log_r {
        let (half, s) = (1usize << stage, stage as usize);
        let mut i = 0;
        while i < radix {
            if i & half == 0 {
                let way = inverse_way(kind, at[i], at[i + half], is_crossed(i, half));
                plan.fix[s] |= (way.fix_x as u16) << i | (way.fix_y as u16) << (i + half);
                plan.lift[s] |= (way.lift as u16) << i;
                plan.cost += way.cost;
                // Room for 4q beside 2q has only a prime below u.
                let high = kind < TIGHT && stage + 1 < log_r && i & (2 * half) == 0;
                plan.high[s] |= (high as u16) << (i + half);
                at[i] = way.sum;
                at[i + half] = if high { Range::multiples(kind, 2, 4) } else { Range::multiples(kind, 0, 2) };
            }
            i += 1;
        }
        stage += 1;
    }
    let mut i = 0;
    while i < radix {
        if !at[i].within(exit) {
            assert!(at[i].within(FULL) && inverse_fresh(kind).within(exit), "left the output range");
            plan.exit |= 1 << i;
            plan.cost += LOOK_UP;
        }
        i += 1;
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Look-ups a column of a steady forward pass, and additional operations of an inverse one.
    #[test]
    fn corrections_are_few() {
        let forward = |kind| {
            let memory = forward_memory(kind);
            plan_forward(kind, 4, memory, memory).fix.iter().map(|f| f.count_ones()).sum::<u32>()
        };
        assert_eq!([ROOMY, MEDIUM, TIGHT].map(forward), [2, 10, 32]);
        let inverse = |kind| plan_inverse(kind, 4, inverse_memory(kind), inverse_memory(kind)).cost;
        let costs = [ROOMY, MEDIUM, TIGHT].map(inverse);
        assert_eq!(costs, [44, 62, 128]);
    }
}
