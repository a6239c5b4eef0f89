//! Messages of \[ONNX\] files, of which only what networks need is read, and their tensors as numbers.
//!
//! Enters: the fields, by their numbers in `onnx.proto`, and a tensor's numbers, checked.
//! Stays out: what operators mean.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Model {
    #[prost(message, optional, tag = "7")]
    pub(crate) graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub(crate) operator_sets: Vec<OperatorSet>,
    #[prost(message, repeated, tag = "14")]
    pub(crate) metadata: Vec<Entry>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OperatorSet {
    /// Empty for ONNX's own.
    #[prost(string, tag = "1")]
    pub(crate) domain: String,
    #[prost(int64, tag = "2")]
    pub(crate) version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Entry {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub(crate) nodes: Vec<Node>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) initializers: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub(crate) inputs: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub(crate) outputs: Vec<ValueInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ValueInfo {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) kind: Option<Type>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Type {
    /// Of other kinds of values it is absent.
    #[prost(message, optional, tag = "1")]
    pub(crate) tensor: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorType {
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub(crate) sides: Vec<Side>,
}

/// A side is known, or has a name, or neither.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Side {
    #[prost(int64, optional, tag = "1")]
    pub(crate) value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(crate) name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub(crate) inputs: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) outputs: Vec<String>,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
    #[prost(string, tag = "4")]
    pub(crate) operator: String,
    #[prost(message, repeated, tag = "5")]
    pub(crate) attributes: Vec<Attribute>,
    #[prost(string, tag = "7")]
    pub(crate) domain: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Attribute {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(float, tag = "2")]
    pub(crate) float: f32,
    #[prost(int64, tag = "3")]
    pub(crate) int: i64,
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) text: Vec<u8>,
    #[prost(message, optional, tag = "5")]
    pub(crate) tensor: Option<Tensor>,
    #[prost(float, repeated, tag = "7")]
    pub(crate) floats: Vec<f32>,
    #[prost(int64, repeated, tag = "8")]
    pub(crate) ints: Vec<i64>,
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub(crate) strings: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) sides: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(crate) kind: i32,
    #[prost(float, repeated, tag = "4")]
    pub(crate) floats: Vec<f32>,
    #[prost(int32, repeated, tag = "5")]
    pub(crate) small: Vec<i32>,
    #[prost(int64, repeated, tag = "7")]
    pub(crate) integers: Vec<i64>,
    #[prost(string, tag = "8")]
    pub(crate) name: String,
    #[prost(bytes = "vec", tag = "9")]
    pub(crate) raw: Vec<u8>,
    #[prost(double, repeated, tag = "10")]
    pub(crate) doubles: Vec<f64>,
}

/// ONNX's number for 32-bit floats.
pub(crate) const FLOAT: i32 = 1;

impl Node {
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }
}

/// A tensor's sides and numbers.
pub(crate) type Numbers = (Vec<usize>, Vec<f64>);

impl Tensor {
    /// Its numbers as floats, all finite and as many as its sides say; what is wrong otherwise: what it is, what it should
    /// be.
    pub(crate) fn numbers(&self) -> Result<Numbers, (String, &'static str)> {
        let name = &self.name;
        let numbers = self.words().ok_or_else(|| {
            let wanted = "32-bit floats (1), or doubles, integers and booleans (11, 6, 7, 9)";
            (format!("{name} of ONNX's type {}", self.kind), wanted)
        })?;
        let sides: Option<Vec<usize>> = self.sides.iter().map(|&side| usize::try_from(side).ok()).collect();
        let count = |sides: &Vec<usize>| sides.iter().try_fold(1_usize, |product, &side| product.checked_mul(side));
        let Some(sides) = sides.filter(|sides| count(sides) == Some(numbers.len())) else {
            let got = format!("{} numbers for {name} of {:?}", numbers.len(), self.sides);
            return Err((got, "all of them, inside the file"));
        };
        match numbers.iter().find(|x| !x.is_finite()) {
            Some(x) => Err((format!("{x} in {name}"), "finite numbers")),
            None => Ok((sides, numbers)),
        }
    }

    /// Its words as they are kept: in one of the lists, or raw.
    fn words(&self) -> Option<Vec<f64>> {
        let lists = [self.floats.len(), self.small.len(), self.integers.len(), self.doubles.len()];
        let listed = lists.iter().any(|&length| length > 0);
        let raw = &self.raw;
        Some(match (self.kind, listed) {
            (1, true) => self.floats.iter().map(|&x| x.into()).collect(),
            (1, false) => raw.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes(first(b)))).collect(),
            (11, true) => self.doubles.clone(),
            (11, false) => raw.chunks_exact(8).map(|b| f64::from_le_bytes(first(b))).collect(),
            (7, true) => self.integers.iter().map(|&x| x as f64).collect(),
            (7, false) => raw.chunks_exact(8).map(|b| i64::from_le_bytes(first(b)) as f64).collect(),
            (6 | 9, true) => self.small.iter().map(|&x| x.into()).collect(),
            (6, false) => raw.chunks_exact(4).map(|b| i32::from_le_bytes(first(b)).into()).collect(),
            (9, false) => raw.iter().map(|&b| b.into()).collect(),
            _ => return None,
        })
    }
}

/// The bytes of a chunk that has as many.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|at| bytes[at])
}
