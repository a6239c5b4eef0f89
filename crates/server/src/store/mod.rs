//! The state: uploads, files and jobs, in memory and in one directory. What an answer has promised is on the disk.
//!
//! ```text
//! DIR/limbwise-server.json        whose directory this is, and its version
//! DIR/lock                        held while a server runs
//! DIR/uploads/<id>/record.json    with data: the bytes received so far, and perhaps some that nobody was promised
//! DIR/files/<sha256>              whole files, never changed: those of the client without a name
//! DIR/clients/<name>/<sha256>     those of a client with a name
//! DIR/jobs/<id>/record.json       with work/: the engine's checkpoints, and results/: what it is writing
//! ```
//!
//! Every record is written whole (see [`crate::disk`]), after the bytes that it speaks of. One lock guards the memory;
//! bytes of chunks are written, and files hashed, outside of it. What is to be done next is not kept anywhere: it
//! follows from the state, so a restart needs no list of it.

mod census;
mod damaged;
mod files;
mod jobs;
mod plans;
mod runs;
mod uploads;

pub use census::Census;
pub use damaged::Damaged;
pub use files::FileRecord;
pub use jobs::{Job, JobRequest, JobResult, JobState, Progress};
pub use uploads::{Chunk, NewUpload, Upload, UploadState};

use crate::{
    client::ClientName,
    disk::{RUBBISH, make_folder, write_record},
    engine::Engine,
    id::Id,
    limits::Limits,
    metrics::Metrics,
    refusal::{Cause, Denied, Refusal, StartError},
};
use files::Files;
use jobs::JobEntry;
use runs::Turns;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};
use uploads::UploadEntry;

pub struct Store {
    root: PathBuf,
    limits: Limits,
    engine: Arc<dyn Engine>,
    metrics: Metrics,
    state: Mutex<State>,
    changed: Condvar,
    /// Its lock ends with the process, however that ends.
    _lock: File,
}

#[derive(Default)]
struct State {
    uploads: BTreeMap<Id, UploadEntry>,
    files: Files,
    jobs: BTreeMap<Id, JobEntry>,
    /// The number of the next upload or job.
    number: u64,
    turns: Turns,
    closing: bool,
    /// What could not be read at the start.
    damaged: Vec<Damaged>,
}

/// What stands in the directory's own record.
#[derive(Serialize, Deserialize)]
struct Mark {
    version: u32,
}

const MARK: &str = "limbwise-server.json";
/// Version 1 had no clients: what it left is the default client's. An older server must not open what clients with names
/// have, for it would show it to everyone.
const VERSION: u32 = 2;
const RECORD: &str = "record.json";

