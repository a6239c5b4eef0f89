//! Where the evaluation keys of a session live between their generation and the evaluation. Only under the feature
//! `client`: who makes keys has the secret one.

use super::{
    asked::{Ask, Asked},
    disk::{DiskKeys, Traffic},
    file::{FileKeys, refused},
    reads::{Declared, ReadPlan},
};
use crate::clock::KEY_STEP;
use limbwise::{
    Result,
    params::Params,
    rlwe::{KeyForm, KeyGenerator, KeyPlan, KeySet, KeyStore},
    wire::{KeyWriter, Origin},
};
use limbwise_apps::Observer;
use limbwise_device::{Device, HostRead, Wordless};
use std::{
    fs::{File, OpenOptions, remove_file},
    io::BufWriter,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

/// What the keys of a session are made with.
pub struct Making<'a, D: Device> {
    pub dev: &'a D,
    pub params: &'a Params,
    pub generator: KeyGenerator<'a, D>,
    pub plan: &'a KeyPlan,
}

/// Makes a session's keys and gives them to its evaluation.
pub trait KeyHome<D: Device> {
    /// Makes the keys of a plan, lets the generator go, and evaluates with them.
    fn hold<R>(
        &self,
        making: Making<'_, D>,
        observer: &mut dyn Observer,
        evaluate: impl FnOnce(&dyn KeyStore<D>, &mut dyn Observer) -> Result<R>,
    ) -> Result<R>;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct InMemory {
    /// Asked whether to go on, between keys and whenever one is used.
    pub ask: Option<Ask>,
}

impl<D: Device> KeyHome<D> for InMemory {
    fn hold<R>(
        &self,
        making: Making<'_, D>,
        observer: &mut dyn Observer,
        evaluate: impl FnOnce(&dyn KeyStore<D>, &mut dyn Observer) -> Result<R>,
    ) -> Result<R> {
        let Making { params, generator, plan, .. } = making;
        let Some(ask) = self.ask else {
            let keys = generator.key_set(plan, |done| observer.step(KEY_STEP, done, plan.required.len()))?;
            drop(generator);
            return evaluate(&keys, observer);
        };
        let mut keys = Vec::new();
        for (&name, &level) in &plan.required {
            ask()?;
            keys.push(generator.evaluation_key(name, level, plan.form)?);
            observer.step(KEY_STEP, keys.len(), plan.required.len());
        }
        drop(generator);
        evaluate(&Asked::new(&KeySet::new(params, keys), ask), observer)
    }
}

/// On a disk that is imagined: keys are made and forgotten, and read by declaration.
#[derive(Clone, Copy, Debug)]
pub struct Imagined<'a>(pub &'a ReadPlan);

impl<D: Wordless> KeyHome<D> for Imagined<'_> {
    fn hold<R>(
        &self,
        making: Making<'_, D>,
        observer: &mut dyn Observer,
        evaluate: impl FnOnce(&dyn KeyStore<D>, &mut dyn Observer) -> Result<R>,
    ) -> Result<R> {
        let Making { dev, params, generator, plan } = making;
        for (&name, &level) in &plan.required {
            drop(generator.evaluation_key(name, level, plan.form)?);
        }
        drop(generator);
        let source = Declared(params, &plan.required);
        evaluate(&DiskKeys::rehearsed(dev, params, &source, self.0.shelf(params)), observer)
    }
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
    pub fn new(reads: &'a ReadPlan, dir: &'a Path) -> Self {
        Self { reads, dir, traffic: Mutex::default() }
    }

    /// What was read in the session.
    pub fn traffic(&self) -> Traffic {
        *self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: HostRead> KeyHome<D> for OnDisk<'_> {
    fn hold<R>(
        &self,
        making: Making<'_, D>,
        observer: &mut dyn Observer,
        evaluate: impl FnOnce(&dyn KeyStore<D>, &mut dyn Observer) -> Result<R>,
    ) -> Result<R> {
        let Making { dev, params, generator, plan } = making;
        let (passing, file) = Passing::create(self.dir)?;
        let mut out = KeyWriter::new(BufWriter::new(file), params, &plan.required, &Origin::NONE)?;
        for ((&name, &level), done) in plan.required.iter().zip(1..) {
            out.write(dev, &generator.evaluation_key(name, level, KeyForm::Disk)?)?;
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
