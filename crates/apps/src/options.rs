//! Options that several workloads share, and their parsers.

use crate::{
    description::Refusal,
    way::Way,
    workload::{Built, Part, Refusable, Timed, Workload},
};
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use limbwise::{
    bgv::{self, BgvParams},
    bridge::{self, BridgeParams},
    ckks::{BootstrapPlan, PlaintextForm, Strategy, bootstrap::Rotations},
    finite,
    params::{
        CHANGEABLE, ChangeableField, Params, ParamsError, ParamsLiteral,
        presets::{self, preset},
    },
    rlwe::KeyForm,
    scheme::{Bgv, Bridged, Ckks, Scheme, Tfhe},
    tfhe::{self, TfheParams},
};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::Read as _,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

/// A value that an option names: its name, what it means, and what `--help` says of it.
pub type Choice<T> = (&'static str, T, &'static str);

/// The parser of an option with these values.
///
/// # Panics
/// Never: a parsed text is one of the names.
pub fn choice<T: Copy + Send + Sync>(all: &'static [Choice<T>]) -> impl TypedValueParser<Value = T> {
    let names = all.iter().map(|&(name, _, help)| PossibleValue::new(name).help(help));
    let value = |text: String| all.iter().find(|(name, ..)| *name == text).map(|&(_, value, _)| value);
    PossibleValuesParser::new(names).map(move |text| value(text).expect("one of the names"))
}

/// How evaluation keys are kept.
pub const KEYS: &[Choice<KeyForm>] = &[
    ("stored", KeyForm::Stored, "Both halves: fastest"),
    (
        "seeded",
        KeyForm::Seeded,
        "The uniform half expanded from a seed at each use: half the memory, about 1.4 times the time",
    ),
    ("disk", KeyForm::Disk, "In a file, each prefetched before its use: two in memory, or as many as --memory allows"),
];

/// How diagonals are stored.
pub const PLAINTEXTS: &[Choice<PlaintextForm>] = &[
    ("full", PlaintextForm::Full, "All limbs, in the evaluation domain: fastest"),
    ("on-the-fly", PlaintextForm::OnTheFly, "One limb of small integers, extended at each use"),
    ("at-use", PlaintextForm::AtUse, "Not stored: encoded at each use"),
];

/// How maps rotate.
pub const ROTATIONS: &[Choice<Rotations>] = &[
    ("direct", Rotations::Direct, "One full rotation per diagonal"),
    ("hoisted", Rotations::Hoisted, "All rotations share one decomposition"),
    ("bsgs", Rotations::Bsgs, "Hoisted baby steps, full giant steps"),
    ("whole", Rotations::Whole, "Full baby and giant steps, one key each"),
    ("double-hoisted", Rotations::DoubleHoisted, "Baby steps stay over QP: usually the fastest"),
    ("chained", Rotations::Chained, "Double-hoisted with half the keys, applied repeatedly: nearly as fast"),
    ("multi-hop", Rotations::MultiHop, "One key per arithmetic progression: fewest keys"),
];

/// The forms of keys that are compared if the user asked for none; on disk only to keep within a memory budget.
pub fn key_forms(asked: Option<KeyForm>, memory: Option<u64>) -> Vec<KeyForm> {
    match (asked, memory) {
        (Some(form), _) => vec![form],
        (None, Some(_)) => vec![KeyForm::Stored, KeyForm::Seeded, KeyForm::Disk],
        (None, None) => vec![KeyForm::Stored, KeyForm::Seeded],
    }
}

/// How diagonals and evaluation keys are stored, for a program that compares both.
#[derive(Clone, Copy, Debug, Args)]
pub struct StorageArgs {
    /// Storage of the diagonals of maps [default: the fastest that fits]
    #[arg(long, value_parser = choice(PLAINTEXTS), value_name = "HOW", help_heading = "Strategy")]
    pub plaintexts: Option<PlaintextForm>,

