//! Claims: what a paper says, what is measured here, how far apart they are.

use super::experiments::Experiment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// Everything measured, by name.
pub(super) type Measures = BTreeMap<String, f64>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claims {
    source: String,
    about: String,
    claim: Vec<Claim>,
}

/// One line of a file: one claim, for one circuit or several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    id: String,
    what: String,
    #[serde(default)]
    unit: String,
    /// Name of what is measured: `circuit.measure`. Without: `why` says why nothing can be.
    #[serde(default)]
    measure: Option<String>,
    /// The paper's digits after the point.
    digits: usize,
    /// Circuit and published number.
    paper: BTreeMap<String, f64>,
    /// Whether a number of the machine was made from this one, so that agreeing says nothing.
    #[serde(default)]
    calibrated: bool,
    #[serde(default)]
    why: String,
}

/// What claims are of, in the order of the table.
const CIRCUITS: [&str; 16] = [
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
];

/// A system beside the reproduced one, as its paper or another quotes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    pub name: String,
    /// log₂ N.
    pub log_n: u32,
    /// L.
    pub levels: u32,
    /// Levels that bootstrapping takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrapping_levels: Option<u32>,
    /// Digits of key switching.
    pub dnum: u32,
    /// MiB of a polynomial, a ciphertext, an evaluation key.
    pub mib: [f64; 3],
    /// Time of bootstrapping and the products after it, per level and slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_as_us: Option<f64>,
    /// Where the numbers are from.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Systems {
    system: Vec<System>,
}

/// How a claim fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Verdict {
    /// Equal at the paper's digits.
    #[serde(rename = "exact")]
    Exact,
    /// At most a tenth off.
    #[serde(rename = "within 10 %")]
    Within10,
    /// At most a quarter off.
    #[serde(rename = "within 25 %")]
    Within25,
    /// Further off.
    #[serde(rename = "miss")]
    Miss,
    /// The machine's numbers were made from it.
    #[serde(rename = "calibrated")]
    Calibrated,
    /// Nothing here can tell.
    #[serde(rename = "not derivable")]
    NotDerivable,
}

impl Verdict {
    pub fn text(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Within10 => "within 10 %",
            Self::Within25 => "within 25 %",
            Self::Miss => "miss",
            Self::Calibrated => "calibrated",
            Self::NotDerivable => "not derivable",
        }
    }

    /// All, the best first.
    pub(super) const ALL: [Self; 6] =
        [Self::Exact, Self::Within10, Self::Within25, Self::Miss, Self::Calibrated, Self::NotDerivable];

    /// How many of some rows fare how, in words; "calibrated" where there are any.
    pub(super) fn counts(rows: &[Row]) -> String {
        let count = |v: &Self| (*v, rows.iter().filter(|row| row.verdict == *v).count());
        let said = Self::ALL.iter().map(count).filter(|(v, count)| *v != Self::Calibrated || *count > 0);
        said.map(|(v, count)| format!("{count} {}", v.text())).collect::<Vec<_>>().join(", ")
    }

    fn of(paper: f64, model: f64, digits: usize) -> Self {
        let rounded = |x: f64| format!("{x:.digits$}");
        match (model / paper - 1.0).abs() {
            _ if rounded(model) == rounded(paper) => Self::Exact,
            error if error <= 0.1 => Self::Within10,
            error if error <= 0.25 => Self::Within25,
            _ => Self::Miss,
        }
    }
}

/// One published number beside the model's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    pub id: String,
    pub what: String,
    pub circuit: String,
    /// Unit of both numbers; none for counts and ratios.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    pub paper: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<f64>,
    /// model / paper − 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    pub verdict: Verdict,
    /// What is compared, where that is not plain; why nothing is, if nothing is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The paper's digits after the point.
    #[serde(skip)]
    digits: usize,
}

/// All claims of a paper.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reproduction {
    /// The paper, by its key in `docs/bibliography.md`.
    pub source: String,
    /// What was recorded and scheduled.
    pub about: String,
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

/// What an option changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The recorded program.
    Program,
    /// How the machine schedules it.
    Schedule,
    /// One and the other.
    Both,
}

