//! Claims: published numbers beside measured ones, with their differences.

use super::{
    experiments::Experiment,
    verdict::{Fixed, Verdict},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Measured numbers by name.
pub(super) type Measures = BTreeMap<String, f64>;

/// A file of claims.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claims {
    source: String,
    about: String,
    claim: Vec<Claim>,
}

/// One claim, for one circuit or several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    id: String,
    what: String,
    #[serde(default)]
    unit: String,
    /// What is measured is `circuit.measure`; without it `why` says why nothing is.
    #[serde(default)]
    measure: Option<String>,
    /// The paper's digits after the point.
    digits: usize,
    /// Circuit and published number.
    paper: BTreeMap<String, f64>,
    /// Where the model's number comes from.
    #[serde(default)]
    origin: Origin,
    /// When the reading was fixed; every claim with a measure says so.
    #[serde(default)]
    fixed: Option<Fixed>,
    #[serde(default)]
    why: String,
    /// Other readings of the same words.
    #[serde(default)]
    reading: Vec<Other>,
}

/// Where the model's number comes from.
#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Origin {
    /// From recordings, schedules and stated numbers.
    #[default]
    Derived,
    /// A number of the machine was made from the claim.
    Calibrated,
    /// From nowhere: the paper quotes another system.
    Context,
}

/// Another reading of a claim.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    what: String,
    measure: String,
    #[serde(default)]
    why: String,
}

/// The circuits of claims, in the order of the table; of the zoo, its machines.
const CIRCUITS: [&str; 35] = [
    "Add",
    "Mult",
    "Rescale",
    "Rotate",
    "HRot",
    "H-IDFT",
    "H-DFT",
    "bootstrap",
    "training",
    "polynomial",
    "mul32",
    "mul64",
    "ntt-2048",
    "ntt-4096",
    "all",
    "capacity",
    "pbs",
    "boot-sharp",
    "boot-narrow",
    "helr",
    "resnet20",
    "strix-I",
    "strix-II",
    "nn20",
    "tpch-q6",
    "ntt-65536",
    "machine",
    "craterlake",
    "sharp",
    "cinnamon",
    "poseidon",
    "bts",
    "strix",
    "morphling",
    "matcha",
];

/// Another system, as quoted by a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Its name.
    pub name: String,
    /// log₂ N.
    pub log_n: u32,
    /// L.
    pub levels: u32,
    /// Levels that bootstrapping takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrapping_levels: Option<u32>,
    /// Number of digits of key switching.
    pub dnum: u32,
    /// MiB of a polynomial, a ciphertext, an evaluation key.
    pub mib: [f64; 3],
    /// Time of bootstrapping and the products after it, per level and slot, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_as_us: Option<f64>,
    /// Source of the numbers.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Systems {
    system: Vec<System>,
}

/// One published number beside the model's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Which claim.
    pub id: String,
    /// The quantity.
    pub what: String,
    /// The circuit.
    pub circuit: String,
    /// Unit of both numbers; none for counts and ratios.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The published number.
    pub paper: f64,
    /// The model's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<f64>,
    /// model / paper − 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// How the claim fares.
    pub verdict: Verdict,
    /// When the reading was fixed; absent where nothing is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Fixed>,
    /// What is compared, where that is not plain; why nothing is, if nothing is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Other readings of the same claim, which no count of verdicts includes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<Reading>,
    /// The paper's digits after the point.
    #[serde(skip)]
    pub(super) digits: usize,
}

/// Another reading of a claim: what its words may mean besides.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reading {
    /// How it differs.
    pub what: String,
    /// The model's number.
    pub model: f64,
    /// model / paper − 1.
    pub error: f64,
    /// What is compared, or how to repeat it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// All claims of a paper.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reproduction {
    /// The paper, by its key in `docs/bibliography.md`.
    pub source: String,
    /// The recorded and scheduled programs.
    pub about: String,
    /// The claims.
    pub rows: Vec<Row>,
    /// Other systems, for context: quoted, not reproduced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub systems: Vec<System>,
    /// One program with options of the paper, alone and together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// Experiments of the paper, repeated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<Experiment>,
}

/// The part of a run that an option changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The recorded program.
    Program,
    /// How the machine schedules it.
    Schedule,
    /// Program and schedule.
    Both,
}

/// A program with an option, on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Choice {
    /// The option as the paper calls it.
    pub name: String,
    /// The part of the run that the option changes.
    pub kind: Kind,
    /// How it is chosen here.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub option: String,
    /// Time of the program.
    pub seconds: f64,
    /// Seconds of work of the busiest kind of compute unit: no order of the same program takes less.
    pub units_s: f64,
    /// Seconds of work of off-chip memory.
    pub memory_s: f64,
    /// Bytes to and from off-chip memory.
    pub bytes: u64,
    /// Products per byte.
    pub intensity: f64,
    /// Time of the base line over this time.
    pub speed_up: f64,
    /// Why time and bytes come out as they do.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// Puts claims beside measures.
///
/// # Panics
/// For a file that is no list of claims, or that names something that is not measured: the files are built in and tested.
pub(super) fn compare(claims: &str, systems: Option<&str>, measures: &Measures) -> Reproduction {
    let claims: Claims = toml::from_str(claims).expect("a built-in file of claims");
    let systems = systems.map_or_else(Vec::new, |systems| {
        toml::from_str::<Systems>(systems).expect("a built-in file of systems").system
    });
    let rows_of = |claim: &Claim| {
        let published = |&circuit: &&str| Some(claim.row(circuit, *claim.paper.get(circuit)?, measures));
        CIRCUITS.iter().filter_map(published).collect::<Vec<_>>()
    };
    let rows: Vec<Row> = claims.claim.iter().flat_map(rows_of).collect();
    let published: usize = claims.claim.iter().map(|c| c.paper.len()).sum();
    assert_eq!(rows.len(), published, "a claim is of no known circuit");
    Reproduction { rows, source: claims.source, about: claims.about, systems, choices: vec![], experiments: vec![] }
}

impl Claim {
    fn row(&self, circuit: &str, paper: f64, measures: &Measures) -> Row {
        let measured = |measure: &String| {
            let name = format!("{circuit}.{measure}");
            *measures.get(&name).unwrap_or_else(|| panic!("{name} is not measured"))
        };
        let model = self.measure.as_ref().map(measured);
        assert_eq!(model.is_some(), self.fixed.is_some(), "{}: a measure, and when its reading was fixed", self.what);
        let reading = |other: &Other| {
            let model = measured(&other.measure);
            Reading { what: other.what.clone(), model, error: model / paper - 1.0, why: other.why.clone() }
        };
        Row {
            id: self.id.clone(),
            what: self.what.clone(),
            circuit: circuit.to_owned(),
            unit: self.unit.clone(),
            paper,
            model,
            error: model.map(|m| m / paper - 1.0),
            verdict: match (self.origin, model) {
                (Origin::Calibrated, _) => Verdict::Calibrated,
                (Origin::Context, _) => Verdict::Context,
                (Origin::Derived, None) => Verdict::NotDerivable,
                (Origin::Derived, Some(m)) => Verdict::of(paper, m, self.digits),
            },
            fixed: self.fixed,
            why: self.why.clone(),
            readings: self.reading.iter().map(reading).collect(),
            digits: self.digits,
        }
    }
}
