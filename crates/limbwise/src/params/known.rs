//! Small tables that follow from a parameter set and are asked for again and again: worked out once, kept with the set.
//!
//! Whoever plans asks for the same in every way to run a program, with an encoder and a device of its own each time; the
//! parameters are what all of them share. A table is the business of the module whose type it is.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// One table of each type.
#[derive(Clone, Default)]
pub(super) struct Known(Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>);

impl Known {
    /// The table of a type, empty at first.
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

/// What is known of parameters follows from them: it makes no difference.
impl PartialEq for Known {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
