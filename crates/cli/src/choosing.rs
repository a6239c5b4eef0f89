//! Choosing a parameter set for a program: what is asked for, and the search in which the program's own plans judge.

use crate::{
    failure::Mistake,
    host::MemoryArgs,
    progress::note,
    readings::key_rate,
    text::choice,
    workload::{Whole, Workload, refused},
};
use limbwise::{
    params::{Bootstrapping, Params},
    rlwe::KeyForm,
};
use limbwise_apps::{
    AnyPrepared, Prepared, on_scheme,
    options::{named_params, usual_slots},
};
use limbwise_math::finite;
use limbwise_runtime::{
    AnyDevice, Calibration, Plan,
    calibrate::{self, degrees},
    frontier::{Budget, Row, Survey, Way, frontier, survey_prepared},
    scheme::SchemePlan,
    sets::{Demand, Found, Judged, Ladder, Part, near, search},
};
use std::{collections::BTreeSet, path::PathBuf};

/// What is asked of a parameter set, beside `--memory`.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DemandArgs {
    /// CKKS: precision of the first result, in bits, at least
    #[arg(long, value_name = "BITS", value_parser = bits, allow_negative_numbers = true, global = true, help_heading = "Choose the parameters")]
    bits: Option<f64>,

    /// TFHE: log2 of the probability that any message is wrong, at most, such as -40
    #[arg(long, value_name = "LOG2", value_parser = failure, allow_negative_numbers = true, global = true, help_heading = "Choose the parameters")]
    log2_failure: Option<f64>,

    /// BGV: bits that the noise leaves free in the results, at least
    #[arg(long, value_name = "BITS", value_parser = bits, allow_negative_numbers = true, global = true, help_heading = "Choose the parameters")]
    budget_bits: Option<f64>,

    /// CKKS: levels that the program leaves in its results, without those that bootstrapping begins with, at least
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=100), global = true, help_heading = "Choose the parameters")]
    levels_left: Option<u32>,

    /// Seconds of the evaluation on this host, at most
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true, global = true, help_heading = "Choose the parameters")]
    within: Option<f64>,
}

fn within(text: &str, range: std::ops::RangeInclusive<f64>, wanted: &str) -> Result<f64, String> {
    finite::parse(text).ok().filter(|number| range.contains(number)).ok_or_else(|| format!("wanted {wanted}"))
}

fn bits(text: &str) -> Result<f64, String> {
    within(text, 0.0..=1000.0, "a number of bits from 0 to 1000; 10 to 30 is usual")
}

fn failure(text: &str) -> Result<f64, String> {
    within(text, -500.0..=0.0, "a number from -500 to 0; -40 is one failure in 10^12")
}

fn seconds(text: &str) -> Result<f64, String> {
    within(text, 1e-6..=1e9, "a number of seconds above 0")
}

impl DemandArgs {
    /// The demand, if there is one.
    pub(crate) fn demand(&self) -> Demand {
        Demand::default()
            .with(Part::Bits, self.bits)
            .with(Part::Log2Failure, self.log2_failure)
            .with(Part::BudgetBits, self.budget_bits)
            .with(Part::LevelsLeft, self.levels_left.map(f64::from))
            .with(Part::Seconds, self.within)
    }
}

/// A program whose parameters are looked for.
pub(crate) struct Choosing<'a> {
    workload: &'a Workload,
    dev: &'a AnyDevice,
    memory: Option<u64>,
    key_dir: PathBuf,
    /// How fast keys come from there, once it was measured.
    key_read_gb_s: Option<Option<f64>>,
    /// Notes that were told: one a calibration is enough.
    told: BTreeSet<String>,
    /// What the program has on its usual set.
    usual: Usual,
}

#[derive(Default)]
struct Usual {
    /// The configurations that no other beats in both memory and time, the fastest first.
    ways: Vec<Way>,
    /// Slots that are bootstrapped at once.
    slots: Option<usize>,
}

