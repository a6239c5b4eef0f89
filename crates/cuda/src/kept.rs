//! Tables of addresses that kernels read and that come again: a loop over the same rows writes none.

use crate::{device::Cuda, driver::Place, pool::Row};
use std::sync::{Arc, Mutex, PoisonError};

/// Tables that are kept.
const TABLES: usize = 16;

/// The tables that were used last, the last one first.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Vec<(Vec<u64>, Arc<Row>)>>);

impl Cuda {
    /// A row of these words, which must not be written again.
    pub(crate) fn table(&self, words: Vec<u64>) -> Arc<Row> {
        let mut kept = self.kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(of, _)| *of == words) {
            kept[..=at].rotate_right(1);
            return kept[0].1.clone();
        }
        let row = self.row(words.len(), Place::Device);
        self.write(&row, &words);
        // What a fault may have kept from being written is nobody else's.
        if !self.faulty() {
            kept.truncate(TABLES - 1);
            kept.insert(0, (words, row.clone()));
        }
        row
    }
}
