//! Options of `logreg`.

use super::{
    client::{LogregClient, Options},
    data::{PrepareOptions, Prepared, prepare},
    encrypted::{Logreg, Training, levels_needed},
};
use crate::{
    data::{self, DataSet, Digits, Header, LabelColumn, LoadOptions},
    linear::layer::Model,
    options::{KEYS, absolute, between, choice, mistake, named_params, one, ways_of_keys},
    workload::{Built, Named, Refusable, Workload},
};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser as _},
};
use limbwise::{
    finite,
    params::{Params, presets::preset},
    rlwe::KeyForm,
    scheme::Ckks,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Where the rows come from, and how they are prepared: the client's business.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogregData {
    /// A table of numbers (comma, semicolon, tab or space) or MNIST IDX images, gzip or not
    /// [default: Breast Cancer Wisconsin (Diagnostic), 569 rows of 30 features, shipped]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    data: Option<PathBuf>,

    /// Column of the label: first, last, a number from 1, or a name of the header [default: last]
    #[arg(long, value_name = "COLUMN", requires = "data", help_heading = "Data")]
    label: Option<LabelColumn>,

    /// The first row names the columns [default: if none of its cells is a number]
    #[arg(long, requires = "data", conflicts_with = "no_header", help_heading = "Data")]
    header: bool,

    /// The first row is data
    #[arg(long, requires = "data", help_heading = "Data")]
    no_header: bool,

    /// The two MNIST digits to classify; the second is the positive class
    #[arg(long, value_name = "A,B", requires = "data", help_heading = "Data")]
    digits: Option<Digits>,

    /// Labels of MNIST images [default: the images' path with "images" replaced by "labels"]
    #[arg(long, value_name = "FILE", requires = "digits", help_heading = "Data")]
    labels: Option<PathBuf>,

    /// How MNIST images are downsampled [default: mean2x2]
    #[arg(long, value_enum, value_name = "HOW", requires = "digits", help_heading = "Data")]
    pooling: Option<data::Pooling>,

    /// Share of test rows, between 0 and 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, value_parser = finite::parse, allow_negative_numbers = true, help_heading = "Data")]
    test_share: f64,

    /// Seed of the row order, which selects the test rows
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Data")]
    data_seed: u64,
}

/// Logistic regression trained on encrypted rows, then encrypted inference
///
/// The client encrypts training and test rows; the server trains by Nesterov gradient descent with a
/// polynomial in place of the sigmoid (the HELR method), scores the test rows, and returns both encrypted.
/// One clear twin runs the same polynomial and iterations, another one the true sigmoid.
///
/// Examples:
///   logreg                                                    the shipped data set
///   logreg --data my.csv --label outcome                      a table of numbers with two classes
///   logreg --data t10k-images-idx3-ubyte.gz --digits 3,8      two digits of MNIST
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct LogregArgs {
    #[command(flatten)]
    data: LogregData,

    /// Encrypted gradient descent iterations; each after the first takes 3 levels plus the polynomial's depth
    #[arg(long, value_name = "COUNT", default_value = "5", value_parser = iterations, allow_negative_numbers = true, help_heading = "Training")]
    iterations: usize,

    /// Rows per mini-batch [default: all training rows, at most 1024]
    #[arg(long, value_name = "ROWS", value_parser = rows, allow_negative_numbers = true, help_heading = "Training")]
    batch: Option<usize>,

    /// Degree of the polynomial that replaces the sigmoid: 3 has depth 2, 5 and 7 have depth 3
    #[arg(long, default_value = "5", value_parser = degree(), help_heading = "Training")]
    degree: usize,

    /// Half-width of the interval on which the polynomial fits the sigmoid
    #[arg(long, value_name = "WIDTH", default_value = "10", value_parser = interval, allow_negative_numbers = true, help_heading = "Training")]
    interval: f64,

    /// Parameters: a preset's name ("limbwise params show") or a TOML file
    /// [default: the smaller of n16-l24-s40 and n16-l32-s40 that has the levels, else boot-words, which bootstraps]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,

    /// Storage of evaluation keys [default: stored, or the fastest that fits --memory]
    #[arg(long, value_parser = choice(KEYS), value_name = "HOW", help_heading = "Parameters")]
    keys: Option<KeyForm>,
}

