//! Options of `network`.

use super::{
    Inference, Network, NetworkError, Planned, calibration, client::NetworkClient, import, inference::Outline,
};
use crate::{
    data::load_array,
    floor::REAL_BYTES,
    linear::{data::generated, layer::Model},
    options::{
        NumberRange, ROTATIONS, StorageArgs, absolute, choice, key_forms, margin, mistake, named_params, number_range,
        one, strategy,
    },
    way::Way,
    workload::{Built, Named, Part, Refusable, Workload},
};
use clap::Args;
use limbwise::{
    ckks::{
        BootstrapPlan, PlaintextForm,
        bootstrap::{HalvesAt, Rotations},
    },
    finite,
    params::Params,
    scheme::Ckks,
};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Source of the network and of the data.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkData {
    /// The network as ONNX, operators of version 13 or later
    #[arg(long, value_name = "FILE.onnx", help_heading = "Data")]
    model: PathBuf,

    /// Samples as .npy or a table, each of the shape of the network's input [default: generated, good for plans only]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    data: Option<PathBuf>,

    /// Which of them: a count from the first, or a range such as 11-20
    #[arg(long, value_name = "COUNT|FROM-TO", default_value = "1", value_parser = number_range, help_heading = "Data")]
    samples: NumberRange,

    /// Their classes, counted from 0, as .npy or a table
    #[arg(long, value_name = "FILE", requires = "data", help_heading = "Data")]
    labels: Option<PathBuf>,

    /// Those of the samples that a part of the batch is about.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<Part>,
}

/// A network from ONNX on encrypted data: planned before any key, activations as polynomials
///
/// The client encrypts samples; the server evaluates its network on them and returns the outputs encrypted. The graph
/// becomes linear maps on slots, polynomials and products. Ranges are measured on other samples; each function gets the
/// polynomial of least depth within --error on its range. Outputs are compared with the network in the clear, and with
/// its twin that has the same polynomials. docs/guide/networks.md has the list of operators.
///
/// Examples:
///   network --model mlp.onnx --data x.npy                          the first sample, calibrated on the others
///   network --model net.onnx --data x.npy --calibrate train.npy    calibrated on data of their own
///   network --model net.onnx --data x.npy --error 0.001            nearer to the network, deeper polynomials
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct NetworkArgs {
    #[command(flatten)]
    data: NetworkData,

    /// Samples for measuring ranges; never those of --samples [default: the other samples of --data]
    #[arg(long, value_name = "FILE", help_heading = "Calibration")]
    calibrate: Option<PathBuf>,

    /// Ratio of a range to the largest measured value
    #[arg(long, value_name = "FACTOR", default_value = "1.5", value_parser = margin, help_heading = "Calibration")]
    margin: f64,

    /// Largest error of a polynomial for each unit of the largest value of its function
    #[arg(long, value_name = "ERROR", default_value = "0.005", value_parser = error, help_heading = "Activation")]
    error: f64,

    /// Rotation strategy of all maps, including bootstrapping [default: the fastest that fits]
    #[arg(long, value_parser = choice(ROTATIONS), value_name = "NAME", help_heading = "Strategy")]
    strategy: Option<Rotations>,

    #[command(flatten)]
    storage: StorageArgs,

    /// Parameters: a preset's name ("limbwise params show") or a TOML file
    /// [default: the smallest of n13-l3-s40, n14-l7-s40, n15-l16-s40, n16-l24-s40, n16-l32-s40, boot that has the levels]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

/// From the smallest to the largest.
const PRESETS: [&str; 6] = ["n13-l3-s40", "n14-l7-s40", "n15-l16-s40", "n16-l24-s40", "n16-l32-s40", "boot"];
/// Generated samples to calibrate on.
const GENERATED: usize = 16;

impl Workload for NetworkArgs {
    type Scheme = Ckks;
    type Program = Planned;
    type Client = NetworkClient;
    type Described = Inference;
    type Data = NetworkData;
    const PRESET: Option<&'static str> = None;

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let network = import::load(&self.data.model)?;
        let judged = self.data.judged(&network, &[])?;
        let ranges = calibration::ranges(&network, &self.others(&network)?)?;
        let inference = Inference {
            network: network.skeleton.clone(),
            ranges,
            margin: self.margin,
            error: self.error,
            samples: judged.len(),
            strategy: strategy(self.strategy.unwrap_or(Rotations::DoubleHoisted)),
            plaintexts: PlaintextForm::OnTheFly,
            bootstrapping: None,
        };
        let (preset, params) = self.chosen(&inference)?;
        let bootstrapping = params.bootstrapping().map(|_| BootstrapPlan::fastest(params.max_slots()));
        let program = Planned::new(&params, Inference { bootstrapping, ..inference }, &network)?;
        let client = NetworkClient::new(&program, &network, judged, self.data.labels()?)?;
        let program = program.with_twin(client.twin());
        Ok(Built {
            ways: self.ways(&program, memory),
            described: program.inference().clone(),
            program,
            client: Some(client),
            preset,
            smaller: "fewer --samples, a larger --error, or leave open what --strategy, --plaintexts and --keys fix",
        })
    }

    fn batch(&self) -> Refusable<Option<usize>> {
        Ok(Some(self.data.samples.count()))
    }

    fn part(&self, part: Part) -> Option<Self> {
        let part = part.within(self.data.samples.count());
        Some(Self { data: NetworkData { part: Some(part), ..self.data.clone() }, ..self.clone() })
    }

    fn server_file(&self) -> Option<PathBuf> {
        Some(self.data.model.clone())
    }

    fn data(&self) -> NetworkData {
        let path = |path: &Option<PathBuf>| absolute(path.as_ref());
        let NetworkData { model, data, labels, .. } = &self.data;
        let model = absolute(Some(model)).unwrap_or_default();
        NetworkData { model, data: path(data), labels: path(labels), ..self.data.clone() }
    }

    fn program(of: &Inference, (params, _): Named<'_, Ckks>, model: Option<&Model>) -> Refusable<Planned> {
        Ok(of.program(params, model)?)
    }

    fn in_way(described: &mut Inference, way: Way) {
        (described.strategy, described.plaintexts) = way.maps.unwrap_or((described.strategy, described.plaintexts));
        described.bootstrapping = way.bootstrapping.or(described.bootstrapping);
    }

    fn least_bytes(described: &Inference, _: &Params) -> u64 {
        described
            .network
            .weights
            .iter()
            .fold(0, |sum: u64, &count| sum.saturating_add(REAL_BYTES.saturating_mul(count as u64)))
    }

    fn server_model(_: &Inference, [file, _]: [Option<&Path>; 2]) -> Refusable<Option<Model>> {
        let graph = file.map(import::load).transpose()?.map(Arc::new);
        Ok(Some(Model { graph, ..Model::default() }))
    }

    fn client(data: &NetworkData, of: &Inference, program: &Planned, files: &[PathBuf]) -> Refusable<NetworkClient> {
        // A client whose server alone has the weights encrypts with any others in their place.
        let here = Self::has_model(data);
        let network = if here { import::load(&data.model)? } else { Network::generated(&of.network)? };
        let judged = data.judged(&network, files)?;
        let labels = if files.is_empty() { data.labels()? } else { Vec::new() };
        Ok(NetworkClient::new(program, &network, judged, labels)?)
    }

    fn client_model(data: &NetworkData, of: &Inference) -> Refusable<Option<Model>> {
        if Self::has_model(data) { Self::server_model(of, [Some(&data.model), None]) } else { Ok(None) }
    }

    fn has_model(data: &NetworkData) -> bool {
        data.model.exists()
    }
}

