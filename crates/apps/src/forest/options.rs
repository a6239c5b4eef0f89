//! Options of `forest`.

use super::{
    Ensemble, Forest, ForestClient, ForestError, Grid,
    encrypted::{Inference, MOST_ROWS},
    skeleton::Skeleton,
};
use crate::{
    data::{LabelColumn, breast_cancer, load_array_with_gaps},
    description::Weights,
    linear::layer::Model,
    options::{NumberRange, absolute, between, by_shape_if_small, mistake, named_tfhe, number_range, one},
    pbs::options::one_way,
    program::{Program as _, Tfhe},
    workload::{Built, Named, Part, Refusable, Timed, Workload},
};
use clap::Args;
use limbwise::tfhe::TfheParams;
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Source of the forest and the rows.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForestData {
    /// The forest as ONNX: TreeEnsembleClassifier or TreeEnsembleRegressor of ai.onnx.ml, as skl2onnx and onnxmltools
    /// write them [default: a shipped one of 20 trees of depth 4]
    #[arg(long, value_name = "FILE.onnx", help_heading = "Data")]
    model: Option<PathBuf>,

    /// Rows of features as a table of numbers or .npy, in the order of the forest's features [default: the shipped rows
    /// of the breast cancer data that the shipped forest has not learned]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    data: Option<PathBuf>,

    /// Column of the table that is no feature but the right answer: first, last, or a number from 1
    #[arg(long, value_name = "COLUMN", requires = "data", help_heading = "Data")]
    label: Option<LabelColumn>,

    /// Which rows: a count from the first, or a range such as 11-20; at most 64
    #[arg(long, value_name = "COUNT|FROM-TO", default_value = "1", value_parser = number_range, help_heading = "Data")]
    rows: NumberRange,
}

/// A forest of decision trees on encrypted rows, exact, by tables (TFHE)
///
/// The client encrypts a bit for each cut of the forest: on which side of it the row lies. Sums of these bits say which part
/// of a tree a row reaches and which leaf of it; a bootstrapping turns each into the leaf's value, or into 0. Sums over
/// trees are returned. Results are compared with the quantized forest in the clear, and with the forest as it was trained.
/// The forest's cuts and shapes are in the description, which the client has; values of leaves are not.
///
/// Examples:
///   forest                                                    a shipped forest on a shipped row
///   forest --model f.onnx --data x.csv --label last --rows 4  a forest from a file, four rows, judged by their labels
///   forest --model f.onnx --data x.csv --bits 4               15 cuts a feature: fewer bits to encrypt, moved thresholds
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ForestArgs {
    #[command(flatten)]
    data: ForestData,

    /// Bits of a leaf's value, 1 to 8; fewer levels are used where they are exact
    #[arg(long, value_name = "BITS", default_value = "4", value_parser = bits, help_heading = "Quantization")]
    values: usize,

    /// Bits of a feature, 1 to 8: thresholds are moved to 2^BITS - 1 places between its least and largest value
    /// [default: the thresholds as they are, so that no comparison changes]
    #[arg(long, value_name = "BITS", value_parser = bits, help_heading = "Quantization")]
    bits: Option<usize>,

    /// Rows whose least and largest values --bits divides; laid out as those of --data [default: all rows of --data]
    #[arg(long, value_name = "FILE", requires = "bits", help_heading = "Quantization")]
    calibrate: Option<PathBuf>,

    /// Other rows may lack values though these have all: missing ones go where the forest says
    #[arg(long, help_heading = "Data")]
    missing: bool,

    /// Parameters: a TFHE preset's name ("limbwise params show") or a TOML file [default: 2-2-p128]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "2-2-p128";
/// Rows of the breast cancer data that the shipped forest was trained on.
const LEARNED: usize = 400;

fn bits(text: &str) -> Result<usize, String> {
    between(text, 1, 8)
}

/// Rows of features, and their answers where they are known.
type Table = (Vec<Vec<f64>>, Vec<f64>);

impl ForestArgs {
    fn with(&self, params: &TfheParams, preset: &str) -> Refusable<Built<Self>> {
        let ensemble = self.data.ensemble()?;
        let rows = self.data.chosen(&[])?;
        let width = rows.0.first().map_or(0, Vec::len);
        if width != ensemble.features {
            let wanted =
                format!("{}, the forest's features (--label COLUMN names one that is none)", ensemble.features);
            return Err(ForestError::Shape { what: "the data", got: format!("{width} columns"), wanted }.into());
        }
        let grid = match self.bits {
            None => Grid::Thresholds,
            Some(bits) => {
                let all = match &self.calibrate {
                    Some(file) => self.data.table(file)?.0,
                    None => self.data.all(None)?.0,
                };
                Grid::uniform(u32::try_from(bits)?, &all, ensemble.features)?
            }
        };
        let lacking = self.missing || self.data.all(None)?.0.iter().flatten().any(|x| x.is_nan());
        let ensemble = if lacking { ensemble } else { ensemble.of_whole_rows() };
        let forest = Forest::new(&ensemble, &grid, u32::try_from(self.values)?)?;
        let weights = if self.data.model.is_none() { Weights::Shipped } else { Weights::Server };
        let described = Described { forest: forest.skeleton.clone(), rows: rows.0.len(), weights };
        let program = Inference::new(params, forest, rows.0.len())?;
        let client = Some(ForestClient::new(&program, rows.0, rows.1, Some(ensemble))?);
        let smaller = "fewer --rows, or --bits";
        Ok(Built { program, described, client, preset: preset.into(), ways: one_way(), smaller })
    }
}

/// Public metadata of an inference: all of the forest but the values of its leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub forest: Skeleton,
    /// Rows in one pass.
    pub rows: usize,
    pub weights: Weights,
}

