//! MNIST images in IDX format, gzip-compressed or not: two digits of them, as a two-class data set, or some of all.
//!
//! Format: big-endian words; images `0x803, count, rows, cols` then one byte a pixel; labels `0x801, count` then one
//! byte a label. Source: \[LCB98\].

use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use super::dataset::{DataSet, io_error, name_of, open_plain};
use super::error::DataError;

const IMAGES_MAGIC: u32 = 0x803;
const LABELS_MAGIC: u32 = 0x801;
/// Deflate never expands by more than this factor, so a header that promises more is false.
const GZIP_RATIO: u64 = 1032;
/// Larger images are refused: MNIST and its like have 28 × 28.
const MAX_SIDE: u32 = 1024;

/// The two digits to classify; the second is the positive class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digits {
    pub negative: u8,
    pub positive: u8,
}

impl FromStr for Digits {
    type Err = String;

    /// Two different digits with a comma between: `3,8`.
    fn from_str(text: &str) -> Result<Self, String> {
        let digit = |part: &str| part.trim().parse::<u8>().ok().filter(|&d| d < 10);
        match text.split_once(',').map(|(a, b)| (digit(a), digit(b))) {
            Some((Some(negative), Some(positive))) if negative != positive => Ok(Self { negative, positive }),
            _ => Err(format!("digits: got {text:?}; wanted two different digits from 0 to 9 (for example 3,8)")),
        }
    }
}

impl TryFrom<String> for Digits {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Digits> for String {
    fn from(digits: Digits) -> Self {
        format!("{},{}", digits.negative, digits.positive)
    }
}

/// How images are made smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
pub enum Pooling {
    /// One feature per pixel
    None,
    /// The mean of each 2×2 square: 28×28 becomes 14×14
    #[default]
    Mean2x2,
}

/// Images of all digits, each with its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    /// Rows and columns of each.
    pub side: [usize; 2],
    /// Pixels in [0, 1], row by row.
    pub pixels: Vec<Vec<f64>>,
    pub labels: Vec<u8>,
}

/// Reads some of the images, counted from 0; pixels are scaled to [0, 1].
pub fn load_range(images: &Path, labels: Option<&Path>, range: Range<usize>) -> Result<Images, DataError> {
    let (mut file, labels, side) = open_pair(images, labels, Pooling::None)?;
    if range.end > labels.len() {
        let got = format!("{} images", labels.len());
        let wanted = format!("the {} from {} on", range.len(), range.start);
        return Err(format_error(images, got, wanted, "choose fewer, skip fewer, or give another file"));
    }
    let mut image = vec![0; side.0 * side.1];
    let mut pixels = Vec::with_capacity(range.len());
    for at in 0..labels.len() {
        file.read_exact(&mut image)?;
        if range.contains(&at) {
            let mut one = Vec::with_capacity(image.len());
            pool(&image, side, Pooling::None, &mut one);
            pixels.push(one);
        }
    }
    file.expect_end()?;
    Ok(Images { side: [side.0, side.1], pixels, labels: labels[range].to_vec() })
}

/// Images before their first pixel, the labels that belong to them, rows and columns.
type Opened = (IdxFile, Vec<u8>, (usize, usize));

/// Opens images and the labels that belong to them.
fn open_pair(images: &Path, labels: Option<&Path>, pooling: Pooling) -> Result<Opened, DataError> {
    let labels_path = labels.map_or_else(|| derive_labels(images), |path| Ok(path.to_owned()))?;
    let mut file = IdxFile::open(images)?;
    let [count, rows, cols] = file.header(IMAGES_MAGIC)?;
    check_dimensions(images, rows, cols, pooling)?;
    let labels = read_labels(&labels_path)?;
    if labels.len() as u64 != u64::from(count) {
        let got = format!("{} labels", labels.len());
        let wanted = format!("{count}, one for each image of {}", images.display());
        return Err(format_error(&labels_path, got, wanted, "give the labels that belong to these images"));
    }
    file.check_length(u64::from(count) * u64::from(rows) * u64::from(cols))?;
    Ok((file, labels, (rows as usize, cols as usize)))
}

