//! Key files as a source of keys, and as the home of a session's keys.

use super::{
    disk::{DiskKeys, KeySource, Traffic},
    home::{KeyHome, ReadPlan},
};
use crate::session::KEY_STEP;
use limbwise::{
    Result,
    params::Params,
    rlwe::{EvaluationKey, KeyForm, KeyGenerator, KeyName, KeyPlan, KeyStore, Requirements},
    wire::{KeyFile, KeyWriter, WireError},
};
use limbwise_apps::Observer;
use limbwise_device::{Device, HostRead};
use std::{
    fs::{File, OpenOptions, remove_file},
    io::{self, BufWriter},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
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
fn refused(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> WireError {
    let path = path.display().to_string();
    move |e| WireError::Io { doing, source: io::Error::new(e.kind(), format!("{path}: {e}")) }
}

/// A file that is gone when this is.
pub(super) struct Passing(PathBuf);

impl Passing {
    pub(super) fn create(dir: &Path) -> Result<(Self, File)> {
        static FILES: AtomicU32 = AtomicU32::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!("limbwise-{}-{number}.keys", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(refused(&path, "creating a key file"))?;
        Ok((Self(path), file))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let _ = remove_file(&self.0); // it may be gone already
    }
}

/// In a file of their own, made key by key, which is gone at the end: no moment has them all in memory.
pub struct OnDisk<'a> {
    reads: &'a ReadPlan,
    dir: &'a Path,
    traffic: Mutex<Traffic>,
}

impl<'a> OnDisk<'a> {
    /// Keys in a file in `dir`, read by a plan.
    #[must_use]
    pub fn new(reads: &'a ReadPlan, dir: &'a Path) -> Self {
        Self { reads, dir, traffic: Mutex::default() }
    }

    /// What was read in the session.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        *self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: HostRead> KeyHome<D> for OnDisk<'_> {
    fn hold<R>(
        &self,
        (dev, params): (&D, &Params),
        generator: KeyGenerator<'_, D>,
        plan: &KeyPlan,
        observer: &mut dyn Observer,
        evaluate: impl FnOnce(&dyn KeyStore<D>, &mut dyn Observer) -> Result<R>,
    ) -> Result<R> {
        let (passing, file) = Passing::create(self.dir)?;
        let mut out = KeyWriter::new(BufWriter::new(file), params, &plan.required)?;
        for ((&name, &level), done) in plan.required.iter().zip(1..) {
            out.write(dev, &generator.evaluation_key(name, level, KeyForm::Disk))?;
            observer.step(KEY_STEP, done, plan.required.len());
        }
        out.finish()?;
        drop(generator);
        let source = FileKeys::open(passing.path(), params)?;
        #[cfg(unix)]
        drop(passing); // what is open can be read on, and is gone even if the process is killed
        let shelf = self.reads.shelf(params);
        let (result, traffic) = DiskKeys::serve(dev, params, &source, shelf, |keys| evaluate(keys, observer))?;
        *self.traffic.lock().unwrap_or_else(PoisonError::into_inner) = traffic;
        Ok(result)
    }
}
