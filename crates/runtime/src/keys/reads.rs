//! What of the keys on disk is read when, before there is a disk.

use super::{disk::KeySource, shelf::Shelf};
use limbwise::{
    Result,
    params::Params,
    rlwe::{EvaluationKey, KeyForm, KeyName, Request, Requirements, declare},
};
use limbwise_device::Wordless;
use std::sync::Arc;

/// How a program's keys are read: what it asks for, in order, and how much of that may be in memory at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPlan {
    /// Every request of the program.
    pub requests: Arc<[Request]>,
    /// Most bytes of keys in memory; two keys always fit.
    pub budget_bytes: u64,
}

impl ReadPlan {
    /// With room for the largest two keys that are asked for in a row.
    #[must_use]
    pub fn least(params: &Params, requests: Vec<Request>) -> Self {
        Self { budget_bytes: Shelf::least_budget(params, &requests), requests: requests.into() }
    }

    /// The shelf that such a run begins with.
    pub fn shelf(&self, params: &Params) -> Shelf {
        Shelf::new(params, self.requests.clone(), self.budget_bytes)
    }
}

/// Keys that are read by declaration.
pub(crate) struct Declared<'a>(pub(crate) &'a Params, pub(crate) &'a Requirements);

impl<D: Wordless> KeySource<D> for Declared<'_> {
    fn names(&self) -> &Requirements {
        self.1
    }

    fn place(&self) -> String {
        "no file".into()
    }

    fn read(&self, dev: &D, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        Ok(declare(dev, self.0, name, level, KeyForm::Disk))
    }
}
