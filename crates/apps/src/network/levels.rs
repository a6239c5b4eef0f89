//! The level of each value, and which values are bootstrapped.
//!
//! Values go through [`LevelPolicy`]'s rule in their order: an operation whose operand is too low has it bootstrapped,
//! as late as possible. A branch that waits for another stays where it is, and is bootstrapped only if what joins it needs
//! that. Then every value moves down to the lowest level that its readers allow, because limbs determine the cost.

use super::{NetworkError, skeleton::Skeleton};
use limbwise::ckks::LevelPolicy;
use serde::Serialize;

/// The levels of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Levels {
    /// At which its operation ends, or it is encrypted.
    pub made: usize,
    /// Whether it is bootstrapped then.
    pub bootstrap: bool,
    /// At which its readers take it.
    pub read: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LevelPlan {
    pub values: Vec<Levels>,
}

struct Planner<'a> {
    skeleton: &'a Skeleton,
    /// Levels that the operation of each value takes.
    depths: &'a [usize],
    policy: LevelPolicy,
    /// Whether anyone reads a value.
    read: Vec<bool>,
}

impl Planner<'_> {
    /// The levels of all values as high as they can be, with these bootstrapped; or an operand that must be too.
    fn highest(&self, bootstrap: &[bool]) -> Result<(), usize> {
        let Self { skeleton, depths, policy, .. } = self;
        let mut levels: Vec<usize> = Vec::new();
        for (at, value) in skeleton.values.iter().enumerate() {
            let operands = value.operation.operands();
            // A function leaves the level that the map after it takes; a result needs none.
            let leaves = usize::from(depths[at] > 1 && self.read[at]);
            let needed = policy.above(depths[at] + leaves);
            let lowest = operands.iter().copied().min_by_key(|&of| levels[of]);
            let made = match lowest {
                Some(of) if levels[of] < needed => return Err(of),
                Some(of) => levels[of] - depths[at],
                None if policy.bootstraps => policy.above(1).min(policy.top),
                None => policy.top,
            };
            levels.push(if bootstrap[at] { policy.top } else { made });
        }
        Ok(())
    }

    /// Levels up to each value's result without bootstrapping.
    fn longest(&self) -> Vec<usize> {
        let mut all: Vec<usize> = Vec::new();
        for (value, depth) in self.skeleton.values.iter().zip(self.depths) {
            let before = value.operation.operands().iter().map(|&of| all[of]).max().unwrap_or(0);
            all.push(before + depth);
        }
        all
    }

    fn too_few(&self, bootstrap: &[bool]) -> NetworkError {
        let values = &self.skeleton.values;
        let levels = self.policy.levels();
        let refuse = |at: usize, needed: usize| NetworkError::Levels { layer: values[at].name.clone(), needed, levels };
        if self.policy.bootstraps {
            // The first whose own levels do not fit after a bootstrapping.
            let deep = (0..values.len()).find(|&at| self.depths[at] + usize::from(self.depths[at] > 1) > levels);
            let at = deep.or_else(|| bootstrap.iter().rposition(|&b| b)).unwrap_or(0);
            return refuse(at, self.depths[at] + 1);
        }
        let longest = self.longest();
        let at = (0..values.len()).max_by_key(|&at| longest[at]).unwrap_or(0);
        refuse(at, longest[at])
    }

    /// From the end to the beginning: each value as low as who reads it allows.
    fn lowest(&self, bootstrap: &[bool]) -> LevelPlan {
        let floor = self.policy.floor;
        let mut values = vec![Levels { made: floor, bootstrap: false, read: floor }; self.depths.len()];
        for at in (0..values.len()).rev() {
            let own = &mut values[at];
            (own.bootstrap, own.made) = (bootstrap[at], if bootstrap[at] { floor } else { own.read });
            let needed = own.made + self.depths[at];
            for of in self.skeleton.values[at].operation.operands() {
                values[of].read = values[of].read.max(needed);
            }
        }
        LevelPlan { values }
    }
}

