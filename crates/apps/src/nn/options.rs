//! Options of `nn20`, `nn50` and `nn100`.

use super::{Digits, Network, Nn, NnClient, encrypted::MOST_IMAGES};
use crate::{
    data::idx::load_range,
    description::Weights,
    linear::layer::Model,
    options::{absolute, between, by_shape_if_small, mistake, named_tfhe, one},
    pbs::options::one_way,
    program::{Program as _, Tfhe},
    workload::{Built, Named, Part, Refusable, Timed, Workload},
};
use clap::Args;
use limbwise::tfhe::TfheParams;
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Source of the images and the network.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NnData {
    /// MNIST IDX images, gzip or not [default: 20 shipped images of MNIST's test file, from the 8001st on]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    data: Option<PathBuf>,

    /// Their labels [default: the images' path with "images" replaced by "labels"]
    #[arg(long, value_name = "FILE", requires = "data", help_heading = "Data")]
    labels: Option<PathBuf>,

    /// Number of images of --data to skip; the shipped weights were trained on MNIST's first 8000
    #[arg(long, value_name = "COUNT", requires = "data", default_value_t = 8000, help_heading = "Data")]
    skip: usize,

    /// Network file with as many layers, written by scripts/train_nn.py [default: the shipped one]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    network: Option<PathBuf>,

    /// Images behind the skipped ones that stand before a part's.
    #[arg(skip)]
    #[serde(default)]
    before: usize,
}

/// A network of LAYERS layers on encrypted handwritten digits, a bootstrapping a neuron (TFHE)
#[derive(Clone, Debug, Args)]
pub struct NnArgs<const LAYERS: usize> {
    #[command(flatten)]
    data: NnData,

    /// Number of images, evaluated as one batch
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = images, allow_negative_numbers = true, help_heading = "Data")]
    images: usize,

    /// Parameters with at least four message bits: a TFHE preset's name ("limbwise params show") or a TOML file
    /// [default: 2-2-p128]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "2-2-p128";

impl<const LAYERS: usize> NnArgs<LAYERS> {
    fn with(&self, params: &TfheParams, preset: &str) -> Refusable<Built<Self>> {
        let weights = if self.data.network.is_none() { Weights::Shipped } else { Weights::Server };
        let described = Described { images: self.images, weights };
        let wrong = |e| mistake(format!("nn{LAYERS}: {e}"));
        let digits = self.data.digits(self.images, &[]).map_err(wrong)?;
        let program = Nn::new(params, self.data.network(LAYERS)?, self.images).map_err(|e| wrong(e.into()))?;
        let client = Some(NnClient::new(&program, digits)?);
        let smaller = "fewer --images, or a preset with smaller keys";
        Ok(Built { program, described, client, preset: preset.into(), ways: one_way(), smaller })
    }
}

/// Public metadata of an inference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// Images in one pass.
    pub images: usize,
    /// Source of the network. A client that checks results has the network too.
    pub weights: Weights,
}

/// Largest file that is read: a file of 100 layers with all inputs has 1.7 MB.
const LARGEST: u64 = 4 << 20;

fn images(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_IMAGES)
}

fn read(path: &Path, layers: usize) -> Refusable<Network> {
    let name = path.display();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    read.map_err(|e| mistake(format!("{name}: cannot read: {e} (give a file of scripts/train_nn.py)")))?;
    let network = Network::read(&bytes).map_err(|e| mistake(format!("{name}: {e}")))?;
    let got = network.hidden.len() + 2;
    if got != layers {
        return Err(mistake(format!("{name}: a network of {got} layers, not of {layers}: run nn{got}")));
    }
    Ok(network)
}

impl NnData {
    fn network(&self, layers: usize) -> Refusable<Network> {
        match &self.network {
            Some(path) => read(path, layers),
            None => {
                let missing = || mistake(format!("no network of {layers} layers is shipped"));
                Network::shipped(layers).ok_or_else(missing)
            }
        }
    }

    /// The first `count` images, from the given file if there is one.
    fn digits(&self, count: usize, files: &[PathBuf]) -> Refusable<Digits> {
        Ok(match one(files)?.or(self.data.as_deref()) {
            Some(path) => {
                let first = self.skip.saturating_add(self.before);
                let range = first..first.saturating_add(count);
                Digits::new(&load_range(path, self.labels.as_deref(), range)?)?
            }
            None => Digits::shipped_from(self.before, count)?,
        })
    }
}

impl<const LAYERS: usize> Workload for NnArgs<LAYERS> {
    type Scheme = Tfhe;
    type Program = Nn;
    type Client = NnClient;
    type Described = Described;
    type Data = NnData;
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
        Ok(Some(self.images))
    }

    fn part(&self, part: Part) -> Option<Self> {
        let data = NnData { before: part.within(self.images).first, ..self.data.clone() };
        Some(Self { images: part.count, data, ..self.clone() })
    }

    fn server_file(&self) -> Option<PathBuf> {
        self.data.network.clone()
    }

    fn data(&self) -> NnData {
        let NnData { data, labels, network, .. } = &self.data;
        let [data, labels, network] = [data, labels, network].map(|path| absolute(path.as_ref()));
        NnData { data, labels, network, ..self.data.clone() }
    }

    fn program(of: &Described, (params, _): Named<'_, Tfhe>, model: Option<&Model>) -> Refusable<Nn> {
        let network = match (of.weights, model) {
            (Weights::Server, Some(model)) => {
                let missing = || mistake("the network is the server's: give its file with --weights");
                model.digits.as_deref().cloned().ok_or_else(missing)?
            }
            // Without a model, a network of the same shape replaces the server's.
            _ => NnData { data: None, labels: None, skip: 0, network: None, before: 0 }.network(LAYERS)?,
        };
        Ok(Nn::new(params, network, of.images)?)
    }

    fn server_model(of: &Described, [file, _]: [Option<&Path>; 2]) -> Refusable<Option<Model>> {
        match (of.weights, file) {
            (Weights::Shipped, _) => Ok(None),
            (Weights::Server, None) => Ok(Some(Model::default())),
            (Weights::Server, Some(file)) => {
                Ok(Some(Model { digits: Some(Arc::new(read(file, LAYERS)?)), ..Model::default() }))
            }
        }
    }

    fn client(data: &NnData, of: &Described, program: &Nn, files: &[PathBuf]) -> Refusable<NnClient> {
        let network = data.network(LAYERS)?;
        let program = Nn::new(program.params(), network, of.images)?;
        Ok(NnClient::new(&program, data.digits(of.images, files)?)?)
    }

    fn client_model(data: &NnData, of: &Described) -> Refusable<Option<Model>> {
        Ok(Some(Self::server_model(of, [data.network.as_deref(), None])?.unwrap_or_default()))
    }
}
