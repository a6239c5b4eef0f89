//! What a workload on BGV is: exact arithmetic on integers modulo t, planned, run and timed from one source.
//!
//! The counterpart of [`Program`](crate::Program), whose slots hold approximate numbers with promises of their size. Here
//! results are exact: a clear twin says what every integer must be, and a bound on the noise whether it may be read.

use crate::{
    bgv_mul::BgvMul,
    bgv_table::BgvTable,
    linear::data::generated,
    program::{Details, Observer},
};
use limbwise::{
    Result,
    bgv::{Auto, BgvParams, Ciphertext, Encryption, Modulus},
};
use limbwise_device::{Device, Domain};

/// What the client encrypts: one ciphertext with a batch of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integers {
    /// What they are, for people.
    pub name: String,
    /// Messages in the batch.
    pub batch: usize,
    /// Level of the ciphertext.
    pub level: usize,
    /// How its polynomials come: coefficients only where the program transforms them itself.
    pub domain: Domain,
}

/// The messages of one ciphertext: slots of each.
pub type Messages = Vec<Vec<i64>>;

/// A workload on BGV with its options: what both sides know.
pub trait Modular {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// The parameters it was built for.
    fn params(&self) -> &BgvParams;

    /// What the client encrypts.
    fn inputs(&self) -> Vec<Integers>;

    /// Under which key.
    fn encryption(&self) -> Encryption {
        Encryption::Secret
    }

    /// The encrypted program, on the server's side. Results may be in either domain.
    ///
    /// # Errors
    /// What the scheme refuses: missing keys, too much noise.
    fn evaluate<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Ciphertext<D>>>;

    /// The same on clear messages; slots that a result does not say are left out.
    fn clear(&self, inputs: &[Messages]) -> Vec<Messages>;

    /// What the phases of the results are modulo a prime, value by value, given those of the inputs: for a program that is
    /// meant to run where its results may not be read, and is nothing but products and sums.
    fn phases(&self, _q: Modulus, _inputs: &[Vec<u64>]) -> Option<Vec<Vec<u64>>> {
        None
    }

    /// What is to be said of the program in a report.
    fn details(&self) -> Details;

    /// Decrypted results as people have them: named lists of integers.
    fn tables(&self, _results: &[Messages]) -> Vec<(String, Vec<i64>)> {
        Vec::new()
    }

    /// Messages to try it on, uniform modulo t, from a seed.
    fn samples(&self, seed: u64) -> Vec<Messages> {
        let (slots, most) = (self.params().slots(), self.params().most() as f64);
        #[expect(clippy::cast_possible_truncation, reason = "at most (t - 1)/2 in magnitude")]
        let integer = |x: &f64| (x * most).round() as i64;
        let input = |(i, input): (u64, &Integers)| {
            let all = generated(seed, i, input.batch * slots, 1.0);
            all.chunks_exact(slots).map(|message| message.iter().map(integer).collect()).collect()
        };
        (0..).zip(&self.inputs()).map(input).collect()
    }
}

/// Any workload on BGV.
#[derive(Clone, Debug)]
pub enum AnyModular {
    /// `bgv-mul`.
    Mul(BgvMul),
    /// `bgv-table`.
    Table(BgvTable),
}

/// Each call goes to the program inside.
macro_rules! inner {
    ($self:ident, $program:ident => $call:expr) => {
        match $self {
            Self::Mul($program) => $call,
            Self::Table($program) => $call,
        }
    };
}

impl Modular for AnyModular {
    fn name(&self) -> &'static str {
        inner!(self, program => program.name())
    }

    fn params(&self) -> &BgvParams {
        inner!(self, program => program.params())
    }

    fn inputs(&self) -> Vec<Integers> {
        inner!(self, program => program.inputs())
    }

    fn encryption(&self) -> Encryption {
        inner!(self, program => program.encryption())
    }

    fn evaluate<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Ciphertext<D>>> {
        inner!(self, program => program.evaluate(auto, inputs, observer))
    }

    fn clear(&self, inputs: &[Messages]) -> Vec<Messages> {
        inner!(self, program => program.clear(inputs))
    }

    fn phases(&self, q: Modulus, inputs: &[Vec<u64>]) -> Option<Vec<Vec<u64>>> {
        inner!(self, program => program.phases(q, inputs))
    }

    fn details(&self) -> Details {
        inner!(self, program => program.details())
    }

    fn tables(&self, results: &[Messages]) -> Vec<(String, Vec<i64>)> {
        inner!(self, program => program.tables(results))
    }
}
