//! Options of `resnet20`.

use super::{Resnet, ResnetClient, Trained, images, images::Labeled, weights};
use crate::{
    linear::layer::Model,
    network::{
        Inference,
        activation::SignChoice,
        options::{NetworkArgs, Packed, arrangements, relu},
    },
    options::{
        NumberRange as Numbers, ROTATIONS, StorageArgs, absolute, choice, key_forms, margin, mistake, named_params,
        number_range as numbers, one, strategy,
    },
    way::{Arrangement, Way},
    workload::{Built, Named, Part, Refusable, Workload},
};
use clap::Args;
use limbwise::{
    ckks::{
        BootstrapPlan, PlaintextForm,
        bootstrap::{HalvesAt, Rotations},
    },
    params::Params,
    scheme::Ckks,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What is encrypted: the client's business.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResnetData {
    /// Weights as safetensors with PyTorch's names (a ResNet-20, 32, 44, 56 or 110 for small images), or a network for images
    /// of 32×32 pixels as ONNX (.onnx)
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    weights: PathBuf,

    /// Images: CIFAR-10 binary format, or a PNG of 32×32 pixels
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    data: PathBuf,

    /// Which images: a count from the first, or a range such as 11-20
    #[arg(long, value_name = "COUNT|FROM-TO", default_value = "1", value_parser = numbers, help_heading = "Data")]
    images: Numbers,

    /// Those of them that a part of the batch is about.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<Part>,
}

/// Trained ResNet-20 on encrypted images: convolutions, polynomial activations, bootstrapping
///
/// The client encrypts images; the server evaluates a network of its own on them and returns the scores encrypted.
/// Batch norms are folded into the convolutions, which are linear maps on slots; activations are compositions of
/// polynomials on ranges that are measured on other images. Scores are compared with the network in the clear, and
/// with its twin that has the same polynomials.
///
/// Examples:
///   resnet20 --weights resnet20.safetensors --data test_batch.bin                    the first image
///   resnet20 --weights resnet20.safetensors --data test_batch.bin --images 11-12     two at once
///   resnet20 --weights resnet20.safetensors --data cat.png --calibrate test_batch.bin --calibrate-images 100
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ResnetArgs {
    #[command(flatten)]
    data: ResnetData,

    /// Images for measuring activation ranges, CIFAR-10 binary format or PNG; never those of --images
    /// [default: the other images of --data]
    #[arg(long, value_name = "FILE", help_heading = "Calibration")]
    calibrate: Option<PathBuf>,

    /// Which of them [default: all]
    #[arg(long, value_name = "COUNT|FROM-TO", value_parser = numbers, help_heading = "Calibration")]
    calibrate_images: Option<Numbers>,

    /// Ratio of an activation range to the largest measured value
    #[arg(long, value_name = "FACTOR", default_value = "2", value_parser = margin, help_heading = "Calibration")]
    margin: f64,

    /// Degrees of the composed polynomials that approximate the sign in the activation, and the bits of its gap
    #[arg(long, value_name = "DEGREES:BITS", default_value = "15,15,15:8", value_parser = relu, help_heading = "Activation")]
    relu: SignChoice,

    /// Rotation strategy of all maps, including bootstrapping [default: bsgs; in bootstrapping the fastest that fits]
    #[arg(long, value_parser = choice(ROTATIONS), value_name = "NAME", help_heading = "Strategy")]
    strategy: Option<Rotations>,

    #[command(flatten)]
    storage: StorageArgs,

    /// Parameters with bootstrapping: a preset's name ("limbwise params show") or a TOML file
    /// [default: boot-words]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "boot-words";

impl Workload for ResnetArgs {
    type Scheme = Ckks;
    type Program = Resnet;
    type Client = ResnetClient;
    type Described = Inference;
    type Data = ResnetData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        let params = named_params(preset)?;
        let trained = self.data.network()?;
        let judged = self.data.judged(&[])?;
        let inference = self.inference(&params, &trained, judged.len())?;
        let program = Resnet::new(&params, inference, &trained.network)?;
        let client = ResnetClient::new(&program, &trained, &judged)?;
        let program = Resnet::of(program.planned().clone().with_twin(client.network().twin()));
        Ok(Built {
            ways: self.ways(&program, memory),
            described: program.planned().inference().clone(),
            program,
            client: Some(client),
            preset: preset.into(),
            smaller: "fewer --images, or leave open what --strategy, --plaintexts and --keys fix",
        })
    }

    fn batch(&self) -> Refusable<Option<usize>> {
        Ok(Some(self.data.images.count()))
    }

    fn part(&self, part: Part) -> Option<Self> {
        let part = part.within(self.data.images.count());
        Some(Self { data: ResnetData { part: Some(part), ..self.data.clone() }, ..self.clone() })
    }

    fn server_file(&self) -> Option<PathBuf> {
        Some(self.data.weights.clone())
    }

    fn data(&self) -> ResnetData {
        let path = |path: &PathBuf| absolute(Some(path)).unwrap_or_default();
        ResnetData { weights: path(&self.data.weights), data: path(&self.data.data), ..self.data.clone() }
    }

    fn program(of: &Inference, (params, _): Named<'_, Ckks>, model: Option<&Model>) -> Refusable<Resnet> {
        Ok(Resnet::of(of.program(params, model)?))
    }

    fn in_way(described: &mut Inference, way: Way) {
        NetworkArgs::in_way(described, way);
    }

    fn least_bytes(described: &Inference, params: &Params) -> u64 {
        NetworkArgs::least_bytes(described, params)
    }

    fn server_model(_: &Inference, [file, _]: [Option<&Path>; 2]) -> Refusable<Option<Model>> {
        let trained = file.map(|file| weights::load(file, images::SIDE)).transpose()?;
        Ok(Some(Model { graph: trained.map(|trained| trained.network), ..Model::default() }))
    }

    fn client(data: &ResnetData, _: &Inference, program: &Resnet, files: &[PathBuf]) -> Refusable<ResnetClient> {
        Ok(ResnetClient::new(program, &data.network()?, &data.judged(files)?)?)
    }

    fn client_model(data: &ResnetData, of: &Inference) -> Refusable<Option<Model>> {
        Self::server_model(of, [Some(&data.weights), None])
    }
}

