//! Any workload: its description, its public side and its client, told apart when the program runs.

use crate::{
    bootstrap::{Bootstrap, client::BootstrapClient},
    client::{Client, Conclusion},
    helr::{client::HelrClient, encrypted::Helr},
    linear::{Linear, client::LinearClient},
    logreg::{client::LogregClient, encrypted::Logreg},
    lola::{client::LolaClient, encrypted::Lola},
    program::{Array, Details, Encryption, Input, Journal, Observer, Program},
    resnet::{Resnet, ResnetClient},
};
use limbwise::{
    Complex64, Result,
    ckks::{Auto, BootstrapPlan, Ciphertext, Diagonals, LinearPlan, LinearTransform, PlaintextForm, Strategy},
    params::Params,
};
use limbwise_device::Device;

/// The public side of any workload.
#[derive(Clone, Debug)]
pub enum AnyProgram {
    /// `logreg`.
    Logreg(Logreg),
    /// `linear`.
    Linear(Linear),
    /// `bootstrap`.
    Bootstrap(Bootstrap),
    /// `helr`.
    Helr(Helr),
    /// `lola`.
    Lola(Lola),
    /// `resnet20`.
    Resnet(Resnet),
}

/// Each call goes to the program inside.
macro_rules! inner {
    ($self:ident, $program:ident => $call:expr) => {
        match $self {
            Self::Logreg($program) => $call,
            Self::Linear($program) => $call,
            Self::Bootstrap($program) => $call,
            Self::Helr($program) => $call,
            Self::Lola($program) => $call,
            Self::Resnet($program) => $call,
        }
    };
}

impl AnyProgram {
    /// The same with its linear maps evaluated in another way, where it has any.
    #[must_use]
    pub fn with_maps(self, (strategy, form): (Strategy, PlaintextForm)) -> Self {
        match self {
            Self::Linear(program) => Self::Linear(program.with(strategy, form)),
            Self::Lola(program) => Self::Lola(program.with(strategy, form)),
            Self::Resnet(program) => Self::Resnet(program.with((strategy, form))),
            other => other,
        }
    }

    /// The same bootstrapped by another plan, where that is a choice.
    #[must_use]
    pub fn with_bootstrapping(self, plan: BootstrapPlan) -> Self {
        match self {
            Self::Bootstrap(program) => Self::Bootstrap(program.with(plan)),
            Self::Helr(program) => Self::Helr(program.with(plan)),
            Self::Resnet(program) => Self::Resnet(program.with_bootstrapping(plan)),
            other => other,
        }
    }
}

impl Program for AnyProgram {
    fn name(&self) -> &'static str {
        inner!(self, program => program.name())
    }

    fn params(&self) -> &Params {
        inner!(self, program => program.params())
    }

    fn inputs(&self) -> Vec<Input> {
        inner!(self, program => program.inputs())
    }

    fn maps(&self) -> Vec<(&Diagonals, LinearPlan)> {
        inner!(self, program => program.maps())
    }

    fn encryption(&self) -> Encryption {
        inner!(self, program => program.encryption())
    }

    fn bootstrapping(&self) -> Option<BootstrapPlan> {
        inner!(self, program => program.bootstrapping())
    }

    fn evaluate<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        maps: &[LinearTransform<D>],
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
        journal: &mut dyn Journal<D>,
    ) -> Result<Vec<Ciphertext<D>>> {
        inner!(self, program => program.evaluate(auto, maps, inputs, observer, journal))
    }

    fn results(&self) -> Vec<[usize; 2]> {
        inner!(self, program => program.results())
    }

    fn arrays(&self, results: &[Vec<Vec<Complex64>>]) -> Vec<Array> {
        inner!(self, program => program.arrays(results))
    }

    fn details(&self) -> Details {
        inner!(self, program => program.details())
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        inner!(self, program => program.timed(steps))
    }
}

/// The client's side of any workload.
#[derive(Clone, Debug)]
pub enum AnyClient {
    /// `logreg`.
    Logreg(Box<LogregClient>),
    /// `linear`.
    Linear(LinearClient),
    /// `bootstrap`.
    Bootstrap(BootstrapClient),
    /// `helr`.
    Helr(Box<HelrClient>),
    /// `lola`.
    Lola(LolaClient),
    /// `resnet20`.
    Resnet(Box<ResnetClient>),
}

impl Client for AnyClient {
    fn values(&self, input: usize) -> Vec<Vec<Complex64>> {
        inner!(self, client => client.values(input))
    }

    fn conclude(&self, results: &[Vec<Vec<Complex64>>]) -> Conclusion {
        inner!(self, client => client.conclude(results))
    }
}