impl<'a> Choosing<'a> {
    pub(crate) fn new(workload: &'a Workload, dev: &'a AnyDevice, memory: &MemoryArgs) -> Self {
        let (memory, key_dir) = (memory.most, memory.key_dir());
        Self { workload, dev, memory, key_dir, key_read_gb_s: None, told: BTreeSet::new(), usual: Usual::default() }
    }

    /// The set with the fewest seconds that meets the demand, and everything that was judged.
    ///
    /// A set that the user named is where the search begins. Otherwise it begins with the presets of the scheme or, for a
    /// program of CKKS that does not bootstrap, with chains of as many levels as it takes.
    ///
    /// # Errors
    /// [`Mistake`] for a demand that the scheme does not have, or that no set meets: with what contradicts what, and the nearest.
    pub(crate) fn chosen(&mut self, demand: Demand) -> anyhow::Result<(Judged, Found)> {
        let scheme = self.workload.scheme();
        if let Some(part) = demand.strange(scheme) {
            return Err(Mistake(choice::strange(part, self.workload.name(), scheme)).into());
        }
        let (judged, plan) = self.usual()?;
        let demand = no_worse(demand, &plan, &judged);
        let ladders = self.ladders(&demand, &plan)?;
        let demand = demand.with(Part::Memory, self.memory.map(|bytes| bytes as f64));
        let found = search(ladders, &demand, |name, best| {
            let judged = self.judged(name, |fastest| demand.may_beat(fastest, best))?;
            if let Ok(judged) = &judged {
                note(&choice::line(judged));
            }
            Ok::<_, anyhow::Error>(judged)
        })?;
        match found.best(&demand) {
            Some(best) => Ok((best.clone(), found)),
            None => Err(Mistake(choice::nothing(&demand, &found)).into()),
        }
    }

    /// The plan on the set that the program has without a demand.
    fn usual(&mut self) -> anyhow::Result<(Judged, Plan)> {
        on_scheme!(AnyPrepared, self.workload.prepare(None).map_err(refused)?, built => {
            let calibration = self.calibration(&built)?;
            let mut built = built;
            let (rows, judged, plan) = least_plan(&mut built, &calibration, None)?;
            let slots = match &plan.scheme {
                SchemePlan::Ckks(slots) => slots.bootstrapping.map(|bootstrapping| bootstrapping.plan.slots),
                _ => None,
            };
            self.usual = Usual { ways: frontier(&rows).iter().map(|row| row.way).collect(), slots };
            Ok((judged, plan))
        })
    }

