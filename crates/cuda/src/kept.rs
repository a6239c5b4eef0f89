//! Cache of address tables for kernels: a loop over the same rows writes no table.

use crate::{device::Cuda, driver::Place, pool::Row};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of cached tables.
const TABLES: usize = 16;

/// The most recently used tables, latest first.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Vec<(Vec<u64>, Arc<Row>)>>);

impl Cuda {
    /// A row with these words, which is never written again.
    pub(crate) fn table(&self, words: Vec<u64>) -> Arc<Row> {
        let mut kept = self.kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(of, _)| *of == words) {
            kept[..=at].rotate_right(1);
            return kept[0].1.clone();
        }
        let row = self.row(words.len(), Place::Device);
        self.write(&row, &words);
        // A table whose write a fault may have prevented is not cached.
        if !self.faulty() {
            kept.truncate(TABLES - 1);
            kept.insert(0, (words, row.clone()));
        }
        row
    }
}
