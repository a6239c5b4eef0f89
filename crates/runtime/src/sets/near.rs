//! Names of sets: presets, chains of a depth, and what is near a set.

use super::Ladder;
use limbwise::{
    bgv, bridge,
    params::{
        CHANGEABLE, ChangeableField, Params, ParamsLiteral,
        presets::{Preset, presets},
        security::largest_modulus,
    },
    scheme::{Bgv, Bridged, Scheme as _, Tfhe},
    tfhe,
};
use limbwise_apps::options::{literal_of, usual_slots};

/// The sets to begin with for a program of CKKS that bootstraps: every preset that does.
pub fn bootstrapping() -> Vec<Ladder> {
    presets().into_iter().filter(|p| p.literal.bootstrapping.is_some()).map(alone).collect()
}

fn alone(preset: Preset) -> Ladder {
    vec![preset.name.into()]
}

/// All presets of another scheme.
pub fn of_scheme(scheme: &str) -> Vec<Ladder> {
    let names: Vec<&str> = match scheme {
        Tfhe::NAME => tfhe::presets().iter().map(|p| p.name).collect(),
        Bgv::NAME => bgv::presets().iter().map(|p| p.name).collect(),
        Bridged::NAME => bridge::presets().iter().flatten().map(|p| p.name).collect(),
        _ => presets().iter().map(|p| p.name).collect(),
    };
    names.into_iter().map(|name| vec![name.to_owned()]).collect()
}

/// What chains without bootstrapping are changed from; every field that matters is.
const BASE: &str = "n13-l3-s40";
/// Scales that are tried; the search goes on in steps of [`STEP`] bits.
const SCALES: [u32; 7] = [25, 30, 35, 40, 45, 50, 55];
const STEP: isize = 2;

/// Chains of so many levels without bootstrapping: for each scale the secure rings from the smallest up, with the fewest
/// digits that are secure there, or one more.
pub fn chains(levels: usize) -> Vec<Ladder> {
    let Ok(base) = literal_of(BASE) else { return Vec::new() };
    let ladder = |scale: u32, more: usize| {
        (11..=17).filter_map(|log_n| chain(&base, levels, scale, log_n, more)).collect::<Ladder>()
    };
    let all = SCALES.iter().flat_map(|&scale| [ladder(scale, 0), ladder(scale, 1)]);
    all.filter(|ladder| !ladder.is_empty()).collect()
}

fn chain(base: &ParamsLiteral, levels: usize, scale: u32, log_n: u32, more: usize) -> Option<String> {
    // In the order of a name, in which fields are changed one after the other.
    let values = |dnum| [("dnum", dnum), ("levels", levels), ("log-n", log_n as usize), ("scale", scale as usize)];
    let change = |set: ParamsLiteral, (name, value): (&str, usize)| {
        set.changed(ChangeableField::named(name)?, &value.to_string()).ok()
    };
    let is_secure =
        |&dnum: &usize| values(dnum).into_iter().try_fold(base.clone(), change).is_some_and(|set| fits(&set));
    let least = (1..=levels + 1).find(is_secure)?;
    let named = |name: String, (field, value): (&str, usize)| Some(with(&name, ChangeableField::named(field)?, value));
    values((least + more).min(levels + 1)).into_iter().try_fold(BASE.to_owned(), named)
}

/// Whether a set may be secure, by the sizes of its primes: the gate has the last word.
fn fits(set: &ParamsLiteral) -> bool {
    let bits: f64 = set.levels.iter().flatten().chain(&set.special).map(|prime| prime.log2()).sum();
    largest_modulus(set.standard, set.log_n).is_some_and(|most| bits <= f64::from(most))
}

/// A set of CKKS with another number of levels.
pub fn with_levels(name: &str, levels: usize) -> Option<String> {
    let name = with(name, ChangeableField::named("levels")?, levels);
    literal_of(&name).is_ok().then_some(name)
}

/// A change of one field of CKKS by so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    field: ChangeableField,
    by: isize,
}

/// The fields of CKKS that a search changes, with their steps. What EvalMod is made of decides its precision together and
/// stays as a preset has it.
const FIELDS: [(&str, isize); 6] =
    [("dnum", 1), ("levels", 1), ("log-n", 1), ("scale", STEP), ("coeff-to-slot", 1), ("slot-to-coeff", 1)];

/// The steps of a search, both ways.
pub fn steps() -> impl Iterator<Item = Step> {
    let fields = FIELDS.into_iter().filter_map(|(name, by)| ChangeableField::named(name).map(|field| (field, by)));
    fields.flat_map(|(field, by)| [-by, by].map(|by| Step { field, by }))
}

/// log₂ of the most diagonals that a map of bootstrapping may have to be tried. One of 2^14 slots in a single map has 2^14:
/// its encoded diagonals take tens of gigabytes, its plan half a minute.
const LOG_DIAGONALS: usize = 10;

