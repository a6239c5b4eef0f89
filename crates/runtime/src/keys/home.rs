//! Where the evaluation keys of a session live between their generation and the evaluation.

use super::{
    disk::{DiskKeys, KeySource},
    shelf::Shelf,
};
use crate::session::KEY_STEP;
use limbwise::{
    Result,
    params::Params,
    rlwe::{EvaluationKey, KeyForm, KeyGenerator, KeyName, KeyPlan, KeyStore, Request, Requirements, declare},
};
use limbwise_apps::Observer;
use limbwise_device::Device;
use std::sync::Arc;

/// Makes a session's keys and gives them to its evaluation.
pub trait KeyHome<D: Device> {
    /// Makes the keys of a plan, lets the generator go, and evaluates with them.
    ///
    /// # Errors
    /// Those of the evaluation, or of the place.
    fn hold<R>(
        &self,
        on: (&D, &Params),
        generator: KeyGenerator<'_, D>,
        plan: &KeyPlan,
        observer: &mut dyn Observer,
        evaluate: impl FnOnce(&dyn KeyStore<D>, &mut dyn Observer) -> Result<R>,
    ) -> Result<R>;
}

/// All of them in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct InMemory;

impl<D: Device> KeyHome<D> for InMemory {
    fn hold<R>(
        &self,
        _: (&D, &Params),
        generator: KeyGenerator<'_, D>,
        plan: &KeyPlan,
        observer: &mut dyn Observer,
        evaluate: impl FnOnce(&dyn KeyStore<D>, &mut dyn Observer) -> Result<R>,
    ) -> Result<R> {
        let keys = generator.key_set(plan, |done| observer.step(KEY_STEP, done, plan.required.len()));
        drop(generator);
        evaluate(&keys, observer)
    }
}

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
    #[must_use]
    pub fn shelf(&self, params: &Params) -> Shelf {
        Shelf::new(params, self.requests.clone(), self.budget_bytes)
    }
}

/// On a disk that is imagined: keys are made and forgotten, and read by declaration. For devices that hold no words.
#[derive(Clone, Copy, Debug)]
pub struct Imagined<'a>(pub &'a ReadPlan);

/// Keys that are read by declaration.
struct Declared<'a>(&'a Params, &'a Requirements);

impl<D: Device> KeySource<D> for Declared<'_> {
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

impl<D: Device> KeyHome<D> for Imagined<'_> {
    fn hold<R>(
        &self,
        (dev, params): (&D, &Params),
        generator: KeyGenerator<'_, D>,
        plan: &KeyPlan,
        observer: &mut dyn Observer,
        evaluate: impl FnOnce(&dyn KeyStore<D>, &mut dyn Observer) -> Result<R>,
    ) -> Result<R> {
        for (&name, &level) in &plan.required {
            drop(generator.evaluation_key(name, level, plan.form));
        }
        drop(generator);
        let source = Declared(params, &plan.required);
        evaluate(&DiskKeys::rehearsed(dev, params, &source, self.0.shelf(params)), observer)
    }
}
