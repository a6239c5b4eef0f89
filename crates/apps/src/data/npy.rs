//! NumPy arrays: files `.npy` of versions 1 to 3, numbers of any kind and order, none of them trusted.
//!
//! Format: `\x93NUMPY`, version, the length of a header, the header as a Python dictionary (`descr`, `fortran_order`,
//! `shape`), then the numbers. Source: \[NPY\].

use super::Gaps;
use super::dataset::{io_error, open_plain};
use super::error::DataError;
use crate::{onnx::binary16, program::Array};
use limbwise::Complex64;
use std::{
    io::{Read, Write},
    path::Path,
};

pub const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header that is read. NumPy's own default limit is 10 000 bytes.
const MOST_HEADER: usize = 10_000;
const MOST_SIDES: usize = 8;
/// Largest integer that is read: beyond it, floats do not have them all.
const MOST_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Numbers in a shape, the last side running fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// The sides; none for a single number.
    pub shape: Vec<usize>,
    /// The numbers, all finite; NaN is a missing one, where a reader takes it.
    pub values: Vec<Complex64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
    Float,
    Complex,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    kind: Kind,
    bytes: usize,
    big_endian: bool,
}

/// Reads an array from a file.
///
/// # Errors
/// [`DataError`] for a file that is absent or no `.npy`, of items that are no numbers, of another length than its shape
/// says, or with a number that is not finite or an integer above 2^53.
pub fn load(path: &Path) -> Result<Numbers, DataError> {
    load_with(path, Gaps::Refused)
}

pub(super) fn load_with(path: &Path, gaps: Gaps) -> Result<Numbers, DataError> {
    let (file, length) = open_plain(path)?;
    parsed(file, length, path, gaps)
}

/// Integers in a shape, exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wholes {
    /// The sides; none for a single number.
    pub shape: Vec<usize>,
    pub values: Vec<i128>,
}

/// The same from any reader of so many bytes; errors name the path.
pub fn parse(file: impl Read, length: u64, path: &Path) -> Result<Numbers, DataError> {
    parsed(file, length, path, Gaps::Refused)
}

fn parsed(file: impl Read, length: u64, path: &Path, gaps: Gaps) -> Result<Numbers, DataError> {
    let (Header { item, fortran, shape }, data) = items(file, length, path)?;
    let values = data.chunks_exact(item.bytes).map(|chunk| item.read(chunk)).collect::<Vec<_>>();
    let usable = |z: &Complex64| {
        if gaps == Gaps::Nan && item.kind == Kind::Float && z.re.is_nan() {
            return true;
        }
        z.is_finite() && (matches!(item.kind, Kind::Float | Kind::Complex) || z.re.abs() <= MOST_INTEGER)
    };
    if let Some(at) = values.iter().position(|z| !usable(z)) {
        let (number, value) = (at + 1, values[at]);
        let got = match item.kind {
            Kind::Complex => format!("number {number} is {value}"),
            _ => format!("number {number} is {}", value.re),
        };
        let next = "replace numbers that are missing or infinite".into();
        return Err(DataError::Format { path: path.to_owned(), got, wanted: "finite numbers".into(), next });
    }
    Ok(Numbers { values: if fortran { last_fastest(&shape, &values) } else { values }, shape })
}

/// An array of integers of up to 64 bits, exact.
///
/// # Errors
/// As [`load`], and for items that are no integers.
pub fn parse_wholes(file: impl Read, length: u64, path: &Path) -> Result<Wholes, DataError> {
    let (Header { item, fortran, shape }, data) = items(file, length, path)?;
    if matches!(item.kind, Kind::Float | Kind::Complex) {
        return Err(format_error(path, "numbers with fractions; wanted integers".into()));
    }
    let whole = |chunk: &[u8]| {
        let word = item.word(chunk);
        if item.kind == Kind::Unsigned { i128::from(word) } else { i128::from(item.signed(word)) }
    };
    let values: Vec<i128> = data.chunks_exact(item.bytes).map(whole).collect();
    Ok(Wholes { values: if fortran { last_fastest(&shape, &values) } else { values }, shape })
}

/// Writes unsigned integers in version 1 of the format.
pub fn write_words(out: impl Write, shape: &[usize], words: &[u64]) -> std::io::Result<()> {
    write_items(out, shape, "<u8", words.iter().map(|word| word.to_le_bytes()))
}

/// The header and the bytes of the items.
fn items(mut file: impl Read, length: u64, path: &Path) -> Result<(Header, Vec<u8>), DataError> {
    let wrong = |got: String| format_error(path, got);
    let mut read = |bytes: &mut [u8]| {
        file.read_exact(bytes).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => wrong("ends before its header does".into()),
            _ => io_error(path, e),
        })
    };
    let mut start = [0; 8];
    read(&mut start)?;
    if !start.starts_with(MAGIC) {
        return Err(wrong("does not begin as a NumPy array".into()));
    }
    let (width, version) = (if start[6] == 1 { 2 } else { 4 }, start[6]);
    if !(1..=3).contains(&version) {
        return Err(wrong(format!("version {version} of the format")));
    }
    let mut header_length = [0; 4];
    read(&mut header_length[..width])?;
    let header_length = u32::from_le_bytes(header_length) as usize;
    if header_length > MOST_HEADER {
        return Err(wrong(format!("a header of {header_length} bytes")));
    }
    let mut header = vec![0; header_length];
    read(&mut header)?;
    let header = String::from_utf8(header).map_err(|_| wrong("a header that is not text".into()))?;
    let header = Header::parse(&header).map_err(wrong)?;
    let (item, shape) = (header.item, &header.shape);
    let count = shape.iter().try_fold(1usize, |n, &side| n.checked_mul(side));
    let bytes = count.and_then(|n| n.checked_mul(item.bytes)).unwrap_or(usize::MAX);
    let there = length.saturating_sub((8 + width + header_length) as u64);
    if bytes as u64 != there {
        return Err(wrong(format!("{there} bytes of numbers where shape {shape:?} takes {bytes}")));
    }
    let mut data = vec![0; bytes];
    read(&mut data)?;
    Ok((header, data))
}

