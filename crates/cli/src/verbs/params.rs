//! `limbwise params`: check, show and choose parameter sets.

use crate::{
    choosing::{Choosing, DemandArgs},
    failure::Mistake,
    host::{CalibrationArgs, HostArgs, MemoryArgs},
    output::OutputArgs,
    progress::note,
    text,
    workload::{Workload, refused},
};
use clap::Subcommand;
use limbwise::scheme::{Bgv, Ckks, Scheme as _, Tfhe};
use limbwise::{
    bgv::{self, BgvLiteral, BgvParams, BgvPreset},
    params::{
        Params as Checked, ParamsLiteral, SecurityReport, Wish, choose as choose_for_depth,
        presets::{Preset, presets},
    },
    rlwe::{KeyForm, KeyName, key_bytes},
    tfhe::{self, TfheLiteral, TfheParams, TfhePreset},
};
use limbwise_apps::options::{named_bgv, named_pair, named_params, named_tfhe, params_file};
use limbwise_runtime::sets::{Found, Judged};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Check, show or choose encryption parameters
///
/// Parameters are checked before any key is made: ranges, primes, special primes, and security by the tables
/// of the 2024 guidelines, never interpolated. Sets below 128 bits are refused unless the file has
/// [insecure] reason = "...", which every report repeats.
///
/// Examples:
///   limbwise params show                              all presets
///   limbwise params show n16-l24-s40 > my.toml        one preset as a file to change
///   limbwise params check my.toml                     then: limbwise run logreg --preset my.toml
///   limbwise params choose --depth 12 --precision 25 > my.toml
///   limbwise params choose --bits 20 --memory 4GB bootstrap > my.toml
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Params {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check a parameter file and report its security, levels and key sizes
    ///
    /// The fields are those that "limbwise params show NAME" prints. A prime up to 61 is a size in bits, above it is the
    /// prime itself; a level is a list of primes, and a rescale drops the whole list.
    Check {
        /// TOML file of a parameter set
        file: PathBuf,
    },
    /// List the presets, or print one as a TOML file
    ///
    /// Presets are frozen: a name never changes its primes. "key" is the size of one evaluation key for the top level;
    /// log2(QP) is what security depends on, beside N.
    Show {
        /// A preset [default: list all]
        name: Option<String>,
    },
    /// Choose secure parameters for a program, or for a depth and a precision, and print them as a TOML file
    ///
    /// For a program: sets are planned one after the other, as "limbwise plan" does it on this host, and the one with the
    /// fewest seconds that has everything asked for is taken. The search begins with the presets (for a program of CKKS that
    /// does not bootstrap, with chains of as many levels as it takes; for one with --preset, with that one) and goes on
    /// around the best by changing digits, levels, ring, scale and maps.
    ///
    /// For a depth: the scale is the precision plus the expected noise of an encryption and of "depth" products; the ring is
    /// the smallest whose table row has room for it all. Redirect the output to a file and give it to --preset.
    ///
    /// Examples:
    ///   limbwise params choose --bits 25 lola > my.toml                       then: limbwise run lola --preset my.toml
    ///   limbwise params choose --bits 20 --levels-left 10 --memory 4GB bootstrap
    ///   limbwise params choose --log2-failure -80 pbs --batch 64
    ///   limbwise params choose --depth 12 --precision 25
    #[command(verbatim_doc_comment)]
    Choose(Box<Choose>),
}

#[derive(Debug, clap::Args)]
struct Choose {
    /// Without a program: multiplications in a row
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100), requires = "precision")]
    depth: Option<u32>,
    /// Without a program: fractional bits that survive them, for values of magnitude 1
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=60), requires = "depth")]
    precision: Option<u32>,
    /// Without a program: minimum number of slots in a ciphertext [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=65536), requires = "depth")]
    slots: Option<u32>,
    #[command(flatten)]
    demand: DemandArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    calibration: CalibrationArgs,
    #[command(subcommand)]
    workload: Option<Workload>,
}

