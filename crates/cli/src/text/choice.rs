//! Texts about the choice of a parameter set.

use super::units;
use limbwise::scheme::{Bgv, Scheme as _, Tfhe};
use limbwise_runtime::sets::{Demand, Found, Judged, Part};

/// The option that asks for a part.
fn option(part: Part) -> &'static str {
    match part {
        Part::Bits => "--bits",
        Part::Log2Failure => "--log2-failure",
        Part::BudgetBits => "--budget-bits",
        Part::LevelsLeft => "--levels-left",
        Part::Memory => "--memory",
        Part::Seconds => "--within",
    }
}

fn number(part: Part, value: f64) -> String {
    match part {
        Part::Bits => format!("{value:.1} bits"),
        Part::Log2Failure => format!("2^{value:.0} failures"),
        Part::BudgetBits => format!("{value:.0} bits of budget"),
        Part::LevelsLeft => format!("{value:.0} levels left"),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of bytes")]
        Part::Memory => units::bytes(value as u64),
        Part::Seconds => units::seconds(value),
    }
}

const ALL: [Part; 6] = [Part::Bits, Part::Log2Failure, Part::BudgetBits, Part::LevelsLeft, Part::Memory, Part::Seconds];

/// A set with what its plan says of it, in a line.
pub(crate) fn line(judged: &Judged) -> String {
    let numbers = ALL.into_iter().filter_map(|part| judged.number(part).map(|value| number(part, value)));
    format!("{}: {}", judged.preset, numbers.collect::<Vec<_>>().join(", "))
}

/// A part that was not asked for is to be no worse than on the usual set.
pub(crate) fn no_worse(part: Part, value: f64, preset: &str) -> String {
    format!("without {}: no worse than with {preset}, {}", option(part), number(part, value))
}

/// A set whose bootstrapping takes fewer slots than the program's does on its usual set.
pub(crate) fn fewer_slots(most: usize, slots: usize) -> String {
    format!("it bootstraps {most} slots at once, and the program {slots}")
}

/// A part that programs of this scheme do not have.
pub(crate) fn strange(part: Part, workload: &str, scheme: &str) -> String {
    let instead = match scheme {
        Tfhe::NAME => "its messages are exact: ask for --log2-failure",
        Bgv::NAME => "its integers are exact: ask for --budget-bits",
        _ => "ask for --bits, --levels-left, --memory or --within",
    };
    format!("{}: {workload} is a program of {scheme}; {instead}", option(part))
}

/// No set meets a demand: what contradicts what, and what is nearest.
pub(crate) fn nothing(demand: &Demand, found: &Found) -> String {
    let asked: Vec<String> =
        demand.parts().map(|(part, bound)| format!("{} ({})", option(part), number(part, bound))).collect();
    let mut text = format!("no set of {} that were judged meets {}", found.judged.len(), asked.join(" and "));
    if found.judged.is_empty() {
        let why = found.refused.first().map_or_else(String::new, |(name, why)| format!(", {name} because {why}"));
        return format!("{text}: the program takes none of {} sets{why}", found.refused.len());
    }
    let got = |part, judged: &Judged| {
        judged.number(part).map_or_else(|| "no such number".into(), |value| number(part, value))
    };
    let (beyond, without) = (found.beyond_all(demand), found.without_each(demand));
    let told = |part| without.iter().any(|(other, _)| *other == part);
    for &(part, judged) in beyond.iter().filter(|(part, _)| !told(*part)) {
        let (option, got) = (option(part), got(part, judged));
        text += &format!("\n{option} alone is beyond all of them: {} comes nearest, {got}", judged.preset);
    }
    for &(part, judged) in &without {
        let (option, got) = (option(part), got(part, judged));
        text += &format!("\nwithout {option}: {} comes nearest, {got} ({})", judged.preset, line(judged));
    }
    if without.is_empty()
        && let Some(nearest) = found.nearest(demand)
    {
        text += &format!("\nthe nearest of all: {}", line(nearest));
    }
    text + &less(&beyond, &without, demand)
}

/// What to ask for instead: less of each part that no set has, or of one of those that contradict the others.
fn less(beyond: &[(Part, &Judged)], without: &[(Part, &Judged)], demand: &Demand) -> String {
    let named = |parts: &[(Part, &Judged)]| parts.iter().map(|&(part, _)| option(part)).collect::<Vec<_>>();
    let all = || demand.parts().map(|(part, _)| option(part)).collect();
    let (options, or) = match (beyond, without) {
        ([], []) => (all(), " or "),
        ([], some) => (named(some), " or "),
        (some, _) => (named(some), " and "),
    };
    format!("\nask for less: {}", options.join(or))
}

/// The choice in a line.
pub(crate) fn chosen(judged: &Judged, found: &Found) -> String {
    format!("chosen of {} sets, the fastest that is enough: {}", found.judged.len(), line(judged))
}
