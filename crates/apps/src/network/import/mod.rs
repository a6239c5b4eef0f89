//! From an ONNX file to a network: shapes inferred, constants folded, what nobody reads cut.
//!
//! Nodes are taken in their order. A tensor is a constant, a sum of linear maps that waits for what comes after it, or a
//! function of a value that does the same; only where something needs it does it become a value of its own. So batch
//! norms, poolings, paddings and concatenations end in the maps beside them, and functions of one tensor in one
//! expression. Nothing of a file is trusted: sizes are checked before anything is made of them.
//!
//! Read in this order: [`builder`] (tensors and values), `operators` (the list), `windows`, `products`, `shapes`,
//! `images`, `pointwise`, `choices`, `composed`, `softmax`, `recurrent`,
//! `samples`.

mod attention;
mod builder;
mod choices;
mod composed;
mod external;
mod images;
mod operators;
mod pointwise;
mod products;
mod recurrent;
mod samples;
mod shapes;
mod softmax;
#[cfg(test)]
mod tests;
mod windows;

use super::{Network, NetworkError, steep::Squarings};
use crate::{data::DataError, onnx};
use builder::{Builder, Form, Tensor};
use prost::Message;
use std::{
    collections::{HashMap, HashSet},
    io::Read,
    path::Path,
    sync::Arc,
};

/// Longest file that is read: a ResNet-50 has 100 MB, a VGG-19 550.
const MOST_BYTES: u64 = 1 << 30;
const OLDEST: i64 = 13;
/// What operators mean was read up to here.
const NEWEST: i64 = 28;
const MOST_NODES: usize = 1 << 14;

/// Why a file is no network that can be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    #[error("{path}: {got}; wanted {wanted}")]
    File { path: String, got: String, wanted: &'static str },
    #[error("layer {layer} ({operator}): {got}; wanted {wanted}")]
    Layer { layer: String, operator: String, got: String, wanted: String },
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// Of an operator: what is wrong, and what would do.
#[derive(Debug)]
struct Refused {
    got: String,
    wanted: String,
}

type Taken<T> = Result<T, Refused>;

fn refuse<T>(got: impl Into<String>, wanted: impl Into<String>) -> Taken<T> {
    Err(Refused { got: got.into(), wanted: wanted.into() })
}

/// Reads a network from a file.
///
/// # Errors
/// [`ImportError`], which names the layer and its operator.
pub fn load(path: &Path) -> Result<Network, ImportError> {
    Ok(load_with_metadata(path)?.0)
}

/// Reads a network whose steep layers of softmax square their exponentials.
///
/// # Errors
/// As [`load`].
pub fn load_squared(path: &Path, squarings: &Squarings) -> Result<Network, ImportError> {
    Ok(read(path, squarings)?.0)
}

/// The same, with the entries of the file's metadata.
///
/// # Errors
/// As [`load`].
pub fn load_with_metadata(path: &Path) -> Result<(Network, Vec<(String, String)>), ImportError> {
    read(path, &Squarings::default())
}

fn read(path: &Path, squarings: &Squarings) -> Result<(Network, Vec<(String, String)>), ImportError> {
    let shown = path.display().to_string();
    let (file, length) = crate::data::dataset::open_plain(path)?;
    if length > MOST_BYTES {
        return Err(ImportError::File { path: shown, got: format!("{length} bytes"), wanted: "at most 1 GiB" });
    }
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES).read_to_end(&mut bytes);
    read.map_err(|source| DataError::Io { path: path.to_owned(), source })?;
    let mut model = decoded(&bytes, &shown)?;
    drop(bytes);
    external::fetch(&mut model, path.parent().unwrap_or(Path::new("")))?;
    of_model(model, &shown, squarings)
}

/// A network from the bytes of a file, whose weights are all inside; errors name the path.
///
/// # Errors
/// As [`load`].
pub fn parse(bytes: &[u8], path: &str) -> Result<Network, ImportError> {
    parse_squared(bytes, path, &Squarings::default())
}

fn parse_squared(bytes: &[u8], path: &str, squarings: &Squarings) -> Result<Network, ImportError> {
    Ok(of_model(decoded(bytes, path)?, path, squarings)?.0)
}

const WANTED: &str = "an ONNX file with the graph of a network";

fn decoded(bytes: &[u8], path: &str) -> Result<onnx::Model, ImportError> {
    let wrong = |e: prost::DecodeError| ImportError::File { path: path.into(), got: e.to_string(), wanted: WANTED };
    onnx::Model::decode(bytes).map_err(wrong)
}