impl Store {
    /// Opens a directory, which is made if it is not there, and takes up what a server before left, but for what is
    /// damaged.
    pub fn open(root: &Path, limits: Limits, engine: Arc<dyn Engine>) -> Result<Self, StartError> {
        let lock = claim(root)?;
        let mut store = Self {
            root: root.to_owned(),
            limits,
            engine,
            metrics: Metrics::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
            _lock: lock,
        };
        let mut damaged = Vec::new();
        let mut state = State { files: store.load_files(&mut damaged)?, ..State::default() };
        state.uploads = store.load_uploads(&state.files, &mut damaged)?;
        state.jobs = store.load_jobs(&mut damaged)?;
        state.damaged = damaged;
        let uploads = state.uploads.values().map(|upload| upload.record.number);
        let numbers = uploads.chain(state.jobs.values().map(|job| job.record.number));
        state.number = numbers.max().map_or(0, |last| last + 1);
        store.state = Mutex::new(state);
        Ok(store)
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Bytes of a client's files, and what is promised to its open uploads and jobs.
    pub fn used_bytes(&self, client: &ClientName) -> u64 {
        self.state().used_bytes(|whose| whose == client)
    }

    /// No more work is handed out, plans are ended, and running jobs are asked to stop; their checkpoints stay.
    pub fn close(&self) {
        let mut state = self.state();
        state.closing = true;
        state.stop_all();
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held is a bug; what it left is still better than no answers at all.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for something to do; none when the store is closing.
    fn wait_for<T>(&self, find: impl Fn(&mut State) -> Option<T>) -> Option<T> {
        let mut state = self.state();
        loop {
            if state.closing {
                return None;
            }
            if let Some(found) = find(&mut state) {
                return Some(found);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The records in a folder of folders. What a kill left unfinished, and nobody was told of, is removed.
    fn load_records<T: DeserializeOwned>(
        &self,
        what: &'static str,
        own: impl Fn(&T) -> Id,
        damaged: &mut Vec<Damaged>,
    ) -> Result<Vec<(Id, T)>, StartError> {
        let folder = self.folder(&format!("{what}s"));
        make_folder(&folder).map_err(StartError::system(folder.display().to_string()))?;
        let mut found = Vec::new();
        for path in list(&folder)? {
            let id = path.file_name().and_then(|name| name.to_str()?.parse::<Id>().ok());
            let record = path.join(RECORD);
            match id {
                Some(id) if record.exists() => match read_record(&record) {
                    Ok(read) if own(&read) == id => found.push((id, read)),
                    Ok(_) => damaged.push(Damaged::record(what, (id, &record), "it has the id of another folder")),
                    Err(cause) => damaged.push(Damaged::record(what, (id, &record), cause)),
                },
                None if path.extension().is_none_or(|e| e != RUBBISH) => {}
                _ => fs::remove_dir_all(&path).map_err(StartError::system(path.display().to_string()))?,
            }
        }
        Ok(found)
    }
}

impl State {
    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number - 1
    }

    /// Bytes of files, and what is promised to open uploads and jobs, of some clients.
    fn used_bytes(&self, counts: impl Fn(&ClientName) -> bool) -> u64 {
        let files = self.files.all().filter(|(client, _)| counts(client)).map(|(_, file)| file.bytes);
        let uploads = self.uploads.values().filter(|upload| counts(&upload.record.client));
        let jobs = self.jobs.values().filter(|job| counts(&job.record.client));
        files.chain(uploads.map(UploadEntry::reserved_bytes)).chain(jobs.map(JobEntry::reserved_bytes)).sum()
    }

    /// Refuses what would lead over a client's bytes, or over the limit of all bytes together. How much others have is
    /// not said.
    fn room_for(&self, client: &ClientName, bytes: u64, limits: &Limits) -> Result<(), Refusal> {
        let (own, all) = (self.used_bytes(|whose| whose == client), self.used_bytes(|_| true));
        let most = limits.client_bytes.min(limits.total_bytes);
        if own.saturating_add(bytes) > most {
            let got = format!("{bytes} bytes, with {own} in use or promised");
            let wanted = format!("at most {most} bytes together (client_bytes and total_bytes)");
            let next = "delete files, uploads or jobs that are no longer needed, or start the server with a larger --total or --client-total";
            return Err(Refusal::new("there is no room for it", got, wanted, next));
        }
        if all.saturating_add(bytes) > limits.total_bytes {
            let wanted = format!("at most {} bytes of all clients together (total_bytes)", limits.total_bytes);
            let next = "try again later, or start the server with a larger --total";
            return Err(Refusal::new("the server has no room for it", format!("{bytes} bytes"), wanted, next));
        }
        Ok(())
    }
}

/// Takes hold of a directory.
fn claim(root: &Path) -> Result<File, StartError> {
    let name = root.display().to_string();
    make_private(root).map_err(StartError::system(&name))?;
    let mark = root.join(MARK);
    if !mark.exists() && list(root)?.iter().any(|path| !path.ends_with("lock") && !path.ends_with(mark_in_making())) {
        return Err(StartError::NotOurs { path: root.to_owned() });
    }
    let lock = File::create(root.join("lock")).map_err(StartError::system(&name))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StartError::Locked { path: root.to_owned() }),
        Err(TryLockError::Error(error)) => return Err(StartError::System { what: name, error }),
    }
    if mark.exists() {
        let damaged = |cause| StartError::Damaged { path: mark.clone(), cause };
        let Mark { version } = read_record(&mark).map_err(damaged)?;
        if !(1..=VERSION).contains(&version) {
            let cause = format!("version {version}, wanted 1 to {VERSION}");
            return Err(damaged(cause));
        }
        if version < VERSION {
            write_record(&mark, &Mark { version: VERSION }).map_err(StartError::system(&name))?;
        }
    } else {
        write_record(&mark, &Mark { version: VERSION }).map_err(StartError::system(&name))?;
    }
    Ok(lock)
}

/// Makes the directory, for its owner alone: clients' files are nobody else's business.
fn make_private(root: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(root)
}

/// Where the mark is written before it is renamed.
fn mark_in_making() -> PathBuf {
    Path::new(MARK).with_extension("tmp")
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, StartError> {
    let paths = || -> io::Result<Vec<PathBuf>> { fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect() };
    paths().map_err(StartError::system(folder.display().to_string()))
}

/// A record, or why it is none.
fn read_record<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    serde_json::from_slice(&bytes).map_err(|e| e.to_string())
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// For an upload, a file or a job that is not there.
fn absent(what: &str, id: impl ToString) -> Denied {
    let wanted = format!("the id of {what} that the server has");
    Refusal::new(format!("there is no such {what}"), id.to_string(), wanted, format!("list them with GET /v1/{what}s"))
        .because(Cause::Absent)
}

/// Reads as much of the beginning of a file as an engine wants to see.
fn head(path: &Path) -> io::Result<Vec<u8>> {
    use io::Read as _;
    let mut head = Vec::new();
    File::open(path)?.take(crate::engine::HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}
