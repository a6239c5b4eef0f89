//! Weights: a safetensors file with PyTorch's names, checked, batch norms folded into the convolutions; or an ONNX file,
//! which the compiler's importer reads.
//!
//! Names in safetensors are those of the common CIFAR networks: `conv1`, `bn1`, `layer{stage}.{block}.conv{1,2}`,
//! `layer{stage}.{block}.bn{1,2}`, `linear` (or `fc`). Numbers are 32-bit floats. The file's metadata may have
//! `input_mean`, `input_std` and `bn_eps`; without them those of ImageNet, and 1e-5, are taken, as common training
//! scripts do. An ONNX file has them in its metadata too.

use super::{
    ResnetError,
    architecture::{Architecture, Step, Weights},
};
use crate::{
    data::DataError,
    linear::data::generated,
    network::{
        Network, NetworkError,
        calibration::{self, Range},
        import::{self, ImportError},
    },
};
use limbwise::ckks::tensor::Image;
use safetensors::{Dtype, SafeTensors};
use std::{collections::HashMap, io::Read, path::Path, sync::Arc};

/// Longest file that is read: a `ResNet-110` has 7 MB.
const MOST_BYTES: u64 = 1 << 28;
const KERNEL: usize = 3;

/// A network that was trained on images.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    pub network: Arc<Network>,
    /// What is taken from each channel of an image with values in [0, 1], and what it is then divided by.
    pub normalization: Vec<[f64; 2]>,
}

/// Why a file has no network for images.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// Reads a network from a file.
///
/// # Errors
/// [`WeightsError`]: not such a file, a tensor that is missing or has another shape, in safetensors shortcuts with weights,
/// in ONNX what the compiler refuses or takes no images of this side.
pub fn load(path: &Path, side: usize) -> Result<Trained, WeightsError> {
    if path.extension().is_some_and(|e| e == "onnx") {
        return of_graph(path, side);
    }
    let mut bytes = Vec::new();
    let (file, length) = crate::data::dataset::open_plain(path)?;
    if length <= MOST_BYTES {
        let read = file.take(MOST_BYTES).read_to_end(&mut bytes);
        read.map_err(|source| DataError::Io { path: path.to_owned(), source })?;
    }
    Ok(parse(&bytes, path, side)?)
}

/// A network of an ONNX file, whose only input must be an image of three channels and this side.
fn of_graph(path: &Path, side: usize) -> Result<Trained, WeightsError> {
    let (network, metadata) = import::load_with_metadata(path)?;
    let origin = Origin { path, metadata: metadata.into_iter().collect() };
    let inputs: Vec<Vec<usize>> = network.skeleton.inputs().map(|input| input.shape.clone()).collect();
    if inputs != [[1, super::images::CHANNELS, side, side]] || network.skeleton.outputs.len() != 1 {
        let got = format!("inputs of {inputs:?} and {} outputs", network.skeleton.outputs.len());
        origin.refused(got, "one image of 3 channels and 32×32 pixels, and one output with the scores")?;
    }
    let normalization = origin.normalization(super::images::CHANNELS)?;
    Ok(Trained { network: Arc::new(network), normalization })
}

impl Trained {
    /// An image as the network takes it: each channel less its mean, over its deviation.
    ///
    /// # Errors
    /// [`ResnetError::Shape`] for an image of another shape.
    pub fn normalized(&self, image: &Image) -> Result<Vec<f64>, ResnetError> {
        let [channels, height, width] = image.shape();
        let wanted = self.network.skeleton.inputs().next().map_or(&[][..], |input| &input.shape);
        if wanted != [1, channels, height, width] {
            let got = format!("{channels} channels of {height}×{width} pixels");
            let wanted = "images of the size that the network was trained on";
            return Err(ResnetError::Shape { what: "an image", got, wanted });
        }
        let value = |(at, x): (usize, &f64)| {
            let [mean, deviation] = self.normalization[at / (height * width)];
            (x - mean) / deviation
        };
        Ok(image.values().iter().enumerate().map(value).collect())
    }

