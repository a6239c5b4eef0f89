//! Workloads on the command line: their options, and the program that these make.

use crate::{failure::Mistake, files::read_small};
use anyhow::Context as _;
use clap::{
    Args, Command, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser as _},
};
use limbwise::{
    params::{Params, ParamsError, ParamsLiteral, presets::preset},
    rlwe::KeyForm,
};
use limbwise_apps::{
    data::{self, DataSet, Digits, Header, LabelColumn, LoadOptions},
    logreg::{
        data::{PrepareOptions, prepare},
        encrypted::{Logreg, levels_needed},
        sigmoid::SigmoidPolynomial,
    },
};
use std::path::{Path, PathBuf};

/// What to compute.
#[derive(Debug, Subcommand)]
pub(crate) enum Workload {
    /// Logistic regression trained on encrypted rows, then encrypted inference
    ///
    /// The client encrypts training rows and held-back rows; the server trains by Nesterov gradient descent with a
    /// polynomial in the sigmoid's place (the HELR method), scores the held-back rows, and returns both encrypted.
    /// A clear twin runs the same polynomial and iterations, another one the true sigmoid.
    ///
    /// Examples:
    ///   logreg                                                    the shipped data set
    ///   logreg --data my.csv --label outcome                      a table of numbers with two classes
    ///   logreg --data t10k-images-idx3-ubyte.gz --digits 3,8      two digits of MNIST
    #[command(verbatim_doc_comment)]
    Logreg(LogregArgs),
}

/// Name and one line of each workload.
pub(crate) fn all() -> Vec<(String, String)> {
    let command = Workload::augment_subcommands(Command::new("limbwise"));
    let about = |c: &Command| c.get_about().map(ToString::to_string).unwrap_or_default();
    command.get_subcommands().map(|c| (c.get_name().to_owned(), about(c))).collect()
}

/// A program with the name of its parameters.
pub(crate) struct Built {
    pub(crate) program: Logreg,
    pub(crate) preset: String,
    /// How to keep keys, if the user said so.
    pub(crate) form: Option<KeyForm>,
}

impl Workload {
    /// Reads the data and makes the program.
    ///
    /// # Errors
    /// Data that cannot be read or prepared, parameters that are refused or have too few levels.
    pub(crate) fn build(&self) -> anyhow::Result<Built> {
        match self {
            Self::Logreg(args) => args.build(),
        }
    }
}

/// How to make MNIST images smaller.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PoolingName {
    /// One feature a pixel
    None,
    /// One feature for each 2×2 square, its mean: 28×28 becomes 14×14
    Mean2x2,
}

/// How evaluation keys are kept.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum KeysName {
    /// Both halves: fastest
    Stored,
    /// The uniform half as a seed that is grown at each use: half the memory, about 1.4 times the time
    Seeded,
}

/// Options of `logreg`.
#[derive(Debug, Args)]
pub(crate) struct LogregArgs {
    /// A table of numbers (comma, semicolon, tab or space) or MNIST IDX images, gzip or not
    /// [default: Breast Cancer Wisconsin (Diagnostic), 569 rows of 30 features, shipped]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    data: Option<PathBuf>,

    /// Column of the label: first, last, a number from 1, or a name of the header [default: last]
    #[arg(long, value_name = "COLUMN", requires = "data", help_heading = "Data")]
    label: Option<LabelColumn>,

    /// The first row names the columns [default: it does if none of its cells is a number]
    #[arg(long, requires = "data", conflicts_with = "no_header", help_heading = "Data")]
    header: bool,

    /// The first row is data
    #[arg(long, requires = "data", help_heading = "Data")]
    no_header: bool,

    /// The two digits of MNIST to tell apart; the second is the positive class
    #[arg(long, value_name = "A,B", requires = "data", help_heading = "Data")]
    digits: Option<Digits>,

    /// Labels of MNIST images [default: the images' path with "images" replaced by "labels"]
    #[arg(long, value_name = "FILE", requires = "digits", help_heading = "Data")]
    labels: Option<PathBuf>,

    /// How MNIST images are made smaller [default: mean2x2]
    #[arg(long, value_enum, value_name = "HOW", requires = "digits", help_heading = "Data")]
    pooling: Option<PoolingName>,

    /// Share of rows held back for testing, between 0 and 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, allow_negative_numbers = true, help_heading = "Data")]
    test_share: f64,

    /// Seed of the order of rows, which decides what is held back
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Data")]
    seed: u64,

    /// Encrypted iterations of gradient descent; each after the first takes 3 levels and the polynomial's depth
    #[arg(long, value_name = "COUNT", default_value = "5", value_parser = iterations, allow_negative_numbers = true, help_heading = "Training")]
    iterations: usize,

    /// Rows of a mini-batch [default: all training rows, but at most 1024]
    #[arg(long, value_name = "ROWS", value_parser = rows, allow_negative_numbers = true, help_heading = "Training")]
    batch: Option<usize>,

    /// Degree of the polynomial in the sigmoid's place: 3 has depth 2, 5 and 7 have depth 3
    #[arg(long, default_value = "5", value_parser = degree(), help_heading = "Training")]
    degree: usize,

