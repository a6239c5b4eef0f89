//! Options of `linear`.

use super::{Built, KeysName, PlaintextsName, Source, between, named_params};
use crate::failure::Mistake;
use clap::{Args, ValueEnum};
use limbwise::{
    ckks::{
        Diagonals, PlaintextForm, Strategy,
        tensor::{Filters, Image, Matrix, Padding, TensorError},
    },
    params::presets::preset,
};
use limbwise_apps::linear::{
    Linear, LinearError, Task,
    data::{generated, table},
    levels_needed,
};
use limbwise_runtime::frontier::{Way, strategies};
use std::path::PathBuf;

/// What a layer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Op {
    /// Clear matrix × encrypted vector, plus a clear bias
    Matvec,
    /// Clear matrix × encrypted matrix, its columns side by side in the slots
    Matmul,
    /// Encrypted matrix × encrypted matrix, square, as many pairs at once as fit (takes 3 levels)
    EncryptedMatmul,
    /// Clear filters on an encrypted image of several channels, plus a clear bias
    Conv,
}

/// What lies outside an image.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PaddingName {
    /// Zeros: stride 1 keeps the size
    Same,
    /// Nothing: filters stay inside
    Valid,
}

/// Rotations: one kind, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Auto,
    /// All numbers of baby steps.
    Kind(&'static str),
    One(Strategy),
}

/// Options of `linear`.
#[derive(Debug, Args)]
pub(crate) struct LinearArgs {
    /// What the layer does
    #[arg(long, value_enum, default_value = "matvec", help_heading = "Layer")]
    op: Op,

    /// Rows of the matrix [default: 256; 64 for matmul; 16 for encrypted-matmul, where it is the columns too]
    #[arg(long, value_name = "COUNT", value_parser = side, help_heading = "Layer")]
    rows: Option<usize>,

    /// Columns of the matrix [default: as many as rows]
    #[arg(long, value_name = "COUNT", value_parser = side, help_heading = "Layer")]
    cols: Option<usize>,

    /// Columns of the encrypted matrix of matmul [default: 64], or pairs of encrypted-matmul [default: all that fit]
    #[arg(long, value_name = "COUNT", value_parser = side, help_heading = "Layer")]
    vectors: Option<usize>,

    /// Channels of the image [default: 16]
    #[arg(long, value_name = "COUNT", value_parser = side, help_heading = "Layer")]
    channels: Option<usize>,

    /// Rows of the image [default: 32]
    #[arg(long, value_name = "PIXELS", value_parser = side, help_heading = "Layer")]
    height: Option<usize>,

    /// Columns of the image [default: as many as rows]
    #[arg(long, value_name = "PIXELS", value_parser = side, help_heading = "Layer")]
    width: Option<usize>,

    /// Filters, the channels of the result [default: 16]
    #[arg(long, value_name = "COUNT", value_parser = side, help_heading = "Layer")]
    filters: Option<usize>,

    /// Rows and columns of a filter, 1 to 7 [default: 3]
    #[arg(long, value_name = "PIXELS", value_parser = kernel, help_heading = "Layer")]
    kernel: Option<usize>,

    /// From one pixel of the result to the next, in the image; the gaps stay in the slots [default: 1]
    #[arg(long, value_name = "PIXELS", value_parser = kernel, help_heading = "Layer")]
    stride: Option<usize>,

    /// What lies outside the image [default: same]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Layer")]
    padding: Option<PaddingName>,

    /// A table of numbers: the matrix, or a filter a row (channels × kernel × kernel numbers) [default: from the seed]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    weights: Option<PathBuf>,

    /// A table of numbers to encrypt: a vector, a matrix, or an image (channels × height rows) [default: from the seed]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    input: Option<PathBuf>,

    /// A table of numbers: a bias for each row or filter [default: from the seed; none beside --weights]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    bias: Option<PathBuf>,

    /// Seed of numbers that no file gives: input and bias in [-1, 1), weights smaller by the root of their number
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Data")]
    seed: u64,

