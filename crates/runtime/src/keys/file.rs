//! Key files as a source of keys.

use super::disk::KeySource;
use limbwise::{
    Result,
    params::Params,
    rlwe::{EvaluationKey, KeyForm, KeyName, KeySet, Requirements},
    wire::{KeyFile, Origin, Source, WireError},
};
use limbwise_device::Device;
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// A file of evaluation keys, open for reading.
pub struct FileKeys {
    file: KeyFile<Tail>,
    names: Requirements,
    path: PathBuf,
    /// Set by the first error in reading a key, so that it is told with the file's name.
    failed: OnceLock<()>,
}

impl FileKeys {
    /// Opens a file of keys for these parameters.
    pub fn open(path: &Path, params: &Params) -> Result<Self> {
        Self::open_after(path, 0, params)
    }

    /// The same where so many bytes of another kind come first.
    pub fn open_after(path: &Path, first: u64, params: &Params) -> Result<Self> {
        let file = File::open(path).map_err(refused(path, "opening a key file"))?;
        let file = KeyFile::open(Tail { file, first }, params)?;
        Ok(Self { names: file.names(), file, path: path.into(), failed: OnceLock::new() })
    }

    /// What the file says it belongs to.
    pub fn origin(&self) -> Origin {
        self.file.origin()
    }

    /// Reads one key, cut to a level.
    pub fn read_key<D: Device>(&self, dev: &D, name: KeyName, level: usize, form: KeyForm) -> Result<EvaluationKey<D>> {
        self.file.read_key(dev, name, level, form).inspect_err(|_| {
            let _ = self.failed.set(());
        })
    }

    /// Whether a key could not be read.
    pub(crate) fn failed(&self) -> bool {
        self.failed.get().is_some()
    }

    /// Reads all keys, each at its level.
    pub fn read_all<D: Device>(&self, dev: &D, form: KeyForm) -> Result<KeySet<D>> {
        self.file.read_all(dev, form)
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
        self.read_key(dev, name, level, KeyForm::Disk)
    }
}

struct Tail {
    file: File,
    first: u64,
}

impl Source for Tail {
    fn length(&self) -> io::Result<u64> {
        Ok(self.file.length()?.saturating_sub(self.first))
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        let at = at.checked_add(self.first).ok_or(io::ErrorKind::UnexpectedEof)?;
        Source::read_at(&self.file, at, out)
    }
}

/// The system's words with the file that they are about.
pub(super) fn refused(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> WireError {
    let path = path.display().to_string();
    move |e| WireError::Io { doing, source: io::Error::new(e.kind(), format!("{path}: {e}")) }
}
