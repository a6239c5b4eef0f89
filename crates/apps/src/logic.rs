//! What a workload on TFHE is: exact functions of small encrypted integers, planned, run and timed from one source.
//!
//! The counterpart of [`Program`](crate::Program), which computes on slots of complex numbers at levels; here there are
//! neither. Results are exact, so a clear twin is a function of the messages and says what is wrong, not how much.

use crate::{
    gates::Gates,
    linear::data::generated,
    nn::Nn,
    pbs::Pbs,
    program::{Details, Observer},
};
use limbwise::{
    Result,
    tfhe::{Ciphertext, Evaluator, TfheParams},
};
use limbwise_device::Device;

/// What the client encrypts: a batch of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Messages {
    /// What they are, for people.
    pub name: String,
    /// How many.
    pub batch: usize,
    /// The largest there may be.
    pub most: u64,
}

/// A workload on TFHE with its options: what both sides know.
pub trait Logic {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// The parameters it was built for.
    fn params(&self) -> &TfheParams;

    /// What the client encrypts.
    fn inputs(&self) -> Vec<Messages>;

    /// The encrypted program, on the server's side.
    ///
    /// # Errors
    /// What the scheme refuses: messages that may leave the space, too much noise.
    fn evaluate<D: Device>(
        &self,
        eval: Evaluator<'_, D>,
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Ciphertext<D>>>;

    /// The same on clear messages.
    fn clear(&self, inputs: &[Vec<u64>]) -> Vec<Vec<u64>>;

    /// What is to be said of the program in a report.
    fn details(&self) -> Details;

    /// What results mean beside what the clear twin gives, for the report of a run.
    fn conclude(&self, clear: &[Vec<u64>], found: &[Vec<u64>]) -> Details {
        let _ = (clear, found);
        Details::new()
    }

    /// Messages to try it on, uniform, from a seed.
    fn samples(&self, seed: u64) -> Vec<Vec<u64>> {
        let message = |most: u64, x: &f64| {
            let levels = most + 1;
            (0..levels).find(|&m| (x + 1.0) / 2.0 * levels as f64 <= (m + 1) as f64).unwrap_or(most)
        };
        let input = |(i, input): (u64, &Messages)| {
            generated(seed, i, input.batch, 1.0).iter().map(|x| message(input.most, x)).collect()
        };
        (0..).zip(&self.inputs()).map(input).collect()
    }
}

/// Any workload on TFHE.
#[derive(Clone, Debug)]
pub enum AnyLogic {
    /// `pbs`.
    Pbs(Pbs),
    /// `gates`.
    Gates(Gates),
    /// `nn20`, `nn50`, `nn100`.
    Nn(Box<Nn>),
}

/// Each call goes to the program inside.
macro_rules! inner {
    ($self:ident, $program:ident => $call:expr) => {
        match $self {
            Self::Pbs($program) => $call,
            Self::Gates($program) => $call,
            Self::Nn($program) => $call,
        }
    };
}

impl Logic for AnyLogic {
    fn name(&self) -> &'static str {
        inner!(self, program => program.name())
    }

    fn params(&self) -> &TfheParams {
        inner!(self, program => program.params())
    }

    fn inputs(&self) -> Vec<Messages> {
        inner!(self, program => program.inputs())
    }

    fn evaluate<D: Device>(
        &self,
        eval: Evaluator<'_, D>,
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Ciphertext<D>>> {
        inner!(self, program => program.evaluate(eval, inputs, observer))
    }

    fn clear(&self, inputs: &[Vec<u64>]) -> Vec<Vec<u64>> {
        inner!(self, program => program.clear(inputs))
    }

    fn details(&self) -> Details {
        inner!(self, program => program.details())
    }

    fn samples(&self, seed: u64) -> Vec<Vec<u64>> {
        inner!(self, program => program.samples(seed))
    }

    fn conclude(&self, clear: &[Vec<u64>], found: &[Vec<u64>]) -> Details {
        inner!(self, program => program.conclude(clear, found))
    }
}
