//! Uploads: announced with length and digest, received in order chunk by chunk, checked, stored.

use super::{
    Damaged, RECORD, State, Store, absent,
    files::{FileRecord, Files, hash},
    head,
};
use crate::{
    client::ClientName,
    disk::{make_folder, remove_folder, write_record},
    engine::{FileKind, HEAD_BYTES},
    id::{FileId, Id},
    limits::ENDED_UPLOADS,
    refusal::{Cause, Denied, Refusal, StartError},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};
use utoipa::ToSchema;

/// What a client announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUpload {
    #[schema(minimum = 1)]
    pub bytes: u64,
    /// The SHA-256 of the whole file: its name from then on.
    pub sha256: FileId,
}

/// A file on its way in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Upload {
    pub id: Id,
    /// Whose it is.
    #[serde(default)]
    pub client: ClientName,
    /// Its place in the order of uploads and jobs.
    pub number: u64,
    pub bytes: u64,
    /// The file's digest, and its name once it is whole.
    pub sha256: FileId,
    /// Bytes that are safe on the server's disk: the next chunk begins here.
    pub received: u64,
    pub state: UploadState,
    /// What the file holds, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub kind: Option<FileKind>,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UploadState {
    /// Chunks are awaited.
    Receiving,
    /// All bytes are there; their digest is being compared.
    Checking,
    /// The file is there.
    Complete,
    /// The file was not what was announced, or must not be here; its bytes are gone.
    Refused,
}

impl fmt::Display for UploadState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Upload {
    fn ended(&self) -> bool {
        matches!(self.state, UploadState::Complete | UploadState::Refused)
    }
}

pub(super) struct UploadEntry {
    pub(super) record: Upload,
    /// A chunk is being written, or the file is being hashed.
    busy: bool,
}

impl UploadEntry {
    pub(super) fn reserved_bytes(&self) -> u64 {
        if self.record.ended() { 0 } else { self.record.bytes }
    }
}

/// A part of a file, with the digest that its sender gave.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    pub bytes: &'a [u8],
    pub sha256: FileId,
}

impl State {
    /// A client's upload; one of others is not there.
    fn upload_of(&self, client: &ClientName, id: Id) -> Result<&UploadEntry, Denied> {
        let theirs = self.uploads.get(&id).filter(|entry| entry.record.client == *client);
        theirs.ok_or_else(|| self.missing("upload", id))
    }
}

/// The one who writes: whoever drops it lets others in again.
struct Busy<'a>(&'a Store, Id);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let Self(store, id) = *self;
        if let Some(entry) = store.state().uploads.get_mut(&id) {
            entry.busy = false;
        }
        store.changed.notify_all();
    }
}

const DATA: &str = "data";

impl Store {
    /// A client's uploads, the oldest first.
    pub fn uploads(&self, client: &ClientName) -> Vec<Upload> {
        let state = self.state();
        let theirs = state.uploads.values().map(|entry| &entry.record).filter(|upload| upload.client == *client);
        let mut all: Vec<Upload> = theirs.cloned().collect();
        all.sort_by_key(|upload| upload.number);
        all
    }

    /// An upload of a client.
    ///
    /// # Errors
    /// [`Cause::Absent`].
    pub fn upload(&self, client: &ClientName, id: Id) -> Result<Upload, Denied> {
        self.state().upload_of(client, id).map(|entry| entry.record.clone())
    }

    /// An upload, whoever's.
    fn any_upload(&self, id: Id) -> Result<Upload, Denied> {
        self.state().uploads.get(&id).map(|entry| entry.record.clone()).ok_or_else(|| absent("upload", id))
    }