    /// Storage of evaluation keys [default: the fastest that fits]
    #[arg(long, value_parser = choice(KEYS), value_name = "HOW", help_heading = "Strategy")]
    pub keys: Option<KeyForm>,
}

impl StorageArgs {
    /// The forms of diagonals that are compared: the one asked for, or else these.
    pub fn forms<'a>(&'a self, open: &'a [PlaintextForm]) -> &'a [PlaintextForm] {
        self.plaintexts.as_ref().map_or(open, std::slice::from_ref)
    }

    /// Configurations of a program by its maps: every strategy with every form of diagonals and keys left open.
    pub fn ways_of_maps(&self, strategies: &[Strategy], memory: Option<u64>) -> Vec<Way> {
        let (forms, keys) = (self.forms(&PlaintextForm::ALL), key_forms(self.keys, memory));
        let maps = strategies.iter().flat_map(|&strategy| forms.iter().map(move |&form| (strategy, form)));
        maps.flat_map(|maps| keys.iter().map(move |&keys| Way { maps: Some(maps), ..Way::of_keys(keys) })).collect()
    }

    /// Configurations of a program by its bootstrapping: every plan with every form of keys left open.
    pub fn ways_of_plans(&self, plans: impl IntoIterator<Item = BootstrapPlan>, memory: Option<u64>) -> Vec<Way> {
        let keys = key_forms(self.keys, memory);
        let way = |plan| move |&keys: &KeyForm| Way { bootstrapping: Some(plan), ..Way::of_keys(keys) };
        plans.into_iter().flat_map(|plan| keys.iter().map(way(plan))).collect()
    }
}

/// Configurations of a program whose keys are so few that nothing is compared without a memory budget.
pub fn ways_of_keys(asked: Option<KeyForm>, memory: Option<u64>) -> Vec<Way> {
    let few = asked.is_none() && memory.is_none();
    let forms = if few { vec![KeyForm::default()] } else { key_forms(asked, memory) };
    forms.into_iter().map(Way::of_keys).collect()
}

/// The strategy of maps with baby and giant steps, whose numbers are found for each map.
pub fn strategy(rotations: Rotations) -> Strategy {
    match rotations {
        Rotations::Direct => Strategy::Direct,
        Rotations::Hoisted => Strategy::Hoisted,
        Rotations::Bsgs => Strategy::Bsgs { babies: 0 },
        Rotations::Whole => Strategy::Whole { babies: 0 },
        Rotations::DoubleHoisted => Strategy::DoubleHoisted { babies: 0 },
        Rotations::Chained => Strategy::Chained { babies: 0 },
        Rotations::MultiHop => Strategy::MultiHop { babies: 0 },
    }
}

/// A user mistake as its whole text.
pub fn mistake(text: impl Into<String>) -> Refusal {
    Refusal::from(text.into())
}

/// A whole number in a range, for the parser of options.
pub fn between(text: &str, least: usize, most: usize) -> Result<usize, String> {
    let wanted = || format!("wanted a whole number from {least} to {most}");
    text.parse().ok().filter(|n| (least..=most).contains(n)).ok_or_else(wanted)
}

/// A path that means the same from any directory.
pub fn absolute(path: Option<&PathBuf>) -> Option<PathBuf> {
    path.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()))
}

/// The file among these, if there is one.
pub fn one(files: &[PathBuf]) -> Refusable<Option<&Path>> {
    match files {
        [] => Ok(None),
        [file] => Ok(Some(file)),
        _ => Err(mistake("--data: given several times; this program takes one file")),
    }
}

/// Longest parameter file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a small text file.
pub fn read_small(path: &Path) -> Refusable<String> {
    let name = path.display();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    let wrong = |e| mistake(format!("{name}: cannot read: {e} (give the path of a TOML file with parameters)"));
    if read.map_err(wrong)? as u64 > MOST_BYTES {
        return Err(mistake(format!("{name}: longer than {MOST_BYTES} bytes; wanted a TOML file with parameters")));
    }
    Ok(text)
}

