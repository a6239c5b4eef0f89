//! Cache of small tables derived from a parameter set, computed once and kept with the set.
//!
//! Planning needs the same tables for every configuration, each time with a new encoder and device; only the parameters
//! are common. Each table's type belongs to the module that uses it.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// One table per type.
#[derive(Clone, Default)]
pub(super) struct Known(Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>);

impl Known {
    /// The table of a type, initially empty.
    pub(super) fn table<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let table = tables.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default())).clone();
        table.downcast().unwrap_or_else(|_| unreachable!("a table lies under its own type"))
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Known")
    }
}

/// Cached tables are derived from the parameters, so they do not count in comparisons.
impl PartialEq for Known {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
