//! `limbwise params`: check, show and choose parameter sets.

use crate::{output::OutputArgs, text, workload::refused};
use clap::Subcommand;
use limbwise::scheme::{Bgv, Ckks, Tfhe};
use limbwise::{
    bgv::{self, BgvLiteral, BgvParams, BgvPreset},
    params::{
        Params as Checked, ParamsLiteral, SecurityReport, Wish, choose,
        presets::{Preset, presets},
    },
    rlwe::{KeyForm, KeyName, key_bytes},
    tfhe::{self, TfheLiteral, TfheParams, TfhePreset},
};
use limbwise_apps::options::{named_bgv, named_params, named_tfhe, params_file};
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
    /// Choose the smallest secure parameters for a depth and a precision, and print them as a TOML file
    ///
    /// The scale is the precision plus the expected noise of an encryption and of "depth" products; the ring is the
    /// smallest whose table row has room for it all. Redirect the output to a file and give it to --preset.
    Choose {
        /// Multiplications in a row
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
        depth: u32,
        /// Fractional bits that survive them, for values of magnitude 1
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=60))]
        precision: u32,
        /// Minimum number of slots in a ciphertext
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65536))]
        slots: u32,
    },
}

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
            Action::Choose { depth, precision, slots } => {
                let (depth, precision_bits) = (usize::try_from(*depth)?, *precision);
                let name = format!("depth {depth}, precision {precision}, slots {slots}");
                let params = choose(Wish { depth, precision_bits, slots: usize::try_from(*slots)? })?;
                let set = Set::new(&name, None, &params);
                self.print(&set, &text::params::set(&set), &set.literal)
            }
        }
    }

    /// A set as a file to keep: TOML with the numbers as comments.
    fn print(&self, set: &impl Serialize, numbers: &str, literal: &impl Serialize) -> anyhow::Result<()> {
        let comment: String = numbers.lines().map(|line| format!("# {line}\n")).collect();
        self.output.open()?.report(set, &format!("{comment}{}", toml::to_string(literal)?))
    }
}