impl LogregData {
    /// The rows, from this file where one is given.
    fn prepared(&self, files: &[PathBuf]) -> Refusable<Prepared> {
        let file = one(files)?.or(self.data.as_deref());
        let options = PrepareOptions { seed: self.data_seed, test_share: self.test_share, ..PrepareOptions::default() };
        Ok(prepare(&self.load(file)?, &options)?)
    }

    fn load(&self, file: Option<&Path>) -> Result<DataSet, data::DataError> {
        let Some(path) = file else { return Ok(data::breast_cancer()) };
        let header = match (self.header, self.no_header) {
            (true, _) => Header::Present,
            (_, true) => Header::Absent,
            _ => Header::Detect,
        };
        let pooling = self.pooling.unwrap_or_default();
        let (label, idx_labels) = (self.label.clone().unwrap_or_default(), self.labels.clone());
        data::load(path, &LoadOptions { label, header, digits: self.digits, pooling, idx_labels })
    }
}

/// Presets that are tried when none is asked for, smallest first.
const DEFAULT_PRESETS: [&str; 3] = ["n16-l24-s40", "n16-l32-s40", "boot-words"];
/// Most rows of a mini-batch when none are asked for.
const DEFAULT_BATCH: usize = 1024;

impl Workload for LogregArgs {
    type Scheme = Ckks;
    type Program = Logreg;
    type Client = LogregClient;
    type Described = Training;
    type Data = LogregData;
    const PRESET: Option<&'static str> = None;

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let (params, preset) = self.params()?;
        let prepared = self.data.prepared(&[])?;
        let options = Options {
            batch_rows: self.batch.unwrap_or(DEFAULT_BATCH),
            iterations: self.iterations,
            degree: self.degree,
            interval: self.interval,
        };
        let (program, client) = LogregClient::sides(&params, prepared, options)?;
        Ok(Built {
            described: program.training().clone(),
            program,
            client: Some(client),
            preset,
            ways: ways_of_keys(self.keys, memory),
            smaller: "fewer iterations, a preset with fewer limbs",
        })
    }

    fn data(&self) -> LogregData {
        let LogregData { data, labels, .. } = &self.data;
        LogregData { data: absolute(data.as_ref()), labels: absolute(labels.as_ref()), ..self.data.clone() }
    }

    fn program(of: &Training, (params, _): Named<'_, Ckks>, _: Option<&Model>) -> Refusable<Logreg> {
        Ok(Logreg::new(params, of.clone())?)
    }

    fn client(data: &LogregData, _: &Training, program: &Logreg, files: &[PathBuf]) -> Refusable<LogregClient> {
        LogregClient::new(program, data.prepared(files)?).map_err(|e| mistake(format!("the data: {e}")))
    }
}

impl LogregArgs {
    /// The parameters and their name; without a wish the smallest default with the levels, or else the largest, whose
    /// refusal says how many iterations fit.
    fn params(&self) -> Refusable<(Params, String)> {
        if let Some(name) = &self.preset {
            return Ok((named_params(name)?, name.clone()));
        }
        let needed = levels_needed(self.iterations, self.degree);
        let mut chosen = None;
        for name in DEFAULT_PRESETS {
            let params = preset(name)?;
            let enough = params.bootstrapping().is_some() || params.top_level() >= needed;
            chosen = Some((params, name.to_owned()));
            if enough {
                break;
            }
        }
        chosen.ok_or_else(|| mistake("there is no default preset"))
    }
}

fn iterations(text: &str) -> Result<usize, String> {
    between(text, 1, 1000)
}

fn rows(text: &str) -> Result<usize, String> {
    between(text, 1, 1 << 30)
}

pub(crate) fn interval(text: &str) -> Result<f64, String> {
    let positive = finite::parse(text).ok().filter(|x| (0.1..=1000.0).contains(x));
    positive.ok_or_else(|| "wanted a number from 0.1 to 1000; 8 to 12 is usual".into())
}

pub(crate) fn degree() -> impl clap::builder::TypedValueParser<Value = usize> {
    PossibleValuesParser::new(["3", "5", "7"]).map(|text| text.parse().expect("one of the three"))
}