impl LevelPlan {
    /// For operations that take so many levels.
    ///
    /// # Errors
    /// [`NetworkError::Levels`] where they do not fit.
    pub fn new(skeleton: &Skeleton, depths: &[usize], policy: LevelPolicy) -> Result<Self, NetworkError> {
        let mut read = vec![false; skeleton.values.len()];
        skeleton.values.iter().flat_map(|value| value.operation.operands()).for_each(|of| read[of] = true);
        let planner = Planner { skeleton, depths, policy, read };
        let mut bootstrap = vec![false; skeleton.values.len()];
        while let Err(of) = planner.highest(&bootstrap) {
            if !policy.bootstraps || bootstrap[of] {
                return Err(planner.too_few(&bootstrap));
            }
            bootstrap[of] = true;
        }
        Ok(planner.lowest(&bootstrap))
    }

    pub fn bootstraps(&self) -> usize {
        self.values.iter().filter(|levels| levels.bootstrap).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{
        function::{Expression, Named},
        skeleton::{Operation, Term, Value},
    };

    /// An input, then blocks of map, function, map, and the sum with what came in, as one value, and a function.
    fn residual(blocks: usize) -> Skeleton {
        let value = |operation| Value { name: "v".into(), shape: vec![4], operation };
        let affine = |of: &[usize]| {
            let terms = of.iter().map(|&of| Term { of, chain: Vec::new() }).collect();
            value(Operation::Affine { terms, bias: None })
        };
        let relu = |of| value(Operation::Function { of, expression: Expression::X.of(Named::Relu) });
        let mut values = vec![value(Operation::Input)];
        for _ in 0..blocks {
            let x = values.len() - 1;
            values.extend([affine(&[x]), relu(x + 1), affine(&[x + 2, x]), relu(x + 3)]);
        }
        let outputs = vec![values.len() - 1];
        Skeleton { values, weights: Vec::new(), outputs }
    }

    fn depths(skeleton: &Skeleton, function: usize) -> Vec<usize> {
        let depth = |value: &Value| match value.operation {
            Operation::Input => 0,
            Operation::Function { .. } => function,
            _ => 1,
        };
        skeleton.values.iter().map(depth).collect()
    }

    /// Fails where a value is read above where it is, or below the floor.
    fn holds(skeleton: &Skeleton, plan: &LevelPlan, depths: &[usize], policy: LevelPolicy) {
        for (at, value) in skeleton.values.iter().enumerate() {
            let levels = plan.values[at];
            assert!(
                levels.read <= if levels.bootstrap { policy.top } else { levels.made } && levels.made >= policy.floor
            );
            for of in value.operation.operands() {
                assert!(plan.values[of].read >= levels.made + depths[at]);
            }
        }
    }

    #[test]
    fn plans_hold_with_and_without_bootstrapping() {
        let (net, boot) = (residual(3), LevelPolicy { floor: 3, top: 17, bootstraps: true });
        for function in [2, 5, 8, 12] {
            let depths = depths(&net, function);
            let plan = LevelPlan::new(&net, &depths, boot).unwrap();
            holds(&net, &plan, &depths, boot);
            assert!((6 * (function + 1)).div_ceil(14) <= plan.bootstraps() + 1 && plan.bootstraps() <= 9, "{plan:?}");
        }
        let flat = |top| LevelPolicy { floor: 0, top, bootstraps: false };
        let depths = depths(&net, 5);
        let plan = LevelPlan::new(&net, &depths, flat(36)).unwrap();
        holds(&net, &plan, &depths, flat(36));
        assert_eq!((plan.bootstraps(), plan.values[0].read, plan.values[12].read), (0, 36, 0));
        let text = LevelPlan::new(&net, &depths, flat(35)).unwrap_err().to_string();
        assert!(text.contains("36 levels") && text.contains("have 35"), "{text}");
    }

    #[test]
    fn a_function_that_is_too_deep_is_refused() {
        let net = residual(1);
        let policy = LevelPolicy { floor: 3, top: 10, bootstraps: true };
        let text = LevelPlan::new(&net, &depths(&net, 8), policy).unwrap_err().to_string();
        assert!(text.contains("layer v: 9 levels") && text.contains("have 7"), "{text}");
    }
}