impl ResnetArgs {
    fn inference(&self, params: &Params, trained: &Trained, images: usize) -> Refusable<Inference> {
        let inference = Inference {
            network: trained.network.skeleton.clone(),
            ranges: trained.ranges(&self.others(trained)?, self.margin)?,
            margin: self.margin,
            // Of functions that do not bend at zero, which a ResNet has none of.
            error: 0.005,
            sign: Some(self.relu.clone()),
            squarings: Default::default(),
            samples: images,
            arrangement: Arrangement::default(),
            strategy: strategy(self.strategy.unwrap_or(Rotations::Bsgs)),
            plaintexts: PlaintextForm::AtUse,
            bootstrapping: params.bootstrapping().map(|_| BootstrapPlan::fastest(params.max_slots())),
        };
        let arrangement = arrangements(params, &inference, Some(Packed::Turns))?[0];
        Ok(Inference { arrangement, ..inference })
    }

    /// The images that ranges are measured on: others than those that are judged.
    fn others(&self, trained: &Trained) -> Refusable<Vec<Vec<f64>>> {
        let file = self.calibrate.as_deref().unwrap_or(&self.data.data);
        let all = images::load(file)?;
        let judged = |number: usize| same(file, &self.data.data) && self.data.images.0.contains(&number);
        let asked = |number: usize| self.calibrate_images.as_ref().is_none_or(|n| n.0.contains(&number));
        if let Some(number) = (1..=all.len()).find(|&n| judged(n) && self.calibrate_images.is_some() && asked(n)) {
            let text = format!("--calibrate-images: image {number} is one of --images; calibrate on others");
            return Err(mistake(text));
        }
        let chosen = all.iter().zip(1..).filter(|(_, number)| asked(*number) && !judged(*number));
        let chosen = chosen.map(|(one, _)| trained.normalized(&one.image)).collect::<Result<Vec<_>, _>>()?;
        if chosen.is_empty() {
            let text = format!(
                "{}: no image is left to calibrate the activations on; give others with --calibrate FILE",
                file.display()
            );
            return Err(mistake(text));
        }
        Ok(chosen)
    }

    /// Everything that the options leave open.
    fn ways(&self, program: &Resnet, memory: Option<u64>) -> Vec<Way> {
        let inference = program.planned().inference();
        let maps = inference.strategy;
        // With the keys of the layers, the few percent that double hoisting would save are not worth its keys.
        let rotations = self.strategy.map_or(vec![Rotations::Chained, Rotations::MultiHop], |name| vec![name]);
        // Those of all layers are thousands: kept, they take gigabytes for little time.
        let forms = self.storage.forms(&[PlaintextForm::AtUse, PlaintextForm::OnTheFly]);
        let keys = key_forms(self.storage.keys, memory);
        let boot = inference.bootstrapping;
        let mut ways = Vec::new();
        for &form in forms {
            for &rotations in &rotations {
                let plan =
                    boot.map(|plan| BootstrapPlan { rotations, form: kept(form), halves: HalvesAt::Once, ..plan });
                ways.extend(keys.iter().map(|&keys| Way {
                    maps: Some((maps, form)),
                    bootstrapping: plan,
                    ..Way::of_keys(keys)
                }));
            }
        }
        ways
    }
}

impl ResnetData {
    fn network(&self) -> Refusable<Trained> {
        Ok(weights::load(&self.weights, images::SIDE)?)
    }

    /// The images that are judged, of this file where one is given.
    fn judged(&self, files: &[PathBuf]) -> Refusable<Vec<Labeled>> {
        let file = one(files)?.unwrap_or(&self.data);
        let all = images::load(file)?;
        let [from, to] = self.images.ends(self.part);
        let text = || format!("--images {from}-{to}: {} has {} images", file.display(), all.len());
        Ok(all.get(from - 1..to).ok_or_else(|| mistake(text()))?.to_vec())
    }
}

/// The form of bootstrapping's diagonals: they are few, and used in every layer.
fn kept(form: PlaintextForm) -> PlaintextForm {
    if form == PlaintextForm::Full { form } else { PlaintextForm::OnTheFly }
}

/// Whether two paths name one file.
fn same(a: &Path, b: &Path) -> bool {
    let resolved = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    resolved(a) == resolved(b)
}
