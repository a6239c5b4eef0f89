//! Interface of a workload: a public side that server and client know, and the client's own side with the data.
//!
//! A [`Program`] has no data: the server evaluates it, and anyone can plan, record and time it. A
//! [`Client`](crate::Client) has the values to encrypt and interprets decrypted results. The runtime joins them;
//! neither handles files or devices. Both are the same for every scheme; [`Scheme`] holds the differences.

use crate::{description::Refusal, family::DecryptedTable, way::Way};
pub use limbwise::scheme::{Ckks, Encryption, Integers, Messages, SlotsInput, Tfhe};
use limbwise::{
    Complex64,
    scheme::{Input, Scheme},
};
use limbwise_device::Device;

/// Observer of the steps of a program.
pub trait Observer {
    /// A step begins, and the one before it has ended; `done` of `total` are finished.
    fn step(&mut self, name: &str, done: usize, total: usize);

    /// So many bits are expected of what was made in this outermost region of the program.
    fn expects(&mut self, _region: &str, _index: u32, _bits: f64) {}
}

/// What an outermost region of a recorded program costs.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionCost {
    pub name: String,
    /// The number that the program gave it.
    pub index: u32,
    /// Predicted, on the device that the plan is for.
    pub seconds: f64,
    /// Evaluation keys that are used in it.
    pub keys: usize,
    /// What [`Observer::expects`] was told of it.
    pub bits: Option<f64>,
}

impl Observer for () {
    fn step(&mut self, _name: &str, _done: usize, _total: usize) {}
}

/// State after a step: everything that the rest of the program needs beside its inputs and keys.
pub struct State<D: Device, S: Scheme = Ckks> {
    /// Steps that are over, counted as the program likes.
    pub step: usize,
    pub ciphertexts: Vec<S::Ciphertext<D>>,
    /// Clear numbers that the program computed on the way.
    pub numbers: Vec<f64>,
}

/// Saves the state of a program after each step, so that a stopped run can resume. A resumed program computes
/// bit-identical results.
pub trait Journal<D: Device, S: Scheme = Ckks> {
    /// The state to go on from, asked for once, before the first step; none for a run from the start.
    ///
    /// # Errors
    /// [`limbwise::Error::Stopped`] where a state cannot be read; the journal knows why.
    fn resume(&mut self) -> limbwise::Result<Option<State<D, S>>>;

    /// Saves the state after a finished step.
    ///
    /// # Errors
    /// [`limbwise::Error::Stopped`] to end the program here: the state cannot be kept, or nobody wants the result.
    fn keep(&mut self, state: &State<D, S>) -> limbwise::Result<()>;
}

/// Journal that saves nothing.
impl<D: Device, S: Scheme> Journal<D, S> for () {
    fn resume(&mut self) -> limbwise::Result<Option<State<D, S>>> {
        Ok(None)
    }

    fn keep(&mut self, _state: &State<D, S>) -> limbwise::Result<()> {
        Ok(())
    }
}

/// What a program is evaluated with and on, and whom it tells of its steps.
pub struct Evaluation<'a, 'm, D: Device + 'm, S: Scheme = Ckks> {
    /// The evaluator, with the program's encoded model.
    pub means: &'a S::Means<'m, D>,
    pub inputs: &'a [S::Ciphertext<D>],
    pub observer: &'a mut dyn Observer,
    pub journal: &'a mut dyn Journal<D, S>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    Complex,
    /// Real numbers: imaginary parts are nothing but error.
    Real,
    /// Integers, exact.
    Whole,
    /// Unsigned integers of 64 bits, exact: the low half in the real part, the high half in the imaginary one, because a
    /// float holds 53 bits ([`Array::word`]).
    Words,
}

const LOW_HALF: u64 = 0xffff_ffff;

/// A result as people have it: numbers in a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub name: String,
    /// Its sides, the last one running fastest.
    pub shape: Vec<usize>,
    /// Its numbers, in the shape's order; [`Numbers::Whole`] ones below 2^53 in absolute value.
    pub values: Vec<Complex64>,
    pub numbers: Numbers,
}

impl Array {
    /// Exact integers.
    ///
    /// # Panics
    /// For integers of 2^53 or more, which no scheme of this library has.
    #[must_use]
    pub fn whole(name: impl Into<String>, shape: Vec<usize>, values: impl IntoIterator<Item = i64>) -> Self {
        let exact = |x: i64| {
            assert!(x.unsigned_abs() < 1 << 53, "integers are below 2^53");
            Complex64::new(x as f64, 0.0)
        };
        Self { name: name.into(), shape, values: values.into_iter().map(exact).collect(), numbers: Numbers::Whole }
    }

