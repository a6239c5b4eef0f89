//! Options of `linear`.

use super::{
    Layer, Linear, LinearError, Task,
    client::LinearClient,
    data::generated,
    layer::{Described as LayerDescription, INPUT, LayerShape, Model, Numbers, WEIGHTS},
};
use crate::{
    data::{Numbers as Array, load_array},
    description::Refusal,
    floor,
    options::{Choice, StorageArgs, absolute, between, choice, mistake, named_params, one},
    way::{Way, strategies},
    workload::{Built, Named, Refusable, Workload},
};
use clap::{Args, ValueEnum};
use limbwise::{
    ckks::{
        Diagonals, PlaintextForm, Promise, Strategy,
        tensor::{Padding, TensorError},
    },
    params::{Params, presets::preset},
    scheme::Ckks,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Public metadata of a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub layer: LayerDescription,
    /// The level that inputs are encrypted at.
    pub level: usize,
    pub strategy: Strategy,
    /// How their diagonals are stored.
    pub plaintexts: PlaintextForm,
    /// What is known of the inputs.
    pub bounds: Promise,
}

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
const PADDINGS: &[Choice<Padding>] = &[
    ("same", Padding::Same, "Zeros: stride 1 keeps the size"),
    ("valid", Padding::Valid, "Nothing: filters stay inside"),
];

/// Rotations: one kind, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Auto,
    /// All numbers of baby steps.
    Kind(&'static str),
    One(Strategy),
}

/// Where numbers come from.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearData {
    /// The matrix, or one filter per row (channels × kernel × kernel numbers), as a table or .npy; "server" if the
    /// server holds them [default: from the seed]
    #[arg(long, value_name = "FILE|server", help_heading = "Data")]
    weights: Option<PathBuf>,

    /// Numbers to encrypt: a vector, a matrix, or an image (channels × height rows) [default: from the seed]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    input: Option<PathBuf>,

    /// One bias per row or filter; or "server" [default: from the seed; none beside --weights]
    #[arg(long, value_name = "FILE|server", help_heading = "Data")]
    bias: Option<PathBuf>,

    /// Seed of numbers not read from files: input and bias in [-1, 1), weights scaled by 1/sqrt(count)
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Data")]
    data_seed: u64,
}

/// In the place of a file: the server has the numbers.
const SERVER: &str = "server";

/// One linear layer on encrypted data: matrix products and convolutions, in every strategy
///
/// A matrix or filters become diagonals of a map on slots; the map is evaluated by rotations. How many rotations
/// there are, how many keys they need and how the diagonals are stored trades memory for time: "plan"
/// lists the Pareto-optimal configurations, "--memory" takes the fastest that fits. Results are compared with the clear
/// twin.
///
/// Examples:
///   linear                                                    256×256 matrix times encrypted vector
///   linear --op conv --memory 3GB                             16 filters of 3×3 on 16×32×32, within 3 GB
///   linear --op conv --filters 32 --stride 2 --kernel 5       another stride and kernel
///   linear --op matmul --rows 10 --cols 784 --vectors 100 --strategy bsgs --plaintexts on-the-fly
///   linear --op encrypted-matmul --rows 16                    both matrices encrypted, as many pairs as fit
///   linear --weights matrix.csv --input vector.csv            your own numbers
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct LinearArgs {
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

    /// Step between output pixels, in input pixels; the gaps stay in the slots [default: 1]
    #[arg(long, value_name = "PIXELS", value_parser = kernel, help_heading = "Layer")]
    stride: Option<usize>,

    /// Padding outside the image [default: same]
    #[arg(long, value_parser = choice(PADDINGS), value_name = "HOW", help_heading = "Layer")]
    padding: Option<Padding>,

    #[command(flatten)]
    data: LinearData,

    /// Rotations: auto, direct, hoisted, bsgs, double-hoisted, chained or multi-hop; the last four also with a number of baby
    /// steps, as in bsgs:8, and so whole:8
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = wanted, help_heading = "Strategy")]
    strategy: Wanted,

    #[command(flatten)]
    storage: StorageArgs,

    /// Parameters: a preset's name ("limbwise params show") or a TOML file
    /// [default: the smallest of n13-l3-s40, n14-l7-s40, n15-l16-s40 and n16-l24-s40 that has the slots and levels]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,

    /// Level of the encrypted inputs: lower levels have fewer limbs; large values overflow if the result is at level 0
    /// [default: the highest]
    #[arg(long, value_name = "LEVEL", help_heading = "Parameters")]
    level: Option<usize>,
}

/// Presets for the default choice, smallest first.
const DEFAULT_PRESETS: [&str; 4] = ["n13-l3-s40", "n14-l7-s40", "n15-l16-s40", "n16-l24-s40"];