/// A scheme whose parameters have names on the command line.
pub trait NamedParams: Scheme {
    const FILE: &'static str;
    /// A preset that shows the form of a file.
    const EXAMPLE: &'static str;

    fn preset(name: &str) -> limbwise::Result<Self::Params>;
}

impl NamedParams for Ckks {
    const FILE: &'static str = "a parameter set";
    const EXAMPLE: &'static str = "n16-l24-s40";

    fn preset(name: &str) -> limbwise::Result<Params> {
        Ok(preset(name)?)
    }
}

impl NamedParams for Tfhe {
    const FILE: &'static str = "a TFHE parameter set";
    const EXAMPLE: &'static str = "2-2-p128";

    fn preset(name: &str) -> limbwise::Result<TfheParams> {
        Ok(TfheParams::new(&tfhe::preset(name)?)?)
    }
}

impl NamedParams for Bgv {
    const FILE: &'static str = "a BGV parameter set";
    const EXAMPLE: &'static str = "bgv-n13";

    fn preset(name: &str) -> limbwise::Result<BgvParams> {
        Ok(bgv::preset(name)?)
    }
}

fn literal_file<S: NamedParams>(path: &Path) -> Refusable<S::Literal> {
    let name = path.display();
    toml::from_str(&read_small(path)?).map_err(|e| {
        let next = format!("\"limbwise params show {}\" prints a file of the right form", S::EXAMPLE);
        mistake(format!("{name}: not {}: {}\n({next})", S::FILE, e.to_string().trim_end()))
    })
}

/// Checked parameters from a TOML file.
pub fn params_file<S: NamedParams>(path: &Path) -> Refusable<S::Params> {
    let name = path.display();
    S::params(&literal_file::<S>(path)?).map_err(|e| match e {
        limbwise::Error::Params(e @ (ParamsError::Insecure { .. } | ParamsError::InsecureBinary { .. })) => {
            mistake(format!("{name}: {e} (in a file: [insecure] reason = \"...\")"))
        }
        e => mistake(format!("{name}: {e}")),
    })
}

/// A preset by name, or a literal from a TOML file, checked.
///
/// # Errors
/// Names that do not exist, files that are no literal, literals that are refused.
pub fn params_named<S: NamedParams>(name: &str) -> Refusable<S::Params> {
    let path = Path::new(name);
    match path.extension().is_some_and(|e| e == "toml") {
        true => params_file::<S>(path),
        false => Ok(S::preset(name)?),
    }
}

/// The same for CKKS, either with fields changed: `boot:dnum=3:levels=10`.
pub fn named_params(name: &str) -> Refusable<Params> {
    match changes_in(name) {
        (_, changes) if changes.is_empty() => params_named::<Ckks>(name),
        _ => Ok(Params::new(&literal_of(name)?)?),
    }
}

pub fn literal_of(name: &str) -> Refusable<ParamsLiteral> {
    let (base, changes) = changes_in(name);
    let mut literal = match Path::new(base).extension() {
        Some(extension) if extension == "toml" => literal_file::<Ckks>(Path::new(base))?,
        _ => Ckks::preset(base)?.literal().clone(),
    };
    for change in changes {
        let known = || CHANGEABLE.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
        let wrong =
            || mistake(format!("{name}: no change of parameters: {change} (wanted FIELD=VALUE of {})", known()));
        let (field, value) = change.split_once('=').ok_or_else(wrong)?;
        literal = literal.changed(ChangeableField::named(field).ok_or_else(wrong)?, value)?;
    }
    Ok(literal)
}

/// The slots that a preset's bootstrapping is meant for, or all that the parameters have.
pub fn usual_slots(name: &str, params: &Params) -> usize {
    let (base, _) = changes_in(name);
    let meant = presets::presets().into_iter().find(|preset| preset.name == base).and_then(|preset| preset.slots);
    meant.map_or(params.max_slots(), |slots| slots.min(params.max_slots()))
}