    /// The ranges of all values on normalized images; that of the input is what any image may have, whatever the margin.
    ///
    /// # Errors
    /// As [`calibration::ranges`].
    pub fn ranges(&self, images: &[Vec<f64>], margin: f64) -> Result<Vec<Range>, NetworkError> {
        let mut ranges = calibration::ranges(&self.network, images)?;
        let ends = self.normalization.iter().flat_map(|[mean, deviation]| [mean / deviation, (1.0 - mean) / deviation]);
        let most = ends.map(f64::abs).fold(0.0, f64::max) / margin;
        ranges[0] = Range { from: -most, to: most, ..ranges[0] };
        Ok(ranges)
    }
}

/// A network from the bytes of a safetensors file.
pub(super) fn parse(bytes: &[u8], path: &Path, side: usize) -> Result<Trained, DataError> {
    let refused = |got: String| Origin::refuse(path, got, "a safetensors file with the weights of a network");
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| refused(e.to_string()))?;
    let (_, head) = SafeTensors::read_metadata(bytes).map_err(|e| refused(e.to_string()))?;
    let origin = Origin { path, metadata: head.metadata().clone().unwrap_or_default() };
    Reader { origin, tensors }.network(side)
}

/// A file of either kind: where it is, and what it says beside its tensors.
struct Origin<'a> {
    path: &'a Path,
    metadata: HashMap<String, String>,
}

impl Origin<'_> {
    fn refuse(path: &Path, got: String, wanted: &str) -> DataError {
        let next = "use the weights of a ResNet-20, 32, 44, 56 or 110 for small images, with PyTorch's names in a \
                    safetensors file or as an ONNX graph"
            .into();
        DataError::Format { path: path.to_owned(), got, wanted: wanted.to_owned(), next }
    }

    fn refused<T>(&self, got: impl Into<String>, wanted: &str) -> Result<T, DataError> {
        Err(Self::refuse(self.path, got.into(), wanted))
    }

    fn finite(&self, name: &str, numbers: Vec<f64>) -> Result<Vec<f64>, DataError> {
        match numbers.iter().find(|x| !x.is_finite()) {
            Some(x) => self.refused(format!("{x} in {name}"), "finite numbers"),
            None => Ok(numbers),
        }
    }

    /// Numbers of the metadata, separated by commas.
    fn listed(&self, name: &str, count: usize, default: &[f64]) -> Result<Vec<f64>, DataError> {
        let Some(text) = self.metadata.get(name) else {
            let from_default = |at: usize| default.get(at).or(default.last()).copied().unwrap_or(0.0);
            return Ok((0..count).map(from_default).collect());
        };
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse::<f64>()).collect();
        match numbers {
            Ok(numbers) if numbers.len() == count && numbers.iter().all(|x| x.is_finite()) => Ok(numbers),
            _ => self.refused(format!("{name} = {text:?}"), &format!("{count} numbers with commas between")),
        }
    }

    /// Mean and deviation of each channel of the images it was trained on.
    fn normalization(&self, channels: usize) -> Result<Vec<[f64; 2]>, DataError> {
        let mean = self.listed("input_mean", channels, &[0.485, 0.456, 0.406])?;
        let deviation = self.listed("input_std", channels, &[0.229, 0.224, 0.225])?;
        if let Some(x) = deviation.iter().find(|&&x| x <= 0.0) {
            return self.refused(format!("input_std with {x}"), "positive numbers");
        }
        Ok(mean.into_iter().zip(deviation).map(|(mean, deviation)| [mean, deviation]).collect())
    }

    /// A convolution with its batch norm: `γ·(w∗x + b − μ)/√(σ² + ε) + β`.
    fn folded(&self, name: &str, conv: &Weights, norm: &Norm, epsilon: f64) -> Result<Weights, DataError> {
        let [gamma, beta, mean, variance] = norm;
        if let Some(x) = variance.iter().find(|&&x| x + epsilon <= 0.0) {
            return self.refused(format!("a variance of {x} in {name}"), "no negative one");
        }
        let factor: Vec<f64> = gamma.iter().zip(variance).map(|(g, v)| g / (v + epsilon).sqrt()).collect();
        let filter = conv.weights.len() / factor.len().max(1);
        let scaled = conv.weights.iter().enumerate().map(|(at, w)| w * factor[at / filter]);
        let moved = conv.bias.iter().zip(mean).zip(beta.iter().zip(&factor));
        Ok(Weights { weights: scaled.collect(), bias: moved.map(|((b, m), (beta, f))| beta + (b - m) * f).collect() })
    }
}

