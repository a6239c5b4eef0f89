//! The search for a parameter set: from a demand to the set with the fewest seconds that meets it.
//!
//! Every set is judged by the plan of the program itself: no formula of a set's cost or precision is used. [`near`] names
//! the sets, this module walks from one to the next.

pub mod near;

use crate::{plan::Plan, scheme::SchemePlan};
use limbwise::scheme::{Bgv, Bridged, Ckks, Scheme as _, Tfhe};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

/// A number that is asked of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Precision of the first result, in bits, at least.
    Bits,
    /// log₂ of the probability that any bootstrapping of TFHE fails, at most.
    Log2Failure,
    /// Noise budget of BGV's results, in bits, at least.
    BudgetBits,
    /// Levels left in the lowest result, without those that bootstrapping begins with, at least.
    LevelsLeft,
    /// Memory of the process in bytes, at most.
    Memory,
    /// Seconds of the evaluation, at most.
    Seconds,
}

/// What is asked of a set: each part with its bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand(BTreeMap<Part, f64>);

impl Demand {
    /// The same with a bound on one more part, if there is one.
    #[must_use]
    pub fn with(mut self, part: Part, bound: Option<f64>) -> Self {
        self.0.extend(bound.map(|bound| (part, bound)));
        self
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn parts(&self) -> impl Iterator<Item = (Part, f64)> {
        self.0.iter().map(|(&part, &bound)| (part, bound))
    }

    pub fn of(&self, part: Part) -> Option<f64> {
        self.0.get(&part).copied()
    }

    /// Parts that a scheme's programs do not have.
    pub fn strange(&self, scheme: &str) -> Option<Part> {
        let has = |part: Part| match part {
            Part::Bits => scheme == Ckks::NAME,
            Part::LevelsLeft => [Ckks::NAME, Bridged::NAME].contains(&scheme),
            Part::Log2Failure => [Tfhe::NAME, Bridged::NAME].contains(&scheme),
            Part::BudgetBits => scheme == Bgv::NAME,
            Part::Memory | Part::Seconds => true,
        };
        self.0.keys().copied().find(|&part| !has(part))
    }

    /// By how much a part is missed, as a share of its bound; 0 where it is met. A number that a plan does not have misses.
    fn miss(&self, part: Part, judged: &Judged) -> f64 {
        let Some(bound) = self.of(part) else { return 0.0 };
        let Some(got) = judged.number(part) else { return f64::INFINITY };
        let beyond = match part {
            Part::Bits | Part::BudgetBits | Part::LevelsLeft => bound - got,
            Part::Log2Failure | Part::Memory | Part::Seconds => got - bound,
        };
        if beyond <= 0.0 { 0.0 } else { beyond / bound.abs().max(1e-9) }
    }

    /// The parts that a set misses.
    pub fn missed(&self, judged: &Judged) -> Vec<Part> {
        self.0.keys().copied().filter(|&part| self.miss(part, judged) > 0.0).collect()
    }

    fn is_met(&self, judged: &Judged) -> bool {
        self.missed(judged).is_empty()
    }

    /// Whether another configuration of a set may be better than the best so far, by its fastest one: not where that one
    /// is slower, or misses what no configuration changes.
    pub fn may_beat(&self, fastest: &Judged, best: Option<&Judged>) -> bool {
        let missed = self.missed(fastest);
        match best.filter(|best| self.is_met(best)) {
            None => true,
            Some(best) => fastest.seconds <= best.seconds && missed.iter().all(|&part| part == Part::Memory),
        }
    }

    /// All that is missed, as a sum of shares.
    fn shortfall(&self, judged: &Judged) -> f64 {
        self.0.keys().map(|&part| self.miss(part, judged)).sum()
    }
}

/// What a program's plan says of a set.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Judged {
    /// Its name, with what differs from a preset: `boot:dnum=5`.
    pub preset: String,
    /// Precision of the first result, in bits, of CKKS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision_bits: Option<f64>,
    /// log₂ of the probability that any bootstrapping of TFHE fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log2_failure: Option<f64>,
    /// Noise budget of BGV's results, in bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_bits: Option<f64>,
    /// Rescales left in the lowest result, without those that bootstrapping begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels_left: Option<usize>,
    /// Most memory of the process.
    pub peak_memory_bytes: u64,
    /// Time of the evaluation.
    pub seconds: f64,
}

impl Judged {
    /// The numbers of a plan; `reserved` are the levels that bootstrapping begins with.
    pub fn of(plan: &Plan, reserved: usize) -> Self {
        let mut judged = Self {
            preset: plan.head.preset.clone(),
            precision_bits: None,
            log2_failure: None,
            budget_bits: None,
            levels_left: None,
            peak_memory_bytes: plan.peak_memory_bytes.predicted,
            seconds: plan.seconds_predicted,
        };
        match &plan.scheme {
            SchemePlan::Ckks(slots) => {
                judged.precision_bits = Some(slots.precision_bits.predicted);
                judged.levels_left = Some(slots.levels_left.saturating_sub(reserved));
            }
            SchemePlan::Tfhe(messages) => judged.log2_failure = Some(messages.failure.program),
            SchemePlan::Bgv(integers) => judged.budget_bits = Some(integers.budget_bits),
            SchemePlan::Bridged(both) => {
                judged.levels_left = Some(both.levels[1].saturating_sub(reserved));
                judged.log2_failure = Some(both.failure.program.max(both.log2_bridge_failure));
            }
        }
        judged
    }