    /// Begins an upload. If the client has the file here already, the upload is complete at once.
    ///
    /// # Errors
    /// What the limits refuse; the system's.
    pub fn begin_upload(&self, client: &ClientName, new: NewUpload) -> Result<Upload, Denied> {
        let NewUpload { bytes, sha256 } = new;
        let mut state = self.state();
        let there = state.files.of(client).get(&sha256).cloned();
        self.admit(&state, client, new, there.as_ref())?;
        let (received, upload_state) = match there {
            Some(_) => (bytes, UploadState::Complete),
            None => (0, UploadState::Receiving),
        };
        let (id, number, kind) = (Id::random(), state.next_number(), there.map(|file| file.kind));
        let client = client.clone();
        let record = Upload { id, client, number, bytes, sha256, received, state: upload_state, kind, refusal: None };
        make_folder(&self.upload_folder(id))?;
        if received == 0 {
            File::create(self.data_path(id))?.sync_all()?;
        }
        write_record(&self.upload_folder(id).join(RECORD), &record)?;
        state.uploads.insert(id, UploadEntry { record: record.clone(), busy: false });
        self.forget_old_uploads(&mut state, &record.client)?;
        Ok(record)
    }

    fn admit(
        &self,
        state: &State,
        client: &ClientName,
        new: NewUpload,
        there: Option<&FileRecord>,
    ) -> Result<(), Denied> {
        let limits = &self.limits;
        let over = |what: &str, got: u64, most: u64, next: &str| {
            Err(Refusal::new(what, format!("{got} bytes"), format!("1 to {most} bytes"), next))
        };
        let checked = match there {
            Some(file) if file.bytes != new.bytes => {
                let what = "the file with this digest has another length";
                over(what, new.bytes, file.bytes, "announce the length of the file")
            }
            Some(_) => return Ok(()),
            None if new.bytes == 0 => {
                over("an empty file", 0, limits.upload_bytes, "send a file that has something in it")
            }
            None => Ok(()),
        };
        checked.map_err(|refusal| refusal.because(Cause::Unfit))?;
        if new.bytes > limits.upload_bytes {
            let next = "start the server with a larger --upload";
            let refused = over("the file is too large", new.bytes, limits.upload_bytes, next);
            return refused.map_err(|refusal| refusal.because(Cause::TooLarge));
        }
        let open = |entry: &&UploadEntry| !entry.record.ended() && entry.record.client == *client;
        let (open, files) = (state.uploads.values().filter(open).count(), state.files.of(client).len());
        for (what, got, most) in [("open uploads", open, limits.open_uploads), ("files", files, limits.files)] {
            if got >= most {
                let (what, wanted) = (format!("too many {what}"), format!("at most {most}"));
                return Err(Refusal::new(what, got, wanted, "finish or delete some").because(Cause::TooMany));
            }
        }
        state.room_for(client, new.bytes, limits).map_err(|refusal| refusal.because(Cause::TooLarge))
    }

    /// Adds a chunk, which must begin where the last one ended. When this returns, its bytes are on the disk.
    ///
    /// # Errors
    /// [`Cause::Conflict`] out of order; [`Cause::Unfit`] for wrong bytes, or a file that must not be here; the system's.
    pub fn append(&self, client: &ClientName, id: Id, offset: u64, chunk: Chunk<'_>) -> Result<Upload, Denied> {
        let Chunk { bytes: chunk, sha256 } = chunk;
        let got = FileId::of(chunk);
        if got != sha256 {
            let next = "send the chunk again: it was changed on its way, or the digest is not the chunk's";
            let (what, wanted) = ("the chunk's bytes do not have its digest", format!("{sha256}, as the request says"));
            return Err(Refusal::new(what, got, wanted, next).because(Cause::Unfit));
        }
        let end = self.take_turn(client, id, offset, chunk.len() as u64)?;
        let _busy = Busy(self, id);
        let data = self.data_path(id);
        // As soon as it can be known what the file is, and before more of it is written: it may be a secret key.
        let telling = offset < HEAD_BYTES as u64 && (end >= HEAD_BYTES as u64 || end == self.any_upload(id)?.bytes);
        let kind = if telling { Some(self.engine.recognize(&extended_head(&data, offset, chunk)?)) } else { None };
        match kind.transpose() {
            Ok(kind) => {
                write_at(&data, offset, chunk)?;
                self.change_upload(id, |record| {
                    record.received = end;
                    record.kind = kind.or(record.kind.take());
                    if end == record.bytes {
                        record.state = UploadState::Checking;
                    }
                })
            }
            Err(refusal) => {
                self.refuse_upload(id, refusal.clone())?;
                Err(refusal.because(Cause::Unfit))
            }
        }
    }

