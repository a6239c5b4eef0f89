//! Made keys in a directory of their own, a file each, which is gone when they are. Only under the feature `client`.

use super::{
    disk::KeySource as _,
    file::{FileKeys, refused},
    recent::Recent,
};
use limbwise::{
    Result,
    params::Params,
    rlwe::{EvaluationKey, KeyName, MadeHome, Requirements},
    wire::{KeyWriter, Origin},
};
use limbwise_device::HostRead;
use std::{
    fs::{File, create_dir_all, remove_dir_all},
    io::BufWriter,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

struct State<D: HostRead> {
    names: Requirements,
    recent: Recent<D>,
}

/// Keys that are written when they are made; those used last stay in memory too.
pub struct KeyDirectory<D: HostRead> {
    dev: Arc<D>,
    params: Params,
    dir: PathBuf,
    /// Whose directory it is: a child that was forked leaves it to its parent.
    process: u32,
    state: Mutex<State<D>>,
}

impl<D: HostRead> KeyDirectory<D> {
    /// A new directory inside another, which is made if it is not there; at most so many bytes of keys in memory, one key
    /// at least.
    pub fn new(dev: Arc<D>, params: &Params, inside: &Path, budget_bytes: u64) -> Result<Self> {
        static DIRECTORIES: AtomicU32 = AtomicU32::new(0);
        let number = DIRECTORIES.fetch_add(1, Ordering::Relaxed);
        let dir = inside.join(format!("limbwise-{}-{number}.keys", std::process::id()));
        create_dir_all(&dir).map_err(refused(&dir, "making a directory for keys"))?;
        let state = Mutex::new(State { names: Requirements::new(), recent: Recent::new(budget_bytes) });
        Ok(Self { dev, params: params.clone(), dir, process: std::process::id(), state })
    }

    fn state(&self) -> MutexGuard<'_, State<D>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, name: KeyName) -> PathBuf {
        self.dir.join(format!("{}.keys", name.id().0))
    }
}

impl<D: HostRead> MadeHome<D> for KeyDirectory<D> {
    fn names(&self) -> Requirements {
        self.state().names.clone()
    }

    fn find(&self, name: KeyName, level: usize) -> Result<Option<EvaluationKey<D>>> {
        let mut state = self.state();
        if let Some(key) = state.recent.find(name, level) {
            return Ok(Some(key));
        }
        if state.names.get(&name).is_none_or(|&made| made < level) {
            return Ok(None);
        }
        let key = FileKeys::open(&self.path(name), &self.params)?.read(&*self.dev, name, level)?;
        state.recent.put(&self.params, key.clone());
        Ok(Some(key))
    }

    fn keep(&self, key: EvaluationKey<D>) -> Result<()> {
        let (name, level) = (key.name(), key.level());
        let mut state = self.state();
        let path = self.path(name);
        let file = File::create(&path).map_err(refused(&path, "writing a key"))?;
        let mut out = KeyWriter::new(BufWriter::new(file), &self.params, &[(name, level)].into(), &Origin::NONE)?;
        out.write(&*self.dev, &key)?;
        let file = out.finish()?;
        file.into_inner().map_err(|e| refused(&path, "writing a key")(e.into_error()))?;
        state.names.insert(name, level);
        state.recent.put(&self.params, key);
        Ok(())
    }
}

impl<D: HostRead> Drop for KeyDirectory<D> {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            let _ = remove_dir_all(&self.dir); // it may be gone already
        }
    }
}