    /// Half the width of the interval on which the polynomial fits the sigmoid
    #[arg(long, value_name = "WIDTH", default_value = "10", value_parser = interval, allow_negative_numbers = true, help_heading = "Training")]
    interval: f64,

    /// Parameters: a preset's name ("limbwise params show") or a TOML file
    /// [default: the smaller of n16-l24-s40 and n16-l32-s40 that has the levels]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,

    /// How evaluation keys are kept [default: stored, or the fastest that fits --memory]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Parameters")]
    keys: Option<KeysName>,
}

/// Presets that are tried when none is asked for, smallest first.
const DEFAULT_PRESETS: [&str; 2] = ["n16-l24-s40", "n16-l32-s40"];
/// Most rows of a mini-batch when none are asked for.
const DEFAULT_BATCH: usize = 1024;

impl LogregArgs {
    fn build(&self) -> anyhow::Result<Built> {
        let (params, preset) = self.params()?;
        let options = PrepareOptions { seed: self.seed, test_share: self.test_share, ..PrepareOptions::default() };
        let prepared = prepare(&self.load()?, &options)?;
        let batch = self.batch.unwrap_or(DEFAULT_BATCH);
        let polynomial = SigmoidPolynomial::least_squares(self.degree, self.interval);
        let form = self.keys.map(|keys| match keys {
            KeysName::Stored => KeyForm::Stored,
            KeysName::Seeded => KeyForm::Seeded,
        });
        Ok(Built { program: Logreg::new(&params, prepared, batch, self.iterations, polynomial)?, preset, form })
    }

    fn load(&self) -> Result<DataSet, data::DataError> {
        let Some(path) = &self.data else { return Ok(data::breast_cancer()) };
        let header = match (self.header, self.no_header) {
            (true, _) => Header::Present,
            (_, true) => Header::Absent,
            _ => Header::Detect,
        };
        let pooling = match self.pooling {
            Some(PoolingName::None) => data::Pooling::None,
            Some(PoolingName::Mean2x2) | None => data::Pooling::Mean2x2,
        };
        let (label, idx_labels) = (self.label.clone().unwrap_or_default(), self.labels.clone());
        data::load(path, &LoadOptions { label, header, digits: self.digits, pooling, idx_labels })
    }

    /// The parameters and their name; without a wish the smallest default with the levels, or else the largest, whose
    /// refusal says how many iterations fit.
    fn params(&self) -> anyhow::Result<(Params, String)> {
        if let Some(name) = &self.preset {
            return Ok((named_params(name)?, name.clone()));
        }
        let needed = levels_needed(self.iterations, self.degree);
        let mut chosen = None;
        for name in DEFAULT_PRESETS {
            let params = preset(name)?;
            let enough = params.top_level() >= needed;
            chosen = Some((params, name.to_owned()));
            if enough {
                break;
            }
        }
        chosen.context("there are default presets")
    }
}

/// A preset by name, or a literal from a TOML file.
///
/// # Errors
/// Names that do not exist, files that are no literal, literals that are refused.
pub(crate) fn named_params(name: &str) -> anyhow::Result<Params> {
    let path = Path::new(name);
    if path.extension().is_none_or(|e| e != "toml") {
        return Ok(preset(name)?);
    }
    params_file(path)
}

/// A literal from a TOML file, checked.
///
/// # Errors
/// As [`named_params`].
pub(crate) fn params_file(path: &Path) -> anyhow::Result<Params> {
    let name = path.display();
    let literal: ParamsLiteral = toml::from_str(&read_small(path)?).map_err(|e| {
        let next = "\"limbwise params show n16-l24-s40\" prints a file of the right form";
        Mistake(format!("{name}: not a parameter set: {}\n({next})", e.to_string().trim_end()))
    })?;
    let refused = |e: ParamsError| match e {
        ParamsError::Insecure { .. } => Mistake(format!("{name}: {e} (in a file: [insecure] reason = \"...\")")),
        e => Mistake(format!("{name}: {e}")),
    };
    Ok(Params::new(&literal).map_err(refused)?)
}

fn between(text: &str, least: usize, most: usize) -> Result<usize, String> {
    let wanted = || format!("wanted a whole number from {least} to {most}");
    text.parse().ok().filter(|n| (least..=most).contains(n)).ok_or_else(wanted)
}

fn iterations(text: &str) -> Result<usize, String> {
    between(text, 1, 1000)
}

fn rows(text: &str) -> Result<usize, String> {
    between(text, 1, 1 << 30)
}

fn interval(text: &str) -> Result<f64, String> {
    let positive = text.parse().ok().filter(|x: &f64| (0.1..=1000.0).contains(x));
    positive.ok_or_else(|| "wanted a number from 0.1 to 1000; 8 to 12 is usual".into())
}

fn degree() -> impl clap::builder::TypedValueParser<Value = usize> {
    PossibleValuesParser::new(["3", "5", "7"]).map(|text| text.parse().expect("one of the three"))
}