    pub fn number(&self, part: Part) -> Option<f64> {
        match part {
            Part::Bits => self.precision_bits,
            Part::Log2Failure => self.log2_failure,
            Part::BudgetBits => self.budget_bits,
            Part::LevelsLeft => self.levels_left.map(|levels| levels as f64),
            Part::Memory => Some(self.peak_memory_bytes as f64),
            Part::Seconds => Some(self.seconds),
        }
    }
}

/// Sets of which the first that the program takes is judged, and the others are not: rings from the smallest up.
pub type Ladder = Vec<String>;

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Every set that the program takes, in the order in which they were judged.
    pub judged: Vec<Judged>,
    /// Sets that it does not take, with the reason.
    pub refused: Vec<(String, String)>,
}

impl Found {
    /// The set with the fewest seconds of those that meet the demand; of equals the one with the least memory.
    pub fn best(&self, demand: &Demand) -> Option<&Judged> {
        let cost = |judged: &Judged| (judged.seconds, judged.peak_memory_bytes);
        let meets = self.judged.iter().filter(|judged| demand.is_met(judged));
        meets.min_by(|a, b| cost(a).partial_cmp(&cost(b)).unwrap_or(Ordering::Equal))
    }

    /// The set that misses least.
    pub fn nearest(&self, demand: &Demand) -> Option<&Judged> {
        self.judged.iter().min_by(|a, b| demand.shortfall(a).total_cmp(&demand.shortfall(b)))
    }

    /// For each part the set that meets all others and comes nearest to it: where there is one, it is this part that
    /// contradicts the others.
    pub fn without_each(&self, demand: &Demand) -> Vec<(Part, &Judged)> {
        let one = |(part, _): (Part, f64)| {
            let others = |judged: &&Judged| demand.missed(judged) == [part];
            let near = |a: &&Judged, b: &&Judged| demand.miss(part, a).total_cmp(&demand.miss(part, b));
            self.judged.iter().filter(others).min_by(near).map(|judged| (part, judged))
        };
        demand.parts().filter_map(one).collect()
    }

    /// The parts that no set meets whatever else is asked for, each with the set that comes nearest.
    pub fn beyond_all(&self, demand: &Demand) -> Vec<(Part, &Judged)> {
        let nearest = |(part, _): (Part, f64)| {
            let miss = |judged: &Judged| demand.miss(part, judged);
            let judged = self.judged.iter().min_by(|a, b| miss(a).total_cmp(&miss(b)))?;
            (miss(judged) > 0.0).then_some((part, judged))
        };
        demand.parts().filter_map(nearest).collect()
    }
}

/// Most sets that a search judges. Walks end long before; it bounds a program whose plan does not settle.
const MOST: usize = 300;

