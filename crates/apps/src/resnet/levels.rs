//! The level of each layer, and the positions of bootstrapping.
//!
//! Bootstrap as late as possible: only before an activation whose output level would be too low for the next layer
//! ([`LevelPolicy`]'s rule). A bootstrapping inside a block leaves the block's input low, so the end of the block needs
//! another one. Then every layer moves to its lowest possible level, because limbs determine its cost.

use super::{ResnetError, network::Position};
use limbwise::ckks::LevelPolicy;
use serde::Serialize;

/// The levels of a convolution and of the activation after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Levels {
    /// Level of the convolution's input; its result is one lower.
    pub convolution: usize,
    /// Whether to bootstrap between the two.
    pub bootstrap: bool,
    /// Level at which the activation starts.
    pub activation: usize,
    /// Level at which the activation ends.
    pub result: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LevelPlan {
    pub steps: Vec<Levels>,
    /// Level of the linear layer's input; its result is one lower.
    pub linear: usize,
}

impl LevelPlan {
    /// For convolutions in these positions with activations of this depth.
    ///
    /// # Errors
    /// [`ResnetError::Levels`] where an activation and a convolution do not fit between two bootstrappings.
    pub fn new(positions: &[Position], depth: usize, policy: LevelPolicy) -> Result<Self, ResnetError> {
        let needed = |above: usize| ResnetError::Levels { depth, needed: above + 1, levels: policy.levels() };
        let mut before = Vec::new();
        // Levels as high as they can be, to see where they end. A block's input is added at its end. Where there is
        // bootstrapping images come low: keys for the first convolution at the top would be the largest of all.
        let mut level = if policy.bootstraps { policy.above(1) } else { policy.top };
        let mut entry = level;
        for position in positions {
            if *position == Position::First {
                entry = level;
            }
            level = level.checked_sub(1).ok_or_else(|| needed(depth))?;
            if *position == Position::Second {
                level = level.min(entry - 1);
            }
            // The activation, and the convolution after it.
            let all = if policy.bootstraps { depth } else { positions.len() * (depth + 1) };
            let start = policy.start(level, depth + 1).ok_or_else(|| needed(all))?;
            before.push(start.bootstrap);
            level = start.level - depth;
        }
        Ok(Self::lowest(positions, depth, policy.floor, &before))
    }

    /// From the end to the beginning: each result as low as who takes it allows.
    fn lowest(positions: &[Position], depth: usize, floor: usize, before: &[bool]) -> Self {
        let linear = floor + 1;
        let (mut next, mut entry) = (linear, linear);
        let mut steps: Vec<Levels> = Vec::new();
        for (position, &bootstrap) in positions.iter().zip(before).rev() {
            // What a block was given is added to its second convolution's result.
            let result = next.max(entry);
            let activation = result + depth;
            let convolution = if bootstrap { floor + 1 } else { activation + 1 };
            steps.push(Levels { convolution, bootstrap, activation, result });
            entry = match position {
                Position::Second => 0,
                Position::First => steps[steps.len() - 2].convolution,
                Position::Stem => 0,
            };
            next = convolution;
        }
        steps.reverse();
        Self { steps, linear }
    }

    pub fn bootstraps(&self) -> usize {
        self.steps.iter().filter(|step| step.bootstrap).count()
    }

    /// The level that images are encrypted at.
    pub fn input(&self) -> usize {
        self.steps.first().map_or(self.linear, |step| step.convolution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(blocks: usize) -> Vec<Position> {
        let mut all = vec![Position::Stem];
        all.extend([Position::First, Position::Second].repeat(blocks));
        all
    }

    /// Walks a plan with the rules of the program, and fails where a level is not there.
    fn holds(positions: &[Position], plan: &LevelPlan, depth: usize, [floor, top]: [usize; 2]) {
        let (mut level, mut entry) = (plan.input(), 0);
        for (position, step) in positions.iter().zip(&plan.steps) {
            if *position == Position::First {
                entry = level;
            }
            assert!(level >= step.convolution, "{plan:?}");
            level = step.convolution - 1;
            if *position == Position::Second {
                assert!(entry > level, "{plan:?}");
            }
            assert!(level >= floor);
            if step.bootstrap {
                level = top;
            }
            assert!(level >= step.activation && step.activation - depth == step.result, "{plan:?}");
            level = step.result;
        }
        assert!(level >= plan.linear && plan.linear > floor);
    }

    #[test]
    fn plans_hold_and_bootstrap_no_more_than_they_must() {
        let all = positions(9);
        for (depth, floor, top, bootstraps) in [(13, 3, 17, 19), (12, 3, 17, 19), (6, 3, 17, 10), (3, 2, 17, 9)] {
            let plan = LevelPlan::new(&all, depth, LevelPolicy { floor, top, bootstraps: true }).unwrap();
            holds(&all, &plan, depth, [floor, top]);
            assert!(plan.bootstraps() <= bootstraps, "{}: {plan:?}", plan.bootstraps());
            assert!(plan.bootstraps() >= (all.len() * (depth + 1)).div_ceil(top - floor) - 2);
        }
        let lowest = LevelPlan::new(&all, 12, LevelPolicy { floor: 3, top: 17, bootstraps: true }).unwrap();
        assert!(lowest.steps.iter().all(|s| s.convolution == 4 && s.activation == 16));
    }

    #[test]
    fn too_few_levels_are_an_error() {
        let policy = |floor, top, bootstraps| LevelPolicy { floor, top, bootstraps };
        let text = LevelPlan::new(&positions(1), 13, policy(3, 16, true)).unwrap_err().to_string();
        assert!(text.contains("14 levels") && text.contains("13"), "{text}");
        assert!(LevelPlan::new(&positions(1), 3, policy(0, 11, false)).is_err());
        let plan = LevelPlan::new(&positions(1), 3, policy(0, 13, false)).unwrap();
        holds(&positions(1), &plan, 3, [0, 13]);
        assert_eq!((plan.bootstraps(), plan.input()), (0, 13));
    }
}
