//! Options of `lola`.

use super::{
    client::{Digits, LolaClient},
    encrypted::Lola,
    network::{LolaError, Network, Shape},
};
use crate::{
    data::{idx::load_range, load_array},
    description::Weights,
    floor::{COMPLEX_BYTES, REAL_BYTES},
    linear::{layer::Model, options::numbers},
    options::{Choice, StorageArgs, absolute, between, choice, named_params, one},
    way::{Way, strategies},
    workload::{Built, Named, Refusable, Workload},
};
use clap::Args;
use limbwise::{
    ckks::{PlaintextForm, Promise, Strategy},
    params::Params,
    scheme::Ckks,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Public metadata of an inference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub shape: Shape,
    pub weights: Weights,
    /// Images in one pass.
    pub images: usize,
    pub strategy: Strategy,
    /// How their diagonals are stored.
    pub plaintexts: PlaintextForm,
    /// Public bound of the pixels.
    pub bounds: Promise,
}

/// Names of strategies, as [`Strategy::name`] has them; the number of baby steps is chosen per map.
const STRATEGIES: &[Choice<&str>] = &[
    ("hoisted", "hoisted", "One decomposition for all rotations of a map, a key a diagonal"),
    ("bsgs", "bsgs", "Baby and giant steps"),
    ("double-hoisted", "double_hoisted", "Baby and giant steps, sums before the division"),
    ("multi-hop", "multi_hop", "One or two keys a map, rotations one after another"),
];

/// Source of the images and the weights.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LolaData {
    /// MNIST IDX images, gzip or not [default: generated images, good for plans and timings only]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    data: Option<PathBuf>,

    /// Their labels [default: the images' path with "images" replaced by "labels"]
    #[arg(long, value_name = "FILE", requires = "data", help_heading = "Data")]
    labels: Option<PathBuf>,

    /// Images before the first that is taken; the shipped weights have learned the first 8000 of MNIST's test images
    #[arg(long, value_name = "COUNT", default_value_t = 8000, help_heading = "Data")]
    skip: usize,

    /// Seed of generated images
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Data")]
    data_seed: u64,

    /// Weights as .npy or a table, in the order of scripts/train_lola.py; or "server", which has them
    /// [default: the shipped ones]
    #[arg(long, value_name = "FILE|server", help_heading = "Data")]
    weights: Option<PathBuf>,
}

/// LoLa: one handwritten digit through a small leveled network with square activations; low latency
///
/// A convolution, a square, a layer of 100, a square, a layer of 10 (the LoLa paper, Brutzkus et al. 2019), each layer
/// one linear map on the slots of the image's ciphertext. The network is its own clear twin. Shipped weights come from
/// scripts/train_lola.py; others are a file.
///
/// Examples:
///   lola --data t10k-images-idx3-ubyte.gz                     one image that the shipped weights have not learned
///   lola --data t10k-images-idx3-ubyte.gz --images 100        a hundred of them as one batch
///   lola --weights mine.npy --strategy multi-hop              weights of one's own, few keys
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct LolaArgs {
    #[command(flatten)]
    data: LolaData,

    /// Images in one pass, each a ciphertext of a batch
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = images, allow_negative_numbers = true, help_heading = "Data")]
    images: usize,

    /// Rotation strategy of the maps [default: the fastest that fits]
    #[arg(long, value_parser = choice(STRATEGIES), value_name = "NAME", help_heading = "Strategy")]
    strategy: Option<&'static str>,

    #[command(flatten)]
    storage: StorageArgs,

    /// Parameters: a preset's name ("limbwise params show") or a TOML file
    /// [default: n14-l7-s40]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "n14-l7-s40";

/// Value of `--weights` if the server has the weights.
const SERVER: &str = "server";

impl LolaData {
    fn has_model(&self) -> bool {
        self.weights.as_deref() != Some(Path::new(SERVER))
    }

    fn digits(&self, count: usize, files: &[PathBuf]) -> Refusable<Digits> {
        match one(files)?.or(self.data.as_deref()) {
            Some(path) => {
                Ok(load_range(path, self.labels.as_deref(), self.skip..self.skip.saturating_add(count))?.into())
            }
            None => Ok(Digits::generated(Shape::MNIST.side, count, self.data_seed)),
        }
    }

    fn network(&self) -> Refusable<Network> {
        match &self.weights {
            None => Ok(Network::shipped()),
            Some(path) if self.has_model() => Ok(Network::new(Shape::MNIST, &weights(path)?)?),
            Some(_) => Ok(Network::stand_in(Shape::MNIST)?),
        }
    }
}

