//! The client's side: numbers to encrypt, packed, and the twin's results.

use super::{
    encrypted::{Layout, Linear, LinearError},
    plain::Task,
};
use crate::{
    client::{Client, Conclusion},
    family::SlotsFound,
    program::{Ckks, Program as _, fields},
};
use limbwise::{
    Complex64,
    ckks::{Precision, Promise},
    params::Params,
};
use serde_json::json;

/// The data of a layer.
#[derive(Clone, Debug)]
pub struct LinearClient {
    program: Linear,
    packed: Vec<Vec<Vec<Complex64>>>,
    expected: Vec<f64>,
}

impl LinearClient {
    /// The numbers of a task that are encrypted. Its model is the server's, or stands in its place; then
    /// [`Client::conclude`] compares with what that would give.
    pub fn new(program: &Linear, task: &Task) -> Result<Self, LinearError> {
        let other = || LinearError::OtherShape { got: task.layer().describe(), wanted: program.layer().describe() };
        let packed = match (task, program.layout()) {
            (Task::Product { x, .. }, Layout::Product(product)) => vec![product.pack(x)?],
            (Task::Square { left, right }, Layout::Square(square)) => {
                vec![vec![square.pack(left)?], vec![square.pack(right)?]]
            }
            (Task::Convolution { image, .. }, Layout::Convolution(convolution)) => {
                vec![vec![convolution.pack(image)?]]
            }
            _ => return Err(other()),
        };
        let expected = task.clear()?;
        Ok(Self { program: program.clone(), packed, expected })
    }

    /// Both sides of a task, at a level.
    pub fn sides(params: &Params, level: usize, task: &Task) -> Result<(Linear, Self), LinearError> {
        let program = Linear::new(params, level, task.layer())?;
        let client = Self::new(&program, task)?;
        Ok((program.with_bounds(client.bounds())?, client))
    }

    /// What the other side is told of the numbers.
    pub fn bounds(&self) -> Promise {
        Promise::of(&self.packed.concat(), self.program.params().max_slots()).rounded()
    }
}

impl Client for LinearClient {
    type Scheme = Ckks;

    fn values(&self, input: usize) -> Vec<Vec<Complex64>> {
        self.packed[input].clone()
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let expected: Vec<Complex64> = self.expected.iter().map(|&x| x.into()).collect();
        let details = json!({
            "values": expected.len(),
            "largest_value": self.expected.iter().fold(0.0, |most: f64, x| most.max(x.abs())),
        });
        Conclusion {
            found: SlotsFound {
                precision: Precision::of(&self.program.unpacked(&results[0]), &expected),
                accuracy: None,
            },
            details: fields(details),
            warnings: Vec::new(),
        }
    }
}
