//! NumPy's archives: a ZIP file with an array `NAME.npy` for each name. Nothing in them is trusted.

use limbwise_apps::data::{
    error::DataError,
    npy::{self, Wholes},
};
use std::{
    collections::BTreeMap,
    io::{Cursor, Read as _, Seek, Write},
    path::{Path, PathBuf},
};
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

/// Most arrays of an archive, and most bytes of one and of all.
const MOST_ARRAYS: usize = 1024;
const MOST_ITEM: u64 = (8 << 17) + 16_384;
const MOST_BYTES: u64 = 1 << 31;

/// Why an archive cannot be read or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpzError {
    #[error("{}: not an archive of NumPy (.npz): {got}", path.display())]
    Archive { path: PathBuf, got: String },
    #[error(transparent)]
    Array(#[from] DataError),
    #[error("{}: {name}: got {got}, wanted {wanted}", path.display())]
    Field { path: PathBuf, name: String, got: String, wanted: String },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The arrays of an archive, by name.
pub(super) struct Arrays {
    pub(super) path: PathBuf,
    wholes: BTreeMap<String, Vec<u8>>,
}

impl Arrays {
    /// Reads the bytes of all arrays; each becomes numbers where it is asked for.
    pub(super) fn read(bytes: &[u8], path: &Path) -> Result<Self, NpzError> {
        let wrong = |got: String| NpzError::Archive { path: path.to_owned(), got };
        if bytes.len() as u64 > MOST_BYTES {
            return Err(wrong(format!("{} bytes; at most {MOST_BYTES} are read", bytes.len())));
        }
        let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| wrong(e.to_string()))?;
        if archive.len() > MOST_ARRAYS {
            return Err(wrong(format!("{} arrays; at most {MOST_ARRAYS} are read", archive.len())));
        }
        let mut wholes = BTreeMap::new();
        for at in 0..archive.len() {
            let entry = archive.by_index(at).map_err(|e| wrong(e.to_string()))?;
            let whole = entry.name().map_err(|e| wrong(e.to_string()))?.into_owned();
            let Some(name) = whole.strip_suffix(".npy").map(str::to_owned) else {
                return Err(wrong(format!("an entry {whole:?}, which is no .npy")));
            };
            let mut array = Vec::new();
            entry.take(MOST_ITEM + 1).read_to_end(&mut array).map_err(|e| wrong(e.to_string()))?;
            if array.len() as u64 > MOST_ITEM {
                return Err(wrong(format!("{name} has more than {MOST_ITEM} bytes")));
            }
            wholes.insert(name, array);
        }
        Ok(Self { path: path.to_owned(), wholes })
    }

    pub(super) fn field(&self, name: &str, got: impl ToString, wanted: impl ToString) -> NpzError {
        let (path, name) = (self.path.clone(), name.to_owned());
        NpzError::Field { path, name, got: got.to_string(), wanted: wanted.to_string() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.wholes.contains_key(name)
    }

    fn bytes(&self, name: &str) -> Result<&[u8], NpzError> {
        let missing = || self.field(name, "no array of this name", "an array");
        self.wholes.get(name).map(Vec::as_slice).ok_or_else(missing)
    }

    /// An array of integers.
    pub(super) fn wholes(&self, name: &str) -> Result<Wholes, NpzError> {
        let bytes = self.bytes(name)?;
        Ok(npy::parse_wholes(bytes, bytes.len() as u64, &self.path.join(name))?)
    }

    /// A single number.
    pub(super) fn number(&self, name: &str) -> Result<f64, NpzError> {
        let bytes = self.bytes(name)?;
        let numbers = npy::parse(bytes, bytes.len() as u64, &self.path.join(name))?;
        match numbers.values[..] {
            [one] if one.im == 0.0 => Ok(one.re),
            _ => Err(self.field(name, format!("{} numbers", numbers.values.len()), "a real number")),
        }
    }
}

/// An archive that is being written.
pub(super) struct Writer<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl<W: Write + Seek> Writer<W> {
    pub(super) fn new(out: W) -> Self {
        Self { zip: ZipWriter::new(out) }
    }

    /// Adds an array, which this writes.
    pub(super) fn array(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut ZipWriter<W>) -> std::io::Result<()>,
    ) -> Result<(), NpzError> {
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        self.zip.start_file(format!("{name}.npy"), stored).map_err(std::io::Error::other)?;
        Ok(write(&mut self.zip)?)
    }

    pub(super) fn finish(self) -> Result<W, NpzError> {
        Ok(self.zip.finish().map_err(std::io::Error::other)?)
    }
}