/// Scale, shift, mean and variance of each output of a batch norm.
type Norm = [Vec<f64>; 4];

struct Reader<'a> {
    origin: Origin<'a>,
    tensors: SafeTensors<'a>,
}

impl Reader<'_> {
    fn refused<T>(&self, got: impl Into<String>, wanted: &str) -> Result<T, DataError> {
        self.origin.refused(got, wanted)
    }

    /// The shape of a tensor, if it is there.
    fn shape(&self, name: &str) -> Option<Vec<usize>> {
        Some(self.tensors.tensor(name).ok()?.shape().to_vec())
    }

    /// The numbers of a tensor that must have a shape.
    fn numbers(&self, name: &str, wanted: &[usize]) -> Result<Vec<f64>, DataError> {
        let Ok(tensor) = self.tensors.tensor(name) else {
            return self.refused(format!("no tensor {name}"), &format!("one of {wanted:?}"));
        };
        if tensor.shape() != wanted {
            return self.refused(format!("{name} of {:?}", tensor.shape()), &format!("{wanted:?}"));
        }
        if tensor.dtype() != Dtype::F32 {
            return self.refused(format!("{name} of {:?}", tensor.dtype()), "32-bit floats");
        }
        let word = |bytes: &[u8]| f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        let numbers: Vec<f64> = tensor.data().chunks_exact(4).map(word).collect();
        self.origin.finite(name, numbers)
    }

    fn architecture(&self, side: usize) -> Result<Architecture, DataError> {
        let stem = self.shape("conv1.weight").unwrap_or_default();
        let &[first, channels, KERNEL, KERNEL] = &stem[..] else {
            return self.refused(format!("conv1.weight of {stem:?}"), "filters of 3×3");
        };
        if let Some(name) = self.tensors.names().iter().find(|n| n.contains("shortcut") || n.contains("downsample")) {
            return self.refused((*name).to_owned(), "shortcuts without weights (option A)");
        }
        let width = |stage: usize| self.shape(&format!("layer{stage}.0.conv1.weight")).and_then(|s| s.first().copied());
        let widths: Vec<usize> = (1..=6).map_while(width).collect();
        let has = |stage: usize, block: usize| self.shape(&format!("layer{stage}.{block}.conv1.weight")).is_some();
        let count = |stage: usize| (0..65).take_while(|&block| has(stage, block)).count();
        let blocks = count(1);
        if let Some(stage) = (1..=widths.len()).find(|&stage| count(stage) != blocks) {
            return self.refused(
                format!("{} blocks in stage {stage}, {blocks} in the first", count(stage)),
                "equally many in all",
            );
        }
        let scores = self.shape("linear.bias").or(self.shape("fc.bias")).unwrap_or_default();
        let &[classes] = &scores[..] else {
            return self.refused("no linear.bias or fc.bias", "a linear layer at the end");
        };
        let architecture = Architecture { side, channels, widths, blocks, classes };
        match architecture.check() {
            Ok(()) if architecture.widths[0] == first => Ok(architecture),
            Ok(()) => self.refused(format!("{first} channels from conv1"), "as many as the first stage has"),
            Err(e) => self.refused(e.to_string(), "a network of another shape"),
        }
    }

    fn network(&self, side: usize) -> Result<Trained, DataError> {
        let architecture = self.architecture(side)?;
        let epsilon = self.origin.listed("bn_eps", 1, &[1e-5])?[0];
        let steps = architecture.steps();
        let folded = |(step, [conv, norm]): (&Step, [String; 2])| {
            let weights = self.folded(step.channels, &conv, &norm, epsilon)?;
            Ok::<_, DataError>((conv, weights))
        };
        let convolutions = steps.iter().zip(architecture.names()).map(folded).collect::<Result<Vec<_>, _>>()?;
        let last = architecture.widths[architecture.widths.len() - 1];
        let head = if self.shape("linear.bias").is_some() { "linear" } else { "fc" };
        let linear = Weights {
            weights: self.numbers(&format!("{head}.weight"), &[architecture.classes, last])?,
            bias: self.numbers(&format!("{head}.bias"), &[architecture.classes])?,
        };
        let normalization = self.origin.normalization(architecture.channels)?;
        let network = architecture
            .network(&convolutions, &linear)
            .or_else(|e| self.refused(e.to_string(), "a network that is no larger than those that are planned"))?;
        Ok(Trained { network: Arc::new(network), normalization })
    }

    /// A convolution with its batch norm.
    fn folded(
        &self,
        [inputs, outputs]: [usize; 2],
        conv: &str,
        norm: &str,
        epsilon: f64,
    ) -> Result<Weights, DataError> {
        let weights = self.numbers(&format!("{conv}.weight"), &[outputs, inputs, KERNEL, KERNEL])?;
        let of = |what: &str| self.numbers(&format!("{norm}.{what}"), &[outputs]);
        let numbers = [of("weight")?, of("bias")?, of("running_mean")?, of("running_var")?];
        self.origin.folded(norm, &Weights { weights, bias: vec![0.0; outputs] }, &numbers, epsilon)
    }
}

