//! Images: the binary form of CIFAR-10, and PNG.

use crate::data::{
    DataError,
    dataset::{guarded, io_error, open_plain, starts_with},
};
use limbwise::ckks::tensor::Image;
use std::{
    io::{BufReader, Read},
    path::Path,
};

/// An image with its label, if that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Labeled {
    /// Channels × rows × columns, values in [0, 1].
    pub image: Image,
    pub label: Option<usize>,
}

/// Sides and channels of CIFAR images.
pub const SIDE: usize = 32;
/// Red, green, blue.
pub const CHANNELS: usize = 3;
const PIXELS: usize = CHANNELS * SIDE * SIDE;
/// A byte of the label, then the pixels.
const RECORD: usize = PIXELS + 1;
/// Classes of CIFAR-10.
const CLASSES: u8 = 10;
/// Longest file that is read: CIFAR-10's largest is half of it.
const MOST_BYTES: u64 = 1 << 26;
const PNG_MAGIC: &[u8] = b"\x89PNG";

/// The images of a file: all of a CIFAR binary file, or the one of a PNG, which has no label.
///
/// # Errors
/// [`DataError`]: neither format, or color images of another size than 32×32.
pub fn load(path: &Path) -> Result<Vec<Labeled>, DataError> {
    let mut bytes = Vec::new();
    if starts_with(path, PNG_MAGIC)? {
        return Ok(vec![Labeled { image: guarded(path, "a PNG", || png(path))?, label: None }]);
    }
    let (file, length) = open_plain(path)?;
    if length == 0 {
        return Err(DataError::Empty { path: path.to_owned() });
    }
    if length > MOST_BYTES || !length.is_multiple_of(RECORD as u64) {
        return Err(refused(path, format!("{length} bytes"), "a PNG, or CIFAR-10's binary form: 3073 bytes an image"));
    }
    file.take(length).read_to_end(&mut bytes).map_err(|source| io_error(path, source))?;
    bytes.chunks_exact(RECORD).enumerate().map(|(at, record)| labeled(path, at, record)).collect()
}

fn refused(path: &Path, got: String, wanted: &str) -> DataError {
    let next = "give cifar-10-batches-bin/test_batch.bin, or a PNG of 32×32 pixels in color".into();
    DataError::Format { path: path.to_owned(), got, wanted: wanted.to_owned(), next }
}

fn image(path: &Path, values: Vec<f64>) -> Result<Image, DataError> {
    Image::new([CHANNELS, SIDE, SIDE], values).map_err(|e| refused(path, e.to_string(), "32×32 pixels in color"))
}

fn labeled(path: &Path, at: usize, record: &[u8]) -> Result<Labeled, DataError> {
    let [label, pixels @ ..] = record else { unreachable!("a record has a byte") };
    if *label >= CLASSES {
        return Err(refused(path, format!("label {label} of image {}", at + 1), "labels from 0 to 9"));
    }
    let image = image(path, pixels.iter().map(|&p| f64::from(p) / 255.0).collect())?;
    Ok(Labeled { image, label: Some(usize::from(*label)) })
}

/// A color PNG with 8 bits per channel; transparency is dropped.
fn png(path: &Path) -> Result<Image, DataError> {
    let wrong = |e: png::DecodingError| refused(path, e.to_string(), "a PNG");
    let mut decoder = png::Decoder::new(BufReader::new(open_plain(path)?.0));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(wrong)?;
    let info = reader.info();
    if [info.width, info.height] != [32, 32] {
        return Err(refused(path, format!("{}×{} pixels", info.width, info.height), "32×32 pixels in color"));
    }
    let (color, _) = reader.output_color_type();
    let samples = match color {
        png::ColorType::Rgb => 3,
        png::ColorType::Rgba => 4,
        other => return Err(refused(path, format!("{other:?}"), "32×32 pixels in color")),
    };
    let mut bytes = vec![0; samples * SIDE * SIDE];
    reader.next_frame(&mut bytes).map_err(wrong)?;
    let value = |at: usize| f64::from(bytes[at % (SIDE * SIDE) * samples + at / (SIDE * SIDE)]) / 255.0;
    image(path, (0..PIXELS).map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::BufWriter, path::PathBuf};

    fn place(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("limbwise-images-{}-{name}", std::process::id()))
    }

    fn written(name: &str, bytes: &[u8]) -> Result<Vec<Labeled>, DataError> {
        let path = place(name);
        std::fs::write(&path, bytes).unwrap();
        let read = load(&path);
        std::fs::remove_file(&path).unwrap();
        read
    }

    fn png_of(color: png::ColorType, side: u32, bytes: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(BufWriter::new(&mut file), side, side);
        encoder.set_color(color);
        encoder.write_header().unwrap().write_image_data(bytes).unwrap();
        file
    }

    #[test]
    fn both_forms_give_the_same_image() {
        let pixel = |channel: usize, at: usize| u8::try_from((channel * 77 + at) % 256).unwrap();
        let planes: Vec<u8> = (0..3).flat_map(|c| (0..1024).map(move |at| pixel(c, at))).collect();
        let interleaved: Vec<u8> = (0..1024).flat_map(|at| (0..3).map(move |c| pixel(c, at))).collect();
        let record = [&[7][..], &planes].concat();
        let cifar = written("cifar", &[&record[..], &record].concat()).unwrap();
        let png = written("rgb.png", &png_of(png::ColorType::Rgb, 32, &interleaved)).unwrap();
        assert_eq!((cifar.len(), cifar[1].label, png[0].label), (2, Some(7), None));
        assert_eq!(cifar[0].image, png[0].image);
        assert!((cifar[0].image.at(2, 0, 1) - 155.0 / 255.0).abs() < 1e-12);
    }

    #[test]
    fn other_files_are_refused() {
        let text = |read: Result<Vec<Labeled>, DataError>| read.unwrap_err().to_string();
        assert!(text(written("short", &[0; 3072])).contains("3073 bytes an image"));
        assert!(text(written("empty", &[])).contains("no data"));
        assert!(text(written("label", &[10; 3073])).contains("label 10 of image 1"));
        assert!(text(written("small.png", &png_of(png::ColorType::Rgb, 8, &[0; 192]))).contains("8×8 pixels"));
        assert!(text(written("gray.png", &png_of(png::ColorType::Grayscale, 32, &[0; 1024]))).contains("Grayscale"));
        let mut cut = png_of(png::ColorType::Rgb, 32, &[0; 3072]);
        cut.truncate(60);
        assert!(text(written("cut.png", &cut)).contains("wanted a PNG"));
    }
}