    fn ladders(&mut self, demand: &Demand, usual: &Plan) -> anyhow::Result<Vec<Ladder>> {
        if let Some(named) = self.workload.clone().preset() {
            return Ok(vec![vec![named.clone()]]);
        }
        let SchemePlan::Ckks(slots) = &usual.scheme else { return Ok(near::of_scheme(self.workload.scheme())) };
        if slots.bootstrapping.is_some() {
            return Ok(near::bootstrapping());
        }
        // Some programs leave levels unused and do not say so: as few as it takes.
        let mut levels = slots.levels.used.max(1);
        while let Some(fewer) = near::with_levels(&usual.head.preset, levels - 1) {
            match self.judged(&fewer, |_| false)? {
                Ok(_) => levels -= 1,
                Err(_) => break,
            }
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
        let left = demand.of(Part::LevelsLeft).unwrap_or(0.0) as usize;
        Ok(near::chains(levels + left))
    }

    /// What the program's plan says of a set, or why it does not take it.
    ///
    /// The set is planned in the configuration that was the fastest on the usual set, and in the others of that set's
    /// frontier only where `others` finds the first worth it. A set that bootstraps fewer slots at once is not planned: it
    /// would take every value in parts, or stand for a smaller program.
    fn judged(&mut self, name: &str, others: impl Fn(&Judged) -> bool) -> anyhow::Result<Result<Judged, String>> {
        if let (Some(slots), Ok(params)) = (self.usual.slots, named_params(name))
            && usual_slots(name, &params) < slots
        {
            return Ok(Err(choice::fewer_slots(usual_slots(name, &params), slots)));
        }
        let mut workload = self.workload.clone();
        *workload.preset() = Some(name.to_owned());
        let prepared = match workload.prepare(self.memory) {
            Ok(prepared) => prepared,
            Err(why) => return Ok(Err(why.to_string())),
        };
        on_scheme!(AnyPrepared, prepared, built => {
            let calibration = self.calibration(&built)?;
            let planned = self.within_frontier(built, &calibration, others);
            Ok(planned.map_err(|why| why.to_string()))
        })
    }

    fn within_frontier<S: Whole>(
        &self,
        mut built: Prepared<S>,
        calibration: &Calibration,
        others: impl Fn(&Judged) -> bool,
    ) -> limbwise_runtime::Result<Judged> {
        let known: Vec<Way> = self.usual.ways.iter().copied().filter(|way| built.ways.contains(way)).collect();
        if let [fastest, _, ..] = known[..] {
            built.ways = vec![fastest];
            let (_, judged, _) = least_plan(&mut built, calibration, None)?;
            if !others(&judged) {
                return Ok(judged);
            }
            built.ways = known;
        }
        least_plan(&mut built, calibration, self.memory).map(|(_, judged, _)| judged)
    }

    fn calibration<S: Whole>(&mut self, built: &Prepared<S>) -> anyhow::Result<Calibration> {
        let told = &mut self.told;
        let tell = |text: &str| {
            if told.insert(text.to_owned()) {
                note(text);
            }
        };
        let calibration = calibrate::calibrated(self.dev, degrees::<S>(built.params()), tell)?;
        let reads = built.ways.iter().any(|way| way.keys == KeyForm::Disk);
        let Some(rlwe) = S::rlwe(built.params()).filter(|_| reads) else { return Ok(calibration) };
        let rate = match self.key_read_gb_s {
            Some(rate) => rate,
            None => *self.key_read_gb_s.insert(key_rate(self.dev, rlwe, &self.key_dir)?),
        };
        Ok(Calibration { key_read_gb_s: rate, ..calibration })
    }
}

/// The demand, and results that are no worse than on the usual set where it says nothing of them: without a demand the
/// fastest set is one whose results are worth nothing.
fn no_worse(demand: Demand, usual: &Plan, judged: &Judged) -> Demand {
    let of_scheme = match &usual.scheme {
        SchemePlan::Tfhe(_) | SchemePlan::Bridged(_) => Part::Log2Failure,
        SchemePlan::Bgv(_) => Part::BudgetBits,
        SchemePlan::Ckks(_) => Part::Bits,
    };
    let levels = usual.levels_won().map(|_| Part::LevelsLeft);
    [Some(of_scheme), levels].into_iter().flatten().fold(demand, |demand, part| {
        match (demand.of(part), judged.number(part)) {
            (None, Some(number)) => {
                note(&choice::no_worse(part, number, &judged.preset));
                demand.with(part, Some(number))
            }
            _ => demand,
        }
    })
}

/// All configurations, and the plan of the fastest within the memory or, if none is, of the smallest.
fn least_plan<S: Whole>(
    built: &mut Prepared<S>,
    calibration: &Calibration,
    memory: Option<u64>,
) -> limbwise_runtime::Result<(Vec<Row>, Judged, Plan)> {
    let begins = |params: &Params| params.bootstrapping().map_or(0, Bootstrapping::input_level);
    let reserved = S::rlwe(built.params()).map_or(0, begins);
    let budget = Budget::of(memory, &built.ways);
    let Survey { rows, chosen } = survey_prepared(built, calibration, budget)?;
    let plan = match chosen {
        Some((_, _, plan)) => plan,
        None => {
            let smallest = rows.iter().min_by_key(|row| row.peak_bytes);
            built.ways = smallest.map(|row| vec![row.way]).unwrap_or_default();
            let alone = survey_prepared(built, calibration, Budget::Free(u64::MAX))?;
            alone.chosen.expect("a program can be run in some way").2
        }
    };
    Ok((rows, Judged::of(&plan, reserved), plan))
}