/// A set that was chosen for a program.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Chosen {
    /// The set in numbers.
    set: Any,
    /// What the program's plan says of it.
    plan: Judged,
    /// All sets that were planned, in their order.
    judged: Vec<Judged>,
    /// How many sets the program does not take.
    refused: usize,
}

const NOTHING: &str =
    "nothing to choose for: give a program (limbwise params choose --bits 20 lola), or --depth and --precision";
const NO_PROGRAM: &str =
    "--bits, --levels-left and the like are asked of a program: name one after them, or leave them out beside --depth";

/// What a checked set of any scheme begins with.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Title {
    pub(crate) name: String,
    /// What a preset is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) purpose: Option<&'static str>,
    /// The class of the security gate; 0 below 128.
    pub(crate) security_bits: u32,
    /// What the gate found.
    pub(crate) security: SecurityReport,
}

impl Title {
    fn new(name: &str, purpose: Option<&'static str>, security: &SecurityReport) -> Self {
        Self { name: name.into(), purpose, security_bits: security.bits, security: security.clone() }
    }
}

/// A checked set in numbers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Set {
    #[serde(flatten)]
    pub(crate) title: Title,
    /// log₂ N.
    pub(crate) log_n: u32,
    /// Slots of a ciphertext.
    pub(crate) slots: usize,
    /// Rescales of a fresh ciphertext.
    pub(crate) levels: usize,
    /// Of the chain, and special ones.
    pub(crate) limbs: [usize; 2],
    /// Digits of key switching at the top.
    pub(crate) dnum: usize,
    /// A fresh ciphertext.
    pub(crate) ciphertext_bytes: u64,
    /// One evaluation key for the top level.
    pub(crate) evaluation_key_bytes: u64,
    /// The set as a file has it.
    pub(crate) literal: ParamsLiteral,
}

impl Set {
    fn new(name: &str, purpose: Option<&'static str>, params: &Checked) -> Self {
        let top = params.top_level();
        Self {
            title: Title::new(name, purpose, params.security()),
            log_n: params.log_n(),
            slots: params.max_slots(),
            levels: top,
            limbs: [params.limbs(top), params.special().len()],
            dnum: params.digits(top).len(),
            ciphertext_bytes: ciphertext_bytes(params),
            evaluation_key_bytes: key_bytes(params, KeyName::Relinearization, top, KeyForm::Stored),
            literal: params.literal().clone(),
        }
    }
}

/// Two polynomials of 8 bytes a word.
fn ciphertext_bytes(params: &Checked) -> u64 {
    2 * 8 * (params.limbs(params.top_level()) * params.ring().n()) as u64
}

/// A checked set of TFHE in numbers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TfheSet {
    #[serde(flatten)]
    pub(crate) title: Title,
    /// log2 of the probability that a bootstrapping fails, at the worst message.
    pub(crate) log2_failure: f64,
    /// A fresh ciphertext.
    pub(crate) ciphertext_bytes: u64,
    /// Both keys, as a server uses them.
    pub(crate) key_bytes: u64,
    pub(crate) published_key_bytes: u64,
    /// The set as a file has it.
    pub(crate) literal: TfheLiteral,
}

impl TfheSet {
    fn new(name: &str, purpose: Option<&'static str>, params: &TfheParams) -> Self {
        Self {
            title: Title::new(name, purpose, params.security()),
            log2_failure: params.log2_failure(),
            ciphertext_bytes: 8 * (params.literal().big_dimension() as u64 + 1),
            key_bytes: params.server_key_bytes(),
            published_key_bytes: params.published_key_bytes(),
            literal: params.literal().clone(),
        }
    }
}

/// All presets of TFHE, checked.
pub(crate) fn all_tfhe() -> anyhow::Result<Vec<TfheSet>> {
    let set = |p: TfhePreset| Ok(TfheSet::new(p.name, Some(p.purpose), &TfheParams::new(&p.literal)?));
    tfhe::presets().into_iter().map(set).collect()
}

