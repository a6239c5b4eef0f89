//! Options of `network`.

use super::{
    Inference, Network, NetworkError, Planned,
    activation::SignChoice,
    calibration::{self, Range},
    client::NetworkClient,
    import,
    inference::Outline,
    steep::{self, Squarings},
};
use crate::{
    data::{load_array, npy},
    floor::REAL_BYTES,
    linear::{data::generated, layer::Model},
    options::{
        Choice, NumberRange, ROTATIONS, StorageArgs, absolute, choice, key_forms, margin, mistake, named_params,
        number_range, one, strategy,
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

    /// Degrees of composed polynomials that approximate the sign in activations that bend at zero, and the bits of their
    /// gap, as in 15,15,15:8 [default: what --error asks for]
    #[arg(long, value_name = "DEGREES:BITS", value_parser = relu, help_heading = "Activation")]
    relu: Option<SignChoice>,

    /// Take polynomials that change outputs by more than the largest of them
    #[arg(long, help_heading = "Activation")]
    inexact: bool,

    /// How several samples lie: a ciphertext each, turns in the slots of a ciphertext, or a slot each and a ciphertext a
    /// number [default: the fastest that fits]
    #[arg(long, value_name = "NAME", value_parser = choice(PACKINGS), help_heading = "Strategy")]
    packing: Option<Packed>,

    /// Rotation strategy of all maps, including bootstrapping [default: the fastest that fits]
    #[arg(long, value_parser = choice(ROTATIONS), value_name = "NAME", help_heading = "Strategy")]
    strategy: Option<Rotations>,

    #[command(flatten)]
    storage: StorageArgs,

    /// Parameters: a preset's name ("limbwise params show") or a TOML file
    /// [default: the smallest of n13-l3-s40, n14-l7-s40, n15-l16-s40, n16-l24-s40, n16-l32-s40, boot-words that has the levels]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

/// How samples are asked to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packed {
    Apart,
    Turns,
    Slots,
}

const PACKINGS: &[Choice<Packed>] = &[
    ("apart", Packed::Apart, "Each in ciphertexts of its own"),
    ("turns", Packed::Turns, "As many as fit take turns in the slots of a ciphertext"),
    (
        "slots",
        Packed::Slots,
        "Each in a slot of its own, each number in a ciphertext: for thousands, without rotations",
    ),
];

/// From the smallest to the largest.
const PRESETS: [&str; 6] = ["n13-l3-s40", "n14-l7-s40", "n15-l16-s40", "n16-l24-s40", "n16-l32-s40", "boot-words"];
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
        let Calibrated { network, ranges, squarings } = self.calibrated()?;
        let judged = self.data.judged(&network, &[])?;
        let inference = Inference {
            network: network.skeleton.clone(),
            ranges,
            margin: self.margin,
            error: self.error,
            sign: self.relu.clone(),
            squarings,
            samples: judged.len(),
            arrangement: Arrangement::default(),
            strategy: strategy(self.strategy.unwrap_or(Rotations::DoubleHoisted)),
            plaintexts: PlaintextForm::OnTheFly,
            bootstrapping: None,
        };
        let (preset, params) = self.chosen(&inference)?;
        let bootstrapping = params.bootstrapping().map(|_| BootstrapPlan::fastest(params.max_slots()));
        let inference = Inference { bootstrapping, ..inference };
        let arrangements = arrangements(&params, &inference, self.packing)?;
        let (program, arrangements) = admitted((&params, &inference, &network), arrangements)?;
        let client = NetworkClient::new(&program, &network, judged, self.data.labels()?)?;
        let twin = client.twin();
        // Numbers that are made up say little of outputs.
        if self.data.data.is_some() && !self.inexact {
            twin.check()?;
        }
        let program = program.with_twin(twin);
        Ok(Built {
            ways: self.ways(&program, &arrangements, memory),
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
        described.arrangement = way.samples.unwrap_or(described.arrangement);
    }

    fn least_bytes(described: &Inference, _: &Params) -> u64 {
        described
            .network
            .weights
            .iter()
            .fold(0, |sum: u64, &count| sum.saturating_add(REAL_BYTES.saturating_mul(count as u64)))
    }

    fn server_model(described: &Inference, [file, _]: [Option<&Path>; 2]) -> Refusable<Option<Model>> {
        let graph = file.map(|file| import::load_squared(file, &described.squarings)).transpose()?.map(Arc::new);
        Ok(Some(Model { graph, ..Model::default() }))
    }

    fn client(data: &NetworkData, of: &Inference, program: &Planned, files: &[PathBuf]) -> Refusable<NetworkClient> {
        // A client whose server alone has the weights encrypts with any others in their place.
        let here = Self::has_model(data);
        let network =
            if here { import::load_squared(&data.model, &of.squarings)? } else { Network::generated(&of.network)? };
        let network = Arc::new(network);
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

/// A network as it is planned, with the ranges of its values.
struct Calibrated {
    network: Arc<Network>,
    ranges: Vec<Range>,
    squarings: Squarings,
}

impl NetworkArgs {
    /// The network and its ranges. Where they are too steep for its layers of softmax, these are made otherwise.
    fn calibrated(&self) -> Refusable<Calibrated> {
        let (mut network, mut squarings) = (import::load(&self.data.model)?, Squarings::new());
        let samples = self.others(&network)?;
        loop {
            let more = steep::squarings(&network, &samples, [self.margin, self.error])?;
            // All of them are known where a node has such a name and is no softmax.
            if more.keys().all(|layer| squarings.contains_key(layer)) {
                let ranges = calibration::ranges(&network, &samples)?;
                return Ok(Calibrated { network: Arc::new(network), ranges, squarings });
            }
            squarings.extend(more);
            network = import::load_squared(&self.data.model, &squarings)?;
        }
    }

    /// The parameters that are named, or the smallest that have the levels.
    fn chosen(&self, inference: &Inference) -> Refusable<(String, Params)> {
        if let Some(name) = &self.preset {
            return Ok((name.clone(), named_params(name)?));
        }
        let (mut possible, mut reason, fitted) = (Vec::new(), None, inference.fitted()?);
        for name in PRESETS {
            let params = named_params(name)?;
            let bootstrapping = params.bootstrapping().map(|_| BootstrapPlan::fastest(params.max_slots()));
            match Outline::of(&params, &Inference { bootstrapping, ..inference.clone() }, fitted.clone()) {
                Ok(outline) => possible.push((outline.ciphertexts(), name, params)),
                Err(refused @ (NetworkError::Levels { .. } | NetworkError::Slots { .. })) => reason = Some(refused),
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

    /// Everything that the options leave open. Of arrangements, the others are compared in their first configuration: how
    /// maps rotate and how they are stored is the same question for all.
    fn ways(&self, program: &Planned, arrangements: &[Arrangement], memory: Option<u64>) -> Vec<Way> {
        let keys = key_forms(self.storage.keys, memory);
        let boot = program.inference().bootstrapping;
        // Of the network's maps, and of bootstrapping's. Beside bootstrapping's keys those of baby and giant steps weigh little.
        let rotations = match (self.strategy, boot) {
            (Some(name), _) => vec![[name; 2]],
            (None, None) => [Rotations::DoubleHoisted, Rotations::MultiHop].map(|name| [name; 2]).to_vec(),
            (None, Some(_)) => vec![
                [Rotations::Bsgs, Rotations::Chained],
                [Rotations::Bsgs, Rotations::MultiHop],
                [Rotations::MultiHop; 2],
            ],
        };
        let few = [PlaintextForm::OnTheFly, PlaintextForm::AtUse];
        let forms = self.storage.forms(if boot.is_some() { &few } else { &PlaintextForm::ALL });
        let mut ways = Vec::new();
        for &form in forms {
            for &[of_maps, rotations] in &rotations {
                let kept = if form == PlaintextForm::Full { form } else { PlaintextForm::OnTheFly };
                let plan = boot.map(|plan| BootstrapPlan { rotations, form: kept, halves: HalvesAt::Once, ..plan });
                let maps = Some((strategy(of_maps), form));
                ways.extend(keys.iter().map(|&keys| Way { maps, bootstrapping: plan, ..Way::of_keys(keys) }));
            }
        }
        arranged(&ways, arrangements, keys.len())
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

/// The arrangements of samples that are compared: as many in turns as fit, a slot each, a ciphertext each.
pub(crate) fn arrangements(
    params: &Params,
    inference: &Inference,
    asked: Option<Packed>,
) -> Refusable<Vec<Arrangement>> {
    if inference.samples == 1 && asked != Some(Packed::Slots) {
        return Ok(vec![Arrangement::Turns(1)]);
    }
    let outline = Outline::new(params, inference)?;
    let most = outline.most_turns(params).min(inference.samples.next_power_of_two());
    let turns = Arrangement::Turns(most);
    Ok(match asked {
        Some(Packed::Apart) => vec![Arrangement::Turns(1)],
        Some(Packed::Turns) => vec![turns],
        Some(Packed::Slots) => vec![Arrangement::Slots],
        None => {
            let mut all = vec![turns];
            if outline.compares_slots(&inference.network) {
                all.push(Arrangement::Slots);
            }
            if most > 1 {
                all.push(Arrangement::Turns(1));
            }
            all
        }
    })
}

/// The program in the first arrangement that the weights and the memory admit, and all that they do.
fn admitted(
    (params, inference, network): (&Params, &Inference, &Arc<Network>),
    arrangements: Vec<Arrangement>,
) -> Refusable<(Planned, Vec<Arrangement>)> {
    let (mut found, mut kept, mut reason) = (None, Vec::new(), None);
    for arrangement in arrangements {
        let tried = match (&found, arrangement) {
            (None, _) => Planned::new(params, Inference { arrangement, ..inference.clone() }, network).map(Some),
            (Some(program), Arrangement::Slots) => Planned::fits_slots(program).map(|()| None),
            // Fewer samples together take less memory than those that were admitted.
            (Some(_), Arrangement::Turns(_)) => Ok(None),
        };
        match tried {
            Ok(program) => {
                found = found.or(program);
                kept.push(arrangement);
            }
            Err(refused @ (NetworkError::Weight { .. } | NetworkError::Memory { .. })) => reason = Some(refused),
            Err(refused) => return Err(refused.into()),
        }
    }
    match (found, reason) {
        (Some(program), _) => Ok((program, kept)),
        (None, Some(reason)) => Err(reason.into()),
        (None, None) => Err(mistake("--packing: no arrangement of the samples is left; take another one")),
    }
}

/// Ways of the first arrangement, and the first `keys` of them for each of the others.
pub(crate) fn arranged(ways: &[Way], arrangements: &[Arrangement], keys: usize) -> Vec<Way> {
    let [first, others @ ..] = arrangements else { return ways.to_vec() };
    if (others.is_empty(), first) == (true, &Arrangement::Turns(1)) {
        return ways.to_vec();
    }
    let of = |way: &Way, arrangement: Arrangement| Way { samples: Some(arrangement), ..*way };
    let mut all: Vec<Way> = ways.iter().map(|way| of(way, *first)).collect();
    all.extend(others.iter().flat_map(|&other| ways.iter().take(keys).map(move |way| of(way, other))));
    all
}

/// Numbers in the place of samples, in [−1, 1).
fn made_up(network: &Network, seed: u64, count: usize) -> Vec<Vec<f64>> {
    let size = network.skeleton.sample();
    (0..).zip(0..count).map(|(stream, _)| generated(seed, stream, size, 1.0)).collect()
}

/// The samples of a file: one, or along its first side.
fn samples(path: &Path, network: &Network) -> Refusable<Vec<Vec<f64>>> {
    rows(&load_array(path)?, path, network)
}

fn rows(array: &npy::Numbers, path: &Path, network: &Network) -> Refusable<Vec<Vec<f64>>> {
    let size = network.skeleton.sample();
    // All numbers in a row, or sides as an input has them; those of one do not matter.
    let sides = |shape: &[usize]| shape.iter().copied().filter(|&side| side != 1).collect::<Vec<_>>();
    let is_input = |shape: &[usize]| {
        let inputs: Vec<_> = network.skeleton.inputs().collect();
        matches!(&inputs[..], [input] if sides(&input.shape) == sides(shape))
    };
    let one = |shape: &[usize]| shape.iter().product::<usize>() == size && (sides(shape).len() <= 1 || is_input(shape));
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
        let text = format!(
            "{}: an array of {:?}; wanted samples of {}, or of {size} numbers in a row",
            path.display(),
            array.shape,
            wanted.join(" and ")
        );
        return Err(mistake(text));
    }
    Ok(numbers.chunks_exact(size).map(<[f64]>::to_vec).collect())
}

/// Degrees and the bits of a gap that they can tell apart: a gap that leaves no room between stages has no polynomial.
pub(crate) fn relu(text: &str) -> Result<SignChoice, String> {
    let choice = text.split_once(':').and_then(|(degrees, bits)| {
        let degrees = degrees.split(',').map(|d| d.trim().parse()).collect::<Result<_, _>>().ok()?;
        Some(SignChoice { degrees, gap_bits: finite::parse(bits).ok()? })
    });
    let fits = |choice: &SignChoice| choice.is_possible() && choice.plan().error < 0.5;
    choice.filter(fits).ok_or_else(|| {
        "wanted odd degrees below 64 and a gap they can tell apart, as in 15,15,15:8 or 7,15,15:7".into()
    })
}

fn error(text: &str) -> Result<f64, String> {
    let error = finite::parse(text).ok().filter(|x| (1e-9..=0.25).contains(x));
    error.ok_or_else(|| "wanted an error from 1e-9 to 0.25; 0.005 to 0.0005 is usual".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{
        Skeleton,
        skeleton::{Operation, Value},
    };

    #[test]
    fn samples_have_the_shape_of_the_input_or_are_rows() {
        let input = Value { name: "x".into(), shape: vec![1, 2, 3, 4], operation: Operation::Input };
        let skeleton = Skeleton { values: vec![input], weights: vec![], outputs: vec![0] };
        let network = Network::new(skeleton, vec![]).unwrap();
        let of = |shape: &[usize]| {
            let array = npy::Numbers { shape: shape.to_vec(), values: vec![0.5.into(); shape.iter().product()] };
            rows(&array, Path::new("x.npy"), &network).map(|all| all.len()).map_err(|e| e.to_string())
        };
        let taken: [(&[usize], usize); 6] =
            [(&[2, 3, 4], 1), (&[1, 2, 3, 4], 1), (&[5, 2, 3, 4], 5), (&[5, 1, 2, 3, 4], 5), (&[24], 1), (&[5, 24], 5)];
        for (shape, count) in taken {
            assert_eq!(of(shape), Ok(count), "{shape:?}");
        }
        for shape in [&[5, 3, 4, 2][..], &[5, 4, 6], &[4, 3, 2], &[2, 12], &[5, 23]] {
            assert!(of(shape).unwrap_err().contains("wanted samples of x [1, 2, 3, 4], or of 24 numbers in a row"));
        }
    }
}