impl Workload for LinearArgs {
    type Scheme = Ckks;
    type Program = Linear;
    type Client = LinearClient;
    type Described = Described;
    type Data = LinearData;
    const PRESET: Option<&'static str> = None;

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let (program, layer, preset) = self.layer()?;
        let client = self.data.client(&program, &layer, &[])?;
        let program = program.with_bounds(client.bounds())?;
        let (strategy, plaintexts) = program.way();
        let (level, bounds) = (program.level(), program.bounds());
        Ok(Built {
            ways: self.ways(program.largest_map(), memory)?,
            described: Described { layer, level, strategy, plaintexts, bounds },
            program,
            client: self.data.has_model().then_some(client),
            preset,
            smaller: "a lower --level, a smaller layer, or leave open what --strategy, --plaintexts and --keys fix",
        })
    }

    fn data(&self) -> LinearData {
        self.data.remembered()
    }

    fn program(of: &Described, (params, _): Named<'_, Ckks>, model: Option<&Model>) -> Refusable<Linear> {
        let layer = model.map_or_else(|| of.layer.stand_in(), |model| of.layer.layer(model))?;
        Ok(Linear::new(params, of.level, layer)?.with_bounds(of.bounds)?.with(of.strategy, of.plaintexts))
    }

    fn in_way(described: &mut Described, way: Way) {
        (described.strategy, described.plaintexts) = way.maps.unwrap_or((described.strategy, described.plaintexts));
    }

    fn least_bytes(of: &Described, params: &Params) -> u64 {
        floor::layer_bytes(params, &of.layer, (of.plaintexts, of.level.min(params.top_level())))
    }

    fn server_model(of: &Described, files: [Option<&Path>; 2]) -> Refusable<Option<Model>> {
        model(&of.layer.shape, files).map(Some)
    }

    fn client(data: &LinearData, of: &Described, program: &Linear, files: &[PathBuf]) -> Refusable<LinearClient> {
        data.client(program, &of.layer, files)
    }

    fn client_model(data: &LinearData, of: &Described) -> Refusable<Option<Model>> {
        if data.has_model() { data.model(&of.layer.shape).map(Some) } else { Ok(None) }
    }

    fn has_model(data: &LinearData) -> bool {
        data.has_model()
    }
}

impl LinearArgs {
    /// The layer with the parameters asked for, or with the smallest default ones that it fits.
    fn layer(&self) -> Refusable<(Linear, LayerDescription, String)> {
        self.refuse_strangers()?;
        let presets = self.preset.as_deref().map_or(DEFAULT_PRESETS.to_vec(), |name| vec![name]);
        let mut refused = None;
        for name in presets {
            let params = if self.preset.is_some() { named_params(name)? } else { preset(name)? };
            let described = self.described(params.max_slots())?;
            let layer = self.data.layer(&described)?;
            let needed = layer.levels_needed();
            match Linear::new(&params, self.level.unwrap_or(params.top_level().max(needed)), layer) {
                Ok(layer) => return Ok((layer, described, name.to_owned())),
                Err(
                    e @ (LinearError::Level { .. }
                    | LinearError::Scheme(limbwise::Error::Tensor(TensorError::TooLarge { .. }))),
                ) => {
                    refused = Some(e);
                }
                Err(e) => return Err(e.into()),
            }
        }
        Err(refused.map_or_else(|| mistake("no preset to try"), Into::into))
    }