fn shipped() -> Refusable<Ensemble> {
    let bytes = include_bytes!("../../data/forest_breast_cancer.onnx");
    Ok(Ensemble::parse(bytes, "the shipped forest")?)
}

impl ForestData {
    fn ensemble(&self) -> Refusable<Ensemble> {
        self.model.as_deref().map_or_else(shipped, |path| Ok(Ensemble::load(path)?))
    }

    /// The rows that are run, of this file where one is given.
    fn chosen(&self, files: &[PathBuf]) -> Refusable<Table> {
        let (from, to) = (*self.rows.0.start(), *self.rows.0.end());
        let (rows, answers) = self.all(one(files)?)?;
        let count = rows.len();
        if to - from >= MOST_ROWS {
            return Err(mistake(format!("--rows {from}-{to}: at most {MOST_ROWS} in one pass")));
        }
        let some = rows.get(from - 1..to).map(<[_]>::to_vec);
        let some = some.ok_or_else(|| mistake(format!("--rows {from}-{to}: the data have {count} rows")))?;
        Ok((some, answers.get(from - 1..to).map(<[_]>::to_vec).unwrap_or_default()))
    }

    /// All rows of the data.
    fn all(&self, file: Option<&Path>) -> Refusable<Table> {
        if let Some(path) = file.or(self.data.as_deref()) {
            return self.table(path);
        }
        let set = breast_cancer();
        let rows = (LEARNED..set.rows()).map(|row| set.row(row).to_vec()).collect();
        Ok((rows, set.labels[LEARNED..].iter().map(|&label| f64::from(u8::from(label))).collect()))
    }

    /// The rows of a file, the label's column apart.
    fn table(&self, path: &Path) -> Refusable<Table> {
        let name = path.display();
        let array = load_array_with_gaps(path)?;
        let &[count, width] = &array.shape[..] else {
            return Err(mistake(format!("{name}: an array of {:?}; wanted rows of features", array.shape)));
        };
        if array.values.iter().any(|z| z.im != 0.0) {
            return Err(mistake(format!("{name}: complex numbers; wanted real ones")));
        }
        let at = match &self.label {
            None => None,
            Some(LabelColumn::First) => Some(0),
            Some(LabelColumn::Last) => width.checked_sub(1),
            Some(LabelColumn::Index(number)) => Some(number.wrapping_sub(1)),
            Some(LabelColumn::Name(name)) => {
                return Err(mistake(format!("--label {name}: wanted first, last or a number")));
            }
        };
        if at.is_some_and(|at| at >= width) {
            return Err(mistake(format!("--label: {name} has {width} columns")));
        }
        let numbers: Vec<f64> = array.values.iter().map(|z| z.re).collect();
        let rows = || numbers.chunks_exact(width.max(1)).take(count);
        let kept = |row: &[f64]| row.iter().enumerate().filter(|(c, _)| Some(*c) != at).map(|(_, &x)| x).collect();
        let answers: Vec<f64> = at.map(|at| rows().map(|row| row[at]).collect()).unwrap_or_default();
        if let Some(row) = answers.iter().position(|x| x.is_nan()) {
            return Err(mistake(format!("{name}: row {} has no label", row + 1)));
        }
        Ok((rows().map(kept).collect(), answers))
    }
}