fn of_model(
    model: onnx::Model,
    path: &str,
    squarings: &Squarings,
) -> Result<(Network, Vec<(String, String)>), ImportError> {
    let file = |got: String, wanted| ImportError::File { path: path.into(), got, wanted };
    let own = model.operator_sets.iter().find(|set| ["", "ai.onnx"].contains(&&*set.domain));
    let version = own.map_or(0, |set| set.version);
    if version < OLDEST {
        let got = format!("operators of version {version}");
        return Err(file(got, "version 13 or later (onnx.version_converter makes it)"));
    }
    if version > NEWEST {
        return Err(file(
            format!("operators of version {version}"),
            "at most version 28 (onnx.version_converter makes it)",
        ));
    }
    let graph = model.graph.ok_or_else(|| file("no graph".into(), WANTED))?;
    if graph.nodes.len() > MOST_NODES {
        return Err(file(format!("{} nodes", graph.nodes.len()), "at most 16384"));
    }
    let metadata = model.metadata.into_iter().map(|entry| (entry.key, entry.value)).collect();
    // Squares of a softmax change nothing of its samples, which were looked at before.
    let pair = if squarings.is_empty() { samples::Pair::of(&graph, version) } else { None };
    let mut importer = Importer::new(&graph, version, 1);
    importer.builder.squarings.clone_from(squarings);
    let network = importer.network(&graph)?;
    if pair.is_some_and(|pair| pair.are_apart(&network).contains(&false)) {
        return Err(samples::joined(&graph, version));
    }
    Ok((network, metadata))
}

/// Operators that take a part of their first input.
const PARTS: [&str; 3] = ["Gather", "Slice", "Split"];
/// Readers that take parts of one tensor, at most: parts may overlap, and each is computed on its own.
const MOST_PARTS: usize = 8;

struct Importer<'g> {
    builder: Builder,
    tensors: HashMap<String, Tensor>,
    constants: HashMap<&'g str, &'g onnx::Tensor>,
    /// How often a tensor is read by nodes that anything comes of.
    uses: HashMap<&'g str, usize>,
    /// Tensors of which all readers, a few, take parts.
    taken_in_parts: HashSet<&'g str>,
    needed: HashSet<&'g str>,
    /// Tensors of integers that are encrypted.
    whole: HashSet<String>,
    /// Tensors of truths.
    truths: HashSet<String>,
    version: i64,
    /// What the first side of an input is where it is not known.
    samples: usize,
}

impl<'g> Importer<'g> {
    fn new(graph: &'g onnx::Graph, version: i64, samples: usize) -> Self {
        let constants = graph.initializers.iter().map(|t| (t.name.as_str(), t)).collect();
        let (mut needed, mut uses): (HashSet<&str>, HashMap<&str, usize>) = (HashSet::new(), HashMap::new());
        for output in &graph.outputs {
            needed.insert(&output.name);
            *uses.entry(&output.name).or_default() += 1;
        }
        for node in graph.nodes.iter().rev() {
            if node.outputs.iter().any(|name| needed.contains(name.as_str())) {
                for name in node.inputs.iter().filter(|name| !name.is_empty()) {
                    needed.insert(name);
                    *uses.entry(name).or_default() += 1;
                }
            }
        }
        let mut taken_in_parts: HashSet<&str> =
            uses.iter().filter(|&(_, &count)| count <= MOST_PARTS).map(|(&name, _)| name).collect();
        for node in graph.nodes.iter().filter(|node| node.outputs.iter().any(|name| needed.contains(name.as_str()))) {
            let parts = PARTS.contains(&&*node.operator);
            node.inputs.iter().skip(usize::from(parts)).for_each(|name| {
                taken_in_parts.remove(name.as_str());
            });
        }
        graph.outputs.iter().for_each(|output| {
            taken_in_parts.remove(output.name.as_str());
        });
        Self {
            builder: Builder::default(),
            tensors: HashMap::new(),
            constants,
            uses,
            taken_in_parts,
            needed,
            whole: HashSet::new(),
            truths: graph.initializers.iter().filter(|t| t.kind == onnx::TRUTHS).map(|t| t.name.clone()).collect(),
            version,
            samples,
        }
    }

    fn network(mut self, graph: &'g onnx::Graph) -> Result<Network, ImportError> {
        for input in &graph.inputs {
            if !self.constants.contains_key(input.name.as_str()) {
                let at = |r: Refused| layer(&input.name, "Input", r);
                let tensor = self.input(input).map_err(at)?;
                self.tensors.insert(input.name.clone(), tensor);
            }
        }
        for node in &graph.nodes {
            if node.outputs.iter().any(|name| self.needed.contains(name.as_str())) {
                self.step(node)?;
            }
        }
        let mut outputs = Vec::new();
        for output in &graph.outputs {
            let tensor = self.tensors.get(&output.name).cloned();
            let at = |r: Refused| layer(&output.name, "Output", r);
            let tensor = match tensor {
                Some(tensor) => tensor,
                None => refuse("no node makes it", "a graph whose nodes are in order").map_err(at)?,
            };
            self.builder.layer = output.name.clone();
            outputs.push(self.builder.output(&tensor).map_err(at)?);
        }
        Ok(self.builder.finish(outputs)?)
    }

