//! Complete files, named by the digest of their content.

use super::{State, Store, absent, head, list};
use crate::{
    disk::{make_folder, move_file},
    engine::FileKind,
    id::FileId,
    refusal::{Cause, Denied, Refusal, StartError},
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};
use utoipa::ToSchema;

/// A file that the server has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FileRecord {
    /// Its name: the SHA-256 of its bytes.
    pub id: FileId,
    pub bytes: u64,
    #[schema(value_type = String)]
    pub kind: FileKind,
}

impl Store {
    pub fn files(&self) -> Vec<FileRecord> {
        self.state().files.values().cloned().collect()
    }

    /// A file.
    ///
    /// # Errors
    /// [`Cause::Absent`].
    pub fn file(&self, id: FileId) -> Result<FileRecord, Denied> {
        self.state().files.get(&id).cloned().ok_or_else(|| absent("file", id))
    }

    /// Opens a file's bytes.
    ///
    /// # Errors
    /// [`Cause::Absent`], or the system's.
    pub fn open_file(&self, id: FileId) -> Result<(FileRecord, File), Denied> {
        let record = self.file(id)?;
        Ok((record, File::open(self.file_path(id))?))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// [`Cause::Absent`]; [`Cause::Conflict`] while a job needs it; the system's.
    pub fn delete_file(&self, id: FileId) -> Result<(), Denied> {
        let mut state = self.state();
        if !state.files.contains_key(&id) {
            return Err(absent("file", id));
        }
        if let Some(job) = state.jobs.values().find(|job| job.record.needs(id)) {
            let got = format!("job {} is {}", job.record.id, job.record.state);
            let next = "wait for the job, or cancel it";
            return Err(Refusal::new("a job needs this file", got, "a file that no unfinished job needs", next)
                .because(Cause::Conflict));
        }
        fs::remove_file(self.file_path(id))?;
        state.files.remove(&id);
        Ok(())
    }

    pub(super) fn file_path(&self, id: FileId) -> PathBuf {
        self.folder("files").join(id.to_string())
    }

    /// Takes in a file whose bytes are on the disk under another name.
    pub(super) fn adopt(&self, state: &mut State, from: &Path, record: FileRecord) -> io::Result<()> {
        move_file(from, &self.file_path(record.id))?;
        state.files.insert(record.id, record);
        Ok(())
    }

    pub(super) fn load_files(&self) -> Result<BTreeMap<FileId, FileRecord>, StartError> {
        let folder = self.folder("files");
        let named = || StartError::system(folder.display().to_string());
        make_folder(&folder).map_err(named())?;
        let mut files = BTreeMap::new();
        for path in list(&folder)? {
            let Some(id) = path.file_name().and_then(|name| name.to_str()?.parse::<FileId>().ok()) else { continue };
            let bytes = fs::metadata(&path).map_err(named())?.len();
            let kind = self.engine.recognize(&head(&path).map_err(named())?);
            // What an older engine took in is kept, for its client to fetch.
            let kind = kind.unwrap_or_else(|_| "a file that this version does not know".into());
            files.insert(id, FileRecord { id, bytes, kind });
        }
        Ok(files)
    }
}

/// The name and the length of a file's bytes; none if `stop` says so on the way.
pub(super) fn hash(path: &Path, stop: impl Fn() -> bool) -> io::Result<Option<(FileId, u64)>> {
    let (mut file, mut hasher, mut bytes) = (File::open(path)?, Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(Some((FileId::finish(hasher), bytes)));
        }
        if stop() {
            return Ok(None);
        }
        hasher.update(&buffer[..count]);
        bytes += count as u64;
    }
}