/// A program with an option, on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Choice {
    /// The option as the paper calls it.
    pub name: String,
    pub kind: Kind,
    /// How it is chosen here.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub option: String,
    /// Time of the program.
    pub seconds: f64,
    /// Bytes to and from off-chip memory.
    pub bytes: u64,
    /// Products a byte.
    pub intensity: f64,
    /// Times faster than without.
    pub speed_up: f64,
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
    let row = |claim: &Claim, circuit: &str, paper: f64| {
        let name = claim.measure.as_ref().map(|measure| format!("{circuit}.{measure}"));
        let model = name.map(|n| *measures.get(&n).unwrap_or_else(|| panic!("{n} is not measured")));
        Row {
            id: claim.id.clone(),
            what: claim.what.clone(),
            circuit: circuit.to_owned(),
            unit: claim.unit.clone(),
            paper,
            model,
            error: model.map(|m| m / paper - 1.0),
            verdict: match model {
                None => Verdict::NotDerivable,
                Some(_) if claim.calibrated => Verdict::Calibrated,
                Some(m) => Verdict::of(paper, m, claim.digits),
            },
            why: claim.why.clone(),
            digits: claim.digits,
        }
    };
    let published =
        |c: &Claim| CIRCUITS.iter().filter_map(|&at| Some(row(c, at, *c.paper.get(at)?))).collect::<Vec<_>>();
    let rows: Vec<Row> = claims.claim.iter().flat_map(published).collect();
    let published: usize = claims.claim.iter().map(|c| c.paper.len()).sum();
    assert_eq!(rows.len(), published, "a claim is of no known circuit");
    Reproduction { rows, source: claims.source, about: claims.about, systems, choices: vec![], experiments: vec![] }
}

impl fmt::Display for Reproduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[{}]: {}\n", self.source, self.about)?;
        writeln!(
            f,
            "{:<4} {:<36} {:<10} {:>8} {:>9} {:>9}  {:<13}  why",
            "id", "claim", "of", "paper", "model", "error", "verdict"
        )?;
        for row in &self.rows {
            let digits = row.digits;
            let model = row.model.map_or_else(
                || "-".into(),
                |m| match digits == 0 && m.fract() == 0.0 {
                    true => format!("{m:.0}"),
                    false => format!("{m:.*}", digits + 1),
                },
            );
            let error = row.error.map_or_else(|| "-".into(), |e| format!("{:+.1} %", 100.0 * e));
            let what = if row.unit.is_empty() { row.what.clone() } else { format!("{}, {}", row.what, row.unit) };
            let line = format!(
                "{:<4} {what:<36} {:<10} {:>8.digits$} {model:>9} {error:>9}  {:<13}  {}",
                row.id,
                row.circuit,
                row.paper,
                row.verdict.text(),
                row.why
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        writeln!(f, "\n{} claims: {}", self.rows.len(), Verdict::counts(&self.rows))?;
        self.write_choices(f)?;
        self.experiments.iter().try_for_each(|experiment| experiment.fmt(f))?;
        if self.systems.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nOther systems, as quoted: nothing of this is reproduced here")?;
        writeln!(
            f,
            "{:<10} {:>5} {:>3} {:>6} {:>5} {:>24} {:>10}  source",
            "system", "N", "L", "L_boot", "dnum", "MiB poly, ct, key", "T_A.S., µs"
        )?;
        for s in &self.systems {
            let boot = s.bootstrapping_levels.map_or_else(|| "-".into(), |l| l.to_string());
            let t = s.t_as_us.map_or_else(|| "-".into(), |t| t.to_string());
            let [poly, ciphertext, key] = s.mib;
            let (n, sizes) = (format!("2^{}", s.log_n), format!("{poly}, {ciphertext}, {key}"));
            writeln!(
                f,
                "{:<10} {n:>5} {:>3} {boot:>6} {:>5} {sizes:>24} {t:>10}  {}",
                s.name, s.levels, s.dnum, s.source
            )?;
        }
        Ok(())
    }
}

impl Reproduction {
    fn write_choices(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.choices.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nOptions alone and together, on the machine")?;
        writeln!(
            f,
            "{:<18} {:<9} {:<27} {:>9} {:>8} {:>15} {:>9}",
            "option", "changes", "here", "ms", "GB", "products a byte", "speed-up"
        )?;
        for c in &self.choices {
            let kind = match c.kind {
                Kind::Program => "program",
                Kind::Schedule => "schedule",
                Kind::Both => "both",
            };
            let gb = limbwise_math::rns::to_f64(c.bytes) / 1e9;
            let (ms, intensity, gain) = (1e3 * c.seconds, c.intensity, c.speed_up);
            let (name, here) = (&c.name, &c.option);
            writeln!(f, "{name:<18} {kind:<9} {here:<27} {ms:>9.2} {gb:>8.3} {intensity:>15.2} {gain:>9.2}")?;
        }
        Ok(())
    }
}