    /// Everything that the options leave open.
    fn ways(&self, map: &Diagonals, memory: Option<u64>) -> Refusable<Vec<Way>> {
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
            return Err(mistake(text));
        }
        Ok(self.storage.ways_of_maps(&strategies, memory))
    }

    /// Fails for shapes that the operation does not have.
    fn refuse_strangers(&self) -> Refusable<()> {
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
            ("--bias", self.data.bias.is_some()),
        ];
        let has = |name: &str| match self.op {
            Op::Matvec => ["--rows", "--cols", "--bias"].contains(&name),
            Op::Matmul => matrix.contains(&name) || name == "--bias",
            Op::EncryptedMatmul => ["--rows", "--vectors"].contains(&name),
            Op::Conv => !matrix.contains(&name),
        };
        let Some((name, _)) = given.iter().find(|(name, given)| *given && !has(name)) else { return Ok(()) };
        let op = self.op.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
        Err(mistake(format!("{name} means nothing for --op {op}: leave it out, or choose another --op")))
    }

    /// The shape, of files where no option says otherwise, and where the numbers come from.
    fn described(&self, slots: usize) -> Refusable<LayerDescription> {
        let shape = match self.op {
            Op::Matvec => self.product(256, 1)?,
            Op::Matmul => self.product(64, self.vectors.unwrap_or(64))?,
            Op::EncryptedMatmul => self.square(slots)?,
            Op::Conv => self.convolution()?,
        };
        let from = |given: bool| if given { Numbers::Server } else { Numbers::Seed(self.data.data_seed) };
        let (weights, bias) = (self.data.weights.is_some(), self.data.bias.is_some());
        if self.op == Op::EncryptedMatmul {
            return Ok(LayerDescription { shape, weights: Numbers::Seed(self.data.data_seed), bias: None });
        }
        let bias = (bias || !weights).then(|| from(bias));
        Ok(LayerDescription { shape, weights: from(weights), bias })
    }

    fn product(&self, default_rows: usize, default_vectors: usize) -> Refusable<LayerShape> {
        let file = self.data.weights_shape()?;
        let rows = self.rows.or(file.map(|f| f[0])).unwrap_or(default_rows);
        let columns = self.cols.or(file.map(|f| f[1])).unwrap_or(rows);
        let input = self.data.input.as_deref().map(load_array).transpose()?;
        let vectors = match (self.op, self.vectors, input.as_ref().map(|i| &i.shape[..])) {
            (Op::Matmul, None, Some(&[_, vectors])) => vectors,
            _ => default_vectors,
        };
        Ok(LayerShape::Product { rows, columns, vectors })
    }

    fn square(&self, slots: usize) -> Refusable<LayerShape> {
        let side = self.rows.or(self.data.weights_shape()?.map(|f| f[0])).unwrap_or(16);
        let from_files = self.data.weights.is_some() || self.data.input.is_some();
        let pairs = self.vectors.unwrap_or(if from_files { 1 } else { (slots / side.saturating_mul(side)).max(1) });
        if from_files && pairs > 1 {
            return Err(mistake("--vectors: files hold one pair of matrices; leave it out, or the files"));
        }
        Ok(LayerShape::Square { side, pairs })
    }

    fn convolution(&self) -> Refusable<LayerShape> {
        let (channels, height) = (self.channels.unwrap_or(16), self.height.unwrap_or(32));
        let (width, kernel) = (self.width.unwrap_or(height), self.kernel.unwrap_or(3));
        let filters = self.filters.or(self.data.weights_shape()?.map(|f| f[0])).unwrap_or(16);
        let padding = self.padding.unwrap_or(Padding::Same);
        let (image, stride) = ([channels, height, width], self.stride.unwrap_or(1));
        Ok(LayerShape::Convolution { filters: [filters, channels, kernel, kernel], image, stride, padding })
    }
}

/// A file that the options name, unless the server has it.
fn here(path: Option<&PathBuf>) -> Option<&Path> {
    path.map(PathBuf::as_path).filter(|path| *path != Path::new(SERVER))
}

/// The real numbers of a file in the shape wanted.
pub(crate) fn numbers(path: &Path, name: &str, wanted: &[usize]) -> Refusable<Vec<f64>> {
    let Array { shape, values } = load_array(path)?;
    let next = "(change the options of the shape, or the file)";
    if values.iter().any(|z| z.im != 0.0) {
        return Err(mistake(format!("{}: complex numbers for {name}; wanted real ones {next}", path.display())));
    }
    let count = |shape: &[usize]| shape.iter().product::<usize>();
    let is_vector = |shape: &[usize]| shape.iter().filter(|&&side| side != 1).count() <= 1;
    // All but the last side may be one, as rows of a table are; a vector may lie or stand.
    let as_table = |shape: &[usize]| shape.split_last().map(|(&last, sides)| [count(sides), last]);
    let same = shape == wanted || as_table(&shape) == as_table(wanted);
    if count(&shape) == count(wanted) && (same || is_vector(&shape) && is_vector(wanted)) {
        return Ok(values.iter().map(|z| z.re).collect());
    }
    let text = |shape: &[usize]| match as_table(shape) {
        Some([rows, columns]) => format!("{rows} rows of {columns}"),
        None => "one".into(),
    };
    let wanted = as_table(wanted).map_or_else(String::new, |[rows, columns]| format!("{rows} of {columns}"));
    let got = text(&shape);
    Err(mistake(format!("{}: got {got} numbers for {name}; wanted {wanted} {next}", path.display())))
}

impl LinearData {
    /// The same from any directory.
    fn remembered(&self) -> Self {
        let file =
            |path: &Option<PathBuf>| here(path.as_ref()).map_or_else(|| path.clone(), |_| absolute(path.as_ref()));
        let (weights, bias) = (file(&self.weights), file(&self.bias));
        Self { weights, bias, input: absolute(self.input.as_ref()), ..self.clone() }
    }