    /// Rotations: auto, direct, hoisted, bsgs, double-hoisted or multi-hop; the last three also with a number of baby
    /// steps, as in bsgs:8, and so whole:8
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = wanted, help_heading = "Strategy")]
    strategy: Wanted,

    /// How the diagonals are stored [default: whichever is fastest and fits]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Strategy")]
    plaintexts: Option<PlaintextsName>,

    /// How evaluation keys are kept [default: whichever is fastest and fits]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Strategy")]
    keys: Option<KeysName>,

    /// Parameters: a preset's name ("limbwise params show") or a TOML file
    /// [default: the smallest of n13-l3-s40, n14-l7-s40, n15-l16-s40 and n16-l24-s40 that has the slots and levels]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,

    /// Level at which inputs are encrypted: lower ones have fewer limbs, and at level 0 of the result large values wrap
    /// [default: the highest]
    #[arg(long, value_name = "LEVEL", help_heading = "Parameters")]
    level: Option<usize>,
}

/// Presets that are tried when none is asked for, smallest first.
const DEFAULT_PRESETS: [&str; 4] = ["n13-l3-s40", "n14-l7-s40", "n15-l16-s40", "n16-l24-s40"];

impl LinearArgs {
    pub(super) fn build(&self, memory: Option<u64>) -> anyhow::Result<Built> {
        let (layer, preset) = self.layer()?;
        Ok(Built {
            ways: self.ways(layer.largest_map(), memory)?,
            source: Source::Linear(layer),
            preset,
            smaller: "a lower --level, a smaller layer, or leave open what --strategy, --plaintexts and --keys fix",
        })
    }

    /// The layer with the parameters asked for, or with the smallest default ones that it fits.
    fn layer(&self) -> anyhow::Result<(Linear, String)> {
        self.refuse_strangers()?;
        let presets = self.preset.as_deref().map_or(DEFAULT_PRESETS.to_vec(), |name| vec![name]);
        let mut refused = None;
        for name in presets {
            let params = if self.preset.is_some() { named_params(name)? } else { preset(name)? };
            let task = self.task(params.max_slots())?;
            let needed = levels_needed(&task);
            match Linear::new(&params, self.level.unwrap_or(params.top_level().max(needed)), task) {
                Ok(layer) => return Ok((layer, name.to_owned())),
                Err(
                    e @ (LinearError::Level { .. }
                    | LinearError::Scheme(limbwise::Error::Tensor(TensorError::TooLarge { .. }))),
                ) => {
                    refused = Some(e);
                }
                Err(e) => return Err(e.into()),
            }
        }
        Err(refused.map_or_else(|| Mistake("no preset to try".into()).into(), anyhow::Error::from))
    }

    /// Everything that the options leave open.
    fn ways(&self, map: &Diagonals, memory: Option<u64>) -> Result<Vec<Way>, Mistake> {
        let strategies = match self.strategy {
            Wanted::One(strategy) => vec![strategy],
            Wanted::Kind(kind) => strategies(map).into_iter().filter(|s| s.name() == kind).collect(),
            Wanted::Auto => strategies(map),
        };
        if strategies.is_empty() {
            let text = format!(
                "--strategy {}: a map of {} diagonals has no baby and giant steps; choose direct, hoisted or auto",
                if let Wanted::Kind(kind) = self.strategy { kind.replace('_', "-") } else { "auto".into() },
                map.count()
            );
            return Err(Mistake(text));
        }
        let forms = self.plaintexts.map_or(PlaintextForm::ALL.to_vec(), |name| vec![name.into()]);
        let keys = KeysName::forms(self.keys, memory);
        let ways = strategies.iter().flat_map(|&strategy| forms.iter().map(move |&form| (strategy, form)));
        Ok(ways.flat_map(|maps| keys.iter().map(move |&keys| Way { maps: Some(maps), ..Way::of_keys(keys) })).collect())
    }

