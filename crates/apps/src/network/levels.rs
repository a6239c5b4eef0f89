//! The level of each value, and which values are bootstrapped.
//!
//! Values go through [`LevelPolicy`]'s rule in their order: an operation whose operand is too low has it bootstrapped,
//! as late as possible. A branch that waits for another stays where it is, and is bootstrapped only if what joins it needs
//! that. Bootstrappings that others make needless are left out, the last first. Inputs come at a low level, or at a high one
//! where that saves a bootstrapping. Then every value moves down to the lowest level that its readers allow, because limbs
//! determine the cost.

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

/// Operations before a bootstrapped value that are looked at for a better place.
const EARLIER: usize = 6;
/// Values that are looked at while better places are sought.
const MOST_TRIES: usize = 20_000_000;

struct Planner<'a> {
    skeleton: &'a Skeleton,
    /// Levels that the operation of each value takes.
    depths: &'a [usize],
    /// Ciphertexts that each value takes: a bootstrapping each.
    ciphertexts: &'a [usize],
    policy: LevelPolicy,
    /// Whether anyone reads a value.
    read: Vec<bool>,
    /// Highest level of an input.
    inputs: usize,
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
                None => self.inputs,
            };
            levels.push(if bootstrap[at] { policy.top } else { made });
        }
        Ok(())
    }

    /// The values that are bootstrapped.
    ///
    /// # Errors
    /// [`NetworkError::Levels`] where operations do not fit.
    fn bootstrapped(&self) -> Result<Vec<bool>, NetworkError> {
        let mut bootstrap = vec![false; self.depths.len()];
        while let Err(of) = self.highest(&bootstrap) {
            if !self.policy.bootstraps || bootstrap[of] {
                return Err(self.too_few(&bootstrap));
            }
            bootstrap[of] = true;
        }
        self.without_needless(&mut bootstrap);
        let mut tries = MOST_TRIES / bootstrap.len().max(1);
        for at in 0..bootstrap.len() {
            if bootstrap[at] && tries > 0 {
                self.earlier(at, &mut bootstrap, &mut tries);
            }
        }
        Ok(bootstrap)
    }

    /// Bootstrappings of ciphertexts.
    fn count(&self, bootstrap: &[bool]) -> usize {
        bootstrap.iter().zip(self.ciphertexts).filter(|(is, _)| **is).map(|(_, count)| count).sum()
    }

    /// Bootstraps nothing that the others make needless, the last first.
    fn without_needless(&self, bootstrap: &mut [bool]) {
        for at in (0..bootstrap.len()).rev() {
            if bootstrap[at] {
                bootstrap[at] = false;
                bootstrap[at] = self.highest(bootstrap).is_err();
            }
        }
    }

    /// Bootstraps what a value is made of in its place, where that makes others needless.
    fn earlier(&self, at: usize, bootstrap: &mut Vec<bool>, tries: &mut usize) {
        let count = |of: &[bool]| self.count(of);
        let (mut from, mut seen) = (vec![at], Vec::new());
        for _ in 0..EARLIER {
            from = from.iter().flat_map(|&at| self.skeleton.values[at].operation.operands()).collect();
            from.retain(|of| !seen.contains(of) && !bootstrap[*of]);
            from.sort_unstable();
            from.dedup();
            seen.extend(from.clone());
        }
        for of in seen {
            let mut other = bootstrap.clone();
            (other[at], other[of]) = (false, true);
            let tried = other.iter().filter(|&&is| is).count();
            if *tries < tried {
                return;
            }
            *tries -= tried;
            if self.highest(&other).is_ok() {
                self.without_needless(&mut other);
                if count(&other) < count(bootstrap) {
                    *bootstrap = other;
                    return;
                }
            }
        }
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
    /// For operations that take so many levels, and make so many ciphertexts.
    ///
    /// # Errors
    /// [`NetworkError::Levels`] where they do not fit.
    pub fn new(
        skeleton: &Skeleton,
        [depths, ciphertexts]: [&[usize]; 2],
        policy: LevelPolicy,
    ) -> Result<Self, NetworkError> {
        let mut read = vec![false; skeleton.values.len()];
        skeleton.values.iter().flat_map(|value| value.operation.operands()).for_each(|of| read[of] = true);
        let low = if policy.bootstraps { policy.above(1).min(policy.top) } else { policy.top };
        let mut planner = Planner { skeleton, depths, ciphertexts, policy, read, inputs: low };
        let mut bootstrap = planner.bootstrapped()?;
        if low < policy.top && planner.count(&bootstrap) > 0 {
            planner.inputs = policy.top;
            let other = planner.bootstrapped()?;
            if planner.count(&other) < planner.count(&bootstrap) {
                bootstrap = other;
            }
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

    /// Of values of a ciphertext each.
    fn planned(skeleton: &Skeleton, depths: &[usize], policy: LevelPolicy) -> Result<LevelPlan, NetworkError> {
        LevelPlan::new(skeleton, [depths, &vec![1; depths.len()]], policy)
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
            let plan = planned(&net, &depths, boot).unwrap();
            holds(&net, &plan, &depths, boot);
            assert!((6 * (function + 1)).div_ceil(14) <= plan.bootstraps() + 1 && plan.bootstraps() <= 9, "{plan:?}");
        }
        let flat = |top| LevelPolicy { floor: 0, top, bootstraps: false };
        let depths = depths(&net, 5);
        let plan = planned(&net, &depths, flat(36)).unwrap();
        holds(&net, &plan, &depths, flat(36));
        assert_eq!((plan.bootstraps(), plan.values[0].read, plan.values[12].read), (0, 36, 0));
        let text = planned(&net, &depths, flat(35)).unwrap_err().to_string();
        assert!(text.contains("36 levels") && text.contains("have 35"), "{text}");
    }

    /// An input that comes high saves a bootstrapping, and none is left that others make needless.
    #[test]
    fn no_bootstrapping_is_needless() {
        let policy = LevelPolicy { floor: 3, top: 17, bootstraps: true };
        let one = residual(1);
        let twelve = depths(&one, 5);
        let plan = planned(&one, &twelve, policy).unwrap();
        holds(&one, &plan, &twelve, policy);
        assert_eq!((plan.bootstraps(), plan.values[0].read), (0, 15));
        for (blocks, function) in [(3, 2), (4, 4), (6, 5), (8, 3)] {
            let net = residual(blocks);
            let depths = depths(&net, function);
            let plan = planned(&net, &depths, policy).unwrap();
            holds(&net, &plan, &depths, policy);
            let ones = vec![1; depths.len()];
            let planner = |inputs| Planner {
                skeleton: &net,
                depths: &depths,
                ciphertexts: &ones,
                policy,
                read: vec![true; net.values.len()],
                inputs,
            };
            let bootstrap: Vec<bool> = plan.values.iter().map(|levels| levels.bootstrap).collect();
            for at in (0..bootstrap.len()).filter(|&at| bootstrap[at]) {
                let mut fewer = bootstrap.clone();
                fewer[at] = false;
                assert!(planner(plan.values[0].read).highest(&fewer).is_err(), "{blocks} blocks, value {at}");
            }
        }
    }

    /// Of two values that wait for one, and are too low together, what both are made of is bootstrapped.
    #[test]
    fn what_several_are_made_of_is_bootstrapped_in_their_place() {
        let value = |operation| Value { name: "v".into(), shape: vec![4], operation };
        let terms = |of: &[usize]| of.iter().map(|&of| Term { of, chain: Vec::new() }).collect();
        let affine = |of: &[usize]| value(Operation::Affine { terms: terms(of), bias: None });
        // A long way, from whose end several maps go on before products join them.
        let mut values = vec![value(Operation::Input)];
        (0..12).for_each(|at| values.push(affine(&[at])));
        values.extend((0..3).map(|_| affine(&[12])));
        values.extend([value(Operation::Product { of: [13, 14] }), value(Operation::Product { of: [14, 15] })]);
        values.push(value(Operation::Product { of: [16, 17] }));
        let outputs = vec![values.len() - 1];
        let net = Skeleton { values, weights: Vec::new(), outputs };
        let depths: Vec<usize> = (0..net.values.len()).map(|at| usize::from(at > 0)).collect();
        let policy = LevelPolicy { floor: 3, top: 16, bootstraps: true };
        let plan = planned(&net, &depths, policy).unwrap();
        holds(&net, &plan, &depths, policy);
        assert_eq!(plan.bootstraps(), 1, "{plan:?}");
    }

    /// What lies in four ciphertexts is not bootstrapped where what it is made of lies in one.
    #[test]
    fn bootstrappings_are_counted_by_ciphertexts() {
        let net = residual(3);
        let wide = |at: usize| matches!(net.values[at].operation, Operation::Function { .. });
        let ciphertexts: Vec<usize> = (0..net.values.len()).map(|at| if wide(at) { 4 } else { 1 }).collect();
        let sum = |plan: &LevelPlan| -> usize {
            plan.values.iter().zip(&ciphertexts).filter(|(levels, _)| levels.bootstrap).map(|(_, count)| count).sum()
        };
        let mut saved = 0;
        for (top, function) in (9..17).flat_map(|top| (2..6).map(move |function| (top, function))) {
            let (policy, depths) = (LevelPolicy { floor: 3, top, bootstraps: true }, depths(&net, function));
            let [plan, even] = [&ciphertexts[..], &vec![1; depths.len()]]
                .map(|ciphertexts| LevelPlan::new(&net, [&depths, ciphertexts], policy).unwrap());
            holds(&net, &plan, &depths, policy);
            assert!(sum(&plan) <= sum(&even), "{top} {function}: {plan:?} {even:?}");
            saved += sum(&even) - sum(&plan);
        }
        assert!(saved > 0);
    }

    #[test]
    fn a_function_that_is_too_deep_is_refused() {
        let net = residual(1);
        let policy = LevelPolicy { floor: 3, top: 10, bootstraps: true };
        let text = planned(&net, &depths(&net, 8), policy).unwrap_err().to_string();
        assert!(text.contains("layer v: 9 levels") && text.contains("have 7"), "{text}");
    }
}