    /// Whether a chunk is next; if so, it is the only one until [`Busy`] ends. Gives the offset after it.
    fn take_turn(&self, client: &ClientName, id: Id, offset: u64, length: u64) -> Result<u64, Denied> {
        let mut state = self.state();
        state.upload_of(client, id)?;
        let entry = state.uploads.get_mut(&id).ok_or_else(|| absent("upload", id))?;
        let record = &entry.record;
        let conflict = |what: &str, got: String, wanted: String, next: &str| {
            Err(Refusal::new(what, got, wanted, next).because(Cause::Conflict))
        };
        if record.state != UploadState::Receiving {
            let next = "ask for the upload's state, and begin a new one if this one was refused";
            let got = format!("the upload is {}", record.state);
            return conflict("no chunk is awaited", got, "an upload that is receiving".into(), next);
        }
        if entry.busy {
            let (got, wanted) = ("two at the same time".into(), "one after another".into());
            return conflict("another chunk of this upload is being written", got, wanted, "wait for its answer");
        }
        if offset != record.received {
            let wanted = format!("offset {}, where the bytes received so far end", record.received);
            let next = "continue from there; GET the upload tells the offset at any time";
            return conflict("the chunk is out of order", format!("offset {offset}"), wanted, next);
        }
        let end = offset + length;
        if length == 0 || end > record.bytes {
            let (got, wanted) = (format!("{length} bytes"), format!("1 to {} bytes", record.bytes - offset));
            let next = "send the rest of the file that was announced";
            return Err(Refusal::new("the chunk does not fit", got, wanted, next).because(Cause::Unfit));
        }
        entry.busy = true;
        Ok(end)
    }

    /// Removes an upload; the file of a complete one stays.
    ///
    /// # Errors
    /// [`Cause::Absent`]; [`Cause::Conflict`] while its bytes are written or checked; the system's.
    pub fn delete_upload(&self, client: &ClientName, id: Id) -> Result<(), Denied> {
        let mut state = self.state();
        let entry = state.upload_of(client, id)?;
        if entry.busy || entry.record.state == UploadState::Checking {
            let (got, wanted) = (entry.record.state, "an upload that nothing is done with");
            let next = "try again when the chunk is written or the check is over";
            return Err(Refusal::new("the upload is in use", got, wanted, next).because(Cause::Conflict));
        }
        remove_folder(&self.upload_folder(id))?;
        state.uploads.remove(&id);
        Ok(())
    }

    /// The next upload to be checked; waits for one. None when the store is closing.
    pub(crate) fn next_check(&self) -> Option<Id> {
        self.wait_for(|state| {
            let ready = |entry: &&mut UploadEntry| entry.record.state == UploadState::Checking && !entry.busy;
            let entry = state.uploads.values_mut().find(ready)?;
            entry.busy = true;
            Some(entry.record.id)
        })
    }

    /// Compares a whole file with its digest and takes it in. The caller has it from [`Self::next_check`].
    pub(crate) fn check(&self, id: Id) -> Result<(), Denied> {
        let _busy = Busy(self, id);
        let checked = self.check_data(id);
        if let Err(denied) = &checked {
            self.refuse_upload(id, denied.refusal.clone())?;
        }
        checked
    }

    fn check_data(&self, id: Id) -> Result<(), Denied> {
        let (Upload { sha256, client, .. }, data) = (self.any_upload(id)?, self.data_path(id));
        let Some((got, bytes)) = hash(&data, || self.state().closing)? else { return Ok(()) };
        if got != sha256 {
            let (what, wanted) = ("the file's bytes do not have the announced digest", format!("{sha256}"));
            let next = "begin a new upload with the digest of the file that is sent";
            return Err(Refusal::new(what, got, wanted, next).because(Cause::Unfit));
        }
        let kind = self.engine.recognize(&head(&data)?).map_err(|refusal| refusal.because(Cause::Unfit))?;
        self.adopt(&mut self.state(), &client, &data, FileRecord { id: sha256, bytes, kind: kind.clone() })?;
        self.change_upload(id, |record| (record.state, record.kind) = (UploadState::Complete, Some(kind)))?;
        self.forget_old_uploads(&mut self.state(), &client)?;
        Ok(())
    }