/// The name of a set, and the changes that follow it.
fn changes_in(name: &str) -> (&str, Vec<&str>) {
    match name.find('=').and_then(|at| name[..at].find(':')) {
        Some(end) => (&name[..end], name[end + 1..].split(':').collect()),
        None => (name, Vec::new()),
    }
}

/// A pair by its name, or of two sets.
pub fn named_pair(name: &str) -> Refusable<BridgeParams> {
    Ok(match name.split_once(',') {
        None => bridge::preset(name)?,
        Some((ckks, tfhe)) => BridgeParams::new(&named_params(ckks)?, &params_named::<Tfhe>(tfhe)?)?,
    })
}

pub fn named_tfhe(name: &str) -> Refusable<TfheParams> {
    params_named::<Tfhe>(name)
}

/// A program for models of machines: under a set as it is, or, where that set is refused and a set of its shape with so many
/// message bits is not, under the shape alone with the refusal beside it.
pub(crate) fn by_shape_if_small<W: Workload>(
    params: &TfheParams,
    message_bits: u32,
    build: impl Fn(&TfheParams) -> Refusable<Built<W>>,
) -> Refusable<Timed<W>> {
    build(params).map(|built| (built, None)).or_else(|refusal| {
        let shape = params.by_shape(message_bits).ok().and_then(|shape| build(&shape).ok());
        shape.map(|built| (built, Some(refusal.to_string()))).ok_or(refusal)
    })
}

/// Checks a name or a file of parameters of a scheme. Parameters of CKKS may still change, so they are only read.
///
/// # Errors
/// As [`params_named`].
pub fn check_preset(scheme: &str, name: &str) -> Refusable<()> {
    match scheme {
        Tfhe::NAME => named_tfhe(name).map(drop),
        Bgv::NAME => named_bgv(name).map(drop),
        Bridged::NAME => named_pair(name).map(drop),
        _ => literal_of(name).map(drop),
    }
}

pub fn named_bgv(name: &str) -> Refusable<BgvParams> {
    params_named::<Bgv>(name)
}

/// Images or rows of a file by number, from 1: `5`, or `3-7`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NumberRange(pub RangeInclusive<usize>);

impl NumberRange {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.end() + 1 - self.0.start()
    }

    /// The first and the last of them; of a part, its own.
    #[must_use]
    pub fn ends(&self, part: Option<Part>) -> [usize; 2] {
        match part {
            None => [*self.0.start(), *self.0.end()],
            Some(part) => {
                let first = self.0.start() + part.first;
                [first, (first + part.count - 1).min(*self.0.end())]
            }
        }
    }
}

/// The parser of such numbers.
pub fn number_range(text: &str) -> Result<NumberRange, String> {
    let wanted = || "wanted how many, or numbers from 1 as in 3-7".to_owned();
    let number =
        |part: &str| part.trim().parse::<usize>().ok().filter(|n| (1..=1 << 20).contains(n)).ok_or_else(wanted);
    match text.split_once('-') {
        None => Ok(NumberRange(1..=number(text)?)),
        Some((from, to)) => {
            let (from, to) = (number(from)?, number(to)?);
            if from <= to { Ok(NumberRange(from..=to)) } else { Err(wanted()) }
        }
    }
}

/// The parser of a ratio of a range to what was measured.
pub fn margin(text: &str) -> Result<f64, String> {
    let factor = finite::parse(text).ok().filter(|x| (1.0..=100.0).contains(x));
    factor.ok_or_else(|| "wanted a factor from 1 to 100; 1.5 to 2 is usual".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_refused() {
        assert!(read_small(Path::new("/dev/zero")).unwrap_err().to_string().contains("longer than"));
        assert!(read_small(Path::new("/nowhere/p.toml")).unwrap_err().to_string().contains("cannot read"));
    }
}
