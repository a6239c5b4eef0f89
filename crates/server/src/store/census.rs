//! Counts of what is there, of all clients together.

use super::{
    Store,
    jobs::{JobEntry, JobState},
    uploads::UploadEntry,
};
use crate::engine::FileKind;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    pub jobs: BTreeMap<JobState, u64>,
    /// Bytes of files, by kind.
    pub bytes: BTreeMap<FileKind, u64>,
    pub open_uploads: u64,
    /// Bytes promised to open uploads and to results.
    pub promised_bytes: u64,
    /// Memory promised to running jobs.
    pub memory_bytes: u64,
    /// Records and files that could not be read at the start.
    pub damaged: u64,
}

impl Store {
    pub fn census(&self) -> Census {
        let state = self.state();
        let damaged = state.damaged.len() as u64;
        let mut census = Census { memory_bytes: state.promised_bytes(), damaged, ..Census::default() };
        for job in state.jobs.values() {
            *census.jobs.entry(job.record.state).or_default() += 1;
        }
        for (_, file) in state.files.all() {
            *census.bytes.entry(file.kind.clone()).or_default() += file.bytes;
        }
        let reserved = state.uploads.values().map(UploadEntry::reserved_bytes);
        census.open_uploads = reserved.clone().filter(|&bytes| bytes > 0).count() as u64;
        census.promised_bytes = reserved.chain(state.jobs.values().map(JobEntry::reserved_bytes)).sum();
        census
    }
}