/// Reads the images of two digits; pixels are scaled to [0, 1].
///
/// # Errors
/// [`DataError`] for absent files, wrong magic, absurd or odd dimensions, a length that is not what the header says,
/// different counts of images and labels, or a digit that does not occur.
pub fn load(images: &Path, labels: Option<&Path>, digits: Digits, pooling: Pooling) -> Result<DataSet, DataError> {
    let (mut file, all, side) = open_pair(images, labels, pooling)?;
    let mut image = vec![0; side.0 * side.1];
    let mut set = DataSet {
        name: format!("{}-{}-{}", name_of(images), digits.negative, digits.positive),
        features: Vec::new(),
        labels: Vec::new(),
        feature_names: feature_names(side, pooling),
        classes: [digits.negative.to_string(), digits.positive.to_string()],
    };
    for label in all {
        file.read_exact(&mut image)?;
        if label == digits.negative || label == digits.positive {
            pool(&image, side, pooling, &mut set.features);
            set.labels.push(label == digits.positive);
        }
    }
    file.expect_end()?;
    for (digit, class) in [(digits.negative, false), (digits.positive, true)] {
        if !set.labels.contains(&class) {
            let (got, wanted) = (format!("holds no image of a {digit}"), "images of both digits".into());
            let path = labels.map_or_else(|| derive_labels(images), |path| Ok(path.to_owned()))?;
            return Err(format_error(&path, got, wanted, "choose digits that occur"));
        }
    }
    Ok(set)
}

/// The labels' path by MNIST's own naming.
fn derive_labels(images: &Path) -> Result<PathBuf, DataError> {
    let name = images.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    match name.contains("images") {
        true => Ok(images.with_file_name(name.replace("images", "labels").replace("idx3", "idx1"))),
        false => {
            let got = "its name does not say where the labels are".into();
            let wanted = "a name such as t10k-images-idx3-ubyte.gz".into();
            Err(format_error(images, got, wanted, "name the labels file too"))
        }
    }
}

fn check_dimensions(path: &Path, rows: u32, cols: u32, pooling: Pooling) -> Result<(), DataError> {
    let fits = |side: u32| (1..=MAX_SIDE).contains(&side) && (pooling == Pooling::None || side.is_multiple_of(2));
    if fits(rows) && fits(cols) {
        return Ok(());
    }
    let even = if pooling == Pooling::None { "" } else { "even " };
    let wanted = format!("{even}sides of 1 to {MAX_SIDE} pixels (MNIST has 28 × 28)");
    Err(format_error(
        path,
        format!("its header says images of {rows} × {cols}"),
        wanted,
        "check the file, or pool otherwise",
    ))
}

fn read_labels(path: &Path) -> Result<Vec<u8>, DataError> {
    let mut file = IdxFile::open(path)?;
    let [count] = file.header(LABELS_MAGIC)?;
    file.check_length(u64::from(count))?;
    let mut labels = vec![0; count as usize];
    file.read_exact(&mut labels)?;
    file.expect_end()?;
    match labels.iter().position(|&label| label > 9) {
        None => Ok(labels),
        Some(at) => {
            let got = format!("label {} is {}", at + 1, labels[at]);
            Err(format_error(path, got, "digits from 0 to 9".into(), "check the file"))
        }
    }
}

/// Appends the features of one image, scaled to [0, 1].
fn pool(image: &[u8], (rows, cols): (usize, usize), pooling: Pooling, out: &mut Vec<f64>) {
    let at = |r: usize, c: usize| f64::from(image[r * cols + c]) / 255.0;
    match pooling {
        Pooling::None => out.extend(image.iter().map(|&pixel| f64::from(pixel) / 255.0)),
        Pooling::Mean2x2 => {
            for r in (0..rows).step_by(2) {
                let square = |c: usize| (at(r, c) + at(r, c + 1) + at(r + 1, c) + at(r + 1, c + 1)) / 4.0;
                out.extend((0..cols).step_by(2).map(square));
            }
        }
    }
}

