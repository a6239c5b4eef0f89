//! Key files as a source of keys.

use super::disk::KeySource;
use limbwise::{
    Result,
    params::Params,
    rlwe::{EvaluationKey, KeyForm, KeyName, Requirements},
    wire::{KeyFile, WireError},
};
use limbwise_device::Device;
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// A file of evaluation keys, open for reading.
pub struct FileKeys {
    file: KeyFile<File>,
    names: Requirements,
    path: PathBuf,
}

impl FileKeys {
    /// Opens a file of keys for these parameters.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn open(path: &Path, params: &Params) -> Result<Self> {
        let file = File::open(path).map_err(refused(path, "opening a key file"))?;
        let file = KeyFile::open(file, params)?;
        Ok(Self { names: file.names(), file, path: path.into() })
    }
}

impl<D: Device> KeySource<D> for FileKeys {
    fn names(&self) -> &Requirements {
        &self.names
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn read(&self, dev: &D, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        self.file.read_key(dev, name, level, KeyForm::Disk)
    }
}

/// The system's words with the file that they are about.
pub(super) fn refused(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> WireError {
    let path = path.display().to_string();
    move |e| WireError::Io { doing, source: io::Error::new(e.kind(), format!("{path}: {e}")) }
}
