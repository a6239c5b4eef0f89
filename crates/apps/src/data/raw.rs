//! Arrays without a header: little-endian numbers one after another, as `numpy.ndarray.tofile` writes them.

use super::{
    dataset::{io_error, open_plain},
    error::DataError,
};
use std::{io::Read as _, path::Path};

/// Floats of 32 bits, at most so many.
///
/// # Errors
/// [`DataError`] for a file that is absent, longer, of half a number, or with a number that is not finite.
pub fn load_f32(path: &Path, most: usize) -> Result<Vec<f32>, DataError> {
    let numbers: Vec<f32> =
        read(path, most, 4)?.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    match numbers.iter().position(|x| !x.is_finite()) {
        None => Ok(numbers),
        Some(at) => Err(wrong(path, format!("number {} is {}", at + 1, numbers[at]), "finite floats of 32 bits")),
    }
}

/// Integers of 16 bits, at most so many.
///
/// # Errors
/// As [`load_f32`].
pub fn load_i16(path: &Path, most: usize) -> Result<Vec<i16>, DataError> {
    let bytes = read(path, most, 2)?;
    Ok(bytes.chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect())
}

fn read(path: &Path, most: usize, size: usize) -> Result<Vec<u8>, DataError> {
    let (file, length) = open_plain(path)?;
    let wanted = format!("numbers of {size} bytes, at most {most}");
    if length == 0 {
        return Err(DataError::Empty { path: path.to_owned() });
    }
    if length % size as u64 != 0 || length / size as u64 > most as u64 {
        return Err(wrong(path, format!("{length} bytes"), &wanted));
    }
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).map_err(|e| io_error(path, e))?;
    if bytes.len() as u64 == length {
        Ok(bytes)
    } else {
        Err(wrong(path, format!("ends after {} bytes", bytes.len()), &wanted))
    }
}

fn wrong(path: &Path, got: String, wanted: &str) -> DataError {
    let next = "write it with numpy.ndarray.tofile";
    DataError::Format { path: path.to_owned(), got, wanted: wanted.into(), next: next.into() }
}