    /// Rows and columns of the weights' file.
    fn weights_shape(&self) -> Refusable<Option<[usize; 2]>> {
        let Some(path) = here(self.weights.as_ref()) else { return Ok(None) };
        let shape = load_array(path)?.shape;
        let rows = shape.first().copied().unwrap_or(1);
        Ok(Some([rows, shape.iter().skip(1).product()]))
    }

    /// The model's numbers that files here have.
    fn model(&self, shape: &LayerShape) -> Refusable<Model> {
        model(shape, [here(self.weights.as_ref()), here(self.bias.as_ref())])
    }

    /// Whether no number is the server's alone.
    fn has_model(&self) -> bool {
        ![&self.weights, &self.bias].iter().any(|path| path.as_deref() == Some(Path::new(SERVER)))
    }

    /// The layer with the numbers that are here, or with others in their place where the server has some.
    fn layer(&self, described: &LayerDescription) -> Refusable<Layer> {
        let here = self.has_model();
        Ok(if here { described.layer(&self.model(&described.shape)?)? } else { described.stand_in()? })
    }

    /// The client's numbers: of these files where some are given; and what they should become, where the model is here.
    fn client(&self, program: &Linear, described: &LayerDescription, files: &[PathBuf]) -> Refusable<LinearClient> {
        let values = self.values(&described.shape, files)?;
        Ok(LinearClient::new(program, &Task::new(self.layer(described)?, &values)?)?)
    }

    /// What is encrypted: X, both lists of matrices, or the image.
    fn values(&self, shape: &LayerShape, files: &[PathBuf]) -> Refusable<Vec<f64>> {
        let read = |file: Option<&Path>, name: &str, wanted: &[usize], (stream, most): (u64, f64)| match file {
            Some(path) => numbers(path, name, wanted),
            None => Ok(generated(self.data_seed, stream, wanted.iter().product(), most)),
        };
        let input = || Ok::<_, Refusal>(one(files)?.or(self.input.as_deref()));
        match *shape {
            LayerShape::Product { columns, vectors, .. } => {
                read(input()?, "the input", &[columns, vectors], (INPUT, 1.0))
            }
            LayerShape::Convolution { image, .. } => read(input()?, "the image", &image, (INPUT, 1.0)),
            LayerShape::Square { side, pairs } => {
                let (left, right) = match files {
                    [] => (self.weights.as_deref(), self.input.as_deref()),
                    [left, right] => (Some(left.as_path()), Some(right.as_path())),
                    _ => return Err(mistake("--data: wanted two files, the left and the right matrix")),
                };
                let most = 1.0 / (side as f64).sqrt();
                let mut all = Vec::new();
                for (file, name, stream, most) in
                    [(left, "the left matrix", WEIGHTS, most), (right, "the right matrix", INPUT, 1.0)]
                {
                    for pair in 0..pairs as u64 {
                        all.extend(read(file, name, &[side, side], (stream + 2 * pair, most))?);
                    }
                }
                Ok(all)
            }
        }
    }
}

/// The server's numbers of files, in the shapes that a layer has.
fn model(shape: &LayerShape, [weights, bias]: [Option<&Path>; 2]) -> Refusable<Model> {
    let (name, wanted, biases) = match *shape {
        LayerShape::Product { rows, columns, .. } => ("the matrix", [rows, columns], rows),
        LayerShape::Convolution { filters: [filters, c, y, x], .. } => ("the filters", [filters, c * y * x], filters),
        LayerShape::Square { .. } => return Ok(Model::default()),
    };
    let weights = weights.map(|path| numbers(path, name, &wanted)).transpose()?;
    let bias = bias.map(|path| numbers(path, "the bias", &[biases, 1])).transpose()?;
    Ok(Model { weights, bias, ..Model::default() })
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
        "wanted auto, direct, hoisted, bsgs, double-hoisted, chained or multi-hop, the last four also with baby steps as in bsgs:8, or whole:8".to_owned()
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
        ("chained", None) => Ok(Wanted::Kind("chained")),
        ("multi_hop", None) => Ok(Wanted::Kind("multi_hop")),
        ("bsgs", Some(babies)) => Ok(Wanted::One(Strategy::Bsgs { babies })),
        ("whole", Some(babies)) => Ok(Wanted::One(Strategy::Whole { babies })),
        ("double_hoisted", Some(babies)) => Ok(Wanted::One(Strategy::DoubleHoisted { babies })),
        ("chained", Some(babies)) => Ok(Wanted::One(Strategy::Chained { babies })),
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
