//! Complete files, named by the digest of their content.

use super::{Damaged, State, Store, absent, head, list};
use crate::{
    client::ClientName,
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

/// The files of all clients. What one has is not there for another, whatever it is named: nothing is shared, so that
/// nobody learns from an answer, or from its speed, what others have.
#[derive(Default)]
pub(super) struct Files(BTreeMap<ClientName, BTreeMap<FileId, FileRecord>>);

impl Files {
    pub(super) fn of(&self, client: &ClientName) -> &BTreeMap<FileId, FileRecord> {
        static NONE: BTreeMap<FileId, FileRecord> = BTreeMap::new();
        self.0.get(client).unwrap_or(&NONE)
    }

    /// All of them, with whose they are.
    pub(super) fn all(&self) -> impl Iterator<Item = (&ClientName, &FileRecord)> {
        self.0.iter().flat_map(|(client, files)| files.values().map(move |file| (client, file)))
    }

    fn insert(&mut self, client: &ClientName, record: FileRecord) {
        self.0.entry(client.clone()).or_default().insert(record.id, record);
    }

    fn remove(&mut self, client: &ClientName, id: FileId) {
        self.0.get_mut(client).and_then(|files| files.remove(&id));
    }
}

/// The folder with a folder of files for each client that has a name.
const CLIENTS: &str = "clients";

impl Store {
    /// A client's files, by name.
    pub fn files(&self, client: &ClientName) -> Vec<FileRecord> {
        self.state().files.of(client).values().cloned().collect()
    }

    /// A file.
    ///
    /// # Errors
    /// [`Cause::Absent`].
    pub fn file(&self, client: &ClientName, id: FileId) -> Result<FileRecord, Denied> {
        self.state().files.of(client).get(&id).cloned().ok_or_else(|| absent("file", id))
    }

    /// Opens a file's bytes.
    ///
    /// # Errors
    /// [`Cause::Absent`], or the system's.
    pub fn open_file(&self, client: &ClientName, id: FileId) -> Result<(FileRecord, File), Denied> {
        let record = self.file(client, id)?;
        Ok((record, File::open(self.file_path(client, id))?))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// [`Cause::Absent`]; [`Cause::Conflict`] while a job needs it; the system's.
    pub fn delete_file(&self, client: &ClientName, id: FileId) -> Result<(), Denied> {
        let mut state = self.state();
        if !state.files.of(client).contains_key(&id) {
            return Err(absent("file", id));
        }
        if let Some(job) = state.jobs.values().find(|job| job.record.client == *client && job.record.needs(id)) {
            let got = format!("job {} is {}", job.record.id, job.record.state);
            let next = "wait for the job, or cancel it";
            return Err(Refusal::new("a job needs this file", got, "a file that no unfinished job needs", next)
                .because(Cause::Conflict));
        }
        let path = self.file_path(client, id);
        self.engine.forget(&path);
        fs::remove_file(path)?;
        state.files.remove(client, id);
        Ok(())
    }

    pub(super) fn file_path(&self, client: &ClientName, id: FileId) -> PathBuf {
        self.files_folder(client).join(id.to_string())
    }

    fn files_folder(&self, client: &ClientName) -> PathBuf {
        if *client == ClientName::default() {
            return self.folder("files");
        }
        self.folder(CLIENTS).join(client.as_ref())
    }

    /// Takes in a file whose bytes are on the disk under another name.
    pub(super) fn adopt(
        &self,
        state: &mut State,
        client: &ClientName,
        from: &Path,
        record: FileRecord,
    ) -> io::Result<()> {
        let folder = self.files_folder(client);
        if !folder.exists() {
            make_folder(&folder)?;
        }
        move_file(from, &self.file_path(client, record.id))?;
        state.files.insert(client, record);
        Ok(())
    }

    pub(super) fn load_files(&self, damaged: &mut Vec<Damaged>) -> Result<Files, StartError> {
        let mut files = Files::default();
        let clients = self.folder(CLIENTS);
        for folder in [self.folder("files"), clients.clone()] {
            make_folder(&folder).map_err(StartError::system(folder.display().to_string()))?;
        }
        let name = |path: &Path| path.file_name().and_then(|name| name.to_str()?.parse::<ClientName>().ok());
        let named = list(&clients)?.into_iter().filter_map(|path| name(&path));
        for client in std::iter::once(ClientName::default()).chain(named) {
            for (_, record) in self.load_files_of(&client, damaged)? {
                files.insert(&client, record);
            }
        }
        Ok(files)
    }

    fn load_files_of(
        &self,
        client: &ClientName,
        damaged: &mut Vec<Damaged>,
    ) -> Result<BTreeMap<FileId, FileRecord>, StartError> {
        let folder = self.files_folder(client);
        let mut files = BTreeMap::new();
        for path in list(&folder)? {
            let Some(id) = path.file_name().and_then(|name| name.to_str()?.parse::<FileId>().ok()) else { continue };
            let read = || Ok::<_, io::Error>((fs::metadata(&path)?.len(), head(&path)?));
            let (bytes, head) = match read() {
                Ok(read) => read,
                Err(cause) => {
                    damaged.push(Damaged::file(&path, cause));
                    continue;
                }
            };
            let kind = self.engine.recognize(&head);
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
