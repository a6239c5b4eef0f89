//! Keys that stay in memory between evaluations, so that a second job on the same files reads none of them again.
//!
//! A set of keys stays with the device that it is on, whose rows for intermediate values stay as well: what is counted is
//! all memory that the device has touched. Sets are known by the paths of their files and the program's description, so files
//! must not change under their names; a server's have the digest of their bytes as names.

use crate::{any_device::AnyDevice, error::Result, server_keys::ServerKeys};
use limbwise::{
    rlwe::{EvaluationKey, KeyForm, KeyName},
    tfhe::ServerKey,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

/// A device with keys on it.
pub struct HeldKeys {
    dev: AnyDevice,
    files: OnceLock<ServerKeys>,
    /// What tells them from any others, for checkpoints.
    hashed: OnceLock<Vec<Vec<u8>>>,
    keys: Mutex<BTreeMap<(KeyName, usize, KeyForm), EvaluationKey<AnyDevice>>>,
    bootstrap: OnceLock<ServerKey<AnyDevice>>,
}

impl HeldKeys {
    pub fn new(dev: AnyDevice) -> Self {
        let (files, hashed, bootstrap) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { dev, files, hashed, keys: Mutex::default(), bootstrap }
    }

    pub fn device(&self) -> &AnyDevice {
        &self.dev
    }

    /// The opened files; opened by the first who asks.
    pub(crate) fn files(&self, open: impl FnOnce() -> Result<ServerKeys>) -> Result<&ServerKeys> {
        once(&self.files, open)
    }

    /// What [`ServerKeys::hash`] feeds.
    pub(crate) fn hashed(&self, keys: &ServerKeys) -> Result<&[Vec<u8>]> {
        let all = || {
            let mut all = Vec::new();
            keys.hash(&mut |bytes| all.push(bytes.to_vec()))?;
            Ok(all)
        };
        once(&self.hashed, all).map(Vec::as_slice)
    }

    /// A key at a level in a form; read by the first who asks.
    pub(crate) fn key(
        &self,
        (name, level, form): (KeyName, usize, KeyForm),
        read: impl FnOnce() -> limbwise::Result<EvaluationKey<AnyDevice>>,
    ) -> limbwise::Result<EvaluationKey<AnyDevice>> {
        // Held while it is read: of two jobs that want the same keys at the same time one reads them.
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = keys.get(&(name, level, form)) {
            return Ok(key.clone());
        }
        let key = read()?;
        keys.insert((name, level, form), key.clone());
        Ok(key)
    }

    /// The keys of TFHE; read by the first who asks.
    pub(crate) fn bootstrap(
        &self,
        read: impl FnOnce() -> limbwise::Result<ServerKey<AnyDevice>>,
    ) -> limbwise::Result<&ServerKey<AnyDevice>> {
        once(&self.bootstrap, read)
    }

    fn is_empty(&self) -> bool {
        self.bootstrap.get().is_none() && self.keys.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Bytes of memory that the device has touched, since what it mapped and never used takes none, and of the keys that are
    /// no polynomials.
    pub fn bytes(&self) -> u64 {
        self.dev.resident_bytes() + self.bootstrap.get().map_or(0, |key| key.params().switch_key_bytes())
    }
}

/// Of two who make it at the same time, the first one's is kept.
fn once<T, E>(place: &OnceLock<T>, make: impl FnOnce() -> std::result::Result<T, E>) -> std::result::Result<&T, E> {
    if place.get().is_none() {
        let _ = place.set(make()?);
    }
    Ok(place.get().expect("it was set"))
}

/// Sets of keys, those used last, within a limit of bytes.
pub struct ResidentKeys {
    most_bytes: u64,
    sets: Mutex<Sets>,
}

#[derive(Default)]
struct Sets {
    all: Vec<Set>,
    counts: Counts,
    clock: u64,
}

struct Set {
    name: SetName,
    held: Arc<HeldKeys>,
    /// Evaluations that use it now.
    users: usize,
    used: u64,
    /// What the device had taken when it was last given back.
    bytes: u64,
    /// To be dropped when nobody uses it: its files are gone, or a device that failed.
    stale: bool,
}

impl Set {
    fn is_idle(&self, next: Option<&SetName>) -> bool {
        self.users == 0 && next != Some(&self.name)
    }
}

/// By which a set is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetName {
    /// The description of the program.
    pub program: PathBuf,
    pub keys: Vec<PathBuf>,
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Evaluations that found keys in memory.
    pub hits: u64,
    /// Those that did not.
    pub misses: u64,
    /// Sets that were dropped for room.
    pub evictions: u64,
}

impl ResidentKeys {
    /// With a limit of bytes; none are kept with 0.
    pub fn new(most_bytes: u64) -> Self {
        Self { most_bytes, sets: Mutex::default() }
    }

    /// A set of keys for an evaluation: the one that is there, or an empty one on a device that is opened for it.
    pub fn borrow(&self, name: &SetName, open: impl FnOnce() -> Result<AnyDevice>) -> Result<Borrowed<'_>> {
        let mut sets = self.sets();
        sets.clock += 1;
        let clock = sets.clock;
        let found = sets.all.iter_mut().find(|set| set.name == *name && !set.stale);
        let held = if let Some(set) = found {
            (set.users, set.used) = (set.users + 1, clock);
            set.held.clone()
        } else {
            let held = Arc::new(HeldKeys::new(open()?));
            let (name, held_too) = (name.clone(), held.clone());
            sets.all.push(Set { name, held: held_too, users: 1, used: clock, bytes: 0, stale: false });
            held
        };
        if held.is_empty() {
            sets.counts.misses += 1
        } else {
            sets.counts.hits += 1
        }
        Ok(Borrowed { keys: self, held, failed: false })
    }

    /// Drops sets that nobody uses, the longest unused first, until those left take at most so many bytes; one that will be
    /// used next is not counted.
    pub fn shrink(&self, most_bytes: u64, next: Option<&SetName>) {
        self.sets().shrink(most_bytes, next);
    }

    /// Drops what was read from a file.
    pub fn forget(&self, file: &Path) {
        let mut sets = self.sets();
        for set in &mut sets.all {
            set.stale |= set.name.program == file || set.name.keys.iter().any(|key| key == file);
        }
        sets.all.retain(|set| set.users > 0 || !set.stale);
    }

    /// Bytes of sets that nobody uses, and what happened so far.
    pub fn usage(&self) -> (u64, Counts) {
        let sets = self.sets();
        (sets.idle_bytes(None), sets.counts)
    }

    fn sets(&self) -> MutexGuard<'_, Sets> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sets {
    fn idle_bytes(&self, next: Option<&SetName>) -> u64 {
        self.all.iter().filter(|set| set.is_idle(next)).map(|set| set.bytes).sum()
    }

    fn shrink(&mut self, most_bytes: u64, next: Option<&SetName>) {
        while self.idle_bytes(next) > most_bytes {
            let idle = self.all.iter().enumerate().filter(|(_, set)| set.is_idle(next));
            let Some((oldest, _)) = idle.min_by_key(|(_, set)| set.used) else { return };
            self.all.swap_remove(oldest);
            self.counts.evictions += 1;
        }
    }
}

/// A set of keys in use; given back when dropped.
pub struct Borrowed<'a> {
    keys: &'a ResidentKeys,
    held: Arc<HeldKeys>,
    failed: bool,
}

impl Borrowed<'_> {
    pub fn held(&self) -> &HeldKeys {
        &self.held
    }

    /// It is not to be used again: the evaluation failed, and a fault of a device stays.
    pub fn give_up(&mut self) {
        self.failed = true;
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let bytes = self.held.bytes();
        let failed = self.failed || std::thread::panicking();
        let mut sets = self.keys.sets();
        let Some(at) = sets.all.iter().position(|set| Arc::ptr_eq(&set.held, &self.held)) else { return };
        let set = &mut sets.all[at];
        (set.users, set.bytes, set.stale) = (set.users - 1, bytes, set.stale || failed || set.held.is_empty());
        if set.users == 0 && set.stale {
            sets.all.swap_remove(at);
        }
        sets.shrink(self.keys.most_bytes, None);
    }
}