/// A checked set of BGV in numbers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BgvSet {
    #[serde(flatten)]
    pub(crate) title: Title,
    /// log₂ N.
    pub(crate) log_n: u32,
    /// Slots of a ciphertext.
    pub(crate) slots: usize,
    /// Squares in a row that a preset promises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) depth: Option<usize>,
    /// The promise is for ciphertexts under the secret key.
    pub(crate) secret_key: bool,
    /// Of the chain, and special ones.
    pub(crate) limbs: [usize; 2],
    /// A fresh ciphertext.
    pub(crate) ciphertext_bytes: u64,
    /// One evaluation key for the top level; 0 where there are none.
    pub(crate) evaluation_key_bytes: u64,
    /// The set as a file has it.
    pub(crate) literal: BgvLiteral,
}

impl BgvSet {
    fn new(name: &str, preset: Option<&BgvPreset>, params: &BgvParams) -> Self {
        let (rlwe, top) = (params.rlwe(), params.top_level());
        let key = key_bytes(rlwe, KeyName::Relinearization, top, KeyForm::Stored);
        Self {
            title: Title::new(name, preset.map(|p| p.purpose), params.security()),
            log_n: rlwe.log_n(),
            slots: params.slots(),
            depth: preset.map(|p| p.depth),
            secret_key: preset.is_some_and(|p| p.secret),
            limbs: [rlwe.limbs(top), rlwe.special().len()],
            ciphertext_bytes: ciphertext_bytes(rlwe),
            evaluation_key_bytes: if params.switches_keys() { key } else { 0 },
            literal: params.literal().clone(),
        }
    }
}

/// All presets of BGV, checked.
pub(crate) fn all_bgv() -> anyhow::Result<Vec<BgvSet>> {
    let set = |p: BgvPreset| Ok(BgvSet::new(p.name, Some(&p), &BgvParams::new(&p.literal)?));
    bgv::presets().into_iter().map(set).collect()
}

/// Sets of any kind, in one list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Any {
    /// Of CKKS.
    Slots(Set),
    /// Of TFHE.
    Tfhe(TfheSet),
    /// Of BGV.
    Bgv(BgvSet),
}

/// Whether a file is a parameter set of TFHE: only those have a narrow key.
fn is_tfhe(file: &Path) -> bool {
    has_field(file, "lwe_dimension")
}

/// Whether a file is a parameter set of BGV: only those have a plaintext modulus.
fn is_bgv(file: &Path) -> bool {
    has_field(file, "plaintext_modulus")
}

fn has_field(file: &Path, field: &str) -> bool {
    let text = crate::files::read_small(file).unwrap_or_default();
    text.parse::<toml::Table>().is_ok_and(|table| table.contains_key(field))
}

/// All presets, checked.
pub(crate) fn all() -> anyhow::Result<Vec<Set>> {
    let set = |p: Preset| Ok(Set::new(p.name, Some(p.purpose), &Checked::new(&p.literal)?));
    presets().into_iter().map(set).collect()
}

