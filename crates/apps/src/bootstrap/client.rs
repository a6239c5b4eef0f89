//! The client's side: the message, which is also the expected result.

use super::Bootstrap;
use crate::{
    client::{Client, Conclusion},
    family::SlotsFound,
    linear::data::generated,
    program::{Ckks, Program as _, fields},
};
use limbwise::{
    Complex64,
    ckks::{Precision, bootstrap::Content},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
pub enum Message {
    /// Both parts uniform in [-1, 1]
    #[default]
    Random,
    /// 0.7 + 0.3i in every slot
    Constant,
    /// Real, uniform in [0, 1]
    Positive,
    /// Both parts uniform in [-0.01, 0.01]
    Small,
}

impl Message {
    /// Its name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Constant => "constant",
            Self::Positive => "positive",
            Self::Small => "small",
        }
    }

    /// So many values of it, for slots that hold this.
    pub fn values(self, count: usize, content: Content, seed: u64) -> Vec<Complex64> {
        let parts = generated(seed, 0, 2 * count, 1.0);
        let value = |part: &[f64]| {
            let (re, im) = (part[0], part[1]);
            let z = match self {
                Self::Random => Complex64::new(re, im),
                Self::Constant => Complex64::new(0.7, 0.3),
                Self::Positive => Complex64::new(re.abs(), 0.0),
                Self::Small => Complex64::new(re, im) * 0.01,
            };
            if content == Content::Real { z.re.into() } else { z }
        };
        parts.chunks_exact(2).map(value).collect()
    }
}

/// The data of a bootstrapping.
#[derive(Clone, Debug)]
pub struct BootstrapClient {
    name: String,
    values: Vec<Complex64>,
}

impl BootstrapClient {
    /// A message with its name in reports; short ones are filled up with zeros.
    pub fn new(program: &Bootstrap, name: &str, mut values: Vec<Complex64>) -> Result<Self, String> {
        let slots = program.plan().slots;
        if values.len() > slots {
            return Err(format!("got {} values; the program is for {slots} slots", values.len()));
        }
        values.resize(slots, Complex64::default());
        debug_assert_eq!(program.inputs().len(), 1);
        Ok(Self { name: name.to_owned(), values })
    }
}

impl Client for BootstrapClient {
    type Scheme = Ckks;

    fn values(&self, _input: usize) -> Vec<Vec<Complex64>> {
        vec![self.values.clone()]
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let details = json!({ "message": self.name });
        let precision = match &results[0][..] {
            [near, rest] => Precision::of_wide(near, rest, &self.values),
            all => Precision::of(&all[0], &self.values),
        };
        Conclusion { found: SlotsFound { precision, accuracy: None }, details: fields(details), warnings: Vec::new() }
    }
}