    /// Fails for shapes that the operation does not have.
    fn refuse_strangers(&self) -> Result<(), Mistake> {
        let matrix = ["--rows", "--cols", "--vectors"];
        let given = [
            ("--rows", self.rows.is_some()),
            ("--cols", self.cols.is_some()),
            ("--vectors", self.vectors.is_some()),
            ("--channels", self.channels.is_some()),
            ("--height", self.height.is_some()),
            ("--width", self.width.is_some()),
            ("--filters", self.filters.is_some()),
            ("--kernel", self.kernel.is_some()),
            ("--stride", self.stride.is_some()),
            ("--padding", self.padding.is_some()),
            ("--bias", self.bias.is_some()),
        ];
        let has = |name: &str| match self.op {
            Op::Matvec => ["--rows", "--cols", "--bias"].contains(&name),
            Op::Matmul => matrix.contains(&name) || name == "--bias",
            Op::EncryptedMatmul => ["--rows", "--vectors"].contains(&name),
            Op::Conv => !matrix.contains(&name),
        };
        let Some((name, _)) = given.iter().find(|(name, given)| *given && !has(name)) else { return Ok(()) };
        let op = self.op.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
        Err(Mistake(format!("{name} means nothing for --op {op}: leave it out, or choose another --op")))
    }

    fn task(&self, slots: usize) -> anyhow::Result<Task> {
        match self.op {
            Op::Matvec => self.product(256, 1),
            Op::Matmul => self.product(64, self.vectors.unwrap_or(64)),
            Op::EncryptedMatmul => self.square(slots),
            Op::Conv => self.convolution(),
        }
    }

    /// The numbers of a file in the shape wanted, or generated ones.
    fn numbers(
        &self,
        file: Option<&PathBuf>,
        (name, shape): (&str, [usize; 2]),
        stream: u64,
        most: f64,
    ) -> anyhow::Result<Vec<f64>> {
        let [rows, columns] = shape;
        let Some(path) = file else { return Ok(generated(self.seed, stream, rows * columns, most)) };
        let (got_rows, got_columns, values) = table(path)?;
        // A vector may lie or stand.
        let vector = shape.contains(&1) && values.len() == rows * columns && [got_rows, got_columns].contains(&1);
        if [got_rows, got_columns] == shape || vector {
            return Ok(values);
        }
        let text = format!(
            "{}: got {got_rows} rows of {got_columns} numbers for {name}; wanted {rows} of {columns} (change the options of the shape, or the file)",
            path.display()
        );
        Err(Mistake(text).into())
    }

    fn bias(&self, count: usize) -> anyhow::Result<Vec<f64>> {
        if self.bias.is_none() && self.weights.is_some() {
            return Ok(Vec::new());
        }
        self.numbers(self.bias.as_ref(), ("the bias", [count, 1]), 2, 1.0)
    }

    fn product(&self, default_rows: usize, default_vectors: usize) -> anyhow::Result<Task> {
        // A file's shape is taken where no option says otherwise.
        let file = self.weights.as_deref().map(table).transpose()?;
        let rows = self.rows.or(file.as_ref().map(|f| f.0)).unwrap_or(default_rows);
        let columns = self.cols.or(file.as_ref().map(|f| f.1)).unwrap_or(rows);
        let input = self.input.as_deref().map(table).transpose()?;
        let vectors = match (self.op, self.vectors, &input) {
            (Op::Matmul, None, Some((_, vectors, _))) => *vectors,
            _ => default_vectors,
        };
        let most = 1.0 / (columns as f64).sqrt();
        let weights = self.numbers(self.weights.as_ref(), ("the matrix", [rows, columns]), 0, most)?;
        let x = self.numbers(self.input.as_ref(), ("the input", [columns, vectors]), 1, 1.0)?;
        Ok(Task::Product {
            matrix: Matrix::new(rows, columns, weights)?,
            bias: self.bias(rows)?,
            x: Matrix::new(columns, vectors, x)?,
        })
    }

    fn square(&self, slots: usize) -> anyhow::Result<Task> {
        let file = self.weights.as_deref().map(table).transpose()?;
        let side = self.rows.or(file.map(|f| f.0)).unwrap_or(16);
        let from_files = self.weights.is_some() || self.input.is_some();
        let pairs = self.vectors.unwrap_or(if from_files { 1 } else { (slots / side.saturating_mul(side)).max(1) });
        if from_files && pairs > 1 {
            return Err(Mistake("--vectors: files hold one pair of matrices; leave it out, or the files".into()).into());
        }
        let most = 1.0 / (side as f64).sqrt();
        let draw = |file: Option<&PathBuf>, (name, stream), most| {
            let one = |pair: usize| {
                let values = self.numbers(file, (name, [side, side]), stream + 2 * pair as u64, most)?;
                Ok(Matrix::new(side, side, values)?)
            };
            (0..pairs).map(one).collect::<anyhow::Result<Vec<_>>>()
        };
        Ok(Task::Square {
            left: draw(self.weights.as_ref(), ("the left matrix", 0), most)?,
            right: draw(self.input.as_ref(), ("the right matrix", 1), 1.0)?,
        })
    }