/// Writes an array in version 1 of the format: real parts only, complex numbers, or integers of 64 bits.
pub fn write(out: impl Write, shape: &[usize], values: &[Complex64], part: Parts) -> std::io::Result<()> {
    match part {
        Parts::Real => write_items(out, shape, "<f8", values.iter().map(|z| z.re.to_le_bytes())),
        Parts::Complex => {
            let parts = values.iter().flat_map(|z| [z.re.to_le_bytes(), z.im.to_le_bytes()]);
            write_items(out, shape, "<c16", parts)
        }
        Parts::Words => write_items(out, shape, "<u8", values.iter().map(|z| Array::word(*z).to_le_bytes())),
    }
}

fn write_items(
    mut out: impl Write,
    shape: &[usize],
    descr: &str,
    words: impl Iterator<Item = [u8; 8]>,
) -> std::io::Result<()> {
    let sides: String = shape.iter().map(|side| format!("{side}, ")).collect();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", sides.trim_end());
    // The numbers begin at a multiple of 64 bytes.
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header += "\n";
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for word in words {
        out.write_all(&word)?;
    }
    out.flush()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    Real,
    Complex,
    /// Unsigned integers of 64 bits, as [`Numbers::Words`](crate::program::Numbers::Words) has them.
    Words,
}

fn format_error(path: &Path, got: String) -> DataError {
    DataError::Format {
        path: path.to_owned(),
        got,
        wanted: "a NumPy array of numbers, version 1 to 3".into(),
        next: "write it with numpy.save, as floats, complex numbers or integers".into(),
    }
}

/// From the first side running fastest to the last.
fn last_fastest<T: Copy>(shape: &[usize], values: &[T]) -> Vec<T> {
    let mut strides = Vec::new();
    let mut stride = 1;
    for side in shape {
        strides.push(stride);
        stride *= side;
    }
    let place = |mut at: usize| {
        let mut place = 0;
        for (side, stride) in shape.iter().zip(&strides).rev() {
            place += at % side * stride;
            at /= side;
        }
        values[place]
    };
    (0..values.len()).map(place).collect()
}

impl Item {
    fn parse(descr: &str) -> Option<Self> {
        let (order, rest) = descr.split_at_checked(1)?;
        let big_endian = match order {
            "<" | "|" | "=" => false,
            ">" => true,
            _ => return None,
        };
        let (kind, bytes) = match rest {
            "i1" | "i2" | "i4" | "i8" => (Kind::Signed, &rest[1..]),
            "u1" | "u2" | "u4" | "u8" => (Kind::Unsigned, &rest[1..]),
            "b1" => (Kind::Unsigned, "1"),
            "f2" | "f4" | "f8" => (Kind::Float, &rest[1..]),
            "c8" | "c16" => (Kind::Complex, &rest[1..]),
            _ => return None,
        };
        Some(Self { kind, bytes: bytes.parse().ok()?, big_endian })
    }

    fn word(self, bytes: &[u8]) -> u64 {
        let add = |word: u64, &byte: &u8| word << 8 | u64::from(byte);
        if self.big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }

    fn signed(self, word: u64) -> i64 {
        let unused = 64 - 8 * self.bytes;
        (word << unused).cast_signed() >> unused
    }

    fn read(self, bytes: &[u8]) -> Complex64 {
        let float = |bytes: &[u8]| match bytes.len() {
            2 => binary16(u16::try_from(self.word(bytes)).unwrap_or(0)).into(),
            4 => f64::from(f32::from_bits(u32::try_from(self.word(bytes)).unwrap_or(0))),
            _ => f64::from_bits(self.word(bytes)),
        };
        match self.kind {
            Kind::Float => float(bytes).into(),
            Kind::Complex => {
                let (re, im) = bytes.split_at(self.bytes / 2);
                Complex64::new(float(re), float(im))
            }
            Kind::Unsigned => (self.word(bytes) as f64).into(),
            Kind::Signed => (self.signed(self.word(bytes)) as f64).into(),
        }
    }
}

struct Header {
    item: Item,
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Three keys in any order, and nothing else that matters.
    fn parse(text: &str) -> Result<Self, String> {
        let bad = |what: &str| format!("a header whose {what} cannot be read");
        let after = |key: &str| {
            let at = [format!("'{key}':"), format!("\"{key}\":")].iter().find_map(|k| Some(text.find(k)? + k.len()));
            at.map(|at| text[at..].trim_start()).ok_or_else(|| format!("a header without {key:?}"))
        };
        let descr = after("descr")?;
        let quoted = descr.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next());
        let descr = quoted.ok_or_else(|| "items that are not single numbers".to_owned())?;
        let item = Item::parse(descr).ok_or_else(|| format!("items of type {descr:?}"))?;
        let fortran = match after("fortran_order")? {
            text if text.starts_with("True") => true,
            text if text.starts_with("False") => false,
            _ => return Err(bad("order")),
        };
        let shape = after("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let (shape, _) = shape.ok_or_else(|| bad("shape"))?;
        let sides = shape.split(',').map(str::trim).filter(|side| !side.is_empty());
        let shape = sides.map(|side| side.parse().map_err(|_| bad("shape"))).collect::<Result<Vec<usize>, _>>()?;
        if shape.len() > MOST_SIDES {
            return Err(format!("{} sides", shape.len()));
        }
        Ok(Self { item, fortran, shape })
    }
}

#[cfg(test)]
mod tests;
