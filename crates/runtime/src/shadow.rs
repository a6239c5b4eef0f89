//! Shadow mode of a session: who looks on while the program runs.

use crate::session::Reader;
use limbwise::{
    ckks::{ShadowBound, ShadowReport, Watch},
    scheme::{ClientScheme, Scheme},
};
use limbwise_device::{Device, HostRead};
use std::sync::{Mutex, PoisonError};

/// Looks on while a session evaluates, with the client's means.
pub trait Onlooker<S: Scheme, D: Device> {
    /// Whether inputs and maps carry their clear values.
    fn wants_shadows(&self) -> bool;

    /// Evaluates, with somebody who watches or without.
    fn look<R>(&self, reader: &Reader<'_, S, D>, evaluate: impl FnOnce(Option<&dyn Watch<D>>) -> R) -> R;
}

impl<S: Scheme, D: Device> Onlooker<S, D> for () {
    fn wants_shadows(&self) -> bool {
        false
    }

    fn look<R>(&self, _: &Reader<'_, S, D>, evaluate: impl FnOnce(Option<&dyn Watch<D>>) -> R) -> R {
        evaluate(None)
    }
}

/// Compares every result with its shadow.
#[derive(Debug, Default)]
pub struct Shadowing {
    bound: ShadowBound,
    report: Mutex<ShadowReport>,
}

impl Shadowing {
    /// With a bound on errors.
    pub fn new(bound: ShadowBound) -> Self {
        Self { bound, report: Mutex::default() }
    }

    pub fn report(&self) -> ShadowReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<S: ClientScheme, D: HostRead> Onlooker<S, D> for Shadowing {
    fn wants_shadows(&self) -> bool {
        true
    }

    fn look<R>(&self, reader: &Reader<'_, S, D>, evaluate: impl FnOnce(Option<&dyn Watch<D>>) -> R) -> R {
        let audit = S::audit(reader.setup(), reader.secrets, self.bound);
        let Some(audit) = audit else { return evaluate(None) };
        let result = evaluate(Some(&audit));
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = audit.report();
        result
    }
}