    fn convolution(&self) -> anyhow::Result<Task> {
        let (channels, height) = (self.channels.unwrap_or(16), self.height.unwrap_or(32));
        let (width, kernel) = (self.width.unwrap_or(height), self.kernel.unwrap_or(3));
        let file = self.weights.as_deref().map(table).transpose()?;
        let filters = self.filters.or(file.map(|f| f.0)).unwrap_or(16);
        let terms = channels * kernel * kernel;
        let weights =
            self.numbers(self.weights.as_ref(), ("the filters", [filters, terms]), 0, 1.0 / (terms as f64).sqrt())?;
        let image = self.numbers(self.input.as_ref(), ("the image", [channels * height, width]), 1, 1.0)?;
        let padding = match self.padding {
            None | Some(PaddingName::Same) => Padding::Same,
            Some(PaddingName::Valid) => Padding::Valid,
        };
        let shape = [filters, channels, kernel, kernel];
        Ok(Task::Convolution {
            filters: Filters::new(shape, weights, self.bias(filters)?, self.stride.unwrap_or(1), padding)?,
            image: Image::new([channels, height, width], image)?,
        })
    }
}

fn side(text: &str) -> Result<usize, String> {
    between(text, 1, 1 << 16)
}

fn kernel(text: &str) -> Result<usize, String> {
    between(text, 1, 7)
}

/// A strategy by name, with `-` or `_`, and its baby steps after a colon or in parentheses.
fn wanted(text: &str) -> Result<Wanted, String> {
    let refuse = || {
        "wanted auto, direct, hoisted, bsgs, double-hoisted or multi-hop, the last three also with baby steps as in bsgs:8, or whole:8".to_owned()
    };
    let (name, babies) = match text.split_once([':', '(']) {
        None => (text, None),
        Some((name, babies)) => (
            name,
            Some(babies.trim_end_matches(')').parse().ok().filter(|b| (1..=1 << 16).contains(b)).ok_or_else(refuse)?),
        ),
    };
    match (name.replace('-', "_").as_str(), babies) {
        ("auto", None) => Ok(Wanted::Auto),
        ("direct", None) => Ok(Wanted::One(Strategy::Direct)),
        ("hoisted", None) => Ok(Wanted::One(Strategy::Hoisted)),
        ("bsgs", None) => Ok(Wanted::Kind("bsgs")),
        ("double_hoisted", None) => Ok(Wanted::Kind("double_hoisted")),
        ("multi_hop", None) => Ok(Wanted::Kind("multi_hop")),
        ("bsgs", Some(babies)) => Ok(Wanted::One(Strategy::Bsgs { babies })),
        ("whole", Some(babies)) => Ok(Wanted::One(Strategy::Whole { babies })),
        ("double_hoisted", Some(babies)) => Ok(Wanted::One(Strategy::DoubleHoisted { babies })),
        ("multi_hop", Some(babies)) => Ok(Wanted::One(Strategy::MultiHop { babies })),
        _ => Err(refuse()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_have_names_and_baby_steps() {
        assert_eq!(wanted("auto"), Ok(Wanted::Auto));
        assert_eq!(wanted("double-hoisted"), Ok(Wanted::Kind("double_hoisted")));
        for text in ["multi-hop:8", "multi-hop(8)", "multi_hop(8)"] {
            assert_eq!(wanted(text), Ok(Wanted::One(Strategy::MultiHop { babies: 8 })));
        }
        for wrong in ["", "fast", "hoisted:3", "bsgs:", "bsgs:0", "bsgs:x", "auto:1"] {
            assert!(wanted(wrong).is_err(), "{wrong}");
        }
    }
}
