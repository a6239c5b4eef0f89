//! Options of `nn20`, `nn50` and `nn100`.

use super::{
    between,
    logic::{BuiltLogic, named},
};
use crate::failure::Mistake;
use clap::Args;
use limbwise_apps::{
    AnyLogic,
    data::idx::load_range,
    nn::{Digits, Network, Nn, encrypted::MOST_IMAGES},
};
use std::{fs::File, io::Read as _, path::PathBuf};

/// Options of the networks.
#[derive(Debug, Args)]
pub(crate) struct NnArgs {
    /// MNIST IDX images, gzip or not [default: 20 shipped images of MNIST's test file, from the 8001st on]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    data: Option<PathBuf>,

    /// Their labels [default: the images' path with "images" replaced by "labels"]
    #[arg(long, value_name = "FILE", requires = "data", help_heading = "Data")]
    labels: Option<PathBuf>,

    /// Images of the file before the first that is taken; the shipped weights have learned MNIST's first 8000
    #[arg(long, value_name = "COUNT", default_value_t = 8000, help_heading = "Data")]
    skip: usize,

    /// Images in one pass, all of them one batch
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = images, allow_negative_numbers = true, help_heading = "Data")]
    images: usize,

    /// A network of as many layers that scripts/train_nn.py wrote [default: the shipped one]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    network: Option<PathBuf>,

    /// Parameters with four message bits or more: a TFHE preset's name ("limbwise params show") or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "2-2-p128", help_heading = "Parameters")]
    preset: String,
}

/// Bytes that are read of a file: one of 100 layers with all inputs has 1.7 MB.
const LARGEST: u64 = 4 << 20;

fn images(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_IMAGES)
}

impl NnArgs {
    pub(super) fn build(&self, layers: usize) -> anyhow::Result<BuiltLogic> {
        let params = named(&self.preset)?;
        let network = self.network(layers)?;
        let digits = match &self.data {
            Some(path) => {
                let range = self.skip..self.skip.saturating_add(self.images);
                Digits::new(&load_range(path, self.labels.as_deref(), range)?)
            }
            None => Digits::shipped(self.images),
        };
        let wrong = |e| Mistake(format!("nn{layers}: {e}"));
        let program = Nn::new(&params, network, digits.map_err(wrong)?).map_err(wrong)?;
        Ok(BuiltLogic { program: AnyLogic::Nn(Box::new(program)), preset: self.preset.clone(), seed: 0 })
    }

    fn network(&self, layers: usize) -> anyhow::Result<Network> {
        let Some(path) = &self.network else {
            let missing = || Mistake(format!("no network of {layers} layers is shipped"));
            return Ok(Network::shipped(layers).ok_or_else(missing)?);
        };
        let name = path.display();
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
        read.map_err(|e| Mistake(format!("{name}: cannot read: {e} (give a file of scripts/train_nn.py)")))?;
        let network = Network::read(&bytes).map_err(|e| Mistake(format!("{name}: {e}")))?;
        let got = network.hidden.len() + 2;
        if got != layers {
            return Err(Mistake(format!("{name}: a network of {got} layers, not of {layers}: run nn{got}")).into());
        }
        Ok(network)
    }
}
