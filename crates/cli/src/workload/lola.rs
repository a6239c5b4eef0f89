//! Options of `lola`.

use super::{Built, KeysName, PlaintextsName, absolute, between, linear::numbers, named_params, one};
use clap::{Args, ValueEnum};
use limbwise::ckks::{PlaintextForm, Strategy};
use limbwise_apps::{
    AnyClient, AnyProgram,
    data::{idx::load_range, load_array},
    description::{Weights, Workload as Described},
    lola::{
        client::{Digits, LolaClient},
        encrypted::Lola,
        network::{Network, Shape},
    },
};
use limbwise_runtime::frontier::{Way, strategies};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How maps rotate; baby steps are chosen for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StrategyName {
    /// One decomposition for all rotations of a map, a key a diagonal
    Hoisted,
    /// Baby and giant steps
    Bsgs,
    /// Baby and giant steps, sums before the division
    DoubleHoisted,
    /// One or two keys a map, rotations one after another
    MultiHop,
}

impl StrategyName {
    /// As a strategy calls itself.
    fn kind(self) -> &'static str {
        match self {
            Self::Hoisted => "hoisted",
            Self::Bsgs => "bsgs",
            Self::DoubleHoisted => "double_hoisted",
            Self::MultiHop => "multi_hop",
        }
    }
}

/// Where the images and the weights come from.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LolaData {
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

/// Options of `lola`.
#[derive(Debug, Args)]
pub(crate) struct LolaArgs {
    #[command(flatten)]
    pub(super) data: LolaData,

    /// Images in one pass, each a ciphertext of a batch
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = images, allow_negative_numbers = true, help_heading = "Data")]
    images: usize,

    /// How the maps rotate [default: whichever is fastest and fits]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Strategy")]
    strategy: Option<StrategyName>,

    /// How their diagonals are stored [default: whichever is fastest and fits]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Strategy")]
    plaintexts: Option<PlaintextsName>,

    /// How evaluation keys are kept [default: whichever is fastest and fits]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Strategy")]
    keys: Option<KeysName>,

    /// Parameters: a preset's name ("limbwise params show") or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "n14-l7-s40", help_heading = "Parameters")]
    preset: String,
}

/// In the place of a file: the server has the weights.
const SERVER: &str = "server";

impl LolaData {
    /// The same from any directory.
    pub(super) fn remembered(&self) -> Self {
        let weights = if self.has_model() { absolute(self.weights.as_ref()) } else { self.weights.clone() };
        Self { data: absolute(self.data.as_ref()), labels: absolute(self.labels.as_ref()), weights, ..self.clone() }
    }

    /// The file of the weights, if it is not the shipped one.
    pub(super) fn weights(&self) -> Option<&Path> {
        self.weights.as_deref()
    }

    pub(super) fn has_model(&self) -> bool {
        self.weights.as_deref() != Some(Path::new(SERVER))
    }

    fn digits(&self, count: usize, files: &[PathBuf]) -> anyhow::Result<Digits> {
        match one(files)?.or(self.data.as_deref()) {
            Some(path) => {
                Ok(load_range(path, self.labels.as_deref(), self.skip..self.skip.saturating_add(count))?.into())
            }
            None => Ok(Digits::generated(Shape::MNIST.side, count, self.data_seed)),
        }
    }

    fn network(&self) -> anyhow::Result<Network> {
        match &self.weights {
            None => Ok(Network::shipped()),
            Some(path) if self.has_model() => Ok(Network::new(Shape::MNIST, &weights(path)?)?),
            Some(_) => Ok(Network::stand_in(Shape::MNIST)?),
        }
    }

    /// The images of a program, from this file where one is given.
    pub(super) fn client(&self, program: &Lola, files: &[PathBuf]) -> anyhow::Result<LolaClient> {
        let digits = self.digits(program.images(), files)?;
        let program = match self.weights {
            // The client knows the weights and the description says that the server has them.
            Some(_) if self.has_model() => program.with_network(self.network()?)?,
            _ => program.clone(),
        };
        Ok(LolaClient::new(&program, digits)?)
    }
}

/// The weights of a file, in any shape.
pub(super) fn weights(path: &Path) -> anyhow::Result<Vec<f64>> {
    numbers(path, "weights", &load_array(path)?.shape)
}

impl LolaArgs {
    pub(super) fn build(&self, memory: Option<u64>) -> anyhow::Result<Built> {
        let params = named_params(&self.preset)?;
        let digits = self.data.digits(self.images, &[])?;
        let (program, client) = LolaClient::sides(&params, self.data.network()?, digits)?;
        let (strategy, plaintexts) = program.way();
        let weights = if self.data.weights.is_none() { Weights::Shipped } else { Weights::Server };
        let (shape, images, bounds) = (program.network().shape, program.images(), program.bounds());
        Ok(Built {
            ways: self.ways(&program, memory),
            described: Described::Lola { shape, weights, images, strategy, plaintexts, bounds },
            base: AnyProgram::Lola(program),
            client: self.data.has_model().then_some(AnyClient::Lola(client)),
            preset: self.preset.clone(),
            smaller: "fewer --images, or leave open what --strategy, --plaintexts and --keys fix",
        })
    }

    /// Everything that the options leave open: of each kind of strategy one, for each map finds its own baby steps.
    fn ways(&self, program: &Lola, memory: Option<u64>) -> Vec<Way> {
        let all = strategies(program.largest_map());
        let kinds = self.strategy.map_or(StrategyName::value_variants().to_vec(), |name| vec![name]);
        let of_kind = |kind: &StrategyName| all.iter().find(|s| s.name() == kind.kind()).copied();
        let strategies: Vec<Strategy> = kinds.iter().filter_map(of_kind).collect();
        let forms = self.plaintexts.map_or(PlaintextForm::ALL.to_vec(), |name| vec![name.into()]);
        let keys = KeysName::forms(self.keys, memory);
        let maps = strategies.iter().flat_map(|&strategy| forms.iter().map(move |&form| (strategy, form)));
        maps.flat_map(|maps| keys.iter().map(move |&keys| Way { maps: Some(maps), ..Way::of_keys(keys) })).collect()
    }
}

fn images(text: &str) -> Result<usize, String> {
    between(text, 1, 4096)
}
