//! What a workload is: inputs, an encrypted program written once for every device, and what its results mean.
//!
//! The runtime runs it, plans it and has it timed; a program knows nothing of these readings.

use limbwise::{
    Complex64,
    ckks::{Auto, BootstrapPlan, Ciphertext, Diagonals, LinearPlan, LinearTransform, Packing, Precision},
    params::Params,
};
use limbwise_device::Device;
use serde::Serialize;

/// Values that the client encrypts before the program starts: one ciphertext with a batch.
#[derive(Clone, Debug)]
pub struct Input {
    /// What it is, for people.
    pub name: String,
    /// One vector a batch entry, at most `packing.slots` values each.
    pub values: Vec<Vec<Complex64>>,
    /// How they are laid out.
    pub packing: Packing,
}

/// Under which key the client encrypts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// The public one.
    #[default]
    PublicKey,
    /// The secret one: less noise.
    SecretKey,
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

/// Share of held-back rows that a model gets right.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Accuracy {
    /// The encrypted program's model, judged by its encrypted scores.
    pub encrypted: f64,
    /// The clear twin: same polynomial, same iterations.
    pub clear: f64,
}

/// What decrypted results mean.
#[derive(Clone, Debug, Serialize)]
pub struct Conclusion {
    /// Results against the clear twin's.
    #[serde(skip)]
    pub precision: Precision,
    /// For programs that classify.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// What this workload adds to a report.
    #[serde(flatten)]
    pub details: serde_json::Map<String, serde_json::Value>,
    /// Sentences a person should read: a polynomial left its interval, say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A workload with its data and options.
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

    /// Under which key they are encrypted.
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
    /// What the schemes refuse: levels, keys.
    fn evaluate<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        maps: &[LinearTransform<D>],
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
    ) -> limbwise::Result<Vec<Ciphertext<D>>>;

    /// What the decrypted results mean: a list a result, with a vector a batch entry.
    fn conclude(&self, results: &[Vec<Vec<Complex64>>]) -> Conclusion;

    /// What the times of the program's steps mean, for its report.
    fn timed(&self, _steps: &[(&str, f64)]) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::new()
    }
}
