//! Types and constants: the text of an attribute becomes numbers.
//!
//! Sizes are checked before anything is reserved: a splat of few characters may stand for a large tensor.

use super::text::{HeirError, Module, Op, Read};
use std::rc::Rc;

/// Most numbers of one tensor.
pub(super) const MOST_NUMBERS: usize = 1 << 24;
const MOST_SIDES: usize = 8;
/// A side or an offset that an operand gives.
pub(super) const DYNAMIC: i64 = i64::MIN;

/// What a tensor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Real(Float),
    Whole {
        bytes: usize,
        signed: bool,
    },
    /// Ciphertexts or plaintexts.
    Handle,
}

/// A form of floating-point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float {
    Half,
    /// The upper half of a single.
    Brain,
    Single,
    Double,
}

impl Float {
    fn bytes(self) -> usize {
        match self {
            Self::Half | Self::Brain => 2,
            Self::Single => 4,
            Self::Double => 8,
        }
    }

    /// A number from its bits.
    fn of_bits(self, bits: u64) -> f64 {
        let single = |bits: u64| f64::from(f32::from_bits(u32::try_from(bits & 0xffff_ffff).unwrap_or(0)));
        match self {
            Self::Double => f64::from_bits(bits),
            Self::Single => single(bits),
            Self::Brain => single(bits << 16),
            Self::Half => half(bits),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Type {
    /// None for a scalar.
    pub(super) shape: Option<Vec<usize>>,
    pub(super) element: Element,
}

impl Element {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "f64" => Self::Real(Float::Double),
            "f32" => Self::Real(Float::Single),
            "f16" => Self::Real(Float::Half),
            "bf16" => Self::Real(Float::Brain),
            "index" | "i64" | "si64" | "ui64" => Self::Whole { bytes: 8, signed: true },
            "i32" | "si32" => Self::Whole { bytes: 4, signed: true },
            "i16" | "si16" => Self::Whole { bytes: 2, signed: true },
            "i8" | "si8" => Self::Whole { bytes: 1, signed: true },
            "ui32" => Self::Whole { bytes: 4, signed: false },
            "ui16" => Self::Whole { bytes: 2, signed: false },
            "ui8" | "i1" => Self::Whole { bytes: 1, signed: false },
            _ if text.starts_with('!') => Self::Handle,
            _ => return None,
        })
    }
}

impl Type {
    /// A scalar or a ranked tensor; sides that are not known are 0.
    pub(super) fn parse(module: &Module<'_>, text: &str) -> Option<Self> {
        let text = module.resolved(text).trim();
        let inside = text.strip_prefix("tensor<").or_else(|| text.strip_prefix("vector<"));
        let Some(inside) = inside.and_then(|rest| rest.strip_suffix('>')) else {
            return Some(Self { shape: None, element: Element::parse(text)? });
        };
        let mut shape = Vec::new();
        let mut rest = inside;
        while let Some((side, after)) = rest.split_once('x') {
            let side = match side {
                "?" => 0,
                side => match side.parse() {
                    Ok(side) => side,
                    Err(_) => break,
                },
            };
            shape.push(side);
            rest = after;
            if shape.len() > MOST_SIDES {
                return None;
            }
        }
        // An encoding may follow the element.
        let element = if rest.starts_with('!') { rest } else { rest.split(',').next()?.trim() };
        Some(Self { shape: Some(shape), element: Element::parse(element)? })
    }

    /// Numbers of a tensor of this shape; 1 for a scalar.
    pub(super) fn count(&self) -> Option<usize> {
        let sides = self.shape.iter().flatten();
        sides.copied().try_fold(1usize, usize::checked_mul).filter(|&count| count <= MOST_NUMBERS)
    }
}

/// A ciphertext or a plaintext, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handle {
    Cipher(u32),
    Plain(u32),
}

/// Contents of a tensor, in row-major order.
#[derive(Clone, Debug)]
pub(super) enum Items {
    Reals(Rc<Vec<f64>>),
    Wholes(Rc<Vec<i64>>),
    /// `None` where nothing was inserted yet.
    Handles(Rc<Vec<Option<Handle>>>),
}

/// The value of `arith.constant`, with its type.
pub(super) fn constant(module: &Module<'_>, op: &Op<'_>) -> Read<(Type, Items)> {
    let text = op.needs("value")?;
    let (value, type_text) = split_type(text);
    let type_text = type_text.or(op.gives.first().copied()).unwrap_or("");
    let of_type = Type::parse(module, type_text);
    let of_type = of_type.ok_or_else(|| op.wrong(format!("a constant of type {type_text}, which is not read")))?;
    let count = of_type.count().ok_or_else(|| op.wrong(format!("more than {MOST_NUMBERS} numbers")))?;
    let numbers = dense(module, value, of_type.element, count).map_err(|problem| op.wrong(problem))?;
    Ok((of_type, numbers))
}

/// `value : type` at its last colon outside of brackets.
fn split_type(text: &str) -> (&str, Option<&str>) {
    let mut depth = 0i32;
    let mut quoted = false;
    let mut colon = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'<' | b'[' | b'(' | b'{' if !quoted => depth += 1,
            b'>' | b']' | b')' | b'}' if !quoted => depth -= 1,
            b':' if depth == 0 && !quoted => colon = Some(at),
            _ => {}
        }
    }
    colon.map_or((text.trim(), None), |at| (text[..at].trim(), Some(text[at + 1..].trim())))
}

