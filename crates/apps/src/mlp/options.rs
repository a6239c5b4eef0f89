//! Options of `mlp`.

use super::{
    client::MlpClient,
    encrypted::Mlp,
    network::{MOST_IMAGES, Network, Shape},
};
use crate::{
    data::{Numbers, idx::load_range, load_array, load_rows},
    linear::layer::Model,
    lola::client::Digits,
    options::{KEYS, absolute, between, choice, mistake, named_params, one, ways_of_keys},
    workload::{Built, Named, Refusable, Workload},
};
use clap::Args;
use limbwise::{params::Params, rlwe::KeyForm, scheme::Ckks};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Public metadata of an inference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub shape: Shape,
    /// Images in one pass.
    pub images: usize,
}

/// Source of the images.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlpData {
    /// Images: MNIST's IDX, gzip or not; or .npy, .txt or .csv with one image a row, 784 pixels from 0 to 1
    /// [default: generated images, good for plans and timings only]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    data: Option<PathBuf>,

    /// Labels of IDX images [default: the images' path with "images" replaced by "labels"]
    #[arg(long, value_name = "FILE", requires = "data", help_heading = "Data")]
    labels: Option<PathBuf>,

    /// Images before the first that is taken; the weights have learned the first 8000 of MNIST's test images
    /// [default: 8000 of IDX images, none of others]
    #[arg(long, value_name = "COUNT", help_heading = "Data")]
    skip: Option<usize>,

    /// Seed of generated images
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Data")]
    data_seed: u64,
}

/// A fully connected network on many images at once: an image a slot, a pixel a ciphertext, no rotation key
///
/// 484 pixels and a constant, 128 squares, 10 scores; both layers are clear matrices of integers. Pixels go in as they
/// are, from 0 to 1; normalization and the crop to 22×22 are part of the network. It is its own clear twin. The weights
/// come from scripts/train_mlp.py.
///
/// Examples:
///   mlp --data t10k-images-idx3-ubyte.gz --images 2000        the images that the weights have not learned
///   mlp --data test_pixels.txt --images 100                   a hundred lines of 784 numbers
///   mlp --images 10000                                        as many generated ones, to plan and to time
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct MlpArgs {
    #[command(flatten)]
    data: MlpData,

    /// Images in one pass
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = images, allow_negative_numbers = true, help_heading = "Data")]
    images: usize,

    /// Storage of evaluation keys [default: stored, or what fits a memory budget]
    #[arg(long, value_parser = choice(KEYS), value_name = "HOW", help_heading = "Strategy")]
    keys: Option<KeyForm>,

    /// Parameters: a preset's name ("limbwise params show") or a TOML file
    /// [default: n12-l2-s27]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "n12-l2-s27";

/// Skipped of IDX images where nothing is said: those that the weights have learned.
const LEARNED: usize = 8000;

fn is_array(path: &Path) -> bool {
    path.extension().is_some_and(|end| ["npy", "txt", "csv"].iter().any(|known| end.eq_ignore_ascii_case(known)))
}

impl MlpData {
    fn digits(&self, count: usize, files: &[PathBuf]) -> Refusable<Digits> {
        let Some(path) = one(files)?.or(self.data.as_deref()) else {
            return Ok(Digits::generated(Shape::MNIST.side, count, self.data_seed));
        };
        if !is_array(path) {
            let skip = self.skip.unwrap_or(LEARNED);
            return Ok(load_range(path, self.labels.as_deref(), skip..skip.saturating_add(count))?.into());
        }
        let (skip, pixels) = (self.skip.unwrap_or(0), Shape::MNIST.side * Shape::MNIST.side);
        // Ten thousand images are millions of numbers: rows that are those of images are taken as they are.
        let mut table = load_rows(path)?;
        if let Some(rows) = table.as_mut().filter(|rows| rows[0].len() == pixels) {
            let first = skip.min(rows.len());
            rows.drain(..first);
            rows.truncate(count);
            if rows.len() == count {
                return Ok(Digits { pixels: std::mem::take(rows), labels: Vec::new() });
            }
        }
        let Numbers { shape, values } = load_array(path)?;
        let rows = shape.first().copied().unwrap_or(1);
        let enough = skip.saturating_add(count) <= rows && rows.checked_mul(pixels) == Some(values.len());
        if !enough || values.iter().any(|z| z.im != 0.0) {
            let got = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" × ");
            let wanted = format!("at least {} rows of {pixels} real pixels", skip.saturating_add(count));
            return Err(mistake(format!("{}: got {got} numbers; wanted {wanted}", path.display())));
        }
        let taken = values.chunks_exact(pixels).skip(skip).take(count);
        let pixels = taken.map(|image| image.iter().map(|z| z.re).collect()).collect();
        Ok(Digits { pixels, labels: Vec::new() })
    }
}

impl Workload for MlpArgs {
    type Scheme = Ckks;
    type Program = Mlp;
    type Client = MlpClient;
    type Described = Described;
    type Data = MlpData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        let program = Mlp::new(&named_params(preset)?, Network::shipped(), self.images)?;
        let client = MlpClient::new(&program, self.data.digits(self.images, &[])?)?;
        Ok(Built {
            ways: ways_of_keys(self.keys, memory),
            described: Described { shape: program.network().shape, images: self.images },
            program,
            client: Some(client),
            preset: preset.into(),
            smaller: "fewer --images, or leave open what --keys fixes",
        })
    }

    fn data(&self) -> MlpData {
        let MlpData { data, labels, .. } = &self.data;
        MlpData { data: absolute(data.as_ref()), labels: absolute(labels.as_ref()), ..self.data.clone() }
    }

    fn program(of: &Described, (params, _): Named<'_, Ckks>, _model: Option<&Model>) -> Refusable<Mlp> {
        let network = Network::shipped();
        if of.shape != network.shape {
            return Err(mistake(format!("a network of {:?}; wanted the shipped one's {:?}", of.shape, network.shape)));
        }
        Ok(Mlp::new(params, network, of.images)?)
    }

    /// The encrypted pixels.
    fn least_bytes(of: &Described, params: &Params) -> u64 {
        let groups = of.images.div_ceil(params.max_slots().max(1)) as u64;
        if of.shape != Shape::MNIST {
            return 0;
        }
        (2 * 8 * of.shape.features() as u64 * groups)
            .saturating_mul((params.limbs(2.min(params.top_level())) << params.log_n()) as u64)
    }

    fn client(data: &MlpData, _: &Described, program: &Mlp, files: &[PathBuf]) -> Refusable<MlpClient> {
        Ok(MlpClient::new(program, data.digits(program.images(), files)?)?)
    }
}

fn images(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_IMAGES)
}