/// The weights in a file, in any shape.
fn weights(path: &Path) -> Refusable<Vec<f64>> {
    numbers(path, "weights", &load_array(path)?.shape)
}

/// Largest side of a network.
const MOST_SIDE: usize = 4096;

impl Workload for LolaArgs {
    type Scheme = Ckks;
    type Program = Lola;
    type Client = LolaClient;
    type Described = Described;
    type Data = LolaData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        let params = named_params(preset)?;
        let digits = self.data.digits(self.images, &[])?;
        let (program, client) = LolaClient::sides(&params, self.data.network()?, digits)?;
        let (strategy, plaintexts) = program.way();
        let weights = if self.data.weights.is_none() { Weights::Shipped } else { Weights::Server };
        let program = if weights == Weights::Shipped { program.expecting_digits()? } else { program };
        let (shape, images, bounds) = (program.network().shape, program.images(), program.bounds());
        Ok(Built {
            ways: self.ways(&program, memory),
            described: Described { shape, weights, images, strategy, plaintexts, bounds },
            program,
            client: self.data.has_model().then_some(client),
            preset: preset.into(),
            smaller: "fewer --images, or leave open what --strategy, --plaintexts and --keys fix",
        })
    }

    fn data(&self) -> LolaData {
        let LolaData { data, labels, weights, .. } = &self.data;
        let weights = if self.data.has_model() { absolute(weights.as_ref()) } else { weights.clone() };
        LolaData { data: absolute(data.as_ref()), labels: absolute(labels.as_ref()), weights, ..self.data.clone() }
    }

    fn program(of: &Described, (params, _): Named<'_, Ckks>, model: Option<&Model>) -> Refusable<Lola> {
        let network = match (of.weights, model) {
            (Weights::Shipped, _) => Network::shipped().of_shape(of.shape)?,
            (Weights::Server, None) => Network::stand_in(of.shape)?,
            (Weights::Server, Some(model)) => {
                Network::new(of.shape, model.weights.as_deref().ok_or(LolaError::NoModel)?)?
            }
        };
        let program = Lola::new(params, network, of.images, of.bounds)?.with(of.strategy, of.plaintexts);
        Ok(if of.weights == Weights::Shipped { program.expecting_digits()? } else { program })
    }

    fn in_way(described: &mut Described, way: Way) {
        (described.strategy, described.plaintexts) = way.maps.unwrap_or((described.strategy, described.plaintexts));
    }

    /// The first matrix is spread over all slots before its zeros are removed.
    fn least_bytes(of: &Described, params: &Params) -> u64 {
        if !(1..=MOST_SIDE).contains(&of.shape.hidden) {
            return 0;
        }
        (REAL_BYTES + COMPLEX_BYTES) * of.shape.hidden as u64 * params.max_slots() as u64
    }

    fn server_model(of: &Described, [file, _]: [Option<&Path>; 2]) -> Refusable<Option<Model>> {
        if of.weights == Weights::Shipped {
            return Ok(None);
        }
        Ok(Some(Model { weights: file.map(weights).transpose()?, ..Model::default() }))
    }

    fn client(data: &LolaData, _: &Described, program: &Lola, files: &[PathBuf]) -> Refusable<LolaClient> {
        let digits = data.digits(program.images(), files)?;
        let program = match data.weights {
            // The client knows the weights although the description leaves them to the server.
            Some(_) if data.has_model() => program.with_network(data.network()?)?,
            _ => program.clone(),
        };
        Ok(LolaClient::new(&program, digits)?)
    }

    fn client_model(data: &LolaData, of: &Described) -> Refusable<Option<Model>> {
        if !data.has_model() {
            return Ok(None);
        }
        Ok(Some(Self::server_model(of, [data.weights.as_deref(), None])?.unwrap_or_default()))
    }

    fn has_model(data: &LolaData) -> bool {
        data.has_model()
    }
}

impl LolaArgs {
    /// Every configuration that the options leave open. Each kind of strategy occurs once, because each map chooses its
    /// own baby steps.
    fn ways(&self, program: &Lola, memory: Option<u64>) -> Vec<Way> {
        let all = strategies(program.largest_map());
        let kinds = STRATEGIES.iter().map(|&(_, kind, _)| kind).filter(|kind| self.strategy.is_none_or(|s| s == *kind));
        let of_kind = |kind: &str| all.iter().find(|s| s.name() == kind).copied();
        let strategies: Vec<Strategy> = kinds.filter_map(of_kind).collect();
        self.storage.ways_of_maps(&strategies, memory)
    }
}

fn images(text: &str) -> Result<usize, String> {
    between(text, 1, 4096)
}
