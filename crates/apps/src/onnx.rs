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
    #[prost(uint64, repeated, tag = "11")]
    pub(crate) unsigned: Vec<u64>,
    /// Where the numbers lie in another file: its place, an offset, a length.
    #[prost(message, repeated, tag = "13")]
    pub(crate) external: Vec<Entry>,
    /// 1 if they do.
    #[prost(int32, tag = "14")]
    pub(crate) place: i32,
}

/// ONNX's number for 32-bit floats.
pub(crate) const FLOAT: i32 = 1;

/// ONNX's type of truths.
pub(crate) const TRUTHS: i32 = 9;

/// Those of floats: of 32, 16 and 64 bits, and of 16 bits with the exponents of 32.
pub(crate) const FLOATS: [i64; 4] = [1, 10, 11, 16];

/// Those of integers.
pub(crate) const INTEGERS: [i64; 8] = [2, 3, 4, 5, 6, 7, 12, 13];

impl Node {
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }
}

/// A tensor's sides and numbers.
pub(crate) type Numbers = (Vec<usize>, Vec<f64>);

/// A number of a file, infinite ones as the largest of 32 bits: masks add them to what is left out.
pub(crate) fn bounded(x: f64) -> f64 {
    if x.is_infinite() { f64::from(f32::MAX).copysign(x) } else { x }
}

impl Tensor {
    /// Its numbers as floats, infinite ones [`bounded`], as many as its sides say; what is wrong otherwise: what it is, what it
    /// should be.
    pub(crate) fn numbers(&self) -> Result<Numbers, (String, &'static str)> {
        let name = &self.name;
        if self.place != 0 {
            return Err((format!("{name}, whose numbers lie in another file"), "that file beside this one"));
        }
        let words = self.words().ok_or_else(|| {
            let wanted = "floats (1, 10, 11, 16), integers (2 to 7, 12, 13) or booleans (9)";
            (format!("{name} of ONNX's type {}", self.kind), wanted)
        })?;
        let numbers: Vec<f64> = words.into_iter().map(bounded).collect();
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

    /// Where its numbers lie, if that is in another file: its place, the first byte, and how many.
    pub(crate) fn elsewhere(&self) -> Option<(&str, Option<u64>, Option<u64>)> {
        let entry = |key: &str| self.external.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_str());
        let number = |key| entry(key).map_or(Some(0), |text| text.parse().ok());
        (self.place == 1).then(|| (entry("location").unwrap_or(""), number("offset"), number("length")))
    }

    /// Its words as they are kept: in one of the lists, or raw.
    fn words(&self) -> Option<Vec<f64>> {
        let lists = [self.floats.len(), self.small.len(), self.integers.len(), self.doubles.len(), self.unsigned.len()];
        let listed = lists.iter().any(|&length| length > 0);
        let raw = &self.raw;
        let half = |bits: u16| if self.kind == 10 { binary16(bits) } else { f32::from_bits(u32::from(bits) << 16) };
        let low = |x: &i32| u16::from_le_bytes(first(&x.to_le_bytes()));
        Some(match (self.kind, listed) {
            (1, true) => self.floats.iter().map(|&x| x.into()).collect(),
            (1, false) => raw.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes(first(b)))).collect(),
            (11, true) => self.doubles.clone(),
            (11, false) => raw.chunks_exact(8).map(|b| f64::from_le_bytes(first(b))).collect(),
            (10 | 16, true) => self.small.iter().map(|x| half(low(x)).into()).collect(),
            (10 | 16, false) => raw.chunks_exact(2).map(|b| half(u16::from_le_bytes(first(b))).into()).collect(),
            (7, true) => self.integers.iter().map(|&x| x as f64).collect(),
            (7, false) => raw.chunks_exact(8).map(|b| i64::from_le_bytes(first(b)) as f64).collect(),
            (12 | 13, true) => self.unsigned.iter().map(|&x| x as f64).collect(),
            (12, false) => raw.chunks_exact(4).map(|b| u32::from_le_bytes(first(b)).into()).collect(),
            (13, false) => raw.chunks_exact(8).map(|b| u64::from_le_bytes(first(b)) as f64).collect(),
            (2..=6 | 9, true) => self.small.iter().map(|&x| x.into()).collect(),
            (6, false) => raw.chunks_exact(4).map(|b| i32::from_le_bytes(first(b)).into()).collect(),
            (5, false) => raw.chunks_exact(2).map(|b| i16::from_le_bytes(first(b)).into()).collect(),
            (4, false) => raw.chunks_exact(2).map(|b| u16::from_le_bytes(first(b)).into()).collect(),
            (3, false) => raw.iter().map(|&b| i8::from_le_bytes([b]).into()).collect(),
            (2 | 9, false) => raw.iter().map(|&b| b.into()).collect(),
            _ => return None,
        })
    }
}

/// A float of 16 bits: five of the exponent, ten of the fraction.
pub(crate) fn binary16(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction > 0.0 => f32::NAN,
        31 => f32::INFINITY,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    };
    if sign == 1 { -size } else { size }
}

/// The bytes of a chunk that has as many.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|at| bytes[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_are_read() {
        let of = |kind, raw: &[u8], count| {
            let tensor = Tensor { sides: vec![count], kind, raw: raw.into(), name: "w".into(), ..Tensor::default() };
            tensor.numbers().map(|(_, numbers)| numbers)
        };
        // 1, -2, the largest finite one, the least positive one.
        let halves = [0x3c00_u16, 0xc000, 0x7bff, 1].map(u16::to_le_bytes).concat();
        assert_eq!(of(10, &halves, 4).unwrap(), [1.0, -2.0, 65504.0, 2f64.powi(-24)]);
        assert_eq!(of(16, &0xc040_u16.to_le_bytes(), 1).unwrap(), [-3.0]);
        assert_eq!(of(3, &[0xff, 2], 2).unwrap(), [-1.0, 2.0]);
        assert_eq!(of(2, &[0xff, 2], 2).unwrap(), [255.0, 2.0]);
        assert_eq!(of(5, &(-7_i16).to_le_bytes(), 1).unwrap(), [-7.0]);
        assert_eq!(of(12, &u32::MAX.to_le_bytes(), 1).unwrap(), [4_294_967_295.0]);
        let listed = Tensor { sides: vec![1], kind: 10, small: vec![0xbc00], ..Tensor::default() };
        assert_eq!(listed.numbers().unwrap().1, [-1.0]);
        // Infinite is the largest of 32 bits, as masks have it; no number is none.
        assert_eq!(of(10, &0xfc00_u16.to_le_bytes(), 1).unwrap(), [f64::from(f32::MIN)]);
        assert!(of(10, &0x7e00_u16.to_le_bytes(), 1).unwrap_err().0.contains("NaN"));
        assert!(of(8, &[1], 1).unwrap_err().0.contains("type 8"));
        let away = Tensor { place: 1, name: "w".into(), ..Tensor::default() };
        assert!(
            away.numbers().unwrap_err().0.contains("another file") && away.elsewhere() == Some(("", Some(0), Some(0)))
        );
    }
}