impl Params {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        match &self.action {
            Action::Check { file } => {
                let name = file.display().to_string();
                if is_tfhe(file) {
                    let set = TfheSet::new(&name, None, &params_file::<Tfhe>(file).map_err(refused)?);
                    return self.output.open()?.report(&set, &text::params::tfhe_set(&set));
                }
                if is_bgv(file) {
                    let set = BgvSet::new(&name, None, &params_file::<Bgv>(file).map_err(refused)?);
                    return self.output.open()?.report(&set, &text::params::bgv_set(&set));
                }
                let set = Set::new(&name, None, &params_file::<Ckks>(file).map_err(refused)?);
                self.output.open()?.report(&set, &text::params::set(&set))
            }
            Action::Show { name: None } => {
                let (sets, tfhe, bgv) = (all()?, all_tfhe()?, all_bgv()?);
                let tables = [text::params::sets(&sets), text::params::tfhe_sets(&tfhe), text::params::bgv_sets(&bgv)];
                let text = tables.join("\n");
                let all = sets.into_iter().map(Any::Slots).chain(tfhe.into_iter().map(Any::Tfhe));
                let all: Vec<Any> = all.chain(bgv.into_iter().map(Any::Bgv)).collect();
                self.output.open()?.report(&all, &text)
            }
            Action::Show { name: Some(name) } => {
                if let Some(preset) = tfhe::presets().into_iter().find(|p| p.name == name) {
                    let set = TfheSet::new(name, Some(preset.purpose), &named_tfhe(name).map_err(refused)?);
                    return self.print(&set, &text::params::tfhe_set(&set), &set.literal);
                }
                if let Some(preset) = bgv::presets().into_iter().find(|p| p.name == name) {
                    let set = BgvSet::new(name, Some(&preset), &named_bgv(name).map_err(refused)?);
                    return self.print(&set, &text::params::bgv_set(&set), &set.literal);
                }
                let purpose = presets().into_iter().find(|p| p.name == name).map(|p| p.purpose);
                let set = Set::new(name, purpose, &named_params(name).map_err(refused)?);
                self.print(&set, &text::params::set(&set), &set.literal)
            }
            Action::Choose(choose) => self.choose(choose),
        }
    }

    fn choose(&self, choose: &Choose) -> anyhow::Result<()> {
        let demand = choose.demand.demand();
        match (&choose.workload, choose.depth.zip(choose.precision)) {
            (Some(_), Some(_)) => Err(Mistake("a program and --depth: give one of them".into()).into()),
            (None, None) => Err(Mistake(NOTHING.into()).into()),
            (None, Some(_)) if !demand.is_empty() => Err(Mistake(NO_PROGRAM.into()).into()),
            (None, Some((depth, precision_bits))) => {
                let (depth, slots) = (usize::try_from(depth)?, usize::try_from(choose.slots.unwrap_or(1))?);
                let name = format!("depth {depth}, precision {precision_bits}, slots {slots}");
                let params = choose_for_depth(Wish { depth, precision_bits, slots })?;
                let set = Set::new(&name, None, &params);
                self.print(&set, &text::params::set(&set), &set.literal)
            }
            (Some(workload), None) => {
                let dev = choose.host.open()?;
                choose.calibration.apply();
                let (best, found) = Choosing::new(workload, &dev, &choose.memory).chosen(demand)?;
                note(&text::choice::chosen(&best, &found));
                self.chosen(workload.scheme(), best, found)
            }
        }
    }

    /// Prints a set that was chosen, as a file to keep.
    fn chosen(&self, scheme: &str, plan: Judged, found: Found) -> anyhow::Result<()> {
        let name = plan.preset.clone();
        let (judged, refused_sets) = (found.judged, found.refused.len());
        let all = |set| Chosen { set, plan: plan.clone(), judged, refused: refused_sets };
        let with = |text: String| text + &text::choice::line(&plan) + "\n";
        match scheme {
            Tfhe::NAME => {
                let set = TfheSet::new(&name, None, &named_tfhe(&name).map_err(refused)?);
                let (text, literal) = (with(text::params::tfhe_set(&set)), set.literal.clone());
                self.print(&all(Any::Tfhe(set)), &text, &literal)
            }
            Bgv::NAME => {
                let set = BgvSet::new(&name, None, &named_bgv(&name).map_err(refused)?);
                let (text, literal) = (with(text::params::bgv_set(&set)), set.literal.clone());
                self.print(&all(Any::Bgv(set)), &text, &literal)
            }
            Ckks::NAME => {
                let set = Set::new(&name, None, &named_params(&name).map_err(refused)?);
                let (text, literal) = (with(text::params::set(&set)), set.literal.clone());
                self.print(&all(Any::Slots(set)), &text, &literal)
            }
            // A pair is two files, which a preset's name stands for.
            _ => {
                let set = Set::new(&name, None, named_pair(&name).map_err(refused)?.ckks());
                let text = with(format!("the pair {name}; limbwise run ... --preset {name}\n"));
                self.output.open()?.report(&all(Any::Slots(set)), &text)
            }
        }
    }

    /// A set as a file to keep: TOML with the numbers as comments.
    fn print(&self, set: &impl Serialize, numbers: &str, literal: &impl Serialize) -> anyhow::Result<()> {
        let comment: String = numbers.lines().map(|line| format!("# {line}\n")).collect();
        self.output.open()?.report(set, &format!("{comment}{}", toml::to_string(literal)?))
    }
}
