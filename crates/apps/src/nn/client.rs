//! The client's side: images as bits, and classes from decrypted sums.

use super::{Digits, Nn, NnError, network::SIDE};
use crate::{
    client::{Client, Conclusion},
    family::{Exact, Twin as _},
    program::{Tfhe, fields},
};
use limbwise::tfhe::TfheReading;
use serde_json::json;

/// Data of an inference.
#[derive(Clone, Debug)]
pub struct NnClient {
    program: Nn,
    labels: Vec<u8>,
    exact: Exact<Nn>,
}

impl NnClient {
    /// Pairs a program with its images.
    ///
    /// # Errors
    /// [`NnError::Images`] if the program takes another number of images.
    pub fn new(program: &Nn, digits: Digits) -> Result<Self, NnError> {
        if digits.images.len() != program.images() {
            return Err(NnError::Images(digits.images.len()));
        }
        let bits = (0..SIDE * SIDE).flat_map(|p| digits.images.iter().map(move |image| image[p])).collect();
        let exact = Exact::new(program.clone(), vec![bits]);
        Ok(Self { program: program.clone(), labels: digits.labels, exact })
    }

    /// Share of images that are classified correctly.
    fn share(&self, classes: &[u8]) -> f64 {
        let right = classes.iter().zip(&self.labels).filter(|(class, label)| class == label).count();
        right as f64 / classes.len() as f64
    }
}

impl Client for NnClient {
    type Scheme = Tfhe;

    fn values(&self, input: usize) -> Vec<u64> {
        self.exact.values(input)
    }

    fn conclude(&self, results: &Vec<TfheReading>) -> Conclusion<Tfhe> {
        let mut conclusion = self.exact.conclude(results);
        let clear = self.program.clear(&[self.values(0)]);
        let (twin, encrypted) = (self.program.classes(&clear[0]), self.program.classes(&results[0].messages));
        let (of, right) = self.program.network().judged;
        let details = json!({
            "classes": encrypted,
            "labels": self.labels,
            "accuracy": {
                "network": f64::from(right) / f64::from(of.max(1)),
                "judged": of,
                "twin": self.share(&twin),
                "encrypted": self.share(&encrypted),
            },
        });
        conclusion.details.extend(fields(details));
        conclusion
    }
}