    /// An input of known sides, but for the first, which counts samples if it is not known.
    fn input(&mut self, input: &onnx::ValueInfo) -> Taken<Tensor> {
        let tensor = input.kind.as_ref().and_then(|kind| kind.tensor.as_ref());
        let is = |kinds: &[i64], tensor: &onnx::TensorType| kinds.contains(&tensor.kind.into());
        let numbers = |tensor: &&onnx::TensorType| is(&onnx::FLOATS, tensor) || is(&onnx::INTEGERS, tensor);
        let Some(tensor) = tensor.filter(numbers) else {
            return refuse("an input that is no tensor of numbers", "floats, or integers");
        };
        if is(&onnx::INTEGERS, tensor) {
            self.whole.insert(input.name.clone());
        }
        let Some(shape) = tensor.shape.as_ref() else {
            return refuse("an input without a shape", "one with its sides: export with a sample");
        };
        let sides = &shape.sides[..];
        let side = |(at, side): (usize, &onnx::Side)| match side.value {
            Some(value) if value > 0 => usize::try_from(value).ok(),
            _ => (at == 0).then_some(self.samples),
        };
        let shape: Option<Vec<usize>> = sides.iter().enumerate().map(side).collect();
        let Some(shape) = shape else {
            let names = sides.iter().map(|s| s.value.map_or("?".into(), |v| v.to_string())).collect::<Vec<_>>();
            return refuse(
                format!("a dynamic shape, {}", names.join("×")),
                "sides that are known, but for the first: export with a sample and no dynamic axes",
            );
        };
        self.builder.input(&input.name, shape)
    }

    fn step(&mut self, node: &'g onnx::Node) -> Result<(), ImportError> {
        let named = named(node);
        self.builder.layer = named.clone();
        let at = |r: Refused| layer(&named, &node.operator, r);
        if let Some(name) = node.outputs.iter().find(|name| self.is_made(name)) {
            return Err(at(Refused { got: format!("{name} is made again"), wanted: "a tensor of one node".into() }));
        }
        let inputs = node.inputs.iter().map(|name| self.tensor(name)).collect::<Taken<Vec<_>>>().map_err(at)?;
        let is_read = |name: &String| self.needed.contains(name.as_str());
        self.builder.results = node.outputs.iter().rposition(is_read).map_or(0, |last| last + 1);
        self.builder.whole = node.inputs.iter().any(|name| self.whole.contains(name));
        self.builder.truths = node.inputs.iter().map(|name| self.truths.contains(name)).collect();
        if gives_truths(node, &self.builder.truths) {
            self.truths.extend(node.outputs.iter().cloned());
        }
        let made = operators::apply(&mut self.builder, node, &inputs, self.version).map_err(at)?;
        let to_floats = || onnx::FLOATS.contains(&node.attribute("to").map_or(1, |to| to.int));
        let whole = self.builder.whole && !(node.operator == "Cast" && to_floats());
        for (mut tensor, name) in made.into_iter().zip(&node.outputs) {
            if tensor.layer.is_empty() {
                tensor.layer = named.as_str().into();
            }
            if whole && tensor.numbers().is_none() {
                self.whole.insert(name.clone());
            }
            let often = self.uses.get(name.as_str()).is_some_and(|&count| count > 1);
            // Parts of a sum are sums of their own, of fewer products each: nobody needs the whole.
            let in_parts = matches!(tensor.form, Form::Sum { .. }) && self.taken_in_parts.contains(name.as_str());
            let tensor = if often && !in_parts { self.builder.shared(tensor).map_err(at)? } else { tensor };
            self.tensors.insert(name.clone(), tensor);
        }
        Ok(())
    }

    fn is_made(&self, name: &str) -> bool {
        !name.is_empty() && (self.tensors.contains_key(name) || self.constants.contains_key(name))
    }

    /// A node's input; `None` for one that is left out.
    fn tensor(&self, name: &str) -> Taken<Option<Tensor>> {
        if name.is_empty() {
            return Ok(None);
        }
        if let Some(tensor) = self.tensors.get(name) {
            return Ok(Some(tensor.clone()));
        }
        let Some(constant) = self.constants.get(name) else {
            return refuse(format!("the input {name}, which nothing before makes"), "a graph whose nodes are in order");
        };
        let (shape, numbers) = constant.numbers().or_else(|(got, wanted)| refuse(got, wanted))?;
        Ok(Some(Tensor::new(shape, Form::Constant(Arc::new(numbers)))))
    }
}