fn feature_names((rows, cols): (usize, usize), pooling: Pooling) -> Vec<String> {
    let step = if pooling == Pooling::None { 1 } else { 2 };
    let (rows, cols) = (rows / step, cols / step);
    (0..rows).flat_map(|r| (0..cols).map(move |c| format!("pixel {r},{c}"))).collect()
}

fn format_error(path: &Path, got: String, wanted: String, next: &str) -> DataError {
    DataError::Format { path: path.to_owned(), got, wanted, next: next.to_owned() }
}

/// An IDX file being read, decompressed on the way when its first bytes are gzip's.
struct IdxFile {
    path: PathBuf,
    reader: Box<dyn Read>,
    /// Most bytes that can follow the header.
    most: u64,
    header_bytes: u64,
    gzip: bool,
}

impl IdxFile {
    fn open(path: &Path) -> Result<Self, DataError> {
        let (mut file, length) = open_plain(path)?;
        let mut start = Vec::new();
        (&mut file).take(2).read_to_end(&mut start).map_err(|source| io_error(path, source))?;
        let gzip = start == [0x1f, 0x8b];
        let whole = io::BufReader::new(io::Cursor::new(start).chain(file));
        let reader: Box<dyn Read> =
            if gzip { Box::new(io::BufReader::new(MultiGzDecoder::new(whole))) } else { Box::new(whole) };
        let most = if gzip { length.saturating_mul(GZIP_RATIO) } else { length };
        Ok(Self { path: path.to_owned(), reader, most, header_bytes: 0, gzip })
    }

    /// Reads the magic and `D` dimensions.
    fn header<const D: usize>(&mut self, magic: u32) -> Result<[u32; D], DataError> {
        let mut word = || {
            let mut bytes = [0; 4];
            self.reader.read_exact(&mut bytes).map(|()| u32::from_be_bytes(bytes))
        };
        let mut read = || -> io::Result<(u32, [u32; D])> {
            let found = word()?;
            let mut dimensions = [0; D];
            if found == magic {
                for dimension in &mut dimensions {
                    *dimension = word()?;
                }
            }
            Ok((found, dimensions))
        };
        let (found, dimensions) = read().map_err(|source| self.read_error(source))?;
        if found != magic {
            let kind = if magic == IMAGES_MAGIC { "images" } else { "labels" };
            let wanted = format!("an IDX file of {kind}, magic {magic:#x}");
            return Err(format_error(&self.path, format!("starts with {found:#x}"), wanted, "give MNIST's own files"));
        }
        self.header_bytes = 4 * (1 + D as u64);
        Ok(dimensions)
    }

    /// Refuses a header that promises more bytes than the file can hold, before anything is allocated for them.
    fn check_length(&self, data_bytes: u64) -> Result<(), DataError> {
        let wanted = self.header_bytes + data_bytes;
        if wanted > self.most || (!self.gzip && wanted < self.most) {
            let most = if self.gzip { "at most " } else { "" };
            let got = format!("its header says {wanted} bytes, the file holds {most}{}", self.most);
            return Err(format_error(
                &self.path,
                got,
                "a length that is what the header says".into(),
                "fetch the file again",
            ));
        }
        Ok(())
    }

    fn read_exact(&mut self, out: &mut [u8]) -> Result<(), DataError> {
        self.reader.read_exact(out).map_err(|source| self.read_error(source))
    }

    fn expect_end(&mut self) -> Result<(), DataError> {
        match self.reader.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(format_error(
                &self.path,
                "has more bytes than its header says".into(),
                "the end of the file".into(),
                "fetch the file again",
            )),
            Err(source) => Err(self.read_error(source)),
        }
    }

    fn read_error(&self, source: io::Error) -> DataError {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => format_error(
                &self.path,
                "ends too early".into(),
                "all the bytes its header says".into(),
                "fetch the file again",
            ),
            _ => io_error(&self.path, source),
        }
    }
}

#[cfg(test)]
mod tests;