/// Whether no map of a bootstrapping has more diagonals than are tried.
fn is_divided(name: &str, params: &Params) -> bool {
    let log_slots = usual_slots(name, params).ilog2() as usize;
    let of_map = |field| params.literal().value(ChangeableField::named(field)?);
    ["coeff-to-slot", "slot-to-coeff"]
        .into_iter()
        .filter_map(of_map)
        .all(|maps| log_slots.div_ceil(maps.max(1)) <= LOG_DIAGONALS)
}

/// The set after a step, if it is secure; `None` too for sets of other schemes, which have no fields by name.
pub fn after(name: &str, Step { field, by }: Step) -> Option<String> {
    let value = literal_of(name).ok()?.value(field)?.checked_add_signed(by)?;
    let name = with(name, field, value);
    // Read from its name, which is what the program will be given.
    let set = literal_of(&name).ok()?;
    let checked = |set| Params::new(set).is_ok_and(|params| is_divided(&name, &params));
    (fits(&set) && checked(&set)).then_some(name)
}

/// The name of a set with one field changed. Fields stand in the order of [`CHANGEABLE`], so that a set has one name however
/// it was reached; one with a preset's own value is left out.
fn with(name: &str, field: ChangeableField, value: usize) -> String {
    let (base, changes) = name.split_once(':').unwrap_or((name, ""));
    let pairs = changes.split(':').filter_map(|change| change.split_once('='));
    let value = value.to_string();
    let known: Vec<(&str, &str)> =
        pairs.filter(|(name, _)| *name != field.name).chain([(field.name, value.as_str())]).collect();
    let own = literal_of(base).ok();
    let is_own = |field: ChangeableField, value: &str| {
        own.as_ref().and_then(|own| own.value(field)).is_some_and(|own| own.to_string() == value)
    };
    let of = |field: ChangeableField| {
        let (_, value) = known.iter().find(|(name, _)| *name == field.name)?;
        (!is_own(field, value)).then(|| format!(":{}={value}", field.name))
    };
    format!("{base}{}", CHANGEABLE.into_iter().filter_map(of).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise::params::presets::preset;

    #[test]
    fn a_set_has_one_name() {
        let field = |name| ChangeableField::named(name).unwrap();
        let once = with("boot", field("dnum"), 5);
        assert_eq!(once, "boot:dnum=5");
        let there = with(&with("boot", field("levels"), 13), field("dnum"), 5);
        assert_eq!((there.as_str(), with(&once, field("levels"), 13)), ("boot:dnum=5:levels=13", there.clone()));
        assert_eq!(with(&once, field("dnum"), preset("boot").unwrap().literal().dnum), "boot", "and back");
    }

    #[test]
    fn all_that_is_near_is_secure_and_one_step_away() {
        for start in ["boot", "n14-l7-s40", "boot-n15"] {
            let near: Vec<String> = steps().filter_map(|step| after(start, step)).collect();
            assert!(!near.is_empty(), "{start}");
            for name in near {
                let params = Params::new(&literal_of(&name).unwrap()).unwrap();
                assert!(params.security().bits >= 128 && name != start, "{name}");
            }
        }
        assert!(["2-2-p128", "nowhere.toml"].iter().all(|name| steps().all(|step| after(name, step).is_none())));
    }

    #[test]
    fn maps_of_thousands_of_diagonals_are_not_tried() {
        let one = |maps| Step { field: ChangeableField::named(maps).unwrap(), by: -1 };
        for (start, maps, tried) in [
            ("boot:slot-to-coeff=3", "slot-to-coeff", true),
            ("boot:slot-to-coeff=2", "slot-to-coeff", false),
            ("boot:coeff-to-slot=2", "coeff-to-slot", false),
            ("boot-s4:coeff-to-slot=2", "coeff-to-slot", true),
        ] {
            assert_eq!(after(start, one(maps)).is_some(), tried, "{start}");
        }
    }

    #[test]
    fn chains_have_their_levels_in_rings_from_the_smallest_up() {
        let all = chains(7);
        assert!(all.len() >= 10, "{all:?}");
        for ladder in &all {
            let sets: Vec<ParamsLiteral> = ladder.iter().map(|name| literal_of(name).unwrap()).collect();
            assert!(sets.windows(2).all(|pair| pair[0].log_n < pair[1].log_n));
            for set in &sets {
                let params = Params::new(set).unwrap();
                assert_eq!((params.top_level(), params.security().bits >= 128), (7, true));
            }
        }
        let first = |at: usize| literal_of(&all[at][0]).unwrap();
        assert!(first(0).log_n < first(all.len() - 1).log_n, "a finer scale needs a larger ring");
        assert!(chains(10_000).is_empty());
    }
}