impl NetworkArgs {
    /// The parameters that are named, or the smallest that have the levels.
    fn chosen(&self, inference: &Inference) -> Refusable<(String, Params)> {
        if let Some(name) = &self.preset {
            return Ok((name.clone(), named_params(name)?));
        }
        let (mut possible, mut reason) = (Vec::new(), None);
        for name in PRESETS {
            let params = named_params(name)?;
            let bootstrapping = params.bootstrapping().map(|_| BootstrapPlan::fastest(params.max_slots()));
            match Outline::new(&params, &Inference { bootstrapping, ..inference.clone() }) {
                Ok(outline) => possible.push((outline.ciphertexts(), name, params)),
                Err(refused @ NetworkError::Levels { .. }) => reason = Some(refused),
                Err(refused) => return Err(refused.into()),
            }
        }
        // The first of those with the fewest ciphertexts among the first two rings that do.
        possible.truncate(2);
        let best = possible.into_iter().min_by_key(|(count, ..)| *count);
        match (best, reason) {
            (Some((_, name, params)), _) => Ok((name.into(), params)),
            (None, Some(reason)) => Err(reason.into()),
            (None, None) => Err(mistake("--preset: none of the usual ones fits; name one")),
        }
    }

    /// The samples that ranges are measured on.
    fn others(&self, network: &Network) -> Refusable<Vec<Vec<f64>>> {
        let Some(file) = self.calibrate.as_ref().or(self.data.data.as_ref()) else {
            return Ok(made_up(network, 1, GENERATED));
        };
        let all = samples(file, network)?;
        let same = |other: &PathBuf| std::fs::canonicalize(other).ok() == std::fs::canonicalize(file).ok();
        let judged = self.data.data.as_ref().is_some_and(same);
        let kept = all.into_iter().zip(1..).filter(|(_, number)| !judged || !self.data.samples.0.contains(number));
        let kept: Vec<Vec<f64>> = kept.map(|(sample, _)| sample).collect();
        if kept.is_empty() {
            let text =
                format!("{}: no sample is left to calibrate on; give others with --calibrate FILE", file.display());
            return Err(mistake(text));
        }
        Ok(kept)
    }

