//! What a workload is: a public side that server and client know, and the client's own side with the data.
//!
//! A [`Program`] has no data: from it the server evaluates, and anybody plans, records and times. A
//! [`Client`](crate::Client) has the values to encrypt and knows what decrypted results mean. The runtime joins them; neither knows of
//! files or devices.

use limbwise::{
    Complex64,
    ckks::{Auto, BootstrapPlan, Ciphertext, Diagonals, LinearPlan, LinearTransform, Noise, Packing, Promise},
    params::Params,
    tfhe,
};
use limbwise_device::Device;
use serde::{Deserialize, Serialize};

/// What the client encrypts before the program starts, as both sides know it: one ciphertext with a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// What it is, for people.
    pub name: String,
    /// Vectors in the batch.
    pub batch: usize,
    /// How they are laid out.
    pub packing: Packing,
    /// What is known of the values.
    pub bounds: Promise,
}

/// Under which key the client encrypts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encryption {
    /// The public one.
    #[default]
    PublicKey,
    /// The secret one: less noise.
    SecretKey,
}

impl From<Encryption> for Noise {
    fn from(encryption: Encryption) -> Self {
        match encryption {
            Encryption::PublicKey => Self::Public,
            Encryption::SecretKey => Self::Secret,
        }
    }
}

/// Told when a step of a program begins.
pub trait Observer {
    /// A step begins, and the one before it has ended; `done` of `total` are over.
    fn step(&mut self, name: &str, done: usize, total: usize);
}

/// Nobody looks on.
impl Observer for () {
    fn step(&mut self, _name: &str, _done: usize, _total: usize) {}
}

/// A scheme, as states know it: by its ciphertexts.
pub trait Scheme {
    /// A ciphertext of it.
    type Ciphertext<D: Device>;
}

/// Slots at levels.
#[derive(Clone, Copy, Debug)]
pub enum Ckks {}

/// Batches of messages.
#[derive(Clone, Copy, Debug)]
pub enum Tfhe {}

impl Scheme for Ckks {
    type Ciphertext<D: Device> = Ciphertext<D>;
}

impl Scheme for Tfhe {
    type Ciphertext<D: Device> = tfhe::Ciphertext<D>;
}

/// All that the rest of a program hangs on after one of its steps, beside its inputs and keys.
pub struct State<D: Device, S: Scheme = Ckks> {
    /// Steps that are over, counted as the program likes.
    pub step: usize,
    /// What lives.
    pub ciphertexts: Vec<S::Ciphertext<D>>,
    /// Clear numbers that the program computed on the way.
    pub numbers: Vec<f64>,
}

/// Keeps the state of a program between its steps, so that a stopped run can go on where it was. A program that is
/// resumed computes what it would have computed, bit for bit.
pub trait Journal<D: Device, S: Scheme = Ckks> {
    /// The state to go on from, asked for once, before the first step; none for a run from the start.
    ///
    /// # Errors
    /// [`limbwise::Error::Stopped`] where a state cannot be read; the journal knows why.
    fn resume(&mut self) -> limbwise::Result<Option<State<D, S>>>;

    /// A step is over, and this is the state now.
    ///
    /// # Errors
    /// [`limbwise::Error::Stopped`] to end the program here: the state cannot be kept, or nobody wants the result.
    fn keep(&mut self, state: &State<D, S>) -> limbwise::Result<()>;
}

/// Nothing is kept.
impl<D: Device, S: Scheme> Journal<D, S> for () {
    fn resume(&mut self) -> limbwise::Result<Option<State<D, S>>> {
        Ok(None)
    }

    fn keep(&mut self, _state: &State<D, S>) -> limbwise::Result<()> {
        Ok(())
    }
}

/// A result as people have it: numbers in a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// What it is.
    pub name: &'static str,
    /// Its sides, the last one running fastest.
    pub shape: Vec<usize>,
    /// Its numbers, in the shape's order.
    pub values: Vec<Complex64>,
    /// The imaginary parts are nothing but error.
    pub real: bool,
}

/// What a workload adds to a report.
pub type Details = serde_json::Map<String, serde_json::Value>;

/// A workload with its options: what both sides know, and the server's own model.
pub trait Program {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// The parameters it was built for.
    fn params(&self) -> &Params;

    /// What the client encrypts.
    fn inputs(&self) -> Vec<Input>;

    /// Clear linear maps that the server encodes before the program starts: its model.
    fn maps(&self) -> Vec<(&Diagonals, LinearPlan)> {
        Vec::new()
    }

    /// Under which key the inputs are encrypted.
    fn encryption(&self) -> Encryption {
        Encryption::default()
    }

    /// How the program bootstraps, if it does: the server encodes that before it starts.
    fn bootstrapping(&self) -> Option<BootstrapPlan> {
        None
    }

    /// The encrypted program, on the server's side, with [`Self::maps`] encoded. The first result is the one whose
    /// precision is predicted.
    ///
    /// # Errors
    /// What the schemes refuse: levels, keys; what the journal refuses.
    fn evaluate<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        maps: &[LinearTransform<D>],
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
        journal: &mut dyn Journal<D>,
    ) -> limbwise::Result<Vec<Ciphertext<D>>>;

    /// Batch and slots of each result.
    fn results(&self) -> Vec<[usize; 2]>;

    /// Decrypted results as people have them: a list a result, with a vector of slots a batch entry, as
    /// [`Self::results`] says.
    fn arrays(&self, results: &[Vec<Vec<Complex64>>]) -> Vec<Array>;

    /// What is to be said of the program in a report.
    fn details(&self) -> Details;

    /// What the times of the program's steps mean, for its report.
    fn timed(&self, _steps: &[(&str, f64)]) -> Details {
        Details::new()
    }
}