    /// Exact unsigned integers of 64 bits.
    #[must_use]
    pub fn words(name: impl Into<String>, shape: Vec<usize>, words: impl IntoIterator<Item = u64>) -> Self {
        let halves = |word: u64| Complex64::new((word & LOW_HALF) as f64, (word >> 32) as f64);
        Self { name: name.into(), shape, values: words.into_iter().map(halves).collect(), numbers: Numbers::Words }
    }

    /// The integer of one of [`Numbers::Words`].
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both halves are below 2^32")]
    pub fn word(halves: Complex64) -> u64 {
        (halves.im as u64) << 32 | halves.re as u64
    }
}

/// What a workload adds to a report.
pub type Details = serde_json::Map<String, serde_json::Value>;

/// The fields of an object; none of another value.
pub(crate) fn fields(value: serde_json::Value) -> Details {
    if let serde_json::Value::Object(fields) = value { fields } else { Details::new() }
}

pub type Inputs<P> = Vec<<<P as Program>::Scheme as Scheme>::Input>;
pub type Results<P, D> = Vec<<<P as Program>::Scheme as Scheme>::Ciphertext<D>>;

/// A workload with its options: public metadata, and the server's own model.
pub trait Program {
    type Scheme: Scheme;

    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// The parameters it was built for.
    fn params(&self) -> &<Self::Scheme as Scheme>::Params;

    /// What the client encrypts: one ciphertext with a batch each.
    fn inputs(&self) -> Inputs<Self>;

    /// The clear numbers that the server encodes before the program starts.
    fn model(&self) -> <Self::Scheme as Scheme>::Model<'_>;

    /// The key that encrypts the inputs.
    fn encryption(&self) -> Encryption {
        Encryption::default()
    }

    /// The encrypted program, on the server's side, with [`Self::model`] encoded. The first result is the one whose
    /// precision is predicted.
    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Self::Scheme>) -> limbwise::Result<Results<Self, D>>;

    fn results(&self) -> usize {
        1
    }

    /// Whether decrypted results are results at all: some programs know of more than a scheme does.
    ///
    /// # Errors
    /// Why they are not; nothing of them is shown then.
    fn admits(&self, _results: &<Self::Scheme as Scheme>::Reading) -> Result<(), Refusal> {
        Ok(())
    }

    /// What makes decrypted results doubtful, as far as they and the description tell it. No number of the results is in
    /// it: results may be flooded and shared.
    fn doubts(&self, _results: &<Self::Scheme as Scheme>::Reading) -> Vec<String> {
        Vec::new()
    }

    /// Why results that contradict the program are likely to, as the description alone tells it: nothing of them is in it.
    fn withheld(&self) -> Option<String> {
        None
    }

    /// How many of the results, from the first on, are sums over rows: those of parts of the rows may be added.
    fn summed(&self) -> usize {
        0
    }

    /// The program as one reads it who has, instead of its results, sums of those of so many parts: the first
    /// [`Self::summed`] of them.
    #[must_use]
    fn summed_over(&self, _parts: usize) -> Self
    where
        Self: Clone,
    {
        self.clone()
    }

    /// Decrypted results as people have them.
    fn arrays(&self, results: &<Self::Scheme as Scheme>::Reading) -> Vec<Array>;

    /// Decrypted results as a table with names and texts; none where arrays say all.
    fn table(&self, _results: &<Self::Scheme as Scheme>::Reading) -> Option<DecryptedTable> {
        None
    }

    /// What one unit in the slots of a result is worth in the numbers of its array; infinite for numbers that are computed
    /// from several results, which are not shared.
    fn unit_of(&self, _array: usize) -> f64 {
        1.0
    }

    /// What is to be said of the program in a plan and in a report.
    fn details(&self) -> Details;

    /// What the program adds to that once it knows what its regions cost.
    fn costs(&self, _costs: &[RegionCost]) -> Details {
        Details::new()
    }

    /// What the program adds to that once it knows what is expected of its results.
    fn expected(&self, _results: &[<Self::Scheme as Scheme>::Estimate]) -> Details {
        Details::new()
    }

    /// What the times of the program's steps mean, for its report.
    fn timed(&self, _steps: &[(&str, f64)]) -> Details {
        Details::new()
    }

    /// Bytes of ciphertexts that an evaluation holds at the same time, at the least: a bound that takes no recording.
    fn least_bytes(&self) -> u64 {
        0
    }

    /// Bytes of clear numbers that are made where they are used and let go then, the most at a time.
    fn transient_bytes(&self) -> u64 {
        0
    }

    /// The same program evaluated in another way, where it has several.
    fn in_way(&self, _way: Way) -> Self
    where
        Self: Clone,
    {
        self.clone()
    }
}

/// The names of a program's inputs, with commas between.
pub fn input_names<P: Program>(program: &P) -> String {
    program.inputs().iter().map(|input| input.name().to_owned()).collect::<Vec<_>>().join(", ")
}