impl Workload for ForestArgs {
    type Scheme = Tfhe;
    type Program = Inference;
    type Client = ForestClient;
    type Described = Described;
    type Data = ForestData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, _: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        self.with(&named_tfhe(preset)?, preset)
    }

    fn build_timed(&self) -> Refusable<Timed<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        by_shape_if_small(&named_tfhe(preset)?, 4, |params| self.with(params, preset))
    }

    fn batch(&self) -> Refusable<Option<usize>> {
        Ok(Some(self.data.rows.count()))
    }

    fn part(&self, part: Part) -> Option<Self> {
        let (from, to) = (*self.data.rows.0.start(), *self.data.rows.0.end());
        let first = from + part.within(to - from + 1).first;
        let data = ForestData { rows: NumberRange(first..=first + part.count - 1), ..self.data.clone() };
        Some(Self { data, ..self.clone() })
    }

    fn server_file(&self) -> Option<PathBuf> {
        self.data.model.clone()
    }

    fn data(&self) -> ForestData {
        let [model, data] = [&self.data.model, &self.data.data].map(|path| absolute(path.as_ref()));
        ForestData { model, data, ..self.data.clone() }
    }

    fn program(of: &Described, (params, _): Named<'_, Tfhe>, model: Option<&Model>) -> Refusable<Inference> {
        let forest = match (of.weights, model) {
            (Weights::Shipped, _) => Forest::quantized_as(&of.forest, &shipped()?)?,
            (Weights::Server, None) => Forest::stand_in(&of.forest)?,
            (Weights::Server, Some(model)) => {
                let missing = || mistake("the forest is the server's: give its file with --weights");
                Forest::quantized_as(&of.forest, model.forest.as_deref().ok_or_else(missing)?)?
            }
        };
        Ok(Inference::new(params, forest, of.rows)?)
    }

    fn least_bytes(of: &Described, params: &TfheParams) -> u64 {
        let bits = (of.forest.cuts.len() as u64).saturating_mul(of.rows as u64);
        bits.saturating_mul(8 * (params.literal().big_dimension() as u64 + 1))
    }

    fn server_model(of: &Described, [file, _]: [Option<&Path>; 2]) -> Refusable<Option<Model>> {
        match (of.weights, file) {
            (Weights::Shipped, _) => Ok(None),
            (Weights::Server, None) => Ok(Some(Model::default())),
            (Weights::Server, Some(file)) => {
                Ok(Some(Model { forest: Some(Arc::new(Ensemble::load(file)?)), ..Model::default() }))
            }
        }
    }

    fn client(data: &ForestData, of: &Described, program: &Inference, files: &[PathBuf]) -> Refusable<ForestClient> {
        let ensemble = Self::has_model(data).then(|| data.ensemble()).transpose()?;
        // A client whose server alone has the forest encrypts with any leaves in the place of the server's.
        let own = match &ensemble {
            Some(ensemble) => {
                let forest = Forest::quantized_as(&of.forest, ensemble)?;
                &Inference::new(program.params(), forest, of.rows)?
            }
            None => program,
        };
        let (rows, answers) = data.chosen(files)?;
        Ok(ForestClient::new(own, rows, answers, ensemble)?)
    }

    fn client_model(data: &ForestData, of: &Described) -> Refusable<Option<Model>> {
        match Self::has_model(data) {
            true => Ok(Some(Self::server_model(of, [data.model.as_deref(), None])?.unwrap_or_default())),
            false => Ok(None),
        }
    }

    fn has_model(data: &ForestData) -> bool {
        data.model.as_ref().is_none_or(|path| path.exists())
    }
}