/// Judges the first set of each ladder that the program takes. Then walks from the best of all: along each field as long as
/// that makes it better, until no step of any field does. `judge` is told of the best so far, so that it need not judge
/// what is worse in all its configurations.
///
/// # Errors
/// What `judge` fails with. A set that the program does not take is no failure: `Err` inside of `Ok`, with the reason.
pub fn search<E>(
    ladders: Vec<Ladder>,
    demand: &Demand,
    mut judge: impl FnMut(&str, Option<&Judged>) -> Result<Result<Judged, String>, E>,
) -> Result<Found, E> {
    let mut found = Found::default();
    let mut known = BTreeSet::new();
    let mut take = |name: String, found: &mut Found| -> Result<bool, E> {
        if known.len() < MOST && known.insert(name.clone()) {
            match judge(&name, found.best(demand))? {
                Ok(judged) => found.judged.push(judged),
                Err(why) => found.refused.push((name.clone(), why)),
            }
        }
        Ok(found.judged.iter().any(|judged| judged.preset == name))
    };
    for ladder in ladders {
        for name in ladder {
            if take(name, &mut found)? {
                break;
            }
        }
    }
    let at = |found: &Found| found.best(demand).or_else(|| found.nearest(demand)).map(|judged| judged.preset.clone());
    let mut here = at(&found);
    while let Some(start) = here.clone() {
        for step in near::steps() {
            while let Some(next) = here.as_deref().and_then(|here| near::after(here, step)) {
                take(next.clone(), &mut found)?;
                here = at(&found);
                if here.as_ref() != Some(&next) {
                    break;
                }
            }
        }
        if here.as_ref() == Some(&start) {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// A made-up program: more digits take longer and less memory and bring bits, more levels take more of both.
    fn toy(name: &str) -> Judged {
        let set = limbwise_apps::options::literal_of(name).unwrap();
        let (levels, dnum) = (set.levels.len(), set.dnum);
        Judged {
            preset: name.into(),
            precision_bits: Some(5.0 * dnum as f64),
            log2_failure: None,
            budget_bits: None,
            levels_left: Some(set.levels.len().saturating_sub(20)),
            peak_memory_bytes: 1_000_000_000 * levels as u64 / dnum as u64,
            seconds: (levels * dnum) as f64,
        }
    }

    fn searched(demand: &Demand) -> Found {
        searched_with(demand, |_| ())
    }

    fn searched_with(demand: &Demand, mut so_far: impl FnMut(Option<&Judged>)) -> Found {
        let ladders = ["n13-l3-s40", "boot", "boot-fast", "boot-precise"].map(|name| vec![name.to_owned()]);
        let judge = |name: &str, best: Option<&Judged>| {
            so_far(best);
            let judged = if name.starts_with("boot") { Ok(toy(name)) } else { Err("no bootstrapping".to_owned()) };
            Ok::<_, Infallible>(judged)
        };
        search(ladders.into(), demand, judge).unwrap()
    }

    #[test]
    fn the_fastest_that_meets_every_part_is_found_beside_the_presets() {
        let demand = Demand::default().with(Part::Bits, Some(20.0)).with(Part::Memory, Some(5.5e9));
        let found = searched(&demand);
        let best = found.best(&demand).unwrap();
        assert!(best.preset.contains(':') && demand.missed(best).is_empty(), "{best:?}");
        // No set around it is better: it is where the search ends.
        for near in near::steps().filter_map(|step| near::after(&best.preset, step)) {
            let near = toy(&near);
            assert!(!demand.missed(&near).is_empty() || near.seconds >= best.seconds, "{near:?} beside {best:?}");
        }
        assert_eq!(found.refused, [("n13-l3-s40".to_owned(), "no bootstrapping".to_owned())]);
        let names: BTreeSet<&str> = found.judged.iter().map(|judged| judged.preset.as_str()).collect();
        assert_eq!(names.len(), found.judged.len(), "no set is judged twice");
    }

    #[test]
    fn what_is_worse_in_its_fastest_configuration_is_not_judged_in_others() {
        let demand = Demand::default().with(Part::Bits, Some(20.0)).with(Part::Memory, Some(5.5e9));
        let best = searched(&demand).best(&demand).unwrap().clone();
        let worth = |change: fn(&mut Judged)| {
            let mut fastest = best.clone();
            change(&mut fastest);
            demand.may_beat(&fastest, Some(&best))
        };
        assert!(worth(|_| ()) && worth(|fastest| fastest.peak_memory_bytes *= 10), "memory is what the others save");
        assert!(!worth(|fastest| fastest.seconds *= 1.01) && !worth(|fastest| fastest.precision_bits = Some(19.0)));
        let (slower, short) =
            (Judged { seconds: 1e6, ..best.clone() }, Judged { precision_bits: None, ..best.clone() });
        assert!(demand.may_beat(&slower, None) && demand.may_beat(&slower, Some(&short)), "where nothing is met yet");
        let mut seconds = Vec::new();
        searched_with(&demand, |best| seconds.extend(best.filter(|best| demand.is_met(best)).map(|best| best.seconds)));
        assert!(seconds.len() > 3 && seconds.is_sorted_by(|a, b| a >= b), "the best so far: {seconds:?}");
    }

    #[test]
    fn parts_that_contradict_each_other_are_named() {
        let demand = Demand::default().with(Part::Bits, Some(20.0)).with(Part::Seconds, Some(30.0));
        let found = searched(&demand);
        assert_eq!(found.best(&demand), None);
        let without: Vec<(Part, bool)> = found
            .without_each(&demand)
            .iter()
            .map(|(part, judged)| (*part, demand.missed(judged) == [*part]))
            .collect();
        assert_eq!(without, [(Part::Bits, true), (Part::Seconds, true)], "each could be met without the other");
        let alone = Demand::default().with(Part::Bits, Some(1000.0));
        let found = searched(&alone);
        let most = found.judged.iter().filter_map(|judged| judged.precision_bits).fold(0.0, f64::max);
        assert!(found.best(&alone).is_none() && found.nearest(&alone).unwrap().precision_bits == Some(most));
        assert!(found.judged.len() < MOST);
        // Of two parts the one that is beyond every set is named, and no other.
        let both = alone.with(Part::Memory, Some(1e15));
        let beyond: Vec<Part> = searched(&both).beyond_all(&both).iter().map(|(part, _)| *part).collect();
        assert_eq!(beyond, [Part::Bits]);
        assert!(searched(&demand).beyond_all(&demand).is_empty(), "each alone is met");
    }

    #[test]
    fn what_a_scheme_does_not_have_is_strange() {
        let demand = Demand::default().with(Part::Bits, Some(20.0)).with(Part::Memory, None);
        assert_eq!(demand.parts().count(), 1);
        assert_eq!(
            [Ckks::NAME, Tfhe::NAME, Bgv::NAME].map(|s| demand.strange(s)),
            [None, Some(Part::Bits), Some(Part::Bits)]
        );
    }
}