    /// Everything that the options leave open.
    fn ways(&self, program: &Planned, memory: Option<u64>) -> Vec<Way> {
        let keys = key_forms(self.storage.keys, memory);
        let rotations = self.strategy.map_or(vec![Rotations::DoubleHoisted, Rotations::MultiHop], |name| vec![name]);
        let boot = program.inference().bootstrapping;
        let few = [PlaintextForm::OnTheFly, PlaintextForm::AtUse];
        let forms = self.storage.forms(if boot.is_some() { &few } else { &PlaintextForm::ALL });
        let mut ways = Vec::new();
        for &form in forms {
            for &rotations in &rotations {
                let kept = if form == PlaintextForm::Full { form } else { PlaintextForm::OnTheFly };
                let plan = boot.map(|plan| BootstrapPlan { rotations, form: kept, halves: HalvesAt::Once, ..plan });
                let maps = Some((strategy(rotations), form));
                ways.extend(keys.iter().map(|&keys| Way { maps, bootstrapping: plan, keys }));
            }
        }
        ways
    }
}

impl NetworkData {
    /// The samples that are judged, of this file where one is given.
    fn judged(&self, network: &Network, files: &[PathBuf]) -> Refusable<Vec<Vec<f64>>> {
        let [from, to] = self.samples.ends(self.part);
        let Some(file) = one(files)?.or(self.data.as_deref()) else {
            return Ok(made_up(network, 0, to).split_off(from - 1));
        };
        let all = samples(file, network)?;
        let text = || format!("--samples {from}-{to}: {} has {} samples", file.display(), all.len());
        Ok(all.get(from - 1..to).ok_or_else(|| mistake(text()))?.to_vec())
    }

    fn labels(&self) -> Refusable<Vec<usize>> {
        let Some(file) = &self.labels else { return Ok(Vec::new()) };
        let all = load_array(file)?.values;
        let [from, to] = self.samples.ends(self.part);
        let text =
            || mistake(format!("--labels {}: {} classes; wanted one for each of --samples", file.display(), all.len()));
        let label = |z: &limbwise::Complex64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small, whole, not negative")]
            (z.re >= 0.0 && z.re < 1e6 && z.re.fract() == 0.0).then_some(z.re as usize)
        };
        all.get(from - 1..to).and_then(|few| few.iter().map(label).collect()).ok_or_else(text)
    }
}

/// Numbers in the place of samples, in [−1, 1).
fn made_up(network: &Network, seed: u64, count: usize) -> Vec<Vec<f64>> {
    let size = network.skeleton.sample();
    (0..).zip(0..count).map(|(stream, _)| generated(seed, stream, size, 1.0)).collect()
}

/// The samples of a file: one, or along its first side.
fn samples(path: &Path, network: &Network) -> Refusable<Vec<Vec<f64>>> {
    let array = load_array(path)?;
    let size = network.skeleton.sample();
    let one = |shape: &[usize]| shape.iter().product::<usize>() == size;
    let count = array.shape.first().copied().unwrap_or(1);
    if array.values.iter().any(|z| z.im != 0.0) {
        return Err(mistake(format!("{}: complex numbers; wanted real ones", path.display())));
    }
    let numbers: Vec<f64> = array.values.iter().map(|z| z.re).collect();
    if one(&array.shape) {
        return Ok(vec![numbers]);
    }
    if count == 0 || !one(&array.shape[1..]) {
        let wanted: Vec<String> =
            network.skeleton.inputs().map(|input| format!("{} {:?}", input.name, input.shape)).collect();
        let text =
            format!("{}: an array of {:?}; wanted samples of {}", path.display(), array.shape, wanted.join(" and "));
        return Err(mistake(text));
    }
    Ok(numbers.chunks_exact(size).map(<[f64]>::to_vec).collect())
}

fn error(text: &str) -> Result<f64, String> {
    let error = finite::parse(text).ok().filter(|x| (1e-9..=0.25).contains(x));
    error.ok_or_else(|| "wanted an error from 1e-9 to 0.25; 0.005 to 0.0005 is usual".into())
}
