//! The client's side: numbers of the arguments, and results beside the clear twin and beside given values.

use super::{Heir, plain, source::Kind, text::HeirError};
use crate::{
    client::{Client, Conclusion},
    family::SlotsFound,
    program::{Ckks, Details, fields},
};
use limbwise::{Complex64, ckks::Precision};
use serde_json::json;

/// Numbers for a program, packed.
#[derive(Clone, Debug)]
pub struct HeirClient {
    program: Heir,
    /// The slots of each ciphertext.
    inputs: Vec<Vec<f64>>,
    /// Values that the results should have, one list for each, and how far they may be off.
    expected: Option<(Vec<Vec<f64>>, f64)>,
}

impl HeirClient {
    /// Of a program and the numbers of each argument that is encrypted.
    ///
    /// # Errors
    /// Numbers of another count than an argument takes, or beyond the bound.
    pub fn new(program: &Heir, secrets: &[Vec<f64>]) -> Result<Self, HeirError> {
        let (source, most) = (program.source(), program.most());
        let mut secrets = secrets.iter();
        let mut inputs = Vec::new();
        for (at, argument) in source.arguments.iter().enumerate() {
            let numbers = match argument.kind {
                Kind::Clear => continue,
                Kind::Zero => &Vec::new(),
                Kind::Secret => {
                    secrets.next().ok_or_else(|| HeirError::of_all(format!("argument {at}: no numbers (--data)")))?
                }
            };
            if let Some(large) = numbers.iter().find(|x| x.abs() > most) {
                let text = format!("argument {at}: {large} is beyond {most}; raise --largest, which both sides know");
                return Err(HeirError::of_all(text));
            }
            inputs.extend(source.pack(at, numbers)?);
        }
        Ok(Self { program: program.clone(), inputs, expected: None })
    }

    /// The same with values to compare the results with.
    ///
    /// # Errors
    /// Values of another count than the results have.
    pub fn expecting(self, expected: Vec<Vec<f64>>, tolerance: f64) -> Result<Self, HeirError> {
        let twin = self.arrays(&plain::evaluate(self.program.source(), &self.inputs))?;
        let sizes = |arrays: &[Vec<f64>]| arrays.iter().map(Vec::len).collect::<Vec<_>>();
        let (got, wanted) = (sizes(&expected), sizes(&twin));
        if got != wanted {
            return Err(HeirError::of_all(format!("--expected: {got:?} numbers for results of {wanted:?}")));
        }
        Ok(Self { expected: Some((expected, tolerance)), ..self })
    }

    /// What is wrong with the sizes of the twin's results.
    pub(super) fn beyond(&self) -> Option<String> {
        self.program.beyond(&plain::evaluate(self.program.source(), &self.inputs))
    }

    /// Results as numbers, each in its order.
    fn arrays(&self, rows: &[Vec<Vec<f64>>]) -> Result<Vec<Vec<f64>>, HeirError> {
        rows.iter().enumerate().map(|(at, rows)| Ok(self.program.source().unpack(at, rows)?.1)).collect()
    }
}

/// The largest difference of two lists of numbers.
fn farthest(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

impl Client for HeirClient {
    type Scheme = Ckks;

    fn values(&self, input: usize) -> Vec<Vec<Complex64>> {
        vec![self.inputs[input].iter().map(|&x| x.into()).collect()]
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let (got, twin) = (self.program.rows(results), plain::evaluate(self.program.source(), &self.inputs));
        let (mut details, mut warnings) = (Details::new(), Vec::new());
        let slots =
            |rows: &[Vec<Vec<f64>>]| rows.iter().flatten().flatten().map(|&x| x.into()).collect::<Vec<Complex64>>();
        let found = SlotsFound { precision: Precision::of(&slots(&got), &slots(&twin)), accuracy: None };
        warnings.extend(self.program.beyond(&twin));
        let unused = self.program.source().unused();
        // heir-opt of 2026 leaves the second operand of a tensor.concat out, without a word.
        warnings.extend(
            unused.iter().map(|at| format!("no result depends on argument {at}: no step that leads to one reads it")),
        );
        match (self.arrays(&got), self.arrays(&twin)) {
            (Ok(got), Ok(twin)) => {
                details.extend(fields(json!({ "largest_error": farthest(&got, &twin) })));
                if let Some((expected, tolerance)) = &self.expected {
                    let off = farthest(&got, expected);
                    let twin_off = farthest(&twin, expected);
                    details.extend(fields(
                        json!({ "largest_error_to_expected": off, "twin_error_to_expected": twin_off }),
                    ));
                    let within = off <= *tolerance;
                    if !within {
                        warnings.push(format!(
                            "results differ from --expected by {off:.3e}, more than --tolerance {tolerance}"
                        ));
                    }
                }
            }
            (Err(e), _) | (_, Err(e)) => warnings.push(format!("the results could not be unpacked: {e}")),
        }
        Conclusion { found, details, warnings }
    }
}