impl Architecture {
    /// The names of each convolution and of its batch norm.
    fn names(&self) -> Vec<[String; 2]> {
        let mut names = vec![["conv1".to_owned(), "bn1".to_owned()]];
        for stage in 1..=self.widths.len() {
            for block in 0..self.blocks {
                let of = |i| ["conv", "bn"].map(|part| format!("layer{stage}.{block}.{part}{i}"));
                names.extend([1, 2].map(of));
            }
        }
        names
    }

    /// Numbers in the place of trained ones: such that values neither die nor grow.
    #[must_use]
    pub fn generated(&self, seed: u64) -> (Vec<(String, Weights)>, Weights) {
        let numbers = |stream: u64, count: usize, most: f64| generated(seed, stream, count, most);
        let convolution = |(stream, (step, [name, _])): (u64, (&Step, [String; 2]))| {
            let [inputs, outputs] = step.channels;
            let most = 1.5 / ((inputs * KERNEL * KERNEL) as f64).sqrt();
            let weights = numbers(2 * stream, inputs * outputs * KERNEL * KERNEL, most);
            (name, Weights { weights, bias: numbers(2 * stream + 1, outputs, 0.2) })
        };
        let last = self.widths.last().copied().unwrap_or(1);
        let linear = Weights {
            weights: numbers(u64::MAX, self.classes * last, 1.0),
            bias: numbers(u64::MAX - 1, self.classes, 1.0),
        };
        let steps = self.steps();
        ((0u64..).zip(steps.iter().zip(self.names())).map(convolution).collect(), linear)
    }
}

