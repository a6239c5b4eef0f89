//! Options of `helr`.

use super::{
    Built, KeysName, PlaintextsName, absolute, between,
    logreg::{degree, interval},
    named_params, one,
};
use clap::Args;
use limbwise::{
    ckks::{BootstrapPlan, PlaintextForm, bootstrap::Rotations},
    rlwe::KeyForm,
};
use limbwise_apps::{
    AnyClient, AnyProgram,
    data::Digits,
    description::Workload as Described,
    helr::{
        client::{HelrClient, Options},
        data::{ImageOptions, generated_rows},
        encrypted::Helr,
    },
    logreg::data::Prepared,
};
use limbwise_math::finite;
use limbwise_runtime::frontier::Way;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where the images come from: the client's business.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HelrData {
    /// MNIST IDX images, gzip or not, or the folder with MNIST's own files: train-images-… is learned and t10k-images-…
    /// held back; a single file is split [default: generated images, good for plans and timings only]
    #[arg(long, value_name = "DIR|FILE", help_heading = "Data")]
    data: Option<PathBuf>,

    /// Labels of a single file [default: the images' path with "images" replaced by "labels"]
    #[arg(long, value_name = "FILE", requires = "data", help_heading = "Data")]
    labels: Option<PathBuf>,

    /// The two digits to tell apart; the second is the positive class
    #[arg(long, value_name = "A,B", default_value = "3,8", help_heading = "Data")]
    digits: Digits,

    /// Share of images held back where no file has them, between 0 and 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, value_parser = finite::parse, allow_negative_numbers = true, help_heading = "Data")]
    test_share: f64,

    /// Seed of the order of images
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Data")]
    data_seed: u64,
}

/// Options of `helr`.
#[derive(Debug, Args)]
pub(crate) struct HelrArgs {
    #[command(flatten)]
    pub(super) data: HelrData,

    /// Encrypted iterations of gradient descent
    #[arg(long, value_name = "COUNT", default_value = "30", value_parser = iterations, allow_negative_numbers = true, help_heading = "Training")]
    iterations: usize,

    /// Images of a mini-batch
    #[arg(long, value_name = "IMAGES", default_value = "1024", value_parser = rows, allow_negative_numbers = true, help_heading = "Training")]
    batch: usize,

    /// Iterations from one bootstrapping of the weights to the next; each takes 2 levels and the polynomial's depth
    #[arg(long, value_name = "COUNT", default_value = "3", value_parser = iterations, allow_negative_numbers = true, help_heading = "Training")]
    bootstrap_every: usize,

    /// Degree of the polynomial in the sigmoid's place: 3 has depth 2, 5 and 7 have depth 3
    #[arg(long, default_value = "3", value_parser = degree(), help_heading = "Training")]
    degree: usize,

    /// Half the width of the interval on which the polynomial fits the sigmoid
    #[arg(long, value_name = "WIDTH", default_value = "16", value_parser = interval, allow_negative_numbers = true, help_heading = "Training")]
    interval: f64,

    /// The learning rate, the same at every step
    #[arg(long, value_name = "RATE", default_value = "1", value_parser = rate, allow_negative_numbers = true, help_heading = "Training")]
    learning_rate: f64,

    /// Parameters with bootstrapping: a preset's name ("limbwise params show") or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "boot-few", help_heading = "Parameters")]
    preset: String,

    /// How the diagonals of bootstrapping are stored [default: whichever is fastest and fits]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Strategy")]
    plaintexts: Option<PlaintextsName>,

    /// How evaluation keys are kept [default: whichever is fastest and fits]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Strategy")]
    keys: Option<KeysName>,
}

/// Generated images, where no file is given: two mini-batches, and those held back.
const GENERATED: usize = 2560;
/// Pixels on a side, as those of MNIST after pooling.
const SIDE: usize = 14;

impl HelrData {
    /// The same from any directory.
    pub(super) fn remembered(&self) -> Self {
        Self { data: absolute(self.data.as_ref()), labels: absolute(self.labels.as_ref()), ..self.clone() }
    }

    fn prepared(&self, files: &[PathBuf]) -> anyhow::Result<Prepared> {
        let options = ImageOptions { digits: self.digits, test_share: self.test_share, seed: self.data_seed };
        match one(files)?.or(self.data.as_deref()) {
            Some(path) => Ok(options.read(path, self.labels.as_deref())?),
            None => Ok(generated_rows(SIDE, GENERATED, &options)?),
        }
    }

    /// The images, from this file where one is given.
    pub(super) fn client(&self, program: &Helr, files: &[PathBuf]) -> anyhow::Result<Result<HelrClient, String>> {
        Ok(HelrClient::new(program, self.prepared(files)?))
    }
}

impl HelrArgs {
    pub(super) fn build(&self, memory: Option<u64>) -> anyhow::Result<Built> {
        let params = named_params(&self.preset)?;
        let options = Options {
            batch_rows: self.batch,
            iterations: self.iterations,
            bootstrap_every: self.bootstrap_every,
            degree: self.degree,
            interval: self.interval,
            learning_rate: self.learning_rate,
        };
        let (program, client) = HelrClient::sides(&params, self.data.prepared(&[])?, options)?;
        Ok(Built {
            described: Described::Helr { training: program.training().clone(), plan: program.plan() },
            ways: self.ways(program.plan(), memory),
            base: AnyProgram::Helr(program),
            client: Some(AnyClient::Helr(Box::new(client))),
            preset: self.preset.clone(),
            smaller: "smaller --batch, fewer images, or leave open what --plaintexts and --keys fix",
        })
    }

    /// The fastest way, and those that save memory where it is asked for or short: hops save keys, one limb of each
    /// diagonal saves plaintexts, seeds halve what keys are left.
    fn ways(&self, fastest: BootstrapPlan, memory: Option<u64>) -> Vec<Way> {
        let forms = self.plaintexts.map_or(PlaintextForm::ALL.to_vec(), |name| vec![name.into()]);
        let keys: Vec<KeyForm> = KeysName::forms(self.keys, memory);
        let mut ways = Vec::new();
        for rotations in [Rotations::DoubleHoisted, Rotations::MultiHop] {
            for &form in &forms {
                let plan = BootstrapPlan { rotations, form, ..fastest };
                ways.extend(keys.iter().map(|&keys| Way { bootstrapping: Some(plan), ..Way::of_keys(keys) }));
            }
        }
        ways
    }
}

fn iterations(text: &str) -> Result<usize, String> {
    between(text, 1, 1000)
}

fn rows(text: &str) -> Result<usize, String> {
    between(text, 1, 1 << 16)
}

fn rate(text: &str) -> Result<f64, String> {
    let positive = finite::parse(text).ok().filter(|x| (1e-6..=1000.0).contains(x));
    positive.ok_or_else(|| "wanted a number from 0.000001 to 1000; 1 is usual for pixels".into())
}