    /// Ends an upload that cannot become a file; its bytes go.
    fn refuse_upload(&self, id: Id, refusal: Refusal) -> Result<(), Denied> {
        match fs::remove_file(self.data_path(id)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e.into()),
            _ => {}
        }
        self.change_upload(id, |record| (record.state, record.refusal) = (UploadState::Refused, Some(refusal)))?;
        Ok(())
    }

    /// Changes a record, on the disk first.
    fn change_upload(&self, id: Id, change: impl FnOnce(&mut Upload)) -> Result<Upload, Denied> {
        let mut state = self.state();
        let entry = state.uploads.get_mut(&id).ok_or_else(|| absent("upload", id))?;
        let mut record = entry.record.clone();
        change(&mut record);
        write_record(&self.upload_folder(id).join(RECORD), &record)?;
        entry.record = record.clone();
        self.changed.notify_all();
        Ok(record)
    }

    /// Removes the oldest of a client's uploads that have ended, if there are many.
    fn forget_old_uploads(&self, state: &mut State, client: &ClientName) -> io::Result<()> {
        let theirs = |entry: &&UploadEntry| entry.record.client == *client && entry.record.ended() && !entry.busy;
        let ended = state.uploads.values().filter(theirs);
        let mut ended: Vec<(u64, Id)> = ended.map(|entry| (entry.record.number, entry.record.id)).collect();
        ended.sort_unstable();
        let many = ended.len().saturating_sub(ENDED_UPLOADS);
        for (_, id) in ended.into_iter().take(many) {
            remove_folder(&self.upload_folder(id))?;
            state.uploads.remove(&id);
        }
        Ok(())
    }

    /// Takes up uploads. Bytes that were written and not promised are cut off, to be sent again.
    pub(super) fn load_uploads(
        &self,
        files: &Files,
        damaged: &mut Vec<Damaged>,
    ) -> Result<BTreeMap<Id, UploadEntry>, StartError> {
        let mut uploads = BTreeMap::new();
        for (id, mut record) in self.load_records("upload", |upload: &Upload| upload.id, damaged)? {
            match self.taken_up(&mut record, files) {
                Ok(()) => drop(uploads.insert(id, UploadEntry { record, busy: false })),
                Err(cause) => damaged.push(Damaged::record("upload", (id, &self.data_path(id)), cause)),
            }
        }
        Ok(uploads)
    }

    fn taken_up(&self, record: &mut Upload, files: &Files) -> io::Result<()> {
        let data = self.data_path(record.id);
        match record.state {
            UploadState::Receiving => {
                let file = OpenOptions::new().write(true).open(&data)?;
                let there = file.metadata()?.len();
                if there < record.received {
                    return Err(io::Error::other(format!("{there} bytes, wanted {}", record.received)));
                }
                file.set_len(record.received).and_then(|()| file.sync_all())
            }
            // Killed after the file was taken in and before the record said so.
            UploadState::Checking if !data.exists() && files.of(&record.client).contains_key(&record.sha256) => {
                record.state = UploadState::Complete;
                write_record(&self.upload_folder(record.id).join(RECORD), record)
            }
            UploadState::Checking | UploadState::Complete | UploadState::Refused => Ok(()),
        }
    }

    fn upload_folder(&self, id: Id) -> PathBuf {
        self.folder("uploads").join(id.to_string())
    }

    fn data_path(&self, id: Id) -> PathBuf {
        self.upload_folder(id).join(DATA)
    }
}

/// Writes a chunk and brings it to the disk.
fn write_at(path: &Path, offset: u64, chunk: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(chunk)?;
    file.sync_data()
}

/// The beginning of a file, with a chunk that is not written yet.
fn extended_head(path: &Path, offset: u64, chunk: &[u8]) -> io::Result<Vec<u8>> {
    let mut head = head(path)?;
    head.truncate(usize::try_from(offset).unwrap_or(HEAD_BYTES));
    head.extend(chunk.iter().take(HEAD_BYTES - head.len()));
    Ok(head)
}