impl Trained {
    /// A network of generated numbers.
    ///
    /// # Errors
    /// [`ResnetError`] for no architecture.
    pub fn generated(architecture: &Architecture, seed: u64) -> Result<Self, ResnetError> {
        architecture.check()?;
        let (convolutions, linear) = architecture.generated(seed);
        let network = Arc::new(architecture.network(&convolutions, &linear)?);
        Ok(Self { network, normalization: vec![[0.5, 0.25]; architecture.channels] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::TensorView;
    use std::collections::BTreeMap;

    /// Name to shape and numbers.
    type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

    /// A network of two stages of one block, every batch norm the same.
    fn tensors() -> Tensors {
        let mut all = Tensors::new();
        let mut put = |name: String, shape: Vec<usize>, value: f32| {
            let count = shape.iter().product();
            all.insert(name, (shape, vec![value; count]));
        };
        let stages = [("conv1", "bn1", [3, 2]), ("layer1.0.conv1", "layer1.0.bn1", [2, 2])];
        let rest = [("layer1.0.conv2", "layer1.0.bn2", [2, 2]), ("layer2.0.conv1", "layer2.0.bn1", [2, 4])];
        let last = [("layer2.0.conv2", "layer2.0.bn2", [4, 4])];
        for (conv, norm, [inputs, outputs]) in stages.into_iter().chain(rest).chain(last) {
            put(format!("{conv}.weight"), vec![outputs, inputs, 3, 3], 0.5);
            for (what, value) in [("weight", 2.0), ("bias", 0.25), ("running_mean", 1.0), ("running_var", 3.0)] {
                put(format!("{norm}.{what}"), vec![outputs], value);
            }
        }
        put("fc.weight".into(), vec![5, 4], 1.0);
        put("fc.bias".into(), vec![5], -1.0);
        all
    }

    fn read(tensors: &Tensors, metadata: &[(&str, &str)]) -> Result<Trained, DataError> {
        let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
            .iter()
            .map(|(name, (shape, numbers))| {
                (name.clone(), shape.clone(), numbers.iter().flat_map(|x| x.to_le_bytes()).collect())
            })
            .collect();
        let views = bytes
            .iter()
            .map(|(name, shape, data)| (name.clone(), TensorView::new(Dtype::F32, shape.clone(), data).unwrap()));
        let metadata = metadata.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        parse(&safetensors::serialize(views, Some(metadata)).unwrap(), Path::new("some.safetensors"), 8)
    }

    #[test]
    fn batch_norms_are_folded() {
        let network =
            read(&tensors(), &[("bn_eps", "1"), ("input_mean", "0.1,0.2, 0.3"), ("input_std", "1,1,2")]).unwrap();
        let skeleton = &network.network.skeleton;
        assert_eq!((skeleton.values.len(), &skeleton.values[11].shape[..]), (12, &[1, 5][..]));
        // 2·(0.5·x − 1)/√(3 + 1) + 0.25
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        let lists = network.network.weights.chunks_exact(2).take(5);
        assert!(lists.into_iter().all(|list| close(list[0][0], 0.5) && close(list[1][0], -0.75)));
        assert!(close(network.normalization[2][0], 0.3) && close(network.normalization[2][1], 2.0));
        let [mean, deviation] = read(&tensors(), &[]).unwrap().normalization[0];
        assert!(close(mean, 0.485) && close(deviation, 0.229));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        let refused = |change: &dyn Fn(&mut Tensors)| {
            let mut all = tensors();
            change(&mut all);
            read(&all, &[]).unwrap_err().to_string()
        };
        let text = refused(&|t| drop(t.remove("layer1.0.bn2.running_var")));
        assert!(text.contains("no tensor layer1.0.bn2.running_var; wanted one of [2]"), "{text}");
        let text = refused(&|t| drop(t.insert("fc.weight".into(), (vec![5, 3], vec![0.0; 15]))));
        assert!(text.contains("fc.weight of [5, 3]; wanted [5, 4]"), "{text}");
        let text = refused(&|t| t.get_mut("conv1.weight").unwrap().1[3] = f32::NAN);
        assert!(text.contains("NaN in conv1.weight; wanted finite numbers"), "{text}");
        assert!(refused(&|t| t.get_mut("bn1.running_var").unwrap().1[0] = -1.0).contains("a variance of -1"));
        assert!(refused(&|t| drop(t.remove("conv1.weight"))).contains("conv1.weight of []"));
        assert!(refused(&|t| drop(t.remove("fc.bias"))).contains("no linear.bias"));
        assert!(
            refused(&|t| drop(t.insert("layer2.0.shortcut.0.weight".into(), (vec![1], vec![0.0]))))
                .contains("option A")
        );
        let text = refused(&|t| drop(t.insert("layer1.1.conv1.weight".into(), (vec![1], vec![0.0]))));
        assert!(text.contains("1 blocks in stage 2, 2 in the first"), "{text}");
        let path = Path::new("some.safetensors");
        for bytes in [&b""[..], &[255; 64], &b"\x08\0\0\0\0\0\0\0{\"a\": 1}"[..]] {
            assert!(parse(bytes, path, 8).unwrap_err().to_string().contains("a safetensors file"));
        }
        assert!(read(&tensors(), &[("input_std", "0,1,1")]).unwrap_err().to_string().contains("positive numbers"));
        assert!(read(&tensors(), &[("input_mean", "0,1")]).unwrap_err().to_string().contains("3 numbers"));
    }
}