/// Whether a node makes truths: it compares, or moves truths, which are these of its inputs.
fn gives_truths(node: &onnx::Node, truths: &[bool]) -> bool {
    match &*node.operator {
        "Greater" | "Less" | "GreaterOrEqual" | "LessOrEqual" | "Equal" | "Not" | "And" | "Or" => true,
        "Cast" => node.attribute("to").is_some_and(|to| to.int == i64::from(onnx::TRUTHS)),
        "Constant" | "ConstantOfShape" => {
            node.attribute("value").and_then(|a| a.tensor.as_ref()).is_some_and(|tensor| tensor.kind == onnx::TRUTHS)
        }
        "Where" | "CastLike" => truths.get(1).is_some_and(|&is| is),
        "Identity" | "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Transpose" | "Expand" | "Tile" | "Pad"
        | "Slice" | "Gather" | "Concat" | "Split" => truths.first().is_some_and(|&is| is),
        _ => false,
    }
}

/// The name of a node, or that of the first tensor that it makes.
fn named(node: &onnx::Node) -> String {
    let mut names = std::iter::once(&node.name).chain(&node.outputs);
    names.find(|name| !name.is_empty()).cloned().unwrap_or_default()
}

fn layer(layer: &str, operator: &str, Refused { got, wanted }: Refused) -> ImportError {
    ImportError::Layer { layer: layer.into(), operator: operator.into(), got, wanted }
}

#[cfg(test)]
mod graphs {
    use super::tests::{Writer, int};
    use crate::onnx::Node;

    #[test]
    fn graphs_that_mean_something_else_are_refused() {
        let relu = || Writer::new(&[1, 3]).node("Relu", &["x"], "y", vec![]);
        let text = relu().node("Tanh", &["x"], "y", vec![]).refused();
        assert!(text.contains("layer Tanh.y (Tanh): y is made again"), "{text}");
        let text = relu().of_version(99).refused();
        assert!(text.contains("operators of version 99") && text.contains("at most version 28"), "{text}");
        let mut nameless = Writer::new(&[1, 3]);
        let outputs = vec![String::new(), "y".into()];
        nameless.0.nodes.push(Node { inputs: vec!["x".into()], outputs, operator: "Unique".into(), ..Node::default() });
        assert!(nameless.refused().contains("layer y (Unique): an operator that is not known"));
        let mut shapeless = relu();
        shapeless.0.inputs[0].kind.as_mut().unwrap().tensor.as_mut().unwrap().shape = None;
        assert!(shapeless.refused().contains("layer x (Input): an input without a shape"));
    }

    #[test]
    fn the_topmost_alone_is_a_maximum() {
        let topk = |k, outputs: &[&str], largest| {
            let mut graph = Writer::new(&[1, 3]).whole("k", &[k]);
            graph.0.nodes.push(Node {
                name: "top".into(),
                inputs: vec!["x".into(), "k".into()],
                outputs: outputs.iter().map(|&name| name.into()).collect(),
                operator: "TopK".into(),
                attributes: vec![int("largest", largest)],
                ..Node::default()
            });
            graph
        };
        let one = |largest| {
            let network = topk(1, &["y", "places"], largest).read().unwrap();
            network.outputs(&network.exact(&[2.0, -1.0, 5.0]))
        };
        assert_eq!((one(1), one(0)), (vec![5.0], vec![-1.0]));
        assert!(topk(1, &["values", "y"], 1).refused().contains("indices as the result"));
        assert!(topk(2, &["y", "places"], 1).refused().contains("topmost of encrypted numbers"));
    }

    #[test]
    fn quantized_weights_are_their_numbers() {
        let quantized = Writer::new(&[1, 2])
            .whole("w", &[3, 5])
            .floats("scale", &[], &[0.5])
            .whole("zero", &[1])
            .node("DequantizeLinear", &["w", "scale", "zero"], "real", vec![])
            .node("Mul", &["x", "real"], "y", vec![])
            .read()
            .unwrap();
        assert_eq!(quantized.outputs(&quantized.exact(&[1.0, 10.0])), [1.0, 20.0]);
        let each = Writer::new(&[1, 2])
            .floats("w", &[2, 2], &[1.0, 2.0, 3.0, 4.0])
            .floats("scale", &[2], &[1.0, 10.0])
            .node("DequantizeLinear", &["w", "scale"], "real", vec![int("axis", 0)])
            .node("MatMul", &["x", "real"], "y", vec![])
            .read()
            .unwrap();
        assert_eq!(each.outputs(&each.exact(&[1.0, 1.0])), [31.0, 42.0]);
        let data =
            Writer::new(&[1, 2]).floats("scale", &[], &[0.5]).node("DequantizeLinear", &["x", "scale"], "y", vec![]);
        assert!(data.refused().contains("integers that are encrypted"));
    }
}