fn dense(module: &Module<'_>, value: &str, element: Element, count: usize) -> Result<Items, String> {
    if let Some(name) = value.strip_prefix("dense_resource<").and_then(|rest| rest.strip_suffix('>')) {
        let blob =
            module.resources.get(name.trim_matches('"')).ok_or(format!("resource {name}, which the text lacks"))?;
        // Four bytes of alignment come first.
        let bytes = hex(blob)?;
        return from_bytes(bytes.get(4..).ok_or("a resource shorter than its alignment")?, element, count);
    }
    let inside = value.strip_prefix("dense<").and_then(|rest| rest.strip_suffix('>')).unwrap_or(value).trim();
    if let Some(blob) = inside.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return from_bytes(&hex(blob)?, element, count);
    }
    let words: Vec<&str> = inside.split([',', '[', ']']).map(str::trim).filter(|word| !word.is_empty()).collect();
    if words.len() != count && words.len() != 1 {
        return Err(format!("{} numbers for a type of {count}", words.len()));
    }
    Ok(match element {
        Element::Handle => return Err("a constant of ciphertexts".into()),
        Element::Real(float) => {
            Items::Reals(Rc::new(spread(words.iter().map(|word| real(word, float)).collect::<Result<_, _>>()?, count)))
        }
        Element::Whole { .. } => {
            Items::Wholes(Rc::new(spread(words.iter().map(|word| whole(word)).collect::<Result<_, _>>()?, count)))
        }
    })
}

/// A splat as all of its numbers.
fn spread<T: Copy>(numbers: Vec<T>, count: usize) -> Vec<T> {
    if numbers.len() == count { numbers } else { vec![numbers[0]; count] }
}

fn real(word: &str, float: Float) -> Result<f64, String> {
    let number = match word.strip_prefix("0x") {
        Some(bits) => {
            let bits = u64::from_str_radix(bits, 16).map_err(|_| format!("{word:?} is no number"))?;
            float.of_bits(bits)
        }
        None => word.parse().map_err(|_| format!("{word:?} is no number"))?,
    };
    finite(number)
}

fn finite(number: f64) -> Result<f64, String> {
    number.is_finite().then_some(number).ok_or_else(|| format!("the number {number}; wanted finite ones"))
}

fn whole(word: &str) -> Result<i64, String> {
    match word {
        "true" => Ok(1),
        "false" => Ok(0),
        _ => word.parse().map_err(|_| format!("{word:?} is no whole number of 64 bits")),
    }
}

/// IEEE half precision.
fn half(bits: u64) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15 & 1, bits >> 10 & 31, bits & 1023);
    let fraction = fraction as f64 / 1024.0;
    let size = match exponent {
        0 => fraction * (-14f64).exp2(),
        31 if fraction > 0.0 => f64::NAN,
        31 => f64::INFINITY,
        _ => (1.0 + fraction) * (exponent as f64 - 15.0).exp2(),
    };
    if sign == 1 { -size } else { size }
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.strip_prefix("0x").ok_or("a blob that does not begin with 0x")?.as_bytes();
    let digit = |byte: u8| (byte as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?);
    let bytes = digits.chunks(2).map(byte).collect::<Option<Vec<u8>>>();
    bytes.ok_or_else(|| "a blob that is not hexadecimal, two digits a byte".into())
}

/// Little-endian numbers; a single one stands for all.
fn from_bytes(bytes: &[u8], element: Element, count: usize) -> Result<Items, String> {
    let size = match element {
        Element::Real(float) => float.bytes(),
        Element::Whole { bytes, .. } => bytes,
        Element::Handle => return Err("a constant of ciphertexts".into()),
    };
    if bytes.len() != size * count && bytes.len() != size {
        return Err(format!("a blob of {} bytes for {count} numbers of {size}", bytes.len()));
    }
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    let words = bytes.chunks_exact(size).map(word);
    Ok(match element {
        Element::Real(float) => {
            let reals = words.map(|bits| finite(float.of_bits(bits))).collect::<Result<_, _>>()?;
            Items::Reals(Rc::new(spread(reals, count)))
        }
        _ => {
            let unused = if matches!(element, Element::Whole { signed: true, .. }) { 64 - 8 * size } else { 0 };
            let signed = words.map(|word| (word << unused).cast_signed() >> unused);
            Items::Wholes(Rc::new(spread(signed.collect(), count)))
        }
    })
}

/// `array<i64: 1, 2>`, or `[1 : i64, 2 : i64]`.
pub(super) fn integers(text: &str) -> Option<Vec<i64>> {
    listed(text)?.map(|word| word.parse().ok()).collect()
}

/// `[0.5 : f64, 1.0]`, or `array<f64: …>`, or `dense<[…]> : tensor<…>`.
pub(super) fn reals(text: &str) -> Option<Vec<f64>> {
    listed(text)?.map(|word| word.parse().ok().filter(|x: &f64| x.is_finite())).collect()
}

fn listed(text: &str) -> Option<impl Iterator<Item = &str>> {
    let text = text.trim();
    let inside = match text.strip_prefix("array<") {
        Some(rest) => {
            let rest = rest.strip_suffix('>')?;
            rest.split_once(':').map_or("", |(_, list)| list)
        }
        None => {
            let from = text.find('[')?;
            &text[from + 1..from + text[from..].find(']')?]
        }
    };
    let word = |word: &'_ str| word.split(':').next().unwrap_or("").trim().len();
    let words = inside.split(',').map(move |part| {
        let length = word(part);
        part.trim_start().get(..length).unwrap_or("")
    });
    Some(words.filter(|word| !word.is_empty()))
}

/// A whole number that an attribute holds: `4 : index`.
pub(super) fn integer(op: &Op<'_>, name: &str) -> Read<i64> {
    let text = op.needs(name)?;
    let wrong = |_| HeirError::at(op.line, format!("{}: {name} = {text:?}; wanted a whole number", op.name));
    text.split(':').next().unwrap_or("").trim().parse().map_err(wrong)
}
