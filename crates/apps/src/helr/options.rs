//! Options of `helr`.

use super::{
    client::{HelrClient, Options},
    data::{ImageOptions, generated_rows},
    encrypted::{Helr, Training},
};
use crate::{
    data::Digits,
    linear::layer::Model,
    logreg::{
        data::Prepared,
        options::{degree, interval},
    },
    options::{StorageArgs, absolute, between, mistake, named_params, one},
    way::Way,
    workload::{Built, Named, Refusable, Workload},
};
use clap::Args;
use limbwise::{
    ckks::{BootstrapPlan, PlaintextForm, bootstrap::Rotations},
    finite,
    scheme::Ckks,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Public metadata of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub training: Training,
    /// Bootstrapping configuration of the weights.
    pub plan: BootstrapPlan,
}

/// Source of the images. Only the client knows this.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HelrData {
    /// MNIST IDX images, gzip or not, or the folder with MNIST's own files: train-images-… is learned and t10k-images-…
    /// held back; a single file is split [default: generated images, good for plans and timings only]
    #[arg(long, value_name = "DIR|FILE", help_heading = "Data")]
    data: Option<PathBuf>,

    /// Labels of a single file [default: the images' path with "images" replaced by "labels"]
    #[arg(long, value_name = "FILE", requires = "data", help_heading = "Data")]
    labels: Option<PathBuf>,

    /// The two digits to classify; the second is the positive class
    #[arg(long, value_name = "A,B", default_value = "3,8", help_heading = "Data")]
    digits: Digits,

    /// Share of images held back where no file has them, between 0 and 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, value_parser = finite::parse, allow_negative_numbers = true, help_heading = "Data")]
    test_share: f64,

    /// Seed of the order of images
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Data")]
    data_seed: u64,
}

/// Logistic regression on two MNIST digits (HELR): mini-batches of 1024, bootstrapped weights
///
/// The training of the HELR paper (Han et al., AAAI 2019), a common benchmark of accelerators: 14×14 pixels, Nesterov
/// gradient descent, a polynomial in place of the sigmoid, weights bootstrapped with few slots every third iteration.
/// The client encrypts the training images and reads the decrypted model on those held back, beside two clear twins:
/// the same polynomial, and the true sigmoid.
///
/// Examples:
///   helr --data mnist                                         a folder with MNIST's own files
///   helr --data t10k-images-idx3-ubyte.gz --iterations 32     one file of images, a fifth of them held back
///   helr --batch 512 --digits 4,9 --data mnist                other digits, smaller mini-batches
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct HelrArgs {
    #[command(flatten)]
    data: HelrData,

    /// Encrypted iterations of gradient descent
    #[arg(long, value_name = "COUNT", default_value = "30", value_parser = iterations, allow_negative_numbers = true, help_heading = "Training")]
    iterations: usize,

    /// Images of a mini-batch
    #[arg(long, value_name = "IMAGES", default_value = "1024", value_parser = rows, allow_negative_numbers = true, help_heading = "Training")]
    batch: usize,

    /// Iterations from one bootstrapping of the weights to the next; each takes 2 levels and the polynomial's depth
    #[arg(long, value_name = "COUNT", default_value = "3", value_parser = iterations, allow_negative_numbers = true, help_heading = "Training")]
    bootstrap_every: usize,

    /// Degree of the polynomial that replaces the sigmoid: 3 has depth 2, 5 and 7 have depth 3
    #[arg(long, default_value = "3", value_parser = degree(), help_heading = "Training")]
    degree: usize,

    /// Half-width of the interval on which the polynomial fits the sigmoid
    #[arg(long, value_name = "WIDTH", default_value = "16", value_parser = interval, allow_negative_numbers = true, help_heading = "Training")]
    interval: f64,

    /// The learning rate, the same at every step
    #[arg(long, value_name = "RATE", default_value = "1", value_parser = rate, allow_negative_numbers = true, help_heading = "Training")]
    learning_rate: f64,

    /// Parameters with bootstrapping: a preset's name ("limbwise params show") or a TOML file
    /// [default: boot-few-words]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,

    #[command(flatten)]
    storage: StorageArgs,
}

const PRESET: &str = "boot-few-words";

/// Sizes of the generated data: two mini-batches, plus the test images.
const GENERATED: usize = 2560;
/// Pixels per side, as in pooled MNIST images.
const SIDE: usize = 14;

impl HelrData {
    fn prepared(&self, files: &[PathBuf]) -> Refusable<Prepared> {
        let options = ImageOptions { digits: self.digits, test_share: self.test_share, seed: self.data_seed };
        match one(files)?.or(self.data.as_deref()) {
            Some(path) => Ok(options.read(path, self.labels.as_deref())?),
            None => Ok(generated_rows(SIDE, GENERATED, &options)?),
        }
    }
}

impl Workload for HelrArgs {
    type Scheme = Ckks;
    type Program = Helr;
    type Client = HelrClient;
    type Described = Described;
    type Data = HelrData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        let params = named_params(preset)?;
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
            described: Described { training: program.training().clone(), plan: program.plan() },
            ways: self.ways(program.plan(), memory),
            program,
            client: Some(client),
            preset: preset.into(),
            smaller: "smaller --batch, fewer images, or leave open what --plaintexts and --keys fix",
        })
    }

    fn data(&self) -> HelrData {
        let HelrData { data, labels, .. } = &self.data;
        HelrData { data: absolute(data.as_ref()), labels: absolute(labels.as_ref()), ..self.data.clone() }
    }

    fn program(of: &Described, (params, _): Named<'_, Ckks>, _: Option<&Model>) -> Refusable<Helr> {
        Ok(Helr::new(params, of.training.clone())?.with(of.plan))
    }

    fn in_way(described: &mut Described, way: Way) {
        described.plan = way.bootstrapping.unwrap_or(described.plan);
    }

    fn client(data: &HelrData, _: &Described, program: &Helr, files: &[PathBuf]) -> Refusable<HelrClient> {
        HelrClient::new(program, data.prepared(files)?).map_err(|e| mistake(format!("the data: {e}")))
    }
}

impl HelrArgs {
    /// The fastest configuration, and those that save memory if a budget is given or memory is short: multi-hop saves
    /// keys, one limb per diagonal saves plaintexts, seeds halve the remaining keys.
    fn ways(&self, fastest: BootstrapPlan, memory: Option<u64>) -> Vec<Way> {
        let forms = self.storage.forms(&PlaintextForm::ALL);
        let plan = |rotations| forms.iter().map(move |&form| BootstrapPlan { rotations, form, ..fastest });
        self.storage.ways_of_plans(Rotations::USUAL.into_iter().flat_map(plan), memory)
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
